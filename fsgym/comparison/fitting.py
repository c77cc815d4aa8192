"""How a setting of a method is fitted on a part of the data, and what is stored of an evaluation: plain numbers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from fsgym.comparison.policies import PolicyFactory
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation, evaluate
from fsgym.rules import Rules
from fsgym.rules.labels import is_frame
from fsgym.runner.results import number, optional, share
from fsgym.text.messages import one_line

NAMED_OPTIONS = ("groups", "costs", "unrelated_costs", "related", "prerequisites")  # may name columns
SHARE_FIGURES = ("accuracy", "sparsity", "admissible", "illegal")  # of the figures of an evaluation, those from 0 to 1
LOSS_PARTS, LOSS_DIGITS = ("error_cost", "spent"), 12  # losses that differ by less are equal
FIGURE_CHECKS = {name: optional(share if name in SHARE_FIGURES else number) for name in Evaluation.FIGURES}


def fit_on(part: Dataset, candidate: Any, rules: Rules, seed: int) -> Any:
    """A clone of the candidate, fitted; for a ``PolicyFactory``, the policy that it trains."""
    if isinstance(candidate, PolicyFactory):
        return candidate.policy(part, rules, seed)
    return with_seed(candidate, seed).fit(*training_arguments(candidate, part))


def fit_settings(
    part: Dataset, candidates: Sequence[Any], rules: Rules, seed: int, lams: Sequence[float] | None = None
) -> Sequence[Any]:
    """Each candidate, fitted.

    With ``lams``, the prices of the candidates, a method with a ``path`` fits all at once, which shares work between
    them; one candidate is then enough.
    """
    if lams is not None and hasattr(candidates[0], "path"):
        first = with_seed(candidates[0], seed)
        return first.path(*training_arguments(first, part), list(lams))
    return [fit_on(part, candidate, rules, seed) for candidate in candidates]


def evaluate_at_prices(
    candidates: Sequence[Any],
    train: Dataset,
    test: Dataset,
    rules: Sequence[Rules],
    seed: int,
    held_out: Sequence[tuple[Dataset, Dataset]] | None = None,
) -> tuple[Sequence[Any], list[Evaluation], float]:
    """A method at each price: fitted on ``train`` at its setting for this price, and evaluated on ``test``.

    Parameters
    ----------
    candidates : list of estimators, or of ``PolicyFactory``
        Those of a method that takes prices, one for each, or one with a ``path``. With ``held_out`` they are settings
        that are no prices.
    train : Dataset
    test : Dataset, as the fitted models take it
    rules : sequence of Rules, one for each price, which differ in ``lam``
    seed : int
    held_out : sequence of pairs (rows to fit on, validation rows), optional
        At each price the setting with the lowest loss on all validation rows is fitted again; of equal ones, the first.

    Returns
    -------
    models, evaluations : of each price; one model may serve several prices
    seconds : float, the processor time of all fits, with the choice of the settings
    """
    start, lams = time.process_time(), [r.lam for r in rules]
    if held_out is None:
        models = fit_settings(train, candidates, rules[0], seed, lams)
    else:
        best = [0] * len(lams)
        if len(candidates) > 1:
            shares = np.array([validation.n_samples for _, validation in held_out], float)
            shares /= shares.sum()
            tried = [
                [evaluate(m, validation, rules[0]) for m in fit_settings(fit, candidates, rules[0], seed)]
                for fit, validation in held_out
            ]
            errors, spent = (shares @ [[getattr(r, name) for r in part] for part in tried] for name in LOSS_PARTS)
            best = [int((errors + lam * spent).round(LOSS_DIGITS).argmin()) for lam in lams]
        chosen = sorted(set(best))
        fitted = dict(zip(chosen, fit_settings(train, [candidates[k] for k in chosen], rules[0], seed)))
        models = [fitted[k] for k in best]
    seconds = time.process_time() - start
    return models, [evaluate(m, test, r) for m, r in zip(models, rules, strict=True)], seconds


def with_seed(candidate: Any, seed: int) -> Any:
    """A clone of the estimator, in which each random state that was None is the seed."""
    estimator = clone(candidate)
    unseeded = {
        name: seed
        for name, value in estimator.get_params().items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**unseeded)


def training_arguments(candidate: Any, part: Dataset) -> tuple[Any, Any]:
    """X and y for ``fit``: arrays, or for an agent a data set if its names, groups or row groups are needed."""
    labels = part.classes[part.y]
    if not hasattr(candidate, "labelled_dataset"):
        return part.to_array(), labels
    options = [getattr(candidate, name, None) for name in NAMED_OPTIONS]
    by_name = any(isinstance(option, Mapping) or is_frame(option) for option in options)
    if by_name or (part.groups is not None and getattr(candidate, "groups", None) is None):
        return part, None
    if part.row_groups is not None:
        return Dataset(part.to_array(), labels, row_groups=part.row_groups), None
    return part.to_array(), labels


def first_warning(caught: Sequence[warnings.WarningMessage]) -> str | None:
    """The first of the recorded warnings that is not a deprecation, on one line; None without any."""
    for warning in caught:
        if not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning):
            return f"{warning.category.__name__}: {one_line(warning.message, 300)}"
    return None


def finite_or_none(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures with None in place of NaN and infinity, which JSON does not have."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in figures.items()}


def acquisition_figures(result: Evaluation) -> dict[str, list]:
    """``histogram[k]``, the number of rows with k acquisitions, and ``usage[j]``, the share with acquisition j."""
    taken, rules = result.rules.acquisitions_of(result.used), result.rules
    return {
        "histogram": np.bincount(taken.sum(axis=1), minlength=rules.n_acquisitions + 1).tolist(),
        "usage": taken.mean(axis=0).tolist(),
    }


def curve_figures(result: Evaluation, model: Any, train: Dataset) -> dict[str, Any]:
    """What curves of accuracy over sparsity, and pictures of what is used, need of a setting.

    Returns
    -------
    dict
        ``chance``, the test accuracy of always answering the training part's largest class; ``sparsity_within``, the
        standard deviation over the test rows of the share of features not used; ``wrong[k]``, the number of test rows
        that are misclassified with k acquisitions; ``history``, the training loss after each iteration, if the method
        records it; for images ``class_usage`` and ``class_right``, usage and number of the correctly classified test
        rows of each class.
    """
    taken, test = result.rules.acquisitions_of(result.used), result.dataset
    correct = result.answers == test.y
    figures: dict[str, Any] = {
        "chance": chance_accuracy(train, test),
        "sparsity_within": float(result.used.sum(axis=1).std() / result.used.shape[1]),
        "wrong": np.bincount(taken[~correct].sum(axis=1), minlength=result.rules.n_acquisitions + 1).tolist(),
        "history": [float(h["loss"]) for h in getattr(model, "history_", [])] or None,
    }
    if test.image_shape is not None:
        rows = [correct & (test.y == k) for k in range(test.n_classes)]
        figures["class_right"] = [int(r.sum()) for r in rows]
        figures["class_usage"] = [taken[r].mean(axis=0).tolist() if r.any() else None for r in rows]
    return figures


def chance_accuracy(train: Dataset, test: Dataset) -> float:
    """The test accuracy of always answering the largest class of the training part."""
    return float((test.y == np.bincount(train.y, minlength=train.n_classes).argmax()).mean())
