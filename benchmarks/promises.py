"""How often promises are broken, on populations where the risk at each threshold is known exactly.

python benchmarks/promises.py                                      # writes docs/promises.md
python benchmarks/promises.py --classes MixtureClassifier --sets digits --draws 500 --out ""

Not speed. A model is trained once for each set; the other rows are the population. Calibration rows are drawn from it
with replacement, 2,000 times, and the threshold is chosen as in ``calibrate``. The losses of all rows at all thresholds
are tabulated once, so that no draw runs the policy. Exits with status 1 if promises are broken more often than they say
by more than two standard errors. Needs ``FSGYM_DATA``.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

import agents  # noqa: E402
import fsgym  # noqa: E402
from agents.certain import record_paths  # noqa: E402
from fsgym.evaluation.promise import LIMITS, Risk  # noqa: E402
from fsgym.evaluation.risk_control import binomial_p_value, last_of_sequence, start_of_sequence  # noqa: E402

# Rows of the training and of the population, and lambda: .01, and .005 for sets of several classes.
SETS = {
    "adult": (2000, 3000, 0.01),
    "spambase": (2000, 2601, 0.01),
    "breast_cancer": (285, 284, 0.01),
    "pima_diabetes": (384, 384, 0.01),
    "segment": (1000, 1310, 0.005),
    "digits": (900, 897, 0.005),
}
GIVEN = (0.05, 0.1)  # limits that a user might ask for
BETWEEN = (0.25, 0.5, 0.75)  # of the way from the lowest risk over thresholds to the largest: there a promise can fail
DELTAS = (0.1, 0.2)
ROWS = 1000  # of a calibration
FIRST_STAGE = 0.2  # of them, with referral; as in Ringel et al. (2024)
DRAWS = 2000
PAGE = Path(__file__).resolve().parents[1] / "docs" / "promises.md"


class Table(NamedTuple):
    """What happens to each row of a population at each threshold, from the strictest on.

    Attributes
    ----------
    counted : bool (n, n_limits), whether the row counts: all, those of a class, or those that are answered
    wrong : bool (n, n_limits), whether its answer is wrong
    features : float64 (n_limits,), mean features
    plain : float, mean features without a promise
    two_stages : bool, whether some of the rows choose where the tests begin
    """

    counted: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    features: NDArray[np.float64]
    plain: float
    two_stages: bool = False

    @property
    def risks(self) -> NDArray[np.float64]:
        """The share of wrong answers at each threshold, float64 (n_limits,); NaN where no row counts."""
        with np.errstate(invalid="ignore"):
            return (self.wrong & self.counted).sum(axis=0) / self.counted.sum(axis=0)


class Outcome(NamedTuple):
    """Shares of the draws that were refused and whose promise was broken, and the mean of features more than plain."""

    limit: float
    delta: float
    refused: float
    broken: float
    more: float


def tables(model: agents.BaseAgentClassifier, data: fsgym.Dataset) -> dict[str, Table]:
    """The tables of a population for the error, the recall of its rarest class, and the error with referral."""
    costs, y = model.policy_.rules.error_costs, data.y
    rarest = int(np.bincount(y, minlength=data.n_classes).argmin())
    record = record_paths(model.policy_, model.arrangement_.rows(data.X))
    plain = float(record.lengths[record.ends(record.stops)].mean())
    found = {}
    for name, risk in (("error", Risk("error", 0, 0)), ("recall", Risk("recall", 0, 0, rarest, ""))):
        doubts = risk.doubts(record.answers, record.probabilities, costs)
        ends = record.ends_at_limits(doubts, record.stops)
        wrong, counted = record.answers[ends] != y[:, None], np.broadcast_to(risk.counted(y)[:, None], ends.shape)
        found[name] = Table(counted, wrong, record.lengths[ends].mean(axis=0), plain)
        if name == "error":
            answered = record.stops[ends] & (doubts[ends] <= LIMITS)
            found["error among answered"] = found[name]._replace(counted=answered, two_stages=True)
    return found


def outcome(table: Table, limit: float, delta: float, draws: list[NDArray]) -> Outcome:
    """How promises of a limit fare; ``draws`` are counts of each row, (n_draws, n), of each stage."""
    counted, wrong = table.counted.astype(np.float64), (table.wrong & table.counted).astype(np.float64)
    p_values = [binomial_p_value((w @ wrong).round(), (w @ counted).round(), limit) for w in draws]
    chosen = []
    for k in range(len(p_values[0])):
        start = start_of_sequence(p_values[0][k]) if table.two_stages else 0
        last = last_of_sequence(p_values[-1][k, start:], delta)
        chosen.append(-1 if last < 0 else start + last)
    passed = np.array([k for k in chosen if k >= 0], np.int64)
    broken = (table.risks[passed] > limit + 1e-12).sum() / len(chosen)
    more = float(table.features[passed].mean()) - table.plain if len(passed) else np.nan
    return Outcome(limit, delta, 1 - len(passed) / len(chosen), float(broken), more)


def stages(n: int, n_draws: int, two: bool, rng: np.random.Generator) -> list[NDArray]:
    """How often each row of a population is drawn for each stage, float64 (n_draws, n)."""
    first = int(ROWS * FIRST_STAGE) if two else 0
    sizes = [first, ROWS - first] if two else [ROWS]
    return [rng.multinomial(size, np.full(n, 1 / n), n_draws).astype(np.float64) for size in sizes]


def limits_of(table: Table) -> list[float]:
    """The limits of a table: those given, and three between its lowest and largest risk."""
    low, high = np.nanmin(table.risks), np.nanmax(table.risks)
    return [*GIVEN, *(float(low + share * (high - low)) for share in BETWEEN)]


def lines_of(name: str, table: Table, n_draws: int) -> tuple[list[str], bool]:
    """The lines of a set in the table of one kind of promise, and whether promises are broken too often."""
    draws = stages(len(table.wrong), n_draws, table.two_stages, np.random.default_rng(0))
    risks, lines, failed = table.risks, [], False
    for k, limit in enumerate(limits_of(table)):
        cells = []
        for delta in DELTAS:
            found = outcome(table, limit, delta, draws)
            too_often = found.broken > delta + 2 * np.sqrt(delta * (1 - delta) / n_draws)
            failed = failed or too_often
            more = "" if np.isnan(found.more) else f"{round(found.more, 1) + 0.0:.1f}"
            cells += [f"{found.refused:.3f}", f"{found.broken:.3f}" + (" **too often**" if too_often else ""), more]
        shown = name if k == 0 else ""
        span = f"{np.nanmin(risks):.3f} to {np.nanmax(risks):.3f}" if k == 0 else ""
        lines.append(f"| {shown} | {span} | {limit:.3f} | {' | '.join(cells)} |")
    return lines, failed


COLUMNS = ["set", "risks over thresholds", "limit", "refused, .9", "broken, .9", "features more, .9"]
COLUMNS += ["refused, .8", "broken, .8", "features more, .8"]
HEADER = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"
TITLES = {
    "error": "The share of wrong answers",
    "recall": "The recall of the rarest class",
    "error among answered": "The share of wrong answers among the answered, where uncertain cases go to a person",
}


def page(found: dict[str, list[str]], n_draws: int) -> str:
    """The page, with a table for each kind of promise."""
    errors = " and ".join(f"{delta + 2 * np.sqrt(delta * (1 - delta) / n_draws):.3f}" for delta in DELTAS)
    parts = [
        f"""# How often promises are broken

