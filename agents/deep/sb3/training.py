"""Algorithms of Stable-Baselines3 with settings for this task, and how they are trained beside other work."""

from __future__ import annotations

import inspect
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor
from torch.distributions import Distribution

from agents.deep.algorithms import ALGORITHMS, Algorithm, find_algorithm
from agents.deep.network import LARGEST_VALUE, NetworkPolicy
from agents.deep.sb3.vec_env import DatumWiseVecEnv, ScaledRewards
from fsgym.checks import brief, is_integer
from fsgym.dataset import Dataset
from fsgym.env import DatumWiseEnv, rules_for
from fsgym.vector_env import DatumWiseVectorEnv

TARGET = "_target."  # in the names of the copy that value-based algorithms bootstrap from, not kept
_turn = threading.Lock()  # PyTorch's threads and the global generators are the whole process's


class Settings(NamedTuple):
    """How an algorithm is set by default, from its entry in ``agents.deep.ALGORITHMS``.

    Attributes
    ----------
    algorithm : class of Stable-Baselines3
    num_envs : int, episodes side by side
    total_timesteps : int, steps of training
    options : mapping, arguments of the class
    """

    algorithm: type[BaseAlgorithm]
    num_envs: int
    total_timesteps: int
    options: Mapping[str, Any]


def _settings(algorithm: Algorithm) -> Settings:
    """The settings with the class itself, and the learning rate as Stable-Baselines3 takes it."""
    options = {"learning_rate": LinearSchedule(algorithm.learning_rate, 0.0, 1.0), **algorithm.options}
    return Settings(resolve_name(algorithm.where), algorithm.num_envs, algorithm.total_timesteps, options)


SETTINGS: Mapping[str, Settings] = MappingProxyType({name: _settings(entry) for name, entry in ALGORITHMS.items()})


def make_model(
    algorithm: str,
    env: Any,
    *,
    num_envs: int | None = None,
    hidden: Sequence[int] = (64, 64),
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> Any:
    """An algorithm of Stable-Baselines3 for an environment of this package, over a native vector environment.

    What comes back is Stable-Baselines3's own object, with its ``learn(total_timesteps, callback, progress_bar)``, and
    what it logs; ``fsgym.evaluate`` takes it. Episode returns in its log are minus the losses; what it learns from is
    divided by the largest error cost.

    Parameters
    ----------
    algorithm : str
        A name in ``agents.deep.ALGORITHMS``. "maskable_ppo" and "dqn", which is ``MaskedDQN``, choose among legal
        actions; "ppo" and "a2c" know no masks and learn what is legal by forfeiting.
    env : environment of this package
        Its data set and rules are taken; wrappers are looked through.
    num_envs : int, optional
        Episodes side by side; by default those of ``SETTINGS``.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers.
    options : mapping, optional
        Arguments of the algorithm's class that replace those of ``SETTINGS``, such as ``tensorboard_log``.
    seed : int, optional

    Raises
    ------
    ValueError, TypeError
        For another algorithm, environment or option, in one sentence.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import make_model
    >>> env = gymnasium.make("DatumWise-v0")
    >>> model = make_model("maskable_ppo", env, num_envs=8, seed=0).learn(512)
    >>> fsgym.evaluate(model, env).illegal
    0.0
    """
    settings = settings_of(algorithm)
    inner = getattr(env, "unwrapped", env)
    if not hasattr(inner, "dataset") or not hasattr(inner, "rules"):
        raise TypeError(f"{algorithm} needs an environment of fsgym, got {brief(env)}")
    rules = rules_for(inner.dataset, inner.rules)
    envs = DatumWiseVectorEnv(
        inner.dataset,
        rules,
        settings.num_envs if num_envs is None else num_envs,
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    largest = float(np.abs(rules.error_costs).max()) or 1.0
    venv = ScaledRewards(VecMonitor(DatumWiseVecEnv(envs)), 1.0 / largest)
    arguments = {
        "device": "cpu",
        "policy_kwargs": {"net_arch": list(hidden)},
        **settings.options,
        **_checked(algorithm, options),
    }
    return settings.algorithm("MlpPolicy", venv, seed=seed, **arguments)


def trained(
    algorithm: str,
    env: Any,
    *,
    total_timesteps: int | None,
    num_envs: int | None,
    hidden: Sequence[int],
    options: Mapping[str, Any] | None,
    seed: int,
    progress_bar: bool = False,
) -> dict[str, NDArray[np.float32]]:
    """The arrays of a network that ``make_model`` made and trained, as ``agents.NetworkPolicy`` takes them.

    Training leaves the process as it was: Stable-Baselines3 seeds the generators of Python, NumPy and PyTorch, which
    are the whole process's. The same seed gives the same arrays.
    """
    steps = settings_of(algorithm).total_timesteps if total_timesteps is None else total_timesteps
    if not is_integer(steps) or steps < 1:
        raise ValueError(f"total_timesteps must be a whole number, 1 or more, got {brief(steps)}")
    if isinstance(options, Mapping) and "policy_kwargs" in options:
        raise ValueError("options must not hold policy_kwargs, since the network is kept by its form; use hidden")
    with alone():
        model = make_model(algorithm, env, num_envs=num_envs, hidden=hidden, options=options, seed=seed)
        model.learn(int(steps), progress_bar=progress_bar)
    state = model.policy.state_dict().items()
    return {name: array.cpu().numpy().copy() for name, array in state if TARGET not in name}


def rebuilt(policy: NetworkPolicy) -> Any:
    """The algorithm of Stable-Baselines3 with the network of a policy; it takes values scaled as the policy's are."""
    rules = policy.rules
    nothing = Dataset(
        np.zeros((1, rules.n_features)),
        [0],
        classes=np.arange(rules.n_classes),
        bounds=(
            np.full(rules.n_features, -LARGEST_VALUE),
            np.full(rules.n_features, LARGEST_VALUE),
        ),
    )
    with alone():
        model = make_model(policy.algorithm, DatumWiseEnv(nothing, rules), hidden=policy.hidden)
    names = model.policy.state_dict()
    model.policy.load_state_dict({name: torch.tensor(policy.arrays[name.replace(TARGET, ".")]) for name in names})
    return model


@contextmanager
def alone() -> Iterator[None]:
    """Alone among the threads of this process, PyTorch in one, without its checks of each distribution.

    The checks take a sixth of the training, and refuse masked probabilities whose rounded sum is not quite one.
    Threads, checks and all generators are put back.
    """
    with _turn:
        n_threads, checked = torch.get_num_threads(), Distribution._validate_args
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 (what is seeded)
        torch.set_num_threads(1)
        Distribution.set_default_validate_args(False)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)
            Distribution.set_default_validate_args(checked)
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            torch.set_rng_state(states[2])


def settings_of(algorithm: str) -> Settings:
    """The entry of ``SETTINGS``; ValueError where there is none."""
    find_algorithm(algorithm)  # for its message
    return SETTINGS[algorithm]


def _checked(algorithm: str, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Options that the class takes."""
    if not isinstance(options, Mapping | None):
        raise TypeError(f"options must be a mapping name -> value or None, got {brief(options)}")
    known = inspect.signature(SETTINGS[algorithm].algorithm).parameters
    strange = [name for name in options or {} if name not in known or name in ("policy", "env", "seed")]
    if strange:
        raise ValueError(f"{algorithm} has no option {brief(strange[0])}; its class in Stable-Baselines3 tells them")
    return options or {}
