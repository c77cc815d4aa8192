"""Deep agents with short trainings, and a task that they can learn."""

from __future__ import annotations

import numpy as np

from agents import SB3Classifier
from agents.deep.sb3 import DatumWiseVecEnv
from fsgym import DatumWiseVectorEnv

SHORT_TRAININGS = {
    "maskable_ppo": {"total_timesteps": 1, "num_envs": 8, "options": {"n_steps": 8, "batch_size": 64, "n_epochs": 2}},
    "dqn": {"total_timesteps": 200, "num_envs": 8, "options": {"learning_starts": 50, "target_update_interval": 8}},
    "ppo": {"total_timesteps": 1, "num_envs": 8, "options": {"n_steps": 8, "batch_size": 64, "n_epochs": 2}},
}


def short_training(algorithm):
    """Parameters for a short training of an algorithm."""
    return SHORT_TRAININGS.get(algorithm, {"total_timesteps": 100, "num_envs": 8})


def short_classifier(algorithm="maskable_ppo", **options):
    """A classifier with a short training."""
    return SB3Classifier(**{"algorithm": algorithm, "random_state": 0, **short_training(algorithm), **options})


def make_vec_env(dataset, rules, num_envs=4, **options):
    """The adapter for Stable-Baselines3 over a vector environment."""
    return DatumWiseVecEnv(DatumWiseVectorEnv(dataset, rules, num_envs, autoreset_mode="SameStep", **options))


def one_informative_feature(n=200, seed=0):
    """Five columns: the label is the sign of the first, the others are noise. The optimum is to acquire the first."""
    X = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    return X, (X[:, 0] > 0).astype(int)
