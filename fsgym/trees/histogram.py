"""Kernels of tree growing: gradient histograms, the best cut of each column, and the order of rows after a split.

A bin holds (sum of gradients, rows) where every hessian is 1, else (sum of gradients, sum of hessians, rows, 0). Rows
are added in the order of their leaf, so that the sums of a column do not depend on the thread that computes them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fsgym.support.kernels import INNER

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
    """Rows in the order of their leaves, with gradients and hessians."""

    order: NDArray[np.int32]  # (n_samples,)
    gradient: NDArray[np.float64]  # (n_samples,)
    hessian: NDArray[np.float64]  # (n_samples,) or, where every hessian is 1, (0,)


class Leaf(NamedTuple):
    """A leaf with the rows ``order[start:stop]``, and the arrays for its sums and cuts."""

    start: int
    stop: int
    total: NDArray[np.float64]  # (3,), sums of gradients and of hessians, and the number of rows
    histogram: NDArray[np.float64]  # (n_bins, 2 or 4)
    # (n_features,), half of the reduction of the squared error by the best cut of each column
    gain: NDArray[np.float64]
    cut: NDArray[np.int64]  # (n_features,), the bin of that cut, -1 where there is none


class Limits(NamedTuple):
    """Limits of cuts: fewest rows on each side, ``l2`` added to sums of hessians, and rounding error of gains."""

    least: float
    l2: float
    noise: float


def _vector_add(context, builder, signature, arguments, increments: Any) -> Any:
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
def _add_to_bin(typingctx, histogram, k, gradient):
    def code(context, builder, signature, arguments):
        return _vector_add(context, builder, signature, arguments, (arguments[2], 1.0))

    return types.void(histogram, k, gradient), code


@intrinsic
def _add_weighted_to_bin(typingctx, histogram, k, gradient, hessian):
    def code(context, builder, signature, arguments):
        return _vector_add(context, builder, signature, arguments, (arguments[2], arguments[3], 1.0, 0.0))

    return types.void(histogram, k, gradient, hessian), code


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _fill_unweighted(bins, rows, leaf, b):
    """Add the rows of a leaf to its histograms of the four columns of block b.

    Rows with the usual word are skipped; their sums are the differences from the leaf's totals.
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
            _add_to_bin(histogram, o0 + (word & _BYTE), g)
            word >>= _SHIFT
            _add_to_bin(histogram, o1 + (word & _BYTE), g)
            word >>= _SHIFT
            _add_to_bin(histogram, o2 + (word & _BYTE), g)
            word >>= _SHIFT
            _add_to_bin(histogram, o3 + (word & _BYTE), g)
    if skipped != _NO_WORD:
        for lane in range(4):
            k = first[f + lane] + ((skipped >> np.uint64(8 * lane)) & _BYTE)
            histogram[k, 0] += total[0] - seen
            histogram[k, 1] += total[2] - n_seen


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _fill_weighted(bins, rows, leaf, b):
    """As ``_fill_unweighted``, for rows with hessians."""
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
            _add_weighted_to_bin(histogram, o0 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted_to_bin(histogram, o1 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted_to_bin(histogram, o2 + (word & _BYTE), g, h)
            word >>= _SHIFT
            _add_weighted_to_bin(histogram, o3 + (word & _BYTE), g, h)
    if skipped != _NO_WORD:
        for lane in range(4):
            k = first[f + lane] + ((skipped >> np.uint64(8 * lane)) & _BYTE)
            histogram[k, 0] += total[0] - seen
            histogram[k, 1] += total[1] - h_seen
            histogram[k, 2] += total[2] - n_seen


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _find_column_cut(leaf, lo, hi, limits, f):
    """Write the best cut of column f, with bins lo .. hi: half of its reduction of squared error, and its bin.

    Both sides have at least ``least`` rows. Of cuts whose gains differ by at most ``noise`` the lowest is chosen; a
    gain up to ``noise`` counts as none.
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


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _fill_histogram(bins, rows, leaf, b):
    """The histograms of a leaf for the columns of block b."""
    leaf.histogram[np.int64(bins.first[4 * b]) : np.int64(bins.first[4 * b + 4])] = 0.0
    if len(rows.hessian):
        _fill_weighted(bins, rows, leaf, b)
    else:
        _fill_unweighted(bins, rows, leaf, b)


@njit(cache=True, nogil=True, _nrt=False)
def search_root(bins, rows, low, high, leaf, limits):
    """Histograms and best cuts of the leaf of all rows, for the columns of blocks low .. high."""
    first = bins.first
    for b in range(low, high):
        _fill_histogram(bins, rows, leaf, b)
        for f in range(4 * b, min(4 * b + 4, len(leaf.gain))):
            _find_column_cut(leaf, np.int64(first[f]), np.int64(first[f + 1]), limits, f)


@njit(cache=True, nogil=True, _nrt=False)
def search_children(bins, rows, low, high, small, large, limits):
    """Histograms and best cuts of two siblings; only the smaller one's rows are summed.

    On entry, the histogram of ``large`` is the parent's; the smaller sibling's is subtracted from it.
    """
    first = bins.first
    for b in range(low, high):
        _fill_histogram(bins, rows, small, b)
        for k in range(np.int64(first[4 * b]), np.int64(first[4 * b + 4])):
            for c in range(small.histogram.shape[1]):
                large.histogram[k, c] -= small.histogram[k, c]
        for f in range(4 * b, min(4 * b + 4, len(small.gain))):
            lo, hi = np.int64(first[f]), np.int64(first[f + 1])
            _find_column_cut(small, lo, hi, limits, f)
            _find_column_cut(large, lo, hi, limits, f)


@njit(cache=True, nogil=True, _nrt=False)
def partition_rows(codes, feature, cut, rows, start, stop, spare, totals):
    """Move rows whose bin is at most ``cut`` to the front, both sides in their old order; return their number.

    ``spare`` is a buffer like ``rows``. The sums of both sides are written to ``totals`` (2, 3), as in ``Leaf``.
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
    _sum_range(gradient, hessian, start, left, totals[0])
    _sum_range(gradient, hessian, left, stop, totals[1])
    return left - start


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _sum_range(gradient, hessian, start, stop, total):
    g, h = 0.0, 0.0
    for i in range(start, stop):
        g += gradient[i]
    for i in range(start, min(stop, len(hessian))):
        h += hessian[i]
    total[0], total[1], total[2] = g, h if len(hessian) else stop - start, stop - start


@njit(cache=True, nogil=True, _nrt=False)
def start_tree(rows, total):
    """Set all rows in their order, write their sums; return the noise of gains: 1e-12 of the largest possible gain."""
    order, gradient, hessian = rows.order, rows.gradient, rows.hessian
    most = 0.0
    for i in range(len(order)):
        order[i] = i
        most += gradient[i] * gradient[i] / (hessian[i] if len(hessian) else 1.0)
    _sum_range(gradient, hessian, 0, len(order), total)
    return 1e-12 * most


@njit(cache=True, nogil=True, _nrt=False)
def add_leaf_values(order, starts, values, out):
    """Add ``values[k]`` to ``out`` for the rows ``order[starts[k]:starts[k + 1]]``."""
    for k in range(len(values)):
        for i in range(starts[k], starts[k + 1]):
            out[np.uint32(order[i])] += values[k]
