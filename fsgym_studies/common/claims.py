"""How a study declares its claims, and the one place where they are assessed on its results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

RESULT_WORDS = {True: "reproduced", False: "not reproduced", None: "not run"}  # of a paper's claim
OWN_RESULT_WORDS = {True: "confirmed", False: "not confirmed", None: "not run"}  # of a check of ours
NOT_KNOWN = "not known"
CAUSES = ("paper", "data", "protocol", "ours", NOT_KNOWN)  # of a claim that is not reproduced
ROUNDING = 1e-9  # allowance for rounding in a deviation from a printed number
DASH = "–"  # stands where there is no number
CauseText = Callable[[Mapping[str, Any]], str]  # a cause from the figures of the study


@dataclass(frozen=True)
class Near:
    """The criterion of a claim that prints a number: ours deviates from it by at most a tolerance, on either side.

    Attributes
    ----------
    printed, tolerance : float
    number : callable, our number from the figure of the claim; by default the figure itself

    >>> Near(0.9, 0.02)(0.91), Near(0.9, 0.02)(0.93), Near(0.9, 0.02)(0.87)
    (True, False, False)
    """

    printed: float
    tolerance: float
    number: Callable[..., float] = float

    def __call__(self, *figure: Any) -> bool:
        return self.holds(self.number(*figure))

    def holds(self, number: float) -> bool:
        """Whether a number is near enough to the printed one."""
        return abs(number - self.printed) <= self.tolerance + ROUNDING


@dataclass(frozen=True)
class AssessedClaim:
    """A claim with the number of our runs, and whether we reproduced it."""

    text: str  # as in ``Claim``
    paper: str  # as in ``Claim``
    ours: str  # the number in our runs
    reproduced: bool | None  # whether our runs meet the criterion; None where cells that it needs are missing
    cause: str = ""  # as in ``Claim``
    sentence: str = ""  # as in ``Claim``

    @property
    def result(self) -> str:
        return (RESULT_WORDS if self.paper else OWN_RESULT_WORDS)[self.reproduced]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, or a check of ours: what is measured for it, and when it counts as reproduced.

    Attributes
    ----------
    text : str, the statement and, in parentheses, the criterion
    paper : str, the number in the paper; "" for a check of ours
    measure : str or callable, the figure of our runs: its name among the figures of the study, or a function of them;
        there is no figure, or it is None or NaN, where cells are missing
    criterion : callable, from the figure to a bool; None where the figure lacks some of its cells; ``Near`` where the
        claim prints a number. One that compares methods tests whether their difference is noise
    format : str or callable, the figure as text: a format string such as ``"{:.2f}"``, or a function of the figure; by
        default ``figure_text``
    cause : str or callable, why it is not reproduced: one of ``CAUSES``, a colon, and the experiment that shows it,
        or what was not tried where it is not known; a function of the figures of the study where it states one of
        them. A check of ours has none of ``CAUSES``, since there is nothing to reproduce
    sentence : str, the sentence or table of the paper of which the claim is one of several parts; "" where the claim is
        a whole one

    Raises ValueError if the cause of a paper's claim is not one of ``CAUSES``.

    Notes
    -----
    A figure that is a plain tuple is passed to ``criterion`` and ``format`` as several arguments.
    """

    text: str
    paper: str
    measure: str | Callable[[Mapping[str, Any]], Any]
    criterion: Callable[..., Any]
    format: str | Callable[..., str] | None = None
    cause: str | CauseText = ""
    sentence: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.cause, str):
            self.check_cause(self.cause)

    def check_cause(self, cause: str) -> str:
        """The cause itself; raises ValueError if that of a paper's claim does not begin with one of ``CAUSES``."""
        if cause and self.paper and cause.partition(": ")[0] not in CAUSES:
            raise ValueError(f"a cause must begin with one of {', '.join(CAUSES)} and a colon, got {cause!r}")
        return cause

    def figure(self, figures: Mapping[str, Any]) -> Any:
        """The figure of the claim, or None where cells are missing."""
        figure = figures.get(self.measure) if isinstance(self.measure, str) else self.measure(figures)
        return None if isinstance(figure, float) and figure != figure else figure

    def assess(self, figure: Any, figures: Mapping[str, Any]) -> AssessedClaim:
        """The claim assessed on its figure, with its cause from the figures of the study."""
        if figure is None:
            return AssessedClaim(self.text, self.paper, DASH, None, sentence=self.sentence)
        values = figure if type(figure) is tuple else (figure,)
        met = self.criterion(*values)
        as_text = self.format.format if isinstance(self.format, str) else self.format or figure_text
        reproduced = None if met is None else bool(met)
        cause = "" if reproduced is not False else self.cause
        stated = cause if isinstance(cause, str) else self.check_cause(cause(figures))
        return AssessedClaim(self.text, self.paper, as_text(*values), reproduced, stated, self.sentence)


def not_run(text: str, paper: str) -> Claim:
    """A sentence of a paper for which nothing was measured."""
    return Claim(text, paper, lambda figures: None, lambda figure: None)


def figure_text(figure: Any) -> str:
    """A figure as text: its attribute ``text`` if it has one, numbers by name with three decimals, or its ``str``.

    >>> figure_text({"CART": 0.91, "DWSM": 0.9})
    'CART 0.910, DWSM 0.900'
    """
    if isinstance(figure, Mapping | pd.Series):
        return ", ".join(f"{name} {value:.3f}" for name, value in figure.items())
    return str(getattr(figure, "text", figure))


def assess(claims: Iterable[Claim], figures: Mapping[str, Any], *, list_all: bool = True) -> list[AssessedClaim]:
    """Assess claims on the figures of a study, which are named or computed by their measures.

    Claims without a figure are listed as not run, or left out if not ``list_all``.

    >>> above = Claim("At least .9", ".95", "accuracy", lambda accuracy: accuracy >= 0.9, "{:.2f}")
    >>> [(claim.ours, claim.result) for claim in assess([above], {"accuracy": 0.92})]
    [('0.92', 'reproduced')]
    >>> [(claim.ours, claim.result) for claim in assess([above], {})]
    [('–', 'not run')]
    """
    measured = [(claim, claim.figure(figures)) for claim in claims]
    return [claim.assess(figure, figures) for claim, figure in measured if list_all or figure is not None]
