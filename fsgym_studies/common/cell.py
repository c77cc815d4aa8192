"""Compute a cell of a study: fit one method at one setting on one training part, and return plain numbers."""

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

FIT_AND_EVALUATE = "fsgym_studies.common.cell:fit_and_evaluate"  # as a task names it


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
    """Fit a method on the training part and evaluate it on the test part; nothing is held out for validation.

    Parameters
    ----------
    data : Dataset
    method : str, a name of ``METHODS``
    params : mapping, constructor parameters of the setting
    rules : mapping, options of ``Rules`` by which every method is evaluated; methods that know prices also get them
    part : mapping
        ``{"share": .5, "seed": 3}`` for a random stratified split; ``{"folds": 5, "fold": 0, "seed": 3}`` for one
        fold; ``{}`` where ``data`` is the training part and ``test`` the test part.
    seed : int, ``random_state`` of the method, if it has one
    test : Dataset, optional

    Returns
    -------
    dict
        ``Evaluation.FIGURES``, n_train and n_test; ``chance``, the test accuracy of always answering the training
        part's largest class; ``sparsity_within``, the standard deviation over the test rows of the share of features
        not used; ``histogram[k]``, the number of test rows with k acquisitions, and ``wrong[k]``, how many of these
        are misclassified; ``usage[j]``, the share of test rows with acquisition j; ``history``, the
        training loss after each iteration, if the method records it; ``warning``, the first warning of the fit; for
        images ``class_usage`` and ``class_right``, usage and number of the correctly classified test rows of each
        class.
    """
    train, test = (data, test) if test is not None else parts_of(data, part)
    entry = find_method(method)
    cls = load_class(entry)
    estimator = cls(**entry.preset, **params, **(supported_options(cls, rules) if entry.prices else {}))
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(train.X, train.classes[train.y])
        result = evaluate(estimator, test, Rules.for_dataset(test, **rules))
    relevant = [w for w in caught if not issubclass(w.category, DeprecationWarning | PendingDeprecationWarning)]
    return cell_figures(result, train) | {
        "history": [float(h["loss"]) for h in getattr(estimator, "history_", [])] or None,
        "warning": f"{relevant[0].category.__name__}: {' '.join(str(relevant[0].message).split())[:300]}"
        if relevant
        else None,
    }


def parts_of(data: Dataset, part: Mapping[str, Any]) -> tuple[Dataset, Dataset]:
    """The training and the test part of a data set; ``part`` as ``fit_and_evaluate`` takes it, but not empty."""
    if "folds" in part:
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(part["folds"], shuffle=True, random_state=part["seed"])
        train, test = list(folds.split(data.X, data.y))[part["fold"]]
        return data.rows(train), data.rows(test)
    return data.split(part["share"], part["seed"])


def cell_figures(result: Evaluation, train: Dataset) -> dict[str, Any]:
    """The numbers of an evaluation from which tables and pictures are made; undefined values are None."""
    taken = result.rules.acquisitions_of(result.used)
    counts, correct = taken.sum(axis=1), result.answers == result.dataset.y
    bins = result.rules.n_acquisitions + 1
    largest = np.bincount(train.y, minlength=train.n_classes).argmax()
    numbers: dict[str, Any] = {
        **result.figures(),
        "n_train": train.n_samples,
        "n_test": len(correct),
        "chance": float((result.dataset.y == largest).mean()),
        "sparsity_within": float(result.used.sum(axis=1).std() / result.used.shape[1]),
        "histogram": np.bincount(counts, minlength=bins).tolist(),
        "wrong": np.bincount(counts[~correct], minlength=bins).tolist(),
        "usage": taken.mean(axis=0).tolist(),
    }
    if result.dataset.image_shape is not None:
        numbers |= _by_class(result, taken, correct)
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in numbers.items()}


def _by_class(result: Evaluation, taken: NDArray[np.bool_], correct: NDArray[np.bool_]) -> dict[str, Any]:
    rows = [correct & (result.dataset.y == k) for k in range(result.dataset.n_classes)]
    return {
        "class_right": [int(r.sum()) for r in rows],
        "class_usage": [taken[r].mean(axis=0).tolist() if r.any() else None for r in rows],
    }
