"""Promises on recorded paths made by hand: certainties, where rows end, what is counted, refusals."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from fsgym.evaluation import risk_control as rc
from fsgym.evaluation.calibrate import (
    CalibrationRows,
    PathRecord,
    TrainedRows,
    check_targets,
    choose_limit,
    chooses_start,
    promised_risks,
)
from fsgym.evaluation.promise import LIMITS, NEVER, Promise, Risk, RiskTest, needed_limits
from fsgym.metrics import binomial_upper_bound
from fsgym.text.speech import Speech, languages, speaking

COSTS = np.array([[0.0, 10.0], [2.0, 0.0]])  # a missed class 1 costs 10
ZERO_ONE = 1 - np.eye(2)
CLASSES = ["well", "sick"]
ERROR = Risk("error", 0.1, 0.1)
RECALL = Risk("recall", 0.8, 0.2, 1, "sick")
BOTH = np.array([[0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])


def two_steps(doubt_first, answer_first, answer_end):
    """Rows that stop after one acquisition with some doubt, or go on to a second one."""
    n = len(doubt_first)
    answers = np.stack([np.zeros(n, int), answer_first, answer_end], axis=1).ravel()
    doubts = np.stack([np.full(n, 0.5), doubt_first, np.zeros(n)], axis=1).ravel()
    proba = np.empty((3 * n, 2))
    proba[np.arange(3 * n), answers] = 1 - doubts
    proba[np.arange(3 * n), 1 - answers] = doubts
    stops, order = np.tile([False, True, False], n), np.tile(np.int32([0, 1]), (n, 1))
    return PathRecord(3 * np.arange(n + 1), stops, answers, proba, np.tile([0, 1, 2], n), order)


@pytest.fixture(scope="module")
def sure_or_not():
    """400 rows: one in five has a doubt of .3 after the first acquisition; a third of them is wrong, none later."""
    y = np.arange(400) % 2
    doubtful = np.arange(400) % 5 == 0
    wrong_first = doubtful & (np.arange(400) % 3 > 0) & (np.arange(400) % 2 == 1)
    return two_steps(np.where(doubtful, 0.3, 1e-3), np.where(wrong_first, 1 - y, y), y), y


def at_limits(record, risks, costs, refers=None):
    """The step at which each row ends with each limit, and its answer, (n, n_limits) each."""
    needed = needed_limits(risks, None, record.answers, record.probabilities, costs)
    refers = len(costs) > costs.shape[1] if refers is None else refers
    return np.stack([record.ends_at(limit, needed, refers) for limit in LIMITS], axis=-1)


def test_doubts_are_expected_losses():
    answers = np.array([0, 1, 1])
    assert ERROR.doubts(answers, BOTH, ZERO_ONE) == pytest.approx([0.3, 0.4, 0.9])  # of the answer, not the likeliest
    assert RECALL.doubts(answers, BOTH, ZERO_ONE) == pytest.approx([0.3, 0.0, 0.0])
    cost = Risk("cost", 1.0, 0.1, low=0.0, high=10.0)
    assert cost.doubts(answers, BOTH, COSTS) == pytest.approx([0.3, 0.08, 0.18])
    assert cost.losses(answers, np.array([1, 0, 1]), COSTS) == pytest.approx([1.0, 0.2, 0.0])


def test_joint_doubts_are_in_proportion_to_the_limits():
    answers = np.array([0, 1, 0])
    joint = needed_limits([ERROR, RECALL], None, answers, BOTH, ZERO_ONE)
    assert joint == pytest.approx([0.3, 0.4, 0.1])
    for s in (0.05, 0.16, 0.35):
        each = (ERROR.doubts(answers, BOTH, ZERO_ONE) <= s) & (RECALL.doubts(answers, BOTH, ZERO_ONE) <= 2 * s)
        assert ((joint <= s) == each).all()


def test_what_a_stop_needs_to_count():
    answers, costs = np.array([0, 1, 2]), np.vstack([ZERO_ONE, [0.2, 0.2]])
    assert needed_limits([ERROR], None, answers, BOTH, costs) == pytest.approx([0.3, 0.4, LIMITS[NEVER]])
    assert needed_limits([ERROR], 0.6, answers, BOTH, costs) == pytest.approx([0.3, 0.4, LIMITS[NEVER]])
    assert needed_limits([ERROR], 0.7, answers, BOTH, costs) == pytest.approx([0.3, np.inf, LIMITS[NEVER]])
    assert needed_limits([], 0.7, answers, BOTH, costs).tolist() == [LIMITS[NEVER], np.inf, LIMITS[NEVER]]


def test_rows_end_at_their_first_certain_stop():
    record = PathRecord(
        np.array([0, 3, 4]),
        np.array([False, True, True, False]),
        np.zeros(4, int),
        np.array([[0.9, 0.1], [0.6, 0.4], [0.95, 0.05], [0.5, 0.5]]),
        np.array([0, 1, 2, 0]),
        np.array([[4, 2], [-1, -1]], np.int32),
    )
    assert record.ends(record.stops).tolist() == [1, 3]
    confident = needed_limits([], 0.9, record.answers, record.probabilities, ZERO_ONE)
    assert record.ends_at(LIMITS[NEVER], confident, False)[0].tolist() == [2, 3]
    ends, _ = at_limits(record, [ERROR], ZERO_ONE)
    assert ends[0, NEVER] == 2  # the last step, whatever the certainty
    assert (np.diff(ends, axis=1) <= 0).all()
    assert record.order_until(np.array([1, 3])).tolist() == [[4, -1], [-1, -1]]


def test_the_grid_begins_with_never_and_ends_with_always():
    assert (np.diff(LIMITS) > 0).all()
    assert LIMITS[NEVER] < 0
    assert LIMITS[-1] == 1.0
    assert len(LIMITS) == 80


def test_the_laxest_threshold_before_the_first_failure(sure_or_not):
    record, y = sure_or_not
    place, (test,) = choose_limit(record, CalibrationRows(y), [ERROR._replace(limit=0.05)], ZERO_ONE)
    assert LIMITS[place] < 0.3 <= LIMITS[place + 1]
    assert (test.n, test.loss) == (400, 0)
    assert test.p_value == rc.binomial_p_value(0, 400, 0.05)
    place, (test,) = choose_limit(record, CalibrationRows(y), [ERROR], ZERO_ONE)
    assert LIMITS[place] == 1.0
    assert 0 < test.loss < 40


def test_recall_counts_the_rows_of_the_class_alone(sure_or_not):
    record, y = sure_or_not
    place, (test,) = choose_limit(record, CalibrationRows(y), [RECALL], ZERO_ONE)
    sick = record.answers.reshape(-1, 3)[y == 1, 1]
    assert test.n == (y == 1).sum() == 200
    assert LIMITS[place] == 1.0
    assert test.loss == (sick == 0).sum() > 0
    more = two_steps(np.full(5000, 1e-3), np.zeros(5000, int), np.zeros(5000, int))
    both = joined(record, more)
    again = choose_limit(both, CalibrationRows(np.append(y, np.zeros(5000, int))), [RECALL], ZERO_ONE)
    assert again == (place, (test,))  # rows of other classes change nothing


def joined(one, other):
    first = np.append(one.first, one.first[-1] + other.first[1:])
    return PathRecord(first, *(np.concatenate(pair) for pair in zip(one[1:], other[1:], strict=True)))


def test_joint_promises_hold_each_at_the_whole_confidence(sure_or_not):
    record, y = sure_or_not
    rows = CalibrationRows(y)
    strict = ERROR._replace(limit=0.05)
    place, tests = choose_limit(record, rows, [strict, RECALL], ZERO_ONE)
    assert [t.risk for t in tests] == [strict, RECALL]
    assert max(t.p_value for t in tests) <= 0.1
    assert place <= choose_limit(record, rows, [strict], ZERO_ONE)[0]


def test_parts_are_tested_each_and_share_one_threshold(sure_or_not):
    record, y = sure_or_not
    doubtful = (record.probabilities.reshape(-1, 3, 2)[:, 1].max(axis=1) < 0.8).astype(int)
    names = CalibrationRows(y, None, doubtful, ["easy", "hard"], "ward")
    place, tests = choose_limit(record, names, [Risk("error", 0.1, 0.1)], ZERO_ONE)
    assert [(t.group, t.n) for t in tests] == [("easy", 320), ("hard", 80)]
    assert LIMITS[place] < 0.3  # together all thresholds pass, and the hard ward alone does not
    with pytest.raises(ValueError, match="at least 114 rows where ward is hard for the calibration, these are 80"):
        choose_limit(record, names, [Risk("error", 0.02, 0.02)], ZERO_ONE)


def test_groups_of_one_row_are_tested_exactly(sure_or_not):
    record, y = sure_or_not
    alone = choose_limit(record, CalibrationRows(y), [ERROR], ZERO_ONE)
    assert choose_limit(record, CalibrationRows(y, np.arange(400)), [ERROR], ZERO_ONE) == alone


@pytest.mark.parametrize("name", ["betting", "hoeffding-bentkus"])
def test_groups_of_rows_are_tested_by_their_means(sure_or_not, name):
    record, y = sure_or_not
    patients = np.arange(400) // 4
    place, (test,) = choose_limit(record, CalibrationRows(y, patients), [RECALL], ZERO_ONE, test=name)
    ends, _ = at_limits(record, [RECALL], ZERO_ONE)
    missed = record.answers[ends[:, place]] == 0
    means = np.array([missed[(patients == p) & (y == 1)].mean() for p in range(100)])
    assert test.n == 100
    assert test.loss == pytest.approx(means.sum())
    tested = {"betting": rc.betting_p_value, "hoeffding-bentkus": rc.hoeffding_bentkus_p_value}[name]
    assert test.p_value == pytest.approx(tested(means, 0.2))


def refused(match, *arguments, **options):
    with pytest.raises(ValueError, match=match) as raised:
        choose_limit(*arguments, **options)
    return str(raised.value)


def test_too_few_rows_are_refused_with_how_many_are_needed(sure_or_not):
    record, y = sure_or_not
    text = refused("needs at least", record, CalibrationRows(y), [RECALL._replace(target=0.99, limit=0.01)], ZERO_ONE)
    assert "a recall of sick of 0.99 at confidence 0.9 needs at least 230 rows of sick" in text
    assert "these are 200" in text
    nobody = CalibrationRows(np.zeros_like(y))
    assert "these are 0" in refused("rows of sick", record, nobody, [RECALL], ZERO_ONE)


@pytest.mark.parametrize("kind", ["error", "recall", "cost", "patients"])
def test_what_a_refusal_says_could_be_promised_can_be_promised(kind):
    """And it is the bound where everything is acquired, not the lowest over thresholds."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    answers_end = np.where(rng.random(600) < 0.2, 1 - y, y)
    record = two_steps(np.full(600, 0.01), y, answers_end)  # the early answers are all right
    costs = COSTS if kind == "cost" else ZERO_ONE
    rows = CalibrationRows(y, np.arange(600) // 3 if kind == "patients" else None)
    targets = {"error": (0.1, None, None), "recall": (None, {"sick": 0.9}, None), "cost": (None, None, 0.6)}
    given = targets.get(kind, targets["error"])
    text = refused("could promise", record, rows, promised_risks(*given, None, ["well", "sick"], costs), costs)
    best = float(re.findall(r"of ([0-9.]+); more rows", text)[0])
    again = {"recall": (None, {"sick": best}, None), "cost": (None, None, best)}.get(kind, (best, None, None))
    place, _ = choose_limit(record, rows, promised_risks(*again, None, ["well", "sick"], costs), costs)
    assert place >= 0
    if kind == "error":
        assert best - 1e-4 < binomial_upper_bound((answers_end != y).sum(), 600, 0.1) <= best


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "give a target"),
        ({"target_error": 0}, "target_error must be above 0 and below 1"),
        ({"target_error": 0.1, "confidence": 1}, "confidence must be above 0 and below 1"),
        ({"target_recall": {"dead": 0.9}}, "target_recall.*dead"),
        ({"target_recall": {"sick": 1.5}}, "target_recall of 'sick'"),
        ({"target_error_cost": 10}, "above 0 and below 10"),
        ({"min_confidence": 2}, "min_confidence"),
        ({"max_referred": 0.2}, "max_referred needs a model that may refer cases, got one without refer_cost"),
        ({"target_error": 0.1, "test": "t"}, "test must be 'betting' or"),
    ],
)
def test_targets_are_checked(options, match):
    defaults = dict.fromkeys(("target_error", "target_recall", "target_error_cost", "max_referred", "min_confidence"))
    given = defaults | {"confidence": 0.9, "test": "betting"} | options
    with pytest.raises(ValueError, match=match):
        check_targets(**given, classes=["well", "sick"], answer_costs=COSTS)
    with pytest.raises(TypeError, match="must map classes to recalls"):
        promised_risks(None, 0.9, None, None, ["well", "sick"], COSTS)


