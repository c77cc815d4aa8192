"""The language in which a case is described, and the unit of its prices. ``languages/`` has a file of each language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from fsgym.text.messages import brief, one_line, option_text

LONGEST_CURRENCY = 12  # characters; by hand


class Speech(NamedTuple):
    """How a case is described."""

    language: str = "en"  # one of ``languages()``
    currency: str = ""  # the unit of the prices, such as "EUR"; "" shows plain numbers
    same_unit: bool = False  # whether costs of errors have this unit, too, as they have at ``lam=1``
    decimal: str = ""  # the decimal sign of prices and costs; "" is that of the language
    target: str = ""  # what the classes are classes of; "" where it is not known
    fine: bool = False  # whether low and high probabilities have one digit more


ENGLISH = Speech()
_spoken: ContextVar[Speech] = ContextVar("speech", default=ENGLISH)


def languages() -> list[str]:
    """The languages that there are files of."""
    names = (entry.name for entry in files("fsgym.text").joinpath("languages").iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def check_speech(language: Any, currency: Any, lam: float) -> Speech:
    """The speech of a page; ValueError for a language without a file, or a currency that is no short word."""
    if language not in languages():
        raise ValueError(f"{option_text('language')} must be one of {', '.join(languages())}, got {brief(language)}")
    if not isinstance(currency, str) or len(currency) > LONGEST_CURRENCY or not currency.isprintable():
        raise ValueError(
            f"{option_text('currency')} must be a word of at most {LONGEST_CURRENCY} characters, got {brief(currency)}"
        )
    return Speech(language, one_line(currency), lam == 1.0)


@contextmanager
def speaking(speech: Speech) -> Iterator[None]:
    """Describe cases in this way, in this thread or task."""
    token = _spoken.set(speech)
    try:
        yield
    finally:
        _spoken.reset(token)


def spoken() -> Speech:
    """How cases are described now."""
    return _spoken.get()


@cache
def sentences_of(language: str) -> Mapping[str, str]:
    """All sentences of a language by name, with the places of values in braces."""
    text = files("fsgym.text").joinpath("languages", f"{language}.json").read_text(encoding="utf-8")
    return json.loads(text)


def said(sentence: str, /, **values: Any) -> str:
    """A sentence with its values, in the language that is spoken.

    >>> said("answer_now", answer="yes")
    'The answer now would be yes.'
    >>> with speaking(Speech("de")):
    ...     said("answer_now", answer="yes")
    'Die Antwort wäre jetzt yes.'
    """
    text = sentences_of(_spoken.get().language)[sentence]
    return text.format(**values) if values else text


def with_unit(text: str, unit: str) -> str:
    """A value, as it is said, with its unit, if it has one.

    >>> with_unit("5", "mg/l"), with_unit("5", "")
    ('5 mg/l', '5')
    """
    return f"{text} {unit}" if unit else text


def number_text(value: float, form: str = ".4g") -> str:
    """A price, cost or share with the decimal sign of the language; values of columns are written as they are read.

    A number from 1e-9 to 1e15 has no exponent; all its digits before the decimal sign are written.

    >>> with speaking(Speech("de")):
    ...     number_text(2.5), number_text(12345), number_text(0.00002)
    ('2,5', '12345', '0,00002')
    """
    same = float(f"{value:.12g}")  # so that sums in another order, as on exported pages, are not said otherwise
    text = f"{same:{form}}"
    if "e" in text and 1e-9 <= abs(same) < 1e15:  # by hand
        text = f"{same:.0f}" if abs(same) >= 1 else f"{Decimal(text):f}"
    return text.replace(".", _spoken.get().decimal or said("decimal"))


def money_text(price: float, form: str = ".4g") -> str:
    """A price with its currency, if there is one.

    >>> with speaking(Speech(currency="EUR")):
    ...     money_text(2.5)
    '2.5 EUR'
    """
    currency = _spoken.get().currency
    return f"{number_text(price, form)} {currency}" if currency else number_text(price, form)


def cost_text(cost: float, form: str = ".3g") -> str:
    """A cost of errors and prices together, with the currency where it has that unit."""
    return money_text(cost, form) if _spoken.get().same_unit else number_text(cost, form)
