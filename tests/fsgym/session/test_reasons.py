"""What a session says of its reasons: values that are not used yet, and answers that error costs chose."""

from __future__ import annotations

import numpy as np
import pytest

from agents import LatticeClassifier, MixtureClassifier
from baselines import CARTClassifier
from fsgym import Rules
from fsgym.session.held_out import speech_of
from fsgym.session.reasons import explain_step
from fsgym.session.step import Alternative, ExpectedCost, Question, Step
from fsgym.session.words import cost_unit_text
from fsgym.text.speech import Speech, speaking
from support.asked_models import NAMES, asked_model, asked_table
from support.browsing import Visitor

# all sets of columns that may be known in advance
SUBSETS = [[name for k, name in enumerate(NAMES) if number >> k & 1] for number in range(1, 2 ** len(NAMES))]


@pytest.mark.parametrize("agent", ["lattice", "linear", "dqn", "mixture", "any_network"])
@pytest.mark.one_in(2)
def test_what_is_not_used_yet_has_no_effect(agent):
    model, table = asked_model(agent, "panel with a needle"), asked_table("panel with a needle")[0].dropna()
    found = 0
    for names in SUBSETS:
        step = model.step(dict(table[names].iloc[0]))
        assert set(step.unused) <= set(names)
        other = dict(table[names].iloc[0]) | dict(table[list(step.unused)].iloc[1])
        assert model.step(other).probabilities == step.probabilities
        assert model.step(other).answer == step.answer
        found += len(step.unused)
    if agent in ("mixture", "any_network"):
        assert found == 0
    elif agent != "dqn":
        assert found


def test_a_lattice_says_which_values_are_outside_of_its_subsets():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    model = LatticeClassifier(lam=0.1, random_state=0).fit(X, y)
    assert model.step({"x0": 2.0}).unused == ()
    session = model.session(known={"x2": 2.0})
    assert session.step.unused == ("x2",)
    assert session.probabilities == model.step({}).probabilities
    assert session.why().endswith(" Known, but not used yet: x2.")
    assert session.step.as_json()["unused"] == ("x2",)


def test_a_tree_uses_the_values_of_its_splits():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = CARTClassifier(max_depth=2).fit(X, (X[:, 0] > 0) & (X[:, 1] > 0))
    first = model.step({}).question.name
    other = "x1" if first == "x0" else "x0"
    assert model.step({other: 1.0}).unused == (other,)
    assert model.step({first: 1.0, other: 1.0}).unused == ()
    assert model.step({first: -1.0, other: 1.0}).unused == (other,)


def test_a_reason_gives_the_probability_of_the_class_that_error_costs_chose():
    X, y = np.zeros((100, 1)), np.repeat(["a", "b", "c"], [45, 30, 25])
    costs = {"a": {"b": 1, "c": 1}, "b": {"a": 1, "c": 1}, "c": {"a": 0.01, "b": 0.01}}
    for error_costs, end in [
        (None, "in a 45 % and b 30 %; its answer now would be a."),
        (costs, "in a 45 %, b 30 % and c 25 %; its answer now would be c, because of the costs of errors."),
    ]:
        model = MixtureClassifier(lam=0.01, error_costs=error_costs, random_state=0).fit(X, y)
        assert end in model.session().why()


ASKED = Question("age", (), 0.0)
EQUAL = Rules(2, 2, lam=1.0)


def step_of(question, stop, on, *alternatives):
    """A step in which the model believes in yes with 12 %, at expected costs by name."""
    rest = tuple(Alternative(name, price, cost, None) for name, price, cost in alternatives)
    shares = {"no": 0.88, "yes": 0.12}
    return Step(question, question is None, "yes", shares, ExpectedCost(stop, on), 0.0, rest)


def test_a_free_question_is_asked_because_it_is_free_where_another_is_expected_to_cost_less():
    """The reason was an expected cost that is above that of another question on the same page."""
    others = ("temperature", 1.0, 331.0), ("crp", 12.0, 341.0)
    why = explain_step(step_of(ASKED, 354.0, 335.0, ("age", 0.0, 335.0), *others), EQUAL)
    assert "It acquires age first because it costs nothing. Next in its order are temperature" in why
    assert "is then expected to cost" not in why
    why = explain_step(step_of(ASKED, 354.0, 320.0, ("age", 0.0, 320.0), *others), EQUAL)
    assert "It acquires age (free) because the case is then expected to cost 320" in why


