"""``fsgym reproduce``: the list of studies, a tiny study from start to end, its files, resuming, and failures."""

import json
import re
import shutil
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fsgym_studies as studies
from fsgym import Dataset, cli
from fsgym.comparison import cell as cells
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import random_splits
from fsgym_studies import STUDIES
from fsgym_studies.command import show_failures
from fsgym_studies.common.claims import AssessedClaim
from fsgym_studies.common.curves import evaluated_cells, setting_means
from fsgym_studies.common.data import skipped_datasets
from fsgym_studies.common.plan import CART, DWSM, MethodSettings, price_settings, study_cells
from fsgym_studies.common.render import markdown, replace_section, settings_table, write_study
from fsgym_studies.common.study import Conclusion, Study, Table
from fsgym_studies.dwsm.shared import curve_pictures
from support.pages import read

NASTY = "<script>alert('x')</script> | *bold* `code`"
REFERENCE = "@article{tiny2024,\n  title = {Tiny},\n  year = {2024}\n}\n"
BROKEN = {"lam": 0.0, "alpha": 7.0}


def call(capsys, *arguments):
    """Exit code, stdout and stderr of a command."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(a) for a in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


def tiny_plan(full, data_dir):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    data = Dataset(X, np.where(X[:, 0] > 0, "<b>yes</b>", "no"), name=NASTY)
    methods = [
        MethodSettings(DWSM, "rcpi", price_settings((0.0, 0.1), n_iterations=2, states_per_sample=2)),
        MethodSettings(CART, "cart"),
    ]
    return list(study_cells(Protocol.for_dataset(data, random_splits(0.5, 3 if full else 2)), methods))


def broken_plan(full, data_dir):
    data = tiny_plan(full, data_dir)[0].data["dataset"]
    methods = [MethodSettings(DWSM, "rcpi", (BROKEN, {"n_iterations": 1}))]
    return list(study_cells(Protocol.for_dataset(data, random_splits(0.5, 2)), methods))


def tiny_conclusion(planned, table, full):
    table = evaluated_cells(table)
    settings = setting_means(table)
    best = table["accuracy"].max()
    claims = [
        AssessedClaim(f"Something on {NASTY}", "at least .5", f"{best:.3f}", bool(best >= 0.5)),
        AssessedClaim("Accuracy is at least 2", "2.000", f"{best:.3f}", bool(best >= 2)),
        AssessedClaim("A claim without results", "–", "–", None),
    ]
    tables = [settings_table(settings), Table("odd", "Odd", "A note.", pd.DataFrame({NASTY: [1.0, np.nan]}))]
    pictures = curve_pictures(settings, table)
    return Conclusion("Invented.", claims, tables, pictures, ["A <i>note</i>."])


TINY = Study("tiny", "A tiny <em>study</em>", REFERENCE, (1.0, 2.0), ("wine",), tiny_plan, tiny_conclusion)
FAILING = Study("failing", "One that fails", REFERENCE, (1.0, 2.0), ("wine",), broken_plan, tiny_conclusion)
NO_DATA = Study(
    "no-data", "One without data", REFERENCE, (1.0, 2.0), ("wine", "moon_rocks"), tiny_plan, tiny_conclusion
)


def partial_plan(full, data_dir, skip=()):
    assert list(skip) in ([], ["moon_rocks"])
    return tiny_plan(full, data_dir)


PARTIAL = replace(NO_DATA, name="partial", plan=partial_plan)
NOTHING = replace(NO_DATA, name="nothing", datasets=("moon_rocks", "mars_rocks"))


@pytest.fixture(autouse=True)
def declared(monkeypatch):
    for name in ("TINY", "FAILING", "NO_DATA", "PARTIAL", "NOTHING"):
        monkeypatch.setitem(studies.STUDIES, name.lower().replace("_", "-"), f"{__name__}:{name}")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.delenv("FSGYM_DATA", raising=False)


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    """The folder of the tiny study, run once."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(studies.STUDIES, "tiny", f"{__name__}:TINY")
        with pytest.raises(SystemExit) as stop:
            cli.main(["reproduce", "tiny", "--jobs", "1", "--out", str(folder)])
    assert stop.value.code == 0
    return folder


def test_the_list_has_every_study_with_its_time(capsys):
    code, output, error = call(capsys, "reproduce")
    assert (code, error) == (0, "")
    for name in STUDIES:
        assert re.search(rf"^{name} +[\d.]+ (s|min|h) +[\d.]+ (s|min|h) +\S", output, re.MULTILINE)


