"""The networks of the any-state agent: training, legal acquisitions, probabilities, files."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from agents.anystate.network import constants as const
from agents.anystate.network.classifier import NetworkModel, learn_ranking
from agents.anystate.network.embedding import network_inputs
from agents.anystate.network.lookahead import RankingLearner, acquisitions_to_try, follow_rollouts, outlook
from agents.anystate.network.mlp import softmax_inplace
from agents.anystate.network.predictors import fit_predictors
from agents.anystate.network.task import CandidateTask, scaled_regrets
from agents.anystate.state_model import StateBatch
from agents.lattice.training_data import stratified_folds
from fsgym import Dataset
from fsgym.datasets import Cube, CubeNM
from fsgym.rules import Rules

SMALL = {
    "HIDDEN_UNITS": (32, 32),
    "N_CHAIN_STATES": 32,
    "N_RECENT_STEPS": 20,
    "MAX_TEMPERATURE_STATES": 1000,
    "N_EPISODES": 100,
    "N_CONTRAST_ROUNDS": 1,
    "TRIED_STATES_PER_STEP": 10,
}
N_STEPS = 300


@pytest.fixture
def small(monkeypatch):
    for name, value in SMALL.items():
        monkeypatch.setattr(const, name, value)


@pytest.fixture(scope="module")
def learnt():
    """Predictors and models on a task with missing values, groups and error costs, trained once."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SMALL.items():
            patch.setattr(const, name, value)
        return learn_small(seed=5)


def learn_small(seed):
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=600)
    X = (np.eye(3)[y] @ [[0, 0, 2, 0, 0], [2, 0, 0, 0, 0], [0, 2, 0, 0, 0]] + rng.standard_normal((600, 5))) * 10
    X[rng.random(X.shape) < 0.1] = np.nan
    dataset = Dataset(X, y)
    rules = Rules(5, 3, lam=0.02, groups=[[0, 3], [1], [2], [4]], costs=[1, 2, 1, 1], error_costs=SKEWED)
    fitted = fit_predictors(dataset, rules.groups, stratified_folds(y, 2, rng), None, seed, N_STEPS)
    return fitted, *learn_ranking(fitted, rules, seed), dataset


SKEWED = [[0, 1, 4], [1, 0, 1], [2, 1, 0]]


def states_of(rules, taken, X):
    """StateBatch with the acquisitions ``taken`` of the rows ``X``."""
    available = rules.acquisitions_of(~np.isnan(X))
    legal, prices = rules.legal_and_prices(taken & available)
    acquired = taken[:, rules.acquisition_of_features] & ~np.isnan(X)
    return StateBatch(acquired, X, legal[:, : rules.n_acquisitions] & available, prices * rules.lam)


def test_predictor_is_near_the_exact_posterior(small):
    data = Cube().sample(3000, 101)
    fold = stratified_folds(data.y, 2, np.random.default_rng(0))
    groups = tuple((i,) for i in range(20))
    fitted = fit_predictors(data, groups, fold, None, 0, N_STEPS)
    rows, taken = np.arange(1500), np.random.default_rng(1).random((1500, 20)) < 0.5
    predicted = fitted.probabilities(rows, fitted.first_sums(rows, fitted.rows.inputs(rows, taken)))
    exact = Cube().posterior(data.X[rows], taken)
    shares = np.bincount(data.y) / len(data.y)
    loss, best, prior = (
        log_loss(data.y[rows], p, labels=range(8)) for p in (predicted, exact, np.tile(shares, (1500, 1)))
    )
    assert loss < best + 0.25 * (prior - best)


@pytest.mark.slow
def test_values_that_are_not_acquired_have_no_effect(learnt):
    _, _, final, dataset = learnt
    X = np.ascontiguousarray(dataset.X[:50])
    taken = np.random.default_rng(0).random((50, 4)) < 0.5
    states = states_of(final.rules, taken, X)
    for hidden in (np.nan, 1e30):
        others = final.estimate(states._replace(values=np.where(states.acquired, X, np.float32(hidden))))
        for mine, other in zip(final.estimate(states), others):
            np.testing.assert_array_equal(mine, other)


