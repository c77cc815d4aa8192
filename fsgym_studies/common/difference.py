"""Two methods compared in pairs: the difference of their mean figures with its standard error, in numbers and words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.noise import standard_error
from fsgym_studies.common.render import DASH, format_number
from fsgym_studies.common.statistics import wins


class Difference(NamedTuple):
    """The first of two methods compared with the second."""

    # mean figures; NaN where a method has none
    first: float
    second: float
    error: float  # standard error of their difference
    lower_is_better: bool = False  # whether the figures are errors or losses
    # data sets on which the first is better, equal and worse, if they were counted
    wins: int = 0
    ties: int = 0
    losses: int = 0

    @property
    def mean(self) -> float:
        return self.first - self.second

    @property
    def count(self) -> int:
        """The number of data sets."""
        return self.wins + self.ties + self.losses

    @property
    def word(self) -> str:
        """Better or worse where the difference is more than two standard errors, otherwise similar; or a dash."""
        gain = -self.mean if self.lower_is_better else self.mean
        if np.isnan(gain) or np.isnan(self.error):
            return DASH
        return "better" if gain > 2 * self.error else "worse" if gain < -2 * self.error else "similar"

    @property
    def better(self) -> bool | None:
        """Whether the first is better; None if that cannot be said."""
        return None if self.word == DASH else self.word == "better"

    @property
    def phrase(self) -> str:
        return f"{self.word} {'to' if self.word == 'similar' else 'than'}"

    @property
    def text(self) -> str:
        """The difference and on how many data sets the first is better, equal and worse, for figures in percent."""
        return f"{self.with_error(2)}, {self.wins}/{self.ties}/{self.losses}" if self.count else DASH

    def with_error(self, digits: int) -> str:
        return f"{self.mean:+.{digits}f} ± {format_number(self.error, digits)}"


def error_of_shares(share: float, tested: int) -> float:
    """The standard error of a difference of two independent shares near ``share``, each of so many rows."""
    return float(np.sqrt(2 * share * (1 - share) / tested))


def paired_difference(
    first: pd.Series, second: pd.Series, *, tie: float = 0.0, scale: float = 1.0, lower_is_better: bool = False
) -> Difference:
    """Compare two methods on the data sets for which both have a figure.

    Differences up to ``tie`` are ties. The means and the standard error over the data sets are multiplied by ``scale``.

    >>> paired_difference(pd.Series([0.9, 0.8]), pd.Series([0.88, 0.8]), scale=100).text
    '+1.00 ± 1.00, 1/1/0'
    """
    both = pd.DataFrame({"first": first, "second": second}, dtype=np.float64).dropna()
    ahead = both["second"] - both["first"] if lower_is_better else both["first"] - both["second"]
    first_mean, second_mean = (scale * both.mean()).tolist()
    return Difference(first_mean, second_mean, standard_error(scale * ahead), lower_is_better, *wins(ahead, tie))
