"""Cells of the study of boosted feature selection: a method over all its settings, on one split of one data set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset, Scaling
from fsgym.methods import find_method, load_class
from fsgym_studies.common.cell import parts_of

CURVE = "fsgym_studies.gbfs.cell:curve"
STAGES = "fsgym_studies.gbfs.cell:stages"
SYNTHETIC = "fsgym_studies.gbfs.cell:synthetic"
PENALTIES = (1.0, 10.0, 100.0)  # C of the SVM, of which inner splits choose
GRID = np.linspace(-1.0, 1.0, 61)  # the places of the picture at which decisions are told


def curve(
    data: Dataset,
    *,
    method: str,
    options: Mapping[str, Any],
    part: Mapping[str, Any],
    seed: int,
    judge: int = 0,
    test: Dataset | None = None,
) -> dict[str, Any]:
    """Test error against the number of selected features.

    Parameters
    ----------
    data : Dataset, two classes
    method : str, a name of ``METHODS``
    options : mapping
        ``params``, of the estimator; ``bags``, the number of clusters of features that are counted; of ``gbfs``
        ``mu_rel`` and ``depths``; of a method that ranks ``counts``, and ``inner``, the random splits that choose the
        weight of its SVM; of others ``decades`` and ``n_settings``; ``aware``, whether the method is told the bags.
    part : mapping, as ``fit_and_evaluate`` takes it
    seed : int
    judge : int
        Random inner splits for an SVM that is trained on every selection, to compare selections; 0 has no SVM.
    test : Dataset, optional, where parts are official

    Returns
    -------
    dict
        Lists over settings: ``n_features``, ``test_error``; ``bags``, from how many clusters features come, and
        ``svm_error`` where they were asked for. ``chance``, the error of the training part's largest class; n_train,
        n_test; ``warning``, the first.
    """
    train, test = (data, test) if test is not None else parts_of(data, part)
    X, y = train.X, train.y
    labels = clusters(X, options["bags"]) if options.get("bags") else None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        models = fitted(method, X, y, options, labels, seed)
    chosen = [selection(m) for m in models]
    told: dict[str, Any] = {
        "n_features": [len(c) for c in chosen],
        "test_error": [float((m.predict(test.X) != test.y).mean()) for m in models],
        "chance": float((test.y != np.bincount(y).argmax()).mean()),
        "n_train": len(y),
        "n_test": test.n_samples,
        "warning": f"{said[0].category.__name__}: {str(said[0].message)[:160]}" if said else None,
    }
    if labels is not None:
        told["bags"] = [len(np.unique(labels[c])) for c in chosen]
    if judge:
        known: dict[tuple[int, ...], float] = {(): told["chance"]}
        for c in map(tuple, (np.sort(c) for c in chosen)):
            if c not in known:
                known[c] = svm_error(train, test, np.array(c), judge, seed)
        told["svm_error"] = [known[tuple(np.sort(c))] for c in chosen]
    return told


def fitted(method: str, X: NDArray, y: NDArray, options: Mapping[str, Any], labels: Any, seed: int) -> list[Any]:
    """An estimator for each setting."""
    cls = load_class(find_method(method))
    known = cls().get_params()
    own = {"bags": "bags", "groups": "groups"} if labels is not None and options.get("aware") else {}
    params = dict(options["params"]) | {name: labels for name in own if name in known}
    if "random_state" in known:
        params["random_state"] = seed
    if method == "gbfs":
        return boosted(cls(**params), X, y, options)
    if "counts" in options:
        if "classifier" in known:
            params["classifier"] = tuned_svm(options["inner"], seed)
        return cls(**params).fit_path(X, y, [k for k in options["counts"] if k <= X.shape[1]])
    sketch = cls(**params)
    first = sketch.sparsity_grid(X, y)[0]
    (knob, start), down = next(iter(first.items())), method == "group_lasso"  # its knob is the penalty itself
    steps = 10.0 ** (options["decades"] * np.linspace(0.0, 1.0, options["n_settings"]) ** 2)  # most where few are used
    return [cls(**params | {knob: float(start / s if down else start * s)}).fit(X, y) for s in steps]


def boosted(base: Any, X: NDArray, y: NDArray, options: Mapping[str, Any]) -> list[Any]:
    """A path of mu; depth and number of iterations are chosen on held-out rows, then all rows are learnt from."""
    from sklearn.base import clone

    from baselines import gbfs_path

    paths = [
        gbfs_path(X, y, mu_rel=options["mu_rel"], estimator=clone(base).set_params(max_depth=depth))
        for depth in options["depths"]
    ]
    if base.validation_fraction is None:
        return paths[0]
    made = []
    for models in zip(*paths):
        best = min(models, key=lambda m: min(m.validation_loss_, default=np.inf))
        made.append(clone(best).set_params(n_iter=best.best_iteration_, validation_fraction=None).fit(X, y))
    return made


def selection(model: Any) -> NDArray[np.int64]:
    """The columns that a fitted estimator looks at, for whatever row."""
    for name in ("selected_features_", "selected_"):
        if hasattr(model, name):
            return getattr(model, name)
    return np.flatnonzero(model.coef_.any(axis=0))


def tuned_svm(inner: int, seed: int) -> Any:
    """An SVM with RBF kernel whose C is chosen on random inner splits, 80 % to learn from."""
    from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
    from sklearn.svm import SVC

    return GridSearchCV(SVC(), {"C": PENALTIES}, cv=StratifiedShuffleSplit(inner, test_size=0.2, random_state=seed))


def svm_error(train: Dataset, test: Dataset, columns: NDArray[np.int64], inner: int, seed: int) -> float:
    """The test error of the SVM on these columns, scaled to [-1, 1]."""
    scaling = Scaling.fit(train.X[:, columns])
    machine = tuned_svm(inner, seed).fit(scaling.apply(train.X[:, columns]), train.y)
    return float((machine.predict(scaling.apply(test.X[:, columns])) != test.y).mean())


def clusters(X: NDArray, number: int) -> NDArray[np.int64]:
    """Features in clusters of like behaviour over the training rows: k-means of their standardised columns."""
    from sklearn.cluster import KMeans

    width = X.std(axis=0, dtype=np.float64)
    profiles = (X - X.mean(axis=0, dtype=np.float64)) / np.where(width > 0, width, 1.0)
    return KMeans(number, n_init=3, random_state=0).fit_predict(profiles.T).astype(np.int64)


def stages(
    data: Dataset, *, mu_rel: Sequence[float], params: Mapping[str, Any], seed: int, test: Dataset
) -> dict[str, Any]:
    """Features and test error after each iteration, for each of a few mu (the paper's curve of its largest set)."""
    from baselines import GBFSClassifier, gbfs_path

    base = GBFSClassifier(validation_fraction=None, random_state=seed, **params)
    models = gbfs_path(data.X, data.y, mu_rel=list(mu_rel), estimator=base)
    return {
        "mu_rel": list(mu_rel),
        "stage_features": [m.n_features_path_[: m.best_iteration_].tolist() for m in models],
        "stage_error": [
            [float(((s > 0) != test.y).mean()) for s in m.staged_decision_function(test.X)] for m in models
        ],
    }


def three_features(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Points whose class is told by a parabola in the first two features; the third is a mixture of them.

    The paper's own points are not printed. These have what it says of them: no plane separates the classes, x1 and x2
    do, and x3 = .6 x1 + .4 x2 adds nothing.
    """
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 4 * n))
    height = x1 - (2.0 * x2**2 - 0.7)
    kept = np.flatnonzero(np.abs(height) > 0.1)[:n]
    return np.column_stack([x1, x2, 0.6 * x1 + 0.4 * x2])[kept], (height > 0)[kept].astype(np.int64)


def synthetic(*, n: int, params: Mapping[str, Any], mu_rel: Sequence[float], seed: int) -> dict[str, Any]:
    """What L1 logistic regression and boosting select of three features; 90 % to learn from, a fifth of it to choose.

    Of the settings whose error on held-out rows is within a standard error of the smallest, the one with the fewest
    features counts.

    Returns
    -------
    dict
        For ``l1`` and ``gbfs``: ``_error`` on the test rows, ``_selected`` features (from 1), ``_decisions`` on the
        grid of the picture, row by row of x2; and ``points``, the test rows as x1, x2 and class.
    """
    from sklearn.model_selection import train_test_split

    X, y = three_features(n, seed)
    train, test, t, u = train_test_split(X, y, test_size=0.1, stratify=y, random_state=seed)
    inner, held, a, b = train_test_split(train, t, test_size=0.2, stratify=t, random_state=seed)
    x1, x2 = (v.ravel() for v in np.meshgrid(GRID, GRID))
    places = np.column_stack([x1, x2, 0.6 * x1 + 0.4 * x2])
    told: dict[str, Any] = {"points": np.column_stack([test[:, :2], u]).round(3).tolist()}
    for name, method in (("l1", "l1_logistic"), ("gbfs", "gbfs")):
        cls = load_class(find_method(method))
        grid = cls().sparsity_grid(train, t) if name == "l1" else [{"mu_rel": m, **params} for m in mu_rel]
        tried = [cls(**g, random_state=seed).fit(inner, a) for g in grid]
        errors = np.array([(m.predict(held) != b).mean() for m in tried])
        enough = errors.min() + np.sqrt(errors.min() * (1.0 - errors.min()) / len(b))
        best = min(np.flatnonzero(errors <= enough), key=lambda k: (len(selection(tried[k])), errors[k]))
        model = cls(**grid[best], random_state=seed).fit(train, t)
        told |= {
            f"{name}_error": float((model.predict(test) != u).mean()),
            f"{name}_selected": (selection(model) + 1).tolist(),
            f"{name}_decisions": model.predict(places).astype(int).tolist(),
        }
    return told
