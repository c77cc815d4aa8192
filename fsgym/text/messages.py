"""Messages: names and values on one line, the closest known name, text made visible, warnings at the user's line."""

from __future__ import annotations

import difflib
import inspect
import json
import reprlib
import shlex
import sys
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import islice
from typing import Any, NamedTuple, TypeVar

HARMLESS = "\n\t\u200c\u200d"  # also the joiners between the letters of Persian, Indic scripts and emoji


def visible(text: str) -> str:
    r"""The text with the characters that control a terminal or the direction of writing as escapes.

    Spaces and line breaks stay as they are.

    >>> print(visible("c\x1b[31mp"), visible("\u202egnp"), visible("naïve 🙂"))
    c\x1b[31mp \u202egnp naïve 🙂
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else ascii(c)[1:-1] for c in text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in HARMLESS or unicodedata.category(character) == "Zs"


def visible_json(text: str) -> str:
    r"""A JSON text with the same characters as JSON's own escapes.

    >>> print(visible_json('{"\u202egnp": "\x9b31m"}'))
    {"\u202egnp": "\u009b31m"}
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else json.dumps(c)[1:-1] for c in text)


def in_script(text: str) -> str:
    r"""A JSON text that can stand in a ``script`` element: it ends none, and begins no comment in it.

    >>> print(in_script('{"a": "</script>"}'))
    {"a": "\u003c/script\u003e"}
    """
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shortened(text: str, longest: int) -> str:
    """The text, with its middle left out if it is longer than ``longest`` characters.

    >>> shortened("a" * 50 + "b" * 50, 11)
    'aaaa...bbbb'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 2
    return f"{text[: longest - 3 - tail]}...{text[len(text) - tail :]}"


LONGEST_NAME_LISTED, MOST_NAMES_LISTED = 60, 40  # characters of a name, and names, in a message
MAX_COMPARED_NAME_LENGTH = 1000  # characters of a misspelt name
# What other packages call a parameter of this one.
OTHER_WORDS = {"price": "costs", "prices": "costs", "max_cost": "budget_cost", "lambda_": "lam", "seed": "random_state"}
Function = TypeVar("Function", bound=Callable[..., Any])
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 78


def brief(value: Any) -> str:
    """The repr of a value for a message: at most 80 characters, on one line."""
    try:
        text = " ".join(_SHORT.repr(value).split())
    except ValueError:  # a whole number of more digits than Python writes
        text = f"a {type(value).__name__} of {value.bit_length()} bits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def one_line(error: object, longest: int = 200) -> str:
    """The text of an error on one line, cut to ``longest`` characters, for a message.

    >>> one_line(ValueError("no such\\n  file"))
    'no such file'
    """
    return " ".join(str(error).split())[:longest]


def listing(values: Iterable[object], most: int = 12) -> str:
    """The first ``most`` values, separated by commas, for a message.

    >>> listing("abc", 2)
    'a, b, ...'
    """
    names = [shortened(visible(str(v)), LONGEST_NAME_LISTED) for v in islice(values, most + 1)]
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def counted(n: int, one: str, several: str = "") -> str:
    """A number with its noun; ``several`` is its plural, by default with an s.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "class", "classes")
    ('1 row', '1,200 rows', '2 classes')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def closest(name: Any, known: Iterable[str]) -> str | None:
    """The known name closest to a misspelt ``name``, or for what it says in another word; None where none is.

    >>> closest("buget", ["budget", "costs"]), closest("prices", ["budget", "costs"])
    ('budget', 'costs')
    """
    plain = {k.lower().replace("-", "_"): k for k in known}
    wanted = str(name).lower().replace("-", "_")
    if len(wanted) > MAX_COMPARED_NAME_LENGTH:
        return None
    bare = wanted.lstrip("_")  # the name of an option without its dashes
    said = wanted.removesuffix(bare) + OTHER_WORDS.get(bare, bare)
    if said in plain:
        return plain[said]
    containing = sorted((k for k in plain if len(wanted) > 3 and wanted in k), key=len)
    close = containing or difflib.get_close_matches(wanted, plain, n=1)
    return plain[close[0]] if close else None


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """The end of a message about an unknown name, ``"; did you mean 'budget'?"``; "" where no known name is close."""
    close = closest(name, known)
    return f"; did you mean {brief(close)}?" if close else ""


