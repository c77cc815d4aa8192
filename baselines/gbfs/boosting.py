"""Boosting in which a feature is paid for when a tree first splits on it.

In the names of this package, a feature is *bought* when a tree of the model first splits on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from baselines.arrays import FloatVector
from baselines.gbfs.losses import Loss
from baselines.gbfs.prices import FeaturePrices
from fsgym.trees import BinnedTable, Tree, TreeGrower, add_binned


class Schedule(NamedTuple):
    """Number of iterations and step size; the fields are parameters of ``GBFSClassifier``."""

    n_iter: int
    learning_rate: float
    newton: bool = False
    force_first: bool = False
    early_stopping: int | None = None


@dataclass
class ValidationRows:
    """The held-out rows, which choose the number of iterations."""

    table: BinnedTable
    loss: Loss


@dataclass
class BoostingResult:
    """Trees and losses of a boosted model; ``trees`` has n_outputs trees per iteration."""

    start: FloatVector
    trees: list[Tree] = field(default_factory=list)
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)
    n_bought: list[int] = field(default_factory=list)

    @property
    def best_iteration(self) -> int:
        """The iteration of the smallest validation loss, from 1; without held-out rows the last one."""
        losses = self.validation_loss
        return int(np.argmin(losses)) + 1 if losses else len(self.train_loss)

    def is_stale(self, patience: int | None) -> bool:
        """Whether the validation loss has not improved for ``patience`` iterations; None is never."""
        return bool(patience and self.validation_loss and len(self.validation_loss) - self.best_iteration >= patience)


def first_gains(grower: TreeGrower, loss: Loss, start: FloatVector, newton: bool) -> FloatVector:
    """Return the gain of the first split on each feature, without its price, (n_features,); the best of the outputs."""
    _, gradient, hessian = loss.at(np.repeat(start[:, None], len(loss.y), axis=1), newton)
    gains = [grower.gains(g, loss.weights if hessian is None else hessian[k]) for k, g in enumerate(gradient)]
    return np.max(gains, axis=0)


def boost_with_prices(
    grower: TreeGrower,
    loss: Loss,
    prices: FeaturePrices,
    start: FloatVector,
    schedule: Schedule,
    validation: ValidationRows | None = None,
) -> BoostingResult:
    """Add the tree of eq. 14, shrunk, in each iteration.

    Stops after ``n_iter`` iterations, if no split is worth its price, or if the loss on ``validation`` stops improving.
    """
    result, newton = BoostingResult(start), schedule.newton
    F = np.repeat(start[:, None], len(loss.y), axis=1)
    validation_F = None if validation is None else np.repeat(start[:, None], len(validation.loss.y), axis=1)
    _, gradient, hessian = loss.at(F, newton)
    for iteration in range(1, schedule.n_iter + 1):
        trees = []
        for k in range(loss.n_outputs):
            prices.iteration, prices.output = iteration, k
            forced = schedule.force_first and iteration == 1 and not prices.log
            denominators = loss.weights if hessian is None else hessian[k]
            tree = grower.grow(gradient[k], denominators, prices.prices, prices.on_split, force_root=forced)
            empty = len(tree.feature) == 1
            tree = tree._replace(value=tree.value * (0.0 if empty else schedule.learning_rate))
            grower.add_to(F[k], tree)
            if validation is not None and validation_F is not None and not empty:
                add_binned(tree, validation.table, validation_F[k])
            trees.append(tree)
        if all(len(tree.feature) == 1 for tree in trees):  # no later tree would find a split either
            break
        if prices.frozen:
            prices.reprice()
        value, gradient, hessian = loss.at(F, newton)
        result.trees += trees
        result.train_loss.append(value)
        result.n_bought.append(int(prices.bought.sum()))
        if validation is not None and validation_F is not None:
            result.validation_loss.append(validation.loss.at(validation_F, False)[0])
        if result.is_stale(schedule.early_stopping):
            break
    return result
