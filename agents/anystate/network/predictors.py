"""Networks that predict the classes given any acquired values, trained on random subsets of the acquisitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import EmbeddedRows, embed_rows, random_masks
from agents.anystate.network.mlp import MLP, AdamW, one_cycle, softmax_inplace
from agents.tradeoff import AcquisitionIndices
from fsgym.data.dataset import Dataset
from fsgym.support.threads import one_blas_thread


class VisitedStates(NamedTuple):
    """States in which training episodes were: int64 (n,) rows, and bool (n, n_candidates) acquisitions."""

    rows: NDArray[np.int64]
    taken: NDArray[np.bool_]

    def of(self, some: NDArray | slice) -> VisitedStates:
        """Some of the states."""
        return VisitedStates(self.rows[some], self.taken[some])


@dataclass(frozen=True, eq=False)
class FittedPredictors:
    """Predictors of all folds. They do not depend on prices."""

    rows: EmbeddedRows
    networks: tuple[MLP, ...]  # one MLP for each fold, trained without it
    temperature: float  # by which scores are divided
    n_steps: int  # steps in which each of them was trained

    @cached_property
    def first_weights(self) -> NDArray[np.float32]:
        """The weights of the first layer without each fold, float32 (n_folds, n_inputs, n_units)."""
        return np.stack([network.first_weights for network in self.networks])

    def first_sums(self, rows: NDArray[np.int64], inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sums of the first layer, out of fold, float32 (n, n_units)."""
        sums = np.empty((len(rows), self.networks[0].sizes[1]), np.float32)
        for network, mine in self._networks_of(rows):
            sums[mine] = inputs[mine] @ network.first_weights
            sums[mine] += network.first_biases
        return sums

    def probabilities(self, rows: NDArray[np.int64], sums: NDArray[np.float32]) -> NDArray[np.float32]:
        """Out-of-fold class probabilities of training rows, float32 (n, n_classes), from the first layer's sums."""
        scores = np.empty((len(rows), self.rows.dataset.n_classes), np.float32)
        for network, mine in self._networks_of(rows):
            scores[mine] = network.outputs_from(sums[mine])
        return softmax_inplace(scores / np.float32(self.temperature))

    def _networks_of(self, rows: NDArray[np.int64]) -> list[tuple[MLP, NDArray[np.int64]]]:
        """The network of each fold, and the places of the fold's rows."""
        fold = self.rows.fold[rows]
        return [(network, np.flatnonzero(fold == k)) for k, network in enumerate(self.networks)]

    def fine_tuned(self, visited: VisitedStates, rng: np.random.Generator) -> FittedPredictors:
        """Predictors that were also trained on states of episodes, each on those of the rows that it may see.

        They are these predictors where missing values tell something, as episodes depend on them.
        """
        if self.rows.telling:
            return self
        fold, networks = self.rows.fold, []
        for k, network in enumerate(self.networks):
            n_steps, states = steps_of(const.SHARE_FINE_TUNING, self.n_steps), visited.of(fold[visited.rows] != k)
            own = np.flatnonzero(fold != k)
            networks.append(_train(network.copy(), self.rows, own, n_steps, const.FINE_TUNING_RATE, rng, states))
        some = visited.of(rng.permutation(len(visited.rows))[: const.MAX_TEMPERATURE_STATES])
        choices = []
        for share in const.FINE_TUNED_SHARES:
            blend = tuple(_between(old, new, share) for old, new in zip(self.networks, networks))
            choices.append((*_fit_temperature(blend, self.rows, some)[::-1], blend))
        _, temperature, blend = min(choices, key=lambda choice: choice[0])
        return FittedPredictors(self.rows, blend, temperature, self.n_steps)


def steps_of(share: float, n_steps: int) -> int:
    """A share of the steps of a predictor, at least 1."""
    return max(1, round(share * n_steps))


