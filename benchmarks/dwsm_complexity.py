"""Measured exponents beside Table 3 of Dulac-Arnold et al. (2012): the time to learn and to classify by RCPI.

CPU seconds over doubling numbers of features, rows and classes, on synthetic data, each also as a ratio to the first.
The measured exponent is the slope of a line through the logs; the paper's is that of its formula at the same sizes.
On tables of mostly zeros, the time with ``nonzero=True`` as a ratio to that without, as in section 5.2 of the paper.
Writes its section of docs/scaling.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from agents import RCPI
from agents.rcpi.kernels import ActionScores, Linear
from agents.rcpi.policy import follow_linear
from fsgym import Dataset, DatumWiseEnv, Rules
from fsgym_studies.common.render import markdown, replace_section

PLACE = Path(__file__).parents[1] / "docs" / "scaling.md"
ROWS, FEATURES, CLASSES, BUDGET, GROUPS = 500, 16, 2, 4, 4
ITERATIONS, REPEATS = 3, 2
SPARSE_ROWS, VALUES = 4000, 4  # rows of a sparse table, and values other than 0 in each


class Task(NamedTuple):
    """A learning task, and its size in the paper's formulas: n features or groups, T steps at most, c classes."""

    rows: int = ROWS
    features: int = FEATURES
    classes: int = CLASSES
    budget: int | None = None
    groups: int | None = None
    ordered: bool = False
    values: int | None = None  # other than 0 in each row
    nonzero: bool = False  # of RCPI

    def rules(self) -> dict[str, Any]:
        """Options of ``Rules``: features cost nothing, so that episodes are long."""
        options: dict[str, Any] = {"lam": 0.0, "budget": self.budget}
        if self.groups is not None:
            options["groups"] = [part.tolist() for part in np.array_split(np.arange(self.features), self.groups)]
        if self.ordered:  # each feature needs the one before it
            options["prerequisites"] = np.eye(self.features, k=-1, dtype=int).tolist()
        return options

    def learning(self) -> float:
        """N_s T A^2 of Table 3, where A is the number of actions among which a state has to choose."""
        n = self.groups or self.features
        choices = 1 if self.ordered else n
        return self.rows * min(n, self.budget or n) * (choices + self.classes) ** 2

    def inference(self) -> float:
        """N_f (n + c) of section 5.1, for all rows and scores that are updated with each feature."""
        return self.rows * min(self.features, self.budget or self.features) * (self.features + self.classes)


def learner(task: Task) -> tuple[RCPI, np.ndarray]:
    """An agent before it learns by the paper's regressions on uniform states, and the features of its rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(task.rows, task.features)).astype(np.float32)
    if task.values is not None:
        X *= rng.permuted(np.tile(np.arange(task.features), (task.rows, 1)), axis=1) < task.values
    noisy = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=task.rows)
    y = np.argsort(np.argsort(noisy)) * task.classes // task.rows
    data = Dataset(X, y)
    env = DatumWiseEnv(data, Rules.for_dataset(data, **task.rules()))
    options: dict[str, Any] = {"answers": "linear", "acquisitions": "linear", "states": "uniform", "start": "uniform"}
    options |= {"n_iterations": ITERATIONS, "nonzero": task.nonzero}
    return RCPI(env, states_per_sample=1, random_state=0, **options), X


def least_seconds(function: Callable[[], Any]) -> float:
    """CPU seconds, the least of ``REPEATS``."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return min(times)


def learning_seconds(task: Task) -> float:
    return least_seconds(lambda: learner(task)[0].learn())


def inference_seconds(task: Task) -> float:
    """CPU seconds to classify the rows, without validation."""
    agent, X = learner(task)
    policy: Any = agent.learn().policy
    linear = Linear.blank(policy.rules).appended(ActionScores(policy.weights, policy.intercepts, policy.logistic))
    return least_seconds(lambda: follow_linear(X, X, linear, policy.rules))


