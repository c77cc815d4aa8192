"""Exported pages: their words are those of ``fsgym ask``, they load nothing, and hostile names stay text."""

import base64
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from agents import DatumWiseClassifier, LatticeClassifier, MixtureClassifier
from fsgym.data import training_summary
from fsgym.data.cells import find_level, level_places
from fsgym.data.columns import Column, Columns
from fsgym.export.page import page_html
from fsgym.session import reasons, values, words
from fsgym.session.session import LONGEST_NOTE
from fsgym.session.values import Refusal, check_value, value_of_text
from fsgym.text import sentences
from fsgym.text.sentences import class_name, cutoff_text, probability_text
from fsgym.text.speech import Speech, cost_text, money_text, number_text, sentences_of, speaking
from fsgym.web import entries
from fsgym.web.entries import blank_entry
from support.asked_models import asked_model, asked_table
from support.clinic import OPTIONS, chest_model, chest_table, clinic_model, clinic_table
from support.exported_policies import (
    SCRIPTS,
    asked_by_javascript,
    asked_by_model,
    cases_of,
    differences,
    needs_node,
    run_node,
)

HOSTILE = ("</script><script>alert(1)</script>", "<!--", "a\u2028b", "'\"&amp;", "<img src=x onerror=alert(1)>")
BOX = '<g class="box" data-known="[]" data-question="&quot;f&quot;"></g>'
CHART = f"<svg><style>.box {{ fill: none }} /* &amp; */</style>{BOX}</svg>"
MONEY = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KRW MXN MYR NGN NOK NZD "
    "PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR $ € £ ¥ ₹ ₺ ₩ zł kr"
)
COLUMNS = [
    Column("crp", unit="mg/l", low=0.3, high=412.0),
    Column("it's", low=-1.5, high=1e-7),
    Column("time", low=1.7e9, high=1.7e9 + 30, offset=1.7e9 + 15),
    Column("free"),
    Column("ill", "bool"),
    Column("ward", "category", ("er", "gp", "icu")),
    Column("sex", "category", ("f", "m")),
    Column("code", "codes", tuple(map(str, range(20)))),
]
TEXTS = (
    "0.3",
    "412",
    "412.00001",
    "413",
    "-1",
    "1e-7",
    "1e40",
    "1700000031",
    "0.005",
    "2e4",
    "-90",
    "x",
    "",
    "gp",
    " icu ",
    "True",
    "3",
    "m",
    "25",
)


@needs_node
def test_the_class_that_makes_an_answer_dear_is_that_of_sessions():
    model = chest_model()
    cases = cases_of(model, chest_table()[0], 60)
    asked, found = asked_by_model(model, cases), asked_by_javascript(model.policy_json(), cases)
    reasons = [step["why"] for steps in asked for step in steps]
    assert [step["why"] for steps in found for step in steps] == reasons
    for sentence in ("the largest part is for embolism", "above all because it may be embolism"):
        assert any(sentence in why for why in reasons)


@needs_node
@pytest.mark.parametrize("agent", ["lattice", "mixture", "linear"])
def test_reasons_are_those_of_sessions(agent):
    model = asked_model(agent, "panel with a needle")
    cases = cases_of(model, asked_table("panel with a needle")[0], 40)
    asked, found = asked_by_model(model, cases), asked_by_javascript(model.policy_json(), cases)
    assert [[step["why"] for step in steps] for steps in found] == [[step["why"] for step in steps] for steps in asked]


@needs_node
@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True], [0, 1], ["0.0", "1.0"]])
def test_classes_have_the_names_that_sessions_give_them(labels):
    """1.0 was "1" on the page, and True "true"."""
    X, y = clinic_table()
    costs = {labels[0]: {labels[1]: 30.0}, labels[1]: {labels[0]: 5.0}}
    model = LatticeClassifier(lam=0.01, error_costs=costs, refer_cost=4.0, random_state=0)
    model.fit(X[["age", "crp"]], np.where(y == "ill", labels[1], labels[0]))
    cases, text = cases_of(model, X[["age", "crp"]], 30), model.policy_json()
    asked, found = asked_by_model(model, cases), asked_by_javascript(text, cases)
    reasons = [step["why"] for steps in asked for step in steps]
    assert [step["why"] for steps in found for step in steps] == reasons
    for label in labels:
        assert any(str(label) in why for why in reasons)
    policy = json.loads(text)
    assert ("labels" in policy) == (type(labels[0]) in (float, bool))
    policy.pop("labels", None)  # as version 0.2.0 exported it
    assert differences(asked, asked_by_javascript(json.dumps(policy), cases)) == []


