"""A cell of the study of disjunctions: one approach on Boolean features, its settings chosen on the training part."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym_studies.common.cell import parts_of

CALL = "fsgym_studies.hkl.cell:nested"
HKL, L2, L1 = "HKL disjunctions", "L2-SVM", "L1-SVM"
CHI2, INFORMATION = "chi2", "information"
SELECTIONS = tuple(f"{score} + {machine}" for score in (CHI2, INFORMATION) for machine in (L2, L1))
METHODS = (HKL, L2, L1, *SELECTIONS)
INNER = 3  # stratified folds of the training part, by which settings are chosen
SHARES = (0.02, 0.1, 0.25, 0.5)  # of the Boolean features that a selection keeps
WEIGHTS = {L2: (1.0, 10.0, 100.0, 1000.0), L1: (0.01, 0.1, 1.0, 10.0)}  # C
SHOWN = 12  # rules of a fit that are told


def nested(
    data: Dataset,
    *,
    method: str,
    features: Mapping[str, Any],
    search: Mapping[str, Any],
    part: Mapping[str, Any],
    seed: int,
    test: Dataset | None = None,
) -> dict[str, Any]:
    """Make Boolean features of the training part, choose settings on it, and judge the choice by the test part.

    Parameters
    ----------
    data : Dataset, categories as columns of codes
    method : str, one of ``METHODS``
    features : mapping
        ``literals``, options of ``Booleanizer``; ``names``, what literals are called where their own names hold codes.
    search : mapping
        Of the disjunctions: ``grid``, settings to choose from; ``max_active``, most active ones.
    part : mapping, as of ``fit_and_evaluate``; empty where ``test`` is the test part
    seed : int, of the inner folds
    test : Dataset, optional

    Returns
    -------
    dict
        accuracy, chance, n_train, n_test; n_literals, Boolean features that vary; n_kept, rules, or Boolean features
        that the machine uses; n_features, columns of the data set that are looked at, and share_used, their share of
        all; inner, accuracy in the inner folds; params, the setting; of the disjunctions words, mean literals of a
        rule, status, gap, and rules, the heaviest ones.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    from baselines import Booleanizer

    train, test = (data, test) if test is not None else parts_of(data, part)
    booleanizer = Booleanizer(**features["literals"]).fit(train.X)
    names = features["names"]
    said = [names.get(str(n), str(n)) for n in booleanizer.get_feature_names_out(list(data.feature_names))]
    A, B = booleanizer.transform(train.X), booleanizer.transform(test.X)
    varied = np.flatnonzero(np.ptp(A, axis=0) > 0)
    A, B = A[:, varied], B[:, varied]
    estimator, settings = approach(method, len(varied), search, seed)
    folds = StratifiedKFold(INNER, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        chosen = GridSearchCV(estimator, settings, cv=folds).fit(A, train.y)
    used, told = looked_at(chosen.best_estimator_, method, [said[l] for l in varied])
    columns = {booleanizer.literals_[varied[k]].column for k in used}
    largest = np.bincount(train.y).argmax()
    return {
        "accuracy": float(np.mean(chosen.predict(B) == test.y)),
        "chance": float((test.y == largest).mean()),
        "n_train": train.n_samples,
        "n_test": test.n_samples,
        "n_literals": len(varied),
        "n_features": len(columns),
        "share_used": len(columns) / data.n_features,
        "inner": float(chosen.best_score_),
        "params": json.dumps(chosen.best_params_),
        **told,
    }


def approach(method: str, n: int, search: Mapping[str, Any], seed: int) -> tuple[Any, dict[str, list[float]]]:
    """An estimator for ``n`` Boolean features, and the settings to choose from, the simplest first."""
    from sklearn.feature_selection import SelectKBest
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.pipeline import Pipeline
    from sklearn.svm import SVC, LinearSVC

    from baselines import DisjunctionClassifier

    if method == HKL:
        return DisjunctionClassifier(max_active=search["max_active"]), {k: list(v) for k, v in search["grid"].items()}
    score, _, machine = method.rpartition(" + ")
    plain: Any = (
        SVC(kernel=rbf_kernel)
        if machine == L2  # its width is the number of features, LIBSVM's default
        else LinearSVC(penalty="l1", dual=False, intercept_scaling=10.0, max_iter=2000, random_state=seed)
    )
    steps, settings = [("machine", plain)], {"machine__C": list(WEIGHTS[machine])}
    if score:
        steps.insert(0, ("select", SelectKBest(partial(scores, score))))
        settings["select__k"] = sorted({max(1, round(share * n)) for share in SHARES})
    return Pipeline(steps), settings


def scores(name: str, X: Any, y: NDArray) -> NDArray[np.float64]:
    """How much each column of 0 and 1 tells of the class: chi-squared of its sums, or mutual information in nats."""
    X, members = np.asarray(X), np.equal.outer(np.unique(y), y).astype(np.float64)
    held, sizes = members @ X, members.sum(axis=1, keepdims=True)
    if name == CHI2:
        expected = sizes * X.mean(axis=0)
        return np.divide((held - expected) ** 2, expected, out=np.zeros_like(expected), where=expected > 0).sum(axis=0)
    total = np.zeros(X.shape[1])
    for joint in (held / len(y), (sizes - held) / len(y)):
        product = joint.sum(axis=0) * sizes / len(y)
        ratio = np.divide(joint, product, out=np.ones_like(joint), where=(joint > 0) & (product > 0))
        total += (joint * np.log(ratio)).sum(axis=0)
    return total


def looked_at(model: Any, method: str, said: list[str]) -> tuple[list[int], dict[str, Any]]:
    """Which Boolean features a model looks at, and what is told of it; ``said`` are their names."""
    if method != HKL:
        chosen = model["select"].get_support(indices=True) if "select" in model.named_steps else np.arange(len(said))
        coef = getattr(model["machine"], "coef_", None) if L1 in method else None
        used = chosen if coef is None else chosen[np.any(coef != 0, axis=0)]
        return used.tolist(), {"n_kept": len(used)}
    weights, rules = model.coef_[0], [" or ".join([said[l] for l in rule]) for rule in model.disjunctions_]
    order = np.argsort(-np.abs(weights), kind="stable")[:SHOWN]
    gap, lengths = float(model.dual_gap_), [len(rule) for rule in model.disjunctions_]
    return sorted({l for rule in model.disjunctions_ for l in rule}), {
        "n_kept": len(weights),
        "words": float(np.mean(lengths)) if lengths else None,
        "status": model.status_,
        "gap": gap if np.isfinite(gap) else None,
        "rules": [f"{weights[k]:+.2f} {rules[k]}" for k in order],
        "bias": f"{model.intercept_[0]:+.2f}",
    }
