"""What a study costs beside its cells: cells of 50 ms of calculation, and cells of nothing.

    python benchmarks/study_overhead.py [tcp://SCHEDULER:PORT]

Two processes must reach 1.7 times the speed of one, and the store must cost less than 2 ms a cell; ends with exit
status 1 where they do not. One and two processes take turns, and the best of three rounds counts, since both
need a core of their own: a busy machine cannot show what it has no cores for, so the load is printed too. With the
address of a running dask scheduler, or with a Ray cluster found by ``ray.init("auto")``, what a cell costs there.
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
    """Calculate for so much CPU time."""
    total, until = float(seed), time.process_time() + seconds
    while time.process_time() < until:
        total += sum(range(200))
    return {"seed": seed}


def idle(seed: int, seconds: float) -> dict[str, float]:
    """Wait for so long: what two processes reach when nobody else wants the cores."""
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
    """How many times faster two processes are than one, store included, once the processes are there."""
    wall(tasks(4, 0.0), None, n_jobs=2)
    one, two = [], []
    for k in range(ROUNDS):
        one.append(wall(tasks(CELLS, SECONDS, kind), folder / f"{kind}-one{k}" / "results.sqlite"))
        two.append(wall(tasks(CELLS, SECONDS, kind), folder / f"{kind}-two{k}" / "results.sqlite", n_jobs=2))
    return min(one) / min(two)


def overhead(count: int, **how) -> float:
    """Seconds a cell that does nothing."""
    wall(tasks(4, 0.0), None, **how)
    return min(wall(tasks(count, 0.0), None, **how) for _ in range(ROUNDS)) / count


def cost_of_store(folder: Path) -> float:
    kept = min(wall(tasks(1000, 0.0), folder / f"store{k}" / "results.sqlite") for k in range(ROUNDS)) / 1000
    return kept - overhead(1000)


def main(scheduler: str | None = None) -> int:
    with tempfile.TemporaryDirectory() as made:
        ratio, waiting = (speed_of_two(Path(made), kind) for kind in ("busy", "idle"))
        store = cost_of_store(Path(made))
    print(f"two processes against one, cells of {SECONDS * 1000:.0f} ms: {ratio:.2f} x (at least {LEAST_SPEED})")
    print(f"the same where cells only wait, which needs no free cores: {waiting:.2f} x")
    print(f"the store: {store * 1000:.2f} ms a cell (at most {MOST_STORE * 1000:.0f})")
    print(f"a cell of nothing here: {overhead(1000) * 1000:.2f} ms; loky, 2: {overhead(1000, n_jobs=2) * 1000:.2f} ms")
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
