"""Compiled parts of the sparse group LASSO: its dual norm, and block coordinate descent.

``XT`` is the transposed table, (n_features, n_samples), with its rows in the order of ``ColumnGroups``; ``lam2`` is
already multiplied by the weight of each group, shape (n_groups,). Kernels allocate no memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.support.kernels import INNER

FAST = {"reassoc", "contract"}  # sums may be split over vector registers; infinities and NaN keep their meaning
STEPS_PER_VISIT = 10  # accelerated proximal steps on a group, each time it is visited
MAX_ROOT_STEPS = 50  # Newton steps for the norm of a group; by hand, two to five are usual
ROOT_TOLERANCE = 1e-7  # the step after it is reached is the last: convergence is quadratic
MAX_SQUARED_RATIO = 1e8  # of (lam2 / lam1)^2; above it, the dual norm is computed by another formula


class Blocks(NamedTuple):
    """The table in blocks of columns, one per group, and the data that a step on a block needs."""

    XT: NDArray[np.float64]  # (n_features, n_samples)
    first: NDArray[np.int64]  # (n_groups + 1,), the columns of group g are ``first[g]`` to ``first[g + 1]``
    gram: NDArray[np.float64]  # the Gram matrices, concatenated
    # (n_groups,), start of each group's Gram matrix in ``gram``; -1 for a group without one
    gram_first: NDArray[np.int64]
    bound: NDArray[np.float64]  # (n_groups,), an upper bound on the largest eigenvalue of X_g'X_g


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def correlate(XT, r, first, chosen, z):
    """Write X'r into ``z`` for the columns of the groups ``chosen``."""
    n = r.size
    for c in range(chosen.size):
        for j in range(first[chosen[c]], first[chosen[c] + 1]):
            total = 0.0
            for i in range(n):
                total += XT[j, i] * r[i]
            z[j] = total


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def shrunk_norm(z, start, stop, threshold):
    """Return the norm of the soft-thresholded vector, ||S(z, threshold)||_2, over ``z[start:stop]``."""
    total = 0.0
    for j in range(start, stop):
        excess = abs(z[j]) - threshold
        if excess > 0.0:
            total += excess * excess
    return np.sqrt(total)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def sift_down(a, root, size):
    """Sift ``a[root]`` down in the min-heap ``a[:size]``."""
    child = 2 * root + 1
    while child < size:
        if child + 1 < size and a[child + 1] < a[child]:
            child += 1
        if a[root] <= a[child]:
            return
        a[root], a[child] = a[child], a[root]
        root, child = child, 2 * child + 1


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def sort_magnitudes(z, start, stop, a):
    """Write |z[start:stop]| into ``a`` in decreasing order, by heapsort."""
    m = stop - start
    for j in range(m):
        a[j] = abs(z[start + j])
    for root in range(m // 2 - 1, -1, -1):
        sift_down(a, root, m)
    for last in range(m - 1, 0, -1):
        a[0], a[last] = a[last], a[0]
        sift_down(a, 0, last)


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _nu_of_small_lam1(a, size, ratio, lam1):
    """Solve the equation of ``dual_norm`` for x = nu lam1 itself: if x is far below a_1, a_1 - e would cancel."""
    s1, s2, j = 0.0, 0.0, 0
    while True:
        s1, s2, j = s1 + a[j], s2 + a[j] * a[j], j + 1
        x = s2 / (s1 + np.sqrt(s1 * s1 + (ratio - j) * s2))
        if j == size or a[j] <= x:
            return x / lam1


@njit(cache=True, nogil=True, _nrt=False)
def dual_norm(z, first, chosen, lam1, lam2, a):
    """Return the largest nu with ||S(z_g, nu lam1)|| = nu lam2_g over the groups ``chosen`` (Ndiaye et al., 2016).

    The equation is solved only for groups that raise the maximum. ``a`` is a buffer as long as the largest group.
    """
    best = 0.0
    for c in range(chosen.size):
        g = chosen[c]
        start, stop = first[g], first[g + 1]
        if shrunk_norm(z, start, stop, best * lam1) <= best * lam2[g]:
            continue
        if lam1 == 0.0:
            nu = shrunk_norm(z, start, stop, 0.0) / lam2[g] if lam2[g] > 0.0 else np.inf
        else:
            sort_magnitudes(z, start, stop, a)
            ratio = (lam2[g] / lam1) ** 2
            if ratio > MAX_SQUARED_RATIO:
                best = max(best, _nu_of_small_lam1(a, stop - start, ratio, lam1))
                continue
            d1, d2 = 0.0, 0.0  # sums over the first j entries of their distance to the largest, and of its square
            for j in range(1, stop - start + 1):
                lack = a[0] - a[j - 1]
                d1 += lack
                d2 += lack * lack
                t = a[j] if j < stop - start else 0.0
                drop = a[0] - t
                if j * drop * drop - 2.0 * drop * d1 + d2 >= ratio * t * t:
                    break
            # x = nu lam1 = a_1 - e solves sum (a_i - x)^2 = ratio x^2, a quadratic in e without cancellation
            half, constant = d1 - ratio * a[0], d2 - ratio * a[0] * a[0]
            root = np.sqrt(max(0.0, half * half - (j - ratio) * constant))
            if half > 0.0:
                e = (half + root) / (j - ratio)
            else:
                e = constant / (half - root) if half < root else 0.0
            nu = (a[0] - e) / lam1
        best = max(best, nu)
    return best


@njit(cache=True, nogil=True, _nrt=False)
def entering_lam1(z, first, lam2, a):
    """Return the smallest lam1 at which ||S(z_g, lam1)|| <= lam2_g in every group."""
    best = 0.0
    for g in range(lam2.size):
        start, stop = first[g], first[g + 1]
        if shrunk_norm(z, start, stop, best) <= lam2[g]:
            continue
        sort_magnitudes(z, start, stop, a)
        d1, d2 = 0.0, 0.0
        for j in range(1, stop - start + 1):
            lack = a[0] - a[j - 1]
            d1 += lack
            d2 += lack * lack
            drop = a[0] - (a[j] if j < stop - start else 0.0)
            if j * drop * drop - 2.0 * drop * d1 + d2 >= lam2[g] ** 2:
                break
        root = np.sqrt(max(0.0, d1 * d1 - j * (d2 - lam2[g] ** 2)))
        best = max(best, a[0] - (d1 + root) / j)
    return best


@njit(cache=True, nogil=True, _nrt=False)
def penalty_value(w, first, chosen, lam1, lam2):
    """Return lam1 |w|_1 + sum_g lam2_g |w_g|_2 over the groups ``chosen``."""
    total = 0.0
    for c in range(chosen.size):
        g = chosen[c]
        sum1, sum2 = 0.0, 0.0
        for j in range(first[g], first[g + 1]):
            sum1 += abs(w[j])
            sum2 += w[j] * w[j]
        total += lam1 * sum1 + lam2[g] * np.sqrt(sum2)
    return total


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def shrink_group(u, m, threshold1, threshold2):
    """Replace ``u[:m]`` by its proximal point: soft-thresholding, then the norm reduced by ``threshold2``."""
    total = 0.0
    for j in range(m):
        size = abs(u[j]) - threshold1
        u[j] = 0.0 if size <= 0.0 else (size if u[j] > 0.0 else -size)
        total += u[j] * u[j]
    norm = np.sqrt(total)
    factor = 0.0 if norm <= threshold2 else 1.0 - threshold2 / norm
    for j in range(m):
        u[j] *= factor


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def shrink_groups(u, first, threshold1, thresholds2):
    """Replace ``u`` by its proximal point, as ``shrink_group`` does for one group; ``thresholds2`` is (n_groups,).

    Soft-thresholding is written as u - clip(u, -t, t), without branches: the loops are vectorised.
    """
    for g in range(thresholds2.size):
        part, total = u[first[g] : first[g + 1]], 0.0
        for j in range(part.size):
            part[j] -= min(max(part[j], -threshold1), threshold1)
            total += part[j] * part[j]
        norm = np.sqrt(total)
        factor = 0.0 if norm <= thresholds2[g] else 1.0 - thresholds2[g] / norm
        for j in range(part.size):
            part[j] *= factor


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def group_gram(XT, start, stop, gram, base):
    """Write X_g'X_g into ``gram`` from place ``base`` on; return its largest row sum, which bounds its eigenvalues."""
    m, n = stop - start, XT.shape[1]
    for j in range(m):
        for k in range(j + 1):
            total = 0.0
            for i in range(n):
                total += XT[start + j, i] * XT[start + k, i]
            gram[base + j * m + k] = total
            gram[base + k * m + j] = total
    bound = 0.0
    for j in range(m):
        row = 0.0
        for k in range(m):
            row += abs(gram[base + j * m + k])
        bound = max(bound, row)
    return bound


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def descend(blocks, chosen, lam1, lam2, w, r, buffers, n_epochs):
    """Visit each group of ``chosen`` in turn, ``n_epochs`` times; return the largest change in the last epoch.

    A visit takes accelerated proximal steps with restarts on the least-squares problem of the group, whose gradient at
    v is G v - c, and then updates the residual ``r``. ``w`` and ``r`` change in place. A group without a Gram matrix
    takes one step. ``buffers`` is (4, size of the largest group).
    """
    largest = 0.0
    for _epoch in range(n_epochs):
        largest = 0.0
        for p in range(chosen.size):
            g = chosen[p]
            L = blocks.bound[g]
            if L == 0.0:
                continue
            nonzero = _correlate_block(blocks, g, w, r, buffers[0])
            if not nonzero and shrunk_norm(buffers[0], 0, blocks.first[g + 1] - blocks.first[g], lam1) <= lam2[g]:
                continue
            _begin_visit(blocks, g, w, buffers)
            _accelerated_steps(blocks, g, lam1, lam2[g], w, buffers)
            largest = max(largest, L * _update_residual(blocks, g, w, buffers[1], r))
    return largest


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _correlate_block(blocks, g, w, r, c):
    """Write X_g'r into ``c``; return whether any weight of the group is nonzero."""
    XT, start, nonzero = blocks.XT, blocks.first[g], False
    for j in range(blocks.first[g + 1] - start):
        total = 0.0
        for i in range(r.size):
            total += XT[start + j, i] * r[i]
        c[j] = total
        nonzero = nonzero or w[start + j] != 0.0
    return nonzero


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _begin_visit(blocks, g, w, buffers):
    """Copy the weights of the group to ``buffers[1]`` and ``buffers[2]``, and add G w_g to c, the first buffer."""
    c, old, ahead = buffers[0], buffers[1], buffers[2]
    start, base = blocks.first[g], blocks.gram_first[g]
    m = blocks.first[g + 1] - start
    for j in range(m):
        old[j] = w[start + j]
        ahead[j] = old[j]
    if base >= 0:
        for j in range(m):
            if old[j] != 0.0:
                for k in range(m):
                    c[k] += blocks.gram[base + j * m + k] * old[j]


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _accelerated_steps(blocks, g, lam1, lam2_g, w, buffers):
    """Take proximal steps with momentum on the weights of the group, until they hardly change."""
    c, ahead, new = buffers[0], buffers[2], buffers[3]
    start, base, L = blocks.first[g], blocks.gram_first[g], blocks.bound[g]
    m = blocks.first[g + 1] - start
    momentum = 1.0
    for _step in range(STEPS_PER_VISIT):
        for j in range(m):
            slope = 0.0
            if base >= 0:
                for k in range(m):
                    slope += blocks.gram[base + j * m + k] * ahead[k]
            new[j] = ahead[j] + (c[j] - slope) / L
        shrink_group(new, m, lam1 / L, lam2_g / L)
        moved, turned, size = 0.0, 0.0, 0.0
        for j in range(m):
            moved += (new[j] - w[start + j]) ** 2
            turned += (ahead[j] - new[j]) * (new[j] - w[start + j])
            size += new[j] * new[j]
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        factor = (momentum - 1.0) / following
        momentum = following
        if turned > 0.0:  # the step points backwards: restart without momentum
            momentum, factor = 1.0, 0.0
        for j in range(m):
            ahead[j] = new[j] + factor * (new[j] - w[start + j])
            w[start + j] = new[j]
        if base < 0 or moved <= 1e-24 * size:
            return


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _update_residual(blocks, g, w, old, r):
    """Subtract the effect of the changed weights from the residual; return the squared norm of the change."""
    XT, start, change = blocks.XT, blocks.first[g], 0.0
    for j in range(blocks.first[g + 1] - start):
        delta = w[start + j] - old[j]
        if delta != 0.0:
            change += delta * delta
            for i in range(r.size):
                r[i] -= delta * XT[start + j, i]
    return change


# The group LASSO (lam1 = 0): each group is minimised exactly, in the eigenvectors of its Gram matrix.


class EigenBlocks(NamedTuple):
    """The table in blocks of columns, and X_g'DX_g = V diag(d) V' of each group that was prepared."""

    XT: NDArray[np.float64]  # as in ``Blocks``
    first: NDArray[np.int64]
    values: NDArray[np.float64]  # (n_features,), the eigenvalues d of each group, in increasing order
    vectors: NDArray[np.float64]  # the matrices V, concatenated
    vectors_first: NDArray[np.int64]  # (n_groups,), start of each group's V in ``vectors``


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def group_norms(XT, r, first, chosen, norms):
    """Write ||X_g'r||_2 into ``norms`` for the groups ``chosen``."""
    for c in range(chosen.size):
        g = chosen[c]
        squared = 0.0
        for j in range(first[g], first[g + 1]):
            total = 0.0
            for i in range(r.size):
                total += XT[j, i] * r[i]
            squared += total * total
        norms[g] = np.sqrt(squared)


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def unit_columns(XT, unit, lengths):
    """Write the columns divided by their norm into ``unit`` (float32, as ``XT``), and the norms into ``lengths``."""
    for j in range(lengths.size):
        squared = 0.0
        for i in range(XT.shape[1]):
            squared += XT[j, i] * XT[j, i]
        lengths[j] = np.sqrt(squared)
        factor = 1.0 / lengths[j] if lengths[j] > 0.0 else 0.0
        for i in range(XT.shape[1]):
            unit[j, i] = np.float32(factor * XT[j, i])


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def bound_group_norms(unit, lengths, direction, size, first, rounding, norms):
    """Write upper bounds on ||X_g'r||_2 into ``norms``; r is ``size`` times ``direction``, (n,) float32.

    ``rounding`` bounds the error of a product of two unit vectors.
    """
    for g in range(norms.size):
        squared, lengths_squared = 0.0, 0.0
        for j in range(first[g], first[g + 1]):
            total = direction[0] * np.float32(0.0)
            for i in range(direction.size):
                total += unit[j, i] * direction[i]
            squared += (lengths[j] * total) ** 2
            lengths_squared += lengths[j] ** 2
        norms[g] = size * (np.sqrt(squared) + rounding * np.sqrt(lengths_squared))


@njit(cache=True, nogil=True, _nrt=False, forceinline=True, **INNER)
def _is_nonzero(w, start, stop):
    nonzero = False
    for j in range(start, stop):
        nonzero = nonzero or w[j] != 0.0
    return nonzero


@njit(cache=True, nogil=True, _nrt=False)
def nonzero_groups(w, first, chosen, nonzero):
    """Write the groups of ``chosen`` with a nonzero weight into ``nonzero``; return how many they are."""
    count = 0
    for c in range(chosen.size):
        if _is_nonzero(w, first[chosen[c]], first[chosen[c] + 1]):
            nonzero[count] = chosen[c]
            count += 1
    return count


@njit(cache=True, nogil=True, _nrt=False)
def add_scaled(w, last, share, first, chosen, out):
    """Write w + share (w - last) into ``out`` for the groups ``chosen``."""
    for c in range(chosen.size):
        for j in range(first[chosen[c]], first[chosen[c] + 1]):
            out[j] = w[j] + share * (w[j] - last[j])


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def add_product(XT, w, first, chosen, out):
    """Add Xw to ``out``, over the columns of the groups ``chosen``."""
    for c in range(chosen.size):
        for j in range(first[chosen[c]], first[chosen[c] + 1]):
            if w[j] != 0.0:
                for i in range(out.size):
                    out[i] += w[j] * XT[j, i]


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def weighted_grams(XT, first, chosen, weights, centre, grams, row):
    """Write X_g'DX_g of the groups ``chosen``, all of one size m, into ``grams`` (n_chosen, m, m).

    D has the diagonal ``weights``; with ``centre``, columns are centred by their weighted means. ``row`` is (n,).
    """
    total = 0.0
    for i in range(row.size):
        total += weights[i]
    for c in range(chosen.size):
        start, stop = first[chosen[c]], first[chosen[c] + 1]
        for j in range(start, stop):
            mean = 0.0
            for i in range(row.size):
                mean += weights[i] * XT[j, i]
            mean = mean / total if centre else 0.0
            for i in range(row.size):
                row[i] = weights[i] * (XT[j, i] - mean)
            for k in range(start, j + 1):
                product = 0.0
                for i in range(row.size):
                    product += row[i] * XT[k, i]
                grams[c, j - start, k - start] = product
                grams[c, k - start, j - start] = product


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST)
def descend_groups(blocks, chosen, lam2, weights, centre, inflation, w, r, buffers, row, enough, max_epochs):
    """Minimise over each group of ``chosen`` in turn, until an epoch lowers the objective by at most ``enough``.

    The loss is quadratic with Hessian X'DX, D has the diagonal ``weights`` and ``r`` is its negative gradient with
    respect to Xw. Each group takes the minimum of an upper bound, whose Hessian is ``inflation`` times the prepared
    matrix: the exact minimum if that is X_g'DX_g. With ``centre``, an intercept is kept at its optimum: the sum of
    ``r`` is 0. ``w`` and ``r`` change in place. Epochs over the nonzero groups alternate with epochs over all.
    ``buffers`` is (3, size of the largest group), ``row`` is (n,). Return the change of the intercept, the decrease in
    the last epoch (at least), and the number of visits to groups.
    """
    total = 0.0
    for i in range(r.size):
        total += weights[i]
    intercept, decrease, visits, everything = 0.0, 0.0, 0, True
    for _epoch in range(max_epochs):
        decrease = 0.0
        for p in range(chosen.size):
            g = chosen[p]
            if not (everything or _is_nonzero(w, blocks.first[g], blocks.first[g + 1])):
                continue
            visits += 1
            lower = _minimise_group(blocks, g, lam2[g], inflation, w, r, buffers)
            if lower > 0.0:
                decrease += lower
                intercept -= _add_change(blocks, g, weights, total if centre else 0.0, buffers[2], r, row)
        if everything and decrease <= enough:
            break
        everything = not everything and decrease <= enough
    return intercept, decrease, visits


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _minimise_group(blocks, g, lam2_g, inflation, w, r, buffers):
    """Minimise over the weights of the group; write their change into ``buffers[2]``, return the decrease (at least).

    With c = V'X_g'r + d V'w_g, the minimum is V v, v_k = c_k / (d_k + lam2_g / h) and h = |v|: the root of
    f(h) = |c / (d h + lam2_g)| = 1. 1 / f is concave and increases, so Newton's steps for 1 / f = 1 converge from
    any start, from the left without overshooting.
    """
    first, c, old, change = blocks.first[g], buffers[0], buffers[1], buffers[2]
    m, base, n = blocks.first[g + 1] - first, blocks.vectors_first[g], r.size
    nonzero, squared = False, 0.0
    for j in range(m):
        slope = 0.0
        for i in range(n):
            slope += blocks.XT[first + j, i] * r[i]
        change[j] = slope
        squared += slope * slope
        nonzero = nonzero or w[first + j] != 0.0
    if not nonzero and squared <= lam2_g * lam2_g:
        return 0.0
    size, squared = 0.0, 0.0
    for k in range(m):
        c[k], old[k] = 0.0, 0.0
    for j in range(m):
        for k in range(m):
            c[k] += blocks.vectors[base + j * m + k] * change[j]
            old[k] += blocks.vectors[base + j * m + k] * w[first + j]
    for k in range(m):
        c[k] += inflation * blocks.values[first + k] * old[k]
        squared += c[k] * c[k]
        size += old[k] * old[k]
    largest = inflation * blocks.values[first + m - 1]
    if largest <= 0.0:
        return 0.0
    zero = squared <= lam2_g * lam2_g
    if not zero:
        least = (np.sqrt(squared) - lam2_g) / largest
        h = max(np.sqrt(size), least)
        for _step in range(MAX_ROOT_STEPS):
            f2, slope = 0.0, 0.0
            for k in range(m):
                d = inflation * blocks.values[first + k]
                inverse = 1.0 / (d * h + lam2_g)
                part = c[k] * inverse
                f2 += part * part
                slope += part * part * d * inverse
            if slope <= 0.0:
                break
            f = np.sqrt(f2)
            h = max(h + f2 * (f - 1.0) / slope, least)
            if abs(f - 1.0) <= ROOT_TOLERANCE:
                break
    decrease = 0.0
    for k in range(m):
        d = inflation * blocks.values[first + k]
        delta = (0.0 if zero else h * c[k] / (d * h + lam2_g)) - old[k]
        decrease += 0.5 * d * delta * delta
        c[k] = delta
    for j in range(m):
        delta = 0.0
        for k in range(m):
            delta += blocks.vectors[base + j * m + k] * c[k]
        change[j] = -w[first + j] if zero else delta
        w[first + j] += change[j]
    return decrease


