"""The exported page, opened as a file in Chromium: cases asked to their end, its buttons, hostile names, axe-core."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from test_accessible_pages import defects

from agents import LatticeClassifier, MixtureClassifier
from fsgym import Dataset
from fsgym.session import words
from fsgym.text.sentences import probability_text
from fsgym.text.speech import said
from support.clinic import certain_clinic, chest_model, clinic_model, clinic_table
from support.hostile import hostile_model

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "clinic.html"
    clinic_model().save_page(path)
    return path.as_uri()


def fill(page, question, row):
    """Fill in the fields of a question with the values of a row."""
    fields = page.locator("#question-fields")
    for column in question.columns:
        value = row[column.name]
        if column.kind == "number":
            fields.get_by_role("textbox", name=column.name).fill(f"{value:g}")
        else:
            shown = {"True": "yes", "False": "no"}.get(str(value), str(value))
            fields.locator("label", has_text=shown).first.click()


def same_beliefs(page, session):
    shown = page.locator("#beliefs").inner_text()
    for label, share in session.probabilities.items():
        assert str(label) in shown
        assert probability_text(share) in shown


@pytest.mark.parametrize("width", [1280, 390])
def test_cases_are_asked_as_by_the_model(open_page, shoot, page_file, width):
    model, (table, _) = clinic_model(), clinic_table()
    with open_page(page_file, width) as page:
        for k in range(6):
            session, row = model.session(), table.iloc[k]
            page.locator("#begin").click()
            while question := session.next():
                assert page.locator("#question-title").inner_text() == question.name
                same_beliefs(page, session)
                assert page.locator("#chart .box.here").get_attribute("data-question") == json.dumps(question.name)
                fill(page, question, row)
                page.keyboard.press("Enter")
                values = {c.name: row[c.name] if c.kind != "bool" else bool(row[c.name]) for c in question.columns}
                session.answer(question.name, values)
            assert str(session.step.answer) in page.locator("#answer-title").inner_text()
            assert float(page.locator("#paid").inner_text()) == pytest.approx(session.spent)
            same_beliefs(page, session)
            if k == 0:
                shoot(page, f"exported-answer-{width}")
            page.locator("#restart").click()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_button(open_page, shoot, page_file, width):
    session = clinic_model().session()
    with open_page(page_file, width) as page:
        title = page.locator("#question-title")
        page.locator("#begin").click()
        first = session.next().name
        assert title.inner_text() == first
        page.keyboard.press("Escape")
        assert session.why() in page.locator("#reason").inner_text()
        page.keyboard.press("?")
        assert not page.locator("#reason").is_visible()
        page.keyboard.press("?")
        page.locator("#unknown").click()
        session.unknown(first)
        assert title.inner_text() == session.next().name
        page.locator("#later").click()
        session.later(session.next().name)
        assert title.inner_text() == session.next().name
        shoot(page, f"exported-question-{width}")
        page.locator("#undo").click()
        page.locator("#undo").click()
        assert title.inner_text() == first
        page.locator("#alternatives summary").click()
        page.get_by_role("button", name="Acquire crp instead").click()
        assert title.inner_text() == "crp"
        page.locator("#question-fields input").fill("9000")
        page.keyboard.press("Enter")
        assert "must be a number from" in page.locator("#refusal").inner_text()
        shoot(page, f"exported-refused-{width}")
        page.locator("#accept").click()
        assert "9000" in page.locator("#log").inner_text()
        assert "not as in training: crp: outside the range" in page.locator("#belief .refused").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_prices_of_the_case_are_typed(open_page, shoot, tmp_path, width):
    rng = np.random.default_rng(0)
    y, surcharge = rng.integers(0, 2, 300), rng.random(300) < 0.5
    shown = np.where(rng.random(300) < 0.1, 1 - y, y)
    prices = np.stack([np.where(surcharge, 4, 1), np.where(surcharge, 1, 4), np.ones(300)], axis=1)
    names = ["scan", "blood", "age"]
    data = Dataset(np.stack([shown, shown, y * 0], axis=1), y, feature_names=names, case_costs=prices)
    model = MixtureClassifier(lam=0.03, random_state=0).fit(data)
    model.save_page(tmp_path / "priced.html", currency="EUR")
    with open_page((tmp_path / "priced.html").as_uri(), width) as page:
        fields = page.locator("#price-fields input")
        assert fields.count() == 2  # the price of age is always the same
        shoot(page, f"exported-prices-{width}")
        fields.nth(0).fill("much")
        page.locator("#begin").click()
        assert "The price of 'scan' must be a number" in page.locator("#start-refusal").inner_text()
        for told in ({"scan": 1.0, "blood": 4.0}, {"scan": 4.0, "blood": 1.0}, {"scan": 70.0}, {}):
            for k, name in enumerate(("scan", "blood")):
                fields.nth(k).fill(f"{told[name]:g}" if name in told else "")
            page.locator("#begin").click()
            step = model.step({}, prices=told)
            assert page.locator("#question-title").inner_text() == step.question.name
            assert f"price {step.question.price:g} EUR" in page.locator("#question-price").inner_text()
            far = page.locator("#far-prices")
            assert far.is_visible() == (told.get("scan") == 70)
            said = page.locator("#told-prices").inner_text()
            listed = ", ".join(f"{name} {price:g} EUR" for name, price in told.items())
            assert said == (f"Prices of this case: {listed}" if told else "The prices are the means of the training.")
            shoot(page, f"exported-priced-case-{width}")
            page.locator("#restart").click()
            assert fields.nth(0).input_value() == ""


@pytest.mark.parametrize("width", [1280, 390])
def test_a_case_is_stopped_earlier_than_the_promise(open_page, shoot, tmp_path, width):
    session = certain_clinic().session()
    session.model.save_page(tmp_path / "certain.html")
    with open_page((tmp_path / "certain.html").as_uri(), width) as page:
        page.locator("#begin").click()
        stop, ends, certainty = (page.locator(f"#{name}") for name in ("stop", "stop-ends", "certainty"))
        before = certainty.inner_text()
        assert (before, ends.inner_text()) == (session.step.certainty.text, session.stop_ends)
        shoot(page, f"exported-may-stop-{width}")
        answer = session.stop()
        assert stop.inner_text().startswith(f"Stop now: {answer}")
        assert ends.locator("strong").count() == 1  # it is not certain enough
        stop.click()
        assert f"Answer: {answer} (paid 0 in total)" in page.locator("#answer-title").inner_text()
        assert certainty.inner_text() == session.step.certainty.text
        assert "stopped now" in page.locator("#log").inner_text()
        assert words.free_left_text(session.step) == page.locator("#free-left").inner_text()
        assert not ends.is_visible()
        assert not stop.is_visible()
        assert page.locator("#reason").inner_text().startswith(session.why())
        shoot(page, f"exported-stopped-{width}")
        page.locator("#undo").click()
        assert certainty.inner_text() == before
        assert stop.is_visible()


def test_a_case_is_not_left_without_a_warning(chromium, page_file):
    page, asked = chromium.new_page(), []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(page_file)
    page.locator("#begin").click()
    page.reload()
    assert asked == []  # nothing was said of the case yet
    page.locator("#begin").click()
    page.locator("#unknown").click()
    page.reload()
    assert asked == ["beforeunload"]
    page.close()


def test_a_new_case_asks_before_an_unfinished_one_is_lost(chromium, page_file):
    """It wiped the case at once, beside the button that prints it."""
    page, answers, asked = chromium.new_page(), iter([False, True]), []

    def reply(dialog):
        asked.append(dialog.message)
        dialog.accept() if next(answers) else dialog.dismiss()

    page.on("dialog", reply)
    page.goto(page_file)
    page.locator("#begin").click()
    page.locator("#restart").click()
    assert asked == []  # nothing was said of the case yet
    page.locator("#begin").click()
    page.locator("#unknown").click()
    question = page.locator("#question-title").inner_text()
    page.locator("#restart").click()
    assert page.locator("#question-title").inner_text() == question
    page.locator("#restart").click()
    assert page.locator("#begin").is_visible()
    assert asked == [said("leave_case")] * 2
    page.locator("#begin").click()
    page.locator("#unknown").click()
    page.locator("#stop").click()
    page.locator("#restart").click()
    assert (page.locator("#begin").is_visible(), len(asked)) == (True, 2)  # it was finished
    page.close()


def test_a_printed_case_has_its_date_course_reason_note_and_promise_and_no_chart(open_page, shoot, tmp_path):
    session, row = certain_clinic().session(), clinic_table(800, 1)[0].iloc[0]
    session.model.save_page(tmp_path / "certain.html")
    with open_page((tmp_path / "certain.html").as_uri()) as page:
        page.locator("#begin").click()
        beliefs = []
        for _ in range(2):
            question = session.next()
            fill(page, question, row)
            page.keyboard.press("Enter")
            values = {c.name: row[c.name] if c.kind != "bool" else bool(row[c.name]) for c in question.columns}
            session.answer(question.name, values)
            beliefs.append(f"ill {probability_text(session.probabilities['ill'])}")
        assert all(belief in page.locator("#log").inner_text() for belief in beliefs)
        promised = page.locator("#promised p").first
        assert not page.locator("#printed").is_visible()
        assert not promised.is_visible()
        page.locator("#note").fill("bed 4, <b>asked twice</b>")
        page.locator("#why summary").click()
        assert not page.locator("#reason").is_visible()
        page.emulate_media(media="print")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert re.fullmatch(
            r"Model certain, printed \d{4}-\d\d-\d\d \d\d:\d\d\.", page.locator("#printed").inner_text()
        )
        assert promised.is_visible()
        assert session.why() in page.locator("#reason").inner_text()
        assert page.locator("#noted").inner_text() == "Reference or note: bed 4, <b>asked twice</b>"
        assert not page.locator("#chart").is_visible()
        shoot(page, "exported-printed")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        for closed in (promised, page.locator("#reason"), page.locator("#noted")):
            assert not closed.is_visible()


def test_known_in_advance(open_page, page_file):
    model = clinic_model()
    session = model.session(known={"age": 40})
    with open_page(page_file) as page:
        page.locator("#start-known summary").click()
        page.locator("#start-fields").get_by_label("age", exact=False).first.fill("40")
        page.locator("#begin").click()
        assert page.locator("#question-title").inner_text() == session.next().name
        same_beliefs(page, session)
        assert float(page.locator("#paid").inner_text()) == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_what_every_case_brings_is_asked_at_first_sight(open_page, shoot, tmp_path, width):
    """Age and sex were in the folded list of tests, and on a phone the only button to begin stood far above them."""
    model = chest_model()
    model.save_page(tmp_path / "chest.html")
    with open_page((tmp_path / "chest.html").as_uri(), width) as page:
        assert "embolism, harmless, pneumonia, or refers the case to a person." in page.locator("#start").inner_text()
        brought, others = page.locator("#always-fields"), page.locator("#start-fields")
        assert brought.locator("li").count() == others.locator("li").count() == 2
        shoot(page, f"exported-start-{width}")
        brought.get_by_label("age").fill("40")
        brought.locator("label", has_text="f").first.click()
        assert not others.is_visible()
        page.locator("#start-known summary").click()
        others.get_by_label("crp").fill("9000")
        page.locator("#start-known summary").click()
        last = page.locator("#start-known button")
        page.locator("#begin").click()
        assert others.locator("#start-refusal").is_visible()  # beside its field, in the opened list
        assert others.get_by_label("crp").evaluate("field => field === document.activeElement")
        assert last.inner_text() == "Accept it as it is"
        others.get_by_label("crp").fill("4")
        assert last.inner_text() == "Begin with this"
        last.click()
        session = model.session({"age": 40, "sex": "f", "crp": 4})
        same_beliefs(page, session)
        assert page.locator("#reason").inner_text() == session.why()
        page.locator("#stop").click()
        page.locator("#restart").click()
        assert page.locator("#start-refusal").count() == 1


def line_starts(page, place):
    """The parts of a text that stand on lines of their own."""
    return page.locator(place).first.evaluate("""place => {
        const lines = [], range = document.createRange();
        const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            for (let k = 0; k < node.length; k++) {
                range.setStart(node, k);
                range.setEnd(node, k + 1);
                const { top } = range.getBoundingClientRect();
                if (!lines.length || lines.at(-1)[0] !== top) lines.push([top, ""]);
                lines.at(-1)[1] += node.data[k];
            }
        }
        return lines.map(([, text]) => text);
    }""")


@pytest.mark.parametrize("width", [1280, 390])
def test_a_name_is_broken_at_an_underscore_and_a_new_case_says_nothing_of_the_last(open_page, shoot, tmp_path, width):
    chest_model().save_page(tmp_path / "chest.html")
    with open_page((tmp_path / "chest.html").as_uri(), width) as page:
        page.locator("#start-known summary").click()
        page.locator("#start-fields").get_by_label("blood_sample").fill("9000")
        page.locator("#begin").click()
        page.locator("#begin").click()  # accepted
        assert line_starts(page, "#log tbody td.name") in (["blood_", "sample"], ["blood_sample"])
        shoot(page, f"exported-names-{width}")
        assert page.locator(".refused:visible").count() == 1
        assert page.locator("#belief .refused").is_visible()
        page.locator("#stop").click()
        assert page.locator(".refused:visible").count() == 1  # the warning was there twice, on paper too
        assert page.locator("#answer .refused").is_visible()
        assert page.locator("#spoken").text_content()
        page.locator("#restart").click()
        assert page.locator("#spoken").text_content() == ""


def test_a_value_known_in_advance_is_undone(open_page, page_file):
    """A mistyped age of the first form stayed: Undo was disabled, and its row of the log had no button."""
    model, asked = clinic_model(), clinic_model().session()
    with open_page(page_file) as page:
        page.locator("#start-known summary").click()
        for name, value in (("age", "40"), ("crp", "7")):
            page.locator("#start-fields").get_by_label(name, exact=False).first.fill(value)
        page.locator("#begin").click()
        page.locator("#unknown").click()
        page.get_by_role("button", name="Undo age").click()
        asked.answer("crp", 7, paid=False)
        asked.unknown(model.session(known={"age": 40, "crp": 7}).next().name)
        same_beliefs(page, asked)
        assert "age" not in page.locator("#log").inner_text()
        page.locator("#undo").click()
        page.locator("#undo").click()
        assert page.locator("#undo").is_disabled()
        assert page.locator("#question-title").inner_text() == model.session().next().name
        same_beliefs(page, model.session())


@pytest.mark.parametrize(("levels", "shortcuts"), [(["7", "9"], 0), (["low", "high"], 2)])
def test_digits_choose_by_place_only_where_no_level_is_a_number(open_page, tmp_path, levels, shortcuts):
    table = pd.DataFrame({"code": pd.Categorical(np.resize(levels, 60))})
    model = MixtureClassifier(lam=0.01, random_state=0).fit(table, table["code"] == levels[0])
    model.save_page(tmp_path / "codes.html")
    with open_page((tmp_path / "codes.html").as_uri()) as page:
        page.locator("#begin").click()
        fields = page.locator("#question-fields")
        assert fields.locator("kbd").count() == shortcuts
        page.locator("#question-title").click()
        page.keyboard.press("2")
        assert fields.locator("input:checked").count() == bool(shortcuts)


def test_a_field_without_text_is_no_level_without_text(open_page, tmp_path):
    levels = ["", *(f"level {k}" for k in range(12))]  # too many for buttons
    table = pd.DataFrame({"kind": np.resize(levels, 390), "size": np.arange(390) % 7.0})
    model = MixtureClassifier(lam=0.02, random_state=0).fit(table, (table["kind"] == "") | (table["size"] > 4))
    model.save_page(tmp_path / "kinds.html")
    with open_page((tmp_path / "kinds.html").as_uri()) as page:
        page.locator("#begin").click()
        assert page.locator("#question-title").inner_text() == model.session().next().name
        same_beliefs(page, model.session())


def test_without_scripts_there_is_the_chart(open_page, shoot, page_file):
    with open_page(page_file, scripts=False) as page:
        assert "asks its questions with JavaScript" in page.locator("main").inner_text()
        assert page.locator("#chart svg .box").count() == len(clinic_model().chart().boxes)
        assert not page.locator("#chart svg").is_visible()
        page.locator("#chart summary").click()
        assert page.locator("#chart svg").is_visible()
        assert not page.locator("#question").is_visible()
        shoot(page, "exported-without-scripts")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_serious_defect(open_page, page_file, scheme, width):
    with open_page(page_file, width, scheme=scheme, bypass_csp=True) as page:
        assert defects(page) == []
        page.locator("#begin").click()
        page.locator("#alternatives summary").click()
        page.locator("#unknown").click()
        assert defects(page) == []


def test_hostile_names_are_text_and_nothing_is_fetched(open_page, shoot, tmp_path):
    path = tmp_path / "hostile.html"
    hostile_model().save_page(path, "</title><script>alert(9)</script>")
    session, requests = hostile_model().session(), []
    with open_page("about:blank") as page:
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.locator("#begin").click()
        while question := session.next():
            assert " ".join(page.locator("#question-title").inner_text().split()) == " ".join(question.name.split())
            page.locator("#unknown").click()
            session.unknown(question.name)
        assert str(session.step.answer) in page.locator("#answer-title").inner_text()
        shoot(page, "exported-hostile")
    assert requests == [path.as_uri()]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_chart_that_is_not_to_be_used_is_drawn_where_it_is_asked_for(open_page, shoot, tmp_path, monkeypatch, width):
    model = clinic_model()
    chart = model.chart()
    monkeypatch.setattr(chart, "is_usable", False)
    monkeypatch.setattr(type(model), "chart", lambda self: chart)
    model.save_page(tmp_path / "unusable.html")
    with open_page((tmp_path / "unusable.html").as_uri(), width) as page:
        page.locator("#begin").click()
        page.get_by_text("The model as a chart").click()
        assert page.get_by_text(chart.caveat).is_visible()
        assert not page.locator("#chart svg").is_visible()
        shoot(page, f"exported-unusable-{width}")
        page.get_by_text("Show it all the same").click()
        assert page.locator("#chart .box.here").is_visible()
        shoot(page, f"exported-shown-{width}")


def test_a_note_is_typed_and_no_letter_of_it_is_a_shortcut(open_page, page_file):
    """Each s of a note was "unknown", each u took the last answer back, and none of them was written."""
    with open_page(page_file) as page:
        page.locator("#begin").click()
        question, note = page.locator("#question-title").inner_text(), "Miss Lux 21, also asked? see list"
        page.locator("#note").click()
        page.keyboard.type(note)
        assert page.locator("#note").input_value() == note
        assert page.locator("#question-title").inner_text() == question
        assert page.locator("#log tbody tr").count() == 0
        page.locator("#question-title").click()
        page.keyboard.press("Control+s")
        assert page.locator("#question-title").inner_text() == question
        page.keyboard.press("s")
        assert page.locator("#question-title").inner_text() != question


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory):
    """A page whose first form can be searched; all columns but the first two begin with 0."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(150, 14)).round(2), columns=[f"col{k:02d}" for k in range(14)])
    table.iloc[:, 2:] = table.iloc[:, 2:].abs()
    path = tmp_path_factory.mktemp("exported") / "wide.html"
    LatticeClassifier(lam=0.01, random_state=0).fit(table, table["col00"] + 0.3 * table["col03"] > 0.3).save_page(path)
    return path.as_uri()


