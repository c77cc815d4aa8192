"""The lattice agent and its peers: its cells beside the estimators, its claims on made-up results, its section."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fsgym
from agents import LatticeClassifier
from baselines import CARTClassifier
from fsgym import Dataset, Rules, extras
from fsgym_studies.common.plan import Source
from fsgym_studies.common.render import replace_section, section, write_section
from fsgym_studies.lattice_vs_peers import cell as lattice_cell
from fsgym_studies.lattice_vs_peers import study as lattice_vs_peers
from fsgym_studies.lattice_vs_peers import tables as lattice_tables
from fsgym_studies.lattice_vs_peers.cell import CART, CEGB, LATTICE, PPO, RCPI, STATIC
from fsgym_studies.lattice_vs_peers.tables import OURS, TITLES
from support.synthetic_results import by_text, stand_in

PART = {"share": 0.7, "seed": 1}
PRICES = [0.01, 0.6]


def told_by_one(n=90, d=4, seed=0):
    """The first feature tells the class, the others nothing."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return Dataset(X, np.where(X[:, 0] > 0, "yes", "no"), name="one")


# --- cells ---


@pytest.mark.parametrize("method", [LATTICE, RCPI, CART, CEGB, STATIC])
def test_a_cell_has_the_figures_of_every_price(method):
    """Where a feature costs .01 the one that tells is asked for; where it costs more than an error, nothing is."""
    cell = lattice_cell.at_prices(told_by_one(), method=method, prices=PRICES, part=PART, seed=0)
    assert (cell["n_train"], cell["n_test"]) == (62, 28)
    for k, price in enumerate(PRICES):
        assert cell["loss"][k] == pytest.approx(1 - cell["accuracy"][k] + price * cell["n_features"][k])
    assert cell["accuracy"][0] > 0.9
    assert 1 <= cell["n_features"][0] <= 4
    assert cell["n_features"][1] == 0
    assert cell["seconds"] > 0


def test_the_lattice_of_a_cell_is_that_of_a_fit_at_each_price():
    data = told_by_one()
    train, test = data.split(0.7, 1)
    cell = lattice_cell.at_prices(data, method=LATTICE, prices=PRICES, part=PART, seed=3)
    for price, loss in zip(PRICES, cell["loss"]):
        model = LatticeClassifier(price, random_state=3).fit(train.X, train.classes[train.y])
        assert loss == fsgym.evaluate(model, test, Rules.for_dataset(test, lam=price)).loss


def test_single_fits_are_timed_one_by_one():
    seconds = lattice_cell.single_fits(told_by_one(), prices=PRICES, part=PART, seed=0)["fit_seconds"]
    assert len(seconds) == 2
    assert min(seconds) > 0


