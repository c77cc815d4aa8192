"""What a classifier loses on other data: fitted anew in each fold, judged on the rows left out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable

from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate


@dataclass(frozen=True, eq=False)
class LossEstimate:
    """Means over all rows, each judged by a classifier that did not see it.

    Attributes
    ----------
    loss : float, error cost and ``lam`` times the price of the acquisitions
    standard_error : float, of ``loss``: the spread of the rows over the root of their number; that another training
        set gives another policy is not in it
    error : float, share of wrong answers
    error_cost : float, in the unit of ``error_costs``; without them the same as ``error``
    cost : float, price of the acquisitions in the unit of ``costs``
    n_features : float, features used
    losses : float64 (n_samples,), of each row; the mean over its test sets, NaN for a row that no fold judges
    folds : list of Evaluation, one a fold
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


def estimate_loss(classifier: Any, X: ArrayLike, y: ArrayLike, cv: Any = 5) -> LossEstimate:
    """The loss of a classifier on other data; see ``BaseAgentClassifier.estimate_loss``."""
    X, y = indexable(X, y)
    n = len(y)  # type: ignore[arg-type]
    total, judged, folds = np.zeros(n), np.zeros(n), []
    for learnt, left_out in check_cv(cv, y, classifier=True).split(X, y):
        model = clone(classifier).fit(_safe_indexing(X, learnt), _safe_indexing(y, learnt))
        rows = model._rows(_safe_indexing(X, left_out))
        labels = np.asarray(_safe_indexing(y, left_out))
        strange = ~np.isin(labels, model.classes_)
        if strange.any():
            raise ValueError(
                f"every class needs rows in all folds, {labels[strange][0]!s} has none to learn from in one; "
                "use fewer folds"
            )
        folds.append(evaluate(model.policy_, Dataset(rows, labels, classes=model.classes_), model.rules_))
        np.add.at(total, left_out, folds[-1].losses)
        np.add.at(judged, left_out, 1)
    losses = np.full(n, np.nan)
    losses[judged > 0] = total[judged > 0] / judged[judged > 0]
    known, weight = losses[judged > 0], [len(f.losses) for f in folds]

    def mean(name: str) -> float:
        return float(np.average([getattr(f, name) for f in folds], weights=weight))

    return LossEstimate(
        mean("loss"),
        float(known.std(ddof=1) / np.sqrt(len(known))),
        1 - mean("accuracy"),
        mean("error_cost"),
        mean("spent"),
        mean("n_features"),
        losses,
        folds,
    )
