"""Arguments that several commands share, including the options of the rules: how they are completed and read."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from glob import escape, glob
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from fsgym.cli.mistakes import check_data, check_rule_files, existing_folder, figure_format, process_count
from fsgym.cli.terminal import say
from fsgym.data.targets import N_BINS
from fsgym.methods import METHODS, method_names
from fsgym.rules.options import Form, RuleOption, unnamed_options
from fsgym.text.messages import brief

if TYPE_CHECKING:
    from fsgym.data.reading.reading import Reading
    from fsgym.datasets.folder import LoadedDataset


def agent_names() -> list[str]:
    """Names of the methods of ``METHODS`` that can be trained and saved to a model file."""
    return [name for name, method in METHODS.items() if method.kind]


def complete_data(incomplete: str) -> list[str]:
    """Names of data sets, and paths, that begin with the text; paths of folders end with a slash."""
    from fsgym.datasets.folder import EMBEDDED, find_folder, read_manifest
    from fsgym.datasets.generators import GENERATORS
    from fsgym.datasets.openml import OPENML

    names = [*EMBEDDED, *GENERATORS, *OPENML]
    try:
        folder = find_folder(None)
        names += [] if folder is None else read_manifest(folder)
    except (OSError, ValueError):  # no folder, or a damaged manifest
        pass
    paths = [f"{path}/" if Path(path).is_dir() else path for path in sorted(glob(f"{escape(incomplete)}*"))]
    return [name for name in sorted(set(names)) if name.startswith(incomplete)] + paths


def complete_methods(incomplete: str) -> list[str]:
    """The text, names of methods separated by commas, with its last name completed."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    return [f"{before}{comma}{n}" for n in method_names() if n.startswith(last) and n not in chosen]


def complete_agent(incomplete: str) -> list[str]:
    """Names of agents that begin with the text."""
    return [name for name in agent_names() if name.startswith(incomplete)]


def complete_variant(incomplete: str) -> list[str]:
    """Ids of this project's environments that begin with the text."""
    from fsgym.envs.ids import VARIANTS

    return [name for name in VARIANTS if name.startswith(incomplete)]


