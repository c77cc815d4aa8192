"""Splits of a data set: a training and a test part, and the training part divided once more for validation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsgym.data.dataset import Dataset
from fsgym.data.row_groups import split_by_groups
from fsgym.text.messages import option_text

VALIDATION_SHARE = 0.25  # of the training part; our choice


class SplitParts(NamedTuple):
    """One split: the training part, the two parts into which it is divided again, and the test part."""

    train: Dataset
    fit: Dataset
    validation: Dataset
    test: Dataset


def _parts(self: Split | OfficialSplit, dataset: Dataset) -> SplitParts:
    """The training part, its two parts, and the test part."""
    train, test = self.divide(dataset)
    return SplitParts(train, *inner_split(train, self.seed), test)


class Split(NamedTuple):
    """A stratified division into a training and a test part: at random, or with one of several folds as test part.

    Rows of one group (``dataset.row_groups``) are in the same part.

    Attributes
    ----------
    seed : int, of the random split, or of the order in which folds are drawn
    train_share : float, the share of the rows in the training part of a random split
    n_folds : int or None, the number of folds; None for a random split
    fold : int, the fold that is the test part
    """

    seed: int
    train_share: float = 0.5
    n_folds: int | None = None
    fold: int = 0

    @property
    def share(self) -> float:
        """The share of the rows in the training part."""
        return self.train_share if self.n_folds is None else 1.0 - 1.0 / self.n_folds

    def divide(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        """The training and the test part; ValueError as ``Dataset.split``, or with more folds than rows of a class."""
        if self.n_folds is None:
            train, test = dataset.split_index(self.train_share, self.seed)
            return dataset.rows(train), dataset.rows(test)
        from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

        kind = StratifiedKFold if dataset.row_groups is None else StratifiedGroupKFold
        folds = kind(self.n_folds, shuffle=True, random_state=self.seed)
        train, test = list(folds.split(dataset.X, dataset.y, dataset.row_groups))[self.fold]
        return dataset.rows(train), dataset.rows(test)

    parts = _parts


class OfficialSplit(NamedTuple):
    """The division that a data set comes with: all of its own rows are for training, and the test part is given."""

    test: Dataset

    seed = 0  # by which the training part is divided once more

    def divide(self, dataset: Dataset) -> tuple[Dataset, Dataset]:
        """The training and the test part."""
        return dataset, self.test

    parts = _parts


def random_splits(share: float, number: int, seed: int = 0) -> tuple[Split, ...]:
    """Random stratified splits with this share of the rows for training; split k has the seed ``seed + k``."""
    return tuple(Split(seed + k, share) for k in range(number))


def folds(number: int, repeats: int) -> tuple[Split, ...]:
    """Stratified folds, shuffled again for each repeat; repeat r has seed r."""
    return tuple(Split(r, n_folds=number, fold=f) for r in range(repeats) for f in range(number))


def inner_split(train: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """Divide a training part into the rows to fit on and the validation rows, stratified by class.

    The row of a class that has only one is in the first part. With ``row_groups`` no group is in both parts, and a
    class in only one group is in the first part; ValueError if all groups would be.
    """
    if train.row_groups is not None:
        fit, validation = split_by_groups(train.y, train.row_groups, 1.0 - VALIDATION_SHARE, seed)
        if not len(validation):
            raise ValueError(
                f"the training part of {train.name!r} has no group of rows that could be held out for validation "
                f"(each has the only rows of a class); use more groups, or a larger {option_text('train_share')}"
            )
        return train.rows(fit), train.rows(validation)
    counts = np.bincount(train.y, minlength=train.n_classes)
    rare = counts[train.y] < 2
    common, single = np.flatnonzero(~rare), np.flatnonzero(rare)
    from sklearn.model_selection import train_test_split

    try:
        fit, validation = train_test_split(
            common, train_size=1.0 - VALIDATION_SHARE, stratify=train.y[common], random_state=seed
        )
    except ValueError:
        raise ValueError(
            f"the training part of {train.name!r} has {train.n_samples} row(s) of {len(counts)} classes, too few to "
            f"hold some out for validation; use more rows, fewer classes, or a larger {option_text('train_share')}"
        ) from None
    return train.rows(np.concatenate([fit, single])), train.rows(validation)
