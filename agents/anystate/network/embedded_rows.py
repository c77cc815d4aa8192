"""Training rows as the networks see them, and random states of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network.embedding import Embedding, fit_embedding, network_inputs, screen_acquisitions
from agents.known_columns import AcquisitionIndices
from fsgym.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class EmbeddedRows:
    """The training rows, embedded once. The networks use ``n_candidates`` of the acquisitions, and their m features.

    Attributes
    ----------
    dataset : Dataset
    candidates : int64 (n_candidates,), the acquisitions that the networks use, ascending
    groups : the features of each acquisition
    fold : int64 (n_samples,), from 0
    weight : float32 (n_samples,), of each row, with mean 1
    """

    dataset: Dataset
    candidates: NDArray[np.int64]
    groups: tuple[tuple[int, ...], ...]
    fold: NDArray[np.int64]
    weight: NDArray[np.float32]

    @cached_property
    def embedding(self) -> Embedding:
        features = np.sort([i for j in self.candidates for i in self.groups[j]])
        return fit_embedding(self.dataset.X, features.astype(np.int64))

    @cached_property
    def acquisition(self) -> NDArray[np.int64]:
        """The candidate that reveals each of the m features, int64 (m,)."""
        place = {i: k for k, j in enumerate(self.candidates) for i in self.groups[j]}
        return np.array([place[i] for i in self.embedding.features], np.int64)

    @cached_property
    def revealed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Candidate k reveals ``features[begin[k] : begin[k + 1]]`` of the m features: ``(begin, features)``, int64."""
        begin = np.searchsorted(np.sort(self.acquisition), np.arange(len(self.candidates) + 1))
        return begin, np.argsort(self.acquisition, kind="stable")

    @cached_property
    def blocks(self) -> NDArray[np.float32]:
        """See ``Embedding.blocks``."""
        return self.embedding.blocks(self.dataset.X)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """The values that are not missing, bool (n_samples, m)."""
        return ~np.isnan(self.dataset.X[:, self.embedding.features])

    @cached_property
    def available(self) -> NDArray[np.bool_]:
        """The candidates with at least one value, bool (n_samples, n_candidates)."""
        available = np.zeros((len(self.present), len(self.candidates)), bool)
        for i, k in enumerate(self.acquisition):
            available[:, k] |= self.present[:, i]
        return available

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def batch_rows(self) -> int:
        """The rows of a step of training."""
        return next(size for most, size in const.BATCH_ROWS_BY_ROWS.items() if self.dataset.n_samples <= most)

    @property
    def n_inputs(self) -> int:
        return self.embedding.n_inputs

    def inputs(self, rows: NDArray[np.int64], taken: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The inputs of the predictors for states of some rows; ``taken`` is bool (len(rows), n_candidates)."""
        known = taken[:, self.acquisition] & self.present[rows]
        return network_inputs(self.blocks, rows, known)


def embed_rows(
    dataset: Dataset,
    groups: tuple[tuple[int, ...], ...],
    fold: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    skipped: AcquisitionIndices = (),
) -> EmbeddedRows:
    """The rows with the acquisitions that the networks will use: none of ``skipped``, unless that would be all."""
    candidates = screen_acquisitions(dataset.X, dataset.y, groups)
    informative = candidates[~np.isin(candidates, skipped)]
    candidates = informative if len(informative) else candidates
    weights = np.ones(dataset.n_samples, np.float32) if weight is None else weight.astype(np.float32)
    return EmbeddedRows(dataset, candidates, groups, fold, weights)


def random_masks(n: int, n_candidates: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random sets of acquisitions, bool (n, n_candidates): each is in with a probability that is random itself."""
    share = rng.random((n, 1))
    if n_candidates > const.MAX_ACQUISITIONS_UNIFORM_SHARE:
        share = share**2
    return rng.random((n, n_candidates)) < share
