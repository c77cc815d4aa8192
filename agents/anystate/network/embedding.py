"""What a network sees of a state: scaled values and hinges where they are known, 0 elsewhere, and the mask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.anystate.network import constants as const
from agents.anystate.network.kernels import write_embedded
from agents.tradeoff import AcquisitionIndices
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.support.arrays import read_only


class Embedding(NamedTuple):
    """The embedding of m features in ``n_blocks = 1 + n_hinges`` numbers each, beside the mask.

    The numbers of a value v are z = (v - center) / scale, and (max(z - knot, 0) - shift) / spread for each knot, all
    clipped to [-5, 5]. They are 0 where the value is not known.
    """

    features: NDArray[np.int64]  # (m,), ascending
    center: NDArray[np.float64]  # (m,)
    scale: NDArray[np.float64]  # (m,)
    knots: NDArray[np.float32]  # (n_hinges, m)
    shift: NDArray[np.float32]  # (n_hinges, m)
    spread: NDArray[np.float32]  # (n_hinges, m)

    @property
    def n_inputs(self) -> int:
        """Inputs of a network: blocks of m numbers, and the mask."""
        return (2 + len(self.knots)) * len(self.features)

    def blocks(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The numbers of each value, float32 (n, n_blocks, m); 0 where it is NaN; ``values`` is (n, n_features)."""
        n_blocks, m = 1 + len(self.knots), len(self.features)
        out = np.zeros((len(values), n_blocks * m), np.float32)
        _write_embedded_rows(read_only(values), read_only(~np.isnan(values[:, self.features])), self, out)
        return out.reshape(len(values), n_blocks, m)


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _write_embedded_rows(values, known, e, out):
    for s in range(len(values)):
        write_embedded(values[s], known[s], e, out[s])


def check_embedding(candidates: NDArray[np.int64], embedding: Embedding, rules: Rules) -> None:
    """ValueError unless the candidates are acquisitions, and the embedding is valid and has exactly their features."""
    if candidates.dtype != np.int64 or candidates.ndim != 1 or not len(candidates):
        raise ValueError("the candidates must be int64 of shape (n,), at least one")
    if not ((candidates[:-1] < candidates[1:]).all() and candidates[0] >= 0 and candidates[-1] < rules.n_acquisitions):
        raise ValueError(f"the candidates must be ascending, and acquisitions 0 to {rules.n_acquisitions - 1}")
    features = sorted(i for j in candidates for i in rules.groups[j])
    if embedding.features.dtype != np.int64 or not np.array_equal(embedding.features, features):
        raise ValueError("the embedding must have the features of the candidates")
    n_knots = len(embedding.knots) if embedding.knots.ndim == 2 else -1
    shapes = {"center": (len(features),), "scale": (len(features),)}
    for name, array in embedding._asdict().items():
        if name == "features":
            continue
        shape = shapes.get(name, (n_knots, len(features)))
        dtype = np.float64 if name in shapes else np.float32
        if array.shape != shape or array.dtype != dtype or not np.isfinite(array).all():
            raise ValueError(f"{name} of the embedding must be finite {dtype.__name__} of shape {shape}")
    if not (embedding.scale > 0).all() or not (embedding.spread > 0).all():
        raise ValueError("scale and spread of the embedding must be above 0")


def fit_embedding(X: NDArray[np.float32], features: NDArray[np.int64]) -> Embedding:
    """The embedding of some features of the rows ``X`` (n_samples, n_features); missing values are left out."""
    quantiles = const.MANY_KNOTS if len(features) <= const.MAX_FEATURES_MANY_KNOTS else const.FEW_KNOTS
    m, n_knots = len(features), len(quantiles)
    center, scale = np.zeros(m), np.ones(m)
    knots, shift = (np.zeros((n_knots, m), np.float32) for _ in range(2))
    spread = np.ones((n_knots, m), np.float32)
    for i, feature in enumerate(features):
        column = X[:, feature].astype(np.float64)
        column = column[~np.isnan(column)]
        if not len(column):
            continue
        center[i], scale[i] = column.mean(), column.std() or 1.0
        z = np.clip((column - center[i]) / scale[i], -const.MAX_ABS_INPUT, const.MAX_ABS_INPUT)
        knots[:, i] = np.quantile(z, quantiles)
        hinges = np.maximum(z - knots[:, i : i + 1], 0)
        shift[:, i], spread[:, i] = hinges.mean(axis=1), hinges.std(axis=1) + const.MIN_SPREAD
    return Embedding(features, center, scale, knots, shift, spread)


