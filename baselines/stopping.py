"""A fixed order of acquisitions, and a learnt rule that decides for each row when to stop."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from baselines.forward_selection import extend_order, select_forward
from baselines.ordered import OrderedAcquisitionsMixin
from baselines.subset_models import SubsetModels
from fsgym.envs.trajectories import Trajectories
from fsgym.rules.options import RuleOptionsButLam, set_rule_options, takes_rule_options
from fsgym.rules.rules import cheapest_answers, regrets, unavoidable

# When to stop along a fixed order of acquisitions: a backward recursion over its prefixes.

MAX_KNOTS = 7  # of each piecewise linear function
RIDGE = 1.0  # penalty on its squared slopes, against a sum over rows


class PiecewiseLinear(NamedTuple):
    """A sum of piecewise linear functions of the inputs, constant beyond the training values."""

    knots: tuple[NDArray[np.float64], ...]  # tuple of float64 arrays, those of each input, increasing
    coefs: NDArray[np.float64]  # (n_ramps,), the increase from each knot to the next
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


def belief_inputs(shares: NDArray[np.float64], answer_costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inputs of the regression: class probabilities, least expected cost, and its distance to the second least."""
    costs = np.sort(shares @ answer_costs.T, axis=1)
    return np.column_stack([shares[:, 1:], costs[:, 0], costs[:, 1] - costs[:, 0]])


class StoppingRule(NamedTuple):
    """For each prefix of an order, the gain of continuing as a function of the class probabilities."""

    gains: tuple[PiecewiseLinear, ...]  # one for each prefix but the last; empty if the length is fixed
    length: int  # the largest number of acquisitions, or the number for every row if ``gains`` is empty
    loss: float  # the validated loss: the mean error cost plus ``lam`` times the mean price

    def stops(self, length: int, inputs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether to stop after ``length`` acquisitions, bool (n_samples,)."""
        if length >= self.length:
            return np.ones(len(inputs), bool)
        if not self.gains:
            return np.zeros(len(inputs), bool)
        return self.gains[length].predict(inputs) <= 0.0


def prefix_losses(
    models: SubsetModels, order: list[int], lam: float
) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Out-of-fold figures of stopping after 0, 1, ... acquisitions of an order.

    Returns
    -------
    inputs : list of float64 (n_samples, n_inputs), see ``belief_inputs``
    open_next : bool (n_samples, n_prefixes - 1), whether the next acquisition can be made for the row
    realised : float64 (n_prefixes, n_samples), the loss of each row, in regrets
    blended : float64 (n_prefixes, n_samples)
        The mean of that and of the loss expected from the class probabilities. It has the same mean if these are
        calibrated, and varies less where errors are rare and costly.
    """
    costs, (open_next, spent) = regrets(models.rules.answer_costs), models.follow(order)
    inputs, realised, expected = [], [], []
    for k in range(len(order) + 1):
        shares = models.out_of_fold(order[:k])
        price = lam * spent[:, k]
        realised.append(costs[cheapest_answers(shares, costs), models.codes] + price)
        expected.append((shares @ costs.T).min(axis=1) + price)
        inputs.append(belief_inputs(shares, costs))
    return inputs, open_next, np.array(realised), (np.array(realised) + np.array(expected)) / 2.0


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
    inputs, open_next, realised, blended = prefix_losses(models, order, lam)
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
    best = float(unavoidable(models.rules.answer_costs, models.codes).mean())
    if value.mean() <= min(means[0], means[panel_length]):
        return StoppingRule(tuple(gains[::-1]), len(order), float(realised_value.mean()) + best)
    length = int(means.argmin())
    return StoppingRule((), length, float(realised[length].mean()) + best)


EXTRA_STEPS = 4  # of the selection beyond its end; those later acquisitions may be worth their price for some rows


class StoppingClassifier(OrderedAcquisitionsMixin, ClassifierMixin, BaseEstimator):
    """The order in which ``PanelClassifier`` selects acquisitions, and a learnt rule for when to stop and answer.

    Each prefix of the order has a logistic regression. From the last prefix to the first, the gain of continuing is
    regressed on the class probabilities; a row stops where the gain is not positive. Unavailable acquisitions are
    skipped. If the learnt rule has no lower validated loss than the panel and than answering without any acquisition,
    the fixed length with the lowest validated loss is used.

    Parameters
    ----------
    lam : float, default=0.01
        Exchange rate between cost and errors: the price of one unit of ``costs``, in units of ``error_costs``.
    groups, costs, unrelated_costs, related, relation, empty_is_related, budget, budget_cost, prerequisites, missing
        As in ``fsgym.Rules``. Names are those of the columns, or ``x0, x1, ...``.
    error_costs : array-like of shape (n_classes, n_classes), or mapping answer -> true class -> cost, default=None
        ``error_costs[prediction, true_class]``, classes in sorted order; 1 for each wrong prediction by default.
    refer_cost, refer_label
        As in ``fsgym.Rules``: with ``refer_cost`` a row can be referred to a person, and ``predict`` returns the label.
    cv : int, default=5
        Number of folds; fewer if there are fewer than two rows for each.
    random_state : int, RandomState or None, default=None
        Assignment of the rows to folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    order_ : ndarray of int64
        The acquisitions in their order: those of the selection and up to four further steps.
    rule_ : the stopping rule: ``gains``, ``length`` and ``loss``, its validated loss
    validated_losses_ : ndarray of shape (n_validated,), float64
        Out-of-fold loss of the panel's selection with the first 0, 1, ... acquisitions for every row.
    models_ : list of the logistic regressions with the first 0, 1, ... acquisitions
    rules_ : fsgym.Rules
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The regression is a ridge regression on piecewise linear functions of the class probabilities, the least expected
    cost and its distance to the second least. Its target is the mean of two losses: the realised one, and the one
    expected from out-of-fold class probabilities, which varies less if errors are rare and costly.

    References
    ----------
    Regression for optimal stopping: Longstaff and Schwartz (2001), Valuing American options by simulation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import StoppingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StoppingClassifier(lam=0.02, random_state=0).fit(X, y)
    >>> bool(model.features_used(X).sum(axis=1).mean() < 2.5), bool(model.score(X, y) > 0.93)
    (True, True)
    """

    validated_losses_: NDArray[np.float64]
    rule_: StoppingRule

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        cv: int = 5,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        set_rule_options(self, {"lam": lam, **rule_options})
        self.cv = cv
        self.random_state = random_state

    def _fit_shared(self, models: SubsetModels) -> None:
        selection = select_forward(models, self.lam)
        order = extend_order(models, [*selection.order], self.lam, EXTRA_STEPS)
        self.validated_losses_ = selection.losses
        self.rule_ = learn_stopping(models, order, self.lam, selection.size)
        self.order_ = np.array(order, dtype=np.int64)
        self.models_ = [models.model(order[:k]) for k in range(len(order) + 1)]
        self._models_beyond = []

    def _stops(self, k: int, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        return self.rule_.stops(k, belief_inputs(shares, regrets(self.rules_.answer_costs)))

    def trajectories(self, X: ArrayLike) -> Trajectories:
        """The acquisitions for each row in their order, and the answers as indices into ``classes_``."""
        table = self._validate_table(X)
        lengths = self._lengths(table)
        taken, _ = self.rules_.follow(self.order_, self.rules_.acquisitions_of(~np.isnan(table)))
        return self._trajectories(table, taken & (np.arange(len(self.order_)) < lengths[:, None]), lengths)
