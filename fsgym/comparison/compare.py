"""``compare``: each method over its own settings, on the same splits and under the same rules."""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fsgym.comparison.answer import answer_in_words, price_caution
from fsgym.comparison.cell import PROMISE_FIGURES, REFIT_FIGURES, caution_of
from fsgym.comparison.compared import compared_methods, free_acquisitions
from fsgym.comparison.planned import Comparison, ExecutionOptions, announce_time, remove_summaries
from fsgym.comparison.protocol import TARGETS, make_protocol
from fsgym.comparison.ranking import DatasetsResult, fixed_methods, folder_name, rank_methods, result_of
from fsgym.comparison.summary import WITHIN, summarise
from fsgym.data.dataset import Dataset
from fsgym.evaluation.evaluate import Evaluation
from fsgym.methods import DEFAULT_METHODS
from fsgym.metrics import NUMBER_FIGURES, headline_figures, short_number
from fsgym.rules.checks import describe_error_costs
from fsgym.rules.options import OPTIONS, RuleOptionsButLam, takes_rule_options
from fsgym.rules.rules import unavoidable
from fsgym.runner.executors import check_backend
from fsgym.runner.run import checked_progress
from fsgym.support.writing import writable_folder, write_whole
from fsgym.text.messages import brief, did_you_mean, explain_unknown, is_command, option_text, warn_caller

FIGURE_COLUMNS = (
    *Evaluation.FIGURES,
    *(f"validation_{f}" for f in Evaluation.FIGURES),
    *(f"refit_{f}" for f in REFIT_FIGURES),
)
PROMISE_COLUMNS = tuple(f"promise_{f}" for f in PROMISE_FIGURES)  # where a method is calibrated
JSON_COLUMNS = ("usage", "by_class", "first", "first_paid")
RESULT_COLUMNS = (
    *("dataset", "split", "method", "setting", "params"),
    *FIGURE_COLUMNS,
    *("price", *JSON_COLUMNS, "n_train", "n_test", "seen", "error", "warning"),
)


