"""Contracts of all studies: each has a complete declaration, and assesses no claim without results."""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset, load_dataset
from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import OfficialSplit
from fsgym.data.reading.files import read_text
from fsgym_studies import STUDIES, find_study
from fsgym_studies.common.claims import AssessedClaim
from fsgym_studies.common.data import require_datasets
from fsgym_studies.common.plan import MethodSettings, Source, study_cells
from fsgym_studies.common.render import markdown, overview, write_section
from fsgym_studies.common.study import Conclusion

WINE = load_dataset("wine")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_a_complete_declaration(name):
    study = find_study(name)
    assert study.name == name
    assert study.title
    assert study.reference.count("@") == study.reference.count("year ")
    assert 0 < study.minutes[0] < study.minutes[1]
    assert study.datasets


@pytest.mark.parametrize("name", STUDIES)
def test_no_study_fails_without_results(name):
    """If all cells failed, there are claims, and none of them is assessed."""
    study = find_study(name)
    columns = [
        "dataset",
        "share",
        "split",
        "method",
        "setting",
        "params",
        "error",
        "accuracy",
        "sparsity",
        "chance",
        "loss",
        "n_acquisitions",
        "n_features",
        "sparsity_within",
        "spent",
        "error_cost",
        "history",
        "histogram",
        "wrong",
        "usage",
        "class_usage",
        "class_right",
    ]
    planned = [any_task()]
    conclusion = study.conclude(planned, pd.DataFrame(columns=columns), False)
    assert isinstance(conclusion, Conclusion)
    assert conclusion.claims
    assert all(c.reproduced is None for c in conclusion.claims)


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_a_study_has_its_title_and_protocol(name):
    page = (DOCS / ("agents.md" if name == "lattice-vs-peers" else "reproduction.md")).read_text(encoding="utf-8")
    full = f"`fsgym reproduce {name} --full`" in page
    protocol = importlib.import_module(STUDIES[name].partition(":")[0]).protocol(full)
    reproduction = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    earlier = "".join(re.findall(r"^Sections of an earlier protocol.*$", reproduction, re.MULTILINE))
    is_of_the_present = f"\n## {find_study(name).title}\n\n{protocol} " in page
    assert is_of_the_present is (f"`{name}`" not in earlier)
    section = page.partition(f"<!-- {name}: begin")[2].partition(f"<!-- {name}: end -->")[0]
    assert ("*This section is of an earlier protocol: " in section) is not is_of_the_present
    assert f"\n## {find_study(name).title}\n" in page


def any_task():
    protocol = Protocol.for_dataset(WINE, [OfficialSplit(WINE)])
    (task,) = study_cells(protocol, [MethodSettings("tree", "cart", ({},))])
    return task


def test_missing_data_sets_are_named(monkeypatch):
    monkeypatch.delenv("FSGYM_DATA", raising=False)
    require_datasets(["wine", "sonar"], "some-study")  # embedded, and at OpenML
    with pytest.raises(ValueError, match=r"study 'some-study' needs the data sets pcmac, a9a, which .* --data-dir"):
        require_datasets(["wine", "pcmac", "a9a", "pcmac"], "some-study")


def test_unknown_study():
    with pytest.raises(ValueError, match="unknown study 'dwsm-binar'; did you mean 'dwsm-binary'"):
        find_study("dwsm-binar")
    with pytest.raises(ValueError, match="unknown study 'lattice_vs_peer'; did you mean 'lattice-vs-peers'"):
        find_study("lattice_vs_peer")


def test_claims_are_counted_in_words():
    claims = [AssessedClaim("", "0.9", "", reproduced) for reproduced in (True, False, None, True)]
    assert Conclusion("", claims).summary() == "2 of 3 claims reproduced; 1 not assessed"
    assert Conclusion("", claims[:2]).summary() == "1 of 2 claims reproduced"


