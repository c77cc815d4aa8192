"""Episodes as text and as images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsgym.sentences import price_text, values_text
from fsgym.trajectories import revealed_values

if TYPE_CHECKING:
    from fsgym.episodes import EpisodeOutcomes, Episodes

# Colours are RGB, 0 to 255.
UNKNOWN, GAP = (150, 150, 150), (255, 255, 255)
LOW, HIGH = np.array([33, 102, 172.0]), np.array([178, 24, 43.0])
CORRECT, WRONG, UNANSWERED = (27, 120, 55), (178, 24, 43), (225, 225, 225)


def describe_start(episodes: Episodes) -> str:
    """The first line of an episode: its row, and what may be acquired."""
    return f"row {int(episodes.index[0])} of {episodes.dataset.name}: {_describe_legal(episodes)}"


def describe_step(episodes: Episodes, action: int, price: float, outcomes: EpisodeOutcomes | None) -> str:
    """One step of a single episode: the acquisition, its value and price, and what is still legal; or the answer.

    ``price`` is that of the acquisition, in the unit of ``costs``.
    """
    rules, data = episodes.rules, episodes.dataset
    if outcomes is None:
        z, values = np.split(episodes.observation[0], 2)
        revealed = revealed_values(np.where(z > 0.5, values, np.nan), rules.groups[action], data.columns)
        return f"{values_text(rules.names[action], revealed)}, {price_text(price)}; {_describe_legal(episodes)}"
    answer, true_class = int(outcomes.prediction[0]), int(outcomes.label[0])
    forfeited = "" if action >= rules.n_acquisitions else f"illegal action {action} ({rules.names[action]}); "
    verdict = "correct" if answer == true_class else f"wrong, it is {data.classes[true_class]}"
    cost, spent = outcomes.error_cost[0], episodes.state.spent[0]
    return f"{forfeited}answer {data.classes[answer]}: {verdict}, error cost {cost:g}; spent {spent:g}"


def _describe_legal(episodes: Episodes, most: int = 6) -> str:
    legal = np.flatnonzero(episodes.state.legal[0, : episodes.rules.n_acquisitions])
    names = [episodes.rules.names[j] for j in legal[:most]]
    if not names:
        return "no acquisition left"
    return f"may acquire {', '.join(names)}" + (f" and {len(legal) - most} more" if len(legal) > most else "")


def draw_episode(episodes: Episodes, e: int, outcomes: EpisodeOutcomes | None) -> NDArray[np.uint8]:
    """Episode e as an image, uint8 (height, width, 3).

    Features are cells of a grid (blue low, white middle, red high) or the pixels of an image (black to white); unknown
    values are grey. Below is a row of cells, one per class; the answer's cell is green if correct, red if wrong.
    """
    data = episodes.dataset
    n = data.n_features
    known, values = episodes.observation[e, :n] > 0.5, episodes.observation[e, n:]
    low, high = data.bounds
    share = np.divide(values - low, high - low, out=np.full(n, 0.5, np.float32), where=high > low).clip(0, 1)
    if data.image_shape is not None:
        rows, columns = data.image_shape
        colours = np.repeat(255 * share[:, None], 3, axis=1)
    else:
        columns = int(np.ceil(np.sqrt(n)))
        rows = -(-n // columns)
        towards = np.where(share[:, None] < 0.5, LOW, HIGH)
        colours = 255 + (towards - 255) * np.abs(2 * share[:, None] - 1)
    colours[~known] = UNKNOWN
    cells = np.full((rows * columns, 3), GAP[0], np.uint8)
    cells[:n] = colours
    size = max(1, 256 // max(rows, columns))
    grid = cells.reshape(rows, columns, 3).repeat(size, axis=0).repeat(size, axis=1)
    if data.image_shape is None and size > 4:
        grid[::size], grid[:, ::size] = GAP, GAP
    answers = np.full((data.n_classes, 3), UNANSWERED, np.uint8)
    if outcomes is not None:
        answers[int(outcomes.prediction[e])] = CORRECT if outcomes.correct[e] else WRONG
    width = grid.shape[1]
    strip = answers[np.arange(width) * data.n_classes // width]
    edge = np.full((4, width, 3), GAP[0], np.uint8)
    return np.concatenate([grid, edge, np.broadcast_to(strip, (16, width, 3))])
