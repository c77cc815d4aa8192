"""Greedy policies of small neural networks. Trained elsewhere; here they need NumPy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.deep.algorithms import Part, find_algorithm
from agents.policy import Policy
from fsgym.dataset import Scaling
from fsgym.rules import Rules
from fsgym.threads import one_blas_thread

LARGEST_VALUE = 10.0  # z-scores are cut off here, in training as later


@dataclass(frozen=True, eq=False)
class NetworkPolicy(Policy):
    """The legal action with the largest output of a network that sees phi(x, z): a logit, or the value of the action.

    Attributes
    ----------
    algorithm : str, what the network was trained by, a name in ``ALGORITHMS``, which tells its form
    hidden : tuple of int, widths of the hidden layers
    arrays : mapping name -> float32 array
        Weights (n_out, n_in) and biases (n_out,), named as in the policy of Stable-Baselines3; the critic is kept
        where there is one.
    scaling : Scaling
        It was trained on values scaled by this and cut off at 10 in size; values come and go as they are.
    rules : Rules

    Raises
    ------
    ValueError
        Where the arrays do not fit the rules, or are not finite.
    """

    kind = "network"

    algorithm: str
    hidden: tuple[int, ...]
    arrays: Mapping[str, NDArray[np.float32]]
    scaling: Scaling
    rules: Rules

    def __post_init__(self) -> None:
        n = self.rules.n_features
        shapes = shapes_of(self.algorithm, self.hidden, 2 * n, self.rules.n_actions)
        for name, shape in shapes.items():
            array = self.arrays.get(name)
            if array is None or array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float32 of shape {shape}")
        strange = self.arrays.keys() - shapes
        if strange:
            raise ValueError(f"a network of {self.algorithm!r} has no {min(strange)!r}")
        for name, array in self.scaling._asdict().items():
            if array.shape != (n,) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float64 of shape ({n},)")

    def scaled(self, X: NDArray) -> NDArray[np.float32]:
        """The values that the network sees, float32."""
        return scaled(X, self.scaling)

    def scores(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Outputs for all actions, float32 (n, n_actions)."""
        z = (acquired & ~np.isnan(values)).astype(np.float32)
        signal = np.concatenate([z, self.scaled(np.where(z, values, 0)) * z], axis=1)
        algorithm = find_algorithm(self.algorithm)
        names = _layers(algorithm.parts[0], len(self.hidden))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for name in names[:-1]:
                signal = algorithm.activation(self._linear(name, signal))
            return self._linear(names[-1], signal)

    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The legal action of the largest output, the lowest of equals, int64 (n,)."""
        return np.where(legal, np.nan_to_num(self.scores(acquired, values)), -np.inf).argmax(axis=1)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays: dict[str, NDArray] = {f"network.{name}": array for name, array in self.arrays.items()}
        return arrays | self.scaling._asdict(), {"algorithm": self.algorithm, "hidden": list(self.hidden)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> NetworkPolicy:
        hidden = header["hidden"]
        if not isinstance(hidden, list) or not all(type(width) is int and width > 0 for width in hidden):
            raise ValueError("widths of hidden layers must be whole numbers")
        network = {k.removeprefix("network."): v for k, v in arrays.items() if k not in Scaling._fields}
        scaling = Scaling(arrays["offset"], arrays["scale"])
        return cls(header["algorithm"], tuple(hidden), network, scaling, rules)

    def _linear(self, name: str, signal: NDArray[np.float32]) -> NDArray[np.float32]:
        return signal @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"]


def scaled(X: NDArray, scaling: Scaling) -> NDArray[np.float32]:
    """Scaled values cut off at 10 in size, float32; NaN stays."""
    return np.clip(scaling.apply(X), -LARGEST_VALUE, LARGEST_VALUE, dtype=np.float32)


def shapes_of(algorithm: str, hidden: Sequence[int], n_inputs: int, n_actions: int) -> dict[str, tuple[int, ...]]:
    """The arrays of an algorithm's network, and their shapes; ValueError for an unknown algorithm."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in find_algorithm(algorithm).parts:
        widths = [n_inputs, *hidden, part.n_outputs or n_actions]
        for name, (n_in, n_out) in zip(_layers(part, len(hidden)), pairwise(widths)):
            shapes |= {f"{name}.weight": (n_out, n_in), f"{name}.bias": (n_out,)}
    return shapes


def _layers(part: Part, n_hidden: int) -> list[str]:
    """Names of the layers, from the input to the output; every other module of the trunk is an activation."""
    return [f"{part.trunk}.{2 * i}" for i in range(n_hidden)] + [part.head or f"{part.trunk}.{2 * n_hidden}"]
