"""The classifier of one subset of the features: boosted trees blended with logistic regression, then tempered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from agents.lattice import constants as const
from agents.lattice.basis import Basis, columns_and_bins, fit_basis
from agents.lattice.logistic import fit_logistic
from fsgym.trees.boosting import Growth, SmallForest, boost


def tree_settings(n_samples: int, n_classes: int) -> const.TreeSettings:
    """The settings of the boosted trees for a training set of this size."""
    if n_classes > 2:
        return const.TREES_MULTICLASS
    return const.TREES_BINARY_SMALL if n_samples <= const.MAX_ROWS_SMALL else const.TREES_BINARY


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The training data with everything derived from it that the classifiers of all subsets share.

    Attributes
    ----------
    X : float32 (n_samples, n_features)
    y : int64 (n_samples,)
    n_classes : int
    fold : int64 (n_samples,), stratified; each probability used in learning is predicted out of fold
    seed : int, for the sampling of rows and columns of the trees
    weight : float64 (n_samples,) with mean 1, or None for equal weights
        All means over rows are weighted. Columns, bins and folds are not: they do not depend on weights.
    column_of : int64 (n_features,), the column of the table that each feature encodes; None: each is a column
    basis : Basis
    columns : float64 (n_samples, n_features, 4), z-scores and hinges
    codes : uint8 (n_features, n_samples), bins
    onehot : float64 (n_samples, n_classes)
    trees : TreeSettings
    sampled : bool (n_rounds, n_samples), the rows of each boosting round
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    n_classes: int
    fold: NDArray[np.int64]
    seed: int
    weight: NDArray[np.float64] | None = None
    column_of: NDArray[np.int64] | None = None
    basis: Basis = field(init=False)
    columns: NDArray[np.float64] = field(init=False)
    codes: NDArray[np.uint8] = field(init=False)
    onehot: NDArray[np.float64] = field(init=False)
    trees: const.TreeSettings = field(init=False)
    sampled: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        basis = fit_basis(self.X)
        columns, codes = columns_and_bins(basis, self.X)
        trees = tree_settings(len(self.y), self.n_classes)
        for name, value in (
            ("basis", basis),
            ("columns", columns),
            ("codes", codes),
            ("onehot", np.eye(self.n_classes)[self.y]),
            ("trees", trees),
            ("sampled", _sample_rows(len(self.y), trees, self.seed)),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_outputs(self) -> int:
        """Scores that the trees predict: 1 for two classes, otherwise one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    def class_shares(self) -> NDArray[np.float64]:
        """Relative frequencies of the classes, all above 0, float64 (n_classes,)."""
        counts = np.maximum(np.bincount(self.y, self.weight, minlength=self.n_classes), const.MIN_CLASS_COUNT)
        return counts / counts.sum()

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return len(self.y) if self.weight is None else float(self.weight.sum() ** 2 / (self.weight @ self.weight))

    def one_per_column(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features without all but the first of each column, whose features are available together."""
        if self.column_of is None:
            return features
        return features[np.unique(self.column_of[features], return_index=True)[1]]

    def weighted(self, values: NDArray) -> NDArray:
        """``values`` (n_samples,) times the weights."""
        return values if self.weight is None else values * self.weight

    def mean(self, values: NDArray) -> float:
        """The weighted mean of ``values`` (n_samples,)."""
        return float(values.mean() if self.weight is None else self.weight @ values / self.weight.sum())


class SubsetClassifier(NamedTuple):
    """A fitted classifier of a subset: softmax(log(blend * trees + (1 - blend) * logistic) / temperature).

    Attributes
    ----------
    features : int64 (n_subset_features,)
    coefficients : float64 (1 + 4 n_subset_features, n_classes), 0 for constant columns
    start_score : float64 (n_outputs,), to which the trees add
    forest : SmallForest, split on places in ``features``
    blend : float, the share of the trees
    temperature : float
    """

    features: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    start_score: NDArray[np.float64]
    forest: SmallForest
    blend: float
    temperature: float


class CrossFit(NamedTuple):
    """Out-of-fold probabilities of the training rows at a subset, with the blend and temperature chosen on them.

    Attributes
    ----------
    proba : float64 (n_samples, n_classes)
    blend, temperature : float, as in ``SubsetClassifier``
    """

    proba: NDArray[np.float64]
    blend: float
    temperature: float


def stratified_folds(y: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random stratified fold for each row, int64 (n_samples,)."""
    fold = np.empty(len(y), np.int64)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _sample_rows(n_samples: int, trees: const.TreeSettings, seed: int) -> NDArray[np.bool_]:
    """The rows of each boosting round, bool (n_rounds, n_samples)."""
    rng, part = np.random.default_rng(seed), np.arange(n_samples) % trees.parts
    parts = [rng.permutation(part) for _ in range(0, trees.rounds, trees.parts)]
    return np.stack([parts[r // trees.parts] != r % trees.parts for r in range(trees.rounds)])


def operations(data: TrainingData, features: NDArray[np.int64]) -> int:
    """The cost of a subset with its cross-fitted classifier, in about nanoseconds; see ``constants``."""
    n, trees = len(data.y), data.trees
    n_split_columns = min(len(features), const.MAX_TREE_COLUMNS)
    tree = const.TREE_ROW_NS * n + const.TREE_NS + const.TREE_LEAF_COLUMN_NS * 2**trees.depth * n_split_columns
    n_columns = np.count_nonzero(data.basis.inverse_column_std[features])
    iteration = n * (const.LOGISTIC_ROW_NS + const.LOGISTIC_ENTRY_NS * n_columns)
    factor = n_columns**3 // const.FACTOR_DIVISOR if n_columns > const.MIN_COLUMNS_OF_FACTOR else 0
    one_fold = data.n_outputs * (trees.rounds * tree + const.LOGISTIC_ITERATIONS * iteration) + factor
    return int(data.n_folds * one_fold) + const.SUBSET_NS + const.SUBSET_ROW_NS * n


def cross_fit(data: TrainingData, features: NDArray[np.int64]) -> CrossFit:
    """Cross-fit the classifier of a subset, and choose blend and temperature by the out-of-fold log-loss."""
    if not len(features):
        return CrossFit(np.tile(data.class_shares(), (len(data.y), 1)), 0.0, 1.0)
    fold, weight = data.fold, _subset_row_weights(data, features)
    in_fold = fold[None] == np.arange(data.n_folds)[:, None]
    H, _ = _logistic_columns(data, features)
    theta = fit_logistic(H, data.onehot, np.where(in_fold, 0.0, weight))[fold]
    logistic = softmax(theta[:, 0] + np.einsum("ij,ijk->ik", H, theta[:, 1:]), axis=-1)
    trees = np.empty_like(logistic)
    tree_columns = _sample_tree_columns(data, features)
    for left_out in in_fold:
        scores, _, _ = _boosted(data, features, np.flatnonzero(~left_out), weight, tree_columns)
        trees[left_out] = _proba_of_scores(scores[left_out])
    blends = {b: b * trees + (1 - b) * logistic for b in const.BLENDS}
    blend = min(blends, key=lambda b: _log_loss(blends[b], data.y, weight))
    log_proba = np.log(np.maximum(blends[blend], const.MIN_PROBA))
    tempered = {t: softmax(log_proba / t, axis=-1) for t in const.TEMPERATURES}
    temperature = min(tempered, key=lambda t: _log_loss(tempered[t], data.y, weight))
    return CrossFit(tempered[temperature], blend, temperature)


def fit_classifier(data: TrainingData, features: NDArray[np.int64], cross_fitted: CrossFit) -> SubsetClassifier:
    """Fit the classifier of a subset to all rows, with the blend and temperature of its cross-fit."""
    if not len(features):
        no_trees = SmallForest(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.uint8), np.zeros((0, 2)))
        start_score = np.zeros(data.n_outputs)
        return SubsetClassifier(features, np.log(data.class_shares())[None], start_score, no_trees, 0.0, 1.0)
    weight = _subset_row_weights(data, features)
    H, varies = _logistic_columns(data, features)
    coefficients = np.zeros((1 + len(varies), data.n_classes))
    coefficients[np.append(True, varies)] = fit_logistic(H, data.onehot, weight[None])[0]
    rows, tree_columns = np.arange(len(data.y)), _sample_tree_columns(data, features)
    _, start_score, forest = _boosted(data, features, rows, weight, tree_columns)
    return SubsetClassifier(features, coefficients, start_score, forest, cross_fitted.blend, cross_fitted.temperature)


def _subset_row_weights(data: TrainingData, features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights of the rows, float64 (n_samples,): their own, smaller for rows without all of the values."""
    return data.weighted(np.where(np.isnan(data.X[:, features]).any(axis=1), const.MISSING_ROW_WEIGHT, 1.0))


def _logistic_columns(data: TrainingData, features: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The columns of a subset that vary, (n_samples, n_varying), and which they are, bool (4 n_subset_features,)."""
    varies = (data.basis.inverse_column_std[features] > 0).ravel()
    return np.ascontiguousarray(data.columns[:, features].reshape(len(data.y), -1)[:, varies]), varies


def _sample_tree_columns(data: TrainingData, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """The columns of each tree, int64 (n_trees, at most 16), as places in ``features``."""
    n_trees = data.trees.rounds * data.n_outputs
    d = len(features)
    if d <= const.MAX_TREE_COLUMNS:
        return np.tile(np.arange(d), (n_trees, 1))
    rng = np.random.default_rng([data.seed, *features.tolist()])
    return rng.random((n_trees, d)).argsort(axis=1)[:, : const.MAX_TREE_COLUMNS]


def _boosted(
    data, features, rows, weight, tree_columns
) -> tuple[NDArray[np.float64], NDArray[np.float64], SmallForest]:
    """Boost on ``rows``: the scores of all rows (n_samples, n_outputs), the start score (n_outputs,) and the trees."""
    counts = np.bincount(data.y[rows], weights=weight[rows], minlength=data.n_classes)
    shares = np.maximum(counts, const.MIN_CLASS_COUNT) / np.maximum(counts, const.MIN_CLASS_COUNT).sum()
    start_score = np.log(shares) if data.n_classes > 2 else np.log(shares[1:] / shares[:1])
    scores = np.tile(start_score, (len(data.y), 1))
    growth = Growth(data.trees.depth, data.trees.rate, const.MIN_LEAF_WEIGHT)
    forest = boost(data.codes[features], data.y, rows, weight, scores, tree_columns, data.sampled, growth)
    return scores, start_score, forest


def _proba_of_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class probabilities from scores (n, n_outputs), float64 (n, n_classes)."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    return softmax(scores, axis=-1)


def _log_loss(proba: NDArray[np.float64], y: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
    proba_true = np.maximum(proba[np.arange(len(y)), y], const.MIN_PROBA)
    return float(-(weight * np.log(proba_true)).sum() / weight.sum())
