"""A comparison before it is run: its cells, a split, method and setting each; its time, and what has come of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.cell import CELL_FUNCTION, evaluate_trained
from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.examples import usage_as_json, with_units
from fsgym.comparison.protocol import Protocol, seed_of
from fsgym.comparison.ranking import RankedMethod
from fsgym.comparison.summary import nearest_settings
from fsgym.data.dataset import Dataset
from fsgym.runner.local_code import error_with_line
from fsgym.runner.run import Task, run_tasks
from fsgym.runner.store import read_timings
from fsgym.runner.time_left import Expectation
from fsgym.support.threads import n_threads
from fsgym.text.messages import duration_text, listing

MAX_FITS = 100_000  # fits of a comparison; in one second each, they take a day
PICTURES = ("costs", "curves", "usage", "histogram", "reliability", "lambda", "ranks")  # that a report may have
SUMMARIES = (  # of all fits; an earlier call may have written some that the present one does not
    *("losses.csv", "ranks.csv", "differences.csv", "losses.tex", "report.html"),
    *(f"{stem}.{kind}" for stem in PICTURES for kind in ("png", "pdf")),
)


class ExecutionOptions(NamedTuple):
    """Where the fits of a comparison run, and whether their progress is shown."""

    n_jobs: int | None
    backend: str
    scheduler: str | None
    progress: bool


def remove_summaries(folder: Path) -> None:
    """Remove what an earlier call wrote of all its fits, which would be taken for a result of this one."""
    for name in SUMMARIES:
        (folder / name).unlink(missing_ok=True)


Cell = tuple[int, ComparedMethod, int]  # a split, a method and one of its settings; both are counted from 0
Outcome = dict[str, Any]  # what ``run_cell`` returns of a cell, its row completed; of one that failed the row only


def cells_of(protocol: Protocol, methods: Sequence[ComparedMethod]) -> list[Cell]:
    """All cells, split by split, so that an interrupted run has complete splits; ValueError for more than can end."""
    settings = [(method, setting) for method in methods for setting in range(len(method.candidates))]
    n_cells = len(protocol.splits) * len(settings)
    if n_cells > MAX_FITS:
        raise ValueError(
            f"a comparison must have at most {MAX_FITS} fits, got {n_cells}; use fewer splits, methods or settings"
        )
    return [(split, *own) for split in range(len(protocol.splits)) for own in settings]


@dataclass(frozen=True)
class Comparison:
    """A comparison whose arguments are checked; nothing is fitted before ``run``.

    ``limits`` are the numbers of features of ``within``; ``folder`` is where its files go, None for nowhere. Once it
    has been run, ``outcomes`` has one entry per cell, from which its report and figures are made; ``results`` is what
    ``compare`` returns, and ``command`` the command or call that the report names.
    """

    protocol: Protocol
    methods: tuple[ComparedMethod, ...]
    limits: tuple[float, ...]
    folder: Path | None
    outcomes: list[Outcome] = field(default_factory=list)
    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    command: str = ""

    @cached_property
    def cells(self) -> list[Cell]:
        return cells_of(self.protocol, self.methods)

    @property
    def store(self) -> Path | None:
        return None if self.folder is None else self.folder.absolute() / "results.sqlite"

    def explains(self, split: int) -> bool:
        """Whether test rows of a split are explained: those of the first, for the report in the folder."""
        return self.folder is not None and split == 0

    @cached_property
    def tasks(self) -> list[tuple[list[int], Task]]:
        """The tasks that fit the cells, each with their places in ``cells``; none for policies that are fitted.

        A task fits all prices of a method that has a ``path``, otherwise one cell.
        """
        groups: dict[tuple, list[int]] = {}
        for place, (split, method, setting) in enumerate(self.cells):
            if not method.fitted:
                shared = hasattr(method.candidates[setting], "path") and set(method.params[setting]) == {"lam"}
                groups.setdefault((split, method.name, None if shared else setting), []).append(place)
        tables = {m.name: pd.DataFrame({"split": 0, "params": [json.dumps(p) for p in m.params]}) for m in self.methods}
        charted = {name: nearest_settings(table, self.protocol.rules.lam).index for name, table in tables.items()}
        tasks = []
        for places in groups.values():
            split, method, setting = self.cells[places[0]]
            settings, explained = [self.cells[k][2] for k in places], self.explains(split)
            arguments = {
                "candidate": method.candidates[setting],
                "lams": [method.params[k]["lam"] for k in settings] if len(settings) > 1 else None,
                "seed": seed_of(self.protocol.seed, split, method.name),
                "split": self.protocol.splits[split],
                "explained": explained,
                "charted": [explained and k in charted[method.name] for k in settings],
            }
            data = {"dataset": self.protocol.dataset, "rules": self.protocol.rules}
            tasks.append((places, Task(CELL_FUNCTION, arguments, data)))
        return tasks

    def run(self, where: ExecutionOptions, label: str) -> tuple[list[Outcome], bool]:
        """Outcomes of the cells in their order, and whether Ctrl-C came before the last one.

        ``label`` is that of the progress bar. Policies that are already fitted are evaluated in this process and not
        stored: they may hold objects that can neither be pickled nor identified by their content.
        """
        protocol, interrupted = self.protocol, False
        outcomes: dict[int, Outcome] = {}
        try:
            for place, cell in enumerate(self.cells):
                split, method, setting = cell
                if method.fitted:
                    data = protocol.dataset, protocol.rules, protocol.splits[split]
                    result, error = None, None
                    try:
                        result = evaluate_trained(method.candidates[setting], *data, explained=self.explains(split))
                    except Exception as raised:
                        error = error_with_line(raised)
                    outcomes[place] = _outcome_of(protocol, cell, result, error)
        except KeyboardInterrupt:
            interrupted = True
        if not interrupted:
            tasks = [task for _, task in self.tasks]
            expected = self.expectations() if where.progress else None
            run = run_tasks(tasks, self.store, **where._asdict(), name=label, expected=expected)
            interrupted = run.interrupted
            for (places, _), result, error in zip(self.tasks, run.results, run.errors):
                if result or error is not None:
                    found = [None] * len(places) if result is None else result["cells"]
                    outcomes |= {k: _outcome_of(protocol, self.cells[k], own, error) for k, own in zip(places, found)}
        return [outcome for _, outcome in sorted(outcomes.items(), key=lambda item: item[0])], interrupted

    def expectations(self) -> list[Expectation]:
        """The method and settings of each task, and the seconds that it takes by ``seconds_of``."""
        train, found = self.protocol.parts(0).train, []
        each = {method.name: seconds_of(method.key, train) for method in self.methods}
        for places, _ in self.tasks:
            _, method, setting = self.cells[places[0]]
            seconds = each[method.name]
            found.append(Expectation((method.name, str(setting)), None if seconds is None else seconds * len(places)))
        return found

    def fits_done(self, outcomes: Sequence[Outcome]) -> tuple[int, int]:
        """How many fits have come to an end, as the progress bar counts them, and how many there are.

        One fit serves all prices of a method that has a ``path``.
        """
        ended = {(o["row"]["split"], o["row"]["method"], o["row"]["setting"]) for o in outcomes}
        fitted = [place for place, cell in enumerate(self.cells) if cell[1].fitted]
        firsts = [self.cells[place] for place in (*fitted, *(places[0] for places, _ in self.tasks))]
        return sum((split, method.name, setting) in ended for split, method, setting in firsts), len(firsts)

    def chosen(self, standing: RankedMethod) -> dict[int, Outcome]:
        """The outcome of each split at the setting of a method that was chosen there."""
        settings = dict(zip(standing.chosen["split"], standing.chosen["setting"], strict=True))
        own = (o for o in self.outcomes if o["row"]["method"] == standing.method)
        return {o["row"]["split"]: o for o in own if settings.get(o["row"]["split"]) == o["row"]["setting"]}


def _outcome_of(protocol: Protocol, cell: Cell, result: dict[str, Any] | None, error: str | None) -> Outcome:
    split, method, setting = cell
    row: dict[str, Any] = {
        "dataset": protocol.dataset.name,
        "split": split,
        "method": method.name,
        "setting": setting,
        "params": json.dumps(method.params[setting]),
        "price": protocol.rules.lam,
        "error": error,
        "warning": method.caution or None,
    }
    if result is None:
        train, test = protocol.splits[split].divide(protocol.dataset)
        return {"row": row | {"n_train": train.n_samples, "n_test": test.n_samples}}
    row |= result["row"] | {"usage": usage_as_json(result["usage"], protocol.rules.names)}
    if method.caution:
        row["warning"] = f"{method.name} {method.caution}"
    examples = None if result["examples"] is None else with_units(result["examples"], protocol.dataset)
    return result | {"row": row, "examples": examples}


# How long a comparison will take, said before a long run.
#
# Judged by the timings of fits of the same comparison in its folder, and of methods that have none there by
# ``fit_seconds.csv``, which ``benchmarks/fit_seconds.py`` measures: CPU seconds of one setting in one split, by rows
# of the training part, features and classes. Between its points a power law of these three is fitted.

LONG_SECONDS = 60.0  # from which the time is said
SIZES = ("n_samples", "n_features", "n_classes")


def announce_time(planned: Sequence[Comparison], where: ExecutionOptions) -> None:
    """Say on one line of stderr how long the comparisons will take, if it is over a minute.

    Nothing is said of a cluster, whose number of workers is unknown.
    """
    if where.backend != "loky":
        return
    expected = [expected_time(one) for one in planned]
    n_tasks = sum(n for _, n, _ in expected)
    seconds = sum(s for s, *_ in expected) / min(n_threads(where.n_jobs), max(n_tasks, 1))
    if seconds > LONG_SECONDS:
        unknown = dict.fromkeys(name for *_, names in expected for name in names)
        rest = f", and the time of {listing(unknown)}, which is unknown" if unknown else ""
        print(f"fsgym: expected to take about {duration_text(seconds)}{rest}", file=sys.stderr)


def expected_time(planned: Comparison) -> tuple[float, int, tuple[str, ...]]:
    """Seconds of one process for the tasks that are not in the comparison's folder, and the number of these tasks.

    The third value has the methods of which nothing is known; their time is not in the seconds.
    """
    finished, timings = (set(), {}) if planned.store is None else read_timings(planned.store)
    train = planned.protocol.parts(0).train
    measured: dict[str, list[float]] = {}
    left: dict[str, list[int]] = {}
    for places, task in planned.tasks:
        method = planned.cells[places[0]][1].name
        if task.key in timings:
            measured.setdefault(method, []).append(timings[task.key] / len(places))
        if task.key not in finished:
            left.setdefault(method, []).append(len(places))
    each = {
        m.name: float(np.mean(measured[m.name])) if m.name in measured else seconds_of(m.key, train)
        for m in planned.methods
        if m.name in left
    }
    seconds = sum((s * sum(left[name]) for name, s in each.items() if s is not None), 0.0)
    unknown = tuple(name for name, s in each.items() if s is None)
    return seconds, sum(map(len, left.values())), unknown


@lru_cache
def _measured_seconds() -> pd.DataFrame:
    return pd.read_csv(str(files("fsgym.comparison") / "fit_seconds.csv"))


def seconds_of(method: str, train: Dataset) -> float | None:
    """CPU seconds of one setting of a method of ``METHODS``, fitted twice and evaluated; None for one not measured.

    A power law of the numbers of rows, features and classes, by least squares through the logarithms of what was
    measured.
    """
    table = _measured_seconds()
    rows = table[table["method"] == method]
    if rows.empty:
        return None
    sizes = np.log(rows[list(SIZES)].to_numpy(float))
    centre = sizes.mean(axis=0)
    design = np.column_stack([np.ones(len(rows)), sizes - centre])
    law = np.linalg.lstsq(design, np.log(rows["seconds"].to_numpy(float)))[0]
    wanted = np.log([getattr(train, name) for name in SIZES]) - centre
    return float(np.exp(law[0] + wanted @ law[1:]))
