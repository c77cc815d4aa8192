"""How much all disjunctions that are not active could still gain: sums over exponentially many, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.hkl.lattice import ActiveSet, Lattice, Sources
from baselines.hkl.problem import Matrix, Vector

BLOCK = 64  # rows, or disjunctions, at a time: so that the one matrix is all that is large
LONGEST = 6  # sums over disjunctions up to a length are exact to here; above, the sum over all of them is the bound


class Certificate:
    """alpha' Q(u) alpha = sum over v that hold u of t_v^2 / (sum of delta_w over u <= w <= v)^2, for sources u.

    With prices d_l the inner sum is scale * prod_{l in u} d_l * prod_{l in v, not in u} (1 + d_l). Since the
    multipliers of the two classes balance, t_v is minus the sum of a_i over the rows where v is false, and the sum over
    v is b' M b with M_ij = prod_l (1 + s_l z_il z_jl), s_l = 1 / (1 + d_l)^2, z = 1 - x, and b_i = a_i where u is
    false, else 0. M is one fixed matrix: it is held once, ``n^2 * 8`` bytes for n different rows.

    Where length is limited to K, M becomes elementary symmetric sums of s_l z_il z_jl up to order K - |u|.

    Parameters
    ----------
    Z : ndarray (n, n_literals), float64, the different rows of 1 - X
    lattice : Lattice
    """

    def __init__(self, Z: Matrix, lattice: Lattice) -> None:
        self.Z, self.lattice = Z, lattice
        self.s = 1.0 / (1.0 + lattice.prices) ** 2
        self.limited = lattice.longest < lattice.n_literals and lattice.longest <= LONGEST
        self._held: tuple[tuple[int, int], Matrix] | None = None

    def values(self, a: Vector, active: ActiveSet, sources: Sources) -> Vector:
        """alpha' Q(u) alpha of each source; ``a`` is alpha times y, summed over equal rows."""
        groups = self.lattice.group[sources.literal]
        found = np.empty(len(sources))
        for g in np.unique(groups):
            mine = np.flatnonzero(groups == g)
            some = Sources(sources.parent[mine], sources.literal[mine])
            found[mine] = (self._limited if self.limited else self._unlimited)(int(g), a, active, some)
        return found

    def _unlimited(self, g: int, a: Vector, active: ActiveSet, sources: Sources) -> Vector:
        logs = np.log1p(self.s)
        own = np.array([*(logs[list(u)].sum() for u in active.nodes), 0.0])[sources.parent] + logs[sources.literal]
        rest = logs[self.lattice.group == g].sum() - own - 2.0 * np.log(active.source_delta(sources))
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.exp(rest) * self._forms(g, -1, a, active, sources)
        return np.where(np.isnan(found), np.inf, found)  # what is too large to be known bounds nothing

    def _limited(self, g: int, a: Vector, active: ActiveSet, sources: Sources) -> Vector:
        """Sums of b' E_k b over orders k, with u's own literals taken out by the series of 1 / prod (1 + s_l x)."""
        K, s = self.lattice.longest, self.s
        series = np.array([*(complete(-s[list(u)], K) for u in active.nodes), complete(s[:0], K)])[sources.parent]
        for k in range(1, K + 1):
            series[:, k] -= s[sources.literal] * series[:, k - 1]
        sums = series.cumsum(axis=1)
        left = K - 1 - np.array([*map(len, active.nodes), 0])[sources.parent]  # literals that may still be added
        total = np.zeros(len(sources))
        for order in range(int(left.max(initial=-1)) + 1):
            some = np.flatnonzero(left >= order)
            forms = self._forms(g, order, a, active, Sources(sources.parent[some], sources.literal[some]))
            total[some] += sums[some, left[some] - order] * forms
        return np.maximum(total, 0.0) / active.source_delta(sources) ** 2

    def _forms(self, g: int, order: int, a: Vector, active: ActiveSet, sources: Sources) -> Vector:
        """b' M b of each source, parent by parent: only rows where the parent is false and a is not 0 take part."""
        M, found = (None if order == 0 else self._matrix(g, order)), np.empty(len(sources))
        for parent in np.unique(sources.parent):
            mine = np.flatnonzero(sources.parent == parent)
            taken = a != 0.0
            if parent >= 0:
                taken &= self.Z[:, list(active.nodes[parent])].all(axis=1)
            rows = np.flatnonzero(taken)
            for first in range(0, len(mine), BLOCK):
                some = mine[first : first + BLOCK]
                B = self.Z[np.ix_(rows, sources.literal[some])]
                B *= a[rows, None]
                found[some] = B.sum(axis=0) ** 2 if M is None else forms(M, rows, B)
        return found

    def _matrix(self, g: int, order: int) -> Matrix:
        """The matrix of a group: of order -1 over all lengths, divided by prod(1 + s); else of that order."""
        if self._held is None or self._held[0] != (g, order):
            M = self._held[1] if self._held else np.empty((len(self.Z), len(self.Z)))
            self._held = None
            mine = self.lattice.group == g
            Z, s = (self.Z if mine.all() else self.Z[:, mine]), self.s[mine]
            for first in range(0, len(Z), BLOCK):
                rows = slice(first, first + BLOCK)
                M[rows] = whole(Z[rows], Z, s) if order < 0 else elementary(Z[rows], Z, s, order)
            self._held = (g, order), M
        return self._held[1]


def forms(M: Matrix, rows: NDArray[np.int64], B: Matrix) -> Vector:
    """b' M[rows, rows] b for each column b of B, in blocks so that no second matrix of this size is held."""
    total = np.zeros(B.shape[1])
    for first in range(0, len(rows), BLOCK):
        part = slice(first, first + BLOCK)
        total += np.einsum("ij,ij->j", B[part], M[rows[part]][:, rows] @ B)
    return total


def whole(left: Matrix, right: Matrix, s: Vector) -> Matrix:
    """prod_l (1 + s_l z_il z_jl) / prod_l (1 + s_l)."""
    weights = np.log1p(s)
    return np.exp((left * weights) @ right.T - weights.sum())


def elementary(left: Matrix, right: Matrix, s: Vector, order: int) -> Matrix:
    """The elementary symmetric sum of s_l z_il z_jl of that order, from power sums (Newton's identities)."""
    powers = [(left * s**k) @ right.T for k in range(1, order + 1)]
    sums: list[Matrix] = []
    for k in range(1, order + 1):
        total = (-1.0) ** (k - 1) * powers[k - 1]
        for i in range(1, k):
            total += (-1.0) ** (i - 1) * sums[k - i - 1] * powers[i - 1]
        sums.append(total / k)
    return sums[-1]


def complete(values: Vector, order: int) -> list[float]:
    """Complete homogeneous symmetric sums of order 0 to ``order``: the coefficients of prod 1 / (1 - values x)."""
    sums = [1.0] + [0.0] * order
    for value in values:
        for k in range(1, order + 1):
            sums[k] += value * sums[k - 1]
    return sums
