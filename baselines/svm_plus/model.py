"""Shared by the estimators on SVM+: fitted attributes from solutions, and decisions from the used columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from baselines.base import ColumnSelectorMixin, DecisionMixin
from baselines.svm_plus.problem import SVMPlusSolution
from fsgym.support.threads import one_blas_thread

# A score that is smaller than this share of the terms that it is the sum of is taken for 0. At the optimum of SVM+ many
# scores are exactly 0, or equal to those of another class. In our runs the interior point method gave such scores to
# 1.5e-5 of their terms, and other scores are hardly ever below 1e-4 of them.
CANCELLED = 1e-4


class SVMPlusModel(DecisionMixin, ColumnSelectorMixin):
    """Base of the SVM+ estimators: fitted attributes from one solution per binary classifier, and predictions."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    has_signal_: NDArray[np.bool_]
    class_shares_: NDArray[np.float64]

    def _terms(self, X: Any) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
        """Return the validated columns of ``X``, their coefficients, and the intercepts, of which scores are sums."""
        raise NotImplementedError

    def _store_solutions(
        self, solutions: list[SVMPlusSolution], targets: NDArray[np.float64], training_only: str
    ) -> None:
        """Set the fitted attributes.

        Where no binary classifier has a signal, scores are the mean targets: that of the largest class is the highest.
        ``training_only`` names the coefficients of the columns that are used in training only, as in
        ``coef_privileged_``.
        """
        self.coef_ = np.array([s.w for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        setattr(self, f"coef_{training_only}_", np.array([s.w_privileged for s in solutions]))
        setattr(self, f"intercept_{training_only}_", np.array([s.intercept_privileged for s in solutions]))
        self.alpha_ = np.array([s.alpha for s in solutions])
        self.beta_ = np.array([s.beta for s in solutions])
        self.dual_coef_ = self.alpha_ * targets.T
        self.slack_ = np.array([s.slack for s in solutions])
        self.objective_ = _one_or_all([s.objective for s in solutions])
        self.duality_gap_ = _one_or_all([s.gap for s in solutions])
        self.max_violation_ = max(s.violation for s in solutions)
        self.n_iter_ = max(s.n_iter for s in solutions)
        self.class_shares_ = shares_of(targets)
        self.has_signal_ = np.array([s.signal for s in solutions])
        found = "optimal" if self.has_signal_.any() else "no signal"
        self.status_ = found if all(s.optimal for s in solutions) else "inaccurate"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of ``X`` (n_samples, n_features), dense or CSR.

        They are (n_samples,) for two classes, positive for the second, otherwise (n_samples, n_classes). Where terms
        cancel, so that the score says nothing of the row, it is settled in favour of the largest class.
        """
        with one_blas_thread():
            scores = settled_scores(*self._terms(X), self.class_shares_)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def settled_scores(
    X: Any, coef: NDArray[np.float64], intercept: NDArray[np.float64], class_shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return scores (n_samples, 1 or n_classes) of ``X`` in which rounding errors decide nothing.

    A score of two classes that is 0 but for ``CANCELLED`` gets the sign of the larger class, and 0 if both are equal.
    Among several classes whose scores are the largest but for ``CANCELLED``, the largest class gets the largest score.

    >>> settled_scores(np.array([[1.0], [2.0]]), np.array([[1.0]]), np.array([-1 + 1e-12]), np.array([0.7, 0.3]))
    array([[-8.e-05],
           [ 1.e+00]])
    """
    scores = np.asarray(X @ coef.T) + intercept
    resolution = CANCELLED * (np.asarray(abs(X) @ np.abs(coef).T) + np.abs(intercept))
    if scores.shape[1] == 1:
        return np.where(np.abs(scores) <= resolution, (class_shares[1] - class_shares[0]) * resolution, scores)
    highest, within = scores.max(axis=1), resolution.max(axis=1)
    tied = scores >= (highest - within)[:, None]
    largest = np.where(tied, class_shares, -1.0).argmax(axis=1)
    rows = np.flatnonzero(scores.argmax(axis=1) != largest)
    scores[rows, largest[rows]] = np.nextafter(highest[rows], np.inf)
    return scores


def _one_or_all(values: list[float]) -> float | NDArray[np.float64]:
    return values[0] if len(values) == 1 else np.array(values)


def shares_of(targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each class, (n_classes,), from one-vs-rest targets of +1 and -1 as of ``signed_targets``."""
    shares = (targets.mean(axis=0) + 1) / 2
    return np.append(1 - shares, shares) if len(shares) == 1 else shares


def solve_each(
    targets: NDArray[np.float64], solve: Callable[[NDArray[np.float64]], SVMPlusSolution]
) -> list[SVMPlusSolution]:
    """Solve for each column of ``targets`` (n_samples, n_classifiers), +1 and -1.

    Warns of each solution that is not optimal.
    """
    with one_blas_thread():
        solutions = [solve(np.ascontiguousarray(target)) for target in targets.T]
    for solution in (s for s in solutions if not s.optimal):
        warnings.warn(
            f"the interior point method stopped after {solution.n_iter} steps with a duality gap of {solution.gap:.1e} "
            f"at objective {solution.objective:.3e} and a violation of {solution.violation:.1e}; scale the features to "
            "[-1, 1] or raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )
    return solutions


def slack_weight(lam2: float, objective_scale: str) -> float:
    """Return the weight C of the slacks in the problem that is solved.

    The paper's objective has no factors 1/2 on the squared norms, so that its lam2 is 2 C.
    """
    return lam2 / 2 if objective_scale == "paper" else lam2
