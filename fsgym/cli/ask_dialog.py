"""The questions of a session to a person at a prompt: what is shown, what may be typed, and what it does."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fsgym.cli.terminal import console, wrapped
from fsgym.data.columns import Column
from fsgym.session import Question, Session, Step, words
from fsgym.session.asked_model import as_told
from fsgym.session.held_out import reliability_text
from fsgym.session.session import choose, postpone
from fsgym.session.values import Refusal, check_value, number_or_text, typing_text, value_of_text
from fsgym.text.messages import brief, listing, visible
from fsgym.text.sentences import answer_now_text, price_text, probability_text, unused_text
from fsgym.text.speech import said

MAX_BAR_LENGTH = 40  # characters, by hand
SHORTEST_BAR = 4  # characters: a shorter one is left out
PERCENT_WIDTH = len("above 99.9 %")
PLAIN_WIDTH = 100  # characters of a line where the output is no terminal
LEVELS_LISTED = 30  # of one column, by hand
QUOTES = "\"'"
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


class Dialog:
    """One line is read at a time, and is a value, a key or its word, or the name of an acquisition.

    Parameters
    ----------
    session : Session
    unfinished : dict, optional
        An acquisition of which some columns are answered already: name, values by column (None for an unknown one),
        and accept, whether a value was accepted that is not as in training.
    read : function prompt -> line, optional
        By default from standard input; raises EOFError at its end.
    """

    def __init__(
        self,
        session: Session,
        unfinished: Mapping[str, Any] | None = None,
        read: Callable[[str], str] | None = None,
    ) -> None:
        self.session = session
        self._columns = {column.name: column for column in session.model.acquisitions_.columns}
        self._chosen: str | None = None if unfinished is None else unfinished["name"]
        self._values: dict[str, Any] = {} if unfinished is None else dict(unfinished["values"])
        self._accept = unfinished is not None and unfinished["accept"]
        self._read, self._screen = read or read_line, Screen()
        self._names = {*self._columns, *session.model.acquisitions_.rules.names}
        self._shown = False  # whether the question or the answer is on the screen

    @property
    def unfinished(self) -> dict[str, Any] | None:
        """The acquisition of which some columns are answered, and others are not yet."""
        question = self._question() if self._values else None
        return None if question is None else {"name": question.name, "values": {**self._values}, "accept": self._accept}

    def run(self) -> bool:
        """Ask until there is an answer (True), or the person quits (False)."""
        session = self.session
        for text in session.about_prices:
            self._screen.show(text, "yellow")
        if getattr(session.model, "promise_", None) is not None:
            self._screen.show(as_told(session.model, session.missing is not None).promise_.sentences()[0], "dim")
        if self.session.note:
            self._screen.show(said("note_printed", note=self.session.note), "dim")
        for entry in self.session.log():  # what happened so far
            text = words.entry_text(entry, self._columns.values())
            about = entry.remark if entry.kind == "stopped" else price_text(entry.price)
            self._screen.show(f"{text} ({about})" if about else text, "dim")
        while True:
            question = self._question()
            going_on = self._at_answer() if question is None else self._at_question(question)
            if not going_on:
                return self.session.stopped

    def _question(self) -> Question | None:
        return self.session.next() if self._chosen is None else self.session.question(self._chosen)

    def _at_question(self, question: Question) -> bool:
        """Read a line where a column is asked for; False to quit."""
        columns = [self._columns[column.name] for column in question.columns]
        if not self._shown:
            session = self.session
            self._screen.show_question(question, session.step, columns, session.remarks, session.stop_ends)
            self._shown = True
        column = next(column for column in columns if column.name not in self._values)
        unit = f" in {column.unit}" if column.unit else ""
        line = self._line(f"{column.name}{unit}", column.levels)
        match line:
            case None:
                pass
            case "":
                self._screen.show_column(column, question.name)
                self._screen.show_keys(columns)
            case "s":
                self._take(question, column, None)
            case "l":
                self._postpone(question)
            case "x":
                self._stop(question)
                return False
            case _ if line in KEYS:
                return self._press(line)
            case _ if (name := undone_name(line)) and line not in column.levels:
                self._undo(name)
            case _:
                self._read_value(question, column, line)
        return True

    def _stop(self, question: Question) -> None:
        """End here; what was entered of an acquisition that is not complete is lost, and is said to be."""
        if self._values:
            entered = ", ".join(self._values)
            self._screen.show(
                f"{question.name} is not complete: what was entered of it ({entered}) is not used, and its price is "
                "not counted.",
                "yellow",
            )
        self.session.stop()
        self._show_answer(ended=True)

    def _show_answer(self, ended: bool = False) -> None:
        session = self.session
        reliability = reliability_text(session.model, is_told=session.missing is not None, in_case=True)
        self._screen.show_answer(session.step, session.remarks, reliability, session.other_ends, ended)

    def _at_answer(self) -> bool:
        """Read a line where the model would stop; False to end or quit."""
        if not self._shown:
            self._show_answer()
            self._shown = True
        line = self._line("Enter to end")
        match line:
            case None:
                return True
            case "":
                self.session.stop()
                return False
            case _ if line in NOT_AT_THE_ANSWER:
                self._screen.show(f"{line} is for a question, and none is asked now.", "red")
            case _ if line in KEYS:
                return self._press(line)
            case _ if name := undone_name(line):
                self._undo(name)
            case _ if line not in self._names and (refusal := more_than_a_key(line)):
                self._screen.show(refusal, "red")
            case _:
                self._choose(unquoted(line) or line)
        return True

    def _line(self, prompt: str, levels: Sequence[str] = ()) -> str | None:
        """What the person typed, the key for its word; None where it is no text."""
        try:
            line = self._read(self._screen.prompt(prompt)).strip()
            line.encode()
        except UnicodeError:
            self._screen.show("A line must be text in UTF-8.", "red")
            return None
        names = (*levels, *self._columns, *(a.name for a in self.session.step.alternatives))
        means_a_name = line.lower() in (name.strip().lower() for name in names)
        return line if means_a_name else WORDS.get(line.lower(), line)

    def _press(self, key: str) -> bool:
        """Do what a key stands for; False to quit."""
        if key == "?":
            self._screen.show(self.session.why())
        elif key == "a":
            self._screen.show_alternatives(self.session.step, self.session.other_ends)
        elif key == "u":
            self._undo()
        return key != "q"

    def _read_value(self, question: Question, column: Column, text: str) -> None:
        try:
            value, accept = typed_value(column, text)
        except ValueError as error:
            if not self._values and text in self._names:
                self._choose(text)
            else:
                key = "" if column.levels else more_than_a_key(text)  # a level may begin as a key does
                self._screen.show(key or f"{error}.", "red")
            return
        self._accept |= accept
        self._take(question, column, value)

    def _take(self, question: Question, column: Column, value: Any) -> None:
        """Note the value of a column, None for an unknown one; the last one ends the acquisition."""
        self._values[column.name] = value
        if len(self._values) < len(question.columns):
            return
        known = {name: value for name, value in self._values.items() if value is not None}
        accept = self._accept
        self._start_anew()
        try:
            if known:
                self.session.answer(question.name, known, accept=accept)
                remark = self.session.log()[-1].remark
                if accept and remark:
                    self._screen.show(said("accepted", remark=remark))
            else:
                self.session.unknown(question.name)
        except ValueError as error:
            self._screen.show(f"{words.refusal_text(error)}.", "red")

    def _postpone(self, question: Question) -> None:
        if self._chosen is not None:  # back to the question of the model
            self._start_anew()
            return
        try:
            postponed = postpone(self.session, question.name)
        except ValueError as error:
            self._screen.show(f"{words.refusal_text(error)}.", "red")
            return
        self._start_anew()
        if not postponed:
            self._screen.show(said("comes_now", name=question.name))
            self._shown = True

    def _choose(self, name: str) -> None:
        """Ask for an acquisition that the model does not ask for."""
        try:
            question = choose(self.session, name)
        except ValueError as error:
            self._screen.show(f"{words.refusal_text(error)}.", "red")
            return
        self._start_anew()
        self._chosen = question.name

    def _undo(self, name: str | None = None) -> None:
        """Take back the last value of the acquisition, its choice, or what was said last, or of one acquisition."""
        if name in self._values or (self._values and name is None):
            column = name or [*self._values][-1]
            del self._values[column]
            self._screen.show(said("taken_back", name=column))
        elif self._chosen is not None and name is None:
            self._start_anew()
        else:
            log, ended = self.session.log(), self.session.stopped
            try:
                self.session.undo(name)
            except ValueError as error:
                self._screen.show(f"{error}.", "red")
                return
            self._screen.show(said("taken_back", name=name) if name else words.undone_text(log, ended))
            self._start_anew()

    def _start_anew(self) -> None:
        """Forget the values of an unfinished acquisition, and show what comes now."""
        self._chosen, self._values, self._accept, self._shown = None, {}, False, False


def undone_name(line: str) -> str:
    """NAME of ``u NAME`` or ``undo NAME``; "" for other lines.

    >>> undone_name("u blood pressure"), undone_name("u"), undone_name("120")
    ('blood pressure', '', '')
    """
    key, _, name = line.partition(" ")
    return name.strip() if WORDS.get(key.lower(), key) == "u" else ""


def more_than_a_key(line: str) -> str:
    """What is said where a key, or its word, is followed by more than it takes; "" for other lines.

    >>> more_than_a_key("l ct"), more_than_a_key("u ct"), more_than_a_key("later")
    ("l is typed alone, without 'ct'; only u takes a name.", '', '')
    """
    for key in sorted((*KEYS, *WORDS), key=len, reverse=True):  # "stop now" before "stop"
        if line.lower().startswith(f"{key} ") and not undone_name(line):
            return f"{key} is typed alone, without {brief(line[len(key) :].strip())}; only u takes a name."
    return ""


def read_line(prompt: str) -> str:
    """A line of standard input; it is repeated in the output where no person typed it there."""
    print(prompt, end="", flush=True)
    if sys.stdin.isatty():
        _wait_for_line()
        return input()
    line = input()
    print(line)
    return line


def _wait_for_line() -> None:
    """Wait until the terminal has a line, or Ctrl-C was pressed.

    ``input`` alone misses a Ctrl-C that comes after the prompt is printed and before it reads.
    """
    if os.name != "posix":
        return
    woken, waker = socket.socketpair()
    with woken, waker:
        waker.setblocking(False)
        before = signal.set_wakeup_fd(waker.fileno())  # its handler raises KeyboardInterrupt
        try:
            while sys.stdin not in select.select([sys.stdin, woken], [], [])[0]:
                woken.recv(1)
        finally:
            signal.set_wakeup_fd(before)


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

    def show_question(
        self,
        question: Question,
        step: Step,
        columns: Sequence[Column],
        remarks: Sequence[str] = (),
        stop_ends: str = "",
    ) -> None:
        """Print what is asked, its price, what was paid, what the model believes, odd values, what stopping ends."""
        self._console.print()
        self.show(f"{question.name} ({words.price_and_paid(question.price, step.spent)})", "bold")
        for column in columns:
            self.show_column(column, question.name)
        if step.should_stop:
            self.show(words.would_stop_text(step), "dim", 2)
        if words.free_too_text(question, step):
            self.show(words.free_too_text(question, step), "dim", 2)
        self.show_beliefs(step)
        self.show_remarks(remarks)
        if stop_ends:
            is_quiet = step.certainty is not None and step.certainty.enough
            self.show(stop_ends, "dim" if is_quiet else "bold", 2)
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

    def show_remarks(self, remarks: Sequence[str]) -> None:
        """Print what the case rests on although it is not as in training."""
        if remarks:
            self.show(words.not_as_trained_text(remarks), "yellow", 2)

    def show_beliefs(self, step: Step) -> None:
        """Print a bar for the probability of each class, the likeliest classes first if there are many.

        For a calibrated model, how certain the answer is, too.
        """
        if step.unused:
            self.show(unused_text(step.unused), "yellow", 2)
        if step.probabilities is None:
            self.show(answer_now_text(step.answer, step.refers), indent=2)
            return
        solid = ("#", ".") if self._console.options.ascii_only else ("█", "░")
        lines = belief_lines(step.probabilities, self._console.width - 2, solid)
        for (label, line), _ in zip(lines, range(words.BELIEFS_SHOWN)):
            self.show(line, "green" if label == step.answer else "", 2)
        if len(lines) > words.BELIEFS_SHOWN:
            more = words.more_beliefs_text([*step.probabilities], len(lines) - words.BELIEFS_SHOWN)
            self.show(more, "dim", 2)
        likeliest = max(step.probabilities, key=lambda label: (step.probabilities or {})[label])
        if step.question is not None and step.answer != likeliest:
            self.show(answer_now_text(step.answer, step.refers), indent=2)
        if step.certainty is not None:
            self.show(step.certainty.text, indent=2)

    def show_alternatives(self, step: Step, other_ends: str = "") -> None:
        """Print the acquisitions that can be made now, the best first, and what another one ends."""
        if not step.alternatives:
            self.show("Nothing more can be acquired.")
        for place, a in enumerate(step.alternatives[: words.ALTERNATIVES_SHOWN], 1):
            self.show(f"{place}. {a.name}: {words.alternative_text(a)}", indent=2)
        more = [a.name for a in step.alternatives[words.ALTERNATIVES_SHOWN :]]
        if more:
            self.show(f"{said('and_more', n=len(more))}: {', '.join(more)}", "dim", 2)
        if step.alternatives:
            self.show(f"Type a name to acquire it instead. {other_ends}".rstrip(), "dim")

    def show_answer(
        self, step: Step, remarks: Sequence[str] = (), reliability: str = "", other_ends: str = "", ended: bool = False
    ) -> None:
        """Print the answer, odd values, what the model believes and how reliable it is; then what comes next."""
        self._console.print()
        self.show(words.answer_text(step), "bold")
        self.show_remarks(remarks)
        self.show_beliefs(step)
        if words.free_left_text(step):
            self.show(words.free_left_text(step), indent=2)
        if reliability:
            self.show(reliability, "dim", 2)
        if ended:
            return
        if words.answer_cost_text(step):
            self.show(words.answer_cost_text(step), indent=2)
        if other_ends and step.alternatives:
            self.show(other_ends, "dim", 2)
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
    no  #####..         75 %
    yes ##.....         25 %
    """
    from rich.cells import cell_len, set_cell_size

    ranked = words.ranked_beliefs(probabilities)
    texts = [printable(str(label)) for label, _ in ranked]
    label_width = min(max(map(cell_len, texts)), max(width // 3, 1))
    length = min(width - label_width - PERCENT_WIDTH - 2, MAX_BAR_LENGTH)
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


def typed_value(column: Column, text: str) -> tuple[Any, bool]:
    """The value of a column that a text means, and whether it is to be accepted although it is not as in training.

    A level may be given by its number in the list of levels, unless levels are numbers themselves. ``!`` before a value
    accepts a number outside the range in training, or a level that was not in training. Text in quotes is a level.

    Raises
    ------
    ValueError
        If the text is no value of this column; the message has what is allowed.

    Examples
    --------
    >>> ward = Column("ward", "category", ("er", "gp", "icu"))
    >>> typed_value(ward, "3"), typed_value(ward, "'gp'"), typed_value(Column("age"), "63")
    (('icu', False), ('gp', False), (63, False))
    """
    levels = [level.strip() for level in column.levels]
    if text in levels:
        return text, False
    accept = text.startswith("!")
    bare = text.removeprefix("!").strip()
    quoted = unquoted(bare)
    value: Any = bare if quoted is None else quoted
    if column.kind in ("number", "bool"):
        value = value_of_text(column, bare)
    elif quoted is None and bare not in levels and levels_are_numbered(column):
        value = dict(zip(map(str, range(1, len(levels) + 1)), levels, strict=True)).get(bare, bare)
    try:
        check_value(column, value, accept)
    except Refusal as refusal:
        raise ValueError(refusal.text(f"with !{bare}")) from None
    return value, accept


def unquoted(text: str) -> str | None:
    """The text between quotes; None where there are none.

    >>> unquoted("'s'"), unquoted("s")
    ('s', None)
    """
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES else None


def levels_are_numbered(column: Column) -> bool:
    """Whether a level can be picked by its number: where no level is a number itself."""
    return bool(column.levels) and not any(isinstance(number_or_text(level), int | float) for level in column.levels)


def allowed_at_prompt(column: Column) -> str:
    """What may be typed for a column, in words.

    >>> allowed_at_prompt(Column("ward", "category", ("er", "icu"))), allowed_at_prompt(Column("ill", "bool"))
    ('1 er, 2 icu', 'yes or no')
    """
    if column.kind == "bool":
        return said("allowed_yes_no")
    if not levels_are_numbered(column):
        listed = listing(column.levels, LEVELS_LISTED)
        return said("allowed_levels", levels=listed) if column.levels else typing_text(column)
    return listing((f"{k} {level.strip()}" for k, level in enumerate(column.levels, 1)), LEVELS_LISTED)