def test_what_is_searched_pays_the_price_it_is_asked_for():
    """The tree with the least loss on the same inner folds, equal ones by their place."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + 0.4 * X[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(int)
    trees = [CARTClassifier(max_depth=k, random_state=0) for k in (1, 2, 5)]
    stump = CARTClassifier(ccp_alpha=1.0)
    cheap, dear, dearest = lattice_cell.searched([stump, stump, *trees], X, y, (0.0, 0.1, 1.0), 0)
    assert cheap.get_params()["max_depth"] in (2, 5)
    assert dear.get_params()["max_depth"] == 1
    assert dearest.features_used(X).sum() == 0
    np.testing.assert_array_equal(dear.predict(X), trees[0].fit(X, y).predict(X))


def test_the_static_selection_is_logistic_regression_on_the_same_features_for_all():
    data = told_by_one()
    (model,) = lattice_cell.static(data.X, data.y, [0.01], 0)
    assert model.features_used(data.X).all(axis=0).tolist() == [True, False, False, False]
    assert isinstance(model.classifier_[-1], LogisticRegression)


# --- the plan ---


def test_quick_cells_are_cells_of_the_whole_study(monkeypatch):
    monkeypatch.setattr(Source, "load", stand_in)
    full, quick = ({p.task.key for p in lattice_vs_peers.plan(f, None)} for f in (True, False))
    assert quick < full
    rows = pd.DataFrame([p.row for p in lattice_vs_peers.plan(True, None)])
    counts = rows.groupby("method")["dataset"].nunique()
    assert counts[OURS] == counts[TITLES[CART]] == len(lattice_vs_peers.SOURCES) == 14
    sizes = rows.groupby(["dataset", "method"]).size()
    assert (sizes[:, OURS] == 3).all()
    assert (sizes[:, TITLES[PPO]] == 3).all()
    assert (
        set(lattice_vs_peers.DEEP[False])
        < set(lattice_vs_peers.DEEP[True])
        < {s.title for s in lattice_vs_peers.SOURCES}
    )
    assert set(lattice_vs_peers.QUICK) < {s.title for s in lattice_vs_peers.SOURCES}


def test_what_is_not_installed_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(Source, "load", stand_in)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert {TITLES[CEGB], TITLES[PPO]}.isdisjoint(p.row["method"] for p in lattice_vs_peers.plan(True, None))
    table = made_up(methods=(LATTICE, RCPI, CART, STATIC))
    conclusion = lattice_vs_peers.conclude([], table, True)
    assert "Left out: CEGB needs lightgbm: pip install 'fsgym[cegb]'." in conclusion.notes
    assert not any("CEGB" in c.text for c in conclusion.claims)


# --- claims ---


def made_up(lead: Any = 0.02, seconds=3.0, methods=tuple(TITLES), sets=("one", "two", "three")):
    """Cells of all methods; the lattice loses less than the best peer by ``lead``, a number or one a data set. The
    peers take turns to be the best, .01 apart."""
    rows = []
    for i, dataset in enumerate(sets):
        for split in range(2):
            for k, method in enumerate(methods):
                own = -np.broadcast_to(lead, len(sets))[i] if method == LATTICE else 0.01 * ((k + i) % 5)
                loss = [0.2 + own + 0.1 * p + 0.01 * split for p in range(5)]
                figures = {"loss": loss, "accuracy": [0.8] * 5, "n_features": [5.0, 4.0, 3.0, 2.0, 1.0], "seconds": 2.0}
                rows.append({"dataset": dataset, "split": split, "method": TITLES[method], **figures})
        rows.append({"dataset": dataset, "split": 0, "method": "lattice, single fits", "fit_seconds": [seconds] * 5})
    return pd.DataFrame(rows).assign(error=None, params="{}")


def claims_of(table):
    return lattice_vs_peers.conclude([], table, True).claims


def test_claims_that_hold():
    claims = claims_of(made_up())
    assert len(claims) == 5 + 1 + 2
    assert all(c.holds for c in claims)
    cart = by_text(claims, "The lattice loses less than CART at every price (mean over 3 data sets)")
    found = lattice_tables.points(made_up(), lattice_vs_peers.PRICES)
    pair = lattice_tables.difference(found, "CART", 0.01)
    assert pair is not None
    assert f"0.01: {pair.text}" in cart.here
    best = by_text(claims, "The lattice loses less than the best peer")
    assert best.here.startswith("less at 15 of 15 (100%), the same at 0, more at 0; mean difference -0.02")


def test_claims_that_do_not_hold():
    claims = claims_of(made_up(lead=-0.05, seconds=10.5))
    assert not any(c.holds for c in claims)
    assert by_text(claims, "The lattice loses less than the best peer").here.startswith("less at 0 of 15 (0%)")
    assert by_text(claims, "A fit of it takes at most 10").here == "10.5 over 15 fits"


@pytest.mark.parametrize(
    ("lead", "holds"), [((0.02, 0.02, -0.01), True), ((0.02, 0.0, 0.02), True), ((0.02, 0.0, 0.0), False)]
)
def test_the_best_peer_is_chosen_for_each_data_set_and_price(lead, holds):
    """Two of three data sets are 67 %; where the best loses as much, the lattice does not lose less."""
    claims = claims_of(made_up(lead=lead))
    assert by_text(claims, "The lattice loses less than the best peer").holds is holds


def test_pairs_are_complete():
    """A split that one of the two lacks is not compared; a data set that a peer never saw is not in its mean."""
    table = made_up()
    deep = TITLES[PPO]
    table = table[~((table["method"] == deep) & (table["dataset"] == "two"))]
    table = table[~((table["method"] == deep) & (table["dataset"] == "one") & (table["split"] == 1))]
    found = lattice_tables.points(table, lattice_vs_peers.PRICES)
    pair = lattice_tables.difference(found, deep, 0.1)
    assert pair is not None
    assert (pair.sets, pair.pairs) == (2, 3)
    both = lattice_tables.losses(found[found["lam"] == 0.1])[[OURS, deep]].dropna()
    less = (both[OURS] - both[deep]).groupby("dataset").mean()
    assert pair.mean == pytest.approx(less.mean())
    assert pair.error_sets == pytest.approx(less.std(ddof=1) / np.sqrt(2))
    best = lattice_tables.against_best(found).set_index(["dataset", "lam"]).loc[("one", 0.1)]
    assert best["peer"] == deep
    assert [best["ours"], best["best"]] == pytest.approx(both.loc["one"].iloc[0].tolist())


def test_standard_errors_are_those_of_the_pairs_and_of_the_data_sets():
    found = lattice_tables.points(made_up(lead=(0.0, 0.02, 0.04)), lattice_vs_peers.PRICES)
    pair = lattice_tables.difference(found, "CART")
    assert pair is not None
    table = lattice_tables.losses(found)
    less = table[OURS] - table["CART"]
    assert (pair.sets, pair.pairs, len(less)) == (3, 30, 30)
    assert pair.error == pytest.approx(less.std(ddof=1) / np.sqrt(30))
    assert pair.error_sets == pytest.approx(less.groupby("dataset").mean().std(ddof=1) / np.sqrt(3))
    assert pair.mean == pytest.approx(less.mean())


def test_where_a_peer_is_ahead_is_named():
    table = made_up(lead=(0.02, 0.02, -0.01))
    notes = lattice_vs_peers.conclude([], table, True).notes
    assert any("ahead of the lattice" in n and "three at 0.001" in n and "one at" not in n for n in notes)
    told = next(t for t in lattice_vs_peers.conclude([], table, True).tables if t.stem == "losses").frame
    assert told.set_index("data set").loc["three", "0.001"].startswith("0.215 > 0.205")
    assert told.set_index("data set").loc["one", "0.1"].startswith("0.585 < 0.6")


# --- its section ---


def test_the_section_has_the_tables_and_the_picture(tmp_path):
    conclusion = lattice_vs_peers.conclude([], made_up(), True)
    doc = tmp_path / "agents.md"
    doc.write_text("# Agents\n\nBy hand.\n")
    replace_section(doc, "other", "## Other", "benchmarks/other.py")
    write_section(doc, lattice_vs_peers.STUDY, conclusion, True, "9 cells")
    replace_section(doc, "other", "## Other figures", "benchmarks/other.py")
    text = doc.read_text()
    other = "<!-- other: begin, written by benchmarks/other.py -->\n## Other figures\n<!-- other: end -->"
    begin = "<!-- lattice-vs-peers: begin, written by fsgym reproduce -->\n## The lattice agent"
    assert text.startswith(f"# Agents\n\nBy hand.\n\n{other}\n\n{begin}")
    assert "| claim | here | holds |" in text
    assert "](lattice-vs-peers_losses.png)" in text
    assert (tmp_path / "lattice-vs-peers_losses.png").read_bytes().startswith(b"\x89PNG")
    for heading in ("The lattice and the best peer", "Paired differences", "Training time"):
        assert f"### {heading}" in text
    assert section(lattice_vs_peers.STUDY, conclusion, True, "9 cells").rstrip() in text
