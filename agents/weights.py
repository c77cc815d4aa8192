"""Weights of the training rows, from ``sample_weight`` and ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.data.dataset import Dataset
from fsgym.data.weights import check_row_weights
from fsgym.rules.labels import cheapest_answers
from fsgym.support.checks import check_number
from fsgym.text.messages import brief, listing

SMALLEST_SHARE = 1e-30  # of the largest weight; smaller weights count as this, against overflow of their inverses


def row_weights(
    class_weight: Any, sample_weight: ArrayLike | None, y: NDArray[np.int64], classes: NDArray
) -> NDArray[np.float64] | None:
    """The weight of each row: the product of both, divided by its mean over the rows where it is above 0.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping label -> weight
        As in scikit-learn. "balanced" gives all classes the same total weight. A class without an entry has weight 1.
    sample_weight : array-like of shape (n_samples,), optional
        Finite, at least 0.
    y : int64 (n_samples,), indices into ``classes``
    classes : array (n_classes,)

    Returns
    -------
    float64 (n_samples,), or None if all weights are equal

    Raises
    ------
    ValueError, TypeError
        If either is invalid, or fewer than two classes have rows with a weight above 0.

    Examples
    --------
    >>> import numpy as np
    >>> y, classes = np.array([0, 0, 0, 1]), np.array(["no", "yes"])
    >>> row_weights({"yes": 5}, None, y, classes)
    array([0.5, 0.5, 0.5, 2.5])
    >>> row_weights("balanced", [1, 0, 0, 7], y, classes)
    array([1., 0., 0., 1.])
    """
    if class_weight is None and sample_weight is None:
        return None
    weight = np.ones(len(y)) if sample_weight is None else check_row_weights(sample_weight, len(y))
    weight = _relative(weight)
    if class_weight is not None:
        weight = _relative(weight * _relative(_class_weights(class_weight, weight, y, classes)[y]))
    counted = weight > 0
    used = np.unique(y[counted])
    if len(used) < 2:
        raise ValueError(
            "at least two classes must have rows with a weight above 0, got "
            f"{classes[used].tolist()}; raise their sample_weight or class_weight"
        )
    if (weight[counted] == weight[counted][0]).all():
        return None if counted.all() else counted.astype(np.float64)
    return weight / weight[counted].mean()


def training_rows(
    dataset: Dataset, class_weight: Any, sample_weight: ArrayLike | None
) -> tuple[Dataset, NDArray[np.float64] | None]:
    """The rows with a weight above 0, and their weights as ``row_weights`` defines them; None if all are equal.

    The classes stay the same, including one whose rows all have weight 0.
    """
    weight = row_weights(class_weight, sample_weight, dataset.y, dataset.classes)
    if weight is None or (weight > 0).all():
        return dataset, weight
    counted = weight > 0
    weight = weight[counted]
    return dataset.rows(counted), None if (weight == weight[0]).all() else weight


def cheapest_constant_answer(
    dataset: Dataset, weight: NDArray[np.float64] | None, error_costs: NDArray[np.float64]
) -> int:
    """The answer with the lowest weighted mean error cost over the rows; ties go to the first class."""
    totals = np.bincount(dataset.y, weight, minlength=dataset.n_classes)
    return int(cheapest_answers(totals[None] / totals.sum(), error_costs)[0])


def _relative(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights divided by the largest one; those above 0 stay above 0."""
    return np.where(weight > 0, np.maximum(weight / (weight.max() or 1.0), SMALLEST_SHARE), 0.0)


def _class_weights(
    class_weight: Any, weight: NDArray[np.float64], y: NDArray[np.int64], classes: NDArray
) -> NDArray[np.float64]:
    """The weight of each class, float64 (n_classes,); ``weight`` are those of the rows, for "balanced"."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        counts = np.bincount(y, weights=weight, minlength=len(classes))
        factor = counts.sum() / np.count_nonzero(counts)
        return np.divide(factor, counts, out=np.zeros(len(classes)), where=counts > 0)
    if not isinstance(class_weight, Mapping):
        raise TypeError(
            f"class_weight must be None, 'balanced' or a mapping label -> weight, got {brief(class_weight)}"
        )
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown:
        raise ValueError(f"class_weight names {brief(unknown[0])}, which is not a class; they are {listing(labels)}")
    result = np.ones(len(labels))
    for k, label in enumerate(labels):
        if label in class_weight:
            result[k] = check_number(class_weight[label], f"class_weight of {brief(label)}", 0.0)
    return result
