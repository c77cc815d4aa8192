"""Data for a model file: read by the model's columns and classes, and by what the file says about its training data."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.cli.case_prices import OPTION, in_words, with_case_prices
from fsgym.cli.options import columns_by_name, comma_separated
from fsgym.cli.terminal import say
from fsgym.data.blocks import Blocks, is_large
from fsgym.data.case_costs import prices_of_cells
from fsgym.data.cells import refuse_unmatched_levels
from fsgym.data.columns import Columns, absent_columns
from fsgym.data.dataset import Dataset
from fsgym.data.reading import excel
from fsgym.data.reading.model_tables import labels_for, numbers_for, read_file_for, refuse_unknown_columns
from fsgym.data.reading.no_result import NoResult, is_value_of
from fsgym.data.reading.parts import ArrayParts, ParquetParts, parts_of, rows_all_over
from fsgym.data.reading.reading import Reading, check_reading
from fsgym.data.repeated import DUPLICATES, duplicate_groups
from fsgym.data.training_summary import Comparison
from fsgym.datasets.folder import LoadedDataset
from fsgym.datasets.loading import SPLIT_NAMES, is_path, load_whole, part_index
from fsgym.text.messages import brief, explain_unknown, listing, option_text

if TYPE_CHECKING:
    import pandas as pd

LISTS = ("drop", "category", "numeric")
NO_TEXT_FILES = (".parquet", *excel.SUFFIXES)
# Options of ``Reading`` that a model file has, and their kinds there. It says elsewhere what the others say.
STORED: dict[str, type] = {
    **{"target": str, **dict.fromkeys(LISTS, tuple), "separator": str, "decimal": str, "row_groups": str},
    **{"thousands": str, "censored": str, "sheet": str, "header_row": int, "case_price": dict},
}
NEWER = ("thousands", "censored", "sheet", "header_row", "case_price")  # those that files of earlier versions lack
OTHER_SPLIT = {"train": "test", "test": "train", "all": "all"}


class DataOrigin(NamedTuple):
    """The training data of a model: where they came from and how they were read."""

    source: str  # the argument of `fsgym train`: a path or a name
    name: str  # of the data set
    fingerprint: str  # of the encoded table with its labels, see ``fsgym.data.dataset.table_fingerprint``
    n_samples: int  # rows of the whole table
    split: str  # the part used for training: "train", "test" or "all"
    reading: Reading  # its options of ``STORED``

    @classmethod
    def of(cls, source: str, whole: Dataset, split: str, reading: Reading) -> DataOrigin:
        """That of a data set, of which ``split`` was used."""
        stored = Reading(**{option: getattr(reading, option) for option in STORED})
        return cls(source, whole.name, whole.origin.table, whole.n_samples, split, stored)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values by name; the newer ones only where they are given."""
        values = self._asdict() | {option: getattr(self.reading, option) for option in STORED}
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if k != "reading"}
        return {k: v for k, v in plain.items() if k not in NEWER or v is not None}

    @classmethod
    def from_json(cls, values: Any) -> DataOrigin:
        """The record from what ``to_json`` returned; ValueError if it is damaged."""
        fields: dict[str, Any] = dict.fromkeys(NEWER) | (dict(values) if isinstance(values, dict) else {})
        for name in LISTS:
            listed = fields.get(name)
            if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
                raise ValueError(f"the description of its training data has no list {name!r} of names")
            fields[name] = tuple(listed)
        kinds = {"source": str, "name": str, "fingerprint": str, "n_samples": int, "split": str} | STORED
        for name, kind in kinds.items():
            optional = name in STORED and name not in LISTS
            if name not in fields or not (isinstance(fields[name], kind) or (optional and fields[name] is None)):
                raise ValueError(f"the description of its training data has no valid {name!r}")
        if fields["split"] not in SPLIT_NAMES or set(fields) != set(kinds):
            raise ValueError("the description of its training data is not valid")
        if not all(isinstance(column, str) for column in (fields["case_price"] or {}).values()):
            raise ValueError("the columns of the prices must be names")
        reading = check_reading(Reading(**{option: fields.pop(option) for option in STORED}))
        return cls(**fields, reading=reading)


