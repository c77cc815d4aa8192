"""What the six studies share: the reference, the data sets, splits, prices and methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsgym.dataset import Dataset
from fsgym_studies.common.plan import (
    CART,
    DWSM,
    L1_SVM,
    LARS,
    MethodSettings,
    Source,
    Sweep,
    price_settings,
    random_splits,
)
from fsgym_studies.common.printed import bibtex
from fsgym_studies.common.study import StudyCell

DWSM_REFERENCE = bibtex(__file__)
DWSM_PAPER = (
    "Dulac-Arnold et al. (2012), whose datum-wise sparse model (DWSM) is trained by rollouts classification policy "
    "iteration (RCPI)"
)
# Categories are columns of codes, as in the LIBSVM files that the paper used (Table 4).
CANCER, CANCER_ID = "breast cancer", "breast cancer with id"
BINARY_SETS = (
    Source("australian", "australian"),
    Source("breast_cancer_wisconsin_683", CANCER_ID),
    Source("pima_diabetes", "diabetes"),
    Source("heart_statlog", "heart"),
    Source("ionosphere", "ionosphere"),
    Source("liver_disorders", "liver disorders"),
    Source("sonar", "sonar"),
    Source("splice_libsvm", "splice", split="train"),
)
BINARY_TITLES = tuple(source.title for source in BINARY_SETS)
CANCER_WITHOUT_ID = Source("breast_cancer_wisconsin_683", CANCER, drop=("id",))
DWSM_PRICES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3)  # lambda: those of section 6.1, and .05
DWSM_SETTINGS = MethodSettings(DWSM, "rcpi", price_settings(DWSM_PRICES))
BASELINES = (MethodSettings(L1_SVM, "l1_svm"), MethodSettings(LARS, "lars"), MethodSettings(CART, "cart"))
# The L1 methods as their tools ship them: LIBLINEAR has no intercept by default, and with -B 1 a penalised one.
L1_SVM_B1, L1_SVM_WITHOUT, LARS_WITHOUT = "L1-SVM -B 1", "L1-SVM, no intercept", "LARS, no intercept"
INTERCEPT_ARMS = (
    MethodSettings(L1_SVM_B1, "l1_svm", preset={"intercept_scaling": 1.0}),
    MethodSettings(L1_SVM_WITHOUT, "l1_svm", preset={"fit_intercept": False}),
    MethodSettings(LARS_WITHOUT, "lars", preset={"fit_intercept": False}),
)
BINARY_METHODS = (DWSM, L1_SVM, LARS, CART)
BUDGET_MODEL = "DWSM, budget"
PLOTTED_METHODS = (*BINARY_METHODS, BUDGET_MODEL)  # the order fixes the colour of a method in all six studies
# Quick and full studies:
TRAIN_SHARES = {False: (0.2, 0.5), True: (0.1, 0.2, 0.5, 0.9)}  # of the rows
N_SPLITS = {False: 3, True: 30}


def cells_over_shares(data: Dataset, methods: Sequence[MethodSettings], full: bool) -> Iterator[StudyCell]:
    """All settings of the methods on random splits of a data set, at each share of training data."""
    for share in TRAIN_SHARES[full]:
        yield from Sweep(data, methods, random_splits(share, N_SPLITS[full])).cells()


def splits_text(full: bool) -> str:
    """The splits of ``cells_over_shares`` in words, for a protocol."""
    listed = ", ".join(f"{s:.0%}" for s in TRAIN_SHARES[full])
    return f"{N_SPLITS[full]} random stratified splits for each share of training data ({listed} of the rows)"