def network_inputs(
    blocks: NDArray[np.float32], row: NDArray[np.int64], known: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The inputs of a network, float32 (n, (n_blocks + 1) m): embedded values where they are known, and the mask.

    Parameters
    ----------
    blocks : float32 (n_rows, n_blocks, m), see ``Embedding.blocks``
    row : int64 (n,), the row of each state
    known : bool (n, m)
    """
    inputs = np.empty((len(row), (blocks.shape[1] + 1) * blocks.shape[2]), np.float32)
    _fill_inputs(blocks, row, read_only(known), inputs)
    return inputs


@njit(cache=True, nogil=True, _nrt=False)
def _fill_inputs(blocks, row, known, inputs):
    n_blocks, m = blocks.shape[1], blocks.shape[2]
    for s in range(len(row)):
        r = row[s]
        for k in range(n_blocks):
            for i in range(m):
                inputs[s, k * m + i] = blocks[r, k, i] if known[s, i] else np.float32(0)
        for i in range(m):
            inputs[s, n_blocks * m + i] = np.float32(known[s, i])


def screen_acquisitions(
    X: NDArray[np.float32], y: NDArray[np.int64], groups: tuple[tuple[int, ...], ...]
) -> NDArray[np.int64]:
    """The acquisitions that the networks use, ascending, int64: all, or those with the highest mutual information.

    Of an acquisition it is the highest of its features, in bins of equal counts, with a bin of its own for missing
    values. An acquisition whose values correlate with those of a chosen one counts less.
    """
    if len(groups) <= const.MAX_ACQUISITIONS:
        return np.arange(len(groups))
    relevance = np.array([_mutual_information(X[:, i], y) for i in range(X.shape[1])])
    best = np.array([max(group, key=lambda i: relevance[i]) for group in groups])
    columns = np.nan_to_num(X[:, best].astype(np.float64), posinf=0, neginf=0)
    columns -= columns.mean(axis=0)
    columns /= np.sqrt((columns**2).sum(axis=0)) + np.finfo(float).tiny
    gain, redundancy = relevance[best], np.zeros(len(best))
    chosen: list[int] = []
    for _ in range(const.MAX_ACQUISITIONS):
        gain[chosen] = -1
        chosen.append(int(np.argmax(gain * (redundancy < const.MAX_CORRELATION) + const.SECOND_CHOICE * gain)))
        redundancy = np.maximum(redundancy, np.abs(columns.T @ columns[:, chosen[-1]]))
    return np.sort(np.array(chosen))


def _mutual_information(column: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    """Mutual information of a column in bins and the classes, in nats."""
    seen = column[~np.isnan(column)]
    if not len(seen):
        return 0.0
    edges = np.unique(np.quantile(seen, np.linspace(0, 1, const.SCREENING_BINS + 1)[1:-1]))
    codes = np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column, side="left"))
    joint = np.zeros((len(edges) + 2, int(y.max()) + 1))
    np.add.at(joint, (codes, y), 1 / len(y))
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    positive = joint > 0
    return float((joint[positive] * np.log(joint[positive] / product[positive])).sum())


# Training rows as the networks see them, and random states of them.


@dataclass(frozen=True, eq=False)
class EmbeddedRows:
    """The training rows, embedded once. The networks use ``n_candidates`` of the acquisitions, and their m features."""

    dataset: Dataset
    candidates: NDArray[np.int64]  # (n_candidates,), the acquisitions that the networks use, ascending
    groups: tuple[tuple[int, ...], ...]  # the features of each acquisition
    fold: NDArray[np.int64]  # (n_samples,), from 0
    weight: NDArray[np.float32]  # (n_samples,), of each row, with mean 1
    telling: tuple[int, ...] = ()  # see ``agents.tradeoff.TrainingTask``

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

    def weights(self, rows: NDArray[np.int64], taken: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The weights of states of some rows, float32 (len(rows),); ``taken`` is bool (len(rows), n_candidates).

        A state counts not at all where a value is asked for that the row lacks, if that tells something: those rows
        would otherwise be in more of the states without the value than others.
        """
        if not self.telling:
            return self.weight[rows]
        lacking = ~self.present[rows] & np.isin(self.embedding.features, self.telling)
        return np.where((taken[:, self.acquisition] & lacking).any(axis=1), np.float32(0), self.weight[rows])

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
    telling: tuple[int, ...] = (),
) -> EmbeddedRows:
    """The rows with the acquisitions that the networks will use: none of ``skipped``, unless that would be all."""
    candidates = screen_acquisitions(dataset.X, dataset.y, groups)
    informative = candidates[~np.isin(candidates, skipped)]
    candidates = informative if len(informative) else candidates
    weights = np.ones(dataset.n_samples, np.float32) if weight is None else weight.astype(np.float32)
    return EmbeddedRows(dataset, candidates, groups, fold, weights, telling)


def random_masks(n: int, n_candidates: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Random sets of acquisitions, bool (n, n_candidates): each is in with a probability that is random itself."""
    share = rng.random((n, 1))
    if n_candidates > const.MAX_ACQUISITIONS_UNIFORM_SHARE:
        share = share**2
    return rng.random((n, n_candidates)) < share