@takes_rule_options
def compare(
    dataset: str | os.PathLike | pd.DataFrame | Dataset,
    methods: str | Sequence[str] | Mapping[str, Any] = DEFAULT_METHODS,
    *,
    panels: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    references: bool = True,
    splits: int = 5,
    train_share: float = 0.5,
    target: str | None = None,
    row_groups: ArrayLike | str | None = None,
    lam: float | Sequence[float] | None = None,
    target_cost: float | Sequence[float] | None = None,
    target_features: float | Sequence[float] | None = None,
    within: Sequence[float] = WITHIN,
    seed: int = 0,
    n_jobs: int | None = 1,
    backend: Literal["loky", "dask", "ray"] = "loky",
    scheduler: str | None = None,
    progress: bool = True,
    out: str | os.PathLike | None = None,
    command: str | None = None,
    **options: Unpack[RuleOptionsButLam],
) -> pd.DataFrame:
    """Compare methods on one data set: each over its own settings, all under the same rules.

    Parameters
    ----------
    dataset : str, path, DataFrame or Dataset
        What ``load_dataset`` takes, or a data set.
    methods : names, or mapping name -> method
        Names of ``fsgym.methods.METHODS``, or of methods that ``fsgym.register_method`` or an entry point added. A
        value of a mapping is one of four things:

        - such a name;
        - a scikit-learn classifier or ``Pipeline``, or a list of them (its settings), which are cloned and fitted, even
          if they are fitted already. It is charged for the features of its ``features_used``; without this method, for
          those that its steps select, or for all, as ``as_method`` says;
        - a factory, a function ``train(env) -> policy``. It is called for each split and each price at which agents
          are trained, those of ``lam``, which is that of the environment: for validation with three quarters of the
          training rows, and with all of them. The values of the environment are scaled to [-1, 1] by
          its rows, and it is reset with a seed. The policy, anything that ``fsgym.evaluate`` takes, is evaluated on the
          other rows, scaled by the same map. Code from a stranger can read your files: read it first;
        - a policy that is already trained (a Stable-Baselines3 model, a callable ``(observations, action_masks) ->
          actions``, or a fitted classifier in a ``sklearn.frozen.FrozenEstimator``), which is only evaluated. It is
          shown values as in its own environment, which ``get_env()`` or its attribute ``env`` returns, and its
          training rows are recognised among the test rows: see ``seen`` below.
    panels : list of acquisitions, or mapping name -> list, optional
        Fixed sets of acquisitions of your own, by name, such as ``["crp", "ecg"]``: each is compared as
        ``PanelClassifier`` with these acquisitions for every row. Acquisitions that cost nothing come with each set,
        unless the rules limit the number of acquisitions or relate their prices.
    references : bool, default True
        Whether to add the two reference points: the answer of least expected cost with nothing acquired
        (``constant``), and everything acquired (``everything``).
    splits : int, default 5
        Number of random stratified splits into training and test part; split k is
        ``dataset.split(train_share, seed + k)``.
    train_share : float, default 0.5
        Share of the rows in the training part.
    target : str, optional
        The column of the labels, if ``dataset`` is a table or its name; by default ``target``.
    row_groups : array-like of shape (n_samples,) or str, optional
        Rows with the same label, such as the visits of one patient, are in the same part: training, validation or test
        (see ``Dataset``). A str is the name of the column with the labels, if ``dataset`` is a table or its name; it is
        not a feature. By default those of the data set. Agents that divide their training rows once more keep groups
        together; other methods do so by row. ``groups`` are groups of features.
    lam : float or sequence of float, optional
        The exchange rate between cost and errors: the value of one unit of ``costs``, in units of the error costs.
        Price-aware methods are trained at each of these values, and the loss is reported at each. By default 0, .001,
        .003, .01, .02, .03, .05, .1, .15, .2, .3 (divided by the mean of ``costs``), with the loss reported at .01, .05
        and .1 (divided likewise). With ``error_costs``, costs and errors have the same unit: the default is then 0,
        .03, .1, .3, 1, 3, 10, and the loss is reported at 1.
    target_cost, target_features : float or sequence of float, optional
        Largest mean price paid, in the unit of ``costs``, and largest mean number of features used. Methods by name
        that have these parameters (``lattice``) are trained at each of these targets instead of the values of ``lam``,
        which other price-aware methods keep; ``params`` says which target a setting had.
    within : sequence of numbers, default (1, 2, 3, 5, 10)
        Upper limits k of the mean number of features used (or of acquisitions, if features are grouped). For each
        limit, ``summarise`` and the report show the test accuracy of the setting trained for the lowest lambda, or of
        settings without one of that with the best validation accuracy. The values of ``target_features`` are added.
    seed : int, default 0
    n_jobs : int, default 1
        Number of processes, -1 for one per core. The result does not depend on it.
    backend : {"loky", "dask", "ray"}, default "loky"
        Processes on this machine, or all workers of a running cluster. The result does not depend on it.
    scheduler : str, optional
        Address of the cluster; required for ``dask``.
    progress : bool, default True
        Whether to show progress on stderr: before a run of more than a minute a line with the expected time, then a bar
        with the remaining time in a terminal and in a notebook, elsewhere a line at most once a minute.
    out : path, optional
        A folder for ``results.csv``, ``losses.csv`` (the losses of ``summarise``), ``report.html`` and the figures as
        PNG; and for ``results.sqlite``, in which each
        finished fit is stored, so that the same call resumes an interrupted comparison and repeats only what failed.
        ``timings.sqlite`` has the CPU time, wall time and peak memory of each fit.
    command : str, optional
        The command that the report names as its origin.
    budget, budget_cost, costs, error_costs, groups, ...
        All options of ``Rules``, with the same defaults; ``groups`` may also map names to feature names. They are used
        to compute the costs of every method, and are also passed to the methods by name that take prices into account
        in training; ``groups`` also to ``group_lasso`` and ``sparse_group_lasso``. A method that breaks a rule is not
        corrected but shown as inadmissible (``admissible`` < 1). With ``error_costs``, every method answers by least
        expected cost: methods by name that have this parameter receive it; any other classifier with class
        probabilities or decision values, also one that you pass, answers by its probabilities, which are calibrated on
        inner folds if it has none (or a ``class_weight``). A classifier that you pass with a parameter ``error_costs``
        answers by itself.

    Returns
    -------
    DataFrame
        One row per (split, method, setting), with ``params`` as JSON. The columns in ``Evaluation.FIGURES`` are
        measured on the test part, after a fit on the whole training part. The columns ``validation_*`` are measured on
        one quarter of the training part, after a fit on the other three quarters; ``refit_spent``, ``refit_n_features``
        and ``refit_n_acquisitions`` on the same rows, after the fit on the whole training part. Column ``price`` holds
        the value of lambda with which ``acquisition_cost`` and ``loss`` were computed (with another one, the loss is
        ``error_cost + lam * spent``). As JSON by name: ``usage``, the share of test rows for which each acquisition was
        made, those of no row left out; ``first`` and ``first_paid``, the share for which it was the first, and the
        first that is not free; ``by_class``, rows, recall and precision of each class on the test part. ``seen`` is the
        share of the test rows that a trained policy was trained on: 0 for methods that are fitted here, NaN if its
        training rows are unknown; where one of them is calibrated, ``promise_n_acquisitions`` and ``promise_spent`` are
        what its promise adds to these figures. ``error`` gives the reason if the fit of this row failed, ``warning``
        the first warning of its fits, or what limits the comparison. ``results.attrs["answer"]`` is the answer in
        words.

    Raises
    ------
    ValueError, TypeError, OSError, ImportError
        If an argument is invalid, data or a folder cannot be used, or an optional dependency is missing; before any
        fit.
    KeyboardInterrupt
        On Ctrl-C, after all finished rows have been written to ``out``.

    Notes
    -----
    Factories, and estimators that are not of fsgym or scikit-learn, are trained and asked in a process apart, which has
    no labels of the test rows.

    An ``out`` folder can be resumed only with the same versions of fsgym and the numerical libraries; otherwise
    ValueError is raised. Policies that are already trained are evaluated by every call, in this process.

    The settings of a method that ignores prices come from its ``sparsity_grid`` on the first training part. If the data
    have missing values, a method that does not accept NaN gets the mean of the column over its training rows instead.
    No method pays for a missing value.

    Examples
    --------
    >>> import fsgym
    >>> results = fsgym.compare("wine", ["cart"], splits=1)
    >>> results.loc[0, ["method", "params", "n_features"]].astype(str).tolist()
    ['cart', '{"ccp_alpha": 1.0}', '0.0']
    """
    asked = {"methods": methods, "panels": panels, "references": references, "splits": splits, "within": within}
    asked |= {"train_share": train_share, "row_groups": row_groups, "lam": lam, "seed": seed, "options": options}
    asked |= {"target": target, "target_cost": target_cost, "target_features": target_features}
    check_backend(backend, scheduler, n_jobs)
    planned = plan_comparison(dataset, asked, out)
    where = ExecutionOptions(n_jobs, backend, scheduler, checked_progress(progress))
    if progress:
        announce_time([planned], where)
    return run_planned(planned, where, command)


