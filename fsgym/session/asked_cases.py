"""What a policy asks in rows of a table, as a person would be asked: that a value is missing is found out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsgym.session.asked_model import AskedModel
from fsgym.session.on_demand import RowBatch


@dataclass(frozen=True)
class AskedCases:
    """The questions of n cases, in the order of the user; L is the largest number of questions."""

    asked: NDArray[np.int64]  # (n, L), the acquisition asked for at each step, then -1
    brought: NDArray[np.bool_]  # (n, L), whether it brought a value
    answers: NDArray[np.int64]  # (n,), class codes

    @property
    def n_steps(self) -> int:
        return self.asked.shape[1]

    def action(self, step: int, n_acquisitions: int) -> NDArray[np.int64]:
        """What each case does at a step: an acquisition, or ``n_acquisitions`` plus the class code; -1 after it."""
        J = n_acquisitions
        asked = self.asked[:, step] if step < self.n_steps else np.full(len(self.answers), -1)
        before = self.asked[:, step - 1] if step else np.zeros(len(self.answers), np.int64)
        return np.where(asked >= 0, asked, np.where(before >= 0, J + self.answers, -1))


def ask_cases(model: AskedModel, X: NDArray[np.float32]) -> AskedCases:
    """Ask about each row of features ``X`` (n, n_features), in the order of the user, until the policy answers.

    That a value is missing (NaN) shows when it is asked for; it costs nothing.
    """
    batch, n = RowBatch(model, len(X)), len(X)
    order, groups, values = batch.order, batch.order.rules.groups, X[:, batch.order.features].astype(np.float64)
    asked, brought = np.full((n, batch.n_acquisitions), -1), np.zeros((n, batch.n_acquisitions), bool)
    n_asked = np.zeros(n, np.int64)
    while batch.wanted.any():
        j = int(batch.wanted.argmax())
        index, _, _ = batch.request(j)
        asked[index, n_asked[index]] = order.acquisitions[j]
        brought[index, n_asked[index]] = batch.bring(j, index, values[index][:, list(groups[j])])
        n_asked[index] += 1
    L = int(n_asked.max(initial=0))
    return AskedCases(asked[:, :L], brought[:, :L], batch.answers)