def test_a_cost_below_that_of_the_best_answers_is_refused_whatever_the_rows():
    costs = np.array([[4.0, 90.0], [14.0, 44.0]])
    y = np.repeat([0, 1, 1], 200)
    ends = np.arange(601)
    record = PathRecord(ends, np.ones(600, bool), y, np.eye(2)[y], np.zeros(600, int), np.zeros((600, 0), np.int32))
    groups = np.repeat(np.arange(300), 2)
    for rows, least in (
        (CalibrationRows(y), "30.67"),
        (CalibrationRows(y, np.where(groups < 100, 0, groups)), "43.8"),  # all of the first class are one group
        (CalibrationRows(y, None, (y > 0).astype(int), ["a", "b"], "ward"), "44"),
    ):
        risks = promised_risks(None, None, 30, None, ["well", "sick"], costs)
        with pytest.raises(ValueError, match=rf"the best answer to each of these rows costs {least}"):
            choose_limit(record, rows, risks, costs)


PROMISE = Promise(
    risks=(ERROR, RECALL),
    confidence=0.9,
    limit=0.125,
    min_confidence=0.6,
    by="",
    test="betting",
    tests=(),
    n_rows=400,
    grouped=False,
    n_acquisitions=2.5,
    n_acquisitions_without=2.0,
    spent=2.5,
    spent_without=2.0,
    referred=None,
    referred_without=None,
    n_calibrations=2,
    rows="a",
    policy="b",
)


