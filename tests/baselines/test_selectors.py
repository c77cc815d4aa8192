"""The interface of feature selectors and paths of settings, for every method of the table and its relatives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from baselines import (
    CARTClassifier,
    DisjunctionClassifier,
    ForestSelectionClassifier,
    GBFSClassifier,
    GBFSRegressor,
    GroupLassoClassifier,
    L1SVMClassifier,
    LUFeClassifier,
    LUFeCV,
    SparseGroupLasso,
    SVMPlusClassifier,
    UncertainSGLSelector,
)
from fsgym.methods import METHODS as OWN
from fsgym.methods import REFERENCES, load_class
from support.f_statistic import FStatisticClassifier
from support.recipes import entry_of

# The baseline of docs/extend is held to the same interface.
METHODS = OWN | {"f_statistic": entry_of("f_statistic")._replace(estimator=FStatisticClassifier)}
# Parameters that cost time only, and penalties at which some of the features are selected.
QUICK: dict[str, Any] = {
    "n_estimators": 10,
    "n_iter": 20,
    "s": 3,
    "max_active": 20,
    "n_features_to_select": 4,
    "random_state": 0,
}
SPARSE: dict[str, dict[str, Any]] = {
    "l1_svm": {"C": 0.02}, "lars": {"alpha": 0.3}, "l1_logistic": {"C": 0.05}, "group_lasso": {"alpha": 0.5},
    "sparse_group_lasso": {"alpha": 0.5},
    "forest": {"n_selected": 3}, "mrmr": {"n_selected": 3}, "hsic_lasso": {"n_selected": 3}, "hkl": {"C": 0.1},
    "zero_norm_svm": {"n_selected": 3},
    "uncertain_sgl": {"lam1": 0.0, "lam2": 1600.0}, "panel": {"lam": 0.05},
}  # fmt: skip


def quick(estimator: Any, **params: Any) -> Any:
    known = estimator.get_params()
    return estimator.set_params(**{k: v for k, v in QUICK.items() if k in known} | params)


def make_method(name: str) -> Any:
    return quick(load_class(METHODS[name])(**METHODS[name].preset), **SPARSE.get(name, {}))


STATIC = {
    name: make_method(name) for name, method in METHODS.items() if not (method.adaptive or name in REFERENCES)
} | {
    "lufe_cv": quick(LUFeCV(selector="anova", lam1s=[1.0], lam2s=[1.0], cv=2)),
    "svm_plus": SVMPlusClassifier(),
    "sparse_group_lasso_regressor": SparseGroupLasso(20.0, 20.0, fit_intercept=True),
}
SELECTORS = STATIC | {
    "gbfs": make_method("gbfs"),
    "gbfs_regressor": quick(GBFSRegressor(mu_rel=0.1)),
}
WITH_PATH = {
    name: make_method(name) for name, method in METHODS.items() if not (method.prices or name in REFERENCES)
} | {"lufe_cv": STATIC["lufe_cv"]}
ALL_COLUMNS = {"svm_plus"}  # it has a weight for each column
every_selector = pytest.mark.parametrize("name", SELECTORS)
every_path = pytest.mark.parametrize("name", WITH_PATH)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # no feature selected, at some settings


def wine(n_classes: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_wine(return_X_y=True, as_frame=True)
    rows = np.flatnonzero(y < n_classes)[::2]
    return X.iloc[rows].assign(constant=1.0), y.to_numpy()[rows]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    return {name: clone(estimator).fit(*wine()) for name, estimator in SELECTORS.items()}


def test_the_table_has_static_methods():
    assert len(set(STATIC) & set(METHODS)) >= 10
    assert set(SPARSE) <= set(STATIC)


@pytest.mark.parametrize("name", STATIC)
@pytest.mark.one_in(2)
def test_the_support_is_what_every_row_uses(name, fitted):
    X, _ = wine()
    model, used = fitted[name], fitted[name].features_used(X)
    mask = model.get_support()
    assert (mask.shape, mask.dtype) == ((14,), bool)
    assert used.shape == X.shape
    assert (used == mask).all()
    assert 0 < mask.sum() < (15 if name in ALL_COLUMNS else 13)
    assert name in ALL_COLUMNS or not mask[-1]


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_support_of_boosted_trees_covers_all_rows(kind, fitted):
    X, _ = wine()
    model = fitted["gbfs" if kind == "classifier" else "gbfs_regressor"]
    used = model.features_used(X)
    np.testing.assert_array_equal(used.any(axis=0), model.get_support())
    assert kind == "regressor" or not (used == model.get_support()).all()


@every_selector
def test_positions_names_and_columns_agree(name, fitted):
    X, y = wine()
    model, mask = fitted[name], fitted[name].get_support()
    np.testing.assert_array_equal(model.get_support(indices=True), np.flatnonzero(mask))
    assert model.selected_features_.tolist() == X.columns[mask].tolist()
    np.testing.assert_array_equal(model.get_feature_names_out(), model.selected_features_)
    columns = model.transform(X)
    np.testing.assert_array_equal(columns, X.to_numpy()[:, mask])
    np.testing.assert_array_equal(model.inverse_transform(columns), np.where(mask, X, 0.0))
    nameless = clone(model).fit(X.to_numpy(), y)
    assert nameless.selected_features_.tolist() == [f"x{j}" for j in np.flatnonzero(mask)]


@every_selector
def test_frames_come_out_where_pandas_is_the_output(name, fitted):
    X, _ = wine()
    model = pickle.loads(pickle.dumps(fitted[name])).set_output(transform="pandas")
    columns = model.transform(X)
    pd.testing.assert_frame_equal(columns, X.loc[:, model.selected_features_])


@pytest.mark.parametrize("name", [*SELECTORS, "uncertain selector"])
def test_an_unfitted_selector_has_no_selection(name):
    model = UncertainSGLSelector() if name == "uncertain selector" else clone(SELECTORS[name])
    for attribute in ("get_support", "features_used", "transform"):
        with pytest.raises(NotFittedError):
            getattr(model, attribute)(*[] if attribute == "get_support" else [wine()[0]])
    assert not hasattr(model, "selected_features_")


def test_a_method_selects_for_another_in_a_pipeline():
    X, y = wine()
    chosen = L1SVMClassifier(0.02, random_state=0)
    pipeline = make_pipeline(chosen, CARTClassifier()).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == pipeline[0].selected_features_.tolist()


def test_the_selector_of_uncertain_data_names_columns_and_transforms_to_draws():
    X, y = wine()
    model = UncertainSGLSelector(s=3, lam1=0.0, lam2=1600.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.get_support(), model.support_)
    np.testing.assert_array_equal(model.features_used(X), np.tile(model.support_, (len(X), 1)))
    assert model.selected_features_.tolist() == X.columns[model.support_].tolist()
    assert model.transform(X).shape == (len(X), model.mask_.sum())
    assert len(model.get_feature_names_out()) == model.mask_.sum() > model.support_.sum() > 0


def test_draws_are_selected_column_by_column():
    X, y = wine()
    draws = np.random.default_rng(0).normal(X.to_numpy()[:, :, None], 0.01, (*X.shape, 3))
    model = clone(STATIC["uncertain_sgl"]).fit(draws, y)
    assert 0 < model.get_support().sum() < 14
    np.testing.assert_array_equal(model.transform(draws), draws[:, model.get_support()])


# --- paths ---


def fitted_values(model: Any) -> dict[str, Any]:
    """The fitted attributes that can be compared: numbers, texts and arrays."""
    comparable = (int, float, str, np.ndarray, np.generic)
    return {k: v for k, v in vars(model).items() if k.endswith("_") and isinstance(v, comparable)}


def assert_same_model(one: Any, other: Any, X: Any) -> None:
    assert one.get_params() == other.get_params()
    first, second = fitted_values(one), fitted_values(other)
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(value, second[key], err_msg=key)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.features_used(X), other.features_used(X))


@every_path
@pytest.mark.one_in(2)
def test_a_path_equals_separate_fits_and_leaves_the_estimator_unchanged(name):
    X, y = wine(2)
    method = WITH_PATH[name]
    grid = method.sparsity_grid(X, y)
    settings = [grid[0], grid[-3], grid[2]]
    models = method.path(X, y, settings)
    assert not hasattr(method, "classes_")
    assert len(models) == 3
    for setting, model in zip(settings, models):
        assert type(model) is type(method)
        single = clone(method).set_params(**setting).fit(X, y)
        assert_same_model(model, single, X)
        assert model.feature_names_in_.tolist() == X.columns.tolist()


@every_path
@pytest.mark.one_in(2)
def test_the_default_path_is_the_sparsity_grid(name):
    X, y = wine(2)
    X = X.iloc[:, :5]
    method = clone(WITH_PATH[name])
    if "n_features_to_select" in method.get_params():
        method.set_params(n_features_to_select=2)
    models, grid = method.path(X, y), method.sparsity_grid(X, y)
    assert [{k: model.get_params()[k] for k in setting} for setting, model in zip(grid, models, strict=True)] == grid
    lufe = isinstance(method, LUFeClassifier | LUFeCV)
    counts = [(model.get_support() if lufe else model.features_used(X).any(axis=0)).sum() for model in models]
    assert counts[0] <= (1 if lufe else 0)
    assert counts[-1] >= 3
    for model in models if lufe else []:  # from so few features, the weights are often 0 at the optimum
        used = model.get_support() if model.has_signal_.any() else np.zeros(5, dtype=bool)
        np.testing.assert_array_equal(model.features_used(X), np.tile(used, (len(X), 1)))


@every_path
def test_settings_are_dicts_of_known_parameters(name):
    X, y = wine(2)
    method = WITH_PATH[name]
    assert method.path(X, y, []) == []
    for wrong in ([0.1, 0.2], 0.1, {"C": 1.0}, "C", [("C", 1.0)]):
        with pytest.raises(TypeError, match="settings must be a list of dicts of parameters, got"):
            method.path(X, y, wrong)
    with pytest.raises(ValueError, match="Invalid parameter 'penalty'"):
        method.path(X, y, [{"penalty": 1.0}])
    parameter = next(iter(method.sparsity_grid(X, y)[0]))
    with pytest.raises(ValueError, match=parameter):
        method.path(X, y, [{parameter: -1.0}])


@pytest.mark.parametrize("settings", [[{"n_selected": 2}, {"n_selected": 4}], [{"n_selected": 3, "n_estimators": 5}]])
@pytest.mark.parametrize("state", [0, np.random.RandomState(0)], ids=["seed", "RandomState"])
def test_ranking_once_is_the_same_as_ranking_each_time(settings, state):
    X, y = wine()
    method = ForestSelectionClassifier(n_estimators=10, random_state=state)
    for setting, model in zip(settings, method.path(X, y, settings), strict=True):
        single = clone(method).set_params(**setting).fit(X, y)
        np.testing.assert_array_equal(model.ranking_, single.ranking_)
        ranked = X.to_numpy()[:, single.ranking_]
        expected = single.classifier_.predict_proba(ranked)
        np.testing.assert_array_equal(model.classifier_.predict_proba(ranked), expected)


def test_boosting_with_other_settings_is_not_shared():
    X, y = wine()
    method = GBFSClassifier(n_iter=5, random_state=0)
    shallow, deep = method.path(X, y, [{"mu_rel": 0.1, "max_depth": 1}, {"mu_rel": 0.1, "max_bin": 4}])
    for model in (shallow, deep):
        single = clone(model).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), single.predict_proba(X))


# --- rules in words ---

PATIENTS = pd.DataFrame({"glucose": [90, 110, 130, 150] * 6, "ward": ["er", "icu", "gp"] * 8, "smoker": [0, 1] * 12})
HIGH, ICU, SMOKER = PATIENTS["glucose"] > 120, PATIENTS["ward"] == "icu", PATIENTS["smoker"] == 1
ILL = np.where(HIGH | ICU, "ill", "well")


def test_rules_are_texts_with_the_names_of_columns():
    model = DisjunctionClassifier().fit(PATIENTS, ILL)
    assert model.score(PATIENTS, ILL) == 1.0
    assert "glucose > 120 or ward = icu" in model.rules_as_text()
    assert model.selected_features_.tolist() == ["glucose", "ward"]
    assert model.transform(PATIENTS).tolist() == PATIENTS[["glucose", "ward"]].to_numpy().tolist()
    frame = model.set_output(transform="pandas").transform(PATIENTS)
    pd.testing.assert_frame_equal(frame, PATIENTS[["glucose", "ward"]])
    nameless = DisjunctionClassifier().fit(PATIENTS.to_numpy(), ILL)
    assert "x0 > 120 or x1 = icu" in nameless.rules_as_text()


@pytest.mark.parametrize("connective", ["or", "and"])
def test_a_text_is_true_where_its_rule_is(connective):
    labels = (HIGH | ICU | SMOKER) if connective == "or" else (HIGH & ICU & SMOKER)
    model = DisjunctionClassifier(connective=connective).fit(PATIENTS, labels)
    rules = model.evaluate_rules(PATIENTS)
    words = {" <= ": "<=", " > ": ">", " != ": "!=", " = ": "=="}
    assert any(f" {connective} " in text for text in model.rules_as_text())
    for text, column in zip(model.rules_as_text(), rules.T, strict=True):
        parts = [f"({part})" for part in text.split(f" {connective} ")]
        expression = f" {connective} ".join(parts)
        for word, sign in words.items():
            expression = expression.replace(word, f" {sign} ")
        for ward in ("er", "icu", "gp"):
            expression = expression.replace(f"== {ward})", f"== '{ward}')")
        expression = expression.replace("(smoker)", "(smoker == 1)")
        np.testing.assert_array_equal(PATIENTS.eval(expression, engine="python").to_numpy(), column == 1, err_msg=text)


def test_the_description_has_every_rule_with_its_signed_weight():
    model = DisjunctionClassifier().fit(PATIENTS, ILL)
    first, _, *lines = model.describe().splitlines()
    assert first == "well if the weights of the true rules sum to more than 0, otherwise ill"
    assert [line.split("  ")[-1] for line in lines[:-1]] == [
        model.rules_as_text()[k] for k in np.argsort(-np.abs(model.coef_[0]), kind="stable")
    ]
    total = [float(line.split()[0]) for line in lines]
    assert np.sign(total[0]) == -1.0  # "ward = icu" is a sign of illness, and the sum is that of "well"
    np.testing.assert_allclose(sum(total), model.coef_.sum() + model.intercept_[0], atol=0.01)


def test_rules_of_groups_do_not_mix_their_columns():
    model = DisjunctionClassifier(groups=[0, 1, 1]).fit(PATIENTS, ICU | SMOKER)
    assert any(" or " in text for text in model.rules_as_text())
    assert not any("glucose" in text and ("ward" in text or "smoker" in text) for text in model.rules_as_text())


def test_groups_of_columns_are_selected_whole():
    X, y = wine()
    groups = [[0, 1, 2], [3, 4, 5, 6], [7, 8, 9, 10], [11, 12, 13]]
    model = GroupLassoClassifier(0.6, groups=groups).fit(X.assign(constant=X["hue"] ** 2), y)
    chosen = sorted(j for g in model.active_groups_ for j in groups[g])
    assert 0 < len(chosen) < 14
    assert model.selected_features_.tolist() == X.columns[chosen].tolist()
