"""The price at which the cases use on average what they may: a search over prices with the same classifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from agents.lattice.learn import Learnt
from fsgym.checks import check_number
from fsgym.rules import Rules

MOST_TRIALS = 14
NEAR = 0.97  # share of the target that is near enough
CLOSE = 1.05  # ratio of two prices between which no other is tried
STEP = 4.0  # between prices while only one side is known
WIDER = 1.1  # between prices beyond a jump


class Target(NamedTuple):
    """The largest mean of ``what``, "cost" or "features", over the training rows."""

    what: str
    most: float


def check_target(target_cost: Any, target_features: Any) -> Target | None:
    """What is asked for, None where nothing is; ValueError or TypeError for what makes no sense."""
    if target_cost is not None and target_features is not None:
        raise ValueError("target_cost and target_features cannot be given both; leave one of them out")
    if target_cost is not None:
        return Target("cost", check_number(target_cost, "target_cost", 0.0))
    if target_features is not None:
        return Target("features", check_number(target_features, "target_features", 0.0))
    return None


def search(target: Target, rules: Rules, learn_at: Callable[[float], Learnt]) -> Learnt:
    """What is learnt at the price whose policy uses most of what it may.

    The mean is no continuous function of the price: it jumps where a policy changes, and may be higher again at a
    somewhat higher price, so that beyond a jump over the target some more are tried. Of the policies tried the one of
    the largest mean not above the target is taken, since a budget is a limit. The mean is over the training rows, each
    asked by models that did not see it; its own loss is not what is looked at, so it is hardly flattered.

    Parameters
    ----------
    target : Target
    rules : Rules, the price in it does not matter
    learn_at : callable, price -> Learnt

    Raises
    ------
    ValueError
        Where features that cost nothing are more than the target.
    """
    low, high = _limits(rules)
    lam, found = _guess(target, rules, low, high), 0.0
    best: tuple[float, Learnt] | None = None
    below: float | None = None  # the largest price known to use too much
    above: float | None = None  # the smallest known to use no more than it may
    beyond = 0  # prices tried beyond a jump
    for _ in range(MOST_TRIALS):
        learnt = learn_at(lam)
        found = learnt.policy.usage()[target.what]
        if found <= target.most:
            if not beyond:
                above = lam
            if best is None or found >= best[0]:
                best = found, learnt
            if lam == low or found >= NEAR * target.most:
                break
        elif lam == high:
            break
        elif not beyond:
            below = lam
        if below is not None and above is not None and above / below < CLOSE:
            beyond += 1
            lam = above * WIDER**beyond
            if lam > high:
                break
        else:
            lam = _next(below, above, lam, low, high)
    if best is None:
        raise ValueError(
            f"target_{target.what}={target.most:g} cannot be kept to: what costs nothing is asked for anyway, "
            f"{found:.3g} on average; give every feature a price"
        )
    return best[1]


def _next(below: float | None, above: float | None, lam: float, low: float, high: float) -> float:
    if below is None:
        return max(lam / STEP, low)
    if above is None:
        return min(lam * STEP, high)
    return float(np.sqrt(below * above))


def _limits(rules: Rules) -> tuple[float, float]:
    """A price at which all features together cost a thousandth of an error, and one at which each costs an error."""
    prices = np.minimum(rules.costs, rules.unrelated_costs)
    error = float(rules.error_costs.max() - rules.error_costs.min())
    total = float(np.maximum(rules.costs, rules.unrelated_costs).sum())
    if total == 0 or error == 0:
        return 1.0, 1.0
    return 1e-3 * error / total, error / float(prices[prices > 0].min())


def _guess(target: Target, rules: Rules, low: float, high: float) -> float:
    """What is used up on average costs a twentieth of an error, say."""
    unit = 1.0 if target.what == "cost" else float(rules.costs.mean()) * rules.n_acquisitions / rules.n_features
    if target.most * unit >= rules.costs.sum():
        return low
    error = float(rules.error_costs.max() - rules.error_costs.min())
    return float(np.clip(0.05 * error / max(target.most * unit, 1e-300), low, high))
