"""The result of evaluating a policy: means over the rows, what happened to each row, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym import metrics
from fsgym.metrics import ALL_LABELS, FIGURE_LABELS, MeanInterval
from fsgym.text.html import HtmlTable, html_block, rules_html
from fsgym.text.messages import counted, one_line

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.blocks import Blocks
    from fsgym.data.dataset import Dataset
    from fsgym.envs.trajectories import Trajectories
    from fsgym.rules import Rules


RELIABILITY_HEADING = "How often answers of a certainty are right"
WRONG_SHOWN = 3  # wrong answers to a class, the most frequent ones


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Result of evaluating a policy on a data set under given rules.

    Attributes
    ----------
    accuracy, balanced_accuracy : float, over the rows that are answered; NaN where all are referred to a person
    sparsity : float, 1 minus the mean share of features used (Dulac-Arnold et al., 2012, section 6)
    n_features, n_acquisitions : float, mean numbers of features used and of acquisitions paid for, per row; the
        features of one category count once
    spent : float, mean total price of the acquisitions of a row, in the unit of ``costs``
    acquisition_cost : float, ``lam * spent``
    error_cost : float
        Mean error cost, with ``refer_cost`` for a row that is referred. For a numeric target the mean absolute error,
        or squared error where the answers of its bins are means, unless the rules have other error costs.
    loss : float, ``error_cost + acquisition_cost`` (eqs. 2, 6 and 8)
    admissible : float, share of rows whose acquisitions the rules allow
    illegal : float, share of rows forfeited by an illegal action
    referred : float, share of rows that are referred to a person; 0 without ``refer_cost``
    answers : int64 (n_samples,), class codes; n_classes for a row that is referred
    used : bool (n_samples, n_features), the features used for each row
    losses : float64 (n_samples,), the loss of each row
    auc, log_loss, brier, calibration_error : float
        Area under the ROC curve, log-loss, Brier score and expected calibration error of ``probabilities``, see
        ``fsgym.metrics``; NaN without probabilities, and the AUC also where a class has no rows.
    absolute_error, squared_error : float
        Mean errors of the answers to the true numbers of a numeric target, over the rows that are answered; NaN for
        classes.
    loss_low, loss_high : float, 95 % interval of the mean loss, see ``fsgym.metrics.mean_interval``
    trajectories : Trajectories, or None for methods that acquire in no order, and for Blocks
    dataset : Dataset, or Blocks
    rules : Rules
    probabilities : float64 (n_samples, n_classes), or None
        Class probabilities at the answer, with a column for each of ``dataset.classes``; None for a policy without a
        model of the classes.
    predicted : float64 (n_samples,), or None
        The answers to a numeric target, NaN for a row that is referred.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> env = gymnasium.make("fsgym:DatumWise-v0", split="test")
    >>> def answer(observations, masks):
    ...     return [31] * len(observations)  # class 1, with nothing acquired
    >>> result = fsgym.evaluate(answer, env)
    >>> round(result.accuracy, 2), result.n_features
    (0.37, 0.0)
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
    referred: float
    answers: NDArray[np.int64]
    used: NDArray[np.bool_]
    losses: NDArray[np.float64]
    trajectories: Trajectories | None
    dataset: Dataset | Blocks
    rules: Rules
    probabilities: NDArray[np.float64] | None = None
    predicted: NDArray[np.float64] | None = None

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
        """The numbers listed in ``FIGURES``, by name; with ``refer_cost`` also ``referred``.

        For a numeric target also ``absolute_error`` and ``squared_error``.
        """
        names = self.FIGURES if self.rules.refer_cost is None else (*self.FIGURES, "referred")
        names = names if self.predicted is None else (*names, *metrics.NUMBER_FIGURES)
        return {name: getattr(self, name) for name in names}

    @property
    def absolute_errors(self) -> NDArray[np.float64] | None:
        """Those of each row, float64 (n_samples,), NaN for a row that is referred; None for classes."""
        return None if self.predicted is None else np.abs(self.predicted - self.dataset.target)

    @property
    def absolute_error(self) -> float:
        return np.nan if self.absolute_errors is None else metrics.mean_power(self.absolute_errors, 1)

    @property
    def squared_error(self) -> float:
        return np.nan if self.absolute_errors is None else metrics.mean_power(self.absolute_errors, 2)

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
    def excess_calibration_error(self) -> float:
        """The calibration error beyond what chance makes of calibrated probabilities, see ``fsgym.metrics``."""
        if self.probabilities is None:
            return np.nan
        return metrics.excess_calibration_error(self.dataset.y, self.probabilities)

    @property
    def reliability(self) -> pd.DataFrame:
        """How often answers of a certainty are right, see ``fsgym.metrics.certainty_bins``.

        One line per bin: ``certainty``, the mean probability of the answers; ``correct``, their share that is right;
        ``rows``. Empty without probabilities.
        """
        import pandas as pd

        bins = []
        if self.probabilities is not None:
            answered = self.answers < self.dataset.n_classes  # not referred to a person
            bins = metrics.certainty_bins(
                self.dataset.y[answered], self.answers[answered], self.probabilities[answered]
            )
        return pd.DataFrame(bins, columns=pd.Index(metrics.CertaintyBin._fields))

    @cached_property
    def cost_per_case(self) -> MeanInterval:
        """Mean loss and its 95 % interval, in the unit of ``error_costs``; rows of one row group are dependent.

        Prices and errors together: with ``lam=1``, error costs have the unit of ``costs``, such as money.
        """
        return metrics.mean_interval(self.losses, self.dataset.row_groups)

    @property
    def cost_per_1000(self) -> MeanInterval:
        """``cost_per_case`` times 1,000."""
        return self.cost_per_case.times(1000.0)

    @property
    def loss_low(self) -> float:
        return self.cost_per_case.low

    @property
    def loss_high(self) -> float:
        return self.cost_per_case.high

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows are answered, not referred to a person, bool (n_samples,)."""
        return self.answers < self.dataset.n_classes

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Rows by true class (first axis) and answer (second axis), int64 (n_classes, n_answers)."""
        n_classes = self.dataset.n_classes
        counts = np.bincount(self.dataset.y * (n_classes + 1) + self.answers, minlength=n_classes * (n_classes + 1))
        return counts.reshape(n_classes, n_classes + 1)[:, : self.rules.n_answers]

    def confusion_in_words(self, most: int = 8) -> list[str]:
        """``confusion`` in words, a sentence for each of the first ``most`` classes that have rows.

        Such as "hyper: of 3 rows, 2 are answered hyper, 1 sick".
        """
        labels = [one_line(str(label), 40) for label in self.dataset.class_labels]
        answers = self.rules.answer_labels(labels)
        lines = []
        for k in np.flatnonzero(self.confusion.any(axis=1))[:most]:
            counts = self.confusion[k]
            others = sorted((a for a in range(len(answers)) if a != k and counts[a]), key=lambda a: -counts[a])
            texts = [f"{counts[a]:,} {answers[a] if a < len(labels) else f'referred to {answers[a]}'}" for a in others]
            right = f"{counts[k]:,} {'is' if counts[k] == 1 else 'are'}" if counts[k] else "none is"
            said = [f"{labels[k]}: {of_rows(counts.sum())}", f"{right} answered {labels[k]}", *texts[:WRONG_SHOWN]]
            said += [f"and {len(texts) - WRONG_SHOWN} other answers"] if len(texts) > WRONG_SHOWN else []
            lines.append(", ".join(said))
        return lines

    @property
    def by_class(self) -> pd.DataFrame:
        """One line per class: ``class``, its label; ``rows``; ``recall`` and ``precision``, NaN if not defined.

        Both are over the rows that are answered; with ``refer_cost``, ``answered`` is their number, and ``referred``
        the share of the others. With two classes, the recalls are sensitivity and specificity, the precisions PPV and
        NPV; see ``diagnostics``.
        """
        import pandas as pd

        n_classes, answered = self.dataset.n_classes, self.answered
        y, answers = self.dataset.y[answered], self.answers[answered]
        rows = np.bincount(self.dataset.y, minlength=n_classes)
        table = {
            "class": self.dataset.class_labels,
            "rows": rows,
            "recall": metrics.class_recalls(y, answers, n_classes),
            "precision": metrics.class_precisions(y, answers, n_classes),
        }
        if self.rules.refer_cost is not None:
            table["answered"] = np.bincount(y, minlength=n_classes)
            table["referred"] = 1.0 - table["answered"] / np.where(rows > 0, rows, np.nan)
        return pd.DataFrame(table)

    @property
    def positive_class(self) -> int | None:
        """The code of the class that the sensitivity is about, see ``fsgym.metrics.positive_class``."""
        return metrics.positive_class(self.rules.error_costs, self.dataset.y)

    @property
    def diagnostics(self) -> dict[str, float]:
        """``sensitivity``, ``specificity``, ``ppv`` and ``npv`` for two classes; empty for more classes."""
        return self.diagnostics_of(self.positive_class)

    def diagnostics_of(self, positive: int | None) -> dict[str, float]:
        """``diagnostics`` with another positive class, an index into ``dataset.classes``."""
        return metrics.diagnostic_figures(self.dataset.y[self.answered], self.answers[self.answered], positive)

    @property
    def headline(self) -> tuple[str, ...]:
        """Names of the figures to decide by, see ``fsgym.metrics.headline_figures``; with ``refer_cost`` the cost.

        The accuracy is then over the answered rows alone, and higher the more rows are referred.
        """
        if self.dataset.bins is not None:
            return (self.dataset.bins.error, "loss")
        if self.rules.refer_cost is not None:
            return ("loss",)
        return metrics.headline_figures(self.rules.error_costs, self.dataset.y)

    def headline_text(self) -> str:
        """The figures to decide by in words, as ``cost per case 32.1 (95 % interval 27 to 38.9)``."""
        figures = {name: getattr(self, name) for name in self.headline}
        return metrics.headline_in_words(figures, self.cost_per_case)

    def unseen_costs_text(self) -> str:
        """The error whose cost the interval cannot allow for, as too few rows show it, in words; "" without one.

        The one that would raise ``cost_per_case`` most, were it as frequent as the rows of its class leave possible
        (upper limit of 95 %, Clopper and Pearson, 1934), if that is above the interval.
        """
        dataset, n_classes = self.dataset, self.dataset.n_classes
        if "loss" not in self.headline or dataset.bins is not None or dataset.row_groups is not None:
            return ""
        wrong, n = self.confusion[:, :n_classes], self.confusion.sum(axis=1, keepdims=True)
        possible = np.where(n > 0, metrics.binomial_upper_bound(wrong, n, 1 - metrics.LEVEL), 0.0)
        costs = self.rules.answer_costs[:n_classes].T
        more = (costs - costs.diagonal()[:, None]) * (possible * n - wrong) / dataset.n_samples
        k, a = np.unravel_index(more.argmax(), more.shape)
        mean, _, high = self.cost_per_case
        if not more[k, a] > high - mean:
            return ""
        labels = [one_line(str(label), 40) for label in dataset.classes]
        count = f"{wrong[k, a]:,}" if wrong[k, a] else "none"
        return (
            f"the interval cannot allow for errors that these rows hardly show: of {n[k, 0]:,} rows of {labels[k]} "
            f"{count} {'is' if wrong[k, a] < 2 else 'are'} answered {labels[a]}, which costs {costs[k, a]:g}; "
            f"up to {100 * possible[k, a]:.0f} % of such cases may be, which would cost "
            f"{metrics.short_number(more[k, a])} more per case"
        )

    def to_json(self) -> dict[str, Any]:
        """All figures as JSON values, with None where one is not defined.

        Returns
        -------
        dict
            ``dataset``, its name; ``rows``; ``headline``, names of the figures to decide by; ``figures``, those of
            ``FIGURES`` by name; ``cost_per_case`` and ``cost_per_1000``, each with ``mean``, ``low`` and ``high``;
            ``classes``, their labels, of a numeric target the ranges of its bins; ``by_class``, a list of ``class``,
            ``rows``, ``recall`` and ``precision``, with ``refer_cost`` also ``answered`` and ``referred``;
            ``positive_class``, a label or None, and ``diagnostics``;
            ``confusion``, rows of the table by true class; ``excess_calibration_error``, and ``reliability``, a list of
            ``certainty``, ``correct`` and ``rows``.
        """
        classes = self.dataset.class_labels
        positive = self.positive_class
        return {
            "dataset": self.dataset.name,
            "rows": self.dataset.n_samples,
            "headline": list(self.headline),
            "figures": _without_nan(self.figures()),
            "cost_per_case": _without_nan(self.cost_per_case._asdict()),
            "cost_per_1000": _without_nan(self.cost_per_1000._asdict()),
            "classes": classes,
            "by_class": [_without_nan(line) for line in self.by_class.to_dict("records")],
            "positive_class": None if positive is None else classes[positive],
            "diagnostics": _without_nan(self.diagnostics),
            "confusion": self.confusion.tolist(),
            **_without_nan({"excess_calibration_error": self.excess_calibration_error}),
            "reliability": self.reliability.to_dict("records"),
        }

    def __repr__(self) -> str:
        used = f"{self.n_features:.2f} features"
        ends = f", {1 - self.admissible:.1%} of the rows break the rules" if self.admissible < 1 else ""
        ends += f", {self.illegal:.1%} ended by an illegal action" if self.illegal > 0 else ""
        if self.rules.refer_cost is not None:
            ends += f", {self.referred:.1%} referred to {self.rules.refer_label}"
        if "loss" in self.headline:
            more = f"mean price paid {self.spent:.4g}, accuracy {self.accuracy:.3f}{ends}"
            return f"Evaluation({self.headline_text()}, {used}, {more})"
        more = f"sparsity {self.sparsity:.3f}, loss {self.loss:.4f}{ends}"
        return f"Evaluation({self.headline_text()}, {used}, {more})"

    def _repr_html_(self) -> str:
        broken = [name for name, usual in (("admissible", 1.0), ("illegal", 0.0)) if getattr(self, name) != usual]
        broken += [] if self.rules.refer_cost is None else ["referred"]
        shown = [*FIGURE_LABELS, "loss_low", "loss_high", *metrics.PROBABILITY_FIGURES, *broken]
        rows = [(ALL_LABELS[name], value) for name in shown if not np.isnan(value := getattr(self, name))]
        parts: list[str | HtmlTable] = [f"{sentence_case(self.headline_text())}."]
        if "loss" in self.headline:
            parts.append(f"Per 1,000 cases: {self.cost_per_1000}.")
        if text := self.unseen_costs_text():
            parts.append(f"{sentence_case(text)}.")
        parts.append(HtmlTable((), rows, len(rows)))
        table = self.by_class
        lines = [list(_without_nan(line).values()) for line in table.to_dict("records")]
        parts.append(HtmlTable(list(table.columns), lines, len(lines)))
        if len(reliability := self.reliability):
            parts.append(f"{RELIABILITY_HEADING}:")
            parts.append(HtmlTable(list(reliability.columns), reliability.to_numpy().tolist(), len(reliability)))
        if self.diagnostics:
            parts.append(f"{self.diagnostics_text()}.")
        rules = rules_html(self.rules, self.dataset.class_labels, self.dataset.columns)
        title = f"Evaluation on {counted(self.dataset.n_samples, 'row')} of {self.dataset.name}"
        return html_block(title, *parts) + rules

    def diagnostics_text(self) -> str:
        """Sensitivity, specificity, PPV and NPV in words; "" for more than two classes."""
        positive = self.positive_class
        if positive is None:
            return ""
        figures = ", ".join(
            f"{metrics.DIAGNOSTIC_LABELS[name]} {value:.3f}" for name, value in self.diagnostics.items()
        )
        return f"{sentence_case(figures)} (positive: {self.dataset.class_labels[positive]!s})"


def _without_nan(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in figures.items()}


def of_rows(*counts: int) -> str:
    """How many rows are behind a figure, or behind the same figure of several evaluations.

    >>> of_rows(1), of_rows(120, 3), of_rows(0)
    ('of one row', 'of 120 and 3 rows', 'of no row')
    """
    if len(counts) == 1 and counts[0] < 2:
        return "of one row" if counts[0] == 1 else "of no row"
    return f"of {' and '.join(f'{n:,}' for n in counts)} rows"


def sentence_case(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def acquires_features(rules: Rules, dataset: Dataset) -> bool:
    """Whether each acquisition reveals a single feature, or each a whole column, so that features are counted."""
    groups = set(rules.groups)
    return all(len(members) == 1 for members in groups) or groups == {tuple(f) for f in dataset.columns.features}
