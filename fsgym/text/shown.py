"""How texts of users are shown: without characters that a terminal or a page would obey, and not longer than fits."""

from __future__ import annotations

import json
import unicodedata

HARMLESS = "\n\t\u200c\u200d"  # also the joiners between the letters of Persian, Indic scripts and emoji


def visible(text: str) -> str:
    r"""The text with the characters that control a terminal or the direction of writing as escapes.

    Spaces and line breaks stay as they are.

    >>> print(visible("c\x1b[31mp"), visible("\u202egnp"), visible("naïve 🙂"))
    c\x1b[31mp \u202egnp naïve 🙂
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else ascii(c)[1:-1] for c in text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in HARMLESS or unicodedata.category(character) == "Zs"


def visible_json(text: str) -> str:
    r"""A JSON text with the same characters as JSON's own escapes.

    >>> print(visible_json('{"\u202egnp": "\x9b31m"}'))
    {"\u202egnp": "\u009b31m"}
    """
    if text.isprintable():
        return text
    return "".join(c if _is_harmless(c) else json.dumps(c)[1:-1] for c in text)


def in_script(text: str) -> str:
    r"""A JSON text that can stand in a ``script`` element: it ends none, and begins no comment in it.

    >>> print(in_script('{"a": "</script>"}'))
    {"a": "\u003c/script\u003e"}
    """
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shortened(text: str, longest: int) -> str:
    """The text, with its middle left out if it is longer than ``longest`` characters.

    >>> shortened("a" * 50 + "b" * 50, 11)
    'aaaa...bbbb'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 3) // 2
    return f"{text[: longest - 3 - tail]}...{text[len(text) - tail :]}"
