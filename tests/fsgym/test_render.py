"""Rendering: lines of text, and images."""

from __future__ import annotations

import numpy as np
import pytest

from fsgym import Dataset, DatumWiseEnv, DatumWiseVectorEnv, Rules
from fsgym.columns import Column, Columns
from fsgym.render import CORRECT, UNANSWERED, UNKNOWN, WRONG

DATA = Dataset(
    [[-1.0, 0.0, 1.0], [0.5, np.nan, 0.25]],
    ["ill", "well"],
    feature_names=["age", "pulse", "weight"],
    name="clinic",
    bounds=([-1, -1, -1], [1, 1, 1]),
)
RULES = Rules.for_dataset(DATA, lam=0.1, costs=[1, 2, 3])
GROUPED = Rules.for_dataset(DATA, lam=0.1, groups=[[0], [1, 2]], error_costs=[[0, 3], [7, 0]])


def lines(row: int, *actions: int) -> list[str]:
    env = DatumWiseEnv(DATA, RULES, render_mode="ansi")
    env.reset(options={"index": row})
    for action in actions:
        env.step(action)
    return env.render().splitlines()


def test_ansi_of_a_correct_answer():
    assert lines(0, 2, 0, 3) == [
        "row 0 of clinic: may acquire age, pulse, weight",
        "weight = 1, price 3; may acquire age, pulse",
        "age = -1, price 1; may acquire pulse",
        "answer ill: correct, error cost 0; spent 4",
    ]


def test_ansi_wrong_missing_and_forfeit():
    assert lines(1, 0, 1) == [
        "row 1 of clinic: may acquire age, weight",
        "age = 0.5, price 1; may acquire weight",
        "illegal action 1 (pulse); answer ill: wrong, it is well, error cost 1; spent 1",
    ]
    env = DatumWiseEnv(DATA, GROUPED, render_mode="ansi")
    env.reset(options={"index": 1})
    env.step(1)
    env.step(0)
    env.step(2)
    assert env.render().splitlines()[1:] == [
        "group 1: pulse = missing, weight = 0.25, price 1; may acquire age",
        "age = 0.5, price 1; no acquisition left",
        "answer ill: wrong, it is well, error cost 3; spent 2",
    ]


def test_ansi_shows_units_levels_and_prices_in_the_unit_of_costs():
    columns = Columns(
        [Column("crp", unit="mg/l"), Column("ward", "category", ("er", "gp", "icu")), Column("s", "bool")]
    )
    X = [[12.5, 0, 0, 1, 1], [3, np.nan, np.nan, np.nan, 0]]
    data = Dataset(X, [0, 1], columns=columns, groups={"panel": ["crp", "s"]}, costs={"panel": 3, "ward": 0.25})
    env = DatumWiseEnv(data, Rules.for_dataset(data, lam=0.0), render_mode="ansi")
    env.reset(options={"index": 0})
    for action in (0, 1):
        env.step(action)
    assert env.render().splitlines()[1:] == [
        "panel: crp = 12.5 mg/l, s = True, price 3; may acquire ward",
        "ward = icu, price 0.25; no acquisition left",
    ]
    single = DatumWiseEnv(data, Rules(5, 2), render_mode="ansi")  # a level is an acquisition of its own
    single.reset(options={"index": 0})
    single.step(3)
    assert "x3: ward=icu = 1, price 1;" in single.render()


def test_long_lists_of_acquisitions_end_with_a_count():
    wide = Dataset(np.zeros((2, 20)), [0, 1])
    env = DatumWiseEnv(wide, render_mode="ansi")
    env.reset(options={"index": 0})
    assert env.render() == "row 0 of data: may acquire x0, x1, x2, x3, x4, x5 and 14 more\n"


def cell(picture: np.ndarray, row: int, column: int, columns: int) -> tuple[int, ...]:
    size = picture.shape[1] // columns
    return tuple(int(v) for v in picture[row * size + size // 2, column * size + size // 2])


def test_grid():
    env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array")
    env.reset(options={"index": 0})
    blank = env.render()
    assert (blank.dtype, blank.ndim, blank.shape[2]) == (np.uint8, 3, 3)
    assert cell(blank, 0, 0, 2) == UNKNOWN
    assert tuple(blank[-1, 0]) == UNANSWERED
    env.step(0)
    env.step(2)
    shown = env.render()
    assert shown.shape == blank.shape
    blue, unknown, red = cell(shown, 0, 0, 2), cell(shown, 0, 1, 2), cell(shown, 1, 0, 2)
    assert (blue, unknown, red) == ((33, 102, 172), UNKNOWN, (178, 24, 43))
    env.step(3)
    answered = env.render()
    assert tuple(answered[-1, 0]) == CORRECT
    assert tuple(answered[-1, -1]) == UNANSWERED
    env.reset(options={"index": 0})
    assert np.array_equal(env.render(), blank)
    env.step(4)
    assert tuple(env.render()[-1, -1]) == WRONG


def test_image():
    pixels = Dataset(
        [[0.0, 16.0, 8.0, 0.0, 4.0, 2.0], [16.0] * 6], [0, 1], image_shape=(2, 3), bounds=([0] * 6, [16] * 6)
    )
    env = DatumWiseEnv(pixels, render_mode="rgb_array")
    env.reset(options={"index": 0})
    for action in (0, 1, 2):
        env.step(action)
    picture = env.render()
    assert [cell(picture, 0, c, 3) for c in range(3)] == [(0, 0, 0), (255, 255, 255), (127, 127, 127)]
    assert [cell(picture, 1, c, 3) for c in range(3)] == [UNKNOWN] * 3


def test_vector():
    envs = DatumWiseVectorEnv(DATA, RULES, 3, render_mode="rgb_array")
    envs.reset(options={"index": 0})
    envs.step(np.array([0, 3, 4]))
    pictures = envs.render()
    assert [tuple(p[-1, 0]) for p in pictures] == [UNANSWERED, CORRECT, UNANSWERED]
    assert tuple(pictures[2][-1, -1]) == WRONG
    assert len({p.shape for p in pictures}) == 1
    envs.step(np.array([1, 3, 4]))
    assert {tuple(p[-1, k]) for p in envs.render() for k in (0, -1)} == {UNANSWERED}
    assert DatumWiseVectorEnv(DATA, RULES, 2).render() is None


@pytest.mark.parametrize("n", [1, 2, 5, 30, 784])
def test_any_number_of_features(n):
    data = Dataset(np.linspace(-1, 1, 2 * n).reshape(2, n), [0, 1])
    env = DatumWiseEnv(data, render_mode="rgb_array")
    env.reset(seed=0)
    env.step(n - 1)
    assert env.render().shape[1] >= 17
