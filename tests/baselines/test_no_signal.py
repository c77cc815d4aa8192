"""Models of SVM+ and LUFe whose weights are 0 at the optimum say so, and answer the largest class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from baselines import LUFeClassifier, LUFeCV, SVMPlusClassifier
from baselines.base import signed_targets
from baselines.lufe.search import best_weight_pair
from baselines.svm_plus.model import CANCELLED, settled_scores
from baselines.svm_plus.problem import SampleTable, SVMPlusProblem, solve_svm, solve_svm_plus
from fsgym.datasets import list_datasets, load_dataset
from support.problems import needs_folder

ROWS = 200  # of a table of the data folder, drawn at random
COLUMNS = 120  # at most, at equal distances


def two_numbers(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two columns that differ a little between overlapping classes of 52 and 48 %."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < 0.52 * n, "ill", "fit")
    return rng.normal(size=(n, 2)) + 0.5 * (y == "ill")[:, None], y


def imbalanced(n: int = 150, d: int = 6, share: float = 0.75, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of which the first is informative, and a first class that is rare."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "many", "few")
    return np.column_stack([rng.normal(size=n) + (y == "few"), rng.normal(size=(n, d - 1))]), y


def w_is_0_by_linear_program(X: np.ndarray, P: np.ndarray, signs: np.ndarray) -> bool:
    """Whether w = 0, w* = 0, b = 0, b* = 1 is optimal: whether it has multipliers.

    All margins are met exactly and no slack is 0, so that alpha = C a with a >= 0 and beta = 0: a has the sum n, as
    much on either class, X'(y a) = 0 and P'(a - 1) = 0. C and lam1 are not in these conditions.
    """
    n = len(signs)
    rows = np.vstack([np.ones(n), signs, (X * signs[:, None]).T, P.T])
    right = np.concatenate([[n, 0.0], np.zeros(X.shape[1]), P.sum(axis=0)])
    size = np.abs(rows).max(axis=1)
    size[size == 0] = 1.0
    result = linprog(np.zeros(n), A_eq=rows / size[:, None], b_eq=right / size, method="highs")
    assert result.status in (0, 2)
    return result.status == 0


def check_model(model, X, y, used):
    """What holds of every model without a signal, and of no other."""
    largest = max(np.unique(y).tolist(), key=y.tolist().count)
    scores = model.decision_function(X)
    if model.has_signal_.any():
        assert model.status_ == "optimal"
        assert model.coef_.any()
        np.testing.assert_array_equal(model.features_used(X), np.tile(used, (len(X), 1)))
        return
    assert model.status_ == "no signal"
    assert not model.coef_.any()
    assert not model.features_used(X).any()
    assert len(model.selected_features_) == 0
    assert np.ptp(scores, axis=0).max() == 0
    if y.tolist().count(largest) > len(y) / 2:
        assert (model.predict(X) == largest).all()
        assert abs(scores[0]) == pytest.approx(2 * np.mean(y == largest) - 1)


@pytest.mark.parametrize("lam2", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("solver", ["gram", "factor"])
def test_two_overlapping_classes_in_two_numbers_have_no_signal(solver, lam2):
    for X, y in (two_numbers(), imbalanced(d=2)):
        for lam1 in (1e-3, 1.0, 1e3):
            model = LUFeClassifier(1, lam1=lam1, lam2=lam2, solver=solver).fit(X, y)
            assert model.objective_ == lam2 * len(y)
            assert abs(model.duality_gap_) <= 1e-7 * model.objective_
            assert model.support_.sum() == 1
            np.testing.assert_array_equal(model.transform(X), X[:, model.support_])
            assert model.status_ == "no signal"
            check_model(model, X, y, model.support_)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.one_in(2)
def test_there_is_a_signal_where_a_linear_program_finds_no_multipliers(seed):
    """At all weights and by all solvers; tables from a few columns, mostly without a signal, to many."""
    rng = np.random.default_rng(seed)
    seen = set()
    for d, m in ((1, 1), (2, 3), (4, 10), (10, 20), (20, 30), (30, 60)):
        X, P = rng.normal(size=(60, d)), rng.normal(size=(60, m))
        y = np.where(X[:, 0] + rng.normal(size=60) > -0.5, 1, -1)
        silent = w_is_0_by_linear_program(X, P, y)
        seen.add(silent)
        for solver in ("gram", "factor"):
            for lam1, lam2 in ((1.0, 1.0), (1e-3, 10.0), (10.0, 0.1)):
                model = SVMPlusClassifier(lam1, lam2, solver=solver).fit(X, y, X_privileged=P)
                assert model.has_signal_.tolist() == [not silent], (d, m, solver, lam1, lam2)
                check_model(model, X, y, np.ones(d, dtype=bool))
    assert seen == {True, False}


@pytest.mark.slow
def test_badly_scaled_columns_have_the_signal_of_their_scaled_ones():
    """Whether w is 0 depends on neither the scale nor the offset of a column."""
    X, y = load_breast_cancer(return_X_y=True)
    signs = np.where(y == 1, 1.0, -1.0)
    scaled = 2 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1
    found = []
    for method, table in ((LUFeClassifier(5, scaling=None), X), (LUFeClassifier(5), scaled)):
        model = method.fit(X, y)
        found.append(not model.has_signal_.any())
        assert found[-1] == w_is_0_by_linear_program(table[:, model.support_], table[:, ~model.support_], signs)
    assert found == [True, False]


def test_w_can_be_0_although_the_slacks_differ():
    """X says nothing, but w* is not 0: the objective is below lam2 n, and the answer that of the largest class."""
    y = np.where(np.arange(60) < 20, 1, -1)
    P = np.where(y == 1, 3.0, 1.0)[:, None]  # so that a slack of the rare class costs less than one of all
    X = np.vstack([np.random.default_rng(0).normal(size=(20, 2))] * 3)  # each row once in one class, twice in the other
    for solver in ("gram", "factor"):
        for intercept in (True, False):
            model = SVMPlusClassifier(0.01, 1.0, intercept, solver=solver).fit(X, y, X_privileged=P)
            assert model.coef_privileged_[0, 0] > 0.1
            assert model.objective_ < 59
            assert model.max_violation_ < 1e-7
            assert abs(model.duality_gap_) < 1e-6
            check_model(model, X, y, np.ones(2, dtype=bool))
            assert not model.has_signal_.any()
            assert (model.predict(X) == -1).all()


def test_the_plain_svm_has_no_signal_where_its_best_function_is_constant():
    X, y = imbalanced(d=2, share=0.85)
    model = SVMPlusClassifier(lam2=1.0).fit(X, y)
    constant = SVC(kernel="linear", C=1.0, tol=1e-5).fit(X, y)
    assert np.abs(constant.coef_).max() < 1e-4
    assert model.status_ == "no signal"
    assert model.objective_ == 2 * (y == "few").sum()
    assert (model.predict(X) == "many").all()
    separable = SVMPlusClassifier(lam2=1.0).fit(X, X[:, 0] > 0)
    assert separable.status_ == "optimal"
    assert separable.coef_.any()


@pytest.mark.parametrize("margins", [np.linspace(-1.0, 2.0, 30), -np.ones(30), np.ones(30)])
def test_the_loss_without_weights_is_the_lowest_of_all_intercepts(margins):
    y = np.where(np.arange(30) % 3 == 0, 1.0, -1.0)
    solution = solve_svm(SampleTable(np.zeros((30, 2))), y, 2.0, margins=margins)
    grid = np.concatenate([y * margins, np.linspace(-3, 3, 601)])
    losses = 2.0 * np.maximum(0.0, margins - y * grid[:, None]).sum(axis=1)
    assert not solution.signal
    assert solution.objective == pytest.approx(losses.min(), abs=1e-12)
    assert solution.gap == pytest.approx(0.0, abs=1e-6)
    assert solution.intercept == pytest.approx(-1 / 3)


def test_some_of_several_classes_have_no_signal():
    """One class is apart from two that overlap; the row of each class is that of its own binary problem."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.r_[np.zeros(30, int), np.ones(50, int), np.full(40, 2)]]
    X = rng.normal(size=(120, 2)) + 9.0 * (y == "a")[:, None]
    P = rng.normal(size=(120, 3))
    model = SVMPlusClassifier().fit(X, y, X_privileged=P)
    assert model.has_signal_.tolist() == [True, False, False]
    assert model.status_ == "optimal"
    assert model.coef_.any(axis=1).tolist() == [True, False, False]
    np.testing.assert_allclose(model.intercept_[1:], [2 * 50 / 120 - 1, 2 * 40 / 120 - 1])
    assert model.predict(X).tolist() == np.where(y == "a", "a", "b").tolist()
    none = SVMPlusClassifier().fit(np.zeros((120, 2)), y, X_privileged=P)
    assert none.status_ == "no signal"
    assert (none.predict(X) == "b").all()
    np.testing.assert_allclose(none.decision_function(X[:1])[0], 2 * np.array([30, 50, 40]) / 120 - 1)


