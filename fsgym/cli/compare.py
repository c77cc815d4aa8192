"""The command ``compare``: methods on one or several data sets, and what is printed of their results."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fsgym
from fsgym.cli import options
from fsgym.cli.mistakes import MAX_SEED, RESULT_FILES, refuse_file, whole_number
from fsgym.cli.terminal import console, say, show, wrapped
from fsgym.cli.warm import say_of_first_run
from fsgym.methods import DEFAULT_AGENT, DEFAULT_METHODS, METHODS, method_names
from fsgym.support.checks import MAX_SPLITS
from fsgym.text.messages import explain_unknown

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from fsgym.comparison.ranking import DatasetsResult, Ranking
    from fsgym.data.dataset import Dataset

MAX_LAMBDAS = 3  # with a column in the table of differences from a method of the user
TABLE_WIDTH = 80  # columns into which a table fits
UNLIMITED = 1000  # columns for the measure of a table


@options.with_table_options
@options.with_rule_options
def compare(
    context: typer.Context,
    data: options.DataSetsArgument,
    methods: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Methods, separated by commas.", autocompletion=options.complete_methods),
    ] = ",".join(DEFAULT_METHODS),
    mine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]MODULE:FACTORY",
            help="A method of your own, as module:function (the current directory is searched) or "
            "path/to/file.py:function: a function train(env) -> policy, or one without arguments that returns a "
            "scikit-learn estimator or Pipeline, or a list of them. NAME= before it is its name in the results. Repeat "
            "the option for several methods. Code from a stranger can read your files: read it first.",
        ),
    ] = None,
    panel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]NAMES",
            help="A fixed set of acquisitions of your own, separated by commas, such as crp,ecg, compared as one "
            "method; what costs nothing comes with it. NAME= before it is its name in the results. Repeat the option "
            "for several sets.",
        ),
    ] = None,
    references: Annotated[
        bool,
        typer.Option(help="Whether to add the two ends: one answer with nothing acquired, and everything acquired."),
    ] = True,
    splits: Annotated[
        int,
        typer.Option(callback=whole_number(1, MAX_SPLITS), help="Number of random splits into training and test part."),
    ] = 5,
    train_share: Annotated[float, typer.Option(help="Share of the rows for training.")] = 0.5,
    lam: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Exchange rate (lambda): the value of one unit of --costs, in units of error cost. Price-aware "
            "methods are trained, and the loss is reported, at each value; separate several by commas. Default: 0, "
            ".001, .003, .01, .02, .03, .05, .1, .15, .2, .3, divided by the mean cost; or 0, .03, .1, .3, 1, 3, 10 if "
            "--error-costs is given.",
            show_default=False,
        ),
    ] = None,
    target_cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBERS",
            help="Largest mean prices paid, in units of --costs, separated by commas: methods that can find the lambda "
            "for a target, such as lattice, have these settings instead of values of lambda.",
        ),
    ] = None,
    target_features: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBERS", help="Largest mean numbers of features used; as --target-cost."),
    ] = None,
    target: options.TargetOption = None,
    drop: options.DropOption = None,
    row_groups: options.RowGroupsOption = None,
    data_dir: options.DataDirOption = None,
    seed: Annotated[
        int,
        typer.Option(callback=whole_number(0, MAX_SEED), help="The same seed gives the same table."),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for results.csv, report.html, figures; default: fsgym-results/NAME. With several data sets, "
            "each has its folder NAME in this one; default: fsgym-results.",
        ),
    ] = None,
    latex: options.LatexOption = False,
    figures: options.FiguresOption = "png",
    jobs: options.JobsOption = -1,
    backend: options.BackendOption = "loky",
    scheduler: options.SchedulerOption = None,
    **rules: Any,
) -> None:
    """Compare methods on a data set: accuracy, features used and price paid, on the same splits.

    With three data sets or more, a test of the methods' ranks over them follows. Rerun an interrupted command to resume
    it.

    Example: fsgym compare patients.csv --target died --methods panel,cart
    """
    prices, costs, features = (
        _parse_numbers(texts, f"--{name}")
        for name, texts in (("lam", lam), ("target-cost", target_cost), ("target-features", target_features))
    )
    names = options.comma_separated([methods])
    _check_comparison(names, train_share, backend, scheduler)
    refuse_file(out, RESULT_FILES)
    own = load_own_methods(mine or ())
    tasks = [
        options.read_task(one, rules, data_dir=data_dir, target=target, drop=drop, row_groups=row_groups)
        for one in data
    ]
    compared: dict[str, Any] = {
        "methods": dict(zip(names, names)) | own,
        "panels": named_panels(panel or ()),
        "references": references,
        "splits": splits,
        "train_share": train_share,
        "lam": prices,
        "target_cost": costs,
        "target_features": features,
        "seed": seed,
        "n_jobs": jobs,
        "backend": backend,
        "scheduler": scheduler,
        "command": shlex.join(["fsgym", *(context.obj or [])]),
    }
    from fsgym.comparison.report import figures_as

    say_of_first_run()
    with warnings.catch_warnings(), figures_as(figures):
        warnings.simplefilter("ignore")  # failed fits are reported below
        failed = compare_and_show([(loaded.dataset, given) for loaded, given, _ in tasks], compared, out, latex, own)
    if failed:
        say(failed)
        raise typer.Exit(1)


def _parse_numbers(texts: Sequence[str] | None, option: str) -> list[float] | None:
    if not texts:
        return None
    values = options.comma_separated(texts)
    if any(len(v) > 1 and v.isdecimal() and v.startswith("0") for v in values):
        raise ValueError(f"{option} must be numbers with a decimal point, separated by commas, got {', '.join(texts)}")
    try:
        return [float(v) for v in values]
    except ValueError as error:
        raise ValueError(f"{option} must be numbers separated by commas: {error}") from None


def _check_comparison(methods: Sequence[str], train_share: float, backend: str, scheduler: str | None) -> None:
    """ValueError for a name of no method, a share or a backend that cannot be used."""
    known = method_names()
    for name in methods:
        if name not in known:
            raise ValueError(explain_unknown("method", name, known))
    if not 0.0 < train_share < 1.0:
        raise ValueError(f"--train-share must lie strictly between 0 and 1, got {train_share}")
    from fsgym.runner.executors import check_backend

    check_backend(backend, scheduler, 1)


def load_own_methods(references: Sequence[str]) -> dict[str, Any]:
    """The methods of the user that ``--mine`` names, by the name before a ``=`` or the last part of the reference."""
    if not references:
        return {}
    from fsgym.comparison.policies import load_method
    from fsgym.methods.factories import named_reference

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    own: dict[str, Any] = {}
    for name, reference in map(named_reference, references):
        if name in own:
            raise ValueError(f"--mine names {name!r} twice; give each method a name of its own: NAME={reference}")
        own[name] = load_method(reference)
    return own


def named_panels(texts: Sequence[str]) -> dict[str, list[str]]:
    """The acquisitions of each ``--panel``, by the name before a ``=`` or by themselves.

    >>> named_panels(["crp,ecg", "by phone=pain, age"])
    {'panel crp, ecg': ['crp', 'ecg'], 'by phone': ['pain', 'age']}
    """
    panels: dict[str, list[str]] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        listed, name = options.comma_separated([after if equals else text]), before.strip()
        name = name if equals else f"panel {', '.join(listed)}"
        if not name or not listed:
            raise ValueError(f"--panel must be names of acquisitions, or NAME= and these, got {text!r}")
        if name in panels:
            raise ValueError(f"--panel has {name!r} twice; give each set a name of its own: NAME={after or text}")
        panels[name] = listed
    return panels


def compare_and_show(
    tasks: Sequence[tuple[Dataset, dict[str, Any]]],
    compared: Mapping[str, Any],
    out: Path | None,
    latex: bool = False,
    own: Iterable[str] = (),
) -> str:
    """Compare on the data sets, each with its options of the rules, and print the results; what failed, or "".

    Methods of the user's ``own`` have a table of their differences from each other method.
    """
    from fsgym.comparison.ranking import folder_name

    if len(tasks) == 1:
        ((dataset, given),) = tasks
        folder = out or Path("fsgym-results", folder_name(dataset.name))
        results = fsgym.compare(dataset, out=folder, **compared, **given)
        show_comparison(results)
        _show_differences({dataset.name: results}, own, folder)
        show(f"Report: {folder / 'report.html'}    Table: {folder / 'results.csv'}")
        if latex:
            _write_latex({dataset.name: results}, folder)
        return _failures(results)
    folder = out or Path("fsgym-results")
    by_dataset = {dataset.name: given for dataset, given in tasks}
    result = fsgym.compare_datasets([dataset for dataset, _ in tasks], by_dataset=by_dataset, out=folder, **compared)
    _show_datasets(result)
    _show_differences(result.results, own, folder)
    show(f"Report: {folder / 'report.html'}    Tables: {folder / 'losses.csv'}, {folder}/NAME/results.csv")
    if latex:
        _write_latex(result.results, folder)
    return _failures(result.to_frame())


def _show_differences(results: Mapping[str, pd.DataFrame], own: Iterable[str], folder: Path) -> None:
    """Print and write how each other method differs from each of the user's: by lambda, or by data set at the first."""
    import pandas as pd
    from rich.markup import escape

    from fsgym.comparison.answer import difference_text
    from fsgym.comparison.ranking import differences_of, method_titles, rank_methods
    from fsgym.support.writing import write_whole

    out, written = console(markup=True), []
    for method in own:
        found = {name: differences_of(table, method) for name, table in results.items()}
        written += [table.assign(dataset=name) for name, table in found.items()]
        cells: dict[str, dict[str, str]] = {}
        for name, table in found.items():
            if (ranking := rank_methods(results[name])) is None:
                continue
            lams = list(table["lam"].unique())[: MAX_LAMBDAS if len(results) == 1 else 1]
            for row in table[table["lam"].isin(lams)].to_dict("records"):
                column = name if len(results) > 1 else f"lambda {row['lam']:.4g}"
                cells.setdefault(row["other"], {})[column] = difference_text(ranking, row)
        columns = list(dict.fromkeys(column for row in cells.values() for column in row))
        if not columns:
            continue
        shown = _table(f"Loss minus that of {escape(method)}", *map(escape, columns))
        titles = {name: title for table in results.values() for name, title in method_titles(table).items()}
        for other, row in cells.items():
            shown.add_row(escape(titles[other]), *(row.get(column, "–") for column in columns))
        out.print(shown, "")
        out.print(
            f"Above 0, {escape(method)} has the lower loss; p by the same test, not corrected for the number of "
            "methods. differences.csv has them at every lambda, with intervals.",
            style="dim",
        )
    if written:
        write_whole(folder / "differences.csv", pd.concat(written).set_index("dataset").to_csv())


