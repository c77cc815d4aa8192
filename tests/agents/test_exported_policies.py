"""Interpreters of exported policies ask and answer as the models do, in JavaScript and in plain NumPy."""

import base64
import json
import os
from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import fsgym
from agents import (
    AdaptiveClassifier,
    AnyStateNetworkClassifier,
    DatumWiseClassifier,
    LatticeClassifier,
    MixtureClassifier,
    load_classifier,
    policy_export,
)
from agents.policy_export import array_as_json
from fsgym.evaluation.promise import Risk
from fsgym.export.page import page_html
from fsgym.rules.options import OPTIONS
from support.asked_models import ASKED_AGENTS, EXPORTED_RULES, asked_model, asked_table
from support.clinic import clinic_model
from support.deep_training import short_classifier
from support.exported_policies import (
    ROOT,
    AskedCase,
    asked_by_javascript,
    asked_by_model,
    cases_of,
    check_interpreters,
    import_document,
    needs_node,
)
from support.majority import MajorityClassifier
from support.patients import RULES as RULES_OF_PATIENTS
from support.patients import UNITS, features_and_labels, patients

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")

DEFAULT = ("everything", "panel with a needle", "referral, error costs")
FITTED = {
    "lattice": lambda **options: LatticeClassifier(random_state=0, **options),
    "linear": lambda **options: DatumWiseClassifier(n_iterations=6, random_state=0, **options),
    "mixture": lambda **options: MixtureClassifier(random_state=0, **options),
    "any_network": lambda **options: AnyStateNetworkClassifier(n_steps=100, random_state=0, **options),
    "network": lambda **options: short_classifier("maskable_ppo", **options),
    "network of values": lambda **options: short_classifier("dqn", **options),
    "adaptive": lambda **options: AdaptiveClassifier(random_state=0, **options),
}


@needs_node
def test_a_level_that_was_not_in_training_is_unknown():
    row = {"ct": 0.9, "age": 63, "ward": "another", "fever": True, "crp": 12.5, "wbc": 11.2, "hgb": 12.9}
    asked, told = check_interpreters(clinic_model(), [AskedCase(row, ()), AskedCase(row, ("ward",))])
    assert asked[0]["question"] == "ward"
    assert asked[1]["probabilities"] == asked[0]["probabilities"]
    assert told[0]["question"] != "ward"


@needs_node
def test_what_comes_after_a_known_value_may_be_lacking():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = LatticeClassifier(lam=0.02, random_state=0).fit(X, y)
    rows = [X.iloc[i].to_dict() | {"proline": None} for i in (10, 60, 62, 150)]
    steps = check_interpreters(model, [AskedCase(row, ("hue",)) for row in rows])
    assert all(case[0]["question"] is not None for case in steps)  # hue alone leaves two classes possible


@needs_node
@pytest.mark.parametrize("agent", ["mixture", pytest.param("any_network", marks=pytest.mark.slow)])
def test_a_stop_rule_that_never_stops_ends_in_a_wide_table(agent, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 130)), np.tile([0, 1], 12)
    model = FITTED[agent](lam=1e-6).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load_classifier(tmp_path / "model")
    never = np.zeros_like(model.policy_.stop.theta)
    never[0] = -1.0
    for one in (model, loaded):
        assert one.policy_.most == 100
        one.policy_ = replace(one.policy_, stop=one.policy_.stop._replace(theta=never))
        assert one.trajectories(X).lengths.max() == 100
        by_steps = one.policy_._play(one.arrangement_.rows(X[:3].astype(np.float32)), one.rules_, one.policy_.actions)
        assert np.array_equal(by_steps.lengths, one.trajectories(X[:3]).lengths)
    row = dict(enumerate(X[0].tolist()))
    names = [f"x{k}" for k in row]
    check_interpreters(loaded, [AskedCase(dict(zip(names, X[0].tolist(), strict=True)), tuple(names[:98]))])


