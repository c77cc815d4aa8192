"""The description of the interface for programs in OpenAPI 3.1, with the names of the model."""

from __future__ import annotations

from typing import Any

from fsgym.data.columns import Column
from fsgym.session.values import allowed_text

INTERFACE_VERSION = "1"
# The arguments of ``step``, as JSON schemas; those of ``known`` depend on the model.
STEP_PARAMETERS: dict[str, dict[str, Any]] = {
    "known": {"description": "Columns with their values; acquisitions of several columns as objects of columns."},
    "unknown": {"description": "Acquisitions or columns that were asked for without a result; not asked again."},
    "unavailable": {"description": "Acquisitions or columns that cannot be obtained for this case."},
    "spent": {
        "description": "What was paid for the known values, in the unit of prices. By default nothing.",
        "type": ["number", "null"],
        "minimum": 0,
    },
    "n_paid": {
        "description": "How many acquisitions count for the budget. By default none, or all known ones with `spent`.",
        "type": ["integer", "null"],
        "minimum": 0,
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


def openapi_description(model: Any, title: str) -> dict[str, Any]:
    """The description, as plain JSON values."""
    acquisitions = model._acquisitions()
    labels = model.classes_.tolist()
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
                **_replies(acquisitions, labels),
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
    }
    properties = {name: own.get(name, {}) | schema for name, schema in STEP_PARAMETERS.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _value(column: Column) -> dict[str, Any]:
    """What may be given for a column; ``accept`` allows more, so that a range is said, but is no limit."""
    words = {"description": f"{allowed_text(column)}."}
    if column.kind == "number":
        return words | {"type": "number"}
    if column.kind == "bool":
        return words | {"type": ["boolean", "string", "number"]}
    return words | {"type": ["string", "number", "boolean"], "examples": list(column.levels[:3])}


def _replies(acquisitions: Any, labels: list[Any]) -> dict[str, Any]:
    """The schemas of a step and of its parts."""
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
        "answer": label,
        "probabilities": {"type": ["array", "null"], "items": pair},
        "expected_cost": _record({"stop": NUMBER_OR_NULL, "go_on": NUMBER_OR_NULL}),
        "spent": {"type": "number"},
        "alternatives": {"type": "array", "items": {"$ref": "#/components/schemas/Alternative"}},
        "unused": {"type": "array", "items": column["name"]},
    }
    alternative = {"name": name, "price": {"type": "number"}, "expected_cost": NUMBER_OR_NULL, "gain": NUMBER_OR_NULL}
    return {
        "Column": _record(column),
        "Question": _record(question),
        "Alternative": _record(alternative),
        "Step": _record(step),
    }
