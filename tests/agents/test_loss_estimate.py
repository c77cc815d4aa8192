"""The cross-validated loss: predictions of each row, figures of all of them, and folds in parallel."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as reference
from sklearn.model_selection import RepeatedStratifiedKFold

from agents import LatticeClassifier, MixtureClassifier
from agents.loss_estimate import _strata
from fsgym import Dataset, Evaluation
from fsgym.metrics import mean_interval
from support.majority import MajorityClassifier
from support.patients import RULES, features_and_labels, patients


@pytest.fixture(scope="module")
def table():
    X, y = features_and_labels(patients(300))
    return X[["age", "pain", "troponin", "arrival"]], y


@pytest.fixture(scope="module")
def model():
    return LatticeClassifier(
        unknown=0, lam=1.0, costs=[0.0, 0.5, 12.0, 0.0], error_costs=RULES["error_costs"], random_state=0
    )


@pytest.fixture(scope="module")
def estimate(model, table):
    return model.estimate_loss(*table, cv=3)


def test_predictions_of_each_row_are_those_of_the_fold_without_it(model, table, estimate):
    X, y = table
    assert np.concatenate(estimate.rows).tolist() != sorted(np.concatenate(estimate.rows))
    test = estimate.rows[1]
    train = np.setdiff1d(np.arange(len(X)), test)
    fitted = model.fit(X.iloc[train], y.iloc[train])
    np.testing.assert_array_equal(estimate.predictions[test], fitted.predict(X.iloc[test]))
    np.testing.assert_array_equal(estimate.probabilities[test], fitted.predict_proba(X.iloc[test]))
    assert estimate.predictions.dtype == estimate.classes.dtype
    assert estimate.error == pytest.approx((estimate.predictions != y).mean())


def test_figures_are_those_of_all_predictions(table, estimate):
    y, figures = table[1].to_numpy(), estimate.figures()
    assert tuple(figures) == Evaluation.FIGURES
    assert figures["loss"] == estimate.loss == pytest.approx(estimate.losses.mean())
    assert figures["accuracy"] == pytest.approx(1 - estimate.error)
    assert figures["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(y, estimate.predictions))
    assert figures["auc"] == pytest.approx(reference.roc_auc_score(y == "acs", estimate.probabilities[:, 0]), abs=1e-12)
    assert figures["log_loss"] == pytest.approx(reference.log_loss(y, estimate.probabilities), abs=1e-12)
    assert (figures["loss_low"], figures["loss_high"]) == estimate.interval[1:]
    assert estimate.interval == pytest.approx(mean_interval(estimate.losses))


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_folds_in_processes_give_the_same_estimate(model, table, estimate):
    other = model.estimate_loss(*table, cv=3, n_jobs=2)
    assert other.figures() == estimate.figures()
    for name in ("losses", "predictions", "probabilities"):
        assert getattr(other, name).tolist() == getattr(estimate, name).tolist()


def test_rows_in_no_test_set_and_in_several():
    X, y = np.zeros((12, 1)), np.array(["a", "b", "c"] * 4)
    rows = np.arange(12)
    estimate = MajorityClassifier().estimate_loss(X, y, cv=[(rows, rows[:6]), (rows, rows[:3])])
    assert estimate.predictions.tolist() == ["a"] * 6 + [None] * 6
    assert np.isnan(estimate.losses).tolist() == [False] * 6 + [True] * 6
    assert estimate.probabilities is None
    figures = estimate.figures()
    assert np.isnan(figures["auc"])
    assert figures["accuracy"] == pytest.approx(1 / 3)
    assert estimate.interval == pytest.approx(
        mean_interval(estimate.folds[0].losses[[0, 1, 2, 3, 4, 5, 0, 1, 2]], [0, 1, 2, 3, 4, 5, 0, 1, 2])
    )


def test_probabilities_of_several_test_sets_are_averaged_and_repetitions_do_not_narrow_the_interval():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = y[:, None] + rng.normal(size=(90, 2))
    model = LatticeClassifier(unknown=0, lam=0.02, random_state=0)
    folds = [RepeatedStratifiedKFold(n_splits=2, n_repeats=n, random_state=0) for n in (1, 2)]
    once, twice = (model.estimate_loss(X, y, cv) for cv in folds)
    np.testing.assert_allclose(twice.probabilities.sum(axis=1), 1)
    row = twice.rows[0][0]
    repeat = 2 if row in twice.rows[2] else 3
    other = twice.folds[repeat].probabilities[twice.rows[repeat] == row][0]
    np.testing.assert_allclose(twice.probabilities[row], (twice.folds[0].probabilities[0] + other) / 2)
    assert twice.predictions[row] == once.predictions[row]
    width = twice.interval.high - twice.interval.low
    assert width > 0.75 * (once.interval.high - once.interval.low)


def test_a_class_without_test_rows_in_a_fold_and_one_without_any_rows():
    X, y = np.arange(24.0)[:, None], np.array([0, 1] * 12)
    data = Dataset(X, y, classes=[0, 1, 2])
    estimate = LatticeClassifier(unknown=0, lam=0.1, random_state=0).estimate_loss(data, cv=2)
    assert estimate.probabilities.shape == (24, 3)
    assert np.isnan(estimate.figures()["auc"])
    assert estimate.classes.tolist() == [0, 1, 2]


def test_labels_may_be_of_pandas_and_groups_are_those_of_the_interval():
    X, y = pd.DataFrame({"a": np.arange(40.0)}), pd.Series(["no", "yes", "no", "no"] * 10, dtype="category")
    patient = [*range(10)] * 4
    estimate = MajorityClassifier().estimate_loss(X, y, 2, patient)
    assert set(estimate.predictions) == {"no"}
    assert estimate.interval == pytest.approx(mean_interval(estimate.losses, patient))
    assert estimate.interval != pytest.approx(mean_interval(estimate.losses))


def test_the_number_of_jobs_is_checked():
    with pytest.raises(ValueError, match="n_jobs"):
        MajorityClassifier().estimate_loss(np.zeros((4, 1)), [0, 1, 0, 1], n_jobs=0)


def test_numbers_of_which_each_bin_is_in_one_group():
    groups = np.repeat(np.arange(4), 25)
    X = groups[:, None] + np.random.default_rng(0).normal(0, 0.1, (100, 2))
    data = Dataset(X, groups + np.linspace(0, 0.1, 100), row_groups=groups, bins=4)
    estimate = LatticeClassifier(lam=0.01, random_state=0).estimate_loss(data, cv=2)
    assert estimate.loss > 0.5  # a number that no training row has, some bins away
    assert np.isfinite(estimate.losses).all()


@pytest.mark.filterwarnings("error")
def test_bins_of_fewer_rows_than_folds_are_joined():
    X = np.random.default_rng(0).normal(size=(60, 2))
    estimate = MixtureClassifier(lam=0.1, random_state=0).estimate_loss(Dataset(X, X[:, 0], bins=16))
    assert sorted(np.concatenate(estimate.rows)) == list(range(60))
    assert [len(rows) for rows in estimate.rows] == [12] * 5
    assert _strata(np.array([0, 1, 1, 2, 2, 2, 4, 5]), 3).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
