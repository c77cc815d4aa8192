"""Make the class probabilities of a mixture honest: exponents of the variables, then a few gradient steps.

Variables that are not independent within a component count twice, so that the posterior is too sure. Each variable gets
an exponent, and all of them together a power of the number of known variables; both minimise the log-loss of rows that
the components were not fitted to, over random subsets. After this, gradient steps on the log-loss of the training rows
may change every coefficient: the mixture is then a log-linear model with latent classes (Quattoni et al., 2007, call it
a hidden conditional random field) that starts from the densities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters, TrainingDesign
from agents.anystate.mixture.variables import Variables


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """A fitted mixture.

    Attributes
    ----------
    variables : Variables
    densities : MixtureParameters, as fitted: what is expected of values that are not known
    theta : float64 (n_columns, G), as ``densities.theta``, tuned to predict the class
    count_power : float
        With m known variables the sum of their log densities is multiplied by (1 + m) ** count_power.
    """

    variables: Variables
    densities: MixtureParameters
    theta: NDArray[np.float64]
    count_power: float

    @property
    def class_of(self) -> NDArray[np.int64]:
        return self.densities.class_of

    def log_loss(self, data: TrainingDesign, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Log-loss of each row given the known variables, float64 (n,); ``known`` is bool (n, V)."""
        columns = masked(self.variables, data.design, known, self.count_power)
        return _losses(columns @ self.theta + self.densities.log_share, self.class_of, data.y)[0]


@dataclass(frozen=True)
class Exponents:
    """Exponents of the densities: ``of_variable``, float64 (V,), and ``count_power`` as in ``ClassMixture``."""

    of_variable: NDArray[np.float64]
    count_power: float

    def applied(self, variables: Variables, densities: MixtureParameters) -> ClassMixture:
        of_column = np.repeat(self.of_variable, np.diff(variables.first_column))
        return ClassMixture(variables, densities, densities.theta * of_column[:, None], self.count_power)


def draw_known(n: int, n_variables: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random subsets of the variables of n rows, of all sizes, bool (n, n_variables); more small ones of many."""
    share = rng.random((n, 1)) ** (1 if n_variables <= const.FEW_VARIABLES else 2)
    return rng.random((n, n_variables)) < share


def masked(
    variables: Variables, design: NDArray[np.float64], known: NDArray[np.bool_], count_power: float
) -> NDArray[np.float64]:
    """The columns of the known variables times the power of their number, float64 (n, n_columns)."""
    power = (1.0 + known.sum(axis=1)) ** count_power
    return design * np.repeat(known * power[:, None], np.diff(variables.first_column), axis=1)


def _losses(
    scores: NDArray[np.float64], class_of: NDArray[np.int64], y: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Log-loss (n,) of rows with scores (n, G) of classes and components, and its derivatives by the scores."""
    p = softmax(scores, axis=1)
    own = np.where(class_of == y[:, None], p, 0.0)
    p_own = np.maximum(own.sum(axis=1), const.MIN_PROBABILITY)
    return -np.log(p_own), p - own / p_own[:, None]


def fit_exponents(
    parts: list[tuple[ClassMixture, TrainingDesign, NDArray[np.bool_]]], n_rows: int, steps: int = const.EXPONENT_STEPS
) -> Exponents:
    """The exponents of least penalised log-loss.

    Parameters
    ----------
    parts : list of (mixture, data, known)
        Mixtures with the rows, not used in fitting them, and the known variables of these, bool (n, V).
    n_rows : int, number of different rows: the more, the less is the penalty
    steps : int, most steps of L-BFGS
    """
    variables = parts[0][0].variables
    n_variables, first = len(variables.center), variables.first_column[:-1]
    total = sum(data.weight.sum() for _, data, _ in parts)
    penalty = const.EXPONENT_PENALTY / n_rows

    def objective(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        common, own, power = x[0], x[1:-1], x[-1]
        exponent = np.repeat(np.exp(common + own), np.diff(variables.first_column))[:, None]
        value, slope, slope_power = penalty * float(own @ own), np.zeros(n_variables), 0.0
        for mixture, data, known in parts:
            columns = masked(variables, data.design, known, power)
            theta = mixture.densities.theta * exponent
            evidence = columns @ theta
            losses, derivative = _losses(evidence + mixture.densities.log_share, mixture.class_of, data.y)
            weight = data.weight / total
            derivative *= weight[:, None]
            value += float(weight @ losses)
            slope += np.add.reduceat(((columns.T @ derivative) * theta).sum(axis=1), first)
            slope_power += (derivative * evidence).sum(axis=1) @ np.log1p(known.sum(axis=1))
        return value, np.concatenate([[slope.sum()], slope + 2 * penalty * own, [slope_power]])

    start = np.zeros(n_variables + 2)
    x = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return Exponents(np.exp(x[0] + x[1:-1]), float(x[-1]))


def tune(mixture: ClassMixture, data: TrainingDesign, steps: int, seed: int) -> ClassMixture:
    """Minimise the log-loss over random subsets by a number of Adam steps (Kingma, Ba, 2015)."""
    if steps == 0:
        return mixture
    theta, log_share = mixture.theta.copy(), mixture.densities.log_share
    rate = const.TUNING_RATE * (np.abs(theta) + const.TUNING_OFFSET)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for t, (rows, known) in enumerate(_batches(mixture.variables, data, steps, seed), 1):
        columns = masked(mixture.variables, data.design[rows], known, mixture.count_power)
        derivative = _losses(columns @ theta + log_share, mixture.class_of, data.y[rows])[1]
        derivative *= (data.weight[rows] / len(rows))[:, None]
        gradient = columns.T @ derivative
        first += (1 - const.ADAM_DECAY[0]) * (gradient - first)
        second += (1 - const.ADAM_DECAY[1]) * (gradient * gradient - second)
        schedule = min(1.0, t / const.TUNING_WARM_UP) * (1 - 0.9 * t / steps)
        mean, spread = first / (1 - const.ADAM_DECAY[0] ** t), second / (1 - const.ADAM_DECAY[1] ** t)
        theta -= schedule * rate * mean / (np.sqrt(spread) + const.ADAM_OFFSET)
    return replace(mixture, theta=theta)


def _batches(
    variables: Variables, data: TrainingDesign, steps: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        rows = rng.integers(0, len(data.y), const.TUNING_BATCH)
        yield rows, draw_known(len(rows), len(variables.center), rng)