@needs_node
def test_a_question_whose_price_alone_is_above_the_cost_of_an_answer_has_no_estimate():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    model = MixtureClassifier(lam=0.01, calibration="temperature", random_state=0).fit(X, y)
    cases = cases_of(model, X, 60)
    asked, found = asked_by_model(model, cases), asked_by_javascript(model.policy_json(), cases)
    assert [[step["why"] for step in steps] for steps in found] == [[step["why"] for step in steps] for steps in asked]
    reasons = str(asked)
    assert "what going on costs is not estimated" in reasons
    assert "not certain enough" not in reasons


@needs_node
def test_values_are_read_as_in_sessions():
    given = [(column, text, accept) for column in COLUMNS for text in TEXTS for accept in (False, True)]
    listed = [(c._asdict() | {"features": [0] * len(c.feature_names)}, text, accept) for c, text, accept in given]
    found = run_node(
        SCRIPTS.parent.parent / "tests/support/read_values.js", json.dumps({"folder": str(SCRIPTS), "values": listed})
    )
    for (column, text, accept), got in zip(given, found, strict=True):
        value = float(text) if column.kind == "number" and re.fullmatch(r"[-\d.e]+", text) else text
        try:
            wanted = check_value(column, value, accept)
        except Refusal as refusal:
            sentence, acceptable = refusal.sentence.replace("True or False", "yes or no"), refusal.acceptable
            assert got["acceptable"] == acceptable, (column, text)
            assert re.sub("got .*?(;|$)", r"got\1", got["refusal"].rstrip(".")) == re.sub(
                "got .*?(;|$)", r"got\1", sentence
            )
        else:
            assert got["remark"] == wanted.remark, (column, text)
            if column.kind == "number":
                assert got["value"] - column.offset == wanted.features[0]


def read_by_page(given):
    """What the page reads of each (column, text): a number, or None where it refuses."""
    listed = [(c._asdict() | {"features": [0]}, text, False) for c, text in given]
    script = SCRIPTS.parent.parent / "tests/support/read_values.js"
    found = run_node(script, json.dumps({"folder": str(SCRIPTS), "values": listed}))
    return [read.get("value") for read in found]


def read_by_session(column, text):
    try:
        value = value_of_text(column, text)
        check_value(column, value)
        return float(value)
    except ValueError:
        return None


@needs_node
def test_a_program_cannot_take_no_value_for_a_number(tmp_path):
    """``null`` counted as 0, which is what an empty cell of JSON rows is."""
    columns = [
        {"name": "crp", "kind": "number", "features": [0], "offset": 0},
        {"name": "fever", "kind": "bool", "features": [1]},
        {"name": "pain", "kind": "category", "features": [2], "levels": ["chest", "none"]},
    ]
    script = tmp_path / "know.js"
    script.write_text(
        'const { folder, columns, values } = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'
        "const { Case } = require(`${folder}/interpreter.js`);\n"
        "const said = values.map(([k, value]) => {\n"
        "  const one = new Case({ columns, nFeatures: 3, groups: [], rules: {} });\n"
        "  try { one.know(k, value); } catch (error) { return `${error}`; }\n"
        "  return [Array.from(one.values), one.closed];\n"
        "});\n"
        "console.log(JSON.stringify(said));\n"
    )
    wrong = [(0, None), (0, ""), (0, "14,5"), (0, True), (1, "False"), (1, 1), (1, None), (2, None), (2, 3)]
    right = [(0, 3.5), (1, False), (2, "none"), (2, "back")]
    given = {"folder": str(SCRIPTS), "columns": columns, "values": [*wrong, *right]}
    found = run_node(script, json.dumps(given))
    for (k, value), text in zip(wrong, found, strict=False):
        assert text.startswith(f"TypeError: {columns[k]['name']} must be a "), value
    assert found[0] == "TypeError: crp must be a number, got null; leave the column out where it has no value"
    assert [values for values, _ in found[-4:]] == [[3.5, None, None], [None, 0, None], [None, None, 1], [None] * 3]
    assert found[-1][1] == [False, False, True]  # a level that training did not have is unknown


