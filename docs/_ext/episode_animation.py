"""An animated card for each environment: a test case, asked by a lattice policy of the training rows."""

from __future__ import annotations

from pathlib import Path

import gymnasium as gym
import numpy as np
from PIL import Image

from agents import LatticeClassifier
from fsgym.envs.ids import VARIANTS

SIZE = (640, 480)  # pixels, of 800 x 600
COLOURS = 128
STEP, END = 1600, 4000  # milliseconds


def draw_animations(folder: Path) -> None:
    """``ID.gif`` and its last picture, ``ID.png``, for each id; a file that is there stays."""
    folder.mkdir(exist_ok=True)
    for name in VARIANTS:
        moving, still = folder / f"{name}.gif", folder / f"{name}.png"
        if moving.is_file() and still.is_file():
            continue
        cards = [Image.fromarray(card).resize(SIZE, Image.Resampling.LANCZOS) for card in longest_episode(name)]
        palette = cards[-1].quantize(COLOURS)
        frames = [card.quantize(palette=palette, dither=Image.Dither.NONE) for card in cards]
        times = [STEP] * (len(frames) - 1) + [END]
        frames[0].save(moving, save_all=True, append_images=frames[1:], duration=times, loop=0, optimize=True)
        frames[-1].save(still, optimize=True)


def longest_episode(name: str) -> list[np.ndarray]:
    """The cards of the steps of a test case: the first with most acquisitions, of those that are answered correctly."""
    train = gym.make(name).unwrapped
    options = {key: value for key, value in train.rules.options().items() if key in LatticeClassifier().get_params()}
    model = LatticeClassifier(random_state=0, **options).fit(train.dataset)
    env = gym.make(name, split="test", render_mode="rgb_array", belief=model)
    data = env.unwrapped.dataset
    paths = model.trajectories(data)
    index = int(np.argmax(np.where(paths.answers == data.y, paths.lengths, -1)))
    env.reset(options={"index": index})
    cards = [env.render()]
    for action in [*paths.order[index, : paths.lengths[index]], model.rules_.n_acquisitions + paths.answers[index]]:
        env.step(action)
        cards.append(env.render())
    return cards
