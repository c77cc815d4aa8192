"""Single cases of a comparison: what was acquired first, what was believed after each acquisition, and the cards."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import LatticeClassifier
from fsgym import Dataset, Rules, evaluate
from fsgym.comparison.examples import examples_of_rows, first_columns
from fsgym.data.targets import Bins
from fsgym.text.sentences import beliefs_in_words
from support.asking_in_order import AskingInOrder
from support.pages import read


@pytest.fixture(scope="module")
def fitted():
    """A lattice policy on data of which the first feature is free, and its evaluation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=240) > 0).astype(int)
    data = Dataset(X, y)
    model = LatticeClassifier(lam=0.02, costs=[0.0, 1.0, 1.0, 1.0], unknown=0, random_state=0).fit(X[:120], y[:120])
    return model, evaluate(model, data.rows(np.arange(120, 240)), rules=model.rules_)


def test_first_acquisitions_agree_with_the_steps(fitted):
    model, result = fitted
    steps = model.trajectories(result.dataset.X).to_frame().dropna(subset=["acquired"])
    columns = first_columns(result)
    for name, rows in (("first", steps), ("first_paid", steps[steps["price"] > 0])):
        counts = rows.drop_duplicates("row")["acquired"].value_counts() / result.dataset.n_samples
        assert json.loads(columns[name]) == pytest.approx(counts.to_dict(), abs=1e-3)
    assert "x0" in json.loads(columns["first"])
    assert "x0" not in json.loads(columns["first_paid"])


def test_policies_that_acquire_nothing_have_no_first_acquisition():
    data = Dataset(np.zeros((6, 2)), [0, 1] * 3)
    result = evaluate(lambda observations, masks: np.full(len(masks), 2), data, rules=Rules(2, 2))
    assert first_columns(result) == {"first": "{}", "first_paid": "{}"}


def test_beliefs_are_those_of_the_model_given_what_is_known(fitted):
    model, result = fitted
    examples = examples_of_rows(result, result.dataset, model)
    X = result.dataset.X
    assert {e["correct"] for e in examples} == {True, False}
    assert {e["answer"] for e in examples if e["correct"]} == {"0", "1"}
    assert [len(e["steps"]) for e in examples] == sorted(len(e["steps"]) for e in examples)
    for example in examples:
        assert len(example["beliefs"]) == len(example["steps"]) + 1
        known, row = np.zeros((1, 4), bool), np.full((1, 4), 7.0, np.float32)  # 7: not known yet
        np.testing.assert_allclose(example["beliefs"][0], model.probabilities_at(row, known)[0], atol=1e-6)
        for step, belief in zip(example["steps"], example["beliefs"][1:], strict=True):
            j = int(step["name"][1:])
            known[0, j], row[0, j] = True, step["values"][0][1]
            np.testing.assert_allclose(belief, model.probabilities_at(row, known)[0], atol=1e-6)
        (i,) = np.flatnonzero((row == X).sum(axis=1) == known.sum())
        assert example["cost"] == pytest.approx(result.losses[i])
        assert example["cost"] == pytest.approx(0.02 * example["paid"] + example["error_cost"])


@pytest.mark.parametrize("answers", ["median", "mean"])
def test_an_example_costs_what_the_number_it_answers_costs(answers):
    """Its error had the mean cost of its bin, and so the card contradicted the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)).astype(np.float32)
    numbers = 10 * X[:, 0] + rng.normal(size=40)
    data = Dataset(X, numbers, bins=Bins.of(numbers, 3, answers=answers))
    result = evaluate(AskingInOrder(0.0).fit(data.X, data.y), data, rules=Rules.for_dataset(data, lam=0.5))
    for example in examples_of_rows(result, data, object()):
        values = [step["values"][0][1] for step in example["steps"]]
        (i,) = np.flatnonzero((data.X[:, : len(values)] == values).all(axis=1))
        error = abs(result.predicted[i] - numbers[i])
        assert example["error_cost"] == pytest.approx(error if answers == "median" else error**2)
        assert example["cost"] == pytest.approx(result.losses[i])


def test_models_without_probabilities_have_no_beliefs(fitted):
    _, result = fitted
    assert all(e["beliefs"] is None for e in examples_of_rows(result, result.dataset, object()))


def test_beliefs_in_words():
    assert beliefs_in_words([(0.09, 0.91), (0.41, 0.59), (0.001, 0.999)], ["acs", "other"]) == [
        "acs 41 % (was 9 %)",
        "acs below 1 % (was 41 %)",
    ]
    three = [(0.2, 0.5, 0.3), (0.1, 0.2, 0.7)]
    assert beliefs_in_words(three, ["a", "b", "c"]) == ["c 70 % (was 30 %)"]


@pytest.mark.slow
def test_cards_show_beliefs_and_costs_before_the_other_tables(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0.5, "acs", "other")
    data = Dataset(X, y, feature_names=["troponin", "age", "ct"])
    errors = {"other": {"acs": 20.0}, "acs": {"other": 4.0}}
    fsgym.compare(
        data, "lattice", splits=1, lam=1, costs=[0.5, 0.25, 2.0], error_costs=errors, references=False, out=tmp_path
    )
    _, text = read(tmp_path / "report.html")
    assert "before any acquisition: acs" in text
    assert "→ acs" in text
    assert "troponin = " in text
    assert " for the error" in text
    assert text.index("costs least") < text.index("The methods at lambda 1") < text.index("Single cases")
    assert text.index("Single cases") < text.index("Which features are used") < text.index("Protocol")
    assert "expected cost, which need not be the likeliest" in text


def numbers_of_two_columns(n_bins: int) -> Dataset:
    rng = np.random.default_rng(0)
    ward = rng.choice(["er", "icu"], 200)
    age = rng.uniform(20, 80, 200).round(1)
    table = pd.DataFrame({"age": age, "ward": ward, "hours": (age + 9 * (ward == "icu")).round(1)})
    return fsgym.load_dataset(table, target="hours", bins=n_bins, units={"hours": "h"})


@pytest.mark.parametrize("n_bins", [3, 12])
def test_a_model_with_other_bins_than_the_comparison_is_explained_by_its_own(n_bins, tmp_path):
    """An answer of one of its bins was looked up among those of the comparison."""

    def trained_before(env):
        return LatticeClassifier(lam=0.01, random_state=0).fit(numbers_of_two_columns(n_bins))

    data = numbers_of_two_columns(6)
    results = fsgym.compare(
        data, {"mine": trained_before}, splits=1, lam=0.01, references=False, progress=False, out=tmp_path
    )
    assert results["error"].isna().all()
    model = trained_before(None)
    ranges = {str(label) for label in model.bins_.ranges()}
    _, text = read(tmp_path / "report.html")
    answers = re.findall(r"answer ([\d.]+) h \((.*?)\) ?; the number is ([\d.]+) h \((.*?)\)", text)
    assert answers
    for number, about, truth, where in answers:
        assert {about, where} <= ranges
        assert float(number) in model.bins_.values.round(6)
        assert float(truth) in data.numbers


def test_the_answer_to_a_numeric_target_is_shown_as_the_number_that_its_error_is_of():
    data = numbers_of_two_columns(4)
    result = evaluate(LatticeClassifier(lam=0.01, random_state=0).fit(data), data)
    for example in examples_of_rows(result, data, object()):
        answer, truth = (float(example[name].partition(" h (")[0]) for name in ("answer", "true_class"))
        assert abs(answer - truth) == pytest.approx(example["error_cost"], abs=1e-4)
        assert example["correct"] == (example["answer"].partition("(")[2] == example["true_class"].partition("(")[2])
