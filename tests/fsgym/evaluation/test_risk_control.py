"""Tests of risks: reference values, duality of tests and bounds, and the level of each test in simulated draws."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from fsgym.evaluation import risk_control as rc
from fsgym.metrics import binomial_upper_bound

# Fewest rows with 0, 1, 2 and 5 errors, for (limit, delta); exact.
FEWEST = {
    (0.01, 0.05): (299, 473, 628, 1049),
    (0.02, 0.1): (114, 194, 265, 462),
    (0.02, 0.2): (80, 149, 213, 394),
    (0.05, 0.1): (45, 77, 105, 184),
    (0.1, 0.05): (29, 46, 61, 103),
    (0.2, 0.2): (8, 14, 21, 39),
}
TESTS = {"betting": rc.betting_p_value, "hoeffding-bentkus": rc.hoeffding_bentkus_p_value}


def binomial_sum(errors: int, n: int, limit: float) -> float:
    """P(Bin(n, limit) <= errors), term by term."""
    return sum(comb(n, k) * limit**k * (1 - limit) ** (n - k) for k in range(errors + 1))


def test_reference_values():
    assert rc.binomial_p_value(2, 100, 0.05) == pytest.approx(0.1182629812, abs=1e-10)
    assert binomial_upper_bound(2, 100, 0.1) == pytest.approx(0.0523452902, abs=1e-10)
    assert binomial_upper_bound(0, 45, 0.1) == pytest.approx(0.0498814927, abs=1e-10)
    two = np.repeat([1.0, 0.0], [2, 98])
    assert rc.hoeffding_bentkus_p_value(two, 0.05) == pytest.approx(0.2969189512, abs=1e-10)
    assert rc.hoeffding_bentkus_p_value(np.full(300, 0.0137), 0.03) == pytest.approx(0.1809682835, abs=1e-10)
    losses = np.tile([0, 0, 0.5, 0, 0, 0, 0, 0.25, 0, 0], 15)
    assert rc.betting_p_value(losses, 0.15) == pytest.approx(0.000401809388, abs=1e-12)


@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("limit", [0.02, 0.3])
def test_binomial_equals_the_sum_of_its_terms(n, limit):
    direct = [binomial_sum(k, n, limit) for k in range(n + 1)]
    assert rc.binomial_p_value(np.arange(n + 1), n, limit) == pytest.approx(direct, rel=1e-11)


def test_bound_is_below_the_limit_exactly_where_the_test_passes():
    errors = np.arange(30)
    for limit in (0.02, 0.05, 0.2):
        for delta in (0.05, 0.2):
            passes = rc.binomial_p_value(errors, 90, limit) <= delta
            assert ((binomial_upper_bound(errors, 90, delta) <= limit) == passes).all()


def test_no_rows_show_nothing():
    assert rc.binomial_p_value(0, 0, 0.5) == 1
    assert binomial_upper_bound(0, 0, 0.1) == 1
    assert binomial_upper_bound(4, 4, 0.1) == 1
    assert rc.binomial_p_value(np.array([0, 1]), np.array([0, 50]), 0.2)[0] == 1


@pytest.mark.parametrize(("limit", "delta"), list(FEWEST))
def test_fewest_rows(limit, delta):
    assert tuple(rc.fewest_rows(limit, delta, errors) for errors in (0, 1, 2, 5)) == FEWEST[limit, delta]
    assert rc.fewest_rows(limit, delta) == int(np.ceil(np.log(delta) / np.log(1 - limit)))


def test_the_guide_has_the_fewest_rows():
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "certain_enough.md").read_text()
    for limit in (0.01, 0.02, 0.05, 0.1, 0.2):
        cells = [
            ", ".join(str(rc.fewest_rows(limit, delta, errors)) for errors in (0, 1, 2, 5))
            for delta in (0.05, 0.1, 0.2)
        ]
        assert f"| {limit:.2f} | {' | '.join(cells)} |".replace("| 0.", "| .") in guide
    for limit, half, three_quarters in ((0.02, 1120, 4844), (0.05, 423, 1891), (0.1, 210, 911)):
        for first, risk in ((half, limit / 2), (three_quarters, 0.75 * limit)):
            passes = {n: share_passing(n, risk, limit) >= 0.9 for n in range(first - 1, first + 500)}
            assert not passes.pop(first - 1)  # from then on it holds
            assert all(passes.values())
            assert f"{first:,}" in guide


def share_passing(n, risk, limit):
    """The share of calibrations by n rows at confidence .9 that pass where the true risk is this."""
    passing = rc.binomial_p_value(np.arange(n + 1), n, limit) <= 0.1
    return binom.cdf(passing.sum() - 1, n, risk)  # those with the fewest errors pass


@pytest.mark.parametrize("name", list(TESTS))
def test_fewest_rows_of_means_are_the_least_that_pass(name):
    n = rc.fewest_rows_of_mean(0.1, 0.1, TESTS[name])
    assert TESTS[name](np.zeros(n), 0.1) <= 0.1 < TESTS[name](np.zeros(n - 1), 0.1)
    assert n >= rc.fewest_rows(0.1, 0.1)


@pytest.mark.parametrize("name", list(TESTS))
def test_each_column_is_tested_as_alone(name):
    losses = np.random.default_rng(0).random((50, 4)) * [0.2, 0.5, 1, 0]
    together = TESTS[name](losses, 0.3)
    assert together == pytest.approx([TESTS[name](losses[:, k], 0.3) for k in range(4)], rel=1e-12)
    assert together[3] < together[0] < together[2]


@pytest.mark.parametrize("name", list(TESTS))
def test_bound_of_a_mean_is_where_its_test_begins_to_pass(name):
    losses = np.random.default_rng(1).random(200) ** 4
    bound = rc.mean_upper_bound(losses, 0.1, TESTS[name])
    assert losses.mean() < bound < 0.4
    assert TESTS[name](losses, bound + 1e-6) <= 0.1 < TESTS[name](losses, bound - 1e-6)
    assert rc.mean_upper_bound(np.ones(20), 0.1, TESTS[name]) == 1.0


@pytest.mark.parametrize("name", list(TESTS))
@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_level_of_tests_of_means(name, limit):
    """At the limit itself, at most ``delta`` of the draws pass: 1,000 draws, three standard errors."""
    draws = np.random.default_rng(2).random((200, 1000))
    losses = np.where(draws < limit / 0.8, 0.8, 0.0)
    for delta in (0.1, 0.2):
        assert (TESTS[name](losses, limit) <= delta).mean() <= delta + 3 * np.sqrt(delta * (1 - delta) / 1000)


@pytest.mark.parametrize("correlation", [0.05, 0.7])
def test_rows_of_patients_count_as_one_number_each(correlation):
    """150 patients with 1 to 8 rows, at the limit: rows that count as independent break the level, means do not."""
    rng = np.random.default_rng(5)
    limit, delta, spread = 0.1, 0.1, 1 / correlation - 1
    sizes = rng.integers(1, 9, (150, 1000))
    errors = rng.binomial(sizes, rng.beta(limit * spread, (1 - limit) * spread, sizes.shape))
    of_patients = (rc.betting_p_value(errors / sizes, limit) <= delta).mean()
    of_rows = (rc.binomial_p_value(errors.sum(axis=0), sizes.sum(axis=0), limit) <= delta).mean()
    assert of_patients <= delta + 3 * np.sqrt(delta * (1 - delta) / 1000)
    assert correlation < 0.5 or of_rows > 0.2


def test_betting_passes_more_often_than_hoeffding_bentkus():
    draws = np.random.default_rng(3).random((500, 400))
    losses = np.where(draws < 0.01, 1.0, np.where(draws < 0.05, 0.01, 0.0))  # rare and costly: of mean .0104
    passed = {name: (test(losses, 0.02) <= 0.1).mean() for name, test in TESTS.items()}
    assert passed["betting"] > passed["hoeffding-bentkus"] + 0.1


def test_sequence_ends_before_the_first_failure():
    assert rc.last_of_sequence(np.array([0.05, 0.1, 0.11, 0.0]), 0.1) == 1
    assert rc.last_of_sequence(np.array([0.2, 0.0]), 0.1) == -1
    assert rc.last_of_sequence(np.array([0.0, 0.0]), 0.1) == 1
    assert rc.start_of_sequence(np.array([1.0, 0.02, 0.01, 0.01, 0.3])) == 3


def draws_of_two_stages(rng, n_draws: int, delta: float) -> float:
    """How often the error among answered rows is above its limit where two stages pass it; risks known exactly."""
    answered, risk = np.array([0.0, 0.2, 0.4, 0.7, 1.0]), np.array([0.0, 0.04, 0.06, 0.101, 0.15])
    limit, n_first, n = 0.1, 100, 400
    broken = 0
    for _ in range(n_draws):
        p = []
        for size in (n_first, n):
            n_answered = rng.binomial(size, answered)
            p.append(rc.binomial_p_value(rng.binomial(n_answered, risk), n_answered, limit))
        start = rc.start_of_sequence(p[0])
        last = rc.last_of_sequence(p[1][start:], delta)
        broken += last >= 0 and risk[start + last] > limit
    return broken / n_draws


def test_two_stages_keep_the_level_where_the_strictest_threshold_answers_nobody():
    assert draws_of_two_stages(np.random.default_rng(4), 1000, 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 1000)


@pytest.mark.parametrize("n", [64, 500])
def test_agreement_with_mapie(n):
    """MAPIE's p-values where n times the mean is exact in floating point; elsewhere its ceil can add an error."""
    methods = pytest.importorskip("mapie.risk_control.methods", reason="MAPIE is not installed, .ci/full does")
    errors = np.array([k for k in range(n) if np.ceil(n * (k / n)) == k])
    losses = (np.arange(n)[:, None] < errors).astype(float)
    for limit in (0.05, 0.2):
        theirs = {
            binary: methods.compute_hoeffding_bentkus_p_value(errors / n, n, limit, binary)[:, 0]
            for binary in (False, True)
        }
        assert rc.binomial_p_value(errors, n, limit) == pytest.approx(theirs[True], rel=1e-9, abs=1e-300)
        assert rc.hoeffding_bentkus_p_value(losses, limit) == pytest.approx(
            np.minimum(theirs[False], 1), rel=1e-9, abs=1e-300
        )


def test_no_promise_is_shown_by_a_mean_above_it_although_early_rows_won_their_bets():
    losses = np.r_[np.zeros(100), np.ones(30)]
    assert rc.betting_p_value(losses, 0.05) == 1.0
    assert rc.betting_p_value(losses[:110], 0.1) < 0.2
    assert rc.mean_upper_bound(losses, 0.2, rc.betting_p_value) >= losses.mean()
