"""What the declarations of the six studies share: the paper, its data sets, splits, prices and methods."""

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
from fsgym_studies.common.study import StudyCell

REFERENCE = """\
@article{dulacarnold2012sequential,
  author  = {Dulac-Arnold, Gabriel and Denoyer, Ludovic and Preux, Philippe and Gallinari, Patrick},
  title   = {Sequential approaches for learning datum-wise sparse representations},
  journal = {Machine Learning},
  volume  = {89},
  pages   = {87--122},
  year    = {2012},
  doi     = {10.1007/s10994-012-5306-7}
}
"""
# Categories are columns of codes, as in the LIBSVM files that the paper used (Table 4).
CANCER, CANCER_ID = "breast cancer", "breast cancer with id"
BINARY = (
    Source("australian", "australian"),
    Source("breast_cancer_wisconsin_683", CANCER_ID),
    Source("pima_diabetes", "diabetes"),
    Source("heart_statlog", "heart"),
    Source("ionosphere", "ionosphere"),
    Source("liver_disorders", "liver disorders"),
    Source("sonar", "sonar"),
    Source("splice_libsvm", "splice", split="train"),
)
EIGHT = tuple(source.title for source in BINARY)
WITHOUT_ID = Source("breast_cancer_wisconsin_683", CANCER, drop=("id",))
PRICES = (0.0, 0.001, 0.01, 0.05, 0.1, 0.15, 0.2, 0.3)  # section 6.1, and .05
OTHERS = (MethodSettings(L1_SVM, "l1_svm"), MethodSettings(LARS, "lars"), MethodSettings(CART, "cart"))
METHODS = (DWSM, L1_SVM, LARS, CART)
BUDGET = "DWSM, budget"
SHARES = {False: (0.2, 0.5), True: (0.1, 0.2, 0.5, 0.9)}  # of the rows, for training
SPLITS = {False: 3, True: 30}
DRAWN = (*METHODS, BUDGET)  # in this order, so that a method has the same colour in every study
BASE = MethodSettings(DWSM, "rcpi", price_settings(PRICES))


def over_shares(data: Dataset, arms: Sequence[MethodSettings], full: bool) -> Iterator[StudyCell]:
    """Every arm over random splits of a data set, at each share of training data."""
    for share in SHARES[full]:
        yield from Sweep(data, arms, random_splits(share, SPLITS[full])).cells()


def splits_text(full: bool) -> str:
    """The splits of ``over_shares``, as a protocol has them."""
    listed = ", ".join(f"{s:.0%}" for s in SHARES[full])
    return f"{SPLITS[full]} random stratified splits with {listed} of the rows for training"
