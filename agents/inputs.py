"""What users pass to classifiers: arrays, DataFrames, Series and data sets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from fsgym.data.cells import FINITE_NUMBERS
from fsgym.data.checks import as_pandas, default_names, is_missing_label, refuse_missing_labels
from fsgym.data.dataset import Dataset
from fsgym.data.weights import check_row_weights
from fsgym.rules.rules import cheapest_answers
from fsgym.support.checks import check_number
from fsgym.text.messages import brief, listing

if TYPE_CHECKING:
    import pandas as pd


def as_frame(X: Any) -> Any:
    """A DataFrame of another library as one of pandas, a Series as a DataFrame of one row; anything else as it is."""
    X = as_pandas(X)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "iloc") and hasattr(X, "to_frame") and not hasattr(X, "columns"):
        return X.to_frame().T.infer_objects()
    return X


def has_names(X: Any) -> bool:
    """Whether the columns of a DataFrame have names.

    As in scikit-learn, numbers are no names, and names beside numbers raise TypeError. Names of several levels raise
    ValueError.
    """
    if X.columns.nlevels > 1:
        raise ValueError(
            f"the names of the columns must be single texts, got {brief(X.columns[0])} of {X.columns.nlevels} levels; "
            "join them: X.columns = X.columns.map('_'.join)"
        )
    texts = [isinstance(name, str) for name in X.columns]
    if any(texts) and not all(texts):
        odd = next(name for name in X.columns if not isinstance(name, str))
        raise TypeError(
            f"the names of the columns must all be text, got {brief(odd)} beside "
            f"{brief(X.columns[texts.index(True)])}; rename them: X.columns = X.columns.astype(str)"
        )
    return all(texts)


def without_names(X: pd.DataFrame) -> pd.DataFrame:
    """The table with the default names x0, x1, ..."""
    return X.set_axis(default_names(X.shape[1]), axis=1)


def dataset_of_frame(X: pd.DataFrame, y: Any) -> Dataset:
    """The training data of a table: text and categories are encoded, suspicious columns are refused.

    Raises ValueError or TypeError if labels are missing or continuous, or a column is not usable; the message says what
    to do.
    """
    import pandas as pd

    from fsgym.data.reading.frames import dataset_of, infer_columns
    from fsgym.data.reading.reading import Reading, examined
    from fsgym.data.suspicions import find_label_suspicion

    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None; pass the labels, or a Dataset")
    if 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}")
    labels = plain_labels(y)
    check_consistent_length(X, labels)
    check_labels(labels)
    suspicion = find_label_suspicion(pd.Series(labels))
    if suspicion is not None:
        raise ValueError(suspicion.sentence("y"))
    named = X if has_names(X) else without_names(X)
    repeated = named.columns[named.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"X has two columns {repeated[0]!r}; rename or remove one")
    named = named.reset_index(drop=True)
    try:
        named = examined(named, Reading(target=""), "X")
    except ValueError as error:
        raise ValueError(
            f"{error} (options of fsgym.load_dataset, which takes a DataFrame; fit takes its result)"
        ) from None
    return dataset_of(infer_columns(named), named, labels, classes=np.unique(labels), name="X")


def plain_labels(y: Any) -> NDArray:
    """Labels as an array (n_samples,) of a plain dtype; ValueError where one is missing.

    The nullable dtypes of pandas, and Python objects of one kind, become numbers, bools or text.
    """
    y = as_pandas(y)
    refuse_missing_labels(y)
    dtype: Any = getattr(y, "dtype", None)
    plain = dtype is None or isinstance(dtype, np.dtype) or dtype.name == "category"
    labels = column_or_1d(y if plain or not hasattr(y, "isna") else np.asarray(y, dtype=object), warn=True)
    if labels.dtype != object:
        return labels
    if any(map(is_missing_label, labels)):
        raise ValueError("y must not hold missing labels; drop the rows without a label")
    kinds = {type(v) for v in labels}
    same = len(kinds) == 1 and kinds.pop() in (int, float, bool, np.bool_)
    return np.array(labels.tolist()) if same else labels


def check_labels(labels: Any) -> None:
    """ValueError unless the labels (n_samples,) are classes for scikit-learn; of numbers it says what to do."""
    if type_of_target(labels) == "continuous":
        odd = next(v for v in labels.tolist() if v != int(v))
        raise ValueError(
            f"y must hold classes, got continuous numbers such as {odd:g}; for a numeric target pass bins=16 to "
            "fsgym.Dataset or fsgym.load_dataset, and fit its result"
        )
    check_classification_targets(labels)


def in_words(error: Exception) -> Exception:
    """What scikit-learn says of an array X that it does not take, where that does not say what to do in a sentence."""
    if isinstance(error, OverflowError):
        return ValueError(f"X must hold {FINITE_NUMBERS}, got an int beyond them; use NaN for a missing value")
    if "could not convert string to float" in str(error):
        text = re.sub(r"^np\.str_\((.*)\)$", r"\1", str(error).partition(": ")[2])
        return ValueError(
            f"X must hold numbers where it is an array, got {text}, which is none; pass a "
            "DataFrame, of which columns of text are categories"
        )
    return error


def check_two_classes(dataset: Dataset) -> None:
    """ValueError where all rows are of one class."""
    present = np.unique(dataset.y)
    if len(present) < 2:
        raise ValueError(f"y must have at least two classes, got one class only: {dataset.classes[present].tolist()}")


def same_kind(labels: NDArray, classes: NDArray) -> NDArray:
    """Labels that a file or a JSON text has as text or numbers, in the type of the classes where they are the same."""
    if labels.dtype.kind == classes.dtype.kind or labels.dtype.kind == "O":
        return labels
    texts = {str(c): c for c in classes.tolist()}
    given = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in labels.tolist()]
    if all(v in texts for v in given):
        return np.array([texts[v] for v in given], dtype=classes.dtype)
    return labels


# Weights of the training rows, from ``sample_weight`` and ``class_weight``.

MIN_SHARE = 1e-30  # of the largest weight; smaller weights count as this, against overflow of their inverses


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
    dataset: Dataset, weight: NDArray[np.float64] | None, answer_costs: NDArray[np.float64]
) -> int:
    """The answer with the lowest weighted mean error cost over the rows; ties go to the first class."""
    totals = np.bincount(dataset.y, weight, minlength=dataset.n_classes)
    return int(cheapest_answers(totals[None] / totals.sum(), answer_costs)[0])


def _relative(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights divided by the largest one; those above 0 stay above 0."""
    return np.where(weight > 0, np.maximum(weight / (weight.max() or 1.0), MIN_SHARE), 0.0)


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
