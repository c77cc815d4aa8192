"""One fixed set of acquisitions for all rows, selected greedily by validated loss."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from baselines.base import ColumnSelectorMixin
from baselines.forward_selection import select_forward
from baselines.ordered import OrderedAcquisitionsMixin
from baselines.subset_models import SubsetModels
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam, set_rule_options, takes_rule_options
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief, explain_unknown, listing, option_text


class PanelClassifier(OrderedAcquisitionsMixin, ColumnSelectorMixin, ClassifierMixin, BaseEstimator):
    """The same acquisitions for every row, and a logistic regression that answers by least expected cost.

    The acquisitions are selected greedily by the validated loss, the mean error cost plus ``lam`` times the mean price,
    on stratified folds that are the same for all candidates. An acquisition comes with its prerequisites, and none
    breaks a budget. Where the losses of several candidates are within one standard error of the lowest (of the
    difference), the log-loss, converted to units of cost, and the price decide. The selection continues over plateaus,
    until the loss has risen by one standard error above the lowest. The set of the lowest loss is used; of equal ones
    the cheaper, then the one with the lower log-loss.

    Parameters
    ----------
    lam : float, default=0.01
        Exchange rate between cost and errors: the price of one unit of ``costs``, in units of ``error_costs``.
    panel : list of str or int, default=None
        Names or indices of the acquisitions to use, instead of a selection. It must contain the prerequisites of its
        acquisitions and respect budgets.
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
    panel_ : list of str
        Names of the acquisitions, in the order of their selection.
    order_ : ndarray of int64
        Acquisitions in the order of the selection, as far as it went: ``panel_`` first, then those that were tried and
        not used.
    validated_losses_ : ndarray of shape (``len(order_) + 1``,), float64
        Out-of-fold loss with the first 0, 1, ... acquisitions of ``order_``.
    models_ : list of the logistic regressions with the first 0, 1, ... acquisitions of ``panel_``
    rules_ : fsgym.Rules
    selected_features_ : ndarray of str, the names of the columns of the panel
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The logistic regression has a ridge penalty (``C = 1`` on z-scores). A missing value is replaced by the mean, with
    an indicator column where it is missing in training. An acquisition whose prerequisite is missing for a row is not
    made. Tables of more than some thousand rows are sampled for the selection, with ``2 cv`` rows of a rare class
    or all that it has. Where a step would take too long, only
    the candidates with the largest score statistics are validated.

    References
    ----------
    Forward selection: Guyon and Elisseeff (2003), An introduction to variable and feature selection; the rule of one
    standard error: Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import PanelClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PanelClassifier(lam=0.02, random_state=0).fit(X, y)
    >>> len(model.panel_) < 5, bool(model.score(X, y) > 0.93)
    (True, True)
    >>> PanelClassifier(panel=["x20", 21]).fit(X, y).panel_
    ['x20', 'x21']
    """

    panel_: list[str]
    validated_losses_: NDArray[np.float64]

    @takes_rule_options
    def __init__(
        self,
        lam: float = 0.01,
        *,
        panel: Any = None,
        cv: int = 5,
        random_state: Any = None,
        **rule_options: Unpack[RuleOptionsButLam],
    ) -> None:
        set_rule_options(self, {"lam": lam, **rule_options})
        self.panel = panel
        self.cv = cv
        self.random_state = random_state

    def _fit_shared(self, models: SubsetModels) -> None:
        if self.panel is None:
            order, self.validated_losses_, size = select_forward(models, self.lam)
        else:
            order = panel_order(self.rules_, self.panel)
            size = len(order)
            assessed = [models.assess(order[:k]) for k in range(size + 1)]
            self.validated_losses_ = np.array([np.nan if a is None else a.losses(self.lam).mean() for a in assessed])
        self.order_ = np.array(order, dtype=np.int64)
        self.panel_ = [self.rules_.names[j] for j in order[:size]]
        self.models_ = [models.model(order[:k]) for k in range(size + 1)]
        self._models_beyond = [models.model(order[:k]) for k in range(size + 1, len(order) + 1)]

    def _decides(self, k: int, open_next: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return open_next | (k == len(self.panel_))  # the panel ends there, whatever comes next

    def _stops(self, k: int, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.full(len(shares), k >= len(self.panel_))

    def _lengths(self, table: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.full(len(table), len(self.panel_)) if self.promise_ is None else super()._lengths(table)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "models_")
        return np.isin(np.arange(self.n_features_in_), self.models_[-1].features)


def panel_order(rules: Rules, panel: Any) -> list[int]:
    """The acquisitions of a user's panel, names or indices, in an order that the rules allow.

    Raises ValueError or TypeError for an unknown or repeated acquisition, a prerequisite that is not in the panel, and
    a panel that the rules do not allow.
    """
    if isinstance(panel, str | bytes):
        raise TypeError(
            f"{option_text('panel')} must be a list of names or indices of acquisitions, got {brief(panel)}"
        )
    chosen: list[int] = []
    for given in panel:
        j = _acquisition_index(rules, given)
        if j in chosen:
            raise ValueError(f"{option_text('panel')} must name each acquisition once, got {rules.names[j]!r} twice")
        chosen.append(j)
    for j in chosen:
        lacking = [rules.names[i] for i in rules.prerequisites_of(j) if i not in chosen]
        if lacking:
            raise ValueError(
                f"{option_text('panel')} must contain the prerequisites of its acquisitions, but {rules.names[j]!r} "
                "needs "
                f"{listing(lacking)}; add it"
            )
    ordered = rules.legal_order(chosen)
    if ordered is None:
        raise ValueError(
            f"{option_text('panel')} must be legal under {rules!r}, but its {len(chosen)} acquisitions are not "
            "(budget or forbidden "
            "relation); remove some, or change the rules"
        )
    return ordered


def _acquisition_index(rules: Rules, given: Any) -> int:
    """The index of an acquisition given by name or index."""
    if isinstance(given, str):
        if given not in rules.names:
            raise ValueError(
                f"{option_text('panel')} must name acquisitions: {explain_unknown('acquisition', given, rules.names)}"
            )
        return rules.names.index(given)
    if not is_integer(given):
        raise TypeError(f"{option_text('panel')} must hold names or indices of acquisitions, got {brief(given)}")
    if not 0 <= given < rules.n_acquisitions:
        raise ValueError(f"{option_text('panel')} must hold indices from 0 to {rules.n_acquisitions - 1}, got {given}")
    return int(given)
