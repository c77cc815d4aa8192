"""Model files of any kind."""

from __future__ import annotations

import os

from agents import model_file
from agents.base import BaseAgentClassifier
from fsgym.methods import METHODS, class_of, find_method, method_names


def load_classifier(path: str | os.PathLike) -> BaseAgentClassifier:
    """The fitted classifier of a model file, of whichever kind; nothing in the file is executed.

    The kinds are those of the methods that ``fsgym.compare`` knows by name, also of other distributions; where two
    declare the same kind, the first has it.

    Raises OSError where it cannot be read, ValueError where it is damaged or holds no classifier.
    """
    kind = model_file.kind_of(path)
    for name in method_names():
        try:
            method = find_method(name)
        except (ImportError, TypeError):  # a method of another distribution, which is broken
            continue
        if method.kind == kind:
            return class_of(method).load(path)
    kinds = dict.fromkeys(method.kind for method in METHODS.values() if method.kind)
    raise ValueError(
        f"{path} holds a model of kind {kind!r}, not one of {', '.join(kinds)}; a kind of another package must be "
        "registered first, with fsgym.register_method or an entry point"
    )
