"""Mixtures of independent variables, one for each class, by expectation maximisation (Dempster, Laird, Rubin, 1977).

With the sufficient statistics of ``Variables.design`` a log density is linear, so that both steps are matrix products.
Rows with missing values need no imputation: their columns are 0, which marginalises the variable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.variables import Variables
from fsgym.support.arrays import read_only
from fsgym.support.vector_exp import BLOCK, write_exponentials


class MixtureParameters(NamedTuple):
    """The components of all classes, those of class 0 first."""

    # (n_columns, G), coefficients of ``Variables.design``: the log density of a row in component g is ``design @
    # theta[:, g]``
    theta: NDArray[np.float64]
    log_share: NDArray[np.float64]  # (G,), logarithm of the probability of class and component before anything is known
    class_of: NDArray[np.int64]  # (G,), ascending

    def without(self, absent: NDArray[np.bool_]) -> MixtureParameters:
        """The same components, those of the classes ``absent``, bool (n_classes,), with a probability of 0."""
        log_share = np.where(absent[self.class_of], const.LOG_SHARE_OF_ABSENT, self.log_share)
        return self._replace(log_share=log_share - logsumexp(log_share))


class TrainingDesign(NamedTuple):
    """Rows as ``fit_mixture`` needs them."""

    design: NDArray[np.float64]  # (n, n_columns), see ``Variables.design``
    y: NDArray[np.int64]  # (n,)
    weight: NDArray[np.float64]  # (n,), positive or 0
    n_classes: int
    # (n, V), where a row has no value and that is evidence; it does not count as one whose value is not known
    lacking: NDArray[np.bool_] | None = None

    def rows(self, index: NDArray) -> TrainingDesign:
        lacking = None if self.lacking is None else self.lacking[index]
        return TrainingDesign(self.design[index], self.y[index], self.weight[index], self.n_classes, lacking)

    def select(self, variables: NDArray[np.int64], columns: NDArray[np.int64]) -> TrainingDesign:
        """Of all rows some variables, of which the design has these columns."""
        lacking = None if self.lacking is None else self.lacking[:, variables]
        return self._replace(design=np.ascontiguousarray(self.design[:, columns]), lacking=lacking)

    def with_known(self, known: NDArray[np.bool_]) -> tuple[TrainingDesign, NDArray[np.bool_]]:
        """The rows with random subsets ``known``, bool (n, V), without rows that lack one of their variables.

        If only those subsets counted in which such a value is not asked for, it would still be evidence that a value
        is not known: rows that lack it would be in more of these states.
        """
        if self.lacking is None:
            return self, known
        rows = np.flatnonzero(~(known & self.lacking).any(axis=1))
        return self.rows(rows), known[rows]


def fit_mixture(variables: Variables, data: TrainingDesign, k: int, seed: int) -> MixtureParameters:
    """Fit k components to the rows of each class; the same seed gives the same components.

    Notes
    -----
    Means are shrunk towards those of the class, variances and level shares towards those of all rows. Each class
    starts from the best of several starts after a few steps: components of all rows about the means of their classes,
    which have the rows of all classes to find contexts that the classes share, and random rows of the class.
    """
    every = _Rows(variables, data.design, data.weight)
    whole = every.fitted(data.weight[None], _no_prior(variables))
    prior = _Prior(whole.moments[0], whole.moments[0], (const.MEAN_ROWS, const.VARIANCE_ROWS, const.LEVEL_ROWS))
    common = _common_start(variables, data, k, prior, seed) if k > 1 else None
    thetas, shares = [], []
    total = max(data.weight.sum(), const.MIN_CLASS_ROWS)
    for c in range(data.n_classes):
        index = np.flatnonzero((data.y == c) & (data.weight > 0))
        rows = _Rows(variables, data.design[index], data.weight[index])
        if len(index):
            starts = [] if common is None else [common[:, index]]
            theta, share = _fit_class(rows, k, prior, starts, np.random.default_rng([seed, c]))
        else:
            theta, share = np.repeat(whole.theta, k, axis=0), np.full(k, 1.0 / k)
        thetas.append(theta)
        shares.append(np.log(share) + np.log(max(rows.weight.sum(), const.MIN_CLASS_ROWS) / total))
    log_share = np.concatenate(shares)
    class_of = np.repeat(np.arange(data.n_classes), k)
    return MixtureParameters(np.concatenate(thetas).T.copy(), log_share - logsumexp(log_share), class_of)


class _Prior(NamedTuple):
    """Moments towards which components are shrunk."""

    # (n_columns,), the means of numbers; the variances and level shares
    means: NDArray[np.float64]
    whole: NDArray[np.float64]
    rows: tuple[float, float, float]  # three floats, rows that the means, variances and level shares count as


def _no_prior(variables: Variables) -> _Prior:
    """Next to no shrinkage, against divisions by 0."""
    n_columns = variables.first_column[-1]
    return _Prior(np.zeros(n_columns), np.ones(n_columns), (*const.WHOLE_ROWS, const.WHOLE_COUNT))


class _Components(NamedTuple):
    """Components: moments and coefficients (k, n_columns) each, shares (k,)."""

    moments: NDArray[np.float64]
    theta: NDArray[np.float64]
    share: NDArray[np.float64]


class _State(NamedTuple):
    """Components, their responsibilities (k, n) and mean log-likelihood."""

    components: _Components
    responsibility: NDArray[np.float64]
    value: float


class _Rows(NamedTuple):
    """Rows to which components are fitted; ``design`` and ``weight`` as in ``TrainingDesign``."""

    variables: Variables
    design: NDArray[np.float64]
    weight: NDArray[np.float64]

    def best(self, starts: list[NDArray[np.float64]], prior: _Prior, steps: int) -> _State:
        """The best of several starts after a few steps, after ``steps`` more."""
        states = [self.iterate(start, prior, const.START_STEPS) for start in starts]
        return self.iterate(max(states, key=lambda state: state.value).responsibility, prior, steps)

    def iterate(self, responsibility: NDArray[np.float64], prior: _Prior, steps: int) -> _State:
        """Alternate both steps, at least once, until the likelihood gains little."""
        before, total, weight = -np.inf, self.weight.sum(), read_only(self.weight)
        weighted = np.ascontiguousarray(responsibility * weight)
        result, buffers = np.empty(weighted.shape), np.empty((2, BLOCK))
        for step in range(steps):
            components = self.fitted(weighted, prior)
            np.matmul(components.theta, self.design.T, out=result)
            value = _assign(result, np.log(components.share), weight, weighted, *buffers) / total
            if value - before < const.TOLERANCE or step == steps - 1:
                break
            before = value
        return _State(components, result, value)

    def fitted(self, weighted: NDArray[np.float64], prior: _Prior) -> _Components:
        """Components of rows with the weights (k, n)."""
        sums, variables = weighted @ self.design, self.variables
        found = _Components(np.empty_like(sums), np.empty_like(sums), weighted.sum(axis=1) + const.COMPONENT_ROWS)
        found.share[:] /= found.share.sum()
        _write_components(sums, *prior, variables.first_column, variables.n_levels, found.moments, found.theta)
        return found

    def random_start(self, k: int, prior: _Prior, rng: np.random.Generator) -> NDArray[np.float64]:
        """Responsibilities (k, n) by the nearest of k rows, each drawn far from the others.

        As k-means++ (Arthur, Vassilvitskii, 2007), with the log density about a row in place of the distance.
        """
        log_density, near = np.empty((k, len(self.design))), np.full(len(self.design), -np.inf)
        chance, variables = self.weight, self.variables
        moments, theta = np.empty((2, 1, self.design.shape[1]))
        for j in range(k):
            below = chance.cumsum()
            row = (below / below[-1]).searchsorted(rng.random(), side="right")
            sums = const.START_ROWS * self.design[row : row + 1]
            _write_components(sums, *prior, variables.first_column, variables.n_levels, moments, theta)
            log_density[j] = self.design @ theta[0]
            np.maximum(near, log_density[j], out=near)
            chance = self.weight * np.maximum(near.max() - near, const.MIN_DISTANCE)
        return softmax(log_density, axis=0)


def _fit_class(
    rows: _Rows, k: int, prior: _Prior, starts: list[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients (k, n_columns) and shares (k,) of the components of one class."""
    own = rows.fitted(rows.weight[None], prior)
    if k == 1:
        return own.theta, np.ones(1)
    prior = prior._replace(means=own.moments[0])
    starts = starts + [rows.random_start(k, prior, rng) for _ in range(const.N_STARTS)]
    found = rows.best(starts, prior, const.MAX_STEPS).components
    return found.theta, found.share


