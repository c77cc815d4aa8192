"""The command ``explain``: the path of one row in sentences."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest
from test_cli import call

from agents import LatticeClassifier, load_classifier
from fsgym.cli.explain import known_values, path_in_words
from fsgym.data.reading.reading import Reading
from fsgym.datasets import load_dataset
from fsgym.datasets.loading import load_whole, part_index


def test_the_path_is_that_of_predict(case_model):
    model = load_classifier(case_model)
    table = pd.read_csv(case_model.parent / "new.csv").iloc[:8].astype({"smoker": object, "age": float})
    table.loc[1, "age"], table.loc[2, "wbc"], table.loc[3, ["smoker", "ward"]] = None, None, None
    found = model.trajectories(table)
    steps = found.to_frame()
    for row in range(len(table)):
        text = path_in_words(model, known_values(table.iloc[[row]], model.columns_))
        mine = steps[steps["row"] == row]
        acquired = mine[mine["answer"].isna()]["acquired"].tolist()
        assert re.findall(r"^   (\w+)[ :]", "\n".join(text), re.MULTILINE) == acquired
        last = mine.iloc[-1]
        assert text[-1].startswith(f"Answer: {last['answer']}, paid {last['spent']:g} for {len(acquired)} acquisition")
    assert "Unavailable: ward, smoker." in path_in_words(model, known_values(table.iloc[[3]], model.columns_))


def test_sentences_have_values_units_prices_and_beliefs(case_model, capsys):
    code, printed, error = call(capsys, "explain", case_model, case_model.parent / "new.csv", "--row", 3)
    assert (code, error) == (0, "")
    lines = " ".join(printed.split())
    cells = pd.read_csv(case_model.parent / "new.csv").iloc[3]
    assert re.search(
        rf"blood: crp = {cells['crp']:g} mg/l, wbc = {cells['wbc']:g} \(price 3\): \w+ .* % \(was \d+ %\)\.", lines
    )
    assert "1. The model believes in" in lines
    assert "It acquires blood (price 3, worth 0.06) because the case is then expected to cost" in lines
    assert re.search(r"Answer: (yes|no), paid \d+ for \d acquisitions?\. .* It stops because", lines)


@pytest.mark.parametrize("row", ["-1", "150"])
def test_a_row_out_of_range(case_model, capsys, row):
    code, _, error = call(capsys, "explain", case_model, case_model.parent / "new.csv", f"--row={row}")
    assert (code, error) == (2, f"fsgym: --row must be from 0 to 149, got {row}\n")


def test_missing_columns(case_model, capsys, tmp_path):
    pd.read_csv(case_model.parent / "new.csv").drop(columns="age").to_csv(tmp_path / "part.csv", index=False)
    code, _, error = call(capsys, "explain", case_model, tmp_path / "part.csv")
    assert (code, "must have the column 'age'" in error) == (2, True)
    code, printed, _ = call(capsys, "explain", case_model, tmp_path / "part.csv", "--missing-columns", "unavailable")
    assert (code, "Unavailable: age." in printed) == (0, True)
    assert "A cell without a value counts as one that this case cannot get" in " ".join(printed.split())


def test_low_probabilities_have_a_digit_more_where_the_answer_depends_on_them(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y, costs = np.where(rng.random(300) < 0.02, "yes", "no"), {"yes": {"no": 1}, "no": {"yes": 100}}
    X = pd.DataFrame({"age": rng.normal(size=300)})
    LatticeClassifier(lam=1, costs=[2], error_costs=costs, random_state=0).fit(X, y).save(tmp_path / "model")
    X.to_csv(tmp_path / "new.csv", index=False)
    code, output, _ = call(capsys, "explain", tmp_path / "model", tmp_path / "new.csv")
    assert code == 0
    assert re.search(r"and yes \d\.\d %", output)
    assert "yes is the answer from a probability of 0.99 % on" in " ".join(output.split())


def test_a_model_that_is_not_told_what_is_missing_counts_it_as_unavailable(told_of_missing, tmp_path, capsys):
    """A table without one of the columns that say something by what is missing says nothing of them."""
    model, X = told_of_missing
    model.save(tmp_path / "model")
    X[["age"]].to_csv(tmp_path / "part.csv", index=False)
    code, output, _ = call(
        capsys, "explain", tmp_path / "model", tmp_path / "part.csv", "--missing-columns", "unavailable"
    )
    assert (code, "Unavailable: crp." in output) == (0, True)
    assert "A cell without a value counts as one that this case cannot get" in " ".join(output.split())


def test_a_row_of_the_training_is_named(capsys, tmp_path):
    wine = load_dataset("wine")
    table = wine.to_frame().assign(kind=wine.y)
    table.to_csv(tmp_path / "wine.csv", index=False)
    table.assign(kind="unknown").to_csv(tmp_path / "other.csv", index=False)
    arguments = ("train", tmp_path / "wine.csv", "-o", tmp_path / "model", "--agent", "rcpi", "--steps", 1)
    assert call(capsys, *arguments, "--target", "kind")[0] == 0
    loaded = load_whole(str(tmp_path / "wine.csv"), Reading(target="kind"))
    trained = part_index(loaded, "train", None).tolist()
    held_out = part_index(loaded, "test", None).tolist()
    for file, row, named in (("wine", trained[0], True), ("wine", held_out[0], False), ("other", trained[0], False)):
        code, output, error = call(capsys, "explain", tmp_path / "model", tmp_path / f"{file}.csv", "--row", row)
        assert (code, error) == (0, "")
        assert ("The model was trained on this row" in output) == named


def test_next_explains_the_line_of_predict_next(case_model, capsys, tmp_path):
    """Plain explain leaves filled cells unused, and takes empty ones for such as cannot be got."""
    table = pd.read_csv(case_model.parent / "new.csv").head(12).drop(columns="smoker")
    table.loc[4:, "crp"] = np.nan
    table.loc[8:, ["wbc", "ward"]] = np.nan
    table.loc[11, "ward"] = "new"
    table.to_csv(tmp_path / "list.csv", index=False)
    printed = call(capsys, "predict", case_model, tmp_path / "list.csv", "--next")[1]
    lines = pd.read_csv(io.StringIO(printed), keep_default_na=False)
    for row, line in lines.iterrows():
        code, output, _ = call(capsys, "explain", case_model, tmp_path / "list.csv", "--row", row, "--next")
        said = " ".join(output.split())
        assert code == 0
        assert (f" Next: {line['next']} (" if line["next"] else f" Answer: {line['answer']}.") in said
        assert "All filled cells are known, and empty ones are not acquired yet. Known: age" in said
    assert (lines["next"] == "").nunique() == 2
    code, output, _ = call(capsys, "explain", case_model, tmp_path / "list.csv", "--missing-columns", "unavailable")
    assert "a filled one is used only if the model acquires it. With --next, as in" in " ".join(output.split())
    code, _, error = call(
        capsys, "explain", case_model, tmp_path / "list.csv", "--missing-columns", "unavailable", "--next"
    )
    assert (code, "leave --missing-columns out" in error) == (2, True)
