"""The file in which the result of every finished task is stored.

Results are in one SQLite file and timings in another beside it, because the first is reproducible byte for byte and
the second is not. Each task is one transaction in a write-ahead log, so a run that is killed at any moment leaves only
whole results. At the end of a run the file is rewritten in the order of the keys; its bytes then depend only on its
content.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fsgym.runner.fingerprint import canonical_form
from fsgym.runner.task import Task, TaskResult
from fsgym.support.arrays import canonical_json
from fsgym.support.extras import EXTRAS
from fsgym.text.messages import warn_caller

APPLICATION_ID = 0x46534759  # "FSGY" in ASCII; SQLite stores it in the header, and it marks the file as a store
STORE_FORMAT = 9  # raised when the schema or the keys change; fsgym 0.1 wrote format 1
TIMINGS_FILE = "timings.sqlite"
LIBRARIES = ("numba", "numpy", "scipy", "scikit-learn")  # results depend on their versions
OPTIONAL_LIBRARIES = EXTRAS["rl"] + EXTRAS["cegb"]  # on these too, where they are installed
TIMING_COLUMNS = ("key", "cpu_seconds", "wall_seconds", "peak_mib")

# In the messages of SQLite on damaged files and on those of other programs:
DAMAGE = ("not a database", "malformed", "no such column", "Could not decode")

RESULTS_SCHEMA = """
CREATE TABLE results (
    key TEXT PRIMARY KEY, call TEXT NOT NULL, arguments TEXT NOT NULL, data TEXT NOT NULL, result TEXT NOT NULL,
    checksum TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE versions (name TEXT PRIMARY KEY, version TEXT NOT NULL) WITHOUT ROWID;
"""
TIMINGS_SCHEMA = """
CREATE TABLE IF NOT EXISTS measured.timings (
    key TEXT PRIMARY KEY, cpu_seconds REAL NOT NULL, wall_seconds REAL NOT NULL, peak_mib REAL NOT NULL
) WITHOUT ROWID
"""


def installed_versions() -> dict[str, str]:
    """Versions of fsgym and of those installed libraries on which the bytes of a result depend, by name."""
    installed = {"fsgym": version("fsgym")} | {name: version(name) for name in LIBRARIES}
    for name in OPTIONAL_LIBRARIES:
        with suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def first_version_mismatch(recorded: Mapping[str, str]) -> str | None:
    """The first installed library whose version differs from the recorded one, or None.

    An optional library may be missing in ``recorded``.
    """
    installed = installed_versions()
    for name, number in installed.items():
        if recorded.get(name, number if name in OPTIONAL_LIBRARIES else None) != number:
            return name
    return None


class Store:
    """Results of finished tasks, by key. Use ``open_store``; one process at a time can have it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        # An exclusive lock refuses a second process, and needs no shared memory, so any file system will do.
        execute("PRAGMA locking_mode=EXCLUSIVE")
        execute("BEGIN EXCLUSIVE")  # takes the lock before anything is read
        execute("COMMIT")
        if execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("malformed")
        empty = execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not empty:
            self._check_format(
                execute("PRAGMA application_id").fetchone()[0], execute("PRAGMA user_version").fetchone()[0]
            )
            self._check_versions()
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        if empty:
            rows = ", ".join(f"('{name}', '{number}')" for name, number in installed_versions().items())
            self._connection.executescript(
                f"BEGIN; {RESULTS_SCHEMA} PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={STORE_FORMAT};"
                f"INSERT INTO versions VALUES {rows}; COMMIT"
            )
        self._attach_timings(self.path.with_name(TIMINGS_FILE))

    def _attach_timings(self, path: Path) -> None:
        """Open the file of timings; one that cannot be read is moved away, because results are worth more."""
        try:
            self._open_timings(path)
        except sqlite3.DatabaseError as error:
            if path.is_dir() or not any(words in str(error) for words in DAMAGE):
                raise
            with suppress(sqlite3.Error):
                self._connection.execute("DETACH measured")
            moved = path.with_name(path.name + ".damaged")
            os.replace(path, moved)
            for log in ("-wal", "-shm"):
                path.with_name(path.name + log).unlink(missing_ok=True)
            warn_caller(f"{path} is damaged or has other content; it is now {moved.name}, and timings begin anew")
            self._open_timings(path)

    def _open_timings(self, path: Path) -> None:
        execute = self._connection.execute
        execute("ATTACH ? AS measured", (str(path),))
        execute("PRAGMA measured.journal_mode=WAL")
        execute("PRAGMA measured.synchronous=OFF")
        execute(TIMINGS_SCHEMA)
        if execute("PRAGMA measured.quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("malformed")
        for row in execute(f"SELECT {', '.join(TIMING_COLUMNS)} FROM measured.timings"):
            if not (isinstance(row[0], str) and all(isinstance(v, float) and v >= 0 for v in row[1:])):
                raise sqlite3.DatabaseError("malformed")

    def _check_format(self, application_id: int, number: int) -> None:
        if application_id != APPLICATION_ID:
            raise ValueError(f"{self.path} is a SQLite file but not a store of fsgym; choose another file")
        if number == 1:
            raise ValueError(
                f"{self.path} was written by fsgym 0.1, whose results this version cannot resume; choose another folder"
            )
        if number != STORE_FORMAT:
            raise ValueError(
                f"{self.path} has format {number}, but this fsgym uses format {STORE_FORMAT}; use the version of fsgym "
                "that created it, or choose another folder"
            )

    def _check_versions(self) -> None:
        """ValueError where other versions are installed; optional libraries installed since are recorded."""
        recorded = dict(self._connection.execute("SELECT name, version FROM versions"))
        installed, name = installed_versions(), first_version_mismatch(recorded)
        if name:
            raise ValueError(
                f"{self.path} was created with {name} {recorded.get(name)}, but {name} {installed[name]} is installed, "
                f"and results of different versions cannot be mixed; install {name} {recorded.get(name)}, or choose "
                "another folder"
            )
        for new in installed.keys() - recorded.keys():
            self._connection.execute("INSERT INTO versions VALUES (?, ?)", (new, installed[new]))

    def results(self, keys: Collection[str] | None = None) -> dict[str, dict[str, Any]]:
        """The results of those tasks, among the given keys, by default all, that have finished."""
        wanted = None if keys is None else set(keys)
        return {key: json.loads(text) for key, text in self._rows() if wanted is None or key in wanted}

    def _rows(self) -> Iterator[tuple[str, str]]:
        for key, text, checksum in self._connection.execute("SELECT key, result, checksum FROM results"):
            if checksum != _checksum(key, text):
                raise sqlite3.DatabaseError("malformed")
            yield key, text

    def timings(self) -> dict[str, tuple]:
        """The ``TIMING_COLUMNS`` of every task that was run, by its key."""
        stored = self._connection.execute(f"SELECT {', '.join(TIMING_COLUMNS)} FROM measured.timings")
        return {row[0]: row for row in stored}

    def put(self, task: Task, result: TaskResult) -> None:
        """Store the result of a task; it is on the disk when this returns."""
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            if result.text is not None:
                arguments, data = (canonical_json(canonical_form(v)) for v in (task.arguments, task.data))
                execute(
                    "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)",
                    (task.key, task.call, arguments, data, result.text, _checksum(task.key, result.text)),
                )
            execute("INSERT OR REPLACE INTO measured.timings VALUES (?, ?, ?, ?)", (task.key, *result[2:]))
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise

    def rewrite(self) -> None:
        """Replace the file by one that is sorted by key; the lock is held until it is replaced."""
        sorted_file = self.path.with_name(self.path.name + ".new")
        sorted_file.unlink(missing_ok=True)
        try:
            self._connection.execute("PRAGMA schema_version=1")  # else the bytes depend on how often this was done
            self._connection.execute("VACUUM INTO ?", (str(sorted_file),))
            with open(sorted_file, "rb+") as file:
                os.fsync(file.fileno())
            self._connection.execute("PRAGMA journal_mode=DELETE")  # removes the log before the file it belongs to
            os.replace(sorted_file, self.path)
        except OSError as error:
            raise OSError(_store_error(self.path, error.strerror or str(error))) from None
        finally:
            sorted_file.unlink(missing_ok=True)

    def close(self) -> None:
        self._connection.close()


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open a store, and rewrite and close it at the end.

    Raises OSError or ValueError if the file cannot be used. However the run ends, all results that were put before stay
    in the file.
    """
    store: Store | None = None
    try:
        store = Store(path)
        yield store
        store.rewrite()
    except sqlite3.Error as error:
        raise OSError(_store_error(path, str(error))) from None
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        if store is not None:
            raise
        raise OSError(f"cannot write to {path}: {error.strerror}; choose another folder") from None
    finally:
        if store is not None:
            store.close()


def _checksum(key: str, text: str) -> str:
    """The first 16 digits of a SHA-256: SQLite itself does not notice a changed byte in a value."""
    return hashlib.sha256(f"{key} {text}".encode()).hexdigest()[:16]


def _store_error(path: Path, reason: str) -> str:
    """An error of SQLite or of the file system as a sentence that says what to do."""
    if "locked" in reason:
        return f"{path} is in use by another run; wait until that run has ended, or choose another folder"
    if any(words in reason for words in DAMAGE):
        return f"{path} is damaged or not a SQLite file; move it away, or choose another folder"
    return f"cannot write to {path}: {reason}; finished results are kept: free some space and rerun the same command"


def read_timings(path: Path) -> tuple[set[str], dict[str, float]]:
    """Keys of the finished tasks of a store, and the wall seconds of all tasks that were run, by key.

    Both are empty where there is no store, or it cannot be read just now: ``open_store`` says why.
    """
    times = path.with_name(TIMINGS_FILE)
    if not (path.is_file() and times.is_file()):
        return set(), {}
    found: list[list[tuple]] = []
    for file, query in ((path, "SELECT key FROM results"), (times, "SELECT key, wall_seconds FROM timings")):
        try:
            connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0.1)
            try:
                # A lock as that of ``Store``. Without it, a log that a killed run has left is read by a file -shm.
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
                found.append(connection.execute(query).fetchall())
            finally:
                connection.close()
        except sqlite3.Error:
            return set(), {}
    return {row[0] for row in found[0]}, {key: float(seconds) for key, seconds in found[1]}
