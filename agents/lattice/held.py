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
    """A subset with the policy that decides there and its back-up moves.

    Attributes
    ----------
    policy : SweepPolicy
    subset : tuple of int, without the base of the policy's lattice
    backup : Backup
    """

    policy: SweepPolicy
    subset: Subset
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
        backups: dict[Subset, Backup] = {}
        if unknown > 0:
            add_alternatives(policy)
            backups = BackupPolicy(policy, unknown).backups
        reachable = _closure(policy, backups, [()])
        if unknown > 0:
            reachable = _closure(policy, backups, [(), *useful_starts(policy, reachable)])
        for z in reachable:
            backup = backups.get(z, Backup([], np.zeros(0)))
            held.setdefault(extended(z, policy.lattice.base), HeldSubset(policy, z, backup))
    return dict(sorted(held.items(), key=lambda entry: (len(entry[0]), entry[0])))


def _closure(policy: SweepPolicy, backups: dict[Subset, Backup], starts: list[Subset]) -> list[Subset]:
    """The subsets that can be reached from ``starts`` by moves and back-up moves, smallest first."""
    reached, queue = set(starts), list(starts)
    while queue:
        z = queue.pop()
        following = [q for _, q, _ in policy.choices[z].children]
        following += [q for _, q in backups[z].moves] if z in backups else []
        new = [q for q in dict.fromkeys(following) if q not in reached]
        reached.update(new)
        queue += new
    return sorted(reached, key=lambda q: (len(q), q))


def continuation_of(held: dict[Subset, HeldSubset]) -> Continuation:
    """The flat arrays of the back-up moves and starts of the subsets."""
    place = {z: v for v, z in enumerate(held)}
    parts = []
    for policy, z, backup in held.values():
        base, start = policy.lattice.base, evaluate_start(policy, z)
        moves = [(j, place[extended(q, base)]) for j, q in backup.moves]
        parts.append(SubsetContinuation(moves, backup.theta, start.value, start.savings))
    bases = sorted({policy.lattice.base for policy, _, _ in held.values()}, key=len)
    return make_continuation(parts, _usefulness(held[bases[-1]].policy), list(bases[-1]), place[bases[-1]])


def _usefulness(policy: SweepPolicy) -> NDArray[np.int64]:
    """All acquisitions, those of most rows first and the others by their score statistic and price."""
    lattice, data = policy.lattice, policy.lattice.data
    proba = lattice.nodes[()].cross_fit.proba  # type: ignore[union-attr]
    statistic = screening.score_statistics(data, lattice.rules, proba, data.weighted(np.ones(len(data.y))))
    ranked = screening.rank_acquisitions(statistic, lattice.rules.costs, np.ones(len(statistic), bool))
    used = [j for j, _ in most_used_acquisitions(policy)]
    return np.array(list(dict.fromkeys([*lattice.base, *used, *ranked])), dtype=np.int64)
