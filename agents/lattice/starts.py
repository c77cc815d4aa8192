"""Where a policy starts if values are known in advance: the value of each subset, and what known values save there."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.moves import Subset
from agents.lattice.sweep import SweepPolicy, weighted_standard_error


class Start(NamedTuple):
    """What is expected of a row that starts at a subset, whose acquisitions cost it nothing.

    Attributes
    ----------
    value : float
        Mean loss of the training rows. A subset other than the empty one has standard errors of its difference to that
        one added, since the lowest of many estimates is taken.
    savings : list of (acquisition, float), how much lower the mean is if that acquisition costs nothing either
    """

    value: float
    savings: list[tuple[int, float]]


def evaluate_start(policy: SweepPolicy, z: Subset) -> Start:
    """Roll training rows out from a subset."""
    data = policy.lattice.data
    rows = slice(None, None, -(-len(data.y) // const.MAX_START_ROWS))
    weight = data.weighted(np.ones(len(data.y)))[rows]
    weight = weight / weight.sum()
    paid: dict[int, float] = {}
    arrivals: dict[Subset, NDArray[np.bool_]] = {z: np.ones(len(weight), bool)}
    while arrivals:
        here = min(arrivals, key=lambda q: (len(q), q))
        choice, arrived = policy.choices[here], arrivals.pop(here)
        for k, (j, q, price) in enumerate(choice.children):
            going = arrived & (choice.next_child[rows] == k)
            if going.any():
                paid[j] = paid.get(j, 0.0) + price * float(weight @ going)
                arrivals[q] = arrivals[q] | going if q in arrivals else going
    value, error = policy.choices[z].value[rows], 0.0
    if z:
        error = weighted_standard_error(value - policy.choices[()].value[rows], weight)
    savings = [(j, v) for j, v in sorted(paid.items()) if v > 0 and j not in z]
    return Start(float(weight @ value) + const.START_ERRORS * error, savings)


def useful_starts(policy: SweepPolicy, closure: Callable[[list[Subset]], list[Subset]]) -> list[Subset]:
    """Small subsets beyond the reachable ones from which a row that knows them in advance has a lower loss.

    That is lower than from the empty subset with these values at no cost. The best ones are taken until the subsets
    that the policy needs from there on are as many as the limit allows.

    Parameters
    ----------
    policy : SweepPolicy
    closure : callable, list of starts -> list of the subsets that can be reached from them
    """
    held, root = set(closure([()])), evaluate_start(policy, ())
    saving = dict(root.savings)
    gains = []
    for z, node in policy.lattice.nodes.items():
        if z not in held and 0 < len(z) <= const.MAX_START_SIZE and node.cross_fit is not None:
            gain = root.value - sum(saving.get(j, 0.0) for j in z) - evaluate_start(policy, z).value
            if gain > 0:
                gains.append((-gain, len(z), z))
    limit = len(held) + max(const.MIN_START_SUBSETS, int(const.START_SUBSETS_SHARE * len(held)))
    starts = []
    for _, _, z in sorted(gains):
        needed = set(closure([z])) - held
        if len(held) + len(needed) <= limit:
            held |= needed
            starts.append(z)
    return starts
