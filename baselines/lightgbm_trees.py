"""Import of LightGBM on demand, and conversion of its trees to arrays, which are used without LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.support.extras import require
from fsgym.trees import Tree
from fsgym.trees.tree import NODE_DTYPES


def import_lightgbm() -> Any:
    """Import and return LightGBM; raises ImportError with the command to install it if it is missing."""
    require("cegb", "CEGBClassifier")
    import lightgbm

    return lightgbm


def power_of_two_scales(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a power of two for each column of ``X``, finite numbers, by which its magnitudes become at most 1.

    LightGBM takes values between -1e-35 and 1e-35 as 0, and thresholds beyond 1e300 as 1e300. Scaled columns are the
    same in any unit that is a power of two of another.
    """
    exponents = np.frexp(np.abs(X).max(axis=0, initial=0.0))[1].clip(-1000, 1000)
    return 2.0 ** -exponents.astype(np.float64)


def trees_of(booster: Any, iteration: int, scale: NDArray[np.float64]) -> list[Tree]:
    """Return the trees of one iteration of a LightGBM model without missing values and categories.

    ``scale`` (n_features,) holds the factors by which the columns were multiplied; the thresholds returned are those of
    the columns before.
    """
    trees = booster.dump_model(num_iteration=1, start_iteration=iteration)["tree_info"]
    return [_tree_from_dump(tree["tree_structure"], scale) for tree in trees]


def _tree_from_dump(root: dict[str, Any], scale: NDArray[np.float64]) -> Tree:
    """Return the nodes of a dumped tree, breadth first, as arrays."""
    nodes: list[tuple] = []
    queue = [(root, -1, 0)]
    while queue:
        node, parent, side = queue.pop(0)
        if parent >= 0:
            nodes[parent] = (*nodes[parent][: 3 + side], len(nodes), *nodes[parent][4 + side :])
        if "split_feature" in node:
            queue += [(node["left_child"], len(nodes), 0), (node["right_child"], len(nodes), 1)]
            feature = node["split_feature"]
            nodes.append((feature, node["threshold"] / scale[feature], -1, -1, -1, node["internal_value"]))
        else:
            nodes.append((-1, 0.0, -1, -1, -1, node["leaf_value"]))
    arrays: Any = [np.array(column, dtype=kind) for column, kind in zip(zip(*nodes), NODE_DTYPES)]
    return Tree(*arrays)
