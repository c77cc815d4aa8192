"""Each figure against scikit-learn's own function or an independent computation; what is not defined is NaN."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as reference
from sklearn.calibration import calibration_curve
from sklearn.preprocessing import OneHotEncoder

from fsgym import metrics

EQUAL = 1.0 - np.eye(2)


def scored_rows(n_classes, n=300, seed=0):
    """True classes, of which later ones are rarer, answers and probabilities with many ties."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.4, n) - 1, n_classes - 1)
    scores = rng.normal(size=(n, n_classes)).round(1)
    scores[np.arange(n), y] += 1.0
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return y, probabilities.argmax(axis=1), probabilities


@pytest.fixture(params=[2, 3, 7], ids="{} classes".format)
def problem(request):
    return scored_rows(request.param)


def test_counts_recalls_and_precisions_are_those_of_scikit_learn(problem):
    y, answers, probabilities = problem
    n_classes = probabilities.shape[1]
    confusion = metrics.confusion_counts(y, answers, n_classes)
    assert confusion.dtype == np.int64
    np.testing.assert_array_equal(confusion, reference.confusion_matrix(y, answers))
    np.testing.assert_allclose(
        metrics.class_recalls(y, answers, n_classes), reference.recall_score(y, answers, average=None)
    )
    np.testing.assert_allclose(
        metrics.class_precisions(y, answers, n_classes), reference.precision_score(y, answers, average=None)
    )
    assert metrics.mean_recall(y, answers, n_classes) == pytest.approx(reference.balanced_accuracy_score(y, answers))


def test_figures_of_probabilities_are_those_of_scikit_learn(problem):
    y, _, probabilities = problem
    n_classes = probabilities.shape[1]
    if n_classes == 2:
        auc = reference.roc_auc_score(y, probabilities[:, 1])
        share = (probabilities[:, 1] * 1024).round() / 1024  # without errors of rounding, so that ties stay ties
        exact = np.column_stack([1 - share, share])
        swapped = metrics.area_under_roc(1 - y, exact[:, ::-1])
        assert metrics.area_under_roc(y, exact) == pytest.approx(swapped, abs=1e-12)
        assert metrics.brier_score(y, probabilities) == pytest.approx(
            reference.brier_score_loss(y, probabilities[:, 1]), abs=1e-12
        )
    else:
        auc = reference.roc_auc_score(y, probabilities, multi_class="ovr", average="macro")
        labels = OneHotEncoder(sparse_output=False).fit_transform(y[:, None])
        parts = [reference.brier_score_loss(labels[:, k], probabilities[:, k]) for k in range(n_classes)]
        assert metrics.brier_score(y, probabilities) == pytest.approx(sum(parts), abs=1e-12)
    assert metrics.area_under_roc(y, probabilities) == pytest.approx(auc, abs=1e-12)
    assert metrics.mean_log_loss(y, probabilities) == pytest.approx(reference.log_loss(y, probabilities), abs=1e-12)
    certain = np.eye(n_classes)[(y + 1) % n_classes]
    assert metrics.mean_log_loss(y, certain) == pytest.approx(-np.log(np.finfo(float).eps), rel=1e-6)


def test_a_probability_that_rounding_made_larger_than_1_counts_as_1():
    rounded = np.array([[1 + 2e-16, 0.0], [0.5, 0.5]])
    assert rounded[0, 0] > 1
    assert metrics.mean_log_loss(np.array([0, 1]), rounded) == pytest.approx(np.log(2) / 2)


def test_the_brier_score_of_several_classes_is_that_of_scikit_learn():
    y, _, probabilities = scored_rows(4)
    try:
        expected = reference.brier_score_loss(y, probabilities)
    except ValueError:  # scikit-learn 1.6 has it for two classes only
        expected = ((probabilities - np.eye(4)[y]) ** 2).sum() / len(y)
    assert metrics.brier_score(y, probabilities) == pytest.approx(expected, abs=1e-12)


