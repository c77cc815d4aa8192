"""Tables as people have them: what is read, and one sentence with the remedy for what is not."""

import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsgym import describe, load_dataset
from fsgym.text.messages import as_command
from support.refusals import one_sentence, refused

ROWS = "".join(f"{i % 7},{'xyz'[i % 3]},{'yes' if i % 2 else 'no'}\n" for i in range(30))


def with_column(values):
    """A CSV file with a column c of these values, each in turn, and an ordinary column."""
    rows = [f"{values[i % len(values)]},{i % 5},{'yes' if i % 2 else 'no'}" for i in range(max(30, len(values)))]
    return "\n".join(["c,b,target", *rows, ""])


BAD = {  # content, part of the sentence, remedy
    "empty": ("", "is empty", "header line and rows"),
    "blank": (" \n\n", "is empty", "header line"),
    "no rows": ("a,b,target\n", "no rows below its header line", "add them"),
    "no header": ("5,1.5,0\n4,2.5,1\n", "no header line: its first line is 5, 1.5, 0", "add one"),
    "repeated header": ("a,b,target\n1,2,x\na,b,target\n1,3,y\n", "line 3 of .* repeats the header line", "remove it"),
    "repeated name": ("a,a,target\n1,2,x\n1,3,y\n", "two columns 'a'", "rename or remove"),
    "name with spaces": ("a, a,target\n1,2,x\n1,3,y\n", "'a', which differ only by spaces", "rename"),
    "no name": (",b,target\n0,2,x\n1,3,y\n", "column 1 of .* has no name", r"--drop 'Unnamed: 0'"),
    "more cells": ("a,b,target\n1,2,x\n1,2,3,y\n1,2,3,y\n", "line 3 of .* has 4 cells, more", "quotation marks"),
    "fewer cells": ("a,b,target\n1,2,x\n1,y\n", r"line 3 of .* has 2 cells, fewer than .* \(3\)", "correct"),
    "open quote": ('a,b,target\n1,"2,x\n1,3,y\n', "cannot be read as a CSV", "close each quotation mark"),
    "text after quote": ('a,b,target\n1,"2"3,x\n', "line 2", "quotation mark"),
    "null character": ("a,b,target\n1,2\0,x\n", "null character in line 2", "tr -d"),
    "latin 1": ("a,b,target\n1,é,x\n".encode("latin-1"), "not text in UTF-8 .byte 0xe9 in line 2", "CSV UTF-8"),
    "utf 16": ("a,b,target\n1,2,x\n".encode("utf-16"), "text in UTF-16", "save it as UTF-8"),
    "workbook": (b"PK\x03\x04" + bytes(40), "Excel workbook", "suffix .xlsx"),
    "old workbook": (b"\xd0\xcf\x11\xe0" + bytes(40), "Excel workbook", "export the sheet as CSV"),
    "gzip": (gzip.compress(ROWS.encode()), "compressed with gzip", r"suffix .csv.gz"),
    "parquet": (b"PAR1" + bytes(40), "Parquet file", r"suffix .parquet"),
    "two separators": ("a,b;c,target\n1,2;3,x\n", "separated by comma or semicolon", "--separator ,"),
    "other separator": ("a b target\n1 2 x\n1 3 y\n", "one cell, 'a b target'", "--separator"),
    "thousands": ("a;target\n" + "1,5;x\n" * 101 + "1.500;y\n", "'1.500', whose point may separate", "--decimal ."),
    "nearly numeric": (with_column(["1", "2", "3", "unknown"]), "numbers and 7 times 'unknown'", "--numeric c"),
    "limits": (with_column(["1", "2", "<0.6"]), "20 numbers and 10 times '<0.6'", "--censored limit .or half"),
    "units": (with_column(["12 mg", "13 mg", "20 mg"]), "values like '12 mg'", "write plain numbers"),
    "percent": (with_column(["12 %", "13", "20%"]), "10 numbers and 20 values like '12 %'", "--numeric c"),
    "big numbers": (with_column(['"1,499"', '"2,100"', '"1,100"']), "values like '1,499'", "--thousands ,"),
    "decimal comma": (with_column(['"1,5"', '"2,25"', '"1,0"']), "values like '1,5'", "--decimal ,"),
    "date": (with_column(["2020-01-03", "2020-02-03"]), "'c' of .* looks like a date", "--drop c"),
    "german date": (with_column(["3.1.2020", "13.12.2020"]), "looks like a date", "--drop c"),
    "american date": (with_column(["12/31/2020", "1/2/2020"]), "looks like a date", "number of days|days since"),
    "time": (with_column(["08:30", "9:15"]), "looks like a time of day", "drop"),
    "day as number": (with_column(["20200103", "20201231"]), "looks like a date", "--numeric c"),
    "identifier": (with_column([f"p{i}" for i in range(30)]), "is unique in each row", "--drop c"),
    "row number": (with_column(list(range(30))), "is unique in each row", "--drop c"),
    "many levels": (with_column([f"p{i % 63}" for i in range(189)]), "has 63 levels", "--category c"),
    "spaces": (with_column(["p", "p "]), "'p' beside 'p ', which differ only by spaces", "write them alike"),
    "case": (with_column(["p", "P"]), "differ only by upper and lower case", "--category c"),
    "precision": (with_column([(0, 2**24, 2**24 + 1)[i % 3] for i in range(18)]), "float32", "--numeric c"),
    "missing class": ("a,target\n1,NaN\n2,yes\n3,yes\n", "target.* has the class 'NaN' in 1 row", "remove these rows"),
    "class with space": ("a,target\n1,yes\n2,yes \n3,no\n", "'yes' beside 'yes '", "write them alike"),
    "no label": ("a,target\n1,\n2,yes\n3,no\n", r"1 row\(s\) .* no value in the target", "remove them"),
}  # fmt: skip
SUSPICIOUS_COLUMNS = [name for name, (content, _, remedy) in BAD.items() if "c,b,target" in str(content)]


