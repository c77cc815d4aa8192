"""The pages without scripts: each button, what is refused, and names that try to be markup."""

from __future__ import annotations

import html
import json
import re
import threading

import numpy as np
import pandas as pd
import pytest

from agents import LatticeClassifier, MixtureClassifier
from fsgym import load_dataset
from fsgym.text.messages import visible
from fsgym.text.sentences import probability_text
from fsgym.text.speech import said
from fsgym.web.cases import Cases
from fsgym.web.entries import LEVELS_AS_BUTTONS
from fsgym.web.guard import Refused
from support.asked_models import asked_model
from support.browsing import Visitor
from support.clinic import chest_model, clinic_model, clinic_table
from support.hostile import HOSTILE_LEVELS, MANY_LEVELS, TEMPLATE, hostile_model
from tests.agents.test_case_costs import two_equal_features

WARD, CRP, FEVER = "value2", "value4", "value3"  # the columns of the clinic are ct, age, ward, fever, crp, wbc, hgb


@pytest.fixture
def visitor():
    return Visitor(clinic_model()).sign_in()


def session_of(visitor):
    """The session of the case on the page, as it can be saved."""
    return json.loads(visitor.client.get(f"{visitor.reply.url.path}/session.json").text)


def test_a_case_from_question_to_answer(visitor):
    visitor.begin()
    assert visitor.heading == "ward"
    assert "price 1, paid so far 0" in visitor.text
    assert re.search(r"The model believes in well \d+ % and ill \d+ %", visitor.text)
    visitor.press("Answer", value2="2")
    assert visitor.reply.history[0].status_code == 303
    assert "ward = icu" in visitor.text
    assert re.search(r"ill \d+ % \(was \d+ %\)", visitor.text)
    session = clinic_model().session()
    session.answer("ward", "icu")
    assert session_of(visitor) == json.loads(session.to_json())
    visitor.press("End with this answer")
    assert visitor.heading == f"Answer: {session.stop()} (paid 1 in total)"
    assert f"Ended with the answer {session.step.answer}, paid 1." in visitor.text
    assert session_of(visitor) == json.loads(session.to_json())
    visitor.press("Undo")
    assert "End with this answer" in visitor.text
    visitor.press("Undo").press("Stop now: well")
    assert "Ended with the answer well, paid 0." in visitor.text


def test_every_button_is_a_verb_of_the_session(visitor):
    session = clinic_model().session()
    visitor.begin()
    assert visitor.text.count(said("unknown_or_later")) == 1
    visitor.press("Unknown")
    session.unknown("ward")
    assert "ward is unknown." in visitor.text
    question = session.next()
    visitor.press("Later")
    session.later(question.name)
    assert f"{question.name} comes later." in visitor.text
    assert visitor.heading == session.next().name
    visitor.press("Undo")
    session.undo()
    assert f"{question.name} is postponed no longer." in visitor.text
    visitor.press("Acquire this instead age")
    assert visitor.heading == session.question("age").name
    assert "in years" not in visitor.text
    visitor.press("Answer", value1="60")
    session.answer("age", 60)
    visitor.press("Undo ward")
    session.undo("ward")
    assert session_of(visitor) == json.loads(session.to_json())
    assert visitor.heading == session.next().name


def test_a_group_has_a_field_for_each_column(visitor):
    visitor.begin().press("Acquire this instead blood")
    visitor.press("Answer", value5="", value6="")
    assert "'blood' has no value yet: enter one, or press Unknown." in visitor.text
    visitor.press("Answer", value5="9", value6="")
    assert "blood: wbc = 9" in visitor.text
    assert session_of(visitor)["answers"][0]["values"] == {"wbc": 9}
    visitor.press("Acquire this instead fever").press("Back to the model's question")
    assert visitor.heading != "fever"


def test_a_value_known_already_costs_nothing(visitor):
    visitor.begin().press("Answer", value2="0", free="1")
    assert session_of(visitor)["answers"][0]["paid"] is False
    assert "paid so far 0" in visitor.text or "paid 0 in total" in visitor.text