def test_a_promise_in_words():
    text = str(PROMISE)
    assert "at most 10 % of the answers are wrong and at least 80 % of the sick are found" in text
    assert "probability of at least 0.6" in text
    assert "at least 87.5 % certain that its answer is right" in text
    assert "at least 75 % certain that it misses no sick" in text
    assert "0.50 more than without" in text
    assert "calibration 2 of this model by the same rows" in text
    assert re.search(r"up to \d+ % of all calibrations, refused ones counted in, fail to keep theirs", text)


def test_json_gives_the_promise_back_and_damage_is_refused():
    plain = json.loads(json.dumps(PROMISE.as_json()))
    assert Promise.from_json(plain, CLASSES) == PROMISE
    changes = [
        {"limit": 2.0},
        {"limit": True},
        {"confidence": 1.0},
        {"confidence": "0.9"},
        {"min_confidence": float("nan")},
        {"risks": []},
        {"risks": [plain["risks"][1] | {"label": 2}]},
        {"risks": [plain["risks"][0] | {"kind": "luck"}]},
        {"risks": [plain["risks"][0] | {"low": 1.0}]},
        {"risks": [{"kind": "error"}]},
        {"risks": [plain["risks"][1] | {"name": "well"}]},
        {"n_rows": 10**400},
        {"spent": 1e301},
        {"test": "t"},
        {"tests": [{"risk": 3, "group": "", "n": 1, "loss": 0.0, "p_value": 0.0}]},
        {"tests": [{"risk": 0, "group": "", "n": 0, "loss": 0.0, "p_value": 0.0}]},
        {"extra": 1},
        {"referred": 0.2},
        {"referred": 0.2, "referred_without": -0.1},
        {"risks": [plain["risks"][0] | {"kind": "referred"}]},
    ]
    for change in changes:
        damaged = plain | change
        if change == {"risks": []}:
            damaged["min_confidence"] = None
        with pytest.raises((ValueError, TypeError, KeyError)):
            Promise.from_json(damaged, CLASSES)


