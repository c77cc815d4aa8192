"""Warnings that point at the user's code."""

from __future__ import annotations

import sys
import warnings

PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the innermost line that is not in these packages: the call of the user.

    From Python 3.12 on, ``skip_file_prefixes`` of ``warnings.warn`` does the same.
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
