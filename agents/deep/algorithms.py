"""The algorithms of Stable-Baselines3 that can be used, one entry each. This module does not need PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import Rules
from fsgym.text.messages import brief


class NetworkPart(NamedTuple):
    """A part of a network, with the names that Stable-Baselines3 gives to its modules."""

    trunk: str  # the hidden layers
    head: str = ""  # the last layer; "" if the trunk contains it
    n_outputs: int = 0  # 0 for one output per action


class Algorithm(NamedTuple):
    """An algorithm: its class, the network that it trains and its default settings."""

    where: str  # ``"module:Class"``, imported for training only
    parts: tuple[NetworkPart, ...]  # the first part is the policy: it outputs a logit or a value for each action
    activation: Callable[[NDArray[np.float32]], NDArray[np.float32]]  # of the hidden layers
    num_envs: int  # parallel episodes
    total_timesteps: int  # training steps
    learning_rate: float  # initial value, which decreases linearly to 0
    options: Mapping[str, Any]  # further arguments of the class
    # whether the outputs are expected returns, in units of ``largest_error_cost``; otherwise they only rank
    outputs_values: bool = False


def _relu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.maximum(x, 0.0)


_ACTOR_AND_CRITIC = (
    NetworkPart("mlp_extractor.policy_net", "action_net"),
    NetworkPart("mlp_extractor.value_net", "value_net", n_outputs=1),
)
_VALUES = (NetworkPart("q_net.q_net"),)

# Returns are undiscounted, so that they are minus the loss of a row. The learning rate decreases to 0, so that the
# policy settles where actions differ little, such as by the price of one of thirty features. Those of PPO are measured,
# on splits of training rows with seeds from 100 (docs/guide/deep_agents.md has the figures); the others are by hand.
_PPO = {"n_steps": 16, "batch_size": 1024, "n_epochs": 8, "gamma": 1.0, "ent_coef": 0.003}
_DQN = {
    "batch_size": 256, "gamma": 1.0, "buffer_size": 10_000, "learning_starts": 2_000, "train_freq": 4,
    "gradient_steps": 16, "tau": 0.02, "target_update_interval": 64, "exploration_fraction": 0.5,
    "exploration_final_eps": 0.05,
}  # fmt: skip
_A2C = {"n_steps": 8, "gamma": 1.0, "ent_coef": 0.01}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({
    "maskable_ppo": Algorithm("sb3_contrib:MaskablePPO", _ACTOR_AND_CRITIC, np.tanh, 256, 300_000, 3e-3, _PPO),
    "dqn": Algorithm("agents.deep.sb3.dqn:MaskedDQN", _VALUES, _relu, 64, 100_000, 3e-3, _DQN, True),
    "ppo": Algorithm("stable_baselines3:PPO", _ACTOR_AND_CRITIC, np.tanh, 256, 300_000, 3e-3, _PPO),
    "a2c": Algorithm("stable_baselines3:A2C", _ACTOR_AND_CRITIC, np.tanh, 64, 200_000, 2e-3, _A2C),
})  # fmt: skip


def find_algorithm(name: Any) -> Algorithm:
    """The entry of ``ALGORITHMS``; ValueError if there is none."""
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {brief(name)}")
    return ALGORITHMS[name]


def largest_error_cost(rules: Rules) -> float:
    """By which rewards are divided in training; 1 if all error costs are 0."""
    return float(np.abs(rules.error_costs).max()) or 1.0