WITH_PERSON = np.vstack([ZERO_ONE, [0.2, 0.2]])
SHARE = Risk("referred", 0.5, 0.5)


def population(n, seed=0):
    """Rows with one answer each, of known certainty: where the policy stops, whether it is right, and who refers."""
    rng = np.random.default_rng(seed)
    doubt = rng.beta(0.6, 2.5, n).clip(1e-4, 0.5)
    wrong = rng.random(n) < doubt * 1.4  # it is more certain than it may be
    refers = rng.random(n) < 0.1
    y = np.arange(n) % 2
    answers = np.where(refers, 2, np.where(wrong, 1 - y, y))
    proba = np.empty((n, 2))
    believed = np.minimum(answers, 1)
    proba[np.arange(n), believed], proba[np.arange(n), 1 - believed] = 1 - doubt, doubt
    return PathRecord(np.arange(n + 1), np.ones(n, bool), answers, proba, np.zeros(n, int), np.zeros((n, 0), int)), y


def test_rows_that_end_uncertain_are_referred_and_not_counted():
    record, y = population(2000)
    assert (ERROR.doubts(record.answers, record.probabilities, WITH_PERSON)[record.answers == 2] == 0).all()
    _, answers = at_limits(record, [ERROR], WITH_PERSON)
    assert (answers[:, NEVER] == 2).all()  # nothing is answered at the strictest threshold
    assert (answers[:, -1] == record.answers).all()
    assert (np.diff((answers == 2).mean(axis=0)) <= 0).all()
    _, unreferred = at_limits(record, [ERROR], WITH_PERSON, refers=False)
    assert (unreferred[:, NEVER] == record.answers).all()
    losses = ERROR.losses(answers, y, WITH_PERSON)
    assert (np.isnan(losses) == (answers == 2)).all()
    assert (SHARE.losses(answers, y, WITH_PERSON) == (answers == 2)).all()
    wanted = [ERROR._replace(target=0.15, limit=0.15), SHARE]
    place, (error, share) = choose_limit(record, CalibrationRows(y), wanted, WITH_PERSON)
    chosen, tests = answers[:, place], ~chooses_start(CalibrationRows(y))
    answered = tests & (chosen < 2)
    assert (error.n, error.loss) == (answered.sum(), (chosen != y)[answered].sum())
    assert (share.n, share.loss) == (1600, (chosen == 2)[tests].sum())
    assert error.p_value == rc.binomial_p_value(int(error.loss), error.n, 0.15)
    assert share.p_value == rc.binomial_p_value(int(share.loss), 1600, 0.5)


