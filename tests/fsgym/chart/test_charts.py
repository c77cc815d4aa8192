"""Charts: what they print is true, also by a reader of their text; drawings are inert; model files have them."""

from __future__ import annotations

import json
import pickle
import xml.etree.ElementTree as ET
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, MixtureClassifier, load_classifier
from fsgym.chart.action_tree import ANY_NUMBER, Limit
from fsgym.chart.drawing import HEADLINE_ON_PAGE
from fsgym.chart.views import condition_text
from fsgym.data.columns import Column, Columns
from fsgym.session.asked_cases import ask_cases
from fsgym.text.speech import Speech, speaking
from support import patients
from support.asked_models import QUICK, REST, asked_model, asked_table
from support.chart_reader import ChartReader
from support.model_files import assert_refused

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit")


def context_task(n=1500):
    """A context that says which three of nine bits show the class, each in 85 % of the cases."""
    rng = np.random.default_rng(100)
    context, y, bits = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 2, (n, 9))
    for k in range(3):
        shown = np.where(rng.random(n) < 0.85, y, 1 - y)
        bits[np.arange(n), 3 * context + k] = shown
    X = pd.DataFrame(bits, columns=[f"{block}{k}" for block in "abc" for k in (1, 2, 3)])
    return X.assign(context=np.array(["block a", "block b", "block c"])[context]), pd.Series(y)


@cache
def drawn(name: str):
    """A model, its chart by rows that it was not trained on, and these rows with labels."""
    if name == "patients":
        table = patients.patients(1000)
        X = table.drop(columns=[*patients.NOT_FEATURES, patients.PATIENT, patients.TARGET])
        y = table[patients.TARGET]
        model = LatticeClassifier(effort=0.2, random_state=0, **patients.RULES)
    elif name == "context":
        X, y = context_task()
        model = LatticeClassifier(lam=0.02, effort=0.2, random_state=0)
    else:
        X, y = (load_wine if name == "wine" else load_breast_cancer)(return_X_y=True, as_frame=True)
        model = {
            "breast cancer": LatticeClassifier(lam=0.01, effort=0.2, random_state=0),
            "wine": MixtureClassifier(lam=0.01, random_state=0),
            "linear": DatumWiseClassifier(lam=0.01, n_iterations=3, random_state=0),
        }[name]
    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=100)
    model.fit(X_train, y_train)
    return model, model.chart(X_test, y_test), X_test, y_test


def cases_of(model, X):
    """The rows as values by column; None for what is missing."""
    for row in model.columns_.encode(X):
        cells = [c.cells(row[None, list(f)].astype(float))[0] for c, f in zip(model.columns_, model.columns_.features)]
        yield {
            column.name: None if cell is None or cell != cell else cell
            for column, cell in zip(model.columns_, cells, strict=True)
        }


def read_cases(model, chart, X):
    columns = {name: [model.columns_[k].name for k in ks] for name, ks in _columns_of(model).items()}
    reader = ChartReader(chart.to_text(), columns)
    return [reader.read(case) for case in cases_of(model, X)]


def _columns_of(model):
    of_feature = model.columns_.column_of
    return {
        name: list(dict.fromkeys(of_feature[list(group)].tolist()))
        for name, group in zip(model.rules_.names, model.rules_.groups, strict=True)
    }


