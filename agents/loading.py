"""Model files of any kind."""

from __future__ import annotations

import os
from pkgutil import resolve_name

from agents import model_file
from agents.base import BaseAgentClassifier
from fsgym.methods import METHODS


def load_classifier(path: str | os.PathLike) -> BaseAgentClassifier:
    """The fitted classifier of a model file, of whichever kind; nothing in the file is executed.

    The kinds are those of the methods in ``fsgym.methods.METHODS``; where two declare the same, the first has it.

    Raises OSError where it cannot be read, ValueError where it is damaged or holds no classifier.
    """
    kind = model_file.kind_of(path)
    classes = {method.kind: method.where for method in reversed(METHODS.values()) if method.kind}
    if kind not in classes:
        raise ValueError(f"{path} holds a model of kind {kind!r}, not one of {', '.join(reversed(classes))}")
    return resolve_name(classes[kind]).load(path)