{VERDICT}

This page is written by `python benchmarks/promises.py`. A lattice agent is trained once on each set, and the other rows
are the population, so that the risk at each threshold is known exactly. {ROWS:,} calibration rows are drawn from it
with replacement, {n_draws:,} times, and the threshold is chosen as [calibrate](guide/certain_enough.md) does.

A promise is broken where the risk on the population is above the limit. A refused draw breaks none, so the share
refused stands beside. At confidences .9 and .8 at most .1 and .2 of the draws may be broken, and {errors}
with two standard errors of the simulation.

The limits .05 and .1 are what one might ask for. The next three are at 1/4, 1/2 and 3/4 between the lowest and the
largest risk over thresholds of the set, where a promise can fail. Features more are means over the draws that were not
refused, compared with the model without a promise."""
    ]
    for kind, lines in found.items():
        parts.append(f"## {TITLES[kind]}\n\n{NOTES[kind]}\n\n{HEADER}\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


VERDICT = """They are kept as often as they say: on no set, and for no limit, more of them are broken than the
confidence allows. What these models cannot keep is refused, such as 5 % or 10 % of wrong answers on adult and
pima_diabetes."""
NOTES = {
    "error": "The sequence of thresholds begins where everything is acquired.",
    "recall": "Risks and limits are shares of the class that are missed; only rows of the class count.",
    "error among answered": "A fifth of the rows chooses where the sequence begins, the others test.",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", default="LatticeClassifier", help="a name in agents")
    parser.add_argument("--sets", default=",".join(SETS), help="names of data sets, separated by commas")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", default=str(PAGE), help='the page to write; "" for none')
    given = parser.parse_args()
    found: dict[str, list[str]] = {kind: [] for kind in TITLES}
    failed = False
    for name in given.sets.split(","):
        n_train, n_others, lam = SETS[name]
        data = fsgym.load_dataset(name)
        order = np.random.default_rng(0).permutation(data.n_samples)
        train, others = data.rows(order[:n_train]), data.rows(order[n_train : n_train + n_others])
        with warnings.catch_warnings(action="ignore"):
            model = getattr(agents, given.classes)(lam=lam, random_state=0).fit(train)
        for kind, table in tables(model, others).items():
            lines, broken = lines_of(name, table, given.draws)
            found[kind] += lines
            failed = failed or broken
            print(kind, *lines, sep="\n", flush=True)
    if given.out and not failed:
        Path(given.out).write_text(page(found, given.draws))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
