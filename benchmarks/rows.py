"""The default agent on tables that need not fit into memory: seconds, peak memory and loss by number of rows.

python benchmarks/rows.py                              (some half an hour on one core, and 1 GB of disk)
python benchmarks/rows.py --rows 100000,1000000        # other numbers of rows, ascending

A table of the kind ``unequal`` of ``benchmarks/kinds.py``, with noise up to 30 columns, is written to a Parquet file
with row groups of 100,000 rows. Each fit reads it in blocks, in a process of its own with one thread; its loss is that
on the same 100,000 other rows. The optimum knows the distribution. Limits: CPU seconds of the last fit at most 11 times
those of the one before, 4 GB at the peak, and a loss that is not higher by more than two standard errors.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS", "OMP_THREAD_LIMIT"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
from kinds import KINDS, Bits, solve  # noqa: E402

from fsgym import Dataset, Rules, evaluate, open_blocks  # noqa: E402

SEED, N_COLUMNS, ROWS_OF_GROUP, N_TEST = 7000, 30, 100_000, 100_000
ROWS = (100_000, 1_000_000, 10_000_000)
MOST_TIMES, MOST_BYTES, MOST_ERRORS = 11.0, 4e9, 2.0


class Drawn:
    """Rows of the kind, from one seed, with the rules and the loss of the optimum."""

    def __init__(self) -> None:
        rng = np.random.default_rng(SEED)
        kind = KINDS["unequal"](rng)
        assert isinstance(kind, Bits)
        n_informative = kind.joint.ndim - 1
        self.kind = replace(kind, n_noise=N_COLUMNS - n_informative, noise_cost=1.0)
        own = Rules(n_informative, kind.joint.shape[-1], lam=kind.lam, **kind.options)
        self.optimum = solve(kind.joint, own).loss
        self.rules, self.features, _ = self.kind._with_noise(own, rng)

    def rows(self, n_rows: int, seed: int) -> Dataset:
        return self.kind._draw(n_rows, self.features, np.random.default_rng([SEED, seed]))


def write(path: Path, n_rows: int) -> None:
    """Write the first ``n_rows`` of the table."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    drawn, writer = Drawn(), None
    for k in range(n_rows // ROWS_OF_GROUP):
        part = drawn.rows(ROWS_OF_GROUP, k + 1)
        columns = {name: part.X[:, i] for i, name in enumerate(part.feature_names)}
        group = pa.table(columns | {"target": part.y})
        writer = writer or ParquetWriter(path, group.schema)
        writer.write_table(group)
    if writer is not None:
        writer.close()


def fit(path: str, learner: str) -> dict[str, float | str]:
    """Seconds, peak memory and loss of a fit, in this process."""
    from agents import AdaptiveClassifier

    drawn = Drawn()
    begun, cpu = time.perf_counter(), time.process_time()
    options: dict = {
        "learner": learner,
        "lam": drawn.rules.lam,
        "costs": drawn.rules.costs,
        "error_costs": drawn.rules.error_costs,
    }
    model = AdaptiveClassifier(**options, random_state=0).fit(open_blocks(path))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - begun
    peak = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    result = evaluate(model, drawn.rows(N_TEST, 0))
    return {
        "seconds": cpu,
        "wall": wall,
        "bytes": peak,
        "loss": result.loss,
        "error": float(result.losses.std() / np.sqrt(N_TEST)),
        "spent": result.spent,
        "learner": model.learner_,
        "optimum": drawn.optimum,
        "microseconds": 1e6 * (time.process_time() - begun) / N_TEST,
    }


def measure(n_rows: int, folder: Path, learner: str) -> dict:
    path = folder / f"{n_rows}.parquet"
    if not path.exists():
        write(path, n_rows)
    done = subprocess.run(
        [sys.executable, __file__, "--fit", str(path), "--learner", learner], stdout=subprocess.PIPE, check=True
    )
    found = json.loads(done.stdout)
    print(
        f"{n_rows:,} x {N_COLUMNS}, {path.stat().st_size / 1e6:.0f} MB: {found['seconds']:.0f} CPU seconds "
        f"({found['wall']:.0f} s), {found['bytes'] / 1e9:.2f} GB at the peak, loss {found['loss']:.3f} "
        f"({found['error']:.3f}), optimum {found['optimum']:.3f}, by {found['learner']}; "
        f"{found['microseconds']:.0f} microseconds a row to classify",
        flush=True,
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="multiples of 100,000, ascending")
    parser.add_argument("--folder", type=Path, help="where the tables are written and kept; default: a temporary one")
    parser.add_argument("--fit", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--learner", default="auto", help="the only one whose time grows with the rows is lattice")
    given = parser.parse_args()
    if given.fit:
        print(json.dumps(fit(given.fit, given.learner)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        found = [measure(int(n), given.folder or Path(temporary), given.learner) for n in given.rows.split(",")]
    before, last = found[-2:]
    times, more = last["seconds"] / before["seconds"], last["loss"] - before["loss"]
    error = float(np.hypot(last["error"], before["error"]))
    print(f"{times:.1f} times the CPU seconds; loss {more:+.3f} (standard error at most {error:.3f})")
    return int(times > MOST_TIMES or last["bytes"] > MOST_BYTES or more > MOST_ERRORS * before["error"])


if __name__ == "__main__":
    sys.exit(main())
