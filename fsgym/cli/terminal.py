"""Output of the commands in the terminal."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from fsgym.support.writing import opened_whole
from fsgym.text.messages import shortened, visible

if TYPE_CHECKING:
    from rich.console import Console

MAX_SENTENCE_LENGTH = 600  # characters on stderr; what is longer, such as a list of names, is cut in its middle
MAX_WORD_LENGTH = 160  # of these characters


def escape_what_streams_lack() -> None:
    """Let standard output and stderr write the characters that their code page lacks as escapes, as ``\\u2192``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_utf8() -> None:
    """Let standard output be UTF-8, for output that programs read, whatever the code page of the terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def say(sentence: str) -> None:
    """Print one line on stderr, without characters that a terminal obeys, and not longer than can be read."""
    words = " ".join(shortened(visible(word), MAX_WORD_LENGTH) for word in sentence.split())
    print(f"fsgym: {shortened(words, MAX_SENTENCE_LENGTH)}", file=sys.stderr)


def show(text: str = "", end: str = "\n") -> None:
    """Print text on standard output, without characters that a terminal obeys."""
    print(visible(text), end=end)


def console(markup: bool = False, **options: Any) -> Console:
    """A console on standard output, 120 columns wide if that is not a terminal, that prints as ``show`` does."""
    from rich.console import Console
    from rich.segment import Segment

    class VisibleConsole(Console):
        def render(self, *arguments: Any, **named: Any) -> Iterable[Segment]:
            for segment in super().render(*arguments, **named):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    width = None if sys.stdout.isatty() else 120
    return VisibleConsole(**{"highlight": False, "markup": markup, "emoji": False, "width": width} | options)


def wrapped(text: str, width: int) -> str:
    """The text in lines of at most ``width`` characters, with each number and its % sign in one line."""
    space = "\u00a0"  # at which textwrap does not break lines
    return textwrap.fill(text.replace(" %", space + "%"), width).replace(space, " ")


@contextmanager
def opened_output(path: Path | None) -> Iterator[IO[str]]:
    """A text file that replaces an existing one when it is complete, or standard output."""
    if path is None:
        yield cast(IO[str], _Screen()) if sys.stdout.isatty() else sys.stdout
        return
    with opened_whole(path) as file:
        yield file


class _Screen:
    """A file for a terminal, which is not sent what it would obey."""

    def write(self, text: str) -> None:
        show(text, end="")
