"""Cells of the study of gradient boosted feature selection: all settings of one method on one split of a data set."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.cell import first_warning
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.data.grids import contiguous
from fsgym.data.scaling import Scaling
from fsgym.methods import find_method, load_class
from fsgym.runner.results import count, list_of, number, record, returns, share, text
from fsgym.support.threads import one_blas_thread
from fsgym_studies.common.plan import subsample

ERROR_CURVE_CALL = "fsgym_studies.gbfs.cell:error_curve"
STAGES_CALL = "fsgym_studies.gbfs.cell:stages"
SYNTHETIC_CALL = "fsgym_studies.gbfs.cell:synthetic"
TRAINING_TIMES_CALL = "fsgym_studies.gbfs.cell:training_times"
WARM_UP_ROWS = 400  # on which each method is fitted before it is timed, so that its kernels are compiled
SVM_C_VALUES = (1.0, 10.0, 100.0)  # from which inner splits choose the SVM's C; our choice, the paper prints none
PICTURE_GRID = np.linspace(-1.0, 1.0, 61)  # coordinates, of x1 and of x2, at which Fig. 1 shows decisions


@returns(record(n_features=list_of(count), test_error=list_of(share), chance=share, n_train=count, n_test=count))
def error_curve(
    dataset: Dataset,
    *,
    method: str,
    options: Mapping[str, Any],
    split: Split | OfficialSplit,
    seed: int,
    svm_splits: int = 0,
) -> dict[str, Any]:
    """Return the test error against the number of selected features.

    Parameters
    ----------
    dataset : Dataset, two classes
    method : str, a name of ``METHODS``
    options : mapping
        ``params``, parameters of the estimator. ``bags``, the number of clusters of features in which selected features
        are counted, and ``aware``, whether the method is given these clusters. For ``gbfs``, ``mu_rel`` and ``depths``;
        for square images also ``neighbour_price``, the share of its price that a pixel costs beside a selected one.
        For a method that ranks features, ``counts`` and ``inner``, the number of random splits that choose the C of its
        SVM. For every other method, ``decades`` and ``n_settings`` of the grid of its penalty.
    split : Split or OfficialSplit
    seed : int
    svm_splits : int
        Number of random inner splits that choose the C of an SVM trained on every selection, by which selections of
        different methods can be compared; 0: no such SVM.

    Returns
    -------
    dict
        Lists with one value per setting: ``n_features``, ``test_error``; if requested ``bags``, the number of clusters
        that the selected features come from, ``regions``, the number of contiguous regions of selected pixels, and
        ``svm_error``. Also ``chance``, the error of predicting the largest
        class of the training part; n_train, n_test; ``warning``, the first one.
    """
    train, test = split.divide(dataset)
    X, y = train.X, train.y
    labels = feature_clusters(X, options["bags"]) if options.get("bags") else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = fit_settings(method, X, y, options, labels, seed)
    selections = [m.get_support(indices=True) for m in models]
    result: dict[str, Any] = {
        "n_features": [len(c) for c in selections],
        "test_error": [float((m.predict(test.X) != test.y).mean()) for m in models],
        "chance": float((test.y != np.bincount(y).argmax()).mean()),
        "n_train": len(y),
        "n_test": test.n_samples,
        "warning": first_warning(caught),
    }
    if labels is not None:
        result["bags"] = [len(np.unique(labels[c])) for c in selections]
    if "neighbour_price" in options:
        result["regions"] = [n_regions(c, train.n_features) for c in selections]
    if svm_splits:
        sets = [tuple(np.sort(c)) for c in selections]
        errors = {c: svm_error(train, test, np.array(c), svm_splits, seed) for c in set(sets) if c}
        result["svm_error"] = [errors[c] if c else result["chance"] for c in sets]
    return result


def fit_settings(method: str, X: NDArray, y: NDArray, options: Mapping[str, Any], labels: Any, seed: int) -> list[Any]:
    """Fit one estimator for each setting."""
    cls = load_class(find_method(method))
    known = cls().get_params()
    own = ("bags", "groups") if labels is not None and options.get("aware") else ()
    params = dict(options["params"]) | {name: labels for name in own if name in known}
    if "random_state" in known:
        params["random_state"] = seed
    if method == "gbfs":
        if "neighbour_price" in options:
            side = isqrt(X.shape[1])
            params["neighbour_discount"] = np.where(contiguous(side, side), options["neighbour_price"], 1.0)
        return fit_boosted(cls(**params), X, y, options)
    if "counts" in options:
        if "classifier" in known:
            params["classifier"] = tuned_svm(options["inner"], seed)
        return cls(**params).path(X, y, [{"n_selected": k} for k in options["counts"] if k <= X.shape[1]])
    # The parameter of group LASSO is the penalty itself; that of the others is its inverse.
    (name, start), down = next(iter(cls(**params).sparsity_grid(X, y)[0].items())), method == "group_lasso"
    # Squared, so that most settings lie where few features are selected.
    steps = 10.0 ** (options["decades"] * np.linspace(0.0, 1.0, options["n_settings"]) ** 2)
    return [cls(**params | {name: float(start / s if down else start * s)}).fit(X, y) for s in steps]


def fit_boosted(base: Any, X: NDArray, y: NDArray, options: Mapping[str, Any]) -> list[Any]:
    """Fit a path over mu: choose depth and number of iterations on held-out rows, then fit again on all rows."""
    from sklearn.base import clone

    from baselines import gbfs_path

    paths = [
        gbfs_path(X, y, mu_rel=options["mu_rel"], estimator=clone(base).set_params(max_depth=depth))
        for depth in options["depths"]
    ]
    if base.validation_fraction is None:
        return paths[0]
    refitted = []
    for models in zip(*paths):
        best = min(models, key=lambda m: min(m.validation_loss_, default=np.inf))
        refitted.append(clone(best).set_params(n_iter=best.best_iteration_, validation_fraction=None).fit(X, y))
    return refitted


def n_regions(pixels: NDArray[np.int64], n_pixels: int) -> int:
    """The number of regions of these pixels of a square image that are connected by edges.

    >>> n_regions(np.array([0, 1, 8]), 9), n_regions(np.array([0, 3, 4]), 9)
    (2, 1)
    """
    from scipy.ndimage import label

    image = np.zeros((isqrt(n_pixels), isqrt(n_pixels)), dtype=np.int64)
    image.flat[pixels] = 1
    return int(label(image)[1])


def tuned_svm(n_splits: int, seed: int) -> Any:
    """An SVM with RBF kernel whose C is chosen on random inner splits with 80 % of the rows for training."""
    from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
    from sklearn.svm import SVC

    splitter = StratifiedShuffleSplit(n_splits, test_size=0.2, random_state=seed)
    return GridSearchCV(SVC(), {"C": SVM_C_VALUES}, cv=splitter)


def svm_error(train: Dataset, test: Dataset, columns: NDArray[np.int64], n_splits: int, seed: int) -> float:
    """Test error of the SVM on these columns, scaled to [-1, 1]."""
    scaling = Scaling.fit(train.X[:, columns])
    machine = tuned_svm(n_splits, seed).fit(scaling.apply(train.X[:, columns]), train.y)
    return float((machine.predict(scaling.apply(test.X[:, columns])) != test.y).mean())


def feature_clusters(X: NDArray, number: int) -> NDArray[np.int64]:
    """Cluster features with similar values over the training rows: k-means on their standardised columns."""
    from sklearn.cluster import KMeans

    width = X.std(axis=0, dtype=np.float64)
    profiles = (X - X.mean(axis=0, dtype=np.float64)) / np.where(width > 0, width, 1.0)
    return KMeans(number, n_init=3, random_state=0).fit_predict(profiles.T).astype(np.int64)


@returns(
    record(
        mu_rel=list_of(number),
        stage_features=list_of(list_of(count)),
        stage_error=list_of(list_of(share)),
        n_train=count,
    )
)
def stages(
    dataset: Dataset, *, mu_rel: Sequence[float], params: Mapping[str, Any], seed: int, split: OfficialSplit
) -> dict[str, Any]:
    """Number of features and test error after each iteration, for a few mu (Fig. 4, kddcup99)."""
    from baselines import GBFSClassifier, gbfs_path

    train, test = split.divide(dataset)
    base = GBFSClassifier(validation_fraction=None, random_state=seed, **params)
    models = gbfs_path(train.X, train.y, mu_rel=list(mu_rel), estimator=base)
    return {
        "mu_rel": list(mu_rel),
        "stage_features": [m.n_features_path_[: m.best_iteration_].tolist() for m in models],
        "stage_error": [
            [float(((s > 0) != test.y).mean()) for s in m.staged_decision_function(test.X)] for m in models
        ],
        "n_train": train.n_samples,
    }


@returns(record(methods=list_of(text), seconds=list_of(number), n_train=count))
def training_times(
    dataset: Dataset, *, methods: Mapping[str, tuple[str, Mapping[str, Any]]], split: Split | OfficialSplit, seed: int
) -> dict[str, Any]:
    """Processor seconds of training each method in turn, in this process and one thread (section 5.5).

    ``methods`` has a method and its options, as in ``error_curve``, by title.
    """
    train, _ = split.divide(dataset)
    few, seconds = subsample(train, WARM_UP_ROWS), []
    with one_blas_thread():
        for method, options in methods.values():
            fit_settings(method, few.X, few.y, options, None, seed)
            began = time.process_time()
            fit_settings(method, train.X, train.y, options, None, seed)
            seconds.append(time.process_time() - began)
    return {"methods": list(methods), "seconds": seconds, "n_train": train.n_samples}


def three_features(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sample points whose class is given by a parabola in the first two features; the third is a mixture of both.

    The paper does not print its points. Ours have the properties it states: no plane separates the classes, x1 and x2
    together do, and x3 = .6 x1 + .4 x2 is redundant.
    """
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 4 * n))
    height = x1 - (2.0 * x2**2 - 0.7)
    rows = np.flatnonzero(np.abs(height) > 0.1)[:n]
    return np.column_stack([x1, x2, 0.6 * x1 + 0.4 * x2])[rows], (height > 0)[rows].astype(np.int64)


