"""The classifier of one subset of the features: boosted trees, logistic regression and a forest, averaged, tempered."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import softmax

from agents.lattice import constants as const
from agents.lattice.constants import (
    INTERCEPT_RIDGE_BINARY,
    INTERCEPT_RIDGE_MULTICLASS,
    LOGISTIC_ITERATIONS,
    RIDGE_BINARY,
    RIDGE_MULTICLASS,
)
from agents.lattice.forest import BaggedTrees, ForestGrowth, add_shares, empty_forest, grow_forest
from agents.lattice.training_data import AllRows, TrainingData, n_tried_columns
from fsgym.support.arrays import read_only
from fsgym.support.vector_exp import BLOCK, vector_exp, write_exponentials
from fsgym.trees.boosting import Growth, SmallForest, boost, boost_folds

# Multinomial logistic regression: several models fitted together, with the same columns and other row weights.


def fit_logistic(H: NDArray, Y: NDArray, weights: NDArray, shrinkage: float = 1.0) -> NDArray[np.float64]:
    """Fit one model for each row of ``weights``, by an accelerated gradient method with a fixed bound on the curvature.

    Bohning's (1992) bound on the curvature needs one inverse per model. Nesterov's (1983) momentum is reset where the
    gradient points against the last step (O'Donoghue and Candes, 2015). With two classes one column of coefficients is
    fitted, the difference of the two classes, and each class gets half of it.

    Parameters
    ----------
    H : float64 (n_samples, n_columns), roughly standardised
    Y : float64 (n_samples, n_classes), one-hot
    weights : float64 (n_models, n_samples), >= 0
    shrinkage : float, factor of the ridge penalty

    Returns
    -------
    float64 (n_models, 1 + n_columns, n_classes)
        Coefficients, the intercepts first. The ridge penalty on the intercepts is negligible.
    """
    n_models, binary = len(weights), Y.shape[1] == 2
    labels = np.ascontiguousarray(Y.T[1:] if binary else Y.T)
    A, weights = np.column_stack([np.ones(len(H)), H]), np.ascontiguousarray(weights)
    n, p, n_outputs = *A.shape, len(labels)
    ridge = np.full(p, shrinkage * (RIDGE_BINARY if binary else RIDGE_MULTICLASS))
    ridge[0] = INTERCEPT_RIDGE_BINARY if binary else INTERCEPT_RIDGE_MULTICLASS
    curvature = (0.25 if binary else 0.5) * _weighted_grams(A, weights)  # Bohning's bound
    curvature[:, np.arange(p), np.arange(p)] += ridge
    inverse = np.linalg.inv(curvature)
    theta, ahead, gradient = np.zeros((3, n_models * n_outputs, p))  # model by model
    momentum, new, scores = np.ones(n_models), np.empty((n_outputs, p)), np.empty((n_models * n_outputs, n))
    top, total = np.empty((2, BLOCK))
    for _ in range(LOGISTIC_ITERATIONS):
        np.matmul(ahead, A.T, out=scores)
        if binary:
            _residual_binary(scores, labels[0], weights)
        else:
            _residual_multiclass(scores, labels, weights, top, total)
        np.matmul(scores, A, out=gradient)
        _advance(inverse, ridge, gradient, theta, ahead, momentum, new)
    coefficients = theta.reshape(n_models, n_outputs, p).transpose(0, 2, 1)
    return np.concatenate([-0.5 * coefficients, 0.5 * coefficients], axis=2) if binary else coefficients.copy()


def _weighted_grams(A: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """A' diag(w) A for each row w of ``weights``: one product of all rows, less the rows of which a w has less.

    With models that each leave out a fold, two products instead of one for each model.
    """
    most = weights.max(axis=0)
    grams = np.repeat(((A.T * most) @ A)[None], len(weights), axis=0)
    for gram, w in zip(grams, weights):
        rows = np.flatnonzero(w < most)
        gram -= (A[rows].T * (most - w)[rows]) @ A[rows]
    return grams


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _residual_multiclass(scores, labels, weights, top, total):
    """Replace scores (n_models * n_classes, n_samples) by the weighted residuals, one-hot minus probabilities.

    ``top`` and ``total``, float64 (BLOCK,), are overwritten.
    """
    n_classes, n = labels.shape
    for m in range(len(weights)):
        for begin in range(0, n, BLOCK):
            w, own = weights[m, begin : min(begin + BLOCK, n)], scores[m * n_classes : (m + 1) * n_classes]
            write_exponentials(own, begin, len(w), top, total)
            for k in range(n_classes):
                row, label = own[k, begin : begin + len(w)], labels[k, begin : begin + len(w)]
                for i in range(len(w)):
                    row[i] = w[i] * (label[i] - row[i] / total[i])


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _residual_binary(scores, labels, weights):
    """Replace log-odds (n_models, n_samples) by the weighted residuals, label minus probability."""
    for m in range(len(scores)):
        for i in range(len(labels)):
            scores[m, i] = weights[m, i] * (labels[i] - 1.0 / (1.0 + vector_exp(-scores[m, i])))


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _advance(inverse, ridge, gradient, theta, ahead, momentum, new):
    """One step of each model, from the gradients of the log-likelihood at ``ahead``, (n_models * n_outputs, p) both."""
    n_outputs, p = new.shape
    for m in range(len(inverse)):
        first = m * n_outputs
        for k in range(n_outputs):
            for j in range(p):
                gradient[first + k, j] -= ridge[j] * ahead[first + k, j]
                new[k, j] = ahead[first + k, j]
        for i in range(p):
            for k in range(n_outputs):
                slope = gradient[first + k, i]
                for j in range(p):
                    new[k, j] += inverse[m, i, j] * slope
        gain = 0.0
        for k in range(n_outputs):
            for j in range(p):
                gain += gradient[first + k, j] * (new[k, j] - theta[first + k, j])
        before = 1.0 if gain < 0.0 else momentum[m]
        momentum[m] = 0.5 + np.sqrt(0.25 + before**2)
        for k in range(n_outputs):
            for j in range(p):
                step = new[k, j] - theta[first + k, j]
                ahead[first + k, j] = new[k, j] + (before - 1.0) / momentum[m] * step
                theta[first + k, j] = new[k, j]


class SubsetClassifier(NamedTuple):
    """A fitted classifier of a subset: softmax(log(the weighted mean of its models' probabilities) / temperature)."""

    features: NDArray[np.int64]  # (n_subset_features,)
    coefficients: NDArray[np.float64]  # (1 + 4 n_subset_features, n_classes), 0 for constant columns
    start_score: NDArray[np.float64]  # (n_outputs,), to which the boosted trees add
    boosted: SmallForest  # split on places in ``features``
    forest: BaggedTrees  # split on places in ``features``
    blend: NDArray[np.float64]  # (3,), weights of the boosted trees, the logistic regression and the forest, with sum 1
    temperature: float


class CrossFit(NamedTuple):
    """Out-of-fold probabilities of the training rows at a subset, with the blend and temperature chosen on them."""

    proba: NDArray[np.float32]  # (n_samples, n_classes)
    # as in ``SubsetClassifier``
    blend: NDArray[np.float64]
    temperature: float


ONLY_LOGISTIC = np.array([0.0, 1.0, 0.0])  # the blend of the empty subset, whose logistic regression is its intercepts


def cross_fit(data: TrainingData, features: NDArray[np.int64]) -> CrossFit:
    """Cross-fit the classifier of a subset, and choose blend and temperature by the out-of-fold log-loss."""
    if not len(features):
        proba = np.tile(data.class_shares().astype(np.float32), (len(data.y), 1))
        return CrossFit(proba, ONLY_LOGISTIC, 1.0)
    weight = _subset_row_weights(data, features)
    models = _cross_fitted_models(data, features, weight)
    blend = _best_blend(models, data.y, weight, int(data.is_small))
    proba = sum(b * p for b, p in zip(blend, models) if b and p is not None)
    log_proba = np.log(np.maximum(proba, const.MIN_PROBA))  # type: ignore[arg-type]
    temperatures = const.TEMPERATURES if data.is_small else (*const.LOW_TEMPERATURES, *const.TEMPERATURES)
    temperature = _best_temperature(log_proba, data.y, weight, temperatures)
    return CrossFit(softmax(log_proba / temperature, axis=-1).astype(np.float32), blend, temperature)


def _best_blend(models: list[NDArray | None], y: NDArray[np.int64], weight: NDArray, least: int) -> NDArray[np.float64]:
    """The weights of the models, each at least ``least`` steps, with the lowest log-loss."""
    rows, steps = np.arange(len(y)), const.BLEND_STEPS
    possible = [range(least, steps + 1) if p is not None else (0,) for p in models]
    blends = np.array([blend for blend in product(*possible) if sum(blend) == steps]) / steps
    of_truth = np.stack([np.zeros(len(y)) if p is None else p[rows, y] for p in models])
    return blends[_log_losses(blends @ of_truth, weight).argmin()]


def _best_temperature(
    log_proba: NDArray[np.float64], y: NDArray[np.int64], weight: NDArray, temperatures: tuple[float, ...]
) -> float:
    """The temperature with the lowest log-loss."""
    of_truth, by_class = np.empty((len(temperatures), len(y))), np.ascontiguousarray(log_proba.T)
    buffers = np.empty_like(by_class), *np.empty((2, BLOCK))
    _write_tempered(by_class, read_only(y), np.array(temperatures), of_truth, *buffers)
    return temperatures[_log_losses(of_truth, weight).argmin()]


@njit(cache=True, nogil=True, _nrt=False, error_model="numpy")
def _write_tempered(log_proba, y, temperatures, of_truth, scores, top, total):
    """Write the tempered probabilities of the true classes, from log-probabilities (n_classes, n_samples).

    ``scores``, float64 (n_classes, n_samples), ``top`` and ``total`` are overwritten.
    """
    n_classes, n = log_proba.shape
    for t in range(len(temperatures)):
        for begin in range(0, n, BLOCK):
            size = min(BLOCK, n - begin)
            for k in range(n_classes):
                for i in range(begin, begin + size):
                    scores[k, i] = log_proba[k, i] / temperatures[t]
            write_exponentials(scores, begin, size, top, total)
            for i in range(begin, begin + size):
                of_truth[t, i] = scores[y[i], i] / total[i - begin]


def _cross_fitted_models(data: TrainingData, features: NDArray[np.int64], weight: NDArray) -> list[NDArray | None]:
    """Out-of-fold probabilities of boosted trees, logistic regression and forest; None for those left out."""
    in_fold = data.fold[None] == np.arange(data.n_folds)[:, None]
    models: list[NDArray | None] = [None, None, None]
    if data.ingredients.boosted:
        models[0] = _proba_of_scores(_boosted_out_of_fold(data, features, in_fold, weight))
    if data.ingredients.logistic:
        H, _ = _logistic_columns(data, features)
        theta = fit_logistic(H, data.onehot, np.where(in_fold, 0.0, weight), data.shrinkage)
        scores = np.empty((len(data.y), data.n_classes))
        for left_out, coefficients in zip(in_fold, theta):
            scores[left_out] = coefficients[0] + H[left_out] @ coefficients[1:]
        models[1] = softmax(scores, axis=-1)
    if data.ingredients.n_forest_trees:
        codes, shares = data.bins(features), np.zeros((len(data.y), data.n_classes))
        part = data.fold % data.ingredients.n_parts
        for k in range(data.ingredients.n_parts):
            bags = data.bags[k :: data.ingredients.n_parts] * (part != k)
            add_shares(_forest(data, codes, bags, weight, k), codes, np.flatnonzero(part == k), shares)
        models[2] = smoothed(shares)
    return models


def fit_classifier(
    data: TrainingData | AllRows, features: NDArray[np.int64], cross_fitted: CrossFit, share_of_trees: float = 1.0
) -> SubsetClassifier:
    """Fit the classifier of a subset to all rows, with the blend and temperature of its cross-fit.

    ``share_of_trees`` is that of a forest.
    """
    no_trees = SmallForest(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.uint8), np.zeros((0, 2)))
    start_score, blend = np.zeros(data.n_outputs), cross_fitted.blend
    if not len(features):
        prior = np.log(data.class_shares())[None]
        return SubsetClassifier(features, prior, start_score, no_trees, empty_forest(), ONLY_LOGISTIC, 1.0)
    boosted, forest, weight = no_trees, empty_forest(), _subset_row_weights(data, features)
    coefficients = np.zeros((1 + const.COLUMNS_PER_FEATURE * len(features), data.n_classes))
    if blend[0]:
        start_score, boosted = _boosted(data, features, weight)
    if blend[1]:
        H, varies = _logistic_columns(data, features)
        onehot = np.eye(data.n_classes)[data.y[data.spaced]]
        theta = fit_logistic(H, onehot, weight[data.spaced][None], data.shrinkage)
        coefficients[np.append(True, varies)] = theta[0]
    if blend[2]:
        bags = data.bags[: int(np.ceil(share_of_trees * data.ingredients.n_forest_trees))]
        forest = _forest(data, data.bins(features), bags, weight, 0)
    return SubsetClassifier(features, coefficients, start_score, boosted, forest, blend, cross_fitted.temperature)


def smoothed(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities from the shares of a forest, none of them 0."""
    return (shares + const.SHARE_SMOOTHING / shares.shape[1]) / (1.0 + const.SHARE_SMOOTHING)


def _forest(
    data: TrainingData | AllRows, codes: NDArray[np.uint8], bags: NDArray[np.uint8], weight: NDArray, k: int
) -> BaggedTrees:
    growth = ForestGrowth(n_tried_columns(len(codes)), data.forest_leaf, const.MAX_FOREST_NODES)
    return grow_forest(codes, data.y, (bag * weight for bag in bags), growth, data.seed + k * len(data.bags))


def _subset_row_weights(data: TrainingData | AllRows, features: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights of the rows, float64 (n_samples,): their own, smaller for rows without all of the values."""
    return data.weighted(np.where(data.incomplete(features), const.MISSING_ROW_WEIGHT, 1.0))


def _logistic_columns(
    data: TrainingData | AllRows, features: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The columns of a subset that vary, (n_rows, n_varying), and which they are, bool (4 n_subset_features,)."""
    varies = (data.basis.inverse_column_std[features] > 0).ravel()
    columns = data.columns(features)
    return np.ascontiguousarray(columns.reshape(len(columns), -1)[:, varies]), varies


def _sample_tree_columns(data: TrainingData | AllRows, features: NDArray[np.int64]) -> NDArray[np.int64]:
    """The columns of each boosted tree, int64 (n_trees, at most 16), as places in ``features``."""
    n_trees = data.ingredients.trees.rounds * data.n_outputs
    d = len(features)
    if d <= const.MAX_TREE_COLUMNS:
        return np.tile(np.arange(d), (n_trees, 1))
    rng = np.random.default_rng([data.seed, *features.tolist()])
    return rng.random((n_trees, d)).argsort(axis=1)[:, : const.MAX_TREE_COLUMNS]


def _boosted(
    data: TrainingData | AllRows, features: NDArray[np.int64], weight: NDArray
) -> tuple[NDArray[np.float64], SmallForest]:
    """Boost on all rows: the start score (n_outputs,) and the trees."""
    start_score, rows = _start_score(data, weight), np.arange(len(data.y))
    scores, columns = np.tile(start_score, (len(rows), 1)), _sample_tree_columns(data, features)
    forest = boost(data.bins(features), data.y, rows, weight, scores, columns, data.sampled, _growth(data))
    return start_score, forest


def _boosted_out_of_fold(
    data: TrainingData, features: NDArray[np.int64], in_fold: NDArray[np.bool_], weight: NDArray
) -> NDArray[np.float64]:
    """Scores of the rows by trees that are boosted without their fold, float64 (n_samples, n_outputs)."""
    start = np.stack([_start_score(data, weight, ~left_out) for left_out in in_fold])
    codes, columns = data.bins(features), _sample_tree_columns(data, features)
    return boost_folds(codes, data.y, data.fold, weight, start, columns, data.sampled, _growth(data))


def _start_score(
    data: TrainingData | AllRows, weight: NDArray, rows: NDArray[np.bool_] | slice = slice(None)
) -> NDArray:
    """The score to which the boosted trees of some rows add, from the shares of the classes, float64 (n_outputs,)."""
    counts = np.bincount(data.y[rows], weights=weight[rows], minlength=data.n_classes)
    shares = np.maximum(counts, const.MIN_CLASS_COUNT) / np.maximum(counts, const.MIN_CLASS_COUNT).sum()
    return np.log(shares) if data.n_classes > 2 else np.log(shares[1:] / shares[:1])


def _growth(data: TrainingData | AllRows) -> Growth:
    trees = data.ingredients.trees
    return Growth(trees.depth, trees.rate, const.MIN_LEAF_WEIGHT, const.TREE_L2 * data.shrinkage)


def _proba_of_scores(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class probabilities from scores (n, n_outputs), float64 (n, n_classes)."""
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores[:, 0]])
    return softmax(scores, axis=-1)


def _log_losses(proba_of_truth: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean log-losses from the probabilities of the true classes, (n_candidates, n_samples)."""
    return -(weight * np.log(np.maximum(proba_of_truth, const.MIN_PROBA))).sum(axis=1) / weight.sum()
