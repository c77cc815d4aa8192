"""The sums of a network's first layer, updated by the values of one acquisition only."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from agents.anystate.network.embedded_rows import EmbeddedRows


def add_acquisitions(
    sums: NDArray[np.float32],
    weights: NDArray[np.float32],
    which: NDArray[np.int64],
    rows: EmbeddedRows,
    row: NDArray[np.int64],
    chosen: NDArray[np.int64],
) -> None:
    """Add to ``sums`` what one more acquisition in each of n states changes.

    Parameters
    ----------
    sums : float32 (n, n_units), of the first layer in each state before the acquisition; changed
    weights : float32 (n_networks, n_inputs, n_units), of the first layers
    which : int64 (n,), the network of each state
    rows : EmbeddedRows
    row : int64 (n,)
    chosen : int64 (n,), a candidate, or -1 for none
    """
    _add_acquisitions(sums, weights, which, row, chosen, (rows.blocks, rows.present, *rows.revealed))


@njit(cache=True, nogil=True, _nrt=False)
def _add_acquisitions(sums, weights, which, row, chosen, data):
    blocks, present, begin, features = data
    n_blocks, m, n_units = blocks.shape[1], blocks.shape[2], sums.shape[1]
    for s in range(len(row)):
        r, w, candidate = row[s], which[s], chosen[s]
        if candidate < 0:
            continue
        for at in range(begin[candidate], begin[candidate + 1]):
            i = features[at]
            if not present[r, i]:
                continue
            for k in range(n_blocks + 1):
                value, place = blocks[r, k, i] if k < n_blocks else np.float32(1), k * m + i
                for u in range(n_units):  # plain, so that it is compiled to vector instructions
                    sums[s, u] += value * weights[w, place, u]
