"""Train RCPI, the agent of Dulac-Arnold et al. (2012), on an environment, evaluate it on the test rows and save it.

python examples/train_rcpi.py   (DatumWise-v0, some seconds; or name others, such as DatumWiseBudget-v0)
"""

import sys
from pathlib import Path

import gymnasium as gym

import fsgym
from agents import RCPI


def show(figures: dict[str, float]) -> None:
    """Print what one iteration reached on the training rows."""
    print(
        f"iteration {figures['iteration']:>2}: training loss {figures['loss']:.4f}, "
        f"accuracy {figures['accuracy']:.3f}, {figures['n_acquisitions']:.2f} acquisitions a case"
    )


def main(name: str = "DatumWise-v0", n_iterations: int = 10, folder: str = "runs") -> fsgym.Evaluation:
    agent = RCPI(gym.make(f"fsgym:{name}"), n_iterations=n_iterations, random_state=0)
    agent.learn(callback=show)  # it keeps the policy with the lowest training loss

    result = fsgym.evaluate(agent, gym.make(f"fsgym:{name}", split="test"))
    print(f"{name}, test rows: {result}")
    path = Path(folder) / f"rcpi_{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    agent.save(path)
    print(f"saved: agents.RCPI.load({str(path)!r})")
    return result


if __name__ == "__main__":
    for given in sys.argv[1:] or ["DatumWise-v0"]:
        main(given)
