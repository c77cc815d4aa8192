"""A cell of the study of LUFe: a training part, a selection of features, and all classifiers that start from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.runner.results import count, list_of, record, returns, text

if TYPE_CHECKING:
    from baselines.svm_plus.problem import SampleTable, SVMPlusSolution

COMPARE_ARMS_CALL = "fsgym_studies.lufe.cell:compare_arms"
NO_INTERCEPT, FIXED_BOUND = "LUFe, eq. 3", "LUFe, eq. 2"  # beside "selection", "LUFe", "ALL", "random", "identity"
CODINGS = ("log counts", "raw counts", "tf-idf")  # of the documents of all corpora
L1_COUNTS = "raw counts, L1 norm"  # a further coding
HARD_MARGIN = 1e5  # weight of the losses at which the soft-margin SVM is the hard-margin one, if that has a solution
MAX_HARD_SLACK = 1e-5  # of a document under a hard margin, in units of the margin
PENALTY_FOLDS = 5  # stratified inner folds that choose the penalties of each classifier
IndexArray = NDArray[np.int64]


def lufe_at_share(t: float) -> str:
    """Name of LUFe with only the best share ``t`` of the unselected features."""
    return "LUFe" if t == 1.0 else f"LUFe {t:.0%}"


def augmented_at_share(t: float) -> str:
    """Name of a plain SVM on the selected features and the best share ``t`` of the unselected ones."""
    return "ALL" if t == 1.0 else f"augmented {t:.0%}"


class Role(NamedTuple):
    """The features that a classifier predicts from, and what it knows of its slack variables."""

    columns: IndexArray  # int64, the features that it predicts from
    view: SampleTable  # the training documents in these features
    privileged: SampleTable | None = None  # the features that model the slacks; None: a plain SVM
    intercept: bool = True  # whether the model of the slacks has an intercept
    # (n_documents,) or None, given slacks under a hard margin; the setting ``C`` multiplies them
    bounds: NDArray[np.float64] | None = None


@returns(
    record(
        n_train=count,
        n_test=count,
        n_features=count,
        tied=count,
        silent=list_of(text),
        silent_fits=count,
        inner_fits=count,
    )
)
def compare_arms(
    dataset: Dataset,
    *,
    part: Mapping[str, Any],
    selector: str,
    n_selected: int,
    inner: str,
    shares: Sequence[float] = (),
    controls: bool = True,
    coding: str = "log counts",
    min_letters: int = 1,
    bias: str = "optimal",
) -> dict[str, Any]:
    """Return the accuracy of every classifier on the documents that it was not trained on.

    Parameters
    ----------
    dataset : Dataset, counts of words
    part : mapping
        ``sample``, the size of a stratified sample of the documents, with seed ``draw``; None: all documents. Of the
        sample, ``fold`` of ``folds`` stratified folds is left out; ``seed`` is the seed of these folds and of the inner
        ones. ``shuffle`` is False where these folds follow the order of the file, by default True. All documents that
        are not trained on are test documents.
    selector : {"rfe", "anova"}
    n_selected : int, number of features to select
    inner : {"nested", "outer"}
        Whether features are selected anew in each of the five inner folds that choose the penalties, or once before,
        on the whole training part.
    shares : float in (0, 1), best shares of the unselected features that model the slacks or join the selected ones
    controls : bool, whether LUFe is also run with random and identity features in place of the unselected ones, with
        a slack model without intercept (eq. 3 as printed), and with slacks that are computed before (eq. 2)
    coding : {"log counts", "raw counts", "tf-idf", "raw counts, L1 norm"}, as in ``document_term_matrix``
    min_letters : int, words with fewer letters are left out; the features must then be named by the words
    bias : {"optimal", "mean"}
        Whether the intercept of LUFe is the optimal one, or that of ``mean_bias``.

    Returns
    -------
    dict
        Accuracy by classifier; n_train, n_test; n_features, the number of words in the training documents; ``tied``,
        how many of the 49 pairs of penalties of LUFe are equally the best on the inner folds; ``silent``, the names of
        the classifiers that say nothing of the documents, as their weights are 0 at the optimum or as the constraints
        of eq. 2 or eq. 3 contradict each other; ``silent_fits``, how many of the ``inner_fits`` fits on the inner folds
        are such. Such a classifier always answers the largest class, and its penalties are chosen only if all others
        are such too.
    """
    from fsgym.support.threads import one_blas_thread

    train, test = train_and_test_rows(dataset.y, part)
    counts = dataset.X
    if min_letters > 1:
        counts = counts[:, [len(word) >= min_letters for word in dataset.feature_names]]
    X, words = document_term_matrix(counts, train, coding)
    n_selected, codes = min(n_selected, words - 1), dataset.y.astype(np.int64)
    comparison = ClassifierComparison(X, codes, selector, n_selected, inner, shares, controls, part["seed"], bias)
    with one_blas_thread():
        results = comparison.results(train, test)
    return {**results, "n_train": len(train), "n_test": len(test), "n_features": words}


def train_and_test_rows(y: NDArray, part: Mapping[str, Any]) -> tuple[IndexArray, IndexArray]:
    """Rows to train on, and all others; ``part`` as in ``compare_arms``."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    rows, size = np.arange(len(y)), part["sample"]
    if size is not None and size < len(y):
        rows = np.sort(train_test_split(rows, train_size=size, stratify=y, random_state=part["draw"])[0])
    shuffled = {"shuffle": True, "random_state": part["seed"]} if part.get("shuffle", True) else {}
    splitter = StratifiedKFold(part["folds"], **shuffled)
    train = rows[list(splitter.split(rows, y[rows]))[part["fold"]][0]]
    return train, np.setdiff1d(np.arange(len(y)), train)


