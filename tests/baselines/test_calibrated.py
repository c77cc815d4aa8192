"""Promises of the panel and of the learnt stopping."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone

from baselines import PanelClassifier, StoppingClassifier
from fsgym import evaluate
from tests.agents.test_promises import cases

BASELINES = {
    "panel": PanelClassifier(lam=0.03, random_state=0),
    "given panel": PanelClassifier(lam=0.03, panel=[0, 1, 2], random_state=0),
    "stopping": StoppingClassifier(lam=0.03, random_state=0),
    "budget": StoppingClassifier(lam=0.03, budget=3, random_state=0),
}


def arrays(n, seed, missing=0.0):
    X, y = cases(n, seed, missing)
    return X.to_numpy(), y


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(*arrays(500, 0)) for name, model in BASELINES.items()}


@pytest.fixture(params=list(BASELINES))
def model(request, fitted):
    return copy.deepcopy(fitted[request.param])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_promise_changes_when_it_stops_and_nothing_else(model, missing):
    X, _ = arrays(400, 1, missing)
    plain, used, whole = model.predict(X), model.features_used(X), model.continue_after_stop(X)
    record = model._record(X)
    ends = record.ends(record.stops)
    assert (model.classes_[record.answers[ends]] == plain).all()
    assert (record.lengths[ends] == used.sum(axis=1)).all()
    assert (record.lengths[record.first[1:] - 1] == whole.lengths).all()
    assert np.array_equal(record.order, whole.order)
    model.calibrate(min_confidence=0.93)
    shares, n_used = model.predict_proba(X), model.features_used(X).sum(axis=1)
    assert (model.features_used(X) >= used).all()
    certain = record.ends(record.stops & (record.probabilities.max(axis=1) >= 0.93))
    assert (n_used == record.lengths[certain]).all()
    np.testing.assert_allclose(shares, record.probabilities[certain], rtol=0, atol=1e-12)  # sums of other batches
    assert ((shares.max(axis=1) >= 0.93) | (n_used == whole.lengths)).all()


def test_what_is_said_of_the_rows_is_what_predictions_give(model):
    X, y = arrays(600, 1)
    plain = evaluate(model, X, y)
    promise = model.calibrate(X, y, target_error=0.2, target_recall={"sick": 0.75}).promise_
    result = evaluate(model, X, y)
    assert promise.tests[0].loss == (model.predict(X) != y).sum()
    assert promise.tests[1].n == (y == "sick").sum()
    assert promise.spent == pytest.approx(result.spent)
    assert promise.spent_without == pytest.approx(plain.spent)


def test_stricter_targets_acquire_more():
    X, y = arrays(600, 1)
    model = StoppingClassifier(lam=0.08, random_state=0).fit(*arrays(500, 0))
    found = [model.calibrate(X, y, target_error=e).promise_.n_acquisitions for e in (0.11, 0.13, 0.16, 0.3)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_refusals_leave_the_model_and_training_ends_the_promise(model):
    X, y = arrays(600, 1)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="cannot be promised"):
        model.calibrate(X, y, target_error=0.01)
    with pytest.raises(ValueError, match="did not train the model"):
        model.calibrate(*arrays(500, 0), target_error=0.2)
    with pytest.raises(ValueError, match="labels of the training"):
        model.calibrate(X, np.where(y == "sick", "ill", y), target_error=0.2)
    assert model.promise_ is None
    assert np.array_equal(model.predict_proba(X), before)
    model.calibrate(X, y, target_error=0.25)
    assert clone(model).fit(*arrays(200, 2)).promise_ is None
    assert model.fit(*arrays(200, 2)).promise_ is None


def test_without_its_promise_a_model_is_as_before(model):
    X, y = arrays(600, 1)
    before = model.predict(X)
    assert model.without_promise() is model
    plain = model.calibrate(X, y, target_error=0.25).without_promise()
    assert plain.promise_ is None
    assert np.array_equal(plain.predict(X), before)
    assert model.promise_ is not None


def test_only_a_calibration_with_valid_parameters_counts_as_one():
    X, y = arrays(600, 1)
    model = PanelClassifier(panel=[0, 1, 2], lam=0.03, random_state=0).fit(*arrays(500, 0))
    for mistake in ({"by": "ward"}, {"groups": np.arange(5)}):
        with pytest.raises(ValueError, match="must be a"):
            model.calibrate(X, y, target_error=0.25, **mistake)
    assert model.calibrate(X, y, target_error=0.25).promise_.n_calibrations == 1
    with pytest.raises(ValueError, match="cannot be promised"):
        model.calibrate(X, y, target_error=0.01)
    assert model.calibrate(X, y, target_error=0.25).promise_.n_calibrations == 3
