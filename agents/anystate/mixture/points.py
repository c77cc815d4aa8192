"""What each acquisition may reveal: a few points, and how probable each is in every component.

The points of a category are its levels, those of a number intervals that are equally probable over all components. A
group of several variables has cells of sampled rows that change the posterior alike. Each component has a distribution
over the points, so that the expected effect of an acquisition on any posterior is a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters
from agents.anystate.mixture.variables import Variables


@dataclass(frozen=True, eq=False)
class Points:
    """Distributions over the points of each of J acquisitions.

    Attributes
    ----------
    first : int64 (J + 1,), where the table of each acquisition begins in ``mass``
    mass : float32 (n,)
        The table of an acquisition with T points is a matrix (G, T): the probability of each point in each component.
    entropy : float64 (J, G), of the distributions, in nats
    """

    first: NDArray[np.int64]
    mass: NDArray[np.float32]
    entropy: NDArray[np.float64]

    def table(self, j: int) -> NDArray[np.float64]:
        """The probabilities of the points of acquisition j, float64 (G, T)."""
        return self.mass[self.first[j] : self.first[j + 1]].reshape(self.entropy.shape[1], -1)


def points_of(
    variables: Variables, densities: MixtureParameters, groups: tuple[tuple[int, ...], ...], seed: int
) -> Points:
    """The points of the acquisitions that reveal ``groups`` of features; the same seed gives the same points."""
    tables = []
    variable_of = variables.variable_of
    for j, group in enumerate(groups):
        members = np.unique(variable_of[list(group)])
        if len(members) > 1:
            tables.append(_cells(variables, densities, members, np.random.default_rng([seed, j])))
        elif variables.n_levels[members[0]]:
            part = slice(*variables.first_column[members[0] : members[0] + 2])
            tables.append(np.exp(densities.theta[part]).T)
        else:
            tables.append(_intervals(*mean_and_sd(variables, densities, members[0])))
    return points_from_tables([_normalised(t) for t in tables])


def points_from_tables(tables: list[NDArray[np.float64]]) -> Points:
    """Points from distributions over the points of each acquisition, positive matrices (G, T) whose rows sum to 1."""
    tables = [t.astype(np.float32) for t in tables]
    entropy = np.stack([-(t * np.log(t, dtype=np.float64)).sum(axis=1) for t in tables])
    first = np.concatenate([[0], np.cumsum([t.size for t in tables])]).astype(np.int64)
    return Points(first, np.concatenate([t.ravel() for t in tables]), entropy)


def _normalised(table: NDArray[np.float64]) -> NDArray[np.float64]:
    table = np.maximum(table / table.sum(axis=1, keepdims=True), const.MIN_MASS)
    return table / table.sum(axis=1, keepdims=True)


def mean_and_sd(
    variables: Variables, densities: MixtureParameters, v: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the z-score of variable v in each component, float64 (G,) each."""
    first = variables.first_column[v]
    variance = -0.5 / densities.theta[first + 1]
    return densities.theta[first] * variance, np.sqrt(variance)


def _intervals(mean: NDArray[np.float64], sd: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of intervals, float64 (G, T)."""
    grid = np.linspace(-const.MAX_ABS_Z, const.MAX_ABS_Z, const.N_GRID)
    below = ndtr((grid - mean[:, None]) / sd[:, None])
    levels = np.arange(1, const.N_POINTS) / const.N_POINTS
    cuts = np.interp(levels, below.mean(axis=0), grid)
    below = ndtr((cuts - mean[:, None]) / sd[:, None])
    edges = np.zeros((len(mean), 1))
    return np.diff(np.hstack([edges, below, edges + 1]), axis=1)


def _cells(
    variables: Variables, densities: MixtureParameters, members: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Probabilities of cells of rows sampled from the components, by importance weights, float64 (G, T)."""
    n_components = densities.theta.shape[1]
    repeats = max(1, const.N_SAMPLED // n_components)
    component = np.repeat(np.arange(n_components), repeats)
    codes = np.full((len(component), len(variables.center)), np.nan)
    for v in members:
        codes[:, v] = _draw_codes(variables, densities, v, component, rng)
    log_density = variables.design(codes) @ densities.theta
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    posterior = density / density.sum(axis=1, keepdims=True)
    cell = _cluster(np.sqrt(posterior), const.N_CELLS, rng)
    table = np.zeros((n_components, cell.max() + 1))
    np.add.at(table.T, cell, posterior)
    return table + const.MIN_MASS


def _draw_codes(
    variables: Variables,
    densities: MixtureParameters,
    v: int,
    component: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Codes of variable v drawn in given components, float64 (n,)."""
    if variables.n_levels[v] == 0:
        mean, sd = mean_and_sd(variables, densities, v)
        z = mean[component] + sd[component] * rng.standard_normal(len(component))
        return np.clip(z, -const.MAX_ABS_Z, const.MAX_ABS_Z)
    share = np.exp(densities.theta[slice(*variables.first_column[v : v + 2])])
    below = np.cumsum(share, axis=0)[:, component]
    return (rng.random(len(component)) * below[-1] > below[:-1]).sum(axis=0).astype(np.float64)


def _cluster(x: NDArray[np.float64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The cluster of each row of x, int64 (n,): a few steps of k-means from rows far from each other."""
    distance = np.full(len(x), np.inf)
    centers = []
    for _ in range(most):
        far = distance if centers else np.ones(len(x))
        if far.max() < const.NEAR:
            break
        centers.append(x[rng.choice(len(x), p=far / far.sum())])
        distance = np.minimum(distance, ((x - centers[-1]) ** 2).sum(axis=1))
    means = np.array(centers)
    for _ in range(const.CLUSTER_STEPS):
        nearest = ((means**2).sum(axis=1) - 2 * x @ means.T).argmin(axis=1)
        count = np.bincount(nearest, minlength=len(means))
        sums = np.zeros_like(means)
        np.add.at(sums, nearest, x)
        means = np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], means)
    return np.unique(nearest, return_inverse=True)[1]
