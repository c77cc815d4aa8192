"""Xu, Huang, Weinberger and Zheng (2014), Figs. 1 to 5: boosted feature selection against what it is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fsgym.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, cell_row, random_splits, seed_of, shared_data, subsample
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.gbfs.cell import CURVE, STAGES, SYNTHETIC
from fsgym_studies.gbfs.claims import claims, notes
from fsgym_studies.gbfs.tables import (
    AWARE,
    COLON,
    COUNTS,
    GBFS,
    GROUPS,
    HSIC,
    KDD,
    L1LR,
    MRMR,
    RFFS,
    SPAM,
    SYNTHETIC_SET,
    USPS,
    colon_table,
    curve_picture,
    error_table,
    quality_picture,
    quality_table,
    settings_table,
    stages_picture,
    synthetic_picture,
    synthetic_table,
    versus_table,
)

REFERENCE = """\
@inproceedings{xu2014gradient,
  author    = {Xu, Zhixiang and Huang, Gao and Weinberger, Kilian Q. and Zheng, Alice X.},
  title     = {Gradient boosted feature selection},
  booktitle = {Proceedings of the 20th ACM SIGKDD International Conference on Knowledge Discovery and Data Mining},
  pages     = {522--531},
  year      = {2014},
  doi       = {10.1145/2623330.2623635}
}
"""

HALVES = tuple(0.5**k for k in range(1, 11))
QUARTERS = tuple(0.25**k for k in range(1, 11))  # of kddcup99, where one feature tells nearly all
SPLITS = {False: 3, True: 10}  # of the small sets
BAG_SPLITS = {False: 8, True: 100}
DRAWS = {False: 10, True: 100}
ROWS = {False: {"mnist": 4000, "adult": 8000, "kdd": 20_000}, True: {}}  # of training; None: all
KDD_TEST = {False: 50_000, True: None}
FEWER = (1, 2, 5, 10, 20, 40)  # numbers of features with an SVM on 3,681 rows
INNER = {False: 2, True: 5}
BAGS = 9
TREES = {False: 100, True: 500}


def boosting(full: bool) -> dict[str, Any]:
    """The paper's rate with up to 2,000 iterations; quick, 250 iterations at four times the rate, which goes as far."""
    params = {"n_iter": 2000, "learning_rate": 0.1} if full else {"n_iter": 250, "learning_rate": 0.4}
    params |= {"min_samples_leaf": 5, "early_stopping": 200 if full else 50}
    return {"params": params, "mu_rel": HALVES, "depths": (2, 3, 4) if full else (3,)}


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    gbfs, trees = boosting(full), {"params": {"n_estimators": TREES[full]}, "counts": COUNTS}
    linear = {"params": {}, "decades": 2, "n_settings": 18}
    kernel = {"params": {}, "counts": COUNTS, "inner": INNER[full]}
    arms = {GBFS: ("gbfs", gbfs), RFFS: ("forest", trees), L1LR: ("l1_logistic", linear)}
    svms = {HSIC: ("hsic_lasso", kernel), MRMR: ("mrmr", kernel)}
    some = {n: (m, {**o, "counts": FEWER}) for n, (m, o) in svms.items()}
    few = [] if full else [arms | some]
    cells = [
        cell
        for data, methods, number, judge in (
            (binary(Source("spambase", SPAM).load(data_dir), ("spam",)), few[0] if few else arms | svms, 3, 0),
            (binary(Source("usps", USPS, split="test").load(data_dir), range(1, 10, 2)), arms | svms, 3, INNER[full]),
            (binary(Source("pcmac", "pcmac").load(data_dir), (2,)), arms, 2, 0),
        )
        for cell in curves(data, methods, random_splits(0.8, number if not full else SPLITS[full]), judge)
    ]
    for train, test in official(full, data_dir):
        cells += curves(train, arms, [{}], 0, test)
    train, test = kdd(full, data_dir)
    finer = arms | {GBFS: ("gbfs", {**gbfs, "mu_rel": QUARTERS})}
    cells += [*curves(train, finer, [{}], 0, test), *stages(train, test, gbfs)]
    return [*cells, *colon(full, data_dir, arms, kernel), *synthetic(full)]


def binary(data: Dataset, positive: Any) -> Dataset:
    """The data set with two classes: these labels, and the others; each column by itself."""
    y = np.isin(data.classes[data.y], list(positive)).astype(np.int64)
    return data.replace(y=y, classes=None, groups=None)


def official(full: bool, data_dir: DataFolder) -> list[tuple[Dataset, Dataset]]:
    """Training and test parts as they are given, the first sub-sampled where quick."""
    first = range(1, 14)  # the letters A to M
    isolet = [binary(Source(n, "isolet").load(data_dir), first) for n in ("isolet_1560", "isolet5")]
    digits = [Source("mnist", "mnist3vs8", split=s).load(data_dir) for s in ("train", "test")]
    digits = [binary(d.rows(np.flatnonzero(np.isin(d.classes[d.y], (3, 8)))), (8,)) for d in digits]
    adult = [binary(Source("a9a", "adult", split=s).load(data_dir), (1,)) for s in ("train", "test")]
    rows = ROWS[full]
    return [
        (isolet[0], isolet[1]),
        (subsample(digits[0], rows.get("mnist")), digits[1]),
        (subsample(adult[0], rows.get("adult")), adult[1]),
    ]


