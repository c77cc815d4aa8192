"""Back-up moves: what a policy does where it cannot obtain the acquisition that it prefers.

The choices of the last sweep stay as they are. Training rows are masked at random, and one backward pass over the
lattice rolls them out: a masked row whose preferred acquisition cannot be obtained makes a back-up move instead. The
back-up moves of each subset are chosen on the masked rows that need them, with the returns of these rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.nodes import Subset
from agents.lattice.state_features import StateFeatures, state_features
from agents.lattice.sweep import ADAPTIVE, STOP, Choice, SweepPolicy, weighted_standard_error


class Backup(NamedTuple):
    """The back-up moves of a subset.

    Attributes
    ----------
    moves : list of (acquisition, subset)
        The first ``n_adaptive`` of them are chosen by ``theta``, if any of these can be obtained: the one of lowest
        predicted advantage if that is below 0, otherwise the row answers. If none of them can be obtained, the first
        of the others that can be obtained is made.
    theta : float64 (n_columns, n_adaptive), coefficients of the advantages
    """

    moves: list[tuple[int, Subset]]
    theta: NDArray[np.float64]


class MaskedRows(NamedTuple):
    """Training rows, each with some acquisitions that cannot be obtained.

    Attributes
    ----------
    row : int64 (n_masked,), the training row
    obtainable : bool (n_masked, J)
    weight : float64 (n_masked,)
    """

    row: NDArray[np.int64]
    obtainable: NDArray[np.bool_]
    weight: NDArray[np.float64]


def mask_rows(policy: SweepPolicy, unknown: float) -> MaskedRows:
    """Mask each acquisition with probability ``unknown``, and of most rows one acquisition of their own path."""
    lattice = policy.lattice
    n, rng = len(lattice.data.y), np.random.default_rng([lattice.data.seed, 1])
    if n > const.MAX_MASKED_ROWS:
        row = np.sort(rng.choice(n, const.MAX_MASKED_ROWS, replace=False))
    else:
        row = np.tile(np.arange(n), min(-(-const.N_MASKED_ROWS // n), const.MAX_MASK_COPIES))
    used = np.array(sorted({j for z in lattice.nodes for j in z}), dtype=np.int64)
    obtainable = lattice.obtainable[row]
    if not len(used):
        return MaskedRows(row, obtainable, lattice.data.weighted(np.ones(n))[row])
    obtainable[:, used] &= rng.random((len(row), len(used))) >= unknown
    score = rng.random((len(row), len(used))) * _on_path(policy)[np.ix_(row, used)]
    chosen, masked = used[score.argmax(axis=1)], rng.random(len(row)) < const.PATH_MASK_SHARE
    masked &= score.max(axis=1) > 0
    obtainable[masked, chosen[masked]] = False
    return MaskedRows(row, obtainable, lattice.data.weighted(np.ones(n))[row])


def _on_path(policy: SweepPolicy) -> NDArray[np.bool_]:
    """The acquisitions that each training row makes, bool (n_samples, J)."""
    on_path = np.zeros(policy.lattice.obtainable.shape, bool)
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
            possible = (wanted >= 0) & masked.obtainable[rows, places[wanted]]
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
            obtainable = masked.obtainable[learned_on].copy()
            obtainable[np.arange(len(learned_on)), places[wanted[learned_on]]] = False
            learner = _BackupChoice(self, node, candidates, learned_on, obtainable, weight[learned_on], answer_cost)
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
        arrivals = {z: np.zeros(len(self.masked.row), bool) for z in self.lattice.nodes}
        arrivals[()][:] = True
        for z in sorted(self.lattice.nodes, key=len):
            children, place = self._steps[z]
            for k, (_, q, _) in enumerate(children):
                arrivals[q] |= arrivals[z] & (place == k)
        return arrivals


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

    def __init__(self, of, node, candidates, learned_on, obtainable, weight, answer_cost) -> None:
        self.children, self.next_move = [], np.full(len(learned_on), -1)
        self.backup = Backup([], np.zeros(0))
        answer = answer_cost[learned_on]
        possible = np.stack([obtainable[:, j] for j, _, _ in candidates], axis=1)
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
            features = StateFeatures(all_rows.design[row], all_rows.penalty, all_rows.fold[row])
            predicted = features.cross_predict(gain[:, first], weight, possible[:, first])
            predicted = np.where(possible[:, first], predicted, np.inf)
            best = predicted.argmin(axis=1)
            after = _first_possible(possible[:, rest])
            adaptive = np.where(predicted[np.arange(len(best)), best] < 0, best, -1)
            none_possible = ~possible[:, first].any(axis=1)
            adaptive = np.where(none_possible, np.where(after >= 0, after + len(first), -1), adaptive)
            both = np.concatenate([first, rest])
            saved = _taken(gain[:, both], adaptive) - _taken(gain[:, fixed], next_move)
            if weight @ saved + of.policy.kappa * weighted_standard_error(saved, weight) < -const.TIE_TOLERANCE:
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
