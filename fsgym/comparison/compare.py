"""``compare``: every method over its own settings, on the same splits, under the same prices."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

import pandas as pd

from fsgym.comparison.cell import cells_of, run
from fsgym.comparison.protocol import entrants_of, make_protocol
from fsgym.comparison.result import Comparison
from fsgym.comparison.summary import WITHIN
from fsgym.dataset import Dataset
from fsgym.datasets import load_dataset
from fsgym.evaluation import Evaluation
from fsgym.methods import DEFAULT_METHODS
from fsgym.rules.options import RuleOptionsButLam, takes_rule_options
from fsgym.runner.executors import check_backend

COLUMNS = (
    "dataset",
    "split",
    "method",
    "setting",
    "params",
    *Evaluation.FIGURES,
    *(f"validation_{f}" for f in Evaluation.FIGURES),
    "price",
    "n_train",
    "n_test",
    "error",
    "warning",
)


@takes_rule_options
def compare(
    dataset: str | os.PathLike | Dataset,
    methods: str | Sequence[str] | Mapping[str, Any] = DEFAULT_METHODS,
    *,
    splits: int = 5,
    train_share: float = 0.5,
    lam: float | Sequence[float] | None = None,
    within: Sequence[float] = WITHIN,
    seed: int = 0,
    n_jobs: int | None = 1,
    backend: Literal["loky", "dask", "ray"] = "loky",
    scheduler: str | None = None,
    progress: bool = False,
    out: str | os.PathLike | None = None,
    command: str | None = None,
    **options: Unpack[RuleOptionsButLam],
) -> pd.DataFrame:
    """Compare methods on one data set: each over its own settings, all priced by the same rules.

    Parameters
    ----------
    dataset : str, path or Dataset
        What ``load_dataset`` takes, or a data set.
    methods : names, or mapping name -> method
        Names of ``fsgym.methods.METHODS``, or of methods that ``fsgym.register_method`` or an entry point added. In a
        mapping a value is such a name; a scikit-learn classifier with ``features_used``, or a list of them (its
        settings), which are cloned and fitted; or something already trained (a Stable-Baselines3 model, a callable
        ``(observations, action_masks) -> actions``, an agent), which is only evaluated, on values as ``dataset`` has
        them: give a data set scaled as in its training, and mind which rows it was trained on.
    splits : int, default 5
        Random stratified splits into training and test part; split k is ``dataset.split(train_share, seed + k)``.
    train_share : float, default 0.5
    lam : float or sequence of float, optional
        Price of one unit of ``costs``, in units of the error costs: those that price-aware methods are swept over,
        and at which the loss is reported. By default 0, .001, .003, .01, .02, .03, .05, .1, .15, .2, .3 (divided
        by the mean of ``costs``), the loss being reported at .01, .05, .1 of it. With ``error_costs`` prices and
        errors are in one unit: the default then is 0, .03, .1, .3, 1, 3, 10, and the loss is reported at 1.
    within : sequence of numbers, default (1, 2, 3, 5, 10)
        Mean numbers of features (acquisitions, where they come in groups) for ``summarise`` and the report.
    seed : int, default 0
    n_jobs : int, default 1
        Processes, -1 for one a core. The result does not depend on it.
    backend : {"loky", "dask", "ray"}, default "loky"
        Processes on this machine, or all of a cluster that is running. The result does not depend on it.
    scheduler : str, optional
        Address of the cluster; required for ``dask``.
    progress : bool, default False
        A progress bar on stderr, with the time left.
    out : path, optional
        A folder for ``results.csv``, ``report.html`` and the figures as PNG; and for ``results.sqlite``, where each
        finished fit is kept at once: the same call goes on where it was stopped, and repeats nothing but what
        failed. ``timings.sqlite`` has the CPU time, wall time and peak memory of each.
    command : str, optional
        What the report says it was made with.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``Rules``, with the same defaults; ``groups`` may also map names to feature names. They price
        every method, and methods that plan are given them. A method that overspends is shown as inadmissible
        (``admissible`` < 1) and not corrected.

    Returns
    -------
    DataFrame
        One row a (split, method, setting), with ``params`` as JSON, all ``Evaluation.FIGURES`` of the test part, of a
        fit on the whole training part; ``validation_FIGURE`` of a quarter of the training part, of a fit on the
        rest of it; ``price``, the lam of ``acquisition_cost`` and ``loss`` (at any other the loss is
        ``error_cost + lam * spent``); ``error``, why a cell has no figures, and ``warning``.

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        In one sentence, before the work begins.
    KeyboardInterrupt
        On Ctrl-C, after what is finished has been written to ``out``.

    Notes
    -----
    A folder belongs to a version of fsgym and of the libraries that calculate: another one refuses it in a sentence.
    What is fitted before (a policy, a callable) is evaluated each time, in this process.

    Settings of methods that know no price are laid out by their own ``sparsity_grid`` on the first training part.
    Where the data have missing values, methods that refuse them see the mean of their training part instead; what is
    missing is not paid for.

    Examples
    --------
    >>> import fsgym
    >>> results = fsgym.compare("wine", ["cart"], splits=2)
    >>> results.loc[0, ["method", "params", "n_features"]].astype(str).tolist()
    ['cart', '{"ccp_alpha": 1.0}', '0.0']
    """
    data = dataset if isinstance(dataset, Dataset) else load_dataset(dataset)
    protocol = make_protocol(
        data,
        splits=splits,
        train_share=train_share,
        seed=seed,
        lam=lam,
        options=options,
    )
    limits = _limits(within)
    check_backend(backend, scheduler, n_jobs)
    entrants = entrants_of(methods, protocol)
    folder = None if out is None else writable_folder(out)
    cells = cells_of(protocol, entrants)
    outcomes, interrupted = run(
        protocol,
        cells,
        n_jobs=n_jobs,
        backend=backend,
        scheduler=scheduler,
        progress=progress,
        store=None if folder is None else folder / "results.sqlite",
    )
    results = pd.DataFrame([o.row for o in outcomes]).reindex(columns=list(COLUMNS))
    results.attrs = {"counted": protocol.counted, "within": limits, "reported": protocol.reported}
    if folder is not None:
        write_whole(folder / "results.csv", results.to_csv(index=False))
    if interrupted:
        kept = "name a folder to keep them"
        if folder is not None:
            kept = f"their rows are in {folder / 'results.csv'}, and the same command goes on from there"
        raise KeyboardInterrupt(f"stopped after {len(outcomes)} of {len(cells)} fits; {kept}")
    if folder is not None:
        from fsgym.comparison.report import write_report

        write_report(Comparison(protocol, entrants, outcomes, results, command or _command()), folder)
    failed = results["error"].notna().sum()
    if failed:
        first = results.loc[results["error"].notna(), ["method", "error"]].iloc[0]
        warnings.warn(
            f"{failed} of {len(results)} fits failed, the first of {first['method']!r}: {first['error']}", stacklevel=3
        )
    return results


def _limits(within: Any) -> tuple[float, ...]:
    try:
        limits = tuple(v if isinstance(v, int) else float(v) for v in within)
    except (TypeError, ValueError):
        raise TypeError(f"within must be numbers of features, got {within!r}") from None
    if not all(0 <= v < float("inf") for v in limits):
        raise ValueError(f"within must be finite and not negative, got {within!r}")
    return limits


def writable_folder(out: str | os.PathLike) -> Path:
    """The folder, made where it was missing; OSError in one sentence where nothing can be written there."""
    folder = Path(out)
    probe = folder / ".fsgym-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise OSError(f"cannot write to the folder {folder}: {error.strerror or error}; choose another one") from None
    return folder


def write_whole(path: Path, text: str) -> None:
    """Write a file of text, or leave the one that is there as it was; OSError in one sentence."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(f"cannot write {path}: {error.strerror or error}; make room, or choose another folder") from None


def _command() -> str:
    return "fsgym.compare(...) in " + shlex.quote(Path(sys.argv[0] or "python").name)
