"""What users pass to classifiers: arrays, DataFrames, Series and data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from fsgym.data.checks import is_missing_label, refuse_missing_labels
from fsgym.data.dataset import Dataset
from fsgym.data.groups import default_names
from fsgym.text.messages import brief

if TYPE_CHECKING:
    import pandas as pd


def as_frame(X: Any) -> Any:
    """A DataFrame of another library as one of pandas, a Series as a DataFrame of one row; anything else as it is."""
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
    check_classification_targets(labels)
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
