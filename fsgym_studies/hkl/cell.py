"""A cell of the study of disjunctions: one approach on Boolean features, its setting chosen on training rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from fsgym.comparison.cell import chance_accuracy
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.runner.results import count, list_of, record, returns, share, text

# Selections of a subset of Boolean features by a merit of the whole subset: Weka's Cfs and consistency evaluators.
#
# Hall (2000), Correlation-based feature selection for discrete and numeric class machine learning; Liu and Setiono
# (1996), A probabilistic approach to feature selection: a filter solution, and Dash and Liu (2003), Consistency-based
# search in feature selection. The paper's Table 1 has both, with several ways to search.

FeatureSubset = list[int]
WaitingSubset = tuple[float, int, FeatureSubset, int]  # the negative merit, its number, a subset and an added feature
MAX_STALE = 5  # expansions in a row that do not improve the best subset, after which best-first search ends; Weka's
IMPROVEMENT = 1e-5  # smallest increase of a merit that counts; Weka's


def symmetrical_uncertainty(X: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """2 I(x; c) / (H(x) + H(c)) of each 0/1 column of ``X`` with ``codes`` (n_samples,), in [0, 1], (n_columns,).

    >>> symmetrical_uncertainty(np.array([[0.0, 1, 0], [1, 1, 0]]), np.array([0, 1])).tolist()
    [1.0, 0.0, 0.0]
    """
    n = len(codes)
    members = np.equal.outer(np.unique(codes), codes).astype(np.float64)
    ones, sizes = members @ X, members.sum(axis=1, keepdims=True)
    of_column = entropy(np.stack([X.sum(axis=0), n - X.sum(axis=0)]) / n)
    of_class = entropy(sizes / n)
    joint = entropy(np.concatenate([ones, sizes - ones]) / n)
    total = of_column + of_class
    return np.divide(2.0 * (total - joint), total, out=np.zeros_like(total), where=total > 0).clip(0.0, 1.0)


def entropy(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of each column of ``shares`` in nats."""
    return -(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(axis=0)


class Correlation:
    """Hall's merit k r_cf / sqrt(k + k (k - 1) r_ff) of k features, by their symmetrical uncertainties.

    r_cf is the mean with the class, and r_ff the mean over pairs of features.
    """

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self.X, self.with_class = X, symmetrical_uncertainty(X, y)
        self.with_feature: dict[int, NDArray[np.float64]] = {}

    def _with(self, j: int) -> NDArray[np.float64]:
        if j not in self.with_feature:
            self.with_feature[j] = symmetrical_uncertainty(self.X, self.X[:, j].astype(np.int64))
        return self.with_feature[j]

    def merits(self, subset: FeatureSubset, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """Merits of ``subset`` with each of the candidates added, float64 (n_candidates,); the larger, the better."""
        pairs = sum(float(self._with(i)[subset[:k]].sum()) for k, i in enumerate(subset))
        pairs = pairs + sum((self._with(i)[candidates] for i in subset), np.zeros(len(candidates)))
        relevance = self.with_class[subset].sum() + self.with_class[candidates]
        return relevance / np.sqrt(len(subset) + 1 + 2.0 * pairs)


class Consistency:
    """The share of rows of the most frequent class among the rows that agree in all features of the subset."""

    def __init__(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> None:
        self.X = X.astype(np.float64)
        self.classes = np.equal.outer(y, np.unique(y)).astype(np.float64)  # (n_samples, n_classes)

    def merits(self, subset: FeatureSubset, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """As those of ``Correlation``."""
        pattern = np.unique(self.X[:, subset], axis=0, return_inverse=True)[1].ravel()
        order = np.argsort(pattern, kind="stable")
        starts = np.flatnonzero(np.diff(pattern[order], prepend=-1))
        added = self.X[np.ix_(order, candidates)]
        # Rows of each class in each pattern, (n_classes, n_patterns, 1), and those of them with the candidate.
        sizes = [np.add.reduceat(rows, starts)[:, None] for rows in self.classes[order].T]
        ones = [np.add.reduceat(added * rows[:, None], starts, axis=0) for rows in self.classes[order].T]
        largest = np.max(ones, axis=0) + np.max([all_ - one for all_, one in zip(sizes, ones)], axis=0)
        return largest.sum(axis=0) / len(self.X)


Evaluator = Correlation | Consistency


def greedy_search(evaluator: Evaluator, n: int) -> FeatureSubset:
    """Add the best feature as long as the merit increases (GreedyStepwise)."""
    subset: FeatureSubset = []
    best = 0.0
    while len(subset) < n:
        candidates = np.setdiff1d(np.arange(n), subset)
        merits = evaluator.merits(subset, candidates)
        if merits.max() <= best + IMPROVEMENT:
            break
        best = float(merits.max())
        subset.append(int(candidates[merits.argmax()]))
    return subset


def best_first_search(evaluator: Evaluator, n: int) -> FeatureSubset:
    """Extend the best subset that was not extended before, until ``MAX_STALE`` in a row brought no better one."""
    best_subset: FeatureSubset = []
    best, stale, pushed = 0.0, 0, 0
    subset: FeatureSubset | None = []
    waiting: list[WaitingSubset] = []
    seen: set[frozenset[int]] = {frozenset()}
    while subset is not None and stale < MAX_STALE:
        candidates = np.setdiff1d(np.arange(n), subset)
        merits = evaluator.merits(subset, candidates) if len(candidates) else np.zeros(0)
        for merit, j in zip(merits.tolist(), candidates.tolist()):
            pushed += 1
            heappush(waiting, (-merit, pushed, subset, j))
        stale += 1
        if len(merits) and merits.max() > best + IMPROVEMENT:
            best, stale = float(merits.max()), 0
            best_subset = [*subset, int(candidates[merits.argmax()])]
        subset = _next_subset(waiting, seen)
    return best_subset


def _next_subset(waiting: list[WaitingSubset], seen: set[frozenset[int]]) -> FeatureSubset | None:
    """Remove the best subset that is not ``seen`` from the heap and return it; None if there is none."""
    while waiting:
        _, _, subset, j = heappop(waiting)
        extended = [*subset, j]
        if frozenset(extended) not in seen:
            seen.add(frozenset(extended))
            return extended
    return None


EVALUATORS: dict[str, Callable[[NDArray[np.float64], NDArray[np.int64]], Evaluator]] = {
    "Cfs": Correlation,
    "consistency": Consistency,
}
SEARCHES: dict[str, Callable[[Evaluator, int], FeatureSubset]] = {
    "best-first": best_first_search,
    "greedy": greedy_search,
}


class SubsetSelector(SelectorMixin, BaseEstimator):
    """Selects 0/1 columns by an evaluator and a search, each by name."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    def __init__(self, evaluator: str, search: str) -> None:
        self.evaluator = evaluator
        self.search = search

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> SubsetSelector:
        """Find the subset for 0/1 columns ``X`` and classes ``y``; without any merit, the first best single column."""
        evaluator = EVALUATORS[self.evaluator](X, y)
        self.subset_ = SEARCHES[self.search](evaluator, X.shape[1])
        if not self.subset_:
            self.subset_ = [int(evaluator.merits([], np.arange(X.shape[1])).argmax())]
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "subset_")
        return np.isin(np.arange(self.n_features_in_), self.subset_)


NESTED_CALL, EACH_SETTING_CALL = "fsgym_studies.hkl.cell:nested", "fsgym_studies.hkl.cell:at_each_setting"
HKL, KERNEL_L2_SVM, LINEAR_L1_SVM = "HKL disjunctions", "L2-SVM", "L1-SVM"
L1_SVM_AT_DEFAULTS = f"{LINEAR_L1_SVM} at LIBLINEAR's defaults"  # C = 1 and no intercept, without a choice
L1_SVM_B1 = f"{LINEAR_L1_SVM} at LIBLINEAR's -B 1"  # the same with an intercept that is penalised as the weights are
L2_SVM_AT_DEFAULTS = f"{KERNEL_L2_SVM} at LIBSVM's defaults"  # C = 1 and a Gaussian kernel, without a choice
AT_DEFAULTS = (L1_SVM_AT_DEFAULTS, L1_SVM_B1, L2_SVM_AT_DEFAULTS)
CHI2, INFORMATION = "chi2", "information"
SUBSETS = tuple(f"{evaluator}, {search}" for evaluator in EVALUATORS for search in SEARCHES)
SELECTION_METHODS = tuple(
    f"{selection} + {machine}"
    for selection in (CHI2, INFORMATION, *SUBSETS)
    for machine in (KERNEL_L2_SVM, LINEAR_L1_SVM)
)
TABLE1_APPROACHES = (HKL, KERNEL_L2_SVM, LINEAR_L1_SVM, *SELECTION_METHODS)
ZERO_NORM = "zero-norm SVM"
# Names of cells on folds where the study has random splits:
ONCE, ONCE_ZERO_NORM = (f"{method}, every row tested once" for method in (HKL, ZERO_NORM))
APPROACHES = (*TABLE1_APPROACHES, ZERO_NORM)
SEARCH_FOLDS = 3  # stratified folds of the training part that choose the setting
FEW_ROWS, SEARCH_REPEATS = 300, 3  # with fewer training rows the folds are drawn this many times: one row weighs much
# Grids of the SVMs and of the selections (shares of the Boolean features). They are ours: the paper prints no settings.
SELECTED_SHARES = (0.02, 0.1, 0.25, 0.5)
ZERO_NORM_SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625)  # of Table 4
ZERO_NORM_C = 100.0  # close to the hard margin of the zero-norm SVM's paper
ONE_STANDARD_ERROR = "one standard error"  # how a setting is chosen, in place of the best mean on the inner folds
C_VALUES = {
    KERNEL_L2_SVM: (1.0, 10.0, 100.0, 1000.0),
    LINEAR_L1_SVM: (0.01, 0.1, 1.0, 10.0),
    **dict.fromkeys(AT_DEFAULTS, (1.0,)),
}
MAX_REPORTED_RULES = 12  # of each fit, those with the largest weights


@returns(
    record(accuracy=share, chance=share, n_train=count, n_test=count, n_literals=count, share_used=share, params=text)
)
def nested(
    dataset: Dataset,
    *,
    method: str,
    features: Mapping[str, Any],
    search: Mapping[str, Any],
    split: Split | OfficialSplit,
    seed: int,
) -> dict[str, Any]:
    """Build Boolean features on the training part, choose the setting there and evaluate it on the test part.

    Parameters
    ----------
    dataset : Dataset, categories as columns of codes
    method : str, one of ``APPROACHES`` or of ``AT_DEFAULTS``
    features : mapping
        ``literals``, options of ``Booleanizer``; ``names``, names to report for literals whose own name has a code.
    search : mapping
        For the disjunctions: ``grid``, settings to choose from; ``max_active``, the largest number of active ones;
        ``max_literals``, of a disjunction, optional. For the zero-norm SVM: ``shares``, by default
        ``ZERO_NORM_SHARES``. For all: ``rule``, ``ONE_STANDARD_ERROR`` to choose by ``simplest_within_error``; without
        it the setting with the best mean on the inner folds is chosen.
    split : Split or OfficialSplit
    seed : int, of the inner folds

    Returns
    -------
    dict
        accuracy, chance, n_train, n_test; n_literals, the number of Boolean features that vary; n_kept, the number of
        rules, or of Boolean features that the SVM uses; n_features, the number of columns of the data set in them, and
        share_used, their share of all columns; inner, the accuracy on the inner folds, after the selection of a subset;
        params, the chosen setting. For the disjunctions also words, the mean number of literals per rule, status, gap,
        bias, and rules, those with the largest weights.
    """
    from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

    train, test, booleanizer, A, B, varied = boolean_parts(dataset, split, features["literals"])
    names = features["names"]
    literal_names = [names.get(str(n), str(n)) for n in booleanizer.get_feature_names_out(list(dataset.feature_names))]
    n_literals, selection = len(varied), method.partition(" + ")[0]
    if selection in SUBSETS:  # has no settings
        varied = varied[SubsetSelector(*selection.split(", ")).fit(A[:, varied], train.y).get_support()]
    A, B = A[:, varied], B[:, varied]
    estimator, settings = estimator_and_grid(method, len(varied), search, seed)
    repeats = SEARCH_REPEATS if train.n_samples < FEW_ROWS else 1
    folds = RepeatedStratifiedKFold(n_splits=SEARCH_FOLDS, n_repeats=repeats, random_state=seed)
    choice = simplest_within_error if search.get("rule") == ONE_STANDARD_ERROR else True
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        chosen = GridSearchCV(estimator, settings, cv=folds, refit=choice).fit(A, train.y)
    used, figures = used_literals(chosen.best_estimator_, method, [literal_names[l] for l in varied])
    columns = {booleanizer.literals_[varied[k]].column for k in used}
    return {
        "accuracy": float(np.mean(chosen.predict(B) == test.y)),
        "chance": chance_accuracy(train, test),
        "n_train": train.n_samples,
        "n_test": test.n_samples,
        "n_literals": n_literals,
        "n_features": len(columns),
        "share_used": len(columns) / dataset.n_features,
        "inner": float(chosen.cv_results_["mean_test_score"][chosen.best_index_]),
        "params": json.dumps(chosen.best_params_),
        **figures,
    }


def simplest_within_error(results: Mapping[str, Any]) -> int:
    """The first setting whose mean accuracy on the inner folds is at most one standard error below the best mean.

    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3. The standard error
    is the standard deviation (divisor n - 1) of the best setting over all inner folds, divided by the square root of
    ``SEARCH_FOLDS``: to draw the folds again adds no rows.

    Parameters
    ----------
    results : mapping, ``cv_results_`` of ``GridSearchCV``, the settings in the order of the grid, the simplest first

    Returns
    -------
    int, the index of the setting
    """
    means = np.asarray(results["mean_test_score"], dtype=np.float64)
    best = int(means.argmax())
    n_splits = sum(name.startswith("split") for name in results)
    scores = [results[f"split{k}_test_score"][best] for k in range(n_splits)]
    error = np.std(scores, ddof=1) / SEARCH_FOLDS**0.5
    return int(np.flatnonzero(means >= means[best] - error - 1e-12)[0])


@returns(record(accuracies=list_of(share), sizes=list_of(count), settings=list_of(text), n_literals=count))
def at_each_setting(
    dataset: Dataset,
    *,
    method: str,
    features: Mapping[str, Any],
    search: Mapping[str, Any],
    split: Split | OfficialSplit,
    seed: int,
) -> dict[str, Any]:
    """Evaluate an approach at each setting of its grid, without choosing one; the arguments are those of ``nested``.

    Returns
    -------
    dict, with an entry per setting in each list: accuracies, on the test part; sizes, as n_kept of ``nested``;
        settings; and n_literals, as of ``nested``
    """
    from sklearn.model_selection import ParameterGrid

    train, test, _, A, B, varied = boolean_parts(dataset, split, features["literals"])
    estimator, settings = estimator_and_grid(method, len(varied), search, seed)
    rows = []
    for setting in ParameterGrid(settings):
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            model = estimator.set_params(**setting).fit(A[:, varied], train.y)
        size = used_literals(model, method, [str(l) for l in varied])[1]["n_kept"]
        rows.append((float(np.mean(model.predict(B[:, varied]) == test.y)), size, json.dumps(setting)))
    lists = {name: [*values] for name, values in zip(("accuracies", "sizes", "settings"), zip(*rows))}
    return {**lists, "n_literals": len(varied)}


def boolean_parts(
    dataset: Dataset, split: Split | OfficialSplit, literals: Mapping[str, Any]
) -> tuple[Dataset, Dataset, Any, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """The training and test part, the Booleanizer, the 0/1 columns of both parts, and those that vary in training."""
    from baselines import Booleanizer

    train, test = split.divide(dataset)
    booleanizer = Booleanizer(**literals).fit(train.X)
    A, B = booleanizer.transform(train.X), booleanizer.transform(test.X)
    return train, test, booleanizer, A, B, np.flatnonzero(np.ptp(A, axis=0) > 0)


def estimator_and_grid(method: str, n: int, search: Mapping[str, Any], seed: int) -> tuple[Any, dict[str, list[Any]]]:
    """Return an estimator for ``n`` Boolean features and the grid of its settings, the simplest first."""
    from sklearn.feature_selection import SelectKBest, chi2
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVC, LinearSVC

    from baselines import DisjunctionClassifier, ZeroNormSVMClassifier
    from baselines.mrmr import mutual_information

    if method == HKL:
        limits = {"max_active": search["max_active"], "max_literals": search.get("max_literals")}
        return DisjunctionClassifier(**limits), {k: list(v) for k, v in search["grid"].items()}
    if method == ZERO_NORM:
        sizes = sorted({max(1, round(share * n)) for share in search.get("shares", ZERO_NORM_SHARES)})
        return ZeroNormSVMClassifier(C=ZERO_NORM_C), {"n_selected": sizes}
    score, _, machine = method.rpartition(" + ")
    forms = {L1_SVM_AT_DEFAULTS: {"fit_intercept": False}, L1_SVM_B1: {}}
    own = forms.get(machine, {"intercept_scaling": 10.0})
    svm: Any = (
        SVC(kernel=rbf_kernel)
        if KERNEL_L2_SVM in machine  # with gamma = 1 / n_features, LIBSVM's default
        else LinearSVC(penalty="l1", dual=False, max_iter=2000, random_state=seed, **own)
    )
    steps, settings = [("machine", svm)], {"machine__C": list(C_VALUES[machine])}
    if score in (CHI2, INFORMATION):
        steps.insert(0, ("select", SelectKBest(chi2 if score == CHI2 else mutual_information)))
        settings["select__k"] = sorted({max(1, round(share * n)) for share in SELECTED_SHARES})
    return Pipeline(steps), settings


def used_literals(model: Any, method: str, names: list[str]) -> tuple[list[int], dict[str, Any]]:
    """Return the indices of the Boolean features that a model uses, and the figures to report; ``names`` are theirs."""
    if method == ZERO_NORM:
        return model.selected_.tolist(), {"n_kept": len(model.selected_)}
    if method != HKL:
        chosen = model["select"].get_support(indices=True) if "select" in model.named_steps else np.arange(len(names))
        coef = getattr(model["machine"], "coef_", None) if LINEAR_L1_SVM in method else None
        used = chosen if coef is None else chosen[np.any(coef != 0, axis=0)]
        return used.tolist(), {"n_kept": len(used)}
    weights, rules = model.coef_[0], [" or ".join([names[l] for l in rule]) for rule in model.disjunctions_]
    order = np.argsort(-np.abs(weights), kind="stable")[:MAX_REPORTED_RULES]
    gap, lengths = float(model.dual_gap_), [len(rule) for rule in model.disjunctions_]
    return sorted({l for rule in model.disjunctions_ for l in rule}), {
        "n_kept": len(weights),
        "words": float(np.mean(lengths)) if lengths else None,
        "status": model.status_,
        "gap": gap if np.isfinite(gap) else None,
        "rules": [f"{weights[k]:+.2f} {rules[k]}" for k in order],
        "bias": f"{model.intercept_[0]:+.2f}",
    }
