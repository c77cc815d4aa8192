"""Uncertain data: draws, masks, the intersection kernel and its SVM, usage of features, and bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from baselines import (
    SparseGroupLasso,
    UncertainExpander,
    UncertainHIKClassifier,
    UncertainSGLSelector,
    intersection_kernel,
)
from baselines.uncertain.intersection import IntersectionMachine, selection_kernels

CANCER, WINE = load_breast_cancer(return_X_y=True), load_wine(return_X_y=True)
GROUPED = {"lam1": 0.0, "lam2": 3000.0, "s": 6, "random_state": 0}


@parametrize_with_checks(
    [
        UncertainExpander(s=3, random_state=0),
        UncertainSGLSelector(s=3, lam1=1.0, lam2=1.0, random_state=0),
    ]
)
@pytest.mark.one_in(3)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [UncertainHIKClassifier(lam1=0.0, lam2=10.0, s=4, kernel_input="histogram", solver="fista", random_state=0)]
)
def test_scikit_learn_contract_of_further_settings(estimator, check):
    check(estimator)


# -- draws


@pytest.mark.parametrize(
    ("options", "deviation", "most"),
    [
        ({"distribution": "uniform"}, 1 / np.sqrt(12), 0.5),
        ({}, 0.2446, 0.5),  # a quarter, reduced by clipping at two standard deviations
        ({"clip": False}, 0.2199, 0.5),  # a normal distribution truncated at two standard deviations
    ],
)
def test_draws_have_the_chosen_distribution(options, deviation, most):
    X = np.linspace(-3, 5, 400)[:, None] * [1.0, 10.0]
    model = UncertainExpander(w=0.2, s=50, random_state=1, **options).fit(X)
    draws = model.transform(X).reshape(400, 2, 50)
    centres = (X - X.min(axis=0)) / np.ptp(X, axis=0) * 100
    noise = (draws - centres[:, :, None]) / 20
    assert abs(noise.mean()) < 0.005
    assert noise.std() == pytest.approx(deviation, rel=0.02)
    assert most * 0.99 < np.abs(noise).max() <= most + 1e-12
    ends = (np.abs(noise) > 0.5 - 1e-9).mean()
    assert (0.03 < ends < 0.06) if not options else ends < 0.001
    flat = noise.reshape(400, -1)
    correlations = np.corrcoef(flat.T)[~np.eye(100, dtype=bool)]
    assert np.abs(correlations).max() < 0.25
    assert abs(correlations.mean()) < 0.005
    np.testing.assert_array_equal(model.get_feature_names_out()[[0, 1, 50]], ["x0_0", "x0_1", "x1_0"])


def test_ranges_come_from_the_training_rows_only():
    X = np.array([[0.0, 5.0], [2.0, 5.0]])
    model = UncertainExpander(w=0.0, s=1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform([[4.0, 5.0], [-1.0, 9.0]]), [[200.0, 0.0], [-50.0, 0.0]])
    constant = UncertainExpander(w=0.5, s=4, random_state=0).fit(X).transform(X)[:, 4:]
    assert not constant.any()


def test_draws_depend_on_the_seed_and_the_row_only():
    X = CANCER[0][:50]
    model = UncertainExpander(s=4, random_state=0).fit(X)
    draws = model.transform(X)
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], draws)
    np.testing.assert_array_equal(UncertainExpander(s=4, random_state=0).fit_transform(X), draws)
    assert (UncertainExpander(s=4, random_state=1).fit_transform(X) != draws).mean() > 0.9
    other = X.copy()
    other[:, 0] += 1e-9
    assert (model.transform(other)[:, 4:] != draws[:, 4:]).mean() > 0.9  # another row, other draws
    part = model.restrict_to(np.arange(30) < 3)
    assert part.transform(X[:, :3]).shape == (50, 12)


def test_real_draws_are_only_scaled_and_widths_are_informative():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3, 5))
    Z = UncertainExpander(s=99).fit_transform(X).reshape(60, 3, 5)
    for j in range(3):
        np.testing.assert_allclose(Z[:, j], (X[:, j] - X[:, j].min()) / np.ptp(X[:, j]) * 100)
    ordered = UncertainExpander(order="sorted").fit_transform(X).reshape(60, 3, 5)
    np.testing.assert_array_equal(ordered, np.sort(Z, axis=2))

    y, centres = np.arange(400) % 2, rng.normal(size=(400, 2))
    widths = np.where(y[:, None] == [1, 2], 2.0, 0.2)  # the first feature is wide in class 1
    scores = {}
    for order in ("sorted", "none"):
        model = UncertainExpander(s=20, order=order, distribution="uniform", random_state=0)
        draws = model.fit_transform(centres, widths=widths).reshape(400, 2, 20)
        span = np.ptp(draws[:, 0], axis=1) / 100 * np.ptp(centres[:, 0])
        assert span[y == 1].min() > 1.1
        assert span[y == 0].max() <= 0.2
        classifier = UncertainHIKClassifier(lam1=1.0, lam2=1.0, C=10.0, random_state=0).fit(draws[:200], y[:200])
        assert classifier.features_used(draws).shape == (400, 2)
        scores[order] = classifier.score(draws[200:], y[200:])
    assert scores["sorted"] > 0.95
    assert scores["none"] < 0.7


# -- masks


def test_mask_counts_and_transform_on_a_given_mask():
    X, y = CANCER[0][:, :4], CANCER[1]
    model = UncertainSGLSelector(s=3, random_state=0).fit(X, y)
    draws = np.asarray(model.expander_.transform(X))
    sgl = SparseGroupLasso(100.0, 0.1, 3).fit(draws, 2.0 * y - 1)
    np.testing.assert_array_equal(model.mask_, sgl.coef_.reshape(4, 3) != 0)
    np.testing.assert_array_equal(model.coef_[0], sgl.coef_.reshape(4, 3))
    assert model.fnum_ == np.ceil(model.mask_.mean(axis=1)).sum() == model.support_.sum()
    assert model.ratio_ == model.mask_.sum() / 12
    np.testing.assert_array_equal(model.get_support(), model.support_)

    model.mask_ = np.array([[True, False, True], [False] * 3, [True, True, True], [False] * 3])
    model.support_, model.fnum_ = model.mask_.any(axis=1), 2
    selected = model.transform(X)
    expected = model.expander_.restrict_to(model.support_).transform(X[:, [0, 2]])[:, [0, 2, 3, 4, 5]]
    np.testing.assert_array_equal(selected, expected)
    assert list(model.get_feature_names_out()) == ["x0_0", "x0_2", "x2_0", "x2_1", "x2_2"]
    back = model.inverse_transform(selected)
    assert (np.abs(back - X)[:, [0, 2]] <= 0.025001 * np.ptp(X[:, [0, 2]], axis=0)).all()
    assert not back[:, [1, 3]].any()


def test_group_penalty_selects_features_whole_and_weights_are_prices():
    X, y = CANCER
    model = UncertainSGLSelector(**GROUPED).fit(X, y)
    assert 0 < model.fnum_ < 30
    assert model.ratio_ == pytest.approx(model.fnum_ / 30)
    dear = np.where(model.support_, 50.0, 1.0)
    other = UncertainSGLSelector(group_weights=dear, **GROUPED).fit(X, y)
    assert not (other.support_ & model.support_).any()
    assert other.fnum_ > 0
    bounds = 1e-6 * 0.5 * len(y)
    assert (model.dual_gaps_ <= bounds).all()


def test_hundred_steps_select_more_than_the_optimum():
    X, y = CANCER
    fista = UncertainSGLSelector(s=10, solver="fista", random_state=0).fit(X, y)
    exact = UncertainSGLSelector(s=10, random_state=0).fit(X, y)
    assert exact.dual_gaps_[0] < fista.dual_gaps_[0]
    assert exact.ratio_ < 0.6 * fista.ratio_


# -- kernel and machine


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 3), (30, 41, 17), (12, 9, 600)])
def test_kernel_is_the_sum_of_minima(shape):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(shape[0], shape[2])), rng.normal(size=(shape[1], shape[2]))
    plain = np.minimum(A[:, None], B[None]).sum(axis=2)
    np.testing.assert_allclose(intersection_kernel(A, B), plain, atol=1e-11)
    np.testing.assert_allclose(intersection_kernel(A), np.minimum(A[:, None], A[None]).sum(axis=2), atol=1e-11)
    identity = 0.5 * (A.sum(axis=1)[:, None] + B.sum(axis=1) - cdist(A, B, "cityblock"))
    np.testing.assert_allclose(intersection_kernel(A, B), identity, atol=1e-10)


def test_kernels_of_selections_are_those_computed_separately():
    """Selections that add and remove columns of an earlier one, of any number, and equal ones."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(31, 40)), rng.normal(size=(7, 40))
    some = rng.random(40) < 0.6
    other = some ^ (np.arange(40) % 9 == 0)
    assert (other & ~some).any()
    assert (some & ~other).any()
    masks = [some, other, some, np.ones(40, bool), np.arange(40) != 3, np.arange(40) == 3, np.zeros(40, bool)]
    kernels = list(selection_kernels(X, T, masks))
    assert len(kernels) == len(masks)
    for mask, (K, K_test) in zip(masks, kernels):
        np.testing.assert_allclose(K, np.minimum(X[:, None], X[None])[:, :, mask].sum(axis=2), atol=1e-12)
        np.testing.assert_allclose(K_test, np.minimum(T[:, None], X[None])[:, :, mask].sum(axis=2), atol=1e-12)
        np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(kernels[0][0], intersection_kernel(X[:, some]))
    np.testing.assert_array_equal(kernels[2][0], kernels[0][0])


