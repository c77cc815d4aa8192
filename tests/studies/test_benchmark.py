"""``fsgym benchmark``: a tiny suite with an exact optimum from start to end, and what the registered suites declare."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import support.tiny_suite.suite as tiny
from agents import DatumWiseClassifier
from fsgym import Dataset, Rules, __version__, cli
from fsgym.cli.compare import load_own_methods
from fsgym.comparison.splits import Split
from fsgym.datasets import CubeNM, Syn
from fsgym.exact import optimum
from fsgym.methods import find_method
from fsgym.runner import run_tasks
from fsgym_studies import suites
from fsgym_studies.common.plan import cells_table
from fsgym_studies.suites import cell as suite_cells
from fsgym_studies.suites import scores as scoring
from fsgym_studies.suites.command import study_of
from fsgym_studies.suites.leaderboard import conclusion_of, score_table
from fsgym_studies.suites.methods import BENCHMARK_METHODS, SLOW_METHODS, SuiteMethods, chosen_methods, has_prices
from fsgym_studies.suites.oracle import ORACLE_TITLE
from fsgym_studies.suites.scores import SCORES, mean_ranks, version_of_rows
from fsgym_studies.suites.suite import RowSplit, TableOf
from fsgym_studies.suites.syn.suite import syn_problems
from fsgym_studies.suites.turney.suite import price_options
from support.pages import read
from support.problems import needs_folder

MINE = "support.tiny_suite.policies:train"
NAME = MINE
POINTS = ("Constant answer", "All features")
ARGUMENTS = ("tiny", "--quick", "--methods", "rcpi,cart", "--mine", MINE, "--jobs", "1")


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(suites.SUITES, "tiny", "support.tiny_suite.suite:TINY_SUITE")


def call(capsys, *arguments):
    """Exit code, stdout and stderr of ``fsgym benchmark``."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["benchmark", *map(str, arguments)])
    output = capsys.readouterr()
    return stop.value.code, " ".join(output.out.split()), output.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the tiny suite, run once, with a document."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(suites.SUITES, "tiny", "support.tiny_suite.suite:TINY_SUITE")
        with pytest.raises(SystemExit) as stop:
            cli.main(["benchmark", *ARGUMENTS, "--out", str(folder), "--doc", str(folder / "doc.md")])
    assert stop.value.code == 0
    return folder


def table(folder, stem):
    """A table of the folder without the ± of its figures."""
    shown = pd.read_csv(folder / f"{stem}.csv", index_col=0, dtype=str, keep_default_na=False)
    return shown.map(lambda cell: cell.partition(" ± ")[0])


def cells_of(folder):
    """The cells of the tiny suite, from the store of the folder."""
    plan = study_of(tiny.TINY_SUITE, chosen_methods(("rcpi", "cart"), load_own_methods([MINE])), "").cells(False, None)
    return cells_table(plan, run_tasks(plan, folder / "results.sqlite", progress=False))


@pytest.mark.slow
def test_headroom_is_the_loss_above_the_exact_optimum(folder):
    room, best = table(folder, "headroom_by_at"), [optimum(tiny.JOINT, Rules(2, 2, lam=p)) for p in tiny.PRICES]
    mine = [0.2 + price for price in tiny.PRICES]  # one bit, which equals the class in 80 % of the rows
    np.testing.assert_allclose(room.loc[NAME, ["0.05", "0.6"]].astype(float), np.subtract(mine, best), atol=5e-5)
    constant = room.loc["Constant answer", ["0.05", "0.6"]].astype(float)
    np.testing.assert_allclose(constant, np.subtract(0.5, best), atol=5e-5)
    assert (room[["0.05", "0.6"]].astype(float) >= 0).all(axis=None)
    np.testing.assert_allclose(table(folder, "loss_by_at").loc["reference", ["0.05", "0.6"]].astype(float), best)


@pytest.mark.slow
def test_published_figures_stand_beside_ours_with_their_source(folder):
    row = table(folder, "loss_by_at").loc["PAPER (as reported)"]
    assert row.tolist() == ["0.2500", "–", "–"]
    text = (folder / "doc.md").read_text()
    assert "PAPER as reported: Nobody (2026), Table 1; uncertain: everything." in text
    assert "PAPER" not in table(folder, "budget_accuracy_by_at").index


