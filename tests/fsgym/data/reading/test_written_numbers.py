"""Numbers as they are written: thousands separators, per cent, currencies and limits; none is misread in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fsgym import describe, load_dataset
from fsgym.data.columns import Column, Columns
from fsgym.data.reading.model_tables import labels_for
from fsgym.data.written import are_plain, written_number
from fsgym.datasets import read_table_for
from fsgym.session.values import value_of_text
from support.refusals import refused

UNCLEAR = ["6,400", "980", "1,007", "16,236"]


def write(folder, cells, beside=("1.5", "2", "3.5", "4"), separator=";"):
    """A file with a column ``c``, one of other numbers ``b``, and the classes."""
    cells, path = [f'"{c}"' if separator in c else c for c in cells], folder / "written.csv"
    rows = [separator.join([c, beside[i % 4], "xy"[i % 2]]) for i, c in enumerate(cells)]
    path.write_text(separator.join(["c", "b", "target\n"]) + "\n".join(rows) + "\n")
    return path


def column(data):
    return data.X[:, 0].tolist()


CLEAR = {  # cells, the other column, the numbers, what is said
    "two groups": (["1,234,567", "12", "1,007"], ("1.5",), [1234567, 12, 1007], "commas separate thousands"),
    "with decimals": (["1,234.5", "12", "1,007"], ("1",), [1234.5, 12, 1007], "commas separate thousands"),
    "german": (["1.234,5", "12", "1.007"], ("1,5",), [1234.5, 12, 1007], "points separate thousands"),
    "german, whole": (["1.234.567", "12", "1.007"], ("1",), [1234567, 12, 1007], "points separate thousands"),
    "swiss": (["1'234", "12", "1’007"], ("1.5",), [1234, 12, 1007], "apostrophes separate thousands"),
    "spaces": (["1 234", "12", "1\u202f007"], ("1,5",), [1234, 12, 1007], "spaces separate thousands"),
    "per cent": (["94,1 %", "12%", "7 %"], ("1,5",), [94.1, 12, 7], "'%' of 'c'"),
    "euro": (["6400,50 €", "12 €", "7 €"], ("1,5",), [6400.5, 12, 7], "'€' of 'c'"),
    "dollar": (["$6400", "$12", "$7.5"], ("1.5",), [6400, 12, 7.5], "'[$]' of 'c'"),
    "code": (["CHF 64", "CHF 12", "CHF 7"], ("1.5",), [64, 12, 7], "'CHF' of 'c'"),
}


@pytest.mark.filterwarnings("ignore:.*do not vary")
@pytest.mark.parametrize("name", CLEAR)
def test_what_has_one_reading_is_read_and_said(tmp_path, name):
    cells, beside, numbers, said = CLEAR[name]
    path = write(tmp_path, cells, beside * 4)
    with pytest.warns(UserWarning, match=said):
        data = load_dataset(path)
    np.testing.assert_array_equal(column(data), np.float32(numbers))
    unit = said.split("'")[1].strip("[]") if "' of 'c'" in said else ""
    assert data.columns[0].unit == unit
    with pytest.warns(UserWarning, match=said):
        assert describe(path)["unit"].tolist()[0] == unit
    with pytest.warns(UserWarning, match=said):
        table = load_dataset(pd.read_csv(path, sep=";", dtype=str))
    np.testing.assert_array_equal(table.X, data.X)


def test_one_group_of_three_digits_is_never_read_in_silence(tmp_path):
    path = write(tmp_path, UNCLEAR, separator=",")
    refused(ValueError, "thousands=',' if that separates thousands", path)
    assert column(load_dataset(path, thousands=",")) == [6400, 980, 1007, 16236]
    assert column(load_dataset(path, thousands="comma")) == [6400, 980, 1007, 16236]
    refused(ValueError, r"'6,400', whose comma .* as '1.5' has a decimal point; pass thousands=','", path, decimal=",")
    whole = write(tmp_path, UNCLEAR, beside="1234")
    refused(ValueError, "thousands=','", whole)
    with pytest.warns(UserWarning, match="'6,400' is read as 6.4; if its comma separates thousands"):
        assert column(load_dataset(whole, decimal=",")) == np.float32([6.4, 980, 1.007, 16.236]).tolist()


def test_points_between_groups_are_not_read_in_silence_either(tmp_path):
    points = [cell.replace(",", ".") for cell in UNCLEAR]
    path = write(tmp_path, points, beside=["1,5", "2", "3,5", "4"])
    for options in ({}, {"decimal": ","}):
        refused(ValueError, r"'6.400', whose point may separate thousands.*thousands='\.'", path, **options)
    assert column(load_dataset(path, thousands=".")) == [6400, 980, 1007, 16236]
    with pytest.warns(UserWarning, match="'6.400' is read as 6.4; if its point separates thousands"):
        load_dataset(write(tmp_path, points, beside="1234"))


@pytest.mark.parametrize("text", ["1,234,567", "1,234.5"])
def test_a_decimal_comma_is_refused_where_commas_separate_thousands(tmp_path, text):
    path = write(tmp_path, ["1,5", text, "2,5", "3,5"])
    refused(ValueError, f"'{text}', whose commas separate thousands; pass thousands=','", path, decimal=",")


def test_the_decimal_sign_of_a_file_reads_three_decimals(tmp_path):
    """A specific gravity of 1,007 beside numbers with other decimals."""
    path = write(tmp_path, ["1,007", "1,030", "1,012"], beside=["1,5", "2", "3,5", "4"])
    assert column(load_dataset(path)) == np.float32([1.007, 1.03, 1.012]).tolist()


def test_options_of_numbers_are_checked(tmp_path):
    path = write(tmp_path, UNCLEAR)
    refused(ValueError, "thousands must be .* got ';'", path, thousands=";")
    refused(ValueError, "decimal and thousands must be different", path, thousands=",", decimal=",")
    refused(ValueError, "censored must be one of limit, half, missing, got 'third'", path, censored="third")
    refused(ValueError, "thousands is only for tables of your own", "wine", thousands=",")


LIMITS = ["<1,5", "3,4", "> 200", "12", "<1,5", "≥50"]


@pytest.mark.parametrize(
    ("censored", "numbers"),
    [
        ("limit", [1.5, 3.4, 200, 12, 1.5, 50]),
        ("half", [0.75, 3.4, 200, 12, 0.75, 50]),
        ("missing", [np.nan, 3.4, np.nan, 12, np.nan, np.nan]),
    ],
)
def test_limits_count_as_declared_and_are_counted(tmp_path, censored, numbers):
    path = write(tmp_path, LIMITS, beside=["1,5", "2", "3,5", "4"])
    refused(ValueError, "censored='limit' .or half, or missing.", path)
    with pytest.warns(UserWarning, match="limit count as .*: 4 of 'c', such as '<1,5'"):
        data = load_dataset(path, censored=censored)
    np.testing.assert_array_equal(column(data), np.float32(numbers))


def test_half_of_a_negative_limit_would_be_above_it(tmp_path):
    """A base excess of <-5 beside -4 and -3."""
    path = write(tmp_path, ["<-5", "-4", "-3", "2", "≤-6", "<1"])
    with pytest.warns(UserWarning, match="the limit where it is negative, .*: 3 of 'c'"):
        assert column(load_dataset(path, censored="half")) == [-5, -4, -3, 2, -6, 0.5]


def test_levels_and_classes_keep_their_signs(tmp_path):
    """Where every cell has a limit, the column is a category."""
    table = pd.DataFrame({"age": ["<65", ">65"] * 3, "b": range(6), "target": ["<30 %", ">30 %"] * 3})
    data = load_dataset(table, censored="limit")
    assert data.columns[0].levels == ("<65", ">65")
    assert data.classes.tolist() == ["<30 %", ">30 %"]


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_levels_and_classes_stay_as_they_are_written(tmp_path, kind):
    """So that the table has them for the model, too: the levels are read as text then."""
    table = pd.DataFrame({"c": ["True", "1,5", *["False", "True"] * 6], "b": ["1,5", "2"] * 7})
    table["target"] = ["1,5", "none"] * 7
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    data = load_dataset(table if kind == "frame" else tmp_path / "t.csv")
    assert (data.columns[0].levels, data.columns[1].decimal) == (("1,5", "False", "True"), ",")
    assert data.classes.tolist() == ["1,5", "none"]
    read = read_table_for(data.columns, tmp_path / "t.csv", keep=["target"])
    np.testing.assert_array_equal(data.columns.encode(read), data.X)
    np.testing.assert_array_equal(labels_for(read["target"], data.classes, "target"), table["target"])
    assert labels_for(table["b"], np.array([2, 1.5]), "b").tolist() == [1.5, 2] * 7
    codes = table.assign(target=["1E2", "10E1", "1,5"] * 4 + ["1,5"] * 2)
    codes.to_csv(tmp_path / "t.csv", index=False, sep=";")
    assert load_dataset(codes if kind == "frame" else tmp_path / "t.csv").classes.tolist() == ["1,5", "10E1", "1E2"]


def test_signs_in_some_cells_need_the_user(tmp_path):
    path = write(tmp_path, ["94.1 %", "93", "92", "unknown"])
    refused(ValueError, r"numeric=\[.c.\]", path)
    with pytest.warns(UserWarning, match=".") as said:
        data = load_dataset(path, numeric=["c"])
    np.testing.assert_array_equal(column(data), np.float32([94.1, 93, 92, np.nan]))
    assert ["'%' of 'c'" in str(said[0].message), "1 of 'c', such as 'unknown'" in str(said[1].message)] == [True, True]
    refused(ValueError, "'[$]6'", write(tmp_path, ["$6", "7 €", "$8", "9 €"]))


GERMAN = Columns([Column("c", decimal=",", thousands=".", censored="half"), Column("b", decimal=",", thousands=".")])


def test_a_later_table_is_read_as_that_of_the_model(tmp_path):
    """By itself it would be refused: each number has one group of three digits."""
    path = write(tmp_path, ["6.400", "<1.007", "12", "7"], beside="1234")
    with pytest.warns(UserWarning, match="1 of 'c', such as '<1.007'"):
        read = read_table_for(GERMAN, path)
    assert read["c"].tolist() == [6400, 503.5, 12, 7]
    texts = pd.DataFrame({"c": ["6.400", "1.007,5", "<3", None], "b": ["1,5", "2", "3", "4"]})
    np.testing.assert_array_equal(GERMAN.encode(texts)[:, 0], np.float32([6400, 1007.5, 1.5, np.nan]))
    english = write(tmp_path, ["6400.5", "1007", "12", "7"])
    assert read_table_for(GERMAN, english)["c"].tolist() == [6400.5, 1007, 12, 7]


def test_the_signs_of_a_model_do_not_count_where_commas_separate_cells(tmp_path):
    """As pandas writes numbers with three decimals; by the signs of the model they would be 6400 and 95000."""
    path = write(tmp_path, ["6.400", "980.250"] * 60, beside=["95.000"] * 4, separator=",")
    with pytest.warns(UserWarning, match="'6.400' is read as 6.4; if its point separates thousands"):
        read = read_table_for(GERMAN, path)
    assert read.to_numpy()[:2].tolist() == [[6.4, 95], [980.25, 95]]
    assert read_table_for(GERMAN, path, thousands=".").to_numpy()[0].tolist() == [6400, 95000]
    quoted = write(tmp_path, ["6.400", "1,5"] * 2, beside=["95.000"] * 4, separator=",")
    assert read_table_for(GERMAN, quoted).to_numpy()[:2].tolist() == [[6400, 95000], [1.5, 95000]]


def test_no_text_of_a_table_is_read_again_by_the_signs_of_the_model(tmp_path):
    """The points of the column beside are decimal signs."""
    points = ["12.5", "0.5", "1.5", "2.5"]
    marked = Columns([GERMAN[0]._replace(unit="%"), GERMAN[1]])
    with pytest.warns(UserWarning, match="'%' of 'c'"):
        read = read_table_for(marked, write(tmp_path, ["94.123 %", "95", "7.5", ""], beside=points))
    np.testing.assert_array_equal(marked.encode(read)[:, 0], np.float32([94.123, 95, 7.5, np.nan]))
    unclear = write(tmp_path, ["1,007", "95", "7", ""], beside=points)
    refused(ValueError, "column 'c' must hold numbers, got '1,007'", GERMAN, unclear, call=read_table_for)


def test_a_decimal_beyond_the_first_rows_is_not_read_beside_thousands(tmp_path):
    path = write(tmp_path, ["6.400"] * 120 + ["12.5"], beside="1234")
    refused(ValueError, "column 'c' of .* has '12.5', whose point cannot", GERMAN, path, call=read_table_for)
    refused(ValueError, "column 'c' of .* has '12.5', whose point cannot", path, thousands=".")
    assert read_table_for(GERMAN, path, decimal=".")["c"].tolist() == [6.4] * 120 + [12.5]


def test_a_table_is_encoded_as_the_model_read_it(tmp_path):
    """Also with the sign of per cent, but with none of another unit."""
    table = pd.DataFrame({"c": ["94.5 %", "12 %", "7 %"] * 2, "b": range(6), "target": ["x", "y"] * 3})
    with pytest.warns(UserWarning, match="'%' of 'c'"):
        data = load_dataset(table)
    np.testing.assert_array_equal(data.columns.encode(table), data.X)
    for unit in ("mg/l", ""):
        for column in (Column("c", unit=unit), Column("c", unit=unit, decimal=",")):
            refused(ValueError, "must hold numbers, got '94.5 %'", table, call=Columns([column]).encode)


@pytest.mark.parametrize("dtype", ["string", "object"])
def test_missing_cells_of_pandas_are_missing(dtype):
    cells = pd.Series(["5,5 %", pd.NA, "7 %", None], dtype=dtype)
    notes = pd.Series(["5 %", pd.NA, "none", "none"], dtype=dtype)
    table = pd.DataFrame({"c": cells, "n": notes, "target": ["x", "y"] * 2})
    with pytest.warns(UserWarning, match="'%' of 'c'"):
        data = load_dataset(table)
    np.testing.assert_array_equal(data.X[:, 0], np.float32([5.5, np.nan, 7, np.nan]))
    assert data.columns[1].levels == ("5 %", "none")
    np.testing.assert_array_equal(data.columns.encode(table), data.X)


def test_the_writing_of_columns_is_kept_and_checked():
    assert Columns.from_json(GERMAN.to_json()) == GERMAN
    assert Columns([Column("c")]).to_json() == [{"name": "c"}]
    assert GERMAN.encodes_like(Columns([Column("c"), Column("b")]))
    refused(ValueError, "how numbers are written", [{"name": "c", "decimal": ";"}], call=Columns.from_json)


@pytest.mark.parametrize("text", ["{}x", "<{}x", "1{}x", "€{}x", "1{}%x"])
def test_many_spaces_in_a_cell_are_read_at_once(text):
    """With neighbouring stars of spaces in the pattern this would not end: the time grew with their third power."""
    cells = [text.format(" " * 20_000)]
    assert are_plain(cells)
    assert written_number(cells[0], GERMAN[0].writing) is None
    assert not are_plain([" " * 20_000 + "1,5", "7"])


def test_a_decimal_point_beside_decimal_commas_is_never_read_in_silence(tmp_path):
    """At each door: a table that trains, one for a model, rows of Python, and what a person types."""
    said = "'1.5', but its numbers have decimal commas; write it as '1,5'"
    late = write(tmp_path, ["1,5"] * 200 + ["1.5"], beside=tuple("1234"))
    refused(ValueError, said, late)
    other = tmp_path / "other.csv"
    other.write_text("a;b;target\n" + "1,5;1.5;x\n2,5;2.5;y\n" * 4)
    refused(ValueError, said, other, decimal=",")
    crp = Column("crp", decimal=",")
    path = tmp_path / "new.csv"
    path.write_text("crp;age\n1,5;1\n1.5;2\n")
    with pytest.raises(ValueError, match=said):
        read_table_for(Columns([crp]), path, decimal=",")
    with pytest.raises(ValueError, match=said):
        Columns([crp]).encode(pd.DataFrame({"crp": ["1,5", "1.5"]}))
    assert value_of_text(crp, "1.5") == "1.5"  # which no column of numbers takes
    assert Columns([crp]).encode(pd.DataFrame({"crp": ["1,5", 2.5]})).tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize("separator", [";", ","])
@pytest.mark.parametrize("declared", [{}, {"decimal": "."}, {"numeric": ["c"]}], ids=str)
def test_decimal_commas_in_one_column_and_points_in_another_are_both_named(tmp_path, separator, declared):
    path = write(tmp_path, ["5,3", "12,0", "", "7"] * 4, ("1412.0", "80", "?", "33.25"), separator)
    both = "written.csv has decimal commas in 'c', as '5,3', and decimal points in 'b', as '1412.0'; write all "
    both += "numbers with the same decimal sign"
    refused(ValueError, both + r"; cells that are no numbers need category=\['c'\]", path, **declared)
    if not declared:
        levels = load_dataset(path, category=["c"]).columns[0].levels
        assert set(levels) == {"5,3", "12,0", "7"}
        assert load_dataset(path, drop=["c"]).X[0, 0] == 1412
    model = Columns([Column("c"), Column("b")])
    with pytest.raises(ValueError, match=f"{both}$"):
        read_table_for(model, path, decimal=declared.get("decimal"))


def test_texts_beside_decimal_points_are_not_taken_for_decimal_commas(tmp_path):
    path = write(tmp_path, ["5,3", "a", "7,1", "b"] * 4, ("1412.0", "80", "3", "33.25"))
    assert set(load_dataset(path).columns[0].levels) == {"5,3", "a", "7,1", "b"}
    assert read_table_for(Columns([Column("b")]), path)["b"].tolist()[:2] == [1412, 80]
