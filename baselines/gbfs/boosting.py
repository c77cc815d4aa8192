"""Boosting in which a feature is paid for when a tree first splits on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.gbfs.losses import Loss
from baselines.gbfs.prices import Market
from fsgym.trees import BinnedTable, Tree, TreeGrower, add_binned

Vector = NDArray[np.float64]


class Schedule(NamedTuple):
    """How long and how fast to boost, as ``GBFSClassifier`` explains its parameters."""

    n_iter: int
    learning_rate: float
    newton: bool = False
    force_first: bool = False
    early_stopping: int | None = None


@dataclass
class Held:
    """Rows that choose the number of iterations."""

    table: BinnedTable
    loss: Loss


@dataclass
class Boosted:
    """What boosting made; ``trees`` holds n_outputs trees an iteration."""

    start: Vector
    trees: list[Tree] = field(default_factory=list)
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    n_bought: list[int] = field(default_factory=list)

    @property
    def best_iteration(self) -> int:
        losses = self.validation_loss
        return int(np.argmin(losses)) + 1 if losses else len(self.train_loss)

    def stale(self, patience: int | None) -> bool:
        return bool(patience and self.validation_loss and len(self.validation_loss) - self.best_iteration >= patience)


def first_gains(grower: TreeGrower, loss: Loss, start: Vector, newton: bool) -> Vector:
    """What the first split on each feature is worth before anything is paid, (n_features,), the best of the outputs."""
    _, gradient, hessian = loss.at(np.repeat(start[:, None], len(loss.y), axis=1), newton)
    gains = [grower.gains(g, loss.weights if hessian is None else hessian[k]) for k, g in enumerate(gradient)]
    return np.max(gains, axis=0)


def boost(
    grower: TreeGrower,
    loss: Loss,
    market: Market,
    start: Vector,
    schedule: Schedule,
    held: Held | None = None,
) -> Boosted:
    """Add the tree of eq. 14, shrunk, ``n_iter`` times, or until nothing is worth its price or ``held`` says stop."""
    made, newton = Boosted(start), schedule.newton
    F = np.repeat(start[:, None], len(loss.y), axis=1)
    held_F = None if held is None else np.repeat(start[:, None], len(held.loss.y), axis=1)
    _, gradient, hessian = loss.at(F, newton)
    for iteration in range(1, schedule.n_iter + 1):
        trees = []
        for k in range(loss.n_outputs):
            market.iteration, market.output = iteration, k
            forced = schedule.force_first and iteration == 1 and not market.log
            below = loss.weights if hessian is None else hessian[k]
            tree = grower.grow(gradient[k], below, market.prices, market.on_split, force_root=forced)
            empty = len(tree.feature) == 1
            tree = tree._replace(value=tree.value * (0.0 if empty else schedule.learning_rate))
            grower.add_to(F[k], tree)
            if held is not None and held_F is not None and not empty:
                add_binned(tree, held.table, held_F[k])
            trees.append(tree)
        if all(len(tree.feature) == 1 for tree in trees):  # nor will any later tree find anything
            break
        if market.frozen:
            market.reprice()
        value, gradient, hessian = loss.at(F, newton)
        made.trees += trees
        made.train_loss.append(value)
        made.n_bought.append(int(market.bought.sum()))
        if held is not None and held_F is not None:
            made.validation_loss.append(held.loss.at(held_F, False)[0])
        if made.stale(schedule.early_stopping):
            break
    return made
