"""The decision process as the networks see it: legal candidates with prices, and errors in one unit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.policy import largest_regret
from fsgym.rules import Rules
from fsgym.rules.rules import regrets


@dataclass(frozen=True, eq=False)
class CandidateTask:
    """The rules for the acquisitions that the networks use. The unit of prices and errors is the largest regret."""

    rules: Rules
    candidates: NDArray[np.int64]  # (n_candidates,), ascending

    @cached_property
    def unit(self) -> float:
        """The largest regret, in the unit of error costs."""
        return scaled_regrets(self.rules)[1]

    def errors(self, probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
        """The least expected regret of an answer, float32 (n,), for class probabilities (n, n_classes)."""
        return (probabilities @ self._scaled_regrets).min(axis=1)

    def realised_errors(self, probabilities: NDArray[np.float32], y: NDArray[np.int64]) -> NDArray[np.float32]:
        """The regret of the answers to rows of known class, float32 (n,)."""
        return self._scaled_regrets[y, (probabilities @ self._scaled_regrets).argmin(axis=1)]

    @cached_property
    def _scaled_regrets(self) -> NDArray[np.float32]:
        return scaled_regrets(self.rules)[0]

    def scaled_prices(self, prices: NDArray[np.float64]) -> NDArray[np.float32]:
        """Prices of the candidates in the unit of the task, float32 (..., n_candidates), from all prices.

        ``prices`` are in the unit of error costs. Those that are far too high count as ``MAX_PRICE``.
        """
        return np.minimum(prices[..., self.candidates] / self.unit, const.MAX_PRICE).astype(np.float32)

    @cached_property
    def smallest_price(self) -> float:
        """The smallest price that a candidate can have; where the expected error is below, nothing is worth it."""
        return float(self.rules.lam * self.rules.lowest_costs[self.candidates].min() / self.unit)

    def legal_and_prices(
        self, taken: NDArray[np.bool_], available: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """The legal candidates, bool (n, n_candidates), after those ``taken``, and their prices, float32.

        ``available`` is bool (n, n_candidates); a candidate that is not available does not count as taken.
        """
        taken = taken & available
        everything = np.zeros((len(taken), self.rules.n_acquisitions), bool)
        everything[:, self.candidates] = taken
        legal, prices = self.rules.legal_and_prices(everything)
        return legal[:, self.candidates] & available, self.scaled_prices(self.rules.lam * prices)

    def reachable(self, taken: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
        """``taken`` without the acquisitions that a budget or a prerequisite excludes in most orders."""
        if self.rules.prerequisites is not None:
            needs = self.rules.prerequisites[np.ix_(self.candidates, self.candidates)].astype(np.float32)
            for _ in range(len(self.candidates)):
                excluded = taken & ((~taken).astype(np.float32) @ needs.T > 0)
                if not excluded.any():
                    break
                taken = taken & ~excluded
        if self.rules.budget is not None and self.rules.prerequisites is None:
            counts = self.rules.tables.counts[self.candidates] > 0
            order = np.where(taken & counts, rng.random(taken.shape), np.inf)
            place = np.argsort(np.argsort(order, axis=1), axis=1)
            taken = taken & (~counts | (place < max(self.rules.budget - 1, 0)))
        return taken


def scaled_regrets(rules: Rules) -> tuple[NDArray[np.float32], float]:
    """Regrets, float32 (n_classes, n_answers), in units of the largest one of an answer with a class; and this unit."""
    unit = largest_regret(rules) or 1.0
    return np.ascontiguousarray(regrets(rules.answer_costs).T / unit, np.float32), unit