def test_an_unfinished_solution_that_is_worse_than_none_is_replaced_and_says_that_it_is_inaccurate():
    X, y = imbalanced()
    signs = signed_targets((y == "many").astype(int))[:, 0]
    problem = SVMPlusProblem(SampleTable(X[:, :3]), SampleTable(X[:, 3:]), signs, 1.0, 1.0)
    solution = solve_svm_plus(problem, max_iter=1)
    assert solution.objective <= len(y) * (1 + 1e-9)
    assert not solution.optimal


def test_the_search_prefers_pairs_that_say_something():
    means = np.array([[0.7, 0.7], [0.6, 0.65]])
    weights = [1.0, 10.0]
    assert best_weight_pair(means, weights, weights) == (1.0, 1.0)
    assert best_weight_pair(means, weights, weights, np.array([[0, 0], [5, 5]])) == (10.0, 10.0)
    assert best_weight_pair(means, weights, weights, np.array([[0, 4], [5, 0]])) == (10.0, 1.0)
    assert best_weight_pair(means, weights, weights, np.zeros((2, 2), int)) == (1.0, 1.0)
    means[1] = np.nan  # without a solution in some fold
    assert best_weight_pair(means, weights, weights, np.array([[0, 2], [4, 4]])) == (1.0, 10.0)


