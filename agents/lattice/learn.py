"""Policy iteration on a lattice of subsets of the features: the loop."""

from __future__ import annotations

from typing import NamedTuple

from agents.lattice.constants import (
    DEFAULT_KAPPA,
    EXPECTED_COST_SHARE,
    FALL_OF_LIMITED_GROWTH,
    N_FINAL_SWEEPS,
    N_GROWTH_ROUNDS,
)
from agents.lattice.growth import add_children, add_initial_subsets, add_smaller_subsets
from agents.lattice.nodes import Lattice, Subset
from agents.lattice.subset_classifier import CrossFit
from agents.lattice.sweep import SweepPolicy
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

    def usage(self) -> dict[str, float]:
        """As ``SweepPolicy.usage``."""
        return self.policy.usage()

    @property
    def policies(self) -> list[SweepPolicy]:
        return [self.policy] if self.without_base is None else [self.policy, self.without_base]


class LearningSettings(NamedTuple):
    """``kappa``, ``beta`` and ``effort`` as in ``LatticeClassifier``."""

    kappa: float = DEFAULT_KAPPA
    beta: float | None = None
    effort: float = 1.0


DEFAULT_SETTINGS = LearningSettings()


def learn(
    data: TrainingData,
    rules: Rules,
    run: TaskRunner,
    *,
    settings: LearningSettings = DEFAULT_SETTINGS,
    classifiers: dict[Subset, CrossFit] | None = None,
    base: Subset = (),
    forbidden: Subset = (),
) -> TrainingResult:
    """Alternate sweeps, which improve and evaluate the policy, with growth of the lattice where it loses most.

    Parameters
    ----------
    data : TrainingData
    rules : Rules
    run : TaskRunner
    settings : LearningSettings
    classifiers : dict subset -> CrossFit, optional
        Classifiers that are already cross-fitted; new ones are added. They depend neither on prices nor error costs.
    base : tuple of int
        Acquisitions that each row makes first, all at a price of 0.
    forbidden : tuple of int, acquisitions that no row makes
    """
    kappa, beta, effort = settings
    if beta is None:
        beta = next(share for limit, share in EXPECTED_COST_SHARE.items() if data.effective_size <= limit)
    lattice = Lattice(data, rules, beta, run, classifiers, base, forbidden, effort)
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

    That of the number of subsets does not count on few rows, where it only keeps the luckiest from being chosen, unless
    ``effort`` lowers it.
    """
    all_count = lattice.effort < 1 or not lattice.data.is_small
    refused = [limit for limit in lattice.refused_by if all_count or limit == "operations"]
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
