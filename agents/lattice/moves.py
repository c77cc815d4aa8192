"""Which acquisitions are legal at a subset, their prices, and the cheapest way to a given acquisition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import Rules
from fsgym.rules.states import legal_and_prices

Subset = tuple[int, ...]  # acquisitions, ascending


class Moves:
    """Legal acquisitions at subsets and their prices, as the rules define them.

    Where prices depend on the order of acquisition, a subset counts as acquired in the greedily cheapest order, as in
    ``fsgym.rules.states.legal_and_prices``. The acquisitions of ``base`` are made before those of any subset, and those
    in ``forbidden`` by no row.
    """

    def __init__(self, rules: Rules, base: Subset = (), forbidden: Subset = ()) -> None:
        self.rules, self.base = rules, base
        self.allowed = np.ones(rules.n_acquisitions, bool)
        self.allowed[list(forbidden)] = False
        self._cache: dict[Subset, tuple[NDArray[np.bool_], NDArray[np.float64]]] = {}

    @property
    def direct(self) -> bool:
        """Whether the cheapest way to each legal acquisition is that acquisition alone."""
        return self.rules.related is None and self.rules.prerequisites is None

    def at(self, z: Subset) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which acquisitions are legal, bool (J,), and ``lam`` times their prices, float64 (J,)."""
        if z not in self._cache:
            taken = np.zeros((1, self.rules.n_acquisitions), bool)
            taken[0, [*self.base, *z]] = True
            legal, prices = legal_and_prices(self.rules, taken)
            self._cache[z] = legal[0, : self.rules.n_acquisitions] & self.allowed, prices[0]
        legal, prices = self._cache[z]
        return legal, self.rules.lam * prices

    def price(self, z: Subset, j: int) -> float:
        """The price of acquisition j at z, in the unit of ``costs``."""
        self.at(z)
        return float(self._cache[z][1][j])

    def path(self, z: Subset, j: int) -> tuple[Subset, float] | None:
        """The cheapest way from z to acquisition j: the acquisitions in order and ``lam`` times their price.

        Missing prerequisites come first. With relational prices, a way over one related acquisition may be cheaper
        than the direct one. None if there is no way.
        """
        direct = self._path_through(z, (), j)
        related = self.rules.related
        if related is None:
            return direct
        near = np.flatnonzero(related[[*self._missing_prerequisites(z, j), j]].any(axis=0)).tolist()
        paths = [direct, *(self._path_through(z, (k,), j) for k in near if k != j and k not in z)]
        return min((p for p in paths if p is not None), key=lambda p: p[1], default=None)

    def _path_through(self, z: Subset, first: Subset, j: int) -> tuple[Subset, float] | None:
        """The way from z to j that begins with the acquisitions ``first``; None if one of them is illegal."""
        steps: list[int] = []
        price = 0.0
        for k in [*first, *self._missing_prerequisites(extended(z, first), j), j]:
            here = extended(z, steps)
            legal, prices = self.at(here)
            if not legal[k]:
                return None
            steps.append(k)
            price += prices[k]
        return tuple(steps), float(price)

    def _missing_prerequisites(self, z: Subset, j: int) -> list[int]:
        """Prerequisites of j that z does not contain, in an order in which they can be acquired."""
        if self.rules.prerequisites is None:
            return []
        missing: list[int] = []
        for i in np.flatnonzero(self.rules.prerequisites[j]).tolist():
            if i not in z and i not in self.base:
                missing += [k for k in [*self._missing_prerequisites(z, i), i] if k not in missing]
        return missing


def extended(z: Subset, more: list[int] | Subset) -> Subset:
    """The union of a subset and further acquisitions, in any order."""
    return tuple(sorted({*z, *more}))
