"""What the estimators on SVM+ share: solutions become fitted attributes, and decisions come from the used columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from baselines.svm_plus.problem import Solution
from fsgym.threads import one_blas_thread


class SVMPlusModel:
    """Fitted attributes of one solution a classifier, and answers by them.

    A subclass says in ``_table(X)`` which columns, scaled how, the coefficients belong to.
    """

    classes_: NDArray
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _table(self, X: Any) -> Any:
        raise NotImplementedError

    def _keep(self, solutions: list[Solution], targets: NDArray[np.float64], unseen: str) -> None:
        """Store the model; ``unseen`` names the columns that only training saw: coef_<unseen>_."""
        self.coef_ = np.array([s.w for s in solutions])
        self.intercept_ = np.array([s.intercept for s in solutions])
        setattr(self, f"coef_{unseen}_", np.array([s.w_privileged for s in solutions]))
        setattr(self, f"intercept_{unseen}_", np.array([s.intercept_privileged for s in solutions]))
        self.alpha_ = np.array([s.alpha for s in solutions])
        self.beta_ = np.array([s.beta for s in solutions])
        self.dual_coef_ = self.alpha_ * targets.T
        self.slack_ = np.array([s.slack for s in solutions])
        self.objective_ = _one_or_all([s.objective for s in solutions])
        self.duality_gap_ = _one_or_all([s.gap for s in solutions])
        self.max_violation_ = max(s.violation for s in solutions)
        self.n_iter_ = max(s.n_iter for s in solutions)
        self.status_ = "optimal" if all(s.optimal for s in solutions) else "inaccurate"

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of ``X`` (n_samples, n_features), dense or CSR: (n_samples,) for two classes, positive for the
        second, else (n_samples, n_classes)."""
        with one_blas_thread():
            scores = np.asarray(self._table(X) @ self.coef_.T) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """The class of each row, shape (n_samples,); a score of exactly 0 is the second class."""
        scores = self.decision_function(X)
        codes = (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]


def _one_or_all(values: list[float]) -> float | NDArray[np.float64]:
    return values[0] if len(values) == 1 else np.array(values)


def solve_each(targets: NDArray[np.float64], solve: Callable[[NDArray[np.float64]], Solution]) -> list[Solution]:
    """A solution for each column of ``targets`` (n_samples, n_classifiers), +1 and -1; warns of inaccurate ones."""
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
    """C of the problem solved. The paper's objective has no halves: doubled weights, so that its lam2 is 2 C."""
    return lam2 / 2 if objective_scale == "paper" else lam2
