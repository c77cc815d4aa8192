"""Policy iteration on a lattice of subsets of the features: the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.constants import (
    DEFAULT_KAPPA,
    EXPECTED_COST_SHARE,
    N_FINAL_SWEEPS,
    N_FOLDS,
    N_GROWTH_ROUNDS,
    REGRESSION_BASE_WEIGHT,
)
from agents.lattice.growth import add_children, add_initial_subsets, add_smaller_subsets
from agents.lattice.held import continuation_of, held_subsets
from agents.lattice.moves import Subset, extended
from agents.lattice.nodes import Lattice
from agents.lattice.plan import SubsetRules, make_plan
from agents.lattice.policy import LatticePolicy
from agents.lattice.state_features import state_features
from agents.lattice.subset_classifier import CrossFit, TrainingData, fit_classifier, stratified_folds
from agents.lattice.sweep import ADAPTIVE, STOP, SweepPolicy
from agents.parallel import TaskRunner
from fsgym.dataset import Dataset
from fsgym.row_groups import grouped_folds
from fsgym.rules import Rules


class TrainingResult(NamedTuple):
    """The policy of the last sweep, all of it cross-fitted, and the figures of each sweep.

    Attributes
    ----------
    policy : SweepPolicy
    history : list of dict, one per sweep
    without_base : SweepPolicy, or None where ``policy`` has no base
        For rows that cannot obtain all of the base.
    """

    policy: SweepPolicy
    history: list[dict[str, float]]
    without_base: SweepPolicy | None = None

    @property
    def policies(self) -> list[SweepPolicy]:
        return [self.policy] if self.without_base is None else [self.policy, self.without_base]


def prepare_data(dataset: Dataset, rng: np.random.Generator, weight: NDArray[np.float64] | None = None) -> TrainingData:
    """The training data with folds, more of them for fewer rows, so that each model sees almost all rows.

    Rows of one group (``row_groups``) are in one fold; otherwise the out-of-fold probabilities would be optimistic.
    ``weight``, float64 (n_samples,) with mean 1, are the weights of the rows; None for equal ones.
    """
    n, n_classes = dataset.n_samples, dataset.n_classes
    size = n * (1 if n_classes == 2 else n_classes)
    n_folds = min(n, next(folds for limit, folds in N_FOLDS.items() if size <= limit))
    if dataset.row_groups is None:
        folds = stratified_folds(dataset.y, n_folds, rng)
    else:
        if dataset.row_groups.max() == 0:
            raise ValueError(f"all training rows of {dataset.name!r} are in one row group, but training needs two")
        folds = grouped_folds(dataset.y, dataset.row_groups, n_folds, rng)
    column_of = None if dataset.columns.is_plain else dataset.columns.column_of
    return TrainingData(dataset.X, dataset.y, n_classes, folds, int(rng.integers(2**31)), weight, column_of)


def learn(
    data: TrainingData,
    rules: Rules,
    run: TaskRunner,
    *,
    kappa: float = DEFAULT_KAPPA,
    beta: float | None = None,
    classifiers: dict[Subset, CrossFit] | None = None,
    base: Subset = (),
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
    """
    if beta is None:
        beta = next(share for limit, share in EXPECTED_COST_SHARE.items() if data.effective_size <= limit)
    lattice = Lattice(data, rules, beta, run, classifiers, base)
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
    return TrainingResult(policy, history)


def _sweep_figures(lattice: Lattice, policy: SweepPolicy) -> dict[str, float]:
    sizes = {"subsets": len(lattice.nodes), "visited": len(policy.reachable()), "training_loss": policy.loss}
    return sizes | policy.usage()


def refit(policies: list[SweepPolicy], run: TaskRunner, unknown: float = 0.0) -> LatticePolicy:
    """Fit classifiers and regressions of the subsets that are held to all rows; their targets stay cross-fitted.

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
    unblended = CrossFit(np.empty(0), 0.5, 1.0)  # for subsets that are passed through: any blend fits
    tasks = []
    for policy, z, _, _ in held.values():
        tasks.append((data, policy.lattice.features(z), policy.lattice.nodes[z].cross_fit or unblended))
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
