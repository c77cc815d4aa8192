"""The study of the lattice agent and its peers: its cells, its claims on invented results, and its section."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import fsgym
from agents import LatticeClassifier
from baselines import CARTClassifier
from fsgym import Dataset, Rules
from fsgym.comparison.cell import evaluate_at_prices
from fsgym.comparison.splits import Split
from fsgym.runner.results import check_result
from fsgym.support import extras
from fsgym_studies.common.data import require_datasets
from fsgym_studies.common.plan import Source
from fsgym_studies.common.render import page_of, replace_section, write_page
from fsgym_studies.lattice_vs_peers import cell as lattice_cell
from fsgym_studies.lattice_vs_peers import study as lattice_vs_peers
from fsgym_studies.lattice_vs_peers import tables as lattice_tables
from fsgym_studies.lattice_vs_peers.claims import LARGE_PEERS, RCPI_READINGS
from fsgym_studies.lattice_vs_peers.tables import LARGE, METHOD_TITLES, SMALL
from support.synthetic_results import by_text, lose, stand_in

SPLIT = Split(1, 0.7)
PRICES = [0.01, 0.6]
RCPI_TITLES = [METHOD_TITLES[m] for m in RCPI_READINGS]
ON_SMALL, ON_LARGE = "On the small data sets,", "On the large data sets,"


def one_informative_feature(n=90, d=4, seed=0):
    """The sign of the first feature is the class; the others are uninformative."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return Dataset(X, np.where(X[:, 0] > 0, "yes", "no"), name="one")


# --- cells ---


@pytest.mark.parametrize("method", ["lattice", "rcpi", "rcpi_printed", "cart", "cegb", "static", "forest"])
@pytest.mark.one_in(2)
@pytest.mark.slow
def test_a_cell_has_the_figures_of_every_price(monkeypatch, method):
    """At price .01 the informative feature is acquired; at price .6 nothing is."""
    monkeypatch.setattr(lattice_cell, "FOREST_SIZE", 4)
    cell = lattice_cell.at_prices(one_informative_feature(), method=method, prices=PRICES, split=SPLIT, seed=0)
    check_result(lattice_cell.at_prices, cell)
    assert (cell["n_train"], cell["n_test"]) == (62, 28)
    assert cell["lam"] == PRICES
    for k, price in enumerate(PRICES):
        assert cell["loss"][k] == pytest.approx(1 - cell["accuracy"][k] + price * cell["n_features"][k])
    assert cell["accuracy"][0] > 0.9
    assert 1 <= cell["n_features"][0] <= 4
    assert cell["n_features"][1] == 0
    assert cell["seconds"] > 0


def test_the_lattice_of_a_cell_is_that_of_a_fit_at_each_price():
    data = one_informative_feature()
    train, test = data.split(0.7, 1)
    cell = lattice_cell.at_prices(data, method="lattice", prices=PRICES, split=SPLIT, seed=3)
    for price, loss in zip(PRICES, cell["loss"]):
        model = LatticeClassifier(price, random_state=3).fit(train.X, train.classes[train.y])
        assert loss == fsgym.evaluate(model, test, Rules.for_dataset(test, lam=price)).loss


@pytest.mark.slow
def test_single_fits_are_timed_one_by_one():
    cell = lattice_cell.single_fits(one_informative_feature(), prices=PRICES, split=SPLIT, seed=0)
    check_result(lattice_cell.single_fits, cell)
    seconds = cell["fit_seconds"]
    assert len(seconds) == 2
    assert min(seconds) > 0


def models_at(method, data, prices, seed):
    candidates, held_out = lattice_cell.settings_of(method, data, prices, seed)
    rules = [Rules.for_dataset(data, lam=p) for p in prices]
    return evaluate_at_prices(candidates, data, data, rules, seed, held_out)[0]


