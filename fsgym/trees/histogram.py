"""Histograms of gradients over binned columns, the best cut of each column, and the rows of a split in order.

A bin holds (sum of gradients, rows) where every hessian is 1, else (sum of gradients, sum of hessians, rows, 0). Rows
are added in the order of their leaf, so that the sums of a column do not depend on which thread makes them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_BYTE, _SHIFT = np.uint64(255), np.uint64(8)
_NO_WORD = np.uint64(2**32)


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
def _fill(words, first, usual, order, gradient, start, stop, b, total, histogram):
    """Add the rows ``order[start:stop]``, whose sums are ``total``, to the histograms of the four columns of block b.

    Rows with the usual word are not looked at: what is missing in the end is theirs.
    """
    f, skipped = 4 * b, usual[b]
    o0, o1, o2, o3 = first[f], first[f + 1], first[f + 2], first[f + 3]
    seen, n_seen = 0.0, 0
    for i in range(start, stop):
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
def _fill_weighted(words, first, usual, order, gradient, hessian, start, stop, b, total, histogram):
    f, skipped = 4 * b, usual[b]
    o0, o1, o2, o3 = first[f], first[f + 1], first[f + 2], first[f + 3]
    seen, h_seen, n_seen = 0.0, 0.0, 0
    for i in range(start, stop):
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
def _search(histogram, lo, hi, total, least, l2, noise, gain, cut, f):
    """The best cut of the column whose bins are lo .. hi: half of what it takes off the squared error, and its bin.

    Both sides hold ``least`` rows. Of cuts that differ by ``noise`` at most, the lowest; a gain within it is none.
    """
    rows = histogram.shape[1] - 2 if histogram.shape[1] == 4 else 1
    G, H, n = total[0], total[1], total[2]
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
    gain[f] = 0.5 * (best - noise)
    cut[f] = where


@njit(cache=True, nogil=True, _nrt=False)
def root(words, first, usual, order, gradient, hessian, low, high, histogram, total, least, l2, noise, gain, cut):
    """Histogram and best cuts of all rows, for the columns of blocks low .. high."""
    for b in range(low, high):
        histogram[np.int64(first[4 * b]) : np.int64(first[4 * b + 4])] = 0.0
        if len(hessian):
            _fill_weighted(words, first, usual, order, gradient, hessian, 0, len(order), b, total, histogram)
        else:
            _fill(words, first, usual, order, gradient, 0, len(order), b, total, histogram)
        for f in range(4 * b, min(4 * b + 4, len(gain))):
            _search(histogram, np.int64(first[f]), np.int64(first[f + 1]), total, least, l2, noise, gain, cut, f)


@njit(cache=True, nogil=True, _nrt=False)
def children(
    words, first, usual, order, gradient, hessian, low, high,
    start, stop, small, large, totals, least, l2, noise, gains, cuts,
):  # fmt: skip
    """Histograms and best cuts of two siblings: the smaller one's rows are added up, the other is the difference.

    ``small`` is the histogram to be made of ``order[start:stop]``, ``large`` the parent's, which becomes the
    sibling's. ``totals``, ``gains`` and ``cuts`` have two rows, the smaller sibling's first.
    """
    for b in range(low, high):
        lo, hi = np.int64(first[4 * b]), np.int64(first[4 * b + 4])
        small[lo:hi] = 0.0
        if len(hessian):
            _fill_weighted(words, first, usual, order, gradient, hessian, start, stop, b, totals[0], small)
        else:
            _fill(words, first, usual, order, gradient, start, stop, b, totals[0], small)
        for k in range(lo, hi):
            for c in range(small.shape[1]):
                large[k, c] -= small[k, c]
        for f in range(4 * b, min(4 * b + 4, gains.shape[1])):
            lo, hi = np.int64(first[f]), np.int64(first[f + 1])
            _search(small, lo, hi, totals[0], least, l2, noise, gains[0], cuts[0], f)
            _search(large, lo, hi, totals[1], least, l2, noise, gains[1], cuts[1], f)


@njit(cache=True, nogil=True, _nrt=False)
def partition(codes, feature, cut, order, gradient, hessian, start, stop, kept, kept_gradient, kept_hessian, totals):
    """Rows whose bin is at most ``cut`` first, each side in its old order; return how many they are.

    ``kept`` and its like are buffers. ``totals`` (2, 3) becomes sums of gradients and hessians and rows of both sides.
    """
    b, lane, weighted = feature // 4, feature % 4, len(hessian) > 0
    left, right = start, 0
    for i in range(start, stop):
        row, g = order[i], gradient[i]
        goes = codes[b, np.uint32(row), lane] <= cut
        order[left], gradient[left] = row, g
        kept[right], kept_gradient[right] = row, g
        if weighted:
            h = hessian[i]
            hessian[left], kept_hessian[right] = h, h
        left += goes
        right += not goes
    for i in range(right):
        order[left + i], gradient[left + i] = kept[i], kept_gradient[i]
        if weighted:
            hessian[left + i] = kept_hessian[i]
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
def begin(order, gradient, hessian, total):
    """All rows in their order, and their sums; return what is noise among gains: 1e-12 of the largest gain possible."""
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
