"""Which subsets the lattice has: singles, a chain, the paths of a tree, contexts; more where policies lose most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from agents.lattice import screening
from agents.lattice.moves import Subset, with_
from agents.lattice.nodes import Lattice, Node
from agents.lattice.sweep import Policy

ROUNDS = 3
CHAIN_SHARE = 0.7  # of the operations


def first_lattice(lattice: Lattice) -> None:
    """The subsets before any policy is known."""
    rules, table = lattice.rules, lattice.table
    empty, J = lattice.nodes[()], rules.n_acquisitions
    large = len(table.y) * table.n_outputs > 6000
    score = screening.scores(table, rules, _P(empty), np.ones(len(table.y)))
    order = screening.ranked(score, rules.costs, np.ones(J, bool))
    lattice.reach((), order[: J if J <= 14 else 6 if large else 12])
    _interactions(lattice)
    _chain(lattice, wide=not large)
    _contexts(lattice)
    _tree_paths(lattice)
    if lattice.rules.lam * rules.costs.sum() < float(empty.e.mean()):  # type: ignore[union-attr]
        lattice.jump((), [*_longest(lattice), *order])


def _chain(lattice: Lattice, wide: bool) -> None:
    """Forward selection, one acquisition at a time, from five on several."""
    z: Subset = ()
    best, since = float(lattice.nodes[()].e.mean()), 0  # type: ignore[union-attr]
    while since < 5:
        node = lattice.nodes[z]
        order = promising(lattice, node, 0.1 + 2 * np.maximum(node.e, 0.0))  # type: ignore[operator]
        at_once = max(1, len(z) // 4) if len(z) >= 5 else 1
        tried = (4 if len(z) < 4 else 2) if wide else (2 if len(z) < 4 else 1)
        prices = lattice.moves.at(z)[1]
        if not order or lattice.spent(z) + min(prices[j] for j in order) >= best:
            return
        if at_once > 1:
            made = [q] if (q := lattice.jump(z, order[:at_once], CHAIN_SHARE)) is not None else []
        else:
            lattice.reach(z, order[:tried], CHAIN_SHARE)
            ways = [with_(z, way[0]) for j in order[:tried] if (way := lattice.moves.path(z, j)) is not None]
            made = [lattice.nodes[q] for q in ways if q in lattice.nodes and lattice.nodes[q].fit is not None]
        if not made:
            return
        losses = [_merit(lattice, q) for q in made]
        z = made[int(np.argmin(losses))].subset
        loss = float(lattice.nodes[z].e.mean()) + lattice.spent(z)  # type: ignore[union-attr]
        best, since = (loss, 0) if loss < best else (best, since + 1)


def _merit(lattice: Lattice, node: Node) -> float:
    P, y = _P(node), lattice.table.y
    log_loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-12)).mean()
    return float(node.e.mean() + 0.2 * log_loss + lattice.spent(node.subset))  # type: ignore[union-attr]


def _interactions(lattice: Lattice) -> None:
    """Questions that only tell something together."""
    for z in screening.interactions(lattice.table, lattice.rules, _P(lattice.nodes[()])):
        lattice.follow(lattice.order_of(z) or z)


def _contexts(lattice: Lattice, z: Subset = (), n_contexts: int = 3, n_next: int = 2) -> None:
    """Questions that tell which question to ask next, with the best ones to follow; several may have to tell it."""
    table, rules = lattice.table, lattice.rules
    if table.columns.size * rules.n_acquisitions * table.n_classes > 1.5e8 or lattice.nodes[z].fit is None:
        return
    P = _P(lattice.nodes[z])
    times = screening.contexts(table, rules, P)
    times[list(z)] = 0
    for j in np.argsort(-times, kind="stable")[:n_contexts].tolist():
        way = lattice.moves.path(z, j)
        q = with_(z, way[0]) if way is not None else z
        lattice.reach(z, [j])
        if times[j] <= 1 or q == z or q not in lattice.nodes:
            continue
        legal, prices = lattice.moves.at(q)
        for s in screening.by_cells(table, rules, j, P, np.ones(len(table.y))):
            best = screening.ranked(s, prices, legal)[:n_next]
            lattice.reach(q, best)
            for k in best[:1]:  # what tells the same may tell it better together
                lattice.reach(with_(q, (k,)), best[1:])
        if times[j] > 2 and not z:
            _contexts(lattice, q, 1)


def _tree_paths(lattice: Lattice, most: int = 40) -> None:
    """The questions along the paths of a CART (Breiman et al., 1984)."""
    table, rules = lattice.table, lattice.rules
    owner = np.empty(rules.n_features, np.int64)
    for j, group in enumerate(rules.groups):
        owner[list(group)] = j
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=20, min_samples_leaf=5, random_state=table.seed)
    tree = tree.fit(table.columns[:, :, 0], table.y).tree_
    paths: dict[Subset, None] = {}
    waiting: list[tuple[int, Subset]] = [(0, ())]
    while waiting:
        v, path = waiting.pop(0)
        if tree.feature[v] < 0:
            continue
        j = int(owner[tree.feature[v]])
        path = path if j in path else (*path, j)
        paths[path] = None
        waiting += [(int(tree.children_left[v]), path), (int(tree.children_right[v]), path)]
    for path in list(paths)[:most]:
        lattice.follow(path)


def _longest(lattice: Lattice) -> Subset:
    return max(lattice.nodes, key=len)


def shorten(lattice: Lattice, policy: Policy, most: int = 12) -> None:
    """Answers where rows only pass, and the subsets that they end at with one acquisition less.

    The questions that led to a subset may not all be needed, where they were found in an order that greed dictated.
    """
    passed = [z for z in policy.reach if lattice.nodes[z].fit is None and policy.reach[z].any()]
    lattice.grow(passed[:most])
    ends = {z: int((policy.reach[z] & (policy.choices[z].go < 0)).sum()) for z in policy.reach}
    made = 0
    for z in sorted(ends, key=lambda q: (-ends[q], q)):
        for j in z if ends[z] and len(z) > 1 else ():
            order = lattice.order_of(tuple(k for k in z if k != j))
            known = lattice.nodes.get(with_((), order or ()))
            if order is not None and (known is None or known.fit is None) and made < most:
                lattice.jump((), order)
                made += 1


def grow(lattice: Lattice, policy: Policy, n_nodes: int = 10, n_next: int = 2) -> None:
    """More subsets beyond those where the policy loses most; the next two at once, where one alone changes nothing."""
    potential = []
    for z, node in lattice.nodes.items():
        if node.fit is not None and policy.reach[z].any():
            gap = policy.room(node)
            potential.append((float(gap.sum()), z, gap))
    potential.sort(key=lambda v: (-v[0], v[1]))
    for total, z, gap in potential[:n_nodes]:
        if total > 0:
            order = promising(lattice, lattice.nodes[z], gap)
            fresh = [j for j in order if with_(z, (j,)) not in policy.reach]
            lattice.reach(z, fresh[:n_next])
            if len(order) > 1:
                lattice.jump(z, order[:2])


def promising(lattice: Lattice, node: Node, weight: NDArray[np.float64]) -> list[int]:
    """Acquisitions that can be come to from a node, the most promising first."""
    J, z = lattice.rules.n_acquisitions, node.subset
    score = screening.scores(lattice.table, lattice.rules, _P(node), weight)
    ways = [None if j in z else lattice.moves.path(z, j) for j in range(J)]
    prices = np.array([way[1] if way is not None else 0.0 for way in ways])
    return screening.ranked(score, prices, np.array([way is not None for way in ways]))


def _P(node: Node) -> NDArray[np.float64]:
    return node.fit.P  # type: ignore[union-attr]
