"""The classifier of one subset of the features: boosted trees and logistic regression on hinges, blended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from agents.lattice.basis import Basis, columns_of, fit_basis
from agents.lattice.logistic import ITERATIONS, fit_logistic
from fsgym.trees.boosting import Growth, SmallForest, boost

BLENDS = (0.25, 0.5, 0.75)  # share of the trees
TEMPERATURES = (0.6, 0.75, 0.9, 1.0, 1.15, 1.35, 1.6, 1.8)
COLUMNS = 16  # that a tree may ask for
LEAST = 3.0  # weight of a leaf
RARE = 0.05  # weight of rows that cannot come to a subset, since one of its values is missing


class Trees(NamedTuple):
    """How the trees of a head are grown: each round leaves one of ``parts`` equal parts of the rows out."""

    rounds: int
    depth: int
    rate: float
    parts: int


def trees_for(n_samples: int, n_classes: int) -> Trees:
    """Halves and small steps for little data, where more would fit noise."""
    if n_classes > 2:
        return Trees(30, 4, 0.3, 3)
    return Trees(40, 3, 0.12 if n_samples <= 1000 else 0.2, 2)


@dataclass(frozen=True, eq=False)
class Table:
    """The training data as heads need them, and the folds by which every probability used in learning is cross-fitted.

    Attributes
    ----------
    X : float32 (n_samples, n_features); y : int64 (n_samples,)
    fold : int64 (n_samples,), stratified
    seed : int, of the rows and columns that trees draw
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    n_classes: int
    fold: NDArray[np.int64]
    seed: int
    basis: Basis = field(init=False)
    columns: NDArray[np.float64] = field(init=False)
    codes: NDArray[np.uint8] = field(init=False)
    onehot: NDArray[np.float64] = field(init=False)
    trees: Trees = field(init=False)
    drawn: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        basis = fit_basis(self.X)
        columns, codes = columns_of(basis, self.X)
        trees = trees_for(len(self.y), self.n_classes)
        for name, value in (
            ("basis", basis),
            ("columns", columns),
            ("codes", codes),
            ("onehot", np.eye(self.n_classes)[self.y]),
            ("trees", trees),
            ("drawn", _drawn(len(self.y), trees, self.seed)),
        ):
            object.__setattr__(self, name, value)

    @property
    def n_outputs(self) -> int:
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    def shares(self) -> NDArray[np.float64]:
        """Shares of the classes, none of them 0, float64 (n_classes,)."""
        counts = np.maximum(np.bincount(self.y, minlength=self.n_classes), 0.5)
        return counts / counts.sum()


class Head(NamedTuple):
    """A fitted classifier of a subset: P = softmax(log(blend trees + (1 - blend) logistic) / temperature)."""

    features: NDArray[np.int64]
    coefficients: NDArray[np.float64]  # (1 + 4 n_features, n_classes), zero where a column tells nothing
    start: NDArray[np.float64]  # (n_outputs,) where the scores of the trees begin
    forest: SmallForest
    blend: float
    temperature: float


class CrossFit(NamedTuple):
    """Probabilities of the training rows, each from the models that did not see it, and how they were mixed."""

    P: NDArray[np.float64]
    blend: float
    temperature: float


