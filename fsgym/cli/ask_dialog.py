"""The questions of a session to a person at a prompt."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

from fsgym.cli.ask_text import KEYS, NOT_AT_THE_ANSWER, WORDS, Screen
from fsgym.cli.ask_values import typed_value, unquoted
from fsgym.cli.session_file import Unfinished
from fsgym.data.columns import Column, Columns
from fsgym.session import Question, Session
from fsgym.session.session import choose, postpone
from fsgym.session.words import comes_now_text, undone_text, without_advice


class Dialog:
    """One line is read at a time, and is a value, a key or its word, or the name of an acquisition.

    Parameters
    ----------
    session : Session
    columns : Columns of the model
    unfinished : Unfinished, optional
        An acquisition of which some columns are answered already.
    read : function prompt -> line, optional
        By default from standard input; raises EOFError at its end.
    """

    def __init__(
        self,
        session: Session,
        columns: Columns,
        unfinished: Unfinished | None = None,
        read: Callable[[str], str] | None = None,
    ) -> None:
        self.session = session
        self._columns = {column.name: column for column in columns}
        self._chosen: str | None = None if unfinished is None else unfinished.name
        self._values: dict[str, Any] = {} if unfinished is None else dict(unfinished.values)
        self._accept = unfinished is not None and unfinished.accept
        self._read, self._screen = read or read_line, Screen()
        self._shown = False  # whether the question or the answer is on the screen

    @property
    def unfinished(self) -> Unfinished | None:
        """The acquisition of which some columns are answered, and others are not yet."""
        question = self._question() if self._values else None
        return None if question is None else Unfinished(question.name, dict(self._values), self._accept)

    def run(self) -> bool:
        """Ask until there is an answer (True), or the person quits (False)."""
        self._screen.show_log(self.session.log(), self._columns)
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
            self._screen.show_question(question, self.session.step, columns)
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
        self._screen.show_answer(self.session.step, self.session.remarks, ended=True)

    def _at_answer(self) -> bool:
        """Read a line where the model would stop; False to end or quit."""
        if not self._shown:
            self._screen.show_answer(self.session.step, self.session.remarks)
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
            self._screen.show_alternatives(self.session.step)
        elif key == "u":
            self._undo()
        return key != "q"

    def _read_value(self, question: Question, column: Column, text: str) -> None:
        try:
            value, accept = typed_value(column, text)
        except ValueError as error:
            if not self._values and text in [a.name for a in self.session.step.alternatives]:
                self._choose(text)
            else:
                self._screen.show(f"{error}.", "red")
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
                    self._screen.show(f"Accepted: {remark}.")
            else:
                self.session.unknown(question.name)
        except ValueError as error:
            self._screen.show(f"{error}.", "red")

    def _postpone(self, question: Question) -> None:
        chosen = self._chosen is not None
        self._start_anew()
        if chosen:  # back to the question of the model
            return
        if not postpone(self.session, question.name):
            self._screen.show(comes_now_text(question.name))
            self._shown = True

    def _choose(self, name: str) -> None:
        """Ask for an acquisition that the model does not ask for."""
        try:
            question = choose(self.session, name)
        except ValueError as error:
            self._screen.show(f"{without_advice(error)}.", "red")
            return
        self._start_anew()
        self._chosen = question.name

    def _undo(self) -> None:
        """Take back the last value of the acquisition, its choice, or what was said last."""
        if self._values:
            column, _ = self._values.popitem()
            self._screen.show(f"{column} is taken back.")
        elif self._chosen is not None:
            self._start_anew()
        else:
            log = self.session.log()
            try:
                self.session.undo()
            except ValueError as error:
                self._screen.show(f"{error}.", "red")
                return
            self._screen.show(undone_text(log[-1]))
            self._start_anew()

    def _start_anew(self) -> None:
        """Forget the values of an unfinished acquisition, and show what comes now."""
        self._chosen, self._values, self._accept, self._shown = None, {}, False, False


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
