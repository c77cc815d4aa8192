"""Weights of rows: their check, and the table from which rows are drawn in proportion to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.support.checks import number_array
from fsgym.text.messages import brief


def check_row_weights(weights: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """The weights of the rows as a fresh array, float64 (n_samples,), at least 0 and some of them above 0.

    Raises TypeError if they are no numbers, ValueError if their shape or a value is invalid.

    Examples
    --------
    >>> check_row_weights([1, 0.5, 0], 3)
    array([1. , 0.5, 0. ])
    """
    try:
        numbers = number_array(weights, takes_bools=True)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"sample_weight must be {n_samples} numbers, one per row, got {brief(weights)}") from None
    if numbers.shape != (n_samples,):
        raise ValueError(f"sample_weight must have shape ({n_samples},), one weight per row, got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"sample_weight must be finite, got {numbers[~np.isfinite(numbers)][0]}")
    if numbers.min() < 0:
        raise ValueError(f"sample_weight must not be negative, got {numbers.min():g}")
    if not numbers.any():
        raise ValueError("sample_weight must be above 0 for at least one row, but all weights are zero")
    return numbers


def cumulative_shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the total weight of each row and all rows before it, float64 (n_samples,); the last one is 1.

    For u uniform in [0, 1), the number of entries up to u is row i with a probability proportional to its weight.
    """
    total = np.cumsum(weights / weights.max())
    return total / total[-1]
