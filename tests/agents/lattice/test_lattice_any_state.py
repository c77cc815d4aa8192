"""The lattice policy in any state: answers that cannot be given, values known in advance, free and known columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from agents import LatticeClassifier, LatticePolicy, load_classifier, model_file
from agents.lattice.classifier import refit
from agents.lattice.learn import learn
from agents.lattice.training_data import prepare_data
from agents.parallel import run_serially
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate, exact, load_dataset
from fsgym.session.asked_cases import ask_cases
from support.model_files import assert_same_trajectories

LAM = 0.01


@pytest.fixture(scope="module", params=[load_breast_cancer, load_wine], ids=["breast_cancer", "wine"])
def fitted(request):
    """A classifier, one with the same random state and no back-up moves, and test rows."""
    X, y = request.param(return_X_y=True)
    rows = np.random.default_rng(100).permutation(len(y))
    train, test = rows[: len(y) // 2], rows[len(y) // 2 :]
    model, without = (
        LatticeClassifier(LAM, unknown=u, effort=0.3, random_state=0).fit(X[train], y[train]) for u in (0.1, 0)
    )
    return model, without, X[test].astype(np.float32), y[test]


def accuracy(policy, X, y):
    return (policy.trajectories(X).answers == y).mean()


def roll_out(policy, X, known):
    """Answers, what each row paid for, and whether it acquired nothing, when ``known`` cost nothing."""
    n, J = X.shape
    taken, paid, answers = known.copy(), np.zeros((n, J), bool), np.full(n, -1)
    at_once = np.zeros(n, bool)
    while (answers < 0).any():
        rows = np.flatnonzero(answers < 0)
        legal = np.ones((len(rows), policy.rules.n_actions), bool)
        legal[:, :J] = ~taken[rows] & ~np.isnan(X[rows])
        actions = policy.actions(taken[rows] & ~np.isnan(X[rows]), X[rows], legal)
        assert legal[np.arange(len(rows)), actions].all()
        ends = actions >= J
        at_once[rows[ends]] |= ~paid[rows[ends]].any(axis=1)
        answers[rows[ends]] = actions[ends] - J
        paid[rows[~ends], actions[~ends]] = taken[rows[~ends], actions[~ends]] = True
    return answers, paid, at_once


# Answers that cannot be given


def test_rows_without_unknown_answers_are_classified_as_without_back_up_moves(fitted):
    model, without, X, _ = fitted
    assert_same_trajectories(model.trajectories(X), without.trajectories(X))
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    assert len(without.policy_.continuation.backup_child) == 0 < len(model.policy_.continuation.backup_child)


def test_rows_whose_first_answer_is_unknown_acquire_something_else(fitted):
    model, without, X, y = fitted
    first = model.trajectories(X).order[:, 0]
    masked = X.copy()
    masked[np.arange(len(X)), first] = np.nan
    done = model.policy_.trajectories(masked)
    assert (done.lengths > 0).all()
    assert not done.acquired[np.arange(len(X)), first].any()
    complete = accuracy(model.policy_, X, y)
    assert accuracy(model.policy_, masked, y) > complete - 0.05
    assert accuracy(without.policy_, masked, y) < complete - 0.2


def test_a_fifth_of_the_answers_unknown_costs_little_accuracy(fitted):
    model, _, X, y = fitted
    masks = (np.random.default_rng(seed).random(X.shape) < 0.2 for seed in range(5))
    found = [accuracy(model.policy_, np.where(mask, np.nan, X), y) for mask in masks]
    assert np.mean(found) > accuracy(model.policy_, X, y) - 0.05


def test_one_known_answer_is_acquired_and_without_any_the_answer_is_the_largest_class(fitted):
    model, _, X, _ = fitted
    first = model.trajectories(X).order[:, :2].max(axis=0)
    for j in first.tolist():
        only = np.full_like(X, np.nan)
        only[:, j] = X[:, j]
        assert (model.policy_.trajectories(only).lengths == 1).all()
    done = model.policy_.trajectories(np.full_like(X, np.nan))
    assert not done.lengths.any()
    assert len(np.unique(done.answers)) == 1
    np.testing.assert_allclose(done.probabilities[0].argmax(), done.answers[0])


def test_actions_in_the_states_of_the_policy_are_its_moves_whatever_is_unknown(fitted):
    model, _, X, _ = fitted
    masked = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    n = X.shape[1]
    env = DatumWiseEnv(Dataset(masked, np.arange(len(X)) % model.rules_.n_classes), model.rules_)
    live = evaluate(lambda o, m: model.policy_.actions(o[:, :n] > 0.5, o[:, n:], np.asarray(m, bool)), env)
    assert_same_trajectories(live.trajectories, model.policy_.trajectories(masked))
    assert live.illegal == 0


@pytest.fixture(scope="module")
def binary_task():
    """Naive Bayes with six binary features: the distribution, training data and rules."""
    joint = exact.naive_bayes(6)
    X, y = exact.sample(joint, 1500, 0)
    return joint, prepare_data(Dataset(X, y), np.random.default_rng(0)), Rules(6, 2, lam=0.02)


def loss_without(policy, joint, hidden):
    """Expected loss where feature ``hidden`` is unknown, and that of the best policy for the others."""
    n = joint.ndim - 1
    reduced = joint.sum(axis=hidden)
    masked = np.full((2 ** (n - 1), n), np.nan, np.float32)
    masked[:, [i for i in range(n) if i != hidden]] = exact.all_rows(n - 1)
    done = policy.trajectories(masked)
    shares = reduced.reshape(-1, 2)
    errors = shares.sum(axis=1) - shares[np.arange(len(masked)), done.answers]
    loss = errors.sum() + shares.sum(axis=1) @ (0.02 * done.lengths)
    return loss, exact.optimum(reduced, Rules(n - 1, 2, lam=0.02))


@pytest.mark.slow  # small tasks have the optimum in test_lattice_optimum
def test_back_up_moves_come_close_to_the_optimum_without_the_feature(binary_task):
    joint, data, rules = binary_task
    policy = refit(learn(data, rules, run_serially).policies, run_serially, 0.1)
    order = policy.trajectories(exact.all_rows(6)).order
    loss, best = loss_without(policy, joint, int(order[0, 0]))
    assert best - 1e-9 <= loss <= best + 0.005
    for j in np.unique(order[order >= 0]).tolist():
        loss, best = loss_without(policy, joint, j)
        assert best - 1e-9 <= loss <= best + 0.035


def test_a_policy_learnt_without_an_acquisition_never_makes_it(binary_task):
    _, data, rules = binary_task
    policy = learn(data, rules, run_serially, forbidden=(2,)).policy
    assert len(policy.lattice.nodes) > 10
    assert not any(2 in z for z in policy.lattice.nodes)


def test_a_policy_for_rows_without_the_first_answer_is_learnt_also_where_nothing_else_can_be_acquired():
    X, y = load_wine(return_X_y=True)
    model = LatticeClassifier(LAM, random_state=0).fit(X[:, :1], y)
    assert (model.policy_.trajectories(np.full((3, 1), np.nan)).lengths == 0).all()


# Values known in advance


@pytest.mark.parametrize("relevant", [True, False])
def test_known_values_do_not_raise_the_loss_of_what_is_paid(fitted, relevant):
    model, _, X, y = fitted
    done, rng = model.policy_.trajectories(X), np.random.default_rng(0)
    used = done.acquired.mean(axis=0)
    candidates = np.argsort(-used)[:4] if relevant else np.flatnonzero(used == 0)
    loss = (done.answers != y) + LAM * done.lengths
    for n_known in (1, 3):
        known = np.zeros(X.shape, bool)
        for row in range(len(X)):
            known[row, rng.choice(candidates, n_known, replace=False)] = True
        answers, paid, at_once = roll_out(model.policy_, X, known)
        difference = (answers != y) + LAM * paid.sum(axis=1) - loss
        assert difference.mean() <= 0.01 + difference.std() / np.sqrt(len(X))
        if not relevant:
            assert at_once.mean() <= (done.lengths == 0).mean() + 0.1


def test_a_known_value_does_not_end_a_case_that_lacks_what_comes_after_it():
    """The subset of the known value had one way on, which was lacking, and a belief of one half was enough."""
    data = load_dataset("breast_cancer")
    model = LatticeClassifier(lam=0.02, random_state=0).fit(data.rows(data.split_index(0.7, 0)[0]))
    policy, X = model.policy_, model.arrangement_.rows(data.X[:40])
    n, J, worst = len(X), policy.rules.n_acquisitions, 0.0
    for lacking in range(J):
        legal = np.ones((n, policy.rules.n_actions), bool)
        legal[:, lacking] = False
        without = policy.advise(np.zeros((n, J), bool), np.zeros_like(X), legal)
        for j in set(range(J)) - {lacking}:
            known, rest = np.zeros((n, J), bool), legal.copy()
            known[:, j], rest[:, j] = True, False
            advice = policy.advise(known, np.where(known, X, np.float32(0)), rest)
            stops = (advice.actions >= J) & (without.actions < J)
            worst = max(worst, advice.stop_cost[stops].max(initial=0.0))
    assert worst < 0.2


def test_a_policy_goes_on_from_what_it_asked_itself_when_something_else_is_known(fitted):
    """One irrelevant value known in advance: nearly all rows acquire what they acquire without it."""
    model, _, X, _ = fitted
    done = model.policy_.trajectories(X)
    unused = int(np.argmin(done.acquired.sum(axis=0)))
    known = np.zeros(X.shape, bool)
    known[:, unused] = True
    _, paid, _ = roll_out(model.policy_, X, known)
    assert abs(paid.sum(axis=1).mean() - done.lengths.mean()) < 1


def test_a_group_known_in_part_can_be_acquired_and_its_values_have_no_effect():
    X, y = load_wine(return_X_y=True)
    groups = [[0, 3, 4], [1], [2]]
    X = X[:, [0, 1, 2, 9, 12]]
    model = LatticeClassifier(LAM, groups=groups, random_state=0).fit(X[::2], y[::2])
    X = X.astype(np.float32)
    acquired, legal = np.zeros(X.shape, bool), np.ones((len(X), 6), bool)
    empty = model.policy_.actions(acquired, X, legal)
    acquired[:, 3] = True
    np.testing.assert_array_equal(model.policy_.actions(acquired, X, legal), empty)
    assert (empty == 0).all()


@pytest.mark.one_in(2)
def test_a_policy_that_goes_on_after_its_answer_acquires_all_that_is_legal(fitted):
    model, _, X, y = fitted
    masked = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
    done, beyond = model.policy_.trajectories(masked), model.trajectories(masked, continue_after_stop=True)
    np.testing.assert_array_equal(beyond.lengths, (~np.isnan(masked)).sum(axis=1))
    for row, length in enumerate(done.lengths):
        np.testing.assert_array_equal(beyond.order[row, :length], done.order[row, :length])
    assert (beyond.answers == y).mean() > (done.answers == y).mean() - 0.05
    np.testing.assert_array_equal(beyond.probabilities.argmax(axis=1), beyond.answers)


# Known and free columns


@pytest.fixture(scope="module")
def free_task():
    """Two informative features and noise; the first is free."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 6))
    X[:, :2] += y[:, None] * np.array([2.0, 2.5])
    return X, y, [0.0, 1, 1, 1, 1, 1]


