"""Where a suite says that a method stands: no first place without a test of noise, in the code and on the pages."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fsgym.comparison.noise import holm, paired_t, rank_test
from fsgym.datasets import CubeNM
from fsgym.evaluation.reference_policies import accuracies_within
from fsgym.methods import find_method
from fsgym_studies.suites import SUITES, find_suite
from fsgym_studies.suites.leaderboard import (
    METHODS_IN_WORDS,
    OF_MORE_ROWS,
    ONE_DIVISION,
    ahead_within_budget,
    beside_reported,
    best_by_other_scores,
    better_search,
    by_column,
    lowest_mean,
    published_figures,
    score_table,
    standing,
    standings_table,
    wins_of_focus,
    without_gain,
    without_place,
)
from fsgym_studies.suites.methods import BENCHMARK_METHODS
from fsgym_studies.suites.oracle import ORACLE_TITLE
from fsgym_studies.suites.scores import SCORES, Paired, mean_ranks, means_by_place, on_grid, paired_scores, spreads
from fsgym_studies.suites.suite import TableOf

PAGES = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
NOISE = np.random.default_rng(0).normal(0, 0.01, (10, 2))


def words(first, second, ranks=(1.0, 2.0), score="loss", focus="mine", test=paired_t):
    """The sentence on ``mine`` and ``other`` with these losses by realisation."""
    losses, ranks = pd.DataFrame({"mine": first, "other": second}), pd.Series(dict(zip(("mine", "other"), ranks)))
    return standing(ranks.sort_values(), focus, score, Paired(losses, test, f"t tests over {len(losses)} runs"))


def test_the_first_place_needs_a_lead_over_each_other_that_is_significant():
    ahead = words(NOISE[:, 0], NOISE[:, 1] + 0.1)
    assert ahead == (
        "mine is 1st of 2 methods by loss (mean rank 1.00), significantly ahead of every other (t tests over 10 runs); "
        "the next is other (2.00)."
    )
    level = words(NOISE[:, 0], NOISE[:, 1])
    assert level.startswith("mine has the best mean rank of 2 methods by loss (1.00); other does not differ sig")
    higher = words(NOISE[:, 0] + 0.1, NOISE[:, 1])  # the lower mean rank with the higher mean is no lead
    assert higher.endswith("(1.00); by the mean other is significantly better than it (t tests over 10 runs).")
    assert "1st" not in words([0.1, 0.1], [0.2, 0.2])
    assert words([0.1, 0.1], [0.2, 0.2]).endswith(
        "the next is other (2.00), but whether this is significant is not known, which takes 3 runs or the rows of one."
    )
    assert "1st" not in words(NOISE[:, 0], NOISE[:, 1] + 0.1, ranks=(1.5, 1.5))


def test_the_lead_of_the_first_over_another_is_tested_too():
    assert words(NOISE[:, 0] + 0.1, NOISE[:, 1], ranks=(2.0, 1.0)) == (
        "mine has the 2nd best mean rank of 2 methods by loss (2.00); it is significantly worse than the best, other "
        "(1.00; t tests over 10 runs)."
    )
    level = words(NOISE[:, 0], NOISE[:, 1], ranks=(2.0, 1.0))
    assert "it does not differ significantly from the best, other (1.00; t" in level
    lower = words(NOISE[:, 0] - 0.1, NOISE[:, 1], ranks=(2.0, 1.0))
    assert "by its mean it is significantly better than the best, other (1.00; t" in lower
    assert "but whether this is significant is not known" in words([0.2], [0.1], ranks=(2.0, 1.0))


def test_several_tests_against_the_first_are_corrected():
    """Each of three has p = .03 by itself, so .09 by Holm's procedure; a fourth one far behind does not help them."""
    scores = np.random.default_rng(1).normal(size=(30, 4))
    scores = (scores - scores.mean(axis=0)) / scores.std(axis=0, ddof=1)
    shift = stats.t.ppf(1 - 0.015, 29) / 30**0.5
    losses = pd.DataFrame(scores + shift, columns=["a", "b", "c", "far"]).assign(far=scores[:, 3] + 10, first=0.0)
    paired = Paired(losses, paired_t, "t tests, 95 % with Holm's correction")
    assert paired.differences("first")["difference_p"][["a", "b", "c"]].tolist() == pytest.approx([0.03] * 3)
    assert paired.differences("first")["verdict"][["a", "b", "c", "far"]].tolist() == ["higher"] * 4
    assert paired.verdicts("first")[["a", "b", "c", "far"]].tolist() == ["noise"] * 3 + ["higher"]
    assert Paired(losses[["a", "first"]], paired_t, "").verdicts("first")["a"] == "higher"  # one test alone
    ranks = pd.Series({"first": 1.0, "a": 2.0, "b": 3.0, "c": 4.0, "far": 5.0})
    assert "; a, b and c do not differ significantly from it (" in standing(ranks, "first", "loss", paired)
    assert "(3.00); it does not differ significantly from the best, first" in standing(ranks, "b", "loss", paired)
    rows = [("d", 0, name, "loss", "1", value, 0.1) for name, value in losses.mean().items()]
    table = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value", "error"])
    shown = standings_table(table, pd.DataFrame(), "loss", ranks, (), paired, dict.fromkeys(ranks.index, "1"))
    marks = shown.frame.set_index("method")["minus the first [95 %]"]
    assert marks[["a", "b", "c"]].str.endswith("] (not significant by Holm)").all()
    assert marks["far"].endswith("]")
    assert 'Those "not significant by Holm" are so after the correction only.' in shown.caption


