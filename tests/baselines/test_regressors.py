"""Regressors that are charged for the features on the paths of each row, and how they enter a comparison."""

import numpy as np
import pytest
from sklearn.base import is_regressor

import fsgym
from baselines import CARTRegressor, CEGBRegressor
from fsgym import Dataset, compare
from fsgym.methods import METHODS, class_of

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (300, 4)).astype(float)
Y = 3 * X[:, 0] + X[:, 1] * (X[:, 0] == 3) + RNG.normal(0, 0.2, 300)
DATA = Dataset(X, Y, bins=4, name="sold")
REGRESSORS = {
    "cegb": lambda **options: CEGBRegressor(**({"lam": 0.1, "n_estimators": 30, "random_state": 0} | options)),
    "cart": lambda **options: CARTRegressor(**({"ccp_alpha": 0.001, "random_state": 0} | options)),
}


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_predictions_depend_on_the_used_columns_alone(name, loss):
    model = REGRESSORS[name](loss=loss).fit(X, Y)
    used = model.features_used(X)
    assert used[:, 0].all()
    assert used[:, 2:].mean() < 0.5 * used[:, :2].mean()  # useless
    assert (used[:, 1] <= (X[:, 0] > 1)).mean() > 0.5
    changed = np.where(used, X, X[::-1])
    assert (model.predict(changed) == model.predict(X)).all()
    constant = np.abs(Y - np.median(Y)).mean()
    assert np.abs(model.predict(X) - Y).mean() < 0.35 * constant


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_at_a_high_price_nothing_is_used_and_the_constant_is_answered(loss):
    constant = np.median(Y) if loss == "absolute" else Y.mean()
    for model in (CEGBRegressor(lam=100, loss=loss, n_estimators=5), CARTRegressor(ccp_alpha=1, loss=loss)):
        model.fit(X, Y)
        assert not model.features_used(X).any()
        assert model.predict(X) == pytest.approx(np.full(300, constant))


def test_predictions_follow_the_unit_of_the_target():
    """In thousandths the same trees answer a thousand times as much, at a thousand times the price."""
    for loss, factor in (("absolute", 1000), ("squared", 1000**2)):
        one = CEGBRegressor(lam=0.05, loss=loss, n_estimators=10, random_state=0).fit(X, Y)
        other = CEGBRegressor(lam=0.05 * factor, loss=loss, n_estimators=10, random_state=0).fit(X, 1000 * Y)
        assert other.predict(X) == pytest.approx(1000 * one.predict(X), rel=1e-3, abs=1)
        assert (other.features_used(X) == one.features_used(X)).mean() > 0.99


@pytest.mark.parametrize("name", REGRESSORS)
def test_no_row_pays_for_a_column_and_its_copy(name):
    options = {"lam": 0.0} if name == "cegb" else {}
    for seed in range(3):
        used = REGRESSORS[name](random_state=seed, **options).fit(np.hstack([X, X]), Y).features_used(np.hstack([X, X]))
        assert used.any()
        assert not (used[:, :4] & used[:, 4:]).any()


def test_the_grid_leads_from_nothing_to_the_whole_tree():
    grid = CARTRegressor(random_state=0).sparsity_grid(X, Y)
    used = [CARTRegressor(random_state=0, **g).fit(X, Y).features_used(X).sum(axis=1).mean() for g in grid]
    assert used[0] == 0
    assert used == sorted(used)
    assert used[-1] > 1
    for n_settings in (1, 2, 3):
        few = CARTRegressor(random_state=0).sparsity_grid(X, Y, n_settings)
        assert (len(few), few[0]) == (n_settings, {"ccp_alpha": 1.0})


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if m.regressor])
def test_each_regressor_of_the_table_has_the_loss(name):
    cls = class_of(METHODS[name]._replace(estimator=METHODS[name].regressor))
    assert is_regressor(cls())
    assert cls().get_params()["loss"] == "absolute"


@pytest.mark.parametrize("names", [["cart"], pytest.param(["cart", "cegb"], marks=pytest.mark.slow)])
def test_names_mean_regressors_where_the_target_is_a_number(names):
    results = compare(DATA, names, splits=1, lam=[0.05], progress=False, references="cegb" in names)
    rows = results[results["error"].isna()]
    assert len(rows) == len(results)
    assert rows["error_cost"].tolist() == rows["absolute_error"].tolist()
    assert results.attrs["error_costs"] == "the absolute error, in the unit of the target"
    constant = np.abs(Y - np.median(Y)).mean()
    assert rows.groupby("method")["loss"].min()[names].max() < 0.5 * constant
    train, test = DATA.rows(DATA.split_index(0.5, 0)[0]), DATA.rows(DATA.split_index(0.5, 0)[1])
    last = rows[rows["method"] == "cart"].iloc[-1]
    model = CARTRegressor(random_state=0).fit(train.X, train.numbers)
    expected = fsgym.evaluate(model, test, rules=fsgym.Rules.for_dataset(test, lam=0.05))
    assert last["absolute_error"] == pytest.approx(expected.absolute_error, abs=0.01)


@pytest.mark.slow
def test_agents_and_your_own_regressors_enter_with_missing_values():
    from sklearn.linear_model import LinearRegression

    holes = X.copy()
    holes[::7, 1] = np.nan
    data = Dataset(holes, Y, bins=4)
    methods = {"lattice": "lattice", "mine": LinearRegression(), "cart": "cart"}
    results = compare(data, methods, splits=1, lam=[0.1], progress=False, references=False)
    assert results["error"].isna().all(), results["error"].tolist()
    mine = results[results["method"] == "mine"].iloc[0]
    assert mine["n_features"] > 3  # without features_used it is charged for all
    assert results.groupby("method")["absolute_error"].min()["lattice"] < 1.2


def test_numbers_without_variation_are_answered_as_they_are():
    assert CEGBRegressor(n_estimators=2).fit(X, np.ones(300)).predict(X).tolist() == [1.0] * 300
    assert CARTRegressor().fit(X, np.ones(300)).predict(X).tolist() == [1.0] * 300
