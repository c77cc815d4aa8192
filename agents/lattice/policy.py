"""The policy that the lattice agent learns: at each subset a decision and a classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from agents.lattice import inference
from agents.lattice.constants import TIE_TOLERANCE
from agents.lattice.inference import DecisionCosts, KnownStates, RowBuffers, outlook_in_states
from agents.lattice.plan import Continuation, Plan, check_continuation, check_plan
from agents.policy import AdviseRows, Policy, complete_advice, known_acquisitions
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import Walk, acquire_or_miss
from fsgym.support.arrays import read_only, read_only_fields


@dataclass(frozen=True, eq=False)
class LatticePolicy(Policy):
    """At each subset of the acquisitions, predict with the classifier of that subset or acquire one more.

    Attributes
    ----------
    taken : bool (n_subsets, n_acquisitions), the empty subset first, no larger one before a smaller
    plan : Plan
    continuation : Continuation
    rules : Rules

    Raises
    ------
    ValueError
        If the arrays do not fit each other or the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> policy = LatticeClassifier(lam=0.05, random_state=0).fit(X[:, [6, 10]], y).policy_
    >>> policy.taken[0].tolist()  # nothing acquired
    [False, False]
    >>> policy.actions(np.zeros((1, 2), bool), np.zeros((1, 2), np.float32), np.ones((1, 5), bool)).tolist()
    [0]
    """

    kind = "lattice"

    taken: NDArray[np.bool_]
    plan: Plan
    continuation: Continuation
    rules: Rules

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", read_only_fields(self.plan))
        object.__setattr__(self, "continuation", read_only_fields(self.continuation))
        check_plan(self.taken, self.plan, self.rules)
        check_continuation(self.taken, self.plan.cells, self.continuation, self.rules)

    def __reduce__(self) -> tuple[type[LatticePolicy], tuple[Any, ...]]:
        return type(self), (self.taken, self.plan, self.continuation, self.rules)  # copies are read-only, too

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """The advice in n states; parameters as for ``Policy.advise``.

        A state that the policy itself can reach is one of its subsets. In any other state something was known in
        advance: the policy starts from the subset of known acquisitions at which the expected loss is lowest, and
        moves on at no cost as long as it knows the next acquisition. It then answers from the known subset at which
        answers cost least.

        Expected costs are those of the dynamic programme: stopping now plus the predicted advantage of the acquisition,
        which is no larger than it can be: its price and the lowest error cost remain. Before anything is known they are
        means over the training rows. There is none of the acquisition to make where it is above the cost of stopping:
        all rows go on there, as that is better on average. Where more is known than the subset from which the policy
        goes on, probabilities are those of the best known subset, and there are no estimates of going on.
        Values outside of the subset that the probabilities are of are unused.
        """
        buffers = inference.row_buffers(self.plan, self.rules.n_classes)
        return self._advice(np.zeros(0, np.int64), acquired, values, legal, buffers)

    def advising(self, n_rows: int) -> AdviseRows:
        """As ``Policy.advising``; the probabilities of a row are computed once at each subset."""
        buffers = inference.row_buffers(self.plan, self.rules.n_classes, n_rows)
        return lambda rows, acquired, values, legal, missing: self._advice(rows, acquired, values, legal, buffers)

    def _advice(
        self,
        rows: NDArray[np.int64],
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        buffers: RowBuffers,
    ) -> Advice:
        J = self.rules.n_acquisitions
        states = self._known_states(acquired, values, legal)
        found = outlook_in_states(self.plan, self.continuation, states, self.rules, self._costs, buffers, rows)
        order = np.lexsort((-found.preference, np.nan_to_num(found.expected, nan=np.inf)))
        ranked = np.empty(order.shape)
        np.put_along_axis(ranked, order, -np.arange(J, dtype=np.float64), axis=1)
        beyond = np.where(found.beyond >= 0, found.beyond, J)
        advice = complete_advice(found.actions, beyond, found.answers, legal, ranked, self.rules, found.proba)
        used = self.taken[found.places][:, self.rules.acquisition_of_features]
        return advice._replace(expected=found.expected, unused=acquired & ~used)

    def can_change(
        self,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        advice: Advice,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """As ``Policy.can_change``, but only where a held subset can be reached at which answers cost less.

        Acquisitions beyond these subsets change nothing. What still lacks a prerequisite counts as available.
        """
        known, rules = self.rules.acquisitions_of(acquired), self.rules
        available = known | np.asarray(legal[:, : rules.n_acquisitions], bool)
        if rules.prerequisites is not None:
            available |= ~known @ rules.prerequisites.T
        if rules.forbids_unrelated:
            available[:] = True
        used = np.packbits(rules.acquisitions_of(acquired & ~advice.unused), axis=1)
        cost = np.array([self._cost_of_subset[mask.tobytes()] for mask in used])
        out_of_reach = (~available).astype(np.float32) @ self.taken.T.astype(np.float32) > 0
        lowest = np.where(out_of_reach, np.inf, self.continuation.answer_cost).min(axis=1)
        return (advice.beyond >= 0) & (lowest < cost - TIE_TOLERANCE)

    @cached_property
    def _costs(self) -> DecisionCosts:
        """The costs by which it decides, from the prices at each subset."""
        rules, p, c = self.rules, self.plan, self.continuation
        prices = rules.lam * rules.next_prices(self.taken[:, rules.acquisition_of_features])
        moves = prices[np.repeat(np.arange(len(prices)), np.diff(p.child_first)), p.acquisition]
        backups = prices[np.repeat(np.arange(len(prices)), np.diff(c.backup_first)), c.backup_acquisition]
        answers = rules.answer_costs
        return DecisionCosts(answers, float(answers.min()), read_only(moves), read_only(backups))

    @cached_property
    def _cost_of_subset(self) -> dict[bytes, float]:
        """The mean cost of answers at each held subset, by its mask in bits."""
        masks = (mask.tobytes() for mask in np.packbits(self.taken, axis=1))
        return dict(zip(masks, self.continuation.answer_cost.tolist(), strict=True))

    def walk(self, state: State) -> Walk:
        """As ``Policy.walk``; slower with a base, of which a case may turn out to lack a part after it has begun."""
        if len(self.continuation.base):
            return super().walk(state)
        return LatticeWalk(self.plan, self.continuation, self.rules, self._costs, state)

    def _known_states(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]
    ) -> KnownStates:
        n_acquisitions = self.rules.n_acquisitions
        allowed = np.array(legal, dtype=np.int8)
        known = known_acquisitions(acquired, allowed != 0, self.rules)
        revealed = np.ascontiguousarray(known[:, self.rules.acquisition_of_features])
        X = read_only(np.where(revealed & acquired, values, np.nan), np.float32)
        usable = known | (allowed[:, :n_acquisitions] != 0)
        masks = (np.ascontiguousarray(known), revealed, X, np.ascontiguousarray(allowed), usable.astype(np.int8, "C"))
        return KnownStates(*masks)

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays = {f"plan.{name}": array for name, array in self.plan._asdict().items()}
        arrays |= {f"continuation.{name}": array for name, array in self.continuation._asdict().items()}
        return arrays | {"taken": self.taken.astype(np.uint8)}, {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> LatticePolicy:
        plan, taken = (
            Plan(**{name: arrays[f"plan.{name}"] for name in Plan._fields}),
            arrays["taken"],
        )
        continuation = Continuation(**{name: arrays[f"continuation.{name}"] for name in Continuation._fields})
        if taken.dtype != np.uint8 or taken.ndim != 2 or (taken > 1).any():
            raise ValueError("the subsets must be a table of 0 and 1")
        return cls(taken.astype(bool), plan, continuation, rules)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities given the acquired values at the end of each episode, float64 (n_samples, n_classes)."""
        probabilities = self.trajectories(X).probabilities
        assert probabilities is not None
        return probabilities

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        return inference.follow_plan(self.plan, self.continuation, X, rules, self._costs)