@njit(cache=True, nogil=True, _nrt=False, fastmath=FAST, forceinline=True, **INNER)
def _add_change(blocks, g, weights, total, change, r, row):
    """Update ``r`` after a change of the group; return by how much the intercept falls, 0 if ``total`` is 0."""
    first, m = blocks.first[g], blocks.first[g + 1] - blocks.first[g]
    for j in range(m % 4):
        a, A = change[j], blocks.XT[first + j]
        if j == 0:
            for i in range(row.size):
                row[i] = a * A[i]
        else:
            for i in range(row.size):
                row[i] += a * A[i]
    for j in range(m % 4, m, 4):
        a, b, c, d = change[j], change[j + 1], change[j + 2], change[j + 3]
        A, B, C, D = blocks.XT[first + j], blocks.XT[first + j + 1], blocks.XT[first + j + 2], blocks.XT[first + j + 3]
        if j == 0:
            for i in range(row.size):
                row[i] = (a * A[i] + b * B[i]) + (c * C[i] + d * D[i])
        else:
            for i in range(row.size):
                row[i] += (a * A[i] + b * B[i]) + (c * C[i] + d * D[i])
    shift = 0.0
    if total > 0.0:
        for i in range(row.size):
            shift += weights[i] * row[i]
        shift /= total
    for i in range(row.size):
        r[i] -= weights[i] * (row[i] - shift)
    return shift