@needs_node
def test_numbers_in_all_writings_are_read_as_in_sessions():
    marks = ("%", "EUR", "BPM")
    writings = [(".", ""), (".", ","), (".", "'"), (",", ""), (",", "."), (",", " ")]
    columns = [
        Column("x", unit=unit, decimal=decimal, thousands=thousands, censored=censored)
        for decimal, thousands in writings
        for censored in ("", "half")
        for unit in ("", *marks)
    ]
    plain = ("1.007", "1,007", "1.234,5", "1,234.5", "1.234.567", "1 234", "1'234", "12", "1,5e2", "-3.5", ".5", "5.")
    odd = ("", "0x10", "0b1", "1.2.3", "١", "inf", "nan", "1_0", "−3", "--3", "EUR 3 EUR", "%%5")
    texts = [*plain, *odd, *(f"<{t}" for t in (*plain, *odd)), "≤ 3", "<-3", "<0", ">1,5", ">=5", "< 1,5"]
    texts += [f(m) for m in marks for f in ("5 {}".format, "{}5".format, "{} 5".format, "<5{}".format, "<{}".format)]
    given = [(column, text) for column in columns for text in texts]
    wanted = [read_by_session(*pair) for pair in given]
    assert [got for got in zip(given, read_by_page(given), wanted, strict=True) if got[1] != got[2]] == []
    assert 0.1 < np.mean([value is not None for value in wanted]) < 0.9


@needs_node
def test_the_page_knows_the_currencies_of_tables():
    given = [(Column("x", unit=unit), f"5 {unit}") for unit in [*MONEY.split(), "BPM", "Kr", "eur", "%"]]
    wanted = [read_by_session(*pair) for pair in given]
    assert read_by_page(given) == wanted
    assert 20 < sum(value is not None for value in wanted) < len(given)


@needs_node
def test_money_is_written_in_plain_digits_as_in_sessions(tmp_path):
    rng = np.random.default_rng(0)
    numbers = [0.0, 2.5, 9999.5, 9999.7, 12345.0, 12344.5, 123456.789, -12345.0, 1e14, 1e15, 0.00002, 1.25e-7, 1e-12]
    numbers += (10.0 ** rng.uniform(-10, 16, 300)).tolist()
    script = tmp_path / "money.js"
    script.write_text(
        f"""const words = require({json.dumps(str(SCRIPTS / "words.js"))});
        const {{ numbers, sentences }} = JSON.parse(require("fs").readFileSync(0, "utf8"));
        words.speak({{ sentences, currency: "EUR", same_unit: true }});
        const texts = numbers.map((x) => [words.moneyText(x), words.costText(x), words.figure(x, 10)]);
        console.log(JSON.stringify(texts));"""
    )
    found = run_node(script, json.dumps({"numbers": numbers, "sentences": dict(sentences_of("de"))}))
    with speaking(Speech("de", "EUR", same_unit=True)):
        assert found == [[money_text(x), cost_text(x), number_text(x, ".10g")] for x in numbers]
        assert [money_text(x) for x in (12345, 1234567.8, 9999.7, 0.00002)] == [
            "12345 EUR",
            "1234568 EUR",
            "10000 EUR",
            "0,00002 EUR",
        ]


