"""``compare_datasets``: methods compared on several data sets, with a test of their ranks over them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from fsgym.comparison.compare import calling_script, compare, plan_comparison, run_planned
from fsgym.comparison.planned import PlannedComparison, Where, announce_time
from fsgym.comparison.rank_test import DatasetsResult, folder_name, result_of
from fsgym.data.dataset import Dataset
from fsgym.methods import DEFAULT_METHODS
from fsgym.rules.options import OPTIONS
from fsgym.runner.executors import check_backend
from fsgym.runner.run import checked_progress
from fsgym.support.writing import writable_folder, write_whole
from fsgym.text.messages import brief, did_you_mean, explain_unknown

OWN = ("dataset", "methods", "progress", "out", "command")  # parameters of ``compare`` that are not in ``**arguments``


def compare_datasets(
    datasets: Iterable[str | os.PathLike | Dataset],
    methods: str | Sequence[str] | Mapping[str, Any] = DEFAULT_METHODS,
    *,
    by_dataset: Mapping[str, Mapping[str, Any]] | None = None,
    out: str | os.PathLike | None = None,
    progress: bool = True,
    command: str | None = None,
    **arguments: Any,
) -> DatasetsResult:
    """Compare methods on several data sets, and test over them whether the methods differ.

    Parameters
    ----------
    datasets : iterable of what ``compare`` takes, each with a name of its own
    methods : as in ``compare``
    by_dataset : mapping data set -> mapping, optional
        Arguments of ``compare`` that differ by data set, such as ``{"wine": {"costs": prices}}``.
    out : path, optional
        A folder with the folder of ``compare`` for each data set, by its name, so that a data set that was compared
        alone is resumed; and ``losses.csv``, ``ranks.csv`` and ``report.html`` for all of them.
    progress, command : as in ``compare``
    **arguments
        All others of ``compare``, the same for every data set.

    Returns
    -------
    DatasetsResult

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        As in ``compare``, before any fit on any data set.
    KeyboardInterrupt
        On Ctrl-C, as in ``compare``: the same call resumes it.

    Notes
    -----
    Methods are ranked on each data set by their loss. Friedman's test asks whether any differ; if so, two methods
    differ where their mean ranks are at least Nemenyi's critical difference apart. Two methods are compared by
    Wilcoxon's signed-rank test instead. It takes three data sets; with few of them only large differences are found. A
    method without a loss on some data set is left out.

    References
    ----------
    J. Demsar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> import fsgym
    >>> result = fsgym.compare_datasets(["wine", "digits"], ["cart", "lars"], splits=1, lam=0.01)
    >>> result.losses.index.tolist(), result.answer
    (['wine', 'digits'], ['No rank test: it needs at least 3 data sets, got 2.'])
    """
    if isinstance(datasets, str | os.PathLike | Dataset | pd.DataFrame) or not isinstance(datasets, Iterable):
        raise TypeError(f"datasets must be a list of data sets, got {brief(datasets)}; compare takes a single one")
    datasets = list(datasets)
    names = [dataset.name if isinstance(dataset, Dataset) else str(dataset) for dataset in datasets]
    for name in by_dataset or {}:
        if name not in names:
            raise ValueError(f"by_dataset: {explain_unknown('data set', name, names)}")
    asked = _arguments_of_compare(methods, arguments)
    where = Where(asked["n_jobs"], asked["backend"], asked["scheduler"], checked_progress(progress))
    check_backend(where.backend, where.scheduler, where.n_jobs)
    folder = None if out is None else writable_folder(out)
    planned: dict[str, PlannedComparison] = {}
    for dataset, given in zip(datasets, names, strict=True):
        own = (by_dataset or {}).get(given, {})
        one = plan_comparison(dataset, _arguments_of_compare(methods, {**arguments, **own}), None)
        name = one.protocol.dataset.name
        if folder_name(name) in map(folder_name, planned):
            raise ValueError(
                f"each data set must have a name of its own, got {name!r} twice; give another one by replace(name=...)"
            )
        planned[name] = one
    if not planned:
        raise ValueError("datasets must have at least one data set, got none")
    if folder is not None:
        planned = {name: replace(p, folder=writable_folder(folder / folder_name(name))) for name, p in planned.items()}
    if progress:
        announce_time(list(planned.values()), where)
    command = command or calling_script()
    results = {
        name: run_planned(one, where, command, f"{name} ({number} of {len(planned)})")
        for number, (name, one) in enumerate(planned.items(), 1)
    }
    result = result_of(results)
    if folder is not None:
        from fsgym.comparison.report import write_datasets_report

        write_whole(folder / "losses.csv", result.losses.to_csv())
        if result.rank_test is not None:
            write_whole(folder / "ranks.csv", result.rank_test.to_frame().to_csv(index=False))
        write_datasets_report(result, command, folder)
    return result


def _arguments_of_compare(methods: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of ``compare`` with its defaults; TypeError for one that it does not have."""
    defaults = {name: p.default for name, p in inspect.signature(compare).parameters.items() if name not in OWN}
    for name in arguments:
        if name not in defaults:
            suggestion = did_you_mean(name, [*defaults, *OWN])
            raise TypeError(f"compare_datasets() got an unexpected keyword argument {name!r}{suggestion}")
    rules = {option.name for option in OPTIONS} - {"lam"}
    asked = {name: arguments.get(name, default) for name, default in defaults.items() if name not in rules}
    options = {name: value for name, value in arguments.items() if name in rules}
    return asked | {"methods": methods, "options": options}
