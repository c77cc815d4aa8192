"""Values that a person gives, checked against a column and encoded as its features."""

from __future__ import annotations

from math import sqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from fsgym.data.cells import BOOL_TEXTS, find_level, level_places, level_text
from fsgym.data.columns import Column
from fsgym.data.training_summary import FACTORS
from fsgym.data.written import Writing, written_number
from fsgym.text.messages import brief, listing
from fsgym.text.speech import said, with_unit


class Refusal(ValueError):
    """What was said in a session is refused.

    Attributes
    ----------
    sentence : str
    acceptable : bool
        Whether a value may be accepted although it is not as in training; the sentence ends with that, then.
    advice : str, what else a program can do, "" for nothing
    """

    def __init__(self, sentence: str, acceptable: bool = False, advice: str = "") -> None:
        super().__init__(sentence, acceptable, advice)
        self.sentence, self.acceptable, self.advice = sentence, acceptable, advice

    def __str__(self) -> str:
        return self.text("(accept=True)", self.advice)

    def text(self, accept: str = "", advice: str = "") -> str:
        """The sentence, where a value may be accepted with the way to do so, and advice."""
        accepted = f"{self.sentence} {accept}" if self.acceptable and accept else self.sentence
        return f"{accepted}; {advice}" if advice else accepted


# What a person types as the value of a column.

MOST_FACTORS = 2  # that are said: where more fit, none is likely

YES_NO = {"yes": True, "y": True, "no": False, "n": False}


def value_of_text(column: Column, text: str) -> Any:
    """The number, bool or level that a text means; a text that is no number is returned as it is.

    Raises Refusal where a bool is wanted, and the text is neither yes nor no.

    >>> value_of_text(Column("age"), "63"), value_of_text(Column("ill", "bool"), "Yes")
    (63, True)
    """
    if column.kind == "number":
        return _typed_number(column, text)
    return _yes_or_no(column, text) if column.kind == "bool" else text


def _typed_number(column: Column, text: str) -> float | str:
    """The number that a text means as numbers are written in the table of the model.

    >>> _typed_number(Column("crp", decimal=","), "3,5"), _typed_number(Column("crp", unit="%"), "94 %")
    (3.5, 94)
    """
    if column.writing != Writing() or (column.unit and column.unit in text):
        found = written_number(text, column.writing)
        plain = None if found is None or found.mark not in ("", column.unit) else found.counted(column.censored)
        return text if plain is None else number_or_text(plain)
    return number_or_text(text)


def typing_text(column: Column, typed: str = "") -> str:
    """What may be typed for a column: ``allowed_text``, and how numbers are written where that is not with a point.

    Where ``typed`` has a comma, also that it is with a point.

    >>> typing_text(Column("crp", unit="mg/l", low=0.3, high=412.0, decimal=","))
    'a number from 0,3 to 412 mg/l, with a decimal comma'
    """
    allowed = allowed_text(column)
    if column.kind != "number" or (column.decimal == "." and not column.thousands and "," not in typed):
        return allowed
    spaces, sign = column.thousands == " ", column.thousands
    separated = said("thousands_spaces") if spaces else said("thousands_sign", thousands=sign) if sign else ""
    return said("typing_comma" if column.decimal == "," else "typing_point", allowed=allowed, separated=separated)


def number_or_text(text: str) -> float | str:
    """The number that a text in ASCII means, else the text: "1_000" and "1,5" are no numbers."""
    try:
        whole = text.removeprefix("-").isdecimal()
        return text if "_" in text or not text.isascii() else int(text) if whole else float(text)
    except ValueError:
        return text


def _yes_or_no(column: Column, text: str) -> bool:
    word = text.lower()
    if word not in YES_NO and word not in BOOL_TEXTS:
        raise Refusal(_refused(column, said("allowed_yes_no"), brief(text)))
    return YES_NO[word] if word in YES_NO else bool(BOOL_TEXTS[word])


class CheckedValue(NamedTuple):
    """A value as features."""

    features: tuple[float, ...]  # those of the column; NaN for a level that the column does not have
    remark: str  # what was accepted although it is not as in training; "" if nothing


def check_value(column: Column, value: Any, accept: bool = False) -> CheckedValue:
    """The features of a value of a column.

    Parameters
    ----------
    column : Column
    value : number, text or bool
    accept : bool, default False
        Whether to accept a number outside the range in training, and a level that was not in training, which then
        counts as unknown.

    Raises
    ------
    Refusal
        If the value is not one of this column; the sentence has what is allowed.

    Examples
    --------
    >>> check_value(Column("age", low=18, high=94), 63).features
    (63.0,)
    >>> check_value(Column("ward", "category", ("er", "gp", "icu")), "icu").features
    (0.0, 0.0, 1.0)
    """
    if column.kind == "number":
        return _number_value(column, value, accept)
    if column.kind == "bool":
        flag = BOOL_TEXTS.get(level_text(value).strip().lower()) if isinstance(value, str | Real | np.bool_) else None
        if flag is None:
            raise Refusal(_refused(column, allowed_text(column), brief(value)))
        return CheckedValue((flag,), "")
    return _level_value(column, value, accept)


