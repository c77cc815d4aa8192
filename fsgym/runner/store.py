"""The file in which every finished cell is kept before it counts.

Results are in one SQLite file, timings in another beside it: the first is compared byte for byte, the second is not.
A cell is one transaction in a write-ahead log, so that a run killed at any moment leaves whole cells. When a run ends,
the file is written anew in the order of the keys, and its bytes then depend on nothing but what it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from fsgym.extras import EXTRAS
from fsgym.runner.fingerprint import canonical, describe
from fsgym.runner.task import Task, TaskResult

MARK = 0x46534759  # "FSGY": says that a SQLite file is such a store
FORMAT = 2  # 1 was fsgym 0.1's: the keys were made of other names
TIMINGS = "timings.sqlite"
LIBRARIES = ("numba", "numpy", "scipy", "scikit-learn")
ON_DEMAND = EXTRAS["rl"] + EXTRAS["cegb"]
COLUMNS = ("key", "cpu_seconds", "wall_seconds", "peak_mib")

TABLES = """
CREATE TABLE results (
    key TEXT PRIMARY KEY, call TEXT NOT NULL, arguments TEXT NOT NULL, data TEXT NOT NULL, result TEXT NOT NULL,
    seal TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE failures (key TEXT PRIMARY KEY, error TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE made_with (name TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
"""
CLOCK = """
CREATE TABLE IF NOT EXISTS clock.timings (
    key TEXT PRIMARY KEY, cpu_seconds REAL NOT NULL, wall_seconds REAL NOT NULL, peak_mib REAL NOT NULL
) WITHOUT ROWID
"""


def versions() -> dict[str, str]:
    """What decides the bytes of a result beside the cell itself: fsgym and the libraries that calculate, as far as
    they are installed."""
    here = {"fsgym": version("fsgym")} | {name: version(name) for name in LIBRARIES}
    for name in ON_DEMAND:
        with suppress(PackageNotFoundError):
            here[name] = version(name)
    return here


def strange(made: Mapping[str, str]) -> str | None:
    """The first library that is here in another version than in ``made``; one on demand may be missing there."""
    here = versions()
    return next((n for n in here if made.get(n, here[n] if n in ON_DEMAND else None) != here[n]), None)


class Store:
    """Finished cells, by key. Opened by ``opened``; one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._base = sqlite3.connect(path, timeout=1.0, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._base.close()
            raise

    def _prepare(self) -> None:
        run = self._base.execute
        run("PRAGMA locking_mode=EXCLUSIVE")  # a second process is refused; needs no shared memory, so any disk will do
        run("BEGIN EXCLUSIVE")  # taken before anything is read
        run("COMMIT")
        if run("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("malformed")
        empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not empty:
            self._recognise(run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0])
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=FULL")
        if empty:
            made = ", ".join(f"('{name}', '{v}')" for name, v in versions().items())
            self._base.executescript(
                f"BEGIN; {TABLES} PRAGMA application_id={MARK}; PRAGMA user_version={FORMAT};"
                f"INSERT INTO made_with VALUES {made}; COMMIT"
            )
        run("ATTACH ? AS clock", (str(self.path.with_name(TIMINGS)),))
        run("PRAGMA clock.journal_mode=WAL")
        run("PRAGMA clock.synchronous=OFF")
        run(CLOCK)

    def _recognise(self, mark: int, form: int) -> None:
        if mark != MARK:
            raise ValueError(f"{self.path} is a SQLite file, but none of fsgym's; name another one")
        if form == 1:
            raise ValueError(
                f"{self.path} was written by fsgym 0.1, whose results this version cannot resume; choose another folder"
            )
        if form != FORMAT:
            raise ValueError(
                f"{self.path} has format {form} and this fsgym writes format {FORMAT}; go on with the fsgym that "
                "began it, or name another folder"
            )
        made = dict(self._base.execute("SELECT name, version FROM made_with"))
        here, other = versions(), strange(made)
        if other:
            raise ValueError(
                f"{self.path} was begun with {other} {made.get(other)}, here is {here[other]}, and no table mixes "
                "them; go on with that version, or name another folder"
            )
        for name in here.keys() - made.keys():  # installed since then
            self._base.execute("INSERT INTO made_with VALUES (?, ?)", (name, here[name]))

    def results(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The results of those keys that are finished, as they were committed."""
        wanted = set(keys)
        return {key: json.loads(text) for key, text in self._rows() if key in wanted}

    def finished(self) -> set[str]:
        return {key for key, _ in self._rows()}

    def _rows(self) -> Iterator[tuple[str, str]]:
        for key, text, seal in self._base.execute("SELECT key, result, seal FROM results"):
            if seal != _seal(key, text):
                raise sqlite3.DatabaseError("malformed")
            yield key, text

    def timings(self, keys: Sequence[str]) -> pd.DataFrame:
        """One row a key that was run, in their order."""
        rows = {row[0]: row for row in self._base.execute(f"SELECT {', '.join(COLUMNS)} FROM clock.timings")}
        return pd.DataFrame([rows[k] for k in dict.fromkeys(keys) if k in rows], columns=list(COLUMNS))

    def put(self, task: Task, ending: TaskResult) -> None:
        """Keep what came of a cell; when this returns, it is on the disk."""
        run = self._base.execute
        run("BEGIN IMMEDIATE")
        try:
            run("DELETE FROM failures WHERE key = ?", (task.key,))
            if ending.text is None:
                run("INSERT INTO failures VALUES (?, ?)", (task.key, ending.error))
            else:
                arguments, data = (canonical(describe(v)) for v in (task.arguments, task.data))
                run(
                    "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)",
                    (task.key, task.call, arguments, data, ending.text, _seal(task.key, ending.text)),
                )
            run("INSERT OR REPLACE INTO clock.timings VALUES (?, ?, ?, ?)", (task.key, *ending[2:]))
            run("COMMIT")
        except BaseException:
            if self._base.in_transaction:
                run("ROLLBACK")
            raise

    def write_anew(self) -> None:
        """Replace the file by one in the order of the keys; it is locked until it is replaced."""
        fresh = self.path.with_name(self.path.name + ".new")
        fresh.unlink(missing_ok=True)
        try:
            self._base.execute("PRAGMA schema_version=1")  # a counter that would tell how often this was done
            self._base.execute("VACUUM INTO ?", (str(fresh),))
            with open(fresh, "rb+") as file:
                os.fsync(file.fileno())
            self._base.execute("PRAGMA journal_mode=DELETE")  # the log goes before the file it belongs to
            os.replace(fresh, self.path)
        except OSError as error:
            raise OSError(_sentence(self.path, error.strerror or str(error))) from None
        finally:
            fresh.unlink(missing_ok=True)

    def close(self) -> None:
        self._base.close()


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """A store, closed and in order at the end; OSError or ValueError in one sentence where the file is at fault.

    Whatever ends the run, the cells committed before stay in the file.
    """
    store: Store | None = None
    try:
        store = Store(path)
        yield store
        store.write_anew()
    except sqlite3.Error as error:
        raise OSError(_sentence(path, str(error))) from None
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        if store is not None:
            raise
        raise OSError(f"cannot write to {path}: {error.strerror}; choose another folder") from None
    finally:
        if store is not None:
            store.close()


def _seal(key: str, text: str) -> str:
    """SQLite does not notice a letter that has changed."""
    return hashlib.sha256(f"{key} {text}".encode()).hexdigest()[:16]


def _sentence(path: Path, said: str) -> str:
    if "locked" in said:
        return f"{path} is in use by another run; wait for it, or name another folder"
    if "not a database" in said or "malformed" in said:
        return f"{path} is damaged or no SQLite file; move it away, or name another folder"
    return f"cannot write to {path}: {said}; what was finished is kept: make room and give the same command again"
