"""Acquisitions that each row makes first: those that are always known, and those that cost nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.lattice import constants as const
from agents.lattice import screening
from agents.lattice.learn import TrainingResult
from agents.lattice.limits import limits_of
from agents.lattice.moves import Moves, Subset, extended
from agents.lattice.training_data import TrainingData
from fsgym.rules import Rules


def learn_after_base(
    learn_from: Callable[[Subset], TrainingResult],
    data: TrainingData,
    rules: Rules,
    known: Subset,
    free_first: bool,
    skipped: Subset = (),
) -> TrainingResult:
    """Learn a policy that first makes the acquisitions that are known or cost nothing, if that has no higher loss.

    Parameters
    ----------
    learn_from : callable, base -> TrainingResult
    data : TrainingData
    rules : Rules, by which ``known`` cost nothing
    known : tuple of int, acquisitions that come first in any case
    free_first : bool, whether the other acquisitions that cost nothing come first, too
    skipped : tuple of int, acquisitions that no row makes

    Returns
    -------
    TrainingResult, with the policy without a base for rows that cannot obtain all of the base
    """
    plain = learn_from(())
    always = _legal_base(data, rules, known)
    result = learn_from(always)._replace(without_base=plain.policy) if always else plain
    if free_first and rules.lam > 0:
        costs_nothing = np.minimum(rules.costs, rules.unrelated_costs) == 0
        costs_nothing[list(skipped)] = False
        free = np.flatnonzero(costs_nothing).tolist()
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