@pytest.mark.slow
def test_a_quick_report_warns_of_published_figures_and_names_none_that_it_lacks(folder):
    """Those of the tiny suite are of its loss at 0.05."""
    warning = "Figures as reported are of more rows than those of a quick run: do not compare the two."
    conclusions = {
        quick: conclusion_of(tiny.TINY_SUITE, SuiteMethods(("rcpi", "cart"), {}, {}), cells_of(folder), quick=quick)
        for quick in (True, False)
    }
    assert {quick: warning in conclusion.verdict for quick, conclusion in conclusions.items()} == {
        True: True,
        False: False,
    }
    captions = {t.stem: t.caption for t in conclusions[True].tables}
    assert [stem for stem, caption in captions.items() if "as reported" in caption] == ["loss_by_at"]
    shown = score_table(tiny.TINY_SUITE, TableOf("loss", "dataset"), scoring.scores_of(cells_of(folder)), {}, (), ())
    assert "as reported" not in shown.caption


def test_a_score_that_does_not_fit_a_method_is_not_available_with_the_reason(folder):
    accuracies = table(folder, "budget_accuracy_by_at")
    assert accuracies.loc["CART"].tolist() == ["n/a", "n/a", "–"]
    text = (folder / "doc.md").read_text()
    assert "n/a for CART, Constant answer, All features: no order of acquisitions beyond its own stop." in text
    assert f"n/a for {NAME}: takes no further acquisition where its answer is masked." in text
    assert [float(v) for v in accuracies.iloc[0, :2]] == [0.8, 0.8]  # rcpi: the second bit never changes the answer


