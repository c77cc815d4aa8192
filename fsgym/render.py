"""Episodes as text and as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fsgym.episodes import EpisodeOutcomes, Episodes

UNKNOWN, GAP = (150, 150, 150), (255, 255, 255)
LOW, HIGH = np.array([33, 102, 172.0]), np.array([178, 24, 43.0])
RIGHT, WRONG, WAITING = (27, 120, 55), (178, 24, 43), (225, 225, 225)


def opening(episodes: Episodes) -> str:
    """The first line of an episode."""
    return f"datum {int(episodes.index[0])} of {episodes.dataset.name}: {_rest(episodes)}"


def line(episodes: Episodes, action: int, cost: float, outcomes: EpisodeOutcomes | None) -> str:
    """One step of a single episode: what was asked, its value, its price, what is left."""
    rules, data = episodes.rules, episodes.dataset
    if outcomes is None:
        values = ", ".join(_value(episodes, i) for i in rules.groups[action])
        return f"ask {rules.names[action]}: {values}, price {cost:g}; {_rest(episodes)}"
    answer, truth = int(outcomes.prediction[0]), int(outcomes.label[0])
    forfeited = "" if action >= rules.n_acquisitions else f"illegal action {action} ({rules.names[action]}); "
    verdict = "right" if answer == truth else f"wrong, it is {data.classes[truth]}"
    spent = episodes.state.spent[0]
    return f"{forfeited}answer {data.classes[answer]}: {verdict}, error cost {cost:g}; spent {spent:g}"


def _value(episodes: Episodes, i: int) -> str:
    n = episodes.dataset.n_features
    return f"{episodes.observation[0, n + i]:g}" if episodes.observation[0, i] else "missing"


def _rest(episodes: Episodes, most: int = 6) -> str:
    left = np.flatnonzero(episodes.state.legal[0, : episodes.rules.n_acquisitions])
    names = [episodes.rules.names[j] for j in left[:most]]
    return (
        f"may ask {', '.join(names)}" + (f" and {len(left) - most} more" if len(left) > most else "")
        if names
        else ("nothing left to ask")
    )


def picture(episodes: Episodes, e: int, outcomes: EpisodeOutcomes | None) -> NDArray[np.uint8]:
    """Episode e as uint8 (height, width, 3).

    Features in a grid (blue low, white middle, red high) or the pixels of an image (black to white); what is
    unknown is grey. Under it a row of cells, one a class; the answer turns green when right, red when wrong.
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
    answers = np.full((data.n_classes, 3), WAITING, np.uint8)
    if outcomes is not None:
        answers[int(outcomes.prediction[e])] = RIGHT if outcomes.correct[e] else WRONG
    width = grid.shape[1]
    strip = answers[np.arange(width) * data.n_classes // width]
    edge = np.full((4, width, 3), GAP[0], np.uint8)
    return np.concatenate([grid, edge, np.broadcast_to(strip, (16, width, 3))])