def test_estimates_are_finite_and_prefer_legal_acquisitions_only(learnt):
    _, folds, final, dataset = learnt
    X = np.ascontiguousarray(dataset.X[:80])
    for taken in (np.zeros((80, 4), bool), np.ones((80, 4), bool), np.random.default_rng(0).random((80, 4)) < 0.5):
        states = states_of(final.rules, taken, X)
        for model in (*folds, final):
            estimates = model.estimate(states)
            np.testing.assert_allclose(estimates.probabilities.sum(axis=1), 1, atol=1e-12)
            assert (np.isfinite(estimates.preference) == states.legal).all()
            assert (estimates.preference[~states.legal] == -np.inf).all()
            assert np.isfinite(estimates.inputs).all()
            assert [v.dtype for v in estimates] == [np.float64] * 3


def test_acquisitions_without_information_come_last(learnt):
    _, _, final, dataset = learnt
    X = np.ascontiguousarray(dataset.X[~np.isnan(dataset.X).any(axis=1)])
    first = final.estimate(states_of(final.rules, np.zeros((len(X), 4), bool), X)).preference.argmax(axis=1)
    assert np.mean(first == 3) == 0  # x4 is noise
    second = np.arange(4) == first[:, None]
    second = final.estimate(states_of(final.rules, second, X)).preference.argmax(axis=1)
    assert np.mean(second == 3) < 0.1


def test_models_of_folds_have_the_predictor_that_did_not_see_the_fold(learnt):
    fitted, folds, final, _ = learnt
    assert [len(model.predictors) for model in (*folds, final)] == [1, 1, 2]
    assert len(fitted.networks) == 2
    for k, model in enumerate(folds):
        np.testing.assert_array_equal(model.predictors[0].parameters, final.predictors[k].parameters)


def test_one_seed_gives_the_same_bytes(learnt, small):
    again = learn_small(seed=5)
    other = learn_small(seed=6)
    for name, array in learnt[2].to_arrays()[0].items():
        np.testing.assert_array_equal(array, again[2].to_arrays()[0][name])
    assert (other[2].ranking.parameters != again[2].ranking.parameters).any()


def test_model_is_the_same_after_arrays_and_back(learnt):
    _, _, final, dataset = learnt
    again = NetworkModel.from_arrays(*final.to_arrays(), final.rules)
    states = states_of(
        final.rules, np.random.default_rng(0).random((30, 4)) < 0.5, np.ascontiguousarray(dataset.X[:30])
    )
    for mine, other in zip(final.estimate(states), again.estimate(states)):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("candidates", lambda a: a[::-1].copy()),
        ("candidates", lambda a: a + 1),
        ("candidates", lambda a: a.astype(np.int32)),
        ("candidates", lambda a: a[:0]),
        ("ranking", lambda a: a[:-1]),
        ("ranking", lambda a: a.astype(np.float64)),
        ("ranking", lambda a: a * np.float32(1e9)),
        ("predictors", lambda a: a[:, 1:]),
        ("predictors", lambda a: a * np.float32(np.nan)),
        ("predictors", lambda a: a[0]),
        ("predictors", lambda a: a[:0]),
        ("embedding.features", lambda a: a[:-1]),
        ("embedding.scale", lambda a: 0 * a),
        ("embedding.center", lambda a: a * np.inf),
        ("embedding.knots", lambda a: a[0]),
        ("embedding.knots", lambda a: a[:1]),
        ("embedding.spread", lambda a: -a),
        ("embedding.shift", lambda a: a.astype(np.float64)),
    ],
)
def test_damaged_arrays_are_refused(learnt, name, damage):
    arrays, header = learnt[2].to_arrays()
    with np.errstate(invalid="ignore"):
        arrays[name] = damage(arrays[name])
    with pytest.raises(ValueError, match=r"must|needs|has"):
        NetworkModel.from_arrays(arrays, header, learnt[2].rules)


@pytest.mark.parametrize(
    "damage",
    [
        {"temperature": float("nan")},
        {"temperature": "1"},
        {"hidden": [[10**9], [32, 32]]},
        {"hidden": [[], [32]]},
        {"hidden": [[True, 32], [32, 32]]},
        {"hidden": [[32, 32]]},
        {"hidden": 7},
    ],
)
def test_damaged_headers_are_refused(learnt, damage):
    arrays, header = learnt[2].to_arrays()
    with pytest.raises((ValueError, TypeError)):
        NetworkModel.from_arrays(arrays, header | damage, learnt[2].rules)