@pytest.fixture
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("f")  # its name is part of messages, so it must not be that of the test

    def write(content, name="bad.csv"):
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("name", BAD)
def test_bad_tables(file, name):
    content, text, remedy = BAD[name]
    path = file(content)
    refused(ValueError, f"(?s){text}", path)
    with as_command():
        refused(ValueError, remedy, path)
    refused(ValueError, "bad.csv(?!.*--)", path)  # in Python, no option of the command line is named


@pytest.mark.parametrize("name", SUSPICIOUS_COLUMNS)
def test_a_suspicious_column_loads_if_an_option_asks_for_it(file, name):
    content, _, remedy = BAD[name]
    path = file(content)
    assert load_dataset(path, drop=["c"]).feature_names == ("b",)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = load_dataset(path, category=["c"])
        assert data.columns[0].kind == "category"
        if "numeric" in remedy:
            assert load_dataset(path, numeric=["c"]).feature_names == ("c", "b")
    described = describe(path).set_index("column")
    assert described.loc["c", "suspicion"]
    assert described.loc["b", "suspicion"] == "5 distinct whole numbers, which may be a code"


def test_odd_cells_are_missing_in_a_column_of_numbers(file):
    with pytest.warns(UserWarning, match="count as missing: 2 of 'c', such as '<0.6'"):
        data = load_dataset(file("c,target\n1,x\n<0.6,y\nunknown,x\n4,y\n"), numeric=["c"])
    np.testing.assert_array_equal(data.X[:, 0], [1, np.nan, np.nan, 4])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found(file, separator):
    path = file("a,b,target\n".replace(",", separator) + ROWS.replace(",", separator))
    expected = load_dataset(file("a,b,target\n" + ROWS, "plain.csv"))
    for options in ({}, {"separator": "tab" if separator == "\t" else separator}):
        data = load_dataset(path, **options)
        assert data.feature_names == ("a", "b=x", "b=y", "b=z")
        assert data.X.tobytes() == expected.X.tobytes()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a;b;target\n1,5;p;x\n2,25;q;y\n?;p;x\n", "decimal.csv"),
        ("sep=;\r\na;b;target\r\n1,5;p;x\r\n2,25;q;y\r\n;p;x\r\n", "excel.csv"),
        ("a\tb\ttarget\n1.5\tp\tx\n2.25\tq\ty\n\tp\tx\n", "tabs.tsv"),
        ("\ufeff a , b,target\n1.5,p,x\n2.25,q,y\nNA,p,x\n", "spaces.csv"),
        ('a,b,target\n"1.5","p",x\n\n2.25,q,y\nnull,p,x', "quotes.csv"),
        ("\ufeffa,b,target\r1.5,p,x\r2.25,q,y\r,p,x\r", "mac.csv"),
    ],
)
def test_good_tables(file, text, name):
    for path in (file(text, name), file(gzip.compress(text.encode()), f"{name}.gz")):
        data = load_dataset(path)
        assert data.feature_names == ("a", "b=q")
        np.testing.assert_array_equal(data.X, np.array([[1.5, 0], [2.25, 1], [np.nan, 0]], np.float32))
        assert data.name == name.split(".")[0]