def explain_unknown(kind: str, name: Any, known: Iterable[str], otherwise: str | None = None) -> str:
    """The message for an unknown name: it suggests the closest known name, else ``otherwise``, else lists all.

    >>> explain_unknown("method", "latice", ["lattice", "rcpi"])
    "unknown method 'latice'; did you mean 'lattice'?"
    >>> explain_unknown("method", "", ["lattice", "rcpi"])
    "unknown method ''; they are lattice, rcpi"
    """
    known = list(known)
    hint = did_you_mean(name, known) or f"; {otherwise or 'they are ' + listing(known, MOST_NAMES_LISTED)}"
    return f"unknown {kind} {brief(name)}{hint}"


def suggests_parameters(function: Function) -> Function:
    """Decorator: a keyword that is no parameter of a function raises TypeError with the closest one.

    >>> @suggests_parameters
    ... def learn(data, random_state=None): ...
    >>> learn([], seed=0)
    Traceback (most recent call last):
    TypeError: learn() got an unexpected keyword argument 'seed'; did you mean 'random_state'?
    """
    known = list(inspect.signature(function).parameters)

    @wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        for name in given:
            if name not in known:
                raise TypeError(
                    f"{function.__qualname__}() got an unexpected keyword argument {name!r}{did_you_mean(name, known)}"
                )
        return function(*args, **given)

    return checked  # type: ignore[return-value]


def duration_text(seconds: float) -> str:
    """A time with its unit, to two digits or so.

    >>> duration_text(0.42), duration_text(88), duration_text(120), duration_text(200), duration_text(9000)
    ('0.4 s', '88 s', '2 min', '3.3 min', '2.5 h')
    """
    units = {3600: "h", 60: "min", 1: "s"}
    size = next((size for size in units if seconds >= 1.5 * size), 1)
    number = round(seconds / size, 0 if seconds / size >= 10 else 1)
    return f"{number:g} {units[size]}"


# Options, which are parameters in Python and begin with -- in a command.


class _Command(NamedTuple):
    """The command that runs, or that a sentence is about."""

    before: str  # what stands before its options
    flags: Collection[str] | None  # the options of all commands, as "--drop"; None: any name is that of an option


_in_command: ContextVar[_Command | None] = ContextVar("in_command", default=None)


@contextmanager
def as_command(other: str = "", flags: Collection[str] | None = None) -> Iterator[None]:
    """Name options as the command line has them, in this thread or task; behind the ``other`` command that has them.

    ``flags`` are the options of all commands, as ``"--drop"``; other parameters are named as in Python.
    """
    token = _in_command.set(_Command(f"{other} ".lstrip(), flags))
    try:
        yield
    finally:
        _in_command.reset(token)


def is_command() -> bool:
    """Whether a command runs, so that a sentence should say what can be done there."""
    return _in_command.get() is not None


def option_text(name: str, value: Any = ..., command: str | None = None) -> str:
    """How a user gives an option: as a parameter in Python, as an option where a command runs and any command has it.

    Parameters
    ----------
    name : str, the parameter in Python
    value : optional; without it only the name is said
    command : str, optional; what the command has, if that is not ``--name VALUE``

    >>> option_text("drop", ["pid"]), option_text("bins", 16, "--numeric-target"), option_text("sheet")
    ("drop=['pid']", 'bins=16', 'sheet')
    >>> with as_command():
    ...     option_text("drop", ["pid"]), option_text("bins", 16, "--numeric-target"), option_text("header_row")
    ('--drop pid', '--numeric-target', '--header-row')
    >>> with as_command("fsgym chart MODEL"):
    ...     option_text("max_boxes", 9)
    'fsgym chart MODEL --max-boxes 9'
    >>> with as_command(flags=["--refer-cost"]):
    ...     option_text("refer_cost"), option_text("random_state")
    ('--refer-cost', 'random_state')
    """
    running, flag = _in_command.get(), "--" + name.replace("_", "-")
    if running is None or (command is None and running.flags is not None and flag not in running.flags):
        return name if value is ... else f"{name}={value!r}"
    if command is not None or value is ...:
        return f"{running.before}{command or flag}"
    return f"{running.before}{flag} {shlex.quote(','.join(value) if isinstance(value, list | tuple) else str(value))}"


# Warnings that point at the user's code.

PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")


def warn_caller(message: str) -> None:
    """Issue a warning at the innermost line that is not in these packages: the call of the user.

    From Python 3.12 on, ``skip_file_prefixes`` of ``warnings.warn`` does the same.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, UserWarning, stacklevel=level)
