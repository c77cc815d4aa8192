"""The evaluation of rows that are asked about as cases on a page: nothing is said of which values are missing."""

from __future__ import annotations

import numpy as np

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.evaluation.evaluate import judge
from fsgym.evaluation.result import Evaluation
from fsgym.session.asked_cases import ask_cases
from fsgym.session.asked_model import AskedModel, as_told


def evaluate_asked(model: AskedModel, dataset: Dataset) -> Evaluation:
    """The evaluation of a model in sessions about the rows of a ``labelled_dataset`` of it.

    For a model without ``evidence_`` this differs from ``evaluate`` only where the policy asks for a missing value.
    """
    rules = model.acquisitions_.rules
    done, n = ask_cases(as_told(model, False), dataset.X), dataset.n_samples
    made = np.zeros((n, rules.n_acquisitions), bool)
    rows, steps = done.brought.nonzero()
    made[rows, done.asked[rows, steps]] = True
    order = np.full(done.asked.shape, -1, np.int32)  # of what brought something
    order[rows, done.brought.cumsum(axis=1)[rows, steps] - 1] = done.asked[rows, steps]
    acquired = made[:, rules.acquisition_of_features] & ~np.isnan(dataset.X)
    return judge(Trajectories(order, acquired, done.answers, np.zeros(n, bool)), dataset, rules)
