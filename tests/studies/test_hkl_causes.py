"""Why claims on disjunctions are not reproduced, on simulated results."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fsgym_studies.common.statistics import mean_of
from fsgym_studies.hkl import cell as hkl_cell
from fsgym_studies.hkl import claims as hkl_claims
from fsgym_studies.hkl import printed as hkl_printed


def two_approaches(other, leads, shuffles=1):
    """Means and cells whose disjunctions are as printed, and another approach that is so many points above them."""
    names = list(hkl_printed.TABLE1_DATASETS)
    means = pd.DataFrame({hkl_cell.HKL: hkl_printed.PRINTED_DISJUNCTIONS}, names).astype(float)
    means[other] = means[hkl_cell.HKL] + pd.Series(leads).reindex(names)
    rows = [(d, k, m, means.loc[d, m] / 100) for d in names for k in range(4 * shuffles) for m in means]
    return {"means": means, "table": pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])}


def signed_rank_p(differences):
    differences = np.round(np.asarray(differences, float), 6)
    return stats.wilcoxon(differences[differences != 0], alternative="greater", method="approx").pvalue


PRINTED_DIFFERENCES = pd.Series(hkl_printed.PRINTED_DISJUNCTIONS) - pd.Series(hkl_printed.PRINTED_OTHERS["L2-SVM"])


def test_the_cause_of_a_test_has_it_with_the_printed_accuracies_of_either():
    """Ours are as printed but on two sets, where the L2-SVM is 3 and 2 points above."""
    leads = -PRINTED_DIFFERENCES.copy()
    leads[["vote", "tic-tac-toe"]] = 3.0, 2.0
    figures = two_approaches("L2-SVM", leads)
    text = hkl_claims.wilcoxon_cause("L2-SVM", True, figures)
    assert signed_rank_p(-leads) > 0.05 > signed_rank_p(PRINTED_DIFFERENCES)
    assert text.startswith("not known: the accuracies of L2-SVM decide, not those of the disjunctions, and how it was ")
    assert f"breast cancer, the paper's, p = {signed_rank_p(PRINTED_DIFFERENCES):.3f}, with those of the dis" in text
    assert f"of the disjunctions instead {signed_rank_p(-leads):.3f};" in text  # these are as printed
    assert "p is below 0.05 in 0 of 1 sets of folds" in text
    assert "vote (3.0)" in text


def test_an_svm_at_the_defaults_of_its_program_decides_where_the_test_is_met_with_it():
    """The L2-SVM is a point above the disjunctions on all sets; at its defaults as printed, or below."""
    figures = two_approaches("L2-SVM", pd.Series(1.0, hkl_printed.TABLE1_DATASETS))
    own = figures["means"][hkl_cell.HKL]
    printed = pd.Series(hkl_printed.PRINTED_OTHERS["L2-SVM"])
    for at, near, kind in ((printed, 10, "protocol: how L2-SVM was run is not"), (own - 5.0, 1, "not known: ")):
        figures["at defaults"] = {hkl_cell.L2_SVM_AT_DEFAULTS: at, hkl_cell.L1_SVM_AT_DEFAULTS: own - 5.0}
        text = hkl_claims.wilcoxon_cause("L2-SVM", True, figures)
        assert text.startswith(kind)
        assert (
            f"; with LIBSVM's defaults p = {signed_rank_p(own - at):.3f}, where {near} of ten accuracies are " in text
        )


def test_ours_that_is_the_printed_accuracy_but_for_its_rounding_is_a_tie():
    """On MONK-3 our 420 of 432 is the printed 97.22."""
    other = "Cfs, greedy + L1-SVM"
    assert hkl_claims.printed_of(other)["MONK-3"] == hkl_printed.PRINTED_DISJUNCTIONS["MONK-3"] == 97.22
    leads = pd.Series(1.0, hkl_printed.TABLE1_DATASETS).mask(lambda own: own.index == "MONK-3", 0.0)
    as_printed, unrounded = two_approaches(other, leads), two_approaches(other, leads)
    unrounded["means"].loc["MONK-3"] = 100 * 420 / 432
    known, tests = (hkl_claims.tests_against(other, figures) for figures in (as_printed, unrounded))
    assert tests.printed_other == known.printed_other
    assert tests.printed_own == known.printed_own


def test_an_accuracy_on_the_test_part_of_the_paper_hangs_on_no_folds():
    means = pd.DataFrame({hkl_cell.HKL: [80.0], "L2-SVM": [82.0]}, ["MONK-2"])
    table = pd.DataFrame({"dataset": "MONK-2", "method": hkl_cell.HKL, "split": [0], "accuracy": [0.8]})
    figures = {"means": means, "table": table, "accuracy, MONK-2": mean_of([80.0])}
    text = hkl_claims.accuracy_cause("MONK-2", 96.0, figures)
    assert text.startswith("not known: the test part is that of the paper; of the other 1 approaches")


def test_a_tie_on_newsgroups_decides_a_test_where_ours_are_behind_there():
    leads = -PRINTED_DIFFERENCES.copy()
    leads[hkl_printed.NEWSGROUPS] = 30.0
    cause = hkl_claims.wilcoxon_cause("L2-SVM", True, two_approaches("L2-SVM", leads))
    assert cause.startswith("data: our training posts")
    tie = leads.mask(leads.index == hkl_printed.NEWSGROUPS, 0.0)
    assert f"with a tie on 20 newsgroups p = {signed_rank_p(-tie):.3f};" in cause


def test_newsgroups_alone_does_not_decide_where_the_printed_disjunctions_would_too():
    """Ours are below the other approach on 20 newsgroups and, unlike the printed ones, on vote."""
    leads = -pd.Series(np.arange(1.0, 11), hkl_printed.TABLE1_DATASETS).mask(lambda own: own.index == "vote", 1.5)
    leads[hkl_printed.NEWSGROUPS] = 30.0
    figures = two_approaches("L2-SVM", leads)
    figures["means"].loc["vote", hkl_cell.HKL] -= 4.5
    tests = hkl_claims.tests_against("L2-SVM", figures)
    assert max(tests.tie, tests.printed_own) < 0.05
    cause = hkl_claims.wilcoxon_cause("L2-SVM", True, figures)
    assert cause.startswith(
        "not known: 20 newsgroups, where our data differ, would decide, and so would the accuracies"
    )


def test_what_headers_matter_on_newsgroups_is_read_from_the_inner_folds():
    row = {"dataset": hkl_printed.NEWSGROUPS, "split": 0, "method": hkl_cell.HKL, "accuracy": 0.7, "inner": 0.9}
    cause = hkl_claims.headers_cause({"table": pd.DataFrame([row])})
    assert cause.startswith("data: our training posts of 20 newsgroups have header lines")
    assert "the chosen disjunctions have 90.00 for 70.00 on the test part, so that this matters" in cause


def test_a_test_that_fails_on_the_printed_table_is_no_matter_of_our_runs():
    other = "Cfs, greedy + L1-SVM"
    leads = pd.Series(1.0, hkl_printed.TABLE1_DATASETS)
    cause = hkl_claims.wilcoxon_cause(other, True, two_approaches(other, leads))
    assert cause.startswith("paper: on its own Table 1 this test gives p = ")
    assert "this test gives p = 0.0213, which is not below 0.01, either" in cause


def test_sets_of_folds_in_a_test_are_those_of_its_data_sets():
    figures = two_approaches("L2-SVM", -PRINTED_DIFFERENCES, shuffles=3)
    colon = pd.DataFrame({"dataset": "colon", "split": [0, 0], "method": [hkl_cell.HKL, "L2-SVM"], "accuracy": 0.5})
    figures["table"] = pd.concat([figures["table"], colon], ignore_index=True)
    assert len(hkl_claims.tests_against("L2-SVM", figures).runs) == 3


def test_where_no_difference_is_expected_the_printed_losses_are_listed():
    other = hkl_printed.NOT_SIGNIFICANT
    leads = pd.Series(-1.0, hkl_printed.TABLE1_DATASETS)
    cause = hkl_claims.wilcoxon_cause(other, False, two_approaches(other, leads))
    assert cause.startswith("not known: neither folds nor 20 newsgroups decide; p is not below ")
    assert "on MONK-2 +1.0 points, printed -" in cause


def test_the_printed_accuracies_of_table_4_are_of_two_designs():
    for dataset, n_random, n_rows in (("colon", 30 * 12, 62), ("lymphoma", 30 * 36, 96)):
        (_, own), _, (_, other) = hkl_printed.PRINTED_SHARES[dataset]
        for accuracy, n in ((other, n_random), (own, n_rows)):
            assert np.abs(100 * np.arange(n + 1) / n - accuracy).min() < 0.0051
            assert f"1/{n}" in hkl_claims.DESIGNS[dataset]


@pytest.mark.parametrize(("runs", "reached"), [([80, 80, 80], 0), ([75, 79, 89], 1), ([70, 89, 91], 2)])
def test_an_accuracy_hangs_on_the_folds_where_half_of_their_sets_reach_it(runs, reached):
    means = pd.DataFrame({hkl_cell.HKL: [np.mean(runs)], "L2-SVM": [82.0]}, ["vote"])
    accuracies = np.repeat(runs, 4) + np.tile([-9.0, 9.0, -9.0, 9.0], 3)
    table = pd.DataFrame({"dataset": "vote", "method": hkl_cell.HKL, "split": range(12), "accuracy": accuracies / 100})
    figures = {"means": means, "table": table, "accuracy, vote": mean_of(accuracies)}
    text = hkl_claims.accuracy_cause("vote", 90.0, figures)
    assert text.startswith("protocol: folds" if reached > 1 else f"not known: {reached} of 3 sets")
    assert f"{reached} of 3 sets of 4 folds are within 1 point of the printed accuracy" in text
    assert text.endswith(
        "has 82.00 (L2-SVM), and each of the 1 is above the disjunctions on the same test parts"
        if np.mean(runs) < 82
        else "has 82.00 (L2-SVM)"
    )


def test_sets_of_folds_are_as_many_as_every_repeated_data_set_has():
    rows = [("once", 0, 7.0)] + [("two", k, float(k // 4)) for k in range(8)] + [("three", k, 5.0) for k in range(12)]
    parts = pd.DataFrame(rows, columns=["dataset", "split", "a"]).set_index(["dataset", "split"])["a"]
    runs = hkl_claims.by_shuffle(parts)
    assert runs.T.to_dict("list") == {"once": [7, 7], "three": [5, 5], "two": [0, 1]}
    assert hkl_claims.by_shuffle(parts.loc[["once"]]).shape == (1, 1)
    folds_once = parts.loc[["once", "three"]].iloc[:5].rename({"three": "folds, once"})
    assert hkl_claims.by_shuffle(pd.concat([folds_once, parts.loc[["three"]]])).shape == (3, 1)


def test_an_error_of_one_set_of_folds_is_that_between_their_means():
    parts = pd.Series([80.0, 90.0, 80.0, 90.0, 84.0, 86.0, 84.0, 86.0, 70.0, 90.0, 90.0, 90.0], range(12))
    parts.index.name = "split"
    assert hkl_claims.one_run_error(parts[:4]) == pytest.approx(np.std([80, 90, 80, 90], ddof=1) / 2)
    assert hkl_claims.one_run_error(parts[:8]) == 0.0  # both means are 85
    assert hkl_claims.one_run_error(parts) == 0.0
    assert hkl_claims.one_run_error(parts + np.repeat([0.0, 1.0, 5.0], 4)) == pytest.approx(np.std([0, 1, 5], ddof=1))


@pytest.mark.parametrize("expected", [True, False])
@pytest.mark.parametrize(("leads", "source"), [((9.0, -0.2), "protocol: "), ((9.0, 9.0), "not known: ")])
def test_a_test_hangs_on_the_folds_where_a_set_of_them_changes_it(leads, source, expected):
    """The disjunctions are .1 to 1 points above on eight data sets; on two, others lead by this in a set of folds."""
    gains = pd.Series(np.arange(1, 11) / 10, hkl_printed.TABLE1_DATASETS)
    rows = [
        (d, 4 * run + k, m, (80 + (m == hkl_cell.HKL) * (-lead if d in ("vote", "tic-tac-toe") else gains[d])) / 100)
        for d in gains.index
        for run, lead in enumerate(leads if expected else [-0.2 if lead == 9.0 else 9.0 for lead in leads])
        for k in range(4)
        for m in (hkl_cell.HKL, "L2-SVM")
    ]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "accuracy"])
    means = 100 * table.groupby(["dataset", "method"])["accuracy"].mean().unstack()
    figures = {"means": means, "table": table}
    text = hkl_claims.wilcoxon_cause("L2-SVM", expected, figures)
    n = sum(lead != 9.0 for lead in leads)
    assert text.startswith(source)
    assert f"p is {'' if expected else 'not '}below 0.05 in {n} of 2 sets of folds" in text


@pytest.mark.parametrize(("dataset", "tested"), [("breast cancer", True), ("hepatitis", False)])
def test_fits_that_end_at_their_largest_number_are_counted(dataset, tested):
    text = hkl_claims.capped_text(dataset, pd.Series(["max_active", "necessary", "max_active"]))
    assert text.startswith("; 2 of 3 fits of the disjunctions end at their largest number, which is ours")
    assert text.endswith("on breast cancer alone") is not tested
    assert hkl_claims.capped_text(dataset, pd.Series(["necessary"])) == ""
