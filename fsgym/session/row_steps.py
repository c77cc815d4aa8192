"""The next step of each row of a table, in which an empty cell is a value that is not known yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.session.asked_model import AskedModel
from fsgym.session.case import hides_what_is_unavailable, legal_in_cases, within_range

if TYPE_CHECKING:
    import pandas as pd


class RowCases(NamedTuple):
    """What is known of n cases, each a row; F features and J acquisitions in the order of the user."""

    values: NDArray[np.float32]  # (n, F), NaN where not known
    # (n, F), without a result; and those of a cell which says nothing: a level that was not in training
    unavailable: NDArray[np.bool_]
    prices: NDArray[np.float64] | None = None  # (n, J), of a model with prices by case: those of each case

    @classmethod
    def of(
        cls,
        model: AskedModel,
        table: pd.DataFrame,
        prices: NDArray[np.float64] | None = None,
        no_result: NDArray[np.bool_] | None = None,
    ) -> Self:
        """The cases of a table with the columns of the model in their order.

        ``no_result``, bool (n, n_columns), says which empty cells cannot be obtained.
        """
        columns = model.acquisitions_.columns
        named = table.set_axis(list(columns.names), axis=1)
        values = columns.encode(named)
        given = named.notna().to_numpy() if no_result is None else named.notna().to_numpy() | no_result
        return cls(values, given[:, columns.column_of] & np.isnan(values), prices)

    def rows(self, which: NDArray[np.int64]) -> Self:
        """Some of the cases."""
        prices = None if self.prices is None else self.prices[which]
        return type(self)(self.values[which], self.unavailable[which], prices)


class RowSteps(NamedTuple):
    """What a model says about n cases, as ``Step`` does about one."""

    question: NDArray[np.int64]  # (n,), the acquisition to make next; -1 where the model stops
    price: NDArray[np.float64]  # (n,), of the question; NaN where there is none
    answers: NDArray[np.int64]  # (n,), if given now: class codes, n_classes refers
    probabilities: NDArray[np.float64] | None  # (n, n_classes)
    # (n,), as of ``ExpectedCost``; NaN where there is no estimate
    stop_cost: NDArray[np.float64]
    go_on_cost: NDArray[np.float64]


def steps_of_rows(model: AskedModel, cases: RowCases) -> RowSteps:
    """The next step of each case; its known values count as free, and what is not known can be obtained.

    That a value is not known is no evidence, as it may still come.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X = X[["alcohol", "hue", "flavanoids"]]
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X, y)
    >>> steps = steps_of_rows(model, RowCases.of(model, X[:1].assign(alcohol=None, hue=None).astype(float)))
    >>> model.rules_.names[steps.question[0]], model.step({"flavanoids": X["flavanoids"][0]}).question.name
    ('alcohol', 'alcohol')
    """
    if cases.prices is None:
        return _steps_at_same_prices(model, cases)
    priced: Any = model
    if not len(cases.prices):
        return _steps_at_same_prices(priced.at_prices({}), cases)
    vectors, place = np.unique(cases.prices, axis=0, return_inverse=True)
    groups = [np.flatnonzero(place.ravel() == k) for k in range(len(vectors))]
    parts = [
        _steps_at_same_prices(priced.at_prices(vector), cases.rows(rows))
        for vector, rows in zip(vectors, groups, strict=True)
    ]
    back, joined = np.argsort(np.concatenate(groups)), dict[str, Any]()
    for name, values in zip(RowSteps._fields, zip(*parts, strict=True), strict=True):
        joined[name] = None if values[0] is None else np.concatenate(values)[back]
    return RowSteps(**joined)


def _steps_at_same_prices(model: AskedModel, cases: RowCases) -> RowSteps:
    acquisitions, n = model.acquisitions_, len(cases.values)
    rules = acquisitions.rules
    known, J = ~np.isnan(cases.values), rules.n_acquisitions
    state = known, cases.unavailable, np.zeros((n, J), bool)
    legal, prices = legal_in_cases(acquisitions.rules, *state, np.zeros(n), np.zeros(n, np.int64))
    advice = within_range(model.advise(known, cases.values.astype(np.float64), legal), prices, rules)
    advice.expected[hides_what_is_unavailable(rules, *state)] = np.nan
    rows, asks, goes_on = np.arange(n), advice.actions < J, advice.beyond >= 0
    question = np.where(asks, advice.actions, -1)
    return RowSteps(
        question,
        np.where(asks, prices[rows, question], np.nan),
        advice.answers,
        advice.probabilities,
        advice.stop_cost,
        np.where(goes_on, advice.expected[rows, advice.beyond], np.nan),
    )
