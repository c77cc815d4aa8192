"""Mixtures of independent variables, one for each class, by expectation maximisation (Dempster, Laird, Rubin, 1977).

With the sufficient statistics of ``Variables.design`` a log density is linear, so that both steps are matrix products.
Rows with missing values need no imputation: their columns are 0, which marginalises the variable.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

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

    def without(self, absent: NDArray[np.bool_]) -> MixtureParameters:
        """The same components, those of the classes ``absent``, bool (n_classes,), with a probability of 0."""
        log_share = np.where(absent[self.class_of], const.LOG_SHARE_OF_ABSENT, self.log_share)
        return self._replace(log_share=log_share - logsumexp(log_share))

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


def fit_mixture(variables: Variables, data: TrainingDesign, k: int, seed: int) -> MixtureParameters:
    """Fit k components to the rows of each class; the same seed gives the same components.

    Notes
    -----
    Means are shrunk towards those of the class, variances and level shares towards those of all rows. Each class
    starts from the best of several starts after a few steps: components of all rows about the means of their classes,
    which have the rows of all classes to find contexts that the classes share, and random rows of the class.
    """
    every = _Rows(variables, data.design, data.weight)
    whole = every.moments(data.weight[None], None)
    prior = _Prior(whole, whole[0])
    common = _common_start(variables, data, k, prior, seed) if k > 1 else None
    thetas, shares = [], []
    total = max(data.weight.sum(), const.MIN_CLASS_ROWS)
    for c in range(data.n_classes):
        index = np.flatnonzero((data.y == c) & (data.weight > 0))
        rows = _Rows(variables, data.design[index], data.weight[index])
        if len(index):
            starts = [] if common is None else [common[index]]
            moments, share = _fit_class(rows, k, prior, starts, np.random.default_rng([seed, c]))
        else:
            moments, share = np.repeat(whole, k, axis=0), np.full(k, 1.0 / k)
        thetas.append(theta_of(variables, moments))
        shares.append(np.log(share) + np.log(max(rows.weight.sum(), const.MIN_CLASS_ROWS) / total))
    log_share = np.concatenate(shares)
    class_of = np.repeat(np.arange(data.n_classes), k)
    return MixtureParameters(np.concatenate(thetas).T.copy(), log_share - logsumexp(log_share), class_of)


class _Prior(NamedTuple):
    """Moments towards which components are shrunk: means (1, n_columns), and those of the whole, (n_columns,)."""

    means: NDArray[np.float64]
    whole: NDArray[np.float64]


class _Components(NamedTuple):
    """Components: mean log-likelihood, moments (k, n_columns), shares (k,), responsibilities (n, k)."""

    value: float
    moments: NDArray[np.float64]
    share: NDArray[np.float64]
    responsibility: NDArray[np.float64]


class _Rows(NamedTuple):
    """Rows to which components are fitted; ``design`` and ``weight`` as in ``TrainingDesign``."""

    variables: Variables
    design: NDArray[np.float64]
    weight: NDArray[np.float64]

    def best(self, starts: list[NDArray[np.float64]], prior: _Prior, steps: int) -> _Components:
        """The best of several starts after a few steps, after ``steps`` more."""
        states = [self.iterate(start, prior, const.START_STEPS) for start in starts]
        return self.iterate(max(states, key=lambda state: state.value).responsibility, prior, steps)

    def iterate(self, responsibility: NDArray[np.float64], prior: _Prior, steps: int) -> _Components:
        """Alternate both steps until the likelihood gains little."""
        before, total = -np.inf, self.weight.sum()
        for step in range(steps):
            weighted = (responsibility * self.weight[:, None]).T
            moments = self.moments(weighted, prior)
            share = weighted.sum(axis=1) + const.COMPONENT_ROWS
            share /= share.sum()
            log_joint = self.design @ theta_of(self.variables, moments).T + np.log(share)
            top = log_joint.max(axis=1, keepdims=True)
            responsibility = np.exp(log_joint - top)
            norm = responsibility.sum(axis=1, keepdims=True)
            responsibility /= norm
            value = float(self.weight @ (top + np.log(norm))[:, 0] / total)
            if value - before < const.TOLERANCE or step == steps - 1:
                return _Components(value, moments, share, responsibility)
            before = value
        raise ValueError(f"steps must be 1 or more, got {steps}")

    def moments(self, weighted: NDArray[np.float64], prior: _Prior | None) -> NDArray[np.float64]:
        """Means, variances and level shares of components with weighted rows (k, n), float64 (k, n_columns).

        The columns of a number are its mean, its variance and 1. ``prior`` None: no shrinkage.
        """
        variables, sums = self.variables, weighted @ self.design
        result = np.ones_like(sums)
        numbers = _columns_of_numbers(variables)
        n, first, second = sums[:, numbers + 2], sums[:, numbers], sums[:, numbers + 1]
        mean = 0.0 if prior is None else prior.means[:, numbers]
        variance = 1.0 if prior is None else prior.whole[numbers + 1]
        mean_rows, variance_rows = const.WHOLE_ROWS if prior is None else (const.MEAN_ROWS, const.VARIANCE_ROWS)
        m = (first + mean_rows * mean) / (n + mean_rows)
        squares = second - 2 * m * first + m * m * n + variance_rows * variance + mean_rows * (m - mean) ** 2
        result[:, numbers] = m
        result[:, numbers + 1] = np.maximum(squares / (n + variance_rows), const.MIN_VARIANCE)
        for v in np.flatnonzero(variables.n_levels):
            part = slice(*variables.first_column[v : v + 2])
            counts = sums[:, part] + (const.WHOLE_COUNT if prior is None else const.LEVEL_ROWS * prior.whole[part])
            result[:, part] = counts / counts.sum(axis=1, keepdims=True)
        return result

    def random_start(self, k: int, prior: _Prior, rng: np.random.Generator) -> NDArray[np.float64]:
        """Responsibilities (n, k) by the nearest of k rows, each drawn far from the others.

        As k-means++ (Arthur, Vassilvitskii, 2007), with the log density about a row in place of the distance.
        """
        log_density = np.empty((len(self.design), k))
        chance = self.weight / self.weight.sum()
        for j in range(k):
            row = rng.choice(len(chance), p=chance)
            about = _Rows(self.variables, self.design[row : row + 1], self.weight[row : row + 1])
            moments = about.moments(np.full((1, 1), const.START_ROWS), prior)
            log_density[:, j] = self.design @ theta_of(self.variables, moments)[0]
            near = log_density[:, : j + 1].max(axis=1)
            chance = self.weight * np.maximum(near.max() - near, const.MIN_DISTANCE)
            chance /= chance.sum()
        return softmax(log_density, axis=1)


def _fit_class(
    rows: _Rows, k: int, prior: _Prior, starts: list[NDArray[np.float64]], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Moments (k, n_columns) and shares (k,) of the components of one class."""
    own = rows.moments(rows.weight[None], prior)
    if k == 1:
        return own, np.ones(1)
    prior = _Prior(own, prior.whole)
    starts = starts + [rows.random_start(k, prior, rng) for _ in range(const.N_STARTS)]
    found = rows.best(starts, prior, const.MOST_STEPS)
    return found.moments, found.share


