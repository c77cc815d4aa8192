"""What a lattice may cost: the time of a subset's classifier by a formula, and the limits of all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from agents.lattice import constants as const


class Ingredients(NamedTuple):
    """The models that the classifier of a subset averages.

    Attributes
    ----------
    trees : TreeSettings, of the boosted trees
    boosted, logistic : bool, whether there are boosted trees and logistic regression
    n_forest_trees : int, trees of the forest
    n_parts : int
        The folds are united to so many parts, and each tree of a forest that predicts out of fold leaves one out.
    """

    trees: const.TreeSettings
    boosted: bool
    logistic: bool
    n_forest_trees: int
    n_parts: int


def choose_ingredients(n_samples: int, n_features: int, n_classes: int, n_folds: int) -> Ingredients:
    """The models for a training set of this size: on more than 1000 rows the first of some that are cheap enough."""
    n_parts = min(n_folds, const.MAX_FOREST_PARTS)
    if n_samples <= const.MAX_ROWS_SMALL:
        trees = const.SMALL_TREES_BINARY if n_classes == 2 else const.SMALL_TREES_MULTICLASS
        return Ingredients(trees, True, True, 0, n_parts)
    k = min(n_features, const.TYPICAL_FEATURES)
    typical = SubsetSize(k, k * const.COLUMNS_PER_FEATURE, k * const.TYPICAL_BINS, np.inf)
    limit = limits_of(n_samples).n_operations / const.LEAST_SUBSETS
    for trees, logistic, trees_of_part in const.LARGE_MODELS:
        chosen = Ingredients(trees or const.SHORT_TREES, trees is not None, logistic, trees_of_part * n_parts, n_parts)
        if operations(n_samples, n_classes, n_folds, typical, chosen) <= limit:
            break
    return chosen


class LatticeLimits(NamedTuple):
    """The limits of a lattice.

    Attributes
    ----------
    n_subsets : int, subsets with classifiers
    n_operations : int, of all subsets together, in nanoseconds by ``operations``
    """

    n_subsets: int
    n_operations: int


def limits_of(n_samples: int, effort: float = 1.0) -> LatticeLimits:
    """The limits for a training set of this size; ``effort`` multiplies them."""
    rows = min(max(n_samples, const.ROWS_OF_MAX_OPERATIONS), const.MAX_ROWS_OF_OPERATIONS)
    n_subsets = next(limit for most_rows, limit in const.MAX_SUBSETS.items() if n_samples <= most_rows)
    return LatticeLimits(
        max(int(effort * n_subsets), 1), int(effort * const.MAX_OPERATIONS * rows / const.ROWS_OF_MAX_OPERATIONS)
    )


class SubsetSize(NamedTuple):
    """What the cost of a subset's classifier depends on.

    Attributes
    ----------
    n_features : int
    n_columns : int, of the logistic regression, up to four a feature
    n_bins : int, of all features together
    levels : float, at most so many levels of a tree separate all combinations of bins
    """

    n_features: int
    n_columns: int
    n_bins: int
    levels: float


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
