"""The data sets that come with scikit-learn; they need no file and no network."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsgym.data.dataset import Dataset


class Shape(NamedTuple):
    """What is known about a data set before it is loaded."""

    n_samples: int
    n_features: int
    n_classes: int
    image_shape: tuple[int, int] | None = None


EMBEDDED = {
    "breast_cancer": Shape(569, 30, 2),
    "wine": Shape(178, 13, 3),
    "digits": Shape(1797, 64, 10, (8, 8)),
}


def load_embedded(name: str) -> Dataset:
    """A data set of ``EMBEDDED``, with class names as labels."""
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    labels = np.asarray(bunch.target_names)[bunch.target]
    return Dataset(
        bunch.data,
        labels,
        feature_names=[str(v) for v in bunch.feature_names],
        image_shape=EMBEDDED[name].image_shape,
        name=name,
    )
