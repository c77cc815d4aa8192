"""The boxes of a chart: states in which a policy asks something, and how it goes on from each."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.action_tree import ActionTree
from fsgym.chart.asked import AskedCases
from fsgym.chart.distil import PolicyInStates, choice_at
from fsgym.chart.imitation import MAX_LEAVES
from fsgym.data.columns import Columns
from fsgym.session.asked_model import AskedModel

MAX_BOXES = 60  # of a chart
MOST_IMITATED, FEWEST_IMITATED = 1200, 100  # cases from which a tree is grown
FULL_SHARE = 0.2  # of all cases at a box, from which on it is grown from most cases
LEAVES_PER_SHARE = 80  # of the tree of a box to which all cases come; by hand
MIN_LEAVES_ALLOWED = 4
MAX_BELIEFS = 50  # cases of a way on from a box, in which the policy is asked what it believes
MAX_PROBED = 200  # cases of a box in which the policy is asked what it does if an answer is unknown


class Box(NamedTuple):
    """A state in which the policy asks for one acquisition."""

    known: tuple[int, ...]  # acquisitions with a value, rising
    unavailable: tuple[int, ...]  # acquisitions asked for without a value, rising
    question: int  # the acquisition asked for
    answered: ActionTree  # of the next action once it has a value
    unknown: ActionTree  # of the next action if it has none
    # mapping of (whether the question was answered, leaf of the choice) -> tuple of float, what the policy believes of
    # the classes there, as a mean over cases from which the chart was made
    shares: Mapping[tuple[bool, int], tuple[float, ...]]
    n_cases: int  # cases from which the box was made

    @property
    def n_before(self) -> int:
        """How many questions come before."""
        return len(self.known) + len(self.unavailable)

    def choice(self, brought: bool) -> ActionTree:
        """How it goes on."""
        return self.answered if brought else self.unknown


class Structure:
    """All boxes of a chart, in an order in which each prefix of them is a chart: the most visited ones first.

    Parameters
    ----------
    boxes : list of Box
    first : int, the first action: that of the first box, or ``n_acquisitions`` plus a class code where nothing is asked
    n_acquisitions : int
    """

    def __init__(self, boxes: list[Box], first: int, n_acquisitions: int) -> None:
        self.boxes, self.first, self.n_acquisitions = boxes, first, n_acquisitions
        self._place = {(b.known, b.unavailable, b.question): k for k, b in enumerate(boxes)}

    def find(self, known: Any, unavailable: Any, question: int) -> int | None:
        """The number of a box, from 0; None if there is none."""
        return self._place.get((tuple(sorted(known)), tuple(sorted(unavailable)), question))

    def after(self, box: Box, brought: bool, leaf: int) -> int | None:
        """The number of the next box; None where the action is an answer, or the box is not in the chart."""
        action = int(box.choice(brought).action[leaf])
        known, unavailable = (
            ([*box.known, box.question], box.unavailable) if brought else (box.known, [*box.unavailable, box.question])
        )
        return self.find(known, unavailable, action)

    @classmethod
    def from_cases(
        cls, model: AskedModel, X: NDArray[np.float32], y: NDArray[np.int64], done: AskedCases, columns: Columns
    ) -> Self:
        """The boxes of a model in the cases ``X`` (n, n_features) and what it asked in them.

        ``y`` are class codes, int64 (n,), and -1 for invented cases.
        """
        rules = model.acquisitions_.rules
        first = int(done.action(0, rules.n_acquisitions)[0])
        found = _most_visited(done, y >= 0)
        boxes = [_make_box(model, X, done, *visit, columns) for visit in found]
        return cls(boxes, first, rules.n_acquisitions)


def _most_visited(done: AskedCases, real: NDArray[np.bool_]) -> list[tuple[int, NDArray[np.int64]]]:
    """The step and the rows of each box, from the first box on always that which most ``real`` cases come to.

    It is one of those that are reached from the boxes so far; of equal ones, that which most cases come to. The rows,
    int64 (n,), are those of the cases that come to the box, before that step.
    """

    def rank(key: tuple[int, int]) -> tuple[int, int, int, tuple[int, int]]:
        step, rows = visits[key]
        return -int(real[rows].sum()), -len(rows), step, key

    visits: dict[tuple[int, int], tuple[int, NDArray[np.int64]]] = {}
    after: dict[tuple[int, int], set[tuple[int, int]]] = defaultdict(set)
    for step in range(done.n_steps):
        rows = np.flatnonzero(done.asked[:, step] >= 0)
        keys = np.stack([done.state[rows, step], done.asked[rows, step].astype(np.uint64)], axis=1)
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(inverse.ravel()))[:-1])
        for (state, question), members in zip(distinct.tolist(), parts, strict=True):
            visits[state, question] = (step, np.sort(members))
            if step:
                before = np.unique(
                    np.stack([done.state[members, step - 1], done.asked[members, step - 1].astype(np.uint64)], axis=1),
                    axis=0,
                )
                for parent in before.tolist():
                    after[tuple(parent)].add((state, question))
    reached: list[tuple[int, NDArray[np.int64]]] = []
    seen = {key for key, (step, _) in visits.items() if step == 0}
    queue = [rank(key) for key in seen]
    heapq.heapify(queue)
    while queue and len(reached) < MAX_BOXES:
        *_, key = heapq.heappop(queue)
        reached.append(visits[key])
        for following in after[key] - seen:
            seen.add(following)
            heapq.heappush(queue, rank(following))
    return reached


def _make_box(
    model: AskedModel, X: NDArray[np.float32], done: AskedCases, step: int, rows: NDArray[np.int64], columns: Columns
) -> Box:
    rules = model.acquisitions_.rules
    asked, brought = done.asked[rows[0], :step], done.brought[rows[0], :step]
    known, unavailable = sorted(asked[brought].tolist()), sorted(asked[~brought].tolist())
    question = int(done.asked[rows[0], step])
    actions, has_value = done.action(step + 1, rules.n_acquisitions)[rows], done.brought[rows, step]
    with_value, without = rows[has_value], rows[~has_value]
    before = PolicyInStates(model, known, [*unavailable, question])
    after = PolicyInStates(model, [*known, question], unavailable)
    share = len(rows) / len(X)
    n_imitated = max(FEWEST_IMITATED, int(MOST_IMITATED * min(share / FULL_SHARE, 1)))
    most_leaves = max(MIN_LEAVES_ALLOWED, min(MAX_LEAVES, int(LEAVES_PER_SHARE * share)))
    leaves_of_unknown = most_leaves
    if len(without):
        unknown_rows, unknown_actions = without, actions[~has_value]
    else:
        unknown_rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_PROBED)).astype(int)]
        unknown_actions = before.actions(X[unknown_rows])
        leaves_of_unknown = 1  # it is unknown in none of the cases: only the most frequent action is said
    unknown = choice_at(before, X[unknown_rows], unknown_actions, columns, leaves_of_unknown, n_imitated)
    if len(with_value):
        answered = choice_at(after, X[with_value], actions[has_value], columns, most_leaves, n_imitated)
    else:
        answered = ActionTree.always(int(actions[0]), exact=False, agreement=0.0)
    shares = {
        (flag, leaf): mean
        for flag, policy, of_rows, choice in (
            (True, after, with_value, answered),
            (False, before, unknown_rows, unknown),
        )
        for leaf, mean in _mean_beliefs(policy, X[of_rows if len(of_rows) else rows], choice)
    }
    return Box(tuple(known), tuple(unavailable), question, answered, unknown, shares, len(rows))


def _mean_beliefs(
    policy: PolicyInStates, X: NDArray[np.float32], choice: ActionTree
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """The leaves of a choice, and the mean of what the policy believes in some of the cases at each.

    Of a leaf to which no case comes, the mean of all cases.
    """
    reached, leaves = choice.leaves(X), np.flatnonzero(choice.feature < 0)
    some = np.concatenate([np.flatnonzero(reached == leaf)[:MAX_BELIEFS] for leaf in leaves])
    beliefs, reached = policy.beliefs(X[some]), reached[some]
    for leaf in leaves.tolist():
        here = reached == leaf
        mean = (beliefs[here] if here.any() else beliefs).mean(axis=0)
        yield leaf, tuple((mean / mean.sum()).tolist())
