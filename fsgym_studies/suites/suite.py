"""The declaration of a suite: its problems, and the tables that compare methods on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from fsgym.comparison.splits import SplitParts
from fsgym.data.dataset import Dataset
from fsgym_studies.common.plan import DataFolder
from fsgym_studies.suites.cell import Measurement
from fsgym_studies.suites.scores import REFERENCE_TITLE


def counted(n: int, thing: str) -> str:
    """A number of things in words: ``1 split``, ``2 splits``."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


class RowSplit(NamedTuple):
    """A division of the rows by their position: for training, for validation, and all others for test.

    In this order, or, where ``test_first``, the other way round.
    """

    # numbers of rows
    n_fit: int
    n_validation: int
    # the rows are first brought into the order ``numpy.random.default_rng(order_seed).permutation``; None: they stay in
    # their order
    order_seed: int | None = None
    test_first: bool = False

    def parts(self, dataset: Dataset) -> SplitParts:
        """The training part (to fit on, and validation), its two parts, and the test part."""
        n, end = dataset.n_samples, self.n_fit + self.n_validation
        rows = np.arange(n) if self.order_seed is None else np.random.default_rng(self.order_seed).permutation(n)
        if self.test_first:
            rows = np.concatenate([rows[n - self.n_fit :], rows[n - end : n - self.n_fit], rows[: n - end]])
        places = (rows[:end], rows[: self.n_fit], rows[self.n_fit : end], rows[end:])
        return SplitParts(*(dataset.rows(part) for part in places))


@dataclass(frozen=True)
class Problem:
    """A data set of a suite."""

    name: str  # its name in tables
    # sequence of pairs (Dataset, Split or RowSplit), what each method is fitted and tested on; figures are means over
    # them
    runs: Sequence[tuple[Dataset, Any]]
    # ascending, values of ``lam`` at which the loss is measured; price-aware methods are trained at each
    prices: tuple[float, ...]
    price_names: tuple[str, ...] = ()  # what tables call them; by default such as "0.01"
    # total prices within which accuracy is measured, where the policy continues past its stop
    budgets: tuple[float, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)  # options of ``Rules`` other than ``lam``
    # one per price, or empty; each loss is divided by it for the score "cost_share"
    standard_losses: tuple[float, ...] = ()
    generator: str = ""  # the known distribution of the data, a key of ``GENERATORS``; "" for none
    # ``"module:function"`` that computes the scores of the reference as a task; "" for no reference
    reference_call: str = ""

    def measurement(self) -> Measurement:
        """What a cell measures, as plain values."""
        names = self.price_names or tuple(f"{p:g}" for p in self.prices)
        return Measurement(self.prices, names, self.budgets, dict(self.rules), self.standard_losses, self.generator)


class TableOf(NamedTuple):
    """A table of a suite: a score of every method."""

    score: str  # a key of ``SCORES``
    # {"at", "dataset", "both"}, a column per price or budget, per data set, or per pair of these; figures are means
    # over the others
    columns: str = "at"


@dataclass(frozen=True)
class Suite:
    """Problems, and the tables that compare methods on them."""

    name: str
    title: str
    # callable (quick, data_dir, skip) -> list of Problem
    problems: Callable[[bool, DataFolder, Collection[str]], list[Problem]]
    # callable (quick) -> str, in words: data, splits, prices, and what ``quick`` leaves out
    protocol: Callable[[bool], str]
    # sequence of TableOf, the first of them is that of the score by which methods are ranked
    tables: tuple[TableOf, ...]
    development: str  # whether the data were used while the methods of this package were developed
    published: str = ""  # path of a module beside ``published.csv``, or "" without one
    reference: str = ""  # BibTeX entries
    # names that ``load_dataset`` must know
    datasets: tuple[str, ...] = ()
    quick_datasets: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()  # for the report
    price_in_words: str = "price lam"  # what a column for a price is
    # what tables call the reference, and what it is
    reference_title: str = REFERENCE_TITLE
    reference_note: str = "knows the distribution of the data"
    # {"splits", "realisations", "seeds"}, in what the runs of a data set differ: divisions of the same rows, rows of a
    # generator, or seeds of the methods on one division. It decides how differences are tested, see
    # ``scores.paired_scores``.
    runs_are: Literal["splits", "realisations", "seeds"] = "splits"
    methods: tuple[str, ...] = ()  # names of its default methods; () for those of ``methods.BENCHMARK_METHODS``
    oracle: bool = True  # whether the AACO-like search can be afforded
    # mapping quick -> processor seconds after which a cell is stopped; empty for none
    limits: Mapping[bool, float] = field(default_factory=dict)
