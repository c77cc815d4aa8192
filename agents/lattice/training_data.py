"""The training data with what the classifiers of all subsets share, and what a lattice may cost on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.constants import COLUMNS_PER_FEATURE, MAX_ABS_COLUMN, MIN_STD, QUARTILES
from agents.whole_table import WholeTable
from fsgym.data.dataset import Dataset
from fsgym.data.row_groups import grouped_folds
from fsgym.support.arrays import read_only
from fsgym.trees.boosting import MAX_BINS

# Columns and bins of the raw values: z-scores and hinges at the quartiles for regressions, bins for trees.


class Basis(NamedTuple):
    """Statistics of the training values that define columns and bins; a missing value counts as the mean."""

    mean: NDArray[np.float64]  # (n_features,)
    inverse_std: NDArray[np.float64]  # (n_features,), 0 for a constant feature
    knots: NDArray[np.float64]  # (n_features, 4), z-scores at which the hinges begin, 0 for the z-score itself
    column_mean: NDArray[np.float64]  # (n_features, 4)
    inverse_column_std: NDArray[np.float64]  # (n_features, 4), 0 for a column that is constant or repeats the z-score
    thresholds: NDArray[np.float64]  # (n_features, most_bins - 1), ascending, then infinity; bin k is above k of them

    @property
    def n_bins(self) -> NDArray[np.int64]:
        """Number of bins of each feature, int64 (n_features,)."""
        return np.isfinite(self.thresholds).sum(axis=1) + 1


def fit_basis(X: NDArray[np.float32], most_bins: int, cuts: list[NDArray[np.float64]] | None = None) -> Basis:
    """Fit the basis to the values ``X`` (n_samples, n_features), NaN where missing.

    Each distinct value has a bin of its own where there are at most ``most_bins``, otherwise bins hold equal shares,
    and are divided at ``cuts`` of each feature, fewer than ``most_bins / 2``.
    """
    n = X.shape[1]
    basis = Basis(
        np.zeros(n),
        np.zeros(n),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.zeros((n, COLUMNS_PER_FEATURE)),
        np.full((n, most_bins - 1), np.inf),
    )
    for i in range(n):
        x = np.sort(X[:, i].astype(np.float64))
        x = x[: len(x) - np.count_nonzero(np.isnan(x))]
        if not len(x) or x[0] == x[-1]:
            basis.mean[i] = x[0] if len(x) else 0.0
            continue
        values = x[np.append(True, x[1:] != x[:-1])]
        basis.mean[i], basis.inverse_std[i] = x.mean(), 1.0 / x.std()
        z = (x - basis.mean[i]) * basis.inverse_std[i]
        basis.knots[i, 1:] = np.quantile(z, QUARTILES)
        for k in range(COLUMNS_PER_FEATURE if len(values) > 2 else 1):
            column = z if k == 0 else np.maximum(z - basis.knots[i, k], 0.0)
            basis.column_mean[i, k], basis.inverse_column_std[i, k] = column.mean(), _inverse(column.std())
        middles = values[:-1] + 0.5 * np.diff(values)
        if len(values) > most_bins:
            known = np.zeros(0) if cuts is None else cuts[i]
            n_shares = most_bins - len(known)
            ends = np.append(np.quantile(x, np.arange(1, n_shares) / n_shares), known)
            middles = np.unique(middles[np.searchsorted(middles, ends).clip(max=len(middles) - 1)])
        basis.thresholds[i, : len(middles)] = middles
    return basis


def _inverse(std: float) -> float:
    return 1.0 / std if std > MIN_STD else 0.0


def columns_of(basis: Basis, X: NDArray[np.float32], features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Columns of some features, float64 (n_samples, len(features), 4), whose values are ``X``, with one column each."""
    columns = np.empty((len(X), len(features), COLUMNS_PER_FEATURE))
    _write_columns(basis, read_only(X), features, columns)
    return columns


MISSING_BIN = 255  # above all bins, of which there are at most 255


def bins_of(
    basis: Basis, X: NDArray[np.float32], features: NDArray[np.int64] | None = None, missing: int | None = None
) -> NDArray[np.uint8]:
    """Bins of all or some features, uint8 (n_features, n_samples); a missing value has that of the mean by default."""
    features = np.arange(X.shape[1]) if features is None else features
    codes = np.empty((len(features), len(X)), np.uint8)
    _write_bins(basis, read_only(X), features, codes)
    if missing is not None:
        codes[np.isnan(X[:, features]).T] = missing
    return codes


