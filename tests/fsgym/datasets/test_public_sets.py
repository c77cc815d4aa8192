"""The data sets of the studies: their records, their page, and conversions from files in the forms of the sources."""

import hashlib
import importlib.util
import io
import struct
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from fsgym.datasets import load_costs, load_dataset
from fsgym.datasets.folder import EMBEDDED, find_folder, read_manifest
from fsgym.datasets.public import convert
from fsgym.datasets.public.canonical import array_bytes, canonical_file, table_bytes
from fsgym.datasets.public.convert import ARRAY_FORMS, TABLE_FORMS, converted
from fsgym.datasets.public.download import unpacked
from fsgym.datasets.public.fetch import fetch_dataset, is_recorded
from fsgym.datasets.public.record import public_sets
from fsgym_studies import STUDIES, find_study
from fsgym_studies.suites import SUITES, find_suite
from support.downloads import downloads_of, packed

ROOT = Path(__file__).parents[3]
SETS = public_sets()
NEEDED = {name for study in STUDIES for name in find_study(study).datasets}
NEEDED |= {name for suite in SUITES for name in find_suite(suite).datasets}
# Of each form one that is converted quickly, and each that differs from the others of its form:
SAMPLED = ("hepatitis", "breast_cancer_wisconsin_683", "monk1", "vowel", "wpbc", "wdbc", "splice_libsvm", "lymphoma")
LARGE = ("kddcup99_10percent", "mnist", "adult", "a9a")
ARFF = b"% head\n@relation x\n@attribute a real\n@DATA\n% remark\n1.0,'b c',?,yes\n 2 , d ,3e1,no\n"


def page_module():
    spec = importlib.util.spec_from_file_location("data_page", ROOT / ".ci" / "data_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_records_say():
    page = page_module().data_page()
    assert (ROOT / "docs" / "data.md").read_text(encoding="utf-8") == page
    sets = page.partition("## Data sets")[2].splitlines()
    for name in NEEDED:
        row = next(line for line in sets if line.startswith(f"| {name} |"))
        assert all(checksum in row for checksum in (SETS[name].checksums.values() if name in SETS else ()))
        assert row.count("(not tried)") == (0 if name not in SETS or SETS[name].by_hand else len(SETS[name].untried))


def test_the_page_lists_the_suites_with_their_data():
    page = page_module().data_page()
    assert "| turney | liver_disorders, heart_statlog, hepatitis, pima_diabetes, thyroid_ann |" in page
    assert "| cube | none: its data are generated |" in page
    (row,) = (line for line in page.splitlines() if line.startswith("| spambase |"))
    assert row.startswith("| spambase | gbfs, lattice-vs-peers, spam |")


def test_prices_come_with_a_data_set_that_has_them(tmp_path):
    folder = find_folder(None)
    if folder is None or "liver_disorders" not in read_manifest(folder):
        pytest.skip("needs the data set liver_disorders")
    for download, content in zip(SETS["wpbc"].downloads, downloads_of(SETS["wpbc"], folder), strict=True):
        (tmp_path / download.file).write_bytes(content)
    fetch_dataset("wpbc", tmp_path / "data", tmp_path)
    assert not (tmp_path / "data" / "costs.json").exists()
    for download, content in zip(
        SETS["liver_disorders"].downloads, downloads_of(SETS["liver_disorders"], folder), strict=True
    ):
        (tmp_path / download.file).write_bytes(content)
    fetch_dataset("liver_disorders", tmp_path / "data", tmp_path)
    data = load_dataset("liver_disorders", data_dir=tmp_path / "data")
    assert load_costs("liver_disorders", data, data_dir=tmp_path / "data") == load_costs(
        "liver_disorders", data, data_dir=folder
    )
    (tmp_path / "data" / "costs.json").write_text("{}")
    fetch_dataset("liver_disorders", tmp_path / "data")
    assert (tmp_path / "data" / "costs.json").read_text() == "{}"


def test_each_data_set_of_a_study_has_a_record_and_a_way_to_get_it():
    assert set(SETS) == NEEDED - set(EMBEDDED)
    for public in SETS.values():
        assert public.form in {**TABLE_FORMS, **ARRAY_FORMS}
        assert public.advice if public.by_hand else not public.advice
        assert all(d.address.startswith("https://") for d in public.downloads if d.address is not None)
        assert all(len(checksum) == 64 for checksum in public.checksums.values())


def test_the_comparison_of_the_lattice_agent_needs_public_sets_only():
    """Its quick form needs scikit-learn alone, its full form nothing that has no address."""
    study = find_study("lattice-vs-peers")
    assert set(study.needed_datasets(False)) <= set(EMBEDDED)
    assert not [name for name in study.needed_datasets(True) if name in SETS and SETS[name].by_hand]


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.one_in(2)
def test_downloads_become_the_recorded_files(name, tmp_path):
    check_against_folder(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(SETS) - set(SAMPLED)))
