"""A policy that stops only where its answer is certain enough for what is promised, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.policy import AdviseRows, DelegatingPolicy, Policy, check_rows, legal_from
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.calibrate import PathRecord
from fsgym.evaluation.evaluate import play_rows
from fsgym.evaluation.promise import Promise, RuleAlone
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import Walk

# (numbers of the rows, acquired, legal, advice, missing) -> actions
ActOnAdvice = Callable[
    [NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_], Advice, NDArray[np.bool_] | None], NDArray[np.int64]
]


@dataclass(frozen=True, eq=False)
class CertainPolicy(DelegatingPolicy):
    """A policy that goes on in the order of another one where that would stop, and is not certain enough.

    Only actions differ from those of the other policy: answers, probabilities and the order are the same. Under rules
    with ``refer_cost`` the answer differs, too, where it is not certain enough and nothing can change it: it refers.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from agents import LatticeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LatticeClassifier(lam=0.01, random_state=0).fit(X[:300, :4], y[:300])
    >>> policy = model.calibrate(min_confidence=0.9).policy_
    >>> type(policy.policy).__name__, policy.promise.min_confidence
    ('LatticePolicy', 0.9)
    """

    kind = "certain"

    policy: Policy  # one with class probabilities
    promise: Promise
    rules: Rules  # those of ``policy``

    def advise(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_] | None = None,
    ) -> Advice:
        """The advice of the policy, with its next acquisition where it would stop and is not certain enough."""
        return self._by_rule(self.policy._informed_advice(acquired, values, legal, missing), acquired, legal, missing)

    def advising(self, n_rows: int) -> AdviseRows:
        advise = self.policy.advising(n_rows)
        return lambda rows, acquired, values, legal, missing: self._by_rule(
            advise(rows, acquired, values, legal, missing), acquired, legal, missing
        )

    def _by_rule(
        self,
        advice: Advice,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_] | None,
    ) -> Advice:
        rules = self.rules
        assert advice.probabilities is not None
        stops = advice.actions >= rules.n_acquisitions
        unsure = stops & ~self.promise.is_certain(advice.answers, advice.probabilities, rules.answer_costs)
        goes_on = unsure & self.policy.can_change(acquired, legal, advice, missing)
        actions = np.where(goes_on, advice.beyond, advice.actions)
        if rules.refer_cost is None:
            return advice._replace(actions=actions)
        referred = unsure & ~goes_on
        return advice._replace(
            actions=np.where(referred, rules.n_acquisitions + rules.n_classes, actions),
            answers=np.where(referred, rules.n_classes, advice.answers),
            stop_cost=np.where(referred, rules.refer_cost, advice.stop_cost),
        )

    def walk(self, state: State, missing: NDArray[np.bool_] | None = None) -> Walk:
        return self._acting_walk(state, missing)

    @property
    def acting(self) -> CertainPolicy:
        """This policy without evidence, which the promise is not about if there is some."""
        acting = self.policy.acting
        if acting is self.policy:
            return self
        promise = RuleAlone.of(self.promise) if len(self.telling) else self.promise
        return CertainPolicy(acting, promise, acting.rules)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Those of the policy, and the promise. Model files have the kind of the policy."""
        arrays, header = self.policy.to_arrays()
        return arrays, {"kind_of_policy": self.policy.kind, "policy": header, "promise": self.promise.as_json()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> CertainPolicy:
        raise ValueError("a policy with a promise is loaded by its classifier")

    def trajectories(
        self, X: ArrayLike, rules: Rules | None = None, *, continue_after_stop: bool = False
    ) -> Trajectories:
        """As ``Policy.trajectories``; under other rules the threshold stays, and the promise does not hold.

        Its answers, and what it asks, are by the costs of errors of its own rules.
        """
        if continue_after_stop and not self.promise.refers:
            return self.policy.trajectories(X, rules, continue_after_stop=True)
        rules = rules or self.rules
        rows = check_rows(rules, X, trained_with=self.rules)
        if continue_after_stop or not np.array_equal(rules.answer_costs, self.rules.answer_costs):
            return _played_on(self, rows, rules, None, continue_after_stop)
        done = self.policy.trajectories(rows, rules)
        assert done.probabilities is not None
        unsure = np.flatnonzero(~self.promise.is_certain(done.answers, done.probabilities, rules.answer_costs))
        if not len(unsure):
            return done
        return _with_rows(done, unsure, _played_on(self, rows[unsure], rules, done.order[unsure]))


def _played_on(
    policy: CertainPolicy,
    X: NDArray[np.float32],
    rules: Rules,
    begun: NDArray[np.int32] | None,
    continue_after_stop: bool = False,
) -> Trajectories:
    """The trajectories of checked rows, which begin with the acquisitions ``begun`` (n, longest), then -1."""
    probabilities = np.empty((len(X), rules.n_classes))

    def act(index: Any, acquired: Any, legal: Any, advice: Advice, missing: Any) -> NDArray[np.int64]:
        probabilities[index] = advice.probabilities
        return np.where(continue_after_stop & (advice.beyond >= 0), advice.beyond, advice.actions)

    return replace(_played(policy, X, rules, act, begun), probabilities=probabilities)


def _with_rows(done: Trajectories, rows: NDArray[np.int64], others: Trajectories) -> Trajectories:
    """Trajectories where some rows are replaced by others, which are not shorter."""
    order = np.full((len(done.order), max(done.order.shape[1], others.order.shape[1])), -1, np.int32)
    order[:, : done.order.shape[1]] = done.order
    order[rows, : others.order.shape[1]] = others.order
    parts = {"order": order}
    for name in ("acquired", "answers", "forfeited", "probabilities"):
        parts[name] = np.array(getattr(done, name))
        parts[name][rows] = getattr(others, name)
    return replace(done, **parts)


def _played(
    policy: Policy,
    X: NDArray[np.float32],
    rules: Rules,
    act: ActOnAdvice,
    begun: NDArray[np.int32] | None = None,
) -> Trajectories:
    """The trajectories of checked rows, with the actions that ``act`` makes of the policy's advice.

    Where it is evidence that a value is missing, NaN is missing. The rows begin with the acquisitions ``begun``
    (n, longest), then -1, for which no advice is asked.
    """
    n, advise = rules.n_features, policy.advising(len(X))
    begun = np.full((len(X), 0), -1, np.int32) if begun is None else begun
    begun = np.concatenate([begun, np.full((len(X), 1), -1, np.int32)], axis=1)
    n_made, longest = np.zeros(len(X), np.int64), begun.shape[1] - 1
    rows = Dataset(X, np.zeros(len(X), np.int64), classes=np.arange(rules.n_classes))
    lacking = np.isnan(X) if len(policy.telling) else None

    def choose(index: NDArray[np.int64], observations: NDArray, legal: NDArray) -> NDArray[np.int64]:
        actions = begun[index, np.minimum(n_made[index], longest)].astype(np.int64)
        n_made[index] += 1
        now = actions < 0
        index, observations, legal = index[now], observations[now], legal[now]
        if len(index):
            acquired, missing = observations[:, :n] > 0.5, None if lacking is None else lacking[index]
            advice = advise(index, acquired, observations[:, n : 2 * n], legal, missing)
            actions[now] = act(index, acquired, legal, advice, missing)
        return actions

    return play_rows(choose, rows, rules)


def record_paths(policy: Policy, X: NDArray[np.float32]) -> PathRecord:
    """What a policy says about checked rows (n, n_features) at each step, where it goes on past its stops.

    A row ends where the policy stops and nothing can change any more.
    """
    J = policy.rules.n_acquisitions
    parts: list[tuple[NDArray, ...]] = []
    n_steps = np.zeros(len(X), np.int64)

    def act(index: Any, acquired: Any, legal: Any, advice: Advice, missing: Any) -> NDArray[np.int64]:
        assert advice.probabilities is not None
        stops = advice.actions >= J
        parts.append((index, n_steps[index], stops, advice.answers, advice.probabilities))
        n_steps[index] += 1
        return np.where(stops & policy.can_change(acquired, legal, advice, missing), advice.beyond, advice.actions)

    done = _played(policy, X, policy.rules, act)
    rows, lengths, stops, answers, probabilities = (np.concatenate(p) for p in zip(*parts, strict=True))
    order = np.lexsort((lengths, rows))
    first = np.concatenate([[0], np.cumsum(n_steps)])
    return PathRecord(first, stops[order], answers[order], probabilities[order], lengths[order], done.order)


WITH_PROBABILITIES = "LatticeClassifier, MixtureClassifier, AnyStateNetworkClassifier and AdaptiveClassifier"


def check_probabilities(policy: Policy, name: str) -> None:
    """ValueError where a policy, that of a classifier of this name, has no class probabilities."""
    nothing, rules = np.zeros((1, policy.rules.n_features), bool), policy.rules
    if policy.advise(nothing, nothing.astype(np.float32), legal_from(nothing, rules)).probabilities is None:
        raise ValueError(f"calibrate needs class probabilities, which {WITH_PROBABILITIES} have, and {name} has not")