@pytest.mark.parametrize(
    ("choice", "typed", "sentence"),
    [
        ("crp", "9000", "'crp' must be a number from"),
        ("crp", "1,5", "got '1,5'."),
        ("crp", "<b>", "got '<b>'."),
        ("crp", "nan", "say that it is unknown instead."),
        ("crp", "", "'crp' has no value yet: enter one, or press Unknown."),
    ],
)
def test_a_refused_number_is_said_at_the_field_and_stays(visitor, choice, typed, sentence):
    visitor.begin().press(f"Acquire this instead {choice}").press("Answer", value4=typed)
    assert visitor.reply.status_code == 422
    assert sentence in visitor.text
    (field,) = [found for tag, found in visitor.page.tags if found.get("name") == CRP]
    assert (field["value"], field["aria-invalid"], "autofocus" in field) == (typed, "true", True)
    assert ("accept it as it is" in visitor.text) is (typed == "9000")
    assert session_of_answers(visitor) == []


def session_of_answers(visitor):
    """What is in the session after a page was refused."""
    path = visitor.reply.url.path.rpartition("/")[0]
    return json.loads(visitor.client.get(f"{path}/session.json").text)["answers"]


def test_a_value_outside_the_range_is_accepted_on_request(visitor):
    visitor.begin().press("Acquire this instead crp").press("Answer", value4="9000")
    assert "correct it, or accept it as it is with the box below." in visitor.text
    visitor.press("Answer", accept4="1")
    assert "Accepted: crp: outside the range in training" in visitor.text
    assert session_of(visitor)["answers"][0]["accept"] is True
    warning = "Accepted although it is not as in training: crp: outside the range in training"
    assert visitor.text.count(warning) == 1  # beside what the model believes
    assert "however certain it looks" in visitor.text
    visitor.press("Stop now")
    assert visitor.text.count(warning) == 1  # beside the answer
    visitor.go(f"{visitor.reply.url.path}/log")
    assert visitor.text.count(warning) == 1


def test_a_level_that_was_not_in_training(visitor):
    visitor.begin().press("Answer", text2="ward 9")
    assert visitor.reply.status_code == 422
    assert "'ward' must be one of er, gp, icu, got 'ward 9'" in visitor.text
    visitor.press("Answer", value2="0")
    assert "choose one, or type another, not both" in visitor.text
    visitor.press("Answer", value2="another", text2="")
    assert "type the other one, or choose one" in visitor.text
    visitor.press("Answer", value2="another", text2="ward 9", accept2="1")
    assert "a level that was not in training, counts as unknown" in visitor.text


def test_what_is_known_before(visitor):
    visitor.begin(value1="200", barred4="1", value4="3")
    assert visitor.reply.status_code == 422
    assert "'age' must be a number from 18" in visitor.text
    visitor.press("Begin", value1="50", value2="2", value4="3", barred4="1")
    assert "'crp' must be known or impossible to obtain, not both" in visitor.text
    visitor.press("Begin", value4="", charge="1")
    assert "age = 50 years" in visitor.text
    assert "Cannot be obtained: crp." in visitor.text
    saved = session_of(visitor)
    assert (saved["unavailable"], saved["charge_unknown"]) == (["crp"], True)
    assert [(e["name"], e["paid"]) for e in saved["answers"]] == [("age", False), ("ward", False)]


def test_a_case_is_saved_resumed_and_deleted(visitor):
    session = clinic_model().session(known={"age": 50}, unavailable=["crp"])
    session.answer("ward", "icu")
    visitor.go("/").press("Go on", saved=session.to_json())
    assert "Known before: age = 50 years." in visitor.text
    assert "Cannot be obtained: crp." in visitor.text
    assert session_of(visitor) == json.loads(session.to_json())
    visitor.go("/")
    assert "1 entry so far" in visitor.text
    visitor.press("Go on", saved="no session")
    assert "a session must be the JSON text that Session.to_json wrote, got something else." in visitor.text
    (link,) = {found["href"] for tag, found in visitor.page.tags if "/case/" in found.get("href", "")}
    visitor.go(link).press("Delete it")
    assert visitor.go(link).reply.status_code == 404
    assert "There is no such case" in visitor.text


def test_a_resumed_case_shows_the_class_that_it_showed(visitor):
    def classes_shown():
        (spoken,) = re.findall(r'id="spoken"[^>]*>(\w+)', visitor.reply.text)
        return [spoken, *re.findall(r"price 1; (\w+) \d+ %", visitor.text)]

    visitor.begin().press("Answer", value2="2")  # ill becomes the likelier class
    assert classes_shown() == ["ill", "ill"]
    saved = json.dumps(session_of(visitor))
    visitor.go("/").press("Go on", saved=saved)
    assert classes_shown() == ["ill", "ill"]
    visitor.begin(value2="2")
    assert classes_shown()[0] == "ill"


