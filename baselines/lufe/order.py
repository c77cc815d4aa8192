"""Ranking of all features from best to worst, by one of five criteria or by the user's scores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_classif
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.sparsefuncs import min_max_axis

from baselines.base import signed_targets
from baselines.svm_plus.problem import SampleTable, solve_svm

SELECTORS = ("rfe", "anova", "mutual_info", "hsic", "leverage")
Codes = NDArray[np.int64]


def feature_order(
    X: Any,
    codes: Codes,
    selector: str | ArrayLike,
    n_selected: int,
    *,
    step: float = 0.1,
    C: float = 1.0,
    random_state: Any = None,
) -> NDArray[np.int64]:
    """Return the indices of the columns of ``X`` (n_samples, n_features), dense or CSR, best first.

    Ties go to the earlier column. Scores are compared in single precision, so that rounding errors do not decide; the
    user's scores are compared as they are. ``step`` and ``C`` are parameters of "rfe", ``random_state`` of
    "mutual_info". Raises ValueError if the user's scores are not one finite number per feature.
    """
    if not isinstance(selector, str):
        return np.argsort(-_check_user_scores(selector, X.shape[1]), kind="stable")
    if selector == "rfe":
        return rfe(X, codes, n_selected, step, C)
    scores = {
        "anova": lambda: anova(X, codes),
        "mutual_info": lambda: continuous_mutual_information(X, codes, random_state),
        "hsic": lambda: hsic(X, codes),
        "leverage": lambda: leverage(X, n_selected),
    }
    return best_first(scores[selector]())


def best_first(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices in decreasing order of the scores; NaN is the lowest score."""
    scores = np.where(np.isnan(scores), -np.inf, scores)
    largest = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return np.argsort(-(scores / (largest or 1.0)).astype(np.float32), kind="stable")


def _sum_of_squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of squares of each column, with 0 for sums that are only rounding error of the largest."""
    total = np.square(rows).sum(axis=0)
    return np.where(total > 1e-20 * total.max(), total, 0.0)


def _check_user_scores(scores: ArrayLike, n_features: int) -> NDArray[np.float64]:
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"selector must be one of {', '.join(SELECTORS)}, or one number per feature") from None
    if values.shape != (n_features,):
        raise ValueError(f"scores given as selector must have shape ({n_features},), got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("scores given as selector must be finite")
    return values


def rfe(X: Any, codes: Codes, n_selected: int, step: float, C: float) -> NDArray[np.int64]:
    """Recursive feature elimination (Guyon, Weston, Barnhill and Vapnik, 2002) down to ``n_selected`` features.

    Each round drops the share ``step`` of the remaining features: those of the smallest squared weights in a linear
    SVM, summed over the one-vs-rest classifiers. The result lists the surviving features first, then the dropped ones,
    the last dropped first.
    """
    targets, remaining = signed_targets(codes), np.arange(X.shape[1])
    dropped: list[NDArray[np.int64]] = []
    gram, fresh_size = _sample_gram(X), np.inf
    while True:
        size = float(np.trace(gram))
        if size < 1e-6 * fresh_size:  # cancellation: most of the Gram matrix has been subtracted
            gram = _sample_gram(X[:, remaining])
            size = fresh_size = float(np.trace(gram))
        fresh_size = size if fresh_size == np.inf else fresh_size
        weights = np.array([_svm_weights(X, remaining, gram, y, C) for y in targets.T])
        ranked = remaining[best_first(_sum_of_squares(weights))]
        if len(remaining) <= n_selected:
            return np.concatenate([ranked, *reversed(dropped)])
        n_left = max(n_selected, len(remaining) - max(1, int(step * len(remaining))))
        dropped.append(ranked[n_left:])
        remaining = np.sort(ranked[:n_left])
        gram = gram - _sample_gram(X[:, ranked[n_left:]])


def _sample_gram(X: Any) -> NDArray[np.float64]:
    return SampleTable(X).gram


def _svm_weights(X: Any, remaining: NDArray, gram: NDArray, y: NDArray, C: float) -> NDArray[np.float64]:
    """Return the weights of the linear SVM on the remaining columns.

    LIBSVM computes them; if it does not converge in time, the interior point method does.
    """
    machine = SVC(C=C, kernel="precomputed", tol=1e-6, max_iter=20_000 + 100 * len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(gram, y)
        if machine.fit_status_ == 0:
            dual = np.zeros(len(y))
            dual[machine.support_] = machine.dual_coef_[0]
            return np.asarray(X.T @ dual)[remaining]
        return solve_svm(SampleTable(X[:, remaining]), y, C, tol=1e-6).w


def anova(X: Any, codes: Codes) -> NDArray[np.float64]:
    """Return the F statistic of the analysis of variance between the classes, (n_features,); NaN if constant."""
    members = (codes[:, None] == np.unique(codes)).astype(np.float64)
    sizes, sums = members.sum(axis=0), np.asarray(X.T @ members)
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else np.square(X)).sum(axis=0)).ravel()
    explained = (np.square(sums) / sizes).sum(axis=1)
    between = np.maximum(explained - np.square(sums.sum(axis=1)) / len(codes), 0.0)
    within = np.maximum(squares - explained, 0.0)
    low, high = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        F = (between / (len(sizes) - 1)) / (within / (len(codes) - len(sizes)))
    return np.where(low == high, np.nan, F)


def continuous_mutual_information(X: Any, codes: Codes, random_state: Any) -> NDArray[np.float64]:
    """Return the mutual information of each column, as a continuous variable, with the class (Ross, 2014).

    Slow: a nearest-neighbour search for each column.
    """
    draws, scores = check_random_state(random_state), []
    for start in range(0, X.shape[1], 256):
        block = X[:, start : start + 256]
        block = block.toarray() if sp.issparse(block) else block
        scores.append(mutual_info_classif(block, codes, discrete_features=False, random_state=draws))
    return np.concatenate(scores)


def hsic(X: Any, codes: Codes) -> NDArray[np.float64]:
    """Return the Hilbert-Schmidt independence criterion (Song et al., 2012) with linear kernels, (n_features,).

    That is the squared covariance of each column with the targets of +1 and -1, summed over the classes.
    """
    targets = signed_targets(codes)
    centred = targets - targets.mean(axis=0)
    return _sum_of_squares(np.asarray(X.T @ centred).T) / (len(codes) - 1) ** 2


def leverage(X: Any, n_directions: int) -> NDArray[np.float64]:
    """Return the leverage scores of the columns, (n_features,).

    The score is the squared norm of the column's entries in the leading right singular vectors, of which there are as
    many as selected features, or the rank if that is smaller. The classes are not used.
    """
    values, vectors = np.linalg.eigh(_sample_gram(X))
    rank = int((values > values[-1] * len(values) * np.finfo(float).eps).sum()) if values[-1] > 0 else 0
    k = min(rank, n_directions)
    if k == 0:
        return np.zeros(X.shape[1])
    leading = vectors[:, len(values) - k :] / np.sqrt(values[len(values) - k :])
    return np.asarray(np.square(X.T @ leading).sum(axis=1))