def test_kernel_refuses_other_columns():
    with pytest.raises(ValueError, match="the same number of columns, got 2 and 3"):
        intersection_kernel(np.ones((4, 2)), np.ones((4, 3)))


def test_fast_prediction_equals_the_kernel_and_shifts_change_nothing():
    rng = np.random.default_rng(0)
    A, T = rng.random((80, 12)).round(2), 3 * rng.random((50, 12)).round(2) - 1  # ties, and values beyond the knots
    y = np.where(A[:, 0] + A[:, 1] ** 2 > 0.8, 1.0, -1.0)
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(intersection_kernel(A), y)
    machine = IntersectionMachine.from_support_vectors(A[svc.support_], svc.dual_coef_[0], svc.intercept_[0])
    np.testing.assert_allclose(
        machine.decision_function(T), svc.decision_function(intersection_kernel(T, A)), atol=1e-12
    )
    shift = rng.normal(size=12) * 5
    moved = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(intersection_kernel(A + shift), y)
    other = IntersectionMachine.from_support_vectors(
        (A + shift)[moved.support_], moved.dual_coef_[0], moved.intercept_[0]
    )
    np.testing.assert_allclose(other.decision_function(T + shift), machine.decision_function(T), atol=1e-5)


@pytest.mark.parametrize("kernel_input", ["values", "histogram"])
def test_classifier_is_its_parts(kernel_input):
    X, y = CANCER[0][::3], CANCER[1][::3]
    model = UncertainHIKClassifier(kernel_input=kernel_input, C=0.7, bins=4, **GROUPED).fit(X, y)
    selector = model.selector_
    draws = selector.expander_.transform(X).reshape(len(X), 30, 6)
    if kernel_input == "values":
        inputs = draws[:, selector.mask_] / 600
    else:
        edges = [-1e9, 25.0, 50.0, 75.0, 1e9]  # values beyond the range belong to the outermost bins
        shares = lambda row: np.concatenate([np.histogram(part, edges)[0] for part in row]) / 6  # noqa: E731
        inputs = np.array([shares(row) for row in draws[:, selector.support_]])
    svc = SVC(C=0.7, kernel="precomputed").fit(np.minimum(inputs[:, None], inputs[None]).sum(axis=2), y)
    test = CANCER[0][1::7]
    used_draws = selector.expander_.restrict_to(selector.support_).transform(test[:, selector.support_])
    new = used_draws.reshape(len(test), -1, 6)
    if kernel_input == "values":
        new = new[:, selector.mask_[selector.support_]] / 600
    else:
        new = np.array([shares(row) for row in new])
    expected = svc.decision_function(np.minimum(new[:, None], inputs[None]).sum(axis=2))
    np.testing.assert_allclose(model.decision_function(test), expected, atol=5e-3)
    assert model.score(test, CANCER[1][1::7]) > 0.9


