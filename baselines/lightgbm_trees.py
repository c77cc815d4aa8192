"""LightGBM where it is needed, and its trees as plain arrays, which are used without it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsgym.extras import require
from fsgym.trees import Tree
from fsgym.trees.tree import NODE_DTYPES


def engine() -> Any:
    """LightGBM, imported when it is needed; ImportError in a sentence where it is not installed."""
    require("cegb", "CEGBClassifier")
    import lightgbm

    return lightgbm


def trees_of(booster: Any, iteration: int) -> list[Tree]:
    """The trees of one iteration of a LightGBM model without missing values and categories."""
    told = booster.dump_model(num_iteration=1, start_iteration=iteration)["tree_info"]
    return [_tree(v["tree_structure"]) for v in told]


def _tree(root: dict[str, Any]) -> Tree:
    nodes: list[tuple] = []
    waiting = [(root, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop(0)
        if parent >= 0:
            nodes[parent] = (*nodes[parent][: 3 + side], len(nodes), *nodes[parent][4 + side :])
        if "split_feature" in node:
            waiting += [(node["left_child"], len(nodes), 0), (node["right_child"], len(nodes), 1)]
            nodes.append((node["split_feature"], node["threshold"], -1, -1, -1, node["internal_value"]))
        else:
            nodes.append((-1, 0.0, -1, -1, -1, node["leaf_value"]))
    arrays: Any = [np.array(column, dtype=kind) for column, kind in zip(zip(*nodes), NODE_DTYPES)]
    return Tree(*arrays)
