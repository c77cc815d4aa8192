"""Further cells and causes of the GBFS study: larger leaves, cheaper pixels beside selected ones, more features."""

import numpy as np
import pandas as pd
import pytest

from baselines import ForestSelectionClassifier
from fsgym import Dataset, load_dataset
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.runner import run_tasks
from fsgym_studies.common.plan import cells_table
from fsgym_studies.gbfs import cell as gbfs_cell
from fsgym_studies.gbfs import claims, tables
from fsgym_studies.gbfs import study as gbfs
from fsgym_studies.gbfs.tables import neighbours_table

BREAST = load_dataset("breast_cancer")


def test_pixels_beside_selected_ones_are_selected_where_they_cost_less():
    """A price of 1 is that of GBFS without neighbours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 16))
    data = Dataset(X, (X @ np.linspace(1, 2, 16) > 0).astype(int), name="images")
    images, test = data.split(0.6, 1)
    boosted = {"params": {"n_iter": 20, "validation_fraction": None}, "mu_rel": [0.5, 0.25], "depths": (3,)}
    plan = gbfs.neighbour_cells(images, test, boosted)
    table = cells_table(plan, run_tasks(plan, None))
    assert table["error"].isna().all()
    plain = gbfs_cell.error_curve(images, method="gbfs", options=boosted, split=OfficialSplit(test), seed=0)
    assert table["n_features"][0] == plain["n_features"]
    frame = neighbours_table(table).frame
    used = frame[frame["regions"] > 0]
    sizes = (used["pixels"] / used["regions"]).groupby(used["price of a neighbour"], sort=False).mean()
    assert list(sizes.index) == ["1", "0.5", "0.1"]
    assert sizes["0.1"] > sizes["1"]
    assert len(frame) == 6
    assert (frame["regions"] <= frame["pixels"]).all()


def test_nodes_of_few_rows_are_leaves():
    _, options = gbfs.larger_leaves({"params": {"n_estimators": 5}, "counts": [30]}, 50)
    model = ForestSelectionClassifier(30, random_state=0, **options["params"]).fit(BREAST.X, BREAST.y)
    for tree in (t.tree_ for t in model.classifier_.estimators_):
        assert tree.n_node_samples[tree.feature >= 0].min() > 50
    assert options["counts"] == [30]


@pytest.mark.slow
def test_methods_are_timed_in_one_process():
    """Each on the training part; in which a forest of more trees takes longer."""
    forests = {f"{n} trees": ("forest", {"params": {"n_estimators": n}, "counts": [3]}) for n in (2, 60)}
    result = gbfs_cell.training_times(BREAST, methods=forests, split=Split(0, 0.6), seed=1)
    assert result["methods"] == ["2 trees", "60 trees"]
    assert result["n_train"] == round(0.6 * BREAST.n_samples)
    assert 0 < result["seconds"][0] < result["seconds"][1]


def test_leads_that_are_noise_are_told_from_those_that_are_not():
    """A difference of two errors near .14 has a standard error of .015 on 1,000 rows."""
    errors = pd.Series({"GBFS": 0.12, "mRMR": 0.13, "RFFS": 0.17, "L1LR": 0.16, "HSIC Lasso": 0.11})
    rows = [{"dataset": "uspst", "split": 0, "method": "GBFS", "chance": 0.5, "n_test": 1000}]
    table = pd.DataFrame([{**rows[0], "n_features": [1], "test_error": [0.2]}])
    cause = claims.few_features_cause({"few features": errors, "table": table})
    assert cause.startswith(
        "not known: GBFS does not have the lowest error of the 5; its lead over mRMR (0.010) may be "
    )
    assert "; it is behind HSIC Lasso (0.010), which may be noise. Differences of up to 0.031 may be noise" in cause


def kdd_cells():
    common = {"dataset": "kddcup99", "split": 0, "chance": 0.5, "n_test": 50_000, "n_train": 20_000}
    errors = {tables.KDD_PRINTED: 0.02, [*tables.PRINTED_LEVELS][1]: 0.03, "GBFS": 0.04, "RFFS": 0.01, "L1LR": 0.1}
    rows = [common | {"method": m, "n_features": [1, 8], "test_error": [e, e]} for m, e in errors.items()]
    larger = common | {"method": tables.RFFS_BOUND, "n_features": [1, 8], "test_error": [0.05, 0.05]}
    everything = larger | {"dataset": tables.KDD_ALL_ROWS, "n_train": 395_216, "test_error": [0.015, 0.015]}
    staged = {"mu_rel": [0.5, 0.25], "stage_features": [[1, 1, 3], [2, 9, 9]]}
    staged |= {"stage_error": [[0.3, 0.2, 0.1], [0.06, 0.04, 0.02]]}
    stages = {"dataset": "kddcup99", "method": "GBFS, stages", "split": 0, "n_train": 395_216, **staged}
    return [*rows, larger, everything, stages]


def test_the_errors_over_the_iterations_are_those_with_at_most_so_many_features():
    errors = tables.staged_errors(kdd_cells()[-1], [1, 2, 3, 8])
    assert errors[0.5] == [0.2, 0.2, 0.1, 0.1]
    np.testing.assert_array_equal(errors[0.25], [np.nan, 0.06, 0.06, 0.06])


def test_gbfs_at_the_printed_depth_stands_beside_the_other_settings_and_methods():
    table = pd.DataFrame(kdd_cells())
    frame = tables.kdd_table(table).frame.set_index("method")
    assert frame["training rows"].tolist() == ["20,000"] * 6 + ["395,216"] * 3
    assert frame["mean"].tolist()[:7] == ["0.0200", "0.0300", "0.0400", "0.0100", "0.1000", "0.0500", "0.0150"]
    assert frame["3"].tolist()[7:] == ["0.1000", "0.0600"]
    assert frame["1"].tolist()[8] == frame["mean"].tolist()[8] == "–"


WHERE = "these errors at those of these numbers of features that it comes to"


@pytest.mark.parametrize(
    ("larger", "on_all", "source"),
    [
        (
            0.05,
            0.4,
            "protocol: with larger leaves of RFFS, and nothing else changed, GBFS has the lower error. Besides",
        ),
        (
            0.05,
            0.015,
            "not known: with larger leaves of RFFS, and nothing else changed, GBFS has the lower error on 20",
        ),
        (0.02, 0.015, "not known: we have the 10 %"),
    ],
)
@pytest.mark.slow
def test_larger_leaves_are_the_cause_where_they_decide_on_all_rows_too(larger, on_all, source):
    """GBFS as printed has .02, and on all rows .2 to .06; the other settings stand beside."""
    rows = kdd_cells()
    for place, error in ((5, larger), (6, on_all)):
        rows[place] = rows[place] | {"test_error": [error, error]}
    claim = next(c for c in claims.claims(pd.DataFrame(rows)) if c.text.startswith("kddcup99"))
    assert claim.reproduced is False
    assert claim.ours == "GBFS 0.0200, RFFS 0.0100, L1LR 0.1000"
    assert claim.cause.startswith(source)
    others = "GBFS as printed, 3 levels of splits 0.0300; the rate and depth of the other data sets 0.0400"
    assert f"Mean errors of GBFS over these numbers otherwise: {others}. The paper " in claim.cause
    staged = "mu_max / 2: 0.2000 at 1, 0.2000 at 2, 0.1000 at 3, 0.1000 at 5, 0.1000 at 8; mu_max / 4: 0.0600 at 2, "
    assert f"On all 395,216 training rows of the file GBFS over its iterations has {WHERE}: {staged}" in claim.cause


@pytest.mark.parametrize(
    ("linear", "where"),
    [(0.02, "protocol: the number of features decides; "), (0.055, "protocol: the number"), (0.065, "not known: ")],
)
def test_more_features_decide_where_the_linear_model_is_ahead_of_most_others(linear, where):
    """The path of HSIC Lasso ends at 20 features, so that errors are read there."""
    common = {"dataset": "uspst", "split": 0, "chance": 0.5, "n_test": 900}
    rows = [
        common | {"method": method, "n_features": [1, 20, 30], "svm_error": [0.3, 0.1, last]}
        for method, last in {"GBFS": 0.05, "RFFS": 0.06, "L1LR": linear, "mRMR": 0.07}.items()
    ]
    rows.append(common | {"method": "HSIC Lasso", "n_features": [1, 10, 20], "svm_error": [0.3, 0.2, 0.1]})
    table = pd.DataFrame(rows)
    table["test_error"] = table["svm_error"]
    figures = {"table": table, **claims.quality_figures(table)}
    text = claims.most_features_cause(figures)
    assert text.startswith(where)
    listed = f"GBFS 0.050, RFFS 0.060, L1LR {linear:.3f}, mRMR 0.070"
    assert f". At more features, without HSIC Lasso: {listed} at 30; {listed} at 50; {listed} at 80; {listed}" in text
    assert " of two such errors on our 900 test rows has a standard error of 0.014. Neither the classes " in text
    converged = claims.converged_cause(figures)
    assert converged.startswith("not known: the errors are read at 20 features, since on our rows the path of HSIC ")
    assert text.endswith(converged.removeprefix("not known: "))


@pytest.mark.parametrize("tested", [104, 400])
def test_the_setting_is_the_cause_where_group_lasso_is_clearly_behind_at_the_fewest_bags(monkeypatch, tested):
    """By .125: less than two standard errors of 104 rows, and more of 400."""
    best = {"GBFS with bags": 0.26, "group LASSO": 0.385}
    settings = {title: tables.BestSetting(0.2, 3.0, 1.5, 1.0, error) for title, error in best.items()}
    monkeypatch.setattr(tables, "best_settings", lambda table: settings)
    monkeypatch.setattr(claims, "bags_text", lambda figures: "the bags differ")
    monkeypatch.setattr(claims, "tested_rows", lambda table, dataset: tested)
    cause = claims.group_lasso_cause({"table": pd.DataFrame()})
    if tested == 400:
        assert cause.startswith("protocol: the paper does not say at which setting it compares; ")
        assert cause.endswith("0.385 for group LASSO, as the claim says. Besides, the bags differ")
    else:
        assert cause.startswith(
            "not known: the bags differ. At the settings with the fewest bags the errors are 0.260 "
        )
        assert "a difference of +0.125; a difference has a standard error of 0.065 on 104 rows, so that" in cause