def test_the_bound_of_a_refusal_is_that_where_the_tests_begin_on_the_rows_that_test():
    record, y = population(2000)
    wanted = [ERROR, SHARE._replace(target=0.3, limit=0.3)]
    text = refused("the others could promise", record, CalibrationRows(y), wanted, WITH_PERSON)
    first = chooses_start(CalibrationRows(y))
    _, answers = at_limits(record, [ERROR], WITH_PERSON)
    p_values = []
    for risk in wanted:
        losses = risk.losses(answers[first], y[first], WITH_PERSON)
        p_values.append(rc.binomial_p_value(np.nansum(losses, 0), (~np.isnan(losses)).sum(0), risk.limit))
    start = rc.start_of_sequence(np.max(p_values, axis=0))
    for risk, name in zip(wanted, ("share of wrong answers", "share referred"), strict=True):
        losses = risk.losses(answers[~first, start], y[~first], WITH_PERSON)
        losses = losses[~np.isnan(losses)]
        bound = binomial_upper_bound(losses.sum(), len(losses), 0.1)
        if bound > risk.limit:
            assert f"a {name} of {np.ceil(bound * 1e4) / 1e4:g}" in text.split("could promise")[1]
    assert "a share referred" in text
    few = refused("needs at least", *few_rows(record, y, 60), [ERROR._replace(target=0.02, limit=0.02)], WITH_PERSON)
    assert "at least 114 rows that are answered for the calibration, besides the fifth that chooses" in few


