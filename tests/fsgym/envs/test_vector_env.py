"""The vector environment: the public checker, and comparison with Gymnasium's SyncVectorEnv of single ones."""

from __future__ import annotations

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_env import bytes_of

from fsgym import Dataset, DatumWiseEnv, DatumWiseVectorEnv, Rules, check_vector_env
from fsgym.envs.ids import VARIANTS as IDS
from support.problems import DATA, VARIANTS, C, N

MODES = list(AutoresetMode)
SIZE = 5


def make(data: Dataset, options: dict, mode=AutoresetMode.NEXT_STEP, size: int = SIZE, **kwargs) -> DatumWiseVectorEnv:
    return DatumWiseVectorEnv(data, Rules.for_dataset(data, **options), size, autoreset_mode=mode, **kwargs)


class QueuedEnv(DatumWiseEnv):
    """A single environment that plays rows from a queue, shared by all of a vector's."""

    def __init__(self, queue, *args):
        super().__init__(*args)
        self.queue = queue

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options={"index": next(self.queue)})


def sync(data: Dataset, options: dict, mode: AutoresetMode, seed: int) -> SyncVectorEnv:
    """Gymnasium's vector of single environments, on the rows that the native one draws with ``seed``."""
    rules, generator = Rules.for_dataset(data, **options), gym.utils.seeding.np_random(seed)[0]
    queue = (int(v) for _ in range(99) for v in generator.integers(data.n_samples, size=512))
    return SyncVectorEnv([lambda: QueuedEnv(queue, data, rules) for _ in range(SIZE)], autoreset_mode=mode)


def same(ours, theirs, where: str = "") -> None:
    """Same structure, types, masks, and values where the mask says that there is one."""
    assert type(ours) is type(theirs), where
    if isinstance(ours, dict):
        assert set(ours) == set(theirs), where
        for key in ours:
            if key.startswith("_"):
                same(ours[key], theirs[key], where + key)
            elif f"_{key}" in ours and not isinstance(ours[key], dict):
                who = ours[f"_{key}"]
                assert (ours[key].shape, ours[key].dtype) == (theirs[key].shape, theirs[key].dtype), where + key
                same(list(ours[key][who]), list(theirs[key][who]), where + key)
            else:
                same(ours[key], theirs[key], where + key)
    elif isinstance(ours, (tuple, list)):
        for one, other in zip(ours, theirs, strict=True):
            same(one, other, where)
    elif isinstance(ours, np.ndarray):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), where
        assert np.array_equal(ours, theirs), where
    else:
        assert ours == theirs, where


def random_actions(masks: np.ndarray, rng: np.random.Generator, legal: bool) -> np.ndarray:
    return (rng.random(masks.shape) * (masks if legal else 1)).argmax(axis=1)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_as_gymnasiums_own(data, options, mode):
    ours, theirs, rng = make(data, options, mode), sync(data, options, mode, 42), np.random.default_rng(0)
    returned, returned2 = ours.reset(seed=42), theirs.reset(seed=42)
    same(returned, returned2)
    for k in range(40):
        actions = random_actions(ours.action_masks(), rng, legal=k % 3 > 0)
        returned, returned2 = ours.step(actions), theirs.step(actions)
        same(returned, returned2)
        if mode is AutoresetMode.DISABLED and returned[2].any():
            same(
                ours.reset(options={"reset_mask": returned[2]}),
                theirs.reset(options={"reset_mask": returned[2].copy()}),
            )
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"] is mode
    assert (ours.observation_space, ours.action_space) == (theirs.observation_space, theirs.action_space)


def bytes_of_tree(returned) -> bytes:
    """As ``bytes_of``, and into arrays of objects."""
    if isinstance(returned, np.ndarray) and returned.dtype == object:
        return b"".join(bytes_of_tree(v) for v in returned)
    if isinstance(returned, dict):
        return b"".join(key.encode() + bytes_of_tree(returned[key]) for key in sorted(returned))
    if isinstance(returned, (tuple, list)):
        return b"".join(bytes_of_tree(v) for v in returned)
    return bytes_of(returned)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_the_checker(data, options, mode):
    envs = make(data, options, mode)
    assert envs.metadata["autoreset_mode"] is mode
    check_vector_env(envs)


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("name", list(IDS))
def test_the_checker_on_the_ids(name, mode):
    envs = gym.make_vec(name, 4, vectorization_mode="vector_entry_point", autoreset_mode=mode)
    assert isinstance(envs, DatumWiseVectorEnv)
    check_vector_env(envs)
    envs.close()


