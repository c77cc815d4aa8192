"""Our own study: the loss of the lattice agent and of its peers at several prices, on small and large data sets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import random_splits
from fsgym.data.dataset import Dataset
from fsgym.methods import find_method
from fsgym.runner import Task
from fsgym.support.extras import require
from fsgym_studies.common.plan import DataFolder, Source, binary, study_task, subsample
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.dwsm.shared import DWSM_REFERENCE
from fsgym_studies.lattice_vs_peers import tables
from fsgym_studies.lattice_vs_peers.cell import FOREST_SIZE, PRICED_CELL, TIMED_CELL
from fsgym_studies.lattice_vs_peers.claims import LARGE_PEERS, RCPI_READINGS, claims, notes
from fsgym_studies.lattice_vs_peers.tables import LARGE, METHOD_TITLES, SMALL

OLD_BREAST_CANCER = "breast cancer of 1992"
KDDCUP = "kddcup99"


@dataclass(frozen=True)
class ComparedSet:
    """A data set of the study."""

    source: Source
    size: str = SMALL  # {"small", "large"}, which claims it belongs to
    rows: int | None = None  # how many random rows of it are used; None for all
    # labels of the first of two classes; without any, the classes are those of the data set
    first_class: tuple[str, ...] = ()
    cegb: bool = True  # whether CEGB is run; its settings take long to choose where there are many columns and classes

    def load(self, data_dir: DataFolder) -> Dataset:
        """The data set as all methods get it; a missing category is a category of its own, with the code -1."""
        data = self.source.load(data_dir)
        data = subsample(binary(data, self.first_class) if self.first_class else data, self.rows)
        return data.replace(X=np.nan_to_num(data.X, nan=-1.0)) if np.isnan(data.X).any() else data

    def methods(self, deep: bool) -> tuple[str, ...]:
        """The methods that are run on it; MaskablePPO only if ``deep``."""
        cegb = ("cegb",) if self.cegb else ()
        if self.size == LARGE:
            return (*LARGE_PEERS, *cegb, "lattice")
        ppo = ("maskable_ppo",) if deep else ()
        return (*RCPI_READINGS, "cart", *cegb, "static", "forest", *ppo, "lattice")


COMPARED_SETS = (
    ComparedSet(Source("breast_cancer", "breast cancer")),
    ComparedSet(Source("wine", "wine")),
    ComparedSet(Source("heart_statlog", "heart")),
    ComparedSet(Source("pima_diabetes", "diabetes")),
    ComparedSet(Source("ionosphere", "ionosphere")),
    ComparedSet(Source("sonar", "sonar")),
    ComparedSet(Source("breast_cancer_wisconsin_683", OLD_BREAST_CANCER, drop=("id",))),
    ComparedSet(Source("australian", "australian")),
    ComparedSet(Source("german_credit_numeric", "german credit")),
    ComparedSet(Source("vehicle", "vehicle")),
    ComparedSet(Source("vowel", "vowel")),
    ComparedSet(Source("segment", "segment")),
    ComparedSet(Source("digits", "digits")),
    ComparedSet(Source("spambase", "spambase")),
    ComparedSet(Source("wine_quality_red", "red wine quality")),
    ComparedSet(Source("thyroid_ann", "thyroid"), LARGE),
    ComparedSet(Source("letter", "letter"), LARGE),
    ComparedSet(Source("nursery", "nursery"), LARGE),
    ComparedSet(Source("phishing", "phishing"), LARGE),
    ComparedSet(Source("usps", "usps"), LARGE),
    ComparedSet(Source("adult", "adult"), LARGE),
    ComparedSet(Source("isolet_1560", "isolet"), LARGE, cegb=False),
    ComparedSet(Source("mnist", "mnist"), LARGE, rows=10_000, cegb=False),
    ComparedSet(Source("kddcup99_10percent", KDDCUP), LARGE, rows=50_000, first_class=("normal",)),
)
QUICK_SETS = ("breast cancer", "wine", "digits")  # they come with scikit-learn
# An error costs 1:
FEATURE_PRICES = {SMALL: (0.001, 0.003, 0.01, 0.03, 0.1), LARGE: (0.0001, 0.003, 0.03)}
PEER_TRAIN_SHARE = 0.7  # of the rows
# Quick and full studies:
PEER_SPLITS = {False: {SMALL: 2}, True: {SMALL: 3, LARGE: 2}}
DEEP_SPLITS = {False: 1, True: 3}  # the first splits, on which the deep agent is trained
DEEP_SETS = {False: ("wine",), True: ("breast cancer", "wine", "heart", "diabetes", "ionosphere", "sonar")}


def unavailable_methods() -> dict[str, str]:
    """The methods that cannot run because their extras are not installed, each with the reason."""
    reasons = {}
    for method in ("cegb", "maskable_ppo"):
        try:
            require(find_method(method).extra, METHOD_TITLES[method])
        except ImportError as error:
            reasons[method] = str(error)
    return reasons


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    unavailable = unavailable_methods()
    cells = []
    for compared in (c for c in compared_sets(full) if c.source.name not in skip):
        data, title, size = compared.load(data_dir), compared.source.title, compared.size
        prices = list(FEATURE_PRICES[size])
        for number, split in enumerate(random_splits(PEER_TRAIN_SHARE, PEER_SPLITS[full][size])):
            deep = title in DEEP_SETS[full] and number < DEEP_SPLITS[full]
            for method in (m for m in compared.methods(deep) if m not in unavailable):
                arguments = {"prices": prices, "split": split, "seed": seed_of((title, number, method))}
                row = {"dataset": title, "size": size, "split": number, "method": METHOD_TITLES[method], "params": "{}"}
                cells.append(study_task(PRICED_CELL, {**arguments, "method": method}, row, data))
                if method == "lattice" and number == 0:
                    row = row | {"method": f"{METHOD_TITLES[method]}, single fits"}
                    cells.append(study_task(TIMED_CELL, arguments, row, data))
    return cells


def compared_sets(full: bool, size: str | None = None) -> list[ComparedSet]:
    """The data sets of the full or the quick study, of one size or of both."""
    sets = [c for c in COMPARED_SETS if full or c.source.title in QUICK_SETS]
    return [c for c in sets if size in (None, c.size)]


def conclude(cells: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    losses = tables.losses_by_price(table)
    if losses.empty:
        return Conclusion(protocol(full), claims(losses, table, full))
    kinds = (tables.best_peer_table, tables.difference_table)
    every_table = [kind(losses, size) for size in (SMALL, LARGE) for kind in kinds]
    filled = [t for t in (*every_table, tables.training_time_table(table)) if len(t.frame)]
    picture = tables.loss_picture(losses)
    shown = [t.stem for t in filled] + [picture.stem]
    remarks = notes(losses, unavailable_methods())
    return Conclusion(protocol(full), claims(losses, table, full), filled, [picture], remarks, shown)


def protocol(full: bool) -> str:
    counts = PEER_SPLITS[full]
    prices = {size: ", ".join(f"{p:g}" for p in values) for size, values in FEATURE_PRICES.items()}
    deep = ", ".join(DEEP_SETS[full])
    sets = (
        f"{len(compared_sets(full, SMALL))} small data sets, listed in the tables below,"
        if full
        else f"the data sets {', '.join(QUICK_SETS)}, which come with scikit-learn,"
    )
    about_titles = (
        f'"Breast cancer" is the diagnostic Wisconsin data set (30 features); "{OLD_BREAST_CANCER}" is the older one '
        "(9 features). "
        if full
        else ""
    )
    first = "" if DEEP_SPLITS[full] == counts[SMALL] else f" (in {DEEP_SPLITS[full]} split)"
    return (
        f"The claims below are our own. The comparison uses {sets} and {counts[SMALL]} random stratified splits of "
        f"each, with {PEER_TRAIN_SHARE:.0%} of the rows for training. {about_titles}Every feature "
        f"has the price lam = {prices[SMALL]}; an error costs 1, and "
        "the loss is the mean over the test rows of these costs. The lattice agent (agents.LatticeClassifier) "
        "is policy iteration on a lattice of feature subsets, each with a classifier of its own. This "
        f"agent and MaskablePPO have their default settings. {about_readings()}MaskablePPO is trained "
        f"separately at each lam, and only on {deep}{first}. For the other methods all settings are chosen at each "
        "lam, by the loss on stratified inner folds of the training part (five for up to 1,000 rows, otherwise three). "
        "CART: strength of cost-complexity pruning, and fewest rows in a leaf. CEGB (cost-efficient gradient boosting "
        "with a price for each acquired value): penalty, and number (up to 80), learning rate and depth of the trees. "
        "Static selection: number of features that mRMR ranks first, and C of a logistic regression on them. Forest: "
        "number of features that a random forest ranks first, up to all of them, and fewest rows in a leaf of the "
        f"forest on them ({FOREST_SIZE} trees). {about_large_sets() if full else ''}A cell "
        "is one method trained on one split at all values of lam. Additional cells fit the lattice separately at each "
        "lam, only to measure the time of a single fit."
    )


def about_readings() -> str:
    """What the two readings of RCPI are, and how the claims count them."""
    readings = " ".join(f"{METHOD_TITLES[m]}: {find_method(m).reading}." for m in RCPI_READINGS)
    return (
        f"RCPI (Dulac-Arnold et al., 2012) is run in two readings. {readings} Both are peers: one claim compares the "
        "lattice with each of them, and either may be the best peer. "
    )


def about_large_sets() -> str:
    """How the protocol differs on the large data sets."""
    large = compared_sets(True, LARGE)
    samples = [f"{c.rows:,} random rows of {c.source.title}" for c in large if c.rows]
    prices, no_cegb = FEATURE_PRICES[LARGE], [c.source.title for c in large if not c.cegb]
    titles, lams = ", ".join(c.source.title for c in large), ", ".join(f"{p:g}" for p in prices)
    return (
        f"On {len(large)} large data sets ({titles}), which have over 7,000 rows or over 600 features, there are "
        f"{PEER_SPLITS[True][LARGE]} splits, and lam is {lams}; RCPI (in both readings) and MaskablePPO are not run "
        f"there, nor is CEGB on {' and '.join(no_cegb)}, because they would take too long. Only "
        f"{' and '.join(samples)} are used; the classes of {KDDCUP} are normal connections and attacks. Official test "
        "parts are not used. Wherever a category is one column, its levels are integer codes, and a missing value in "
        "such a column is one more level. "
    )


STUDY = Study(
    "lattice-vs-peers",
    "The lattice agent compared with its peers",
    f"{DWSM_REFERENCE}\n{bibtex(__file__)}",
    (12.0, 230.0),
    tuple(c.source.name for c in compared_sets(True)),
    plan,
    conclude,
    tuple(c.source.name for c in compared_sets(False)),
)