def test_a_refusal_is_in_sight_whatever_is_searched(open_page, wide_file):
    """It stood in a row that the search hides: "Begin" seemed to do nothing."""
    with open_page(wide_file) as page:
        page.locator("#start-known summary").click()
        page.locator("#known-3").fill("abc")
        page.locator("#find").fill("col05")
        assert not page.locator("#known-3").is_visible()
        page.locator("#begin").click()
        assert page.locator("#start-refusal").is_visible()
        assert page.locator("#known-3").evaluate("field => field === document.activeElement")


def test_only_the_value_whose_refusal_was_shown_is_accepted(open_page, wide_file):
    """One press accepted all values of the first form, and all of a group."""
    with open_page(wide_file) as page:
        page.locator("#start-known summary").click()
        page.locator("#known-3").fill("99")
        page.locator("#known-5").fill("2000")
        page.locator("#begin").click()
        assert "'col03'" in page.locator("#start-refusal").inner_text()
        page.locator("#begin").click()
        assert "'col05'" in page.locator("#start-refusal").inner_text()
        page.locator("#known-5").fill("0.5")
        assert page.locator("#begin").inner_text().startswith("Begin")
        page.locator("#begin").click()
        assert "99" in page.locator("#log").inner_text()


def test_a_group_is_accepted_field_by_field(open_page, page_file):
    with open_page(page_file) as page:
        page.locator("#begin").click()
        page.locator("#alternatives summary").click()
        page.get_by_role("button", name="Acquire blood instead").click()
        fields = page.locator("#question-fields")
        fields.get_by_label("wbc").fill("900")
        fields.get_by_label("hgb").fill("900")
        page.keyboard.press("Enter")
        assert "'wbc'" in page.locator("#refusal").inner_text()
        fields.get_by_label("wbc").fill("9000")  # which was not refused yet
        page.locator("#accept").click()
        assert "got 9000" in page.locator("#refusal").inner_text()
        page.locator("#accept").click()
        assert "'hgb'" in page.locator("#refusal").inner_text()
        page.locator("#accept").click()
        assert "wbc = 9000, hgb = 900" in page.locator("#log").inner_text()


