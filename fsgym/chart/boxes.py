"""The boxes of a chart: states in which a policy asks something, and how it goes on from each."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.action_tree import ActionTree, chain_of, threshold_between
from fsgym.chart.imitation import MAX_LEAVES, imitate, invented_rows
from fsgym.data.columns import Columns
from fsgym.session.asked_cases import AskedCases
from fsgym.session.asked_model import AskedModel
from fsgym.session.step import Advice

MAX_BOXES = 60  # of a chart
SEED_OF_NAMES = 20  # of the random names of acquisitions
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

    def choice(self, brought: bool) -> ActionTree:
        """How it goes on."""
        return self.answered if brought else self.unknown


class Structure:
    """All boxes of a chart, in an order in which each prefix of them is a chart: the most visited ones first.

    Parameters
    ----------
    boxes : list of Box
    first : int, the first action: that of the first box, or ``n_acquisitions`` plus a class code where nothing is asked
    """

    def __init__(self, boxes: list[Box], first: int) -> None:
        self.boxes, self.first = boxes, first
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
        found = _most_visited(done, _names_of_states(done, rules.n_acquisitions), y >= 0)
        boxes = [_make_box(model, X, done, *visit, columns) for visit in found]
        return cls(boxes, first)


def _names_of_states(done: AskedCases, n_acquisitions: int) -> NDArray[np.uint64]:
    """A name of what is known, and of what is known to be unavailable, before each step, (n, L): equal ones are equal.

    It is the exclusive or of random names of "unavailable" and "known" of each acquisition.
    """
    names = np.random.default_rng(SEED_OF_NAMES).integers(0, 2**64, size=(2, n_acquisitions), dtype=np.uint64)
    steps = np.where(done.asked >= 0, names[done.brought.astype(np.int64), done.asked], np.uint64(0))
    after = np.bitwise_xor.accumulate(steps, axis=1)
    return np.concatenate([np.zeros((len(after), 1), np.uint64), after[:, :-1]], axis=1)


def _most_visited(
    done: AskedCases, states: NDArray[np.uint64], real: NDArray[np.bool_]
) -> list[tuple[int, NDArray[np.int64]]]:
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
        keys = np.stack([states[rows, step], done.asked[rows, step].astype(np.uint64)], axis=1)
        distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        parts = np.split(rows[order], np.cumsum(np.bincount(inverse.ravel()))[:-1])
        for (state, question), members in zip(distinct.tolist(), parts, strict=True):
            visits[state, question] = (step, np.sort(members))
            if step:
                before = np.unique(
                    np.stack([states[members, step - 1], done.asked[members, step - 1].astype(np.uint64)], axis=1),
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


# How a policy chooses at a box: its own conditions where one value decides, else a small tree like it.

MIN_INTERVAL = 0.01  # of the cases of a box, that an interval of one number must have
MAX_INTERVALS = 12  # of the exact choice by one number
MAX_PROBES = 1000  # states at which the policy is asked where its choice by one number changes


class PolicyInStates:
    """The actions of a model in states of a given kind, with any values.

    Parameters
    ----------
    model : AskedModel
    known : list of int, acquisitions with a value
    unavailable : list of int, acquisitions without one
    """

    def __init__(self, model: AskedModel, known: list[int], unavailable: list[int]) -> None:
        rules = model.acquisitions_.rules
        self.model, self.rules = model, rules
        self.acquired = np.zeros(rules.n_features, bool)
        self.acquired[[i for j in known for i in rules.groups[j]]] = True
        taken = np.zeros((1, rules.n_acquisitions), bool)
        taken[0, known] = True
        self.legal = rules.legal_and_prices(taken)[0][0]
        self.legal[unavailable] = False

    def actions(self, values: NDArray) -> NDArray[np.int64]:
        """The action for each row of ``values`` (n, n_features), of which only known ones are read."""
        return self._advice(values).actions

    def beliefs(self, values: NDArray) -> NDArray[np.float64]:
        """The probabilities of the classes for each row, float64 (n, n_classes); without them 1 for the answer.

        Of a case that is referred to a person without probabilities, all are the same.
        """
        advice = self._advice(values)
        if advice.probabilities is not None:
            return advice.probabilities
        n_classes = self.rules.n_classes
        return np.vstack([np.eye(n_classes), np.full(n_classes, 1 / n_classes)])[advice.answers]

    def _advice(self, values: NDArray) -> Advice:
        numbers = np.where(self.acquired, values, np.nan).astype(np.float64)
        legal = np.broadcast_to(self.legal, (len(values), len(self.legal)))
        return self.model.advise(~np.isnan(numbers), numbers, np.array(legal))


def choice_at(
    policy: PolicyInStates,
    X: NDArray[np.float32],
    actions: NDArray[np.int64],
    columns: Columns,
    most_leaves: int,
    least_cases: int,
) -> ActionTree:
    """The choice of the next action in a state, from rows ``X`` (n, n_features) and the policy's actions there.

    A tree has at most ``most_leaves``; it is grown from ``least_cases``, some of them invented if need be.
    """
    features = np.flatnonzero(policy.acquired).tolist()
    if not features or most_leaves == 1:
        counts = np.bincount(actions)
        return ActionTree.always(int(counts.argmax()), exact=not features, agreement=float(counts.max() / len(X)))
    if len(set(columns.column_of[features].tolist())) == 1:
        exact = _exact_choice(policy, features, X, columns)
        if exact is not None:
            return exact._replace(agreement=float((exact.actions(X) == actions).mean()))
    n_invented = least_cases - len(X)
    if n_invented > 0:
        invented = invented_rows(X, n_invented, columns)
        X, actions = np.concatenate([X, invented]), np.concatenate([actions, policy.actions(invented)])
    return imitate(features, X, actions, columns.offsets, most_leaves)


def _exact_choice(
    policy: PolicyInStates, features: list[int], X: NDArray[np.float32], columns: Columns
) -> ActionTree | None:
    """The policy's own conditions on one column; None where they are too many."""
    column = columns[columns.column_of[features[0]]]
    if column.kind == "number":
        return _exact_thresholds(policy, features[0], X[:, features[0]], float(columns.offsets[features[0]]))
    rows = np.full((max(len(column.levels), 2), X.shape[1]), np.nan)
    levels = np.arange(len(rows))
    if len(features) == 1:
        rows[:, features[0]] = levels
        found = policy.actions(rows)
        changes = np.flatnonzero(found[1:] != found[:-1])
        if len(changes) > MAX_INTERVALS:
            return None
        return chain_of(features[0], (changes + 0.5).tolist(), found[np.append(changes, -1)].tolist())
    rows[:, features] = np.eye(len(features))
    return _chain_of_levels(features, policy.actions(rows).tolist())


