"""The mixture as a model of states: exact class probabilities, and acquisitions ranked by expected information."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, softmax

from agents.anystate.follow import CompiledStateModel, StateKernels
from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters
from agents.anystate.mixture.fitting import FittedMixtures
from agents.anystate.mixture.kernels import (
    CompiledMixture,
    state_buffers,
    write_estimates,
)
from agents.anystate.mixture.tuning import ClassMixture
from agents.anystate.mixture.variables import Variables
from agents.parts import lengths_of_parts
from agents.policy import error_unit
from fsgym.rules import Rules
from fsgym.text.messages import brief

# Of the expected error cost, and of the entropies of class, and of class and component: in files and policies of 0.2.0.
WEIGHTS = 1.0, 0.0, const.COMPONENT_WEIGHT

# What each acquisition may reveal: a few points, and how probable each is in every component.
#
# The points of a category are its levels, those of a number intervals that are equally probable over all components.
# A group of several variables has cells of sampled rows that change the posterior alike. Each component has a
# distribution over the points, so that the expected effect of an acquisition on any posterior is a sum.


@dataclass(frozen=True, eq=False)
class Points:
    """Distributions over the points of each of J acquisitions."""

    first: NDArray[np.int64]  # (J + 1,), where the table of each acquisition begins in ``mass``
    # (n,), the table of an acquisition with T points is a matrix (G, T): the probability of each point in each
    # component
    mass: NDArray[np.float32]
    entropy: NDArray[np.float64]  # (J, G), of the distributions, in nats


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
    variables, densities, columns = mixture.variables, mixture.densities, mixture.variables.columns_of(members)
    n_components = len(mixture.class_of)
    component = np.repeat(np.arange(n_components), max(1, const.N_SAMPLED // n_components))
    codes = np.stack([_draw_codes(variables, densities, v, component, rng) for v in members], axis=1)
    design = variables.design(codes, members)
    mass = softmax(design @ densities.theta[columns], axis=1).T
    table = _tuned(mixture, mass / mass.sum(axis=1, keepdims=True), (design @ mixture.theta[columns]).T)
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
        sums = (nearest == np.arange(len(means))[:, None]).astype(np.float64) @ x
        means = np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], means)
    return np.unique(nearest, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class MixtureModel(CompiledStateModel):
    """A class-conditional mixture that ranks acquisitions by what they are expected to tell about the class.

    The preference of an acquisition is the expected reduction of the expected error cost, plus ``COMPONENT_WEIGHT``
    times that of the entropy of class and component, divided by its price. A component is often what a context selects:
    its entropy makes a context worth acquiring that says nothing about the class. Costs and prices are divided by
    ``unit``, so that another currency changes nothing.
    """

    mixture: ClassMixture
    points: Points  # of the groups of the rules
    rules: Rules
    weights: InitVar[Any] = WEIGHTS  # which has no other value
    unit: float | None = None
    n_inputs: ClassVar[int] = const.N_INPUTS
    kernels: ClassVar[StateKernels] = StateKernels(state_buffers, write_estimates)

    def __post_init__(self, weights: Any) -> None:
        if tuple(weights) != WEIGHTS:
            raise ValueError(f"weights must be {WEIGHTS}, got {brief(weights)}")

    @cached_property
    def _compiled(self) -> CompiledMixture:
        mixture = self.mixture
        return CompiledMixture(
            mixture.variables.arrays,
            mixture.variables.first_column,
            np.ascontiguousarray(mixture.theta),
            mixture.densities.log_share,
            mixture.class_of,
            float(mixture.count_power),
            self.points.first,
            self.points.mass,
            self.points.entropy,
            np.array(self.costs, order="C"),  # can be written, as in a copy of the model
            _unit_cost(self.costs),
            1.0 if self.unit is None else self.unit,
        )

    def to_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        mixture = self.mixture
        arrays = mixture.variables.to_arrays() | {
            "densities": mixture.densities.theta,
            "class_of": mixture.class_of,
            "theta": mixture.theta,
            "log_share": mixture.densities.log_share,
            "first_point": self.points.first,
            "mass": self.points.mass,
        }
        header = {"count_power": float(mixture.count_power), "weights": list(WEIGHTS)}
        return arrays, header | self.unit_header

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray], header: Mapping[str, Any], rules: Rules) -> MixtureModel:
        variables = Variables.from_arrays(arrays, rules.n_features)
        class_of = _checked(arrays, "class_of", np.int64, (-1,))
        n = len(class_of)
        if (np.diff(class_of) < 0).any() or not np.array_equal(np.unique(class_of), np.arange(rules.n_classes)):
            raise ValueError("class_of must ascend and name each class")
        shape = int(variables.first_column[-1]), n
        densities = MixtureParameters(
            _checked(arrays, "densities", np.float64, shape),
            _checked(arrays, "log_share", np.float64, (n,)),
            class_of,
        )
        numbers = variables.first_column[:-1][variables.n_levels == 0]
        if not (densities.theta[numbers + 1] < 0).all():
            raise ValueError("the variances of densities must be positive")
        mixture = ClassMixture(
            variables,
            densities,
            _checked(arrays, "theta", np.float64, shape),
            _finite(header["count_power"], -const.MAX_COUNT_POWER, const.MAX_COUNT_POWER),
        )
        points = _checked_points(arrays, rules.n_acquisitions, n)
        return cls(mixture, points, rules, header["weights"], cls.unit_from(header))


def _unit_cost(answer_costs: NDArray[np.float64]) -> float:
    """The cost of each error where all cost the same, correct answers nothing and no case is referred; otherwise 0."""
    unit = float(answer_costs.max())
    return unit if np.array_equal(answer_costs, unit * (1.0 - np.eye(len(answer_costs)))) else 0.0


def _checked(arrays: Mapping[str, NDArray], name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray:
    """An array of a file; ValueError unless it has this dtype and shape, of which -1 is any, and bounded numbers."""
    array = arrays[name]
    if array.dtype != dtype or array.ndim != len(shape) or any(m not in (-1, k) for m, k in zip(shape, array.shape)):
        raise ValueError(f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} {array.shape}")
    if not (np.abs(array) <= const.MAX_COEFFICIENT).all():
        raise ValueError(f"{name} must be finite and at most {const.MAX_COEFFICIENT:g}")
    return np.ascontiguousarray(array)


def _checked_points(arrays: Mapping[str, NDArray], n_acquisitions: int, n_components: int) -> Points:
    first = _checked(arrays, "first_point", np.int64, (n_acquisitions + 1,))
    mass = _checked(arrays, "mass", np.float32, (-1,))
    sizes = lengths_of_parts(first, n_acquisitions, len(mass), "points")
    if (sizes < n_components).any() or (sizes % n_components).any():
        raise ValueError("first_point must begin a matrix of each acquisition")
    if not ((mass > 0) & (mass <= 1)).all():
        raise ValueError("mass must be positive and at most 1")
    tables = [mass[a:b].reshape(n_components, -1).astype(np.float64) for a, b in pairwise(first)]
    if not all(np.allclose(t.sum(axis=1), 1.0, atol=const.MASS_TOLERANCE) for t in tables):
        raise ValueError("the mass of the points must sum to 1 in each component")
    return points_from_tables(tables)


def _finite(value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ValueError(f"must be a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def model_of(fitted: FittedMixtures, rules: Rules) -> tuple[list[MixtureModel], MixtureModel]:
    """The models of the folds and the final one under some rules; the points are shared by rules of equal groups."""
    if rules.groups not in fitted.points:
        mixtures = [*fitted.of_fold, fitted.final]
        fitted.points[rules.groups] = [points_of(m, rules.groups, 0) for m in mixtures]
    found = fitted.points[rules.groups]
    mixtures, unit = [*fitted.of_fold, fitted.final], error_unit(rules)
    models = [MixtureModel(m, p, rules, unit=unit) for m, p in zip(mixtures, found)]
    return models[:-1], models[-1]