def synthetic(*, n: int, params: Mapping[str, Any], mu_rel: Sequence[float], seed: int) -> dict[str, Any]:
    """Which of three features L1 logistic regression and GBFS select.

    90 % of the rows are for training, a fifth of them held out to choose the setting: of the settings whose held-out
    error is within one standard error of the smallest, the one with the fewest features is used.

    Returns
    -------
    dict
        For ``l1`` and ``gbfs``: ``_error`` on the test rows; ``_selected``, numbers of the features, from 1;
        ``_decisions`` on the grid of the picture, row by row of x2. Also ``points``, the test rows as x1, x2, class.
    """
    from sklearn.model_selection import train_test_split

    X, y = three_features(n, seed)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.1, stratify=y, random_state=seed)
    inner, held_out, y_inner, y_held_out = train_test_split(
        train, y_train, test_size=0.2, stratify=y_train, random_state=seed
    )
    x1, x2 = (v.ravel() for v in np.meshgrid(PICTURE_GRID, PICTURE_GRID))
    grid_points = np.column_stack([x1, x2, 0.6 * x1 + 0.4 * x2])
    result: dict[str, Any] = {"points": np.column_stack([test[:, :2], y_test]).round(3).tolist()}
    for name, method in (("l1", "l1_logistic"), ("gbfs", "gbfs")):
        cls = load_class(find_method(method))
        grid = cls().sparsity_grid(train, y_train) if name == "l1" else [{"mu_rel": m, **params} for m in mu_rel]
        models = [cls(**g, random_state=seed).fit(inner, y_inner) for g in grid]
        errors = np.array([(m.predict(held_out) != y_held_out).mean() for m in models])
        limit = errors.min() + np.sqrt(errors.min() * (1.0 - errors.min()) / len(y_held_out))
        best = min(np.flatnonzero(errors <= limit), key=lambda k: (models[k].get_support().sum(), errors[k]))
        model = cls(**grid[best], random_state=seed).fit(train, y_train)
        result |= {
            f"{name}_error": float((model.predict(test) != y_test).mean()),
            f"{name}_selected": (model.get_support(indices=True) + 1).tolist(),
            f"{name}_decisions": model.predict(grid_points).astype(int).tolist(),
        }
    return result
