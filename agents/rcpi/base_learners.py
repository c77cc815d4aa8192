"""Step 3 of RCPI in full: the scores of all actions, those of answers and of acquisitions each by a base learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize

from agents.parallel import TaskRunner
from agents.rcpi.kernels import ActionScores
from agents.rcpi.regression import ROLLOUT_EVERY, Design, fit_scores, stepped_scores
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
TOLERANCE = 1e-5  # relative decrease of the loss at which it stops. By hand: that of other states is larger
MIN_CURVATURE = 1e-4  # added to the bound, in units of its diagonal: rounding may make it singular. By hand


def fit_logits(
    design: Design, y: NDArray[np.int64], n_classes: int, ridge: float, start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Coefficients of the logits, float64 (n_columns, n_classes): least mean log loss plus ``ridge / 2`` times squares.

    An answer needs no rollout: its return is known in each state. Its expectation given the known values is that of the
    probabilities of the classes, which a linear regression on indicators of three or more classes does not rank well.

    L-BFGS works on coefficients in which Böhning's bound of the Hessian (1992), half the mean Gram matrix plus the
    penalty, is the identity: this takes a fourth of the steps.

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
    n, penalty = len(labels), ridge * design.penalty
    rows = np.arange(n)
    bound = (Phi.T @ Phi).astype(np.float64) / (2 * n)
    root = np.linalg.cholesky(bound + np.diag(penalty + MIN_CURVATURE * max(1.0, bound.max())))
    inverse = lapack.dtrtri(root, lower=1)[0].T  # theta = inverse @ scaled

    def loss_and_gradient(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        theta = inverse @ scaled.reshape(D, n_classes)
        logits = (theta.T.astype(np.float32) @ Phi.T).astype(np.float64)  # (n_classes, n)
        logits -= logits.max(axis=0)
        odds = np.exp(logits)
        total = odds.sum(axis=0)
        shrunk = penalty[:, None] * theta
        loss = (np.log(total) - logits[labels, rows]).mean() + 0.5 * float((shrunk * theta).sum())
        excess = odds / total
        excess[labels, rows] -= 1
        gradient = (excess.astype(np.float32) @ Phi).T / n + shrunk
        return loss, (inverse.T @ gradient).ravel()

    first = np.zeros((D, n_classes)) if start is None else root.T @ start
    options = {"maxiter": MAX_ITERATIONS, "ftol": TOLERANCE}
    found = minimize(loss_and_gradient, first.ravel(), jac=True, method="L-BFGS-B", options=options).x
    return inverse @ found.reshape(D, n_classes)


class BaseLearners(NamedTuple):
    """How scores are fitted; see the parameters of ``agents.RCPI``."""

    ridge: float
    answers: str  # {"linear", "logistic"}
    acquisitions: str  # {"incremental", "linear", "trees"}

    @property
    def rollout_every(self) -> int:
        """Rollouts are made in every k-th state."""
        return ROLLOUT_EVERY if self.acquisitions == "incremental" else 1

    def fit(
        self,
        design: Design,
        y: NDArray[np.int64],
        returns: NDArray[np.float32],
        legal: NDArray[np.bool_],
        run: TaskRunner,
        before: ActionScores | None = None,
    ) -> ActionScores:
        """The scores of all actions.

        Parameters
        ----------
        design : Design
        y : int64 (n_samples,)
        returns : float32 (n_tried, n_acquisitions), in every k-th state of the design, see ``rollout_every``
        legal : bool (n_tried, n_acquisitions)
        run : TaskRunner
        before : ActionScores, optional
            Those of the iteration before, from which logits and steps start.
        """
        J, logistic = legal.shape[1], self.answers == "logistic"
        start = None if before is None else design.packed(before.weights, before.intercepts)
        logits = None
        if logistic:
            c, more = design.rules.n_classes, design.rules.n_answers - design.rules.n_classes
            logits = fit_logits(design, y, c, self.ridge, None if start is None else start[:, J : J + c])
            logits = np.pad(logits, ((0, 0), (0, more)))  # to refer has no logit: what it is worth is known
        if self.acquisitions == "incremental":
            answers = self._linear_answers(design, y, run) if logits is None else logits
            last = None if start is None else start[:, :J]
            return ActionScores(*stepped_scores(design, y, returns, legal, answers, logistic, last), logistic)
        by_ridge = legal & (self.acquisitions == "linear")
        weights, intercepts = fit_scores(design, y, returns, by_ridge, self.ridge, run, logits)
        trees = NO_TREES
        if self.acquisitions == "trees":
            fitted = legal.any(axis=0)
            means, trees = fit_trees(design, returns, legal, run)
            intercepts[:J][fitted] = means[fitted]
        return ActionScores(weights, intercepts, logistic, trees)

    def _linear_answers(self, design: Design, y: NDArray[np.int64], run: TaskRunner) -> NDArray[np.float64]:
        no_returns = np.zeros((len(design.states.rows), 0), np.float32)
        return design.packed(*fit_scores(design, y, no_returns, no_returns.astype(bool), self.ridge, run))
