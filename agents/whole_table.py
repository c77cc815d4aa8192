"""All rows of a table of which a sample decides, with values that are read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatRows = NDArray[np.float32]


class WholeTable(NamedTuple):
    """All rows of a table.

    Attributes
    ----------
    blocks : iterable of float32 (n_rows, n_features), the values in the order of the rows, which can be read again
    y : int64 (n_samples,)
    weight : float64 (n_samples,) with mean 1, or None for equal weights
    """

    blocks: Iterable[FloatRows]
    y: NDArray[np.int64]
    weight: NDArray[np.float64] | None

    def changed(self, change: Callable[[FloatRows], FloatRows]) -> WholeTable:
        """The table with other features, which ``change`` makes of the values of each block."""
        return self._replace(blocks=ChangedBlocks(self.blocks, change))


class ChangedBlocks(Iterable[FloatRows]):
    """Blocks of rows, of each of which ``change`` makes the values as it is read."""

    def __init__(self, blocks: Iterable[Any], change: Callable[[Any], FloatRows]) -> None:
        self.blocks, self.change = blocks, change

    def __iter__(self) -> Iterator[FloatRows]:
        return map(self.change, self.blocks)
