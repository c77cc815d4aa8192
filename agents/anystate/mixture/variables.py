"""The variables of a mixture: numbers on a common scale, and categories of which each has a few levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from agents.anystate.mixture import constants as const
from agents.parts import lengths_of_parts
from fsgym.data.dataset import Dataset
from fsgym.support.arrays import read_only
from fsgym.support.kernels import INNER


@dataclass(frozen=True, eq=False)
class Variables:
    """How the features of a table make up V independent variables."""

    first_feature: NDArray[np.int64]  # (V + 1,), where the features of each variable begin in ``feature``
    feature: NDArray[np.int64]  # (n_features,), each feature once
    first_level: NDArray[np.int64]  # (V + 1,), where the levels of each variable begin in ``level``; a number has none
    # (n_levels,), the values of a variable with a single feature, ascending. Of a variable with several features, of
    # which one is 1 in each row, they are 0, 1, ..., the places of the features.
    level: NDArray[np.float64]
    # (V,), of numbers; 0 and 1 for categories
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    # (V + 1,), where the knots of each variable begin; without knots ``center`` and ``scale`` are used
    first_knot: NDArray[np.int64]
    # (n_knots,), a number with knots is replaced by its normal score, which is linear between them and constant beyond;
    # both ascend
    knot: NDArray[np.float64]
    score: NDArray[np.float64]

    @cached_property
    def n_levels(self) -> NDArray[np.int64]:
        """The number of levels of each variable, 0 for a number, int64 (V,)."""
        return np.diff(self.first_level)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """The number of columns of each variable in ``design``, int64 (V,)."""
        return np.where(self.n_levels == 0, const.COLUMNS_OF_NUMBER, self.n_levels)

    @cached_property
    def first_column(self) -> NDArray[np.int64]:
        """Where the columns of each variable begin in ``design``, int64 (V + 1,)."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    def columns_of(self, variables: NDArray[np.int64]) -> NDArray[np.int64]:
        """The columns of some variables in ``design``, int64 (n,)."""
        return np.flatnonzero(np.isin(np.repeat(np.arange(len(self.center)), self.widths), variables))

    @property
    def variable_of(self) -> NDArray[np.int64]:
        """The variable of each feature, int64 (n_features,)."""
        variable = np.empty(len(self.feature), np.int64)
        variable[self.feature] = np.repeat(np.arange(len(self.center)), np.diff(self.first_feature))
        return variable

    def encode(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """The variables of n rows, float64 (n, V): z-scores or numbers of levels, NaN where they are not known.

        A variable of several features is known where all of them are. A number that no training row had counts as the
        nearest level, the lower of two: levels are ordered.
        """
        codes = np.empty((len(values), len(self.center)))
        write_codes(self.arrays, read_only(values, np.float32), np.ones(values.shape, bool), codes)
        return codes

    @cached_property
    def arrays(self) -> tuple[NDArray, ...]:
        """The fields in their order, for compiled functions."""
        return tuple(getattr(self, name) for name in DTYPES)

    def design(self, codes: NDArray[np.float64], of: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Sufficient statistics of ``encode``, float64 (n, n_columns); only those of the variables ``of``, if given.

        Those of a number are its z-score, the square and 1, those of a category an indicator of each level; all are 0
        where the variable is not known. ``codes`` are of the same variables.
        """
        of = np.arange(len(self.center)) if of is None else of
        ends = np.cumsum(self.widths[of])
        columns, known = np.zeros((len(codes), ends[-1])), ~np.isnan(codes)
        for i, (v, first) in enumerate(zip(of, ends - self.widths[of])):
            if self.n_levels[v] == 0:
                z = np.where(known[:, i], codes[:, i], 0.0)
                columns[:, first], columns[:, first + 1], columns[:, first + 2] = z, z * z, known[:, i]
            else:
                rows = np.flatnonzero(known[:, i])
                columns[rows, first + codes[rows, i].astype(np.int64)] = 1.0
        return columns

    def to_arrays(self) -> dict[str, NDArray]:
        return {name: getattr(self, name) for name in DTYPES}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], n_features: int) -> Variables:
        """The variables from ``to_arrays``; ValueError or KeyError if they are invalid.

        ``code_of`` relies on parts that do not descend, on features that exist, and on knots that ascend;
        ``write_posterior`` on as many levels of a variable as it has features, since the code of it is their place.
        """
        self = cls(**{name: arrays[name] for name in DTYPES})
        for name, dtype in DTYPES.items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != 1 or not np.isfinite(array).all():
                raise ValueError(f"{name} must be one-dimensional, {dtype} and finite")
        n = len(self.center)
        if (lengths_of_parts(self.first_feature, n, n_features, "features") < 1).any():
            raise ValueError("a variable must have a feature")
        lengths_of_parts(self.first_level, n, len(self.level), "levels")
        if len(self.scale) != n or not (self.scale > 0).all():
            raise ValueError("scale must be positive, one for each variable")
        if not np.array_equal(np.sort(self.feature), np.arange(n_features)):
            raise ValueError("feature must name each feature once")
        lengths_of_parts(self.first_knot, n, len(self.knot), "knots")
        if len(self.score) != len(self.knot):
            raise ValueError("score must have a number for each knot")
        inner = np.setdiff1d(np.arange(1, len(self.knot)), self.first_knot)
        if not ((self.knot[inner] > self.knot[inner - 1]) & (self.score[inner] > self.score[inner - 1])).all():
            raise ValueError("knots and their scores must ascend")
        width = np.diff(self.first_feature)
        if (self.n_levels[width > 1] != width[width > 1]).any():
            raise ValueError("a variable of several features must have as many levels")
        return self


DTYPES = {
    "first_feature": np.dtype(np.int64),
    "feature": np.dtype(np.int64),
    "first_level": np.dtype(np.int64),
    "level": np.dtype(np.float64),
    "center": np.dtype(np.float64),
    "scale": np.dtype(np.float64),
    "first_knot": np.dtype(np.int64),
    "knot": np.dtype(np.float64),
    "score": np.dtype(np.float64),
}


def fit_variables(dataset: Dataset, weight: NDArray[np.float64] | None) -> Variables:
    """The variables of a table.

    A column that is encoded by several features is one variable. A feature with few distinct values, and each code of
    a category, is a category; all others are numbers, with z-scores by the weighted mean and standard deviation after
    outliers are clipped. A category in codes has all its levels, since those are not ordered.
    """
    features = _features_of_variables(dataset)
    coded = {f[0]: c for c, f in zip(dataset.columns, dataset.columns.features) if c.kind != "number" and len(f)}
    levels, center, scale = [], np.zeros(len(features)), np.ones(len(features))
    for v, members in enumerate(features):
        x = dataset.X[:, members[0]].astype(np.float64)
        x, of_x = x[~np.isnan(x)], None if weight is None else weight[~np.isnan(x)]
        distinct = np.unique(x)
        codes = coded.get(members[0])
        if len(members) > 1:
            levels.append(np.arange(len(members), dtype=np.float64))
        elif codes is not None and codes.kind == "codes" and codes.levels:
            levels.append(np.arange(len(codes.levels), dtype=np.float64))
        elif codes is not None or len(distinct) <= min(const.MAX_CATEGORY_LEVELS, len(x) / const.ROWS_OF_LEVEL):
            levels.append(distinct if len(distinct) else np.zeros(1))
        else:
            levels.append(np.zeros(0))
            center[v], scale[v] = _center_and_scale(x, of_x) if len(x) else (0.0, 1.0)
    return Variables(
        _starts([len(f) for f in features]),
        np.concatenate(features).astype(np.int64),
        _starts([len(found) for found in levels]),
        np.concatenate(levels),
        center,
        scale,
        np.zeros(len(features) + 1, np.int64),
        np.empty(0),
        np.empty(0),
    )


def with_normal_scores(variables: Variables, dataset: Dataset, weight: NDArray[np.float64] | None) -> Variables:
    """The same variables with the normal scores of the numbers: quantiles become those of a standard normal."""
    knots, scores = [], []
    for v, first in enumerate(variables.first_feature[:-1]):
        x = dataset.X[:, variables.feature[first]].astype(np.float64)
        known = ~np.isnan(x)
        if variables.n_levels[v] or not known.any():
            knot, score = np.empty(0), np.empty(0)
        else:
            knot, score = _normal_scores(x[known], np.ones(known.sum()) if weight is None else weight[known])
        knots.append(knot)
        scores.append(score)
    starts = _starts([len(knot) for knot in knots])
    return replace(variables, first_knot=starts, knot=np.concatenate(knots), score=np.concatenate(scores))


def _normal_scores(x: NDArray[np.float64], weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """At most ``N_KNOTS`` distinct values and their normal scores; none where the values are almost all the same."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place, weight)
    counted = counts > const.MIN_SHARE_OF_KNOT * counts.sum()
    values, counts = values[counted], counts[counted]
    if len(values) < const.MIN_KNOTS:
        return np.empty(0), np.empty(0)
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()  # shares of rows below, with half of the ties
    wanted = ndtr(np.linspace(ndtri(middle[0]), ndtri(middle[-1]), const.N_KNOTS))
    chosen = np.unique(np.searchsorted(middle, wanted).clip(max=len(middle) - 1))
    return values[chosen], ndtri(middle[chosen])


def _features_of_variables(dataset: Dataset) -> list[NDArray[np.int64]]:
    if dataset.columns.is_plain:
        return [np.array([i]) for i in range(dataset.n_features)]
    column_of = dataset.columns.column_of
    return [np.flatnonzero(column_of == c) for c in np.unique(column_of)]


def _starts(lengths: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _center_and_scale(x: NDArray[np.float64], weight: NDArray[np.float64] | None) -> tuple[float, float]:
    """Mean and standard deviation without the influence of outliers."""
    low, high = np.quantile(x, const.CLIP_QUANTILES)
    margin = const.CLIP_MARGIN * (high - low)
    x = np.clip(x, low - margin, high + margin)
    center = np.average(x, weights=weight)
    scale = np.sqrt(np.average((x - center) ** 2, weights=weight))
    return float(center), float(scale) if scale > const.MIN_SCALE else 1.0


@njit(cache=True, nogil=True, _nrt=False)
def write_codes(arrays, values, acquired, codes):
    """As ``Variables.encode``, into ``codes``; ``arrays`` are ``Variables.arrays``."""
    for i in range(len(values)):
        for v in range(codes.shape[1]):
            codes[i, v] = code_of(arrays, values[i], acquired[i], v)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def code_of(arrays, values, acquired, v):
    """The code of variable v of one row, NaN where it is not known."""
    first_feature, feature, first_level, level, center, scale, first_knot, knot, score = arrays
    first, last = first_feature[v], first_feature[v + 1]
    for f in range(first, last):
        if not acquired[feature[f]] or np.isnan(values[feature[f]]):
            return np.nan
    x = float(values[feature[first]])
    if last - first > 1:
        for f in range(first, last):
            if values[feature[f]] > const.INDICATED:
                return float(f - first)
        return np.nan
    low, high = first_level[v], first_level[v + 1]
    if low == high and first_knot[v] < first_knot[v + 1]:
        return _interpolated(knot, score, first_knot[v], first_knot[v + 1] - 1, x)
    if low == high:
        return min(max((x - center[v]) / scale[v], -const.MAX_ABS_Z), const.MAX_ABS_Z)
    nearest = low
    while nearest + 1 < high and x > (level[nearest] + level[nearest + 1]) / 2:
        nearest += 1
    return float(nearest - low)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _interpolated(knot, score, low, high, x):
    """The score of x, linear between the knots ``low`` to ``high`` and constant beyond them."""
    if x <= knot[low]:
        return score[low]
    if x >= knot[high]:
        return score[high]
    while high - low > 1:
        middle = (low + high) // 2
        if knot[middle] <= x:
            low = middle
        else:
            high = middle
    return score[low] + (score[high] - score[low]) * ((x - knot[low]) / (knot[high] - knot[low]))
