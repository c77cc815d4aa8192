"""Steps for programs: what ``model.step`` returns, sentences for mistakes, and a description that is true."""

from __future__ import annotations

import json
from contextlib import suppress

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import MixtureClassifier
from fsgym import Dataset
from fsgym.web.guard import Refused
from fsgym.web.interface import STEP_PARAMETERS, read_arguments
from support.asked_models import asked_model
from support.browsing import Visitor
from support.clinic import clinic_model
from support.hostile import hostile_model

MODELS = {
    "clinic": clinic_model,
    "hostile": hostile_model,
    "budget": lambda: clinic_model("rcpi", budget=2),
    "three classes": lambda: asked_model("linear", "base, mixed"),
}
ARGUMENTS = [
    {},
    {"known": {"age": 60, "blood": {"wbc": 7.5}}, "unknown": ["crp"], "unavailable": ["fever"], "spent": 3},
    {"known": {"ward": "icu", "fever": True, "hgb": 12}, "n_paid": 1, "spent": None},
    {"known": {"age": 900, "ward": "zz"}, "accept": True},
]


@pytest.fixture(scope="module")
def visitor():
    return Visitor(clinic_model()).sign_in()


def validator(description, name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": description["components"]}
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_step_is_that_of_the_model(visitor, arguments):
    plain = dict(arguments)
    reply = visitor.step(json.dumps(arguments))
    assert reply.status_code == 200
    expected = clinic_model().step(plain.pop("known", {}), **plain)
    assert reply.json() == json.loads(json.dumps(expected.as_json()))
    description = visitor.client.get("/api/openapi.json").json()
    validator(description, "Arguments").validate(arguments)
    validator(description, "Step").validate(reply.json())


def test_a_step_at_the_prices_of_the_case():
    rng = np.random.default_rng(0)
    X, prices = rng.normal(size=(200, 2)), rng.uniform(0, 4, size=(200, 2))
    data = Dataset(X, (X[:, 0] > 0).astype(int), feature_names=["crp", "ct"], case_costs=prices)
    model = MixtureClassifier(lam=0.01, random_state=0).fit(data)
    visitor = Visitor(model).sign_in()
    arguments = validator(visitor.client.get("/api/openapi.json").json(), "Arguments")
    for own in ({"ct": 0.0}, {"crp": 3, "ct": 1.5}, None):
        sent = {"known": {}, "prices": own}
        arguments.validate(sent)
        expected = model.step({}, prices=own)
        assert visitor.step(json.dumps(sent)).json() == json.loads(json.dumps(expected.as_json()))
    assert {a.name: a.price for a in model.step({}, prices={"ct": 0.0}).alternatives}["ct"] == 0
    for wrong, sentence in (([1, 2], "prices must be an object"), ({"mri": 1}, "mri"), ({"ct": -1}, "ct")):
        assert not arguments.is_valid({"prices": wrong})
        reply = visitor.step(json.dumps({"prices": wrong}))
        assert (reply.status_code, sentence in reply.json()["error"]) == (422, True)


def test_only_a_model_with_prices_by_case_takes_prices(visitor):
    assert "unknown argument 'prices'" in visitor.step(json.dumps({"prices": {"age": 1}})).json()["error"]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"", 400, "cannot be read as JSON."),
        (b"{", 400, "cannot be read as JSON."),
        (b"\xff", 400, "cannot be read as JSON."),
        (b"[" * 30_000, 400, "cannot be read as JSON."),
        (b'{"spent": NaN}', 400, "no number NaN"),
        (b'{"known": {"age": 1, "age": 2}}', 400, "got two for 'age'."),
        (b"[]", 422, "must be a JSON object, got []."),
        (b'{"knwon": {}}', 422, "unknown argument 'knwon'; did you mean 'known'?"),
        (b'{"n_paid": 2000000}', 422, "n_paid must be a whole number"),
        (b'{"known": []}', 422, "known must be a mapping"),
        (b'{"known": {"agee": 1}}', 422, "did you mean 'age'?"),
        (b'{"known": {"age": 900}}', 422, 'or accept it as it is with "accept": true.'),
        (b'{"known": {"blood": 1}}', 422, "must be answered by its columns"),
        (b'{"unknown": "age"}', 422, "unknown must be a list of names, got 'age'."),
        (b'{"unavailable": [1]}', 422, "unavailable must be a list of names"),
        (b'{"spent": -1}', 422, "spent"),
        (b'{"spent": true}', 422, "spent must be a number, got True"),
        (b'{"n_paid": 1.5}', 422, "n_paid must be a whole number"),
        (b'{"accept": 1}', 422, "accept must be true or false, got 1."),
        (b'{"known": {"\\ud800": 1}}', 422, "unknown acquisition or column"),
    ],
)
def test_mistakes_are_sentences(visitor, body, status, sentence):
    reply = visitor.step(body)
    assert reply.status_code == status
    assert sentence in reply.json()["error"]
    assert "?." not in reply.json()["error"]
    description = visitor.client.get("/api/openapi.json").json()
    validator(description, "Error").validate(reply.json())
    assert str(status) in description["paths"]["/api/step"]["post"]["responses"]


def test_programs_need_the_token_in_its_header(visitor):
    assert visitor.step(token="wrong").status_code == 401
    assert visitor.step(Authorization="Basic x").json()["error"] == "The token of this server is needed."
    with_cookie = visitor.client.post("/api/step", json={})
    assert (with_cookie.status_code, visitor.client.get("/api/openapi.json").status_code) == (401, 200)
    assert visitor.step(**{"Content-Type": "text/plain"}).status_code == 415


@pytest.mark.parametrize("name", MODELS)
def test_the_description_is_true_of_every_model(name):
    visitor, model = Visitor(MODELS[name]()).sign_in(), MODELS[name]()
    description = visitor.client.get("/api/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    arguments, step = validator(description, "Arguments"), validator(description, "Step")
    arguments.check_schema(description["components"]["schemas"]["Arguments"])
    known = {}
    for _ in range(3):
        sent = {"known": known}
        reply = visitor.step(json.dumps(sent))
        assert reply.status_code == 200
        arguments.validate(sent)
        step.validate(reply.json())
        question = reply.json()["question"]
        if question is None:
            break
        for column in question["columns"]:
            choices = {"number": column["low"], "bool": True}
            known[column["name"]] = choices.get(column["kind"], next(iter(column["levels"]), None))
    properties = description["components"]["schemas"]["Arguments"]["properties"]
    assert set(properties["known"]["properties"]) == {*model.rules_.names, *model.columns_.names}
    assert not arguments.is_valid({"known": {"nobody": 1}})
    paths = description["paths"]
    assert {path: list(methods) for path, methods in paths.items()} == {
        "/api/step": ["post"],
        "/api/openapi.json": ["get"],
    }


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["known", "unknown", "spent", "accept", "n_paid", "age", "blood"]), inner, max_size=3
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_body_is_a_step_or_a_sentence(body):
    with suppress(Refused, ValueError, TypeError):  # each with a sentence; anything else would be status 500
        arguments = read_arguments(body, STEP_PARAMETERS)
        clinic_model().step(arguments.pop("known", {}), **arguments)
