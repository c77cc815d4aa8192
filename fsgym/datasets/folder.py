"""A local folder of data sets, with a MANIFEST.json or of plain NAME.csv files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fsgym.checks import listing
from fsgym.dataset import Dataset
from fsgym.datasets.files import DAMAGE, check_file, first_line, join_arrays, read_csv, read_part
from fsgym.datasets.frames import drop_columns, encode, take_target

SUFFIXES = (".csv", ".csv.gz", ".npz")


class Parts(NamedTuple):
    """A data set, and how many of its first rows are the official training part (None: no such part)."""

    dataset: Dataset
    n_train: int | None = None


def find_folder(data_dir: str | os.PathLike | None) -> Path | None:
    """The folder that was given, else the one named by ``FSGYM_DATA``, else None."""
    named = data_dir if data_dir is not None else os.environ.get("FSGYM_DATA") or None
    if named is None:
        return None
    if not isinstance(named, str | os.PathLike):
        raise TypeError(f"data_dir must be the path of a folder, got {named!r}")
    folder = Path(named).expanduser()
    if not folder.is_dir():
        by = "data_dir" if data_dir is not None else "FSGYM_DATA"
        raise NotADirectoryError(f"{by} must name a folder of data sets, got {str(folder)!r}, which is none")
    return folder


def read_json(path: Path) -> Any:
    """The content of a JSON file; ValueError or OSError names it."""
    check_file(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (RecursionError, *DAMAGE) as error:
        raise ValueError(f"{path} is damaged: it is not JSON ({first_line(error)})") from None


def read_manifest(folder: Path) -> dict[str, dict]:
    """Records of the folder's data sets by name; plain files that no record names get an empty record."""
    path = folder / "MANIFEST.json"
    records: Any = read_json(path) if path.is_file() else {}
    if not isinstance(records, dict) or not all(isinstance(r, dict) for r in records.values()):
        raise ValueError(f"{path} is damaged: it must map each name to a record")
    for name, record in records.items():
        files = record.get("files")
        if not isinstance(files, list) or not files or not all(isinstance(f, dict) and "file" in f for f in files):
            raise ValueError(f"{path} is damaged: the record of {name!r} must list its files")
    told = {f["file"] for record in records.values() for f in record["files"]}
    loose: dict[str, list[str]] = {}
    for file in sorted(p.name for p in folder.iterdir()):
        suffix = next((s for s in SUFFIXES[::-1] if file.endswith(s)), None)
        if suffix and file not in told:
            stem = file.removesuffix(suffix)
            loose.setdefault(stem.removesuffix(".train").removesuffix(".test"), []).append(file)
    for name, files in loose.items():
        ordered = sorted(files, key=lambda f: (".test." in f, f))
        records.setdefault(name, {"plain": True, "files": [{"file": f} for f in ordered]})
    return records


def load_from_folder(
    folder: Path, name: str, record: dict, *, target: str | None, drop: Collection[str], one_hot: bool
) -> Parts:
    """The data set that a record of the manifest describes; its counts are checked against the record."""
    files = [_checked(folder, entry) for entry in record["files"]]
    what = " and ".join(str(f) for f in files)
    kinds = {f.suffix == ".npz" for f in files}
    if len(kinds) > 1 or (len(files) > 1 and record.get("plain") and not _official(files)):
        raise ValueError(f"{name!r} could be any of {what}; give the path of one, or keep one of them")
    if files[0].suffix == ".npz":
        if target is not None:
            raise ValueError(f"target only serves tables with column names, and {what} has none")
        parts = [read_part(f) for f in files]
        whole = join_arrays(parts, what, name, str(record.get("layout", "")))
        _check(record, whole, whole.n_features, what, full=True)
        dataset = without(whole, drop)
        sizes = [len(parts[0]["y_train"])] if "X_train" in parts[0] else [len(p["y"]) for p in parts]
        official = "X_train" in parts[0] or _official(files)
    else:
        dataset, sizes = _from_csv(files, record, name, what, target, drop, one_hot)
        official = _official(files)
    return Parts(dataset, sizes[0] if official else None)


