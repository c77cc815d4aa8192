"""Groups of rows that stay together, such as the visits of one patient: their codes, grouped splits and folds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.text.messages import brief, option_text

N_DRAWS = 10  # random assignments tried while none is good enough; our choice
CLOSE_SHARE = 0.05  # deviation from the share of each class, up to which the first assignment is used; our choice
MIN_IMPROVEMENT = 1e-3  # of the imbalance, in rows: smaller ones are not worth a move; our choice


def encode_row_groups(labels: ArrayLike, n_samples: int, what: str = "row_groups") -> NDArray[np.int64]:
    """The group of each row as a code, int64 (n_samples,): 0, 1, ... in the order of first appearance.

    Labels are any hashable values; splits depend on which rows share a label, not on the labels themselves.

    Raises
    ------
    TypeError
        If the labels are not a list of hashable values.
    ValueError
        If there is not one label per row, or a label is missing.
    """
    import pandas as pd

    expected = f"{what} must be a list of {n_samples} labels, one per row of X"
    if isinstance(labels, str | bytes | Mapping) or not np.iterable(labels):
        raise TypeError(f"{expected}, got {brief(labels)}")
    given: Any = labels
    shape = getattr(given, "shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(f"{expected}, got shape {tuple(shape)}")
    values = pd.Series(given if hasattr(given, "dtype") else list(given))
    if len(values) != n_samples:
        raise ValueError(f"{expected}, got {len(values)}")
    try:
        codes, _ = pd.factorize(values)
    except TypeError:
        raise TypeError(f"{expected}, got labels that are not hashable, such as {brief(values.iloc[0])}") from None
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise ValueError(
            f"{what} must not hold missing labels, but row {missing[0]} has none; give such a row a label of its own"
        )
    return codes.astype(np.int64)


def check_splittable(y: NDArray[np.int64], groups: NDArray[np.int64] | None, classes: NDArray, name: str) -> None:
    """ValueError unless each class that has rows has two, or with groups, rows in two of them."""
    if groups is not None and groups.max() == 0:
        raise ValueError(f"all rows of {name!r} are in one group, but a split of row groups needs two")
    counts, unit = units_by_class(y, groups, len(classes)), "row" if groups is None else "group of rows"
    if (counts == 1).any():
        rare = classes[int(np.flatnonzero(counts == 1)[0])]
        number = (
            f"; if the target is a number, pass {option_text('bins', 16, '--numeric-target')}"
            if classes.dtype.kind == "f"
            else ""
        )
        raise ValueError(
            f"class {rare!s} of {name!r} has a single {unit}, but a stratified split needs two; "
            f"drop or merge that class{number}"
        )


def units_by_class(y: NDArray[np.int64], groups: NDArray[np.int64] | None, n_classes: int) -> NDArray[np.int64]:
    """The number of rows of each class, or with groups of the groups in which it has rows, int64 (n_classes,)."""
    units = y if groups is None else np.unique(np.column_stack([groups, y]), axis=0)[:, 1]
    return np.bincount(units, minlength=n_classes)


def shared_group(groups: NDArray[np.int64], train: NDArray | slice, test: NDArray | slice) -> int | None:
    """The code of a group with rows in both parts, or None."""
    shared = np.intersect1d(groups[train], groups[test])
    return int(shared[0]) if len(shared) else None


def split_by_groups(
    y: NDArray[np.int64], groups: NDArray[np.int64], train_share: float, seed: int | np.random.RandomState | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row numbers of a random training and test part that have no group in common, in ascending order.

    Among the groups with the same most frequent class, random ones are taken until they have the share of the rows.
    Then single groups change sides, the one first that improves the split most, until none does. A split is better if
    fewer classes lack rows in the training part; then, if fewer lack rows in the test part; then, if the number of rows
    of each class in the training part is closer to its share (sum over the classes of the squared difference, divided
    by the number of rows of the class). The first of ``N_DRAWS`` draws in which all classes have test rows and the
    shares deviate by less than ``CLOSE_SHARE`` is used, otherwise the best of them.

    Every class has rows in the training part. The test part is empty only if each group has the only rows of a class.

    Parameters
    ----------
    y, groups : int64 (n_samples,), codes; those of the groups 0, 1, ... without a gap
    train_share : float
    seed : int, RandomState or None, as in scikit-learn
    """
    from sklearn.utils import check_random_state

    rng = check_random_state(seed)
    counts = _class_counts(y, groups)
    total = counts.sum(axis=0)
    best: tuple[tuple[int, float], NDArray] | None = None
    for _ in range(N_DRAWS):
        order = rng.permutation(len(counts))
        in_train = np.empty(len(counts), bool)
        in_train[order] = _improve_split(counts[order], _first_groups(counts[order], train_share), train_share)
        n_train = counts[in_train].sum(axis=0)
        imbalance = float(((n_train - train_share * total) ** 2 / total).sum())
        quality = int((n_train == total).sum()), imbalance
        if best is None or quality < best[0]:
            best = quality, in_train
        if quality <= (0, CLOSE_SHARE**2 * len(y)):
            break
    assert best is not None
    rows = best[1][groups]
    return np.flatnonzero(rows), np.flatnonzero(~rows)


