"""The mixture as a model of states: exact class probabilities, and acquisitions ranked by expected information."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from agents.anystate.follow import follow_rows
from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters
from agents.anystate.mixture.fitting import FittedMixtures, fit_mixtures
from agents.anystate.mixture.kernels import (
    CompiledMixture,
    state_buffers,
    write_estimates,
    write_posterior,
    write_probabilities,
)
from agents.anystate.mixture.points import Points, mean_and_sd, points_from_tables, points_of
from agents.anystate.mixture.tuning import ClassMixture
from agents.anystate.mixture.variables import Variables
from agents.anystate.state_model import StateBatch, StateEstimates, StateModel
from agents.anystate.stop_rule import StopRule
from agents.parts import lengths_of_parts
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.support.arrays import read_only, read_only_rows


@dataclass(frozen=True, eq=False)
class MixtureModel(StateModel):
    """A class-conditional mixture that ranks acquisitions by what they are expected to tell about the class.

    The preference of an acquisition is the expected reduction of the expected error cost, plus ``weights`` times the
    expected reductions of the entropy of the class, and of class and component, divided by its price. A component is
    often what a context selects: its entropy makes a context worth acquiring that says nothing about the class.

    Attributes
    ----------
    mixture : ClassMixture
    points : Points, of the groups of the rules
    rules : Rules
    weights : tuple of three floats, of the error cost, the entropy of the class, that of class and component
    """

    mixture: ClassMixture
    points: Points
    rules: Rules
    weights: tuple[float, float, float] = (1.0, 0.0, const.COMPONENT_WEIGHT)
    kind: ClassVar[str] = "mixture"
    n_inputs: ClassVar[int] = const.N_INPUTS

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
            np.ascontiguousarray(self.rules.error_costs),
            _unit_cost(self.rules.error_costs),
            np.array(self.weights, np.float64),
        )

    def probabilities(self, acquired: NDArray[np.bool_], values: NDArray[np.float32]) -> NDArray[np.float64]:
        proba = np.empty((len(values), self.rules.n_classes))
        write_probabilities(self._compiled, state_buffers(self._compiled), *read_only_rows(acquired, values), proba)
        return proba

    def estimate(self, states: StateBatch) -> StateEstimates:
        n, n_acquisitions = states.legal.shape
        arrays = (
            *read_only_rows(states.acquired, states.values),
            read_only(states.legal, bool),
            read_only(states.prices, np.float64),
        )
        proba, preference = np.empty((n, self.rules.n_classes)), np.empty((n, n_acquisitions))
        inputs = np.empty((n, const.N_INPUTS))
        write_estimates(self._compiled, state_buffers(self._compiled), arrays, proba, preference, inputs)
        return StateEstimates(proba, preference, inputs)

    def follow(self, stop: StopRule, X: NDArray[np.float32], rules: Rules, skipped: NDArray[np.bool_]) -> Trajectories:
        prices, memory = self.rules.lam * self.rules.costs, state_buffers(self._compiled)
        return follow_rows(self._compiled, memory, stop, prices, X, rules, skipped)

    def predict_unknown(
        self, acquisition: int, acquired: NDArray[np.bool_], values: NDArray[np.float32]
    ) -> list[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
        """What one state lets expect of each feature of an acquisition.

        Parameters
        ----------
        acquisition : int
        acquired : bool (n_features,)
        values : float32 (n_features,), read only where ``acquired``

        Returns
        -------
        list of (feature, levels, numbers)
            Of a feature with few values: these and their probabilities, float64 (n_levels,) each. Of other numbers: no
            levels, and the mean and standard deviation, float64 (2,).
        """
        if not 0 <= acquisition < self.rules.n_acquisitions:
            raise ValueError(f"acquisition must be from 0 to {self.rules.n_acquisitions - 1}, got {acquisition}")
        buffers = state_buffers(self._compiled)
        rows = read_only_rows(acquired[None], values[None])
        write_posterior(self._compiled, buffers, rows[1][0], rows[0][0], np.empty(self.rules.n_classes))
        return [self._expected(feature, buffers.joint) for feature in self.rules.groups[acquisition]]

    def _expected(
        self, feature: int, joint: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        variables, densities = self.mixture.variables, self.mixture.densities
        v = variables.variable_of[feature]
        if variables.n_levels[v] == 0:
            mean, sd = mean_and_sd(variables, densities, v)
            grid = np.linspace(-const.MAX_ABS_Z, const.MAX_ABS_Z, const.N_GRID)
            chance = np.diff(joint @ ndtr((grid - mean[:, None]) / sd[:, None]))
            chance /= chance.sum()
            x = variables.numbers_of(v, (grid[1:] + grid[:-1]) / 2)
            center = chance @ x
            return feature, np.empty(0), np.array([center, np.sqrt(chance @ (x - center) ** 2)])
        share = np.exp(densities.theta[slice(*variables.first_column[v : v + 2])]) @ joint
        members = variables.feature[slice(*variables.first_feature[v : v + 2])]
        if len(members) == 1:
            return feature, variables.level[slice(*variables.first_level[v : v + 2])], share
        on = share[np.flatnonzero(members == feature)[0]]
        return feature, np.array([0.0, 1.0]), np.array([1.0 - on, on])

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
        return arrays, {"count_power": float(mixture.count_power), "weights": list(self.weights)}

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
            _finite(header["count_power"], -const.MOST_COUNT_POWER, const.MOST_COUNT_POWER),
        )
        weights = [_finite(w, 0.0, const.MOST_WEIGHT) for w in header["weights"]]
        if len(weights) != 3:
            raise ValueError("weights must be three numbers")
        points = _checked_points(arrays, rules.n_acquisitions, n)
        return cls(mixture, points, rules, (weights[0], weights[1], weights[2]))


def _unit_cost(error_costs: NDArray[np.float64]) -> float:
    """The cost of each error where all cost the same and correct answers nothing; otherwise 0."""
    unit = float(error_costs.max())
    return unit if np.array_equal(error_costs, unit * (1.0 - np.eye(len(error_costs)))) else 0.0


def _checked(arrays: Mapping[str, NDArray], name: str, dtype: Any, shape: tuple[int, ...]) -> NDArray:
    """An array of a file; ValueError unless it has this dtype and shape, of which -1 is any, and bounded numbers."""
    array = arrays[name]
    if array.dtype != dtype or array.ndim != len(shape) or any(m not in (-1, k) for m, k in zip(shape, array.shape)):
        raise ValueError(f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} {array.shape}")
    if not (np.abs(array) <= const.MOST_COEFFICIENT).all():
        raise ValueError(f"{name} must be finite and at most {const.MOST_COEFFICIENT:g}")
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


def model_of(
    fitted: FittedMixtures, rules: Rules, weights: tuple[float, float, float] | None = None
) -> tuple[list[MixtureModel], MixtureModel]:
    """The models of the folds and the final one under some rules; the points are shared by rules of equal groups."""
    if rules.groups not in fitted.points:
        mixtures = [*fitted.of_fold, fitted.final]
        fitted.points[rules.groups] = [points_of(m, rules.groups, 0) for m in mixtures]
    found = fitted.points[rules.groups]
    given = () if weights is None else (weights,)
    models = [MixtureModel(m, p, rules, *given) for m, p in zip([*fitted.of_fold, fitted.final], found)]
    return models[:-1], models[-1]


def cross_fit_mixture(
    dataset: Dataset,
    rules: Rules,
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
    seed: int = 0,
    weights: tuple[float, float, float] | None = None,
) -> tuple[list[MixtureModel], MixtureModel]:
    """A model without the rows of each fold, and one of all rows.

    Parameters
    ----------
    dataset : Dataset
    rules : Rules
    fold : int64 (n_samples,), 0, 1, ... for each row
    weight : float64 (n_samples,), optional, of the rows
    seed : int; one seed gives the same models
    weights : tuple of three floats, optional, see ``MixtureModel``
    """
    return model_of(fit_mixtures(dataset, fold, weight, seed), rules, weights)
