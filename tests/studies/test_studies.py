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
from fsgym_studies.common.claims import AssessedClaim, Near
from fsgym_studies.common.data import require_datasets
from fsgym_studies.common.plan import MethodSettings, Source, study_cells
from fsgym_studies.common.render import overview, overview_in_markdown, page_of, write_page
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
@pytest.mark.one_in(3)
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
    page = read_text(DOCS / "reproduction" / f"{name}.md")
    full = f"`fsgym reproduce {name} --full`" in page
    protocol = importlib.import_module(STUDIES[name].partition(":")[0]).protocol(full)
    earlier = "".join(
        re.findall(r"^Pages of an earlier protocol.*$", read_text(DOCS / "reproduction.md"), re.MULTILINE)
    )
    is_of_the_present = f"\n\n{protocol} " in page
    assert is_of_the_present is (f"`{name}`" not in earlier)
    assert ("*This page is of an earlier protocol: " in page) is not is_of_the_present
    assert f"\n# {find_study(name).title}\n" in page


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
    assert Conclusion("", claims).summary() == "2 of 3 claims reproduced; 1 not run; causes: not known 1"
    assert Conclusion("", claims[:1]).summary() == "1 of 1 claims reproduced"


def test_claims_that_are_not_reproduced_are_counted_by_cause():
    causes = ["ours: fewer iterations", "paper: a misprint", "ours: other draws", ""]
    claims = [AssessedClaim("", "0.9", "", False, cause) for cause in causes]
    assert Conclusion("", claims).summary() == "0 of 4 claims reproduced; causes: paper 1, ours 2, not known 1"
    missing = AssessedClaim("", "0.9", "", None)
    words = Conclusion("", [*claims[:1], missing]).summary()
    assert words == "0 of 1 claims reproduced; 1 not run; causes: ours 1"


def test_claims_of_one_sentence_count_once_in_the_second_line():
    """It is reproduced where all of its claims that were run are."""
    parts = [AssessedClaim(name, "1", "", met, sentence="Table 2") for name, met in (("a", True), ("b", None))]
    other = [AssessedClaim("c", "1", "", met, sentence="Table 3") for met in (True, False)]
    whole, own = AssessedClaim("d", "1", "", True), AssessedClaim("e", "", "", False)
    conclusion = Conclusion("", [*parts, *other, whole, own])
    assert conclusion.summary() == "3 of 4 claims reproduced; 1 not run; causes: not known 1"
    assert conclusion.second_summary() == (
        "Sentences of the paper: 2 of 3 reproduced in all their claims. Checks of ours: 0 of 1 confirmed."
    )
    row = overview({"page.md": page_of(find_study("dwsm-cost"), conclusion, True, "")}).iloc[0]
    assert (row["not known"], row["sentences"], row["reproduced in full"]) == (1, 3, 2)


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "lattice-vs-peers"])  # which has no paper
def test_a_claim_that_prints_a_number_fails_on_both_sides(name):
    """A paper's claim whose column ``paper`` is a number has a criterion with a tolerance."""
    module = importlib.import_module(STUDIES[name].partition(":")[0].replace(".study", ".claims"))
    claims = module.all_claims() if hasattr(module, "all_claims") else module.CLAIMS
    for claim in claims:
        if re.fullmatch(r"\d*\.?\d+( \(.*)?", claim.paper):
            near = claim.criterion
            assert isinstance(near, Near), claim.text
            met = [near.holds(near.printed + k * near.tolerance) for k in (-1.1, -0.9, 0.9, 1.1)]
            assert met == [False, True, True, False], claim.text


def test_claims_without_a_paper_are_confirmed():
    claims = [AssessedClaim("", "", "", confirmed) for confirmed in (True, False, None)]
    assert [c.result for c in claims] == ["confirmed", "not confirmed", "not run"]
    assert Conclusion("", claims).summary() == "1 of 2 claims confirmed; 1 not run"


def test_claims_without_a_paper_are_not_counted_beside_those_of_a_paper(tmp_path):
    paper = [AssessedClaim("", "0.9", "", True), AssessedClaim("", "0.9", "", False, "data: other rows")]
    own = [AssessedClaim("", "", "", confirmed, "paper: it has none") for confirmed in (True, False, None)]
    conclusion, doc = Conclusion("Protocol.", [*paper, *own]), tmp_path / "page.md"
    assert conclusion.summary() == "1 of 2 claims reproduced; causes: data 1"
    write_page(doc, find_study("dwsm-cost"), conclusion, True, "5 cells")
    row = overview({"page.md": doc.read_text()}).iloc[0]
    assert (row["claims"], row["reproduced"], row["paper"], row["data"]) == (2, 1, 0, 1)
    assert "not confirmed" in doc.read_text()


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.one_in(3)
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


def test_the_overview_is_that_of_the_pages():
    index = DOCS / "reproduction.md"
    assert overview_in_markdown(index) in read_text(index)


def test_a_new_page_changes_the_overview(tmp_path):
    index, study = tmp_path / "all.md", find_study("dwsm-cost")
    page = tmp_path / "all" / "dwsm-cost.md"
    page.parent.mkdir()
    index.write_text("# Page\n\n<!-- overview: begin, written by fsgym reproduce -->\n<!-- overview: end -->\n")
    claims = [AssessedClaim("one", "1", "2", False, "data: other rows"), AssessedClaim("two", "1", "1", True)]
    write_page(page, study, Conclusion("Protocol.", claims), False, "2 cells")
    write_page(page, study, Conclusion("Protocol.", claims[:1]), True, "2 cells")
    assert f"| [{study.title}](all/dwsm-cost.md) | full | 0 of 1 | data 1 | 0 of 1 |" in index.read_text()
    assert "| all |  | 0 of 1 | data 1 | 0 of 1 |" in index.read_text()


def test_a_page_has_the_verdict_on_top_and_the_whole_of_each_claim_folded():
    causes = "protocol: the paper does not say (its section 2) how"
    claims = [
        AssessedClaim("A is above B (by area (mean), on 7 of 8)", "7", "3 | 4 " + "of many " * 30, False, causes),
        AssessedClaim("C holds", "0..3", "4...5", True),
        AssessedClaim("D is fast", "fast", "–", None),
    ]
    page = page_of(find_study("dwsm-cost"), Conclusion("Protocol.", claims, notes=["A note."]), True, "2 cells")
    top, *folded = page.split("<details><summary>")
    assert "**1 of 2 claims reproduced; 1 not run; causes: protocol 1.**" in top.splitlines()[2]
    assert re.search(
        r"^\| 1 \| A is above B \| 7 \| 3 \\\| 4 of many .{50,75} … \| not reproduced \| protocol \|$", top, re.M
    )
    titles = ["The 1 that are not run", "The claims in full", "Remarks", "What was run"]
    assert [text.partition("<")[0] for text in folded] == titles
    assert "D is fast" not in top
    assert "| 3 | D is fast | fast | – | not run |" in folded.pop(0)
    assert "**1.** A is above B: not reproduced. Criterion: by area (mean), on 7 of 8. Paper: 7." in folded[0]
    assert "Cause, protocol: the paper does not say (its section 2) how." in folded[0]
    assert f"3 \\| 4 {'of many ' * 30}".strip() in folded[0]
    assert "**2.** C holds: reproduced. Paper: 0..3. Ours: 4...5." in folded[0]
    assert "**3.** D is fast: not run. Paper: fast." in folded[0]
    assert page.count("</details>") == 4
