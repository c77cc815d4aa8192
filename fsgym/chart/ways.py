"""The ways of cases through a chart, and what they say of any prefix of its boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.boxes import Structure
from fsgym.envs.trajectories import price_orders, price_steps
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers
from fsgym.session.asked_cases import AskedCases

MAX_CASES_OF_WAY = 2**31  # that go one way, in a model file; more than any chart was made from
MAX_PAID = 1e200  # by one case, in a model file, so that sums are finite
NO_CLASS = -1  # of a case whose class is not given


class Passage(NamedTuple):
    """A box that a case passes: its number, whether the question was answered, the leaf of the choice, the price."""

    box: int
    brought: bool
    leaf: int
    price: float


class Way(NamedTuple):
    """Cases that go the same way through a chart."""

    passages: tuple[Passage, ...]  # in their order
    code: int  # their class; -1 if it is not given
    policy_answer: int  # the policy's answer in them, a class code, or n_classes where it refers
    policy_acquired: tuple[int, ...]  # the acquisitions of the policy that brought a value, rising
    policy_paid: float  # what the policy pays in them
    n: int  # how many there are

    def to_json(self) -> list[Any]:
        return [[list(p) for p in self.passages], *self[1:3], list(self.policy_acquired), *self[4:]]

    @classmethod
    def from_json(cls, plain: Sequence[Any], structure: Structure, rules: Rules) -> Self:
        """The way from ``to_json``; ValueError or TypeError if it is damaged."""
        passages, code, answer, acquired, paid, n = plain
        read = tuple(Passage(*p) for p in passages)
        for p in read:
            if type(p.box) is not int or not 0 <= p.box < len(structure.boxes) or not isinstance(p.brought, bool):
                raise ValueError("a way must pass boxes of the chart")
            if type(p.leaf) is not int or (p.brought, p.leaf) not in structure.boxes[p.box].shares:
                raise ValueError("a way must have leaves of the choices")
            if not _is_price(p.price):
                raise ValueError("a way must have prices")
        _check_passages(read, structure)
        if not all(type(v) is int for v in (code, answer, n, *acquired)) or not _is_price(paid):
            raise ValueError("a way must have whole numbers and a price")
        if not 1 <= n <= MAX_CASES_OF_WAY:
            raise ValueError(f"a way must have from 1 to {MAX_CASES_OF_WAY} cases")
        if not -1 <= code < rules.n_classes or not 0 <= answer < rules.n_answers:
            raise ValueError("a way must have classes of the model")
        if not all(0 <= j < rules.n_acquisitions for j in acquired):
            raise ValueError("a way must have acquisitions of the model")
        return cls(read, code, answer, tuple(acquired), float(paid), n)


def _check_passages(passages: tuple[Passage, ...], structure: Structure) -> None:
    """ValueError unless a way begins at the first box, goes from each box to the next one, and ends with an answer."""
    at: int | None = 0 if structure.boxes else None
    for p in passages:
        if p.box != at:
            raise ValueError("a way must go from each box of the chart to the next one")
        at = structure.after(structure.boxes[p.box], p.brought, p.leaf)
    if at is not None:
        raise ValueError("a way must not end before the chart does")


def _is_price(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_PAID


def ways_of(
    structure: Structure, rules: Rules, X: NDArray[np.float32], y: NDArray[np.int64] | None, policy: AskedCases
) -> list[Way]:
    """The ways of the cases ``X`` (n, n_features) through a chart, and what the policy itself did in them."""
    n = len(X)
    at = np.full(n, 0 if structure.boxes else -1)
    passages: list[list[tuple[int, bool, int]]] = [[] for _ in range(n)]
    while (at >= 0).any():
        following = np.full(n, -1)
        for k in np.unique(at[at >= 0]).tolist():
            box, rows = structure.boxes[k], np.flatnonzero(at == k)
            has_value = ~np.isnan(X[np.ix_(rows, list(rules.groups[box.question]))]).all(axis=1)
            for flag in (True, False):
                members = rows[has_value == flag]
                leaves = box.choice(flag).leaves(X[members])
                for leaf in np.unique(leaves).tolist():
                    next_box = structure.after(box, flag, leaf)
                    for i in members[leaves == leaf].tolist():
                        passages[i].append((k, flag, leaf))
                        following[i] = -1 if next_box is None else next_box
        at = following
    longest = max(map(len, passages), default=0)
    order = np.full((n, longest), -1, np.int32)
    for i, passed in enumerate(passages):
        order[i, : len(passed)] = [structure.boxes[k].question for k, _, _ in passed]
    prices = price_steps(rules, X, order)
    paid = price_orders(rules, X, policy.asked.astype(np.int32))[0]
    counted: Counter[tuple[Any, ...]] = Counter()
    for i, passed in enumerate(passages):
        priced = tuple(Passage(*p, float(prices[i, k])) for k, p in enumerate(passed))
        acquired = tuple(sorted(policy.asked[i, policy.brought[i]].tolist()))
        code = NO_CLASS if y is None else int(y[i])
        counted[priced, code, int(policy.answers[i]), acquired, float(paid[i])] += 1
    return [Way(*key, n=n) for key, n in counted.items()]


class ChartFigures(NamedTuple):
    """What cases do in the first boxes of a chart."""

    n: int  # number of cases
    # mapping of box -> int64 (n_classes + 1,), the cases of each class that come to it, last those without one
    arrivals: Mapping[int, NDArray[np.int64]]
    # mapping of (box, whether answered, leaf) -> the cases of each class that take it, as in ``arrivals``; and the
    # smallest and the largest total price paid by them, up to the next box or the answer
    branches: Mapping[tuple[int, bool, int], tuple[NDArray[np.int64], tuple[float, float]]]
    # mapping of box -> tuple of float, the smallest and largest price of its question
    price: Mapping[int, tuple[float, float]]
    # mean error cost plus ``lam`` times the mean price; NaN if classes are not given
    loss: float
    policy_loss: float
    difference_error: float  # the standard error of ``loss - policy_loss``, which are of the same cases
    # mean price
    paid: float
    policy_paid: float
    same: float  # the share of cases in which the policy gives the same answer and acquires the same


def answer_of(structure: Structure, rules: Rules, box: int, brought: bool, leaf: int) -> int:
    """The class code that a chart answers if a branch leads to no further box; n_classes where it refers."""
    action = int(structure.boxes[box].choice(brought).action[leaf])
    if action >= rules.n_acquisitions:
        return action - rules.n_acquisitions
    shares = np.array([structure.boxes[box].shares[brought, leaf]])
    return int(cheapest_answers(shares, rules.answer_costs)[0])


def figures_of(structure: Structure, rules: Rules, ways: Sequence[Way], n_boxes: int) -> ChartFigures:
    """The figures of the chart of the first ``n_boxes`` boxes."""
    K = rules.n_classes
    arrivals: dict[int, NDArray[np.int64]] = {}
    taken: dict[tuple[int, bool, int], list[tuple[int, int, float]]] = {}
    prices: dict[int, list[float]] = {}
    total = cost = policy_cost = paid_in_all = policy_paid = same = 0.0
    differences: list[float] = []  # of the cost of each way from that of the policy
    for way in ways:
        paid, answer, acquired = 0.0, structure.first - rules.n_acquisitions, []
        for p in way.passages:
            if p.box >= n_boxes:
                break
            arrivals.setdefault(p.box, np.zeros(K + 1, np.int64))[way.code] += way.n
            if p.brought:
                acquired.append(structure.boxes[p.box].question)
                prices.setdefault(p.box, []).append(p.price)
            paid += p.price
            taken.setdefault((p.box, p.brought, p.leaf), []).append((way.code, way.n, paid))
            answer = answer_of(structure, rules, p.box, p.brought, p.leaf)
        total += way.n
        paid_in_all += way.n * paid
        policy_paid += way.n * way.policy_paid
        same += way.n * (answer == way.policy_answer and tuple(sorted(acquired)) == way.policy_acquired)
        errors = (np.nan, np.nan) if way.code < 0 else rules.answer_costs[[answer, way.policy_answer], way.code]
        own, of_policy = errors[0] + rules.lam * paid, errors[1] + rules.lam * way.policy_paid
        cost += way.n * own
        policy_cost += way.n * of_policy
        differences.append(own - of_policy)
    branches = {}
    for key, entries in taken.items():
        classes = np.zeros(K + 1, np.int64)
        for code, n, _ in entries:
            classes[code] += n
        spent = [paid for *_, paid in entries]
        branches[key] = classes, (min(spent), max(spent))
    ranges = {box: (min(found), max(found)) for box, found in prices.items()}
    n = max(total, 1.0)
    error = _standard_error(np.array(differences), np.array([way.n for way in ways], np.float64))
    means = (cost / n, policy_cost / n, error, paid_in_all / n, policy_paid / n, same / n)
    return ChartFigures(int(total), arrivals, branches, ranges, *means)


def _standard_error(values: NDArray[np.float64], counts: NDArray[np.float64]) -> float:
    """Of the mean of values that occur so often; NaN where one is. Squares of large costs would overflow.

    >>> [_standard_error(np.array([0.0, size]), np.array([1.0, 1.0])) / size for size in (1.0, 1e200)]
    [0.5, 0.5]
    """
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0
    parts, n = values / largest, max(counts.sum(), 1.0)
    variance = (counts * (parts - (counts @ parts) / n) ** 2).sum() / max(n - 1.0, 1.0)
    return largest * float(np.sqrt(variance / n))
