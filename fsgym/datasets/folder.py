"""A local folder of data sets, with a MANIFEST.json or of plain NAME.csv files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.data.case_costs import take_case_prices
from fsgym.data.cells import with_merged_as_text
from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.data.reading.files import check_file, join_arrays, read_csv, read_json, read_part
from fsgym.data.reading.numbers import AS_PLAIN, Found
from fsgym.data.reading.reading import OF_NUMBERS, TABLE_SUFFIXES, USE_OF, Reading, dataset_of_table, read_columns
from fsgym.data.suspicions import find_merged
from fsgym.text.messages import brief, explain_unknown, option_text

if TYPE_CHECKING:
    import pandas as pd


# The data sets that come with scikit-learn; they need no file and no network.


class Shape(NamedTuple):
    """What is known about a data set before it is loaded."""

    n_samples: int
    n_features: int
    n_classes: int
    image_shape: tuple[int, int] | None = None


EMBEDDED = {
    "breast_cancer": Shape(569, 30, 2),
    "wine": Shape(178, 13, 3),
    "digits": Shape(1797, 64, 10, (8, 8)),
}


def load_embedded(name: str) -> Dataset:
    """A data set of ``EMBEDDED``, with class names as labels."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    labels = np.asarray(bunch.target_names)[bunch.target]
    return Dataset(
        bunch.data,
        labels,
        feature_names=[str(v) for v in bunch.feature_names],
        image_shape=EMBEDDED[name].image_shape,
        name=name,
    )


SUFFIXES = (*TABLE_SUFFIXES, ".npz")
RECORD_KINDS = {
    **dict.fromkeys(("n_samples", "n_features", "n_classes", "missing_values"), int),
    **{"categorical_columns": list, "feature_groups": dict, "class_counts": dict, "layout": str},
}
KIND_NAMES = {int: "a whole number", list: "a list", dict: "an object", str: "text"}


class LoadedDataset(NamedTuple):
    """A data set, and what is known of it besides."""

    dataset: Dataset
    n_train: int | None = None  # its first rows that are the official training part; None: no official parts
    prices: Mapping[str, NDArray[np.float64]] = {}  # (n_samples,) by acquisition


def find_folder(data_dir: str | os.PathLike | None) -> Path | None:
    """The given folder, else the one that ``FSGYM_DATA`` names, else None."""
    path = data_dir if data_dir is not None else os.environ.get("FSGYM_DATA") or None
    if path is None:
        return None
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{option_text('data_dir')} must be the path of a folder, got {brief(path)}")
    folder = Path(path).expanduser()
    if not folder.is_dir():
        source = "data_dir" if data_dir is not None else "FSGYM_DATA"
        raise NotADirectoryError(f"{source} must name an existing folder of data sets, got {str(folder)!r}")
    return folder


def read_manifest(folder: Path) -> dict[str, dict]:
    """Records of the folder's data sets by name; files without a record get one with their names only."""
    path = folder / "MANIFEST.json"
    records: Any = read_json(path) if path.exists() else {}
    if not isinstance(records, dict) or not all(isinstance(r, dict) for r in records.values()):
        raise ValueError(f"{path} is damaged: it must map each name to a record")
    for name, record in records.items():
        fault = _fault_of_record(record)
        if fault:
            raise ValueError(f"{path} is damaged: the record of {brief(name)} {fault}")
    recorded = {f["file"] for record in records.values() for f in record["files"]}
    others: dict[str, list[str]] = {}
    for file in sorted(p.name for p in folder.iterdir() if p.is_file()):  # and no pipe, which would be waited for
        suffix = next((s for s in SUFFIXES[::-1] if file.endswith(s)), None)
        if suffix and file not in recorded:
            stem = file.removesuffix(suffix)
            others.setdefault(stem.removesuffix(".train").removesuffix(".test"), []).append(file)
    for name, files in others.items():
        ordered = sorted(files, key=lambda f: (".test." in f, f))
        records.setdefault(name, {"plain": True, "files": [{"file": f} for f in ordered]})
    return records


def _fault_of_record(record: dict) -> str:
    """What is wrong with a record of the manifest, in words; "" for nothing."""
    files = record.get("files")
    names = [f.get("file") if isinstance(f, dict) else None for f in files] if isinstance(files, list) else []
    if not names or not all(isinstance(name, str) and name.isprintable() for name in names):
        return 'must list its files, each as {"file": name}'
    for key, kind in RECORD_KINDS.items():
        value = record.get(key)
        if key in record and (not isinstance(value, kind) or isinstance(value, bool)):
            return f"must have {KIND_NAMES[kind]} as {key}, got {brief(value)}"
    if not all(isinstance(name, str) for name in record.get("categorical_columns", ())):
        return "must have names of columns as categorical_columns"
    if not all(isinstance(f.get("sha256", ""), str) for f in record["files"]):
        return "must have text as sha256"
    return ""