@needs_node
def test_probabilities_and_classes_are_said_as_in_sessions(tmp_path):
    shares = [0.0, 0.0004, 0.004, 0.0196, 0.0999, 0.1, 0.414, 0.9, 0.951, 0.996, 0.9996, 1.0]
    labels, costs = ["no", "yes", "acs", "1", "No finding"], [[0.0, 25000.0], [50.0, 0.0]]
    script = tmp_path / "shares.js"
    script.write_text(
        f"""const words = require({json.dumps(str(SCRIPTS / "words.js"))});
        const {{ shares, labels, costs, sentences, spoken }} = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const named = ["no", "yes"], policy = {{ classes: named, labels: named, answers: named, errorCosts: costs }};
        console.log(JSON.stringify(spoken.map((one) => {{
          words.speak({{ sentences, ...one }});
          const cutoff = words.cutoffText(policy, {{ probabilities: [0.5, 0.5] }});
          return [...shares.map(words.probabilityText), ...labels.map(words.className), cutoff];
        }})));"""
    )
    spoken = [{"fine": False, "target": ""}, {"fine": True, "target": "appendicitis"}]
    given = {
        "shares": shares,
        "labels": labels,
        "costs": costs,
        "sentences": dict(sentences_of("de")),
        "spoken": spoken,
    }
    wanted = []
    for one in spoken:
        with speaking(Speech("de", **one)):
            cutoff = cutoff_text(["no", "yes"], np.array(costs))
            wanted.append([*map(probability_text, shares), *map(class_name, labels), cutoff])
    assert run_node(script, json.dumps(given)) == wanted
    assert "'appendicitis: yes'" in wanted[1]
    said = "Da Fehler verschieden viel kosten, ist yes ab einer Wahrscheinlichkeit von 0,2 % die Antwort."
    assert [texts[-1] for texts in wanted] == [said, said]


@needs_node
@pytest.mark.parametrize(
    ("levels", "chosen"),
    [(["er", "gp", "icu"], True), (["yes", "no"], True), (["1", "2", "7", "9"], False), (["none", "1-2"], False)],
)
def test_digits_choose_by_place_only_where_no_level_is_a_number(levels, chosen):
    given = json.dumps({"folder": str(SCRIPTS), "levels": levels})
    assert run_node(SCRIPTS.parent.parent / "tests/support/digits_choose.js", given) is chosen


@needs_node
def test_a_case_has_the_place_in_a_chart_that_sessions_have():
    X, y = clinic_table(600)
    rng = np.random.default_rng(0)
    X = X.mask((rng.random(X.shape) < 0.35) & (X.columns != "age"))
    options = OPTIONS | {"prerequisites": None, "costs": OPTIONS["costs"] | {"ct": 3.0}}
    model = MixtureClassifier(random_state=0, **options).fit(X, y)
    chart = model.chart(X, y, max_boxes=60)
    boxes = [g for g in ET.fromstring(chart.to_svg()).iter() if g.get("class") == "box"]
    data = [[json.loads(box.get(f"data-{name}", "")) for name in ("known", "unavailable", "question")] for box in boxes]
    assert [tuple(one) for one in data] == [(sorted(b.known), sorted(b.unavailable), b.question) for b in chart.boxes]
    policy, names = json.loads(model.policy_json()), list(model.columns_.names)
    cases, wanted = [], []
    for case in cases_of(model, X, 60):
        known, none = model.session(case.given, case.unavailable).outcomes()
        wanted.append([(chart.place(known, a["name"], none) or 0) - 1 for a in policy["acquisitions"]])
        given = [[names.index(name), value] for name, value in case.given.items()]
        cases.append({"known": given, "unavailable": [*map(names.index, case.unavailable)]})
    assert len({place for places in wanted for place in places}) > 20
    given = {"folder": str(SCRIPTS), "policy": policy, "boxes": data, "cases": cases}
    assert run_node(SCRIPTS.parent.parent / "tests/support/place_cases.js", json.dumps(given)) == wanted


def said_by_page(tmp_path, expression, given, language=None):
    """What an expression of ``words`` gives of each ``x`` of a list, in Node."""
    script = tmp_path / "expression.js"
    speech = json.dumps({"sentences": sentences_of(language or "en"), "currency": ""})
    script.write_text(
        f"const words = require({json.dumps(str(SCRIPTS / 'words.js'))});\n"
        f"words.speak({speech});\n"
        'const given = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'
        f"console.log(JSON.stringify(given.map((x) => {expression})));\n"
    )
    return run_node(script, json.dumps(given))


def exported_column(column):
    """A column as in an exported policy."""
    written = column._asdict()
    return {k: v for k, v in written.items() if v != Column._field_defaults.get(k) or k in ("kind", "levels", "low")}


