"""GDFS and DIME: tasks worked out by hand, rules, model files, and what can be said of their parts alone."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
import pytest

from agents import load_classifier
from baselines import DIMEClassifier, GDFSClassifier
from baselines.neural import DIMEPolicy
from baselines.neural.classifier import split_rows, worth_of_a_nat
from baselines.neural.policy import Layers
from baselines.neural.stopping import HeldOutStates, StopLimits, best_limits
from fsgym import Rules, Scaling
from support.refusals import refused

SHORT = {
    "hidden": (16,),
    "n_epochs": 2,
    "batch_size": 48,
    "learning_rate": 0.02,
    "max_acquisitions": 3,
    "random_state": 0,
}
CLASSES = {"gdfs": GDFSClassifier, "dime": DIMEClassifier}
every_class = pytest.mark.parametrize("name", CLASSES)
COPY, PRICES = 3, [1.0, 1.0, 8.0, 1.0, 1.0]


@cache
def copy_among_noise(n=240):
    """Noise, and the label itself in column 3."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 5)), rng.integers(0, 2, n)
    X[:, COPY] = y
    return X, y


@cache
def fitted(name):
    return CLASSES[name](lam=0.05, **SHORT).fit(*copy_among_noise())


@every_class
def test_a_copy_of_the_label_is_asked_first_and_nothing_after_it(name):
    X, y = copy_among_noise()
    done = fitted(name).trajectories(X)
    assert done.order.tolist() == [[COPY]] * len(X)
    np.testing.assert_array_equal(done.answers, y)
    beyond = fitted(name).trajectories(X, continue_after_stop=True)
    assert (beyond.lengths == 5).all()
    assert (beyond.order[:, 0] == COPY).all()


@every_class
def test_of_two_copies_the_cheaper_one_is_asked(name):
    X, y = copy_among_noise()
    X = np.column_stack([X[:, 0], X[:, 1], y, y, X[:, 2]])
    model = CLASSES[name](lam=0.01, costs=PRICES, **SHORT).fit(X, y)
    assert (model.trajectories(X).order == COPY).all()
    assert model.expected_cost_ == pytest.approx(1.0)


@every_class
def test_where_the_copy_is_unavailable_or_costs_more_than_an_error_it_is_not_asked(name):
    X, y = copy_among_noise()
    gone = X.copy()
    gone[::2, COPY] = np.nan
    used = fitted(name).features_used(gone)
    assert not used[::2, COPY].any()
    assert used[1::2, COPY].all()
    assert not CLASSES[name](lam=2.0, **SHORT).fit(X, y).features_used(X).any()


@every_class
def test_a_prerequisite_is_paid_for_the_copy_behind_it(name):
    X, y = copy_among_noise()
    options = {"prerequisites": {f"x{COPY}": ["x1"]}, "budget": 2}
    model = CLASSES[name](lam=0.01, **SHORT | {"n_epochs": 4}, **options).fit(X, y)
    assert model.trajectories(X, continue_after_stop=True).order.max() < 5
    done = model.trajectories(X)
    assert (model.rules_.price_sets(model.rules_.acquisitions_of(done.acquired))[1]).all()
    behind = [row.index(COPY) for row in done.order.tolist() if COPY in row]
    assert all(row[:k].count(1) for row, k in zip(done.order.tolist(), behind))


@every_class
def test_answers_are_those_of_least_expected_cost(name):
    X, y = copy_among_noise()
    costs = [[0.0, 10.0], [1.0, 0.0]]
    noise = X[:, [0, 1]]
    model = CLASSES[name](lam=0.5, error_costs=costs, **SHORT).fit(noise, y)
    assert (model.predict(noise) == 1).all()  # nothing is known, and a miss costs more
    expected = model.predict_proba(noise) @ np.array(costs).T
    np.testing.assert_array_equal(model.predict(noise), expected.argmin(axis=1))