def load_from_folder(folder: Path, name: str, record: dict, reading: Reading) -> LoadedDataset:
    """The data set of a record of the manifest; its size and class counts are compared with the record."""
    files = [_checked_file(folder, entry) for entry in record["files"]]
    what = " and ".join(str(f) for f in files)
    kinds = {f.suffix == ".npz" for f in files}
    if len(kinds) > 1 or (len(files) > 1 and record.get("plain") and not is_official_split(record)):
        raise ValueError(f"{name!r} is ambiguous between {what}; give the path of one file")
    if files[0].suffix == ".npz":
        reading.refuse(USE_OF, what)
        parts = [read_part(f) for f in files]
        whole = join_arrays(parts, what, name, str(record.get("layout", "")))
        _check_counts(record, whole, whole.n_features, what, full=True)
        loaded = without_features(whole, reading)
        sizes = [len(parts[0]["y_train"])] if "X_train" in parts[0] else [len(p["y"]) for p in parts]
        official = "X_train" in parts[0] or is_official_split(record)
    else:
        loaded, sizes = _load_tables(files, record, name, what, reading)
        official = is_official_split(record)
    return loaded._replace(n_train=sizes[0] if official else None)


def load_file(path: Path, reading: Reading) -> LoadedDataset:
    """A data set from the path of a CSV, Parquet or npz file."""
    name = path.name
    for suffix in SUFFIXES[::-1]:
        name = name.removesuffix(suffix)
    if path.suffix == ".npz":
        reading.refuse(USE_OF, str(path))
        return without_features(join_arrays([read_part(path)], str(path), name), reading)
    table, found = read_columns(path, reading)
    dataset, prices = dataset_of_table(table, reading, name=name, what=str(path), found=found)
    return LoadedDataset(dataset, prices=prices)


def without_features(dataset: Dataset, reading: Reading, n_train: int | None = None) -> LoadedDataset:
    """A data set of arrays without the features that ``reading`` drops, and those that are prices, which are apart."""
    dataset = drop_features(dataset, reading.drop)
    if not reading.case_price:
        return LoadedDataset(dataset, n_train)
    names, table = list(reading.case_price.values()), dataset.to_frame()
    for column, features in zip(dataset.columns, dataset.columns.features, strict=True):
        if column.name in names:  # 4.78 as it was written, and not 4.780000209 as float32 has it
            table[column.name] = [column.shortest(x) for x in dataset.X[:, features.start]]
    _, prices = take_case_prices(table, reading.case_price, repr(dataset.name))
    return LoadedDataset(drop_features(dataset, names), n_train, prices)


def drop_features(dataset: Dataset, drop: Collection[str]) -> Dataset:
    """The data set without the named features or groups."""
    if not drop:
        return dataset
    groups = dataset.groups or [(j,) for j in range(dataset.n_features)]
    for name in drop:
        if name not in dataset.feature_names and name not in dataset.acquisition_names:
            unknown = explain_unknown(f"feature of {dataset.name!r}", name, dataset.feature_names)
            raise ValueError(f"{option_text('drop')}: {unknown}")
    for column in dataset.columns:
        level = next((name for name in drop if name in column.feature_names and name != column.name), None)
        if level is not None and len(column.feature_names) > 1:
            raise ValueError(
                f"{option_text('drop')} must name whole columns, got {level!r}, a level of {column.name!r}; name that"
            )
    acquired = zip(dataset.acquisition_names, groups, strict=True)
    of_columns = zip(dataset.columns.names, dataset.columns.features, strict=True)
    dropped = {j for name, g in (*acquired, *of_columns) if name in drop for j in g}
    keep = [j for j, n in enumerate(dataset.feature_names) if n not in drop and j not in dropped]
    if not keep:
        raise ValueError(f"{option_text('drop')} names all features of {dataset.name!r}; keep at least one")
    position = {j: i for i, j in enumerate(keep)}
    remaining = [
        (name, [position[j] for j in g if j in position], acquisition)
        for acquisition, (name, g) in enumerate(zip(dataset.acquisition_names, groups, strict=True))
    ]
    remaining = [(name, g, acquisition) for name, g, acquisition in remaining if g]
    bought = [acquisition for _, _, acquisition in remaining]
    return dataset.replace(
        X=dataset.X[:, keep],
        columns=Columns([c for c, features in zip(dataset.columns, dataset.columns.features) if {*features} & {*keep}]),
        groups=None if dataset.groups is None else [g for _, g, _ in remaining],
        group_names=None if dataset.groups is None else [name for name, _, _ in remaining],
        costs=None if dataset.costs is None else dataset.costs[bought],
        case_costs=None if dataset.case_costs is None else dataset.case_costs[:, bought],
        image_shape=None,
    )


