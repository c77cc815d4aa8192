"""The exact optimum of small tasks: dynamic programming over what is known, one of three states a binary feature."""

from __future__ import annotations

from functools import cache

import numpy as np

from fsgym import Rules


def all_rows(n: int) -> np.ndarray:
    """All tables of n bits, float32 (2^n, n), the first bit the slowest."""
    return np.array(np.meshgrid(*[[0, 1]] * n, indexing="ij"), np.float32).reshape(n, -1).T


def optimum(joint: np.ndarray, rules: Rules) -> float:
    """Least expected loss of any policy, from ``joint`` (2, ..., 2, n_classes), the distribution of bits and class.

    Plain Python from the definition of the process; prices and legality are written out once more.
    """
    n, groups = joint.ndim - 1, rules.groups

    def price(j: int, order: tuple[int, ...]) -> float:
        if rules.related is None:
            return float(rules.costs[j])
        if not order:
            near = rules.empty_is_related
        else:
            near = (any if rules.relation == "any" else all)(rules.related[j, i] for i in order)
        return float((rules.costs if near else rules.unrelated_costs)[j])

    def may(j: int, order: tuple[int, ...], spent: float) -> bool:
        if rules.budget is not None and len(order) >= rules.budget:
            return False
        if rules.prerequisites is not None and any(i not in order for i in np.flatnonzero(rules.prerequisites[j])):
            return False
        return rules.budget_cost is None or spent + price(j, order) <= rules.budget_cost + 1e-9

    @cache
    def value(known: tuple[int, ...], taken: tuple[int, ...], spent: float) -> float:
        """``known[i]`` is 0, 1 or -1; the value is not divided by the probability of coming here."""
        table = joint[tuple(slice(None) if v < 0 else v for v in known)].reshape(-1, rules.n_classes)
        shares = table.sum(axis=0)
        best = float((rules.error_costs @ shares).min())
        for j in range(rules.n_acquisitions):
            if j in taken or not may(j, taken, spent):
                continue
            paid = price(j, taken)
            total = rules.lam * paid * float(shares.sum())
            for bits in all_rows(len(groups[j])).astype(int).tolist():
                after = list(known)
                for i, v in zip(groups[j], bits):
                    after[i] = v
                purse = 0.0 if rules.budget_cost is None else round(spent + paid, 9)
                total += value(tuple(after), tuple(sorted((*taken, j))), purse)
                if total >= best:
                    break
            best = min(best, total)
        return best

    return value((-1,) * n, (), 0.0)


def expected_loss(policy, joint: np.ndarray, rules: Rules) -> float:
    """The exact expected loss of a policy with ``trajectories``, from the same distribution."""
    from fsgym.evaluation import price_orders

    X = all_rows(joint.ndim - 1)
    done = policy.trajectories(X)
    spent, _, admissible = price_orders(rules, X, done.order)
    if not admissible.all():
        raise ValueError("the policy does what the rules forbid")
    table = joint.reshape(len(X), -1)
    errors = (rules.error_costs[done.answers] * table).sum()
    return float(errors + rules.lam * (table.sum(axis=1) @ spent))


def draw(joint: np.ndarray, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sample, X float32 (n_rows, n) and y int64 (n_rows,)."""
    c = joint.shape[-1]
    which = np.random.default_rng(seed).choice(joint.size, n_rows, p=joint.ravel() / joint.sum())
    return all_rows(joint.ndim - 1)[which // c], which % c


def _joint(n: int, share_of_ones: np.ndarray, p: np.ndarray) -> np.ndarray:
    """From the law of each row and the probability of class 1 given it."""
    return np.stack([share_of_ones * (1 - p), share_of_ones * p], axis=-1).reshape((2,) * n + (2,))


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
    return _joint(n, np.full(len(X), 0.5**n), np.where(X[:, :3].sum(axis=1) % 2 == 1, 0.95, 0.05))


PROBLEMS = {"naive Bayes": naive_bayes, "decision list": decision_list, "multiplexer": multiplexer, "parity": parity}
