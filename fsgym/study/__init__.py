"""The comparison: what is run, how it is run, and what is told of it."""

from fsgym.study.compare import compare
from fsgym.study.summary import Summary, summarise

__all__ = ["Summary", "compare", "summarise"]
