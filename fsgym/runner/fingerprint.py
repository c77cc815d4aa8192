"""Fingerprints of values: equal fingerprints mean equal content, and therefore equal results."""

from __future__ import annotations

import hashlib
import inspect
import io
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import cloudpickle
import numpy as np

from fsgym.runner.local_code import VERSIONED_PACKAGES, code_of_method, local_code
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.text.messages import one_line

_known_fingerprints: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def fingerprint(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value, 64 hexadecimal digits.

    Examples
    --------
    >>> from fsgym.runner.fingerprint import fingerprint
    >>> fingerprint({"lam": 0.1, "seed": 3}) == fingerprint({"seed": 3, "lam": 0.1})
    True
    """
    return digest_of_form(canonical_form(value))


def canonical_form(value: Any) -> Any:
    """Plain JSON values that identify ``value`` by its content; TypeError for a value that cannot be pickled.

    An array is identified by its dtype, shape and bytes; an object with a method ``fingerprint_parts()`` by what that
    method returns (it is called once, so such objects must not change); an estimator by its class and parameters; any
    other object by its class and its pickle, and a function also by its source, which its pickle need not have.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(k): canonical_form(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [canonical_form(v) for v in value]
    if isinstance(value, np.ndarray):
        return array_form(value)
    if isinstance(value, type):
        return _pickle_form(value)
    if hasattr(value, "fingerprint_parts"):
        if value not in _known_fingerprints:
            _known_fingerprints[value] = fingerprint(value.fingerprint_parts())
        return {type(value).__name__: _known_fingerprints[value]}
    if hasattr(value, "get_params"):
        return {**_class_form(type(value)), "params": canonical_form(value.get_params(deep=False))}
    return _pickle_form(value)


def _class_form(cls: type) -> dict[str, str]:
    """The name of a class and, for a class of another package, its source, so that editing it changes the form."""
    form = {"class": f"{cls.__module__}:{cls.__qualname__}"}
    if cls.__module__.partition(".")[0] not in VERSIONED_PACKAGES:
        try:
            form["source"] = hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
        except (OSError, TypeError):  # compiled, or typed at a prompt
            form["source"] = hashlib.sha256(cloudpickle.dumps(cls)).hexdigest()
        if modules := local_code(cls):
            form["modules"] = modules
    elif modules := code_of_method(sys.modules[cls.__module__].__file__ or ""):
        form["modules"] = modules
    return form


class _PicklerByName(cloudpickle.Pickler):
    """Pickles modules of the user by their names, as those of packages; ``local_code`` identifies their content.

    By value, as they are sent to other processes, the pickle of the same code differs in each process: sets have
    another order, and cloudpickle draws an id for each class.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, ModuleType) and obj.__name__ in sys.modules:
            return import_module, (obj.__name__,)
        if isinstance(obj, type | FunctionType) and _is_found_by_name(obj):
            return NotImplemented  # as pickle itself
        return super().reducer_override(obj)


def _is_found_by_name(code: Any) -> bool:
    """Whether a class or function is what its module has under its name."""
    if code.__module__ == "__main__":
        return False
    try:
        return attrgetter(code.__qualname__)(sys.modules.get(code.__module__)) is code
    except AttributeError:
        return False


def _pickle_form(value: Any) -> dict[str, str]:
    try:
        content = io.BytesIO()
        _PicklerByName(content).dump(value)
    except Exception as error:
        raise TypeError(
            f"{type(value).__name__} must be picklable to be sent to a process: {one_line(error)}"
        ) from None
    form = {**(_class_form(type(value))), "pickle": hashlib.sha256(content.getvalue()).hexdigest()}
    if inspect.isfunction(value):
        with suppress(OSError):  # typed at a prompt
            form["source"] = hashlib.sha256(inspect.getsource(value).encode()).hexdigest()
    if modules := local_code(value):
        form["modules"] = modules
    return form
