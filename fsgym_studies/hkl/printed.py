"""Accuracies in percent that the paper on disjunctions prints."""

from __future__ import annotations

from fsgym_studies.common.study import printed_numbers
from fsgym_studies.hkl.cell import HKL, KERNEL_L2_SVM, LINEAR_L1_SVM, SUBSETS

_PRINTED = printed_numbers(__file__)
_BY_TABLE = dict(iter(_PRINTED.groupby("table")))
_BY_APPROACH = {
    approach: rows.set_index("dataset")["accuracy"].to_dict()
    for approach, rows in _BY_TABLE["1"].groupby(["selection", "classifier"], sort=False)
}

# Table 1: the disjunctions, both SVMs on all features, and after fifteen feature selections an L2-SVM and an L1-SVM.
TABLE1_DATASETS: tuple[str, ...] = tuple(_BY_TABLE["1"]["dataset"].unique())
PRINTED_DISJUNCTIONS: dict[str, float] = _BY_APPROACH.pop(("no selection", HKL))
PRINTED_OTHERS: dict[str, dict[str, float]] = {
    machine if selection == "all features" else f"{selection} + {machine}": accuracies
    for (selection, machine), accuracies in _BY_APPROACH.items()
}
NEWSGROUPS = TABLE1_DATASETS[-1]
LOWEST_PRINTED = _BY_TABLE["1"].groupby("dataset")["accuracy"].min()[NEWSGROUPS]  # of all methods
PRINTED_BEHIND = {  # by how many points the disjunctions are below the best approach of Table 1
    dataset: rows["accuracy"].max() - PRINTED_DISJUNCTIONS[dataset]
    for dataset, rows in _BY_TABLE["1"].groupby("dataset", sort=False)
}
# Table 2: how many of these selections are significantly worse, with an L2-SVM and with an L1-SVM, and at which level.
PRINTED_SIGNIFICANT = {KERNEL_L2_SVM: (10, 0.05), LINEAR_L1_SVM: (15, 0.01)}
NOT_SIGNIFICANT = "consistency, best-first + " + KERNEL_L2_SVM  # the only one of our selections so marked in Table 2

WEAKEST_LEVEL = 0.05
HKL_FOLDS = 4  # test parts of one shuffling, in the paper and in our study


def printed_level(other: str) -> float:
    """The level at which Table 2 calls the disjunctions better than an approach; the weakest where it names none."""
    selection, _, machine = other.partition(" + ")
    if other == LINEAR_L1_SVM:
        return 0.005
    return PRINTED_SIGNIFICANT[machine][1] if selection in SUBSETS else WEAKEST_LEVEL


# Tables 4 and 5: share of the features selected, and accuracy, of the disjunctions and of the best other method.
PRINTED_SHARES = {
    dataset: ((own.share, own.accuracy), other.classifier, (other.share, other.accuracy))
    for dataset, rows in _BY_TABLE["4 and 5"].groupby("dataset", sort=False)
    for own, other in [rows.itertuples()]
}
