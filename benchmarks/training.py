"""Training on half of breast cancer (284 rows x 30), kernels compiled, beside scikit-learn on the same rows.

RCPI with default settings, wall seconds of ``learn`` in two threads, beside gradient boosting with 100 trees. The other
lines are CPU seconds in one thread. The out-of-fold probabilities of a subset of the lattice (boosted trees, logistic
regression, blend and temperature in ten folds) are beside those of scikit-learn's models with as many trees, and four
components of each class of a mixture beside ``GaussianMixture`` with as many starts. Machines differ, so both times of
a line are measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_predict, train_test_split
from threadpoolctl import threadpool_limits

from agents import RCPI
from agents.anystate.mixture.constants import MAX_STEPS, N_STARTS, TOLERANCE
from agents.anystate.mixture.em import TrainingDesign, fit_mixture
from agents.anystate.mixture.variables import fit_variables
from agents.lattice.subset_classifier import cross_fit
from agents.lattice.training_data import prepare_data
from fsgym import Dataset, DatumWiseEnv, Rules, load_dataset

N_FEATURES, N_COMPONENTS, ROUNDS = 4, 4, 7


def compare(ours: Callable, theirs: Callable, clock: Callable[[], float]) -> tuple[float, float]:
    """Median seconds of both, in turn, after a first call of each."""

    def seconds(function: Callable) -> float:
        began = clock()
        function()
        return clock() - began

    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    ours_median, theirs_median = np.median(pairs, axis=0)
    return float(ours_median), float(theirs_median)


def rcpi(data: Dataset) -> str:
    env = DatumWiseEnv(data, Rules.for_dataset(data, lam=0.01))
    ours, theirs = compare(
        lambda: RCPI(env, n_jobs=2, random_state=0).learn(),
        lambda: GradientBoostingClassifier(random_state=0).fit(data.X, data.y),
        time.perf_counter,
    )
    return (
        f"RCPI, 10 iterations of {10 * data.n_samples} states: {ours:.3f} s; "
        f"gradient boosting, 100 trees: {theirs:.3f} s; ratio {ours / theirs:.2f}"
    )


def subset_of_the_lattice(data: Dataset) -> str:
    prepared, features = prepare_data(data, np.random.default_rng(0)), np.arange(N_FEATURES)
    trees, X = prepared.ingredients.trees, data.X[:, features]
    columns = prepared.columns(features).reshape(len(X), -1)
    boosting = GradientBoostingClassifier(
        n_estimators=trees.rounds, max_depth=trees.depth, learning_rate=trees.rate, subsample=0.5, random_state=0
    )
    folds = [(np.flatnonzero(prepared.fold != f), np.flatnonzero(prepared.fold == f)) for f in range(prepared.n_folds)]

    def theirs() -> None:
        cross_val_predict(boosting, X, data.y, cv=folds, method="predict_proba")
        cross_val_predict(LogisticRegression(max_iter=1000), columns, data.y, cv=folds, method="predict_proba")

    ours, other = compare(lambda: cross_fit(prepared, features), theirs, time.process_time)
    return (
        f"cross-fit of {N_FEATURES} features in {len(folds)} folds: {1e3 * ours:.1f} ms; "
        f"boosting and logistic regression of scikit-learn: {1e3 * other:.0f} ms; ratio {ours / other:.4f}"
    )


def mixture(data: Dataset) -> str:
    variables = fit_variables(data, None)
    codes = variables.encode(data.X)
    design = TrainingDesign(variables.design(codes), data.y, np.ones(len(codes)), data.n_classes)
    peer = GaussianMixture(
        N_COMPONENTS, covariance_type="diag", n_init=N_STARTS + 1, max_iter=MAX_STEPS, tol=TOLERANCE, random_state=0
    )
    ours, theirs = compare(
        lambda: fit_mixture(variables, design, N_COMPONENTS, seed=0),
        lambda: [peer.fit(codes[data.y == c]) for c in range(data.n_classes)],
        time.process_time,
    )
    return (
        f"{N_COMPONENTS} components of each class: {1e3 * ours:.1f} ms; "
        f"GaussianMixture of scikit-learn: {1e3 * theirs:.0f} ms; ratio {ours / theirs:.2f}"
    )


if __name__ == "__main__":
    table = load_dataset("breast_cancer")
    table = table.rows(train_test_split(np.arange(table.n_samples), train_size=0.5, random_state=0)[0])
    print(rcpi(table))
    with threadpool_limits(1):
        print(subset_of_the_lattice(table))
        print(mixture(table))
