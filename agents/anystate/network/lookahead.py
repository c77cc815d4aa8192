"""The ranking network: what each acquisition is worth, learnt by fitted iteration on states of training rows.

The network has an output f_j for each candidate j and one more, f. With e the expected error of answering and
pi_j the prices, A_j = pi_j - e f_j is the advantage of acquiring j over answering (smaller is better), of which only
differences between acquisitions of one state are learnt, and U = pi_j* - e clip(f, 0, 1) that of the best one, j*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import EmbeddedRows, random_masks
from agents.anystate.network.mlp import MLP, AdamW
from agents.anystate.network.predictors import FittedPredictors, VisitedStates, steps_of
from agents.anystate.network.task import CandidateTask

# The sums of a network's first layer, updated by the values of one acquisition only.


def add_acquisitions(
    sums: NDArray[np.float32],
    weights: NDArray[np.float32],
    which: NDArray[np.int64],
    rows: EmbeddedRows,
    row: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    """Add to ``sums`` what one more acquisition in each of n states changes.

    Parameters
    ----------
    sums : float32 (n, n_units), of the first layer in each state before the acquisition; changed
    weights : float32 (n_networks, n_inputs, n_units), of the first layers
    which : int64 (n,), the network of each state
    rows : EmbeddedRows
    row : int64 (n,)
    chosen : int64 (n,), a candidate, or -1 for none
    """
    _add_acquisitions(sums, weights, which, row, chosen, (rows.blocks, rows.present, *rows.revealed))


@njit(cache=True, nogil=True, _nrt=False)
def _add_acquisitions(sums, weights, which, row, chosen, data):
    blocks, present, begin, features = data
    n_blocks, m, n_units = blocks.shape[1], blocks.shape[2], sums.shape[1]
    for s in range(len(row)):
        r, w, candidate = row[s], which[s], chosen[s]
        if candidate < 0:
            continue
        for at in range(begin[candidate], begin[candidate + 1]):
            i = features[at]
            if not present[r, i]:
                continue
            for k in range(n_blocks + 1):
                value, place = blocks[r, k, i] if k < n_blocks else np.float32(1), k * m + i
                for u in range(n_units):  # plain, so that it is compiled to vector instructions
                    sums[s, u] += value * weights[w, place, u]


class Situation(NamedTuple):
    """n states of training rows and what is known about them: b candidates, errors in units of the task."""

    rows: NDArray[np.int64]  # (n,)
    taken: NDArray[np.bool_]  # (n, b)
    # (n, n_units), of the first layers: that of the predictor, and that of the ranking with averaged parameters, for
    # the inputs that both have
    predictor_sums: NDArray[np.float32]
    ranking_sums: NDArray[np.float32]
    probabilities: NDArray[np.float32]  # (n, n_classes), out of fold
    error: NDArray[np.float32]  # (n,), expected error of answering
    legal: NDArray[np.bool_]  # (n, b)
    prices: NDArray[np.float32]  # (n, b)

    def of(self, some: NDArray[np.int64]) -> Situation:
        """Some of the states."""
        return Situation(*(array[some] for array in self))  # type: ignore[arg-type]


class Outlook(NamedTuple):
    """What the ranking network says about n states."""

    advantages: NDArray[np.float32]  # (n, b), A_j; inf where not legal
    best: NDArray[np.int64]  # (n,), the legal candidate of the smallest A_j
    value: NDArray[np.float32]  # (n,), U; inf where nothing is legal


def outlook(
    scores: NDArray[np.float32], error: NDArray[np.float32], legal: NDArray[np.bool_], prices: NDArray[np.float32]
) -> Outlook:
    """Advantages from the outputs of a ranking network, float32 (n, b + 1)."""
    advantages = np.where(legal, prices - error[:, None] * scores[:, :-1], np.float32(np.inf))
    best = advantages.argmin(axis=1)
    gain = error * np.clip(scores[:, -1], 0, 1)
    value = np.where(legal.any(axis=1), prices[np.arange(len(best)), best] - gain, np.float32(np.inf))
    return Outlook(advantages, best, value)


def acquisitions_to_try(
    keys: Sequence[NDArray[np.float32]], legal: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A different legal candidate for each of several keys, the one where the key, float32 (n, b), is smallest.

    Returns
    -------
    tried : int64 (n, n_keys)
    counted : bool (n, n_keys), False where no further candidate is legal
    """
    n = np.arange(len(legal))
    left, columns, counted = legal.copy(), [], []
    for key in keys:
        counted.append(left.any(axis=1))
        columns.append(np.where(left, key, np.float32(np.inf)).argmin(axis=1))
        left[n, columns[-1]] = False
    return np.column_stack(columns), np.column_stack(counted)


