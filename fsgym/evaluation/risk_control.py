"""Tests of whether a risk is at most a limit, and the order in which thresholds are tested.

A risk is the mean of a loss between 0 and 1, such as the share of wrong answers. All rows are independent draws from
the cases to come. A p-value here is that of the hypothesis "the risk is above ``limit``": where it is at most
``delta``, the risk is at most ``limit`` with confidence ``1 - delta``.

References
----------
A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei. Learn then Test: calibrating predictive algorithms to achieve
risk control. arXiv:2110.01052, 2021. Annals of Applied Statistics, 2025.
S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan. Distribution-free, risk-controlling prediction sets. Journal of
the ACM, 2021.
I. Waudby-Smith, A. Ramdas. Estimating means of bounded random variables by betting. JRSS B, 2024.
L. Ringel, R. Cohen, D. Freedman, M. Elad, Y. Romano. Early time classification with accumulated accuracy gap control.
ICML, 2024.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

# Tests the mean of losses (n, ...) in [0, 1] against a limit: p-values (...).
MeanTest = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def binomial_p_value(errors: ArrayLike, n: ArrayLike, limit: float) -> NDArray[np.float64]:
    """The exact p-value of ``errors`` among ``n`` rows: P(Bin(n, limit) <= errors); 1 where there are no rows.

    For the share of wrong answers these are all rows; for the recall of a class the rows of the class and those of them
    that are missed; for the error among answered rows the answered ones; for the share referred all rows, and those
    referred.

    Parameters
    ----------
    errors, n : int arrays of one shape
    limit : float between 0 and 1

    Examples
    --------
    >>> binomial_p_value(2, 100, 0.05).round(10)
    np.float64(0.1182629812)
    """
    return np.where(np.asarray(n) > 0, binom.cdf(errors, n, limit), 1.0)[()]


def fewest_rows(limit: float, delta: float, errors: int = 0) -> int:
    """With how many rows ``errors`` errors still show that the share is at most ``limit``.

    Examples
    --------
    >>> fewest_rows(0.02, 0.2), fewest_rows(0.02, 0.2, errors=2)
    (80, 213)
    """
    return _fewest(lambda n: bool(binom.cdf(errors, n, limit) <= delta))


def fewest_rows_of_mean(limit: float, delta: float, test: MeanTest) -> int:
    """As ``fewest_rows``, for losses that are all 0, by a test of means."""
    return _fewest(lambda n: bool(test(np.zeros(n), limit) <= delta))


def _fewest(passes: Callable[[int], bool]) -> int:
    """The least n that passes, where all larger ones do."""
    high = 1
    while not passes(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


# The bets are made for this confidence, and are valid at any. By hand: it is the default of ``calibrate``.
BETS_FOR_DELTA = 0.1
MAX_BET = 0.75  # of what would lose everything; as in Waudby-Smith and Ramdas (2024, section 4.3), who use 1/2 or 3/4


def betting_p_value(losses: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """The p-value of a mean by the capital of bets against it (Waudby-Smith and Ramdas, 2024, eq. 26 and section 4.3).

    Parameters
    ----------
    losses : float64 (n, ...), in [0, 1]
        The rows come in an order that does not depend on the losses; the p-value depends on it.
    limit : float, above 0 and below 1

    Returns
    -------
    float64 (...), one for each column of losses; 1 where the mean of the losses is above the limit, although early rows
    may have won their bets

    Examples
    --------
    >>> losses = np.tile([0, 0, 0.5, 0, 0, 0, 0, 0.25, 0, 0], 15)
    >>> betting_p_value(losses, 0.15).round(9)
    np.float64(0.000401809)
    """
    x = np.asarray(losses, np.float64)
    n = len(x)
    count = np.arange(1, n + 1).reshape(-1, *[1] * (x.ndim - 1))
    mean = (0.5 + x.cumsum(axis=0)) / (count + 1)
    variance = (0.25 + ((x - mean) ** 2).cumsum(axis=0)) / (count + 1)
    before = np.concatenate([np.full((1, *x.shape[1:]), 0.25), variance[:-1]])  # each bet is made before its row
    bets = np.minimum(np.sqrt(2 * np.log(1 / BETS_FOR_DELTA) / (before * n)), MAX_BET / (1 - limit))
    capital = np.log1p(-bets * (x - limit)).cumsum(axis=0)
    p_value = np.exp(-capital.max(axis=0, initial=0.0))
    return np.where(x.mean(axis=0) > limit, 1.0, p_value)[()]


def hoeffding_bentkus_p_value(losses: NDArray[np.float64], limit: float) -> NDArray[np.float64]:
    """The p-value of a mean by the inequalities of Hoeffding and Bentkus (Bates et al., 2021, section 3.1.2).

    Parameters and result are those of ``betting_p_value``; the order of the rows has no effect.

    Examples
    --------
    >>> losses = np.repeat([1.0, 0.0], [2, 98])
    >>> hoeffding_bentkus_p_value(losses, 0.05).round(10)
    np.float64(0.2969189512)
    """
    n, total = len(losses), np.asarray(losses, np.float64).sum(axis=0)
    mean = np.minimum(total / n, limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(mean > 0, mean * np.log(mean / limit), 0.0)
    divergence = first + (1 - mean) * np.log((1 - mean) / (1 - limit))
    bentkus = np.e * binom.cdf(np.ceil(total), n, limit)
    return np.minimum(np.minimum(np.exp(-n * divergence), bentkus), 1.0)[()]


LIMITS_TRIED = 400  # in which an upper bound of a mean is looked for, before it is refined
REFINEMENTS = 30  # halvings of the interval between two of them


def mean_upper_bound(losses: NDArray[np.float64], delta: float, test: MeanTest) -> float:
    """The largest mean, up to 1, that the test does not reject at ``delta``, for losses (n,)."""
    limits = np.linspace(0.0, 1.0, LIMITS_TRIED + 1)[1:-1]
    kept = np.flatnonzero([test(losses, float(limit)) > delta for limit in limits])
    if not len(kept):
        low, high = 0.0, float(limits[0])
    elif kept[-1] == len(limits) - 1:
        return 1.0
    else:
        low, high = float(limits[kept[-1]]), float(limits[kept[-1] + 1])
    for _ in range(REFINEMENTS):
        middle = (low + high) / 2
        low, high = (low, middle) if test(losses, middle) <= delta else (middle, high)
    return high


def last_of_sequence(p_values: NDArray[np.float64], delta: float) -> int:
    """The last of the hypotheses that are rejected in their order, before the first that is not; -1 if there is none.

    One of them is rejected wrongly with a probability of at most ``delta``, whatever their number, if the order does
    not depend on the rows of the test (Angelopoulos et al., 2021, fixed sequence testing): to err, the first true one
    must be rejected.

    Examples
    --------
    >>> last_of_sequence(np.array([0.01, 0.04, 0.2, 0.03]), 0.1)
    1
    """
    passed = np.asarray(p_values) <= delta
    return int(np.logical_and.accumulate(passed).sum()) - 1


def start_of_sequence(p_values: NDArray[np.float64]) -> int:
    """Where other rows should begin: the hypothesis of the lowest p-value, the last of equal ones.

    The first of two stages (Ringel et al., 2024), for risks that are not lowest at the strictest threshold, such as
    the error among answered rows, where none is answered.
    """
    p_values = np.asarray(p_values)
    return len(p_values) - 1 - int(p_values[::-1].argmin())
