"""The data set: a table of features with labels and, optionally, groups of features and prices of acquisitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.case_costs import check_case_costs, has_names, mean_prices
from fsgym.data.checks import as_pandas, check_image_shape, check_names, check_table, columns_by_name, encode_labels
from fsgym.data.columns import Columns, check_columns
from fsgym.data.groups import resolve_groups
from fsgym.data.row_groups import check_splittable, encode_row_groups, split_by_groups, units_by_class
from fsgym.data.scaling import Scaling, stored_bounds, subtract_offsets
from fsgym.data.targets import Bins, OrderedCosts, as_bins, check_target_numbers, costs_of_order
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.support.checks import check_choice, check_prices
from fsgym.text.html import dataset_html
from fsgym.text.messages import counted, option_text

if TYPE_CHECKING:
    import pandas as pd

STRATA = 5  # of equal size, in which the numbers of a target are split; by hand


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """An immutable table of features and labels, with names, groups and prices.

    Arrays are copied and made read-only. ``copy`` and ``deepcopy`` return the same object, and two data sets are
    equal only if they are the same object.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers, stored as float32; ``load_dataset(frame, target=...)`` reads a DataFrame with text. NaN means that the
        value is not available for that row. Without ``columns``, a column of float64 that float32 does not resolve,
        such as a time in seconds, is stored less an offset, the middle of its range: ``data.X`` is then the value minus
        ``data.columns.offsets``. ``to_frame`` and ``to_array`` return the values themselves; of scaled data, the scaled
        ones.
    y : array-like of shape (n_samples,)
        Labels of any sortable type; stored as codes, int64, into ``classes``. With ``bins``, numbers.
    classes : array-like of shape (n_classes,), optional
        All labels in sorted order; by default those found in ``y``. Not with ``bins``.
    feature_names : sequence of n_features str, optional
        By default the columns of a DataFrame if they are texts, else ``x0, x1, ...``. A DataFrame with columns of these
        names is read by name, in any order; one with other names is read by position.
    groups : mapping name -> names, sequence of sequences of int, or array-like of shape (n_features,), optional
        The features that one acquisition reveals: names of columns or features by name of the group, as
        ``{"blood_count": ["wbc", "hgb"]}``, where a column that is not named is a group of its own; or lists of feature
        indices; or one group number per feature. Groups partition the features. By default every feature is an
        acquisition of its own.
    group_names : sequence of str, optional
        Names of the groups, in order, unless ``groups`` has them.
    costs : array-like of shape (n_acquisitions,) or mapping name -> price, optional
        Default price of each acquisition, in a unit of your choice; by default 1 each. A mapping names all of them.
    case_costs : array-like of shape (n_samples, n_acquisitions), DataFrame or mapping name -> prices, optional
        Prices of the case: each row has its own price for each acquisition, known before anything is acquired. A
        mapping or DataFrame names those whose prices differ, each with n_samples prices or one; all others have the
        price in ``costs``. ``costs`` is then the mean over the rows, which stands wherever an acquisition has a single
        price; beside an array, ``costs`` can be given.
    image_shape : (int, int), optional
        Height and width, where the features are the pixels of an image in row order.
    bounds : pair of arrays of shape (n_features,), optional
        Smallest and largest possible value of each feature; by default those of ``X``. Stored less the offsets, too.
    row_groups : array-like of shape (n_samples,), optional
        Rows with the same label stay on the same side of every split, such as the visits of one patient: ``groups`` of
        scikit-learn's ``GroupKFold``. Labels are any hashable values; stored as codes, int64, 0, 1, ... in the order of
        first appearance.
    name : str
        A short name for messages and reports.
    columns : Columns, optional
        The columns of the table that the features encode; by default each feature is a column of numbers.
    units : mapping name of a column -> unit, optional
        Such as ``{"crp": "mg/l"}``; shown beside values.
    ordered : sequence of n_classes labels, optional
        The classes are grades: their labels from one end to the other, such as ``["mild", "moderate", "severe"]``.
    ordered_costs : {"linear", "squared"}, default "linear"
        ``error_costs`` of grades: how many grades the answer is from the truth, or its square.
    bins : int, sequence of edges, or Bins, optional
        The target is a number: ``y`` has numbers, which are kept in ``numbers``, and the classes are bins of them, 0,
        1, ..., each with a number as its answer. So many bins of about equal size; bins between these edges; or
        ``Bins``, as ``Bins.of`` makes them.

    Raises
    ------
    ValueError, TypeError
        If shapes disagree, labels are missing, groups do not partition the features, ``ordered`` does not list each
        class once, or a number of the target is missing.

    Examples
    --------
    >>> from fsgym import Dataset
    >>> Dataset([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"], name="tiny")
    Dataset('tiny': 2 samples, 2 features, 2 classes)
    >>> data = Dataset([[0.0], [1.0], [2.0], [3.0]], [4.5, 5.0, 7.5, 8.0], bins=2, name="prices")
    >>> data, data.y.tolist(), data.bins.values.tolist()
    (Dataset('prices': 4 samples, 1 feature, numbers in 2 bins), [0, 0, 1, 1], [4.75, 7.75])
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
    row_groups: NDArray[np.int64] | None
    name: str
    columns: Columns
    case_costs: NDArray[np.float64] | None  # (n_samples, n_acquisitions)
    _largest_prices: ClassVar[NDArray[np.float64] | None] = None  # (n_acquisitions,) of the whole table, by case
    ordered: tuple[Any, ...] | None
    ordered_costs: OrderedCosts
    bins: Bins | None
    _numbers: ClassVar[NDArray[np.float64] | None] = None  # set for a numeric target
    _selected: ClassVar[SelectedRows | None] = None  # set by ``rows`` and ``scaled``

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        groups: Mapping[str, Sequence[str]] | Sequence[Sequence[int]] | ArrayLike | None = None,
        group_names: Sequence[str] | None = None,
        costs: ArrayLike | Mapping[str, float] | None = None,
        case_costs: Any = None,
        image_shape: tuple[int, int] | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        row_groups: ArrayLike | None = None,
        name: str = "data",
        columns: Columns | None = None,
        units: Mapping[str, str] | None = None,
        ordered: Sequence[Any] | None = None,
        ordered_costs: OrderedCosts = "linear",
        bins: int | ArrayLike | Bins | None = None,
    ) -> None:
        named = columns.feature_names if feature_names is None and columns is not None else feature_names
        X, y = as_pandas(X), as_pandas(y)
        X, named = columns_by_name(X, named)
        table = check_table(X)
        n_samples, n_features = table.shape
        offsets = np.zeros(n_features) if columns is not None else subtract_offsets(table, X)
        numbers = None
        if bins is not None:
            if ordered is not None:
                raise ValueError(
                    f"{option_text('ordered')} and {option_text('bins')} must not both be given: grades are "
                    "classes, and bins are of numbers"
                )
            if classes is not None:
                raise ValueError("classes and bins must not both be given: bins are the classes of a numeric target")
            numbers = check_target_numbers(y, n_samples)
            bins = as_bins(bins, numbers)
            y, classes = bins.codes(numbers), np.arange(bins.n_bins)
        codes, labels = encode_labels(y, n_samples, classes)
        names = check_names(named, n_features)
        columns = check_columns(columns, names, offsets).with_units(units)
        members = None
        if groups is not None:
            members, listed_names = resolve_groups(groups, columns)
            group_names = listed_names if group_names is None else group_names
        acquisitions = names
        if members is not None:
            acquisitions = check_names(group_names, len(members), "group_names", "group {}")
        elif group_names is not None:
            raise ValueError("group_names needs groups; give both or neither")
        low, high = stored_bounds(table, bounds, offsets)
        shape = None if image_shape is None else check_image_shape(image_shape, n_features)
        together = None if row_groups is None else encode_row_groups(row_groups, n_samples)
        for array in (table, codes, labels, low, high, together, numbers):
            if array is not None:
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
        put(self, "row_groups", together)
        put(self, "name", str(name))
        put(self, "columns", columns)
        if np.iterable(ordered) and not isinstance(ordered, str | bytes):
            ordered = tuple(ordered)  # type: ignore[arg-type]
        if ordered is not None:
            costs_of_order(ordered, labels.tolist(), ordered_costs)
        elif check_choice(ordered_costs, option_text("ordered_costs"), "linear", "squared") != "linear":
            raise ValueError(
                f"{option_text('ordered_costs', ordered_costs)} needs {option_text('ordered')}, the classes from "
                "one end to the other"
            )
        put(self, "ordered", ordered)
        put(self, "ordered_costs", ordered_costs)
        put(self, "bins", bins)
        put(self, "_numbers", numbers)
        prices = None if costs is None else check_prices(costs, acquisitions)
        of_cases = None if case_costs is None else check_case_costs(case_costs, n_samples, acquisitions, prices)
        if of_cases is not None and (prices is None or has_names(case_costs)):
            prices = mean_prices(of_cases)
        for array in (prices, of_cases):
            if array is not None:
                array.flags.writeable = False
        put(self, "costs", prices)
        put(self, "case_costs", of_cases)
        if of_cases is not None:
            put(self, "_largest_prices", of_cases.max(axis=0))

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
    def class_labels(self) -> list[Any]:
        """What to call each class: its label; of a numeric target the range of its bin, as "2.5 to 4"."""
        return self.classes.tolist() if self.bins is None else [str(label) for label in self.bins.ranges()]

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers of a numeric target, float64 (n_samples,); None for classes."""
        return self._numbers

    @property
    def error_costs(self) -> NDArray[np.float64] | None:
        """The error costs of grades or of a numeric target, float64 (n_classes, n_classes); None for other classes.

        ``Rules.for_dataset`` uses them unless others are given.
        """
        if self.bins is not None:
            return self.bins.error_costs
        return None if self.ordered is None else costs_of_order(self.ordered, self.classes.tolist(), self.ordered_costs)

    @property
    def target(self) -> NDArray:
        """What ``y`` of ``Dataset`` was, (n_samples,): the labels, or the numbers."""
        return self.classes[self.y] if self.numbers is None else self.numbers

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

    @cached_property
    def origin(self) -> RowOrigin:
        """Of which table these are which rows, and how they were scaled: as ``rows``, ``split`` and ``scaled`` did it.

        A data set whose values or labels were replaced is a table of its own.
        """
        return self._selected.origin if self._selected else RowOrigin(table_fingerprint(self), self._source.rows)

    @property
    def _source(self) -> SelectedRows:
        return self._selected or SelectedRows(self, np.arange(self.n_samples))

    def _with_origin(self, selected: SelectedRows | None) -> Dataset:
        """This new data set, of which ``selected`` says where its rows come from."""
        object.__setattr__(self, "_selected", selected)
        return self

    def resolve_groups(self, groups: Any) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
        """Groups as feature indices, and their names, from names of columns or positions of features, as in ``groups``.

        A group without a name has that of its column if it is the only one, otherwise "group" and its number.
        """
        own = {} if self.groups is None else dict(zip(self.acquisition_names, self.groups, strict=True))
        members, names = resolve_groups(groups, self.columns, own)
        if names is None:
            names = tuple(self._group_name(g, group) for g, group in enumerate(members))
            names = names if len(set(names)) == len(names) else tuple(f"group {g}" for g in range(len(members)))
        return members, names

    def with_groups(self, groups: Any) -> Dataset:
        """The data set with other groups, by names or positions as in ``groups``, and without prices.

        Examples
        --------
        >>> from fsgym import Dataset
        >>> data = Dataset([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0]], [0, 1], feature_names=["age", "wbc", "hgb"])
        >>> data.with_groups({"blood_count": ["wbc", "hgb"]}).acquisition_names
        ('age', 'blood_count')
        """
        members, names = self.resolve_groups(groups)
        return self.replace(groups=members, group_names=names)

    def _group_name(self, number: int, members: Sequence[int]) -> str:
        whole = [c.name for c, f in zip(self.columns, self.columns.features) if set(f) == set(members)]
        return whole[0] if whole else f"group {number}"

    def replace(self, **changes: Any) -> Dataset:
        """The data set with some of its parameters replaced.

        A parameter that depends on a replaced one is reset to its default, unless it is given too: ``bounds`` when
        ``X`` is replaced; ``group_names``, ``costs`` and ``case_costs`` when ``groups`` are (``groups=None`` makes each
        feature an acquisition of its own); ``case_costs`` when ``costs`` are, and ``costs`` to the means of new
        ``case_costs``; ``columns`` when ``feature_names`` are, and the other way round; ``ordered_costs`` when
        ``ordered`` is; ``classes`` when ``bins`` are given; ``row_groups`` and ``case_costs`` when ``X`` or ``y`` is
        replaced by one of another length. All others stay the same: a new ``X``
        keeps ``feature_names``, and a new ``y`` keeps ``classes``; pass ``classes=None`` if it has other labels.
        Acquisitions that a mapping of ``case_costs`` does not name keep their prices.

        Parameters
        ----------
        **changes
            As in ``Dataset``; ``y`` holds labels or numbers, not codes.

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
        priced = changes.get("case_costs")
        by_name = priced is not None and has_names(priced)
        if by_name:
            others = {name: value for name, value in changes.items() if name != "case_costs"}
            if others:  # which may give the acquisitions other names, or reset their prices
                return self.replace(**others).replace(case_costs=priced)
            if self.case_costs is not None:
                changes["case_costs"] = check_case_costs(
                    priced, self.n_samples, self.acquisition_names, self.case_costs
                )
        parameters = self._parameters()
        if "X" in changes:
            parameters["bounds"] = None
        if "groups" in changes:
            parameters |= {"group_names": None, "costs": None, "case_costs": None}
        if "feature_names" in changes:
            parameters["columns"] = None
            if "X" not in changes and self.columns.offsets.any():
                names = check_names(changes["feature_names"], self.n_features)
                parameters["columns"] = Columns.of_numbers(names, self.columns.offsets)
        if changes.get("columns") is not None:
            parameters["feature_names"] = None
        if "ordered" in changes:
            parameters["ordered_costs"] = "linear"
        if changes.get("bins") is not None:
            parameters["classes"] = None
        if any(_has_other_length(changes[k], self.n_samples) for k in ("X", "y") if k in changes):
            parameters |= {"row_groups": None, "case_costs": None}
        if "costs" in changes:
            parameters["case_costs"] = None
        elif priced is not None and not (by_name and self.case_costs is None):
            parameters["costs"] = None  # for the means of the new ones
        same_rows = self._selected if not {"X", "y", "classes"} & changes.keys() else None
        new = Dataset(**(parameters | changes))
        if "case_costs" not in changes and new.case_costs is not None:
            object.__setattr__(new, "_largest_prices", self._largest_prices)
        return new._with_origin(same_rows)

    def _parameters(self) -> dict[str, Any]:
        """The arguments that recreate this data set."""
        classes = self.classes if self.bins is None else None
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"y": self.target, "classes": classes}

    def to_frame(self) -> pd.DataFrame:
        """The table that the features encode: one column per column, with levels as text and None for missing ones."""
        return self.columns.decode(self.X)

    def with_values(self, X: NDArray[np.float32]) -> Dataset:
        """The same rows with some of their values, (n_samples, n_features), changed, such as hidden ones as NaN."""
        return self if X is self.X else self.replace(X=X, bounds=self.bounds)._with_origin(self._source)

    def to_array(self) -> NDArray[np.float32] | NDArray[np.float64]:
        """The values (n_samples, n_features), ``X`` plus the offsets of the columns; float64 if there are any."""
        return self.X + self.columns.offsets if self.columns.offsets.any() else self.X

    def rows(self, index: ArrayLike) -> Dataset:
        """The data set of some rows (indices or a bool mask); classes and bounds stay the same.

        With prices by case, ``costs`` are the means of these rows, unless they were given.

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
        groups = None if self.row_groups is None else self.row_groups[which]
        prices: dict[str, Any] = {}
        if self.case_costs is not None:
            prices["case_costs"] = self.case_costs[which]
            if self.costs is not None and not np.array_equal(self.costs, mean_prices(self.case_costs)):
                prices["costs"] = self.costs  # given beside them, and no means
        part = self.replace(X=table, y=self.target[which], bounds=self.bounds, row_groups=groups, **prices)
        if prices:
            object.__setattr__(part, "_largest_prices", self._largest_prices)
        return part._with_origin(self._source._replace(rows=self._source.rows[which]))

    def without_labels(self) -> Dataset:
        """The same rows, each with the first class, or number of the bins, in place of its label, and without origin.

        Examples
        --------
        >>> from fsgym import Dataset
        >>> Dataset([[0.0], [1.0], [2.0]], ["no", "yes", "yes"]).without_labels().target.tolist()
        ['no', 'no', 'no']
        """
        labels = self.classes if self.bins is None else self.bins.values
        return self.replace(y=labels[np.zeros(self.n_samples, np.int64)])

    def scaled(self, by: Scaling | Dataset | None = None) -> Dataset:
        """The data set with scaled features, each of which is a column of numbers without a unit.

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
        if isinstance(by, Dataset):  # whose X may be less other offsets
            scaling = scaling._replace(offset=scaling.offset + (by.columns.offsets - self.columns.offsets))
        low, high = (scaling.apply(b) for b in self.bounds)
        plain = Columns.of_numbers(self.feature_names)
        whole = scaling if self._source.scaling is None else self._source.scaling.then(scaling)
        scaled = self.replace(X=scaling.apply(self.X), bounds=(low, high), columns=plain)
        return scaled._with_origin(self._source._replace(scaling=whole))

    def before_scaling(self) -> Dataset | None:
        """These rows as they were before ``scaled``; None if they were not scaled, or their table is not in memory."""
        selected = self._source
        if selected.scaling is None or isinstance(selected.whole, str):
            return None
        return selected.whole.rows(selected.rows)

    def split(self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0) -> tuple[Dataset, Dataset]:
        """A random stratified split into two data sets of disjoint rows.

        With ``row_groups`` no group is on both sides. The shares of the rows and of the classes are then as close to
        ``train_share`` as whole groups allow, every class is in the training part, and the rows keep their order.
        With few groups, or one of most rows, several seeds may give the same split. A numeric target is stratified by
        five parts of its numbers, unless one of them has a single row, or rows in a single group. The parts have the
        bins of the training part (``Bins.of_other``).

        Raises ValueError where a class has a single row or one part would be too small; with ``row_groups``, where
        there is only one group or the rows of a class are all in one group.
        """
        train, test = (self.rows(index) for index in self.split_index(train_share, seed))
        if self.bins is None:
            return train, test
        train = train.with_own_bins()
        return train, test.replace(bins=train.bins)

    def with_own_bins(self) -> Dataset:
        """The data set with bins of its own rows, where these were selected from others; itself without bins."""
        if self.bins is None or self.numbers is None:
            return self
        return self.replace(bins=self.bins.of_other(self.numbers))

    def split_index(
        self, train_share: float = 0.7, seed: int | np.random.RandomState | None = 0
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The row numbers of the two parts of ``split``, int64 each; it raises the same errors."""
        y, classes = self.y, self.classes
        if self.numbers is not None:  # of which the split must not depend on the bins
            strata = Bins.of(self.numbers, STRATA)
            y, classes = strata.codes(self.numbers), np.arange(strata.n_bins)
            y = y if units_by_class(y, self.row_groups, len(classes)).min() > 1 else np.zeros_like(y)
        return stratified_split(y, self.row_groups, classes, self.name, train_share, seed)

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
            *([] if self.row_groups is None else [self.row_groups]),
            *([] if self.case_costs is None else [self.case_costs]),
            *([] if self.ordered is None else [list(map(str, self.ordered)), self.ordered_costs]),
            *([] if self.bins is None else [self.numbers, self.bins.to_json()]),
            *([self.columns.offsets] if self.columns.offsets.any() else []),
            *([] if self.columns.is_plain else [[c.name, len(f)] for c, f in zip(self.columns, self.columns.features)]),
        ]

    def __copy__(self) -> Dataset:
        return self

    def __deepcopy__(self, memo: dict) -> Dataset:
        return self

    def __reduce__(self):
        state: dict[str, Any] = {}
        if self._selected is not None:
            state["_selected"] = self._selected._replace(whole=self.origin.table)
        if self._largest_prices is not None:
            state["_largest_prices"] = self._largest_prices
        return partial(Dataset, **self._parameters()), (), state or None

    def __repr__(self) -> str:
        classes = f"{self.n_classes} classes" if self.bins is None else f"numbers in {self.n_classes} bins"
        sizes = f"{counted(self.n_samples, 'sample')}, {counted(self.n_features, 'feature')}"
        return f"Dataset({self.name!r}: {sizes}, {classes})"

    def _repr_html_(self) -> str:
        return dataset_html(self)


def _has_other_length(values: Any, n_samples: int) -> bool:
    """Whether the values are known to be for another number of rows."""
    try:
        return len(values) != n_samples
    except TypeError:
        return False


def stratified_split(
    y: NDArray[np.int64],
    row_groups: NDArray[np.int64] | None,
    classes: NDArray,
    name: str,
    train_share: float,
    seed: int | np.random.RandomState | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row numbers of the parts of a stratified random split, int64 each; errors as of ``Dataset.split``."""
    from sklearn.model_selection import train_test_split

    if not isinstance(train_share, Real):
        raise TypeError(f"{option_text('train_share')} must be a number, got {train_share!r}")
    if not 0.0 < train_share < 1.0:
        raise ValueError(f"{option_text('train_share')} must lie strictly between 0 and 1, got {train_share}")
    check_splittable(y, row_groups, classes, name)
    try:
        if row_groups is None:
            train, test = train_test_split(
                np.arange(len(y)), train_size=float(train_share), stratify=y, random_state=seed
            )
        else:
            train, test = split_by_groups(y, row_groups, float(train_share), seed)
    except ValueError as error:
        first = str(error).split(". ")[0]
        raise ValueError(
            f"{name!r} cannot be split with {option_text('train_share')} {train_share} and seed {seed}: {first}"
        ) from None
    return train, test


# Where the rows of a data set come from: of which table, which rows, and how the values are scaled.


class RowOrigin(NamedTuple):
    """The rows of a data set as rows of the whole table from which they were selected.

    Attributes
    ----------
    table : str, the fingerprint of the whole table with its labels, see ``table_fingerprint``
    rows : int64 (n_samples,), row numbers in that table
    scaling : Scaling, or None
        The map from the values of that table to those of the data set; None if they are the same.
    """

    table: str
    rows: NDArray[np.int64]
    scaling: Scaling | None = None

    def share_in(self, other: RowOrigin) -> float | None:
        """The share of these rows that are among those of ``other``; None if they are rows of different tables."""
        return float(np.isin(self.rows, other.rows).mean()) if self.table == other.table else None


class SelectedRows(NamedTuple):
    """A ``RowOrigin`` whose fingerprint is computed when it is needed: ``whole`` is the Dataset, or its fingerprint."""

    whole: Any
    rows: NDArray[np.int64]
    scaling: Scaling | None = None

    @property
    def origin(self) -> RowOrigin:
        whole = self.whole if isinstance(self.whole, str) else self.whole.origin.table
        return RowOrigin(whole, self.rows, self.scaling)


def row_before_scaling(dataset: Any, i: int) -> tuple[NDArray, Any]:
    """Row i of a Dataset, (n_features,), with the values of its table before ``Dataset.scaled``, and their Columns.

    Where the data set was not scaled, or its table is not in memory, these are its own values and columns.
    """
    values, unscaled = dataset.X[i], dataset.rows([i]).before_scaling()
    if unscaled is None:
        return values, dataset.columns
    return np.where(np.isnan(values), values, unscaled.X[0]), unscaled.columns  # hidden values are NaN


def table_fingerprint(dataset: Any) -> str:
    """64 hexadecimal digits that are equal for equal rows, features and labels of a Dataset in the same order."""
    if dataset.numbers is not None:  # whatever their bins
        return digest_of_form([array_form(dataset.to_array()), array_form(dataset.numbers), []])
    labels = [str(label) for label in dataset.classes]
    return digest_of_form([array_form(dataset.to_array()), array_form(dataset.y), labels])
