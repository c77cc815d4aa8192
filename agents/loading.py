"""Model files of any kind."""

from __future__ import annotations

import os

from agents import model_file
from agents.deep import SB3Classifier
from agents.lattice import LatticeClassifier
from agents.rcpi.classifier import DatumWiseClassifier

KINDS: dict[str, type[DatumWiseClassifier] | type[LatticeClassifier] | type[SB3Classifier]] = {
    "linear": DatumWiseClassifier,
    "lattice": LatticeClassifier,
    "network": SB3Classifier,
}


def load_classifier(path: str | os.PathLike) -> DatumWiseClassifier | LatticeClassifier | SB3Classifier:
    """The fitted classifier of a model file, of whichever kind; nothing in the file is executed.

    Raises OSError where it cannot be read, ValueError where it is damaged or holds no classifier.
    """
    kind = model_file.kind_of(path)
    if kind not in KINDS:
        raise ValueError(f"{path} holds a model of kind {kind!r}, not one of {', '.join(KINDS)}")
    return KINDS[kind].load(path)