# Many cases under a lattice policy without a base, which moves from subset to subset.


class LatticeWalk:
    """See ``fsgym.session.walk.Walk``.

    Parameters
    ----------
    plan : Plan
    continuation : Continuation
    rules : Rules
    costs : DecisionCosts
    state : State of n cases, started
    """

    def __init__(
        self, plan: Plan, continuation: Continuation, rules: Rules, costs: DecisionCosts, state: State
    ) -> None:
        self.plan, self.continuation, self.rules, self.costs, self.state = plan, continuation, rules, costs, state
        n = len(state.spent)
        self.values = np.full((n, rules.n_features), np.nan, np.float32)
        self.place, self.child = np.zeros(n, np.int64), np.zeros(n, np.int64)  # its subset, that after what it asks for
        self.buffers = inference.row_buffers(plan, rules.n_classes)

    def begin(self) -> NDArray[np.int64]:
        rows = np.arange(len(self.place))
        return self._advance(rows, -1, np.empty((len(rows), 0), np.float32), np.ones(len(rows), bool))

    def go_on(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float64], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        return self._advance(rows, j, numbers.astype(np.float32), brought)

    def _advance(
        self, rows: NDArray[np.int64], j: int, numbers: NDArray[np.float32], brought: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        actions = np.empty(len(rows), np.int64)
        arrays = self.values, self.place, self.child
        policy = self.plan, self.continuation, self.buffers, self.costs
        _advance_lattice(self.rules.tables, self.state, rows, j, (numbers, brought), policy, arrays, actions)
        return actions


@njit(cache=True, nogil=True, _nrt=False)
def _advance_lattice(t, state, rows, j, news, policy, arrays, actions):
    (numbers, brought), (p, c, b, d), (values, place, child) = news, policy, arrays
    J = t.costs.size
    for k in range(len(rows)):
        e = rows[k]
        if j >= 0:
            acquire_or_miss(t, state, e, j, brought[k])
            for m in range(numbers.shape[1]):
                values[e, t.member[t.member_first[j] + m]] = numbers[k, m]
            if brought[k]:
                place[e] = child[e]
        inference.encode_values_of(p, b, values, e, place[e])
        actions[k], child[e] = inference.choose_move(p, c, b, place[e], state.legal, e, d)
        if actions[k] < 0:
            actions[k] = J + inference.cheapest_answer(b.proba, d.answers)
