"""Faults of the past, put back one by one in a copy of the tree: does the fitting kind of attack find each?

python .ci/faults.py                      # all, some 20 minutes; exit status 1 where one is not found
python .ci/faults.py --only "spent: true" --minutes 1
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COPIED = (".ci", "agents", "baselines", "fsgym", "fsgym_studies", "tests", "pyproject.toml")


class Fault(NamedTuple):
    """A fault of the past.

    Attributes
    ----------
    what : str
    kind : str, the kind of attack that must find it
    file : str, where it is put back
    right, wrong : str, the text there, and what it is replaced by
    finding : str, what the attack must say, besides other words
    minutes : float, the time of the attack
    """

    what: str
    kind: str
    file: str
    right: str
    wrong: str
    finding: str
    minutes: float = 0.3


FAULTS = (
    Fault(
        "connections that are never read lock the server",
        "connections",
        "fsgym/web/serving.py",
        "MAX_UNREAD_SECONDS = 10.0  # until a reply is read\nMAX_REQUESTS = 100  # of a connection\n",
        "MAX_UNREAD_SECONDS = 3600.0\nMAX_REQUESTS = 1_000_000\n",  # each alone bounds what is unread
        "unread connections are open",
        1.5,
    ),
    Fault(
        "64 KiB are the most for a case with the token too",
        "requests",
        "fsgym/web/guard.py",
        "MAX_CASE_BYTES if trusted and path.startswith(CASE_PATHS) else MAX_BODY_BYTES",
        "MAX_BODY_BYTES",
        "with a token: 413",
    ),
    Fault(
        "spent: true counts as 1",
        "requests",
        "fsgym/session/case.py",
        'case.spent = check_number(spent, "spent", 0.0)',
        'case.spent = check_number(float(spent), "spent", 0.0)',
        "spent: true",
    ),
    Fault(
        "Content-Length beside chunked is served",
        "requests",
        "fsgym/web/guard.py",
        'return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}',
        "return False",
        "two lengths",
    ),
    Fault(
        "a fraction as an answer cannot be saved",
        "values in sessions",
        "fsgym/session/session.py",
        "isinstance(value, Real) and not isinstance(value, int | float)",
        "False",
        "accepted, and then",
    ),
    Fault(
        "infinity is the name of a level",
        "values in sessions",
        "fsgym/session/values.py",
        " and value not in (np.inf, -np.inf)",
        "",
        "inf",
    ),
    Fault(
        "a misspelt option of reset passes",
        "environments",
        "fsgym/envs/env.py",
        "        if name not in known:\n            raise",
        "        if name not in known and len(name) > 5:\n            raise",
        "misspelt",
    ),
    Fault(
        "spec.to_json with a data set fails inside json",
        "environments",
        "fsgym/envs/spec.py",
        "            except (TypeError, ValueError):\n",
        "            except KeyError:\n",
        "spec.to_json with",
    ),
    Fault(
        "methods of the user find the labels of test rows",
        "own methods",
        "fsgym/comparison/cell.py",
        "parts._replace(validation=parts.validation.without_labels(), test=parts.test.without_labels())",
        "parts",
        "labels of test rows",
        0.5,
    ),
    Fault(
        "methods of the user are not resumed: read from bytecode they have other pickles",
        "own methods",
        "fsgym/methods/factories.py",
        'exec(compile(source, str(spec.origin), "exec"), vars(module))',
        "spec.loader.exec_module(module)",
        "trained again",
        0.5,
    ),
    Fault(
        "continued policies answer from their stop",
        "continued policies",
        "fsgym_studies/suites/cell.py",
        "policy.actions(known, X, answers_only, continue_after_stop=True)",
        "policy.actions(known, X, answers_only)",
        "other answers within a budget",
    ),
    Fault(
        "a killed run leaves a file -shm",
        "kills of compare",
        "fsgym/runner/store.py",
        '?mode=rw", uri=True, timeout=0.1)\n            try:\n                # A lock as that of ``Store``. Without it'
        ', a log that a killed run has left is read by a file -shm.\n                connection.execute("PRAGMA '
        'locking_mode=EXCLUSIVE")\n',
        '?mode=ro", uri=True, timeout=0.1)\n            try:\n',
        "-shm",
        5.0,
    ),
    Fault(
        "a killed write leaves its part",
        "kills of datasets",
        "fsgym/support/writing.py",
        "        _remove_parts_of_killed(target)\n",
        "",
        ".part",
        1.0,
    ),
    Fault(
        "a killed fetch leaves files without their record",
        "kills of datasets",
        "fsgym/datasets/public/fetch.py",
        " and not _left_by_a_killed_fetch(public, folder, records[name])",
        "",
        "MANIFEST.json",
        1.0,
    ),
    Fault(
        "Ctrl-C while modules are imported is a traceback",
        "Ctrl-C at the start",
        "fsgym/support/early_interrupts.py",
        "if is_command(sys.orig_argv[1:]) and",
        "if False and",
        "Traceback",
        1.0,
    ),
)


def tried(fault: Fault, seed: int, minutes: float | None) -> tuple[str, str]:
    """Whether the attack finds this fault in a copy, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, Path(folder, name))
        place = Path(folder, fault.file)
        text = place.read_text()
        if text.count(fault.right) != 1:
            return (
                "NOT TRIED",
                f"{fault.file} has the text {text.count(fault.right)} times, not once: {fault.right.strip()}",
            )
        place.write_text(text.replace(fault.right, fault.wrong))
        command = [sys.executable, ".ci/attack.py", "--kinds", fault.kind, "--seed", str(seed)]
        run = subprocess.run(
            [*command, "--minutes", str(minutes or fault.minutes)],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    findings = re.findall(r"^FINDING (.*)$", run.stdout, re.MULTILINE)
    found = [line for line in findings if fault.finding in line]
    if found:
        return "found", found[0]
    return "NOT FOUND", "; ".join(findings) or run.stderr.strip()[-300:]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--minutes", type=float, help="of each attack; by default what the fault needs")
    options.add_argument("--only", default="", help="faults whose description contains this")
    given = options.parse_args()
    missed = 0
    for fault in FAULTS:
        if given.only not in fault.what:
            continue
        began = time.monotonic()
        state, said = tried(fault, given.seed, given.minutes)
        missed += state != "found"
        print(f"{state}: {fault.what}\n    {fault.kind}, {time.monotonic() - began:.0f} s: {said[:160]}", flush=True)
    print(f"{missed} not found")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
