"""A table of data in which every acquisition may carry a price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from operator import index as as_index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Scaling(NamedTuple):
    """The affine map that takes each feature's range to [-1, 1]; a constant feature goes to 0.

    ``offset`` and ``scale`` are float64 of shape (n_features,); values become ``(x - offset) * scale``.
    """

    offset: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, X: NDArray) -> Scaling:
        """Learn the map from the rows of ``X`` (n_samples, n_features); NaN is ignored."""
        X = np.asarray(X, dtype=np.float64)
        known = ~np.isnan(X)
        low = np.where(known, X, np.inf).min(axis=0, initial=np.inf)
        high = np.where(known, X, -np.inf).max(axis=0, initial=-np.inf)
        low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
        width = high - low
        scale = np.divide(2.0, width, out=np.zeros_like(width), where=width > 0)
        return cls((low + high) / 2.0, scale)

    def apply(self, X: NDArray) -> NDArray[np.float32]:
        """Scaled values, float32; values outside the range that was learnt are not clipped."""
        with np.errstate(over="ignore"):
            return ((np.asarray(X, dtype=np.float64) - self.offset) * self.scale).astype(np.float32)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """An immutable table: features, labels, and what there is to know about both.

    Arrays are copied once and read-only from then on; copies of a data set are the data set itself,
    and two data sets are equal when they are the same object.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Values, kept as float32. NaN means that the value cannot be had for that datum.
    y : array-like of shape (n_samples,)
        Labels of any sortable kind; kept as codes, int64, into ``classes``.
    classes : array-like of shape (n_classes,), optional
        All labels in sorted order; by default those found in ``y``.
    feature_names : sequence of n_features str, optional
        By default ``x0, x1, ...``.
    groups : sequence of sequences of int, or array-like of shape (n_features,), optional
        The features that one acquisition reveals, as lists of column indices or one group number a column.
        Groups partition the features. By default every feature is an acquisition of its own.
    group_names : sequence of str, optional
        Names of the groups, in order.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, optional
        Default price of each acquisition, in a unit of the user's choice; by default one each.
    image_shape : (int, int), optional
        Height and width, where the features are the pixels of an image in row order.
    bounds : pair of arrays of shape (n_features,), optional
        Smallest and largest value that can be met; by default those of ``X``.
    name : str
        A short name for messages and reports.

    Raises
    ------
    ValueError, TypeError
        In one sentence, when shapes disagree, labels are missing, or groups do not partition the features.

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
        table = _table(X)
        n_samples, n_features = table.shape
        codes, labels = _labels(y, n_samples, classes)
        names = _names(feature_names, n_features)
        members = None if groups is None else partition(groups, n_features)
        acquisitions = names
        if members is not None:
            acquisitions = _names(group_names, len(members), "group_names", "group {}")
        elif group_names is not None:
            raise ValueError("group_names needs groups; give both or neither")
        low, high = _bounds(table, bounds)
        shape = None if image_shape is None else _image(image_shape, n_features)
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
            prices = price_list(costs, acquisitions)
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

    @property
    def acquisition_names(self) -> tuple[str, ...]:
        """What one pays for: the groups' names, or the features' where there are no groups."""
        return self.feature_names if self.group_names is None else self.group_names

    def _with(self, X: ArrayLike, y: ArrayLike, bounds) -> Dataset:
        return Dataset(
            X,
            self.classes[np.asarray(y)],
            classes=self.classes,
            feature_names=self.feature_names,
            groups=self.groups,
            group_names=self.group_names,
            costs=self.costs,
            image_shape=self.image_shape,
            bounds=bounds,
            name=self.name,
        )

    def rows(self, index: ArrayLike) -> Dataset:
        """The data set of some rows (indices or a bool mask); classes and bounds stay those of the whole.

        Raises ValueError where the index does not name rows of this data set.
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
        return self._with(table, self.y[which], self.bounds)

    def scaled(self, by: Scaling | Dataset | None = None) -> Dataset:
        """The data set with every feature mapped to [-1, 1] over the rows of ``by`` (default: its own).

        Raises ValueError when ``by`` has another number of features.
        """
        if by is not None and not isinstance(by, Scaling | Dataset):
            raise TypeError(f"by must be a Scaling or a Dataset, got {type(by).__name__}")
        scaling = by if isinstance(by, Scaling) else Scaling.fit((by or self).X)
        if np.shape(scaling.offset) != (self.n_features,):
            raise ValueError(
                f"the scaling must be of {self.n_features} features, got one of {np.shape(scaling.offset)}"
            )
        low, high = (scaling.apply(b) for b in self.bounds)
        return self._with(scaling.apply(self.X), self.y, (low, high))

    def split(
        self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0
    ) -> tuple[Dataset, Dataset]:
        """Two data sets of disjoint rows, drawn at random with the share of each class kept.

        Raises ValueError where a class has a single row or the share leaves a part too small.
        """
        from sklearn.model_selection import train_test_split

        if not isinstance(train_share, Real):
            raise TypeError(f"train_share must be a number, got {train_share!r}")
        if not 0.0 < train_share < 1.0:
            raise ValueError(f"train_share must lie strictly between 0 and 1, got {train_share}")
        counts = np.bincount(self.y, minlength=self.n_classes)
        if (counts == 1).any():
            rare = self.classes[int(np.flatnonzero(counts == 1)[0])]
            raise ValueError(
                f"class {rare!s} of {self.name!r} has a single row, a stratified split needs two; "
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
        return self.rows(train), self.rows(test)

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: dict) -> Dataset:
        return self

    def __reduce__(self):
        return _rebuild, (
            self.X, self.classes[self.y], self.classes, self.feature_names, self.groups, self.group_names,
            self.costs, self.image_shape, self.bounds, self.name,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"Dataset({self.name!r}: {self.n_samples} samples, {self.n_features} features, "
            f"{self.n_classes} classes)"
        )


def _rebuild(X, y, classes, feature_names, groups, group_names, costs, image_shape, bounds, name) -> Dataset:
    return Dataset(
        X, y, classes=classes, feature_names=feature_names, groups=groups, group_names=group_names,
        costs=costs, image_shape=image_shape, bounds=bounds, name=name,
    )  # fmt: skip


def _table(X: ArrayLike) -> NDArray[np.float32]:
    try:
        wide = X if isinstance(X, np.ndarray) else np.asarray(X)
        if wide.dtype.kind not in "buifO":
            raise TypeError
        with np.errstate(over="ignore"):
            table = np.array(wide, dtype=np.float32, order="C")
    except (TypeError, ValueError):
        raise TypeError(
            "X must be a table of numbers; encode text columns first (load_dataset does)"
        ) from None
    except OverflowError:
        table = np.full((1, 1), np.inf, dtype=np.float32)
    if table.ndim != 2:
        raise ValueError(f"X must have shape (n_samples, n_features), got {table.shape}")
    if 0 in table.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError(
            "X must be finite in float32; NaN marks a value that cannot be had, infinity is no value"
        )
    return table


def _bounds(table: NDArray[np.float32], bounds) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Smallest and largest value of each column, or those that were given."""
    if bounds is None:
        known = ~np.isnan(table)
        low = np.where(known, table, np.inf).min(axis=0).astype(np.float32)
        high = np.where(known, table, -np.inf).max(axis=0).astype(np.float32)
        empty = ~known.any(axis=0)
        low[empty], high[empty] = 0.0, 0.0
        return low, high
    try:
        low, high = (np.array(b, dtype=np.float32) for b in bounds)
    except (TypeError, ValueError, OverflowError):
        raise TypeError("bounds must be two arrays of numbers, the smallest and the largest values") from None
    n = table.shape[1]
    if low.shape != (n,) or high.shape != (n,):
        raise ValueError(f"bounds must be two arrays of shape ({n},), got {low.shape} and {high.shape}")
    if not (np.isfinite(low) & np.isfinite(high) & (low <= high)).all():
        raise ValueError("bounds must be finite, and the smallest value not above the largest")
    return low, high


