"""Episodes of the training rows that follow an order of preference without stopping, by the model of their fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate.state_model import StateBatch, StateModel
from agents.calibration import known_sizes
from agents.tradeoff import AcquisitionIndices
from fsgym.data.dataset import Dataset
from fsgym.envs.episodes import EpisodeOutcomes, Episodes
from fsgym.rules import Rules

# By hand
MAX_ROLLOUT_LENGTH = 25  # acquisitions of a row
MAX_KNOWN = 3  # acquisitions that are known in advance where rows start in random states
MAX_UNAVAILABLE = 0.3  # largest share of a row's acquisitions that are then unavailable


class RolloutStates(NamedTuple):
    """The states of some rows along their order of preference, step by step."""

    row: NDArray[np.int64]  # (n_states,)
    following: NDArray[np.int64]  # (n_states,), the place of the row's next state, -1 for its last one
    first: NDArray[np.bool_]  # (n_states,), whether it is the row's first state
    # (n_states,), of the preferred acquisition, in units of the error costs; 0 for last states
    price: NDArray[np.float64]
    answer: NDArray[np.int64]  # (n_states,), the answer with the lowest expected cost, of ``StateModel.costs``
    expected_cost: NDArray[np.float64]  # (n_states,), of that answer
    probabilities: NDArray[np.float64]  # (n_states, n_classes)
    inputs: NDArray[np.float64]  # (n_states, n_inputs), see ``StateEstimates``
    # (n_states,), features acquired so far, those of one column as one, and what they cost, in the unit of ``costs``
    n_features: NDArray[np.float64]
    cost: NDArray[np.float64]
    size: NDArray[np.int64]  # (n_states,), the number of acquisitions of which something is known


def roll_out(
    models: Sequence[StateModel],
    fold: NDArray[np.int64],
    dataset: Dataset,
    rules: Rules,
    rows: NDArray[np.int64],
    rng: np.random.Generator | None = None,
    skipped: AcquisitionIndices = (),
) -> RolloutStates:
    """Follow the preferences of each row's model until nothing that is left can pay, from what is always known on.

    Parameters
    ----------
    models : sequence of StateModel, one per fold
    fold : int64 (n_samples,), the model of each row, which was fitted without the row
    dataset, rules
    rows : int64 (n_rows,)
    rng : numpy Generator, optional
        Start in random states instead: some acquisitions are known in advance, and others are unavailable.
    skipped : tuple of int, acquisitions that no row makes
    """
    if rng is not None:
        dataset = _with_unavailable(dataset, rules, rng)
    parts = []
    for k, model in enumerate(models):
        of_fold = rows[fold[rows] == k]
        if len(of_fold):
            parts.append(_roll_out_with(model, dataset, rules, of_fold, rng, list(skipped)))
    visited = RolloutStates(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    by_row = np.argsort(visited.row, kind="stable")
    again = np.diff(visited.row[by_row]) == 0
    visited.following[by_row[:-1][again]] = by_row[1:][again]
    visited.first[by_row[1:][again]] = False
    visited.price[visited.following < 0] = 0.0
    return visited


def _roll_out_with(
    model: StateModel,
    dataset: Dataset,
    rules: Rules,
    rows: NDArray[np.int64],
    rng: np.random.Generator | None,
    skipped: list[int],
) -> RolloutStates:
    """Roll rows out with one model; every state counts as the first and the last of its row."""
    episodes = Episodes(dataset, rules, len(rows))
    episodes.begin(np.arange(len(rows)), rows)
    actions = np.zeros(len(rows), np.int64)
    reward, ended, outcomes = np.zeros(len(rows)), np.zeros(len(rows), bool), EpisodeOutcomes.blank(len(rows))
    for _ in rules.always_known:
        legal = episodes.state.legal[:, rules.always_known] != 0
        _step_some(episodes, legal.any(axis=1), np.array(rules.always_known)[legal.argmax(axis=1)])
    if rng is not None:
        _acquire_at_random(episodes, rules, rng)
    n, J = rules.n_features, rules.n_acquisitions
    steps = []
    for _ in range(min(MAX_ROLLOUT_LENGTH, J) + 1):
        active = np.flatnonzero(episodes.active)
        if not len(active):
            break
        acquired, values = episodes.acquired()[active], episodes.observation[active, n : 2 * n]
        legal = episodes.state.legal[active, :J] != 0
        legal[:, skipped] = False
        by_case = rules.costs_by_case
        prices = rules.lam * (episodes.state.case_costs[active] if by_case else rules.next_prices(acquired))
        estimates = model.estimate(StateBatch(acquired, values, legal, prices))
        preferred, error_cost = estimates.preference.argmax(axis=1), estimates.probabilities @ model.costs.T
        answer, here = error_cost.argmin(axis=1), np.arange(len(active))
        most_saved = error_cost[here, answer] - model.costs.min()
        goes_on = legal.any(axis=1) & (most_saved > np.where(legal, prices, np.inf).min(axis=1))
        steps.append(
            RolloutStates(
                rows[active],
                np.full(len(active), -1),
                np.ones(len(active), bool),
                prices[here, preferred],
                answer,
                error_cost[here, answer],
                estimates.probabilities,
                estimates.inputs,
                dataset.columns.of_features(acquired).sum(axis=1).astype(np.float64),
                episodes.state.spent[active],
                known_sizes(acquired, rules),
            )
        )
        actions[active] = np.where(goes_on, preferred, J + answer)
        episodes.step(actions, reward, ended, outcomes)
    return RolloutStates(*(np.concatenate(arrays) for arrays in zip(*steps, strict=True)))


def _with_unavailable(dataset: Dataset, rules: Rules, rng: np.random.Generator) -> Dataset:
    """The data with acquisitions that are unavailable at random, a different share of them in each row."""
    share = MAX_UNAVAILABLE * rng.random((dataset.n_samples, 1))
    unavailable = rng.random((dataset.n_samples, rules.n_acquisitions)) < share
    unavailable[:, rules.always_known] = False
    return dataset.replace(X=np.where(unavailable[:, rules.acquisition_of_features], np.float32(np.nan), dataset.X))


def _acquire_at_random(episodes: Episodes, rules: Rules, rng: np.random.Generator) -> None:
    """Make up to ``MAX_KNOWN`` random legal acquisitions in each episode, as values that are known in advance."""
    J = rules.n_acquisitions
    wanted = rng.integers(0, min(MAX_KNOWN, J) + 1, episodes.size)
    for step in range(int(wanted.max(initial=0))):
        legal = episodes.state.legal[:, :J] != 0
        chosen = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
        _step_some(episodes, (wanted > step) & legal.any(axis=1) & episodes.active, chosen)


def _step_some(episodes: Episodes, which: NDArray[np.bool_], actions: NDArray[np.int64]) -> None:
    """Take one step in some of the episodes; the others stay as they are."""
    n, active = episodes.size, episodes.active.copy()
    episodes.active[:] = which
    episodes.step(actions, np.zeros(n), np.zeros(n, bool), EpisodeOutcomes.blank(n))
    episodes.active[:] = active
