"""Names and values in messages of errors, and the closest known name to a misspelt one."""

from __future__ import annotations

import difflib
import inspect
import reprlib
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

from fsgym.text.shown import shortened, visible

LONGEST_NAME_LISTED, MOST_NAMES_LISTED = 60, 40  # characters of a name, and names, in a message
LONGEST_NAME_COMPARED = 1000  # characters of a misspelt name
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


def closest(name: Any, known: Iterable[str]) -> str | None:
    """The known name closest to a misspelt ``name``, or for what it says in another word; None where none is.

    >>> closest("buget", ["budget", "costs"]), closest("prices", ["budget", "costs"])
    ('budget', 'costs')
    """
    plain = {k.lower().replace("-", "_"): k for k in known}
    wanted = str(name).lower().replace("-", "_")
    if len(wanted) > LONGEST_NAME_COMPARED:
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