def kdd(full: bool, data_dir: DataFolder) -> tuple[Dataset, Dataset]:
    """Attacks against normal connections, categories as one column a level; 80 % to learn from."""
    data = binary(Source("kddcup99_10percent", KDD, one_hot=True).load(data_dir), ("normal",))
    train, test = data.split(0.8, 0)
    return subsample(train, ROWS[full].get("kdd")), subsample(test, KDD_TEST[full])


def curves(
    data: Dataset, methods: Mapping[str, tuple[str, Any]], parts: Sequence[Mapping], judge: int, test: Any = None
) -> list[StudyCell]:
    """A cell for each method and part."""
    shared = shared_data(data, test)
    made = []
    for number, part in enumerate(parts):
        for title, (method, options) in methods.items():
            # Methods with an SVM of their own are judged by it.
            own = judge if "inner" not in options else 0
            arguments = {
                "method": method,
                "options": options,
                "part": dict(part),
                "judge": own,
                "seed": seed_of(data.name, number, method),
            }
            row = cell_row(data.name, part.get("share", 0.0), number, title, json.dumps(options))
            made.append(StudyCell(Task(CURVE, arguments, shared), row))
    return made


def stages(train: Dataset, test: Dataset, gbfs: Mapping[str, Any]) -> list[StudyCell]:
    params = {**gbfs["params"], "early_stopping": None, "max_depth": 3}
    arguments = {"mu_rel": (0.5**7, 0.5**11, 0.5**15), "params": params, "seed": seed_of("stages")}
    row = cell_row(KDD, 0.0, 0, "GBFS, stages", json.dumps(arguments))
    return [StudyCell(Task(STAGES, arguments, shared_data(train, test)), row)]


def colon(full: bool, data_dir: DataFolder, arms: Mapping, kernel: Mapping) -> list[StudyCell]:
    """62 samples: nothing can be held out, so the number of iterations is fixed. Genes come in clusters."""
    data, params = Source("colon", COLON).load(data_dir), {"n_iter": 100, "learning_rate": 0.1}
    gbfs = {"params": {**params, "validation_fraction": None}, "mu_rel": HALVES, "depths": (3,)}
    groups = {"params": {}, "decades": 2, "n_settings": 12, "aware": True}
    methods = {
        AWARE: ("gbfs", {**gbfs, "aware": True}),
        GROUPS: ("group_lasso", groups),
        GBFS: ("gbfs", gbfs),
        RFFS: arms[RFFS],
        L1LR: arms[L1LR],
        HSIC: ("hsic_lasso", kernel),
    }
    methods = {title: (method, {**options, "bags": BAGS}) for title, (method, options) in methods.items()}
    return curves(binary(data, (2,)), methods, random_splits(0.8, BAG_SPLITS[full]), 0)


def synthetic(full: bool) -> list[StudyCell]:
    params = {"n_iter": 150, "learning_rate": 0.1, "min_samples_leaf": 5, "validation_fraction": None}
    arguments = {"n": 600, "params": params, "mu_rel": HALVES[:7]}
    rows = [cell_row(SYNTHETIC_SET, 0.9, k, "L1LR and GBFS", json.dumps(arguments)) for k in range(DRAWS[full])]
    return [StudyCell(Task(SYNTHETIC, arguments | {"seed": k}), row) for k, row in enumerate(rows)]


def protocol(full: bool) -> str:
    rows, rate = (
        ROWS[full],
        "0.1, at most 2,000 iterations and 2, 3 or 4" if full else "0.4, at most 250 iterations and 3",
    )
    part = (
        "all training rows"
        if full
        else (
            f"{rows['mnist']:,} training rows of mnist, {rows['adult']:,} of adult and {rows['kdd']:,} of kddcup99, "
            f"{KDD_TEST[full]:,} test rows of kddcup99"
        )
    )
    return (
        "Error against the number of selected features. spambase, pcmac and uspst (the 2,007 test digits of usps, even "
        "against odd) in random splits with 80 % of the rows for training; isolet (1,560 of its rows for training and "
        "1,559 for testing, the letters A to M against N to Z), mnist 3 against 8 and adult (a9a) in their own parts; "
        "kddcup99, the 10 % file with one column a category, 80 % for training, since its test part is not at hand; "
        f"{part}; {SPLITS[full] if full else '2 or 3'} splits of the small sets. {GBFS} at mu = mu_max / 2 to "
        f"mu_max / 1024 (of kddcup99 mu_max / 4 to mu_max / 2^20), rate {rate} levels of splits, a fifth of the "
        f"training rows choosing the iterations, then fitted to all of them; {RFFS} with {TREES[full]} full trees, "
        f"ranked and trained again; {L1LR} at 18 "
        f"penalties; {HSIC} (in blocks of 20 rows) and {MRMR} with an RBF-SVM. Colon in {BAG_SPLITS[full]} splits, its "
        f"genes in {BAGS} bags by k-means on the training rows. Between settings a curve is straight over the number "
        "of features; the groupings of labels are ours."
    )


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    tables = [
        versus_table(table),
        error_table(table),
        quality_table(table),
        colon_table(table),
        synthetic_table(table),
        settings_table(table),
    ]
    pictures = [synthetic_picture(table), curve_picture(table), quality_picture(table), stages_picture(table)]
    told = [t for t in tables if len(t.frame)]
    return Conclusion(protocol(full), claims(table), told, [p for p in pictures if p is not None], notes(table))


STUDY = Study(
    "gbfs",
    "GBFS: error against number of features (sections 5.1 to 5.4)",
    REFERENCE,
    (6.5, 270.0),
    ("spambase", "usps", "pcmac", "isolet_1560", "isolet5", "mnist", "a9a", "kddcup99_10percent", "colon"),
    plan,
    conclude,
)
