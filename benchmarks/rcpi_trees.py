"""Not speed: the parameters of RCPI's trees, and loss and time of trees against linear scores of acquisitions.

A cell is a table and a split with half of the rows for training, at a price of 0.03. Prints two tables; a ratio is the
geometric mean over cells of the test loss (processor time) divided by that of the default of ``acquisitions`` in
the same cell, with a standard error over the cells.

1. On the tables and splits by which the parameters were chosen (seeds 100 to 102): the ratio for these parameters, and
   for another value of one of them.
2. On other tables and splits (seeds 0 to 2), with these parameters: the ratios of loss and of time for each table, and
   over all of them.

All tables but one of each part need ``FSGYM_DATA``. About twenty minutes of processor time.

    FSGYM_DATA=FOLDER python benchmarks/rcpi_trees.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from agents.rcpi import RCPI, base_learners
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate
from fsgym.comparison.noise import standard_error
from fsgym.comparison.splits import Split, random_splits
from fsgym_studies.common.plan import Source

PRICE = 0.03
CHOSEN_BY = (Source("wine", "wine"), Source("heart_statlog", "heart"), Source("ionosphere", "ionosphere"))
OTHERS = (
    Source("breast_cancer", "breast cancer"),
    Source("australian", "australian"),
    Source("pima_diabetes", "diabetes"),
    Source("sonar", "sonar"),
    Source("vowel", "vowel"),
)
OF_SCIKIT_LEARN = ("breast_cancer", "wine")
ALTERNATIVES: tuple[Mapping[str, float], ...] = (
    {},
    {"TREES_PER_ACQUISITION": 5},
    {"TREES_PER_ACQUISITION": 40},
    {"MAX_DEPTH": 1},
    {"MAX_DEPTH": 3},
    {"LEARNING_RATE": 0.1},
    {"LEARNING_RATE": 0.4},
    {"MIN_LEAF_STATES": 10},
    {"MIN_LEAF_STATES": 200},
)


class Cell(NamedTuple):
    data: Dataset
    split: Split


def measured(cell: Cell, constants: Mapping[str, float] | None) -> tuple[float, float]:
    """Test loss and processor seconds of a training with these constants of the trees; None for linear scores."""
    train, test = cell.split.divide(cell.data)
    rules = Rules.for_dataset(train, lam=PRICE)
    with ExitStack() as stack:
        for name, value in (constants or {}).items():
            stack.enter_context(patch.object(base_learners, name, value))
        env = DatumWiseEnv(train, rules)
        began = time.process_time()
        agent = RCPI(env, acquisitions="incremental" if constants is None else "trees", random_state=0).learn()
        seconds = time.process_time() - began
    assert agent.policy is not None
    return evaluate(agent.policy, test, rules).loss, seconds


def log_ratios(cells: Sequence[Cell], alternatives: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
    """Logarithms of the ratios to linear scores, (1 + n_alternatives, n_cells, 2); the first ones are 0."""
    calls = [(cell, constants) for constants in (None, *alternatives) for cell in cells]
    done = Parallel(n_jobs=-1)(delayed(measured)(*call) for call in calls)
    logs = np.log(np.reshape(done, (1 + len(alternatives), len(cells), 2)))
    return logs - logs[0]


def ratio(logs: NDArray[np.float64]) -> str:
    height = np.exp(logs.mean())
    return f"{height:.3f} ± {height * standard_error(logs):.3f}"


def cells_of(sources: Sequence[Source], folder: str | None, seed: int) -> list[Cell]:
    tables = [s.load(folder) for s in sources if folder or s.name in OF_SCIKIT_LEARN]
    return [Cell(data, split) for data in tables for split in random_splits(0.5, 3, seed=seed)]


def main() -> None:
    folder = os.environ.get("FSGYM_DATA")
    if folder is None:
        print("FSGYM_DATA is not set: only the tables of scikit-learn are used")
    measured(Cell(CHOSEN_BY[0].load(folder), random_splits(0.5, 1, seed=100)[0]), {})  # compiles
    cells = cells_of(CHOSEN_BY, folder, seed=100)
    chosen = {name: getattr(base_learners, name) for alternative in ALTERNATIVES for name in alternative}
    print(f"{len(cells)} cells by which the parameters were chosen, {chosen}; test loss relative to linear scores")
    for alternative, logs in zip(ALTERNATIVES, log_ratios(cells, ALTERNATIVES)[1:], strict=True):
        title = ", ".join(f"{name}={value:g}" for name, value in alternative.items()) or "these parameters"
        print(f"{title:28}{ratio(logs[:, 0])}")
    others = cells_of(OTHERS, folder, seed=0)
    logs = log_ratios(others, [{}])[1]
    print(f"\n{'other tables':28}{'loss':20}processor time")
    names = [cell.data.name for cell in others]
    for name in [*dict.fromkeys(names), "all"]:
        own = logs[[name in ("all", other) for other in names]]
        print(f"{name:28}{ratio(own[:, 0]):20}{np.exp(own[:, 1].mean()):.1f}")


if __name__ == "__main__":
    main()
