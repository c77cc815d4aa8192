"""Rows asked about one by one, as cases on a page: nothing is said before of which values are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import judge
from fsgym.evaluation.result import Evaluation
from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.walk import started_state


def evaluate_asked(model: AskedModel, dataset: Dataset) -> Evaluation:
    """The evaluation of a model in sessions about the rows of a ``labelled_dataset`` of it.

    For a model without ``evidence_`` this differs from ``evaluate`` only where the policy asks for a missing value.
    """
    return judge(asked_one_by_one(model, dataset.X), dataset, model.acquisitions_.rules)


def asked_one_by_one(model: AskedModel, X: NDArray[np.float32]) -> Trajectories:
    """What happens to rows in such sessions: a value that is NaN is found to be unknown when it is asked for.

    ``X`` is (n, n_features) in the order of the user, as are the acquisitions of the result.
    """
    told = as_told(model, False)
    order, n = told.walk_order(), len(X)
    rules, values = order.rules, X[:, order.features].astype(np.float64)
    J = rules.n_acquisitions
    acquired, taken, n_taken = np.zeros(X.shape, bool), np.full((n, J), -1, np.int32), np.zeros(n, np.int64)
    walk = told.walk(started_state(rules, np.ones(X.shape, bool)))
    actions = walk.begin()
    while (asking := actions < J).any():
        for j in np.unique(actions[asking]).tolist():
            rows = np.flatnonzero(asking & (actions == j))
            numbers = values[rows][:, list(rules.groups[j])]
            brought = ~np.isnan(numbers).all(axis=1)
            made = rows[brought]
            acquired[np.ix_(made, order.features[list(rules.groups[j])])] = ~np.isnan(numbers[brought])
            taken[made, n_taken[made]] = order.acquisitions[j]
            n_taken[made] += 1
            actions[rows] = walk.go_on(rows, j, numbers, brought)
    longest = int(n_taken.max(initial=0))
    return Trajectories(taken[:, :longest], acquired, actions - J, np.zeros(n, bool))
