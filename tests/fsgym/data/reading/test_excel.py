"""Excel workbooks: sheets, rows of names, per cent, numbers written as text, and what is wrong in one sentence."""

from __future__ import annotations

import datetime
import zipfile

import numpy as np
import pytest

import fsgym
from fsgym import describe, load_dataset
from fsgym.cli.files import read_error_costs, read_needs
from fsgym.data.columns import Column, Columns
from fsgym.data.reading import excel
from fsgym.datasets import load_costs, read_table_for
from fsgym.support import extras
from support.refusals import refused

openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
ROWS = [["age", "crp", "ward", "ill"], [61, "3,5", "007", "yes"], [40.5, "<1,5", 7, "no"], [None, 12, "er", "yes"]]


def write(folder, sheets, name="cases.xlsx"):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(folder / name)
    return folder / name


def test_a_sheet_is_read_as_it_is_shown(tmp_path):
    title: list[list] = [["Ward 3, exported 2025"], [], *ROWS, [], []]
    path = write(tmp_path, {"cases": title, "empty": []})
    options = {"target": "ill", "category": ["ward"], "header_row": 3, "censored": "half"}
    with pytest.warns(UserWarning, match="1 of 'crp', such as '<1,5'"):
        data = load_dataset(path, **options)
    assert [c.levels for c in data.columns if c.levels] == [("007", "7", "er")]
    np.testing.assert_array_equal(data.X[:, :2], np.array([[61, 3.5], [40.5, 0.75], [np.nan, 12]], np.float32))
    assert data.columns[1].decimal == ","
    with pytest.warns(UserWarning, match="<1,5"):
        read = read_table_for(data.columns, path, header_row=3)
    assert read["crp"].tolist() == [3.5, 0.75, 12]
    np.testing.assert_array_equal(data.columns.encode(read), data.X)


def test_the_sheet_is_named_where_there_are_several(tmp_path, monkeypatch):
    path = write(tmp_path, {"notes": [["made by"], ["x"]], "cases": ROWS})
    refused(ValueError, r"several sheets, notes, cases; .*sheet='cases'", path)
    refused(ValueError, "no sheet 'case'; its sheets are notes, cases", path, sheet="case")
    for sheet in ("cases", "2"):
        assert describe(path, sheet=sheet)["column"].tolist() == ROWS[0]
    read, value_of = [], excel._value_of
    monkeypatch.setattr(excel, "_value_of", lambda cell: read.append(cell.value) or value_of(cell))
    describe(path, sheet="2")
    assert "made by" not in read
    describe(path, sheet="1")
    assert "made by" in read
    refused(ValueError, "sheet is only for Excel workbooks", "wine", sheet="a")
    refused(ValueError, "header_row must be the number of a row", path, header_row=0)


def test_prices_of_a_workbook_are_on_a_sheet_of_that_name_or_the_only_one(tmp_path):
    prices: list[list] = [["column", "price"], ["age", 0], ["crp", 2.5]]
    for sheets in (
        {"cases": ROWS, " Prices": [[], *prices]},
        {"any": prices, "empty": []},
        {"x": ROWS, "COSTS": prices},
    ):
        assert load_costs(write(tmp_path, sheets)) == {"age": 0.0, "crp": 2.5}
    path = write(tmp_path, {"cases": ROWS, "more": prices})
    refused(ValueError, "several sheets, cases, more; call the one that is meant 'prices'", path, call=load_costs)
    refused(ValueError, "two columns, name and price", write(tmp_path, {"cases": ROWS}), call=load_costs)
    refused(ValueError, "has no prices", write(tmp_path, {"empty": []}), call=load_costs)
    assert load_costs(write(tmp_path, {"a": [["age", "4,5"], ["crp", 1.25]]})) == {"age": 4.5, "crp": 1.25}
    mixed = write(tmp_path, {"a": [["age", "4,5"], ["crp", "1.200"]]})
    refused(ValueError, "'1.200' beside '4,5', but numbers must have one decimal sign", mixed, call=load_costs)


def test_costs_of_errors_may_be_a_sheet_beside_the_cases(tmp_path):
    data = fsgym.Dataset(np.eye(2), ["ill", "well"], feature_names=["crp", "age"])
    errors = [[None, "well", "ill"], ["ill", 5, 0], ["well", 0, 120.5]]
    path = write(tmp_path, {"cases": ROWS, "prices": [["age", 0]], "Errors": errors, "related": [[]]})
    assert read_error_costs(path, data) == {"ill": {"ill": 0, "well": 5}, "well": {"ill": 120.5, "well": 0}}
    path = write(tmp_path, {"cases": ROWS, "prices": [["age", 0]]})
    with pytest.raises(ValueError, match="several sheets, cases, prices; call the one that is meant 'errors'"):
        read_error_costs(path, data)
    needs = [[None, "age", "crp"], ["crp", 1, 0], ["age", 0, 0]]
    path = write(tmp_path, {"cases": ROWS, "needs": needs})
    np.testing.assert_array_equal(read_needs(path, data), [[False, True], [False, False]])


def test_per_cent_is_read_as_it_is_shown(tmp_path):
    path = write(tmp_path, {"a": [["sat", "pulse", "ill"], [0.941, 70, "no"], [0.57, 71, "yes"], [1, 75.5, "no"]]})
    book = openpyxl.load_workbook(path)
    for cell in book["a"]["A"][1:]:
        cell.number_format = "0.0%"
    book.save(path)
    with pytest.warns(UserWarning, match="'%' of 'sat'"):
        data = load_dataset(path, target="ill")
    assert data.columns[0].unit == "%"
    np.testing.assert_array_equal(data.X[:, 0], np.array([94.1, 57, 100], np.float32))


