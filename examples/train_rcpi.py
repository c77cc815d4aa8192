"""Train RCPI, the agent of Dulac-Arnold et al. (2012), evaluate it, save it and compare it with baselines.

python examples/train_rcpi.py   (DatumWise-v0, some seconds, and a minute for the comparison; or name others)
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
from around_training import BASELINES, compare_with_baselines, film

import fsgym
from agents import RCPI


def show(figures: dict[str, float]) -> None:
    """Print what one iteration reached on the training rows."""
    print(
        f"iteration {figures['iteration']:>2}: training loss {figures['loss']:.4f}, "
        f"accuracy {figures['accuracy']:.3f}, {figures['n_acquisitions']:.2f} acquisitions a case"
    )


def main(
    name: str = "DatumWise-v0", n_iterations: int = 10, folder: str = "runs", baselines: Sequence[str] = ()
) -> fsgym.Evaluation:
    agent = RCPI(gym.make(f"fsgym:{name}"), n_iterations=n_iterations, random_state=0)
    agent.learn(callback=show)  # it keeps the policy with the lowest training loss

    result = fsgym.evaluate(agent, gym.make(f"fsgym:{name}", split="test"))
    print(f"{name}, test rows: {result}")
    path = Path(folder) / f"rcpi_{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    agent.save(path)
    print(f"saved: agents.RCPI.load({str(path)!r})")
    if baselines:
        film(agent, f"rcpi_{name}", f"fsgym:{name}", folder)
        compare_with_baselines(agent, "rcpi", f"fsgym:{name}", baselines)
    return result


if __name__ == "__main__":
    for given in sys.argv[1:] or ["DatumWise-v0"]:
        main(given, baselines=BASELINES)
