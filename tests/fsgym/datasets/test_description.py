"""``describe`` and its command: one row per column, and nothing suspicious makes it fail."""

import datetime

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset, describe, load_dataset
from fsgym.cli import main
from support.refusals import refused


@pytest.fixture
def patients():
    n = 40
    return pd.DataFrame(
        {
            "pid": [f"p{i}" for i in range(n)],
            "age": ["unknown", *(str(20 + i % 30) for i in range(1, n))],
            "admitted": ["2020-01-03", "2020-02-04"] * (n // 2),
            "ward": ["er", "icu", "gp", None] * (n // 4),
            "crp": np.arange(n) % 7 + 0.5,
            "smoker": [True, False] * (n // 2),
            "same": [1] * n,
            "ill": ["yes", "no"] * (n // 2),
        }
    )


def test_one_row_per_column(patients):
    table = describe(patients, "ill", costs={"crp": 12.5}, units={"crp": "mg/l"}).set_index("column")
    types = ["text", "text", "date", "category", "number", "bool", "number", "classes"]
    assert table["type"].tolist() == types
    assert table.loc["age", "suspicion"] == "39 numbers and 'unknown'"
    assert "numeric=['age']" in table.loc["age", "remedy"]
    assert table.loc["pid", "suspicion"] == "is unique in each row"
    assert table.loc["same", "suspicion"] == "has the value 1 in each row"
    assert table.loc["ward", "levels"] == "3: er, gp, icu"
    assert table.loc["ward", "missing"] == 0.25
    assert table.loc["ward", ["suspicion", "remedy"]].tolist() == ["", ""]
    assert table.loc["crp", ["low", "high", "price", "unit"]].tolist() == [0.5, 6.5, 12.5, "mg/l"]
    assert np.isnan(table.loc["age", "price"])
    assert table.loc["ill", "levels"] == "2: no (20 rows), yes (20 rows)"
    assert describe(patients, "ill", costs=2)["price"].tolist()[:7] == [2.0] * 7


def test_nothing_suspicious_makes_it_fail():
    odd = {
        "list": [[1], [2]],
        "date": [datetime.date(2020, 1, 1), None],
        "stamp": pd.to_datetime(["2020", "2021"]),
        "period": pd.period_range("2020", periods=2, freq="M"),
        "interval": pd.IntervalIndex.from_breaks([0, 1, 2]),
        "complex": [1j, 2],
        "bytes": [b"a", b"b"],
        "infinite": [np.inf, 1],
        "nothing": [None, None],
        "null": ["a\0", "b"],
        "huge": [10**400, 1],
        "mixed": [1, "a"],
    }
    table = describe(pd.DataFrame(odd)).set_index("column")
    assert (table["suspicion"].drop(["infinite"]) != "").all()
    twice = describe(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    assert twice["suspicion"].tolist() == ["has the same name as another column"] * 2
    assert describe(pd.DataFrame()).empty
    assert describe(pd.DataFrame({"a": []}))["suspicion"].tolist() == ["has no value"]


def test_data_sets_by_name_and_object():
    wine = describe("wine")
    assert wine["type"].tolist() == ["number"] * 13 + ["classes"]
    assert wine.loc[0, "high"] == pytest.approx(14.83)
    frame = pd.DataFrame({"a": [1.0, 2, np.nan], "b": ["p", "q", "r"], "target": ["x", "y", "x"]})
    data = load_dataset(frame).replace(costs=[1, 5])
    table = describe(data)
    assert table["price"].tolist()[:2] == [1, 5]
    assert table["levels"].tolist() == ["", "3: p, q, r", "2: x (2 rows), y (1 row)"]
    assert table["missing"].tolist() == [pytest.approx(1 / 3), 0, 0]
    assert describe(Dataset([[1.0], [2.0]], [0, 1], units={"x0": "mg"}))["unit"].tolist() == ["mg", ""]


def test_mistakes_are_one_sentence(patients, tmp_path):
    refused(TypeError, "data must be a DataFrame", 3, call=describe)
    refused(ValueError, "no column 'sick'; choose one of them", patients, "sick", call=describe)
    refused(ValueError, "unknown data set 'wien'", "wien", call=describe)
    refused(FileNotFoundError, "no file", tmp_path / "no.csv", call=describe)
    refused(TypeError, "price of 'age' must be a number", patients, costs={"age": "x"}, call=describe)
    with pytest.warns(UserWarning, match="costs names 'agee', which is no column"):
        describe(patients, costs={"agee": 1})


def test_the_command_names_the_option_of_each_suspicion(patients, tmp_path, capsys):
    patients.to_csv(tmp_path / "patients.csv", index=False, sep=";", decimal=",")
    (tmp_path / "prices.json").write_text('{"crp": 12.5, "panel": 3}')
    arguments = [
        "describe",
        str(tmp_path / "patients.csv"),
        "--target",
        "ill",
        "--costs",
        str(tmp_path / "prices.json"),
    ]
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    output, error = capsys.readouterr()
    assert exited.value.code == 0
    assert all(len(line.rstrip()) <= 120 for line in output.split("\n\n")[0].splitlines())
    for line in (
        "age has 39 numbers and 'unknown'; pass --numeric age",
        "pid is unique in each row; pass --drop pid",
        "admitted looks like a date",
        "same has the value 1 in each row; it may be dropped: --drop same",
    ):
        assert line in output
    assert "12.5" in output
    assert "costs names 'panel'" in error
    with pytest.raises(SystemExit) as exited:
        main(["describe", str(tmp_path / "none.csv")])
    assert exited.value.code == 2
    assert "there is no file" in capsys.readouterr().err


def test_rows_without_a_class_are_said_and_small_shares_are_not_0(tmp_path, capsys):
    n = 300
    table = pd.DataFrame({"age": np.linspace(20, 90, n), "died": ["yes", "no"] * (n // 2)})
    table.loc[3, ["died", "age"]] = None
    found = describe(table, "died").set_index("column")
    assert found.loc["died", ["suspicion", "remedy"]].tolist() == ["has no value in 1 row(s)", "remove these rows"]
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SystemExit):
        main(["describe", str(tmp_path / "t.csv"), "--target", "died"])
    assert capsys.readouterr().out.count("<1%") == 2


def test_a_price_of_no_column_says_which_was_meant():
    with pytest.warns(UserWarning, match="'aeg', which is no column; .*did you mean 'age'"):
        describe(pd.DataFrame({"age": [1.5, 2], "sex": ["f", "m"]}), costs={"aeg": 1, "sex": 2})


def test_few_whole_numbers_may_be_a_code():
    codes = pd.DataFrame({"cp": [1, 2, 3, None] * 10, "two": [0, 1] * 20, "half": [0.5, 1, 2, 3] * 10})
    rows = describe(codes).set_index("column")
    assert rows["suspicion"].tolist() == ["3 distinct whole numbers, which may be a code", "", ""]
    assert rows.loc["cp", "remedy"] == "if they count nothing, pass category=['cp']"
    assert describe(codes.head(12))["suspicion"].tolist()[0] == ""


@pytest.fixture
def repeated():
    """50 rows and 7 of them again; a copy, a renamed copy, a copy of the class, and an identifier."""
    n = 50
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"crp": rng.normal(size=n).round(6), "sex": ["f", "m", "m", "f", "m"] * (n // 5)})
    table["outcome"] = rng.permutation(["ill", "well"] * (n // 2))
    table = pd.concat([table, table.head(7)], ignore_index=True)
    table["crp again"] = table["crp"].map(str)
    table["sex code"] = (table["sex"] == "m") + 0
    table.insert(0, "died", (table["outcome"] == "ill") + 0)
    table.insert(0, "pid", [f"p{k}" for k in range(len(table))])
    return table


def test_a_column_with_a_value_where_the_class_is_one_of_them_is_named():
    outcome = np.array(["no", "yes", "later"] * 20)
    table = pd.DataFrame({"age": np.arange(60) / 7, "outcome": outcome})
    table["reason"] = np.where(outcome == "yes", "x", None)
    table["follow-up"] = np.where(outcome == "yes", np.nan, np.arange(60) / 9)
    rows = describe(table, "outcome").set_index("column")
    assert rows.loc["reason", "suspicion"] == "has a value exactly where outcome is yes"
    assert rows.loc["follow-up", "suspicion"] == "is empty exactly where outcome is yes"
    assert rows.loc["reason", "remedy"] == "if it is filled in only afterwards, pass drop=['reason']"
    assert rows.loc["age", "suspicion"] == ""
    table.loc[0, "reason"] = "x"  # one row of another class
    assert describe(table, "outcome").set_index("column").loc["reason", "suspicion"] == ""


def test_copies_of_columns_are_named(repeated):
    rows = describe(repeated, "outcome").set_index("column")
    copies = {"crp again": "is a copy of crp", "sex code": "tells the same as sex"}
    assert rows.loc[list(copies), "suspicion"].tolist() == list(copies.values())
    assert rows.loc["sex code", "remedy"].endswith("pass drop=['sex code']")
    assert rows.loc["died", "suspicion"] == "tells the class in each row, as a copy of outcome"
    assert rows.loc[["crp", "sex", "outcome"], "suspicion"].tolist() == ["", "", ""]
    changed = repeated.assign(**{"crp again": repeated["crp"].map(str).where(repeated.index != 3)})
    assert describe(changed, "outcome").set_index("column").loc["crp again", "suspicion"] == ""
    counts = pd.DataFrame({"a": np.arange(40) / 8, "b": np.arange(40) / 4})  # all distinct: no renamed levels
    assert describe(counts)["suspicion"].tolist() == ["", ""]


def test_a_column_that_another_one_tells_may_have_prices_of_the_case(repeated, tmp_path, capsys):
    repeated["fee"] = np.where(repeated["sex"] == "m", 12.5, 40.0)
    remedy = describe(repeated, "outcome").set_index("column").loc["fee", "remedy"]
    assert remedy.endswith("pass drop=['fee'], or, where fee has the price of an acquisition in each row, case_costs")
    repeated.to_csv(tmp_path / "fees.csv", index=False)
    with pytest.raises(SystemExit):
        main(["describe", str(tmp_path / "fees.csv"), "--target", "outcome"])
    said = "pass --drop fee, or, where fee has the price of an acquisition in each row, --case-price NAME=fee"
    assert said in " ".join(capsys.readouterr().out.split())


def test_equal_rows_are_counted_and_kept_together(repeated):
    said = describe(repeated, "outcome").attrs["repeated_rows"]
    assert said.startswith("7 of 57 rows are equal to an earlier row in all features but pid and in the class; ")
    assert "row_groups='duplicates'" in said
    repeated.loc[50, "outcome"] = "well" if repeated.loc[0, "outcome"] == "ill" else "ill"
    del repeated["died"]
    assert "6 of them in the class, too" in describe(repeated, "outcome").attrs["repeated_rows"]
    assert describe(repeated.head(50), "outcome").attrs["repeated_rows"] == ""
    assert "rows with the same pid stay together" in describe(repeated, row_groups="pid").attrs["repeated_rows"]
    for together, n_shared in ((None, True), ("duplicates", False)):
        data = load_dataset(repeated, target="outcome", drop=["pid"], row_groups=together)
        parts = [{row.tobytes() for row in part.X} for part in data.split(0.7, seed=0)]
        assert bool(parts[0] & parts[1]) == n_shared
    named = repeated.rename(columns={"sex code": "duplicates"})  # a column of this name goes before
    assert load_dataset(named, target="outcome", drop=["pid"], row_groups="duplicates").row_groups.max() == 1


def test_the_command_says_what_is_repeated(repeated, tmp_path, capsys):
    repeated.to_csv(tmp_path / "repeated.csv", index=False)
    with pytest.raises(SystemExit) as exited:
        main(["describe", str(tmp_path / "repeated.csv"), "--target", "outcome"])
    assert exited.value.code == 0
    output = capsys.readouterr().out
    assert "crp again is a copy of crp" in output
    assert "7 of 57 rows are equal to an earlier row" in output


def test_a_target_of_many_numbers_is_said_to_be_one():
    table = pd.DataFrame({"a": np.arange(60) % 7, "y": np.linspace(1.0, 9.0, 60), "z": np.arange(60) % 3})
    row = describe(table, target="y").set_index("column").loc["y"]
    assert (row["low"], row["high"], row["suspicion"]) == (1.0, 9.0, "has 60 different numbers")
    assert "bins=16" in row["remedy"]
    assert describe(table, target="z").set_index("column").loc["z", "suspicion"] == ""
    table.loc[[3, 9], "y"] = [np.nan, np.inf]  # which a numeric target must not have
    remedy = describe(table, target="y").set_index("column").loc["y", "remedy"]
    assert remedy.startswith("remove the 2 row(s) without a finite number; ")


def test_copies_of_a_numeric_target_and_among_distinct_numbers_are_named():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "z": np.arange(60) // 2 % 2})
    table["y"] = rng.normal(size=60)
    table["b again"], table["late"] = table["b"], table["y"]
    rows = describe(table.set_axis([7] * 60), target="y").set_index("column")
    assert rows.loc["late", "suspicion"] == "tells the number in each row, as a copy of y"
    assert rows.loc["b again", "suspicion"] == "is a copy of b"
    assert rows.loc["y", "suspicion"] == "has 60 different numbers"
    assert rows.loc[["a", "b", "z"], "suspicion"].tolist() == ["", "", ""]
    table["grade"], table["stage"] = np.arange(60) % 5, [f"s{k % 5}" for k in range(60)]
    rows = describe(table, target="stage").set_index("column")
    assert rows.loc["grade", "suspicion"] == "tells the class in each row, as a copy of stage"


def test_the_advice_that_is_followed_is_not_given(repeated):
    del repeated["died"]
    for table, advised in ((repeated, True), (repeated.drop(columns="pid"), False)):
        said = describe(table, "outcome", row_groups="duplicates").attrs["repeated_rows"]
        assert [text in said for text in ("row_groups='duplicates'", "optimistic")] == [advised] * 2
    assert said.endswith("and in the class; they stay together in each split")


@pytest.mark.parametrize("option", [{"thousands": ","}, {"sheet": "x"}, {"separator": ";"}, {"target": "class"}])
def test_options_without_meaning_are_refused(patients, option):
    name = next(iter(option))
    wine = load_dataset("wine")
    for data in ("wine", wine) if name in ("thousands", "target") else ("wine", wine, patients):
        refused(ValueError, f"{name} is only for", data, call=describe, **option)
    for data in ("wine", patients):
        refused(ValueError, "thousands must be", data, call=describe, thousands="!!")
        refused(ValueError, r"thousands must be .* got \[','\]", data, call=describe, thousands=[","])


def test_columns_that_an_option_names_are_described_as_they_are_read(patients):
    options = {"drop": ["pid", "admitted", "same"], "numeric": ["age"], "category": ["crp"]}
    rows = describe(patients, "ill", **options).set_index("column")
    assert rows.index.tolist() == ["age", "ward", "crp", "smoker", "ill"]
    assert rows.loc[["age", "crp"], "type"].tolist() == ["number", "category"]
    assert (rows.loc["age", "low"], rows.loc["age", "missing"]) == (20, 1 / 40)
    assert rows.loc[["age", "crp"], "suspicion"].tolist() == ["", ""]
    assert describe("wine", drop=["hue"])["column"].tolist() == describe("wine")["column"].drop(10).tolist()
    wine = load_dataset("wine")
    assert "hue" not in describe(wine, drop=["hue"])["column"].tolist()
    for data in (patients, "wine", wine):
        refused(ValueError, "drop: unknown .* 'aage'", data, call=describe, drop=["aage"])
    for option in ("category", "numeric"):
        refused(
            ValueError, f"{option}: unknown column of the table 'aage'", patients, call=describe, **{option: ["aage"]}
        )
    refused(ValueError, "drop must not name the target column 'ill'", patients, "ill", call=describe, drop=["ill"])


def test_rows_that_differ_in_what_is_left_out_are_equal(repeated):
    repeated = repeated.drop(columns=["pid", "died"]).assign(fee=np.arange(57.0))
    assert describe(repeated, "outcome").attrs["repeated_rows"] == ""
    said = describe(repeated, "outcome", drop=["fee"]).attrs["repeated_rows"]
    assert said.startswith("7 of 57 rows are equal to an earlier row in all features and in the class; ")


def test_a_level_is_no_column_that_can_be_dropped():
    frame = pd.DataFrame({"ward": ["er", "gp", "icu", "er"], "age": [1.5, 2, 3, 4], "target": [0, 1, 0, 1]})
    with pytest.raises(ValueError, match="drop must name whole columns, got 'ward=er', a level of 'ward'; name that"):
        describe(load_dataset(frame), drop=["ward=er"])
