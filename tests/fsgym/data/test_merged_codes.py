"""Codes that are one number when they are read as such, as 1E2 and 10E1, are never merged without a word."""

import decimal
import json
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import fsgym
from fsgym.data.cells import MISSING_WORDS, decimal_form
from fsgym.data.columns import Column, Columns
from fsgym.data.reading.model_tables import labels_for
from fsgym.data.reading.tables import read_table
from fsgym.data.suspicions import plain_numbers
from fsgym.datasets import load_costs, read_table_for
from support.refusals import refused

MERGED = [("1E2", "10E1"), ("1e2", "100"), ("1E2", "1e2"), ("007", "7"), ("0", "00"), ("1e-400", "0"), ("1e2", "1e+2")]
LONG = [("1" + "0" * 24, "1" + "0" * 23 + "1"), ("9007199254740993.5", "9007199254740993.25")]
ONE_NUMBER = ["1", "1.0", "+1", "1.", "1.000"]
TARGET = "target"


def write(path, column, cells, labels=None):
    labels = ["ill" if k % 2 else "fit" for k in range(len(cells))] if labels is None else labels
    rows = (f'"{cell}",{label}' for cell, label in zip(cells, labels, strict=True))
    path.write_text("\n".join([f"{column},{TARGET}", *rows]) + "\n", encoding="utf-8")
    return path


def written_alike(a: str, b: str) -> bool:
    """Whether two numbers differ only by sign and zeros at the end of decimals; by the parts of ``decimal``."""
    if a == b:
        return True
    if "e" in (a + b).lower():
        ends = [re.split("(e.*)", text, flags=re.IGNORECASE)[1:2] for text in (a, b)]
        if ends[0] != ends[1]:
            return False
        a, b = (re.split("e", text, flags=re.IGNORECASE)[0] for text in (a, b))
    zeros = [len(re.match("0*", re.sub(r"^[+-]", "", t.strip()).split(".")[0].zfill(1))[0]) for t in (a, b)]  # type: ignore[index]
    return zeros[0] == zeros[1] and decimal.Decimal(a.strip()) == decimal.Decimal(b.strip())


@pytest.mark.parametrize(("a", "b"), MERGED + LONG)
def test_codes_are_refused_with_the_options_that_resolve_it(tmp_path, a, b):
    path = write(tmp_path / "t.csv", "ward", [a, b] * 4)
    said = rf"the column 'ward' of .*t.csv has {re.escape(repr(a))} beside {re.escape(repr(b))}, which are one number "
    remedy = r".*; pass category=\['ward'\], numeric=\['ward'\] or drop=\['ward'\]"
    refused(ValueError, said + remedy, path)
    row = fsgym.describe(path).iloc[0]
    assert row["type"] == "text"
    assert row["suspicion"] == f"has {a!r} beside {b!r}, which are one number but may be two codes"
    assert row["remedy"].startswith("pass category=")
    coded = fsgym.load_dataset(path, category=["ward"])
    assert set(coded.columns[0].levels) == {a, b}
    assert len(np.unique(coded.X[:, 0])) == 2
    assert len(np.unique(fsgym.load_dataset(path, numeric=["ward"]).X)) == 1


def test_codes_in_text_give_the_answer_that_numbers_lose():
    """The wards of the case decide the outcome; by a count of rows, not by a model."""
    rng = np.random.default_rng(0)
    wards = np.array(["1E2", "10E1", "2E1", "20"])[rng.integers(0, 4, 200)]
    frame = pd.DataFrame({"ward": wards, "outcome": np.isin(wards, ["1E2", "2E1"])})
    refused(ValueError, "'ward' of the DataFrame has .* which are one number", frame, target="outcome")
    data = fsgym.load_dataset(frame, target="outcome", category=["ward"])
    which = [tuple(row) for row in data.X]
    assert all(len({label for row, label in zip(which, data.y) if row == seen}) == 1 for seen in set(which))