def test_free_acquisitions_come_first_if_that_pays(free_task):
    X, y, costs = free_task
    first, not_first = (
        LatticeClassifier(0.05, costs=costs, free_first=f, random_state=0).fit(X[:200], y[:200]) for f in (True, False)
    )
    assert (first.trajectories(X).order[:, 0] == 0).all()
    figures = [evaluate(m, Dataset(X[200:], y[200:]), m.rules_).loss for m in (first, not_first)]
    assert figures[0] <= figures[1] + 0.01
    assert not len(not_first.policy_.continuation.base)
    rows = X[200:].copy()
    rows[:, 0] = np.nan  # then the other policy acquires another feature
    assert (first.trajectories(rows).order[:, 0] == 1).all()


def test_a_case_that_turns_out_to_lack_a_part_of_the_base_is_asked_as_in_a_session(free_task):
    X, y, _ = free_task
    model = LatticeClassifier(0.01, known=[0, 1], effort=0.3, random_state=0).fit(X[:200], y[:200])
    assert model.policy_.continuation.base.tolist() == [0, 1]
    rows = X[200:240].astype(np.float32)
    rows[:30, 1] = np.nan
    asked = ask_cases(model, rows)
    for row, order, answer in zip(rows, asked.asked, asked.answers, strict=True):
        session, said = model.session(), []
        while question := session.next():
            said.append(int(question.name[1:]))
            value = row[said[-1]]
            session.unknown(question.name) if np.isnan(value) else session.answer(question.name, value)
        assert (said, session.stop()) == (order[order >= 0].tolist(), answer)


