"""The plan of a lattice policy, flat arrays for the compiled code: built from its parts, checked when loaded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.basis import Basis
from agents.lattice.constants import COLUMNS_PER_FEATURE, MAX_PLAN_NUMBER, MIN_TEMPERATURE, TREE_DEPTHS
from agents.lattice.forest import join_forests
from agents.lattice.inference import Plan
from agents.lattice.state_features import n_belief_features, n_cells, n_value_features
from agents.lattice.subset_classifier import SubsetClassifier
from agents.lattice.sweep import ADAPTIVE, STOP
from agents.parts import features_are_revealed, lengths_of_parts, moves_extend, numbers_of_features
from fsgym.rules import Rules
from fsgym.trees.boosting import MOST_BINS

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
    """What a policy does at one subset.

    Attributes
    ----------
    mode : int, STOP, ALWAYS or ADAPTIVE
    moves : list of (acquisition, place of the subset that it leads to)
    theta : float64, coefficients of the advantages, (n_columns, n_moves) for ADAPTIVE, otherwise empty
    """

    mode: int
    moves: list[tuple[int, int]]
    theta: NDArray[np.float64]


def make_plan(basis: Basis, classifiers: list[SubsetClassifier], decisions: list[SubsetRules]) -> Plan:
    """The flat arrays of a policy from its classifiers and decisions, one of each per subset."""

    def first(lengths: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

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
        first([len(v.features) for v in classifiers]),
        np.array([d.mode for d in decisions], np.int64),
        flat([[q for _, q in d.moves] for d in decisions], np.int64),
        flat([[j for j, _ in d.moves] for d in decisions], np.int64),
        first([len(d.moves) for d in decisions]),
        flat([v.coefficients for v in classifiers], np.float64),
        first([v.coefficients.size for v in classifiers]),
        np.stack([v.start_score for v in classifiers]),
        place.astype(np.int32),
        cut.astype(np.uint8),
        value.astype(np.float64),
        first([len(v.boosted.value) for v in classifiers]),
        first([len(v.forest.root) for v in classifiers]),
        *join_forests([v.forest for v in classifiers]),
        np.stack([v.blend for v in classifiers]),
        np.array([v.temperature for v in classifiers]),
        flat([d.theta for d in decisions], np.float64),
        first([d.theta.size for d in decisions]),
        np.array([n_cells(basis.n_bins[v.features]) for v in classifiers], np.int64),
    )


def check_plan(taken: NDArray, plan: Plan, rules: Rules) -> None:
    """Raise ValueError unless the compiled code stays within these arrays and each episode ends.

    What the compiled functions rely on, and who checks it:

    * ``bin_of``: thresholds ascend, infinities last, so that a bin is below ``n_bins`` and below 256 (here).
    * ``encode_values_of``: ``feature`` names features, those of the subset (``_check_lengths``).
    * ``predict_proba_at``: coefficients, start scores and trees have the widths of the subset; places of splits are
      places in it (``_check_trees``); nodes lead to later nodes or leaves, whose classes exist (``_check_forest``).
    * ``choose_move``, ``predicted_advantage``: moves are legal acquisitions to a larger subset, so that each walk ends
      (``_check_children``); ``theta`` has a column for each move, ``cells`` fit the buffer (``_check_lengths``).

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
    _require_consistent(plan.thresholds.shape[1] < MOST_BINS, "bins")
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
    n_beliefs = n_belief_features(rules.n_classes)
    columns = np.array([1 + n_beliefs + n_value_features(m) for m in n_features.tolist()]) + cells
    n_moves = lengths_of_parts(plan.child_first, len(taken), len(plan.child), "moves")
    for name, lengths in (
        ("coefficient", (1 + COLUMNS_PER_FEATURE * n_features) * rules.n_classes),
        ("theta", np.where(plan.mode == ADAPTIVE, columns * n_moves, 0)),
    ):
        found = lengths_of_parts(getattr(plan, f"{name}_first"), len(taken), len(getattr(plan, name)), name)
        _require_consistent((found == lengths).all(), name)
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
