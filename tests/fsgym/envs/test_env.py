"""The single environment: framework checks, hand-worked episodes, the return, and that nothing leaks."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
import subprocess
import sys
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from fsgym import Dataset, DatumWiseEnv, Rules, load_dataset
from fsgym.envs.ids import VARIANTS as IDS
from support.problems import DATA, ERRORS, C, N
from support.reference import ReferenceEpisode

END = {"prediction", "label", "correct", "illegal", "n_acquired", "acquisition_cost", "error_cost", "referred"}


def make(data: Dataset, options: dict, **kwargs) -> DatumWiseEnv:
    return DatumWiseEnv(data, Rules.for_dataset(data, **options), **kwargs)


def bytes_of(returned) -> bytes:
    """Everything in what reset or step returned, as bytes."""
    if isinstance(returned, dict):
        return b"".join(key.encode() + bytes_of(returned[key]) for key in sorted(returned))
    if isinstance(returned, (tuple, list)):
        return b"".join(bytes_of(v) for v in returned)
    return returned.tobytes() if isinstance(returned, np.ndarray) else repr(returned).encode()


def play(env, row: int | None, rng: np.random.Generator, legal: bool, seed: int | None = None):
    """All that reset and step return to a random policy in one episode, and its actions."""
    returned, actions = [env.reset(seed=seed, options=None if row is None else {"index": row})], []
    while len(returned) == 1 or not returned[-1][2]:
        mask = returned[-1][-1]["action_mask"] if legal else np.ones(env.action_space.n)
        actions.append(int(rng.choice(np.flatnonzero(mask))))
        returned.append(env.step(actions[-1]))
    return returned, actions


@pytest.mark.parametrize("prefix", ["", "fsgym:"])
@pytest.mark.parametrize("name", list(IDS))
def test_gymnasium_check(name, prefix):
    for mode in (None, "ansi", "rgb_array"):
        env = gym.make(prefix + name, render_mode=mode)
        check_env(env.unwrapped, skip_render_check=True)
        play(env, None, np.random.default_rng(0), legal=False, seed=0)
        if mode is None:
            with pytest.warns(UserWarning, match="render_mode"):
                assert env.render() is None
        else:
            assert env.render() is not None
        env.close()


@pytest.mark.parametrize("name", list(IDS))
def test_stable_baselines_check(name):
    sb3 = importlib.import_module("stable_baselines3.common.env_checker")  # in the extra `test`: never skipped
    sb3.check_env(gym.make(name))
    sb3.check_env(gym.make(name).unwrapped)


@pytest.mark.slow
def test_ids_are_known_without_an_import():
    code = "import gymnasium; env = gymnasium.make('fsgym:DatumWise-v0'); print(env.reset(seed=0)[0].shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(60,)"


# Prices 1, 2, 4 at lam .1. The first datum is of class 1; the second of class 0, and its c is missing.
TINY = Dataset([[0.5, -1.0, 0.0], [0.25, np.nan, 1.0]], [1, 0], feature_names=["b", "c", "d"])
LINE = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
PRICED = {"lam": 0.1, "costs": [1.0, 2.0, 4.0]}
EPISODES = {
    "answer at once, right": (PRICED, 0, [4], [0.0]),
    "answer at once, wrong": (PRICED, 0, [3], [-1.0]),
    "all three, then right": (PRICED, 0, [0, 1, 2, 4], [-0.1, -0.2, -0.4, 0.0]),
    "asking twice forfeits": (PRICED, 0, [1, 1], [-0.2, -1.0]),
    "a missing value forfeits": (PRICED, 1, [0, 1], [-0.1, -1.0]),
    "beyond the budget forfeits": (PRICED | {"budget": 1}, 0, [2, 0], [-0.4, -1.0]),
    "a budget of none": (PRICED | {"budget": 0}, 0, [0], [-1.0]),
    "the purse allows 1 + 2": (PRICED | {"budget_cost": 3.0}, 0, [0, 1, 4], [-0.1, -0.2, 0.0]),
    "but not 1 + 2 + 4": (PRICED | {"budget_cost": 3.0}, 0, [0, 1, 2], [-0.1, -0.2, -1.0]),
    "errors at a price": (PRICED | {"error_costs": [[-3, 5], [7, -9]]}, 0, [0, 4], [-0.1, 9.0]),
    "a forfeit costs the most": (PRICED | {"error_costs": [[-3, 5], [7, -9]]}, 0, [0, 0], [-0.1, -5.0]),
    "even where wrong is cheap": (PRICED | {"error_costs": [[4, -2], [1, 3]]}, 0, [0, 0], [-0.1, -3.0]),
    "referred at once": (PRICED | {"refer_cost": 0.25}, 0, [5], [-0.25]),
    "referred later": (PRICED | {"refer_cost": 0.25}, 0, [1, 5], [-0.2, -0.25]),
    "answered though it could be referred": (PRICED | {"refer_cost": 0.25}, 0, [4], [0.0]),
    "a forfeit is no referral": (PRICED | {"refer_cost": 9.0}, 0, [0, 0], [-0.1, -1.0]),
    "referred at no cost": (PRICED | {"refer_cost": 0}, 1, [5], [0.0]),
    "a group is paid for once": ({"lam": 0.1, "groups": [[0, 2], [1]]}, 0, [0, 3], [-0.1, 0.0]),
    "a group twice": ({"lam": 0.1, "groups": [[0, 2], [1]]}, 0, [0, 0], [-0.1, -1.0]),
    "neighbours are cheap": (
        {"lam": 1.0, "costs": 0.1, "unrelated_costs": 0.3, "related": LINE},
        0, [0, 2, 1, 4], [-0.1, -0.3, -0.1, 0.0],
    ),
    "the first pays for the needle": (
        {"lam": 1.0, "costs": 0.1, "unrelated_costs": 0.3, "related": np.ones((3, 3)), "empty_is_related": False},
        0, [2, 0, 1, 4], [-0.3, -0.1, -0.1, 0.0],
    ),
    "related to all": (
        {"lam": 1.0, "costs": 0.1, "unrelated_costs": 0.3, "related": LINE, "relation": "all"},
        0, [0, 1, 2, 4], [-0.1, -0.1, -0.3, 0.0],
    ),
    "far ones forbidden": (
        {"lam": 0.1, "unrelated_costs": "forbid", "related": LINE},
        0, [0, 2], [-0.1, -1.0],
    ),
    "c needs d": ({"lam": 0.1, "prerequisites": [[0, 0, 0], [0, 0, 1], [0, 0, 0]]}, 0, [2, 1, 4], [-0.1, -0.1, 0.0]),
    "c before d": ({"lam": 0.1, "prerequisites": [[0, 0, 0], [0, 0, 1], [0, 0, 0]]}, 0, [1], [-1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(EPISODES))
def test_hand_worked(name):
    options, row, actions, rewards = EPISODES[name]
    env = make(TINY, options)
    env.reset(options={"index": row})
    got = [env.step(a) for a in actions]
    assert [g[1] for g in got] == pytest.approx(rewards, abs=1e-12)
    assert [g[2] for g in got] == [False] * (len(actions) - 1) + [True]
    assert not any(g[3] for g in got)


def test_observations_and_info_by_hand():
    env = make(TINY, PRICED)
    observation, info = env.reset(options={"index": 1})
    assert observation.tolist() == [0.0] * 6
    assert info["action_mask"].tolist() == [1, 0, 1, 1, 1]
    observation, reward, *_, info = env.step(np.int64(2))
    assert observation.tolist() == [0, 0, 1, 0, 0, 1]
    assert info["action_mask"].tolist() == [1, 0, 0, 1, 1]
    assert env.action_masks().tolist() == [True, False, False, True, True]
    assert (env.action_masks().dtype, info["action_mask"].dtype) == (bool, np.int8)
    assert set(info) == {"action_mask", "spent"}
    observation, reward, terminated, _, info = env.step(3)
    assert terminated
    assert str(reward) == "0.0"  # and not -0.0
    assert set(info) == {"action_mask", "spent"} | END - {"referred"}  # without refer_cost
    ends = {key: info[key] for key in END - {"referred"}}
    assert ends == {
        "prediction": 0,
        "label": 0,
        "correct": True,
        "illegal": False,
        "n_acquired": 1,
        "acquisition_cost": pytest.approx(0.4),
        "error_cost": 0.0,
    }
    assert [type(ends[k]) for k in ("prediction", "correct", "illegal", "error_cost")] == [int, bool, bool, float]


@pytest.mark.parametrize(("action", "referred"), [(3, False), (5, True)])
def test_info_says_whether_the_case_is_referred(action, referred):
    env = make(TINY, PRICED | {"refer_cost": 0.25})
    env.reset(options={"index": 0})
    *_, info = env.step(action)
    assert set(info) == {"action_mask", "spent"} | END
    assert info["referred"] is referred
    assert info["correct"] is False
    assert (info["prediction"], info["error_cost"]) == ((2, 0.25) if referred else (0, 1.0))


@pytest.mark.one_in(4)
@pytest.mark.parametrize("legal", [True, False])
def test_the_return_is_minus_the_loss(data, options, legal):
    env, rng = make(data, options), np.random.default_rng(5)
    for row in range(data.n_samples):
        returned, actions = play(env, row, rng, legal)
        info = returned[-1][-1]
        twin = ReferenceEpisode(data.X[row], int(data.y[row]), C, options)
        for action in actions:
            twin.step(action)
        loss = twin.process.error_cost(twin.answer, twin.true_class) + twin.process.lam * twin.spent
        assert sum(t[1] for t in returned[1:]) == pytest.approx(-loss)
        assert info["acquisition_cost"] + info["error_cost"] == pytest.approx(loss)
        assert (info["prediction"], info["label"]) == (twin.answer, twin.true_class)
        assert info["n_acquired"] == len(twin.order)
        assert info["correct"] == (twin.answer == twin.true_class)
        assert info["illegal"] is (actions[-1] < twin.process.n_acquisitions)
        if twin.process.budget is not None:
            assert info["n_acquired"] <= twin.process.budget
        if twin.process.budget_cost is not None:
            assert info["spent"] <= twin.process.budget_cost * (1 + 1e-9)
        if legal:
            assert actions[-1] >= twin.process.n_acquisitions  # over the mask nothing is forfeited
        for observation, *_ in returned:
            assert env.observation_space.contains(observation)


@pytest.mark.one_in(2)
def test_values_and_labels_do_not_leak_before_they_are_due(data, options):
    """With other values where nothing was acquired, and other labels, every byte before the end is the same."""
    rng = np.random.default_rng(6)
    for row in range(10):
        for legal in (True, False):
            returned, actions = play(make(data, options), row, np.random.default_rng(row), legal)
            known = returned[-1][0][:N] > 0.5
            X, y = data.X.copy(), data.y.copy()
            X[row, ~known] = rng.normal(size=(~known).sum())
            others = np.arange(len(X)) != row
            X[others] = rng.permutation(X[others])
            X[np.isnan(data.X)] = np.nan
            y[:] = (y + 1) % C
            bounds = np.full(N, -9), np.full(N, 9)
            corrupted = Dataset(X, y, classes=range(C), bounds=bounds)
            again, _ = play(make(corrupted, options), row, np.random.default_rng(row), legal)
            assert [bytes_of(t) for t in returned[:-1]] == [bytes_of(t) for t in again[:-1]]
            assert returned[-1][0].tobytes() == again[-1][0].tobytes()
            assert not END & {key for t in returned[:-1] for key in t[-1]}
            if actions[-1] >= Rules.for_dataset(data, **options).n_acquisitions:
                assert returned[-1][-1]["prediction"] == again[-1][-1]["prediction"]


@pytest.mark.one_in(2)
def test_same_seed_same_bytes(data, options):
    runs = []
    for _ in range(2):
        env, rng = make(data, options), np.random.default_rng(7)
        returned = [play(env, None, rng, legal=False, seed=11)[0]] + [
            play(env, None, rng, legal=True)[0] for _ in range(5)
        ]
        runs.append(bytes_of(returned))
    assert runs[0] == runs[1]


def test_returned_arrays_are_fresh(options):
    env = make(DATA["complete"], options)
    returned, _ = play(env, 0, np.random.default_rng(1), legal=True)
    before = bytes_of(returned)
    for observation, *_, info in returned:
        observation += 7
        info["action_mask"][:] = 9
    again, _ = play(env, 0, np.random.default_rng(1), legal=True)
    assert bytes_of(again) == before


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
def test_a_copy_goes_its_own_way(duplicate):
    env = make(DATA["missing"], {"lam": 0.1, "error_costs": ERRORS})
    env.reset(seed=3, options={"index": 5})
    first = int(np.flatnonzero(env.action_masks())[0])
    twin = duplicate(env)
    here, there = env.step(first), twin.step(first)
    assert bytes_of(here) == bytes_of(there)
    twin.step(N)
    assert bytes_of(env.reset()) == bytes_of(twin.reset())


def test_strict_mode_raises_before_anything_is_done():
    env = make(TINY, PRICED, illegal_action="raise")
    env.reset(options={"index": 1})
    with pytest.raises(ValueError, match=r"action 1 \(c\) has no value in this row; choose one that info"):
        env.step(1)
    env.step(0)
    with pytest.raises(ValueError, match=r"action 0 \(b\) is already acquired"):
        env.step(0)
    assert env.step(3)[2]


def test_order_of_calls():
    env = make(TINY, PRICED)
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(0)
    env.reset()
    env.step(4)
    with pytest.raises(ResetNeeded, match="the episode has ended"):
        env.step(4)


BAD_ACTIONS = [5, -1, 10**30, -(10**30), 2.0, np.nan, "0", None, [1], np.array([1]), np.array(1.0), {}, 1j]


@pytest.mark.parametrize("action", BAD_ACTIONS, ids=repr)
def test_bad_actions(action):
    env = make(TINY, PRICED)
    env.reset(options={"index": 0})
    with pytest.raises((ValueError, TypeError), match="action must be") as caught:
        env.step(action)
    assert "\n" not in str(caught.value)
    assert env.step(0)[1] == pytest.approx(-0.1)  # and the episode is where it was


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"index": 2}}, r"options\['index'\] must be 0 to 1, got 2"),
        ({"options": {"index": -1}}, "must be 0 to 1"),
        ({"options": {"index": "a"}}, "whole number"),
        ({"options": {"index": 0.0}}, "whole number"),
        ({"options": {"index": True}}, "whole number"),
        ({"options": {"index": [0, 1]}}, "whole number"),
        ({"options": {"index": [[0], [1, 2]]}}, "whole number"),
        ({"options": {"index": 10**30}}, "whole number"),
        ({"options": 3}, "options must be a dict"),
        ({"seed": -1}, "seed must be an int"),
        ({"seed": "a"}, "seed must be an int"),
    ],
)
def test_bad_resets(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(TINY, PRICED).reset(**arguments)


def test_bad_construction():
    for arguments, message in [
        ({"render_mode": "rgb_aray"}, r"render_mode must be .*'rgb_array', 'human' or None, .* mean 'rgb_array'\?"),
        ({"render_mode": []}, "render_mode must be"),
        ({"illegal_action": "ignore"}, "illegal_action must be"),
        ({"illegal_action": {}}, "illegal_action must be"),
        ({"rules": {"lam": 1}}, "rules must be Rules"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            DatumWiseEnv(TINY, **arguments)
    with pytest.raises(TypeError, match="dataset must be a Dataset"):
        DatumWiseEnv("wine")
    with pytest.raises(ValueError, match="the rules are for 6 features"):
        DatumWiseEnv(TINY, Rules(6, 2))
    with pytest.raises(ValueError, match="block needs images"):
        gym.make("DatumWise-v0", block=(2, 2))
    for block in ((3, 3), (0, 2), (2,), "ab", 4, (2.0, 2)):
        with pytest.raises((ValueError, TypeError), match="block"):
            gym.make("DatumWiseRelational-v0", block=block)
    with pytest.raises(ValueError, match="split must be"):
        gym.make("DatumWise-v0", split="half")


@settings(max_examples=100, deadline=None)
@given(
    action=st.none()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(), max_size=3)
    | st.booleans(),
    index=st.none() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
)
def test_junk_gets_one_sentence(action, index):
    env = make(TINY, PRICED)
    env.reset(seed=0)
    for call in (lambda: env.step(action), lambda: env.reset(options={"index": index})):
        try:
            call()
        except (ValueError, TypeError) as error:
            assert "must be" in str(error)  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017


def test_draws_are_uniform():
    env = make(DATA["complete"], {})
    env.reset(seed=0)
    rows = [env.reset() and int(env._episode.index[0]) for _ in range(4000)]
    counts = np.bincount(rows, minlength=40)
    assert counts.min() > 50
    assert counts.max() < 160


@pytest.mark.parametrize("make_one", [gym.make, gym.make_vec])
def test_split_is_refused_where_all_rows_of_a_data_set_are_used(make_one):
    data = load_dataset("wine", "train")
    with pytest.raises(ValueError, match="split must be left out where dataset is a Dataset"):
        make_one("DatumWise-v0", dataset=data, split="test")
    assert make_one("DatumWise-v0", dataset=data, split="all").unwrapped.dataset is data


@pytest.mark.parametrize("make_one", [gym.make, partial(gym.make_vec, num_envs=2)])
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lamb", "did you mean 'lam'?"),
        ("spilt", "did you mean 'split'?"),
        ("cost", "did you mean 'costs'?"),
        ("prices", "did you mean 'costs'?"),
        ("price", "did you mean 'costs'?"),
        ("target", "it is one of fsgym.load_dataset: pass dataset=fsgym.load_dataset(..., target=...)"),
        ("max_cost", "did you mean 'budget_cost'?"),
        ("max_episode_step", "did you mean 'max_episode_steps'?"),
        ("zzz", "they are "),
    ],
)
def test_an_unknown_argument_of_make_gets_one_sentence(make_one, name, hint):
    with pytest.raises(ValueError, match=f"^unknown environment argument '{name}'; {re.escape(hint)}") as raised:
        make_one("DatumWise-v0", **{name: 1})
    assert "kwargs" not in str(raised.value)


def test_a_file_is_read_again_each_time(tmp_path):
    for n in (60, 80):
        (tmp_path / "mine.csv").write_text("a,target\n" + "".join(f"{k % 7},{k % 2}\n" for k in range(n)))
        env = gym.make("fsgym:DatumWise-v0", dataset=tmp_path / "mine.csv", split="all")
        assert env.unwrapped.dataset.n_samples == n


def test_a_block_and_groups_are_not_both_given():
    env = gym.make("fsgym:DatumWise-v0", dataset="digits", block=(2, 2), groups=None)
    assert env.unwrapped.rules.n_acquisitions == 16
    with pytest.raises(ValueError, match="block and groups both say"):
        gym.make("fsgym:DatumWise-v0", dataset="digits", block=(2, 2), groups=[list(range(64))])
