"""Replace each value of a table, or of a table of intervals, by draws from its distribution."""

from __future__ import annotations

import hashlib
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from baselines.base import clip_extremes, validate_data
from fsgym.sklearn_private import Interval, StrOptions, checks_parameters, feature_names_of


class UncertainExpander(TransformerMixin, BaseEstimator):
    """Replace each value by ``s`` draws from an interval around it: feature j becomes columns j*s to j*s + s - 1.

    Features are scaled to [0, feature_scale] over the training rows. The interval of a value x is x plus and minus half
    of ``w`` times this range; intervals of different widths can be given as ``widths``. Real uncertain data, s draws of
    each value in an array (n_samples, n_features, s), are only scaled.

    Parameters
    ----------
    w : float, default=0.05
        Width of every interval as a share of the feature's range.
    s : int, default=20
        Number of draws per value.
    distribution : {"gaussian", "uniform"}, default="gaussian"
        Distribution in the interval. The standard deviation of "gaussian" is a quarter of the width.
    order : {"none", "sorted"}, default="none"
        Sorted draws are quantiles, so that sub-feature k has the same meaning in every row. If all rows have the same
        width, the sub-features are then almost copies of the feature; if widths differ, they carry the widths.
    feature_scale : float, default=100.0
        Upper end of the scaled range. Multiplying it by a has the same effect as dividing both penalties of the sparse
        group LASSO by a.
    clip : bool, default=True
        Whether Gaussian draws outside the interval are clipped to its ends; otherwise the distribution is truncated.
    random_state : int, RandomState or None, default=None
        The draws depend only on it and on the values of the row: a fitted expander gives equal rows the same draws, in
        any table. Not used for real draws.

    Attributes
    ----------
    min_, range_ : ndarray of shape (n_features,), float64
        Minimum and range over the training rows. All sub-features of a constant feature are 0.
    s_ : int
        Number of sub-features of each feature: ``s``, or the number of real draws.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), if ``X`` has feature names

    References
    ----------
    Xie and Xu (2013), Sparse group LASSO based uncertain feature selection, section 2.

    Examples
    --------
    >>> from baselines import UncertainExpander
    >>> UncertainExpander(w=0.1, s=3, random_state=0).fit_transform([[0.0, 7.0], [1.0, 8.0]]).round(1).shape
    (2, 6)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "w": [Interval(Real, 0, None, closed="left")],
        "s": [Interval(Integral, 1, None, closed="left")],
        "distribution": [StrOptions({"gaussian", "uniform"})],
        "order": [StrOptions({"none", "sorted"})],
        "feature_scale": [Interval(Real, 0, None, closed="neither")],
        "clip": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        w: float = 0.05,
        s: int = 20,
        distribution: str = "gaussian",
        *,
        order: str = "none",
        feature_scale: float = 100.0,
        clip: bool = True,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.w = w
        self.s = s
        self.distribution = distribution
        self.order = order
        self.feature_scale = feature_scale
        self.clip = clip
        self.random_state = random_state

    @checks_parameters
    def fit(self, X: ArrayLike, y: Any = None, widths: ArrayLike | None = None) -> UncertainExpander:
        """Compute the ranges of ``X`` (n_samples, n_features) or (n_samples, n_features, s), finite numbers.

        ``widths``, as in ``transform``, are only checked. Raises ValueError for invalid tables and parameters out of
        range. Warns if ``w`` is 0, since all sub-features are then copies and no selection among them is unique.
        """
        table = clip_extremes(validate_data(self, X, dtype=np.float64, allow_nd=True))
        self.s_ = self._n_draws(table)
        self._check_widths(table, widths)
        rows = table if table.ndim == 2 else np.moveaxis(table, 2, 1).reshape(-1, table.shape[1])
        self.min_ = rows.min(axis=0)
        self.range_ = rows.max(axis=0) - self.min_
        self._seed = check_random_state(self.random_state).bytes(16)
        if table.ndim == 2 and widths is None and self.w == 0 and self.s > 1:
            warnings.warn(f"w is 0: the {self.s} sub-features of a feature are copies; s=1 is enough", stacklevel=3)
        return self

    def transform(self, X: ArrayLike, widths: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the sub-features, float64 (n_samples, ``n_features * s_``), without clipping to the training range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_features, ``s_``)
        widths : array-like of shape (n_samples, n_features), at least 0, default=None
            Width of the interval of each value, in the unit of the feature; not for tables of draws.
        """
        check_is_fitted(self, "min_")
        table = clip_extremes(validate_data(self, X, reset=False, dtype=np.float64, allow_nd=True))
        if self._n_draws(table) != self.s_:
            raise ValueError(f"X must have {self.s_} draws per value, as in fit, got {table.shape[2:]}")
        own = self._check_widths(table, widths)
        scale = np.divide(self.feature_scale, self.range_, out=np.zeros_like(self.range_), where=self.range_ > 0)
        if table.ndim == 3:
            draws = (table - self.min_[:, None]) * scale[:, None]
        else:
            width = self.w * self.feature_scale * (self.range_ > 0) if own is None else own * scale
            draws = ((table - self.min_) * scale)[:, :, None] + np.atleast_2d(width)[:, :, None] * self._noise(table)
        if self.order == "sorted":
            draws = np.sort(draws, axis=2)
        return draws.reshape(len(table), -1)

    def fit_transform(self, X: ArrayLike, y: Any = None, widths: ArrayLike | None = None) -> NDArray[np.float64]:
        """Fit, then transform the same rows."""
        return self.fit(X, y, widths).transform(X, widths)

    def restrict_to(self, columns: NDArray[np.bool_]) -> UncertainExpander:
        """Return a fitted expander for tables of these columns only; it gives them other draws than the full one."""
        check_is_fitted(self, "min_")
        part = UncertainExpander(**self.get_params(deep=False))
        part.min_, part.range_, part.s_, part._seed = self.min_[columns], self.range_[columns], self.s_, self._seed
        part.n_features_in_ = len(part.min_)
        return part

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """Return ``name_k`` for sub-feature k of each feature, object (``n_features * s_``,)."""
        check_is_fitted(self, "min_")
        names = feature_names_of(self, input_features)
        return np.array([f"{name}_{k}" for name in names for k in range(self.s_)], dtype=object)

    def _n_draws(self, table: NDArray) -> int:
        """Return the number of draws per value; raises ValueError for a table of the wrong shape."""
        if table.ndim > 3 or table.shape[-1] == 0:
            raise ValueError(f"X must have shape (n, d) or (n, d, s) without an axis of length 0, got {table.shape}")
        return table.shape[2] if table.ndim == 3 else int(self.s)

    def _check_widths(self, table: NDArray, widths: ArrayLike | None) -> NDArray[np.float64] | None:
        if widths is None:
            return None
        if table.ndim == 3:
            raise ValueError("widths must not be given with draws (n, d, s), which define their own widths")
        own = np.asarray(widths, dtype=np.float64)
        if own.shape != table.shape or not (np.isfinite(own) & (own >= 0)).all():
            raise ValueError(f"widths must be finite, at least 0 and of shape {table.shape}, got shape {own.shape}")
        return own

    def _noise(self, table: NDArray) -> NDArray[np.float64]:
        """Return draws in units of the interval, [-0.5, 0.5], (n_samples, n_features, s)."""
        noise = np.empty((*table.shape, int(self.s)))
        for i, values in enumerate(np.ascontiguousarray(table) + 0.0):  # + 0.0: -0.0 becomes 0.0
            key = int.from_bytes(hashlib.blake2b(values.tobytes(), digest_size=16, key=self._seed).digest(), "little")
            rng = np.random.Generator(np.random.Philox(key=key))
            if self.distribution == "gaussian" and self.clip:
                rng.standard_normal(out=noise[i])
            else:
                rng.random(out=noise[i])
        if self.distribution == "uniform":
            return noise - 0.5
        if self.clip:
            return (0.25 * noise).clip(-0.5, 0.5)
        return 0.25 * ndtri(ndtr(-2.0) + noise * (ndtr(2.0) - ndtr(-2.0)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags
