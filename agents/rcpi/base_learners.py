"""Step 3 of RCPI in full: the scores of all actions, those of answers and of acquisitions each by a base learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from agents.parallel import TaskRunner
from agents.rcpi.kernels import ActionScores
from agents.rcpi.regression import Design, fit_scores
from agents.rcpi.score_trees import NO_TREES, ScoreTrees, values_for_trees
from fsgym.trees import BinnedTable, Tree, TreeGrower, bin_table

# Step 3 of RCPI with another base learner: the scores of acquisitions by boosted regression trees.
#
# The returns of an acquisition are fitted by gradient boosting of the squared error (Friedman, 2001) on histograms of
# the known values. A value that is not known is below all others, so that a split can ask whether it is known.

# By trials on splits of heart, wine and ionosphere with seeds from 100:
TREES_PER_ACQUISITION, MAX_DEPTH, LEARNING_RATE, MIN_LEAF_STATES = 20, 2, 0.2, 50


def fit_trees(
    design: Design, returns: NDArray[np.float32], legal: NDArray[np.bool_], run: TaskRunner
) -> tuple[NDArray[np.float32], ScoreTrees]:
    """Fit the trees of each acquisition to its returns over the states where it is legal.

    Parameters
    ----------
    design : Design
    returns : float32 (n_states, n_acquisitions)
    legal : bool (n_states, n_acquisitions)
    run : TaskRunner

    Returns
    -------
    means : float32 (n_acquisitions,), the mean returns, to which the trees add; 0 where there are no trees
    trees : ScoreTrees, of one policy
    """
    states = design.states
    table = bin_table(values_for_trees(design.values[states.rows], states.taken[:, design.all_acquisitions]))

    def fit(j: int) -> tuple[float, list[Tree]]:
        rows = np.flatnonzero(legal[:, j])
        if not len(rows):
            return 0.0, []
        own = BinnedTable(np.ascontiguousarray(table.words[:, rows]), table.first, table.usual, table.thresholds)
        targets = returns[rows, j].astype(np.float64)
        return float(targets.mean()), boosted(own, targets - targets.mean())

    fitted = run(fit, [(j,) for j in range(legal.shape[1])])
    return np.array([mean for mean, _ in fitted], np.float32), ScoreTrees.of([trees for _, trees in fitted])


def boosted(table: BinnedTable, targets: NDArray[np.float64]) -> list[Tree]:
    """Trees, each grown on what the sum of those before it leaves of the targets, (n_states,)."""
    scores, trees = np.zeros(len(targets)), []
    with TreeGrower(table, max_depth=MAX_DEPTH, min_samples_leaf=MIN_LEAF_STATES) as grower:
        for _ in range(TREES_PER_ACQUISITION):
            tree = grower.grow(targets - scores)
            trees.append(tree._replace(value=LEARNING_RATE * tree.value))
            grower.add_to(scores, trees[-1])
    return trees


DESIGN_BYTES = 2**28  # memory for the design matrix; of more states, evenly spaced ones are used. By hand
MAX_ITERATIONS = 100  # of L-BFGS; it starts from the coefficients of the iteration before


def fit_logits(
    design: Design, y: NDArray[np.int64], n_classes: int, ridge: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Coefficients of the logits, float64 (n_columns, n_classes): least mean log loss plus ``ridge / 2`` times squares.

    An answer needs no rollout: its return is known in each state. Its expectation given the known values is that of the
    probabilities of the classes, which a linear regression on indicators of three or more classes does not rank well.

    Parameters
    ----------
    design : Design
    y : int64 (n_samples,)
    n_classes : int
    ridge : float
    start : float64 (n_columns, n_classes), optional
        Where to start, 0 by default.
    """
    n_states, D = len(design.states.rows), design.n_columns
    every = max(1, -(-n_states * D * 4 // DESIGN_BYTES))
    Phi = design.rows(0, n_states, every)
    labels = y[design.states.rows[::every]]
    n, penalty = len(labels), ridge * design.penalty[:, None]

    def loss_and_gradient(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        theta = flat.reshape(D, n_classes)
        log_proba = log_softmax((Phi @ theta.astype(np.float32)).astype(np.float64), axis=1)
        loss = -log_proba[np.arange(n), labels].mean() + 0.5 * float((penalty * theta**2).sum())
        excess = np.exp(log_proba)
        excess[np.arange(n), labels] -= 1
        return loss, ((Phi.T @ excess.astype(np.float32)) / n + penalty * theta).ravel()

    first = np.zeros((D, n_classes)) if start is None else start
    options = {"maxiter": MAX_ITERATIONS, "ftol": 1e-7}
    return minimize(loss_and_gradient, first.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(D, -1)


class BaseLearners(NamedTuple):
    """How scores are fitted; see the parameters of ``agents.RCPI``.

    Attributes
    ----------
    ridge : float
    logistic : bool, whether answers have logits; otherwise a ridge regression each
    trees : bool, whether acquisitions have trees; otherwise a ridge regression each
    """

    ridge: float
    logistic: bool
    trees: bool

    def fit(
        self,
        design: Design,
        y: NDArray[np.int64],
        returns: NDArray[np.float32],
        legal: NDArray[np.bool_],
        run: TaskRunner,
        start: NDArray[np.float64] | None = None,
    ) -> tuple[ActionScores, NDArray[np.float64] | None]:
        """The scores of all actions, and the logits, fitted from ``start``, if there are any.

        Parameters
        ----------
        design : Design
        y : int64 (n_samples,)
        returns : float32 (n_states, n_acquisitions)
        legal : bool (n_states, n_acquisitions)
        run : TaskRunner
        start : float64 (n_all_columns, n_classes), optional
            Logits of the iteration before. They and the returned ones have coefficients of all columns, also of those
            that the design leaves out. Where an iteration has no missing value and another has, the columns differ,
            and the fit starts from 0.
        """
        logits = None
        if self.logistic:
            same = start is not None and len(start) == design.n_all_columns
            start = start[design.columns] if same else None  # type: ignore[index]
            logits = fit_logits(design, y, design.rules.n_classes, self.ridge, start)
        by_ridge = legal & (not self.trees)
        weights, intercepts = fit_scores(design, y, returns, by_ridge, self.ridge, run, logits)
        trees = NO_TREES
        if self.trees:
            J, fitted = legal.shape[1], legal.any(axis=0)
            means, trees = fit_trees(design, returns, legal, run)
            intercepts[:J][fitted] = means[fitted]
        scores = ActionScores(weights, intercepts, self.logistic, trees)
        return scores, None if logits is None else design.expanded(logits)
