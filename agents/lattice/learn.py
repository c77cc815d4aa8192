"""Policy iteration on a lattice of subsets of the features: the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.constants import (
    DEFAULT_KAPPA,
    EXPECTED_COST_SHARE,
    FALL_OF_LIMITED_GROWTH,
    N_FINAL_SWEEPS,
    N_GROWTH_ROUNDS,
    REGRESSION_BASE_WEIGHT,
    SHARE_OF_TREES_OF_BACKUPS,
)
from agents.lattice.growth import add_children, add_initial_subsets, add_smaller_subsets
from agents.lattice.held import continuation_of, held_subsets
from agents.lattice.moves import Subset, extended
from agents.lattice.nodes import Lattice
from agents.lattice.plan import SubsetRules, make_plan
from agents.lattice.policy import LatticePolicy
from agents.lattice.state_features import state_features
from agents.lattice.subset_classifier import ONLY_LOGISTIC, CrossFit, fit_classifier
from agents.lattice.sweep import ADAPTIVE, STOP, SweepPolicy
from agents.lattice.training_data import TrainingData
from agents.parallel import TaskRunner
from fsgym.rules import Rules


class TrainingResult(NamedTuple):
    """The policy of the last sweep, all of it cross-fitted, and how it was learnt.

    Attributes
    ----------
    policy : SweepPolicy
    history : list of dict, figures of each sweep
    limited_by : str or None
        The limit, "subsets" or "operations", that stopped the growth while the loss was still falling.
    without_base : SweepPolicy, or None where ``policy`` has no base
        For rows that cannot obtain all of the base.
    """

    policy: SweepPolicy
    history: list[dict[str, float]]
    limited_by: str | None
    without_base: SweepPolicy | None = None

    @property
    def policies(self) -> list[SweepPolicy]:
        return [self.policy] if self.without_base is None else [self.policy, self.without_base]


def learn(
    data: TrainingData,
    rules: Rules,
    run: TaskRunner,
    *,
    kappa: float = DEFAULT_KAPPA,
    beta: float | None = None,
    classifiers: dict[Subset, CrossFit] | None = None,
    base: Subset = (),
    effort: float = 1.0,
) -> TrainingResult:
    """Alternate sweeps, which improve and evaluate the policy, with growth of the lattice where it loses most.

    Parameters
    ----------
    data : TrainingData
    rules : Rules
    run : TaskRunner
    kappa, beta : float, as in ``LatticeClassifier``
    classifiers : dict subset -> CrossFit, optional
        Classifiers that are already cross-fitted; new ones are added. They depend neither on prices nor error costs.
    base : tuple of int
        Acquisitions that each row makes first, all at a price of 0.
    effort : float, factor of the limits of the lattice
    """
    if beta is None:
        beta = next(share for limit, share in EXPECTED_COST_SHARE.items() if data.effective_size <= limit)
    lattice = Lattice(data, rules, beta, run, classifiers, base, effort)
    add_initial_subsets(lattice)
    policy, history = SweepPolicy(lattice, None, kappa), []
    for _ in range(N_GROWTH_ROUNDS):
        policy = SweepPolicy(lattice, policy.arrivals, kappa)
        history.append(_sweep_figures(lattice, policy))
        add_children(lattice, policy)
        add_smaller_subsets(lattice, policy)
    for _ in range(N_FINAL_SWEEPS):
        policy = SweepPolicy(lattice, policy.arrivals, kappa)
        history.append(_sweep_figures(lattice, policy))
    return TrainingResult(policy, history, _limit(lattice, history))


def _limit(lattice: Lattice, history: list[dict[str, float]]) -> str | None:
    """The limit that ended the growth while the loss was still falling, None without one.

    That of the number of subsets does not count on few rows, where it only keeps the luckiest from being chosen.
    """
    refused = [limit for limit in lattice.refused_by if limit == "operations" or not lattice.data.is_small]
    losses = [figures["training_loss"] for figures in history[:N_GROWTH_ROUNDS]]
    falling = losses[-1] < (1 - FALL_OF_LIMITED_GROWTH) * losses[0]
    return refused[-1] if refused and (falling or lattice.cut_chain) else None


def limit_warning(result: TrainingResult, effort: float) -> str:
    """The sentence for a user whose lattice was limited."""
    return (
        f"at lam={result.policy.lattice.rules.lam:g} the lattice reached its limit of {result.limited_by} while its "
        f"loss was still falling: a larger effort, such as effort={4 * effort:g}, may find a better policy"
    )


def _sweep_figures(lattice: Lattice, policy: SweepPolicy) -> dict[str, float]:
    sizes = {"subsets": len(lattice.nodes), "visited": len(policy.reachable()), "training_loss": policy.loss}
    return sizes | policy.usage()


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
    tasks, reached = [], [set(policy.reachable()) for policy in policies]
    for policy, z, _, _ in held.values():
        often = z in reached[policies.index(policy)]
        rows, share = (data.all_rows or data, 1.0) if often else (data, SHARE_OF_TREES_OF_BACKUPS)
        tasks.append((rows, policy.lattice.features(z), policy.lattice.nodes[z].cross_fit or unblended, share))
    classifiers = run(fit_classifier, tasks)
    decisions = []
    for policy, z, places, _ in held.values():
        choice, lattice = policy.choices[z], policy.lattice
        children, mode = [choice.children[k] for k in places], choice.mode if places else STOP
        theta: NDArray = np.zeros(0)
        if mode == ADAPTIVE:
            obtainable = lattice.obtainable[:, [j for j, _, _ in children]]
            weight = data.weighted(policy.arrivals[z] + REGRESSION_BASE_WEIGHT)
            features = state_features(lattice, lattice.nodes[z])
            theta = features.fit(choice.advantage[:, places], weight, obtainable)  # type: ignore[index]
        moves = [(j, place[extended(q, lattice.base)]) for j, q, _ in children]
        decisions.append(SubsetRules(mode, moves, theta))
    taken = np.zeros((len(held), rules.n_acquisitions), bool)
    for z, v in place.items():
        taken[v, list(z)] = True
    return LatticePolicy(taken, make_plan(data.basis, classifiers, decisions), continuation_of(held), rules)