def test_an_ended_case_offers_undo_alone(visitor):
    """It offered other acquisitions, and to take back single values, as if the case were open."""
    visitor.begin().press("Answer", value2="2")
    open_texts = [text for _, _, buttons in visitor.page.forms for text, *_ in buttons]
    assert any(text.startswith("Acquire this") for text in open_texts)
    visitor.press("End with this answer")
    texts = [text for _, _, buttons in visitor.page.forms for text, *_ in buttons]
    assert not any(text.startswith("Acquire this") for text in texts)
    assert [text for text in texts if text.startswith("Undo")] == ["Undo u"]
    assert "Other acquisitions" not in visitor.text


def test_the_log_for_print(visitor):
    visitor.begin().press("Answer", value2="2")
    visitor.go(f"{visitor.reply.url.path}/log")
    assert "ward = icu" in visitor.text
    assert "not finished" in visitor.heading


def test_a_note_is_printed_saved_and_resumed(visitor):
    """A record on paper did not say whose it was."""
    visitor.begin().press("Keep the note", note="  bed 4,\n<b>asked twice</b> ")
    page, noted = visitor.reply.url.path, "bed 4, <b>asked twice</b>"
    assert "The note is kept." in visitor.text
    assert session_of(visitor)["note"] == noted
    saved = visitor.client.get(f"{page}/session.json").text
    assert f"Reference or note: {noted}" in visitor.go(f"{page}/log").text
    assert clinic_model().resume(saved).note == noted
    visitor.go("/").press("Go on", saved=saved)
    assert f">{html.escape(noted)}</textarea>" in visitor.reply.text
    visitor.press("Keep the note", note="x" * 501)
    assert "a note may have at most 500 characters, got 501." in visitor.text
    visitor.press("Keep the note", note="")
    assert "note" not in session_of(visitor)


def test_a_note_makes_no_other_form_out_of_date(visitor):
    visitor.begin()
    question = visitor.page.forms[0]
    visitor.press("Keep the note", note="bed 4")
    visitor.post(question[0], question[1] | {"value2": "2"})
    assert "out of date" not in visitor.text
    assert "ward = icu" in visitor.text
    assert session_of(visitor)["note"] == "bed 4"


def test_an_old_page_changes_nothing(visitor):
    visitor.begin()
    old = visitor.page.forms[0]
    visitor.press("Answer", value2="2")
    before = session_of(visitor)
    visitor.post(old[0], old[1] | {"value2": "2"})  # as by a double click
    assert "out of date" not in visitor.text
    visitor.post(old[0], old[1] | {"value2": "0"})
    assert "That page was out of date, so nothing was changed" in visitor.text
    assert session_of(visitor) == before


def test_what_cannot_be_acquired_now(visitor):
    visitor.begin()
    action, fields, _ = visitor.page.forms[0]
    for about, sentence in (("0", "'ct' cannot be acquired before 'crp'."), ("99", "must say which acquisition")):
        visitor.post(action.replace("answer", "instead"), fields | {"about": about})
        assert visitor.reply.status_code == 422
        assert sentence in visitor.text
        assert visitor.heading == "ward"
    session = clinic_model().session()
    assert session_of_answers(visitor) == json.loads(session.to_json())["answers"]


def test_only_so_many_cases_are_held():
    visitor = Visitor(clinic_model(), most_cases=2).sign_in()
    first = visitor.begin().reply.url.path
    second = visitor.begin().reply.url.path
    visitor.go(first).begin()
    assert visitor.go(first).reply.status_code == 200
    assert visitor.go(second).reply.status_code == 410
    assert "This case was dropped: at most 2 cases are held" in visitor.text
    assert re.fullmatch(r"/case/[\w-]{22}", first)


def test_the_latest_cases_are_listed(visitor):
    paths = [visitor.begin().reply.url.path for _ in range(23)]
    visitor.go("/")
    assert [path in visitor.reply.text for path in paths] == [False] * 3 + [True] * 20
    assert "and 3 that were used longer ago" in visitor.text


def test_ids_of_dropped_cases_are_bounded():
    cases = Cases(1)
    ids = [cases.add(clinic_model().session()).id for _ in range(13)]
    assert len(set(ids)) == 13
    for case_id, status in ((ids[0], 404), (ids[5], 410)):
        with pytest.raises(Refused) as gone:
            cases.find(case_id)
        assert gone.value.status == status


