"""The regularisation path of the LASSO as a classifier."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path, lasso_path

from baselines.base import SparseLinearMixin, correlations, counts_up_to, scaled_table, signed_targets
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters


class LassoPathClassifier(SparseLinearMixin, ClassifierMixin, BaseEstimator):
    """Least squares on targets of +1 and -1 with an L1 penalty, along its path; one-vs-rest for more classes.

    The penalty decreases from alpha_max, the smallest one at which no classifier uses a feature, until the end given by
    ``alpha`` or ``max_features``, whichever comes first. All classifiers share one penalty.

    Parameters
    ----------
    alpha : float in [0, 1], default=0.01
        End of the path as a share of alpha_max: 1 uses no feature and always predicts the largest class; 0 is least
        squares.
    max_features : int or None, default=None
        The path ends before it uses more features than this, counted over all classifiers; controls sparsity. The
        coefficients are those of the smallest penalty that satisfies the limit.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not penalised. A model without features predicts the largest class in
        both cases.
    scaling : {"range", "standard", None}, default="range"
        How features are scaled over the training rows: to [-1, 1], to mean 0 and deviation 1, or not at all.
        LARS (Efron et al., 2004) is defined for deviation 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
        Coefficients of the scaled features.
    intercept_ : ndarray of shape (1 or n_classes,), float64
    alpha_ : float
        The penalty at the end of the path, as in ``sklearn.linear_model.Lasso(alpha=alpha_)``.
    alpha_max_ : float
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The path is exact, computed by LARS. LARS fails on linearly dependent columns, such as one-hot codes. Its steps are
    therefore checked against the optimality conditions; if they are violated, coordinate descent computes the path at
    100 penalties from alpha_max to max(alpha, 0.001) alpha_max.

    References
    ----------
    Efron, Hastie, Johnstone and Tibshirani (2004), Least angle regression, section 3.1; a reference method of
    Dulac-Arnold, Denoyer, Preux and Gallinari (2012), section 6.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import LassoPathClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LassoPathClassifier(alpha=0.0, max_features=3).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (3, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "scaling": [StrOptions({"range", "standard"}), None],
    }

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        max_features: int | None = None,
        fit_intercept: bool = True,
        scaling: Literal["range", "standard"] | None = "range",
    ) -> None:
        self.alpha = alpha
        self.max_features = max_features
        self.fit_intercept = fit_intercept
        self.scaling = scaling

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> LassoPathClassifier:
        """Fit on ``X`` (n_samples, n_features), finite numbers, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables and for fewer than two classes.
        """
        Z, codes = self._training_data(X, y)
        targets = signed_targets(codes)
        problem = _LassoProblem.of(Z, targets, centre=self.fit_intercept)
        self.alpha_max_ = problem.alpha_max
        paths, self.alpha_ = _truncate_paths(problem, self.alpha, self.max_features)
        coef = np.zeros((targets.shape[1], Z.shape[1]))
        coef[:, problem.varying] = [path.coef_at(self.alpha_) for path in paths]
        intercept = targets.mean(axis=0) - coef @ Z.mean(axis=0) if self.fit_intercept else np.zeros(len(coef))
        self._store_coefficients(coef, intercept, targets)
        return self

    def sparsity_grid(self, X: ArrayLike, y: ArrayLike, n_settings: int = 12) -> list[dict[str, float]]:
        """Return at most ``n_settings`` values of ``max_features``, from none to all, at about equal ratios."""
        n_features = scaled_table(X, y)[0].shape[1]
        return [{"alpha": 0.0, "max_features": k} for k in (0, *counts_up_to(n_features, n_settings - 1))]


class _LassoPath(NamedTuple):
    """A piecewise linear path: decreasing penalties (n_knots,), and coefficients (n_features, n_knots)."""

    alphas: NDArray[np.float64]
    coefs: NDArray[np.float64]

    def coef_at(self, alpha: float) -> NDArray[np.float64]:
        """Return the coefficients at ``alpha``, shape (n_features,)."""
        if len(self.alphas) == 1 or alpha >= self.alphas[0]:
            return self.coefs[:, 0]
        right = min(int(np.searchsorted(-self.alphas, -alpha)), len(self.alphas) - 1)
        high, low = self.alphas[right - 1], self.alphas[right]
        share = min((high - alpha) / (high - low), 1.0)
        return (1.0 - share) * self.coefs[:, right - 1] + share * self.coefs[:, right]

    def entries(self) -> NDArray[np.float64]:
        """Return the penalty at which each feature enters, shape (n_features,); -inf if it never does."""
        nonzero = self.coefs != 0
        before = np.maximum(nonzero.argmax(axis=1) - 1, 0)
        return np.where(nonzero.any(axis=1), self.alphas[before], -np.inf)


