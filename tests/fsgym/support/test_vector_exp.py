"""The exponential of compiled loops against that of NumPy."""

from __future__ import annotations

import numpy as np
from numba import njit

from fsgym.support.vector_exp import vector_exp


@njit
def write_exponentials(x, result):
    for i in range(len(x)):
        result[i] = vector_exp(x[i])


def exponentials(x):
    result = np.empty(len(x))
    write_exponentials(np.asarray(x, dtype=float), result)
    return result


def test_exponentials_are_those_of_numpy_to_a_few_units_in_the_last_place():
    rng = np.random.default_rng(0)
    for x in (
        rng.uniform(-708, 708, 10_000),
        rng.normal(size=10_000),
        np.log(2) * np.arange(-900, 900) / 2,
        [0.0, -0.0],
    ):
        x = np.clip(x, -708, 708)
        np.testing.assert_array_max_ulp(exponentials(x), np.exp(x), 3)


def test_exponentials_beyond_the_range_are_those_of_its_ends():
    ends = np.exp([-708.0, 708.0])
    np.testing.assert_allclose(exponentials([-np.inf, -1e9, -709, 709, np.inf]), ends[[0, 0, 0, 1, 1]], rtol=1e-15)
    assert np.isnan(exponentials([np.nan])).all()
