"""The overhead of running a study: with cells that calculate for 50 ms, and with empty cells.

    python benchmarks/study_overhead.py [tcp://SCHEDULER:PORT]

Two processes must reach 1.7 times the speed of one, and the store must cost less than 2 ms a cell; otherwise the exit
status is 1. Runs with one and two processes alternate, and the best of three rounds counts. Two processes need two free
cores, so the load of the machine is printed too. With the address of a running Dask scheduler, or with a Ray cluster
that ``ray.init("auto")`` finds, the overhead of a cell there is printed as well.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from fsgym.runner import Task, run_tasks

CELLS, SECONDS, ROUNDS = 80, 0.05, 3
LEAST_SPEED, MOST_STORE = 1.7, 0.002


def busy(seed: int, seconds: float) -> dict[str, float]:
    """Calculate for the given CPU time."""
    total, until = float(seed), time.process_time() + seconds
    while time.process_time() < until:
        total += sum(range(200))
    return {"seed": seed}


def idle(seed: int, seconds: float) -> dict[str, float]:
    """Sleep for the given time: shows what two processes reach on a machine with free cores."""
    time.sleep(seconds)
    return {"seed": seed}


def tasks(count: int, seconds: float, kind: str = "busy") -> list[Task]:
    return [Task(f"study_overhead:{kind}", {"seed": k, "seconds": seconds}) for k in range(count)]


def wall(cells: list[Task], store: Path | None, **how) -> float:
    begun = time.perf_counter()
    run = run_tasks(cells, store, **how)
    assert run.errors == [None] * len(cells), run.errors
    return time.perf_counter() - begun


def speed_of_two(folder: Path, kind: str) -> float:
    """Speed of two processes relative to one, including the store but not the start of the processes."""
    wall(tasks(4, 0.0), None, n_jobs=2)
    one, two = [], []
    for k in range(ROUNDS):
        one.append(wall(tasks(CELLS, SECONDS, kind), folder / f"{kind}-one{k}" / "results.sqlite"))
        two.append(wall(tasks(CELLS, SECONDS, kind), folder / f"{kind}-two{k}" / "results.sqlite", n_jobs=2))
    return min(one) / min(two)


def overhead(count: int, **how) -> float:
    """Seconds per empty cell."""
    wall(tasks(4, 0.0), None, **how)
    return min(wall(tasks(count, 0.0), None, **how) for _ in range(ROUNDS)) / count


def cost_of_store(folder: Path) -> float:
    with_store = min(wall(tasks(1000, 0.0), folder / f"store{k}" / "results.sqlite") for k in range(ROUNDS)) / 1000
    return with_store - overhead(1000)


def main(scheduler: str | None = None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        ratio, waiting = (speed_of_two(Path(folder), kind) for kind in ("busy", "idle"))
        store = cost_of_store(Path(folder))
    print(f"two processes against one, cells of {SECONDS * 1000:.0f} ms: {ratio:.2f} x (at least {LEAST_SPEED})")
    print(f"the same with cells that only sleep, which need no free cores: {waiting:.2f} x")
    print(f"the store: {store * 1000:.2f} ms a cell (at most {MOST_STORE * 1000:.0f})")
    print(f"an empty cell in this process: {overhead(1000) * 1000:.2f} ms")
    print(f"an empty cell with two processes of loky: {overhead(1000, n_jobs=2) * 1000:.2f} ms")
    if scheduler is not None:
        print(f"dask: {overhead(500, backend='dask', scheduler=scheduler) * 1000:.2f} ms")
    if find_spec("ray") is not None:
        try:
            print(f"Ray: {overhead(300, backend='ray') * 1000:.2f} ms")
        except OSError as error:
            print(error)
    print(f"load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return int(ratio < LEAST_SPEED or store > MOST_STORE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