def load_file(path: Path, *, target: str | None = None, drop: Collection[str] = (), one_hot: bool = True) -> Dataset:
    """A data set of the user's own, from the path of a CSV or npz file."""
    name = path.name
    for suffix in SUFFIXES[::-1]:
        name = name.removesuffix(suffix)
    if path.suffix == ".npz":
        return without(join_arrays([read_part(path)], str(path), name), drop)
    frame = read_csv(path, loose=True)
    return _encoded(frame, {}, name, str(path), target, drop, one_hot)


def without(dataset: Dataset, drop: Collection[str]) -> Dataset:
    """The data set without the named features or groups."""
    if not drop:
        return dataset
    groups = dataset.groups or [(j,) for j in range(dataset.n_features)]
    for name in drop:
        if name not in dataset.feature_names and name not in dataset.acquisition_names:
            raise ValueError(
                f"{dataset.name!r} has no feature {name!r} to drop; they are {listing(dataset.feature_names)}"
            )
    gone = {j for name, g in zip(dataset.acquisition_names, groups, strict=True) if name in drop for j in g}
    keep = [j for j, n in enumerate(dataset.feature_names) if n not in drop and j not in gone]
    if not keep:
        raise ValueError(f"drop names all features of {dataset.name!r}; keep at least one")
    place = {j: i for i, j in enumerate(keep)}
    left = [(n, [place[j] for j in g if j in place]) for n, g in zip(dataset.acquisition_names, groups, strict=True)]
    left = [(n, g) for n, g in left if g]
    return dataset.replace(
        X=dataset.X[:, keep],
        feature_names=[dataset.feature_names[j] for j in keep],
        groups=None if dataset.groups is None else [g for _, g in left],
        group_names=None if dataset.groups is None else [n for n, _ in left],
        image_shape=None,
    )


def _from_csv(files, record, name, what, target, drop, one_hot) -> tuple[Dataset, list[int]]:
    import pandas as pd

    categorical = record.get("categorical_columns", [])
    frames = [read_csv(f, categorical, loose=bool(record.get("plain"))) for f in files]
    if any(list(f.columns) != list(frames[0].columns) for f in frames):
        raise ValueError(f"{what} must have the same columns")
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    dataset = _encoded(frame, record, name, what, target, drop, one_hot)
    _check(record, dataset, frame.shape[1] - 1, what, full=target in (None, "target"))
    return dataset, [len(f) for f in frames]


def _encoded(frame, record, name, what, target, drop, one_hot) -> Dataset:
    label = "target" if target is None else target
    if label not in frame.columns:
        hint = "name one with target=... (--target)" if target is None else "choose one of them"
        raise ValueError(f"{what} has no column {label!r}; {hint}: {listing(frame.columns)}")
    if label in drop:
        raise ValueError(f"drop must not name the target column {label!r}")
    features, labels = take_target(drop_columns(frame, drop, what), label, what)
    categorical = [c for c in record.get("categorical_columns", []) if c in features.columns]
    try:
        return encode(features, labels, categorical=categorical, one_hot=one_hot, name=name, what=what)
    except (TypeError, ValueError) as error:
        told = str(error)
        raise ValueError(told if what in told else f"{what} does not hold a data set ({told})") from None


def _official(files: list[Path]) -> bool:
    return len(files) == 2 and ".train." in files[0].name and ".test." in files[1].name


def _checked(folder: Path, entry: dict) -> Path:
    """The file of a record; OSError when it is not there, ValueError when its SHA-256 is another."""
    path = folder / str(entry["file"])
    if path.resolve().parent != folder.resolve():
        raise ValueError(f"the manifest of {folder} names {entry['file']!r}, which is not a file in that folder")
    check_file(path)
    told = entry.get("sha256")
    if told and hashlib.sha256(path.read_bytes()).hexdigest() != told:
        raise ValueError(
            f"{path} is damaged or was changed, its SHA-256 is not the one in MANIFEST.json; restore the file"
        )
    return path


def _check(record: dict, dataset: Dataset, n_features: int, what: str, full: bool) -> None:
    """ValueError when rows, columns or class counts are not those of the manifest."""
    counts = {str(c): int(n) for c, n in zip(dataset.classes, np.bincount(dataset.y), strict=True)}
    found = {"n_samples": dataset.n_samples, "n_features": n_features, "class_counts": counts}
    for key in found if full else ["n_samples"]:
        if key in record and record[key] != found[key]:
            raise ValueError(f"{what} must have {key} {record[key]} as MANIFEST.json says, got {found[key]}")
