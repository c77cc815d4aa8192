"""The policy around cross-fitted models: roll-outs, and the stop rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate.rollouts import RolloutStates, roll_out
from agents.anystate.state_model import StateModel
from agents.anystate.stop_rule import StopRule
from agents.anystate.stopping import learn_stop
from agents.calibration import PathStates
from agents.lattice.training_data import stratified_folds
from agents.tradeoff import AcquisitionIndices
from fsgym.data.dataset import Dataset
from fsgym.data.row_groups import grouped_folds
from fsgym.rules import Rules

MAX_ROLLED_ROWS = 6000  # rows that are rolled out; by hand
N_FOLDS_BY_ROWS = {1000: 5, np.inf: 3}


class LearntPolicy(NamedTuple):
    """A model with its stop rule, and figures of the training rows, out of fold."""

    model: StateModel
    stop: StopRule
    losses: NDArray[np.float64]  # those of ``row_losses``
    used: dict[str, NDArray[np.float64]]  # that of ``row_usage``
    loss: float  # the mean
    means: dict[str, float]  # of what is used
    path: PathStates

    def usage(self) -> dict[str, float]:
        """The means that a target limits, by name; "cost" is in the unit of ``costs``."""
        return self.means

    def row_usage(self) -> dict[str, NDArray[np.float64]]:
        """What ``usage`` has the means of, for each training row, float64 (n_samples,); NaN for rows not rolled out."""
        return self.used

    def row_losses(self) -> NDArray[np.float64]:
        """Realised loss of each training row, out of fold, float64 (n_samples,); NaN for rows not rolled out."""
        return self.losses


def training_folds(dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each row, int64 (n_samples,); rows of one group (``row_groups``) are in the same fold."""
    n = dataset.n_samples
    n_folds = min(n, next(folds for most, folds in N_FOLDS_BY_ROWS.items() if n <= most))
    if dataset.row_groups is None:
        return stratified_folds(dataset.y, n_folds, rng)
    return grouped_folds(dataset.y, dataset.row_groups, n_folds, rng)


def learn_policy(
    by_fold: Sequence[StateModel],
    final: StateModel,
    dataset: Dataset,
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    rules: Rules,
    seed: int,
    skipped: AcquisitionIndices = (),
) -> LearntPolicy:
    """The policy around a model, with its stop rule and its losses on the training rows, out of fold.

    Parameters
    ----------
    by_fold : sequence of StateModel, each fitted without its fold
    final : StateModel, fitted to all rows
    dataset : Dataset, the training rows
    fold : int64 (n_samples,)
    weight : float64 (n_samples,) with mean 1, or None for equal weights
    rules : Rules
    seed : int, for the choice of rows and the random starts
    skipped : tuple of int, acquisitions that the policy never makes
    """
    rng = np.random.default_rng(seed)
    weight = np.ones(dataset.n_samples) if weight is None else weight
    rows = np.sort(rng.permutation(dataset.n_samples)[:MAX_ROLLED_ROWS])
    visited = roll_out(by_fold, fold, dataset, rules, rows, skipped=skipped)
    rng = np.random.default_rng(seed + 1)
    starts = roll_out(by_fold, fold, dataset, rules, rows[::2], rng, skipped)
    stop, losses, last, reached = learn_stop(visited, starts, dataset.y, fold, weight, rules)
    share = weight[rows] / weight[rows].sum()
    figures = {"loss": losses, "features": visited.n_features[last], "cost": visited.cost[last]}
    means = {name: float(share @ of_rows) for name, of_rows in figures.items()}
    of_all = {name: np.full(dataset.n_samples, np.nan) for name in figures}
    for name, of_rows in figures.items():
        of_all[name][rows] = of_rows
    path = _path_of(visited, reached, last, dataset.y, fold, weight)
    return LearntPolicy(final, stop, of_all.pop("loss"), of_all, means.pop("loss"), means, path)


def _path_of(
    visited: RolloutStates,
    reached: NDArray[np.bool_],
    last: NDArray[np.int64],
    y: NDArray[np.int64],
    fold: NDArray[np.int64],
    weight: NDArray[np.float64],
) -> PathStates:
    """The states of the rows up to their last ones, row by row of those that are reached."""
    ends = np.zeros(len(reached), bool)
    ends[last] = True
    row = visited.row
    return PathStates(visited.probabilities, y[row], visited.size, ends, fold[row], weight[row]).select(reached)
