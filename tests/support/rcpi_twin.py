"""RCPI's steps in plain Python, on the reference process, and the rules that the tests of agents run under."""

from __future__ import annotations

import math

import numpy as np

from fsgym import Dataset, Rules
from support.reference import ReferenceProcess

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


def options_of(variant: str) -> dict:
    """The options of the rules of ``problem(variant)``."""
    return {"lam": 0.05, **VARIANTS[variant]}


def problem(variant: str, missing: bool, n: int = 40, seed: int = 0) -> tuple[Dataset, Rules]:
    """A small random data set and the rules of a variant; with ``missing``, a third of the values is missing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, N_FEATURES)).astype(np.float32)
    if missing:
        X[rng.random(X.shape) < 1 / 3] = np.nan
    dataset = Dataset(X, rng.permutation(np.arange(n) % N_CLASSES))
    return dataset, Rules.for_dataset(dataset, **options_of(variant))


class RCPITwin(ReferenceProcess):
    """RCPI's greedy policy and its returns, one row at a time, on the reference process."""

    def __init__(self, dataset: Dataset, options: dict, logistic: bool = False) -> None:
        super().__init__(dataset.n_features, dataset.n_classes, options)
        self.logistic = logistic
        self.X, self.y = dataset.X, dataset.y

    def scores(self, row: int, order: list[int], values: np.ndarray, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """<theta_a, [1, z, mu]> of all actions, float64 (n_actions,), from W (n_features, 2, n_actions).

        If they are logistic, minus the expected error costs of the answers.
        """
        z = np.array(self.known(order, self.X[row]))
        mu = np.where(z, values[row], 0).astype(np.float64)
        scores = b + z @ W[:, 0].astype(np.float64) + mu @ W[:, 1].astype(np.float64)
        if self.logistic:
            J = self.n_acquisitions
            odds = [math.exp(logit - max(scores[J:])) for logit in scores[J:]]
            for answer in range(len(odds)):
                costs = [self.error_cost(answer, c) for c in range(len(odds))]
                scores[J + answer] = -sum(p * cost for p, cost in zip(odds, costs)) / sum(odds)
        return scores

    def finish(self, row: int, order: list[int], values, W, b) -> tuple[float, list[int], int]:
        """Follow the greedy policy to the end: the return from ``order`` on, the whole order, the answer."""
        total, order = 0.0, list(order)
        while True:
            scores = np.where(self.mask(order, self.X[row]), self.scores(row, order, values, W, b), -np.inf)
            action = int(scores.argmax())
            if action >= self.n_acquisitions:
                answer = action - self.n_acquisitions
                return total - self.error_cost(answer, self.y[row]), order, answer
            total -= self.lam * self.price(action, order)
            order.append(action)

    def returns(self, row: int, order: list[int], values, W, b) -> np.ndarray:
        """R(x, z, a) of each acquisition, NaN where it is not legal."""
        result = np.full(self.n_acquisitions, np.nan)
        for j in range(self.n_acquisitions):
            if self.is_legal(j, order, self.X[row]):
                rest, _, _ = self.finish(row, [*order, j], values, W, b)
                result[j] = rest - self.lam * self.price(j, order)
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
