"""Statistics of repeated results: intervals, methods compared over data sets, and curves of accuracy over sparsity.

Curves are defined in the same way for every method. The points of a curve are the settings of the method; settings of
equal sparsity are one point with their mean accuracy. Between two points the curve is a straight line, which a policy
can reach that chooses one of the two settings at random. The curve ends at sparsity 1 with the accuracy of the largest
class, which every method reaches without acquiring anything. To the left of its first point it is flat, because a
policy need not use all the features that it may use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, stats

ROUNDED_TO = 9  # decimals of differences of figures; those of test parts are far larger, rounding errors far smaller
SAME_SPARSITY = 1e-9  # settings whose sparsities differ by less are one point


class Mean(NamedTuple):
    """A mean, the standard deviation (divisor n), the ends of the bootstrap interval, and the number of values."""

    mean: float
    std: float
    low: float
    high: float
    count: int


def mean_of(values: ArrayLike) -> Mean:
    """Mean, standard deviation and percentile bootstrap interval (95 %, ``scipy.stats.bootstrap``) without the NaN.

    The interval of one value is NaN, and so are mean and interval of no values.

    >>> mean_of([0.5, 0.5, 0.5])
    Mean(mean=0.5, std=0.0, low=0.5, high=0.5, count=3)
    """
    known = np.asarray(values, dtype=np.float64).ravel()
    known = known[~np.isnan(known)]
    if len(known) == 0:
        return Mean(np.nan, np.nan, np.nan, np.nan, 0)
    mean, std = float(known.mean()), float(known.std())
    if len(known) == 1:
        return Mean(mean, std, np.nan, np.nan, 1)
    if np.ptp(known) == 0:
        return Mean(mean, 0.0, mean, mean, len(known))
    rng = np.random.default_rng(0)
    low, high = stats.bootstrap(
        (known,), np.mean, n_resamples=2000, method="percentile", random_state=rng
    ).confidence_interval
    return Mean(mean, std, float(low), float(high), len(known))


def known_mean(values: ArrayLike) -> Mean | None:
    """``mean_of`` the values; None if there are none."""
    mean = mean_of(values)
    return mean if mean.count else None


def without_rounding_errors(differences: ArrayLike) -> NDArray[np.float64]:
    """Differences of figures as float64, in which two that are equal in exact arithmetic are equal, and zeros zero.

    >>> without_rounding_errors([0.3 - (0.1 + 0.2), 0.8 - 0.7, 0.9 - 0.8]).tolist()
    [0.0, 0.1, 0.1]
    """
    return np.asarray(differences, dtype=np.float64).round(ROUNDED_TO) + 0.0


def wins(differences: ArrayLike, tie: float = 0.0) -> tuple[int, int, int]:
    """How often the first of two methods is better, equal and worse, by its figures minus those of the second.

    Parameters
    ----------
    differences : float (n,), one per data set, above zero where the first is better; NaN is left out
    tie : float, differences up to this size count as ties

    >>> wins([0.1, 0.0, -0.1, -0.2])
    (1, 1, 2)
    """
    known = without_rounding_errors(differences)
    known = known[~np.isnan(known)]
    above, below = int((known > tie).sum()), int((known < -tie).sum())
    return above, len(known) - above - below, below


def wilcoxon_p(differences: ArrayLike) -> float:
    """The two-sided p of Wilcoxon's signed-rank test, without differences (n,) of zero; NaN if there are no others.

    With fewer than six it cannot be below .05.
    """
    known = without_rounding_errors(differences)
    known = known[~np.isnan(known) & (known != 0)]
    return float(stats.wilcoxon(known).pvalue) if len(known) else np.nan  # type: ignore[attr-defined]


def curve_knots(
    sparsity: ArrayLike, accuracy: ArrayLike, chance: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The points of a method's curve, in ascending order of sparsity up to 1.

    Parameters
    ----------
    sparsity, accuracy : float (n_settings,)
    chance : float, test accuracy of always answering the largest class of the training part

    Returns
    -------
    sparsity, accuracy : float64 (n_knots,)

    >>> knots = curve_knots([0.5, 0.5, 0.9], [0.8, 0.9, 0.7], chance=0.6)
    >>> [k.round(2).tolist() for k in knots]
    [[0.5, 0.9, 1.0], [0.85, 0.7, 0.6]]
    """
    s, a = np.asarray(sparsity, dtype=np.float64), np.asarray(accuracy, dtype=np.float64)
    order = np.argsort(s, kind="stable")
    s, a = s[order], a[order]
    point = np.concatenate([[0], np.cumsum(np.diff(s) > SAME_SPARSITY)]) if len(s) else np.zeros(0, np.int64)
    size = np.bincount(point)
    s, a = np.bincount(point, s) / size, np.bincount(point, a) / size
    if not len(s) or s[-1] < 1.0 - SAME_SPARSITY:
        s, a = np.append(s, 1.0), np.append(a, chance)
    return s, a


def accuracy_at(wanted: ArrayLike, sparsity: ArrayLike, accuracy: ArrayLike, chance: float) -> NDArray[np.float64]:
    """The height of the curve at the sparsities ``wanted``, as float64 of the same shape.

    >>> accuracy_at([0.2, 0.7], [0.5, 0.9], [0.9, 0.7], chance=0.6).round(2).tolist()
    [0.9, 0.8]
    """
    return np.interp(np.asarray(wanted, dtype=np.float64), *curve_knots(sparsity, accuracy, chance))


def area(sparsity: ArrayLike, accuracy: ArrayLike, chance: float) -> float:
    """The area under the curve from sparsity 0 to 1, which is the mean accuracy over all sparsities.

    >>> area([0.0, 1.0], [1.0, 0.5], chance=0.5)
    0.75
    """
    s, a = curve_knots(sparsity, accuracy, chance)
    return float(integrate.trapezoid(np.append(a[0], a), np.append(0.0, s)))
