"""The comparison of methods on one data set: protocol, cells, summary, report."""

from fsgym.comparison.compare import compare
from fsgym.comparison.summary import Summary, summarise

__all__ = ["Summary", "compare", "summarise"]