DataArgument = Annotated[
    str,
    typer.Argument(
        help="A name from `fsgym datasets`, a CSV, Excel, Parquet or npz file, or openml:NAME.",
        autocompletion=complete_data,
    ),
]
DataSetsArgument = Annotated[
    list[str],
    typer.Argument(
        help="Names from `fsgym datasets`, CSV, Excel, Parquet or npz files, or openml:NAME; one or several.",
        autocompletion=complete_data,
    ),
]
TargetOption = Annotated[str | None, typer.Option(help="Column of a CSV file with the classes; default: target.")]
DropOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to leave out, such as identifiers; separate several by commas, or repeat the option.",
    ),
]
RowGroupsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of a CSV file that says which rows belong together, such as the patient of each visit: they stay "
        "on the same side of every split. It is not a feature. Or duplicates: rows with equal features stay together.",
    ),
]
LatexOption = Annotated[
    bool,
    typer.Option(
        "--latex", help="Also write the losses as tables for LaTeX: ±, the best bold, noise marked where it is tested."
    ),
]
FiguresOption = Annotated[
    str,
    typer.Option(metavar="png|pdf", callback=figure_format, help="Files of the figures: png, or pdf for both kinds."),
]
JobsOption = Annotated[
    int,
    typer.Option(
        callback=process_count, help="Number of processes, -1 for one per core. The result does not depend on it."
    ),
]
BackendOption = Annotated[
    str, typer.Option(help="Where to run: loky on this machine, dask or ray on a running cluster.")
]
SchedulerOption = Annotated[str | None, typer.Option(help="Address of the cluster; required for dask.")]
DataDirOption = Annotated[
    Path | None, typer.Option(callback=existing_folder, help="Folder with data sets; default: $FSGYM_DATA.")
]
SkipMissingOption = Annotated[
    bool,
    typer.Option("--skip-missing", help="Leave out data sets that are not there, and name them in the report."),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(help="A file written by `fsgym train` or by save() of a classifier."),
]
RowsArgument = Annotated[
    str, typer.Argument(help="A CSV, Excel or Parquet file, or another data set as in train; it needs no labels.")
]
CategoryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns that are categories whatever they hold, such as codes; separate several by commas.",
    ),
]
NumericOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns of numbers: cells that are no number become missing; separate several by commas.",
    ),
]
SeparatorOption = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="Separator of a CSV file, or tab; default: the one found.")
]
DecimalOption = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Decimal sign of a CSV file, a point or a comma; default: as found.")
]
ThousandsOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIGN", help="What separates thousands: a comma, point, apostrophe or space; default: as found."
    ),
]
CensoredOption = Annotated[
    str | None,
    typer.Option(
        metavar="limit|half|missing",
        help="What a number such as <1.5 or >200 counts as: its limit, half of it (below a positive limit), missing.",
    ),
]
SheetOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Sheet of an Excel workbook, or its number from 1; default: with a model that of its training, if the "
        "workbook has it, otherwise the only one with content.",
    ),
]
HeaderRowOption = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Row with the names of the columns, from 1, in an Excel sheet or a text file; default: the first that is "
        "not empty.",
    ),
]
UnitsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE|NAME=UNIT,...",
        help="Units of the columns, or of a numeric target, shown beside their values: as crp=mg/l,hgb=g/dl, or a "
        "JSON file {column: unit}.",
    ),
]
MissingColumnsOption = Annotated[
    str,
    typer.Option(
        metavar="error|unavailable",
        help="Whether a column of the model that the file lacks is an error, or is unavailable for every row.",
    ),
]
NoResultOption = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT",
        help="With --next: cells with this text say that the acquisition was made and brought no result, so that it is "
        "not asked again; an empty cell is not acquired yet.",
    ),
]
NumericTargetOption = Annotated[
    bool | None,
    typer.Option(
        "--numeric-target",
        show_default=False,
        help="The target is a number, such as a price or a duration: the model answers with one.",
    ),
]
BinsOption = Annotated[
    int | None,
    typer.Option(
        help="With --numeric-target: from so many bins of about equal size the model chooses its answer; default: 16."
    ),
]
EdgesOption = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="With --numeric-target: the edges between the bins, as 4.5,5.5, instead."),
]
AnswersOption = Annotated[
    str | None,
    typer.Option(
        metavar="median|mean",
        help="With --numeric-target: the answer of a bin; medians are for the absolute error, means for the squared "
        "error. Default: median.",
    ),
]
OrderedOption = Annotated[
    str | None,
    typer.Option(
        metavar="CLASSES",
        help="The classes are grades in this order, as mild,moderate,severe: an answer costs more, the further off.",
    ),
]
OrderedCostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="linear|squared", help="With --ordered: cost by the number of grades, or its square. Default: linear."
    ),
]
CasePriceOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COLUMN",
        help="The price of an acquisition is in this column of the table, for each row its own; repeat it, or separate "
        "several by commas.",
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse rows that differ from the training rows, instead of saying so.")
]
LanguageOption = Annotated[
    str, typer.Option(metavar="en|de", help="Language of the page; names, levels and classes stay those of the data.")
]
CurrencyOption = Annotated[
    str,
    typer.Option(help="Unit of the prices, such as EUR, shown with each of them.", show_default=False),
]
TABLE_OPTIONS: dict[str, Any] = {
    "category": CategoryOption,
    "numeric": NumericOption,
    "separator": SeparatorOption,
    "decimal": DecimalOption,
    "thousands": ThousandsOption,
    "censored": CensoredOption,
    "sheet": SheetOption,
    "header_row": HeaderRowOption,
    "units": UnitsOption,
    "case_price": CasePriceOption,
    "numeric_target": NumericTargetOption,
    "bins": BinsOption,
    "edges": EdgesOption,
    "answers": AnswersOption,
    "ordered": OrderedOption,
    "ordered_costs": OrderedCostsOption,
}
SIGN_OPTIONS = (
    "separator",
    "decimal",
    "thousands",
    "censored",
    "sheet",
    "header_row",
)  # how the cells of a table are written
Command = TypeVar("Command", bound=Callable[..., None])


class Argument(NamedTuple):
    """The command-line argument for an option of the rules: its type, its placeholder in the help, the file format."""

    type: Any
    metavar: str | None = None
    format: str = ""