def noisy(advantages: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Advantages with noise, whose best candidates look good."""
    noise = rng.standard_normal(advantages.shape, dtype=np.float32)
    return (advantages + const.EXPLORATION_SD * noise).astype(np.float32)


def entropy_change(here: Situation, after: Situation, n_tried: int) -> NDArray[np.float32]:
    """The weighted change of the entropy by each acquisition tried, float32 (n, n_tried)."""
    return const.ENTROPY_WEIGHT * (_entropy(after).reshape(-1, n_tried) - _entropy(here)[:, None])


def _entropy(of: Situation) -> NDArray[np.float32]:
    """The entropy, float32 (n,), as a share of its largest value, times the largest expected error of 0/1 costs."""
    p, k = of.probabilities, of.probabilities.shape[1]
    scale = np.float32((1 - 1 / k) / np.log(k)) if k > 1 else np.float32(0)
    return -scale * (p * np.log(np.maximum(p, np.float32(1e-12)))).sum(axis=1)


class RankingLearner:
    """Learns a ranking network from states of the training rows, whose class probabilities are out of fold.

    Attributes
    ----------
    averaged : MLP, the network with averaged parameters, which sets the targets and is the result
    predictors : FittedPredictors
    visited : list of VisitedStates, of the episodes, the newest last
    """

    def __init__(self, predictors: FittedPredictors, task: CandidateTask, rng: np.random.Generator) -> None:
        self.predictors, self.task, self.rng = predictors, task, rng
        rows, n_candidates = predictors.rows, len(task.candidates)
        sizes = (rows.n_inputs + task.rules.n_classes + 1, *const.HIDDEN_UNITS, n_candidates + 1)
        self.network = MLP.random(sizes, rng, const.LAST_LAYER_SCALE)
        self.averaged, self.optimizer = self.network.copy(), AdamW(self.network)
        self._episodes = VisitedStates(
            self._draw(const.N_CHAIN_STATES), np.zeros((const.N_CHAIN_STATES, n_candidates), bool)
        )
        self.visited: list[VisitedStates] = []

    def situation(self, rows: NDArray[np.int64], taken: NDArray[np.bool_]) -> Situation:
        """n states of training rows, ``taken`` bool (n, b)."""
        inputs, averaged = self.predictors.rows.inputs(rows, taken), self.averaged
        sums = inputs @ averaged.first_weights[: inputs.shape[1]]
        sums += averaged.first_biases
        return self._situation_of(rows, taken, self.predictors.first_sums(rows, inputs), sums)

    def situation_after(self, here: Situation, of: NDArray[np.int64], chosen: NDArray[np.int64]) -> Situation:
        """The states after an acquisition ``chosen``, int64 (n,), in each of the states ``of`` in ``here``.

        An acquisition that was made before changes nothing.
        """
        data, taken = self.predictors.rows, here.taken[of]
        rows, n = here.rows[of], np.arange(len(of))
        fresh = np.where(taken[n, chosen], -1, chosen)
        taken[n, chosen] = True
        predictor_sums, ranking_sums = here.predictor_sums[of], here.ranking_sums[of]
        add_acquisitions(predictor_sums, self.predictors.first_weights, data.fold[rows], data, rows, fresh)
        add_acquisitions(
            ranking_sums, self.averaged.first_weights[None], np.zeros(len(of), np.int64), data, rows, fresh
        )
        return self._situation_of(rows, taken, predictor_sums, ranking_sums)

    def _situation_of(
        self,
        rows: NDArray[np.int64],
        taken: NDArray[np.bool_],
        predictor_sums: NDArray[np.float32],
        ranking_sums: NDArray[np.float32],
    ) -> Situation:
        probabilities = self.predictors.probabilities(rows, predictor_sums)
        error = self.task.errors(probabilities)
        legal, prices = self.task.legal_and_prices(taken, self.predictors.rows.available[rows])
        return Situation(rows, taken, predictor_sums, ranking_sums, probabilities, error, legal, prices)

    def inputs(self, here: Situation) -> NDArray[np.float32]:
        """The inputs of the ranking network, float32 (n, n_inputs)."""
        inputs = self.predictors.rows.inputs(here.rows, here.taken)
        return np.hstack([inputs, here.probabilities, here.error[:, None]])

    def averaged_outlook(self, here: Situation) -> Outlook:
        """What the network with averaged parameters says; ``here`` must have been made with these parameters."""
        weights = self.averaged.first_weights[self.predictors.rows.n_inputs :]
        sums = here.probabilities @ weights[:-1]
        sums += here.error[:, None] * weights[-1]
        sums += here.ranking_sums
        return outlook(self.averaged.outputs_from(sums), here.error, here.legal, here.prices)

    def step(self, rate: float, discount: float) -> None:
        """One step of Adam on states of episodes and on random ones; the episodes go on."""
        n = const.N_CHAIN_STATES
        fresh = self.task.reachable(random_masks(n, len(self.task.candidates), self.rng), self.rng)
        here = self.situation(
            np.concatenate([self._episodes.rows, self._draw(n)]), np.concatenate([self._episodes.taken, fresh])
        )
        layers = self.network.forward(self.inputs(here))
        now = outlook(layers[-1], here.error, here.legal, here.prices)
        keys = (
            now.advantages,
            noisy(now.advantages, self.rng),
            *self.rng.random((2, *here.legal.shape), dtype=np.float32),
        )
        tried, counted = acquisitions_to_try(keys, here.legal)
        returns, undiscounted = self._returns(here, tried, discount)
        slope = self.slope(here, layers[-1], (tried, counted), returns, undiscounted[:, 0])
        self.optimizer.step(self.network.gradient(layers, slope), rate)
        self.average(max(const.AVERAGING_RATE, 1 / self.optimizer.n_steps))
        self.visited.append(self._episodes)
        self._continue_episodes(now, tried, counted)

    def average(self, share: float) -> None:
        """Move the averaged parameters this share of the way to the present ones."""
        self.averaged.parameters += np.float32(share) * (self.network.parameters - self.averaged.parameters)

    def _draw(self, n: int) -> NDArray[np.int64]:
        return self.rng.integers(len(self.predictors.rows.fold), size=n)

    def _returns(
        self, here: Situation, tried: NDArray[np.int64], discount: float
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """r_j = pi_j + e(S') + discount * min(0, U(S')) - e(S) of the acquisitions tried, and t_j, without discount.

        r_j includes the change of the entropy, which orders acquisitions that change the expected error by as much.
        """
        n, n_tried = tried.shape
        after = self.situation_after(here, np.repeat(np.arange(n), n_tried), tried.ravel())
        later = self.averaged_outlook(after)
        prices = here.prices[np.arange(n)[:, None], tried]
        at_once = prices + after.error.reshape(n, n_tried) - here.error[:, None]
        going_on = np.minimum(later.value, 0).reshape(n, n_tried)
        entropy = entropy_change(here, after, n_tried)
        return at_once + np.float32(discount) * going_on + entropy, at_once + going_on

    def slope(
        self,
        here: Situation,
        scores: NDArray[np.float32],
        tries: tuple[NDArray[np.int64], NDArray[np.bool_]],
        returns: NDArray[np.float32],
        best_return: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """The derivative of the loss with respect to the outputs: squared contrasts within a state, and of U."""
        tried, counted = tries
        n = np.arange(len(tried))
        advantages = here.prices[n[:, None], tried] - here.error[:, None] * scores[n[:, None], tried]
        contrast = np.where(counted, advantages - returns, np.float32(0))
        contrast -= contrast.sum(axis=1, keepdims=True) / np.maximum(counted.sum(axis=1, keepdims=True), 1)
        slope = np.zeros_like(scores)
        factor = (2 / len(n) * self.predictors.rows.weight[here.rows] * here.error)[:, None].astype(np.float32)
        for k in range(tried.shape[1]):
            slope[n, tried[:, k]] -= np.where(counted[:, k], factor[:, 0] * contrast[:, k], np.float32(0))
        value = here.prices[n, tried[:, 0]] - here.error * scores[:, -1]
        slope[:, -1] = -factor[:, 0] * np.where(counted[:, 0], value - best_return, np.float32(0))
        return slope

    def _continue_episodes(self, now: Outlook, tried: NDArray[np.int64], counted: NDArray[np.bool_]) -> None:
        n = np.arange(const.N_CHAIN_STATES)
        other = (self.rng.random(len(n)) * counted[n].sum(axis=1)).astype(np.int64)
        pick = np.where(self.rng.random(len(n)) < const.SHARE_GREEDY, 0, other)
        rows, taken = self._episodes.rows.copy(), self._episodes.taken.copy()
        taken[n, tried[n, pick]] = True
        restart = (now.value[n] >= 0) & (self.rng.random(len(n)) < const.SHARE_RESTARTS)
        restart |= ~counted[n, 0]
        rows[restart], taken[restart] = self._draw(int(restart.sum())), False
        self._episodes = VisitedStates(rows, taken)


def ranking_rate(step: int, n_steps: int) -> float:
    """The learning rate of a step: it rises linearly in the first steps, and falls linearly."""
    rise = min(1.0, (step + 1) / const.RANKING_WARM_UP_STEPS)
    fall = 1 - (1 - const.LAST_RATE_SHARE) * step / max(n_steps - 1, 1)
    return const.RANKING_RATE * rise * fall


def train_ranking(predictors: FittedPredictors, task: CandidateTask, seed: Sequence[int]) -> RankingLearner:
    """A learner after all steps; its predictors are fine-tuned on the states of its episodes after half of them."""
    learner = RankingLearner(predictors, task, np.random.default_rng(seed))
    n_steps = steps_of(const.SHARE_RANKING, predictors.n_steps)
    half = (n_steps + 1) // 2
    for step in range(n_steps):
        learner.step(ranking_rate(step, n_steps), const.DISCOUNTS[step >= half])
        if step == half - 1:
            visited = join_states(learner.visited[-const.N_RECENT_STEPS :])
            learner.predictors = predictors.fine_tuned(visited, np.random.default_rng([*seed, 1]))
    return learner


def join_states(parts: Sequence[VisitedStates]) -> VisitedStates:
    return VisitedStates(np.concatenate([p.rows for p in parts]), np.concatenate([p.taken for p in parts]))


# Refine a ranking network on exact returns: several acquisitions of a state are tried, each followed to its end.
#
# The values that fitted iteration learns are too good, since the best of several noisy ones is chosen at each step.
# Returns of whole episodes are not. First only the value of going on is fitted to them, with which episodes stop, then
# the differences between acquisitions as well (policy iteration; Longstaff and Schwartz, 2001, for the stop).


class TriedStates(NamedTuple):
    """n states with the returns of several acquisitions."""

    here: Situation
    tried: NDArray[np.int64]  # (n, n_tried), the acquisition that the ranking prefers first
    counted: NDArray[np.bool_]  # (n, n_tried), False where there was no further legal acquisition
    # (n, n_tried), prices and expected error at the end, less the expected error of answering now; except in the empty
    # state, what comes after the first acquisition is discounted
    returns: NDArray[np.float32]
    best_return: NDArray[np.float32]  # (n,), that of the first acquisition tried, without discount


def _join_tried(parts: Sequence[TriedStates]) -> TriedStates:
    return TriedStates(
        Situation(*(np.concatenate(arrays) for arrays in zip(*(part.here for part in parts)))),
        np.concatenate([part.tried for part in parts]),
        np.concatenate([part.counted for part in parts]),
        np.concatenate([part.returns for part in parts]),
        np.concatenate([part.best_return for part in parts]),
    )


def refine_ranking(learner: RankingLearner, rng: np.random.Generator) -> float:
    """Rounds of trying acquisitions under the present policy, and of training on the returns of recent rounds.

    The parameters after the round with the smallest out-of-fold loss stay, and this loss is returned.
    """
    recent: list[TriedStates] = []
    n_rows = len(learner.predictors.rows.fold)
    rows = rng.permutation(n_rows)[: const.MAX_EVALUATION_ROWS]
    best, smallest = learner.averaged.parameters.copy(), np.inf
    for k in range(const.N_VALUE_ROUNDS + const.N_CONTRAST_ROUNDS):
        tried = _try_acquisitions(learner, _collect_states(learner, rng), rng)
        recent = [*recent, tried][-const.N_RECENT_ROUNDS :]
        states = _join_tried(recent)
        if not len(states.tried):
            break
        _train_on_returns(learner, states, rng, contrasts=k >= const.N_VALUE_ROUNDS)
        if k >= const.N_VALUE_ROUNDS - 1:
            loss = _out_of_fold_loss(learner, rows)
            if loss < smallest:
                best, smallest = learner.averaged.parameters.copy(), loss
    learner.averaged.parameters[:] = best
    return smallest


def _round_steps(learner: RankingLearner) -> int:
    return steps_of(const.SHARE_ROLLOUTS, learner.predictors.n_steps)


def _out_of_fold_loss(learner: RankingLearner, rows: NDArray[np.int64]) -> float:
    """The mean loss of episodes of some rows: prices, and the mean of expected and realised error."""
    data = learner.predictors.rows
    now, live = learner.situation(rows, np.zeros((len(rows), len(learner.task.candidates)), bool)), np.arange(len(rows))
    loss = np.zeros(len(rows))
    for length in range(const.MAX_LENGTH + 1):
        ahead = learner.averaged_outlook(now)
        on = (ahead.value < 0) & (now.error > learner.task.smallest_price) & (length < const.MAX_LENGTH)
        realised = learner.task.realised_errors(now.probabilities[~on], data.dataset.y[rows[live[~on]]])
        loss[live[~on]] += (now.error[~on] + realised) / 2
        chosen, live = ahead.best[on], live[on]
        if not len(live):
            break
        loss[live] += now.prices[on, chosen]
        now = learner.situation_after(now, np.flatnonzero(on), chosen)
    return float(np.average(loss, weights=data.weight[rows]))


def _collect_states(learner: RankingLearner, rng: np.random.Generator) -> VisitedStates:
    """States of episodes that follow the ranking most of the time, and sometimes go on where it would stop."""
    parts, n_found, n_wanted = [], 0, const.TRIED_STATES_PER_STEP * _round_steps(learner)
    for _ in range(const.MAX_PASSES):
        rows = rng.integers(len(learner.predictors.rows.fold), size=const.N_EPISODES)
        here = learner.situation(rows, np.zeros((len(rows), len(learner.task.candidates)), bool))
        for length in range(const.MAX_LENGTH):
            now = learner.averaged_outlook(here)
            useful = here.legal.any(axis=1) & (here.error > learner.task.smallest_price)
            drawn = useful & (rng.random(len(here.rows)) < (const.SHARE_EMPTY_STATES if length == 0 else 1))
            parts.append(VisitedStates(here.rows, here.taken).of(drawn))
            n_found += int(drawn.sum())
            leaves = (now.value >= 0) & (rng.random(len(here.rows)) < const.SHARE_STOPS)
            chosen = _exploring_moves(now, here.legal, rng)
            on = np.flatnonzero(useful & ~leaves)
            if not len(on):
                break
            here = learner.situation_after(here, on, chosen[on])
        if n_found >= n_wanted:
            break
    states = join_states(parts)
    return states.of(rng.permutation(len(states.rows))[:n_wanted])


def _exploring_moves(now: Outlook, legal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """The best acquisition of each state, or sometimes one that looks good or any, int64 (n,)."""
    good = noisy(now.advantages, rng).argmin(axis=1)
    other = np.where(legal, rng.random(legal.shape, dtype=np.float32), np.float32(np.inf)).argmin(axis=1)
    other = np.where(rng.random(len(good)) < const.SHARE_GOOD, good, other)
    return np.where(rng.random(len(good)) < const.SHARE_BEST, now.best, other)


def _try_acquisitions(learner: RankingLearner, states: VisitedStates, rng: np.random.Generator) -> TriedStates:
    """The best acquisitions of each state and a random one, each followed to the end of the episode.

    In the empty state, where all episodes begin, all but the best one are random and nothing is discounted, so that
    the ranking begins with a feature that only shows what to acquire next where that is best.

    States are left out when the rollouts have evaluated ``MAX_EVALUATIONS_PER_TRIED_STATE`` times as many.
    """
    parts, n_evaluated = [], 0
    for first in range(0, max(len(states.rows), 1), const.BLOCK_STATES):
        here = learner.situation(*states.of(slice(first, first + const.BLOCK_STATES)))
        advantages = learner.averaged_outlook(here).advantages
        anything = rng.random((3, *advantages.shape), dtype=np.float32)
        empty = ~here.taken.any(axis=1, keepdims=True)
        second = np.where(empty, anything[0], advantages)
        third = np.where(empty, anything[1], noisy(advantages, rng))
        tried, counted = acquisitions_to_try((advantages, second, third, anything[2]), here.legal)
        after = learner.situation_after(here, np.repeat(np.arange(len(tried)), tried.shape[1]), tried.ravel())
        at_once, later, n_states = follow_rollouts(learner, here, tried, after)
        returns = at_once + np.where(empty, 1, const.ROLLOUT_DISCOUNT) * later
        returns = (returns + entropy_change(here, after, tried.shape[1])).astype(np.float32)
        parts.append(TriedStates(here, tried, counted, returns, at_once[:, 0] + later[:, 0]))
        n_evaluated += n_states
        if n_evaluated > const.MAX_EVALUATIONS_PER_TRIED_STATE * len(states.rows):
            break
    return _join_tried(parts)


def follow_rollouts(
    learner: RankingLearner, here: Situation, tried: NDArray[np.int64], after: Situation
) -> tuple[NDArray[np.float32], NDArray[np.float32], int]:
    """What each acquisition changes at once, and what the rest of its episode adds, float32 (n, n_tried).

    Both include prices and the change of the expected error. Also returns the number of states evaluated. ``after``
    has the states after each acquisition.
    """
    n, n_tried = tried.shape
    now = after
    later, live, n_states = np.zeros(n * n_tried, np.float32), np.arange(n * n_tried), 0
    after_first = now.error
    for length in range(const.MAX_LENGTH):
        ahead = learner.averaged_outlook(now)
        n_states += len(live)
        on = (ahead.value < 0) & (now.error > learner.task.smallest_price) & (length + 1 < const.MAX_LENGTH)
        later[live[~on]] += now.error[~on] - after_first[live[~on]]
        chosen, live = ahead.best[on], live[on]
        if not len(live):
            break
        later[live] += now.prices[on, chosen]
        now = learner.situation_after(now, np.flatnonzero(on), chosen)
    prices = here.prices[np.arange(n)[:, None], tried]
    at_once = prices + after_first.reshape(n, n_tried) - here.error[:, None]
    return at_once, later.reshape(n, n_tried), n_states


def _train_on_returns(
    learner: RankingLearner, states: TriedStates, rng: np.random.Generator, *, contrasts: bool
) -> None:
    """Steps of Adam from the averaged parameters; without ``contrasts`` only those of the last output change."""
    learner.network.parameters[:] = learner.averaged.parameters
    optimizer, n_steps = AdamW(learner.network), _round_steps(learner)
    for step in range(n_steps):
        some = rng.integers(len(states.tried), size=learner.predictors.rows.batch_rows)
        here = states.here.of(some)
        layers = learner.network.forward(learner.inputs(here))
        tries, best_return = (states.tried[some], states.counted[some]), states.best_return[some]
        slope = learner.slope(here, layers[-1], tries, states.returns[some], best_return)
        rate = const.ROLLOUT_RATE * (1 - (1 - const.LAST_ROLLOUT_RATE_SHARE) * step / n_steps)
        gradient = learner.network.gradient(layers, slope)
        optimizer.step(gradient if contrasts else learner.network.of_last_output(gradient), rate)
        learner.average(max(const.ROLLOUT_AVERAGING_RATE, 1 / (step + 1)))
