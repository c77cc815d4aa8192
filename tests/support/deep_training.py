"""Deep agents that train in a moment, and a task that they can learn."""

from __future__ import annotations

import numpy as np

from agents import SB3Classifier
from agents.deep.sb3 import DatumWiseVecEnv
from fsgym import DatumWiseVectorEnv

SHORT = {
    "maskable_ppo": {"total_timesteps": 1, "num_envs": 8, "options": {"n_steps": 8, "batch_size": 64, "n_epochs": 2}},
    "dqn": {"total_timesteps": 200, "num_envs": 8, "options": {"learning_starts": 50, "target_update_interval": 8}},
    "ppo": {"total_timesteps": 1, "num_envs": 8, "options": {"n_steps": 8, "batch_size": 64, "n_epochs": 2}},
}


def short(algorithm):
    """Parameters that train an algorithm in a moment."""
    return SHORT.get(algorithm, {"total_timesteps": 100, "num_envs": 8})


def quick(algorithm="maskable_ppo", **more):
    return SB3Classifier(**{"algorithm": algorithm, "random_state": 0, **short(algorithm), **more})


def native(dataset, rules, num_envs=4, **more):
    return DatumWiseVecEnv(DatumWiseVectorEnv(dataset, rules, num_envs, autoreset_mode="SameStep", **more))


def telling(n=200, seed=0):
    """Five columns; the label is the sign of the first, the rest is noise: ask once, answer."""
    X = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)