def _common_start(variables: Variables, data: TrainingDesign, k: int, prior: _Prior, seed: int) -> NDArray[np.float64]:
    """Responsibilities (n, k) in a mixture of the rows of all classes about the means of their classes."""
    design, numbers = data.design.copy(), _columns_of_numbers(variables)
    for c in np.unique(data.y):
        index = np.flatnonzero(data.y == c)
        mean = _Rows(variables, design[index], data.weight[index]).moments(data.weight[None, index], prior)[0, numbers]
        z = (design[np.ix_(index, numbers)] - mean) * design[np.ix_(index, numbers + 2)]
        design[np.ix_(index, numbers)], design[np.ix_(index, numbers + 1)] = z, z * z
    rows, rng = _Rows(variables, design, data.weight), np.random.default_rng([seed, data.n_classes])
    prior = _Prior(rows.moments(data.weight[None], prior), prior.whole)
    starts = [rows.random_start(k, prior, rng) for _ in range(const.N_STARTS)]
    return rows.best(starts, prior, const.COMMON_STEPS).responsibility


def _columns_of_numbers(variables: Variables) -> NDArray[np.int64]:
    return variables.first_column[:-1][variables.n_levels == 0]


def theta_of(variables: Variables, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the log density of ``Variables.design``, from moments, float64 (k, n_columns) both."""
    theta = np.empty_like(moments)
    numbers = _columns_of_numbers(variables)
    m, variance = moments[:, numbers], moments[:, numbers + 1]
    theta[:, numbers], theta[:, numbers + 1] = m / variance, -0.5 / variance
    theta[:, numbers + 2] = -0.5 * (m * m / variance + np.log(2 * np.pi * variance))
    levels = np.ones(moments.shape[1], bool)
    levels[numbers] = levels[numbers + 1] = levels[numbers + 2] = False
    theta[:, levels] = np.log(moments[:, levels])
    return theta
