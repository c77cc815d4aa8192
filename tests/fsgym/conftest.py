"""In the tests of this folder each comparison fits its reference points in a moment."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_references_everywhere(quick_references):
    pass