def stratified_folds(y: NDArray[np.int64], n_folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A fold for each row, int64 (n_samples,), classes dealt out in turn."""
    fold = np.empty(len(y), np.int64)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    fold[order] = np.arange(len(y)) % n_folds
    return fold


def _drawn(n_samples: int, trees: Trees, seed: int) -> NDArray[np.bool_]:
    """The rows of each round, bool (n_rounds, n_samples)."""
    rng, part = np.random.default_rng(seed), np.arange(n_samples) % trees.parts
    parts = [rng.permutation(part) for _ in range(0, trees.rounds, trees.parts)]
    return np.stack([parts[r // trees.parts] != r % trees.parts for r in range(trees.rounds)])


def operations(table: Table, features: NDArray[np.int64]) -> int:
    """What a subset costs with its cross-fitted head, about the nanoseconds that it takes on one machine."""
    n, trees = len(table.y), table.trees
    tree = 17 * n + 5000 + 115 * 2**trees.depth * min(len(features), COLUMNS)
    columns = np.count_nonzero(table.basis.gain[features])
    step = n * (23 + 0.6 * columns)
    factor = columns**3 // 5 if columns > 300 else 0  # of the curvature; beside the rest no time for fewer
    one_fold = table.n_outputs * (trees.rounds * tree + ITERATIONS * step) + factor
    return int(table.n_folds * one_fold) + 1_000_000 + 2_000 * n  # and sweeps over it


def cross_fit(table: Table, features: NDArray[np.int64]) -> CrossFit:
    """The head of a subset, cross-fitted."""
    if not len(features):
        return CrossFit(np.tile(table.shares(), (len(table.y), 1)), 0.0, 1.0)
    fold, weight = table.fold, _weight(table, features)
    out = fold[None] == np.arange(table.n_folds)[:, None]
    H, _ = _hinges(table, features)
    theta = fit_logistic(H, table.onehot, np.where(out, 0.0, weight))[fold]
    linear = softmax(theta[:, 0] + np.einsum("ij,ijk->ik", H, theta[:, 1:]), axis=-1)
    trees = np.empty_like(linear)
    draws = _draws(table, features)
    for left_out in out:
        scores, _, _ = _boosted(table, features, np.flatnonzero(~left_out), weight, draws)
        trees[left_out] = _probabilities(scores[left_out])
    mixed = [(_log_loss(m := b * trees + (1 - b) * linear, table.y, weight), b, m) for b in BLENDS]
    _, blend, P = min(mixed, key=lambda v: v[0])
    tempered = [
        (_log_loss(q := softmax(np.log(np.maximum(P, 1e-12)) / T, axis=-1), table.y, weight), T, q)
        for T in TEMPERATURES
    ]
    _, temperature, P = min(tempered, key=lambda v: v[0])
    return CrossFit(P, blend, temperature)


def fit_head(table: Table, features: NDArray[np.int64], mixed: CrossFit) -> Head:
    """The head of a subset from all rows, mixed as it was when cross-fitted."""
    if not len(features):
        none = SmallForest(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.uint8), np.zeros((0, 2)))
        return Head(features, np.log(table.shares())[None], np.zeros(table.n_outputs), none, 0.0, 1.0)
    weight = _weight(table, features)
    H, kept = _hinges(table, features)
    coefficients = np.zeros((1 + len(kept), table.n_classes))
    coefficients[np.append(True, kept)] = fit_logistic(H, table.onehot, weight[None])[0]
    _, start, forest = _boosted(table, features, np.arange(len(table.y)), weight, _draws(table, features))
    return Head(features, coefficients, start, forest, mixed.blend, mixed.temperature)


def _weight(table: Table, features: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(np.isnan(table.X[:, features]).any(axis=1), RARE, 1.0)


def _hinges(table: Table, features: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The columns that tell something, and which of all they are."""
    kept = (table.basis.gain[features] > 0).ravel()
    return np.ascontiguousarray(table.columns[:, features].reshape(len(table.y), -1)[:, kept]), kept


def _draws(table: Table, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """The columns of each tree, int64 (n_trees, at most 16), as places in ``features``."""
    n_trees = table.trees.rounds * table.n_outputs
    d = len(features)
    if d <= COLUMNS:
        return np.tile(np.arange(d), (n_trees, 1))
    rng = np.random.default_rng([table.seed, *features.tolist()])
    return rng.random((n_trees, d)).argsort(axis=1)[:, :COLUMNS]


def _boosted(table, features, rows, weight, draws) -> tuple[NDArray[np.float64], NDArray[np.float64], SmallForest]:
    """Scores of all rows, where they begin, and the trees."""
    counts = np.bincount(table.y[rows], weights=weight[rows], minlength=table.n_classes)
    shares = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    start = np.log(shares) if table.n_classes > 2 else np.log(shares[1:] / shares[:1])
    scores = np.tile(start, (len(table.y), 1))
    growth = Growth(table.trees.depth, table.trees.rate, LEAST)
    forest = boost(table.codes[features], table.y, rows, weight, scores, draws, table.drawn, growth)
    return scores, start, forest


def _probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    return softmax(scores, axis=-1)


def _log_loss(P: NDArray[np.float64], y: NDArray[np.int64], weight: NDArray[np.float64]) -> float:
    return float(-(weight * np.log(np.maximum(P[np.arange(len(y)), y], 1e-12))).sum() / weight.sum())
