"""Invented cases, which show more of what a policy does than the cases that there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.data.columns import Columns

NOISE = 0.35  # in standard deviations of a number; by hand


def invented_rows(X: NDArray[np.float32], n: int, columns: Columns) -> NDArray[np.float32]:
    """Noisy copies of random rows, float32 (n, n_features), as in the smoothed bootstrap (Efron, 1982).

    A copy has normal noise of a part of the standard deviation of each number, rounded where all values are whole, and
    stays within the range of the values. What is missing stays so, and levels stay as they are.
    """
    rng = np.random.default_rng(2)
    copies = X[rng.integers(len(X), size=n)]
    numbers = [f.start for column, f in zip(columns, columns.features) if column.kind == "number"]
    x = X[:, numbers].astype(np.float64)
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    n_known = np.maximum((~np.isnan(x)).sum(axis=0), 1)
    mean = np.nansum(x, axis=0) / n_known
    spread = np.sqrt(np.nansum((x - mean) ** 2, axis=0) / n_known)
    noise = NOISE * spread * rng.standard_normal((n, len(numbers)))
    whole = (np.isnan(x) | (x == np.round(x))).all(axis=0)
    moved = copies[:, numbers] + np.where(whole, np.round(noise), noise)
    copies[:, numbers] = np.clip(moved, low, high)
    return copies
