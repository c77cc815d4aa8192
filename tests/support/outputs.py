"""Compare what code prints with what a page shows for it."""

from __future__ import annotations

import re

import numpy as np

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def assert_alike(printed: str, shown: str, relative: float) -> None:
    """The same words, and the same numbers but for what another kind of CPU changes."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", shown).split()
    found, expected = (np.array(NUMBER.findall(text), float) for text in (printed, shown))
    np.testing.assert_allclose(found, expected, rtol=relative, atol=0.02)
