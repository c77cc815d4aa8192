"""Loading model files of any kind."""

from __future__ import annotations

import os

from agents import model_file
from agents.base import BaseAgentClassifier
from fsgym.methods import METHODS, class_of, find_method, method_names
from fsgym.text.messages import brief


def load_classifier(path: str | os.PathLike) -> BaseAgentClassifier:
    """Load a fitted classifier of any kind from a model file; nothing in the file is executed.

    The kinds are those of the methods that ``fsgym.compare`` knows by name, including methods of other distributions.
    If two methods declare the same kind, the first one loads it.

    Raises OSError if the file cannot be read, ValueError if it is damaged or contains no classifier of a known kind.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier, load_classifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[:, [6, 10]], y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.safetensors")
    ...     loaded = load_classifier(f"{folder}/model.safetensors")
    >>> type(loaded).__name__, loaded.lam_
    ('LatticeClassifier', 0.05)
    """
    kind = model_file.read_kind(path)
    for name in method_names():
        try:
            method = find_method(name)
        except (ImportError, TypeError):  # a broken method of another distribution
            continue
        if method.kind and method.kind == kind:  # that of a method without model files is empty
            return class_of(method).load(path)
    kinds = dict.fromkeys(method.kind for method in METHODS.values() if method.kind)
    raise ValueError(
        f"{path} contains a model of kind {brief(kind)}, not one of {', '.join(kinds)}; a kind of another package must "
        "be registered first, with fsgym.register_method or an entry point"
    )