# -- the classifier among the methods


@pytest.mark.one_in(2)
@pytest.mark.parametrize("table", ["two", "three"])
@pytest.mark.parametrize("options", [{}, {"lam1": 1.0, "lam2": 3.0, "fit_intercept": True}, {"solver": "fista"}])
def test_sparsity_grid_goes_from_no_feature_to_nearly_all_and_unused_features_have_no_effect(options, table):
    X, y = {"two": (CANCER[0][::2], CANCER[1][::2]), "three": WINE}[table]
    method = UncertainHIKClassifier(s=5, random_state=0, **options)
    grid = method.sparsity_grid(X, y)
    assert len(grid) == 12
    assert grid == method.sparsity_grid(X, y)
    counts, rng = [], np.random.default_rng(0)
    for setting in grid[::2] + grid[-1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if setting == grid[0] else "error", UserWarning)
            model = clone(method).set_params(**setting).fit(X, y)
        used, answers, scores = model.features_used(X), model.predict(X), model.decision_function(X)
        for huge in (1.0, 1e30, 1e300):
            corrupted = np.where(used, X, rng.uniform(-huge, huge, X.shape))
            np.testing.assert_array_equal(model.decision_function(corrupted), scores)
            np.testing.assert_array_equal(model.predict(corrupted), answers)
            np.testing.assert_array_equal(model.features_used(corrupted), used)
        counts.append(used[0].sum())
    assert counts[0] == 0
    assert counts[1] > 0
    assert counts[-1] >= 0.8 * X.shape[1]
    assert model.score(X, y) > 0.93
    assert model.decision_function(X).shape == ((len(X),) if table == "two" else (len(X), 3))


