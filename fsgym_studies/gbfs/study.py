"""Xu, Huang, Weinberger and Zheng (2014), Figs. 1 to 5: gradient boosted feature selection and other methods."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import OfficialSplit, Split, random_splits
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, binary, cell_labels, share_of, study_task, subsample, without
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.gbfs import tables
from fsgym_studies.gbfs.cell import ERROR_CURVE_CALL, STAGES_CALL, SYNTHETIC_CALL, TRAINING_TIMES_CALL
from fsgym_studies.gbfs.claims import claims, notes

KDD_SET, COLON_SET = Source("kddcup99_10percent", "kddcup99", one_hot=True), Source("colon", "colon")

# Values for False are those of the quick study, for True those of the full one.
MU_HALVED = tuple(0.5**k for k in range(1, 11))  # shares of mu_max
MU_QUARTERED = tuple(0.25**k for k in range(1, 11))  # for kddcup99, where one feature separates most rows
SMALL_SET_SPLITS = {False: {"spambase": 3, "uspst": 3, "pcmac": 2}, True: {"spambase": 10, "uspst": 10, "pcmac": 10}}
COLON_SPLITS = {False: 8, True: 100}
SYNTHETIC_DRAWS = {False: 10, True: 100}
TRAINING_ROWS = {False: {"mnist": 4000, "adult": 8000, "kdd": 20_000}, True: {}}  # of sets not named: all
TIMED_KDD_ROWS = {False: 100_000, True: None}  # training rows of kddcup99 on which training is timed
TIMED_MU_REL, TIMED_COUNT = 0.5**6, 20  # penalty of GBFS, and features that the others select, in timed training
STAGES = {False: 500, True: 2000}  # iterations of Fig. 4, kddcup99
KDD_TEST_ROWS = {False: 50_000, True: None}  # None: all
SPAM_SVM_COUNTS = (1, 2, 5, 10, 20, 40)  # numbers of features of the quick study's SVMs on 3,681 rows, which are slow
SVM_SPLITS = {False: 2, True: 5}  # inner splits that choose the C of an SVM
N_BAGS = 9  # clusters of genes on colon, as in section 5.2
FOREST_TREES = {False: 100, True: 500}
NEIGHBOUR_PRICES = (1.0, 0.5, 0.1)  # of a pixel beside a selected one, as a share of the price of others


def boosting(full: bool) -> dict[str, Any]:
    """The paper's rate with up to 2,000 iterations; in the quick study 250 iterations at four times the rate."""
    params = {"n_iter": 2000, "learning_rate": 0.1} if full else {"n_iter": 250, "learning_rate": 0.4}
    params |= {"min_samples_leaf": 5, "early_stopping": 200 if full else 50}
    return {"params": params, "mu_rel": MU_HALVED, "depths": (2, 3, 4) if full else (3,)}


