"""Cross-validated estimate of the loss of a classifier on other data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import _safe_indexing, indexable

from fsgym.checks import is_integer
from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate
from fsgym.html import HtmlTable, html_block
from fsgym.metrics import FIGURE_LABELS
from fsgym.row_groups import encode_row_groups, shared_group


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
    """

    loss: float
    standard_error: float
    error: float
    error_cost: float
    cost: float
    n_features: float
    losses: NDArray[np.float64]
    folds: list[Evaluation]

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
        return html_block(title, HtmlTable(header, chain([means], folds), len(self.folds) + 1))


class LabelledRows(NamedTuple):
    """A table X and labels y (n_samples,), or a ``Dataset`` in place of X."""

    X: Any
    y: Any

    def select(self, index: NDArray) -> tuple[Any, Any]:
        """The arguments of ``fit`` and ``evaluate`` for some rows."""
        if isinstance(self.X, Dataset):
            return self.X.rows(index), None
        return _safe_indexing(self.X, index), _safe_indexing(self.y, index)


def estimate_loss(
    classifier: Any, X: Any, y: ArrayLike | None = None, cv: Any = 5, groups: ArrayLike | None = None
) -> LossEstimate:
    """Estimate the loss of a classifier on other data; see ``BaseAgentClassifier.estimate_loss``."""
    if isinstance(X, Dataset):
        if y is not None:
            raise TypeError("y must be left out where X is a Dataset, which has its own labels")
        if groups is None:
            groups = X.row_groups
        else:
            X = X.replace(row_groups=encode_row_groups(groups, X.n_samples, "groups"))
        y = X.classes[X.y]
    elif y is None:
        raise ValueError("y must have the labels of the rows, got None; pass the labels, or a Dataset")
    else:
        X, y = indexable(X, y)
    rows = LabelledRows(X, y)
    n = len(y)  # type: ignore[arg-type]
    total, n_evaluations, folds = np.zeros(n), np.zeros(n), []
    for train, test in _folds(X.X if isinstance(X, Dataset) else X, y, cv, groups):
        labels = np.asarray(_safe_indexing(y, test))
        unseen = ~np.isin(labels, np.unique(np.asarray(_safe_indexing(y, train))))
        if unseen.any():
            raise ValueError(
                f"every class needs training rows in all folds, {labels[unseen][0]!s} has none in one of them; "
                + ("use fewer folds" if groups is None else "use fewer folds, or drop a class that only one group has")
            )
        model = clone(classifier).fit(*rows.select(train))
        folds.append(evaluate(model, *rows.select(test)))
        np.add.at(total, test, folds[-1].losses)
        np.add.at(n_evaluations, test, 1)
    losses, evaluated = np.full(n, np.nan), n_evaluations > 0
    losses[evaluated] = total[evaluated] / n_evaluations[evaluated]
    weight = [len(f.losses) for f in folds]

    def mean(name: str) -> float:
        return float(np.average([getattr(f, name) for f in folds], weights=weight))

    return LossEstimate(
        mean("loss"),
        float(losses[evaluated].std(ddof=1) / np.sqrt(evaluated.sum())),
        1 - mean("accuracy"),
        mean("error_cost"),
        mean("spent"),
        mean("n_features"),
        losses,
        folds,
    )


def _folds(X: Any, y: Any, cv: Any, groups: Any) -> Iterator[tuple[NDArray, NDArray]]:
    """Row numbers of the training and test rows of each fold; no group is in both, or ValueError."""
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
