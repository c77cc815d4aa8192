"""The subsets that the final policy holds: those that it can reach, also by back-up moves, and starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import screening
from agents.lattice.alternatives import add_alternatives, most_used_acquisitions
from agents.lattice.backups import Backup, BackupPolicy
from agents.lattice.continuation import Continuation, SubsetContinuation, make_continuation
from agents.lattice.moves import Subset, extended
from agents.lattice.starts import evaluate_start, useful_starts
from agents.lattice.sweep import SweepPolicy


class HeldSubset(NamedTuple):
    """A subset with the policy that decides there and its moves.

    Attributes
    ----------
    policy : SweepPolicy
    subset : tuple of int, without the base of the policy's lattice
    children : list of int, places in ``Choice.children`` of the moves that are held
    backup : Backup
    """

    policy: SweepPolicy
    subset: Subset
    children: list[int]
    backup: Backup


def held_subsets(policies: list[SweepPolicy], unknown: float) -> dict[Subset, HeldSubset]:
    """The subsets with their bases, smallest first; where policies share one, the first of them decides.

    Parameters
    ----------
    policies : list of SweepPolicy, whose lattices differ in their bases
    unknown : float, probability that an acquisition cannot be obtained; 0 for no back-up moves
    """
    held: dict[Subset, HeldSubset] = {}
    for policy in policies:
        if unknown > 0:
            add_alternatives(policy, unknown)
        moves = _HeldMoves(policy, BackupPolicy(policy, unknown) if unknown > 0 else None)
        starts: list[Subset] = [()]
        if unknown > 0:
            starts += useful_starts(policy, moves.closure)
        for z in moves.closure(starts):
            entry = HeldSubset(policy, z, moves.children(z), moves.backup(z))
            held.setdefault(extended(z, policy.lattice.base), entry)
    return dict(sorted(held.items(), key=lambda entry: (len(entry[0]), entry[0])))


class _HeldMoves:
    """The moves and back-up moves that are held at each subset.

    At subsets that the policy can reach, these are all of its moves; at others, only those that rows make.
    """

    def __init__(self, policy: SweepPolicy, backups: BackupPolicy | None) -> None:
        self.policy, self.backups = policy, backups
        self.reachable = set(policy.reachable())

    def children(self, z: Subset) -> list[int]:
        every = list(range(len(self.policy.choices[z].children)))
        if self.backups is None or len(every) < 2 or z in self.reachable:
            return every
        return self.backups.likely_children(z)

    def backup(self, z: Subset) -> Backup:
        backups = {} if self.backups is None else self.backups.backups
        return backups.get(z, Backup([], np.zeros(0)))

    def closure(self, starts: list[Subset]) -> list[Subset]:
        """The subsets that can be reached from ``starts``, smallest first."""
        reached, queue = set(starts), list(starts)
        while queue:
            z = queue.pop()
            following = [self.policy.choices[z].children[k][1] for k in self.children(z)]
            following += [q for _, q in self.backup(z).moves]
            new = [q for q in dict.fromkeys(following) if q not in reached]
            reached.update(new)
            queue += new
        return sorted(reached, key=lambda q: (len(q), q))


def continuation_of(held: dict[Subset, HeldSubset]) -> Continuation:
    """The flat arrays of the back-up moves and starts of the subsets."""
    place = {z: v for v, z in enumerate(held)}
    parts = []
    for policy, z, _, backup in held.values():
        base, start = policy.lattice.base, evaluate_start(policy, z)
        moves = [(j, place[extended(q, base)]) for j, q in backup.moves]
        node = policy.lattice.nodes[z if policy.lattice.nodes[z].answer_cost is not None else ()]
        answer_cost = policy.lattice.data.mean(node.answer_cost)  # type: ignore[arg-type]
        parts.append(SubsetContinuation(moves, backup.theta, start.value, answer_cost, start.savings))
    bases = sorted({policy.lattice.base for policy, _, _, _ in held.values()}, key=len)
    return make_continuation(parts, _usefulness(held[bases[-1]].policy), list(bases[-1]), place[bases[-1]])


def _usefulness(policy: SweepPolicy) -> NDArray[np.int64]:
    """All acquisitions, those of most rows first and the others by their score statistic and price."""
    lattice, data = policy.lattice, policy.lattice.data
    proba = lattice.nodes[()].cross_fit.proba  # type: ignore[union-attr]
    statistic = screening.score_statistics(data, lattice.rules, proba, data.weighted(np.ones(len(data.y))))
    ranked = screening.rank_acquisitions(statistic, lattice.rules.costs, np.ones(len(statistic), bool))
    used = [j for j, _ in most_used_acquisitions(policy)]
    return np.array(list(dict.fromkeys([*lattice.base, *used, *ranked])), dtype=np.int64)
