"""The sparse group penalty, lam1 |w|_1 + lam2 sum_g v_g |w_g|_2: its value, proximal map and dual norm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.sparse_group_lasso import kernels
from baselines.sparse_group_lasso.groups import ColumnGroups


class Penalty(NamedTuple):
    """The penalty at one pair (lam1, lam2), both at least 0.

    All vectors are float64 (n_features,), in the order of the columns.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), A note on the group lasso and a sparse group lasso; Ndiaye, Fercoq,
    Gramfort and Salmon (2016), GAP safe screening rules for sparse-group lasso.

    Examples
    --------
    >>> import numpy as np
    >>> from baselines.sparse_group_lasso.groups import make_groups
    >>> penalty = Penalty(0.8, 1.0, make_groups(4, "ones", 4))
    >>> penalty.prox(np.array([3.0, -1.0, 0.5, 2.0])).round(4).tolist()
    [1.3249, -0.1204, 0.0, 0.7227]
    """

    lam1: float
    lam2: float
    groups: ColumnGroups

    def value(self, w: NDArray) -> float:
        """Return lam1 |w|_1 + lam2 sum_g v_g |w_g|_2."""
        norms = np.sqrt(self.groups.sums(w[self.groups.order] ** 2))
        return float(self.lam1 * np.abs(w).sum() + self.lam2 * (self.groups.weights @ norms))

    def prox(self, u: NDArray, step: float = 1.0) -> NDArray[np.float64]:
        """Return the minimiser of 1/2 |w - u|^2 + step times the penalty: soft-thresholding, then group shrinkage."""
        places, w = np.ascontiguousarray(u[self.groups.order], np.float64), np.empty(len(u))
        lam2 = self.lam2 * self.groups.weights
        kernels.shrink_groups(places, self.groups.first, float(step * self.lam1), step * lam2)
        w[self.groups.order] = places
        return w

    def dual_norm(self, z: NDArray) -> float:
        """Return the largest z'w over all w of penalty at most 1; inf if both penalties are 0 and z is not."""
        if self.lam1 == 0 and self.lam2 == 0:
            return np.inf if np.any(z) else 0.0
        places, buffer = np.ascontiguousarray(z[self.groups.order]), np.empty(int(self.groups.sizes.max()))
        all_groups = np.arange(len(self.groups.weights))
        lam2 = self.lam2 * self.groups.weights
        return float(kernels.dual_norm(places, self.groups.first, all_groups, float(self.lam1), lam2, buffer))