def few_rows(record, y, n):
    return record._replace(first=record.first[: n + 1], **{k: getattr(record, k)[:n] for k in record._fields[1:]}), (
        CalibrationRows(y[:n])
    )


@pytest.mark.parametrize(
    ("limit", "shared", "delta"),
    [
        (0.12, None, 0.1),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in itertools.product([0.1, 0.12, 0.14], [None, 0.5, 0.6], [0.1, 0.2])
        ),
    ],
)
@pytest.mark.one_in(3)
def test_promises_about_the_answered_are_kept_as_often_as_they_say(limit, shared, delta):
    """On a population whose risk among the answered is known at each threshold; 200 calibrations of 300 rows each."""
    record, y = population(4000)
    _, answers = at_limits(record, [ERROR], WITH_PERSON)
    answered, wrong = answers < 2, (answers < 2) & (answers != y[:, None])
    risks, referred = wrong.sum(axis=0) / np.maximum(answered.sum(axis=0), 1), 1 - answered.mean(axis=0)
    wanted = [ERROR._replace(target=limit, limit=limit)]
    wanted += [] if shared is None else [SHARE._replace(target=shared, limit=shared)]
    rng, broken, refusals = np.random.default_rng(1), 0, 0
    for _ in range(200):
        drawn = rng.integers(0, len(y), 300)
        rows = record._replace(first=np.arange(301), **{k: getattr(record, k)[drawn] for k in record._fields[1:]})
        try:
            place, _ = choose_limit(rows, CalibrationRows(y[drawn]), wanted, WITH_PERSON, 1 - delta)
        except ValueError:
            refusals += 1
            continue
        broken += risks[place] > limit or (shared is not None and referred[place] > shared)
    assert broken / 200 <= delta + 2 * np.sqrt(delta * (1 - delta) / 200)
    assert refusals < 200
    assert broken > 0 or shared


MEAN_COST = Risk("cost", 0.3, 0.3)
WITH_REFERRAL = replace(PROMISE, referred=0.25, referred_without=0.1, tests=())


def test_other_rows_are_watched_where_they_count():
    risks = (ERROR, RECALL, SHARE, MEAN_COST)
    promise = replace(WITH_REFERRAL, risks=risks)
    y = np.array([0] * 50 + [1] * 50)
    answers = np.array([0] * 30 + [1] * 6 + [2] * 14 + [1] * 25 + [0] * 5 + [2] * 20)
    error, sick, share, mean = promise.watch(answers, y, WITH_PERSON)
    counts = [(66, 11), (30, 5), (100, 34)]
    assert [(w.n, w.loss) for w in (error, sick, share)] == counts
    for watched, (n, k) in zip((error, sick, share), counts, strict=True):
        limit = watched.risk.limit
        more = sum(math.comb(n, j) * limit**j * (1 - limit) ** (n - j) for j in range(k, n + 1))
        assert watched.p_value == pytest.approx(min(4 * more, 1))
        least = min(m for m in range(n + 2) if binom.sf(m - 1, n, limit) <= 0.05 / 4)
        assert watched.power == pytest.approx(binom.sf(least - 1, n, min(2 * limit, 1)))
    assert not share.is_broken
    assert "On these 66 rows that are answered: 11 (16.7 %) are answered wrongly. The promise" in error.sentence()
    assert "On these 30 rows of sick that are answered: 5 (16.7 %) are missed. The promise" in sick.sentence()
    assert "34 (34 %) are referred. The promise of at most 50 % is not refuted (p = 1); twice" in share.sentence()
    assert mean.loss == pytest.approx(11 + 34 * WITH_PERSON[2, 0])
    assert mean.power is None
    shared, _ = promise.watch(np.full(100, 2), y, WITH_PERSON)
    assert (shared.risk, shared.loss, shared.is_broken) == (SHARE, 100, True)
    assert "100 (100 %) are referred. That is too much for the promise of at most 50 %" in shared.sentence()


