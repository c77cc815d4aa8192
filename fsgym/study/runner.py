"""Every cell (split, method, setting) fitted, evaluated and turned into plain numbers."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate, price_orders
from fsgym.study.protocol import Entrant, Protocol

EXAMPLES = 6


@dataclass(frozen=True)
class Cell:
    """One unit of work; its seed is drawn before anything is dispatched."""

    split: int
    method: str
    setting: int
    params: dict[str, Any]
    candidate: Any
    fitted: bool
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What is kept of a cell: a row of the table, and what the figures need.

    ``histogram[k]`` counts test rows decided with k features (acquisitions, where they come in groups), and
    ``usage[j]`` is the share of test rows that acquisition j was made for; None where the cell failed.
    """

    row: dict[str, Any]
    histogram: list[int] | None = None
    usage: list[float] | None = None
    examples: list[dict[str, Any]] | None = None


def cells_of(protocol: Protocol, entrants: tuple[Entrant, ...]) -> list[Cell]:
    """All cells, split by split, so that an interrupted run has whole splits."""
    return [
        Cell(k, e.name, s, e.params[s], candidate, e.fitted, protocol.seed_of(k, e.name))
        for k in range(protocol.splits)
        for e in entrants
        for s, candidate in enumerate(e.candidates)
    ]


def run(
    protocol: Protocol, cells: list[Cell], n_jobs: int | None, progress: bool
) -> tuple[list[Outcome], BaseException | None]:
    """Outcomes of the cells in their order, and what came before the last one: Ctrl-C, or the death of a process."""
    outcomes: dict[int, Outcome] = {}
    stop: BaseException | None = None
    with _bar(len(cells), protocol.dataset.name, progress) as advance:
        try:
            for number, outcome in _results(protocol, cells, n_jobs):
                outcomes[number] = outcome
                advance()
        except (KeyboardInterrupt, BrokenProcessPool) as error:
            stop = error
    return [outcomes[i] for i in sorted(outcomes)], stop


def _results(protocol: Protocol, cells: list[Cell], n_jobs: int | None) -> Iterator[tuple[int, Outcome]]:
    """Finished cells as they come. Fitted policies may hold what cannot be sent elsewhere: they run here."""
    here = [i for i, c in enumerate(cells) if c.fitted]
    for i in here:
        yield i, run_cell(protocol, cells[i])
    elsewhere = [i for i, c in enumerate(cells) if not c.fitted]
    pool = Parallel(n_jobs=n_jobs, backend="loky", return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(_numbered)(protocol, i, cells[i], os.getpid()) for i in elsewhere)


def _numbered(protocol: Protocol, number: int, cell: Cell, parent: int) -> tuple[int, Outcome]:
    if os.getpid() != parent:  # a worker: Ctrl-C is the parent's to handle
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return number, run_cell(protocol, cell)


def run_cell(protocol: Protocol, cell: Cell) -> Outcome:
    """Fit a setting on the inner part for the validation figures, and on the training part for the test figures."""
    row: dict[str, Any] = {
        "dataset": protocol.dataset.name, "split": cell.split, "method": cell.method, "setting": cell.setting,
        "params": json.dumps(cell.params), "error": None, "warning": None,
    }  # fmt: skip
    with warnings.catch_warnings(record=True) as said, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            parts = protocol.parts(cell.split)
            row |= {"n_train": parts.train.n_samples, "n_test": parts.test.n_samples, "price": protocol.rules.lam}
            policy = _fitted(cell, parts.fit)
            inner = evaluate(policy, parts.validation, protocol.rules)
            row |= {f"validation_{k}": v for k, v in inner.figures().items()}
            policy = _fitted(cell, parts.train)
            result = evaluate(policy, parts.test, protocol.rules)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
            return Outcome(row)
    row |= result.figures()
    telling = [w for w in said if not issubclass(w.category, DeprecationWarning | PendingDeprecationWarning)]
    if telling:
        row["warning"] = f"{telling[0].category.__name__}: {' '.join(str(telling[0].message).split())[:300]}"
    return _outcome(row, result, protocol, want_examples=cell.split == 0)


def _fitted(cell: Cell, part: Dataset) -> Any:
    if cell.fitted:
        return cell.candidate
    estimator = clone(cell.candidate)
    unseeded = {
        name: cell.seed
        for name, value in estimator.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unseeded).fit(part.X, part.classes[part.y])


def _outcome(row: dict[str, Any], result: Evaluation, protocol: Protocol, want_examples: bool) -> Outcome:
    taken = protocol.rules.taken_from(result.used)
    return Outcome(
        row,
        np.bincount(taken.sum(axis=1), minlength=protocol.rules.n_acquisitions + 1).tolist(),
        taken.mean(axis=0).tolist(),
        _examples(result) if want_examples and result.trajectories is not None else None,
    )


def _examples(result: Evaluation) -> list[dict[str, Any]]:
    """Test rows from the fewest to the most questions at even steps, and a wrong one if there is any."""
    assert result.trajectories is not None
    ranked = np.argsort(result.trajectories.lengths, kind="stable")
    chosen = list(dict.fromkeys(ranked[np.linspace(0, len(ranked) - 1, EXAMPLES).astype(int)].tolist()))
    wrong = np.flatnonzero(result.answers != result.dataset.y)
    if len(wrong) and not set(chosen) & set(wrong.tolist()):
        chosen[-1] = int(wrong[0])
    return [_example(result, i) for i in chosen]


def _example(result: Evaluation, i: int) -> dict[str, Any]:
    dataset, rules = result.dataset, result.rules
    assert result.trajectories is not None
    order = result.trajectories.order[i]
    order = order[order >= 0]
    # The price of each step is what one more acquisition adds to the prefix before it.
    prefixes = np.where(np.tri(len(order) + 1, len(order), -1, dtype=bool), order, -1).astype(np.int32)
    paid = price_orders(rules, np.repeat(dataset.X[i : i + 1], len(prefixes), axis=0), prefixes)[0]
    return {
        "steps": [
            {
                "name": rules.names[j],
                "values": [(dataset.feature_names[f], float(dataset.X[i, f])) for f in rules.groups[j]],
                "price": float(price),
            }
            for j, price in zip(order, np.diff(paid))
        ],
        "paid": float(paid[-1]),
        "answer": str(dataset.classes[result.answers[i]]),
        "truth": str(dataset.classes[dataset.y[i]]),
        "right": bool(result.answers[i] == dataset.y[i]),
    }


@contextmanager
def _bar(total: int, name: str, progress: bool):
    """A function to call after each cell."""
    if not progress:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda: bar.advance(task)
