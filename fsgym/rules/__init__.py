"""The Markov decision process: compiled functions (``kernels``), options (``options``) and checked ``Rules``."""

from fsgym.rules.kernels import MISSING, NO_BUDGET, OPEN, TAKEN, Costs, State, Tables
from fsgym.rules.options import RuleOptions
from fsgym.rules.rules import Rules

__all__ = ["MISSING", "NO_BUDGET", "OPEN", "TAKEN", "Costs", "RuleOptions", "Rules", "State", "Tables"]
