"""The exact optimum of small tasks with binary features and a known distribution.

A task is an array ``joint`` of float64 (2, ..., 2, n_classes): ``joint[x1, ..., xn, k]`` is the probability that the
features are x1, ..., xn and the class is k. The lowest expected loss of any policy can then be computed, and learners
can be compared with it. The module has four such tasks. Time and memory grow as 4^n; n = 12 takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories, price_orders
from fsgym.evaluation.evaluate import evaluate
from fsgym.rules import Rules
from fsgym.rules import kernels as mdp
from fsgym.support.checks import check_prices, generator_of, is_integer
from fsgym.text.messages import brief


def all_rows(n: int) -> NDArray[np.float32]:
    """All rows of n bits, float32 (2^n, n), in the order in which the first bit changes last.

    >>> all_rows(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    return np.indices((2,) * _number_of_bits(n, 1), dtype=np.float32).reshape(n, -1).T


CaseCosts = Sequence[tuple[float, Any]]  # vectors of prices, each with the share of the cases that have it


def optimum(joint: NDArray[np.float64], rules: Rules, case_costs: CaseCosts | None = None) -> float:
    """Lowest expected loss of any policy, by dynamic programming over all states of knowledge.

    Parameters
    ----------
    joint : float64 (2, ..., 2, n_classes), probabilities
    rules : Rules, for the same numbers of features and classes
    case_costs : sequence of (share, costs), optional
        Prices by case: the share of the cases with these prices, (n_acquisitions,) or by name, which is drawn with the
        case, independently of its features and class, and known from the start. Without them, rules with prices by
        case count at their means.

    Returns
    -------
    float, the expected error cost plus ``lam`` times the expected total price

    Raises
    ------
    ValueError, TypeError
        Where ``joint`` is not a distribution of bits and a class, or the rules have another size.

    Examples
    --------
    >>> import numpy as np
    >>> from fsgym import Rules
    >>> from fsgym.exact import optimum
    >>> joint = np.array([[0.45, 0.05], [0.05, 0.45]])  # one bit, equal to the class in 90 % of cases
    >>> round(optimum(joint, Rules(1, 2, lam=0.1)), 6), round(optimum(joint, Rules(1, 2, lam=0.6)), 6)
    (0.2, 0.5)
    """
    joint = _check_joint(joint, rules)
    if case_costs is not None:
        return sum(share * optimum(joint, rules.at_prices(costs)) for share, costs in _check_shares(case_costs, rules))
    state = rules.blank_state()

    def moves(taken: tuple[int, ...], spent: float) -> list[tuple[int, float]]:
        """Legal acquisitions and their prices."""
        mask = np.zeros(rules.n_acquisitions, bool)
        mask[list(taken)] = True
        mdp.set_acquired(rules.tables, state, 0, mask, spent, int(mask @ rules.tables.counts))
        legal = np.flatnonzero(state.legal[0, : rules.n_acquisitions]).tolist()
        return [(j, float(mdp.price(rules.tables, state, 0, j))) for j in legal]

    @cache
    def value(taken: tuple[int, ...], spent: float) -> NDArray[np.float64]:
        """Remaining loss for each value of the known bits, times its probability; axes of length 1 are unknown bits."""
        unknown = tuple(i for j in range(rules.n_acquisitions) if j not in taken for i in rules.groups[j])
        table = joint.sum(axis=unknown, keepdims=True)
        best = (table @ rules.answer_costs.T).min(axis=-1)
        for j, paid in moves(taken, spent):
            # needed for budget_cost only; rounded, as the order of a sum changes its last bits
            total = 0.0 if rules.budget_cost is None else float(f"{spent + paid:.12g}")
            after = value(tuple(sorted((*taken, j))), total).sum(axis=rules.groups[j], keepdims=True)
            best = np.minimum(best, rules.lam * paid * table.sum(axis=-1) + after)
        return best

    return float(value((), 0.0).sum())


def expected_loss(policy: Any, joint: NDArray[np.float64], rules: Rules, case_costs: CaseCosts | None = None) -> float:
    """The exact expected loss of a policy: error cost plus ``lam`` times the total price.

    Parameters
    ----------
    policy : any policy that ``fsgym.evaluate`` takes, or its Trajectories on ``all_rows(n)``
    joint : float64 (2, ..., 2, n_classes), probabilities
    rules : Rules, for the same numbers of features and classes
    case_costs : sequence of (share, costs), optional, as for ``optimum``; not with Trajectories

    Raises
    ------
    ValueError, TypeError
        Where the policy acts against the rules, ``joint`` is not a distribution of bits and a class, or sizes
        differ.

    Examples
    --------
    >>> from fsgym import Rules
    >>> from fsgym.exact import expected_loss, naive_bayes
    >>> def answer_immediately(observations, action_masks):
    ...     return [4] * len(observations)
    >>> round(expected_loss(answer_immediately, naive_bayes(4), Rules(4, 2)), 6)
    0.5
    """
    joint = _check_joint(joint, rules)
    rows, n_classes = all_rows(joint.ndim - 1), joint.shape[-1]
    if isinstance(policy, Trajectories):
        if case_costs is not None:
            raise ValueError("trajectories are those of one vector of prices, got case_costs; pass the policy itself")
        if len(policy.order) != len(rows):
            raise ValueError(f"the trajectories must be those of all_rows({joint.ndim - 1}), got {len(policy.order)}")
        spent, _, admissible = price_orders(rules, rows, policy.order)
        _refuse_illegal(bool(admissible.all()) and not policy.forfeited.any())
        table = joint.reshape(len(rows), -1)
        return float((rules.answer_costs[policy.answers] * table).sum() + rules.lam * (table.sum(axis=1) @ spent))
    labels = np.tile(np.arange(n_classes), len(rows))
    groups = None if rules.n_acquisitions == rules.n_features else rules.groups
    data = Dataset(np.repeat(rows, n_classes, axis=0), labels, classes=range(n_classes), groups=groups)
    if case_costs is None:
        return _expected_on(policy, joint, data, rules)
    total = 0.0
    for share, costs in _check_shares(case_costs, rules):
        priced = data.replace(case_costs=np.tile(costs, (len(labels), 1)))
        total += share * _expected_on(policy, joint, priced, rules)
    return total


def _expected_on(policy: Any, joint: NDArray[np.float64], data: Dataset, rules: Rules) -> float:
    result = evaluate(policy, data, rules=rules)
    _refuse_illegal(result.admissible == 1.0 and result.illegal == 0.0)
    return float(result.losses @ joint.ravel())


def sample(
    joint: NDArray[np.float64], n_samples: int, random_state: Any = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A random sample of a known distribution: X float32 (n_samples, n) and y int64 (n_samples,).

    ``random_state`` is an int, a ``numpy.random.Generator``, or None. Raises ValueError or TypeError where ``joint`` is
    not a distribution of bits and a class.

    >>> X, y = sample(parity(5), 100, random_state=0)
    >>> X.shape, y.shape
    ((100, 5), (100,))
    """
    joint = _check_joint(joint)
    if not is_integer(n_samples) or n_samples < 1:
        raise ValueError(f"n_samples must be a whole number, 1 or more, got {brief(n_samples)}")
    which = generator_of(random_state).choice(joint.size, n_samples, p=joint.ravel() / joint.sum())
    return all_rows(joint.ndim - 1)[which // joint.shape[-1]], which % joint.shape[-1]


def naive_bayes(n: int) -> NDArray[np.float64]:
    """A task of n bits that are independent given the class; they equal it with probability .85, falling to .55.

    >>> naive_bayes(3).shape
    (2, 2, 2, 2)
    """
    X, equal = all_rows(n), np.linspace(0.85, 0.55, n)
    return _joint([np.where(k == X, equal, 1 - equal).prod(axis=1) * 0.5 for k in (0, 1)])


def decision_list(n: int) -> NDArray[np.float64]:
    """A task of n bits, each 1 with probability .4: the first 1 among the first five bits decides, with 5 % noise.

    The five bits stand for class 1 and class 0 in turn; the class is 0 where none of them is 1.

    >>> decision_list(5).shape
    (2, 2, 2, 2, 2, 2)
    """
    X = all_rows(_number_of_bits(n, 5))
    first = np.where(X[:, :5].any(axis=1), X[:, :5].argmax(axis=1), 5)
    return _noisy(np.where(X == 1, 0.4, 0.6).prod(axis=1), first % 2 == 0)


def multiplexer(n: int) -> NDArray[np.float64]:
    """A task of n >= 6 uniform bits: the first two select which of the next four is the class, with 5 % noise.

    >>> multiplexer(6).ndim
    7
    """
    X = all_rows(_number_of_bits(n, 6)).astype(int)
    return _noisy(np.full(len(X), 0.5**n), X[np.arange(len(X)), 2 + 2 * X[:, 0] + X[:, 1]] == 1)


def parity(n: int) -> NDArray[np.float64]:
    """A task of n >= 5 uniform bits: the class is the parity of bits 1, 2 and 4 (counted from 0), with 5 % noise.

    >>> float(parity(5)[0, 1, 0, 0, 0, 1] * 2**5)
    0.95
    """
    X = all_rows(_number_of_bits(n, 5))
    return _noisy(np.full(len(X), 0.5**n), X[:, [1, 2, 4]].sum(axis=1) % 2 == 1)


def rules_of_every_kind(n: int) -> dict[str, dict[str, Any]]:
    """Options of ``Rules`` for tasks of n bits, one entry per kind of rules; n must be even.

    >>> sorted(rules_of_every_kind(4))
    ['base', 'budget', 'budget_cost', 'groups', 'prerequisites', 'prices and errors', 'relational']
    """
    if _number_of_bits(n, 2) % 2:
        raise ValueError(f"n must be even, got {n}")
    return {
        "base": {"lam": 0.03},
        "budget": {"lam": 0.005, "budget": 3},
        "budget_cost": {"lam": 0.005, "costs": np.linspace(2, 1, n).round(1), "budget_cost": 5},
        "prices and errors": {"lam": 1, "costs": np.linspace(0.05, 0.01, n), "error_costs": [[0, 3], [1, 0]]},
        "groups": {"lam": 0.03, "groups": np.arange(n).reshape(-1, 2).tolist()},
        "relational": {"lam": 1, "costs": 0.02, "unrelated_costs": 0.06, "related": np.eye(n, k=1) + np.eye(n, k=-1)},
        "prerequisites": {"lam": 0.02, "prerequisites": np.eye(n, k=-1) * (np.arange(n) % 2 == 1)[:, None]},
    }


def _noisy(share: NDArray[np.float64], is_one: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The task in which each row, of probability ``share``, has its class (1 where ``is_one``) in 95 % of cases."""
    p = np.where(is_one, 0.95, 0.05)
    return _joint([share * (1 - p), share * p])


def _joint(probabilities: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The array of a task from the probabilities of all rows, one array for each class."""
    return np.stack(probabilities, axis=-1).reshape((2,) * int(np.log2(len(probabilities[0]))) + (len(probabilities),))


def _number_of_bits(n: Any, least: int) -> int:
    if not is_integer(n) or not least <= n <= 20:
        raise ValueError(f"n must be a whole number of bits, {least} to 20, got {brief(n)}")
    return int(n)


def _check_joint(joint: Any, rules: Rules | None = None) -> NDArray[np.float64]:
    try:
        table = np.asarray(joint, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"joint must be an array of probabilities, got {brief(joint)}") from None
    if table.ndim < 2 or table.shape[:-1] != (2,) * (table.ndim - 1) or table.shape[-1] < 2:
        raise ValueError(f"joint must have shape (2, ..., 2, n_classes), got {table.shape}")
    if not (table >= 0).all() or abs(table.sum() - 1.0) > 1e-6:
        raise ValueError("joint must hold probabilities: 0 or more, with sum 1")
    if rules is not None and (rules.n_features, rules.n_classes) != (table.ndim - 1, table.shape[-1]):
        raise ValueError(
            f"the rules are for {rules.n_features} features and {rules.n_classes} classes, "
            f"joint has {table.ndim - 1} and {table.shape[-1]}"
        )
    return table


def _check_shares(case_costs: CaseCosts, rules: Rules) -> list[tuple[float, NDArray[np.float64]]]:
    try:
        pairs = [(float(share), costs) for share, costs in case_costs]
    except (TypeError, ValueError):
        raise TypeError(
            f"case_costs must be pairs of a share and prices, such as [(0.7, [1, 1]), (0.3, [5, 1])], got "
            f"{brief(case_costs)}"
        ) from None
    if not rules.costs_by_case:
        raise ValueError("the rules must have prices by case where case_costs are given: Rules(costs_by_case=True)")
    shares = [share for share, _ in pairs]
    if not (shares and all(share >= 0 for share in shares) and abs(sum(shares) - 1.0) <= 1e-6):  # also for NaN
        raise ValueError(f"the shares of case_costs must be 0 or more, with sum 1, got {brief(shares)}")
    return [(share, check_prices(costs, rules.names, "case_costs")) for share, costs in pairs]


def _refuse_illegal(legal: bool) -> None:
    if not legal:
        raise ValueError("the policy acts against the rules")
