"""The names that users import, with their parameters, members and attributes, as text to be compared with a stored one.

``python tests/support/public_names.py > tests/data/public_names_of_X.Y.Z.json`` writes them at a release.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from typing import Any

MODULES = (
    "fsgym",
    "agents",
    "baselines",
    "fsgym.plot",
    "fsgym.exact",
    "fsgym.datasets",
    "fsgym.rules",
    "fsgym.metrics",
)
OURS = ("fsgym", "agents", "baselines")


def public_names() -> dict[str, dict[str, str]]:
    """By ``module:name``: parameters, and of a class its members (of ours) with theirs, and documented attributes."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        own = [n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__]
        for name in sorted(getattr(module, "__all__", own)):
            found[f"{module.__name__}:{name}"] = described(getattr(module, name))
    return found


def described(value: Any) -> dict[str, str]:
    entry = {"parameters": parameters_of(value)} if callable(value) else {}
    if inspect.isclass(value):
        bases = [c for c in value.__mro__ if c.__module__.partition(".")[0] in OURS]
        names = sorted({n for c in bases for n in [*vars(c), *vars(c).get("__annotations__", ())] if n[0] != "_"})
        entry["members"] = "; ".join(f"{n} {parameters_of(getattr(value, n, None))}".strip() for n in names)
        entry["attributes"] = " ".join(documented_attributes(value))
    return entry


def parameters_of(value: Any) -> str:
    if not callable(value):
        return ""
    try:
        return " ".join(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return ""


def documented_attributes(cls: type) -> list[str]:
    section = re.search(r"Attributes\n-+\n(.*?)(\n\n[A-Z][a-z]+\n-+|\Z)", inspect.getdoc(cls) or "", re.DOTALL)
    lines = section.group(1).splitlines() if section else []
    return [n.strip() for line in lines if re.match(r"\w.* : ", line) for n in line.split(" : ")[0].split(",")]


if __name__ == "__main__":
    print(json.dumps(public_names(), indent=1, sort_keys=True))
