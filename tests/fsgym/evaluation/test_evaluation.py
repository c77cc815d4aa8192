"""Evaluation of estimators, callables, agents and Stable-Baselines3 models."""

import importlib

import gymnasium as gym
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import fsgym
from agents import DatumWiseClassifier, LatticeClassifier, load_classifier
from baselines import PanelClassifier
from fsgym import Dataset, DatumWiseEnv, Rules, evaluate, load_dataset, loss_scorer
from fsgym.envs.trajectories import price_orders
from fsgym.evaluation.evaluate import as_actor

X = [[0, 5, 1], [1, 5, 2], [0, 6, 3], [1, 6, 4]]
Y = ["no", "yes", "no", "yes"]


class PrefixClassifier(ClassifierMixin, BaseEstimator):
    """Answers by the first column, and reports the first ``width`` columns as used."""

    def __init__(self, width=1):
        self.width = width

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(np.asarray(X)[:, 0] > 0.5).astype(int)]

    def features_used(self, X):
        return np.tile(np.arange(3) < self.width, (len(X), 1))


@pytest.fixture
def data():
    return Dataset(X, Y, name="tiny")


def script(*order, answer):
    """An actor that makes the acquisitions in that order, each while it is legal, then answers."""

    def act(observations, masks):
        chosen = np.full(len(masks), masks.shape[1] - 2 + answer)
        for j in reversed(order):
            chosen[masks[:, j]] = j
        return chosen

    return act


REFERRING = Rules(3, 2, lam=0.1, refer_cost=0.3)


def refers(*rows, answer=1):
    """An actor that acquires the first feature, refers the rows where this is not in ``rows``, and else answers."""

    def act(observations, masks):
        asked = np.where(np.isin(observations[:, 3], rows), 3 + answer, 5)
        return np.where(masks[:, 0], 0, asked)

    return act


def test_accuracy_and_recall_are_over_the_rows_that_are_answered(data):
    result = evaluate(refers(1), data, rules=REFERRING)  # both rows of "yes" are answered, those of "no" referred
    assert (result.referred, result.accuracy, result.balanced_accuracy) == (0.5, 1.0, 1.0)
    assert result.answers.tolist() == [2, 1, 2, 1]
    assert result.losses.tolist() == pytest.approx([0.4, 0.1, 0.4, 0.1])
    assert (result.error_cost, result.loss) == (pytest.approx(0.15), pytest.approx(0.25))
    assert result.confusion.tolist() == [[0, 0, 2], [0, 2, 0]]
    assert result.by_class["referred"].tolist() == [1.0, 0.0]
    assert result.by_class["recall"].tolist()[1] == 1.0
    assert np.isnan(result.by_class["recall"][0])
    assert result.diagnostics["ppv"] == 1.0
    assert result.figures()["referred"] == result.to_json()["figures"]["referred"] == 0.5
    assert "50.0% referred to a person" in repr(result)
    assert "share of rows referred" in result._repr_html_()
    assert result.trajectories.to_frame()["answer"].dropna().tolist() == ["a person", "yes", "a person", "yes"]


def test_where_all_rows_are_referred_there_is_no_accuracy(data):
    result = evaluate(refers(), data, rules=REFERRING)
    assert result.referred == 1.0
    assert np.isnan(result.accuracy)
    assert np.isnan(result.balanced_accuracy)
    assert result.loss == pytest.approx(0.4)
    assert result.to_json()["figures"]["accuracy"] is None


def test_an_estimator_refers_by_its_label(data):
    class Careful(PrefixClassifier):
        def predict(self, X):
            return np.where(np.asarray(X)[:, 2] > 3, "a person", super().predict(X))

    result = evaluate(Careful().fit(X, Y), data, rules=REFERRING)
    assert result.answers.tolist() == [0, 1, 0, 2]
    with pytest.raises(ValueError, match="the policy answered a person, which is not a class"):
        evaluate(Careful().fit(X, Y), data)
    numbers = Dataset(X, [0, 1, 0, 1])
    answers = Careful().fit(X, [0, 1, 0, 1])
    answers.predict = lambda X: np.array([0, 1, 0, "a person"], dtype=object)
    assert evaluate(answers, numbers, rules=REFERRING).answers.tolist() == [0, 1, 0, 2]


