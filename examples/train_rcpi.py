"""Train RCPI on all environments, with a progress bar and TensorBoard, and evaluate it on the test rows.

pip install -e ".[rl]"   (for TensorBoard only)
python examples/train_rcpi.py DatumWise-v0 DatumWiseCost-v0   (all without a name)
tensorboard --logdir runs
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym

import fsgym
from agents import RCPI
from fsgym.registration import VARIANTS

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    raise SystemExit("This example needs TensorBoard: pip install 'fsgym[rl]'") from None


def train(name: str, log: Path, n_iterations: int, progress_bar: bool) -> fsgym.Evaluation:
    """Train on one task, log each iteration, save the model, evaluate."""
    with SummaryWriter(str(log / f"rcpi_{name}")) as writer:

        def record(figures: dict[str, float]) -> None:
            for key in ("loss", "accuracy", "n_acquisitions", "best_loss"):
                writer.add_scalar(f"train/{key}", figures[key], int(figures["iteration"]))

        agent = RCPI(gym.make(f"fsgym:{name}"), n_iterations=n_iterations, random_state=0)
        agent.learn(callback=record, progress_bar=progress_bar)
        result = fsgym.evaluate(agent, gym.make(f"fsgym:{name}", split="test"))
        for key, value in result.figures().items():
            writer.add_scalar(f"test/{key}", value, n_iterations)
    agent.save(log / f"rcpi_{name}.safetensors")
    return result


def main(
    names: Sequence[str] = (), log: str = "runs", n_iterations: int = 10, progress_bar: bool = True
) -> dict[str, fsgym.Evaluation]:
    results = {}
    for name in names or VARIANTS:
        results[name] = train(name, Path(log), n_iterations, progress_bar)
        print(f"{name:<24}{results[name]}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="ID")
    main(parser.parse_args().names)
