"""When to stop: two limits, chosen on held-out rows by their mean loss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class StopLimits(NamedTuple):
    """A policy goes on while its need is above the threshold and fewer acquisitions are made than the longest."""

    threshold: float
    longest: int


class HeldOutStates(NamedTuple):
    """The states of held-out rows after 0, 1, ... acquisitions; a row that ends early stays in its last state."""

    need: NDArray[np.float64]  # (n_rows, n_states), by which the policy decides whether to go on
    error_cost: NDArray[np.float64]  # (n_rows, n_states), of the answer in each state
    spent: NDArray[np.float64]  # (n_rows, n_states), total price so far, in the unit of ``costs``
    n_features: NDArray[np.float64]  # (n_rows, n_states)
    lengths: NDArray[np.int64]  # (n_rows,), the number of acquisitions after which a row ends
    weight: NDArray[np.float64]  # (n_rows,), of sum 1

    def ends(self, limits: StopLimits) -> NDArray[np.int64]:
        """The number of acquisitions after which each row is answered, int64 (n_rows,)."""
        stops = self.need <= limits.threshold
        stops[:, -1] = True
        return np.minimum(np.minimum(stops.argmax(axis=1), limits.longest), self.lengths)

    def mean(self, figures: NDArray[np.float64], limits: StopLimits) -> float:
        """The weighted mean of a figure (n_rows, n_states) where the rows are answered."""
        return float(self.weight @ figures[np.arange(len(figures)), self.ends(limits)])


def best_limits(
    states: HeldOutStates, thresholds: Iterable[float], lengths: Iterable[int], lam: float
) -> tuple[StopLimits, float]:
    """The limits with the lowest mean loss, error cost plus ``lam`` times price, and this loss.

    Of equal ones, those with the fewest features.
    """
    losses = states.error_cost + lam * states.spent
    tried = {limits: None for longest in lengths for limits in (StopLimits(t, longest) for t in thresholds)}
    ranked = {
        limits: (round(states.mean(losses, limits), 12), states.mean(states.n_features, limits)) for limits in tried
    }
    best = min(ranked, key=lambda limits: ranked[limits])
    return best, ranked[best][0]
