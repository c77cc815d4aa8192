"""Cross-validated estimate of the loss of a classifier on other data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed

from agents.inputs import plain_labels
from fsgym.data.dataset import Dataset
from fsgym.data.row_groups import encode_row_groups, shared_group
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.metrics import (
    FIGURE_LABELS,
    MeanInterval,
    aligned_probabilities,
    mean_interval,
    mean_recall,
    probability_figures,
)
from fsgym.sklearn_private import select_rows
from fsgym.support.checks import check_n_jobs, is_integer
from fsgym.support.threads import one_thread
from fsgym.text.html import HtmlTable, html_block


@dataclass(frozen=True, eq=False)
class LossEstimate:
    """Means over all rows, each classified by a model that was not trained on it.

    Attributes
    ----------
    loss : float
        Error cost plus ``lam`` times the price of the acquisitions.
    standard_error : float
        Of ``loss``, from the spread over the rows. It does not include the variation between training sets.
    error : float
        Share of wrong answers.
    error_cost : float
        In the unit of ``error_costs``; without them the same as ``error``.
    cost : float
        Price of the acquisitions in the unit of ``costs``.
    n_features : float
        Features used.
    losses : float64 (n_samples,)
        Loss of each row, the mean over the test sets that contain it; NaN if no test set does.
    folds : list of Evaluation
        One per fold.
    rows : list of int64 (n_test,)
        Row numbers of the test set of each fold.
    classes : array (n_classes,)
        The labels, in the order of the columns of ``probabilities``.
    row_groups : int64 (n_samples,), or None
        The group of each row.
    """

    loss: float
    standard_error: float
    error: float
    error_cost: float
    cost: float
    n_features: float
    losses: NDArray[np.float64]
    folds: list[Evaluation]
    rows: list[NDArray[np.int64]]
    classes: NDArray
    row_groups: NDArray[np.int64] | None = None

    @cached_property
    def predictions(self) -> NDArray:
        """Predicted label of each row, (n_samples,), by the model of the first test set that contains it.

        None where no test set does; the array is then of Python objects.
        """
        codes = np.full(len(self.losses), -1)
        for rows, answers in zip(self.rows[::-1], self._codes("answers")[::-1]):
            codes[rows] = answers
        predicted = self.folds[0].rules.answer_labels(self.classes)[codes]
        if (codes < 0).any():
            predicted = predicted.astype(object)
            predicted[codes < 0] = None
        return predicted

    @cached_property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Class probabilities of each row, float64 (n_samples, n_classes), the mean over the test sets that contain it.

        NaN where no test set does. None for a classifier without probabilities.
        """
        pooled = self._pooled_probabilities
        if pooled is None:
            return None
        total, n_sets, rows = np.zeros((len(self.losses), len(self.classes))), np.zeros(len(self.losses)), self._row_of
        np.add.at(total, rows, pooled)
        np.add.at(n_sets, rows, 1)
        return np.divide(total, n_sets[:, None], out=np.full(total.shape, np.nan), where=n_sets[:, None] > 0)

    @cached_property
    def interval(self) -> MeanInterval:
        """``loss`` and its 95 % interval, see ``fsgym.metrics.mean_interval``.

        The rows of one group are dependent, and several predictions of one row. Like ``standard_error``, it does not
        include the variation between training sets.
        """
        units = self._row_of if self.row_groups is None else self.row_groups[self._row_of]
        return mean_interval(np.concatenate([f.losses for f in self.folds]), units)

    def figures(self) -> dict[str, float]:
        """The figures of ``Evaluation.figures()`` over all rows, by name.

        Balanced accuracy, AUC, log-loss, Brier score and calibration error are those of all predictions together,
        although models of different folds made them; the others are means over the rows.
        """
        y, answers = (np.concatenate(self._codes(name)) for name in ("y", "answers"))
        answered = answers < len(self.classes)
        pooled = {
            "accuracy": _mean_accuracy(self.folds),
            "balanced_accuracy": mean_recall(y[answered], answers[answered], len(self.classes)),
            **probability_figures(y, self._pooled_probabilities),
            "loss_low": self.interval.low,
            "loss_high": self.interval.high,
        }
        names = self.folds[0].figures().keys()
        n_rows = [len(rows) for rows in self.rows]
        means = {
            name: float(np.average([getattr(f, name) for f in self.folds], weights=n_rows))
            for name in names
            if name not in pooled
        }
        return {name: (means | pooled)[name] for name in names}

    @property
    def _row_of(self) -> NDArray[np.int64]:
        """The row of each prediction, fold after fold."""
        return np.concatenate(self.rows)

    @cached_property
    def _pooled_probabilities(self) -> NDArray[np.float64] | None:
        """Probabilities of all predictions, fold after fold."""
        parts = [
            aligned_probabilities(f.probabilities, f.dataset.classes, self.classes)
            for f in self.folds
            if f.probabilities is not None
        ]
        return np.concatenate(parts) if len(parts) == len(self.folds) else None

    def _codes(self, name: Literal["y", "answers"]) -> list[NDArray[np.int64]]:
        """True classes or answers of each fold, as indices into ``classes``."""
        folds = [(f.dataset.classes, f.dataset.y if name == "y" else f.answers) for f in self.folds]
        referred = len(self.classes)
        return [np.append(np.searchsorted(self.classes, classes), referred)[codes] for classes, codes in folds]

    def __repr__(self) -> str:
        return (
            f"LossEstimate(loss {self.loss:.4f} +- {self.standard_error:.4f}, error {self.error:.3f}, "
            f"{self.n_features:.2f} features, cost {self.cost:.3g})"
        )

    def _repr_html_(self) -> str:
        names = ("loss", "accuracy", "error_cost", "n_features", "spent")
        means = ["all", len(self.losses), self.loss, 1 - self.error, self.error_cost, self.n_features, self.cost]
        folds = ([k, len(f.losses), *(getattr(f, n) for n in names)] for k, f in enumerate(self.folds))
        header = ["fold", "rows", *(FIGURE_LABELS[n] for n in names)]
        title = f"Loss {self.loss:.4f}, standard error {self.standard_error:.4f} (cross-validated)"
        interval = f"Loss per row: {self.interval}."
        return html_block(title, interval, HtmlTable(header, chain([means], folds), len(self.folds) + 1))


