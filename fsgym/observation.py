"""What an agent sees of a state: phi(x, z) = [z, mu(x, z)] (Dulac-Arnold et al., 2012, section 3.3)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _show(X, row, i, e, observation):
    # i is unsigned: with a signed one each of the three accesses would first ask whether it counts from the end
    value = X[row, i]
    if not np.isnan(value):
        observation[e, i] = 1.0
        observation[e, np.uintp(X.shape[1]) + i] = value


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def reveal(t, j, X, row, e, observation):
    """Write the features of acquisition j of the datum ``X[row]`` into ``observation[e]``; NaN stays unknown."""
    if t.member.size == t.costs.size:  # one feature each: a loop over one would take as long as all the rest
        _show(X, row, np.uint32(t.member[j]), e, observation)
    else:
        for k in range(t.member_first[j], t.member_first[j + 1]):
            _show(X, row, np.uint32(t.member[k]), e, observation)


def observe(X: NDArray[np.float32], acquired: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Observations, float32 (n_samples, 2 n_features), of the data ``X`` with the features ``acquired`` known.

    The first half is z (1 where the value is known), the second mu (the value where known, else 0).
    """
    z = acquired & ~np.isnan(X)
    return np.concatenate([z.astype(np.float32), np.where(z, X, np.float32(0.0))], axis=1)
