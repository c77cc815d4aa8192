"""A few rows of the data sets of the studies as published at their sources, through the conversions of the records.

The rows in ``tests/data/published.json`` were read in the published files, with their declarations, delimiters, quotes,
marks of missing values and line ends. The downloads of ``support.downloads``, in contrast, are written from the
converted files, so that a wrong idea of the form of a source would be in both. "seen" names where a text was read; it
may be another copy of the file than that of the address.
"""

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from fsgym.datasets.folder import find_folder, read_manifest
from fsgym.datasets.public import convert
from fsgym.datasets.public.canonical import canonical_cell, table_bytes
from fsgym.datasets.public.convert import ARRAY_FORMS, TABLE_FORMS
from fsgym.datasets.public.record import public_sets
from support.downloads import packed

SETS = public_sets()
EXCERPTS = json.loads((Path(__file__).parents[2] / "data" / "published.json").read_text(encoding="utf-8"))
PLACED = [e for e in EXCERPTS if e["set"] != "splice_libsvm"]  # whose rows are in the order of the converted files
# Rows 0, 61 and 48,841 of a9a, and the places of their ones, from 1.
A9A = b"""-1 3:1 11:1 14:1 19:1 39:1 42:1 55:1 64:1 67:1 73:1 75:1 76:1 80:1 83:1 \n\
-1 2:1 18:1 27:1 35:1 45:1 64:1 67:1 73:1 74:1 76:1 80:1 \n\
+1 3:1 8:1 16:1 19:1 39:1 40:1 51:1 63:1 67:1 73:1 74:1 76:1 82:1 83:1 \n"""
A9A_ROWS = {
    0: (-1, [3, 11, 14, 19, 39, 42, 55, 64, 67, 73, 75, 76, 80, 83]),
    61: (-1, [2, 18, 27, 35, 45, 64, 67, 73, 74, 76, 80]),
    48841: (1, [3, 8, 16, 19, 39, 40, 51, 63, 67, 73, 74, 76, 82, 83]),
}
# The end of the last row of zip.train, which has four decimals and a space at its end, and that of zip.test.
ZIP_TRAIN = "-1.0000 -0.6340 0.8030 0.5890 -0.9070 -1.0000 -1.0000 -1.0000 -1.0000 -1.0000 -1.0000 "
ZIP_TRAIN_VALUES = [-1000, -634, 803, 589, -907, *[-1000] * 6]
ZIP_TEST = "-0.991 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -0.505 0.907 0.655 -0.95 -1 -1 -1 -1 -1"
ZIP_TEST_VALUES = [-991, *[-1000] * 12, -505, 907, 655, -950, *[-1000] * 5]
# A post has head lines, an empty line and a body; the words are ours, the forms of its names and numbers the published.
HEAD = "From: ann@host4.Edu (Ann B)\nSubject: Re: _The Faith_, etc.\nNNTP-Posting-Host: x1.edu\nLines: 2\n\n"
BODY = "In article <C50KDr.93Apr5120934@host.edu>, bob@host.edu writes:\n>Faith85(ABC) isn't faith.\n"


def needed_folder(name):
    folder = find_folder(None)
    if folder is None or name not in read_manifest(folder):
        pytest.skip(f"needs the data set {name}")
    return folder


def converted_rows(excerpt):
    """The rows that the conversion gives, as those of a CSV file."""
    public, lines = SETS[excerpt["set"]], excerpt["lines"]
    text = excerpt["ends"].join(lines) + excerpt["ends"] * excerpt["last"]
    content = gzip.compress(text.encode()) if excerpt["set"] == "kddcup99_10percent" else text.encode()
    tables = TABLE_FORMS["table"]([content], public.options, public.options["features"])
    return table_bytes(pd.concat(tables)).decode().splitlines()[1:]


def name_of(excerpt):
    return f"{excerpt['set']}:{excerpt['file']}:{excerpt['seen'][:9]}"


@pytest.mark.parametrize("excerpt", EXCERPTS, ids=name_of)
def test_rows_as_published_are_converted(excerpt):
    assert excerpt["file"] in [d.file for d in SETS[excerpt["set"]].downloads]
    assert converted_rows(excerpt) == [row for _, row in excerpt["rows"]]


@pytest.mark.parametrize("excerpt", PLACED, ids=name_of)
@pytest.mark.one_in(3)
def test_rows_as_published_are_those_of_the_converted_files(excerpt):
    table = converted_table(excerpt)
    for number, row in excerpt["rows"]:
        assert [canonical_cell(cell) for cell in table.iloc[number]] == next(csv.reader([row]))


