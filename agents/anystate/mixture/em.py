"""Mixtures of independent variables, one for each class, by expectation maximisation (Dempster, Laird, Rubin, 1977).

With the sufficient statistics of ``Variables.design`` a log density is linear, so that both steps are matrix products.
Rows with missing values need no imputation: their columns are 0, which marginalises the variable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.variables import Variables


class MixtureParameters(NamedTuple):
    """The components of all classes, those of class 0 first.

    Attributes
    ----------
    theta : float64 (n_columns, G)
        Coefficients of ``Variables.design``: the log density of a row in component g is ``design @ theta[:, g]``.
    log_share : float64 (G,), logarithm of the probability of class and component before anything is known
    class_of : int64 (G,), ascending
    """

    theta: NDArray[np.float64]
    log_share: NDArray[np.float64]
    class_of: NDArray[np.int64]

    def log_joint(self, design: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log densities of rows jointly with class and component, float64 (n, G)."""
        return design @ self.theta + self.log_share


class TrainingDesign(NamedTuple):
    """Rows as ``fit_mixture`` needs them.

    Attributes
    ----------
    design : float64 (n, n_columns), see ``Variables.design``
    y : int64 (n,)
    weight : float64 (n,), positive or 0
    n_classes : int
    """

    design: NDArray[np.float64]
    y: NDArray[np.int64]
    weight: NDArray[np.float64]
    n_classes: int

    def rows(self, index: NDArray) -> TrainingDesign:
        return TrainingDesign(self.design[index], self.y[index], self.weight[index], self.n_classes)


def fit_mixture(variables: Variables, data: TrainingDesign, k: int, seed: int, steps: int = const.MOST_STEPS):
    """Fit k components to the rows of each class; the same seed gives the same components.

    Returns
    -------
    MixtureParameters

    Notes
    -----
    Means are shrunk towards those of the class, variances and level shares towards those of all rows. Each class
    starts from the best of several starts after a few steps: components of all rows about the means of their classes,
    which have the rows of all classes to find contexts that the classes share, and random rows of the class.
    """
    whole = _moments(variables, data.design, data.weight[None], None)[0]
    prior = _Prior(whole[None], whole)
    common = _common_start(variables, data, k, prior, seed) if k > 1 else None
    thetas, shares = [], []
    total = data.weight.sum()
    for c in range(data.n_classes):
        rows = np.flatnonzero((data.y == c) & (data.weight > 0))
        design, weight = data.design[rows], data.weight[rows]
        rng = np.random.default_rng([seed, c])
        if len(rows) == 0:
            moments, share = np.repeat(whole[None], k, axis=0), np.full(k, 1.0 / k)
        else:
            starts = [] if common is None else [common[rows]]
            moments, share = _fit_class(variables, design, weight, k, prior, starts, rng, steps)
        thetas.append(theta_of(variables, moments))
        class_share = max(weight.sum(), const.MIN_CLASS_ROWS) / max(total, const.MIN_CLASS_ROWS)
        shares.append(np.log(share) + np.log(class_share))
    log_share = np.concatenate(shares)
    class_of = np.repeat(np.arange(data.n_classes), k)
    return MixtureParameters(np.concatenate(thetas).T.copy(), log_share - logsumexp(log_share), class_of)


class _Prior(NamedTuple):
    """Moments towards which components are shrunk: means (1 or k, n_columns), and the whole's, (n_columns,)."""

    means: NDArray[np.float64]
    whole: NDArray[np.float64]


def _fit_class(variables, design, weight, k, prior, starts, rng, steps):
    """Moments (k, n_columns) and shares (k,) of the components of one class."""
    own = _moments(variables, design, weight[None], prior)
    if k == 1:
        return own, np.ones(1)
    prior = _Prior(own, prior.whole)
    starts = starts + [_random_start(variables, design, weight, k, prior, rng) for _ in range(const.N_STARTS)]
    best = None
    for responsibility in starts:
        found = _iterate(variables, design, weight, responsibility, prior, min(const.START_STEPS, steps))
        if best is None or found[0] > best[0]:
            best = found
    _, moments, share = _iterate(variables, design, weight, best[3], prior, steps)[:3]
    return moments, share


def _iterate(variables, design, weight, responsibility, prior, steps):
    """Alternate both steps from responsibilities (n, k): mean log-likelihood, moments, shares, responsibilities."""
    before, total = -np.inf, weight.sum()
    for _ in range(steps):
        weighted = (responsibility * weight[:, None]).T
        moments = _moments(variables, design, weighted, prior)
        share = weighted.sum(axis=1) + const.COMPONENT_ROWS
        share /= share.sum()
        log_joint = design @ theta_of(variables, moments).T + np.log(share)
        top = log_joint.max(axis=1, keepdims=True)
        responsibility = np.exp(log_joint - top)
        norm = responsibility.sum(axis=1, keepdims=True)
        responsibility /= norm
        value = weight @ (top + np.log(norm))[:, 0] / total
        if value - before < const.TOLERANCE:
            break
        before = value
    return value, moments, share, responsibility


