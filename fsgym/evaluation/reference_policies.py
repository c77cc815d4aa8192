"""Policies that know the distribution of a generator of ``fsgym.datasets``, and their loss at a price.

No learner can be expected to have a lower loss than the optimum. The loss of a policy that knows the distribution is an
upper bound of the optimum; ``reference`` returns the lowest one that is known to us:

- for ``Syn``, the optimum among the policies that acquire x11 first, by dynamic programming;
- for the cubes, the greedy policy that acquires the feature with the largest expected information per price, and
  answers as soon as one class is probable enough. That of ``CubeNM`` acquires the context first, by rule: it says
  nothing by itself, and so a greedy policy would never acquire it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from fsgym.datasets import generators
from fsgym.support.checks import check_number, is_integer
from fsgym.text.messages import brief, option_text

MIN_ERROR = 1e-5  # a row is followed until the probability of an error is below this
MIN_GAIN = 1e-9  # nats per unit of price; below this, a feature is uninformative
THRESHOLDS = np.append(np.geomspace(MIN_ERROR, 0.8, 150), 1.0)  # probabilities of an error at which to answer
# Values of a feature; half a standard deviation apart where it is informative.
VALUES = np.arange(-0.9, 1.9, generators.INFORMATIVE_SD / 2)


class Reference(NamedTuple):
    """What a reference policy reaches: all are expectations over rows, as in ``fsgym.Evaluation``."""

    loss: float  # errors plus lam times the price paid
    accuracy: float
    spent: float  # the price paid, in the unit of costs
    standard_error: float  # of the loss, from the number of simulated rows; 0 where it is computed


def reference(
    generator: generators.SyntheticData, lam: float, n_samples: int = 20_000, random_state: int = 0
) -> Reference:
    """The lowest loss that we know for a generator at a price: an upper bound of the optimum.

    Errors cost 1, and prices are those of the generator, 1 unless it has others.

    Parameters
    ----------
    generator : Syn, Cube, CubeNUC or CubeNM
    lam : float
        The price of one unit of cost, as in ``Rules``.
    n_samples : int
        Rows to simulate for a cube, 2 or more. The loss of each half is that with the threshold that is best in the
        other half. ``Syn`` needs no rows.
    random_state : int
        Seed of these rows.

    Returns
    -------
    Reference
        For ``Syn``, computed with an error below 1e-4. For the cubes, estimated: errors and accuracy are the means of
        the exact class probabilities at the end of each episode.

    Raises
    ------
    ValueError, TypeError
        If ``lam`` is negative or no number, ``n_samples`` or ``random_state`` is no whole number, or ``generator`` is
        none of these.

    Examples
    --------
    >>> from fsgym.datasets import Syn
    >>> from fsgym.evaluation.reference_policies import reference
    >>> best = reference(Syn(1), lam=0.01)
    >>> round(best.loss, 3), round(best.spent, 1)
    (0.224, 3.7)
    """
    lam = check_number(lam, option_text("lam"), 0.0)
    if isinstance(generator, generators.Syn):
        return _reference_of_logits(generator, lam)
    paths = _greedy_paths(_check_simulation(generator, n_samples, random_state), n_samples, random_state)
    halves = slice(n_samples // 2), slice(n_samples // 2, None)
    parts = []
    for choose, measure in (halves, halves[::-1]):
        sums = [
            errors[choose].sum() + lam * spent[choose].sum() for errors, spent in map(paths.first_below, THRESHOLDS)
        ]
        parts.append([values[measure] for values in paths.first_below(THRESHOLDS[int(np.argmin(sums))])])
    errors, spent = (np.concatenate(values) for values in zip(*parts))
    losses = errors + lam * spent
    standard_error = float(losses.std() / np.sqrt(n_samples))
    return Reference(float(losses.mean()), 1 - float(errors.mean()), float(spent.mean()), standard_error)


def bayes_error(generator: generators.SyntheticData, n_samples: int = 100_000, random_state: int = 0) -> float:
    """The error rate of the best classifier that acquires all features.

    Computed for ``Syn``, with an error below 1e-5; for the cubes, the mean over ``n_samples`` simulated rows of the
    exact probability of an error. Parameters and errors are as for ``reference``.

    >>> from fsgym.datasets import Syn
    >>> round(bayes_error(Syn(3)), 3)
    0.171
    """
    if isinstance(generator, generators.Syn):
        return float(np.mean([logit.optimum(0.0)[0] for logit in generator.logits]))
    generator = _check_simulation(generator, n_samples, random_state)
    return float(1 - generator.posterior(generator.sample(n_samples, random_state).X).max(axis=1).mean())


def accuracies_within(
    generator: generators.NormalComponents, budgets: Iterable[float], n_samples: int = 50_000, random_state: int = 0
) -> list[float]:
    """The accuracy of the policy of ``reference`` for a cube within each budget, where it does not stop by itself.

    Parameters
    ----------
    generator : Cube, CubeNUC or CubeNM
    budgets : iterable of float
        Largest total prices of a row, in the unit of the generator's prices. The policy acquires in its order until the
        next acquisition would exceed the budget.
    n_samples, random_state : as for ``reference``

    Returns
    -------
    list of float
        Means over the rows of the exact probability of the most probable class.

    Raises
    ------
    ValueError, TypeError
        If a budget is negative or no number, or as for ``reference``.

    Examples
    --------
    >>> from fsgym.datasets import Cube
    >>> from fsgym.evaluation.reference_policies import accuracies_within
    >>> [round(a, 2) for a in accuracies_within(Cube(), [0, 3], n_samples=2000)]
    [0.12, 0.86]
    """
    limits = [check_number(budget, "a budget", 0.0) for budget in budgets]
    paths = _greedy_paths(_check_simulation(generator, n_samples, random_state), n_samples, random_state)
    rows, accuracies = np.arange(n_samples), []
    for limit in limits:
        last = (paths.spent <= limit * (1 + 1e-9)).sum(axis=1) - 1
        accuracies.append(1 - float(paths.errors[rows, last].mean()))
    return accuracies


def _reference_of_logits(generator: generators.Syn, lam: float) -> Reference:
    """Acquire x11, then follow the optimum for the logit that it selects; or acquire nothing, where that is better."""
    after = np.mean([logit.optimum(lam) for logit in generator.logits], axis=0)
    loss, spent = lam + float(after[0]), 1 + float(after[1])
    nothing = np.zeros(generator.n_features, dtype=bool)
    prior_error = float(generator.posterior(np.zeros((1, generator.n_features)), nothing).min())
    if prior_error <= loss:
        loss, spent = prior_error, 0.0
    return Reference(loss, 1 - (loss - lam * spent), spent, 0.0)


class GreedyPaths(NamedTuple):
    """The states of simulated rows, in the order in which the greedy policy reaches them; the last one is repeated."""

    errors: NDArray[np.float64]  # (n, n_states), exact probability that the most probable class is wrong
    spent: NDArray[np.float64]  # (n, n_states), price paid so far

    def first_below(self, threshold: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Error and price paid of each row, (n,) each, in its first state with an error of at most ``threshold``.

        If there is none, those of the last state.
        """
        reached = self.errors <= threshold
        reached[:, -1] = True
        at = np.arange(len(reached)), reached.argmax(axis=1)
        return self.errors[at], self.spent[at]


