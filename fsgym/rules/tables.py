"""``Rules`` as arrays for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.rules.kernels import NO_BUDGET, Tables, price


def compiled_tables(rules: Any) -> Tables:
    """The parameters of the rules as arrays for compiled code."""
    member, member_first = ragged_to_flat(rules.groups)
    none: list[list[int]] = [[]] * rules.n_acquisitions
    neighbours = none if rules.related is None else [np.flatnonzero(column) for column in rules.related.T]
    needs = none if rules.prerequisites is None else [np.flatnonzero(row) for row in rules.prerequisites]
    neighbour, neighbour_first = ragged_to_flat(neighbours)
    need, need_first = ragged_to_flat(needs)
    limit = np.inf if rules.budget_cost is None else rules.budget_cost * (1 + 1e-9)
    return Tables(
        member,
        member_first,
        rules.costs,
        rules.unrelated_costs,
        neighbour,
        neighbour_first,
        need,
        need_first,
        relational=rules.related is not None,
        all_related=rules.relation == "all",
        empty_is_related=rules.empty_is_related,
        forbid=rules.forbids_unrelated,
        independent=rules.related is None and rules.prerequisites is None and rules.budget_cost is None,
        budget=NO_BUDGET if rules.budget is None else min(rules.budget, NO_BUDGET),
        budget_cost=limit,
    )


def refuse_useless_budget(rules: Any) -> None:
    """ValueError where ``budget_cost`` does not allow any first acquisition."""
    needs = rules.prerequisites
    free = range(rules.n_acquisitions) if needs is None else np.flatnonzero(~needs.any(axis=1))
    cheapest = min(price(rules.tables, rules.blank_state(), 0, j) for j in free)
    if cheapest > rules.tables.budget_cost:
        raise ValueError(
            f"budget_cost {rules.budget_cost:g} is below the cheapest acquisition ({cheapest:g}): "
            "nothing could be acquired; increase it, or use budget=0"
        )


def ragged_to_flat(lists: Sequence[Sequence[int]] | Sequence[NDArray]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Concatenated lists, int32, and the index at which each starts, int32 (n_lists + 1,) with the total at the end."""
    first = np.zeros(len(lists) + 1, np.int32)
    first[1:] = np.cumsum([len(v) for v in lists])
    values = np.concatenate([np.asarray(v, dtype=np.int32) for v in lists]) if len(lists) else np.zeros(0)
    return values.astype(np.int32), first
