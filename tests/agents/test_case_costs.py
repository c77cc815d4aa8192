"""Agents that plan with the prices of the case; all others refuse them in one sentence, or plan by the means."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import fsgym
from agents import RCPI, AdaptiveClassifier, DatumWiseClassifier, LatticeClassifier, MixtureClassifier
from agents.adaptive.case_prices import CasePricedPolicy, frequent_vectors
from agents.adaptive.classifier import _learner_by_case
from agents.calibration import read_policy
from agents.tradeoff import TrainingTask
from fsgym import Dataset, Rules, exact
from fsgym.comparison.cell import fit_on
from fsgym.comparison.compared import MEAN_PRICES, compared_methods
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import random_splits
from fsgym.envs.env import DatumWiseEnv
from fsgym.methods import METHODS, load_class
from fsgym.session.row_steps import RowCases, steps_of_rows
from support.changed_policies import ChangedPolicies, ask_reference
from support.exported_policies import cases_of, check_interpreters, import_document, needs_node
from support.refusals import one_sentence, refused

NAMES = ["scan", "blood", "noise", "age"]


def two_equal_features(n: int, seed: int, kind: str = "swapped") -> Dataset:
    """Scan and blood show the same, at prices that only the case says."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    shown = np.where(rng.random(n) < 0.1, 1 - y, y)
    X = np.stack([shown, shown, rng.integers(0, 2, n), rng.normal(size=n)], axis=1)
    prices = np.ones((n, 4))
    if kind == "swapped":
        prices[np.arange(n), rng.integers(0, 2, n)] = 4.0
    else:
        prices = rng.uniform(0.5, 5.0, (n, 4))
    labels = np.array(["ill", "well"])[y]
    return Dataset(X.astype(np.float32), labels, feature_names=NAMES, case_costs=prices)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    data = two_equal_features(600, 0)
    return {
        "mixture": MixtureClassifier(lam=0.03, random_state=0).fit(data),
        "lattice": AdaptiveClassifier(lam=0.03, learner="lattice", random_state=0).fit(data),
    }


def test_the_learner_is_that_of_the_policy_at_the_prices(models):
    model, frequent = models["lattice"], two_equal_features(600, 0).case_costs
    assert frequent is not None
    assert (model.learner_, model.at_prices(frequent[0]).learner_) == ("lattice", "lattice")
    assert model.at_prices([3, 2, 1, 1]).learner_ == "mixture"


def test_a_limit_at_one_of_several_vectors_of_prices_is_one_of_the_model():
    """It was that of the vector that was trained last."""

    @contextmanager
    def make(task):
        limits = iter(["subsets", None])

        def learn_at(rules):
            usage, losses = {"features": 1.0, "cost": 1.0}, np.zeros(task.dataset.n_samples)
            made = {"rules": rules, "usage": lambda: usage, "row_losses": lambda: losses}
            return SimpleNamespace(**made, limited_by=next(limits, None))

        def finish(model, result):
            model.limited_by_ = result.limited_by
            return SimpleNamespace(rules=result.rules)

        yield SimpleNamespace(learn_at=learn_at, finish=finish)

    data, model = two_equal_features(100, 0), SimpleNamespace()
    rules = Rules.for_dataset(data, lam=0.01)
    task = TrainingTask(data, None, rules, np.random.default_rng(0))
    with ExitStack() as stack:
        choosing = _learner_by_case(task, {"lattice": make}, stack)
        choosing.finish(model, choosing.learn_at(rules))
    assert model.limited_by_ == model.report_.limited_by == "subsets"


def share_of_cheaper(model: Any, data: Dataset) -> float:
    order = model.trajectories(data).order
    assert data.case_costs is not None
    return float((order[:, 0] == data.case_costs[:, :2].argmin(axis=1)).mean())


@pytest.mark.parametrize("name", ["mixture", "lattice"])
@pytest.mark.one_in(2)
def test_the_cheaper_of_two_equal_features_is_taken(models, name):
    data = two_equal_features(1000, 1)
    assert share_of_cheaper(models[name], data) >= 0.95
    result = fsgym.evaluate(models[name], data)
    assert result.spent == pytest.approx(result.n_acquisitions, rel=0.05)  # the price is 1 where it is cheap