def converted_table(excerpt):
    """The table of the converted files that an excerpt belongs to, in a folder of data sets."""
    folder = needed_folder(excerpt["set"])
    files = [excerpt["converted"]] if excerpt["converted"] else list(SETS[excerpt["set"]].checksums)
    paths = [p for p in (folder / f"{file}{end}" for file in files for end in ("", ".gz")) if p.is_file()]
    return pd.concat([pd.read_csv(p, dtype=str, keep_default_na=False) for p in paths], ignore_index=True)


def test_sequences_as_published_are_among_those_of_the_converted_files():
    (excerpt,) = (e for e in EXCERPTS if e["set"] == "splice_libsvm")
    rows = {",".join(row) for row in converted_table(excerpt).itertuples(index=False)}
    codes = str.maketrans("AGCT", "1234")
    (_, donor), (_, neither) = excerpt["rows"]
    assert donor.removesuffix("EI").translate(codes) + "-1" in rows
    assert neither.removesuffix("N").translate(codes) + "1" in rows


def test_binary_rows_as_published_are_converted():
    public = SETS["a9a"]
    parts = ARRAY_FORMS["libsvm"]([A9A], {**public.options, "first_rows": 2})
    rows = [(int(part["y"][i]), columns_of(part, i)) for part in parts for i in range(len(part["y"]))]
    assert rows == list(A9A_ROWS.values())


def test_binary_rows_as_published_are_those_of_the_converted_files():
    folder = needed_folder("a9a")
    for place, file in ((0, "a9a.train.npz"), (32561, "a9a.test.npz")):
        part = dict(np.load(folder / file, allow_pickle=False))
        for number, row in A9A_ROWS.items():
            if 0 <= number - place < len(part["y"]):
                assert (part["y"][number - place], columns_of(part, number - place)) == row


def columns_of(part, row):
    return (part["indices"][part["indptr"][row] : part["indptr"][row + 1]] + 1).tolist()


def test_digits_as_published_are_converted():
    contents = [f"1.0000 {ZIP_TRAIN}\n".encode(), gzip.compress(f"1 {ZIP_TEST}\n".encode())]
    (arrays,) = ARRAY_FORMS["digits"](contents, {})
    assert (arrays["X_train"].tolist(), arrays["y_train"].tolist()) == ([ZIP_TRAIN_VALUES], [1])
    assert (arrays["X_test"].tolist(), arrays["y_test"].tolist()) == ([ZIP_TEST_VALUES], [1])


def test_digits_as_published_are_those_of_the_converted_file():
    arrays = dict(np.load(needed_folder("usps") / "usps.npz", allow_pickle=False))
    assert arrays["X_train"][-1, -len(ZIP_TRAIN_VALUES) :].tolist() == ZIP_TRAIN_VALUES
    assert arrays["X_test"][-1, -len(ZIP_TEST_VALUES) :].tolist() == ZIP_TEST_VALUES
    assert (arrays["y_train"][-1], arrays["y_test"][-1]) == (1, 1)


def test_words_of_head_lines_count_and_parts_of_longer_names_do_not(monkeypatch):
    """As in posts 51120 and 51121 of alt.atheism, and 82758 and 82763 of talk.religion.misc, read as published."""
    monkeypatch.setattr(convert, "MIN_POSTS", 1)
    text = (HEAD + BODY).encode("latin-1")
    archive = packed({"20news-bydate-train/a/1": text, "20news-bydate-test/a/2": text})
    train, test = ARRAY_FORMS["posts"]([archive], {"groups": ["a"]})
    counts = dict(zip(train["feature_names"].tolist(), train["data"].tolist(), strict=True))
    once = ["abc", "article", "bob", "etc", "faith", "from", "in", "isn"]
    once += ["lines", "nntp", "posting", "re", "subject", "writes"]
    assert counts == {**dict.fromkeys(once, 1), "ann": 2, "edu": 4, "host": 3}
    assert test["data"].tolist() == train["data"].tolist()


def test_a_dense_matrix_of_mostly_zeros_is_read_where_its_shape_is_recorded(monkeypatch):
    """X of the published files of texts is dense, and may have over a hundred times the size of its file."""
    monkeypatch.setattr(convert, "most_unpacked", lambda n: 1_000_000)
    file, X = io.BytesIO(), np.zeros((500, 400))
    X[499, 399] = 7
    savemat(file, {"X": X, "Y": np.ones((500, 1))}, do_compression=True)
    options = {"dtype": "uint8", "sparse": True}
    (arrays,) = ARRAY_FORMS["matlab"]([file.getvalue()], {**options, "shape": (500, 400)})
    assert (arrays["data"].tolist(), arrays["indices"].tolist(), arrays["indptr"][-2:].tolist()) == ([7], [399], [0, 1])
    with pytest.raises(ValueError, match="too large"):
        ARRAY_FORMS["matlab"]([file.getvalue()], {**options, "shape": (50, 40)})
