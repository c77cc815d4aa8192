"""Compute a cell: fit the lattice agent or a peer on one training part at every price, and evaluate it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.cell import evaluate_at_prices
from fsgym.comparison.compared import candidates_at
from fsgym.comparison.splits import Split
from fsgym.data.dataset import Dataset
from fsgym.methods import find_method, load_class
from fsgym.rules import Rules
from fsgym.runner.results import count, list_of, number, record, returns

PRICED_CELL, TIMED_CELL = (f"fsgym_studies.lattice_vs_peers.cell:{name}" for name in ("at_prices", "single_fits"))
PRICED_FIGURES = ("loss", "accuracy", "n_features")  # figures of ``Evaluation`` that a cell has for each price
INNER_FOLDS = ((1000, 5), (np.inf, 3))  # largest number of training rows, number of inner folds
# Settings among which the peers choose by inner folds:
CART_ALPHAS = 30  # number of strengths of cost-complexity pruning
CART_MIN_LEAF = (1, 5)  # fewest rows in a leaf
CEGB_PENALTIES = (0.001, 0.003, 0.01, 0.02, 0.03, 0.06, 0.1, 0.3)  # of acquiring a feature
CEGB_TREES = (  # number, learning rate and depth of the trees
    (0, 1.0, 1),
    (1, 1.0, 1),
    (1, 1.0, 2),
    (1, 1.0, 4),
    (3, 1.0, 2),
    (3, 1.0, 4),
    (3, 0.3, 4),
    (8, 0.3, 4),
    (20, 0.1, 4),
    (80, 0.1, 4),
)
LOGISTIC_C = (0.1, 1.0, 10.0)  # inverse strength of regularisation
FOREST_SIZE = 100  # number of trees
FOREST_LEAF_ROWS = (1, 5)  # fewest rows in a leaf
MAX_FEATURE_COUNTS = 12  # how many numbers of features the static selection and the forest try at most


@returns(record(lam=list_of(number), seconds=number, n_train=count, n_test=count))
def at_prices(dataset: Dataset, *, method: str, prices: Sequence[float], split: Split, seed: int) -> dict[str, Any]:
    """Fit a method at each price of a feature, and return its figures on the test part.

    Parameters
    ----------
    dataset : Dataset, in which every feature costs the same
    method : str, as in ``METHOD_TITLES``
    prices : sequence of float, prices of a feature; an error costs 1
    split : Split
    seed : int, of the method and of the inner folds by which its settings are chosen

    Returns
    -------
    dict
        Lists with a value per price: ``lam``, the prices; ``loss`` (prices and errors, mean over the test rows),
        ``accuracy`` and ``n_features``; ``seconds``, the processor time of the training at all prices, including the
        choice of settings; n_train and n_test.
    """
    train, test = split.divide(dataset)
    with warnings.catch_warnings(action="ignore"):  # such as those of solvers that stop early
        start = time.process_time()
        candidates, held_out = settings_of(method, train, prices, seed)
        seconds, rules = time.process_time() - start, [Rules.for_dataset(test, lam=p) for p in prices]
        _, results, fitting = evaluate_at_prices(candidates, train, test, rules, seed, held_out)
    figures: dict[str, Any] = {name: [float(getattr(r, name)) for r in results] for name in PRICED_FIGURES}
    sizes = {"n_train": train.n_samples, "n_test": test.n_samples}
    return figures | {"lam": list(prices), "seconds": seconds + fitting} | sizes


@returns(record(fit_seconds=list_of(number), n_train=count))
def single_fits(dataset: Dataset, *, prices: Sequence[float], split: Split, seed: int) -> dict[str, Any]:
    """Fit the lattice agent at each price by itself, and return the processor time of each fit.

    An untimed fit on 100 rows comes first, so that compiled code is loaded. Parameters are those of ``at_prices``.

    Returns
    -------
    dict, ``fit_seconds``, a list with the seconds of a fit in one thread at each price; n_train
    """
    train, _ = split.divide(dataset)
    X, y = train.X, train.classes[train.y]
    cls, seconds = load_class(find_method("lattice")), []
    cls(prices[-1], random_state=seed).fit(X[:100], y[:100])
    for price in prices:
        start = time.process_time()
        cls(price, random_state=seed).fit(X, y)
        seconds.append(time.process_time() - start)
    return {"fit_seconds": seconds, "n_train": train.n_samples}


def settings_of(
    method: str, train: Dataset, prices: Sequence[float], seed: int
) -> tuple[list[Any], list[tuple[Dataset, Dataset]] | None]:
    """What ``evaluate_at_prices`` takes: the candidates of a method, and the inner folds by which one is chosen.

    A method that is not in ``CANDIDATES`` has its default settings at each price, and needs no folds.
    """
    if method not in CANDIDATES:
        return candidates_at(method, {}, [{"lam": p, "random_state": seed} for p in prices]), None
    from sklearn.model_selection import StratifiedKFold

    y = train.classes[train.y]
    n_folds = next(k for max_rows, k in INNER_FOLDS if len(y) <= max_rows)
    inner = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(train.X, y)
    return CANDIDATES[method](train.X, y, seed), [(train.rows(fit), train.rows(held)) for fit, held in inner]


def cart_candidates(X: NDArray, y: NDArray, seed: int) -> list[Any]:
    """Decision trees; the pruning strength and the fewest rows in a leaf are chosen."""
    from baselines import CARTClassifier

    return [
        CARTClassifier(min_samples_leaf=leaf, random_state=seed).set_params(**setting)
        for leaf in CART_MIN_LEAF
        for setting in CARTClassifier(min_samples_leaf=leaf).sparsity_grid(X, y, CART_ALPHAS)
    ]


def cegb_candidates(X: NDArray, y: NDArray, seed: int) -> list[Any]:
    """Cost-efficient boosting; the penalty of a feature, and number, rate and depth of the trees are chosen."""
    from baselines import CEGBClassifier

    return [
        CEGBClassifier(penalty, n_estimators=number, learning_rate=rate, max_depth=depth, cv=None)
        for number, rate, depth in CEGB_TREES
        for penalty in reversed(CEGB_PENALTIES)
    ]


def static_candidates(X: NDArray, y: NDArray, seed: int) -> list[Any]:
    """Logistic regression on the features that mRMR ranks first, for all rows; their number and C are chosen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from baselines import MRMRClassifier

    return [
        MRMRClassifier(k, classifier=make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)))
        for k in feature_counts(X.shape[1])
        for C in LOGISTIC_C
    ]


def forest_candidates(X: NDArray, y: NDArray, seed: int) -> list[Any]:
    """A random forest on the most important features, or on all; their number and the rows in a leaf are chosen."""
    from baselines import ForestSelectionClassifier

    return [
        ForestSelectionClassifier(k, n_estimators=FOREST_SIZE, min_samples_leaf=leaf, random_state=seed)
        for k in feature_counts(X.shape[1])
        for leaf in FOREST_LEAF_ROWS
    ]


def feature_counts(n_features: int) -> list[int]:
    """The numbers of features that are tried: 0, and at most ``MAX_FEATURE_COUNTS`` from one to all.

    >>> feature_counts(4), len(feature_counts(1000))
    ([0, 1, 2, 3, 4], 13)
    """
    return [0, *np.unique(np.geomspace(1, n_features, MAX_FEATURE_COUNTS).round().astype(int)).tolist()]


# (X, y, seed) -> unfitted models of all settings
CANDIDATES: dict[str, Callable[[NDArray, NDArray, int], list[Any]]] = {
    "cart": cart_candidates,
    "cegb": cegb_candidates,
    "static": static_candidates,
    "forest": forest_candidates,
}
