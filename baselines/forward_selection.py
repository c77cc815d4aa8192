"""Greedy forward selection of acquisitions by their validated loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.subset_models import Assessment, SubsetModels
from fsgym.rules.rules import regrets

# Limits for large tables, in floating-point operations as ``SubsetModels.operations`` estimates them; some 5e9 take a
# second. Below them, every candidate of every step is assessed.
STEP_OPERATIONS = 2e9
SELECTION_OPERATIONS = 1e11
MIN_CANDIDATES = 2  # of a step, where not all can be assessed
TIE = 1e-9  # losses that differ by less, relative to the error costs, are equal


class Selection(NamedTuple):
    """An order of acquisitions, with validated figures of its first 0, 1, ... acquisitions."""

    order: tuple[int, ...]  # the acquisitions, each after those that it needs
    losses: NDArray[np.float64]  # (n_order + 1,), mean out-of-fold loss
    size: int  # the number of acquisitions with the lowest loss


def select_forward(models: SubsetModels, lam: float) -> Selection:
    """Add the best acquisition until the loss is a standard error above the lowest so far, or none is left.

    An acquisition comes with those that it needs. One that the rules do not allow for a row without missing values,
    because of a budget or a relation, is never added.
    """
    order: list[int] = []
    nothing = models.assess(order)
    assert nothing is not None
    assessed, rate, operations = [nothing], log_loss_rate(models), 0.0
    while operations < SELECTION_OPERATIONS:
        steps = candidate_steps(models, order, lam)
        operations += sum(models.operations([*order, *step]) for step in steps)
        step = best_step(models, order, steps, lam, rate)
        if step is None:
            break
        for j in step:
            order.append(j)
            assessed.append(models.assess(order) or assessed[-1])
        losses = [a.losses(lam).mean() for a in assessed]
        best = assessed[int(np.argmin(losses))].losses(lam)
        if losses[-1] > best.mean() + error_of_mean(best):
            break
    return Selection(tuple(order), *_lowest(models, assessed, lam))


def extend_order(models: SubsetModels, order: list[int], lam: float, n_steps: int) -> list[int]:
    """Add the best step up to ``n_steps`` times, whatever its loss."""
    rate = log_loss_rate(models)
    for _ in range(n_steps):
        step = best_step(models, order, candidate_steps(models, order, lam), lam, rate)
        if step is None:
            break
        order = [*order, *step]
    return order


def _lowest(models: SubsetModels, assessed: list[Assessment], lam: float) -> tuple[NDArray[np.float64], int]:
    """The losses, and the number of acquisitions with the lowest; ties go to the cheaper set, then to the log-loss."""
    losses = np.array([a.losses(lam).mean() for a in assessed])
    tied = np.flatnonzero(losses <= losses.min() + TIE * regrets(models.rules.error_costs).max())
    return losses, int(min(tied, key=lambda k: (assessed[k].spent.mean(), assessed[k].log_loss)))


def candidate_steps(models: SubsetModels, order: list[int], lam: float) -> list[list[int]]:
    """The informative acquisitions that may come next, each after those that it needs and ``order`` lacks.

    If assessing all of them would take more than ``STEP_OPERATIONS``, those with the best scores are returned.
    """
    rules = models.rules
    remaining = [j for j in range(rules.n_acquisitions) if j not in order and not models.uninformative[j]]
    steps = [[*rules.prerequisites_of(j, met=order), j] for j in remaining]
    steps = [step for step in steps if models.is_legal([*order, *step])]
    operations = np.cumsum([models.operations([*order, *step]) for step in steps])
    if not steps or operations[-1] <= STEP_OPERATIONS:
        return steps
    most = max(MIN_CANDIDATES, int(np.searchsorted(operations, STEP_OPERATIONS)))
    gains = models.score_gains(order) * log_loss_rate(models)
    scores = [gains[step].sum() - lam * rules.costs[step].sum() for step in steps]
    return [steps[k] for k in sorted(np.argsort(scores)[::-1][:most])]


def best_step(
    models: SubsetModels, order: list[int], steps: list[list[int]], lam: float, rate: float
) -> list[int] | None:
    """The step with the lowest validated loss; None if there is none.

    The mean error cost hardly changes with single features where one answer is best for nearly all rows. Among the
    steps whose loss is within one standard error of the lowest (of the difference), the one with the lowest sum of
    log-loss, in units of cost, and price is therefore returned.
    """
    assessed = [(step, a) for step in steps if (a := models.assess([*order, *step])) is not None]
    if not assessed:
        return None
    lowest = min((a.losses(lam) for _, a in assessed), key=np.mean)
    near = []
    for step, a in assessed:
        excess = a.losses(lam) - lowest
        if excess.mean() <= error_of_mean(excess):
            near.append((a.log_loss * rate + lam * a.spent.mean(), step))
    return min(near)[1]


def error_of_mean(values: NDArray[np.float64]) -> float:
    """The standard error of the mean of ``values`` (n_samples,)."""
    return float(values.std() / np.sqrt(len(values)))


def log_loss_rate(models: SubsetModels) -> float:
    """Units of cost for a nat of log-loss: the cost of the best constant answer over the entropy of the classes.

    Without any feature, the log-loss times this rate is then the error cost.
    """
    shares = np.bincount(models.codes, minlength=models.n_classes) / len(models.codes)
    regret = regrets(models.rules.error_costs)
    present = shares[shares > 0]
    return float((regret @ shares).min()) / -float(present @ np.log(present))
