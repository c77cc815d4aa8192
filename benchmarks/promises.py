"""How often promises are broken, on populations where the risk at each threshold is known exactly.

python benchmarks/promises.py                                      # writes docs/promises.md
python benchmarks/promises.py --classes MixtureClassifier --sets digits --draws 500 --out ""
python benchmarks/promises.py --kinds "error among answered" --out ""    # those of models that refer cases

Not speed. A model is trained once for each set, and one that may refer cases; the other rows are the population.
Calibration rows are drawn from it with replacement, 2,000 times, and the threshold is chosen as in ``calibrate``. The
losses of all rows at all thresholds are tabulated once, so that no draw runs the policy. Exits with status 1 if
promises are broken more often than they say by more than two standard errors. Needs ``FSGYM_DATA``.
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
from fsgym.evaluation.calibrate import SHARE_FOR_START  # noqa: E402
from fsgym.evaluation.promise import LIMITS, Risk, needed_limits  # noqa: E402
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
REFER_COST = 0.25  # of models that refer cases; by hand
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
    referred : float64 (n_limits,), the share of rows that are referred; None for a model that refers none
        Then some of the rows choose where the tests begin.
    """

    counted: NDArray[np.bool_]
    wrong: NDArray[np.bool_]
    features: NDArray[np.float64]
    plain: float
    referred: NDArray[np.float64] | None = None

    @property
    def risks(self) -> NDArray[np.float64]:
        """The share of wrong answers at each threshold, float64 (n_limits,); NaN where no row counts."""
        with np.errstate(invalid="ignore"):
            return (self.wrong & self.counted).sum(axis=0) / self.counted.sum(axis=0)


class Outcome(NamedTuple):
    """Shares of the draws that were refused and whose promise was broken; means of those that were not refused.

    These are the features more than plain, and the share of rows that are referred.
    """

    limit: float
    delta: float
    refused: float
    broken: float
    more: float
    referred: float = np.nan


def tables(model: agents.BaseAgentClassifier, data: fsgym.Dataset) -> dict[str, Table]:
    """The tables of a population for the error, and the recall of its rarest class.

    Of a model that may refer cases, that of the error among the answered ones.
    """
    costs, y, refers = model.policy_.rules.answer_costs, data.y, model.policy_.rules.refer_cost is not None
    rarest = int(np.bincount(y, minlength=data.n_classes).argmin())
    record = record_paths(model.policy_, model.arrangement_.rows(data.X))
    plain = float(record.lengths[record.ends(record.stops)].mean())
    found, risks = {}, {"error": Risk("error", 1, 1), "recall": Risk("recall", 0, 1, rarest, "")}
    for name, risk in ({"error among answered": risks["error"]} if refers else risks).items():
        needed = needed_limits([risk], None, record.answers, record.probabilities, costs)
        ends, answers = np.stack([record.ends_at(limit, needed, refers) for limit in LIMITS], axis=-1)
        lengths = record.lengths[ends]
        answered = answers < data.n_classes
        counted, referred = answered & risk.counted(y)[:, None], 1 - answered.mean(axis=0)
        found[name] = Table(counted, answers != y[:, None], lengths.mean(axis=0), plain, referred if refers else None)
    return found


def outcome(table: Table, limit: float, delta: float, draws: list[NDArray]) -> Outcome:
    """How promises of a limit fare; ``draws`` are counts of each row, (n_draws, n), of each stage."""
    counted, wrong = table.counted.astype(np.float64), (table.wrong & table.counted).astype(np.float64)
    p_values = [binomial_p_value((w @ wrong).round(), (w @ counted).round(), limit) for w in draws]
    chosen = []
    for k in range(len(p_values[0])):
        start = start_of_sequence(p_values[0][k]) if len(p_values) > 1 else 0
        last = last_of_sequence(p_values[-1][k, start:], delta)
        chosen.append(-1 if last < 0 else start + last)
    passed = np.array([k for k in chosen if k >= 0], np.int64)
    broken = (table.risks[passed] > limit + 1e-12).sum() / len(chosen)
    more = float(table.features[passed].mean()) - table.plain if len(passed) else np.nan
    referred = float(table.referred[passed].mean()) if table.referred is not None and len(passed) else np.nan
    return Outcome(limit, delta, 1 - len(passed) / len(chosen), float(broken), more, referred)


def stages(n: int, n_draws: int, two: bool, rng: np.random.Generator) -> list[NDArray]:
    """How often each row of a population is drawn for each stage, float64 (n_draws, n)."""
    first = int(ROWS * SHARE_FOR_START) if two else 0
    sizes = [first, ROWS - first] if two else [ROWS]
    return [rng.multinomial(size, np.full(n, 1 / n), n_draws).astype(np.float64) for size in sizes]


def limits_of(table: Table) -> list[float]:
    """The limits of a table: those given, and three between its lowest and largest risk."""
    low, high = np.nanmin(table.risks), np.nanmax(table.risks)
    return [*GIVEN, *(float(low + share * (high - low)) for share in BETWEEN)]