DRAWN = [pair for pair in QUICK if pair[0] in ("lattice", "mixture") or pair == ("linear", "everything")]
NAMES = ["breast cancer", "wine", "linear", "context", "patients"]


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "context" else ()) for n in NAMES])
@pytest.mark.one_in(2)
def test_figures_are_those_that_a_reader_of_the_text_finds(name):
    model, chart, X, y = drawn(name)
    rules, labels = model.rules_, model.classes_.tolist()
    done = model.trajectories(X)
    loss, same, paid = 0.0, 0, 0.0
    code = {str(label): k for k, label in enumerate(labels)}
    for i, read in enumerate(read_cases(model, chart, X)):
        taken = np.zeros((1, rules.n_acquisitions), bool)
        price = 0.0
        for name_read in read.asked:
            j = rules.names.index(name_read)
            if name_read in read.known:
                price += rules.legal_and_prices(taken)[1][0, j]
                taken[0, j] = True
        answer = code[read.answer]
        paid += price
        loss += rules.lam * price + rules.error_costs[answer, labels.index(y.iloc[i])]
        # the policy is told beforehand what is missing, so that its order may differ, but not what it acquires
        asked = {rules.names[j] for j in done.order[i] if j >= 0}
        same += answer == done.answers[i] and set(read.known) == asked
    n = len(X)
    assert chart.n_cases == n
    assert chart.loss == pytest.approx(loss / n)
    assert chart.paid == pytest.approx(paid / n)
    assert chart.fidelity == pytest.approx(same / n, abs=0.02 if X.isna().any(axis=None) else 1e-12)
    policy = fsgym.evaluate(model, model.labelled_dataset(X, y))
    assert chart.policy_loss == pytest.approx(policy.loss, abs=0.05 * policy.loss if X.isna().any(axis=None) else 1e-9)
    assert f"{chart.loss:.4g}" in chart.headline
    assert chart.fidelity > {"linear": 0.3}.get(name, 0.6)


@pytest.mark.parametrize("name", ["breast cancer", "wine", "context", "patients"])
@pytest.mark.one_in(4)
def test_a_reader_names_the_next_question(name):
    model, chart, X, _ = drawn(name)
    asked = ask_cases(model, model._features(X))
    right = n = 0
    for i, read in enumerate(read_cases(model, chart, X)):
        wanted = [model.rules_.names[j] for j in asked.asked[i] if j >= 0] + [None]
        found = [*read.asked, None]
        for step, question in enumerate(wanted):
            n += 1
            if found[step] != question:
                break  # the reader is in another state from here on
            right += 1
    assert right / n > 0.9


def test_conditions_of_one_value_are_those_of_the_policy():
    model, *_ = drawn("breast cancer")
    box = model._found_chart()[0].boxes[0]
    tree, names = box.answered, model.rules_.names
    assert len(set(tree.feature[tree.feature >= 0])) == 1
    for threshold in tree.threshold[tree.feature >= 0]:
        at = np.float32(threshold)
        below = at if at <= threshold else np.nextafter(at, np.float32(-np.inf))
        pair = (below, np.nextafter(below, np.float32(np.inf)))
        steps = [model.step({names[box.question]: float(v)}, spent=1.0, accept=True) for v in pair]
        one, other = (s.question.name if s.question else s.answer for s in steps)
        assert one != other


def test_conditions_are_written_as_values_are_typed():
    """With a comma where the column has one: 12.925 would be read as 12925 there. Yes and no as on the buttons."""
    columns = Columns([Column("crp", unit="mg/l", decimal=",", thousands="."), Column("ill", "bool")])
    texts = [
        condition_text((Limit(feature, low, high, False),), columns)
        for feature, low, high in ((0, 12.925, ANY_NUMBER), (0, -np.inf, 1.5), (0, 1.5, 2.25), (1, 0.5, ANY_NUMBER))
    ]
    assert texts == ["crp > 12,925 mg/l", "crp ≤ 1,5 mg/l", "crp > 1,5 and ≤ 2,25 mg/l", "ill = yes"]
    with speaking(Speech("de")):
        assert condition_text((Limit(1, -np.inf, 0.5, False),), columns) == "ill = nein"


