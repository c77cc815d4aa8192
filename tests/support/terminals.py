"""Commands in a real terminal: a pseudo-terminal of a given width, whose output is read until a text is there."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 300.0  # seconds until a text must have come; by hand, for a machine with much other work
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# The imports are done once; each command runs in a fork, which has the terminal as its controlling one.
SERVER = """
import json, os, signal, sys
import fsgym.cli, pandas, rich.console
from agents import AdaptiveClassifier, LatticeClassifier, load_classifier
from fsgym.cli import ask, ask_dialog, explain, model_data

for line in sys.stdin:
    order = json.loads(line)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
        terminal = os.open(order["terminal"], os.O_RDWR)
        for k in range(3):
            os.dup2(terminal, k)
        os.chdir(order["folder"])
        os.environ.update(order["environment"])
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
        code = 99
        try:
            fsgym.cli.main(order["arguments"])
        except SystemExit as exited:
            code = exited.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Terminal:
    """A command that runs in a terminal.

    Parameters
    ----------
    server : Popen of ``SERVER``
    arguments : of the command
    folder : in which it runs
    width : columns
    environment : variables
    """

    def __init__(self, server, arguments, folder, width, environment):
        self._server = server
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        self._open = [self._ours, self._theirs]
        self._bytes = b""
        self._seen = 0
        order = {
            "terminal": os.ttyname(self._theirs),
            "arguments": [str(a) for a in arguments],
            "folder": str(folder),
            "environment": environment,
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()

    @property
    def raw(self):
        """All that was printed, with its escape sequences."""
        return self._bytes.decode(errors="replace").replace("\r\n", "\n")

    @property
    def text(self):
        """All that was printed, without escape sequences."""
        return ESCAPES.sub("", self.raw)

    def wait_for(self, text):
        """What was printed after the last such wait, up to ``text``."""
        end = time.monotonic() + PATIENCE
        while text not in self.text[self._seen :]:
            assert time.monotonic() < end, f"no {text!r} in {self.text!r}"
            if select.select([self._ours], [], [], 0.5)[0]:
                self._bytes += os.read(self._ours, 65536)
        found = self.text.index(text, self._seen) + len(text)
        part, self._seen = self.text[self._seen : found], found
        return part

    def type(self, line):
        """Type a line and Enter, after a prompt; returns what is printed up to the next one."""
        os.write(self._ours, line.encode() + b"\n")
        return self.wait_for("> ")

    def press(self, key):
        """Send keys without Enter."""
        os.write(self._ours, key)

    def exit_code(self):
        """The exit code, once the command has ended; all that it printed is in ``text`` then."""
        assert select.select([self._server.stdout], [], [], PATIENCE)[0], f"still running: {self.text!r}"
        code = int(self._server.stdout.readline())
        while select.select([self._ours], [], [], 0)[0]:
            self._bytes += os.read(self._ours, 65536)
        self.close()
        return code

    def close(self):
        """Close the terminal, which ends a command that still runs; False if it is closed already."""
        was_open = bool(self._open)
        while self._open:
            os.close(self._open.pop())
        return was_open


class Terminals:
    """A process that runs commands in terminals, one at a time; to be used in a ``with`` statement."""

    def __enter__(self):
        variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR")}
        variables |= {"TERM": "xterm-256color", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._opened = []
        return self

    def __exit__(self, *error):
        for terminal in self._opened:
            terminal.close()
        self._server.communicate()

    def run(self, *arguments, folder, width=100, **environment):
        """Start a command; one that still runs, as its test has failed, is ended."""
        for earlier in self._opened:
            if earlier.close():
                self._server.stdout.readline()
        terminal = Terminal(self._server, arguments, folder, width, environment)
        self._opened.append(terminal)
        return terminal