def test_also_where_each_case_has_other_prices():
    model = AdaptiveClassifier(lam=0.03, random_state=0).fit(two_equal_features(600, 0, "all different"))
    assert share_of_cheaper(model, two_equal_features(1000, 1, "all different")) >= 0.95
    left = {trial.learner: trial.left for trial in model.report_.trials}
    assert "left out" in left["lattice"]
    assert "left out" in left["network"]
    assert model.learner_ == "mixture"
    assert "mixture alone" in model.report_.reason


@pytest.mark.parametrize("name", ["mixture", "lattice"])
def test_what_is_not_paid_changes_nothing(models, name):
    data = two_equal_features(200, 2)
    model = models[name]
    done = model.trajectories(data)
    hidden = np.where(done.acquired, data.X, np.float32(1) - data.X)
    again = model.trajectories(data.replace(X=hidden, bounds=data.bounds))
    np.testing.assert_array_equal(done.order, again.order)
    np.testing.assert_array_equal(done.answers, again.answers)


@pytest.mark.parametrize("name", ["mixture", "lattice"])
def test_a_case_of_these_prices_is_asked_as_its_row_is_classified(models, name, tmp_path):
    model, data = models[name], two_equal_features(6, 3)
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    assert loaded.rules_.costs_by_case
    assert loaded.policy_digest() == model.policy_digest()
    done, case_costs = model.trajectories(data), data.case_costs
    np.testing.assert_array_equal(loaded.trajectories(data).order, done.order)
    assert case_costs is not None
    for i in range(data.n_samples):
        prices = dict(zip(NAMES, case_costs[i].tolist(), strict=True))
        session = loaded.session(prices=prices)
        asked = []
        while question := session.next():
            assert question.price == prices[question.name]
            asked.append(NAMES.index(question.name))
            session.answer(question.name, float(data.X[i, asked[-1]]))
            again = loaded.resume(session.to_json())
            assert (again.step, again.spent) == (session.step, session.spent)
        assert asked == [j for j in done.order[i].tolist() if j >= 0]
        assert session.stop() == data.classes[done.answers[i]]
        assert session.spent == pytest.approx(case_costs[i, asked].sum())
    (row,) = (done.to_frame().query("row == 0 and step == 0").itertuples(),)
    assert next(row).price == case_costs[0, done.order[0, 0]]


def test_prices_that_nobody_tells_are_the_means(models):
    model = models["mixture"]
    mean = model.rules_.costs
    assert {a.name: a.price for a in model.step({}).alternatives} == dict(zip(NAMES, mean.tolist(), strict=True))
    rows = two_equal_features(50, 4).replace(case_costs=None)
    np.testing.assert_array_equal(model.predict(rows), model.at_prices().predict(rows))
    assert model.at_prices({"scan": 0.0}).rules_.costs.tolist() == [0.0, *mean[1:].tolist()]
    assert model.step({}, prices={"scan": 0.0}).question.name == "scan"
    assert model.step({}, prices={"blood": 0.0}).question.name == "blood"


def test_one_price_of_all_cases_is_the_price_of_the_feature():
    data = two_equal_features(300, 0)
    costs = [2.0, 1.0, 1.0, 0.5]
    constant, by_feature = data.replace(case_costs=np.tile(costs, (300, 1))), data.replace(costs=costs)
    fitted = [MixtureClassifier(lam=0.03, random_state=0).fit(rows) for rows in (constant, by_feature)]
    assert fitted[0].policy_digest() == fitted[1].policy_digest()
    assert not fitted[0].rules_.costs_by_case


def test_prices_given_to_the_classifier_win(models):
    data = two_equal_features(100, 0)
    model = MixtureClassifier(lam=0.03, costs=data.costs, random_state=0).fit(data)
    assert not model.rules_.costs_by_case
    with pytest.raises(ValueError, match="trained with prices by case"):
        model.session(prices={"scan": 2.0})


@pytest.mark.parametrize("prices", [{"scam": 1.0}, {"scan": -1.0}, {"scan": "much"}, {"scan": True}, [1.0]])
def test_prices_that_are_none_are_refused(models, prices):
    with pytest.raises((ValueError, TypeError), match="prices"):
        models["mixture"].at_prices(prices)
    with pytest.raises(TypeError, match="prices of 'scan' must be a number, got True"):
        models["mixture"].step({}, prices={"scan": True})


