"""Training throughput of MaskablePPO: 256 native episodes against Stable-Baselines3's DummyVecEnv of 256 environments.

The same algorithm, settings and number of steps on breast cancer, alternating; prints steps per second of processor
time and their ratio, collecting and learning together. Exits with status 1 below 1.4. Needs the extra rl.
"""

from __future__ import annotations

import sys
import time

import gymnasium as gym
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor

import fsgym  # noqa: F401  registers the ids
from agents.deep.sb3 import DatumWiseVecEnv, training_context

NUM_ENVS, STEPS, ROUNDS, LEAST = 256, 65_536, 5, 1.4
# Few passes over large batches, as one sets it to train fast; with more passes the environment matters less.
OPTIONS = {"n_steps": 64, "batch_size": 4096, "n_epochs": 4, "gamma": 1.0, "device": "cpu", "seed": 0}


def native() -> VecEnv:
    envs = gym.make_vec("DatumWise-v0", NUM_ENVS, "vector_entry_point", autoreset_mode="SameStep")
    return VecMonitor(DatumWiseVecEnv(envs))  # type: ignore[arg-type]


def dummy() -> VecEnv:
    return VecMonitor(DummyVecEnv([lambda: gym.make("DatumWise-v0")] * NUM_ENVS))


def rate(make) -> float:
    """Steps of training per second of processor time."""
    model = MaskablePPO("MlpPolicy", make(), **OPTIONS)
    began = time.process_time()
    model.learn(STEPS)
    return model.num_timesteps / (time.process_time() - began)


def main() -> int:
    native().reset()  # compiles
    with training_context():  # as this package trains: one thread, no checks of distributions; for both
        pairs = np.array([[rate(native), rate(dummy)] for _ in range(ROUNDS)])
    ours, theirs = np.median(pairs, axis=0)
    ratio = float(np.median(pairs[:, 0] / pairs[:, 1]))
    print(f"native {ours:,.0f} steps/s, DummyVecEnv {theirs:,.0f} steps/s: ratio {ratio:.2f} (at least {LEAST})")
    return 0 if ratio >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
