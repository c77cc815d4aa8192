"""Whether to go on: a regression on realised returns, after Longstaff and Schwartz (2001)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.anystate.rollouts import RolloutStates
from agents.anystate.stop_rule import (
    LEVELS,
    N_STATE_NUMBERS,
    StopRule,
    write_all_state_numbers,
)
from agents.policy import error_unit
from fsgym.rules import Rules
from fsgym.rules.rules import regrets, unavoidable

STOP_RIDGE = 3.0  # on all columns but the intercept, with inputs of unit variance
# Power of (expected error cost + price) by which the weight of a state is divided: differences near certainty are
# small but decide often. Measured on cube at .003 with an exact model: 0 lost .0051, 1 .0027, 2 .0033 above the
# reference.
PRECISION = 1.0
N_ROUNDS = 6  # regressions, each on the returns of the rule before
WEIGHT_OF_UNVISITED = 0.1  # of states that the rule before does not reach; states that it reaches weigh 1 more
WEIGHT_OF_RANDOM_STARTS = 0.3  # of states that follow a random start
# Weight of the expected error cost in the cost of answering, beside the realised one, by number of rows
EXPECTED_SHARE = {600: 0.75, 3000: 0.5, np.inf: 0.25}
N_THRESHOLDS = 40  # levels of the expected error cost among which the first rule is chosen


def state_numbers(
    probabilities: NDArray[np.float64],
    price: NDArray[np.float64],
    inputs: NDArray[np.float64],
    costs: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The numbers from which a rule predicts, float64 (n, 6 + n_inputs).

    ``costs`` are those of ``StateModel``. The numbers are the lowest expected one, its logarithm, that of its ratio to
    the price of the preferred acquisition, the largest and the second largest probability, the entropy, and the inputs
    of the model.
    """
    numbers = np.empty((len(probabilities), N_STATE_NUMBERS + inputs.shape[1]))
    write_all_state_numbers(probabilities, price, inputs, costs, numbers)
    return numbers


class LearntStop(NamedTuple):
    """A stop rule and how it did out of fold."""

    rule: StopRule
    # (n_rows,), the realised loss of each row from the empty state, by the rule of the other folds
    losses: NDArray[np.float64]
    last: NDArray[np.int64]  # (n_rows,), the state in which each row is answered
    # (n_states,), whether the row comes to the state before it is answered, or is answered there
    reached: NDArray[np.bool_]