def test_what_needs_one_price_for_each_acquisition_says_so(models, tmp_path):
    for model in models.values():
        with pytest.raises(ValueError, match=r"model\.at_prices"):
            model.calibrate(two_equal_features(300, 5), target_error=0.3)
        exported = json.loads(model.at_prices({"scan": 7.0}).policy_json())
        assert {a["name"]: a["price"] for a in exported["acquisitions"]}["scan"] == 7.0
        model.at_prices({"scan": 7.0}).save(tmp_path / "one")
        assert type(model).load(tmp_path / "one").rules_.costs[0] == 7.0
    with pytest.raises(ValueError, match=r"known must name columns that cost 0 in .* got a mean price of 1 for 'age'"):
        MixtureClassifier(known=["age"]).fit(two_equal_features(100, 0))
    with pytest.raises(ValueError, match="learner='network' cannot plan"):
        AdaptiveClassifier(learner="network").fit(two_equal_features(100, 0))


@needs_node
@pytest.mark.parametrize("name", ["mixture", "lattice"])
@pytest.mark.one_in(2)
def test_columns_that_are_free_in_every_row_may_always_be_known(name, tmp_path):
    """They were refused with prices by case, so that a list which has them was not what evaluate measured."""
    data = two_equal_features(600, 0)
    data = data.replace(case_costs=data.case_costs * [1, 1, 0, 0])
    kind = MixtureClassifier if name == "mixture" else partial(AdaptiveClassifier, learner=name)
    model = kind(lam=0.03, random_state=0, known=["age"]).fit(data)
    rows = two_equal_features(300, 1)
    rows = rows.replace(case_costs=rows.case_costs * [1, 1, 0, 0])
    done = model.trajectories(rows)
    assert (done.order[:, 0] == 3).all()
    dear = rows.case_costs[:, :2].argmax(axis=1)
    assert done.acquired[:, :2].any(axis=1).mean() >= 0.95
    assert done.acquired[np.arange(300), dear].mean() <= 0.05
    full, paid = rows.to_frame()[NAMES], np.zeros(300)
    shown = full.assign(scan=np.nan, blood=np.nan, noise=np.nan)
    for _ in range(4):  # as a list of ``fsgym predict --next`` is filled in
        steps = steps_of_rows(model, RowCases.of(model, shown, rows.case_costs))
        for i in np.flatnonzero(steps.question >= 0).tolist():
            shown.iat[i, steps.question[i]] = full.iat[i, steps.question[i]]
            paid[i] += steps.price[i]
    assert (steps.question == -1).all()
    assert (steps.answers == done.answers).all()
    assert paid.mean() == pytest.approx(fsgym.evaluate(model, rows).spent)
    model.save(tmp_path / "model")
    assert (type(model).load(tmp_path / "model").trajectories(rows).order == done.order).all()
    cases = cases_of(model, full, 24)
    told: list[Any] = [None, {"scan": 4.0, "blood": 1.0}, {"blood": 4.0, "scan": 1.0}, {"age": 2.0}]
    check_interpreters(model, [c._replace(prices=told[k % len(told)]) for k, c in enumerate(cases)])


@needs_node
@pytest.mark.parametrize("name", ["mixture", "lattice"])
@pytest.mark.one_in(2)
def test_an_exported_policy_asks_at_the_prices_of_the_case_as_a_session_does(models, name):
    model, rng = models[name], np.random.default_rng(0)
    table = two_equal_features(60, 7).to_frame()[NAMES]
    cases = cases_of(model, table, 48)
    told: list[Any] = [None, {"scan": 4.0, "blood": 1.0}, {"blood": 4.0, "scan": 1.0}]
    told += [{str(rng.choice(NAMES)): float(rng.uniform(0, 6)), "scan": float(rng.uniform(0, 6))} for _ in range(9)]
    told += [{"age": 0.0}, {"noise": 0.0, "age": 0.0, "scan": 400.0, "blood": 400.0}]
    steps = check_interpreters(model, [c._replace(prices=told[k % len(told)]) for k, c in enumerate(cases)])
    assert {"scan", "blood", None} <= {step["question"] for one in steps for step in one}


