"""Cases that the reader of a report plays: what is recorded, the answer at each lambda, the size of the file."""

from __future__ import annotations

import json
import re
import sqlite3
from html import escape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator

import fsgym
from agents import LatticeClassifier
from fsgym import Dataset, Rules, evaluate
from fsgym.comparison import examples, report
from fsgym.comparison.answer import answer_in_words, constant_answer, reference_in_words
from fsgym.comparison.examples import ROWS_PLAYED, played_rows
from fsgym.comparison.figures import reference_label
from fsgym.comparison.ranking import REFERENCE_TITLES, rank_methods
from fsgym.comparison.report import BAR_LENGTHS
from fsgym.comparison.splits import Split
from fsgym.data.columns import Column, Columns
from fsgym.methods import METHODS
from fsgym.runner import store
from fsgym.support.arrays import canonical_json
from fsgym.text.messages import option_text
from fsgym.text.sentences import beliefs_in_words, probability_text, values_text
from support.asking_in_order import AskingInOrder, Charted, DrawnChart
from support.clinic import OPTIONS, clinic_model, clinic_table
from support.pages import read

NASTY = "</script><script>alert('$x$')</script><!--"
LAMS = [0.01, 0.05, 0.2]


def embedded(path):
    """The record in a report, which must be the content of one element."""
    (text,) = re.findall(
        r'<script type="application/json" id="played">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    return json.loads(text)


def nasty_data(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)).round(2)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0, "<b>yes</b> & \u2028", NASTY)
    return Dataset(X, y, feature_names=[NASTY, "名前", "b_{1}$", "&lt;"], name="<i>odd</i>")


@pytest.fixture(scope="module")
def nasty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nasty")
    methods = {"mine": [Charted(lam) for lam in LAMS], "cart": "cart"}
    results = fsgym.compare(nasty_data(), methods, splits=1, lam=[0.01, 0.05, 0.1], out=folder)
    return folder, results


@pytest.fixture(scope="module")
def clinic():
    X, y = clinic_table()
    data = fsgym.load_dataset(X.assign(state=y), target="state", units={"crp": "mg/l", "age": "years"})
    model = clinic_model(effort=0.4)
    return data, model, evaluate(model, data.with_groups(OPTIONS["groups"]))


def test_what_is_recorded_is_what_the_model_does(clinic):
    _, model, result = clinic
    played, X = played_rows(result, model), result.dataset.X
    assert len(played["rows"]) == len(set(played["rows"])) == ROWS_PLAYED
    steps = model.trajectories(result.dataset).to_frame()
    for i, order, beliefs, answer in zip(*played.values(), strict=True):
        own = steps[steps["row"] == i]
        assert [model.rules_.names[j] for j in order] == own["acquired"].tolist()[:-1]
        assert result.dataset.classes[answer] == own["answer"].tolist()[-1]
        known = np.zeros((1, X.shape[1]), bool)
        assert beliefs[0] == model.probabilities_at(result.dataset.rows([i]), known)[0].round(6).tolist()
        for j, belief in zip(order, beliefs[1:], strict=True):
            known[0, list(model.rules_.groups[j])] = True
            assert belief == model.probabilities_at(result.dataset.rows([i]), known)[0].round(6).tolist()


