"""Policy improvement and evaluation in one backward pass: without cycles a pass is a rollout to the end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.describe import describe
from agents.lattice.moves import Subset
from agents.lattice.nodes import Lattice, Node

STOP, ALWAYS, ADAPTIVE = 0, 1, 2
MOST_CHILDREN = 8
KAPPA = 0.3


class Choice(NamedTuple):
    """What is done at a subset.

    Attributes
    ----------
    mode : STOP, ALWAYS (the first child) or ADAPTIVE (the child of the lowest predicted loss below answering, if any)
    children : list of (acquisition, subset, price)
    go : int64 (n_samples,), which child each training row goes to, -1 answers
    V : float64 (n_samples,), loss from here to the end
    T : float64 (n_samples, n_children) or None, what going on costs beyond answering now
    """

    mode: int
    children: list[tuple[int, Subset, float]]
    go: NDArray[np.int64]
    V: NDArray[np.float64]
    T: NDArray[np.float64] | None


class Policy:
    """The choices at all subsets, from the largest to the empty one, and who comes where.

    Parameters
    ----------
    lattice : Lattice
    before : dict subset -> bool (n_samples,), who came there under the last policy; by default everybody everywhere
    kappa : float, standard errors by which an adaptive choice has to be better than a fixed one
    """

    def __init__(self, lattice: Lattice, before: dict[Subset, NDArray[np.bool_]] | None, kappa: float = KAPPA) -> None:
        self.lattice, self.kappa = lattice, kappa
        everybody = np.ones(len(lattice.table.y), bool)
        self.choices: dict[Subset, Choice] = {}
        for z in sorted(lattice.nodes, key=lambda q: (-len(q), q)):
            came = everybody if before is None else before.get(z, ~everybody)
            self.choices[z] = self._choose(lattice.nodes[z], came)
        self.reach = self._forward()

    def _choose(self, node: Node, came: NDArray[np.bool_]) -> Choice:
        n, e = len(came), node.e
        weight = np.where(came, 1.01, 0.01)
        found = self.lattice.children(node.subset)
        if not found:
            return Choice(STOP, [], np.full(n, -1), e, None)  # type: ignore[arg-type]
        here = 0.0 if e is None else e
        had = np.stack([self.lattice.can_be_had[:, j] for j, _, _ in found], axis=1)
        G = np.stack([price + self.choices[q.subset].V for _, q, price in found], axis=1)
        G = np.where(had, G, np.broadcast_to(here, n)[:, None]) if e is not None else G
        first = np.argsort(weight @ G, kind="stable")[:MOST_CHILDREN]
        children = [(found[k][0], found[k][1].subset, found[k][2]) for k in first]
        G, had = G[:, first], had[:, first]
        always = np.where(had[:, 0], 0, -1)
        if e is None:
            return Choice(ALWAYS, children[:1], always, G[:, 0], None)
        stop, go_on = weight @ e, weight @ G[:, 0]
        fixed = Choice(STOP, [], np.full(n, -1), e, None)
        if go_on < stop:
            fixed = Choice(ALWAYS, children[:1], always, G[:, 0], None)
        T = G - e[:, None]
        F = describe(self.lattice, node)
        predicted = np.where(had, F.cross_predict(T, came + 0.1, had), np.inf)
        best, least = fixed, min(stop, go_on)
        for m in sorted({len(children), 1}, reverse=True):
            go = predicted[:, :m].argmin(axis=1)
            go = np.where(predicted[np.arange(n), go] < 0, go, -1)
            V = np.where(go >= 0, G[np.arange(n), go], e)
            total = weight @ V + self.kappa * _spread(V - fixed.V, weight)
            if total < least - 1e-12:
                best, least = Choice(ADAPTIVE, children[:m], go, V, T[:, :m]), total
        return best

    def _forward(self) -> dict[Subset, NDArray[np.bool_]]:
        reach = {z: np.zeros(len(self.lattice.table.y), bool) for z in self.lattice.nodes}
        reach[()][:] = True
        for z in sorted(self.lattice.nodes, key=len):
            choice = self.choices[z]
            for k, (_, q, _) in enumerate(choice.children):
                reach[q] |= reach[z] & (choice.go == k)
        return reach

    @property
    def loss(self) -> float:
        """Mean loss of the training rows, which flatters: the subsets were chosen on them."""
        return float(self.choices[()].V.mean())

    def usage(self) -> dict[str, float]:
        """Means over the training rows, each asked by models that did not see it: features used, and their cost.

        The cost is in the unit of ``costs``, without ``lam``.
        """
        lattice = self.lattice
        known, paid = np.zeros(len(lattice.table.y)), np.zeros(len(lattice.table.y))
        for z, choice in self.choices.items():
            ends = self.reach[z] & (choice.go < 0)
            known[ends] = (~np.isnan(lattice.table.X[np.ix_(ends, lattice.nodes[z].features)])).sum(axis=1)
            for k, (j, _, _) in enumerate(choice.children):
                paid[self.reach[z] & (choice.go == k)] += lattice.moves.price(z, j)
        return {"features": float(known.mean()), "cost": float(paid.mean())}

    def room(self, node: Node) -> NDArray[np.float64]:
        """What better children of a node could save its rows at most, float64 (n_samples,)."""
        z = node.subset
        choice, (legal, prices) = self.choices[z], self.lattice.moves.at(z)
        if not legal.any():
            return np.zeros(len(choice.V))
        price = prices[legal].min()
        room = np.where(choice.go < 0, node.e - price, 0.5 * (choice.V - price))  # type: ignore[operator]
        return np.maximum(room, 0.0) * self.reach[z]

    def visited(self) -> list[Subset]:
        """The subsets that any datum may come to, smallest first."""
        found: dict[Subset, None] = {(): None}
        for z in found_while(found):
            found.update(dict.fromkeys(q for _, q, _ in self.choices[z].children))
        return sorted(found, key=lambda q: (len(q), q))


def found_while(found: dict[Subset, None]):
    """The keys of a dictionary that grows while it is walked through."""
    done = 0
    while done < len(found):
        keys = list(found)
        yield from keys[done:]
        done = len(keys)


def _spread(difference: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Standard error of the weighted sum."""
    total = weight.sum()
    mean = weight @ difference / total
    variance = weight @ (difference - mean) ** 2 / total
    return float(np.sqrt(variance / total * (weight * weight).sum()))