@needs_node
def test_an_exported_policy_with_prices_by_case_that_is_damaged_is_refused(models):
    plain, asking = json.loads(models["lattice"].policy_json()), ChangedPolicies({}, 0)
    parts, usual = plain["policies"], plain["acquisitions"]
    assert [part["kind"] for part in parts] == ["lattice", "lattice", "mixture"]
    damaged = [
        {"policies": []},
        {"policies": parts * 4},
        {"policies": [*parts[:2], plain]},
        {"policies": 5},
        {"acquisitions": [{**one, "price": -1} for one in usual]},
        {"rules": plain["rules"] | {"costs_by_case": False}},
    ]
    try:
        for change in ({}, *damaged):
            text = json.dumps(plain | change)
            said = [ask_reference(text), asking.ask_node(text.encode())]
            assert [one == "used" for one in said] == [not change] * 2, change
    finally:
        asking.stop_node()
    read, kinds = import_document("interpret_policy").read_policy, import_document("interpret_other_policies").KINDS
    for prices in ({"scam": 1.0}, {"scan": -1.0}):
        refused(ValueError, "prices must be 0 or more, of", json.dumps(plain), kinds, prices, call=read)
    one = models["mixture"].at_prices({"scan": 7.0}).policy_json()
    refused(ValueError, "one price for each acquisition", one, kinds, {"scan": 1.0}, call=read)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.extra])
def test_every_method_plans_with_them_or_refuses_or_takes_no_prices(name):
    cls = load_class(METHODS[name])
    data = two_equal_features(60, 0)
    if getattr(cls, "takes_case_costs", False):
        assert name in ("adaptive", "mixture")
    elif hasattr(cls, "labelled_dataset"):
        with pytest.raises(ValueError, match=r"plans with one price for each acquisition.*costs=data\.costs"):
            cls().fit(data)
    else:
        with pytest.raises((ValueError, TypeError)):  # it takes no Dataset
            cls().fit(data, data.y)


@pytest.mark.filterwarnings("ignore")
def test_compare_marks_those_that_plan_by_the_means_and_pays_the_prices_of_the_case():
    data = two_equal_features(200, 0)
    table = fsgym.compare(data, ["mixture", "panel"], splits=1, lam=[0.03], references=False, progress=False)
    titles = table.attrs["titles"]
    assert titles["panel"].endswith(MEAN_PRICES)
    assert not titles["mixture"].endswith(MEAN_PRICES)
    mine = table[table.method == "mixture"].iloc[0]
    assert mine.spent == pytest.approx(1.0, abs=0.2)  # the cheaper one; the means are 2.5


@pytest.mark.parametrize("others", [0, 30], ids=["two vectors", "others"])
def test_the_expected_usage_is_that_of_rows_at_their_own_prices(others):
    """The first column shows the class of the first half, whose column is cheap; that of the others is dear."""
    rng, n = np.random.default_rng(0), 400
    y, cheap = rng.integers(0, 2, n), np.arange(n) < n // 2
    X = rng.normal(scale=0.3, size=(n, 3)) + 3.0 * y[:, None] * np.array([1, 0, 0])
    X[~cheap, 0] = 9.0
    X[:, 1] = np.where(cheap, X[:, 1], 3.0 * y + rng.normal(scale=0.3, size=n))
    prices = np.where(cheap[:, None], [1.0, 5.0, 5.0], [1.0, 2.0, 2.0])
    prices[n - others :, 2] = rng.uniform(2, 3, others)
    data, weight = Dataset(X, y, case_costs=prices), np.where(cheap, 1.0, 0.2)
    for said in (None, weight):
        model = AdaptiveClassifier(lam=0.02, learner="lattice", random_state=0).fit(data, sample_weight=said)
        done = model.policy_.trajectories_by_case(data.X, prices)
        paid = np.average((done.acquired * prices).sum(axis=1), weights=said)
        assert model.expected_cost_ == pytest.approx(paid, rel=0.05)
        assert model.expected_n_features_ == pytest.approx(np.average(done.lengths, weights=said), rel=0.05)


def test_a_damaged_model_file_is_refused(models):
    policy, rules = models["lattice"].policy_.policy, models["lattice"].policy_.rules
    assert isinstance(policy, CasePricedPolicy)
    arrays, header = policy.to_arrays()
    damaged = [{"case_costs": []}, {"case_costs": [[1.0]] * 2}, {"case_costs": [[1.0, 1.0, 1.0, -1.0]] * 2}]
    for change in (*damaged, {"policies": header["policies"][:1]}):
        with pytest.raises(ValueError, match=r"prices|costs"):
            CasePricedPolicy.from_arrays(arrays, header | change, rules)
    first = next(iter(arrays.values()))
    for name in ("9.more", "-1.more", "x.more", "more", "01.more"):
        with pytest.raises(ValueError, match=r"array '.*more' must be of one of the 3 policies"):
            CasePricedPolicy.from_arrays(arrays | {name: first}, header, rules)
    with pytest.raises(ValueError, match="must have them"):
        CasePricedPolicy.from_arrays(arrays, header, rules.at_prices())


