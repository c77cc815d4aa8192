"""The plan of a study (data sets, splits, methods with their settings), and the tables of its results."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.cell import TESTED_CELL_FUNCTION
from fsgym.comparison.compared import candidates_at, sparsity_settings
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.dataset import Dataset
from fsgym.datasets import load_dataset
from fsgym.methods import METHODS
from fsgym.rules import Rules
from fsgym.runner import Run, Task
from fsgym_studies.common.study import StudyCell

DataFolder = str | os.PathLike | None
RULE_SETTINGS = ("lam", "budget", "budget_cost")  # settings of a price-aware method that are options of ``Rules``


@dataclass(frozen=True)
class Source:
    """A data set of a study, in the form that the paper used.

    Attributes
    ----------
    name : str, its name in ``load_dataset``
    title : str, its name in tables
    split : {"all", "train", "test"}
    drop : columns to leave out
    one_hot : bool, whether a category becomes one column per level (True) or one column of codes
    """

    name: str
    title: str
    split: str = "all"
    drop: tuple[str, ...] = ()
    one_hot: bool = False

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
    """A method of a study with the settings at which it is run.

    Attributes
    ----------
    title : str, its name in tables and figures
    method : str, a name of ``METHODS``
    settings : sequence of dict, or None
        Constructor parameters of each setting; None for those of the method's ``sparsity_grid`` on the first training
        part.
    preset : dict, constructor parameters that all settings share
    """

    title: str
    method: str
    settings: tuple[dict[str, Any], ...] | None = None
    preset: Mapping[str, Any] = field(default_factory=dict)


DWSM, L1_SVM, LARS, CART = "DWSM", "L1-SVM", "LARS", "CART"


@dataclass(frozen=True)
class Sweep:
    """Every setting of every method on every split of one data set.

    Attributes
    ----------
    data : Dataset
    methods : methods with their settings
    splits : sequence of Split or OfficialSplit
    rules : mapping, options of ``Rules``; or a list with one mapping per split
    label : str, optional, the name in tables; by default the data set's
    """

    data: Dataset
    methods: Sequence[MethodSettings]
    splits: Sequence[Split | OfficialSplit]
    rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    label: str = ""

    def cells(self) -> Iterator[StudyCell]:
        """All cells, split by split, so that an interrupted run has complete splits."""
        train, _ = self.splits[0].divide(self.data)
        grids = [m.settings or sparsity_settings(m.method, {}, train, 0) for m in self.methods]
        settings = [[{**m.preset, **own} for own in grid] for m, grid in zip(self.methods, grids)]
        label = self.label or self.data.name
        for number, split in enumerate(self.splits):
            options = self.rules if isinstance(self.rules, Mapping) else self.rules[number]
            for method, own in zip(self.methods, settings):
                prices = METHODS[method.method].prices
                seed = seed_of(label, number, method.method)
                candidates = candidates_at(method.method, options if prices else {}, own)
                for setting, (params, candidate) in enumerate(zip(own, candidates)):
                    priced = {k: v for k, v in params.items() if k in RULE_SETTINGS and prices}
                    rules = Rules.for_dataset(self.data, **{**options, **priced})
                    arguments = {"candidate": candidate, "seed": seed}
                    row = cell_row(label, share_of(split, self.data), number, method.title, json.dumps(params), setting)
                    yield study_cell(TESTED_CELL_FUNCTION, arguments, row, self.data, split, rules=rules)


def share_of(split: Split | OfficialSplit, data: Dataset) -> float:
    """The share of the rows in the training part."""
    if isinstance(split, Split):
        return split.share
    return round(data.n_samples / (data.n_samples + split.test.n_samples), 3)


def study_cell(
    call: str,
    arguments: Mapping[str, Any],
    row: dict[str, Any],
    dataset: Dataset | None = None,
    split: Split | OfficialSplit | None = None,
    **shared: Any,
) -> StudyCell:
    """A cell that calls a function with these arguments, and with the ``dataset`` and its ``split`` if they are given.

    ``shared`` are arguments that many cells have in common, as ``Task.data``.
    """
    shared |= {} if dataset is None else {"dataset": dataset}
    if isinstance(split, OfficialSplit):  # its test part is shared by many cells, too
        shared["split"] = split
    elif split is not None:
        arguments = {**arguments, "split": split}
    return StudyCell(Task(call, arguments, shared), row)


def cell_row(dataset: str, share: float, split: int, method: str, params: str, setting: int = 0) -> dict[str, Any]:
    """The columns by which tables name a cell; ``params`` is JSON or ""."""
    return {
        "dataset": dataset,
        "share": share,
        "split": split,
        "method": method,
        "setting": setting,
        "params": params,
    }


def seed_of(*words: Any) -> int:
    """A seed that depends on plain values only, computed before any cell runs."""
    return int(np.random.SeedSequence(zlib.crc32(repr(words).encode())).generate_state(1)[0])


def random_splits(share: float, number: int) -> list[Split]:
    """Random stratified splits with this share of the rows for training; split k has seed k."""
    return [Split(k, share) for k in range(number)]


def folds(number: int, repeats: int) -> list[Split]:
    """Stratified folds, shuffled again for each repeat; repeat r has seed r."""
    return [Split(r, n_folds=number, fold=f) for r in range(repeats) for f in range(number)]


def price_settings(values: Sequence[float], **fixed: Any) -> tuple[dict[str, Any], ...]:
    """One setting of a price-aware method per price ``lam``; ``fixed`` is the same in all of them."""
    return tuple({"lam": float(v), **fixed} for v in values)


def cells_table(plan: Sequence[StudyCell], run: Run) -> pd.DataFrame:
    """One row per cell: the columns that name it, its results (lists among them), and ``error`` if it failed."""
    rows = [{**p.row, **(result or {}), "error": error} for p, result, error in zip(plan, run.results, run.errors)]
    return pd.DataFrame(rows)


def timings_table(plan: Sequence[StudyCell], run: Run) -> pd.DataFrame:
    """The timings of a run, each with the columns that name its cell (dataset, method, split, setting)."""
    names = {p.task.key: p.row for p in reversed(plan)}
    labels = pd.DataFrame([names[key] for key in run.timings["key"]], index=run.timings.index)
    return pd.concat([labels.drop(columns="params", errors="ignore"), run.timings], axis=1)


def scalar_columns(table: pd.DataFrame) -> list[str]:
    """The columns that have single values, not lists."""
    return [c for c in table.columns if not table[c].map(lambda v: isinstance(v, list)).any()]