@pytest.mark.parametrize(("name", "typed"), [("col00", "-0.5"), ("col03", "0.5")])
def test_a_phone_has_the_keys_for_what_may_be_typed(open_page, wide_file, name, typed):
    with open_page(wide_file) as page:
        field = page.locator(f"#known-{int(name[3:])}")
        assert field.get_attribute("inputmode") == ("text" if typed.startswith("-") else "decimal")
        page.locator("#begin").click()
        page.locator("#alternatives").evaluate("list => (list.open = true)")
        if page.locator("#question-title").inner_text() != name:
            page.get_by_role("button", name=f"Acquire {name} instead").click()
        field = page.locator("#question-fields input")
        field.focus()
        page.keyboard.press("u")  # a shortcut in an empty field of a number, whatever its keyboard
        assert field.input_value() == ""
        field.press_sequentially(typed)
        assert field.input_value() == typed


def test_back_from_another_question_is_named_so(open_page, page_file):
    """It said "Later", and promised that the acquisition comes again."""
    with open_page(page_file) as page:
        page.locator("#begin").click()
        own = page.locator("#question-title").inner_text()
        later, hint = page.locator("#later"), page.locator("#unknown-or-later")
        assert (later.inner_text().split("\n")[0], hint.is_visible()) == ("Later", True)
        page.locator("#alternatives summary").click()
        page.locator("#alternative-list button").first.click()
        assert (later.inner_text().split("\n")[0], hint.is_visible()) == (said("back_to_question"), False)
        later.click()
        assert page.locator("#question-title").inner_text() == own
        assert (later.inner_text().split("\n")[0], hint.is_visible()) == ("Later", True)


