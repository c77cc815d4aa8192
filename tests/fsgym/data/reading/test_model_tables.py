"""Tables read by the columns and classes of a model."""

import gzip

import numpy as np
import pandas as pd
import pytest

import fsgym
from fsgym.data.columns import Column, Columns
from fsgym.data.reading.model_tables import labels_for
from fsgym.datasets import read_table_for

COLUMNS = Columns([Column("age"), Column("ward", "category", ("007", "1", "x")), Column("sick", "bool")])


def test_kinds_are_those_of_the_columns(tmp_path):
    text = "a;a;sick;when;ward;;age\n1;2;True;2024-01-01;007;3;1,5\n3;4;False;2024-01-02;1;4;?\n"
    path = tmp_path / "new.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    table = read_table_for(COLUMNS, path, keep=["when"])
    assert list(table) == ["age", "ward", "sick", "when"]
    assert table["ward"].tolist() == ["007", "1"]
    wanted = [[1.5, 1, 0, 0, 1], [np.nan, 0, 1, 0, 0]]
    np.testing.assert_array_equal(COLUMNS.encode(table), wanted)
    with pytest.raises(ValueError, match="two columns 'a'"):
        read_table_for(COLUMNS, path, keep=["a"])
    with pytest.raises(ValueError, match="unknown column 'wen'; did you mean 'when'"):
        read_table_for(COLUMNS, path, keep=["wen"])


def test_absent_columns(tmp_path):
    (tmp_path / "new.tsv").write_text("age\tother\n1\t2\n")
    with pytest.raises(ValueError, match=r"must have the columns 'ward', 'sick', got age, other; .*'unavailable'"):
        read_table_for(COLUMNS, tmp_path / "new.tsv")
    table = read_table_for(COLUMNS, tmp_path / "new.tsv", missing_columns="unavailable")
    np.testing.assert_array_equal(COLUMNS.encode(table), [[1, *[np.nan] * 4]])
    (tmp_path / "typo.tsv").write_text("age\twhrd\tsick\n1\ta\t2\n")
    with pytest.raises(ValueError, match="; rename 'whrd' to 'ward' if they are the same; otherwise add"):
        read_table_for(COLUMNS, tmp_path / "typo.tsv")
    with pytest.raises(ValueError, match="missing_columns must be"):
        read_table_for(COLUMNS, tmp_path / "new.tsv", missing_columns="no")
    (tmp_path / "none.tsv").write_text("foo\tbar\n1\t2\n")
    with pytest.raises(ValueError, match=r"none.tsv must have at least one of the columns age, .*, got foo, bar"):
        read_table_for(COLUMNS, tmp_path / "none.tsv", missing_columns="unavailable")


@pytest.mark.parametrize(
    ("cells", "classes", "wanted"),
    [
        (["007", " yes "], ["007", "yes"], ["007", "yes"]),
        ([1.0, 0.0], [0, 1], [1, 0]),
        (["1.0", "0"], [0, 1], [1, 0]),
        (["true", "False"], [False, True], [True, False]),
        (["0.50", 2], [0.5, 2.0], [0.5, 2.0]),
    ],
)
def test_labels_are_classes_of_the_model(cells, classes, wanted):
    labels = labels_for(pd.Series(cells, dtype=object), np.array(classes), "a.csv")
    assert labels.tolist() == wanted
    assert labels.dtype.kind == np.array(classes).dtype.kind


def test_unknown_and_missing_labels():
    with pytest.raises(ValueError, match=r"a\.csv has the label '7', which is no class of the model: 007, yes"):
        labels_for(pd.Series(["7"]), np.array(["007", "yes"]), "a.csv")
    with pytest.raises(ValueError, match=r"1 row\(s\) have no value in a\.csv"):
        labels_for(pd.Series(["7", None]), np.array(["7", "8"]), "a.csv")


def test_units_of_a_file(tmp_path):
    frame = pd.DataFrame({"crp": [1.5, 2, 3, 4], "target": [0, 1, 0, 1]})
    data = fsgym.load_dataset(frame, units={"crp": "mg/l"})
    assert data.columns[0].unit == "mg/l"
    with pytest.raises(ValueError, match=r"units: unknown column 'crb'; did you mean 'crp'"):
        fsgym.load_dataset(frame, units={"crb": "mg/l"})
    with pytest.raises(TypeError, match="units must map"):
        fsgym.load_dataset(frame, units=["mg/l"])


@pytest.mark.parametrize("given", ["TRUE", "true", "True"])
def test_truth_values_beside_an_empty_cell_are_read_again(tmp_path, given):
    (tmp_path / "t.csv").write_text("smoker,age,target\n" + f"{given},1,a\n" * 20 + "false,2,b\n" * 20 + ",3,a\n" * 5)
    data = fsgym.load_dataset(tmp_path / "t.csv")
    assert [column.kind for column in data.columns] == ["bool", "number"]
    again = data.columns.encode(read_table_for(data.columns, tmp_path / "t.csv"))
    np.testing.assert_array_equal(again, data.X)
    frame = pd.DataFrame({"smoker": pd.Series([True, None, False], dtype=object), "age": [1, 2, 3]})
    assert fsgym.load_dataset(frame.assign(target=[0, 1, 1])).columns[0].kind == "bool"


@pytest.mark.filterwarnings("ignore:.*signs that are left out")
def test_signs_beside_numbers_must_be_those_of_the_training(tmp_path):
    for name, sign in (("plain", "{}"), ("percent", "{}%"), ("euro", "€{}")):
        cells = [sign.format(k % 9) for k in range(60)]
        pd.DataFrame({"x": cells, "target": list("ab") * 30}).to_csv(tmp_path / f"{name}.csv", index=False)
    trained = {name: fsgym.load_dataset(tmp_path / f"{name}.csv").columns for name in ("plain", "percent")}
    named = fsgym.load_dataset(tmp_path / "percent.csv", units={"x": "per cent"}).columns
    for columns in (named, trained["percent"]):
        assert read_table_for(columns, tmp_path / "percent.csv").x[:3].tolist() == [0, 1, 2]
    for model, file, said in (
        ("plain", "percent", "'%', which in the training had no sign"),
        ("percent", "euro", "'€', which in the training had '%'"),
    ):
        with pytest.raises(ValueError, match=rf"the column 'x' of .*{file}.csv has numbers with {said}; write them as"):
            read_table_for(trained[model], tmp_path / f"{file}.csv")
    assert read_table_for(trained["percent"], tmp_path / "plain.csv").x[:3].tolist() == [0, 1, 2]
