"""How long a run still takes, judged by the tasks that have finished in it and by what was expected of the others."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple


class Expectation(NamedTuple):
    """What is known of a task before it runs.

    Attributes
    ----------
    kind : tuple of str
        From the general to the special, such as the method and its setting. Tasks of one kind take about as long.
    seconds : float, or None where nothing is known
    """

    kind: tuple[str, ...] = ()
    seconds: float | None = None


class TimeLeft:
    """The seconds that the tasks of a run still take.

    A task is expected to take the mean of those of its kind that have finished, or of the most special part of its kind
    that has any. The first task of each method (the first word of a kind) is set apart: it may have compiled code. A
    method of which none has finished is expected to take what was said before, times the ratio of what the other tasks
    took and were said to take. Where only its first one has finished, the geometric mean of this and of what that one
    took counts, and not more than that one took. Where nothing was said, the mean of all counts.

    Parameters
    ----------
    expected : sequence of Expectation, one per task that is left
    n_workers : int, or None where it is unknown: then the tasks' seconds are compared with those of the clock

    Examples
    --------
    >>> left = TimeLeft([Expectation(("a",), 10.0)] * 4 + [Expectation(("b",), 2.0)], 1)
    >>> left.seconds()
    42.0
    >>> left.finish(0, 40.0)  # a slow machine, or code was compiled: the truth is between 10 and 40
    >>> left.seconds()
    64.0
    >>> left.finish(1, 5.0)  # code was compiled, and the machine is fast
    >>> left.seconds()
    11.0
    """

    def __init__(self, expected: Sequence[Expectation], n_workers: int | None) -> None:
        self._expected, self._n_workers = list(expected), n_workers
        self._left = set(range(len(expected)))
        self._firsts: dict[tuple[str, ...], tuple[float, float | None]] = {}  # took and expected, by method
        self._settled: dict[tuple[str, ...], list[float]] = {}
        self._took_of_expected, self._expected_of_took = 0.0, 0.0  # of settled tasks
        self._start, self._done_seconds = time.monotonic(), 0.0

    def finish(self, number: int, seconds: float) -> None:
        """Say that a task has finished."""
        self._left.discard(number)
        self.learn(self._expected[number], seconds)
        self._done_seconds += seconds

    def learn(self, one: Expectation, seconds: float) -> None:
        """Say how long a task took, such as one of an earlier run."""
        if one.kind[:1] not in self._firsts:
            self._firsts[one.kind[:1]] = seconds, one.seconds
            return
        for end in range(len(one.kind) + 1):
            self._settled.setdefault(one.kind[:end], []).append(seconds)
        if one.seconds:
            self._took_of_expected += seconds
            self._expected_of_took += one.seconds

    def seconds(self) -> float | None:
        """Seconds by the clock until the last task has finished; None where nothing is known yet."""
        known = [s for number in self._left if (s := self._seconds_of(self._expected[number])) is not None]
        if self._left and not known:
            return None
        total = sum(known) * len(self._left) / max(len(known), 1)
        elapsed = time.monotonic() - self._start
        workers = self._n_workers or max(self._done_seconds / elapsed if elapsed > 0 else 1.0, 1.0)
        return total / min(workers, max(len(self._left), 1))

    def _seconds_of(self, one: Expectation) -> float | None:
        for end in range(len(one.kind), 0, -1):
            if settled := self._settled.get(one.kind[:end]):
                return _mean(settled)
        first = self._firsts.get(one.kind[:1]) if one.kind else None
        if one.seconds is None:
            firsts = [took for took, _ in self._firsts.values()]
            return first[0] if first else _mean(self._settled.get((), []) or firsts)
        ratio = self._took_of_expected / self._expected_of_took if self._expected_of_took else 1.0
        if first and first[1]:
            return one.seconds * _slowness(first[0], first[1], ratio)
        if not self._expected_of_took:
            ratio = min((_slowness(took, said, 1.0) for took, said in self._firsts.values() if said), default=1.0)
        return one.seconds * ratio


def _slowness(took: float, said: float, ratio: float) -> float:
    """How a first task changes what was said of its method: it is an upper limit, as it may have compiled code."""
    return min(took / said, math.sqrt(took / said * ratio))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