def test_one_number_in_several_decimal_forms_stays_a_number(tmp_path):
    path = write(tmp_path / "t.csv", "dose", [*ONE_NUMBER, "-0", "0.0", "-0.50", "-.5", " 2", "2 "])
    data = fsgym.load_dataset(path)
    assert data.X[:, 0].tolist() == [1.0] * 5 + [0.0, 0.0, -0.5, -0.5, 2.0, 2.0]
    assert data.columns[0].kind == "number"
    assert fsgym.describe(path)["suspicion"].tolist() == ["", ""]


def test_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "dose;target\n" + "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(["1,5", "1,50", "2,0", "2"] * 2))
    )
    assert fsgym.load_dataset(path).X[:4, 0].tolist() == [1.5, 1.5, 2.0, 2.0]
    path.write_text("dose;target\n" + "".join(f"{cell};{k % 2}\n" for k, cell in enumerate(["1,5", "01,5", "2,0"] * 2)))
    refused(ValueError, "'1.5' beside '01.5'", path)
    assert fsgym.load_dataset(path, numeric=["dose"]).X[:3, 0].tolist() == [1.5, 1.5, 2.0]


@pytest.mark.parametrize("labels", [["1E2", "10E1"], ["7", "007"]])
def test_labels_are_refused_or_kept_apart(tmp_path, labels):
    path = write(tmp_path / "t.csv", "dose", list("12345678"), labels * 4)
    refused(ValueError, f"the target column 'target' of .* has '{labels[0]}' beside '{labels[1]}'", path)
    assert "one number" in fsgym.describe(path).iloc[1]["suspicion"]
    assert fsgym.load_dataset(path, category=[TARGET]).classes.tolist() == sorted(labels)
    plain = fsgym.load_dataset(write(path, "dose", list("12345678"), ["1", "1.0", "+1", "2"] * 2))
    assert plain.classes.tolist() == [1, 2]


def test_labels_for_a_model_that_would_become_one_class():
    classes = np.array([7, 100])
    assert labels_for(pd.Series(["1E2", "1E2", "7"]), classes, "y").tolist() == [100, 100, 7]
    assert labels_for(pd.Series(["100", "100.0", "7"]), classes, "y").tolist() == [100, 100, 7]
    with pytest.raises(ValueError, match="y has the labels '1E2' and '10E1', which are both the class 100"):
        labels_for(pd.Series(["1E2", "10E1"]), classes, "y")
    with pytest.raises(ValueError, match="no class of the model"):
        labels_for(pd.Series(["10_0"]), classes, "y")


def test_row_groups_are_told_apart(tmp_path):
    rows = "".join(f"{pid},{k},{k % 2}\n" for k, pid in enumerate(["1E2", "10E1", "7", "007"] * 3))
    (tmp_path / "t.csv").write_text("pid,dose,target\n" + rows)
    data = fsgym.load_dataset(tmp_path / "t.csv", row_groups="pid", numeric=["dose"])
    assert data.row_groups is not None
    assert data.row_groups[:5].tolist() == [0, 1, 2, 3, 0]


def test_codes_of_two_files(tmp_path):
    """Neither file has two texts of one number, both together have."""
    write(tmp_path / "wards.train.csv", "ward", ["1E2", "3E1"] * 4)
    write(tmp_path / "wards.test.csv", "ward", ["10E1", "3E1"] * 4)
    refused(ValueError, "'1E2' beside '10E1', which are one number", "wards", data_dir=tmp_path)
    data = fsgym.load_dataset("wards", data_dir=tmp_path, category=["ward"])
    assert data.columns[0].levels == ("3E1", "10E1", "1E2")


def test_codes_of_a_manifest(tmp_path):
    write(tmp_path / "w.csv", "ward", ["1E2", "10E1"] * 4)
    record: dict = {"files": [{"file": "w.csv"}]}
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"w": record}))
    refused(ValueError, "'1E2' beside '10E1', .* list 'ward' in the categorical_columns", "w", data_dir=tmp_path)
    (tmp_path / "MANIFEST.json").write_text(json.dumps({"w": record | {"categorical_columns": ["ward"]}}))
    assert fsgym.load_dataset("w", data_dir=tmp_path).columns[0].levels == ("10E1", "1E2")


