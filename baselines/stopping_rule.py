"""When to stop along a fixed order of acquisitions: a backward recursion over its prefixes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.subset_models import SubsetModels
from fsgym.answers import cheapest_answers

MAX_KNOTS = 7  # of each piecewise linear function
RIDGE = 1.0  # penalty on its squared slopes, against a sum over rows


class PiecewiseLinear(NamedTuple):
    """A sum of piecewise linear functions of the inputs, constant beyond the training values.

    Attributes
    ----------
    knots : tuple of float64 arrays, those of each input, increasing
    coefs : float64 (n_ramps,), the increase from each knot to the next
    intercept : float
    """

    knots: tuple[NDArray[np.float64], ...]
    coefs: NDArray[np.float64]
    intercept: float

    @classmethod
    def fit(cls, inputs: NDArray[np.float64], target: NDArray[np.float64]) -> PiecewiseLinear:
        """Ridge regression of ``target`` (n_samples,) on ``inputs`` (n_samples, n_inputs), knots at quantiles."""
        places = np.linspace(0.0, 1.0, MAX_KNOTS)
        knots = tuple(np.unique(np.quantile(column, places, method="inverted_cdf")) for column in inputs.T)
        ramps = _ramps(inputs, knots)
        means, mean = ramps.mean(axis=0), float(target.mean())
        centred = ramps - means
        gram = centred.T @ centred + RIDGE * np.eye(len(means))
        coefs = np.linalg.solve(gram, centred.T @ (target - mean))
        return cls(knots, coefs, mean - float(means @ coefs))

    def predict(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        return _ramps(inputs, self.knots) @ self.coefs + self.intercept


def _ramps(inputs: NDArray[np.float64], knots: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
    """Functions that rise from 0 to 1 between neighbouring knots, float64 (n_samples, n_ramps)."""
    columns = [
        ((inputs[:, [k]] - places[:-1]) / np.diff(places)).clip(0.0, 1.0) for k, places in enumerate(knots)
    ]  # an input with a single value has no ramp
    return np.hstack([np.empty((len(inputs), 0)), *columns])


def belief_inputs(shares: NDArray[np.float64], error_costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inputs of the regression: class probabilities, least expected cost, and its distance to the second least."""
    costs = np.sort(shares @ error_costs.T, axis=1)
    return np.column_stack([shares[:, 1:], costs[:, 0], costs[:, 1] - costs[:, 0]])


class StoppingRule(NamedTuple):
    """For each prefix of an order, the gain of continuing as a function of the class probabilities.

    Attributes
    ----------
    gains : tuple of PiecewiseLinear, one for each prefix but the last; empty if the length is fixed
    length : int, the largest number of acquisitions, or the number for every row if ``gains`` is empty
    loss : float, the validated loss: the mean error cost plus ``lam`` times the mean price
    """

    gains: tuple[PiecewiseLinear, ...]
    length: int
    loss: float

    def stops(self, length: int, inputs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether to stop after ``length`` acquisitions, bool (n_samples,)."""
        if length >= self.length:
            return np.ones(len(inputs), bool)
        if not self.gains:
            return np.zeros(len(inputs), bool)
        return self.gains[length].predict(inputs) <= 0.0


class PrefixLosses(NamedTuple):
    """Out-of-fold figures of stopping after 0, 1, ... acquisitions of an order.

    Attributes
    ----------
    inputs : list of float64 (n_samples, n_inputs), see ``belief_inputs``
    open_next : bool (n_samples, n_prefixes - 1), whether the next acquisition can be made for the row
    realised : float64 (n_prefixes, n_samples), the loss of each row
    blended : float64 (n_prefixes, n_samples)
        The mean of that and of the loss expected from the class probabilities. It has the same mean if these are
        calibrated, and varies less where errors are rare and costly.
    """

    inputs: list[NDArray[np.float64]]
    open_next: NDArray[np.bool_]
    realised: NDArray[np.float64]
    blended: NDArray[np.float64]

    @classmethod
    def of(cls, models: SubsetModels, order: list[int], lam: float) -> PrefixLosses:
        error_costs, (open_next, spent) = models.rules.error_costs, models.follow(order)
        inputs, realised, expected = [], [], []
        for k in range(len(order) + 1):
            shares = models.out_of_fold(order[:k])
            price = lam * spent[:, k]
            realised.append(error_costs[cheapest_answers(shares, error_costs), models.codes] + price)
            expected.append((shares @ error_costs.T).min(axis=1) + price)
            inputs.append(belief_inputs(shares, error_costs))
        return cls(inputs, open_next, np.array(realised), (np.array(realised) + np.array(expected)) / 2.0)


def learn_stopping(models: SubsetModels, order: list[int], lam: float, panel_length: int) -> StoppingRule:
    """Learn when to stop by backward recursion; a fixed length if that has a lower validated loss.

    From the last prefix to the first, the gain of continuing (the loss of stopping now minus the loss of continuing
    and stopping by the rule of the later prefixes) is regressed on the class probabilities. Probabilities and decisions
    of each row come from models and regressions fitted on the other folds. A row whose next acquisition is unavailable
    continues for free.

    Parameters
    ----------
    models : SubsetModels
    order : acquisitions
    lam : float
    panel_length : int, number of acquisitions of the panel, with which the learnt rule is compared
    """
    inputs, open_next, realised, blended = PrefixLosses.of(models, order, lam)
    value, realised_value = blended[-1], realised[-1]
    gains = []
    for k in range(len(order) - 1, -1, -1):
        gain, decides = blended[k] - value, open_next[:, k]
        continues = ~decides
        for fold in range(int(models.fold.max()) + 1):
            out = (models.fold == fold) & decides
            others = (models.fold != fold) & decides
            if out.any() and others.any():
                continues[out] = PiecewiseLinear.fit(inputs[k][others], gain[others]).predict(inputs[k][out]) > 0.0
        rows = decides if decides.any() else ~decides
        gains.append(PiecewiseLinear.fit(inputs[k][rows], gain[rows]))
        value = np.where(continues, value, blended[k])
        realised_value = np.where(continues, realised_value, realised[k])
    means = blended.mean(axis=1)
    if value.mean() <= min(means[0], means[panel_length]):
        return StoppingRule(tuple(gains[::-1]), len(order), float(realised_value.mean()))
    length = int(means.argmin())
    return StoppingRule((), length, float(realised[length].mean()))
