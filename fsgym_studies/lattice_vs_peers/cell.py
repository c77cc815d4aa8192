"""Cells of the lattice agent and its peers: one method, learnt on one training part at every price."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.evaluation import evaluate
from fsgym.methods import find_method, load_class
from fsgym.rules import Rules
from fsgym_studies.common.cell import parts_of

PRICED, TIMED = (f"fsgym_studies.lattice_vs_peers.cell:{name}" for name in ("at_prices", "single_fits"))
LATTICE, RCPI, PPO, CART, CEGB, STATIC = "lattice", "rcpi", "maskable_ppo", "cart", "cegb", "static"
FIGURES = ("loss", "accuracy", "n_features")
FOLDS = ((1000, 5), (np.inf, 3))  # up to so many rows, so many inner folds
ALPHAS, LEAVES = 30, (1, 5)  # of CART: strengths of pruning, fewest rows in a leaf
PENALTIES = (0.001, 0.003, 0.01, 0.02, 0.03, 0.06, 0.1, 0.3)
TREES = (
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
)  # their number, rate and depth
STRENGTHS, COUNTS = (0.1, 1.0, 10.0), 12  # of logistic regression: C, and numbers of features that are tried
Learner = Callable[[NDArray, NDArray, Sequence[float], int], list[Any]]


def at_prices(
    data: Dataset, *, method: str, prices: Sequence[float], part: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Figures on the test part of one method, learnt at each price of a feature.

    Parameters
    ----------
    data : Dataset, every feature costs the same
    method : str, a key of ``LEARNERS``
    prices : sequence of float, of a feature where a wrong answer costs 1
    part : mapping, as ``parts_of`` takes it
    seed : int, of the method and of the inner folds by which its settings are chosen

    Returns
    -------
    dict
        Lists over prices: ``loss`` (errors and prices, mean over the test rows), ``accuracy`` and ``n_features``;
        ``seconds``, processor time of the learning for all prices together, the choice of settings included; n_train,
        n_test.
    """
    train, test = parts_of(data, part)
    with quiet():
        began = time.process_time()
        models = LEARNERS[method](train.X, train.classes[train.y], prices, seed)
        seconds = time.process_time() - began
        found = [evaluate(m, test, Rules.for_dataset(test, lam=p)) for m, p in zip(models, prices, strict=True)]
    told: dict[str, Any] = {name: [float(getattr(f, name)) for f in found] for name in FIGURES}
    return told | {"seconds": seconds, "n_train": train.n_samples, "n_test": test.n_samples}


def single_fits(data: Dataset, *, prices: Sequence[float], part: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """``fit_seconds``: processor seconds of a fit of the lattice at each price, in one thread.

    A fit on a few rows comes first, which loads the compiled code. Other arguments as of ``at_prices``.
    """
    train, _ = parts_of(data, part)
    X, y = train.X, train.classes[train.y]
    cls, seconds = load_class(find_method(LATTICE)), []
    cls(prices[-1], random_state=seed).fit(X[:100], y[:100])
    for price in prices:
        began = time.process_time()
        cls(price, random_state=seed).fit(X, y)
        seconds.append(time.process_time() - began)
    return {"fit_seconds": seconds, "n_train": train.n_samples}


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of solvers that stop early: what they found is judged like everything else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def lattice(X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
    return load_class(find_method(LATTICE))(random_state=seed).path(X, y, prices)


def one_by_one(method: str) -> Learner:
    """A method that knows prices, with its default settings at each of them."""

    def learn(X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
        entry = find_method(method)
        return [load_class(entry)(**entry.preset, lam=p, random_state=seed).fit(X, y) for p in prices]

    return learn


def cart(X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
    """Trees; cost-complexity pruning and the fewest rows in a leaf are chosen."""
    from baselines import CARTClassifier

    trees = [
        CARTClassifier(min_samples_leaf=leaf, random_state=seed).set_params(**setting)
        for leaf in LEAVES
        for setting in CARTClassifier(min_samples_leaf=leaf).sparsity_grid(X, y, ALPHAS)
    ]
    return searched(trees, X, y, prices, seed)


def cegb(X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
    """Cost-efficient boosting; the penalty of a value, the number of trees, their rate and depth are chosen."""
    from baselines import CEGBClassifier

    boosted = [
        CEGBClassifier(penalty, n_estimators=number, learning_rate=rate, max_depth=depth, cv=None)
        for number, rate, depth in TREES
        for penalty in reversed(PENALTIES)
    ]
    return searched(boosted, X, y, prices, seed)


def static(X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
    """Logistic regression on the same features for all rows, ranked by mRMR; their number and C are chosen."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from baselines import MRMRClassifier

    counts = np.unique(np.geomspace(1, X.shape[1], COUNTS).round().astype(int)).tolist()
    regressions = [
        MRMRClassifier(k, classifier=make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)))
        for k in (0, *counts)
        for C in STRENGTHS
    ]
    return searched(regressions, X, y, prices, seed)


def searched(candidates: Sequence[Any], X: NDArray, y: NDArray, prices: Sequence[float], seed: int) -> list[Any]:
    """For each price the candidate of least mean loss over stratified inner folds, fitted on all rows.

    Equal ones go to the first. What is chosen pays the price of ``prices``, whatever price it learnt with.
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    number = next(k for most, k in FOLDS if len(y) <= most)
    errors, used = np.zeros(len(candidates)), np.zeros(len(candidates))
    for rows, held in StratifiedKFold(number, shuffle=True, random_state=seed).split(X, y):
        for k, candidate in enumerate(candidates):
            model = clone(candidate).fit(X[rows], y[rows])
            errors[k] += (model.predict(X[held]) != y[held]).sum()
            used[k] += model.features_used(X[held]).sum()
    best = [int((errors + price * used).argmin()) for price in prices]
    fitted = {k: clone(candidates[k]).fit(X, y) for k in sorted(set(best))}
    return [fitted[k] for k in best]


LEARNERS: dict[str, Learner] = {
    LATTICE: lattice,
    RCPI: one_by_one(RCPI),
    CART: cart,
    CEGB: cegb,
    STATIC: static,
    PPO: one_by_one(PPO),
}
