"""A cell of the study of LUFe: a training part, a selection of features, and all classifiers that start from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.runner.results import count, record, returns

if TYPE_CHECKING:
    from baselines.svm_plus.problem import SampleTable

COMPARE_ARMS_CALL = "fsgym_studies.lufe.cell:compare_arms"
SELECTION, LUFE, ALL_FEATURES, RANDOM, IDENTITY = "selection", "LUFe", "ALL", "random", "identity"
PENALTY_FOLDS = 5  # stratified inner folds that choose the penalties of each classifier
IndexArray = NDArray[np.int64]


def lufe_at_share(t: float) -> str:
    """Name of LUFe with only the best share ``t`` of the unselected features."""
    return LUFE if t == 1.0 else f"LUFe {t:.0%}"


def augmented_at_share(t: float) -> str:
    """Name of a plain SVM on the selected features and the best share ``t`` of the unselected ones."""
    return ALL_FEATURES if t == 1.0 else f"augmented {t:.0%}"


class Role(NamedTuple):
    """The features that a classifier predicts from, and those that model its slack variables (None: a plain SVM)."""

    columns: IndexArray
    view: SampleTable
    privileged: SampleTable | None


@returns(record(n_train=count, n_test=count, n_features=count))
def compare_arms(
    dataset: Dataset,
    *,
    part: Mapping[str, Any],
    selector: str,
    n_selected: int,
    inner: str,
    shares: Sequence[float] = (),
    controls: bool = True,
) -> dict[str, Any]:
    """Return the accuracy of every classifier on the documents that it was not trained on.

    Parameters
    ----------
    dataset : Dataset, counts of words; used as logarithms, with each document scaled to norm 1
    part : mapping
        ``sample``, the size of a stratified sample of the documents, with seed ``draw``; None: all documents. Of the
        sample, ``fold`` of ``folds`` stratified folds is left out; ``seed`` is the seed of these folds and of the inner
        ones. All documents that are not trained on are test documents.
    selector : {"rfe", "anova"}
    n_selected : int, number of features to select
    inner : {"nested", "outer"}
        Whether features are selected anew in each of the five inner folds that choose the penalties, or once before,
        on the whole training part.
    shares : float in (0, 1), best shares of the unselected features that model the slacks or join the selected ones
    controls : bool, whether LUFe is also run with random and identity features in place of the unselected ones

    Returns
    -------
    dict
        Accuracy by classifier; n_train, n_test; n_features, the number of words in the training documents; ``tied``,
        how many of the 49 pairs of penalties of LUFe are equally the best on the inner folds.
    """
    from fsgym.threads import one_blas_thread

    train, test = train_and_test_rows(dataset.y, part)
    X, words = document_term_matrix(dataset.X, train)
    comparison = ClassifierComparison(
        X, dataset.y.astype(np.int64), selector, min(n_selected, words - 1), inner, shares, controls, part["seed"]
    )
    with one_blas_thread():
        accuracies, tied = comparison.accuracies(train, test)
    return {**accuracies, "n_train": len(train), "n_test": len(test), "n_features": words, "tied": tied}


def train_and_test_rows(y: NDArray, part: Mapping[str, Any]) -> tuple[IndexArray, IndexArray]:
    """Rows to train on, and all others; ``part`` as in ``compare_arms``."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    rows, size = np.arange(len(y)), part["sample"]
    if size is not None and size < len(y):
        rows = np.sort(train_test_split(rows, train_size=size, stratify=y, random_state=part["draw"])[0])
    splitter = StratifiedKFold(part["folds"], shuffle=True, random_state=part["seed"])
    train = rows[list(splitter.split(rows, y[rows]))[part["fold"]][0]]
    return train, np.setdiff1d(np.arange(len(y)), train)


def document_term_matrix(counts: NDArray, train: IndexArray) -> tuple[sp.csr_matrix, int]:
    """All documents on the words of the training documents, as CSR with rows of norm 1; and the number of words."""
    from sklearn.preprocessing import normalize

    words = np.flatnonzero((counts[train] != 0).any(axis=0))
    return normalize(sp.csr_matrix(np.log1p(counts[:, words].astype(np.float64)))), len(words)


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

    def accuracies(self, train: IndexArray, test: IndexArray) -> tuple[dict[str, float], int]:
        """Accuracy on ``test`` of each classifier at its best penalties on the inner folds; and LUFe's tied pairs."""
        from sklearn.model_selection import StratifiedKFold

        from baselines.lufe.search import INNER_TOL, PAPER_WEIGHTS, best_weight_pair

        order = self.order(train)
        splitter = StratifiedKFold(PENALTY_FOLDS, shuffle=True, random_state=self.seed)
        inner: list[dict[str, NDArray]] = []
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
        results, tied = {}, 0
        for name, role in self.roles(train, order):
            means = np.mean([scores[name] for scores in inner], axis=0)
            lam1, C = best_weight_pair(means, PAPER_WEIGHTS[: len(means)], PAPER_WEIGHTS)
            results[name] = self.accuracy(role, train, test, lam1, C)
            if name == LUFE:
                tied = int((means >= means.max() - 1e-9).sum())
        return results, tied

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
        yield SELECTION, Role(selected, view, None)
        for t, features in best.items():
            yield lufe_at_share(t), Role(selected, view, SampleTable(X[:, features]))
            both = np.concatenate([selected, features])
            yield augmented_at_share(t), Role(both, SampleTable(X[:, both]), None)
        if self.controls:
            noise = np.random.default_rng([self.seed, *rows.tolist()]).normal(size=(len(rows), len(unselected)))
            yield RANDOM, Role(selected, view, SampleTable(noise))
            yield IDENTITY, Role(selected, view, SampleTable(np.eye(len(rows))))

    def accuracy(
        self, role: Role, rows: IndexArray, test: IndexArray, lam1: float, C: float, tol: float = 1e-8
    ) -> float:
        """Accuracy on the rows ``test`` after training on ``rows``."""
        from baselines.svm_plus.problem import SVMPlusProblem, solve_svm, solve_svm_plus

        y = np.where(self.codes[rows] == 1, 1.0, -1.0)
        if role.privileged is None:
            solution = solve_svm(role.view, y, C, tol=tol)
        else:
            solution = solve_svm_plus(SVMPlusProblem(role.view, role.privileged, y, lam1, C), tol=tol)
        scores = np.asarray(self.X[test][:, role.columns] @ solution.w) + solution.intercept
        return float(((scores >= 0) == (self.codes[test] == 1)).mean())
