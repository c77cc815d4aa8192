"""Names and values in messages of errors, and the closest known name to a misspelt one."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from itertools import islice
from typing import Any

from fsgym.text.shown import shortened, visible

LONGEST_NAME_LISTED, MOST_NAMES_LISTED = 60, 40  # characters of a name, and names, in a message
LONGEST_NAME_COMPARED = 1000  # characters of a misspelt name
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


def closest(name: Any, known: Iterable[str]) -> str | None:
    """The known name closest to a misspelt ``name``; None where none is close."""
    plain = {k.lower().replace("-", "_"): k for k in known}
    wanted = str(name).lower().replace("-", "_")
    if len(wanted) > LONGEST_NAME_COMPARED:
        return None
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
