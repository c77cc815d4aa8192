"""Many independent fits, one price, seed or clinic a task, on the workers of joblib, Dask or Ray; and scoring in parts.

python examples/many_fits.py                                              # two processes of joblib
python examples/many_fits.py --backend dask --scheduler tcp://HOST:8786   # without --scheduler: two local workers
python examples/many_fits.py --backend ray                                # on a machine of a running cluster, or local

Every backend gives the same models: seeds are part of the tasks. The tables are sent to each worker once.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from agents import AdaptiveClassifier
from fsgym import load_dataset


class Fit(NamedTuple):
    """A task: the rows of one clinic, at one price, with one seed."""

    clinic: str
    lam: float
    seed: int


def fitted(task: Fit, X: pd.DataFrame, y: np.ndarray, clinic: np.ndarray) -> AdaptiveClassifier:
    """What a worker does."""
    rows = clinic == task.clinic
    return AdaptiveClassifier(lam=task.lam, learner="lattice", random_state=task.seed).fit(X[rows], y[rows])


def answers(part: pd.DataFrame, model: AdaptiveClassifier) -> pd.DataFrame:
    """The rows of a part with their answers."""
    return part.assign(answer=model.predict(part))


def with_joblib(tasks: list[Fit], table: tuple, rows: pd.DataFrame) -> tuple[list, pd.DataFrame]:
    from joblib import Parallel, delayed

    with Parallel(n_jobs=2) as parallel:
        models: list[Any] = list(parallel(delayed(fitted)(task, *table) for task in tasks))
        parts = parallel(delayed(answers)(rows[k : k + 100], models[0]) for k in range(0, len(rows), 100))
    return models, pd.concat(parts)


def with_dask(tasks: list[Fit], table: tuple, rows: pd.DataFrame, scheduler: str | None) -> tuple[list, pd.DataFrame]:
    from dask import dataframe
    from dask.distributed import Client

    local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with Client(scheduler) if scheduler else Client(**local) as client:
        sent = client.scatter(list(table), broadcast=True)
        models = client.gather([client.submit(fitted, task, *sent) for task in tasks])
        parts = dataframe.from_pandas(rows, npartitions=4)  # of files: dataframe.read_parquet
        scored = parts.map_partitions(answers, models[0], meta=rows.assign(answer=0).iloc[:0]).compute()
    return models, scored


def with_ray(tasks: list[Fit], table: tuple, rows: pd.DataFrame) -> tuple[list, pd.DataFrame]:
    import ray

    ray.init(ignore_reinit_error=True)
    sent, remote_fit, remote_answers = [ray.put(part) for part in table], ray.remote(fitted), ray.remote(answers)
    models = ray.get([remote_fit.remote(task, *sent) for task in tasks])
    model = ray.put(models[0])
    parts = ray.get([remote_answers.remote(rows[k : k + 100], model) for k in range(0, len(rows), 100)])
    return models, pd.concat(parts)


def main(backend: str = "joblib", scheduler: str | None = None) -> tuple[list, pd.DataFrame]:
    """Fit a model for each clinic, price and seed; score all rows with the first one."""
    data = load_dataset("breast_cancer")
    X, y = data.to_frame()[["worst area", "worst texture", "mean concavity", "worst smoothness"]], data.target
    clinic = np.where(np.arange(len(X)) % 2 == 0, "north", "south")  # a column of yours
    tasks = [Fit(place, lam, seed) for place in ("north", "south") for lam in (0.02, 0.1) for seed in (0,)]
    table = (X, y, clinic)
    if backend == "dask":
        models, scored = with_dask(tasks, table, X, scheduler)
    elif backend == "ray":
        models, scored = with_ray(tasks, table, X)
    else:
        models, scored = with_joblib(tasks, table, X)
    for task, model in zip(tasks, models, strict=True):
        print(f"{task.clinic}, lam {task.lam}: {model.expected_n_features_:.2f} features expected")
    return models, scored


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=["joblib", "dask", "ray"], default="joblib")
    parser.add_argument("--scheduler", help="address of a scheduler of Dask")
    main(**vars(parser.parse_args()))
