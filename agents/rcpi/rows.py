"""The training rows of RCPI: what is unavailable in them, and which of their acquisitions bring only zeros."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.rules.uninformative import uninformative_acquisitions

TRAINING_SHARE = 0.8  # of the rows, where the others are held out. By hand
Part = tuple[Dataset, NDArray[np.float64] | None]  # rows and their weights


def training_parts(
    dataset: Dataset, weight: NDArray[np.float64] | None, held_out: bool, rng: np.random.Generator
) -> tuple[Part, Part]:
    """The rows to train on and those to evaluate on: all of them, or a fifth that is held out for the evaluation."""
    if not held_out:
        return (dataset, weight), (dataset, weight)
    train, other = dataset.split_index(TRAINING_SHARE, int(rng.integers(2**31)))
    if weight is None:
        return (dataset.rows(train), None), (dataset.rows(other), None)
    return (dataset.rows(train), weight[train]), (dataset.rows(other), weight[other])


def blanked(
    dataset: Dataset, scaled: NDArray[np.float32], rules: Rules, share: float, rng: np.random.Generator
) -> tuple[Dataset, NDArray[np.float32]]:
    """The data set and its scaled values with NaN for a random share of the acquisitions; nothing is drawn for 0."""
    if share == 0:
        return dataset, scaled
    unknown = rng.random((dataset.n_samples, rules.n_acquisitions)) < share
    unknown = unknown[:, rules.acquisition_of_features]
    return dataset.replace(X=np.where(unknown, np.nan, dataset.X)), np.where(unknown, np.float32(np.nan), scaled)


def only_zeros(dataset: Dataset, rules: Rules) -> NDArray[np.bool_]:
    """Whether all values that an acquisition brings in a row are 0, bool (n_samples, n_acquisitions).

    False where it brings none, and for an acquisition that others need, since it makes them legal whatever it brings.
    """
    is_zero = (dataset.X == 0) & (dataset.columns.offsets == 0)
    is_other = ~is_zero & ~np.isnan(dataset.X)
    zeros = rules.acquisitions_of(is_zero) & ~rules.acquisitions_of(is_other)
    zeros[:, rules.tables.need] = False
    return np.ascontiguousarray(zeros)


def few_zeros(dataset: Dataset, rules: Rules, seed: int) -> NDArray[np.float32]:
    """``X`` with NaN for some of the acquisitions of zeros, so that a row has about as many of them as of others."""
    zeros = only_zeros(dataset, rules)
    n_others = (rules.acquisitions_of(~np.isnan(dataset.X)) & ~zeros).sum(axis=1)
    share = n_others / np.maximum(zeros.sum(axis=1), 1)
    hidden = zeros & (np.random.default_rng(seed).random(zeros.shape) >= share[:, None])
    return np.where(hidden[:, rules.acquisition_of_features], np.float32(np.nan), dataset.X)


class UnusedAcquisitions:
    """Drops the acquisitions that no row has made under the greedy policies of some iterations in a row.

    Parameters
    ----------
    rules : Rules
    after : int or None
        The number of iterations; None: nothing is dropped.

    Attributes
    ----------
    dropped : bool (n_acquisitions,)
    """

    def __init__(self, rules: Rules, after: int | None) -> None:
        self.rules, self.after = rules, after
        self.n_idle = np.zeros(rules.n_acquisitions, np.int64)
        self.dropped = np.zeros(rules.n_acquisitions, bool)

    def without_uninformative(self, dataset: Dataset) -> Dataset:
        """The data set with NaN for the acquisitions that tell nothing new in its rows, which are dropped."""
        return self._without(dataset, uninformative_acquisitions(dataset.X, self.rules))

    def dropped_from(self, dataset: Dataset, done: Trajectories) -> tuple[Dataset, NDArray[np.bool_]]:
        """The data set with NaN for all that is dropped after the trajectories of another policy, and what that is."""
        self.n_idle += 1
        self.n_idle[np.unique(done.order[done.order >= 0])] = 0
        if self.after is None:
            return dataset, self.dropped
        dropped = self.dropped | (self.n_idle >= self.after)
        return self._without(dataset, dropped), self.dropped

    def _without(self, dataset: Dataset, dropped: NDArray[np.bool_]) -> Dataset:
        if dropped.all() or (dropped == self.dropped).all():
            return dataset
        self.dropped = dropped
        return dataset.replace(X=np.where(dropped[self.rules.acquisition_of_features], np.float32(np.nan), dataset.X))