def test_calibration_error_agrees_with_the_calibration_curves_of_scikit_learn(problem):
    y, _, probabilities = problem
    errors = []
    for k, share in enumerate(probabilities.T):
        seen, believed = calibration_curve(y == k, share, n_bins=10, strategy="uniform")
        edges = np.linspace(0, 1, 11)
        counts = [((share > low) & (share <= high)).sum() for low, high in zip([-1, *edges[1:-1]], edges[1:])]
        rows = np.array([count for count in counts if count])
        errors.append((rows * abs(seen - believed)).sum() / len(y))
    assert metrics.expected_calibration_error(y, probabilities) == pytest.approx(np.mean(errors), abs=1e-12)


def test_calibration_error_detects_too_much_and_too_little_confidence():
    rng = np.random.default_rng(0)
    share = rng.beta(1, 3, 20_000)
    y = (rng.random(20_000) < share).astype(int)
    error = {
        power: metrics.expected_calibration_error(y, _two_columns(share**power / (share**power + (1 - share) ** power)))
        for power in (0.5, 1.0, 2.0)
    }
    assert error[1.0] < 0.015
    assert min(error[0.5], error[2.0]) > 0.07
    exact = np.repeat([[0.75, 0.25]], 4, axis=0)
    assert metrics.expected_calibration_error(np.array([0, 0, 0, 1]), exact) == 0


def test_the_excess_calibration_error_is_0_on_average_where_the_labels_are_drawn_from_the_probabilities():
    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=(300, 3))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    drawn = [(rng.random((300, 1)) > probabilities.cumsum(axis=1)).sum(axis=1) for _ in range(40)]
    excess = [metrics.excess_calibration_error(y, probabilities, n_draws=50) for y in drawn]
    assert abs(np.mean(excess)) < 0.003
    sharper = probabilities**3 / (probabilities**3).sum(axis=1, keepdims=True)
    assert min(metrics.excess_calibration_error(y, sharper, n_draws=50) for y in drawn) > 0.05


def test_the_excess_calibration_error_is_the_error_less_that_of_chance():
    y, probabilities = np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]])
    # labels 0, 0 and 1, 1 have the error .5, the two others 0: the mean is .25
    assert metrics.excess_calibration_error(y, probabilities, n_draws=4000) == pytest.approx(-0.25, abs=0.02)
    again = metrics.excess_calibration_error(y, probabilities, random_state=np.random.default_rng(0))
    assert again == metrics.excess_calibration_error(y, probabilities)


def test_certainty_bins_hold_the_probability_of_the_answer():
    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=(500, 3))
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y, answers = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
    certainty = probabilities[np.arange(500), answers]
    bins = metrics.certainty_bins(y, answers, probabilities)
    assert sum(b.rows for b in bins) == 500
    assert sum(b.rows * b.certainty for b in bins) == pytest.approx(certainty.sum())
    assert sum(b.rows * b.correct for b in bins) == pytest.approx((y == answers).sum())
    seen, believed = calibration_curve(y == answers, certainty, n_bins=10, strategy="uniform")
    np.testing.assert_allclose([b.certainty for b in bins], believed)
    np.testing.assert_allclose([b.correct for b in bins], seen)


def isotonic_value(scores, labels, x):
    """The value at a point by the formula of minima and maxima (Barlow et al., 1972)."""
    points = np.unique(scores)
    return max(
        min(labels[(scores >= a) & (scores <= b)].mean() for b in points[points >= x]) for a in points[points <= x]
    )


@pytest.mark.parametrize("seed", range(4))
def test_venn_abers_intervals_agree_with_a_direct_computation(seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 12, 25) / 10, rng.integers(0, 2, 25)  # with ties
    new = np.concatenate([rng.random(20) * 1.4 - 0.1, scores[:5]])
    found = metrics.venn_abers_intervals(scores, labels, new)
    for x, interval in zip(new, found, strict=True):
        for b in (0, 1):
            expected = isotonic_value(np.append(scores, x), np.append(labels, b), x)
            assert interval[b] == pytest.approx(expected, abs=1e-12)
    assert (found[:, 0] <= found[:, 1]).all()
    assert (np.diff(found[np.argsort(new)], axis=0) >= -1e-12).all()


