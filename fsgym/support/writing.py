"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

if sys.platform != "win32":  # where a file that is open cannot be removed
    from fcntl import LOCK_EX, LOCK_NB, flock

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NAME_SHOWN = 80  # characters of a file's name in that of its part, so that the latter is not too long


@contextmanager
def opened_whole(path: str | os.PathLike, *, binary: bool = False) -> Iterator[IO]:
    """A new file, open for writing, that takes the place of ``path`` when all of it is on the disk.

    Where anything fails, and where the process is killed, an existing file stays as it was. What a killed process left
    is removed by the next that writes the file. A link is kept, and the file that it leads to is replaced. A new file
    has the permissions that the process gives to its files, a replaced one keeps its own.

    Parameters
    ----------
    path : path
    binary : bool, whether the file is opened for bytes; else for UTF-8 text whose line ends are kept

    Raises
    ------
    OSError
        If ``path`` is a folder, a device or a pipe, or if the file cannot be written; one sentence that names it.
    """
    try:
        target, part, lock = Path(os.path.realpath(path)), None, None
    except ValueError:
        raise OSError(f"cannot write {str(path)!r}: it has a null character; name another path") from None
    try:
        mode = _mode_of(path, target)
        _remove_parts_of_killed(target)
        part = target.with_name(f".{target.name[:NAME_SHOWN]}.{secrets.token_hex(8)}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        lock = _lock_until_closed(handle)
        with os.fdopen(handle, "wb") if binary else os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(handle)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)
        part = None
        _sync_folder(target.parent)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part), str(target)):
            raise  # of another file, or a sentence already
        raise OSError(failed_write(path, error)) from None
    finally:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def write_whole(path: str | os.PathLike, content: str | bytes) -> None:
    """Write a file with this content, whole or not at all; errors as those of ``opened_whole``."""
    with opened_whole(path, binary=isinstance(content, bytes)) as file:
        file.write(content)


def write_or_remove(path: Path, content: str | bytes | None) -> None:
    """``write_whole``; None removes what an earlier command wrote, which would be taken for a result of this one."""
    if content is None:
        path.unlink(missing_ok=True)
    else:
        write_whole(path, content)


def writable_folder(out: str | os.PathLike) -> Path:
    """The folder as a path, created if it does not exist; OSError if it is not writable."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"cannot write to the folder {folder}: {error.strerror or error}; choose another one") from None
    return folder


def failed_write(path: str | os.PathLike, error: OSError) -> str:
    """The sentence on a file that cannot be written."""
    advice = "; free some space, or choose another folder" if error.errno in NO_SPACE else ""
    return f"cannot write {path}: {error.strerror or error}{advice}"


def _lock_until_closed(handle: int) -> int | None:
    """Lock a part, which tells that its process lives; returns what to close when the part has its place."""
    if sys.platform == "win32":  # where an open file could not take its place
        return None
    with suppress(OSError):  # some file systems have no locks
        flock(handle, LOCK_EX | LOCK_NB)
    return os.dup(handle)


def _remove_parts_of_killed(target: Path) -> None:
    """Remove the parts of a file that no living process writes."""
    for name in target.parent.glob(f".{glob.escape(target.name[:NAME_SHOWN])}.{'[0-9a-f]' * 16}.part"):
        with suppress(OSError):
            if sys.platform == "win32":
                name.unlink()
                continue
            handle = os.open(name, os.O_WRONLY)
            try:
                flock(handle, LOCK_EX | LOCK_NB)
                name.unlink()
            finally:
                os.close(handle)


def _mode_of(path: str | os.PathLike, target: Path) -> int | None:
    """The permissions of the file that is replaced, None for a new one; OSError for what is not a file."""
    try:
        found = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{path} is a device or a pipe, not a file; name another path")
    return stat.S_IMODE(found.st_mode)


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk, too, where the system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