def fit_predictors(
    dataset: Dataset,
    groups: tuple[tuple[int, ...], ...],
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    seed: int,
    n_steps: int,
    skipped: AcquisitionIndices = (),
    telling: tuple[int, ...] = (),
) -> FittedPredictors:
    """Train one predictor without each fold.

    Parameters
    ----------
    dataset : Dataset
    groups : the features that each acquisition reveals
    fold : int64 (n_samples,), stratified folds from 0
    weight : float64 (n_samples,) with mean 1, or None
    seed : int
    n_steps : int, of each predictor
    skipped : tuple of int, acquisitions that the networks do not use
    telling : tuple of int, see ``agents.tradeoff.TrainingTask``
    """
    rows = embed_rows(dataset, groups, fold, weight, skipped, telling)
    sizes = (rows.n_inputs, *const.HIDDEN_UNITS, dataset.n_classes)
    with one_blas_thread():
        networks = []
        for k, rng in enumerate(np.random.default_rng([seed, 1]).spawn(rows.n_folds)):
            network = MLP.random(sizes, rng)
            networks.append(_train(network, rows, np.flatnonzero(fold != k), n_steps, const.PREDICTOR_RATE, rng))
        rng = np.random.default_rng([seed, 2])
        some = rng.integers(dataset.n_samples, size=const.MAX_TEMPERATURE_STATES)
        states = VisitedStates(some, random_masks(len(some), len(rows.candidates), rng))
        return FittedPredictors(rows, tuple(networks), _fit_temperature(networks, rows, states)[0], n_steps)


def _train(
    network: MLP,
    rows: EmbeddedRows,
    own: NDArray[np.int64],
    n_steps: int,
    rate: float,
    rng: np.random.Generator,
    visited: VisitedStates | None = None,
) -> MLP:
    """Train a network on random states of the rows ``own``, and on states of episodes; return it.

    ``rate`` is the highest learning rate.
    """
    optimizer, size = AdamW(network, const.WEIGHT_DECAY), rows.batch_rows
    n_visited = 0 if visited is None or not len(visited.rows) else round(const.SHARE_CHAIN_ROWS * size)
    for step in range(n_steps):
        some = own[rng.integers(len(own), size=size)]
        taken = random_masks(size, len(rows.candidates), rng)
        if visited is not None and n_visited:
            chosen = rng.integers(len(visited.rows), size=n_visited)
            some[:n_visited], taken[:n_visited] = visited.rows[chosen], visited.taken[chosen]
        layers = network.forward(rows.inputs(some, taken))
        slope = softmax_inplace(layers[-1])
        slope[np.arange(size), rows.dataset.y[some]] -= 1
        slope *= rows.weights(some, taken)[:, None] / np.float32(size)
        optimizer.step(network.gradient(layers, slope), one_cycle(step, n_steps, rate, const.WARM_UP))
    return network


def _between(old: MLP, new: MLP, share: float) -> MLP:
    """A network with parameters between those of two. Half-way ones are often better than both.

    Wortsman et al. Robust fine-tuning of zero-shot models. CVPR, 2022.
    """
    parameters = old.parameters + np.float32(share) * (new.parameters - old.parameters)
    return MLP(old.sizes, parameters.astype(np.float32))


def _fit_temperature(networks: Sequence[MLP], rows: EmbeddedRows, states: VisitedStates) -> tuple[float, float]:
    """The temperature of the smallest out-of-fold log loss on some states, and that loss; (1, 0) without states."""
    if not len(states.rows):
        return 1.0, 0.0
    fold, inputs = rows.fold[states.rows], rows.inputs(*states)
    scores = np.empty((len(fold), rows.dataset.n_classes))
    for k, network in enumerate(networks):
        mine = np.flatnonzero(fold == k)
        scores[mine] = network(inputs[mine])
    true, weight = np.arange(len(scores)), rows.weights(*states)
    weight = weight / weight.sum()
    y, losses = rows.dataset.y[states.rows], []
    for temperature in const.SCORE_TEMPERATURES:
        scaled = scores / temperature
        losses.append(float(weight @ (logsumexp(scaled, axis=1) - scaled[true, y])))
    best = int(np.argmin(losses))
    return const.SCORE_TEMPERATURES[best], losses[best]
