"""Data sets by name: embedded ones, those of a folder, and unknown names."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fsgym.datasets import list_datasets, load_dataset
from fsgym.datasets.folder import EMBEDDED
from fsgym.datasets.openml import OPENML
from support.problems import FOLDER, needs_folder
from support.refusals import refused


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_have_the_declared_shape(name):
    data = load_dataset(name)
    expected = EMBEDDED[name]
    assert (data.n_samples, data.n_features, data.n_classes) == expected[:3]
    assert data.image_shape == expected.image_shape
    assert data.groups is None
    assert data.name == name


def test_embedded_labels_and_names_can_be_read():
    data = load_dataset("breast_cancer")
    assert data.classes.tolist() == ["benign", "malignant"]
    assert np.bincount(data.y).tolist() == [357, 212]
    assert data.feature_names[0] == "mean radius"


def test_random_parts_are_stratified_disjoint_and_keep_the_bounds():
    whole = load_dataset("wine")
    train, test = load_dataset("wine", "train"), load_dataset("wine", "test")
    assert train.n_samples + test.n_samples == 178
    assert train.n_samples == 124
    rows = np.vstack([train.X, test.X])
    assert np.unique(rows, axis=0).tobytes() == np.unique(whole.X, axis=0).tobytes()
    for part in (train, test):
        assert part.bounds[1].tobytes() == whole.bounds[1].tobytes()
    again = load_dataset("wine", "train", seed=1)
    assert again.X.tobytes() != train.X.tobytes()
    assert load_dataset("wine", "train", train_share=0.5).n_samples == 89


def test_unknown_names(no_folder):
    refused(ValueError, "unknown data set 'adlt'; did you mean 'adult'", "adlt")
    refused(ValueError, "did you mean 'heart_statlog'", "heart")
    refused(ValueError, "did you mean 'wine'", "Wine")
    refused(ValueError, "list_datasets.*FSGYM_DATA", "zzzzqq")
    refused(ValueError, "null characters", "a\0b")
    refused(ValueError, "followed by", "openml:")
    refused(ValueError, "followed by a plain name", "openml:../../etc")
    refused(TypeError, "path of a folder", "sonar", data_dir=3)
    refused(ValueError, "cannot be split", "wine", "train", seed=-1)
    refused(TypeError, "name must be", 3)
    refused(ValueError, "split must be one of all, train, test, got 'half'", "wine", "half")
    refused(ValueError, "embedded", "wine", target="x")
    refused(ValueError, "drop: unknown feature of 'wine' 'x'", "wine", drop=["x"])


def test_a_folder_that_does_not_exist(monkeypatch, tmp_path):
    refused(NotADirectoryError, "data_dir must name an existing folder", "sonar", data_dir=tmp_path / "none")
    monkeypatch.setenv("FSGYM_DATA", str(tmp_path / "none"))
    refused(NotADirectoryError, "FSGYM_DATA must name an existing folder", "sonar")
    assert load_dataset("wine").n_samples == 178


def test_drop_from_embedded():
    data = load_dataset("wine", drop=["alcohol", "proline"])
    assert data.n_features == 11
    assert "alcohol" not in data.feature_names
    np.testing.assert_array_equal(data.X, load_dataset("wine").X[:, 1:12])


def test_list_without_a_folder(no_folder):
    table = list_datasets()
    assert table["name"].is_unique
    assert table["name"].tolist()[:3] == list(EMBEDDED)
    assert set(table["source"]) == {"embedded", "generated", "openml"}
    assert table.set_index("name").loc["sonar", "n_samples"] == 208


def folder_sets():
    if not FOLDER:
        return [pytest.param("none", marks=needs_folder)]
    manifest = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())
    big = {"kddcup99_10percent", "mnist"}
    return [pytest.param(n, marks=[pytest.mark.slow] if n in big else []) for n in manifest]


@pytest.mark.parametrize("name", folder_sets())
@pytest.mark.one_in(3)
def test_every_set_of_the_folder(name):
    record = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())[name]  # type: ignore[arg-type]
    data = load_dataset(name, data_dir=FOLDER)
    counts = np.bincount(data.y)
    assert data.n_samples == record["n_samples"]
    assert {str(c): int(n) for c, n in zip(data.classes, counts)} == record["class_counts"]
    columns = data.n_features if "feature_groups" in record else len(data.acquisition_names)
    assert columns == record["n_features"]
    if name in EMBEDDED:
        return
    if "feature_groups" in record:
        assert {n: len(g) for n, g in zip(data.group_names, data.groups)} == record["feature_groups"]
    else:
        cells = data.X if data.groups is None else data.X[:, [g[0] for g in data.groups]]
        assert np.isnan(cells).sum() == record["missing_values"]
    parts = [f["n_samples"] for f in record["files"] if ".t" in f["file"]]
    if parts:
        assert [data.X[: parts[0]].shape[0], data.n_samples - parts[0]] == parts
    for group in data.groups or ():
        block = data.X[:, list(group)]
        assert (np.isnan(block).all(axis=1) | ~np.isnan(block).any(axis=1)).all()
        if len(group) > 1 and name != "a9a":
            total = block.sum(axis=1)
            assert (total[~np.isnan(total)] == 1).all()


@needs_folder
def test_official_parts_and_scale():
    train, test = load_dataset("a9a", "train", data_dir=FOLDER), load_dataset("a9a", "test", data_dir=FOLDER)
    assert (train.n_samples, test.n_samples, len(train.groups)) == (32561, 16281, 14)
    assert train.feature_names == test.feature_names
    digits = load_dataset("usps", "test", data_dir=FOLDER)
    assert (digits.n_samples, digits.image_shape) == (2007, (16, 16))
    assert np.abs(digits.X).max() == 1
    assert load_dataset("isolet5", data_dir=FOLDER).X.max() <= 1


@needs_folder
def test_the_table_of_openml_agrees_with_the_manifest():
    manifest = json.loads((Path(FOLDER) / "MANIFEST.json").read_text())  # type: ignore[arg-type]
    for name, entry in OPENML.items():
        record = manifest[name]
        assert entry[1:3] == (record["n_samples"], record["n_features"]), name
        assert entry.class_sizes == tuple(sorted(record["class_counts"].values(), reverse=True)), name


def test_import_stays_light():
    code = (
        "import sys, fsgym.datasets; "
        "print(*[m for m in ('pandas', 'sklearn.datasets', 'matplotlib', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
