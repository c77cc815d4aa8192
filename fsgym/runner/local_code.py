"""The code of the user: its files, so that a stored result is not used after they changed, and its lines in errors."""

from __future__ import annotations

import hashlib
import inspect
import os
import sysconfig
import traceback
from functools import cache, partial
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any

from fsgym.checks import one_line

VERSIONED_PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")  # the version of fsgym identifies their code


def error_with_line(error: BaseException) -> str:
    """The class and the message of an error, and the last line that it passed in code of the user, on one line."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if _is_of_user(f.filename)]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {one_line(error, 500)}{place}"


def _is_of_user(file: str) -> bool:
    """Whether a file is neither a part of an installed package nor of fsgym."""
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    folders += [Path(__file__).resolve().parents[2] / package for package in VERSIONED_PACKAGES]
    return not file.startswith("<") and not any(Path(file).is_relative_to(folder) for folder in folders)


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
    root = path.parents[module.count(".") + (path.name == "__init__.py")]
    finder = ModuleFinder(path=[working_directory, str(root)], excludes=VERSIONED_PACKAGES)
    try:
        if "." in module or path.name == "__init__.py":
            finder.import_hook(module)
        else:
            finder.run_script(str(path))
    except (ImportError, SyntaxError):  # a module that was made while running
        return ""
    places = [vars(imported).get("__file__") for imported in finder.modules.values()]
    found = {Path(place).resolve() for place in places if place}
    if module == "__main__":
        found.discard(path)
    contents = [own.read_bytes() for own in sorted(found) if own.suffix == ".py"]
    return hashlib.sha256(b"\0".join(contents)).hexdigest() if contents else ""
