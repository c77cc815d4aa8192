"""What the lattice agent loses above the exact optimum, on tasks of twelve bits whose distribution is known.

Not speed: python benchmarks/lattice_optimum.py [features] [rows]   (some ten minutes with 12 and 20,000)

Each cell is the expected loss of the policy learnt from a sample minus that of the best policy there is, both exact:
the one follows the policy from all rows, the other is dynamic programming over what may be known. Limit: 0.01.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from joblib import Parallel, delayed

from support.exact import KINDS, PROBLEMS, losses, rules_of

LIMIT = 0.01


def main(n: int = 12, n_rows: int = 20_000) -> float:
    """Print the table and the largest gap; return it."""
    rules, gaps = {kind: rules_of(n)[kind] for kind in KINDS}, []
    print(f"{n} features, {n_rows} rows; in brackets the optimum\n| task |", *(f"{kind} |" for kind in KINDS))
    calls = (delayed(losses)(problem(n), rules, n_rows) for problem in PROBLEMS.values())
    for name, found in zip(PROBLEMS, Parallel(n_jobs=-1, return_as="generator")(calls)):
        gaps += [loss - best for loss, best in found.values()]
        print(f"| {name} |", *(f"{loss - best:.4f} ({best:.4f}) |" for loss, best in found.values()), flush=True)
    print(f"largest gap {max(gaps):.4f}, limit {LIMIT}")
    return max(gaps)


if __name__ == "__main__":
    sys.exit(int(main(*map(int, sys.argv[1:])) > LIMIT))