def test_values_of_a_category_for_a_model(tmp_path):
    """A level is what the file has as text, and no other text of the same number."""
    columns = Columns([Column("ward", "category", ("1E2", "10E1", "7"))])
    table = read_table_for(columns, write(tmp_path / "t.csv", "ward", ["1E2", "10E1", "7", "7.0"]))
    assert columns.encode(table).argmax(axis=1).tolist() == [0, 1, 2, 2]
    with pytest.warns(UserWarning, match="2 of 2 rows have levels of 'ward' that training did not"):
        assert np.isnan(columns.encode(pd.DataFrame({"ward": ["100", "007"]}))).all()


@pytest.mark.parametrize("dtype", [object, "str", "string"])
def test_columns_of_text_in_a_table(dtype):
    assert plain_numbers(pd.Series(["1", "1.0", None], dtype=dtype)) is not None
    assert plain_numbers(pd.Series(["1E2", "10E1", None], dtype=dtype)) is None
    assert plain_numbers(pd.Series([1, 1.0, decimal.Decimal("0E-3"), decimal.Decimal(0)], dtype=object)) is not None
    assert plain_numbers(pd.Series([10**20, 10**20 + 1], dtype=object)) is None


def test_text_is_no_table_of_numbers():
    for text in ("1E2", b"1E2"):
        with pytest.raises(TypeError, match="X must be a table of numbers"):
            fsgym.Dataset(np.array([[text], ["10E1"]], dtype=object), [0, 1])


def test_prices_are_plain_numbers(tmp_path):
    (tmp_path / "p.csv").write_text("age, 1e1 \n")
    assert load_costs(tmp_path / "p.csv") == {"age": 10.0}
    for odd in ("1_0", "\uff11", "nan", "inf"):
        (tmp_path / "p.csv").write_text(f"age,{odd}\n", encoding="utf-8")
        with pytest.raises(ValueError, match="must have a number of at least 0"):
            load_costs(tmp_path / "p.csv")
    (tmp_path / "p.json").write_text('{"age": "10"}')
    with pytest.raises(ValueError, match="the price of 'age', got '10'; write it without quotation marks"):
        load_costs(tmp_path / "p.json")


NUMBERS = st.from_regex(r"[+-]?0{0,2}[0-9]{1,3}(\.[0-9]{0,3})?([eE][+-]?0?[0-9])?", fullmatch=True)
OTHERS = st.sampled_from(["", "NA", "?", "\uff11", "0x1", "1_0", "1f", "inf", "1\u00a0", ".", "e1", "1 0", "-", "'1"])


@pytest.mark.filterwarnings("ignore:.* columns that do not vary")
@settings(deadline=None, max_examples=80)
@given(st.lists(NUMBERS | NUMBERS.map(lambda t: f" {t}") | OTHERS, min_size=2, max_size=6), st.booleans())
@example(["1E2", "10E1"], True)
@example(["0.0", "00"], False)
@pytest.mark.slow
def test_different_texts_are_never_one_value(tmp_path_factory, cells, from_file):
    """Whatever is in a column: what is not one number in decimal form is told apart, missing, or refused."""
    path = tmp_path_factory.getbasetemp() / "codes.csv"
    frame = pd.DataFrame({"c": cells, TARGET: ["ill" if k % 2 else "fit" for k in range(len(cells))]})
    frame["c"] = frame["c"].where(frame["c"] != "")
    try:
        data = fsgym.load_dataset(write(path, "c", cells) if from_file else frame)
    except ValueError:
        return
    for (i, a), (j, b) in combinations(enumerate(cells), 2):
        both_missing = a.strip() in MISSING_WORDS and b.strip() in MISSING_WORDS
        if np.array_equal(data.X[i], data.X[j], equal_nan=True) and not both_missing:
            assert written_alike(a, b), (a, b, data)