def test_rollouts_return_prices_and_errors_of_episodes(learnt, small):
    fitted, _, _, _ = learnt
    task = CandidateTask(learnt[2].rules, fitted.rows.candidates)
    learner = RankingLearner(fitted, task, np.random.default_rng(0))
    rows, taken = np.arange(40), np.random.default_rng(1).random((40, 4)) < 0.3
    here = learner.situation(rows, taken)
    tried, counted = acquisitions_to_try(np.random.default_rng(2).random((2, 40, 4), dtype=np.float32), here.legal)
    at_once, later, _ = follow_rollouts(
        learner, here, tried, learner.situation_after(here, np.repeat(np.arange(40), 2), tried.ravel())
    )
    for i in range(40):
        for k in range(2):
            if not counted[i, k]:
                continue
            now, loss, j = here.taken[i : i + 1].copy(), 0.0, tried[i, k]
            price = here.prices[i, j]
            while True:
                loss += price
                now[0, j] = True
                state = learner.situation(rows[i : i + 1], now)
                scores = learner.averaged(learner.inputs(state))
                ahead = outlook(scores, state.error, state.legal, state.prices)
                if ahead.value[0] >= 0 or state.error[0] <= task.smallest_price:
                    break
                j, price = ahead.best[0], state.prices[0, ahead.best[0]]
            expected = loss + state.error[0] - here.error[i]
            assert at_once[i, k] + later[i, k] == pytest.approx(expected, abs=1e-4)


def test_acquisitions_to_try_are_legal_and_different():
    rng = np.random.default_rng(0)
    legal = rng.random((50, 5)) < 0.5
    tried, counted = acquisitions_to_try(rng.random((4, 50, 5), dtype=np.float32), legal)
    np.testing.assert_array_equal(counted.sum(axis=1), np.minimum(legal.sum(axis=1), 4))
    for row in range(50):
        chosen = tried[row, counted[row]]
        assert legal[row, chosen].all()
        assert len(set(chosen.tolist())) == len(chosen)


def test_regrets_do_not_depend_on_costs_that_no_answer_avoids():
    rules, shifted = (Rules(2, 3, error_costs=np.array(SKEWED) + shift) for shift in (0, [[-1, 0, 5]]))
    np.testing.assert_array_equal(scaled_regrets(rules)[0], scaled_regrets(shifted)[0])
    task = CandidateTask(rules, np.array([0, 1]))
    assert task.errors(np.eye(3, dtype=np.float32)).tolist() == [0, 0, 0]
    assert task.errors(np.array([[0.5, 0.5, 0]], np.float32))[0] == pytest.approx(0.5 / 4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budget": 2},
        {"budget_cost": 3.0},
        {"prerequisites": {"x1": ["x0"], "x3": ["x1"]}},
        {"related": [("x0", "x1"), ("x2", "x3")], "unrelated_costs": 3.0},
        {"related": [("x0", "x1"), ("x2", "x3")], "unrelated_costs": "forbid"},
    ],
)
@pytest.mark.one_in(2)
def test_legal_candidates_and_prices_are_those_of_the_rules(options):
    rules = Rules(5, 2, costs=[1, 2, 1, 1, 2], lam=0.1, names=[f"x{i}" for i in range(5)], **options)
    task = CandidateTask(rules, np.array([0, 1, 3, 4]))
    rng = np.random.default_rng(0)
    taken, available = rng.random((40, 4)) < 0.4, rng.random((40, 4)) < 0.8
    legal, prices = task.legal_and_prices(taken, available)
    everything = np.zeros((40, 5), bool)
    everything[:, [0, 1, 3, 4]] = taken & available
    expected, unscaled = rules.legal_and_prices(everything)
    np.testing.assert_array_equal(legal, expected[:, [0, 1, 3, 4]] & available)
    np.testing.assert_allclose(prices, 0.1 * unscaled[:, [0, 1, 3, 4]], rtol=1e-6)
    reachable = task.reachable(rng.random((40, 4)) < 0.8, rng)
    if rules.budget is not None:
        assert reachable.sum(axis=1).max() < rules.budget
    if rules.prerequisites is not None:
        assert not (reachable[:, 1] & ~reachable[:, 0]).any()
        assert not (reachable[:, 2] & ~reachable[:, 1]).any()


