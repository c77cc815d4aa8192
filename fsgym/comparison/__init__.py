"""Compare methods on data sets: the protocol, its cells (split, method, setting), their summary and the report."""

from fsgym.comparison.compare import compare, compare_datasets
from fsgym.comparison.pipelines import as_method
from fsgym.comparison.summary import Summary, summarise

__all__ = ["Summary", "as_method", "compare", "compare_datasets", "summarise"]
