"""The cells of the study of uncertain data: selections, their accuracy, and their distance from the optimum."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.pipelines import mean_imputer
from fsgym.comparison.splits import Split
from fsgym.data.dataset import Dataset
from fsgym.runner.results import list_of, record, returns, share

if TYPE_CHECKING:
    from baselines import SparseGroupLasso

UNSELECTED_CALL = "fsgym_studies.uncertain_sgl.cell:unselected"
GRID_CALL = "fsgym_studies.uncertain_sgl.cell:on_grid"
SETTING_CALL = "fsgym_studies.uncertain_sgl.cell:at_setting"
WEIGHTS_CALL = "fsgym_studies.uncertain_sgl.cell:weights"
FEATURE_SCALE = 100.0  # the range to which each feature is scaled; inferred from the printed penalties
GAP_TOL = 1e-8  # largest duality gap of a minimum, as a share of |y|^2 / 2
GAP_ROUNDING = 1e-12  # allowance for rounding in the computed gap, as a share of |y|^2 / 2
EARLY_STEPS = 100  # of accelerated proximal gradient, which the tables of the paper suggest
MODES = {"early": "fista", "exact": "exact"}  # solvers: after 100 accelerated steps, and at the minimum
Penalties = tuple[float, float]  # lambda1, lambda2


class FoldInFileOrder(NamedTuple):
    """One of several folds as test part, drawn in the order of the rows in their file, without shuffling.

    Attributes
    ----------
    n_folds, fold : int, as in ``Split``
    stratified : bool, whether each fold has as many rows of each class; else it is a block of rows
    """

    n_folds: int
    fold: int
    stratified: bool = True

    def divide(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        """The training and the test part."""
        from sklearn.model_selection import KFold, StratifiedKFold

        kind = StratifiedKFold if self.stratified else KFold
        train, test = list(kind(self.n_folds).split(dataset.X, dataset.y))[self.fold]
        return dataset.rows(train), dataset.rows(test)


class SampledData(NamedTuple):
    """Draws of a training and of a test part, (n, d * s), with ``s`` draws per value, and targets of -1 and +1."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    s: int


def sample_data(train: Dataset, test: Dataset, distribution: str, w: float, s: int, seed: int) -> SampledData:
    """Replace missing values by means and values by draws, with means and ranges of the training part."""
    from baselines import UncertainExpander

    imputer = mean_imputer(train.X)
    expander = UncertainExpander(w, s, distribution, feature_scale=FEATURE_SCALE, random_state=seed)
    X = np.asfortranarray(expander.fit_transform(imputer.transform(train.X)))
    y, y_test = (np.where(part.y > 0, 1.0, -1.0) for part in (train, test))
    return SampledData(X, y, expander.transform(imputer.transform(test.X)), y_test, s)


def fit_lasso(data: SampledData, penalties: Penalties, solver: str, n_steps: int = EARLY_STEPS) -> SparseGroupLasso:
    """Fit equation 7 by ``n_steps`` accelerated steps (solver ``"fista"``) or to its minimum (``"exact"``)."""
    from baselines import SparseGroupLasso

    with warnings.catch_warnings(action="ignore"):  # at_setting returns the gap instead
        n_iter = n_steps if solver == "fista" else None
        return SparseGroupLasso(*penalties, data.s, solver=solver, tol=GAP_TOL, max_iter=n_iter).fit(data.X, data.y)


def selected_mask(model: SparseGroupLasso, s: int) -> NDArray[np.bool_]:
    """Sub-features with a non-zero weight, (d, s)."""
    return model.coef_.reshape(-1, s) != 0


def selection_size(mask: NDArray[np.bool_]) -> dict[str, float]:
    """FNum, the number of features with a selected sub-feature, and ratio, the share of selected sub-features."""
    return {"fnum": int(mask.any(axis=1).sum()), "ratio": float(mask.mean())}


