"""Checks that mistakes are refused in one sentence."""

from __future__ import annotations

import re

import pytest

from fsgym import load_dataset


def one_sentence(error: BaseException) -> bool:
    text = str(error)
    return bool(text) and "\n" not in text and re.search(r"[.!?] [A-Z]", text) is None


def refused(kind, match, *arguments, call=load_dataset, **options):
    """Assert that the call fails with one sentence that matches."""
    with pytest.raises(kind, match=match) as caught:
        call(*arguments, **options)
    assert one_sentence(caught.value), caught.value