def _write_latex(results: Mapping[str, pd.DataFrame], folder: Path) -> None:
    """Write the losses of these data sets as ``losses.tex``."""
    from fsgym.comparison.latex import losses_latex
    from fsgym.support.writing import write_whole

    path = folder / "losses.tex"
    write_whole(path, losses_latex(results))
    show(f"LaTeX: {path}")


def _failures(results: pd.DataFrame) -> str:
    failed = results[results["error"].notna()]
    if failed.empty:
        return ""
    first = failed.iloc[0]
    return f"{len(failed)} of {len(results)} fits failed, the first of {first['method']}: {first['error']}"


def _show_datasets(result: DatasetsResult) -> None:
    """Print what the rank test says, the answer on each data set, and the losses with the mean ranks."""
    from rich.markup import escape

    from fsgym.comparison.answer import elsewhere_in_words, lambdas_text, noise_over_datasets

    out = console(markup=True)
    first, *others = result.answer
    _print_answer(out, first, " ".join(others), elsewhere_in_words(result))
    for name, results in result.results.items():
        out.print(escape(wrapped(f"{name}: {results.attrs['answer']}", out.width)), "")
    test = result.rank_test
    ranks = {} if test is None else test.mean_ranks.to_dict()
    table = _table(f"Losses at lambda {lambdas_text(result)}")
    for name in result.losses.index:
        table.add_column(escape(str(name)), justify="right", overflow="fold")
    if ranks:
        table.add_column("mean rank", justify="right", no_wrap=True)
    for method in [*ranks, *(m for m in result.losses if m not in ranks)]:
        cells = ["–" if v != v else f"{v:.3f}" for v in result.losses[method]]
        cells += ([f"{ranks[method]:.2f}"] if method in ranks else ["–"]) if ranks else []
        table.add_row(escape(result.titles[method]), *cells)
    out.print(table, "")
    for sentence in (
        "Losses are means over the test parts; losses.csv has those at every lambda.",
        *noise_over_datasets(result.results),
    ):
        out.print(sentence, style="dim")


