"""Targets with more structure than classes: grades in an order, and numbers, which are answered by bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.support.checks import check_choice, is_integer
from fsgym.text.messages import brief, did_you_mean, listing, option_text
from fsgym.text.speech import number_text, said, with_unit

OrderedCosts = Literal["linear", "squared"]
BinAnswers = Literal["median", "mean"]
N_BINS = 16  # Measured on made-up repair times, seeds from 100, 200 rows: loss .98, .89, .85, .84 of 4, 8, 16, 24 bins
MAX_BINS = 100  # by hand: with more, bins of a few rows
MAX_GRADES = 50  # by hand: with more, a number


def costs_of_order(ordered: Sequence[Any], classes: Sequence[Any], costs: str) -> NDArray[np.float64]:
    """``error_costs[answer, true class]`` of grades: how many grades apart, or its square; float64 (n_classes, ...).

    Parameters
    ----------
    ordered : sequence of n_classes labels, from one end to the other, compared as text
    classes : sequence of n_classes labels, in sorted order
    costs : {"linear", "squared"}

    Examples
    --------
    >>> costs_of_order(["mild", "severe", "fatal"], ["fatal", "mild", "severe"], "linear").tolist()
    [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    if isinstance(ordered, str | bytes) or not np.iterable(ordered):
        raise TypeError(
            f"{option_text('ordered')} must list the classes from one end to the other, got {brief(ordered)}"
        )
    check_choice(costs, option_text("ordered_costs"), *get_args(OrderedCosts))
    grades, texts = [str(v) for v in ordered], [str(v) for v in classes]
    if len(texts) > MAX_GRADES:
        raise ValueError(
            f"{option_text('ordered')} must list at most {MAX_GRADES} classes, and there are {len(texts)}; a number "
            "is a target with "
            f"{option_text('bins', command='--numeric-target')}"
        )
    twice = [grade for grade, n in Counter(grades).items() if n > 1]
    unknown = [grade for grade in grades if grade not in texts]
    absent = [text for text in texts if text not in grades]
    if twice or unknown or absent:
        fault = f"has {twice[0]!r} twice" if twice else f"has {unknown[0]!r}" if unknown else f"lacks {absent[0]!r}"
        hint = did_you_mean(unknown[0], texts) if unknown and not twice else ""
        raise ValueError(
            f"{option_text('ordered')} must list each class once, but {fault}; the classes are "
            f"{listing(texts, 20)}{hint}"
        )
    rank = np.array([grades.index(text) for text in texts], float)
    apart = np.abs(rank[:, None] - rank)
    return apart if costs == "linear" else apart**2


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of a numeric target: each is a class, whose answer is a number.

    Attributes
    ----------
    edges : float64 (n_bins - 1,)
        Between the bins, rising; a number that is an edge is in the bin above it.
    values : float64 (n_bins,)
        The answer of each bin: the median or the mean of its numbers in training.
    error_costs : float64 (n_bins, n_bins)
        ``error_costs[answer, true bin]``: the mean over the training rows of the bin of the error of the answer, in
        the unit of the target; with ``answers="mean"`` of its square.
    answers : {"median", "mean"}
    n_asked : int, the number of bins of about equal size that was asked for, or None where edges were given
    unit : str, of the numbers, said with the answers; "" for none

    Examples
    --------
    >>> bins = Bins.of([1, 2, 3, 10, 11, 30], edges=[5, 20])
    >>> bins.values.tolist(), bins.codes([4, 5, 99]).tolist(), bins.error_costs[1].round(2).tolist()
    ([2.0, 10.5, 30.0], [0, 1, 2], [8.5, 0.5, 19.5])
    """

    edges: NDArray[np.float64]
    values: NDArray[np.float64]
    error_costs: NDArray[np.float64]
    answers: BinAnswers = "median"
    n_asked: int | None = None
    unit: str = ""

    def are_costs(self, error_costs: NDArray[np.float64]) -> bool:
        """Whether costs of errors are those of these bins; others are a user's own."""
        return np.array_equal(error_costs, self.error_costs)

    @classmethod
    def of(
        cls,
        numbers: ArrayLike,
        n_bins: int = N_BINS,
        *,
        edges: ArrayLike | None = None,
        answers: BinAnswers = "median",
        unit: str = "",
    ) -> Self:
        """The bins of the numbers of some rows.

        Parameters
        ----------
        numbers : array-like of shape (n_samples,), finite
        n_bins : int, default 16
            How many, from 2 to 100, with about the same number of rows in each. There are fewer where many rows have
            the same number.
        edges : array-like of shape (n_bins - 1,), optional
            Between the bins, in place of ``n_bins``.
        answers : {"median", "mean"}, default "median"
            The answer of a bin, and with it the loss: the absolute error for medians, the squared error for means.
        unit : str, optional
            Of the numbers, such as "h", shown with the answers.

        Raises
        ------
        ValueError, TypeError
            If numbers are text, missing, or all the same; if an edge is not above the one before it, or a bin has no
            row.
        """
        numbers = check_target_numbers(numbers)
        answers = check_choice(answers, option_text("answers"), *get_args(BinAnswers))
        distinct = np.unique(numbers)
        if len(distinct) < 2:
            raise ValueError(f"the numbers of the target must not all be the same, got {distinct[0]:g} in every row")
        if edges is None:
            if not is_integer(n_bins) or not 2 <= n_bins <= MAX_BINS:
                raise ValueError(
                    f"{option_text('bins')} must be a whole number from 2 to {MAX_BINS}, got {brief(n_bins)}"
                )
            inner, n_asked = _quantile_edges(numbers, distinct, int(n_bins)), int(n_bins)
        else:
            inner, n_asked = _check_edges(edges), None
        codes = np.searchsorted(inner, numbers, side="right")
        rows = [numbers[codes == k] for k in range(len(inner) + 1)]
        for k, part in enumerate(rows):
            if not len(part):
                among = _range_text(*_edges_of(inner, k), "between")
                raise ValueError(
                    f"each bin must have a row, but none of the {len(numbers)} numbers is {among}; "
                    f"they are from {distinct[0]:g} to {distinct[-1]:g}: move or remove an edge"
                )
        values = np.array([np.median(part) if answers == "median" else part.mean() for part in rows])
        costs = np.array([[_losses(part, value, answers).mean() for part in rows] for value in values])
        return cls(_frozen(inner), _frozen(values), _frozen(costs), answers, n_asked, unit)

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """What ``to_json`` returned; KeyError, TypeError or ValueError if it is damaged."""
        edges, values, costs = (np.array(plain[k], np.float64) for k in ("edges", "values", "error_costs"))
        n, n_asked = len(values), plain["n_asked"]
        if edges.shape != (n - 1,) or values.shape != (n,) or costs.shape != (n, n) or n < 2:
            raise ValueError("the bins of its target have shapes that do not fit")
        between = np.empty(2 * n - 1)
        between[::2], between[1::2] = values, edges
        if not (np.isfinite(between).all() and np.isfinite(costs).all() and (np.diff(between) >= 0).all()):
            raise ValueError("the bins of its target must be finite and rising")
        if n_asked is not None and not is_integer(n_asked):
            raise ValueError("the bins of its target have no valid number")
        answers = check_choice(plain["answers"], option_text("answers"), *get_args(BinAnswers))
        unit = plain.get("unit", "")
        if not isinstance(unit, str):
            raise ValueError("the unit of its target must be text")
        return cls(_frozen(edges), _frozen(values), _frozen(costs), answers, n_asked, unit)

    def to_json(self) -> dict[str, Any]:
        """The bins as plain JSON values."""
        arrays = {name: getattr(self, name).tolist() for name in ("edges", "values", "error_costs")}
        return arrays | {"answers": self.answers, "n_asked": self.n_asked} | ({"unit": self.unit} if self.unit else {})

    @property
    def n_bins(self) -> int:
        return len(self.values)

    @property
    def error(self) -> Literal["absolute_error", "squared_error"]:
        """The figure of an evaluation that the answers minimise."""
        return "absolute_error" if self.answers == "median" else "squared_error"

    def codes(self, numbers: ArrayLike) -> NDArray[np.int64]:
        """The bin of each number, int64 of the same shape."""
        return np.searchsorted(self.edges, np.asarray(numbers, np.float64), side="right")

    def losses(self, numbers: NDArray[np.float64], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
        """The loss of each prediction: the absolute or the squared error, as ``answers`` are medians or means."""
        return _losses(numbers, predicted, self.answers)

    def of_other(self, numbers: ArrayLike) -> Self:
        """The bins of other rows: as many of equal size as were asked for, or with the same edges."""
        asked: Mapping[str, Any] = {"edges": self.edges} if self.n_asked is None else {"n_bins": self.n_asked}
        return type(self).of(numbers, answers=self.answers, unit=self.unit, **asked)

    def number_text(self, number: float) -> str:
        """A number in six digits, with the unit."""
        return with_unit(number_text(number, ".6g"), self.unit)

    def ranges(self) -> list[NumberInWords]:
        """The answer of each bin, which prints as its range: ``4.5 to 5.5``."""
        return self._in_words(is_range=True)

    def labels(self) -> list[NumberInWords]:
        """The answer of each bin, which prints with its range: ``about 5, between 4.5 and 5.5``."""
        return self._in_words(is_range=False)

    def _in_words(self, is_range: bool) -> list[NumberInWords]:
        edges = (_edges_of(self.edges, k) for k in range(self.n_bins))
        return [NumberInWords(v, *of, is_range, self.unit) for v, of in zip(self.values.tolist(), edges, strict=True)]


class NumberInWords(float):
    """A number that prints as what is said of it in the language that is spoken; it counts, and is JSON, as a number.

    Attributes
    ----------
    low, high : float, or None where its bin has no lower or upper edge
    is_range : bool, whether it prints as its range alone
    unit : str, "" for none

    Examples
    --------
    >>> number = Bins.of([4, 5, 6], edges=[4.5, 5.5], unit="h").labels()[1]
    >>> print(number, "->", number + 1)
    about 5 h, between 4.5 and 5.5 h -> 6.0
    """

    low: float | None
    high: float | None
    is_range: bool
    unit: str

    def __new__(cls, value: float, low: float | None, high: float | None, is_range: bool, unit: str = "") -> Self:
        number = super().__new__(cls, value)
        number.low, number.high, number.is_range, number.unit = low, high, is_range, unit
        return number

    def __getnewargs__(self) -> tuple[float, float | None, float | None, bool, str]:
        return float(self), self.low, self.high, self.is_range, self.unit

    def __str__(self) -> str:
        if self.is_range:
            return _range_text(self.low, self.high, "from_to", self.unit)
        between = _range_text(self.low, self.high, "between", self.unit)
        return said("about_number", number=with_unit(number_text(self), self.unit), range=between)


def as_bins(given: Any, numbers: NDArray[np.float64], answers: BinAnswers = "median") -> Bins:
    """The bins that an argument means: ``Bins``, a number of bins, or edges."""
    if isinstance(given, Bins):
        if answers not in ("median", given.answers):
            raise ValueError(f"answers must be left out beside Bins, which answer with {given.answers}s")
        return given
    has_edges = np.iterable(given) and not isinstance(given, str)
    asked: dict[str, Any] = {"edges" if has_edges else "n_bins": given}
    return Bins.of(numbers, answers=answers, **asked)


def mean_loss(bins: Bins, numbers: ArrayLike, predicted: ArrayLike, weight: Any = None) -> float:
    """The mean loss of predictions (n_samples,), weighted; NaN where a row has no number, as it was referred."""
    answered = np.array([np.nan if isinstance(v, str) else v for v in np.asarray(predicted).tolist()], float)
    return float(np.average(bins.losses(check_target_numbers(numbers, len(answered)), answered), weights=weight))


def check_target_numbers(numbers: Any, n_samples: int | None = None) -> NDArray[np.float64]:
    """The numbers of a target, float64 (n_samples,); ValueError or TypeError unless all are finite numbers."""
    values = np.asarray(numbers)
    cell = next((v for v in values.flat if isinstance(v, str | bytes)), None) if values.dtype.kind in "OUS" else None
    if cell is not None or values.dtype.kind not in "buifO":
        what = f"the text {brief(str(cell))}" if cell is not None else f"dtype {values.dtype}"
        raise TypeError(
            f"a numeric target must hold numbers, got {what}; leave "
            f"{option_text('bins', command='--numeric-target')} out for classes"
        )
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError("a numeric target must hold numbers, and no other objects") from None
    if values.ndim != 1 or not len(values) or (n_samples or len(values)) != len(values):
        raise ValueError(f"a numeric target must have shape ({n_samples or 'n_samples'},), got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("a numeric target must not hold NaN or infinity; drop the rows without a number")
    return values


def _frozen(values: NDArray[np.float64]) -> NDArray[np.float64]:
    values = np.array(values, np.float64)
    values.flags.writeable = False
    return values


def _losses(numbers: NDArray[np.float64], predicted: Any, answers: str) -> NDArray[np.float64]:
    apart = np.abs(numbers - predicted)
    return apart if answers == "median" else apart**2


def _quantile_edges(numbers: NDArray[np.float64], distinct: NDArray[np.float64], n_bins: int) -> NDArray[np.float64]:
    """Edges half-way between neighbouring numbers, where each of ``n_bins`` equal parts of the rows begins."""
    first = np.minimum(-(-np.arange(1, n_bins) * len(numbers) // n_bins), len(numbers) - 1)  # rounded up
    place = np.unique(np.searchsorted(distinct, np.sort(numbers)[first]))
    place = place[place > 0] if place.any() else np.ones(1, np.int64)
    return (distinct[place - 1] + distinct[place]) / 2


def _check_edges(edges: ArrayLike) -> NDArray[np.float64]:
    try:
        inner = np.array(edges, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"the edges of bins must be numbers, got {brief(edges)}") from None
    if inner.ndim != 1 or not 1 <= len(inner) < MAX_BINS:
        raise ValueError(f"the edges of bins must be a list of 1 to {MAX_BINS - 1} numbers, got shape {inner.shape}")
    if not np.isfinite(inner).all() or (np.diff(inner) <= 0).any():
        raise ValueError(f"the edges of bins must be finite and rising, got {brief(inner.tolist())}")
    return inner


def _edges_of(edges: NDArray[np.float64], k: int) -> tuple[float | None, float | None]:
    """The lower and the upper edge of bin k; None where it has none."""
    return (float(edges[k - 1]) if k else None, float(edges[k]) if k < len(edges) else None)


def _range_text(low: float | None, high: float | None, between: str, unit: str = "") -> str:
    """The numbers of a bin in words; ``between`` names the sentence of one with both edges."""
    below, above = ("" if edge is None else number_text(edge, ".6g") for edge in (low, high))
    if high is None:
        return said("or_more", low=with_unit(below, unit))
    above = with_unit(above, unit)
    return said("below", high=above) if low is None else said(between, low=below, high=above)
