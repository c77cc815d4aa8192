"""What the training scripts share: the last checkpoint, the comparison with baselines, and a picture of an episode.

pip install -c constraints.txt -e ".[cegb]"   (without it CEGB is left out)
"""

import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
from PIL import Image

import fsgym

BASELINES = ("lufe", "gbfs", "hkl", "cegb")


def last_checkpoint(folder: str | Path) -> tuple[Path, int] | None:
    """The checkpoint with most steps, ``checkpoint_STEPS_steps`` with any ending, and its steps."""
    named = [(path, re.match(r"checkpoint_(\d+)_steps", path.name)) for path in Path(folder).glob("checkpoint_*")]
    found = [(path, int(match[1])) for path, match in named if match]
    return max(found, key=lambda one: one[1], default=None)


def compare_with_baselines(
    policy: Any, name: str, env_id: str = "fsgym:DatumWise-v0", methods: Sequence[str] = BASELINES
) -> pd.DataFrame:
    """Print the losses of a policy and of baselines on the test rows, and return them.

    ``policy`` is trained on ``gymnasium.make(env_id)``. It is a model with ``predict`` that knows its environment, as
    those of Stable-Baselines3 and RCPI, or a function ``(observations, masks) -> actions``, which is told.
    """
    env: Any = gym.make(env_id).unwrapped
    if callable(policy):
        policy.env = env  # whose scales its observations have, and whose rows it has seen
    options = env.rules.options()
    methods = [method for method in methods if method != "cegb" or find_spec("lightgbm") is not None]
    # The split that the environments have, so the policy has seen no test row. The baselines choose their settings on
    # a quarter of the training rows.
    results = fsgym.compare(
        env.dataset.name,
        {name: policy, **{method: method for method in methods}},
        lam=options.pop("lam"),
        splits=1,
        train_share=0.7,
        seed=0,
        **options,
    )
    losses = fsgym.summarise(results).losses.sort_values("loss", ignore_index=True)
    print(losses[["method", "loss", "accuracy", "n_features"]].round(4).to_string(index=False))
    return losses


def film(policy: Any, name: str, env_id: str = "fsgym:DatumWise-v0", folder: str | Path = "runs", row: int = 0) -> Path:
    """Write an animated picture of a policy on one test row, and return its path."""
    env = gym.make(env_id, split="test", render_mode="rgb_array")
    observation, info = env.reset(options={"index": row})
    cards, ended = [Image.fromarray(env.render())], False
    while not ended:
        observations, masks = observation[None], info["action_mask"][None].astype(bool)
        if callable(policy):
            action = policy(observations, masks)[0]
        else:
            action = policy.predict(observations, action_masks=masks, deterministic=True)[0][0]
        observation, _, ended, _, info = env.step(int(action))
        cards.append(Image.fromarray(env.render()))
    path = Path(folder) / f"{name}.gif"
    times = [1500] * (len(cards) - 1) + [4000]  # milliseconds
    cards[0].save(path, save_all=True, append_images=cards[1:], duration=times, loop=0)
    print(f"test row {row} as an animated picture: {path}")
    return path