def test_forms_of_two_people_at_once_change_a_case_once(visitor):
    visitor.begin()
    action, fields, _ = visitor.page.forms[0]
    threads = [
        threading.Thread(target=visitor.client.post, args=(action,), kwargs={"data": fields | {"value2": str(k % 3)}})
        for k in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(visitor.client.get(action.replace("answer", "session.json")).text)["answers"]) == 1


WALKED = {
    "budget": lambda: clinic_model("rcpi", budget=2),
    "hostile": hostile_model,
    "three classes": lambda: asked_model("linear", "base, mixed"),
    "network": lambda: asked_model("dqn", "base, mixed"),
}


@pytest.mark.parametrize("name", WALKED)
@pytest.mark.one_in(2)
def test_a_whole_case_of_other_models(name):
    model = WALKED[name]()
    visitor, session = Visitor(model).sign_in().begin(), model.session()
    places = {column: k for k, column in enumerate(model.columns_.names)}
    while question := session.next():
        assert visitor.heading == " ".join(question.name.split())
        values, fields = {}, {}
        for column in question.columns:
            low = {"number": column.low, "bool": True}.get(column.kind, next(iter(column.levels), None))
            values[column.name] = low
            typed = {"number": str(low), "bool": "yes"}.get(column.kind, "0" if len(column.levels) <= 10 else low)
            fields[f"value{places[column.name]}"] = typed
        session.answer(question.name, values)
        visitor.press("Answer", **fields)
        assert visitor.reply.status_code == 200, visitor.text
    assert visitor.heading.startswith("Answer:")
    assert session_of(visitor) == json.loads(session.to_json())
    for belief in (session.probabilities or {}).values():
        assert probability_text(belief) in visitor.text


def test_many_levels_are_suggested_and_checked():
    visitor = Visitor(hostile_model()).sign_in().begin().press(f"Acquire this instead {TEMPLATE}")
    assert [found["value"] for tag, found in visitor.page.tags if tag == "option"] == sorted(MANY_LEVELS)
    visitor.press("Answer", value3="<script>")
    assert visitor.reply.status_code == 422
    assert "or accept it as unknown with the box below." in visitor.text
    visitor.press("Answer", value3="x (accept=True)")
    assert "got 'x (accept=True)'; correct it, or accept it as unknown with the box below." in visitor.text
    visitor.press("Answer", value3=MANY_LEVELS[3])
    assert session_of(visitor)["answers"][0]["values"] == {TEMPLATE: MANY_LEVELS[3]}


class ChartDouble:
    """A chart as the chart of a model is asked."""

    caveat = "Do not use this chart."
    is_usable = True

    def place(self, known, question, unavailable):
        return len(known) + 10 * len(unavailable)

    def to_svg(self, here=None, dark=False):
        return f'<svg><style>.box {{ fill: red }}</style><g class="box" id="box-{here}"></g></svg>'


def test_the_chart_has_the_place_of_the_case(monkeypatch):
    monkeypatch.setattr(type(clinic_model()), "chart", lambda self: ChartDouble(), raising=False)
    visitor = Visitor(clinic_model()).sign_in().begin()
    assert 'id="box-0"' in visitor.reply.text
    assert 'href="#box-0"' in visitor.reply.text
    visitor.press("Answer", value2="2")
    assert 'id="box-1"' in visitor.reply.text
    assert re.search(r"style-src 'self' 'sha256-[\w+/]{43}='", visitor.reply.headers["content-security-policy"])


def test_the_place_of_a_resumed_case(monkeypatch):
    places = []
    monkeypatch.setattr(ChartDouble, "place", lambda self, *where: places.append(where), raising=False)
    monkeypatch.setattr(type(clinic_model()), "chart", lambda self: ChartDouble(), raising=False)
    visitor, session = Visitor(clinic_model()).sign_in(), clinic_model().session({"wbc": 5, "hgb": 12}, ["age"])
    visitor.press("Go on", saved=session.to_json())
    assert "Known before: wbc = 5, hgb = 12." in visitor.text
    visitor.press("Acquire this instead crp").press("Unknown")
    assert [places[0][0], places[0][2], places[1][1:], places[-1][0], places[-1][2]] == [
        *(["blood"], ["age"], ("crp", ["age"])),
        *(["blood"], ["age", "crp"]),
    ]