def show_comparison(results: pd.DataFrame) -> None:
    """Print a comparison: the answer, then tables that fit into 80 columns unless names are long."""
    from rich.markup import escape

    from fsgym.comparison.answer import (
        DIFFERENCE,
        FROM_BEST,
        INTERVAL,
        answer_in_words,
        best_elsewhere,
        noise_in_words,
        price_caution,
    )
    from fsgym.comparison.noise import MIN_PAIRS
    from fsgym.comparison.ranking import rank_methods
    from fsgym.comparison.summary import summarise

    ranking = rank_methods(results)
    if ranking is None:
        return
    out = console(markup=True)
    first, *others = answer_in_words(ranking)
    _print_answer(out, first, price_caution(results), " ".join(others), best_elsewhere(results))
    if results.attrs.get("error_costs"):
        out.print(f"Error costs: {escape(results.attrs['error_costs'])}.", end="\n\n")
    table = _headline(ranking)
    width = out.measure(table, options=out.options.update(width=UNLIMITED)).maximum
    says_noise = any(s.verdict not in ("", "unknown") for s in ranking.standings)
    left_out = (INTERVAL, DIFFERENCE) if ranking.has_error_costs and says_noise else (FROM_BEST,)
    has_differences = ranking.has_error_costs and ranking.splits >= MIN_PAIRS
    room = out.width if has_differences else min(out.width, TABLE_WIDTH)
    for k in range(1, len(left_out) + 1):
        if width > room:
            table = _headline(ranking, left_out[:k])
            width = out.measure(table, options=out.options.update(width=UNLIMITED)).maximum
    out.print(table, "")
    names = {s.method: escape(s.title) for s in ranking.standings if not s.reference}
    within = summarise(results).within
    within = within[within["method"].isin(within.dropna(subset=["accuracy"])["method"]) & within["method"].isin(names)]
    remarks = _remarks(ranking, noise_in_words(results))
    if len(within) and not ranking.has_error_costs:
        out.print(_within_table(within, names, ranking), "")
        remarks.insert(2, _choice_within(ranking))
    for sentence in remarks:
        out.print(escape(sentence), style="dim")


