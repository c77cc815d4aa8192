"""An upper bound on what the inactive disjunctions could gain: sums over exponentially many, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.base import FloatMatrix, FloatVector
from baselines.hkl.lattice import ActiveSet, DisjunctionLattice, Sources

CERTIFICATE_BLOCK = 64  # rows, or disjunctions, at a time: only the one matrix M takes quadratic memory
MAX_EXACT_LENGTH = 6  # with a larger limit on the literals, the sum over disjunctions of any length is the bound


class Certificate:
    """alpha' Q(u) alpha = sum over v that contain u of t_v^2 / (sum of delta_w over u <= w <= v)^2, for sources u.

    With prices d_l the inner sum is scale * prod_{l in u} d_l * prod_{l in v, not in u} (1 + d_l). Since the
    multipliers of the two classes balance, t_v is minus the sum of a_i over the rows where v is false, and the sum over
    v is b' M b with M_ij = prod_l (1 + s_l z_il z_jl), s_l = 1 / (1 + d_l)^2, z = 1 - x, and b_i = a_i where u is
    false, otherwise 0. M is the same for all u and is stored once: ``n^2 * 8`` bytes for n distinct rows.

    If disjunctions have at most K literals, M is a sum of elementary symmetric sums of s_l z_il z_jl up to order
    K - |u|.

    Parameters
    ----------
    Z : ndarray (n, n_literals), float64, the distinct rows of 1 - X
    lattice : Lattice
    """

    def __init__(self, Z: FloatMatrix, lattice: DisjunctionLattice) -> None:
        self.Z, self.lattice = Z, lattice
        self.s = 1.0 / (1.0 + lattice.prices) ** 2
        self.limited = lattice.max_literals < lattice.n_literals and lattice.max_literals <= MAX_EXACT_LENGTH
        self._cached: tuple[tuple[int, int], FloatMatrix] | None = None

    def quadratic_forms(self, a: FloatVector, active: ActiveSet, sources: Sources) -> FloatVector:
        """Return alpha' Q(u) alpha of each source; ``a`` is alpha times y, summed over equal rows."""
        groups = self.lattice.group[sources.literal]
        forms = np.empty(len(sources))
        for g in np.unique(groups):
            in_group = np.flatnonzero(groups == g)
            subset = Sources(sources.parent[in_group], sources.literal[in_group])
            forms[in_group] = (self._limited if self.limited else self._unlimited)(int(g), a, active, subset)
        return forms

    def _unlimited(self, g: int, a: FloatVector, active: ActiveSet, sources: Sources) -> FloatVector:
        logs = np.log1p(self.s)
        own = np.array([*(logs[list(u)].sum() for u in active.nodes), 0.0])[sources.parent] + logs[sources.literal]
        rest = logs[self.lattice.group == g].sum() - own - 2.0 * np.log(active.source_delta(sources))
        with np.errstate(over="ignore", invalid="ignore"):
            forms = np.exp(rest) * self._block_forms(g, -1, a, active, sources)
        return np.where(np.isnan(forms), np.inf, forms)  # overflow: no finite bound

    def _limited(self, g: int, a: FloatVector, active: ActiveSet, sources: Sources) -> FloatVector:
        """Return sums of b' E_k b over orders k; the series of 1 / prod (1 + s_l x) removes the literals of u."""
        K, s = self.lattice.max_literals, self.s
        node_series = [complete_symmetric_sums(-s[list(u)], K) for u in active.nodes]
        series = np.array([*node_series, complete_symmetric_sums(s[:0], K)])[sources.parent]
        for k in range(1, K + 1):
            series[:, k] -= s[sources.literal] * series[:, k - 1]
        sums = series.cumsum(axis=1)
        left = K - 1 - np.array([*map(len, active.nodes), 0])[sources.parent]  # literals that may still be added
        total = np.zeros(len(sources))
        for order in range(int(left.max(initial=-1)) + 1):
            subset = np.flatnonzero(left >= order)
            forms = self._block_forms(g, order, a, active, Sources(sources.parent[subset], sources.literal[subset]))
            total[subset] += sums[subset, left[subset] - order] * forms
        return np.maximum(total, 0.0) / active.source_delta(sources) ** 2

    def _block_forms(self, g: int, order: int, a: FloatVector, active: ActiveSet, sources: Sources) -> FloatVector:
        """Return b' M b of each source, parent by parent; only rows count where the parent is false and a is not 0."""
        M, forms = (None if order == 0 else self._matrix(g, order)), np.empty(len(sources))
        for parent in np.unique(sources.parent):
            in_group = np.flatnonzero(sources.parent == parent)
            taken = a != 0.0
            if parent >= 0:
                taken &= self.Z[:, list(active.nodes[parent])].all(axis=1)
            rows = np.flatnonzero(taken)
            for first in range(0, len(in_group), CERTIFICATE_BLOCK):
                subset = in_group[first : first + CERTIFICATE_BLOCK]
                B = self.Z[np.ix_(rows, sources.literal[subset])]
                B *= a[rows, None]
                forms[subset] = B.sum(axis=0) ** 2 if M is None else blockwise_forms(M, rows, B)
        return forms

    def _matrix(self, g: int, order: int) -> FloatMatrix:
        """Return the matrix of group ``g``: E of that order, or with order -1 M over all lengths, over prod(1 + s)."""
        if self._cached is None or self._cached[0] != (g, order):
            M = self._cached[1] if self._cached else np.empty((len(self.Z), len(self.Z)))
            self._cached = None
            in_group = self.lattice.group == g
            Z, s = (self.Z if in_group.all() else self.Z[:, in_group]), self.s[in_group]
            for first in range(0, len(Z), CERTIFICATE_BLOCK):
                rows = slice(first, first + CERTIFICATE_BLOCK)
                M[rows] = product_matrix(Z[rows], Z, s) if order < 0 else elementary_matrix(Z[rows], Z, s, order)
            self._cached = (g, order), M
        return self._cached[1]