def _moments(variables, design, weighted, prior):
    """Means, variances and level shares of components with weighted rows (k, n), float64 (k, n_columns).

    The columns of a number are its mean, its variance and 1. ``prior`` None: no shrinkage.
    """
    sums = weighted @ design
    result = np.empty_like(sums)
    numbers = variables.first_column[:-1][variables.n_levels == 0]
    n = sums[:, numbers + 2]
    if prior is None:
        mean, variance, mean_rows, variance_rows = 0.0, 1.0, 1e-9, 1e-9
    else:
        mean, variance = prior.means[:, numbers], prior.whole[numbers + 1]
        mean_rows, variance_rows = const.MEAN_ROWS, const.VARIANCE_ROWS
    m = (sums[:, numbers] + mean_rows * mean) / (n + mean_rows)
    squares = sums[:, numbers + 1] - 2 * m * sums[:, numbers] + m * m * n
    spread = (squares + variance_rows * variance + mean_rows * (m - mean) ** 2) / (n + variance_rows)
    result[:, numbers], result[:, numbers + 1], result[:, numbers + 2] = m, np.maximum(spread, const.MIN_VARIANCE), 1.0
    for v in np.flatnonzero(variables.n_levels):
        part = slice(variables.first_column[v], variables.first_column[v + 1])
        if prior is None:
            counts = sums[:, part] + 0.5
        else:
            counts = sums[:, part] + const.LEVEL_ROWS * prior.whole[part]
        result[:, part] = counts / counts.sum(axis=1, keepdims=True)
    return result


def theta_of(variables: Variables, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the log density of ``Variables.design``, from moments, float64 (k, n_columns) both."""
    theta = np.empty_like(moments)
    numbers = variables.first_column[:-1][variables.n_levels == 0]
    m, variance = moments[:, numbers], moments[:, numbers + 1]
    theta[:, numbers], theta[:, numbers + 1] = m / variance, -0.5 / variance
    theta[:, numbers + 2] = -0.5 * (m * m / variance + np.log(2 * np.pi * variance))
    levels = np.ones(moments.shape[1], bool)
    levels[numbers] = levels[numbers + 1] = levels[numbers + 2] = False
    theta[:, levels] = np.log(moments[:, levels])
    return theta


def _random_start(variables, design, weight, k, prior, rng):
    """Responsibilities (n, k) by the nearest of k rows, each drawn far from those before (Arthur, Vassilvitskii, 2007).

    Nearness is the log density about the row, with the variances of the whole.
    """
    n = len(design)
    log_density = np.empty((n, k))
    chance = weight / weight.sum()
    for j in range(k):
        row = rng.choice(n, p=chance)
        moments = _moments(variables, design[row : row + 1], np.full((1, 1), const.START_ROWS), prior)
        log_density[:, j] = design @ theta_of(variables, moments)[0]
        far = log_density[:, : j + 1].max(axis=1)
        far = weight * np.maximum(far.max() - far, 1e-12)
        chance = far / far.sum()
    top = log_density.max(axis=1, keepdims=True)
    responsibility = np.exp(log_density - top)
    return responsibility / responsibility.sum(axis=1, keepdims=True)


def _common_start(variables, data, k, prior, seed):
    """Responsibilities (n, k) in a mixture of the rows of all classes about the means of their classes."""
    design = data.design.copy()
    numbers = variables.first_column[:-1][variables.n_levels == 0]
    for c in range(data.n_classes):
        rows = np.flatnonzero(data.y == c)
        if len(rows) == 0:
            continue
        mean = _moments(variables, design[rows], data.weight[None, rows], prior)[0, numbers]
        known = design[np.ix_(rows, numbers + 2)]
        z = (design[np.ix_(rows, numbers)] - mean) * known
        design[np.ix_(rows, numbers)], design[np.ix_(rows, numbers + 1)] = z, z * z
    rng = np.random.default_rng([seed, data.n_classes])
    own = _moments(variables, design, data.weight[None], prior)
    prior = _Prior(own, prior.whole)
    best = None
    for _ in range(const.N_STARTS):
        start = _random_start(variables, design, data.weight, k, prior, rng)
        found = _iterate(variables, design, data.weight, start, prior, const.START_STEPS)
        if best is None or found[0] > best[0]:
            best = found
    return _iterate(variables, design, data.weight, best[3], prior, const.COMMON_STEPS)[3]
