"""Compiled: the class probabilities of a subset's classifier from the bins and columns of one row.

As in ``inference``, p is a ``Plan``, b are ``RowBuffers``, and v is the place of a subset.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from agents.lattice.constants import COLUMNS_PER_FEATURE, MIN_PROBA, SHARE_SMOOTHING


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _write_softmax(scores, proba):
    top, total = scores[0], 0.0
    for k in range(len(proba)):
        top = max(top, scores[k])
    for k in range(len(proba)):
        proba[k] = np.exp(scores[k] - top)
        total += proba[k]
    for k in range(len(proba)):
        proba[k] /= total


@njit(cache=True, nogil=True, _nrt=False)
def predict_proba_at(p, b, v):
    """Write the class probabilities at subset v into ``b.proba``."""
    blended = b.design  # not in use before the state features are written
    for k in range(len(b.proba)):
        blended[k] = 0.0
    if p.blend[v, 0] > 0.0:
        _write_boosted_scores(p, b, v)
        _write_softmax(b.scores, b.proba)
        _add_weighted(b.proba, p.blend[v, 0], blended)
    if p.blend[v, 1] > 0.0:
        _write_logistic_scores(p, b, v)
        _write_softmax(b.scores, b.proba)
        _add_weighted(b.proba, p.blend[v, 1], blended)
    if p.blend[v, 2] > 0.0:
        _write_forest_shares(p, b, v)
        _add_weighted(b.proba, p.blend[v, 2], blended)
    for k in range(len(b.proba)):
        b.scores[k] = np.log(max(blended[k], MIN_PROBA)) / p.temperature[v]
    _write_softmax(b.scores, b.proba)


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _add_weighted(proba, weight, total):
    for k in range(len(proba)):
        total[k] += weight * proba[k]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _write_logistic_scores(p, b, v):
    n_classes, where = len(b.proba), p.coefficient_first[v]
    for k in range(n_classes):
        b.scores[k] = p.coefficient[where + k]
    for f in range(p.feature_first[v], p.feature_first[v + 1]):
        for h in range(COLUMNS_PER_FEATURE):
            where += n_classes
            x = b.columns[p.feature[f], h]
            for k in range(n_classes):
                b.scores[k] += x * p.coefficient[where + k]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _write_boosted_scores(p, b, v):
    first, n_classes, n_outputs = p.feature_first[v], len(b.proba), p.start_score.shape[1]
    b.scores[0] = 0.0
    for k in range(n_outputs):
        b.scores[n_classes - n_outputs + k] = p.start_score[v, k]
    n_splits = p.split_place.shape[1]
    for t in range(p.tree_first[v], p.tree_first[v + 1]):
        node = 0
        while node < n_splits:
            right = b.codes[p.feature[first + p.split_place[t, node]]] > p.split_cut[t, node]
            node = 2 * node + 1 + right
        k = (t - p.tree_first[v]) % n_outputs
        b.scores[n_classes - n_outputs + k] += p.leaf_value[t, node - n_splits]


@njit(cache=True, nogil=True, _nrt=False, forceinline=True)
def _write_forest_shares(p, b, v):
    """Write the smoothed mean shares of the trees of subset v into ``b.proba``."""
    first, n_classes = p.feature_first[v], len(b.proba)
    for k in range(n_classes):
        b.proba[k] = 0.0
    for t in range(p.root_first[v], p.root_first[v + 1]):
        node = p.root[t]
        while p.node_child[node] >= 0:
            node = p.node_child[node] + (b.codes[p.feature[first + p.node_place[node]]] > p.node_cut[node])
        leaf = -1 - p.node_child[node]
        for e in range(p.entry_start[leaf], p.entry_start[leaf + 1]):
            b.proba[p.entry_class[e]] += p.entry_share[e]
    n_trees = p.root_first[v + 1] - p.root_first[v]
    for k in range(n_classes):
        b.proba[k] = (b.proba[k] / n_trees + SHARE_SMOOTHING / n_classes) / (1.0 + SHARE_SMOOTHING)
