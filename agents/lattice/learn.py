"""Policy iteration on a lattice of subsets of the features: the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.lattice.describe import describe
from agents.lattice.growth import ROUNDS, first_lattice, grow, shorten
from agents.lattice.heads import CrossFit, Table, fit_head, stratified_folds
from agents.lattice.moves import Subset, with_
from agents.lattice.nodes import Lattice
from agents.lattice.plan import make_plan
from agents.lattice.policy import LatticePolicy
from agents.lattice.sweep import ADAPTIVE, KAPPA, STOP, Policy
from fsgym.dataset import Dataset
from fsgym.rules import Rules

Run = Callable[[Callable, list[tuple]], list[Any]]


class Learnt(NamedTuple):
    """A policy for the training rows, all of it cross-fitted, and the numbers of each sweep."""

    policy: Policy
    history: list[dict[str, float]]


def make_table(dataset: Dataset, rng: np.random.Generator) -> Table:
    """The training data with folds: the fewer rows, the more folds, so that heads are as good as with all rows."""
    n, c = dataset.n_samples, dataset.n_classes
    size = n * (1 if c == 2 else c)
    n_folds = min(n, 10 if size <= 1000 else 5 if size <= 3000 else 3)
    return Table(dataset.X, dataset.y, c, stratified_folds(dataset.y, n_folds, rng), int(rng.integers(2**31)))


def learn(
    table: Table,
    rules: Rules,
    run: Run,
    *,
    kappa: float = KAPPA,
    beta: float | None = None,
    heads: dict[Subset, CrossFit] | None = None,
) -> Learnt:
    """Policy iteration.

    Parameters
    ----------
    table : Table
    rules : Rules
    run : callable (function, list of arguments) -> list
    kappa : float, standard errors by which an adaptive choice has to be better than a fixed one
    beta : float, optional
        Share of the expected error cost in the loss learnt from, the rest being the realised one; by default 1 up to
        600 rows, else a half: few rows make a noisy loss.
    heads : dict, optional
        Cross-fitted heads by subset; new ones are added. They do not depend on prices or error costs.
    """
    beta = (1.0 if len(table.y) <= 600 else 0.5) if beta is None else beta
    lattice = Lattice(table, rules, beta, run, heads)
    first_lattice(lattice)
    policy, history = Policy(lattice, None, kappa), []
    for _ in range(ROUNDS):
        policy = Policy(lattice, policy.reach, kappa)
        history.append(_numbers(lattice, policy))
        grow(lattice, policy)
        shorten(lattice, policy)
    for _ in range(2):
        policy = Policy(lattice, policy.reach, kappa)
        history.append(_numbers(lattice, policy))
    return Learnt(policy, history)


def _numbers(lattice: Lattice, policy: Policy) -> dict[str, float]:
    numbers = {"subsets": len(lattice.nodes), "visited": len(policy.visited()), "training_loss": policy.loss}
    return numbers | policy.usage()


def final(policy: Policy, run: Run) -> LatticePolicy:
    """Heads and regressions of the subsets that are visited, from all rows; targets stay the cross-fitted ones."""
    lattice, visited = policy.lattice, policy.visited()
    table, rules = lattice.table, lattice.rules
    place = {z: v for v, z in enumerate(visited)}
    blends = {z: lattice.nodes[z].fit or CrossFit(np.empty(0), 0.5, 1.0) for z in visited}
    heads = run(fit_head, [(table, lattice.features(z), blends[z]) for z in visited])
    modes, moves, thetas = [], [], []
    for z in visited:
        choice = policy.choices[z]
        modes.append(choice.mode if choice.children else STOP)
        moves.append([(j, place[q]) for j, q, _ in choice.children])
        theta: NDArray = np.zeros(0)
        if choice.mode == ADAPTIVE:
            had = lattice.can_be_had[:, [j for j, _, _ in choice.children]]
            theta = describe(lattice, lattice.nodes[z]).fit(choice.T, policy.reach[z] + 0.1, had)  # type: ignore[arg-type]
        thetas.append(theta)
    taken = np.zeros((len(visited), rules.n_acquisitions), bool)
    for v, z in enumerate(visited):
        taken[v, list(with_(z, ()))] = True
    return LatticePolicy(taken, make_plan(table.basis, heads, modes, moves, thetas), rules)
