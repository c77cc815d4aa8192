"""Fit mixtures for the rows of each fold by the other folds, and one for all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import TrainingDesign, fit_mixture
from agents.anystate.mixture.tuning import ClassMixture, Exponents, draw_known, fit_exponents, tune
from agents.anystate.mixture.variables import Variables, fit_variables, with_normal_scores
from fsgym.data.dataset import Dataset
from fsgym.support.threads import one_blas_thread


@dataclass(frozen=True, eq=False)
class FittedMixtures:
    """Mixtures that depend neither on prices nor on groups."""

    of_fold: list[ClassMixture]  # each fitted without the rows of one fold
    final: ClassMixture  # fitted to all rows
    # what ``agents.anystate.mixture.model`` derives from them for the groups of some rules
    points: dict = field(default_factory=dict, repr=False)


def fit_mixtures(
    dataset: Dataset,
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
    seed: int = 0,
    n_components: int | None = None,
    n_steps: int | None = None,
    telling: Sequence[int] = (),
) -> FittedMixtures:
    """Fit a mixture for each fold and one for all rows; all have the same variables and numbers of components.

    Parameters
    ----------
    dataset : Dataset
    fold : int64 (n_samples,), 0, 1, ... for each row; at least two
    weight : float64 (n_samples,), optional
    seed : int; one seed gives the same mixtures
    n_components : int, optional, of each class; by default chosen on held-out rows
    n_steps : int, optional, of the gradient; by default chosen on held-out rows
    telling : sequence of int
        Features for which it goes with the class whether they are missing; the mixtures do not learn this.
    """
    with one_blas_thread():
        plain, absent = fit_variables(dataset, weight), np.bincount(dataset.y, minlength=dataset.n_classes) == 0
        most = min(const.MAX_ROWS, const.MAX_VALUES // int(plain.first_column[-1]))
        scored = with_normal_scores(plain, dataset, weight)
        if dataset.n_samples > most:
            rows = np.sort(np.random.default_rng(seed).choice(dataset.n_samples, most, replace=False))
            dataset, fold, weight = dataset.rows(rows), fold[rows], None if weight is None else weight[rows]
        fit = _Fit(dataset, fold, weight, seed, plain, absent, telling)
        if len(scored.knot) and _is_better(scored, plain, dataset, fold, weight, seed):
            fit = _Fit(dataset, fold, weight, seed, scored, absent, telling)
        return fit.run(
            const.N_COMPONENTS if n_components is None else (n_components,),
            const.TUNING_STEPS if n_steps is None else (n_steps,),
        )


def _is_better(
    variables: Variables,
    than: Variables,
    dataset: Dataset,
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    seed: int,
) -> bool:
    """Whether mixtures of some of the rows have a lower log-loss with one encoding than with another."""
    if dataset.n_samples > const.ROWS_OF_COMPARISON:
        rows = np.sort(np.random.default_rng(seed).permutation(dataset.n_samples)[: const.ROWS_OF_COMPARISON])
        dataset, fold, weight = dataset.rows(rows), fold[rows], None if weight is None else weight[rows]
    fits = [_Fit(dataset, fold, weight, seed, encoding) for encoding in (than, variables)]
    losses = {k: fit.losses_of_comparison() for k, fit in enumerate(fits)}
    return fits[0].best(losses, const.MIN_GAIN_OF_SCORES) == 1


class _Fit:
    """The rows and the mixtures so far; ``absent``, bool (n_classes,), are the classes without a row in the table."""

    def __init__(
        self,
        dataset: Dataset,
        fold: NDArray[np.int64],
        weight: NDArray[np.float64] | None,
        seed: int,
        variables: Variables,
        absent: NDArray[np.bool_] | None = None,
        telling: Sequence[int] = (),
    ):
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.variables, self.absent = variables, absent
        codes = variables.encode(dataset.X)
        weights = np.ones(len(codes)) if weight is None else weight
        of_telling = variables.variable_of[np.array(telling, np.int64)]
        lacking = np.isnan(codes) & np.isin(np.arange(codes.shape[1]), of_telling)
        given = variables.design(codes), dataset.y, weights, dataset.n_classes
        self.data = TrainingDesign(*given, lacking if len(telling) else None)
        self.fold, self.n_folds = fold, int(fold.max()) + 1
        self.choosing = list(range(self.n_folds if len(codes) <= const.MAX_ROWS_OF_ALL_FOLDS else 1))
        self.checked = [self._checked_rows(f) for f in self.choosing]
        self.fitted: dict[tuple[int, ...], ClassMixture] = {}
        counts = np.bincount(dataset.y, minlength=dataset.n_classes)
        self.most_components = max(int(counts[counts > 0].min() / const.MIN_ROWS_OF_COMPONENT), 1)

    def losses_of_comparison(self) -> NDArray[np.float64]:
        """Log-losses of mixtures with a usual number of components, to compare encodings."""
        k = max(k for k in const.N_COMPONENTS if k <= min(self.most_components, const.COMPONENTS_OF_COMPARISON))
        return self._losses(k, self._exponents(k, const.EXPONENT_STEPS_OF_CHOICE), 0)

    def _checked_rows(self, f: int) -> tuple[TrainingDesign, NDArray[np.bool_]]:
        """Rows of a fold, repeated with several random subsets, on which candidates are compared."""
        rows = np.flatnonzero((self.fold == f) & (self.data.weight > 0))
        most = const.CHECKED_ROWS // len(self.choosing)
        rows = self.rng.permutation(rows)[:most]
        rows = np.tile(rows, int(np.clip(most // max(len(rows), 1), 1, const.MAX_SUBSETS)))
        return self.data.rows(rows).with_known(draw_known(len(rows), len(self.variables.center), self.rng))

    def run(self, numbers: tuple[int, ...], steps_to_try: tuple[int, ...]) -> FittedMixtures:
        """Choose among numbers of components, then among numbers of gradient steps, and fit the mixtures."""
        losses: dict[int, NDArray[np.float64]] = {}
        for k in [k for k in numbers if k <= self.most_components or k == numbers[0]]:
            losses[k] = self._losses(k, self._exponents(k, const.EXPONENT_STEPS_OF_CHOICE), 0)
        k = self.best(losses)
        exponents = self._exponents(k, const.EXPONENT_STEPS)
        tuned: dict[int, NDArray[np.float64]] = {}
        for steps in steps_to_try:
            tuned[steps] = self._losses(k, exponents, steps)
            if steps and self.best(tuned) != steps:
                break
        steps = self.best(tuned)
        models = [self._tuned(f, k, exponents, steps) for f in [*range(self.n_folds), -1]]
        return FittedMixtures(models[:-1], models[-1])

    def _rows_without(self, f: int) -> TrainingDesign:
        return self.data if f < 0 else self.data.rows(self.fold != f)

    def _densities(self, f: int, k: int) -> ClassMixture:
        """The mixture without fold f, of all rows for -1, before its probabilities are tuned."""
        if (f, k) not in self.fitted:
            densities = fit_mixture(self.variables, self._rows_without(f), k, self.seed)
            if self.absent is not None and self.absent.any():
                densities = densities.without(self.absent)
            same = Exponents(np.ones(len(self.variables.center)), 0.0)
            self.fitted[f, k] = same.applied(self.variables, densities)
        return self.fitted[f, k]

    def _exponents(self, k: int, steps: int) -> Exponents:
        parts = [(self._densities(f, k), *checked) for f, checked in zip(self.choosing, self.checked)]
        n_rows = np.isin(self.fold, self.choosing).sum()
        return fit_exponents(parts, min(int(n_rows), const.CHECKED_ROWS), steps)

    def _tuned(self, f: int, k: int, exponents: Exponents, steps: int) -> ClassMixture:
        if steps and (f, k, steps) in self.fitted:
            return self.fitted[f, k, steps]
        mixture = exponents.applied(self.variables, self._densities(f, k).densities)
        mixture = tune(mixture, self._rows_without(f), steps, self.seed)
        self.fitted[f, k, steps] = mixture
        return mixture

    def _losses(self, k: int, exponents: Exponents, steps: int) -> NDArray[np.float64]:
        parts = zip(self.choosing, self.checked)
        return np.concatenate([self._tuned(f, k, exponents, steps).log_loss(*checked) for f, checked in parts])

    def _mean(self, losses: NDArray[np.float64]) -> float:
        weight = np.concatenate([data.weight for data, _ in self.checked])
        return float(weight @ losses / weight.sum())

    def best(self, losses: dict[int, NDArray[np.float64]], margin: float = const.MIN_GAIN) -> int:
        """The candidate of the least loss; a later one must be better by ``margin`` standard errors."""
        n_rows = sum(np.isin(self.fold, self.choosing))
        best = next(iter(losses))
        for candidate, values in losses.items():
            gain = losses[best] - values
            if self._mean(gain) > margin * gain.std() / np.sqrt(min(n_rows, len(gain))):
                best = candidate
        return best
