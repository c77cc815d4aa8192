"""Mistakes in arguments that can be seen without the data, and before anything heavy is imported."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from fsgym.rules.options import OPTIONS
from fsgym.support.checks import MAX_JOBS, check_choice
from fsgym.text.messages import brief, explain_unknown, option_text

FILE_FORMS = ("pairs", "needs", "errors", "groups")  # of options of the rules whose value is a file
HEADER_LENGTH_BYTES = 8  # at the start of a model file
ZIP_STARTS = (b"PK\3\4", b"PK\5\6")  # of a zip file, and of an empty one
MAX_TRAINING_SECONDS = 10**9  # of a training: weeks
MAX_SEED = 2**31 - 1
MAY_BE_A_COMMA = ("--separator", "--decimal", "--thousands", "--no-result")
RESULT_FILES = ("results.csv", "report.html", "results.sqlite", "timings.sqlite")


def refuse_empty(arguments: Sequence[str]) -> None:
    """ValueError where an argument is empty, or a list of nothing: it would be the current folder, or say nothing."""
    for before, word in zip(["", *arguments], arguments):
        name, sign, value = word.partition("=")
        option, given = (name, value) if word.startswith("--") and sign else (before, word)
        if given.strip(", ") or (given and option in MAY_BE_A_COMMA):
            continue
        if not (arguments[0] == "ask" and option == "--missing"):  # where nothing is missing
            which = option if option.startswith("-") else "an argument"
            raise ValueError(f"{which} must not be empty; give it a value, or leave it out")


def whole_number(low: int, high: int) -> Callable[..., Any]:
    """A callback of an option which must be a whole number from ``low`` to ``high``."""

    def check(context: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
        if value is not None and not context.resilient_parsing and not low <= value <= high:
            raise ValueError(f"{param.opts[0]} must be a whole number from {low} to {high}, got {brief(value)}")
        return value

    return check


FIGURE_FORMATS = ("png", "pdf")


def figure_format(context: typer.Context, param: typer.CallbackParam, value: str) -> str:
    """The value of ``--figures``, checked."""
    if not context.resilient_parsing and value not in FIGURE_FORMATS:
        raise ValueError(f"{param.opts[0]} must be png or pdf, got {brief(value)}")
    return value


def process_count(context: typer.Context, param: typer.CallbackParam, value: int) -> int:
    """The value of ``--jobs``, checked."""
    if not context.resilient_parsing and (value == 0 or abs(value) > MAX_JOBS):
        raise ValueError(
            f"--jobs must be a number of processes from 1 to {MAX_JOBS}, or -1 for one per core, got {brief(value)}"
        )
    return value


def existing_folder(context: typer.Context, value: Path | None) -> Path | None:
    """The value of ``--data-dir``, which must exist even where the data are found elsewhere."""
    if value is not None and not context.resilient_parsing and not is_folder(value.expanduser()):
        raise NotADirectoryError(f"--data-dir must name an existing folder of data sets, got {brief(str(value))}")
    return value


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; False also for what cannot be the name of one."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check_model(path: Path) -> None:
    """An error unless there is such a file, and it begins as a model file; its content is checked when it is loaded."""
    try:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder; name a model file")
        if not path.exists():
            raise FileNotFoundError(f"no model file at {path}")
        if not path.is_file():
            raise OSError(f"{path} is a pipe, a socket or a device; name a model file")
        with path.open("rb") as file:
            head = file.read(HEADER_LENGTH_BYTES + 1)
        size = path.stat().st_size
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(f"cannot read the model in {path}: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise OSError(f"cannot read the model in {path}: {error}") from None
    length = int.from_bytes(head[:HEADER_LENGTH_BYTES], "little")
    if head.startswith(ZIP_STARTS):
        raise ValueError(
            f"{path} is a zip file, such as Stable-Baselines3 writes, and no model file; fsgym leaderboard ID --mine "
            "my_module.py:factory evaluates any policy that the factory returns, also one that it loads"
        )
    if len(head) <= HEADER_LENGTH_BYTES or length > size or head[-1:] != b"{":
        raise ValueError(f"{path} is not a model file, or is damaged: it does not begin as one")


def refuse_folder(path: Path | None, option: str, what: str) -> None:
    """An error where a file cannot have this name: it is a folder or a device, or one of its folders is a file."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(f"{option} {path} is a folder; name a file for {what}".strip())
        if path.exists() and not path.is_file():
            raise OSError(f"{option} {path} is a pipe, a socket or a device; name a file for {what}".strip())
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()  # of a link in a circle, ``exists`` says False
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is None:
            raise
        raise OSError(f"cannot write {path}: {getattr(error, 'strerror', error)}; choose another name") from None
    refuse_file(path.parent)


