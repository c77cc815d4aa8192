"""Trajectories as a table: names, values with units, prices; None where there is no text."""

import numpy as np
import pytest

from fsgym import Dataset, Rules, evaluate
from fsgym.data.columns import Column, Columns
from fsgym.envs.trajectories import price_orders, price_steps, revealed_values, values_as_text

COLUMNS = Columns([Column("crp", unit="mg/l"), Column("ward", "category", ("er", "gp", "icu")), Column("s", "bool")])
ROW = np.array([12.5, 0, 1, 0, np.nan], np.float32)


@pytest.mark.parametrize(
    ("features", "text"),
    [
        ([0], "12.5 mg/l"),
        ([1, 2, 3], "gp"),
        ([4], "missing"),
        ([0, 4], "crp 12.5 mg/l, s missing"),
        ([2], "1"),
        ([3, 1], "ward=er 0, ward=icu 0"),
        ([0, 2], "crp 12.5 mg/l, ward=gp 1"),
    ],
)
def test_values_have_units_levels_and_names(features, text):
    assert values_as_text(ROW, features, COLUMNS) == text


def test_part_of_a_category_is_shown_by_feature():
    assert revealed_values(ROW, [2], COLUMNS) == [("ward=gp", "1")]
    assert revealed_values(ROW, [1, 2, 3], COLUMNS) == [("ward", "gp")]


@pytest.mark.parametrize("case_costs", [False, True])
def test_the_price_of_a_step_is_what_it_adds_to_the_total(case_costs):
    rng, J = np.random.default_rng(0), 6
    related = np.triu(rng.random((J, J)) < 0.5, 1)
    prices = {} if case_costs else {"unrelated_costs": rng.random(J), "related": related | related.T}
    rules = Rules(J, 2, costs=rng.random(J), costs_by_case=case_costs, **prices)
    X = np.where(rng.random((40, J)) < 0.3, np.nan, 0.0).astype(np.float32)
    order = rng.permuted(np.tile(np.arange(J, dtype=np.int32), (40, 1)), axis=1)
    order[np.arange(J) >= rng.integers(0, J + 1, 40)[:, None]] = -1
    given = rng.random((40, J)) if case_costs else None
    totals = [price_orders(rules, X, order[:, :n], given)[0] for n in range(J + 1)]
    steps = price_steps(rules, X, order, given)
    np.testing.assert_array_equal(steps, np.diff(totals, axis=0).T)
    is_paid = (order >= 0) & ~np.isnan(np.take_along_axis(X, np.maximum(order, 0), 1))
    np.testing.assert_array_equal(steps > 0, is_paid)
    assert price_steps(rules, X, order[:, :0], given).shape == (40, 0)


@pytest.mark.parametrize("labels", [["a", "b"], [0, 1], [0.5, 2.0]])
def test_the_table_has_none_where_there_is_no_text(labels):
    data = Dataset(np.stack([ROW, ROW]), labels, columns=COLUMNS, groups={"panel": ["crp", "s"]}, costs=[2, 3])
    result = evaluate(lambda o, m: np.where(m[:, 1], 1, 2), data, rules=Rules.for_dataset(data))
    frame = result.trajectories.to_frame()
    assert frame["acquired"].tolist() == ["ward", None] * 2
    assert frame["value"].tolist() == ["gp", None] * 2
    assert frame["answer"].tolist() == [None, labels[0]] * 2
    assert type(frame["answer"][1]) is type(labels[0])
    assert frame[["price", "spent"]].to_numpy().tolist() == [[3, 3], [0, 3]] * 2
    assert frame.dtypes[["row", "step"]].tolist() == [np.int64] * 2


def test_the_table_of_no_rows_has_the_same_columns():
    data = Dataset(np.stack([ROW, ROW]), ["a", "b"], columns=COLUMNS)
    trajectories = evaluate(lambda o, m: [5] * len(m), data).trajectories
    none = type(trajectories)(
        trajectories.order[:0],
        *[v[:0] for v in (trajectories.acquired, trajectories.answers, trajectories.forfeited)],
        trajectories.table,
    )
    assert none.to_frame().shape == (0, 7)
    assert none.to_frame().columns.tolist() == trajectories.to_frame().columns.tolist()
