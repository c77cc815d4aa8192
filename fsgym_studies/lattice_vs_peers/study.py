"""Our own study: the loss of the lattice agent and of its peers at five prices on fourteen data sets."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.extras import require
from fsgym.methods import find_method
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, random_splits, seed_of
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.study import DWSM_REFERENCE
from fsgym_studies.lattice_vs_peers.cell import (
    CART_METHOD,
    CEGB_METHOD,
    LATTICE_METHOD,
    PPO_METHOD,
    PRICED_CELL,
    RCPI_METHOD,
    STATIC_METHOD,
    TIMED_CELL,
)
from fsgym_studies.lattice_vs_peers.claims import claims, notes
from fsgym_studies.lattice_vs_peers.tables import (
    METHOD_TITLES,
    best_peer_table,
    difference_table,
    loss_picture,
    losses_by_price,
    training_time_table,
)

OLD_BREAST_CANCER = "breast cancer of 1992"
COMPARED_SETS = (
    Source("breast_cancer", "breast cancer"),
    Source("wine", "wine"),
    Source("heart_statlog", "heart"),
    Source("pima_diabetes", "diabetes"),
    Source("ionosphere", "ionosphere"),
    Source("sonar", "sonar"),
    Source("breast_cancer_wisconsin_683", OLD_BREAST_CANCER, drop=("id",)),
    Source("australian", "australian"),
    Source("german_credit_numeric", "german credit"),
    Source("vehicle", "vehicle"),
    Source("vowel", "vowel"),
    Source("segment", "segment"),
    Source("digits", "digits"),
    Source("spambase", "spambase"),
)
QUICK_SETS = ("breast cancer", "wine", "heart", "diabetes")
FEATURE_PRICES = (0.001, 0.003, 0.01, 0.03, 0.1)  # an error costs 1
PEER_TRAIN_SHARE = 0.7  # of the rows
# Quick and full studies:
PEER_SPLITS = {False: 2, True: 3}
DEEP_SPLITS = {False: 1, True: 3}  # the first splits, on which the deep agent is trained
DEEP_SETS = {False: ("wine",), True: ("breast cancer", "wine", "heart", "diabetes", "ionosphere", "sonar")}
PEER_REFERENCES = """
@inproceedings{peter2017cost,
  author    = {Peter, Sven and Diego, Ferran and Hamprecht, Fred A. and Nadler, Boaz},
  title     = {Cost efficient gradient boosting},
  booktitle = {Advances in Neural Information Processing Systems},
  pages     = {1551--1561},
  year      = {2017}
}

@inproceedings{huang2022closer,
  author    = {Huang, Shengyi and Onta{\\~n}{\\'o}n, Santiago},
  title     = {A closer look at invalid action masking in policy gradient algorithms},
  booktitle = {The International {FLAIRS} Conference Proceedings},
  volume    = {35},
  year      = {2022}
}
"""


def unavailable_methods() -> dict[str, str]:
    """The methods that cannot run because their extras are not installed, each with the reason."""
    reasons = {}
    for method in (CEGB_METHOD, PPO_METHOD):
        try:
            require(find_method(method).extra, METHOD_TITLES[method])
        except ImportError as error:
            reasons[method] = str(error)
    return reasons


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    unavailable = unavailable_methods()
    cells = []
    for source in COMPARED_SETS:
        if not full and source.title not in QUICK_SETS:
            continue
        data = source.load(data_dir)
        for split, part in enumerate(random_splits(PEER_TRAIN_SHARE, PEER_SPLITS[full])):
            for method in (RCPI_METHOD, CART_METHOD, CEGB_METHOD, STATIC_METHOD, PPO_METHOD, LATTICE_METHOD):
                deep = source.title in DEEP_SETS[full] and split < DEEP_SPLITS[full]
                if method in unavailable or (method == PPO_METHOD and not deep):
                    continue
                arguments = {"prices": list(FEATURE_PRICES), "part": part, "seed": seed_of(source.title, split, method)}
                row = {"dataset": source.title, "split": split, "method": METHOD_TITLES[method], "params": "{}"}
                cells.append(StudyCell(Task(PRICED_CELL, {**arguments, "method": method}, {"data": data}), row))
                if method == LATTICE_METHOD and split == 0:
                    row = row | {"method": f"{METHOD_TITLES[method]}, single fits"}
                    cells.append(StudyCell(Task(TIMED_CELL, arguments, {"data": data}), row))
    return cells


def conclude(cells: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    losses = losses_by_price(table, FEATURE_PRICES)
    if losses.empty:
        return Conclusion(protocol(full), claims(losses, table))
    tables = [best_peer_table(losses), difference_table(losses), training_time_table(table)]
    picture = loss_picture(losses)
    return Conclusion(
        protocol(full),
        claims(losses, table),
        tables,
        [picture],
        notes(losses, unavailable_methods()),
        shown=[t.stem for t in tables] + [picture.stem],
    )


def protocol(full: bool) -> str:
    sets = "fourteen data sets, listed in the tables below," if full else f"the data sets {', '.join(QUICK_SETS)}"
    names = (
        f'"Breast cancer" is the diagnostic Wisconsin data set (30 features); "{OLD_BREAST_CANCER}" is the older one '
        "(9 features). "
        if full
        else ""
    )
    prices, deep = (", ".join(words) for words in ((f"{p:g}" for p in FEATURE_PRICES), DEEP_SETS[full]))
    first = "" if DEEP_SPLITS[full] == PEER_SPLITS[full] else f" (in {DEEP_SPLITS[full]} split)"
    return (
        f"The claims below are our own. The comparison uses {sets} and {PEER_SPLITS[full]} random stratified splits of "
        f"each, with {PEER_TRAIN_SHARE:.0%} of the rows for training. {names}Every feature "
        f"has the price lam = {prices}; an error costs 1, and "
        "the loss is the mean over the test rows of these costs. The lattice agent (agents.LatticeClassifier) "
        "is policy iteration on a lattice of feature subsets, each with a classifier of its own. This "
        "agent, RCPI (Dulac-Arnold et al., 2012) and MaskablePPO have their default settings. MaskablePPO is trained "
        f"separately at each lam, and only on {deep}{first}. For the other methods all settings are chosen at each "
        "lam, by the loss on stratified inner folds of the training part (five for up to 1,000 rows, otherwise three). "
        "CART: strength of cost-complexity pruning, and fewest rows in a leaf. CEGB (cost-efficient gradient boosting "
        "with a price for each acquired value): penalty, and number (up to 80), learning rate and depth of the trees. "
        "Static selection: number of features that mRMR ranks first, and C of a logistic regression on them. A cell "
        "is one method trained on one split at all values of lam. Additional cells fit the lattice separately at each "
        "lam, only to measure the time of a single fit."
    )


STUDY = Study(
    "lattice-vs-peers",
    "The lattice agent compared with its peers",
    DWSM_REFERENCE + PEER_REFERENCES,
    (5.5, 60.0),
    tuple(s.name for s in COMPARED_SETS),
    plan,
    conclude,
)