@needs_node
@pytest.mark.parametrize("agent", ["lattice", "mixture", pytest.param("any_network", marks=pytest.mark.slow)])
def test_rewards_of_right_answers_and_a_referral(agent):
    X, y = load_wine(return_X_y=True, as_frame=True)
    X, errors = X[["alcohol", "hue", "proline", "flavanoids"]], [[-50, 400, 90], [300, -20, 120], [80, 500, 10]]
    model = FITTED[agent](lam=3.0, error_costs=errors, refer_cost=70.0).fit(X, y)
    rows = [X.iloc[i].to_dict() for i in range(0, 178, 6)]
    cases = [AskedCase(row, ("hue",) if i % 3 == 0 else ()) for i, row in enumerate(rows)]
    check_interpreters(model, cases)
    if agent != "lattice":  # as from a file of 0.2.0
        plain = replace(model.policy_.model, unit=None)
        assert not np.array_equal(plain.costs, model.policy_.model.costs)
        model.policy_ = replace(model.policy_, model=plain)
        check_interpreters(model, cases)


@needs_node
@pytest.mark.parametrize("unit", [0, -900.0, None, "900", True])
def test_a_damaged_unit_of_costs_is_refused(unit):
    model, kinds = asked_model("mixture", "referral, error costs"), import_document("interpret_other_policies").KINDS
    plain, cases = json.loads(model.policy_json()), cases_of(model, asked_table("referral, error costs")[0], 1)
    assert plain["parameters"]["unit"] > 0
    plain["parameters"]["unit"] = unit
    with pytest.raises(AssertionError, match="its unit of costs is no number above 0"):
        asked_by_javascript(json.dumps(plain), cases)
    with pytest.raises(ValueError, match="its unit of costs is no number above 0"):
        import_document("interpret_policy").read_policy(json.dumps(plain), kinds)


@pytest.mark.one_in(4)
@needs_node
@pytest.mark.parametrize("variant", DEFAULT)
@pytest.mark.parametrize("agent", [agent for agent in ASKED_AGENTS if agent != "adaptive"])
def test_every_kind_of_policy(agent, variant):
    model = asked_model(agent, variant)
    check_interpreters(model, cases_of(model, asked_table(variant)[0], 30))


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("variant", EXPORTED_RULES)
@pytest.mark.parametrize("agent", ASKED_AGENTS)
def test_all_rules(agent, variant):
    model = asked_model(agent, variant)
    check_interpreters(model, cases_of(model, asked_table(variant)[0], 40, seed=1))


def with_rule(model, limit=0.1, least=None, kinds=("recall", "error", "cost")):
    """A copy of a model that stops by these risks, as if they had been tested."""
    costs = model.policy_.rules.error_costs
    given = {
        "error": Risk("error", 0.2, 0.2),
        "recall": Risk("recall", 0.9, 0.1, 1, str(model.classes_[1])),
        "cost": Risk("cost", 0.3, 0.3, -1, "", float(costs.min()), float(costs.max())),
        "referred": Risk("referred", 0.4, 0.4),
    }
    model = copy(model).calibrate(min_confidence=least or 0.5)
    promise = replace(model.promise_, limit=limit, min_confidence=least, risks=tuple(given[kind] for kind in kinds))
    model.policy_ = replace(model.policy_, promise=promise)
    return model


CERTAIN = {
    "several": {"limit": 0.05},
    "recall": {"limit": 0.03, "kinds": ["recall"]},
    "cost": {"limit": 0.05, "kinds": ["cost"]},
    "confidence": {"least": 0.95, "kinds": []},
    "both": {"limit": 0.2, "least": 0.9, "kinds": ["error"]},
    "never": {"limit": None, "kinds": ["error"]},
}


def check_certain(agent, variant, rule, n):
    """Interpreters follow the rule as sessions do; returns what sessions did without it, and with it."""
    plain = asked_model(agent, variant)
    model = with_rule(plain, **(CERTAIN[rule] if isinstance(rule, str) else rule))
    cases = cases_of(model, asked_table(variant)[0], n)
    steps, text = check_interpreters(model, cases), model.policy_json()
    texts = ("why", "certainty", "stop_ends", "free_left")
    said = [[[step[text] for text in texts] for step in one] for one in steps]
    found = asked_by_javascript(text, cases)
    assert [[[step[text] for text in texts] for step in one] for one in found] == said
    return asked_by_model(plain, cases), steps