def test_without_referral_nothing_is_said_of_it(data):
    result = evaluate(script(0, answer=1), data)
    assert result.referred == 0.0
    assert "referred" not in result.figures()
    assert "referred" not in result.by_class
    assert "referred" not in repr(result) + result._repr_html_() + str(result.to_json())


def test_the_rules_that_a_classifier_was_trained_with_are_the_default():
    data = load_dataset("wine")
    costs = np.arange(1.0, 14.0)
    model = PanelClassifier(lam=0.05, costs=costs, error_costs=3 * (1 - np.eye(3))).fit(data.X, data.classes[data.y])
    assert evaluate(model, data).loss == evaluate(model, data, rules=model.rules_).loss
    assert evaluate(model, data.X, data.classes[data.y]).loss == evaluate(model, data).loss
    other = Rules.for_dataset(data, lam=0.5)
    assert evaluate(model, DatumWiseEnv(data, other)).loss == evaluate(model, data, rules=other).loss


def test_estimator_is_priced_by_what_it_uses(data):
    rules = Rules(3, 2, lam=0.5, costs=[1, 2, 4], error_costs=[[0, 3], [1, 0]])
    result = evaluate(PrefixClassifier(2).fit(X, Y), data, rules)
    assert result.accuracy == result.balanced_accuracy == 1.0
    assert result.sparsity == pytest.approx(1 / 3)
    assert (result.n_features, result.spent, result.acquisition_cost, result.loss) == (2, 3, 1.5, 1.5)
    assert result.trajectories is None
    assert set(result.figures()) == set(result.FIGURES)
    np.testing.assert_array_equal(result.used, [[True, True, False]] * 4)


def test_overspending_is_reported_and_not_corrected(data):
    result = evaluate(PrefixClassifier(3).fit(X, Y), data, Rules(3, 2, budget=2))
    assert result.admissible == 0.0
    assert result.n_acquisitions == 3


def test_missing_values_are_neither_used_nor_paid_for():
    holed = Dataset([[0, np.nan, 1], [1, 2, 3]], ["no", "yes"])
    result = evaluate(PrefixClassifier(2).fit(X, Y), holed, Rules(3, 2, lam=1.0))
    np.testing.assert_array_equal(result.used.sum(axis=1), [1, 2])
    assert result.spent == 1.5


def test_a_group_is_paid_for_when_any_of_its_features_is_used(data):
    result = evaluate(PrefixClassifier(1).fit(X, Y), data, Rules(3, 2, lam=1.0, groups=[[0, 1], [2]], costs=[7, 1]))
    assert (result.spent, result.n_acquisitions, result.n_features) == (7, 1, 1)


def test_callable_is_run_in_the_environment(data):
    rules = Rules(3, 2, lam=0.1, costs=[1, 2, 4])
    result = evaluate(script(2, 0, answer=0), data, rules)
    assert (result.accuracy, result.spent, result.n_features) == (0.5, 5, 2)
    assert result.trajectories is not None
    np.testing.assert_array_equal(result.trajectories.order, [[2, 0]] * 4)
    assert result.loss == pytest.approx(0.5 + 0.5)
    np.testing.assert_allclose(result.losses, [0.5, 1.5, 0.5, 1.5])


def test_the_shape_of_what_a_callable_returns_is_checked(data):
    with pytest.raises(ValueError, match="must return 4 whole numbers"):
        evaluate(lambda observations, masks: np.zeros((4, 2)), data)


def test_an_illegal_action_forfeits_with_the_costliest_answer(data):
    rules = Rules(3, 2, budget=0, error_costs=[[0, 9], [2, 0]])
    result = evaluate(lambda observations, masks: np.zeros(len(masks), int), data, rules)
    assert result.illegal == 1.0
    assert result.error_cost == pytest.approx((2 + 9) / 2)


