"""The parts of the lattice agent against plain references: boosting, regression, screening, sweep, inference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.datasets import load_wine

from agents import LatticeClassifier
from agents.lattice import growth
from agents.lattice.nodes import Lattice, Moves, extended
from agents.lattice.subset_classifier import _best_blend, _best_temperature, cross_fit, fit_classifier, fit_logistic
from agents.lattice.sweep import EXPECTED_ERROR, StateFeatures, SweepPolicy, n_cells
from agents.lattice.training_data import TrainingData, bins_of, columns_of, fit_basis, prepare_data, stratified_folds
from agents.parallel import run_serially
from fsgym import Dataset, Rules
from fsgym.trees.boosting import MAX_DEPTH, Growth, boost, boost_folds
from support.rcpi_twin import VARIANTS, options_of, problem
from support.reference import ReferenceProcess


def training_data(X, y, seed=0, n_folds=3) -> TrainingData:
    y = np.asarray(y)
    folds = stratified_folds(y, n_folds, np.random.default_rng(seed))
    return TrainingData(np.asarray(X, np.float32), y.astype(np.int64), int(y.max()) + 1, folds, seed)


def test_one_tree_is_the_best_of_all_cuts():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 6, (3, 200)).astype(np.uint8), rng.integers(0, 2, 200)
    y[codes[1] > 3] = 1
    weight = rng.uniform(0.5, 2, 200)
    sampled = rng.random((1, 200)) < 0.7
    train, scores = np.arange(0, 200, 2), np.full((200, 1), 0.3)
    forest = boost(codes, y, train, weight, scores, np.array([[0, 1, 2]]), sampled, Growth(depth=1, rate=0.1))
    rows = train[sampled[0, train]]
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
def test_boosting_scores_held_out_rows_as_its_trees_do(n_classes):
    rng = np.random.default_rng(1)
    codes, y = rng.integers(0, 20, (4, 150)).astype(np.uint8), rng.integers(0, n_classes, 150)
    n_outputs = 1 if n_classes == 2 else n_classes
    scores = np.zeros((150, n_outputs))
    columns, sampled = np.tile(np.arange(4), (6 * n_outputs, 1)), rng.random((6, 150)) < 0.6
    forest = boost(codes, y, np.arange(100), np.ones(150), scores, columns, sampled, Growth(depth=3, rate=0.3))
    again = np.zeros_like(scores)
    for t in range(len(columns)):
        for i in range(150):
            v = 0
            while v < 7:
                v = 2 * v + 1 + int(codes[forest.feature[t, v], i] > forest.cut[t, v])
            again[i, t % n_outputs] += forest.value[t, v - 7]
    np.testing.assert_allclose(scores, again)
    changed = y.copy()
    changed[100:] = 0
    other = np.zeros_like(scores)
    boost(codes, changed, np.arange(100), np.ones(150), other, columns, sampled, Growth(depth=3, rate=0.3))
    np.testing.assert_array_equal(other, scores)


def plain_boost(codes, y, rows, weight, start, columns, sampled, growth):
    """Boosting without compiled code, sums over all rows of a node for each cut: features, cuts, values and scores."""
    n_outputs, n_nodes = len(start), 2**growth.depth - 1
    scores, trees = np.tile(start, (len(y), 1)), []
    for t, tree_columns in enumerate(columns):
        k = t % n_outputs
        if k == 0:
            P = softmax(scores, axis=1) if n_outputs > 1 else 1 / (1 + np.exp(-scores))
        g = weight * ((y == (1 if n_outputs == 1 else k)) - P[:, k])
        h = weight * np.maximum(P[:, k] * (1 - P[:, k]), 1e-6)
        drawn = np.isin(np.arange(len(y)), rows) & sampled[t // n_outputs]
        feature, cut, node = np.zeros(n_nodes, int), np.full(n_nodes, 255), np.zeros(len(y), int)

        def worth(part, g=g, h=h):
            return g[part].sum() ** 2 / (h[part].sum() + growth.l2)

        for v in range(n_nodes):
            here = drawn & (node == v)
            best = worth(here) + 1e-9
            for f in tree_columns:
                for b in range(codes[f].max()):
                    left, right = here & (codes[f] <= b), here & (codes[f] > b)
                    gain = worth(left) + worth(right)
                    if min(weight[left].sum(), weight[right].sum()) >= growth.least and gain > best:
                        best, feature[v], cut[v] = gain, f, b
            node = np.where(node == v, 2 * v + 1 + (codes[feature[v]] > cut[v]), node)
        leaves = [drawn & (node == n_nodes + v) for v in range(n_nodes + 1)]
        value = np.array([growth.rate * g[leaf].sum() / (h[leaf].sum() + growth.l2) for leaf in leaves])
        scores[:, k] += value[node - n_nodes]
        trees.append((feature, cut, value))
    return *map(np.stack, zip(*trees)), scores


@pytest.mark.parametrize("n_classes", [2, 4])
def test_boosting_grows_the_trees_of_a_plain_reference(n_classes):
    rng = np.random.default_rng(2)
    n_outputs, growth = 1 if n_classes == 2 else n_classes, Growth(depth=3, rate=0.3, least=8.0)
    codes, y = rng.integers(0, [[2], [5], [12], [1], [30]], (5, 240)).astype(np.uint8), rng.integers(0, n_classes, 240)
    y[(codes[2] > 6) & (codes[4] < 20)] = 1
    rows, weight, start = np.flatnonzero(rng.random(240) < 0.8), rng.uniform(0.5, 2, 240), rng.normal(size=n_outputs)
    columns = np.stack([rng.permutation(5)[:3] for _ in range(4 * n_outputs)])
    sampled, scores = rng.random((4, 240)) < 0.7, np.tile(start, (240, 1))
    forest = boost(codes, y, rows, weight, scores, columns, sampled, growth)
    feature, cut, value, expected = plain_boost(codes, y, rows, weight, start, columns, sampled, growth)
    np.testing.assert_array_equal(forest.feature, feature)
    np.testing.assert_array_equal(forest.cut, cut)
    np.testing.assert_allclose(forest.value, value, atol=1e-12)
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    assert (cut < 255).mean() > 0.5


@pytest.mark.parametrize("n_classes", [2, 4])
def test_out_of_fold_scores_are_those_of_boosting_without_each_fold(n_classes):
    rng = np.random.default_rng(3)
    n_outputs, growth = 1 if n_classes == 2 else n_classes, Growth(depth=4, rate=0.3, least=2.0)
    codes, y = rng.integers(0, [[2], [25], [9]], (3, 120)).astype(np.uint8), rng.integers(0, n_classes, 120)
    fold, weight, start = rng.integers(0, 4, 120), rng.choice([0.05, 1, 0.7], 120), rng.normal(size=(4, n_outputs))
    columns = np.stack([rng.permutation(3)[:2] for _ in range(5 * n_outputs)])
    sampled = rng.random((5, 120)) < 0.5
    found = boost_folds(codes, y, fold, weight, start, columns, sampled, growth)
    for f in range(4):
        scores = np.tile(start[f], (120, 1))
        boost(codes, y, np.flatnonzero(fold != f), weight, scores, columns, sampled, growth)
        np.testing.assert_array_equal(found[fold == f], scores[fold == f])


def test_deeper_trees_than_a_byte_can_number_are_refused():
    codes, columns, sampled = np.zeros((1, 4), np.uint8), np.zeros((1, 1), np.int64), np.ones((1, 4), bool)
    growth = Growth(MAX_DEPTH + 1, 0.1)
    with pytest.raises(ValueError, match="at most 7 levels and 256 columns, got 8 and 1"):
        boost(codes, np.arange(4) % 2, np.arange(4), np.ones(4), np.zeros((4, 1)), columns, sampled, growth)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_reaches_the_optimum_of_a_general_solver(n_classes):
    rng = np.random.default_rng(0)
    H, y = rng.normal(size=(120, 4)), rng.integers(0, n_classes, 120)
    H[:, 0] += y
    Y, weights = np.eye(n_classes)[y], np.stack([np.ones(120), np.arange(120) % 3 > 0]).astype(float)
    theta = fit_logistic(H, Y, weights)
    ridge = np.repeat([1e-3, 2.0 if n_classes == 2 else 0.3], [1, 4])[:, None]

    def objective(flat, w):
        t = flat.reshape(5, n_classes)
        P = softmax(t[0] + H @ t[1:], axis=-1)
        return -(w * np.log(P[np.arange(120), y])).sum() + 0.5 * (ridge * t * t).sum()

    for t, w in zip(theta, weights):
        best = minimize(objective, np.zeros(5 * n_classes), args=(w,)).fun
        assert objective(t.ravel(), w) <= best + 1e-3


def plain_logistic(H, Y, w):
    """The same accelerated steps in NumPy, for one model with a column of coefficients for each class."""
    n_classes = Y.shape[1]
    A, labels = np.column_stack([np.ones(len(H)), H]), Y[:, 1:] if n_classes == 2 else Y
    ridge = np.repeat([5e-4, 1.0] if n_classes == 2 else [1e-3, 0.3], [1, H.shape[1]])
    inverse = np.linalg.inv((0.25 if n_classes == 2 else 0.5) * (A.T * w) @ A + np.diag(ridge))
    theta = ahead = np.zeros((A.shape[1], labels.shape[1]))
    momentum = 1.0
    for _ in range(30):
        scores = A @ ahead
        P = 1 / (1 + np.exp(-scores)) if n_classes == 2 else softmax(scores, axis=1)
        gradient = A.T @ (w[:, None] * (labels - P)) - ridge[:, None] * ahead
        new = ahead + inverse @ gradient
        before = 1.0 if (gradient * (new - theta)).sum() < 0 else momentum
        momentum = 0.5 + np.sqrt(0.25 + before**2)
        theta, ahead = new, new + (before - 1) / momentum * (new - theta)
    return np.column_stack([-0.5 * theta, 0.5 * theta]) if n_classes == 2 else theta


@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_regressions_fitted_together_are_those_of_plain_steps(n_classes):
    rng = np.random.default_rng(4)
    H, y = rng.normal(size=(330, 7)), rng.integers(0, n_classes, 330)  # more rows than are in the cache together
    H[:, 0] += y
    folds = rng.integers(0, 3, 330) != np.arange(3)[:, None]
    weights = np.vstack([folds * rng.choice([0.05, 1.0], 330), rng.uniform(0, 2, 330)])
    theta = fit_logistic(H, np.eye(n_classes)[y], weights)
    for found, w in zip(theta, weights):
        np.testing.assert_allclose(found, plain_logistic(H, np.eye(n_classes)[y], w), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_blend_and_temperature_have_the_lowest_log_loss(n_classes):
    rng = np.random.default_rng(5)
    y, weight = rng.integers(0, n_classes, 300), rng.uniform(0.5, 2, 300)
    scores = [np.eye(n_classes)[y] + rng.normal(0, noise, (300, n_classes)) for noise in (1.0, 0.8)]
    models = [softmax(scores[0], axis=1), None, softmax(scores[1], axis=1)]

    def log_loss(proba):
        return -np.average(np.log(proba[np.arange(300), y]), weights=weight)

    losses = {b: log_loss((b * models[0] + (4 - b) * models[2]) / 4) for b in (1, 2, 3)}
    blend = _best_blend(models, y, weight, 1)
    assert blend.tolist() == [min(losses, key=losses.get) / 4, 0, 1 - min(losses, key=losses.get) / 4]
    log_proba = 6 * np.log(sum(b * p for b, p in zip(blend, models) if p is not None))
    by_temperature = {t: log_loss(softmax(log_proba / t, axis=1)) for t in (1.0, 1.5, 2.0, 3.0, 5.0, 9.0)}
    best = _best_temperature(log_proba, y, weight, tuple(by_temperature))
    assert best == min(by_temperature, key=by_temperature.get) > 1


def test_hinges_and_bins_agree_with_a_plain_reference():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300), np.full(300, 7.0), rng.integers(0, 9, 300)])
    X = X.astype(np.float32)
    X[::7, 0] = np.nan
    basis = fit_basis(X, 24)
    columns, codes = columns_of(basis, X, np.arange(4)), bins_of(basis, X)
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


def test_score_statistics_are_those_of_the_score_test():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    X[:, 3] += y
    data, rules = training_data(X, y), Rules(5, 2)
    P = np.tile(data.class_shares(), (400, 1))
    statistic = growth.score_statistics(data, rules, P, np.ones(400))
    x = data.columns(np.array([3]))[:, 0, 0]
    u = ((y - y.mean()) * x).sum() / 400
    information = y.mean() * (1 - y.mean()) * ((x - x.mean()) ** 2).mean()
    assert statistic.argmax() == 3
    assert statistic[3] >= 2 * u * u / (information + 1 / 400) * (1 - 1e-3)  # sums by bin
    assert statistic[[0, 1, 2, 4]].max() < 0.3 * statistic[3]


def test_a_context_is_found_although_it_is_uninformative_on_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    X[:, 5] = rng.integers(0, 2, 2000)
    y = np.where(X[:, 5] == 1, X[:, 0] > 0, X[:, 1] > 0).astype(int)
    data, rules = training_data(X, y), Rules(8, 2)
    P = np.tile(data.class_shares(), (2000, 1))
    assert growth.score_statistics(data, rules, P, np.ones(2000))[5] < 0.02
    assert growth.context_gains(data, rules, P).argmax() == 5
    X[:, 6] = 1 - X[:, 5]  # one category in two columns
    data, rules = training_data(X, y), Rules(8, 2, groups=[[0], [1], [2], [3], [4], [5, 6], [7]])
    assert growth.context_gains(data, rules, P).argmax() == 5


def test_pairs_and_triples_that_are_informative_only_together_are_found():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (1000, 7)), rng.normal(size=(1000, 3))]).astype(float)
    noise = rng.random(1000) < 0.1
    P = np.full((1000, 2), 0.5)

    def found(y, **options):
        return growth.find_interactions(training_data(X, y ^ noise), Rules(10, 2, **options), P)

    parity = X[:, [1, 4, 6]].sum(axis=1) % 2 == 1
    assert found(parity) == [(1, 4, 6)]
    assert found(parity, groups=[[0, 1, 4], [2, 3], [5, 6], [7, 8, 9]]) == [(0, 2)]
    assert found(parity, groups=[[0, 1, 4, 6], [2, 3], [5], [7, 8, 9]]) == []
    assert found(X[:, 7] * X[:, 8] > 0) == [(7, 8)]
    assert found(X[:, 2] == 1) == []  # a pair is no better than the single feature
    assert found(rng.random(1000) < 0.5) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_legal_acquisitions_and_prices_agree_with_the_twin(variant):
    dataset, rules = problem(variant, False)
    moves = Moves(rules)
    twin = ReferenceProcess(dataset.n_features, dataset.n_classes, options_of(variant))
    queue, visited = [()], set()
    while queue:
        order = queue.pop()
        z = extended((), order)
        if z in visited:
            continue
        visited.add(z)
        legal, prices = moves.at(z)
        if rules.related is None or rules.budget_cost is None:  # else what was spent depends on the order
            np.testing.assert_array_equal(legal, twin.mask(order)[: rules.n_acquisitions])
        for j in np.flatnonzero(legal).tolist():
            assert prices[j] == pytest.approx(rules.lam * twin.price(j, order))
            queue.append((*order, j))
    assert len(visited) > rules.n_acquisitions
    for j in range(rules.n_acquisitions):
        path = moves.path((), j)
        if path is not None:
            price = twin.spent(path[0])
            assert path[1] == pytest.approx(rules.lam * price)
            assert all(twin.is_legal(k, path[0][:i]) for i, k in enumerate(path[0]))


def test_a_path_includes_a_related_acquisition_that_makes_its_end_cheaper():
    chain = abs(np.subtract.outer(range(4), range(4))) == 1
    relations = {"related": chain, "empty_is_related": False}
    moves = Moves(Rules(4, 2, lam=1.0, costs=[1, 2, 1, 9], unrelated_costs=[2, 8, 3, 30], **relations))
    assert moves.path((), 0) == ((0,), 2)
    assert moves.path((), 1) == ((0, 1), 4)
    assert moves.path((0,), 2) == ((2,), 3)  # the same price as over 1, and shorter
    assert moves.path((), 3) == ((2, 3), 12)
    forbidden = Moves(Rules(4, 2, lam=1.0, unrelated_costs="forbid", related=chain))
    assert forbidden.path((0,), 2) == ((1, 2), 2)
    assert forbidden.path((0,), 3) is None  # one more would be needed


@pytest.mark.parametrize(
    ("options", "base", "order", "union"),
    [
        ({"prerequisites": {"x0": ["x1"]}}, (), [0, 1, 2, 3], (0, 1, 2, 3)),
        ({"costs": [0, 1, 1, 1]}, (0,), [1, 0, 2, 3], (1, 2, 3)),
    ],
    ids=["prerequisite", "base"],
)
def test_a_union_goes_on_after_what_it_has_already(options, base, order, union):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    lattice = Lattice(
        training_data(rng.normal(size=(200, 4)) + y[:, None], y), Rules(4, 2, **options), 0.0, run_serially, base=base
    )
    node = lattice.add_union((), order)
    assert node is not None
    assert node.subset == union


def test_values_of_a_sweep_are_the_losses_of_following_its_policy():
    X, y = load_wine(return_X_y=True)
    data, rules = training_data(X, y), Rules(13, 3, lam=0.02)
    lattice = Lattice(data, rules, 0.5, run_serially)
    lattice.add_acquisitions((), range(13))
    lattice.add_acquisitions((12,), range(13))
    lattice.add_union((6,), [0, 9, 12])
    policy = SweepPolicy(lattice, SweepPolicy(lattice, None))
    losses, full_model = np.zeros(len(y)), cross_fit(data, np.arange(13)).proba
    for row in range(len(y)):
        z = ()
        while policy.choices[z].next_child[row] >= 0:
            _, z, price = policy.choices[z].children[policy.choices[z].next_child[row]]
            losses[row] += price
        P = lattice.nodes[z].cross_fit.proba[row]
        expected = 1 - P.max(), 1 - full_model[row, P.argmax()]
        losses[row] += 0.5 * (P.argmax() != y[row]) + 0.5 * np.dot((0.75, 0.25), expected)
        assert policy.arrivals[z][row]
    np.testing.assert_allclose(policy.choices[()].value, losses, rtol=1e-5)
    assert policy.loss < 0.3


@pytest.mark.slow
def test_no_classifier_is_fitted_to_thousands_of_features_at_once():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3000)), np.arange(60) % 2
    data, rules = training_data(X + y[:, None] * (np.arange(3000) == 7), y), Rules(3000, 2, lam=1e-6)
    lattice = Lattice(data, rules, 1.0, run_serially)
    assert lattice.full_model_proba is None
    assert lattice.add_union((), range(3000)) is None
    few = Lattice(training_data(X[:, :20], y), Rules(20, 2), 1.0, run_serially)
    np.testing.assert_array_equal(few.full_model_proba, few.classifiers[tuple(range(20))].proba)
    assert len(few.nodes) == 1


def test_probabilities_of_a_row_do_not_depend_on_its_label():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 2
    folds = np.arange(90) // 2 % 3
    out = folds == 1
    fits = []
    for labels in (y, np.where(out, 1 - y, y)):
        data = TrainingData(X.astype(np.float32), labels, 2, folds, 0)
        scores = fit_logistic(data.columns(np.array([0]))[:, 0], data.onehot, np.where(out, 0.0, 1.0)[None])
        fits.append((scores, cross_fit(data, np.array([0]))))
    np.testing.assert_array_equal(fits[0][0], fits[1][0])
    one, other = (f[1] for f in fits)
    if one.blend.tolist() == other.blend.tolist() and one.temperature == other.temperature:
        np.testing.assert_array_equal(one.proba[out], other.proba[out])


def test_compiled_inference_agrees_with_the_classifiers_of_the_subsets():
    X, y = load_wine(return_X_y=True)
    model = LatticeClassifier(lam=0.03, unknown=0, random_state=0).fit(X, y)
    policy, done = model.policy_, model.trajectories(X)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    data = prepare_data(Dataset(X, y), np.random.default_rng(0))  # the same as in the model's fit
    for v in np.unique(policy.taken, axis=0)[:4]:
        features = np.flatnonzero(v)
        rows = (done.acquired == v).all(axis=1)
        if not rows.any() or not len(features):
            continue
        place = int((policy.taken == v).all(axis=1).argmax())
        cross_fitted = cross_fit(data, features)._replace(
            blend=policy.plan.blend[place], temperature=float(policy.plan.temperature[place])
        )
        classifier = fit_classifier(data, features, cross_fitted)
        H = data.columns(features).reshape(len(X), -1)
        logistic = softmax(classifier.coefficients[0] + H @ classifier.coefficients[1:], axis=-1)
        scores, forest = np.tile(classifier.start_score, (len(X), 1)), classifier.boosted
        for t, value in enumerate(forest.value):
            node = np.zeros(len(X), int)
            for _ in range(4):
                codes = data.codes[features[forest.feature[t, node]], np.arange(len(X))]
                node = 2 * node + 1 + (codes > forest.cut[t, node])
            scores[:, t % 3] += value[node - 15]
        P = classifier.blend[0] * softmax(scores, axis=-1) + classifier.blend[1] * logistic
        expected = softmax(np.log(P) / classifier.temperature, axis=-1)
        np.testing.assert_allclose(proba[rows], expected[rows], atol=1e-9)


def test_cells_of_values_are_counted_up_to_a_limit():
    assert n_cells(np.array([2, 3, 4])) == 24
    assert n_cells(np.array([8, 9])) == 0
    assert n_cells(np.full(300, 255)) == 0  # the product is beyond the largest float
    assert n_cells(np.array([], np.int64)) == 0


# What going on costs where all rows go on


@pytest.mark.parametrize(("slope", "spread", "remains"), [(0, 1, 0.2), (1, 0, 1), (2, 1, 1.1)])
def test_a_cost_is_shrunk_to_its_mean_as_far_as_folds_cannot_predict_it(slope, spread, remains):
    """``remains`` is the share of the error without shrinking, at most."""
    rng, n, every, least = np.random.default_rng(0), 400, np.ones((400, 1), bool), np.full(1, -100.0)
    fitted, new = (np.column_stack([np.ones(n), rng.uniform(size=n), rng.normal(size=(n, 40))]) for _ in range(2))
    features = StateFeatures(fitted, np.full(42, 1e-6), np.array_split(np.arange(n), 5))
    cost = 3 + slope * fitted[:, 2] + spread * rng.normal(size=n)
    advantage = (cost - fitted[:, EXPECTED_ERROR])[:, None]
    plain = features.fit(advantage, np.ones(n), every)
    shrunk = features.fit_shrunk(advantage, np.ones(n), every, least)
    truth = 3 + slope * new[:, 2] - new[:, EXPECTED_ERROR]
    errors = [np.sqrt(((new @ theta[:, 0] - truth) ** 2).mean()) for theta in (plain, shrunk)]
    assert errors[1] <= remains * errors[0] + 1e-9
    np.testing.assert_array_equal(features.fit_shrunk(advantage, np.ones(n), ~every, least), np.zeros((42, 1)))