def test_a_condition_has_cases_without_a_value_only_where_all_its_limits_have_them():
    columns = Columns([Column("ward", "category", ("er", "gp", "icu")), Column("pain", "bool")])
    first, second = Limit(0, -np.inf, 0.5, True), Limit(1, -np.inf, 0.5, False)
    assert condition_text((first, second), columns) == "ward = icu"
    assert condition_text((first, second._replace(missing=True)), columns) == "ward = icu or no value"
    for feature, name in ((0, "ward"), (3, "pain")):
        has, has_not = Limit(feature, -np.inf, ANY_NUMBER, False), Limit(feature, ANY_NUMBER, np.inf, True)
        assert condition_text((has,), columns) == f"{name} has a value"
        assert condition_text((has_not,), columns) == f"{name} has no value"
        assert condition_text((has, Limit(feature, 0.5, np.inf, True)), columns) in ("ward = er", "pain = yes")


def ward_and_number(n=1200):
    """A panel of a ward, which half of the cases lack, and a number; the next action depends on both."""
    rng = np.random.default_rng(0)
    flag, b = rng.integers(0, 2, n), rng.integers(0, 2, n).astype(float)
    y = (flag + b >= 1).astype(int)
    ward = np.where(flag, "icu", "er").astype(object)
    ward[rng.random(n) < 0.5] = None
    b[pd.isna(ward)] = rng.integers(0, 2, pd.isna(ward).sum())
    return pd.DataFrame({"b": b, "ward": ward, "z": y + rng.normal(0, 0.2, n)}), y


