"""Columns that are probably not what they seem, and columns that only look that way."""

import datetime
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fsgym
from fsgym.data.reading.tables import read_table
from fsgym.data.suspicions import check_numeric, find_label_suspicion, find_note, find_suspicion, plain_numbers
from support.problems import FOLDER, needs_folder
from support.refusals import refused

SUSPICIOUS = [
    (["1"] * 1499 + ["unknown"], "nearly numeric", "^1,499 numbers and 'unknown'$", "numeric=.*category=.*drop="),
    (["1"] * 20 + ["<0.6"] * 13 + ["<2"], "nearly numeric", "^20 numbers and 14 values like '<0.6'$",  "numeric=.*"),
    (["5", "6", "x", "x"], "nearly numeric", "2 numbers and 2 times 'x'", "numeric"),
    (["12 mg", "14 mg", "15mg"], "nearly numeric", "3 values like '12 mg'", "write plain numbers"),
    (["45 %", "30 %", "20%"], "nearly numeric", "3 values like '45 %'", "category"),
    (["1,499", "2,100", "1,700"], "nearly numeric", "values like '1,499'", "decimal=','"),
    (["3,5", "4,25", "2,0"], "nearly numeric", "values like '3,5'", "decimal=','"),
    (["$12", "$14", "$15"], "nearly numeric", "values like", "category"),
    (["2020-01-03", "2020-02-30"], "date", "looks like a date, as in '2020-01-03'", "number of days|drop"),
    (["2020-01-03T12:00:01Z", "2020-01-03 12:00"], "date", "looks like a date", "drop"),
    (["3.4.2020", "31.12.99"], "date", "looks like a date", "drop"),
    (["12/31/2020"], "date", "looks like a date", "drop"),
    (["31/12/2020", "1-2-2020"], "date", "looks like a date", "drop"),
    (["3 Feb 2021", "12-Jan-2020", "January 3, 2020"], "date", "looks like a date", "drop"),
    (["08:30", "9:15"], "date", "looks like a time of day", "drop"),
    ([20200103, 20201231], "date", "looks like a date", "numeric"),
    ([20200103.0, np.nan], "date", "looks like a date", "numeric"),
    ([datetime.date(2020, 1, 3), None], "date", "looks like a date or time", "category"),
    (pd.to_datetime(["2020-01-03"]), "date", "looks like a date or time", "drop"),
    (pd.to_timedelta([1, 2], unit="h"), "date", "looks like a date or time", "drop"),
    (pd.period_range("2020", periods=2, freq="M"), "date", "looks like a date or time", "drop"),
    ([f"p{i}" for i in range(10)], "identifier", "is unique in each row", "drop"),
    ([3 * i for i in range(100)], "identifier", "is unique in each row", r"drop=\['c'\]"),
    (list(range(20))[::-1], "identifier", "is unique in each row", "numeric"),
    ([f"p{i % 63}" for i in range(200)], "many levels", "^has 63 levels$", "category"),
    (["p", "p ", "q"], "spelling", "'p' beside 'p ', which differ only by spaces", "write them alike"),
    (["a  b", "a b"], "spelling", "spaces", "category"),
    (["M", "m"], "spelling", "upper and lower case", "category"),
    (["True", "False", "1", "0"], "spelling", "'True' beside '1', which may mean the same", "write them alike"),
    ([True, False, 1, 0, None], "spelling", "'True' beside '1', which may mean the same", "category"),
    (["yes", "no", "", "0"], "spelling", "'no' beside '0'", "category"),
    (["1.0", "0.0", "y", "n"], "spelling", "'1.0' beside 'y'", "category"),
    ([0, 2**24, 2**24 + 1], "precision", "3 distinct values, of which float32 keeps 2 apart", "numeric"),
    ([0, 1e-46], "precision", "2 distinct values, of which float32 keeps 1 apart", "another unit, or pass drop"),
    ([0.5] + [1.6e9 + i + 0.5 for i in range(50)], "precision", "float32", "extreme values"),
    (["a\0b", "c"], "null bytes", "null characters", "category"),
    ([[1], [2]], "type", "type list", "drop"),
    ([1j, 2j], "type", "complex", "drop"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind", "text", "remedy"), SUSPICIOUS)
def test_suspicious_columns(values, kind, text, remedy):
    found = find_suspicion(pd.Series(values, name="c"))
    assert found is not None
    assert found.kind == kind
    assert pd.Series([found.text]).str.contains(text).all(), found.text
    assert pd.Series([found.remedy]).str.contains(remedy).all(), found.remedy


@pytest.mark.parametrize(
    "values",
    [
        [1.6e9 + i + 0.5 for i in range(50)],
        [2**24, 2**24 + 1],
        ["0-2", "3-5", "6-9"],
        ["yes", "no", "unknown", "NA"],
        ["40-49", "50-59"] * 20,
        ["18-25", "26-35", ">65"],
        ["<3", ">=3"],
        ["<0", "0<=X<200", ">=200", "no checking"],
        ["1st", "2nd", "3rd"],
        ["3a", "3b", "4a"],
        ["2 doors", "4 doors"],
        ["A1", "B2", "C3", "D4"],
        ["1.2.3", "4.5.6"],
        ["may", "june"],
        [f"p{i % 50}" for i in range(200)],
        [f"p{i}" for i in range(9)],
        list(range(19)),
        [3 * i for i in range(99)],
        [3.0 * i for i in range(200)],
        [0.1 + 0.2, 0.3, 0.5],
        [12345678, 23456789],
        [True, False, None],
        [None, None],
        [],
    ],
)
def test_plain_columns(values):
    assert find_suspicion(pd.Series(values, name="c", dtype=None if values else object)) is None


def test_names_of_identifiers():
    odd = [3 * i for i in range(30)]
    for name in ("id", "pid", "patient_id", "patientId", "Case Number", "MRN"):
        assert find_suspicion(pd.Series(odd, name=name)).kind == "identifier"  # type: ignore[union-attr]
    for name in ("humidity", "idle", "c"):
        assert find_suspicion(pd.Series(odd, name=name)) is None


def test_a_category_is_taken_at_its_word():
    assert find_suspicion(pd.Series([f"p{i}" for i in range(100)], dtype="category")) is None


@pytest.mark.parametrize(
    ("values", "text", "remedy"),
    [
        (["a", "NaN"], "the class 'NaN' in 1 row", "rename the class"),
        (["a", ""], "the class ''", "remove these rows"),
        (["None", "mild", "None"], "the class 'None' in 2 row", "category"),
        (["p", "p "], "differ only by spaces", "write them alike"),
        (["yes", "no", "Yes"], "'yes' beside 'Yes', which differ only by upper and lower case", "write them alike"),
        (["p\0", "q"], "null characters", "remove them"),
        (["yes", "no", "1", "0"], "'yes' beside '1', which may mean the same", "write them alike"),
    ],
)
def test_suspicious_labels(values, text, remedy):
    for dtype in (None, "category"):
        found = find_label_suspicion(pd.Series(values, name="y", dtype=dtype))
        assert found is not None
        assert text in found.text
        assert remedy in found.remedy


@pytest.mark.parametrize(
    "values", [["hid", "hId"], ["a", "A"], [0, 1], ["no", None], [True, False], [f"c{i}" for i in range(70)]]
)
def test_plain_labels(values):
    assert find_label_suspicion(pd.Series(values, name="y")) is None


def test_notes():
    assert find_note(pd.Series([None, np.nan])) == "has no value"
    assert find_note(pd.Series([3, 3])) == "has the value 3 in each row"
    assert find_note(pd.Series(["x", "x"])) == "has the value 'x' in each row"
    for values in ([3, 4], ["x", None], [3], [[1], [1]]):
        assert find_note(pd.Series(values)) is None


def test_numbers_in_text():
    assert plain_numbers(pd.Series(["1", "?", None, "2.5"])).tolist()[::3] == [1, 2.5]  # type: ignore[union-attr]
    for values in (["1", "x"], [True, None], [datetime.date(2020, 1, 1)]):
        assert plain_numbers(pd.Series(values, dtype=object)) is None


def test_numbers_on_request():
    for values in (["1", "<2", None], [None, None], [1, 2], ["x", "3"]):
        check_numeric(pd.Series(values, name="c"))
    for values in (["12 mg", None], [datetime.date(2020, 1, 1)], ["NA", "x"]):
        refused(ValueError, "numeric names 'c'.*none of its cells", pd.Series(values, name="c"), call=check_numeric)


@needs_folder
@pytest.mark.slow
def test_no_column_of_the_folder_is_suspicious_unless_listed():
    """Of the tables of the folder, three have columns that only their manifest makes categories."""
    manifest = json.loads((Path(str(FOLDER)) / "MANIFEST.json").read_text())
    found, listed = set(), set()
    for name, record in manifest.items():
        if record["format"] != "csv" or name == "kddcup99_10percent":
            continue
        frames = [read_table(Path(str(FOLDER)) / entry["file"])[0] for entry in record["files"]]
        frame = pd.concat(frames, ignore_index=True)
        assert find_label_suspicion(frame["target"]) is None
        for column in frame.columns.drop("target"):
            if find_suspicion(frame[column]):
                (listed if column in record["categorical_columns"] else found).add((name, column))
    assert not found
    assert listed == {("car", "doors"), ("car", "persons"), ("nursery", "children")}


def test_a_message_repeats_no_endless_name(tmp_path):
    frame = pd.DataFrame({"x" * 900: ["1", "2", "three"] * 10, "y": [0, 1, 1] * 10})
    with pytest.raises(ValueError, match=r"the column 'xxx.* whole name") as caught:
        fsgym.load_dataset(frame, target="y")
    assert len(str(caught.value)) < 400
    with pytest.raises(OSError, match=r"a\.\.\.a+.csv cannot be read") as unreadable:
        fsgym.load_dataset(tmp_path / ("a" * 900 + ".csv"), target="y")
    assert len(str(unreadable.value)) < 400