def test_given_separator_and_decimal_sign(file):
    assert load_dataset(file("a,b;c,target\n1,2;3,x\n4,5;6,y\n"), target="b;c", separator=",").n_features == 2
    path = file('a,target\n"1,500",x\n"2,25",y\n')
    assert load_dataset(path, decimal=",").X.tolist() == [[1.5], [2.25]]
    refused(ValueError, "separator must be one character.*got 'ab'", path, separator="ab")
    refused(ValueError, "decimal must be", path, decimal=";")
    refused(ValueError, "different characters", path, decimal=",", separator=",")
    refused(ValueError, "separator is only for text files", "wine", separator=",")
    refused(ValueError, "decimal is only for tables of your own", "wine", decimal=",")
    refused(ValueError, "category is only for tables with column names", "wine", category=["alcohol"])


def test_options_that_name_columns(file):
    path = file("a,b,target\n" + ROWS)
    refused(ValueError, "category: unknown column of .*'bb'.*did you mean 'b'|unknown", path, category=["bb"])
    refused(ValueError, "must not both name 'a'", path, category=["a"], numeric="a")
    refused(ValueError, "numeric must not name the target", path, numeric=["target"])
    refused(ValueError, "none of its cells is a plain number", path, numeric=["b"])
    refused(TypeError, "numeric must be a list", path, numeric=3)
    assert load_dataset(path, category=["a"]).feature_names[:2] == ("a=0", "a=1")


def test_codes_of_a_category_stay_as_they_are_written(file):
    data = load_dataset(file("zip,target\n007,x\n7,y\n010,x\n"), category=["zip"])
    assert data.columns[0].levels == ("007", "7", "010")


def test_the_index_of_a_pandas_table_can_be_dropped(tmp_path):
    pd.DataFrame({"a": [1, 2, 2], "target": ["x", "y", "x"]}).to_csv(tmp_path / "t.csv")
    assert load_dataset(tmp_path / "t.csv", drop=["Unnamed: 0"]).feature_names == ("a",)


def test_a_column_that_does_not_vary_gives_a_warning(file):
    path = file("a,b,target\n1,1,x\n1,2,y\n")
    with pytest.warns(UserWarning, match="do not vary.*'a' has the value 1 in each row"):
        load_dataset(path)


