"""The model of all states that the networks are: class probabilities, and the learnt ranking of acquisitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import Embedding, network_inputs
from agents.anystate.network.mlp import MLP, softmax_inplace
from agents.anystate.network.ranking import Outlook, outlook
from agents.anystate.network.task import CandidateTask
from agents.anystate.state_model import StateEstimates, StateModel, States
from fsgym.rules import Rules

EMBEDDING_SHAPES = {"center": 0, "scale": 0, "knots": 1, "shift": 1, "spread": 1}  # 1: a row for each knot


@dataclass(frozen=True, eq=False)
class NetworkModel(StateModel):
    """Predictors, whose probabilities are averaged, and a ranking network.

    Attributes
    ----------
    candidates : int64 (b,), the acquisitions that the networks use, ascending; others have the lowest preference
    embedding : Embedding of their features
    predictors : sequence of MLP
    shares : float64 (n_predictors,), of each predictor in the probabilities
    temperature : float, by which scores are divided
    ranking : MLP
    rules : Rules

    Raises
    ------
    ValueError
        If sizes do not fit each other or the rules, or numbers are out of range.
    """

    kind = "any_network"

    candidates: NDArray[np.int64]
    embedding: Embedding
    predictors: Sequence[MLP]
    shares: NDArray[np.float64]
    temperature: float
    ranking: MLP
    rules: Rules

    def probabilities(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float64]:
        return self._probabilities_of(self._inputs(acquired, values)).astype(np.float64)

    def estimate(self, states: States) -> StateEstimates:
        """See ``StateModel.estimate``; the preference is the advantage over answering, in units of error costs.

        The ``inputs`` are the columns log(e + .001), (expected reduction of the error by the best acquisition) /
        (e + .001), U / (e + .001), the share of acquisitions whose values are known, and the difference between the
        two best advantages, see ``agents.anystate.network.ranking``.
        """
        task, legal = self.task, states.legal[:, self.candidates]
        prices = (states.prices[:, self.candidates] / task.unit).astype(np.float32)
        inputs = self._inputs(states.acquired, states.values)
        p = self._probabilities_of(inputs)
        error = task.errors(p)
        layers = self.ranking.forward(np.hstack([inputs, p, error[:, None]]))
        now = outlook(layers[-1], error, legal, prices)
        preference = np.where(states.legal, -const.OUTSIDE_PREFERENCE, -np.inf)
        preference[:, self.candidates] = -now.advantages.astype(np.float64)
        known = inputs[:, self.embedding.n_inputs - len(self.embedding.features) : self.embedding.n_inputs]
        numbers = stop_inputs(now, error, prices, known.mean(axis=1))
        return StateEstimates(p.astype(np.float64), preference * task.unit, numbers)

    @cached_property
    def task(self) -> CandidateTask:
        return CandidateTask(self.rules, self.candidates)

    def _inputs(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        known = acquired[:, self.embedding.features] & ~np.isnan(values[:, self.embedding.features])
        return network_inputs(self.embedding.blocks(values), known)

    def _probabilities_of(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        p = np.zeros((len(inputs), self.rules.n_classes), np.float32)
        for share, network in zip(self.shares, self.predictors):
            p += np.float32(share) * softmax_inplace(network(inputs) / np.float32(self.temperature))
        return p

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        raise NotImplementedError

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> NetworkModel:
        raise NotImplementedError


def stop_inputs(
    now: Outlook, error: NDArray[np.float32], prices: NDArray[np.float32], share: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Numbers that help to predict what going on is worth, float64 (n, 5); 0 where nothing is legal."""
    possible = np.isfinite(now.advantages)
    reduction = np.where(possible, prices - now.advantages, 0).max(axis=1)
    worst = np.where(possible.any(axis=1), now.advantages.max(axis=1, where=possible, initial=-np.inf), 0)
    filled = np.where(possible, now.advantages, worst[:, None])
    gap = np.zeros(len(error))
    if filled.shape[1] > 1:
        two = np.partition(filled, 1, axis=1)
        gap = two[:, 1] - two[:, 0]
    floor = error + const.SMALLEST_ERROR
    value = np.where(np.isfinite(now.value), now.value, 0)
    return np.column_stack([np.log(floor), reduction / floor, value / floor, share, gap]).astype(np.float64)