def plan_comparison(dataset: Any, asked: Mapping[str, Any], out: str | os.PathLike | None) -> Comparison:
    """Check the arguments of ``compare``, ``asked`` by name, and load the data.

    Raises ValueError, TypeError, OSError or ImportError if one of them is invalid.
    """
    data = _load(dataset, asked["target"], asked["row_groups"])
    own = {name: asked[name] for name in ("splits", "train_share", "seed", "lam", "options")}
    protocol = make_protocol(data, **own, targets={name: asked[name] for name in TARGETS})
    limits = _check_within(asked["within"])
    aims = [int(v) if v.is_integer() else v for name, v in protocol.targets if name == "target_features"]
    limits = tuple(sorted({*limits, *aims})) if aims else limits
    methods = compared_methods(asked["methods"], protocol, asked["panels"], asked["references"])
    return Comparison(protocol, methods, limits, None if out is None else writable_folder(out))


def _errors_in_words(protocol: Any) -> str:
    """The costs of errors in words; "" if each wrong answer costs 1."""
    bins, costs = protocol.dataset.bins, protocol.rules.error_costs
    if bins is not None and bins.are_costs(costs):
        return f"the {bins.error.replace('_', ' ')}, in the unit of the target"
    least = float(unavoidable(costs, protocol.dataset.y).mean())
    best = f"; the best answer to each case costs {short_number(least)} on average" if least else ""
    return describe_error_costs(costs, protocol.dataset.class_labels) + best


