"""Missing values as evidence: a policy that knows from the start which values of a row are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency

from agents.policy import Policy
from agents.tradeoff import with_known
from fsgym.data.columns import Column, Columns
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.session.step import Advice

LEVEL = 0.05  # of the test for all columns together
# Effective rows with the value and without it, from which a column is tested; by hand: few rows make the test too bold.
MIN_ROWS = 5
INDICATORS = "what is missing"  # the acquisition of the indicators; no user sees it


def telling_features(dataset: Dataset, weight: NDArray[np.float64] | None = None) -> NDArray[np.int64]:
    """The first feature of each column for which it goes with the class whether its value is missing, ascending.

    A chi-squared test of each column, at a level divided by their number; of columns that are missing in the same rows
    the first. With missingness at random, all of it finds a column in one of twenty tables. ``weight`` are those of the
    rows, None for equal ones; they are scaled to add up to the effective number of rows, so that the statistic keeps
    its distribution (Rao and Scott, 1981). The rows of a group (``Dataset.row_groups``) count together as one.

    Examples
    --------
    >>> import numpy as np
    >>> from fsgym import Dataset
    >>> y = np.arange(200) % 2
    >>> X = np.zeros((200, 2))
    >>> X[(y == 1) & (np.arange(200) % 4 < 3), 1] = np.nan
    >>> telling_features(Dataset(X, y))
    array([1])
    """
    firsts = np.array([features[0] for features in dataset.columns.features], np.int64)
    missing = np.isnan(dataset.X[:, firsts])
    weight = _scaled_to_effective(np.ones(dataset.n_samples) if weight is None else weight, dataset.row_groups)
    n_missing = weight @ missing
    tested = np.flatnonzero((n_missing >= MIN_ROWS) & (n_missing <= weight.sum() - MIN_ROWS))
    if not len(tested):
        return firsts[:0]
    patterns = np.unique(missing[:, tested], axis=1, return_index=True)[1]
    tested = tested[np.sort(patterns)]
    counts = np.bincount(dataset.y, weight, dataset.n_classes)
    found = []
    for k in tested.tolist():
        sides = missing[:, k], ~missing[:, k]
        table = np.stack([np.bincount(dataset.y, weight * side, dataset.n_classes) for side in sides])[:, counts > 0]
        if table.shape[1] > 1 and chi2_contingency(table).pvalue < LEVEL / len(tested):
            found.append(firsts[k])
    return np.sort(np.array(found, np.int64))


def _scaled_to_effective(weight: NDArray[np.float64], row_groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Weights that add up to Kish's effective number, of groups where there are any, as if their rows were equal."""
    of_units = weight if row_groups is None else np.bincount(row_groups, weight)
    return weight * (of_units.sum() / (of_units @ of_units))


def with_indicators(X: NDArray[np.float32], missing: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The features, and behind them 0 or 1 for each indicator."""
    return np.concatenate([X, missing.astype(np.float32)], axis=1)


def with_own_indicators(features: NDArray[np.int64], X: NDArray[np.float32]) -> NDArray[np.float32]:
    """As ``with_indicators``, where a value of ``features`` that is NaN is missing."""
    return with_indicators(X, np.isnan(X[:, features]))


def dataset_with_indicators(dataset: Dataset, features: NDArray[np.int64]) -> Dataset:
    """The rows with a column that says whether the value is missing for each of ``features``."""
    X = with_own_indicators(features, dataset.X)
    names = [_unused(f"{INDICATORS}: {k}", dataset.columns.names) for k in range(len(features))]
    columns = Columns([*dataset.columns, *map(Column, names)])
    return dataset.replace(X=X, columns=columns, groups=None, image_shape=None)


def rules_with_indicators(rules: Rules, n_indicators: int) -> Rules:
    """The rules with one acquisition more, which brings all indicators, costs nothing and does not count."""
    options: dict[str, Any] = {**rules.options()}
    n = rules.n_features
    options["groups"] = [*map(list, rules.groups), list(range(n, n + n_indicators))]
    options["costs"] = np.append(rules.costs, 0.0)
    if rules.prerequisites is not None:
        options["prerequisites"] = np.pad(rules.prerequisites, (0, 1))
    names = [*rules.names, _unused(INDICATORS, rules.names)]
    named: dict[str, Any] = {"names": names, "classes": rules.classes, "always_known": rules.always_known}
    extended = Rules(n + n_indicators, rules.n_classes, **named, **options)
    return with_known(extended, (rules.n_acquisitions,))


def _unused(name: str, names: Sequence[str]) -> str:
    """The name, with dashes behind it until no other is the same."""
    while name in names:
        name += "-"
    return name


@dataclass(frozen=True, eq=False)
class InformedPolicy:
    """A policy that knows which values of a row are missing before it acquires anything."""

    learner: str  # of ``policy``
    policy: Policy  # under ``rules_with_indicators``
    features: NDArray[np.int64]  # (n_indicators,), those of which it knows whether they are missing

    def advise(
        self,
        acquired: NDArray[np.bool_],
        values: NDArray[np.float32],
        legal: NDArray[np.bool_],
        missing: NDArray[np.bool_],
    ) -> Advice:
        """As ``Policy.advise``."""
        J = self.policy.rules.n_acquisitions  # the last one is that of the indicators, which the policy never makes
        state = self._with_known(acquired, values, missing)
        advice = self.policy.advise(*state, np.insert(legal, J - 1, False, axis=1))
        return advice._replace(
            actions=advice.actions - (advice.actions >= J),
            preference=advice.preference[:, :-1],
            expected=advice.expected[:, :-1],
            unused=advice.unused[:, : acquired.shape[1]],
        )

    def state_probabilities(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], missing: NDArray[np.bool_]
    ) -> NDArray[np.float64] | None:
        """As ``Policy.state_probabilities``."""
        return self.policy.state_probabilities(*self._with_known(acquired, values, missing))

    def _with_known(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float32], missing: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Both with the indicators, all known."""
        known = np.ones((len(acquired), len(self.features)), bool)
        return np.concatenate([acquired, known], axis=1), with_indicators(values, missing[:, self.features])

    def trajectories(self, X: NDArray[np.float32], rules: Rules, continue_after_stop: bool = False) -> Trajectories:
        """As ``Policy.trajectories``: a value that is NaN is missing."""
        first, n = self.policy.rules.n_acquisitions - 1, X.shape[1]

        def choose(acquired: Any, values: Any, legal: Any) -> NDArray[np.int64]:
            actions = self.policy.actions(acquired, values, legal, continue_after_stop=continue_after_stop)
            return np.where(legal[:, first], first, actions)

        rows = with_own_indicators(self.features, X)
        done = Policy._play(rows, rules_with_indicators(rules, len(self.features)), choose)
        probabilities = self.policy.state_probabilities(done.acquired, rows)
        return replace(done, order=done.order[:, 1:], acquired=done.acquired[:, :n], probabilities=probabilities)