def learn_stop(
    visited: RolloutStates,
    starts: RolloutStates | None,
    y: NDArray[np.int64],
    fold: NDArray[np.int64],
    weight: NDArray[np.float64],
    rules: Rules,
) -> LearntStop:
    """Alternate the returns of a rule, which are exact along the roll-outs, with a regression on them.

    Parameters
    ----------
    visited : RolloutStates, from the empty state
    starts : RolloutStates, optional, from random states; they only add to the regression
    y, fold : int64 (n_samples,)
    weight : float64 (n_samples,)
    rules : Rules
    """
    share = next(share for most, share in EXPECTED_SHARE.items() if len(np.unique(visited.row)) <= most)
    parts = [visited] if starts is None else [visited, starts]
    costs = regrets(rules.answer_costs)
    numbers = [state_numbers(part.probabilities, part.price, part.inputs, costs) for part in parts]
    realised = [costs[part.answer, y[part.row]] for part in parts]
    cost = [(1 - share) * r + share * part.expected_cost for part, r in zip(parts, realised)]
    basis = _basis_of(numbers[0])
    columns = [basis.columns(values) for values in numbers]
    row_weight = [weight[part.row] for part in parts]
    stops = [s <= _best_threshold(visited, cost[0], row_weight[0]) for s in (part.expected_cost for part in parts)]
    unit = error_unit(rules)
    cost_scale = [(part.expected_cost + part.price) / unit + 1e-9 for part in parts]
    fixed_weight = [w / s**PRECISION for w, s in zip(row_weight, cost_scale)]
    used = [
        [np.flatnonzero((fold[p.row] == k) & (p.following >= 0)) for k in range(int(fold.max()) + 1)] for p in parts
    ]
    columns_used = [[c[use] for use in of_part] for c, of_part in zip(columns, used)]
    best: tuple[float, Any, Any] = (np.inf, None, None)
    for _ in range(N_ROUNDS):
        grams: list[Any] = [0.0] * len(used[0])
        sides: list[Any] = [0.0] * len(used[0])
        for i, part in enumerate(parts):
            gain = part.price + values_of(part, stops[i], cost[i])[part.following] - cost[i]
            w = fixed_weight[i] * (WEIGHT_OF_UNVISITED + reached_states(part, stops[i]))
            w *= 1.0 if i == 0 else WEIGHT_OF_RANDOM_STARTS
            for k, (use, of_fold) in enumerate(zip(used[i], columns_used[i])):
                weighted = of_fold.T * w[use]
                grams[k] = grams[k] + weighted @ of_fold
                sides[k] = sides[k] + weighted @ gain[use]
        without = np.stack([_ridge_solution(sum(grams) - g, sum(sides) - s) for g, s in zip(grams, sides)])
        of_all = _ridge_solution(sum(grams), sum(sides))
        stops = [(c * without[fold[part.row]]).sum(axis=1) >= 0 for c, part in zip(columns, parts)]
        loss = float(row_weight[0][visited.first] @ values_of(visited, stops[0], cost[0])[visited.first])
        if loss < best[0]:
            best = loss, of_all, stops[0]
    _, theta, stop = best
    reached = reached_states(visited, stop)
    last = np.flatnonzero(reached & (stop | (visited.following < 0)))
    last = last[np.argsort(visited.row[last], kind="stable")]
    classes = y[visited.row[visited.first]]
    losses = values_of(visited, stop, realised[0])[visited.first] + unavoidable(rules.answer_costs, classes)
    losses = losses[np.argsort(visited.row[visited.first], kind="stable")]
    return LearntStop(basis._replace(theta=theta), losses, last, reached)


def values_of(visited: RolloutStates, stop: NDArray[np.bool_], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """The loss from each state on, float64 (n_states,), where ``stop`` says which states are answered."""
    values, goes_on = cost.copy(), ~stop & (visited.following >= 0)
    for step in reversed(_steps_of(visited)):
        here = step[goes_on[step]]
        values[here] = visited.price[here] + values[visited.following[here]]
    return values


def reached_states(visited: RolloutStates, stop: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The states that the rows reach, bool (n_states,)."""
    reached, goes_on = visited.first.copy(), ~stop & (visited.following >= 0)
    for step in _steps_of(visited):
        here = step[reached[step] & goes_on[step]]
        reached[visited.following[here]] = True
    return reached


def _steps_of(visited: RolloutStates) -> list[NDArray[np.int64]]:
    """The states of each step, from the first."""
    steps = [np.flatnonzero(visited.first)]
    while len(steps[-1]):
        following = visited.following[steps[-1]]
        steps.append(following[following >= 0])
    return steps[:-1]


def _basis_of(numbers: NDArray[np.float64]) -> StopRule:
    """The columns of the regression; its coefficients are 0."""
    centre, scale = numbers.mean(axis=0), numbers.std(axis=0)
    scale[scale < 1e-9] = 1.0
    knots = np.quantile((numbers - centre) / scale, LEVELS, axis=0).T
    return StopRule(centre, scale, np.ascontiguousarray(knots), np.zeros(1 + numbers.shape[1] * (1 + knots.shape[1])))


def _best_threshold(visited: RolloutStates, cost: NDArray[np.float64], row_weight: NDArray[np.float64]) -> float:
    """The level of the expected error cost at which stopping has the lowest loss."""
    levels = np.unique(np.quantile(visited.expected_cost, np.linspace(0, 1, N_THRESHOLDS)))
    first = visited.first

    def loss(level: float) -> float:
        return float(row_weight[first] @ values_of(visited, visited.expected_cost <= level, cost)[first])

    return float(min(levels, key=loss))


def _ridge_solution(gram: Any, side: Any) -> NDArray[np.float64]:
    penalty = np.full(len(side), STOP_RIDGE)
    penalty[0] = 1e-9
    return np.linalg.solve(gram + np.diag(penalty), side)
