"""Calls in a process apart, which knows what it was sent and nothing else of the process that asks.

Code of the user runs there, such as a policy that is compared: however it searches its memory, it finds no label of a
test row. Its replies are plain values and arrays, never pickles: loading those could run code here.

Importing the libraries takes a process longer than most calls. On Linux one process therefore imports them, and forks
for each subject. It never knows anything itself. Elsewhere each subject has a process of its own.
"""

from __future__ import annotations

import atexit
import importlib
import io
import json
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from typing import IO, Any, NamedTuple

import cloudpickle
import numpy as np
from joblib import parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from numpy.typing import NDArray

from fsgym.runner.local_code import FailedApart, error_with_line
from fsgym.runner.task import peak_mib, reset_peak_memory, resolve
from fsgym.support.threads import THREAD_VARIABLES, one_thread

FORKS = sys.platform == "linux"  # elsewhere libraries of the system do not survive it
LENGTH = struct.Struct("<Q")  # of a message, before it
ANOTHER = 77  # exit status of a fork after which another may follow; by hand, as code of the user hardly ends with it
VALUE = "value"  # the array of a reply that has its JSON text, as bytes
START = "import pickle, sys; sys.path[:] = {path}; from fsgym.runner import apart; apart.serve({module!r}, {forks})"
Reply = tuple[Any, Mapping[str, NDArray]]  # a JSON value, and arrays by name


class Spent(NamedTuple):
    """CPU seconds and peak memory, in MiB, of calls in a process apart."""

    cpu_seconds: float = 0.0
    peak_mib: float = 0.0


