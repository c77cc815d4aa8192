"""The plan of a study (data sets, splits, methods with their settings), and the tables of its results."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fsgym.dataset import Dataset
from fsgym.datasets import list_datasets, load_dataset
from fsgym.methods import METHODS, find_method, load_class
from fsgym.runner import Run, Task
from fsgym_studies.common.cell import FIT_AND_EVALUATE, parts_of
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


def require_datasets(names: Sequence[str], study: str, data_dir: DataFolder = None) -> None:
    """Raise ValueError if a data set of the study is neither embedded, nor in the data folder, nor at OpenML."""
    known = set(list_datasets(data_dir)["name"])
    missing_names = [n for n in dict.fromkeys(names) if n not in known]
    if missing_names:
        raise ValueError(
            f"study {study!r} needs the data sets {', '.join(missing_names)}, which neither come with fsgym nor can be "
            "downloaded from OpenML by name; put each as NAME.csv (label in the column target) or NAME.npz into a "
            "folder, and give that folder with --data-dir or the variable FSGYM_DATA"
        )


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
    """

    title: str
    method: str
    settings: tuple[dict[str, Any], ...] | None = None


DWSM, L1_SVM, LARS, CART = "DWSM", "L1-SVM", "LARS", "CART"


@dataclass(frozen=True)
class Sweep:
    """Every setting of every method on every part of one data set.

    Attributes
    ----------
    data : Dataset
    methods : methods with their settings
    parts : list of dict, as ``fit_and_evaluate`` takes them
    rules : mapping, options of ``Rules`` in plain JSON values; or a list with one mapping per part
    test : Dataset, optional, the official test part
    label : str, optional, the name in tables; by default the data set's
    """

    data: Dataset
    methods: Sequence[MethodSettings]
    parts: Sequence[dict[str, Any]]
    rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    test: Dataset | None = None
    label: str = ""

    def cells(self) -> Iterator[StudyCell]:
        """All cells, part by part, so that an interrupted run has complete parts."""
        grids = [m.settings or self._sparsity_grid(m) for m in self.methods]
        data = shared_data(self.data, self.test)
        label = self.label or self.data.name
        for split, part in enumerate(self.parts):
            rules = self.rules if isinstance(self.rules, Mapping) else self.rules[split]
            for entry, settings in zip(self.methods, grids):
                for setting, params in enumerate(settings):
                    options = {k: v for k, v in params.items() if k in RULE_SETTINGS and METHODS[entry.method].prices}
                    arguments = {
                        "method": entry.method,
                        "params": {k: v for k, v in params.items() if k not in options},
                        "rules": {**rules, **options},
                        "part": part,
                        "seed": seed_of(label, split, entry.method),
                    }
                    row = cell_row(label, self._share(part), split, entry.title, json.dumps(params), setting)
                    yield StudyCell(Task(FIT_AND_EVALUATE, arguments, data), row)

    def _share(self, part: Mapping[str, Any]) -> float:
        if self.test is not None:
            return round(self.data.n_samples / (self.data.n_samples + self.test.n_samples), 3)
        return part["share"] if "share" in part else 1.0 - 1.0 / part["folds"]

    def _sparsity_grid(self, entry: MethodSettings) -> tuple[dict[str, Any], ...]:
        train = self.data if self.test is not None else parts_of(self.data, self.parts[0])[0]
        estimator = load_class(find_method(entry.method))()
        if "random_state" in estimator.get_params():
            estimator.set_params(random_state=0)
        return tuple(estimator.sparsity_grid(train.X, train.classes[train.y]))


def shared_data(data: Dataset, test: Dataset | None = None) -> dict[str, Dataset]:
    """The data of a task; ``test`` is the official test part, if there is one."""
    return {"data": data} if test is None else {"data": data, "test": test}


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


def random_splits(share: float, splits: int) -> list[dict[str, Any]]:
    """Random stratified splits with this share of the rows for training; split k has seed k."""
    return [{"share": share, "seed": k} for k in range(splits)]


def folds(number: int, repeats: int) -> list[dict[str, Any]]:
    """Stratified folds, shuffled again for each repeat; repeat r has seed r."""
    return [{"folds": number, "fold": f, "seed": r} for r in range(repeats) for f in range(number)]


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