def _image(image_shape, n_features: int) -> tuple[int, int]:
    try:
        height, width = (as_index(v) for v in image_shape)
    except (TypeError, ValueError):
        raise TypeError(f"image_shape must be two integers, height and width, got {image_shape!r}") from None
    if height < 1 or width < 1 or height * width != n_features:
        raise ValueError(f"image_shape {(height, width)} must hold {n_features} pixels, one a feature")
    return height, width


def _missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor unequal to itself
        return True


def _labels(y: ArrayLike, n_samples: int, classes: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray]:
    try:
        values = np.asarray(y)
        labels = None if classes is None else np.array(classes)
    except ValueError:
        raise TypeError("y and classes must be plain lists of labels, all numbers or all text") from None
    if values.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},), one label a row of X, got {values.shape}")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("y must not hold NaN or infinity; drop the rows without a label")
    if values.dtype.kind in "OMm" and any(_missing(v) for v in values):
        raise ValueError("y must not hold missing labels; drop the rows without a label")
    try:
        found = np.unique(values)
        labels = found if labels is None else labels
        if labels.ndim != 1 or len(np.unique(labels)) != len(labels) or (np.sort(labels) != labels).any():
            raise ValueError("classes must be a sorted list of distinct labels")
        if len(labels) < 2:
            raise ValueError(f"y must hold at least two classes, got only {labels.tolist()}")
        codes = np.searchsorted(labels, values).clip(max=len(labels) - 1)
        strange = np.asarray(labels[codes] != values)
    except TypeError:
        raise TypeError("labels must be of one kind that can be sorted: all numbers or all text") from None
    if strange.any():
        stranger = values[np.flatnonzero(strange)[0]]
        raise ValueError(f"y holds the label {stranger!s}, which is not among the classes {labels.tolist()}")
    return codes.astype(np.int64), labels.copy()


