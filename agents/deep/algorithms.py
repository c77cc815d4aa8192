"""The algorithms of Stable-Baselines3 that can be used: one entry each. Nothing here needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.checks import brief


class Part(NamedTuple):
    """A part of a network, by the names that Stable-Baselines3 gives to its modules.

    Attributes
    ----------
    trunk : str, the hidden layers
    head : str, the last layer; "" where the trunk holds it
    n_outputs : int, 0 for one output an action
    """

    trunk: str
    head: str = ""
    n_outputs: int = 0


class Algorithm(NamedTuple):
    """An algorithm: its class, the network it trains and its settings for this task.

    Attributes
    ----------
    where : str, ``"module:Class"``, imported for training only
    parts : tuple of Part, the first of them is what acts: a logit, or the value, of each action
    activation : callable, of the hidden layers
    num_envs : int, episodes side by side
    total_timesteps : int, steps of training
    learning_rate : float, at the beginning; it falls linearly to 0
    options : mapping, further arguments of the class
    """

    where: str
    parts: tuple[Part, ...]
    activation: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    num_envs: int
    total_timesteps: int
    learning_rate: float
    options: Mapping[str, Any]


def _relu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum(x, 0.0)


_ACTOR_AND_CRITIC = (
    Part("mlp_extractor.policy_net", "action_net"),
    Part("mlp_extractor.value_net", "value_net", n_outputs=1),
)
_VALUES = (Part("q_net.q_net"),)

# Undiscounted: the return is then minus the loss of a datum. Episodes are short, networks small, and a rate that falls
# to nothing settles close calls between thirty prices of 0.01.
_PPO = {"n_steps": 32, "batch_size": 256, "n_epochs": 10, "gamma": 1.0, "ent_coef": 0.01}
_DQN = {
    "batch_size": 256, "gamma": 1.0, "buffer_size": 10_000, "learning_starts": 2_000, "train_freq": 4,
    "gradient_steps": 16, "tau": 0.02, "target_update_interval": 64, "exploration_fraction": 0.5,
    "exploration_final_eps": 0.05,
}  # fmt: skip
_A2C = {"n_steps": 8, "gamma": 1.0, "ent_coef": 0.01}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({
    "maskable_ppo": Algorithm("sb3_contrib:MaskablePPO", _ACTOR_AND_CRITIC, np.tanh, 64, 100_000, 1e-3, _PPO),
    "dqn": Algorithm("agents.deep.sb3.dqn:MaskedDQN", _VALUES, _relu, 64, 100_000, 3e-3, _DQN),
    "ppo": Algorithm("stable_baselines3:PPO", _ACTOR_AND_CRITIC, np.tanh, 64, 200_000, 1e-3, _PPO),
    "a2c": Algorithm("stable_baselines3:A2C", _ACTOR_AND_CRITIC, np.tanh, 64, 200_000, 2e-3, _A2C),
})  # fmt: skip


def find_algorithm(name: Any) -> Algorithm:
    """The entry of ``ALGORITHMS``; ValueError where there is none."""
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {brief(name)}")
    return ALGORITHMS[name]
