"""Speed of the environments' steps: ratios of process CPU times, the smallest of several interleaved rounds.

    python benchmarks/vector_env.py

30 features, masks on, fresh arrays, autoreset with the next step; replayed random legal actions. Against Gymnasium's
SyncVectorEnv of the single environment, against copying the observations and masks that are returned, and, for the
single environment, against the same decision process in plain Python. Exits with status 1 if a ratio misses its target.

Against copying, there are two kinds of actions. "asking": all features in random order, then a prediction, in all
episodes at the same time. "any": uniform over the legal actions, predictions included, so that in nearly every step
some episode ends and the twelve arrays of ``infos`` for ended episodes are filled; this one has no target.

The median over several fresh processes counts, because the addresses of the arrays change a ratio to memcpy by a tenth.
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

rng = np.random.default_rng(0)
DATA = Dataset(rng.normal(size=(500, 30)), rng.integers(0, 2, 500))
RULES = Rules.for_dataset(DATA, lam=0.01)
AGAINST_SYNC = {8: 10.0, 64: 40.0, 1024: 120.0}
AGAINST_MEMCPY = {64: 0.15, 1024: 0.3}
SINGLE = 60 / 170
ROUNDS = 15
PROCESSES = 7


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


def asking_for_all(size: int, cycles: int) -> list[np.ndarray]:
    """Actions to replay: all features in random order, an answer, and the step with which the next episode begins."""
    draw = np.random.default_rng(2)
    plan = []
    for _ in range(cycles):
        plan += list(draw.random((size, 30)).argsort(axis=1).T.copy())
        plan += [np.full(size, 30), np.full(size, 30)]
    return plan


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


def copies(envs, steps: int) -> float:
    """CPU seconds to copy what one step returns of observations and masks."""
    observations, infos = envs.reset(seed=0)
    masks = infos["action_mask"]
    begun = time.process_time()
    for _ in range(steps):
        observations.copy()
        masks.copy()
    return (time.process_time() - begun) / steps


def smallest(timers: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The smallest time of each, all taking turns, so that a busy moment hits all of them."""
    rounds = [{name: timer() for name, timer in timers.items()} for _ in range(ROUNDS)]
    return {name: min(times[name] for times in rounds) for name in timers}


def measure(size: int) -> list[tuple[str, float, float]]:
    native = DatumWiseVectorEnv(DATA, RULES, size)
    sync = SyncVectorEnv([lambda: DatumWiseEnv(DATA, RULES)] * size)
    plan, sync_plan = legal_actions(native, max(300, 40000 // size)), legal_actions(sync, max(3, 800 // size))
    asking = asking_for_all(size, max(10, len(plan) // 32))
    took = smallest(
        {
            "any": lambda: replay(native, plan),
            "asking": lambda: replay(native, asking),
            "sync": lambda: replay(sync, sync_plan),
            "copies": lambda: copies(native, len(plan)),
        }
    )
    print(f"{size:5d} environments: " + ", ".join(f"{k} {v * 1e6:.2f} us" for k, v in took.items()))
    rows = [(f"vector / SyncVectorEnv, {size}", took["sync"] / took["any"], AGAINST_SYNC[size])]
    if size in AGAINST_MEMCPY:
        rows.append((f"vector / memcpy, {size}, asking", took["copies"] / took["asking"], AGAINST_MEMCPY[size]))
        rows.append((f"vector / memcpy, {size}, any", took["copies"] / took["any"], 0.0))
    return rows


def once() -> list[tuple[str, float, float]]:
    """What is measured, its ratio and its target, in this process."""
    single, bare = DatumWiseEnv(DATA, RULES), Bare()
    took = smallest({"single": lambda: play(single, 5500), "bare": lambda: play(bare, 5500)})
    rows = [("single / plain Python", took["bare"] / took["single"], SINGLE)]
    for size in AGAINST_SYNC:
        rows += measure(size)
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
