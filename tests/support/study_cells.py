"""Functions that the tests of the runner run as cells; workers import them by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def note(log, seed):
    """Append one line per run; lines stay complete even if many processes write and are killed."""
    if log is not None:
        with open(log, "ab", buffering=0) as file:
            file.write(f"{seed} {os.getpid()}\n".encode())


def draw(seed, log=None, seconds=0.02):
    """Sleep, then return a result that depends on the seed only."""
    note(log, seed)
    time.sleep(seconds)
    values = np.random.default_rng(seed).normal(size=3)
    return {"mean": float(values.mean()), "values": values, "seed": seed, "nothing": None}


def score(data, seed, log=None, seconds=0.02):
    """A result of shared data, from matrix products whose last bits depend on the number of BLAS threads."""
    note(log, seed)
    time.sleep(seconds)
    rows = np.random.default_rng(seed).permutation(data.n_samples)
    table = np.nan_to_num(data.X[rows].astype(float))
    return {"norm": float(np.linalg.norm(table.T @ table)), "trace": float(np.trace(np.linalg.pinv(table) @ table))}


def threads():
    """The largest number of threads of a native library, and OMP_NUM_THREADS."""
    from threadpoolctl import threadpool_info

    return {"most": max(v["num_threads"] for v in threadpool_info()), "omp": os.environ["OMP_NUM_THREADS"]}


def fragile(seed, log, broken):
    """Fail for odd seeds while the file ``broken`` exists."""
    note(log, seed)
    if seed % 2 and Path(broken).exists():
        raise ValueError("the machine\nis tired")
    return {"seed": seed}


def deadly(seed, log, kills):
    """Kill its own process for the seeds in ``kills``."""
    note(log, seed)
    if seed in kills:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"seed": seed}


def deadly_once(seed, log, mark):
    """Kill its own process when seed 3 runs for the first time; the file ``mark`` records it."""
    note(log, seed)
    if seed == 3 and not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"seed": seed}


def stopped(seed):
    """Raise KeyboardInterrupt at the fourth cell, as Ctrl-C does."""
    if seed == 3:
        raise KeyboardInterrupt
    return {"seed": seed}


def large(megabytes):
    """Need this much memory for a moment."""
    return {"sum": float(np.ones(megabytes * 131072).sum())}


_never_freed = []


def growing(seed, megabytes=400, seconds=1.2):
    """Never free its memory, so that a pool replaces its worker after some calls."""
    _never_freed.append(np.ones(megabytes * 131072))
    time.sleep(seconds)
    return {"seed": seed}


def number():
    return 3


def nan():
    return {"accuracy": float("nan")}


def thing():
    return {"thing": object()}
