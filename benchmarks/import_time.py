"""What ``import fsgym, agents, baselines`` takes, against ``import sklearn.svm, gymnasium, numba``.

Both run in fresh interpreters, one after the other in turns. The figure is the ratio of the medians of their CPU
time, which other programs on the machine disturb less than time on the clock; that is printed too.

    python benchmarks/import_time.py [rounds]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time

OURS = "import fsgym, agents, baselines"
PEERS = "import sklearn.svm, gymnasium, numba"
HEAVY = ("torch", "matplotlib", "stable_baselines3", "jinja2", "typer")
LIMIT = 1.3


def measure(statement: str) -> tuple[float, float]:
    """CPU seconds and seconds of a fresh interpreter that runs the statement."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def loaded(statement: str) -> set[str]:
    """Names of the top-level modules that the statement loads."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


def main(rounds: int = 9) -> int:
    extra = loaded(OURS) - loaded(PEERS)
    heavy = [name for name in (*HEAVY, "pandas") if name in extra]
    for statement in (OURS, PEERS):  # files into the cache
        measure(statement)
    ours, peers = zip(*((measure(OURS), measure(PEERS)) for _ in range(rounds)))
    cpu, clock = (statistics.median(v[k] for v in ours) / statistics.median(v[k] for v in peers) for k in (0, 1))
    for name, seen in ((OURS, ours), (PEERS, peers)):
        medians = (statistics.median(v[k] for v in seen) for k in (0, 1))
        print("{:40} {:.2f} s CPU, {:.2f} s on the clock".format(name, *medians))
    print(f"ratio {cpu:.2f} in CPU time (must be <= {LIMIT}), {clock:.2f} on the clock, medians of {rounds} rounds")
    print(f"loaded beyond the peers: {', '.join(heavy) or 'nothing heavy'}")
    return int(cpu > LIMIT or bool(heavy))


if __name__ == "__main__":
    sys.exit(main(*(int(v) for v in sys.argv[1:2])))