def run_planned(planned: Comparison, where: ExecutionOptions, command: str | None, label: str = "") -> pd.DataFrame:
    """Run a comparison and write its files; returns what ``compare`` returns. ``label`` is that of the progress bar."""
    protocol, compared, folder = planned.protocol, planned.methods, planned.folder
    outcomes, interrupted = planned.run(where, label or protocol.dataset.name)
    columns, figures = list(RESULT_COLUMNS), list(FIGURE_COLUMNS)
    if protocol.dataset.bins is not None:
        added = [*NUMBER_FIGURES, *(f"validation_{name}" for name in NUMBER_FIGURES)]
        columns, figures = [*columns, *added], [*figures, *added]
    if any(PROMISE_COLUMNS[0] in o["row"] for o in outcomes):
        columns, figures = [*columns, *PROMISE_COLUMNS], [*figures, *PROMISE_COLUMNS]
    results = pd.DataFrame([o["row"] for o in outcomes]).reindex(columns=columns)
    texts = results[list(JSON_COLUMNS)].astype(object)
    results[list(JSON_COLUMNS)] = texts.where(texts.notna(), float("nan"))
    results = results.astype(dict.fromkeys(figures, float))  # columns without any value, too
    results = results.copy()  # with columns of one type side by side: each selection of rows takes half the time
    results.attrs = {
        "counted": protocol.counted,
        "within": planned.limits,
        "reported": protocol.reported,
        "error_costs": _errors_in_words(protocol),
        "titles": {m.name: m.title for m in compared},
        "fixed": fixed_methods(compared),
        "headline": headline_figures(protocol.rules.error_costs, protocol.dataset.y),
        "has_error_costs": not np.array_equal(protocol.rules.answer_costs, 1 - np.eye(protocol.rules.n_classes)),
        "has_prices": protocol.rules.costs_by_case or bool((protocol.rules.highest_costs != 1).any()),
        "free": bool(free_acquisitions(protocol.rules)),
    }
    sentences = [*answer_in_words(rank_methods(results)), price_caution(results)]
    results.attrs["answer"] = " ".join(filter(None, sentences))
    if folder is not None:
        remove_summaries(folder)
        write_whole(folder / "results.csv", results.to_csv(index=False))
        if not interrupted:
            write_whole(folder / "losses.csv", summarise(results).losses.to_csv(index=False))
    if interrupted:
        advice = "give a folder to store them"
        if folder is not None:
            advice = f"their rows are in {folder / 'results.csv'}; rerun the same command to resume"
        done, fits = planned.fits_done(outcomes)
        raise KeyboardInterrupt(f"stopped after {done} of {fits} fits; {advice}")
    if folder is not None:
        from fsgym.comparison.report import write_report

        run = replace(planned, outcomes=outcomes, results=results, command=command or calling_script())
        write_report(run, folder)
    failed = results["error"].notna().sum()
    if failed:
        first = results.loc[results["error"].notna(), ["method", "error"]].iloc[0]
        warn_caller(f"{failed} of {len(results)} fits failed, the first of {first['method']!r}: {first['error']}")
    for name, rows in results[results["error"].isna()].groupby("method", sort=False):
        seen = rows["seen"].astype(float)
        caution = str(rows["warning"].iloc[0]) if seen.isna().any() else caution_of(seen.mean())
        if caution:
            warn_caller(f"{name}: {caution}")
    return results


