"""Digests of arrays: equal digests mean equal content."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def array_form(value: np.ndarray) -> dict[str, list[Any]]:
    """Plain JSON values that identify an array by its dtype, shape and bytes."""
    if value.dtype.kind in "OUSMm":
        return {"array": [value.dtype.kind, list(value.shape), [repr(v) for v in value.ravel().tolist()]]}
    content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return {"array": [value.dtype.str, list(value.shape), content]}


def canonical_json(form: Any) -> str:
    """The JSON text of plain values: sorted keys, no spaces, ASCII only."""
    return json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest_of_form(form: Any) -> str:
    """SHA-256 of the canonical JSON of plain values, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(form).encode()).hexdigest()
