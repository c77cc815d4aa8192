"""Step 3 of RCPI in full: the scores of all actions, those of answers and of acquisitions each by a base learner."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agents.parallel import TaskRunner
from agents.rcpi.kernels import ActionScores
from agents.rcpi.logistic import fit_logits
from agents.rcpi.regression import Design, fit_scores
from agents.rcpi.score_trees import NO_TREES
from agents.rcpi.trees import fit_trees


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
