"""A second implementation of the decision process, in plain Python and from the paper's text.

Dulac-Arnold, Denoyer, Preux and Gallinari (2012), sections 3.1 and 4 and Table 2. One row at a time, lists and loops,
no speed; it shares no code with the compiled rules, so that tests can compare the two. All tests that need the process
written out use this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


class ReferenceProcess:
    """The process under ``options``, as given to ``fsgym.Rules``.

    A state is a row ``x`` (NaN where a value is unavailable) and the acquisitions ``order``, in the order in which they
    were made.
    """

    def __init__(self, n_features: int, n_classes: int, options: dict) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        groups = options.get("groups")
        self.groups = [[i] for i in range(n_features)] if groups is None else [list(g) for g in groups]
        self.n_acquisitions = len(self.groups)
        self.lam = options.get("lam", 0.01)
        self.costs = self._prices(options.get("costs", 1.0))
        self.unrelated_costs = options.get("unrelated_costs")
        self.related = options.get("related")
        self.relation = options.get("relation", "any")
        self.empty_is_related = options.get("empty_is_related", True)
        self.error_costs = options.get("error_costs")
        self.refer_cost = options.get("refer_cost")
        self.n_answers = n_classes + (self.refer_cost is not None)
        self.budget, self.budget_cost = options.get("budget"), options.get("budget_cost")
        self.always_known = options.get("always_known", ())
        self.prerequisites = options.get("prerequisites")

    def _prices(self, prices) -> list[float]:
        if isinstance(prices, (int, float)):
            return [float(prices)] * self.n_acquisitions
        return [float(p) for p in prices]

    def is_available(self, j: int, x) -> bool:
        """Whether the row has a value for at least one feature of the acquisition."""
        return any(not math.isnan(x[i]) for i in self.groups[j])

    def is_related(self, j: int, order: Sequence[int]) -> bool:
        if not order:
            return self.empty_is_related
        return {"any": any, "all": all}[self.relation](self.related[j][i] for i in order)

    def price(self, j: int, order: Sequence[int]) -> float:
        """What acquisition j costs after ``order``, in the unit of ``costs``."""
        if self.related is None or isinstance(self.unrelated_costs, str) or self.is_related(j, order):
            return self.costs[j]
        return self._prices(self.unrelated_costs)[j]

    def spent(self, order: Sequence[int]) -> float:
        """What the acquisitions cost together, each at its price when it was made."""
        return sum((self.price(j, order[:k]) for k, j in enumerate(order)), 0.0)

    def is_legal(self, j: int, order: Sequence[int], x=None, spent: float | None = None) -> bool:
        """Whether acquisition j may be made; without ``x`` no value is missing, ``spent`` follows from ``order``."""
        if j in order or (x is not None and not self.is_available(j, x)):
            return False
        counted = [i for i in order if i not in self.always_known]
        if self.budget is not None and len(counted) >= self.budget and j not in self.always_known:
            return False
        if self.budget_cost is not None:
            before = self.spent(order) if spent is None else spent
            if before + self.price(j, order) > self.budget_cost * (1 + 1e-9):
                return False
        if self.prerequisites is not None:
            for i in range(self.n_acquisitions):
                if self.prerequisites[j][i] and i not in order:
                    return False
        return not (isinstance(self.unrelated_costs, str) and order and not self.is_related(j, order))

    def mask(self, order: Sequence[int], x=None) -> list[bool]:
        """Whether each action is legal: the acquisitions, then the answers, which always are."""
        return [self.is_legal(j, order, x) for j in range(self.n_acquisitions)] + [True] * self.n_answers

    def known(self, order: Sequence[int], x) -> list[bool]:
        """z: whether the value of each feature is known."""
        acquired = {i for j in order for i in self.groups[j]}
        return [i in acquired and not math.isnan(x[i]) for i in range(self.n_features)]

    def observation(self, order: Sequence[int], x) -> list[float]:
        """phi(x, z): z, then each value where it is known, else 0."""
        z = self.known(order, x)
        return [float(known) for known in z] + [float(v) if known else 0.0 for v, known in zip(x, z, strict=True)]

    def error_cost(self, answer: int, true_class: int) -> float:
        if answer == self.n_classes:
            return float(self.refer_cost)
        if self.error_costs is None:
            return float(answer != true_class)
        return float(self.error_costs[answer][true_class])

    def costliest_answer(self, true_class: int) -> int:
        return max(range(self.n_classes), key=lambda answer: self.error_cost(answer, true_class))


class ReferenceEpisode:
    """One episode of the process, on a row ``x`` of class ``true_class``."""

    def __init__(self, x, true_class: int, n_classes: int, options: dict) -> None:
        self.process = ReferenceProcess(len(x), n_classes, options)
        self.x, self.true_class = [float(v) for v in x], true_class
        self.order: list[int] = []
        self.answer: int | None = None

    @property
    def spent(self) -> float:
        return self.process.spent(self.order)

    def mask(self) -> list[int]:
        return [int(legal) for legal in self.process.mask(self.order, self.x)]

    def observation(self) -> list[float]:
        return self.process.observation(self.order, self.x)

    def step(self, action: int) -> float:
        """The reward; an illegal acquisition counts as the answer that costs most."""
        process = self.process
        if action < process.n_acquisitions and process.is_legal(action, self.order, self.x):
            price = process.price(action, self.order)
            self.order.append(action)
            return -process.lam * price
        answer = action - process.n_acquisitions
        self.answer = answer if answer >= 0 else process.costliest_answer(self.true_class)
        return -process.error_cost(self.answer, self.true_class)