@lru_cache(maxsize=8)
def _greedy_paths(generator: generators.NormalComponents, n_samples: int, seed: int) -> GreedyPaths:
    """Acquire the most informative feature per price until a class is almost certain or no feature is informative."""
    data, components = generator.sample(n_samples, seed), generator.components
    X = data.X.astype(np.float64)
    prices = np.ones(generator.n_features) if data.costs is None else data.costs
    log_densities, spent = np.zeros((n_samples, len(components.labels))), np.zeros(n_samples)
    path = [(_errors(components, log_densities), spent)]
    candidates = np.tile(np.flatnonzero((components.sds == generators.INFORMATIVE_SD).any(axis=0)), (n_samples, 1))
    if isinstance(generator, generators.CubeNM):
        context = np.arange(generator.n_features) < generator.n_contexts
        log_densities = components.log_densities(X * context, np.tile(context, (n_samples, 1)))
        spent = spent + 1
        path.append((_errors(components, log_densities), spent))
        blocks = np.stack([generator.block(k) for k in range(generator.n_contexts)])
        candidates = blocks[X[:, context].argmax(axis=1)]
    available = np.ones(candidates.shape, dtype=bool)
    active = np.arange(n_samples)
    for _ in range(candidates.shape[1]):
        gains = _information(components, components.weights(log_densities[active]), candidates[active])
        gains = np.where(available[active], gains / prices[candidates[active]], 0.0)
        best, informative = gains.argmax(axis=1), gains.max(axis=1) > MIN_GAIN
        active, best = active[informative], best[informative]
        if not len(active):
            break
        available[active, best] = False
        feature = candidates[active, best]
        log_densities[active] += components.log_densities_of(feature, X[active, feature])
        spent = spent.copy()
        spent[active] += prices[feature]
        errors = path[-1][0].copy()
        errors[active] = _errors(components, log_densities[active])
        path.append((errors, spent))
        active = active[errors[active] > MIN_ERROR]
    return GreedyPaths(*(np.stack(values, axis=1) for values in zip(*path)))


def _errors(components: generators.Components, log_densities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probability that the most probable class is wrong, float64 (n,)."""
    return 1 - components.class_probabilities(components.weights(log_densities)).max(axis=1)


def _information(
    components: generators.Components, weights: NDArray[np.float64], features: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mutual information of features (n, m) of informative blocks and the component, in nats, float64 (n, m).

    Given the component, a value is normal around 0, normal around 1, or noise. What it says about the component is what
    it says about which of the three it is. Where the context is certain, this is the information about the class.
    """
    informative = components.sds == generators.INFORMATIVE_SD
    shares = np.stack([weights @ (informative & (components.means == bit)) for bit in (0, 1)], axis=2)
    shares = np.concatenate([shares, 1 - shares.sum(axis=2, keepdims=True)], axis=2).clip(min=0.0)
    means, sds = (
        np.array([[0.0], [1.0], [generators.NOISE_MEAN]]),
        np.array([[generators.INFORMATIVE_SD], [generators.INFORMATIVE_SD], [generators.NOISE_SD]]),
    )
    densities = np.exp(-0.5 * ((VALUES - means) / sds) ** 2)
    densities /= densities.sum(axis=1, keepdims=True)
    rows, result = np.arange(len(features)), np.empty(features.shape)
    for i, feature in enumerate(features.T):
        share = shares[rows, feature]
        result[:, i] = entr(share @ densities).sum(axis=1) - share @ entr(densities).sum(axis=1)
    return result


def _check_simulation(generator: Any, n_samples: Any, random_state: Any) -> generators.NormalComponents:
    if not isinstance(generator, generators.NormalComponents):
        raise TypeError(f"generator must be a Syn, Cube, CubeNUC or CubeNM, got {brief(generator)}")
    if not is_integer(n_samples) or n_samples < 2:
        raise ValueError(f"n_samples must be a whole number, 2 or more, got {brief(n_samples)}")
    if not is_integer(random_state) or random_state < 0:
        raise ValueError(f"random_state must be a whole number from 0, got {brief(random_state)}")
    return generator
