"""The decision process once more, in plain Python and from the paper's text, to check the compiled one against.

Dulac-Arnold, Denoyer, Preux and Gallinari (2012), sections 3.1 and 4 and Table 2; one datum at a time, sets and
loops, no speed.
"""

from __future__ import annotations

import math


class Twin:
    """One episode under the rules that ``options`` (as given to ``fsgym.Rules``) describe."""

    def __init__(self, x, truth, n_classes, options):
        self.x, self.truth, self.n_classes = [float(v) for v in x], truth, n_classes
        n = len(self.x)
        self.groups = [list(g) for g in options.get("groups") or [[i] for i in range(n)]]
        self.J = len(self.groups)
        self.lam = options.get("lam", 0.01)
        self.costs = self._list(options.get("costs", 1.0))
        self.unrelated = options.get("unrelated_costs")
        self.related = options.get("related")
        self.relation = options.get("relation", "any")
        self.empty_is_related = options.get("empty_is_related", True)
        self.errors = options.get("error_costs")
        self.budget, self.purse = options.get("budget"), options.get("budget_cost")
        self.needs = options.get("prerequisites")
        self.taken, self.spent, self.answer = [], 0.0, None

    def _list(self, prices):
        return [float(prices)] * self.J if isinstance(prices, (int, float)) else [float(p) for p in prices]

    def available(self, j):
        """A value can be had where at least one feature of the group is not missing."""
        return any(not math.isnan(self.x[i]) for i in self.groups[j])

    def is_related(self, j):
        if not self.taken:
            return self.empty_is_related
        return {"any": any, "all": all}[self.relation](self.related[j][i] for i in self.taken)

    def price(self, j):
        if self.related is None or self.unrelated == "forbid" or self.is_related(j):
            return self.costs[j]
        return self._list(self.unrelated)[j]

    def is_legal(self, a):
        if a >= self.J:
            return True
        if a in self.taken or not self.available(a):
            return False
        if self.budget is not None and len(self.taken) >= self.budget:
            return False
        if self.purse is not None and self.spent + self.price(a) > self.purse * (1 + 1e-9):
            return False
        if self.needs is not None and any(self.needs[a][i] and i not in self.taken for i in range(self.J)):
            return False
        return not (self.unrelated == "forbid" and self.taken and not self.is_related(a))

    def mask(self):
        return [int(self.is_legal(a)) for a in range(self.J + self.n_classes)]

    def error_cost(self, answer):
        return float(answer != self.truth) if self.errors is None else float(self.errors[answer][self.truth])

    def step(self, a):
        """The reward; an illegal acquisition is booked as the answer that costs most."""
        if a < self.J and self.is_legal(a):
            price = self.price(a)
            self.taken.append(a)
            self.spent += price
            return -self.lam * price
        self.answer = a - self.J if a >= self.J else max(range(self.n_classes), key=self.error_cost)
        return -self.error_cost(self.answer)

    def observation(self):
        known = {i for j in self.taken for i in self.groups[j] if not math.isnan(self.x[i])}
        n = len(self.x)
        return [float(i in known) for i in range(n)] + [self.x[i] if i in known else 0.0 for i in range(n)]
