"""``sample_weight`` and ``class_weight`` of the classifiers of all agents and of RCPI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from agents import RCPI, DatumWiseClassifier, LatticeClassifier, SB3Classifier
from agents.inputs import row_weights, training_rows
from agents.lattice import growth
from agents.lattice.learn import learn
from agents.lattice.subset_classifier import fit_logistic
from agents.lattice.training_data import prepare_data
from agents.parallel import run_serially
from agents.rcpi.rcpi import weighted_means
from agents.rcpi.sampling import sample_states
from fsgym import Dataset, DatumWiseEnv, DatumWiseVectorEnv, Rules, evaluate
from fsgym.data.weights import cumulative_shares

AGENTS: dict[str, Any] = {
    "lattice": LatticeClassifier(unknown=0, lam=0.02, random_state=0),
    "rcpi": DatumWiseClassifier(lam=0.02, n_iterations=3, random_state=0),
    "deep": SB3Classifier(
        lam=0.02,
        total_timesteps=128,
        num_envs=8,
        options={"n_steps": 8, "batch_size": 64, "n_epochs": 1},
        random_state=0,
    ),
}
each_agent = pytest.mark.parametrize("name", AGENTS)


def overlapping(n=160, seed=0):
    """Three columns and two classes that overlap in the first; the second class has a fifth of the rows."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 5 == 0).astype(int)
    return (rng.normal(size=(n, 3)) + 1.2 * y[:, None] * [1, 0.5, 0]).astype(np.float32), y


def two_steps(n):
    """The first of three columns decides where it is far from 0, otherwise the second does."""
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    return X, (np.where(np.abs(X[:, 0]) < 0.5, X[:, 1], X[:, 0]) > 0).astype(int)


def model_bytes(model, folder) -> bytes:
    model.save(folder / "model")
    return (folder / "model").read_bytes()


def losses_of(model, X, y):
    return evaluate(model, Dataset(X, y), model.rules_).losses


@each_agent
@pytest.mark.one_in(3)
def test_equal_weights_change_nothing(name, tmp_path):
    X, y = overlapping()
    plain = model_bytes(clone(AGENTS[name]).fit(X, y), tmp_path)
    for weight in (np.ones(160), np.full(160, 2), pd.Series(np.full(160, 1e-300)), [True] * 160):
        assert model_bytes(clone(AGENTS[name]).fit(X, y, sample_weight=weight), tmp_path) == plain
    for by_class in ({}, {0: 1}, {0: 3.0, 1: 3}):
        assert model_bytes(clone(AGENTS[name]).set_params(class_weight=by_class).fit(X, y), tmp_path) == plain
    opposite = np.where(y == 1, 0.25, 0.5)
    both = clone(AGENTS[name]).set_params(class_weight={1: 2}).fit(X, y, opposite)
    assert model_bytes(both, tmp_path) == plain
    other = clone(AGENTS[name]).fit(X, y, opposite)
    assert model_bytes(other, tmp_path) != plain


@each_agent
@pytest.mark.one_in(3)
def test_class_weights_are_the_corresponding_sample_weights(name, tmp_path):
    X, codes = overlapping()
    y = np.array(["well", "ill"])[codes]
    for by_class, weight in (
        ({"ill": 7}, np.where(codes == 1, 7.0, 1.0)),
        ({"ill": 0.1, "well": 0.3}, np.where(codes == 1, 0.1, 0.3)),
        ("balanced", compute_sample_weight("balanced", y)),
    ):
        ours = clone(AGENTS[name]).set_params(class_weight=by_class).fit(X, y)
        weighted = clone(AGENTS[name]).fit(X, y, sample_weight=weight)
        assert model_bytes(ours, tmp_path) == model_bytes(weighted, tmp_path)
        assert model_bytes(clone(AGENTS[name]).fit(X, y, sample_weight=8 * weight), tmp_path) == model_bytes(
            weighted, tmp_path
        )


@each_agent
def test_rows_with_weight_0_do_not_count(name, tmp_path):
    X, y = overlapping()
    weight = np.random.default_rng(1).integers(0, 3, 160)
    counted = weight > 0
    wrong = np.where(counted, y, 1 - y)  # their labels have no effect either
    alone = clone(AGENTS[name]).fit(X[counted], y[counted], sample_weight=weight[counted])
    assert model_bytes(clone(AGENTS[name]).fit(X, wrong, sample_weight=weight), tmp_path) == model_bytes(
        alone, tmp_path
    )
    plain = clone(AGENTS[name]).fit(X[counted], y[counted])
    assert model_bytes(clone(AGENTS[name]).fit(X, y, sample_weight=counted), tmp_path) == model_bytes(plain, tmp_path)


