"""The table of patients as an Excel sheet with numbers as a German office types them, through all commands."""

from __future__ import annotations

import io
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest

from agents import load_classifier
from fsgym.cli.main import main
from fsgym.session.values import typing_text, value_of_text
from fsgym.web.entries import read_entry
from support.patients import NOT_FEATURES, TARGET, patients

pytest.importorskip("openpyxl", reason="needs openpyxl, which the extra excel installs")
pytestmark = pytest.mark.slow
DROPPED = ",".join((*NOT_FEATURES, "pid"))


def german(value):
    """A number as text: with a decimal comma, and points between groups of three digits."""
    if isinstance(value, bool | str) or value != value:
        return value if value == value else None
    return f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def run(*words, typed="", status=0):
    """What a command prints, on standard output and stderr."""
    streams = [io.StringIO(), io.StringIO()]
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in zip(("stdout", "stderr", "stdin"), (*streams, io.StringIO(typed)), strict=True):
            patch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
    assert end.value.code == status, streams[1].getvalue()
    return streams[0].getvalue(), streams[1].getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("german")
    table = patients(300).assign(platelets=lambda t: t["platelets"] * 1000)
    table.to_csv(folder / "clean.csv", index=False)
    numbers = ["pulse", "wbc", "hgb", "platelets", "crp", "troponin", "ct"]
    sheet = table.astype(dict.fromkeys(numbers, object))
    for name in numbers:
        sheet[name] = [german(float(v)) for v in table[name]]
    with pd.ExcelWriter(folder / "raw.xlsx", engine="openpyxl") as writer:
        pd.DataFrame([["Klinik"]]).to_excel(writer, sheet_name="Notiz", index=False)
        sheet.to_excel(writer, sheet_name="Daten", index=False, startrow=2)
    for name, options in {"clean.csv": (), "raw.xlsx": ("--sheet", "Daten", "--header-row", 3)}.items():
        model = folder / f"{name}.fsgym"
        words = ("train", folder / name, *options, "--target", TARGET, "--drop", DROPPED, "-o", model)
        said = run(*words, "--agent", "lattice", "--lam", 0.002, "--costs", 1)
        assert ("points separate thousands" in said[1]) == (name == "raw.xlsx")
    return folder


def test_describe_train_evaluate_and_predict_as_from_clean_csv(folder):
    shown = run("describe", folder / "raw.xlsx", "--sheet", "Daten", "--header-row", 3, "--target", TARGET)[0]
    clean = run("describe", folder / "clean.csv", "--target", TARGET)[0]
    assert [line.split() for line in shown.splitlines()][:16] == [line.split() for line in clean.splitlines()][:16]
    models = {name: folder / f"{name}.fsgym" for name in ("clean.csv", "raw.xlsx")}
    results = {name: json.loads(run("evaluate", model, folder / name, "--json")[0]) for name, model in models.items()}
    for name, result in results.items():
        assert result["evaluation"]["figures"] == results["clean.csv"]["evaluation"]["figures"], name
        assert result["remark"] == "None of these rows were used in training."
    answers = {name: run("predict", model, folder / name)[0] for name, model in models.items()}
    assert answers["raw.xlsx"] == answers["clean.csv"]
    assert run("predict", models["raw.xlsx"], folder / "clean.csv")[0] == answers["clean.csv"]


def test_what_is_typed_gives_the_same_answers(folder):
    clean, raw = (load_classifier(folder / f"{name}.fsgym") for name in ("clean.csv", "raw.xlsx"))
    columns = {column.name: (k, column) for k, column in enumerate(raw.columns_)}
    assert {(c.decimal, c.thousands) for c in raw.columns_ if c.kind == "number"} == {(",", ".")}
    assert all("with a decimal comma and . for thousands" in typing_text(columns[name][1]) for name in ("crp", "ct"))
    table = patients(300).assign(platelets=lambda t: t["platelets"] * 1000)
    k, platelets = columns["platelets"]
    for value in table["platelets"][:20]:  # as ask and serve read them
        assert value_of_text(platelets, german(value)) == value
        assert read_entry(k, platelets, {f"value{k}": german(value)}).value == value
    row = table.iloc[0]
    known = {name: german(float(row[name])) for name in ("hgb", "platelets")}
    (folder / "known.json").write_text(json.dumps(known))
    (folder / "plain.json").write_text(json.dumps({name: float(row[name]) for name in known}))
    first = {}
    for name, file in {"clean.csv": "plain.json", "raw.xlsx": "known.json"}.items():
        words = ("ask", folder / f"{name}.fsgym", "--known", folder / file, "--json")
        first[name] = json.loads(run(*words, typed='{"stop": true}\n')[0].splitlines()[0])
    assert first["raw.xlsx"] == first["clean.csv"]
    steps = clean.session(json.loads((folder / "plain.json").read_text())), raw.session()
    for name, value in known.items():
        steps[1].answer(name, value_of_text(columns[name][1], value), paid=False)
    assert steps[0].probabilities == steps[1].probabilities
    talked = run("ask", folder / "raw.xlsx.fsgym", "--save", folder / "s.json", typed="?\nq\n")[0]
    asked = raw.session().next()
    assert asked is not None
    kind = columns[asked.columns[0].name][1].kind
    assert kind != "number" or "with a decimal comma" in talked


@pytest.mark.parametrize("i", [0, 7, 33])
def test_a_case_typed_with_commas_ends_as_one_typed_with_points(folder, i, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    row = patients(300).assign(platelets=lambda t: t["platelets"] * 1000).iloc[i]
    session, values = load_classifier(folder / "clean.csv.fsgym").session(), []
    while (question := session.next()) is not None:
        found = {column.name: row[column.name] for column in question.columns}
        values += found.values()
        session.answer(question.name, found)
    ends = []
    for name, decimal in (("clean.csv", "."), ("raw.xlsx", ",")):
        typed = [v if isinstance(v, str) else str(v).replace(".", decimal) for v in values]
        shown = run("ask", folder / f"{name}.fsgym", "--save", "s.json", typed="\n".join([*typed, "", ""]))[0]
        ends.append(re.sub(r"(?<=\d),(?=\d)", ".", shown[shown.index("\nAnswer: ") : shown.index("\nSession: ")]))
    assert ends[0] == ends[1]
    assert f"Answer: {session.step.answer} (paid {session.spent:g} in total)" in ends[0]
    assert "," in "".join(typed)


def test_the_exported_page_knows_how_numbers_are_written(folder):
    policies = [
        json.loads(load_classifier(folder / f"{name}.fsgym").policy_json()) for name in ("clean.csv", "raw.xlsx")
    ]
    plain = [
        [{k: v for k, v in c.items() if k not in ("decimal", "thousands")} for c in p["columns"]] for p in policies
    ]
    assert plain[0] == plain[1]
    assert policies[0]["arrays"] == policies[1]["arrays"]
    written = [c.get("decimal", ".") + c.get("thousands", "") for c in policies[1]["columns"] if c["kind"] == "number"]
    assert set(written) == {",."}
    assert not any("decimal" in c for c in policies[0]["columns"])
    assert np.array_equal([c["name"] for c in plain[0]], [c["name"] for c in plain[1]])