def test_a_chart_that_is_not_to_be_used_is_not_drawn_at_once(monkeypatch):
    monkeypatch.setattr(type(clinic_model()), "chart", lambda self: ChartDouble(), raising=False)
    assert "Show it all the same" not in Visitor(clinic_model()).sign_in().begin().reply.text
    monkeypatch.setattr(ChartDouble, "is_usable", False)
    told, _, folded = (
        Visitor(clinic_model()).sign_in().begin().reply.text.partition("<summary>Show it all the same</summary>")
    )
    assert "Do not use this chart." in told
    assert ('id="box-0"' in told, 'id="box-0"' in folded) == (False, True)


def test_a_model_without_a_chart(monkeypatch):
    def refuse(self):
        raise ValueError("this model has no chart")

    monkeypatch.setattr(type(clinic_model()), "chart", refuse, raising=False)
    assert "The model as a chart" not in Visitor(clinic_model()).sign_in().begin().text


def test_hostile_names_are_text():
    plain_tags = Visitor(clinic_model()).sign_in().begin().page.tags
    visitor = Visitor(hostile_model()).sign_in()
    pages = [visitor.page, visitor.begin(text1="<script>").page, visitor.begin().page]
    visitor.press("Answer", value0="<script>alert(9)</script>")
    pages += [visitor.page, visitor.press("Answer", value0="1").page]
    model = hostile_model()
    for j, name in enumerate(model.rules_.names[1:4], 1):
        action = next(form[0] for form in visitor.page.forms if form[0].endswith(("answer", "stop")))
        fields = visitor.page.forms[0][1]
        visitor.post(f"{action.rpartition('/')[0]}/instead", fields | {"about": str(j)})
        pages.append(visitor.page)
        assert visitor.heading == " ".join(name.split())
    pages.append(visitor.go(f"{visitor.reply.url.path.rstrip('/')}/log").page)
    for page in pages:
        assert {tag for tag, _ in page.tags} & {"img", "iframe", "b", "i"} == set()
        assert sum(tag == "script" for tag, _ in page.tags) == 1
        assert not [found for _, found in page.tags if any(name.startswith("on") for name in found)]
        names = {found["name"] for tag, found in page.tags if tag in ("input", "button") and "name" in found}
        assert all(re.fullmatch(r"[a-z]+\d*", name) for name in names)
        assert "1337" not in page.text
    assert {tag for tag, _ in plain_tags} >= {"form", "svg"}
    assert any(HOSTILE_LEVELS[0] in page.text for page in pages)


def test_names_have_no_characters_that_a_page_obeys():
    rng = np.random.default_rng(0)
    name, level = "c\x1b[31mp\u202e", "e\u2066r"
    table = pd.DataFrame({name: rng.normal(size=80), "ward": np.resize([level, "gp", "icu"], 80)})
    sick = np.where(table[name] + (table["ward"] == level) > 0.3, "s\u202eick", "well")
    model = LatticeClassifier(lam=0.001, random_state=0).fit(table, sick)
    visitor = Visitor(model).sign_in()
    pages = [visitor.go("/").text, visitor.begin().text]
    for value in ("0.5", "0", "0"):
        action, fields, _ = visitor.page.forms[0]
        if any(key.startswith("value") for key in (*fields, "value0")) and action.endswith("/answer"):
            pages.append(visitor.post(action, fields | {"value0": value}).text)
    assert len(pages) > 2
    for text in pages:
        assert visible(text) == text


def test_what_every_case_brings_is_above_the_button_that_begins():
    visitor = Visitor(chest_model()).sign_in().go("/")
    assert "answers with one of embolism, harmless, pneumonia, or refers the case to a person." in visitor.text
    brought, _, folded = visitor.text.partition("What is known already, and what cannot be obtained")
    assert "What every case brings" in brought
    assert [name in brought for name in ("age", "sex", "crp", "blood_sample")] == [True, True, False, False]
    assert [name in folded for name in ("age", "sex", "crp", "blood_sample")] == [False, False, True, True]
    assert "What every case brings" not in Visitor(clinic_model()).sign_in().go("/").text
    visitor.press("Begin n", value0="40")
    assert "age = 40 years" in visitor.text


def test_undo_beside_a_row_takes_back_this_row(visitor):
    """Beside "later" it took the answer back, too, which was paid."""
    visitor.begin().press("Later").press("Acquire this instead ward").press("Answer", value2="2")
    visitor.press("Undo ward")
    assert "ward is postponed no longer." in visitor.text
    (entry,) = session_of(visitor)["answers"]
    assert (entry["kind"], entry["values"]) == ("answer", {"ward": "icu"})
    visitor.press("Undo ward")
    assert "ward is taken back." in visitor.text
    assert session_of(visitor)["answers"] == []


