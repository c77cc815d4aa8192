"""What each acquisition may reveal: a few points, and how probable each is in every component.

The points of a category are its levels, those of a number intervals that are equally probable over all components. A
group of several variables has cells of sampled rows that change the posterior alike. Each component has a distribution
over the points, so that the expected effect of an acquisition on any posterior is a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, softmax

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters
from agents.anystate.mixture.tuning import ClassMixture
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


def points_of(mixture: ClassMixture, groups: tuple[tuple[int, ...], ...], seed: int) -> Points:
    """The points of the acquisitions that reveal ``groups`` of features; the same seed gives the same points.

    The values are those that the densities expect, with the posterior of class and component that the tuned mixture
    has after each of them, so that a posterior is expected to change as it will.
    """
    tables = []
    variable_of = mixture.variables.variable_of
    for j, group in enumerate(groups):
        members = np.unique(variable_of[list(group)])
        if len(members) > 1:
            cell, table = _cells(mixture, members, np.random.default_rng([seed, j]))
        elif mixture.variables.n_levels[members[0]]:
            cell, table = _points_of_levels(mixture, members[0])
        else:
            cell, table = _intervals(mixture, members[0])
        cells = np.zeros((len(table), cell.max() + 1))
        np.add.at(cells.T, cell, table.T)
        tables.append(_with_sum_one(cells))
    return points_from_tables(tables)


def _tuned(mixture: ClassMixture, mass: NDArray[np.float64], evidence: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of places in each component from which the posterior of the tuned mixture follows.

    Parameters
    ----------
    mixture : ClassMixture
    mass : float64 (G, n), probabilities of n places in each component by the densities
    evidence : float64 (G, n), log densities there of the tuned mixture, without the power of the number of variables
    """
    power = (1.0 + const.USUAL_KNOWN) ** mixture.count_power
    posterior = softmax(power * evidence + mixture.densities.log_share[:, None], axis=0)
    share = np.exp(mixture.densities.log_share)[:, None]
    likelihood = posterior * (share * mass).sum(axis=0)
    return np.divide(likelihood, share, out=np.zeros_like(likelihood), where=share > 0)


def points_from_tables(tables: list[NDArray[np.float64]]) -> Points:
    """Points from distributions over the points of each acquisition, positive matrices (G, T) whose rows sum to 1."""
    mass = np.concatenate([t.ravel() for t in tables]).astype(np.float32)
    exact = [t.astype(np.float32).astype(np.float64) for t in tables]  # the same as from a file
    entropy = np.stack([-(t * np.log(t)).sum(axis=1) for t in exact])
    first = np.concatenate([[0], np.cumsum([t.size for t in tables])]).astype(np.int64)
    return Points(first, mass, entropy)


def _with_sum_one(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that sum to 1; of a component that is improbable everywhere, as with two rows of data, equal points."""
    total = table.sum(axis=1, keepdims=True)
    table = np.maximum(table / np.where(total > 0, total, 1.0), const.MIN_MASS)
    return table / table.sum(axis=1, keepdims=True)


def mean_and_sd(
    variables: Variables, densities: MixtureParameters, v: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of the z-score of variable v in each component, float64 (G,) each."""
    first = variables.first_column[v]
    variance = -0.5 / densities.theta[first + 1]
    return densities.theta[first] * variance, np.sqrt(variance)


def _points_of_levels(mixture: ClassMixture, v: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of the levels of a category, int64 (n,), and their probabilities, float64 (G, n)."""
    part = slice(*mixture.variables.first_column[v : v + 2])
    mass = np.exp(mixture.densities.theta[part]).T
    return np.arange(mass.shape[1]), _tuned(mixture, mass, mixture.theta[part].T)


def _intervals(mixture: ClassMixture, v: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The interval of each place of a fine grid, int64 (n,), and the probabilities of the places, float64 (G, n)."""
    grid = np.linspace(-const.MAX_ABS_Z, const.MAX_ABS_Z, const.N_GRID)
    mean, sd = mean_and_sd(mixture.variables, mixture.densities, v)
    below = ndtr((grid - mean[:, None]) / sd[:, None])
    below[:, 0], below[:, -1] = 0.0, 1.0  # values beyond the ends are clipped
    middle = (grid[1:] + grid[:-1]) / 2
    cuts = np.interp(np.arange(1, const.N_POINTS) / const.N_POINTS, below.mean(axis=0), grid)
    first = mixture.variables.first_column[v]
    design = np.stack([middle, middle**2, np.ones(len(middle))])
    evidence = mixture.theta[first : first + const.COLUMNS_OF_NUMBER].T @ design
    return np.searchsorted(cuts, middle), _tuned(mixture, np.diff(below, axis=1), evidence)


def _cells(
    mixture: ClassMixture, members: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The cell of each of n rows sampled from the components, int64 (n,), and their probabilities, float64 (G, n).

    The probabilities in a component are importance weights: the rows come from all components alike.
    """
    variables, densities = mixture.variables, mixture.densities
    n_components = len(mixture.class_of)
    component = np.repeat(np.arange(n_components), max(1, const.N_SAMPLED // n_components))
    codes = np.full((len(component), len(variables.center)), np.nan)
    for v in members:
        codes[:, v] = _draw_codes(variables, densities, v, component, rng)
    design = variables.design(codes)
    mass = softmax(design @ densities.theta, axis=1).T
    table = _tuned(mixture, mass / mass.sum(axis=1, keepdims=True), (design @ mixture.theta).T)
    likelihood = table / table.sum(axis=0)
    return _cluster(np.sqrt(likelihood.T), const.N_CELLS, rng), table


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