def test_claims_are_printed_and_files_written(capsys, tmp_path):
    code, output, error = call(capsys, "reproduce", "tiny", "--quick", "--jobs", 1, "--out", tmp_path)
    assert (code, error) == (0, "")
    assert "1 of 2 claims reproduced; 1 not run; causes: not known 1. Sentences of the paper: 1 of 2" in output
    assert "Accuracy is at least 2" in output
    assert NASTY.split(" |")[0] in " ".join(output.split())
    assert "Note: A <i>note</i>." in output
    names = {p.name for p in tmp_path.iterdir()}
    assert {
        "report.html",
        "claims.csv",
        "cells.csv",
        "settings.csv",
        "odd.csv",
        "tables.md",
        "tiny.bib",
        "timings.csv",
        "times.csv",
        "results.sqlite",
    } <= names
    assert any(n.startswith("curves_") and n.endswith(".png") for n in names)
    assert (tmp_path / "tiny.bib").read_text() == REFERENCE
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == len(tiny_plan(False, None))
    assert set(cells["dataset"]) == {NASTY}
    assert "histogram" not in cells
    assert pd.read_csv(tmp_path / "claims.csv")["result"].tolist() == ["reproduced", "not reproduced", "not run"]
    times, timings = pd.read_csv(tmp_path / "times.csv"), pd.read_csv(tmp_path / "timings.csv")
    splits = cells.groupby("method")["split"].nunique()
    whole = timings.groupby("method")["cpu_seconds"].sum() / splits
    np.testing.assert_allclose(times[list(splits.index)].iloc[0], whole, atol=0.0051)


def test_the_report_is_escaped_and_self_contained(tiny_folder):
    markup, text = read(tiny_folder / "report.html")
    assert not {"script", "i", "em", "link"} & set(markup.tags)
    assert " ".join(NASTY.split()) in text
    assert "A tiny <em>study</em>" in text
    assert "A <i>note</i>." in text
    assert "1 of 2 claims reproduced" in text
    assert markup.links
    assert all(link.startswith("data:image/png;base64,") for link in markup.links)


def test_markdown_escapes():
    table = markdown(pd.DataFrame({NASTY: ["a|b", "<i>", 0.5, np.nan]}))
    lines = table.splitlines()
    assert len(lines) == 6
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 2 for line in lines)
    assert "<" not in table.replace("\\<", "")
    assert lines[-2:] == ["| 0.500 |", "| – |"]


def test_the_same_command_resumes_and_ends_with_the_same_bytes(capsys, tmp_path, tiny_folder, monkeypatch):
    """All cells are in the store: none is run again, and tables are the same bytes."""
    again = tmp_path / "again"
    shutil.copytree(tiny_folder, again)
    monkeypatch.setattr(cells, "run_tested_cell", lambda *a, **k: pytest.fail("a finished cell ran again"))
    code, _, error = call(capsys, "reproduce", "tiny", "--jobs", 1, "--out", again)
    assert (code, error) == (0, "tiny: 8 of 8 are of an earlier run\n")
    for name in ("cells.csv", "claims.csv", "settings.csv", "tables.md", "results.sqlite"):
        assert (again / name).read_bytes() == (tiny_folder / name).read_bytes()


def test_finished_cells_survive_ctrl_c(capsys, tmp_path, monkeypatch):
    original, count = cells.run_tested_cell, iter(range(100))

    def interrupted(**arguments):
        if next(count) == 3:
            raise KeyboardInterrupt
        return original(**arguments)

    monkeypatch.setattr(cells, "run_tested_cell", interrupted)
    total = len(tiny_plan(False, None))
    code, _, error = call(capsys, "reproduce", "tiny", "--jobs", 1, "--out", tmp_path)
    assert code == 130
    assert error == f"fsgym: stopped after 3 of {total} cells; run the same command to resume\n"
    assert not (tmp_path / "report.html").exists()
    code, _, _ = call(capsys, "reproduce", "tiny", "--jobs", 1, "--out", tmp_path)
    assert code == 0
    assert next(count) == total + 1  # one was interrupted and ran again, no other


def test_failed_cells_are_listed_and_the_others_are_reported(capsys, tmp_path):
    code, output, error = call(capsys, "reproduce", "failing", "--jobs", 1, "--out", tmp_path)
    assert code == 1
    assert "2 of 4 cells failed; run the same command to try them again" in error
    assert error.count("alpha must") == 2
    assert "claims reproduced" in output
    assert "Failed cells" in read(tmp_path / "report.html")[1]
    assert json.dumps(BROKEN) in error


@pytest.mark.parametrize(
    ("row", "shown", "line"),
    [
        ({"dataset": "vote", "method": "L1-SVM", "split": 3, "params": ""}, "vote L1-SVM 3", "vote, L1-SVM, split 3"),
        ({"dataset": "pcmac 1", "selector": "RFE"}, "pcmac 1", "pcmac 1"),
    ],
)
def test_failed_cells_are_listed_whatever_their_names_are(capsys, tmp_path, row, shown, line):
    """Cells of hkl have no setting before they run, and those of lufe have neither method nor split."""
    table, timings = pd.DataFrame([{**row, "error": "ValueError: no"}]), pd.DataFrame(columns=["cpu_seconds"])
    conclusion = Conclusion("Invented.", [AssessedClaim("Nothing", "", "", None)])
    report = write_study(TINY, conclusion, table, timings, tmp_path, full=False, command="")
    assert f"{shown} ValueError: no" in read(report)[1]
    show_failures(table, tmp_path)
    assert f"{line}: ValueError: no\n" in capsys.readouterr().err


