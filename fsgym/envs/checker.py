"""A checker for vector environments, like ``gymnasium.utils.env_checker.check_env`` for single ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from fsgym.envs.episodes import EpisodeOutcomes
from fsgym.text.messages import brief

N_STEPS = 60  # in each of two runs: enough for several episodes to end
PUBLIC_INFOS = ("action_mask", "spent")  # at every step
FINAL_INFOS = EpisodeOutcomes._fields  # at the end of an episode


def check_vector_env(envs: VectorEnv) -> None:
    """Check a vector environment by stepping it with random legal actions.

    Checks spaces, shapes and dtypes; action masks and rewards; the infos of ended episodes; that returned arrays are
    new copies, which later steps do not overwrite; the autoreset mode that ``metadata`` declares; and that
    ``reset(seed=...)`` makes runs reproducible. ``gymnasium.utils.env_checker.check_env`` checks single environments
    only. Like it, this function raises AssertionError if the environment is at fault, so you can call it in a test.

    Parameters
    ----------
    envs : gymnasium.vector.VectorEnv
        With the spaces, infos and ``action_masks()`` of ``DatumWiseVectorEnv``, which Gymnasium's ``SyncVectorEnv`` of
        single environments lacks. It is reset and stepped.

    Raises
    ------
    AssertionError
        If a check fails; the message is that of the first one.
    TypeError
        If ``envs`` is not a vector environment.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> envs = gymnasium.make_vec("DatumWise-v0", num_envs=3, vectorization_mode="vector_entry_point")
    >>> fsgym.check_vector_env(envs)
    """
    if not isinstance(envs, VectorEnv):
        raise TypeError(f"envs must be a gymnasium.vector.VectorEnv, got {brief(envs)}")
    mode: Any = envs.metadata.get("autoreset_mode")
    _require(isinstance(mode, AutoresetMode), f"metadata['autoreset_mode'] must be an AutoresetMode, got {brief(mode)}")
    for method in ("action_masks", "reset", "step"):
        _require(callable(getattr(envs, method, None)), f"the environment must have the method {method}()")
    runs = [_CheckedRun(envs, mode).play() for _ in range(2)]
    _require(runs[0] == runs[1], "after reset(seed=...), the same actions must return the same values")


class _CheckedRun:
    """One run after a reset; each step is compared with the one before."""

    def __init__(self, envs: Any, mode: AutoresetMode) -> None:
        self.envs, self.mode, self.size = envs, mode, envs.num_envs
        self.ended = np.zeros(self.size, bool)
        self.returned: list[Any] = []  # arrays of the call before, referenced so that their memory is not reused
        self.record = b""
        self.offset: int | None = None  # the action that answers class 0, once an episode has ended

    def play(self) -> bytes:
        """Run ``N_STEPS`` steps; return everything that the environment returned, as bytes."""
        rng = np.random.default_rng(1)
        observations, infos = self._take(self.envs.reset(seed=9))
        self._check_public(observations, infos)
        for _ in range(N_STEPS):
            masks = infos["action_mask"]
            actions = (rng.random(masks.shape) * masks).argmax(axis=1)
            _require(actions in self.envs.action_space, "an action that action_mask allows must be in action_space")
            observations, rewards, terminated, truncated, infos = self._take(self.envs.step(actions))
            self._check_public(observations, infos)
            self._check_flags(rewards, terminated, truncated)
            self._check_ends(actions, observations, rewards, terminated, infos)
            self.ended = terminated.copy()
            if self.mode is AutoresetMode.DISABLED and terminated.any():
                observations, infos = self._reset_ended(actions, observations)
        return self.record

    def _take(self, returned: tuple) -> tuple:
        """Record what was returned; no array may share memory with those of the call before."""
        new = list(_arrays(returned))
        _require(
            not any(np.may_share_memory(one, other) for one in new for other in self.returned),
            "returned arrays must be new copies, without memory shared with those of the call before",
        )
        self.returned = new
        self.record += _bytes_of(returned)
        return returned

    def _check_public(self, observations: NDArray, infos: dict[str, Any]) -> None:
        envs = self.envs
        _require(observations in envs.observation_space, "observations must be in observation_space")
        for key in PUBLIC_INFOS:
            _require(key in infos, f"infos must have {key!r} at every step")
        masks = infos["action_mask"]
        _require_array(masks, "infos['action_mask']", np.int8, (self.size, int(envs.single_action_space.n)))
        _require_array(infos["spent"], "infos['spent']", np.float64, (self.size,))
        _require(bool(masks.any(axis=1).all()), "infos['action_mask'] must allow an action in every environment")
        _require(
            np.array_equal(envs.action_masks(), masks.astype(bool)),
            "action_masks() must equal infos['action_mask']",
        )

    def _check_flags(self, rewards: NDArray, terminated: NDArray, truncated: NDArray) -> None:
        _require_array(rewards, "rewards", np.float64, (self.size,))
        _require_array(terminated, "terminated", np.bool_, (self.size,))
        _require_array(truncated, "truncated", np.bool_, (self.size,))
        _require(not truncated.any(), "truncated must be False: an episode ends only with an answer")
        if self.mode is AutoresetMode.NEXT_STEP:
            starting = self.ended
            _require(not rewards[starting].any(), "the reward of a step that starts an episode must be 0")
            _require(not terminated[starting].any(), "a step that starts an episode must not terminate it")

    def _check_ends(self, actions, observations, rewards, terminated, infos) -> None:
        same_step = self.mode is AutoresetMode.SAME_STEP
        final = infos.get("final_info", {}) if same_step else infos
        if not terminated.any():
            for key in (*FINAL_INFOS, "final_obs", "final_info"):
                _require(key not in infos, f"infos must not have {key!r} where no episode has ended")
            return
        for key in FINAL_INFOS:
            _require(key in final, f"infos must have {key!r} where an episode has ended")
            mask = final.get(f"_{key}")
            _require(
                mask is not None and np.array_equal(mask, terminated),
                f"infos['_{key}'] must mark the episodes that ended",
            )
        prediction, label, error_cost = (final[key][terminated] for key in ("prediction", "label", "error_cost"))
        offsets = set((actions[terminated] - prediction).tolist()) | ({self.offset} - {None})
        _require(len(offsets) == 1, "infos['prediction'] must be the class that the action answers")
        self.offset = offsets.pop()
        _require(
            np.array_equal(final["correct"], (final["prediction"] == final["label"]) & terminated),
            "infos['correct'] must be True where prediction and label are equal",
        )
        _require(not final["illegal"].any(), "infos['illegal'] must be False after a legal action")
        _require(np.array_equal(rewards[terminated], 0.0 - error_cost), "the reward of an answer must be -error_cost")
        _require(not final["error_cost"][~terminated].any(), "infos['error_cost'] must be 0 where no episode has ended")
        _require(bool((label >= 0).all()), "infos['label'] must hold class codes")
        if same_step:
            present = [o is not None for o in infos.get("final_obs", [])]
            _require(
                present == terminated.tolist(), "infos['final_obs'] must hold the last observations of ended episodes"
            )
            n = observations.shape[1] // 2
            _require(not observations[terminated, :n].any(), "a new episode must start with no value known")

    def _reset_ended(self, actions: NDArray, observations: NDArray) -> tuple[NDArray, dict[str, Any]]:
        """Reset the ended episodes, which must happen before the next step when autoreset is disabled."""
        ended, before = self.ended, observations.copy()
        try:
            self.envs.step(actions)
        except ResetNeeded:
            pass
        else:
            raise AssertionError("step() must raise ResetNeeded until ended episodes are reset")
        observations, infos = self._take(self.envs.reset(options={"reset_mask": ended.copy()}))
        self._check_public(observations, infos)
        mask = infos.get("_action_mask")
        _require(
            mask is not None and np.array_equal(mask, ended), "infos['_action_mask'] must equal options['reset_mask']"
        )
        _require(
            np.array_equal(observations[~ended], before[~ended]),
            "a reset must not change the environments outside its reset_mask",
        )
        return observations, infos


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _require_array(value: Any, name: str, kind: type, shape: tuple[int, ...]) -> None:
    fits = isinstance(value, np.ndarray) and value.dtype == kind and value.shape == shape
    if not fits:
        raise AssertionError(f"{name} must be an array of {kind.__name__} and shape {shape}, got {brief(value)}")


def _arrays(returned: Any) -> Iterator[NDArray]:
    """All arrays in a returned value, including those inside object arrays."""
    if isinstance(returned, np.ndarray):
        yield returned
        returned = returned.tolist() if returned.dtype == object else ()
    if isinstance(returned, dict):
        returned = list(returned.values())
    if isinstance(returned, (tuple, list)):
        for part in returned:
            yield from _arrays(part)


def _bytes_of(returned: Any) -> bytes:
    if isinstance(returned, dict):
        return b"".join(key.encode() + _bytes_of(returned[key]) for key in sorted(returned))
    if isinstance(returned, np.ndarray) and returned.dtype == object:
        returned = returned.tolist()
    if isinstance(returned, (tuple, list)):
        return b"".join(_bytes_of(part) for part in returned)
    array = np.asarray(returned)
    return f"{array.dtype}{array.shape}".encode() + (
        repr(returned).encode() if array.dtype == object else array.tobytes()
    )
