"""The rank test over data sets, against the worked example and the tables of Demsar (2006)."""

import numpy as np
import pandas as pd
import pytest

from fsgym.comparison.figures import plot_ranks
from fsgym.comparison.noise import critical_difference, rank_test

# Demsar (JMLR 7, 2006), table 6: AUC of C4.5 with and without tuning, on 14 data sets. Voting has the ranks 4, 1, 2, 3
# by digits that are not printed, which stand here.
METHODS = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
AUC = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9752, 0.9751], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_the_worked_example():
    test = rank_test(1 - pd.DataFrame(AUC, columns=METHODS))
    assert test.mean_ranks.round(3).to_dict() == {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    # The paper's statistic is not corrected for ties; SciPy divides it by one minus their share.
    ties = sum(sum(n**3 - n for n in np.unique(row, return_counts=True)[1]) for row in test.ranks.to_numpy())
    uncorrected = test.statistic * (1 - ties / (14 * 4 * 15))
    assert round(uncorrected, 2) == 9.28
    assert round(13 * uncorrected / (14 * 3 - uncorrected), 2) == 3.69
    assert test.differ
    assert round(test.difference, 2) == 1.25
    assert round(critical_difference(4, 14, level=0.1), 2) == 1.12
    assert test.cliques == [["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]]  # "not powerful enough" at .05
    at_ten = rank_test(1 - pd.DataFrame(AUC, columns=METHODS), level=0.1)
    assert at_ten.cliques == [["C4.5+m+cf", "C4.5+m", "C4.5+cf"], ["C4.5+cf", "C4.5"]]
    assert at_ten.to_frame()["like_best"].tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("level", "values"),
    [
        (0.05, (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)),
        (0.10, (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920)),
    ],
)
def test_published_critical_values(level, values):  # Demsar (2006), table 5 (a)
    for k, value in enumerate(values, 2):
        q = critical_difference(k, 10, level) / np.sqrt(k * (k + 1) / 60)
        assert q == pytest.approx(value, abs=1.1e-3)


def test_two_methods_have_wilcoxons_test():
    rng = np.random.default_rng(0)
    losses = pd.DataFrame({"a": rng.random(8), "b": 0.0})
    losses["b"] = losses["a"] + 0.1 + rng.random(8)
    test = rank_test(losses)
    assert test.p == pytest.approx(2 / 2**8)  # all differences have one sign
    assert np.isnan(test.difference)
    assert test.to_frame()["like_best"].tolist() == [True, False]


def test_equal_losses_are_no_difference():
    test = rank_test(pd.DataFrame(np.ones((4, 3)), columns=list("abc")))
    assert (test.p, test.differ, test.cliques) == (1.0, False, [["a", "b", "c"]])


@pytest.mark.parametrize(
    ("losses", "message"),
    [(np.ones((2, 3)), "at least 3 data sets"), (np.ones((5, 1)), "and 2 methods"), ([[1, np.nan]] * 3, "finite")],
)
def test_what_cannot_be_tested(losses, message):
    with pytest.raises(ValueError, match=message):
        rank_test(pd.DataFrame(losses))


def test_the_picture_joins_methods_that_do_not_differ():
    test = rank_test(1 - pd.DataFrame(AUC, columns=METHODS), level=0.1)
    ax = plot_ranks(test, {})
    bars = [line.get_xdata() for line in ax.lines if line.get_linewidth() == 4]
    ranks = test.mean_ranks.to_numpy()
    assert np.allclose(bars, [[ranks[0] - 0.03, ranks[2] + 0.03], [ranks[2] - 0.03, ranks[3] + 0.03]])
    assert [text.get_text() for text in ax.texts][-1] == "critical difference 1.12"