class _Process:
    """The process apart of this one: it lives until this one ends, and has one subject at a time."""

    def __init__(self, module: str) -> None:
        self.owner, self.subject = os.getpid(), ""
        one = dict.fromkeys(THREAD_VARIABLES, "1")  # which are read when a library is loaded
        own_group: dict[str, Any] = {"start_new_session": True}  # Ctrl-C is for the process that asks
        if sys.platform == "win32":
            own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        self.run = subprocess.Popen(
            [sys.executable, "-c", START.format(path=[str(place) for place in sys.path], module=module, forks=FORKS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | one,
            **own_group,
        )
        assert self.run.stdin is not None
        assert self.run.stdout is not None
        self.questions, self.replies = self.run.stdin, self.run.stdout

    @property
    def usable(self) -> bool:
        return self.owner == os.getpid() and self.run.poll() is None

    def begin(self, subject: str, shared: Mapping[str, Any]) -> None:
        self.subject = subject
        sequential = isinstance(get_active_backend()[0], SequentialBackend)
        _write(self.questions, pickle.dumps((sys.path, os.getcwd(), sequential, cloudpickle.dumps(dict(shared)))))

    def ask(self, call: str, arguments: Mapping[str, Any]) -> bytes | None:
        _write(self.questions, pickle.dumps((call, cloudpickle.dumps(dict(arguments)))))
        return _read(self.replies)

    def end_subject(self) -> None:
        """The code of the next call finds nothing of what was sent before."""
        if not FORKS:
            self.close()
        elif self.subject:
            _write(self.questions, b"")
        self.subject = ""

    def close(self) -> None:
        for pipe in (self.questions, self.replies):
            with suppress(OSError):
                pipe.close()
        self.run.kill()
        self.run.wait()


_process: _Process | None = None
_spent = Spent()


def call_apart(subject: str, call: str, arguments: Mapping[str, Any], shared: Callable[[], Mapping[str, Any]]) -> Reply:
    """Call a function in a process apart.

    Parameters
    ----------
    subject : str
        Calls of one subject, one after the other, share a process: what one was sent, the next may find.
    call : str
        ``"package.module:function"`` of fsgym: a function that returns a JSON value and a mapping from names to
        arrays without objects.
    arguments : mapping
        Keyword arguments, which must be picklable.
    shared : callable () -> mapping
        Further keyword arguments, which are sent with the first call of the subject only.

    Raises
    ------
    FailedApart
        If the function raises, or its process dies.
    """
    global _process, _spent
    process = _process
    try:
        if process is not None and process.usable and process.subject not in ("", subject):
            process.end_subject()
        if process is None or not process.usable:
            process = _process = _Process(call.partition(":")[0])
        if process.subject != subject:
            process.begin(subject, shared())
        reply = process.ask(call, arguments)
    except OSError:
        reply = None
    except BaseException:  # Ctrl-C, after which the reply would be that of another call
        if process is not None:
            process.close()
        raise
    if process is None or reply is None:
        if process is not None:
            process.close()
        raise FailedApart("RuntimeError: the process of the method ended, possibly out of memory")
    value, arrays = _unpacked(reply)
    _spent = Spent(_spent.cpu_seconds + value["cpu_seconds"], max(_spent.peak_mib, value["peak_mib"]))
    if value["error"] is not None:
        raise FailedApart(value["error"])
    return value["value"], arrays


def end_subject() -> None:
    """The next call, also of the same subject, has a process that was sent nothing before."""
    if _process is not None and _process.usable:
        with suppress(OSError):
            _process.end_subject()


def take_spent() -> Spent:
    """What calls have spent since this was last asked."""
    global _spent
    spent, _spent = _spent, Spent()
    return spent


@atexit.register
def end_process() -> None:
    """The next call starts the process apart anew."""
    global _process
    if _process is not None and _process.owner == os.getpid():
        _process.close()
    _process = None


# The other side.


def serve(module: str, forks: bool) -> None:
    """Answer calls until the process that asks closes the pipe; with ``forks`` for each subject in a fork.

    ``module`` is imported first.
    """
    source, target = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the code prints
    importlib.import_module(module)
    while forks and (child := os.fork()):
        if (
            os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != ANOTHER
        ):  # the code has ended it, or the pipe is closed
            os._exit(1)
    if hasattr(select, "poll"):
        threading.Thread(target=_exit_with_reader, args=(target.fileno(),), daemon=True).start()
    status = 1
    with suppress(BrokenPipeError):
        status = _answer(source, target)
    os._exit(status)


def _exit_with_reader(pipe: int) -> None:
    """End this process when nobody can read the pipe any more, although code of the user runs."""
    waiting = select.poll()
    waiting.register(pipe, 0)
    waiting.poll()
    os._exit(1)


def _answer(source: IO[bytes], target: IO[bytes]) -> int:
    """Answer the calls of one subject; ``ANOTHER`` if another may follow."""
    first = _read(source)
    if not first:
        return 1
    sys.path[:], folder, sequential, content = pickle.loads(first)
    with suppress(OSError):
        os.chdir(folder)
    shared = None
    while (message := _read(source)) is not None:
        if not message:
            return ANOTHER
        call, arguments = pickle.loads(message)
        head: dict[str, Any] = {"value": None, "error": None}
        arrays: Mapping[str, NDArray] = {}
        reset_peak_memory()
        began = time.process_time()
        try:
            if shared is None:
                shared = pickle.loads(content)
            given = pickle.loads(arguments)
            with one_thread(), parallel_config("sequential") if sequential else nullcontext():
                head["value"], arrays = resolve(call)(**given, **shared)
        except (Exception, SystemExit) as error:
            head["error"] = error_with_line(error)
        head |= {"cpu_seconds": time.process_time() - began, "peak_mib": peak_mib()}
        _write(target, _packed(head, arrays))
    return 1


def _packed(value: Any, arrays: Mapping[str, NDArray]) -> bytes:
    file, text = io.BytesIO(), np.frombuffer(json.dumps(value).encode(), np.uint8)
    content: dict[str, Any] = {VALUE: text} | {f"array {name}": array for name, array in arrays.items()}
    np.savez(file, **content)
    return file.getvalue()


def _unpacked(reply: bytes) -> Reply:
    with np.load(io.BytesIO(reply), allow_pickle=False) as file:
        arrays = {name.removeprefix("array "): file[name] for name in file.files if name != VALUE}
        return json.loads(file[VALUE].tobytes()), arrays


def _write(pipe: IO[bytes], message: bytes) -> None:
    rest = memoryview(LENGTH.pack(len(message)) + message)
    while rest:
        rest = rest[pipe.write(rest) :]
    pipe.flush()


def _read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None where the pipe has ended."""
    head = _read_bytes(pipe, LENGTH.size)
    return None if head is None else _read_bytes(pipe, LENGTH.unpack(head)[0])


def _read_bytes(pipe: IO[bytes], number: int) -> bytes | None:
    parts: list[bytes] = []
    while number:
        part = pipe.read(min(number, 1 << 20))
        if not part:
            return None
        parts.append(part)
        number -= len(part)
    return b"".join(parts)
