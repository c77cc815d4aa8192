"""What a model file keeps of rows that the model was not trained on, and what pages say of it."""

from __future__ import annotations

import json
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from agents import load_classifier
from fsgym import Bins
from fsgym.evaluation.evaluate import evaluate
from fsgym.session.held_out import HeldOut, data_title, reliability_text, shown_chart, titled
from fsgym.text.speech import Speech, speaking
from support.browsing import Visitor
from support.clinic import clinic_model, clinic_table

NONE = "No promise was made for this model. No figures of rows that it was not trained on are stored with it; fsgym"


@pytest.fixture(scope="module")
def measured():
    """A model whose file says how it did on other rows, and the evaluation by them."""
    model, (X, y) = copy(clinic_model()), clinic_table(200, 1)
    found = evaluate(model, X, y)
    model.held_out_ = HeldOut.of(found.confusion, found.absolute_errors, model.policy_digest())
    return model, found


def _limit(missed, n):
    """The exact upper limit at 95 %: the share at which so few are wrong in one of twenty samples."""
    return f"{100 * binomtest(missed, n, alternative='less').proportion_ci(0.95).high:.2g} %"


def test_none_of_few_rows_has_an_upper_limit():
    record = HeldOut.of(np.array([[55, 30], [0, 35]]), None, "0" * 64)
    with speaking(Speech(target="appendicitis")):
        sentence = record.sentence(["no", "yes"], "On 120 rows")
    assert "30 of 85 'appendicitis: no' (up to 45 %) and 0 of 35 'appendicitis: yes' (up to 8.2 %)." in sentence
    assert "0 of 35 'yes' (up to 8.2 %)" in record.sentence(["no", "yes"], "On 120 rows")


def test_what_was_missed_on_other_rows_is_said_on_page_and_printout(measured, tmp_path):
    model, found = measured
    wrong = found.answers != found.dataset.y
    ill, well = (f"{int(wrong[found.dataset.y == k].sum())} of {int((found.dataset.y == k).sum())}" for k in (0, 1))
    said = "No promise was made for this model. On 200 rows that it was not trained on, it answered wrongly:"
    limits = [_limit(int(wrong[found.dataset.y == k].sum()), int((found.dataset.y == k).sum())) for k in (0, 1)]
    text = f"{said} {ill} ill (up to {limits[0]}) and {well} well (up to {limits[1]}). In brackets"
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert again.held_out_ == model.held_out_
    assert reliability_text(again).startswith(text)
    visitor = Visitor(again).sign_in().begin()
    assert visitor.text.count(text) == 1
    assert Visitor(again).sign_in().text.count(text) == 1  # before a case
    assert visitor.go(f"{visitor.reply.url.path}/log").text.count(text) == 1
    again.save_page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text in page
    caveat = f'<p class="quiet">{model.chart().caveat}</p>'  # above the frame that is scrolled sideways
    assert "of 60 training cases" in caveat
    for whole in (page, visitor.begin().reply.text):
        assert caveat in whole


def test_a_model_without_figures_says_how_it_is_measured(measured):
    assert reliability_text(clinic_model()).startswith(NONE)
    ruled = copy(measured[0]).calibrate(min_confidence=0.9)
    assert reliability_text(ruled).startswith(NONE)  # the figures are of the policy without the rule
    assert ruled.without_promise().held_out_ == measured[0].held_out_


def test_a_promise_is_said_with_the_counts_of_the_rows_that_it_rests_on(tmp_path):
    """Pages and files said nothing of false alarms where a recall was promised."""
    X, y = clinic_table(800, 1)
    model = copy(clinic_model(lam=0.03)).calibrate(X, y, target_recall={"ill": 0.9}, confidence=0.8)
    wrong = model.predict(X) != y
    of = {name: (int(wrong[y == name].sum()), int((y == name).sum())) for name in ("ill", "well")}
    ill, well = (f"{m} of {n} {name} (up to {_limit(m, n)})" for name, (m, n) in of.items())
    counts = f"On 800 rows that it was not trained on, it answered wrongly: {ill} and {well}."
    assert wrong[y == "ill"].sum() == model.promise_.tests[0].loss
    whole = f"Promised with confidence 80 %: at least 90 % of the ill are found. {counts}"
    assert reliability_text(model).startswith(whole)
    assert reliability_text(model, in_case=True).startswith(counts)
    visitor = Visitor(model).sign_in()
    assert visitor.text.count(whole) == 1
    assert visitor.begin().text.count(counts) == 1
    model.save(tmp_path / "model")
    load_classifier(tmp_path / "model").save_page(tmp_path / "page.html")
    assert whole in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_pages_are_called_as_the_training_data(measured):
    model = copy(measured[0])
    for origin, title in (
        (None, ""),
        ({"name": "wards"}, "wards"),
        ({"name": "wards", "target": "ill"}, "ill (wards)"),
    ):
        model.training_data_ = origin
        assert (data_title(model), titled(model, "")) == (title, title)
        assert titled(model, "Ward 3") == ("Ward 3: ill (wards)" if "ill" in title else "Ward 3")  # the target stays
    assert titled(model, "Who is ill?") == "Who is ill?"
    assert titled(model, "Medical billing") == "Medical billing: ill (wards)"  # a part of a word names no target


