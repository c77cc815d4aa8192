"""Arrays in the one form that compiled functions take, and digests of arrays and plain values."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

ArrayTuple = TypeVar("ArrayTuple", bound=tuple[Any, ...])


def read_only(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """The values as a C-contiguous array that cannot be written through, copied only where they have another form.

    Numba compiles a function again for each order of axes and for arrays that can be written. Inputs that all have this
    form are compiled for only once.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.zeros((2, 3), np.float32)
    >>> read_only(rows).flags.writeable, np.shares_memory(read_only(rows), rows)
    (False, True)
    """
    array = np.ascontiguousarray(values, dtype).view()
    array.flags.writeable = False
    return array


def read_only_fields(arrays: ArrayTuple) -> ArrayTuple:
    """A named tuple of the same arrays, each as by ``read_only``."""
    return cast(ArrayTuple, type(arrays)(*map(read_only, arrays)))


# Digests of arrays: equal digests mean equal content.


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
