"""Train MaskablePPO or masked deep Q-learning on the five tasks, with a progress bar and TensorBoard.

pip install -e ".[rl]"
python examples/train_deep.py maskable_ppo DatumWise-v0   (all five without a name; the other is dqn)
tensorboard --logdir runs
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
import torch
from stable_baselines3.common.callbacks import BaseCallback, EveryNTimesteps

import fsgym
from agents.sb3 import SETTINGS, make_model
from fsgym.registration import VARIANTS


class Judge(BaseCallback):
    """Logs how the agent does on a task with other rows."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__()
        self.env = env

    def _on_step(self) -> bool:
        result = fsgym.evaluate(self.model, self.env)
        for key in ("loss", "accuracy", "n_features", "n_acquisitions", "spent"):
            self.logger.record(f"test/{key}", getattr(result, key))
        return True


def train(algorithm: str, name: str, log: Path, steps: int, progress_bar: bool) -> fsgym.Evaluation:
    """One task: learn, log, keep the weights, evaluate."""
    unseen = gym.make(f"fsgym:{name}", split="test")
    model = make_model(algorithm, gym.make(f"fsgym:{name}"), options={"tensorboard_log": str(log)}, seed=0)
    judge = EveryNTimesteps(max(steps // 20, 1), Judge(unseen))
    model.learn(steps, callback=judge, tb_log_name=f"{algorithm}_{name}", progress_bar=progress_bar)
    # Stable-Baselines3's own zip: its `load` unpickles, so open only files that you made yourself.
    # `agents.SB3Classifier` and `fsgym train` write model files that are safe to pass on.
    model.save(log / f"{algorithm}_{name}.zip")
    return fsgym.evaluate(model, unseen)


def main(
    algorithm: str = "maskable_ppo",
    names: Sequence[str] = tuple(VARIANTS),
    log: str = "runs",
    steps: int | None = None,
    progress_bar: bool = True,
) -> dict[str, fsgym.Evaluation]:
    torch.set_num_threads(1)  # networks as small as these gain nothing by more
    results = {}
    for name in names:
        steps = steps or SETTINGS[algorithm].total_timesteps
        results[name] = train(algorithm, name, Path(log), steps, progress_bar)
        print(f"{name:<24}{results[name]}")
    return results


if __name__ == "__main__":
    main(*sys.argv[1:2], *([sys.argv[2:]] if sys.argv[2:] else []))
