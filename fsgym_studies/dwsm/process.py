"""Dulac-Arnold et al. (2012), Fig. 1: one episode of the sequential process, with the rewards of the environment."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from fsgym.comparison import figures
from fsgym.comparison.report import Picture
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym_studies.common.render import draw_picture

N_FEATURES, CLASSES = 4, ("y1", "y2", "y3")
EPISODE = (1, 3, 2, N_FEATURES + 1)  # features 2, 4 and 3 are acquired, then the second class is the answer
LAM = 0.1


def episode() -> list[tuple[str, float, np.ndarray]]:
    """The actions of the episode by name, their rewards, and which features are known afterwards, bool (4,)."""
    from fsgym.envs.env import DatumWiseEnv

    data = Dataset(np.eye(len(CLASSES), N_FEATURES), CLASSES, name="example")
    env = DatumWiseEnv(data, Rules(N_FEATURES, len(CLASSES), lam=LAM))
    env.reset(options={"index": 1})  # its class is y2
    known, steps = np.zeros(N_FEATURES, dtype=bool), []
    for action in EPISODE:
        _, reward, *_ = env.step(action)
        known |= np.arange(N_FEATURES) == action
        name = f"f{action + 1}" if action < N_FEATURES else CLASSES[action - N_FEATURES]
        steps.append((name, float(reward), known.copy()))
    return steps


def process_picture() -> Picture:
    """The states of the episode from left to right, the actions that were possible, and the rewards."""
    steps = episode()
    states = [np.zeros(N_FEATURES, dtype=bool), *(known for _, _, known in steps[:-1])]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        for x, known in enumerate(states):
            features, answers = [f"f{j + 1}" for j in np.flatnonzero(~known)], list(CLASSES)
            for side, names in ((-1, features), (1, answers)):
                others = [name for name in names if name != steps[x][0]]
                for k, name in enumerate(others):
                    end = (x + 0.62, side * (0.9 + 0.36 * k))
                    ax.annotate("", end, (x, 0), arrowprops={"arrowstyle": "->", "color": "#aaaaaa", "linewidth": 0.8})
                    ax.text(*end, name, fontsize=8, color="#777777", va="center")
            reward = steps[x][1]
            bold = {"arrowstyle": "->", "color": figures.COLOURS[1], "linewidth": 2.4}
            ax.annotate("", (x + 0.86, 0), (x + 0.1, 0), arrowprops=bold)
            ax.text(x + 0.48, 0.12, f"{steps[x][0]}: {reward:+.1f}", ha="center", fontsize=9)
            ax.text(x - 0.08, -0.34, f"z = ({', '.join('1' if v else '0' for v in known)})", ha="right", fontsize=8)
        ax.scatter(range(len(states)), [0] * len(states), s=220, color=figures.COLOURS[0], zorder=3)
        ax.scatter(len(states), 0, s=260, color=figures.COLOURS[2], marker="s", zorder=3)
        ax.text(len(states), 0, steps[-1][0], ha="center", va="center", fontsize=9, color="white", zorder=4)
        ax.set_xlim(-0.8, len(states) + 0.4)
        ax.set_ylim(-2.2, 2.2)
        ax.axis("off")

    total = sum(reward for _, reward, _ in steps)
    caption = (
        f"An input of class y2 with four features at lambda = {LAM:g}. Bold: the actions of the policy with their "
        f"rewards, {total:+.1f} in total; grey: the other legal actions. z says which features are known."
    )
    return draw_picture("process", "The sequential process (Fig. 1)", caption, draw, (9.0, 3.4))