def estimate_loss(
    classifier: Any,
    X: Any,
    y: ArrayLike | None = None,
    cv: Any = 5,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> LossEstimate:
    """Estimate the loss of a classifier on other data; see ``BaseAgentClassifier.estimate_loss``."""
    check_n_jobs(n_jobs)
    if isinstance(X, Dataset):
        if y is not None:
            raise TypeError("y must be left out where X is a Dataset, which has its own labels")
        if groups is None:
            groups = X.row_groups
        else:
            X = X.replace(row_groups=encode_row_groups(groups, X.n_samples, "groups"))
        y, classes = X.classes[X.y], X.classes
    elif y is None:
        raise ValueError("y must have the labels of the rows, got None; pass the labels, or a Dataset")
    else:
        X, y = indexable(X, y)
        classes = np.unique(plain_labels(y))

    def select(rows: NDArray) -> tuple[Any, Any]:
        """The arguments of ``fit`` and ``evaluate`` for some rows."""
        return (X.rows(rows), None) if isinstance(X, Dataset) else (select_rows(X, rows), select_rows(y, rows))

    n = len(y)  # type: ignore[arg-type]
    has_bins = isinstance(X, Dataset) and X.bins is not None
    alike = _strata(X.y, 5 if cv is None else int(cv)) if has_bins and (cv is None or is_integer(cv)) else y
    parts = list(_folds(X.X if isinstance(X, Dataset) else X, alike, cv, groups))
    if not has_bins:  # a bin may have no rows in training
        for train, test in parts:
            _check_classes(y, train, test, groups is not None)
    folds = Parallel(n_jobs=n_jobs, max_nbytes=None)(  # no data in shared files, which a kill would leave
        delayed(_evaluate_fold)(classifier, select(train), select(test)) for train, test in parts
    )
    total, n_evaluations = np.zeros(n), np.zeros(n)
    row_numbers = [np.arange(n)[test] for _, test in parts]
    for fold, test in zip(folds, row_numbers, strict=True):
        np.add.at(total, test, fold.losses)
        np.add.at(n_evaluations, test, 1)
    losses, evaluated = np.full(n, np.nan), n_evaluations > 0
    losses[evaluated] = total[evaluated] / n_evaluations[evaluated]
    weight = [len(f.losses) for f in folds]

    def mean(name: str) -> float:
        return float(np.average([getattr(f, name) for f in folds], weights=weight))

    return LossEstimate(
        mean("loss"),
        float(losses[evaluated].std(ddof=1) / np.sqrt(evaluated.sum())),
        1 - _mean_accuracy(folds),
        mean("error_cost"),
        mean("spent"),
        mean("n_features"),
        losses,
        folds,
        row_numbers,
        classes,
        None if groups is None else encode_row_groups(groups, n, "groups"),
    )


def _mean_accuracy(folds: Sequence[Evaluation]) -> float:
    """The accuracy over the rows of all folds that are answered, not referred to a person; NaN where none is."""
    answered = [f for f in folds if f.answered.any()]
    if not answered:
        return np.nan
    return float(np.average([f.accuracy for f in answered], weights=[f.answered.sum() for f in answered]))


def _strata(codes: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Bins (n_samples,) that are joined with the next ones until there are at least so many rows, as numbers from 0."""
    strata, joined, rows = [], 0, 0
    for count in np.bincount(codes):
        strata.append(joined)
        rows += int(count)
        if rows >= least:
            joined, rows = joined + 1, 0
    if rows and joined:  # the last ones are too few
        strata = np.minimum(strata, joined - 1)
    return np.asarray(strata)[codes]


def _check_classes(y: Any, train: NDArray, test: NDArray, grouped: bool) -> None:
    """ValueError where a class has test rows but no training rows."""
    labels = np.asarray(select_rows(y, test))
    unseen = ~np.isin(labels, np.unique(np.asarray(select_rows(y, train))))
    if unseen.any():
        advice = "use fewer folds, or drop a class that only one group has" if grouped else "use fewer folds"
        raise ValueError(
            f"every class needs training rows in all folds, {labels[unseen][0]!s} has none in one of them; {advice}"
        )


def _evaluate_fold(classifier: Any, train: tuple[Any, Any], test: tuple[Any, Any]) -> Evaluation:
    """Fit a copy of the classifier and evaluate it; in one thread, so that results do not depend on ``n_jobs``."""
    with one_thread():
        return evaluate(clone(classifier).fit(*train), *test)


def _folds(X: Any, y: Any, cv: Any, groups: Any) -> Iterator[tuple[NDArray, NDArray]]:
    """Row numbers of the training and test rows of each fold; no group is in both, or ValueError."""
    from sklearn.model_selection import StratifiedGroupKFold, check_cv  # slow to import, and not needed to ask

    if groups is None:
        yield from check_cv(cv, y, classifier=True).split(X, y)
        return
    codes = encode_row_groups(groups, len(y), "groups")
    if cv is None or is_integer(cv):
        n_folds, n_groups = 5 if cv is None else int(cv), int(codes.max()) + 1
        if n_folds > n_groups:
            raise ValueError(f"cv must be at most the number of groups, {n_groups}, got {n_folds}; use fewer folds")
        cv, groups = StratifiedGroupKFold(n_folds), codes
    with warnings.catch_warnings():  # of splitters that ignore groups: their folds are checked below
        warnings.filterwarnings("ignore", "The groups parameter is ignored")
        folds = list(check_cv(cv, y, classifier=True).split(X, y, groups))
    for train, test in folds:
        shared = shared_group(codes, train, test)
        if shared is not None:
            label = list(groups)[int(np.flatnonzero(codes == shared)[0])]
            raise ValueError(
                f"cv must keep the rows of a group on one side, got a fold with group {label!s} on both sides; use a "
                "whole number or a splitter such as GroupKFold, or leave groups out"
            )
        yield train, test