def lines_of(name: str, table: Table, n_draws: int) -> tuple[list[str], bool]:
    """The lines of a set in the table of one kind of promise, and whether promises are broken too often."""
    draws = stages(len(table.wrong), n_draws, table.referred is not None, np.random.default_rng(0))
    risks, lines, failed = table.risks, [], False
    for k, limit in enumerate(limits_of(table)):
        cells = []
        for delta in DELTAS:
            found = outcome(table, limit, delta, draws)
            too_often = found.broken > delta + 2 * np.sqrt(delta * (1 - delta) / n_draws)
            failed = failed or too_often
            more = "" if np.isnan(found.more) else f"{round(found.more, 1) + 0.0:.1f}"
            cells += [f"{found.refused:.3f}", f"{found.broken:.3f}" + (" **too often**" if too_often else ""), more]
            if table.referred is not None:
                cells.append("" if np.isnan(found.referred) else f"{found.referred:.3f}")
        shown = name if k == 0 else ""
        span = f"{np.nanmin(risks):.3f} to {np.nanmax(risks):.3f}" if k == 0 else ""
        lines.append(f"| {shown} | {span} | {limit:.3f} | {' | '.join(cells)} |")
    return lines, failed


def header(kind: str) -> str:
    """The first lines of the table of one kind of promise."""
    figures = ["refused", "broken", "features more", *(["referred"] if kind == "error among answered" else [])]
    columns = ["set", "risks over thresholds", "limit", *(f"{f}, {1 - delta:.1g}" for delta in DELTAS for f in figures)]
    shown = " | ".join(c.replace("0.", ".") for c in columns)
    return f"| {shown} |\n|{' --- |' * len(columns)}"


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

This page is written by `python benchmarks/promises.py`. A lattice agent is trained once on each set, and one that may
[refer cases](guide/refer.md); the other rows are the population, so that the risk at each threshold is known exactly.
{ROWS:,} calibration rows are drawn from it with replacement, {n_draws:,} times, and the threshold is chosen as
[calibrate](guide/certain_enough.md) does.

A promise is broken where the risk on the population is above the limit. A refused draw breaks none, so the share
refused stands beside. At confidences .9 and .8 at most .1 and .2 of the draws may be broken, and {errors}
with two standard errors of the simulation.

The limits .05 and .1 are what one might ask for. The next three are at 1/4, 1/2 and 3/4 between the lowest and the
largest risk over thresholds of the set, where a promise can fail. Features more are means over the draws that were not
refused, compared with the model without a promise."""
    ]
    for kind, lines in found.items():
        parts.append(f"## {TITLES[kind]}\n\n{NOTES[kind]}\n\n{header(kind)}\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


VERDICT = """They are kept as often as they say: on no set, and for no limit, more of them are broken than the
confidence allows. What these models cannot keep is mostly refused, such as 5 % or 10 % of wrong answers on adult and
pima_diabetes; just below what they can, it is accepted by unlucky rows, no more often than the confidence allows."""
NOTES = {
    "error": "The sequence of thresholds begins where everything is acquired.",
    "recall": "Risks and limits are shares of the class that are missed; only rows of the class count.",
    "error among answered": (
        f"Of models with `refer_cost={REFER_COST:g}`. A fifth of the rows chooses where the sequence begins, the "
        "others test. Referred is the share of all rows, means over the draws that were not refused."
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", default="LatticeClassifier", help="a name in agents")
    parser.add_argument("--sets", default=",".join(SETS), help="names of data sets, separated by commas")
    parser.add_argument("--kinds", default=",".join(TITLES), help="of promises, separated by commas")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", default=str(PAGE), help='the page to write; "" for none')
    given = parser.parse_args()
    found: dict[str, list[str]] = {kind: [] for kind in given.kinds.split(",")}
    failed = False
    for name in given.sets.split(","):
        n_train, n_others, lam = SETS[name]
        data = fsgym.load_dataset(name)
        order = np.random.default_rng(0).permutation(data.n_samples)
        train, others = data.rows(order[:n_train]), data.rows(order[n_train : n_train + n_others])
        by_kind: dict[str, Table] = {}
        for refer_cost, kinds in ((None, {"error", "recall"}), (REFER_COST, {"error among answered"})):
            if kinds & {*found}:
                with warnings.catch_warnings(action="ignore"):
                    model = getattr(agents, given.classes)(lam=lam, refer_cost=refer_cost, random_state=0).fit(train)
                by_kind |= tables(model, others)
        for kind, table in by_kind.items():
            if kind not in found:
                continue
            lines, broken = lines_of(name, table, given.draws)
            found[kind] += lines
            failed = failed or broken
            print(kind, *lines, sep="\n", flush=True)
    if given.out and not failed:
        Path(given.out).write_text(page(found, given.draws))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
