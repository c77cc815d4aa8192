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
)
from agents.lattice.growth import add_children, add_initial_subsets, add_smaller_subsets
from agents.lattice.moves import Subset
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
    """

    policy: SweepPolicy
    history: list[dict[str, float]]
    limited_by: str | None


def learn(
    data: TrainingData,
    rules: Rules,
    run: TaskRunner,
    *,
    kappa: float = DEFAULT_KAPPA,
    beta: float | None = None,
    classifiers: dict[Subset, CrossFit] | None = None,
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
    effort : float, factor of the limits of the lattice
    """
    if beta is None:
        beta = next(share for limit, share in EXPECTED_COST_SHARE.items() if data.effective_size <= limit)
    lattice = Lattice(data, rules, beta, run, classifiers, effort)
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
    """The limit that ended the growth while the loss was still falling, None without one."""
    losses = [figures["training_loss"] for figures in history[:N_GROWTH_ROUNDS]]
    falling = losses[-1] < (1 - FALL_OF_LIMITED_GROWTH) * losses[0]
    return lattice.refused_by[-1] if lattice.refused_by and (falling or lattice.cut_chain) else None


def limit_warning(result: TrainingResult, effort: float) -> str:
    """The sentence for a user whose lattice was limited."""
    return (
        f"at lam={result.policy.lattice.rules.lam:g} the lattice reached its limit of {result.limited_by} while its "
        f"loss was still falling: a larger effort, such as effort={4 * effort:g}, may find a better policy"
    )


def _sweep_figures(lattice: Lattice, policy: SweepPolicy) -> dict[str, float]:
    sizes = {"subsets": len(lattice.nodes), "visited": len(policy.reachable()), "training_loss": policy.loss}
    return sizes | policy.usage()


def refit(policy: SweepPolicy, run: TaskRunner) -> LatticePolicy:
    """Fit classifiers and regressions of the reachable subsets to all rows; their targets stay cross-fitted."""
    lattice, reachable = policy.lattice, policy.reachable()
    data, rules = lattice.data, lattice.rules
    place = {z: v for v, z in enumerate(reachable)}
    unblended = CrossFit(np.empty(0, np.float32), ONLY_LOGISTIC, 1.0)  # for subsets that are passed through: any fits
    cross_fits = {z: lattice.nodes[z].cross_fit or unblended for z in reachable}
    rows = data.all_rows or data
    classifiers = run(fit_classifier, [(rows, lattice.features(z), cross_fits[z]) for z in reachable])
    decisions = []
    for z in reachable:
        choice = policy.choices[z]
        theta: NDArray = np.zeros(0)
        if choice.mode == ADAPTIVE:
            obtainable = lattice.obtainable[:, [j for j, _, _ in choice.children]]
            weight = data.weighted(policy.arrivals[z] + REGRESSION_BASE_WEIGHT)
            theta = state_features(lattice, lattice.nodes[z]).fit(choice.advantage, weight, obtainable)  # type: ignore[arg-type]
        mode = choice.mode if choice.children else STOP
        decisions.append(SubsetRules(mode, [(j, place[q]) for j, q, _ in choice.children], theta))
    taken = np.zeros((len(reachable), rules.n_acquisitions), bool)
    for v, z in enumerate(reachable):
        taken[v, list(z)] = True
    return LatticePolicy(taken, make_plan(data.basis, classifiers, decisions), rules)