def _chain_of_levels(features: list[int], found: list[int]) -> ActionTree:
    """The exact choice by the level of a category with one feature for each level, int64 (n_levels,) of actions."""
    usual = max(set(found), key=found.count)
    special = [(i, a) for i, a in zip(features, found) if a != usual]
    actions = [*(a for _, a in special), usual]
    return chain_of([i for i, _ in special], [0.5] * len(special), actions, ends_low=False)


def _exact_thresholds(policy: PolicyInStates, feature: int, x: NDArray[np.float32], offset: float) -> ActionTree | None:
    """Where the policy's action changes along one number, between the values of the rows, to the last digit."""
    seen = np.unique(x[~np.isnan(x)])
    if not len(seen):
        return None
    if len(seen) > MAX_PROBES:
        seen = seen[np.linspace(0, len(seen) - 1, MAX_PROBES).astype(int)]

    def act(values: NDArray[np.float32]) -> NDArray[np.int64]:
        rows = np.full((len(values), policy.rules.n_features), np.nan)
        rows[:, feature] = values
        return policy.actions(rows)

    found = act(seen)
    changes = np.flatnonzero(found[1:] != found[:-1])
    counts = np.bincount(np.searchsorted(seen[changes], x[~np.isnan(x)]), minlength=len(changes) + 1)
    remaining = _without_slivers(counts.tolist(), found[np.append(changes, -1)].tolist())
    exact, chosen = len(remaining) == len(changes) + 1, [a for _, a in remaining]
    if len(remaining) - 1 > MAX_INTERVALS:
        return None
    changes = changes[[k for k, _ in remaining[:-1]]]
    low, high = seen[changes], seen[changes + 1]
    left = found[changes]
    while True:  # halve all gaps at once, until no float32 number is between
        middle = ((low.astype(np.float64) + high) / 2).astype(np.float32)
        inside = (middle > low) & (middle < high)
        if not inside.any():
            break
        same = act(middle) == left
        low, high = np.where(inside & same, middle, low), np.where(inside & ~same, middle, high)
    thresholds = [threshold_between(float(a), float(b), offset) for a, b in zip(low, high, strict=True)]
    return chain_of(feature, thresholds, chosen)._replace(exact=exact)


def _without_slivers(counts: list[int], actions: list[int]) -> list[tuple[int, int]]:
    """The intervals, of those with these numbers of cases and actions, whose upper ends remain, with their actions.

    Intervals with hardly any cases are joined to what comes before or after, whichever has more cases.

    >>> _without_slivers([50, 0, 40, 10], [1, 2, 1, 3])
    [(2, 1), (3, 3)]
    """
    parts = [[k, n, a] for k, (n, a) in enumerate(zip(counts, actions, strict=True))]
    least = MIN_INTERVAL * sum(counts)
    while len(parts) > 1:
        k = min(range(len(parts)), key=lambda k: parts[k][1])
        if parts[k][1] >= least:
            break
        before = k > 0 and (k == len(parts) - 1 or parts[k - 1][1] >= parts[k + 1][1])
        neighbour = parts[k - 1 if before else k + 1]
        neighbour[1] += parts[k][1]
        neighbour[0] = max(neighbour[0], parts[k][0])
        del parts[k]
        for i in range(len(parts) - 1, 0, -1):
            if parts[i][2] == parts[i - 1][2]:
                parts[i - 1] = [parts[i][0], parts[i - 1][1] + parts[i][1], parts[i][2]]
                del parts[i]
    return [(k, a) for k, _, a in parts]