@dataclass(frozen=True)
class ModelData:
    """A model file and how data for it are read."""

    path: Path  # of the model file
    classifier: Any  # of ``agents``
    given: Reading  # the options of the command
    trained_on: DataOrigin | None  # DataOrigin, or None if the file does not say
    columns: Columns  # of the model; odd cells of those that --numeric names are missing
    # the column of the prices of each acquisition: that of the command, or else of the training; may be empty
    case_price: Mapping[str, str]
    no_result: NoResult | None = None  # which cells say that an acquisition brought no result

    @classmethod
    def open(cls, path: Path, given: Mapping[str, Any], case_price: Sequence[str] | None = None) -> ModelData:
        """Load a model file; ValueError if it is damaged, or an option of the command, ``given``, contradicts it.

        ``case_price`` are the texts of this option, of a command that has it.
        """
        listed = {name: tuple(comma_separated(given[name])) for name in LISTS if name in given}
        reading = check_reading(Reading(**{**given, **listed}))
        load_classifier: Any = import_module("agents").load_classifier
        classifier = load_classifier(path)
        try:
            values = classifier.training_data_
            trained_on = None if values is None else DataOrigin.from_json(values)
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        columns: Columns = classifier.columns_
        _refuse_contradictions(reading, columns, path)
        odd = [c._replace(odd_is_missing=c.odd_is_missing or c.name in reading.numeric) for c in columns]
        classifier.columns_ = Columns(odd)
        priced = columns_by_name(case_price)
        if priced and not classifier.rules_.costs_by_case:
            raise ValueError(
                f"{OPTION} is for models with prices by case, and {path} has one price for each acquisition; leave it "
                f"out, or train with {OPTION}"
            )
        if not priced and trained_on is not None and classifier.rules_.costs_by_case:
            priced = trained_on.reading.case_price or {}
        return cls(path, classifier, reading, trained_on, classifier.columns_, priced)

    def with_no_result(self, text: str | None) -> ModelData:
        """The same, where cells with this text say that an acquisition was made and brought no result.

        ValueError where the text is a value of a column, which would be lost.
        """
        if text is None:
            return self
        having = [brief(column.name) for column in self.columns if is_value_of(column, text.strip())]
        if having:
            which = f"the column{'s' if len(having) > 1 else ''} {listing(having, len(having))}"
            raise ValueError(
                f"--no-result must be a text that is no value, got {brief(text)}, which is one of {which}; write "
                "another into these cells, such as 'no result'"
            )
        return replace(self, no_result=NoResult(text, self.columns.names))

    def say_where_no_result(self, data: str) -> None:
        """Say how many cells have the text of ``no_result``, or that none has."""
        if self.no_result is None:
            return
        cells, text = self.no_result.cells, self.no_result.text
        if not cells:
            say(f"{data} has no cell {brief(text)} in the columns of the model")
            return
        counts = [f"{int(found.sum()):,} of {name!r}" for name, found in cells.items()]
        say(f"{brief(text)} is in {listing(counts, 5)}: no result, and not asked again")

    def reading_of(self, data: str) -> Reading:
        """How to read these data: the options of the command, and else as the training data."""
        training, remembered = self.trained_on, Reading()
        if training is not None and (is_table_file(data) or training.source == data):
            remembered = training.reading
            if data.endswith(NO_TEXT_FILES):
                remembered = remembered._replace(separator=None)
            if not data.endswith(excel.SUFFIXES):
                remembered = remembered._replace(sheet=None)
            if data.endswith(excel.SUFFIXES) != training.source.endswith(excel.SUFFIXES):
                remembered = remembered._replace(header_row=None)
        if self.classifier.bins_ is not None:
            remembered = remembered._replace(bins=self.classifier.bins_)
        changes = {field: value for field, value in self.given._asdict().items() if value and field != "one_hot"}
        return remembered._replace(**changes, case_price=self.case_price or None)

    def read(
        self, data: str, data_dir: Path | None, keep: tuple[str, ...] = ()
    ) -> tuple[pd.DataFrame, LoadedDataset | None]:
        """The table of a file, or of a data set with a name, which is returned as well."""
        reading = self.reading_of(data)
        if not is_table_file(data):
            if self.no_result is not None:
                raise ValueError(f"--no-result is for CSV, Excel and Parquet files, and {data} is none; leave it out")
            loaded = load_whole(data, reading, data_dir)
            prices = {column: loaded.prices[name] for name, column in self.case_price.items()}
            return loaded.dataset.to_frame().assign(**prices), loaded
        others: dict[str, Any] = {"keep": tuple(name for name in (reading.row_groups, *keep) if name is not None)}
        others["no_result"] = self.no_result
        others["as_numbers"] = [name for name in self.case_price.values() if name not in others["keep"]]
        try:
            table = read_file_for(self.columns, data, reading, **others)
        except excel.NoSuchSheetError as error:
            if self.given.sheet is not None:
                raise
            self._check_other_sheet(data, str(reading.sheet), error.filled)
            table = read_file_for(self.columns, data, reading._replace(sheet=None), **others)
        if table.shape[1] == 1 and reading.separator and not self.given.separator:  # not separated as in training
            table = read_file_for(self.columns, data, self.given, **others)
        return table, None

    def _check_other_sheet(self, data: str, sheet: str, filled: list[str]) -> None:
        """Say which sheet is read where a workbook lacks the one of the training; ValueError unless there is one."""
        lacks = f"{data} has no sheet {brief(sheet)}, from which the model was trained"
        if len(filled) > 1:
            option = option_text("sheet", filled[0])
            raise ValueError(f"{lacks}, and several others, {listing(filled)}; name the one to read, as with {option}")
        if filled:
            say(f"{lacks}; its only sheet with content, {brief(filled[0])}, is read")

    def priced(self, dataset: Dataset, table: pd.DataFrame, data: str) -> Dataset:
        """Rows in the columns of the model, with their prices by case from the table where it has columns of them."""
        if not self.case_price:
            return dataset
        prices = {}
        for name, column in self.case_price.items():
            if column not in table.columns:
                raise ValueError(
                    f"{data} has no column {column!r} with the prices of {name!r}; add it, or name another column with "
                    f"{OPTION} {name}=COLUMN"
                )
            prices[name] = prices_of_cells(table[column], name, f"the column {column!r} of {data}")
        rules = self.classifier.rules_
        whole = dataset.replace(groups=rules.groups, group_names=rules.names)
        return with_case_prices(whole, prices, rules.costs)

    def with_prices(self, rows: pd.DataFrame, table: pd.DataFrame, data: str) -> pd.DataFrame | Dataset:
        """Rows without labels, as from ``rows_of``: a Dataset with their prices where the table has columns of them."""
        if not self.case_price:
            return rows
        any_label = (self.classifier.classes_ if self.classifier.bins_ is None else self.classifier.bins_.values)[:1]
        return self.priced(self.classifier.labelled_dataset(rows, np.repeat(any_label, len(rows))), table, data)

    def prices_of(self, row: pd.DataFrame, table: pd.DataFrame, data: str) -> dict[str, float] | None:
        """The prices of one row by acquisition; None without columns of prices."""
        costs = getattr(self.with_prices(row, table, data), "case_costs", None)
        return None if costs is None else dict(zip(self.classifier.rules_.names, costs[0].tolist(), strict=True))

    @property
    def prices_in_words(self) -> str:
        """Which prices each row has, for a model with prices by case."""
        if not self.case_price:
            return f"Each row counts at the mean prices of the training; {OPTION} names columns of prices."
        return f"Each row has its own prices: {in_words(self.case_price)}."

    def parts_of(self, data: str, keep: tuple[str, ...] = ()) -> ParquetParts | ArrayParts | None:
        """The rows of a large file in parts, with the columns of the model and of ``keep``; None for another one."""
        path, reading = Path(data).expanduser(), self.reading_of(data)
        if self.no_result is not None or not is_path(data) or not is_large(path, reading):
            return None
        return parts_of(path, reading._replace(drop=()), {*self.columns.names, *keep})

    def read_in_parts(
        self, data: str, data_dir: Path | None, keep: tuple[str, ...] = ()
    ) -> tuple[pd.DataFrame, Iterable[pd.DataFrame], int]:
        """The table of a file, or rows all over a large one; all rows in parts; and their number."""
        parts = self.parts_of(data, keep)
        if parts is None:
            table, _ = self.read(data, data_dir, keep)
            return table, [table], len(table)
        return rows_all_over(parts), parts, parts.n_rows

    def rows_of(self, table: pd.DataFrame, data: str, missing_columns: str, hint: str = "") -> pd.DataFrame:
        """The columns of the model, as its methods take them; ``hint`` is said, too, where the table lacks some."""
        try:
            absent = absent_columns(self.columns, table, data, missing_columns)
        except ValueError as error:
            raise ValueError(f"{error}{hint if missing_columns == 'error' else ''}") from None
        chosen = table.reindex(columns=list(self.columns.names))
        refuse_unmatched_levels(self.columns, chosen, data)
        if absent:
            said = f"{listing(map(repr, absent))} of the model counts as unavailable in every row"
            warnings.warn(f"{said}{hint}", stacklevel=2)
        if not hasattr(self.classifier, "feature_names_in_"):  # fitted by position
            return chosen.set_axis(range(chosen.shape[1]), axis=1)
        return chosen

    def compare(
        self, rows: pd.DataFrame, columns: Collection[str], labels: Any = None, answers: NDArray | None = None
    ) -> Comparison | None:
        """How rows of a table with these columns, as from ``rows_of``, differ from the training; None if unknown.

        ``answers``, the codes of those of ``classifier_for(columns)``, compare its errors.
        """
        model = self.classifier_for(columns)
        if model.training_summary_ is None:
            return None
        if hasattr(model, "feature_names_in_"):
            rows = rows[[name for name in rows.columns if name in columns]]
            return model.compare_with_training(rows, labels, missing_columns="unavailable", answers=answers)
        return model.compare_with_training(rows, labels, answers=answers)

    def warn_of_differences(self, compared: Comparison | None, data: str, strict: bool) -> None:
        """Say in a line how rows differ from the training; ValueError if ``strict``."""
        if compared is None:
            if strict:
                raise ValueError(
                    f"--strict must have a summary of the training, but {self.path} has none; train it again"
                )
        elif compared.differences:
            sentence = compared.sentence(data)
            if compared.emptied:
                sentence += (
                    "; empty cells count as values that cannot be had (as not acquired yet: fsgym predict --next)"
                )
            if strict:
                raise ValueError(f"{sentence}; --strict refuses them")
            say(f"{sentence}; fsgym monitor says more")

    def classifier_for(self, columns: Collection[str]) -> Any:
        """The classifier for a table with these columns: one that it lacks says nothing of the rows."""
        evidence = {*getattr(self.classifier, "evidence_", ())}
        return self.classifier if evidence <= {*columns} else self.classifier.without_evidence()

    def check_groups(self, path: Path, dataset: Dataset) -> None:
        """ValueError unless a file has the groups of the model."""
        from fsgym.cli.files import read_groups

        members, names = dataset.resolve_groups(read_groups(path))
        rules = self.classifier.rules_
        if dict(zip(names, members, strict=True)) != dict(zip(rules.names, rules.groups, strict=True)):
            raise ValueError(
                f"{path} has other groups than the model, whose acquisitions are {listing(rules.names)}; leave "
                "--groups out, as the groups are in the model file"
            )


