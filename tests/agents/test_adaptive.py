"""The classifier that chooses among learners by their own losses."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from agents import AdaptiveClassifier, load_classifier, model_file
from agents.adaptive.classifier import ChoosingLearner
from agents.adaptive.policy import LEARNERS
from agents.adaptive.report import LearnerReport
from agents.lattice.sweep import standard_error
from agents.policy import Policy
from agents.tradeoff import TrainingTask, UsageTarget
from fsgym import Dataset, Rules, evaluate
from tests.fsgym.cli.test_cli import call


class Fixed(Policy):
    """Acquires the first feature, if it acquires anything, and answers its sign; otherwise class 0."""

    kind = "fixed"

    def __init__(self, rules, acquires):
        self.rules, self.acquires = rules, acquires

    def actions(self, acquired, values, legal, *, continue_after_stop=False):
        J = self.rules.n_acquisitions
        answer = J + np.where(acquired[:, 0], values[:, 0] > 0, 0)
        return np.where(legal[:, 0] & ~acquired[:, 0] & self.acquires, 0, answer)

    def to_arrays(self):
        return {}, {}

    @classmethod
    def from_arrays(cls, arrays, header, rules):
        return cls(rules, True)


def learner(acquires, seen=None):
    """A learner of ``Fixed``, whose losses are those of a training that learnt nothing from the row."""

    @contextmanager
    def make(task):
        if seen is not None:
            seen.append(task.dataset.n_samples)
        X, y = task.dataset.X, task.dataset.y

        def learn_at(rules):
            answers = ((X[:, 0] > 0) & acquires).astype(np.int64)
            losses = rules.error_costs[answers, y] + rules.lam * acquires
            usage = {"features": 1.0, "cost": 1.0}
            return SimpleNamespace(rules=rules, usage=lambda: usage, row_losses=lambda: losses)

        yield SimpleNamespace(learn_at=learn_at, finish=lambda model, result: Fixed(result.rules, acquires))

    return make


def task_of(n, share_of_ones=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = (X[:, 0] > np.quantile(X[:, 0], 1 - share_of_ones)).astype(np.int64)
    y[:2] = 0, 1
    return TrainingTask(Dataset(X, y), None, Rules(3, 2), np.random.default_rng(0))


def choose(n, learners, lam=0.01, **options):
    with ExitStack() as stack:
        choosing = ChoosingLearner(task_of(n, **options), learners, stack)
        return choosing.learn_at(Rules(3, 2, lam=lam))


def test_the_loss_of_the_first_learner_counts_as_half_a_standard_error_higher():
    seen = []
    learners = {"lattice": learner(False), "mixture": learner(True, seen=seen)}
    report = choose(400, learners).report
    assert report.learner == "mixture"
    assert [trial.learner for trial in report.trials] == ["lattice", "mixture"]
    assert report.trials[1].difference < -0.4
    assert seen == [400]  # trained once, on all rows
    assert report.reason.startswith("mixture is taken: its loss is lower than that of lattice by")
    loss, error = report.trials[0].loss, report.trials[0].error
    mistakes = report.trials[1].loss - 0.01
    assert error == pytest.approx(0.5 / 20, rel=0.01)
    for errors, chosen in ((0.4, "mixture"), (0.6, "lattice"), (4, "lattice")):
        report = choose(400, learners, lam=loss - mistakes + errors * error).report
        assert report.learner == chosen
        assert report.reason.startswith(f"{chosen} is taken: its loss is ")
        assert ("higher than that of lattice by" in report.reason) == (chosen == "mixture")


def test_equal_losses_are_said_to_be_equal():
    report = choose(400, {"lattice": learner(True), "mixture": learner(True)}).report
    assert report.learner == "mixture"
    assert report.reason.startswith("mixture is taken: its loss is as high as that of lattice (standard error 0.0025)")
    assert "the loss of lattice looks about" in report.reason


def test_another_fit_leaves_no_attributes_of_the_former_learner(fitted):
    data = fitted[1]
    model = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0).fit(data)
    assert model.history_
    model.set_params(learner="mixture").fit(data)
    assert not hasattr(model, "history_")
    assert not hasattr(model, "limited_by_")
    assert model.training_loss_ is not None
    assert not hasattr(model.set_params(learner="lattice").fit(data), "training_loss_")


def test_the_network_is_tried_from_five_hundred_rows_on():
    names = ["lattice", "mixture", "network"]
    for n, tried in ((499, 2), (500, 3)):
        report = choose(n, dict(zip(names, [learner(True), learner(True), learner(True)]))).report
        assert [trial.learner for trial in report.trials] == names
        assert sum(np.isfinite(trial.loss) for trial in report.trials) == tried
        assert ("not trained: under 500 training rows" in report.trials[2].left) == (tried == 2)


def test_the_standard_error_counts_one_row_more_on_which_only_one_of_the_two_errs():
    rules = Rules(3, 2, error_costs=[[0, 3], [1, 0]])
    assert standard_error(np.zeros(50), None, rules) == pytest.approx(3 / 50)
    losses = np.random.default_rng(0).random(400)
    assert standard_error(losses, np.full(400, 7.0), rules) == standard_error(losses, None, rules)
    assert standard_error(losses, None, rules) == pytest.approx(np.hypot(losses.std() / 20, 3 / 400))


@pytest.mark.parametrize("name", ["lattice", "mixture"])
def test_own_losses_of_rows_are_prices_and_errors_of_a_policy_that_has_not_seen_them(name):
    """Their mean is near that on new rows: at most .03 below, as the structure is learnt on the same rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2400)
    data = Dataset((y[:, None] + rng.normal(size=(2400, 4))).astype(np.float32), y)
    train, test, rules = data.rows(np.arange(400)), data.rows(np.arange(400, 2400)), Rules(4, 2, lam=0.02)
    task = TrainingTask(train, None, rules, np.random.default_rng(0))
    with LEARNERS[name]()._learner(task) as own:
        result = own.learn_at(rules)
        losses, usage = result.row_losses(), result.usage()
        policy = own.finish(SimpleNamespace(), result)
    assert losses.shape == (400,)
    assert losses.mean() == pytest.approx(usage["cost"] * 0.02 + (losses >= 1).mean())
    new = evaluate(policy, test, rules).loss
    assert new - 0.03 <= losses.mean() <= new + 0.03


