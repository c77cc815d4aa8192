"""The options of ``fsgym.Rules``, described once for estimators, ``compare`` and the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypedDict, TypeVar, get_type_hints

from fsgym.text.messages import suggests_parameters

Form = Literal["number", "count", "flag", "word", "text", "prices", "pairs", "needs", "errors", "groups"]
SCALARS: tuple[Form, ...] = ("number", "count", "flag", "word", "text")
REFER_LABEL = "a person"  # what the answer that refers a case is called by default
FIRST_SCALARS = ("lam", "relation", "empty_is_related", "budget", "budget_cost", "missing")  # 0.2.0 wrote all of them


class RuleOptionsButLam(TypedDict, total=False):
    """The options of ``Rules``, for functions that have a parameter ``lam`` of their own."""

    groups: Any
    costs: Any
    unrelated_costs: Any
    related: Any
    relation: Literal["any", "all"]
    empty_is_related: bool
    error_costs: Any
    refer_cost: float | None
    refer_label: str
    budget: int | None
    budget_cost: float | None
    prerequisites: Any
    missing: Literal["unavailable", "error"]


class RuleOptions(RuleOptionsButLam, total=False):
    """The options of ``Rules``, for functions that pass them on."""

    lam: float


class RuleOption(NamedTuple):
    """One option of ``Rules``."""

    name: str
    default: Any  # its default value
    # the kind of its value: a "number", a "count" (whole number), a "flag" (bool), a "word" (one of ``words``) or a
    # "text"; "prices" of the acquisitions (or one of ``words``); "pairs" of related acquisitions, or which acquisition
    # "needs" which (both are matrices (J, J) in ``Rules``); costs of "errors", a matrix (c, c); "groups" of features
    form: Form
    help: str  # a sentence for the command line
    words: tuple[str, ...] = ()  # the words that it may be


OPTIONS = (  # in the order of ``Rules``
    RuleOption("lam", 0.01, "number", "Exchange rate (lambda): the value of one unit of cost, in units of error cost."),
    RuleOption("groups", None, "groups", "Features that are acquired together."),
    RuleOption("costs", None, "prices", "Prices of the acquisitions; by name, one for each."),
    RuleOption(
        "unrelated_costs",
        None,
        "prices",
        "Prices of acquisitions that --related does not link to earlier ones; forbid makes such acquisitions illegal.",
        ("forbid",),
    ),
    RuleOption("related", None, "pairs", "Acquisitions that are declared related; requires --unrelated-costs."),
    RuleOption(
        "relation",
        "any",
        "word",
        "Whether an acquisition counts as related if it is related to any, or only if to all, of the earlier ones.",
        ("any", "all"),
    ),
    RuleOption("empty_is_related", True, "flag", "Whether the first acquisition counts as related."),
    RuleOption("error_costs", None, "errors", "Costs of each answer for each true class."),
    RuleOption(
        "refer_cost",
        None,
        "number",
        "Cost of referring a case to a person, in units of error cost; by default no case is referred. Comparisons "
        "refuse it.",
    ),
    RuleOption("refer_label", REFER_LABEL, "text", "What the answer is called that refers a case."),
    RuleOption("budget", None, "count", "Largest number of acquisitions for a row."),
    RuleOption("budget_cost", None, "number", "Largest total price for a row, in units of costs."),
    RuleOption("prerequisites", None, "needs", "For each acquisition, those that must be made before it."),
    RuleOption(
        "missing",
        "unavailable",
        "word",
        "Whether an empty cell means that the value is unavailable, or is an error.",
        ("unavailable", "error"),
    ),
)

Function = TypeVar("Function", bound=Callable[..., Any])


def unnamed_options(function: Callable[..., Any]) -> tuple[RuleOption, ...]:
    """The options that are not parameters of a function, so that its ``**options`` may hold them."""
    named = inspect.signature(function).parameters
    return tuple(option for option in OPTIONS if option.name not in named)


def set_rule_options(estimator: Any, options: RuleOptions) -> None:
    """Set the options of ``Rules`` as parameters of an estimator, with their defaults where not given."""
    for option in OPTIONS:
        setattr(estimator, option.name, options.get(option.name, option.default))


def takes_rule_options(function: Function) -> Function:
    """Decorator: ``**options`` of a function are the options of ``Rules`` that are not among its parameters.

    The signature shows them with their defaults; any other keyword raises TypeError with a suggestion.

    Examples
    --------
    >>> from typing import Unpack
    >>> from fsgym.rules.options import RuleOptions, takes_rule_options
    >>> @takes_rule_options
    ... def price_of(name, **options: Unpack[RuleOptions]):
    ...     return options.get("lam")
    >>> price_of("age", lam=0.1)
    0.1
    >>> price_of("age", lamb=0.1)
    Traceback (most recent call last):
    TypeError: price_of() got an unexpected keyword argument 'lamb'; did you mean 'lam'?
    """
    hints, signature = get_type_hints(RuleOptions), inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shared = [
        inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default, annotation=hints[o.name])
        for o in unnamed_options(function)
    ]
    function.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return suggests_parameters(function)