def in_format(folder, cells, number_format, beside):
    """A workbook with a column ``a`` in a format, one of other cells ``b``, and the classes."""
    rows: list[list] = [["a", "b", "target"]]
    path = write(
        folder, {"a": [*rows, *([cell, beside[i % len(beside)], "xy"[i % 2]] for i, cell in enumerate(cells))]}
    )
    book = openpyxl.load_workbook(path)
    for cell in book["a"]["A"][1:]:
        cell.number_format = number_format
    book.save(path)
    return path


@pytest.mark.filterwarnings("ignore:.*(signs that are left out|points separate)")
@pytest.mark.parametrize("beside", [["1.234,5", "2,5"], ["34,5", "2,5"], [1, 2.5]])
def test_the_signs_of_other_columns_and_of_the_model_do_not_count_for_per_cent(tmp_path, beside):
    path = in_format(tmp_path, [0.12345, 0.5, 0.95025], "0.0%", beside)
    data = load_dataset(path)
    np.testing.assert_array_equal(data.X[:, 0], np.float32([12.345, 50, 95.025]))
    numbers = [float(v.replace(".", "").replace(",", ".")) if isinstance(v, str) else v for v in beside]
    np.testing.assert_array_equal(data.X[:2, 1], np.float32(numbers))
    for writing in ({"decimal": ","}, {"decimal": ",", "thousands": "."}):
        read = read_table_for(Columns([Column("a", unit="%", **writing), Column("b", **writing)]), path)
        assert read["a"].tolist() == [12.345, 50, 95.025]


@pytest.mark.filterwarnings("ignore:.*signs that are left out")
@pytest.mark.parametrize(
    ("number_format", "factor", "unit"),
    [
        ('0.0"%"', 1, "%"),
        ('0.0" %"', 1, "%"),
        (r"0.0\%", 1, "%"),
        ("0.0_%", 1, ""),
        ('0.0"% of all"', 1, ""),
        ("0.0%;[Red]-0.0%", 100, "%"),
        ('0.0" of "%', 100, "%"),
        ("0.0;-0.0%", 1, ""),
    ],
)
def test_a_sign_that_is_quoted_or_escaped_does_not_multiply(tmp_path, number_format, factor, unit):
    data = load_dataset(in_format(tmp_path, [94.5, 57.25, 7.5], number_format, [1, 2]))
    np.testing.assert_array_equal(data.X[:, 0], np.float32([94.5, 57.25, 7.5]) * factor)
    assert data.columns[0].unit == unit


def test_per_cent_beside_other_cells_needs_the_user(tmp_path):
    path = in_format(tmp_path, [0.945, 0.5, 0.75], "0.0%", [1, 2])
    book = openpyxl.load_workbook(path)
    book["a"]["A3"].number_format = "0.0"
    book.save(path)
    refused(ValueError, "'0.5' and '94.5 %'|numeric=..a..,", path)
    with pytest.warns(UserWarning, match="'%' of 'a'"):
        assert load_dataset(path, numeric=["a"]).X[:, 0].tolist() == [94.5, 0.5, 75]
    assert load_dataset(path, category=["a"]).columns[0].levels == ("0.5", "75 %", "94.5 %")
    assert set(load_dataset(path, target="a").classes.tolist()) == {"0.5", "75 %", "94.5 %"}


def test_dates_errors_and_empty_columns(tmp_path):
    day = datetime.datetime(2025, 1, 3)
    rows: list[list] = [
        ["day", None, "v", "ill"],
        [day, None, 1, "no"],
        [day, None, "#DIV/0!", "yes"],
        [day, None, 2.5, "no"],
    ]
    path = write(tmp_path, {"a": rows})
    refused(ValueError, "looks like a date", path, target="ill")
    data = load_dataset(path, target="ill", drop=["day"])
    np.testing.assert_array_equal(data.X[:, 0], [1, np.nan, 2.5])


BAD = {
    "no name": ([["a", None, "target"], [1, 2, "x"], [1, 3, "y"]], "column 2 of .* has no name in row 1.*header_row"),
    "two names": ([["a", "a", "target"], [1, 2, "x"], [1, 3, "y"]], "two columns 'a'"),
    "no rows": ([["a", "target"]], "no rows below row 1"),
    "empty": ([], "no rows below row 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_sheets(tmp_path, name):
    rows, match = BAD[name]
    refused(ValueError, match, write(tmp_path, {"a": rows}))


def test_files_that_are_no_workbooks(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    path.write_text("a,b\n1,2\n")
    refused(ValueError, "cannot be read as an Excel workbook", path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(60_000_000))
    refused(ValueError, "t.xlsx has 60 MB unpacked, more than the 50 MB", path)
    whole = write(tmp_path, {"a": ROWS})
    whole.write_bytes(whole.read_bytes()[:-200])
    refused(ValueError, "cannot be read as an Excel workbook", whole)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    columns = Columns([Column("age")])
    for call in (load_dataset, describe, lambda path: read_table_for(columns, path)):
        refused(ImportError, "reading .*t.xlsx needs openpyxl: .*excel", path, call=call)