def test_environment_gives_rules_and_data():
    env = gym.make("DatumWiseBudget-v0", split="test")
    result = evaluate(lambda observations, masks: masks.argmax(axis=1), env)
    assert result.n_acquisitions == 5  # the budget of that environment; the lowest legal action is an acquisition
    assert result.rules is env.unwrapped.rules


def test_datum_wise_classifier_and_its_agent_agree():
    from agents import DatumWiseClassifier

    train, test = fsgym.load_dataset("wine").split()
    model = DatumWiseClassifier(lam=0.01, n_iterations=2, states_per_sample=3, random_state=0)
    model.fit(train.X, train.classes[train.y])
    result = evaluate(model, test, Rules.for_dataset(test, lam=0.01))
    np.testing.assert_array_equal(result.used, model.features_used(test.X))
    np.testing.assert_array_equal(test.classes[result.answers], model.predict(test.X))
    assert result.trajectories is not None
    assert result.n_acquisitions == result.trajectories.lengths.mean()


def test_stable_baselines_model_is_evaluated():
    stable_baselines3 = importlib.import_module("stable_baselines3")  # in the extra `test`: never skipped
    env = gym.make("DatumWise-v0", split="train")
    model = stable_baselines3.PPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(32)
    result = evaluate(model, env)
    assert result.answers.shape == (env.unwrapped.dataset.n_samples,)
    assert 0 <= result.illegal <= 1
    act = as_actor(model)
    observations = np.zeros((2, 60), np.float32)
    np.testing.assert_array_equal(
        act(observations, np.ones((2, 32), bool)), model.predict(observations, deterministic=True)[0]
    )


def test_a_classifier_without_usage_is_refused(data):
    with pytest.raises(TypeError, match="needs features_used"):
        evaluate(LogisticRegression().fit(X, Y), data)
    with pytest.raises(TypeError, match="policy must be"):
        evaluate(3, data)
    with pytest.raises(TypeError, match="must be two arguments, evaluate"):
        evaluate(PrefixClassifier().fit(X, Y), (X, Y))
    with pytest.raises(TypeError, match="needs y, the labels"):
        evaluate(PrefixClassifier().fit(X, Y), X)


def test_an_answer_of_another_class_is_refused(data):
    with pytest.raises(ValueError, match="answered maybe"):
        evaluate(PrefixClassifier().fit(X, ["maybe", "no", "no", "maybe"]), data)


