"""The questions of a session to a program: a JSON object in a line, one JSON object in a line as its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fsgym.cli.session_file import SessionFile, Unfinished
from fsgym.session import Session
from fsgym.text.messages import brief

COMMANDS = ("answer", "known", "unknown", "later", "undo", "why", "log", "stop", "save")
WITH_ACCEPT = ("answer", "known")


class JsonDialog:
    """Reads commands and returns replies; a command that fails leaves the session as it was.

    Parameters
    ----------
    session : Session
    file : SessionFile, for the command ``save``
    """

    def __init__(self, session: Session, file: SessionFile) -> None:
        self.session, self._file = session, file
        self._handlers: dict[str, Callable[[Any, bool], dict[str, Any]]] = {
            "answer": lambda value, accept: self._give(value, True, accept),
            "known": lambda value, accept: self._give(value, False, accept),
            "unknown": lambda value, _: self._call(self.session.unknown, value),
            "later": lambda value, _: self._call(self.session.later, value),
            "undo": lambda value, _: self._call(self.session.undo, value),
            "why": lambda _, __: {"why": self.session.why()},
            "log": lambda _, __: {"log": [_plain_entry(entry) for entry in self.session.log()]},
            "stop": lambda _, __: self._call(self.session.stop),
            "save": self._save,
        }

    def run(self, lines: Iterable[str], write: Callable[[str], object], unfinished: Unfinished | None = None) -> None:
        """Write the step now, and then a line for each line."""
        first = {} if unfinished is None else {"unfinished": unfinished._asdict()}
        write(json.dumps(self._step() | first) + "\n")
        for line in lines:
            write(json.dumps(self.reply(line)) + "\n")

    def reply(self, line: str) -> dict[str, Any]:
        """The step after a command, with what it reports, or the sentence of its error."""
        try:
            command, value, accept = _parse(line)
            extra = self._handlers[command](value, accept)
            return self._step() | extra
        except (ValueError, TypeError, OSError) as error:
            sentence = str(error).replace("(accept=True)", 'with "accept": true')
            sentence = sentence.replace("pass paid=False if", 'send it as "known" if')
            return {"error": sentence}

    def _step(self) -> dict[str, Any]:
        return self.session.step.as_json() | {"stopped": self.session.stopped}

    def _give(self, values: Any, paid: bool, accept: bool) -> dict[str, Any]:
        if not isinstance(values, dict) or not values:
            raise TypeError(f"answer and known must be an object of names and values, got {brief(values)}")
        before = self.session.to_json()
        try:
            for name, value in values.items():
                self.session.answer(name, value, paid=paid, accept=accept)
        except (ValueError, TypeError):
            if len(values) > 1:  # the first ones were taken
                self.session = Session.from_json(self.session.model, before)
            raise
        return {}

    def _call(self, method: Callable[..., object], *arguments: Any) -> dict[str, Any]:
        if any(not isinstance(name, str | None) for name in arguments):
            raise TypeError(f"the name must be text, got {brief(arguments[0])}")
        method(*arguments)
        return {}

    def _save(self, value: Any, _: bool) -> dict[str, Any]:
        if not isinstance(value, str) or not value or Path(value).is_dir():
            raise ValueError(f"save must be the path of a file, got {brief(value)}")
        return {"saved": str(self._file.write(self.session, path=Path(value)))}


def _parse(line: str) -> tuple[str, Any, bool]:
    """The command, its value, and whether values are accepted that are not as in training."""
    try:
        plain = json.loads(line)
        json.dumps(plain, ensure_ascii=False).encode()  # no half of a surrogate pair, which no file can hold
    except (ValueError, RecursionError):
        raise ValueError(f"a line must be a JSON object, got {brief(line.strip())}") from None
    if not isinstance(plain, dict):
        raise TypeError(f"a line must be a JSON object, got {brief(plain)}")
    accept = plain.pop("accept", False)
    if len(plain) != 1 or not set(plain) <= set(COMMANDS):
        raise ValueError(f"a line must have one of {', '.join(COMMANDS)}, got {brief(list(plain))}")
    command, value = plain.popitem()
    if not isinstance(accept, bool) or (accept and command not in WITH_ACCEPT):
        raise ValueError(f"accept must be true or false, beside {' or '.join(WITH_ACCEPT)}, got {brief(accept)}")
    return command, value, accept


def _plain_entry(entry: Any) -> dict[str, Any]:
    """An entry of the log as plain JSON values; probabilities as in ``Step.as_json``."""
    plain = entry._asdict()
    if plain["probabilities"] is not None:
        plain["probabilities"] = [list(pair) for pair in plain["probabilities"].items()]
    return plain