@pytest.fixture(scope="module")
def fitted():
    data = task_of(150).dataset
    return AdaptiveClassifier(lam=0.05, random_state=0).fit(data), data


def test_all_learners_are_compared_and_the_choice_is_saved(fitted, tmp_path):
    model, data = fitted
    assert [trial.learner for trial in model.report_.trials] == ["lattice", "mixture", "network"]
    assert model.learner_ == model.report_.learner
    losses = [trial.loss for trial in model.report_.trials]
    np.testing.assert_array_equal(model.report_.to_frame()["loss"].tolist(), losses)
    assert model.score(data.X, data.y) > 0.9
    model.save(tmp_path / "model")
    for again in (AdaptiveClassifier.load(tmp_path / "model"), load_classifier(tmp_path / "model")):
        trials = tuple(trial._replace(seconds=None) for trial in model.report_.trials)
        assert repr(again.report_) == repr(model.report_._replace(trials=trials, seconds=None))  # NaN is not NaN
        assert again.learner_ == model.learner_
        again.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
        np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))
    assert "LearnerReport" in model.report_._repr_html_()


def test_a_file_with_another_learner_is_refused(fitted, tmp_path):
    fitted[0].save(tmp_path / "model")
    arrays, header = model_file.read(tmp_path / "model", "adaptive")
    for change, message in (
        ({"learner": "oracle"}, "learner"),
        ({"report": {}}, "damaged"),
        ({"report": {**header["report"], "n_held_out": -1}}, "number of rows"),
        ({"policy": None, "learner": "mixture"}, "damaged"),
    ):
        model_file.write(tmp_path / "damaged", "adaptive", arrays, {**header, **change})
        with pytest.raises(ValueError, match=message):
            AdaptiveClassifier.load(tmp_path / "damaged")


def test_an_unknown_learner_is_refused_in_a_sentence(fitted):
    with pytest.raises(ValueError, match=r"unknown learner 'latice'.*lattice"):
        AdaptiveClassifier(learner="latice").fit(fitted[1])
    for parameter in ("learner", "calibration"):
        with pytest.raises(ValueError, match=f"unknown {parameter} array"):
            AdaptiveClassifier(**{parameter: np.array(["lattice", "none"])}).fit(fitted[1])