def exponent(sizes: list[int], values: list[float]) -> float:
    """The slope of a straight line through the logs."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


FEATURE_SIZES = [8, 16, 32, 64, 128]
SWEEPS: dict[str, tuple[str, list[int], dict[str, Any]]] = {  # what grows, its sizes, what is fixed
    "sparse model": ("features", FEATURE_SIZES, {}),
    f"hard budget {BUDGET}": ("features", FEATURE_SIZES, {"budget": BUDGET}),
    f"{GROUPS} groups": ("features", FEATURE_SIZES, {"groups": GROUPS}),
    "fixed order": ("features", FEATURE_SIZES, {"ordered": True}),
    "sparse model, rows": ("rows", [1000, 2000, 4000, 8000, 16000], {}),
    "sparse model, classes": ("classes", [2, 4, 8, 16], {"rows": 2000}),
}
INFERENCE_SWEEPS: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    f"inference, budget {BUDGET}": ("features", FEATURE_SIZES, {"rows": 4000, "budget": BUDGET}),
    "inference, rows": ("rows", [2000, 4000, 8000, 16000, 32000], {}),
    "inference, classes": ("classes", [2, 4, 8, 16], {"rows": 4000}),
}


def exponents_text(sizes: list[int], values: list[float]) -> str:
    return f"{exponent(sizes, values):.2f}, {exponent(sizes[-2:], values[-2:]):.2f}"


def measured_row(
    name: str, sweep: tuple[str, list[int], dict[str, Any]], seconds: Callable[[Task], float], formula: Any
) -> dict[str, Any]:
    """One row of the table."""
    grows, sizes, fixed = sweep
    tasks = [Task(**{**fixed, grows: size}) for size in sizes]
    times, steps = [seconds(task) for task in tasks], [float(formula(task)) for task in tasks]
    return {
        "what": name,
        "grows": f"{grows} {', '.join(map(str, sizes))}",
        "CPU seconds at the first": f"{times[0]:.4f}",
        "ratio to the first": ", ".join(f"{t / times[0]:.1f}" for t in times[1:]),
        "formula, ratio": ", ".join(f"{s / steps[0]:.1f}" for s in steps[1:]),
        "exponent, last doubling": exponents_text(sizes, times),
        "formula, likewise": exponents_text(sizes, steps),
    }


def sparse_row(features: int) -> dict[str, Any]:
    """CPU seconds to learn from a table of mostly zeros, with all acquisitions tried and with ``nonzero``."""
    task = Task(SPARSE_ROWS, features, values=VALUES)
    every, few = learning_seconds(task), learning_seconds(task._replace(nonzero=True))
    return {
        "features": features,
        "CPU seconds": f"{every:.4f}",
        "with nonzero": f"{few:.4f}",
        "ratio": f"{few / every:.2f}",
        "rollouts, ratio": f"{(VALUES + 1) / features:.2f}",
    }


def section(rows: list[dict[str, Any]], sparse_rows: list[dict[str, Any]]) -> str:
    return (
        "## How learning and inference grow (Table 3 of Dulac-Arnold et al., 2012)\n\n"
        "This section is written by `python benchmarks/dwsm_complexity.py`. The paper states that an iteration of RCPI "
        "takes N_s T (n + c)^2 steps, for N_s states, episodes\nof T steps, n features (or groups) and c classes, and "
        "that a row is classified in N_f n steps, or fewer if scores are updated. The formula is this one with T = n,\n"
        "or the budget; in a fixed order only one feature can be acquired in each state. It counts the rollouts alone; "
        "what is measured is a whole fit\nof three iterations, with its regressions, in which answers need no rollout. "
        "States are uniform, and answers are linear regressions, as the paper prints. "
        "Synthetic "
        f"rows, {FEATURES} features, {CLASSES} classes, {ROWS} rows and one state per row where nothing else is said; "
        "prices are 0.\nExponents are slopes of a line through the logs, so that small sizes, where a fit has fixed "
        f"costs, lower them; the second is that of the last doubling alone.\n\n{markdown(pd.DataFrame(rows))}\n"
        "### Tables of mostly zeros\n\n"
        "Section 5.2 of the paper restricts learning to the values other than 0, so that fewer acquisitions are tried "
        "in a state. This is `nonzero=True` of RCPI,\nwhere one further rollout in each state serves all zeros. "
        f"Each of {SPARSE_ROWS} rows has {VALUES} such values; everything else is as in the first row above. The last\n"
        "column is the share of the rollouts from a state in which nothing is acquired. The number of regressions "
        "stays the same, and with many features\nmost of the time that is left is theirs.\n\n"
        f"{markdown(pd.DataFrame(sparse_rows))}"
    )


def main() -> None:
    learning_seconds(Task())  # compiles
    learning_seconds(Task(values=VALUES, nonzero=True))
    inference_seconds(Task())
    rows = [measured_row(n, sweep, learning_seconds, Task.learning) for n, sweep in SWEEPS.items()]
    rows += [measured_row(n, sweep, inference_seconds, Task.inference) for n, sweep in INFERENCE_SWEEPS.items()]
    sparse_rows = [sparse_row(n) for n in FEATURE_SIZES]
    print(pd.DataFrame(rows).to_string(index=False), pd.DataFrame(sparse_rows).to_string(index=False), sep="\n\n")
    replace_section(PLACE, "dwsm-complexity", section(rows, sparse_rows), "benchmarks/dwsm_complexity.py")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
