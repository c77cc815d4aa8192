"""Which acquisitions can ever be made for a row: their values and those of all their prerequisites are available."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fsgym.rules.rules import Rules


def obtainable(rules: Rules, X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The acquisitions that some sequence of acquisitions reaches for each row, bool (n_samples, J).

    An acquisition without an available value cannot be made, so neither can those that it is a prerequisite of. Budgets
    and relations are not taken into account.
    """
    reached = rules.acquisitions_of(~np.isnan(X))
    if rules.prerequisites is None:
        return reached
    for _ in range(rules.n_acquisitions):
        lacks = (~reached).astype(np.int64) @ rules.prerequisites.T.astype(np.int64) > 0
        if not (reached & lacks).any():
            break
        reached &= ~lacks
    return reached


def without_unobtainable(rules: Rules, X: NDArray[np.float32]) -> NDArray[np.float32]:
    """``X`` (n_samples, n_features) with NaN for values that no sequence of acquisitions reveals; ``X`` if all are."""
    known = ~np.isnan(X)
    hidden = rules.acquisitions_of(known) & ~obtainable(rules, X)
    if not hidden.any():
        return X
    shown = np.array(X)
    for j in np.flatnonzero(hidden.any(axis=0)):
        shown[np.ix_(hidden[:, j], np.array(rules.groups[j]))] = np.nan
    return shown
