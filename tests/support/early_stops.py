"""A script: Ctrl-C at times soon after a command begins; prints how often it was answered by a traceback.

python tests/support/early_stops.py --n 20 --seconds 0.8
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

MODULE = (sys.executable, "-m", "fsgym")


def stopped_after(seconds: float, command: tuple[str, ...]) -> tuple[int, str]:
    """The exit status, and what the command said; its interpreter was ready after some 30 ms."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            start_new_session=True,
            env=os.environ | {"PYTHONFAULTHANDLER": ""},
        )
        time.sleep(seconds)
        run.send_signal(signal.SIGINT)
        try:
            said, _ = run.communicate(timeout=120)
        except subprocess.TimeoutExpired:  # Ctrl-C was lost: status -9
            os.killpg(run.pid, signal.SIGKILL)
            said, _ = run.communicate()
    return run.returncode, said


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--n", type=int, default=20)
    options.add_argument("--seconds", type=float, default=0.8)
    options.add_argument("--command", default="", help="by default python -m fsgym")
    given = options.parse_args()
    command = (*(tuple(given.command.split()) or MODULE), "compare", "wine", "--splits", "1", "--jobs", "1")
    seen, first = Counter(), ""
    for k in range(given.n):
        after = 0.05 + given.seconds * k / given.n
        status, said = stopped_after(after, command)
        kind = "traceback" if "Traceback" in said else f"status {status}"
        seen[kind] += 1
        first = first or (f"{after:.2f} s: {said}" if kind == "traceback" else "")
    print(dict(seen))
    print(first[-600:])
    return bool(seen["traceback"])


if __name__ == "__main__":
    sys.exit(main())
