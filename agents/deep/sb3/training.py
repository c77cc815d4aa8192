"""Training of algorithms of Stable-Baselines3 with default settings, safely beside other threads."""

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
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecMonitor
from torch.distributions import Distribution

from agents.deep.algorithms import ALGORITHMS, Algorithm, find_algorithm, largest_error_cost
from agents.deep.network import MAX_ABS_Z_SCORE, NetworkPolicy
from agents.deep.sb3.vec_env import DatumWiseVecEnv, ScaledRewards
from fsgym.data.dataset import Dataset
from fsgym.envs.env import DatumWiseEnv, rules_for
from fsgym.envs.vector_env import DatumWiseVectorEnv
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief

TARGET_NETWORK = "_target."  # part of the array names of target networks, which are not saved
_training_lock = threading.RLock()  # PyTorch's threads and the global random generators belong to the whole process


class Settings(NamedTuple):
    """The default settings of an algorithm, from its entry in ``agents.deep.ALGORITHMS``."""

    algorithm: type[BaseAlgorithm]  # class of Stable-Baselines3, whose ``learn`` runs in one thread
    num_envs: int  # parallel episodes
    total_timesteps: int  # training steps
    options: Mapping[str, Any]  # arguments of the class


class _InOneThread:
    """A base beside an algorithm of Stable-Baselines3, whose ``learn`` it runs in one thread.

    Where nothing is to be logged, it leaves no empty folder of a log among the temporary files, either.
    """

    def learn(self, *args: Any, **named: Any) -> Any:
        own: Any = self
        silent = not (own._custom_logger or own.verbose or own.tensorboard_log)
        if silent:
            own.set_logger(Logger(folder=None, output_formats=[]))
        try:
            with _one_thread():
                return super().learn(*args, **named)  # type: ignore[misc]
        finally:
            if silent:
                own._custom_logger = False  # is saved, other than the logger


def _settings(algorithm: Algorithm) -> Settings:
    """The settings with the imported class, which trains in one thread, and the schedule of the learning rate."""
    options = {"learning_rate": LinearSchedule(algorithm.learning_rate, 0.0, 1.0), **algorithm.options}
    imported = resolve_name(algorithm.where)
    cls = type(imported.__name__, (_InOneThread, imported), {"__module__": __name__, "__doc__": imported.__doc__})
    return Settings(cls, algorithm.num_envs, algorithm.total_timesteps, options)


SETTINGS: Mapping[str, Settings] = MappingProxyType({name: _settings(entry) for name, entry in ALGORITHMS.items()})


