"""One case: what is known of it, and what the rules allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.rules import Rules
from fsgym.rules.states import legal_and_prices
from fsgym.session.acquisitions import Acquisitions, name_list
from fsgym.text.messages import brief


class Case:
    """One case between two questions; F features, J acquisitions.

    Values that are known at no price count for prerequisites and relations, but not for budgets. Of a group that is
    known in part, the rest comes with an acquisition of the group, at its whole price.

    Attributes
    ----------
    rules : Rules
    values : float64 (F,), NaN where a value is not known
    unavailable : bool (F,), the features that cannot be obtained (any more)
    paid : bool (J,), the acquisitions that were made
    spent : float, their total price, in the unit of ``costs``
    n_paid : int, how many acquisitions count for ``budget``
    missing : bool (F,), which values the case does not have, or None where nothing is said of all of them
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.values = np.full(rules.n_features, np.nan)
        self.unavailable = np.zeros(rules.n_features, bool)
        self.paid = np.zeros(rules.n_acquisitions, bool)
        self.spent, self.n_paid = 0.0, 0
        self.missing: NDArray[np.bool_] | None = None

    def copy(self) -> Self:
        """An independent copy."""
        other = type(self)(self.rules)
        other.values, other.unavailable, other.paid = self.values.copy(), self.unavailable.copy(), self.paid.copy()
        other.spent, other.n_paid, other.missing = self.spent, self.n_paid, self.missing
        return other

    @property
    def acquired(self) -> NDArray[np.bool_]:
        """The features whose values are known, bool (F,)."""
        return ~np.isnan(self.values)

    def know(self, features: list[int], numbers: NDArray[np.float64]) -> None:
        """Set values; a feature that is known to have none (NaN) is unavailable."""
        self.values[features] = numbers
        self.unavailable[features] = np.isnan(numbers)

    def mark_unavailable(self, features: list[int]) -> None:
        """Mark features as impossible to obtain, unless they are known."""
        self.unavailable[features] = np.isnan(self.values[features])

    @property
    def open(self) -> NDArray[np.bool_]:
        """The features that are not known and can be obtained, bool (F,)."""
        return np.isnan(self.values) & ~self.unavailable

    @property
    def lacks_values(self) -> bool:
        """Whether something cannot be obtained, besides the values that are said to be missing (``missing``)."""
        lacking = self.unavailable if self.missing is None else self.unavailable & ~self.missing
        return bool(lacking.any())

    def affords(self, price: float) -> bool:
        """Whether the budgets leave room for one more acquisition at a price."""
        budget = self.rules.budget
        return (budget is None or self.n_paid < budget) and self.spent + price <= self.rules.tables.budget_cost

    def charge(self, price: float) -> None:
        """Pay for an acquisition, which counts for the budgets."""
        self.spent += price
        self.n_paid += 1

    def pay(self, j: int, price: float) -> None:
        """Make acquisition j: what it does not bring cannot be obtained any more."""
        self.charge(price)
        self.paid[j] = True
        self.mark_unavailable(list(self.rules.groups[j]))

    def legal_and_prices(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """The legal actions, bool (n_actions,), and the prices of the acquisitions, float64 (J,)."""
        some, rest = self.rules.acquisitions_of([self.acquired, self.open])
        rest &= ~self.paid
        taken = self.paid | (some & ~rest)
        legal, prices = legal_and_prices(
            self.rules, taken[None], np.array([self.spent]), np.array([self.n_paid], np.int64)
        )
        legal[0, : len(rest)] &= rest
        return legal[0], prices[0]


def start_case(
    acquisitions: Acquisitions,
    known: Mapping[str, Any],
    unavailable: Iterable[str],
    accept: bool,
    missing: Iterable[str] | None = None,
) -> Case:
    """A case with values known in advance."""
    case = Case(acquisitions.rules)
    if not isinstance(known, Mapping):
        raise TypeError(f"known must be a mapping of names to values, got {brief(known)}")
    given: dict[str, Any] = {}
    for name, value in known.items():
        for column, cell in acquisitions.values_of(name, value).items():
            if column in given:
                raise ValueError(f"known must have one value for each column, got two for {column!r}")
            given[column] = cell
    absent = _features_without_value(acquisitions, unavailable, "unavailable", given)
    if missing is not None:
        lacking = _features_without_value(acquisitions, missing, "missing", given)
        case.missing = np.isin(np.arange(acquisitions.rules.n_features), lacking)
        absent += lacking
    case.mark_unavailable(absent)
    features, numbers, _ = acquisitions.encode(given, accept)
    case.know(features, numbers)
    return case


def _features_without_value(
    acquisitions: Acquisitions, names: Iterable[str], what: str, given: Mapping[str, Any]
) -> list[int]:
    """The features of these acquisitions or columns, none of which may have a value in ``given``."""
    features: list[int] = []
    for name in name_list(names, what):
        try:
            columns = acquisitions.find(name)[1]
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None
        double = [acquisitions.columns[k].name for k in columns if acquisitions.columns[k].name in given]
        if double:
            raise ValueError(f"{double[0]!r} must be known or {what}, got both")
        features += acquisitions.features_of(columns)
    return features
