"""The subsets that the final policy holds: those that it can reach, also by back-up moves, starts and alternatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.growth import rank_at_start, rank_next, selection_loss
from agents.lattice.learn import LearningSettings, learn
from agents.lattice.nodes import Lattice, Subset, extended
from agents.lattice.plan import Continuation, SubsetContinuation, make_continuation
from agents.lattice.sweep import (
    ADAPTIVE,
    STOP,
    Choice,
    SweepPolicy,
    arrivals_of,
    state_features,
    weighted_standard_error,
)
from agents.lattice.training_data import rows_of_folds

# Back-up moves: what a policy does where it cannot obtain the acquisition that it prefers.
#
# The choices of the last sweep stay as they are. Training rows are masked at random, and one backward pass over the
# lattice rolls them out: a masked row whose preferred acquisition cannot be obtained makes a back-up move instead.
# The back-up moves of each subset are chosen on the masked rows that need them, with the returns of these rows.


class Backup(NamedTuple):
    """The back-up moves of a subset."""

    # list of (acquisition, subset), the first ``n_adaptive`` of them are chosen by ``theta``, if any of these can be
    # obtained: the one of lowest predicted advantage if that is below 0, otherwise the row answers. If none of them can
    # be obtained, the first of the others that can be obtained is made.
    moves: list[tuple[int, Subset]]
    theta: NDArray[np.float64]  # (n_columns, n_adaptive), coefficients of the advantages


class MaskedRows(NamedTuple):
    """Training rows, each with some acquisitions that cannot be obtained."""

    row: NDArray[np.int64]  # (n_masked,), the training row
    available: NDArray[np.bool_]  # (n_masked, J)
    weight: NDArray[np.float64]  # (n_masked,)


def mask_rows(policy: SweepPolicy, unknown: float) -> MaskedRows:
    """Mask each acquisition with probability ``unknown``, and of most rows one acquisition of their own path."""
    lattice = policy.lattice
    n, rng = len(lattice.data.y), np.random.default_rng([lattice.data.seed, 1])
    if n > const.MAX_MASKED_ROWS:
        row = np.sort(rng.choice(n, const.MAX_MASKED_ROWS, replace=False))
    else:
        row = np.tile(np.arange(n), min(-(-const.N_MASKED_ROWS // n), const.MAX_MASK_COPIES))
    used = np.array(sorted({j for z in lattice.nodes for j in z}), dtype=np.int64)
    available = lattice.available[row]
    if not len(used):
        return MaskedRows(row, available, lattice.data.weighted(np.ones(n))[row])
    available[:, used] &= rng.random((len(row), len(used))) >= unknown
    score = rng.random((len(row), len(used))) * _on_path(policy)[np.ix_(row, used)]
    chosen, masked = used[score.argmax(axis=1)], rng.random(len(row)) < const.PATH_MASK_SHARE
    masked &= score.max(axis=1) > 0
    available[masked, chosen[masked]] = False
    return MaskedRows(row, available, lattice.data.weighted(np.ones(n))[row])


def _on_path(policy: SweepPolicy) -> NDArray[np.bool_]:
    """The acquisitions that each training row makes, bool (n_samples, J)."""
    on_path = np.zeros(policy.lattice.available.shape, bool)
    for z in policy.reachable():
        choice = policy.choices[z]
        for k, (j, _, _) in enumerate(choice.children):
            on_path[:, j] |= policy.arrivals[z] & (choice.next_child == k)
    return on_path


class _Step(NamedTuple):
    """What the masked rows do at a subset; places are those of ``children``, -1 answers."""

    children: list[tuple[int, Subset, float]]
    place: NDArray[np.int64]


class BackupPolicy:
    """The back-up moves at all subsets.

    Parameters
    ----------
    policy : SweepPolicy
    unknown : float, probability that an acquisition cannot be obtained

    Attributes
    ----------
    backups : dict subset -> Backup
    arrivals : dict subset -> bool (n_masked,), masked rows
    """

    def __init__(self, policy: SweepPolicy, unknown: float) -> None:
        self.policy, self.lattice = policy, policy.lattice
        self.masked = mask_rows(policy, unknown)
        arrivals: dict[Subset, NDArray[np.bool_]] | None = None
        for _ in range(const.N_MASKED_PASSES):
            self.values: dict[Subset, NDArray[np.float64]] = {}
            self.backups: dict[Subset, Backup] = {}
            self._steps: dict[Subset, _Step] = {}
            for z in sorted(self.lattice.nodes, key=lambda q: (-len(q), q)):
                self._roll_out(z, None if arrivals is None else arrivals[z])
            arrivals = self._simulate()
            self.arrivals = arrivals
        self._drop_unused()

    def _drop_unused(self) -> None:
        """Drop back-up moves that no masked row makes, except at the empty subset, to hold fewer subsets."""
        for z, (moves, theta) in list(self.backups.items()):
            n_primary = len(self.policy.choices[z].children)
            places = self._steps[z].place[self.arrivals[z]] - n_primary
            taken = np.unique(places[places >= 0]).tolist()
            if z and not taken:
                del self.backups[z]
            elif z:
                n_adaptive = theta.shape[1] if theta.size else 0
                columns = theta[:, [k for k in taken if k < n_adaptive]] if theta.size else theta
                self.backups[z] = Backup([moves[k] for k in taken], columns)

    def likely_children(self, z: Subset) -> list[int]:
        """The places of the children of a subset to which masked rows go, or some of all rows would go."""
        choice, going = self.policy.choices[z], self._steps[z].place[self.arrivals[z]]
        return [
            k
            for k in range(len(choice.children))
            if (going == k).any() or (choice.next_child == k).mean() > const.MIN_CHILD_SHARE
        ]

    def possible_saving(self, z: Subset) -> NDArray[np.float64]:
        """As that of ``SweepPolicy``, over the masked rows that answer at a subset."""
        node, masked, n = self.lattice.nodes[z], self.masked, len(self.lattice.data.y)
        legal, prices = self.lattice.moves.at(z)
        if node.answer_cost is None or not legal.any():
            return np.zeros(n)
        ends = self.arrivals[z] & (self._steps[z].place < 0)
        saving = np.maximum(node.answer_cost[masked.row] - prices[legal].min(), 0.0) * ends * masked.weight
        return np.bincount(masked.row, saving, minlength=n).astype(np.float64)

    def _roll_out(self, z: Subset, arrived: NDArray[np.bool_] | None) -> None:
        """Choose the back-up moves at a subset, and set the values of the masked rows there."""
        node, choice, masked = self.lattice.nodes[z], self.policy.choices[z], self.masked
        row, rows = masked.row, np.arange(len(masked.row))
        prior = self.lattice.nodes[()].answer_cost if node.answer_cost is None else node.answer_cost
        answer_cost = prior[row]  # type: ignore[index]
        wanted = preferred_child(choice)[row]
        places = np.array([j for j, _, _ in choice.children], dtype=np.int64)
        possible = np.zeros(len(row), bool)
        if len(places):
            possible = (wanted >= 0) & masked.available[rows, places[wanted]]
        value, place = answer_cost.copy(), np.where(possible, wanted, -1)
        for k, (_, q, price) in enumerate(choice.children):
            going = place == k
            value[going] = price + self.values[q][going]
        stuck = (wanted >= 0) & ~possible
        candidates = self.lattice.children(z) if (wanted >= 0).any() else []
        children = list(choice.children)
        if len(candidates) > 1:
            arrived_rows = np.ones(len(row), bool) if arrived is None else arrived
            if (stuck & arrived_rows).sum() >= const.MIN_BACKUP_ROWS:
                learned_on = np.flatnonzero(stuck)
                weight = masked.weight * np.where(arrived_rows, const.ARRIVED_WEIGHT, const.ABSENT_WEIGHT)
            else:
                learned_on, weight = np.flatnonzero(wanted >= 0), masked.weight
            available = masked.available[learned_on].copy()
            available[np.arange(len(learned_on)), places[wanted[learned_on]]] = False
            learner = _BackupChoice(self, node, candidates, learned_on, available, weight[learned_on], answer_cost)
            if learner.backup.moves:
                self.backups[z] = learner.backup
                chosen = np.full(len(row), -1)
                chosen[learned_on] = learner.next_move
                for k, (j, q, price) in enumerate(learner.children):
                    going = stuck & (chosen == k)
                    value[going] = price + self.values[q][going]
                    place[going] = len(children)
                    children.append((j, q, price))
        self.values[z], self._steps[z] = value, _Step(children, place)

    def _simulate(self) -> dict[Subset, NDArray[np.bool_]]:
        """The masked rows that arrive at each subset."""
        return arrivals_of(self.lattice.nodes, self._steps, len(self.masked.row))


def preferred_child(choice: Choice) -> NDArray[np.int64]:
    """The child to which each training row would go if all could be obtained, int64 (n_samples,), -1 to answer."""
    if not choice.children or choice.mode == STOP:
        return np.full(len(choice.next_child), -1)
    if choice.mode != ADAPTIVE:
        return np.zeros(len(choice.next_child), np.int64)
    best = choice.predicted.argmin(axis=1)  # type: ignore[union-attr]
    return np.where(choice.predicted[np.arange(len(best)), best] < 0, best, -1)  # type: ignore[index]


class _BackupChoice:
    """The choice among the back-up moves of one subset, and the move of each masked row that it is learned on.

    Attributes
    ----------
    backup : Backup
    children : list of (acquisition, subset, ``lam`` times price), those of the moves of ``backup``
    next_move : int64 (n_learned_on,), place in ``children``, -1 to answer
    """

    def __init__(self, of, node, candidates, learned_on, available, weight, answer_cost) -> None:
        self.children, self.next_move = [], np.full(len(learned_on), -1)
        self.backup = Backup([], np.zeros(0))
        answer = answer_cost[learned_on]
        possible = np.stack([available[:, j] for j, _, _ in candidates], axis=1)
        gain = np.stack([price + of.values[q.subset][learned_on] for _, q, price in candidates], axis=1)
        gain -= answer[:, None]
        total = weight @ possible
        mean = np.where(total > 0, (weight @ (gain * possible)) / np.maximum(total, const.TIE_TOLERANCE), np.inf)
        most = const.MAX_BACKUPS if node.subset else const.MAX_FIRST_BACKUPS
        order = np.argsort(mean, kind="stable")
        fixed = order[mean[order] < 0][:most]
        next_move = _first_possible(possible[:, fixed])
        if weight @ _taken(gain[:, fixed], next_move) >= 0:
            fixed, next_move = fixed[:0], np.full(len(learned_on), -1)
        moves, n_adaptive = fixed, 0
        theta = np.zeros(0)
        first = order[np.isfinite(mean[order])][: const.MAX_CHILDREN]
        n_effective = np.count_nonzero(weight > 2 * const.ABSENT_WEIGHT * weight.max(initial=0.0))
        if node.answer_cost is not None and len(first) and n_effective >= const.MIN_ADAPTIVE_BACKUP_ROWS:
            rest = np.array([k for k in fixed.tolist() if k not in set(first.tolist())], dtype=np.int64)
            all_rows, row = state_features(of.lattice, node), of.masked.row[learned_on]
            folds = rows_of_folds(of.lattice.data.fold[row], of.lattice.data.n_folds)
            features = all_rows._replace(design=all_rows.design[row], folds=folds)
            prices = np.array([candidates[k][2] for k in first])
            predicted = features.cross_predict(gain[:, first], weight, possible[:, first], prices)
            predicted = np.where(possible[:, first], predicted, np.inf)
            best = predicted.argmin(axis=1)
            after = _first_possible(possible[:, rest])
            adaptive = np.where(predicted[np.arange(len(best)), best] < 0, best, -1)
            none_possible = ~possible[:, first].any(axis=1)
            adaptive = np.where(none_possible, np.where(after >= 0, after + len(first), -1), adaptive)
            both = np.concatenate([first, rest])
            saved = _taken(gain[:, both], adaptive) - _taken(gain[:, fixed], next_move)
            loss = weight @ saved + of.policy.kappa * weighted_standard_error(saved, weight)
            if loss < -const.TIE_TOLERANCE * of.lattice.unit:
                moves, n_adaptive, next_move = both, len(first), adaptive
                theta = features.fit(gain[:, first], weight, possible[:, first])
        self.children = [(candidates[k][0], candidates[k][1].subset, candidates[k][2]) for k in moves]
        self.backup = Backup([(j, q) for j, q, _ in self.children], theta if n_adaptive else np.zeros(0))
        self.next_move = next_move


def _first_possible(possible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The place of the first True in each row, int64, -1 without one."""
    if not possible.shape[1]:
        return np.full(len(possible), -1)
    return np.where(possible.any(axis=1), possible.argmax(axis=1), -1)


