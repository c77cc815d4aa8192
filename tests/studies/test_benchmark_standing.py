"""Where a suite says that a method stands: no first place without a test of noise, in the code and on the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fsgym.methods import find_method
from fsgym_studies.suites import SUITES, find_suite
from fsgym_studies.suites.leaderboard import score_table, standing
from fsgym_studies.suites.methods import BENCHMARK_METHODS
from fsgym_studies.suites.scores import SCORES, paired_scores
from fsgym_studies.suites.suite import TableOf

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
FOCUS = "Adaptive agent"
NOISE = np.random.default_rng(0).normal(0, 0.01, (10, 2))


def words(first, second, ranks=(1.0, 2.0), score="loss", focus="mine", **options):
    """The sentence on ``mine`` and ``other`` with these scores by data set."""
    means, ranks = pd.DataFrame({"mine": first, "other": second}), pd.Series(dict(zip(("mine", "other"), ranks)))
    return standing(ranks.sort_values(), focus, score, means, "data set", **options)


def test_the_first_place_needs_a_lead_over_each_other_that_is_more_than_noise():
    ahead = words(NOISE[:, 0], NOISE[:, 1] + 0.1)
    assert ahead == (
        "mine is 1st of 2 methods by loss (mean rank 1.00), ahead of each other by more than noise (t tests over 10 "
        "data sets, 95 %); the next is other (2.00)."
    )
    level = words(NOISE[:, 0], NOISE[:, 1])
    assert level.startswith("mine has the best mean rank of 2 methods by loss (1.00); other is not distinguishable")
    assert words(NOISE[:, 0] + 0.1, NOISE[:, 1]) == level  # the lower mean rank with the higher mean is no lead
    assert "1st" not in words([0.1, 0.1], [0.2, 0.2])
    assert words([0.1, 0.1], [0.2, 0.2]).endswith(
        "the next is other (2.00), but whether this is more than noise is not known, which takes 3 data sets or runs."
    )
    assert "1st" not in words(NOISE[:, 0], NOISE[:, 1] + 0.1, ranks=(1.5, 1.5))


def test_the_lead_of_the_first_over_another_is_tested_too():
    assert words(NOISE[:, 0] + 0.1, NOISE[:, 1], ranks=(2.0, 1.0)) == (
        "mine is 2nd of 2 methods by loss (mean rank 2.00); the first is other (1.00), ahead of it by more than noise "
        "(t tests over 10 data sets, 95 %)."
    )
    assert "ahead of it by no more than noise (" in words(NOISE[:, 0], NOISE[:, 1], ranks=(2.0, 1.0))
    assert "but whether this is more than noise is not known" in words([0.2], [0.1], ranks=(2.0, 1.0))


def test_more_may_be_better():
    assert "1st of 2 methods by accuracy within" in words(NOISE[:, 0] + 0.1, NOISE[:, 1], score="budget_accuracy")
    assert "1st" not in words(NOISE[:, 0], NOISE[:, 1] + 0.1, score="budget_accuracy")


def test_a_method_without_a_rank_or_a_rival_has_no_place():
    assert words([0.1], [0.2], focus="third") == "third has no place: its scores are not complete."
    ranks, alone = pd.Series({"mine": 1.0}), pd.DataFrame({"mine": [0.1]})
    assert standing(ranks, "mine", "loss", alone, "run") == "mine is the only method that has a rank."


def test_runs_of_the_same_rows_are_no_independent_runs():
    """The variance is corrected for training rows in common (Nadeau and Bengio, 2003)."""
    gain = np.array([0.01, 0.03, 0.05])
    losses = pd.DataFrame({"mine": 0.2 - gain, "other": np.full(3, 0.2)})
    half = stats.t.ppf(0.975, 2) * gain.std(ddof=1)
    for share in (0.0, 0.5):
        corrected = gain.mean() - half * np.sqrt(1 / 3 + share)
        assert ahead(losses, share) is bool(corrected > 0)
    steady = pd.DataFrame({"mine": 0.2 - np.array([0.02, 0.03, 0.04]), "other": np.full(3, 0.2)})
    assert [ahead(steady, share) for share in (0.0, 0.5)] == [True, False]


def ahead(losses, share):
    return "1st" in standing(pd.Series({"mine": 1.0, "other": 2.0}), "mine", "loss", losses, "run", share)


@pytest.mark.parametrize(("n_datasets", "unit", "n_rows", "share"), [(3, "data set", 3, 0.0), (2, "run", 8, 0.25)])
def test_scores_are_paired_by_data_set_or_by_run(n_datasets, unit, n_rows, share):
    keys = [(f"d{d}", run, m, "loss", at) for d in range(n_datasets) for run in range(4) for m in "ab" for at in "12"]
    scores = pd.DataFrame(keys, columns=["dataset", "split", "method", "score", "at"])
    scores["value"] = np.random.default_rng(1).random(len(scores))
    means, *more = paired_scores(scores, pd.DataFrame({"test_share": [0.25, None, 0.25]}), "loss")
    assert (means.shape, *more) == ((n_rows, 2), unit, share)
    own = scores[(scores["dataset"] == "d0") & (scores["method"] == "a")]
    wanted = own if n_datasets == 3 else own[own["split"] == 0]
    assert means["a"].iloc[0] == pytest.approx(wanted["value"].mean())


def test_a_score_that_a_method_has_on_some_data_sets_only_has_its_reason_in_the_caption():
    rows = [
        ("d1", 0, "a", "complete", "", 3.0),
        ("d2", 0, "a", "complete", "", 4.0),
        ("d1", 0, "b", "complete", "", 5.0),
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value"])
    declared = TableOf("complete", "dataset")
    shown = score_table(find_suite("cube"), declared, scores, {("b", "complete"): "it ends early"}, (), ())
    assert shown.frame.set_index("method").loc["b"].tolist() == ["5.000", "–", "–"]
    assert shown.caption.endswith("A column is a data set. – for b: it ends early.")


# --- the page ---


def section_of(name):
    return PAGE.partition(f"<!-- {name}: begin")[2].partition(f"<!-- {name}: end -->")[0]


def tables_of(section):
    """The tables of the main score of a section, by their heading; text."""
    pattern = r"^### ([^\n]*)\n\n[^\n]*\n\n\| method ([^\n]*)\n[^\n]*\n((?:\|[^\n]*\n)+)"
    found = {}
    for heading, head, body in re.findall(pattern, section, re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines()]
        columns = ["method", *(cell.strip() for cell in head.strip("| ").split("|"))]
        found[heading] = pd.DataFrame(rows, columns=columns).set_index("method")
    return found


def main_tables(name):
    """The tables of a section with the score by which methods are ranked."""
    title = SCORES[find_suite(name).tables[0].score].title
    return [t for heading, t in tables_of(section_of(name)).items() if re.fullmatch(f"{title}(, by .*)?", heading)]


@pytest.mark.parametrize("name", SUITES)
def test_a_section_names_the_methods_of_the_suites_that_it_lacks(name):
    present = {title.partition(" (first of")[0] for title in main_tables(name)[0].index}
    lacking = {find_method(m).title for m in BENCHMARK_METHODS} - present
    said = re.search(r"^\* Not run: (.*)\. Name them in --methods to add them\.$", section_of(name), re.MULTILINE)
    assert lacking <= set(said[1].split(", ") if said else [])
    assert not present & set(said[1].split(", ") if said else [])


@pytest.mark.parametrize("name", SUITES)
def test_a_section_claims_no_place_without_saying_whether_it_is_noise(name):
    (line,) = re.findall(rf"^\* {FOCUS} (?:is|has the best) .*$", section_of(name), re.MULTILINE)
    assert "noise" in line or "not distinguishable" in line
    assert (" 1st of " in line) <= ("ahead of each other by more than noise" in line)


@pytest.mark.parametrize(("name", "n_datasets"), [("syn", 3), ("turney", 5), ("small", 3)])
def test_whom_a_section_calls_not_distinguishable_is_so_by_its_own_figures(name, n_datasets):
    """By SciPy's t test, from the means by data set that the section prints."""
    (line,) = re.findall(rf"^\* {FOCUS} has the best mean rank .*$", section_of(name), re.MULTILINE)
    table = main_tables(name)[{"turney": 1}.get(name, 0)]
    ranked = table[table["mean rank"] != "–"].drop(columns="mean rank").astype(float).dropna()
    means = ranked.T.groupby([column.partition(" 0.")[0] for column in ranked], sort=False).mean()
    assert len(means) == n_datasets
    close = {o for o in means if o != FOCUS and not stats.ttest_rel(means[FOCUS], means[o]).pvalue < 0.05}
    said = line.partition("; ")[2].partition(" not distinguishable")[0].removesuffix(" is").removesuffix(" are")
    assert set(said.split(", ")) == close
    assert (means[FOCUS] <= means.drop(columns=[FOCUS, *close]).min(axis=1)).all()
