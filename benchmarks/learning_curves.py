"""Learning curves of deep agents: mean loss on training and test rows by training steps, over three seeds.

Writes ``docs/results/learning_curves.csv``, of which a run replaces the curves that it computes, and a picture of each
id that has them, ``docs/envs/curves/ID.png``. With ``--seconds``, no curves: trains MaskablePPO on DatumWise-v0 for
several lengths with the settings of version 0.2.0 and with those of today, alternating, and prints the CPU seconds of
the shortest training with a mean test loss of at most 0.06, those of a step, and their ratios. Needs the extra rl.

python benchmarks/learning_curves.py                                        # all ids and algorithms: an hour
python benchmarks/learning_curves.py --ids DatumWise-v0 --names maskable_ppo
python benchmarks/learning_curves.py --seconds
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import fsgym
from agents.deep.sb3 import SETTINGS, learning_curve, make_model
from fsgym.comparison.leaderboard import leaderboard
from fsgym.envs.ids import VARIANTS

DOCS = Path(fsgym.__file__).parent.parent / "docs"
CSV, PICTURES = DOCS / "results" / "learning_curves.csv", DOCS / "envs" / "curves"
SEEDS, POINTS, DIGITS = (0, 1, 2), 30, 5
KEY = ["env_id", "algorithm", "seed"]
TARGET = 0.06  # mean test loss on DatumWise-v0
LENGTHS = (50_000, 100_000, 150_000, 200_000, 300_000, 400_000)  # training steps
# MaskablePPO until version 0.2.0
FORMER_OPTIONS = {"n_steps": 32, "batch_size": 256, "n_epochs": 10, "ent_coef": 0.01}
FORMER: Mapping[str, Any] = {"num_envs": 64, "options": FORMER_OPTIONS | {"learning_rate": lambda left: 1e-3 * left}}


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
    arms: Mapping[str, Mapping[str, Any]] = {"0.2.0": FORMER, "today": {}}
    runs: dict[str, list[tuple[int, float, float]]] = {name: [] for name in arms}  # steps, CPU seconds, test loss
    make_model("maskable_ppo", env, seed=0).learn(1)  # what is compiled and loaded only once
    for steps in LENGTHS:
        for name, settings in arms.items():
            if runs[name] and runs[name][-1][2] <= TARGET:
                continue
            spent, losses = [], []
            for seed in SEEDS:
                model = make_model("maskable_ppo", env, seed=seed, **settings)
                began = time.process_time()
                model.learn(steps)
                spent.append(time.process_time() - began)
                losses.append(fsgym.evaluate(model, unseen).loss)
            runs[name].append((steps, float(np.mean(spent)), float(np.mean(losses))))
            each = ", ".join(f"{loss:.4f}" for loss in losses)
            print(
                f"{name:<6}{steps:>9,} steps: {np.mean(spent):5.1f} CPU s, test loss {np.mean(losses):.4f} ({each})",
                flush=True,
            )
    print_ratios(runs)


def print_ratios(runs: Mapping[str, list[tuple[int, float, float]]]) -> None:
    """CPU seconds a step, and until the target, of each arm and as ratios; says who does not reach the target."""
    a_step = {name: sum(s for _, s, _ in found) / sum(n for n, _, _ in found) for name, found in runs.items()}
    for name, found in runs.items():
        steps, spent, loss = found[-1]
        lowest = min(loss for _, _, loss in found)
        until = (
            f"{spent:.1f} CPU s until {TARGET} ({steps:,} steps)"
            if loss <= TARGET
            else f"{TARGET} is not reached in {steps:,} steps, {spent:.1f} CPU s; the lowest mean loss is {lowest:.4f}"
        )
        print(f"{name}: {until}; {1e6 * a_step[name]:.1f} CPU s for a million steps")
    former, today = (runs[name][-1] for name in ("0.2.0", "today"))
    ratio = today[1] / former[1]
    words = {
        (True, True): f"{ratio:.2f}",
        (False, True): f"below {ratio:.2f}, as 0.2.0 does not reach it",
        (True, False): f"above {ratio:.2f}, as today's settings do not reach it",
        (False, False): "unknown, as neither reaches it",
    }[former[2] <= TARGET, today[2] <= TARGET]
    print(f"CPU seconds until {TARGET}, today / 0.2.0: {words}")
    print(f"CPU seconds a step, today / 0.2.0: {a_step['today'] / a_step['0.2.0']:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ids", default=",".join(VARIANTS), help="environments, separated by commas")
    parser.add_argument("--names", default=",".join(SETTINGS), help="algorithms, separated by commas")
    parser.add_argument("--seconds", action="store_true", help="CPU seconds of the former and of today's settings")
    given = parser.parse_args()
    seconds() if given.seconds else record(given.ids.split(","), given.names.split(","))