FORMS: dict[Form, Argument] = {
    "number": Argument(float | None),
    "count": Argument(int | None),
    "flag": Argument(bool),
    "word": Argument(str),
    "text": Argument(str, "TEXT"),
    "prices": Argument(
        str | None,
        "FILE|NUMBER",
        "One number, or a file: CSV or the sheet prices of an Excel workbook with lines NAME,PRICE, JSON {name: price} "
        "or JSON {data set: {costs: {name: price}}}.",
    ),
    "pairs": Argument(
        Path | None,
        "FILE",
        "JSON list of pairs of names, in either order; or a matrix with names in its first row and column, CSV or the "
        "sheet related of a workbook: 1 where the acquisition of the row is related to that of the column, else 0.",
    ),
    "needs": Argument(
        Path | None,
        "FILE",
        "JSON {name: [names it needs]}, or a matrix with names in its first row and column, CSV or the sheet needs of "
        "a workbook, in which a row has 1 for each acquisition that it needs, otherwise 0.",
    ),
    "errors": Argument(
        Path | None,
        "FILE",
        "Matrix with the true classes in its first row and the answers in its first column, CSV or the sheet errors of "
        "an Excel workbook; or JSON {answer: {true class: cost}}.",
    ),
    "groups": Argument(Path | None, "FILE", "JSON {group name: [feature names]}."),
}
GroupsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help=f"Features that are acquired together. {FORMS['groups'].format}"),
]


def with_table_options(command: Command) -> Command:
    """Add the options of how a table is read after ``--drop``; the command receives them in its ``**`` argument."""
    return _with_options_after("drop", command, [(name, None, form) for name, form in TABLE_OPTIONS.items()])


def with_sign_options(command: Command) -> Command:
    """Add how the cells of a table are written before ``--data-dir``; the command receives them as ``**signs``."""
    names = [*inspect.signature(command).parameters]
    last = names[names.index("data_dir") - 1]
    return _with_options_after(last, command, [(name, None, TABLE_OPTIONS[name]) for name in SIGN_OPTIONS])


def with_rule_options(command: Command) -> Command:
    """Add an argument for each option of ``Rules`` after ``--lam``; the command receives them as ``**rules``."""
    return _with_options_after("lam", command, [(o.name, o.default, _form_of(o)) for o in unnamed_options(command)])


def _with_options_after(last: str, command: Command, options: Iterable[tuple[str, Any, Any]]) -> Command:
    """Add options after one of a command's own; each is its name, its default and its annotation for typer."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    own = [p.replace(kind=p.KEYWORD_ONLY) for p in parameters if p.kind is not p.VAR_KEYWORD]
    place = [p.name for p in own].index(last) + 1
    own[place:place] = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=form)
        for name, default, form in options
    ]
    command.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    return command


def _form_of(option: RuleOption) -> Any:
    """The annotation for typer of an option of ``Rules``."""
    form = FORMS[option.form]
    metavar = "|".join([form.metavar, *option.words] if form.metavar else option.words) or None
    return Annotated[form.type, typer.Option(metavar=metavar, help=f"{option.help} {form.format}".rstrip())]


def read_task(
    data: str,
    rules: Mapping[str, Any],
    *,
    data_dir: Path | None,
    target: str | None,
    drop: Sequence[str] | None,
    row_groups: str | None,
    split: str = "all",
    in_blocks: bool = False,
) -> tuple[LoadedDataset, dict[str, Any], Reading]:
    """All rows of the data set that the arguments name, with groups; the other options of the rules; how it is read.

    ``rules`` may have those of ``TABLE_OPTIONS``, too. ``split`` is only checked. Warnings are printed.
    With ``in_blocks`` a large file is not read: its ``dataset`` are ``Blocks``.
    """
    check_rule_files(rules)
    check_data(data, data_dir, split)
    from fsgym.cli.case_prices import with_case_prices
    from fsgym.cli.files import read_groups, read_rule_options
    from fsgym.data.blocks import blocks_of, is_large
    from fsgym.data.reading.reading import check_reading
    from fsgym.datasets.folder import LoadedDataset
    from fsgym.datasets.loading import load_whole

    given = reading_of(rules, target=target, drop=drop, row_groups=row_groups)
    path = Path(data).expanduser()
    with warnings_printed():
        if in_blocks and is_large(path, given):
            blocks: Any = blocks_of(path, given)
            loaded = LoadedDataset(blocks)
        else:
            loaded = load_whole(data, given, data_dir, split)
    dataset = loaded.dataset
    if rules["groups"] is not None:
        dataset = dataset.with_groups(read_groups(rules["groups"]))
    options = {name: value for name, value in rules.items() if name not in ("groups", *TABLE_OPTIONS)}
    with warnings_printed():
        read = read_rule_options(options, getattr(dataset, "sketch", dataset), data_dir, given.drop)
    if loaded.prices:  # the others have those of --costs
        dataset, read["costs"] = with_case_prices(dataset, loaded.prices, read["costs"]), None
    return loaded._replace(dataset=dataset), read, check_reading(given)


def reading_of(
    options: Mapping[str, Any], *, target: str | None, drop: Sequence[str] | None, row_groups: str | None
) -> Reading:
    """How a table is read, from these arguments and those of ``TABLE_OPTIONS`` that the command has."""
    from fsgym.cli.files import read_units
    from fsgym.data.reading.reading import Reading

    listed = {"drop": drop, "category": options.get("category"), "numeric": options.get("numeric")}
    names: dict[str, Any] = {option: tuple(comma_separated(value)) for option, value in listed.items()}
    sign: dict[str, Any] = {option: options.get(option) for option in SIGN_OPTIONS}
    names |= _target_options(options) | {"case_price": columns_by_name(options.get("case_price")) or None}
    return Reading(target=target, row_groups=row_groups, units=read_units(options.get("units")), **names, **sign)


def _target_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """How the target is read, as fields of ``Reading``, from the options of the command line."""
    found: dict[str, Any] = {}
    edges, ordered = given.get("edges"), given.get("ordered")
    for needed, names in {"numeric_target": ("bins", "edges", "answers"), "ordered": ("ordered_costs",)}.items():
        for name in names:
            if given.get(name) is not None and not given.get(needed):
                raise ValueError(f"--{name.replace('_', '-')} needs --{needed.replace('_', '-')}; add it")
    if edges is not None and given.get("bins") is not None:
        raise ValueError("--bins and --edges must not both be given; leave one of them out")
    if given.get("numeric_target"):
        found["bins"] = N_BINS if given.get("bins") is None else given["bins"]
    if edges is not None:
        try:
            found["bins"] = tuple(float(text) for text in comma_separated([edges]))
        except ValueError:
            raise ValueError(f"--edges must be numbers separated by commas, as 4.5,5.5, got {edges!r}") from None
    if ordered is not None:
        found["ordered"] = tuple(comma_separated([ordered]))
    return found | {name: given[name] for name in ("answers", "ordered_costs") if given.get(name) is not None}


@contextmanager
def warnings_printed() -> Iterator[None]:
    """Print each warning once, on one line."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in found):
        say(message)


