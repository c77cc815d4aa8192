"""The code of the user: its files, so that a stored result is not used after they changed, and its lines in errors."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import sysconfig
import traceback
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from fsgym.text.messages import one_line

VERSIONED_PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")  # the version of fsgym identifies their code
METHOD_PACKAGES = ("agents", "baselines")  # in a clone one works on their methods
ROOT = Path(__file__).resolve().parents[2]
SENT_CODE = "<dynamic-code>"  # cloudpickle 3.1.3 gives functions that another process cannot import this file name


class FailedApart(Exception):
    """An error in another process; its message is what ``error_with_line`` says of it there."""


def error_with_line(error: BaseException) -> str:
    """The class and the message of an error, and the last line that it passed in code of the user, on one line."""
    if isinstance(error, FailedApart):
        return str(error)
    text = f"{type(error).__name__}: {one_line(error, 500)}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == SENT_CODE:
            return f"{text} (function {frame.name}, line {frame.lineno})"
        if _is_of_user(frame.filename):
            return f"{text} ({Path(frame.filename).name}, line {frame.lineno})"
    return text


def _is_of_user(file: str) -> bool:
    """Whether a file is neither a part of an installed package nor of fsgym."""
    ours = any(Path(file).is_relative_to(ROOT / package) for package in VERSIONED_PACKAGES)
    return not file.startswith("<") and not ours and not _is_installed(file)


def _is_installed(file: str) -> bool:
    folders = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    return any(Path(file).is_relative_to(folder) for folder in folders)


def local_code(code: Any) -> str:
    """SHA-256 of the files of the user on which a function, a class or an object of it depends; "" if there are none.

    They are the modules that its file imports, also inside functions, from its own folder or package or from the
    working directory, and the file itself unless it is the script that runs. Installed packages do not count: they do
    not change while one works.
    """
    while isinstance(code, partial):
        code = code.func
    own = inspect.unwrap(code) if inspect.isroutine(code) or isinstance(code, type) else type(code)
    try:
        file = inspect.getsourcefile(own)
    except (OSError, TypeError):  # typed at a prompt, or compiled
        return ""
    return _digest(file, own.__module__, os.getcwd()) if file and Path(file).is_file() else ""


@cache  # of the code as it was imported
def _digest(file: str, module: str, working_directory: str) -> str:
    path = Path(file).resolve()
    if module.partition(".")[0] in VERSIONED_PACKAGES or not _is_of_user(file):
        return ""
    top = min(module.count(".") + (path.name == "__init__.py"), len(path.parents) - 1)
    folders = [path.parents[top], Path(working_directory).resolve()]
    found = _with_imports(path, folders, _is_of_user)
    if module == "__main__":
        found.discard(path)
    return _digest_of(found)


@cache
def code_of_method(file: str) -> str:
    """SHA-256 of a file of ``agents`` or ``baselines`` and those it imports from there; "" where they do not count.

    Where fsgym is installed its version identifies them. In a clone one works on them, and a stored result is that of
    the code of then.
    """
    if _is_installed(file) or not _is_of_methods(file):
        return ""
    return _digest_of(_with_imports(Path(file).resolve(), [ROOT], _is_of_methods))


def _is_of_methods(file: str) -> bool:
    """Whether a file belongs to a method; the ``__init__.py`` with the names of all of them does not."""
    path = Path(file)
    return any(path.is_relative_to(ROOT / p) and path != ROOT / p / "__init__.py" for p in METHOD_PACKAGES)


def _with_imports(path: Path, folders: list[Path], counts: Callable[[str], bool]) -> set[Path]:
    """A file and those that it imports, as far as they count."""
    found, to_read = set[Path](), [path]
    while to_read:
        own = to_read.pop()
        if own not in found:
            found.add(own)
            to_read += _imported_files(own, folders, counts)
    return found


def _digest_of(files: set[Path]) -> str:
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(files))).hexdigest() if files else ""


def _imported_files(path: Path, folders: list[Path], counts: Callable[[str], bool]) -> list[Path]:
    """The files that count and that a file names in import statements, also in functions; packages may lack a file."""
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return []
    names: list[tuple[list[Path], str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [(folders, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            places = folders if node.level == 0 else list(path.parents[node.level - 1 : node.level])
            stem = f"{node.module}." if node.module else ""
            names += [(places, stem + alias.name) for alias in node.names]
    files = [path.parent / "__init__.py"]
    for places, name in names:
        parts = name.split(".")
        for place in places:
            for n in range(1, len(parts) + 1):
                module = place.joinpath(*parts[:n])
                files += [module.with_name(f"{module.name}.py"), module / "__init__.py"]
    return [file.resolve() for file in files if file.is_file() and counts(str(file.resolve()))]
