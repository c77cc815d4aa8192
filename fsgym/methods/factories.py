"""Factories of policies, ``train(env) -> policy``, named as ``module:factory``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from fsgym.runner.local_code import error_with_line
from fsgym.text.messages import brief, did_you_mean

FILE_MODULE = "fsgym_policy_"  # start of the names of modules that are files of the user


def named_reference(text: str) -> tuple[str, str]:
    """The name and the reference of ``NAME=module:factory``; without a name, the last part of the reference is it.

    Raises ValueError if nothing stands before the ``=``.

    >>> named_reference("k best=folder/mine.py:train"), named_reference("folder/mine.py:train")
    (('k best', 'folder/mine.py:train'), ('mine.py:train', 'folder/mine.py:train'))
    """
    name, equals, reference = text.partition("=")
    if not equals or ":" in name or "/" in name:  # the sign is part of a path
        return Path(text).name, text
    if not name.strip():
        raise ValueError(f"a name must stand before the = of NAME=module:factory, got {text!r}; name it or drop the =")
    return name.strip(), reference


def load_factory(reference: str) -> Callable[[Any], Any]:
    """The function that ``module:factory`` or ``path/to/file.py:factory`` names.

    The module is imported, or the file is run as a module.

    Raises
    ------
    ValueError
        If the reference has another form, the module cannot be imported, or has no such function.
    """
    source, _, name = reference.rpartition(":")
    if not source or not name:
        raise ValueError(f"a factory must be named as module:factory or path/to/file.py:factory, got {reference!r}")
    module = _run_file(Path(source)) if source.endswith(".py") else _import(source)
    factory = getattr(module, name, None)
    if factory is None:
        known = [k for k, v in vars(module).items() if callable(v) and not k.startswith("_")]
        place = getattr(module, "__file__", "a built-in module")
        raise ValueError(f"{source} has no {name!r}{did_you_mean(name, known)} (it is {place})")
    if not callable(factory):
        raise ValueError(f"{reference} must be a function train(env) -> policy, got {brief(factory)}")
    return factory


def train_policy(factory: Callable[[Any], Any], name: str, env: Any) -> Any:
    """The policy that ``factory(env)`` returns; ValueError if it fails or returns None. ``name`` is for messages."""
    try:
        policy = factory(env)
    except Exception as error:
        raise ValueError(f"{name} failed in training: {error_with_line(error)}") from error
    if policy is None:
        raise ValueError(f"{name} must return a policy, got None; does it end with return?")
    return policy


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ValueError(
                f"there is no module {name!r} in the current directory or among the installed packages"
            ) from error
        raise ValueError(f"{name} cannot be imported: {error_with_line(error)}") from error
    except Exception as error:
        raise ValueError(f"{name} cannot be imported: {error_with_line(error)}") from error


_run: dict[Path, tuple[bytes, ModuleType]] = {}  # files that were run: their content, and the module


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"there is no file {path}; its factory cannot be loaded")
    name, place, source = f"{FILE_MODULE}{path.stem}", path.resolve(), path.read_bytes()
    known, module = _run.get(place, (b"", None))
    if module is not None and known == source:  # several functions of one file are of one module
        sys.modules[name] = module
        return module
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:  # cannot happen for a name that ends with .py
        raise ValueError(f"{path} cannot be read as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        # Always from the source: functions read from bytecode have other pickles, so their fits would not be resumed.
        exec(compile(source, str(spec.origin), "exec"), vars(module))
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be run: {error_with_line(error)}") from error
    _run[place] = source, module
    return module
