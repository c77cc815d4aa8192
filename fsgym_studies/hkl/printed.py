"""Accuracies in percent that Jawanpuria, Nath and Ramakrishnan (2015) print."""

from __future__ import annotations

NEWSGROUPS, LOWEST_PRINTED = "20 newsgroups", 84.88  # the lowest accuracy in Table 1 on it, of all methods

# Table 1, one column per data set: the disjunctions, and both SVMs on all features.
TABLE1_DATASETS: tuple[str, ...] = (
    "breast cancer",
    "Wisconsin",
    "hepatitis",
    "transfusion",
    "vote",
    "MONK-1",
    "MONK-2",
    "MONK-3",
    "tic-tac-toe",
    NEWSGROUPS,
)
PRINTED_DISJUNCTIONS: dict[str, float] = dict(
    zip(TABLE1_DATASETS, (75.36, 96.34, 91.25, 91.04, 96.28, 100.0, 85.15, 97.22, 100.0, 94.55))
)
PRINTED_L2_SVM: dict[str, float] = dict(
    zip(TABLE1_DATASETS, (71.01, 95.89, 87.50, 91.17, 94.40, 100.0, 87.93, 93.50, 99.58, 91.38))
)
PRINTED_L1_SVM: dict[str, float] = dict(
    zip(TABLE1_DATASETS, (70.65, 96.04, 86.25, 89.57, 93.10, 74.94, 61.25, 97.21, 98.32, 93.14))
)

# Table 1, its fifteen feature selections: accuracies with an L2-SVM, then with an L1-SVM, over TABLE1_DATASETS.
PRINTED_SELECTIONS = {
    "correlation, best first": (
        (74.64, 93.84, 95.0, 91.04, 96.28, 69.37, 63.34, 97.22, 80.88, 93.67),
        (70.65, 94.72, 93.75, 91.04, 96.28, 74.94, 59.63, 97.22, 73.88, 89.10),
    ),
    "correlation, greedy": (
        (74.64, 93.84, 95.0, 91.04, 96.28, 69.37, 63.34, 97.22, 80.88, 93.76),
        (67.75, 94.72, 93.75, 91.04, 96.28, 74.94, 59.63, 97.22, 73.88, 89.10),
    ),
    "correlation, linear forward": (
        (74.64, 93.84, 95.0, 91.04, 96.28, 69.37, 63.34, 97.22, 80.88, 92.09),
        (67.75, 94.72, 93.75, 91.04, 96.28, 74.94, 59.63, 97.22, 73.88, 89.98),
    ),
    "correlation, rank": (
        (74.64, 93.84, 94.15, 91.04, 96.28, 69.37, 63.34, 97.22, 80.88, 92.26),
        (70.65, 94.72, 93.75, 91.04, 96.28, 74.94, 59.63, 97.22, 73.88, 91.38),
    ),
    "correlation, subset size": (
        (74.64, 93.84, 94.15, 91.04, 96.28, 69.37, 63.34, 97.22, 80.88, 92.09),
        (70.65, 94.72, 93.75, 91.04, 96.28, 74.94, 59.63, 97.22, 73.88, 89.98),
    ),
    "consistency, best first": (
        (67.39, 95.31, 88.75, 92.37, 95.26, 100.0, 93.27, 93.03, 100.0, 89.98),
        (72.46, 95.89, 86.25, 90.78, 96.28, 83.29, 59.63, 97.22, 76.49, 92.97),
    ),
    "consistency, greedy": (
        (70.29, 95.75, 87.0, 91.18, 94.40, 100.0, 87.93, 93.5, 99.58, 89.98),
        (67.75, 95.01, 86.25, 71.92, 93.10, 74.94, 59.63, 97.22, 98.33, 92.97),
    ),
    "consistency, linear forward": (
        (70.65, 94.72, 88.75, 91.44, 97.41, 100.0, 93.27, 97.22, 99.68, 87.34),
        (71.01, 94.43, 87.5, 90.78, 95.69, 83.3, 59.63, 97.22, 75.44, 89.28),
    ),
    "consistency, rank": (
        (68.48, 94.57, 92.5, 91.57, 94.6, 100.0, 91.87, 93.27, 99.68, 93.67),
        (68.48, 92.08, 91.25, 89.84, 93.1, 74.94, 59.63, 97.22, 80.45, 91.91),
    ),
    "consistency, subset size": (
        (70.65, 94.72, 88.75, 91.04, 96.28, 83.3, 93.27, 97.22, 99.68, 87.34),
        (71.01, 94.43, 88.75, 91.04, 96.28, 66.59, 59.63, 97.22, 75.44, 89.28),
    ),
    "filtered, best first": (
        (77.54, 94.43, 91.25, 90.1, 96.28, 74.94, 62.41, 97.22, 70.01, 93.14),
        (70.29, 94.14, 91.25, 90.1, 96.28, 74.94, 59.63, 97.22, 70.01, 91.56),
    ),
    "filtered, greedy": (
        (77.54, 94.43, 91.25, 90.1, 96.28, 74.94, 62.41, 97.22, 70.01, 93.14),
        (70.29, 94.14, 91.25, 90.1, 96.28, 74.94, 59.63, 97.22, 70.01, 91.56),
    ),
    "filtered, linear forward": (
        (77.54, 94.43, 91.25, 90.1, 96.28, 74.94, 62.41, 97.22, 70.01, 90.51),
        (70.29, 94.14, 91.25, 90.1, 96.28, 74.94, 59.63, 97.22, 70.01, 87.34),
    ),
    "filtered, rank": (
        (77.14, 94.43, 88.75, 91.04, 96.28, 74.94, 62.41, 97.22, 70.01, 84.88),
        (70.29, 94.14, 92.50, 91.04, 96.28, 74.94, 59.63, 97.22, 70.01, 85.86),
    ),
    "filtered, subset size": (
        (77.89, 94.43, 91.25, 90.1, 96.28, 74.94, 62.41, 97.22, 70.01, 90.51),
        (70.29, 94.14, 91.25, 90.1, 96.28, 74.94, 59.63, 97.22, 70.01, 87.34),
    ),
}
# Table 2: how many of these selections are significantly worse, with an L2-SVM (at .05) and with an L1-SVM (at .01).
PRINTED_SIGNIFICANT = (10, 15)

# Tables 4 and 5: share of the features selected, and accuracy, of the disjunctions and of the best other method.
PRINTED_SHARES = {
    "colon": ((0.007, 88.71), "zero-norm SVM", (0.03125, 88.89)),
    "lymphoma": ((0.0065, 92.71), "zero-norm SVM", (0.0248, 94.07)),
    "ionosphere": ((0.6323, 88.6), "weighted SVM", (0.7333, 88.5)),
    "Wisconsin": ((0.7, 96.04), "weighted SVM", (1.0, 96.31)),
}
