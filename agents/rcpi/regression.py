"""Step 3 of RCPI: one ridge regression an action, of its returns on [1, z, mu(x, z)]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve  # here, not when used: a library loaded later would miss the limit on threads

from agents.rcpi.kernels import NEVER, blocks
from agents.rcpi.sampling import States
from fsgym.rules import Rules

CHUNK = 8192  # rows summed in float32 before they are added in float64
MEMORY = 2**28  # bytes of Gram matrices held at once


def fit_scores(
    states: States,
    values: NDArray[np.float32],
    y: NDArray[np.int64],
    returns: NDArray[np.float32],
    legal: NDArray[np.bool_],
    rules: Rules,
    *,
    ridge: float,
    run: Callable[[Callable, list], list[Any]],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """theta_a of every action, over the states where it is legal, the intercept not shrunk.

    The block vector Phi(x, z, a) of the paper is one regression an action. All classes share one Gram matrix;
    that of an acquisition is the shared one less the rows where it is not legal, or the sum over those where it is,
    whichever are fewer.

    Parameters
    ----------
    states : States
    values : float32 (n_samples, n_features), scaled, NaN where missing
    y : int64 (n_samples,)
    returns : float32 (n_states, n_acquisitions)
    legal : bool (n_states, n_acquisitions)
    rules : Rules
    ridge : float
        Shrinkage, times the number of rows of each regression.
    run : callable (function, list of argument tuples) -> list of results

    Returns
    -------
    weights : float32 (n_features, 2, n_actions)
    intercepts : float32 (n_actions,), -1e30 for an acquisition that was legal nowhere
    """
    design = Design(states, values, rules)
    J, D = rules.n_acquisitions, design.n_columns
    open_rows: NDArray[np.bool_] = np.any(legal, axis=1)
    illegal = open_rows[:, None] & ~legal
    n_legal = legal.sum(axis=0)
    downdate = 2 * illegal.sum(axis=0) <= open_rows.sum()
    part = np.where(downdate, illegal, legal)  # the rows that make an acquisition's own Gram matrix
    shared, shared_open = np.zeros((D, D)), np.zeros((D, D))
    targets = np.zeros((D, J + rules.n_classes))
    theta = np.zeros((D, J + rules.n_classes))
    chunks = blocks(len(states.rows), CHUNK)
    for first, last in chunks:
        Phi = design.rows(first, last)
        gram = _gram(Phi)
        shared += gram
        shared_open += gram
        if not open_rows[first:last].all():
            shared_open -= _gram(Phi[~open_rows[first:last]])
        answers = -rules.error_costs[:, y[states.rows[first:last]]].T.astype(np.float32)
        targets += (Phi.T @ np.concatenate([returns[first:last], answers], axis=1)).astype(np.float64)
    theta[:, J:] = _solve(shared, targets[:, J:], ridge * len(states.rows) * design.shrinkage)

    at_once = max(1, MEMORY // (8 * D * D))  # acquisitions whose matrices are held together
    for low, high in blocks(J, at_once):
        own = np.zeros((high - low, D, D))
        for first, last in chunks:
            Phi = Phi if len(chunks) == 1 else design.rows(first, last)

            def add(gram: NDArray, j: int, Phi: NDArray = Phi, first: int = first, last: int = last) -> None:
                rows = np.flatnonzero(part[first:last, j])
                if len(rows):
                    gram += _gram(Phi[rows])

            run(add, [(own[j - low], j) for j in range(low, high)])

        def solve_one(gram: NDArray, j: int) -> None:
            if n_legal[j]:
                gram = shared_open - gram if downdate[j] else gram
                theta[:, j] = _solve(gram, targets[:, j], ridge * n_legal[j] * design.shrinkage)

        run(solve_one, [(own[j - low], j) for j in range(low, high)])
    weights, intercepts = design.unpack(theta)
    intercepts[:J][n_legal == 0] = NEVER
    return weights, intercepts


class Design:
    """Rows [1, z, mu] of the sampled states.

    The z of the features of a group are equal where none is missing: such a group has one column, shrunk by a
    group-size-th, and its weight is shared out evenly. That is the same regression.
    """

    def __init__(self, states: States, values: NDArray[np.float32], rules: Rules) -> None:
        self.states, self.values = states, values
        self.group_of = np.zeros(rules.n_features, np.int64)
        for j, members in enumerate(rules.groups):
            self.group_of[list(members)] = j
        self.known = None if not np.isnan(values).any() else ~np.isnan(values)
        self.filled = values if self.known is None else np.where(self.known, values, np.float32(0))
        sizes = np.array([len(g) for g in rules.groups])
        n_z = rules.n_acquisitions if self.known is None else rules.n_features
        self.n_columns = 1 + n_z + rules.n_features
        self.shrinkage = np.ones(self.n_columns)
        self.shrinkage[0] = 0.0
        if self.known is None:
            self.shrinkage[1 : 1 + n_z] = 1.0 / sizes
        self.n_z, self.sizes = n_z, sizes

    def rows(self, first: int, last: int) -> NDArray[np.float32]:
        data = self.states.rows[first:last]
        taken = self.states.taken[first:last]
        z = taken[:, self.group_of]
        if self.known is not None:
            z = taken = z & self.known[data]
        Phi = np.empty((last - first, self.n_columns), np.float32)
        Phi[:, 0] = 1.0
        Phi[:, 1 : 1 + self.n_z] = taken
        np.multiply(z, self.filled[data], out=Phi[:, 1 + self.n_z :])
        return Phi

    def unpack(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        of_z = theta[1 : 1 + self.n_z]
        if self.known is None:
            of_z = (of_z / self.sizes[:, None])[self.group_of]
        weights = np.stack([of_z, theta[1 + self.n_z :]], axis=1)
        return weights.astype(np.float32), theta[0].astype(np.float32)


def _gram(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    return (rows.T @ rows).astype(np.float64)


def _solve(gram: NDArray, targets: NDArray, shrinkage: NDArray) -> NDArray:
    return solve(gram + np.diag(shrinkage), targets, assume_a="pos", check_finite=False)