def test_a_data_frame(file):
    path = file("a,b,target\n" + ROWS)
    frame = pd.read_csv(path)
    data = load_dataset(frame)
    assert data.name == "data"
    assert data.X.tobytes() == load_dataset(path).X.tobytes()
    assert load_dataset(frame, "train").n_samples == 21
    assert load_dataset(frame.rename(columns={"target": "ill"}), target="ill", drop=["b"]).n_features == 1
    frame["pid"] = [f"p{i}" for i in range(30)]
    refused(ValueError, "'pid' of the DataFrame is unique in each row", frame)
    assert load_dataset(frame.astype({"pid": "category"})).n_features == 34
    refused(ValueError, "two columns 'a'", frame.set_axis(["a", "a", "target", "pid"], axis=1))
    refused(ValueError, "no rows", frame[:0])
    refused(ValueError, "separator is only for text files", frame, separator=",")
    refused(ValueError, "looks like a date", frame[["a", "target"]].assign(t=pd.Timestamp("2020-01-01")))
    texts = frame[["a", "target"]].assign(a=frame["a"].astype(str).where(frame["a"] > 0, "?"))
    assert np.isnan(load_dataset(texts).X).sum() == (frame["a"] == 0).sum()


def test_parquet_without_pyarrow(file, monkeypatch):
    import fsgym.support.extras

    monkeypatch.setattr(fsgym.support.extras, "find_spec", lambda name: None)
    refused(ImportError, r"table.parquet needs pyarrow: .*pip install .*\[parquet\]", file("x", "table.parquet"))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="needs pyarrow, which the extra parquet installs")
    frame = pd.DataFrame({"a": [1, 2, 2], "b": ["p", "q", "p"], "target": ["x", "y", "x"]})
    frame.to_parquet(tmp_path / "t.parquet")
    assert load_dataset(tmp_path / "t.parquet").X.tobytes() == load_dataset(frame).X.tobytes()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    refused(ValueError, "bad.parquet cannot be read as a Parquet file", tmp_path / "bad.parquet")


CELLS = st.sampled_from(
    ["1", "2.5", "1,5", "<3", "x", "", "NA", "2020-01-01", "p ", '"', ";", ",", "|", "\t", "\0", "é"]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.sampled_from(["a,b,target", "a;b;target", "a,a,target", ",b,target", "target", "1,2,3"]),
    rows=st.lists(st.lists(CELLS, max_size=4).map(",".join), max_size=8),
    options=st.sampled_from([{}, {"category": ["a"]}, {"numeric": ["a"]}, {"drop": ["b"]}, {"decimal": ","}]),
)
def test_no_table_gives_anything_but_one_sentence(file, header, rows, options):
    path = file("\n".join([header, *rows]))
    for load in (lambda: load_dataset(path, **options), lambda: describe(path)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load()
        except (ValueError, TypeError, OSError) as error:
            problem = error
        else:
            problem = None
        assert problem is None or one_sentence(problem), problem


def test_all_suspicious_columns_are_named_at_once(tmp_path):
    path = tmp_path / "bad.csv"
    table = pd.DataFrame({"who": [f"p{i}" for i in range(30)], "day": ["2024-01-02"] * 30, "b": range(30)})
    table.assign(crp=["1", "2", "<1"] * 10, target=["x", "y"] * 15).to_csv(path, index=False)
    told = "4 columns of .*'who' is unique .*; 'day' looks like .*; 'b' is unique .*; 'crp' has 20 numbers and 10 times"
    refused(ValueError, rf"{told}.*drop=\['who', 'day', 'b', 'crp'\] leaves them all out", path)
    with as_command():
        refused(ValueError, "--drop who,day,b,crp leaves them all out", path)


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_a_title_above_the_names_is_said_with_the_option_that_reads_it(tmp_path, suffix):
    path = tmp_path / f"titled.{suffix}"
    rows = [["age", "sex", "target"], *([str(20 + i), "mf"[i % 2], "xy"[i % 2]] for i in range(8))]
    if suffix == "csv":
        path.write_text("Patients 2024, ward 3\n\n" + "\n".join(map(";".join, rows)) + "\n")
    else:
        pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
        titled = [
            ["Patients 2024", None, None],
            [None] * 3,
            rows[0],
            *([int(age), sex, label] for age, sex, label in rows[1:]),
        ]
        pd.DataFrame(titled).to_excel(path, header=False, index=False)
    refused(ValueError, "row 3 looks like the names .age, sex, target.: pass header_row=3", path)
    data = load_dataset(path, header_row=3)
    assert data.columns.names == ("age", "sex")
    assert data.n_samples == 8
