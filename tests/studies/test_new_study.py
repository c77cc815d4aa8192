"""What docs/extend says of a new study: one folder, one entry, and ``fsgym reproduce`` runs it."""

import pandas as pd
import pytest

import fsgym_studies
from fsgym import cli
from fsgym_studies.common.claims import Claim, assess
from support.pages import read


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The folder of results of the study in tests/support, run once, and a document with its section."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fsgym_studies.STUDIES, "tree-on-wine", "support.tree_on_wine.study:STUDY")
        arguments = ["reproduce", "tree-on-wine", "--jobs", "1", "--out", str(folder), "--doc", str(folder / "doc.md")]
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
    assert stop.value.code == 0
    return folder


def test_it_has_a_claim_a_table_and_a_picture(report):
    claims = pd.read_csv(report / "claims.csv")
    assert claims["paper"].tolist() == ["0.9", "the same"]
    assert claims["result"].tolist() == ["reproduced", "not reproduced"]
    assert len(pd.read_csv(report / "settings.csv")) == 3
    assert (report / "depth.png").read_bytes().startswith(b"\x89PNG")
    assert "author = {Nobody}" in (report / "tree-on-wine.bib").read_text()


def test_reports_show_why_a_claim_is_not_reproduced(report, capsys):
    cause = "protocol: the paper does not print how deep its trees are"
    section, (_, page) = (report / "doc.md").read_text(), read(report / "report.html")
    assert "| claim | paper | ours | result | cause |" in section
    assert "1 of 2 claims reproduced; causes: protocol 1.**" in section
    assert "1 of 2 claims reproduced; causes: protocol 1." in page
    assert cause in section
    assert cause in page
    assert pd.read_csv(report / "claims.csv")["cause"].isna().tolist() == [True, False]


def claim(**changes):
    row = {"text": "A claim", "paper": ".9", "measure": "accuracy", "criterion": lambda v: v >= 0.9, "format": "{:.2f}"}
    return Claim(**(row | changes))


@pytest.mark.parametrize(
    ("figures", "ours", "reproduced"),
    [({"accuracy": 0.95}, "0.95", True), ({"accuracy": 0.85}, "0.85", False)]
    + [(missing, "–", None) for missing in ({}, {"accuracy": None}, {"accuracy": float("nan")})],
)
def test_a_claim_without_a_figure_is_not_assessed(figures, ours, reproduced):
    (assessed,) = assess([claim(cause="data: other rows")], figures)
    assert (assessed.ours, assessed.reproduced) == (ours, reproduced)
    assert assessed.cause == ("data: other rows" if reproduced is False else "")
    assert len(assess([claim()], figures, list_all=False)) == (reproduced is not None)


def test_a_figure_may_be_shown_although_it_is_not_assessed():
    (assessed,) = assess([claim(criterion=lambda v: None)], {"accuracy": 0.95})
    assert (assessed.ours, assessed.reproduced) == ("0.95", None)


def test_measures_and_formats():
    several = claim(measure=lambda figures: (figures["a"], 2), criterion=lambda a, b: a < b, format="{} of {}")
    as_numbers = claim(measure="by method", criterion=bool, format=None)
    first, second = assess([several, as_numbers], {"a": 1, "by method": {"CART": 0.5, "DWSM": 0.25}})
    assert (first.ours, first.reproduced) == ("1 of 2", True)
    assert second.ours == "CART 0.500, DWSM 0.250"


def test_a_cause_names_where_it_lies():
    with pytest.raises(ValueError, match="one of paper, data, protocol, ours, not known and a colon, got 'bad luck'"):
        claim(cause="bad luck")


def test_a_cause_may_state_figures():
    without = claim(cause=lambda figures: f"protocol: with half of the rows {figures['half']:.2f}")
    low, high = ({"accuracy": accuracy, "half": 0.93} for accuracy in (0.8, 0.95))
    assert [assess([without], figures)[0].cause for figures in (low, high)] == [
        "protocol: with half of the rows 0.93",
        "",
    ]
    with pytest.raises(
        ValueError, match=r"one of paper, data, protocol, ours, not known and a colon, got 'half: 0\.93'"
    ):
        assess([claim(cause=lambda figures: f"half: {figures['half']}")], low)
