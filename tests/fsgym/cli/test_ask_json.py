"""The command ``ask --json``: a line in, a line out."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pandas as pd
import pytest
from test_cli import call

from agents import load_classifier
from fsgym.cli.ask import SENT_AS_KNOWN, JsonDialog, SessionFile
from fsgym.text.speech import said


@pytest.fixture
def dialog(case_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return JsonDialog(load_classifier(case_model).session(), SessionFile(case_model, None, None))


def reply(dialog, **command):
    return json.loads(json.dumps(dialog.reply(json.dumps(command))))


def as_read(step):
    """A step as a program reads it."""
    return json.loads(json.dumps(step.as_json()))


def test_the_replies_are_the_steps_of_a_session(dialog):
    session = dialog.session.model.session()
    session.answer("blood", {"crp": 50, "wbc": 7})
    session.answer("age", 60, paid=False)
    reply(dialog, answer={"blood": {"crp": 50, "wbc": 7}})
    assert reply(dialog, known={"age": 60}) == as_read(session.step) | {"stopped": False}
    session.unknown("ward")
    assert reply(dialog, unknown="ward") == as_read(session.step) | {"stopped": False}
    assert reply(dialog, why=True)["why"] == session.why()
    log = reply(dialog, log=True)["log"]
    assert [(entry["name"], entry["kind"]) for entry in log] == [(e.name, e.kind) for e in session.log()]
    assert reply(dialog, undo="blood")["spent"] == 0
    assert reply(dialog, undo=None)["stopped"] is False
    assert reply(dialog, stop=True)["stopped"] is True
    assert "has ended" in reply(dialog, answer={"smoker": True})["error"]


def test_a_column_of_an_answered_acquisition_may_be_null(dialog):
    session = dialog.session.model.session()
    session.answer("blood", {"crp": 50})
    for answer in ({"blood": {"crp": 50, "wbc": None}}, {"wbc": None, "crp": 50}):
        assert reply(dialog, answer=answer) == as_read(session.step) | {"stopped": False}
        reply(dialog, undo=None)
    assert "a number from" in reply(dialog, answer={"crp": None})["error"]
    assert "for at least one of crp, wbc, got none" in reply(dialog, answer={"blood": {"wbc": None}})["error"]
    assert "a number from" in reply(dialog, answer={"crp": 50, "age": None})["error"]
    assert reply(dialog, undo=None)["error"]  # nothing of these was taken


def test_later_and_accepted_values(dialog):
    first = reply(dialog, why=True)["question"]["name"]
    assert reply(dialog, later=first)["question"]["name"] != first
    refused = reply(dialog, answer={"age": 900})
    assert refused["error"].endswith('accept it as it is with "accept": true')
    assert reply(dialog, answer={"age": 900}, accept=True)["spent"] == 1
    assert "outside the range" in reply(dialog, log=True)["log"][-1]["remark"]


def test_what_cannot_be_acquired_can_be_sent_as_known(dialog):
    reply(dialog, unknown="ward")
    name, error = "'ward'", reply(dialog, answer={"ward": "gp"})["error"]
    assert error == f"{said('refused_unavailable', name=name)}; {SENT_AS_KNOWN}"
    assert "error" not in reply(dialog, known={"ward": "gp"})
    error = reply(dialog, answer={"ward": "pass paid=False if"})["error"]
    assert error.endswith("got 'pass paid=False if'; correct it, or accept it as unknown with \"accept\": true")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "must be a JSON object"),
        ("{", "must be a JSON object"),
        ("[1]", "must be a JSON object"),
        ("[" * 100_000, "must be a JSON object"),
        ('{"answer": {"ward": "\\ud800"}, "accept": true}', "must be a JSON object"),
        ("{}", "must have one of answer"),
        ('{"answer": {"age": 50}, "unknown": "ward"}', "must have one of answer"),
        ('{"answer": 3}', "an object of names and values"),
        ('{"answer": {}}', "an object of names and values"),
        ('{"answer": {"age": 50, "ward": "zz"}}', "one of er, gp, s"),
        ('{"answer": {"age": "50"}}', "a number from"),
        ('{"answer": {"age": null}}', "a number from"),
        ('{"answer": {"age": NaN}}', "say that it is unknown"),
        ('{"answer": {"age": 1e999}}', "float32 can hold"),
        ('{"answer": {"age": 1' + "0" * 400 + "}}", "too large"),
        ('{"answer": {"blood": 3}}', "by its columns"),
        ('{"answer": {"zz": 3}}', "unknown acquisition"),
        ('{"unknown": ["age"]}', "must be text"),
        ('{"unknown": null}', "unknown acquisition"),
        ('{"later": {}}', "must be text"),
        ('{"undo": "age"}', "nothing to undo"),
        ('{"why": true, "accept": true}', "accept must be"),
        ('{"save": ""}', "path of a file"),
        ('{"save": "no such folder/x.json"}', "cannot write"),
    ],
)
def test_errors_leave_the_session_as_it_was(dialog, line, words):
    before = dialog.session.to_json()
    found = dialog.reply(line)
    assert list(found) == ["error"]
    assert words in found["error"]
    assert dialog.session.to_json() == before


def test_saving_never_replaces_another_session(dialog, tmp_path):
    (tmp_path / "case.json").write_text("of another case")
    assert reply(dialog, save="case.json")["saved"] == "case-2.json"
    reply(dialog, answer={"age": 50})
    assert reply(dialog, save="case-2.json")["saved"] == "case-2.json"
    assert (tmp_path / "case.json").read_text() == "of another case"
    assert (tmp_path / "case-2.json").read_text().strip() == dialog.session.to_json()


def test_resume_and_save_at_the_end_of_the_input(case_model, dialog, capsys, monkeypatch, tmp_path):
    plain = json.loads(dialog.session.to_json())
    plain["unfinished"] = {"name": "blood", "values": {"crp": 50}, "accept": False}
    (tmp_path / "case.json").write_text(json.dumps(plain))
    monkeypatch.setattr("sys.stdin", io.StringIO('{"answer": {"age": 50}}\n'))
    code, printed, _ = call(capsys, "ask", case_model, "--json", "--resume", "case.json", "--save", "case.json")
    first, second = map(json.loads, printed.splitlines())
    assert (code, first["unfinished"]["values"], second["spent"]) == (0, {"crp": 50}, 1.0)
    assert json.loads((tmp_path / "case.json").read_text())["answers"][0]["name"] == "age"


def test_a_program_asks_through_a_pipe(case_model, tmp_path):
    command = [sys.executable, "-m", "fsgym", "ask", str(case_model), "--json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, bufsize=1, **pipes) as process:
        values = {"blood": {"crp": 50, "wbc": 7}, "ward": "gp", "age": 50, "smoker": False}
        step = json.loads(process.stdout.readline())
        while step["question"]:  # each line comes before the next one is written
            name = step["question"]["name"]
            process.stdin.write(json.dumps({"answer": {name: values[name]}}) + "\n")
            step = json.loads(process.stdout.readline())
        process.stdin.write("é\n")
        assert "JSON object" in json.loads(process.stdout.readline())["error"]
        out, error = process.communicate()
        assert (process.returncode, out, error) == (0, "", "")
    model = load_classifier(case_model)
    row = {"crp": [50], "wbc": [7], "ward": ["gp"], "age": [50], "smoker": [False]}
    assert step["answer"] == model.predict(pd.DataFrame(row))[0]


class Interrupted(io.StringIO):
    def readline(self, *size):
        line = super().readline(*size)
        if not line:
            raise KeyboardInterrupt
        return line


@pytest.mark.parametrize("sent", ['{"known": {"age": 50}}', '{"why": true}'])
def test_a_session_is_saved_after_ctrl_c_and_with_an_acquisition_that_is_not_finished(
    case_model, dialog, capsys, monkeypatch, tmp_path, sent
):
    plain = json.loads(dialog.session.to_json())
    plain["unfinished"] = {"name": "blood", "values": {"crp": 50}, "accept": False}
    (tmp_path / "case.json").write_text(json.dumps(plain))
    monkeypatch.setattr("sys.stdin", Interrupted(f"{sent}\n"))
    code = call(capsys, "ask", case_model, "--json", "--resume", "case.json", "--save", "case.json")[0]
    saved = json.loads((tmp_path / "case.json").read_text())
    assert code == 130
    assert ("age" in json.dumps(saved)) == ("known" in sent)
    assert (saved.get("unfinished") == plain["unfinished"]) == ("why" in sent)
