"""What Gymnasium's ``make`` and wrappers expect of an environment: render modes, options of reset, specifications."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

import fsgym

make_both = pytest.mark.parametrize("make_one", [gym.make, partial(gym.make_vec, num_envs=2)])


def two_rows():
    return fsgym.Dataset([[0.0], [1.0]], [0, 1], name="two")


def test_a_list_of_pictures_is_collected():
    env: Any = gym.make("DatumWise-v0", render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step(3)
    assert [picture.shape for picture in env.render()] == [(600, 800, 3)] * 2


@make_both
def test_an_unknown_option_of_reset_is_refused(make_one):
    env = make_one("DatumWise-v0")
    with pytest.raises(ValueError, match="unknown option of reset 'idx'; did you mean 'index'"):
        env.reset(options={"idx": 3})
    env.reset(options={"index": 3})
    env.reset(options={})


def test_the_length_of_episodes_of_vector_environments_is_no_argument():
    with pytest.raises(ValueError, match=r"max_episode_steps is an argument of gymnasium.make.*leave it out"):
        gym.make_vec("DatumWise-v0", num_envs=2, max_episode_steps=3)
    envs = gym.make_vec("DatumWise-v0", num_envs=2, vectorization_mode="sync", max_episode_steps=3)
    assert envs.num_envs == 2


@pytest.mark.parametrize("make_one", [gym.make, partial(gym.make_vec, num_envs=2, vectorization_mode="sync")])
def test_the_autoreset_mode_of_copied_environments_is_an_argument_of_their_vector(make_one):
    with pytest.raises(ValueError, match=r"autoreset_mode is an argument of the native.* pass vector_kwargs="):
        make_one("DatumWise-v0", autoreset_mode="SameStep")
    envs = gym.make_vec(
        "DatumWise-v0", 2, vectorization_mode="sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
    )
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


@make_both
def test_a_specification_is_written_and_read_or_says_what_cannot_be_written(make_one):
    spec = make_one("DatumWise-v0", dataset="wine", lam=0.1).unwrapped.spec
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert spec != gym.spec("DatumWise-v0")
    for name, value, words in (
        ("dataset", two_rows(), r"got Dataset\('two': .*\) as dataset; pass dataset=\"wine\""),
        ("costs", np.ones(30), "got a ndarray as costs; pass numbers"),
        ("belief", lambda observations: None, "got a function as belief"),
    ):
        spec = make_one("DatumWise-v0", **{name: value}).unwrapped.spec
        with pytest.raises(ValueError, match=words):
            spec.to_json()


def test_bounds_cover_the_test_rows():
    test: Any = gym.make("DatumWise-v0", split="test").unwrapped
    low, high = (bound[30:] for bound in (test.observation_space.low, test.observation_space.high))
    X = test.dataset.X
    assert ((low <= X) & (high >= X)).all()
    assert gym.make("DatumWise-v0").observation_space == test.observation_space