def document_term_matrix(counts: NDArray, train: IndexArray, coding: str = "log counts") -> tuple[sp.csr_matrix, int]:
    """All documents on the words of the training documents, as CSR; and the number of words.

    "log counts": log(1 + count), each document scaled to norm 1. "tf-idf": counts times the logarithms of the inverse
    shares of training documents, scaled to norm 1 too. "raw counts": the counts as they are. "raw counts, L1
    norm": these divided by their sum in each document.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    words = np.flatnonzero((counts[train] != 0).any(axis=0))
    table = counts[:, words].astype(np.float64)
    if coding == "log counts":
        return normalize(sp.csr_matrix(np.log1p(table))), len(words)
    if coding == "raw counts":
        return sp.csr_matrix(table), len(words)
    if coding == L1_COUNTS:
        return normalize(sp.csr_matrix(table), norm="l1"), len(words)
    return sp.csr_matrix(TfidfTransformer().fit(table[train]).transform(table)), len(words)


@dataclass(frozen=True)
class ClassifierComparison:
    """The classifiers on one matrix with one selection; the fields are those of ``compare_arms``."""

    X: sp.csr_matrix
    codes: IndexArray
    selector: str
    n_selected: int
    inner: str
    shares: Sequence[float]
    controls: bool
    seed: int
    bias: str

    def results(self, train: IndexArray, test: IndexArray) -> dict[str, Any]:
        """Accuracy on ``test`` of each classifier at its best penalties on the inner folds, and the cell's counts."""
        from sklearn.model_selection import StratifiedKFold

        from baselines.lufe.search import INNER_TOL, PAPER_WEIGHTS, best_weight_pair

        order = self.order(train)
        splitter = StratifiedKFold(PENALTY_FOLDS, shuffle=True, random_state=self.seed)
        inner: list[dict[str, NDArray]] = []  # by classifier (n_lam1, n_C, 2), accuracies and whether it says anything
        for fit_index, validation_index in splitter.split(train, self.codes[train]):
            rows, validation = train[fit_index], train[validation_index]
            roles = self.roles(rows, self.order(rows) if self.inner == "nested" else order)
            inner.append(
                {
                    name: np.array(
                        [
                            [self.accuracy(role, rows, validation, lam1, C, INNER_TOL) for C in PAPER_WEIGHTS]
                            for lam1 in (PAPER_WEIGHTS if role.privileged is not None else PAPER_WEIGHTS[:1])
                        ]
                    )
                    for name, role in roles
                }
            )
        results: dict[str, Any] = {"tied": 0, "silent": [], "silent_fits": 0, "inner_fits": 0}
        for name, role in self.roles(train, order):
            scores = np.array([by_classifier[name] for by_classifier in inner])
            means, n_signals = scores[..., 0].mean(axis=0), scores[..., 1].sum(axis=0)
            lam1, C = best_weight_pair(means, PAPER_WEIGHTS[: len(means)], PAPER_WEIGHTS, n_signals)
            results[name], signal = self.accuracy(role, train, test, lam1, C)
            results["silent"] += [] if signal else [name]
            results["silent_fits"] += int((scores[..., 1] == 0).sum())
            results["inner_fits"] += scores[..., 1].size
            if name == "LUFe":
                best = np.where(n_signals == n_signals.max(), means, -1.0)
                results["tied"] = int((best >= best.max() - 1e-9).sum())
        return results

    def order(self, rows: IndexArray) -> IndexArray:
        """All features, the best first, ranked on these rows."""
        from baselines.lufe.order import feature_order

        return feature_order(self.X[rows], self.codes[rows], self.selector, self.n_selected)

    def roles(self, rows: IndexArray, order: IndexArray) -> Iterator[tuple[str, Role]]:
        """Names and roles of the classifiers on these rows."""
        from baselines.svm_plus.problem import SampleTable

        X = self.X[rows]
        selected, unselected = order[: self.n_selected], order[self.n_selected :]
        best = {t: unselected[: ceil(t * len(unselected))] for t in (*self.shares, 1.0)}
        view = SampleTable(X[:, selected])
        yield "selection", Role(selected, view)
        for t, features in best.items():
            yield lufe_at_share(t), Role(selected, view, SampleTable(X[:, features]))
            both = np.concatenate([selected, features])
            yield augmented_at_share(t), Role(both, SampleTable(X[:, both]))
        if self.controls:
            noise = np.random.default_rng([self.seed, *rows.tolist()]).normal(size=(len(rows), len(unselected)))
            yield "random", Role(selected, view, SampleTable(noise))
            yield "identity", Role(selected, view, SampleTable(np.eye(len(rows))))
            yield NO_INTERCEPT, Role(selected, view, SampleTable(X[:, unselected]), intercept=False)
            bounds = X[:, unselected] @ feature_criterion(X, self.codes[rows], self.selector)[unselected]
            yield FIXED_BOUND, Role(selected, view, bounds=bounds / (bounds.mean() or 1.0))

    def accuracy(
        self, role: Role, rows: IndexArray, test: IndexArray, lam1: float, C: float, tol: float = 1e-8
    ) -> tuple[float, bool]:
        """Accuracy on the rows ``test`` after training on ``rows``, and whether the classifier says anything."""
        from baselines.base import predicted_codes
        from baselines.svm_plus.model import settled_scores, shares_of

        y = np.where(self.codes[rows] == 1, 1.0, -1.0)
        solution = solve_role(role, y, lam1, C, tol)
        if solution is None or not solution.signal:
            scores = np.full(len(test), y.mean())
        else:
            documents, intercept = self.X[test][:, role.columns], solution.intercept
            if self.bias == "mean" and role.privileged is not None:
                intercept = mean_bias(solution, role.view, y)
            scores = settled_scores(documents, solution.w[None], np.array([intercept]), shares_of(y[:, None]))[:, 0]
        right = predicted_codes(scores) == self.codes[test]
        return float(right.mean()), solution is not None and solution.signal


