"""What a policy did for each row: its acquisitions in their order, what they cost and revealed, and its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fsgym.data.columns import Columns
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp
from fsgym.support.arrays import read_only
from fsgym.text.html import HtmlTable, html_block

if TYPE_CHECKING:
    import pandas as pd


class EpisodeTable(NamedTuple):
    """The rows of trajectories, to show them with names and values."""

    X: NDArray[np.float32]  # (n_samples, n_features)
    rules: Rules
    columns: Columns
    classes: NDArray  # array (n_classes,)
    # (n_samples, J), or None; the prices of each row where ``rules`` have prices by case
    case_costs: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Trajectories:
    """The acquisitions of each row in their order, and its answer.

    Attributes
    ----------
    order : int32 (n_samples, longest), the acquisitions in their order, then -1
    acquired : bool (n_samples, n_features), the features whose values are known at the end (z)
    answers : int64 (n_samples,), class codes; n_classes for a row that is referred to a person
    forfeited : bool (n_samples,), whether an illegal action ended the episode
    table : EpisodeTable, or None; the rows, for ``to_frame``
    probabilities : float64 (n_samples, n_classes), or None
        Class probabilities given the values acquired by then, at the answer; None for a policy without a model of the
        classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = LatticeClassifier(lam=0.05, random_state=0).fit(X[["hue", "flavanoids"]], y)
    >>> paths = model.trajectories(X)
    >>> paths.order.shape == (178, paths.lengths.max()), paths.to_frame()["acquired"].iloc[0]
    (True, 'flavanoids')
    """

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]
    forfeited: NDArray[np.bool_]
    table: EpisodeTable | None = None
    probabilities: NDArray[np.float64] | None = None

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of acquisitions for each row, int64 (n_samples,)."""
        return (self.order >= 0).sum(axis=1)

    def __repr__(self) -> str:
        mean, most = (self.lengths.mean(), self.lengths.max()) if len(self.order) else (0.0, 0)
        return f"Trajectories({len(self.order)} rows, {mean:.2f} acquisitions on average, at most {most})"

    def _repr_html_(self) -> str:
        counts = np.bincount(self.lengths)
        shares = ((k, int(n), f"{n / len(self.order):.1%}") for k, n in enumerate(counts))
        parts = [f"{self.forfeited.sum():,} rows ended with an illegal action."] if self.forfeited.any() else []
        return html_block(repr(self), *parts, HtmlTable(["acquisitions", "rows", "share"], shares, len(counts)))

    def to_frame(self) -> pd.DataFrame:
        """The steps of all rows as a table, one line per acquisition and per answer.

        Returns
        -------
        DataFrame
            Columns ``row``; ``step`` from 0; ``acquired``, the name of the acquisition, None for the answer; ``value``,
            what it revealed, with units; ``price``, in the unit of ``costs``; ``spent``, the sum so far; ``answer``,
            the class label at the end, None before.

        Raises
        ------
        ValueError
            If the trajectories were made by a policy rather than a classifier, and so have no table.
        """
        import pandas as pd

        if self.table is None:
            raise ValueError("to_frame needs the rows; use the trajectories of a classifier or of an Evaluation")
        X, rules, columns, classes, case_costs = self.table
        labels = rules.answer_labels(classes).tolist()
        prices = price_steps(rules, X, self.order, case_costs)
        lines = []
        for i, order in enumerate(self.order):
            spent = 0.0
            acquisitions = order[order >= 0].tolist()
            for step, j in enumerate(acquisitions):
                spent += prices[i, step]
                value = values_as_text(X[i], rules.groups[j], columns)
                lines.append((i, step, rules.names[j], value, prices[i, step], spent, None))
            lines.append((i, len(acquisitions), None, None, 0.0, spent, labels[self.answers[i]]))
        header = ("row", "step", "acquired", "value", "price", "spent", "answer")
        cells = zip(*lines, strict=True) if lines else [()] * len(header)
        types = {"row": np.int64, "step": np.int64, "price": np.float64, "spent": np.float64}
        # With dtype object None stays None; pandas would otherwise write NaN.
        return pd.DataFrame(
            {name: pd.Series(list(column), dtype=types.get(name, object)) for name, column in zip(header, cells)}
        )


