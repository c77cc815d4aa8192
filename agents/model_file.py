"""Model files: safetensors arrays with a JSON header. Nothing in them is ever executed or unpickled."""

from __future__ import annotations

import json
import os
import re
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agents.policy import Policy
from fsgym.rules import Rules

FORMAT = "fsgym-model-2"
FORMER = "fsgym-model-1"  # what fsgym 0.1 wrote
# What damaged content may lead to while objects are made of it.
DAMAGES = (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)

SomePolicy = TypeVar("SomePolicy", bound=Policy)


def save(path: str | os.PathLike, policy: Policy, labels: Mapping[str, Any]) -> None:
    """Write a policy, its rules and ``labels``, plain JSON by name, to a model file; raises as ``write``."""
    arrays, header = policy.to_arrays()
    of_rules, text = policy.rules.state()
    arrays |= {f"rules.{name}": array for name, array in of_rules.items()}
    write(path, policy.kind, arrays, {"rules": text, **header, **labels})


def load(path: str | os.PathLike, policy_class: type[SomePolicy]) -> tuple[SomePolicy, dict[str, Any]]:
    """The policy of a model file, checked, and the header with the labels; raises as ``read``."""
    arrays, header = read(path, policy_class.kind)
    try:
        rules = _take_rules(arrays, header)
        return policy_class.from_arrays(arrays, header, rules), header
    except DAMAGES as error:
        raise damaged(path, error) from None


def write(path: str | os.PathLike, kind: str, arrays: Mapping[str, NDArray], header: Mapping[str, Any]) -> None:
    """Write a model file, whole or not at all.

    Raises OSError where the place cannot be written to, TypeError where the header is not plain JSON.
    """
    from safetensors.numpy import save

    path = Path(path)
    text = json.dumps({"kind": kind, **header})  # the one entry: safetensors writes several in any order
    data = save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, {FORMAT: text})
    try:
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise
    except OSError as error:
        raise OSError(f"cannot write the model to {path}: {error.strerror or error}") from None


def read(path: str | os.PathLike, kind: str) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Arrays and header of a model file of the given kind.

    Raises OSError where it cannot be read, ValueError where it is damaged or of another kind.
    """
    arrays, header = _opened(path)
    if header.pop("kind", None) != kind:
        raise ValueError(f"{path} holds another kind of model, not {kind!r}")
    return arrays, header


def kind_of(path: str | os.PathLike) -> str:
    """The kind of a model file; OSError or ValueError as ``read``."""
    kind = _opened(path)[1].get("kind")
    if not isinstance(kind, str):
        raise ValueError(f"{path} is damaged: it does not tell the kind of model")
    return kind


def _opened(path: str | os.PathLike) -> tuple[dict[str, NDArray], dict[str, Any]]:
    from safetensors import safe_open

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except OSError as error:
        raise OSError(f"cannot read the model in {path}: {error.strerror or _line(error)}") from None
    except Exception as error:  # whatever the library makes of a hostile file
        raise ValueError(f"{path} is not a model file, or is damaged: {_line(error)}") from None
    if FORMER in metadata:
        raise ValueError(f"{path} was written by fsgym 0.1 and must be trained and saved again with this version")
    if FORMAT not in metadata:
        raise ValueError(f"{path} is not a model file of fsgym ({FORMAT}); save the model again with this version")
    try:
        header = json.loads(metadata[FORMAT])
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is damaged: its header is not JSON") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is damaged: its header is no mapping")
    return arrays, header


def _take_rules(arrays: dict[str, NDArray], header: dict[str, Any]) -> Rules:
    """The rules of a file, taken out of its arrays and header; one of ``DAMAGES`` where they are damaged."""
    names = [name for name in arrays if name.startswith("rules.")]
    of_rules = {name.removeprefix("rules."): arrays.pop(name) for name in names}
    if not {"groups", "costs", "error_costs"} <= of_rules.keys():
        raise ValueError("rules are missing")
    return Rules.from_state(of_rules, header.pop("rules"))


def damaged(path: str | os.PathLike, error: Exception) -> ValueError:
    """What to raise for a file whose content makes no sense."""
    return ValueError(f"{path} is damaged: {_line(error)}")


def labels_to_json(classes: NDArray) -> list:
    """Class labels as JSON; numbers, bools and text keep their kind, others raise TypeError."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    if not all(isinstance(v, (bool, int, float, str)) for v in plain):
        raise TypeError(f"labels of type {classes.dtype} cannot be saved; use numbers or text")
    return [str(v) if isinstance(v, str) else v for v in plain]


def labels_from_json(values: Any, dtype: Any) -> NDArray:
    """Class labels again, sorted and distinct, or ValueError; ``dtype`` is NumPy's word for their type."""
    if not isinstance(dtype, str) or not re.fullmatch(r"[<>|][biufUO]\d*", dtype):
        raise ValueError("the type of the class labels is damaged")
    if not isinstance(values, list) or not all(isinstance(v, (bool, int, float, str)) for v in values):
        raise ValueError("the class labels are damaged")
    kind = {"U": str, "O": object}.get(dtype[1])  # the width of text is as these labels need it
    labels = np.array(values, dtype=kind or np.dtype(dtype))
    if len(labels) < 2 or labels.ndim != 1 or labels.tolist() != values or not (labels[:-1] < labels[1:]).all():
        raise ValueError("the class labels are damaged")
    return labels


def _line(error: Exception) -> str:
    """What an error says, short and on one line."""
    return textwrap.shorten(str(error), 160, placeholder=" ...") or type(error).__name__
