"""The checker of vector environments reports each kind of fault."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from fsgym import Dataset, DatumWiseVectorEnv, Rules, check_vector_env

rng = np.random.default_rng(0)
DATA = Dataset(rng.normal(size=(40, 4)), rng.integers(0, 3, 40))
NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


class Broken(DatumWiseVectorEnv):
    """A vector environment whose ``spoil`` changes the values that a step returns."""

    def __init__(self, spoil, mode=NEXT):
        super().__init__(DATA, Rules.for_dataset(DATA, lam=0.1), 4, autoreset_mode=mode)
        self.spoil = spoil

    def step(self, actions):
        returned = list(super().step(actions))
        return tuple(self.spoil(self, *returned) or returned)


def ended(change):
    """Change only steps in which an episode ends; ``change`` takes infos and the mask of ended episodes."""

    def spoil(envs, observations, rewards, terminated, truncated, infos):
        if terminated.any():
            change(infos.get("final_info", infos), terminated)

    return spoil


def put(key, value):
    def spoil(envs, observations, rewards, terminated, truncated, infos):
        infos[key] = value(infos[key]) if callable(value) else value

    return spoil


def drop(key):
    return lambda envs, o, r, t, u, infos: infos.pop(key) is None


def flip(array, first=0):
    array[first] = not array[first]


FAULTS = {
    "observation outside the space": (
        lambda envs, o, r, t, u, i: [o + 1e6, r, t, u, i],
        NEXT,
        "observations must be in observation_space",
    ),
    "no mask": (drop("action_mask"), NEXT, "infos must have 'action_mask'"),
    "no price": (drop("spent"), NEXT, "infos must have 'spent'"),
    "mask of another type": (put("action_mask", lambda m: m.astype(bool)), NEXT, r"\['action_mask'\] must be an array"),
    "mask a list": (put("action_mask", lambda m: m.tolist()), NEXT, r"\['action_mask'\] must be an array of int8"),
    "spent in single precision": (put("spent", lambda v: v.astype(np.float32)), NEXT, "array of float64"),
    "nothing allowed": (put("action_mask", lambda m: m * 0), NEXT, "must allow an action"),
    "another mask": (put("action_mask", lambda m: np.ones_like(m)), NEXT, r"action_masks\(\) must equal"),
    "rewards in single precision": (
        lambda envs, o, r, t, u, i: [o, r.astype(np.float32), t, u, i],
        NEXT,
        "rewards must be an array of float64",
    ),
    "rewards of another shape": (
        lambda envs, o, r, t, u, i: [o, r[:, None], t, u, i],
        NEXT,
        "rewards must be an array",
    ),
    "terminated a number": (
        lambda envs, o, r, t, u, i: [o, r, t.astype(int), u, i],
        NEXT,
        "terminated must be an array of bool",
    ),
    "truncated": (lambda envs, o, r, t, u, i: [o, r, t, t.copy(), i], NEXT, "truncated must be False"),
    "reward of a beginning": (
        lambda envs, o, r, t, u, i: [o, r - 1, t, u, i],
        NEXT,
        "begins an episode must be 0|must be -error_cost",
    ),
    "stale observations": (lambda envs, o, r, t, u, i: [envs._episodes.observation, r, t, u, i], NEXT, "memory shared"),
    "mask None": (put("action_mask", None), NEXT, "must be an array"),
    "end without an end": (
        lambda envs, o, r, t, u, i: i.setdefault("label", t * 0) is None,
        NEXT,
        "must not have 'label'",
    ),
    "no label": (ended(lambda infos, t: infos.pop("label")), NEXT, "infos must have 'label'"),
    "no label in same-step mode": (ended(lambda infos, t: infos.pop("label")), SAME, "infos must have 'label'"),
    "mask of the ends": (
        ended(lambda infos, t: infos.update(_correct=~t)),
        NEXT,
        r"\['_correct'\] must mark the episodes that ended",
    ),
    "prediction": (
        ended(lambda infos, t: infos.update(prediction=infos["prediction"] + np.arange(4))),
        NEXT,
        "the class that",
    ),
    "correct": (
        ended(lambda infos, t: flip(infos["correct"], t.argmax())),
        NEXT,
        "where prediction and label are equal",
    ),
    "illegal": (
        ended(lambda infos, t: flip(infos["illegal"], t.argmax())),
        NEXT,
        "must be False after a legal action",
    ),
    "error cost": (ended(lambda infos, t: infos.update(error_cost=infos["error_cost"] + t)), NEXT, "-error_cost"),
    "error cost of another": (
        ended(lambda infos, t: infos.update(error_cost=infos["error_cost"] + ~t)),
        NEXT,
        "0 where no episode has ended",
    ),
    "final observations": (
        lambda envs, o, r, t, u, i: t.any() and i.update(final_obs=np.full(4, None)),
        SAME,
        "'final_obs'",
    ),
    "new episode in the old one's place": (
        lambda envs, o, r, t, u, i: o[:, :4].__setitem__(t, 1.0),
        SAME,
        "must start with no value known",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_steps_are_found(name):
    spoil, mode, message = FAULTS[name]
    with pytest.raises(AssertionError, match=message) as caught:
        check_vector_env(Broken(spoil, mode))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda m: m.name)
def test_what_is_spoilt_by_nothing_passes(mode):
    check_vector_env(Broken(lambda *returned: None, mode))


class Unseeded(Broken):
    def reset(self, *, seed=None, options=None):
        return super().reset(options=options)


class Eager(Broken):
    """Restarts ended episodes although autoreset is disabled."""

    def step(self, actions):
        if self._n_ended:
            super().reset(options={"reset_mask": ~self._episodes.active})
        return super().step(actions)


class Forgetful(Broken):
    """Restarts all episodes where a mask selects some."""

    def reset(self, *, seed=None, options=None):
        returned = super().reset(seed=seed)
        if options and "reset_mask" in options:
            returned[1]["_action_mask"] = options["reset_mask"].copy()
        return returned


class Unmarked(Broken):
    """Does not report which episodes were reset."""

    def reset(self, *, seed=None, options=None):
        observations, infos = super().reset(seed=seed, options=options)
        infos["_action_mask"] = np.ones(4, bool)
        return observations, infos


@pytest.mark.parametrize(
    ("kind", "mode", "message"),
    [
        (Unseeded, NEXT, "must return the same values"),
        (Eager, DISABLED, "must raise ResetNeeded"),
        (Forgetful, DISABLED, "outside its reset_mask"),
        (Unmarked, DISABLED, r"must equal options\['reset_mask'\]"),
    ],
)
def test_faults_of_resets_are_found(kind, mode, message):
    with pytest.raises(AssertionError, match=message):
        check_vector_env(kind(lambda *returned: None, mode))


def test_what_is_no_vector_environment_of_this_kind():
    with pytest.raises(TypeError, match=r"must be a gymnasium\.vector\.VectorEnv"):
        check_vector_env(gym.make("DatumWise-v0"))
    with pytest.raises(AssertionError, match=r"must have the method action_masks\(\)"):
        check_vector_env(gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync"))
    envs = Broken(lambda *returned: None)
    envs.metadata = {}
    with pytest.raises(AssertionError, match="must be an AutoresetMode, got None"):
        check_vector_env(envs)