@pytest.mark.parametrize(
    ("confusion", "errors", "text"),
    [
        (
            [[3, 1, 2], [0, 4, 0]],
            None,
            "On 10 rows, it answered wrongly: 1 of 6 a (up to 58 %) and 0 of 4 b (up to 53 %).",
        ),
        (
            [[9, 1, 1], [0, 4, 1]],
            None,
            "2 of them. Only 5 of these rows are b: what it believes of such a case, and",
        ),
        ([[90, 1], [0, 20]], None, "and 0 of 20 b (up to 14 %)."),
        ([[9, 1], [0, 0]], None, "On 10 rows, it answered 1 wrongly. Only 10 of these rows are a"),
        ([[9, 1], [0, 5]], np.repeat(0.25, 15), "its answers were 0.25 away from the true numbers on average."),
    ],
)
def test_counts_in_words(confusion, errors, text):
    record = HeldOut.of(np.array(confusion), errors, "0" * 64)
    sentence = record.sentence(["a", "b"], "On 10 rows")
    assert text in sentence
    assert ("It referred 2 of them." in sentence) == (len(confusion[0]) == 3)
    in_hours = record.sentence(Bins.of([4, 6], edges=[5], unit="h").ranges(), "On 10 rows")
    assert (" 0.25 h away " in in_hours) == (errors is not None)
    assert sentence.endswith("to cost, is rough.") == (errors is None and sum(map(sum, confusion)) < 100)
    assert HeldOut.from_json(json.loads(json.dumps(record._asdict())), 2) == record


@pytest.mark.parametrize("share", [0.3, 0.004])  # of wrong answers; rare ones may cost most
@pytest.mark.parametrize(("held_out", "new"), [(270, 200), (60, 1000), (2000, 50)])
def test_errors_as_before_are_rarely_said_to_be_more(share, held_out, new):
    """At most as often as the level says, however rare the errors are."""
    rng, found, larger = np.random.default_rng(0), 0, 0

    def draw(n):
        y = rng.integers(2, size=n)
        return y, np.where(rng.random(n) < share, 1 - y, y), rng.lognormal(0, 2, n)

    for _ in range(300):
        y, answers, errors = draw(held_out)
        confusion = np.zeros((2, 2), np.int64)
        np.add.at(confusion, (y, answers), 1)
        y, answers, others = draw(new)
        for of_numbers in (None, errors):
            record = HeldOut.of(confusion, of_numbers, "0" * 64)
            test = record.compare(answers, y, ["a", "b"], None if of_numbers is None else others)
            assert test is not None
            if of_numbers is None:
                found += test.p_value <= 0.05
            else:
                larger += test.p_value <= 0.05
    assert max(found, larger) <= 25  # of 300; 15 are expected at most, and 25 in one of a hundred


@pytest.mark.parametrize(
    "change",
    [
        *({"rows": [1]}, {"missed": [1, -1]}, {"referred": "2"}, {"policy": 3}, {"absolute_error": np.nan}),
        {"rows": 5},
        *({"cuts": [2.0, 1.0], "counts": [100, 200]}, {"cuts": [1.0], "counts": [3]}, {"counts": 5}),
    ],
)
def test_damaged_counts_are_refused(measured, change):
    plain = measured[0].held_out_._asdict()
    assert HeldOut.from_json(plain, 2) == measured[0].held_out_
    with pytest.raises((ValueError, TypeError)):
        HeldOut.from_json(plain | change, 2)


class ModelWithCharts:
    """A model whose charts of few boxes do not pay; it keeps what they are asked with."""

    def __init__(self, enough):
        self.enough, self.asked = enough, []

    def chart(self, *rows, max_boxes=30):
        self.asked.append((rows, max_boxes))
        return SimpleNamespace(n_boxes_enough=None if max_boxes >= self.enough else self.enough, n=max_boxes)


def test_a_chart_that_is_shown_has_enough_boxes_to_pay():
    model = ModelWithCharts(enough=15)
    assert shown_chart(model).n == 30
    assert shown_chart(model, "X", "y", max_boxes=4).n == 15
    assert model.asked == [((), 30), (("X", "y"), 4), (("X", "y"), 15)]
    assert shown_chart(object()) is None


def test_a_model_that_refuses_has_no_chart_to_show(monkeypatch):
    def refuse(self):
        raise ValueError("this model has no chart")

    monkeypatch.setattr(ModelWithCharts, "chart", refuse)
    assert shown_chart(ModelWithCharts(1)) is None
