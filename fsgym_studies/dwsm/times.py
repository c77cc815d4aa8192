"""Dulac-Arnold et al. (2012), sections 5.2 and 6.3.1: how long methods take to learn and to infer, as ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.cell import fit_on
from fsgym.comparison.protocol import Protocol, seed_of
from fsgym.comparison.splits import Split, random_splits
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.runner import Task
from fsgym.runner.results import count, list_of, number, record, returns, text
from fsgym.support.threads import one_blas_thread
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.plan import MethodSettings, cell_labels, study_task

TIMES_CELL = "fsgym_studies.dwsm.times:times"
TIMED_SHARE = 0.5  # of the rows for training
ANSWERED_ROWS = 10_000  # the test rows, repeated, so that what a call takes besides counts little
MIN_SECONDS = 0.05  # a call is repeated until it took so long


@returns(record(methods=list_of(text), learning=list_of(number), inference=list_of(number), n_train=count))
def times(
    dataset: Dataset, *, candidates: Mapping[str, Sequence[Any]], rules: Rules, split: Split, seed: int
) -> dict[str, Any]:
    """Processor seconds of learning and of inference on ``ANSWERED_ROWS`` rows, means over the settings of a method.

    Each method is run in turn, in this process and one thread; what is compiled is compiled before.
    """
    train, test = split.divide(dataset)
    rows = test.X[np.arange(ANSWERED_ROWS) % test.n_samples]
    learning, inference = [], []
    with one_blas_thread():
        for settings in candidates.values():
            models = [fit_on(train, candidate, rules, seed) for candidate in settings]
            models[0].predict(rows)
            learning.append(mean_seconds(settings, lambda candidate: fit_on(train, candidate, rules, seed)))
            inference.append(mean_seconds(models, lambda model: model.predict(rows)))
    return {"methods": [*candidates], "learning": learning, "inference": inference, "n_train": train.n_samples}


def mean_seconds(things: Sequence[Any], call: Callable[[Any], Any]) -> float:
    """Processor seconds of a call, mean over these things; the calls are repeated until they took ``MIN_SECONDS``."""
    n_calls, began = 0, time.process_time()
    while not n_calls or time.process_time() - began < MIN_SECONDS:
        for thing in things:
            call(thing)
        n_calls += len(things)
    return (time.process_time() - began) / n_calls


def cells(data: Dataset, methods: Sequence[MethodSettings]) -> Iterator[Task]:
    """The cell that times these methods on the first split of a data set."""
    (split,) = random_splits(TIMED_SHARE, 1)
    protocol = Protocol.for_dataset(data, [split])
    candidates = {method.title: method.at(protocol).candidates for method in methods}
    arguments = {"candidates": candidates, "seed": seed_of((data.name, "times"))}
    labels = cell_labels(data.name, TIMED_SHARE, 0, "times", "")
    yield study_task(TIMES_CELL, arguments, labels, data, split, rules=protocol.rules)


def seconds(table: pd.DataFrame, what: str) -> pd.DataFrame:
    """Seconds of ``what``, "learning" or "inference", a row per data set and a column per method."""
    known = cells_with(table, what).to_dict("records")
    rows = {cell["dataset"]: dict(zip(cell["methods"], cell[what])) for cell in known}
    return pd.DataFrame.from_dict(rows, orient="index", dtype=float)


def ratios(table: pd.DataFrame, what: str, first: str, others: Sequence[str]) -> pd.Series:
    """How many times as long a method takes as the slowest of others, by data set."""
    known = seconds(table, what).reindex(columns=[first, *others])
    return (known[first] / known[[*others]].max(axis=1, skipna=False)).dropna()


def ratios_text(own: pd.Series) -> str:
    """``12 times as long on heart, 9.5 on sonar``."""
    return ", ".join(f"{ratio:.3g} times on {dataset}" for dataset, ratio in own.items())


def seconds_text(table: pd.DataFrame, what: str) -> str:
    """The seconds of each method, median over the data sets."""
    return ", ".join(f"{method} {value:.2g} s" for method, value in seconds(table, what).median().items())