@needs_node
def test_a_phone_has_the_same_keys_as_on_pages_of_a_server(tmp_path):
    """An exported page had digits alone where a number may be negative, and both had them where ``<1,5`` is typed."""
    columns = [
        Column("x", kind, low=low, high=None if low is None else 9.0, decimal=decimal, thousands=thousands, censored=c)
        for kind in ("number", "category")
        for low in (None, -1.0, 0.0, 2.0)
        for decimal, thousands, c in ((".", "", ""), (",", "", ""), (".", ",", ""), (".", "", "half"))
    ]
    wanted = [blank_entry(0, column).keyboard for column in columns]
    assert said_by_page(tmp_path, "words.keyboard(x)", [exported_column(column) for column in columns]) == wanted
    digits = [c for c, keyboard in zip(columns, wanted, strict=True) if keyboard == "decimal"]
    assert digits == [Column("x", low=low, high=9.0) for low in (0.0, 2.0)]


@needs_node
def test_facts_of_the_page_are_those_of_sessions_and_of_pages_of_a_server(tmp_path):
    (facts,) = said_by_page(tmp_path, "words.FACTS", [0])
    homes = {"FACTORS": training_summary, "MOST_FACTORS": values, "LEVELS_AS_BUTTONS": entries}
    homes |= {
        "NO_NOUN": sentences,
        "RUNNERS_UP": reasons,
        "TIE": reasons,
        "BELIEFS_SHOWN": words,
        "ALTERNATIVES_SHOWN": words,
    }
    shared = {name: getattr(home, name) for name, home in homes.items()}
    assert facts == shared | {"FACTORS": list(training_summary.FACTORS)}
    tags = parts_of(page_html(json.loads(clinic_model().policy_json()), "c"))[0].tags
    assert [a["maxlength"] for _, a in tags if a.get("id") == "note"] == [str(LONGEST_NOTE)]


@needs_node
def test_whole_numbers_keep_their_digits_as_in_sessions(tmp_path):
    """A time in milliseconds lost its last digit in the log of the page."""
    column = Column("t", unit="ms", decimal=",")
    typed = (
        "1700000000123",
        "123456789012345",
        "9007199254740991",
        "-12",
        "-0",
        "1e15",
        "1e16",
        "0,1",
        "12345,678901234",
    )
    numbers = [value_of_text(column, text) for text in typed]
    shown = said_by_page(tmp_path, "words.valueText(x[0], x[1])", [(exported_column(column), v) for v in numbers])
    assert shown == [words.value_text(column, value) for value in numbers]
    assert shown[:3] == [f"{text} ms" for text in typed[:3]]


@needs_node
@pytest.mark.parametrize(
    ("language", "prices"),
    [
        (
            "de",
            {"1.000": None, "12.500": None, "2,5": 2.5, "2.5": 2.5, "0.125": 0.125, "1.0001": 1.0001, "1.000,5": None},
        ),
        ("en", {"1.000": 1, "1,000": None, "2.5": 2.5, "-1": None, "1e3": 1000}),
    ],
)
def test_a_price_that_may_be_two_is_refused(tmp_path, language, prices):
    assert said_by_page(tmp_path, "words.priceOf(x)", list(prices), language) == list(prices.values())


@needs_node
@pytest.mark.parametrize("levels", [(" a", "a"), ("3.0", "3"), ("3", "3.0"), ("a ", " "), ("1.", "1.0 ", "2")])
def test_a_level_is_found_by_the_spelling_by_which_sessions_find_it(levels):
    """The first level that is equal without blanks was taken, also where another one has this spelling."""
    column = Column("w", "codes", levels)
    texts = [*levels, "a", "3", "3.00", "1", "1.0", " 2", ""]
    given = [(column, text) for text in texts]
    places = [find_level(text, level_places(levels)) for text in texts]
    assert read_by_page(given) == [None if place is None else levels[place] for place in places]


