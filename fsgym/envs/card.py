"""The card of an episode as a picture: what is known, what it cost, what is believed, and the last step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from fsgym.text.messages import shortened, visible
from fsgym.text.sentences import probability_text

# Lengths in pixels, by hand. Encoders of video need an even width and height.
WIDTH, HEIGHT, EDGE = 800, 600, 24
LIST_TOP, LIST_BOTTOM, LIST_RIGHT, LIST_STEP = 124, 500, 490, 31
PANEL_LEFT, PANEL_RIGHT, PICTURE_TOP, PICTURE_SIZE = 524, WIDTH - EDGE, 124, 208
CLASS_TOP, CLASS_HEIGHT = 368, 22
FOOT_TOP, FOOT_BOTTOM = 512, HEIGHT - EDGE
PRICE_WIDTH = 110
MAX_ROWS = (LIST_BOTTOM - LIST_TOP) // LIST_STEP
MAX_CLASSES = (LIST_BOTTOM - CLASS_TOP) // CLASS_HEIGHT
MAX_MEASURED_LENGTH = 300  # characters that are measured

# Colours are RGB, 0 to 255.
PAPER, INK, SOFT, RULE = (255, 255, 255), (29, 39, 51), (85, 97, 110), (206, 213, 220)
TRACK, LATEST = (233, 237, 241), (226, 238, 252)  # behind a bar; behind the last acquisition
BELIEF, CORRECT, WRONG, UNANSWERED = (59, 111, 182), (27, 120, 55), (178, 24, 43), (233, 237, 241)


class Card(NamedTuple):
    """What a card shows."""

    # the first line, its right end, and the line below
    title: str
    spent: str
    summary: str
    errors: str  # the costs of errors in words; "" where each wrong answer costs 1
    # sequence of (str, str), each acquisition with its values, and its price, in their order
    known: Sequence[tuple[str, str]]
    picture: NDArray[np.uint8]  # (rows, columns, 3), the features as cells or pixels
    caption: str  # what the picture shows
    # sequence of (str, float), each class with its probability; empty where there is no belief
    belief: Sequence[tuple[str, float]]
    last: str  # the last step
    correct: bool | None  # whether the answer is correct; None before the answer


def draw_card(card: Card) -> NDArray[np.uint8]:
    """The card as a picture, uint8 (600, 800, 3)."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    draw = ImageDraw.Draw(image)
    spent_width = _font(20, bold=True).getlength(card.spent)
    _write_line(draw, (EDGE, 40), card.title, _font(20, bold=True), WIDTH - 3 * EDGE - spent_width)
    _write_line(draw, (WIDTH - EDGE, 40), card.spent, _font(20, bold=True), WIDTH / 2, anchor="rs")
    for text, y in [(card.summary, 60), (card.errors, 78)] if card.errors else [(card.summary, 68)]:
        _write_line(draw, (EDGE, y), text, _font(14), WIDTH - 2 * EDGE, SOFT)
    draw.line((EDGE, 84, WIDTH - EDGE, 84), RULE)
    _draw_known(draw, card)
    _write_line(draw, (PANEL_LEFT, 114), card.caption, _font(13), PANEL_RIGHT - PANEL_LEFT, SOFT)
    _draw_picture(image, card.picture)
    if card.belief:
        _draw_belief(draw, card.belief)
    colour = {None: UNANSWERED, True: CORRECT, False: WRONG}[card.correct]
    draw.rounded_rectangle((EDGE, FOOT_TOP, WIDTH - EDGE, FOOT_BOTTOM), 8, colour)
    ink = INK if card.correct is None else PAPER
    middle = (FOOT_TOP + FOOT_BOTTOM) / 2
    _write_line(draw, (EDGE + 16, middle), card.last, _font(16), WIDTH - 2 * EDGE - 32, ink, anchor="lm")
    return np.asarray(image)