@pytest.mark.usefixtures("no_pictures")
def test_the_page_has_the_recorded_steps_with_their_prices_and_values(clinic, tmp_path):
    data, model, _ = clinic
    options = {k: v for k, v in OPTIONS.items() if k != "lam"}
    with pytest.warns(UserWarning, match="training rows unknown|trained on"):
        fsgym.compare(data, {"mine": FrozenEstimator(model)}, splits=1, lam=0.01, out=tmp_path, **options)
    page, labels = embedded(tmp_path / "report.html"), [str(label) for label in data.classes]
    _, test = data.with_groups(OPTIONS["groups"]).split(0.5, 0)
    result, (setting,) = evaluate(model, test), page["settings"]
    played, steps, texts = played_rows(result, model), result.trajectories.to_frame(), page["texts"]
    for case, i, beliefs in zip(setting["cases"], played["rows"], played["beliefs"], strict=True):
        own = steps[(steps["row"] == i) & steps["acquired"].notna()]
        expected = zip(own["acquired"], own["value"], own["price"], own["spent"], strict=True)
        changes = beliefs_in_words(beliefs, labels)
        for step, (name, value, price, spent), change in zip(case[4], expected, changes, strict=True):
            assert page["questions"][step[0]] == name
            shown = "blood: " + ", ".join(re.sub(r"^(\w+) ", r"\1 = ", v) for v in value.split(", "))
            assert texts[step[1]] == (shown if name == "blood" else values_text(name, [(name, value)]))
            assert texts[step[2]] == (f"price {price:.4g}" if price else "free")
            assert texts[step[3]] == f"paid so far {spent:.4g}"
            assert texts[step[4]] == change
        assert [[page["shares"][rank][0] for rank in belief] for belief in case[5]] == [
            [probability_text(share) for share in belief] for belief in beliefs
        ]
        assert texts[case[1]].startswith(f"answer {labels[result.answers[i]]}, ")
        assert case[0] == (result.answers[i] == test.y[i])
        total, _, _ = texts[case[2]].removeprefix("loss ").partition(":")
        assert float(total.partition(";")[0]) == pytest.approx(result.losses[i], abs=1e-5)


def test_every_probability_has_a_bar():
    for share in (*np.linspace(0, 1, 1001).round(6).tolist(), 1e-6, 1 - 1e-6):
        assert abs(BAR_LENGTHS[probability_text(share)] - 100 * share) <= 0.501
    assert list(BAR_LENGTHS.values()) == sorted(BAR_LENGTHS.values())


@pytest.mark.slow
def test_the_answer_at_each_price_is_that_of_this_lambda(nasty):
    folder, results = nasty
    page = embedded(folder / "report.html")
    assert [s["label"] for s in page["settings"]] == ["lambda 0.2", "lambda 0.05", "lambda 0.01"]
    for setting, lam in zip(page["settings"], reversed(LAMS), strict=True):
        assert setting["answer"] == answer_in_words(rank_methods(results, lam=lam))
        assert setting["answer"][0].startswith((f"At {lam} a feature, ", f"No clear winner: at {lam} a feature, "))
    start = page["settings"][page["start"]]
    assert " ".join(start["answer"]) == results.attrs["answer"]
    # Validation data choose the setting of a lambda, which need not be the one that was trained at it.
    for setting, lam in zip(page["settings"], reversed(LAMS), strict=True):
        (standing,) = (s for s in rank_methods(results, lam=lam).standings if s.method == "mine")
        chosen = json.loads(standing.chosen["params"].iloc[0])["lam"]
        assert bool(setting["note"]) == (chosen != lam)
        assert not setting["note"] or re.search(rf"played is lam {lam}; .* chose lam {chosen} here", setting["note"])


def test_names_end_no_element_and_scripts_write_text_only(nasty):
    folder, _ = nasty
    page, html = embedded(folder / "report.html"), (folder / "report.html").read_text("utf-8")
    markup, text = read(folder / "report.html")
    assert page["questions"][0] == NASTY
    assert sorted(page["classes"]) == sorted(["<b>yes</b> & \u2028", NASTY])
    assert markup.tags.count("script") == 2
    assert not {"i", "u"} & set(markup.tags)
    assert "alert(" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL).replace("&lt;script&gt;alert(", "")
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|fetch|XMLHttp|http", script)
    assert not re.search(r"url\(|@import|\ssrc=\"(?!data:)", html)
    assert NASTY in text


