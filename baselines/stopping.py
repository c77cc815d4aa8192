"""A fixed order of acquisitions, and a learnt rule that decides for each row when to stop."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from baselines.acquisition_order import follow_order
from baselines.forward_selection import extend_order, select_forward
from baselines.ordered import OrderedAcquisitionsMixin
from baselines.stopping_rule import StoppingRule, belief_inputs, learn_stopping
from baselines.subset_models import SubsetModels, available_acquisitions
from fsgym.envs.trajectories import Trajectories
from fsgym.rules.options import RuleOptionsButLam, set_rule_options, takes_rule_options

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

    def _lengths(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of acquisitions after which each row is answered, with unavailable ones, which are passed over."""
        lengths = np.full(len(table), len(self.order_))
        open_next, _ = follow_order(self.rules_, available_acquisitions(self.rules_, table), self.order_)
        unanswered = np.ones(len(table), bool)
        for k in range(len(self.order_)):
            deciding = np.flatnonzero(unanswered & open_next[:, k])
            if len(deciding):
                rows = table[deciding]
                shares = self.models_[k].proba(rows, self._known_after(rows, np.full(len(rows), k)))
                stops = deciding[self.rule_.stops(k, belief_inputs(shares, self.rules_.error_costs))]
                lengths[stops], unanswered[stops] = k, False
        return lengths

    def trajectories(self, X: ArrayLike) -> Trajectories:
        """The acquisitions for each row in their order, and the answers as indices into ``classes_``."""
        table = self._validate_table(X)
        lengths = self._lengths(table)
        taken, _ = follow_order(self.rules_, available_acquisitions(self.rules_, table), self.order_)
        return self._trajectories(table, taken & (np.arange(len(self.order_)) < lengths[:, None]), lengths)
