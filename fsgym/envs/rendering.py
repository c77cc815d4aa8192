"""Episodes as text and as pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import row_before_scaling
from fsgym.envs.trajectories import revealed_values
from fsgym.rules import Rules
from fsgym.rules.checks import describe_error_costs
from fsgym.support.extras import require
from fsgym.text.messages import brief
from fsgym.text.sentences import price_text, values_text

if TYPE_CHECKING:
    from fsgym.envs.episodes import EpisodeOutcomes, Episodes


# A window on the screen, by pygame, which the extra ``render`` installs.


class Window:
    """A window that shows one picture after the other; it opens with the first one.

    Parameters
    ----------
    title : str
    fps : float
        Pictures per second at most: ``show`` waits until the last one was visible for 1 / fps seconds.

    Raises
    ------
    ImportError
        If pygame is not installed.
    """

    def __init__(self, title: str, fps: float) -> None:
        require("render", 'render_mode="human"')
        self.title, self.fps = title, fps
        self._screen: Any = None
        self._clock: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, (self.title, self.fps)  # a copy opens a window of its own

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture, uint8 (height, width, 3)."""
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would print a greeting
        import pygame

        height, width = picture.shape[:2]
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self.title)
            self._screen = pygame.display.set_mode((width, height))
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._screen is not None:
            import pygame

            pygame.display.quit()
            self._screen = self._clock = None


# Observations (n, length of one) -> class probabilities (n, n_classes), or None where there is no belief.
Belief = Callable[[NDArray[np.float32]], Any]

# Colours are RGB, 0 to 255.
UNKNOWN, GAP = (150, 150, 150), (255, 255, 255)
LOW, HIGH = np.array([33, 102, 172.0]), np.array([178, 24, 43.0])
MAX_CELLS_WITH_GAPS = 400
CELL = 12  # pixels of a cell with a gap around it, before it is enlarged


def describe_start(episodes: Episodes) -> str:
    """The first line of an episode: its row, and what may be acquired."""
    return f"{_row_text(episodes, 0)}: {_describe_legal(episodes)}"


def describe_step(episodes: Episodes, action: int, price: float, outcomes: EpisodeOutcomes | None) -> str:
    """One step of a single episode: the acquisition, its value and price, and what is still legal; or the answer.

    ``price`` is that of the acquisition, in the unit of ``costs``. Values are those before ``Dataset.scaled``.
    """
    if outcomes is None:
        acquired = _acquisition_text(episodes, 0, action)
        return f"{acquired}, {price_text(price)}; {_describe_legal(episodes)}"
    return f"{_end_text(episodes, 0, action, outcomes)}; spent {episodes.state.spent[0]:g}"


def _row_text(episodes: Episodes, e: int) -> str:
    return f"row {int(episodes.index[e])} of {episodes.dataset.name}"


def _acquisition_text(episodes: Episodes, e: int, action: int) -> str:
    """An acquisition with the values that it revealed, with their units."""
    return values_text(episodes.rules.names[action], _revealed(episodes, e, action))


def _entry_text(episodes: Episodes, e: int, action: int) -> str:
    """An acquisition in the list of a card: several values, which do not fit into a line, as their number."""
    values = _revealed(episodes, e, action)
    name = episodes.rules.names[action]
    return values_text(name, values) if len(values) == 1 else f"{name}: {len(values)} features"


def _revealed(episodes: Episodes, e: int, action: int) -> list[tuple[str, str]]:
    """The columns of an acquisition with their values."""
    row, columns = row_before_scaling(episodes.dataset, int(episodes.index[e]))
    known = np.where(episodes.acquired()[e], row, np.nan)
    return revealed_values(known, episodes.rules.groups[action], columns)


def _end_text(episodes: Episodes, e: int, action: int, outcomes: EpisodeOutcomes) -> str:
    """The end of an episode: the answer, whether it is correct, and its cost."""
    rules, classes = episodes.rules, episodes.dataset.class_labels
    answer, true_class = int(outcomes.prediction[e]), int(outcomes.label[e])
    forfeited = "" if action >= rules.n_acquisitions else f"illegal action {action} ({rules.names[action]}); "
    if answer == rules.n_classes:
        return f"referred to {rules.refer_label}: it is {classes[true_class]}, cost {outcomes.error_cost[e]:g}"
    verdict = "correct" if answer == true_class else f"wrong, it is {classes[true_class]}"
    return f"{forfeited}answer {classes[answer]}: {verdict}, error cost {outcomes.error_cost[e]:g}"


def _describe_legal(episodes: Episodes, most: int = 6) -> str:
    legal = np.flatnonzero(episodes.state.legal[0, : episodes.rules.n_acquisitions])
    names = [episodes.rules.names[j] for j in legal[:most]]
    if not names:
        return "no acquisition left"
    return f"may acquire {', '.join(names)}" + (f" and {len(legal) - most} more" if len(legal) > most else "")


class EpisodeLog:
    """The actions of each of ``size`` episodes in their order, with the prices of the acquisitions.

    Environments write it only if they are to draw it.
    """

    def __init__(self, size: int) -> None:
        self._steps: list[list[tuple[int, float]]] = [[] for _ in range(size)]

    def begin(self, which: Iterable[int]) -> None:
        """Forget the actions of these episodes, which start again."""
        for e in which:
            self._steps[e] = []

    def add(self, e: int, action: int, price: float) -> None:
        """An action of episode e, and its price in the unit of ``costs``."""
        self._steps[e].append((action, price))

    def __getitem__(self, e: int) -> Sequence[tuple[int, float]]:
        return self._steps[e]