@pytest.mark.one_in(2)
def test_same_trajectories_as_the_single_one(data, options):
    """The same data and actions, in one vector and in as many single environments."""
    size = data.n_samples
    envs = make(data, options, AutoresetMode.DISABLED, size)
    rules, rng = envs.rules, np.random.default_rng(3)
    observations, infos = envs.reset(options={"index": np.arange(size)})
    singles = [DatumWiseEnv(data, rules) for _ in range(size)]
    for e, single in enumerate(singles):
        observation, info = single.reset(options={"index": e})
        assert bytes_of((observation, info["action_mask"])) == bytes_of((observations[e], infos["action_mask"][e]))
    live = np.ones(size, bool)
    while live.any():
        actions = random_actions(np.ones((size, rules.n_actions)), rng, legal=False)
        before = live.copy()
        if not live.all():  # those that ended answer at once again, on any row, and do not count
            envs.reset(options={"reset_mask": ~live, "index": 0})
        observations, rewards, terminated, _, infos = envs.step(actions)
        for e in np.flatnonzero(before):
            observation, reward, ended, _, info = singles[e].step(actions[e])
            assert (observation.tobytes(), reward, ended) == (observations[e].tobytes(), rewards[e], terminated[e])
            for key, value in info.items():
                assert np.array_equal(infos[key][e], value), key
        live &= ~terminated


@pytest.mark.one_in(6)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_values_and_labels_do_not_leak_before_they_are_due(data, options, mode):
    """With all values and labels changed (missing ones stay missing), bytes are the same until values are acquired."""
    rng = np.random.default_rng(4)
    X = np.where(np.isnan(data.X), np.nan, rng.normal(size=data.X.shape))
    other = Dataset(X, (data.y + 1) % C, classes=range(C), bounds=(np.full(N, -9), np.full(N, 9)))
    envs, others = make(data, options, mode), make(other, options, mode)
    returned, returned2 = envs.reset(seed=1), others.reset(seed=1)
    assert bytes_of_tree(returned) == bytes_of_tree(returned2)
    for _ in range(6):
        actions = random_actions(envs.action_masks(), rng, legal=True)
        returned, returned2 = envs.step(actions), others.step(actions)
        z = slice(None), slice(0, N)
        assert returned[0][z].tobytes() == returned2[0][z].tobytes()
        known = returned[0][z] > 0.5
        assert not returned[0][:, N:][~known].any()
        for key in ("action_mask", "_action_mask", "spent", "_spent"):
            assert returned[-1][key].tobytes() == returned2[-1][key].tobytes()
        going = ~returned[2]
        assert np.array_equal(returned[1][going], returned2[1][going])
        if mode is AutoresetMode.DISABLED and returned[2].any():
            for e in (envs, others):
                e.reset(options={"reset_mask": returned[2]})


def test_arrays_are_fresh():
    envs = make(DATA["complete"], VARIANTS["base"])
    rng, runs = np.random.default_rng(0), []
    plan = [rng.integers(N + C, size=SIZE) for _ in range(30)]
    for spoil in (False, True):
        envs.reset(seed=2)
        before = []
        for actions in plan:
            returned = envs.step(actions)
            before.append(bytes_of_tree(returned))
            if spoil:
                for array in [*returned[:4], *returned[4].values()]:
                    array[:] = 1
        runs.append(before)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_without_copies_the_same_values_come_in_the_same_arrays(mode):
    """With so many episodes that the compiled code copies them in several parts."""
    data, options, rng, size = DATA["missing"], VARIANTS["everything"], np.random.default_rng(5), 1000
    reused, fresh = (make(data, options, mode, size, copy=copied) for copied in (False, True))
    returned, returned2 = reused.reset(seed=3), fresh.reset(seed=3)
    own = [returned[0], returned[1]["action_mask"], returned[1]["spent"]]
    for _ in range(12):
        assert bytes_of_tree(returned) == bytes_of_tree(returned2)
        for array, first in zip((returned[0], returned[-1]["action_mask"], returned[-1]["spent"]), own):
            assert np.shares_memory(array, first)
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        actions = random_actions(fresh.action_masks(), rng, legal=True)
        returned, returned2 = reused.step(actions), fresh.step(actions)
        if mode is AutoresetMode.DISABLED and returned[2].any():
            ended = {"reset_mask": returned[2]}
            returned, returned2 = reused.reset(options=ended), fresh.reset(options=ended)
    with pytest.raises(AssertionError, match="must be new copies"):
        check_vector_env(reused)


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))], ids=["deepcopy", "pickle"]
)
def test_a_copy_goes_its_own_way(duplicate):
    envs = make(DATA["missing"], VARIANTS["everything"])
    envs.reset(seed=0)
    envs.step(np.full(SIZE, N))
    twin = duplicate(envs)
    for action in (0, 1, N, N + 1):
        assert bytes_of_tree(envs.step(np.full(SIZE, action))) == bytes_of_tree(twin.step(np.full(SIZE, action)))