def ward_of_four(n=900):
    """A panel whose ward has four levels, and none in half of the cases, which are asked for more."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    ward = np.array([rng.choice(["icu", "er"] if k else ["gp", "home"]) for k in y], dtype=object)
    ward[rng.random(n) < 0.5] = None
    return pd.DataFrame({"b": rng.integers(0, 4, n).astype(float), "ward": ward, "z": y + rng.normal(0, 0.2, n)}), y


@pytest.mark.parametrize(("table", "lam"), [(ward_of_four, 0.05), (ward_and_number, 0.03)])
def test_one_branch_alone_is_that_of_a_case_without_a_value(table, lam):
    X, y = table()
    rules = {"lam": lam, "groups": {"panel": ["b", "ward"]}, "costs": {"panel": 1.0, "z": 3.0}}
    model = MixtureClassifier(random_state=0, **rules).fit(X, np.where(y, "ill", "well"))
    chart = model.chart(X)
    for read, case in zip(read_cases(model, chart, X[:60]), cases_of(model, X[:60])):
        session = model.session()
        session.answer("panel", {name: case[name] for name in ("b", "ward") if case[name] is not None})
        assert (read.asked == ["panel", "z"]) == (session.next() is not None)
    _, panel, z = chart.to_text().split("\n\n")
    ends = [line for line in panel.splitlines() if "ward" in line and not line.endswith(":")]
    assert len([line for line in ends if "no value" in line]) == 1, panel
    assert "no value" not in z  # what is asked for alone is unknown, or has one
    assert "unknown" in z


def test_a_chart_is_cut_and_says_what_it_costs():
    model, whole, X, y = drawn("wine")
    cut = model.chart(X, y, max_boxes=2)
    assert len(cut.boxes) == 2
    assert cut.n_boxes_in_all == whole.n_boxes_in_all > 2
    assert "the first 2 of" in cut.headline
    assert "cut here" in cut.to_text()
    assert cut.fidelity <= whole.fidelity
    assert all(b.goes_to is None or b.goes_to <= 2 for box in cut.boxes for b in box.branches)


def test_a_chart_that_costs_more_than_asking_nothing_says_so():
    model, whole, X, y = drawn("context")  # the first question alone says nothing of the class
    cut = model.chart(X, y, max_boxes=1)
    counts = np.bincount(y)
    nothing = 1 - counts.max() / counts.sum()
    assert cut.loss > nothing
    assert (cut.is_usable, whole.is_usable) == (False, True)
    answer = f"the answer always {counts.argmax()} has a loss of {nothing:.4g}"
    assert f"with 1 box it costs more than asking nothing, as {answer}" in cut.headline
    enough = cut.n_boxes_enough
    assert f"with {enough} boxes it costs less" in cut.headline
    assert model.chart(X, y, max_boxes=enough).loss < nothing
    assert all(model.chart(X, y, max_boxes=n).loss >= nothing for n in range(2, enough))
    assert whole.n_boxes_enough is None
    assert "Do not use" not in whole.headline
    assert model.chart(X, max_boxes=1).n_boxes_enough is None  # without labels nothing is known of it


@pytest.mark.parametrize("name", ["wine", "breast cancer"])
@pytest.mark.one_in(2)
def test_a_chart_that_loses_much_of_what_the_policy_saves_says_so(name):
    model, whole, X, y = drawn(name)
    _, counts = np.unique(y, return_counts=True)
    nothing = 1 - counts.max() / counts.sum()
    charts = [model.chart(X, y, max_boxes=n) for n in range(1, whole.n_boxes_in_all + 1)]
    lost = [(chart.loss - chart.policy_loss) / (nothing - chart.policy_loss) for chart in charts]
    assert min(lost) < 0.25 < max(lost) < 1
    for chart, share in zip(charts, lost):
        warns = share > 0.25 and chart.fidelity < 0.95
        assert ("of what the policy saves against asking nothing" in chart.headline) == warns
        assert chart.is_usable == ("Do not use" not in chart.headline)
        assert not warns or f"boxes it loses {100 * share:.0f} %" in chart.headline.replace("1 box ", "1 boxes ")


def test_a_chart_that_mostly_does_something_else_says_so():
    model, whole, X, _ = drawn("context")
    cut = model.chart(X, max_boxes=1)  # without labels, so that nothing is known of its loss
    assert cut.fidelity < 0.5
    assert f"in {100 * (1 - cut.fidelity):.0f} % of the cases it does something else" in cut.headline
    assert "something else" not in whole.headline


def test_conditions_that_no_case_meets_are_left_out():
    model, _, X, y = drawn("wine")
    left_out = 0
    for box in model.chart(X[:8], y[:8]).boxes:
        shown = {row.branch for row in box.rows if row.branch is not None}
        answered = [k for k, branch in enumerate(box.branches) if branch.answered]
        hidden = sorted(set(range(len(box.branches))) - shown)
        assert all(box.branches[k].share == 0 for k in hidden)
        assert (f"({len(hidden)})" in box.left_out) == bool(hidden)
        if box.share:
            assert all(box.branches[k].share for k in answered if k in shown)
        for row, following in zip(box.rows, (*box.rows[1:], None)):  # no condition is left without its end
            assert row.branch is not None or following.depth == row.depth + 1
        assert sum(not box.branches[row.branch].answered for row in box.rows if row.branch is not None) == 1
        left_out += len(hidden)
    assert left_out


def test_without_labels_there_is_no_loss():
    model, chart, X, _ = drawn("wine")
    without = model.chart(X)
    assert np.isnan(without.loss)
    assert "loss" not in without.headline
    assert without.fidelity == chart.fidelity
    assert without.boxes[0].classes == ()


def test_what_is_unknown_has_boxes_of_its_own():
    _, chart, X, _ = drawn("patients")
    assert X.isna().any(axis=None)
    assert any(box.unavailable for box in chart.boxes)
    first = chart.boxes[0]
    unknown = [b for b in first.branches if not b.answered]
    assert unknown
    assert "unknown" in chart.to_text()


@pytest.mark.parametrize(
    ("agent", "variant"),
    [pytest.param(*p, marks=[] if p in DRAWN else pytest.mark.slow) for p in (*QUICK, *REST)],
)
@pytest.mark.one_in(2)
def test_every_agent_and_rule_has_a_chart(agent, variant, tmp_path):
    model, (X, y) = asked_model(agent, variant), asked_table(variant)
    chart = model.chart(X, y)
    assert chart.n_cases == len(X)
    if not chart.boxes:
        assert "nothing is asked" in chart.headline
        return
    assert chart.boxes[0].share == 1
    for box in chart.boxes:
        if box.share:
            assert sum(b.share or 0.0 for b in box.branches) == pytest.approx(1)
    whole = model.chart(X, y, max_boxes=1000)
    assert whole.policy_loss == pytest.approx(chart.policy_loss)
    path = tmp_path / "model.safetensors"
    model.save(path)
    assert type(model).load(path).chart(X, y).to_json() == chart.to_json()
    ET.fromstring(chart.to_svg(here=1))


@pytest.mark.slow  # those of examples are compared with their words
def test_charts_are_the_same_each_time():
    model, chart, X, y = drawn("wine")
    again = MixtureClassifier(lam=0.01, random_state=0)
    X_all, y_all = load_wine(return_X_y=True, as_frame=True)
    X_train, _, y_train, _ = train_test_split(X_all, y_all, stratify=y_all, random_state=100)
    again.fit(X_train, y_train)
    assert again.chart(X, y).to_json() == chart.to_json()
    assert pickle.loads(pickle.dumps(model)).chart(X, y).to_json() == chart.to_json()


HOSTILE = ["<script>alert(1)</script>", "a\ufffe\u2028b", 'a"b', "]]>", "x & y\n#", "-->|z|"]


def test_hostile_names_are_text():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 6)), columns=HOSTILE)
    y = np.where(X.iloc[:, 0] + X.iloc[:, 1] + X.iloc[:, 2] > 0, '"><img src=x onerror=alert(2)>', "ok")
    model = LatticeClassifier(lam=0.001, effort=0.1, random_state=0).fit(X, y)
    chart = model.chart(X, y)
    heads = [text.text or "" for text in ET.fromstring(chart.to_svg(dark=True)).findall("{*}text")]
    assert max(map(len, heads)) <= HEADLINE_ON_PAGE  # so that a phone shows whole lines
    drawing = ET.fromstring(chart.to_svg(here=1))
    tags = {element.tag.rpartition("}")[2] for element in drawing.iter()}
    assert tags <= {"svg", "style", "g", "rect", "path", "text", "tspan", "title"}
    boxes = [g for g in drawing.iter() if g.get("class", "").startswith("box")]
    assert [json.loads(g.get("data-question")) for g in boxes] == [b.question for b in chart.boxes]
    assert [json.loads(g.get("data-known")) for g in boxes] == [sorted(b.known) for b in chart.boxes]
    for line in chart.to_mermaid().splitlines()[1:]:
        assert line.count('"') in (2, 4)
        assert "<script" not in line
        assert "onerror=alert(" not in line


def test_the_place_of_a_case():
    model, chart, _, _ = drawn("breast cancer")
    session = model.session()
    first = session.next()
    assert chart.place([], first.name) == 1
    following = next(b for b in chart.boxes[0].branches if b.goes_to)
    box = chart.boxes[following.goes_to - 1]
    assert chart.place(box.known, box.question) == box.number
    assert chart.place([*box.known, "mean area"], box.question) == box.number
    assert chart.place([], None) is None
    assert 'class="box here" id="box-1"' in chart.to_svg(here=1)


def test_mistakes_are_said():
    model, _, X, y = drawn("wine")
    with pytest.raises(ValueError, match="max_boxes must be a whole number above 0, got 0"):
        model.chart(max_boxes=0)
    with pytest.raises(ValueError, match="X must be given where y is"):
        model.chart(y=y)
    with pytest.raises(ValueError, match="y holds the label 102"):
        model.chart(X, y + 100)


def test_damaged_charts_are_refused(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import load_file, save_file

    model, _, _, _ = drawn("wine")
    path = tmp_path / "model.safetensors"
    model.save(path)
    with safe_open(path, "np") as file:
        metadata = file.metadata()
    arrays, ((key, text),) = load_file(path), metadata.items()
    damages = [
        lambda chart: chart.update(first=-1),
        lambda chart: chart.pop("ways"),
        lambda chart: chart.update(boxes=[]),
        lambda chart: chart["boxes"][0].update(question=99),
        lambda chart: chart["boxes"][0].update(known=[chart["boxes"][0]["question"]]),
        lambda chart: chart["boxes"][0]["answered"].update(left=[0] * len(chart["boxes"][0]["answered"]["left"])),
        lambda chart: chart["boxes"][0]["answered"].update(threshold=["x"]),
        lambda chart: chart["boxes"][0].update(shares=[]),
        lambda chart: chart["ways"][0].__setitem__(0, [[0, True, 999, 1.0]]),
        lambda chart: chart["ways"][0].__setitem__(1, 77),
        lambda chart: chart["ways"].append(3),
    ]
    for damage in damages:
        header = json.loads(text)
        damage(header["chart"])
        save_file(arrays, path, {key: json.dumps(header)})
        assert_refused(path, "damaged", load_classifier)
    header = json.loads(text) | {"chart": None}
    save_file(arrays, path, {key: json.dumps(header)})
    with pytest.raises(ValueError, match="has no chart: its file had none"):
        load_classifier(path).chart()


def test_markdown_has_the_diagram_and_the_sentences():
    _, chart, _, _ = drawn("wine")
    text = chart.to_markdown()
    assert text.count("```mermaid\nflowchart LR\n") == 1
    assert chart.to_text() in text
    assert chart._repr_svg_().startswith("<svg")


def test_where_a_chart_is_cut_it_answers_as_the_policy_believes_there():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = MixtureClassifier(lam=0.01, random_state=0).fit(X[::2], y[::2])
    rows, chart = X[1::2], model.chart(X[1::2], y[1::2], max_boxes=3)
    agree = cut = 0
    assert chart.n_boxes_in_all > len(chart.boxes) == 3
    for i, read in enumerate(read_cases(model, chart, rows)):
        known = {name: float(rows.iloc[i][name]) for name in read.asked}
        step = model.step(known, accept=True)
        if not step.should_stop:
            cut += 1
            agree += str(read.answer) == str(step.answer)
    assert cut > 20
    assert agree >= 0.75 * cut


def wards(n=200):
    """A ward that every case brings, and a value that decides in some of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"ward": rng.choice(["er", "gp"], n), "crp": rng.random(n).round(2), "noise": rng.random(n)})
    return X, np.where((X["crp"] > 0.5) & (X["ward"] == "er"), "ill", "well")


