"""Sessions: answers in any order, undo, resume, values that are refused, budgets and prerequisites."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import DatumWiseClassifier, MixtureClassifier
from fsgym.session.values import Refusal
from fsgym.session.words import cost_unit_text
from fsgym.text.speech import Speech, said, speaking
from support.asked_models import NAMES, asked_model
from support.clinic import BLOOD, clinic_model, clinic_table
from tests.agents.test_case_costs import two_equal_features

ROW = {"ct": 0.9, "age": 63, "ward": "icu", "fever": True, "crp": 12.5, "wbc": 11.2, "hgb": 12.9}
ACQUISITIONS = ["ct", "age", "ward", "fever", "crp", "blood"]
every_agent = pytest.mark.parametrize("agent", ["lattice", "rcpi"])


def value_of(name):
    return {column: ROW[column] for column in BLOOD} if name == "blood" else ROW[name]


def state_of(session):
    return session.to_json(), session.step, session.spent, session.log()


def say(session, kind, name):
    """One call of a session; False where it is refused."""
    try:
        if kind == "answer":
            session.answer(name, value_of(name))
        elif kind == "known":
            session.answer(name, value_of(name), paid=False)
        else:
            getattr(session, kind)(name)
    except ValueError:
        return False
    return True


calls = st.tuples(st.sampled_from(["answer", "known", "unknown", "later"]), st.sampled_from(ACQUISITIONS))


@every_agent
@settings(max_examples=25, deadline=None)
@given(script=st.lists(calls, max_size=7))
@pytest.mark.one_in(2)
def test_undo_is_identity_resume_is_exact_and_rules_hold(agent, script):
    model = clinic_model(agent, budget=4, budget_cost=9.0)
    session = model.session()
    for kind, name in script:
        before = state_of(session)
        if not say(session, kind, name):
            assert state_of(session) == before
            continue
        after = state_of(session)
        session.undo()
        assert state_of(session) == before
        assert say(session, kind, name)
        assert state_of(session) == after
        assert state_of(model.resume(session.to_json())) == after
        paid = [entry.name for entry in session.log() if entry.kind in ("asked", "chosen")]
        assert len(paid) <= 4
        assert session.spent <= 9.0
        assert session.spent == sum(entry.price for entry in session.log())
        known = {entry.name for entry in session.log() if entry.kind in ("asked", "chosen", "known")}
        if "ct" in paid:
            assert "crp" in known
    while question := session.next():
        assert question.price <= 9.0 - session.spent
        session.answer(question.name, values_in_row(question))
    assert session.stop() in ("ill", "well")


def values_in_row(question):
    return {column.name: ROW[column.name] for column in question.columns}


@every_agent
def test_the_order_of_values_known_in_advance_does_not_matter(agent):
    model = clinic_model(agent)
    names = ["age", "ward", "wbc", "crp"]
    steps = [model.step({name: ROW[name] for name in order}) for order in (names, names[::-1], sorted(names))]
    assert steps[0] == steps[1] == steps[2]
    sessions = [model.session({name: ROW[name] for name in order}) for order in (names, names[::-1])]
    assert sessions[0].step == sessions[1].step == steps[0]
    assert sessions[0].spent == 0.0


@every_agent
def test_known_values_are_free_and_count_for_prerequisites_but_not_for_budgets(agent):
    model = clinic_model(agent, budget=1)
    assert "ct" not in [a.name for a in model.step({}).alternatives]
    step = model.step({"crp": 12.5, "age": 63})
    assert "ct" in [a.name for a in step.alternatives]
    assert step.spent == 0.0
    assert model.step({"crp": 12.5}, spent=2.0).alternatives == ()
    assert model.step({"crp": 12.5}, spent=2.0, n_paid=0).alternatives != ()


@every_agent
def test_all_unknown_all_unavailable_and_all_known_end_with_an_answer(agent):
    model = clinic_model(agent)
    everything = model.step(ROW)
    assert everything.should_stop
    assert everything.alternatives == ()
    nothing = model.step({}, unavailable=ACQUISITIONS)
    assert nothing.should_stop
    assert nothing.answer == model.predict(clinic_table()[0][:1].assign(**dict.fromkeys(ROW, np.nan)))[0]
    session = model.session()
    while question := session.next():
        session.unknown(question.name)
    assert session.spent == 0.0
    assert session.step.answer == nothing.answer


def test_unknown_acquisitions_are_charged_on_request():
    session = clinic_model("lattice").session(charge_unknown=True)
    question = session.next()
    session.unknown(question.name)
    assert session.spent == question.price > 0
    assert session.next().name != question.name
    assert session.log()[0].kind == "unknown"


def test_a_half_known_group_costs_its_whole_price_and_brings_the_rest():
    model = clinic_model("lattice")
    session = model.session({"wbc": 11.2})
    blood = next(a for a in session.step.alternatives if a.name == "blood")
    assert blood.price == 3.0
    session.answer("blood", {"hgb": 12.9})
    assert session.spent == 3.0
    assert "blood" not in [a.name for a in session.step.alternatives]
    assert session.step.probabilities == pytest.approx(model.step({"wbc": 11.2, "hgb": 12.9}).probabilities, abs=1e-12)


def test_a_group_has_an_outcome_when_it_has_a_value_or_can_have_none():
    session = clinic_model().session({"hgb": 12.0}, ["age"])
    assert session.known == {"hgb": 12.0}
    assert session.unavailable == ("age",)
    assert session.outcomes() == (["blood"], ["age"])
    session.answer("ward", "another", accept=True)
    session.unknown("crp")
    assert session.outcomes() == (["blood"], ["age", "ward", "crp"])
    session.undo()
    session.later("fever")
    assert session.outcomes() == (["blood"], ["age", "ward"])
    assert clinic_model().session(unavailable=["wbc"]).outcomes() == ([], [])


def test_a_group_answered_in_part_leaves_the_rest_unknown_until_it_comes():
    session = clinic_model("lattice").session()
    session.answer("wbc", 11.2)
    assert session.spent == 3.0
    assert "blood" not in [a.name for a in session.step.alternatives]
    session.answer("hgb", 12.9)
    assert session.spent == 3.0
    assert [entry.kind for entry in session.log()][1:] == ["known"]
    whole = clinic_model("lattice").session()
    whole.answer("blood", {"wbc": 11.2, "hgb": 12.9})
    assert session.step == whole.step


def test_postponed_questions_come_when_the_model_would_stop_without_them():
    model = clinic_model("lattice")
    session, first = model.session(), model.session().next().name
    session.later(first)
    assert session.next().name != first
    asked = []
    while question := session.next():
        asked.append(question.name)
        session.answer(question.name, values_in_row(question))
    assert session.log()[0].kind == "later"
    session = model.session(unavailable=[name for name in ACQUISITIONS if name != first])
    session.later(first)
    assert session.next().name == first
    with pytest.raises(ValueError, match="'ct' cannot be postponed"):
        session.later("ct")


def test_an_undone_answer_in_the_middle_is_given_again_at_the_end():
    model = clinic_model("lattice", lam=0.0003)
    session = model.session()
    while question := session.next():
        session.answer(question.name, values_in_row(question))
    before, names = state_of(session), [entry.name for entry in session.log()]
    undone = names[1]
    rest = [name for name in names if name != undone]
    assert len(rest) > 1
    session.undo(undone)
    assert [entry.name for entry in session.log()] == rest
    assert {entry.kind for entry in session.log()} == {"asked"}
    assert session.next().name == undone
    session.answer(undone, value_of(undone))
    assert [entry.name for entry in session.log()] == [*rest, undone]
    assert (session.spent, session.step) == (before[2], before[1])
    session.undo()
    assert session.next().name == undone


def prices_in(session):
    return [(entry.name, entry.kind, entry.price) for entry in session.log()]


def test_what_was_paid_stays_paid_when_something_before_it_is_taken_back():
    session = clinic_model("rcpi").session()
    session.answer("crp", 2.0)
    session.answer("ct", 0.9)  # which needs the CRP
    kind = session.log()[1].kind
    session.undo("crp")
    assert prices_in(session) == [("ct", kind, 8.0)]
    session.answer("crp", 12.5)
    assert prices_in(session)[0] == ("ct", kind, 8.0)
    assert session.spent == 10.0


@every_agent
def test_undo_does_not_make_room_for_one_more_than_the_budget(agent):
    session = clinic_model(agent, budget=2).session()
    session.answer("crp", 12.5)
    session.answer("blood", value_of("blood"))
    session.undo("crp")
    session.answer("age", 63)
    paid = prices_in(session)
    assert [name for name, kind, _ in paid if kind in ("asked", "chosen")] == ["blood", "age"]
    assert session.step.alternatives == ()
    with pytest.raises(ValueError, match="budget of 2 is used up"):
        session.answer("crp", 12.5)
    session.answer("crp", 12.5, paid=False)
    assert prices_in(session) == [*paid, ("crp", "known", 0.0)]


def test_only_what_the_budget_has_no_room_for_after_undo_is_known_at_no_price():
    model = asked_model("linear", "panel with a needle")  # budget_cost 5.5
    first, middle, last = model.rules_.names
    columns = {name: [NAMES[i] for i in group] for name, group in zip(model.rules_.names, model.rules_.groups)}
    session = model.session()
    for name in (middle, first, last):  # the first one pays the needle
        session.answer(name, dict.fromkeys(columns[name], 0.0), accept=True)
    assert [entry.price for entry in session.log()] == [2.5, 1.0, 2.0]
    session.undo(middle)
    assert [entry.price for entry in session.log()] == [4.0, 0.0]  # 4 and 5 are more than 5.5
    assert session.log()[1].kind == "known"
    before = prices_in(session)
    session.answer(middle, 0.0, accept=True)
    assert prices_in(session)[:2] == before
    assert session.spent == 4.5


def test_a_text_of_the_first_format_gives_what_its_version_showed():
    model = clinic_model("rcpi")
    crp = {"kind": "answer", "name": "crp", "values": {"crp": 12.5}, "chosen": True, "serial": 1}
    blood = {"kind": "answer", "name": "blood", "values": {"wbc": 11.2, "hgb": 12.9}, "chosen": True, "serial": 2}
    undone = {"kind": "undone", "name": "crp", "values": {}}
    age = {"kind": "answer", "name": "age", "values": {"age": 63}, "paid": False, "serial": 3}
    plain = {
        "format": "fsgym-session-1",
        "policy": model.policy_digest(),
        "known": {},
        "unavailable": [],
        "charge_unknown": False,
        "accept": False,
        "stopped": False,
    }

    def resumed(*answers):
        return model.resume(json.dumps(plain | {"answers": answers}))

    chosen = [("crp", "chosen", 2.0), ("blood", "chosen", 3.0), ("age", "known", 0.0)]
    assert prices_in(resumed(crp, blood, age)) == chosen
    assert prices_in(resumed(crp | {"refilled": True, "serial": 4}, blood, age)) == chosen
    assert prices_in(resumed(undone, blood, age)) == chosen[1:]
    unasked = next(event for event in (crp, blood) if event["name"] != model.session().next().name) | {"chosen": False}
    assert prices_in(resumed(unasked)) == [(unasked["name"], "known", 0.0)]  # it had come after what was undone
    session = resumed(undone, crp, unasked | {"kind": "later", "values": {}, "name": "ward"})
    assert session.postponed == ("ward",)
    again = model.resume(session.to_json())
    assert (again.log(), again.step) == (session.log(), session.step)
    assert json.loads(session.to_json())["format"] == "fsgym-session-2"
    with pytest.raises(ValueError, match="damaged"):
        resumed(crp | {"name": "nobody"})
    with pytest.raises(ValueError, match="damaged"):
        resumed(3)


def test_as_much_is_read_again_as_can_be_said():
    session = clinic_model("rcpi").session()
    assert not all(say(session, "unknown", "blood") for _ in range(1000))
    with pytest.raises(ValueError, match=r"at most \d+ answers; undo\(\) takes"):
        session.later("age")
    assert clinic_model("rcpi").resume(session.to_json()).log() == session.log()
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 50))).add_prefix("x")
    wide = DatumWiseClassifier(n_iterations=1, groups=[range(50)], random_state=0).fit(table, table["x0"] > 0)
    session = wide.session()
    for name in table.columns:
        session.answer(name, 0.0, accept=True)
    assert len(wide.resume(session.to_json()).log()) == 50


def test_the_rest_of_a_group_without_a_result_is_charged_on_request():
    session = clinic_model("lattice").session({"wbc": 11.2}, charge_unknown=True)
    session.unknown("blood")
    assert session.spent == 3.0


def test_a_refusal_names_undo_only_for_what_it_can_take_back():
    session = clinic_model("rcpi").session({"age": 63})
    with pytest.raises(ValueError, match="'age' is known already; it was known in advance"):
        session.answer("age", 50)
    with pytest.raises(ValueError, match="'age' has a value already; it was known in advance"):
        session.unknown("age")


def test_going_on_after_the_model_would_stop_is_allowed_and_logged():
    model = clinic_model("lattice")
    session = model.session({"ct": 1.3, "age": 63})
    while question := session.next():
        session.answer(question.name, values_in_row(question))
    extra = session.step.alternatives[0].name
    session.answer(extra, value_of(extra))
    assert session.log()[-1].kind == "chosen"
    assert "would stop" in session.log()[-1].remark
    label = session.stop()
    assert session.stopped
    assert session.next() is None
    with pytest.raises(ValueError, match="has ended"):
        session.unknown("blood")
    assert json.loads(session.to_json())["stopped"]
    assert model.resume(session.to_json()).stopped
    session.undo()
    assert not session.stopped
    assert session.step.answer == label


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("age", 200, "'age' must be a number from 18 to 94 years, the range in training, got 200"),
        ("age", "63", "'age' must be a number from 18 to 94 years, got '63'"),
        ("age", True, "'age' must be a number"),
        ("age", float("nan"), "say that it is unknown"),
        ("age", 1e300, "that float32 can hold"),
        ("age", None, "'age' must be a number"),
        ("ward", 3, "'ward' must be one of er, gp, icu, got 3"),
        ("ward", "ICU", "'ward' must be one of er, gp, icu, got 'ICU'"),
        ("ward", None, "'ward' must be one of er, gp, icu, got None"),
        ("fever", "perhaps", "'fever' must be True or False, got 'perhaps'"),
        ("blood", 7.0, "'blood' must be answered by its columns"),
        ("blood", {"crp": 1.0}, "column of 'blood'"),
        ("blood", {}, "at least one of wbc, hgb"),
        ("ages", 63, "did you mean 'age'"),
        ("ct", 0.5, "'ct' cannot be acquired before 'crp'; pass paid=False"),
    ],
)
def test_wrong_answers_are_one_sentence_and_change_nothing(name, value, message):
    session = clinic_model("lattice").session()
    before = state_of(session)
    with pytest.raises((ValueError, TypeError), match=message.replace("(", r"\(")) as caught:
        session.answer(name, value)
    assert "\n" not in str(caught.value)
    assert state_of(session) == before


def test_a_refusal_has_its_sentence_and_what_can_be_done():
    session = clinic_model().session({"crp": 3.0})
    with pytest.raises(Refusal) as of_level:
        session.answer("ward", "x (accept=True)")
    with pytest.raises(Refusal) as of_known:
        session.answer("crp", 4.0)
    level, known = (pickle.loads(pickle.dumps(info.value)) for info in (of_level, of_known))
    assert (level.acceptable, level.advice) == (True, "")
    assert level.sentence.endswith("got 'x (accept=True)'; correct it, or accept it as unknown")
    assert str(level) == f"{level.sentence} (accept=True)"
    assert (known.acceptable, known.sentence) == (False, "'crp' is known already")
    assert str(known) == f"{known.sentence}; {known.advice}"


def test_odd_values_are_accepted_on_request_and_marked():
    session = clinic_model("lattice").session()
    session.answer("age", 120, accept=True)
    assert session.log()[0].remark.startswith("age: outside the range in training")
    with pytest.raises(ValueError, match=r"got 630 \(divided by 10 it would be in it\); correct it"):
        session.answer("age", 630)
    with pytest.raises(ValueError, match="got 7; correct it"):  # a child, not 70 in another unit
        session.answer("age", 7)
    session.answer("ward", "hospice", accept=True)
    assert "was not in training" in session.log()[1].remark
    assert session.spent == 1.0
    again = clinic_model("lattice").resume(session.to_json())
    assert again.log() == session.log()
    step = clinic_model("lattice").step({"age": 120}, accept=True)
    assert step.spent == 0.0


def test_the_budget_is_explained_and_values_are_not_given_twice():
    session = clinic_model("rcpi", budget=1).session()
    session.answer("crp", 12.5)
    with pytest.raises(ValueError, match="budget of 1 is used up"):
        session.answer("blood", value_of("blood"))
    with pytest.raises(ValueError, match=r"undo\('crp'\)"):
        session.answer("crp", 3.0)
    with pytest.raises(ValueError, match=r"undo\('crp'\)"):
        session.unknown("crp")
    session = clinic_model("rcpi", budget_cost=4.0).session()
    session.answer("blood", value_of("blood"))
    with pytest.raises(ValueError, match="its price is 2, and 1 of the budget of 4 is left"):
        session.answer("crp", 12.5)


@every_agent
def test_a_model_from_its_file_asks_the_same_and_has_the_same_digest(agent, tmp_path):
    model = clinic_model(agent)
    model.save(tmp_path / "model.fsgym")
    again = type(model).load(tmp_path / "model.fsgym")
    assert again.policy_digest() == model.policy_digest() != clinic_model(agent, budget=2).policy_digest()
    session = model.session({"age": 63})
    session.answer("crp", 12.5)
    loaded = again.resume(session.to_json())
    assert loaded.step == session.step
    question = model.step({}).alternatives and again.step({"crp": 5.0}).question
    if question:
        assert question == model.step({"crp": 5.0}).question


def test_reasons_name_costs_where_the_agent_has_values_and_the_order_where_it_has_not():
    session = clinic_model("lattice").session()
    assert "because the case is then expected to cost" in session.why()
    while question := session.next():
        session.answer(question.name, values_in_row(question))
    assert "It stops because" in session.why()
    text = clinic_model("rcpi").session().why()
    assert "By what it learnt from the training cases it" in text
    assert "hat going on costs is not estimated for the values known now" in text
    assert "expected" not in text


def test_reasons_after_an_earlier_stop_are_of_the_past():
    session = clinic_model("lattice").session()
    asked, (stop, go_on) = session.next(), session.step.expected_cost
    answer = session.stop()
    assert session.why().startswith(
        f"You stopped with the answer {answer}; the model would have acquired {asked.name} "
        f"(price {asked.price:g}) next. It believed in well "
    )
    costs = f"was expected to cost {stop:.3g}, and the case {go_on:.3g} if the model went on, prices included."
    assert session.why().endswith(costs)
    assert "It acquires" not in session.why()


def test_costs_have_their_unit():
    step, rules = clinic_model("lattice").step({}), clinic_model("lattice").rules_
    wrong = "A wrong answer costs 1, so the expected cost of an answer is the chance that it is wrong."
    assert cost_unit_text(step, rules) == wrong
    assert step.expected_cost.stop == pytest.approx(1 - step.probabilities[step.answer])
    rules = rules.replace(error_costs=[[0, 5], [1, 0]])
    assert cost_unit_text(step, rules) == "Costs are in units of the error costs."
    with speaking(Speech(currency="EUR", same_unit=True)):
        assert cost_unit_text(step, rules).startswith("An expected cost is no bill: ")
    assert cost_unit_text(clinic_model("rcpi").step({}), clinic_model("rcpi").rules_) == ""  # it shows none


def test_steps_are_plain_json():
    step = clinic_model("lattice").step({"age": 63})
    plain = json.loads(json.dumps(step.as_json()))
    assert plain["question"]["columns"][0]["name"] in ROW
    assert dict(map(tuple, plain["probabilities"])) == step.probabilities
    assert [a["name"] for a in plain["alternatives"]] == [a.name for a in step.alternatives]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": {"age": 63, "agee": 1}}, "did you mean 'age'"),
        ({"known": [1]}, "known must be a mapping"),
        ({"known": {"wbc": 7.0, "blood": {"wbc": 7.0}}}, "two for 'wbc'"),
        ({"known": {"age": 63}, "unavailable": ["age"]}, "known or unavailable, got both"),
        ({"known": {}, "unavailable": "age"}, "unavailable must be a list of names"),
        ({"known": {}, "unknown": "age"}, "unknown must be a list of names"),
        ({"known": {}, "spent": -1}, "spent must be"),
        ({"known": {}, "n_paid": 1.5}, "n_paid must be a whole number"),
        ({"known": {}, "n_paid": 2**63}, "n_paid must be a whole number from 0 to 1,000,000"),
    ],
)
def test_wrong_arguments_of_a_step_are_one_sentence(options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        clinic_model("rcpi").step(**options)
    assert "\n" not in str(caught.value)


def test_what_is_postponed_already_is_not_postponed_again():
    session = clinic_model("rcpi").session()
    session.later("crp")
    before = session.to_json()
    with pytest.raises(ValueError, match="'crp' is postponed already"):
        session.later("crp")
    assert session.to_json() == before


def test_what_was_accepted_is_remembered_to_the_end():
    session = clinic_model("rcpi").session({"age": 300}, accept=True)
    session.answer("crp", 9999.0, paid=False, accept=True)
    assert [remark.partition(":")[0] for remark in session.remarks] == ["age", "crp"]
    assert all("outside" in remark for remark in session.remarks)
    again = clinic_model("rcpi").resume(session.to_json())
    assert again.remarks == session.remarks
    answer = session.stop()
    assert session.why().startswith(f"You stopped with the answer {answer}") != session.step.should_stop


def test_nothing_is_remarked_where_values_are_as_in_training():
    assert clinic_model("rcpi").session({"age": 63}, accept=True).remarks == []


@pytest.mark.parametrize("number", [Fraction(3, 2), np.longdouble(1.5), np.float16(1.5), np.float64(1.5)])
def test_numbers_of_any_kind_can_be_saved(number):
    model = clinic_model()
    known = {"blood": MappingProxyType({"wbc": number})}
    session = model.session(known=known, accept=True)
    session.answer("crp", number)
    plain = json.loads(session.to_json())
    assert (plain["known"], plain["answers"][0]["values"]) == ({"blood": {"wbc": 1.5}}, {"crp": 1.5})
    assert state_of(model.resume(session.to_json())) == state_of(session)


@pytest.mark.parametrize("number", [Fraction(10**400), np.longdouble("inf")])
def test_numbers_that_cannot_be_saved_are_refused(number):
    session = clinic_model().session()
    before = state_of(session)
    with pytest.raises(ValueError, match=r"float64 can hold|float32 can hold"):
        session.answer("crp", number, accept=True)
    assert state_of(session) == before


@pytest.mark.parametrize("number", [float("inf"), -np.float32("inf")])
def test_an_infinite_number_is_no_level_although_it_is_accepted(number):
    with pytest.raises(ValueError, match=r"'ward' must be one of er, gp, icu, got -?inf"):
        clinic_model().session().answer("ward", number, accept=True)


@pytest.mark.parametrize("flag", [True, np.bool_(True)])
def test_a_truth_value_is_no_price(flag):
    with pytest.raises(TypeError, match="spent must be a number, got"):
        clinic_model().step({}, spent=flag)


def test_one_entry_of_the_log_is_taken_back():
    session = clinic_model().session()
    session.later("ward")
    session.answer("ward", "gp")
    session.answer("age", 60)
    session.undo(entry=0)
    assert [(e.name, e.kind) for e in session.log()] == [("ward", "chosen"), ("age", "chosen")]
    for place in (2, -1):
        with pytest.raises(ValueError, match="there is nothing to undo"):
            session.undo(entry=place)
    session.undo(entry=0)
    assert [e.name for e in session.log()] == ["age"]
    session.stop()
    session.undo(entry=0)
    assert (session.stopped, session.log()) == (False, [])
    with pytest.raises(TypeError, match="takes a name or an entry, got both"):
        session.undo("age", entry=0)


def test_a_case_that_is_told_no_prices_says_that_they_are_means():
    model = MixtureClassifier(lam=0.03, random_state=0).fit(two_equal_features(300, 0))
    sentence = said("prices_at_mean")
    assert model.session(prices={}).about_prices == model.session().about_prices == [sentence]
    assert model.resume(model.session(prices={}).to_json()).about_prices == [sentence]
    told = model.session(prices={"scan": 1})
    assert (told.about_prices, told.prices) == ([said("prices_told", prices="scan 1")], {"scan": 1.0})
