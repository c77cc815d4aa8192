"""How certain an answer is in sessions of calibrated models, and what overrides the rule, in Python and on the page."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from fsgym.cli.ask_dialog import Dialog
from fsgym.evaluation.promise import Risk
from fsgym.session.held_out import reliability_text
from support.browsing import Visitor
from support.clinic import certain_clinic, clinic_model, clinic_table

END = "person overrode the rule: the promise says nothing of this case"
UNSURE = "Not certain enough to stop: if you stop now, the promise says nothing of this case."


@pytest.fixture(scope="module")
def model():
    return certain_clinic()


def row(i=0):
    table = clinic_table(800, 1)[0]
    return {name: value.item() if hasattr(value, "item") else value for name, value in table.iloc[i].items()}


def answer(session, name, values):
    session.answer(name, {c.name: values[c.name] for c in session.question(name).columns}, accept=True)


@pytest.mark.parametrize("least", [None, 0.9995])
def test_each_step_says_whether_it_is_certain_enough(model, least):
    model = model if least is None else certain_clinic(min_confidence=least)
    needed, stops, ends = least or model.promise_.threshold, 0, 0
    for i in range(60):
        session, values = model.session(), row(i)
        while True:
            step = session.step
            certain = step.probabilities[step.answer] >= needed
            assert step.certainty.enough == certain
            met = "Certain enough: " if step.should_stop else "Certain enough for the promise: "
            assert step.certainty.text.startswith(met if certain else "Not certain enough")
            begin = (
                ""
                if step.should_stop
                else "Certain enough to stop. If"
                if certain
                else "Not certain enough to stop: if"
            )
            assert session.stop_ends.startswith(begin)
            assert bool(session.stop_ends) == bool(begin)
            assert " % is needed)" in step.certainty.text
            if step.should_stop:
                stops += certain
                ends += not certain
                assert certain or step.certainty.text.endswith(", but nothing is left that could change the answer.")
                break
            answer(session, step.question.name, values)
        assert "overrode" not in str(session.log())
    assert stops > 5
    assert (ends > 0) == (least is not None)


def test_an_earlier_stop_is_an_override_and_is_undone(model):
    session = model.session()
    assert not session.step.should_stop
    before, text = session.step.certainty, session.to_json()
    session.stop()
    assert session.log()[-1].kind == "stopped"
    session.undo(entry=len(session.log()) - 1)
    assert not session.stopped
    session.stop()
    assert session.log()[-1].remark == f"a {END}"
    assert session.step.certainty.text == f"A {END}."
    assert model.resume(session.to_json()).log() == session.log()
    session.undo()
    assert session.step.certainty == before
    assert session.log() == []
    assert session.to_json() == text


def test_the_first_override_says_so_in_the_log(model):
    session, values = model.session(), row()
    first = session.next().name
    answer(session, first, values)
    asked = session.next().name
    other = next(a.name for a in session.step.alternatives if a.name != asked)
    session.later(asked)
    answer(session, other, values)
    session.stop()
    assert [entry.remark.count(END) for entry in session.log()][:3] == [0, 1, 0]
    assert sum(entry.remark.count(END) for entry in session.log()) == 1
    assert session.step.certainty.text == f"A {END}."
    session.undo()
    session.undo(other)
    session.undo(asked)
    assert END not in session.step.certainty.text
    answer(session, other, values)
    assert [entry.kind for entry in session.log()] == ["asked", "chosen"]
    assert session.log()[-1].remark == f"a {END}"
    again = model.resume(session.to_json())
    assert (again.log(), again.step) == (session.log(), session.step)


def test_a_dialog_says_what_stopping_ends_and_how_reliable_a_model_without_a_promise_is(model, capsys):
    assert Dialog(model.session(), read=lambda _: "x").run()
    printed = " ".join(capsys.readouterr().out.split())
    question, end = printed.split("Answer: ", 1)
    assert UNSURE in question
    assert "No promise" not in end
    other = clinic_model()
    assert Dialog(other.session(), read=lambda _: "x").run()
    printed = " ".join(capsys.readouterr().out.split())
    assert "to stop" not in printed
    assert printed.endswith(reliability_text(other))


def test_values_that_are_known_or_unknown_override_nothing(model):
    session = model.session()
    session.answer("fever", True, paid=False)
    session.unknown(session.next().name)
    assert [entry.remark for entry in session.log()] == ["", ""]


def test_what_ends_the_promise_is_said_before_and_the_warning_is_bold_only_where_the_answer_is_uncertain(model, capsys):
    """At a question both stood together: that the promise asks for nothing more, and, bold, that stopping ends it."""
    session = certain_clinic(target_error=0.4, confidence=0.8).session()
    assert session.step.certainty.enough
    assert "the promise is about cases in which the model decides" in session.stop_ends
    lines = iter(["a", "x"])
    assert Dialog(model.session(), read=lambda _: next(lines)).run()
    assert "If you acquire anything else" in " ".join(capsys.readouterr().out.split())
    for chosen in (model.session(), session):
        visitor = Visitor(chosen.model).sign_in().press("Go on", saved=chosen.to_json())
        certain, page = chosen.step.certainty.enough, visitor.reply.text
        assert f"<strong>{chosen.stop_ends}</strong>" in page or certain
        assert f'class="quiet">{chosen.stop_ends}</p>' in page or not certain
        assert visitor.text.count(chosen.other_ends) == 1
        visitor.press("Later")
        assert chosen.other_ends not in visitor.text


def test_a_promise_says_of_what_cases_with_unknown_values_it_is(model):
    unlike = "A value is unknown or unavailable: the promise is about cases in which that happens as often"
    session = model.session()
    assert unlike not in session.step.certainty.text
    session.unknown(session.next().name)
    assert unlike in session.step.certainty.text
    assert unlike in model.session(unavailable=["ct"]).step.certainty.text
    assert unlike not in certain_clinic(min_confidence=0.95).session(unavailable=["ct"]).step.certainty.text
    session.undo()
    assert unlike not in session.step.certainty.text
    session.stop()
    assert session.step.certainty.text == f"A {END}."


def test_models_without_a_rule_say_nothing():
    session = clinic_model().session()
    assert session.step.certainty is None
    assert "certainty" not in session.step.as_json()
    session.later(session.next().name)
    session.stop()
    assert [entry.remark for entry in session.log()] == [""]


def test_a_rule_without_a_promise_has_none_to_end():
    session = certain_clinic(min_confidence=0.95).session()
    assert "that the answer is right (95 % is needed)" in session.step.certainty.text
    session.stop()
    assert session.log()[-1].remark == "a person overrode the rule: this case no longer follows it"
    session.undo()
    assert session.stop_ends == "Not certain enough to stop: if you stop now, this case does not follow the rule."
    session.later(session.next().name)
    assert (session.stop_ends, session.other_ends) == ("", "")  # the rule is overridden already
    assert clinic_model().session().stop_ends == ""


@pytest.mark.parametrize(
    ("p", "limit", "text"),
    [
        (0.95, 0.045066, "Not certain enough yet: 95 % that the answer is right (95.5 % is needed)."),
        (0.9549339, 0.045066, "Not certain enough yet: 95.49339 % that the answer is right (95.4934 % is needed)."),
        (1 - 1e-9, 1e-5, "Certain enough: above 99.9999 % that the answer is right (99.999 % is needed)."),
        (1.0, 1e-5, "Certain enough: 100 % that the answer is right (99.999 % is needed)."),
        (0.6, 1.0, "Certain enough: 60 % that the answer is right (any certainty is enough)."),
        (0.6, None, "Not certain enough yet: 60 % that the answer is right (no certainty is enough to stop early)."),
    ],
)
def test_certainties_in_words(model, p, limit, text):
    promise = replace(model.promise_, risks=(Risk("error", 0.1, 0.1),), limit=limit)
    stops = text.startswith("Certain")
    assert promise.certainty(0, np.array([p, 1 - p]), 1 - np.eye(2), stops).text == text
    asks_on = promise.certainty(0, np.array([p, 1 - p]), 1 - np.eye(2), False).text
    asked = text.removeprefix("Certain enough: ")[:-1]
    on = "the model asks on to lower the cost."
    assert asks_on == (f"Certain enough for the promise: {asked}; {on}" if stops else text)


def test_several_promises_in_words(model):
    costs = np.array([[0.0, 10.0], [1.0, 0.0]])
    risks = (Risk("recall", 0.9, 0.1, 1, "well"), Risk("error", 0.2, 0.2), Risk("cost", 2.0, 0.2, -1, "", 0.0, 10.0))
    promise = replace(model.promise_, risks=risks, limit=0.1, min_confidence=0.9)
    assert promise.certainty(0, np.array([0.95, 0.05]), costs, True).text == (
        "Certain enough: 95 % that the answer is right (90 % is needed), 95 % that no well is missed (90 % is needed) "
        "and an expected error cost of 0.5 (at most 2 is needed)."
    )
    assert promise.certainty(0, np.array([0.85, 0.15]), costs, True).text == (
        "Not certain enough: 85 % that the answer is right (90 % is needed), 85 % that no well is missed (90 % is "
        "needed) and an expected error cost of 1.5 (at most 2 is needed), but nothing is left that could change the "
        "answer."
    )


def test_the_page_says_it_once(model):
    visitor = Visitor(model).sign_in().begin()
    text = model.session().step.certainty.text
    assert visitor.text.count(text) == 1
    assert "at most 6 % of the answers are wrong" in visitor.text
    assert visitor.text.index(UNSURE) > visitor.text.index("Stop now: well")
    visitor.press("Stop now: well")
    assert UNSURE not in visitor.text
    assert visitor.text.count(f"A {END}.") == 1
    assert visitor.text.count(END) == 2  # and where it happened
    assert "is needed" not in visitor.text
    assert "at most 6 %" not in visitor.text
    visitor.go(f"{visitor.reply.url.path}/log")
    assert visitor.text.count(END) == 2


def test_the_terminal_says_it_once(model, capsys):
    session = model.session()
    text = session.step.certainty.text
    lines = iter(["x"])
    assert Dialog(session, read=lambda _: next(lines)).run()
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count(text) == 1
    assert shown.count(f"A {END}.") == 1


def test_programs_read_it(model):
    visitor = Visitor(model).sign_in()
    reply = visitor.step(json.dumps({"known": {"age": 60}})).json()
    wanted = model.step({"age": 60}).certainty
    assert reply["certainty"] == {"enough": wanted.enough, "text": wanted.text}
    schema = visitor.client.get("/api/openapi.json").json()["components"]["schemas"]["Step"]
    assert set(schema["required"]) == set(reply)
    plain = copy(clinic_model())
    assert "certainty" not in Visitor(plain).sign_in().step("{}").json()
