"""Rendering: lines of text, and images."""

from __future__ import annotations

import copy
import subprocess

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from fsgym import Dataset, DatumWiseEnv, DatumWiseVectorEnv, Rules
from fsgym.data.columns import Column, Columns
from fsgym.envs.card import CORRECT, FOOT_BOTTOM, HEIGHT, UNANSWERED, WIDTH, WRONG, Card, draw_card
from fsgym.envs.rendering import UNKNOWN, draw_features

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


def test_an_answer_of_a_numeric_target_is_said_by_its_range_and_not_by_the_code_of_its_bin():
    data = Dataset([[0.0], [1.0], [2.0], [3.0]], [10.0, 20.0, 30.0, 40.0], bins=2)
    env = DatumWiseEnv(data, render_mode="ansi")
    env.reset(options={"index": 0})
    env.step(2)
    assert "answer 25 or more: wrong, it is below 25, " in env.render()


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


def cell(env: DatumWiseEnv, row: int, column: int, columns: int) -> tuple[int, ...]:
    picture = draw_features(env._episode, 0)
    size = picture.shape[1] // columns
    return tuple(int(v) for v in picture[row * size + size // 2, column * size + size // 2])


def foot(picture: np.ndarray) -> tuple[int, ...]:
    """The colour of the band at the foot of a card."""
    return tuple(int(v) for v in picture[FOOT_BOTTOM - 6, WIDTH // 2])


@pytest.fixture
def cards(monkeypatch) -> list[Card]:
    """What is drawn, as text."""
    seen: list[Card] = []
    monkeypatch.setattr("fsgym.envs.card.draw_card", lambda card: seen.append(card) or draw_card(card))
    return seen


def test_a_card_says_what_is_known_and_what_it_cost(cards):
    env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array", belief=lambda observations: [[0.25, 0.75]])
    env.reset(options={"index": 0})
    for action in (2, 0, 4):
        env.render()
        env.step(action)
    env.render()
    start, _, two, end = cards
    assert (start.title, start.spent, start.last) == ("row 0 of clinic", "spent 0", "no question yet")
    assert start.summary == "0 of 3 acquisitions, 3 more possible; lambda 0.1"
    assert (start.known, start.correct) == ([], None)
    assert two.known == [("weight = 1", "3"), ("age = -1", "1")]
    assert (two.spent, two.last) == ("spent 4", "last question: age = -1, price 1")
    assert two.belief == [("ill", 0.25), ("well", 0.75)]
    assert end.known == two.known
    assert (end.last, end.correct) == ("answer well: wrong, it is ill, error cost 1", False)


def test_a_card_has_units_levels_and_the_values_before_scaling(cards):
    columns = Columns([Column("crp", unit="mg/l"), Column("ward", "category", ("er", "gp", "icu"))])
    X = [[12.5, 0, 0, 1], [3, np.nan, np.nan, np.nan], [40, 1, 0, 0]]
    data = Dataset(X, [0, 1, 0], columns=columns, groups={"crp": ["crp"], "ward": ["ward"]}, costs=[0, 2])
    for scaled in (data, data.scaled(), data.rows([2, 1, 0]).scaled().rows([2, 1, 0])):
        env = DatumWiseEnv(scaled, render_mode="rgb_array")
        env.reset(options={"index": 0})
        for action in (0, 1):
            env.step(action)
        env.render()
        assert cards[-1].known == [("crp = 12.5 mg/l", "free"), ("ward = icu", "2")]


def test_cards_have_one_size_and_show_the_answer_in_colour():
    env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array")
    env.reset(options={"index": 0})
    blank = env.render()
    assert (blank.dtype, blank.shape) == (np.uint8, (HEIGHT, WIDTH, 3))
    assert foot(blank) == UNANSWERED
    env.step(0)
    assert not np.array_equal(env.render(), blank)
    env.step(3)
    assert foot(env.render()) == CORRECT
    env.reset(options={"index": 0})
    assert np.array_equal(env.render(), blank)
    env.step(4)
    assert foot(env.render()) == WRONG


def test_the_features_as_a_grid():
    env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array")
    env.reset(options={"index": 0})
    assert cell(env, 0, 0, 2) == UNKNOWN
    env.step(0)
    env.step(2)
    assert [cell(env, 0, 0, 2), cell(env, 0, 1, 2), cell(env, 1, 0, 2)] == [(33, 102, 172), UNKNOWN, (178, 24, 43)]


def test_image():
    pixels = Dataset(
        [[0.0, 16.0, 8.0, 0.0, 4.0, 2.0], [16.0] * 6], [0, 1], image_shape=(2, 3), bounds=([0] * 6, [16] * 6)
    )
    env = DatumWiseEnv(pixels, render_mode="rgb_array")
    env.reset(options={"index": 0})
    for action in (0, 1, 2):
        env.step(action)
    assert [cell(env, 0, c, 3) for c in range(3)] == [(0, 0, 0), (255, 255, 255), (127, 127, 127)]
    assert [cell(env, 1, c, 3) for c in range(3)] == [UNKNOWN] * 3
    assert env.render().shape == (HEIGHT, WIDTH, 3)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_vector(mode, cards):
    envs = DatumWiseVectorEnv(DATA, RULES, 3, render_mode="rgb_array", autoreset_mode=mode)
    envs.reset(options={"index": 0})
    envs.step(np.array([0, 3, 4]))
    pictures = envs.render()
    ends = [UNANSWERED, CORRECT, WRONG] if mode == "NextStep" else [UNANSWERED] * 3
    assert [foot(p) for p in pictures] == ends
    assert [len(card.known) for card in cards] == [1, 0, 0]
    envs.step(np.array([2, 3, 3]) if mode == "NextStep" else np.array([2, 0, 0]))
    assert {foot(p) for p in envs.render()} == {UNANSWERED}
    assert [card.known[-1][1] for card in cards[3:] if card.known] == (["3"] if mode == "NextStep" else ["3", "1", "1"])
    assert DatumWiseVectorEnv(DATA, RULES, 2).render() is None


@pytest.mark.parametrize("n", [1, 2, 30, 784])
def test_any_number_of_features(n, cards):
    data = Dataset(np.linspace(-1, 1, 2 * n).reshape(2, n), [0, 1])
    env = DatumWiseEnv(data, render_mode="rgb_array")
    env.reset(seed=0)
    for action in range(min(n, 20)):
        env.step(action)
    assert env.render().shape == (HEIGHT, WIDTH, 3)
    assert len(cards[-1].known) == min(n, 20)


def test_names_of_strangers_stay_on_their_line():
    data = Dataset([[0.0], [1.0]], ["a\nb" * 200, "\u202ec"], feature_names=["long " * 200], name="\x1b[31mred")
    env = DatumWiseEnv(data, render_mode="rgb_array", belief=lambda observations: [[0.5, 0.5]])
    env.reset(seed=0)
    env.step(0)
    env.step(1)
    picture = env.render()
    assert (picture[:, WIDTH - 10 :] == 255).all()
    assert (picture[:, :10] == 255).all()


def test_a_policy_is_a_belief(cards):
    class Believer:
        def state_probabilities(self, acquired, values):
            return np.where(acquired[:, :1], [[0.0, 1.0]], [[0.5, 0.5]])

    class NoBeliever:
        def state_probabilities(self, acquired, values):
            return None

    for policy, believed in ((Believer(), [("ill", 0.0), ("well", 1.0)]), (NoBeliever(), []), (None, [])):
        env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array", belief=policy)
        env.reset(seed=0)
        env.step(0)
        env.render()
        assert cards[-1].belief == believed


@pytest.mark.parametrize("n_features", [3, 4])
def test_the_belief_of_a_policy_where_prices_are_by_case(n_features):
    class Believer:
        def state_probabilities(self, acquired, values):
            assert acquired.shape == values.shape == (1, n_features)
            return np.stack([acquired[:, 0], 1 - acquired[:, 0]], axis=1) * 1.0

    data = Dataset(np.ones((6, n_features)), [0, 1] * 3, case_costs=np.full((6, n_features), 2.0))
    env = DatumWiseEnv(data, belief=Believer())
    observation, _ = env.reset(seed=0)
    assert env.belief(observation[None]).tolist() == [[0, 1]]
    assert env.belief(env.step(0)[0][None]).tolist() == [[1, 0]]


def test_bad_beliefs():
    with pytest.raises(TypeError, match="belief must be a function"):
        DatumWiseEnv(DATA, RULES, belief=3)
    with pytest.raises(TypeError, match="belief must be a function"):
        DatumWiseVectorEnv(DATA, RULES, belief="lattice")
    for shares in ([0.5, 0.5], [[0.5, 0.2, 0.3]], [[-1.0, 2.0]], [[np.nan, 1.0]], [[7.0, 3.0]], [["a", "b"]]):
        env = DatumWiseEnv(DATA, RULES, render_mode="rgb_array", belief=lambda observations, shares=shares: shares)
        env.reset(seed=0)
        with pytest.raises(ValueError, match=r"belief must return probabilities of shape \(n, 2\)"):
            env.render()


@pytest.fixture
def window(monkeypatch):
    """pygame without a screen, and without its waiting for the next picture."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(DatumWiseEnv.metadata, "render_fps", 1000)
    pygame = pytest.importorskip("pygame", reason="pygame is not installed")
    yield pygame.display
    pygame.display.quit()


def test_a_window_shows_each_step(window):
    env = DatumWiseEnv(DATA, RULES, render_mode="human")
    seen = DatumWiseEnv(DATA, RULES, render_mode="rgb_array")

    def shown():
        import pygame

        return pygame.surfarray.array3d(window.get_surface()).swapaxes(0, 1)

    for one in (env, seen):
        one.reset(options={"index": 0})
    assert window.get_caption()[0] == "fsgym: clinic"
    for action in (0, 2, 4):
        assert np.array_equal(shown(), seen.render())
        assert env.render() is None
        for one in (env, seen):
            one.step(action)
    assert foot(shown()) == WRONG
    copy.deepcopy(env).close()  # which has no window open
    assert window.get_init()
    env.close()
    env.close()
    assert not window.get_init()


def test_the_card_says_what_each_error_costs(monkeypatch):
    cards = []
    monkeypatch.setattr("fsgym.envs.card.draw_card", lambda card: cards.append(card) or draw_card(card))
    for env in (
        gym.make("DatumWiseCost-v0", render_mode="rgb_array").unwrapped,
        DatumWiseEnv(DATA, RULES, render_mode="rgb_array"),
    ):
        env.reset(seed=0)
        env.step(0)
        env.render()
    unequal, equal = cards
    assert unequal.errors == "A missed malignant costs 500, a false malignant costs 100"
    assert equal.errors == ""
    silent = draw_card(unequal._replace(errors=""))
    changed = (draw_card(unequal) != silent).any(axis=(1, 2))
    assert changed[45:84].any()
    assert not np.delete(changed, slice(45, 84)).any()


def test_without_pygame_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("fsgym.support.extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'render_mode="human" needs pygame: .*pip install .*\[render\]'):
        gym.make("DatumWise-v0", render_mode="human")
    DatumWiseEnv(DATA, RULES, render_mode="rgb_array")


@pytest.mark.parametrize("mode", [None, "ansi", "rgb_array", "human"])
def test_gymnasiums_check_with_rendering(mode, window):
    check_env(gym.make("DatumWise-v0", render_mode=mode).unwrapped)


def test_a_video(tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="moviepy is not installed")
    env = gym.wrappers.RecordVideo(gym.make("DatumWise-v0", render_mode="rgb_array"), str(tmp_path / "video"))
    env.reset(seed=0)
    for action in (7, 22, 31):
        env.step(action)
    env.close()
    (video,) = (tmp_path / "video").glob("*.mp4")
    command = [ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(video), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    frames = np.frombuffer(raw, np.uint8).reshape(-1, HEIGHT, WIDTH, 3)
    assert len(frames) == 4
    assert foot(frames[-1]) == pytest.approx(foot(env.unwrapped.render()), abs=12)