def _names(
    names: Sequence[str] | None, n: int, what: str = "feature_names", default: str = "x{}"
) -> tuple[str, ...]:
    if names is None:
        return tuple(default.format(i) for i in range(n))
    if isinstance(names, str | bytes) or not np.iterable(names):
        raise TypeError(f"{what} must be a sequence of {n} names, got {names!r}")
    names = tuple(str(v) for v in names)
    if len(names) != n:
        raise ValueError(f"{what} must name {n}, got {len(names)} names")
    if len(set(names)) != n:
        twice = next(a for a, b in pairwise(sorted(names)) if a == b)
        raise ValueError(f"{what} must be distinct, got {twice!r} twice")
    return names


def partition(groups: Sequence[Sequence[int]] | ArrayLike, n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups as tuples of feature indices, from lists of indices or from one group number per feature.

    Raises ValueError unless every feature is in exactly one group and no group is empty.
    """
    kind = "groups must be lists of feature indices, or one group number per feature"
    if isinstance(groups, str | bytes | Mapping) or not np.iterable(groups):
        raise TypeError(f"{kind}, got {groups!r}")
    listed: list[Any] = list(groups)  # type: ignore[arg-type]
    try:
        if listed and all(not np.iterable(g) for g in listed):
            result = _numbered([as_index(g) for g in listed], n_features)
        else:
            result = tuple(tuple(as_index(i) for i in g) for g in listed)
    except TypeError:
        raise TypeError(kind) from None
    for g, members in enumerate(result):
        if not members:
            raise ValueError(f"group {g} is empty; every group must hold at least one feature")
    flat = sorted(i for members in result for i in members)
    if any(not 0 <= i < n_features for i in flat):
        stranger = next(i for i in flat if not 0 <= i < n_features)
        raise ValueError(f"groups name feature {stranger}, but the features are 0 to {n_features - 1}")
    repeated = [a for a, b in pairwise(flat) if a == b]
    if repeated:
        raise ValueError(f"groups must not overlap, but feature {repeated[0]} is in more than one")
    if len(flat) != n_features:
        lost = sorted(set(range(n_features)) - set(flat))[0]
        raise ValueError(f"groups must cover every feature, but feature {lost} is in none")
    return result


def _numbered(numbers: list[int], n_features: int) -> tuple[tuple[int, ...], ...]:
    """Groups from one group number per feature."""
    if len(numbers) != n_features:
        raise ValueError(
            f"groups must give one group number for each of the {n_features} features, got {len(numbers)}"
        )
    if min(numbers) < 0 or max(numbers) >= n_features:
        raise ValueError(
            f"group numbers must be 0, 1, 2, ... without a gap, got {min(numbers)} to {max(numbers)} "
            f"for {n_features} features"
        )
    members: list[list[int]] = [[] for _ in range(max(numbers) + 1)]
    for feature, group in enumerate(numbers):
        members[group].append(feature)
    return tuple(tuple(m) for m in members)


def price_list(
    costs: ArrayLike | Mapping[str, float], names: Sequence[str], what: str = "costs"
) -> NDArray[np.float64]:
    """Prices of shape (n_acquisitions,), float64, from an array, a scalar or a mapping name -> price.

    Raises ValueError for a wrong shape, an unknown or unnamed acquisition, a NaN, infinite or negative price.
    """
    if isinstance(costs, Mapping):
        unknown = [k for k in costs if k not in names]
        if unknown:
            known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise ValueError(f"{what} names {unknown[0]!r}, which is not an acquisition; they are {known}")
        missing = [k for k in names if costs.get(k) is None]
        if missing:
            raise ValueError(f"{what} gives no price for {missing[0]!r}; every acquisition needs one")
        costs = [costs[k] for k in names]  # type: ignore[index]
    try:
        if np.asarray(costs).dtype.kind not in "buifO":
            raise TypeError
        prices = np.array(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be numbers, one for each of the {len(names)} acquisitions") from None
    if prices.ndim == 0:
        prices = np.full(len(names), float(prices))
    if prices.shape != (len(names),):
        raise ValueError(f"{what} must have shape ({len(names)},), got {prices.shape}")
    if not np.isfinite(prices).all():
        raise ValueError(f"{what} must be finite, got {prices[~np.isfinite(prices)][0]}")
    if prices.min() < 0:
        raise ValueError(f"{what} must not be negative, got {prices.min()}")
    return prices
