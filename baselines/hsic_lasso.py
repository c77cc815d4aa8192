"""HSIC Lasso: a sparse sum of single-feature kernels that approximates the class kernel, then a kernel SVM."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram
from sklearn.utils import check_random_state

from baselines.selected import SelectedMixin, varying_columns
from fsgym.sklearn_private import HasMethods, Interval, StrOptions


class HSICLassoClassifier(SelectedMixin, ClassifierMixin, BaseEstimator):
    """A non-negative LASSO on the centred kernel matrices of the features, and a classifier on the first to enter.

    Parameters
    ----------
    n_selected : int, default=10
        Number of features for the classifier; controls sparsity. With 0, the largest class is predicted. Fewer are used
        if fewer enter the path.
    block : int or None, default=20
        Number of rows in a block: kernels are computed within blocks of the randomly ordered rows. None is one block of
        all rows, the method as first published; it needs the memory of 2 n_samples^2 numbers for each feature.
    n_repeats : int, default=3
        Number of random orders of the rows; not used with a single block.
    classifier : scikit-learn classifier or None, default=None
        The classifier on the selected features, scaled to [-1, 1]; None is ``SVC()``, with an RBF kernel.
    class_weight : dict label -> weight, "balanced" or None, default=None
        Of the default classifier, as in ``SVC``.
    random_state : int, RandomState or None, default=None
        Order of the rows; not used with a single block.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ranking_ : ndarray of int64
        Columns in the order in which they enter the path. Constant columns are never included.
    selected_ : ndarray of int64
        The same columns: the classifier reads all of them.
    classifier_ : the fitted classifier, or None if no feature was selected
    scaling_ : fsgym.Scaling
    selected_features_ : ndarray of str, the names of the columns that predictions use
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    Notes
    -----
    The kernel of a feature is Gaussian with a width of one standard deviation. The class kernel is 1 / n_c for two rows
    of the class c and 0 otherwise. Both are centred and divided by their norm, block by block. The path is computed by
    least angle regression. It ends at non-negative least squares, where many coefficients are zero, or earlier if
    columns are copies of each other.

    References
    ----------
    Yamada, Jitkrittum, Sigal, Xing and Sugiyama (2014), High-dimensional feature selection by feature-wise kernelized
    Lasso, eq. 4; Climente-Gonzalez, Azencott, Kaski and Yamada (2019), Block HSIC Lasso; a reference method of Xu,
    Huang, Weinberger and Zheng (2014).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from baselines import HSICLassoClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HSICLassoClassifier(4, random_state=0).fit(X, y)
    >>> int(model.features_used(X[:1]).sum()), bool(model.score(X, y) > 0.9)
    (4, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_selected": [Interval(Integral, 0, None, closed="left")],
        "block": [Interval(Integral, 2, None, closed="left"), None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "classifier": [HasMethods(["fit", "predict"]), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_selected: int = 10,
        *,
        block: int | None = 20,
        n_repeats: int = 3,
        classifier: Any = None,
        class_weight: Any = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_selected = n_selected
        self.block = block
        self.n_repeats = n_repeats
        self.classifier = classifier
        self.class_weight = class_weight
        self.random_state = random_state

    def _rank(self, Z: NDArray[np.float64], codes: NDArray[np.int64], n_ranked: int) -> NDArray[np.int64]:
        columns = np.flatnonzero(varying_columns(Z))
        if not len(columns):
            return columns
        width = Z[:, columns].std(axis=0)
        gram, relevance, n_blocks = np.zeros((len(columns), len(columns))), np.zeros(len(columns)), 0
        for rows in self._blocks(codes):
            kernels = normalised_kernels(feature_kernels(Z[np.ix_(rows, columns)] / width))
            target = normalised_kernels(class_kernel(codes[rows])[None])
            gram, relevance, n_blocks = gram + kernels @ kernels.T, relevance + kernels @ target[0], n_blocks + 1
        return columns[entry_order(gram / n_blocks, relevance / n_blocks, len(codes), n_ranked)]

    def _blocks(self, codes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the rows of each block; the last rows of an order are left out if they do not fill a block."""
        n = len(codes)
        if self.block is None or self.block >= n:
            return [np.arange(n)]
        rng = check_random_state(self.random_state)
        orders = [rng.permutation(n) for _ in range(self.n_repeats)]
        return [o[k : k + self.block] for o in orders for k in range(0, n - self.block + 1, self.block)]


def feature_kernels(Z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(-(a - b)^2 / 2) between the values of each column, float64 (n_columns, n_rows, n_rows)."""
    return np.exp(-0.5 * (Z.T[:, :, None] - Z.T[:, None, :]) ** 2)


def class_kernel(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 / n_c between rows of the same class c and 0 between other rows, float64 (n_rows, n_rows)."""
    return (codes[:, None] == codes) / np.bincount(codes)[codes]


def normalised_kernels(kernels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre each kernel, scale it to Frobenius norm 1 (0 if it is constant), and return its upper triangle.

    The shape is (n_kernels, n_rows (n_rows + 1) / 2). Entries off the diagonal are multiplied by the square root of 2,
    so that inner products are those of the full kernels.
    """
    kernels = kernels - kernels.mean(axis=1, keepdims=True)
    kernels -= kernels.mean(axis=2, keepdims=True)
    rows, others = np.triu_indices(kernels.shape[1])
    flat = kernels[:, rows, others] * np.where(rows == others, 1.0, np.sqrt(2.0))
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    return np.divide(flat, norms, out=np.zeros_like(flat), where=norms > 1e-9)


def entry_order(gram: NDArray, relevance: NDArray, n_samples: int, n_ranked: int) -> NDArray[np.int64]:
    """Return at most ``n_ranked`` columns in the order in which they enter the non-negative LASSO path."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # issued if the path ends early
        _, _, coefs = lars_path_gram(
            relevance, gram, n_samples=n_samples, method="lasso", positive=True, max_iter=4 * n_ranked + 10
        )
    nonzero = coefs > 0
    entries = np.where(nonzero.any(axis=1), nonzero.argmax(axis=1), np.inf)
    order = np.argsort(entries, kind="stable")
    return order[np.isfinite(entries[order])][:n_ranked]
