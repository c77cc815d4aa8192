"""Learning curves of deep agents: mean loss on training and test rows by training steps, over three seeds.

Writes ``docs/results/learning_curves.csv``, of which a run replaces the curves that it computes, and a picture of each
id that has them, ``docs/envs/curves/ID.png``. With ``--seconds``, no curves: trains MaskablePPO on DatumWise-v0 for
several lengths with the settings of version 0.2.0 and with those of today, alternating, until the mean test loss is at
most 0.06. Prints the ratio of the CPU seconds of these trainings and of a step, and the parts of a step; the trainings
and the parts are written to ``docs/results/learning_seconds.csv`` and ``learning_shares.csv``. Needs the extra rl.

python benchmarks/learning_curves.py                                        # all ids and algorithms: an hour
python benchmarks/learning_curves.py --ids DatumWise-v0 --names maskable_ppo
python benchmarks/learning_curves.py --seconds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

import fsgym
from agents.deep.sb3 import SETTINGS, DatumWiseVecEnv, ScaledRewards, learning_curve, make_model
from fsgym.comparison.leaderboard import leaderboard
from fsgym.envs.ids import VARIANTS

DOCS = Path(fsgym.__file__).parent.parent / "docs"
CSV, PICTURES = DOCS / "results" / "learning_curves.csv", DOCS / "envs" / "curves"
SECONDS_CSV, SHARES_CSV = CSV.with_name("learning_seconds.csv"), CSV.with_name("learning_shares.csv")
SEEDS, POINTS, DIGITS = (0, 1, 2), 30, 5
KEY = ["env_id", "algorithm", "seed"]
TARGET = 0.06  # mean test loss on DatumWise-v0
LENGTHS = tuple(range(50_000, 450_000, 50_000))  # training steps
# MaskablePPO until version 0.2.0, and today
FORMER_OPTIONS = {"n_steps": 32, "batch_size": 256, "n_epochs": 10, "ent_coef": 0.01}
ARMS: Mapping[str, Mapping[str, Any]] = {
    "0.2.0": {"num_envs": 64, "options": FORMER_OPTIONS | {"learning_rate": lambda left: 1e-3 * left}},
    "today": {},
}
# the parts of a training step (passes through the network, and others), and the calls in which they are
PARTS = {
    "passes in updates": [(MaskableActorCriticPolicy, "evaluate_actions"), (torch.Tensor, "backward")],
    "passes in episodes": [(MaskableActorCriticPolicy, "forward")],
    "optimiser": [(torch.optim.Adam, "step"), (torch.optim.Adam, "zero_grad"), (torch.nn.utils, "clip_grad_norm_")],
    "environment and masks": [(ScaledRewards, "step_wait"), (DatumWiseVecEnv, "env_method")],
}


def part(env_id: str, split: str) -> gym.Env:
    return gym.make(f"fsgym:{env_id}", split=split)


def curves(env_id: str, algorithm: str) -> pd.DataFrame:
    """The curves of all seeds, a row per evaluation."""
    found = []
    for seed in SEEDS:
        curve = learning_curve(algorithm, part(env_id, "train"), part(env_id, "test"), points=POINTS, seed=seed)
        curve.insert(0, "seed", seed)
        found.append(curve)
        last = curve.iloc[-1]
        print(
            f"{env_id:<24}{algorithm:<14}seed {seed}: {last['steps']:,.0f} steps, {last['cpu_seconds']:.0f} CPU s, "
            f"loss {last['train_loss']:.4g} on training rows, {last['test_loss']:.4g} on test rows",
            flush=True,
        )
    table = pd.concat(found, ignore_index=True).round(DIGITS)
    table.insert(0, "algorithm", algorithm)
    table.insert(0, "env_id", env_id)
    return table


def draw(curves: pd.DataFrame, env_id: str) -> None:
    """Means over the seeds on one environment, a colour for each algorithm."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for k, (name, curve) in enumerate(curves.groupby("algorithm", sort=False)):
        means = curve.groupby("steps")[["train_loss", "test_loss"]].mean()
        ax.plot(means.index, means["test_loss"], color=f"C{k}", label=name)
        ax.plot(means.index, means["train_loss"], color=f"C{k}", linestyle=":")
    rows = leaderboard(env_id)
    best, constant = rows.dropna(subset="rank").iloc[0], rows.set_index("name").loc["constant", "loss"]
    ax.axhline(best["loss"], color="grey", linewidth=1, label=f"best stored row ({best['name']})")
    ax.axhline(constant, color="grey", linewidth=1, linestyle="--", label="nothing acquired")
    ax.set(title=env_id, xlabel="training steps", ylabel="loss (dotted: training rows)", yscale="log")
    ax.legend(fontsize="small")
    figure.savefig(PICTURES / f"{env_id}.png", dpi=120)
    plt.close(figure)


