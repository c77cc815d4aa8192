"""CPU time until a command answers a mistake in its arguments: nothing heavy may be imported before.

Each command runs in a process of its own, twice; the second time counts, so that compiled files are there. Prints the
seconds of each mistake, the heavy packages that it imported, and the worst.

    python benchmarks/mistakes.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 2.0  # seconds of CPU time
HEAVY = ("sklearn", "torch", "pandas", "scipy", "agents")
MISTAKES = """
no-such-command
compare
compare no_such
compare no_such.csv
compare wine --splits 0
compare wine --splits 1000000000000
compare wine --jobs 0
compare wine --jobs 10000000000000000000000
compare wine --train-share 2
compare wine --methods latice
compare wine --lam 0,1x
compare wine --lam=
compare wine --seed=-1
compare wine --backend slurm
compare wine --backend dask
compare wine --out=
compare wine --out MODEL
compare wine --data-dir no_such
compare wine --costs no_such.csv
compare wine --related no_such.json
compare wine --groups FOLDER
compare wine --no-such-option
train wine
train wine -o FOLDER
train wine -o model.fsgym --agent latice
train wine -o model.fsgym --steps 0
train wine -o model.fsgym --seed=-1
train wine -o model.fsgym --lam=-1
train wine -o model.fsgym --split some
train wine -o model.fsgym --budget-cost nan
train no_such.csv -o model.fsgym
evaluate no_such.fsgym wine
evaluate FOLDER wine
evaluate MODEL no_such.csv
evaluate TABLE wine
predict MODEL no_such.csv
predict MODEL TABLE -o answers.txt
predict MODEL TABLE --missing-columns ignore
explain MODEL no_such.csv
explain MODEL TABLE --row x
chart MODEL -o chart.png
chart MODEL --max-boxes 0
ask no_such.fsgym
ask MODEL --known no_such.json
ask MODEL --save FOLDER
ask MODEL --resume x.json --accept
serve no_such.fsgym
serve MODEL --port 70000
export no_such.fsgym page.html
export MODEL FOLDER
describe no_such.csv
describe wine --data-dir no_such
leaderboard NoSuch-v0
leaderboard DatumWise-v0 --mine no_function
reproduce no-such-study
reproduce gbfs --jobs 0
datasets --data-dir no_such
"""
CHILD = """
import resource, sys
from fsgym.cli import main
try:
    main(sys.argv[1:])
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    heavy = [name for name in {heavy!r} if name in sys.modules]
    print("CPU", used.ru_utime + used.ru_stime, *heavy)
"""


def measure(arguments: list[str]) -> tuple[int, float, list[str], str]:
    """Exit status, seconds of CPU time, heavy packages imported, and the sentence."""
    command = [sys.executable, "-c", CHILD.format(heavy=HEAVY), *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    _, seconds, *heavy = ran.stdout.splitlines()[-1].split()
    return ran.returncode, float(seconds), heavy, ran.stderr.strip()


def main() -> int:
    """Print a line for each mistake; 1 where one took longer than ``LIMIT``, or was no mistake."""
    with tempfile.TemporaryDirectory() as folder:
        places = {"FOLDER": folder, "MODEL": f"{folder}/model.fsgym", "TABLE": f"{folder}/table.csv"}
        Path(places["MODEL"]).write_bytes(b"\x02" + bytes(7) + b"{}")  # begins as a model file
        Path(places["TABLE"]).write_text("age,target\n1,yes\n2,no\n")
        figures = []
        for line in filter(None, MISTAKES.splitlines()):
            arguments = [places.get(word, word) for word in line.split()]
            measure(arguments)
            code, seconds, heavy, sentence = measure(arguments)
            figures.append((seconds, line, code))
            fault = "" if code == 2 else f"  exit status {code}"
            print(f"{seconds:6.2f} s  {line:<55} {' '.join(heavy):<22}{fault}  {sentence[:100]}")
    worst = max(figures)
    print(f"worst of {len(figures)}: {worst[0]:.2f} s, {worst[1]} (limit {LIMIT:g} s)")
    return int(worst[0] > LIMIT or any(code != 2 for _, _, code in figures))


if __name__ == "__main__":
    sys.exit(main())
