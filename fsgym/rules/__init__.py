"""The Markov decision process: compiled functions (``kernels``), options (``options``) and checked ``Rules``."""

from typing import TYPE_CHECKING

from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from fsgym.rules.kernels import MISSING, NO_BUDGET, OPEN, TAKEN, Costs, State, Tables
    from fsgym.rules.options import RuleOptions
    from fsgym.rules.rules import Rules

__all__ = ["MISSING", "NO_BUDGET", "OPEN", "TAKEN", "Costs", "RuleOptions", "Rules", "State", "Tables"]

__getattr__, __dir__ = imported_later(  # the options alone do not need Numba
    __name__,
    {
        "fsgym.rules.kernels": "MISSING NO_BUDGET OPEN TAKEN Costs State Tables",
        "fsgym.rules.options": "RuleOptions",
        "fsgym.rules.rules": "Rules",
    },
)