def test_downloads_of_all_sets_become_the_recorded_files(name, tmp_path):
    check_against_folder(name, tmp_path)


def check_against_folder(name, tmp_path):
    """Files in the form of the source become files of the recorded SHA-256, which load as those of the folder."""
    folder = find_folder(None)
    if folder is None or name not in read_manifest(folder):
        pytest.skip(f"needs the data set {name}")
    public = SETS[name]
    assert is_recorded(public, folder, read_manifest(folder)[name])
    for download, content in zip(public.downloads, downloads_of(public, folder), strict=True):
        (tmp_path / download.file).write_bytes(content)
    fetched = fetch_dataset(name, tmp_path / "data", tmp_path)
    assert [p.name for p in fetched.files] == list(public.checksums)
    assert [hashlib.sha256(p.read_bytes()).hexdigest() for p in fetched.files] == list(public.checksums.values())
    theirs, ours = (load_dataset(name, "train", data_dir=d, one_hot=False) for d in (folder, tmp_path / "data"))
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.classes[ours.y], theirs.classes[theirs.y])
    assert (ours.feature_names, ours.groups, ours.image_shape) == (
        theirs.feature_names,
        theirs.groups,
        theirs.image_shape,
    )


def test_a_set_of_scikit_learn_is_converted_without_any_download(tmp_path):
    fetch_dataset("wdbc", tmp_path)
    data = load_dataset("wdbc", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X, load_dataset("breast_cancer").X)
    assert load_dataset("wdbc", data_dir=tmp_path).classes.tolist() == ["benign", "malignant"]


def test_a_table_with_head_remarks_quotes_and_missing_values():
    options = {"columns": ["a", "", "b", "target"], "labels": {"yes": "1", "no": "0"}, "separator": ",", "quote": "'"}
    (table,) = TABLE_FORMS["table"]([ARFF], options, ["b", "a"])
    assert table.to_dict("list") == {"b": ["", "30"], "a": ["1", "2"], "target": ["1", "0"]}
    (table,) = TABLE_FORMS["table"]([ARFF], {**options, "complete_rows": True}, ["b", "a"])
    assert table.to_dict("list") == {"b": ["30"], "a": ["2"], "target": ["0"]}


@pytest.mark.parametrize("text", [b"a b y\n1 2 7\n3,4,8,", b"1;2;7\n3;4;8"])
def test_a_table_of_numbers_with_or_without_head(text):
    options = {"columns": ["a", "b", "target"], "labels": {"7": "seven", "8": "eight"}, "first_rows": 1}
    first, second = TABLE_FORMS["table"]([text], options, ["a", "b"])
    assert table_bytes(first) == b"a,b,target\n1,2,seven\n"
    assert table_bytes(second) == b"a,b,target\n3,4,eight\n"


@pytest.mark.parametrize("text", [b"1 2 7\n1 7", b"1 2 7\n1 2 9", b"<html>not found</html>"])
def test_a_table_of_another_form_is_refused(text):
    options = {"columns": ["a", "b", "target"], "labels": {"7": "7"}}
    with pytest.raises((ValueError, IndexError)):
        TABLE_FORMS["table"]([text], options, ["a", "b"])


def test_words_of_posts_are_counted_in_both_parts():
    train = {f"x-train/a/{k}": b"Faith faith! doubt" for k in range(3)} | {"x-train/b/9": b"doubt DOUBT once"}
    archive = packed({**train, "x-test/b/1": b"doubt, (faith) once", "x-test/c/1": b"doubt"})
    first, second = ARRAY_FORMS["posts"]([archive], {"groups": ["a", "b"]})
    assert first["feature_names"].tolist() == ["doubt", "faith"]
    assert (first["data"].tolist(), first["y"].tolist()) == ([1, 2, 1, 2, 1, 2, 2], [0, 0, 0, 1])
    assert (second["data"].tolist(), second["indices"].tolist(), second["y"].tolist()) == ([1, 1], [0, 1], [1])