def _taken(gain: NDArray[np.float64], place: NDArray[np.int64]) -> NDArray[np.float64]:
    """The entry of each row at ``place``, 0 where that is -1."""
    if not gain.shape[1]:
        return np.zeros(len(gain))
    return np.where(place >= 0, gain[np.arange(len(gain)), place], 0.0)


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
        _add_chain(lattice, z, policy.arrivals[z] + const.REGRESSION_BASE_WEIGHT, _share(lattice, limit), without=j)
    policy.choose_at_new_subsets()
    _add_children_of_masked(BackupPolicy(policy, unknown), _share(lattice, start + extra))
    policy.choose_at_new_subsets()
    _add_locked(lattice, part)
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
    legal, prices = lattice.moves.at(())
    order = rank_at_start(lattice, prices, legal)
    lattice.add_acquisitions((), order[: const.N_FIRST_WITHOUT], share)


def _add_locked(lattice: Lattice, part: float) -> None:
    """Add acquisitions without their prerequisites, and chains from there on, for rows that know their values.

    No row of the policy itself makes them; a case may bring the result of a test without that of the one before it.
    The limits grow by this ``part`` of what they are.
    """
    legal, prices = lattice.moves.at(())
    order = rank_at_start(lattice, prices, lattice.moves.allowed & ~legal)
    locked = [j for j in order if j not in lattice.base][: const.N_LOCKED]
    extra, start = part * lattice.limits.n_operations, lattice.spent_operations
    lattice.limits = lattice.limits._replace(
        n_subsets=lattice.limits.n_subsets + int(np.ceil(part * lattice.limits.n_subsets))
    )
    lattice.add_subsets([(j,) for j in locked], _share(lattice, start + extra))
    everywhere = np.ones(len(lattice.data.y))
    for k, j in enumerate(locked):
        share = _share(lattice, start + (k + 1) / len(locked) * extra)
        if (j,) in lattice.nodes:
            _add_chain(lattice, (j,), everywhere, share)


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


