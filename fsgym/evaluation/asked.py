"""Rows asked about one by one, as cases on a page: nothing is said before of which values are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import judge
from fsgym.evaluation.result import Evaluation
from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.on_demand import RowBatch


def evaluate_asked(model: AskedModel, dataset: Dataset) -> Evaluation:
    """The evaluation of a model in sessions about the rows of a ``labelled_dataset`` of it.

    For a model without ``evidence_`` this differs from ``evaluate`` only where the policy asks for a missing value.
    """
    return judge(asked_one_by_one(model, dataset.X), dataset, model.acquisitions_.rules)


def asked_one_by_one(model: AskedModel, X: NDArray[np.float32]) -> Trajectories:
    """What happens to rows in such sessions: a value that is NaN is found to be unknown when it is asked for.

    ``X`` is (n, n_features) in the order of the user, as are the acquisitions of the result.
    """
    batch, n = RowBatch(as_told(model, False), len(X)), len(X)
    order, groups, values = batch.order, batch.order.rules.groups, X[:, batch.order.features].astype(np.float64)
    acquired = np.zeros(X.shape, bool)
    taken, n_taken = np.full((n, batch.n_acquisitions), -1, np.int32), np.zeros(n, np.int64)
    while batch.wanted.any():
        j = int(batch.wanted.argmax())
        index, _, _ = batch.request(j)
        numbers = values[index][:, list(groups[j])]
        brought = batch.bring(j, index, numbers)
        made = index[brought]
        acquired[np.ix_(made, order.features[list(groups[j])])] = ~np.isnan(numbers[brought])
        taken[made, n_taken[made]] = order.acquisitions[j]
        n_taken[made] += 1
    return Trajectories(taken[:, : int(n_taken.max(initial=0))], acquired, batch.answers, np.zeros(n, bool))
