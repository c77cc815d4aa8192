"""The acquisition conditioned oracle, a line beside the methods: its choices need the training rows themselves.

In a state with the values x_o of the acquired features o, let N be the training rows nearest to x_o in the features o.
Every candidate u, a set of further acquisitions, is given the loss that it would have had on these rows,

    L(u) = lam price(u | o)  +  mean over i in N of  sum over c of  p(c | x_i in o and u) C(c, y_i),

where p is a classifier that takes any subset of the features, C(c, y) the cost of the answer c in class y, and y_i the
label of a training row. Candidates are no acquisition, each one alone, and random sets. If none has the lowest loss,
the row is answered. Otherwise that acquisition of the best set is made which is best alone, and the search starts
again. This is the approximation (AACO) of Valancius, Lennon and Oliva. Acquisition Conditioned Oracle for Nongreedy
Active Feature Acquisition. ICML, 2024; with the loss in units of the error costs in place of the cross-entropy.

It uses no label of a test row. It is no bound either: neighbours are few, and the classifier is learnt.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import MixtureClassifier
from fsgym.comparison.cell import fit_on
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import evaluate
from fsgym.rules import Rules
from fsgym.runner.results import returns
from fsgym_studies.suites.cell import CELL_CHECK, Measurement, Scores

ORACLE_CELL = f"{__name__}:run_oracle"
ORACLE_SEED = "oracle"  # names it in the seeds of its cells
ORACLE_TITLE = "AACO-like search"  # no oracle: methods may have a lower loss
ORACLE_TEST_ROWS = {True: 50, False: 200}  # of a run, at most: quick, and full
N_NEIGHBOURS, N_FIRST_NEIGHBOURS = 10, 200  # after an acquisition, and before any: then no row is nearer than another
N_RANDOM_SETS, LARGEST_SET = 100, 6
ORACLE_IN_WORDS = (
    "The AACO-like search is not ranked, as it is measured on at most {rows} random test rows of a run, on which the "
    "methods may be better or worse than on all. At every step it searches the training rows for the acquisitions that "
    "would have been best on the nearest of them, as the acquisition conditioned oracle (AACO) of Valancius et al. "
    "(2024), with the loss of the suite. It needs the training rows at every step, as a nearest-neighbour method does, "
    "and no label of a test row; methods may have a lower loss."
)

ClassProbabilities = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.float64]]


class ConditionedOracle:
    """Actions in states, as ``fsgym.evaluate`` takes them: ``(observations, legal actions) -> actions``.

    Parameters
    ----------
    train : Dataset
    rules : Rules
    probabilities : callable (X, acquired) -> float64 (n, n_classes), of a classifier that was trained on these rows
    seed : int, for the random sets and the order of equally near rows
    """

    def __init__(self, train: Dataset, rules: Rules, probabilities: ClassProbabilities, seed: int) -> None:
        rng = np.random.default_rng(seed)
        order = rng.permutation(train.n_samples)
        self.X, self.y, self.rules, self.probabilities = train.X[order], train.y[order], rules, probabilities
        self.mean, sd = np.nanmean(self.X, axis=0), np.nanstd(self.X, axis=0)
        self.sd = np.where(sd > 0, sd, 1.0)
        self.scaled = np.nan_to_num((self.X - self.mean) / self.sd)  # the mean in place of a missing value
        self.sets = _candidate_sets(rules.n_acquisitions, rng)
        self.features = np.arange(rules.n_acquisitions)[:, None] == rules.acquisition_of_features
        self._first: dict[bytes, int] = {}  # actions before any acquisition, by what is legal

    def __call__(self, observations: NDArray, legal: NDArray[np.bool_]) -> NDArray[np.int64]:
        n = self.rules.n_features
        acquired, values = observations[:, :n] > 0.5, observations[:, n : 2 * n]
        return np.array([self._action(*state) for state in zip(acquired, values, legal)], np.int64)

    def _action(self, acquired: NDArray[np.bool_], values: NDArray[np.float32], legal: NDArray[np.bool_]) -> int:
        if acquired.any():
            distance = ((self.scaled - (values - self.mean) / self.sd)[:, acquired] ** 2).sum(axis=1)
            return self._best(acquired, values, legal, np.argsort(distance, kind="stable")[:N_NEIGHBOURS])
        key = legal.tobytes()
        if key not in self._first:
            self._first[key] = self._best(acquired, values, legal, np.arange(len(self.X))[:N_FIRST_NEIGHBOURS])
        return self._first[key]

    def _best(self, acquired: NDArray, values: NDArray, legal: NDArray, near: NDArray[np.int64]) -> int:
        """The action in a state by the losses of all candidates on the rows ``near``."""
        rules, J = self.rules, self.rules.n_acquisitions
        sets = self.sets & legal[:J]
        spent = rules.price_sets(rules.acquisitions_of(acquired[None]) | sets)[0]
        known = np.repeat(acquired | (sets @ self.features), len(near), axis=0)
        X, y = np.tile(self.X[near], (len(sets), 1)), np.tile(self.y[near], len(sets))
        errors = (self.probabilities(X, known) * rules.error_costs[:, y].T).sum(axis=1)
        losses = errors.reshape(len(sets), len(near)).mean(axis=1) + rules.lam * (spent - spent[0])
        best = sets[losses.argmin()]
        if best.any():
            return int(np.where(best, losses[1 : J + 1], np.inf).argmin())
        row = self.probabilities(np.where(acquired, values, np.nan)[None].astype(np.float32), acquired[None])
        return J + int(np.where(legal[J:], (row @ rules.error_costs.T)[0], np.inf).argmin())


def _candidate_sets(n_acquisitions: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """No acquisition, each one alone, and random sets of two or more, bool (n_sets, n_acquisitions)."""
    alone = np.eye(n_acquisitions, dtype=bool)
    sizes = rng.integers(2, LARGEST_SET + 1, N_RANDOM_SETS)
    places = rng.random((N_RANDOM_SETS, n_acquisitions)).argsort(axis=1).argsort(axis=1)
    return np.concatenate([~alone[:1] & False, alone, places < sizes[:, None]])


@returns(CELL_CHECK)
def run_oracle(*, dataset: Dataset, split: Any, measurement: Measurement, quick: bool, seed: int) -> dict[str, Any]:
    """Scores of the oracle at every price; ``seconds`` is the processor time of the whole cell."""
    parts, scores, start = split.parts(dataset), Scores(), time.process_time()
    rules = [measurement.rules_at(dataset, price) for price in measurement.prices]
    chosen = np.random.default_rng(seed).permutation(parts.test.n_samples)[: ORACLE_TEST_ROWS[quick]]
    with warnings.catch_warnings(action="ignore"):
        classifier = fit_on(parts.train, MixtureClassifier(**rules[0].options()), rules[0], seed)
        oracles = [ConditionedOracle(parts.train, r, classifier.probabilities_at, seed) for r in rules]
        test = parts.test.rows(chosen)
        results = [evaluate(oracle, test, r) for oracle, r in zip(oracles, rules)]
    scores.add_evaluations(measurement, results)
    scores.row_scores = []  # of other test rows than those of the methods
    return scores.result(time.process_time() - start)
