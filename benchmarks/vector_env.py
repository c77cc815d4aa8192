"""Speed of the environments' steps: ratios of process CPU times, the smallest of several interleaved rounds.

    python benchmarks/vector_env.py

Masks on, fresh arrays, autoreset with the next step; replayed legal actions. With 30 features: against Gymnasium's
SyncVectorEnv of the single environment, and, for the single environment, against the same decision process in plain
Python. With 30 and 784 features, against a bare copy: NumPy copies, one after the other, the arrays that a step returns
(observations, rewards, two arrays of flags, action masks, prices spent and the flags of the infos), and nothing else
is done. Exits with status 1 if a ratio misses its target.

Against a bare copy, there are two kinds of actions. "asking": all features in random order, then a prediction, in all
episodes at the same time. "any": uniform over the legal actions, predictions included, so that in nearly every step
some episode ends and the twelve arrays of ``infos`` for ended episodes are filled; this one has no target, and its
bare copy leaves those arrays out. "reused" is the kind "asking" with ``copy=False``, where observations, masks and
prices are not copied.

The median over several fresh processes counts, because the addresses of the arrays change a ratio to a copy by a tenth.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import gymnasium as gym
import numpy as np
from gymnasium.vector import SyncVectorEnv

from fsgym import Dataset, DatumWiseEnv, DatumWiseVectorEnv, Rules

N_FEATURES = 30
AGAINST_SYNC = {8: 10.0, 64: 40.0, 1024: 120.0}  # least ratio by number of environments
AGAINST_COPY = {(64, 30): 0.35, (1024, 30): 0.5, (64, 784): 0.7, (1024, 784): 0.7}  # and by number of features
SINGLE = 60 / 170
ROUNDS = 15
PROCESSES = 5


def problem(n_features: int) -> tuple[Dataset, Rules]:
    rng = np.random.default_rng(0)
    data = Dataset(rng.normal(size=(500, n_features)), rng.integers(0, 2, 500))
    return data, Rules.for_dataset(data, lam=0.01)


DATA, RULES = problem(N_FEATURES)


class Bare(gym.Env):
    """The same game without groups, budgets or missing values, as one would write it down in plain Python."""

    def __init__(self) -> None:
        single = DatumWiseEnv(DATA, RULES)
        self.observation_space, self.action_space = single.observation_space, single.action_space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.row = int(self.np_random.integers(len(DATA.X)))
        self.observation, self.mask = np.zeros(60, np.float32), np.ones(32, np.int8)
        return self.observation.copy(), {"action_mask": self.mask.copy()}

    def step(self, action):
        ended = action >= 30 or not self.mask[action]
        if ended:
            reward = -float(action - 30 != DATA.y[self.row])
        else:
            self.mask[action] = 0
            self.observation[action], self.observation[30 + action] = 1.0, DATA.X[self.row, action]
            reward = -0.01
        return self.observation.copy(), reward, ended, False, {"action_mask": self.mask.copy()}


def legal_actions(envs, steps: int) -> list[np.ndarray]:
    """Actions to replay: uniform over the legal ones."""
    draw = np.random.default_rng(1)
    _, infos = envs.reset(seed=0)
    actions = []
    for _ in range(steps):
        actions.append((draw.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(axis=1))
        *_, infos = envs.step(actions[-1])
    return actions


def asking_for_all(size: int, n_features: int, cycles: int) -> list[np.ndarray]:
    """Actions to replay: all features in random order, an answer, and the step with which the next episode begins.

    All cycles have the same arrays, which stay in the cache, as an array does that a policy has just made.
    """
    order = np.random.default_rng(2).random((size, n_features)).argsort(axis=1)
    return [*order.T.copy(), np.full(size, n_features), np.full(size, n_features)] * cycles


def replay(envs, actions: list[np.ndarray]) -> float:
    """CPU seconds a step."""
    envs.reset(seed=0)
    step = envs.step
    begun = time.process_time()
    for action in actions:
        step(action)
    return (time.process_time() - begun) / len(actions)


def play(env: gym.Env, steps: int) -> float:
    """CPU seconds a step of a single environment, resets included; acquires ten features, then answers."""
    env.reset(seed=0)
    step, reset, plan = env.step, env.reset, [*range(10), 30] * (steps // 11)
    begun = time.process_time()
    for action in plan:
        if step(action)[2]:
            reset()
    return (time.process_time() - begun) / len(plan)


def returned_arrays(envs) -> list[np.ndarray]:
    """The arrays that a step returns in which no episode ends, each once."""
    envs.reset(seed=0)
    *arrays, infos = envs.step(np.zeros(envs.num_envs, np.int64))
    return list({id(array): array for array in [*arrays, *infos.values()]}.values())


def bare_copy(arrays: list[np.ndarray], steps: int) -> float:
    """CPU seconds to copy the arrays once."""
    begun = time.process_time()
    for _ in range(steps):
        for array in arrays:
            array.copy()
    return (time.process_time() - begun) / steps


def smallest(timers: dict[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """The smallest time of each, all taking turns, so that a busy moment hits all of them.

    In its turn each is timed twice: the first time its arrays may have to come back into the cache.
    """
    taken = [{name: min(timer(), timer()) for name, timer in timers.items()} for _ in range(rounds)]
    return {name: min(times[name] for times in taken) for name in timers}


def against_sync(size: int) -> tuple[str, float, float]:
    native = DatumWiseVectorEnv(DATA, RULES, size)
    sync = SyncVectorEnv([lambda: DatumWiseEnv(DATA, RULES)] * size)
    plan, sync_plan = legal_actions(native, max(300, 40000 // size)), legal_actions(sync, max(3, 800 // size))
    took = smallest({"any": lambda: replay(native, plan), "sync": lambda: replay(sync, sync_plan)})
    return f"vector / SyncVectorEnv, {size}", took["sync"] / took["any"], AGAINST_SYNC[size]


def against_copy(size: int, n_features: int) -> list[tuple[str, float, float]]:
    data, rules = problem(n_features)
    fresh, reused = (DatumWiseVectorEnv(data, rules, size, copy=copied) for copied in (True, False))
    arrays = returned_arrays(fresh)
    small = n_features == N_FEATURES
    asking = asking_for_all(size, n_features, max(2**12 // size, 1) if small else 1)
    plan = legal_actions(fresh, max(100, 2**13 // size)) if small else []
    timers = {
        "copy": lambda: bare_copy(arrays, len(asking)),
        "asking": lambda: replay(fresh, asking),
        "reused": lambda: replay(reused, asking),
    }
    took = smallest(timers | ({"any": lambda: replay(fresh, plan)} if small else {}), 30 if small else 3)
    n_bytes = sum(array.nbytes for array in arrays)
    speeds = ", ".join(f"{kind} {seconds * 1e6:.2f} us" for kind, seconds in took.items())
    print(f"{size} x {n_features}: {speeds}; asking returns {n_bytes / took['asking'] / 1e9:.1f} GB/s")
    wanted = {"asking": AGAINST_COPY[size, n_features], "any": 0.0, "reused": 0.0}
    return [
        (f"vector / copy, {size} x {n_features}, {kind}", took["copy"] / took[kind], target)
        for kind, target in wanted.items()
        if kind in took
    ]


def once() -> list[tuple[str, float, float]]:
    """What is measured, its ratio and its target, in this process."""
    single, bare = DatumWiseEnv(DATA, RULES), Bare()
    took = smallest({"single": lambda: play(single, 5500), "bare": lambda: play(bare, 5500)})
    rows = [("single / plain Python", took["bare"] / took["single"], SINGLE)]
    rows += [against_sync(size) for size in AGAINST_SYNC]
    for size, n_features in AGAINST_COPY:
        rows += against_copy(size, n_features)
    return rows


def main() -> int:
    command = [sys.executable, __file__, "once"]
    runs = []
    for _ in range(PROCESSES):
        *lines, rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        print(*lines, sep="\n", flush=True)
        runs.append(json.loads(rows))
    print(f"\n{'':34s}{'median':>8s}{'from':>8s}{'to':>8s}{'target':>8s}")
    fine = True
    for of_one in zip(*runs):
        name, target = of_one[0][0], of_one[0][2]
        ratios = [ratio for _, ratio, _ in of_one]
        reached = statistics.median(ratios) >= target
        fine &= reached
        wanted = f"{target:8.2f}" if target else "       -"
        values = "".join(f"{v:8.2f}" for v in (statistics.median(ratios), min(ratios), max(ratios)))
        print(f"{name:34s}{values}{wanted}{'' if reached else '   SHORT'}")
    return int(not fine)


if __name__ == "__main__":
    if sys.argv[1:] == ["once"]:
        print(json.dumps(once()))
    else:
        sys.exit(main())