def _print_answer(out: Console, first: str, *more: str) -> None:
    """Print an answer, its first sentence in bold."""
    from rich.markup import escape

    out.print(f"[bold]{escape(wrapped(first, out.width))}[/bold]")
    for text in filter(None, more):
        out.print(escape(wrapped(text, out.width)))
    out.print("")


def _headline(ranking: Ranking, left_out: Sequence[str] = ()) -> Table:
    """One row per method at its chosen settings, but for some columns; reference points are dim and come last."""
    from rich.markup import escape

    from fsgym.comparison.answer import headline_table
    from fsgym.comparison.noise import MIN_PAIRS

    columns = {
        heading: cells for heading, cells in headline_table(ranking, short=True).items() if heading not in left_out
    }
    few = f" (better {MIN_PAIRS} or more)" if ranking.splits < MIN_PAIRS else ""
    title = f"Methods at lambda {ranking.lam:.4g}, over {ranking.splits} split{'s' * (ranking.splits > 1)}{few}"
    shown = _table(title, *map(_two_lines, columns))
    best = ranking.best
    for standing, *cells in zip(ranking.standings, *columns.values(), strict=True):
        style = "dim" if standing.reference else "bold" if standing is best else ""
        mark = "" if not standing.note else " !" if standing.flag else " *"
        shown.add_row(escape(standing.title + mark), *map(escape, cells), style=style)
    return shown


