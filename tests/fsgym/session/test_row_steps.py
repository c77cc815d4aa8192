"""The next step of many rows is that of each of them alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fsgym
from agents import AdaptiveClassifier, DatumWiseClassifier, MixtureClassifier
from fsgym.data.columns import Column, Columns
from fsgym.session.row_steps import RowCases, RowSteps, steps_of_rows
from fsgym.session.values import check_value
from support.asked_models import QUICK, REST, asked_model, asked_table
from tests.agents.test_case_costs import two_equal_features
from tests.agents.test_missing_evidence import cases

# A small lattice reaches its limit sooner, and says so.
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit:UserWarning")


def hidden(table: pd.DataFrame, n: int) -> pd.DataFrame:
    """The first rows of a table, of which two thirds of the cells are empty."""
    rng = np.random.default_rng(0)
    return table[:n].mask(rng.random((n, table.shape[1])) < 2 / 3)


def check_steps(model, table, steps: RowSteps, **options) -> None:
    """Each row of ``steps`` is ``model.step`` of what is known of it; ``options`` has lists with an entry a row."""
    answers = model.rules_.answer_labels(model.answers_)
    for i, (_, row) in enumerate(table.iterrows()):
        known = row.dropna().to_dict()
        step = model.step(known, accept=True, **{name: values[i] for name, values in options.items()})
        question = None if steps.question[i] < 0 else model.rules_.names[steps.question[i]]
        assert question == (step.question and step.question.name)
        np.testing.assert_equal(steps.price[i], np.nan if step.question is None else step.question.price)
        assert answers[steps.answers[i]] == step.answer
        costs = [np.nan if cost is None else cost for cost in step.expected_cost]
        rounding = 1e-6 * np.abs(model.rules_.answer_costs).max()  # networks are float32, also where costs cancel
        np.testing.assert_allclose([steps.stop_cost[i], steps.go_on_cost[i]], costs, rtol=1e-4, atol=rounding)
        if step.probabilities is None:
            assert steps.probabilities is None
        else:
            assert steps.probabilities is not None
            np.testing.assert_allclose(steps.probabilities[i], [*step.probabilities.values()], rtol=1e-4)


FEW = [("linear", "base, mixed"), ("linear", "prerequisites, budget, mixed"), ("lattice", "panel with a needle")]
OTHERS = [pytest.param(*pair, marks=pytest.mark.slow) for pair in [*QUICK, *REST] if pair not in FEW]


@pytest.mark.parametrize(("agent", "variant"), [*FEW, *OTHERS])
def test_the_step_of_each_row_is_that_of_the_row_alone(agent, variant):
    model, table = asked_model(agent, variant), hidden(asked_table(variant)[0], 25)
    steps = steps_of_rows(model, RowCases.of(model, table))
    check_steps(model, table, steps)
    if agent == "linear" and variant == "base, mixed":
        assert 0 < (steps.question < 0).sum() < len(table)


def wards(n=200):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"ward": rng.choice(["er", "gp", "icu"], n), "crp": rng.random(n), "wbc": rng.random(n)})
    return X, np.where((X["crp"] > 0.5) ^ (X["ward"] == "icu"), "ill", "well")


@pytest.mark.parametrize("learner", ["lattice", "mixture"])
def test_panels_levels_that_are_new_and_values_beyond_the_range(learner):
    X, y = wards()
    panels = {"blood": ["crp", "wbc"], "ward": ["ward"]}
    model = AdaptiveClassifier(lam=0.02, learner=learner, groups=panels, random_state=0).fit(X, y)
    rows = hidden(X, 30)
    rows.iloc[0] = [np.nan, 0.3, np.nan]  # the rest of a panel can still be acquired
    rows.iloc[1] = ["hospice", np.nan, np.nan]
    rows.iloc[2] = [np.nan, 70.0, -3.0]
    with pytest.warns(UserWarning, match="hospice"):
        steps = steps_of_rows(model, RowCases.of(model, rows))
    check_steps(model, rows, steps)
    assert model.rules_.names[steps.question[1]] == "blood"  # the ward is not asked for again


def test_a_model_whose_acquisitions_cut_columns_has_no_steps():
    X, y = wards(60)
    data = fsgym.load_dataset(X.assign(ill=y), target="ill").replace(groups=((0, 3), (1, 2, 4)))
    model = DatumWiseClassifier(n_iterations=1, random_state=0).fit(data)
    with pytest.raises(ValueError, match="must reveal whole columns"):
        steps_of_rows(model, RowCases.of(model, X))


def test_that_a_cell_is_empty_is_no_evidence():
    model = AdaptiveClassifier(lam=0.03, learner="lattice", random_state=0).fit(*cases(400, 0))
    rows = hidden(cases(40, 1)[0], 40)
    assert model.evidence_ == ("scan",)
    check_steps(model, rows, steps_of_rows(model, RowCases.of(model, rows)))


def test_each_row_has_its_own_prices():
    data = two_equal_features(120, 0)
    model = MixtureClassifier(lam=0.01, random_state=0).fit(data)
    rows, prices = hidden(data.to_frame(), 30), data.case_costs
    assert prices is not None
    named = [dict(zip(model.rules_.names, vector, strict=True)) for vector in prices[:30].tolist()]
    check_steps(model, rows, steps_of_rows(model, RowCases.of(model, rows, prices[:30])), prices=named)
    check_steps(model, rows, steps_of_rows(model, RowCases.of(model, rows)))


def test_no_rows_have_no_steps():
    model = MixtureClassifier(lam=0.03, random_state=0).fit(data := two_equal_features(300, 0))
    table = data.to_frame()[:0]
    for prices in (None, np.zeros((0, 4))):
        steps = steps_of_rows(model, RowCases.of(model, table[list(model.columns_.names)], prices))
        assert [len(part) for part in steps if part is not None] == [0] * 6


@pytest.mark.parametrize("kind", ["category", "codes"])
@pytest.mark.parametrize("levels", [("er",), ("er", "gp"), ("er", "gp", "icu")])
def test_a_level_has_the_features_that_it_has_in_a_table(kind, levels):
    """The only level of a category was 1 in tables, and 0 in sessions."""
    column = Column("ward", kind, levels)
    for level in levels:
        table = Columns([column]).encode(pd.DataFrame({"ward": [level]}))[0]
        assert list(check_value(column, level).features) == table.tolist()
