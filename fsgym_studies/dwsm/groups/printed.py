"""The numbers of Table 7."""

from __future__ import annotations

# Data set; method and lambda; sparsity; groups or features used; accuracy.
TABLE_7 = (
    ("Gisette", "DWSM, lambda 0", 0.255, "7.4 groups", 0.932),
    ("Gisette", "DWSM, lambda .005", 0.308, "6.9 groups", 0.937),
    ("Gisette", "DWSM, lambda .01", 0.310, "6.9 groups", 0.926),
    ("Gisette", "DWSM, lambda .1", 0.549, "4.5 groups", 0.898),
    ("Gisette", "LASSO", 0.98, "100 features", 0.962),
    ("Adult", "DWSM, lambda 0", 0.41, "8.75 groups", 0.82),
    ("Adult", "DWSM, lambda .005", 0.677, "4.83 groups", 0.79),
    ("Adult", "DWSM, lambda .01", 1.0, "0 groups", 0.76),
    ("Adult", "LASSO", 0.32, "95 features", 0.83),
)
