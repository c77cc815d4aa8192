"""The learners of ``AdaptiveClassifier`` on data with a known distribution: loss, choice and time.

Each generator is sampled once for training and once for the test, with other seeds than those by which constants were
chosen. Prices are .01, errors cost 1. Exits with status 1 unless the chosen learner is within .015 (cubes) or .03 (Syn)
of the loss of a policy that knows the distribution, and not above the best learner by more than two standard errors of
the paired difference. Writes its section of docs/agent_measurements.md; takes about ten minutes on one core.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from agents import AdaptiveClassifier, AnyStateNetworkClassifier, LatticeClassifier, MixtureClassifier
from fsgym import evaluate
from fsgym.datasets import Cube, CubeNM, CubeNUC, Syn
from fsgym.datasets.generators import SyntheticData
from fsgym.evaluation.reference_policies import reference
from fsgym_studies.common.render import replace_section

LAM, SEED = 0.01, 300
GENERATORS: dict[SyntheticData, tuple[int, float]] = {  # rows, and how far above the reference
    Cube(): (12_000, 0.015),
    CubeNUC(): (12_000, 0.015),
    CubeNM(): (12_000, 0.03),
    Syn(1): (10_000, 0.03),
    Syn(2): (10_000, 0.03),
    Syn(3): (10_000, 0.03),
}
LEARNERS = {"lattice": LatticeClassifier, "mixture": MixtureClassifier, "network": AnyStateNetworkClassifier}
PLACE = Path(__file__).resolve().parent.parent / "docs" / "agent_measurements.md"


class Measured(NamedTuple):
    """A fitted classifier: loss of each test row, CPU seconds of the fit, and the learner that was chosen."""

    losses: np.ndarray
    seconds: float
    learner: str


def measure(model, train, test) -> Measured:
    """Fit a classifier and evaluate it."""
    begun = time.process_time()
    model.fit(train)
    seconds = time.process_time() - begun
    return Measured(np.asarray(evaluate(model, test).losses), seconds, getattr(model, "learner_", ""))


def section(rows: list[dict[str, str]]) -> str:
    """The section of the document."""
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0]), *(" | ".join(row.values()) for row in rows)]
    table = "\n".join(f"| {line} |" for line in lines)
    return (
        "## Learners on data with a known distribution\n\n"
        "This section is written by `python benchmarks/learners.py`. Loss on test rows at `lam=0.01`, after one "
        "training with default settings on 12,000 rows\n(cubes) or 10,000 (Syn). The reference is the loss of a policy "
        "that knows the distribution: for Syn the best one after `x11`, for the cubes a\ngreedy one, which a learner "
        "may beat. Times are CPU times of the fits, divided by that of the lattice; `auto` is the default.\n\n"
        + table
        + "\n"
    )


def main() -> int:
    """Measure everything; return the exit status."""
    for cls in LEARNERS.values():
        cls(LAM, random_state=SEED).fit(Cube().sample(1000, random_state=SEED))  # compiles, which is no time of a fit
    rows, failed = [], []
    for generator, (n_samples, most_above) in GENERATORS.items():
        train = generator.sample(n_samples, random_state=SEED)
        test = generator.sample(10_000, random_state=SEED + 1000)
        known = reference(generator, LAM).loss
        each = {name: measure(cls(LAM, random_state=SEED), train, test) for name, cls in LEARNERS.items()}
        chosen = measure(AdaptiveClassifier(LAM, random_state=SEED), train, test)
        best = min(each.values(), key=lambda m: m.losses.mean())
        difference = chosen.losses - best.losses
        above, error = difference.mean(), difference.std() / np.sqrt(len(difference))
        loss = float(chosen.losses.mean())
        if loss > known + most_above or above > 2 * error:
            failed.append(generator)
        rows.append(
            {"data": f"`{generator}`"}
            | {name: f"{m.losses.mean():.4f}" for name, m in each.items()}
            | {"chosen": chosen.learner, "its loss": f"{loss:.4f}", "reference": f"{known:.4f}"}
            | {
                f"time, {name}": f"{m.seconds / each['lattice'].seconds:.1f}"
                for name, m in (*each.items(), ("auto", chosen))
                if name != "lattice"
            }
        )
        print(rows[-1], flush=True)
    replace_section(PLACE, "learners", section(rows), "benchmarks/learners.py")
    print("not reached:", *failed) if failed else print("all limits hold")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
