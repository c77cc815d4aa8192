"""The linear policy that RCPI learns, and its compiled inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numba import njit, typeof
from numpy.typing import NDArray
from scipy.special import softmax

from agents.policy import MAX_LOSS, known_acquisitions
from agents.rcpi.kernels import EXCLUDED_SCORE, ActionScores, Linear, add_acquisition, best_legal
from agents.rcpi.score_trees import NO_TREES, ScoreTrees, values_for_trees
from agents.replay import Replayed, ScoredPolicy, check_empty_answer
from fsgym.data.dataset import Dataset
from fsgym.data.scaling import Scaling
from fsgym.envs.trajectories import Trajectories, TrajectoryArrays
from fsgym.rules import Rules, State
from fsgym.rules import kernels as mdp
from fsgym.session.walk import Walk, acquire_or_miss
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER
from fsgym.text.messages import brief

# Many cases under a linear policy, whose scores grow with each acquisition.


class LinearWalk:
    """See ``fsgym.session.walk.Walk``.

    Parameters
    ----------
    linear : Linear, one policy
    scaling : Scaling, of the policy
    most : float, by which scaled values are clipped
    rules : Rules
    state : State of n cases, started
    """

    def __init__(
        self,
        linear: Linear,
        scaling: Scaling,
        most: np.float32,
        rules: Rules,
        state: State,
    ) -> None:
        self.linear, self.most, self.rules, self.state = linear, most, rules, state
        groups = [list(members) for members in rules.groups]
        self.scalings = [Scaling(scaling.offset[members], scaling.scale[members]) for members in groups]
        n, wide = len(state.spent), linear.intercepts.shape[1]
        self.scores = np.repeat(linear.intercepts, n, axis=0)
        self.values = np.full((n, rules.n_features), np.nan, np.float32)
        self.legal = np.zeros((n, wide), np.int8)
        self.allowed = np.empty((2, wide), np.float32)
        self.compiled: Any = None  # else Numba would look at the types of the arguments in each call

    def begin(self) -> NDArray[np.int64]:
        rows = np.arange(len(self.scores))
        return self._advance(rows, -1, np.empty((len(rows), 0), np.float32), np.ones(len(rows), bool))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        scaled = self.scalings[j].apply(numbers.astype(np.float32, order="C"))  # as the compiled code reads it
        return self._advance(rows, j, scaled.clip(-self.most, self.most), brought)

    def _advance(
        self, rows: NDArray[np.int64], j: int, scaled: NDArray[np.float32], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        actions = np.empty(len(rows), np.int64)
        arrays = self.values, self.scores, self.legal, self.allowed
        arguments = (self.rules.tables, self.state, rows, j, (scaled, brought), self.linear, arrays, actions)
        if self.compiled is None:
            self.compiled = _advance_linear.compile(tuple(typeof(value) for value in arguments))
        self.compiled(*arguments)
        return actions


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _advance_linear(t, state, rows, j, news, linear, arrays, actions):
    (scaled, brought), (values, scores, legal, allowed) = news, arrays
    J = t.costs.size
    for k in range(len(rows)):
        e = rows[k]
        if j >= 0:
            acquire_or_miss(t, state, e, j, brought[k])
            for m in range(scaled.shape[1]):
                values[e, t.member[t.member_first[j] + m]] = scaled[k, m]
            if brought[k]:
                add_acquisition(t, j, values, e, linear, mdp.FIRST, scores[e : e + 1])
        if linear.empty_answer >= 0 and state.n_taken[e] == 0 and np.sum(state.legal[e, :J]) == 0:
            actions[k] = J + linear.empty_answer
            continue
        for a in range(state.legal.shape[1]):
            legal[e, a] = state.legal[e, a]
        actions[k] = best_legal(scores, e, legal, e, linear, mdp.FIRST, allowed)


# Limits that keep scores far from EXCLUDED_SCORE and infinity: sums of products of these stay below 1e27.
MAX_ABS_WEIGHT, MAX_ABS_SCALED_VALUE = np.float32(1e12), np.float32(1e9)
MIN_SCORE = np.float32(-1e29)  # of an acquisition that was never legal in training; below all other scores


@dataclass(frozen=True, eq=False)
class LinearPolicy(ScoredPolicy):
    """The greedy policy for linear scores s(x, z, a) = <theta_a, [1, z, mu(x, z)]>.

    Dulac-Arnold et al. (2012), section 3.4. Ties go to the lowest action. The policy takes raw values and applies the
    scaling that it was trained with.

    Attributes
    ----------
    weights : float32 (n_features, 2, n_actions), of the mask z and the scaled value of each feature
    intercepts : float32 (n_actions,)
    scaling : Scaling
    rules : Rules
    logistic : bool, default False
        Whether the scores of the answers are logits of the classes. An answer is then worth minus its expected error
        cost under their softmax, and this takes the place of its score.
    empty_answer : int, default -1
        The answer where nothing is acquired and no acquisition is legal, a state far from those of the training; -1 for
        the answer with the largest score.
    trees : ScoreTrees, by default none
        Trees whose sums are added to the scores of acquisitions, see ``agents.rcpi.base_learners``.

    Raises
    ------
    ValueError
        If the arrays do not fit the rules, contain numbers that are not finite or larger than 1e12, or if an episode
        under the rules can have a larger loss than single precision allows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import DatumWiseClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> DatumWiseClassifier(lam=0.05, n_iterations=1, random_state=0).fit(X, y).policy_.weights.shape
    (13, 2, 16)
    """

    kind = "linear"

    weights: NDArray[np.float32]
    intercepts: NDArray[np.float32]
    scaling: Scaling
    rules: Rules
    logistic: bool = False
    empty_answer: int = -1
    trees: ScoreTrees = NO_TREES

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
        if type(self.logistic) is not bool:
            raise ValueError(f"logistic must be true or false, got {brief(self.logistic)}")
        check_empty_answer(self.empty_answer, self.rules)
        if self.has_trees:
            self.trees.check(n, J)
        self.rules.check_largest_loss(MAX_LOSS)

    @property
    def has_trees(self) -> bool:
        """Whether acquisitions have trees; the compiled inference of linear scores does not follow them."""
        return self.trees.roots.size > 0

    def scaled(self, X: NDArray) -> NDArray[np.float32]:
        """Scaled values, float32, clipped at 1e9 times the training range so that scores do not overflow."""
        return np.clip(self.scaling.apply(X), -MAX_ABS_SCALED_VALUE, MAX_ABS_SCALED_VALUE, dtype=np.float32)

    def scores(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores of all actions, float32 (n, n_actions); of the answers, what they are worth."""
        z = (acquired & ~np.isnan(values)).astype(np.float32)
        mu = self.scaled(np.where(z, values, 0)) * z
        scores = self.intercepts + z @ self.weights[:, 0] + mu @ self.weights[:, 1]
        scores = scores.astype(np.float32, copy=False)
        if self.has_trees:
            self.trees.add_to(scores, values_for_trees(mu, z > 0))
        return self._with_values_of_answers(scores)

    def _with_values_of_answers(self, scores: NDArray) -> NDArray:
        """Scores (n, n_actions) with what answers are worth in place of logits; changed in place."""
        if self.logistic:
            J = self.rules.n_acquisitions
            logits = scores[:, J : J + self.rules.n_classes]
            scores[:, J:] = -softmax(logits, axis=1) @ self.rules.answer_costs.T
        return scores

    def replayed(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        continue_after_stop: bool,
    ) -> Replayed:
        """The end of the replay in each state; parameters as for ``replay``."""
        if self.has_trees or not self.rules.tables.independent:
            return super().replayed(acquired, values, legal, continue_after_stop)
        known = known_acquisitions(acquired, legal, self.rules)
        seen = self.scaled(np.where(acquired, values, np.nan))
        return replay_linear(known, seen, legal, self._padded, self.rules, continue_after_stop)

    def scores_after(
        self, found: Replayed, acquired: NDArray[np.bool_], values: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        if found.scores is None:
            return super().scores_after(found, acquired, values)
        return self._with_values_of_answers(found.scores)

    def walk(self, state: State) -> Walk:
        if self.has_trees:
            return super().walk(state)
        return LinearWalk(self._padded, self.scaling, MAX_ABS_SCALED_VALUE, self.rules, state)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays = {"weights": self.weights, "intercepts": self.intercepts} | self.scaling._asdict()
        arrays |= self.trees.to_arrays() if self.has_trees else {}
        return arrays, {"logistic": self.logistic, "empty_answer": self.empty_answer}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> LinearPolicy:
        scores = arrays["weights"], arrays["intercepts"]
        scaling, trees = Scaling(arrays["offset"], arrays["scale"]), ScoreTrees.from_arrays(arrays)
        return cls(*scores, scaling, rules, header["logistic"], header["empty_answer"], trees)

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        """Each acquired feature adds its row of weights to the scores, which takes O(n_actions) (section 5.1)."""
        if self.has_trees:
            return super()._trajectories(X, rules)
        return follow_linear(self.scaled(X), X, self._padded, rules)

    @cached_property
    def _padded(self) -> Linear:
        intercepts = np.maximum(self.intercepts, MIN_SCORE)  # above the padding, so that it may be chosen last
        linear = Linear.blank(self.rules).appended(ActionScores(self.weights, intercepts, self.logistic))
        return linear._replace(empty_answer=self.empty_answer)


@cache
def _compiled_follow_linear() -> Callable:
    """The compiled entry point. For a single row, Numba would spend more time on the types of the arguments."""
    table, rules = np.zeros((0, 0), np.float32), Rules(1, 2)
    outputs = TrajectoryArrays.blank(0, rules, with_probabilities=False)
    example = (rules.tables, State.blank(1, 1, 1), table, table, Linear.blank(rules), outputs, table, table)
    return _follow_linear.compile(tuple(typeof(value) for value in example))


def follow_linear(values: NDArray[np.float32], X: NDArray[np.float32], linear: Linear, rules: Rules) -> Trajectories:
    """Classify the rows of ``X`` with one linear policy; arrays must be contiguous, which is not checked.

    Parameters
    ----------
    values : float32 (n_samples, n_features), scaled
    X : float32 (n_samples, n_features), only its NaN are read
    linear : Linear, one policy
    rules : Rules
    """
    J, wide = rules.n_acquisitions, linear.intercepts.shape[1]
    outputs = TrajectoryArrays.blank(len(X), rules, with_probabilities=False)
    scores, allowed = np.empty((1, wide), np.float32), np.empty((2, wide), np.float32)
    compiled = _compiled_follow_linear()
    compiled(rules.tables, State.blank(1, J, wide), values, X, linear, outputs, scores, allowed)
    return outputs.filled()


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _follow_linear(t, state, values, X, linear, outputs, scores, allowed):
    J = t.costs.size
    for row in range(len(X)):
        mdp.start(t, state, mdp.FIRST, X, row)
        if linear.empty_answer >= 0 and np.sum(state.legal[0, :J]) == 0:
            outputs.answers[row] = linear.empty_answer
            continue
        for a in range(scores.shape[1]):
            scores[0, a] = linear.intercepts[0, a]
        while True:
            action = best_legal(scores, mdp.FIRST, state.legal, mdp.FIRST, linear, mdp.FIRST, allowed)
            if action >= J:
                outputs.answers[row] = action - J
                break
            outputs.order[row, state.n_taken[0]] = action
            mdp.acquire(t, state, mdp.FIRST, action)
            add_acquisition(t, action, values, row, linear, mdp.FIRST, scores)
            for k in range(t.member_first[action], t.member_first[action + 1]):
                i = t.member[k]
                outputs.acquired[row, i] = not np.isnan(X[row, i])


def replay_linear(
    known: NDArray[np.bool_],
    values: NDArray[np.float32],
    legal: NDArray[np.bool_],
    linear: Linear,
    rules: Rules,
    continue_after_stop: bool,
) -> Replayed:
    """As ``agents.replay.replay`` of one linear policy under independent rules, where every known one may come next.

    Parameters
    ----------
    known : bool (n, n_acquisitions), see ``known_acquisitions``
    values : float32 (n, n_features), scaled, NaN where not acquired
    legal : bool (n, n_actions)
    linear : Linear, one policy
    rules : Rules
    continue_after_stop : bool
    """
    J, wide = rules.n_acquisitions, linear.intercepts.shape[1]
    actions, now = np.empty(len(known), np.int64), np.zeros((len(known), wide), np.int8)
    now[:, : rules.n_actions] = legal
    now[:, :J] |= known
    answers = now[:, J : rules.n_actions].copy()
    if continue_after_stop:
        now[:, J:] &= ~now[:, :J].any(axis=1, keepdims=True)
    scores, buffers = np.empty((len(known), wide)), (np.empty((1, wide), np.float32), np.empty((2, wide), np.float32))
    known, values = read_only(known), read_only(values)
    _replay_linear(rules.tables, known, values, now, answers, linear, (actions, scores), buffers)
    return Replayed(actions, known & (now[:, :J] == 0), scores[:, : rules.n_actions])


@njit(cache=True, nogil=True, _nrt=False, fastmath={"contract"})
def _replay_linear(t, known, values, now, answers, linear, outputs, buffers):
    """``now`` are the legal actions; where it has no answers, they become legal after the last acquisition."""
    (actions, last_scores), (scores, allowed) = outputs, buffers
    J = t.costs.size
    for row in range(len(known)):
        n_open = np.sum(now[row, :J])
        for a in range(scores.shape[1]):
            scores[0, a] = linear.intercepts[0, a]
        if n_open == 0 and linear.empty_answer >= 0 and now[row, J + linear.empty_answer] != 0:
            actions[row] = J + linear.empty_answer
            _copy_scores(scores, last_scores, row)
            continue
        while True:
            action = best_legal(scores, mdp.FIRST, now, row, linear, mdp.FIRST, allowed)
            if action >= J or not known[row, action]:
                break
            now[row, action] = 0
            n_open -= 1
            if n_open == 0:
                for k in range(answers.shape[1]):
                    now[row, J + k] = answers[row, k]
            add_acquisition(t, action, values, row, linear, mdp.FIRST, scores)
        actions[row] = action
        _copy_scores(scores, last_scores, row)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _copy_scores(scores, last_scores, row):
    for a in range(scores.shape[1]):
        last_scores[row, a] = scores[0, a]


def best_constant_policy(
    train: Dataset,
    weight: NDArray[np.float64] | None,
    scaling: Scaling,
    rules: Rules,
) -> LinearPolicy:
    """The policy that acquires nothing and always gives the answer with the lowest weighted mean error cost."""
    total = train.n_samples if weight is None else weight.sum()
    shares = np.bincount(train.y, weight, minlength=train.n_classes) / total
    scores = np.full(rules.n_actions, EXCLUDED_SCORE, np.float32)
    scores[rules.n_acquisitions :] = -(rules.answer_costs @ shares)
    return LinearPolicy(np.zeros((rules.n_features, 2, rules.n_actions), np.float32), scores, scaling, rules)