@pytest.mark.parametrize("name", ["lattice", "rcpi"])
def test_a_heavy_class_is_answered_more_often_at_a_lower_weighted_loss(name):
    X, y = overlapping(400)
    weight = np.where(y == 1, 15.0, 1.0)
    plain, weighted = clone(AGENTS[name]).fit(X, y), clone(AGENTS[name]).fit(X, y, sample_weight=weight)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.3
    for heavy, light in ((weight, None), (None, weight)):
        losses = [losses_of(m, X, y) for m in (weighted, plain)]
        means = [np.average(v, weights=heavy) for v in losses]
        assert (means[0] < means[1] - 0.05) == (light is None)


@pytest.mark.slow
def test_a_heavy_class_is_answered_more_often_after_deep_training():
    X, y = overlapping(400)
    model = SB3Classifier(lam=0.02, total_timesteps=4096, num_envs=16, random_state=0)
    plain = clone(model).fit(X, y).predict(X).mean()
    assert clone(model).set_params(class_weight={1: 50}).fit(X, y).predict(X).mean() > max(0.8, plain + 0.3)


@pytest.mark.parametrize("name", ["lattice", "rcpi"])
def test_whole_weights_are_like_repeated_rows(name):
    X, y = overlapping(300)
    weight = np.where(y == 1, 5, 1)
    plain, weighted = (clone(AGENTS[name]).fit(X, y, sample_weight=w) for w in (None, weight))
    repeated = clone(AGENTS[name]).fit(X.repeat(weight, axis=0), y.repeat(weight))
    X, y = overlapping(2000, seed=1)
    losses = [np.average(losses_of(m, X, y), weights=np.where(y == 1, 5, 1)) for m in (plain, repeated, weighted)]
    assert losses[2] < losses[1] + 0.02
    assert losses[1] < losses[0] - 0.04
    assert losses[2] < losses[0] - 0.07


@pytest.mark.parametrize("name", ["lattice", "rcpi"])
@pytest.mark.usefixtures("two_threads")
def test_the_number_of_threads_changes_no_weighted_result(name, tmp_path):
    X, y = overlapping()
    weight = np.random.default_rng(3).uniform(0, 2, 160)
    models = [clone(AGENTS[name]).set_params(n_jobs=n, class_weight="balanced").fit(X, y, weight) for n in (1, 2)]
    assert model_bytes(models[0], tmp_path) == model_bytes(models[1], tmp_path)


def test_each_model_of_a_path_is_the_one_fitted_alone_with_the_same_weights(tmp_path):
    X, y = overlapping()
    weight = np.random.default_rng(4).uniform(0, 2, 160)
    model = LatticeClassifier(class_weight={1: 2}, unknown=0, random_state=0)
    for one in model.path(X, y, [0.01, 0.1], sample_weight=weight):
        alone = clone(model).set_params(lam=one.lam).fit(X, y, weight)
        assert model_bytes(one, tmp_path) == model_bytes(alone, tmp_path)
        assert one.history_ == alone.history_


def test_a_class_whose_rows_all_have_weight_0_stays_a_class():
    X, y = overlapping()
    y[::3] = 2
    for name, model in AGENTS.items():
        fitted = clone(model).set_params(class_weight={2: 0}).fit(X, y)
        assert fitted.classes_.tolist() == [0, 1, 2]
        assert set(fitted.predict(X)) <= {0, 1} or name == "deep"


def test_the_figures_of_training_are_weighted_means():
    X, y = two_steps(160)
    weight = np.random.default_rng(5).uniform(0.1, 4, 160)
    dataset = Dataset(X, y)
    rules = Rules.for_dataset(dataset, lam=0.02)
    rows, mean_1 = training_rows(dataset, None, weight)
    assert rows is dataset
    np.testing.assert_allclose(mean_1, weight / weight.mean())
    result = learn(prepare_data(dataset, np.random.default_rng(0), mean_1), rules, run_serially)
    policy = result.policy
    assert policy.loss == pytest.approx(np.average(policy.choices[()].value, weights=weight))
    used = np.zeros(160)
    for z, choice in policy.choices.items():
        used[policy.arrivals[z] & (choice.next_child < 0)] = len(z)
    assert used.std() > 0
    assert policy.usage() == pytest.approx(dict.fromkeys(("features", "cost"), np.average(used, weights=weight)))
    assert result.history[-1]["training_loss"] == policy.loss

    agent = RCPI(DatumWiseEnv(dataset, rules), n_iterations=2, select="last", random_state=0, sample_weight=weight)
    last, done = agent.learn().history[-1], evaluate(agent.policy, dataset, rules)
    assert last["loss"] == pytest.approx(np.average(done.losses, weights=weight))
    assert last["accuracy"] == pytest.approx(np.average(done.answers == y, weights=weight))
    assert last["n_acquisitions"] == pytest.approx(np.average(done.used.sum(axis=1), weights=weight))


