"""The grid of section 4 of Xie and Xu (2013), and the numbers of its Tables 1 to 5."""

from __future__ import annotations

from typing import NamedTuple

GAUSSIAN, UNIFORM = "gaussian", "uniform"
FS, FS_SPARSE = "FS", "FS (ratio < 0.9)"  # the paper's columns: the best selection, and the best with few sub-features
PRINTED_COLUMNS = ((GAUSSIAN, FS), (GAUSSIAN, FS_SPARSE), (UNIFORM, FS), (UNIFORM, FS_SPARSE))
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


class PrintedSetting(NamedTuple):
    """Accuracy in percent with its standard deviation, the setting it belongs to, and the size of the selection."""

    accuracy: float
    std: float
    w: float
    s: int
    fnum: float
    ratio: float
    lam1: float
    lam2: float


class PrintedAccuracy(NamedTuple):
    """Accuracy in percent without a selection; for raw data ``w`` is 0 and ``s`` is 1."""

    accuracy: float
    std: float
    w: float = 0.0
    s: int = 1


DATASET_SIZES = {  # Table 1: rows and features
    "Crx": (690, 15),
    "German": (1000, 20),
    "Heart": (270, 13),
    "Hepatitis": (155, 19),
    "Horse": (368, 22),
    "Iono": (351, 32),
    "Sonar": (208, 60),
    "WDBC": (569, 30),
    "WPBC": (198, 33),
}
PRINTED_RAW = {  # Table 2
    "Crx": PrintedAccuracy(84.91, 18.02),
    "German": PrintedAccuracy(74.70, 5.31),
    "Heart": PrintedAccuracy(86.67, 6.34),
    "Hepatitis": PrintedAccuracy(90.50, 6.58),
    "Horse": PrintedAccuracy(94.32, 3.87),
    "Iono": PrintedAccuracy(92.69, 5.85),
    "Sonar": PrintedAccuracy(82.64, 9.86),
    "WDBC": PrintedAccuracy(97.89, 1.81),
    "WPBC": PrintedAccuracy(83.42, 8.17),
}
PRINTED_UNCERTAIN = {  # Tables 2 and 4
    GAUSSIAN: {
        "Crx": PrintedAccuracy(85.93, 12.50, 0.01, 10),
        "German": PrintedAccuracy(75.80, 4.49, 0.10, 90),
        "Heart": PrintedAccuracy(86.30, 6.31, 0.10, 20),
        "Hepatitis": PrintedAccuracy(92.17, 5.33, 0.05, 20),
        "Horse": PrintedAccuracy(93.79, 4.70, 0.20, 60),
        "Iono": PrintedAccuracy(92.96, 6.00, 0.10, 10),
        "Sonar": PrintedAccuracy(86.07, 8.69, 0.20, 10),
        "WDBC": PrintedAccuracy(98.60, 1.38, 0.10, 30),
        "WPBC": PrintedAccuracy(81.42, 8.74, 0.20, 70),
    },
    UNIFORM: {
        "Crx": PrintedAccuracy(85.22, 14.27, 0.01, 60),
        "German": PrintedAccuracy(75.80, 3.68, 0.05, 90),
        "Heart": PrintedAccuracy(86.30, 6.54, 0.10, 30),
        "Hepatitis": PrintedAccuracy(92.17, 5.33, 0.05, 10),
        "Horse": PrintedAccuracy(94.04, 4.14, 0.10, 20),
        "Iono": PrintedAccuracy(92.69, 5.85, 0.10, 20),
        "Sonar": PrintedAccuracy(87.05, 8.50, 0.20, 50),
        "WDBC": PrintedAccuracy(98.25, 1.65, 0.10, 20),
        "WPBC": PrintedAccuracy(81.92, 8.47, 0.20, 100),
    },
}
PRINTED_SETTINGS = {  # Tables 2 and 3, Tables 4 and 5
    (GAUSSIAN, FS): {
        "Crx": PrintedSetting(86.07, 12.60, 0.01, 10, 15.0, 0.9960, 100.0, 0.1),
        "German": PrintedSetting(75.80, 4.49, 0.10, 90, 20.0, 1.0, 10.0, 10.0),
        "Heart": PrintedSetting(86.30, 6.31, 0.10, 20, 13.0, 1.0, 10.0, 10.0),
        "Hepatitis": PrintedSetting(94.17, 5.84, 0.01, 50, 17.9, 0.9287, 100.0, 0.0),
        "Horse": PrintedSetting(95.37, 3.90, 0.01, 10, 16.6, 0.7545, 0.0, 1e3),
        "Iono": PrintedSetting(92.96, 6.00, 0.10, 10, 32.0, 1.0, 10.0, 10.0),
        "Sonar": PrintedSetting(88.48, 7.62, 0.10, 10, 54.4, 0.7172, 100.0, 0.1),
        "WDBC": PrintedSetting(98.60, 1.38, 0.10, 30, 30.0, 1.0, 10.0, 10.0),
        "WPBC": PrintedSetting(81.92, 10.83, 0.20, 50, 33.0, 0.4291, 100.0, 0.0),
    },
    (GAUSSIAN, FS_SPARSE): {
        "Crx": PrintedSetting(84.62, 17.53, 0.20, 100, 8.9, 0.5750, 1e3, 0.0),
        "German": PrintedSetting(75.50, 4.77, 0.10, 100, 16.1, 0.6864, 1e3, 1e3),
        "Heart": PrintedSetting(84.07, 6.99, 0.05, 80, 5.3, 0.3943, 1e3, 1e3),
        "Hepatitis": PrintedSetting(92.83, 5.88, 0.01, 60, 17.0, 0.8947, 0.0, 1e3),
        "Horse": PrintedSetting(95.37, 3.90, 0.01, 10, 16.6, 0.7545, 0.0, 1e3),
        "Iono": PrintedSetting(92.67, 6.82, 0.20, 30, 27.7, 0.8756, 0.0, 1e3),
        "Sonar": PrintedSetting(88.00, 7.30, 0.05, 20, 51.0, 0.7396, 100.0, 0.1),
        "WDBC": PrintedSetting(98.07, 1.29, 0.01, 30, 24.8, 0.8267, 0.0, 1e3),
        "WPBC": PrintedSetting(79.79, 10.00, 0.20, 100, 18.3, 0.5545, 0.0, 1e3),
    },
    (UNIFORM, FS): {
        "Crx": PrintedSetting(85.22, 14.27, 0.01, 60, 15.0, 1.0, 10.0, 10.0),
        "German": PrintedSetting(75.80, 3.68, 0.05, 90, 20.0, 1.0, 0.1, 0.1),
        "Heart": PrintedSetting(86.67, 6.81, 0.10, 30, 13.0, 0.9974, 100.0, 0.0),
        "Hepatitis": PrintedSetting(93.50, 5.47, 0.01, 30, 17.9, 0.9346, 100.0, 0.01),
        "Horse": PrintedSetting(95.11, 3.33, 0.01, 50, 11.4, 0.4650, 1e3, 0.0),
        "Iono": PrintedSetting(92.96, 6.81, 0.20, 60, 30.6, 0.9562, 0.0, 1e3),
        "Sonar": PrintedSetting(87.55, 7.86, 0.01, 30, 47.1, 0.7297, 100.0, 0.1),
        "WDBC": PrintedSetting(98.42, 1.29, 0.01, 30, 30.0, 0.9771, 100.0, 0.1),
        "WPBC": PrintedSetting(81.92, 8.47, 0.20, 100, 33.0, 0.9997, 10.0, 10.0),
    },
    (UNIFORM, FS_SPARSE): {
        "Crx": PrintedSetting(84.91, 17.17, 0.20, 90, 8.9, 0.5787, 1e3, 0.0),
        "German": PrintedSetting(74.90, 4.63, 0.01, 50, 16.2, 0.7651, 1e3, 0.0),
        "Heart": PrintedSetting(83.70, 5.00, 0.05, 70, 7.2, 0.4284, 1e3, 0.0),
        "Hepatitis": PrintedSetting(92.83, 5.88, 0.05, 40, 16.7, 0.8789, 0.0, 1e3),
        "Horse": PrintedSetting(95.11, 3.33, 0.01, 50, 11.4, 0.4650, 1e3, 0.0),
        "Iono": PrintedSetting(92.65, 5.73, 0.05, 30, 26.6, 0.8312, 0.0, 1e3),
        "Sonar": PrintedSetting(87.55, 7.86, 0.01, 30, 47.1, 0.7297, 100.0, 0.1),
        "WDBC": PrintedSetting(98.25, 1.43, 0.01, 30, 24.3, 0.8100, 0.0, 1e3),
        "WPBC": PrintedSetting(80.34, 5.91, 0.10, 50, 28.2, 0.3946, 100.0, 0.0),
    },
}


def max_lasso_ratio(name: str, s: int, folds: int = 10) -> float:
    """The largest ratio of a LASSO solution (lam2 = 0), which selects at most as many sub-features as training rows.

    The draws are in general position, so its minimum is unique (Tibshirani, 2013, The lasso problem and
    uniqueness, lemmas 4 and 5).

    >>> max_lasso_ratio("Hepatitis", 50)
    0.14736842105263157
    """
    rows, features = DATASET_SIZES[name]
    return min(1.0, -(-rows * (folds - 1) // folds) / (features * s))