def test_the_search_counts_the_folds_in_which_a_pair_says_something():
    X, y = imbalanced()
    model = LUFeCV(3, lam1s=[1.0], lam2s=[0.1, 1.0], selector="anova", cv=3, random_state=0).fit(X, y)
    assert model.cv_results_["n_folds_with_signal"].tolist() == [[0, 0]]
    assert model.best_score_ == pytest.approx(np.mean(y == "many"), abs=0.01)
    assert (model.status_, model.has_signal_.tolist()) == ("no signal", [False])
    check_model(model, X, y, model.support_)
    X, y = load_breast_cancer(return_X_y=True)
    model = LUFeCV(15, lam1s=[1.0], lam2s=[1.0], selector="anova", cv=3, random_state=0).fit(X[:200], y[:200])
    assert model.cv_results_["n_folds_with_signal"].tolist() == [[3]]
    assert model.status_ == "optimal"


@pytest.mark.parametrize("solver", ["gram", "factor"])
@pytest.mark.parametrize(("frequent", "rare"), [("a", "b"), ("b", "a")])
def test_rows_whose_terms_cancel_get_the_largest_class(frequent, rare, solver):
    """A word in 10 of 200 texts, all of one class: at the optimum, the score of the other texts is exactly 0.

    The slacks know the word too.
    """
    has_word = np.arange(200) < 10
    y = np.where(has_word | (np.arange(200) % 20 < 9), rare, frequent)
    noise = np.random.default_rng(0).normal(size=(200, 3))
    word = np.where(has_word, 1.0, -1.0)
    X = np.column_stack([word, word, noise])
    for lam1, lam2 in ((1.0, 1.0), (1e-3, 10.0), (1e3, 1e-3)):
        model = LUFeClassifier(1, selector="anova", lam1=lam1, lam2=lam2, solver=solver).fit(X, y)
        assert model.support_.tolist() == [True, False, False, False, False]
        assert model.status_ == "optimal"
        assert abs(model.intercept_[0] - model.coef_[0, 0]) < CANCELLED * abs(model.coef_[0, 0])
        assert model.predict(X).tolist() == np.where(has_word, rare, frequent).tolist()
        np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "b")


