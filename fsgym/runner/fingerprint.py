"""What a value consists of, as JSON: two values of the same description give the same results."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import cloudpickle
import numpy as np

OWN = ("fsgym", "agents", "baselines", "fsgym_studies")  # their code is told by the version of fsgym

_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON of a description, 64 hexadecimal digits.

    Examples
    --------
    >>> from fsgym.runner.fingerprint import digest
    >>> digest({"lam": 0.1, "seed": 3}) == digest({"seed": 3, "lam": 0.1})
    True
    """
    return hashlib.sha256(canonical(describe(value)).encode()).hexdigest()


def canonical(described: Any) -> str:
    return json.dumps(described, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def describe(value: Any) -> Any:
    """Plain JSON values that differ from those of every other value; TypeError where there are none.

    An array is described by its content, an object with a method ``fingerprint_parts()`` by what that returns, once
    (such objects must not change), an estimator by class and parameters, any other object by what pickling it gives.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(k): describe(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [describe(v) for v in value]
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, type):
        return _pickled(value)
    if hasattr(value, "fingerprint_parts"):
        if value not in _known:
            _known[value] = digest(value.fingerprint_parts())
        return {type(value).__name__: _known[value]}
    if hasattr(value, "get_params"):
        return {**_class(type(value)), "params": describe(value.get_params(deep=False))}
    return _pickled(value)


def _array(value: np.ndarray) -> Any:
    if value.dtype.kind in "OUSMm":
        return {"array": [value.dtype.kind, list(value.shape), [repr(v) for v in value.ravel().tolist()]]}
    content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return {"array": [value.dtype.str, list(value.shape), content]}


def _class(cls: type) -> dict[str, str]:
    """The name of a class and, of one that is not ours, its source: who edits it gets other results."""
    told = {"class": f"{cls.__module__}:{cls.__qualname__}"}
    if cls.__module__.partition(".")[0] not in OWN:
        try:
            told["source"] = hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
        except (OSError, TypeError):  # compiled, or typed at a prompt
            told["source"] = hashlib.sha256(cloudpickle.dumps(cls)).hexdigest()
    return told


def _pickled(value: Any) -> dict[str, str]:
    try:
        content = cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"{type(value).__name__} must be picklable to be sent to a process: {' '.join(str(error).split())[:200]}"
        ) from None
    return {**(_class(type(value))), "pickle": hashlib.sha256(content).hexdigest()}
