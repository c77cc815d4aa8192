"""The order of features and acquisitions in which a policy is trained on a table with names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.checks import default_names
from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.envs.trajectories import Trajectories
from fsgym.rules import Rules
from fsgym.session.step import Advice


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A permutation of features and acquisitions.

    A policy of a table with names is trained on its columns in alphabetical order, so that the order in which a user's
    table or mapping lists them has no effect, not even on ties and random draws.
    """

    features: NDArray[np.int64]  # (n_features,), the user's index of each feature of the policy
    acquisitions: NDArray[np.int64]  # (n_acquisitions,), the user's index of each acquisition of the policy

    @classmethod
    def sorted_by_name(cls, dataset: Dataset, rules: Rules) -> Arrangement:
        """Columns by name, and acquisitions by their first feature; everything as it is where there are no names.

        The names x0, x1, ... are in the order of their numbers.
        """
        columns, plain = dataset.columns, default_names(len(dataset.columns))
        if list(columns.names) == plain:
            return cls(np.arange(rules.n_features), np.arange(rules.n_acquisitions))
        alphabetical = sorted(columns.names)
        wanted = plain if alphabetical == sorted(plain) else alphabetical
        place_of = {name: k for k, name in enumerate(columns.names)}
        order = [place_of[name] for name in wanted]
        features = np.array([i for k in order for i in columns.features[k]], dtype=np.int64)
        place = np.argsort(features)
        firsts = [min(place[list(group)]) for group in rules.groups]
        return cls(features, np.argsort(firsts))

    @cached_property
    def is_identity(self) -> bool:
        """Whether the order of the policy is the user's; found once, as it is asked at each step of a case."""
        return bool((np.diff(self.features) == 1).all() and (np.diff(self.acquisitions) == 1).all())

    def dataset(self, dataset: Dataset) -> Dataset:
        """The rows of a data set, in the order of the policy, without its groups and prices unless by case."""
        if self.is_identity:
            return dataset
        first = {features.start: column for column, features in zip(dataset.columns, dataset.columns.features)}
        columns = Columns([first[i] for i in self.features.tolist() if i in first])
        priced: dict[str, Any] = {"groups": None}
        if dataset.case_costs is not None:
            place, groups = np.argsort(self.features), dataset.groups
            if groups is not None:
                priced["groups"] = [sorted(place[list(groups[j])].tolist()) for j in self.acquisitions]
            priced["case_costs"] = dataset.case_costs[:, self.acquisitions]
        return dataset.replace(X=dataset.X[:, self.features], columns=columns, image_shape=None, **priced)

    def rules(self, rules: Rules) -> Rules:
        """The user's rules in the order of the policy."""
        return rules if self.is_identity else rules.reordered(self.features.tolist(), self.acquisitions.tolist())

    def rules_of_user(self, rules: Rules) -> Rules:
        """The policy's rules in the order of the user."""
        if self.is_identity:
            return rules
        return rules.reordered(np.argsort(self.features).tolist(), np.argsort(self.acquisitions).tolist())

    def rows(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Features (n_samples, n_features) in the order of the policy."""
        return X if self.is_identity else np.ascontiguousarray(X[:, self.features])

    def block(self, rows: Dataset) -> NDArray[np.float32]:
        """The features of a block of rows in the order of the policy."""
        return self.rows(rows.X)

    def trajectories(self, done: Trajectories) -> Trajectories:
        """The policy's trajectories in the order of the user."""
        if self.is_identity:
            return done
        order = np.where(done.order >= 0, self.acquisitions[done.order], -1).astype(np.int32)
        acquired = np.empty_like(done.acquired)
        acquired[:, self.features] = done.acquired
        return replace(done, order=order, acquired=acquired)

    def to_policy(
        self, acquired: NDArray[np.bool_], values: NDArray[np.float64], legal: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32], NDArray[np.bool_]]:
        """States of the user, with values of any float type, in the order of the policy."""
        numbers = values.astype(np.float32)
        if self.is_identity:
            return acquired, numbers, legal
        answers = np.arange(len(self.acquisitions), legal.shape[1])
        order = np.concatenate([self.acquisitions, answers])
        return acquired[:, self.features], numbers[:, self.features], legal[:, order]

    def actions(self, actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Actions of the policy, or -1 for none, in the order of the user."""
        if self.is_identity:
            return actions
        J = len(self.acquisitions)
        return np.where((actions < 0) | (actions >= J), actions, self.acquisitions[np.clip(actions, 0, J - 1)])

    def to_user(self, advice: Advice) -> Advice:
        """Advice of the policy in the order of the user."""
        if self.is_identity:
            return advice
        preference, expected = np.empty_like(advice.preference), np.empty_like(advice.expected)
        preference[:, self.acquisitions], expected[:, self.acquisitions] = advice.preference, advice.expected
        unused = np.empty_like(advice.unused)
        unused[:, self.features] = advice.unused
        return advice._replace(
            actions=self.actions(advice.actions),
            beyond=self.actions(advice.beyond),
            preference=preference,
            expected=expected,
            unused=unused,
        )
