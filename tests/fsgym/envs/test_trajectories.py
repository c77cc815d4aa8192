"""Trajectories as a table: names, values with units, prices; None where there is no text."""

import numpy as np
import pytest

from fsgym import Dataset, Rules, evaluate
from fsgym.data.columns import Column, Columns
from fsgym.envs.trajectories import revealed_values, values_as_text

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
