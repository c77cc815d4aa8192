"""Greedy policies of small neural networks. Trained elsewhere; here they need NumPy only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents import model_file
from fsgym.dataset import Dataset, Scaling
from fsgym.evaluation import Trajectories, play
from fsgym.rules import Rules
from fsgym.threads import one_blas_thread

LARGEST_VALUE = 10.0  # z-scores are cut off here, in training as later

# The parts of each algorithm's network: Stable-Baselines3's names of what is greedy, its activation, and what else.
_ACTOR, _CRITIC = ("mlp_extractor.policy_net", "action_net"), ("mlp_extractor.value_net", "value_net")
_VALUES = ("q_net.q_net", "")
ALGORITHMS = {
    "maskable_ppo": (_ACTOR, np.tanh),
    "ppo": (_ACTOR, np.tanh),
    "a2c": (_ACTOR, np.tanh),
    "dqn": (_VALUES, lambda x: np.maximum(x, 0.0)),
}


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """The legal action with the largest output of a network that sees phi(x, z): a logit, or the value of the action.

    Attributes
    ----------
    algorithm : {"maskable_ppo", "dqn", "ppo", "a2c"}, what the network was trained by, which tells its form
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
        (trunk, head), activation = ALGORITHMS[self.algorithm]
        names = _layers(trunk, head, len(self.hidden))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for name in names[:-1]:
                signal = activation(self._linear(name, signal))
            return self._linear(names[-1], signal)

    def actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The legal action of the largest output, the lowest of equals, int64 (n,)."""
        return np.where(legal, np.nan_to_num(self.scores(acquired, values)), -np.inf).argmax(axis=1)

    def trajectories(self, X: ArrayLike, rules: Rules | None = None) -> Trajectories:
        """Classify the rows of ``X`` (n_samples, n_features), all rows a step at a time.

        ``rules`` replaces the rules it was trained with, for another budget, say; groups and classes must agree.
        Raises ValueError where ``X`` has another shape, or missing values that the rules refuse.
        """
        rules = rules or self.rules
        if rules.groups != self.rules.groups or rules.n_classes != self.rules.n_classes:
            raise ValueError("a policy acts under rules with the groups and classes that it was trained with")
        n = rules.n_features
        X = np.asarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != n:
            raise ValueError(f"X must have shape (n_samples, {n}), got {X.shape}")
        unlabelled = Dataset(X, np.zeros(len(X), np.int64), classes=np.arange(rules.n_classes))
        rules.check(unlabelled)
        return play(lambda seen, legal: self.actions(seen[:, :n] > 0.5, seen[:, n:], legal), unlabelled, rules)

    def _linear(self, name: str, signal: NDArray[np.float32]) -> NDArray[np.float32]:
        return signal @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"]


def scaled(X: NDArray, scaling: Scaling) -> NDArray[np.float32]:
    """Scaled values cut off at 10 in size, float32; NaN stays."""
    return np.clip(scaling.apply(X), -LARGEST_VALUE, LARGEST_VALUE, dtype=np.float32)


def shapes_of(algorithm: str, hidden: Sequence[int], n_inputs: int, n_actions: int) -> dict[str, tuple[int, ...]]:
    """The arrays of an algorithm's network, and their shapes; ValueError for an unknown algorithm."""
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
    parts = [(*ALGORITHMS[algorithm][0], n_actions)]
    if parts[0][:2] == _ACTOR:
        parts.append((*_CRITIC, 1))
    shapes: dict[str, tuple[int, ...]] = {}
    for trunk, head, n_outputs in parts:
        widths = [n_inputs, *hidden, n_outputs]
        for name, (n_in, n_out) in zip(_layers(trunk, head, len(hidden)), pairwise(widths)):
            shapes |= {f"{name}.weight": (n_out, n_in), f"{name}.bias": (n_out,)}
    return shapes


def _layers(trunk: str, head: str, n_hidden: int) -> list[str]:
    """Names of the layers, from the input to the output; every other module of the trunk is an activation."""
    return [f"{trunk}.{2 * i}" for i in range(n_hidden)] + [head or f"{trunk}.{2 * n_hidden}"]


def write_network(path: str | os.PathLike, policy: NetworkPolicy, header: Mapping[str, Any]) -> None:
    """Write a network policy to a model file, with a header of plain JSON."""
    arrays = {f"network.{name}": array for name, array in policy.arrays.items()} | policy.scaling._asdict()
    header = {"algorithm": policy.algorithm, "hidden": list(policy.hidden), **header}
    model_file.write(path, "network", *model_file.with_rules(arrays, header, policy.rules))


def read_network(path: str | os.PathLike) -> tuple[NetworkPolicy, dict[str, Any]]:
    """The network policy of a model file, checked, and the rest of its header.

    Raises OSError where it cannot be read, ValueError where it is damaged or holds another kind of model.
    """
    arrays, header = model_file.read(path, "network")
    try:
        rules = model_file.take_rules(arrays, header)
        hidden = header.pop("hidden")
        if not isinstance(hidden, list) or not all(type(width) is int and width > 0 for width in hidden):
            raise ValueError("widths of hidden layers must be whole numbers")
        scaling = Scaling(arrays.pop("offset"), arrays.pop("scale"))
        network = {name.removeprefix("network."): array for name, array in arrays.items()}
        policy = NetworkPolicy(header.pop("algorithm"), tuple(hidden), network, scaling, rules)
    except model_file.DAMAGES as error:
        raise model_file.damaged(path, error) from None
    return policy, header
