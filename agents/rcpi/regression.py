"""Step 3 of RCPI: regressions of the returns of each action on [1, z, mu(x, z)], anew or as a step from scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Imported here and not in the function: a library loaded later would miss the limit on threads.
from scipy.linalg import LinAlgError, lstsq, solve
from scipy.special import softmax

from agents.parallel import TaskRunner
from agents.rcpi.kernels import EXCLUDED_SCORE, consecutive_ranges
from agents.rcpi.sampling import States
from fsgym.rules import Rules

ROWS_PER_SUM = 8192  # rows summed in float32 before they are added in float64; by hand, for accuracy
SINGULAR = 1e-6  # share of the largest singular value below which one counts as 0; the precision of float32
GRAM_BYTES = 2**28  # memory for the Gram matrices of acquisitions that are held at the same time; by hand
MIN_UNUSED = 0.25  # of the features; columns of fewer unused ones stay, since leaving them out saves little. By hand


def fit_scores(
    design: Design,
    y: NDArray[np.int64],
    returns: NDArray[np.float32],
    legal: NDArray[np.bool_],
    ridge: float,
    run: TaskRunner,
    logits: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Fit theta_a of each action by ridge regression over the states where it is legal.

    The paper's block vector Phi(x, z, a) amounts to one regression per action. The intercept is not penalised. All
    answers share one Gram matrix. The Gram matrix of an acquisition is either this one minus the rows where the
    acquisition is illegal, or the sum over the rows where it is legal, depending on which rows are fewer.

    Parameters
    ----------
    design : Design
    y : int64 (n_samples,)
    returns : float32 (n_states, n_acquisitions), or (n_states, 0) for answers alone
    legal : bool, of the same shape
    ridge : float
        Penalty, multiplied by the number of rows of each regression.
    run : TaskRunner
    logits : float64 (n_columns, n_answers), optional
        Coefficients to take for the answers, instead of those of a regression.

    Returns
    -------
    weights : float32 (n_features, 2, n_actions)
    intercepts : float32 (n_actions,), EXCLUDED_SCORE for an acquisition that was legal in no state
    """
    states, rules = design.states, design.rules
    J, D = returns.shape[1], design.n_columns
    open_rows: NDArray[np.bool_] = np.any(legal, axis=1)
    illegal = open_rows[:, None] & ~legal
    n_legal = legal.sum(axis=0)
    downdate = 2 * illegal.sum(axis=0) <= open_rows.sum()
    own_rows = np.where(downdate, illegal, legal)  # the rows of the acquisition's own Gram matrix
    shared, shared_open = np.zeros((D, D)), np.zeros((D, D))
    targets = np.zeros((D, J + rules.n_answers))
    theta = np.zeros((D, J + rules.n_answers))
    chunks = consecutive_ranges(len(states.rows), ROWS_PER_SUM)
    for first, last in chunks:
        Phi = design.rows(first, last)
        gram = _gram_matrix(Phi)
        shared += gram
        shared_open += gram
        if not open_rows[first:last].all():
            shared_open -= _gram_matrix(Phi[~open_rows[first:last]])
        answers = -rules.answer_costs[:, y[states.rows[first:last]]].T.astype(np.float32)
        targets += (Phi.T @ np.concatenate([returns[first:last], answers], axis=1)).astype(np.float64)
    penalty = ridge * len(states.rows) * design.penalty
    theta[:, J:] = _solve_ridge(shared, targets[:, J:], penalty) if logits is None else logits

    n_at_once = max(1, GRAM_BYTES // (8 * D * D))  # acquisitions whose matrices are held together
    for low, high in consecutive_ranges(J, n_at_once):
        own = np.zeros((high - low, D, D))
        for first, last in chunks:
            Phi = Phi if len(chunks) == 1 else design.rows(first, last)

            def add(gram: NDArray, j: int, Phi: NDArray = Phi, first: int = first, last: int = last) -> None:
                rows = np.flatnonzero(own_rows[first:last, j])
                if len(rows):
                    gram += _gram_matrix(Phi[rows])

            run(add, [(own[j - low], j) for j in range(low, high)])

        def solve_one(gram: NDArray, j: int) -> None:
            if n_legal[j]:
                gram = shared_open - gram if downdate[j] else gram
                theta[:, j] = _solve_ridge(gram, targets[:, j], ridge * n_legal[j] * design.penalty)

        run(solve_one, [(own[j - low], j) for j in range(low, high)])
    weights, intercepts = design.unpack(theta)
    intercepts[:J][n_legal == 0] = EXCLUDED_SCORE
    return weights, intercepts


# Steps of the scores of acquisitions. By trials on splits of eight tables with seeds from 100:
ROLLOUT_EVERY = 3  # rollouts are made in every third state
STEP_PENALTY = 0.3  # of a step, multiplied by the number of states with rollouts


def stepped_scores(
    design: Design,
    y: NDArray[np.int64],
    returns: NDArray[np.float32],
    legal: NDArray[np.bool_],
    answers: NDArray[np.float64],
    logistic: bool,
    before: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores of all actions, those of acquisitions by one step from the scores of the iteration before.

    A step fits what those scores leave of the returns, by least squares with a penalty on the step. Nothing is left in
    a state where the acquisition is illegal, so that all acquisitions share one Gram matrix. Scores that no longer
    change are those of one regression per acquisition over the states where it is legal. Before that, each step fits a
    part of what is left, which averages over iterations: few states in each suffice.

    Returns depend much on the label: where the answers are wrong, all returns are low. What the best answer brings in a
    state is known by the label, and its score is what it brings on average. The difference is subtracted from returns.

    Parameters
    ----------
    design : Design
    y : int64 (n_samples,)
    returns : float32 (n_tried, n_acquisitions), in every k-th state of the design, k = ROLLOUT_EVERY
    legal : bool (n_tried, n_acquisitions)
    answers : float64 (n_columns, n_answers), coefficients of the answers
    logistic : bool, whether their scores are logits
    before : float64 (n_columns, n_acquisitions), optional
        Coefficients of the iteration before. An acquisition without any, whose intercept is EXCLUDED_SCORE, starts from
        its mean return.

    Returns
    -------
    weights, intercepts : as from ``fit_scores``
    """
    rules, D, J, n_legal = design.rules, design.n_columns, legal.shape[1], legal.sum(axis=0)
    theta = np.full((D, J), EXCLUDED_SCORE, np.float64) if before is None else before.copy()
    new = theta[0] <= EXCLUDED_SCORE
    theta[:, new] = 0
    if design.intercept:
        theta[0, new] = (returns.sum(axis=0) / np.maximum(n_legal, 1))[new]
    single = np.concatenate([theta, answers], axis=1).astype(np.float32)
    gram, targets = np.zeros((D, D)), np.zeros((D, J))
    labels = y[design.states.rows[::ROLLOUT_EVERY]]
    for first, last in consecutive_ranges(len(returns), ROWS_PER_SUM):
        Phi = design.rows(first * ROLLOUT_EVERY, last * ROLLOUT_EVERY, ROLLOUT_EVERY)
        scores, worth = np.split(Phi @ single, [J], axis=1)
        if logistic:
            worth = -softmax(worth[:, : rules.n_classes], axis=1) @ rules.answer_costs.T
        best, rows = worth.argmax(axis=1), np.arange(last - first)
        luck = -rules.answer_costs[best, labels[first:last]] - worth[rows, best]
        left = np.where(legal[first:last], returns[first:last] - luck[:, None] - scores, 0).astype(np.float32)
        gram += _gram_matrix(Phi)
        targets += Phi.T @ left
    theta += _solve_ridge(gram, targets, STEP_PENALTY * len(returns) * design.penalty)
    theta[:, n_legal == 0] = 0
    weights, intercepts = design.unpack(np.concatenate([theta, answers], axis=1))
    intercepts[:J][n_legal == 0] = EXCLUDED_SCORE
    return weights, intercepts


class Design:
    """The design matrix of the sampled states, with the columns [1, z, mu], in chunks of rows.

    Without missing values, the features of a group have equal z. They then share one column, with the penalty divided
    by the size of the group and the weight divided evenly among them. This is the same regression with fewer columns.
    So it is without the columns of features that no state has acquired, which are 0 and have weight 0; they are left
    out if they are many.

    Parameters
    ----------
    states : States
    values : float32 (n_samples, n_features), scaled, NaN where missing
    rules : Rules
    intercept : bool, default True
        Whether scores have a constant term; without it the first column is 0.

    Attributes
    ----------
    n_columns : int, of ``rows``
    columns : slice or int64 (n_columns,), their places among all columns
    penalty : float64 (n_columns,), factor of the penalty of each column
    """

    def __init__(self, states: States, values: NDArray[np.float32], rules: Rules, intercept: bool = True) -> None:
        self.states, self.values, self.rules, self.intercept = states, values, rules, intercept
        self.all_acquisitions = rules.acquisition_of_features
        self.available = None if not np.isnan(values).any() else ~np.isnan(values)
        self.filled = values if self.available is None else np.where(self.available, values, np.float32(0))
        self.sizes = np.array([len(g) for g in rules.groups])
        self.n_all_z = rules.n_acquisitions if self.available is None else rules.n_features
        self.n_all_columns = 1 + self.n_all_z + rules.n_features
        self.penalty = np.ones(self.n_all_columns)
        self.penalty[0] = 0.0 if intercept else 1.0  # of a column of zeros
        if self.available is None:
            self.penalty[1 : 1 + self.n_all_z] = 1.0 / self.sizes
        self.columns: Any = slice(None)
        self.acquisitions: Any = slice(None)  # with a column of z for all features of the acquisition
        self.acquisition = self.all_acquisitions
        taken = np.asarray(states.taken.any(axis=0))
        if taken[self.acquisition].mean() <= 1 - MIN_UNUSED:
            self._leave_out(taken)
        self.n_columns = len(self.penalty)
        self.n_z = self.n_columns - 1 - len(self.acquisition)

    def _leave_out(self, taken: NDArray[np.bool_]) -> None:
        """Leave out the features of all acquisitions but those in ``taken``, bool (n_acquisitions,)."""
        features = taken[self.all_acquisitions]
        z_columns = taken if self.available is None else features
        self.columns = np.flatnonzero(np.concatenate([[True], z_columns, features]))
        self.acquisitions = np.flatnonzero(taken)
        self.acquisition, self.penalty = self.all_acquisitions[features], self.penalty[self.columns]
        self.filled = self.filled[:, features]
        self.available = None if self.available is None else self.available[:, features]

    def rows(self, first: int, last: int, every: int = 1) -> NDArray[np.float32]:
        """Rows ``first`` to ``last - 1``, or every k-th of them, float32 (n, n_columns)."""
        data = self.states.rows[first:last:every]
        taken = self.states.taken[first:last:every]
        z = taken[:, self.acquisition]
        if self.available is not None:
            z = taken = z & self.available[data]
        else:
            taken = taken[:, self.acquisitions]
        Phi = np.empty((len(data), self.n_columns), np.float32)
        Phi[:, 0] = self.intercept
        Phi[:, 1 : 1 + self.n_z] = taken
        np.multiply(z, self.filled[data], out=Phi[:, 1 + self.n_z :])
        return Phi

    def expanded(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients of all columns, from ``theta`` (n_columns, k): those of columns that are left out are 0."""
        if isinstance(self.columns, slice):
            return theta
        result = np.zeros((self.n_all_columns, theta.shape[1]))
        result[self.columns] = theta
        return result

    def packed(self, weights: NDArray, intercepts: NDArray) -> NDArray[np.float64]:
        """Coefficients (n_columns, n_actions) from weights (n_features, 2, n_actions) and intercepts (n_actions,)."""
        z_weights = weights[:, 0].astype(np.float64)
        if self.available is None:
            z_weights = np.zeros((self.n_all_z, weights.shape[2]))
            np.add.at(z_weights, self.all_acquisitions, weights[:, 0])
        return np.concatenate([intercepts[None], z_weights, weights[:, 1]])[self.columns]

    def unpack(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weights (n_features, 2, n_actions) and intercepts (n_actions,) from coefficients (n_columns, n_actions)."""
        theta = self.expanded(theta)
        z_weights = theta[1 : 1 + self.n_all_z]
        if self.available is None:
            z_weights = (z_weights / self.sizes[:, None])[self.all_acquisitions]
        weights = np.stack([z_weights, theta[1 + self.n_all_z :]], axis=1)
        return weights.astype(np.float32), theta[0].astype(np.float32)


def _gram_matrix(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    return (rows.T @ rows).astype(np.float64)


def _solve_ridge(gram: NDArray, targets: NDArray, penalty: NDArray) -> NDArray:
    """The coefficients; those of least norm where rounding of a sum in single precision exceeds a small penalty."""
    penalised = gram + np.diag(penalty)
    try:
        return solve(penalised, targets, assume_a="pos", check_finite=False)
    except LinAlgError:
        return lstsq(penalised, targets, cond=SINGULAR, check_finite=False)[0]
