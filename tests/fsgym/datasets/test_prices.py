"""Price lists from files, and those that do not fit."""

import json

import pytest

from fsgym import Dataset
from fsgym.datasets import load_costs, load_dataset
from fsgym.datasets.prices import prices_for
from support.problems import FOLDER, needs_folder
from support.refusals import refused


@pytest.fixture
def data(mixed):
    return load_dataset(mixed, drop=["id"])


def test_prices_in_three_formats(tmp_path, data):
    prices = {"age": 1.0, "sex": 1.0, "city": 2.5, "score": 17.61}
    plain, entry, table = tmp_path / "p.json", tmp_path / "costs.json", tmp_path / "p.csv"
    plain.write_text(json.dumps(prices))
    extra = {**prices, "id": None}
    entry.write_text(json.dumps({"mixed": {"unit": "EUR", "costs": extra}, "other": {"costs": {"u": 1}}}))
    table.write_text("".join(f"{k},{v}\n" for k, v in prices.items()))
    assert load_costs(plain) == load_costs(table) == prices
    assert load_costs(plain, data) == load_costs(table, data) == load_costs(entry, data) == prices
    assert load_costs("other", data_dir=tmp_path) == load_costs(entry, "other") == {"u": 1.0}
    priced = Dataset(data.X, data.y, groups=data.groups, group_names=data.group_names, costs=load_costs(entry, data))
    assert priced.costs.tolist() == [1.0, 1.0, 2.5, 17.61]


@pytest.mark.parametrize(
    ("name", "text", "kind", "match"),
    [
        ("p.json", '{"age": null}', ValueError, r"no price for 'age' \(null\)"),
        ("p.json", '{"age": -1}', ValueError, "the price of 'age'"),
        ("p.json", '{"age": NaN}', ValueError, "the price of 'age'"),
        ("p.json", '{"age": true}', ValueError, "the price of 'age'"),
        ("p.json", '{"age": "dear"}', ValueError, "the price of 'age'"),
        ("p.json", '{"age": "1.200"}', ValueError, "the price of 'age', got '1.200'"),
        ("p.csv", "test;EUR\nwbc;4,5\nct;1.200\n", ValueError, "'1.200' beside '4,5', .*; write a comma .* thousands"),
        ("p.csv", "wbc;4,5\nct;1.2\n", ValueError, "'1.2' beside '4,5', .*; write a comma for the point$"),
        ("p.csv", "wbc;4.5\nct;1,200\n", ValueError, "'1,200', whose comma .*; write 1200, or 1.2$"),
        ("p.csv", "wbc;4,5\nct;1.200,50\n", ValueError, "the price of 'ct', got '1.200,50'"),
        ("p.json", '{"age": [1]}', ValueError, "the price of 'age'"),
        ("p.json", '{"age"', ValueError, "p.json is damaged"),
        ("p.json", "[1, 2]", ValueError, "must map"),
        ("p.json", "{}", ValueError, "must map"),
        ("p.json", '{"a": {"costs": {}}, "b": {"costs": {}}}', ValueError, r"select one with dataset=.*a, b"),
        ("p.json", '{"a": {"costs": 3}}', ValueError, "'a' of .*p.json must map"),
        ("p.csv", "age,1,2\n", ValueError, "two columns"),
        ("p.csv", "age;1\nsex;a,b;2\n", ValueError, "got one of 3: 'sex', 'a,b', '2'"),
        ("p.csv", "age,1\nage,2\n", ValueError, "two prices for 'age'"),
        ("p.csv", "age,1\nsex,\n", ValueError, "no price for 'sex'"),
        ("p.csv", "age,1\nsex,dear\n", ValueError, "the price of 'sex'"),
        ("p.csv", "age,2.5.0\nsex,1\n", ValueError, "the price of 'age'"),  # is no heading
        ("p.csv", "age,.\nsex,1\n", ValueError, "the price of 'age'"),
        ("p.csv", "age,\nsex,1\n", ValueError, "no price for 'age'"),
        ("p.csv", "age,$1\nsex,1\n", ValueError, r"the price of 'age', got '\$1'"),
        ("p.csv", "age,NA\nsex,1\n", ValueError, "the price of 'age', got 'NA'"),
        ("p.csv", "age,inf\nsex,1\n", ValueError, "the price of 'age', got 'inf'"),
        ("p.json", '{"a\\ud800": 1}', ValueError, "p.json is damaged: it has text that is not Unicode"),
        ("p.csv", "name,price\n", ValueError, "no prices"),
        ("p.csv", "", ValueError, "no prices"),
    ],
)
def test_bad_prices(tmp_path, name, text, kind, match):
    (tmp_path / name).write_text(text)
    refused(kind, match, tmp_path / name, call=load_costs)


