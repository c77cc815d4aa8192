"""``load_dataset``: a data set by name or path, from any source."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from fsgym.checks import brief
from fsgym.dataset import Dataset
from fsgym.datasets.catalog import unknown_dataset
from fsgym.datasets.embedded import EMBEDDED, load_embedded
from fsgym.datasets.folder import (
    SUFFIXES,
    LoadedDataset,
    drop_features,
    find_folder,
    load_file,
    load_from_folder,
    read_manifest,
)
from fsgym.datasets.openml import OPENML, load_from_openml
from fsgym.row_groups import shared_group

SPLIT_NAMES = ("all", "train", "test")


def load_dataset(
    name: str | os.PathLike,
    split: str = "all",
    *,
    data_dir: str | os.PathLike | None = None,
    target: str | None = None,
    drop: Sequence[str] = (),
    one_hot: bool = True,
    row_groups: str | None = None,
    train_share: float = 0.7,
    seed: int | None = 0,
) -> Dataset:
    """Load a data set by its name, by the path of a file, or from OpenML.

    A name is looked up among the embedded sets (``breast_cancer``, ``wine``, ``digits``), then as a path,
    then in the local folder, then among the OpenML sets known by name; ``openml:NAME`` and
    ``openml:NUMBER`` are always loaded from OpenML. ``list_datasets()`` shows all names.

    Text columns, and those listed in a manifest, are treated as categorical. A categorical column is one-hot encoded
    into one group, so that one acquisition reveals its value; with two levels it becomes a single 0/1 column. A missing
    value is NaN in all columns of the group. Other columns are numbers and stay unchanged; each is a group of its own,
    and without categorical columns there are no groups. All values are float32 and unscaled.

    Parameters
    ----------
    name : str or path
        As above. A file is CSV with one header line (``.csv`` or ``.csv.gz``, UTF-8, comma separated; empty cells
        are missing, and in columns of numbers also ``?``, ``NA``, ``nan``, ``null``), or ``.npz`` with ``X`` and
        ``y``.
    split : {"all", "train", "test"}
        "train" and "test" are the official parts if the data set has them, otherwise those of a stratified random
        split. Each part has the columns, classes and bounds of the whole data set.
    data_dir : path, optional
        A folder with a ``MANIFEST.json``, or of plain ``NAME.csv`` files; by default that of the
        environment variable ``FSGYM_DATA``.
    target : str, optional
        The column of the labels (CSV and OpenML only); by default ``target`` for CSV, and the default
        target for OpenML. A row without a label is an error.
    drop : sequence of str, optional
        Columns (or groups) to leave out, such as identifiers.
    one_hot : bool
        False: a categorical column becomes one column of codes 0, 1, ..., and there are no groups.
    row_groups : str, optional
        The column that says which rows belong together (CSV only), such as the number of a patient with several
        visits. It is not a feature. Rows with the same value are on the same side of every split; see ``Dataset``.
    train_share : float
        Share of the rows in the training part, if there are no official parts.
    seed : int or None
        Seed of the random split.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError, TypeError
        If the name is unknown (with a suggestion), a column does not exist or looks like an identifier, the file is
        damaged (it is never unpickled), its shape or class sizes differ from those in the manifest or the built-in
        table, or official parts have a row group in common.
    OSError
        If the file or folder does not exist, or OpenML cannot be reached.

    Examples
    --------
    >>> from fsgym.datasets import load_dataset
    >>> load_dataset("wine")
    Dataset('wine': 178 samples, 13 features, 3 classes)
    >>> load_dataset("breast_cancer", "train").n_samples
    398
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name must be the name of a data set or a path, got {type(name).__name__}")
    if split not in SPLIT_NAMES:
        raise ValueError(f"split must be one of {', '.join(SPLIT_NAMES)}, got {split!r}")
    if target is not None and not isinstance(target, str):
        raise TypeError(f"target must be the name of a column, got {target!r}")
    if row_groups is not None and not isinstance(row_groups, str):
        raise TypeError(f"row_groups must be the name of a column, got {brief(row_groups)}")
    dropped = _check_drop(drop)
    whole, n_train = _load_by_name(os.fspath(name), data_dir, target, dropped, bool(one_hot), row_groups)
    if split == "all":
        return whole
    if n_train is None:
        return whole.split(train_share, seed)[split == "test"]
    groups = whole.row_groups
    if groups is not None and shared_group(groups, slice(n_train), slice(n_train, None)) is not None:
        raise ValueError(
            f"the official training and test part of {whole.name!r} have groups of {row_groups!r} in common; "
            "load split='all' and divide it with Dataset.split, or leave row_groups out"
        )
    return whole.rows(range(n_train) if split == "train" else range(n_train, whole.n_samples))


def _check_drop(drop: Sequence[str]) -> tuple[str, ...]:
    names = (drop,) if isinstance(drop, str) else drop
    try:
        names = tuple(names)
    except TypeError:
        raise TypeError(f"drop must be a list of column names, got {drop!r}") from None
    if not all(isinstance(v, str) for v in names):
        raise TypeError(f"drop must be a list of column names, got {drop!r}")
    return tuple(dict.fromkeys(names))


def _load_by_name(
    name: str | bytes, data_dir, target: str | None, drop: tuple[str, ...], one_hot: bool, row_groups: str | None
) -> LoadedDataset:
    name = os.fsdecode(name)
    if "\0" in name:
        raise ValueError(f"unknown data set {name!r}; a name must not contain null characters")
    if name in EMBEDDED:
        if target is not None:
            raise ValueError(f"target is only for CSV files and OpenML, and {name!r} is embedded")
        _refuse_row_groups(name, row_groups)
        return LoadedDataset(drop_features(load_embedded(name), drop))
    options = {"target": target, "drop": drop, "one_hot": one_hot}
    if name.startswith("openml:"):
        _refuse_row_groups(name, row_groups)
        which = name.removeprefix("openml:").strip()
        if not re.fullmatch(r"[\w.()+,&'-]+", which):
            raise ValueError(f"openml: must be followed by a plain name or a number, got {which!r}")
        return LoadedDataset(load_from_openml(int(which) if which.isdecimal() else which, **options))
    if _is_path(name):
        return LoadedDataset(load_file(Path(name).expanduser(), **options, row_groups=row_groups))
    folder = find_folder(data_dir)
    records = {} if folder is None else read_manifest(folder)
    if folder is not None and name in records:
        return load_from_folder(folder, name, records[name], **options, row_groups=row_groups)
    if name in OPENML:
        _refuse_row_groups(name, row_groups)
        return LoadedDataset(load_from_openml(name, OPENML[name], **options))
    raise unknown_dataset(name, [*EMBEDDED, *records, *OPENML], folder is not None)


def _refuse_row_groups(name: str, row_groups: str | None) -> None:
    if row_groups is not None:
        raise ValueError(
            f"row_groups names a column of a CSV file, and {name!r} is none; "
            "pass the labels to Dataset.replace(row_groups=...)"
        )


def _is_path(name: str) -> bool:
    separators = {os.sep, os.altsep or os.sep}
    if name.endswith(SUFFIXES) or any(s in name for s in separators):
        return True
    return bool(Path(name).suffix) and Path(name).is_file()