def blockwise_forms(M: FloatMatrix, rows: NDArray[np.int64], B: FloatMatrix) -> FloatVector:
    """Return b' M[rows, rows] b for each column b of B, in blocks, without a second matrix of the size of M."""
    total = np.zeros(B.shape[1])
    for first in range(0, len(rows), CERTIFICATE_BLOCK):
        part = slice(first, first + CERTIFICATE_BLOCK)
        total += np.einsum("ij,ij->j", B[part], M[rows[part]][:, rows] @ B)
    return total


def product_matrix(left: FloatMatrix, right: FloatMatrix, s: FloatVector) -> FloatMatrix:
    """Return prod_l (1 + s_l z_il z_jl) / prod_l (1 + s_l)."""
    weights = np.log1p(s)
    return np.exp((left * weights) @ right.T - weights.sum())


def elementary_matrix(left: FloatMatrix, right: FloatMatrix, s: FloatVector, order: int) -> FloatMatrix:
    """Return the elementary symmetric sum of s_l z_il z_jl of that order, from power sums (Newton's identities)."""
    powers = [(left * s**k) @ right.T for k in range(1, order + 1)]
    sums: list[FloatMatrix] = []
    for k in range(1, order + 1):
        total = (-1.0) ** (k - 1) * powers[k - 1]
        for i in range(1, k):
            total += (-1.0) ** (i - 1) * sums[k - i - 1] * powers[i - 1]
        sums.append(total / k)
    return sums[-1]


def complete_symmetric_sums(values: FloatVector, order: int) -> list[float]:
    """Return the complete homogeneous symmetric sums of orders 0 to ``order``.

    They are the coefficients of prod 1 / (1 - values x).
    """
    sums = [1.0] + [0.0] * order
    for value in values:
        for k in range(1, order + 1):
            sums[k] += value * sums[k - 1]
    return sums
