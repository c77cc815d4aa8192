"""The suite ``tiny``: two bits, prices .05 and .6, and the optimum by dynamic programming."""

import numpy as np

from fsgym import Dataset, Rules
from fsgym.exact import all_rows, optimum
from fsgym_studies.suites.cell import Scores
from fsgym_studies.suites.suite import Problem, RowSplit, Suite, TableOf

# Two bits, independent given the class, which they equal with probability .8 and .6.
JOINT = np.einsum("ik,jk->ijk", [[0.8, 0.2], [0.2, 0.8]], [[0.6, 0.4], [0.4, 0.6]]) / 2
N_ROWS = 50  # of each part: the least common denominator of the probabilities
PRICES = (0.05, 0.6)


def population():
    """Each row as often as it is probable, float32 (50, 2), and its class."""
    counts = (JOINT.reshape(4, 2) * N_ROWS).round().astype(int)
    X = np.repeat(np.repeat(all_rows(2), 2, axis=0), counts.ravel(), axis=0)
    return X, np.repeat(np.tile([0, 1], 4), counts.ravel())


def problems(quick, data_dir, skip):
    X, y = population()
    data = Dataset(np.tile(X, (3, 1)), np.tile(y, 3), feature_names=["b", "a"], name="bits")
    runs = [(data, RowSplit(N_ROWS, N_ROWS))] * (1 if quick else 2)
    return [Problem("bits", runs, PRICES, budgets=(1.0, 2.0), reference_call=f"{__name__}:exact_reference")]


def exact_reference(*, measurement, quick):
    scores = Scores()
    scores.add_losses(measurement, [optimum(JOINT, Rules(2, 2, lam=price)) for price in measurement.prices])
    return scores.result()


TINY_SUITE = Suite(
    "tiny",
    "Two bits",
    problems,
    lambda quick: "Quick: one run." if quick else "Two runs.",
    (TableOf("loss"), TableOf("headroom"), TableOf("budget_accuracy"), TableOf("features")),
    "It was not used for anything else.",
    published=__file__,
    reference="@article{tiny2026,\n  title = {Tiny}\n}",
    runs_are="seeds",
)