@pytest.mark.parametrize("heading", ["test,EUR", "name,price", "Merkmal,Minuten", "test,€", "age,cost"])
def test_a_heading_has_words_that_are_no_name_of_the_data(tmp_path, data, heading):
    path, lines = tmp_path / "p.csv", "age,2\nsex,1\ncity,3\nscore,4\n"
    prices = {"age": 2.0, "sex": 1.0, "city": 3.0, "score": 4.0}
    path.write_text(f"{heading}\n{lines}")
    assert load_costs(path) == load_costs(path, data) == prices
    path.write_text(lines.replace("age,2", "age,dear"))
    refused(ValueError, "the price of 'age', got 'dear'", path, data, call=load_costs)


def test_a_price_list_has_one_decimal_sign(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("test;EUR\n1.5;0,200\nct;1,200\n")
    assert load_costs(path) == {"1.5": 0.2, "ct": 1.2}
    path.write_text("age;0\nwbc;4.5\nct;1.200\n")
    assert load_costs(path) == {"age": 0.0, "wbc": 4.5, "ct": 1.2}
    path.write_text("age;0\nct;1.200\n")
    with pytest.warns(UserWarning, match="'1.200' is read as 1.2; if its point separates thousands, write 1200"):
        assert load_costs(path) == {"age": 0.0, "ct": 1.2}


def test_prices_that_do_not_fit(tmp_path, data, no_folder):
    path = tmp_path / "p.json"
    path.write_text('{"age": 1, "weight": 2}')
    refused(ValueError, "prices 'weight', which is none of", path, data, call=load_costs)
    path.write_text('{"age": 1}')
    refused(ValueError, "no price for 'sex'.* or is left out: drop=\\['sex'\\]", path, data, call=load_costs)
    path.write_text(json.dumps(dict.fromkeys((*data.acquisition_names, "weight"), 2)))
    assert prices_for(path, data, None, without=["weight"]) == dict.fromkeys(data.acquisition_names, 2)
    refused(ValueError, "prices 'weight', which is none of", path, data, None, ["height"], call=prices_for)
    path.write_text('{"a": {"costs": {"x": 1}}, "b": {"costs": {"x": 1}}}')
    refused(ValueError, "no prices of 'c'; it has those of a, b", path, "c", call=load_costs)
    refused(FileNotFoundError, "no file", tmp_path / "none.json", call=load_costs)
    refused(FileNotFoundError, "a costs.json, got 'pima'", "pima", call=load_costs)
    refused(FileNotFoundError, "costs.json", "pima", data_dir=tmp_path, call=load_costs)
    refused(TypeError, "path or a name", 3, call=load_costs)
    refused(TypeError, "name or a Dataset", path, 3, call=load_costs)


@needs_folder
def test_prices_of_the_folder():
    pima = load_dataset("pima_diabetes", data_dir=FOLDER)
    prices = load_costs("pima_diabetes", pima, data_dir=FOLDER)
    assert prices["plas"] == 17.61
    assert tuple(prices) == pima.acquisition_names
    heart = load_dataset("heart_statlog", data_dir=FOLDER)
    assert load_costs("heart_statlog", heart, data_dir=FOLDER)["thal"] == 102.9
    refused(ValueError, r"no price for 'FTI' \(null\)", "thyroid_ann", data_dir=FOLDER, call=load_costs)
    thyroid = load_dataset("thyroid_ann", data_dir=FOLDER, drop=["FTI"])
    assert len(load_costs("thyroid_ann", thyroid, data_dir=FOLDER)) == 20


@pytest.mark.parametrize("word", ["free", "unknown"])
def test_a_word_for_a_price_is_no_heading(tmp_path, word):
    (tmp_path / "p.csv").write_text(f"age,{word}\nglucose,17\n")
    with pytest.raises(ValueError, match=f"a number of at least 0 as the price of 'age', got '{word}'"):
        load_costs(tmp_path / "p.csv")