def test_a_promise_by_part_is_watched_in_each():
    tests = tuple(RiskTest(ERROR, ward, 100, 5, 0.01) for ward in ("east", "west"))
    promise = replace(PROMISE, risks=(ERROR,), by="ward", tests=tests)
    rng, costs, y = np.random.default_rng(0), 1 - np.eye(2), np.zeros(300, np.int64)
    parts = np.repeat(["east", "west", "new"], 100)
    said, together = np.zeros((2, 400), bool), np.zeros(400, bool)
    for k in range(400):
        shares = np.repeat([ERROR.limit, (1, 3)[k % 2] * ERROR.limit, 0.0], 100)
        wrong = (rng.random(300) < shares).astype(np.int64)
        watched = promise.watch(wrong, y, costs, parts=parts)
        assert [(w.by, w.group, w.n) for w in watched] == [("ward", "east", 100), ("ward", "west", 100)]
        said[:, k] = [w.is_broken for w in watched]
        (whole,) = promise.watch(wrong, y, costs)
        together[k] = whole.is_broken
    assert said[:, ::2].any(axis=0).mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)  # where it is just kept in both
    assert said[1, 1::2].mean() > 0.9 > together[1::2].mean() + 0.2
    assert watched[1].power > 0.5
    assert "where ward is west: " in watched[1].sentence()


@pytest.mark.parametrize("size", [1, 3])
def test_means_over_groups_are_watched(size):
    promise = replace(PROMISE, risks=(ERROR,), grouped=True)
    rng, limit, groups = np.random.default_rng(0), ERROR.limit, np.repeat(np.arange(120), size)
    costs, y, broken = 1 - np.eye(2), np.zeros(120 * size, np.int64), np.zeros((2, 150), bool)
    for k in range(150):
        for which, share in enumerate((limit, 3 * limit)):
            wrong = np.repeat(rng.random(120) < share, size)
            (watched,) = promise.watch(wrong.astype(np.int64), y, costs, groups)
            broken[which, k] = watched.is_broken
            assert watched.n == 120
            assert (watched.power is None) == (size > 1)
    assert broken[0].mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 150)
    assert broken[1].mean() > 0.9
    assert promise.watch(wrong.astype(np.int64), y, costs) == []  # whose rows depend on each other is not known
    assert "groups" in watched.sentence()


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("grouped", [False, True])
def test_a_promise_with_referral_is_said_in_each_language(language, grouped):
    risks = (ERROR, RECALL, MEAN_COST, SHARE)
    tests = tuple(RiskTest(risk, "", 1200, 30.0, 0.01) for risk in risks)
    promise = replace(WITH_REFERRAL, risks=risks, tests=tests, grouped=grouped, limit=0.05)
    belief = 2, np.array([0.4, 0.6]), np.array([[0.0, 1], [1, 0], [0.9, 0.9]])
    with speaking(Speech(language)):
        lines = [*promise.sentences(), *replace(promise, limit=None).sentences()]
        lines += [promise.certainty(*belief, True).text, promise.certainty(1, *belief[1:], True).text]
        lines.append(replace(promise, risks=(), min_confidence=0.5).certainty(2, belief[1], WITH_PERSON, True).text)
    text = "\n".join(lines)
    if language == "en":
        of_group = " of a group" if grouped else ""
        assert f"of the answers to cases that are not referred{of_group} are wrong" in text
        assert f"of the sick that are not referred{of_group} are found" in text
        assert f"of the cases{of_group} are referred" in text
        assert f"Shown by 1,200 {'groups with rows' if grouped else 'rows'} of sick that are answered: " in text
        assert "Referred: 25 % of the rows, 10 % without this rule." in text
        assert "so the case is referred." in text
    else:
        assert not re.search(r"\b(the|is|are|and|rows|referred|answer)\b", text)
        assert "{" not in text


def test_few_training_rows_do_not_show_how_many_rows_are_equal():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (220, 5)).astype(np.float32), np.zeros(220, np.int64)
    trained = TrainedRows(X[:20], y[:20])
    trained.refuse(X[20:], y[20:])  # half of them have one of the 32 kinds of rows of the training
    with pytest.raises(ValueError, match=r"100% of these are among its training rows, where .* would be by chance"):
        trained.refuse(np.repeat(X[:20], 10, axis=0), np.zeros(200, np.int64))
