"""The lattice: the subsets chosen so far, and what their classifiers are wrong about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.lattice.heads import CrossFit, Table, cross_fit, operations
from agents.lattice.moves import Moves, Subset, with_
from fsgym.rules import Rules

MOST_NODES = {1000: 120, np.inf: 250}  # with heads, up to so many rows: of many subsets the luckiest seem the best
SECOND = 0.25  # weight of the classifier of all features in what an answer is expected to cost
MOST_OPERATIONS = 3_250_000_000  # of all heads, some seconds; of more than 5000 rows in proportion


@dataclass(eq=False)
class Node:
    """A subset; without a head it is only passed through on the way to a larger one.

    Attributes
    ----------
    subset : acquisitions
    features : int64, the features that they reveal
    fit : CrossFit or None
    e : float64 (n_samples,), expected and realised error cost of answering here, mixed
    """

    subset: Subset
    features: NDArray[np.int64]
    fit: CrossFit | None = None
    e: NDArray[np.float64] | None = None


class Lattice:
    """Subsets and their cross-fitted heads, which do not depend on ``lam``.

    Parameters
    ----------
    table : Table
    rules : Rules
    beta : float, share of the expected error cost in ``e``; the rest is the realised one
    run : callable (function, list of arguments) -> list, in threads or not
    heads : dict, cross-fitted heads that are known already
    """

    def __init__(
        self, table: Table, rules: Rules, beta: float, run: Callable, heads: dict[Subset, CrossFit] | None = None
    ) -> None:
        self.table, self.rules, self.beta, self.run = table, rules, beta, run
        self.moves = Moves(rules)
        self.heads = {} if heads is None else heads
        self.nodes: dict[Subset, Node] = {}
        self.spent_operations = 0
        self.most_nodes = next(most for rows, most in MOST_NODES.items() if len(table.y) <= rows)
        self.most_operations = MOST_OPERATIONS * max(len(table.y), 5000) // 5000
        missing = np.isnan(table.X)
        self.can_be_had = ~np.stack([missing[:, list(g)].all(axis=1) for g in rules.groups], axis=1)
        self.passes = bool(self.can_be_had.all())  # nobody has to answer on the way
        self.complete = ~missing.any(axis=1)
        self.second = self._second_opinion() if beta > 0 else None
        self.grow([()])

    def _second_opinion(self) -> NDArray[np.float64] | None:
        """Cross-fitted probabilities given all features, None where they would take much of the time."""
        full = tuple(range(self.rules.n_acquisitions))
        cost = operations(self.table, self.features(full))
        if cost > self.most_operations // 10:
            return None
        self.spent_operations += cost
        if full not in self.heads:
            self.heads[full] = cross_fit(self.table, self.features(full))
        return self.heads[full].P

    def features(self, z: Subset) -> NDArray[np.int64]:
        return np.array(sorted(i for j in z for i in self.rules.groups[j]), dtype=np.int64)

    def grow(self, wanted: Iterable[Subset], share: float = 1.0) -> list[Node]:
        """Add heads at subsets, while their number and operations are within ``share`` of the limits."""
        accepted = []
        for z in dict.fromkeys(wanted):
            if z in self.nodes and self.nodes[z].fit is not None:
                continue
            cost = operations(self.table, self.features(z))
            if self.nodes and self.spent_operations + cost > share * self.most_operations:
                break
            if sum(v.fit is not None for v in self.nodes.values()) + len(accepted) >= self.most_nodes:
                break
            self.spent_operations += cost
            accepted.append(z)
        new = [z for z in accepted if z not in self.heads]
        for z, fit in zip(new, self.run(cross_fit, [(self.table, self.features(z)) for z in new])):
            self.heads[z] = fit
        for z in accepted:
            self.nodes[z] = Node(z, self.features(z), self.heads[z], self._errors(self.heads[z].P))
        return [self.nodes[z] for z in accepted]

    def reach(self, z: Subset, targets: Iterable[int], share: float = 1.0) -> list[Node]:
        """Add heads at z + j for acquisitions j, and what is passed through on the way to them."""
        ways = {with_(z, way[0]): way[0] for j in targets if (way := self.moves.path(z, j)) is not None}
        made = self.grow(ways, share)
        for node in made:
            self._pave(z, ways[node.subset])
        return made

    def _pave(self, z: Subset, steps: Subset) -> None:
        between = [with_(z, steps[:k]) for k in range(1, len(steps))]
        if not self.passes:
            self.grow(between)
        for q in between:
            self.nodes.setdefault(q, Node(q, self.features(q)))

    def follow(self, sequence: Iterable[int], share: float = 1.0) -> None:
        """Add the subsets along a sequence of acquisitions, as far as the rules allow it."""
        z: Subset = ()
        for j in sequence:
            if j in z:
                continue
            way = self.moves.path(z, j)
            if way is None:
                return
            self.reach(z, [j], share)
            z = with_(z, way[0])
            if z not in self.nodes:
                return

    def jump(self, z: Subset, sequence: Iterable[int], share: float = 1.0) -> Node | None:
        """Add a head at z with all of ``sequence``; in between nothing is answered."""
        steps: list[int] = []
        for j in sequence:
            way = self.moves.path(with_(z, steps), j)
            if way is None:
                break
            steps += way[0]
        q = with_(z, steps)
        if not steps:
            return None
        self.grow([q], share)
        if q not in self.nodes:
            return None
        self._pave(z, tuple(steps))
        return self.nodes[q]

    def order_of(self, z: Subset) -> Subset | None:
        """An order in which a subset can be acquired, None where the rules allow none that is cheapest at each step."""
        order: list[int] = []
        while len(order) < len(z):
            legal, prices = self.moves.at(with_((), order))
            open_ = [j for j in z if j not in order and legal[j]]
            if not open_:
                return None
            order.append(min(open_, key=lambda j: (prices[j], j)))
        return tuple(order)

    def spent(self, z: Subset) -> float:
        """``lam`` times the price of a subset."""
        taken = np.zeros((1, self.rules.n_acquisitions), bool)
        taken[0, list(z)] = True
        return float(self.rules.lam * self.rules.price_sets(taken)[0][0])

    def children(self, z: Subset) -> list[tuple[int, Node, float]]:
        """The larger subsets one legal acquisition away: (acquisition, node, price)."""
        legal, prices = self.moves.at(z)
        found = []
        for j in np.flatnonzero(legal).tolist():
            q = self.nodes.get(with_(z, (j,)))
            if q is not None:
                found.append((j, q, float(prices[j])))
        return found

    def _errors(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        """What answering by P costs each row, float64 (n_samples,): the realised cost, and for ``beta`` the expected.

        Of hundreds of subsets those are chosen that seem to err least, often because they are too sure of themselves.
        So the classifier of all features is asked as well what it expects of the same answers.
        """
        costs, rows = self.rules.error_costs, np.arange(len(P))
        expected = P @ costs.T
        answer = expected.argmin(axis=1)
        believed = expected[rows, answer]
        if self.second is not None:
            believed += SECOND * self.complete * ((self.second @ costs.T)[rows, answer] - believed)
        return (1 - self.beta) * costs[answer, self.table.y] + self.beta * believed