def solve_role(role: Role, y: NDArray[np.float64], lam1: float, C: float, tol: float) -> SVMPlusSolution | None:
    """Train the classifier of a role with targets ``y``; None if its constraints contradict each other."""
    from baselines.svm_plus.problem import InfeasibleError, SVMPlusProblem, solve_svm, solve_svm_plus

    if role.bounds is not None:
        solution = solve_svm(role.view, y, HARD_MARGIN, margins=1.0 - C * role.bounds, tol=tol)
        return solution if solution.slack.max() <= MAX_HARD_SLACK else None
    if role.privileged is None:
        return solve_svm(role.view, y, C, tol=tol)
    try:
        return solve_svm_plus(SVMPlusProblem(role.view, role.privileged, y, lam1, C, role.intercept), tol=tol)
    except InfeasibleError:
        return None


def mean_bias(solution: SVMPlusSolution, view: SampleTable, y: NDArray[np.float64]) -> float:
    """The intercept of SVM+ as public code that appears to be that of the authors of LUFe computes it.

    A document with a positive multiplier lies on its margin at the optimum, so that it determines the intercept. The
    result is the mean of these values over the documents of each class with a positive multiplier, then over both
    classes. An interior point method leaves the multipliers of all documents positive, those far from the margin, too.
    """
    modelled = solution.slack - solution.intercept_privileged
    wanted = y * (1.0 - modelled) - view.times(solution.w)
    return float(np.mean([wanted[(solution.alpha > 0) & (y == sign)].mean() for sign in (1.0, -1.0)]))


def feature_criterion(X: sp.csr_matrix, codes: IndexArray, selector: str) -> NDArray[np.float64]:
    """The criterion Q of every feature, not negative: F statistics, or squared weights of a linear SVM with C = 1."""
    from baselines.lufe.order import anova
    from baselines.svm_plus.problem import SampleTable, solve_svm

    if selector == "anova":
        return np.nan_to_num(anova(X, codes), posinf=0.0)
    return np.square(solve_svm(SampleTable(X), np.where(codes == 1, 1.0, -1.0), 1.0, tol=1e-6).w)
