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

if TYPE_CHECKING:
    from baselines.svm_plus.problem import SampleTable

CALL = "fsgym_studies.lufe.cell:compare_arms"
SELECTION, LUFE, ALL, RANDOM, IDENTITY = "selection", "LUFe", "ALL", "random", "identity"
INNER = 5  # stratified folds by which each classifier's weights are chosen
Rows = NDArray[np.int64]


def some_lufe(t: float) -> str:
    """LUFe whose slacks see the best share ``t`` of the unselected features only."""
    return LUFE if t == 1.0 else f"LUFe {t:.0%}"


def augmented(t: float) -> str:
    """A plain SVM on the selected features and the best share ``t`` of the unselected ones."""
    return ALL if t == 1.0 else f"augmented {t:.0%}"


class Role(NamedTuple):
    """What a classifier decides by, and what explains its slacks (None: a plain SVM)."""

    columns: Rows
    view: SampleTable
    privileged: SampleTable | None


def compare_arms(
    data: Dataset,
    *,
    part: Mapping[str, Any],
    selector: str,
    n_selected: int,
    inner: str,
    shares: Sequence[float] = (),
    controls: bool = True,
) -> dict[str, Any]:
    """Accuracy of every classifier on the documents that were not trained on.

    Parameters
    ----------
    data : Dataset, counts of words; trained on as logarithms, each document scaled to norm 1
    part : mapping
        ``sample``, how many documents are drawn, with the classes in their proportion, by the seed ``draw``; None: all.
        Those that are not drawn judge the classifiers together with the fold that is left out: ``fold`` of ``folds``
        stratified ones, drawn by ``seed``, which is also that of the inner folds.
    selector : {"rfe", "anova"}
    n_selected : int, features to select
    inner : {"nested", "outer"}
        Whether features are selected anew in each of the five inner folds by which the weights are chosen, or have
        been selected on all of them before.
    shares : float in (0, 1), best shares of the unselected features that explain the slacks or join the selected ones
    controls : bool, whether LUFe is also run with random and identity features in place of the unselected ones

    Returns
    -------
    dict
        Accuracy by classifier; n_train, n_test; n_features, words of the training documents; ``tied``, how many of
        the 49 pairs of weights of LUFe were the best in the inner folds.
    """
    from fsgym.threads import one_blas_thread

    train, test = parts(data.y, part)
    X, words = table(data.X, train)
    cell = Cell(X, data.y.astype(np.int64), selector, min(n_selected, words - 1), inner, shares, controls, part["seed"])
    with one_blas_thread():
        accuracies, tied = cell.accuracies(train, test)
    return {**accuracies, "n_train": len(train), "n_test": len(test), "n_features": words, "tied": tied}


def parts(y: NDArray, part: Mapping[str, Any]) -> tuple[Rows, Rows]:
    """Rows to train on, and all others; ``part`` as of ``compare_arms``."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    drawn, sample = np.arange(len(y)), part["sample"]
    if sample is not None and sample < len(y):
        drawn = np.sort(train_test_split(drawn, train_size=sample, stratify=y, random_state=part["draw"])[0])
    splitter = StratifiedKFold(part["folds"], shuffle=True, random_state=part["seed"])
    train = drawn[list(splitter.split(drawn, y[drawn]))[part["fold"]][0]]
    return train, np.setdiff1d(np.arange(len(y)), train)


def table(counts: NDArray, train: Rows) -> tuple[sp.csr_matrix, int]:
    """The words of the training documents in all documents, CSR of rows of norm 1, and the number of words."""
    from sklearn.preprocessing import normalize

    seen = np.flatnonzero((counts[train] != 0).any(axis=0))
    return normalize(sp.csr_matrix(np.log1p(counts[:, seen].astype(np.float64)))), len(seen)


@dataclass(frozen=True)
class Cell:
    """The classifiers of one table and one selection, as ``compare_arms`` has them."""

    X: sp.csr_matrix
    codes: Rows
    selector: str
    n_selected: int
    inner: str
    shares: Sequence[float]
    controls: bool
    seed: int

    def accuracies(self, train: Rows, test: Rows) -> tuple[dict[str, float], int]:
        """Accuracy on ``test`` of each classifier at the weights that are best over the inner folds."""
        from sklearn.model_selection import StratifiedKFold

        from baselines.lufe.search import INNER_TOL, PAPER_WEIGHTS, best_weight_pair

        order = self.order(train)
        splitter = StratifiedKFold(INNER, shuffle=True, random_state=self.seed)
        inner: list[dict[str, NDArray]] = []
        for seen, judging in splitter.split(train, self.codes[train]):
            rows, judge = train[seen], train[judging]
            roles = self.roles(rows, self.order(rows) if self.inner == "nested" else order)
            inner.append(
                {
                    name: np.array(
                        [
                            [self.accuracy(role, rows, judge, lam1, C, INNER_TOL) for C in PAPER_WEIGHTS]
                            for lam1 in (PAPER_WEIGHTS if role.privileged is not None else PAPER_WEIGHTS[:1])
                        ]
                    )
                    for name, role in roles
                }
            )
        found, tied = {}, 0
        for name, role in self.roles(train, order):
            means = np.mean([scores[name] for scores in inner], axis=0)
            lam1, C = best_weight_pair(means, PAPER_WEIGHTS[: len(means)], PAPER_WEIGHTS)
            found[name] = self.accuracy(role, train, test, lam1, C)
            if name == LUFE:
                tied = int((means >= means.max() - 1e-9).sum())
        return found, tied

    def order(self, rows: Rows) -> Rows:
        """All features, best first, by the labels of these rows."""
        from baselines.lufe.order import feature_order

        return feature_order(self.X[rows], self.codes[rows], self.selector, self.n_selected)

    def roles(self, rows: Rows, order: Rows) -> Iterator[tuple[str, Role]]:
        """The classifiers by name, on these rows."""
        from baselines.svm_plus.problem import SampleTable

        X = self.X[rows]
        selected, left = order[: self.n_selected], order[self.n_selected :]
        best = {t: left[: ceil(t * len(left))] for t in (*self.shares, 1.0)}
        view = SampleTable(X[:, selected])
        yield SELECTION, Role(selected, view, None)
        for t, features in best.items():
            yield some_lufe(t), Role(selected, view, SampleTable(X[:, features]))
            more = np.concatenate([selected, features])
            yield augmented(t), Role(more, SampleTable(X[:, more]), None)
        if self.controls:
            noise = np.random.default_rng([self.seed, *rows.tolist()]).normal(size=(len(rows), len(left)))
            yield RANDOM, Role(selected, view, SampleTable(noise))
            yield IDENTITY, Role(selected, view, SampleTable(np.eye(len(rows))))

    def accuracy(self, role: Role, rows: Rows, judge: Rows, lam1: float, C: float, tol: float = 1e-8) -> float:
        """Accuracy on the rows ``judge`` after training on ``rows``."""
        from baselines.svm_plus.problem import SVMPlusProblem, solve_svm, solve_svm_plus

        y = np.where(self.codes[rows] == 1, 1.0, -1.0)
        if role.privileged is None:
            solution = solve_svm(role.view, y, C, tol=tol)
        else:
            solution = solve_svm_plus(SVMPlusProblem(role.view, role.privileged, y, lam1, C), tol=tol)
        scores = np.asarray(self.X[judge][:, role.columns] @ solution.w) + solution.intercept
        return float(((scores >= 0) == (self.codes[judge] == 1)).mean())