def test_frequent_vectors():
    prices = np.array([[1.0, 2.0]] * 50 + [[2.0, 1.0]] * 48 + [[9.0, 9.0]] * 2)
    vectors, which = frequent_vectors(prices)
    assert vectors.tolist() == [[1, 2], [2, 1]]
    assert np.bincount(which + 1).tolist() == [2, 50, 48]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*limit")
@pytest.mark.parametrize("task", [exact.naive_bayes, exact.decision_list, exact.multiplexer, exact.parity])
@pytest.mark.parametrize("kind", ["emergency", "ordered", "swapped"])
def test_the_default_agent_is_near_the_optimum(task, kind):
    n = 6
    case_costs = {
        "emergency": [(0.7, np.ones(n)), (0.3, np.array([5.0] * 3 + [1.0] * 3))],
        "ordered": [(0.4, np.ones(n)), *((0.2, np.where(np.arange(n) == j, 0.0, 1.0)) for j in range(3))],
        "swapped": [(0.5, np.linspace(0.5, 3, n)), (0.5, np.linspace(3, 0.5, n))],
    }[kind]
    joint, which = task(n), np.random.default_rng(1).choice(len(case_costs), 4000, p=[s for s, _ in case_costs])
    X, y = exact.sample(joint, 4000, random_state=0)
    data = Dataset(X, y, case_costs=np.array([costs for _, costs in case_costs])[which])
    model = AdaptiveClassifier(lam=0.02, random_state=0).fit(data)
    rules = Rules.for_dataset(data, lam=0.02)
    assert exact.expected_loss(model, joint, rules, case_costs) <= exact.optimum(joint, rules, case_costs) + 0.01


def test_rcpi_refuses_an_environment_with_them():
    with pytest.raises(ValueError, match="RCPI plans with one price"):
        RCPI(DatumWiseEnv(two_equal_features(50, 0)))


def test_a_file_with_them_of_a_policy_that_has_none_is_refused():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    for model in (LatticeClassifier(random_state=0).fit(X, y), DatumWiseClassifier(n_iterations=1).fit(X, y)):
        arrays, header = model.policy_.to_arrays()
        rules = Rules(2, 2, costs_by_case=True)
        with pytest.raises(ValueError, match="has no prices by case"):
            read_policy(type(model.policy_), arrays, header, rules)


@pytest.mark.usefixtures("quick_references", "no_pictures")
@pytest.mark.parametrize("kind", ["numbers", "prices by case"])
@pytest.mark.one_in(2)
def test_columns_of_several_features_are_compared(kind, tmp_path):
    rng = np.random.default_rng(0)
    ward = rng.choice(["er", "gp", "icu"], 90)
    y = np.where(ward == "icu", 5.0, 1.0) + rng.integers(0, 2, 90)
    table = pd.DataFrame({"ward": ward, "age": rng.normal(50, 9, 90), "y": y})
    if kind == "numbers":
        data = fsgym.load_dataset(table, target="y", bins=2)
    else:
        data = fsgym.load_dataset(table.assign(y=y > 3), target="y").replace(case_costs=rng.random((90, 2)))
    found = fsgym.compare(data, ["mixture"], lam=0.02, splits=1, out=tmp_path / "out", progress=False)
    assert (found["loss"] >= 0).all()
    assert "mixture" in {*found["method"]}


def test_prices_that_do_not_count_are_said():
    data = two_equal_features(80, 0)
    with pytest.warns(UserWarning, match="plans by costs=, and not by the prices of the cases"):
        model = MixtureClassifier(lam=0.02, costs=[1, 1, 1, 1], random_state=0).fit(data)
    with pytest.warns(UserWarning, match="pays the prices of the model, and not its own"):
        fsgym.evaluate(model, data)
    fsgym.evaluate(model, data, rules=Rules.for_dataset(data, lam=0.02))
    with pytest.warns(UserWarning, match=r"groups= of its own and price 1 each, and not the prices of the cases"):
        model = MixtureClassifier(lam=0.02, groups=[[0], [1], [2], [3]], random_state=0).fit(data)
    assert model.rules_.costs.tolist() == [1, 1, 1, 1]


