"""Who runs the cells: this process, processes beside it, or a cluster; and what is done when one of them dies."""

from __future__ import annotations

import itertools
import pickle
import tempfile
import threading
import warnings
from _thread import interrupt_main
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from fsgym.checks import check_n_jobs
from fsgym.extras import require
from fsgym.runner.fingerprint import digest
from fsgym.runner.store import strange, versions
from fsgym.runner.task import Task, TaskResult
from fsgym.runner.worker import AGAIN, Home, Kept, tell, work

PATIENCE = 10  # seconds until a cluster must have answered
BACKENDS = ("loky", "dask", "ray")
DEATHS = {"BrokenProcessPool", "KilledWorker", "RayActorError", "WorkerCrashedError", "OutOfMemoryError"}
Results = Generator[tuple[int, TaskResult], None, None]


def check_backend(backend: Any, scheduler: Any, n_jobs: Any) -> None:
    """ValueError in one sentence before anything is begun."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "loky" and scheduler is not None:
        raise ValueError("scheduler is the address of a cluster: give backend='dask' or backend='ray' with it")
    if backend == "dask" and not scheduler:
        raise ValueError("backend 'dask' needs scheduler, the address of a running one, such as 'tcp://10.0.0.1:8786'")
    check_n_jobs(n_jobs)


def outcomes(tasks: Sequence[Task], *, n_jobs: int | None, backend: str, scheduler: str | None) -> Results:
    """(number, ending) of each task as it comes, in any order; the death of a process is not the end.

    Parameters
    ----------
    tasks : sequence of Task
    n_jobs : int, processes for ``loky``; a cluster uses all it has
    backend : {"loky", "dask", "ray"}
    scheduler : address of the cluster

    Notes
    -----
    A pool that loses a process does not say which cell it was. Those that were under way are halved until the one
    that kills is alone, and the rest go on; so it is known, and recorded as failed, after a few deaths.
    """
    with _crew(tasks, n_jobs, backend, scheduler) as crew:
        groups, deaths = [list(range(len(tasks)))], Counter()
        while groups:
            group, sent, back = groups.pop(0), [], set()
            try:
                with closing(crew(_noting(group, sent))) as came:
                    for number, ending in came:
                        back.add(number)
                        yield number, ending
                continue
            except Exception as error:
                if not {c.__name__ for c in type(error).__mro__} & DEATHS:
                    raise
            begun = [i for i in sent if i not in back]
            rest = group[len(sent) :]
            deaths.update(begun)
            if len(begun) == 1 and deaths[begun[0]] > 1:
                yield begun[0], TaskResult(None, AGAIN)
                begun = []
            half = (len(begun) + 1) // 2
            groups = [g for g in (rest, *groups, begun[:half], begun[half:]) if g]


def _noting(numbers: Iterable[int], sent: list[int]) -> Iterator[int]:
    for number in numbers:
        sent.append(number)
        yield number


Crew = Callable[[Iterable[int]], Results]


@contextmanager
def _crew(tasks: Sequence[Task], n_jobs: int | None, backend: str, scheduler: str | None) -> Iterator[Crew]:
    """A function that runs the tasks of the numbers it is given. Shared data are sent before the first."""
    n_jobs = effective_n_jobs(n_jobs) if backend == "loky" else -1
    shared = {digest(value): value for task in tasks for value in task.data.values()}
    with ExitStack() as stack:
        if backend == "dask":
            sent, minded = shared, _dask(stack, scheduler, shared)
        elif backend == "ray":
            sent = _ray(stack, scheduler, shared)
        else:
            sent = shared
            if n_jobs > 1:
                sent = _filed(stack, shared)
                stack.enter_context(parallel_config("loky", inner_max_num_threads=1))
                stack.enter_context(warnings.catch_warnings())
                # Raised as an error, it would end the thread that replaces a worker whose memory has grown: nobody
                # would then bring the next result, and the run would wait forever.
                warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)

        def calls(numbers: Iterable[int]) -> Iterator[tuple[Any, ...]]:
            home = Home.here(backend)  # a new name for each group: who is begun again is not said to have died
            for number in numbers:
                task = tasks[number]
                values = [sent[digest(v)] for v in task.data.values()]
                yield (number, home, task.call, dict(task.arguments), tuple(task.data), *values)

        def here(numbers: Iterable[int]) -> Results:
            return (work(*c) for c in calls(numbers))

        def elsewhere(numbers: Iterable[int]) -> Results:
            pool = Parallel(n_jobs, return_as="generator_unordered", batch_size=1)
            return pool(delayed(work)(*c) for c in calls(numbers))

        def on_ray(numbers: Iterable[int]) -> Results:
            return _streamed(calls(numbers))

        def on_dask(numbers: Iterable[int]) -> Results:
            with minded(), closing(elsewhere(numbers)) as came:
                yield from came

        yield here if n_jobs == 1 else {"loky": elsewhere, "dask": on_dask, "ray": on_ray}[backend]


def _filed(stack: ExitStack, shared: Mapping[str, Any]) -> dict[str, Any]:
    """A file for each shared value, which a process reads once."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fsgym-")))
    for content, value in shared.items():
        (folder / content).write_bytes(pickle.dumps(value, protocol=5))
    return {content: Kept(content, folder / content) for content in shared}


