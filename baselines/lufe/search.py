"""LUFe with its two weights chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import check_random_state

from baselines.base import predicted_codes, signed_targets
from baselines.lufe.classifier import LUFeClassifier
from baselines.lufe.roles import LUFeMixin, scale_columns
from baselines.svm_plus.model import settled_scores, shares_of, slack_weight
from baselines.svm_plus.problem import InfeasibleError, SVMPlusProblem, solve_svm_plus
from fsgym.sklearn_private import HasMethods, Interval, StrOptions, checks_parameters
from fsgym.support.checks import check_n_jobs
from fsgym.support.threads import one_blas_thread

PAPER_WEIGHTS = tuple(
    float(v) for v in np.logspace(-3, 3, 7)
)  # the grid of section 4 of the paper, for lam1 and for lam2
INNER_TOL = 1e-6  # duality gap of the fits in the search; in our runs, smaller ones gave the same accuracies


class LUFeCV(LUFeMixin, BaseEstimator):
    """LUFe with ``lam1`` and ``lam2`` chosen by stratified cross-validated accuracy, then fitted on all rows.

    Pairs with which the model has a signal in the most folds come first: the accuracy of one that says nothing is the
    share of the largest class, and tells nothing of the weights. Among equally accurate pairs, the largest ``lam1`` is
    taken, then the ``lam2`` nearest to 1. The other parameters and the attributes of the fitted model are as in
    ``LUFeClassifier``.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
    selector : str or array-like of shape (n_features,), default="rfe"
    lam1s, lam2s : array-like of float or None, default=None
        The grid, in any order. None: seven values from 1e-3 to 1e3, as in the paper (section 4).
    cv : int or splitter, default=5
        Number of shuffled stratified folds, reduced to the number of rows of the smallest class, or a scikit-learn
        splitter.
    inner_selection : {"nested", "outer"}, default="nested"
        "nested" selects features in each fold anew, so that the estimated accuracy is unbiased. "outer" selects them
        once on all rows, which is faster and is apparently what the paper did. The selection has then used the labels
        of the validation rows, nearly every pair scores high, and the choice among the pairs is arbitrary.
    secondary, secondary_fraction, fit_intercept_unselected, scaling, selector_step, selector_C, objective_scale
    tol, max_iter
        As in ``LUFeClassifier``.
    n_jobs : int or None, default=None
        Number of processes over the folds; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        For the folds, "random" and "mutual_info".

    Attributes
    ----------
    lam1_, lam2_ : float
        The chosen pair.
    best_score_ : float
        Its mean accuracy over the folds.
    cv_results_ : dict
        "lam1" (n1,), "lam2" (n2,), "split_test_score" (n_folds, n1, n2), "mean_test_score" (n1, n2), which is NaN
        for pairs without a solution, and "n_folds_with_signal" (n1, n2), int64.
    best_estimator_ : LUFeClassifier
    support_, selected_features_, ranking_, coef_, intercept_, has_signal_, status_, scaling_, class_shares_, classes_
    n_features_in_
        Those of ``best_estimator_``.

    References
    ----------
    Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), Learning using unselected features (LUFe), section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import LUFeCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LUFeCV(5, selector="anova", cv=3, random_state=0).fit(X[:200], y[:200])
    >>> model.cv_results_["mean_test_score"].shape, bool(model.best_score_ > 0.9)
    ((7, 7), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LUFeMixin._parameter_constraints | {
        "lam1s": [None, "array-like"],
        "lam2s": [None, "array-like"],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split", "get_n_splits"])],
        "inner_selection": [StrOptions({"nested", "outer"})],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        selector: Literal["rfe", "anova", "mutual_info", "hsic", "leverage"] | ArrayLike = "rfe",
        lam1s: ArrayLike | None = None,
        lam2s: ArrayLike | None = None,
        cv: int | BaseCrossValidator = 5,
        inner_selection: Literal["nested", "outer"] = "nested",
        secondary: Literal["unselected", "random", "identity"] = "unselected",
        secondary_fraction: float = 1.0,
        fit_intercept_unselected: bool = True,
        scaling: Literal["range"] | None = "range",
        selector_step: float = 0.1,
        selector_C: float = 1.0,
        objective_scale: Literal["svm", "paper"] = "svm",
        tol: float = 1e-8,
        max_iter: int = 80,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selector = selector
        self.lam1s = lam1s
        self.lam2s = lam2s
        self.cv = cv
        self.inner_selection = inner_selection
        self.secondary = secondary
        self.secondary_fraction = secondary_fraction
        self.fit_intercept_unselected = fit_intercept_unselected
        self.scaling = scaling
        self.selector_step = selector_step
        self.selector_C = selector_C
        self.objective_scale = objective_scale
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: ArrayLike) -> LUFeCV:
        """Search and fit on ``X`` (n_samples, n_features), finite numbers, dense or CSR, and labels ``y`` (n_samples,).

        Raises ValueError for a parameter out of range, for invalid tables, for fewer than two classes, two rows of a
        class or two features, and if no pair of weights has a solution (only with
        ``fit_intercept_unselected=False``).
        """
        table, codes = self._training_data(X, y)
        lam1s, lam2s = _check_weight_grid(self.lam1s, "lam1s"), _check_weight_grid(self.lam2s, "lam2s")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = list(self._splitter(codes, seed).split(np.zeros((len(codes), 1)), codes))
        template, order = clone(self).set_params(random_state=seed), None
        if self.inner_selection == "outer":
            with one_blas_thread():
                order = template._order(table, codes, self._fit_scaling(table))
        check_n_jobs(self.n_jobs)
        by_fold = Parallel(self.n_jobs, max_nbytes=None)(  # no data in shared files, which a kill would leave
            delayed(_fold_scores)(template, table, codes, train, test, order, lam1s, lam2s) for train, test in folds
        )
        scores, signals = (np.array(figures) for figures in zip(*by_fold, strict=True))
        means = scores.mean(axis=0)
        if np.isnan(means).all():
            raise ValueError(
                "no pair of weights has a solution in every fold; set fit_intercept_unselected=True, or do not centre "
                "the features"
            )
        n_signals = signals.sum(axis=0)
        self.lam1_, self.lam2_ = best_weight_pair(means, lam1s, lam2s, n_signals)
        self.best_score_ = float(means[np.searchsorted(lam1s, self.lam1_), np.searchsorted(lam2s, self.lam2_)])
        self.cv_results_ = {
            "lam1": lam1s,
            "lam2": lam2s,
            "split_test_score": scores,
            "mean_test_score": means,
            "n_folds_with_signal": n_signals,
        }
        given = LUFeClassifier().get_params()
        shared = {k: v for k, v in template.get_params(deep=False).items() if k in given}
        best = LUFeClassifier(**shared).set_params(lam1=self.lam1_, lam2=self.lam2_)
        self.best_estimator_ = best.fit(X, y)
        copied = ("support_", "ranking_", "scaling_", "coef_", "intercept_", "secondary_features_", "n_iter_")
        for name in (*copied, "has_signal_", "status_", "class_shares_"):
            setattr(self, name, getattr(best, name))
        return self

    def _splitter(self, codes: NDArray[np.int64], seed: int) -> Any:
        if not isinstance(self.cv, Integral):
            return self.cv
        smallest = int(np.bincount(codes).min())
        if smallest < 2:
            rare = self.classes_[int(np.bincount(codes).argmin())]
            raise ValueError(f"every class needs two rows or more for folds, but class {rare} has 1; drop or merge it")
        return StratifiedKFold(min(int(self.cv), smallest), shuffle=True, random_state=seed)


def _check_weight_grid(weights: ArrayLike | None, name: str) -> NDArray[np.float64]:
    if weights is None:
        return np.array(PAPER_WEIGHTS)
    try:
        values = np.unique(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {weights!r}") from None
    if not len(values) or not np.isfinite(values).all() or values[0] <= 0:
        raise ValueError(f"{name} must hold finite numbers above 0, got {weights!r}")
    return values


def _fold_scores(
    model: LUFeCV,
    X: Any,
    codes: NDArray[np.int64],
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    order: NDArray[np.int64] | None,
    lam1s: Sequence[float] | NDArray[np.float64],
    lam2s: Sequence[float] | NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the accuracies (n1, n2) on the rows ``test`` of models fitted on ``train``; and whether they say anything.

    The accuracy is NaN without a solution. A model says something if any of its binary classifiers has a signal.
    """
    train_table, labels = X[train], np.unique(codes[train])
    fold_codes = np.searchsorted(labels, codes[train])
    with one_blas_thread():
        scaling = model._fit_scaling(train_table)
        order = model._order(train_table, fold_codes, scaling) if order is None else order
        roles = model._roles(train_table, order, scaling)
        test_table, targets = scale_columns(X[test], scaling, roles.selected), signed_targets(fold_codes)
        accuracies = np.full((len(lam1s), len(lam2s)), np.nan)
        signals = np.zeros(accuracies.shape, dtype=bool)
        for i, lam1 in enumerate(lam1s):
            for j, lam2 in enumerate(lam2s):
                C = slack_weight(lam2, model.objective_scale)
                problems = [
                    SVMPlusProblem(
                        roles.table,
                        roles.privileged,
                        np.ascontiguousarray(y),
                        lam1,
                        C,
                        model.fit_intercept_unselected,
                    )
                    for y in targets.T
                ]
                try:
                    solutions = [solve_svm_plus(p, tol=INNER_TOL, max_iter=model.max_iter) for p in problems]
                except InfeasibleError:
                    continue
                coef, intercept = np.array([s.w for s in solutions]), np.array([s.intercept for s in solutions])
                scores = settled_scores(test_table, coef, intercept, shares_of(targets))
                predicted = predicted_codes(scores[:, 0] if len(solutions) == 1 else scores)
                accuracies[i, j] = np.mean(labels[predicted] == codes[test])
                signals[i, j] = any(s.signal for s in solutions)
    return accuracies, signals


def best_weight_pair(
    means: NDArray[np.float64], lam1s: ArrayLike, lam2s: ArrayLike, n_signals: NDArray[np.int64] | None = None
) -> tuple[float, float]:
    """Return the pair of highest mean accuracy; ties go to the largest lam1, then to the lam2 nearest 1 (log scale).

    ``n_signals`` (n1, n2) is in how many folds the model of each pair says something: only pairs with the largest
    number, among those with a solution, can be the best. None: all pairs can.
    """
    if n_signals is not None:
        solved = ~np.isnan(means)
        means = np.where(solved & (n_signals == n_signals[solved].max()), means, np.nan)
    rows, columns = np.nonzero(means >= np.nanmax(means) - 1e-9)
    pairs = [(float(np.asarray(lam1s)[i]), float(np.asarray(lam2s)[j])) for i, j in zip(rows, columns)]
    return max(pairs, key=lambda pair: (pair[0], -round(abs(np.log(pair[1])), 9), -pair[1]))
