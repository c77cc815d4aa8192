"""A policy's flat arrays: made from the parts of its subsets, and checked when they come from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.lattice.basis import HINGES, Basis
from agents.lattice.describe import n_beliefs, n_cells, n_values
from agents.lattice.heads import Head
from agents.lattice.sweep import ADAPTIVE, STOP
from agents.lattice.walk import Plan
from fsgym.rules import Rules
from fsgym.trees.boosting import MOST_BINS

LARGEST = 1e12  # number in a plan
WHOLE = {
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
}
KINDS = {name: np.dtype(np.int64 if name in WHOLE else np.float64) for name in Plan._fields}
KINDS |= {"asked": np.dtype(np.int32), "cut": np.dtype(np.uint8)}


def make_plan(
    basis: Basis, heads: list[Head], modes: list[int], moves: list[list[tuple[int, int]]], thetas: list[NDArray]
) -> Plan:
    """The flat arrays of a policy from the parts of its subsets; ``moves`` are (acquisition, subset)."""

    def first(lengths: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def flat(parts: list[Any], kind: type) -> NDArray:
        return np.concatenate([np.asarray(v, dtype=kind).ravel() for v in parts] or [np.zeros(0, kind)])

    forests = [h.forest for h in heads if len(h.forest.value)]
    depth_nodes = forests[0].feature.shape[1] if forests else 1
    none = np.zeros((0, depth_nodes), np.int32), np.zeros((0, depth_nodes), np.uint8), np.zeros((0, depth_nodes + 1))
    asked, cut, value = (np.concatenate([none[k], *(f[k] for f in forests)]) for k in range(3))
    return Plan(
        *basis,
        basis.n_bins.astype(np.int64),
        flat([h.features for h in heads], np.int64),
        first([len(h.features) for h in heads]),
        np.array(modes, np.int64),
        flat([[q for _, q in m] for m in moves], np.int64),
        flat([[j for j, _ in m] for m in moves], np.int64),
        first([len(m) for m in moves]),
        flat([h.coefficients for h in heads], np.float64),
        first([h.coefficients.size for h in heads]),
        np.stack([h.start for h in heads]),
        asked.astype(np.int32),
        cut.astype(np.uint8),
        value.astype(np.float64),
        first([len(h.forest.value) for h in heads]),
        np.array([h.blend for h in heads]),
        np.array([h.temperature for h in heads]),
        flat(thetas, np.float64),
        first([v.size for v in thetas]),
        np.array([n_cells(basis.n_bins[h.features]) for h in heads], np.int64),
    )


def check_plan(taken: NDArray, plan: Plan, rules: Rules) -> None:
    """Raise ValueError unless the compiled walk stays within these arrays and comes to an end."""
    V, J = len(taken), rules.n_acquisitions
    _check_shapes(plan, V, rules)
    _check(taken.shape == (V, J) and taken.dtype == bool and not taken[0].any(), "subsets")
    _check(len(np.unique(taken, axis=0)) == V, "subsets")
    _check((plan.n_bins == np.isfinite(plan.thresholds).sum(axis=1) + 1).all(), "bins")
    _check_subsets(taken, plan, rules)
    _check_children(taken, plan)
    _check_trees(plan)
    _check(((plan.blend >= 0) & (plan.blend <= 1) & (plan.temperature >= 0.1)).all(), "blends")
    for name in ("coefficient", "theta", "value", "start"):
        _check((np.abs(getattr(plan, name)) <= LARGEST).all(), name)


def _check_shapes(plan: Plan, V: int, rules: Rules) -> None:
    n, c, trees = rules.n_features, rules.n_classes, len(plan.asked)
    nodes = plan.asked.shape[1] if plan.asked.ndim == 2 else 0
    _check(V >= 1 and nodes in (1, 7, 15), "trees")
    shapes = {
        "mean": (n,),
        "inverse": (n,),
        "knots": (n, HINGES),
        "centre": (n, HINGES),
        "gain": (n, HINGES),
        "n_bins": (n,),
        "thresholds": (n, MOST_BINS - 1),
        "mode": (V,),
        "start": (V, 1 if c == 2 else c),
        "blend": (V,),
        "cells": (V,),
        "temperature": (V,),
        "cut": (trees, nodes),
        "value": (trees, nodes + 1),
        "asked": (trees, nodes),
    }
    for name, array in plan._asdict().items():
        shape = shapes.get(name, (V + 1,) if name.endswith("_first") else (array.size,))
        numbers = np.where(array == np.inf, 0, array) if name == "thresholds" else array
        if array.dtype != KINDS[name] or array.shape != shape or not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite {KINDS[name]} of shape {shape}, got {array.dtype} {array.shape}")


def _check_subsets(taken: NDArray, plan: Plan, rules: Rules) -> None:
    """What belongs to each subset is as long as the walk reads."""
    known = np.zeros((len(taken), rules.n_features), bool)
    for j, group in enumerate(rules.groups):
        known[:, list(group)] = taken[:, j : j + 1]
    many = known.sum(axis=1)
    cells = np.array([n_cells(plan.n_bins[row]) for row in known])
    columns = np.array([1 + n_beliefs(rules.n_classes) + n_values(m) for m in many.tolist()]) + cells
    for name, lengths in (
        ("feature", many),
        ("coefficient", (1 + HINGES * many) * rules.n_classes),
        ("theta", np.where(plan.mode == ADAPTIVE, columns * np.diff(plan.child_first), 0)),
    ):
        first = getattr(plan, f"{name}_first")
        _check(first[0] == 0 and (np.diff(first) == lengths).all() and first[-1] == len(getattr(plan, name)), name)
    _check((plan.feature == np.nonzero(known)[1]).all(), "features")
    _check((plan.cells == cells).all(), "cells")


def _check_children(taken: NDArray, plan: Plan) -> None:
    """Each move makes one acquisition that was not made, and leads to that subset."""
    V, J, first = *taken.shape, plan.child_first
    _check(first[0] == 0 and first[-1] == len(plan.child) == len(plan.acquisition), "children")
    _check((np.diff(first) >= 0).all() and ((plan.mode >= STOP) & (plan.mode <= ADAPTIVE)).all(), "children")
    parent, rows = np.repeat(np.arange(V), np.diff(first)), np.arange(len(plan.child))
    _check(((plan.child >= 0) & (plan.child < V)).all(), "children")
    _check(((plan.acquisition >= 0) & (plan.acquisition < J)).all(), "children")
    grown = taken[parent]
    _check(not grown[rows, plan.acquisition].any(), "children")
    grown[rows, plan.acquisition] = True
    _check((grown == taken[plan.child]).all(), "children")


def _check_trees(plan: Plan) -> None:
    """Trees ask only for what is known at their subset."""
    first, many = plan.tree_first, np.diff(plan.feature_first)
    _check(first[0] == 0 and first[-1] == len(plan.asked) and (np.diff(first) >= 0).all(), "trees")
    width = np.repeat(many, np.diff(first))[:, None]
    _check(((plan.asked >= 0) & (plan.asked < width)).all(), "trees")
    _check((many[plan.blend > 0] > 0).all(), "trees")


def _check(right: Any, what: str) -> None:
    if not right:
        raise ValueError(f"the {what} of the policy do not fit together")