def test_known_columns_come_first_and_do_not_count_for_the_budget(free_task, tmp_path):
    X, y, _ = free_task
    model = LatticeClassifier(0.01, known=[0], budget=1, random_state=0).fit(X[:200], y[:200])
    assert model.rules_.costs.tolist() == [0, 1, 1, 1, 1, 1]
    assert model.rules_.budget == 1
    assert model.rules_.always_known == (0,)
    done = model.trajectories(X[200:])
    assert (done.order[:, 0] == 0).all()
    assert done.lengths.max() == 2
    state = np.zeros((1, 6), bool), X[200:201].astype(np.float32), np.ones((1, 8), bool)
    assert model.policy_.actions(*state) == 0
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert_same_trajectories(again.trajectories(X), model.trajectories(X))
    masked = X.copy()
    masked[:, 0] = np.nan
    assert_same_trajectories(again.trajectories(masked), model.trajectories(masked))


@pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")
def test_a_known_group_that_takes_too_long_leaves_room_for_others():
    y = np.arange(300) % 2
    X = np.random.default_rng(0).normal(size=(300, 62))
    X[:, :61] += y[:, None]
    groups = [list(range(60)), [60], [61]]
    model = LatticeClassifier(0.01, groups=groups, known=list(range(61)), effort=0.015, random_state=0).fit(X, y)
    base = model.policy_.continuation.base
    assert [len(model.policy_.rules.groups[j]) for j in base] == [1]


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (["x9"], "unknown column in known 'x9'"),
        ([6], "positions of columns from 0 to 5, got 6"),
        ([-1], "got -1"),
        ("x0", "list of names or positions"),
        (3, "list of names or positions"),
        ([1], "all columns of 'group 1' or none, got it without 'x2'"),
    ],
)
def test_invalid_known_columns_are_refused(free_task, known, words):
    X, y, _ = free_task
    with pytest.raises((ValueError, TypeError), match=words):
        LatticeClassifier(known=known, groups=[[0], [1, 2], [3, 4, 5]]).fit(X, y)


