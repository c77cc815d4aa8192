"""What a model file says about the data that `fsgym train` used, so that later commands need no options for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsgym.data.reading.reading import Reading, check_reading
from fsgym.datasets.loading import SPLIT_NAMES

if TYPE_CHECKING:
    from fsgym.data.dataset import Dataset

LISTS = ("drop", "category", "numeric")


class DataOrigin(NamedTuple):
    """The training data of a model: where they came from and how they were read.

    Attributes
    ----------
    source : str, the argument of `fsgym train`: a path or a name
    name : str, of the data set
    fingerprint : str, of the encoded table with its labels, see ``fsgym.data.origin.table_fingerprint``
    n_samples : int, rows of the whole table
    split : {"train", "test", "all"}, the part used for training
    target, drop, category, numeric, separator, decimal, row_groups
        As in ``load_dataset``.
    """

    source: str
    name: str
    fingerprint: str
    n_samples: int
    split: str
    target: str | None = None
    drop: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None
    row_groups: str | None = None

    @classmethod
    def of(cls, source: str, whole: Dataset, split: str, reading: Reading) -> DataOrigin:
        """That of a data set, of which ``split`` was used."""
        read = {field: getattr(reading, field) for field in Reading._fields if field in cls._fields}
        return cls(source, whole.name, whole.origin.table, whole.n_samples, split, **read)

    @property
    def reading(self) -> Reading:
        """How the table was read."""
        return Reading(**{field: getattr(self, field) for field in Reading._fields if field in self._fields})

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values by name."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in self._asdict().items()}

    @classmethod
    def from_json(cls, values: Any) -> DataOrigin:
        """The record from what ``to_json`` returned; ValueError if it is damaged."""
        fields = dict(values) if isinstance(values, dict) else {}
        for name in LISTS:
            listed = fields.get(name)
            if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
                raise ValueError(f"the description of its training data has no list {name!r} of names")
            fields[name] = tuple(listed)
        for name in cls._fields:
            optional = name in ("target", "separator", "decimal", "row_groups")
            kinds = int if name == "n_samples" else tuple if name in LISTS else str
            if name not in fields or not (isinstance(fields[name], kinds) or (optional and fields[name] is None)):
                raise ValueError(f"the description of its training data has no valid {name!r}")
        if fields["split"] not in SPLIT_NAMES or set(fields) != set(cls._fields):
            raise ValueError("the description of its training data is not valid")
        origin = cls(**fields)
        check_reading(origin.reading)
        return origin