def is_table_file(data: str) -> bool:
    """Whether an argument is the path of a CSV, Parquet or Excel file."""
    return is_path(data) and not data.endswith(".npz")


def _refuse_contradictions(given: Reading, columns: Columns, path: Path) -> None:
    """ValueError where an option says something else about a column than the model file."""
    kinds = {column.name: column.kind for column in columns}
    for option, allowed in {"category": ("category", "codes"), "numeric": ("number",)}.items():
        for name in getattr(given, option):
            if name not in kinds:
                raise ValueError(f"--{option}: {explain_unknown(f'column of {path}', name, kinds)}")
            if kinds[name] not in allowed:
                raise ValueError(f"--{option} names {brief(name)}, which is a {kinds[name]} in {path}; leave it out")
    for option, names in {"drop": given.drop, "target": (given.target,), "row-groups": (given.row_groups,)}.items():
        for name in names:
            if name in kinds:
                raise ValueError(f"--{option} names {brief(name)}, which is a feature of {path}; leave it out")


@dataclass(frozen=True)
class LabelledData:
    """Data with labels in the columns and classes of a model."""

    loaded: LoadedDataset  # all rows
    reading: Reading  # how they were read
    training: NDArray[np.int64]  # the numbers of the rows that were used in training, as far as is known
    default_split: str  # the part to evaluate on
    remark: str  # what is known of the training rows otherwise
    classifier: Any  # that for these columns
    rows: pd.DataFrame  # all rows as in the table, of the columns of the model
    columns: tuple[str, ...]  # the columns of the table

    def rows_and_labels(self, rows: NDArray[np.int64]) -> tuple[pd.DataFrame, tuple[str, ...], NDArray]:
        """Some rows as ``ModelData.compare`` takes them; of ``Blocks`` those of the sketch."""
        data: Any = self.loaded.dataset
        if isinstance(data, Blocks):
            sketch = data.rows(rows).sketch
            return sketch.to_frame(), self.columns, sketch.target
        return self.rows.iloc[rows], self.columns, data.target[rows]

    def refuse_training_rows(self, rows: NDArray[np.int64]) -> None:
        """ValueError where some of these rows were used in training."""
        n = len(np.intersect1d(rows, self.training))
        if n:
            raise ValueError(f"calibrate needs rows that did not train the model, but {n} of these {len(rows)} did")

    def caution(self, rows: NDArray[np.int64]) -> str:
        """A sentence that says whether some of these rows were used in training."""
        n = len(np.intersect1d(rows, self.training))
        if n:
            which = "All of these rows were" if n == len(rows) else f"{n} of these {len(rows)} rows were"
            return f"{which} used in training: the figures are optimistic."
        return self.remark


