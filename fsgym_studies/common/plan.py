"""How a study is declared: data sets, splits and methods with their settings; and the table of what came out."""

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
from fsgym_studies.common.cell import CALL, parts_of
from fsgym_studies.common.study import Planned

DataDir = str | os.PathLike | None
PLANNED = ("lam", "budget", "budget_cost")  # settings of a price-aware method that are rules


@dataclass(frozen=True)
class Source:
    """A data set of a study, loaded as the paper has it.

    Attributes
    ----------
    name : str, what ``load_dataset`` takes
    title : str, what tables call it
    split : {"all", "train", "test"}
    drop : columns to leave out
    one_hot : bool, categories as one column of codes (False) or as one column a level
    """

    name: str
    title: str
    split: str = "all"
    drop: tuple[str, ...] = ()
    one_hot: bool = False

    def load(self, data_dir: DataDir = None) -> Dataset:
        """The data set under its title."""
        found = load_dataset(self.name, self.split, data_dir=data_dir, drop=self.drop, one_hot=self.one_hot)
        return found.replace(name=self.title)


def sampled(data: Dataset, rows: int | None) -> Dataset:
    """So many random rows of a data set, always the same ones; all of them where ``rows`` is None or not fewer."""
    if rows is None or rows >= data.n_samples:
        return data
    return data.rows(np.sort(np.random.default_rng(0).choice(data.n_samples, rows, replace=False)))


def require(names: Sequence[str], study: str, data_dir: DataDir = None) -> None:
    """ValueError in one sentence where data sets of a study are neither embedded, nor in the folder, nor at OpenML."""
    known = set(list_datasets(data_dir)["name"])
    lost = [n for n in dict.fromkeys(names) if n not in known]
    if lost:
        raise ValueError(
            f"study {study!r} needs the data sets {', '.join(lost)}, which neither come with fsgym nor from OpenML by "
            "name; put each as NAME.csv (label in the column target) or NAME.npz into a folder and name it with "
            "--data-dir or the variable FSGYM_DATA"
        )


@dataclass(frozen=True)
class Arm:
    """A method of a study.

    Attributes
    ----------
    title : str, what tables and figures call it
    method : str, a name of ``METHODS``
    settings : sequence of dict, or None
        Constructor parameters of each setting; None: the method's own ``sparsity_grid`` on the first training part.
    """

    title: str
    method: str
    settings: tuple[dict[str, Any], ...] | None = None


DWSM, L1_SVM, LARS, CART = "DWSM", "L1-SVM", "LARS", "CART"


@dataclass(frozen=True)
class Block:
    """Every arm over every part of one data set.

    Attributes
    ----------
    data : Dataset
    arms : methods with their settings
    parts : list of dict, as ``fit_and_evaluate`` takes them
    rules : mapping, options of ``Rules`` in plain JSON values; or a list of them, one a part
    test : Dataset, optional, where parts are official
    label : str, optional, by default the data set's name
    """

    data: Dataset
    arms: Sequence[Arm]
    parts: Sequence[dict[str, Any]]
    rules: Mapping[str, Any] | Sequence[Mapping[str, Any]] = field(default_factory=dict)
    test: Dataset | None = None
    label: str = ""

    def planned(self) -> Iterator[Planned]:
        """All cells, part by part, so that an interrupted run has whole parts."""
        grids = [a.settings or self._own_grid(a) for a in self.arms]
        data = shared_data(self.data, self.test)
        label = self.label or self.data.name
        for number, part in enumerate(self.parts):
            rules = self.rules if isinstance(self.rules, Mapping) else self.rules[number]
            for arm, settings in zip(self.arms, grids):
                for setting, params in enumerate(settings):
                    planned = {k: v for k, v in params.items() if k in PLANNED and METHODS[arm.method].prices}
                    arguments = {
                        "method": arm.method,
                        "params": {k: v for k, v in params.items() if k not in planned},
                        "rules": {**rules, **planned},
                        "part": part,
                        "seed": seed_of(label, number, arm.method),
                    }
                    row = row_of(label, self._share(part), number, arm.title, json.dumps(params), setting)
                    yield Planned(Task(CALL, arguments, data), row)

    def _share(self, part: Mapping[str, Any]) -> float:
        if self.test is not None:
            return round(self.data.n_samples / (self.data.n_samples + self.test.n_samples), 3)
        return part["share"] if "share" in part else 1.0 - 1.0 / part["folds"]

    def _own_grid(self, arm: Arm) -> tuple[dict[str, Any], ...]:
        train = self.data if self.test is not None else parts_of(self.data, self.parts[0])[0]
        sketch = load_class(find_method(arm.method))()
        if "random_state" in sketch.get_params():
            sketch.set_params(random_state=0)
        return tuple(sketch.sparsity_grid(train.X, train.classes[train.y]))


def shared_data(data: Dataset, test: Dataset | None = None) -> dict[str, Dataset]:
    """The data of a task; ``test`` where parts are official."""
    return {"data": data} if test is None else {"data": data, "test": test}


def row_of(dataset: str, share: float, split: int, method: str, params: str, setting: int = 0) -> dict[str, Any]:
    """What the table calls a cell; ``params`` is JSON or nothing."""
    return {
        "dataset": dataset,
        "share": share,
        "split": split,
        "method": method,
        "setting": setting,
        "params": params,
    }


def seed_of(*words: Any) -> int:
    """A seed from plain words, drawn before anything is dispatched."""
    return int(np.random.SeedSequence(zlib.crc32(repr(words).encode())).generate_state(1)[0])


def shares(share: float, splits: int) -> list[dict[str, Any]]:
    """Random stratified splits with this share for training; split k has the seed k."""
    return [{"share": share, "seed": k} for k in range(splits)]


def folds(number: int, repeats: int) -> list[dict[str, Any]]:
    """Stratified folds, shuffled anew in each repetition."""
    return [{"folds": number, "fold": f, "seed": r} for r in range(repeats) for f in range(number)]


def lams(values: Sequence[float], **fixed: Any) -> tuple[dict[str, Any], ...]:
    """Settings of a price-aware method, one a price."""
    return tuple({"lam": float(v), **fixed} for v in values)


def table_of(plan: Sequence[Planned], run: Run) -> pd.DataFrame:
    """One row a cell: what it is called, what came out (lists among it), and ``error`` where it failed."""
    rows = [{**p.row, **(result or {}), "error": error} for p, result, error in zip(plan, run.results, run.errors)]
    return pd.DataFrame(rows)


def timings_of(plan: Sequence[Planned], run: Run) -> pd.DataFrame:
    """The run's timings, each with what the table calls its cell (dataset, method, split, setting)."""
    names = {p.task.key: p.row for p in reversed(plan)}
    labels = pd.DataFrame([names[key] for key in run.timings["key"]], index=run.timings.index)
    return pd.concat([labels.drop(columns="params", errors="ignore"), run.timings], axis=1)


def plain_columns(table: pd.DataFrame) -> list[str]:
    """The columns that hold one value a cell."""
    return [c for c in table.columns if not table[c].map(lambda v: isinstance(v, list)).any()]
