"""Policy iteration on a lattice of subsets of the features: the loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.calibration import PathStates
from agents.lattice import constants as const
from agents.lattice.growth import add_branches, add_children, add_initial_subsets, add_smaller_subsets, has_context
from agents.lattice.nodes import Lattice, Subset
from agents.lattice.subset_classifier import CrossFit
from agents.lattice.sweep import SweepPolicy, standard_error
from agents.lattice.training_data import TrainingData
from agents.parallel import TaskRunner
from fsgym.rules import Rules
from fsgym.text.messages import is_command


class TrainingResult(NamedTuple):
    """The policy of the last sweep, all of it cross-fitted, and how it was learnt."""

    policy: SweepPolicy
    history: list[dict[str, float]]  # figures of each sweep
    # the limit, "subsets" or "operations", that stopped the growth while the loss was still falling
    limited_by: str | None
    # SweepPolicy, or None where ``policy`` has no base, for rows that cannot obtain all of the base
    without_base: SweepPolicy | None = None

    def usage(self) -> dict[str, float]:
        """As ``SweepPolicy.usage``."""
        return self.policy.usage()

    def row_losses(self) -> NDArray[np.float64]:
        """As ``SweepPolicy.row_losses``; NaN for rows of the task that are not in the sample that decides."""
        return self._of_table(self.policy.row_losses())

    def references(self) -> dict[str, tuple[NDArray[np.float64], Subset]]:
        """The losses of rows, as ``row_losses``, that acquire the same whatever they see, and what they acquire.

        "nothing"; "everything", where it is allowed and there is a classifier of all features; "best fixed panel", the
        subset of the lowest loss.
        """
        lattice, found = self.policy.lattice, {}
        data, rules = lattice.data, lattice.rules

        def losses(z: Subset, proba: NDArray) -> NDArray[np.float64]:
            taken = np.zeros((len(data.y), rules.n_acquisitions), bool)
            taken[:, [*lattice.base, *z]] = True
            spent, allowed, _ = rules.price_sets(taken, data.X)
            answers = (proba @ rules.answer_costs.T).argmin(axis=1)
            return np.where(allowed, rules.answer_costs[answers, data.y] + rules.lam * spent, np.inf)

        found["nothing"] = (), losses((), lattice.nodes[()].cross_fit.proba)  # type: ignore[union-attr]
        if lattice.full_model_proba is not None:
            every = tuple(range(rules.n_acquisitions))
            found["everything"] = every, losses(every, lattice.full_model_proba)
        panels = {z: losses(z, node.cross_fit.proba) for z, node in lattice.nodes.items() if z and node.cross_fit}
        if panels:
            best = min(panels, key=lambda z: (data.mean(panels[z]), z))
            found["best fixed panel"] = best, panels[best]
        return {name: (self._of_table(v), z) for name, (z, v) in found.items() if np.isfinite(v).all()}

    def path(self) -> PathStates:
        """The states of the training rows on the paths of the policy, from the first one to the stop, out of fold.

        Without those of subsets that have no classifier, since each row passes through them.
        """
        policy, lattice = self.policy, self.policy.lattice
        data, root, parts = lattice.data, lattice.nodes[()].cross_fit, []
        weight = data.weighted(np.ones(len(data.y)))
        for z, choice in policy.choices.items():
            fitted, rows = lattice.nodes[z].cross_fit, np.flatnonzero(policy.arrivals[z])
            ends = choice.next_child[rows] < 0
            if fitted is None:  # rows that cannot obtain the next acquisition are answered as at the empty subset
                rows, ends = rows[ends], ends[ends]
            proba = (fitted or root).proba[rows].astype(np.float64)  # type: ignore[union-attr]
            size = np.full(len(rows), len(z) + len(lattice.base))
            parts.append(PathStates(proba, data.y[rows], size, ends, data.fold[rows], weight[rows]))
        return PathStates(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def _of_table(self, losses: NDArray[np.float64]) -> NDArray[np.float64]:
        places = self.policy.lattice.data.places
        if places is None:
            return losses
        of_table = np.full(len(places), np.nan)
        of_table[places] = losses
        return of_table

    @property
    def policies(self) -> list[SweepPolicy]:
        return [self.policy] if self.without_base is None else [self.policy, self.without_base]


class LearningSettings(NamedTuple):
    """``kappa``, ``beta`` and ``effort`` as in ``LatticeClassifier``."""

    kappa: float = const.DEFAULT_KAPPA
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
    may_grow: bool = True,
) -> TrainingResult:
    """Sweeps, which improve and evaluate the policy, and growth of the lattice where it loses most, as long as it pays.

    The first lattice is a forward selection with single acquisitions and interactions. On few rows it grows only where
    the value of one acquisition decides which one helps next, and keeps what lowers its loss beyond chance.

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
    may_grow : bool, False for the first lattice alone
    """
    kappa, beta, effort = settings
    if beta is None:
        beta = next(share for limit, share in const.EXPECTED_COST_SHARE.items() if data.size_at_stake <= limit)
    lattice = Lattice(data, rules, beta, run, classifiers, base, forbidden, effort)
    add_initial_subsets(lattice)
    history: list[dict[str, float]] = []
    policy = _swept(SweepPolicy(lattice, None, kappa), const.N_FIRST_SWEEPS, history)
    may_grow = may_grow and (not data.is_small or has_context(lattice))
    for k in range(const.N_GROWTH_ROUNDS if may_grow else 0):
        candidate, grown, entries = policy, policy.lattice.branch(), list[dict[str, float]]()
        if k == 0:
            add_branches(grown)
            candidate = _swept(SweepPolicy(grown, None, kappa), 1, entries)
        add_children(grown, candidate)
        add_smaller_subsets(grown, candidate)
        candidate = _swept(SweepPolicy(grown, candidate, kappa), const.N_FINAL_SWEEPS - 1, entries)
        if not _pays(candidate, policy):
            break
        policy = candidate
        history += entries
    return TrainingResult(policy, history, _limit(policy.lattice, history))


def _swept(policy: SweepPolicy, n_sweeps: int, history: list[dict[str, float]]) -> SweepPolicy:
    """The policy after further sweeps over its lattice, whose figures are added to ``history``."""
    for _ in range(n_sweeps):
        policy = SweepPolicy(policy.lattice, policy, policy.kappa)
        sizes = {"subsets": len(policy.lattice.nodes), "visited": len(policy.reachable())}
        history.append(sizes | {"training_loss": policy.loss} | policy.usage())
    return policy


def _pays(grown: SweepPolicy, policy: SweepPolicy) -> bool:
    """Whether the loss of the training rows falls by some standard errors of the paired difference."""
    data = policy.lattice.data
    difference = grown.choices[()].value - policy.choices[()].value
    margin = next(m for most, m in const.MARGINS_OF_GROWTH.items() if data.size_at_stake <= most)
    error = standard_error(difference, data.weight, policy.lattice.rules)
    return data.mean(difference) < -margin * error


def _limit(lattice: Lattice, history: list[dict[str, float]]) -> str | None:
    """The limit that ended the growth while the loss was still falling, None without one.

    That of the number of subsets does not count on few rows, where it only keeps the luckiest from being chosen, unless
    ``effort`` lowers it.
    """
    all_count = lattice.effort < 1 or not lattice.data.is_small
    refused = [limit for limit in lattice.refused_by if all_count or limit == "operations"]
    first, last = (entry["training_loss"] - lattice.unavoidable for entry in (history[0], history[-1]))
    falling = last < (1 - const.FALL_OF_LIMITED_GROWTH) * first
    return refused[-1] if refused and (falling or lattice.cut_chain) else None


def limit_warning(result: TrainingResult, effort: float) -> str:
    """The sentence for a user whose lattice was limited."""
    larger = f"LatticeClassifier(effort={4 * effort:g})"  # others that train a lattice have no such parameter
    return (
        f"at lam={result.policy.lattice.rules.lam:g} the lattice reached its limit of {result.limited_by} while its "
        "loss was still falling: a larger effort, such as "
        f"{larger}{' in Python' if is_command() else ''}, may find a better policy"
    )
