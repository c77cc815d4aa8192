"""Compute a cell of a study: fit one setting of a method on one training part, and return plain numbers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.fitting import FIGURE_CHECKS, acquisition_figures, finite_or_none, first_warning, fit_on
from fsgym.comparison.splits import Split
from fsgym.dataset import Dataset
from fsgym.evaluation import Evaluation, evaluate
from fsgym.rules import Rules
from fsgym.runner.results import count, list_of, record, returns, share

FIT_AND_EVALUATE = "fsgym_studies.common.cell:fit_and_evaluate"  # as a task names it


@returns(
    record(**FIGURE_CHECKS, n_train=count, n_test=count, chance=share, histogram=list_of(count), wrong=list_of(count))
)
def fit_and_evaluate(
    data: Dataset,
    *,
    candidate: Any,
    rules: Mapping[str, Any],
    split: Split | None,
    seed: int,
    test: Dataset | None = None,
) -> dict[str, Any]:
    """Fit a method on the training part and evaluate it on the test part; nothing is held out for validation.

    Parameters
    ----------
    data : Dataset
    candidate : estimator, unfitted, at one setting
    rules : mapping, options of ``Rules`` by which it is evaluated
    split : Split, or None with an official test part
    seed : int, ``random_state`` of the method, if it has one
    test : Dataset, optional, the official test part; ``data`` is then the training part

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
    train, test = train_and_test(data, split, test)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = fit_on(train, candidate, Rules.for_dataset(train, **rules), seed)
        result = evaluate(model, test, Rules.for_dataset(test, **rules))
    history = [float(h["loss"]) for h in getattr(model, "history_", [])] or None
    return cell_figures(result, train) | {"history": history, "warning": first_warning(caught)}


def train_and_test(data: Dataset, split: Split | None, test: Dataset | None = None) -> tuple[Dataset, Dataset]:
    """The training and the test part: the official ones, if there is an official ``test`` part."""
    if test is not None:
        return data, test
    if split is None:
        raise ValueError("a cell needs a split or an official test part")
    return split.divide(data)


def chance_accuracy(train: Dataset, test: Dataset) -> float:
    """The test accuracy of always answering the largest class of the training part."""
    return float((test.y == np.bincount(train.y, minlength=train.n_classes).argmax()).mean())


def cell_figures(result: Evaluation, train: Dataset) -> dict[str, Any]:
    """The numbers of an evaluation from which tables and pictures are made; undefined values are None."""
    taken = result.rules.acquisitions_of(result.used)
    correct = result.answers == result.dataset.y
    wrong = np.bincount(taken[~correct].sum(axis=1), minlength=result.rules.n_acquisitions + 1)
    numbers: dict[str, Any] = {
        **result.figures(),
        "n_train": train.n_samples,
        "n_test": len(correct),
        "chance": chance_accuracy(train, result.dataset),
        "sparsity_within": float(result.used.sum(axis=1).std() / result.used.shape[1]),
        "wrong": wrong.tolist(),
        **acquisition_figures(result),
    }
    if result.dataset.image_shape is not None:
        numbers |= _by_class(result, taken, correct)
    return finite_or_none(numbers)


def _by_class(result: Evaluation, taken: NDArray[np.bool_], correct: NDArray[np.bool_]) -> dict[str, Any]:
    rows = [correct & (result.dataset.y == k) for k in range(result.dataset.n_classes)]
    return {
        "class_right": [int(r.sum()) for r in rows],
        "class_usage": [taken[r].mean(axis=0).tolist() if r.any() else None for r in rows],
    }
