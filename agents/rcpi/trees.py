"""Step 3 of RCPI with another base learner: the scores of acquisitions by boosted regression trees.

The returns of an acquisition are fitted by gradient boosting of the squared error (Friedman, 2001) on histograms of
the known values. A value that is not known is below all others, so that a split can ask whether it is known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.parallel import TaskRunner
from agents.rcpi.regression import Design
from agents.rcpi.score_trees import ScoreTrees, values_for_trees
from fsgym.trees import BinnedTable, Tree, TreeGrower, bin_table

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