class TrajectoryArrays(NamedTuple):
    """Arrays of n rows that compiled code fills, see ``Trajectories``."""

    order: NDArray[np.int32]
    acquired: NDArray[np.bool_]
    answers: NDArray[np.int64]
    probabilities: NDArray[np.float64]  # (0, 0) for a policy without

    @classmethod
    def blank(cls, n: int, rules: Rules, *, with_probabilities: bool) -> TrajectoryArrays:
        return cls(
            np.full((n, rules.most_acquisitions), -1, np.int32),
            np.zeros((n, rules.n_features), bool),
            np.zeros(n, np.int64),
            np.zeros((n, rules.n_classes) if with_probabilities else (0, 0)),
        )

    def filled(self) -> Trajectories:
        """The trajectories, without the columns of ``order`` that no row reaches."""
        longest = int((self.order >= 0).sum(axis=1).max(initial=0))
        order, forfeited = self.order[:, :longest], np.zeros(len(self.order), bool)
        proba = self.probabilities if self.probabilities.shape[1] else None
        return Trajectories(order, self.acquired, self.answers, forfeited, probabilities=proba)


def revealed_values(row: NDArray[np.float32], features: Sequence[int], columns: Columns) -> list[tuple[str, str]]:
    """Names and values, with units, of the columns that some features (indices) of one row belong to.

    A column of which only some features are given is shown feature by feature.
    """
    given, revealed = set(features), []
    for k in dict.fromkeys(columns.column_of[list(features)].tolist()):
        column, places = columns[k], columns.features[k]
        if given.issuperset(places):
            revealed.append((column.name, column.text(row[places.start : places.stop])))
        else:
            names = dict(zip(places, column.feature_names, strict=True))
            revealed += [(names[i], "missing" if np.isnan(row[i]) else f"{row[i]:.6g}") for i in places if i in given]
    return revealed


def values_as_text(row: NDArray[np.float32], features: Sequence[int], columns: Columns) -> str:
    """The values that an acquisition of ``features`` reveals, with units; with names if there are several."""
    revealed = revealed_values(row, features, columns)
    return revealed[0][1] if len(revealed) == 1 else ", ".join(f"{name} {text}" for name, text in revealed)


def price_orders(
    rules: Rules,
    X: NDArray[np.float32],
    order: NDArray[np.int32],
    case_costs: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """Total price of the acquisitions of each row, in their order.

    Parameters
    ----------
    rules : Rules
    X : float32 (n_samples, n_features); only which values are missing matters
    order : int32 (n_samples, longest), acquisitions, then -1
    case_costs : float64 (n_samples, J), optional
        The prices of each row where ``rules`` have prices by case; by default ``rules.costs``.

    Returns
    -------
    spent : float64 (n_samples,), in the unit of ``costs``
    n_made : int64 (n_samples,), number of acquisitions that were made; of missing values none is
    admissible : bool (n_samples,), whether the rules allow all of them
    """
    spent, n_made, admissible = _priced(rules, X, order, case_costs)
    return spent[:, -1].copy(), n_made, admissible


def price_steps(
    rules: Rules,
    X: NDArray[np.float32],
    order: NDArray[np.int32],
    case_costs: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The price of each acquisition in ``order``, float64 (n_samples, longest), 0 where there is none.

    Parameters and unit are those of ``price_orders``.
    """
    return np.diff(_priced(rules, X, order, case_costs)[0], axis=1)


def _priced(
    rules: Rules, X: NDArray[np.float32], order: NDArray[np.int32], case_costs: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """As ``price_orders``, with the total price after each acquisition, from 0 on: float64 (n_samples, longest + 1)."""
    spent, n_made = np.zeros((len(order), order.shape[1] + 1)), np.zeros(len(order), np.int64)
    admissible = np.ones(len(order), bool)
    given = read_only(X, np.float32), rules.case_costs_or_none(case_costs), read_only(order, np.int32)
    _price_orders(rules.tables, rules.blank_state(), *given, spent, n_made, admissible)
    return spent, n_made, admissible


@njit(cache=True, nogil=True, _nrt=False)
def _price_orders(t, state, X, case_costs, order, spent, n_made, admissible):
    """Compiled loop of ``_priced``."""
    for i in range(len(order)):
        mdp.set_case_costs(t, state, mdp.FIRST, case_costs, i)
        mdp.start(t, state, mdp.FIRST, X, i)
        over = False
        for k in range(order.shape[1]):
            j = np.int64(order[i, k])
            over = over or j < 0
            if not over and state.status[0, j] != mdp.MISSING:
                admissible[i] = admissible[i] and state.legal[0, j] == 1
                mdp.acquire(t, state, mdp.FIRST, j)
            spent[i, k + 1] = state.spent[0]
        n_made[i] = state.n_taken[0]
