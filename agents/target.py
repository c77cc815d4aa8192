"""Search for the ``lam`` at which the mean usage of the policy is as large as a target allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from fsgym.rules import Rules
from fsgym.support.checks import check_number

MAX_PRICES_TRIED = 14  # fits of a search; by hand
ENOUGH_USE = 0.97  # share of the target from which a policy is accepted without further trials; by hand
MIN_PRICE_RATIO = 1.05  # the bisection stops when the two values of lam differ by less than this factor; by hand
BRACKET_FACTOR = 4.0  # between values of lam while only one side of the target is known; by hand
BEYOND_JUMP_FACTOR = 1.1  # between the values of lam tried above a jump of the usage; by hand
LOWEST_PRICE_SHARE = 1e-3  # of an error: what all features together cost at the lowest lam; by hand
INITIAL_COST_SHARE = 0.05  # of an error: what the target costs at the first lam that is tried; by hand
MIN_TARGET = 1e-300  # a target of 0 counts as this for the first lam


class Priced(Protocol):
    """What training at one price results in."""

    def usage(self) -> dict[str, float]:
        """Means over the training rows, out of fold: "features" used, and their "cost" in the unit of ``costs``."""
        ...


Result = TypeVar("Result", bound=Priced)


class UsageTarget(NamedTuple):
    """A limit on mean usage over the training rows.

    Attributes
    ----------
    quantity : str, "cost" or "features"
    limit : float
    """

    quantity: str
    limit: float


def check_target(target_cost: Any, target_features: Any) -> UsageTarget | None:
    """The target that the parameters define, None without one; ValueError or TypeError if they are invalid."""
    if target_cost is not None and target_features is not None:
        raise ValueError("target_cost and target_features cannot both be given; leave one of them out")
    if target_cost is not None:
        return UsageTarget("cost", check_number(target_cost, "target_cost", 0.0))
    if target_features is not None:
        return UsageTarget("features", check_number(target_features, "target_features", 0.0))
    return None


def find_price(target: UsageTarget, rules: Rules, learn_at: Callable[[float], Result]) -> Result:
    """Train at several values of ``lam``, and return the result with the largest mean usage not above the target.

    First the target is bracketed by two values, then the bracket is bisected on a logarithmic scale. Mean usage is not
    a continuous function of ``lam``: it jumps where the policy changes, and may rise again at a slightly higher
    ``lam``. Therefore, if the bracket closes on a jump across the target, a few values above it are tried as well. The
    usage is measured on the training rows, out of fold. It has almost no selection bias, since policies are not
    selected on it within a training.

    Parameters
    ----------
    target : UsageTarget
    rules : Rules, whose own ``lam`` is not used
    learn_at : callable, lam -> result

    Raises
    ------
    ValueError
        If acquisitions that cost nothing already exceed the target.
    """
    low, high = _price_range(rules)
    lam, usage = _initial_price(target, rules, low, high), 0.0
    best: tuple[float, Result] | None = None
    below: float | None = None  # the largest lam whose policy is known to exceed the target
    above: float | None = None  # the smallest lam whose policy is known not to exceed it
    n_beyond = 0  # values of lam tried above a jump
    for _ in range(MAX_PRICES_TRIED):
        result = learn_at(lam)
        usage = result.usage()[target.quantity]
        if usage <= target.limit:
            if not n_beyond:
                above = lam
            if best is None or usage >= best[0]:
                best = usage, result
            if lam == low or usage >= ENOUGH_USE * target.limit:
                break
        elif lam == high:
            break
        elif not n_beyond:
            below = lam
        if below is not None and above is not None and above / below < MIN_PRICE_RATIO:
            n_beyond += 1
            lam = above * BEYOND_JUMP_FACTOR**n_beyond
            if lam > high:
                break
        else:
            lam = _next_price(below, above, lam, low, high)
    if best is None:
        raise ValueError(
            f"target_{target.quantity}={target.limit:g} cannot be met: acquisitions that cost nothing are always made, "
            f"{usage:.3g} on average; give every feature a price above 0"
        )
    return best[1]


def _next_price(below: float | None, above: float | None, lam: float, low: float, high: float) -> float:
    if below is None:
        return max(lam / BRACKET_FACTOR, low)
    if above is None:
        return min(lam * BRACKET_FACTOR, high)
    return float(np.sqrt(below * above))


def _price_range(rules: Rules) -> tuple[float, float]:
    """The lowest ``lam`` to try, at which all features together cost a thousandth of an error; and the highest one, at
    which each feature costs at least an error.
    """
    prices = np.minimum(rules.costs, rules.unrelated_costs)
    error = float(rules.error_costs.max() - rules.error_costs.min())
    total = float(np.maximum(rules.costs, rules.unrelated_costs).sum())
    if total == 0 or error == 0:
        return 1.0, 1.0
    return LOWEST_PRICE_SHARE * error / total, error / float(prices[prices > 0].min())


def _initial_price(target: UsageTarget, rules: Rules, low: float, high: float) -> float:
    """The ``lam`` at which the target costs a twentieth of an error; the lowest one if the target allows everything."""
    mean_price = float(rules.costs.mean()) * rules.n_acquisitions / rules.n_features
    unit = 1.0 if target.quantity == "cost" else mean_price
    if target.limit * unit >= rules.costs.sum():
        return low
    error = float(rules.error_costs.max() - rules.error_costs.min())
    return float(np.clip(INITIAL_COST_SHARE * error / max(target.limit * unit, MIN_TARGET), low, high))
