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
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import minimize

from agents.anystate.mixture import constants as const
from agents.anystate.mixture.em import MixtureParameters, TrainingDesign
from agents.anystate.mixture.variables import Variables
from fsgym.support.arrays import read_only
from fsgym.support.vector_exp import BLOCK, write_exponentials


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """A fitted mixture."""

    variables: Variables
    densities: MixtureParameters  # as fitted: what is expected of values that are not known
    theta: NDArray[np.float64]  # (n_columns, G), as ``densities.theta``, tuned to predict the class
    count_power: float  # with m known variables the sum of their log densities is multiplied by (1 + m) ** count_power

    @property
    def class_of(self) -> NDArray[np.int64]:
        return self.densities.class_of

    def log_loss(self, data: TrainingDesign, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Log-loss of each row given the known variables, float64 (n,); ``known`` is bool (n, V)."""
        columns = masked(self.variables.widths, data.design, known, self.count_power)
        losses = _losses(self.theta.T @ columns.T + self.densities.log_share[:, None], self.class_of, data.y)
        return np.minimum(losses, -np.log(const.MIN_PROBABILITY))


@dataclass(frozen=True)
class Exponents:
    """Exponents of the densities: ``of_variable``, float64 (V,), and ``count_power`` as in ``ClassMixture``."""

    of_variable: NDArray[np.float64]
    count_power: float

    def applied(self, variables: Variables, densities: MixtureParameters) -> ClassMixture:
        of_column = np.repeat(self.of_variable, variables.widths)
        return ClassMixture(variables, densities, densities.theta * of_column[:, None], self.count_power)


def draw_known(n: int, n_variables: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random subsets of the variables of n rows, of all sizes, bool (n, n_variables); more small ones of many."""
    share = rng.random((n, 1)) ** (1 if n_variables <= const.FEW_VARIABLES else 2)
    return rng.random((n, n_variables)) < share


def masked(
    widths: NDArray[np.int64], design: NDArray[np.float64], known: NDArray[np.bool_], count_power: float
) -> NDArray[np.float64]:
    """The columns of the known variables times the power of their number, float64 (n, n_columns).

    ``widths``, int64 (V,), are the numbers of columns of the variables.
    """
    n_variables, columns = known.shape[1], np.empty(design.shape)
    powers, buffer = (1.0 + np.arange(n_variables + 1)) ** count_power, np.empty(n_variables)
    variable_of = np.repeat(np.arange(n_variables), widths)
    _write_masked(read_only(design), read_only(known), powers, variable_of, buffer, columns)
    return columns


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _write_masked(design, known, powers, variable_of, factor, columns):
    """As ``masked``; ``powers`` are by number of known variables, ``factor``, (n_variables,), is overwritten."""
    for i in range(len(known)):
        n_known = 0
        for v in range(len(factor)):
            n_known += known[i, v]
        for v in range(len(factor)):
            factor[v] = powers[n_known] if known[i, v] else 0.0
        for c in range(len(variable_of)):
            columns[i, c] = design[i, c] * factor[variable_of[c]]


def _losses(scores: NDArray[np.float64], class_of: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log-loss (n,) of rows with scores (G, n) of classes and components, which become its derivatives by them.

    The loss has no bound: with hundreds of variables the class of many rows is at first less probable than 1e-12, and a
    constant loss there would contradict its derivative.
    """
    losses, own_top = np.empty(len(y)), np.empty(BLOCK)
    _write_losses(
        scores, read_only(class_of), read_only(y), losses, np.empty(BLOCK, np.int64), own_top, *np.empty((3, BLOCK))
    )
    return losses


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _write_losses(scores, class_of, y, losses, own_best, own_top, top, total, own):
    """As ``_losses``; ``own_best``, int64, ``own_top``, ``top``, ``total`` and ``own``, (BLOCK,), are overwritten."""
    for begin in range(0, len(y), BLOCK):
        size = min(BLOCK, len(y) - begin)
        classes, loss = y[begin : begin + size], losses[begin : begin + size]
        own_top[:] = -np.inf
        for g in range(len(scores)):
            row, c = scores[g, begin : begin + size], class_of[g]
            for i in range(size):
                if classes[i] == c and row[i] > own_top[i]:
                    own_top[i], own_best[i] = row[i], g
        write_exponentials(scores, begin, size, top, total)
        own[:] = 0.0
        for g in range(len(scores)):
            row, c = scores[g, begin : begin + size], class_of[g]
            for i in range(size):
                e = row[i]
                own[i] += e if classes[i] == c else 0.0
        for i in range(size):
            total[i] = 1.0 / total[i]
            own[i] = own[i] * total[i]
        for i in range(size):
            improbable = own[i] < const.MIN_SUMMED
            loss[i] = top[i] - own_top[i] - np.log(total[i]) if improbable else -np.log(own[i])
            own[i] = np.inf if improbable else own[i]
        for i in range(size):  # the derivative is e / total, of the own class e / total - e / total / own
            own[i] = total[i] * (1.0 - 1.0 / own[i])
        for g in range(len(scores)):
            row, c = scores[g, begin : begin + size], class_of[g]
            for i in range(size):
                of_own, of_other = own[i], total[i]
                row[i] *= of_own if classes[i] == c else of_other
        for i in range(size):
            if own[i] == total[i]:
                scores[own_best[i], begin + i] -= 1.0


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
    known_columns = [masked(variables.widths, data.design, known, 0.0) for _, data, known in parts]

    def objective(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        common, own, power = x[0], x[1:-1], x[-1]
        exponent = np.repeat(np.exp(common + own), variables.widths)
        value, slope, slope_power = penalty * float(own @ own), np.zeros(n_variables), 0.0
        for (mixture, data, known), columns in zip(parts, known_columns):
            n_known, theta, weight = known.sum(axis=1), mixture.densities.theta.T * exponent, data.weight / total
            factor = (1.0 + n_known) ** power
            evidence = (theta @ columns.T) * factor
            derivative = evidence + mixture.densities.log_share[:, None]
            value += float(weight @ _losses(derivative, mixture.class_of, data.y))
            derivative *= weight
            slope_power += (derivative * evidence).sum(axis=0) @ np.log1p(n_known)
            derivative *= factor
            slope += np.add.reduceat(((derivative @ columns) * theta).sum(axis=0), first)
        return value, np.concatenate([[slope.sum()], slope + 2 * penalty * own, [slope_power]])

    start = np.zeros(n_variables + 2)
    x = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    return Exponents(np.exp(x[0] + x[1:-1]), float(x[-1]))


def tune(mixture: ClassMixture, data: TrainingDesign, steps: int, seed: int) -> ClassMixture:
    """Minimise the log-loss over random subsets by a number of Adam steps (Kingma, Ba, 2015).

    Of a wide table, only the coefficients of those variables are changed that tell the classes apart best.
    """
    if steps == 0:
        return mixture
    variables = most_telling(mixture.variables, data, const.MAX_TUNED)
    widths, columns = mixture.variables.widths[variables], mixture.variables.columns_of(variables)
    data = data.select(variables, columns)
    theta, log_share = mixture.theta[columns].T.copy(), mixture.densities.log_share[:, None]
    rate = const.TUNING_RATE * (np.abs(theta) + const.TUNING_OFFSET)
    first, second = np.zeros_like(theta), np.zeros_like(theta)
    for t, (batch, known) in enumerate(_batches(len(variables), data, steps, seed), 1):
        shown = masked(widths, batch.design, known, mixture.count_power)
        derivative = theta @ shown.T
        derivative += log_share
        _losses(derivative, mixture.class_of, batch.y)
        derivative *= batch.weight / max(len(known), 1)
        schedule = min(1.0, t / const.TUNING_WARM_UP) * (1 - 0.9 * t / steps)
        _descend(theta, derivative @ shown, first, second, rate, schedule, t)
    tuned = mixture.theta.copy()
    tuned[columns] = theta.T
    return replace(mixture, theta=tuned)


def most_telling(variables: Variables, data: TrainingDesign, most: int) -> NDArray[np.int64]:
    """The ``most`` variables, ascending, one of whose columns varies most between the classes, as a share; or all."""
    if len(variables.center) <= most:
        return np.arange(len(variables.center))
    of_class = (data.y == np.arange(data.n_classes)[:, None]) * data.weight
    of_class = of_class[of_class.sum(axis=1) > 0]
    shares = of_class.sum(axis=1) / data.weight.sum()
    means = (of_class @ data.design) / of_class.sum(axis=1, keepdims=True)
    mean = shares @ means
    between = shares @ (means - mean) ** 2
    whole = data.weight @ (data.design - mean) ** 2 / data.weight.sum()
    explained = np.divide(between, whole, out=np.zeros_like(whole), where=whole > const.MIN_SCALE)
    best = np.maximum.reduceat(explained, variables.first_column[:-1])
    return np.sort(np.argsort(-best, kind="stable")[:most])


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _descend(theta, gradient, first, second, rate, schedule, t):
    """Step t of Adam: update ``theta`` and the means of the gradient and of its square, (G, n_columns) each."""
    first_decay, second_decay = const.ADAM_DECAY
    of_mean, of_spread = 1 - first_decay**t, 1 - second_decay**t
    for g in range(len(theta)):
        for c in range(theta.shape[1]):
            slope = gradient[g, c]
            first[g, c] += (1 - first_decay) * (slope - first[g, c])
            second[g, c] += (1 - second_decay) * (slope * slope - second[g, c])
            mean, spread = first[g, c] / of_mean, second[g, c] / of_spread
            theta[g, c] -= schedule * rate[g, c] * mean / (np.sqrt(spread) + const.ADAM_OFFSET)


def _batches(
    n_variables: int, data: TrainingDesign, steps: int, seed: int
) -> Iterator[tuple[TrainingDesign, NDArray[np.bool_]]]:
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        rows = rng.integers(0, len(data.y), const.TUNING_BATCH)
        yield data.rows(rows).with_known(draw_known(len(rows), n_variables, rng))
