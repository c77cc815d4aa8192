"""Whether agents are the same on other kinds of CPU: fits under core types of OpenBLAS, which sum in other orders.

python benchmarks/core_types.py                         # some minutes; --agents lattice --tables wine for a part

Each agent is fitted on the same training rows of six tables under each core type, in a process of its own. Printed for
each agent and core type, beside the first core type: on how many tables the models have the same bytes, the share of
answers on test rows that differ, and the difference of the test loss, paired by rows, with its standard error. The exit
status is 1 if a difference is above two standard errors of the loss itself. A core type that this CPU cannot run is
left out. Four of the tables need ``FSGYM_DATA``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402

import agents  # noqa: E402
import fsgym  # noqa: E402

CORE_TYPES = ("Haswell", "SkylakeX", "Sandybridge", "Nehalem", "Prescott")  # Zen has the kernels of Haswell
TABLES = ("breast_cancer", "wine", "heart_statlog", "german_credit", "ionosphere", "vehicle")
LAM, MOST_TRAINING_ROWS = 0.02, 300
AGENTS: dict[str, Callable[[], Any]] = {
    "lattice": lambda: agents.LatticeClassifier(lam=LAM, effort=0.1, random_state=0),
    "mixture": lambda: agents.MixtureClassifier(lam=LAM, random_state=0),
    "network": lambda: agents.AnyStateNetworkClassifier(lam=LAM, n_steps=100, random_state=0),
    "rcpi": lambda: agents.DatumWiseClassifier(lam=LAM, random_state=0),
}


def measured(agent: str, table: str) -> dict[str, Any]:
    """The digest of a model, and its answers and losses on the test rows, in this process."""
    data = fsgym.load_dataset(table)
    order = np.random.default_rng(0).permutation(data.n_samples)
    n_train = min(data.n_samples // 2, MOST_TRAINING_ROWS)
    train, test = data.rows(order[:n_train]), data.rows(order[n_train:])
    began = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        model = AGENTS[agent]().fit(train.to_array(), train.y)
    seconds = time.process_time() - began
    answers = model.predict(test.to_array())
    paid = model.features_used(test.to_array()).sum(axis=1)  # each price is 1
    return {
        "digest": model.policy_digest(),
        "answers": answers.tolist(),
        "loss": ((answers != test.y) + LAM * paid).tolist(),
        "seconds": seconds,
    }


def answer_lines() -> None:
    """Write what is measured for each line on the standard input, which names an agent and a table."""
    for line in sys.stdin:
        print(json.dumps(measured(*line.split())), flush=True)


def under(core_type: str, chosen: list[str], tables: list[str]) -> dict[tuple[str, str], dict[str, Any]] | None:
    """What is measured in a process with this core type, by agent and table; None where this CPU cannot run it."""
    script = "from core_types import answer_lines; answer_lines()"
    path = os.pathsep.join(p for p in (os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")) if p)
    wanted = [(agent, table) for agent in chosen for table in tables]
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"OPENBLAS_CORETYPE": core_type, "PYTHONPATH": path},
        input="".join(f"{agent} {table}\n" for agent, table in wanted),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.returncode == -signal.SIGILL:
        return None
    run.check_returncode()
    return dict(zip(wanted, map(json.loads, run.stdout.splitlines()), strict=True))


class Difference(NamedTuple):
    """What another core type changes on one table.

    Attributes
    ----------
    same_bytes : bool, whether the models are the same
    answers : float, share of the answers that differ
    loss, error : float, mean difference of the loss and its standard error, paired by rows
    error_of_loss : float, standard error of the loss itself
    """

    same_bytes: bool
    answers: float
    loss: float
    error: float
    error_of_loss: float


def difference(one: dict[str, Any], other: dict[str, Any]) -> Difference:
    before, after = np.array(one["loss"]), np.array(other["loss"])
    n = len(before)
    return Difference(
        one["digest"] == other["digest"],
        float(np.mean(np.array(one["answers"]) != np.array(other["answers"]))),
        float(np.mean(after - before)),
        float(np.std(after - before, ddof=1) / np.sqrt(n)),
        float(np.std(before, ddof=1) / np.sqrt(n)),
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--agents", default=",".join(AGENTS))
    options.add_argument("--tables", default=",".join(TABLES))
    options.add_argument("--core-types", default=",".join(CORE_TYPES))
    given = options.parse_args()
    chosen, tables, core_types = (v.split(",") for v in (given.agents, given.tables, given.core_types))
    found = {}
    for core_type in core_types:
        results = under(core_type, chosen, tables)
        if results is None:
            print(f"{core_type}: not possible on this CPU", file=sys.stderr)
        else:
            found[core_type] = results
    first, *others = found
    most = 0.0
    print(f"beside {first}, {len(tables)} tables: {', '.join(tables)}\n")
    print("| agent | core type | same bytes | answers that differ | difference of loss | largest, in standard errors |")
    print("| --- | --- | --- | --- | --- | --- |")
    for agent in chosen:
        for core_type in others:
            each = [difference(found[first][agent, t], found[core_type][agent, t]) for t in tables]
            of_loss = max(abs(d.loss) / d.error_of_loss for d in each)
            most = max(most, of_loss)
            loss = np.mean([d.loss for d in each])
            error = np.sqrt(np.sum([d.error**2 for d in each])) / len(each)
            print(
                f"| {agent} | {core_type} | {sum(d.same_bytes for d in each)} of {len(each)} "
                f"| {np.mean([d.answers for d in each]):.2%} | {loss:+.4f} ± {error:.4f} | {of_loss:.2f} |"
            )
    seconds = {c: sum(r["seconds"] for r in results.values()) for c, results in found.items()}
    print("\nCPU seconds of the fits:", ", ".join(f"{c} {s:.0f}" for c, s in seconds.items()))
    return int(most > 2)


if __name__ == "__main__":
    sys.exit(main())