def test_kinds_of_actions():
    plan, runs = [2, N, 0, N + 1], []
    kinds = [
        lambda a: a,
        lambda a: a.astype(np.int32),
        lambda a: a.astype(np.uint8),
        lambda a: a.tolist(),
        lambda a: np.repeat(a, 2)[::2],
        lambda a: np.broadcast_to(a[:1], SIZE),
    ]
    for kind in kinds:
        envs = make(DATA["complete"], VARIANTS["costs"])
        envs.reset(seed=0)
        runs.append([bytes_of_tree(envs.step(kind(np.full(SIZE, a)))) for a in plan])
    assert all(run == runs[0] for run in runs)


BAD_ACTIONS = [
    [0, 0, 0, 0, N + C], [-1, 0, 0, 0, 0], [0, 1], 3, None, "abcde", [0.0] * SIZE, [None] * SIZE, [True] * SIZE,
    [[0]] * SIZE, [10**30] * SIZE, np.zeros((SIZE, 1), int), np.zeros(0, int), [[0], [0, 1]],{},
    np.full(SIZE, 2**63, np.uint64),
]  # fmt: skip


@pytest.mark.parametrize("actions", BAD_ACTIONS, ids=str)
def test_bad_actions(actions):
    envs = make(DATA["complete"], VARIANTS["base"])
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(SIZE, np.int64))
    envs.reset(seed=0)
    with pytest.raises((ValueError, TypeError), match="action") as caught:
        envs.step(actions)
    assert "\n" not in str(caught.value)
    untouched = make(DATA["complete"], VARIANTS["base"])
    untouched.reset(seed=0)
    good = np.array([0, N, 1, N, 2])
    for _ in range(3):
        assert bytes_of_tree(envs.step(good)) == bytes_of_tree(untouched.step(good))


def test_strict_mode_raises_before_anything_is_done():
    envs = make(DATA["complete"], VARIANTS["base"], illegal_action="raise")
    envs.reset(seed=0)
    envs.step(np.array([0, N, 1, 1, 1]))
    before = envs.action_masks()
    with pytest.raises(ValueError, match=r"action 1 \(b\) is already acquired"):
        envs.step(np.array([1, 1, 0, 1, 0]))
    assert np.array_equal(envs.action_masks(), before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"index": [0, 1]}}, r"options\['index'\]"),
        ({"options": {"index": [0, 1, 2, 3, 40]}}, "must be 0 to 39"),
        ({"options": {"index": "a"}}, "whole number"),
        ({"options": {"reset_mask": [True] * SIZE}}, "reset_mask"),
        ({"options": {"reset_mask": np.zeros(SIZE, bool)}}, "reset_mask"),
        ({"options": {"reset_mask": np.ones(SIZE)}}, "reset_mask"),
        ({"options": {"reset_mask": np.ones(SIZE + 1, bool)}}, "reset_mask"),
        ({"options": []}, "options must be a dict"),
        ({"seed": [1, 2]}, "seed must be an int"),
        ({"seed": -5}, "seed must be an int"),
    ],
)
def test_bad_resets(arguments, message):
    envs = make(DATA["complete"], {})
    envs.reset(seed=0)
    with pytest.raises((ValueError, TypeError), match=message):
        envs.reset(**arguments)


def test_bad_construction():
    data = DATA["complete"]
    for arguments, message in [
        ({"num_envs": 0}, "num_envs must be"),
        ({"num_envs": 2.0}, "num_envs must be"),
        ({"num_envs": "a"}, "num_envs must be"),
        ({"autoreset_mode": "later"}, "AutoresetMode"),
        ({"autoreset_mode": 3}, "autoreset_mode must be"),
        ({"render_mode": "ansi"}, "render_mode must be"),
        ({"illegal_action": None}, "illegal_action must be"),
        ({"rules": 3}, "rules must be Rules"),
        ({"copy": 1}, "copy must be True or False"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            DatumWiseVectorEnv(data, **arguments)
    envs = make(data, {})
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.arange(SIZE) == 1})


def test_arguments_of_make_vec():
    envs = gym.make_vec(
        "DatumWise-v0",
        num_envs=3,
        vectorization_mode="vector_entry_point",
        lam=0.5,
        autoreset_mode="SameStep",
        copy=False,
    )
    envs.reset(seed=0, options={"index": 7})
    assert envs.step(np.zeros(3, int))[1].tolist() == [-0.5] * 3
    assert (envs.autoreset_mode, envs.copy) == (AutoresetMode.SAME_STEP, False)


def test_records_episodes_with_gymnasiums_wrapper():
    envs = gym.wrappers.vector.RecordEpisodeStatistics(make(DATA["complete"], VARIANTS["base"]))
    envs.reset(seed=0)
    *_, infos = envs.step(np.full(SIZE, N))
    assert infos["episode"]["l"].tolist() == [1] * SIZE
