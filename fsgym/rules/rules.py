"""The parameters of the decision process, checked; and its functions on batches."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsgym.checks import brief, number, partition, price_list
from fsgym.dataset import Dataset
from fsgym.rules.checks import (
    acquisition_budget,
    acquisition_names,
    error_cost_matrix,
    flat,
    one_of,
    purse,
    refuse_cycles,
    refuse_overflow,
    sizes,
    truth,
    unrelated_prices,
    zero_one,
)
from fsgym.rules.kernels import NO_BUDGET, Costs, State, Tables, _price_sets, price
from fsgym.rules.options import OPTIONS, SCALARS, RuleOptions, takes_rule_options


class Rules:
    """The parameters of the decision process, checked, and its functions on batches.

    Every variant of Dulac-Arnold et al. (2012, section 4) is a choice of these parameters, and all combine.

    Parameters
    ----------
    n_features, n_classes : int
        Size of the data.
    lam : float, default 0.01
        Price of one unit of ``costs``, in units of the error costs (the paper's lambda).
    groups : sequence of sequences of int, or one group number a feature, optional
        What each acquisition reveals; groups partition the features (eq. 8). Default: one feature each.
    costs : float, array-like of shape (n_acquisitions,), or mapping name -> price, default 1
        Price of each acquisition, >= 0 (the paper's xi, eq. 6, with ``lam=1``).
    unrelated_costs : like costs, or "forbid", optional
        Price of an acquisition that is not related to what was acquired (the paper's gamma, section 4.2.5);
        "forbid" makes it illegal. Needs ``related``.
    related : array-like of shape (n_acquisitions, n_acquisitions), optional
        ``related[j, i]``: j is related to i.
    relation : {"any", "all"}, default "any"
        Related to any, or to all, of what was acquired.
    empty_is_related : bool, default True
        Whether the first acquisition costs ``costs`` or ``unrelated_costs``.
    error_costs : array-like of shape (n_classes, n_classes), optional
        ``error_costs[answer, truth]``; may be negative. Default: 1 for a wrong answer, 0 for a right one.
    budget : int, optional
        Largest number of acquisitions, >= 0 (eq. 5).
    budget_cost : float, optional
        Largest total price, in the unit of ``costs``. Sums are compared with a relative tolerance of 1e-9.
    prerequisites : array-like of shape (n_acquisitions, n_acquisitions), optional
        ``prerequisites[j, i]``: j can be acquired only after i. No cycles.
    missing : {"unavailable", "error"}, default "unavailable"
        Whether NaN means that a value cannot be had for a datum, or is refused.
    names : sequence of str, optional
        Names of the acquisitions, for messages and for mappings.

    Raises
    ------
    ValueError, TypeError
        In one sentence.

    Examples
    --------
    >>> from fsgym import Rules
    >>> rules = Rules(3, 2, lam=0.1, costs=[1, 2, 4], budget_cost=5)
    >>> rules
    Rules(3 acquisitions, 2 classes, lam=0.1, costs, budget_cost=5.0)
    >>> rules.price_sets([[True, True, False]])[0]
    array([3.])
    """

    # J acquisitions, c classes; arrays are read-only
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

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        lam: float = 0.01,
        groups: Sequence[Sequence[int]] | ArrayLike | None = None,
        costs: ArrayLike | Mapping[str, float] | None = None,
        unrelated_costs: ArrayLike | Mapping[str, float] | Literal["forbid"] | None = None,
        related: ArrayLike | None = None,
        relation: Literal["any", "all"] = "any",
        empty_is_related: bool = True,
        error_costs: ArrayLike | None = None,
        budget: int | None = None,
        budget_cost: float | None = None,
        prerequisites: ArrayLike | None = None,
        missing: Literal["unavailable", "error"] = "unavailable",
        names: Sequence[str] | None = None,
    ) -> None:
        self.n_features, self.n_classes = sizes(n_features, n_classes)
        self.lam = number(lam, "lam", 0.0)
        members = range(self.n_features) if groups is None else groups
        self.groups = tuple(tuple(sorted(g)) for g in partition(members, self.n_features))
        J = self.n_acquisitions = len(self.groups)
        self.names = acquisition_names(names, J, "x{}" if groups is None else "group {}")
        self.costs = price_list(1.0 if costs is None else costs, self.names)
        self.related = zero_one(related, J, "related")
        self.relation = one_of(relation, "relation", "any", "all")
        self.missing = one_of(missing, "missing", "unavailable", "error")
        self.empty_is_related = truth(empty_is_related, "empty_is_related")
        self.unrelated_costs = unrelated_prices(unrelated_costs, related, self.costs, self.names)
        self.forbids_unrelated = isinstance(unrelated_costs, str)
        self.error_costs = error_cost_matrix(error_costs, self.n_classes)
        self.prerequisites = zero_one(prerequisites, J, "prerequisites")
        if self.prerequisites is not None:
            refuse_cycles(self.prerequisites, self.names)
        self.budget, self.budget_cost = acquisition_budget(budget), purse(budget_cost)
        refuse_overflow(self.lam, self.costs, self.unrelated_costs, self.error_costs)
        for array in (self.costs, self.unrelated_costs, self.error_costs, self.related, self.prerequisites):
            if array is not None:
                array.flags.writeable = False
        self.tables = self._tables()
        if self.budget_cost is not None:
            self._refuse_empty_purse(self.budget_cost)

    def _refuse_empty_purse(self, budget_cost: float) -> None:
        nothing_yet = State.blank(1, self.n_acquisitions, self.n_actions)
        free = np.arange(self.n_acquisitions)
        if self.prerequisites is not None:
            free = np.flatnonzero(~self.prerequisites.any(axis=1))
        cheapest = min(price(self.tables, nothing_yet, 0, j) for j in free)
        if cheapest > self.tables.budget_cost:
            raise ValueError(
                f"budget_cost {budget_cost:g} is below the cheapest acquisition ({cheapest:g}): "
                "nothing could be acquired; raise it, or say budget=0"
            )

    @classmethod
    @takes_rule_options
    def for_dataset(cls, dataset: Dataset, **options: Unpack[RuleOptions]) -> Self:
        """Rules of the right size for ``dataset``, with its groups and costs where ``options`` gives none."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"dataset must be a Dataset, got {brief(dataset)}")
        names: Sequence[str] | None = dataset.acquisition_names
        if options.get("groups") is not None:
            names = None
        else:
            options["groups"] = dataset.groups
            if options.get("costs") is None:
                options["costs"] = dataset.costs
        rules = cls(dataset.n_features, dataset.n_classes, names=names, **options)
        rules.check(dataset)
        return rules

    def check(self, dataset: Dataset) -> None:
        """Raise ValueError where these rules are not made for ``dataset``."""
        if (dataset.n_features, dataset.n_classes) != (self.n_features, self.n_classes):
            raise ValueError(
                f"the rules are for {self.n_features} features and {self.n_classes} classes, "
                f"{dataset.name!r} has {dataset.n_features} and {dataset.n_classes}"
            )
        if self.missing == "error" and np.isnan(dataset.X).any():
            raise ValueError(f"{dataset.name!r} has missing values and missing='error' refuses them")

    def options(self) -> RuleOptions:
        """The options that make the same rules again, but for the names of the acquisitions.

        Arrays are plain lists, and None stands for the default, so that they can be parameters of an estimator.

        Examples
        --------
        >>> from fsgym import Rules
        >>> options = Rules(3, 2, costs=[1, 2, 4], budget=2).options()
        >>> options["costs"], options["budget"], options["related"]
        ([1.0, 2.0, 4.0], 2, None)
        >>> Rules(3, 2, **options)
        Rules(3 acquisitions, 2 classes, lam=0.01, costs, budget=2)
        """
        options = self._given()
        if options["groups"] == [[j] for j in range(self.n_features)]:
            options["groups"] = None
        if (self.costs == 1).all():
            options["costs"] = None
        if (self.error_costs == error_cost_matrix(None, self.n_classes)).all():
            options["error_costs"] = None
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in options.items()}
        return cast(RuleOptions, plain)

    def _given(self) -> dict[str, Any]:
        """Each option in the form in which it is checked, defaults included."""
        given = {option.name: getattr(self, option.name) for option in OPTIONS}
        given["groups"] = [list(members) for members in self.groups]
        if self.forbids_unrelated:
            given["unrelated_costs"] = "forbid"
        elif self.related is None:
            given["unrelated_costs"] = None
        return given

    def state(self) -> tuple[dict[str, NDArray], str]:
        """Arrays and a JSON text from which ``from_state`` makes the same rules again."""
        given = self._given()
        arrays: dict[str, NDArray] = {"groups": np.empty(self.n_features, np.int64)}
        for j, members in enumerate(given.pop("groups")):
            arrays["groups"][members] = j
        for name, value in given.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value.astype(np.uint8) if value.dtype == bool else value
        plain = {"n_features": self.n_features, "n_classes": self.n_classes}
        plain |= {option.name: given[option.name] for option in OPTIONS if option.form in SCALARS}
        plain |= {"names": list(self.names)}
        plain |= {name: word for name, word in given.items() if isinstance(word, str) and name not in plain}
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

    @property
    def n_actions(self) -> int:
        """Acquisitions and answers: J + c."""
        return self.n_acquisitions + self.n_classes

    @property
    def order_free(self) -> bool:
        """Whether the price of a set of acquisitions does not depend on their order."""
        return not self.tables.relational

    def _tables(self) -> Tables:
        member, member_first = flat(self.groups)
        J = self.n_acquisitions
        related = np.zeros((J, J), bool) if self.related is None else self.related
        prerequisites = np.zeros((J, J), bool) if self.prerequisites is None else self.prerequisites
        neighbour, neighbour_first = flat([np.flatnonzero(column) for column in related.T])
        need, need_first = flat([np.flatnonzero(row) for row in prerequisites])
        limit = np.inf if self.budget_cost is None else self.budget_cost * (1 + 1e-9)
        return Tables(
            member,
            member_first,
            self.costs,
            self.unrelated_costs,
            neighbour,
            neighbour_first,
            need,
            need_first,
            relational=self.related is not None,
            all_related=self.relation == "all",
            empty_is_related=self.empty_is_related,
            forbid=self.forbids_unrelated,
            independent=self.related is None and self.prerequisites is None and self.budget_cost is None,
            budget=NO_BUDGET if self.budget is None else min(self.budget, NO_BUDGET),
            budget_cost=limit,
        )

    def reward_costs(self) -> Costs:
        """What compiled code makes rewards of, beside prices."""
        return Costs(self.lam, self.error_costs, self.costliest_answers(np.arange(self.n_classes)))

    def costliest_answers(self, truths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The class whose answer costs most, for each true class: what an illegal action is booked as."""
        return self.error_costs.argmax(axis=0)[truths]

    def acquisitions_of(self, acquired: ArrayLike) -> NDArray[np.bool_]:
        """Acquisitions, bool (n_samples, J), needed to know the features ``acquired``, bool (n_samples, n_features)."""
        acquired = np.asarray(acquired, dtype=bool)
        if self.n_acquisitions == self.n_features:
            return acquired[:, [g[0] for g in self.groups]]
        return np.stack([acquired[:, list(g)].any(axis=1) for g in self.groups], axis=1)

    def price_sets(
        self, wanted: ArrayLike, X: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """What sets of acquisitions cost, for methods that look at a set of features in no order.

        Prerequisites are bought too, what cannot be had for a datum is not. Where the price depends on the order,
        the cheapest legal acquisition is made next, and where none is legal the cheapest; the lowest number wins
        a tie.

        Parameters
        ----------
        wanted : bool array of shape (n_samples, n_acquisitions)
        X : float32 array of shape (n_samples, n_features), optional
            The data; only which values are missing is read.

        Returns
        -------
        spent : float64 (n_samples,), in the unit of ``costs``
        admissible : bool (n_samples,), whether these rules allow it (budgets, forbidden acquisitions)
        taken : bool (n_samples, n_acquisitions), what is bought
        """
        wanted = np.array(wanted, dtype=bool)
        if wanted.ndim != 2 or wanted.shape[1] != self.n_acquisitions:
            raise ValueError(f"wanted must have shape (n_samples, {self.n_acquisitions}), got {wanted.shape}")
        if X is not None and np.shape(X) != (len(wanted), self.n_features):
            raise ValueError(f"X must have shape {(len(wanted), self.n_features)}, got {np.shape(X)}")
        if self.prerequisites is not None:
            for _ in range(self.n_acquisitions):
                more = wanted | (wanted @ self.prerequisites)
                if (more == wanted).all():
                    break
                wanted = more
        if X is None:
            X = np.zeros((len(wanted), self.n_features), np.float32)
        known = ~np.isnan(X)
        if not known.all():
            wanted &= self.acquisitions_of(known)
        if self.tables.independent:
            counts = wanted.sum(axis=1)
            return wanted @ self.costs, counts <= self.tables.budget, wanted
        paid, admissible = np.zeros(len(wanted)), np.ones(len(wanted), bool)
        state = State.blank(1, self.n_acquisitions, self.n_actions)
        _price_sets(self.tables, state, np.asarray(X, np.float32), wanted, paid, admissible)
        return paid, admissible, wanted