def test_the_command_says_where_my_method_stands(capsys, folder, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    code, output, _ = call(capsys, *ARGUMENTS, "--out", again)
    ranks = table(folder, "loss_by_at")["mean rank"]
    assert code == 0
    assert f"{len(cells_of(folder))} cells, " in output
    assert f"({len(cells_of(folder))} of an earlier run)" in output
    assert f"{NAME} has the " in output
    assert "Quick: fewer rows and splits" in output
    assert output.rstrip().endswith("the report says how many.")
    assert f"of 3 methods by loss ({float(ranks[NAME]):.2f})" in output
    assert f"Wins and losses of {NAME}" in (folder / "doc.md").read_text()


@pytest.mark.slow
def test_each_own_method_has_its_place_and_its_illegal_actions_are_said(capsys, tmp_path):
    mine = ("--mine", f"first={MINE}", "--mine", "stuck=support.tiny_suite.policies:repeat")
    code, output, _ = call(capsys, "tiny", "--quick", "--methods", "cart", *mine, "--jobs", 1, "--out", tmp_path)
    assert code == 0
    assert "first has the 2nd best mean rank of 3 methods by loss" in output
    assert "stuck has the 3rd best mean rank of 3 methods by loss" in output
    assert "stuck: up to 100.00% of the test rows end with an illegal action, the costliest answer." in output
    assert "first: " not in output
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert set(scores.loc[scores["score"] == "illegal", "method"]) == {"stuck"}


def test_finished_cells_are_not_run_again(capsys, folder, tmp_path, monkeypatch):
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    monkeypatch.setattr(suite_cells, "run_method", lambda **_: pytest.fail("a finished cell ran again"))
    monkeypatch.setattr(tiny, "exact_reference", lambda **_: pytest.fail("a finished cell ran again"))
    code, _, error = call(capsys, *ARGUMENTS, "--out", again)
    assert (code, error) == (0, "tiny: 7 of 7 are of an earlier run\n")
    for name in ("cells.csv", "loss_by_at.csv", "seconds.csv", "results.sqlite"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.slow
def test_an_interrupted_quick_benchmark_does_not_speak_of_its_report(capsys, monkeypatch, folder, tmp_path):
    def interrupted(**arguments):
        raise KeyboardInterrupt

    shutil.copytree(folder, tmp_path / "False")  # all of its cells are there
    for stop in (False, True):
        with monkeypatch.context() as patch:
            if stop:
                patch.setattr(suite_cells, "run_method", interrupted)
            code, output, error = call(capsys, *ARGUMENTS, "--out", tmp_path / str(stop))
        assert (code, "the report says how many" in output) == ((130, False) if stop else (0, True))
        assert ("run the same command to resume" in error) == stop


def test_the_report_says_that_it_was_quick_and_has_no_claims(folder):
    _, text = read(folder / "report.html")
    assert "fsgym benchmark: tiny" in (folder / "report.html").read_text()
    assert "Quick: one run." in text
    assert "claim" not in text.partition("@media print")[2].lower()
    assert not (folder / "claims.csv").exists()
    section = (folder / "doc.md").read_text()
    assert section.startswith("<!-- tiny: begin, written by fsgym benchmark -->")
    assert f"Command: `fsgym benchmark tiny --quick --methods rcpi,cart --mine {MINE}`" in section
    assert "It was not used for anything else." in section
    reading = find_method("rcpi").reading.replace("this library", f"fsgym {version_of_rows()}")
    assert f"* RCPI (datum-wise): {reading}." in section
    assert "RCPI as printed" not in section
    assert "Versions: python" in section


def test_the_plan_has_every_method_on_every_run_after_the_reference():
    study = study_of(tiny.TINY_SUITE, SuiteMethods(("cart",), {}, {}), "")
    rows = {quick: [dict(c.labels) for c in study.cells(not quick, None)] for quick in (True, False)}
    assert [r["method"] for r in rows[True]] == ["reference", ORACLE_TITLE, "CART", "Constant answer", "All features"]
    assert len(rows[False]) == 1 + 2 * 4
    assert {r["split"] for r in rows[False]} == {"", 0, 1}
    keys = [c.key for c in study.cells(True, None)]
    assert len(set(keys)) == len(keys)
    assert keys == [c.key for c in study.cells(True, None)]


@pytest.mark.slow
def test_fewer_runs_and_methods_are_named_in_the_report(capsys, folder, tmp_path):
    study = study_of(tiny.TINY_SUITE, SuiteMethods(("cart",), {}, {}), "", n_runs=1)
    assert {dict(c.labels)["split"] for c in study.cells(True, None)} == {"", 0}
    code, _, _ = call(
        capsys, "tiny", "--runs", 1, "--methods", "cart", "--jobs", 1, "--out", tmp_path, "--doc", tmp_path / "doc.md"
    )
    section = (tmp_path / "doc.md").read_text()
    assert code == 0
    assert "Two runs. Cut by --runs 1 to the first run of each data set." in section
    assert "Command: `fsgym benchmark tiny --runs 1 --methods cart`" in section
    omitted = [find_method(name).title for name in (*BENCHMARK_METHODS, *SLOW_METHODS) if name != "cart"]
    assert f"Not run: {', '.join(omitted)}. Name them in --methods to add them." in section
    assert "Not run: Adaptive" in (folder / "doc.md").read_text()


@pytest.mark.slow
def test_a_slow_method_can_be_run_on_the_first_run_only(capsys, tmp_path):
    code, _, _ = call(
        capsys,
        "tiny",
        "--methods",
        "cart",
        "--first-run",
        "rcpi",
        "--jobs",
        1,
        "--out",
        tmp_path,
        "--doc",
        tmp_path / "d.md",
    )
    losses, label = table(tmp_path, "loss_by_at"), "RCPI (datum-wise) (first of 2 runs)"
    assert code == 0
    assert losses.index.tolist()[:6] == ["CART", label, *POINTS, ORACLE_TITLE, "reference"]
    assert losses.loc[label, "mean rank"] == "–"
    assert losses.loc[label, "0.05"] == "0.2500"  # the price of one bit, which equals the class in 80 % of the rows
    section = (tmp_path / "d.md").read_text()
    assert f"{label} is not ranked: its figures are of one run of each data set" in section
    assert "CART is the only method that has a rank." in section
    assert "Wins and losses" not in section  # there is no other method of all runs
    assert "Command: `fsgym benchmark tiny --methods cart --first-run rcpi`" in section
    assert "RCPI" not in section.partition("Not run: ")[2].partition(" Name them")[0]


def test_methods_of_the_first_run_change_no_other_cell():
    alone, beside = (
        study_of(tiny.TINY_SUITE, SuiteMethods(("cart",), {}, {}, first), "").cells(True, None)
        for first in ((), ("rcpi",))
    )
    added = [dict(c.labels) for c in beside if c.key not in {c.key for c in alone}]
    assert {c.key for c in alone} <= {c.key for c in beside}
    assert [(row["split"], row["method"]) for row in added] == [(0, "RCPI (datum-wise)")]


@pytest.mark.slow
def test_a_method_of_the_first_run_is_ranked_where_there_is_one_run(capsys, tmp_path):
    arguments = ("tiny", "--quick", "--methods", "cart", "--first-run", "rcpi", "--jobs", 1, "--out", tmp_path)
    assert call(capsys, *arguments)[0] == 0
    assert float(table(tmp_path, "loss_by_at").loc["RCPI (datum-wise)", "mean rank"]) >= 1
    with pytest.raises(ValueError, match="got 'cart' twice"):
        chosen_methods(None, {}, ("cart",))


def test_all_scores_are_in_one_table(capsys, tmp_path):
    arguments = ("tiny", "--methods", "cart", "--jobs", 1, "--out", tmp_path)
    assert call(capsys, *arguments)[0] == 0
    scores = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False, dtype={"column": str})
    assert list(scores) == [
        "suite",
        "dataset",
        "run",
        "method",
        "score",
        "column",
        "value",
        "error",
        "ranked",
        "version",
    ]
    places = ["dataset", "method", "score", "column"]
    runs = scores[scores["run"] != "mean"].groupby(places)["value"].agg(["mean", "size"])
    means = scores[scores["run"] == "mean"].set_index(places)["value"]
    assert set(runs["size"]) == {2}
    np.testing.assert_allclose(runs["mean"], means.loc[runs.index])
    assert set(scores.loc[scores["method"] == "reference", "run"]) == {"mean"}
    assert set(scores.loc[~scores["ranked"], "method"]) == {ORACLE_TITLE, "reference", *POINTS}
    shown = table(tmp_path, "loss_by_at").loc["CART", "0.05"]
    assert f"{means.loc['bits', 'CART', 'loss', '0.05']:.4f}" == shown


def test_the_oracle_has_a_line_and_no_rank(folder):
    losses = table(folder, "loss_by_at")
    assert losses.index[-3:].tolist() == [ORACLE_TITLE, "reference", "PAPER (as reported)"]
    assert set(losses.loc[[ORACLE_TITLE, "reference", *POINTS], "mean rank"]) == {"–"}
    assert set(table(folder, "wins").index) == {"RCPI (datum-wise)", "CART"}
    section = (folder / "doc.md").read_text()
    assert "It needs the training rows at every step, as a nearest-neighbour method does" in section
    assert "* The reference knows the distribution of the data; it is not ranked." in section


def test_a_reference_that_is_no_optimum_is_called_greedy(folder):
    cells = cells_of(folder)
    greedy = replace(tiny.TINY_SUITE, reference_title="greedy reference", reference_note="looks one step ahead")
    conclusion = conclusion_of(greedy, SuiteMethods(("rcpi", "cart"), {}, {}), cells, quick=True)
    losses = conclusion.tables[1].frame.set_index("method")
    assert losses.loc["greedy reference", "mean rank"] == "–"
    assert "reference" not in losses.index
    assert "The greedy reference looks one step ahead; it is not ranked." in conclusion.notes
    assert "Headroom" in [t.heading for t in conclusion.tables]


@pytest.mark.slow
def test_a_table_without_the_score_of_any_method_is_left_out(folder):
    cells = cells_of(folder)
    few = cells[cells["method"].isin(["CART", *POINTS, ORACLE_TITLE, "reference"])]
    conclusion = conclusion_of(tiny.TINY_SUITE, SuiteMethods(("cart",), {}, {}), few, quick=True)
    assert "Accuracy within a budget" not in [t.heading for t in conclusion.tables]
    reason = "no order of acquisitions beyond its own stop"
    assert f"Accuracy within a budget: n/a for all methods (one of them: {reason})." in conclusion.notes
    all_of_them = conclusion_of(tiny.TINY_SUITE, SuiteMethods(("rcpi", "cart"), {}, {}), cells, quick=True)
    assert "Accuracy within a budget" in [t.heading for t in all_of_them.tables]


def test_mistakes_are_one_sentence(capsys, tmp_path):
    for arguments, message in (
        (["tinny"], "unknown suite 'tinny'; did you mean 'tiny'?"),
        (["tiny", "--methods", "kart"], "unknown method 'kart'; did you mean 'cart'?"),
        (["tiny", "--methods", "cart,cart"], "each method needs a name of its own, got 'cart' twice"),
        (["tiny", "--mine", "nowhere:train"], "there is no module 'nowhere'"),
        (["turney", "--data-dir", tmp_path], "which are not there"),
    ):
        code, _, error = call(capsys, *arguments, "--out", tmp_path / "out")
        assert code == 2, arguments
        assert message in error
        assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_list_has_every_suite(capsys):
    code, output, error = call(capsys)
    assert (code, error) == (0, "")
    assert all(f"{name} {suites.find_suite(name).title}" in output for name in suites.SUITES)


@pytest.mark.parametrize("name", suites.SUITES)
def test_suites_are_declared_completely(name):
    suite = suites.find_suite(name)
    assert suite.name == name
    assert "quick" in suite.protocol(True).lower()
    assert "quick" not in suite.protocol(False).lower()
    assert all(declared.score in SCORES for declared in suite.tables)


def test_methods_without_their_extra_are_left_out_by_default_only(monkeypatch):
    def require(extra, user):
        raise ImportError(f"{user} needs the extra {extra}")

    monkeypatch.setattr("fsgym_studies.suites.methods.require", require)
    methods = chosen_methods(None, {})
    assert set(methods.names) == set(BENCHMARK_METHODS) - {"cegb", "gdfs", "dime"}
    assert methods.unavailable["GDFS"] == "GDFS needs the extra deep"
    with pytest.raises(ImportError, match="needs the extra deep"):
        chosen_methods(("cart", "gdfs"), {})


def test_an_estimator_with_a_price_is_fitted_at_each_price():
    data = tiny.problems(True, None, ())[0].runs[0][0]
    own = {"mine": DatumWiseClassifier(lam=3.0), "other": [DatumWiseClassifier(lam=0.1), DatumWiseClassifier(lam=0.2)]}
    by_name = {m.name: m for m in SuiteMethods(("cart",), own, {}).settings(data, tiny.PRICES, {})}
    assert [c.lam for c in by_name["mine"].candidates] == list(tiny.PRICES)
    assert [has_prices(by_name[name], tiny.PRICES) for name in ("mine", "other", "cart")] == [True, False, False]


def test_acquisitions_until_the_relevant_features_are_complete():
    generator = Syn(1)
    X = generator.sample(200, 0).X
    relevant = generator.relevant(X)
    first = np.argsort(~relevant, axis=1, kind="stable").astype(np.int32)
    np.testing.assert_array_equal(suite_cells.acquisitions_until(first, relevant), relevant.sum(axis=1))
    last = first[:, ::-1]
    assert (suite_cells.acquisitions_until(last, relevant) == 11).all()
    with pytest.raises(ValueError, match="continue after the stop"):
        suite_cells.acquisitions_until(np.where(np.arange(11) < 2, first, -1), relevant)


def test_budgets_count_prices_and_groups_in_the_order_of_the_user():
    """Columns of CUBE-NM are not in alphabetical order, in which an agent is trained."""
    data, split, budgets = CubeNM(2).sample(100, 0), Split(0, 0.8), (1.0, 21.0)
    measurement = suite_cells.Measurement((0.01,), ("0.01",), budgets, {}, (), "")
    result = suite_cells.run_method(
        dataset=data,
        split=split,
        candidates=[DatumWiseClassifier(lam=0.01)],
        by_price=True,
        measurement=measurement,
        seed=0,
    )
    scores = {(s["score"], s["at"]): s["value"] for s in result["scores"]}
    train, _, _, test = split.parts(data)
    model = DatumWiseClassifier(lam=0.01, random_state=0).fit(train)
    done = model.trajectories(test.replace(y=test.y), continue_after_stop=True)
    assert scores["budget_accuracy", "21"] == pytest.approx((done.answers == test.y).mean())
    assert scores["budget_accuracy", "1"] < 0.5  # of eight classes, after the context or one feature
    assert result["reasons"]["mean_auroc"] == "no class probabilities"


def test_rows_are_split_by_position_or_in_a_drawn_order():
    data = Dataset(np.arange(10.0)[:, None], [0, 1] * 5)
    train, fit, validation, test = RowSplit(5, 2).parts(data)
    assert [part.X.ravel().tolist() for part in (fit, validation, test)] == [[0, 1, 2, 3, 4], [5, 6], [7, 8, 9]]
    assert train.n_samples == 7
    order = np.random.default_rng(0).permutation(10)
    np.testing.assert_array_equal(RowSplit(5, 2, 0).parts(data).test.X.ravel(), order[7:])
    _, fit, validation, test = RowSplit(5, 2, 0, test_first=True).parts(data)
    parts = [part.X.ravel().tolist() for part in (test, validation, fit)]
    assert parts == [order[:3].tolist(), order[3:5].tolist(), order[5:].tolist()]


@needs_folder
def test_the_rows_of_spam_are_divided_as_in_the_code_of_gdfs():
    """It shuffles the numbers of the rows, and takes the first fifth for test and the next for validation.

    Its file has the rows in another order than ours, so that the numbers are those of other rows.
    """
    (problem,) = suites.find_suite("spam").problems(False, None, ())
    ((data, split), *_) = problem.runs
    rows = np.arange(data.n_samples)
    np.random.default_rng(0).shuffle(rows)
    n = int(0.2 * data.n_samples)
    _, fit, validation, test = split.parts(data)
    for part, wanted in ((test, rows[:n]), (validation, rows[n : 2 * n]), (fit, rows[2 * n :])):
        np.testing.assert_array_equal(part.X, data.X[wanted])


def test_syn_uses_the_published_parts():
    (problem, *_) = syn_problems(True, None, ())
    (data, split) = problem.runs[0]
    published = Syn(1).published()
    np.testing.assert_array_equal(split.parts(data).fit.X, published.X[: split.n_fit])
    np.testing.assert_array_equal(split.parts(data).validation.X, published.X[60_000 : 60_000 + split.n_validation])
    np.testing.assert_array_equal(split.parts(data).test.X[0], published.X[70_000])


def test_the_first_test_of_a_group_pays_the_shared_part(tmp_path):
    entry = {"costs": {"age": 1, "gluc": 17.61, "insu": 22.78}, "shared_discount_groups": {"A": ["gluc", "insu"]}}
    data = Dataset(np.zeros((4, 3)), [0, 1, 0, 1], feature_names=["age", "gluc", "insu"])
    for reduced in ({}, {"cost_when_blood_already_taken": {"gluc": 15.51, "insu": 20.68}}):
        (tmp_path / "costs.json").write_text(json.dumps({"sugar": entry | reduced}))
        rules = Rules.for_dataset(data, **price_options("sugar", data, tmp_path))
        sets = np.array([[True, False, False], [False, True, False], [False, False, True], [True, True, True]])
        np.testing.assert_allclose(rules.price_sets(sets)[0], [1, 17.61, 22.78, 1 + 17.61 + 20.68])


def test_ranks_share_what_is_not_shown_as_different():
    means = pd.DataFrame({"a": [0.1, 0.1001, 0.3, np.nan], "b": [0.2, 0.3, 0.1, 0.1]}, index=["x", "y", "z", "w"])
    assert mean_ranks(means, False).to_dict() == {"x": 1.75, "z": 2.0, "y": 2.25}
    assert mean_ranks(means, True).idxmin() == "y"


def test_a_report_has_the_numbers_of_rows_and_the_names_of_the_methods(folder):
    assert (folder / "rows.csv").read_text() == "data set,training and validation,test\nbits,100,50\n"
    names = pd.read_csv(folder / "methods.csv", index_col=0)["name"]
    assert names.to_dict() == {"RCPI (datum-wise)": "rcpi", "CART": "cart"}


def test_auacc_is_the_mean_accuracy_of_forced_answers(folder):
    assert float(table(folder, "auacc_by_dataset").loc["RCPI (datum-wise)", "bits"]) == 0.8
    assert table(folder, "standings").loc["CART", "AUACC"] == "–"


def test_the_budgets_of_auacc_fit_the_prices():
    data = Dataset(np.zeros((4, 30)), [0, 1, 0, 1])

    def steps(budgets=(), data=data, **rules):
        return suite_cells.Measurement((0.1,), ("0.1",), budgets, rules, (), "").steps(data)

    assert steps((2.0, 25.0)) == tuple(range(1, 26))
    assert steps() == pytest.approx(np.arange(1.5, 31, 1.5))
    assert steps(data=Dataset(np.zeros((4, 3)), [0, 1, 0, 1])) == (1.0, 2.0, 3.0)
    assert steps((10.0,), costs=[1.0] * 29 + [2.0]) == pytest.approx(np.arange(1, 10.5, 0.5))


def test_the_standings_have_differences_from_the_first_with_intervals(folder):
    shown = pd.read_csv(folder / "standings.csv", dtype=str, keep_default_na=False).set_index("method")
    assert shown.index[-2:].tolist() == [ORACLE_TITLE, "reference"]
    assert re.fullmatch(r"\+0\.\d{4} \[0\.\d{4}, 0\.\d{4}\]", shown.loc[NAME, "minus the first [95 %]"])
    assert shown.loc["CART", "minus the first [95 %]"] == "+0.0000 [0.0000, 0.0000] (not significant)"
    assert re.fullmatch(r"0\.\d{4} ± 0\.\d{4}", shown.loc["CART", "Loss"])
    assert all(version.startswith(__version__) for version in shown["version"])
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_begins_with_its_verdict_and_its_details_are_closed(folder):
    _, title, _, verdict, _, picture, _, *rest = (folder / "doc.md").read_text().splitlines()
    assert (title, picture.endswith("(tiny_curve.png)")) == ("# Two bits", True)
    assert verdict.startswith(
        "These are the rows of a quick run, for a first look. RCPI (datum-wise) and CART have the"
    )
    assert (folder / "tiny_curve.png").exists()
    page = "\n".join(rest)
    assert page.index("<details>") > page.index("(not significant)")
    assert page.count("<details>") == page.count("</details>") > 5
    made = page[page.rindex("<details>") :].partition("</details>")[0]
    assert "writes this page anew" in made
    assert "folder of results is not kept with the page" in made
    assert "writes the figures of each run to scores.csv in its folder of results" in page
    stored = [
        path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "docs" / "benchmarks").glob("*.md")
    ]
    assert all(made in text and "scores.csv has" not in text for text in stored)