@pytest.mark.one_in(9)
@needs_node
@pytest.mark.parametrize("variant", DEFAULT)
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network"])
@pytest.mark.parametrize("rule", ["several", "both"])
def test_rules_of_calibrated_models(agent, variant, rule):
    plain, certain = check_certain(agent, variant, rule, 30)
    if not variant.startswith("referral"):
        assert sum(map(len, certain)) > sum(map(len, plain))
        return
    person, ends = len(asked_model(agent, variant).classes_), [one[-1] for one in certain]
    assert any(end["answer"] == person and not end["certain"] and "so the case is" in end["certainty"] for end in ends)
    assert any(end["answer"] == person and end["certain"] for end in ends)  # as that is cheapest
    assert all(end["certain"] for end in ends if end["answer"] != person)


@needs_node
@pytest.mark.parametrize("rule", CERTAIN)
@pytest.mark.one_in(4)
def test_every_rule_of_a_calibrated_lattice(rule):
    plain, certain = check_certain("lattice", "base", rule, 40)
    assert sum(map(len, certain)) > sum(map(len, plain))
    cut = [one[-1] for one in certain if not one[-1]["certain"] and one[-1]["alternatives"]]
    assert cut or rule != "never"  # nothing that is left changes the answer


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("rule", CERTAIN)
@pytest.mark.parametrize("variant", EXPORTED_RULES)
@pytest.mark.parametrize("agent", ["lattice", "mixture", "any_network", "adaptive"])
def test_all_rules_of_calibrated_models(agent, variant, rule):
    check_certain(agent, variant, rule, 20)


@needs_node
def test_how_many_are_referred_needs_no_certainty():
    plain, certain = check_certain("lattice", "referral, error costs", {"limit": 1.0, "kinds": ["referred"]}, 20)
    assert [[step["answer"] for step in one] for one in certain] == [[step["answer"] for step in one] for one in plain]
    texts = {step["certainty"] for one in certain for step in one}
    assert all(": no certainty is needed" in text for text in texts)
    assert len(texts) > 1  # to refer, and to answer


def test_policies_without_a_rule_have_none():
    plain = json.loads(asked_model("lattice", "base").policy_json())
    assert plain["format"] == "fsgym-policy-2"
    assert "rule" not in plain


def test_what_is_promised_is_in_the_text():
    model = with_rule(asked_model("mixture", "base"))
    rule = json.loads(model.policy_json())["rule"]
    assert rule["sentences"] == model.promise_.sentences()
    assert rule["end"] == model.promise_.end
    assert '<details id="promised"' in page_html(json.loads(model.policy_json()), "title")


def few_numbers_and_repeated_columns():
    """Few numbers, of which training did not see all; a constant; a column that comes twice; a constant that opens."""
    rng, n = np.random.default_rng(3), 200
    pain = rng.choice([0.0, 1, 2.5, 3, 7, 8, 10], n)
    lab = rng.normal(size=n).round(2)
    table = pd.DataFrame(
        {"pain": pain, "lab": lab, "site": 3.0, "again": lab, "open": 1.0, "ward": rng.choice(["er", "gp", "icu"], n)}
    )
    return table, np.where(pain + 2 * lab + rng.normal(size=n) > 5, "sick", "well")


@needs_node
@pytest.mark.parametrize("agent", ["mixture", "any_network", "linear", "lattice"])
@pytest.mark.one_in(4)
def test_numbers_between_levels_and_acquisitions_that_tell_nothing_new(agent):
    table, y = few_numbers_and_repeated_columns()
    model = FITTED[agent](lam=0.002, prerequisites={"lab": ["open"], "again": ["open"]}).fit(table, y)
    unseen = table.assign(pain=np.random.default_rng(0).uniform(-3, 13, len(table)).round(1), site=5.0)
    cases = cases_of(model, unseen, 60)
    steps = check_interpreters(model, cases)
    asked = {step["question"] for case in steps for step in case}
    lacking = {"lab": None, "again": None}
    without = check_interpreters(model, [AskedCase(case.row | lacking, ()) for case in cases[::3]])
    assert all(cost is None for case in without for _, _, cost in case[0]["alternatives"])  # it would count on both
    assert {"pain", "open"} <= asked
    assert "site" not in asked
    if agent in ("mixture", "any_network"):
        assert json.loads(model.policy_json())["arrays"]["skipped"]["shape"] == [2]


