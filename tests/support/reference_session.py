"""What a session must do, in plain Python: which acquisitions can be made, what they cost, what is refused.

It shares no code with ``fsgym.session``: rules are those of ``ReferenceProcess``, and ``undo`` counts all again
from what was said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from support.reference import ReferenceProcess


class Said(NamedTuple):
    """One thing that was said: ``columns`` have a value for "answer", none for "unknown"."""

    kind: str
    j: int
    columns: tuple[int, ...] = ()
    paid: bool = False


class Entry(NamedTuple):
    """A line of the log: ``kind`` is "paid", "known", "unknown" or "later"."""

    kind: str
    j: int
    price: float
    spent: float


class ReferenceSession:
    """A session on a table whose columns have one feature each.

    Parameters
    ----------
    n_features, n_classes : int
    options : dict, as given to ``fsgym.Rules``, with groups by position
    known, unavailable : columns, in advance
    charge_unknown : bool
    """

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        options: dict,
        known: Collection[int] = (),
        unavailable: Collection[int] = (),
        charge_unknown: bool = False,
    ) -> None:
        self.budget = options.get("budget")
        self.process = ReferenceProcess(n_features, n_classes, {**options, "budget": None})
        self.start, self.unavailable, self.charge_unknown = set(known), set(unavailable), charge_unknown
        self.said: list[Said] = []
        self.count()

    def count(self) -> None:
        """Count from the beginning: values, payments and the log."""
        self.known, self.closed = set(self.start), set(self.unavailable)
        self.paid: set[int] = set()
        self.later: set[int] = set()
        self.spent, self.n_paid, self.log = 0.0, 0, []
        for one in self.said:
            self._count_one(one)

    def _count_one(self, one: Said) -> None:
        price, kind = self.price(one.j), one.kind
        pays = one.paid and one.j not in self.paid and self.affords(price)
        self.later.discard(one.j)
        if one.kind == "later":
            self.later.add(one.j)
        elif one.kind == "unknown":
            self.closed |= set(one.columns) - self.known
        else:
            self.known |= set(one.columns)
            self.closed -= set(one.columns)
            kind = "paid" if pays else "known"
            if pays:
                self.paid.add(one.j)
                self.closed |= set(self.process.groups[one.j]) - self.known
        if pays:
            self.spent += price
            self.n_paid += 1
        self.log.append(Entry(kind, one.j, price if pays else 0.0, self.spent))

    def open_columns(self, j: int) -> list[int]:
        """The columns that an acquisition would bring."""
        return [i for i in self.process.groups[j] if i not in self.known and i not in self.closed]

    def taken(self) -> list[int]:
        """The acquisitions that count for prerequisites and relations."""
        groups = self.process.groups
        whole = [j for j, group in enumerate(groups) if self.known & set(group) and not self.open_columns(j)]
        return sorted({*whole, *self.paid})

    def price(self, j: int) -> float:
        return self.process.price(j, self.taken())

    def affords(self, price: float) -> bool:
        limit = self.process.budget_cost
        in_cost = limit is None or self.spent + price <= limit * (1 + 1e-9)
        return in_cost and (self.budget is None or self.n_paid < self.budget)

    def is_legal(self, j: int) -> bool:
        if j in self.paid or not self.open_columns(j) or (self.budget is not None and self.n_paid >= self.budget):
            return False
        return self.process.is_legal(j, [i for i in self.taken() if i != j], spent=self.spent)

    def prices(self) -> dict[int, float]:
        """The legal acquisitions with their prices."""
        return {j: self.price(j) for j in range(len(self.process.groups)) if self.is_legal(j)}

    # What a person says; each returns whether it is taken.

    def answer(self, j: int, columns: Sequence[int], paid: bool = True) -> bool:
        is_legal = self.is_legal(j)
        if (paid and j not in self.paid and not is_legal) or self.known & set(columns):
            return False
        self._say(Said("answer", j, tuple(columns), paid and is_legal))
        return True

    def unknown(self, j: int, columns: Sequence[int]) -> bool:
        if set(columns) <= self.known:
            return False
        is_whole = set(self.open_columns(j)) <= set(columns)
        self._say(Said("unknown", j, tuple(columns), self.charge_unknown and is_whole and self.is_legal(j)))
        return True

    def postpone(self, j: int) -> bool:
        if not self.is_legal(j) or j in self.later:
            return False
        self._say(Said("later", j))
        return True

    def undo(self, j: int | None = None) -> bool:
        left = self.said[:-1] if j is None else [one for one in self.said if one.j != j]
        if len(left) == len(self.said):
            return False
        self.said = left
        self.count()
        return True

    def undo_entry(self, place: int) -> bool:
        if place >= len(self.said):
            return False
        del self.said[place]
        self.count()
        return True

    def _say(self, one: Said) -> None:
        self.said.append(one)
        self._count_one(one)
