"""The small data sets of the study ``lattice-vs-peers`` but spambase, which has a suite of its own; ranks over them."""

from __future__ import annotations

from collections.abc import Collection

from fsgym.comparison.splits import Split
from fsgym_studies.common.plan import DataFolder, subsample
from fsgym_studies.lattice_vs_peers.study import COMPARED_SETS
from fsgym_studies.lattice_vs_peers.tables import SMALL
from fsgym_studies.suites.suite import Problem, Suite, TableOf, counted

SMALL_SETS = tuple(c for c in COMPARED_SETS if c.size == SMALL and c.source.name != "spambase")
SMALL_QUICK_SETS = ("breast cancer", "wine", "digits")  # they come with scikit-learn
SMALL_PRICES = (0.001, 0.003, 0.01, 0.03, 0.1)
SMALL_SPLITS = {True: 1, False: 3}
SMALL_FIRST_SEED = 10  # of the splits; the study ``lattice-vs-peers`` has those with seeds from 0
SMALL_TRAIN_SHARE = 0.7
SMALL_QUICK_ROWS = 300  # of a data set, at most


def small_problems(quick: bool, data_dir: DataFolder, skip: Collection[str]) -> list[Problem]:
    """One problem for each data set."""
    rows = SMALL_QUICK_ROWS if quick else None
    splits = [Split(SMALL_FIRST_SEED + k, SMALL_TRAIN_SHARE) for k in range(SMALL_SPLITS[quick])]
    wanted = [c for c in SMALL_SETS if not quick or c.source.title in SMALL_QUICK_SETS]
    sets = [subsample(c.load(data_dir), rows) for c in wanted if c.source.name not in skip]
    return [Problem(data.name, [(data, split) for split in splits], SMALL_PRICES) for data in sets]


def small_protocol(quick: bool) -> str:
    prices = ", ".join(f"{p:g}" for p in SMALL_PRICES)
    sets = (
        f"Quick: at most {SMALL_QUICK_ROWS} random rows of {', '.join(SMALL_QUICK_SETS)}, where the full benchmark has "
        f"{len(SMALL_SETS)} data sets and {SMALL_SPLITS[False]} splits"
        if quick
        else f"{len(SMALL_SETS)} data sets"
    )
    return (
        f"{sets}; {counted(SMALL_SPLITS[quick], 'random stratified split')} of each, 70 % of the rows for training (a "
        f"quarter of these for validation). Each feature costs 1, an error costs 1, and lam is {prices}. No optimum is "
        "known."
    )


SMALL_SUITE = Suite(
    "small",
    "Small data sets at five prices",
    small_problems,
    small_protocol,
    (TableOf("loss", "dataset"), TableOf("loss"), TableOf("features")),
    "The adaptive agent, the lattice and the mixture are this package's own, RCPI, GDFS and DIME its "
    "re-implementations. Its own were developed on other splits of these data, so also on rows that are test rows "
    "here, and at prices of this suite; none of the sets is free of it. RCPI was developed on six of them, the other "
    "methods, as far as we know, on none.",
    datasets=tuple(c.source.name for c in SMALL_SETS),
    quick_datasets=tuple(c.source.name for c in SMALL_SETS if c.source.title in SMALL_QUICK_SETS),
)