@pytest.mark.parametrize(("unknown", "words"), [(-0.1, "unknown"), (1, "below 1, got 1"), ("much", "unknown")])
def test_invalid_shares_of_unknown_answers_are_refused(free_task, unknown, words):
    X, y, _ = free_task
    with pytest.raises((ValueError, TypeError), match=words):
        LatticeClassifier(unknown=unknown).fit(X, y)


# Model files


def test_damaged_back_up_moves_and_starts_are_refused(fitted, tmp_path):
    model, _, X, _ = fitted
    path = tmp_path / "model"
    model.save(path)
    again = load_classifier(path)
    masked = np.where(np.random.default_rng(3).random(X.shape) < 0.3, np.nan, X)
    assert_same_trajectories(again.trajectories(masked), model.trajectories(masked))
    arrays, header = model_file.read(path, "lattice")
    rng = np.random.default_rng(0)
    for name in [k for k in arrays if k.startswith("continuation.")]:
        array, damaged = arrays[name], []
        damaged += [array[:-1], np.append(array, array[-1:])] if array.size else [np.zeros(1, array.dtype)]
        damaged += [array[None], array.astype(np.float32)]
        for value in (-1, 10**9, 2**62) if array.dtype.kind == "i" else (np.nan, np.inf, 1e13):
            changed = array.copy()
            if changed.size:
                changed[rng.integers(changed.size)] = value
                damaged.append(changed)
        for bad in damaged:
            model_file.write(path, "lattice", arrays | {name: bad}, header)
            with pytest.raises(ValueError, match="damaged"):
                model_file.load(path, LatticePolicy)
    order = arrays["continuation.order"].copy()
    order[0] = order[1]
    model_file.write(path, "lattice", arrays | {"continuation.order": order}, header)
    with pytest.raises(ValueError, match="damaged"):
        model_file.load(path, LatticePolicy)


@pytest.mark.usefixtures("two_threads")
def test_back_up_moves_do_not_depend_on_the_number_of_threads(free_task, tmp_path):
    X, y, costs = free_task
    for n_jobs in (1, 2):
        model = LatticeClassifier(0.02, effort=0.1, costs=costs, n_jobs=n_jobs, random_state=1).fit(X[:150], y[:150])
        model.save(tmp_path / str(n_jobs))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