def printed_boosting(full: bool) -> dict[str, Any]:
    """The printed rate on kddcup99; in the quick study a quarter of the rate of ``boosting`` at four times as many."""
    n_iter = boosting(full)["params"]["n_iter"]
    params = {"n_iter": n_iter if full else 4 * n_iter, "learning_rate": 0.1, "min_samples_leaf": 5}
    return {"params": {**params, "early_stopping": 200}, "mu_rel": MU_QUARTERED}


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    gbfs, trees = boosting(full), {"params": {"n_estimators": FOREST_TREES[full]}, "counts": tables.FEATURE_COUNTS}
    linear = {"params": {}, "decades": 2, "n_settings": 18}
    kernel = {"params": {}, "counts": tables.FEATURE_COUNTS, "inner": SVM_SPLITS[full]}
    basic = {"GBFS": ("gbfs", gbfs), "RFFS": ("forest", trees), "L1LR": ("l1_logistic", linear)}
    basic[tables.RFFS_BOUND] = larger_leaves(trees, tables.LEAF_ROWS)
    svms = {"HSIC Lasso": ("hsic_lasso", kernel), "mRMR": ("mrmr", kernel)}
    fewer = {n: (m, {**o, "counts": SPAM_SVM_COUNTS}) for n, (m, o) in svms.items()}
    on_spam = basic | (svms if full else fewer)
    small_sets = {
        Source("spambase", "spambase"): (("spam",), on_spam, 0),
        Source("usps", "uspst", split="test"): (range(1, 10, 2), basic | svms, SVM_SPLITS[full]),
        Source("pcmac", "pcmac"): ((2,), basic, 0),
    }
    cells = []
    for source in without(list(small_sets), skip):
        positive, methods, svm_splits = small_sets[source]
        splits = random_splits(0.8, SMALL_SET_SPLITS[full][source.title])
        data = binary(source.load(data_dir), positive)
        cells += curve_cells(data, methods, splits, svm_splits)
        if set(svms) <= set(methods):
            cells += timed_cells(data, splits[0], full, svms=True)
    for train, test in official_parts(full, data_dir, skip):
        cells += curve_cells(train, basic, [OfficialSplit(test)])
    if "a9a" not in skip:
        train, test = adult_parts(data_dir)
        cells += timed_cells(train, OfficialSplit(test), full, svms=False)
    if KDD_SET.name not in skip:
        all_train, test = kdd_parts(full, data_dir)
        train, split = subsample(all_train, TRAINING_ROWS[full].get("kdd")), OfficialSplit(test)
        finer = basic | {"GBFS": ("gbfs", {**gbfs, "mu_rel": MU_QUARTERED})}
        finer[tables.RFFS_BOUND] = larger_leaves(trees, tables.KDD_LEAF_ROWS)
        for title, levels in tables.PRINTED_LEVELS.items():
            finer[title] = ("gbfs", {**printed_boosting(full), "depths": (levels,)})
        few = {**trees, "counts": tables.counts_of("kddcup99", tables.FEW)}
        on_all = {tables.RFFS_BOUND: larger_leaves(few, tables.KDD_LEAF_ROWS)}
        cells += curve_cells(train, finer, [split])
        cells += curve_cells(all_train.replace(name=tables.KDD_ALL_ROWS), on_all, [split])
        cells += stages_cells(all_train, split, full)
        cells += timed_cells(subsample(all_train, TIMED_KDD_ROWS[full]), split, full, svms=False)
        if TIMED_KDD_ROWS[full] is not None:
            cells += timed_cells(all_train.replace(name=tables.KDD_ALL_ROWS), split, full, svms=False)
    if COLON_SET.name not in skip:
        cells += colon_cells(full, data_dir, basic, kernel)
    if "usps" not in skip:
        digits = Source("usps", "uspst", split="test").load(data_dir)
        both = {"GBFS": basic["GBFS"], "HSIC Lasso": svms["HSIC Lasso"]}
        for title, positive in tables.GROUPINGS.items():
            grouped = binary(digits.replace(name=title), positive)
            cells += curve_cells(grouped, both, random_splits(0.8, SMALL_SET_SPLITS[full]["uspst"]))
    if "mnist" not in skip:
        train, test = digit_parts((3, 8), data_dir)
        cells += neighbour_cells(subsample(train, TRAINING_ROWS[full].get("mnist")), test, gbfs)
    return [*cells, *synthetic_cells(full)]


def curve_cells(
    data: Dataset, methods: Mapping[str, tuple[str, Any]], splits: Sequence[Split | OfficialSplit], svm_splits: int = 0
) -> list[Task]:
    """One cell for each method and split; methods whose own classifier is the SVM need no second one."""
    cells = []
    for number, split in enumerate(splits):
        for title, (method, options) in methods.items():
            arguments = {
                "method": method,
                "options": options,
                "svm_splits": 0 if "inner" in options else svm_splits,
                "seed": seed_of((data.name, number, method)),
            }
            row = cell_labels(data.name, share_of(split, data), number, title, json.dumps(options))
            cells.append(study_task(ERROR_CURVE_CALL, arguments, row, data, split))
    return cells