def mean_columns_of_bins(basis: Basis, X: NDArray[np.float32], codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The mean columns of the rows in each bin, float32 (n_features, n_bins, 4), 0 in empty bins."""
    means = np.zeros((len(codes), int(codes.max(initial=0)) + 1, COLUMNS_PER_FEATURE), np.float32)
    _average_columns(basis, read_only(X), codes, means)
    return means


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def write_columns(basis, i, x, out):
    """Write the four columns of feature i with the value x; ``basis`` is a ``Basis`` or a record with its fields."""
    z = 0.0 if np.isnan(x) else (np.float64(x) - basis.mean[i]) * basis.inverse_std[i]
    for k in range(COLUMNS_PER_FEATURE):
        column = z if k == 0 else max(z - basis.knots[i, k], 0.0)
        column = (column - basis.column_mean[i, k]) * basis.inverse_column_std[i, k]
        out[k] = min(max(column, -MAX_ABS_COLUMN), MAX_ABS_COLUMN)


@njit(cache=True, nogil=True, _nrt=False, inline="always")
def bin_of(basis, i, x):
    """The bin of the value x of feature i; ``basis`` as for ``write_columns``."""
    value = basis.mean[i] if np.isnan(x) else np.float64(x)
    low, high = 0, basis.thresholds.shape[1]
    while low < high:
        middle = (low + high) // 2
        if basis.thresholds[i, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True, _nrt=False)
def _write_columns(basis, X, features, columns):
    for row in range(len(X)):
        for f in range(len(features)):
            write_columns(basis, features[f], X[row, f], columns[row, f])


@njit(cache=True, nogil=True, _nrt=False)
def _write_bins(basis, X, features, codes):
    for row in range(X.shape[0]):
        for f in range(len(features)):
            codes[f, row] = bin_of(basis, features[f], X[row, features[f]])


@njit(cache=True, nogil=True)
def _average_columns(basis, X, codes, means):
    total, count, column = np.empty(means.shape[1:]), np.empty(means.shape[1]), np.empty(means.shape[2])
    for i in range(len(codes)):
        total[:], count[:] = 0.0, 0.0
        for row in range(len(X)):
            b = codes[i, row]
            write_columns(basis, i, X[row, i], column)
            count[b] += 1.0
            for h in range(len(column)):
                total[b, h] += column[h]
        for b in range(len(count)):
            for h in range(len(column)):
                means[i, b, h] = total[b, h] / max(count[b], 1.0)


class Ingredients(NamedTuple):
    """The models that the classifier of a subset averages."""

    trees: const.TreeSettings  # of the boosted trees
    # whether there are boosted trees and logistic regression
    boosted: bool
    logistic: bool
    n_forest_trees: int  # trees of the forest
    # the folds are united to so many parts, and each tree of a forest that predicts out of fold leaves one out
    n_parts: int


def few_rows_decide(n_samples: int, size_at_stake: float) -> bool:
    """Whether a table counts as small: it is, or errors in few of its rows decide; see ``TrainingData``."""
    if min(n_samples, size_at_stake) <= const.MAX_ROWS_SMALL:
        return True
    return size_at_stake <= min(const.MAX_SIZE_AT_STAKE, const.MAX_SHARE_AT_STAKE * n_samples)


def choose_ingredients(
    n_samples: int, n_features: int, n_classes: int, n_folds: int, size_at_stake: float | None = None
) -> Ingredients:
    """The models for a training set of this size: on more than 1000 rows the first of some that are cheap enough.

    ``size_at_stake`` is that of ``TrainingData``, by default ``n_samples``. Where few rows decide, the models are those
    of few rows, if they are cheap enough for all of the rows.
    """
    n_parts = min(n_folds, const.MAX_FOREST_PARTS)
    small_trees = const.SMALL_TREES_BINARY if n_classes == 2 else const.SMALL_TREES_MULTICLASS
    of_few_rows = Ingredients(small_trees, True, True, 0, n_parts)
    if n_samples <= const.MAX_ROWS_SMALL:
        return of_few_rows
    k = min(n_features, const.TYPICAL_FEATURES)
    typical = SubsetSize(k, k * const.COLUMNS_PER_FEATURE, k * const.TYPICAL_BINS, np.inf)
    limit = limits_of(n_samples).n_operations / const.LEAST_SUBSETS
    candidates = [
        Ingredients(trees or const.SHORT_TREES, trees is not None, linear, trees_of_part * n_parts, n_parts)
        for trees, logistic, trees_of_part in const.LARGE_MODELS
        for linear in dict.fromkeys((logistic or n_classes == 2, logistic))
    ]
    if size_at_stake is not None and few_rows_decide(n_samples, size_at_stake):
        candidates = [of_few_rows, *candidates]
    cheap = (c for c in candidates if operations(n_samples, n_classes, n_folds, typical, c) <= limit)
    return next(cheap, candidates[-1])


class LatticeLimits(NamedTuple):
    """The limits of a lattice."""

    n_subsets: int  # subsets with classifiers
    n_operations: int  # of all subsets together, in nanoseconds by ``operations``


def limits_of(n_samples: int, effort: float = 1.0) -> LatticeLimits:
    """The limits for a training set of this size; ``effort`` multiplies them."""
    rows = min(max(n_samples, const.ROWS_OF_MAX_OPERATIONS), const.MAX_ROWS_OF_OPERATIONS)
    n_subsets = next(limit for most_rows, limit in const.MAX_SUBSETS.items() if n_samples <= most_rows)
    return LatticeLimits(
        max(int(effort * n_subsets), 1), int(effort * const.MAX_OPERATIONS * rows / const.ROWS_OF_MAX_OPERATIONS)
    )


class SubsetSize(NamedTuple):
    """What the cost of a subset's classifier depends on."""

    n_features: int
    n_columns: int  # of the logistic regression, up to four a feature
    n_bins: int  # of all features together
    levels: float  # at most so many levels of a tree separate all combinations of bins


def operations(n_samples: int, n_classes: int, n_folds: int, subset: SubsetSize, ingredients: Ingredients) -> int:
    """The cost of a subset with its cross-fitted classifier, in about nanoseconds; see ``constants``."""
    n, n_outputs, trees = n_samples, 1 if n_classes == 2 else n_classes, ingredients.trees
    total = const.SUBSET_NS + const.SUBSET_ROW_NS * n
    if ingredients.boosted:
        share = min(subset.n_features, const.MAX_TREE_COLUMNS) / max(subset.n_features, 1)
        rows = n * (const.TREE_ROW_NS + const.TREE_ENTRY_NS * share * subset.n_features)
        tree = const.TREE_NS + rows + const.TREE_LEAF_BIN_NS * 2**trees.depth * share * subset.n_bins
        total += int(n_folds * n_outputs * trees.rounds * tree)
    if ingredients.logistic:
        row, entry = const.LOGISTIC_NS[n_outputs > 1]
        iteration = n * (row + entry * subset.n_columns)
        factor = subset.n_columns**3 // const.FACTOR_DIVISOR if subset.n_columns > const.MIN_COLUMNS_OF_FACTOR else 0
        total += int(n_folds * (n_outputs * const.LOGISTIC_ITERATIONS * iteration + factor))
    rows = min(n, const.MAX_BAG_ROWS)
    levels = min(np.log2(max(rows / const.FOREST_MIN_LEAF, 2.0)), subset.levels)
    column = const.FOREST_COLUMN_NS * n_tried_columns(subset.n_features)
    tree = const.TREE_NS + rows * (const.FOREST_ROW_NS + levels * (const.FOREST_LEVEL_NS + column))
    return total + int(ingredients.n_forest_trees * tree)


def n_tried_columns(n_features: int) -> int:
    """Columns among which each node of a forest chooses."""
    return min(-(-n_features // const.FOREST_COLUMNS_DIVISOR), const.MAX_FOREST_COLUMNS)


class ClassRows:
    """What follows from the classes and weights of rows, for ``TrainingData`` and ``AllRows``."""

    y: NDArray[np.int64]
    n_classes: int
    seed: int
    weight: NDArray[np.float64] | None
    error_costs: NDArray[np.float64] | None
    basis: Basis
    ingredients: Ingredients

    @property
    def n_outputs(self) -> int:
        """Scores that the boosted trees predict: 1 for two classes, otherwise one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def is_small(self) -> bool:
        """Whether so few rows decide that the average of models is more reliable than their choice."""
        return few_rows_decide(len(self.y), self.size_at_stake)

    @property
    def forest_leaf(self) -> float:
        """The least weight of the rows of a leaf of a forest; more than usual where few of the rows are at stake."""
        if self.error_costs is None or self.size_at_stake > const.SHARE_AT_STAKE_OF_LEAF * self.effective_size:
            return const.FOREST_MIN_LEAF
        saving = np.ptp(self.error_costs, axis=0)
        wanted = const.FOREST_LEAF_OF_MULTIPLE * saving.max() / saving[saving > 0].min()
        return max(min(wanted, const.MAX_LEAF_SHARE * len(self.y)), const.FOREST_MIN_LEAF)

    def class_shares(self) -> NDArray[np.float64]:
        """Relative frequencies of the classes, all above 0, float64 (n_classes,)."""
        counts = np.maximum(np.bincount(self.y, self.weight, minlength=self.n_classes), const.MIN_CLASS_COUNT)
        return counts / counts.sum()

    @property
    def effective_size(self) -> float:
        """Kish's effective number of rows, (sum w)^2 / sum w^2."""
        return len(self.y) if self.weight is None else _effective(self.weight)

    @cached_property
    def size_at_stake(self) -> float:
        """The effective number of rows, where a row counts as much as its answer may save.

        The lower one of Kish's number, and of the rows times the mean of what may be saved in a row over the mean of
        the classes: of a class that is rare and whose errors are dear, few rows decide, however many others there are.
        """
        if self.error_costs is None:
            return self.effective_size
        of_class = np.ptp(self.error_costs, axis=0)
        saving = of_class[self.y]
        if not saving.any():
            return self.effective_size
        present = np.bincount(self.y, minlength=self.n_classes) > 0
        share = self.mean(saving) / of_class[present].mean()
        return min(_effective(self.weighted(saving / saving.max())), self.effective_size * float(share))

    @property
    def shrinkage(self) -> float:
        """Factor of the penalties of boosted trees and logistic regression; 1 where all errors cost the same."""
        if not self.is_small:
            return 1.0
        return min(self.effective_size / self.size_at_stake, const.MAX_SHRINKAGE)

    def weighted(self, values: NDArray) -> NDArray:
        """``values`` (n_samples,) times the weights."""
        return values if self.weight is None else values * self.weight

    def mean(self, values: NDArray) -> float:
        """The weighted mean of ``values`` (n_samples,)."""
        return float(values.mean() if self.weight is None else self.weight @ values / self.weight.sum())


def rows_of_folds(fold: NDArray[np.int64], n_folds: int) -> list[NDArray[np.int64]]:
    """The rows of each fold, list of int64 arrays."""
    return [np.flatnonzero(fold == k) for k in range(n_folds)]


@dataclass(frozen=True, eq=False)
class TrainingData(ClassRows):
    """Rows to train on. Memory: 5 bytes for each value, and for each row about 100 bytes."""

    X: NDArray[np.float32]  # (n_samples, n_features)
    y: NDArray[np.int64]  # (n_samples,)
    n_classes: int
    fold: NDArray[np.int64]  # (n_samples,), stratified; each probability used in learning is predicted out of fold
    seed: int  # for the sampling of rows and columns of the trees
    # (n_samples,) with mean 1, or None for equal weights. All means over rows are weighted; columns and folds do not
    # depend on weights.
    weight: NDArray[np.float64] | None = None
    # (n_classes, n_classes), as of ``Rules``; None: all errors cost the same. No probability is learnt with them: they
    # only tell how many rows decide, see ``size_at_stake``, and so which models are fitted, and how much these are
    # shrunk.
    error_costs: NDArray[np.float64] | None = None
    # (n_features,), the column of the table that each feature encodes; None: each is a column
    column_of: NDArray[np.int64] | None = None
    given_basis: Basis | None = None  # by default fitted to ``X``
    # where this is a sample: all rows of the table, to which the final classifiers are fitted, and which rows of the
    # task these are, (n_task,)
    all_rows: AllRows | None = None
    places: NDArray[np.bool_] | None = None
    basis: Basis = field(init=False)
    codes: NDArray[np.uint8] = field(init=False)  # (n_features, n_samples), bins
    onehot: NDArray[np.float64] = field(init=False)  # (n_samples, n_classes)
    ingredients: Ingredients = field(init=False)  # the models that each subset's classifier averages
    sampled: NDArray[np.bool_] = field(init=False)  # (n_rounds, n_samples), the rows of each boosting round
    # (n_trees, n_samples), how often each row counts in each tree of a forest
    bags: NDArray[np.uint8] = field(init=False)

    def __post_init__(self) -> None:
        n, n_features = self.X.shape
        basis = self.given_basis or fit_basis(self.X, _most_bins(n, n_features), _cuts(self))
        ingredients = choose_ingredients(n, n_features, self.n_classes, self.n_folds, self.size_at_stake)
        for name, value in (
            ("basis", basis),
            ("codes", bins_of(basis, self.X)),
            ("onehot", np.eye(self.n_classes)[self.y]),
            ("ingredients", ingredients),
            ("sampled", _sample_rounds(n, ingredients.trees, self.seed)),
            ("bags", _sample_bags(n, ingredients.n_forest_trees, self.seed)),
        ):
            object.__setattr__(self, name, value)

    def __sizeof__(self) -> int:
        """Bytes of the arrays, so that a distributed backend of joblib sends them to each worker only once."""
        own = sum(v.nbytes for v in vars(self).values() if isinstance(v, np.ndarray))
        return own + (0 if self.all_rows is None else self.all_rows.__sizeof__())

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    @cached_property
    def rows_of_folds(self) -> list[NDArray[np.int64]]:
        return rows_of_folds(self.fold, self.n_folds)

    @cached_property
    def fine_bins(self) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Bins for sums over rows, and the mean columns of the rows in each.

        uint8 (n_features, n_samples) and float32 (n_features, n_bins, 4). Those of trees are too coarse on few rows.
        """
        codes = bins_of(fit_basis(self.X, MAX_BINS), self.X) if self.is_small else self.codes
        return codes, mean_columns_of_bins(self.basis, self.X, codes)

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """z-scores and hinges of some features, float64 (n_samples, len(features), 4)."""
        return columns_of(self.basis, self.X[:, features], features)

    spaced: ClassVar[slice] = slice(None)  # the rows of ``columns``

    def bins(self, features: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Bins of some features, uint8 (len(features), n_samples)."""
        return self.codes[features]

    def incomplete(self, features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """The rows that lack a value of these features, bool (n_samples,)."""
        incomplete: NDArray[np.bool_] = np.any(np.isnan(self.X[:, features]), axis=1)
        return incomplete

    def operations(self, features: NDArray[np.int64]) -> int:
        """The cost of cross-fitting the classifier of some features, in about nanoseconds."""
        n_columns, n_bins = int(np.count_nonzero(self.basis.inverse_column_std[features])), self.basis.n_bins[features]
        size = SubsetSize(len(features), n_columns, int(n_bins.sum()), float(np.log2(n_bins).sum()))
        return operations(len(self.y), self.n_classes, self.n_folds, size, self.ingredients)

    def one_per_column(self, features: NDArray[np.int64]) -> NDArray[np.int64]:
        """The features without all but the first of each column, whose features are available together."""
        if self.column_of is None:
            return features
        return features[np.unique(self.column_of[features], return_index=True)[1]]


class AllRows(ClassRows):
    """All rows of a large table: the final classifiers of the subsets that most rows reach are fitted to them.

    Only the bins of features that are asked for are kept, in a byte each. With them, each row takes about 70 bytes more
    for its class, its weight and its part in each tree. The values are read block by block, and only those of evenly
    spaced rows are kept, for the logistic regressions.

    Attributes
    ----------
    blocks : iterable of float32 (n_rows, n_features), the values in the order of the rows; read again for new features
    y, weight : as in ``TrainingData``, of all rows
    spaced : int64, the rows of ``columns``
    """

    def __init__(self, whole: WholeTable, sample: TrainingData) -> None:
        self.blocks, self.y, self.weight = whole
        self.n_classes, self.seed, self.error_costs = sample.n_classes, sample.seed, sample.error_costs
        self.basis, self.ingredients = sample.basis, sample.ingredients
        self.spaced = np.arange(0, len(self.y), -(-len(self.y) // const.MAX_SAMPLE_ROWS))
        self._codes, self._values = dict[int, NDArray[np.uint8]](), dict[int, NDArray[np.float32]]()

    def __getstate__(self) -> dict[str, Any]:
        """Without the values: a worker of another process fits to the bins that were read."""
        return self.__dict__ | {"blocks": ()}

    def __sizeof__(self) -> int:
        """As ``TrainingData.__sizeof__``."""
        return sum(v.nbytes for v in (self.y, *self._codes.values(), *self._values.values()))

    def read(self, features: Iterable[int]) -> None:
        """Read what is needed of these features, all in one pass, unless it is there."""
        new = np.array(sorted({*features} - self._codes.keys()), np.int64)
        if not len(new):
            return
        codes = np.empty((len(new), len(self.y)), np.uint8)
        values, first = np.empty((len(new), len(self.spaced)), np.float32), 0
        for X in self.blocks:
            last = first + len(X)
            codes[:, first:last] = bins_of(self.basis, X, new, MISSING_BIN)
            places = np.arange(*np.searchsorted(self.spaced, [first, last]))
            values[:, places] = X[np.ix_(self.spaced[places] - first, new)].T
            first = last
        if first != len(self.y):
            raise ValueError(f"the blocks must have the {len(self.y)} rows that were counted, got {first}; read again")
        self._codes |= dict(zip(new.tolist(), codes))
        self._values |= dict(zip(new.tolist(), values))

    def columns(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """As ``TrainingData.columns``, of the rows ``spaced``."""
        return columns_of(self.basis, np.stack([self._values[i] for i in features.tolist()], axis=1), features)

    def bins(self, features: NDArray[np.int64]) -> NDArray[np.uint8]:
        """As ``TrainingData.bins``."""
        codes = np.stack([self._codes[i] for i in features.tolist()])
        for row, i in zip(codes, features.tolist()):
            row[row == MISSING_BIN] = np.searchsorted(self.basis.thresholds[i], self.basis.mean[i])
        return codes

    def incomplete(self, features: NDArray[np.int64]) -> NDArray[np.bool_]:
        """As ``TrainingData.incomplete``."""
        return np.any([self._codes[i] == MISSING_BIN for i in features.tolist()], axis=0)

    @cached_property
    def sampled(self) -> NDArray[np.bool_]:
        """As ``TrainingData.sampled``."""
        return _sample_rounds(len(self.y), self.ingredients.trees, self.seed)

    @cached_property
    def bags(self) -> NDArray[np.uint8]:
        """As ``TrainingData.bags``, of the trees that a final forest of a large table has."""
        n_trees = self.ingredients.n_forest_trees
        return _sample_bags(len(self.y), n_trees, self.seed, int(np.ceil(const.SHARE_OF_FINAL_TREES[np.inf] * n_trees)))


def _effective(weight: NDArray[np.float64]) -> float:
    """Kish's effective number of rows with these weights, of which one is above 0."""
    return float(weight.sum() ** 2 / (weight @ weight))


def prepare_data(
    dataset: Dataset,
    rng: np.random.Generator,
    weight: NDArray[np.float64] | None = None,
    error_costs: NDArray[np.float64] | None = None,
    whole: WholeTable | None = None,
) -> TrainingData:
    """The training data with folds, more of them for fewer rows, so that each model sees almost all rows.

    Rows of one group (``row_groups``) are in one fold; otherwise the out-of-fold probabilities would be optimistic.
    Of a large table, a stratified sample of the rows decides on the policy, and ``all_rows`` has all of them.
    ``weight``, float64 (n_samples,) with mean 1, are the weights of the rows; None for equal ones. ``error_costs`` are
    as of ``Rules``; None: all errors cost the same. ``whole`` has all rows, where the data set is a sample of them.
    """
    n_classes = dataset.n_classes
    most_rows = (
        const.MAX_SAMPLE_ROWS if n_classes == 2 else max(const.MAX_SAMPLE_ENTRIES // n_classes, const.MIN_SAMPLE_ROWS)
    )
    fold = None if dataset.n_samples > most_rows else _assign_folds(dataset, rng)
    seed = int(rng.integers(2**31))
    column_of = None if dataset.columns.is_plain else dataset.columns.column_of
    part, part_weight, places = dataset, weight, None
    if fold is None:
        rows = _sample_stratified(dataset, most_rows, rng)
        part, places = dataset.rows(rows), np.isin(np.arange(dataset.n_samples), rows)
        part_weight = None if weight is None else weight[rows] / weight[rows].mean()
        fold = _assign_folds(part, rng)
        whole = whole or WholeTable([dataset.X], dataset.y, weight)
    given = (part.X, part.y, n_classes, fold, seed, part_weight, error_costs, column_of)
    data = TrainingData(*given, places=places)
    if whole is not None:
        object.__setattr__(data, "all_rows", AllRows(whole, data))
    return data


def _assign_folds(dataset: Dataset, rng: np.random.Generator) -> NDArray[np.int64]:
    n, n_classes = dataset.n_samples, dataset.n_classes
    size = n * (1 if n_classes == 2 else n_classes)
    n_folds = min(n, next(folds for limit, folds in const.N_FOLDS.items() if size <= limit))
    if dataset.row_groups is None:
        return stratified_folds(dataset.y, n_folds, rng)
    if dataset.row_groups.max() == 0:
        raise ValueError(f"all training rows of {dataset.name!r} are in one row group, but training needs two")
    return grouped_folds(dataset.y, dataset.row_groups, n_folds, rng)


def _sample_stratified(dataset: Dataset, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of a stratified sample, ascending; each class keeps at least two rows of its own."""
    order = rng.permutation(dataset.n_samples)
    order = order[np.argsort(dataset.y[order], kind="stable")]
    counts = np.bincount(dataset.y, minlength=dataset.n_classes)
    place = np.arange(dataset.n_samples) - np.repeat(np.cumsum(counts) - counts, counts)
    wanted = np.minimum(np.maximum(np.round(counts * (n_rows / dataset.n_samples)), 2), counts)
    return np.sort(order[place < np.repeat(wanted, counts)])


def stratified_folds(y: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A random stratified fold for each row, int64 (n_samples,)."""
    fold = np.empty(len(y), np.int64)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _most_bins(n_samples: int, n_features: int) -> int:
    """Bins of a column for a table of this size."""
    if n_samples * n_features > const.MAX_FINE_VALUES:
        return const.COARSE_BINS
    return next(bins for limit, bins in const.MAX_BINS_BY_ROWS.items() if n_samples <= limit)


def _cuts(data: TrainingData) -> list[NDArray[np.float64]] | None:
    """The thresholds of a tree on the raw values, of each feature; None for few rows and for many values.

    They are all that out-of-fold probabilities know of the labels of their own fold.
    """
    if data.is_small or data.X.size > const.MAX_VALUES_OF_THRESHOLD_TREE:
        return None
    from sklearn.tree import DecisionTreeClassifier  # slow to import, and not needed to ask

    tree = DecisionTreeClassifier(
        max_leaf_nodes=const.THRESHOLD_LEAVES, min_samples_leaf=const.CART_MIN_LEAF_ROWS, random_state=data.seed
    )
    tree = tree.fit(np.array(data.X), data.y, sample_weight=data.weight).tree_  # a copy may be written to
    most = const.COARSE_BINS // 2
    return [np.unique(tree.threshold[tree.feature == i])[:most] for i in range(data.X.shape[1])]


def _sample_rounds(n_samples: int, trees: const.TreeSettings, seed: int) -> NDArray[np.bool_]:
    """The rows of each boosting round, bool (n_rounds, n_samples)."""
    rng, part = np.random.default_rng(seed), (np.arange(n_samples) % trees.parts).astype(np.uint8)
    sampled = np.empty((trees.rounds, n_samples), bool)
    for first in range(0, trees.rounds, trees.parts):
        permuted = rng.permutation(part)
        for r in range(first, min(first + trees.parts, trees.rounds)):
            sampled[r] = permuted != r % trees.parts
    return sampled


def _sample_bags(n_samples: int, n_trees: int, seed: int, n_drawn: int | None = None) -> NDArray[np.uint8]:
    """How often each row is drawn for each tree, about as often as the tree has rows, uint8 (n_drawn, n_samples).

    ``n_drawn`` is how many of the trees are needed, by default all.
    """
    rng = np.random.default_rng([seed, n_trees])
    rate, bags = (
        min(1.0, const.MAX_BAG_ROWS / n_samples),
        np.empty((n_trees if n_drawn is None else n_drawn, n_samples), np.uint8),
    )
    for bag in bags:
        bag[:] = rng.poisson(rate, n_samples).clip(max=255)
    return bags
