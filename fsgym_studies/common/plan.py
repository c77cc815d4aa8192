"""The plan of a study (data sets, splits, methods with their settings), and the tables of its results."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.cell import TESTED_CELL_FUNCTION
from fsgym.comparison.compared import ComparedMethod, candidates_at, sparsity_settings
from fsgym.comparison.planned import cells_of
from fsgym.comparison.protocol import Protocol, seed_of
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.datasets import load_dataset
from fsgym.methods import find_method
from fsgym.runner import Run, Task

DataFolder = str | os.PathLike | None
RULE_SETTINGS = ("lam", "budget", "budget_cost")  # settings of a price-aware method that are options of ``Rules``


@dataclass(frozen=True)
class Source:
    """A data set of a study, in the form that the paper used."""

    name: str  # its name in ``load_dataset``
    title: str  # its name in tables
    split: str = "all"  # {"all", "train", "test"}
    drop: tuple[str, ...] = ()  # columns to leave out
    one_hot: bool = False  # whether a category becomes one column per level (True) or one column of codes

    def load(self, data_dir: DataFolder = None) -> Dataset:
        """The data set under its title."""
        data = load_dataset(self.name, self.split, data_dir=data_dir, drop=self.drop, one_hot=self.one_hot)
        return data.replace(name=self.title)


def subsample(data: Dataset, rows: int | None) -> Dataset:
    """The data set with ``rows`` random rows, the same in every call; with all rows if it has no more or for None."""
    if rows is None or rows >= data.n_samples:
        return data
    return data.rows(np.sort(np.random.default_rng(0).choice(data.n_samples, rows, replace=False)))


def binary(data: Dataset, positive: Any) -> Dataset:
    """The data set with two classes, these labels against all others, and without groups of columns."""
    y = np.isin(data.classes[data.y], list(positive)).astype(np.int64)
    return data.replace(y=y, classes=None, groups=None)


def without(sources: Sequence[Source], skip: Collection[str]) -> list[Source]:
    """The sources whose data sets are not skipped."""
    return [source for source in sources if source.name not in skip]


@dataclass(frozen=True)
class MethodSettings:
    """A method of a study with the settings at which it is run."""

    title: str  # its name in tables and figures
    method: str  # a name of ``fsgym.methods.METHODS``
    # constructor parameters of each setting; None for those of the ``sparsity_grid`` of the method with its preset, on
    # the first training part
    settings: tuple[dict[str, Any], ...] | None = None
    preset: Mapping[str, Any] = field(default_factory=dict)  # constructor parameters that all settings share

    def at(self, protocol: Protocol) -> ComparedMethod:
        """The method at its settings under a protocol; it gets the options of the rules if it is price-aware."""
        first, data = protocol.splits[0], protocol.dataset
        grid = self.settings or sparsity_settings(self.method, self.preset, first.divide(data)[0], protocol.seed)
        settings = [{**self.preset, **own} for own in grid]
        options = protocol.rules.options() if find_method(self.method).prices else {}
        candidates = candidates_at(self.method, options, settings)
        return ComparedMethod(self.method, self.title, tuple(candidates), tuple(settings), key=self.method)


DWSM, L1_SVM, LARS, CART = "DWSM", "L1-SVM", "LARS", "CART"


def study_cells(protocol: Protocol, methods: Sequence[MethodSettings], first_split: int = 0) -> Iterator[Task]:
    """Every setting of the methods on every split, fitted on the training part and evaluated on the test part.

    Splits are counted from ``first_split``. Settings that are options of ``Rules`` change the rules of their cells.
    """
    data = protocol.dataset
    for place, method, setting in cells_of(protocol, [method.at(protocol) for method in methods]):
        split, number, own = protocol.splits[place], first_split + place, method.params[setting]
        priced = {k: v for k, v in own.items() if k in RULE_SETTINGS and find_method(method.name).prices}
        arguments = {"candidate": method.candidates[setting], "seed": seed_of((data.name, number, method.name))}
        labels = cell_labels(data.name, share_of(split, data), number, method.title, json.dumps(own), setting)
        yield study_task(TESTED_CELL_FUNCTION, arguments, labels, data, split, rules=protocol.rules.replace(**priced))


def share_of(split: Split | OfficialSplit, data: Dataset) -> float:
    """The share of the rows in the training part."""
    if isinstance(split, Split):
        return split.share
    return round(data.n_samples / (data.n_samples + split.test.n_samples), 3)


def study_task(
    call: str,
    arguments: Mapping[str, Any],
    labels: Mapping[str, Any],
    dataset: Dataset | None = None,
    split: Split | OfficialSplit | None = None,
    **shared: Any,
) -> Task:
    """A task that calls a function with these arguments, and with the ``dataset`` and its ``split`` if they are given.

    ``shared`` are arguments that many tasks have in common, as ``Task.data``.
    """
    shared |= {} if dataset is None else {"dataset": dataset}
    if isinstance(split, OfficialSplit):  # its test part is shared by many tasks, too
        shared["split"] = split
    elif split is not None:
        arguments = {**arguments, "split": split}
    return Task(call, arguments, shared, labels)


def cell_labels(dataset: str, share: float, split: int, method: str, params: str, setting: int = 0) -> dict[str, Any]:
    """The columns by which tables name a cell; ``params`` is JSON or ""."""
    return {"dataset": dataset, "share": share, "split": split, "method": method, "setting": setting, "params": params}


def price_settings(values: Sequence[float], **fixed: Any) -> tuple[dict[str, Any], ...]:
    """One setting of a price-aware method per price ``lam``; ``fixed`` is the same in all of them."""
    return tuple({"lam": float(v), **fixed} for v in values)


def cells_table(plan: Sequence[Task], run: Run) -> pd.DataFrame:
    """One row per cell: the columns that name it, its results (lists among them), and ``error`` if it failed."""
    rows = [{**t.labels, **(result or {}), "error": error} for t, result, error in zip(plan, run.results, run.errors)]
    return pd.DataFrame(rows)


def timings_table(plan: Sequence[Task], run: Run) -> pd.DataFrame:
    """The timings of a run, each with the columns that name its cell (dataset, method, split, setting)."""
    names = {task.key: task.labels for task in reversed(plan)}
    labels = pd.DataFrame([names[key] for key in run.timings["key"]], index=run.timings.index)
    return pd.concat([labels.drop(columns="params", errors="ignore"), run.timings], axis=1)
