"""A path of mu: many fits, one table of bins."""

from __future__ import annotations

from typing import Any

from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from baselines.gbfs.estimator import GBFSClassifier
from baselines.gbfs.model import GBFSModel, Prepared
from fsgym.checks import check_n_jobs

HALVES = tuple(0.5**k for k in range(1, 11))


def gbfs_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mus: ArrayLike | None = None,
    mu_rel: ArrayLike = HALVES,
    estimator: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> list[Any]:
    """Fits of one estimator at many ``mu``, which share the bins and the rows that are held out.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    mus : sequence of float, default=None
        Values of ``mu``; None: ``mu_rel`` decides.
    mu_rel : sequence of float, default=1/2, 1/4, ..., 1/1024
        Values of ``mu`` as shares of ``mu_max_``.
    estimator : GBFSClassifier or GBFSRegressor, default=None
        Its other parameters are those of all fits; None is ``GBFSClassifier()``. It is not changed.
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None
        Fits at a time, in threads; the result does not depend on it. Each runs in ``estimator.n_jobs`` threads.

    Returns
    -------
    list of fitted estimators, in the order of ``mus`` or ``mu_rel``. They are not nested.

    Raises
    ------
    ValueError, TypeError
        As ``fit`` does, and where ``estimator`` is neither of the two.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import GBFSClassifier, gbfs_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = gbfs_path(X, y, mu_rel=[1.0, 0.5, 0.1], estimator=GBFSClassifier(n_iter=20, random_state=0))
    >>> [m.selected_features_.size for m in models][:2]
    [0, 1]
    """
    check_n_jobs(n_jobs)
    base = GBFSClassifier() if estimator is None else estimator
    if not isinstance(base, GBFSModel):
        raise TypeError(f"estimator must be a GBFSClassifier or a GBFSRegressor, got {type(base).__name__}")
    settings = [{"mu": None, "mu_rel": v} for v in mu_rel] if mus is None else [{"mu": v} for v in mus]  # type: ignore
    models = [clone(base).set_params(**setting) for setting in settings]
    for model in models:
        model._validate_params()
    first = clone(base)
    first._validate_params()
    data = first._prepare(X, y, sample_weight, numeric=not hasattr(base, "predict_proba"))
    names = getattr(first, "feature_names_in_", None)
    return Parallel(n_jobs=n_jobs, backend="threading")(delayed(_fitted)(m, data, names) for m in models)  # type: ignore


def _fitted(model: GBFSModel, data: Prepared, names: Any) -> GBFSModel:
    if names is not None:
        model.feature_names_in_ = names
    model._learn(data)
    return model