def check_belief(belief: Any, rules: Rules) -> Belief | None:
    """A function observations -> class probabilities, from such a function, a fitted classifier, a policy or None.

    TypeError for anything else; ValueError for one that knows the acquisitions of ``rules`` in another order.
    """
    if belief is None:
        return None

    def parts_of(observations: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        n = rules.n_features  # behind both may be the prices of the case
        return observations[:, :n], observations[:, n : 2 * n]

    of_states = getattr(belief, "state_probabilities", None)
    acquisitions = getattr(belief, "acquisitions_", None)  # only of a classifier, which orders the columns by itself
    if acquisitions is not None and hasattr(belief, "advise"):
        rules.check_order_of(acquisitions.rules)

        def of_answers(observations: NDArray[np.float32]) -> Any:
            z, values = parts_of(observations)
            legal = np.arange(rules.n_actions) >= rules.n_acquisitions  # answers alone
            known = np.where(z > 0.5, values.astype(np.float64), np.nan)
            return belief.advise(z > 0.5, known, np.tile(legal, (len(z), 1))).probabilities

        return of_answers
    if callable(of_states):
        rules.check_order_of(getattr(belief, "rules", None))

        def of_observations(observations: NDArray[np.float32]) -> Any:
            z, values = parts_of(observations)
            return of_states(z > 0.5, values)

        return of_observations
    if not callable(belief):
        raise TypeError(
            "belief must be a function (observations) -> class probabilities, a fitted classifier, or a policy with "
            f"state_probabilities, got {brief(belief)}"
        )
    return belief


def draw_episode(
    episodes: Episodes,
    e: int,
    steps: Sequence[tuple[int, float]],
    outcomes: EpisodeOutcomes | None,
    belief: Belief | None = None,
) -> NDArray[np.uint8]:
    """Episode e as a card, uint8 (600, 800, 3): see ``fsgym.envs.card.Card``.

    ``steps`` are its actions with their prices, ``outcomes`` are None before its end. Values are those before
    ``Dataset.scaled``, with units.
    """
    from fsgym.envs.card import Card, draw_card

    rules, spent = episodes.rules, episodes.state.spent[e]
    errors = describe_error_costs(rules.error_costs, episodes.dataset.class_labels)
    acquisitions = [(j, price) for j, price in (steps if outcomes is None else steps[:-1])]
    known = [(_entry_text(episodes, e, j), f"{price:.4g}" if price else "free") for j, price in acquisitions]
    if outcomes is not None:
        last = _end_text(episodes, e, steps[-1][0], outcomes)
    elif known:
        action, price = acquisitions[-1]
        last = f"last question: {_acquisition_text(episodes, e, action)}, {price_text(price)}"
    else:
        last = "no question yet"
    n_legal = int(episodes.state.legal[e, : rules.n_acquisitions].sum())
    left = f", {n_legal} more possible" if outcomes is None else ""
    return draw_card(
        Card(
            title=_row_text(episodes, e),
            spent=f"spent {spent:.4g}",
            summary=f"{len(known)} of {rules.n_acquisitions} acquisitions{left}; lambda {rules.lam:g}",
            errors=f"{errors[0].upper()}{errors[1:]}" if errors else "",
            known=known,
            picture=draw_features(episodes, e),
            caption="pixels" if episodes.dataset.image_shape else "features in order: blue low, red high",
            belief=_believed(episodes, e, belief),
            last=last,
            correct=None
            if outcomes is None or outcomes.prediction[e] == rules.n_classes
            else bool(outcomes.correct[e]),
        )
    )


def _believed(episodes: Episodes, e: int, belief: Belief | None) -> list[tuple[str, float]]:
    """Each class with its probability; ValueError where ``belief`` returns something else."""
    shares = None if belief is None else belief(episodes.observation[e : e + 1].copy())
    if shares is None:
        return []
    table, classes = np.asarray(shares), episodes.dataset.class_labels
    if (
        table.shape != (1, len(classes))
        or table.dtype.kind not in "fiu"
        or not (table >= 0).all()
        or table.sum() > 1.01
    ):
        raise ValueError(f"belief must return probabilities of shape (n, {len(classes)}), got {brief(shares)}")
    return [(str(label), float(share)) for label, share in zip(classes, table[0])]


def draw_features(episodes: Episodes, e: int) -> NDArray[np.uint8]:
    """The features of episode e as cells (blue low, white middle, red high), or as the pixels of an image.

    Unknown values are grey. Returns uint8 (height, width, 3).
    """
    data = episodes.dataset
    n = data.n_features
    known, values = episodes.observation[e, :n] > 0.5, episodes.observation[e, n : 2 * n]
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
    grid = cells.reshape(rows, columns, 3)
    if data.image_shape is None and n <= MAX_CELLS_WITH_GAPS:
        grid = grid.repeat(CELL, axis=0).repeat(CELL, axis=1)
        grid[::CELL], grid[:, ::CELL] = GAP, GAP
    return grid