def _two_lines(heading: str) -> str:
    """A heading with its last word on a second line, each line of at most 12 characters."""
    from rich.markup import escape

    from fsgym.comparison.figures import shorten_name

    first, _, last = heading.rpartition(" ")
    lines = [shorten_name(line, 12) for line in (first, last) if line]
    return escape("\n".join(lines))


def _remarks(ranking: Ranking, noise: Sequence[str]) -> list[str]:
    """What a reader needs to understand the table, and where the rest is."""
    from fsgym.comparison.noise import MIN_PAIRS

    loss = "Cost per case" if ranking.has_error_costs else "Loss"
    remarks = [
        f"{loss}: cost of errors + lambda x price paid. Lambda is the value of one unit of cost, in units of error "
        "cost.",
        "Methods that are trained for a lambda are at this one, others at the setting that was best on the validation "
        "parts; figures are means over the test parts"
        + (" (± standard deviation)." if ranking.splits > 1 and not ranking.has_error_costs else "."),
        *noise,
    ]
    if ranking.has_error_costs and ranking.splits >= MIN_PAIRS:
        remarks.append(
            "Above best, in the report where there is no room here: the difference from the best with its 95 % "
            "interval; noise where that contains 0."
        )
    remarks += [f"{'!' if s.flag else '*'} {s.title}: {s.note}." for s in ranking.standings if s.note]
    remarks += _how_to_train(ranking)
    if any(s.reference for s in ranking.standings):
        remarks.append("The last rows are reference points.")
    return [*remarks, "All settings, and the losses at other lambdas, are in the report and in results.csv."]


def _how_to_train(ranking: Ranking) -> list[str]:
    """How the best method is trained, where ``fsgym train`` has no such agent."""
    from fsgym.comparison.answer import cost_text
    from fsgym.comparison.compared import MEAN_PRICES

    best = ranking.best
    method = None if best is None or best.reference else METHODS.get(best.method)
    if best is None or method is None or method.kind:
        return []
    is_number = "absolute_error" in best.chosen and best.chosen["absolute_error"].notna().any()
    estimator = method.regressor if is_number and method.regressor else method.estimator
    by = estimator.replace(":", ".") if isinstance(estimator, str) else f"{estimator.__module__}.{estimator.__name__}"
    settings = best.chosen["params"].iloc[0]
    text = f"fsgym train has only agents; {best.title} is trained in Python, by {by} with {settings}."
    for other in ranking.standings:
        trained_so = not other.title.endswith(MEAN_PRICES)  # other agents refuse prices by case
        if other.verdict == "noise" and other.method in options.agent_names() and trained_so:
            how = "trains unless told otherwise" if other.method == DEFAULT_AGENT else f"--agent {other.method} trains"
            loss = cost_text(ranking, other.figures["loss"])
            return [f"{text} {other.title}, which fsgym train {how}, is within noise of it ({loss})."]
    return [text]


def _choice_within(ranking: Ranking) -> str:
    """How the settings of the second table were chosen, and why they need not be those of the first one."""
    return (
        f"The first table is at this lambda. The second has, of the settings that use at most k {ranking.unit}, the "
        "one that was trained for the lowest lambda, or of those without one that with the best accuracy on the "
        f"validation rows (of equal ones that with the fewest {ranking.unit}); –: in some split there is none."
    )


def _table(title: str, *columns: str) -> Table:
    """A table whose first column, without a heading, holds names."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("", min_width=16, max_width=40)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _within_table(within: pd.DataFrame, names: dict[str, str], ranking: Ranking) -> Table:
    unit, counted, limits = ranking.unit, ranking.counted, list(dict.fromkeys(within["k"]))
    title = f"Accuracy with at most k {unit} on average (in brackets: {unit} used)"
    table = _table(title, *(f"k = {k:g}" for k in limits))
    for method, rows in within.groupby("method", sort=False):
        cells = [
            "–"
            if row["accuracy"] != row["accuracy"]
            else f"{row['accuracy']:.3f} ({row[counted]:.1f}){'!' if row['admissible'] < 1 else ''}"
            for row in rows.to_dict("records")
        ]
        table.add_row(names[str(method)], *cells)
    return table
