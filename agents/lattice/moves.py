"""What may be acquired at a subset, and for how much: the rules of the process, asked for one set of acquisitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.policy import legal_and_prices
from fsgym.rules import Rules

Subset = tuple[int, ...]  # acquisitions, ascending


class Moves:
    """Single acquisitions from subsets, their prices in units of loss.

    What was spent at a subset is taken from the greedily cheapest order, as everywhere where only a set is known.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._known: dict[Subset, tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}

    def at(self, z: Subset) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which acquisitions are legal, bool (J,), and ``lam`` times their prices, float64 (J,)."""
        if z not in self._known:
            taken = np.zeros((1, self.rules.n_acquisitions), bool)
            taken[0, list(z)] = True
            legal, prices = legal_and_prices(taken, self.rules)
            self._known[z] = legal[0, : self.rules.n_acquisitions], prices[0]
        legal, prices = self._known[z]
        return legal, self.rules.lam * prices

    def price(self, z: Subset, j: int) -> float:
        """The price of acquisition j at z, in the unit of ``costs``."""
        self.at(z)
        return float(self._known[z][1][j])

    def path(self, z: Subset, j: int) -> tuple[Subset, float] | None:
        """The acquisitions that lead from z to j, prerequisites first, and their price; None where there is no way.

        Under relational prices it may be cheaper to acquire something else first that j is related to.
        """
        direct = self._walk(z, (), j)
        related = self.rules.related
        if related is None:
            return direct
        near = np.flatnonzero(related[[*self._needs(z, j), j]].any(axis=0)).tolist()
        ways = [direct, *(self._walk(z, (k,), j) for k in near if k != j and k not in z)]
        return min((w for w in ways if w is not None), key=lambda w: w[1], default=None)

    def _walk(self, z: Subset, first: Subset, j: int) -> tuple[Subset, float] | None:
        """The way from z to j that begins with ``first``."""
        steps: list[int] = []
        price = 0.0
        for k in [*first, *self._needs(with_(z, first), j), j]:
            here = with_(z, steps)
            legal, prices = self.at(here)
            if not legal[k]:
                return None
            steps.append(k)
            price += prices[k]
        return tuple(steps), float(price)

    def _needs(self, z: Subset, j: int) -> list[int]:
        """Prerequisites of j that z does not hold, in an order in which they can be made."""
        if self.rules.prerequisites is None:
            return []
        found: list[int] = []
        for i in np.flatnonzero(self.rules.prerequisites[j]).tolist():
            if i not in z:
                found += [k for k in [*self._needs(z, i), i] if k not in found]
        return found


def with_(z: Subset, more: list[int] | Subset) -> Subset:
    """The subset with some acquisitions more."""
    return tuple(sorted({*z, *more}))
