"""The cells of a comparison (split, method, setting): fitted, evaluated and turned into plain numbers."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fsgym.comparison.protocol import Entrant, Parts, Protocol
from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate, price_orders
from fsgym.rules import Rules
from fsgym.runner.run import Task, run_tasks
from fsgym.runner.worker import error_sentence
from fsgym.threads import one_thread

EXAMPLES = 6
CALL, PATH_CALL = "fsgym.comparison.cell:run_cell", "fsgym.comparison.cell:run_path"


Result = tuple[dict[str, Any] | None, str | None]  # what a cell returned, or its error in one sentence


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

    def arguments(self, protocol: Protocol) -> dict[str, Any]:
        """What decides the result, beside the data set and the rules."""
        return {
            "candidate": self.candidate,
            "fitted": self.fitted,
            "seed": self.seed,
            "split": self.split,
            "train_share": protocol.train_share,
            "split_seed": protocol.seed,
        }


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
    protocol: Protocol,
    cells: list[Cell],
    *,
    n_jobs: int | None,
    backend: str,
    scheduler: str | None,
    progress: bool,
    store: str | os.PathLike | None,
) -> tuple[list[Outcome], bool]:
    """Outcomes of the cells in their order, and whether Ctrl-C came before the last one.

    Fitted policies may hold what can neither be sent elsewhere nor told from another: they run here, every time.
    """
    told: dict[int, Result] = {}
    data = {"dataset": protocol.dataset, "rules": protocol.rules}
    try:
        for i, cell in enumerate(cells):
            if cell.fitted:
                told[i] = _run_here({**cell.arguments(protocol), **data})
    except KeyboardInterrupt:
        return [_outcome(protocol, cells[i], *told[i]) for i in sorted(told)], True
    groups = _together(cells)
    done = run_tasks(
        [_task([cells[i] for i in group], protocol, data) for group in groups],
        store,
        n_jobs=n_jobs,
        backend=backend,
        scheduler=scheduler,
        progress=progress,
        name=protocol.dataset.name,
    )
    for group, result, error in zip(groups, done.results, done.errors):
        if result or error is not None:
            told |= dict(zip(group, _each(result, error, len(group))))
    return [_outcome(protocol, cells[i], *told[i]) for i in sorted(told)], done.interrupted


def _together(cells: list[Cell]) -> list[list[int]]:
    """Numbers of the cells that are fitted in one task: all prices of a method that has a ``path``, else each alone."""
    groups: dict[tuple, list[int]] = {}
    for i, cell in enumerate(cells):
        if not cell.fitted:
            shared = hasattr(cell.candidate, "path") and set(cell.params) == {"lam"}
            groups.setdefault((cell.split, cell.method, None if shared else cell.setting), []).append(i)
    return list(groups.values())


def _task(cells: list[Cell], protocol: Protocol, data: dict[str, Any]) -> Task:
    arguments = cells[0].arguments(protocol)
    if len(cells) == 1:
        return Task(CALL, arguments, data)
    del arguments["fitted"]
    return Task(PATH_CALL, arguments | {"lams": [cell.params["lam"] for cell in cells]}, data)


def _each(result: dict | None, error: str | None, n: int) -> list[Result]:
    """What came of each of the cells of a task."""
    if result is not None and "cells" in result:
        return [(cell, None) for cell in result["cells"]]
    return [(result, error)] * n


def _run_here(arguments: dict[str, Any]) -> Result:
    try:
        with one_thread():
            return run_cell(**arguments), None
    except Exception as error:
        return None, error_sentence(error)


def run_cell(
    *,
    dataset: Dataset,
    rules: Rules,
    candidate: Any,
    fitted: bool,
    seed: int,
    split: int,
    train_share: float,
    split_seed: int,
) -> dict[str, Any]:
    """Fit a setting on the inner part for the validation figures, and on the training part for the test figures.

    Returns
    -------
    dict of JSON values: ``row``, figures by name, and what ``Outcome`` has beside it
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        parts = Protocol(dataset, rules, train_share=train_share, seed=split_seed).parts(split)
        inner, whole = (
            candidate if fitted else _seeded(candidate, seed).fit(part.X, part.classes[part.y])
            for part in (parts.fit, parts.train)
        )
        figures = _figures(inner, whole, parts, rules, split)
    return _with_warning(figures, said)


