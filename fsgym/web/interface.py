"""One step for a program: JSON in, JSON out, nothing stored."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fsgym.text.messages import brief, explain_unknown
from fsgym.web.openapi import STEP_PARAMETERS, openapi_description


class RefusedStep(Exception):
    """A request without a step: its message is a sentence; status 400 where it cannot be read, 422 elsewhere."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class StepInterface:
    """``model.step`` for programs.

    Parameters
    ----------
    model : fitted classifier that can be asked
    title : str, the name of the model
    """

    def __init__(self, model: Any, title: str) -> None:
        self._model = model
        self._description = openapi_description(model, title)

    def routes(self) -> list[Route]:
        """All paths, and what replies there."""
        return [
            Route("/api/step", self.step, methods=["POST"]),
            Route("/api/openapi.json", self.description, methods=["GET"]),
        ]

    def step(self, request: Request) -> Response:
        """The step for the arguments in the body."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return json_reply({"error": "The body must be JSON, with the content type application/json."}, 415)
        try:
            arguments = read_arguments(request.scope["fsgym.body"])
            step = self._model.step(arguments.pop("known", {}), **arguments)
        except RefusedStep as error:
            return json_reply({"error": str(error)}, error.status)
        except (ValueError, TypeError) as error:
            sentence = str(error).replace("(accept=True)", 'with "accept": true')
            return json_reply({"error": f"{sentence}."}, 422)
        return json_reply(step.as_json())

    def description(self, request: Request) -> Response:
        """The description of this interface in OpenAPI 3.1."""
        return json_reply(self._description)


def json_reply(plain: Any, status: int = 200) -> Response:
    """A reply in JSON."""
    return Response(json.dumps(plain, allow_nan=False), status, media_type="application/json")


def read_arguments(body: bytes) -> dict[str, Any]:
    """The arguments of ``step`` that a body has; raises RefusedStep."""
    try:
        plain = json.loads(body, parse_constant=_no_number, object_pairs_hook=_distinct)
    except RefusedStep:
        raise
    except (ValueError, RecursionError):
        raise RefusedStep(400, "The body must be a JSON object, and cannot be read as JSON.") from None
    if not isinstance(plain, dict):
        raise RefusedStep(422, f"The body must be a JSON object, got {brief(plain)}.")
    for name in plain:
        if name not in STEP_PARAMETERS:
            raise RefusedStep(422, f"{explain_unknown('argument', name, STEP_PARAMETERS)}.")
    for name in ("unknown", "unavailable"):
        names = plain.get(name, [])
        if not isinstance(names, list) or not all(isinstance(entry, str) for entry in names):
            raise RefusedStep(422, f"{name} must be a list of names, got {brief(names)}.")
    if not isinstance(plain.get("accept", False), bool):
        raise RefusedStep(422, f"accept must be true or false, got {brief(plain['accept'])}.")
    return plain


def _no_number(word: str) -> Any:
    raise RefusedStep(400, f"The body must be JSON, which has no number {word}; leave out what is not known.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two values for a name, JSON would drop one."""
    plain = dict(pairs)
    if len(plain) < len(pairs):
        double = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise RefusedStep(400, f"The body must have one value for each name, got two for {double!r}.")
    return plain
