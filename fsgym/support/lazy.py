"""Packages that import their names when they are used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def imported_later(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    ``names`` has, by the module that defines them, the names that the package offers, separated by spaces; "" for a
    module that is such a name itself. Type checkers see them by imports under ``TYPE_CHECKING``. ``dir`` lists the
    names in ``__all__``, among which they are.
    """
    homes = {name: module for module, own in names.items() for name in own.split()}
    modules = {module.rpartition(".")[2]: module for module, own in names.items() if not own}

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(modules[name])
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def public() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*own["__all__"], *own.keys() & {"__version__"}})

    return get, public
