"""Growth of the lattice for acquisitions that cannot be obtained: subsets without those on which most rows rely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice import screening
from agents.lattice.backups import BackupPolicy
from agents.lattice.growth import rank_next, selection_loss
from agents.lattice.learn import LearningSettings, learn
from agents.lattice.moves import Subset, extended
from agents.lattice.nodes import Lattice
from agents.lattice.sweep import SweepPolicy


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
    for _ in range(const.N_MASKED_GROWTH_ROUNDS):
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
    statistic = screening.score_statistics(data, rules, proba, data.weighted(np.ones(len(data.y))))
    order = screening.rank_acquisitions(statistic, *_prices_and_legal(lattice))
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
