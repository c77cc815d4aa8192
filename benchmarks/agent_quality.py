"""How well the agents learn: accuracy against features on breast cancer.

Protocol: scikit-learn's breast cancer, 70 % of the rows for training, stratified, seeds 0 to 2 for the splits and the
agents, z-scores computed on the training part, a price of 1 for each feature. Exits with status 1 unless MaskablePPO
reaches 0.94 with at most 2 features at lam 0.01, and masked deep Q-learning 0.93 with at most 4 at lam 0.03. Writes its
section of docs/agent_measurements.md; needs the extra rl.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from stable_baselines3 import DQN

import fsgym
from agents import DatumWiseClassifier, SB3Classifier
from agents.deep.sb3 import SETTINGS, make_model, training, training_context
from fsgym import Dataset, Rules
from fsgym.methods import METHODS
from fsgym_studies.common.render import replace_section

SEEDS, PRICES = (0, 1, 2), (0.01, 0.03, 0.1)
NAMES = {
    "rcpi": "RCPI",
    "rcpi_printed": "RCPI as printed",
    "maskable_ppo": "MaskablePPO",
    "dqn": "masked DQN",
    "plain": "DQN without masks",
}
LIMITS = {"maskable_ppo": (0.01, 0.94, 2.0), "dqn": (0.03, 0.93, 4.0)}  # lam, least accuracy, most features
PLACE = Path(__file__).resolve().parent.parent / "docs" / "agent_measurements.md"


def parts(seed: int) -> tuple[Dataset, Dataset]:
    """Training and test part, standardised by the training part."""
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.7, stratify=y, random_state=seed)
    mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
    return Dataset((X_train - mean) / deviation, y_train), Dataset((X_test - mean) / deviation, y_test)


def plain(env: gym.Env, seed: int):
    """Stable-Baselines3's own DQN with our settings, without masks: an illegal action ends the episode."""
    ours = training.SETTINGS
    try:
        training.SETTINGS = {**ours, "dqn": SETTINGS["dqn"]._replace(algorithm=DQN)}
        with training_context():
            return make_model("dqn", env, seed=seed).learn(SETTINGS["dqn"].total_timesteps)
    finally:
        training.SETTINGS = ours


def fitted(agent: str, data: Dataset, lam: float, seed: int):
    """A trained model that ``fsgym.evaluate`` takes."""
    if agent == "plain":
        return plain(fsgym.DatumWiseEnv(data, Rules.for_dataset(data, lam=lam)), seed)
    if agent.startswith("rcpi"):
        model = DatumWiseClassifier(lam, random_state=seed, **METHODS[agent].preset)
    else:
        model = SB3Classifier(lam, random_state=seed, algorithm=agent)
    return model.fit(data.X, data.classes[data.y])


def measured(agent: str, lam: float) -> dict[str, tuple[float, float]]:
    """Mean and standard error over the seeds."""
    runs = []
    for seed in SEEDS:
        train, test = parts(seed)
        began = time.process_time()
        model = fitted(agent, train, lam, seed)
        seconds = time.process_time() - began
        result = fsgym.evaluate(model, test, Rules.for_dataset(test, lam=lam))
        runs.append({**result.figures(), "seconds": seconds})
    figures = {}
    for name in ("accuracy", "n_features", "loss", "illegal", "seconds"):
        values = [run[name] for run in runs]
        figures[name] = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
    return figures


def training_of(agent: str) -> str:
    """How long an agent trains, in words."""
    if agent.startswith("rcpi"):
        return f"{DatumWiseClassifier(**METHODS[agent].preset).n_iterations} iterations"
    return f"{SETTINGS['dqn' if agent == 'plain' else agent].total_timesteps:,} steps"


def page(rows: list[str]) -> str:
    return f"""## Breast cancer

This section is written by `python benchmarks/agent_quality.py`.
RCPI as printed is {METHODS["rcpi_printed"].reading}.

scikit-learn's breast cancer (569 rows, 30 features), 70 % of the rows for training, stratified, standardised by the
training part. A feature costs `lam`, an error 1. The table has means and standard errors on the test rows over three
runs, each with its own split and seed (0, 1, 2). Seconds are CPU seconds of one training in one thread.

| agent | training | lam | accuracy | features | loss | seconds |
| --- | --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}

DQN without masks is Stable-Baselines3's own DQN with the same settings. An illegal action ends the episode, in training
and in evaluation.
"""


def main() -> int:
    torch.set_num_threads(1)
    for agent in ("rcpi", "rcpi_printed"):
        fitted(agent, parts(SEEDS[0])[0], PRICES[0], SEEDS[0])  # compiles, which is no time of a training
    rows, reached = [], {}
    for agent, prices in (
        ("rcpi", PRICES),
        ("rcpi_printed", PRICES),
        ("maskable_ppo", PRICES),
        ("dqn", PRICES),
        ("plain", PRICES[:1]),
    ):
        for lam in prices:
            figures = measured(agent, lam)
            accuracy, features = figures["accuracy"], figures["n_features"]
            digits = {"accuracy": 3, "n_features": 2, "loss": 4, "seconds": 1}
            cells = [f"{figures[k][0]:.{d}f} ± {figures[k][1]:.{d}f}" for k, d in digits.items()]
            rows.append(f"| {NAMES[agent]} | {training_of(agent)} | {lam:g} | {' | '.join(cells)} |")
            print(rows[-1], f"illegal {figures['illegal'][0]:.3f}", flush=True)
            if agent in LIMITS and lam == LIMITS[agent][0]:
                reached[agent] = accuracy[0] >= LIMITS[agent][1] and features[0] <= LIMITS[agent][2]
    replace_section(PLACE, "agent-quality", page(rows), "benchmarks/agent_quality.py")
    for agent, (lam, accuracy, features) in LIMITS.items():
        held = "reached" if reached[agent] else "MISSED"
        print(f"{NAMES[agent]}, accuracy {accuracy} with at most {features:g} features at lam {lam:g}: {held}")
    return 0 if all(reached.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