def _add_chain(
    lattice: Lattice, z: Subset, arrived: NDArray[np.floating], share: float, without: int | None = None
) -> None:
    """Add a forward selection from subset z on, for rows of these weights, that leaves an acquisition out."""
    data = lattice.data
    if lattice.nodes[z].cross_fit is None:
        return
    best, n_failed = data.mean(lattice.nodes[z].answer_cost), 0  # type: ignore[arg-type]
    paid = lattice.weighted_price(z)
    while n_failed < const.WITHOUT_PATIENCE:
        node = lattice.nodes[z]
        weight = data.weighted(lattice.chain_weight(node) * arrived)
        paths = {k: lattice.moves.path(z, k) for k in rank_next(lattice, node, weight)}
        order = [k for k, path in paths.items() if path is not None and without not in path[0]]
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
    """What is expected of a row that starts at a subset, whose acquisitions cost it nothing."""

    # mean loss of the training rows. A subset other than the empty one has standard errors of its difference to that
    # one added, since the lowest of many estimates is taken.
    value: float
    # list of (acquisition, float), how much lower the mean is if that acquisition costs nothing either
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
    """A subset with the policy that decides there and its moves."""

    policy: SweepPolicy
    subset: Subset  # without the base of the policy's lattice
    children: list[int]  # places in ``Choice.children`` of the moves that are held
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
        lattice = policy.lattice
        answer_cost = lattice.data.mean(node.answer_cost) + lattice.unavoidable  # type: ignore[arg-type]
        value = start.value + lattice.unavoidable
        parts.append(SubsetContinuation(moves, backup.theta, value, answer_cost, start.savings))
    bases = sorted({policy.lattice.base for policy, _, _, _ in held.values()}, key=len)
    return make_continuation(parts, _usefulness(held[bases[-1]].policy), list(bases[-1]), place[bases[-1]])


def _usefulness(policy: SweepPolicy) -> NDArray[np.int64]:
    """All acquisitions, those of most rows first and the others by their score statistic and price."""
    lattice, rules = policy.lattice, policy.lattice.rules
    ranked = rank_at_start(lattice, rules.costs, np.ones(rules.n_acquisitions, bool))
    used = [j for j, _ in most_used_acquisitions(policy)]
    return np.array(list(dict.fromkeys([*lattice.base, *used, *ranked])), dtype=np.int64)