def test_a_method_without_a_rank_or_a_rival_has_no_place():
    assert without_place({"third": ""}) == "third has no place: its scores are not complete."
    assert without_place({}) == ""
    alone = Paired(pd.DataFrame({"mine": [0.1]}), paired_t, "")
    two = pd.Series({"mine": 1.0, "other": 2.0})
    level = Paired(pd.DataFrame(NOISE, columns=two.index), paired_t, "t tests")
    assert standing(two, "mine", "loss", level, 3).startswith("mine has the best mean rank of 2 of 3 methods by loss")
    assert standing(pd.Series({"mine": 1.0}), "mine", "loss", alone) == "mine is the only method that has a rank."


def scores_with(n_sets, gains, score="loss"):
    """Scores and cells of two methods, the second worse by ``gains`` in each run; two rows tested, four trained."""
    rows = [
        (f"d{d}", run, m, score, at, 0.2 + float(gain) * (m == "other"), 0.01)
        for d in range(n_sets)
        for run, gain in enumerate(gains)
        for m in ("mine", "other")
        for at in ("1", "2")
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value", "error"])
    cells = scores[["dataset", "split", "method"]].drop_duplicates().assign(test_share=0.5)
    other = cells["method"].eq("other").to_numpy()
    cells["row_scores"] = [[0.2, 0.2 + 0.1 * bad, 0.2 + 0.1 * bad, 0.2 + 0.12 * bad] for bad in other]
    return scores, cells


def paired_of(n_sets, gains, runs_are, **options):
    return paired_scores(*scores_with(n_sets, gains, **options), options.get("score", "loss"), runs_are, METHODS)


METHODS = ("mine", "other")
GAINS = (0.02, 0.03, 0.04)


def test_realisations_are_independent_and_splits_of_the_same_rows_are_not():
    """The variance of splits is corrected for training rows in common (Nadeau and Bengio, 2003)."""
    half = stats.t.ppf(0.975, 2) * np.std(GAINS, ddof=1)
    found = {kind: paired_of(2, GAINS, kind) for kind in ("realisations", "splits")}
    for kind, extra in (("realisations", 0.0), ("splits", 0.5)):
        low = found[kind].differences("mine").loc["other", "difference_low"]
        assert low == pytest.approx(np.mean(GAINS) - half * np.sqrt(1 / 3 + extra))
    verdicts = {kind: paired.verdicts("mine")["other"] for kind, paired in found.items()}
    assert verdicts == {"realisations": "higher", "splits": "noise"}
    assert found["realisations"].words == "paired t tests over 3 realisations, 95 % with Holm's correction"
    assert "corrected for training rows in common" in found["splits"].words


def test_seeds_on_one_division_are_tested_over_its_rows():
    seeds = paired_of(1, GAINS, "seeds")
    assert seeds.words == "paired t tests over 4 test rows, of means over 3 seeds, 95 % with Holm's correction"
    difference = seeds.differences("mine").loc["other"]
    wanted = stats.ttest_rel([0.2, 0.3, 0.3, 0.32], [0.2] * 4).confidence_interval(0.95)
    assert (difference["difference_low"], difference["difference_high"]) == pytest.approx(tuple(wanted))
    assert paired_of(1, GAINS[:2], "splits").words.startswith("paired t tests over 4 test rows of the first run, 95 %")
    assert "first" not in paired_of(1, GAINS[:1], "splits").words


def test_rows_of_a_large_data_set_count_as_much_as_those_of_a_small_one():
    scores, cells = scores_with(2, [0.0])
    cells.loc[cells["dataset"] == "d0", "row_scores"] = pd.Series([[0.0] * 6, [0.3] * 6], cells.index[:2])
    paired = paired_scores(scores, cells, "loss", "splits", METHODS)
    assert len(paired.losses) == 10
    assert paired.losses.mean().tolist() == pytest.approx([0.1, (0.3 + 0.28) / 2])


def test_from_five_data_sets_on_mean_ranks_over_them_are_tested():
    paired = paired_of(5, GAINS, "splits")
    assert paired.words == "Nemenyi's test over 5 data sets, 95 %"
    assert paired.ranks.mean_ranks.to_dict() == {"mine": 1.0, "other": 2.0}
    assert paired.verdicts("mine")["other"] == "noise"  # Wilcoxon's test of five differences has p = .0625
    assert paired_of(6, GAINS, "splits").verdicts("mine")["other"] == "higher"
    assert paired_of(4, GAINS, "splits").ranks is None


def test_what_only_the_ranks_do_not_find_has_a_mark_of_its_own():
    """Of five data sets, on all of which ``other`` is worse, ranks separate nothing, and the interval excludes 0."""
    for gains, mark, apart in (
        (GAINS, "not significant by ranks", "[0.0300, 0.0300]"),
        ((0.0,), "not significant", "[0.0000, 0.0000]"),
    ):
        scores, cells = scores_with(5, gains)
        paired = paired_scores(scores, cells, "loss", "splits", METHODS)
        versions = dict.fromkeys(METHODS, "1")
        shown = standings_table(scores, cells, "loss", paired.ranks.mean_ranks, (), paired, versions)
        assert shown.frame.set_index("method").loc["other", "minus the first [95 %]"].endswith(f"{apart} ({mark})")
        assert "5 data sets, 95 %, does not separate the marked ones from it" in shown.caption
    sentence = standing(paired.ranks.mean_ranks, "mine", "loss", paired)
    assert sentence.endswith("other does not differ significantly from mine (Nemenyi's test over 5 data sets, 95 %).")


def test_more_may_be_better():
    paired = paired_of(1, (-0.02, -0.03, -0.031), "realisations", score="budget_accuracy")
    assert paired.verdicts("mine")["other"] == "higher"


def test_the_spread_is_over_runs_or_over_the_rows_of_one():
    several, n = spreads(scores_with(1, GAINS)[0], "loss", "")
    assert several.loc["other", ""] == pytest.approx(np.std(GAINS, ddof=1))
    assert n.loc["other", ""] == 3
    one = spreads(scores_with(1, GAINS[:1])[0], "loss", "")[0]
    assert one.loc["other", ""] == pytest.approx(0.01)  # two prices on the same rows
    two = spreads(scores_with(2, GAINS[:1])[0], "loss", "")[0]
    assert two.loc["other", ""] == pytest.approx(0.01)  # two data sets, which may be of the same rows


def test_views_of_the_same_rows_count_each_row_once():
    same, apart = (paired_of(2, GAINS[:1], runs_are) for runs_are in ("seeds", "splits"))
    assert (len(same.losses), len(apart.losses)) == (4, 8)
    assert same.losses.mean().to_dict() == pytest.approx(apart.losses.mean().to_dict())


def test_a_score_that_a_method_has_on_some_data_sets_only_has_its_reason_in_the_caption():
    rows = [
        ("d1", 0, "a", "complete", "", 3.0),
        ("d2", 0, "a", "complete", "", 4.0),
        ("d1", 0, "b", "complete", "", 5.0),
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value"]).assign(error=np.nan)
    declared = TableOf("complete", "dataset")
    shown = score_table(find_suite("cube"), declared, scores, {("b", "complete"): "it ends early"}, (), ())
    assert shown.frame.set_index("method").loc["b"].tolist() == ["5.000", "–", "–"]
    assert shown.caption.endswith("A column is a data set. – for b: it ends early.")


def test_a_stopped_method_is_neither_quick_nor_beaten():
    values = {"a": (0.2, 0.3), "b": (0.1,), "c": (0.3, 0.4)}  # b was stopped on d2, d on both
    rows = [
        (dataset, 0, method, "loss", "1", value, 0.1)
        for method, losses in values.items()
        for dataset, value in zip(("d1", "d2"), losses)
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value", "error"])
    cells = [(dataset, m, 9.0 if (dataset, m) != ("d2", "b") else np.nan) for dataset in ("d1", "d2") for m in "abc"]
    table, means = pd.DataFrame(cells, columns=["dataset", "method", "seconds"]), means_by_place(scores, "loss")
    ranks = mean_ranks(means, False, ())
    reasons = dict.fromkeys([("b", "loss"), ("d", "loss")], "stopped after 9 seconds")
    shown = standings_table(scores, table, "loss", ranks, (), None, dict.fromkeys("abcd", "1"), reasons)
    assert shown.frame.set_index("method")["CPU s"].to_dict() == {"a": "9.0", "c": "9.0", "b": "–", "d": "n/a"}
    assert " n/a for d: stopped after 9 seconds." in shown.caption
    wins = wins_of_focus(means, "a", SCORES["loss"], ranks.index)
    assert wins.frame["other method"].tolist() == ["c"]


# --- the pages ---

UNRANKED = ("Constant answer", "All features", ORACLE_TITLE, "reference", "greedy reference")


def page_of(name):
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def tables_of(page):
    """The tables of a page whose rows are methods, by the heading of their details; that on top has ""."""
    pattern = r"(?:<summary>([^\n]*)</summary>\n\n[^\n]*\n\n|\n)\| method ([^\n]*)\n[^\n]*\n((?:\|[^\n]*\n)+)"
    found = {}
    for heading, head, body in re.findall(pattern, page):
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body.splitlines()]
        columns = ["method", *(cell.strip() for cell in head.strip("| ").split(" | "))]
        found[heading] = pd.DataFrame(rows, columns=columns).map(lambda cell: cell.strip(" |")).set_index("method")
    return found


def test_every_suite_with_rows_has_a_page_to_which_the_list_of_suites_leads():
    assert {path.stem for path in PAGES.glob("*.md")} == set(SUITES)
    index = PAGES.with_suffix(".md").read_text(encoding="utf-8")
    assert all(f"[`{name}`](benchmarks/{name}.md)" in index and f"\nbenchmarks/{name}\n" in index for name in SUITES)


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_names_the_methods_of_the_suites_that_it_lacks(name):
    present = {title.partition(" (first of")[0] for title in tables_of(page_of(name))[""].index}
    lacking = {find_method(m).title for m in find_suite(name).methods or BENCHMARK_METHODS} - present
    said = re.search(r"^\* Not run: (.*)\. Name them in --methods to add them\.$", page_of(name), re.MULTILINE)
    assert lacking <= set(said[1].split(", ") if said else [])
    assert not present & set(said[1].split(", ") if said else [])


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_begins_with_the_first_and_whether_its_lead_is_significant(name):
    _, title, _, verdict, _, picture, *_ = page_of(name).splitlines()
    assert (title, picture.endswith(f"({name}_curve.png)")) == (f"# {find_suite(name).title}", True)
    first = verdict.removeprefix("These are the rows of a quick run, for a first look. ").partition(". ")[0]
    ranks = pd.to_numeric(tables_of(page_of(name))[""]["mean rank"], errors="coerce")
    assert first.startswith(ranks.idxmin())
    assert re.search("whether this is significant is not known|not differ significantly|significantly ahead", first)
    assert (" 1st of " in verdict) <= ("significantly ahead of every other" in verdict)
    assert not re.search("noise|distinguishable|separated from", page_of(name))
    assert (PAGES / f"{name}_curve.png").exists()


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_where_its_tests_are_about_one_division(name):
    page = page_of(name)
    assert (ONE_DIVISION in page) == bool(
        re.search(r"^.*(?:t tests|bootstrap) over [\d,]+ test rows", page, re.MULTILINE)
    )


def test_pages_say_whom_their_data_favour():
    """Generators of the form of a method, and rows that are test rows here and were seen in development."""
    for name in ("cube", "cube-nuc", "cube-nm"):
        assert "independent normals, the form that Mixture policy, and so Adaptive agent, fits." in page_of(name)
    for name in ("small", "turney", "spam"):
        assert "rows that are test rows here" in page_of(name).splitlines()[3]
    assert "whose test images are those of pixels and patches here" in page_of("mnist").splitlines()[3]


def test_the_list_of_suites_names_the_pages_whose_leader_may_be_noise():
    text = PAGES.with_suffix(".md").read_text(encoding="utf-8")
    listed = re.findall(r"It is not known for ([^:]*):", text)
    named = set(re.findall(r"`([^`]+)`", " ".join(listed)))
    assert named == {name for name in SUITES if "is not known" in page_of(name)}


@pytest.mark.parametrize("name", list(SUITES))
def test_the_top_of_a_page_says_once_what_is_not_known_and_what_the_data_were_used_for(name):
    verdict, ranks = page_of(name).splitlines()[3], tables_of(page_of(name))[""]["mean rank"]
    assert verdict.count("not known") + verdict.count("not tested") <= 1
    assert verdict.endswith(find_suite(name).development)
    assert page_of(name).count(find_suite(name).development) == 1
    leaders = ranks.index[pd.to_numeric(ranks, errors="coerce") == pd.to_numeric(ranks, errors="coerce").min()]
    first = f"{leaders[0]} is 1st of " in verdict
    assert first == ("significantly ahead of every other" in verdict)
    assert first or " and ".join(leaders) + (" have" if len(leaders) > 1 else " has") + " the best mean rank" in verdict
    assert "Learnt stopping" in ranks.index


def test_the_reference_of_cube_nm_acquires_the_context_first_as_its_page_says():
    """The context says nothing of the class, so that one acquisition leaves its accuracy at that of none."""
    cube = CubeNM()
    nothing, context, one_more = accuracies_within(cube, [0, 1, 2], n_samples=500)
    assert nothing == context < one_more
    data = cube.sample(50, 0)
    known = np.arange(cube.n_features) < cube.n_contexts
    np.testing.assert_allclose(cube.posterior(data.X, known), 1 / 8)
    for page in (page_of("cube-nm"), find_suite("cube-nm").protocol(False)):
        assert "it acquires the context first, by rule" in page
    assert "context first" not in find_suite("cube").protocol(False)


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_how_long_a_deep_agent_was_trained_and_which_defaults_rcpi_had(name):
    page = page_of(name)
    assert (re.search(r"^\| MaskablePPO", page, re.MULTILINE) is not None) == ("training steps at each price" in page)
    assert (re.search(r"^\| RCPI", page, re.MULTILINE) is not None) == (
        "* RCPI (datum-wise): the defaults of fsgym " in page
    )


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_names_published_figures_where_it_has_them_and_warns_of_them_beside_quick_ones(name):
    page = page_of(name)
    for heading, shown in tables_of(page).items():
        caption = page.partition(f"<summary>{heading}</summary>")[2].partition("\n| method")[0]
        assert not heading or (" as reported: " in caption) == shown.index.str.endswith("(as reported)").any()
    quick = page.splitlines()[3].startswith("These are the rows of a quick run")
    assert (OF_MORE_ROWS in page.splitlines()[3]) == bool(quick and find_suite(name).published)
    within = tables_of(page).get("Accuracy within a budget", pd.DataFrame())
    has_reported = any(str(row).endswith("(as reported)") for row in within.index)
    assert ("Dotted: as reported." in page) == (has_reported and not quick)


def figures_of(table):
    """The figures of the ranked methods of a table, without their ±; a column for each price of a data set."""
    figures = (
        table[table["mean rank"] != "–"].drop(columns="mean rank").map(lambda cell: float(cell.partition(" ± ")[0]))
    )
    return figures.set_axis(pd.MultiIndex.from_product([["set"], figures], names=["dataset", "at"]), axis=1)


@pytest.mark.parametrize("name", ["cube", "cube-nuc", "cube-nm", "spam", "syn"])
def test_wins_and_losses_of_a_page_are_those_by_which_it_ranks(name):
    """Where they can be counted from the table of losses: it has each price of each data set."""
    page, losses = page_of(name), figures_of(tables_of(page_of(name))["Loss"])
    expected = wins_of_focus(losses, "Adaptive agent", SCORES["loss"], losses.index)
    rows = re.findall(r"^\| ([^|]*) \| (\d+) \| (\d+) \| (\d+) \| \S+ \|$", page, re.MULTILINE)
    counts = expected.frame.set_index("other method")[["better", "equal", "worse"]]
    assert {method: [int(n) for n in row] for method, *row in rows} == dict(
        zip(counts.index, counts.to_numpy().tolist())
    )
    assert f"\n{expected.caption}\n" in page


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_on_top_whose_mean_is_the_best_where_the_first_by_rank_has_another(name):
    top, verdict = tables_of(page_of(name))[""], page_of(name).splitlines()[3]
    shown = top.loc[top["mean rank"].str.contains(r"\d")].iloc[:, 0].map(lambda cell: float(cell.partition(" ± ")[0]))
    is_lower = on_grid(shown.min()) < on_grid(shown.iloc[0])  # by more than is shown
    assert (f"{shown.idxmin()} has the lowest mean " in verdict) == is_lower


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_below_its_first_table_who_acquires_nothing_and_of_what_each_spread_is(name):
    tables = tables_of(page_of(name))
    caption = page_of(name).partition("Version: that of fsgym, with the commit of its code.")[2].partition("\n")[0]
    mean, used = (
        t.map(lambda cell: float(re.match(r"-?[\d.]+|", cell)[0] or "nan"))
        for t in (tables[""].iloc[:, :1], tables["Features used at each price"])
    )
    methods = [m for m in used.index if m not in UNRANKED or m == ORACLE_TITLE]
    at = {m: ", ".join(used.columns[used.loc[m] == 0]) for m in methods if (used.loc[m] == 0).any()}
    idle = [f"{', '.join(m for m in at if at[m] == columns)} at {columns}" for columns in dict.fromkeys(at.values())]
    assert (f"Nothing is acquired by {'; '.join(idle)}." in caption) == bool(idle)
    worse = [m for m in methods if mean.iloc[:, 0][m] >= mean.iloc[:, 0]["Constant answer"]]
    assert (f"No better mean than the constant answer: {', '.join(worse)}." in caption) == bool(worse)
    assert (f"The {ORACLE_TITLE} is on at most 200 test rows of a run." in caption) == (ORACLE_TITLE in mean.index)
    first = [m for m in mean.index if "(first of " in m]
    assert all(f"± of {m}: the standard error over the test rows of its run." in caption for m in first)


def test_who_acquires_nothing_and_who_is_no_better_than_the_constant_answer_is_said():
    used = {ORACLE_TITLE: (0.0, 0.0), "busy": (2.0, 1.0), "idle": (1.0, 0.001), "Constant answer": (0.0, 0.0)}
    loss = {ORACLE_TITLE: (0.1, 0.1), "busy": (0.1, 0.2), "idle": (0.3, 0.5001), "Constant answer": (0.4, 0.4)}
    rows = [
        ("d", 0, method, score, at, value)
        for score, figures in (("features", used), ("loss", loss))
        for method, values in figures.items()
        for at, value in zip(("0.01", "0.03"), values)
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value"])
    suite, means = find_suite("cube"), means_by_place(scores, "loss")
    assert without_gain(suite, scores, means, SCORES["loss"], ["Constant answer"]) == [
        "No better mean than the constant answer: idle.",
        "Nothing is acquired by idle at 0.03; AACO-like search at 0.01, 0.03.",
    ]
    assert without_gain(suite, scores, means, SCORES["loss"], ["Constant answer", "idle", ORACLE_TITLE]) == []


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_names_its_methods_as_the_command_does_and_says_how_many_rows_there_are(name):
    page, shown = page_of(name), tables_of(page_of(name))["Methods"]["name"].str.replace("\\", "")
    titles = {m.partition(" (first of")[0] for m in tables_of(page)[""].index if m not in UNRANKED}
    assert {title: find_method(key).title for title, key in shown.items()} == {title: title for title in titles}
    _, _, rows = page.partition("<summary>Rows of a run</summary>")
    n_sets = {"small": 14, "turney": 5, "syn": 3, "mnist": 2}.get(name, 1)
    assert len(re.findall(r"^\| \S.* \| [\d,]+ \| [\d,]+ \|$", rows.partition("</details>")[0], re.MULTILINE)) == n_sets
    assert METHODS_IN_WORDS.split("A score is n/a")[1] in page


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_has_the_protocol_and_the_remarks_of_its_suite(name):
    page, suite = page_of(name), find_suite(name)
    assert suite.protocol("These are the rows of a quick run" in page) in page
    assert all(f"\n* {note}\n" in page for note in suite.notes)


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_has_its_published_figures(name):
    """With their source and what is uncertain about them, as far as the page has their table."""
    page, suite = page_of(name), find_suite(name)
    if suite.published:
        for heading, shown in tables_of(page).items():
            reported = shown.index[shown.index.str.endswith("(as reported)")]
            score = next((key for key, one in SCORES.items() if one.title == heading), "")
            columns = [c for c in shown if c != "mean rank"]
            frame, sources = published_figures(suite, score, columns)
            assert [*frame.index] == [*reported], heading
            assert sources in page


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_counts_the_methods_and_names_those_without_complete_scores(name):
    ranks, verdict = tables_of(page_of(name))[""]["mean rank"], page_of(name).splitlines()[3]
    ranks = ranks[[m for m in ranks.index if m not in UNRANKED and "(first of" not in m]]
    lacking = ranks.index[~ranks.str.contains(r"\d")]
    among = f"{len(ranks) - len(lacking)} of {len(ranks)}" if len(lacking) else str(len(ranks))
    said = (f" has the best mean rank of {among} methods", f" is 1st of {among} methods")
    assert any(words in verdict.replace(" have the", " has the") for words in said)
    assert set(lacking) == {m for m in ranks.index if re.search(re.escape(m) + r"[^.]* ha(s|ve) no place:", verdict)}


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_on_top_what_is_better_than_its_first_without_a_rank(name):
    """The reference within a budget, by more than two standard deviations, and the search by its mean."""
    tables, verdict = tables_of(page_of(name)), page_of(name).splitlines()[3]
    mean, within = tables[""].iloc[:, 0], tables.get("Accuracy within a budget", pd.DataFrame())
    means = {m: float(mean[m].partition(" ± ")[0]) for m in (mean.index[0], ORACLE_TITLE) if m in mean.index}
    ahead = means.get(ORACLE_TITLE, np.inf) < means[mean.index[0]]
    assert (f"The {ORACLE_TITLE}, which has no rank, is better than {mean.index[0]} in " in verdict) == ahead
    reference = find_suite(name).reference_title
    leads = []
    if reference in within.index:
        assert f"that of the {reference} {mean[reference]}." in verdict
        for own, other in zip(within.loc[mean.index[0]][:-1], within.loc[reference][:-1]):
            value, spread = map(float, own.split(" ± "))
            leads.append(
                (float(other) - value, float(other) - value > 2 * spread, f"{other}, {mean.index[0]} of {value:.3f}.")
            )
    clear = [lead for lead in leads if lead[1]]
    assert ("Within a budget of " in verdict) == bool(clear)
    assert not clear or max(clear)[2] in verdict


def test_what_is_clearly_ahead_of_the_first_without_a_rank_is_said():
    suite = replace(find_suite("cube"), reference_title="greedy reference")
    rows = [
        ("d", run, method, "budget_accuracy", at, value, 0.01)
        for run, wobble in ((0, -0.01), (1, 0.01))
        for method, *values in (("first", 0.5 + wobble, 0.8 + wobble), ("greedy reference", 0.51, 0.86))
        for at, value in zip(("2", "4"), values)
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value", "error"])
    sentence = "Within a budget of 4 the greedy reference has an accuracy of 0.860, first of 0.800."
    assert ahead_within_budget(suite, scores, "first") == sentence
    assert ahead_within_budget(suite, scores[scores["at"] == "2"], "first") == ""
    means = pd.DataFrame({"1": [0.2, 0.1, 0.3], "2": [0.3, 0.3, 0.1]}, ["first", ORACLE_TITLE, "other"])
    assert better_search(means, "first", SCORES["loss"], True) == (
        "The AACO-like search, which has no rank, is better than first in 1 of 2 columns (mean 0.2000, on at most 50 "
        "test rows of a run where first has all; not tested)."
    )
    assert better_search(means, "other", SCORES["loss"], True) == ""


def test_the_best_mean_is_said_beside_the_best_mean_rank():
    at = pd.MultiIndex.from_product([["d"], ["1", "2", "3"]], names=["dataset", "at"])
    means = pd.DataFrame([[0.1, 0.2, 0.8], [0.2, 0.3, 0.31]], ["first", "other"], at)
    ranks = pd.Series({"first": 1.33, "other": 1.67})
    assert lowest_mean(means, ranks, SCORES["loss"]) == (
        "other has the lowest mean loss (0.2700, first 0.3667), and is better than first in 1 and worse in 2 of 3 "
        "columns, each a price on a data set."
    )
    assert lowest_mean(means, ranks, SCORES["price_accuracy"]) == ""


def test_mean_ranks_over_data_sets_are_said_to_be_so_in_a_table_by_price():
    for name, at in (("small", "price lam"), ("turney", "cost of an error in dollars")):
        said = f"A column is a {at}. The mean rank is over the data sets, not over these columns."
        assert page_of(name).count(said) == 1
    for n_sets, found in ((5, True), (4, False)):
        scores = scores_with(n_sets, GAINS)[0]
        shown = score_table(find_suite("small"), TableOf("loss", "at"), scores, {}, (), ())
        assert ("over the data sets, not over these columns" in shown.caption) == found


@pytest.mark.parametrize("name", list(SUITES))
def test_each_row_of_a_page_has_its_version(name):
    versions = tables_of(page_of(name))[""]["version"]
    assert len(versions) > 9
    assert all(re.fullmatch(r"0\.2\.0|\d+\.\d+\.\d+ \([0-9a-f]{7,}\+?\)", version) for version in versions)


@pytest.mark.parametrize("name", ["small", "turney"])
def test_whom_ranks_do_not_find_is_so_by_the_figures_of_the_page(name):
    """By the means by data set that it prints; close ranks may change places, as these means are rounded."""
    page, suite = page_of(name), find_suite(name)
    (line,) = re.findall(r"^.* has the best mean rank .*$", page, re.MULTILINE)
    table = tables_of(page)[f"{SCORES[suite.tables[0].score].title}, by data set"]
    figures = table[table["mean rank"] != "–"].drop(columns="mean rank")
    test = rank_test(figures.map(lambda cell: float(cell.partition(" ± ")[0])).T)
    close = next(clique for clique in test.cliques if test.mean_ranks.index[0] in clique)
    said = line.partition("; ")[2].partition(" do not differ significantly")[0]
    named = [line.partition(" has the best")[0], *re.split(", | and ", said)]
    assert sorted(named) == sorted(close)
    top = tables_of(page)[""]
    assert top.loc[named, "mean rank"].astype(float).is_monotonic_increasing
    assert f"The test separates mean ranks that are {test.difference:.2f} apart, of {len(top) - 4} at most." in page
    for method, text in top.loc[close[1:], r"minus the first \[95 %\]"].items():
        low, high = map(float, re.search(r"\[(\S+), (\S+)\\]", text).groups())
        assert text.endswith("(not significant)" if low <= 0 <= high else "(not significant by ranks)"), method
    assert (
        not top.loc[[m for m in figures.index if m not in close], r"minus the first \[95 %\]"].str.contains(r"\(").any()
    )


@pytest.mark.parametrize(("name", "n"), [("spam", 920), ("cube", 5), ("cube-nuc", 5), ("cube-nm", 5)])
def test_whom_a_corrected_test_does_not_find_is_so_by_the_intervals_of_the_page(name, n):
    page, top = page_of(name), tables_of(page_of(name))[""]
    shown = top.loc[top["mean rank"].str.contains(r"\d"), r"minus the first \[95 %\]"].iloc[1:]
    p_values, alone = {}, {}
    for method, text in shown.items():
        difference, low, high = map(float, re.match(r"(\S+) \\\[(\S+), (\S+)\\\]", text).groups())
        error = (high - low) / 2 / stats.t.ppf(0.975, n - 1)
        p_values[method], alone[method] = 2 * stats.t.sf(abs(difference) / error, n - 1), low <= 0 <= high
    found = holm(pd.Series(p_values))
    for method, text in shown.items():
        mark = "not significant" if alone[method] else "not significant by Holm" if found[method] >= 0.05 else ""
        assert text.endswith(f" ({mark})" if mark else "]"), method
    said = re.search(r"; (.*?) (?:does|do) not differ significantly from [^(]+ \((?=paired)", page.splitlines()[3])[1]
    assert re.split(", | and ", said) == [m for m in shown.index if found[m] >= 0.05]


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_by_which_other_scores_its_first_is_not_the_best(name):
    page, suite, tables = page_of(name), find_suite(name), tables_of(page_of(name))
    first, said = tables[""].index[0], page.splitlines()[3].partition("Others have the best mean rank by ")[2]
    leads = 0
    for score in {d.score for d in (*suite.tables, TableOf("auacc"))} - {suite.tables[0].score, "headroom"}:
        shown = tables.get(SCORES[score].title, pd.DataFrame(columns=["mean rank"]))
        ranks = pd.to_numeric(shown.get("mean rank", pd.Series()), errors="coerce").dropna()
        if first in ranks and ranks.min() < ranks[first]:
            leads += 1
            place = int((ranks < ranks[first]).sum()) + 1
            assert f" {ranks.index[0]} ({ranks.min():.2f}; {first} {ranks[first]:.2f}, {place}" in said
    assert (leads > 0) == bool(said)


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_where_everything_or_nothing_is_better_than_its_methods(name):
    page, suite = page_of(name), find_suite(name)
    declared = next(d for d in suite.tables if d.score == suite.tables[0].score and d.columns != "dataset")
    title = SCORES[declared.score].title
    tables = tables_of(page)
    shown = tables.get(title, tables.get(f"{title}, by {suite.price_in_words}")).drop(columns="mean rank")
    figures = shown.map(lambda cell: float(re.match(r"-?[\d.]+|", cell)[0] or "nan"))
    figures.columns = pd.MultiIndex.from_product([[""], figures.columns], names=["dataset", "at"])
    ranked = list(tables[""].index[tables[""]["mean rank"].str.contains(r"\d")])
    caption = page.partition("with the commit of its code.")[2].partition("\n")[0]
    said = by_column(suite, figures, SCORES[declared.score], ranked)
    assert " ".join(said) in caption
    assert ("All features has a better mean" in caption) + ("A worse mean than" in caption) == len(said)


def test_where_everything_or_nothing_is_better_is_counted_by_column():
    at = pd.MultiIndex.from_product([["d"], ["1", "2"]], names=["dataset", "at"])
    rows = {"a": (0.2, 0.4), "b": (0.3, 0.5), "Constant answer": (0.5, 0.45), "All features": (0.25, 0.3)}
    means = pd.DataFrame.from_dict(rows, orient="index", columns=at)
    assert by_column(find_suite("cube"), means, SCORES["loss"], ["a", "b"]) == [
        "Of 2 methods All features has a better mean than 1 at 1; than 2 at 2.",
        "A worse mean than the constant answer: b at 2.",
    ]
    assert by_column(find_suite("cube"), means.loc[["a", "b"]], SCORES["loss"], ["a", "b"]) == []


def test_the_best_by_another_score_is_said():
    rows = [
        ("d", 0, method, score, "2", value)
        for method, loss, accuracy in (("first", 0.1, 0.8), ("other", 0.2, 0.9))
        for score, value in (("loss", loss), ("budget_accuracy", accuracy), ("auacc", accuracy))
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value"])
    assert best_by_other_scores(find_suite("cube"), scores, "first", ()) == (
        "Others have the best mean rank by other scores (not tested): by accuracy within a budget other (1.00; first "
        "2.00, 2nd of 2); by AUACC other (1.00; first 2.00, 2nd of 2)."
    )
    assert best_by_other_scores(find_suite("cube"), scores, "other", ()) == ""


def test_reported_figures_are_held_against_the_same_method_and_all_methods():
    accuracies = {"GDFS": (0.80, 0.8228, 0.81), "other": (0.75, 0.85, 0.84)}  # reported of GDFS: .7848 .8228 .8576
    accuracies["All features"] = (0.99, 0.99, 0.99)  # no method
    rows = [
        ("Spambase", 0, method, "budget_accuracy", at, value)
        for method, values in accuracies.items()
        for at, value in zip("123", values)
    ]
    scores = pd.DataFrame(rows, columns=["dataset", "split", "method", "score", "at", "value"])
    assert beside_reported(find_suite("spam"), scores, quick=False, aside=("All features", "reference")) == (
        "GDFS as reported is better than GDFS of this package in 1 of 3 columns by accuracy within a budget, and than "
        "all methods here in 1."
    )
    alike = pd.concat(
        [scores[scores["method"] == "GDFS"].assign(method=name) for name in ("GDFS", "DIME", "reference")]
    )
    complete = alike.assign(dataset="syn1", score="complete", at="", value=5.0).drop_duplicates("method")
    complete.loc[complete["method"] == "reference", "value"] = 4.0  # which is no method
    assert beside_reported(find_suite("syn"), complete, quick=False, aside=("All features", "reference")) == (
        "DIME and GDFS as reported are better than DIME and GDFS of this package in 1 of 1 columns by features until "
        "the relevant ones are complete, and than all methods here in 1. As reported, also better than all methods "
        "here by features until the relevant ones are complete: SEFA in 1 of 1 columns, Opportunistic RL in 1 of 1 "
        "columns."
    )
    assert beside_reported(find_suite("spam"), scores, quick=True, aside=()) == ""
    assert beside_reported(find_suite("small"), scores, quick=False, aside=("All features", "reference")) == ""


@pytest.mark.parametrize("name", list(SUITES))
def test_a_page_says_where_a_ranked_deep_agent_is_how_long_it_was_trained(name):
    page, ranks = page_of(name), tables_of(page_of(name))[""]["mean rank"]
    caption = page.partition("with the commit of its code.")[2].partition("\n")[0]
    ranked = "MaskablePPO" in ranks.index and ranks["MaskablePPO"][0].isdigit()
    assert bool(re.search(r"MaskablePPO: [\d,]+ training steps at each price\.", caption)) == ranked


def test_the_guide_to_the_choice_has_the_losses_of_the_pages_of_suites():
    """The first cell of its table links to the page, or is empty, as that of the line above."""
    guide, page = (PAGES.parent / "guide" / "choose_a_method.md").read_text(encoding="utf-8"), ""
    rows = re.findall(
        r"^\| (?:\[[^\]]*\]\(../benchmarks/([a-z-]+)\.md\))? *\| `(\w+)` \| (.*) \|$", guide, re.MULTILINE
    )
    assert len(rows) == 4
    for name, method, figures in rows:
        page = name or page
        shown = tables_of(page_of(page))["Loss"].loc[find_method(method).title].drop("mean rank")
        losses = [float(cell.partition(" ± ")[0]) for cell in shown]
        assert [float(figure) for figure in figures.split(" | ")] == pytest.approx(losses, rel=0, abs=5.01e-4)
    shares = tables_of(page_of("turney"))["Cost as a share of the standard cost, by data set"]["hepatitis"]
    for method in ("panel", "adaptive", "lattice"):
        assert f"`{method}` {shares[find_method(method).title].partition(' ± ')[0]}" in guide
