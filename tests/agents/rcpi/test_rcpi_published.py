"""RCPI's published reading, against exact expectations in plain Python, state by state; kinds of training states."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from agents import RCPI, DatumWiseClassifier
from agents.rcpi.regression import _solve_ridge
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate, load_dataset
from fsgym.methods import METHODS
from support.problems import FOLDER, needs_folder

N, LAM = 3, 0.05
ALPHA = 0.7
ROWS = np.random.default_rng(5).uniform(-1, 1, (6, N))
ROWS = (ROWS - ROWS.min(axis=0)) / np.ptp(ROWS, axis=0) * 2 - 1  # as RCPI scales them
LABELS = np.array([0, 1, 1, 0, 1, 0])
STATES = [(row, z) for row in range(6) for z in product((0, 1), repeat=N)]


def features(row, z, constant=1):
    """[1, z, mu(x, z)]; the first is 0 without a constant term."""
    return np.concatenate([[constant], z, np.array(z) * ROWS[row]])


def coefficients(policy):
    """Those of all scores, in the order of ``features``, float (7, n_actions)."""
    return np.concatenate([policy.intercepts[None], policy.weights[:, 0], policy.weights[:, 1]]).astype(float)


def exact_scores(policies, first=None, constant=1):
    """Least squares of the exact returns under the mixture of the greedy policies and the first or the uniform one."""
    shares = [(1 - ALPHA) * ALPHA ** (len(policies) - 1 - k) for k in range(len(policies))]
    if first is not None:
        shares, policies = [1 - sum(shares), *shares], [first, *policies]

    def legal(z):
        return [a for a in range(N) if not z[a]] + [N, N + 1]

    def outcome(row, z, action):
        if action >= N:
            return -float(action - N != LABELS[row])
        return -LAM + value(row, (*z[:action], 1, *z[action + 1 :]))

    def value(row, z):
        total = (1 - sum(shares)) * np.mean([outcome(row, z, a) for a in legal(z)])
        for share, theta in zip(shares, policies):
            scores = features(row, z, constant) @ theta
            actions = [N, N + 1] if theta is first else legal(z)
            total += share * outcome(row, z, max(actions, key=lambda a: (scores[a], -a)))
        return total

    theta = np.zeros((1 + 2 * N, N + 2))
    for action in range(N + 2):
        states = [(row, z) for row, z in STATES if action >= N or not z[action]]
        Phi = np.array([features(row, z, constant) for row, z in states])
        theta[:, action] = np.linalg.lstsq(Phi, np.array([outcome(row, z, action) for row, z in states]), rcond=None)[0]
    return theta


def check_scores(theta, expected, constant=1):
    """All scores agree in each state where their action is legal; no policy looks at the others."""
    for row, z in STATES:
        known, legal = features(row, z, constant), [*np.flatnonzero(np.array(z) == 0), N, N + 1]
        np.testing.assert_allclose((known @ theta)[legal], (known @ expected)[legal], atol=0.02)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.one_in(2)
def test_the_published_algorithm_agrees_with_exact_expectations_state_by_state(intercept):
    env = DatumWiseEnv(Dataset(ROWS, LABELS), Rules(N, 2, lam=LAM))
    policies = []
    for t in (1, 2, 3):
        agent = RCPI.published(
            env,
            n_iterations=t,
            alpha=ALPHA,
            states_per_sample=20_000,
            n_rollouts=4,
            random_state=0,
            **({} if intercept else {"intercept": False}),
        ).learn()
        theta = coefficients(agent.policy)
        assert agent.policy.intercepts.all() if intercept else not agent.policy.intercepts.any()
        expected = exact_scores(policies, constant=intercept)
        check_scores(theta, expected, intercept)
        policies.append(theta)  # the exact mixture of the next iteration has the policy that was learned
    assert np.abs(exact_scores(policies[:1], constant=intercept) - exact_scores([], constant=intercept)).max() > 0.1


@pytest.mark.parametrize(
    "name", ["breast_cancer", *(pytest.param(n, marks=needs_folder) for n in ("australian", "pima_diabetes"))]
)
@pytest.mark.slow
def test_a_high_lambda_selects_nothing_and_answers_the_larger_class(name):
    """Section 6.1: "the model chooses to select no features and associates each input to the larger category".

    Without a constant term no policy can: all scores are 0 at the start, and each row makes the same acquisition.
    """
    data = load_dataset(name, data_dir=FOLDER)
    share = np.bincount(data.y).max() / data.n_samples
    result = evaluate(DatumWiseClassifier.published(5.0, random_state=0).fit(data), data)
    assert (result.n_features, result.accuracy) == (0, share)
    without = DatumWiseClassifier.published(5.0, intercept=False, random_state=0).fit(data)
    assert without.features_used(data).all(axis=0).any()


def test_the_policy_that_starts_may_answer_immediately():
    """Its answers are least squares on uniform states; where it has the whole mixture, an acquisition ends with one."""
    env = DatumWiseEnv(Dataset(ROWS, LABELS), Rules(N, 2, lam=LAM))
    answers = exact_scores([])  # those of the answers do not depend on the policy
    policies = []
    for t in (1, 2):
        agent = RCPI.published(
            env, start="answer", n_iterations=t, alpha=ALPHA, states_per_sample=20_000, n_rollouts=4, random_state=0
        ).learn()
        theta = coefficients(agent.policy)
        expected = exact_scores(policies, first=answers)
        check_scores(theta, expected)
        policies.append(theta)
    assert np.abs(exact_scores([], first=answers) - exact_scores([])).max() > 0.1


def test_parts_of_the_published_algorithm_can_be_replaced():
    env = DatumWiseEnv(load_dataset("wine"), Rules(13, 3, lam=0.05))
    printed = RCPI.published(env)
    assert (printed.mixture, printed.states, printed.select) == ("decision", "uniform", "last")
    assert (printed.intercept, printed.ridge, printed.answers) == (True, 1e-6, "linear")
    assert (printed.n_iterations, printed.states_per_sample, printed.alpha) == (10, 10, 0.7)  # section 6.1
    assert (printed.n_rollouts, printed.unknown, printed.patience) == (1, 0, None)
    assert RCPI.published(env, select="best", n_iterations=2).select == "best"


def test_the_published_algorithm_has_a_classifier():
    wine, options = load_dataset("wine"), {"n_iterations": 3, "random_state": 0}
    agent = RCPI.published(DatumWiseEnv(wine, Rules(13, 3, lam=0.05)), **options).learn()
    plain = Dataset(wine.X, wine.y)  # without names, by which a classifier would sort the columns
    model = DatumWiseClassifier.published(0.05, **options).fit(plain)
    assert model.policy_.weights.tobytes() == agent.policy.weights.tobytes()
    given = {**METHODS["rcpi_printed"].preset, "lam": 0.05, **options}
    assert given.items() <= model.get_params().items()


@pytest.mark.parametrize("kind", ["policy", "both"])
def test_states_of_the_policy_help_where_episodes_are_short(kind):
    """With 30 features, half of which are known in a uniform state, the start of an episode is hardly ever seen."""
    train, test = load_dataset("breast_cancer").split(0.5, seed=133)
    rules = Rules.for_dataset(train, lam=0.03)
    losses = {}
    for states in ("uniform", kind):
        agent = RCPI(DatumWiseEnv(train, rules), states=states, mixture="decision", random_state=0).learn()
        losses[states] = evaluate(agent, test, rules).loss
    assert losses[kind] < 0.95 * losses["uniform"]


def test_the_classifier_passes_states_and_intercept_on():
    data = load_dataset("wine")
    models = [
        DatumWiseClassifier(0.05, n_iterations=2, select="last", random_state=0, **options).fit(data)
        for options in (
            {"states": "uniform"},
            {"states": "policy"},
            {"states": "both"},
            {"intercept": False},
        )
    ]
    weights = [model.policy_.weights.tobytes() for model in models]
    assert len(set(weights)) == 4
    assert not models[3].policy_.intercepts[:13].any()
    for wrong in ({"states": "start"}, {"intercept": "no"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            DatumWiseClassifier(**wrong).fit(data)


def test_columns_that_repeat_each_other_have_the_coefficients_of_least_norm():
    """In single precision, the products of two equal columns may differ by more than the published penalty."""
    gram, penalty = np.array([[1.0, 1.0], [1.0, 1.0 - 4e-6]]), np.full(2, 1e-6)
    assert np.linalg.det(gram + np.diag(penalty)) < 0
    theta = _solve_ridge(gram, np.array([[0.8], [0.8]]), penalty)
    np.testing.assert_allclose(theta, [[0.4], [0.4]], atol=1e-4)
