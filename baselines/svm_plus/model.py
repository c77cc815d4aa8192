"""Shared by the estimators on SVM+: fitted attributes from solutions, and decisions from the used columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from baselines.linear import predicted_codes
from baselines.selector import ColumnSelectorMixin
from baselines.svm_plus.problem import SVMPlusSolution
from fsgym.threads import one_blas_thread


class SVMPlusModel(ColumnSelectorMixin):
    """Base of the SVM+ estimators: fitted attributes from one solution per binary classifier, and predictions."""

    classes_: NDArray
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    has_signal_: NDArray[np.bool_]

    def _input_columns(self, X: Any) -> Any:
        """Return the validated and scaled columns that the coefficients refer to."""
        return self._validate_table(X)

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
        self.has_signal_ = np.array([s.signal for s in solutions])
        found = "optimal" if self.has_signal_.any() else "no signal"
        self.status_ = found if all(s.optimal for s in solutions) else "inaccurate"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores of ``X`` (n_samples, n_features), dense or CSR.

        They are (n_samples,) for two classes, positive for the second, otherwise (n_samples, n_classes).
        """
        with one_blas_thread():
            scores = np.asarray(self._input_columns(X) @ self.coef_.T) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """Predict the class of each row, shape (n_samples,); ties go to the first class."""
        codes = predicted_codes(self.decision_function(X))
        return self.classes_[codes]


def _one_or_all(values: list[float]) -> float | NDArray[np.float64]:
    return values[0] if len(values) == 1 else np.array(values)


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
