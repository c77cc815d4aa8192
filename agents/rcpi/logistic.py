"""Step 3 of RCPI with another base learner: the scores of answers as logits of the classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from agents.rcpi.regression import Design

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
