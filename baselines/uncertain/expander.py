"""From certain tables, or tables of intervals, to draws from the distribution of every value."""

from __future__ import annotations

import hashlib
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from baselines.linear import clip_extremes, validate_data


class UncertainExpander(TransformerMixin, BaseEstimator):
    """Replaces every value by ``s`` draws from an interval around it: feature j becomes columns j*s to j*s + s - 1.

    Features are scaled to [0, feature_scale] over the training rows, and the interval of a value x is x plus and minus
    half of ``w`` times that range. Real uncertain data, s draws of each value in an array (n_samples, n_features, s),
    are only scaled; and intervals that differ can be given as ``widths``.

    Parameters
    ----------
    w : float, default=0.05
        Width of every interval as a share of the feature's range.
    s : int, default=20
        Draws a value.
    distribution : {"gaussian", "uniform"}, default="gaussian"
        Gaussian: the standard deviation is a quarter of the interval.
    order : {"none", "sorted"}, default="none"
        Sorted draws are quantiles: sub-feature k then means the same in every row. With one width for all rows that
        only makes copies of the feature; for widths that differ it is what carries them.
    feature_scale : float, default=100.0
        What the range becomes. Scaling by a is dividing both penalties of the sparse group LASSO by a.
    clip : bool, default=True
        Whether Gaussian draws beyond the interval move to its ends; otherwise they are drawn again.
    random_state : int, RandomState or None, default=None
        The draws depend on it and on the row's values alone: a fitted expander gives the same row the same draws, in
        any table, so equal rows have equal draws. Real draws need none.

    Attributes
    ----------
    min_, range_ : ndarray of shape (n_features,), float64
        Of the training rows. A feature without range has width 0, and all of its sub-features are 0.
    s_ : int
        Sub-features of each feature: ``s``, or what real draws had.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,), where ``X`` had names

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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None, widths: ArrayLike | None = None) -> UncertainExpander:
        """Learn the ranges of ``X`` (n_samples, n_features) or (n_samples, n_features, s), finite numbers.

        ``widths`` as in ``transform`` are checked. Raises ValueError for bad tables and parameters out of range; warns
        where ``w`` is 0, since then all sub-features are copies and no selection among them is unique.
        """
        table = clip_extremes(validate_data(self, X, dtype=np.float64, allow_nd=True))
        self.s_ = self._draws_of(table)
        self._widths(table, widths)
        rows = table if table.ndim == 2 else np.moveaxis(table, 2, 1).reshape(-1, table.shape[1])
        self.min_ = rows.min(axis=0)
        self.range_ = rows.max(axis=0) - self.min_
        self._seed = check_random_state(self.random_state).bytes(16)
        if table.ndim == 2 and widths is None and self.w == 0 and self.s > 1:
            warnings.warn(f"w is 0: the {self.s} sub-features of a feature are copies; s=1 is enough", stacklevel=3)
        return self

    def transform(self, X: ArrayLike, widths: ArrayLike | None = None) -> NDArray[np.float64]:
        """Sub-features, float64 (n_samples, n_features * s_), values beyond the training range not cut.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_features, s_)
        widths : array-like of shape (n_samples, n_features), at least 0, default=None
            Width of the interval of each value, in its own unit; for certain tables only.
        """
        check_is_fitted(self, "min_")
        table = clip_extremes(validate_data(self, X, reset=False, dtype=np.float64, allow_nd=True))
        if self._draws_of(table) != self.s_:
            raise ValueError(f"X must have {self.s_} draws a value, as in fit, got {table.shape[2:]}")
        own = self._widths(table, widths)
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
        """``fit``, then ``transform`` of the same rows."""
        return self.fit(X, y, widths).transform(X, widths)

    def only(self, columns: NDArray[np.bool_]) -> UncertainExpander:
        """A fitted expander for tables of these columns alone, which has never heard of the others."""
        check_is_fitted(self, "min_")
        part = UncertainExpander(**self.get_params(deep=False))
        part.min_, part.range_, part.s_, part._seed = self.min_[columns], self.range_[columns], self.s_, self._seed
        part.n_features_in_ = len(part.min_)
        return part

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray:
        """``name_k`` for sub-feature k of each feature, object (n_features * s_,)."""
        check_is_fitted(self, "min_")
        names = _check_feature_names_in(self, input_features)
        return np.array([f"{name}_{k}" for name in names for k in range(self.s_)], dtype=object)

    def _draws_of(self, table: NDArray) -> int:
        if table.ndim > 3 or table.shape[-1] == 0:
            raise ValueError(f"X must have shape (n, d) or (n, d, s) without an axis of length 0, got {table.shape}")
        return table.shape[2] if table.ndim == 3 else int(self.s)

    def _widths(self, table: NDArray, widths: ArrayLike | None) -> NDArray[np.float64] | None:
        if widths is None:
            return None
        if table.ndim == 3:
            raise ValueError("widths must not be given with draws (n, d, s): these say themselves how wide they are")
        own = np.asarray(widths, dtype=np.float64)
        if own.shape != table.shape or not (np.isfinite(own) & (own >= 0)).all():
            raise ValueError(f"widths must be finite, at least 0 and of shape {table.shape}, got shape {own.shape}")
        return own

    def _noise(self, table: NDArray) -> NDArray[np.float64]:
        """Draws in units of the interval, [-0.5, 0.5], (n_samples, n_features, s)."""
        noise = np.empty((*table.shape, int(self.s)))
        for i, values in enumerate(np.ascontiguousarray(table) + 0.0):  # + 0.0: minus zero is zero
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
