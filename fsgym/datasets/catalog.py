"""The list of available data sets, without loading them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsgym.data.reading.files import image_in, read_headers
from fsgym.data.reading.reading import TEXT_SUFFIXES
from fsgym.data.reading.tables import count_columns
from fsgym.datasets.folder import EMBEDDED, find_folder, is_official_split, read_manifest
from fsgym.datasets.generators import GENERATORS, n_generated_rows
from fsgym.datasets.openml import OPENML

if TYPE_CHECKING:
    import pandas as pd


def list_datasets(data_dir: str | os.PathLike | None = None) -> pd.DataFrame:
    """List all data sets that ``load_dataset`` knows by name, one row each, in the order of lookup.

    No data set is loaded: the rows come from the manifest of the local folder and from built-in tables.

    Parameters
    ----------
    data_dir : path, optional
        The local folder; by default that of the environment variable ``FSGYM_DATA``.

    Returns
    -------
    DataFrame
        Columns ``name``, ``source`` (embedded, folder, generated, openml), ``n_samples``, ``n_features`` (before
        one-hot encoding), ``n_classes``, ``categorical`` (number of categorical columns), ``groups`` (0: each feature
        is an acquisition of its own), ``missing`` (number of missing values), ``official_split`` (bool), ``image``
        (such as 28x28); <NA> if it is unknown without loading the data set.

    Raises
    ------
    OSError, ValueError
        If the folder does not exist or its manifest is damaged.

    Examples
    --------
    >>> from fsgym.datasets import list_datasets
    >>> table = list_datasets().set_index("name")
    >>> print(*table.loc["digits", ["source", "n_samples", "n_features", "image"]])
    embedded 1797 64 8x8
    """
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}
    for name, shape in EMBEDDED.items():
        image = "" if shape.image_shape is None else "{}x{}".format(*shape.image_shape)
        rows[name] = _catalog_row(name, "embedded", *shape[:3], 0, 0, 0, False, image)
    folder = find_folder(data_dir)
    if folder is not None:
        for name, record in sorted(read_manifest(folder).items()):
            rows.setdefault(name, _folder_row(name, record, folder))
    for name, generator in GENERATORS.items():
        n_rows, n_train = n_generated_rows(generator)
        sizes = n_rows, generator.n_features, generator.n_classes
        row = _catalog_row(name, "generated", *sizes, 0, generator.n_groups, 0, n_train is not None, "")
        rows.setdefault(name, row)
    for name, entry in OPENML.items():
        image = "" if entry.image_shape is None else "{}x{}".format(*entry.image_shape)
        sizes = entry.n_samples, entry.n_features, len(entry.class_sizes)
        rows.setdefault(name, _catalog_row(name, "openml", *sizes, pd.NA, pd.NA, pd.NA, False, image))
    table = pd.DataFrame(list(rows.values()))
    counts = ["n_samples", "n_features", "n_classes", "categorical", "groups", "missing"]
    return table.astype(dict.fromkeys(counts, "Int64"))


CATALOG_COLUMNS = (
    "name",
    "source",
    "n_samples",
    "n_features",
    "n_classes",
    "categorical",
    "groups",
    "missing",
    "official_split",
    "image",
)


def _catalog_row(*values: Any) -> dict[str, Any]:
    return dict(zip(CATALOG_COLUMNS, values, strict=True))


def _folder_row(name: str, record: dict, folder: Path) -> dict:
    import pandas as pd

    path = folder / str(record["files"][0]["file"])
    categorical, groups = pd.NA, pd.NA
    n_features = _n_feature_columns(path) if record.get("plain") else record.get("n_features", pd.NA)
    if "categorical_columns" in record:
        categorical = len(record["categorical_columns"])
        groups = len(record.get("feature_groups", ())) or (n_features if categorical else 0)
    layout, shapes = str(record.get("layout", "")), _shapes_of(path)
    split = "X_train" in shapes or "X_train" in layout or is_official_split(record)
    image = image_in(next(iter(shapes.values()), ()), layout)
    counts = [record.get(k, pd.NA) for k in ("n_samples", "n_classes", "missing_values")]
    shown = "" if image is None else "{}x{}".format(*image)
    return _catalog_row(name, "folder", counts[0], n_features, counts[1], categorical, groups, counts[2], split, shown)


def _n_feature_columns(path: Path) -> Any:
    """Number of feature columns of a text file, <NA> where its first lines cannot be read."""
    import pandas as pd

    try:
        return count_columns(path) - 1 if path.name.endswith(TEXT_SUFFIXES) and path.is_file() else pd.NA
    except (OSError, ValueError):
        return pd.NA


def _shapes_of(path: Path) -> dict[str, tuple[int, ...]]:
    """The shape of ``X`` or ``X_train`` of an npz file by name; empty for another file, or where it cannot be read."""
    try:
        headers = read_headers(path, ("X_train", "X")) if path.suffix == ".npz" and path.is_file() else {}
    except ValueError:
        headers = {}
    return {name: header.shape for name, header in headers.items()}
