"""One step for a program: JSON in, JSON out, nothing stored; and its description in OpenAPI 3.1."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fsgym.data.columns import Column
from fsgym.rules import Rules
from fsgym.session.asked_model import AskedModel
from fsgym.session.case import MAX_ACQUIRED, labels_of, step_of
from fsgym.session.values import allowed_text
from fsgym.session.words import refusal_text
from fsgym.text.messages import brief, explain_unknown
from fsgym.web.guard import Refused

# The description of the interface for programs in OpenAPI 3.1, with the names of the model.

INTERFACE_VERSION = "1"
# The arguments of ``step``, as JSON schemas; those of ``known`` depend on the model.
STEP_PARAMETERS: dict[str, dict[str, Any]] = {
    "known": {"description": "Columns with their values; acquisitions of several columns as objects of columns."},
    "unknown": {"description": "Acquisitions or columns that were asked for without a result; not asked again."},
    "unavailable": {"description": "Acquisitions or columns that cannot be obtained for this case."},
    "missing": {
        "description": "All columns of which this case has no value, as the empty cells of its row in a table; a model "
        "may take this as evidence. By default nothing is said."
    },
    "spent": {
        "description": "What was paid for the known values, in the unit of prices. By default nothing.",
        "type": ["number", "null"],
        "minimum": 0,
    },
    "n_paid": {
        "description": "How many acquisitions count for the budget. By default none, or all known ones with `spent`.",
        "type": ["integer", "null"],
        "minimum": 0,
        "maximum": MAX_ACQUIRED,
    },
    "prices": {
        "description": "Prices of this case by acquisition, of a model that was trained with prices by case. By "
        "default, and for what is not named, the mean price in training."
    },
    "accept": {
        "description": "Whether to accept numbers outside the range in training, and levels that were not in training, "
        "which count as unknown.",
        "type": "boolean",
        "default": False,
    },
}
NUMBER_OR_NULL = {"type": ["number", "null"]}
REFUSALS = {
    "400": "The body cannot be read, or has two values for a name.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from a page of others.",
    "408": "The body took too long.",
    "413": "The body is too long.",
    "415": "The body is not sent as application/json.",
    "421": "The Host header is not a name of this server.",
    "422": "A name is unknown, or a value is not one of its column; the sentence says what is allowed.",
}


def openapi_description(model: AskedModel, title: str) -> dict[str, Any]:
    """The description, as plain JSON values."""
    acquisitions = model.acquisitions_
    labels, answers = labels_of(model, acquisitions.rules)
    refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusals = {status: {"description": words, "content": refusal} for status, words in REFUSALS.items()}
    step = {
        "operationId": "step",
        "summary": "What to ask next about one case, or the answer. Nothing is stored.",
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Arguments"}}},
        },
        "responses": {
            "200": {
                "description": "The step.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Step"}}},
            },
            **refusals,
        },
    }
    description = {
        "operationId": "description",
        "summary": "This description.",
        "responses": {
            "200": {"description": "OpenAPI 3.1.", "content": {"application/json": {"schema": {"type": "object"}}}},
            **{status: refusals[status] for status in ("401", "421")},
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": f"One step of {title}", "version": INTERFACE_VERSION},
        "security": [{"token": []}],
        "paths": {"/api/step": {"post": step}, "/api/openapi.json": {"get": description}},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Arguments": _arguments(acquisitions),
                "Error": _record({"error": {"type": "string", "description": "One sentence."}}),
                **_replies(acquisitions, labels, answers, getattr(model, "promise_", None) is not None),
            },
        },
    }


def _record(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An object that has all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False} | (
        more
    )


def _arguments(acquisitions: Any) -> dict[str, Any]:
    columns, rules = acquisitions.columns, acquisitions.rules
    known = {column.name: _value(column) for column in columns}
    for name, members in zip(rules.names, acquisitions.columns_of, strict=True):
        parts = {
            "type": "object",
            "properties": {columns[k].name: _value(columns[k]) for k in members},
            "additionalProperties": False,
            "minProperties": 1,
        }
        known[name] = {"anyOf": [known[name], parts]} if name in known and len(members) == 1 else parts
    names = {"type": "array", "items": {"enum": list(dict.fromkeys([*rules.names, *columns.names]))}}
    own: dict[str, dict[str, Any]] = {
        "known": {"type": "object", "properties": known, "additionalProperties": False},
        "unknown": names,
        "unavailable": names,
        "missing": names,
        "prices": {
            "type": ["object", "null"],
            "properties": {name: {"type": "number", "minimum": 0} for name in rules.names},
            "additionalProperties": False,
        },
    }
    properties = {name: own.get(name, {}) | STEP_PARAMETERS[name] for name in _parameters(rules)}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _parameters(rules: Rules) -> list[str]:
    """The arguments of ``step`` for a model with these rules."""
    return [name for name in STEP_PARAMETERS if name != "prices" or rules.costs_by_case]


def _value(column: Column) -> dict[str, Any]:
    """What may be given for a column; ``accept`` allows more, so that a range is said, but is no limit."""
    words = {"description": f"{allowed_text(column)}."}
    if column.kind == "number":
        return words | {"type": "number"}
    if column.kind == "bool":
        return words | {"type": ["boolean", "string", "number"]}
    return words | {"type": ["string", "number", "boolean"], "examples": list(column.levels[:3])}


def _replies(acquisitions: Any, labels: list[Any], answers: list[Any], calibrated: bool) -> dict[str, Any]:
    """The schemas of a step and of its parts, for labels of classes and of answers.

    Steps of a calibrated model say how certain the answer is.
    """
    name = {"enum": list(acquisitions.rules.names)}
    label = {"enum": labels}
    column = {
        "name": {"enum": list(acquisitions.columns.names)},
        "kind": {"enum": ["number", "category", "codes", "bool"]},
        "unit": {"type": "string"},
        "levels": {"type": "array", "items": {"type": "string"}},
        "low": NUMBER_OR_NULL,
        "high": NUMBER_OR_NULL,
    }
    question = {
        "name": name,
        "columns": {"type": "array", "items": {"$ref": "#/components/schemas/Column"}},
        "price": {"type": "number"},
    }
    pair = {
        "type": "array",
        "prefixItems": [label, {"type": "number", "minimum": 0, "maximum": 1}],
        "items": False,
        "minItems": 2,
    }
    step = {
        "question": {"anyOf": [{"$ref": "#/components/schemas/Question"}, {"type": "null"}]},
        "should_stop": {"type": "boolean"},
        "answer": {"enum": answers},
        "probabilities": {"type": ["array", "null"], "items": pair},
        "expected_cost": _record({"stop": NUMBER_OR_NULL, "go_on": NUMBER_OR_NULL}),
        "spent": {"type": "number"},
        "alternatives": {"type": "array", "items": {"$ref": "#/components/schemas/Alternative"}},
        "unused": {"type": "array", "items": column["name"]},
    }
    if calibrated:
        enough = {"type": "boolean", "description": "Whether the rule of certainty lets the model stop here."}
        step["certainty"] = _record({"enough": enough, "text": {"type": "string", "description": "One sentence."}})
    alternative = {"name": name, "price": {"type": "number"}, "expected_cost": NUMBER_OR_NULL, "gain": NUMBER_OR_NULL}
    return {
        "Column": _record(column),
        "Question": _record(question),
        "Alternative": _record(alternative),
        "Step": _record(step),
    }


class BadBody(Refused):
    """A request of a program that is not served, with a sentence in English."""

    def __str__(self) -> str:
        return str(self.args[0])


def step_routes(model: AskedModel, title: str) -> list[Route]:
    """The paths for programs of a model with this title, and what replies there."""
    described = openapi_description(model, title)

    def step(request: Request) -> Response:
        """The step for the arguments in the body; BadBody, with status 400 where it cannot be read."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise BadBody(415, "The body must be JSON, with the content type application/json.")
        arguments = read_arguments(request.scope["fsgym.body"], _parameters(model.acquisitions_.rules))
        prices, asked = arguments.pop("prices", None), cast(Any, model)
        try:
            asked = model if prices is None else asked.at_prices(prices)
            found = step_of(asked, arguments.pop("known", {}), **arguments)
        except (ValueError, TypeError) as error:
            raise BadBody(422, _ended(refusal_text(error, 'with "accept": true'))) from None
        return json_reply(found.as_json())

    def description(request: Request) -> Response:
        return json_reply(described)

    return [
        Route("/api/step", step, methods=["POST"]),
        Route("/api/openapi.json", description, methods=["GET"]),
    ]