def test_claims_that_are_not_reproduced_are_counted_by_cause():
    causes = ["ours: fewer iterations", "paper: a misprint", "ours: other draws", ""]
    claims = [AssessedClaim("", "0.9", "", False, cause) for cause in causes]
    assert Conclusion("", claims).summary() == "0 of 4 claims reproduced; causes: paper 1, ours 2, unknown 1"
    missing = AssessedClaim("", "0.9", "", None)
    words = Conclusion("", [*claims[:1], missing]).summary()
    assert words == "0 of 1 claims reproduced; 1 not assessed; causes: ours 1"


def test_claims_without_a_paper_are_confirmed():
    claims = [AssessedClaim("", "", "", confirmed) for confirmed in (True, False, None)]
    assert [c.result for c in claims] == ["confirmed", "not confirmed", "not assessed"]
    assert Conclusion("", claims).summary() == "1 of 2 claims confirmed; 1 not assessed"


def test_claims_without_a_paper_are_not_counted_beside_those_of_a_paper(tmp_path):
    paper = [AssessedClaim("", "0.9", "", True), AssessedClaim("", "0.9", "", False, "data: other rows")]
    own = [AssessedClaim("", "", "", confirmed, "paper: it has none") for confirmed in (True, False, None)]
    conclusion, doc = Conclusion("Protocol.", [*paper, *own]), tmp_path / "page.md"
    assert conclusion.summary() == "1 of 2 claims reproduced; causes: data 1"
    write_section(doc, find_study("dwsm-cost"), conclusion, True, "5 cells")
    row = overview(doc.read_text()).iloc[0]
    assert (row["claims"], row["reproduced"], row["cause: paper"], row["cause: data"]) == (2, 1, 0, 1)
    assert "not confirmed" in doc.read_text()


@pytest.mark.parametrize("name", STUDIES)
def test_each_data_set_of_a_study_can_be_left_out(name, monkeypatch):
    """Its files are not read, and those of the others are."""
    X = np.random.default_rng(0).normal(size=(60, 20))

    def load(source, data_dir=None):
        loaded.add(source.name)
        return Dataset(X, 1 + np.arange(60) % 9, name=source.title)

    monkeypatch.setattr(Source, "load", load)
    monkeypatch.setattr(MethodSettings, "at", lambda self, protocol: ComparedMethod("cart", "tree", (None,), ({},)))
    for module in ("gbfs", "lattice_vs_peers"):
        monkeypatch.setattr(f"fsgym_studies.{module}.study.binary", lambda data, positive: data)
    monkeypatch.setattr("fsgym_studies.hkl.study.load_parts", lambda entry, data_dir: (entry.source.load(), None))
    monkeypatch.setattr("fsgym_studies.hkl.study.literal_options", lambda *_: ({}, {}))
    study, full = find_study(name), name == "lattice-vs-peers"  # the quick form of the others has the same sets
    needed = dict.fromkeys(study.needed_datasets(full))
    for skipped in [*needed][:: 1 + len(needed) // 10] if len(needed) > 1 else ():
        loaded = set()
        cells = study.cells(full, None, {skipped})
        together = {"isolet_1560", "isolet5"} if name == "gbfs" else {skipped}  # training and test part
        assert set(needed) - loaded == (together if skipped in together else {skipped})
        assert cells


def test_the_overview_of_the_page_is_that_of_its_sections():
    page = read_text(DOCS / "reproduction.md")
    assert markdown(overview(page)) in page


def test_a_new_section_changes_the_overview(tmp_path):
    doc, study = tmp_path / "page.md", find_study("dwsm-cost")
    doc.write_text("# Page\n\n<!-- overview: begin, written by fsgym reproduce -->\n<!-- overview: end -->\n")
    claims = [AssessedClaim("one", "1", "2", False, "data: other rows"), AssessedClaim("two", "1", "1", True)]
    write_section(doc, study, Conclusion("Protocol.", claims), False, "2 cells")
    write_section(doc, study, Conclusion("Protocol.", claims[:1]), True, "2 cells")
    assert f"| {study.title} | full | 1 | 0 | 0 | 1 | 0 | 0 |" in doc.read_text()
    assert "| all |  | 1 | 0 | 0 | 1 | 0 | 0 |" in doc.read_text()
