"""Arrays in the one form that compiled functions take."""

from __future__ import annotations

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


def read_only_rows(
    acquired: NDArray[np.bool_], values: NDArray[np.float32]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """The features that have been acquired and their values, (n, n_features) each, as by ``read_only``."""
    return read_only(acquired, bool), read_only(values, np.float32)