def as_written(column: Column, value: Any) -> str:
    """A number with the decimal sign of its column, other values as they are.

    >>> as_written(Column("crp", decimal=","), 12.5)
    '12,5'
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return str(value).replace(".", column.decimal) if is_number else str(value)


def number_in(column: Column, number: float) -> str:
    """A number of a column in at most 12 digits, with the decimal sign with which it is typed.

    >>> number_in(Column("crp", decimal=","), 12.925)
    '12,925'
    """
    return f"{number:.12g}".replace(".", column.decimal)


def allowed_text(column: Column) -> str:
    """What the value of a column may be, in words; its bounds have the decimal sign of the column.

    >>> allowed_text(Column("crp", unit="mg/l", low=0.3, high=412.0)), allowed_text(Column("ill", "bool"))
    ('a number from 0.3 to 412 mg/l', 'True or False')
    """
    if column.kind == "bool":
        return said("allowed_true_false")
    if column.kind != "number":
        return said("allowed_levels", levels=listing(column.levels)) if column.levels else said("allowed_level")
    if column.low is None or column.high is None:
        return said("allowed_number_in", unit=column.unit) if column.unit else said("allowed_number")
    low, high = _bounds(column)
    return said("allowed_range", low=low, high=with_unit(high, column.unit))


def _bounds(column: Column) -> list[str]:
    """The range in training as text."""
    assert column.low is not None
    assert column.high is not None
    return [number_in(column, bound) for bound in (column.low, column.high)]


def _refused(column: Column, allowed: str, got: str) -> str:
    return said("value_refused", name=repr(column.name), allowed=allowed, got=got)


def _number_value(column: Column, value: Any, accept: bool) -> CheckedValue:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        allowed = typing_text(column, value) if isinstance(value, str) else allowed_text(column)
        raise Refusal(_refused(column, allowed, brief(value)))
    try:
        feature = float(value) - column.offset
    except OverflowError:  # a whole number that float64 does not hold
        refused = _refused(column, allowed_text(column), brief(value))
        raise Refusal(said("value_too_large", refused=refused)) from None
    with np.errstate(over="ignore"):
        if not np.isfinite(np.float32(feature)):
            raise Refusal(
                said("value_nan", refused=_refused(column, allowed_text(column), str(value)))
                if feature != feature
                else said("value_float32", name=repr(column.name), got=as_written(column, value))
            )
    if column.low is None or column.high is None or _within(np.float32(feature), column):
        return CheckedValue((feature,), "")
    hint = _factor_hint(float(value), column)
    if not accept:
        got = as_written(column, value) + hint
        refused = said("value_range", name=repr(column.name), allowed=allowed_text(column), got=got)
        raise Refusal(refused, acceptable=True)
    return CheckedValue((feature,), said("remark_range", low=_bounds(column)[0], high=_bounds(column)[1]) + hint)


def _factor_hint(value: float, column: Column) -> str:
    """By which factor between two units a value outside the range would be in it; "" if by none, or by many.

    A value that half of the factor, its square root, would bring there is near the range, and no mistake of units.
    """
    fits = [
        (said(sentence, factor=f"{f:.0f}"), _fits(half, column))
        for f in FACTORS
        for sentence, v, half in (
            ("factor_times", value * f, value * sqrt(f)),
            ("factor_divided", value / f, value / sqrt(f)),
        )
        if _fits(v, column)
    ]
    named = [text for text, is_near in fits if not is_near]
    return said("factor_hint", factors=said("factor_or").join(named)) if named and len(fits) <= MOST_FACTORS else ""


def _fits(value: float, column: Column) -> bool:
    with np.errstate(over="ignore"):
        return value != 0 and _within(np.float32(value - column.offset), column)


def _within(feature: np.float32, column: Column) -> bool:
    """Whether a feature is in the range of its column, up to one step of float32, in which the range was measured."""
    low, high = (np.float32((bound or 0.0) - column.offset) for bound in (column.low, column.high))
    return bool(np.nextafter(low, np.float32(-np.inf)) <= feature <= np.nextafter(high, np.float32(np.inf)))


def _level_value(column: Column, value: Any, accept: bool) -> CheckedValue:
    named = isinstance(value, str | Real | np.bool_) and value == value and value not in (np.inf, -np.inf)
    text = level_text(value) if named else None
    n_features = len(column.feature_names)
    place = None if text is None else find_level(text, level_places(column.levels))
    if place is None:
        if text is None or not accept:
            refused = _refused(column, allowed_text(column), brief(value))
            if text is None:
                raise Refusal(refused)
            raise Refusal(said("value_level", refused=refused), acceptable=True)
        return CheckedValue((np.nan,) * n_features, said("remark_level"))
    if column.kind == "codes" or len(column.levels) == 2:
        return CheckedValue((float(place),), "")
    return CheckedValue(tuple(float(place == k) for k in column.indicated), "")