def read_labelled(
    opened: ModelData, data: str, data_dir: Path | None, missing_columns: str, in_blocks: bool = False
) -> LabelledData:
    """The data set that an argument names, with labels, and which of its rows were used in training.

    With ``in_blocks``, those of a large file are ``Blocks``, and ``rows`` are some of them.
    """
    reading = opened.reading_of(data)
    may_be = in_blocks and missing_columns == "error"
    parts = opened.parts_of(data, (reading.label,)) if may_be else None
    if parts is not None:
        blocks: Any = Blocks(parts, opened.columns, opened.classifier.classes_)
        table = blocks.sketch.to_frame()
        known = _training_rows(opened, data, table, LoadedDataset(blocks), reading)
        names = tuple(parts.columns)
        return LabelledData(LoadedDataset(blocks), reading, *known, opened.classifier_for(names), table, names)
    return labelled_data(opened, data, *opened.read(data, data_dir), missing_columns)


def labelled_data(
    opened: ModelData, data: str, table: pd.DataFrame, loaded: LoadedDataset | None, missing_columns: str
) -> LabelledData:
    """``read_labelled`` of a table that ``opened.read`` has read."""
    reading, classes = opened.reading_of(data), opened.classifier.classes_
    if loaded is None and reading.label not in table.columns:
        reason = "" if opened.trained_on else f" ({opened.path} was saved in Python, and does not say which it is)"
        raise ValueError(
            f"{data} has no column {reading.label!r} with the classes{reason}; for rows without classes use fsgym "
            "predict, otherwise name the column with --target"
        )
    rows = opened.rows_of(table, data, missing_columns)
    if loaded is None:
        trained = () if opened.trained_on is None else opened.trained_on.reading.drop
        refuse_unknown_columns([name for name in opened.given.drop if name not in trained], table, f"--drop, {data}")
        column = f"the column {reading.label!r} of {data}"
        is_number = opened.classifier.bins_ is not None
        labels = (numbers_for if is_number else labels_for)(table[reading.label], classes, column)
        groups = table[reading.row_groups] if reading.row_groups in table.columns else None
        if groups is None and opened.given.row_groups not in (None, DUPLICATES):
            raise ValueError(f"{data} has no column {reading.row_groups!r} for --row-groups")
    else:
        import pandas as pd

        labels = loaded.dataset.target
        if opened.classifier.bins_ is None:
            labels = labels_for(pd.Series(labels), classes, data)
        groups = loaded.dataset.row_groups
    dataset: Dataset = opened.priced(opened.classifier.labelled_dataset(rows, labels), table, data)
    if groups is None and reading.row_groups == DUPLICATES:
        groups = duplicate_groups(dataset.X)
    name = Path(data).name.partition(".")[0] if loaded is None else loaded.dataset.name
    whole = LoadedDataset(dataset.replace(name=name, row_groups=groups), None if loaded is None else loaded.n_train)
    known = _training_rows(opened, data, table, whole, reading)
    return LabelledData(whole, reading, *known, opened.classifier_for(table.columns), rows, tuple(table.columns))