def json_reply(plain: Any, status: int = 200) -> Response:
    """A reply in JSON."""
    return Response(json.dumps(plain, allow_nan=False), status, media_type="application/json")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence}."


def read_arguments(body: bytes, names: Collection[str]) -> dict[str, Any]:
    """The arguments of ``step``, of these names, that a body has; raises BadBody."""
    try:
        plain = json.loads(body, parse_constant=_no_number, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise BadBody(400, "The body must be a JSON object, and cannot be read as JSON.") from None
    if not isinstance(plain, dict):
        raise BadBody(422, f"The body must be a JSON object, got {brief(plain)}.")
    for name in plain:
        if name not in names:
            raise BadBody(422, _ended(explain_unknown("argument", name, names)))
    for name in ("unknown", "unavailable", "missing"):
        listed = plain.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            raise BadBody(422, f"{name} must be a list of names, got {brief(listed)}.")
    if not isinstance(plain.get("prices"), dict | None):
        raise BadBody(422, f"prices must be an object of prices by name, got {brief(plain['prices'])}.")
    if not isinstance(plain.get("accept", False), bool):
        raise BadBody(422, f"accept must be true or false, got {brief(plain['accept'])}.")
    return plain


def _no_number(word: str) -> Any:
    raise BadBody(400, f"The body must be JSON, which has no number {word}; leave out what is not known.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two values for a name, JSON would drop one."""
    plain = dict(pairs)
    if len(plain) < len(pairs):
        double = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadBody(400, f"The body must have one value for each name, got two for {double!r}.")
    return plain