@needs_node
@pytest.mark.parametrize("agent", ["mixture", "any_network"])
@pytest.mark.one_in(2)
def test_columns_that_every_case_brings_come_first(agent, tmp_path):
    """Site tells nothing, and ward hardly anything: without ``known`` neither is asked for."""
    table, y = few_numbers_and_repeated_columns()
    model = FITTED[agent](lam=0.002, known=["ward", "site"]).fit(table, y)
    acquired = model.trajectories(table).to_frame().pivot(index="row", columns="step", values="acquired")
    assert acquired[[0, 1]].drop_duplicates().to_numpy().tolist() == [["site", "ward"]]
    model.save(tmp_path / "model")
    assert load_classifier(tmp_path / "model").policy_.rules.always_known == model.policy_.rules.always_known == (4, 5)
    policy, rows = model.policy_, model.arrangement_.dataset(model._training_data(table, y)).X
    followed, stepped = policy._trajectories(rows, policy.rules), policy._played(rows, policy.rules, policy.actions)
    assert followed.order.tolist() == stepped.order[:, : followed.order.shape[1]].tolist()
    check_interpreters(model, cases_of(model, table, 40))  # also where some of this is not known
    assert json.loads(model.policy_json())["rules"]["always_known"] == [4, 5]


def test_policies_of_the_first_format_are_still_read():
    plain = json.loads(asked_model("mixture", "base").policy_json()) | {"format": "fsgym-policy-1"}
    reference = import_document("interpret_policy").read_policy
    kinds = import_document("interpret_other_policies").KINDS
    assert reference(json.dumps(plain), kinds).acquisitions == plain["acquisitions"]
    with pytest.raises(ValueError, match="of the format fsgym-policy-1 or -2, got 'fsgym-policy-3'"):
        reference(json.dumps(plain | {"format": "fsgym-policy-3"}), kinds)


def breast_cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    return fsgym.load_dataset(X.assign(state=np.where(y, "benign", "malignant")), target="state"), {"lam": 0.005}


def sick_patients():
    X, y = features_and_labels(patients())
    data = fsgym.load_dataset(X.assign(diagnosis=y), target="diagnosis", units=UNITS)
    return data, RULES_OF_PATIENTS | {"budget_cost": 140.0, "budget": 7}


def wine_of_relations():
    X, y = load_wine(return_X_y=True, as_frame=True)
    n = X.shape[1]
    near = np.eye(n, k=1) + np.eye(n, k=-1)
    prices = {"lam": 0.01, "costs": 0.5, "unrelated_costs": 2.0, "related": near, "budget_cost": 9.0}
    return fsgym.load_dataset(X.assign(kind=y), target="kind"), prices


def credit():
    folder = os.environ.get("FSGYM_DATA")
    if not folder:
        pytest.skip("FSGYM_DATA is not set")
    return fsgym.load_dataset("crx", data_dir=folder), {"lam": 0.01}


@needs_node
@pytest.mark.slow
@pytest.mark.parametrize("table", [breast_cancer, sick_patients, wine_of_relations, credit])
@pytest.mark.parametrize("kind", FITTED)
def test_thousand_rows(kind, table):
    """A thousand of the kinds with interpreters of their own, fewer of networks of actions and of what they repeat."""
    data, options = table()
    if kind.startswith("network"):  # a short training asks for everything
        options |= {"budget": 5}
    model = FITTED[kind](**options).fit(data)
    frame = data.to_frame().drop(columns=data.to_frame().columns.difference(model.columns_.names))
    cases = cases_of(model, frame, 200 if kind.startswith("network") or kind == "adaptive" else 1000)
    steps = check_interpreters(model, cases)
    predicted = model.predict(frame)
    for k, case in enumerate(cases):
        if not case.known:  # what predict does
            assert model.classes_[steps[k][-1]["answer"]] == predicted[k % len(predicted)], k