def test_the_oracle_can_be_left_out():
    study = study_of(tiny.TINY_SUITE, SuiteMethods(("cart",), {}, {}), "", oracle=False)
    cells = study.cells(True, None)
    assert ORACLE_TITLE not in {dict(c.labels)["method"] for c in cells}


def test_the_main_table_is_written_for_latex_and_the_picture_as_pdf(capsys, folder, tmp_path):
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    code, _, _ = call(capsys, *ARGUMENTS, "--out", again, "--latex", "--figures", "pdf")
    text = (again / "loss.tex").read_text()
    assert code == 0
    assert r"method & 0.05 & 0.6 \\" in text
    assert r"CART & \textbf{0.2500}" in text or r"RCPI (datum-wise) & \textbf{0.2500}" in text
    assert "standard error over the test rows" in text
    assert "No dagger: a test of a column takes 3 splits or realisations" in text
    assert "dagger}" not in text
    assert (again / "curve.pdf").read_bytes().startswith(b"%PDF")
    assert not (folder / "loss.tex").exists()
    assert call(capsys, *ARGUMENTS, "--out", again)[0] == 0
    assert not (again / "loss.tex").exists()
    assert not (again / "curve.pdf").exists()


def test_a_row_names_the_commit_of_its_code_and_marks_changed_code_but_no_changed_page(tmp_path, monkeypatch):
    def git(*words):
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def version():
        version_of_rows.cache_clear()
        return version_of_rows()

    files = [tmp_path / "fsgym_studies/suites/scores.py", tmp_path / "docs/page.md", tmp_path / "pyproject.toml"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    monkeypatch.setattr(scoring, "__file__", str(files[0]))
    commit = f"{__version__} ({git('rev-parse', '--short=7', 'HEAD').strip()}"
    assert version() == f"{commit})"
    files[1].write_text("2")
    assert version() == f"{commit})"
    files[0].write_text("2")
    assert version() == f"{commit}+)"
    files[2].unlink()
    assert version() == __version__
    version_of_rows.cache_clear()
