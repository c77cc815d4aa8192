"""Train MaskablePPO or masked deep Q-learning on all environments, with a progress bar and TensorBoard.

pip install -e ".[rl]"
python examples/train_deep.py maskable_ppo DatumWise-v0   (all without a name; the other is dqn)
tensorboard --logdir runs
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym

import fsgym
from agents.deep.sb3 import SETTINGS, EvaluationCallback, make_model, training_context
from fsgym.registration import VARIANTS


def train(algorithm: str, name: str, log: Path, steps: int, progress_bar: bool) -> fsgym.Evaluation:
    """Train on one task, log, save the weights, evaluate."""
    unseen = gym.make(f"fsgym:{name}", split="test")
    with training_context():  # in one thread: more do not help networks as small as these
        model = make_model(algorithm, gym.make(f"fsgym:{name}"), options={"tensorboard_log": str(log)}, seed=0)
        callback = EvaluationCallback(unseen, every=max(steps // 20, 1))
        model.learn(steps, callback=callback, tb_log_name=f"{algorithm}_{name}", progress_bar=progress_bar)
    # Stable-Baselines3's own zip: its `load` unpickles, so open only files that you wrote yourself.
    # `agents.SB3Classifier` and `fsgym train` write model files that are safe to pass on.
    model.save(log / f"{algorithm}_{name}.zip")
    return fsgym.evaluate(model, unseen)


def main(
    algorithm: str = "maskable_ppo",
    names: Sequence[str] = (),
    log: str = "runs",
    steps: int | None = None,
    progress_bar: bool = True,
) -> dict[str, fsgym.Evaluation]:
    results = {}
    for name in names or VARIANTS:
        steps = steps or SETTINGS[algorithm].total_timesteps
        results[name] = train(algorithm, name, Path(log), steps, progress_bar)
        print(f"{name:<24}{results[name]}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("algorithm", nargs="?", default="maskable_ppo", choices=["maskable_ppo", "dqn"])
    parser.add_argument("names", nargs="*", metavar="ID")
    main(**vars(parser.parse_args()))
