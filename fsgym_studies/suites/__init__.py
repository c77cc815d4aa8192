"""The suites that ``fsgym benchmark`` runs by name: fixed data, splits and prices on which any method can be placed.

Every suite has a folder with ``suite.py``, which declares it (``Suite``), and ``published.csv`` if there are published
figures for it. ``suite.py`` beside the folders has the declarations, ``methods.py`` the methods that take part,
``cell.py`` computes a cell (one method on one split, at all prices, and beyond its stop within budgets),
``oracle.py`` computes the cell of the acquisition conditioned oracle, ``scores.py`` says what each score means, and
``leaderboard.py`` makes the tables.

To add a suite, add a folder and an entry in ``SUITES``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsgym_studies import find_declared

if TYPE_CHECKING:
    from fsgym_studies.suites.suite import Suite

SUITES: dict[str, str] = {
    "syn": "fsgym_studies.suites.syn.suite:SYN_SUITE",
    "cube": "fsgym_studies.suites.cube.suite:CUBE_SUITE",
    "cube-nuc": "fsgym_studies.suites.cube.suite:CUBE_NUC_SUITE",
    "cube-nm": "fsgym_studies.suites.cube.suite:CUBE_NM_SUITE",
    "spam": "fsgym_studies.suites.spam.suite:SPAM_SUITE",
    "mnist": "fsgym_studies.suites.mnist.suite:MNIST_SUITE",
    "turney": "fsgym_studies.suites.turney.suite:TURNEY_SUITE",
    "small": "fsgym_studies.suites.small.suite:SMALL_SUITE",
}


def find_suite(name: str) -> Suite:
    """Return the suite of that name; raise ValueError with a suggestion if there is none."""
    return find_declared("suite", name, SUITES)