def test_nothing_is_said_of_expected_costs_where_there_are_none():
    question = Question("temperature", (), 1.0)
    step = step_of(question, 332.0, None, ("temperature", 1.0, None), ("crp", 12.0, None))
    assert "what going on costs is not estimated for the values known now" in explain_step(step, EQUAL)
    rules = Rules(2, 2, lam=1.0, error_costs=[[0, 25000], [500, 0]])
    with speaking(Speech(currency="EUR", same_unit=True)):
        assert cost_unit_text(step, rules) == ""
        known = step_of(question, 332.0, 320.0, ("temperature", 1.0, 320.0))
        assert cost_unit_text(known, rules).startswith("An expected cost is no bill")


def test_the_probability_from_which_on_an_answer_is_given_stands_beside_it():
    """An answer with 12 % beside the other class with 88 % read like a mistake of the page."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.3, "yes", "no")
    costs = {"yes": {"no": 500}, "no": {"yes": 25000}}
    model = LatticeClassifier(lam=1, error_costs=costs, random_state=0).fit(rng.normal(size=(200, 1)), y)
    cutoff = "yes is the answer from a probability of 2 % on."
    session = model.session()
    assert session.cutoff.endswith(cutoff)
    assert cutoff in session.why()
    visitor = Visitor(model, speech=speech_of(model, "en", "")).sign_in().begin().press("Stop now")
    assert cutoff in visitor.text.partition("What the model believes")[0]
    assert cutoff in visitor.go(f"{visitor.reply.url.path}/log").text
    equal = LatticeClassifier(random_state=0).fit(rng.normal(size=(200, 1)), y).session()
    assert equal.cutoff == ""
    assert "from a probability" not in equal.why()


LUNG = Rules(
    2,
    3,
    lam=1.0,
    error_costs=[[0, 300, 8000], [1000, 0, 8000], [4000, 4000, 0]],  # answers harmless, pneumonia, embolism
    refer_cost=250.0,
)


def lung_step(answer, *shares, refers=False):
    named = dict(zip(["harmless", "pneumonia", "embolism"], shares, strict=True))
    alternatives = (Alternative("dimer", 20.0, 300.0, None),)
    return Step(None, True, answer, named, ExpectedCost(250.0, 300.0), 0.0, alternatives, refers=refers)


def test_the_class_that_makes_the_answer_dear_is_named_though_it_is_the_least_likely():
    """A referral was explained by the two likeliest classes alone, which were not its reason."""
    why = explain_step(lung_step("a person", 0.77, 0.12, 0.11, refers=True), LUNG)
    assert why.startswith(
        "The model believes in harmless 77 %, pneumonia 12 % and embolism 11 %; it would refer the case to a person "
        "now. Referring costs 250, and the best answer, harmless, is expected to cost 916, above all because it may be "
        "embolism."
    )
    cheaper = Rules(2, 3, error_costs=[[0, 300, 8000], [1000, 0, 8000], [400, 400, 0]], refer_cost=250.0)
    why = explain_step(lung_step("a person", 0.77, 0.12, 0.11, refers=True), cheaper)
    assert "in harmless 77 %, pneumonia 12 % and embolism 11 %; it" in why
    assert "the best answer, embolism, is expected to cost 356, above all because it may be harmless." in why
    why = explain_step(lung_step("harmless", 0.9, 0.09, 0.01), LUNG)
    assert why.startswith(
        "The model believes in harmless 90 %, pneumonia 9 % and embolism 1 %; its answer now would be"
    )
    assert "Of the expected cost of the answer harmless, the largest part is for embolism." in why


def test_no_further_class_is_named_where_the_two_likeliest_are_the_reason():
    why = explain_step(lung_step("harmless", 0.7, 0.299, 0.001), LUNG)
    assert why.startswith(
        "The model believes in harmless 70 % and pneumonia 30 %; its answer now would be harmless. It"
    )
    certain = explain_step(lung_step("harmless", 1.0, 0.0, 0.0), LUNG)
    assert "and pneumonia 0 %; its answer now would be harmless. It stops" in certain


def test_what_all_answers_cost_alike_is_no_reason():
    dear = Rules(2, 3, lam=1.0, error_costs=LUNG.error_costs + 20_000.0, refer_cost=20_250.0)
    why = explain_step(lung_step("a person", 0.77, 0.12, 0.11, refers=True), dear)
    assert "the best answer, harmless, is expected to cost 20916, above all because it may be embolism." in why


def test_a_right_answer_dearer_than_the_referral_is_its_reason():
    costs = Rules(2, 3, error_costs=[[80, 300, 8000], [1000, 0, 8000], [4000, 4000, 0]], refer_cost=75.0)
    why = explain_step(lung_step("a person", 0.9998, 0.0002, 0.0, refers=True), costs)
    assert "the best answer, harmless, is expected to cost 80" in why
    assert "above all because it may be harmless." in why
