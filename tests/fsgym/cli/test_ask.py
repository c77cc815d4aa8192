"""The command ``ask`` for a person: each key, Ctrl-C and resume, in a terminal and without one."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_cli import call

from agents import AdaptiveClassifier, LatticeClassifier, MixtureClassifier, load_classifier
from fsgym.cli.ask_dialog import KEYS, Dialog, Screen, allowed_at_prompt, belief_lines, typed_value
from fsgym.data.columns import Column
from fsgym.session import ExpectedCost, Step
from fsgym.session.session import most_events
from fsgym.session.step import Alternative
from fsgym.session.words import alternative_text, not_as_trained_text
from support.terminals import Terminals

WARD = Column("ward", "category", ("er", "gp", "s"))
CODE = Column("code", "codes", ("1", "02", "x"))
CRP = Column("crp", unit="mg/l", low=1.0, high=100.0)


@pytest.fixture(scope="module")
def terminals():
    with Terminals() as found:
        yield found


@pytest.fixture
def model(case_model):
    return load_classifier(case_model)


def talk(model, lines, session=None, unfinished=None):
    """A dialog in which these lines are typed, and whether it ended with an answer."""
    lines = iter(lines)
    dialog = Dialog(session or model.session(), unfinished, read=lambda _: next(lines))
    return dialog, dialog.run()


@pytest.mark.parametrize(
    ("column", "text", "value", "accept"),
    [
        (WARD, "gp", "gp", False),
        (WARD, "3", "s", False),
        (WARD, "'s'", "s", False),
        (WARD, "!zz", "zz", True),
        (CODE, "1", "1", False),
        (CODE, "!3", "3", True),
        (CRP, "63", 63, False),
        (CRP, "6.5e1", 65.0, False),
        (CRP, "!900", 900, True),
        (Column("ill", "bool"), "Yes", True, False),
        (Column("ill", "bool"), "0", False, False),
    ],
)
def test_typed_values(column, text, value, accept):
    assert typed_value(column, text) == (value, accept)


@pytest.mark.parametrize(
    ("column", "text", "words"),
    [
        (WARD, "zz", "one of er, gp, s, got 'zz'; correct it, or accept it as unknown with !zz"),
        (WARD, "(accept=True)", "got '(accept=True)'; correct it, or accept it as unknown with !(accept=True)"),
        (WARD, "4", "one of er, gp, s, got '4'"),
        (CODE, "3", "one of 1, 02, x, got '3'"),
        (CRP, "900", "a number from 1 to 100 mg/l, the range in training, got 900; correct it, or accept it as it is "),
        (CRP, "1,5", "a number from 1 to 100 mg/l, with a decimal point, got '1,5'"),
        (CRP, "1_0", "a number from 1 to 100 mg/l, got '1_0'"),
        (CRP, "nan", "say that it is unknown"),
        (CRP, "1" + "0" * 400, "too large"),
        (Column("ill", "bool"), "maybe", "must be yes or no, got 'maybe'"),
    ],
)
def test_wrong_values_say_what_is_allowed(column, text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        typed_value(column, text)


def test_of_many_levels_the_first_ones_are_shown():
    column = Column("zip", "category", tuple(f"z{k:03d}" for k in range(100)))
    assert allowed_at_prompt(column).endswith("30 z029, ...")
    assert allowed_at_prompt(CODE) == "one of 1, 02, x"
    assert typed_value(column, "100")[0] == "z099"


@pytest.mark.parametrize("width", [20, 38, 98])
def test_bars_fit_the_width_and_add_up(width):
    shares = {"a very long label of a class, which is cut": 0.25, "b": 0.75}
    lines = [line for _, line in belief_lines(shares, width)]
    assert max(map(len, lines)) <= width
    lengths = [line.count("█") for line in lines]
    assert width < 30 or lengths[1] == pytest.approx(3 * lengths[0], abs=2)
    many = belief_lines({k: k / 45 for k in range(10)}, width)
    assert [label for label, _ in many] == [*range(9, -1, -1)]


def test_a_model_without_probabilities_has_its_answer_shown(capsys):
    Screen().show_answer(Step(None, True, "yes", None, ExpectedCost(None, None), 2.0, (), ("ct", "crp")))
    printed = capsys.readouterr().out
    assert "Known, but not used yet: ct, crp." in printed
    assert "Answer: yes (paid 2 in total)" in printed
    assert "The answer now would be yes" in printed
    assert "name of an acquisition" not in printed


@pytest.mark.parametrize(("answer", "refers"), [("no", False), ("yes", False), ("a person", True)])
def test_an_answer_that_is_not_the_likeliest_is_said_beside_the_question(model, capsys, answer, refers):
    step = replace(model.step({}), answer=answer, probabilities={"no": 0.8, "yes": 0.2}, refers=refers)
    Screen().show_beliefs(step)
    printed = capsys.readouterr().out
    assert ("The answer now would be yes." in printed) == (answer == "yes")
    assert ("The case would be referred to a person now." in printed) == refers


def test_a_dialog_is_a_session(model):
    dialog, ended = talk(model, ["60", "7", "2", "45", "yes", ""])
    session = model.session()
    session.answer("blood", {"crp": 60, "wbc": 7})
    asked = [entry.name for entry in dialog.session.log()]
    values = {"ward": "gp", "age": 45, "smoker": True}
    for name in asked[1:]:
        session.answer(name, values[name])
    session.stop()
    assert ended
    assert dialog.session.to_json() == session.to_json()


def test_columns_of_a_group_one_by_one(model):
    dialog, ended = talk(model, ["s", "u", "60", "u", "50", "s", "q"])
    (entry,) = dialog.session.log()
    assert (entry.name, entry.kind, entry.values, ended) == ("blood", "asked", {"crp": 50}, False)
    dialog, _ = talk(model, ["s", "s", "q"])
    assert dialog.session.log()[0][:2] == ("blood", "unknown")
    assert dialog.session.spent == 0
    dialog, _ = talk(model, ["60", "l", "q"])
    assert (dialog.unfinished, dialog.session.log()[0].kind) == (None, "later")


def test_what_is_lost_of_a_group_when_the_case_is_stopped_is_said(model, capsys):
    dialog, _ = talk(model, ["60", "x"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "blood is not complete: what was entered of it (crp) is not used, and its price is not counted." in printed
    assert (dialog.session.stopped, dialog.session.spent, dialog.session.log()) == (True, 0, [])
    talk(model, ["x"])
    assert "is not complete" not in capsys.readouterr().out


def test_questions_and_answer_warn_of_accepted_values_in_the_words_of_the_page(model, capsys):
    session = model.session({"age": 900}, accept=True)
    talk(model, ["q"], session)
    warning = not_as_trained_text(session.remarks)
    assert warning in " ".join(capsys.readouterr().out.split())
    talk(model, ["x"], session)
    assert " ".join(capsys.readouterr().out.split()).count(warning) == 2


def test_an_alternative_without_an_estimate_says_so():
    assert (
        alternative_text(Alternative("age", 1.0, None, None))
        == "price 1, expected cost not estimated for what is known now"
    )
    assert alternative_text(Alternative("age", 1.0, 0.25, None)) == "price 1, expected cost 0.25"


def test_a_name_acquires_something_else(model, capsys):
    dialog, _ = talk(model, ["age", "u", "age", "50", "u", "age", "50", "q"])
    assert [entry[:2] for entry in dialog.session.log()] == [("age", "chosen")]
    assert "age is taken back." in capsys.readouterr().out
    session = model.session(unavailable=["ward"])
    session.stop()
    dialog, ended = talk(model, ["zzz", "ward", "s", "smoker", "yes", "q"], session)
    printed = capsys.readouterr().out
    assert "unknown acquisition or column 'zzz'" in printed
    assert "'ward' is unavailable or unknown for this case." in printed
    assert "s is for a question" in printed
    assert (dialog.session.log()[0].name, ended) == ("smoker", False)
    session = model.session(known={"crp": 60, "wbc": 7})
    session.stop()
    talk(model, ["blood", "q"], session)
    assert "'blood' is known already.\n" in capsys.readouterr().out
    assert session.stopped


def test_what_is_left_for_later_comes_at_the_end(model, capsys):
    session = model.session(known={"age": 50, "crp": 60, "wbc": 7}, unavailable=["smoker"])
    assert session.next().name == "ward"
    dialog, _ = talk(model, ["l", "q"], session)
    assert "ward comes now, because the model would stop without it." in capsys.readouterr().out
    assert dialog.session.log() == []


def test_what_is_left_for_later_is_not_left_twice(model, capsys):
    session = model.session(known={"age": 50, "crp": 60, "wbc": 7})
    session.later("smoker")
    session.later("ward")
    postponed = session.next().name
    dialog, _ = talk(model, ["l", "q"], session)
    assert f"{postponed} comes now, because the model would stop without it." in capsys.readouterr().out
    assert [entry.kind for entry in dialog.session.log()] == ["later", "later"]


def test_undo_says_what_is_taken_back_also_where_it_was_said_twice(model, capsys):
    session = model.session()
    session.unknown("age")
    session.unknown("age")
    dialog, _ = talk(model, ["u", "q"], session)
    assert "age is taken back." in capsys.readouterr().out
    assert len(dialog.session.log()) == 1


def test_undo_of_one_acquisition_leaves_what_was_said_after_it(model, capsys):
    session = model.session()
    session.answer("age", 50)
    session.unknown("blood")
    dialog, _ = talk(model, ["u age", "undo smoker", "u temperature", "u blood", "q"], session)
    printed = capsys.readouterr().out
    assert "age is taken back." in printed
    assert "blood is taken back." in printed
    assert "there is nothing to undo about 'smoker'" in printed
    assert "unknown acquisition or column 'temperature'" in printed
    assert dialog.session.log() == []


def test_undo_of_a_postponement_does_not_say_that_a_value_is_taken_back(model, capsys):
    dialog, _ = talk(model, ["l", "u", "q"])
    printed = capsys.readouterr().out
    assert "blood is postponed no longer." in printed
    assert "taken back" not in printed
    assert dialog.session.log() == []


@pytest.mark.parametrize("n_answers", [0, 1])
def test_undo_of_an_end_takes_back_nothing_else(model, capsys, n_answers):
    """It named the last answer, which stayed, or failed where there was none."""
    session = model.session()
    for _ in range(n_answers):
        session.unknown("age")
    session.stop()
    dialog, _ = talk(model, ["u", "q"], session)
    assert "The end of the case is taken back." in capsys.readouterr().out
    assert len(dialog.session.log()) == n_answers


@pytest.mark.parametrize(
    ("word", "key"), [*((word, key) for key, word in KEYS.items()), ("stop", "x"), ("quit", "q"), ("Unknown", "s")]
)
def test_a_word_of_the_list_of_keys_does_what_its_key_does(model, capsys, word, key):
    ends = [] if key in "xq" else ["q"]
    outcomes = []
    for typed in (word, key):
        dialog, ended = talk(model, ["age", "50", typed, *ends])
        outcomes.append((dialog.session.to_json(), dialog.unfinished, ended, capsys.readouterr().out))
    assert outcomes[0] == outcomes[1]
    assert "must be" not in outcomes[0][-1]


def test_a_level_or_a_feature_that_is_called_as_a_key_is_no_key(capsys):
    table = pd.DataFrame({"x": ["unknown", "Stop", "a"] * 20, "later": np.arange(60.0)})
    model = LatticeClassifier(lam=0.001, random_state=0).fit(table, np.tile(["n", "y", "n"], 20))
    assert model.session().next().name == "x"
    for typed, level in (("unknown", "unknown"), ("Stop", "Stop")):
        dialog, _ = talk(model, [typed, "q"])
        assert dialog.session.log()[0].values == {"x": level}
    dialog, _ = talk(model, ["later", "3", "q"])
    assert dialog.session.log()[0][:2] == ("later", "chosen")
    talk(model, ["'a'", "undo", "q"])
    assert "x is taken back." in capsys.readouterr().out


def test_the_help_names_every_key(capsys):
    helped = " ".join(call(capsys, "ask", "--help")[1].split())
    assert all(f"{key} {word}" in helped for key, word in KEYS.items())


def test_without_a_terminal_all_is_plain_and_the_end_of_input_saves(case_model, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("u\n60\n900\n"))
    code, printed, error = call(capsys, "ask", case_model)
    assert (code, error) == (0, "")
    assert "there is nothing to undo." in printed
    assert "'wbc' must be a number from" in printed
    assert "\x1b" not in printed
    assert "crp in mg/l> 60\n" in printed
    saved = json.loads((tmp_path / "model.session.json").read_text())
    assert saved["unfinished"] == {"name": "blood", "values": {"crp": 60}, "accept": False}
    monkeypatch.setattr("sys.stdin", io.StringIO("7\nq\n"))
    code, printed, error = call(capsys, "ask", case_model, "--resume", "model.session.json")
    assert (code, printed.count("crp in mg/l>")) == (0, 0)
    assert len(list(tmp_path.iterdir())) == 1
    assert "unfinished" not in (tmp_path / "model.session.json").read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    for name in ("model.session-2.json", "model.session-3.json"):
        monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
        code, printed, _ = call(capsys, "ask", case_model)
        assert f"--resume {name}" in printed
        assert (tmp_path / name).exists()


def test_known_values_and_options(case_model, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.json").write_text('{"blood": {"crp": 50, "wbc": 7}, "ward": "gp", "age": 300}')
    arguments = ["ask", case_model, "--known", "known.json", "--unavailable", "smoker", "--save", "case.json"]
    code, _, error = call(capsys, *arguments)
    assert code == 2
    assert "known.json: 'age' must be a number from" in error
    assert "(--accept)" in error
    code, _, error = call(capsys, "ask", case_model, "--known", "known.json", "--unavailable", "smokr", "--accept")
    assert code == 2
    assert error.startswith("fsgym: --unavailable: unknown acquisition or column 'smokr'")
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    code, printed, _ = call(capsys, *arguments, "--accept", "--charge-unknown")
    assert code == 0
    assert "Ended with the answer" in printed
    assert "Session: case.json" in printed
    saved = json.loads((tmp_path / "case.json").read_text())
    assert (saved["stopped"], saved["charge_unknown"], saved["unavailable"]) == (True, True, ["smoker"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"policy": "0" * 64}, "held with another model"),
        ({"format": "x"}, "must be of the format"),
        ({"unfinished": {"name": "blood", "values": {"crp": "x"}, "accept": False}}, "is damaged: 'crp' must be"),
        ({"unfinished": {"name": "blood", "values": {"zz": 1}, "accept": False}}, "some of its columns"),
        ({"unfinished": {"name": 1, "values": {}, "accept": False}}, "name must be str"),
        ({"unfinished": 3}, "unfinished must have"),
    ],
)
def test_files_that_are_refused(case_model, model, capsys, tmp_path, change, words):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(json.loads(model.session().to_json()) | change))
    code, _, error = call(capsys, "ask", case_model, "--resume", path)
    assert (code, error.count("\n")) == (2, 1)
    assert words in error


def test_options_that_are_refused(case_model, capsys, tmp_path):
    code, _, error = call(capsys, "ask", case_model, "--resume", tmp_path / "x.json", "--unavailable", "age")
    assert (code, "--unavailable is in the file of --resume already" in error) == (2, True)
    assert "there is no file" in call(capsys, "ask", case_model, "--resume", tmp_path / "x.json")[2]
    assert "is a folder" in call(capsys, "ask", case_model, "--save", tmp_path)[2]
    (tmp_path / "list.json").write_text("[1]")
    assert "must map names to values" in call(capsys, "ask", case_model, "--known", tmp_path / "list.json")[2]


def test_each_key_in_a_terminal_ctrl_c_and_resume(terminals, case_model, model, tmp_path):
    terminal = terminals.run("ask", case_model, folder=tmp_path)
    assert "blood (price 3, paid so far 0)" in terminal.wait_for("crp in mg/l> ")
    assert "\x1b[" in terminal.raw
    assert "It acquires blood (price 3, worth 0.06)" in " ".join(terminal.type("?").split())
    assert "2. " in terminal.type("a")
    terminal.type("50")
    assert "range in training" in terminal.type("900")
    assert "accept" not in terminal.type("7")
    assert "blood is taken back." in terminal.type("u")
    terminal.type("l")
    terminal.type("s")
    terminal.type("u")
    terminal.type("u")
    terminal.type("60")
    terminal.press(b"\x03")
    assert terminal.exit_code() == 130
    assert f"Resume it: fsgym ask {case_model} --resume model.session.json" in terminal.text
    expected = model.session()
    saved = json.loads((tmp_path / "model.session.json").read_text())
    assert saved.pop("unfinished")["values"] == {"crp": 60}
    assert saved == json.loads(expected.to_json())

    terminal = terminals.run("ask", case_model, "--resume", "model.session.json", folder=tmp_path)
    terminal.wait_for("wbc> ")
    terminal.type("7")
    terminal.press(b"q\n")
    assert terminal.exit_code() == 0
    expected.answer("blood", {"crp": 60, "wbc": 7})
    assert (tmp_path / "model.session.json").read_text().strip() == expected.to_json()
    assert [path.name for path in tmp_path.iterdir()] == ["model.session.json"]


@pytest.mark.slow
def test_a_narrow_window_without_colour_and_a_level_in_quotes(terminals, case_model, tmp_path):
    terminal = terminals.run("ask", case_model, folder=tmp_path, width=40, NO_COLOR="1")
    terminal.wait_for("> ")
    assert "is taken back" not in terminal.type("ward")
    assert "the level s is written 's'" in " ".join(terminal.text.split())
    assert "ward> " in terminal.type("zz")
    terminal.type("'s'")
    terminal.type("50")
    for _ in range(5):
        printed = terminal.type("?")
        if "Enter to end>" in printed:
            break
        terminal.type("7" if "wbc>" in printed else "s")
    terminal.press(b"\x04")
    assert terminal.exit_code() == 0
    assert "\x1b" not in terminal.raw
    shown = terminal.text[: terminal.text.index("Session saved")].splitlines()
    assert max(map(len, shown)) <= 40
    saved = json.loads((tmp_path / "model.session.json").read_text())
    assert saved["answers"][0]["values"] == {"ward": "s"}


def scans(n, seed):
    """The scan tells the class, is rarely made of the well, and comes after a key, which tells nothing."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, "ill", "well")
    scan = 3.0 * (y == "ill") + rng.normal(size=n)
    scan[(y == "well") & (rng.random(n) < 0.6)] = np.nan
    return pd.DataFrame({"sign": (y == "ill") + rng.normal(size=n), "key": rng.normal(size=n), "scan": scan}), y


