"""Compare methods on one data set: the protocol, its cells (split, method, setting), their summary and the report."""

from fsgym.comparison.compare import compare
from fsgym.comparison.summary import Summary, summarise

__all__ = ["Summary", "compare", "summarise"]