def make_model(
    algorithm: str,
    env: Any,
    *,
    num_envs: int | None = None,
    hidden: Sequence[int] = (64, 64),
    options: Mapping[str, Any] | None = None,
    seed: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Create an algorithm of Stable-Baselines3 for an environment of this package.

    It runs on a vector environment of this package. The returned object is that of Stable-Baselines3, with its
    ``learn(total_timesteps, callback, progress_bar)`` and its logs, and can be passed to ``fsgym.evaluate``. ``learn``
    uses one thread, whatever the number of PyTorch's threads, so that one seed gives one network on one kind of CPU;
    PyTorch has its number again when ``learn`` returns. Episode
    returns in the log are minus the losses; the rewards in training are divided by the largest error cost.

    The settings are for the ``total_timesteps`` of ``SETTINGS``, 100,000 or more. An update of PPO takes 256 x 16 =
    4,096 steps: for a few thousand steps pass ``num_envs=16``. A batch is at most the steps of an update, unless
    ``options`` says another size.

    Parameters
    ----------
    algorithm : str
        A name in ``agents.deep.ALGORITHMS``. "maskable_ppo" and "dqn" (``MaskedDQN``) choose among legal actions; "ppo"
        and "a2c" do not use masks; they learn which actions are legal, as an illegal action ends the episode.
    env : environment of this package
        Provides the data set and the rules; it may be wrapped.
    num_envs : int, optional
        Number of environments that are stepped together; by default that of ``SETTINGS``.
    hidden : sequence of int, default (64, 64)
        Widths of the hidden layers.
    options : mapping, optional
        Arguments of the algorithm's class that replace those of ``SETTINGS``, such as ``tensorboard_log``.
    seed : int, optional
    sample_weight : array-like of shape (n_samples,), optional
        Episodes start on a row of the data set with a probability proportional to its weight.

    Raises
    ------
    ValueError, TypeError
        If the algorithm, the environment or an option is invalid.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import make_model
    >>> env = gymnasium.make("fsgym:DatumWise-v0")
    >>> model = make_model("maskable_ppo", env, num_envs=8, seed=0).learn(512)
    >>> fsgym.evaluate(model, env).illegal
    0.0
    """
    settings = find_settings(algorithm)
    inner = getattr(env, "unwrapped", env)
    if not hasattr(inner, "dataset") or not hasattr(inner, "rules"):
        raise TypeError(f"{algorithm} needs an environment of fsgym, got {brief(env)}")
    rules = rules_for(inner.dataset, inner.rules)
    envs = DatumWiseVectorEnv(
        inner.dataset,
        rules,
        settings.num_envs if num_envs is None else num_envs,
        autoreset_mode=AutoresetMode.SAME_STEP,
        sample_weight=sample_weight,
    )
    venv = ScaledRewards(VecMonitor(DatumWiseVecEnv(envs)), 1.0 / largest_error_cost(rules))
    given = _check_options(algorithm, options)
    arguments = {"device": "cpu", "policy_kwargs": {"net_arch": list(hidden)}, **settings.options, **given}
    if "batch_size" not in given and {"batch_size", "n_steps"} <= arguments.keys() and is_integer(arguments["n_steps"]):
        arguments["batch_size"] = min(arguments["batch_size"], arguments["n_steps"] * envs.num_envs)
    with _one_thread():
        return settings.algorithm("MlpPolicy", venv, seed=seed, **arguments)


class ModelArguments(NamedTuple):
    """The arguments of ``make_model`` after the environment."""

    num_envs: int | None
    hidden: Sequence[int]
    options: Mapping[str, Any] | None
    seed: int
    sample_weight: NDArray[np.float64] | None = None


def trained(
    algorithm: str,
    env: Any,
    arguments: ModelArguments,
    *,
    total_timesteps: int | None,
    progress_bar: bool = False,
) -> dict[str, NDArray[np.float32]]:
    """Create an algorithm by ``make_model`` and train it; return the arrays of its network for ``NetworkPolicy``.

    Stable-Baselines3 seeds the global generators of Python, NumPy and PyTorch; their states are restored afterwards.
    The same seed gives the same arrays.
    """
    steps = find_settings(algorithm).total_timesteps if total_timesteps is None else total_timesteps
    if not is_integer(steps) or steps < 1:
        raise ValueError(f"total_timesteps must be a whole number, 1 or more, got {brief(steps)}")
    if isinstance(arguments.options, Mapping) and "policy_kwargs" in arguments.options:
        raise ValueError("options must not contain policy_kwargs, since hidden defines the network; use hidden")
    begin = find_settings(algorithm).options.get("learning_starts", 0)
    if begin > int(steps) // 10 and isinstance(arguments.options or {}, Mapping):  # most steps are to learn by
        arguments = arguments._replace(options={"learning_starts": int(steps) // 10, **(arguments.options or {})})
    with training_context():
        model = make_model(algorithm, env, **arguments._asdict())
        model.learn(int(steps), progress_bar=progress_bar)
    state = model.policy.state_dict().items()
    return {name: array.cpu().numpy().copy() for name, array in state if TARGET_NETWORK not in name}


def rebuilt(policy: NetworkPolicy) -> Any:
    """The algorithm of Stable-Baselines3 with the network of a policy; it takes scaled values (``policy.scaled``)."""
    rules = policy.rules
    placeholder = Dataset(
        np.zeros((1, rules.n_features)),
        [0],
        classes=np.arange(rules.n_classes),
        bounds=(
            np.full(rules.n_features, -MAX_ABS_Z_SCORE),
            np.full(rules.n_features, MAX_ABS_Z_SCORE),
        ),
    )
    with training_context():
        model = make_model(policy.algorithm, DatumWiseEnv(placeholder, rules), hidden=policy.hidden)
    names = model.policy.state_dict()
    model.policy.load_state_dict(
        {name: torch.tensor(policy.arrays[name.replace(TARGET_NETWORK, ".")]) for name in names}
    )
    return model


@contextmanager
def training_context() -> Iterator[None]:
    """Hold the lock for training in this process, and restore the states of all random generators afterwards.

    Stable-Baselines3 seeds the global generators of Python, NumPy and PyTorch. PyTorch has one thread in the block, and
    no checks of distributions, for models made by hand, too; those of ``make_model`` train so by themselves.

    Examples
    --------
    >>> import fsgym, gymnasium
    >>> from agents.deep.sb3 import make_model, training_context
    >>> env = gymnasium.make("fsgym:DatumWise-v0", dataset="wine")
    >>> with training_context():
    ...     model = make_model("maskable_ppo", env, num_envs=8, seed=0).learn(256)
    """
    with _one_thread():
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002 (the generator that is seeded)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002
            torch.set_rng_state(states[2])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold the lock for training, with PyTorch in one thread and without its checks of distributions.

    The checks take a sixth of the training time, and refuse masked probabilities whose sum is not 1 due to rounding.
    The number of threads and the checks are restored afterwards.
    """
    with _training_lock:
        n_threads, validate = torch.get_num_threads(), Distribution._validate_args
        torch.set_num_threads(1)
        Distribution.set_default_validate_args(False)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)
            Distribution.set_default_validate_args(validate)


def find_settings(algorithm: str) -> Settings:
    """The entry of ``SETTINGS``; ValueError if there is none."""
    find_algorithm(algorithm)  # raises ValueError
    return SETTINGS[algorithm]


def _check_options(algorithm: str, options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The options, or an empty mapping; TypeError or ValueError unless the class takes them."""
    if not isinstance(options, Mapping | None):
        raise TypeError(f"options must be a mapping name -> value or None, got {brief(options)}")
    parameters = inspect.signature(SETTINGS[algorithm].algorithm).parameters
    unknown = [name for name in options or {} if name not in parameters or name in ("policy", "env", "seed")]
    if unknown:
        raise ValueError(
            f"{algorithm} has no option {brief(unknown[0])}; see the arguments of its class in Stable-Baselines3"
        )
    return options or {}