def test_a_model_knows_no_price_of_a_row_that_is_held_out():
    """A part of a table kept the mean prices of the whole, and so did the model that was fitted to it."""
    data = two_equal_features(80, 0, "any")
    rows, prices = np.arange(50), np.array(data.case_costs)
    prices[50:] *= 10
    models = [
        MixtureClassifier(lam=0.02, random_state=0).fit(d.rows(rows)) for d in (data, data.replace(case_costs=prices))
    ]
    assert models[0].rules_.costs.tolist() == models[1].rules_.costs.tolist() == prices[rows].mean(axis=0).tolist()
    np.testing.assert_array_equal(models[0].price_ranges_, models[1].price_ranges_)


@pytest.mark.slow
def test_the_means_are_the_means_however_they_are_passed():
    train = two_equal_features(80, 0).split()[0]
    for costs in (train.costs, train.case_costs.mean(axis=0), dict(zip(NAMES, train.costs.tolist(), strict=True))):
        clone(MixtureClassifier(lam=0.02, costs=costs, random_state=0)).fit(train)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_own_agents_take_the_prices_of_the_data_in_compare():
    data = two_equal_features(200, 0)
    plain = data.replace(costs=[1, 30, 1, 1])
    own = {"own": LatticeClassifier(lam=0.03, random_state=0)}
    options: Any = {"splits": 1, "lam": [0.03], "references": False, "progress": False}
    assert fsgym.compare(plain, own, **options).spent[0] <= 2  # the scan and not the blood
    rare = data.replace(case_costs=np.where(np.arange(200)[:, None] % 2, [0, 90, 1, 1], [10, 90, 1, 1]))
    table = fsgym.compare(rare, own | {"means": LatticeClassifier(lam=0.03, costs=rare.costs)}, **options)
    assert (table.spent < 20).all()
    assert {title[-len(MEAN_PRICES) :] for title in table.attrs["titles"].values()} == {MEAN_PRICES}
    grouped = {"own": LatticeClassifier(lam=0.03, groups=[[0], [1], [2], [3]])}
    table = fsgym.compare(rare, grouped, **options)
    assert "price 1 each" in table.warning[0]
    assert table.attrs["titles"] == {"own": "own"}


@pytest.mark.parametrize("kind", ["prices", "prices by case", "numbers"])
@pytest.mark.one_in(3)
def test_prices_passed_to_compare_are_those_of_the_methods(kind):
    data = two_equal_features(200, 0)
    data = data if kind == "prices by case" else data.replace(costs=[1, 30, 1, 1])
    data = data.replace(y=data.y.astype(float), classes=None, bins=2) if kind == "numbers" else data
    protocol = Protocol.for_dataset(data, random_splits(0.5, 1, 0), lam=0.03, costs=1)
    for method in compared_methods(["mixture", "lattice"], protocol):
        model = fit_on(data, method.candidates[0], protocol.rules, 0)
        assert model.rules_.costs.tolist() == [1, 1, 1, 1]
        assert not model.rules_.costs_by_case


