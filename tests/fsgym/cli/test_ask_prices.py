"""The option ``--price`` of ``ask``: the price of an acquisition for this case."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from test_cli import call

from agents import MixtureClassifier
from fsgym import Dataset


@pytest.fixture(scope="module")
def priced_model(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.stack([np.where(rng.random(200) < 0.1, 1 - y, y) for _ in range(2)], axis=1)
    data = Dataset(X, y, feature_names=["scan", "blood"], case_costs=rng.integers(0, 5, (200, 2)))
    path = tmp_path_factory.mktemp("models") / "priced.safetensors"
    MixtureClassifier(lam=0.05, random_state=0).fit(data).save(path)
    return path


def test_the_price_is_that_of_the_case_also_after_a_pause(priced_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    arguments = ("ask", priced_model, "--json", "--price", "scan=0,blood=4.5", "--save", "case.json")
    code, printed, _ = call(capsys, *arguments)
    step = json.loads(printed)
    assert (code, step["question"]["name"], step["question"]["price"]) == (0, "scan", 0)
    assert {a["name"]: a["price"] for a in step["alternatives"]} == {"scan": 0, "blood": 4.5}
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, resumed, _ = call(capsys, "ask", priced_model, "--json", "--resume", "case.json")
    assert (code, json.loads(resumed)) == (0, step)


@pytest.mark.parametrize(
    ("price", "words"),
    [("scan", "NAME=PRICE"), ("scam=1", "scan"), ("scan=-1", "--price of 'scan' must be")],
)
def test_a_price_that_is_none_is_refused(priced_model, capsys, price, words):
    code, _, error = call(capsys, "ask", priced_model, "--json", "--price", price)
    assert code != 0
    assert words in error


def test_a_model_without_prices_by_case_says_so(case_model, capsys):
    code, _, error = call(capsys, "ask", case_model, "--json", "--price", "ct=1")
    assert code != 0
    assert "prices by case" in error