def larger_leaves(trees: Mapping[str, Any], rows: int) -> tuple[str, dict[str, Any]]:
    """The method of a forest in which nodes of up to ``rows`` training rows are leaves, and its options."""
    return "forest", {**trees, "params": {**trees["params"], "min_samples_split": rows + 1}}


def neighbour_cells(train: Dataset, test: Dataset, gbfs: Mapping[str, Any]) -> list[Task]:
    """Cells of images in which a pixel costs less beside a selected one, as the paper proposes for images."""
    options = {price: {**gbfs, "neighbour_price": price, "depths": (3,)} for price in NEIGHBOUR_PRICES}
    methods = {f"{tables.NEIGHBOURS}{price:g}": ("gbfs", own) for price, own in options.items()}
    return curve_cells(train, methods, [OfficialSplit(test)])


def official_parts(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> Iterator[tuple[Dataset, Dataset]]:
    """The official training and test parts; in the quick study a sample of the training rows."""
    rows = TRAINING_ROWS[full]
    if not {"isolet_1560", "isolet5"} & set(skip):
        first = range(1, 14)  # the letters A to M
        train, test = (binary(Source(n, "isolet").load(data_dir), first) for n in ("isolet_1560", "isolet5"))
        yield train, test
    if "mnist" not in skip:
        for pair in tables.DIGIT_PAIRS:
            train, test = digit_parts(pair, data_dir)
            yield subsample(train, rows.get("mnist")), test
    if "a9a" not in skip:
        train, test = adult_parts(data_dir)
        yield subsample(train, rows.get("adult")), test


def adult_parts(data_dir: DataFolder) -> tuple[Dataset, Dataset]:
    """The official parts of a9a, of which the first class is the one that is not common."""
    train, test = (binary(Source("a9a", "adult", split=s).load(data_dir), (1,)) for s in ("train", "test"))
    return train, test


def digit_parts(pair: tuple[int, int], data_dir: DataFolder) -> tuple[Dataset, Dataset]:
    """The official parts of mnist with two of its digits, the second against the first."""
    title = f"mnist{pair[0]}vs{pair[1]}"
    both = (Source("mnist", title, split=s).load(data_dir) for s in ("train", "test"))
    train, test = (binary(d.rows(np.flatnonzero(np.isin(d.classes[d.y], pair))), pair[1:]) for d in both)
    return train, test


def kdd_parts(full: bool, data_dir: DataFolder) -> tuple[Dataset, Dataset]:
    """All training rows of kddcup99, 80 % of the file, and the test part: normal connections against attacks."""
    data = binary(KDD_SET.load(data_dir), ("normal",))
    train, test = data.split(0.8, 0)
    return train, subsample(test, KDD_TEST_ROWS[full])


def stages_cells(train: Dataset, split: OfficialSplit, full: bool) -> list[Task]:
    """The cell of Fig. 4: errors over the iterations at three mu, at the printed depth and rate."""
    levels = tables.PRINTED_LEVELS[tables.KDD_PRINTED]
    params = {**printed_boosting(full)["params"], "n_iter": STAGES[full], "early_stopping": None, "max_depth": levels}
    arguments = {"mu_rel": (0.5**7, 0.5**11, 0.5**15), "params": params, "seed": seed_of(("stages",))}
    row = cell_labels("kddcup99", 0.0, 0, "GBFS, stages", json.dumps(arguments))
    return [study_task(STAGES_CALL, arguments, row, train, split)]


def timed_cells(data: Dataset, split: Split | OfficialSplit, full: bool, *, svms: bool) -> list[Task]:
    """The cell of section 5.5 that trains each method once; ``svms`` are those that the paper runs on small sets."""
    levels = tables.PRINTED_LEVELS[tables.KDD_PRINTED]
    methods = {
        "GBFS": ("gbfs", {**printed_boosting(full), "mu_rel": (TIMED_MU_REL,), "depths": (levels,)}),
        "RFFS": ("forest", {"params": {"n_estimators": FOREST_TREES[full]}, "counts": (TIMED_COUNT,)}),
        "L1LR": ("l1_logistic", {"params": {}, "decades": 1, "n_settings": 2}),
        tables.RFFS_MORE: ("forest", {"params": {"n_estimators": tables.KDD_TREES}, "counts": (TIMED_COUNT,)}),
    }
    if svms:
        kernel = {"params": {}, "counts": (TIMED_COUNT,), "inner": SVM_SPLITS[full]}
        methods |= {"HSIC Lasso": ("hsic_lasso", kernel), "mRMR": ("mrmr", kernel)}
    arguments = {"methods": methods, "seed": seed_of((data.name, "times"))}
    row = cell_labels(data.name, share_of(split, data), 0, "training times", json.dumps(methods))
    return [study_task(TRAINING_TIMES_CALL, arguments, row, data, split)]


def colon_cells(full: bool, data_dir: DataFolder, basic: Mapping, kernel: Mapping) -> list[Task]:
    """Cells of colon, whose genes come in clusters; with 62 samples nothing is held out, so iterations are fixed."""
    data, params = COLON_SET.load(data_dir), {"n_iter": 100, "learning_rate": 0.1}
    gbfs = {"params": {**params, "validation_fraction": None}, "mu_rel": MU_HALVED, "depths": (3,)}
    groups = {"params": {}, "decades": 2, "n_settings": 12, "aware": True}
    methods = {
        "GBFS, bags": ("gbfs", {**gbfs, "aware": True}),
        "group LASSO": ("group_lasso", groups),
        "GBFS": ("gbfs", gbfs),
        "RFFS": basic["RFFS"],
        "L1LR": basic["L1LR"],
        "HSIC Lasso": ("hsic_lasso", kernel),
        tables.STUMPS: ("gbfs", {**gbfs, "depths": (1,), "aware": True}),
    }
    methods = {title: (method, {**options, "bags": N_BAGS}) for title, (method, options) in methods.items()}
    return curve_cells(binary(data, (2,)), methods, random_splits(0.8, COLON_SPLITS[full]))


def synthetic_cells(full: bool) -> list[Task]:
    """One cell for each draw of the example with three features."""
    params = {"n_iter": 150, "learning_rate": 0.1, "min_samples_leaf": 5, "validation_fraction": None}
    arguments = {"n": 600, "params": params, "mu_rel": MU_HALVED[:7]}
    rows = [
        cell_labels("three features", 0.9, k, "L1LR and GBFS", json.dumps(arguments))
        for k in range(SYNTHETIC_DRAWS[full])
    ]
    return [study_task(SYNTHETIC_CALL, arguments | {"seed": k}, row) for k, row in enumerate(rows)]


def protocol(full: bool) -> str:
    rows = TRAINING_ROWS[full]
    used = (
        "all training rows"
        if full
        else (
            f"{rows['mnist']:,} training rows of mnist, {rows['adult']:,} of adult and {rows['kdd']:,} of kddcup99, "
            f"{KDD_TEST_ROWS[full]:,} test rows of kddcup99,"
        )
    )
    pairs = ", ".join(f"{a} against {b}" for a, b in tables.DIGIT_PAIRS)
    splits = " or ".join(map(str, sorted(set(SMALL_SET_SPLITS[full].values()))))
    rate = "0.1, at most 2,000 iterations and 2, 3 or 4" if full else "0.4, at most 250 iterations and 3"
    return (
        f"We repeat sections 5.1 to 5.5 of Xu et al. (2014), Gradient boosted feature selection (GBFS): test error "
        "against the number of selected features. spambase, pcmac and uspst (the 2,007 test digits of usps, even "
        "against odd) in random splits with 80 % of the rows for training; isolet (1,560 of its rows for training and "
        f"1,559 for testing, the letters A to M against N to Z), mnist ({pairs}; only the first pair "
        "counts in the claims) and adult (a9a) with their "
        "official training/test split; kddcup99, the 10 % file with one-hot categories, 80 % for training, since its "
        f"test part is not available. We use {used} and {splits} splits of the small sets (spambase, uspst and pcmac). "
        f"GBFS with the penalty mu of a new feature from mu_max / 2 to mu_max / 1024 (on kddcup99 mu_max / 4 to "
        f"mu_max / 2^20; at mu_max no feature is selected), learning rate {rate} levels of splits; the number of "
        "iterations is chosen on a fifth of the training rows, then the model is fitted to all of them (on colon and "
        "the synthetic example the learning rate is 0.1 and the numbers of iterations are 100 and 150, without rows "
        "for choosing them). RFFS "
        f"(random forest feature selection) with {FOREST_TREES[full]} fully grown trees, trained again on the features "
        f"that rank first; {tables.RFFS_BOUND}: the same with leaves of up to {tables.LEAF_ROWS} rows "
        f"({tables.KDD_LEAF_ROWS} on kddcup99), "
        f"since the paper bounds its leaves by numbers that our copy lacks. L1LR (L1-regularised logistic "
        f"regression) at 18 penalties. HSIC Lasso (in blocks of 20 rows) "
        f"and mRMR with an RBF-SVM. Colon in {COLON_SPLITS[full]} splits, its genes in {N_BAGS} groups (bags) by "
        f"k-means on the training rows. Two methods are given these groups: group LASSO, and a variant of GBFS "
        f"called GBFS with bags, also with trees of one split. On uspst, GBFS and HSIC Lasso are also run with the "
        "digits in two classes in two other ways. On kddcup99 GBFS is also run at the printed depth 4 and rate "
        f"0.1, with at most {printed_boosting(full)['params']['n_iter']:,} iterations and 4 or 3 levels of splits, and "
        f"on every training row of the 10 % file with 4 levels and {STAGES[full]:,} iterations at three mu, beside "
        f"{tables.RFFS_BOUND}. For section 5.5 each method is trained once, one after the other, in one process and "
        f"one thread: GBFS as on kddcup99 with 4 levels at mu_max / {1 / TIMED_MU_REL:.0f} (and again on all rows), "
        f"RFFS (also with the {tables.KDD_TREES} trees of the paper on kddcup99), HSIC Lasso and mRMR for "
        f"{TIMED_COUNT} features with the classifier on these, and L1LR at its largest penalty and a tenth of it; on "
        "the first split of uspst and spambase, and on every training row of adult and "
        f"{'of kddcup99' if full else f'{TIMED_KDD_ROWS[full]:,} and all of kddcup99'}, where the paper runs neither "
        "HSIC Lasso nor mRMR. On mnist GBFS is run with prices of pixels that are lower beside "
        "selected ones. The synthetic example "
        f"has three features and is drawn {SYNTHETIC_DRAWS[full]} times: x1 and x2 determine the class, and x3 is a "
        "linear combination of them. Between settings a curve is linear in the number of features. How labels are "
        "grouped into two classes is our choice."
    )


def conclude(planned: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    comparisons = tables.comparison_table(table)
    filled = [t for t in (comparisons, *(kind(table) for kind in tables.FURTHER_TABLES)) if len(t.frame)]
    pictures = [picture for kind in tables.PICTURES if (picture := kind(table)) is not None]
    shown = ("kddcup99", "training_times", "neighbours")
    return Conclusion(protocol(full), claims(table), filled, pictures, notes(comparisons.frame), shown)


STUDY = Study(
    "gbfs",
    "GBFS: error against number of features, and training times (sections 5.1 to 5.5)",
    bibtex(__file__),
    (29.0, 300.0),
    ("spambase", "usps", "pcmac", "isolet_1560", "isolet5", "mnist", "a9a", "kddcup99_10percent", "colon"),
    plan,
    conclude,
)
