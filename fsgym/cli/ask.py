"""The command ``ask``: one case, question by question, to a program; ``ask_dialog`` has the questions to a person."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_model, refuse_folder
from fsgym.cli.terminal import opened_output, say, show
from fsgym.support.writing import writable_folder
from fsgym.text.messages import brief

if TYPE_CHECKING:
    from fsgym.data.columns import Columns
    from fsgym.session import Session

COMMANDS = ("answer", "known", "unknown", "later", "undo", "why", "log", "stop", "save")  # of --json
WITH_ACCEPT = ("answer", "known")
SENT_AS_KNOWN = 'send it as "known" if its value is known without acquiring it'


def ask(
    model: options.ModelArgument,
    known: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON {name: value}: what is known in advance, at no price."),
    ] = None,
    unavailable: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Acquisitions or columns that cannot be obtained for this case; separate several by commas.",
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="All columns of which this case has no value, as the empty cells of its row in a table, '' for none. "
            "Evidence for a model that found it to go with the class what is missing, as `fsgym train` prints.",
        ),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PRICE",
            help="The price of an acquisition for this case, for a model that was trained with prices by case; repeat "
            "it, or separate several by commas. Others have their mean price in training.",
        ),
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Continue the session of this file, which ask wrote.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for the session, also for a finished one. A file of another session is not replaced: the name "
            "gets a number. Default: only a session that is not finished is saved, as MODEL.session.json.",
        ),
    ] = None,
    charge_unknown: Annotated[
        bool, typer.Option("--charge-unknown", help="Whether an acquisition without a result is paid for.")
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Whether --known may have numbers outside the range in training, and levels that were not in "
            "training, which count as unknown.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Read a JSON object from each line of standard input, and print one for it.")
    ] = False,
) -> None:
    """Ask about one case, question by question, until the model answers.

    At the prompt, type a value, or the name of another acquisition to make it instead, or a key: ? why this question,
    u undo (u NAME what was said of one acquisition), s unknown, l later, a alternatives, x stop now, q save and quit.
    The words why, undo, unknown, later, alternatives, stop and quit do the same. !VALUE accepts a value that was not in
    training. A level that is one of these letters is written in quotes; a level that is one of the words is that level.

    Ctrl-C and the end of the input save the session, too; --resume continues it.

    With --json, the first line printed is the step now: question, should_stop, answer, probabilities, expected_cost,
    spent, alternatives, unused, of a calibrated model certainty, stopped. Each line of the input has one command and
    gives one line, the step after it or {"error": sentence}: {"answer": {name: value}} (null for a column of several
    without a result), {"known": {name: value}} (at no price), {"unknown": name}, {"later": name}, {"undo": name or
    null}, {"why": true}, {"log": true}, {"stop": true}, {"save": file}. With "accept": true beside answer or known,
    values are accepted that were not in training.

    Example: fsgym ask model.safetensors --known known.json --unavailable ct,mri
    """
    check_model(model)
    given = {"known": known, "unavailable": unavailable, "missing": missing}
    given |= {"charge-unknown": charge_unknown, "accept": accept, "price": price}
    for name, value in given.items():
        if value and resume is not None:
            already = "is said when a session begins" if name == "missing" else "is in the file of --resume already"
            raise ValueError(f"--{name} {already}; leave it out")
    refuse_folder(save, "--save", "the session")
    from fsgym.data.reading.files import check_file

    if known is not None and not known.exists():
        raise FileNotFoundError(
            f'--known must be a JSON file with values, as {{"age": 63}}, and there is no file {known}'
        )
    for path in (known, resume):
        if path is not None:
            check_file(path)
    from fsgym.cli.model_data import ModelData

    if save is not None:
        writable_folder(save.parent)
    classifier = ModelData.open(model, {}).classifier
    session, unfinished = _open_session(classifier, resume, given)
    file = SessionFile(model, save, resume)
    if as_json:
        _serve(session, unfinished, file, save is not None)
    else:
        _talk(model, session, unfinished, file, save is not None)


def _open_session(classifier: Any, resume: Path | None, given: dict[str, Any]) -> tuple[Session, dict[str, Any] | None]:
    """The session to continue, with the acquisition that was not finished, or a new one."""
    from fsgym.data.reading.files import read_json
    from fsgym.session.words import refusal_text

    if resume is not None:
        return read_session(resume, classifier)
    path, values = given["known"], {}
    if path is not None:
        values = read_json(path)
        if not isinstance(values, dict):
            raise ValueError(f'{path} must map names to values, as {{"age": 63}}')
        values = _as_typed(values, classifier.acquisitions_.columns)
    try:
        session = classifier.session(
            values,
            options.comma_separated(given["unavailable"]),
            charge_unknown=given["charge-unknown"],
            accept=given["accept"],
            missing=None if given["missing"] is None else options.comma_separated(given["missing"]),
            prices=options.numbers_by_name(given["price"], "--price", "NAME=PRICE"),
        )
    except (ValueError, TypeError) as error:
        text = refusal_text(error, "(--accept)")
        source = "--" if text.startswith(("unavailable: ", "missing: ")) else "" if path is None else f"{path}: "
        raise ValueError(source + text) from None
    return session, None


def _as_typed(values: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """The values of --known, in which numbers may be texts as they are typed, such as "3,5", also within groups."""
    from fsgym.data.written import Writing
    from fsgym.session.values import value_of_text

    by_name = {column.name: column for column in columns if column.kind == "number" and column.writing != Writing()}

    def typed(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return _as_typed(value, columns)
        return value_of_text(by_name[name], value) if isinstance(value, str) and name in by_name else value

    return {name: typed(name, value) for name, value in values.items()}


def _talk(model: Path, session: Session, unfinished: dict[str, Any] | None, file: SessionFile, saved: bool) -> None:
    """Questions to a person; what is not finished is saved, however it ends."""
    from fsgym.cli.ask_dialog import Dialog
    from fsgym.session.held_out import terminal_speech
    from fsgym.session.words import ending_text
    from fsgym.text.speech import speaking

    dialog = Dialog(session, unfinished)
    code = 0
    try:
        with speaking(terminal_speech(session.model)):
            ended = dialog.run()
            if ended:
                show(ending_text(session.step))
        if ended:
            if saved:
                show(f"Session: {file.write(session)}")
            return
    except (KeyboardInterrupt, EOFError) as stop:
        code = 130 if isinstance(stop, KeyboardInterrupt) else 0
        path = _save(file, dialog.session, dialog.unfinished)
        show()
    except Exception:
        say(f"the session was saved to {_save(file, dialog.session, dialog.unfinished)}")
        raise
    else:
        path = _save(file, dialog.session, dialog.unfinished)
    show(f"Session saved: {path}")
    show(f"Resume it: {shlex.join(['fsgym', 'ask', str(model), '--resume', str(path)])}")
    if code:
        raise typer.Exit(code)


def _save(file: SessionFile, session: Session, unfinished: dict[str, Any] | None) -> Path:
    """Write the session; where that is not possible, print it, so that nothing is lost."""
    try:
        return file.write(session, unfinished)
    except OSError:
        show(session.to_json())
        raise


class SessionFile:
    """The file of a session. It never replaces the file of another session: it takes a free name instead.

    Parameters
    ----------
    model : Path of the model file, after which the session is named by default
    save : Path or None, where to write the session
    resumed : Path or None, the file that the session was read from
    """

    def __init__(self, model: Path, save: Path | None, resumed: Path | None) -> None:
        self.path = save or resumed or Path(f"{model.stem}.session.json")
        self._own = set() if resumed is None else {resumed.resolve()}

    def write(self, session: Session, unfinished: dict[str, Any] | None = None, path: Path | None = None) -> Path:
        """Write the session, and an acquisition that is not finished; returns the path of the file."""
        path = self._free_path(path or self.path)
        text = session.to_json()
        if unfinished is not None:
            text = json.dumps(json.loads(text) | {"unfinished": unfinished}, ensure_ascii=False)
        with opened_output(path) as file:
            file.write(text + "\n")
        self._own.add(path.resolve())
        return path

    def _free_path(self, path: Path) -> Path:
        """The path, or the first one with a number that does not exist yet."""
        numbered = (path.with_name(f"{path.stem}-{k}{path.suffix}") for k in count(2))
        names = chain([path], numbered)
        return next(name for name in names if not name.exists() or name.resolve() in self._own)


def read_session(path: Path, model: Any) -> tuple[Session, dict[str, Any] | None]:
    """The session of a file, and the acquisition that was not finished: name, values by column, and accept.

    Raises
    ------
    ValueError, OSError
        If the file is not a session, is damaged, or was written with another model.
    """
    from fsgym.data.reading.files import read_text

    text = read_text(path)
    try:
        session = model.resume(text)
        unfinished = json.loads(text).get("unfinished")
        if unfinished is not None:
            _check_unfinished(unfinished, session)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return session, unfinished


def _check_unfinished(plain: Any, session: Session) -> None:
    """ValueError where an acquisition cannot be the one that was not finished, or a value is not allowed."""
    from fsgym.session.values import check_value

    fields = {"name": str, "values": dict, "accept": bool}
    if not isinstance(plain, dict) or plain.keys() != fields.keys():
        raise ValueError(f"the session is damaged: unfinished must have {', '.join(fields)}, got {brief(plain)}")
    for name, kind in fields.items():
        if not isinstance(plain[name], kind):
            raise ValueError(f"the session is damaged: {name} must be {kind.__name__}, got {brief(plain[name])}")
    name, values = plain["name"], plain["values"]
    try:
        open_columns = [column.name for column in session.question(name).columns]
        for column in session.model.acquisitions_.columns:
            value = values.get(column.name)
            if value is not None:
                check_value(column, value, plain["accept"])
    except ValueError as error:
        raise ValueError(f"the session is damaged: {error}") from None
    if not set(values) < set(open_columns):
        raise ValueError(f"the session is damaged: {name!r} must have some of its columns as values")


def _serve(session: Session, unfinished: dict[str, Any] | None, file: SessionFile, saved: bool) -> None:
    """Commands from standard input until its end: the step now, and then a line for each line."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    for text in session.about_prices:
        say(text)
    dialog = JsonDialog(session, file)
    first = {} if unfinished is None else {"unfinished": unfinished}
    begun = session.to_json()
    print(json.dumps(dialog.step() | first), flush=True)
    try:
        for line in iter(sys.stdin.readline, ""):
            print(json.dumps(dialog.reply(line)), flush=True)
    finally:  # after Ctrl-C, too
        if saved:
            file.write(dialog.session, unfinished if dialog.session.to_json() == begun else None)


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

    def reply(self, line: str) -> dict[str, Any]:
        """The step after a command, with what it reports, or the sentence of its error."""
        from fsgym.session.session import UNPAID
        from fsgym.session.values import Refusal

        try:
            command, value, accept = _parse(line)
            extra = self._handlers[command](value, accept)
            return self.step() | extra
        except Refusal as refusal:
            advice = SENT_AS_KNOWN if refusal.advice == UNPAID else refusal.advice
            return {"error": refusal.text('with "accept": true', advice)}
        except (ValueError, TypeError, OSError) as error:
            return {"error": str(error)}

    def step(self) -> dict[str, Any]:
        """The step now."""
        return self.session.step.as_json() | {"stopped": self.session.stopped}

    def _give(self, values: Any, paid: bool, accept: bool) -> dict[str, Any]:
        if not isinstance(values, dict) or not values:
            raise TypeError(f"answer and known must be an object of names and values, got {brief(values)}")
        before = self.session.to_json()
        try:
            find = self.session.model.acquisitions_.find
            answered = {find(name)[0] for name, value in values.items() if value is not None}
            for name, value in values.items():
                if value is not None or find(name)[0] not in answered:  # else one of its columns, without a result
                    self.session.answer(name, value, paid=paid, accept=accept)
        except (ValueError, TypeError):
            if len(values) > 1:  # the first ones were taken
                self.session = self.session.from_json(self.session.model, before)
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
