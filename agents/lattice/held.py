"""The subsets that the final policy holds: those that it can reach, also by back-up moves, starts and alternatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice import growth
from agents.lattice.backups import Backup, BackupPolicy
from agents.lattice.continuation import Continuation, SubsetContinuation, make_continuation
from agents.lattice.growth import rank_next, selection_loss
from agents.lattice.learn import LearningSettings, learn
from agents.lattice.nodes import Lattice, Subset, extended
from agents.lattice.sweep import SweepPolicy, weighted_standard_error

# Growth of the lattice for acquisitions that cannot be obtained: subsets without those on which most rows rely.


def add_alternatives(policy: SweepPolicy, unknown: float) -> None:
    """Add subsets without the acquisitions that most rows make, within a share of the limits of their own.

    The choices at the new subsets are made as in a sweep; those at the others stay as they are. All rows begin with the
    same acquisition, so that a policy without it, learned from the start, decides at all subsets without it but the
    empty one.
    """
    lattice = policy.lattice
    first = [j for j, _, _ in policy.choices[()].children[:1]]
    if first:
        policy.adopt(_learn_without(policy, first))
    part = next(share for limit, share in const.ALTERNATIVES_SHARE.items() if len(lattice.data.y) <= limit)
    extra = part * lattice.limits.n_operations
    start = lattice.spent_operations
    n_subsets = sum(node.cross_fit is not None for node in lattice.nodes.values())
    n_more = int(np.ceil(part * lattice.limits.n_subsets))
    lattice.limits = lattice.limits._replace(n_subsets=n_subsets + n_more)
    passed = [z for z in policy.reachable() if lattice.nodes[z].cross_fit is None]
    lattice.add_subsets(passed, _share(lattice, start + const.FIRST_WITHOUT_SHARE * extra))
    _add_singles(lattice, _share(lattice, start + const.FIRST_WITHOUT_SHARE * extra))
    most_used = [(j, z) for j, z in most_used_acquisitions(policy) if j not in first][: const.N_WITHOUT]
    for k, (j, z) in enumerate(most_used):
        rest = start + extra - lattice.spent_operations
        limit = lattice.spent_operations + const.WITHOUT_SHARE * rest / (len(most_used) - k)
        _add_chain_without(lattice, policy, z, j, _share(lattice, limit))
    policy.choose_at_new_subsets()
    _add_children_of_masked(BackupPolicy(policy, unknown), _share(lattice, start + extra))
    policy.choose_at_new_subsets()


def _learn_without(policy: SweepPolicy, forbidden: list[int]) -> SweepPolicy:
    lattice = policy.lattice
    share = next(part for limit, part in const.WITHOUT_FIRST_EFFORT.items() if len(lattice.data.y) <= limit)
    return learn(
        lattice.data,
        lattice.rules,
        lattice.run,
        settings=LearningSettings(policy.kappa, lattice.beta, share * lattice.effort),
        classifiers=lattice.classifiers,
        base=lattice.base,
        forbidden=(*np.flatnonzero(~lattice.moves.allowed).tolist(), *forbidden),
        may_grow=not lattice.data.is_small,
    ).policy


def _add_children_of_masked(backups: BackupPolicy, share: float) -> None:
    """Add larger subsets beyond those where the masked rows lose most."""
    lattice = backups.lattice
    losses = []
    for z in lattice.nodes:
        saving = backups.possible_saving(z)
        losses.append((-float(saving.sum()), z, saving))
    losses.sort(key=lambda v: v[:2])
    for total, z, saving in losses[: const.N_MASKED_GROWTH_SUBSETS]:
        if total < 0:
            order = rank_next(lattice, lattice.nodes[z], saving)
            new = [j for j in order if extended(z, (j,)) not in lattice.nodes]
            lattice.add_acquisitions(z, new[: const.N_GROWTH_CHILDREN], share)


def _share(lattice: Lattice, operations: float) -> float:
    return operations / lattice.limits.n_operations


def _add_singles(lattice: Lattice, share: float) -> None:
    """Add the best single acquisitions, for rows that can obtain few others."""
    data, rules, proba = lattice.data, lattice.rules, lattice.nodes[()].cross_fit.proba  # type: ignore[union-attr]
    statistic = growth.score_statistics(data, rules, proba, data.weighted(np.ones(len(data.y))))
    order = growth.rank_acquisitions(statistic, *_prices_and_legal(lattice))
    lattice.add_acquisitions((), order[: const.N_FIRST_WITHOUT], share)


def _prices_and_legal(lattice: Lattice) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    legal, prices = lattice.moves.at(())
    return prices, legal


def most_used_acquisitions(policy: SweepPolicy) -> list[tuple[int, Subset]]:
    """The acquisitions of most rows, each with the subset at which most rows make it."""
    share: dict[int, float] = {}
    best: dict[int, tuple[float, Subset]] = {}
    for z in policy.reachable():
        choice = policy.choices[z]
        for k, (j, _, _) in enumerate(choice.children):
            going = float(policy.lattice.data.weighted(policy.arrivals[z] & (choice.next_child == k)).sum())
            if going > 0:
                share[j] = share.get(j, 0.0) + going
                best[j] = max(best.get(j, (0.0, z)), (going, z), key=lambda v: (v[0], -len(v[1])))
    return [(j, best[j][1]) for j in sorted(share, key=lambda j: (-share[j], j))]


def _add_chain_without(lattice: Lattice, policy: SweepPolicy, z: Subset, j: int, share: float) -> None:
    """Add a forward selection from subset z on that leaves acquisition j out."""
    data = lattice.data
    arrived = policy.arrivals[z] + const.REGRESSION_BASE_WEIGHT
    if lattice.nodes[z].cross_fit is None:
        return
    best, n_failed = data.mean(lattice.nodes[z].answer_cost), 0  # type: ignore[arg-type]
    paid = lattice.weighted_price(z)
    while n_failed < const.WITHOUT_PATIENCE:
        node = lattice.nodes[z]
        weight = const.CHAIN_BASE_WEIGHT + const.CHAIN_COST_WEIGHT * np.maximum(node.answer_cost, 0.0)  # type: ignore[operator]
        paths = {k: lattice.moves.path(z, k) for k in rank_next(lattice, node, data.weighted(weight * arrived))}
        order = [k for k, path in paths.items() if path is not None and j not in path[0]]
        prices = lattice.moves.at(z)[1]
        if not order or lattice.weighted_price(z) - paid + min(prices[k] for k in order) >= best:
            return
        lattice.add_acquisitions(z, order[: const.WITHOUT_CANDIDATES], share)
        ends = [extended(z, paths[k][0]) for k in order[: const.WITHOUT_CANDIDATES]]  # type: ignore[index]
        candidates = [lattice.nodes[q] for q in ends if q in lattice.nodes and lattice.nodes[q].cross_fit is not None]
        if not candidates:
            return
        z = candidates[int(np.argmin([selection_loss(lattice, q) for q in candidates]))].subset
        loss = data.mean(lattice.nodes[z].answer_cost) + lattice.weighted_price(z) - paid  # type: ignore[arg-type]
        best, n_failed = (loss, 0) if loss < best else (best, n_failed + 1)


class Start(NamedTuple):
    """What is expected of a row that starts at a subset, whose acquisitions cost it nothing.

    Attributes
    ----------
    value : float
        Mean loss of the training rows. A subset other than the empty one has standard errors of its difference to that
        one added, since the lowest of many estimates is taken.
    savings : list of (acquisition, float), how much lower the mean is if that acquisition costs nothing either
    """

    value: float
    savings: list[tuple[int, float]]


def evaluate_start(policy: SweepPolicy, z: Subset) -> Start:
    """Roll training rows out from a subset."""
    data = policy.lattice.data
    rows = slice(None, None, -(-len(data.y) // const.MAX_START_ROWS))
    weight = data.weighted(np.ones(len(data.y)))[rows]
    weight = weight / weight.sum()
    paid: dict[int, float] = {}
    arrivals: dict[Subset, NDArray[np.bool_]] = {z: np.ones(len(weight), bool)}
    while arrivals:
        here = min(arrivals, key=lambda q: (len(q), q))
        choice, arrived = policy.choices[here], arrivals.pop(here)
        for k, (j, q, price) in enumerate(choice.children):
            going = arrived & (choice.next_child[rows] == k)
            if going.any():
                paid[j] = paid.get(j, 0.0) + price * float(weight @ going)
                arrivals[q] = arrivals[q] | going if q in arrivals else going
    value, error = policy.choices[z].value[rows], 0.0
    if z:
        error = weighted_standard_error(value - policy.choices[()].value[rows], weight)
    savings = [(j, v) for j, v in sorted(paid.items()) if v > 0 and j not in z]
    return Start(float(weight @ value) + const.START_ERRORS * error, savings)


def useful_starts(policy: SweepPolicy, closure: Callable[[list[Subset]], list[Subset]]) -> list[Subset]:
    """Small subsets beyond the reachable ones from which a row that knows them in advance has a lower loss.

    That is lower than from the empty subset with these values at no cost. The best ones are taken until the subsets
    that the policy needs from there on are as many as the limit allows.

    Parameters
    ----------
    policy : SweepPolicy
    closure : callable, list of starts -> list of the subsets that can be reached from them
    """
    held, root = set(closure([()])), evaluate_start(policy, ())
    saving = dict(root.savings)
    gains = []
    for z, node in policy.lattice.nodes.items():
        if z not in held and 0 < len(z) <= const.MAX_START_SIZE and node.cross_fit is not None:
            gain = root.value - sum(saving.get(j, 0.0) for j in z) - evaluate_start(policy, z).value
            if gain > 0:
                gains.append((-gain, len(z), z))
    limit = len(held) + max(const.MIN_START_SUBSETS, int(const.START_SUBSETS_SHARE * len(held)))
    starts = []
    for _, _, z in sorted(gains):
        needed = set(closure([z])) - held
        if len(held) + len(needed) <= limit:
            held |= needed
            starts.append(z)
    return starts


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
    statistic = growth.score_statistics(data, lattice.rules, proba, data.weighted(np.ones(len(data.y))))
    ranked = growth.rank_acquisitions(statistic, lattice.rules.costs, np.ones(len(statistic), bool))
    used = [j for j, _ in most_used_acquisitions(policy)]
    return np.array(list(dict.fromkeys([*lattice.base, *used, *ranked])), dtype=np.int64)