def _load(dataset: Any, target: str | None, row_groups: ArrayLike | str | None) -> Dataset:
    """The data set, loaded if it is a table or a name, with the row groups."""
    named = isinstance(row_groups, str)
    if target is not None and isinstance(dataset, Dataset):
        raise TypeError(
            f"{option_text('target')} must be left out if dataset is a Dataset, which has its labels, got "
            f"{brief(target)}"
        )
    if named and isinstance(dataset, Dataset):
        raise TypeError(
            f"{option_text('row_groups')} must be labels, one per row, if dataset is a Dataset, got the name "
            f"{row_groups!r}; a name is "
            "that of a column of a table or file"
        )
    if isinstance(dataset, Dataset):
        data = dataset
    else:
        from fsgym.datasets import load_dataset

        data = load_dataset(dataset, target=target, row_groups=row_groups if named else None)
    return data if named or row_groups is None else data.replace(row_groups=row_groups)


def _check_within(within: Any) -> tuple[float, ...]:
    """The limits as a tuple; TypeError or ValueError if they are invalid."""
    try:
        limits = tuple(v if isinstance(v, int) else float(v) for v in (() if isinstance(within, str) else within))
    except (TypeError, ValueError):
        raise TypeError(f"within must be numbers of features, got {brief(within)}") from None
    if not limits or not all(0 <= v < float("inf") for v in limits):
        raise ValueError(f"within must be numbers of features, finite and not negative, got {brief(within)}")
    return limits


def calling_script() -> str:
    """The call of a script as the origin of a report."""
    return "fsgym.compare(...) in " + shlex.quote(Path(sys.argv[0] or "python").name)


# ``compare_datasets``: methods compared on several data sets, with a test of their ranks over them.

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
    >>> asked = {"splits": 1, "lam": 0.01, "references": False}
    >>> result = fsgym.compare_datasets(["wine", "breast_cancer"], ["cart", "lars"], **asked)
    >>> result.losses.index.tolist(), result.answer
    (['wine', 'breast_cancer'], ['No rank test: it needs at least 3 data sets, got 2.'])
    """
    if isinstance(datasets, str | os.PathLike | Dataset | pd.DataFrame) or not isinstance(datasets, Iterable):
        raise TypeError(f"datasets must be a list of data sets, got {brief(datasets)}; compare takes a single one")
    datasets = list(datasets)
    tables = [isinstance(dataset, pd.DataFrame) for dataset in datasets]  # ``load_dataset`` names them "data"
    names = ["data" if t else d.name if isinstance(d, Dataset) else str(d) for d, t in zip(datasets, tables)]
    for name in by_dataset or {}:
        if name not in names:
            raise ValueError(f"by_dataset: {explain_unknown('data set', name, names)}")
    asked = _arguments_of_compare(methods, arguments)
    where = ExecutionOptions(asked["n_jobs"], asked["backend"], asked["scheduler"], checked_progress(progress))
    check_backend(where.backend, where.scheduler, where.n_jobs)
    folder = None if out is None else writable_folder(out)
    planned: dict[str, Comparison] = {}
    for dataset, given in zip(datasets, names, strict=True):
        own = (by_dataset or {}).get(given, {})
        one = plan_comparison(dataset, _arguments_of_compare(methods, {**arguments, **own}), None)
        name = one.protocol.dataset.name
        if folder_name(name) in map(folder_name, planned):
            remedy = "rename a file" if is_command() else "give another one by load_dataset(...).replace(name=...)"
            raise ValueError(f"each data set must have a name of its own, got {name!r} twice; {remedy}")
        planned[name] = one
    if not planned:
        raise ValueError("datasets must have at least one data set, got none")
    if folder is not None:
        planned = {name: replace(p, folder=writable_folder(folder / folder_name(name))) for name, p in planned.items()}
        remove_summaries(folder)
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

        write_whole(folder / "losses.csv", result.losses_table().to_csv())
        if result.rank_test is not None:
            write_whole(folder / "ranks.csv", result.ranks_table().to_csv(index=False))
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
