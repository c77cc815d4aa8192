"""The lattice of disjunctions: their prices, and the active set, which grows from the shortest disjunctions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.base import FloatMatrix, FloatVector

Disjunction = tuple[int, ...]  # its literals, in increasing order


@dataclass(frozen=True, eq=False)
class DisjunctionLattice:
    """Which disjunctions exist, and their prices delta_v = scale * product of the prices of the literals in v."""

    prices: FloatVector  # (n_literals,), above 0; all equal to beta in the paper
    max_literals: int  # maximum number of literals of a disjunction
    root: bool  # whether the empty disjunction defines a group too
    group: NDArray[np.int64]  # (n_literals,), literals of different groups are never in one disjunction
    scale: float = 1.0  # beta^-k in the paper; equivalent to ``C * scale**-2``

    @property
    def n_literals(self) -> int:
        return len(self.prices)

    def delta(self, node: Disjunction) -> float:
        """Return the price of a disjunction."""
        return float(self.scale * np.prod(self.prices[list(node)]))


@dataclass(frozen=True, eq=False)
class Sources:
    """Inactive disjunctions whose parts are all active: an active disjunction and one more literal after its last."""

    parent: NDArray[np.int64]  # (n_sources,), index of the active disjunction, -1 for the empty one
    literal: NDArray[np.int64]  # (n_sources,)

    def __len__(self) -> int:
        return len(self.parent)


class ActiveSet:
    """The active disjunctions; with each disjunction, all of its parts are active.

    The empty disjunction is always active and is not listed in ``nodes``.
    """

    def __init__(self, lattice: DisjunctionLattice, X: FloatMatrix) -> None:
        self.lattice, self.X = lattice, X
        self.nodes: list[Disjunction] = []
        self.Psi: FloatMatrix = np.empty((len(X), 0))
        self._extends: dict[Disjunction, NDArray[np.bool_]] = {(): np.zeros(lattice.n_literals, dtype=bool)}

    def add(self, nodes: Sequence[Disjunction]) -> None:
        """Make sources active."""
        if not nodes:
            return
        for node in nodes:
            self._extends[node] = np.zeros(self.lattice.n_literals, dtype=bool)
            self._extends[node][list(node)] = True
            for literal in node:
                self._extends[drop_literal(node, literal)][literal] = True
        self.nodes += nodes
        self.Psi = np.column_stack([self.Psi, evaluate_disjunctions(self.X, nodes)])

    def membership(self) -> FloatMatrix:
        """Return 1 where the disjunction of the group is part of the node, float64 (n_groups, n_nodes).

        With ``root``, the group of the empty disjunction comes first.
        """
        literals = literal_membership(self.nodes, self.lattice.n_literals)
        within = (literals @ literals.T == literals.sum(axis=1)[:, None]).astype(np.float64)
        return np.vstack([np.ones((int(self.lattice.root), len(self.nodes))), within])

    def delta(self) -> FloatVector:
        """Return the price of each group, float64 (n_groups,), in the order of ``membership``."""
        top: list[Disjunction] = [()] if self.lattice.root else []
        return np.array([self.lattice.delta(v) for v in top + self.nodes])

    def sources(self) -> Sources:
        """Return every source once."""
        added = [np.flatnonzero(~self._extends[()])]
        parents = [np.full(len(added[0]), -1)]
        for k, node in enumerate(self.nodes):
            if len(node) < self.lattice.max_literals:
                literals = np.flatnonzero(self._extending_literals(node)) + node[-1] + 1
                added.append(literals)
                parents.append(np.full(len(literals), k))
        return Sources(np.concatenate(parents), np.concatenate(added))

    def _extending_literals(self, node: Disjunction) -> NDArray[np.bool_]:
        """Return which literals after the last one of ``node`` extend it to a source, bool."""
        later = slice(node[-1] + 1, None)
        group = self.lattice.group
        extending = ~self._extends[node][later] & (group[later] == group[node[0]])
        for literal in node:
            extending &= self._extends[drop_literal(node, literal)][later]
        return extending

    def disjunction(self, sources: Sources, k: int) -> Disjunction:
        """Return the disjunction of source ``k``."""
        parent = sources.parent[k]
        return (*(self.nodes[parent] if parent >= 0 else ()), int(sources.literal[k]))

    def signed_sums(self, a: FloatVector, sources: Sources) -> FloatVector:
        """Return t of each source: sum_i a_i psi(x_i), where psi_{u or l} = psi_u + x_l - psi_u x_l."""
        single = self.X.T @ a
        t = single[sources.literal]
        inner = sources.parent >= 0
        parent, literal = sources.parent[inner], sources.literal[inner]
        both = self.X.T @ (self.Psi * a[:, None])
        t[inner] += (self.Psi.T @ a)[parent] - both[literal, parent]
        return t

    def source_delta(self, sources: Sources) -> FloatVector:
        """Return the price of each source, float64 (n_sources,)."""
        # The price of the empty disjunction comes last, at index -1.
        node_delta = np.array([*(self.lattice.delta(v) for v in self.nodes), self.lattice.scale])
        return node_delta[sources.parent] * self.lattice.prices[sources.literal]


def drop_literal(node: Disjunction, literal: int) -> Disjunction:
    return tuple(l for l in node if l != literal)


def evaluate_disjunctions(X: FloatMatrix, nodes: Iterable[Disjunction]) -> FloatMatrix:
    """Return 1 where a disjunction is true for a row of a 0/1 table, float64 (n_rows, n_nodes)."""
    columns = [X[:, list(node)].any(axis=1) for node in nodes]
    return np.column_stack(columns).astype(np.float64) if columns else np.empty((len(X), 0))


def literal_membership(nodes: Sequence[Disjunction], n_literals: int) -> FloatMatrix:
    """Return 1 where a disjunction contains a literal, float64 (n_nodes, n_literals)."""
    membership = np.zeros((len(nodes), n_literals))
    for k, node in enumerate(nodes):
        membership[k, list(node)] = 1.0
    return membership