@every_class
def test_a_path_shares_the_training_and_its_models_are_those_of_single_fits(name):
    X, y = copy_among_noise()
    dear, cheap = CLASSES[name](**SHORT).path(X, y, [2.0, 0.05])
    assert dear.policy_.predictor is cheap.policy_.predictor
    single = fitted(name)
    assert single.policy_.limits == cheap.policy_.limits
    for mine, other in zip(single.policy_.chooser.weights, cheap.policy_.chooser.weights, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert dear.expected_n_features_ == 0.0
    assert cheap.validated_loss_ == pytest.approx(0.05)


@every_class
def test_a_category_is_one_of_the_features_that_are_expected(name):
    X, y = copy_among_noise()
    table = pd.DataFrame({"copy": np.array(["a", "b", "c", "d"])[2 * y + np.arange(len(y)) % 2], "noise": X[:, 0]})
    model = CLASSES[name](lam=0.05, **SHORT).fit(table, y)
    assert model.expected_n_features_ == pytest.approx(model.features_used(table).sum(axis=1).mean()) == 1


@every_class
def test_a_target_limits_the_mean_cost(name):
    X, y = copy_among_noise()
    model = CLASSES[name](target_features=0.5, **SHORT).fit(X, y)
    assert model.features_used(X).sum(axis=1).mean() <= 0.5


@every_class
def test_by_default_as_many_acquisitions_are_made_as_pay(name):
    X = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
    model = CLASSES[name](lam=1e-9, **SHORT | {"max_acquisitions": None}).fit(X, (X.sum(axis=1) > 0).astype(int))
    assert model.features_used(X).sum(axis=1).max() > 10


@every_class
def test_mistakes_are_one_sentence(name):
    X, y = copy_among_noise()
    for parameter, value, sentence in (
        ("hidden", 8, "hidden must be widths of layers"),
        ("hidden", (0,), "hidden must be widths of layers"),
        ("max_acquisitions", 0, "max_acquisitions must be None or a whole number from 1, got 0"),
        ("n_epochs", 1.5, "n_epochs must be a whole number from 1, got 1.5"),
        ("batch_size", -1, "batch_size must be None or a whole number from 1"),
        ("learning_rate", 0, "learning_rate must be above 0"),
        ("learning_rate", 1e30, r"training must lead to finite losses.*use a learning_rate below 1e\+30"),
    ):
        refused(ValueError, sentence, X, y, call=CLASSES[name](**{parameter: value}).fit)


@pytest.mark.slow
def test_without_torch_models_act_and_training_says_what_to_install(tmp_path):
    X, y = copy_among_noise()
    fitted("gdfs").save(tmp_path / "model")
    np.savez(tmp_path / "table", X=X, y=y)
    code = """
import importlib.util, sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoTorch())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else found(name, *rest)
import numpy as np
import pandas as pd
from agents import load_classifier
from baselines import DIMEClassifier
table = np.load("table.npz")
print(load_classifier("model").score(table["X"], table["y"]))
try:
    DIMEClassifier().fit(table["X"], table["y"])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    accuracy, refusal = done.stdout.splitlines()
    assert accuracy == "1.0"
    assert refusal.startswith('DIMEClassifier needs torch: in the clone, pip install -c constraints.txt -e ".[deep]"; ')
    assert refusal.endswith("docs/start/install.md has the smaller CPU build of torch, to be installed first")


@every_class
def test_a_file_with_networks_that_do_not_fit_is_refused(name, tmp_path):
    from agents import model_file

    fitted(name).save(tmp_path / "model")
    assert load_classifier(tmp_path / "model").hidden == (16,)
    arrays, header = model_file.read(tmp_path / "model", name)
    weight = arrays["chooser.1.weight"]
    broken = [
        (arrays | {"chooser.1.weight": weight[:, :-1]}, {}),
        (arrays | {"chooser.1.weight": weight * np.float32(np.nan)}, {}),
        (arrays | {"chooser.2.weight": weight}, {}),
        (arrays, {"hidden": [16, 16]}),
        (arrays, {"hidden": [0.5]}),
        (arrays, {"threshold": float("nan")}),
        (arrays, {"longest": -1}),
    ]
    for changed, entries in broken:
        model_file.write(tmp_path / "broken", name, changed, {**header, **entries})
        refused(ValueError, "damaged", tmp_path / "broken", call=load_classifier)


def test_limits_are_those_of_the_lowest_mean_loss_and_of_equal_ones_the_fewest_features():
    need = np.array([[3.0, 1.0, 0.5], [3.0, 2.0, 0.5], [3.0, 3.0, 0.5]])
    errors = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    counts = np.tile([0.0, 1.0, 2.0], (3, 1))
    states = HeldOutStates(need, errors, counts, counts, np.array([2, 2, 1]), np.full(3, 1 / 3))
    # By hand: with the threshold 1 the first row ends after one acquisition, the second after two, the third cannot.
    assert states.ends(StopLimits(1.0, 2)).tolist() == [1, 2, 1]
    assert best_limits(states, [0.0, 1.0, 4.0], [2], 0.1) == (StopLimits(1.0, 2), pytest.approx(1 / 3 + 0.4 / 3))
    assert best_limits(states, [0.0, 1.0, 4.0], [0, 1, 2], 0.9)[0] == StopLimits(0.0, 0)
    assert best_limits(states, [0.0], [2], 0.0) == (StopLimits(0.0, 2), pytest.approx(1 / 3))


def test_rows_are_held_out_of_each_class_and_none_of_a_class_of_one():
    y = np.repeat([0, 1, 2], [50, 9, 1])
    fitted_rows, held = split_rows(y, 3, 0)
    assert sorted([*fitted_rows, *held]) == list(range(60))
    assert np.bincount(y[held], minlength=3).tolist() in ([10, 1, 0], [10, 2, 0])
    for n in range(50, 55):  # one of each class of two rows, whatever is before it
        y = np.repeat([0, 1], [n, 2])
        assert (y[split_rows(y, 2, 0)[1]] == 1).sum() == 1
    assert all(rows.tolist() == [0, 1] for rows in split_rows(np.array([0, 1]), 2, 0))


def test_a_nat_is_worth_the_constant_answer_per_entropy():
    rules = Rules(2, 2, error_costs=[[0.0, 4.0], [1.0, 0.0]])
    y = np.array([0, 0, 0, 1])
    assert worth_of_a_nat(y, np.ones(4), rules) == pytest.approx(0.75 / -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))


def test_values_of_dime_are_a_share_of_the_entropy_per_price():
    rules = Rules(2, 2, costs=[1.0, 4.0])
    nothing = Layers((np.zeros((4, 2), np.float32),), (np.zeros(2, np.float32),))
    policy = DIMEPolicy(nothing, nothing, Scaling(np.zeros(2), np.ones(2)), StopLimits(0.1, 2), rules)
    legal = np.ones((1, 4), bool)
    found = policy.outlook(np.zeros((1, 2), bool), np.zeros((1, 2), np.float32), legal)
    np.testing.assert_allclose(found.preference, [[np.log(2) / 2, np.log(2) / 8]])
    assert found.need == found.preference[0, 0]
    assert policy.actions(np.zeros((1, 2), bool), np.zeros((1, 2), np.float32), legal).tolist() == [0]
    assert policy.actions(np.array([[True, False]]), np.zeros((1, 2), np.float32), ~legal | [0, 1, 1, 1]).tolist() == [
        2
    ]


def test_the_relaxed_choice_has_the_gradient_of_gain_per_price():
    """Against finite differences of gain / price in the weights of the relaxed choice."""
    torch = pytest.importorskip("torch", reason="needs PyTorch, which the extra deep installs")
    from baselines.neural.training import RelaxedChoiceTraining, TensorRows, TrainingSettings, build_network

    X, y = (v[:30] for v in copy_among_noise())
    rules = Rules(5, 2, costs=PRICES)
    rows = TensorRows.of(X, y, np.ones(30), Scaling.standard(X), rules)
    training = RelaxedChoiceTraining(rows, rows, rules, TrainingSettings((8,), 3, 1, None, 0.01, 0))
    torch.manual_seed(0)
    training.predictor = build_network([10, 8, 2]).eval()
    taken, prices = torch.zeros((30, 5)), torch.tensor(PRICES, dtype=torch.float32).expand(30, 5)
    choice = torch.softmax(torch.randn((30, 5)), dim=1).requires_grad_()
    training._loss_per_price(rows, taken, choice, prices).backward()
    exact = choice.detach().clone().requires_grad_()
    before = training.errors(rows, training.predictor(training.inputs(rows, taken)))
    after = training.errors(rows, training.predictor(training.inputs(rows, exact)))
    ((after - before.detach()) / (exact * prices).sum(dim=1)).mean().backward()
    torch.testing.assert_close(choice.grad, exact.grad)