@settings(deadline=None, max_examples=200)
@given(NUMBERS, NUMBERS)
@example("-0", "0.0")
@example(".5", "0.50")
@pytest.mark.slow
def test_decimal_forms(a, b):
    assert (decimal_form(a) == decimal_form(b)) == written_alike(a, b)


def test_a_column_of_numbers_is_read_as_before(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"whole": rng.integers(-5, 5, 40), "real": rng.normal(size=40).round(1), "gap": [1.5, None] * 20}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv")[0], frame)


POSTAL = ["01874", "99970", "01900", "10115"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [False, True])
def test_whole_numbers_with_leading_zeros_are_refused_as_codes(tmp_path, separator, quoted):
    path, mark = tmp_path / "t.csv", '"' if quoted else ""
    lines = [f"{k / 4}{separator}{mark}{cell}{mark}{separator}{k % 2}" for k, cell in enumerate(POSTAL * 5)]
    path.write_text("\n".join([separator.join(["dose", "PLZ", TARGET]), *lines]))
    said = r"the column 'PLZ' of .* has leading zeros in 10 rows, as in '01874', and may be a code.*; pass "
    refused(ValueError, said + r"category=\['PLZ'\], numeric=\['PLZ'\] or drop=\['PLZ'\]", path)
    row = fsgym.describe(path, TARGET).set_index("column").loc["PLZ"]
    assert row["type"] == "text"
    assert row["suspicion"].startswith("has leading zeros in 10 rows, as in '01874'")
    data = fsgym.load_dataset(path, category=["PLZ"])
    assert set(data.columns[1].levels) == set(POSTAL)
    numbers = fsgym.load_dataset(path, numeric=["PLZ"])
    assert numbers.X[:4, 1].tolist() == [1874, 99970, 1900, 10115]
    assert read_table_for(numbers.columns, path)["PLZ"].tolist()[:2] == [1874, 99970]  # a model has decided it


def test_leading_zeros_of_a_data_frame_and_beside_numbers():
    frame = pd.DataFrame({"PLZ": pd.Series([*POSTAL, 99970, 10115] * 2, dtype=object), TARGET: [0, 1] * 6})
    refused(ValueError, "'PLZ' of the DataFrame has leading zeros in 4 rows, as in '01874'", frame)
    assert fsgym.load_dataset(frame, numeric=["PLZ"]).X[0, 0] == 1874


@pytest.mark.parametrize(
    "cells",
    [
        ["0", "0.5", "-0.3", "00.7"],
        ["0", "0", "10", "20"],
        ["01874", "1", "2", "3"],  # in one cell
        ["-05", "-07", "+01", "4"],
        ["0e1", "05.5", "1e-05", "1e-05"],
        ["", "0", "?", "5"],
    ],
)
def test_other_zeros_are_those_of_numbers(tmp_path, cells):
    path = write(tmp_path / "t.csv", "dose", cells)
    assert fsgym.load_dataset(path).columns[0].kind == "number"
    frame = pd.DataFrame({"dose": cells, TARGET: [0, 1, 0, 1]})
    assert fsgym.load_dataset(frame).columns[0].kind == "number"


@pytest.mark.parametrize(
    "cells", [["01:15", "02:30", "03:00", "04:10"], ["01.02.2024", "05.03.2024", "2.1.2024", "3.1.2024"]]
)
def test_times_and_dates_are_said_to_be_such(tmp_path, cells):
    refused(ValueError, "looks like a (date|time)", write(tmp_path / "t.csv", "when", cells))


@pytest.mark.parametrize("file", ["t.csv", "t.xlsx"])
def test_labels_and_numeric_targets_with_leading_zeros_are_read_as_before(tmp_path, file):
    if file.endswith("xlsx"):
        pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
    frame = pd.DataFrame({"dose": np.arange(8) / 4, TARGET: ["01", "02"] * 4})
    (frame.to_excel if file.endswith("xlsx") else frame.to_csv)(tmp_path / file, index=False)
    assert fsgym.load_dataset(tmp_path / file).classes.tolist() == [1, 2]
    assert fsgym.load_dataset(tmp_path / file, bins=2).target.tolist() == [1, 2] * 4
