"""Acquisitions that each row makes first: those of columns that are always known, and those that cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agents.lattice import constants as const
from agents.lattice import screening
from agents.lattice.learn import TrainingResult
from agents.lattice.limits import limits_of
from agents.lattice.moves import Moves, Subset, extended
from agents.lattice.training_data import TrainingData
from fsgym.checks import brief, explain_unknown, is_integer
from fsgym.columns import Columns
from fsgym.rules import Rules


def acquisitions_of_columns(known: Any, columns: Columns, rules: Rules) -> Subset:
    """The acquisitions of the columns that are always known, ascending.

    Parameters
    ----------
    known : sequence of names of columns or their positions, or None
    columns : Columns
    rules : Rules

    Raises
    ------
    ValueError, TypeError
        If a name or position is unknown, or not all columns of a group are known.
    """
    if known is None:
        return ()
    if isinstance(known, str) or not isinstance(known, Sequence | np.ndarray):
        raise TypeError(f"known must be a list of names or positions of columns, got {brief(known)}")
    place = {name: k for k, name in enumerate(columns.names)}
    features: set[int] = set()
    for column in known:
        if is_integer(column):
            if not 0 <= column < len(columns):
                raise ValueError(f"known must hold positions of columns from 0 to {len(columns) - 1}, got {column}")
            features.update(columns.features[int(column)])
        elif column in place:
            features.update(columns.features[place[column]])
        else:
            raise ValueError(explain_unknown("column in known", column, columns.names))
    acquisitions = []
    for j, group in enumerate(rules.groups):
        if features.issuperset(group):
            acquisitions.append(j)
        elif features.intersection(group):
            lacking = columns.names[columns.column_of[min(set(group) - features)]]
            raise ValueError(
                f"known must hold all columns of {rules.names[j]!r} or none, got it without {lacking!r}; add it"
            )
    return tuple(acquisitions)


def with_known(rules: Rules, known: Subset) -> Rules:
    """The rules with acquisitions that cost nothing and do not count for the budget."""
    if not known:
        return rules
    options, free = rules.options(), list(known)
    options["costs"] = rules.costs.copy()
    options["costs"][free] = 0.0
    if rules.related is not None and not rules.forbids_unrelated:
        options["unrelated_costs"] = rules.unrelated_costs.copy()
        options["unrelated_costs"][free] = 0.0
    if rules.budget is not None:
        options["budget"] = rules.budget + len(known)
    return Rules(rules.n_features, rules.n_classes, names=rules.names, **options)


def learn_after_base(
    learn_from: Callable[[Subset], TrainingResult], data: TrainingData, rules: Rules, known: Subset, free_first: bool
) -> TrainingResult:
    """Learn a policy that first makes the acquisitions that are known or cost nothing, if that has no higher loss.

    Parameters
    ----------
    learn_from : callable, base -> TrainingResult
    data : TrainingData
    rules : Rules, by which ``known`` cost nothing
    known : tuple of int, acquisitions that come first in any case
    free_first : bool, whether the other acquisitions that cost nothing come first, too

    Returns
    -------
    TrainingResult, with the policy without a base for rows that cannot obtain all of the base
    """
    plain = learn_from(())
    always = _legal_base(data, rules, known)
    result = learn_from(always)._replace(without_base=plain.policy) if always else plain
    if free_first and rules.lam > 0:
        free = np.flatnonzero(np.minimum(rules.costs, rules.unrelated_costs) == 0).tolist()
        base = _legal_base(data, rules, extended(always, free))
        if base != always:
            first = learn_from(base)._replace(without_base=plain.policy)
            complete = first.policy.lattice.obtainable[:, list(base)].all(axis=1)
            difference = first.policy.choices[()].value - result.policy.choices[()].value
            if data.mean(complete * difference) <= 0:
                return first
    return result


def _legal_base(data: TrainingData, rules: Rules, acquisitions: Subset) -> Subset:
    """Those of ``acquisitions`` that are legal at the start and cost nothing, the most informative ones if many."""
    if not acquisitions:
        return ()
    moves = Moves(rules)
    legal, prices = moves.at(())
    candidates = [j for j in acquisitions if legal[j] and prices[j] == 0]
    proba = np.tile(data.class_shares(), (len(data.y), 1))
    statistic = screening.score_statistics(data, rules, proba, data.weighted(np.ones(len(data.y))))
    candidates.sort(key=lambda j: (-statistic[j], j))
    base: Subset = ()
    for j in candidates:
        legal, prices = moves.at(base)
        longer = extended(base, (j,))
        features = np.array(sorted(i for k in longer for i in rules.groups[k]), dtype=np.int64)
        if data.operations(features) > limits_of(len(data.y)).n_operations // const.FULL_MODEL_DIVISOR:
            break
        if legal[j] and prices[j] == 0:
            base = longer
    return base