@pytest.mark.slow
def test_the_entry_of_the_true_label_is_calibrated_on_average():
    rng, entries, truths = np.random.default_rng(0), [], []
    for _ in range(1500):
        share = rng.random(41)
        y = (rng.random(41) < share**2).astype(int)  # the scores are not calibrated
        interval = metrics.venn_abers_intervals(share[:40], y[:40], share[40:])[0]
        entries.append(interval[y[40]])
        truths.append(y[40])
    entries, truths = np.array(entries), np.array(truths)
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        here = (entries >= low) & (entries <= low + 0.2)
        gap, error = (truths - entries)[here].mean(), np.sqrt((entries * (1 - entries))[here].mean() / here.sum())
        assert abs(gap) < 3.5 * error, low


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [0], [0.1]), "the same shape"),
        (([], [], [0.1]), "the same shape"),
        (([0.1, float("nan")], [0, 1], [0.1]), "must be finite"),
        (([0.1, 0.2], [1, 2], [0.1]), "labels must be 0 or 1"),
    ],
)
def test_venn_abers_needs_scores_and_labels_of_two_classes(arguments, message):
    with pytest.raises(ValueError, match=message):
        metrics.venn_abers_intervals(*arguments)


def _two_columns(share):
    return np.column_stack([1 - share, share])


def test_figures_of_a_class_without_rows_are_nan():
    y, answers = np.array([0, 0, 1]), np.array([0, 1, 1])
    np.testing.assert_array_equal(metrics.class_recalls(y, answers, 3), [0.5, 1, np.nan])
    np.testing.assert_array_equal(metrics.class_precisions(y, answers, 3), [1, 0.5, np.nan])
    assert metrics.mean_recall(y, answers, 3) == 0.75
    probabilities = np.full((3, 3), 1 / 3)
    assert np.isnan(metrics.area_under_roc(y, probabilities))
    assert np.isnan(metrics.area_under_roc(np.zeros(3, int), probabilities[:, :2]))
    assert metrics.mean_log_loss(np.zeros(3, int), probabilities) == pytest.approx(np.log(3))
    assert metrics.brier_score(y, probabilities) == pytest.approx(2 / 3)
    assert metrics.confusion_counts(y, answers, 3)[2].sum() == 0


@pytest.mark.parametrize(
    ("error_costs", "counts", "expected"),
    [
        (EQUAL, (30, 10), ("accuracy",)),
        (EQUAL, (31, 10), ("accuracy", "balanced_accuracy", "auc")),
        (EQUAL, (5, 0), ("accuracy", "balanced_accuracy", "auc")),
        (1 - np.eye(3), (10, 31, 20), ("accuracy", "balanced_accuracy", "auc")),
        (1 - np.eye(3), (10, 29, 20), ("accuracy",)),
        ([[0, 1000], [40, 0]], (99, 1), ("loss",)),
        (1000 * EQUAL, (1, 1), ("loss",)),
        ([[-1, 1], [1, 0]], (1, 1), ("loss",)),
    ],
)
def test_headline(error_costs, counts, expected):
    y = np.repeat(np.arange(len(counts)), counts)
    assert metrics.headline_figures(np.array(error_costs, float), y) == expected


@pytest.mark.parametrize(
    ("error_costs", "counts", "expected"),
    [
        ([[0, 1000], [40, 0]], (1, 9), 1),
        ([[0, 40], [1000, 0]], (9, 1), 0),
        ([[-990, 40], [20, 0]], (9, 1), 0),  # a miss costs 1010 more than a correct answer
        (EQUAL, (9, 1), 1),
        (EQUAL, (1, 9), 0),
        (EQUAL, (5, 5), 1),
        (EQUAL, (0, 3), 0),
        (1 - np.eye(3), (1, 2, 3), None),
    ],
)
def test_the_positive_class_is_the_costlier_one_to_miss_or_the_rarer_one(error_costs, counts, expected):
    y = np.repeat(np.arange(len(counts)), counts)
    assert metrics.positive_class(np.array(error_costs, float), y) == expected


# The interval of a mean


