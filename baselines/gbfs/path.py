"""A path of mu: many fits on the same bins."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from baselines.gbfs.estimator import GBFSClassifier
from baselines.gbfs.model import GBFSModel, boost_each
from fsgym.support.checks import check_n_jobs

DEFAULT_MU_RELS = tuple(0.5**k for k in range(1, 11))  # shares of mu_max_: 1/2, 1/4, ..., 1/1024


def gbfs_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    mus: ArrayLike | None = None,
    mu_rel: ArrayLike = DEFAULT_MU_RELS,
    estimator: Any = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> list[Any]:
    """Fit one estimator at many ``mu``, with the same bins and the same held-out rows.

    ``GBFSClassifier.path`` does the same for a list of settings; this function also fits a regressor, takes weights of
    the rows and uses several threads.

    Parameters
    ----------
    X : array-like or sparse of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    mus : sequence of float, default=None
        Values of ``mu``; None: use ``mu_rel``.
    mu_rel : sequence of float, default=1/2, 1/4, ..., 1/1024
        Values of ``mu`` as shares of ``mu_max_``.
    estimator : GBFSClassifier or GBFSRegressor, default=None
        The other parameters of all fits; None is ``GBFSClassifier()``. The estimator is not changed.
    sample_weight : array-like of shape (n_samples,), default=None
    n_jobs : int, default=None
        Number of fits at a time, in threads; the result does not depend on it. Each fit uses ``estimator.n_jobs``
        threads.

    Returns
    -------
    list of fitted estimators
        In the order of ``mus`` or ``mu_rel``. Their selected features are not nested in general.

    Raises
    ------
    ValueError, TypeError
        As ``fit`` does, and if ``estimator`` is neither of the two.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import GBFSClassifier, gbfs_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = gbfs_path(X, y, mu_rel=[1.0, 0.5, 0.1], estimator=GBFSClassifier(n_iter=20, random_state=0))
    >>> [m.selected_features_.tolist() for m in models][:2]
    [[], ['x22']]
    """
    check_n_jobs(n_jobs)
    base = GBFSClassifier() if estimator is None else estimator
    if not isinstance(base, GBFSModel):
        raise TypeError(f"estimator must be a GBFSClassifier or a GBFSRegressor, got {type(base).__name__}")
    settings = [{"mu": None, "mu_rel": v} for v in mu_rel] if mus is None else [{"mu": v} for v in mus]  # type: ignore
    models = [clone(base).set_params(**setting) for setting in settings]
    boost_each(models, clone(base), X, y, sample_weight, n_jobs)
    return models
