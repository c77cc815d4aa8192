"""Observations: phi(x, z) = [z, mu(x, z)] (Dulac-Arnold et al., 2012, section 3.3).

The first half is z, 1 where a value is known; the second is mu, the value where it is known, else 0.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def _reveal_feature(X, row, i, e, observation):
    # i is unsigned, which spares a check for a negative index at each of the three accesses
    value = X[row, i]
    if not np.isnan(value):
        observation[e, i] = 1.0
        observation[e, np.uintp(X.shape[1]) + i] = value


@njit(cache=True, nogil=True, forceinline=True, _nrt=False)
def reveal(t, j, X, row, e, observation):
    """Write the features of acquisition j in ``X[row]`` into ``observation[e]``; NaN stays unknown."""
    if t.member.size == t.costs.size:  # one feature per acquisition: a loop would double the time
        _reveal_feature(X, row, np.uint32(t.member[j]), e, observation)
    else:
        for k in range(t.member_first[j], t.member_first[j + 1]):
            _reveal_feature(X, row, np.uint32(t.member[k]), e, observation)
