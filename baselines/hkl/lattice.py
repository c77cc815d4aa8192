"""The lattice of disjunctions: their prices, and the set of active ones that grows from its top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.hkl.problem import Matrix, Vector

Node = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Lattice:
    """Which disjunctions there are, and the price delta_v = scale * product of the literals' prices.

    Attributes
    ----------
    prices : ndarray (n_literals,), float64, above 0; all beta in the paper
    longest : int, most literals of a disjunction
    root : bool, whether the empty disjunction is a group too
    group : ndarray (n_literals,), int, literals of different groups never share a disjunction
    scale : float, beta^-k in the paper; it does the same as ``C * scale**-2``
    """

    prices: Vector
    longest: int
    root: bool
    group: NDArray[np.int64]
    scale: float = 1.0

    @property
    def n_literals(self) -> int:
        return len(self.prices)

    def delta(self, node: Node) -> float:
        return float(self.scale * np.prod(self.prices[list(node)]))


@dataclass(frozen=True, eq=False)
class Sources:
    """Disjunctions that are not active while all their parts are: an active one and one more, later, literal.

    Attributes
    ----------
    parent : ndarray (n_sources,), int, index of the active disjunction, -1 for the empty one
    literal : ndarray (n_sources,), int
    """

    parent: NDArray[np.int64]
    literal: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.parent)


class ActiveSet:
    """Active disjunctions: with each, all of its parts. The empty one is always among them, and is not listed."""

    def __init__(self, lattice: Lattice, X: Matrix) -> None:
        self.lattice, self.X = lattice, X
        self.nodes: list[Node] = []
        self.Psi: Matrix = np.empty((len(X), 0))
        self._extends: dict[Node, NDArray[np.bool_]] = {(): np.zeros(lattice.n_literals, dtype=bool)}

    def add(self, nodes: Sequence[Node]) -> None:
        """Add sources."""
        if not nodes:
            return
        for node in nodes:
            self._extends[node] = np.zeros(self.lattice.n_literals, dtype=bool)
            self._extends[node][list(node)] = True
            for literal in node:
                self._extends[without(node, literal)][literal] = True
        self.nodes += nodes
        self.Psi = np.column_stack([self.Psi, truth(self.X, nodes)])

    def below(self) -> Matrix:
        """1 where the first node is part of the second, (n_groups, n_nodes); the empty one first, where it is one."""
        held = members(self.nodes, self.lattice.n_literals)
        within = (held @ held.T == held.sum(axis=1)[:, None]).astype(np.float64)
        return np.vstack([np.ones((int(self.lattice.root), len(self.nodes))), within])

    def delta(self) -> Vector:
        top: list[Node] = [()] if self.lattice.root else []
        return np.array([self.lattice.delta(v) for v in top + self.nodes])

    def sources(self) -> Sources:
        """Every source once."""
        found = [np.flatnonzero(~self._extends[()])]
        parents = [np.full(len(found[0]), -1)]
        for k, node in enumerate(self.nodes):
            if len(node) < self.lattice.longest:
                literals = np.flatnonzero(self._open(node)) + node[-1] + 1
                found.append(literals)
                parents.append(np.full(len(literals), k))
        return Sources(np.concatenate(parents), np.concatenate(found))

    def _open(self, node: Node) -> NDArray[np.bool_]:
        """Literals after the last of ``node`` that make a source of it."""
        later = slice(node[-1] + 1, None)
        group = self.lattice.group
        open_ = ~self._extends[node][later] & (group[later] == group[node[0]])
        for literal in node:
            open_ &= self._extends[without(node, literal)][later]
        return open_

    def node(self, sources: Sources, k: int) -> Node:
        """The disjunction of source ``k``."""
        parent = sources.parent[k]
        return (*(self.nodes[parent] if parent >= 0 else ()), int(sources.literal[k]))

    def signed(self, a: Vector, sources: Sources) -> Vector:
        """t of each source: sum_i a_i psi(x_i), where psi_{u or l} = psi_u + x_l - psi_u x_l."""
        single = self.X.T @ a
        t = single[sources.literal]
        inner = sources.parent >= 0
        parent, literal = sources.parent[inner], sources.literal[inner]
        both = self.X.T @ (self.Psi * a[:, None])
        t[inner] += (self.Psi.T @ a)[parent] - both[literal, parent]
        return t

    def source_delta(self, sources: Sources) -> Vector:
        of_nodes = np.array([*(self.lattice.delta(v) for v in self.nodes), self.lattice.scale])  # -1 is the empty one
        return of_nodes[sources.parent] * self.lattice.prices[sources.literal]


def without(node: Node, literal: int) -> Node:
    return tuple(l for l in node if l != literal)


def truth(X: Matrix, nodes: Iterable[Node]) -> Matrix:
    """Each disjunction's truth for each row of a 0/1 table, float64 (n_rows, n_nodes)."""
    columns = [X[:, list(node)].any(axis=1) for node in nodes]
    return np.column_stack(columns).astype(np.float64) if columns else np.empty((len(X), 0))


def members(nodes: Sequence[Node], n_literals: int) -> Matrix:
    """1 where a disjunction holds a literal, (n_nodes, n_literals)."""
    held = np.zeros((len(nodes), n_literals))
    for k, node in enumerate(nodes):
        held[k, list(node)] = 1.0
    return held
