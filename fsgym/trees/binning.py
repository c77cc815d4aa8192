"""Tables of numbers as bins of one byte: exact where a column has few values, quantiles where it has many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numba import njit
from numpy.typing import NDArray

LANES = 4  # columns in a word: one gather serves four histograms
MOST = 256  # bins that a byte can tell apart
MOSTLY = 0.75  # share of rows from which a word is worth skipping: a test that fails costs more than a sum


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """A table whose values are bins.

    Attributes
    ----------
    words : ndarray of shape (n_blocks, n_samples), uint32
        The bins of four neighbouring columns in a word, the first column in the lowest byte; missing columns are 0.
    first : ndarray of shape (4 n_blocks + 1,), uint64
        Where the bins of each column begin in a histogram of all columns.
    usual : ndarray of shape (n_blocks,), uint64
        The word that most rows have, which kernels skip; 2^32, which is no word, where it is not that of most.
    thresholds : tuple of ndarray, float64, one a column
        Ascending; x is in bin k where k thresholds are below it, so that ``x <= thresholds[k]`` is ``bin <= k``.

    Notes
    -----
    It takes a byte a value. While it is made, four columns at a time are float64 in each thread.
    """

    words: NDArray[np.uint32]
    first: NDArray[np.uint64]
    usual: NDArray[np.uint64]
    thresholds: tuple[NDArray[np.float64], ...]

    @property
    def n_samples(self) -> int:
        return self.words.shape[1]

    @property
    def n_features(self) -> int:
        return len(self.thresholds)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The same bytes as uint8 of shape (n_blocks, n_samples, 4)."""
        return self.words.view(np.uint8).reshape(*self.words.shape, LANES)

    def column(self, feature: int) -> NDArray[np.uint8]:
        """The bins of one column, uint8 (n_samples,)."""
        return self.codes[feature // LANES, :, feature % LANES]

    def encode(self, X: Any, n_jobs: int = 1, rows: NDArray[np.int64] | None = None) -> BinnedTable:
        """Other rows ``X`` (n, n_features), or those of its ``rows``, in the same bins."""
        X = X.tocsc() if sp.issparse(X) else X
        words = _words(X, rows)
        _each_block(lambda b: _encode(_columns(X, b, rows), self.thresholds[LANES * b :], words[b]), len(words), n_jobs)
        return BinnedTable(words, self.first, self.usual, self.thresholds)


def bin_table(X: Any, max_bin: int = 255, n_jobs: int = 1, rows: NDArray[np.int64] | None = None) -> BinnedTable:
    """The bins of ``X`` (n_samples, n_features): finite numbers, an array or a SciPy sparse matrix; or of its ``rows``.

    A column of at most ``max_bin`` (2 to 256) values has a bin for each; a larger one has ``max_bin`` bins of about as
    many rows each, a value that fills more than one bin standing alone. Thresholds are halfway between values.
    All rows are looked at, so that nothing is random. ``n_jobs`` threads; the result does not depend on it.

    >>> import numpy as np
    >>> table = bin_table(np.array([[3.0, 1.0], [5.0, 1.0], [3.0, 2.0]]))
    >>> [t.tolist() for t in table.thresholds], table.column(0).tolist()
    ([[4.0], [1.5]], [0, 1, 0])
    """
    X = X.tocsc() if sp.issparse(X) else X
    rows = None if rows is not None and np.array_equal(rows, np.arange(X.shape[0])) else rows  # spares a copy
    words = _words(X, rows)
    found: list[Any] = [None] * X.shape[1]
    usual = np.empty(len(words), dtype=np.uint64)

    def one(b: int) -> None:
        columns = _columns(X, b, rows)
        found[LANES * b : LANES * b + len(columns)] = [_thresholds(column, max_bin) for column in columns]
        _encode(columns, found[LANES * b :], words[b])
        usual[b] = _usual(words[b])

    _each_block(one, len(words), n_jobs)
    sizes = np.ones(LANES * len(words), dtype=np.int64)
    sizes[: len(found)] += [len(t) for t in found]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
    return BinnedTable(words, first, usual, tuple(found))


def _words(X: Any, rows: Any) -> NDArray[np.uint32]:
    return np.zeros((-(-X.shape[1] // LANES), X.shape[0] if rows is None else len(rows)), dtype=np.uint32)


def _each_block(work: Any, n_blocks: int, n_jobs: int) -> None:
    Parallel(n_jobs=n_jobs, backend="threading")(delayed(work)(b) for b in range(n_blocks))


def _columns(X: Any, block: int, rows: Any) -> NDArray[np.float64]:
    """Up to four columns as rows, float64, dense."""
    part = X[:, LANES * block : LANES * (block + 1)]
    part = part.toarray() if sp.issparse(part) else part
    return np.array((part if rows is None else part[rows]).T, dtype=np.float64, order="C")


def _usual(words: NDArray[np.uint32]) -> int:
    """The word of the most frequent bins, where at least three rows of four have it; 2^32 elsewhere."""
    lanes = words.view(np.uint8).reshape(-1, LANES).T
    word = int(np.array([np.bincount(lane).argmax() for lane in lanes], dtype=np.uint8).view(np.uint32)[0])
    return word if np.count_nonzero(words == word) >= MOSTLY * len(words) else 2**32


def _thresholds(column: NDArray[np.float64], max_bin: int) -> NDArray[np.float64]:
    found = np.empty(max_bin)
    return found[: _cut(np.sort(column), max_bin, found)].copy()


def _encode(columns: NDArray[np.float64], thresholds: Any, words: NDArray[np.uint32]) -> None:
    codes = words.view(np.uint8).reshape(-1, LANES)
    for lane, (column, known) in enumerate(zip(columns, thresholds)):
        _place(column, np.append(known, np.full(MOST - len(known), np.inf)), len(known), codes, lane)


@njit(cache=True, nogil=True, _nrt=False)
def _cut(ordered, max_bin, thresholds):
    """Write thresholds of ascending values, return how many.

    A value that fills a bin by itself has one; the others share what is left, each bin its part of the rows left.
    """
    n, distinct, bins, rows, begun = len(ordered), 0, max_bin, len(ordered), 0
    for i in range(1, n + 1):
        if i == n or ordered[i] > ordered[i - 1]:
            distinct += 1
            if (i - begun) * max_bin >= n:
                bins, rows = bins - 1, rows - (i - begun)
            begun = i
    found, begun, lonely = 0, 0, _fills(ordered, 0, max_bin)
    for i in range(1, n):
        low, high = ordered[i - 1], ordered[i]
        if high > low:
            ends, lonely = lonely, _fills(ordered, i, max_bin)
            shared = not ends and ((lonely and bins > 0) or (i - begun) * bins >= rows)
            if found < max_bin - 1 and (distinct <= max_bin or ends or shared):
                if shared:
                    bins, rows = bins - 1, rows - (i - begun)
                middle = 0.5 * low + 0.5 * high
                thresholds[found] = middle if low <= middle < high else low
                found, begun = found + 1, i
    return found


@njit(cache=True, nogil=True, _nrt=False)
def _fills(ordered, i, max_bin):
    """Whether the value that begins at i has as many rows as a bin should have."""
    last = i + (len(ordered) + max_bin - 1) // max_bin - 1
    return last < len(ordered) and ordered[last] == ordered[i]


@njit(cache=True, nogil=True, _nrt=False)
def _place(column, thresholds, n_thresholds, codes, lane):
    """The number of thresholds below each value, by bisection without branches; ``thresholds`` ends with infinities."""
    top = 1
    while top <= n_thresholds:
        top *= 2
    for i in range(len(column)):
        x, below, step = column[i], 0, top
        while step > 1:
            step //= 2
            below += step if thresholds[below + step - 1] < x else 0
        codes[i, lane] = below
