"""Exponentials and softmax in compiled loops, in a form that LLVM turns into vector operations.

``np.exp`` in a compiled loop is a call of the C library for each number, some five times as slow.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 256  # columns of scores that are in the fastest cache at the same time
LARGEST = 708.0  # e^x and e^-x are normal numbers up to here
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # of fdlibm; k times the first is exact


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def vector_exp(x):
    """The exponential of a float64, within two units in the last place; -708 or 708 stands for any x beyond.

    x is k log(2) + r with a whole number k, so that e^x is 2^k e^r; e^r is its Taylor polynomial of degree 13, with
    short chains of operations (Estrin, 1960). 2^k is a float64 whose exponent is set.

    Examples
    --------
    >>> vector_exp(0.0), vector_exp(-800.0) > 0
    (1.0, True)
    """
    x = min(max(x, -LARGEST), LARGEST)
    k = np.floor(x * LOG2_E + 0.5)
    r = x - k * LN2_HIGH - k * LN2_LOW
    square = r * r
    fourth = square * square
    p0 = 1.0 + r + square * (0.5 + r * (1 / 6))
    p1 = 1 / 24 + r * (1 / 120) + square * (1 / 720 + r * (1 / 5040))
    p2 = 1 / 40320 + r * (1 / 362880) + square * (1 / 3628800 + r * (1 / 39916800))
    p3 = 1 / 479001600 + r * (1 / 6227020800)
    power_of_2 = np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    return (p0 + fourth * (p1 + fourth * (p2 + fourth * p3))) * power_of_2


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def write_exponentials(scores, begin, size, top, total):
    """Replace columns ``begin`` to ``begin + size`` of ``scores`` by their softmax times ``total``.

    Parameters
    ----------
    scores : ndarray of shape (n_classes, n), float64
        A row for each class, or component: the vector operations are along the rows.
    begin, size : int
        At most ``BLOCK`` columns.
    top, total : ndarray of shape (BLOCK,), float64
        The largest score of each column is written, and the sum of e^(score - largest score).
    """
    top[:] = -np.inf
    total[:] = 0.0
    for k in range(len(scores)):
        row = scores[k, begin : begin + size]
        for i in range(size):
            top[i] = max(top[i], row[i])
    for k in range(len(scores)):
        row = scores[k, begin : begin + size]
        for i in range(size):
            row[i] = vector_exp(row[i] - top[i])
        for i in range(size):
            total[i] += row[i]