def _training_rows(
    opened: ModelData, data: str, table: pd.DataFrame, whole: LoadedDataset, reading: Reading
) -> tuple[NDArray[np.int64], str, str]:
    """The numbers of the training rows, if these are the training data, the part to evaluate on, and a remark."""
    trained_on, none = opened.trained_on, np.zeros(0, np.int64)
    if trained_on is None:
        remark = f"{opened.path} does not say which rows it was trained on; with some of these, figures are optimistic."
        return none, "all", remark
    if trained_on.fingerprint != whole.dataset.origin.table:
        remark = (
            f"{data} is not the training file, {trained_on.source!r}; if it has some of the same rows, the figures are "
            "optimistic."
        )
        if trained_on.source == data or trained_on.name == whole.dataset.name:
            remark = f"{data} differs from the training data of that name; with rows of these, figures are optimistic."
        return none, "all", remark
    same = whole
    grouped = trained_on.reading.row_groups
    if grouped is None:
        if whole.dataset.row_groups is not None:  # the parts of the training, whatever --row-groups says now
            same = whole._replace(dataset=whole.dataset.replace(row_groups=None))
    elif grouped != reading.row_groups and grouped in table.columns:
        same = whole._replace(dataset=whole.dataset.replace(row_groups=table[grouped]))
    elif grouped != reading.row_groups:
        remark = "--row-groups is not that of the training, so its parts are others; the figures may be optimistic."
        return none, "all", remark
    rows = part_index(same, trained_on.split, grouped)
    return rows, OTHER_SPLIT[trained_on.split], "None of these rows were used in training."
