"""Changed model files tried in processes of their own, which may crash, hang or take memory."""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from multiprocessing.connection import wait as wait_for
from typing import NamedTuple

MEMORY_PER_BYTE, MEMORY = 8, 200 * 2**20  # of the file, and on top; bytes
SECONDS = 5.0  # of processor time for one file; more is a hang
WAITING_SHARE = 0.1  # of the time on the clock counts as well, as a process may also hang without work
ADDRESS_SPACE = 4 * 2**30  # beyond what the process has; protects the machine
LONGEST_MESSAGE = 600  # characters
GOOD = ("used", "refused")


class Outcome(NamedTuple):
    """What became of one changed file.

    Attributes
    ----------
    kind : str
        "used" or "refused"; otherwise a defect: "refused in use", "error", "crash", "hang", "memory".
    text : str, the message or the traceback
    """

    kind: str
    text: str

    @property
    def is_defect(self) -> bool:
        return self.kind not in GOOD


def run_trials(
    attempt: Callable[[int], int], indices: Iterator[int], n_processes: int = 1
) -> Iterator[tuple[int, Outcome]]:
    """The outcome of ``attempt(index)`` for each index, in any order.

    ``attempt`` returns the size of its file in bytes, or raises: ``TrialRefused`` where the file is refused properly,
    anything else is a defect. It runs in processes that are forked from this one, and replaced when they die.
    """
    workers = [_Worker(attempt) for _ in range(n_processes)]
    try:
        for worker in workers:
            worker.take(indices)
        while busy := [worker for worker in workers if worker.index is not None]:
            ready = set(wait_for([worker.results for worker in busy], timeout=0.2))
            for worker in busy:
                done, outcome = worker.index, None
                if worker.results in ready:
                    outcome = worker.received()
                elif worker.seconds() > SECONDS:
                    outcome = Outcome("hang", f"more than {SECONDS:g} s")
                    worker.kill()
                if outcome is None:
                    continue
                if outcome.kind in ("hang", "crash"):
                    workers[workers.index(worker)] = worker = _Worker(attempt)
                worker.take(indices)
                assert done is not None
                yield done, outcome
    finally:
        for worker in workers:
            worker.kill()


class TrialRefused(Exception):
    """The file was refused properly."""


class _Worker:
    """A forked process that makes attempts one by one."""

    def __init__(self, attempt: Callable[[int], int]) -> None:
        self.index: int | None = None
        self.begun = self.cpu_before = 0.0
        theirs, self.orders = Pipe(duplex=False)
        self.results, back = Pipe(duplex=False)
        self.pid = os.fork()
        if self.pid == 0:
            self.orders.close()
            self.results.close()
            try:
                _serve(attempt, theirs, back)
            finally:
                os._exit(0)
        theirs.close()
        back.close()

    def take(self, indices: Iterator[int]) -> None:
        self.index = next(indices, None)
        if self.index is not None:
            self.begun, self.cpu_before = time.monotonic(), cpu_seconds(self.pid)
            self.orders.send(self.index)

    def seconds(self) -> float:
        """How long it has worked on its file."""
        waited = WAITING_SHARE * (time.monotonic() - self.begun)
        return max(cpu_seconds(self.pid) - self.cpu_before, waited)

    def received(self) -> Outcome:
        try:
            return Outcome(*self.results.recv())
        except EOFError:
            status = os.waitpid(self.pid, 0)[1]
            self.pid = 0
            name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {status}"
            return Outcome("crash", name)

    def kill(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0
        self.orders.close()
        self.results.close()


def _serve(attempt: Callable[[int], int], orders: Connection, results: Connection) -> None:
    used = bytes_of("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESS_SPACE, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    while True:
        try:
            index = orders.recv()
        except EOFError:
            return
        results.send(tuple(_observed(attempt, index)))


def _observed(attempt: Callable[[int], int], index: int) -> Outcome:
    with open("/proc/self/clear_refs", "w") as file:  # the peak begins anew
        file.write("5")
    before, size, outcome = bytes_of("VmRSS"), 0, Outcome("used", "")
    try:
        size = attempt(index)
    except TrialRefused as refusal:
        size, message = refusal.args
        outcome = Outcome("refused", message)
    except MemoryError:
        outcome = Outcome("memory", traceback.format_exc(limit=-8))
    except BaseException:
        outcome = Outcome("error", traceback.format_exc(limit=-12))
    extra = bytes_of("VmHWM") - before
    if not outcome.is_defect and extra > MEMORY_PER_BYTE * size + MEMORY:
        return Outcome("memory", f"{extra / 2**20:.0f} MiB for a file of {size} bytes; {outcome.text}")
    return outcome


def bytes_of(field: str, pid: int | str = "self") -> int:
    """A figure of the memory of a process, in bytes."""
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith(field + ":"))
    return 1024 * int(line.split()[1])


def cpu_seconds(pid: int) -> float:
    """The processor time of a process."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def refusal_of(error: BaseException, size: int) -> TrialRefused:
    """The error of a proper refusal, which is a ValueError or OSError in one sentence; other errors are raised."""
    message = str(error)
    if isinstance(error.__context__, MemoryError):
        raise MemoryError(message) from None
    assert type(error) is ValueError or isinstance(error, OSError), f"{type(error).__name__}: {message}"
    assert 0 < len(message) < LONGEST_MESSAGE, f"not one sentence: {message!r}"
    assert "\n" not in message, f"not one line: {message!r}"
    return TrialRefused(size, message)


def table_of(counts: Counter[tuple[str, str]]) -> str:
    """Outcomes by kind of model, as lines."""
    outcomes = sorted({outcome for _, outcome in counts}, key=lambda name: (name not in GOOD, name))
    lines = [f"{'kind':24}" + "".join(f"{name:>16}" for name in outcomes)]
    for kind in [*sorted({kind for kind, _ in counts}), "all"]:
        cells = (sum(n for (k, o), n in counts.items() if o == name and kind in (k, "all")) for name in outcomes)
        lines.append(f"{kind:24}" + "".join(f"{n:>16}" for n in cells))
    return "\n".join(lines)


def first_line_of(outcome: Outcome) -> str:
    """What distinguishes a defect from others, for a summary."""
    lines = [line for line in outcome.text.splitlines() if line.strip()]
    places = [line.strip() for line in lines if line.strip().startswith("File ") and "/tests/" not in line]
    return f"{outcome.kind}: {lines[-1] if lines else ''} {places[-1] if places else ''}"
