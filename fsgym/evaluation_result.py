"""The result of evaluating a policy: means over the rows, what happened to each row, and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsgym import metrics
from fsgym.dataset import Dataset
from fsgym.html import HtmlTable, html_block, rules_html
from fsgym.metrics import FIGURE_LABELS, OTHER_FIGURE_LABELS, MeanInterval
from fsgym.rules import Rules
from fsgym.trajectories import Trajectories

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of evaluating a policy on a data set under given rules.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
    sparsity : float, 1 minus the mean share of features used (Dulac-Arnold et al., 2012, section 6)
    n_features, n_acquisitions : float, mean numbers of features used and of acquisitions paid for, per row; the
        features of one category count once
    spent : float, mean total price of the acquisitions of a row, in the unit of ``costs``
    acquisition_cost : float, ``lam * spent``
    error_cost : float, mean error cost
    loss : float, ``error_cost + acquisition_cost`` (eqs. 2, 6 and 8)
    admissible : float, share of rows whose acquisitions the rules allow
    illegal : float, share of rows forfeited by an illegal action
    answers : int64 (n_samples,), class codes
    used : bool (n_samples, n_features), the features used for each row
    losses : float64 (n_samples,), the loss of each row
    auc, log_loss, brier, calibration_error : float
        Area under the ROC curve, log-loss, Brier score and expected calibration error of ``probabilities``, see
        ``fsgym.metrics``; NaN without probabilities, and the AUC also where a class has no rows.
    loss_low, loss_high : float, 95 % interval of the mean loss, see ``fsgym.metrics.mean_interval``
    trajectories : Trajectories, or None for methods that acquire in no order
    dataset : Dataset
    rules : Rules
    probabilities : float64 (n_samples, n_classes), or None
        Class probabilities at the answer, with a column for each of ``dataset.classes``; None for a policy without a
        model of the classes.
    """

    accuracy: float
    balanced_accuracy: float
    sparsity: float
    n_features: float
    n_acquisitions: float
    spent: float
    acquisition_cost: float
    error_cost: float
    loss: float
    admissible: float
    illegal: float
    answers: NDArray[np.int64]
    used: NDArray[np.bool_]
    losses: NDArray[np.float64]
    trajectories: Trajectories | None
    dataset: Dataset
    rules: Rules
    probabilities: NDArray[np.float64] | None = None

    FIGURES = (
        "accuracy",
        "balanced_accuracy",
        "sparsity",
        "n_features",
        "n_acquisitions",
        "spent",
        "acquisition_cost",
        "error_cost",
        "loss",
        "admissible",
        "illegal",
        "auc",
        "log_loss",
        "brier",
        "calibration_error",
        "loss_low",
        "loss_high",
    )

    def figures(self) -> dict[str, float]:
        """The numbers listed in ``FIGURES``, by name."""
        return {name: getattr(self, name) for name in self.FIGURES}

    @cached_property
    def auc(self) -> float:
        return np.nan if self.probabilities is None else metrics.area_under_roc(self.dataset.y, self.probabilities)

    @cached_property
    def log_loss(self) -> float:
        return np.nan if self.probabilities is None else metrics.mean_log_loss(self.dataset.y, self.probabilities)

    @cached_property
    def brier(self) -> float:
        return np.nan if self.probabilities is None else metrics.brier_score(self.dataset.y, self.probabilities)

    @cached_property
    def calibration_error(self) -> float:
        if self.probabilities is None:
            return np.nan
        return metrics.expected_calibration_error(self.dataset.y, self.probabilities)

    @cached_property
    def cost_per_case(self) -> MeanInterval:
        """Mean loss and its 95 % interval, in the unit of ``error_costs``; rows of one row group are dependent."""
        return metrics.mean_interval(self.losses, self.dataset.row_groups)

    @property
    def loss_low(self) -> float:
        return self.cost_per_case.low

    @property
    def loss_high(self) -> float:
        return self.cost_per_case.high

    def __repr__(self) -> str:
        return (
            f"Evaluation(accuracy {self.accuracy:.3f}, {self.n_features:.2f} features, "
            f"sparsity {self.sparsity:.3f}, loss {self.loss:.4f})"
        )

    def _repr_html_(self) -> str:
        broken = [name for name, usual in (("admissible", 1.0), ("illegal", 0.0)) if getattr(self, name) != usual]
        labels = FIGURE_LABELS | {name: OTHER_FIGURE_LABELS[name] for name in broken}
        rows = [(label, getattr(self, name)) for name, label in labels.items()]
        rules = rules_html(self.rules, self.dataset.classes.tolist(), self.dataset.columns)
        title = f"Evaluation on {self.dataset.n_samples:,} rows of {self.dataset.name}"
        return html_block(title, HtmlTable((), rows, len(rows))) + rules