def test_a_dialog_begins_with_what_is_promised_and_names_what_must_come_first(capsys):
    model = AdaptiveClassifier(
        lam=0.02, learner="mixture", prerequisites={"scan": ["key"]}, error_costs=[[0, 30], [1, 0]], random_state=0
    ).fit(*scans(300, 0))
    assert model.evidence_ == ("scan",)
    model.calibrate(*scans(400, 1), target_recall={"ill": 0.7})
    talk(model, ["scan", "q"])
    printed = capsys.readouterr().out
    assert printed.startswith("Nothing is promised here: ")
    assert "key" in next(line for line in printed.splitlines() if "'scan'" in line)
    talk(model, ["q"], model.session(missing=[]))
    assert capsys.readouterr().out.startswith("Promised with confidence 90 %")


def test_a_key_with_more_behind_it_is_refused_alike(model, capsys):
    """It was said to be no number, or no acquisition."""
    lines = [f"{key} ward" for key in (*KEYS, *KEYS.values()) if key not in ("u", "undo")]
    at_answer = model.session()
    for name in ("age", "blood", "ward", "smoker"):
        at_answer.unknown(name)
    assert at_answer.next() is None
    for session in (model.session(), at_answer):
        n_said = len(session.log())
        dialog, ended = talk(model, [*lines, "q"], session)
        printed = " ".join(capsys.readouterr().out.split())
        for line in lines:
            assert f"{line.removesuffix(' ward')} is typed alone, without 'ward'; only u takes a name." in printed
        assert (len(dialog.session.log()), ended) == (n_said, False)


def test_a_level_may_begin_as_a_key_does(capsys):
    table = pd.DataFrame({"exam": np.resize(["x ray", "mri"], 60)})
    exam = MixtureClassifier(lam=0.01, random_state=0).fit(table, table["exam"] == "mri")
    talk(exam, ["x rays", "q"])
    assert "'exam' must be one of mri, x ray, got 'x rays'" in capsys.readouterr().out


def test_a_postponement_beyond_the_most_answers_is_refused_in_a_sentence(model, capsys):
    """It ended the session."""
    session = model.session()
    n_said = most_events(model.acquisitions_)
    for _ in range(n_said):
        session.unknown("smoker")
    dialog, ended = talk(model, ["l", "q"], session)
    assert f"a session may have at most {n_said} answers." in capsys.readouterr().out
    assert (len(dialog.session.log()), ended) == (n_said, False)
