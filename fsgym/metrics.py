"""The figures of a classification: one function each, with labels that are the same in tables, HTML and pictures.

Classes are codes 0, 1, ..., n_classes - 1. A figure that is not defined, such as the recall of a class without rows, is
NaN, without a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FIGURE_LABELS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "n_features": "mean features used",
    "n_acquisitions": "mean acquisitions",
    "spent": "mean price paid",
    "error_cost": "mean error cost",
    "loss": "loss",
}
# Of the figures that a short table leaves out.
OTHER_FIGURE_LABELS = {
    "sparsity": "sparsity (mean share of features not used)",
    "acquisition_cost": "lambda times mean price paid",
    "admissible": "share of rows that respect the rules",
    "illegal": "share of rows forfeited by an illegal action",
    "referred": "share of rows referred",
    "auc": "AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "absolute_error": "mean absolute error",
    "squared_error": "mean squared error",
    "loss_low": "loss, lower limit of 95 %",
    "loss_high": "loss, upper limit of 95 %",
}
ALL_LABELS = FIGURE_LABELS | OTHER_FIGURE_LABELS
# Shares of wrong answers, which pictures show: 1 minus the figure. Results do not hold them.
ERROR_RATES = {"error_rate": "accuracy", "balanced_error_rate": "balanced_accuracy"}
ERROR_RATE_LABELS = {
    "error_rate": "share of wrong answers",
    "balanced_error_rate": "share of wrong answers, mean of the classes",
}
DIAGNOSTIC_LABELS = {"sensitivity": "sensitivity", "specificity": "specificity", "ppv": "PPV", "npv": "NPV"}
# Defined only where there are class probabilities.
PROBABILITY_FIGURES = ("auc", "log_loss", "brier", "calibration_error")
NUMBER_FIGURES = ("absolute_error", "squared_error")  # defined only for a numeric target
IMBALANCE = 3.0  # rows of the largest class over those of the smallest, from which accuracy alone misleads
CALIBRATION_BINS = 10  # as in Naeini, Cooper and Hauskrecht (2015)
CALIBRATION_DRAWS = 200  # of labels, for the calibration error that chance makes; measured: its mean is exact to .0014
LEVEL = 0.95  # of intervals


class MeanInterval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def times(self, factor: float) -> MeanInterval:
        """The mean and interval of all values times a positive factor."""
        return MeanInterval(self.mean * factor, self.low * factor, self.high * factor)

    def __str__(self) -> str:
        limits = f" (95 % interval {short_number(self.low)} to {short_number(self.high)})"
        return short_number(self.mean) + ("" if np.isnan(self.low) else limits)


def short_number(value: float) -> str:
    """A number with four digits, and whole numbers from 1,000.

    >>> short_number(32.14159), short_number(20865.3)
    ('32.14', '20,865')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def headline_figures(error_costs: NDArray[np.float64], y: NDArray[np.int64]) -> tuple[str, ...]:
    """The figures to decide by, names in ``Evaluation.FIGURES``, the most important one first.

    Parameters
    ----------
    error_costs : float64 (n_classes, n_classes), ``error_costs[answer, true class]``
    y : int64 (n_samples,), the true classes

    Returns
    -------
    tuple of str
        ``("loss",)``, the cost per case, if the error costs are not 1 for each wrong answer. Otherwise ``("accuracy",
        "balanced_accuracy", "auc")`` if a class has more than three times the rows of another one, and
        ``("accuracy",)`` if not.

    Examples
    --------
    >>> import numpy as np
    >>> headline_figures(1 - np.eye(2), np.array([0, 0, 0, 0, 1]))
    ('accuracy', 'balanced_accuracy', 'auc')
    """
    n_classes = len(error_costs)
    if (error_costs != 1.0 - np.eye(n_classes)).any():
        return ("loss",)
    counts = np.bincount(y, minlength=n_classes)
    if counts.max(initial=0) > IMBALANCE * counts.min(initial=len(y)):
        return ("accuracy", "balanced_accuracy", "auc")
    return ("accuracy",)


