"""The protocol of a policy, which all agents learn and all callers use: states in, legal actions out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import play, values_shown
from fsgym.rules import Rules, State
from fsgym.rules.rules import regrets
from fsgym.session.step import Advice
from fsgym.session.walk import ActingWalk, Walk
from fsgym.support.arrays import read_only

# Largest loss of one episode, in units of ``error_costs``. Returns are single precision, where sums of squares must
# not overflow (3e38), and the scores of RCPI must stay far above that of an excluded action (-1e30).
MAX_LOSS = 1e9
MIN_UNIT, MAX_UNIT = float(np.finfo(np.float64).tiny), 2 * MAX_LOSS  # of regrets


MAX_PREFERENCE = 1e300  # preferences are clipped at minus it, above those of illegal acquisitions
# (numbers of the rows, acquired, values, legal, missing) -> the advice, see ``Policy.advising``
AdviseRows = Callable[
    [NDArray[np.int64], NDArray[np.bool_], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_] | None], Advice
]
# (acquired, values, legal) -> actions, as ``Policy.actions``
ChooseActions = Callable[[NDArray[np.bool_], NDArray[np.float32], NDArray[np.bool_]], NDArray[np.int64]]


class Policy(ABC):
    """A trained policy, which maps a batch of states to actions. Each kind of policy is a subclass with three methods:
    ``advise``, ``to_arrays`` and ``from_arrays``.

    Attributes
    ----------
    kind : str
        Class attribute: the name of this kind of policy in model files.
    takes_case_costs : bool
        Class attribute: whether its rules may have prices by case, so that it has ``at_prices``.
    rules : Rules
        The rules it was trained with. ``agents.model_file`` saves them, the subclass saves everything else.

    See Also
    --------
    agents.BaseAgentClassifier : the classifier around a policy.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from agents import DatumWiseClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> policy = DatumWiseClassifier(lam=0.01, n_iterations=2, random_state=0).fit(X[:, :2], y).policy_
    >>> acquired = np.array([[False, False], [True, True]])  # of two features, in two states
    >>> values = np.array([[0, 0], [12, 3]], np.float32)
    >>> policy.actions(acquired, values, np.ones((2, 5), bool))  # acquires the first feature; answers class 1
    array([0, 3])
    """

    kind: ClassVar[str]
    takes_case_costs: ClassVar[bool] = False
    rules: Rules

    def at_prices(self, costs: NDArray[np.float64]) -> Self:
        """This policy for cases with the prices ``costs``, float64 (J,), in the unit of ``costs`` of the rules.

        Its rules have one price for each acquisition. Only a policy that was trained with prices by case has it.
        """
        raise ValueError(f"a policy of {self.kind!r} plans with one price for each acquisition, not those of the case")

    @property
    def by_prices(self) -> list[tuple[NDArray[np.float64] | None, Policy]]:
        """The policies of some lists of prices, float64 (J,), and with None that of all others; by default itself."""
        return [(None, self)]

    @property
    def telling(self) -> NDArray[np.int64]:
        """The features for which it is evidence that a value is missing, int64 (n_telling,); none by default.

        If there are any, ``advise``, ``actions``, ``state_probabilities`` and ``walk`` take ``missing``, bool
        (n, n_features): which values of each case are missing, where all of this is known.
        """
        return np.zeros(0, np.int64)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        """What the policy decides in each of n states, and what it rests on; a subclass implements this.

        Any state is valid. Acquired values that the policy did not acquire itself were known in advance, at no cost. An
        acquisition that is neither acquired nor legal cannot be obtained: its value is missing, was acquired without a
        result, is not offered or is not affordable. The policy then takes its next best action. It does not answer
        because a value is known or cannot be obtained, if it prefers another acquisition to the answer. A group of
        which only some values are known can still be acquired, at its full price.

        A subclass may have ``actions`` instead; the ranking is then the order in which it goes on if what it prefers
        cannot be obtained, without estimates of costs.

        Parameters
        ----------
        acquired : bool (n, n_features), the mask z
        values : float32 (n, n_features), read only where ``acquired`` is True; NaN is unavailable
        legal : bool (n, n_actions)

        See Also
        --------
        agents.replay.replay : an implementation for any deterministic policy.
        """
        if type(self).actions is Policy.actions:
            raise NotImplementedError(f"{type(self).__name__} must have the method advise, as all policies")
        J, n = self.rules.n_acquisitions, len(acquired)
        rows, remaining = np.arange(n), np.array(legal, dtype=bool)
        preference = np.full((n, J), -np.inf)
        for rank in range(J):
            best = self.actions(acquired, values, remaining, continue_after_stop=True)
            acquires = best < J
            if not acquires.any():
                break
            preference[rows[acquires], best[acquires]] = -rank
            remaining[rows[acquires], best[acquires]] = False
        remaining[:, :J] = False
        answers = self.actions(acquired, values, remaining) - J
        actions = self.actions(acquired, values, legal)
        beyond = np.where(preference.max(axis=1) == 0, preference.argmax(axis=1), J)
        proba = self.state_probabilities(acquired, values)
        return complete_advice(actions, beyond, answers, legal, preference, self.rules, proba)

    def actions(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        *,
        continue_after_stop: bool = False,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """The action in each of n states, int64 (n,); parameters as for ``advise``.

        Parameters
        ----------
        continue_after_stop : bool, default False
            Whether to continue where the policy would answer: the action is the acquisition that the policy prefers,
            and an answer only where no acquisition is legal.
        missing : bool (n, n_features), optional, see ``telling``
        """
        advice = self._informed_advice(acquired, values, legal, missing)
        if not continue_after_stop:
            return advice.actions
        return np.where(advice.beyond >= 0, advice.beyond, self.rules.n_acquisitions + advice.answers)

    def can_change(
        self,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        advice: Advice,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        """Whether to go on after a stop where it is not certain enough, bool (n,): wherever an acquisition is legal.

        A subclass may exclude states from which on no answer changes. Parameters are as for ``advise``, with what it
        returned for them.
        """
        return advice.beyond >= 0

    def state_probabilities(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64] | None:
        """Class probabilities given the acquired values of n states, float64 (n, n_classes); None without a model.

        By default those of ``advise`` where nothing can be acquired, with parameters as there; a policy with a
        classifier for each subset has those of the acquired one.
        """
        if type(self).advise is Policy.advise:
            return None
        answers_only = np.arange(self.rules.n_actions) >= self.rules.n_acquisitions
        legal = np.tile(answers_only, (len(acquired), 1))
        return self._informed_advice(acquired, values, legal, missing).probabilities

    def _informed_advice(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_] | None,
    ) -> Advice:
        said: Any = {} if missing is None else {"missing": missing}
        return self.advise(acquired, values, legal, **said)

    def advising(self, n_rows: int) -> AdviseRows:
        """``advise`` for rows that go on step by step, with their numbers, below ``n_rows``, before the states.

        What is known of a row stays as it was at later steps. A subclass may override it, to remember what it computed.
        """
        return lambda rows, acquired, values, legal, missing: self._informed_advice(acquired, values, legal, missing)

    def walk(self, state: State) -> Walk:
        """Begin with nothing acquired in each of n states, started under ``rules``; see ``fsgym.session.walk.Walk``.

        A subclass may override it to be faster.
        """
        return self._acting_walk(state)

    def _acting_walk(self, state: State, missing: NDArray[np.bool_] | None = None) -> Walk:
        """The walk by ``actions``; ``missing`` is as for ``advise``, of all cases."""

        def act(acquired: Any, values: Any, legal: Any, *missing: Any) -> NDArray[np.int64]:
            known: Any = {"missing": missing[0]} if missing else {}
            return self.actions(acquired, values.astype(np.float32), legal, **known)

        return ActingWalk(act, self.rules, state, missing)

    @property
    def acting(self) -> Policy:
        """The policy that decides: this one, or the one that it delegates to."""
        return self

    @property
    def is_tempered(self) -> bool:
        """Whether temperatures are applied to the class probabilities, see ``agents.calibration``; no by default."""
        return False

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Everything except the rules: arrays by name, and other values as plain JSON."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> Self:
        """The policy from what ``to_arrays`` returned; one of ``agents.model_file.DAMAGE_ERRORS`` if it is invalid."""

    def trajectories(
        self, X: ArrayLike, rules: Rules | None = None, *, continue_after_stop: bool = False
    ) -> Trajectories:
        """Classify the rows of ``X`` (n_samples, n_features); each feature is read only after it is acquired.

        ``rules`` replaces the rules it was trained with, for instance to use another budget; groups and classes must
        be the same. Its questions and answers stay those that pay by the costs that it was trained with. With
        ``continue_after_stop`` each row acquires until no acquisition is legal, see ``actions``. Raises ValueError if
        ``X`` has another shape, or missing values that the rules do not allow.
        """
        rules = rules or self.rules
        rows = check_rows(rules, X, trained_with=self.rules)
        if self.rules.costs_by_case:  # nothing is said of the prices: they count as usual
            usual = self.at_prices(rules.costs)
            return usual.trajectories(X, rules.at_prices(), continue_after_stop=continue_after_stop)
        if not continue_after_stop:
            return self._trajectories(rows, rules)
        return self._played(rows, rules, partial(self.actions, continue_after_stop=True))

    def _trajectories(self, X: NDArray[np.float32], rules: Rules) -> Trajectories:
        """As ``trajectories`` to the first answer, for checked rows; a subclass may override it to be faster."""
        return self._played(X, rules, self.actions)

    def _played(self, X: NDArray[np.float32], rules: Rules, choose: ChooseActions) -> Trajectories:
        done = self._play(X, rules, choose)
        return replace(done, probabilities=self.state_probabilities(done.acquired, values_shown(done.acquired, X)))

    def trajectories_by_case(
        self,
        X: NDArray[np.float32],
        case_costs: NDArray[np.float64],
        *,
        continue_after_stop: bool = False,
    ) -> Trajectories:
        """As ``trajectories``, each row at its own prices, float64 (n_samples, J)."""
        cases, which = np.unique(case_costs, axis=0, return_inverse=True)
        which = which.ravel()
        parts, places = [], []
        for k, case in enumerate(cases):
            rows = np.flatnonzero(which == k)
            policy = self.at_prices(case)
            parts.append(policy.trajectories(X[rows], policy.rules, continue_after_stop=continue_after_stop))
            places.append(rows)
        return joined(parts, np.argsort(np.concatenate(places), kind="stable"))

    @staticmethod
    def _play(X: NDArray[np.float32], rules: Rules, choose: ChooseActions) -> Trajectories:
        """The trajectories of checked rows with the actions that ``choose(acquired, values, legal)`` returns."""
        n = rules.n_features
        unlabelled = Dataset(X, np.zeros(len(X), np.int64), classes=np.arange(rules.n_classes))
        return play(lambda obs, legal: choose(obs[:, :n] > 0.5, obs[:, n : 2 * n], legal), unlabelled, rules)


def joined(parts: Sequence[Trajectories], order: NDArray[np.int64]) -> Trajectories:
    """The trajectories of several parts of rows, one behind the other, in another order of the rows."""
    longest = max(part.order.shape[1] for part in parts)
    padded = [np.pad(p.order, ((0, 0), (0, longest - p.order.shape[1])), constant_values=-1) for p in parts]
    probabilities = None
    if all(part.probabilities is not None for part in parts):
        probabilities = np.concatenate([np.asarray(part.probabilities) for part in parts])[order]
    return Trajectories(
        np.concatenate(padded)[order],
        np.concatenate([part.acquired for part in parts])[order],
        np.concatenate([part.answers for part in parts])[order],
        np.concatenate([part.forfeited for part in parts])[order],
        probabilities=probabilities,
    )


class DelegatingPolicy(Policy):
    """A policy that is as another one, ``policy``, but for what a subclass changes."""

    policy: Policy

    @property
    def telling(self) -> NDArray[np.int64]:
        return self.policy.telling

    @property
    def is_tempered(self) -> bool:
        return self.policy.is_tempered

    def can_change(
        self,
        acquired: NDArray[np.bool_],
        legal: NDArray[np.bool_],
        advice: Advice,
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.bool_]:
        return self.policy.can_change(acquired, legal, advice, missing)

    def state_probabilities(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        missing: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.float64] | None:
        known: Any = {} if missing is None else {"missing": missing}
        return self.policy.state_probabilities(acquired, values, **known)


def check_fits(rules: Rules, trained_with: Rules) -> None:
    """ValueError if a policy cannot act under the rules, as it was trained with others."""
    if rules.groups != trained_with.groups:
        raise ValueError(
            "a policy acts under rules with the groups that it was trained with, got others; train it again"
        )
    if rules.n_classes != trained_with.n_classes:
        raise ValueError(
            f"a policy acts under rules with the classes, or bins of a numeric target, that it was trained with, which "
            f"are {trained_with.n_classes}, got {rules.n_classes}; train it again, or pass its classifier, which knows "
            "its own"
        )
    rules.check_order_of(trained_with)
    if rules.n_answers != trained_with.n_answers:
        raise ValueError("the rules and those that the policy was trained with must both have a refer_cost, or neither")


def check_rows(rules: Rules, X: ArrayLike, trained_with: Rules) -> NDArray[np.float32]:
    """The rows to classify as a read-only float32 array; ValueError if they or the rules do not fit the policy."""
    check_fits(rules, trained_with)
    with np.errstate(over="ignore"):
        rows = read_only(X, np.float32)
    if rows.ndim != 2 or rows.shape[1] != rules.n_features:
        raise ValueError(f"X must have shape (n_samples, {rules.n_features}), got {rows.shape}")
    if rules.missing == "error" and np.isnan(rows).any():
        raise ValueError("X has missing values, which missing='error' does not allow; use missing='unavailable'")
    return rows


def known_acquisitions(acquired: NDArray[np.bool_], legal: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """The acquisitions that need not be paid any more, bool (n, n_acquisitions).

    These are the acquisitions whose features are all acquired, and those of which some are acquired and no more can be.
    The rest of a group that is known in part comes with the acquisition of the whole group.
    """
    some = rules.acquisitions_of(acquired)
    if rules.n_acquisitions == rules.n_features:
        return some
    complete = np.stack([acquired[:, list(group)].all(axis=1) for group in rules.groups], axis=1)
    return complete | (some & ~legal[:, : rules.n_acquisitions])


def largest_regret(rules: Rules) -> float:
    """The largest of an answer with a class, in the unit of error costs; 0 where no error costs anything."""
    return float(regrets(rules.answer_costs)[: rules.n_classes].max())


def error_unit(rules: Rules) -> float:
    """The geometric mean of the regrets of errors: learning in this unit decides the same in every currency.

    1 where no error costs anything. Measured on four tables, three splits and two prices, a missed class 5 and 25 times
    as dear: mean losses of the lattice and of the mixture .481 and .514, in units of the largest regret .483 and .528.
    """
    of_errors = regrets(rules.answer_costs)[: rules.n_classes]
    of_errors = of_errors[of_errors >= MIN_UNIT]
    return float(np.exp2(np.log2(of_errors).mean())) if of_errors.size else 1.0


def legal_from(acquired: NDArray[np.bool_], rules: Rules) -> NDArray[np.bool_]:
    """The legal actions, bool (n, n_actions), as far as the mask ``acquired``, bool (n, n_features), determines them.

    The mask shows neither which values are missing nor, if prices depend on the order, what was spent: no value counts
    as missing, and the acquisitions count as made in the greedily cheapest order.
    """
    return rules.legal_and_prices(rules.acquisitions_of(acquired))[0]


def complete_advice(
    actions: NDArray[np.int64],
    beyond: NDArray[np.int64],
    answers: NDArray[np.int64],
    legal: NDArray[np.bool_],
    preference: NDArray[np.float64],
    rules: Rules,
    probabilities: NDArray[np.float64] | None,
) -> Advice:
    """Advice without estimates of going on, where every known value is used.

    ``beyond`` are actions with ``continue_after_stop``; ``preference`` (n, J) may be anything where not legal. Stopping
    costs what the probabilities let expect of the answers, if there are any.
    """
    n, J = len(actions), rules.n_acquisitions
    ranked = np.where(legal[:, :J], np.maximum(preference, -MAX_PREFERENCE), -np.inf)
    stop_cost = np.full(n, np.nan)
    if probabilities is not None:
        stop_cost = (probabilities * rules.answer_costs[answers]).sum(axis=1)
    beyond, unused = np.where(beyond < J, beyond, -1), np.zeros((n, rules.n_features), bool)
    return Advice(actions, beyond, answers, ranked, np.full((n, J), np.nan), stop_cost, probabilities, unused)
