"""Tasks of bits whose distribution is known, their exact optimum, and the exact loss of a policy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from agents.lattice.classifier import in_threads
from agents.lattice.learn import final, learn, make_table
from fsgym import Dataset, Rules
from fsgym.evaluation import Trajectories, price_orders


def all_rows(n: int) -> np.ndarray:
    """All tables of n bits, float32 (2^n, n), the first bit the slowest."""
    return np.indices((2,) * n, dtype=np.float32).reshape(n, -1).T


def optimum(joint: np.ndarray, rules: Rules) -> float:
    """Least expected loss of any policy, from ``joint`` (2, ..., 2, n_classes), the distribution of bits and class.

    Dynamic programming over what is known, from the definition of the process; prices and legality are written out
    once more.
    """

    def price(j: int, taken: tuple[int, ...]) -> float:
        if rules.related is None:
            return float(rules.costs[j])
        if not taken:
            near = rules.empty_is_related
        else:
            near = (any if rules.relation == "any" else all)(rules.related[j, i] for i in taken)
        return float((rules.costs if near else rules.unrelated_costs)[j])

    def may(j: int, taken: tuple[int, ...], spent: float) -> bool:
        if j in taken or (rules.budget is not None and len(taken) >= rules.budget):
            return False
        if rules.prerequisites is not None and any(i not in taken for i in np.flatnonzero(rules.prerequisites[j])):
            return False
        return rules.budget_cost is None or spent + price(j, taken) <= rules.budget_cost + 1e-9

    @cache
    def value(taken: tuple[int, ...], spent: float) -> np.ndarray:
        """Loss from here on of all values of the known bits, times their probability; axes of length 1 are unknown."""
        unknown = tuple(i for j in range(rules.n_acquisitions) if j not in taken for i in rules.groups[j])
        table = joint.sum(axis=unknown, keepdims=True)
        best = (table @ rules.error_costs.T).min(axis=-1)
        for j in range(rules.n_acquisitions):
            if may(j, taken, spent):
                paid = price(j, taken)
                purse = 0.0 if rules.budget_cost is None else round(spent + paid, 9)
                after = value(tuple(sorted((*taken, j))), purse).sum(axis=rules.groups[j], keepdims=True)
                best = np.minimum(best, rules.lam * paid * table.sum(axis=-1) + after)
        return best

    return float(value((), 0.0).sum())


def expected_loss(done: Trajectories, joint: np.ndarray, rules: Rules) -> float:
    """The exact expected loss of a policy, from what it did with ``all_rows``."""
    spent, _, admissible = price_orders(rules, all_rows(joint.ndim - 1), done.order)
    if not admissible.all():
        raise ValueError("the policy does what the rules forbid")
    table = joint.reshape(len(spent), -1)
    return float((rules.error_costs[done.answers] * table).sum() + rules.lam * (table.sum(axis=1) @ spent))


def losses(joint: np.ndarray, options: dict[str, dict[str, Any]], n_rows: int) -> dict[str, tuple[float, float]]:
    """What the lattice agent loses that has learnt from a sample, and the least possible, for each kind of rules.

    The classifiers of the subsets do not depend on prices and error costs: kinds with the same groups share them.
    """
    X, y = draw(joint, n_rows, 0)
    table = make_table(Dataset(X, y), np.random.default_rng(0))
    heads: dict[Any, dict] = {}
    found = {}
    for name, chosen in options.items():
        rules = Rules(X.shape[1], joint.shape[-1], **chosen)
        learnt = learn(table, rules, in_threads(1), heads=heads.setdefault(rules.groups, {}))
        done = final(learnt.policy, in_threads(1)).trajectories(all_rows(X.shape[1]))
        found[name] = expected_loss(done, joint, rules), optimum(joint, rules)
    return found


def draw(joint: np.ndarray, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sample, X float32 (n_rows, n) and y int64 (n_rows,)."""
    c = joint.shape[-1]
    which = np.random.default_rng(seed).choice(joint.size, n_rows, p=joint.ravel() / joint.sum())
    return all_rows(joint.ndim - 1)[which // c], which % c


def _joint(n: int, share: np.ndarray, p: np.ndarray) -> np.ndarray:
    """From the law of each row and the probability of class 1 given it."""
    return np.stack([share * (1 - p), share * p], axis=-1).reshape((2,) * n + (2,))


def naive_bayes(n: int) -> np.ndarray:
    """Bits independent given the class, less and less informative."""
    X, right = all_rows(n), np.linspace(0.85, 0.55, n)
    law = [np.where(k == X, right, 1 - right).prod(axis=1) * 0.5 for k in (0, 1)]
    return np.stack(law, axis=-1).reshape((2,) * n + (2,))


def decision_list(n: int) -> np.ndarray:
    """The first bit that is 1 decides, the bits in turn for class 1 and 0; bits are 1 with probability .4."""
    X = all_rows(n)
    law = np.where(X == 1, 0.4, 0.6).prod(axis=1)
    first = np.where(X[:, :5].any(axis=1), X[:, :5].argmax(axis=1), 5)
    return _joint(n, law, np.where(first % 2 == 0, 0.95, 0.05))


def multiplexer(n: int) -> np.ndarray:
    """Two bits tell which of four others is the class, with 5 % noise; the rest says nothing."""
    X = all_rows(n).astype(int)
    told = X[np.arange(len(X)), 2 + 2 * X[:, 0] + X[:, 1]]
    return _joint(n, np.full(len(X), 0.5**n), np.where(told == 1, 0.95, 0.05))


def parity(n: int) -> np.ndarray:
    """The parity of three bits, with 5 % noise; the rest says nothing."""
    X = all_rows(n)
    return _joint(n, np.full(len(X), 0.5**n), np.where(X[:, [1, 2, 4]].sum(axis=1) % 2 == 1, 0.95, 0.05))


PROBLEMS = {"naive Bayes": naive_bayes, "decision list": decision_list, "multiplexer": multiplexer, "parity": parity}
KINDS = ("base", "budget", "prices and errors", "groups", "relational")  # of rules, for large samples


def rules_of(n: int) -> dict[str, dict[str, Any]]:
    """Options of rules of every kind for n bits, an even number."""
    odd = np.arange(n) % 2 == 1
    return {
        "base": {"lam": 0.03},
        "budget": {"lam": 0.005, "budget": 3},
        "budget_cost": {"lam": 0.005, "costs": np.linspace(2, 1, n).round(1), "budget_cost": 5},
        "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, n), "error_costs": [[0, 3], [1, 0]]},
        "groups": {"lam": 0.03, "groups": np.arange(n).reshape(-1, 2).tolist()},
        "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": np.eye(n, k=1) + np.eye(n, k=-1)},
        "prerequisites": {"lam": 0.02, "prerequisites": np.eye(n, k=-1) * odd[:, None]},
    }
