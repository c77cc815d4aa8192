"""In the tests of this folder each comparison fits its reference points in a moment."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick_references():
    """Everything acquired: a forest of fewer trees, and two penalties to choose from, for half of a comparison's time.

    As many trees as leave no row without an out-of-bag answer. How it is tuned: tests/baselines/test_reference.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("baselines.reference.N_TREES", 30)
        patch.setattr("baselines.reference.PENALTIES", (0.03, 3.0))
        yield
