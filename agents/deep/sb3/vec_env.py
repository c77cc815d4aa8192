"""Adapter from the vector environment of this package to that of Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from fsgym.envs.vector_env import DatumWiseVectorEnv
from fsgym.text.messages import brief


class DatumWiseVecEnv(VecEnv):
    """A ``VecEnv`` of Stable-Baselines3 over a ``DatumWiseVectorEnv``, which steps all episodes in one compiled call.

    Stable-Baselines3 does not accept vector environments of Gymnasium, and its own ones loop over single environments
    in Python. Episodes that end are reset in the same step. Their final info is in their info dict, together with
    ``terminal_observation``, ``TimeLimit.truncated`` (always False) and ``is_success`` (whether the answer is correct),
    whose mean is logged.

    Parameters
    ----------
    envs : DatumWiseVectorEnv
        Created with ``autoreset_mode="SameStep"``, and without ``copy=False``.

    Raises
    ------
    TypeError, ValueError
        If the environment or its mode is another one.

    Notes
    -----
    All episodes share their rules and one random generator, which is seeded with the first seed. Attributes belong to
    the whole vector environment; ``action_masks`` is the only method that can be called per episode.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import DatumWiseVecEnv
    >>> envs = gymnasium.make_vec("DatumWise-v0", 4, "vector_entry_point", autoreset_mode="SameStep")
    >>> venv = DatumWiseVecEnv(envs)
    >>> venv.reset().shape, len(venv.env_method("action_masks"))
    ((4, 60), 4)
    """

    def __init__(self, envs: DatumWiseVectorEnv) -> None:
        inner = getattr(envs, "unwrapped", envs)
        if not isinstance(inner, DatumWiseVectorEnv):
            raise TypeError(f"envs must be a vector environment of fsgym, got {brief(envs)}")
        if inner.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f"envs must reset episodes in the step in which they end, got mode {inner.autoreset_mode.value!r}; "
                "create them with autoreset_mode='SameStep'"
            )
        if not inner.copy:
            raise ValueError(
                "envs must return new arrays, since Stable-Baselines3 still reads an observation after the next step, "
                "got copy=False; create them without it"
            )
        self.envs = inner
        self._actions = np.zeros(inner.num_envs, np.int64)
        super().__init__(inner.num_envs, inner.single_observation_space, inner.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        rows = [options.get("index") for options in self._options]
        options = {} if all(row is None for row in rows) else {"index": rows}
        observations, infos = self.envs.reset(seed=self._seeds[0], options=options)
        self.reset_infos = [
            {"action_mask": mask, "spent": spent} for mask, spent in zip(infos["action_mask"], infos["spent"].tolist())
        ]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, ended, _, step_info = self.envs.step(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": False} for _ in range(self.num_envs)]
        if "final_info" in step_info:
            final = {k: v for k, v in step_info["final_info"].items() if not k.startswith("_")}
            final["terminal_observation"], final["is_success"] = step_info["final_obs"], final["correct"]
            for e in np.flatnonzero(ended):
                infos[e] |= {key: values[e] for key, values in final.items()}
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self.envs.close()

    def get_images(self) -> Sequence[NDArray[np.uint8]]:
        return self.envs.render() or ()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        if self._count(indices) != self.num_envs:
            raise ValueError(f"the episodes share {attr_name!r}; set it without indices")
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(f"the episodes have no method {method_name!r}, only action_masks")
        masks = self.envs.action_masks()
        return list(masks if indices is None else masks[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Any = None) -> list[bool]:
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:
        chosen: Iterable[int] = self._get_indices(indices)
        return sum(1 for _ in chosen)


class ScaledRewards(VecEnvWrapper):
    """Rewards multiplied by a constant, which does not change the best policy.

    Networks train badly on rewards in the hundreds.

    Parameters
    ----------
    venv : VecEnv
    factor : float
    """

    def __init__(self, venv: VecEnv, factor: float) -> None:
        super().__init__(venv)
        self.factor = np.float32(factor)

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        observations, rewards, ended, infos = self.venv.step_wait()
        return observations, rewards * self.factor, ended, infos
