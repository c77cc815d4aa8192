"""Tables of numbers as bins of one byte: one bin per value in columns of few values, quantiles otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numba import njit
from numpy.typing import NDArray

from fsgym.support.kernels import INNER

COLUMNS_PER_WORD = 4  # of one byte each: a kernel reads the bins of four columns with one word
BYTE_VALUES = 256  # the largest number of bins
USUAL_SHARE = 0.75  # share of rows from which skipping a word pays, as a failed test costs more than a sum


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A table of bins.

    Notes
    -----
    Memory is one byte per value; while binning, each thread also holds four columns as float64.
    """

    # (n_blocks, n_samples), the bins of four adjacent columns, the first column in the lowest byte; bytes after the
    # last column are 0
    words: NDArray[np.uint32]
    # (4 n_blocks + 1,), the position of each column's first bin in a histogram of all columns
    first: NDArray[np.uint64]
    # (n_blocks,), the word that most rows have, which kernels skip; 2^32, which no word equals, if it is not frequent
    # enough
    usual: NDArray[np.uint64]
    # tuple of ndarray, float64, one per column, ascending; x is in bin k if k thresholds are below it, so that ``x <=
    # thresholds[k]`` means ``bin <= k``
    thresholds: tuple[NDArray[np.float64], ...]

    @property
    def n_samples(self) -> int:
        return self.words.shape[1]

    @property
    def n_features(self) -> int:
        return len(self.thresholds)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The bins as uint8 (n_blocks, n_samples, 4), a view of ``words``: column j is ``codes[j // 4, :, j % 4]``."""
        return self.words.view(np.uint8).reshape(*self.words.shape, COLUMNS_PER_WORD)

    def encode(self, X: Any, n_jobs: int = 1, rows: NDArray[np.int64] | None = None) -> BinnedTable:
        """Other data ``X`` (n, n_features), or only its ``rows``, in the same bins."""
        X = X.tocsc() if sp.issparse(X) else X
        words = _empty_words(X, rows)

        def encode_block(b: int) -> None:
            _encode_columns(_dense_columns(X, b, rows), self.thresholds[COLUMNS_PER_WORD * b :], words[b])

        _run_blocks(encode_block, len(words), n_jobs)
        return BinnedTable(words, self.first, self.usual, self.thresholds)


def bin_table(X: Any, max_bin: int = 255, n_jobs: int = 1, rows: NDArray[np.int64] | None = None) -> BinnedTable:
    """The binned table of ``X`` (n_samples, n_features), an array or SciPy sparse matrix of finite numbers.

    With ``rows``, only these rows. A column of at most ``max_bin`` (2 to 256) distinct values gets a bin for each; any
    other gets ``max_bin`` bins of about equally many rows, where a value that would fill more than one bin has a bin
    of its own. Thresholds are halfway between values. All rows are used, so that nothing is random. ``n_jobs`` is the
    number of threads; the result does not depend on it.

    >>> import numpy as np
    >>> table = bin_table(np.array([[3.0, 1.0], [5.0, 1.0], [3.0, 2.0]]))
    >>> [t.tolist() for t in table.thresholds], table.codes[0, :, 0].tolist()
    ([[4.0], [1.5]], [0, 1, 0])
    """
    X = X.tocsc() if sp.issparse(X) else X
    rows = None if rows is not None and np.array_equal(rows, np.arange(X.shape[0])) else rows  # avoids a copy
    words = _empty_words(X, rows)
    thresholds: list[Any] = [None] * X.shape[1]
    usual = np.empty(len(words), dtype=np.uint64)

    def bin_block(b: int) -> None:
        columns = _dense_columns(X, b, rows)
        start = COLUMNS_PER_WORD * b
        thresholds[start : start + len(columns)] = [_thresholds(column, max_bin) for column in columns]
        _encode_columns(columns, thresholds[start:], words[b])
        usual[b] = _usual_word(words[b])

    _run_blocks(bin_block, len(words), n_jobs)
    sizes = np.ones(COLUMNS_PER_WORD * len(words), dtype=np.int64)
    sizes[: len(thresholds)] += [len(t) for t in thresholds]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    return BinnedTable(words, first, usual, tuple(thresholds))


def _empty_words(X: Any, rows: Any) -> NDArray[np.uint32]:
    return np.zeros((-(-X.shape[1] // COLUMNS_PER_WORD), X.shape[0] if rows is None else len(rows)), dtype=np.uint32)


def _run_blocks(work: Any, n_blocks: int, n_jobs: int) -> None:
    Parallel(n_jobs=n_jobs, backend="threading")(delayed(work)(b) for b in range(n_blocks))


def _dense_columns(X: Any, block: int, rows: Any) -> NDArray[np.float64]:
    """The columns of a block as dense rows, float64 (up to 4, n_samples)."""
    part = X[:, COLUMNS_PER_WORD * block : COLUMNS_PER_WORD * (block + 1)]
    part = part.toarray() if sp.issparse(part) else part
    return np.array((part if rows is None else part[rows]).T, dtype=np.float64, order="C")


def _usual_word(words: NDArray[np.uint32]) -> int:
    """The word of each column's most frequent bin, if at least three in four rows have it, else 2^32."""
    lanes = words.view(np.uint8).reshape(-1, COLUMNS_PER_WORD).T
    word = int(np.array([np.bincount(lane).argmax() for lane in lanes], dtype=np.uint8).view(np.uint32)[0])
    return word if np.count_nonzero(words == word) >= USUAL_SHARE * len(words) else 2**32


def _thresholds(column: NDArray[np.float64], max_bin: int) -> NDArray[np.float64]:
    buffer = np.empty(max_bin)
    return buffer[: _write_thresholds(np.sort(column), max_bin, buffer)].copy()


def _encode_columns(columns: NDArray[np.float64], thresholds: Any, words: NDArray[np.uint32]) -> None:
    codes = words.view(np.uint8).reshape(-1, COLUMNS_PER_WORD)
    for lane, (column, known) in enumerate(zip(columns, thresholds)):
        _assign_bins(column, np.append(known, np.full(BYTE_VALUES - len(known), np.inf)), len(known), codes, lane)


@njit(cache=True, nogil=True, _nrt=False)
def _write_thresholds(ordered, max_bin, thresholds):
    """Write the thresholds of ascending values; return their number.

    A value with enough rows for a bin has a bin of its own; the other bins share the remaining rows equally.
    """
    n, distinct, bins, rows, start = len(ordered), 0, max_bin, len(ordered), 0
    for i in range(1, n + 1):
        if i == n or ordered[i] > ordered[i - 1]:
            distinct += 1
            if (i - start) * max_bin >= n:
                bins, rows = bins - 1, rows - (i - start)
            start = i
    n_thresholds, start, frequent = 0, 0, _fills_a_bin(ordered, 0, max_bin)
    for i in range(1, n):
        low, high = ordered[i - 1], ordered[i]
        if high > low:
            ends, frequent = frequent, _fills_a_bin(ordered, i, max_bin)
            shared = not ends and ((frequent and bins > 0) or (i - start) * bins >= rows)
            if n_thresholds < max_bin - 1 and (distinct <= max_bin or ends or shared):
                if shared:
                    bins, rows = bins - 1, rows - (i - start)
                middle = 0.5 * low + 0.5 * high
                thresholds[n_thresholds] = middle if low <= middle < high else low
                n_thresholds, start = n_thresholds + 1, i
    return n_thresholds


@njit(cache=True, nogil=True, _nrt=False, **INNER)
def _fills_a_bin(ordered, i, max_bin):
    """Whether the value that starts at position i has enough rows for a bin of its own."""
    last = i + (len(ordered) + max_bin - 1) // max_bin - 1
    return last < len(ordered) and ordered[last] == ordered[i]


@njit(cache=True, nogil=True, _nrt=False)
def _assign_bins(column, thresholds, n_thresholds, codes, lane):
    """Write each value's number of smaller thresholds, by branchless bisection; ``thresholds`` ends with infinities."""
    top = 1
    while top <= n_thresholds:
        top *= 2
    for i in range(len(column)):
        x, below, step = column[i], 0, top
        while step > 1:
            step //= 2
            below += step if thresholds[below + step - 1] < x else 0
        codes[i, lane] = below