def test_without_scripts_there_are_a_case_and_the_pictures(nasty):
    folder, _ = nasty
    html = (folder / "report.html").read_text("utf-8")
    markup, text = read(folder / "report.html")
    assert re.search(r'<div class="price" id="price" hidden>', html)
    assert re.search(r'<div class="play" id="play" hidden>', html)
    static = html[html.index('id="play-static"') : html.index('id="play" hidden')]
    assert "before any acquisition: " in static
    assert '<p class="costs">loss ' in static
    assert "hidden" not in static
    assert "Single cases" in text
    assert len([link for link in markup.links if link.startswith("data:image/png")]) >= 3
    assert 'aria-live="polite"' in html


def test_the_chart_is_that_of_the_chosen_setting_on_test_rows(nasty):
    folder, results = nasty
    (standing,) = (s for s in rank_methods(results).standings if s.method == "mine")
    lam = json.loads(standing.chosen["params"].iloc[0])["lam"]
    html = (folder / "report.html").read_text("utf-8")
    assert f"<text>lambda {lam}, 60 rows, 12 boxes.</text></svg></div><figcaption>" in html
    assert "The policy of mine as a chart" in html
    with sqlite3.connect(folder / "results.sqlite") as base:
        cells = [c for (text,) in base.execute("SELECT result FROM results") for c in json.loads(text)["cells"]]
    base.close()
    assert sum(bool(cell.get("chart")) for cell in cells) == 1  # no other is shown


class WarnedChart(DrawnChart):
    """A chart of fewer than 15 boxes does not pay; one of 15 warns, too."""

    def __init__(self, text, max_boxes):
        super().__init__(text)
        self.n_boxes_enough = 15 if max_boxes < 15 else None
        self.caution = f"Do not use this chart ({option_text('max_boxes', 30)})."


class Warned(Charted):
    def chart(self, X=None, y=None, *, max_boxes=30):
        return WarnedChart(super().chart(X, y, max_boxes=max_boxes).text, max_boxes)


def test_a_chart_that_is_not_to_be_used_is_folded_and_has_enough_boxes(tmp_path):
    """A report showed it large, and advised an option that ``compare`` does not have."""
    fsgym.compare(nasty_data(), {"mine": Warned(0.05)}, splits=1, lam=[0.05], out=tmp_path)
    html = (tmp_path / "report.html").read_text("utf-8")
    warning = "Do not use this chart (after fsgym train: fsgym chart MODEL --max-boxes 30)."
    before, folded = html.split(f"<details><summary>{warning}</summary>")
    assert "60 rows, 15 boxes." in folded[: folded.index("</details>")]
    assert "15 boxes" not in before


def test_the_report_of_a_number_speaks_of_bins_and_not_of_their_codes(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=120), "crp": rng.normal(size=120)})
    data = fsgym.load_dataset(X.assign(hours=10 * X["age"] + rng.normal(size=120)), target="hours", bins=4)
    fsgym.compare(data, {"mine": AskingInOrder(0.1), "everything": "everything"}, splits=1, lam=[0.1], out=tmp_path)
    markup, text = read(tmp_path / "report.html")
    words = " ".join(text.split())
    assert "in 4 bins, whose edges are of all rows, so that all splits have the same; one random split" in words
    assert "logistic regression; random forest, Breiman (2001); the bins are its classes" in words
    for name, title in REFERENCE_TITLES.items():  # as in the tables
        assert f"{title}: {METHODS[name].uses}" in words
    answers = zip(data.bins.values, data.bins.ranges(), strict=True)
    assert any(f"answer {value:.6g} ({label!s}) ; the number is" in words for value, label in answers)
    assert "the true class is" not in words
    assert embedded(tmp_path / "report.html")["classes"] == [str(label) for label in data.bins.ranges()]
    assert markup.links


