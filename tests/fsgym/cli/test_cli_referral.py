"""Referral to a person on the command line: train, evaluate, predict, explain and ask."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from test_cli import call

from agents import load_classifier
from fsgym.cli.main import main
from fsgym.exact import naive_bayes, sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of bits that leave the class uncertain, and a model that refers."""
    path = tmp_path_factory.mktemp("referral")
    X, y = sample(naive_bayes(4), 600, 0)
    frame = pd.DataFrame(X.astype(int), columns=list("abcd")).assign(kind=np.where(y, "ill", "well"))
    frame.to_csv(path / "ward.csv", index=False)
    return path


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.safetensors"
    options = ("--lam", "0.03", "--refer-cost", "0.2", "--refer-label", "the ward", "--agent", "mixture")
    with pytest.raises(SystemExit) as ended:
        main(["train", str(folder / "ward.csv"), "--target", "kind", "-o", str(path), *options])
    assert ended.value.code == 0
    return path


def test_figures_of_train_and_evaluate(folder, model, capsys):
    code, output, error = call(capsys, "evaluate", model, folder / "ward.csv")
    assert (code, error) == (0, "")
    assert "share of rows referred" in output
    assert "A case may be referred to the ward, for 0.2" in output
    assert "cost per case" in output  # the accuracy is over the answered rows alone
    code, output, _ = call(capsys, "evaluate", model, folder / "ward.csv", "--json")
    result = json.loads(output)["evaluation"]
    assert 0 < result["figures"]["referred"] < 1
    assert np.shape(result["confusion"]) == (2, 3)


def test_predict_writes_the_label(folder, model, capsys):
    code, output, error = call(capsys, "predict", model, folder / "ward.csv")
    assert (code, error) == (0, "")
    answers = [line["answer"] for line in csv.DictReader(io.StringIO(output))]
    assert set(answers) == {"ill", "well", "the ward"}
    frame = pd.read_csv(folder / "ward.csv").drop(columns="kind")
    assert answers == load_classifier(model).predict(frame).tolist()
    code, output, error = call(capsys, "predict", model, folder / "ward.csv", "-o", folder / "answers.csv")
    assert code == 0
    assert (
        f"rows of {folder / 'ward.csv'} classified, {answers.count('the ward')} referred to the ward" in output + error
    )


def test_explain_and_ask(folder, model, capsys, monkeypatch):
    frame = pd.read_csv(folder / "ward.csv")
    predicted = load_classifier(model).predict(frame)
    row = int(np.flatnonzero(predicted == "the ward")[0])
    code, output, _ = call(capsys, "explain", model, folder / "ward.csv", "--row", row)
    assert code == 0
    assert "Refer to the ward, paid" in output
    values = {name: int(frame[name][row]) for name in "abcd"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"known": values}) + "\n"))
    code, output, _ = call(capsys, "ask", model, "--json")
    assert code == 0
    last = json.loads(output.splitlines()[-1])
    assert last["answer"] in ("ill", "well", "the ward")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--refer-cost", "-1"), "--refer-cost must be finite and at least 0"),
        (("--refer-cost", "0.2", "--refer-label", "ill"), "--refer-label must not be a class, got 'ill'"),
    ],
)
def test_mistakes(folder, options, message, capsys):
    arguments = ("train", folder / "ward.csv", "--target", "kind", "-o", folder / "other.safetensors", *options)
    code, _, error = call(capsys, *arguments)
    assert code == 2
    assert message in error