def headline_in_words(figures: Mapping[str, float], cost: MeanInterval) -> str:
    """The figures to decide by, as ``accuracy 0.953, AUC 0.970``; those that are NaN are left out.

    Parameters
    ----------
    figures : mapping name -> value, for the names of ``headline_figures``
    cost : MeanInterval, of the cost per case

    Examples
    --------
    >>> headline_in_words({"loss": 32.1}, MeanInterval(32.1, 27.0, 38.94))
    'cost per case 32.1 (95 % interval 27 to 38.94)'
    """
    words = [
        f"cost per case {cost}" if name == "loss" else f"{ALL_LABELS[name]} {figure_text(name, value)}"
        for name, value in figures.items()
        if not np.isnan(value)
    ]
    return ", ".join(words)


def figure_text(name: str, value: float) -> str:
    """A figure as text: errors of numbers have their unit, and no fixed number of decimals."""
    return f"{value:.4g}" if name in NUMBER_FIGURES else f"{value:.3f}"


def mean_power(errors: NDArray[np.float64], power: int) -> float:
    """The mean of the power of the absolute errors that are not NaN; NaN where all are."""
    known = np.abs(errors[~np.isnan(errors)])
    return float((known**power).mean()) if len(known) else np.nan


def positive_class(error_costs: NDArray[np.float64], y: NDArray[np.int64]) -> int | None:
    """The code of the class that sensitivity and PPV are about; None for more than two classes.

    It is the class whose misses cost more than a correct answer by the larger amount. If both cost the same, it is the
    class with fewer rows, and the second one where both have the same number.
    """
    if len(error_costs) != 2:
        return None
    first, second = error_costs[1, 0] - error_costs[0, 0], error_costs[0, 1] - error_costs[1, 1]
    if first == second:
        first, second = np.bincount(y, minlength=2)[::-1]
    return 0 if first > second else 1