def all_draws(data: SampledData) -> NDArray[np.bool_]:
    """The mask of all sub-features, (d, s)."""
    return np.ones((data.X.shape[1] // data.s, data.s), bool)


def selection_accuracies(data: SampledData, masks: Sequence[NDArray[np.bool_]]) -> list[float]:
    """Test accuracy of the intersection kernel SVM on the draws in each of ``masks``, (d, s).

    Equal masks are evaluated once. Without any draw the accuracy is that of always predicting the largest class.
    """
    from baselines.uncertain.intersection import selection_kernels

    distinct = sorted({mask.tobytes(): mask.ravel() for mask in masks}.values(), key=np.count_nonzero)
    X, X_test = (Z / (FEATURE_SCALE * data.s) for Z in (data.X, data.X_test))
    accuracies = {
        mask.tobytes(): _svm_accuracy(data, K, K_test) if mask.any() else _largest_class_accuracy(data)
        for mask, (K, K_test) in zip(distinct, selection_kernels(X, X_test, distinct))
    }
    return [accuracies[mask.tobytes()] for mask in masks]


def _svm_accuracy(data: SampledData, K: NDArray[np.float64], K_test: NDArray[np.float64]) -> float:
    from sklearn.svm import SVC

    machine = SVC(C=1.0, kernel="precomputed").fit(K, data.y)
    return float(((machine.decision_function(K_test) > 0) == (data.y_test > 0)).mean())


def _largest_class_accuracy(data: SampledData) -> float:
    return float((data.y_test == (1.0 if data.y.sum() > 0 else -1.0)).mean())


@returns(record(accuracy=share))
def unselected(
    dataset: Dataset, *, distribution: str, w: float, s: int, split: Split | FoldInFileOrder, seed: int
) -> dict[str, Any]:
    """Accuracy of the SVM on all draws; with amplitude ``w`` 0, on the values themselves."""
    draws = sample_data(*split.divide(dataset), distribution, w, s, seed)
    return {"accuracy": selection_accuracies(draws, [all_draws(draws)])[0]}


@returns(record(all=share, validation_all=share, validation=list_of(share)))
def on_grid(
    dataset: Dataset,
    *,
    distribution: str,
    w: float,
    s: int,
    penalties: Sequence[Penalties],
    split: Split,
    inner: int,
    seed: int,
) -> dict[str, Any]:
    """Evaluate each pair of penalties after 100 steps on one training part and on ``inner`` folds of it.

    Returns
    -------
    dict
        ``all``, accuracy of all draws on the test part, and ``validation_all``, its mean over the inner folds; and for
        each pair, as lists: ``fnum``, ``ratio``, ``accuracy`` and ``validation``, its mean over the inner folds.
    """
    train, test = split.divide(dataset)
    all_accuracy, selected = _evaluate_penalties(sample_data(train, test, distribution, w, s, seed), penalties)
    inside = [
        _evaluate_penalties(
            sample_data(*Split(0, n_folds=inner, fold=k).divide(train), distribution, w, s, seed), penalties
        )
        for k in range(inner)
    ]
    return {
        "all": all_accuracy,
        "validation_all": float(np.mean([a for a, _ in inside])),
        **{name: [row[name] for row in selected] for name in ("fnum", "ratio", "accuracy")},
        "validation": [float(np.mean(v)) for v in zip(*([r["accuracy"] for r in rows] for _, rows in inside))],
    }


def _evaluate_penalties(data: SampledData, penalties: Iterable[Penalties]) -> tuple[float, list[dict[str, float]]]:
    """Accuracy of all draws; and size and accuracy of each selection."""
    from baselines.sparse_group_lasso.fista import run_fista
    from baselines.sparse_group_lasso.groups import make_groups
    from baselines.sparse_group_lasso.penalty import Penalty

    groups = make_groups(data.s, "ones", data.X.shape[1])
    weights = run_fista(data.X, data.y, [Penalty(*pair, groups) for pair in penalties], EARLY_STEPS)
    masks = [w.reshape(-1, data.s) != 0 for w in weights]
    all_accuracy, *accuracies = selection_accuracies(data, [all_draws(data), *masks])
    return all_accuracy, [{**selection_size(mask), "accuracy": a} for mask, a in zip(masks, accuracies)]


def at_setting(
    dataset: Dataset,
    *,
    distribution: str,
    w: float,
    s: int,
    penalties: Penalties,
    split: Split,
    seed: int,
    n_steps: int = EARLY_STEPS,
) -> dict[str, Any]:
    """Evaluate one printed setting after ``n_steps`` (early) and at the minimum (exact).

    Returns
    -------
    dict
        ``all``, accuracy of all draws; for early and exact ``fnum``, ``ratio``, ``accuracy`` and ``gap``, the duality
        gap as a share of |y|^2 / 2; ``above``, the difference between both objectives as a share of the exact one; and
        ``possible``, an upper bound on the ratio of any minimum of equation 7.
    """
    draws = sample_data(*split.divide(dataset), distribution, w, s, seed)
    models = {mode: fit_lasso(draws, penalties, solver, n_steps) for mode, solver in MODES.items()}
    masks = [selected_mask(model, s) for model in models.values()]
    all_accuracy, *accuracies = selection_accuracies(draws, [all_draws(draws), *masks])
    result: dict[str, Any] = {"all": all_accuracy, "n_train": len(draws.X)}
    unit = 0.5 * float(draws.y @ draws.y)
    for (mode, model), mask, accuracy in zip(models.items(), masks, accuracies):
        figures = {**selection_size(mask), "accuracy": accuracy, "gap": model.dual_gap_ / unit}
        result |= {f"{mode}_{name}": value for name, value in figures.items()}
    exact = models["exact"]
    result["possible"] = possible_share(draws, penalties, exact.coef_, exact.dual_gap_ + GAP_ROUNDING * unit)
    early_objective, minimum = (objective(draws, penalties, model.coef_) for model in models.values())
    return {**result, "above": early_objective / minimum - 1.0}


def objective(data: SampledData, penalties: Penalties, coef: NDArray[np.float64]) -> float:
    """The objective of equation 7."""
    r, norms = data.y - data.X @ coef, np.linalg.norm(coef.reshape(-1, data.s), axis=1)
    return float(0.5 * r @ r + penalties[0] * np.abs(coef).sum() + penalties[1] * norms.sum())


def possible_share(data: SampledData, penalties: Penalties, coef: NDArray[np.float64], gap: float) -> float:
    """The share of sub-features whose weight is not proven to be 0 at every minimum of equation 7.

    Every minimum has the same residual, within sqrt(2 gap) of a dual point (Ndiaye, Fercoq, Gramfort and Salmon, 2016).
    """
    from baselines.sparse_group_lasso.groups import make_groups
    from baselines.sparse_group_lasso.penalty import Penalty

    lam1, lam2 = penalties
    r = data.y - data.X @ coef
    bound = Penalty(lam1, lam2, make_groups(data.s, "ones", data.X.shape[1])).dual_norm(data.X.T @ r)
    scale = min(float(data.y @ r) / float(r @ r), 1.0 / bound)
    z = np.abs(data.X.T @ (scale * r)).reshape(-1, data.s)
    reach = np.sqrt(2.0 * gap) * np.linalg.norm(data.X, axis=0).reshape(-1, data.s)
    column = z + reach >= lam1
    group = np.linalg.norm(np.maximum(z + reach - lam1, 0.0), axis=1) >= lam2
    return float((column & group[:, None]).mean())


def weights(
    dataset: Dataset, *, distribution: str, w: float, s: int, penalties: Penalties, split: Split, seed: int
) -> dict[str, Any]:
    """Weights, a list of ``s`` numbers per feature, after 100 steps (``early``) and at the minimum (``exact``)."""
    draws = sample_data(*split.divide(dataset), distribution, w, s, seed)
    return {mode: fit_lasso(draws, penalties, solver).coef_.reshape(-1, s).tolist() for mode, solver in MODES.items()}
