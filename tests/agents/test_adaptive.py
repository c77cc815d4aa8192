"""The classifier that chooses among learners on held-out rows."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from agents import AdaptiveClassifier, load_classifier, model_file
from agents.adaptive.classifier import ChoosingLearner, row_losses
from agents.policy import Policy
from agents.target import UsageTarget
from agents.tradeoff import TrainingTask
from fsgym import Dataset, Rules, evaluate


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


def learner(acquires, limited_by=None, seen=None):
    @contextmanager
    def make(task):
        if seen is not None:
            seen.append(task.dataset.n_samples)

        def finish(model, result):
            model.limited_by_ = limited_by
            return Fixed(result.rules, acquires)

        yield SimpleNamespace(
            learn_at=lambda rules: SimpleNamespace(rules=rules, usage=lambda: {"features": 1.0, "cost": 1.0}),
            finish=finish,
        )

    return make


def task_of(n, share_of_ones=0.5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    y = (X[:, 0] > np.quantile(X[:, 0], 1 - share_of_ones)).astype(np.int64)
    y[:2] = 0, 1
    return TrainingTask(Dataset(X, y), None, ((0,), (1,), (2,)), (), np.random.default_rng(0))


def choose(n, learners, lam=0.01, **options):
    with ExitStack() as stack:
        choosing = ChoosingLearner(task_of(n, **options), learners, learners, stack)
        return choosing.learn_at(Rules(3, 2, lam=lam))


def test_another_learner_is_used_only_where_it_is_better_by_a_standard_error():
    seen = []
    learners = {"lattice": learner(False), "mixture": learner(True, seen=seen)}
    report = choose(400, learners).report
    assert report.learner == "mixture"
    assert [trial.learner for trial in report.trials] == ["lattice", "mixture"]
    assert report.trials[1].difference < -0.4
    assert report.n_held_out == 240  # three parts of five
    assert sorted(seen) == [320, 320, 320, 400]
    assert "mixture has a loss lower than lattice by" in str(report)
    assert choose(400, learners, lam=0.7).report.learner == "lattice"
    equal = choose(400, {"lattice": learner(True), "mixture": learner(True)}).report
    assert equal.learner == "lattice"
    rare = choose(400, learners, lam=0.02, share_of_ones=0.025).report  # ten rows of class 1
    assert (rare.learner == "mixture") == (rare.trials[1].difference < -rare.trials[1].standard_error)


def test_the_network_is_tried_on_many_rows_or_where_the_lattice_is_limited():
    names = ["lattice", "mixture", "network"]
    for n, limited_by, tried in ((400, None, 2), (400, "operations", 3), (1200, None, 3)):
        report = choose(n, dict(zip(names, [learner(True, limited_by), learner(True), learner(True)]))).report
        assert [trial.learner for trial in report.trials] == names[:tried]
    assert report.n_held_out == 240  # one part


def test_few_rows_are_not_held_out():
    report = choose(60, {"lattice": learner(False), "mixture": learner(True)}).report
    assert (report.learner, report.trials, report.n_held_out) == ("lattice", (), 0)
    assert "60 rows are too few" in report.reason


def test_losses_of_rows_are_those_of_an_evaluation():
    data = task_of(50).dataset
    rules = Rules(3, 2, lam=0.3, costs=[2.0, 1.0, 1.0], error_costs=[[0, 3], [1, 0]])
    for acquires in (True, False):
        policy = Fixed(rules, acquires)
        result = evaluate(lambda o, m, policy=policy: policy.actions(o[:, :3] > 0.5, o[:, 3:], m), data, rules=rules)
        np.testing.assert_allclose(row_losses(policy, data.X, data.y, rules), result.losses)


@pytest.fixture(scope="module")
def fitted():
    data = task_of(150).dataset
    return AdaptiveClassifier(lam=0.05, random_state=0).fit(data), data


def test_all_learners_are_compared_and_the_choice_is_saved(fitted, tmp_path):
    model, data = fitted
    assert [trial.learner for trial in model.report_.trials] == ["lattice", "mixture"]
    assert model.learner_ == model.report_.learner
    assert model.report_.to_frame()["loss"].tolist() == [trial.loss for trial in model.report_.trials]
    assert model.score(data.X, data.y) > 0.9
    model.save(tmp_path / "model")
    for again in (AdaptiveClassifier.load(tmp_path / "model"), load_classifier(tmp_path / "model")):
        trials = tuple(trial._replace(seconds=None) for trial in model.report_.trials)
        assert again.report_ == model.report_._replace(trials=trials, seconds=None)
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


def test_a_target_is_searched_with_the_learner_that_is_better_where_the_first_one_meets_it():
    """The lattice of this test uses as many features as fit the price, half as many as the mixture."""
    searched = []

    def learner(name, acquires, factor):
        @contextmanager
        def make(task):
            def learn_at(rules):
                searched.append((name, task.dataset.n_samples, rules.lam))
                return SimpleNamespace(rules=rules, usage=lambda: {"features": factor / rules.lam, "cost": 0.0})

            yield SimpleNamespace(learn_at=learn_at, finish=lambda model, result: Fixed(result.rules, acquires))

        return make

    learners = {"lattice": learner("lattice", False, 0.01), "mixture": learner("mixture", True, 0.02)}
    with ExitStack() as stack:
        choosing = ChoosingLearner(task_of(400), learners, learners, stack)
        chosen = choosing.learn_for(UsageTarget("features", 1.0), lambda lam: Rules(3, 2, lam=lam))
    assert chosen.learner == chosen.report.learner == "mixture"
    assert chosen.usage()["features"] == pytest.approx(1, rel=0.04)
    assert chosen.usage()["features"] <= 1
    tried = {lam for _, n_samples, lam in searched if n_samples < 400}
    assert len(tried) == 1  # the learners are compared at one price, that of the lattice
    assert tried.pop() == pytest.approx(0.01, rel=0.04)
    assert chosen.rules.lam == pytest.approx(0.02, rel=0.04)