def test_prices_in_an_order_are_those_of_the_rules():
    rules = Rules(3, 2, costs=1.0, unrelated_costs=[5, 6, 7], related=[[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    order = np.array([[0, 1, -1], [0, 2, 1], [2, 1, 0]], np.int32)
    spent, n_made, admissible = price_orders(rules, np.zeros((3, 3), np.float32), order)
    np.testing.assert_array_equal(spent, [1 + 1, 1 + 7 + 1, 1 + 6 + 1])
    np.testing.assert_array_equal(n_made, [2, 3, 3])
    assert admissible.all()


def test_loss_scorer_chooses_the_sparse_candidate():
    table, labels = np.tile(X, (5, 1)), np.tile(Y, 5)
    search = GridSearchCV(PrefixClassifier(), {"width": [3, 2, 1]}, scoring=loss_scorer(Rules(3, 2, lam=0.1)), cv=2)
    assert search.fit(table, labels).best_params_ == {"width": 1}
    assert search.best_score_ == pytest.approx(-0.1)


def test_loss_scorer_evaluates_the_last_step_of_a_pipeline():
    model = make_pipeline(MinMaxScaler(), PrefixClassifier(2)).fit(X, Y)
    assert loss_scorer(Rules(3, 2, lam=0.25))(model, X, Y) == pytest.approx(-0.5)


def test_a_policy_that_counts_its_steps_is_no_pipeline(data):
    policy = script(answer=0)
    policy.steps = 7
    assert evaluate(policy, data).answers.tolist() == [0] * 4


class ScoredClassifier(PrefixClassifier):
    """With class probabilities, which another type than float64 may hold."""

    def predict_proba(self, X):
        share = np.where(np.asarray(X)[:, 0] > 0.5, np.float32(0.7), np.float32(0.1))
        columns = [share / len(self.classes_[1:])] * (len(self.classes_) - 1)
        return np.column_stack([1 - share, *columns]).astype(np.float32)


def test_probabilities_of_an_estimator_have_a_column_for_each_class_of_the_data(data):
    result = evaluate(ScoredClassifier().fit(X, Y), data)
    assert result.probabilities.dtype == np.float64
    np.testing.assert_allclose(result.probabilities[:, 1], [0.1, 0.7, 0.1, 0.7], atol=1e-7)
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1, atol=1e-15)
    assert (result.auc, result.brier) == (1, pytest.approx((0.1**2 + 0.3**2) / 2))
    wider = Dataset(X, Y, classes=["maybe", "no", "yes"])
    aligned = evaluate(ScoredClassifier().fit(X, Y), wider)
    np.testing.assert_array_equal(aligned.probabilities, np.column_stack([np.zeros(4), result.probabilities]))
    assert np.isnan(aligned.auc)
    assert aligned.brier == pytest.approx(2 * result.brier)
    more = ScoredClassifier().fit(X, ["no", "yes", "zero", "yes"])
    assert evaluate(more, data).probabilities is None


def test_figures_of_probabilities_are_nan_without_them(data):
    result = evaluate(PrefixClassifier().fit(X, Y), data)
    assert result.probabilities is None
    assert np.isnan([result.auc, result.log_loss, result.brier, result.calibration_error]).all()
    assert result.loss_low <= result.loss <= result.loss_high


class Believer:
    """Acquires feature 1, and believes what the values say that it is given."""

    def __call__(self, observations, masks):
        return np.where(observations[:, 1] > 0.5, 3, 1)

    def state_probabilities(self, acquired, values):
        self.known, self.values = acquired, values
        share = np.full(len(values), 0.25) + 0.5 * (values[:, 1] > 0.5)
        return np.column_stack([1 - share, share]).astype(np.float32)


def test_a_policy_with_probabilities_believes_what_it_has_acquired(data):
    policy = Believer()
    result = evaluate(policy, data)
    np.testing.assert_array_equal(policy.known, result.used)
    np.testing.assert_array_equal(policy.values, np.where(result.used, data.X, 0))
    assert policy.values.any(axis=0).tolist() == [False, True, False]
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1)
    assert not np.isnan([result.auc, result.log_loss]).any()
    policy.state_probabilities = lambda acquired, values: values
    with pytest.raises(ValueError, match="state_probabilities must return a row for each case"):
        evaluate(policy, data)


@pytest.mark.parametrize("scores", [[[2.0, 3.0]], [[0.5, 0.4]], [[1.5, -0.5]], [[np.nan, 1.0]], [[1.0]]])
def test_scores_that_are_no_probabilities_are_refused(data, scores):
    class Unnormalised(PrefixClassifier):
        def predict_proba(self, X):
            return np.repeat(scores, len(X), axis=0)

    with pytest.raises(ValueError, match="predict_proba must return"):
        evaluate(Unnormalised().fit(X, Y), data)


def test_figures_by_class_are_those_of_scikit_learn(data):
    result = evaluate(script(0, answer=1), Dataset(X[:3], Y[:3]), Rules(3, 2, error_costs=[[0, 9], [2, 0]]))
    np.testing.assert_array_equal(result.confusion, confusion_matrix(Y[:3], ["yes"] * 3))
    table = result.by_class
    assert table["class"].tolist() == ["no", "yes"]
    assert table["rows"].tolist() == [2, 1]
    assert table["recall"].tolist() == [0, 1]
    np.testing.assert_array_equal(table["precision"], [np.nan, 1 / 3])
    assert result.dataset.classes[result.positive_class] == "yes"
    assert result.diagnostics == pytest.approx(
        {"sensitivity": 1, "specificity": 0, "ppv": 1 / 3, "npv": np.nan}, nan_ok=True
    )
    assert result.to_json()["by_class"][0] == {"class": "no", "rows": 2, "recall": 0.0, "precision": None}
    assert result.to_json()["diagnostics"]["npv"] is None
    assert result.diagnostics_of(0)["sensitivity"] == 0


def test_reliability_is_that_of_the_answers_and_empty_without_probabilities(data):
    class Certain(PrefixClassifier):
        def predict_proba(self, X):
            return np.repeat([[0.75, 0.25]], len(X), axis=0)

    result = evaluate(Certain().fit(X, Y), data)
    table = result.reliability
    assert result.probabilities is not None
    certainty = result.probabilities[np.arange(len(result.answers)), result.answers]
    assert list(table.columns) == ["certainty", "correct", "rows"]
    assert table["rows"].sum() == len(Y)
    assert (table["rows"] * table["certainty"]).sum() == pytest.approx(certainty.sum())
    assert (table["rows"] * table["correct"]).sum() == pytest.approx(result.accuracy * len(Y))
    assert result.to_json()["reliability"] == table.to_dict("records")
    assert result.excess_calibration_error < result.calibration_error
    assert "How often answers of a certainty are right" in result._repr_html_()
    without = evaluate(script(0, answer=1), data)
    assert len(without.reliability) == 0
    assert without.to_json()["reliability"] == []
    assert without.to_json()["excess_calibration_error"] is None
    assert "certainty" not in without._repr_html_()


def test_the_repr_begins_with_the_figures_to_decide_by(data):
    costly = Rules(3, 2, lam=1.0, costs=[1, 2, 4], error_costs=[[0, 1000], [40, 0]])
    result = evaluate(script(0, answer=1), data, costly)
    assert result.cost_per_case.mean == result.loss == 21
    assert result.cost_per_1000.mean == 21_000
    assert repr(result).startswith(f"Evaluation(cost per case 21 (95 % interval {result.loss_low:.4g} to ")
    assert "mean price paid 1, accuracy 0.500)" in repr(result)
    assert "Per 1,000 cases: 21,000 (95 % interval" in result._repr_html_()
    rare = Dataset(np.tile(X, (2, 1)), ["no"] * 7 + ["yes"])
    assert repr(evaluate(script(0, answer=1), rare)).startswith(
        "Evaluation(accuracy 0.125, balanced accuracy 0.500, 1.00 features"
    )
    scored = evaluate(ScoredClassifier().fit(X, Y), Dataset([*X, *X[::2]], [*Y, "no", "no"][:6]))
    assert scored.headline == ("accuracy",)
    scored = evaluate(ScoredClassifier().fit(X, Y), Dataset([*X, *X[::2] * 3], [*Y, *["no"] * 6]))
    assert "AUC 1.000" in repr(scored)
    assert "illegal" not in repr(scored)


def test_a_part_without_rows_of_a_class_has_figures(data):
    part = Dataset(X[::2], ["no", "no"], classes=["no", "yes"])
    result = evaluate(ScoredClassifier().fit(X, Y), part)
    assert np.isnan([result.auc, result.by_class["recall"][1]]).all()
    assert result.log_loss == pytest.approx(-np.log(0.9))
    assert result.balanced_accuracy == 1
    assert "AUC" not in result._repr_html_()
    assert "nan" not in repr(result)


def test_rows_that_break_the_rules_are_said():
    """A model trained without a budget, on an environment with one, is no better than one that keeps it."""
    test = gym.make("DatumWise-v0", dataset="wine", split="test", lam=0.02, budget=1)
    data = load_dataset("wine", "train")
    free = PanelClassifier(lam=0.02, random_state=0).fit(data.to_array(), data.classes[data.y])
    result = evaluate(free, test)
    assert result.n_features > 1
    assert repr(result).endswith("100.0% of the rows break the rules)")
    assert result.rules.budget == test.unwrapped.rules.budget == 1
    assert "break the rules" not in repr(evaluate(free, load_dataset("wine")))


def test_illegal_actions_are_said():
    env = gym.make("DatumWise-v0", split="test").unwrapped
    result = evaluate(lambda observations, masks: np.zeros(len(observations), np.int64), env)
    assert repr(result).endswith("100.0% ended by an illegal action)")


@pytest.mark.parametrize(("n_ill", "missed", "said"), [(12, 0, True), (200, 20, False)])
def test_a_dear_error_that_too_few_rows_show_is_said_beside_the_interval(n_ill, missed, said):
    """The figure: of 12 rows without an error up to 22 % may be wrong (95 %), which is 0.05 to the 1/12 below 1."""
    n = 400
    y = np.repeat(["ill", "well"], [n_ill, n - n_ill])
    answers = np.where(np.arange(n) < missed, "well", y)
    answers[-40:] = "ill"
    X = np.zeros((n, 1))
    data = Dataset(X, y)
    rules = Rules(1, 2, lam=1.0, error_costs=[[0, 30], [1000, 0]])

    class Fixed:
        classes_ = data.classes

        def features_used(self, X):
            return np.zeros(X.shape, bool)

        def predict(self, X):
            return answers

    text = fsgym.evaluate(Fixed(), data, rules).unseen_costs_text()
    share = 1 - 0.05 ** (1 / 12)
    expected = (
        "the interval cannot allow for errors that these rows hardly show: of 12 rows of ill none is answered well, "
        f"which costs 1000; up to {100 * share:.0f} % of such cases may be, which would cost "
        f"{share * 12 / n * 1000:.4g} more per case"
    )
    assert text == (expected if said else "")
    treated = Rules(1, 2, lam=1.0, error_costs=[[0, 35], [1000, 5]])  # a right answer is no error
    assert fsgym.evaluate(Fixed(), data, treated).unseen_costs_text() == text


def test_a_policy_that_knows_the_columns_in_another_order_is_refused():
    """It answered from permuted values, without a word; the classifier orders them by name."""
    data = fsgym.load_dataset("breast_cancer")
    model = DatumWiseClassifier(lam=0.01, n_iterations=1, random_state=0).fit(data)
    assert list(model.policy_.rules.names) != list(data.acquisition_names)
    with pytest.raises(ValueError, match=r"on the acquisitions in the order of its training, area error, .*; give the"):
        fsgym.evaluate(model.policy_, DatumWiseEnv(data))
    with pytest.raises(ValueError, match="in the order of its training"):
        DatumWiseEnv(data, belief=model.policy_)
    played = fsgym.evaluate(model, DatumWiseEnv(data))
    assert played.accuracy > 0.85
    believed, ends = DatumWiseEnv(data, belief=model).belief, played.trajectories
    seen = np.where(ends.acquired, data.X, 0)
    np.testing.assert_array_equal(believed(np.hstack([ends.acquired, seen])), ends.probabilities)


def test_a_policy_for_other_actions_is_refused(data):
    class Policy:
        action_space = gym.spaces.Discrete(3)

        def predict(self, observation, deterministic=True):
            raise AssertionError

    with pytest.raises(ValueError, match="must choose among the 5 actions of the rules, got 3"):
        fsgym.evaluate(Policy(), data)


def test_a_model_is_shown_the_values_of_an_environment_as_it_knows_them(tmp_path):
    train, test = load_dataset("breast_cancer", "train"), load_dataset("breast_cancer", "test")
    env = gym.make("DatumWise-v0", lam=0.05, split="test")
    scaled = gym.make("DatumWise-v0", lam=0.05, split="train").unwrapped.dataset
    on_raw, on_scaled = (LatticeClassifier(lam=0.05, random_state=0).fit(rows) for rows in (train, scaled))
    on_raw.save(tmp_path / "model.safetensors")
    expected = evaluate(on_raw, test).loss
    assert evaluate(load_classifier(tmp_path / "model.safetensors"), env).loss == evaluate(on_raw, env).loss == expected
    assert evaluate(on_scaled, env).loss == expected
    with pytest.warns(UserWarning, match="trained on values from -1 to 1, .* but only [56].% of these are"):
        assert evaluate(on_scaled, test).loss > expected