@njit(cache=True, nogil=True, _nrt=False)
def logistic_loss(eta, y, residual, curvature, least):
    """Write y - p and max(p (1 - p), ``least``) into ``residual`` and ``curvature``; return the summed loss."""
    total = 0.0
    for i in range(eta.size):
        e = np.exp(-abs(eta[i]))
        p = 1.0 / (1.0 + e)
        curvature[i] = max(e * p * p, least)
        residual[i] = y[i] - (p if eta[i] >= 0.0 else e * p)
        total += max(eta[i], 0.0) + np.log1p(e) - y[i] * eta[i]
    return total


@njit(cache=True, nogil=True, _nrt=False)
def logistic_intercept(margin, wanted, low, high):
    """Return the root b of sum(expit(margin + b)) = ``wanted`` in [low, high], by safeguarded Newton steps from 0."""
    b = 0.0
    for _step in range(100):
        if not low < b < high:
            b = 0.5 * (low + high)
        excess, slope = -wanted, 0.0
        for i in range(margin.size):
            e = np.exp(-abs(margin[i] + b))
            p = 1.0 / (1.0 + e)
            excess += p if margin[i] + b >= 0.0 else e * p
            slope += e * p * p
        if excess > 0.0:
            high = b
        else:
            low = b
        if abs(excess) <= 1e-14 * margin.size:
            break
        b = b - excess / slope if slope > 0.0 else np.inf
    return b
