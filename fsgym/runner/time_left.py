"""How long a run still takes, judged by the tasks that have finished in it and by what was expected of the others."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Expectation(NamedTuple):
    """What is known of a task before it runs."""

    # from the general to the special, such as the method and its setting. Tasks of one kind take about as long.
    kind: tuple[str, ...] = ()
    seconds: float | None = None  # None where nothing is known


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
        self._groups: dict[
            tuple[tuple[str, ...], bool], _Sum
        ] = {}  # of what is left, by kind and whether it has seconds
        for one in self._expected:
            self._groups.setdefault((one.kind, one.seconds is not None), _Sum()).add(one.seconds or 0.0)
        self._firsts: dict[tuple[str, ...], tuple[float, float | None]] = {}  # took and expected, by method
        self._settled: dict[tuple[str, ...], _Sum] = {}
        self._took_of_expected, self._expected_of_took = 0.0, 0.0  # of settled tasks
        self._start, self._done_seconds = time.monotonic(), 0.0

    def finish(self, number: int, seconds: float) -> None:
        """Say that a task has finished."""
        one = self._expected[number]
        if number in self._left:
            self._left.remove(number)
            group = self._groups[one.kind, one.seconds is not None]
            group.add(-(one.seconds or 0.0), -1)
            if not group.n:
                del self._groups[one.kind, one.seconds is not None]
        self.learn(one, seconds)
        self._done_seconds += seconds

    def learn(self, one: Expectation, seconds: float) -> None:
        """Say how long a task took, such as one of an earlier run."""
        if one.kind[:1] not in self._firsts:
            self._firsts[one.kind[:1]] = seconds, one.seconds
            return
        for end in range(len(one.kind) + 1):
            self._settled.setdefault(one.kind[:end], _Sum()).add(seconds)
        if one.seconds:
            self._took_of_expected += seconds
            self._expected_of_took += one.seconds

    def seconds(self) -> float | None:
        """Seconds by the clock until the last task has finished; None where nothing is known yet."""
        known = _Sum()
        for (kind, is_said), group in self._groups.items():
            seconds = self._seconds_of(kind, group, is_said)
            if seconds is not None:
                known.add(seconds, group.n)
        if self._left and not known.n:
            return None
        total = known.total * len(self._left) / max(known.n, 1)
        elapsed = time.monotonic() - self._start
        workers = self._n_workers or max(self._done_seconds / elapsed if elapsed > 0 else 1.0, 1.0)
        return total / min(workers, max(len(self._left), 1))

    def _seconds_of(self, kind: tuple[str, ...], group: _Sum, is_said: bool) -> float | None:
        """The seconds of the tasks of a group in all."""
        for end in range(len(kind), 0, -1):
            if settled := self._settled.get(kind[:end]):
                return group.n * settled.mean
        first = self._firsts.get(kind[:1]) if kind else None
        if not is_said:
            if first:
                return group.n * first[0]
            firsts = [took for took, _ in self._firsts.values()]
            every = self._settled.get(()) or (_Sum(sum(firsts), len(firsts)) if firsts else None)
            return group.n * every.mean if every else None
        ratio = self._took_of_expected / self._expected_of_took if self._expected_of_took else 1.0
        if first and first[1]:
            return group.total * _slowness(first[0], first[1], ratio)
        if not self._expected_of_took:
            ratio = min((_slowness(took, said, 1.0) for took, said in self._firsts.values() if said), default=1.0)
        return group.total * ratio


@dataclass
class _Sum:
    """So many numbers, and their sum."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float, n: int = 1) -> None:
        self.total += value
        self.n += n

    @property
    def mean(self) -> float:
        return self.total / self.n


def _slowness(took: float, said: float, ratio: float) -> float:
    """How a first task changes what was said of its method: it is an upper limit, as it may have compiled code."""
    return min(took / said, math.sqrt(took / said * ratio))