def refuse_other_file(output: Path) -> None:
    """ValueError where the file exists and is no model, so that a table or a price list is not overwritten."""
    if output.is_file() and output.stat().st_size:
        try:
            import_module("agents.model_file").read_kind(output)
        except ValueError as error:
            if "is not a model file" in str(error):
                raise ValueError(f"--output {output} exists and is no model file; choose another name") from None


def refuse_file(folder: Path | None, files: Iterable[str] = ()) -> None:
    """An error where a folder cannot have this name, or has a folder in place of one of its files."""
    if folder is None:
        return
    try:
        nearest = next((p for p in (folder, *folder.absolute().parents) if p.exists()), folder)
        reason = "" if nearest.is_dir() else f"{nearest} is a file"
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error)
    if reason:
        raise OSError(f"cannot write to the folder {folder}: {reason}; choose another one")
    for name in files:
        if (folder / name).is_dir():
            raise IsADirectoryError(f"{folder / name} is a folder, where a file is written; move it")


def check_rule_files(rules: Mapping[str, Any]) -> None:
    """An error where a file that an option of the rules names does not exist."""
    from fsgym.data.reading.files import check_file

    for option in OPTIONS:
        given = rules.get(option.name)
        if option.form in FILE_FORMS and given is not None:
            check_file(Path(given))
        elif option.form == "prices" and given is not None and Path(given).suffix in (".json", ".csv"):
            check_file(Path(given).expanduser())
    for number in ("budget_cost", "lam"):
        value = rules.get(number)
        if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
            raise ValueError(f"--{number.replace('_', '-')} must be a number of at least 0, got {value}")


def check_report(
    context: typer.Context, kind: str, name: str | None, known: Iterable[str], out: Path | None, doc: Path | None
) -> None:
    """An error for a name of no study or suite, options without a name, or places where no report can be written."""
    if name is None:
        for option in context.command.params:
            source = context.get_parameter_source(str(option.name))
            if source is not None and source.name == "COMMANDLINE" and option.name != "data_dir":
                raise ValueError(f"{option.opts[0]} needs the name of a {kind}; without options, all are listed")
        return
    if name not in known:
        raise ValueError(explain_unknown(kind, name, known))
    refuse_file(out, RESULT_FILES)
    refuse_folder(doc, "--doc", "the section")


def check_missing_columns(word: str) -> None:
    """ValueError for a value of ``--missing-columns`` that it does not have."""
    from fsgym.data.columns import MISSING_COLUMNS

    check_choice(word, "--missing-columns", *MISSING_COLUMNS)


def check_no_result(text: str | None, next_step: bool) -> None:
    """ValueError where ``--no-result`` is given without ``--next``, or is empty."""
    if text is None:
        return
    if not next_step:
        raise ValueError(
            "--no-result needs --next, where an empty cell is not acquired yet; without it, leave such cells empty"
        )
    if not text.strip():
        raise ValueError("--no-result must be a text, as empty cells are not acquired yet")


@contextmanager
def no_result_proposed(next_step: bool, text: str | None) -> Iterator[None]:
    """Where a column has a word in place of a number, propose that it says that there is no result."""
    from fsgym.data.cells import OddCellError

    try:
        yield
    except OddCellError as error:
        if not next_step or text is not None or any(sign.isdigit() for sign in error.cell):
            raise
        option = option_text("no_result", error.cell)
        raise ValueError(f"{error}; pass {option} if it says that there is no result") from None


def check_data(data: str, data_dir: Path | None, split: str | None = None) -> None:
    """An error where an argument is neither the path of a file nor the name of a data set, or a part is unknown."""
    from fsgym.datasets.loading import check_split, find_source

    if split is not None:
        check_split(split)
    find_source(data, data_dir)
