"""A lattice policy as flat arrays for the compiled code: built from its parts, checked when loaded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.constants import COLUMNS_PER_FEATURE, MAX_CHILDREN, MAX_PLAN_NUMBER, MIN_TEMPERATURE, TREE_DEPTHS
from agents.lattice.forest import join_forests
from agents.lattice.subset_classifier import SubsetClassifier
from agents.lattice.sweep import ADAPTIVE, ALWAYS, STOP, n_belief_features, n_cells, n_value_features
from agents.lattice.training_data import Basis
from agents.parts import features_are_revealed, lengths_of_parts, moves_extend, numbers_of_features
from fsgym.rules import Rules
from fsgym.trees.boosting import MAX_BINS


class Plan(NamedTuple):
    """A policy as flat arrays; the part of subset v is ``..._first[v]`` to ``..._first[v + 1]``.

    Attributes
    ----------
    mean ... thresholds : the fields of ``Basis``
    n_bins : int64 (n_features,)
    feature, feature_first : features that each subset reveals
    mode : int64 (n_subsets,)
    child, acquisition, child_first : the moves, the subset that each leads to and its acquisition
    coefficient, coefficient_first : of the logistic regression, (1 + 4 n_features) x n_classes for each subset
    start_score : float64 (n_subsets, n_outputs), to which the trees add
    split_place, split_cut, leaf_value, tree_first
        Complete trees. Row ``code <= split_cut`` goes left, for the code of the feature at ``split_place`` among the
        features of the subset.
    root, root_first : first nodes of the trees of each subset's forest
    node_place ... entry_share : the arrays of all forests, see ``BaggedTrees``
    blend : float64 (n_subsets, 3), weights of boosted trees, logistic regression and forest
    temperature : float64 (n_subsets,)
    theta, theta_first
        Of the regression of the advantages, n_columns x n_moves for each adaptive subset. Those of a subset of the mode
        ALWAYS decide nothing, and there may be none.
    cells : int64 (n_subsets,)
    """

    mean: NDArray[np.float64]
    inverse_std: NDArray[np.float64]
    knots: NDArray[np.float64]
    column_mean: NDArray[np.float64]
    inverse_column_std: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    n_bins: NDArray[np.int64]
    feature: NDArray[np.int64]
    feature_first: NDArray[np.int64]
    mode: NDArray[np.int64]
    child: NDArray[np.int64]
    acquisition: NDArray[np.int64]
    child_first: NDArray[np.int64]
    coefficient: NDArray[np.float64]
    coefficient_first: NDArray[np.int64]
    start_score: NDArray[np.float64]
    split_place: NDArray[np.int32]
    split_cut: NDArray[np.uint8]
    leaf_value: NDArray[np.float64]
    tree_first: NDArray[np.int64]
    root_first: NDArray[np.int64]
    root: NDArray[np.int64]
    node_place: NDArray[np.int32]
    node_cut: NDArray[np.uint8]
    node_child: NDArray[np.int32]
    entry_start: NDArray[np.int64]
    entry_class: NDArray[np.int32]
    entry_share: NDArray[np.float32]
    blend: NDArray[np.float64]
    temperature: NDArray[np.float64]
    theta: NDArray[np.float64]
    theta_first: NDArray[np.int64]
    cells: NDArray[np.int64]


N_TREE_SPLITS = {1, *(2**depth - 1 for depth in TREE_DEPTHS)}  # of each tree; 1 without trees
INTEGER_ARRAYS = {
    "n_bins",
    "feature",
    "feature_first",
    "mode",
    "child",
    "acquisition",
    "child_first",
    "coefficient_first",
    "tree_first",
    "theta_first",
    "cells",
    "root",
    "root_first",
    "entry_start",
}
PLAN_DTYPES = {name: np.dtype(np.int64 if name in INTEGER_ARRAYS else np.float64) for name in Plan._fields}
PLAN_DTYPES |= {name: np.dtype(np.int32) for name in ("split_place", "node_place", "node_child", "entry_class")}
PLAN_DTYPES |= {"split_cut": np.dtype(np.uint8), "node_cut": np.dtype(np.uint8), "entry_share": np.dtype(np.float32)}


class SubsetRules(NamedTuple):
    """What a policy does at one subset."""

    mode: int  # STOP, ALWAYS or ADAPTIVE
    moves: list[tuple[int, int]]  # list of (acquisition, place of the subset that it leads to)
    # coefficients of the advantages, (n_columns, n_moves) for ADAPTIVE, so or empty for ALWAYS, otherwise empty
    theta: NDArray[np.float64]


def make_plan(basis: Basis, classifiers: list[SubsetClassifier], decisions: list[SubsetRules]) -> Plan:
    """The flat arrays of a policy from its classifiers and decisions, one of each per subset."""

    def flat(parts: list[Any], kind: type) -> NDArray:
        return np.concatenate([np.asarray(v, dtype=kind).ravel() for v in parts] or [np.zeros(0, kind)])

    boosted = [v.boosted for v in classifiers if len(v.boosted.value)]
    n_splits = boosted[0].feature.shape[1] if boosted else 1
    no_trees = np.zeros((0, n_splits), np.int32), np.zeros((0, n_splits), np.uint8), np.zeros((0, n_splits + 1))
    place, cut, value = (np.concatenate([no_trees[k], *(f[k] for f in boosted)]) for k in range(3))
    return Plan(
        *basis,
        basis.n_bins.astype(np.int64),
        flat([v.features for v in classifiers], np.int64),
        _starts([len(v.features) for v in classifiers]),
        np.array([d.mode for d in decisions], np.int64),
        flat([[q for _, q in d.moves] for d in decisions], np.int64),
        flat([[j for j, _ in d.moves] for d in decisions], np.int64),
        _starts([len(d.moves) for d in decisions]),
        flat([v.coefficients for v in classifiers], np.float64),
        _starts([v.coefficients.size for v in classifiers]),
        np.stack([v.start_score for v in classifiers]),
        place.astype(np.int32),
        cut.astype(np.uint8),
        value.astype(np.float64),
        _starts([len(v.boosted.value) for v in classifiers]),
        _starts([len(v.forest.root) for v in classifiers]),
        *join_forests([v.forest for v in classifiers]),
        np.stack([v.blend for v in classifiers]),
        np.array([v.temperature for v in classifiers]),
        flat([d.theta for d in decisions], np.float64),
        _starts([d.theta.size for d in decisions]),
        np.array([n_cells(basis.n_bins[v.features]) for v in classifiers], np.int64),
    )


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    """Where the part of each subset begins, and the end of the last one, int64 (n_subsets + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def check_plan(taken: NDArray, plan: Plan, rules: Rules) -> None:
    """Raise ValueError unless the compiled code stays within these arrays and each episode ends.

    What the compiled functions rely on, and who checks it:

    * ``bin_of``: thresholds ascend, infinities last, so that a bin is below ``n_bins`` and below 256 (here).
    * ``encode_values_of``: ``feature`` names features, those of the subset (``_check_lengths``).
    * ``predict_proba_at``: coefficients, start scores and trees have the widths of the subset; places of splits are
      places in it (``_check_trees``); nodes lead to later nodes or leaves, whose classes exist (``_check_forest``).
    * ``choose_move``, ``predicted_advantage``: moves are legal acquisitions to a larger subset, so that each walk ends
      (``_check_children``); ``theta`` has a column for each move, or is empty where no move is chosen by it, ``cells``
      fit the buffer (``_check_lengths``).

    Parameters
    ----------
    taken : bool (n_subsets, n_acquisitions)
    plan : Plan
    rules : Rules
    """
    n_subsets, J = len(taken), rules.n_acquisitions
    _check_shapes(plan, n_subsets, rules)
    _require_consistent(taken.shape == (n_subsets, J) and taken.dtype == bool and not taken[0].any(), "subsets")
    _require_consistent(len(np.unique(taken, axis=0)) == n_subsets, "subsets")
    _require_consistent(plan.thresholds.shape[1] < MAX_BINS, "bins")
    _require_consistent((plan.n_bins == np.isfinite(plan.thresholds).sum(axis=1) + 1).all(), "bins")
    ascending = (plan.thresholds[:, 1:] >= plan.thresholds[:, :-1]).all()  # ``bin_of`` halves them: infinities last
    _require_consistent(ascending, "bins")
    _check_lengths(taken, plan, rules)
    _check_children(taken, plan)
    _check_trees(plan)
    _check_forest(plan)
    tempered = plan.temperature >= MIN_TEMPERATURE
    _require_consistent((plan.blend >= 0).all() and (abs(plan.blend.sum(axis=1) - 1) < 1e-6).all(), "blends")
    _require_consistent(tempered.all(), "temperatures")
    for name in ("coefficient", "theta", "leaf_value", "start_score"):
        _require_consistent((np.abs(getattr(plan, name)) <= MAX_PLAN_NUMBER).all(), name)


def _check_shapes(plan: Plan, n_subsets: int, rules: Rules) -> None:
    """All arrays have the shapes and dtypes of a plan, and are finite."""
    n, c, n_trees = rules.n_features, rules.n_classes, len(plan.split_place)
    n_splits = plan.split_place.shape[1] if plan.split_place.ndim == 2 else 0
    _require_consistent(n_subsets >= 1 and n_splits in N_TREE_SPLITS, "trees")
    shapes = {
        "mean": (n,),
        "inverse_std": (n,),
        "knots": (n, COLUMNS_PER_FEATURE),
        "column_mean": (n, COLUMNS_PER_FEATURE),
        "inverse_column_std": (n, COLUMNS_PER_FEATURE),
        "n_bins": (n,),
        "thresholds": (n, plan.thresholds.shape[1] if plan.thresholds.ndim == 2 else 0),
        "mode": (n_subsets,),
        "start_score": (n_subsets, 1 if c == 2 else c),
        "blend": (n_subsets, 3),
        "cells": (n_subsets,),
        "temperature": (n_subsets,),
        "split_cut": (n_trees, n_splits),
        "leaf_value": (n_trees, n_splits + 1),
        "split_place": (n_trees, n_splits),
    }
    for name, array in plan._asdict().items():
        shape = shapes.get(name, (n_subsets + 1,) if name.endswith("_first") else (array.size,))
        numbers = np.where(array == np.inf, 0, array) if name == "thresholds" else array
        dtype = PLAN_DTYPES[name]
        if array.dtype != dtype or array.shape != shape or not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite {dtype} of shape {shape}, got {array.dtype} {array.shape}")


def _check_lengths(taken: NDArray, plan: Plan, rules: Rules) -> None:
    """The features, coefficients and cells of each subset have the lengths that the compiled code reads."""
    n_features = numbers_of_features(taken, rules)
    found = lengths_of_parts(plan.feature_first, len(taken), len(plan.feature), "features")
    _require_consistent((found == n_features).all() and features_are_revealed(taken, plan.feature, rules), "features")
    parts = pairwise(plan.feature_first.tolist())
    cells = np.array([n_cells(plan.n_bins[plan.feature[begin:end]]) for begin, end in parts])
    columns = _columns_of_subsets(taken, cells, rules)
    n_moves = lengths_of_parts(plan.child_first, len(taken), len(plan.child), "moves")
    found = lengths_of_parts(plan.coefficient_first, len(taken), len(plan.coefficient), "coefficient")
    _require_consistent((found == (1 + COLUMNS_PER_FEATURE * n_features) * rules.n_classes).all(), "coefficient")
    found = lengths_of_parts(plan.theta_first, len(taken), len(plan.theta), "theta")
    is_left_out = (plan.mode == ALWAYS) & (found == 0)
    _require_consistent((is_left_out | (found == np.where(plan.mode == STOP, 0, columns * n_moves))).all(), "theta")
    _require_consistent((plan.cells == cells).all(), "cells")


def _check_children(taken: NDArray, plan: Plan) -> None:
    """Each move makes one acquisition that was not made before, and leads to the subset with it."""
    _require_consistent(len(plan.child) == len(plan.acquisition), "children")
    _require_consistent(((plan.mode >= STOP) & (plan.mode <= ADAPTIVE)).all(), "children")
    lengths = lengths_of_parts(plan.child_first, len(taken), len(plan.child), "moves")
    _require_consistent(moves_extend(taken, lengths, plan.acquisition, plan.child), "children")


def _check_trees(plan: Plan) -> None:
    """Trees split only on the features of their subset."""
    n_features = np.diff(plan.feature_first)
    lengths = lengths_of_parts(plan.tree_first, len(n_features), len(plan.split_place), "trees")
    width = np.repeat(n_features, lengths)[:, None]
    _require_consistent(((plan.split_place >= 0) & (plan.split_place < width)).all(), "trees")
    _require_consistent((n_features[plan.blend[:, 0] > 0] > 0).all(), "trees")


def _check_forest(plan: Plan) -> None:
    """Each path of a tree ends in a leaf, and inner nodes split only on the features of their subset."""
    n_trees, n_nodes, n_leaves = len(plan.root), len(plan.node_child), len(plan.entry_start) - 1
    lengths = lengths_of_parts(plan.root_first, len(plan.mode), n_trees, "forests")
    _require_consistent((lengths[plan.blend[:, 2] > 0] > 0).all(), "forests")
    _require_consistent(len(plan.node_place) == len(plan.node_cut) == n_nodes, "forests")
    starts = np.append(plan.root, n_nodes) if n_trees else np.zeros(1, np.int64)
    sizes = lengths_of_parts(starts, n_trees, n_nodes, "nodes")
    _require_consistent((sizes > 0).all(), "forests")
    child, nodes, end = plan.node_child.astype(np.int64), np.arange(n_nodes), np.repeat(starts[1:], sizes)
    inner = child >= 0
    _require_consistent(
        ((child > nodes) & (child + 1 < end))[inner].all() and (-1 - child[~inner] < n_leaves).all(), "forests"
    )
    width = np.repeat(np.repeat(np.diff(plan.feature_first), lengths), sizes)
    _require_consistent(((plan.node_place >= 0) & (plan.node_place < width))[inner].all(), "forests")
    _require_consistent(n_leaves >= 0 and len(plan.entry_class) == len(plan.entry_share), "leaves")
    lengths_of_parts(plan.entry_start, n_leaves, len(plan.entry_class), "leaves")
    n_classes = len(plan.coefficient) and plan.start_score.shape[1]
    n_classes = 2 if n_classes == 1 else n_classes
    _require_consistent(((plan.entry_class >= 0) & (plan.entry_class < n_classes)).all(), "leaves")
    _require_consistent(((plan.entry_share >= 0) & (plan.entry_share <= 1)).all(), "leaves")


def _require_consistent(consistent: Any, what: str) -> None:
    if not consistent:
        raise ValueError(f"the {what} of the policy do not fit together")


# How a lattice policy goes on where it does not move by its plan: flat arrays, built from their parts and checked.


class Continuation(NamedTuple):
    """Back-up moves and starts as flat arrays; the part of subset v is ``..._first[v]`` to ``..._first[v + 1]``."""

    # the back-up moves, made where the preferred acquisition cannot be obtained
    backup_child: NDArray[np.int64]
    backup_acquisition: NDArray[np.int64]
    backup_first: NDArray[np.int64]
    # coefficients of the advantages of the first back-up moves of each subset, n_columns x n_moves
    backup_theta: NDArray[np.float64]
    backup_theta_first: NDArray[np.int64]
    # (n_subsets,), mean loss of the training rows that start at each subset, with its values known in advance
    start_value: NDArray[np.float64]
    answer_cost: NDArray[np.float64]  # (n_subsets,), mean cost of answering at each subset
    # how much lower that mean is if one more acquisition is known in advance
    saving: NDArray[np.float64]
    saving_acquisition: NDArray[np.int64]
    saving_first: NDArray[np.int64]
    order: NDArray[np.int64]  # (J,), the most useful first: the order in which to go on after an answer
    base: NDArray[np.int64]  # (n_base,), acquisitions that each row makes first
    base_place: NDArray[np.int64]  # (1,), the place of the subset of these


REAL_ARRAYS = {"backup_theta", "start_value", "answer_cost", "saving"}


class SubsetContinuation(NamedTuple):
    """The parts of a ``Continuation`` at one subset."""

    backups: list[tuple[int, int]]  # list of (acquisition, place of the subset that it leads to)
    theta: NDArray[np.float64]  # coefficients of the first of them
    start_value: float
    answer_cost: float
    savings: list[tuple[int, float]]  # list of (acquisition, saving)


def make_continuation(
    parts: list[SubsetContinuation], order: NDArray[np.int64], base: list[int], base_place: int
) -> Continuation:
    """The flat arrays from the parts of all subsets."""

    backups = [move for part in parts for move in part.backups]
    savings = [entry for part in parts for entry in part.savings]
    return Continuation(
        np.array([q for _, q in backups], np.int64),
        np.array([j for j, _ in backups], np.int64),
        _starts([len(part.backups) for part in parts]),
        np.concatenate([np.asarray(part.theta, np.float64).ravel() for part in parts]),
        _starts([part.theta.size for part in parts]),
        np.array([part.start_value for part in parts], np.float64),
        np.array([part.answer_cost for part in parts], np.float64),
        np.array([v for _, v in savings], np.float64),
        np.array([j for j, _ in savings], np.int64),
        _starts([len(part.savings) for part in parts]),
        np.asarray(order, np.int64),
        np.array(base, np.int64),
        np.array([base_place], np.int64),
    )


def check_continuation(taken: NDArray, cells: NDArray[np.int64], c: Continuation, rules: Rules) -> None:
    """Raise ValueError unless the compiled code stays within these arrays and each episode ends.

    ``choose_move`` and ``_rank_moves`` rely on back-up moves that lead to a larger subset and on ``backup_theta`` with
    a column for each of the first of them; ``_saved`` and ``_acquisition_beyond`` on ``saving_acquisition`` and
    ``order`` that are acquisitions; ``_next_acquisition`` on ``base``, the acquisitions of the subset ``base_place``.

    Parameters
    ----------
    taken : bool (n_subsets, n_acquisitions), checked
    cells : int64 (n_subsets,), checked
    c : Continuation
    rules : Rules
    """
    n_subsets, J = taken.shape
    shapes = {"order": (J,), "base_place": (1,), "start_value": (n_subsets,), "answer_cost": (n_subsets,)}
    for name, array in c._asdict().items():
        dtype = np.dtype(np.float64 if name in REAL_ARRAYS else np.int64)
        shape = shapes.get(name, (n_subsets + 1,) if name.endswith("_first") else (array.size,))
        if array.dtype != dtype or array.shape != shape or not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite {dtype} of shape {shape}, got {array.dtype} {array.shape}")
        _require_consistent(dtype != np.float64 or (np.abs(array) <= MAX_PLAN_NUMBER).all(), name)
    _require_consistent(len(c.backup_child) == len(c.backup_acquisition), "backups")
    _require_consistent(len(c.saving) == len(c.saving_acquisition), "savings")
    n_backups = lengths_of_parts(c.backup_first, n_subsets, len(c.backup_child), "backups")
    n_theta = lengths_of_parts(c.backup_theta_first, n_subsets, len(c.backup_theta), "backup_theta")
    lengths_of_parts(c.saving_first, n_subsets, len(c.saving), "savings")
    _require_consistent(moves_extend(taken, n_backups, c.backup_acquisition, c.backup_child), "backups")
    columns = _columns_of_subsets(taken, cells, rules)
    n_adaptive = n_theta // columns
    _require_consistent((n_adaptive * columns == n_theta).all(), "backup_theta")
    _require_consistent((n_adaptive <= np.minimum(n_backups, MAX_CHILDREN)).all(), "backup_theta")
    _require_consistent(((c.saving_acquisition >= 0) & (c.saving_acquisition < J)).all(), "savings")
    _require_consistent((np.sort(c.order) == np.arange(J)).all(), "order")
    _require_consistent(((c.base >= 0) & (c.base < J)).all() and len(np.unique(c.base)) == len(c.base), "base")
    _require_consistent(0 <= c.base_place[0] < n_subsets, "base")
    _require_consistent(np.array_equal(np.flatnonzero(taken[c.base_place[0]]), np.sort(c.base)), "base")


def _columns_of_subsets(taken: NDArray, cells: NDArray[np.int64], rules: Rules) -> NDArray[np.int64]:
    """The number of columns of the state features at each subset, int64 (n_subsets,)."""
    sizes = numbers_of_features(taken, rules)
    n_beliefs = n_belief_features(rules.n_classes)
    return np.array([1 + n_beliefs + n_value_features(m) for m in sizes.tolist()]) + cells
