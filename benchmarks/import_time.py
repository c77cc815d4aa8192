"""What imports take: CPU seconds of fresh interpreters, and how many modules of ours each loads.

The statements run one after the other in turns, beside ``import sklearn.svm, gymnasium, numba``, which most of them
need. The figures are medians; other programs on the machine disturb CPU time less than time on the clock.

    python benchmarks/import_time.py [rounds]
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

PEERS = "import sklearn.svm, gymnasium, numba"
STATEMENTS = (
    PEERS,
    "import fsgym",
    "import fsgym, gymnasium; gymnasium.make('DatumWise-v0')",
    "import agents",
    "from agents import AdaptiveClassifier",
    "from baselines import CARTClassifier",
    "import fsgym.cli",
)
OURS = ("fsgym", "agents", "baselines", "fsgym_studies")
HEAVY = ("torch", "matplotlib", "stable_baselines3", "jinja2", "typer", "pandas")


def cpu_seconds(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs the statement."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loaded(statement: str) -> list[str]:
    """The modules that the statement loads."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def main(rounds: int = 9) -> None:
    modules = {statement: loaded(statement) for statement in STATEMENTS}  # and files into the cache
    seconds: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(rounds):
        for statement in STATEMENTS:
            seconds[statement].append(cpu_seconds(statement))
    for statement in STATEMENTS:
        names = {name.partition(".")[0] for name in modules[statement]}
        n_ours = sum(name.partition(".")[0] in OURS for name in modules[statement])
        median = statistics.median(seconds[statement])
        ratio = median / statistics.median(seconds[PEERS])
        heavy = ", ".join(name for name in HEAVY if name in names)
        print(
            f"{median:.2f} s, ratio {ratio:.2f}, {n_ours:3} modules of ours: {statement}" + f"  ({heavy})" * bool(heavy)
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
