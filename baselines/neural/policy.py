"""The policy of two networks on masked input: one predicts the classes, one chooses the next acquisition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from agents.deep.network import scale_and_clip
from agents.policy import Policy, complete_advice
from baselines.neural.stopping import StopLimits
from fsgym.data.scaling import Scaling
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers
from fsgym.session.step import Advice
from fsgym.support.threads import one_blas_thread

# Small networks on masked inputs; inference needs NumPy only.

MAX_OUTPUT = 1e30  # outputs are clipped at it, for networks of damaged files


class Layers(NamedTuple):
    """Linear layers with rectified linear units between them."""

    weights: tuple[NDArray[np.float32], ...]  # tuple of float32 (n_in, n_out)
    biases: tuple[NDArray[np.float32], ...]  # tuple of float32 (n_out,)

    def outputs(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outputs (n, n_out) for inputs (n, n_in), in double precision: rows do not depend on each other."""
        signal = inputs
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
                signal = (np.maximum(signal, 0.0) if k else signal) @ weight.astype(np.float64) + bias
        return np.nan_to_num(signal).clip(-MAX_OUTPUT, MAX_OUTPUT)

    def to_arrays(self, name: str) -> dict[str, NDArray]:
        """The arrays by name, for a model file."""
        weights = {f"{name}.{k}.weight": array for k, array in enumerate(self.weights)}
        return weights | {f"{name}.{k}.bias": array for k, array in enumerate(self.biases)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], name: str, widths: Sequence[int]) -> Self:
        """The layers of these widths, inputs and outputs included, from a model file.

        Raises KeyError or ValueError if an array is missing, has another shape or type, or is not finite.
        """
        weights, biases = [], []
        for k, (n_in, n_out) in enumerate(pairwise(widths)):
            for kind, shape, found in (("weight", (n_in, n_out), weights), ("bias", (n_out,), biases)):
                array = arrays[f"{name}.{k}.{kind}"]
                if array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
                    raise ValueError(f"{name}.{k}.{kind} must be finite float32 of shape {shape}")
                found.append(array)
        return cls(tuple(weights), tuple(biases))


class Prospect(NamedTuple):
    """What the policy decides by in n states."""

    probabilities: NDArray[np.float64]  # (n, n_classes)
    preference: NDArray[np.float64]  # (n, n_acquisitions), of the acquisitions, -inf where they are not legal
    need: NDArray[np.float64]  # (n,), the policy goes on where it is above a threshold


@dataclass(frozen=True, eq=False)
class MaskedInputPolicy(Policy):
    """Two networks whose inputs are the values times the mask, and the mask. A subclass defines what is preferred.

    Raises
    ------
    ValueError
        If the parts do not fit each other or the rules.
    """

    predictor: Layers  # with an output for each class
    chooser: Layers  # with an output for each acquisition
    scaling: Scaling  # applied to the raw values before they are clipped to [-10, 10]
    limits: StopLimits
    rules: Rules

    def __post_init__(self) -> None:
        n = self.rules.n_features
        for name, array in self.scaling._asdict().items():
            if array.shape != (n,) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float64 of shape ({n},)")
        threshold, longest = self.limits
        if type(threshold) is not float or not np.isfinite(threshold):
            raise ValueError(f"threshold must be a finite number, got {threshold!r}")
        if type(longest) is not int or longest < 0:
            raise ValueError(f"longest must be a whole number from 0, got {longest!r}")

    @abstractmethod
    def _preference_and_need(
        self, outputs: NDArray[np.float64], probabilities: NDArray[np.float64], prices: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The preference (n, J), legal or not, and the need (n,); None for the largest legal preference.

        Parameters
        ----------
        outputs : float64 (n, J), of the chooser
        probabilities : float64 (n, n_classes)
        prices : float64 (n, J), in the unit of ``costs``
        """

    def outlook(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Prospect:
        """What the policy decides by in n states; parameters as for ``Policy.actions``."""
        inputs, J = self._inputs(acquired, values), self.rules.n_acquisitions
        probabilities = softmax(self.predictor.outputs(inputs), axis=1)
        prices = self.rules.next_prices(acquired)
        preference, need = self._preference_and_need(self.chooser.outputs(inputs), probabilities, prices)
        preference = np.where(legal[:, :J], preference, -np.inf)
        return Prospect(probabilities, preference, preference.max(axis=1, initial=-np.inf) if need is None else need)

    def _inputs(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float64]:
        """The inputs of both networks, float64 (n, 2 n_features)."""
        mask = acquired & ~np.isnan(values)
        scaled = scale_and_clip(np.where(mask, values, 0.0), self.scaling)
        return np.concatenate([np.where(mask, scaled, 0.0), mask], axis=1, dtype=np.float64)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """Actions, answers and ranking in n states, without estimates of costs; parameters as for ``Policy.advise``.

        A state that the policy cannot reach itself is a state like any other: all known values count.
        """
        found, J = self.outlook(acquired, values, legal), self.rules.n_acquisitions
        answers = cheapest_answers(found.probabilities, self.rules.answer_costs, np.asarray(legal[:, J:], bool))
        can_go_on = np.asarray(legal[:, :J], bool).any(axis=1)
        beyond = np.where(can_go_on, found.preference.argmax(axis=1), J)
        goes_on = can_go_on & (found.need > self.limits.threshold)
        goes_on &= self.rules.acquisitions_of(acquired).sum(axis=1) < self.limits.longest
        actions = np.where(goes_on, beyond, J + answers)
        return complete_advice(actions, beyond, answers, legal, found.preference, self.rules, found.probabilities)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays = self.predictor.to_arrays("predictor") | self.chooser.to_arrays("chooser") | self.scaling._asdict()
        return arrays, {"hidden": [len(bias) for bias in self.predictor.biases[:-1]], **self.limits._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        hidden = header["hidden"]
        if not isinstance(hidden, list) or not all(type(width) is int and width > 0 for width in hidden):
            raise ValueError("widths of hidden layers must be whole numbers")
        if len(arrays) != 4 * (len(hidden) + 1) + len(Scaling._fields):
            raise ValueError(f"two networks of {len(hidden) + 1} layers do not have {len(arrays)} arrays")
        widths = [2 * rules.n_features, *hidden]
        return cls(
            Layers.from_arrays(arrays, "predictor", [*widths, rules.n_classes]),
            Layers.from_arrays(arrays, "chooser", [*widths, rules.n_acquisitions]),
            Scaling(arrays["offset"], arrays["scale"]),
            StopLimits(header["threshold"], header["longest"]),
            rules,
        )