def run_path(
    *,
    dataset: Dataset,
    rules: Rules,
    candidate: Any,
    lams: list[float],
    seed: int,
    split: int,
    train_share: float,
    split_seed: int,
) -> dict[str, Any]:
    """As ``run_cell`` at each price, by a method whose ``path`` shares the work that does not depend on the price.

    Returns
    -------
    dict with ``cells``: a list of what ``run_cell`` returns, one a price
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        parts = Protocol(dataset, rules, train_share=train_share, seed=split_seed).parts(split)
        inner, whole = (
            _seeded(candidate, seed).path(part.X, part.classes[part.y], lams) for part in (parts.fit, parts.train)
        )
        cells = [_figures(first, second, parts, rules, split) for first, second in zip(inner, whole)]
    return {"cells": [_with_warning(figures, said) for figures in cells]}


def _figures(inner: Any, whole: Any, parts: Parts, rules: Rules, split: int) -> dict[str, Any]:
    """The figures of two fits: of the inner part on the validation part, of the training part on the test part."""
    validation, result = evaluate(inner, parts.validation, rules), evaluate(whole, parts.test, rules)
    row: dict[str, Any] = {f"validation_{k}": _known(v) for k, v in validation.figures().items()}
    row |= {k: _known(v) for k, v in result.figures().items()}
    row |= {"n_train": parts.train.n_samples, "n_test": parts.test.n_samples}
    taken = rules.acquisitions_of(result.used)
    return {
        "row": row,
        "histogram": np.bincount(taken.sum(axis=1), minlength=rules.n_acquisitions + 1).tolist(),
        "usage": taken.mean(axis=0).tolist(),
        "examples": _examples(result) if split == 0 and result.trajectories is not None else None,
    }


def _with_warning(figures: dict[str, Any], said: list[warnings.WarningMessage]) -> dict[str, Any]:
    telling = [w for w in said if not issubclass(w.category, DeprecationWarning | PendingDeprecationWarning)]
    if telling:
        text = " ".join(str(telling[0].message).split())[:300]
        figures["row"]["warning"] = f"{telling[0].category.__name__}: {text}"
    return figures


def _outcome(protocol: Protocol, cell: Cell, result: dict | None, error: str | None) -> Outcome:
    row: dict[str, Any] = {
        "dataset": protocol.dataset.name,
        "split": cell.split,
        "method": cell.method,
        "setting": cell.setting,
        "params": json.dumps(cell.params),
        "price": protocol.rules.lam,
        "error": error,
        "warning": None,
    }
    if result is None:
        parts = protocol.parts(cell.split)
        return Outcome(row | {"n_train": parts.train.n_samples, "n_test": parts.test.n_samples})
    for step in [step for example in result["examples"] or [] for step in example["steps"]]:
        step["values"] = [(name, float("nan") if value is None else value) for name, value in step["values"]]
    return Outcome(row | result["row"], result["histogram"], result["usage"], result["examples"])


def _seeded(candidate: Any, seed: int) -> Any:
    """A fresh estimator whose random states are the seed where they were None."""
    estimator = clone(candidate)
    unseeded = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unseeded)


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
                "values": [(dataset.feature_names[f], _known(dataset.X[i, f])) for f in rules.groups[j]],
                "price": float(price),
            }
            for j, price in zip(order, np.diff(paid))
        ],
        "paid": float(paid[-1]),
        "answer": str(dataset.classes[result.answers[i]]),
        "truth": str(dataset.classes[dataset.y[i]]),
        "right": bool(result.answers[i] == dataset.y[i]),
    }


def _known(value: Any) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else float(value)
