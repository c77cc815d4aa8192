"""The lattice agent: its parts against plain twins, the exact optimum of small tasks, honesty, the same bytes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from exact import PROBLEMS, draw, expected_loss, optimum
from rcpi_twin import VARIANTS, problem
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from agents import DatumWiseClassifier, LatticeClassifier, LatticePolicy, load_classifier, model_file
from agents.lattice import screening
from agents.lattice.basis import columns_of, fit_basis
from agents.lattice.classifier import in_threads
from agents.lattice.heads import Table, cross_fit, fit_head, stratified_folds
from agents.lattice.logistic import fit_logistic, softmax
from agents.lattice.moves import Moves, with_
from agents.lattice.nodes import Lattice
from agents.lattice.policy import read_policy
from agents.lattice.sweep import Policy
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate
from fsgym.kernels.boosting import boost

LINE = np.eye(8, k=1) + np.eye(8, k=-1)
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]
RULES = {
    "base": {"lam": 0.03},
    "budget": {"lam": 0.005, "budget": 3},
    "budget_cost": {"lam": 0.005, "costs": [2, 1.9, 1.7, 1.6, 1.4, 1.3, 1.1, 1], "budget_cost": 5},
    "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, 8), "error_costs": [[0, 3], [1, 0]]},
    "groups": {"lam": 0.03, "groups": PAIRS},
    "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": LINE},
    "prerequisites": {"lam": 0.02, "prerequisites": np.eye(8, k=-1) * (np.arange(8) % 2 == 1)[:, None]},
}  # fmt: skip


def table_of(X, y, seed=0, n_folds=3) -> Table:
    y = np.asarray(y)
    folds = stratified_folds(y, n_folds, np.random.default_rng(seed))
    return Table(np.asarray(X, np.float32), y.astype(np.int64), int(y.max()) + 1, folds, seed)


def same(one, other):
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.answers, other.answers)
    np.testing.assert_array_equal(one.acquired, other.acquired)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return LatticeClassifier(lam=0.02, random_state=0).fit(X[:250], y[:250]), X, y


# The parts


def test_one_tree_is_the_best_of_all_cuts():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 6, (3, 200)).astype(np.uint8), rng.integers(0, 2, 200)
    y[codes[1] > 3] = 1
    weight = rng.uniform(0.5, 2, 200)
    rows, scores = np.arange(0, 200, 2), np.full((200, 1), 0.3)
    forest = boost(codes, y, rows, weight, scores, np.array([[0, 1, 2]]), depth=1, rate=0.1)
    p = 1 / (1 + np.exp(-0.3))
    g, h = weight * (y - p), weight * p * (1 - p)

    def worth(where):
        part = np.intersect1d(rows, np.flatnonzero(where))
        return g[part].sum() ** 2 / (h[part].sum() + 1), g[part].sum() / (h[part].sum() + 1)

    gains = {(f, b): worth(codes[f] <= b)[0] + worth(codes[f] > b)[0] for f in range(3) for b in range(5)}
    best = max(gains, key=lambda k: gains[k])
    assert (forest.feature[0, 0], forest.cut[0, 0]) == best
    left, right = (worth(w)[1] for w in (codes[best[0]] <= best[1], codes[best[0]] > best[1]))
    np.testing.assert_allclose(forest.value[0], [0.1 * left, 0.1 * right])
    np.testing.assert_allclose(scores[:, 0], 0.3 + np.where(codes[best[0]] <= best[1], 0.1 * left, 0.1 * right))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_boosting_scores_rows_that_it_does_not_learn_from_as_its_trees_do(n_classes):
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 20, (4, 150)).astype(np.uint8), rng.integers(0, n_classes, 150)
    n_outputs = 1 if n_classes == 2 else n_classes
    scores = np.zeros((150, n_outputs))
    draws = np.tile(np.arange(4), (6 * n_outputs, 1))
    forest = boost(codes, y, np.arange(100), np.ones(150), scores, draws, depth=3, rate=0.3)
    again = np.zeros_like(scores)
    for t in range(len(draws)):
        for i in range(150):
            v = 0
            while v < 7:
                v = 2 * v + 1 + int(codes[forest.feature[t, v], i] > forest.cut[t, v])
            again[i, t % n_outputs] += forest.value[t, v - 7]
    np.testing.assert_allclose(scores, again)
    changed = y.copy()
    changed[100:] = 0
    other = np.zeros_like(scores)
    boost(codes, changed, np.arange(100), np.ones(150), other, draws, depth=3, rate=0.3)
    np.testing.assert_array_equal(other, scores)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_reaches_the_optimum_of_a_general_solver(n_classes):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(120, 4)), rng.integers(0, n_classes, 120)
    H[:, 0] += y
    Y, weights = np.eye(n_classes)[y], np.stack([np.ones(120), np.arange(120) % 3 > 0]).astype(float)
    theta = fit_logistic(H, Y, weights)
    ridge = np.repeat([1e-3, 2.0 if n_classes == 2 else 1.0], [1, 4])[:, None]

    def objective(flat, w):
        t = flat.reshape(5, n_classes)
        P = softmax(t[0] + H @ t[1:])
        return -(w * np.log(P[np.arange(120), y])).sum() + 0.5 * (ridge * t * t).sum()

    for t, w in zip(theta, weights):
        best = minimize(objective, np.zeros(5 * n_classes), args=(w,)).fun
        assert objective(t.ravel(), w) <= best + 1e-3


def test_hinges_and_bins_are_those_of_a_plain_twin():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300), np.full(300, 7.0), rng.integers(0, 9, 300)])
    X = X.astype(np.float32)
    X[::7, 0] = np.nan
    basis = fit_basis(X)
    columns, codes = columns_of(basis, X)
    for i in (0, 3):
        x = X[:, i].astype(float)
        z = (x - np.nanmean(x)) / np.nanstd(x)
        for k, q in enumerate((None, 0.25, 0.5, 0.75)):
            h = z if q is None else np.maximum(z - np.nanquantile(z, q), 0)
            known = ~np.isnan(h)
            expected = np.clip((h - np.nanmean(h)) / np.nanstd(h), -6, 6)
            np.testing.assert_allclose(columns[known, i, k], expected[known], atol=1e-6)
    assert np.abs(columns[::7, 0, 0]).max() < 1e-12  # missing: the mean
    assert not columns[:, 1, 1:].any()
    assert not columns[:, 2].any()
    assert basis.n_bins.tolist() == [24, 2, 1, 9]
    np.testing.assert_array_equal(codes[3], X[:, 3])
    assert np.bincount(codes[0][~np.isnan(X[:, 0])]).min() > 5


def test_scores_of_columns_are_the_score_test():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    X[:, 3] += y
    table, rules = table_of(X, y), Rules(5, 2)
    P = np.tile(table.shares(), (400, 1))
    found = screening.scores(table, rules, P, np.ones(400))
    x = table.columns[:, 3, 0]
    u = ((y - y.mean()) * x).sum() / 400
    information = y.mean() * (1 - y.mean()) * ((x - x.mean()) ** 2).mean()
    assert found.argmax() == 3
    assert found[3] >= 2 * u * u / (information + 1 / 400) * (1 - 1e-9)
    assert found[[0, 1, 2, 4]].max() < 0.3 * found[3]


def test_a_context_is_found_though_it_tells_nothing_by_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    X[:, 5] = rng.integers(0, 2, 2000)
    y = np.where(X[:, 5] == 1, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    table, rules = table_of(X, y), Rules(8, 2)
    P = np.tile(table.shares(), (2000, 1))
    assert screening.scores(table, rules, P, np.ones(2000))[5] < 0.02
    assert screening.contexts(table, rules, P).argmax() == 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_legal_at_a_subset_is_what_the_twin_says(variant):
    from rcpi_twin import Twin

    dataset, rules = problem(variant, False)
    moves, twin = Moves(rules), Twin(dataset, rules)
    waiting, seen = [()], set()
    while waiting:
        order = waiting.pop()
        z = with_((), order)
        if z in seen or not rules.order_free:
            continue
        seen.add(z)
        legal, prices = moves.at(z)
        np.testing.assert_array_equal(legal, twin.legal(0, list(order))[: rules.n_acquisitions])
        for j in np.flatnonzero(legal).tolist():
            assert prices[j] == pytest.approx(rules.lam * twin.price(j, list(order)))
            waiting.append((*order, j))
    for j in range(rules.n_acquisitions):
        way = moves.path((), j)
        if way is not None:
            price = sum(twin.price(k, list(way[0][:i])) for i, k in enumerate(way[0]))
            assert way[1] == pytest.approx(rules.lam * price)
            assert all(twin.may(k, 0, list(way[0][:i])) for i, k in enumerate(way[0]))


def test_values_of_a_sweep_are_the_losses_of_following_it():
    X, y = load_wine(return_X_y=True)
    table, rules = table_of(X, y), Rules(13, 3, lam=0.02)
    lattice = Lattice(table, rules, 0.5, in_threads(1))
    lattice.reach((), range(13))
    lattice.reach((12,), range(13))
    lattice.jump((6,), [0, 9, 12])
    policy = Policy(lattice, Policy(lattice, None).reach)
    losses = np.zeros(len(y))
    for row in range(len(y)):
        z = ()
        while policy.choices[z].go[row] >= 0:
            _, z, price = policy.choices[z].children[policy.choices[z].go[row]]
            losses[row] += price
        P = lattice.nodes[z].fit.P[row]
        losses[row] += 0.5 * (P.argmax() != y[row]) + 0.5 * (1 - P.max())
        assert policy.reach[z][row]
    np.testing.assert_allclose(policy.choices[()].V, losses)
    assert policy.loss < 0.3


def test_a_row_is_never_told_by_a_model_that_saw_its_label():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 2
    folds = np.arange(90) // 2 % 3
    out = folds == 1
    fits = []
    for labels in (y, np.where(out, 1 - y, y)):
        table = Table(X.astype(np.float32), labels, 2, folds, 0)
        scores = fit_logistic(table.columns[:, 0], table.onehot, np.where(out, 0.0, 1.0)[None])
        fits.append((scores, cross_fit(table, np.array([0]))))
    np.testing.assert_array_equal(fits[0][0], fits[1][0])
    one, other = (f[1] for f in fits)
    if (one.blend, one.temperature) == (other.blend, other.temperature):
        np.testing.assert_array_equal(one.P[out], other.P[out])


def test_the_compiled_walk_answers_as_the_heads_do():
    X, y = load_wine(return_X_y=True)
    model = LatticeClassifier(lam=0.03, random_state=0).fit(X, y)
    policy, done = model.policy_, model.trajectories(X)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    table = table_of(X, y)
    for v in np.unique(policy.taken, axis=0)[:4]:
        features = np.flatnonzero(v)
        rows = (done.acquired == v).all(axis=1)
        if not rows.any() or not len(features):
            continue
        place = int((policy.taken == v).all(axis=1).argmax())
        mixed = cross_fit(table, features)._replace(
            blend=float(policy.plan.blend[place]), temperature=float(policy.plan.temperature[place])
        )
        head = fit_head(table, features, mixed)
        H = table.columns[:, features].reshape(len(X), -1)
        linear, scores = softmax(head.coefficients[0] + H @ head.coefficients[1:]), np.tile(head.start, (len(X), 1))
        for t, value in enumerate(head.forest.value):
            node = np.zeros(len(X), int)
            for _ in range(4):
                codes = table.codes[features[head.forest.feature[t, node]], np.arange(len(X))]
                node = 2 * node + 1 + (codes > head.forest.cut[t, node])
            scores[:, t % 3] += value[node - 15]
        P = head.blend * softmax(scores) + (1 - head.blend) * linear
        np.testing.assert_allclose(shares[rows], softmax(np.log(P) / head.temperature)[rows], atol=1e-9)


# The whole


@pytest.mark.parametrize("rules", ["budget", "prices and errors", "groups", "relational", "prerequisites"])
@pytest.mark.parametrize("name", ["naive Bayes", "decision list"])
def test_small_tasks_are_solved(name, rules):
    joint = PROBLEMS[name](8)
    X, y = draw(joint, 1500, 0)
    model = LatticeClassifier(**RULES[rules], random_state=0).fit(X, y)
    best = optimum(joint, model.rules_)
    loss = expected_loss(model.policy_, joint, model.rules_)
    assert best - 1e-9 <= loss <= best + 0.015


@pytest.mark.parametrize("rules", ["groups", "prerequisites"])
def test_questions_that_tell_what_to_ask_are_asked(rules):
    joint = PROBLEMS["multiplexer"](8)
    X, y = draw(joint, 1500, 0)
    model = LatticeClassifier(**RULES[rules], random_state=0).fit(X, y)
    assert expected_loss(model.policy_, joint, model.rules_) <= optimum(joint, model.rules_) + 0.01


def cube(n_rows, seed=0, n_blocks=4, wide=2):
    """A first feature says which block of ``wide`` features tells the class; by itself it tells nothing."""
    rng = np.random.default_rng(seed)
    block, y = rng.integers(0, n_blocks, n_rows), rng.integers(0, 2, n_rows)
    values = rng.normal(size=(n_rows, n_blocks, wide))
    values[np.arange(n_rows), block] += 1.6 * (2 * y[:, None] - 1)
    return np.column_stack([block, values.reshape(n_rows, -1)]).astype(np.float32), y


def test_a_context_is_asked_first_and_then_its_block():
    X, y = cube(1200)
    model = LatticeClassifier(lam=0.02, random_state=0).fit(X[:600], y[:600])
    literal = DatumWiseClassifier(lam=0.02, n_iterations=5, random_state=0).fit(X[:600], y[:600])
    test = Dataset(X[600:], y[600:])
    result = evaluate(model, test, model.rules_)
    assert result.loss < evaluate(literal, test, model.rules_).loss - 0.1
    done = model.trajectories(X[600:])
    assert (done.order[:, 0] == 0).mean() > 0.95
    right = (done.order[:, 1] - 1) // 2 == X[600:, 0]
    assert right[done.lengths > 1].mean() > 0.95


def test_the_optimum_of_the_tests_is_that_of_a_hand_worked_task():
    joint = np.zeros((2, 2, 2))  # the first bit is the class in nine of ten cases, the second says nothing
    joint[0, :, 0] = joint[1, :, 1] = 0.225
    joint[0, :, 1] = joint[1, :, 0] = 0.025
    assert optimum(joint, Rules(2, 2, lam=0.1)) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.5)) == pytest.approx(0.5)
    assert optimum(joint, Rules(2, 2, lam=0.1, prerequisites=[[0, 1], [0, 0]])) == pytest.approx(0.3)
    assert optimum(joint, Rules(2, 2, lam=0.1, groups=[[0, 1]])) == pytest.approx(0.2)
    assert optimum(joint, Rules(2, 2, lam=0.1, budget=0)) == pytest.approx(0.5)
    # after a 0 answering 0 costs .1 * 4, after a 1 answering 1 costs .1; half of the time each
    assert optimum(joint, Rules(2, 2, lam=0.1, error_costs=[[0, 4], [1, 0]])) == pytest.approx(0.1 + 0.2 + 0.05)


@pytest.mark.parametrize("missing", [False, True], ids=["full", "missing"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_honest_and_never_illegal(variant, missing):
    dataset, _ = problem(variant, missing, n=60)
    X, y = dataset.X, dataset.y
    model = LatticeClassifier(random_state=0).set_params(**{"lam": 0.01, **VARIANTS[variant]}).fit(X, y)
    done = model.trajectories(X)
    free = ~done.acquired & ~np.isnan(X)
    rng = np.random.default_rng(1)
    for huge in (1.0, 3e38):
        same(model.trajectories(np.where(free, rng.uniform(-huge, huge, X.shape), X)), done)
    assert not (done.acquired & np.isnan(X)).any()
    result = evaluate(model, dataset, model.rules_)
    assert result.admissible == 1
    fresh = rng.uniform(-1, 1, X.shape).astype(np.float32)
    fresh[rng.random(X.shape) < 0.3] = np.nan
    other = Dataset(fresh, y)
    assert evaluate(model, other, model.rules_).admissible == 1
    live = evaluate(lambda o, m: act(model, o, m), DatumWiseEnv(dataset, model.rules_))
    same(live.trajectories, done)
    assert live.illegal == 0


def act(model, observations, masks):
    n = model.rules_.n_features
    return model.policy_.actions(observations[:, :n] > 0.5, observations[:, n:], np.asarray(masks, bool))


def test_it_acts_from_any_state_and_under_other_budgets(cancer):
    model, X, _ = cancer
    rng = np.random.default_rng(0)
    acquired, legal = rng.random(X.shape) < 0.3, np.ones((len(X), 32), bool)
    legal[:, :30] = ~acquired
    actions = model.policy_.actions(acquired, X.astype(np.float32), legal)
    assert legal[np.arange(len(X)), actions].all()
    assert (actions >= 30).mean() > 0.9  # it knows no subset as large as these, and answers
    for budget in (0, 1):
        rules = Rules(30, 2, lam=0.02, budget=budget)
        done = model.policy_.trajectories(X, rules)
        assert done.lengths.max() == budget
    with pytest.raises(ValueError, match="groups and classes"):
        model.policy_.trajectories(X, Rules(30, 3))
    with pytest.raises(ValueError, match="shape"):
        model.policy_.trajectories(X[:, :5])


def test_few_questions_and_few_errors(cancer):
    model, X, y = cancer
    result = evaluate(model, Dataset(X[250:], y[250:]), model.rules_)
    assert result.accuracy > 0.92
    assert 0.5 < result.n_features < 4
    literal = DatumWiseClassifier(lam=0.02, n_iterations=4, random_state=0).fit(X[:250], y[:250])
    assert result.loss < evaluate(literal, Dataset(X[250:], y[250:]), model.rules_).loss
    assert model.history_[-1]["subsets"] >= model.history_[-1]["visited"] > 1


def test_the_same_bytes_for_any_number_of_threads(tmp_path):
    X, y = load_wine(return_X_y=True)
    for name, n_jobs in (("one", 1), ("two", 2), ("again", None)):
        LatticeClassifier(lam=0.05, n_jobs=n_jobs, random_state=3).fit(X, y).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_path_is_what_fits_of_its_prices_are(tmp_path):
    X, y = load_wine(return_X_y=True)
    model = LatticeClassifier(budget=3, random_state=0)
    models = model.path(X, y, [0.1, 0.02])
    assert not hasattr(model, "policy_")
    for lam, one in zip((0.1, 0.02), models):
        one.save(tmp_path / "path")
        clone(model).set_params(lam=lam).fit(X, y).save(tmp_path / "fit")
        assert (tmp_path / "path").read_bytes() == (tmp_path / "fit").read_bytes()
    used = [m.features_used(X).sum() for m in models]
    assert used[0] < used[1]
    for wrong in ([], 0.1, ["a"], [[0.1]]):
        with pytest.raises(ValueError, match="lams must be a list"):
            model.path(X, y, wrong)


def test_missing_values_cost_nothing_and_cannot_be_had(cancer):
    _, X, y = cancer
    X = X[:200].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    model = LatticeClassifier(lam=0.02, random_state=0).fit(X, y[:200])
    used = model.features_used(X)
    assert used.any()
    assert not (used & np.isnan(X)).any()
    assert model.score(X, y[:200]) > 0.85
    assert set(model.predict(np.full((2, 30), np.nan))) <= {0, 1}
    with pytest.raises(ValueError, match="missing='error' refuses"):
        clone(model).set_params(missing="error").fit(X, y[:200])


def test_probabilities_tell_how_often_it_is_right():
    X, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(1).permutation(len(y))
    learnt, judged = rows[:285], rows[285:]
    model = LatticeClassifier(lam=0.05, random_state=0).fit(X[learnt], y[learnt])
    P = model.predict_proba(X[judged])
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[judged]))
    assert abs(P.max(axis=1).mean() - model.score(X[judged], y[judged])) < 0.05


# Files


@pytest.mark.parametrize("variant", ["base", "everything", "costs"])
def test_what_was_saved_comes_back(variant, tmp_path):
    dataset, _ = problem(variant, True, n=60)
    X, y = dataset.X, np.array(["low", "mid", "top"])[dataset.y]
    model = LatticeClassifier(random_state=0).set_params(**{"lam": 0.01, **VARIANTS[variant]}).fit(X, y)
    model.save(tmp_path / "model")
    again = load_classifier(tmp_path / "model")
    assert isinstance(again, LatticeClassifier)
    same(again.trajectories(X), model.trajectories(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(again.rules_) == repr(model.rules_)
    again.save(tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(ValueError, match="another kind"):
        DatumWiseClassifier.load(tmp_path / "model")


def test_a_hostile_file_is_refused(cancer, tmp_path):
    model, *_ = cancer
    path = tmp_path / "model"
    model.save(path)
    arrays, header = model_file.read(path, "lattice")
    rng = np.random.default_rng(0)
    for name, array in arrays.items():
        if name.startswith("rules."):
            continue
        for spoilt in (array[:-1], np.zeros(0, array.dtype), array.astype(np.float32)):
            if spoilt.dtype == array.dtype and spoilt.shape == array.shape:
                continue
            model_file.write(path, "lattice", arrays | {name: spoilt}, header)
            with pytest.raises(ValueError, match="damaged"):
                read_policy(path)
        if array.dtype.kind == "i":
            for value in (-1, 10**9, -(10**9)):
                spoilt = array.copy()
                if not spoilt.size:
                    continue
                spoilt.flat[rng.integers(spoilt.size)] = value
                model_file.write(path, "lattice", arrays | {name: spoilt}, header)
                with pytest.raises(ValueError, match="damaged"):
                    read_policy(path)
    model_file.write(path, "lattice", arrays, header)
    assert isinstance(read_policy(path)[0], LatticePolicy)


# Parameters


@pytest.mark.parametrize(("option", "value", "word"), [
    ("lam", -1, "lam"), ("lam", np.nan, "lam"), ("lam", 1e200, "must not add up"), ("budget", -1, "budget"),
    ("budget_cost", 0.5, "below the cheapest"), ("costs", [1, 2], r"shape \(3,\)"), ("groups", [[0, 1]], "cover"),
    ("error_costs", np.zeros((3, 3)), "shape"), ("related", np.eye(3), "needs unrelated_costs"), ("kappa", -1, "kappa"),
    ("kappa", "much", "kappa"), ("beta", 2, "beta"), ("n_jobs", 0, "n_jobs"), ("n_jobs", 0.5, "n_jobs"),
    ("random_state", "x", "random_state"), ("missing", "drop", "missing"),
])  # fmt: skip
def test_parameters_that_make_no_sense_get_a_sentence(option, value, word):
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises((ValueError, TypeError), match=word) as caught:
        LatticeClassifier(**{option: value}).fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("X", [
    np.zeros((8, 3)), np.full((8, 3), np.nan), np.full((8, 3), 3e38), np.eye(8)[:, :3] * 3e38,
    np.where(np.eye(8)[:, :3] == 1, np.nan, -3e38), np.arange(24.0).reshape(8, 3) * 1e-38,
])  # fmt: skip
def test_strange_tables_can_be_learnt(X):
    y = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LatticeClassifier(lam=0.0, random_state=0).fit(X, y)
        assert set(model.predict(X)) <= {0, 1, 2}
        assert np.isfinite(model.predict_proba(np.nan_to_num(X))).all()


def test_before_fit_it_says_so(tmp_path):
    with pytest.raises(NotFittedError):
        LatticeClassifier().predict([[0.0]])
    with pytest.raises(NotFittedError):
        LatticeClassifier().save(tmp_path / "nothing")


@parametrize_with_checks([LatticeClassifier(random_state=0), LatticeClassifier(budget=2, random_state=0)])
def test_contract(estimator, check):
    check(estimator)


WIDE = RULES | {
    "budget_cost": {"lam": 0.005, "costs": np.linspace(2, 1, 12).round(1), "budget_cost": 5},
    "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, 12), "error_costs": [[0, 3], [1, 0]]},
    "groups": {"lam": 0.03, "groups": [[2 * i, 2 * i + 1] for i in range(6)]},
    "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": np.eye(12, k=1) + np.eye(12, k=-1)},
    "prerequisites": {"lam": 0.02, "prerequisites": np.eye(12, k=-1) * (np.arange(12) % 2 == 1)[:, None]},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rules", WIDE)
@pytest.mark.parametrize("name", ["naive Bayes", "decision list", "multiplexer"])
def test_large_samples_of_twelve_features_come_close_to_the_optimum(name, rules):
    joint = PROBLEMS[name](12)
    X, y = draw(joint, 20_000, 0)
    model = LatticeClassifier(**WIDE[rules], random_state=0).fit(X, y)
    assert expected_loss(model.policy_, joint, model.rules_) <= optimum(joint, model.rules_) + 0.01