def _dask(
    stack: ExitStack, scheduler: str | None, shared: Mapping[str, Any]
) -> Callable[[], AbstractContextManager[None]]:
    """Joblib's own backend on a running cluster; it scatters the shared values and knows them by identity.

    Returns what must be entered while results are awaited.
    """
    require("dask", "backend 'dask'")
    from distributed import Client

    try:
        client = stack.enter_context(Client(scheduler, timeout=PATIENCE, set_as_default=False))
    except (OSError, ValueError) as error:
        raise OSError(f"no dask scheduler answers at {scheduler}: {' '.join(str(error).split())[:200]}") from None
    _agree(scheduler, _versions_of_dask(client))
    stack.enter_context(parallel_config("dask", client=client, scatter=list(shared.values())))
    return partial(_minded, client, scheduler)


@contextmanager
def _minded(client: Any, scheduler: str | None) -> Iterator[None]:
    """Raise what joblib would await without end, a task that Dask has given up; and say it when the scheduler goes."""
    from distributed.client import FutureCancelledError

    ended, raised, old = threading.Event(), [], set(client.futures)

    def mind() -> None:
        while not ended.wait(0.5):
            futures = client.futures.copy().items()
            given_up = [s.exception for key, s in futures if s.status == "error" and key not in old]
            if given_up:
                raised.append(given_up[0])
                interrupt_main()
                return

    if threading.current_thread() is threading.main_thread():
        threading.Thread(target=mind, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        if raised:
            raise raised[0] from None
        raise
    except FutureCancelledError:
        raise OSError(
            f"the dask scheduler at {scheduler} has gone; what was finished is kept: give the same command again when "
            "it is back"
        ) from None
    finally:
        ended.set()


def _versions_of_dask(client: Any) -> list[Any]:
    try:
        client.wait_for_workers(1, timeout=6 * PATIENCE)
        return list(client.run(versions).values())
    except TimeoutError:
        raise OSError("the dask scheduler has no worker after a minute; start some with 'dask worker'") from None
    except ImportError as error:
        return [str(error)]


def _agree(cluster: str | None, told: Sequence[Any]) -> None:
    """Workers must calculate with the versions that are here, or the bytes would depend on who ran a cell."""
    for there in told:
        if not isinstance(there, dict) or strange(there):
            here = ", ".join(f"{k} {v}" for k, v in versions().items())
            raise ValueError(f"every worker of {cluster} must have {here}; one has {there}")


def _ray(stack: ExitStack, scheduler: str | None, shared: Mapping[str, Any]) -> Mapping[str, Any]:
    """Joblib's own backend on a running cluster; shared values lie in its object store."""
    require("ray", "backend 'ray'")
    import ray  # pyright: ignore[reportMissingImports]
    from ray.util.joblib import register_ray  # pyright: ignore[reportMissingImports]

    if not ray.is_initialized():
        try:
            ray.init(address=scheduler or "auto", log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise OSError(
                f"no Ray cluster answers at {scheduler or 'auto'}: {' '.join(str(error).split())[:200]}"
            ) from None
        stack.callback(ray.shutdown)
    register_ray()
    return {content: Kept(content, ray.put(value)) for content, value in shared.items()}


def _streamed(calls: Iterable[tuple[Any, ...]]) -> Results:
    """Ray's backend for joblib returns all results at the end; so each is sent through a queue when it is there."""
    from ray.util.queue import Empty, Queue  # pyright: ignore[reportMissingImports]

    queue, stopped, raised = Queue(actor_options={"num_cpus": 0}), threading.Event(), []

    def lead() -> None:
        try:
            with parallel_config("ray"):  # which holds for this thread
                unstopped = itertools.takewhile(lambda _: not stopped.is_set(), calls)
                Parallel(-1, batch_size=1)(delayed(tell)(queue, *c) for c in unstopped)
        except Exception as error:
            raised.append(error)

    leader = threading.Thread(target=lead, daemon=True)
    leader.start()
    try:
        while leader.is_alive() or not queue.empty():
            with suppress(Empty):
                yield queue.get(timeout=0.5)
    finally:
        stopped.set()
        queue.shutdown()
    if raised:
        raise raised[0]