def _common_start(variables: Variables, data: TrainingDesign, k: int, prior: _Prior, seed: int) -> NDArray[np.float64]:
    """Responsibilities (k, n) in a mixture of the rows of all classes about the means of their classes."""
    design, numbers = data.design.copy(), variables.first_column[:-1][variables.n_levels == 0]
    for c in np.unique(data.y):
        index = np.flatnonzero(data.y == c)
        rows = _Rows(variables, design[index], data.weight[index])
        mean = rows.fitted(rows.weight[None], prior).moments[0, numbers]
        z = (rows.design[:, numbers] - mean) * rows.design[:, numbers + 2]
        design[np.ix_(index, numbers)], design[np.ix_(index, numbers + 1)] = z, z * z
    rows, rng = _Rows(variables, design, data.weight), np.random.default_rng([seed, data.n_classes])
    prior = prior._replace(means=rows.fitted(data.weight[None], prior).moments[0])
    starts = [rows.random_start(k, prior, rng) for _ in range(const.N_STARTS)]
    return rows.best(starts, prior, const.COMMON_STEPS).responsibility


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _write_components(sums, means, whole, rows, first_column, n_levels, moments, theta):
    """Write means, variances and level shares of components, and the coefficients of their log densities.

    ``sums`` (k, n_columns) are those of the weighted ``Variables.design``. The moments of a number are its mean, its
    variance and 1; for the other arguments see ``_Prior``.
    """
    mean_rows, variance_rows, level_rows = rows
    for j in range(len(sums)):
        for v in range(len(n_levels)):
            c, end = first_column[v], first_column[v + 1]
            if n_levels[v] == 0:
                first, second, n = sums[j, c], sums[j, c + 1], sums[j, c + 2]
                m = (first + mean_rows * means[c]) / (n + mean_rows)
                squares = second - 2 * m * first + m * m * n
                squares += variance_rows * whole[c + 1] + mean_rows * (m - means[c]) ** 2
                variance = max(squares / (n + variance_rows), const.MIN_VARIANCE)
                moments[j, c], moments[j, c + 1], moments[j, c + 2] = m, variance, 1.0
                theta[j, c], theta[j, c + 1] = m / variance, -0.5 / variance
                theta[j, c + 2] = -0.5 * (m * m / variance + np.log(2 * np.pi * variance))
                continue
            total = 0.0
            for e in range(c, end):
                moments[j, e] = sums[j, e] + level_rows * whole[e]
                total += moments[j, e]
            for e in range(c, end):
                moments[j, e] /= total
                theta[j, e] = np.log(moments[j, e])


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _assign(log_joint, log_share, weight, weighted, top, total):
    """Turn log densities (k, n) into responsibilities; write them times the weights; return the log-likelihood."""
    (k, n), value = log_joint.shape, 0.0
    for begin in range(0, n, BLOCK):
        size = min(BLOCK, n - begin)
        w = weight[begin : begin + size]
        for j in range(k):
            row = log_joint[j, begin : begin + size]
            for i in range(size):
                row[i] += log_share[j]
        write_exponentials(log_joint, begin, size, top, total)
        for j in range(k):
            row, out = log_joint[j, begin : begin + size], weighted[j, begin : begin + size]
            for i in range(size):
                row[i] /= total[i]
                out[i] = row[i] * w[i]
        for i in range(size):
            value += w[i] * (top[i] + np.log(total[i]))
    return value