@pytest.mark.usefixtures("no_pictures")
def test_a_case_that_is_played_costs_what_its_number_costs(tmp_path):
    """It cost the mean error of its bin."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    data = Dataset(X, 10 * X[:, 0] + rng.normal(size=120), bins=4)
    fsgym.compare(data, {"mine": AskingInOrder(0.1)}, splits=1, lam=[0.1], references=False, out=tmp_path)
    page, (train, test) = embedded(tmp_path / "report.html"), Split(0, 0.5).divide(data)
    model = AskingInOrder(0.1).fit(train.X, train.y)
    result = evaluate(model, test, rules=Rules.for_dataset(test, lam=0.1))
    (setting,), rows = page["settings"], played_rows(result, model)["rows"]
    costs = [float(page["texts"][case[2]].split()[1].removesuffix(":")) for case in setting["cases"]]
    assert costs == pytest.approx(result.losses[rows], rel=1e-5)


def test_a_constant_number_is_named_and_not_the_code_of_its_bin(tmp_path):
    """The answer of a comparison read: answering "7" without acquiring anything costs 1,461."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=120), "crp": rng.normal(size=120)})
    data = fsgym.load_dataset(X.assign(hours=10 * X["age"] + rng.normal(size=120)), target="hours", bins=3)
    results = fsgym.compare(data, {"mine": AskingInOrder(0.1)}, splits=1, lam=[0.1], out=tmp_path)
    ranking, ranges = rank_methods(results), [str(label) for label in data.bins.ranges()]
    assert list(json.loads(results["by_class"].iloc[0])) == ranges
    assert constant_answer(ranking) == f"{data.bins.values[1]:.6g} (the bin {ranges[1]})"
    nothing = reference_label(ranking, ranking.standing_of("constant"))
    assert nothing.endswith(f"always {data.bins.values[1]:.6g}")
    words = " ".join(read(tmp_path / "report.html")[1].split())
    assert reference_in_words(ranking, ranking.standing_of("constant")).startswith("answering 0.868497 (the bin -3.6")
    assert f"finds {ranges[0]}" in words
    found = fsgym.evaluate(AskingInOrder(0.1).fit(data.X, data.y), data)
    assert found.to_json()["classes"] == found.by_class["class"].tolist() == ranges
    assert all(escape(name) in found._repr_html_() for name in ranges)


class NamedLattice(LatticeClassifier):
    """An agent with a chart that consists of its names."""

    def chart(self, X=None, y=None, *, max_boxes=30):
        assert isinstance(X, Dataset)
        assert y is None
        names = [f"{column.name} {column.unit}".strip() for column in self.columns_]
        return DrawnChart("; ".join((*names, *self.rules_.names, f"{self.rules_.lam}, {self.rules_.costs.tolist()}")))


def test_a_chart_has_the_names_and_units_of_the_data():
    X = np.random.default_rng(0).normal(size=(60, 2))
    columns = Columns([Column("crp", unit="mg/l"), Column("age")])
    data = Dataset(X, (X[:, 0] > 0).astype(int), columns=columns)
    model = NamedLattice(lam=0.3, costs=[2.0, 1.0], random_state=0).fit(data.to_array(), data.y)
    result = evaluate(model, data, rules=Rules.for_dataset(data, lam=0.1, costs=[2.0, 1.0]))
    record = examples.explanation_of(result, model, data, True)
    assert "<text>crp mg/l; age; crp; age; 0.3, [2.0, 1.0]</text>" in record["chart"]
    assert model.rules_.names == model.columns_.names == ("x0", "x1")


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_models_without_order_probabilities_or_chart_leave_no_trace(tmp_path):
    fsgym.compare(nasty_data(60), ["cart", "panel"], splits=1, lam=0.05, out=tmp_path)
    markup, text = read(tmp_path / "report.html")
    assert "script" not in markup.tags
    assert "Play a case" not in text


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_one_lambda_has_cases_but_no_slider(tmp_path):
    fsgym.compare(nasty_data(60), {"mine": AskingInOrder(0.05)}, splits=1, lam=0.05, out=tmp_path)
    html = (tmp_path / "report.html").read_text("utf-8")
    assert 'id="price-slider"' not in html
    assert "All 30 test rows of the first split. The method" in html
    assert len(embedded(tmp_path / "report.html")["settings"][0]["cases"]) == 30


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_folders_without_recordings_still_give_a_report(tmp_path, nasty):
    def run(folder):
        fsgym.compare(nasty_data(60), {"mine": [AskingInOrder(v) for v in LAMS]}, splits=1, out=folder)
        return (folder / "results.csv").read_bytes()

    first = run(tmp_path)
    assert run(tmp_path) == first
    assert len(embedded(tmp_path / "report.html")["settings"]) == 3
    with sqlite3.connect(tmp_path / "results.sqlite") as base:
        for key, text in base.execute("SELECT key, result FROM results").fetchall():
            cells = json.loads(text)["cells"]
            old = {"cells": [{k: v for k, v in cell.items() if k not in ("played", "chart")} for cell in cells]}
            assert all(len(o) < len(c) or o["examples"] is None for o, c in zip(old["cells"], cells, strict=True))
            shorter = canonical_json(old)
            checksum = store._checksum(key, shorter)
            base.execute("UPDATE results SET result = ?, checksum = ? WHERE key = ?", (shorter, checksum, key))
    base.close()
    assert run(tmp_path) == first
    _, text = read(tmp_path / "report.html")
    assert "Play a case" not in text
    assert "Single cases" in text


