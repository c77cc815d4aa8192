"""Pipelines of scikit-learn as methods: they pay for what their answers depend on."""

import sys

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import fsgym
from baselines import CARTClassifier
from fsgym.comparison import cell as cells
from fsgym.comparison.pipelines import accepts_missing_values, as_method, own_estimator
from fsgym.comparison.policies import load_method

LOGISTIC = LogisticRegression(max_iter=200)

WAYS = ColumnTransformer([("a", PCA(1), slice(2, 4)), ("b", "passthrough", [0])])
SIDE_BY_SIDE = FeatureUnion([("a", SelectKBest(k=1)), ("b", StandardScaler())])


def rows(n_features=6, seed=0):
    """Values and labels; the first two columns decide."""
    X = np.random.default_rng(seed).normal(size=(120, n_features)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def used_by(estimator, used=None):
    """Positions of the columns that each answer is charged for, where they are the same for all rows."""
    X, y = rows()
    charged = as_method(estimator, used).fit(X, y).features_used(X)
    assert (charged == charged[0]).all()
    return np.flatnonzero(charged[0]).tolist()


@pytest.mark.parametrize(
    ("estimator", "columns"),
    [
        (LOGISTIC, [0, 1, 2, 3, 4, 5]),
        (make_pipeline(StandardScaler(), LOGISTIC), [0, 1, 2, 3, 4, 5]),
        (make_pipeline(StandardScaler(), SelectKBest(k=2), LOGISTIC), [0, 1]),
        (make_pipeline(SelectKBest(k=2), PCA(1), LOGISTIC), [0, 1]),
        (make_pipeline(SimpleImputer(), VarianceThreshold(), "passthrough", SelectKBest(k=1), LOGISTIC), [0]),
        (make_pipeline(make_pipeline(StandardScaler(), SelectKBest(k=2)), SelectKBest(k=1), LOGISTIC), [0]),
        (make_pipeline(StandardScaler(), make_pipeline(SelectKBest(k=2), LOGISTIC)), [0, 1]),
        (make_pipeline(SIDE_BY_SIDE, SelectKBest(k=2), LOGISTIC), [0]),
        (make_pipeline(ColumnTransformer([("a", StandardScaler(), [4, 0]), ("b", "drop", [1])]), LOGISTIC), [0, 4]),
        (
            make_pipeline(ColumnTransformer([("a", PCA(1), slice(2, 4)), ("b", "passthrough", [0])]), LOGISTIC),
            [0, 2, 3],
        ),
        (RFE(LOGISTIC, n_features_to_select=2), [0, 1]),
        (GridSearchCV(make_pipeline(SelectKBest(), LOGISTIC), {"selectkbest__k": [2]}, cv=2), [0, 1]),
    ],
)
def test_columns_are_followed_through_the_steps(estimator, columns):
    assert used_by(estimator) == columns


def test_a_last_step_that_says_what_it_uses_is_charged_by_row():
    X, y = rows()
    tree = CARTClassifier(ccp_alpha=0.01)
    y = y + 2 * (X[:, 2] > 0)
    method = as_method(make_pipeline(StandardScaler(), SelectKBest(k=3), tree)).fit(X, y)
    charged = method.features_used(X)
    inner = method.estimator_[-1].features_used(method.estimator_[:-1].transform(X))
    selected = method.estimator_[1].get_support()
    assert (charged[:, selected] == inner).all()
    assert not charged[:, ~selected].any()
    assert len({tuple(row) for row in charged}) > 1
    assert not method.uses_same_columns


def test_columns_may_be_given():
    mixed = make_pipeline(PCA(2), SelectKBest(k=1), LOGISTIC)
    assert used_by(mixed, "all") == [0, 1, 2, 3, 4, 5]
    assert used_by(mixed, lambda fitted, X: np.ones(X.shape, bool)) == [0, 1, 2, 3, 4, 5]
    assert used_by(make_pipeline(SelectKBest(k=2), LOGISTIC), [1, 0]) == [0, 1]
    assert used_by(make_pipeline(SelectKBest(k=2), LOGISTIC), np.array([True, True, *[False] * 4])) == [0, 1]


@pytest.mark.filterwarnings("ignore:1 of 1 fits failed")
def test_a_claim_to_use_less_is_found_out():
    X, y = rows()
    for method in (as_method(LOGISTIC, [0]), as_method(LOGISTIC, lambda fitted, X: np.arange(X.shape[1]) < 1)):
        with pytest.raises(ValueError, match=r"depend on the columns that count as used alone, but \d+ of 120 changed"):
            method.fit(X, y).features_used(X)
    results = fsgym.compare("wine", {"mine": as_method(LOGISTIC, ["alcohol"])}, splits=1, references=False)
    assert results["accuracy"].isna().all()
    assert "count as used alone" in results["error"].iloc[0]


def test_groups_and_prices_are_charged_for_what_is_selected():
    X, y = rows()
    data = fsgym.Dataset(X, y, groups=[[0, 5], [1, 2], [3, 4]], costs=[3, 20, 100])
    best = make_pipeline(StandardScaler(), SelectKBest(k=1), LOGISTIC)
    results = fsgym.compare(data, {"best": best, "whole": LOGISTIC}, splits=1, references=False, lam=0.001)
    paid = results.set_index("method")["spent"]
    assert (paid["best"], paid["whole"]) == (3, 123)
    assert results.attrs["fixed"] == ["best", "whole"]
    n_features = results.set_index("method")["n_features"]
    assert (n_features["best"], n_features["whole"]) == (1, 6)


@pytest.fixture(scope="module")
def ward():
    """A table with a category, and missing values in a number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 80, 90), "sex": rng.choice(["f", "m", "x"], 90)})
    frame["crp"] = rng.normal(size=90)
    frame["ill"] = np.where((frame["age"] > 50) ^ (frame["sex"] == "x"), "yes", "no")
    frame.loc[::7, "crp"] = np.nan
    return fsgym.load_dataset(frame, target="ill")


def test_a_column_transformer_gets_the_table(ward):
    ways = ColumnTransformer([("numbers", StandardScaler(), ["age"]), ("levels", OneHotEncoder(), ["sex"])])
    results = fsgym.compare(ward, {"mine": make_pipeline(ways, LOGISTIC)}, splits=1, references=False)
    assert results["error"].isna().all()
    assert results["n_features"].tolist() == [2]  # columns of the table
    imputed = ColumnTransformer([("numbers", SimpleImputer(), ["crp"])])
    whole = own_estimator(make_pipeline(imputed, clone(LOGISTIC)), ward)
    X = ward.to_array()
    used = whole.fit(X, ward.y).features_used(X)
    assert used.sum(axis=1).tolist() == [1] * 90
    assert used[0, list(ward.feature_names).index("crp")]
    named = own_estimator(as_method(make_pipeline(imputed, clone(LOGISTIC)), ["crp"]), ward)
    assert (named.fit(X, ward.y).features_used(X) == used).all()


def test_imputers_of_a_pipeline_are_the_ones_that_impute(ward):
    assert accepts_missing_values(make_pipeline(StandardScaler(), SimpleImputer(), LOGISTIC))
    assert not accepts_missing_values(make_pipeline(PCA(), SimpleImputer(), LOGISTIC))
    assert not accepts_missing_values(make_pipeline(StandardScaler(), LOGISTIC))
    zero = make_pipeline(SimpleImputer(strategy="constant", fill_value=0), LOGISTIC)
    results = fsgym.compare(ward, {"mine": zero}, splits=1, references=False)
    train, test = ward.split(0.5, 0)
    fitted = clone(zero).fit(train.to_array(), train.classes[train.y])
    assert results["accuracy"].iloc[0] == fitted.score(test.to_array(), test.classes[test.y])


def test_settings_of_pipelines_are_shown_by_their_steps():
    X, y = rows()
    grid = [Pipeline([("best", SelectKBest(k=k)), ("last", LOGISTIC)]) for k in (1, 4)]
    results = fsgym.compare(fsgym.Dataset(X, y), {"mine": grid}, splits=1, references=False)
    assert results["params"].tolist() == ['{"best__k": 1}', '{"best__k": 4}']
    assert results["n_features"].tolist() == [1, 4]


def test_error_costs_are_those_of_calibrated_probabilities():
    X, y = rows()
    data = fsgym.Dataset(X, y, costs=[1] * 6)
    weighted = make_pipeline(SelectKBest(k=2), LogisticRegression(class_weight="balanced"))
    assert as_method(weighted).class_weight == "balanced"
    results = fsgym.compare(data, {"mine": weighted}, splits=1, references=False, error_costs=[[0, 9], [1, 0]])
    assert results["error"].isna().all()
    assert results["n_features"].tolist() == [2]


@pytest.mark.parametrize(
    ("methods", "error", "message"),
    [
        (lambda: make_pipeline(PCA(2), SelectKBest(k=1), LOGISTIC), ValueError, "SelectKBest selects from what PCA"),
        (lambda: make_pipeline(Normalizer(), SelectKBest(k=1), LOGISTIC), ValueError, "give used, such as as_method"),
        (lambda: make_pipeline(KNNImputer(), RFE(LOGISTIC)), ValueError, "RFE selects from what KNNImputer makes"),
        (lambda: as_method(LOGISTIC, ["alcohl"]), ValueError, "did you mean 'alcohol'"),
        (lambda: as_method(LOGISTIC, [13]), ValueError, "positions from 0 to 12, got 13"),
        (lambda: as_method(LOGISTIC, [True]), ValueError, "13 entries"),
        (lambda: as_method(LOGISTIC, []), TypeError, "used must list columns"),
        (lambda: as_method(LOGISTIC, "alcohol"), TypeError, "used must be a function"),
        (lambda: as_method(LOGISTIC, 3), TypeError, "used must be a function"),
        (lambda: as_method(LogisticRegression), TypeError, "got the class LogisticRegression"),
        (lambda: as_method("cart"), TypeError, "needs a scikit-learn classifier"),
    ],
)
def test_mistakes_are_one_sentence_before_any_fit(methods, error, message, monkeypatch):
    monkeypatch.setattr(cells, "run_cell", lambda **_: pytest.fail("a fit was started"))
    with pytest.raises(error, match=message) as caught:
        fsgym.compare("wine", {"mine": methods()}, references=False)
    assert "\n" not in str(caught.value)


def test_what_used_returns_must_fit_the_columns():
    X, y = rows()
    with pytest.raises(ValueError, match=r"must return bool of shape \(6,\) or \(120, 6\), got int64 of shape \(2,\)"):
        as_method(LOGISTIC, lambda fitted, X: [0, 1]).fit(X, y).features_used(X)


def test_a_method_of_a_file_can_be_sent_to_another_process(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.linear_model import LogisticRegression\n"
        "class Own(LogisticRegression):\n    pass\n"
        "def best():\n    return Own()\n"
    )
    sent = cloudpickle.dumps(load_method(f"{tmp_path / 'mine.py'}:best"))
    del sys.modules["fsgym_policy_mine"]  # which the other process does not have
    X, y = rows()
    assert cloudpickle.loads(sent).fit(X, y).score(X, y) > 0.9
    assert type(load_method(f"{tmp_path / 'mine.py'}:Own")).__name__ == "Own"
