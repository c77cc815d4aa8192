"""Cells of small studies, imported by name where they run."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def note(log, seed):
    """One line a run, whole even when many processes write and are killed."""
    if log is not None:
        with open(log, "ab", buffering=0) as file:
            file.write(f"{seed} {os.getpid()}\n".encode())


def draw(seed, log=None, seconds=0.02):
    """A result that depends on the seed alone, after some time."""
    note(log, seed)
    time.sleep(seconds)
    values = np.random.default_rng(seed).normal(size=3)
    return {"mean": float(values.mean()), "values": values, "seed": seed, "nothing": None}


def score(data, seed, log=None, seconds=0.02):
    """A result of shared data, by matrix products whose bytes depend on the threads of BLAS."""
    note(log, seed)
    time.sleep(seconds)
    rows = np.random.default_rng(seed).permutation(data.n_samples)
    table = np.nan_to_num(data.X[rows].astype(float))
    return {"norm": float(np.linalg.norm(table.T @ table)), "trace": float(np.trace(np.linalg.pinv(table) @ table))}


def threads():
    from threadpoolctl import threadpool_info

    return {"most": max(v["num_threads"] for v in threadpool_info()), "omp": os.environ["OMP_NUM_THREADS"]}


def fragile(seed, log, broken):
    """Fails, while a file is there, for odd seeds."""
    note(log, seed)
    if seed % 2 and Path(broken).exists():
        raise ValueError("the machine\nis tired")
    return {"seed": seed}


def deadly(seed, log, kills):
    """Kills its process for the seeds in ``kills``."""
    note(log, seed)
    if seed in kills:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"seed": seed}


def deadly_once(seed, log, mark):
    """Kills its process the first time that seed 3 runs."""
    note(log, seed)
    if seed == 3 and not Path(mark).exists():
        Path(mark).write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"seed": seed}


def stopped(seed):
    """Ctrl-C at the fourth cell."""
    if seed == 3:
        raise KeyboardInterrupt
    return {"seed": seed}


def large(megabytes):
    """Needs memory for a moment."""
    return {"sum": float(np.ones(megabytes * 131072).sum())}


_held = []


def growing(seed, megabytes=400, seconds=1.2):
    """Keeps its memory: after some of these a pool replaces its worker."""
    _held.append(np.ones(megabytes * 131072))
    time.sleep(seconds)
    return {"seed": seed}


def number():
    return 3


def nan():
    return {"accuracy": float("nan")}


def thing():
    return {"thing": object()}
