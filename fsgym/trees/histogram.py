"""Histograms of gradients over binned columns, the best cut of each column, and the rows of a split in order.

A bin holds (sum of gradients, rows) where every hessian is 1, else (sum of gradients, sum of hessians, rows, 0). Rows
are added in the order of their leaf, so that the sums of a column do not depend on which thread makes them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_BYTE, _SHIFT = np.uint64(255), np.uint64(8)
_NO_WORD = np.uint64(2**32)


class Bins(NamedTuple):
    """The binned columns, as in ``BinnedTable``.

    Attributes
    ----------
    words : ndarray of shape (n_blocks, n_samples), uint32
    first : ndarray of shape (4 n_blocks + 1,), uint64
    usual : ndarray of shape (n_blocks,), uint64
    """

    words: NDArray[np.uint32]
    first: NDArray[np.uint64]
    usual: NDArray[np.uint64]


class Rows(NamedTuple):
    """Rows in the order of their leaf, with what they weigh.

    Attributes
    ----------
    order : ndarray of shape (n_samples,), int32
    gradient : ndarray of shape (n_samples,), float64
    hessian : ndarray of shape (n_samples,) or, where every hessian is 1, (0,), float64
    """

    order: NDArray[np.int32]
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]


class Leaf(NamedTuple):
    """The rows ``order[start:stop]`` and where their sums and cuts are written.

    Attributes
    ----------
    start, stop : int
    total : ndarray of shape (3,), float64
        Sums of gradients and of hessians, and the number of rows.
    histogram : ndarray of shape (n_bins, 2 or 4), float64
    gain : ndarray of shape (n_features,), float64
        Half of what the best cut of each column takes off the squared error.
    cut : ndarray of shape (n_features,), int64
        The bin of that cut, -1 where there is none.
    """

    start: int
    stop: int
    total: NDArray[np.float64]
    histogram: NDArray[np.float64]
    gain: NDArray[np.float64]
    cut: NDArray[np.int64]


class Limits(NamedTuple):
    """What a cut must meet: rows on each side, an addition to every sum of hessians, and the noise of gains."""

    least: float
    l2: float
    noise: float


def _added(context, builder, signature, arguments, increments: Any) -> Any:
    """Add a vector of doubles to the bin ``arguments[1]`` of the histogram ``arguments[0]`` in one instruction."""
    vector = ir.VectorType(ir.DoubleType(), len(increments))
    histogram = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = builder.gep(builder.bitcast(histogram.data, vector.as_pointer()), [arguments[1]])
    increment = ir.Constant(vector, [v if isinstance(v, float) else 0.0 for v in increments])
    for i, value in enumerate(increments):
        if not isinstance(value, float):
            increment = builder.insert_element(increment, value, ir.Constant(ir.IntType(32), i))
    builder.store(builder.fadd(builder.load(place, align=8), increment), place, align=8)
    return context.get_dummy_value()


@intrinsic
def _add(typingctx, histogram, k, gradient):
    def code(context, builder, signature, arguments):
        return _added(context, builder, signature, arguments, (arguments[2], 1.0))

    return types.void(histogram, k, gradient), code


@intrinsic
def _add_weighted(typingctx, histogram, k, gradient, hessian):
    def code(context, builder, signature, arguments):
        return _added(context, builder, signature, arguments, (arguments[2], arguments[3], 1.0, 0.0))

    return types.void(histogram, k, gradient, hessian), code


@njit(cache=True, nogil=True, _nrt=False)
def _fill(bins, rows, leaf, b):
    """Add the rows of a leaf to its histograms of the four columns of block b.

    Rows with the usual word are not looked at: what is missing in the end is theirs.
    """
    words, first, histogram, total = bins.words, bins.first, leaf.histogram, leaf.total
    order, gradient = rows.order[leaf.start : leaf.stop], rows.gradient[leaf.start : leaf.stop]
    f, skipped = 4 * b, bins.usual[b]
    o0, o1, o2, o3 = first[f], first[f + 1], first[f + 2], first[f + 3]
    seen, n_seen = 0.0, 0
    for i in range(len(order)):
        word, g = np.uint64(words[b, np.uint32(order[i])]), gradient[i]
        if word != skipped:
            if skipped != _NO_WORD:
                seen += g
                n_seen += 1
            _add(histogram, o0 + (word & _BYTE), g)
            word >>= _SHIFT
            _add(histogram, o1 + (word & _BYTE), g)
            word >>= _SHIFT
            _add(histogram, o2 + (word & _BYTE), g)
            word >>= _SHIFT
            _add(histogram, o3 + (word & _BYTE), g)
    if skipped != _NO_WORD:
        for lane in range(4):
            k = first[f + lane] + ((skipped >> np.uint64(8 * lane)) & _BYTE)
            histogram[k, 0] += total[0] - seen
            histogram[k, 1] += total[2] - n_seen


@njit(cache=True, nogil=True, _nrt=False)
def _fill_weighted(bins, rows, leaf, b):
    words, first, histogram, total = bins.words, bins.first, leaf.histogram, leaf.total
    order, gradient = rows.order[leaf.start : leaf.stop], rows.gradient[leaf.start : leaf.stop]
    hessian = rows.hessian[leaf.start : leaf.stop]
    f, skipped = 4 * b, bins.usual[b]
    o0, o1, o2, o3 = first[f], first[f + 1], first[f + 2], first[f + 3]
    seen, h_seen, n_seen = 0.0, 0.0, 0
    for i in range(len(order)):
        word, g, h = np.uint64(words[b, np.uint32(order[i])]), gradient[i], hessian[i]
        if word != skipped:
            if skipped != _NO_WORD:
                seen += g
                h_seen += h
                n_seen += 1
            _add_weighted(histogram, o0 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted(histogram, o1 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted(histogram, o2 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted(histogram, o3 + (word & _BYTE), g, h)
    if skipped != _NO_WORD:
        for lane in range(4):
            k = first[f + lane] + ((skipped >> np.uint64(8 * lane)) & _BYTE)
            histogram[k, 0] += total[0] - seen
            histogram[k, 1] += total[1] - h_seen
            histogram[k, 2] += total[2] - n_seen


@njit(cache=True, nogil=True, _nrt=False)
def _search(leaf, lo, hi, limits, f):
    """The best cut of the column f, whose bins are lo .. hi: half of what it takes off the squared error, and its bin.

    Both sides hold ``least`` rows. Of cuts that differ by ``noise`` at most, the lowest; a gain within it is none.
    """
    histogram, least, l2, noise = leaf.histogram, limits.least, limits.l2, limits.noise
    rows = histogram.shape[1] - 2 if histogram.shape[1] == 4 else 1
    G, H, n = leaf.total[0], leaf.total[1], leaf.total[2]
    parent = G * G / (H + l2)
    best, where = noise, -1
    g, h, seen = 0.0, 0.0, 0.0
    for k in range(lo, hi - 1):
        if histogram[k, rows] == 0.0:
            continue
        g += histogram[k, 0]
        h += histogram[k, 1]
        seen += histogram[k, rows]
        if n - seen < least:
            break
        if seen >= least:
            left, right, rest = h + l2, H - h + l2, G - g
            reduction = (g * g * right + rest * rest * left) / (left * right) - parent
            if reduction > best:
                best, where = reduction + noise, k - lo
    leaf.gain[f] = 0.5 * (best - noise)
    leaf.cut[f] = where


@njit(cache=True, nogil=True, _nrt=False)
def _count(bins, rows, leaf, b):
    """The histograms of a leaf for the columns of block b."""
    leaf.histogram[np.int64(bins.first[4 * b]) : np.int64(bins.first[4 * b + 4])] = 0.0
    if len(rows.hessian):
        _fill_weighted(bins, rows, leaf, b)
    else:
        _fill(bins, rows, leaf, b)


@njit(cache=True, nogil=True, _nrt=False)
def root(bins, rows, low, high, leaf, limits):
    """Histogram and best cuts of the leaf of all rows, for the columns of blocks low .. high."""
    first = bins.first
    for b in range(low, high):
        _count(bins, rows, leaf, b)
        for f in range(4 * b, min(4 * b + 4, len(leaf.gain))):
            _search(leaf, np.int64(first[f]), np.int64(first[f + 1]), limits, f)


@njit(cache=True, nogil=True, _nrt=False)
def children(bins, rows, low, high, small, large, limits):
    """Histograms and best cuts of two siblings: the smaller one's rows are added up, the other is the difference.

    The histogram of ``large`` is the parent's, which becomes the sibling's.
    """
    first = bins.first
    for b in range(low, high):
        _count(bins, rows, small, b)
        for k in range(np.int64(first[4 * b]), np.int64(first[4 * b + 4])):
            for c in range(small.histogram.shape[1]):
                large.histogram[k, c] -= small.histogram[k, c]
        for f in range(4 * b, min(4 * b + 4, len(small.gain))):
            lo, hi = np.int64(first[f]), np.int64(first[f + 1])
            _search(small, lo, hi, limits, f)
            _search(large, lo, hi, limits, f)


@njit(cache=True, nogil=True, _nrt=False)
def partition(codes, feature, cut, rows, start, stop, spare, totals):
    """Rows whose bin is at most ``cut`` first, each side in its old order; return how many they are.

    ``spare`` is a buffer like ``rows``. ``totals`` (2, 3) becomes the sums of both sides, as in ``Leaf``.
    """
    order, gradient, hessian = rows.order, rows.gradient, rows.hessian
    b, lane, weighted = feature // 4, feature % 4, len(hessian) > 0
    left, right = start, 0
    for i in range(start, stop):
        row, g = order[i], gradient[i]
        goes = codes[b, np.uint32(row), lane] <= cut
        order[left], gradient[left] = row, g
        spare.order[right], spare.gradient[right] = row, g
        if weighted:
            h = hessian[i]
            hessian[left], spare.hessian[right] = h, h
        left += goes
        right += not goes
    for i in range(right):
        order[left + i], gradient[left + i] = spare.order[i], spare.gradient[i]
        if weighted:
            hessian[left + i] = spare.hessian[i]
    _sum(gradient, hessian, start, left, totals[0])
    _sum(gradient, hessian, left, stop, totals[1])
    return left - start


@njit(cache=True, nogil=True, _nrt=False)
def _sum(gradient, hessian, start, stop, total):
    g, h = 0.0, 0.0
    for i in range(start, stop):
        g += gradient[i]
    for i in range(start, min(stop, len(hessian))):
        h += hessian[i]
    total[0], total[1], total[2] = g, h if len(hessian) else stop - start, stop - start


@njit(cache=True, nogil=True, _nrt=False)
def begin(rows, total):
    """All rows in their order, and their sums; return what is noise among gains: 1e-12 of the largest gain possible."""
    order, gradient, hessian = rows.order, rows.gradient, rows.hessian
    most = 0.0
    for i in range(len(order)):
        order[i] = i
        most += gradient[i] * gradient[i] / (hessian[i] if len(hessian) else 1.0)
    _sum(gradient, hessian, 0, len(order), total)
    return 1e-12 * most


@njit(cache=True, nogil=True, _nrt=False)
def spread(order, starts, values, out):
    """Add ``values[k]`` to ``out`` for the rows ``order[starts[k]:starts[k + 1]]``."""
    for k in range(len(values)):
        for i in range(starts[k], starts[k + 1]):
            out[np.uint32(order[i])] += values[k]
