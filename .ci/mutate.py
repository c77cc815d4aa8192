"""Changed model files, thousands of them: each must be refused in one sentence, or be used in bounded time and memory.

With ``--tables``: tables (CSV, npz, Parquet), manifests, prices and sessions, whose values must also be those of a slow
reader in plain Python, each in its row.

python .ci/mutate.py --seconds 120
python .ci/mutate.py --n 50000 --seed 3 --keep /tmp/defects
python .ci/mutate.py --tables --n 20000
python .ci/mutate.py --seed 3 --only 712   # a single one again, in this process
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support.changed_files import ChangedFiles  # noqa: E402
from support.changed_policies import ChangedPolicies  # noqa: E402
from support.changed_tables import ChangedTables  # noqa: E402
from support.mutation_trials import first_line_of, run_trials, table_of  # noqa: E402
from support.small_model_files import write_small_models  # noqa: E402


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--n", type=int, default=None, help="files; by default as many as the time allows")
    options.add_argument("--first", type=int, default=0, help="number of the first file")
    options.add_argument("--seconds", type=float, default=None)
    options.add_argument("--only", type=int, default=None, help="try one file in this process")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--models", type=Path, default=None, help="folder for the unchanged models")
    options.add_argument("--every-variant", action="store_true", help="more rules")
    options.add_argument("--exported", action="store_true", help="exported policies instead of model files")
    options.add_argument("--keep", type=Path, default=None, help="folder for the files of defects")
    options.add_argument("--tables", action="store_true", help="tables, manifests, prices and sessions instead")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.tables:
            return _try(ChangedTables(Path(folder), given.seed), given)
        models = given.models or Path(folder)
        models.mkdir(parents=True, exist_ok=True)
        paths = write_small_models(models, given.every_variant)
        changed = (
            ChangedPolicies(paths, given.seed) if given.exported else ChangedFiles(paths, Path(folder), given.seed)
        )
        return _try(changed, given)


def _try(files: ChangedFiles | ChangedPolicies | ChangedTables, given: argparse.Namespace) -> int:
    if given.only is not None:
        print(files.model_of(given.only), files.changed(given.only)[1], sep="\n")
        files.attempt(given.only)
        return 0
    files.warm_up()
    begun = time.monotonic()
    end = begun + given.seconds if given.seconds else float("inf")
    numbers = range(given.first, given.first + given.n) if given.n else itertools.count(given.first)
    counts, defects = Counter(), defaultdict(list)
    for index, outcome in run_trials(
        files.attempt, itertools.takewhile(lambda _: time.monotonic() < end, numbers), given.processes
    ):
        counts[files.kind_of(index), outcome.kind] += 1
        if outcome.is_defect:
            defects[first_line_of(outcome)].append((index, outcome))
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{given.seed}-{index}").write_bytes(files.changed(index)[0])
                (given.keep / f"{given.seed}-{index}.txt").write_text(outcome.text)
    print(table_of(counts))
    for line, found in sorted(defects.items(), key=lambda item: -len(item[1])):
        index, outcome = found[0]
        print(f"\n{len(found)} x {line}\n  e.g. --seed {given.seed} --only {index}: {files.model_of(index)}")
        print(f"  {files.changed(index)[1]}\n" + "\n".join(f"  {text}" for text in outcome.text.splitlines()))
    print(f"\n{counts.total()} files in {time.monotonic() - begun:.0f} s, {sum(map(len, defects.values()))} defects")
    return int(bool(defects))


if __name__ == "__main__":
    sys.exit(main())
