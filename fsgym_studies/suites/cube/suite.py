"""The cubes of AFABench: uniform prices, prices that differ, and a context with which no greedy policy begins."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from fsgym.comparison.splits import Split
from fsgym.datasets import Cube, CubeNM, CubeNUC
from fsgym.datasets.generators import NormalComponents
from fsgym_studies.common.plan import DataFolder
from fsgym_studies.common.study import bibtex
from fsgym_studies.suites.cell import REFERENCE_CELL, REFERENCE_ROWS
from fsgym_studies.suites.suite import Problem, Suite, TableOf, counted

CUBE_PRICES = (0.003, 0.01, 0.03)
CUBE_BUDGETS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
CUBE_TRAIN_SHARE = 0.8  # a quarter of them are the validation part
CUBE_SIZES = {True: (2_000, 1), False: (20_000, 5)}  # quick: rows of a realisation, realisations


def cube_problems(
    generator: NormalComponents, quick: bool, data_dir: DataFolder, skip: Collection[str]
) -> list[Problem]:
    """Realisation k is drawn and split with seed k."""
    n_rows, n_runs = CUBE_SIZES[quick]
    runs = [(generator.sample(n_rows, seed), Split(seed, CUBE_TRAIN_SHARE)) for seed in range(n_runs)]
    name = generator.name
    return [Problem(name, runs, CUBE_PRICES, budgets=CUBE_BUDGETS, generator=name, reference_call=REFERENCE_CELL)]


def cube_protocol(data: str, order: str, quick: bool) -> str:
    n_rows, n_runs = CUBE_SIZES[quick]
    full_rows, full_runs = CUBE_SIZES[False]
    cut = f" (quick: the full benchmark has {counted(full_runs, 'realisation')} of {full_rows:,} rows)" if quick else ""
    prices = ", ".join(f"{p:g}" for p in CUBE_PRICES)
    return (
        f"{data} {counted(n_runs, 'realisation')} of {n_rows:,} rows{cut}, of which 60 % are for training, 20 % for "
        f"validation and 20 % for test. An error costs 1, and lam is {prices}. The greedy reference knows the "
        f"distribution: on {REFERENCE_ROWS[quick]:,} simulated rows it {order}, and answers where one class is "
        "probable enough. The best policy may have a lower loss."
    )


MOST_INFORMATIVE = "the feature of the largest expected information per price"
BY_INFORMATION = f"acquires {MOST_INFORMATIVE}"


def cube_suite(name: str, title: str, generator: NormalComponents, data: str, order: str = BY_INFORMATION) -> Suite:
    """A suite with one cube; ``order`` is what its reference does, in words."""
    return Suite(
        name,
        title,
        partial(cube_problems, generator),
        partial(cube_protocol, data, order),
        (TableOf("loss"), TableOf("headroom"), TableOf("budget_accuracy"), TableOf("features")),
        "The generators were used while the agents of this package were developed, with other rows. Given the class "
        "(and the context) the features are independent normals, the form that Mixture policy, and so Adaptive agent, "
        "fits.",
        reference=bibtex(__file__),
        runs_are="realisations",
        reference_title="greedy reference",
        reference_note=f"knows the distribution and {order}; it looks no further ahead, so that a lower loss is "
        "possible",
    )


CUBE_SUITE = cube_suite(
    "cube",
    "CUBE: three informative features per class",
    Cube(),
    "Eight classes, each a corner of a cube in three of 20 features; each feature costs 1.",
)
CUBE_NUC_SUITE = cube_suite(
    "cube-nuc",
    "CUBE-NUC: the same features at two prices",
    CubeNUC(),
    "As CUBE, but the second ten features are drawn as the first ten, which cost 1, and cost 2.",
)
CUBE_NM_SUITE = cube_suite(
    "cube-nm",
    "CUBE-NM: a context must be acquired first",
    CubeNM(),
    "As CUBE, but a context, which says nothing of the class by itself, decides in which of five blocks of ten "
    "features the informative ones are; the context, which is five columns, and each feature cost 1. So 55 columns are "
    "51 acquisitions: features are counted as columns, budgets by acquisitions.",
    "acquires the context first, by rule, as a policy that is greedy in information never would, and then "
    + MOST_INFORMATIVE,
)
