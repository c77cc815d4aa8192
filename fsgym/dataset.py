"""The data set: a table of features with labels and, optionally, groups of features and prices of acquisitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.checks import (
    check_bounds,
    check_groups,
    check_image_shape,
    check_names,
    check_prices,
    check_table,
    encode_labels,
)


class Scaling(NamedTuple):
    """An affine map of each feature: to the range [-1, 1] (``fit``), or to mean 0 and deviation 1 (``standard``).

    A constant feature becomes 0. ``offset`` and ``scale`` are float64 of shape (n_features,); values become
    ``(x - offset) * scale``.
    """

    offset: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: NDArray) -> Scaling:
        """The map of each column's range in ``X`` (n_samples, n_features) to [-1, 1]; NaN is ignored."""
        X = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(X)
        low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
        low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
        width = high - low
        scale = np.divide(2.0, width, out=np.zeros_like(width), where=width > 0)
        return cls((low + high) / 2.0, scale)

    @classmethod
    def standard(cls, X: NDArray) -> Scaling:
        """The map of each column of ``X`` (n_samples, n_features) to z-scores; NaN is ignored."""
        X = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, X, 0.0).sum(axis=0) / count
        deviation = np.sqrt(np.where(known, (X - mean) ** 2, 0.0).sum(axis=0) / count)
        varies = deviation > 1e-12 * np.abs(mean)  # the deviation of a constant is a rounding error, not 0
        return cls(mean, np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies))

    def apply(self, X: NDArray) -> NDArray[np.float32]:
        """Scaled values, float32; values outside the fitted range are not clipped."""
        with np.errstate(over="ignore"):
            return ((np.asarray(X, dtype=np.float64) - self.offset) * self.scale).astype(np.float32)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """An immutable table of features and labels, with names, groups and prices.

    Arrays are copied and made read-only. ``copy`` and ``deepcopy`` return the same object, and two data sets are
    equal only if they are the same object.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Values, stored as float32. NaN means that the value is not available for that row.
    y : array-like of shape (n_samples,)
        Labels of any sortable type; stored as codes, int64, into ``classes``.
    classes : array-like of shape (n_classes,), optional
        All labels in sorted order; by default those found in ``y``.
    feature_names : sequence of n_features str, optional
        By default ``x0, x1, ...``.
    groups : sequence of sequences of int, or array-like of shape (n_features,), optional
        The features that one acquisition reveals, as lists of column indices or as one group number per column.
        Groups partition the features. By default every feature is an acquisition of its own.
    group_names : sequence of str, optional
        Names of the groups, in order.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, optional
        Default price of each acquisition, in a unit of your choice; by default 1 each.
    image_shape : (int, int), optional
        Height and width, where the features are the pixels of an image in row order.
    bounds : pair of arrays of shape (n_features,), optional
        Smallest and largest possible value of each feature; by default those of ``X``.
    name : str
        A short name for messages and reports.

    Raises
    ------
    ValueError, TypeError
        If shapes disagree, labels are missing, or groups do not partition the features.

    Examples
    --------
    >>> from fsgym import Dataset
    >>> Dataset([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], name="tiny")
    Dataset('tiny': 2 samples, 2 features, 2 classes)
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    classes: NDArray
    feature_names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...] | None
    group_names: tuple[str, ...] | None
    costs: NDArray[np.float64] | None
    image_shape: tuple[int, int] | None
    bounds: tuple[NDArray[np.float32], NDArray[np.float32]]
    name: str

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        groups: Sequence[Sequence[int]] | ArrayLike | None = None,
        group_names: Sequence[str] | None = None,
        costs: ArrayLike | Mapping[str, float] | None = None,
        image_shape: tuple[int, int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        name: str = "data",
    ) -> None:
        table = check_table(X)
        n_samples, n_features = table.shape
        codes, labels = encode_labels(y, n_samples, classes)
        names = check_names(feature_names, n_features)
        members = None if groups is None else check_groups(groups, n_features)
        acquisitions = names
        if members is not None:
            acquisitions = check_names(group_names, len(members), "group_names", "group {}")
        elif group_names is not None:
            raise ValueError("group_names needs groups; give both or neither")
        low, high = check_bounds(table, bounds)
        shape = None if image_shape is None else check_image_shape(image_shape, n_features)
        for array in (table, codes, labels, low, high):
            array.flags.writeable = False
        put = object.__setattr__
        put(self, "X", table)
        put(self, "y", codes)
        put(self, "classes", labels)
        put(self, "feature_names", names)
        put(self, "groups", members)
        put(self, "group_names", acquisitions if members is not None else None)
        put(self, "image_shape", shape)
        put(self, "bounds", (low, high))
        put(self, "name", str(name))
        put(self, "costs", None)
        if costs is not None:
            prices = check_prices(costs, acquisitions)
            prices.flags.writeable = False
            put(self, "costs", prices)

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def incomplete(self) -> NDArray[np.bool_]:
        """Which rows have a missing value, bool (n_samples,)."""
        rows: NDArray[np.bool_] = np.any(np.isnan(self.X), axis=1)
        rows.flags.writeable = False
        return rows

    @property
    def acquisition_names(self) -> tuple[str, ...]:
        """Names of the acquisitions: of the groups, or of the features where there are no groups."""
        return self.feature_names if self.group_names is None else self.group_names

    def replace(self, **changes: Any) -> Dataset:
        """The data set with some of its parameters replaced.

        A parameter that depends on a replaced one is reset to its default, unless it is given too: ``bounds`` when
        ``X`` is replaced; ``group_names`` and ``costs`` when ``groups`` are (``groups=None`` makes each feature an
        acquisition of its own). All others stay the same: a new ``X`` keeps ``feature_names``, and a new ``y`` keeps
        ``classes``; pass ``classes=None`` if it has other labels.

        Parameters
        ----------
        **changes
            As in ``Dataset``; ``y`` holds labels, not codes.

        Raises
        ------
        ValueError, TypeError
            As in ``Dataset``.

        Examples
        --------
        >>> from fsgym import Dataset
        >>> data = Dataset([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], costs=[1, 5], name="tiny")
        >>> data.replace(name="small").costs.tolist(), data.replace(groups=[[0, 1]]).costs
        ([1.0, 5.0], None)
        """
        parameters = self._parameters()
        if "X" in changes:
            parameters["bounds"] = None
        if "groups" in changes:
            parameters |= {"group_names": None, "costs": None}
        return Dataset(**(parameters | changes))

    def _parameters(self) -> dict[str, Any]:
        """The arguments that recreate this data set."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"y": self.classes[self.y]}

    def rows(self, index: ArrayLike) -> Dataset:
        """The data set of some rows (indices or a bool mask); classes and bounds stay the same.

        Raises ValueError where the index is out of range or of another shape.
        """
        try:
            which = np.asarray(index)
            table = self.X[which]
        except (IndexError, TypeError, ValueError):
            raise ValueError(
                f"index must hold row numbers from 0 to {self.n_samples - 1}, or be a bool mask of "
                f"{self.n_samples} entries"
            ) from None
        if which.ndim != 1:
            raise ValueError(f"index must be one-dimensional, got shape {which.shape}")
        return self.replace(X=table, y=self.classes[self.y[which]], bounds=self.bounds)

    def scaled(self, by: Scaling | Dataset | None = None) -> Dataset:
        """The data set with scaled features.

        ``by`` is a ``Scaling``, or a data set whose range of each feature is mapped to [-1, 1]; by default this data
        set. Raises ValueError when ``by`` has another number of features.
        """
        if by is not None and not isinstance(by, Scaling | Dataset):
            raise TypeError(f"by must be a Scaling or a Dataset, got {type(by).__name__}")
        scaling = by if isinstance(by, Scaling) else Scaling.fit((by or self).X)
        if np.shape(scaling.offset) != (self.n_features,):
            raise ValueError(
                f"the scaling must have {self.n_features} features, got offset of shape {np.shape(scaling.offset)}"
            )
        low, high = (scaling.apply(b) for b in self.bounds)
        return self.replace(X=scaling.apply(self.X), bounds=(low, high))

    def split(self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0) -> tuple[Dataset, Dataset]:
        """A random stratified split into two data sets of disjoint rows.

        Raises ValueError where a class has a single row or one part would be too small.
        """
        train, test = self.split_index(train_share, seed)
        return self.rows(train), self.rows(test)

    def split_index(
        self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The row numbers of the two parts of ``split``, int64 each; it raises the same errors."""
        from sklearn.model_selection import train_test_split

        if not isinstance(train_share, Real):
            raise TypeError(f"train_share must be a number, got {train_share!r}")
        if not 0.0 < train_share < 1.0:
            raise ValueError(f"train_share must lie strictly between 0 and 1, got {train_share}")
        counts = np.bincount(self.y, minlength=self.n_classes)
        if (counts == 1).any():
            rare = self.classes[int(np.flatnonzero(counts == 1)[0])]
            raise ValueError(
                f"class {rare!s} of {self.name!r} has a single row, but a stratified split needs two; "
                "drop or merge that class"
            )
        try:
            train, test = train_test_split(
                np.arange(self.n_samples), train_size=float(train_share), stratify=self.y, random_state=seed
            )
        except ValueError as error:
            first = str(error).split(". ")[0]
            raise ValueError(
                f"{self.name!r} cannot be split with train_share {train_share} and seed {seed}: {first}"
            ) from None
        return train, test

    def fingerprint_parts(self) -> list[object]:
        """All that identifies the data set, for ``fsgym.runner.fingerprint``."""
        return [
            self.X,
            self.y,
            self.classes,
            self.feature_names,
            self.groups,
            self.group_names,
            self.costs,
            self.image_shape,
            self.bounds,
            self.name,
        ]

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: dict) -> Dataset:
        return self

    def __reduce__(self):
        return partial(Dataset, **self._parameters()), ()

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {self.n_samples} samples, {self.n_features} features, {self.n_classes} classes)"
