"""Does the lattice agent ask least for the same accuracy? Losses at five prices on fourteen data sets, beside peers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.extras import require
from fsgym.methods import find_method
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, random_splits, seed_of
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.study import DWSM_REFERENCE
from fsgym_studies.lattice_vs_peers.cell import CART, CEGB, LATTICE, PPO, PRICED, RCPI, STATIC, TIMED
from fsgym_studies.lattice_vs_peers.claims import claims, notes
from fsgym_studies.lattice_vs_peers.tables import TITLES, by_data_set, compared, picture, points, times

SOURCES = (
    Source("breast_cancer", "breast cancer"),
    Source("wine", "wine"),
    Source("heart_statlog", "heart"),
    Source("pima_diabetes", "diabetes"),
    Source("ionosphere", "ionosphere"),
    Source("sonar", "sonar"),
    Source("breast_cancer_wisconsin_683", "breast cancer of 1992", drop=("id",)),
    Source("australian", "australian"),
    Source("german_credit_numeric", "german credit"),
    Source("vehicle", "vehicle"),
    Source("vowel", "vowel"),
    Source("segment", "segment"),
    Source("digits", "digits"),
    Source("spambase", "spambase"),
)
QUICK = ("breast cancer", "wine", "heart", "diabetes")
DEEP = {
    False: ("wine",),
    True: ("breast cancer", "wine", "heart", "diabetes", "ionosphere", "sonar"),
}  # where the deep agent is trained
PRICES = (0.001, 0.003, 0.01, 0.03, 0.1)
SPLITS = {False: 2, True: 3}
DEEP_SPLITS = {False: 1, True: 3}  # the first of them
SHARE = 0.7
REFERENCE = (
    DWSM_REFERENCE
    + """
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
)


def missing() -> dict[str, str]:
    """Why methods cannot be run here: their extras are not installed."""
    reasons = {}
    for method in (CEGB, PPO):
        try:
            require(find_method(method).extra, TITLES[method])
        except ImportError as error:
            reasons[method] = str(error)
    return reasons


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    absent = missing()
    cells = []
    for source in SOURCES:
        if not full and source.title not in QUICK:
            continue
        data = source.load(data_dir)
        for split, part in enumerate(random_splits(SHARE, SPLITS[full])):
            for method in (RCPI, CART, CEGB, STATIC, PPO, LATTICE):
                deep = source.title in DEEP[full] and split < DEEP_SPLITS[full]
                if method in absent or (method == PPO and not deep):
                    continue
                arguments = {"prices": list(PRICES), "part": part, "seed": seed_of(source.title, split, method)}
                row = {"dataset": source.title, "split": split, "method": TITLES[method], "params": "{}"}
                cells.append(StudyCell(Task(PRICED, {**arguments, "method": method}, {"data": data}), row))
                if method == LATTICE and split == 0:
                    row = row | {"method": f"{TITLES[method]}, single fits"}
                    cells.append(StudyCell(Task(TIMED, arguments, {"data": data}), row))
    return cells


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    found = points(table, PRICES)
    if found.empty:
        return Conclusion(protocol(full), claims(found, table))
    tables = [by_data_set(found), compared(found), times(table)]
    drawn = picture(found)
    return Conclusion(
        protocol(full),
        claims(found, table),
        tables,
        [drawn],
        notes(found, missing()),
        shown=[t.stem for t in tables] + [drawn.stem],
    )


def protocol(full: bool) -> str:
    sets = "Fourteen data sets" if full else f"{', '.join(QUICK).capitalize()}"
    prices, deep = (", ".join(words) for words in ((f"{p:g}" for p in PRICES), DEEP[full]))
    first = "" if DEEP_SPLITS[full] == SPLITS[full] else f", and there on the first {DEEP_SPLITS[full]} of the splits"
    return (
        f"{sets}, {SPLITS[full]} random stratified splits with {SHARE:.0%} of the rows for training; a feature costs "
        f"lam = {prices}, a wrong answer 1, and the loss is the mean of both over the test rows. The lattice agent "
        "(agents.LatticeClassifier) has its default settings everywhere, and so have RCPI, the policy of 2012, and "
        f"MaskablePPO, which is trained at each price anew, on {deep} only{first}. Of the others every setting is "
        "chosen at each price, by the loss on stratified inner folds of the training part (five up to 1,000 rows, else "
        "three): CART's cost-complexity pruning and fewest rows in a leaf; of CEGB, cost-efficient boosting with a "
        "lazy price for each value, penalty, number (up to 80), rate and depth of the trees; of a static selection the "
        "number of features that mRMR ranks first, and C of the logistic regression on them."
    )


STUDY = Study(
    "lattice-vs-peers",
    "The lattice agent beside its peers",
    REFERENCE,
    (5.5, 60.0),
    tuple(s.name for s in SOURCES),
    plan,
    conclude,
)