def check_language(language: str) -> None:
    """ValueError for a language that there are no sentences of."""
    from fsgym.text.speech import check_speech

    check_speech(language, "", 1.0)


def comma_separated(texts: Sequence[str] | None) -> list[str]:
    """The values of an option that may be repeated and may hold several values, separated by commas."""
    return [part.strip() for text in texts or () for part in text.split(",") if part.strip()]


def columns_by_name(texts: Sequence[str] | None) -> dict[str, str]:
    """The column of each acquisition from texts such as ``ct=price_ct``; ValueError for other texts, or a name twice.

    >>> columns_by_name(["ct=price_ct, mri=price_mri"])
    {'ct': 'price_ct', 'mri': 'price_mri'}
    """
    columns: dict[str, str] = {}
    for part in comma_separated(texts):
        name, _, column = (side.strip() for side in part.partition("="))
        if not name or not column:
            raise ValueError(f"--case-price must be ACQUISITION=COLUMN, such as ct=price_ct, got {brief(part)}")
        if name in columns or column in columns.values():
            twice = name if name in columns else column
            raise ValueError(f"--case-price names {twice!r} twice; each acquisition has a column of its own")
        columns[name] = column
    return columns


def numbers_by_name(texts: Sequence[str] | None, option: str, form: str) -> dict[str, float] | None:
    """Numbers by name from texts such as ``acs=0.98,mi=0.95``; ValueError for other texts and for a name given twice.

    >>> numbers_by_name(["acs=0.98,a=b=0.9"], "--target-recall", "CLASS=SHARE")
    {'acs': 0.98, 'a=b': 0.9}
    """
    from fsgym.session.values import number_or_text

    numbers: dict[str, float] = {}
    for part in comma_separated(texts):
        name, _, text = (side.strip() for side in part.rpartition("="))
        number = number_or_text(text)
        if not name or not isinstance(number, int | float):
            raise ValueError(f"{option} must be {form}, separated by commas, got {brief(part)}")
        if name in numbers:
            raise ValueError(f"{option} names {name!r} twice; name each once")
        numbers[name] = float(number)
    return numbers if texts else None