def priced_data(order: tuple[int, ...] = (0, 1, 2)) -> Dataset:
    """Three columns a, b and c with prices of the case, in any order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X, prices = y[:, None] + rng.normal(size=(200, 3)), rng.uniform(0.5, 9.0, (200, 3))
    return Dataset(X[:, order], y, feature_names=["abc"[k] for k in order], case_costs=prices[:, order])


def test_prices_are_those_of_the_column_in_any_order():
    data, other = priced_data(), priced_data((2, 1, 0))
    model = MixtureClassifier(lam=0.02, random_state=0).fit(data)
    np.testing.assert_array_equal(model.trajectories(other).order, model.trajectories(data).order)
    pd.testing.assert_frame_equal(model.trajectories(other).to_frame(), model.trajectories(data).to_frame())
    assert fsgym.evaluate(model, other).loss == fsgym.evaluate(model, data).loss
    wider = other.to_frame().assign(z=0.0), np.column_stack([other.case_costs, np.ones(200)])
    more = Dataset(wider[0].to_numpy(), data.y, feature_names=list("cbaz"), case_costs=wider[1])
    assert fsgym.evaluate(model, more).loss == fsgym.evaluate(model, data).loss
    with pytest.raises(ValueError, match=r"must be the prices of the 3 acquisitions of the model \(a, b, c\)"):
        model.predict(more.replace(groups={"ab": ["a", "b"]}, case_costs=np.ones((200, 3))))


@pytest.mark.slow
def test_prices_are_those_of_the_group_in_any_order():
    data = priced_data()
    prices = data.case_costs[:, :2]
    data = data.with_groups({"ab": ["a", "b"]}).replace(case_costs=prices)
    other = data.replace(groups=[[2], [1, 0]], group_names=["c", "ab"], case_costs=prices[:, ::-1])
    model = MixtureClassifier(lam=0.02, random_state=0).fit(data)
    assert fsgym.evaluate(model, other).loss == fsgym.evaluate(model, data).loss
    assert model.labelled_dataset(data) is data


def test_a_model_at_prices_says_nothing_of_those_of_the_training(models, tmp_path):
    model, data = models["mixture"], two_equal_features(200, 0)
    at = model.at_prices({"scan": 0.1, "blood": 9.0})
    assert model.expected_cost_ > 0
    assert (at.expected_cost_, at.expected_n_features_) == (None, None)
    at.save(tmp_path / "at")
    assert type(model).load(tmp_path / "at").expected_cost_ is None
    before = at.training_summary_.to_json()
    assert model.training_summary_.to_json() != before
    assert model.at_prices({"scan": 0.1, "blood": 9.0}).training_summary_.to_json() == before
    for prices in ({"scan": 1e300}, [1e300, 1, 1, 1]):
        with pytest.raises(ValueError, match=r"prices must be at most 1e\+30, got 1e\+300"):
            model.at_prices(prices)
    rules = model.rules_.at_prices(
        {"scan": 0.1, "blood": 9.0, "noise": model.rules_.costs[2], "age": model.rules_.costs[3]}
    )
    for rows in (data, data.replace(case_costs=None)):
        assert fsgym.evaluate(model, rows, rules=rules).loss == fsgym.evaluate(at, rows, rules=rules).loss


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_the_summary_of_the_training_counts_answers_and_acquisitions_at_the_prices_of_the_rows(target, tmp_path):
    """It counted them at the mean prices, so that monitor said of the training rows that their answers had changed."""
    rng = np.random.default_rng(5)
    shown = rng.integers(0, 4, 400)
    prices = np.where(rng.random((400, 1)) < 0.5, [0.02, 1.0], [9.0, 1.0])  # at the mean, nothing is worth its price
    X = np.stack([shown, rng.integers(0, 2, 400)], axis=1).astype(np.float32)
    data = Dataset(X, shown > 1, feature_names=["zscan", "age"], case_costs=prices)
    if target == "numbers":
        data = fsgym.load_dataset(pd.DataFrame(X, columns=["zscan", "age"]).assign(y=shown), target="y", bins=4)
        data = data.replace(case_costs=prices)
    model = MixtureClassifier(lam=0.2, random_state=0).fit(data)
    done, summary = model.trajectories(data), model.training_summary_
    assert len(np.unique(done.order[:, 0])) > 1  # the prices decide
    assert summary.answers == tuple(np.bincount(done.answers, minlength=model.rules_.n_classes).tolist())
    assert [s.n_acquired for s in summary.columns] == done.acquired.sum(axis=0).tolist()
    model.save(tmp_path / "model")
    assert type(model).load(tmp_path / "model").training_summary_ == summary
    at_means = model.at_prices().trajectories(data.replace(case_costs=None)).answers
    assert model.at_prices().training_summary_.answers == tuple(np.bincount(at_means, minlength=len(summary.answers)))


def test_rules_of_a_data_set_in_another_order_are_those_of_the_same_names():
    data, other = (
        priced_data(order).replace(costs=[(1.0, 5.0, 20.0)[k] for k in order]) for order in ((0, 1, 2), (2, 0, 1))
    )
    model = LatticeClassifier(lam=0.01, random_state=0).fit(data)
    expected = fsgym.evaluate(model, data).loss
    assert fsgym.evaluate(model, other, rules=Rules.for_dataset(other, lam=0.01)).loss == expected
    assert fsgym.evaluate(model, DatumWiseEnv(other, Rules.for_dataset(other, lam=0.01))).loss == expected
    groups = {"bc": ["b", "c"]}
    grouped, others = (rows.with_groups(groups) for rows in (data, other))
    prices = {"a": 2.0, "bc": 7.0}
    model = LatticeClassifier(lam=0.01, random_state=0).fit(grouped.replace(costs=prices))
    rules = Rules.for_dataset(others, costs=prices, lam=0.01)
    assert rules.names != model.rules_.names
    assert fsgym.evaluate(model, others, rules=rules).loss == fsgym.evaluate(model, grouped).loss


def test_a_row_that_could_lose_too_much_for_the_arithmetic_is_refused():
    data = two_equal_features(100, 0)
    prices = np.array(data.case_costs)
    prices[0, 0] = 1e10
    with pytest.raises(ValueError, match=r"must not add up to more than 1e\+09 in one episode, got 1e\+10"):
        MixtureClassifier(lam=1.0, random_state=0).fit(data.replace(case_costs=prices))


@pytest.mark.parametrize(
    "case_costs",
    [5, {"x0": [1] * 5}, [(1.0,)], [("all", [1] * 5)], [(np.nan, [1] * 5)], [(1.0, [1] * 4)], [(1.0, {"x0": 1})], []],
)
def test_shares_that_are_none_are_refused(case_costs):
    with pytest.raises((ValueError, TypeError), match="case_costs") as caught:
        exact.optimum(exact.parity(5), Rules(5, 2, costs_by_case=True), case_costs)
    assert one_sentence(caught.value)


def test_shares_of_prices_are_for_rules_with_prices_by_case():
    with pytest.raises(ValueError, match="the rules must have prices by case where case_costs are given") as caught:
        exact.optimum(exact.parity(5), Rules(5, 2), [(1.0, [1] * 5)])
    assert one_sentence(caught.value)


def test_shares_of_prices_by_name():
    joint, rules = exact.naive_bayes(5), Rules(5, 2, lam=0.05, costs_by_case=True)
    named = [(1.0, {f"x{j}": j for j in range(5)})]
    assert exact.optimum(joint, rules, named) == exact.optimum(joint, rules, [(1.0, np.arange(5))])


def test_rules_of_permuted_columns_are_those_of_the_names_also_where_groups_keep_their_order():
    values = np.random.default_rng(0).normal(size=(120, 3))
    y = (values[:, 0] > 0).astype(int)
    data = Dataset(values, y, feature_names=["a", "b", "c"], groups=[[0, 2], [1]], group_names=["A", "B"])
    other = Dataset(
        values[:, [1, 0, 2]], y, feature_names=["b", "a", "c"], groups=[[1, 2], [0]], group_names=["A", "B"]
    )
    model = LatticeClassifier(lam=0.02, random_state=0).fit(data)
    losses = [fsgym.evaluate(model, each, rules=Rules.for_dataset(each, lam=0.02)).loss for each in (data, other)]
    assert losses[0] == losses[1]


def test_a_case_whose_prices_are_all_beyond_the_budget_is_answered_at_once():
    data = two_equal_features(300, 0)
    data = data.replace(case_costs=np.where(np.arange(300)[:, None] % 2, 9.0, data.case_costs))
    joint = exact.naive_bayes(2)
    for make in (MixtureClassifier, partial(AdaptiveClassifier, learner="lattice")):
        model = make(lam=0.03, budget_cost=1.5, random_state=0).fit(data)
        used = model.trajectories(data).acquired.any(axis=1)
        assert used[::2].any()
        assert not used[1::2].any()
    rules = Rules(2, 2, lam=0.1, budget_cost=1, costs_by_case=True)
    prices = [(0.5, [1.0, 1.0]), (0.5, [5.0, 5.0])]
    halves = [exact.optimum(joint, Rules(2, 2, lam=0.1, budget_cost=1)), exact.optimum(joint, Rules(2, 2, budget=0))]
    assert exact.optimum(joint, rules, case_costs=prices) == pytest.approx(np.mean(halves))


def test_a_target_is_met_where_most_cases_are_cheap():
    data = two_equal_features(400, 0)
    data = data.replace(case_costs=np.where(np.arange(400)[:, None] % 2, 2.0, 0.01) * np.ones((1, 4)))
    model = MixtureClassifier(target_features=0.3, random_state=0).fit(data)
    assert model.expected_n_features_ <= 0.3
