"""Answers from class probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cheapest_answers(shares: NDArray[np.float64], error_costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The answer of least expected cost for class probabilities (n_samples, n_classes), int64 (n_samples,).

    Ties go to the first class.

    References
    ----------
    C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001, eq. 1.

    Examples
    --------
    >>> cheapest_answers(np.array([[0.8, 0.2]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([1])
    """
    return (shares @ error_costs.T).argmin(axis=1)