def test_an_acquisition_beyond_the_stop_is_not_called_accepted(open_page, page_file):
    session = clinic_model().session()
    session.answer("ward", "icu")
    assert session.next() is None
    with open_page(page_file) as page:
        page.locator("#begin").click()
        page.locator("#question-fields label", has_text="icu").click()
        page.keyboard.press("Enter")
        page.locator("#alternatives summary").click()
        for name, value, remark in (("crp", 7, said("beyond_stop")), ("age", 900, "")):
            page.get_by_role("button", name=f"Acquire {name} instead").click()
            page.locator("#question-fields input").fill(str(value))
            page.keyboard.press("Enter")
            if not remark:
                page.locator("#accept").click()
            session.answer(name, value, accept=True)
            shown = page.locator("#log tbody tr").last.inner_text()
            accepted = [part for part in session.log()[-1].remark.split("; ") if part != said("beyond_stop")]
            assert (said("beyond_stop") in shown) == (said("beyond_stop") in session.log()[-1].remark)
            assert ("accepted: " in shown) == bool(accepted) == (name == "age")
        page.get_by_role("button", name="Undo ward").click()
        session.undo("ward")
        remarks = [said("beyond_stop") in entry.remark for entry in session.log()]
        rows = page.locator("#log tbody tr").all_inner_texts()
        assert [said("beyond_stop") in row for row in rows] == remarks
        assert remarks[0] is False
