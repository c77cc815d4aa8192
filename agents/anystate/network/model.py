"""The model of all states that the networks are: class probabilities, and the learnt ranking of acquisitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import Embedding, check_embedding
from agents.anystate.network.mlp import MLP, check_hidden_sizes, softmax_inplace
from agents.anystate.network.ranking import Outlook, outlook
from agents.anystate.network.task import CandidateTask
from agents.anystate.state_model import StateBatch, StateEstimates, StateModel
from fsgym.rules import Rules


@dataclass(frozen=True, eq=False)
class NetworkModel(StateModel):
    """Predictors of the classes, and a ranking network.

    Attributes
    ----------
    candidates : int64 (b,), the acquisitions that the networks use, ascending; others have the lowest preference
    embedding : Embedding of their features
    predictors : sequence of MLP, whose scores are averaged
    temperature : float, by which scores are divided
    ranking : MLP
    rules : Rules

    Raises
    ------
    ValueError
        If parameters or the temperature are out of range.
    """

    kind = "any_network"

    candidates: NDArray[np.int64]
    embedding: Embedding
    predictors: Sequence[MLP]
    temperature: float
    ranking: MLP
    rules: Rules

    def __post_init__(self) -> None:
        for network in (*self.predictors, self.ranking):
            if not (np.abs(network.parameters) <= const.MAX_ABS_PARAMETER).all():  # False for NaN
                raise ValueError(
                    f"parameters of networks must be at most {const.MAX_ABS_PARAMETER:g} in absolute value"
                )
        lowest, highest = min(const.SCORE_TEMPERATURES), max(const.SCORE_TEMPERATURES)
        if type(self.temperature) is not float or not lowest <= self.temperature <= highest:
            raise ValueError(f"the temperature must be a number from {lowest} to {highest}, got {self.temperature}")

    def probabilities(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float64]:
        return _normalised(self._probabilities_of(self._inputs(acquired, values)))

    def estimate(self, states: StateBatch) -> StateEstimates:
        """See ``StateModel.estimate``; the preference is the advantage over answering, in units of error costs.

        The ``inputs`` are the columns log(e + .001), (expected reduction of the error by the best acquisition) /
        (e + .001), U / (e + .001), the share of acquisitions whose values are known, and the difference between the
        two best advantages, see ``agents.anystate.network.ranking``.
        """
        task, legal = self.task, states.legal[:, self.candidates]
        prices = task.scaled_prices(states.prices)
        inputs = self._inputs(states.acquired, states.values)
        p = self._probabilities_of(inputs)
        error = task.errors(p)
        layers = self.ranking.forward(np.hstack([inputs, p, error[:, None]]))
        now = outlook(layers[-1], error, legal, prices)
        preference = np.where(states.legal, -const.OUTSIDE_PREFERENCE, -np.inf)
        preference[:, self.candidates] = -now.advantages.astype(np.float64)
        numbers = stop_inputs(now, error, prices, self.embedding.mask_of(inputs).mean(axis=1))
        return StateEstimates(_normalised(p), preference * task.unit, numbers)

    @cached_property
    def task(self) -> CandidateTask:
        return CandidateTask(self.rules, self.candidates)

    def _inputs(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        known = acquired[:, self.embedding.features] & ~np.isnan(values[:, self.embedding.features])
        return self.embedding.inputs(values, known)

    def _probabilities_of(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        scores = np.zeros((len(inputs), self.rules.n_classes), np.float32)
        for network in self.predictors:
            scores += network(inputs)
        return softmax_inplace(scores / np.float32(self.temperature * len(self.predictors)))

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays: dict[str, NDArray] = {"candidates": self.candidates}
        arrays |= {f"embedding.{name}": array for name, array in self.embedding._asdict().items()}
        arrays["ranking"] = self.ranking.parameters
        arrays["predictors"] = np.stack([network.parameters for network in self.predictors])
        hidden = [list(network.sizes[1:-1]) for network in (self.predictors[0], self.ranking)]
        return arrays, {"temperature": self.temperature, "hidden": hidden}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> NetworkModel:
        embedding = Embedding(**{name: arrays[f"embedding.{name}"] for name in Embedding._fields})
        check_embedding(arrays["candidates"], embedding, rules)
        for_predictors, for_ranking = (check_hidden_sizes(sizes) for sizes in header["hidden"])
        n_inputs, n_classes = embedding.n_inputs, rules.n_classes
        parameters = arrays["predictors"]
        if parameters.ndim != 2 or not len(parameters):
            raise ValueError("there must be one row of parameters for each predictor, at least one")
        predictors = [MLP((n_inputs, *for_predictors, n_classes), row) for row in parameters]
        sizes = (n_inputs + n_classes + 1, *for_ranking, len(arrays["candidates"]) + 1)
        ranking = MLP(sizes, arrays["ranking"])
        return cls(arrays["candidates"], embedding, predictors, header["temperature"], ranking, rules)


def _normalised(probabilities: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities as float64, whose sum is 1 to the last bits."""
    p = probabilities.astype(np.float64)
    return p / p.sum(axis=1, keepdims=True)


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
    floor = error + const.SMALLEST_DIVISOR
    value = np.where(np.isfinite(now.value), now.value, 0)
    return np.column_stack([np.log(floor), reduction / floor, value / floor, share, gap]).astype(np.float64)
