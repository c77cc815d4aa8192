"""Small trees that imitate a policy's choice of the next action."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.action_tree import ANY_NUMBER, LEAF, ActionTree, threshold_between
from fsgym.data.columns import Columns

# Invented cases, which show more of what a policy does than the cases that there are.

NOISE = 0.35  # in standard deviations of a number; by hand


def invented_rows(X: NDArray[np.float32], n: int, columns: Columns) -> NDArray[np.float32]:
    """Noisy copies of random rows, float32 (n, n_features), as in the smoothed bootstrap (Efron, 1982).

    A copy has normal noise of a part of the standard deviation of each number, rounded where all values are whole, and
    stays within the range of the values. What is missing stays so, and levels stay as they are.
    """
    rng = np.random.default_rng(2)
    copies = X[rng.integers(len(X), size=n)]
    numbers = [f.start for column, f in zip(columns, columns.features) if column.kind == "number"]
    x = X[:, numbers].astype(np.float64)
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    n_known = np.maximum((~np.isnan(x)).sum(axis=0), 1)
    mean = np.nansum(x, axis=0) / n_known
    spread = np.sqrt(np.nansum((x - mean) ** 2, axis=0) / n_known)
    noise = NOISE * spread * rng.standard_normal((n, len(numbers)))
    whole = (np.isnan(x) | (x == np.round(x))).all(axis=0)
    moved = copies[:, numbers] + np.where(whole, np.round(noise), noise)
    copies[:, numbers] = np.clip(moved, low, high)
    return copies


MAX_LEAVES = 32  # of a tree
MAX_DEPTH = 6  # conditions below each other; by hand, for people who read them
MIN_LEAVES = 2  # tried first, then twice as many until the tree agrees with the policy as often as is wanted
WANTED_AGREEMENT = 0.95
MIN_SHARE = 0.01  # of the cases of a box, that a leaf must have
MIN_CASES = 3  # likewise


def imitate(
    features: list[int],
    X: NDArray[np.float32],
    actions: NDArray[np.int64],
    offsets: NDArray[np.float64],
    most_leaves: int = MAX_LEAVES,
) -> ActionTree:
    """A tree on ``features`` that chooses as in the rows, as small as agrees with 95 % of them.

    Thresholds have few digits, and are between two of the rows.

    Parameters
    ----------
    features : list of int
    X : float32 (n, n_features)
    actions : int64 (n,)
    offsets : float64 (n_features,), of the features
    most_leaves : int
    """
    if (actions == actions[0]).all():
        return ActionTree.always(int(actions[0]), exact=False)
    whole, splits = _grow(features, X, actions, offsets, most_leaves)
    n_leaves = min(MIN_LEAVES, most_leaves)
    while True:
        tree = _first_splits(whole, splits[: n_leaves - 1])
        tree = tree._replace(agreement=float((tree.actions(X) == actions).mean()))
        if tree.agreement >= WANTED_AGREEMENT or n_leaves >= min(most_leaves, len(splits) + 1):
            return tree
        n_leaves = min(2 * n_leaves, most_leaves)


def _grow(
    features: list[int],
    X: NDArray[np.float32],
    actions: NDArray[np.int64],
    offsets: NDArray[np.float64],
    most_leaves: int,
) -> tuple[ActionTree, list[int]]:
    """A tree with the most frequent action at all nodes, and its splits, the most useful ones first."""
    from sklearn.tree import DecisionTreeClassifier

    least = max(MIN_CASES, int(MIN_SHARE * len(X)))
    known = X[:, features].astype(np.float32)
    tree = DecisionTreeClassifier(
        max_leaf_nodes=most_leaves, max_depth=MAX_DEPTH, min_samples_leaf=least, random_state=0
    )
    grown = tree.fit(known, actions).tree_
    inner = grown.children_left >= 0
    feature = np.where(inner, np.array(features)[np.maximum(grown.feature, 0)], LEAF)
    threshold = np.zeros(len(inner))
    reached = tree.decision_path(known).toarray().astype(bool)
    for node in np.flatnonzero(inner).tolist():
        x = X[reached[:, node], feature[node]].astype(np.float64)
        offset = float(offsets[feature[node]])
        below, above = x[x <= grown.threshold[node]], x[x > grown.threshold[node]]
        low, high = below.max(initial=-np.inf), above.min(initial=np.inf)
        finite = np.isfinite(low) and np.isfinite(high)  # else the node only asks whether there is a value
        threshold[node] = threshold_between(low, high, offset) if finite else ANY_NUMBER
    found = ActionTree(
        feature.astype(np.int64),
        threshold,
        np.where(inner, grown.children_left, LEAF).astype(np.int64),
        np.where(inner, grown.children_right, LEAF).astype(np.int64),
        tree.classes_[grown.value[:, 0].argmax(axis=1)].astype(np.int64),
        np.where(inner, grown.missing_go_to_left.astype(bool), False),
        bool(np.isnan(known).any()),
        False,
        1.0,
    )
    return found, _by_usefulness(grown)


def _by_usefulness(grown: Any) -> list[int]:
    """The inner nodes of a tree of scikit-learn, next always the one that lowers the impurity most."""
    weight = grown.weighted_n_node_samples * grown.impurity
    queue, order = [(0.0, 0)], []
    while queue:
        _, node = heapq.heappop(queue)
        left, right = int(grown.children_left[node]), int(grown.children_right[node])
        if left < 0:
            continue
        order.append(node)
        for child in (left, right):
            below = [int(grown.children_left[child]), int(grown.children_right[child])]
            decrease = 0.0 if below[0] < 0 else weight[child] - weight[below].sum()
            heapq.heappush(queue, (-float(decrease), child))
    return order


def _first_splits(whole: ActionTree, splits: list[int]) -> ActionTree:
    """The tree with only these splits, less those both sides of which lead to the same action."""
    allowed, nodes = set(splits), []

    def add(node: int) -> int:
        place = len(nodes)
        nodes.append((LEAF, 0.0, LEAF, LEAF, int(whole.action[node]), False))
        if node in allowed:
            left, right = add(int(whole.left[node])), add(int(whole.right[node]))
            if nodes[left][0] == nodes[right][0] == LEAF and nodes[left][4] == nodes[right][4]:
                nodes[place] = nodes[left]
                del nodes[place + 1 :]
            else:
                split = (int(whole.feature[node]), float(whole.threshold[node]))
                nodes[place] = (*split, left, right, LEAF, bool(whole.missing_left[node]))
        return place

    add(0)
    feature, threshold, left, right, action, missing_left = map(np.array, zip(*nodes))
    return whole._replace(
        feature=feature, threshold=threshold, left=left, right=right, action=action, missing_left=missing_left
    )
