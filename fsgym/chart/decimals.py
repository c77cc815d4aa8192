"""The shortest decimal number in an interval, for thresholds that a person reads."""

from __future__ import annotations

import math


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least ``low`` and below ``high``, near the middle.

    >>> shortest_between(105.94, 105.96), shortest_between(0.1234, 0.1291), shortest_between(9.9, 10.4)
    (105.95, 0.126, 10.0)
    >>> shortest_between(3.0, 3.0000000000000004), shortest_between(-2.4, 7.0)
    (3.0, 0.0)
    """
    middle, size = low / 2 + high / 2, max(abs(low), abs(high))
    if low < high and 0 < size < math.inf:
        first = -math.floor(math.log10(size)) - 1
        for digits in range(first, first + 19):
            candidate = float(round(middle, digits))
            if low <= candidate < high:
                return candidate
    return low
