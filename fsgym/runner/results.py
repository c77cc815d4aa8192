"""What the result of a task must be, by which one from a file is checked before it is used.

A check is a function of a value and its place in words; it raises ValueError where the value is not as it must be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from fsgym.text.messages import brief

Check = Callable[[Any, str], None]
Declared = TypeVar("Declared", bound=Callable[..., Any])


def number(value: Any, place: str) -> None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise ValueError(f"{place} must be a finite number, got {brief(value)}")


def share(value: Any, place: str) -> None:
    """A number from 0 to 1."""
    number(value, place)
    if not 0 <= value <= 1:
        raise ValueError(f"{place} must be from 0 to 1, got {brief(value)}")


def count(value: Any, place: str) -> None:
    """A whole number, at least 0."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{place} must be a whole number, at least 0, got {brief(value)}")


def text(value: Any, place: str) -> None:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"{place} must be a text, got {brief(value)}")


def optional(check: Check) -> Check:
    """What the check allows, or None."""
    return lambda value, place: None if value is None else check(value, place)


def list_of(check: Check) -> Check:
    """A list of what the check allows."""

    def each(value: Any, place: str) -> None:
        if not isinstance(value, list):
            raise ValueError(f"{place} must be a list, got {brief(value)}")
        for k, entry in enumerate(value):
            check(entry, f"{place}[{k}]")

    return each


def record(**checks: Check) -> Check:
    """An object with at least these entries."""

    def entries(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"{place} must be an object, got {brief(value)}")
        for name, check in checks.items():
            if name not in value:
                raise ValueError(f"{place} lacks {name}")
            check(value[name], f"{place}, {name}")

    return entries


def returns(check: Check) -> Callable[[Declared], Declared]:
    """Declare what a function that tasks call returns."""

    def declared(function: Declared) -> Declared:
        function.result_check = check  # type: ignore[attr-defined]
        return function

    return declared


def check_result(function: Callable[..., Any], result: Any) -> None:
    """ValueError where a result is not what the function returns; only objects are where it declares nothing."""
    getattr(function, "result_check", record())(result, "the result")
