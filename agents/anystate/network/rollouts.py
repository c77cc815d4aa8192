"""Refine a ranking network on exact returns: several acquisitions of a state are tried, each followed to its end.

The values that fitted iteration learns are too good, since the best of several noisy ones is chosen at each step.
Returns of whole episodes are not. First only the value of going on is fitted to them, with which episodes stop, then
the differences between acquisitions as well (policy iteration; Longstaff and Schwartz, 2001, for the stop).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network import lookahead
from agents.anystate.network.mlp import AdamW
from agents.anystate.network.predictors import VisitedStates, steps_of


class TriedStates(NamedTuple):
    """n states with the returns of several acquisitions."""

    here: lookahead.Situation
    tried: NDArray[np.int64]  # (n, n_tried), the acquisition that the ranking prefers first
    counted: NDArray[np.bool_]  # (n, n_tried), False where there was no further legal acquisition
    # (n, n_tried), prices and expected error at the end, less the expected error of answering now; except in the empty
    # state, what comes after the first acquisition is discounted
    returns: NDArray[np.float32]
    best_return: NDArray[np.float32]  # (n,), that of the first acquisition tried, without discount


def _join_tried(parts: Sequence[TriedStates]) -> TriedStates:
    return TriedStates(
        lookahead.Situation(*(np.concatenate(arrays) for arrays in zip(*(part.here for part in parts)))),
        np.concatenate([part.tried for part in parts]),
        np.concatenate([part.counted for part in parts]),
        np.concatenate([part.returns for part in parts]),
        np.concatenate([part.best_return for part in parts]),
    )


def refine_ranking(learner: lookahead.RankingLearner, rng: np.random.Generator) -> float:
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


def _round_steps(learner: lookahead.RankingLearner) -> int:
    return steps_of(const.SHARE_ROLLOUTS, learner.predictors.n_steps)


def _out_of_fold_loss(learner: lookahead.RankingLearner, rows: NDArray[np.int64]) -> float:
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


def _collect_states(learner: lookahead.RankingLearner, rng: np.random.Generator) -> VisitedStates:
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
    states = lookahead.join_states(parts)
    return states.of(rng.permutation(len(states.rows))[:n_wanted])


def _exploring_moves(now: lookahead.Outlook, legal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """The best acquisition of each state, or sometimes one that looks good or any, int64 (n,)."""
    good = lookahead.noisy(now.advantages, rng).argmin(axis=1)
    other = np.where(legal, rng.random(legal.shape, dtype=np.float32), np.float32(np.inf)).argmin(axis=1)
    other = np.where(rng.random(len(good)) < const.SHARE_GOOD, good, other)
    return np.where(rng.random(len(good)) < const.SHARE_BEST, now.best, other)


def _try_acquisitions(
    learner: lookahead.RankingLearner, states: VisitedStates, rng: np.random.Generator
) -> TriedStates:
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
        third = np.where(empty, anything[1], lookahead.noisy(advantages, rng))
        tried, counted = lookahead.acquisitions_to_try((advantages, second, third, anything[2]), here.legal)
        after = learner.situation_after(here, np.repeat(np.arange(len(tried)), tried.shape[1]), tried.ravel())
        at_once, later, n_states = follow_rollouts(learner, here, tried, after)
        returns = at_once + np.where(empty, 1, const.ROLLOUT_DISCOUNT) * later
        returns = (returns + lookahead.entropy_change(here, after, tried.shape[1])).astype(np.float32)
        parts.append(TriedStates(here, tried, counted, returns, at_once[:, 0] + later[:, 0]))
        n_evaluated += n_states
        if n_evaluated > const.MAX_EVALUATIONS_PER_TRIED_STATE * len(states.rows):
            break
    return _join_tried(parts)


def follow_rollouts(
    learner: lookahead.RankingLearner, here: lookahead.Situation, tried: NDArray[np.int64], after: lookahead.Situation
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
    learner: lookahead.RankingLearner, states: TriedStates, rng: np.random.Generator, *, contrasts: bool
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
