"""What the any-state policy needs to know about a state, whatever it was learnt with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from agents.policy import MAX_UNIT, MIN_UNIT
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.rules.rules import regrets

if TYPE_CHECKING:
    from agents.anystate.stop_rule import StopRule


class StateBatch(NamedTuple):
    """A batch of n states."""

    acquired: NDArray[np.bool_]  # (n, n_features), the features whose values are known; False where a value is missing
    values: NDArray[np.float32]  # (n, n_features), read only where ``acquired``
    legal: NDArray[np.bool_]  # (n, n_acquisitions), the acquisitions that can be made
    prices: NDArray[np.float64]  # (n, n_acquisitions), in units of the error costs: ``lam`` times the present price


class StateEstimates(NamedTuple):
    """What a model says about n states."""

    probabilities: NDArray[np.float64]  # (n, n_classes), given the acquired values
    # (n, n_acquisitions), the policy acquires the legal one with the highest preference if it acquires anything; -inf
    # where not legal
    preference: NDArray[np.float64]
    # (n, n_inputs), finite numbers that help to predict what going on is worth, beside the probabilities
    inputs: NDArray[np.float64]


class StateModel(ABC):
    """A model of the classes given any subset of the features, with an order of preference of the acquisitions.

    Attributes
    ----------
    n_inputs : int, class attribute: the inputs of ``StateEstimates``
    rules : Rules
    unit : float, optional
        ``error_unit`` of the rules of the training: regrets count, for the mixture in this unit. None where a file has
        none, as in those of fsgym 0.2.0: costs count as they are. It is left out where both decide the same.
    """

    n_inputs: ClassVar[int]
    rules: Rules
    unit: float | None = None

    @property
    def costs(self) -> NDArray[np.float64]:
        """The costs of answers by which it decides, float64 (n_answers, n_classes)."""
        return self.rules.answer_costs if self.unit is None else regrets(self.rules.answer_costs)

    @property
    def unit_header(self) -> dict[str, float]:
        """What a file says of the unit: nothing where the costs as they are decide the same."""
        if self.unit is None or (self.unit == 1.0 and np.array_equal(self.costs, self.rules.answer_costs)):
            return {}
        return {"unit": self.unit}

    @staticmethod
    def unit_from(header: Mapping[str, Any]) -> float | None:
        """The unit that a header says; ValueError where it is none."""
        unit = header.get("unit")
        if unit is not None and (type(unit) is not float or not MIN_UNIT <= unit <= MAX_UNIT):
            raise ValueError(f"the unit of costs must be a number from {MIN_UNIT:g} to {MAX_UNIT:g}, got {unit!r}")
        return unit

    @abstractmethod
    def estimate(self, states: StateBatch) -> StateEstimates:
        """Everything about n states; a value that is not acquired has no effect."""

    def follow(
        self,
        stop: StopRule,
        X: NDArray[np.float32],
        rules: Rules,
        skipped: NDArray[np.bool_],
        most: int,
    ) -> Trajectories | None:
        """What the policy with this stop rule does on rows, faster than step by step; None if there is no way.

        ``rules`` may have other budgets than the model's own, whose prices do not depend on the state; no row makes the
        acquisitions ``skipped``, bool (J,), and each row first makes those that are always known, and is answered after
        ``most`` others.
        """
        return None

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Everything except the rules: arrays by name, and other values as plain JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        """The model from what ``to_arrays`` returned; one of ``agents.model_file.DAMAGE_ERRORS`` if it is invalid."""
