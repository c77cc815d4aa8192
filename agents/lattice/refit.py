"""The final classifiers and regressions of the subsets that a policy holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.lattice import constants as const
from agents.lattice.held import continuation_of, held_subsets
from agents.lattice.moves import extended
from agents.lattice.plan import SubsetRules, make_plan
from agents.lattice.policy import LatticePolicy
from agents.lattice.state_features import state_features
from agents.lattice.subset_classifier import ONLY_LOGISTIC, CrossFit, fit_classifier
from agents.lattice.sweep import ADAPTIVE, STOP, SweepPolicy
from agents.parallel import TaskRunner


def refit(policies: list[SweepPolicy], run: TaskRunner, unknown: float = 0.0) -> LatticePolicy:
    """Fit classifiers and regressions of the subsets that are held to all rows; their targets stay cross-fitted.

    The classifiers that only rows with unobtainable or known values reach have smaller forests and, of a large table,
    learn from the sample only.

    Parameters
    ----------
    policies : list of SweepPolicy
        The policy, and one without a base for rows that cannot obtain all of the base of the first.
    run : TaskRunner
    unknown : float, as in ``LatticeClassifier``
    """
    held = held_subsets(policies, unknown)
    data, rules = policies[0].lattice.data, policies[0].lattice.rules
    place = {z: v for v, z in enumerate(held)}
    unblended = CrossFit(np.empty(0, np.float32), ONLY_LOGISTIC, 1.0)  # for subsets that are passed through: any fits
    full_share = next(share for limit, share in const.SHARE_OF_FINAL_TREES.items() if len(data.y) <= limit)
    tasks, reached = [], [set(policy.reachable()) for policy in policies]
    for policy, z, _, _ in held.values():
        often = z in reached[policies.index(policy)]
        rows, share = (data.all_rows or data, full_share) if often else (data, const.SHARE_OF_TREES_OF_BACKUPS)
        tasks.append((rows, policy.lattice.features(z), policy.lattice.nodes[z].cross_fit or unblended, share))
    classifiers = run(fit_classifier, tasks)
    decisions = []
    for policy, z, places, _ in held.values():
        choice, lattice = policy.choices[z], policy.lattice
        children, mode = [choice.children[k] for k in places], choice.mode if places else STOP
        theta: NDArray = np.zeros(0)
        if mode == ADAPTIVE:
            obtainable = lattice.obtainable[:, [j for j, _, _ in children]]
            weight = data.weighted(policy.arrivals[z] + const.REGRESSION_BASE_WEIGHT)
            features = state_features(lattice, lattice.nodes[z])
            theta = features.fit(choice.advantage[:, places], weight, obtainable)  # type: ignore[index]
        moves = [(j, place[extended(q, lattice.base)]) for j, q, _ in children]
        decisions.append(SubsetRules(mode, moves, theta))
    taken = np.zeros((len(held), rules.n_acquisitions), bool)
    for z, v in place.items():
        taken[v, list(z)] = True
    return LatticePolicy(taken, make_plan(data.basis, classifiers, decisions), continuation_of(held), rules)