def test_a_target_limits_the_weighted_mean():
    X, y = two_steps(300)
    weight = np.where(np.abs(X[:, 0]) < 0.5, 10.0, 1.0)  # the rows that need two features
    plain, weighted = (
        LatticeClassifier(target_features=1.45, unknown=0, random_state=0).fit(X, y, w) for w in (None, weight)
    )
    for model in (plain, weighted):
        assert 0.9 < model.history_[-1]["features"] <= 1.45
    used = [np.average(m.features_used(X).sum(axis=1), weights=weight) for m in (plain, weighted)]
    assert used[1] < 1.5 < 1.7 < used[0]


def test_held_out_rows_of_rcpi_have_their_weights():
    X, y = overlapping()
    env = DatumWiseEnv(Dataset(X, y), Rules(3, 2, lam=0.02))
    options = {"n_iterations": 3, "patience": 2, "random_state": 0}
    plain, equal = (RCPI(env, sample_weight=w, **options).learn() for w in (None, np.full(160, 3.0)))
    assert plain.policy.weights.tobytes() == equal.policy.weights.tobytes()
    weighted = RCPI(env, class_weight={1: 40}, **options).learn()
    held_out = env.dataset.split_index(0.8, int(np.random.default_rng(0).integers(2**31)))[1]
    assert (y[held_out] == 1).mean() < 0.3
    assert weighted.history[0]["accuracy"] != plain.history[0]["accuracy"]
    assert (weighted.trajectories(X).answers == 1).mean() > 0.6


def test_rows_are_drawn_in_proportion_to_their_weights():
    weight = np.array([0, 1, 0, 2, 5, 0], dtype=float)
    shares = cumulative_shares(weight)
    assert shares[-1] == 1
    expected = weight / weight.sum() * 40_000
    dataset = Dataset(np.arange(6.0)[:, None], [0, 1] * 3)
    states = sample_states(dataset.X, Rules(1, 2), 40_000, seed=0, shares=shares)
    envs = DatumWiseVectorEnv(dataset, Rules(1, 2), 400, autoreset_mode="SameStep", sample_weight=3 * weight)
    values = []
    for step in range(100):
        envs.reset(seed=step if step < 2 else None)
        values.append(envs.step(np.zeros(400, np.int64))[0][:, 1].astype(int))
    for rows in (states.rows, np.concatenate(values)):
        counts = np.bincount(rows, minlength=6)
        assert (np.abs(counts - expected) <= 4.5 * np.sqrt(expected)).all()
    plain = [DatumWiseVectorEnv(dataset, Rules(1, 2), 400, sample_weight=w) for w in (None, weight)]
    first = [env.reset(seed=1)[0] is not None and env.step(np.zeros(400, np.int64))[0] for env in plain]
    assert (first[0] != first[1]).any()
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(6,\)"):
        DatumWiseVectorEnv(dataset, Rules(1, 2), 2, sample_weight=[1.0])


def test_parts_of_the_lattice_take_whole_weights_as_repetitions():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(80, 4)), rng.integers(0, 3, 80), rng.integers(1, 4, 80)
    Y, again = np.eye(3)[y], np.arange(80).repeat(weight)
    weighted = fit_logistic(X, Y, weight[None].astype(float))
    np.testing.assert_allclose(weighted, fit_logistic(X[again], Y[again], np.ones((1, len(again)))), atol=1e-9)
    data = prepare_data(Dataset(X, y), np.random.default_rng(0), weight / weight.mean())
    np.testing.assert_allclose(data.class_shares(), np.bincount(y[again]) / len(again))
    assert data.effective_size == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert data.mean(X[:, 0]) == pytest.approx(X[again, 0].mean())
    equal = prepare_data(Dataset(X, y), np.random.default_rng(0))
    assert equal.effective_size == 80


def test_interactions_of_noise_are_not_found_with_unequal_weights():
    rng = np.random.default_rng(0)
    rules, found = Rules(8, 2), []
    for _ in range(5):
        X, y, weight = rng.integers(0, 2, (600, 8)), rng.integers(0, 2, 600), rng.exponential(size=600) ** 3
        data = prepare_data(Dataset(X, y), rng, weight / weight.mean())
        found += growth.find_interactions(data, rules, np.tile(data.class_shares(), (600, 1)))
    assert len(found) <= 2
    parity = (X[:, 1] + X[:, 4]) % 2
    data = prepare_data(Dataset(X, parity), rng, weight / weight.mean())
    assert (1, 4) in growth.find_interactions(data, rules, np.tile(data.class_shares(), (600, 1)))


