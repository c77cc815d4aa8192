"""``Rules``: the validated parameters of the decision process, and what is legal, costs and is answered under them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, Unpack, cast

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from fsgym.data.checks import check_groups, default_names
from fsgym.data.columns import Columns
from fsgym.data.dataset import Dataset
from fsgym.data.groups import resolve_groups
from fsgym.data.targets import Bins
from fsgym.rules import checks
from fsgym.rules.kernels import (
    FIRST,
    NO_BUDGET,
    Costs,
    State,
    Tables,
    acquire,
    price,
    price_sets_greedily,
    set_acquired,
    start,
)
from fsgym.rules.options import FIRST_SCALARS, OPTIONS, REFER_LABEL, SCALARS, RuleOptions, takes_rule_options
from fsgym.support.arrays import read_only
from fsgym.support.checks import check_choice, check_number, check_prices
from fsgym.text.html import rules_html
from fsgym.text.messages import brief, counted, listing, option_text

ERRORS_IN_REPR = 3  # costs of errors that the repr names
TIE = 1e-12  # expected costs that differ by less, relative to the largest error cost, are equal


class Rules:
    """Validated parameters of the decision process, with methods that price sets of acquisitions for batches of rows.

    Each variant of Dulac-Arnold et al. (2012, section 4) is a choice of these parameters; all can be combined.

    Parameters
    ----------
    n_features, n_classes : int
        Numbers of features and classes of the data.
    lam : float, default 0.01
        Exchange rate between cost and errors: the value of one unit of ``costs``, in units of ``error_costs`` (the
        paper's lambda). With 0.01, a hundred units of cost weigh as much as one error.
    groups : mapping name -> names, sequence of sequences of int, or one group number per feature, optional
        The features that each acquisition reveals; groups partition the features (eq. 8). Default: one feature each.
        In a mapping, such as ``{"blood_count": ["wbc", "hgb"]}``, a feature that is not listed is a group of its own.
    costs : float, array-like of shape (n_acquisitions,), mapping name -> price, or Series by name, default 1
        Price of each acquisition, >= 0 (the paper's xi, eq. 6, with ``lam=1``). A mapping names all of them.
    unrelated_costs : like costs, or "forbid", optional
        Price of an acquisition that is not related to earlier ones (the paper's gamma, section 4.2.5); "forbid" makes
        it illegal. Requires ``related``.
    related : array-like of shape (n_acquisitions, n_acquisitions), DataFrame or mapping by name, or pairs, optional
        ``related[j, i]`` is True if acquisition j counts as related once i has been made: its price is then
        ``costs[j]``, otherwise ``unrelated_costs[j]``. The matrix need not be symmetric; a list of pairs of names is.
        Requires ``unrelated_costs``.
    relation : {"any", "all"}, default "any"
        Whether an acquisition counts as related if it is related to any, or only if to all, of the earlier ones.
    empty_is_related : bool, default True
        Whether the first acquisition costs ``costs`` (True) or ``unrelated_costs`` (False); with "forbid" it costs
        ``costs`` in any case.
    error_costs : array-like of shape (n_classes, n_classes), DataFrame, or mapping, optional
        ``error_costs[answer, true class]``; may be negative. A DataFrame has the answers as its index and the true
        classes as its columns; a mapping is ``{answer: {true class: cost}}``. Without ``classes`` the labels are 0, 1,
        ... Default: 1 for a wrong answer, 0 for a correct one.
    refer_cost : float, optional
        Cost of one more answer, to refer the case to a person, >= 0, in the unit of ``error_costs`` and whatever the
        class is: the reject option of Chow (1970). It is the cheapest answer where every class has a larger expected
        error cost; with the default error costs, where no class has a probability of 1 - ``refer_cost`` or more. By
        default no case is referred.
    refer_label : str, default "a person"
        What this answer is called; no class may have this label.
    budget : int, optional
        Largest number of acquisitions for a row, >= 0 (eq. 5).
    budget_cost : float, optional
        Largest total price for a row, in the unit of ``costs``, compared with a relative tolerance of 1e-9.
    prerequisites : array-like of shape (n_acquisitions, n_acquisitions), DataFrame or mapping by name, optional
        ``prerequisites[j, i]``: j can be acquired only after i. A mapping is such as ``{"ct": ["troponin"]}``: the CT
        only after the troponin. Cycles are an error.
    missing : {"unavailable", "error"}, default "unavailable"
        Whether NaN marks a value that is not available for a row, or is an error.
    names : sequence of str, optional
        Names of the acquisitions, for messages and for prices given by name.
    classes : sequence of n_classes labels, optional
        Labels of the classes in sorted order, for error costs by label, and to print these in words.
    costs_by_case : bool, default False
        Whether each case has its own prices, in place of ``costs``, which are then their means: those of
        ``Dataset.case_costs``. ``Rules.for_dataset`` sets it for such data. Not with ``related``.
    always_known : sequence of int, optional
        Acquisitions that every case brings: they do not count for ``budget``, made or not. Not among the options.

    Raises
    ------
    ValueError, TypeError
        If a parameter is invalid.

    References
    ----------
    Dulac-Arnold, Denoyer, Preux and Gallinari (2012), Sequential approaches for learning datum-wise sparse
    representations. Chow (1970), On optimum recognition error and reject tradeoff.

    Examples
    --------
    >>> from fsgym import Rules
    >>> rules = Rules(3, 2, lam=0.1, costs=[1, 2, 4], budget_cost=5)
    >>> rules
    Rules(3 acquisitions, 2 classes, lam=0.1, costs, budget_cost=5.0)
    >>> rules.price_sets([[True, True, False]])[0]
    array([3.])
    >>> Rules(3, 2, classes=["ill", "well"], error_costs={"well": {"ill": 500}, "ill": {"well": 100}})
    Rules(3 acquisitions, 2 classes, lam=0.01, error_costs: a missed ill costs 500, a false ill costs 100)
    >>> rules = Rules(3, 2, refer_cost=0.2)
    >>> rules, rules.n_actions, rules.answer_costs.tolist()
    (Rules(3 acquisitions, 2 classes, lam=0.01, refer_cost=0.2), 6, [[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]])
    """

    # J acquisitions, c classes; arrays are read-only
    n_features: int
    n_classes: int
    n_acquisitions: int
    lam: float
    groups: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    classes: tuple[str, ...] | None  # labels as text, where they are known
    costs: NDArray[np.float64]  # (J,)
    unrelated_costs: NDArray[np.float64]  # (J,); ``costs`` where there is no relation
    forbids_unrelated: bool
    related: NDArray[np.bool_] | None  # (J, J)
    relation: Literal["any", "all"]
    empty_is_related: bool
    error_costs: NDArray[np.float64]  # (c, c)
    refer_cost: float | None
    refer_label: str
    answer_costs: NDArray[np.float64]  # (n_answers, c): ``error_costs``, then a row of ``refer_cost`` if it is given
    budget: int | None
    budget_cost: float | None
    prerequisites: NDArray[np.bool_] | None  # (J, J)
    missing: Literal["unavailable", "error"]
    costs_by_case: bool
    always_known: tuple[int, ...]  # in rising order

    @takes_rule_options
    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        lam: float = 0.01,
        groups: Mapping[str, Sequence[str]] | Sequence[Sequence[int]] | ArrayLike | None = None,
        costs: ArrayLike | Mapping[str, float] | None = None,
        unrelated_costs: ArrayLike | Mapping[str, float] | Literal["forbid"] | None = None,
        related: Any = None,
        relation: Literal["any", "all"] = "any",
        empty_is_related: bool = True,
        error_costs: Any = None,
        refer_cost: float | None = None,
        refer_label: str = REFER_LABEL,
        budget: int | None = None,
        budget_cost: float | None = None,
        prerequisites: Any = None,
        missing: Literal["unavailable", "error"] = "unavailable",
        names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        costs_by_case: bool = False,
        always_known: Sequence[int] = (),
    ) -> None:
        self.n_features, self.n_classes = checks.check_sizes(n_features, n_classes)
        self.lam = check_number(lam, option_text("lam"), 0.0)
        members: Any = range(self.n_features) if groups is None else groups
        if isinstance(groups, Mapping):
            listed, group_names = resolve_groups(groups, Columns.of_numbers(default_names(self.n_features)))
            names = group_names if names is None else names
        else:
            listed = check_groups(members, self.n_features)
        self.groups = tuple(tuple(sorted(g)) for g in listed)
        J = self.n_acquisitions = len(self.groups)
        self.names = checks.check_acquisition_names(names, J, "x{}" if groups is None else "group {}")
        self.costs = check_prices(1.0 if costs is None else costs, self.names)
        self.related = checks.check_relation(related, self.names, option_text("related"), symmetric=True)
        self.relation = check_choice(relation, option_text("relation"), "any", "all")
        self.missing = check_choice(missing, option_text("missing"), "unavailable", "error")
        self.empty_is_related = checks.check_bool(empty_is_related, "empty_is_related")
        self.unrelated_costs = checks.check_unrelated_costs(unrelated_costs, related, self.costs, self.names)
        self.forbids_unrelated = isinstance(unrelated_costs, str)
        self.costs_by_case = checks.check_bool(costs_by_case, "costs_by_case")
        if self.costs_by_case and self.related is not None:
            raise ValueError(
                "prices of the case cannot be combined with related and unrelated_costs, got both; pass costs, one "
                "price for each acquisition, or leave out related"
            )
        self.classes = checks.check_class_labels(classes, self.n_classes)
        self.error_costs = checks.check_error_costs(error_costs, self.classes or range(self.n_classes))
        self.refer_cost = checks.check_refer_cost(refer_cost)
        self.refer_label = checks.check_refer_label(refer_label, self.refer_cost, self.classes)
        self.answer_costs = self.error_costs
        if self.refer_cost is not None:
            self.answer_costs = np.vstack([self.error_costs, np.full(self.n_classes, self.refer_cost)])
        self.prerequisites = checks.check_relation(prerequisites, self.names, option_text("prerequisites"))
        if self.prerequisites is not None:
            checks.refuse_cycles(self.prerequisites, self.names)
        self.always_known = checks.check_always_known(always_known, J)
        self.budget, self.budget_cost = checks.check_budget(budget), checks.check_budget_cost(budget_cost)
        if not np.isfinite(self.largest_loss()):
            raise ValueError(
                f"{option_text('lam')}, {option_text('costs')}, {option_text('error_costs')} and "
                f"{option_text('refer_cost')} must be small enough to be added up in float64; divide them by a "
                "common "
                "factor"
            )
        arrays = (
            self.costs,
            self.unrelated_costs,
            self.error_costs,
            self.answer_costs,
            self.related,
            self.prerequisites,
        )
        for array in arrays:
            if array is not None:
                array.flags.writeable = False
        self.tables = compiled_tables(self)
        if self.budget_cost is not None and not self.costs_by_case:
            refuse_useless_budget(self)

    @classmethod
    @takes_rule_options
    def for_dataset(cls, dataset: Dataset, **options: Unpack[RuleOptions]) -> Self:
        """Rules for ``dataset``, with its groups, costs and error costs where ``options`` has none.

        If it has prices by case, so have the rules, unless ``options`` has ``costs`` or ``groups``. Groups,
        prices, relations and error costs may be given by its names and class labels.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"dataset must be a Dataset, got {brief(dataset)}")
        names: Sequence[str] | None = dataset.acquisition_names
        by_case = False
        if options.get("error_costs") is None:
            options["error_costs"] = dataset.error_costs
        if options.get("groups") is not None:
            options["groups"], names = dataset.resolve_groups(options.get("groups"))
        else:
            options["groups"] = dataset.groups
            if options.get("costs") is None:
                options["costs"], by_case = dataset.costs, dataset.case_costs is not None
        classes = (dataset.classes if dataset.bins is None else dataset.bins.values).tolist()
        given: dict[str, Any] = {"names": names, "classes": classes, "costs_by_case": by_case}
        rules = cls(dataset.n_features, dataset.n_classes, **given, **options)
        rules.check(dataset)
        return rules

    def check(self, dataset: Dataset) -> None:
        """Raise ValueError where ``dataset`` has another size, or missing values that these rules do not allow."""
        if (dataset.n_features, dataset.n_classes) != (self.n_features, self.n_classes):
            raise ValueError(
                f"the rules are for {self.n_features} features and {self.n_classes} classes, but "
                f"{dataset.name!r} has {dataset.n_features} and {dataset.n_classes}"
            )
        prices = None if dataset.case_costs is None else dataset.case_costs.shape
        if self.costs_by_case and prices != (dataset.n_samples, self.n_acquisitions):
            raise ValueError(
                f"the rules have prices by case, so {dataset.name!r} must have case_costs of shape "
                f"{(dataset.n_samples, self.n_acquisitions)}, got {prices or 'none'}; give its cases "
                "prices, or evaluate under rules.at_prices() with one price for each acquisition"
            )
        if self.missing == "error" and np.isnan(dataset.X).any():
            raise ValueError(f"{dataset.name!r} has missing values, which missing='error' does not allow")

    def options(self, dataset: Dataset | None = None) -> RuleOptions:
        """The options that recreate these rules, except the names of the acquisitions and the labels of the classes.

        Arrays become lists, and default groups and costs become None, so that the options can be parameters of an
        estimator; but for those in the place of which it would take others from the ``dataset`` to which it is fitted.

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
        usual = {
            "groups": [[j] for j in range(self.n_features)],
            "costs": np.ones(self.n_acquisitions),
            "error_costs": checks.check_error_costs(None, range(self.n_classes)),
        }
        for name, default in usual.items():
            own = getattr(dataset, name, None)
            if np.array_equal(options[name], default) and (own is None or np.array_equal(own, default)):
                options[name] = None
        plain = {name: v.tolist() if isinstance(v, np.ndarray) else v for name, v in options.items()}
        return cast(RuleOptions, plain)

    def _given(self) -> dict[str, Any]:
        """Each option as an argument of ``Rules``, including defaults."""
        given = {option.name: getattr(self, option.name) for option in OPTIONS}
        given["groups"] = [list(members) for members in self.groups]
        if self.forbids_unrelated:
            given["unrelated_costs"] = "forbid"
        elif self.related is None:
            given["unrelated_costs"] = None
        return given

    def _not_options(self) -> dict[str, Any]:
        """The arguments of ``Rules`` that are no options."""
        names = "names", "classes", "costs_by_case", "always_known"
        return {name: getattr(self, name) for name in names}

    def replace(self, **changes: Unpack[RuleOptions]) -> Self:
        """The same rules but for these options.

        >>> from fsgym import Rules
        >>> Rules(3, 2, costs=[1, 2, 4]).replace(lam=0.1, budget=2)
        Rules(3 acquisitions, 2 classes, lam=0.1, costs, budget=2)
        """
        options: dict[str, Any] = {**self._given(), **changes}
        named = self._not_options()
        named["costs_by_case"] &= not {"costs", "groups"} & changes.keys()
        return type(self)(self.n_features, self.n_classes, **named, **options)

    def at_prices(self, costs: ArrayLike | Mapping[str, float] | None = None) -> Self:
        """The same rules with one price for each acquisition, by default the means of prices by case.

        >>> from fsgym import Rules
        >>> Rules(3, 2, costs=[1, 2, 4], costs_by_case=True).at_prices([1, 2, 8]).costs.tolist()
        [1.0, 2.0, 8.0]
        """
        given: dict[str, Any] = self._given() | {"costs": self.costs if costs is None else costs}
        rules = type(self)(self.n_features, self.n_classes, **self._not_options(), **given)
        if self.costs_by_case:  # afterwards, since a case whose prices are all beyond the budget is answered at once
            rules.costs_by_case, rules.tables = False, rules.tables._replace(by_case=False)
        return rules

    def with_bins(self, bins: Bins) -> Self:
        """The same rules for a numeric target in these bins, whose errors they cost."""
        given: dict[str, Any] = self._given() | {"error_costs": bins.error_costs}
        named = self._not_options() | {"classes": bins.values.tolist()}
        return type(self)(self.n_features, bins.n_bins, **named, **given)

    def reordered(self, features: Sequence[int], acquisitions: Sequence[int]) -> Self:
        """The same rules for permuted features and acquisitions: entry k of each is the old index of the new one k."""
        place = {old: new for new, old in enumerate(features)}
        order = list(acquisitions)
        given = self._given()
        given["groups"] = [[place[i] for i in self.groups[j]] for j in order]
        for name, value in given.items():
            if isinstance(value, np.ndarray) and name != "error_costs":
                given[name] = value[order] if value.ndim == 1 else value[np.ix_(order, order)]
        known = np.flatnonzero(np.isin(order, self.always_known)).tolist()
        named = self._not_options() | {"names": [self.names[j] for j in order], "always_known": known}
        return type(self)(self.n_features, self.n_classes, **named, **given)

    def state(self) -> tuple[dict[str, NDArray], str]:
        """Arrays and a JSON text from which ``from_state`` recreates the rules."""
        given = self._given()
        arrays: dict[str, NDArray] = {"groups": np.empty(self.n_features, np.int64)}
        for j, members in enumerate(given.pop("groups")):
            arrays["groups"][members] = j
        for name, value in given.items():
            if isinstance(value, np.ndarray):
                arrays[name] = value.astype(np.uint8) if value.dtype == bool else value
        plain = {"n_features": self.n_features, "n_classes": self.n_classes}
        if self.refer_cost is None:
            del given["refer_label"]
        # a later option that has its default is left out: 0.2.0 reads such rules, and digests and results stay known
        scalars = [o for o in OPTIONS if o.form in SCALARS and o.name in given]
        plain |= {o.name: given[o.name] for o in scalars if o.name in FIRST_SCALARS or given[o.name] != o.default}
        plain |= {"names": list(self.names)} | ({} if self.classes is None else {"classes": list(self.classes)})
        plain |= {name: word for name, word in given.items() if isinstance(word, str) and name not in plain}
        if self.costs_by_case:  # not in the rules of fsgym 0.2.0
            plain["costs_by_case"] = True
        if self.always_known:  # neither
            plain |= {"always_known": list(self.always_known)}
        return arrays, json.dumps(plain)

    def fingerprint_parts(self) -> list[object]:
        """All that identifies the rules, for ``fsgym.runner.fingerprint``."""
        return [*self.state()]

    @classmethod
    def from_state(cls, arrays: Mapping[str, NDArray], text: str) -> Self:
        """Rules from the arrays and text of ``state``; raises ValueError where they are damaged."""
        try:
            plain, groups = json.loads(text), arrays["groups"]
            if groups.ndim != 1 or len(groups) != plain["n_features"]:
                raise ValueError(f"groups must be a number for each feature, got shape {groups.shape}")
            if len(arrays["error_costs"]) != plain["n_classes"]:
                raise ValueError(f"{option_text('error_costs')} must have a row for each class")
            return cls(**(plain | dict(arrays)))
        except KeyError as error:
            raise ValueError(f"the rules are damaged: {error} is missing") from None
        except (TypeError, ValueError) as error:
            raise ValueError(f"the rules are damaged: {error}") from None

    def __reduce__(self):
        return type(self).from_state, self.state()

    def __deepcopy__(self, memo: dict) -> Self:
        return self

    def __repr__(self) -> str:
        grouped = f" of {self.n_features} features" if self.n_acquisitions != self.n_features else ""
        sizes = f"{counted(self.n_acquisitions, 'acquisition')}{grouped}"
        parts = [sizes, f"{self.n_classes} classes", f"lam={self.lam:g}"]
        parts += ["costs by case"] if self.costs_by_case else ["costs"] if (self.costs != 1).any() else []
        parts += [f"related={self.relation!r}"] if self.related is not None else []
        described = checks.describe_error_costs(self.error_costs, self.classes or range(self.n_classes), ERRORS_IN_REPR)
        if described:
            parts.append("error_costs" if self.classes is None else f"error_costs: {described}")
        parts += [f"refer_cost={self.refer_cost:g}"] if self.refer_cost is not None else []
        besides = " besides what is always known" if self.always_known else ""
        parts += [f"budget={self.budget}{besides}"] if self.budget is not None else []
        parts += [f"budget_cost={self.budget_cost}"] if self.budget_cost is not None else []
        parts += ["prerequisites"] if self.prerequisites is not None else []
        return f"Rules({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return rules_html(self)

    @property
    def most_acquisitions(self) -> int:
        """How many acquisitions a row can have at most by ``budget``."""
        return min(self.n_acquisitions, self.tables.budget + len(self.always_known))

    @property
    def n_actions(self) -> int:
        """Acquisitions and answers: J + n_answers."""
        return self.n_acquisitions + self.n_answers

    @property
    def n_answers(self) -> int:
        """The classes, and with ``refer_cost`` the answer that refers: c or c + 1."""
        return len(self.answer_costs)

    def answer_labels(self, classes: ArrayLike) -> NDArray:
        """The labels of all answers, (n_answers,): ``classes``, and ``refer_label`` where a case may be referred.

        They have dtype object where a case may be referred and the classes are no text.

        >>> from fsgym import Rules
        >>> Rules(3, 2, refer_cost=0.2).answer_labels([0, 1])
        array([0, 1, 'a person'], dtype=object)
        """
        labels = np.asarray(classes)
        if self.refer_cost is None:
            return labels
        return np.append(labels if labels.dtype.kind == "U" else labels.astype(object), self.refer_label)

    def blank_state(self, size: int = 1) -> State:
        """Zeroed states of ``size`` episodes, for the compiled functions."""
        return State.blank(size, self.n_acquisitions, self.n_actions, self.costs if self.costs_by_case else None)

    def case_costs_or_none(self, case_costs: ArrayLike | None) -> NDArray[np.float64]:
        """The prices of each row (n_samples, J) for compiled code; (0, J) where ``costs`` are the prices of all."""
        if case_costs is None or not self.costs_by_case:
            return read_only(np.zeros((0, self.n_acquisitions)))
        return read_only(case_costs, np.float64)

    def largest_loss(self, case_costs: NDArray[np.float64] | None = None) -> float:
        """The largest loss that an episode could have, with all acquisitions and the costliest answer.

        ``case_costs``, float64 (n_samples, n_acquisitions), are the prices by case of the rows; without them the means
        count.
        """
        with np.errstate(over="ignore"):
            spent = self.highest_costs.sum()
            if case_costs is not None:
                spent = max(spent, case_costs.sum(axis=1).max())
            return float(spent * self.lam + np.abs(self.answer_costs).max())

    def check_largest_loss(self, limit: float, case_costs: NDArray[np.float64] | None = None) -> None:
        """ValueError where an episode could have a larger loss than a learner's arithmetic can represent."""
        largest = self.largest_loss(case_costs)
        if largest > limit:
            raise ValueError(
                f"prices and error costs must not add up to more than {limit:g} in one episode, got {largest:g}; use a "
                "larger unit"
            )

    def check_order_of(self, trained_with: Any) -> None:
        """ValueError where a policy knows the same acquisitions, or classes, in another order, as after ``fit``.

        ``trained_with`` are the rules of the policy; others than ``Rules``, and other names, are not judged.
        """
        for what in ("names", "classes"):
            own, learnt = (tuple(getattr(one, what, None) or ()) for one in (self, trained_with))
            if own != learnt and len(own) == len(learnt) and {*map(str, own)} == {*map(str, learnt)}:
                meant = "acquisitions" if what == "names" else "classes"
                raise ValueError(
                    f"a policy acts on the {meant} in the order of its training, {listing(learnt, 4)}, got "
                    f"{listing(own, 4)}; give the classifier itself, which orders them by name, in place of its "
                    "policy_"
                )

    def reward_costs(self) -> Costs:
        """The parameters of rewards for compiled code, except prices."""
        return Costs(self.lam, self.answer_costs, self.costliest_answers(np.arange(self.n_classes)))

    def costliest_answers(self, true_classes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The costliest class to answer for each true class, int64: the outcome of an illegal action."""
        return self.error_costs.argmax(axis=0)[true_classes]

    @property
    def acquisition_of_features(self) -> NDArray[np.int64]:
        """The acquisition that reveals each feature, int64 (n_features,)."""
        acquisition = np.empty(self.n_features, np.int64)
        acquisition[self.tables.member] = np.repeat(np.arange(self.n_acquisitions), np.diff(self.tables.member_first))
        return acquisition

    def acquisitions_of(self, acquired: ArrayLike) -> NDArray[np.bool_]:
        """The acquisitions, bool (n_samples, J), that reveal the features ``acquired`` (n_samples, n_features)."""
        acquired = np.asarray(acquired, dtype=bool)
        if self.n_acquisitions == self.n_features:
            return acquired[:, [g[0] for g in self.groups]]
        return np.stack([acquired[:, list(g)].any(axis=1) for g in self.groups], axis=1)

    def price_sets(
        self, wanted: ArrayLike, X: NDArray[np.float32] | None = None, case_costs: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Total price of sets of acquisitions, for methods that use a set of features in no order.

        Prerequisites are paid for as well; acquisitions that are not available for a row are not. If the price depends
        on the order, the cheapest legal acquisition comes next, or the cheapest if none is legal; ties go to the lowest
        index.

        Parameters
        ----------
        wanted : bool array of shape (n_samples, n_acquisitions)
        X : float32 array of shape (n_samples, n_features), optional
            The data; only which values are missing matters. By default none is.
        case_costs : float64 array of shape (n_samples, n_acquisitions), optional
            The prices of each row where these rules have prices by case; by default ``costs``.

        Returns
        -------
        spent : float64 (n_samples,), in the unit of ``costs``
        admissible : bool (n_samples,), whether the rules allow the set (budgets, forbidden acquisitions)
        taken : bool (n_samples, n_acquisitions), the acquisitions paid for
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
            counts = wanted @ self.tables.counts
            own = self.case_costs_or_none(case_costs)
            spent = (wanted * own).sum(axis=1) if len(own) else wanted @ self.costs
            return spent, counts <= self.tables.budget, wanted
        paid, admissible = np.zeros(len(wanted)), np.ones(len(wanted), bool)
        given = read_only(X, np.float32), self.case_costs_or_none(case_costs), read_only(wanted)
        price_sets_greedily(self.tables, self.blank_state(), *given, paid, admissible)
        return paid, admissible, wanted

    def legal_and_prices(
        self,
        taken: NDArray[np.bool_],
        spent: NDArray[np.float64] | None = None,
        n_paid: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """The legal actions after some acquisitions, and the prices of the next one. No value counts as missing.

        Parameters
        ----------
        taken : bool (n, J), the acquisitions made or known
        spent : float64 (n,), the total price paid so far, in the unit of ``costs``
            By default that of all acquisitions in ``taken``, in the greedily cheapest order.
        n_paid : int64 (n,), how many of the acquisitions count for ``budget``; by default all but those always known

        Returns
        -------
        legal : bool (n, n_actions)
        prices : float64 (n, J), in the unit of ``costs``
        """
        if n_paid is None:
            n_paid = taken @ self.tables.counts
        if self.tables.independent and not self.costs_by_case:  # the same as below, several times as fast
            legal = np.ones((len(taken), self.n_actions), bool)
            has_room = (n_paid < self.tables.budget)[:, None] | (self.tables.counts == 0)
            legal[:, : self.n_acquisitions] = ~taken & has_room
            return legal, np.tile(self.costs, (len(taken), 1))
        if spent is None:
            spent = self.price_sets(taken)[0]
        state, prices = self.blank_state(len(taken)), np.zeros(taken.shape)
        _place_and_price(self.tables, state, read_only(taken), read_only(spent), read_only(n_paid), prices)
        return state.legal.astype(bool), prices

    def follow(
        self, order: Iterable[int], available: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Make the acquisitions of ``order`` for each row, without those that are not legal when their turn comes.

        Parameters
        ----------
        order : acquisitions
        available : bool (n_samples, n_acquisitions), whether the acquisition has a value for the row

        Returns
        -------
        taken : bool (n_samples, n_order), whether each was made
        spent : float64 (n_samples, n_order + 1), total price of the first 0, 1, ... of them, in the unit of ``costs``
        """
        sequence = np.array([*order], dtype=np.int64)
        values = np.where(available[:, self.acquisition_of_features], np.float32(0.0), np.float32(np.nan))
        taken, spent = np.zeros((len(values), len(sequence)), bool), np.zeros((len(values), len(sequence) + 1))
        _follow(self.tables, self.blank_state(), read_only(values), sequence, taken, spent)
        return taken, spent

    def legal_order(self, wanted: Iterable[int]) -> list[int] | None:
        """The acquisitions ``wanted`` in an order that is legal for a complete row; None if there is none.

        The first one in ``wanted`` that is legal comes next.
        """
        remaining, ordered = [*wanted], []
        complete = np.ones((1, self.n_acquisitions), bool)
        while remaining:
            for j in remaining:
                if self.follow([*ordered, j], complete)[0].all():
                    break
            else:
                return None
            ordered.append(j)
            remaining.remove(j)
        return ordered

    def options_that_forbid_all(self) -> dict[str, Any]:
        """The options, each with its value, without which an acquisition could be made where none can be.

        >>> from fsgym import Rules
        >>> Rules(3, 2, budget=0).options_that_forbid_all(), Rules(3, 2, budget=1).options_that_forbid_all()
        ({'budget': 0}, {})
        """
        if self._allows_some:
            return {}
        given: dict[str, Any] = {**self.options()}
        plain = [o for o in OPTIONS if o.form in SCALARS and given.get(o.name, o.default) != o.default]
        return {o.name: given[o.name] for o in plain if self.replace(**{o.name: o.default})._allows_some}  # type: ignore[misc]

    @property
    def _allows_some(self) -> bool:
        """Whether an acquisition is legal where nothing is known."""
        nothing = np.zeros((1, self.n_acquisitions), bool)
        return bool(self.legal_and_prices(nothing)[0][0, : self.n_acquisitions].any())

    @property
    def lowest_costs(self) -> NDArray[np.float64]:
        """What each acquisition costs at least, whatever comes before it, float64 (n_acquisitions,)."""
        return np.minimum(self.costs, self.unrelated_costs)

    @property
    def highest_costs(self) -> NDArray[np.float64]:
        """What each acquisition costs at most, whatever comes before it, float64 (n_acquisitions,)."""
        return np.maximum(self.costs, self.unrelated_costs)

    @property
    def prices_change(self) -> bool:
        """Whether the price of an acquisition depends on those before it."""
        return self.related is not None

    def next_prices(self, acquired: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The price of each acquisition where the features ``acquired`` (n, n_features) are, float64 (n, J)."""
        if not self.prices_change:
            return np.broadcast_to(self.costs, (len(acquired), self.n_acquisitions))
        taken = self.acquisitions_of(acquired)
        return self.legal_and_prices(taken, np.zeros(len(taken)))[1]

    def prerequisites_of(self, j: int, met: Collection[int] = ()) -> list[int]:
        """What acquisition j needs, directly or not, in an order in which it can be acquired; without those ``met``.

        Examples
        --------
        >>> Rules(3, 2, prerequisites={"x2": ["x1"], "x1": ["x0"]}).prerequisites_of(2)
        [0, 1]
        """
        needed: list[int] = []

        def add_needs_of(k: int) -> None:
            for i in [] if self.prerequisites is None else np.flatnonzero(self.prerequisites[k]).tolist():
                if i not in met and i not in needed:
                    add_needs_of(i)
                    needed.append(i)

        add_needs_of(j)
        return needed

    def available(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """The acquisitions that some sequence of acquisitions reaches for each row, bool (n_samples, J).

        An acquisition without an available value cannot be made, so neither can those that it is a prerequisite of.
        Budgets and relations are not taken into account.
        """
        reached = self.acquisitions_of(~np.isnan(X))
        if self.prerequisites is None:
            return reached
        for _ in range(self.n_acquisitions):
            lacks = (~reached).astype(np.int64) @ self.prerequisites.T.astype(np.int64) > 0
            if not (reached & lacks).any():
                break
            reached &= ~lacks
        return reached

    def without_unavailable(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """``X`` (n_samples, n_features) with NaN for values that no sequence of acquisitions reveals."""
        known = ~np.isnan(X)
        hidden = self.acquisitions_of(known) & ~self.available(X)
        if not hidden.any():
            return X
        shown = np.array(X)
        for j in np.flatnonzero(hidden.any(axis=0)):
            shown[np.ix_(hidden[:, j], np.array(self.groups[j]))] = np.nan
        return shown


def compiled_tables(rules: Rules) -> Tables:
    """The parameters of the rules as arrays for compiled code."""
    member, member_first = ragged_to_flat(rules.groups)
    none: list[list[int]] = [[]] * rules.n_acquisitions
    neighbours = none if rules.related is None else [np.flatnonzero(column) for column in rules.related.T]
    needs = none if rules.prerequisites is None else [np.flatnonzero(row) for row in rules.prerequisites]
    neighbour, neighbour_first = ragged_to_flat(neighbours)
    need, need_first = ragged_to_flat(needs)
    limit = np.inf if rules.budget_cost is None else rules.budget_cost * (1 + 1e-9)
    return Tables(
        member,
        member_first,
        rules.costs,
        rules.unrelated_costs,
        neighbour,
        neighbour_first,
        need,
        need_first,
        relational=rules.related is not None,
        all_related=rules.relation == "all",
        empty_is_related=rules.empty_is_related,
        forbid=rules.forbids_unrelated,
        by_case=rules.costs_by_case,
        independent=rules.related is None and rules.prerequisites is None and rules.budget_cost is None,
        counts=1 - np.isin(np.arange(rules.n_acquisitions), rules.always_known),
        budget=NO_BUDGET if rules.budget is None else min(rules.budget, NO_BUDGET),
        budget_cost=limit,
    )


def refuse_useless_budget(rules: Rules) -> None:
    """ValueError where ``budget_cost`` does not allow any first acquisition."""
    needs = rules.prerequisites
    free = range(rules.n_acquisitions) if needs is None else np.flatnonzero(~needs.any(axis=1))
    cheapest = min(price(rules.tables, rules.blank_state(), 0, j) for j in free)
    if cheapest > rules.tables.budget_cost:
        raise ValueError(
            f"{option_text('budget_cost')} {rules.budget_cost:g} is below the cheapest acquisition ({cheapest:g}): "
            f"nothing could be acquired; increase it, or use {option_text('budget', 0)}"
        )


def ragged_to_flat(lists: Sequence[Sequence[int]] | Sequence[NDArray]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Concatenated lists, int32, and the index at which each starts, int32 (n_lists + 1,) with the total at the end."""
    first = np.zeros(len(lists) + 1, np.int32)
    first[1:] = np.cumsum([len(v) for v in lists])
    values = np.concatenate([np.asarray(v, dtype=np.int32) for v in lists]) if len(lists) else np.zeros(0)
    return values.astype(np.int32), first


@njit(cache=True, nogil=True, _nrt=False)
def _place_and_price(t, state, taken, spent, n_paid, prices):
    for e in range(len(taken)):
        set_acquired(t, state, e, taken[e], spent[e], n_paid[e])
        for j in range(t.costs.size):
            prices[e, j] = price(t, state, e, j)


@njit(cache=True, nogil=True, _nrt=False)
def _follow(t, state, X, order, taken, spent):
    """Compiled loop of ``Rules.follow``, which uses state 0 for all rows."""
    for i in range(len(X)):
        start(t, state, FIRST, X, i)
        for k in range(order.size):
            if state.legal[0, order[k]] == 1:
                acquire(t, state, FIRST, order[k])
                taken[i, k] = True
            spent[i, k + 1] = state.spent[0]


def regrets(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Costs of answers less those of the best one to each class, float64 (n_answers, n_classes).

    What every answer to a class costs alike decides nothing, such as a reward for the correct one.

    Examples
    --------
    >>> import numpy as np
    >>> regrets(np.array([[-50.0, 400.0], [100.0, 20.0]])).tolist()
    [[0.0, 380.0], [150.0, 0.0]]
    """
    return costs - costs.min(axis=0)


def unavoidable(costs: NDArray[np.float64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """What the best answer costs in rows of the classes ``y`` (n,), float64 (n,); ``costs`` are as for ``regrets``.

    Examples
    --------
    >>> import numpy as np
    >>> unavoidable(np.array([[-50.0, 400.0], [100.0, 20.0]]), np.array([0, 1, 1])).tolist()
    [-50.0, 20.0, 20.0]
    """
    return costs.min(axis=0)[y]


def cheapest_answers(
    shares: NDArray[np.floating], answer_costs: NDArray[np.float64], allowed: NDArray[np.bool_] | None = None
) -> NDArray[np.int64]:
    """The answer of least expected cost for class probabilities (n_samples, n_classes), int64 (n_samples,).

    ``answer_costs`` (n_answers, n_classes) are those of ``Rules``: error costs, and a row for the answer that refers.
    Ties go to the first answer, so to a class; what differs by less than rounding errors is a tie. ``allowed``
    (n_samples, n_answers) are the answers to choose from, all by default.

    References
    ----------
    C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001, eq. 1. C. K. Chow. On optimum recognition error
    and reject tradeoff. IEEE Transactions on Information Theory, 1970.

    Examples
    --------
    >>> cheapest_answers(np.array([[0.8, 0.2]]), np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([1])
    """
    expected = shares @ answer_costs.T
    if allowed is not None:
        expected = np.where(allowed, expected, np.inf)
    lowest = expected.min(axis=1, keepdims=True)
    return (expected <= lowest + TIE * np.abs(answer_costs).max()).argmax(axis=1)
