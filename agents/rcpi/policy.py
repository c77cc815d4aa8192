"""The linear policy that RCPI learns, and its compiled inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray

from agents.policy import Policy
from agents.rcpi.kernels import EXCLUDED_SCORE, Linear, add_acquisition, best_legal, padded
from agents.replay import replay
from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp
from fsgym.scaling import Scaling
from fsgym.trajectories import Trajectories

# Limits that keep scores far from EXCLUDED_SCORE and infinity: sums of products of these stay below 1e27.
MAX_ABS_WEIGHT, MAX_ABS_SCALED_VALUE = np.float32(1e12), np.float32(1e9)


@dataclass(frozen=True, eq=False)
class LinearPolicy(Policy):
    """The greedy policy for linear scores s(x, z, a) = <theta_a, [1, z, mu(x, z)]>.

    Dulac-Arnold et al. (2012), section 3.4. Ties go to the lowest action. The policy takes raw values and applies the
    scaling that it was trained with.

    Attributes
    ----------
    weights : float32 (n_features, 2, n_actions), of the mask z and the scaled value of each feature
    intercepts : float32 (n_actions,)
    scaling : Scaling
    rules : Rules

    Raises
    ------
    ValueError
        If the arrays do not fit the rules, or contain numbers that are not finite or larger than 1e12.
    """

    kind = "linear"

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]
    scaling: Scaling
    rules: Rules

    def __post_init__(self) -> None:
        n, J, A = self.rules.n_features, self.rules.n_acquisitions, self.rules.n_actions
        for name, array, kind, shape, most in (
            ("weights", self.weights, np.float32, (n, 2, A), MAX_ABS_WEIGHT),
            ("intercepts", self.intercepts, np.float32, (A,), MAX_ABS_WEIGHT),
            ("offset", self.scaling.offset, np.float64, (n,), np.inf),
            ("scale", self.scaling.scale, np.float64, (n,), np.inf),
        ):
            fits = array.shape == shape and array.dtype == kind
            if fits and name == "intercepts":  # EXCLUDED_SCORE: an acquisition that was never legal
                array = np.append(np.where(array[:J] == EXCLUDED_SCORE, 0, array[:J]), array[J:])
            if not fits or not np.isfinite(array).all() or np.abs(array).max() > most:
                raise ValueError(
                    f"{name} must be finite {kind.__name__} of shape {shape}, at most {most:g} in absolute value"
                )

    def scaled(self, X: NDArray) -> NDArray[np.float32]:
        """Scaled values, float32, clipped at 1e9 times the training range so that scores do not overflow."""
        return np.clip(self.scaling.apply(X), -MAX_ABS_SCALED_VALUE, MAX_ABS_SCALED_VALUE, dtype=np.float32)

    def scores(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of all actions, float32 (n, n_actions)."""
        z = (acquired & ~np.isnan(values)).astype(np.float32)
        mu = self.scaled(np.where(z, values, 0)) * z
        scores = self.intercepts + z @ self.weights[:, 0] + mu @ self.weights[:, 1]
        return scores.astype(np.float32, copy=False)

    def actions(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        *,
        continue_after_stop: bool = False,
    ) -> NDArray[np.int64]:
        """The action in each state, int64 (n,), by ``replay`` of the policy; parameters as for ``Policy.actions``."""
        return replay(self.greedy_actions, acquired, values, legal, self.rules, continue_after_stop=continue_after_stop)

    def greedy_actions(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The legal action with the largest score in each state, int64 (n,); ties go to the lowest action."""
        return np.where(legal, self.scores(acquired, values), -np.inf).argmax(axis=1)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        return {"weights": self.weights, "intercepts": self.intercepts} | self.scaling._asdict(), {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> LinearPolicy:
        return cls(arrays["weights"], arrays["intercepts"], Scaling(arrays["offset"], arrays["scale"]), rules)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        """Each acquired feature adds its row of weights to the scores, which takes O(n_actions) (section 5.1)."""
        W, b = padded(self.weights, 0)[None], padded(self.intercepts, float(EXCLUDED_SCORE))[None]
        return follow_linear(self.scaled(X), X, W, b, rules)


@cache
def _compiled_follow_linear() -> Callable:
    """The compiled entry point. For a single row, Numba would spend more time on the types of the arguments."""
    flat, table, order = np.zeros(0, np.float32), np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int32)
    outputs, linear = (
        LinearOutputs(order, order > 0, np.zeros(0, np.int64)),
        Linear(np.zeros((0, 0, 0, 0), np.float32), table),
    )
    example = (Rules(1, 2).tables, State.blank(1, 1, 1), table, table, linear, outputs, table, flat)
    return _follow_linear.compile(tuple(typeof(value) for value in example))


class LinearOutputs(NamedTuple):
    """Arrays that ``_follow_linear`` fills, see ``fsgym.Trajectories``."""

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]


def follow_linear(
    values: NDArray[np.float32], X: NDArray[np.float32], W: NDArray[np.float32], b: NDArray[np.float32], rules: Rules
) -> Trajectories:
    """Classify the rows of ``X`` with one linear policy; arrays must be contiguous, which is not checked.

    Parameters
    ----------
    values : float32 (n_samples, n_features), scaled
    X : float32 (n_samples, n_features), only its NaN are read
    W : float32 (1, n_features, 2, width), padded
    b : float32 (1, width), padded with EXCLUDED_SCORE
    rules : Rules
    """
    n, J, wide = len(X), rules.n_acquisitions, b.shape[1]
    most = J if rules.budget is None else min(J, rules.budget)
    outputs = LinearOutputs(
        np.full((n, most), -1, np.int32), np.zeros((n, rules.n_features), bool), np.zeros(n, np.int64)
    )
    scores, allowed = np.empty((1, wide), np.float32), np.empty(wide, np.float32)
    compiled = _compiled_follow_linear()
    compiled(rules.tables, State.blank(1, J, wide), values, X, Linear(W, b), outputs, scores, allowed)
    longest = int((outputs.order >= 0).sum(axis=1).max(initial=0))
    return Trajectories(outputs.order[:, :longest], outputs.acquired, outputs.answers, np.zeros(n, bool))


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _follow_linear(t, state, values, X, linear, outputs, scores, allowed):
    J = t.costs.size
    for row in range(len(X)):
        mdp.start(t, state, 0, X, row)
        for a in range(scores.shape[1]):
            scores[0, a] = linear.intercepts[0, a]
        while True:
            action = best_legal(scores, 0, state.legal, 0, allowed)
            if action >= J:
                outputs.answers[row] = action - J
                break
            outputs.order[row, state.n_taken[0]] = action
            mdp.acquire(t, state, 0, action)
            add_acquisition(t, action, values, row, linear, 0, scores)
            for k in range(t.member_first[action], t.member_first[action + 1]):
                i = t.member[k]
                outputs.acquired[row, i] = not np.isnan(X[row, i])