def test_the_candidate_with_the_least_loss_at_a_price_is_chosen():
    """Losses are those on the same inner folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + 0.4 * X[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(int)
    trees = [CARTClassifier(max_depth=k, random_state=0) for k in (1, 2, 5)]
    stump = CARTClassifier(ccp_alpha=1.0)
    data = Dataset(X, y)
    folds = [(data.rows(fit), data.rows(held)) for fit, held in StratifiedKFold(5).split(X, y)]
    rules = [Rules.for_dataset(data, lam=lam) for lam in (0.0, 0.1, 1.0)]
    (cheap, dear, dearest), results, _ = evaluate_at_prices([stump, stump, *trees], data, data, rules, 0, folds)
    assert results[1].loss == fsgym.evaluate(dear, data, rules[1]).loss
    assert cheap.get_params()["max_depth"] in (2, 5)
    assert dear.get_params()["max_depth"] == 1
    assert dearest.features_used(X).sum() == 0
    np.testing.assert_array_equal(dear.predict(X), trees[0].fit(X, y).predict(X))


class Forgetful(CARTClassifier):
    """A tree that is pruned to its root on 90 rows or more."""

    def fit(self, X, y):
        self.ccp_alpha = 1.0 if len(X) >= 90 else 0.0
        return super().fit(X, y)


def test_of_equal_candidates_the_one_that_stays_when_it_is_fitted_again_is_chosen():
    data = one_informative_feature()
    rows = np.arange(len(data.y))
    folds = [(data.rows(rows[rows % 4 != k]), data.rows(rows[rows % 4 == k])) for k in range(4)]
    equal = [Forgetful(max_depth=1, random_state=0), CARTClassifier(max_depth=1, random_state=0)]
    (chosen,), _, _ = evaluate_at_prices(equal, data, data, [Rules.for_dataset(data, lam=0.01)], 0, folds)
    assert type(chosen) is CARTClassifier
    assert chosen.features_used(data.X)[:, 0].all()


@pytest.mark.slow
def test_the_static_selection_is_logistic_regression_on_the_same_features_for_all_rows():
    data = one_informative_feature()
    (model,) = models_at("static", data, [0.01], 0)
    assert model.features_used(data.X).all(axis=0).tolist() == [True, False, False, False]
    assert isinstance(model.classifier_[-1], LogisticRegression)


@pytest.mark.slow
def test_the_forest_uses_the_most_important_features_for_all_rows(monkeypatch):
    monkeypatch.setattr(lattice_cell, "FOREST_SIZE", 4)
    data = one_informative_feature()
    (model,) = models_at("forest", data, [0.01], 0)
    assert model.features_used(data.X).all(axis=0).tolist() == [True, False, False, False]
    assert isinstance(model.classifier_, RandomForestClassifier)


# --- the plan ---


def named_stand_in(source, data_dir=None):
    """A stand-in whose classes are "attack" and "normal"."""
    data = stand_in(source)
    return data.replace(y=np.array(["attack", "normal"])[data.y], classes=None)


def planned(monkeypatch, full):
    monkeypatch.setattr(Source, "load", named_stand_in)
    return lattice_vs_peers.plan(full, None)


@pytest.mark.slow
def test_quick_cells_are_cells_of_the_full_study(monkeypatch):
    full, quick = ({p.key for p in planned(monkeypatch, f)} for f in (True, False))
    assert quick < full
    rows = pd.DataFrame([p.labels for p in planned(monkeypatch, True)])
    counts = rows.groupby("method")["dataset"].nunique()
    assert counts["lattice"] == counts[METHOD_TITLES["cart"]] == len(lattice_vs_peers.COMPARED_SETS) == 24
    sizes = rows.groupby(["size", "dataset", "method"]).size()
    assert (sizes[SMALL, :, "lattice"] == 3).all()
    assert (sizes[LARGE, :, "lattice"] == 2).all()
    assert (sizes[SMALL, :, METHOD_TITLES["maskable_ppo"]] == 3).all()
    for title in RCPI_TITLES:
        assert (sizes[SMALL, :, title] == 3).all()
        assert len(sizes[SMALL, :, title]) == 15
    titles = {s.source.title for s in lattice_vs_peers.COMPARED_SETS}
    assert set(lattice_vs_peers.DEEP_SETS[False]) < set(lattice_vs_peers.DEEP_SETS[True]) < titles
    assert set(lattice_vs_peers.QUICK_SETS) < titles


def test_large_sets_have_their_own_prices_and_peers(monkeypatch):
    cells = [p for p in planned(monkeypatch, True) if p.labels["size"] == LARGE]
    assert {tuple(p.arguments["prices"]) for p in cells} == {(0.0001, 0.003, 0.03)}
    methods = pd.DataFrame([p.labels for p in cells]).groupby("dataset")["method"].agg(set)
    always = {METHOD_TITLES[m] for m in LARGE_PEERS} | {"lattice", "lattice, single fits"}
    assert methods["isolet"] == always
    assert always.isdisjoint(RCPI_TITLES)
    assert methods["adult"] == always | {METHOD_TITLES["cegb"]}


def test_the_quick_study_needs_only_data_sets_that_come_with_sklearn(monkeypatch):
    monkeypatch.delenv("FSGYM_DATA", raising=False)
    study = lattice_vs_peers.STUDY
    assert set(study.needed_datasets(False)) == {"breast_cancer", "wine", "digits"} < set(study.needed_datasets(True))
    require_datasets(study.needed_datasets(False), study.name)
    with pytest.raises(ValueError, match="kddcup99_10percent"):
        require_datasets(study.needed_datasets(True), study.name)
    assert (
        tuple(
            c.source.title for c in lattice_vs_peers.COMPARED_SETS if c.source.name in set(study.needed_datasets(False))
        )
        == lattice_vs_peers.QUICK_SETS
    )


def test_a_large_set_is_sampled_and_complete(monkeypatch):
    """Two classes instead of all, a sample of the rows, and missing values as the level -1."""
    X = np.arange(60.0)[:, None].repeat(2, axis=1)
    X[::2, 1] = np.nan
    data = Dataset(X, ["smurf", "normal", "neptune"] * 20, name="d")
    monkeypatch.setattr(Source, "load", lambda source, data_dir: data)
    compared = lattice_vs_peers.ComparedSet(Source("d", "d"), LARGE, rows=30, first_class=("normal",))
    part = compared.load(None)
    assert part.X.shape == (30, 2)
    rows = part.X[:, 0].astype(int)
    assert (part.y == (rows % 3 == 1)).all()
    np.testing.assert_array_equal(part.X[:, 1], np.where(rows % 2 == 0, -1, rows))
    np.testing.assert_array_equal(compared.load(None).X, part.X)


@pytest.mark.slow
def test_methods_that_are_not_installed_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr(Source, "load", named_stand_in)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert {METHOD_TITLES["cegb"], METHOD_TITLES["maskable_ppo"]}.isdisjoint(
        p.labels["method"] for p in lattice_vs_peers.plan(True, None)
    )
    table = invented_cells(methods=("lattice", "rcpi", "cart", "static"))
    conclusion = lattice_vs_peers.conclude([], table, True)
    install = 'in the clone, pip install -c constraints.txt -e ".[cegb]"'
    assert f"Left out: CEGB needs lightgbm: {install}." in conclusion.notes
    assert not any("CEGB" in c.text for c in conclusion.claims)


# --- claims ---


def invented_cells(
    lead: Any = 0.02, seconds=3.0, methods=tuple(METHOD_TITLES), sets=("one", "two", "three"), size=SMALL
):
    """Cells of all methods, in which the lattice loses ``lead`` less than the best peer.

    ``lead`` is a number, or has one per data set. Peers are .01 apart, and another one is best on each data set.
    """
    rows, lams = [], list(lattice_vs_peers.FEATURE_PRICES[size])
    n = len(lams)
    for i, dataset in enumerate(sets):
        for split in range(2):
            for k, method in enumerate(methods):
                own = (
                    -np.broadcast_to(lead, len(sets))[i]
                    if method == "lattice"
                    else 0.01 * ((k + i) % (len(methods) - 1))
                )
                loss = [0.2 + own + 0.1 * p + 0.01 * split for p in range(n)]
                figures = {"loss": loss, "accuracy": [0.8] * n, "n_features": [5.0 - p for p in range(n)], "lam": lams}
                row = {"dataset": dataset, "split": split, "method": METHOD_TITLES[method], "seconds": 2.0}
                rows.append(row | figures)
        rows.append({"dataset": dataset, "split": 0, "method": "lattice, single fits", "fit_seconds": [seconds] * n})
    return pd.DataFrame(rows).assign(error=None, params="{}", size=size)


def large_cells(**options):
    return invented_cells(
        methods=("lattice", *LARGE_PEERS), sets=("four", "five"), size=LARGE, **{"seconds": 30.0, **options}
    )


def claims_of(table, full=False):
    return lattice_vs_peers.claims(lattice_tables.losses_by_price(table), table, full)


def test_claims_that_are_reproduced():
    claims = claims_of(invented_cells())
    assert len(claims) == 6 + 1 + 2
    assert all(c.reproduced for c in claims)
    cart = by_text(claims, f"{ON_SMALL} the lattice has a lower mean loss than CART at every lam", "over 3 data sets")
    losses = lattice_tables.losses_by_price(invented_cells())
    pair = lattice_tables.loss_difference(losses, "CART", 0.01)
    assert pair is not None
    assert f"0.01: {pair.with_error(4)}" in cart.ours
    best = by_text(claims, f"{ON_SMALL} for at least 65%")
    assert best.ours.startswith("lower for 15 of 15 (100%), equal for 0, higher for 0; mean difference -0.02")


@pytest.mark.slow
def test_the_claim_about_rcpi_is_on_both_readings():
    """It fails if the lattice is behind either of them at one lam, and is not assessed without one of them."""
    text = f"{ON_SMALL} the lattice has a lower mean loss than RCPI and than RCPI as printed at every lam"
    claim = by_text(claims_of(invented_cells()), text)
    assert claim.reproduced
    losses = lattice_tables.losses_by_price(invented_cells())
    for title in RCPI_TITLES:
        pair = lattice_tables.loss_difference(losses, title, 0.001)
        assert pair is not None
        assert f"{title} at 0.001: {pair.with_error(4)}, 0.003: " in claim.ours
    for title in RCPI_TITLES:
        table = invented_cells()
        own = table["method"] == title
        better = table.assign(loss=table["loss"].where(~own, table["loss"].map(lambda x: [*np.ravel(x)[:4], 0.0])))
        claims = claims_of(better)
        assert by_text(claims, text).reproduced is False
        assert [c.reproduced for c in claims if c.text.startswith(ON_SMALL)].count(False) == 1
        assert by_text(claims_of(table[~own]), text.partition(" and ")[0]).reproduced is None


@pytest.mark.slow
def test_either_reading_of_rcpi_may_be_the_best_peer():
    """With a loss of 0 at one of five prices, it is the best peer there, and the lattice is ahead on 12 of 15."""
    table = invented_cells()
    own = table["method"] == "RCPI as printed"
    table["loss"] = table["loss"].where(~own, table["loss"].map(lambda x: [*np.ravel(x)[:4], 0.0]))
    assert by_text(claims_of(table), f"{ON_SMALL} for at least 65%").ours.startswith("lower for 12 of 15")
    conclusion = lattice_vs_peers.conclude([], table, False)
    frames = {t.stem: t.frame for t in conclusion.tables}
    assert frames["losses_small"]["0.1"].str.endswith("> 0.000 RCPI as printed").all()
    assert (frames["differences_small"]["peer"] == "RCPI as printed").sum() == 6
    assert "RCPI as printed, all prices" in frames["seconds"]
    assert any("one at 0.1 (RCPI as printed, by" in note for note in conclusion.notes)


def test_claims_that_are_not_reproduced():
    claims = claims_of(invented_cells(lead=-0.05, seconds=10.5))
    assert not any(c.reproduced for c in claims)
    assert by_text(claims, f"{ON_SMALL} for at least 65%").ours.startswith("lower for 0 of 15 (0%)")
    assert by_text(claims, f"{ON_SMALL} no fit of the lattice takes more than 10").ours == "longest of 15 fits: 10.5"


def test_a_lead_that_may_be_noise_or_lacks_a_data_set_is_not_confirmed():
    """On three data sets the lattice is ahead of CART by .12, .01 and .01, which is less than two standard errors."""
    text = f"{ON_SMALL} the lattice has a lower mean loss than CART at every lam"
    table = invented_cells(methods=("lattice", "cart"), lead=(0.12, 0.01, 0.01))
    assert by_text(claims_of(table), text).result == "not confirmed"
    table = invented_cells()
    assert by_text(claims_of(table), text).result == "confirmed"
    lost = lose(table, dataset="one", method="CART")
    assert by_text(claims_of(lost), text).result == "not run"
    one = invented_cells(sets=("one",))
    assert by_text(claims_of(one), text.replace("CART", "CEGB")).result == "not run"
    assert by_text(claims_of(invented_cells(-0.1, sets=("one",))), text).result == "not confirmed"
    both = pd.concat([table, lose(large_cells(), dataset="four", method="CART")], ignore_index=True)
    assert by_text(claims_of(both, full=True), "On each of the large data sets").result == "not run"


@pytest.mark.slow
def test_large_sets_have_claims_of_their_own():
    """A collapse on the large data sets changes no claim about the small ones, and no large set, no claim."""
    both = pd.concat([invented_cells(), large_cells()], ignore_index=True)
    claims = claims_of(both, full=True)
    assert len(claims) == 9 + 3 + 3
    assert all(c.reproduced for c in claims)
    assert by_text(claims, "On each of the large data sets").ours == "lower for 6 of 6"
    assert by_text(claims, f"{ON_LARGE} for at least 50%").ours.startswith("lower for 6 of 6")
    assert by_text(claims, f"{ON_LARGE} no fit").ours == "longest of 6 fits: 30.0"
    collapsed = pd.concat([invented_cells(), large_cells(lead=(0.02, -0.5), seconds=61.0)], ignore_index=True)
    claims = claims_of(collapsed, full=True)
    wrong = [c.text for c in claims if not c.reproduced]
    assert [c.text for c in claims if "large" not in c.text] == [c.text for c in claims_of(invented_cells())]
    assert len(wrong) == 3 + 1 + 1
    assert all("large" in text for text in wrong)
    each = by_text(claims, "On each of the large data sets").ours
    assert each.startswith("lower for 3 of 6; not for five at ")
    assert "four at" not in each
    assert all(c.reproduced is None for c in claims_of(invented_cells(), full=True) if "large" in c.text)


@pytest.mark.slow
def test_large_sets_have_tables_of_their_own():
    both = pd.concat([invented_cells(), large_cells()], ignore_index=True)
    frames = {t.stem: t.frame for t in lattice_vs_peers.conclude([], both, True).tables}
    assert list(frames["losses_large"]["data set"]) == ["four", "five"]
    assert list(frames["losses_large"])[1:] == ["0.0001", "0.003", "0.03"]
    assert list(frames["losses_small"]["data set"]) == ["one", "two", "three"]
    assert set(frames["differences_large"]["peer"]) == {METHOD_TITLES[m] for m in LARGE_PEERS}
    assert len(frames["seconds"]) == 5


@pytest.mark.parametrize(
    ("lead", "reproduced"), [((0.02, 0.02, -0.01), True), ((0.02, 0.0, 0.02), True), ((0.02, 0.0, 0.0), False)]
)
@pytest.mark.slow
def test_the_best_peer_is_chosen_for_each_data_set_and_price(lead, reproduced):
    """Two of three data sets are 67 %, above the required 65 %; an equal loss does not count as less."""
    claims = claims_of(invented_cells(lead=lead))
    assert by_text(claims, f"{ON_SMALL} for at least 65%").reproduced is reproduced


def test_pairs_are_complete():
    """Splits and data sets that one of the two methods does not have are left out of their comparison."""
    table = invented_cells()
    deep = METHOD_TITLES["maskable_ppo"]
    table = table[~((table["method"] == deep) & (table["dataset"] == "two"))]
    table = table[~((table["method"] == deep) & (table["dataset"] == "one") & (table["split"] == 1))]
    losses = lattice_tables.losses_by_price(table)
    pair = lattice_tables.loss_difference(losses, deep, 0.1)
    assert pair is not None
    assert (pair.count, len(lattice_tables.loss_pairs(losses, deep, 0.1))) == (2, 3)
    both = lattice_tables.loss_columns(losses[losses["lam"] == 0.1])[["lattice", deep]].dropna()
    differences = (both["lattice"] - both[deep]).groupby("dataset").mean()
    assert pair.mean == pytest.approx(differences.mean())
    assert pair.error == pytest.approx(differences.std(ddof=1) / np.sqrt(2))
    best = lattice_tables.best_peers(losses).set_index(["dataset", "lam"]).loc[("one", 0.1)]
    assert best["peer"] == deep
    assert [best["ours"], best["best"]] == pytest.approx(both.loc["one"].iloc[0].tolist())


@pytest.mark.slow
def test_standard_errors_are_those_of_the_pairs_and_of_the_data_sets():
    losses = lattice_tables.losses_by_price(invented_cells(lead=(0.0, 0.02, 0.04)))
    pair = lattice_tables.loss_difference(losses, "CART")
    assert pair is not None
    table = lattice_tables.loss_columns(losses)
    differences = table["lattice"] - table["CART"]
    assert (pair.count, len(differences)) == (3, 30)
    assert pair.error == pytest.approx(differences.groupby("dataset").mean().std(ddof=1) / np.sqrt(3))
    assert pair.mean == pytest.approx(differences.mean())
    row = lattice_tables.difference_table(losses, SMALL).frame.set_index(["peer", "lam"]).loc[("CART", "all")]
    assert row["s.e. over pairs"] == f"{differences.std(ddof=1) / np.sqrt(30):.4f}"
    lower = (differences.groupby("dataset").mean() < 0).sum()
    assert (row["pairs"], row["lower on"]) == (30, f"{lower} of 3")


@pytest.mark.slow
def test_where_a_peer_is_ahead_is_named():
    table = invented_cells(lead=(0.02, 0.02, -0.01))
    quick = lattice_vs_peers.conclude([], table, False)
    assert any(
        "lower mean loss than the lattice" in n and "three at 0.001" in n and "one at" not in n for n in quick.notes
    )
    assert [t.stem for t in quick.tables] == ["losses_small", "differences_small", "seconds"]
    frame = quick.tables[0].frame
    assert frame.set_index("data set").loc["three", "0.001"].startswith("0.215 > 0.205")
    assert frame.set_index("data set").loc["one", "0.1"].startswith("0.585 < 0.6")


def test_every_method_has_a_marker_and_a_colour_of_its_own_in_the_picture(monkeypatch):
    figure = Figure()
    monkeypatch.setattr(lattice_tables, "draw_picture", lambda stem, heading, caption, draw, size: draw(figure))
    lattice_tables.loss_picture(lattice_tables.losses_by_price(invented_cells()))
    lines = figure.axes[1].get_lines()
    assert [line.get_label() for line in lines] == list(METHOD_TITLES.values())
    assert len({str(line.get_marker()) for line in lines}) == len({str(line.get_color()) for line in lines}) == 8


# --- its section ---


@pytest.mark.slow
def test_the_section_has_the_tables_and_the_picture(tmp_path):
    conclusion = lattice_vs_peers.conclude([], invented_cells(), True)
    doc = tmp_path / "agents.md"
    doc.write_text("# Agents\n\nBy hand.\n")
    replace_section(doc, "other", "## Other", "benchmarks/other.py")
    write_page(doc, lattice_vs_peers.STUDY, conclusion, True, "9 cells")
    replace_section(doc, "other", "## Other figures", "benchmarks/other.py")
    text = doc.read_text()
    other = "<!-- other: begin, written by benchmarks/other.py -->\n## Other figures\n<!-- other: end -->"
    begin = "<!-- lattice-vs-peers: begin, written by fsgym reproduce -->\n# The lattice agent"
    assert text.startswith(f"# Agents\n\nBy hand.\n\n{other}\n\n{begin}")
    assert "|  | claim | ours | result |" in text
    assert "](lattice-vs-peers_losses.png)" in text
    assert (tmp_path / "lattice-vs-peers_losses.png").read_bytes().startswith(b"\x89PNG")
    for heading in ("The lattice and the best peer", "Paired differences", "Training time"):
        assert f"<details><summary>{heading}" in text
    assert page_of(lattice_vs_peers.STUDY, conclusion, True, "9 cells").rstrip() in text
