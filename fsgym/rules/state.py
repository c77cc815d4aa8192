"""The parameters of the decision process as a value: their form in files and pickles, and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.rules.checks import error_cost_matrix


class Parameters:
    """What ``fsgym.Rules`` was given, checked; J acquisitions, c classes. Arrays are read-only."""

    n_features: int
    n_classes: int
    n_acquisitions: int
    lam: float
    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    costs: NDArray[np.float64]  # (J,)
    unrelated_costs: NDArray[np.float64]  # (J,); ``costs`` where there is no relation
    forbids_unrelated: bool
    related: NDArray[np.bool_] | None  # (J, J)
    relation: Literal["any", "all"]
    empty_is_related: bool
    error_costs: NDArray[np.float64]  # (c, c)
    budget: int | None
    budget_cost: float | None
    prerequisites: NDArray[np.bool_] | None  # (J, J)
    missing: Literal["unavailable", "error"]

    @property
    def n_actions(self) -> int:
        """Acquisitions and answers: J + c."""
        return self.n_acquisitions + self.n_classes

    def state(self) -> tuple[dict[str, NDArray], str]:
        """Arrays and a JSON text from which ``from_state`` makes the same rules again."""
        arrays = {"costs": self.costs, "error_costs": self.error_costs, "groups": np.empty(self.n_features, np.int64)}
        for j, members in enumerate(self.groups):
            arrays["groups"][list(members)] = j
        if self.related is not None:
            arrays["related"] = self.related.astype(np.uint8)
            if not self.forbids_unrelated:
                arrays["unrelated_costs"] = self.unrelated_costs
        if self.prerequisites is not None:
            arrays["prerequisites"] = self.prerequisites.astype(np.uint8)
        plain = {
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "lam": self.lam,
            "relation": self.relation,
            "empty_is_related": self.empty_is_related,
            "budget": self.budget,
            "budget_cost": self.budget_cost,
            "missing": self.missing,
            "names": list(self.names),
        }
        if self.forbids_unrelated:
            plain["unrelated_costs"] = "forbid"
        return arrays, json.dumps(plain)

    def fingerprint_parts(self) -> list[object]:
        """What the rules consist of, for ``fsgym.runner.fingerprint``."""
        return [*self.state()]

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray], text: str) -> Self:
        """Rules from what ``state`` gave; raises ValueError or TypeError where that is damaged."""
        try:
            return cls(**(json.loads(text) | dict(arrays)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"the rules are damaged: {error}") from None

    def __reduce__(self):
        return type(self).from_state, self.state()

    def __deepcopy__(self, memo: dict) -> Self:
        return self

    def __repr__(self) -> str:
        said = [f"{self.n_acquisitions} acquisitions", f"{self.n_classes} classes", f"lam={self.lam:g}"]
        said += ["groups"] if self.n_acquisitions != self.n_features else []
        said += ["costs"] if (self.costs != 1).any() else []
        said += [f"related={self.relation!r}"] if self.related is not None else []
        said += ["error_costs"] if (self.error_costs != error_cost_matrix(None, self.n_classes)).any() else []
        said += [f"budget={self.budget}"] if self.budget is not None else []
        said += [f"budget_cost={self.budget_cost}"] if self.budget_cost is not None else []
        said += ["prerequisites"] if self.prerequisites is not None else []
        return f"Rules({', '.join(said)})"