def test_a_target_is_searched_with_the_learner_that_is_better_where_the_first_one_meets_it():
    """The lattice of this test uses as many features as fit the price, half as many as the mixture."""
    searched = []

    def learner(name, loss, factor):
        @contextmanager
        def make(task):
            def learn_at(rules):
                searched.append((name, rules.lam))
                time.sleep(0.005)
                usage, losses = {"features": factor / rules.lam, "cost": 0.0}, np.full(400, loss)
                return SimpleNamespace(rules=rules, usage=lambda: usage, row_losses=lambda: losses)

            yield SimpleNamespace(learn_at=learn_at, finish=lambda model, result: Fixed(result.rules, True))

        return make

    learners = {"lattice": learner("lattice", 0.5, 0.01), "mixture": learner("mixture", 0.1, 0.02)}
    with ExitStack() as stack:
        choosing = ChoosingLearner(task_of(400), learners, stack)
        chosen = choosing.learn_for(UsageTarget("features", 1.0), lambda lam: Rules(3, 2, lam=lam))
    n_trained = Counter(name for name, _ in searched)
    assert chosen.learner == chosen.report.learner == "mixture"
    assert chosen.usage()["features"] == pytest.approx(1, rel=0.04)
    assert chosen.usage()["features"] <= 1
    compared_at = searched[[name for name, _ in searched].index("mixture") - 1][1]
    assert compared_at == pytest.approx(0.01, rel=0.04)  # the price of the lattice
    assert chosen.rules.lam == pytest.approx(0.02, rel=0.04)
    assert chosen.report.compared_at == compared_at
    again = LearnerReport.from_json(json.loads(json.dumps(chosen.report.as_json())))
    assert again.compared_at == compared_at
    needed = f"losses at {compared_at:g}, which lattice needs for the target"
    assert needed in str(again)
    assert needed in again._repr_html_()
    assert choose(400, learners).report.compared_at is None
    for trial in chosen.report.trials:  # all that was trained for the target counts
        assert trial.seconds >= 0.005 * n_trained[trial.learner]


def test_the_report_says_what_was_tried_and_what_simple_policies_would_cost(fitted):
    """In ``report_``, in the model's HTML and, by ``tests/cli``, in what ``train`` prints."""
    model, data = fitted
    nothing, everything, panel = model.report_.references
    assert nothing.loss == pytest.approx(np.bincount(data.y).min() / len(data.y))
    assert everything.loss >= 0.05 * 3  # the price of all
    assert panel.acquisitions == ("x0",)  # the others are noise
    assert panel.is_noise
    assert not nothing.is_noise
    texts = [str(model.report_), model._repr_html_inner()]
    for text in (*texts, str(load_report(model))):
        for word in ("lattice", "mixture", "network", "not trained", "nothing", "everything", "best fixed panel", "±"):
            assert word in text
        assert "as good as lattice within noise: x0" in text
        assert "left after its training" in text


@pytest.mark.parametrize("options", [{"known": [0]}, {"costs": [0, 1, 1]}], ids=["known", "free"])
def test_the_reference_of_nothing_is_without_what_is_free_and_the_panel_names_it(options):
    data = task_of(150).dataset
    X = np.column_stack([data.y, data.X[:, 1:]])
    report = AdaptiveClassifier(lam=0.05, learner="lattice", random_state=0, **options).fit(X, data.y).report_
    nothing, _, panel = report.references
    assert nothing.loss == pytest.approx(np.bincount(data.y).min() / len(data.y))
    assert (panel.loss, panel.acquisitions) == (0.0, ("x0",))


def test_describe_says_at_which_lambda_the_learners_were_compared(fitted, tmp_path, capsys):
    model = copy(fitted[0])
    model.policy_ = replace(model.policy_, report=model.report_._replace(compared_at=0.02))
    model.save(tmp_path / "model.safetensors")
    printed = call(capsys, "describe", tmp_path / "model.safetensors")[1]
    assert "Expected loss per case at lambda 0.02, which is not its own: 0." in " ".join(printed.split())


def load_report(model):
    return LearnerReport.from_json(json.loads(json.dumps(model.report_.as_json())))


def test_the_report_of_an_older_model_file_is_read():
    entry = {"learner": "lattice", "reason": "few rows", "n_held_out": 3, "trials": [["lattice", 0.1, 0.0, 0.0]]}
    report = LearnerReport.from_json(entry)
    assert str(report) == "few rows\nlattice: loss 0.1000"
    assert (report.references, report.limited_by) == ((), None)
