"""The Markov decision process: compiled rules (``kernels``), their checked parameters (``Rules``)."""

from fsgym.rules.checks import RuleOptions
from fsgym.rules.kernels import MISSING, NO_BUDGET, OPEN, TAKEN, Costs, State, Tables
from fsgym.rules.rules import Rules

__all__ = ["MISSING", "NO_BUDGET", "OPEN", "TAKEN", "Costs", "RuleOptions", "Rules", "State", "Tables"]
