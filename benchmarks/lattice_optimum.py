"""What the lattice agent loses above the exact optimum, on tasks of twelve bits whose distribution is known.

Not speed: python benchmarks/lattice_optimum.py [features] [rows]   (some ten minutes with 12 and 20,000)

Each cell is the expected loss of the policy learnt from a sample minus that of the best policy there is, both exact:
the one follows the policy from all rows, the other is dynamic programming over what may be known. Limit: 0.01.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from agents.lattice.classifier import refit
from agents.lattice.learn import learn
from agents.lattice.training_data import prepare_data
from agents.parallel import run_serially
from fsgym import Dataset, Rules
from fsgym.exact import (
    all_rows,
    decision_list,
    expected_loss,
    multiplexer,
    naive_bayes,
    optimum,
    parity,
    rules_of_every_kind,
    sample,
)

PROBLEMS = {"naive Bayes": naive_bayes, "decision list": decision_list, "multiplexer": multiplexer, "parity": parity}
KINDS = ("base", "budget", "prices and errors", "groups", "relational")  # of rules, for large samples
LIMIT = 0.01


def losses(joint: np.ndarray, options: dict[str, dict[str, Any]], n_rows: int) -> dict[str, tuple[float, float]]:
    """Expected loss of the lattice agent trained on a sample, and the minimum, for each kind of rules.

    The classifiers of the subsets do not depend on prices and error costs: kinds with the same groups share them.
    """
    X, y = sample(joint, n_rows, 0)
    data = prepare_data(Dataset(X, y), np.random.default_rng(0))
    classifiers: dict[Any, dict] = {}
    found = {}
    for name, chosen in options.items():
        rules = Rules(X.shape[1], joint.shape[-1], **chosen)
        result = learn(data, rules, run_serially, classifiers=classifiers.setdefault(rules.groups, {}))
        done = refit([result.policy], run_serially).trajectories(all_rows(X.shape[1]))
        found[name] = expected_loss(done, joint, rules), optimum(joint, rules)
    return found


def main(n: int = 12, n_rows: int = 20_000) -> float:
    """Print the table and the largest gap; return it."""
    rules, gaps = {kind: rules_of_every_kind(n)[kind] for kind in KINDS}, []
    print(f"{n} features, {n_rows} rows; in brackets the optimum\n| task |", *(f"{kind} |" for kind in KINDS))
    calls = (delayed(losses)(problem(n), rules, n_rows) for problem in PROBLEMS.values())
    for name, found in zip(PROBLEMS, Parallel(n_jobs=-1, return_as="generator")(calls)):
        gaps += [loss - best for loss, best in found.values()]
        print(f"| {name} |", *(f"{loss - best:.4f} ({best:.4f}) |" for loss, best in found.values()), flush=True)
    print(f"largest gap {max(gaps):.4f}, limit {LIMIT}")
    return max(gaps)


if __name__ == "__main__":
    sys.exit(int(main(*map(int, sys.argv[1:])) > LIMIT))
