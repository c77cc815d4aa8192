"""What the command ``ask`` shows to a person: questions, beliefs, alternatives, the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from fsgym.cli.ask_values import allowed_at_prompt
from fsgym.cli.terminal import console, wrapped
from fsgym.data.columns import Column
from fsgym.session import LogEntry, Question, Step, words
from fsgym.text.messages import visible
from fsgym.text.sentences import price_text, probability_text, unused_text

LONGEST_BAR = 40  # characters, by hand
SHORTEST_BAR = 4  # characters: a shorter one is left out
PERCENT_WIDTH = len("above 99 %")
PLAIN_WIDTH = 100  # characters of a line where the output is no terminal

KEYS = {
    "?": "why",
    "u": "undo",
    "s": "unknown",
    "l": "later",
    "a": "alternatives",
    "x": "stop now",
    "q": "save and quit",
}
WORDS = {word: key for key, word in KEYS.items()} | {"stop": "x", "quit": "q"}  # typed instead of a key
NOT_AT_THE_ANSWER = ("s", "l", "x")


class Screen:
    """Prints to standard output: in colour on a terminal, unless NO_COLOR is set, and as plain text elsewhere."""

    def __init__(self) -> None:
        terminal = sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or not terminal
        self._console = console(
            emoji=False,
            color_system=None if plain else "auto",
            width=None if terminal else PLAIN_WIDTH,
        )

    def show(self, text: str, style: str = "", indent: int = 0) -> None:
        """Print a paragraph, wrapped between words."""
        from rich.text import Text

        for line in wrapped(printable(text), max(self._console.width - indent, 1)).splitlines():
            self._console.print(Text(" " * indent).append(line, style), soft_wrap=True)

    def prompt(self, text: str) -> str:
        """The prompt with this text, or a short one where it would fill the line."""
        text = printable(text)
        return f"{text}> " if len(text) < self._console.width // 2 else "> "

    def show_question(self, question: Question, step: Step, columns: Sequence[Column]) -> None:
        """Print what is asked, its price, the price paid so far and what the model believes."""
        self._console.print()
        self.show(f"{question.name} ({words.price_and_paid(question.price, step.spent)})", "bold")
        for column in columns:
            self.show_column(column, question.name)
        if step.should_stop:
            self.show(words.would_stop_text(step), "dim", 2)
        self.show_beliefs(step)
        self.show_keys(columns)

    def show_column(self, column: Column, acquisition: str) -> None:
        """Print what may be answered for a column."""
        name = "" if column.name == acquisition else f"{column.name}: "
        self.show(f"{name}{allowed_at_prompt(column)}", indent=2)

    def show_keys(self, columns: Sequence[Column] = ()) -> None:
        """Print the keys of the prompt; without columns, those where the model would stop."""
        shown = {key: word for key, word in KEYS.items() if columns or key not in NOT_AT_THE_ANSWER}
        listed = ", ".join(f"{key} {word}" for key, word in shown.items())
        levels = [level for column in columns for level in map(str.strip, column.levels) if level in KEYS]
        quotes = f"; the level {levels[0]} is written '{levels[0]}'" if levels else ""
        self.show(f"{listed}{quotes}", "dim")

    def show_beliefs(self, step: Step) -> None:
        """Print a bar for the probability of each class, the likeliest classes first if there are many."""
        if step.unused:
            self.show(unused_text(step.unused), "yellow", 2)
        if step.probabilities is None:
            self.show(f"The answer now would be {step.answer}.", indent=2)
            return
        solid = ("#", ".") if self._console.options.ascii_only else ("█", "░")
        lines = belief_lines(step.probabilities, self._console.width - 2, solid)
        for (label, line), _ in zip(lines, range(words.BELIEFS_SHOWN)):
            self.show(line, "green" if label == step.answer else "", 2)
        if len(lines) > words.BELIEFS_SHOWN:
            self.show(f"and {len(lines) - words.BELIEFS_SHOWN} more classes", "dim", 2)

    def show_log(self, entries: Sequence[LogEntry], columns: Mapping[str, Column]) -> None:
        """Print what happened so far."""
        for entry in entries:
            self.show(f"{words.entry_text(entry, columns)} ({price_text(entry.price)})", "dim")

    def show_alternatives(self, step: Step) -> None:
        """Print the acquisitions that can be made now, the best first."""
        if not step.alternatives:
            self.show("Nothing more can be acquired.")
        for place, a in enumerate(step.alternatives[: words.ALTERNATIVES_SHOWN], 1):
            self.show(f"{place}. {a.name}: {words.alternative_text(a)}", indent=2)
        more = len(step.alternatives) - words.ALTERNATIVES_SHOWN
        if more > 0:
            self.show(
                f"and {more} more: {', '.join(a.name for a in step.alternatives[words.ALTERNATIVES_SHOWN :])}", "dim", 2
            )
        if step.alternatives:
            self.show("Type a name to acquire it instead.", "dim")

    def show_answer(self, step: Step, remarks: Sequence[str] = (), ended: bool = False) -> None:
        """Print the answer, what the model believes, the total price and the expected cost; and odd values."""
        self._console.print()
        self.show(words.answer_text(step), "bold")
        for remark in remarks:
            self.show(f"Accepted: {remark}.", "yellow", 2)
        self.show_beliefs(step)
        if ended:
            return
        if words.answer_cost_text(step):
            self.show(words.answer_cost_text(step), indent=2)
        example = [
            f" The name of an acquisition, such as {a.name}, acquires it all the same." for a in step.alternatives
        ]
        self.show(f"Enter ends.{''.join(example[:1])}")
        self.show_keys()


def belief_lines(
    probabilities: Mapping[Any, float], width: int, solid: tuple[str, str] = ("█", "░")
) -> list[tuple[Any, str]]:
    """A label and a line with a bar for each class, at most ``width`` wide; the likeliest first if not all are shown.

    >>> for _, line in belief_lines({"no": 0.75, "yes": 0.25}, 24, ("#", ".")):
    ...     print(line)
    no  #######..       75 %
    yes ##.......       25 %
    """
    from rich.cells import cell_len, set_cell_size

    ranked = words.ranked_beliefs(probabilities)
    texts = [printable(str(label)) for label, _ in ranked]
    label_width = min(max(map(cell_len, texts)), max(width // 3, 1))
    length = min(width - label_width - PERCENT_WIDTH - 2, LONGEST_BAR)
    lines = []
    for text, (label, share) in zip(texts, ranked, strict=True):
        n = round(share * length)
        bar = f" {solid[0] * n}{solid[1] * (length - n)}" if length >= SHORTEST_BAR else ""
        percent = probability_text(share).rjust(PERCENT_WIDTH)
        lines.append((label, f"{set_cell_size(text, label_width)}{bar} {percent}"))
    return lines


def printable(text: str) -> str:
    """The text on one line, without characters that a terminal would obey."""
    return " ".join(visible(text).splitlines()).replace("\t", " ")
