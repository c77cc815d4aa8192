"""The policy of the any-state agents: the preferred acquisition as long as going on is worth it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from agents.anystate.state_model import StateBatch, StateModel
from agents.anystate.stop_rule import N_STATE_NUMBERS, StopRule, check_stop_rule, stop_rule_from
from agents.anystate.stopping import state_numbers
from agents.policy import MAX_PREFERENCE, Policy, complete_advice
from agents.tradeoff import AcquisitionIndices
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.session.step import Advice

MODEL_PREFIX, STOP_PREFIX = "model.", "stop."  # prefixes of the arrays in model files
# arrays that only files have in which there are such acquisitions, and none of fsgym 0.2.0
SKIPPED, MOST = "skipped", "most"


@dataclass(frozen=True, eq=False)
class AnyStatePolicy(Policy):
    """In any state, make the acquisition that a model prefers, or answer where the stop rule expects no gain from it.

    A subclass for each kind of model has its class.

    Raises
    ------
    ValueError
        If the arrays do not fit each other or the rules.
    """

    model_class: ClassVar[type[StateModel]]  # the class of ``model``

    model: StateModel
    stop: StopRule
    rules: Rules
    # acquisitions that told nothing new in training; the policy answers where only these are legal
    skipped: AcquisitionIndices = ()
    # Acquisitions after which it answers, besides those that are always known; many times as many as any row was
    # followed in training; None where there are no more. Without a limit, a stop rule far from the states that it was
    # learnt from may never say stop.
    most: int | None = None

    def __post_init__(self) -> None:
        check_stop_rule(self.stop, N_STATE_NUMBERS + self.model.n_inputs)

    def at_prices(self, costs: NDArray[np.float64]) -> Self:
        if not self.rules.costs_by_case:
            return super().at_prices(costs)
        rules, model = self.rules.at_prices(costs), cast(Any, self.model)  # each model is a dataclass
        return replace(self, model=replace(model, rules=rules), rules=rules)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice in n states, with the expected cost of the preferred acquisition; parameters as in ``advise``.

        What is always known comes first, in the order of the rules.
        A state that the policy cannot reach itself is a state like any other: all known values count. The other
        acquisitions are ranked by the model, without an estimate of their cost.
        """
        J, rules, rows = self.rules.n_acquisitions, self.rules, np.arange(len(acquired))
        states = self._states(acquired, values, legal)
        first, skipped = states.legal & (rules.tables.counts == 0), states.legal & self._is_skipped
        comes_first, can_go_on = first.any(axis=1), states.legal.any(axis=1)
        # The stop rule was learnt where all that comes first is made: it says what going on is worth after that.
        probabilities, preference, inputs = self.model.estimate(states._replace(legal=states.legal & ~skipped & ~first))
        preference[skipped] = -MAX_PREFERENCE
        costs, later = self.model.costs, preference.argmax(axis=1)
        error_cost = probabilities @ costs.T
        price, pays = states.prices[rows, later], (states.legal & ~skipped & ~first).any(axis=1)
        advantage = self.stop.advantage(state_numbers(probabilities, price, inputs, costs))
        pays &= (error_cost.min(axis=1) - costs.min() > price) & (advantage < 0)
        pays &= rules.acquisitions_of(states.acquired) @ rules.tables.counts < self._most
        preference[first] = MAX_PREFERENCE
        preferred = preference.argmax(axis=1)
        wanted = can_go_on & ~self._is_skipped[preferred]
        answer = np.where(legal[:, J:], error_cost, np.inf).argmin(axis=1)
        actions = np.where(wanted & (pays | comes_first), preferred, J + answer)
        beyond = np.where(can_go_on, preferred, J)
        advice = complete_advice(actions, beyond, answer, legal, preference, rules, probabilities)
        advantage = np.where(comes_first & ~pays, 0.0, advantage)  # values that cost nothing do not raise the cost
        least = (probabilities @ rules.answer_costs.T).min(axis=1)
        advice.expected[rows, preferred] = np.where(wanted, least + advantage, np.nan)
        return advice

    def can_change(
        self,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        advice: Advice,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """As ``Policy.can_change``, but not where only ``skipped`` acquisitions are left."""
        return (advice.beyond >= 0) & ~self._is_skipped[advice.beyond]

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays, header = self.model.to_arrays()
        arrays = {MODEL_PREFIX + name: array for name, array in arrays.items()}
        if self.skipped:
            arrays[SKIPPED] = np.array(self.skipped, np.int64)
        if self.most is not None:
            arrays[MOST] = np.array([self.most], np.int64)
        return arrays | {STOP_PREFIX + name: array for name, array in self.stop._asdict().items()}, header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        of_model = {name.removeprefix(MODEL_PREFIX): v for name, v in arrays.items() if name.startswith(MODEL_PREFIX)}
        of_stop = {name.removeprefix(STOP_PREFIX): v for name, v in arrays.items() if name.startswith(STOP_PREFIX)}
        skipped, most = arrays.get(SKIPPED, np.zeros(0, np.int64)), arrays.get(MOST)
        if skipped.dtype != np.int64 or skipped.tolist() != [j for j in range(rules.n_acquisitions) if j in skipped]:
            raise ValueError(f"the skipped acquisitions must ascend from 0 to at most {rules.n_acquisitions - 1}")
        if most is not None and (most.dtype != np.int64 or most.shape != (1,) or most[0] < 1):
            raise ValueError("the most acquisitions of a case must be one whole number from 1")
        model = cls.model_class.from_arrays(of_model, header, rules)
        return cls(
            model, stop_rule_from(of_stop), rules, tuple(skipped.tolist()), None if most is None else int(most[0])
        )

    @property
    def _most(self) -> int:
        """The acquisitions after which it answers, or more than there are."""
        return self.rules.n_acquisitions + 1 if self.most is None else self.most

    @cached_property
    def _is_skipped(self) -> NDArray[np.bool_]:
        """Whether each acquisition is skipped, bool (n_acquisitions,)."""
        return np.isin(np.arange(self.rules.n_acquisitions), self.skipped)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        if not self.rules.prices_change:
            followed = self.model.follow(self.stop, X, rules, self._is_skipped, self._most)
            if followed is not None:
                return followed
        return super()._trajectories(X, rules)

    def _states(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> StateBatch:
        acquirable = np.asarray(legal[:, : self.rules.n_acquisitions], bool)
        prices = self.rules.lam * self.rules.next_prices(acquired)
        return StateBatch(acquired & ~np.isnan(values), values, acquirable, prices)