def _class_counts(y: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rows of each group and class, float64 (n_groups, n_classes), without classes that have no rows."""
    _, group = np.unique(groups, return_inverse=True)
    _, label = np.unique(y, return_inverse=True)
    counts = np.zeros((group.max() + 1, label.max() + 1))
    np.add.at(counts, (group, label), 1.0)
    return counts


def _first_groups(counts: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """The first groups of each most frequent class, up to the share of its rows, bool (n_groups,)."""
    sizes, commonest = counts.sum(axis=1), counts.argmax(axis=1)
    first = np.empty(len(counts), bool)
    for label in np.unique(commonest):
        members = commonest == label
        n_rows = sizes[members].cumsum()
        first[members] = n_rows - sizes[members] / 2 <= share * n_rows[-1]
    return first


def _improve_split(counts: NDArray[np.float64], in_train: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """The groups of the training part, bool (n_groups,), after the best moves of single groups."""
    in_train = in_train.copy()
    total = counts.sum(axis=0)
    scaled, target = counts / np.sqrt(total), share * np.sqrt(total)
    squares, present = (scaled**2).sum(axis=1), (counts > 0).astype(np.float64)
    absent_test = total.sum() + 1.0  # more than any imbalance
    absent_train = absent_test * (len(total) + 1.0)  # more than all classes absent in the test part
    difference = scaled[in_train].sum(axis=0) - target
    n_train, n_test = present[in_train].sum(axis=0), present[~in_train].sum(axis=0)
    while True:
        change = squares + np.where(in_train, -2.0, 2.0) * (scaled @ difference)
        if min(n_train.min(), n_test.min()) <= 1:  # some moves change which classes are absent
            to_test = absent_train * (present @ (n_train == 1)) - absent_test * (present @ (n_test == 0))
            to_train = absent_test * (present @ (n_test == 1)) - absent_train * (present @ (n_train == 0))
            change = change + np.where(in_train, to_test, to_train)
        move = int(np.argmin(change))
        if change[move] >= -MIN_IMPROVEMENT:
            return in_train
        in_train[move] = not in_train[move]
        sign = 1.0 if in_train[move] else -1.0
        difference += sign * scaled[move]
        n_train += sign * present[move]
        n_test -= sign * present[move]


def grouped_folds(
    y: NDArray[np.int64], groups: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """A fold for each row, int64 (n_samples,), the same for all rows of a group, stratified as well as possible.

    There are as many folds as groups, if these are fewer than ``n_folds``. Groups are assigned from the largest to the
    smallest, those of one size in random order, each to the fold with the fewest rows of its classes.
    """
    counts = _class_counts(y, groups)
    sizes = counts.sum(axis=1)
    weighted = np.column_stack([counts / np.sqrt(counts.sum(axis=0)), sizes / np.sqrt(len(y))])
    order = rng.permutation(len(counts))
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold_of_group = np.empty(len(counts), np.int64)
    filled = np.zeros((min(n_folds, len(counts)), weighted.shape[1]))
    for group in order:
        fold = int(np.argmin(filled @ weighted[group]))
        fold_of_group[group] = fold
        filled[fold] += weighted[group]
    return fold_of_group[np.unique(groups, return_inverse=True)[1]]