@pytest.fixture(scope="module")
def wide():
    X, y = load_digits(return_X_y=True)
    return Dataset(X[:240], y[:240], name="digits")


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_a_wide_table_at_many_prices_stays_below_three_megabytes(wide, tmp_path):
    lams = [0.0, 1e-6, 1e-5, 1e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3]
    methods = {"mine": [AskingInOrder(lam) for lam in lams]}
    fsgym.compare(wide, methods, splits=1, lam=lams, references=False, out=tmp_path)
    page = embedded(tmp_path / "report.html")
    assert len(page["settings"]) == 12
    assert {len(s["cases"]) for s in page["settings"]} == {50}
    assert max(len(case[4]) for case in page["settings"][-1]["cases"]) == 64
    assert 500_000 < (tmp_path / "report.html").stat().st_size < 3_000_000


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.slow
def test_cases_and_then_the_chart_are_left_out_of_a_file_that_would_be_too_large(wide, tmp_path, monkeypatch):
    def run(limit, letters):
        monkeypatch.setattr(report, "MAX_REPORT_BYTES", limit)
        folder = tmp_path / f"{limit}-{letters}"
        methods = {"mine": [Charted(lam, letters) for lam in (1e-5, 0.01)]}
        fsgym.compare(wide, methods, splits=1, lam=[1e-5, 0.01], references=False, out=folder)
        size = (folder / "report.html").stat().st_size
        assert size <= limit
        return folder / "report.html", read(folder / "report.html")[1]

    whole, _ = run(3_000_000, 1)
    limit = whole.stat().st_size - 20_000
    path, text = run(limit, 1)
    n = len(embedded(path)["settings"][0]["cases"])
    assert 0 < n < 50
    assert f"{n} of the 120 test rows of the first split, drawn at random" in text
    assert f"Of 50 recorded cases, {50 - n} are left out, because this file would be larger than" in text
    assert path.stat().st_size > limit - 20_000
    path, text = run(limit, 10**6)
    assert "The chart is left out" in text
    assert embedded(path)["settings"][0]["cases"]


def test_a_file_of_results_has_few_probabilities(clinic, monkeypatch):
    _, model, result = clinic
    every = played_rows(result, model)
    monkeypatch.setattr(examples, "MAX_PROBABILITIES", 100)
    few = played_rows(result, model)
    n = len(few["rows"])
    assert 0 < n < ROWS_PLAYED
    assert few == {name: values[:n] for name, values in every.items()}
    assert sum(len(row) for beliefs in few["beliefs"] for row in beliefs) <= 100
    monkeypatch.setattr(examples, "MAX_PROBABILITIES", 1)
    assert played_rows(result, model) is None