@pytest.mark.parametrize("learner", [LatticeClassifier, MixtureClassifier])
def test_what_every_case_brings_is_never_unknown(learner, tmp_path):
    X, y = wards()
    model = learner(lam=0.02, known=["ward"], random_state=0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    for chart in (model.chart(), load_classifier(tmp_path / "model.safetensors").chart()):
        first, *others = chart.to_text().split("\n\n")[1:]
        assert first.startswith("1. Ask for ward (free).")
        assert "unknown" not in first
        assert "unknown" in "".join(others)
    lacking = X.assign(ward=X["ward"].where(X["noise"] > 0.1))
    assert "unknown" in model.chart(lacking, y).to_text().split("\n\n")[1]  # where a case does not bring it


def test_the_first_lines_say_from_which_probability_on_the_dearer_answer_is_given():
    X, y = wards()
    costs = {"well": {"ill": 500}, "ill": {"well": 60}}
    headline = LatticeClassifier(lam=1, error_costs=costs, random_state=0).fit(X, y).chart().headline
    assert "As errors differ in what they cost, ill is the answer from a probability of 11 % on." in headline
    reverse = {"well": {"ill": 60}, "ill": {"well": 180}}
    headline = LatticeClassifier(lam=1, error_costs=reverse, random_state=0).fit(X, y).chart().headline
    assert "well is the answer from a probability of 25 % on." in headline
    assert "As errors differ" not in LatticeClassifier(lam=0.02, random_state=0).fit(X, y).chart().headline
