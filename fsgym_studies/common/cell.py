"""The work of a study's cell: one method at one setting, fitted on one training part, told as plain numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate
from fsgym.methods import find_method, load_class, supported_options
from fsgym.rules import Rules

CALL = "fsgym_studies.common.cell:fit_and_evaluate"


def fit_and_evaluate(
    data: Dataset,
    *,
    method: str,
    params: Mapping[str, Any],
    rules: Mapping[str, Any],
    part: Mapping[str, Any],
    seed: int,
    test: Dataset | None = None,
) -> dict[str, Any]:
    """Fit on the training part, evaluate on the test part; no validation fit.

    Parameters
    ----------
    data : Dataset
    method : str, a name of ``METHODS``
    params : mapping, constructor parameters of the setting
    rules : mapping, options of ``Rules`` by which everything is priced; methods that plan are given them
    part : mapping
        ``{"share": .5, "seed": 3}``, a random stratified split; ``{"folds": 5, "fold": 0, "seed": 3}``, one fold;
        or ``{}``, where ``test`` is the test part.
    seed : int, of the method, where it takes one
    test : Dataset, optional

    Returns
    -------
    dict
        ``Evaluation.FIGURES`` and n_train, n_test; ``chance``, the accuracy of the training part's largest class;
        ``sparsity_within``, the standard deviation of the share not used over the test rows; ``histogram[k]`` and
        ``wrong[k]``, test rows (those answered wrongly) decided with k acquisitions; ``usage[j]``, the share of
        test rows that acquisition j was made for; ``history``, the training loss after each iteration, of methods
        that have one; ``warning``, the first of the fit; for images ``class_usage`` and ``class_right``, usage and
        number of each class's test rows that were answered correctly.
    """
    train, test = (data, test) if test is not None else parts_of(data, part)
    entry = find_method(method)
    cls = load_class(entry)
    estimator = cls(**entry.preset, **params, **(supported_options(cls, rules) if entry.prices else {}))
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        estimator.fit(train.X, train.classes[train.y])
        result = evaluate(estimator, test, Rules.for_dataset(test, **rules))
    telling = [w for w in said if not issubclass(w.category, DeprecationWarning | PendingDeprecationWarning)]
    return told(result, train) | {
        "history": [float(h["loss"]) for h in getattr(estimator, "history_", [])] or None,
        "warning": f"{telling[0].category.__name__}: {' '.join(str(telling[0].message).split())[:200]}"
        if telling
        else None,
    }


def parts_of(data: Dataset, part: Mapping[str, Any]) -> tuple[Dataset, Dataset]:
    """Training and test part."""
    if "folds" in part:
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(part["folds"], shuffle=True, random_state=part["seed"])
        train, test = list(folds.split(data.X, data.y))[part["fold"]]
        return data.rows(train), data.rows(test)
    return data.split(part["share"], part["seed"])


def told(result: Evaluation, train: Dataset) -> dict[str, Any]:
    """The numbers of an evaluation that tables and figures are made of; values that are undefined are None."""
    taken = result.rules.acquisitions_of(result.used)
    counts, right = taken.sum(axis=1), result.answers == result.dataset.y
    bins = result.rules.n_acquisitions + 1
    largest = np.bincount(train.y, minlength=train.n_classes).argmax()
    numbers: dict[str, Any] = {
        **result.figures(),
        "n_train": train.n_samples,
        "n_test": len(right),
        "chance": float((result.dataset.y == largest).mean()),
        "sparsity_within": float(result.used.sum(axis=1).std() / result.used.shape[1]),
        "histogram": np.bincount(counts, minlength=bins).tolist(),
        "wrong": np.bincount(counts[~right], minlength=bins).tolist(),
        "usage": taken.mean(axis=0).tolist(),
    }
    if result.dataset.image_shape is not None:
        numbers |= _by_class(result, taken, right)
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in numbers.items()}


def _by_class(result: Evaluation, taken: NDArray[np.bool_], right: NDArray[np.bool_]) -> dict[str, Any]:
    rows = [right & (result.dataset.y == k) for k in range(result.dataset.n_classes)]
    return {
        "class_right": [int(r.sum()) for r in rows],
        "class_usage": [taken[r].mean(axis=0).tolist() if r.any() else None for r in rows],
    }