def simulated_losses(rng, n_groups, miss_share):
    """Prices and rare misses that cost 1000, of patients with one to seven visits, and the patient of each row."""
    patient = np.repeat(np.arange(n_groups), rng.choice([1, 1, 2, 3, 4, 7], n_groups))
    hard = rng.random(n_groups) < 2 * miss_share
    price = np.clip(
        np.exp(3.2 + 0.5 * rng.normal(size=n_groups)[patient] + 0.4 * rng.normal(size=len(patient))), 10, 100
    )
    return price + 1000.0 * (hard[patient] & (rng.random(len(patient)) < 0.5)), patient


@pytest.mark.parametrize(("n_groups", "miss_share"), [(100, 0.1), (200, 0.05), (300, 0.1)])
def test_intervals_of_skewed_costs_contain_the_mean_in_95_percent_of_samples(n_groups, miss_share):
    rng = np.random.default_rng(0)
    prices, _ = simulated_losses(rng, 200_000, 0.0)
    mean = prices.mean() + 1000 * miss_share
    contained = {"groups": 0, "rows": 0, "independent rows": 0, "t": 0}
    for _ in range(400):
        losses, patient = simulated_losses(rng, n_groups, miss_share)
        one_per_patient = losses[np.unique(patient, return_index=True)[1]]
        error = 1.96 * one_per_patient.std(ddof=1) / np.sqrt(n_groups)
        intervals = {
            "groups": metrics.mean_interval(losses, patient)[1:],
            "rows": metrics.mean_interval(losses)[1:],
            "independent rows": metrics.mean_interval(one_per_patient)[1:],
            "t": (one_per_patient.mean() - error, one_per_patient.mean() + error),
        }
        for name, (low, high) in intervals.items():
            contained[name] += low <= mean <= high
    share = {name: count / 400 for name, count in contained.items()}
    assert 0.92 <= share["groups"] <= 0.98
    assert 0.92 <= share["independent rows"] <= 0.98
    assert share["rows"] < share["groups"] - 0.03
    assert share["t"] <= share["independent rows"]


@pytest.mark.parametrize(("n_misses", "n"), [(3, 449), (5, 100), (10, 1000), (40, 200)])
def test_the_interval_of_a_proportion_is_close_to_the_exact_one(n_misses, n):
    interval = metrics.mean_interval(1000.0 * (np.arange(n) < n_misses))
    exact = stats.binomtest(n_misses, n).proportion_ci(method="exact")
    assert interval.high == pytest.approx(1000 * exact.high, rel=0.1)
    assert interval.low == pytest.approx(1000 * exact.low, abs=0.5 * (interval.mean - 1000 * exact.low))


def test_the_interval_of_symmetric_values_is_that_of_the_t_distribution():
    values = np.concatenate([np.arange(11.0), np.arange(11.0)])
    expected = stats.t.interval(0.95, 21, loc=5, scale=values.std(ddof=1) / np.sqrt(22))
    assert metrics.mean_interval(values)[1:] == pytest.approx(expected)
    assert metrics.mean_interval(values, np.arange(22) * 7) == pytest.approx(metrics.mean_interval(values))
    doubled = metrics.mean_interval(np.repeat(values, 2), np.repeat(np.arange(22), 2))
    assert doubled == pytest.approx(metrics.mean_interval(values))  # copies of a row are no new rows


def test_intervals_do_not_depend_on_the_unit_or_order_and_are_mirrored():
    values = np.random.default_rng(0).exponential(size=80)
    mean, low, high = metrics.mean_interval(values)
    assert high - mean > mean - low > 0
    assert metrics.mean_interval(1e6 * values[::-1]) == pytest.approx((1e6 * mean, 1e6 * low, 1e6 * high))
    assert metrics.mean_interval(-values) == pytest.approx((-mean, -high, -low))


def test_intervals_of_constant_or_single_values():
    assert metrics.mean_interval([2.0, 2.0, 2.0]) == (2, 2, 2)
    np.testing.assert_array_equal(metrics.mean_interval([2.0]), [2, np.nan, np.nan])
    np.testing.assert_array_equal(metrics.mean_interval([1.0, 3.0], [5, 5]), [2, np.nan, np.nan])
    assert metrics.mean_interval([1.0, 3.0]) == pytest.approx((2, 2 - stats.t.ppf(0.975, 1), 2 + stats.t.ppf(0.975, 1)))