def test_the_log_of_an_unfinished_case_says_whether_it_would_be_referred():
    """It said that the answer would be a doctor."""
    X, y = clinic_table()
    options = {"lam": 0.01, "refer_cost": 0.01, "refer_label": "a doctor"}
    model = LatticeClassifier(random_state=0, **options).fit(X[["age", "crp"]], y)
    visitor = Visitor(model).sign_in().begin()
    visitor.go(f"{visitor.reply.url.path}/log")
    assert "The case would be referred to a doctor now." in visitor.text
    assert "The answer now" not in visitor.text


def with_levels(levels):
    """A model of one column of levels, of which the first one decides."""
    cells = np.random.default_rng(0).choice(levels, 300)
    table = pd.DataFrame({"w": cells, "state": np.where(cells == levels[0], "ill", "well")})
    return LatticeClassifier(lam=0.001, random_state=0).fit(load_dataset(table, target="state", category=["w"]))


@pytest.mark.parametrize("levels", [[" a", "a", "b"], [" ", "a", "b"], [" a", "a", *"bcdefghijkl"]])
def test_each_level_can_be_chosen_also_one_that_differs_by_blanks(levels):
    """The place that a radio button sends was turned into a stripped text, which another level may have."""
    model, chosen = with_levels(levels), levels[0]
    column = model.columns_[0]
    sent = str(column.levels.index(chosen)) if len(levels) <= LEVELS_AS_BUTTONS else chosen
    visitor = Visitor(model).sign_in().begin().press("Answer", value0=sent)
    assert session_of(visitor)["answers"][0]["values"] == {"w": chosen}
    assert visitor.heading == "Answer: ill (price 1 in total)".replace("price", "paid")


def test_a_note_that_is_too_long_is_given_back(visitor):
    visitor.begin().press("Keep the note", note="x" * 501)
    assert f">{'x' * 501}</textarea>" in visitor.reply.text
    assert visitor.reply.text.count(' maxlength="500"') == 1


def test_only_what_was_accepted_is_called_accepted(visitor):
    """That the model would stop was in the same sentence."""
    visitor.begin().press("Answer", value2="2").press("Acquire this crp").press("Answer", value4="9000", accept4="1")
    (remark,) = re.findall(r"Accepted: (.*?)\.(?: |$)", visitor.text)
    assert remark.startswith("crp: outside the range in training")
    assert said("beyond_stop") not in remark
    assert said("beyond_stop") in visitor.text
    visitor.press("Acquire this age").press("Answer", value1="60", accept1="1")
    assert "Accepted: " not in visitor.text


def test_a_case_with_prices_of_its_own_has_no_place_in_the_chart_of_mean_prices(monkeypatch):
    model = MixtureClassifier(lam=0.03, random_state=0).fit(two_equal_features(300, 0))
    monkeypatch.setattr(type(model), "chart", lambda self: ChartDouble(), raising=False)
    visitor = Visitor(model).sign_in()
    for prices, has_place in ((None, True), ({}, True), ({"scan": 1.0}, False)):
        visitor.go("/").press("Go on", saved=model.session(prices=prices).to_json())
        assert ("data-here" in visitor.reply.text) is has_place
        assert ('href="#box-0"' in visitor.reply.text) is has_place


def test_a_case_told_what_is_missing_has_no_place_in_the_chart_of_others(monkeypatch):
    monkeypatch.setattr(type(clinic_model()), "chart", lambda self: ChartDouble(), raising=False)
    visitor = Visitor(clinic_model()).sign_in()
    for missing, has_place in ((None, True), (["age"], False), ([], False)):
        visitor.go("/").press("Go on", saved=clinic_model().session(missing=missing).to_json())
        assert ("data-here" in visitor.reply.text) is has_place


def test_a_new_case_keeps_nobody_waiting():
    """The model was asked under the lock of all cases."""
    cases, found = Cases(5), []
    other = cases.add(clinic_model().session())

    class Asked:
        model = clinic_model()

        @property
        def probabilities(self):
            thread = threading.Thread(target=lambda: found.append(cases.find(other.id)), daemon=True)
            thread.start()
            thread.join(5)
            return {}

    assert (cases.add(Asked()).number, found) == (2, [other])