@needs_node
@pytest.mark.parametrize("levels", [("er",), ("er", "gp"), ("er", "gp", "icu")])
def test_a_level_has_the_features_that_it_has_in_a_table(tmp_path, levels):
    script = tmp_path / "know.js"
    script.write_text(
        'const { folder, column, level } = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'
        "const { Case } = require(`${folder}/interpreter.js`);\n"
        "const one = new Case({ columns: [column], nFeatures: column.features.length, groups: [], rules: {} });\n"
        "one.know(0, level);\n"
        "console.log(JSON.stringify(Array.from(one.values)));\n"
    )
    for kind in ("category", "codes"):
        column = Column("ward", kind, levels)
        features = list(range(len(column.feature_names)))
        exported = {"name": "ward", "kind": kind, "levels": levels, "features": features}
        for level in levels:
            found = run_node(script, json.dumps({"folder": str(SCRIPTS), "column": exported, "level": level}))
            assert found == Columns([column]).encode(pd.DataFrame({"ward": [level]}))[0].tolist()


class Parts(HTMLParser):
    """The tags with their attributes, and the texts of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.styles = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        {"script": self.scripts, "style": self.styles}.get(self.cdata_elem, []).append(data)


def parts_of(text):
    """The parts of a page, and the sources that its content security policy allows."""
    parts = Parts(text)
    rules = next(a["content"] for t, a in parts.tags if a.get("http-equiv") == "Content-Security-Policy")
    return parts, {rule.split()[0]: rule.split()[1:] for rule in rules.split("; ")}


def source(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_only_its_own_script_and_style_may_run(tmp_path):
    policy = json.loads(clinic_model().policy_json())
    text = page_html(policy, "clinic", CHART)
    parts, rules = parts_of(text)
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    data, script = parts.scripts
    assert rules["script-src"] == [source(script)]
    assert rules["style-src"] == [source(unescape(style)) for style in parts.styles]
    assert len(parts.styles) == 2
    assert json.loads(data) == policy
    for tag, attributes in parts.tags:
        assert not {"src", "href", "style"} & set(attributes) or attributes.get("href", "").startswith("#"), tag
        assert not any(name.startswith("on") for name in attributes), tag
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|innerHTML|eval\(|fetch\(|localStorage", text)


def test_hostile_names_stay_text(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, len(HOSTILE))), columns=list(HOSTILE))
    table[HOSTILE[0]] = rng.choice(HOSTILE, 60)
    labels = np.where(table[HOSTILE[1]] > 0, HOSTILE[0], HOSTILE[2])
    model = DatumWiseClassifier(n_iterations=1, random_state=0).fit(table, labels)
    model.save_page(tmp_path / "page.html", title=HOSTILE[0])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    parts, _ = parts_of(text)
    assert [tag for tag, _ in parts.tags].count("script") == text.count("<script") == 2
    assert "img" not in [tag for tag, _ in parts.tags]
    assert json.loads(parts.scripts[0]) == json.loads(model.policy_json())
    assert "\u2028" not in parts.scripts[0]


def test_chart_of_the_model(tmp_path, monkeypatch):
    class Chart:
        caveat, is_usable = "Percentages in the chart are of 3 cases.", True

        def to_svg(self, here=None, dark=False):
            return CHART

    def no_chart(self):
        raise ValueError("this model has no chart")

    model = clinic_model("rcpi")
    monkeypatch.setattr(type(model), "chart", lambda self: Chart(), raising=False)
    model.save_page(tmp_path / "page.html")
    assert CHART in (tmp_path / "page.html").read_text()
    assert "Show it all the same" not in (tmp_path / "page.html").read_text()
    Chart.is_usable = False
    model.save_page(tmp_path / "page.html")
    told, _, folded = (tmp_path / "page.html").read_text().partition("<summary>Show it all the same</summary>")
    assert Chart.caveat in told
    assert CHART in folded
    monkeypatch.setattr(type(model), "chart", no_chart, raising=False)
    model.save_page(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert 'id="chart"' not in text
    assert "<title>page</title>" in text


def test_ids_that_tests_in_a_browser_use():
    ids = {
        attributes.get("id")
        for _, attributes in parts_of(page_html(json.loads(clinic_model().policy_json()), "c"))[0].tags
    }
    wanted = (
        "start begin question question-title give unknown later undo why restart answer-title beliefs log alternatives"
    )
    assert set(wanted.split()) <= ids