def _draw_known(draw: ImageDraw.ImageDraw, card: Card) -> None:
    """The acquisitions in their order, the last one marked; the earliest are counted where there are too many."""
    _write_line(draw, (EDGE, 114), "known", _font(14), 200, SOFT)
    _write_line(draw, (LIST_RIGHT, 114), "price", _font(14), 200, SOFT, anchor="rs")
    if not card.known:
        _write_line(draw, (EDGE, LIST_TOP + 22), "nothing", _font(15), LIST_RIGHT - EDGE, SOFT)
        return
    rows = list(card.known)
    n_hidden = len(rows) - MAX_ROWS + 1 if len(rows) > MAX_ROWS else 0
    if n_hidden:
        rows = [(f"{n_hidden} earlier acquisitions", ""), *rows[n_hidden:]]
    for k, (text, price) in enumerate(rows):
        top = LIST_TOP + k * LIST_STEP
        if k == len(rows) - 1:
            draw.rounded_rectangle((EDGE - 8, top, LIST_RIGHT + 8, top + LIST_STEP - 2), 5, LATEST)
        ink = SOFT if n_hidden and k == 0 else INK
        middle = top + LIST_STEP / 2 - 1
        _write_line(draw, (EDGE, middle), text, _font(15), LIST_RIGHT - EDGE - PRICE_WIDTH, ink, anchor="lm")
        _write_line(draw, (LIST_RIGHT, middle), price, _font(15), PRICE_WIDTH - 10, ink, anchor="rm")


def _draw_picture(image: Image.Image, picture: NDArray[np.uint8]) -> None:
    """The cells as large as fit into the panel, without smoothing."""
    rows, columns = picture.shape[:2]
    scale = PICTURE_SIZE / max(rows, columns)
    size = max(1, round(columns * scale)), max(1, round(rows * scale))
    image.paste(Image.fromarray(picture).resize(size, Image.Resampling.NEAREST), (PANEL_LEFT, PICTURE_TOP))


def _draw_belief(draw: ImageDraw.ImageDraw, belief: Sequence[tuple[str, float]]) -> None:
    """A bar for each class; of many classes those that are likeliest, in the order of their probability."""
    _write_line(draw, (PANEL_LEFT, CLASS_TOP - 8), "belief", _font(14), PANEL_RIGHT - PANEL_LEFT, SOFT)
    shown = belief if len(belief) <= MAX_CLASSES else sorted(belief, key=lambda pair: -pair[1])[:MAX_CLASSES]
    bar_left, bar_right = PANEL_LEFT + 92, PANEL_RIGHT - 78
    for k, (label, share) in enumerate(shown):
        middle = CLASS_TOP + (k + 0.5) * CLASS_HEIGHT
        _write_line(draw, (PANEL_LEFT, middle), label, _font(13), 86, anchor="lm")
        draw.rectangle((bar_left, middle - 6, bar_right, middle + 6), TRACK)
        if share > 0:
            draw.rectangle((bar_left, middle - 6, bar_left + share * (bar_right - bar_left), middle + 6), BELIEF)
        _write_line(draw, (PANEL_RIGHT, middle), probability_text(share), _font(12), 76, anchor="rm")


def _write_line(
    draw: ImageDraw.ImageDraw,
    place: tuple[float, float],
    text: str,
    font: ImageFont.FreeTypeFont,
    width: float,
    ink: tuple[int, int, int] = INK,
    anchor: str = "ls",
) -> None:
    """Text on one line; its middle is left out where it is wider than ``width``."""
    line = " ".join(visible(text).split())
    lengths = range(4, min(len(line), MAX_MEASURED_LENGTH) + 1)
    longest = 3 + bisect_right(lengths, width, key=lambda length: font.getlength(shortened(line, length)))
    draw.text(place, shortened(line, longest), ink, font, anchor=anchor)


@cache
def _font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Matplotlib's font DejaVu Sans, which is the same everywhere; it lacks the letters of East Asia."""
    import matplotlib

    file = f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans{'-Bold' if bold else ''}.ttf"
    return ImageFont.truetype(file, size, layout_engine=ImageFont.Layout.BASIC)
