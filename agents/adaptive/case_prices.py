"""Prices by case: the lattice at each vector of prices that many cases have, the mixture at all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate.mixture.classifier import MixturePolicy
from agents.calibration import read_policy
from agents.lattice.policy import LatticePolicy
from agents.policy import DelegatingPolicy, Policy
from agents.tradeoff import Learner
from fsgym.rules import Rules, State
from fsgym.session.step import Advice
from fsgym.session.walk import Walk
from fsgym.support.checks import check_prices

MAX_VECTORS, MIN_SHARE = 8, 0.05  # at how many vectors the lattice is learnt, and their least share of rows; by hand


def frequent_vectors(case_costs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The vectors of prices of at least ``MIN_SHARE`` of the rows, the most frequent ``MAX_VECTORS``.

    Returns
    -------
    vectors : float64 (n_vectors, J)
    which : int64 (n_samples,), the vector of each row, -1 for another one

    Examples
    --------
    >>> frequent_vectors(np.array([[1.0, 2.0]] * 30 + [[1.0, 9.0]]))[0].tolist()
    [[1.0, 2.0]]
    """
    found, of_row, counts = np.unique(case_costs, axis=0, return_inverse=True, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:MAX_VECTORS]
    frequent = frequent[counts[frequent] >= MIN_SHARE * len(case_costs)]
    place = np.full(len(found), -1)
    place[frequent] = np.arange(len(frequent))
    return found[frequent], place[of_row.ravel()]


class CasePricedResult(NamedTuple):
    """What training with prices by case results in."""

    vectors: NDArray[np.float64]  # see ``frequent_vectors``
    which: NDArray[np.int64]  # see ``frequent_vectors``
    at: tuple[Any, ...]  # tuple, what training at each vector results in
    other: Any  # what training with the prices of all cases results in, for the other vectors
    weight: NDArray[np.float64]  # (n_samples,)

    @property
    def limited_by(self) -> str | None:
        """The limit of the lattice, where there is one at any vector."""
        return next((result.limited_by for result in self.at if result.limited_by is not None), None)

    def usage(self) -> dict[str, float]:
        """Weighted means over the rows, each at its own prices; those without a figure count as the others there."""
        means, total = dict.fromkeys(self.other.row_usage(), 0.0), 0.0
        for k, result in (*enumerate(self.at), (-1, self.other)):
            own = np.where(self.which == k, self.weight, 0.0)
            used = result.row_usage()
            counted = np.where(np.isfinite(used["cost"]), own, 0.0)
            if counted.any():
                total += own.sum()
                for name, of_rows in used.items():
                    means[name] += own.sum() * np.average(np.nan_to_num(of_rows), weights=counted)
        return {name: float(mean / total) for name, mean in means.items()}

    def row_losses(self) -> NDArray[np.float64]:
        """The loss of each row at its own prices, float64 (n_samples,)."""
        losses = np.array(self.other.row_losses())
        for k, result in enumerate(self.at):
            rows = self.which == k
            losses[rows] = result.row_losses()[rows]
        return losses


class CasePricedLearner(Learner):
    """Trains one learner at each frequent vector of prices, and another one for all others.

    Parameters
    ----------
    frequent : Learner, that plans with one price for each acquisition
    other : Learner, that plans with prices by case
    case_costs : float64 (n_samples, J)
    weight : float64 (n_samples,), or None for equal weights
    """

    def __init__(
        self, frequent: Learner, other: Learner, case_costs: NDArray[np.float64], weight: NDArray[np.float64] | None
    ) -> None:
        self.frequent, self.other = frequent, other
        self.weight = np.ones(len(case_costs)) if weight is None else weight
        self.vectors, self.which = frequent_vectors(case_costs)

    def learn_at(self, rules: Rules) -> CasePricedResult:
        at = tuple(self.frequent.learn_at(rules.at_prices(costs)) for costs in self.vectors)
        return CasePricedResult(self.vectors, self.which, at, self.other.learn_at(rules), self.weight)

    def finish(self, model: Any, result: CasePricedResult) -> CasePricedPolicy:
        policies = tuple(self.frequent.finish(model, one) for one in result.at)
        other = self.other.finish(model, result.other)
        return CasePricedPolicy(result.vectors, policies, other, other.rules)


class RememberingLearner(Learner):
    """A learner that two others share: training at one ``lam`` happens once."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self._results = learner, dict[float, Any]()

    def learn_at(self, rules: Rules) -> Any:
        if rules.lam not in self._results:
            self._results[rules.lam] = self.learner.learn_at(rules)
        return self._results[rules.lam]

    def finish(self, model: Any, result: Any) -> Policy:
        return self.learner.finish(model, result)


@dataclass(frozen=True, eq=False)
class CasePricedPolicy(DelegatingPolicy):
    """A policy for each of some vectors of prices, and one that plans with any.

    Where nothing is said of the prices of a case, they count as the means.
    """

    kind = "case_prices"
    takes_case_costs = True

    vectors: NDArray[np.float64]  # (n_vectors, J)
    policies: tuple[Policy, ...]  # one for each vector
    other: Policy  # trained with prices by case
    rules: Rules  # with prices by case

    def at_prices(self, costs: NDArray[np.float64]) -> Policy:  # type: ignore[override]
        same = np.flatnonzero((self.vectors == costs).all(axis=1))
        return self.policies[same[0]] if len(same) else self.other.at_prices(costs)

    @property
    def by_prices(self) -> list[tuple[NDArray[np.float64] | None, Policy]]:
        return [*zip(self.vectors, self.policies, strict=True), (None, self.other)]

    @cached_property
    def policy(self) -> Policy:  # type: ignore[override]
        """The policy at the mean prices."""
        return self.at_prices(self.rules.costs)

    def advise(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> Advice:
        return self.policy.advise(acquired, values, legal)

    def walk(self, state: State) -> Walk:
        return self.policy.walk(state)

    @property
    def is_tempered(self) -> bool:
        return any(policy.is_tempered for policy in (*self.policies, self.other))

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        arrays, headers = dict[str, NDArray](), []
        for k, policy in enumerate((*self.policies, self.other)):
            own, header = policy.to_arrays()
            arrays |= {f"{k}.{name}": array for name, array in own.items()}
            headers.append(header)
        return arrays, {"case_costs": self.vectors.tolist(), "policies": headers}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> CasePricedPolicy:
        listed, headers = header["case_costs"], header["policies"]
        if not isinstance(listed, list) or not 0 < len(listed) <= MAX_VECTORS or len(headers) != len(listed) + 1:
            raise ValueError(f"a model with prices by case must have 1 to {MAX_VECTORS} vectors of prices")
        if not rules.costs_by_case:
            raise ValueError("the rules of a model with prices by case must have them, too")
        vectors = np.array([check_prices(costs, rules.names) for costs in listed])
        parts: list[dict[str, NDArray]] = [{} for _ in headers]
        places = {str(k): k for k in range(len(parts))}
        for name, array in arrays.items():
            place, _, own = name.partition(".")
            if place not in places:
                raise ValueError(f"its array {name!r} must be of one of the {len(parts)} policies")
            parts[places[place]][own] = array
        policies = tuple(
            read_policy(LatticePolicy, part, plain, rules.at_prices(costs))
            for part, plain, costs in zip(parts, headers, vectors, strict=False)
        )
        return cls(vectors, policies, read_policy(MixturePolicy, parts[-1], headers[-1], rules), rules)
