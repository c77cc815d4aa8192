"""Attacks of all kinds with what a seed draws; a table of what was found, and exit status 1 at any finding.

python .ci/attack.py --minutes 10 --seed 1
python .ci/attack.py --minutes 1 --kinds requests,kills
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from support.attacks import ATTACKS, NOT_RUN, Found  # noqa: E402

MOST_SHOWN = 10  # findings of a kind


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--minutes", type=float, default=10.0)
    options.add_argument(
        "--kinds",
        default=",".join(ATTACKS),
        help="their names or beginnings of them, separated by commas; by default all",
    )
    given = options.parse_args()
    wanted = [name.strip() for name in given.kinds.split(",")]
    for name in wanted:
        if not any(kind.startswith(name) for kind in ATTACKS):
            options.error(f"unknown kind {name!r}; they are {', '.join(ATTACKS)}")
    kinds = [kind for kind in ATTACKS if kind.startswith(tuple(wanted))]
    shares = sum(ATTACKS[kind][0] for kind in kinds)
    warnings.simplefilter("ignore")
    done: dict[str, tuple[Found, float]] = {}
    for kind in kinds:
        share, attack = ATTACKS[kind]
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = attack(given.seed, 60 * given.minutes * share / shares, Path(folder))
        done[kind] = found, time.monotonic() - began
        print(f"{kind}: {len(found.findings)} findings in {found.n} tries", flush=True)
    print(f"\n{'kind':<24}{'tries':>9}{'findings':>10}{'seconds':>9}")
    for kind, (found, seconds) in done.items():
        print(f"{kind:<24}{found.n:>9}{len(found.findings):>10}{seconds:>9.0f}")
    for kind, reason in NOT_RUN.items():
        print(f"not run: {kind}: {reason}")
    for kind, (found, _) in done.items():
        for finding in found.findings[:MOST_SHOWN]:
            print(f"FINDING {kind}, seed {given.seed}: {finding}")
    return int(any(found.findings for found, _ in done.values()))


if __name__ == "__main__":
    sys.exit(main())
