"""The model of all states that the networks are: class probabilities, and the learnt ranking of acquisitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.anystate.follow import follow_rows
from agents.anystate.network import constants as const
from agents.anystate.network.embedding import Embedding, check_embedding
from agents.anystate.network.kernels import (
    N_STOP_INPUTS,
    CompiledNetwork,
    network_buffers,
    write_all_network_probabilities,
    write_network_estimates,
)
from agents.anystate.network.mlp import MLP, check_hidden_sizes
from agents.anystate.network.task import scaled_regrets
from agents.anystate.state_model import StateBatch, StateEstimates, StateModel
from agents.anystate.stop_rule import StopRule
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.support.arrays import read_only, read_only_rows


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
    n_inputs = N_STOP_INPUTS

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
        proba, rows = np.empty((len(values), self.rules.n_classes)), read_only_rows(acquired, values)
        write_all_network_probabilities(self._compiled, network_buffers(self._compiled), *rows, proba)
        return proba

    def estimate(self, states: StateBatch) -> StateEstimates:
        """See ``StateModel.estimate``; the preference is minus the advantage over answering, in units of error costs.

        The ``inputs`` are the columns log(e + .001), (expected reduction of the error by the best acquisition) /
        (e + .001), U / (e + .001), the share of acquisitions whose values are known, and the difference between the
        two best advantages, see ``agents.anystate.network.lookahead``.
        """
        n, n_acquisitions = states.legal.shape
        rows = read_only_rows(states.acquired, states.values)
        arrays = (*rows, read_only(states.legal, bool), read_only(states.prices, np.float64))
        outputs = np.empty((n, self.rules.n_classes)), np.empty((n, n_acquisitions)), np.empty((n, N_STOP_INPUTS))
        write_network_estimates(self._compiled, network_buffers(self._compiled), arrays, *outputs)
        return StateEstimates(*outputs)

    def follow(self, stop: StopRule, X: NDArray[np.float32], rules: Rules, skipped: NDArray[np.bool_]) -> Trajectories:
        prices, memory = self.rules.lam * self.rules.costs, network_buffers(self._compiled)
        return follow_rows(self._compiled, memory, stop, prices, X, rules, skipped)

    @cached_property
    def _compiled(self) -> CompiledNetwork:
        scaled, unit = scaled_regrets(self.rules)
        return CompiledNetwork(
            *self.embedding,
            np.stack([network.parameters for network in self.predictors]),
            np.array(self.predictors[0].sizes),
            self.ranking.parameters,
            np.array(self.ranking.sizes),
            np.float32(1 / (self.temperature * len(self.predictors))),
            self.candidates,
            np.ascontiguousarray(self.rules.error_costs),
            scaled,
            unit,
        )

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
        if parameters.ndim != 2 or not parameters.size:
            raise ValueError("there must be one row of parameters for each predictor, at least one")
        predictors = [MLP((n_inputs, *for_predictors, n_classes), row) for row in parameters]
        sizes = (n_inputs + n_classes + 1, *for_ranking, len(arrays["candidates"]) + 1)
        ranking = MLP(sizes, arrays["ranking"])
        return cls(arrays["candidates"], embedding, predictors, header["temperature"], ranking, rules)
