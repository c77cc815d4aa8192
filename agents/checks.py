"""Checks that several agents make."""

from __future__ import annotations

import numpy as np

from fsgym.rules import Rules

# In units of ``error_costs``. Returns are single precision, where sums of squares of losses must not overflow (3e38),
# and the scores of RCPI must stay far above that of an excluded action (-1e30).
MAX_LOSS = 1e9


def check_largest_loss(rules: Rules) -> None:
    """Raise ValueError if prices and error costs of one row can add up to more than ``MAX_LOSS``."""
    with np.errstate(over="ignore"):
        largest = np.maximum(rules.costs, rules.unrelated_costs).sum() * rules.lam + np.abs(rules.error_costs).max()
    if largest > MAX_LOSS:
        raise ValueError(
            f"prices and error costs must not add up to more than {MAX_LOSS:g} for one row, got {largest:g}; "
            "use a larger unit"
        )