def _load_tables(
    files: list[Path], record: dict, name: str, what: str, reading: Reading
) -> tuple[LoadedDataset, list[int]]:
    """The data set of the tables of a record, and the rows of each; tables of a manifest are not examined."""
    import pandas as pd

    listed = None if record.get("plain") else record.get("categorical_columns", [])
    if listed is not None:
        reading.refuse(("separator", "sheet", "header_row", *OF_NUMBERS), what)
    found = AS_PLAIN

    def read_frames(texts: Collection[str] = ()) -> list[pd.DataFrame]:
        nonlocal found
        category = (*reading.category, *texts)
        if listed is None:
            read = [read_columns(f, reading._replace(category=category)) for f in files]
            frames = [table for table, _ in read]
            if not texts:  # of columns that are texts now, it is not known how their numbers are written
                found = _found_in_all(read, reading.numeric, what)
        else:
            frames = [read_csv(f, [*listed, *category]) for f in files]
        if any(list(f.columns) != list(frames[0].columns) for f in frames):
            raise ValueError(f"{what} must have the same columns")
        return frames

    frames = read_frames()
    frame = frames[0]
    if len(frames) > 1:  # 1E2 of one file may be 10E1 of the other
        joined = partial(pd.concat, ignore_index=True)
        frame = with_merged_as_text(joined(frames), lambda names: joined(read_frames(names)), reading.numeric)
    for column in frame.columns.difference([*reading.numeric, *reading.category, *(listed or ())], sort=False):
        remedy = f"write them alike, or list {column!r} in the categorical_columns of MANIFEST.json"
        merged = None if listed is None else find_merged(frame[column], remedy)
        if merged is not None:
            raise ValueError(merged.sentence(f"the column {column!r} of {what}"))
    dataset, prices = dataset_of_table(frame, reading, listed=listed, name=name, what=what, found=found)
    n_columns = frame.shape[1] - 1
    _check_counts(record, dataset, n_columns, what, full=reading.target in (None, "target"))
    return LoadedDataset(dataset, prices=prices), [len(f) for f in frames]


def _found_in_all(read: list[tuple[pd.DataFrame, Found]], numeric: Collection[str], what: str) -> Found:
    """How the numbers of the parts of a data set are written; ValueError where it differs.

    Numbers without a sign count as those with one only in columns that the user says are ``numeric``.
    """
    writing = read[0][1].writing
    if any(found.writing != writing for _, found in read):
        raise ValueError(
            f"the numbers of {what} are written in different ways; name the signs with "
            f"{option_text('decimal')} and {option_text('thousands')}, or write them alike"
        )
    marks = {name: mark for _, found in read for name, mark in found.marks.items()}
    for name, mark in marks.items():
        given = [found for table, found in read if name in table.columns and table[name].notna().any()]
        if any(found.marks.get(name, mark if name in numeric else "") != mark for found in given):
            raise ValueError(
                f"the column {name!r} of {what} has numbers with {mark!r} in one file and others in another; write "
                f"them alike, or pass {option_text('drop', [name])}"
            )
    return Found(writing, marks)


def is_official_split(record: dict) -> bool:
    """Whether the two files of a record are named as the official training and test part."""
    names = [str(f["file"]) for f in record["files"]]
    return len(names) == 2 and ".train." in names[0] and ".test." in names[1]


def _checked_file(folder: Path, entry: dict) -> Path:
    """The path of a record's file; OSError when it does not exist, ValueError when its SHA-256 differs."""
    path = folder / str(entry["file"])
    if path.resolve().parent != folder.resolve():
        raise ValueError(f"the manifest of {folder} names {entry['file']!r}, which is not in that folder")
    check_file(path)
    expected = entry.get("sha256")
    if expected and hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        raise ValueError(
            f"{path} is damaged or was changed: its SHA-256 differs from that in MANIFEST.json; restore it, or remove "
            "it and fetch it again"
        )
    return path


def _check_counts(record: dict, dataset: Dataset, n_features: int, what: str, full: bool) -> None:
    """ValueError when the numbers of rows, columns or rows per class are not those of the record."""
    counts = {str(c): int(n) for c, n in zip(dataset.classes, np.bincount(dataset.y), strict=True)}
    actual = {"n_samples": dataset.n_samples, "n_features": n_features, "class_counts": counts}
    for key in actual if full else ["n_samples"]:
        if key in record and record[key] != actual[key]:
            raise ValueError(f"{what} must have {key} {record[key]} according to MANIFEST.json, got {actual[key]}")
