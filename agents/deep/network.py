"""Greedy policies of small neural networks; inference needs NumPy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.deep.algorithms import NetworkPart, find_algorithm, largest_error_cost
from agents.replay import ScoredPolicy, check_empty_answer
from fsgym.data.scaling import Scaling
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import ActingWalk, Walk
from fsgym.support.threads import one_blas_thread

MAX_ABS_Z_SCORE = 10.0  # z-scores are clipped at it, in training and inference; by hand


@dataclass(frozen=True, eq=False)
class NetworkPolicy(ScoredPolicy):
    """The policy that takes the legal action with the largest output of a network for the observation phi(x, z).

    Attributes
    ----------
    algorithm : str
        The name in ``ALGORITHMS`` of the algorithm that trained the network, which defines its architecture.
    hidden : tuple of int, widths of the hidden layers
    arrays : mapping name -> float32 array
        Weights (n_out, n_in) and biases (n_out,), named as in the policy of Stable-Baselines3, including those of the
        critic.
    scaling : Scaling
        Applied to the raw values before they are clipped to [-10, 10], as in training.
    rules : Rules
    empty_answer : int, default -1
        The answer where nothing is acquired and no acquisition is legal, a state that the training seldom reaches; -1
        for the answer with the largest output.

    Raises
    ------
    ValueError
        If the arrays do not fit the rules or are not finite.

    Examples
    --------
    A network without hidden layers, written by hand for one feature and two classes. Its inputs are the flag and the
    value of the feature; its outputs are those of the acquisition and of the two answers:

    >>> import numpy as np
    >>> from agents import NetworkPolicy
    >>> from fsgym import Rules, Scaling
    >>> weight = np.array([[-1, 0], [0, -1], [0, 1]], np.float32)
    >>> arrays = {"q_net.q_net.0.weight": weight, "q_net.q_net.0.bias": np.array([0.5, 0, 0], np.float32)}
    >>> policy = NetworkPolicy("dqn", (), arrays, Scaling(np.zeros(1), np.ones(1)), Rules(n_features=1, n_classes=2))
    >>> acquired = np.array([[False], [True], [True]])
    >>> values = np.array([[0], [-0.7], [0.7]], np.float32)
    >>> legal = np.array([[True, True, True], [False, True, True], [False, True, True]])
    >>> policy.actions(acquired, values, legal).tolist()  # acquires; answers the first class; answers the second
    [0, 1, 2]
    """

    kind = "network"

    algorithm: str
    hidden: tuple[int, ...]
    arrays: Mapping[str, NDArray[np.float32]]
    scaling: Scaling
    rules: Rules
    empty_answer: int = -1

    def __post_init__(self) -> None:
        n = self.rules.n_features
        shapes = array_shapes(self.algorithm, self.hidden, 2 * n, self.rules.n_actions)
        for name, shape in shapes.items():
            array = self.arrays.get(name)
            if array is None or array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float32 of shape {shape}")
        unknown = self.arrays.keys() - shapes
        if unknown:
            raise ValueError(f"a network of {self.algorithm!r} has no array {min(unknown)!r}")
        for name, array in self.scaling._asdict().items():
            if array.shape != (n,) or array.dtype != np.float64 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite float64 of shape ({n},)")
        check_empty_answer(self.empty_answer, self.rules)

    def scaled(self, X: NDArray) -> NDArray[np.float32]:
        """The scaled values that the network takes, float32."""
        return scale_and_clip(X, self.scaling)

    def scores(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Outputs for all actions, float32 (n, n_actions)."""
        z = (acquired & ~np.isnan(values)).astype(np.float32)
        signal = np.concatenate([z, self.scaled(np.where(z, values, 0)) * z], axis=1)
        algorithm = find_algorithm(self.algorithm)
        names = _layer_names(algorithm.parts[0], len(self.hidden))
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for name in names[:-1]:
                signal = algorithm.activation(self._linear(name, signal))
            return self._linear(names[-1], signal)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice in n states by ``replay`` of the policy; parameters as for ``Policy.advise``.

        Outputs that are values give the expected costs; NaN, no estimate, where they are not finite.
        """
        advice, scores = self._advice_and_scores(acquired, values, legal)
        if not find_algorithm(self.algorithm).outputs_values:
            return advice
        J, rows = self.rules.n_acquisitions, np.arange(len(acquired))
        costs = -scores * largest_error_cost(self.rules)  # in training, rewards are divided by it
        costs = np.where(np.isfinite(costs), costs, np.nan)  # weights of a file can be too large for one
        return advice._replace(expected=costs[:, :J], stop_cost=costs[rows, J + advice.answers])

    def walk(self, state: State) -> Walk:
        return ActingWalk(lambda z, x, legal: self.greedy_actions(z, x.astype(np.float32), legal), self.rules, state)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        return self._play(X, rules, self.greedy_actions)  # each state is one that the policy has reached

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays: dict[str, NDArray] = {f"network.{name}": array for name, array in self.arrays.items()}
        header = {"algorithm": self.algorithm, "hidden": list(self.hidden), "empty_answer": self.empty_answer}
        return arrays | self.scaling._asdict(), header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> NetworkPolicy:
        hidden = header["hidden"]
        if not isinstance(hidden, list) or not all(type(width) is int and width > 0 for width in hidden):
            raise ValueError("widths of hidden layers must be whole numbers")
        network = {k.removeprefix("network."): v for k, v in arrays.items() if k not in Scaling._fields}
        scaling = Scaling(arrays["offset"], arrays["scale"])
        return cls(header["algorithm"], tuple(hidden), network, scaling, rules, header["empty_answer"])

    def _linear(self, name: str, signal: NDArray[np.float32]) -> NDArray[np.float32]:
        return signal @ self.arrays[f"{name}.weight"].T + self.arrays[f"{name}.bias"]


def scale_and_clip(X: NDArray, scaling: Scaling) -> NDArray[np.float32]:
    """Scaled values clipped to [-10, 10], float32; NaN stays."""
    return np.clip(scaling.apply(X), -MAX_ABS_Z_SCORE, MAX_ABS_Z_SCORE, dtype=np.float32)


def array_shapes(algorithm: str, hidden: Sequence[int], n_inputs: int, n_actions: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the arrays of an algorithm's network; ValueError for an unknown algorithm."""
    shapes: dict[str, tuple[int, ...]] = {}
    for part in find_algorithm(algorithm).parts:
        widths = [n_inputs, *hidden, part.n_outputs or n_actions]
        for name, (n_in, n_out) in zip(_layer_names(part, len(hidden)), pairwise(widths)):
            shapes |= {f"{name}.weight": (n_out, n_in), f"{name}.bias": (n_out,)}
    return shapes


def _layer_names(part: NetworkPart, n_hidden: int) -> list[str]:
    """The names of the layers from input to output; every second module of the trunk is an activation."""
    return [f"{part.trunk}.{2 * i}" for i in range(n_hidden)] + [part.head or f"{part.trunk}.{2 * n_hidden}"]
