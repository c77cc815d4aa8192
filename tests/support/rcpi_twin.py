"""The decision process and RCPI's steps once more, in plain Python: slow, literal, and sharing no code with them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fsgym import Dataset, Rules

N_FEATURES, N_CLASSES = 6, 3
PAIRS = [[0, 3], [1], [2, 5, 4]]
CHAIN = np.eye(N_FEATURES, k=1) + np.eye(N_FEATURES, k=-1)
NEEDS = np.zeros((N_FEATURES, N_FEATURES))
NEEDS[1, 0] = NEEDS[4, 1] = NEEDS[4, 2] = 1
PRICES = [0.5, 1.0, 2.0, 0.25, 1.5, 3.0]
ERRORS = [[-0.5, 1.0, 4.0], [2.0, 0.0, 1.0], [1.0, 3.0, -1.0]]

VARIANTS: dict[str, dict] = {
    "base": {},
    "free": {"lam": 0.0},
    "budget": {"budget": 3},
    "costs": {"costs": PRICES, "error_costs": ERRORS},
    "budget_cost": {"costs": PRICES, "budget_cost": 2.6},
    "both budgets": {"costs": PRICES, "budget_cost": 4.0, "budget": 2},
    "groups": {"groups": PAIRS},
    "groups, costs, budget": {"groups": PAIRS, "costs": [1, 2, 3], "budget": 2, "error_costs": ERRORS},
    "related to any": {"lam": 1.0, "costs": 0.02, "unrelated_costs": 0.1, "related": CHAIN},
    "related to all": {"lam": 1.0, "costs": 0.02, "unrelated_costs": PRICES, "related": CHAIN, "relation": "all"},
    "needle": {
        "lam": 0.01, "costs": PRICES, "unrelated_costs": 4.0, "related": np.ones((6, 6)) - np.eye(6),
        "empty_is_related": False, "budget_cost": 6.0,
    },
    "forbid": {"related": CHAIN, "unrelated_costs": "forbid"},
    "forbid, one way, all": {"related": np.triu(np.ones((6, 6))), "unrelated_costs": "forbid", "relation": "all"},
    "prerequisites": {"prerequisites": NEEDS},
    "prerequisites, budget": {"prerequisites": NEEDS, "budget": 4, "costs": PRICES},
    "everything": {
        "groups": PAIRS, "lam": 0.5, "costs": [0.1, 0.2, 0.3], "unrelated_costs": [0.4, 0.5, 0.6], "budget": 2,
        "budget_cost": 0.95, "related": [[0, 1, 0], [1, 0, 1], [0, 1, 0]], "error_costs": ERRORS,
        "prerequisites": [[0, 0, 0], [0, 0, 0], [0, 1, 0]],
    },
}  # fmt: skip


def problem(variant: str, missing: bool, n: int = 40, seed: int = 0) -> tuple[Dataset, Rules]:
    """A small random data set and the rules of a variant; with ``missing``, a third of the values cannot be had."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, N_FEATURES)).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 1 / 3] = np.nan
    dataset = Dataset(X, rng.permutation(np.arange(n) % N_CLASSES))
    return dataset, Rules.for_dataset(dataset, **{"lam": 0.05, **VARIANTS[variant]})


class Twin:
    """One datum at a time, a state being its row and the acquisitions in the order made."""

    def __init__(self, dataset: Dataset, rules: Rules) -> None:
        self.X, self.y, self.r = dataset.X, dataset.y, rules

    def known(self, row: int, order: Iterable[int]) -> np.ndarray:
        z = np.zeros(self.r.n_features, bool)
        for j in order:
            for i in self.r.groups[j]:
                z[i] = not np.isnan(self.X[row, i])
        return z

    def related(self, j: int, order: list[int]) -> bool:
        if self.r.related is None:
            return True
        if not order:
            return self.r.empty_is_related
        return (any if self.r.relation == "any" else all)(self.r.related[j, i] for i in order)

    def price(self, j: int, order: list[int]) -> float:
        return float((self.r.costs if self.related(j, order) else self.r.unrelated_costs)[j])

    def spent(self, order: list[int]) -> float:
        return sum(self.price(j, order[:k]) for k, j in enumerate(order))

    def may(self, j: int, row: int, order: list[int]) -> bool:
        r = self.r
        if j in order or all(np.isnan(self.X[row, i]) for i in r.groups[j]):
            return False
        if r.budget is not None and len(order) >= r.budget:
            return False
        if r.budget_cost is not None and self.spent(order) + self.price(j, order) > r.budget_cost + 1e-6:
            return False
        if r.prerequisites is not None and not all(i in order for i in np.flatnonzero(r.prerequisites[j])):
            return False
        return not (r.forbids_unrelated and order and not self.related(j, order))

    def legal(self, row: int, order: list[int]) -> np.ndarray:
        """bool (n_actions,)"""
        return np.array([self.may(j, row, order) for j in range(self.r.n_acquisitions)] + [True] * self.r.n_classes)

    def scores(self, row: int, order: list[int], values: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """<theta_a, [1, z, mu]> of all actions, float64 (n_actions,), from W (n_features, 2, n_actions)."""
        z = self.known(row, order)
        mu = np.where(z, values[row], 0).astype(np.float64)
        return b + z @ W[:, 0].astype(np.float64) + mu @ W[:, 1].astype(np.float64)

    def finish(self, row: int, order: list[int], values, W, b) -> tuple[float, list[int], int]:
        """Follow the greedy policy to the end: the return from ``order`` on, the whole order, the answer."""
        total, order, J = 0.0, list(order), self.r.n_acquisitions
        while True:
            scores = np.where(self.legal(row, order), self.scores(row, order, values, W, b), -np.inf)
            action = int(scores.argmax())
            if action >= J:
                return total - self.r.error_costs[action - J, self.y[row]], order, action - J
            total -= self.r.lam * self.price(action, order)
            order.append(action)

    def returns(self, row: int, order: list[int], values, W, b) -> np.ndarray:
        """R(x, z, a) of each acquisition, NaN where it is not legal."""
        result = np.full(self.r.n_acquisitions, np.nan)
        for j in range(self.r.n_acquisitions):
            if self.may(j, row, order):
                rest, _, _ = self.finish(row, [*order, j], values, W, b)
                result[j] = rest - self.r.lam * self.price(j, order)
        return result


def ridge_scores(Phi: np.ndarray, targets: np.ndarray, used: np.ndarray, ridge: float) -> np.ndarray:
    """theta of each action, float64 (columns, actions), by one dense solve each; NaN where no row is used."""
    theta = np.full((Phi.shape[1], targets.shape[1]), np.nan)
    for a in range(targets.shape[1]):
        rows = Phi[used[:, a]]
        if len(rows):
            shrink = ridge * len(rows) * np.eye(Phi.shape[1])
            shrink[0, 0] = 0
            theta[:, a] = np.linalg.solve(rows.T @ rows + shrink, rows.T @ targets[used[:, a], a])
    return theta
