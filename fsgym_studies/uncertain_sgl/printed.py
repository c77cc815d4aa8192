"""The grid of section 4 of Xie and Xu (2013), and the numbers of its Tables 1 to 5."""

from __future__ import annotations

from itertools import product
from typing import Any

from fsgym_studies.common.study import printed_numbers

# Kinds of noise, and the paper's columns: the best selection, and the best with few sub-features
PRINTED_COLUMNS = tuple(product(("gaussian", "uniform"), ("FS", "FS (ratio < 0.9)")))
AMPLITUDES = (0.01, 0.05, 0.1, 0.2)  # w, as a share of a feature's range
DRAWS_PER_VALUE = tuple(range(10, 101, 10))  # s, draws per value
# lambda1 and lambda2
PENALTY_PAIRS = (
    (1e3, 1e3),
    (10.0, 10.0),
    (0.1, 0.1),
    (1e3, 0.0),
    (0.0, 1e3),
    (100.0, 0.0),
    (0.0, 100.0),
    (100.0, 0.1),
    (100.0, 10.0),
    (10.0, 100.0),
    (1.0, 0.001),
    (100.0, 0.01),
)

# Table 1: rows and features of each data set
DATASET_SIZES = {r.dataset: (r.rows, r.features) for r in printed_numbers(__file__, "table_1").itertuples()}
PRINTED_ROWS = printed_numbers(__file__)
# Tables 2 to 5: the rows of each noise ("raw" for none) and column, by data set: accuracy in percent with its standard
# deviation (std), its setting, and the size of the selection. Without a selection, there are neither size nor penalties
# (NaN); for raw data w is 0 and s is 1.
PRINTED: dict[tuple[str, str], dict[str, Any]] = {
    (noise, column): {row.dataset: row for row in rows.itertuples(index=False)}
    for (noise, column), rows in PRINTED_ROWS.groupby(["noise", "column"])
}
PRINTED_RAW = PRINTED["raw", "all sub-features"]


def max_lasso_ratio(name: str, s: int, folds: int = 10) -> float:
    """The largest ratio of a LASSO solution (lam2 = 0), which selects at most as many sub-features as training rows.

    The draws are in general position, so its minimum is unique (Tibshirani, 2013, The lasso problem and
    uniqueness, lemmas 4 and 5).

    >>> max_lasso_ratio("Hepatitis", 50)
    0.14736842105263157
    """
    rows, features = DATASET_SIZES[name]
    return min(1.0, -(-rows * (folds - 1) // folds) / (features * s))