def test_among_scores_that_differ_by_rounding_the_largest_class_wins():
    shares = np.array([0.2, 0.5, 0.3])
    X = np.array([[1.0], [2.0], [3.0], [1.0]])
    coef, intercept = np.array([[-1.0], [-1.0], [1.0]]), np.array([1e-9, 0.0, -2.0])
    scores = settled_scores(X, coef, intercept, shares)
    assert scores.argmax(axis=1).tolist() == [1, 2, 2, 1]
    np.testing.assert_allclose(scores, X @ coef.T + intercept, atol=1e-8)
    equal = settled_scores(np.zeros((2, 1)), np.ones((1, 1)), np.zeros(1), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(equal, 0.0)


def both_solvers_agree(X: np.ndarray, y: np.ndarray, n_selected: int) -> bool:
    """Check the answers of both solvers on the training rows at three settings; return whether any had a signal.

    They are equal but for scores about as large as rounding errors may be, and as good as the largest class.
    """
    majority = max(np.mean(y == label) for label in np.unique(y))
    signal = False
    for lam1, lam2 in ((1.0, 1.0), (1e-3, 10.0), (1e3, 1e-3)):
        models = [
            LUFeClassifier(n_selected, selector="anova", lam1=lam1, lam2=lam2, solver=s).fit(X, y)
            for s in ("gram", "factor")
        ]
        answers = [model.predict(X) for model in models]
        assert models[0].has_signal_.tolist() == models[1].has_signal_.tolist()
        doubtful = np.zeros(len(X), dtype=bool)
        for model, own in zip(models, answers, strict=True):
            Z, (w,), (b,) = model._terms(X)
            size = np.abs(Z @ w + b) / (np.abs(Z) @ np.abs(w) + abs(b) + 1e-300)
            doubtful |= (size > 0.1 * CANCELLED) & (size < 10 * CANCELLED)
            assert np.mean(own == y) >= majority
            assert model.has_signal_.any() or np.mean(own == y) == majority
            signal |= bool(model.has_signal_.any())
        np.testing.assert_array_equal(answers[0][~doubtful], answers[1][~doubtful])
        assert np.mean(answers[0] != answers[1]) <= 0.05
    return signal


@pytest.mark.parametrize("n_selected", [2, 4])
def test_both_solvers_give_the_same_answers_on_generated_tables(n_selected):
    found = set()
    for seed in range(3):
        X, y = imbalanced(d=8, seed=seed)
        found.add(both_solvers_agree(X, y, n_selected))
        easy = np.where(X[:, 0] + 0.3 * X[:, 4] > 0.5, "few", "many")
        found.add(both_solvers_agree(X, easy, n_selected))
    assert found == {True, False}


def table_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most ``ROWS`` rows of a data set with numbers in place of categories and means in place of missing values."""
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(data.n_samples)[:ROWS]
    X = np.asarray(data.X[rows], dtype=np.float64)
    X = X[:, :: max(1, X.shape[1] // COLUMNS)]
    means = np.nan_to_num(np.nanmean(np.where(np.isnan(X).all(axis=0), 0.0, X), axis=0))
    return np.where(np.isnan(X), means, X), np.asarray(data.y)[rows]


@needs_folder
@pytest.mark.parametrize("name", ["pima_diabetes", "transfusion"])
def test_both_solvers_agree_on_two_tables_of_the_data_folder(name):
    X, y = table_of(name)
    assert not both_solvers_agree(X, y, 2)
    assert not both_solvers_agree(X, y, X.shape[1] // 2)


@needs_folder
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the interior point method stopped")  # at 1.6e-8 of the objective in place of 1e-8
def test_both_solvers_agree_on_all_binary_tables_of_the_data_folder():
    table = list_datasets()
    names = table.loc[table["n_classes"] == 2, "name"].tolist()
    assert len(names) > 20
    signals = {}
    for name in names:
        X, y = table_of(name)
        signals[name] = [both_solvers_agree(X, y, k) for k in (2, X.shape[1] // 2)]
    flat = [signal for own in signals.values() for signal in own]
    assert any(flat)
    assert not all(flat)