def test_networks_learn_under_rules_of_every_kind(small):
    data = CubeNM(n_contexts=2).sample(300, 102)
    fold = stratified_folds(data.y, 2, np.random.default_rng(0))
    n = len(data.groups)
    needs = np.zeros((n, n), bool)
    needs[1:, 0] = True
    rules = Rules.for_dataset(data, lam=0.01, prerequisites=needs, budget=4)
    fitted = fit_predictors(data, rules.groups, fold, np.random.default_rng(1).random(300) * 2, 0, N_STEPS)
    _, final = learn_ranking(fitted, rules, 0)
    estimates = final.estimate(states_of(rules, np.zeros((10, n), bool), np.ascontiguousarray(data.X[:10])))
    assert (estimates.preference.argmax(axis=1) == 0).all()  # only the context is legal


@pytest.mark.parametrize("options", [{"budget": 0}, {"lam": 0.0}, {"lam": 1e30}, {"missing": "error"}])
def test_networks_learn_where_nothing_or_everything_is_worth_its_price(small, options):
    data = Cube().sample(30, 104)
    rules = Rules.for_dataset(data, **options)
    fitted = fit_predictors(data, rules.groups, np.arange(30) % 2, None, 0, 20)
    _, final = learn_ranking(fitted, rules, 0)
    estimates = final.estimate(states_of(rules, np.zeros((5, 20), bool), np.ascontiguousarray(data.X[:5])))
    assert np.isfinite(estimates.inputs).all()
    assert (np.isfinite(estimates.preference) == (rules.budget is None)).all()


def test_acquisitions_that_were_screened_out_come_last(small, monkeypatch):
    monkeypatch.setattr(const, "MAX_ACQUISITIONS", 6)
    data = Cube().sample(300, 104)
    rules = Rules.for_dataset(data)
    fitted = fit_predictors(data, rules.groups, np.arange(300) % 2, None, 0, 20)
    _, final = learn_ranking(fitted, rules, 0)
    assert len(final.candidates) == 6
    outside = np.setdiff1d(np.arange(20), final.candidates)
    estimates = final.estimate(states_of(rules, np.zeros((5, 20), bool), np.ascontiguousarray(data.X[:5])))
    assert np.isfinite(estimates.preference).all()
    assert estimates.preference[:, outside].max() < estimates.preference[:, final.candidates].min()


def test_compiled_estimates_are_those_of_the_networks(learnt):
    _, _, final, dataset = learnt
    X, task = np.ascontiguousarray(dataset.X[:60]), CandidateTask(final.rules, final.candidates)
    states = states_of(final.rules, np.random.default_rng(3).random((60, 4)) < 0.5, X)
    inputs = network_inputs(final.embedding.blocks(X), np.arange(60), states.acquired[:, final.embedding.features])
    scores = sum(network(inputs) for network in final.predictors) / (len(final.predictors) * final.temperature)
    p = softmax_inplace(scores.astype(np.float32))
    error = task.errors(p)
    prices = task.scaled_prices(states.prices)
    now = outlook(final.ranking(np.hstack([inputs, p, error[:, None]])), error, states.legal, prices)
    estimates = final.estimate(states)
    np.testing.assert_allclose(estimates.probabilities, p, atol=1e-5)
    np.testing.assert_allclose(estimates.preference / task.unit, -now.advantages, atol=1e-4)
    floor = error + const.MIN_DIVISOR
    value = np.where(states.legal.any(axis=1), now.value, 0)
    np.testing.assert_allclose(estimates.inputs[:, 0], np.log(floor), atol=1e-4)
    np.testing.assert_allclose(estimates.inputs[:, 2], value / floor, atol=1e-3)
    two = np.sort(np.where(np.isfinite(now.advantages), now.advantages, np.nan), axis=1)[:, :2]
    np.testing.assert_allclose(estimates.inputs[:, 4], np.nan_to_num(two[:, 1] - two[:, 0]), atol=1e-4)