def test_mistakes_are_one_sentence(capsys, tmp_path):
    for arguments, message in (
        (["tinny"], "unknown study 'tinny'; did you mean 'tiny'?"),
        (["no-data"], "study 'no-data' needs the data sets moon_rocks, which"),
        (["tiny", "--backend", "dask"], "scheduler"),
        (["tiny", "--data-dir", tmp_path / "nowhere"], "must name an existing folder"),
    ):
        code, _, error = call(capsys, "reproduce", *arguments, "--out", tmp_path / "out")
        assert code == 2
        assert message in error
        assert error.count("\n") == 1
    (tmp_path / "file").write_text("")
    code, _, error = call(capsys, "reproduce", "tiny", "--out", tmp_path / "file")
    assert (code, error.count("\n")) == (2, 1)


def test_the_section_of_a_document_is_replaced(capsys, tmp_path, tiny_folder):
    doc = tmp_path / "reproduction.md"
    doc.write_text("# Reproduction\n\nWritten by hand.\n")
    for _ in range(2):
        code, _, _ = call(capsys, "reproduce", "tiny", "--jobs", 1, "--out", tiny_folder, "--doc", doc)
        assert code == 0
    text = doc.read_text()
    assert text.startswith("# Reproduction\n\nWritten by hand.\n")
    assert text.count("# A tiny") == 1
    assert "`fsgym reproduce tiny --quick`" in text
    assert "**In a quick run, 1 of 2 claims reproduced; 1 not run; causes: not known 1.**" in text
    assert "| not reproduced |" in text
    doc.write_text(text + "\nMore by hand.\n")
    replace_section(doc, "tiny", "## Other \\1 text")
    assert doc.read_text().endswith("## Other \\1 text\n<!-- tiny: end -->\n\nMore by hand.\n")
    with pytest.raises(OSError, match="cannot write"):
        replace_section(tmp_path / "no" / "such.md", "tiny", "")


def test_the_list_says_which_data_are_missing(capsys):
    output = call(capsys, "reproduce")[1].splitlines()
    assert "dwsm-multiclass: data: 3 of 4 are loaded from OpenML at the first run" in output
    assert "dwsm-groups: data: lacks a9a, pcmac, breast_cancer_wisconsin_683, splice_libsvm" in output
    (line,) = [line for line in output if line.startswith("lattice-vs-peers: data: lacks")]
    assert line.endswith("; complete for --quick")
    assert "no-data: data: lacks moon_rocks" in output


def test_missing_data_are_one_sentence_before_any_fit(capsys, tmp_path):
    code, output, error = call(capsys, "reproduce", "partial", "--out", tmp_path / "out")
    assert (code, output) == (2, "")
    assert error.startswith("fsgym: study 'partial' needs the data sets moon_rocks, which are not there: download them")
    assert "--skip-missing" in error
    assert not (tmp_path / "out").exists()


def test_missing_data_are_left_out_and_named_in_the_report(capsys, tmp_path):
    arguments = ("--skip-missing", "--jobs", 1, "--out", tmp_path, "--doc", tmp_path / "doc.md")
    code, output, error = call(capsys, "reproduce", "partial", *arguments)
    assert code == 0
    note = "Skipped, because the data are missing: moon_rocks. The results are without them."
    assert f"fsgym: {note}" in error
    assert note in output
    assert note in read(tmp_path / "report.html")[1]
    assert "moon" in (tmp_path / "doc.md").read_text()
    assert "Skipped" not in call(capsys, "reproduce", "tiny", "--skip-missing", "--jobs", 1, "--out", tmp_path / "t")[1]


def test_nothing_is_run_without_any_data(capsys, tmp_path):
    code, _, error = call(capsys, "reproduce", "nothing", "--skip-missing", "--out", tmp_path / "out")
    assert code == 2
    assert "has none of its data sets (moon_rocks, mars_rocks)" in error


def test_sets_that_openml_does_not_send_are_left_out(monkeypatch):
    def load(name, **_):
        raise OSError("no network")

    monkeypatch.setattr("fsgym_studies.common.data.load_dataset", load)
    study = replace(NO_DATA, datasets=("wine", "sonar", "moon_rocks"))
    told = []
    assert skipped_datasets(study, True, tell=told.append) == ["sonar", "moon_rocks"]
    assert told == ["looking for sonar, at OpenML unless it is on the disk"]


def test_data_that_are_looked_for_are_named_at_once(capsys, monkeypatch, tmp_path):
    def load(name, **_):
        raise OSError("no network")

    monkeypatch.setattr("fsgym_studies.common.data.load_dataset", load)
    monkeypatch.setattr(sys.modules[__name__], "NOTHING", replace(NOTHING, datasets=("sonar",)))
    code, _, error = call(capsys, "reproduce", "nothing", "--skip-missing", "--out", tmp_path / "out")
    assert code == 2
    assert error.startswith("fsgym: looking for sonar, at OpenML unless it is on the disk\n")
