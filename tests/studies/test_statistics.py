"""Statistics of studies, compared with values computed by hand."""

import numpy as np
import pandas as pd
import pytest

from fsgym_studies.common import curves
from fsgym_studies.common.statistics import accuracy_at, area, curve_knots, mean_of, wilcoxon_p, wins
from fsgym_studies.hkl.printed import TABLE1_DATASETS
from fsgym_studies.hkl.tables import one_sided_p, wilcoxon_comparison


def test_mean_deviation_and_interval():
    result = mean_of([1.0, 2.0, 3.0, np.nan])
    assert (result.mean, result.count) == (2.0, 3)
    assert result.std == pytest.approx(np.sqrt(2 / 3))
    # Of the 27 equally likely resamples one has mean 1 and one mean 3 (3.7 % each): the 95 % interval reaches both.
    assert (result.low, result.high) == (1.0, 3.0)


def test_interval_is_close_to_the_normal_one_for_many_values():
    values = np.random.default_rng(0).normal(0.8, 0.1, 400)
    result = mean_of(values)
    half = 1.96 * values.std() / 20
    assert result.low == pytest.approx(values.mean() - half, abs=0.002)
    assert result.high == pytest.approx(values.mean() + half, abs=0.002)
    assert result == mean_of(values)  # the same seed gives the same interval


def test_few_values_have_no_interval():
    assert mean_of([]).count == 0
    assert np.isnan(mean_of([]).mean)
    assert mean_of([0.7])[:2] == (0.7, 0.0)
    assert np.isnan(mean_of([0.7]).low)
    assert mean_of([0.7, 0.7])[2:] == (0.7, 0.7, 2)


def test_wins_ties_losses_and_the_signed_rank_test():
    first, second = np.array([0.9, 0.8, 0.7, 0.6, 0.75, 0.5]), np.array([0.8, 0.75, 0.69, 0.6005, 0.71, np.nan])
    assert wins(first - second, tie=0.001) == (4, 1, 0)
    # Of the five differences only the smallest (.0005, rank 1) is negative: W- = 1, p = 2 * 2 / 2^5.
    assert wilcoxon_p(first - second) == pytest.approx(0.125)
    assert wilcoxon_p([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == pytest.approx(2 / 2**6)
    assert wins([0.0, 0.0]) == (0, 2, 0)
    assert np.isnan(wilcoxon_p([0.0, 0.0]))


def test_rounding_errors_are_no_differences():
    """The sums are equal in exact arithmetic; the second list has two ties for the ranks."""
    equal = [0.3 - (0.1 + 0.2), (0.1 + 0.2) - 0.3]
    assert wins(equal) == (0, 2, 0)
    assert np.isnan(wilcoxon_p(equal))
    assert wilcoxon_p([0.3 - 0.2, 0.2 - 0.3, 0.5]) == wilcoxon_p([0.1, -0.1, 0.5])
    hundreds = [dict.fromkeys(TABLE1_DATASETS, 100 * accuracy) for accuracy in (0.1 + 0.2, 0.3)]
    assert wilcoxon_comparison(*hundreds)[0] == "0/10/0 wins/ties/losses, p = 1.000"
    ties = [one_sided_p(np.array([own, -0.1, 0.5])) for own in (0.3 - 0.2, 0.1)]
    assert ties[0] == ties[1]


def test_a_curve_is_flat_before_straight_between_settings_and_ends_at_the_largest_class():
    sparsity, accuracy = [0.8, 0.4], [0.7, 0.9]
    wanted = [0.0, 0.4, 0.6, 0.8, 0.9, 1.0]
    np.testing.assert_allclose(accuracy_at(wanted, sparsity, accuracy, 0.5), [0.9, 0.9, 0.8, 0.7, 0.6, 0.5])
    # A setting that uses no feature is a point like any other and replaces the point of the largest class.
    assert accuracy_at(1.0, [0.4, 1.0], [0.9, 0.6], 0.5) == 0.6
    assert accuracy_at(0.3, [], [], 0.5) == 0.5


def test_settings_of_equal_sparsity_are_one_point():
    s, a = curve_knots([0.5, 0.5 + 1e-12, 0.5, 0.9], [0.6, 0.9, 0.9, 0.5], 0.4)
    np.testing.assert_allclose(s, [0.5, 0.9, 1.0])
    np.testing.assert_allclose(a, [0.8, 0.5, 0.4])


def test_area_by_hand():
    # A rectangle of height .9 up to sparsity .4, then trapezoids down to .7 at .8 and to .5 at 1.
    assert area([0.8, 0.4], [0.7, 0.9], 0.5) == pytest.approx(0.4 * 0.9 + 0.4 * 0.8 + 0.2 * 0.6)
    assert area([], [], 0.5) == pytest.approx(0.5)


def test_area_is_the_mean_height():
    rng = np.random.default_rng(1)
    s, a = rng.random(7), rng.random(7)
    grid = np.linspace(0, 1, 200_001)
    assert area(s, a, 0.3) == pytest.approx(accuracy_at(grid, s, a, 0.3).mean(), abs=1e-5)


def cells():
    """Two data sets, two splits, methods a and b; in split 1 everything is .1 lower."""
    rows = []
    for dataset, lead in (("x", 0.1), ("y", -0.05)):
        for split in (0, 1):
            for method, gain in (("a", lead), ("b", 0.0)):
                for setting, (s, accuracy) in enumerate([(0.0, 0.8), (1.0, 0.6)]):
                    rows.append(
                        {
                            "dataset": dataset,
                            "share": 0.5,
                            "split": split,
                            "method": method,
                            "setting": setting,
                            "params": "{}",
                            "sparsity": s,
                            "accuracy": accuracy + gain * (s == 0) - 0.1 * split,
                            "chance": 0.6,
                            "n_acquisitions": 3.0,
                            "sparsity_within": 0.02,
                            "error": None,
                        }
                    )
    return pd.DataFrame(rows)


def test_areas_heights_differences_and_wins_of_cells():
    table = cells()
    values = curves.areas(table)
    means = curves.by_dataset(values)
    assert list(means.index) == ["x", "y"]
    np.testing.assert_allclose(means["b"], 0.65)  # (.8 + .6) / 2, minus the mean .05 of 0 and .1
    np.testing.assert_allclose(means["a"], [0.7, 0.625])
    (height,) = curves.accuracy_by_share(table, "x", 0.5, "a").values()
    assert height.mean == pytest.approx(0.7)
    assert height.count == 2
    lead = curves.differences(values, "a", "b")
    np.testing.assert_allclose(lead.loc["x"], [0.05] * 3)  # the same in both splits: an interval without width
    np.testing.assert_allclose(lead.loc["y"], [-0.025] * 3)
    row = curves.wins_over_datasets(values, "a", ["b", "unknown"]).to_dict("records")
    assert row == [{"against": "b", "wins": 1, "ties": 0, "losses": 1, "p": 1.0}]
    settings = curves.setting_means(table)
    first = settings[(settings["dataset"] == "x") & (settings["method"] == "a") & (settings["setting"] == 0)].iloc[0]
    assert first["accuracy"] == pytest.approx(0.85)
    assert first["accuracy_std"] == pytest.approx(0.05)
    assert first["splits"] == 2


def test_failed_cells_are_left_out():
    table = cells()
    table.loc[table["split"] == 1, ["accuracy", "error"]] = [np.nan, "ValueError: failed"]
    assert [height.count for height in curves.accuracy_by_share(table, "x", 0.5, "a").values()] == [1]
    assert curves.setting_means(table)["splits"].unique().tolist() == [1]