def test_a_model_without_features_warns_and_predicts_the_largest_class():
    X, y = WINE
    model = UncertainHIKClassifier(lam1=1e9, s=3, random_state=0)
    with pytest.warns(UserWarning, match=r"no sub-feature is selected at lam1=1e\+09 and lam2=0.1"):
        model.fit(X, y)
    assert set(model.predict(np.full_like(X, 1e200))) == {1}
    assert not model.features_used(X).any()
    with pytest.warns(UserWarning, match="no sub-feature is selected"):
        selector = UncertainSGLSelector(lam1=1e9, s=3, random_state=0).fit(X, y)
    assert (selector.fnum_, selector.ratio_, selector.transform(X).shape) == (0, 0.0, (178, 0))


def test_no_width_warns_of_copies():
    with pytest.warns(UserWarning, match="w is 0: the 20 sub-features of a feature are copies"):
        UncertainExpander(w=0.0).fit(CANCER[0])
    UncertainExpander(w=0.0, s=1).fit(CANCER[0])


@pytest.mark.parametrize(
    ("estimator", "word"),
    [
        (UncertainExpander(s=0), "'s' parameter of UncertainExpander"),
        (UncertainExpander(w=-0.1), "'w' parameter of UncertainExpander"),
        (UncertainExpander(w=np.nan), "'w' parameter"),
        (UncertainExpander(distribution="cauchy"), "'distribution' parameter"),
        (UncertainExpander(feature_scale=0.0), "'feature_scale' parameter"),
        (UncertainSGLSelector(lam1=-1.0), "lam1 must be a finite number of at least 0, got -1.0"),
        (UncertainSGLSelector(lam1=0.0, lam2=0.0), "must not both be 0"),
        (UncertainSGLSelector(group_weights=[1.0]), r"group_weights must have shape \(30,\)"),
        (UncertainHIKClassifier(lam2=np.inf), "lam2 must be a finite number"),
        (UncertainHIKClassifier(C=0.0), "'C' parameter of UncertainHIKClassifier"),
        (UncertainHIKClassifier(bins=1), "'bins' parameter"),
        (UncertainHIKClassifier(s=2.5), "'s' parameter of UncertainHIKClassifier"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(estimator, word):
    with pytest.raises(ValueError, match=word) as error:
        estimator.fit(*CANCER)
    assert "\n" not in str(error.value)


def test_bad_tables_are_refused_in_a_sentence():
    X, y = CANCER
    model, rng = UncertainHIKClassifier(**GROUPED), np.random.default_rng(0)
    for bad in (np.nan, np.inf):
        broken = np.where(np.arange(30) == 3, bad, X)
        for call in (model.fit, model.sparsity_grid, UncertainSGLSelector().fit):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                call(broken, y)
    for call in (model.fit, model.sparsity_grid, UncertainSGLSelector().fit):
        with pytest.raises(ValueError, match=r"at least two classes, got 1 class \(a\)"):
            call(X, ["a"] * len(X))
    draws = UncertainExpander(s=9).fit(rng.random((5, 3, 4)))
    with pytest.raises(ValueError, match=r"must have 4 draws per value, as in fit, got \(5,\)"):
        draws.transform(rng.random((5, 3, 5)))
    with pytest.raises(ValueError, match=r"must have 4 draws per value"):
        draws.transform(rng.random((5, 3)))
    with pytest.raises(ValueError, match="shape"):
        draws.fit(rng.random((5, 3, 4, 2)))
    with pytest.raises(ValueError, match="widths must not be given with draws"):
        draws.fit(rng.random((5, 3, 4)), widths=np.ones((5, 3)))
    for widths in (np.ones((5, 2)), -np.ones((5, 3)), np.full((5, 3), np.nan)):
        with pytest.raises(ValueError, match=r"widths must be finite, at least 0 and of shape \(5, 3\)"):
            UncertainExpander(s=2).fit_transform(rng.random((5, 3)), widths=widths)
    with pytest.raises(ValueError, match="must have the 48 selected columns"):
        UncertainSGLSelector(**GROUPED).fit(X, y).inverse_transform(X)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_finite_table_can_be_fitted(data):
    X = data.draw(arrays(np.float64, (8, 3), elements=st.floats(allow_nan=False, allow_infinity=False)))
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    method = UncertainHIKClassifier(s=2, random_state=0)
    setting = method.sparsity_grid(X, y)[-5:][0]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no sub-feature")
        model = clone(method).set_params(**setting).fit(X, y)
    used, answers = model.features_used(X), model.predict(X)
    corrupted = np.where(used, X, -1.7e308)
    np.testing.assert_array_equal(model.predict(corrupted), answers)
    np.testing.assert_array_equal(model.features_used(corrupted), used)


def test_without_penalties_the_grid_has_equal_ones():
    grid = UncertainHIKClassifier(s=2, lam1=0.0, lam2=0.0, random_state=0).sparsity_grid(*WINE)
    assert len(grid) == 12
    assert all(setting["lam1"] == setting["lam2"] > 0 for setting in grid)