def test_a_matrix_of_matlab_is_scaled():
    file = io.BytesIO()
    savemat(file, {"X": [[0.0, 0.1234], [0.5, 0.0]], "Y": [[2.0], [1.0]]}, do_compression=True)
    (arrays,) = ARRAY_FORMS["matlab"]([file.getvalue()], {"dtype": "int16", "scale": 10_000})
    assert (arrays["X"].tolist(), arrays["y"].tolist()) == ([[0, 1234], [5000, 0]], [2, 1])
    file = io.BytesIO()
    savemat(file, {"X": csc_matrix([[0.0, 0.1234], [0.5, 0.0]]), "Y": [[2.0], [1.0]]})
    (arrays,) = ARRAY_FORMS["matlab"]([file.getvalue()], {"dtype": "int16", "scale": 10_000, "sparse": True})
    assert (arrays["data"].tolist(), arrays["indices"].tolist(), arrays["indptr"].tolist()) == (
        [1234, 5000],
        [1, 0],
        [0, 1, 2],
    )


def test_a_sparse_matrix_whose_places_are_not_its_own():
    """SciPy would write outside the table."""
    file, rows = io.BytesIO(), [41, 42, 43]
    savemat(file, {"X": csc_matrix(([1.0, 2.0, 3.0], (rows, range(3))), shape=(50, 3)), "Y": np.ones((50, 1))})
    content, options = file.getvalue(), {"dtype": "int16", "scale": 1}
    places, ends = struct.pack("<3i", *rows), struct.pack("<4i", 0, 1, 2, 3)
    assert content.count(places) == content.count(ends) == 1
    assert ARRAY_FORMS["matlab"]([content], options)[0]["X"][42].tolist() == [0, 2, 0]
    for old, new in ((places, (10**6, 42, 43)), (places, (-1, 42, 43)), (ends, (0, 2, 1, 3)), (ends, (0, 9, 2, 3))):
        with pytest.raises(ValueError, match=r"indices must be columns|indptr must rise"):
            ARRAY_FORMS["matlab"]([content.replace(old, struct.pack(f"<{len(new)}i", *new))], options)


def test_contents_that_are_too_large_are_not_unpacked(monkeypatch):
    file = io.BytesIO()
    savemat(file, {"X": np.zeros((1000, 1000)), "Y": np.ones((1000, 1))}, do_compression=True)
    monkeypatch.setattr(convert, "most_unpacked", lambda n: 1_000_000)
    with pytest.raises(ValueError, match="too large"):
        ARRAY_FORMS["matlab"]([file.getvalue()], {"dtype": "int16"})
    bomb = b"\x1f\x8b\x08" + bytes(7) + zlib.compress(bytes(51_000_000), 9, wbits=-15) + bytes(8)
    with pytest.raises(ValueError, match="more than 50 MB unpacked"):
        unpacked(bomb)


@pytest.mark.parametrize("name", ["hepatitis", "pcmac", "a9a", "mnist", "usps", "isolet5", "colon", "splice_libsvm"])
@pytest.mark.parametrize("content", [b"<html>moved</html>", b"\x1f\x8b\x08 damaged", b"\x00\xff" * 200, b"1,2\n"])
def test_other_content_than_expected_is_one_sentence(name, content):
    with pytest.raises(ValueError, match=name) as caught:
        converted(SETS[name], [content] * len(SETS[name].downloads))
    assert "\n" not in str(caught.value)


def test_a_damaged_archive_is_one_sentence():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a_inputs.csv"))
    for content in (file.getvalue(), file.getvalue()[:600], packed({"a_inputs.csv": b"1,x\n", "a_outputs.csv": b"1"})):
        with pytest.raises(ValueError, match="the download of 'colon' is not the expected file"):
            converted(SETS["colon"], [content])


def test_equal_data_are_equal_bytes(tmp_path):
    """However numbers are written and files are compressed."""
    for name, text in (("a.csv", b"x,y\r\n1.0,b\n0.50,\n"), ("b.csv", b"x,y\n1,b\n.5,\n")):
        (tmp_path / name).write_bytes(text)
    assert canonical_file(tmp_path / "a.csv") == canonical_file(tmp_path / "b.csv") == b"x,y\n1,b\n0.5,\n"
    pd.read_csv(tmp_path / "a.csv").to_csv(tmp_path / "c.csv.gz", index=False)
    assert canonical_file(tmp_path / "c.csv.gz") == b"x,y\n1,b\n0.5,\n"
    arrays = {"y": np.arange(3), "X": np.eye(3, order="F")}
    np.savez_compressed(tmp_path / "d.npz", **arrays)
    assert canonical_file(tmp_path / "d.npz") == array_bytes(dict(reversed(arrays.items())))
