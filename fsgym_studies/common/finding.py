"""Find a study or a suite by its name, and import nothing of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsgym.checks import explain_unknown
from fsgym.runner.worker import resolve


def find_declared(kind: str, name: str, places: Mapping[str, str]) -> Any:
    """What ``places[name]``, as "module:attribute", names; ValueError with a suggestion for an unknown name."""
    if name not in places:
        raise ValueError(explain_unknown(kind, name, places))
    return resolve(places[name])