class _LassoProblem(NamedTuple):
    """Data of all one-vs-rest regressions, without constant columns (for which ``varying`` is False).

    They are centred if there is an intercept.
    """

    Z: NDArray[np.float64]
    targets: NDArray[np.float64]
    gram: NDArray[np.float64] | None
    Zy: NDArray[np.float64]
    varying: NDArray[np.bool_]
    alpha_max: float

    @classmethod
    def of(cls, Z: NDArray, targets: NDArray, *, centre: bool) -> _LassoProblem:
        varying = np.ptp(Z, axis=0) > 0
        Z = np.asfortranarray(Z[:, varying])
        if centre:
            Z, targets = Z - Z.mean(axis=0), targets - targets.mean(axis=0)
        gram = Z.T @ Z if Z.shape[0] > Z.shape[1] else None
        Zy = Z.T @ targets
        has_signal = any(correlations(Z, target).any() for target in targets.T)
        return cls(Z, targets, gram, Zy, varying, float(np.abs(Zy).max() / len(Z)) if has_signal else 0.0)

    def violation(self, path: _LassoPath, k: int) -> float:
        """Return the largest violation of the optimality conditions of regression ``k``, as a share of alpha_max."""
        fitted = self.Z.T @ (self.Z @ path.coefs) if self.gram is None else self.gram @ path.coefs
        pull = (self.Zy[:, [k]] - fitted) / len(self.Z)
        active = np.abs(pull - path.alphas * np.sign(path.coefs))
        wrong = np.where(path.coefs != 0, active, np.abs(pull) - path.alphas)
        return float(wrong.max()) / self.alpha_max


def _compute_paths(problem: _LassoProblem, alpha_min: float) -> list[_LassoPath]:
    """Return the path of each regression down to ``alpha_min``."""
    if problem.alpha_max == 0:
        return [_LassoPath(np.zeros(1), np.zeros((problem.Z.shape[1], 1)))] * problem.targets.shape[1]
    paths = []
    for k in range(problem.targets.shape[1]):
        path = _homotopy(problem, k, alpha_min)
        reached = path.alphas[-1] <= alpha_min + 1e-6 * problem.alpha_max
        if not reached or problem.violation(path, k) > 1e-6:
            return _coordinate_descent(problem, alpha_min)
        paths.append(path)
    return paths


def _homotopy(problem: _LassoProblem, k: int, alpha_min: float) -> _LassoPath:
    """Return the path of regression ``k`` by LARS."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caller checks the result
        alphas, _, coefs = lars_path(
            problem.Z,
            problem.targets[:, k],
            Xy=problem.Zy[:, k],
            Gram=problem.gram,
            method="lasso",
            alpha_min=alpha_min,  # pyright: ignore[reportArgumentType]
            max_iter=10 * min(problem.Z.shape) + 100,
        )
    return _LassoPath(alphas, coefs)


def _coordinate_descent(problem: _LassoProblem, alpha_min: float) -> list[_LassoPath]:
    """Return all paths at the same penalties, so that all have a knot where one of them ends."""
    share = max(alpha_min / problem.alpha_max, 1e-3)
    alphas = problem.alpha_max * np.geomspace(1.0, share, 100)
    paths = []
    for k in range(problem.targets.shape[1]):
        _, coefs, _ = lasso_path(
            problem.Z,
            problem.targets[:, k],
            alphas=alphas,  # pyright: ignore[reportArgumentType]
            precompute=False if problem.gram is None else problem.gram,  # pyright: ignore[reportArgumentType]
            Xy=problem.Zy[:, k],
            tol=1e-8,
            max_iter=100_000,
        )
        paths.append(_LassoPath(alphas, coefs))
    return paths


def _truncate_paths(problem: _LassoProblem, share: float, max_features: int | None) -> tuple[list[_LassoPath], float]:
    """Return the paths and the penalty at their end: ``share`` of alpha_max, or that of the limit on features.

    With ``max_features``, only the first part of the path is computed at first, since its end is the expensive part.
    """
    limit = problem.Z.shape[1] if max_features is None else max_features
    ends = [share] if limit >= problem.Z.shape[1] else [s for s in (0.1, 0.01, 0.001) if s > share] + [share]
    for end in ends:
        paths = _compute_paths(problem, end * problem.alpha_max)
        entries = np.sort(np.max([path.entries() for path in paths], axis=0))[::-1]
        if limit < np.isfinite(entries).sum():
            return paths, float(entries[limit])
    return paths, max(share * problem.alpha_max, float(min(path.alphas[-1] for path in paths)))