def confusion_counts(y: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Rows by true class (first axis) and answer (second axis), int64 (n_classes, n_classes).

    The confusion matrix of scikit-learn.
    """
    return np.bincount(y * n_classes + answers, minlength=n_classes**2).reshape(n_classes, n_classes)


def class_recalls(y: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Share of correct answers among the rows of each class, float64 (n_classes,); NaN for a class without rows."""
    confusion = confusion_counts(y, answers, n_classes)
    return _shares(np.diag(confusion), confusion.sum(axis=1))


def class_precisions(y: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
    """Share of correct answers among the rows with each answer, float64 (n_classes,); NaN for one never given."""
    confusion = confusion_counts(y, answers, n_classes)
    return _shares(np.diag(confusion), confusion.sum(axis=0))


def diagnostic_figures(y: NDArray[np.int64], answers: NDArray[np.int64], positive: int | None) -> dict[str, float]:
    """Sensitivity, specificity, PPV and NPV by name, for two classes; empty if ``positive`` is None.

    Sensitivity and specificity are the recalls of the positive and of the other class, PPV and NPV (positive and
    negative predictive value) their precisions.
    """
    if positive is None:
        return {}
    recalls, precisions = class_recalls(y, answers, 2).tolist(), class_precisions(y, answers, 2).tolist()
    other = 1 - positive
    return {
        "sensitivity": recalls[positive],
        "specificity": recalls[other],
        "ppv": precisions[positive],
        "npv": precisions[other],
    }


def _shares(parts: NDArray[Any], wholes: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(parts, wholes, out=np.full(len(wholes), np.nan), where=wholes > 0)


def mean_recall(y: NDArray[np.int64], answers: NDArray[np.int64], n_classes: int) -> float:
    """The balanced accuracy: mean recall of the classes that have rows; NaN without rows."""
    recalls = class_recalls(y, answers, n_classes)
    return float(recalls[~np.isnan(recalls)].mean()) if len(y) else np.nan


def share_correct(predicted: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """The weighted share of rows whose predicted label is the true one, as ``sklearn.metrics.accuracy_score``.

    That function refuses labels of several types, such as those of numbers with ``refer_label`` for some rows.

    >>> share_correct(np.array([0, 1, "a person"], dtype=object), [0, 0, 1])
    0.3333333333333333
    """
    correct = [a == b for a, b in zip(np.asarray(predicted).tolist(), np.asarray(y).tolist(), strict=True)]
    return float(np.average(correct, weights=None if sample_weight is None else np.asarray(sample_weight)))


def aligned_probabilities(
    probabilities: NDArray[np.float64], labels: ArrayLike, classes: NDArray
) -> NDArray[np.float64]:
    """Probabilities of some classes with a column for each of all classes, float64 (n_samples, n_classes).

    Parameters
    ----------
    probabilities : float64 (n_samples, n_labels)
    labels : array-like of shape (n_labels,), the class of each column; each is in ``classes``
    classes : array (n_classes,), sorted; those without a label get the probability 0
    """
    aligned = np.zeros((len(probabilities), len(classes)))
    aligned[:, np.searchsorted(classes, labels)] = probabilities
    return aligned


def area_under_roc(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Area under the ROC curve; for more than two classes the mean over the classes of each against the rest.

    As ``sklearn.metrics.roc_auc_score`` with ``multi_class="ovr"`` and ``average="macro"``. For two classes it does not
    depend on which of them is positive. NaN where a class has no rows.

    Parameters
    ----------
    y : int64 (n_samples,)
    probabilities : float64 (n_samples, n_classes)
    """
    from sklearn.metrics import roc_auc_score

    n_classes = probabilities.shape[1]
    if len(np.unique(y)) < n_classes:
        return np.nan
    positives = [1] if n_classes == 2 else range(n_classes)
    return float(np.mean([roc_auc_score(y == k, probabilities[:, k]) for k in positives]))


def mean_log_loss(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Mean of minus the natural logarithm of the probability of the true class, as ``sklearn.metrics.log_loss``.

    Probabilities below the smallest distance between floats, 2e-16, count as that; above 1, as rounding can make them,
    they count as 1.
    """
    from sklearn.metrics import log_loss

    return float(log_loss(y, np.minimum(probabilities, 1.0), labels=np.arange(probabilities.shape[1])))


def brier_score(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Mean squared error of the probabilities, as ``sklearn.metrics.brier_score_loss`` (Brier, 1950).

    For two classes that of the probability of one class, from 0 to 1. For more classes the sum over the classes, from 0
    to 2.
    """
    n_classes = probabilities.shape[1]
    total = ((probabilities - np.eye(n_classes)[y]) ** 2).sum(axis=1).mean()
    return float(total / 2 if n_classes == 2 else total)


def expected_calibration_error(y: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Mean difference between the probability of a class and its share among rows with such a probability.

    For each class the rows are put into ten bins by its probability: from 0 to 0.1, above 0.1 to 0.2, and so on. The
    absolute differences between mean probability and share of the class are averaged over the bins, each weighted by
    its number of rows, then over the classes: the classwise expected calibration error of Kull et al. (2019), with the
    bins of ``sklearn.calibration.calibration_curve``. Every class counts, not only the likeliest one, because answers
    by expected cost depend on all probabilities. With few rows it is above 0 even for perfect probabilities: about 0.05
    for 200 rows.

    References
    ----------
    Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach (2019), Beyond temperature scaling: obtaining
    well-calibrated multi-class probabilities with Dirichlet calibration. Naeini, Cooper and Hauskrecht (2015),
    Obtaining well calibrated probabilities using Bayesian binning.
    """
    gaps = []
    for k, share in enumerate(probabilities.T):
        difference = np.bincount(_bins_of(share), weights=share - (y == k), minlength=CALIBRATION_BINS)
        gaps.append(np.abs(difference).sum() / len(y))
    return float(np.mean(gaps))


def _bins_of(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bin of each share, int64 (n_samples,): 0 from 0 to 0.1, 1 above 0.1 to 0.2, and so on."""
    return np.searchsorted(np.linspace(0.0, 1.0, CALIBRATION_BINS + 1)[1:-1], shares)


def excess_calibration_error(
    y: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    n_draws: int = CALIBRATION_DRAWS,
    random_state: int | np.random.Generator | None = 0,
) -> float:
    """The expected calibration error beyond what chance alone makes of calibrated probabilities.

    It is ``expected_calibration_error`` minus its mean over label vectors that are drawn from the probabilities
    themselves, for which these are calibrated. With calibrated probabilities it is 0 on average, and can be negative;
    its standard deviation is then about 0.01 for 300 rows of two classes.

    Parameters
    ----------
    y : int64 (n_samples,)
    probabilities : float64 (n_samples, n_classes)
    n_draws : int, default 200
        Label vectors; with 200 of them the mean is exact to about 0.001.
    random_state : int, numpy Generator or None, default 0

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> share = rng.random(1000)
    >>> y = (rng.random(1000) < share).astype(int)  # drawn from the probabilities
    >>> sharper = share**3 / (share**3 + (1 - share)**3)
    >>> [round(excess_calibration_error(y, np.column_stack([1 - p, p])), 2) for p in (share, sharper)]
    [-0.0, 0.12]
    """
    rng, below = np.random.default_rng(random_state), probabilities.cumsum(axis=1)
    by_chance = []
    for _ in range(n_draws):
        drawn = (rng.random((len(y), 1)) * below[:, -1:] > below).sum(axis=1)
        by_chance.append(expected_calibration_error(drawn, probabilities))
    return expected_calibration_error(y, probabilities) - float(np.mean(by_chance))


class CertaintyBin(NamedTuple):
    """Rows whose answers have about the same probability."""

    certainty: float  # mean probability of the answers
    correct: float  # share of right answers
    rows: int


def certainty_bins(
    y: NDArray[np.int64], answers: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> list[CertaintyBin]:
    """What a reliability plot shows: of calibrated probabilities, ``correct`` is ``certainty`` up to chance.

    Rows are put into ten bins by the probability of their answer, which need not be the likeliest class where errors
    have costs; bins without rows are left out.

    Parameters
    ----------
    y, answers : int64 (n_samples,)
    probabilities : float64 (n_samples, n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> probabilities = np.array([[0.9, 0.1], [0.15, 0.85], [0.4, 0.6]])
    >>> [tuple(b) for b in certainty_bins(np.array([0, 0, 1]), np.array([0, 1, 1]), probabilities)]
    [(0.6, 1.0, 1), (0.875, 0.5, 2)]
    """
    certainty = np.minimum(probabilities[np.arange(len(y)), answers], 1.0)
    place = _bins_of(certainty)
    rows = np.bincount(place, minlength=CALIBRATION_BINS)
    sums = [np.bincount(place, weights, CALIBRATION_BINS) for weights in (certainty, y == answers)]
    means = (_shares(total, rows) for total in sums)
    return [CertaintyBin(*line) for line in zip(*(m.tolist() for m in means), rows.tolist(), strict=True) if line[2]]


def venn_abers_intervals(scores: ArrayLike, labels: ArrayLike, new_scores: ArrayLike) -> NDArray[np.float64]:
    """Intervals of the probability of class 1 of two classes, by inductive Venn-Abers prediction.

    For each new score s and each label b, ``p_b`` is the value at s of the isotonic regression of the labels on the
    scores, with the row (s, b) among them; the interval is from ``p_0`` to ``p_1``. It is wide where few rows have
    about such a score, and it shows this: it decides nothing.

    What is guaranteed is small. Where the rows are exchangeable with the new case, each row at the stop of the same
    policy, ``p_b`` of its true label b is calibrated on average over all cases. This does not hold for one case, for a
    group of cases, or for a number in between such as ``p_1 / (1 - p_0 + p_1)``; the interval is no confidence
    interval. Rows by which the policy was trained, or a threshold was chosen, must not be among these.

    Parameters
    ----------
    scores : float64 (n_samples,)
        Such as ``model.predict_proba(X)[:, 1]`` of rows that the model was not trained on.
    labels : (n_samples,), 0 or 1 or bool
    new_scores : float64 (n_new,)

    Returns
    -------
    float64 (n_new, 2), ``p_0`` and ``p_1``

    Raises
    ------
    ValueError
        If there are no scores, scores are not finite, or labels are others than 0 and 1.

    References
    ----------
    Vovk and Petej (2014), Venn-Abers predictors, section 2.

    Examples
    --------
    >>> venn_abers_intervals([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [0.5, 0.9]).round(3).tolist()
    [[0.0, 1.0], [0.667, 1.0]]
    """
    from sklearn.isotonic import IsotonicRegression

    s, y, new = (np.asarray(v, dtype=np.float64) for v in (scores, labels, new_scores))
    if s.ndim != 1 or not len(s) or s.shape != y.shape or new.ndim != 1:
        raise ValueError(
            "scores and labels must have the same shape (n_samples,), with at least one row, and new_scores (n_new,), "
            f"got {s.shape}, {y.shape} and {new.shape}"
        )
    if not (np.isfinite(s).all() and np.isfinite(new).all()):
        raise ValueError("scores must be finite; leave rows without a probability out")
    if not np.isin(y, (0, 1)).all():
        raise ValueError("labels must be 0 or 1; pass y == label, with the probability of that label as the score")
    # The value depends only on the place of the new score among the others: one regression for each place.
    known = np.unique(s)
    places, first, place = np.unique(
        np.searchsorted(known, new) + np.searchsorted(known, new, side="right"), return_index=True, return_inverse=True
    )
    found = np.empty((len(places), 2))
    for k, x in enumerate(new[first]):
        for b in (0.0, 1.0):
            regression = IsotonicRegression().fit(np.append(s, x), np.append(y, b))
            found[k, int(b)] = regression.predict([x])[0]
    return found[place]


def probability_figures(y: NDArray[np.int64], probabilities: NDArray[np.float64] | None) -> dict[str, float]:
    """The figures ``PROBABILITY_FIGURES`` by name; NaN without probabilities."""
    functions = (area_under_roc, mean_log_loss, brier_score, expected_calibration_error)
    return {
        name: np.nan if probabilities is None else function(y, probabilities)
        for name, function in zip(PROBABILITY_FIGURES, functions, strict=True)
    }


def binomial_upper_bound(errors: ArrayLike, n: ArrayLike, delta: float) -> NDArray[np.float64]:
    """The upper limit of a share at confidence ``1 - delta``; 1 where there are no rows.

    It is at most ``limit`` exactly where ``errors`` or fewer among ``n`` rows have at ``limit`` a probability of at
    most ``delta`` (C. Clopper, E. Pearson. The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika, 1934).

    Parameters
    ----------
    errors, n : int arrays of one shape

    Examples
    --------
    >>> binomial_upper_bound(2, 100, 0.1).round(10)
    np.float64(0.0523452902)
    """
    from scipy.special import betaincinv

    errors, n = np.asarray(errors), np.asarray(n)
    unbounded = errors >= n
    bound = betaincinv(errors + 1, np.where(unbounded, 1, n - errors), 1 - delta)
    return np.where(unbounded, 1.0, bound)[()]


def mean_interval(values: ArrayLike, row_groups: ArrayLike | None = None) -> MeanInterval:
    """The mean of the values, and its 95 % interval.

    Costs are skewed: an interval of the t distribution is too low where few rows have a large cost. This is the ABC
    interval of DiCiccio and Efron (1996, section 4), a bootstrap interval (BCa) without random draws, with quantiles of
    the t distribution. If a few rows of many have a cost and all others none, it is close to the exact interval of a
    binomial proportion.

    In our simulations (prices from 10 to 100, misses of 1000, 50 to 1000 rows) it contained the mean in 94 to 96 % of
    the samples if five or more misses were expected in a sample, the interval of the t distribution in 88 to 95 %; with
    row groups in 90 to 96 % if five or more groups with misses were expected. No interval can allow for errors that did
    not occur: with two expected misses or fewer it contained the mean in 50 to 87 % only.

    Parameters
    ----------
    values : float64 (n_samples,)
    row_groups : int64 (n_samples,), optional
        Rows with the same code, such as the visits of one patient, may depend on each other; then the groups are the
        sample, and the mean is a ratio of sums over groups (Cochran, 1977, section 2.11).

    Returns
    -------
    MeanInterval
        The limits are NaN for a single row or group.

    References
    ----------
    DiCiccio and Efron (1996), Bootstrap confidence intervals, Statistical Science 11.

    Examples
    --------
    >>> import numpy as np
    >>> mean, low, high = mean_interval(np.repeat([20.0, 1000.0], [95, 5]))
    >>> round(mean), round(low), round(high)
    (69, 37, 129)
    """
    from scipy.special import stdtrit

    values = np.asarray(values, dtype=np.float64)
    mean = float(values.mean())
    deviations = values - mean
    if row_groups is not None:
        deviations = np.bincount(np.unique(np.asarray(row_groups), return_inverse=True)[1], weights=deviations)
    n = len(deviations)
    if n < 2:
        return MeanInterval(mean, np.nan, np.nan)
    squares = float((deviations**2).sum())
    if squares == 0.0:
        return MeanInterval(mean, mean, mean)
    error = np.sqrt(n / (n - 1) * squares) / len(values)
    acceleration = (deviations**3).sum() / (6.0 * squares**1.5)
    # For a mean, the corrections of DiCiccio and Efron for bias and curvature are z_0 = acceleration and c_q = 0.
    shifted = acceleration + stdtrit(n - 1, (1 + LEVEL) / 2) * np.array([-1.0, 1.0])
    low, high = (mean + error * shifted / (1.0 - acceleration * shifted) ** 2).tolist()
    return MeanInterval(mean, low, high)
