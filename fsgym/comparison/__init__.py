"""Compare methods on data sets: the protocol, its cells (split, method, setting), their summary and the report."""

from typing import TYPE_CHECKING

from fsgym.comparison.compare import compare, compare_datasets
from fsgym.comparison.summary import Summary, summarise
from fsgym.support.lazy import imported_later

if TYPE_CHECKING:
    from fsgym.comparison.pipelines import as_method

__all__ = ["Summary", "as_method", "compare", "compare_datasets", "summarise"]

__getattr__, __dir__ = imported_later(__name__, {"fsgym.comparison.pipelines": "as_method"})