def record(ids: list[str], names: list[str]) -> None:
    stored = pd.read_csv(CSV) if CSV.is_file() else pd.DataFrame(columns=KEY)
    for env_id in ids:
        for name in names:
            same = (stored["env_id"] == env_id) & (stored["algorithm"] == name)
            stored = pd.concat([table for table in (stored[~same], curves(env_id, name)) if len(table)])
            stored.to_csv(CSV, index=False)
    PICTURES.mkdir(exist_ok=True)
    for env_id, table in stored.groupby("env_id"):
        draw(table, str(env_id))
    print(f"wrote {CSV} and the pictures in {PICTURES}")


def seconds() -> None:
    env, unseen = part("DatumWise-v0", "train"), part("DatumWise-v0", "test")
    make_model("maskable_ppo", env, seed=0).learn(1)  # what is compiled and loaded only once
    rows, reached = [], set()
    for steps in LENGTHS:
        for name in (name for name in ARMS if name not in reached):
            for seed in SEEDS:
                model = make_model("maskable_ppo", env, seed=seed, **ARMS[name])
                began = time.process_time()
                model.learn(steps)
                spent, loss = time.process_time() - began, fsgym.evaluate(model, unseen).loss
                rows.append({"settings": name, "steps": steps, "seed": seed, "cpu_seconds": spent, "test_loss": loss})
            losses = [row["test_loss"] for row in rows[-len(SEEDS) :]]
            each = ", ".join(f"{loss:.4f}" for loss in losses)
            print(f"{name:<6}{steps:>9,} steps: test loss {np.mean(losses):.4f} ({each})", flush=True)
            reached |= {name} if np.mean(losses) <= TARGET else set()
    table = pd.DataFrame(rows).round(DIGITS)
    table.to_csv(SECONDS_CSV, index=False)
    print_ratios(table)
    shares = pd.DataFrame({name: shares_of_a_step(env, settings) for name, settings in ARMS.items()}).round(DIGITS)
    shares.to_csv(SHARES_CSV, index_label="part")
    print(f"parts of the CPU seconds of a step:\n{shares.round(2)}")


def print_ratios(runs: pd.DataFrame) -> None:
    """CPU seconds until the target and of a step, of each arm and as ratios; says who does not reach the target."""
    means = runs.groupby(["settings", "steps"])[["cpu_seconds", "test_loss"]].mean().reset_index("steps")
    last = means.groupby("settings").tail(1)
    sums = runs.groupby("settings")[["cpu_seconds", "steps"]].sum()
    a_million = 1e6 * sums["cpu_seconds"] / sums["steps"]
    for name, (steps, spent, loss) in last.iterrows():
        words = f"the mean test loss is {loss:.4f} after {spent:.1f} CPU s ({steps:,.0f} steps)"
        lacks = "" if loss <= TARGET else f", {TARGET} is not reached"
        print(f"settings of {name}: {words}{lacks}; {a_million[name]:.1f} CPU s for a million steps")
    ratio = last.loc["today", "cpu_seconds"] / last.loc["0.2.0", "cpu_seconds"]
    bound = {
        (True, True): "",
        (False, True): "less than ",
        (True, False): "more than ",
        (False, False): "unknown, as neither reaches it; until their last steps ",
    }[last.loc["0.2.0", "test_loss"] <= TARGET, last.loc["today", "test_loss"] <= TARGET]
    print(f"CPU seconds until {TARGET}, today / 0.2.0: {bound}{ratio:.2f}")
    print(f"CPU seconds of a step, today / 0.2.0: {a_million['today'] / a_million['0.2.0']:.2f}")


def shares_of_a_step(env: gym.Env, settings: Mapping[str, Any], steps: int = 100_000) -> dict[str, float]:
    """The parts of the CPU seconds of a short training."""
    spent = dict.fromkeys(PARTS, 0.0)

    def timed(call: Callable[..., Any], what: str) -> Callable[..., Any]:
        def timed_call(*args: Any, **named: Any) -> Any:
            began = time.process_time()
            try:
                return call(*args, **named)
            finally:
                spent[what] += time.process_time() - began

        return timed_call

    model = make_model("maskable_ppo", env, seed=0, **settings)
    with ExitStack() as stack:
        for what, calls in PARTS.items():
            for owner, name in calls:
                stack.enter_context(patch.object(owner, name, timed(getattr(owner, name), what)))
        began = time.process_time()
        model.learn(steps)
        total = time.process_time() - began
    return {what: s / total for what, s in spent.items()} | {"the rest": 1 - sum(spent.values()) / total}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ids", default=",".join(VARIANTS), help="environments, separated by commas")
    parser.add_argument("--names", default=",".join(SETTINGS), help="algorithms, separated by commas")
    parser.add_argument("--seconds", action="store_true", help="CPU seconds of the former and of today's settings")
    given = parser.parse_args()
    seconds() if given.seconds else record(given.ids.split(","), given.names.split(","))
