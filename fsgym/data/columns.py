"""The columns of a user's table, and how they are encoded as the float32 features of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import MISSING_WORDS, UnmatchedCells, as_bools, as_numbers, level_codes, stripped
from fsgym.data.checks import check_names
from fsgym.data.written import (
    CENSORED,
    THOUSANDS,
    Remarks,
    Writing,
    other_decimal,
    read_written,
    refuse_other_decimal,
)
from fsgym.support.checks import check_choice
from fsgym.text.messages import brief, closest, counted, explain_unknown, listing, option_text, warn_caller
from fsgym.text.speech import with_unit

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "category", "codes", "bool"]
MissingColumns = Literal["error", "unavailable"]
MISSING_COLUMNS = get_args(MissingColumns)


class Column(NamedTuple):
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : str
        A "number" is one feature. A "category" is one 0/1 feature per level, or a single one, which is 1 at the second
        level, if there are two. "codes" is a category as one feature that holds the index of the level. A "bool" is one
        0/1 feature.
    levels : tuple of str
        The values of a category, in the order of its features or codes.
    unit : str
        The unit of a number, such as "mg/l"; "" if it is not known.
    odd_is_missing : bool
        Whether a cell of a column of numbers that is no number counts as missing; otherwise it is an error.
    offset : float
        Of a column of numbers: its feature is the number less the offset. 0, unless the numbers differ by so little
        that float32 would not keep them apart, as those of a time in seconds (see ``float32_offsets``).
    low, high, whole : float or None, float or None, bool
        Of a column of numbers in the rows of a training: its range, and whether all numbers are whole.
    decimal, thousands, censored : str
        Of a column of numbers: how they are written in the table, and typed by a person; see ``Writing``.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()
    unit: str = ""
    odd_is_missing: bool = False
    offset: float = 0.0
    low: float | None = None
    high: float | None = None
    whole: bool = False
    decimal: str = "."
    thousands: str = ""
    censored: str = ""

    @property
    def writing(self) -> Writing:
        """How numbers are written."""
        return Writing(self.decimal, self.thousands, self.censored)

    @property
    def is_written(self) -> bool:
        """Whether texts may be numbers that are not as 12 and 1e-3: with other signs, or with the unit."""
        return self.writing != Writing() or self.unit != ""

    @property
    def indicated(self) -> range:
        """The levels of a category that have a feature of their own."""
        return range(1, 2) if len(self.levels) == 2 else range(len(self.levels))

    @property
    def feature_names(self) -> list[str]:
        """Names of the features of this column; those of a category are such as ``ward=icu``."""
        if self.kind != "category" or not self.levels:
            return [self.name]
        return [f"{self.name}={self.levels[i]}" for i in self.indicated]

    def encode(self, cells: pd.Series, unseen: dict[str, UnmatchedCells]) -> NDArray[np.float32]:
        """The features of ``cells`` (n,), float32 (n, n_features of this column), NaN where the cell is missing.

        A level that the column does not have is missing, too; such cells are written to ``unseen``.
        """
        if self.kind == "number":
            if self.is_written and cells.dtype.kind not in "biufc":
                point = other_decimal((cell for cell in cells if isinstance(cell, str)), self.writing)
                if point is not None:
                    refuse_other_decimal(point, self.name)
                remarks = Remarks({}, {})
                read = read_written(cells, self.writing, is_number=True, remarks=remarks)
                cells = read if remarks.marks.get(self.name, self.unit) == self.unit else cells
            return as_numbers(cells, self.name, self.odd_is_missing, self.offset)[:, None]
        if self.kind == "bool":
            return as_bools(cells, self.name, self.odd_is_missing)[:, None]
        codes, unmatched = level_codes(cells, self.levels)
        if unmatched is not None:
            unseen[self.name] = unmatched
        if self.kind == "codes" or not self.levels:
            return codes[:, None]
        indicators = (codes[:, None] == np.array(list(self.indicated), np.float32)).astype(np.float32)
        indicators[np.isnan(codes)] = np.nan
        return indicators

    def text(self, values: NDArray) -> str:
        """The cell that has the features ``values`` (n_features of this column), with its unit, for a person.

        >>> Column("crp", unit="mg/l").text([12.5]), Column("ward", "category", ("er", "icu")).text([1.0])
        ('12.5 mg/l', 'icu')
        """
        cell = self.cells(np.asarray(values, dtype=np.float64)[None])[0]
        if cell is None or cell != cell:
            return "missing"
        text = self.number_text(values[0]) if isinstance(cell, float) else str(cell)
        return with_unit(text, self.unit)

    def number_text(self, feature: float, digits: int = 6) -> str:
        """The number of a column of numbers that has this feature: ``digits`` digits, or all where it has an offset."""
        return f"{self.shortest(feature):.15g}" if self.offset else f"{feature:.{digits}g}"

    def shortest(self, feature: float) -> float:
        """The number of a column of numbers that has this feature, with no more digits than float32 keeps of it.

        >>> Column("mg").shortest(np.float32(4.78)), Column("s", offset=1.7e9).shortest(np.float32(-12.4))
        (4.78, 1699999987.6)
        """
        if not self.offset or not np.isfinite(feature):  # without limit, or missing
            return float(str(np.float32(feature)))
        digits = int(np.floor(-np.log10(np.spacing(np.abs(np.float32(feature))))))
        return float(f"{round(float(feature) + self.offset, min(digits, 300)):.15g}")

    def cells(self, features: NDArray[np.float64]) -> NDArray:
        """The cells that have these features (n, n_features of this column): float64, or bools and levels as objects.

        A missing number is NaN, any other missing cell None.
        """
        first = features[:, 0]
        if self.kind == "number" or (self.kind != "bool" and not self.levels):
            return first + self.offset if self.offset else first.copy()
        missing = np.isnan(features).any(axis=1)
        if self.kind == "bool":
            known = np.array([False, True, None], dtype=object)
            codes = np.where(missing, 2, first != 0)
        else:
            known = np.array([*self.levels, None], dtype=object)
            n = len(self.levels)
            if self.kind == "codes" or n == 2:
                codes = np.where(missing, n, first)
            else:
                codes = np.where(missing | ~features.any(axis=1), n, features.argmax(axis=1))
            codes = np.where((codes < 0) | (codes > n), n, np.round(codes))
        return known[codes.astype(np.int64)]


class Columns(Sequence[Column]):
    """The columns of a table in their order, and the encoding of tables that have them.

    Parameters
    ----------
    columns : sequence of Column
        With distinct names.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = Columns([Column("age"), Column("ward", "category", ("er", "gp", "icu"))])
    >>> columns.feature_names
    ('age', 'ward=er', 'ward=gp', 'ward=icu')
    >>> columns.encode(pd.DataFrame({"ward": ["icu", None], "age": [61, 40], "other": [1, 2]})).tolist()
    [[61.0, 0.0, 0.0, 1.0], [40.0, nan, nan, nan]]
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)
        check_names([c.name for c in self._columns], len(self._columns), "the columns")
        names = [c.feature_names for c in self._columns]
        ends = [0, *accumulate(map(len, names))]
        if ends[-1] > len(names):  # a level may have the name of another column, as ward=icu
            check_names([name for listed in names for name in listed], ends[-1], "feature_names")
        self.features = tuple(range(first, last) for first, last in pairwise(ends))  # of each column
        self.n_features = ends[-1]

    @classmethod
    def of_numbers(cls, names: Sequence[str], offsets: NDArray[np.float64] | None = None) -> Columns:
        """Columns of numbers, each of which is a feature; ``offsets`` (n_columns,) are 0 by default."""
        if offsets is None:
            offsets = np.zeros(len(names))
        return cls([Column(name, offset=float(v)) for name, v in zip(names, offsets, strict=True)])

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: Any) -> Any:
        return self._columns[index]

    def __iter__(self) -> Iterator[Column]:
        return iter(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(self._columns)

    def __repr__(self) -> str:
        kinds = (counted(len(c.levels), "level") if c.levels else c.kind for c in self._columns)
        return f"Columns({listing(map(': '.join, zip(self.names, kinds)), 6)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(c.name for c in self._columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, in the order of ``encode``."""
        return tuple(name for c in self._columns for name in c.feature_names)

    @property
    def decimal(self) -> str:
        """The decimal sign of the numbers in the table."""
        return next((c.decimal for c in self._columns if c.kind == "number"), ".")

    def encodes_like(self, other: Columns) -> bool:
        """Whether both encode a table as the same features in the same order and with the same offsets."""
        return self._encoding == other._encoding

    @cached_property
    def _encoding(self) -> list[Column]:
        kept = ("name", "kind", "levels", "offset")
        return [Column(**{field: getattr(c, field) for field in kept}) for c in self._columns]

    @property
    def is_plain(self) -> bool:
        """Whether every column is one feature."""
        return self.n_features == len(self._columns)

    @cached_property
    def column_of(self) -> NDArray[np.int64]:
        """The column of each feature, int64 (n_features,)."""
        return np.repeat(np.arange(len(self)), [len(f) for f in self.features])

    @cached_property
    def offsets(self) -> NDArray[np.float64]:
        """What was subtracted from each feature, float64 (n_features,); 0 but for columns of numbers."""
        return np.array([c.offset for c in self._columns], dtype=np.float64)[self.column_of]

    def of_features(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The columns, bool (n, n_columns), of which a feature is in ``wanted``, bool (n, n_features)."""
        if self.is_plain:
            return wanted
        return np.logical_or.reduceat(wanted, [f.start for f in self.features], axis=1)

    def with_units(self, units: Mapping[str, str] | None) -> Columns:
        """These columns with units by name, such as ``{"crp": "mg/l"}``; ValueError for an unknown name."""
        if units is None:
            return self
        if not isinstance(units, Mapping) or not all(isinstance(v, str) for v in units.values()):
            raise TypeError(
                f"{option_text('units')} must map names of columns to texts, as {{'crp': 'mg/l'}}, got {brief(units)}"
            )
        for name in units:
            if name not in self.names:
                raise ValueError(f"{option_text('units')}: " + explain_unknown("column", name, self.names))
        return Columns([c._replace(unit=units.get(c.name, c.unit)) for c in self._columns])

    def with_writing(self, writing: Writing, marks: Mapping[str, str]) -> Columns:
        """These columns, those of numbers as they are written, and ``marks`` by name as units: per cent, currencies."""
        number = writing._asdict()
        read = [c._replace(unit=marks.get(c.name, c.unit), **number) if c.kind == "number" else c for c in self]
        return Columns(read)

    def with_ranges(self, X: NDArray[np.float32]) -> Columns:
        """These columns with the ranges of their features ``X`` (n_samples, n_features); none where all are missing."""
        ranged = []
        for column, places in zip(self._columns, self.features, strict=True):
            low, high, whole, x = None, None, False, X[:, places.start]
            x = x[~np.isnan(x)]
            if column.kind == "number" and len(x):
                low, high = column.shortest(x.min()), column.shortest(x.max())
                whole = not ((x.astype(np.float64) + column.offset) % 1).any()
            ranged.append(column._replace(low=low, high=high, whole=whole))
        return Columns(ranged)

    def with_offsets(self, offsets: NDArray[np.float64]) -> Columns:
        """These columns with other offsets, float64 (n_features,), of which the first one of each column counts."""
        firsts = [offsets[places.start] for places in self.features]
        return Columns([c._replace(offset=float(v)) for c, v in zip(self._columns, firsts, strict=True)])

    def encode(self, table: pd.DataFrame, missing_columns: MissingColumns = "error") -> NDArray[np.float32]:
        """The features of a table with these columns in any order, float32 (n_samples, n_features).

        Other columns of the table are ignored. A cell whose level the column does not have becomes NaN, with one
        warning for all such cells of a column; so does a cell that is no number, where ``odd_is_missing``.

        Parameters
        ----------
        table : DataFrame of shape (n_samples, at least n_columns)
        missing_columns : {"error", "unavailable"}
            Whether a column that the table lacks is an error, or is missing in every row.

        Raises
        ------
        ValueError, TypeError
            If a column is absent, there are two of a name, or a cell is not of its column's kind.
        """
        absent_columns(self, table, "the table", missing_columns)
        repeated = table.columns[table.columns.duplicated()]
        for name in self.names:
            if name in repeated:
                raise ValueError(f"the table has two columns {name!r}; rename or remove one")
        features = np.full((len(table), self.n_features), np.nan, np.float32)
        unseen: dict[str, UnmatchedCells] = {}
        for column, places in zip(self._columns, self.features, strict=True):
            if column.name in table.columns:
                features[:, places.start : places.stop] = column.encode(table[column.name], unseen)
        self._warn_of_odd_cells(table, features)
        for column in self._columns:
            if column.name in unseen:
                warn_caller(unseen[column.name].sentence(column.name, column.levels))
        return features

    def _warn_of_odd_cells(self, table: pd.DataFrame, features: NDArray[np.float32]) -> None:
        """A warning with the number of cells that count as missing since they are no numbers."""
        found = []
        for column, places in zip(self._columns, self.features, strict=True):
            if column.odd_is_missing and column.name in table.columns:
                cells = table[column.name]
                odd = np.isnan(features[:, places.start]) & cells.notna().to_numpy()
                odd &= ~cells.map(stripped).isin(MISSING_WORDS).to_numpy()
                if odd.any():
                    found.append(f"{odd.sum():,} of {column.name!r}, such as {brief(cells[odd].iloc[0])}")
        if found:
            warn_caller(f"cells that are no number count as missing: {'; '.join(found)}")

    def decode(self, features: NDArray[np.float32]) -> pd.DataFrame:
        """The table that has the features (n_samples, n_features), as ``encode`` makes them."""
        import pandas as pd

        wide = np.asarray(features, dtype=np.float64)
        cells = {}
        for column, places in zip(self._columns, self.features, strict=True):
            cells[column.name] = column.cells(wide[:, places.start : places.stop])
        return pd.DataFrame(cells, columns=list(self.names))

    def to_json(self) -> list[dict[str, Any]]:
        """The columns as plain JSON values, without defaults."""
        return [
            {k: v for k, v in column._asdict().items() if k == "name" or v != Column._field_defaults[k]}
            for column in self._columns
        ]

    @classmethod
    def from_json(cls, values: Any) -> Columns:
        """The columns from what ``to_json`` returned; ValueError if it is damaged."""
        if not isinstance(values, list):
            raise ValueError("the columns must be a list")
        return cls([_column_from_json(value) for value in values])


def absent_columns(columns: Columns, table: pd.DataFrame, what: str, missing_columns: str) -> list[str]:
    """The names of the columns that a table lacks.

    ValueError where it lacks all of them, and, unless ``missing_columns`` is "unavailable", where it lacks any.
    """
    check_choice(missing_columns, option_text("missing_columns"), *MISSING_COLUMNS)
    absent = [name for name in columns.names if name not in table.columns]
    if absent and missing_columns == "error":
        renamed = renaming_text(absent, [str(name) for name in table.columns if name not in columns.names])
        raise ValueError(
            f"{what} must have the column{'s' * (len(absent) > 1)} {listing(map(repr, absent), 5)}, got "
            f"{listing(table.columns, 5)}; {f'{renamed}; otherwise ' if renamed else ''}add what is missing, or pass "
            f"{option_text('missing_columns', 'unavailable')}"
        )
    if absent and len(absent) == len(columns):
        raise ValueError(
            f"{what} must have at least one of the columns {listing(columns.names, 5)}, got {listing(table.columns, 5)}"
        )
    return absent


def renaming_text(absent: Sequence[str], others: Sequence[str]) -> str:
    """Which columns may be those that a table lacks, by their names; "" if none may.

    >>> renaming_text(["age", "crp", "ward"], ["Ward name", "Age", "pid"])
    "rename 'Age' to 'age', 'Ward name' to 'ward' if they are the same"
    """
    partners, left = dict[str, str](), list(others)
    of_case = {other.casefold(): other for other in left}
    for find in (lambda name: of_case.get(name.casefold()), lambda name: closest(name, left)):
        for name in absent:
            if name not in partners and (close := find(name)) is not None and close in left:
                partners[name] = close
                left.remove(close)
    pairs = [f"{partners[name]!r} to {name!r}" for name in absent if name in partners]
    return f"rename {listing(pairs, len(pairs))} if they are the same" if pairs else ""


def check_columns(
    columns: Columns | None, feature_names: tuple[str, ...], offsets: NDArray[np.float64] | None = None
) -> Columns:
    """The columns of the features; ValueError where they have other names."""
    if columns is None:
        return Columns.of_numbers(feature_names, offsets)
    if not isinstance(columns, Columns):
        raise TypeError(f"columns must be a fsgym.data.columns.Columns, got {type(columns).__name__}")
    if columns.feature_names != feature_names:
        wrong = next((n for n in feature_names if n not in columns.feature_names), len(feature_names))
        raise ValueError(
            f"columns must have the {len(feature_names)} features of X in their order, got {columns.n_features} "
            f"(first difference: {wrong!r})"
        )
    return columns


def _column_from_json(value: Any) -> Column:
    if not isinstance(value, dict) or not set(value) <= set(Column._fields):
        raise ValueError(f"a column must be an object with the fields {', '.join(Column._fields)}")
    levels = value.get("levels", [])
    texts = [value.get("name"), value.get("unit", ""), *(levels if isinstance(levels, list | tuple) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("the name, the unit and the levels of a column must be text")
    if value.get("kind", "number") not in get_args(Kind):
        raise ValueError(f"the kind of a column must be one of {', '.join(get_args(Kind))}")
    if not all(isinstance(value.get(flag, False), bool) for flag in ("odd_is_missing", "whole")):
        raise ValueError("whole and odd_is_missing of a column must be true or false")
    if len(set(levels)) != len(levels):
        raise ValueError("the levels of a column must be distinct")
    if levels and value.get("kind") not in ("category", "codes"):
        raise ValueError("only a category can have levels")
    offset = value.get("offset", 0.0)
    if (
        type(offset) not in (int, float)
        or not np.isfinite(offset)
        or (offset and value.get("kind", "number") != "number")
    ):
        raise ValueError("the offset of a column must be a finite number, and 0 unless it is a column of numbers")
    bounds = [value.get("low"), value.get("high")]
    if any(v is not None and (type(v) not in (int, float) or not np.isfinite(v)) for v in bounds):
        raise ValueError("the range of a column must be two finite numbers")
    read = Writing(*(value.get(field, default) for field, default in Writing._field_defaults.items()))
    if read.decimal not in (".", ",") or read.thousands not in ("", *THOUSANDS) or read.censored not in ("", *CENSORED):
        raise ValueError("decimal, thousands and censored of a column must say how numbers are written")
    low, high = bounds
    if (low is None) != (high is None) or (low is not None and high is not None and low > high):
        raise ValueError("the range of a column must have a lower and an upper end in this order")
    fields: dict[str, Any] = value | {"levels": tuple(levels)}
    return Column(**fields)
