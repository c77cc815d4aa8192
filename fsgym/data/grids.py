"""Images divided into blocks: the block of each pixel, and which blocks are adjacent."""

from __future__ import annotations

from operator import index as as_index

import numpy as np
from numpy.typing import NDArray

from fsgym.text.messages import brief


def blocks(image_shape: tuple[int, int], block: tuple[int, int]) -> NDArray[np.int64]:
    """The number of each pixel's block, int64 (height * width,); blocks are numbered row by row.

    Raises ValueError where blocks do not tile the image, TypeError where ``block`` is not two whole numbers.

    >>> blocks((2, 4), (2, 2)).tolist()
    [0, 0, 1, 1, 0, 0, 1, 1]
    """
    height, width = image_shape
    try:
        tall, wide = (as_index(v) for v in block)
    except (TypeError, ValueError):
        raise TypeError(f"a block must be two whole numbers, height and width, got {brief(block)}") from None
    if tall < 1 or wide < 1 or height % tall or width % wide:
        raise ValueError(f"blocks of {tall} x {wide} pixels must tile the image of {height} x {width}")
    return (np.arange(height)[:, None] // tall * (width // wide) + np.arange(width)[None, :] // wide).ravel()


def contiguous(rows: int, columns: int) -> NDArray[np.bool_]:
    """Which cells of a grid share an edge, bool (rows * columns, rows * columns); cells are numbered row by row.

    >>> contiguous(1, 3).astype(int).tolist()
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    """
    row, column = np.divmod(np.arange(rows * columns), columns)
    distance = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    return distance == 1
