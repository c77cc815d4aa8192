"""A script: a long command is killed and run again, many times: the same results, and no file left over.

python tests/support/kills.py compare --seed 1 --seconds 60

Half of the kills come at a random time, the others just before a random change of a file in the folder of results. The
command runs in forks of a process that has run it before, which spares each of them the imports.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

OUT = ("--jobs", "1", "--out", "out")
COMMANDS = {
    "compare": ("compare", "wine", "--methods", "cart", "--no-references", "--splits", "3", *OUT),
    "reproduce": ("reproduce", "tree-on-wine", *OUT),
    "benchmark": ("benchmark", "tiny", "--methods", "cart", "--no-oracle", *OUT),
    "train": ("train", "wine", "--agent", "rcpi", "--steps", "1", "--seed", "0", "-o", "out/model.safetensors"),
    "datasets fetch": ("datasets", "fetch", "fever", "cough", "--data-dir", "out"),
}
TIMED = {"report.html", "times.csv", "timings.csv", "timings.sqlite"}  # files that say how long something took
TIMED_OF_SUITE = {"cells.csv", "results.sqlite", "seconds.csv", "standings.csv", "tables.md"}
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.link"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
MOST_SECONDS = 120.0  # of a run that is not killed


class Ended(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    status : int, the exit status; that of SIGKILL, negative, where it was killed
    n_changes : int, changes of files in its folder
    seconds : float
    """

    status: int
    n_changes: int
    seconds: float


def run(place: Path, command: tuple[str, ...], after: float = MOST_SECONDS, at_change: int = 0) -> Ended:
    """Run a command in a fork that is killed after so many seconds or before its so-many-th change of a file."""
    (place / "out").mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        status, n_changes = 1, [0]
        try:
            status = _called(place, command, at_change, n_changes)
        finally:
            os.write(writing, b"%d" % n_changes[0])
            os._exit(status)
    os.close(writing)
    killer = threading.Timer(after, lambda: _kill(child))
    killer.start()
    n_changes = os.read(reading, 20)  # nothing where it is killed
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    killer.cancel()
    killer.join()
    return Ended(status, int(n_changes or 0), time.monotonic() - began)


def _kill(child: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def _called(place: Path, command: tuple[str, ...], at_change: int, n_changes: list[int]) -> int:
    """The exit status of a command in this process, whose changes of files are counted."""
    os.chdir(place)
    folder = str(place)

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        writes = event in CHANGES or (event == "open" and bool((arguments[2] or 0) & WRITING))
        if writes and str(arguments[0]).startswith(("out", folder)):
            n_changes[0] += 1
            if n_changes[0] == at_change:
                os.killpg(0, signal.SIGKILL)

    sys.addaudithook(count)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    return command_line(command)


def command_line(command: tuple[str, ...]) -> int:
    """The exit status of a command line of fsgym."""
    from fsgym.cli import main

    try:
        main(list(command))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def files_in(folder: Path, name: str) -> dict[str, bytes]:
    """All files of a command by name; those that say times without their content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    timed = TIMED | TIMED_OF_SUITE if name == "benchmark" else TIMED
    return {str(p.relative_to(folder)): b"" if p.name in timed else p.read_bytes() for p in files}


def kill_again_and_again(name: str, seed: int, seconds: float, folder: Path) -> tuple[int, list[str]]:
    """How often the command was killed, and what was found."""
    command, rng = COMMANDS[name], random.Random(seed)
    end = time.monotonic() + seconds
    whole = run(folder / "whole", command)
    wanted = files_in(folder / "whole", name)
    if whole.status or not any(wanted.values()):
        return 0, [f"{name} ends with status {whole.status} and writes {sorted(wanted)}"]
    n_killed, findings = 0, []
    while not n_killed or time.monotonic() < end:
        place = folder / f"{n_killed}"
        by_time = rng.random() < 0.5
        after, at_change = rng.uniform(0.02, 1.0) * whole.seconds, rng.randint(1, whole.n_changes)
        killed = run(place, command, after) if by_time else run(place, command, at_change=at_change)
        n_killed += killed.status == -signal.SIGKILL
        again, found = run(place, command), files_in(place, name)
        when = f"after {after:.2f} s" if by_time else f"before its change {at_change} of {whole.n_changes}"
        if again.status:
            findings.append(f"{name} killed {when}: status {again.status} when it is run again")
        elif found != wanted:
            names = sorted(n for n in found.keys() | wanted if found.get(n) != wanted.get(n))
            findings.append(f"{name} killed {when}: other results in {names}")
    return n_killed, findings


@contextmanager
def of_tests() -> Iterator[None]:
    """The command line has the suite and the study of the tests, and data sets on a server of this machine."""
    from fsgym.datasets.public import fetch, record
    from fsgym_studies import STUDIES, suites
    from support.recorded_sets import RECORDED, recorded_set

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = RECORDED["https:/" + self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            for k in range(len(content)):  # slowly, so that many kills come meanwhile
                self.wfile.write(content[k : k + 1])
                time.sleep(0.002)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None: ...  # the client was killed

    server = Server(("127.0.0.1", 0), Answers)
    address = f"http://127.0.0.1:{server.server_port}/"
    known = {}
    for name in ("fever", "cough"):
        public = recorded_set(name)
        there = tuple(replace(d, address=str(d.address).replace("https://", address)) for d in public.downloads)
        known[name] = replace(public, downloads=there)
    record.public_sets = fetch.public_sets = lambda: known  # type: ignore[assignment]
    STUDIES["tree-on-wine"] = "support.tree_on_wine.study:STUDY"
    suites.SUITES["tiny"] = "support.tiny_suite.suite:TINY_SUITE"
    answering = os.fork()
    if answering == 0:  # no thread of this process, which forks
        server.serve_forever()
    try:
        yield
    finally:
        os.kill(answering, signal.SIGKILL)
        os.waitpid(answering, 0)
        server.server_close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", choices=COMMANDS)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=60.0)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, of_tests():
        warm = Path(folder) / "warm"
        (warm / "out").mkdir(parents=True)
        os.chdir(warm)
        with redirect_stdout(io.StringIO()):
            command_line(COMMANDS[given.command])  # imports, and loads kernels
        gc.freeze()
        n, findings = kill_again_and_again(given.command, given.seed, given.seconds, Path(folder))
    print(json.dumps({"n": n, "findings": findings}))
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
