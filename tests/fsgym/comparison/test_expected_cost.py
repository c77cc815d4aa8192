"""With unequal costs of errors, every method answers by least expected cost."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import fsgym
from agents import DatumWiseClassifier
from fsgym.comparison.cell import with_seed
from fsgym.comparison.compared import (
    ExpectedCostClassifier,
    candidates_at,
    compared_methods,
    has_scores,
    knows_error_costs,
    sparsity_settings,
)
from fsgym.comparison.protocol import make_protocol
from fsgym.evaluation.evaluate import evaluate
from fsgym.methods import METHODS, REFERENCES

CELLS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
SICK = np.array([6, 25, 53, 110])  # of 150 rows in each cell
COSTS = [[0.0, 10.0], [1.0, 0.0]]  # a miss costs ten false alarms
NAMES = [name for name, method in METHODS.items() if method.extra not in ("rl", "deep")]
# Hinge losses without class weights: the scores of three of the four kinds of rows are equal, as they have the same
# likelier class, and no calibration of scores can separate them.
TIED_SCORES = ("lufe", "hkl")
KNOWS_COSTS = ("cart",)  # among the methods without prices: it is not wrapped, as it has the costs as a parameter


def bayes_answers(error_costs):
    shares = np.stack([1 - SICK / 150, SICK / 150], axis=1)
    return (shares @ np.array(error_costs).T).argmin(axis=1)


@pytest.fixture(scope="module")
def cells():
    """A table in which the class shares of each of four kinds of rows are known."""
    X = np.repeat(CELLS, 150, axis=0)
    y = np.concatenate([np.repeat([1, 0], [k, 150 - k]) for k in SICK])
    order = np.random.default_rng(0).permutation(len(y))
    return fsgym.Dataset(X[order], y[order])


def test_the_example_separates_the_two_kinds_of_answers():
    assert bayes_answers(COSTS).tolist() == [0, 1, 1, 1]
    assert bayes_answers(1 - np.eye(2)).tolist() == [0, 0, 0, 1]


def uses_nothing(candidate):
    """Whether a candidate is the setting without features that ``compare`` adds."""
    inner = getattr(candidate, "estimator", candidate)
    empty = getattr(inner, "empty_setting", None)
    return empty is not None and empty.items() <= inner.get_params().items()


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in ("adaptive", "network") else ()) for n in NAMES]
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.one_in(2)
def test_with_known_probabilities_every_answer_is_that_of_bayes(name, cells):
    options = {"error_costs": COSTS, "groups": None, "costs": None}
    protocol = make_protocol(cells, splits=1, train_share=0.5, seed=0, lam=[0.0], options=options)
    (method,) = compared_methods([name], protocol)
    candidate = next(c for c in reversed(method.candidates) if not uses_nothing(c))
    parameters = {k: 0 for k in candidate.get_params() if k.split("__")[-1] == "random_state"}
    parameters |= {"n_steps": 300} if name == "network" else {}
    parameters |= {"n_iterations": 20} if name == "rcpi_printed" else {}  # at ten, the last policy still changes
    model = candidate.set_params(**parameters).fit(cells.X, cells.y)
    rows, answers = CELLS.astype(np.float32), bayes_answers(COSTS)
    if name in TIED_SCORES:
        answers = (model.predict_proba(rows) @ np.array(COSTS).T).argmin(axis=1)
    if name == "constant":
        answers = np.ones(4)
    assert model.predict(rows).tolist() == answers.tolist()
    assert not method.caution


class Scored(ClassifierMixin, BaseEstimator):
    """A linear classifier around one of scikit-learn's, which uses all features."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, X, y):
        self.inner_ = self.inner.fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def decision_function(self, X):
        return self.inner_.decision_function(X)

    def features_used(self, X):
        return np.ones(np.shape(X), bool)


