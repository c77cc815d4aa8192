"""The command ``ask``: one case, question by question."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsgym.cli import options
from fsgym.cli.mistakes import check_model, refuse_folder
from fsgym.cli.terminal import say, show
from fsgym.support.writing import writable_folder

if TYPE_CHECKING:
    from fsgym.cli.session_file import SessionFile, Unfinished
    from fsgym.session import Session


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
            help="All columns of which this case has no value, as the empty cells of its row in a table, '' for none; "
            "where it goes with the class what is missing, the model counts it as evidence.",
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
    u undo, s unknown, l later, a alternatives, x stop now, q save and quit. The words why, undo, unknown, later,
    alternatives, stop and quit do the same. !VALUE accepts a value that was not in training. A level that is one of
    these letters is written in quotes; a level that is one of the words is that level.

    Ctrl-C and the end of the input save the session, too; --resume continues it.

    With --json, the first line printed is the step now: question, should_stop, answer, probabilities, expected_cost,
    spent, alternatives, stopped. Each line of the input has one command and gives one line, the step after it or
    {"error": sentence}: {"answer": {name: value}}, {"known": {name: value}} (at no price), {"unknown": name},
    {"later": name}, {"undo": name or null}, {"why": true}, {"log": true}, {"stop": true}, {"save": file}. With
    "accept": true beside answer or known, values are accepted that were not in training.

    Example: fsgym ask model.safetensors --known known.json --unavailable ct,mri
    """
    check_model(model)
    given = {"known": known, "unavailable": unavailable, "missing": missing}
    given |= {"charge-unknown": charge_unknown, "accept": accept}
    for name, value in given.items():
        if value and resume is not None:
            raise ValueError(f"--{name} is in the file of --resume already; leave it out")
    refuse_folder(save, "--save", "the session")
    from fsgym.data.reading.files import check_file

    for path in (known, resume):
        if path is not None:
            check_file(path)
    from fsgym.cli.model_data import ModelData
    from fsgym.cli.session_file import SessionFile

    if save is not None:
        writable_folder(save.parent)
    classifier = ModelData.open(model, {}).classifier
    session, unfinished = _open_session(classifier, resume, given)
    file = SessionFile(model, save, resume)
    if as_json:
        _serve(session, unfinished, file, save is not None)
    else:
        _talk(model, session, unfinished, file, save is not None)


def _open_session(classifier: Any, resume: Path | None, given: dict[str, Any]) -> tuple[Session, Unfinished | None]:
    """The session to continue, or a new one."""
    from fsgym.cli.session_file import read_session
    from fsgym.data.reading.files import read_json

    if resume is not None:
        return read_session(resume, classifier)
    path, values = given["known"], {}
    if path is not None:
        values = read_json(path)
        if not isinstance(values, dict):
            raise ValueError(f'{path} must map names to values, as {{"age": 63}}')
    try:
        session = classifier.session(
            values,
            options.comma_separated(given["unavailable"]),
            charge_unknown=given["charge-unknown"],
            accept=given["accept"],
            missing=None if given["missing"] is None else options.comma_separated(given["missing"]),
        )
    except (ValueError, TypeError) as error:
        text = str(error).replace("(accept=True)", "(--accept)")
        source = "--" if text.startswith(("unavailable: ", "missing: ")) else "" if path is None else f"{path}: "
        raise ValueError(source + text) from None
    return session, None


def _serve(session: Session, unfinished: Unfinished | None, file: SessionFile, saved: bool) -> None:
    """Commands from standard input until its end."""
    from fsgym.cli.ask_json import JsonDialog

    def write(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    dialog = JsonDialog(session, file)
    dialog.run(iter(sys.stdin.readline, ""), write, unfinished)
    if saved:
        file.write(dialog.session)


def _talk(model: Path, session: Session, unfinished: Unfinished | None, file: SessionFile, saved: bool) -> None:
    """Questions to a person; what is not finished is saved, however it ends."""
    from fsgym.cli.ask_dialog import Dialog
    from fsgym.session.words import ending_text

    dialog = Dialog(session, session.model.acquisitions_.columns, unfinished)
    code = 0
    try:
        if dialog.run():
            show(ending_text(session.step))
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


def _save(file: SessionFile, session: Session, unfinished: Unfinished | None) -> Path:
    """Write the session; where that is not possible, print it, so that nothing is lost."""
    try:
        return file.write(session, unfinished)
    except OSError:
        show(session.to_json())
        raise
