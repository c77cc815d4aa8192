"""The study of disjunctions: its cells, its data, its claims on made-up results."""

import json

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset
from fsgym_studies.common.plan import Source
from fsgym_studies.hkl import cell as hkl_cell
from fsgym_studies.hkl import claims as hkl_claims
from fsgym_studies.hkl import printed as hkl_printed
from fsgym_studies.hkl import study as hkl
from support.synthetic_results import by_text, line


def either(n=80, d=8, seed=0):
    """A table of 0 and 1 whose class is a disjunction of two columns, with a column that never varies."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.4).astype(float)
    X[:, 7] = 1.0
    return Dataset(X, (X[:, 1] + X[:, 4] > 0).astype(int), name="either")


@pytest.mark.parametrize("method", hkl_cell.METHODS)
def test_a_cell_of_disjunctions(method):
    arguments = {
        "features": {"literals": {}, "names": {"x1": "one"}},
        "search": {"grid": {"C": [1.0, 100.0], "beta": [4.0], "p": [1.1]}, "max_active": 50},
        "part": {"folds": 4, "fold": 1, "seed": 0},
        "seed": 3,
    }
    told = hkl_cell.nested(either(), method=method, **arguments)
    assert told == hkl_cell.nested(either(), method=method, **arguments)
    json.dumps(told, allow_nan=False)
    assert told["accuracy"] == 1.0
    assert (told["n_train"], told["n_test"], told["n_literals"]) == (60, 20, 7)
    assert told["n_features"] == round(8 * told["share_used"]) >= 2
    if method == hkl_cell.HKL:
        assert told["n_kept"] == 2
        assert sorted(rule.split(" ", 1)[1] for rule in told["rules"]) == ["one", "x4"]
        assert set(json.loads(told["params"])) == {"C", "beta", "p"}


def test_scores_of_a_selection_are_those_of_scikit_learn():
    from sklearn.feature_selection import chi2, mutual_info_classif

    data = either(seed=1)
    X, y = data.X.astype(float), data.y + (data.X[:, 0] > 0)
    np.testing.assert_allclose(hkl_cell.scores("chi2", X, y), chi2(X, y)[0], rtol=1e-10, atol=1e-12)
    information = mutual_info_classif(X, y, discrete_features=True)
    np.testing.assert_allclose(hkl_cell.scores("information", X, y), information, atol=1e-10)


def test_literals_are_named_by_levels(monkeypatch):
    X = np.column_stack([np.arange(12) % 3, np.arange(12) % 2, np.arange(12.0)])
    codes = Dataset(X, np.arange(12) % 2, feature_names=["town", "smokes", "age"])
    hot = [*(X[:, 0] == k for k in range(3)), X[:, 1], X[:, 2]]
    shown = Dataset(np.column_stack(hot), codes.y, feature_names=["town=A", "town=B", "town=C", "smokes=yes", "age"])
    monkeypatch.setattr(Source, "load", lambda source, data_dir=None: shown if source.one_hot else codes)
    literals, names = hkl.naming(hkl.Bench(Source("people", "people")), codes, None)
    assert literals == {"nominal": [0, 1]}
    assert names == {
        "town=0": "town=A",
        "town=1": "town=B",
        "town=2": "town=C",
        "smokes=0": "smokes!=yes",
        "smokes=1": "smokes=yes",
    }


def test_words_are_those_of_the_training_texts(monkeypatch):
    monkeypatch.setattr(hkl, "COMMON", 2)
    train = Dataset([[3.0, 0, 1], [1, 0, 0], [0, 1, 2]], [0, 1, 0], feature_names=["a", "b", "c"])
    test = Dataset([[0.0, 5, 2], [2, 9, 0]], [0, 1], feature_names=["a", "b", "c"])
    known, new = hkl.words_of(train, test)
    assert known.feature_names == ("a", "c")
    assert known.X.tolist() == [[1, 1], [1, 0], [0, 1]]
    assert new.X.tolist() == [[0, 1], [1, 0]]


def disjunctions(lead, kept=2):
    """Results of all approaches: the disjunctions ``lead`` points above the printed accuracy, the others at 70 %."""
    printed = hkl_printed.OURS | {name: own[1] for name, (own, _, _) in hkl_printed.KEPT.items()}
    more = {"n_literals": 400, "n_kept": kept, "words": 1.0, "status": "necessary"}
    more |= {"rules": ["+1.00 a"], "bias": "-1.00", "share_used": 0.5}
    rows = []
    for dataset, accuracy in printed.items():
        for method in hkl_cell.METHODS:
            value = (accuracy + lead) / 100 if method == hkl_cell.HKL else 0.7
            rows += line(dataset, method, [(0.5, min(value, 1.0))], **more)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("lead", "kept", "holds"), [(-0.5, 2, True), (-30.0, 300, False)])
def test_claims_of_disjunctions(lead, kept, holds):
    table = disjunctions(lead, kept)
    claims = hkl_claims.claims(table)
    for start in (*(f"Table 1, {d}:" for d in hkl_printed.DATASETS), "On each data set", "Table 3"):
        assert by_text(claims, start).holds is holds
    for method in hkl_cell.METHODS[1:]:
        (found,) = [c for c in claims if f"{method} on all" in c.text or f": {method} (" in c.text]
        assert found.holds is holds
    sparse = [c for c in claims if c.text.startswith("Tables 4 and 5")]
    assert len(sparse) == 8
    assert {c.holds for c in sparse if "accuracy of" in c.text} == {holds}
    assert by_text(claims, "Tables 4 and 5, colon: rules").holds is holds
    assert by_text(claims, "Tables 4 and 5, Wisconsin: rules").holds is True  # below the share of all features
    conclusion = hkl.conclude([], table, False)
    tables = {t.stem: t.frame for t in conclusion.tables}
    assert len(tables["wilcoxon"]) == 6 + 2 + 30
    assert set(tables["rules"]["rules"]) == {"+1.00 a; -1.00 always"}
    assert any(n.startswith("20 newsgroups: every approach") for n in conclusion.notes) is (not holds)


def test_what_is_missing_is_not_judged():
    table = disjunctions(0.0)
    claims = hkl_claims.claims(table[table["dataset"] != "vote"])
    assert by_text(claims, "Table 1, vote").holds is None
    assert by_text(claims, "On each data set").holds is None
    assert by_text(claims, "Table 2: significantly better than L1-SVM").holds is None
    assert by_text(claims, "Table 1, hepatitis").holds is True


def test_the_printed_test_is_checked_on_the_printed_table():
    machine = {c.text.split("with ")[1][:6]: c for c in hkl_claims.of_the_print()}
    assert set(machine) == {"L2-SVM", "L1-SVM"}
    assert [c.paper for c in machine.values()] == ["10", "15"]
    from scipy.stats import wilcoxon

    ours = np.array(list(hkl_printed.OURS.values()))
    values = [np.array(pair[1]) for pair in hkl_printed.SELECTIONS.values()]
    assert {len(v) for v in values} == {10}
    count = sum(wilcoxon((ours - v)[ours != v]).pvalue < 0.05 and (ours > v).sum() > (ours < v).sum() for v in values)
    assert machine["L1-SVM"].here == str(count)