class Weighted(Scored):
    """A classifier with probabilities of weighted data."""

    def __init__(self, inner=None, class_weight="balanced"):
        super().__init__(inner)
        self.class_weight = class_weight

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize(
    "model",
    [Scored(RidgeClassifier()), Weighted(LogisticRegression(class_weight={0: 1, 1: 30}))],
    ids=["scores", "weighted"],
)
def test_probabilities_of_a_classifier_without_them_are_calibrated(model, cells):
    assert Scored(RidgeClassifier()).fit(cells.X, cells.y).predict(CELLS).tolist() != bayes_answers(COSTS).tolist()
    fitted = ExpectedCostClassifier(model, COSTS, [0, 1]).fit(cells.X, cells.y)
    np.testing.assert_allclose(fitted.predict_proba(CELLS)[:, 1], SICK / 150, atol=0.05)
    assert fitted.predict(CELLS).tolist() == bayes_answers(COSTS).tolist()
    result = evaluate(fitted, cells, rules=fsgym.Rules.for_dataset(cells, error_costs=COSTS))
    assert result.error_cost == pytest.approx((6 * 10 + 125 + 97 + 40) / 600)


def test_a_class_without_training_rows_has_probability_zero():
    X, y = np.arange(12.0).reshape(6, 2), np.array(["a", "a", "a", "c", "c", "c"])
    model = ExpectedCostClassifier(Scored(RidgeClassifier()), 1 - np.eye(3), ["a", "b", "c"]).fit(X, y)
    assert model.predict_proba(X).shape == (6, 3)
    assert (model.predict_proba(X)[:, 1] == 0).all()
    assert model.predict(X).tolist() == y.tolist()


def test_one_row_of_a_class_cannot_be_calibrated():
    with pytest.raises(ValueError, match="a class has a single training row"):
        ExpectedCostClassifier(Scored(RidgeClassifier()), COSTS, [0, 1]).fit(np.eye(3), [0, 0, 1])


class Answers(Scored):
    """A classifier without scores."""

    decision_function = property()


def test_methods_that_ignore_the_costs_are_marked(cells):
    methods = {"answers": Answers(RidgeClassifier()), "own": DatumWiseClassifier(n_iterations=1, states_per_sample=1)}
    results = fsgym.compare(cells, methods, splits=1, error_costs=COSTS, references=False)
    warned = results.drop_duplicates("method").set_index("method")["warning"]
    assert warned["answers"] == (
        "answers ignores the costs of errors, as it has neither predict_proba nor decision_function"
    )
    assert "parameter error_costs" in warned["own"]


def test_without_error_costs_nothing_is_wrapped(cells):
    protocol = make_protocol(cells, splits=1, train_share=0.5, seed=0, lam=None, options={})
    for method in compared_methods(["l1_svm", "cart"], protocol):
        assert all(isinstance(c, ExpectedCostClassifier) is False for c in method.candidates)


def test_a_classifier_that_cannot_take_missing_values_answers_by_expected_cost_too(cells):
    X = cells.X.copy()
    X[::50, 0] = np.nan
    results = fsgym.compare(cells.replace(X=X), "lars", splits=1, error_costs=COSTS, lam=1.0, references=False)
    assert results["error"].isna().all()
    best = results.iloc[-1]
    assert best["error_cost"] < 0.7  # about .54 for Bayes; .75 for "sick" for all, 2.6 for the likelier class


@pytest.mark.parametrize(
    "name", [n for n, m in METHODS.items() if not m.prices and n not in (*REFERENCES, *KNOWS_COSTS)]
)
@pytest.mark.one_in(2)
def test_methods_answer_by_costs_of_errors_between_named_classes(name):
    """Each at its setting with most features, on three classes with names."""
    wine = fsgym.load_dataset("wine").rows(np.arange(0, 178, 3))
    labels = wine.classes[wine.y]
    assert labels.dtype.kind == "U"
    (estimator,) = candidates_at(name, {}, sparsity_settings(name, {}, wine, 0)[-1:])
    assert has_scores(estimator)
    assert not knows_error_costs(estimator)
    costs = [[0, 1, 50], [1, 0, 1], [1, 1, 0]]  # answering the first class where the third is true costs 50
    model = ExpectedCostClassifier(with_seed(estimator, 0), costs, wine.classes.tolist()).fit(wine.X, labels)
    answers = model.predict(wine.X)
    assert set(answers) <= set(wine.classes)
    assert (answers == labels).mean() > 0.4
    assert not (answers[labels == wine.classes[2]] == wine.classes[0]).any()
