"""How a policy chooses at a box of a chart: its own conditions where one value decides, else a small tree like it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsgym.chart.action_tree import LEAF, ActionTree, chain_of, threshold_between
from fsgym.chart.imitation import imitate, invented_rows
from fsgym.data.columns import Columns
from fsgym.session.asked_model import AskedModel
from fsgym.session.step import Advice

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
    n = len(special)
    k = np.arange(n)
    nowhere = np.repeat(LEAF, n + 1)
    return ActionTree(
        np.append([i for i, _ in special], nowhere).astype(np.int64),
        np.append(np.full(n, 0.5), np.zeros(n + 1)),
        np.append(np.where(k + 1 < n, k + 1, 2 * n), nowhere),
        np.append(k + n, nowhere),
        np.append(np.repeat(LEAF, n), [*(a for _, a in special), usual]).astype(np.int64),
        np.zeros(2 * n + 1, bool),
        False,
        True,
        1.0,
    )


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