def test_arrays_are_little_endian():
    plain = array_as_json(np.array([[1, 2], [3, 70_000]]))
    assert plain["dtype"] == "int32"
    assert plain["shape"] == [2, 2]
    assert np.frombuffer(base64.b64decode(plain["base64"]), "<i4").tolist() == [1, 2, 3, 70_000]
    assert [array_as_json(np.array([v]))["dtype"] for v in (True, 255, 256, -1)] == ["uint8", "uint8", "int16", "int16"]
    assert array_as_json(np.array([1.5], ">f8"))["base64"] == array_as_json(np.array([1.5]))["base64"]
    with pytest.raises(ValueError, match=r"below 2 \*\* 31 to be exported, got 1099511627776"):
        array_as_json(np.array([2**40]))


def test_names_and_rules_of_the_text():
    model = asked_model("lattice", "panel with a needle")
    plain = json.loads(model.policy_json())
    assert plain["format"] == "fsgym-policy-2"
    assert plain["digest"] == model.policy_digest()
    assert [column["name"] for column in plain["columns"]] == list(model.columns_.names)
    ordered = [plain["acquisitions"][j]["name"] for j in plain["user_order"]]
    assert ordered == list(model.rules_.names)
    for acquisition, group in zip(ordered, model.rules_.groups, strict=True):
        members = {model.columns_.names[i] for i in group}
        features = next(a["features"] for a in plain["acquisitions"] if a["name"] == acquisition)
        assert {c["name"] for c in plain["columns"] if set(c["features"]) <= set(features)} == members


def test_format_is_documented():
    plain = json.loads(with_rule(asked_model("lattice", "panel with a needle")).policy_json())
    text = (ROOT / "docs" / "policy-format.md").read_text()
    fields = [
        *plain["rule"],
        *plain["rule"]["risks"][0],
        *plain,
        *plain["columns"][0],
        *plain["acquisitions"][0],
        *plain["rules"],
        *array_as_json(np.zeros(1)),
    ]
    assert [name for name in fields if f"`{name}`" not in text and f'"{name}"' not in text] == []


def test_reference_as_a_program(tmp_path, capsys):
    model = asked_model("lattice", "panel with a needle")
    (tmp_path / "policy.json").write_text(model.policy_json())
    step = import_document("interpret_policy").main(tmp_path / "policy.json", '{"a": 0.5}')
    assert json.loads(capsys.readouterr().out)["question"] == step["question"] == model.step({"a": 0.5}).question.name
    (tmp_path / "policy.json").write_text(asked_model("linear", "panel with a needle").policy_json())
    with pytest.raises(ValueError, match=r"of the kind .*interpret_other_policies.py reads"):
        import_document("interpret_policy").main(tmp_path / "policy.json")


def test_policies_without_an_interpreter():
    X, y = asked_table("base")
    with pytest.raises(ValueError, match="kind 'majority' cannot be exported; use one of lattice"):
        MajorityClassifier().fit(X, y).policy_json()


def test_a_rule_that_no_interpreter_knows_is_refused(monkeypatch):
    model = asked_model("lattice", "panel with a needle")  # lam is not its default there
    monkeypatch.setattr(policy_export, "EXPORTED_OPTIONS", {option.name for option in OPTIONS} - {"lam"})
    with pytest.raises(ValueError, match="a policy with the rule lam cannot be exported: no interpreter knows this"):
        model.policy_json()


def test_parts_of_columns():
    table = pd.DataFrame({"ward": ["a", "b", "c"] * 10, "age": np.arange(30.0), "ill": np.arange(30) % 2})
    data = fsgym.load_dataset(table, target="ill").replace(groups=((0, 3), (1, 2)))
    with pytest.raises(ValueError, match="must reveal whole columns"):
        DatumWiseClassifier(n_iterations=1, random_state=0).fit(data).policy_json()
