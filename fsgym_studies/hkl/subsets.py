"""Selections of a subset of Boolean features by a merit of the whole subset: Weka's Cfs and consistency evaluators.

Hall (2000), Correlation-based feature selection for discrete and numeric class machine learning; Liu and Setiono
(1996), A probabilistic approach to feature selection: a filter solution, and Dash and Liu (2003), Consistency-based
search in feature selection. The paper's Table 1 has both, with several ways to search.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

FeatureSubset = list[int]
WaitingSubset = tuple[float, int, FeatureSubset, int]  # the negative merit, its number, a subset and an added feature
MAX_STALE = 5  # expansions in a row that do not improve the best subset, after which best-first search ends; Weka's
IMPROVEMENT = 1e-5  # smallest increase of a merit that counts; Weka's


def symmetrical_uncertainty(X: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """2 I(x; c) / (H(x) + H(c)) of each 0/1 column of ``X`` with ``codes`` (n_samples,), in [0, 1], (n_columns,).

    >>> symmetrical_uncertainty(np.array([[0.0, 1, 0], [1, 1, 0]]), np.array([0, 1])).tolist()
    [1.0, 0.0, 0.0]
    """
    n = len(codes)
    members = np.equal.outer(np.unique(codes), codes).astype(np.float64)
    ones, sizes = members @ X, members.sum(axis=1, keepdims=True)
    of_column = entropy(np.stack([X.sum(axis=0), n - X.sum(axis=0)]) / n)
    of_class = entropy(sizes / n)
    joint = entropy(np.concatenate([ones, sizes - ones]) / n)
    total = of_column + of_class
    return np.divide(2.0 * (total - joint), total, out=np.zeros_like(total), where=total > 0).clip(0.0, 1.0)


def entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of each column of ``shares`` in nats."""
    return -(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=0)


class Correlation:
    """Hall's merit k r_cf / sqrt(k + k (k - 1) r_ff) of k features, by their symmetrical uncertainties.

    r_cf is the mean with the class, and r_ff the mean over pairs of features.
    """

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self.X, self.with_class = X, symmetrical_uncertainty(X, y)
        self.with_feature: dict[int, NDArray[np.float64]] = {}

    def _with(self, j: int) -> NDArray[np.float64]:
        if j not in self.with_feature:
            self.with_feature[j] = symmetrical_uncertainty(self.X, self.X[:, j].astype(np.int64))
        return self.with_feature[j]

    def merits(self, subset: FeatureSubset, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Merits of ``subset`` with each of the candidates added, float64 (n_candidates,); the larger, the better."""
        pairs = sum(float(self._with(i)[subset[:k]].sum()) for k, i in enumerate(subset))
        pairs = pairs + sum((self._with(i)[candidates] for i in subset), np.zeros(len(candidates)))
        relevance = self.with_class[subset].sum() + self.with_class[candidates]
        return relevance / np.sqrt(len(subset) + 1 + 2.0 * pairs)


class Consistency:
    """The share of rows of the most frequent class among the rows that agree in all features of the subset."""

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self.X = X.astype(np.float64)
        self.classes = np.equal.outer(y, np.unique(y)).astype(np.float64)  # (n_samples, n_classes)

    def merits(self, subset: FeatureSubset, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """As those of ``Correlation``."""
        pattern = np.unique(self.X[:, subset], axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(pattern, kind="stable")
        starts = np.flatnonzero(np.diff(pattern[order], prepend=-1))
        added = self.X[np.ix_(order, candidates)]
        # Rows of each class in each pattern, (n_classes, n_patterns, 1), and those of them with the candidate.
        sizes = [np.add.reduceat(rows, starts)[:, None] for rows in self.classes[order].T]
        ones = [np.add.reduceat(added * rows[:, None], starts, axis=0) for rows in self.classes[order].T]
        largest = np.max(ones, axis=0) + np.max([all_ - one for all_, one in zip(sizes, ones)], axis=0)
        return largest.sum(axis=0) / len(self.X)


Evaluator = Correlation | Consistency


def greedy_search(evaluator: Evaluator, n: int) -> FeatureSubset:
    """Add the best feature as long as the merit increases (GreedyStepwise)."""
    subset: FeatureSubset = []
    best = 0.0
    while len(subset) < n:
        candidates = np.setdiff1d(np.arange(n), subset)
        merits = evaluator.merits(subset, candidates)
        if merits.max() <= best + IMPROVEMENT:
            break
        best = float(merits.max())
        subset.append(int(candidates[merits.argmax()]))
    return subset


def best_first_search(evaluator: Evaluator, n: int) -> FeatureSubset:
    """Extend the best subset that was not extended before, until ``MAX_STALE`` in a row brought no better one."""
    best_subset: FeatureSubset = []
    best, stale, pushed = 0.0, 0, 0
    subset: FeatureSubset | None = []
    waiting: list[WaitingSubset] = []
    seen: set[frozenset[int]] = {frozenset()}
    while subset is not None and stale < MAX_STALE:
        candidates = np.setdiff1d(np.arange(n), subset)
        merits = evaluator.merits(subset, candidates) if len(candidates) else np.zeros(0)
        for merit, j in zip(merits.tolist(), candidates.tolist()):
            pushed += 1
            heappush(waiting, (-merit, pushed, subset, j))
        stale += 1
        if len(merits) and merits.max() > best + IMPROVEMENT:
            best, stale = float(merits.max()), 0
            best_subset = [*subset, int(candidates[merits.argmax()])]
        subset = _next_subset(waiting, seen)
    return best_subset


def _next_subset(waiting: list[WaitingSubset], seen: set[frozenset[int]]) -> FeatureSubset | None:
    """Remove the best subset that is not ``seen`` from the heap and return it; None if there is none."""
    while waiting:
        _, _, subset, j = heappop(waiting)
        extended = [*subset, j]
        if frozenset(extended) not in seen:
            seen.add(frozenset(extended))
            return extended
    return None


EVALUATORS: dict[str, Callable[[NDArray[np.float64], NDArray[np.int64]], Evaluator]] = {
    "Cfs": Correlation,
    "consistency": Consistency,
}
SEARCHES: dict[str, Callable[[Evaluator, int], FeatureSubset]] = {
    "best-first": best_first_search,
    "greedy": greedy_search,
}


class SubsetSelector(SelectorMixin, BaseEstimator):
    """Selects 0/1 columns by an evaluator and a search, each by name."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init__(self, evaluator: str, search: str) -> None:
        self.evaluator = evaluator
        self.search = search

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> SubsetSelector:
        """Find the subset for 0/1 columns ``X`` and classes ``y``; without any merit, the first best single column."""
        evaluator = EVALUATORS[self.evaluator](X, y)
        self.subset_ = SEARCHES[self.search](evaluator, X.shape[1])
        if not self.subset_:
            self.subset_ = [int(evaluator.merits([], np.arange(X.shape[1])).argmax())]
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "subset_")
        return np.isin(np.arange(self.n_features_in_), self.subset_)