WRONG = {
    "too few": (None, np.ones(3), r"sample_weight must have shape \(160,\).*got \(3,\)"),
    "a matrix": (None, np.ones((160, 2)), r"got \(160, 2\)"),
    "a number": (None, 2.0, r"got \(\)"),
    "text": (None, ["much"] * 160, "sample_weight must be 160 numbers"),
    "texts of numbers": (None, np.array(["2"] * 160, dtype=object), "sample_weight must be 160 numbers"),
    "complex": (None, np.ones(160) * 1j, "sample_weight must be 160 numbers"),
    "ragged": (None, [[1], [1, 2]], "sample_weight must be 160 numbers"),
    "a large int": (None, [10**400] * 160, "sample_weight must be 160 numbers"),
    "NaN": (None, [np.nan] + [1] * 159, "sample_weight must be finite, got nan"),
    "infinite": (None, [np.inf] + [1] * 159, "sample_weight must be finite, got inf"),
    "negative": (None, [-0.5] + [1] * 159, "sample_weight must not be negative, got -0.5"),
    "zero": (None, np.zeros(160), "all weights are zero"),
    "one class": (None, np.arange(160) % 5 == 0, r"at least two classes .* got \[1\]"),
    "one class by class": ({1: 0}, None, r"at least two classes .* got \[0\]"),
    "no class": ({0: 0, 1: 0}, None, r"at least two classes .* got \[\]"),
    "another word": ("equal", None, "class_weight must be None, 'balanced' or a mapping.*got 'equal'"),
    "a list": ([1, 2], None, r"class_weight must be .*got \[1, 2\]"),
    "an unknown label": ({2: 1.0}, None, r"class_weight names 2, which is not a class; they are 0, 1"),
    "a label of another type": ({"1": 1.0}, None, "class_weight names '1'"),
    "negative for a class": ({1: -1}, None, "class_weight of 1 must be finite and at least 0, got -1"),
    "NaN for a class": ({1: np.nan}, None, "class_weight of 1 must be finite"),
    "text for a class": ({1: "heavy"}, None, "class_weight of 1 must be a number, got 'heavy'"),
    "None for a class": ({1: None}, None, "class_weight of 1 must be a number, got None"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_weights_are_refused_in_one_sentence(case):
    (X, y), (by_class, weight, words) = overlapping(), WRONG[case]
    for model in AGENTS.values():
        with pytest.raises((ValueError, TypeError), match=words) as caught:
            clone(model).set_params(class_weight=by_class).fit(X, y, sample_weight=weight)
        assert "\n" not in str(caught.value)
    with pytest.raises((ValueError, TypeError), match=words):
        RCPI(DatumWiseEnv(Dataset(X, y), Rules(3, 2)), class_weight=by_class, sample_weight=weight)


def test_extreme_weights_are_neither_lost_nor_infinite():
    y, classes = np.array([0, 0, 1, 1]), np.array([False, True])
    for scale in (1e-320, 1e308):
        for given in ([scale, scale, 0.0, scale], [scale, 1.0, 0.0, scale]):
            weight = row_weights({True: scale}, given, y, classes)
            assert np.isfinite(weight).all()
            assert (weight > 0).tolist() == [True, True, False, True]
    np.testing.assert_allclose(row_weights({True: 3}, None, y, classes), [0.5, 0.5, 1.5, 1.5])
    np.testing.assert_allclose(row_weights("balanced", [2, 1, 1, 1], y, classes), [4 / 3, 2 / 3, 1, 1])
    X, y = overlapping()
    for name in ("lattice", "rcpi"):
        model = clone(AGENTS[name]).fit(X, y, sample_weight=10.0 ** np.linspace(-300, 300, 160))
        assert set(model.predict(X)) <= {0, 1}


def test_the_accuracy_of_training_is_that_of_the_answered_rows():
    X, y = two_steps(60)
    rules = Rules(X.shape[1], 2, refer_cost=0.1)
    referred = evaluate(lambda rows, action_masks: [rules.n_actions - 1] * len(rows), Dataset(X, y), rules=rules)
    assert np.isnan(weighted_means(referred, None)["accuracy"])
    assert np.isnan(weighted_means(referred, np.ones(60))["accuracy"])
    assert weighted_means(referred, np.ones(60))["loss"] == pytest.approx(0.1)
