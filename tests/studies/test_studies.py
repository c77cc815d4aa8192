"""What holds of every study: it declares itself, and judges nothing where there are no results."""

import pandas as pd
import pytest

from fsgym import load_dataset
from fsgym_studies import STUDIES, find_study
from fsgym_studies.common.plan import Arm, Block, require, shares
from fsgym_studies.common.study import Claim, Conclusion, Planned

WINE = load_dataset("wine")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_declares_itself(name):
    study = find_study(name)
    assert study.name == name
    assert study.title
    assert study.reference.count("@") == study.reference.count("year ")
    assert 0 < study.minutes[0] < study.minutes[1]
    assert study.datasets


@pytest.mark.parametrize("name", STUDIES)
def test_no_study_fails_without_results(name):
    """All cells failed: nothing is judged, or what is judged says that it is not."""
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
    planned = [Planned(cells_task(), {})]
    conclusion = study.conclude(planned, pd.DataFrame(columns=columns), False)
    assert isinstance(conclusion, Conclusion)
    assert conclusion.claims
    assert all(c.holds is None for c in conclusion.claims)


def cells_task():
    (cell,) = Block(WINE, (Arm("tree", "cart", ({},)),), shares(0.5, 1), test=WINE).planned()
    return cell.task


def test_a_missing_data_set_is_told_in_one_sentence(monkeypatch):
    monkeypatch.delenv("FSGYM_DATA", raising=False)
    require(["wine", "sonar"], "some-study")  # embedded, and at OpenML
    with pytest.raises(ValueError, match=r"study 'some-study' needs the data sets pcmac, a9a, which .* --data-dir"):
        require(["wine", "pcmac", "a9a", "pcmac"], "some-study")


def test_unknown_study():
    with pytest.raises(ValueError, match="unknown study 'dwsm-binar'; did you mean 'dwsm-binary'"):
        find_study("dwsm-binar")
    with pytest.raises(ValueError, match="unknown study 'lattice_vs_peer'; did you mean 'lattice-vs-peers'"):
        find_study("lattice_vs_peer")


def test_claims_are_counted_in_words():
    kinds = [Claim("", "", "", h) for h in (True, False, None, True)]
    assert Conclusion("", kinds).counts() == "2 of 3 claims hold here; 1 could not be judged"
    assert Conclusion("", kinds[:2]).counts() == "1 of 2 claims hold here"
