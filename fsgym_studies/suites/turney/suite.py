"""Five medical data sets with prices in Canadian dollars: the cost of tests and errors as a share of the standard."""

from __future__ import annotations

from collections.abc import Collection
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from fsgym.comparison.splits import Split
from fsgym.data.dataset import Dataset
from fsgym.data.reading.files import read_json
from fsgym.datasets import load_costs
from fsgym.datasets.folder import find_folder
from fsgym.rules import Rules
from fsgym_studies.common.plan import DataFolder, Source, subsample, without
from fsgym_studies.common.study import bibtex
from fsgym_studies.suites.suite import Problem, Suite, TableOf, counted

TURNEY_SOURCES = (
    Source("liver_disorders", "liver"),
    Source("heart_statlog", "heart"),
    Source("hepatitis", "hepatitis"),
    Source("pima_diabetes", "pima"),
    Source("thyroid_ann", "thyroid", drop=("FTI",)),
)
TURNEY_ERROR_COSTS = {  # quick, and full; dollars
    True: (10.0, 100.0, 1_000.0, 10_000.0),
    False: (10.0, 50.0, 100.0, 500.0, 1_000.0, 5_000.0, 10_000.0),
}
TURNEY_TRAIN_SHARE = 2 / 3
TURNEY_SPLITS = {True: 1, False: 10}
TURNEY_QUICK_ROWS = 600  # of a data set, at most
# The groups that share a part of their price, where the file has only this part and not the reduced prices.
REDUCED_PRICES = ("cost_when_group_already_paid", "cost_when_blood_already_taken")
BLOOD_SAMPLE = 2.10  # dollars, of taking blood, paid once


def turney_problems(quick: bool, data_dir: DataFolder, skip: Collection[str]) -> list[Problem]:
    """The data sets with their prices; an error cost E is the price lam = 1 / E of a dollar, in errors."""
    errors = TURNEY_ERROR_COSTS[quick][::-1]
    problems = []
    for source in without(TURNEY_SOURCES, skip):
        data = subsample(source.load(data_dir), TURNEY_QUICK_ROWS if quick else None)
        options = price_options(source.name, data, data_dir)
        total = float(Rules.for_dataset(data, lam=0.0, **options).price_sets(np.ones((1, data.n_features), bool))[0][0])
        rest = 1 - np.bincount(data.y).max() / data.n_samples
        problems.append(
            Problem(
                source.title,
                [(data, Split(seed, TURNEY_TRAIN_SHARE)) for seed in range(TURNEY_SPLITS[quick])],
                tuple(1 / error for error in errors),
                tuple(f"error {error:,.0f}" for error in errors),
                rules=options,
                standard_losses=tuple(total / error + rest for error in errors),
            )
        )
    return problems


def price_options(name: str, data: Dataset, data_dir: DataFolder) -> dict[str, Any]:
    """The options of ``Rules`` for the prices of a data set: full prices, and reduced ones within a group.

    The first test of a group costs its full price, and each later one what is left of it when the shared part is paid:
    the reduced prices of the file, or the full ones without the blood sample.
    """
    file = (find_folder(data_dir) or Path()) / "costs.json"
    full = load_costs(file, data.replace(name=name))
    entry = read_json(file)[name]
    names, reduced = data.acquisition_names, dict(full)
    related = np.zeros((len(names), len(names)), bool)
    listed = next((entry[key] for key in REDUCED_PRICES if key in entry), None)
    for group in entry.get("shared_discount_groups", {}).values():
        reduced |= {n: round(full[n] - BLOOD_SAMPLE, 2) if listed is None else float(listed[n]) for n in group}
        for a, b in permutations(map(names.index, group), 2):
            related[a, b] = True
    costs, first = ([prices[n] for n in names] for prices in (reduced, full))
    if not related.any():
        return {"costs": first}
    return {"costs": costs, "unrelated_costs": first, "related": related, "empty_is_related": False}


def turney_protocol(quick: bool) -> str:
    n_splits, errors = TURNEY_SPLITS[quick], ", ".join(f"{e:,g}" for e in TURNEY_ERROR_COSTS[quick])
    cut = (
        f" Quick: at most {TURNEY_QUICK_ROWS} random rows of a data set, {counted(n_splits, 'split')} and "
        f"{len(TURNEY_ERROR_COSTS[True])} error costs, where the full benchmark has {TURNEY_SPLITS[False]} and "
        f"{len(TURNEY_ERROR_COSTS[False])}."
        if quick
        else ""
    )
    return (
        "Liver, heart, hepatitis, pima and thyroid with the prices of their tests in Canadian dollars, as compiled by "
        "Turney (1995), but for one test of liver (drinks), as the remarks say. An error costs "
        f"{errors} dollars, and all errors cost the same. Of each data set "
        f"{counted(n_splits, 'random stratified split')}, two thirds of the rows for training (a quarter of these for "
        f"validation).{cut} "
        "The standard cost is T + (1 - f) E: T is the price of all tests, with the reductions within groups; f is the "
        "share of the largest class; E is the cost of an error."
    )


TURNEY_SUITE = Suite(
    "turney",
    "Medical tests with their prices",
    turney_problems,
    turney_protocol,
    (TableOf("cost_share"), TableOf("cost_share", "dataset"), TableOf("features")),
    "The agents of this package were developed on other splits of these data sets, so also on rows that are test rows "
    "here, and RCPI on other splits of heart; the other methods, as far as we know, were not.",
    reference=bibtex(__file__),
    datasets=tuple(s.name for s in TURNEY_SOURCES),
    price_in_words="cost of an error in dollars",
    notes=(
        "Tests of a group share a part of their price, such as that of taking blood, which only the first one pays.",
        "Results of some tests come with a delay, which is ignored: every value is known before the next choice.",
        "CEGB knows no groups that share a part of their price: it is trained at the full prices.",
        "Thyroid is used without FTI, which is computed from two other tests and has no price of its own. That TSH, "
        "T3, TT4 and T4U share the price of taking blood is left out: the price list used here does not have it.",
        "Turney (1995) uses drinks of liver (3 or more) as the class and not as a test: its price of 1 dollar is not "
        "his. The prices of liver are from one source.",
        "Which tests of heart form a group is inferred from equal prices, in full and reduced; for hepatitis it is "
        "inferred from what he says of blood tests.",
        "A missing value costs nothing.",
        "The class of liver is the column that the publishers of the data used to divide the rows, as is usual; it may "
        "not be a diagnosis.",
    ),
)
