"""Reading a user's table: separators, decimal commas and encodings, and what is wrong with a file in one sentence."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fsgym.data.cells import MISSING_WORDS, leading_zeros, plain_number, with_merged_as_text
from fsgym.data.reading import files
from fsgym.data.reading.no_result import NoResult
from fsgym.data.reading.numbers import (
    NOTHING_DECLARED,
    Declared,
    Found,
    check_unclear,
    find_decimal,
    numbers_of,
)
from fsgym.data.written import Writing, plain_text, signs_of
from fsgym.text.messages import brief, listing, option_text

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SAMPLED_ROWS = 100  # that decide on separator and decimal sign
FIRST_LINES, FITS_FROM = 20, 0.95  # in which names are looked for, and rows as wide as they are; by hand
EXPORT = "export the sheet as CSV (UTF-8)"
SIGNATURES = {  # first bytes of files that are no text
    b"PK\x03\x04": "is an Excel workbook or another zip archive, not CSV; give a workbook the suffix .xlsx",
    b"\xd0\xcf\x11\xe0": f"is an Excel workbook of the old format, not CSV; save it as .xlsx, or {EXPORT}",
    b"PAR1": "is a Parquet file, not CSV; give it the suffix .parquet",
    b"\x1f\x8b": "is compressed with gzip; give it the suffix .csv.gz",
    b"%PDF": "is a PDF, not CSV; export its table as CSV (UTF-8)",
}


class _Lines(NamedTuple):
    """The text of a table without a line ``sep=``, the lines before the text, and its separator."""

    text: str
    n_before: int
    separator: str


def read_table(
    path: Path,
    *,
    separator: str | None = None,
    declared: Declared = NOTHING_DECLARED,
    header_row: int | None = None,
    as_text: Collection[str] = (),
    drop: Collection[str] = (),
    only: Collection[str] | None = None,
    no_result: NoResult | None = None,
) -> tuple[pd.DataFrame, Found]:
    """A table from a CSV file of a user, ``.csv``, ``.tsv``, ``.txt`` or one of these with ``.gz``.

    An empty cell is missing, and in a column of numbers also ``?``, ``NA``, ``nan``, ``null`` and similar. Spaces
    around the names in the header line are removed.

    Parameters
    ----------
    path : Path
    separator : str, optional
        Between the cells of a line; by default a tab in ``.tsv`` files, and else comma, semicolon, tab or bar,
        whichever gives rows of equal length.
    declared : Declared
        How numbers are written. By default the decimal sign is a comma if the separator is another character and the
        first rows have numbers with commas only; see ``numbers_of``.
    header_row : int, optional
        The line of the names, from 1; by default the first one that is not empty.
    as_text : names of columns whose cells stay text
    drop : names of columns that are not used; they may have no name in the file, as ``Unnamed: 0``
    only : names of the columns that are used, optional; of the others, names may be missing or repeated
    no_result : NoResult, optional, whose cells are empty in the table

    Raises
    ------
    ValueError, OSError
        If the file cannot be read; the message names the line, and what to do.
    """
    import pandas as pd

    text = _decode(path)
    number = text.find("\0")
    if number >= 0:
        line = text.count("\n", 0, number) + 1
        raise ValueError(
            f"{path} has a null character in line {line}; remove it (tr -d '\\000' does), or save it again"
        )
    try:
        lines = _find_separator(text, path, separator or separator_of(path), header_row)
        header, sample, n_rows = _check_rows(lines, path)
        names = _check_header(header, path, drop) if only is None else _names_for(header, path, only)
    except ValueError as error:
        hint = "" if header_row else _later_header(text, separator or separator_of(path))
        raise ValueError(f"the first row of {path} does not fit those below; {hint}" if hint else str(error)) from None
    if no_result is not None:
        text, sample = no_result.taken_from_text(lines.text, lines.separator, names, sample)
        lines = lines._replace(text=text)
    decimal = declared.decimal or _find_decimal(sample, lines.separator, declared)
    if "," in (decimal, declared.usual.decimal) or lines.separator != ",":
        check_unclear(sample, decimal, declared, str(path))
    declared = declared._replace(decimal=decimal)
    given: dict[str, Any] = {**files.MISSING_IF_EMPTY, "sep": lines.separator, "header": 0, "names": names}
    as_text = set(as_text) & set(names)
    try:
        frame = pd.read_csv(io.StringIO(lines.text), decimal=decimal, dtype=dict.fromkeys(as_text, str), **given)
    except (OSError, *files.READ_ERRORS) as error:
        raise ValueError(f"{path} cannot be read as a CSV file ({files.first_line(error)})") from None
    if len(frame) != n_rows:
        raise ValueError(f"{path} cannot be read as a CSV file: {n_rows} rows are expected, got {len(frame)}")
    used = [key for key in names if (key not in drop if only is None else key in only)]
    if only is None:

        def read_texts(wanted: list[str]) -> pd.DataFrame:
            return pd.read_csv(io.StringIO(lines.text), dtype=object, usecols=wanted, **given)

        frame = with_merged_as_text(frame, read_texts, {*as_text, *drop})
        known = {*as_text, *drop, *declared.not_codes}
        zeros = rf"(?:^|[{re.escape(lines.separator)}\"]) {{0,9}}0[0-9]"
        if re.search(zeros, lines.text, re.MULTILINE):
            whole = [name for name in names if name not in known and _may_be_codes(frame[name])]
            texts = read_texts(whole) if whole else frame
            for name in [name for name in whole if leading_zeros(texts[name]) is not None]:
                frame[name] = texts[name]
    may_be_numbers = [key for key in used if key not in as_text]
    if decimal == ".":
        columns = dict(zip(names, zip(*sample, strict=True), strict=True))
        shown = {key: columns[key] for key in may_be_numbers if key not in declared.plain}
        _refuse_both_signs(frame, shown, str(path), only is None)
    return numbers_of(frame, declared, str(path), may_be_numbers)


def _refuse_both_signs(frame: pd.DataFrame, shown: Mapping[str, Sequence[str]], what: str, may_be_levels: bool) -> None:
    """ValueError where one column of a file has decimal commas and another one points.

    Parameters
    ----------
    frame : DataFrame, read with decimal points
    shown : dict of str to the first cells of each column that may have numbers, as they are written
    what : str, the file
    may_be_levels : bool, whether an option can say that a column is a category
    """
    found: dict[str, tuple[str, str]] = {}
    for sign in ",.":
        for name, cells in shown.items():
            example = signs_of(cell.strip() for cell in cells).decimals.get(sign)
            if example is not None and sign not in found and _are_numbers(frame[name], sign):
                found[sign] = name, example.strip()
    if len(found) == 2:
        (comma, first), (point, second) = found[","], found["."]
        levels = f"; cells that are no numbers need {option_text('category', [comma])}" if may_be_levels else ""
        raise ValueError(
            f"{what} has decimal commas in {comma!r}, as {first!r}, and decimal points in {point!r}, as {second!r}; "
            f"write all numbers with the same decimal sign{levels}"
        )


def _are_numbers(cells: pd.Series, sign: str) -> bool:
    """Whether all cells are numbers with this decimal sign, or missing; others were read with decimal points."""
    if cells.dtype.kind in "biuf":
        return sign == "."
    texts = [str(cell).strip() for cell in cells.dropna().unique()]
    return all(text in MISSING_WORDS or plain_text(text, Writing(sign)) is not None for text in texts)


def _may_be_codes(numbers: pd.Series) -> bool:
    """Whether these are whole numbers, which may have been written with leading zeros."""
    return numbers.dtype.kind in "iuf" and not (numbers % 1 > 0).any()


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a Parquet file; ImportError without pyarrow, ValueError or OSError where it cannot be read."""
    import pandas as pd

    from fsgym.support.extras import require

    files.check_file(path)
    require("parquet", f"reading {path}")
    from pyarrow import ArrowException

    try:
        need, limit = bytes_of_parquet(path), files.most_bytes(path)
        if need <= limit:
            return pd.read_parquet(path, engine="pyarrow")
    except (OSError, ArrowException, *files.READ_ERRORS) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file ({files.first_line(error)})") from None
    raise too_large(path, need, limit)


def too_large(path: Path, need: int, limit: int) -> ValueError:
    """The error for a Parquet file that has more unpacked than is plausible."""
    return ValueError(
        f"{path} needs {files.gigabytes(need)}, more than the {files.gigabytes(limit)} that a file of its size may "
        "have; if that is right, write it with to_parquet(..., compression=None, use_dictionary=False)"
    )


class ParquetSize(NamedTuple):
    """What the metadata of a Parquet file say of its table.

    Attributes
    ----------
    n_rows, n_bytes : int, rows, and bytes of the table by the metadata
    largest : int, bytes of the largest row group
    texts : list of str, names of the columns of texts
    schema : pyarrow.Schema
    """

    n_rows: int
    n_bytes: int
    largest: int
    texts: list[str]
    schema: Any


def size_of_parquet(path: Path) -> ParquetSize:
    """The size of a Parquet file; ValueError where a cell is a list or an object, as nothing bounds their number."""
    from pyarrow.parquet import read_metadata

    metadata = read_metadata(path)
    parts = [metadata.schema.column(k) for k in range(metadata.num_columns)]
    nested = next((part.path.partition(".")[0] for part in parts if part.path != part.name), None)
    if nested is not None:
        raise ValueError(f"the column {nested!r} has lists or objects as cells, so leave it out of the file")
    groups = map(metadata.row_group, range(metadata.num_row_groups))  # whose parts may end the process if damaged
    sizes = [group.total_byte_size for group in groups]
    widths = sum(max(part.length or 0, 8) for part in parts)
    texts = [part.name for part in parts if part.physical_type == "BYTE_ARRAY"]
    need = max(sum(sizes), metadata.num_rows * widths)
    return ParquetSize(metadata.num_rows, need, max(sizes, default=0), texts, metadata.schema.to_arrow_schema())


def bytes_of_parquet(path: Path) -> int:
    """How large the table of a Parquet file is, by its metadata and by its texts, which are read as codes.

    ValueError as ``size_of_parquet``.
    """
    import pyarrow as pa
    from pyarrow import compute, types
    from pyarrow.parquet import ParquetFile

    _, need, _, texts, _ = size_of_parquet(path)
    if need > files.most_bytes(path) or not texts:
        return need
    with ParquetFile(path, read_dictionary=texts) as file:
        columns = file.read(columns=texts).columns
    for column in columns:
        column.validate(full=True)  # as UTF-8, which pandas would find much later
    text_types = (pa.string(), pa.large_string(), pa.binary())
    for chunk in (chunk for column in columns for chunk in column.chunks):
        coded = types.is_dictionary(chunk.type) and chunk.type.value_type in text_types
        lengths = compute.binary_length(chunk.dictionary).take(chunk.indices) if coded else None
        need += chunk.nbytes if lengths is None else compute.sum(lengths).as_py() or 0
    return need


def _decode(path: Path) -> str:
    """The text of a file without a byte order mark; ValueError where it is no text in UTF-8."""
    files.check_file(path)
    content = files.content_of(path)
    for signature, fault in SIGNATURES.items():
        if content.startswith(signature):
            raise ValueError(f"{path} {fault}")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or content[:100].count(0) > len(content[:100]) // 3:
        raise ValueError(f"{path} is text in UTF-16, or no text; {files.UTF8_REMEDY.replace('LATIN1', 'UTF-16')}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path} is not text in UTF-8 (byte 0x{content[error.start]:02x} in line {line}); {files.UTF8_REMEDY}"
        ) from None
    if not text.strip():
        raise ValueError(f"{path} is empty; it must have a header line and rows")
    return text


def _later_header(text: str, separator: str | None) -> str:
    """What is said where one of the first lines after the first one looks like the names; "" where none does."""
    lines = text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip())
    for i in range(first + 1, min(len(lines), FIRST_LINES)):
        if lines[i].strip() == lines[first].strip():  # names that are repeated
            continue
        below = "\n".join(lines[i : i + SAMPLED_ROWS])
        for sign in (separator,) if separator else SEPARATORS:
            cells = _first_rows(lines[i], sign)[:1]
            if cells and are_names(cells[0]) and (_fit(below, sign) or 0) >= FITS_FROM and below.count("\n") > 1:
                return header_hint(i + 1, cells[0])
    return ""


def _find_separator(text: str, path: Path, given: str | None, header_row: int | None = None) -> _Lines:
    """The text from its header line on, and the separator: the given one, that of ``sep=``, or the one that fits."""
    declared = re.match(r"\s*[\"']?sep=([^\w\r\n \"'])[\"']?[\r\n]+", text, re.IGNORECASE)
    n_before = (header_row or 1) - 1
    if header_row:
        text = "\n".join(text.split("\n")[n_before:])
        if not text.strip():
            raise ValueError(f"{path} has no row {header_row} with names; correct {option_text('header_row')}")
    elif declared:
        text, n_before = text[declared.end() :], declared[0].count("\n") or 1
        given = given or declared[1]
    if given:
        return _Lines(text, n_before, given)
    fits = {s: _fit(text, s) for s in SEPARATORS}
    fits = {s: fit for s, fit in fits.items() if fit is not None}
    if not fits:
        first = next(line.strip() for line in text.splitlines() if line.strip())
        if re.search(r"[\s:/^~]", first.strip("\"'")):
            raise ValueError(
                f"the header line of {path} has one cell, {brief(first)}; say with "
                f"{option_text('separator')} what separates its cells"
            )
        return _Lines(text, n_before, ",")
    best = [s for s in fits if fits[s] == max(fits.values())]
    if len(best) > 1:
        names = " or ".join(SEPARATORS[s] for s in best)
        raise ValueError(
            f"the cells of {path} may be separated by {names}; name one with {option_text('separator', best[0])}"
        )
    return _Lines(text, n_before, best[0])


def count_columns(path: Path) -> int:
    """How many columns a text file has, by its first lines; ValueError or OSError if these are no table."""
    lines = _find_separator(files.first_text(path), path, separator_of(path))
    rows = _first_rows(lines.text, lines.separator)
    if not rows:
        raise ValueError(f"{path} has no header line")
    return len(rows[0])


def separator_of(path: Path) -> str | None:
    """The separator that the name of a file says: a tab for ``.tsv``."""
    return "\t" if ".tsv" in path.suffixes[-2:] else None


def _fit(text: str, separator: str) -> float | None:
    """The share of the first rows that have as many cells as the header line; None where that has one cell."""
    rows = _first_rows(text, separator)
    if not rows or len(rows[0]) < 2:
        return None
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows)


def _first_rows(text: str, separator: str) -> list[list[str]]:
    """The header line and the first rows, as far as they can be read."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            if row:
                rows.append(row)
            if len(rows) > SAMPLED_ROWS:
                break
    except csv.Error:
        pass
    return rows


def _check_rows(lines: _Lines, path: Path) -> tuple[list[str], list[list[str]], int]:
    """The header cells, the first rows and the number of rows.

    ValueError where rows have another length or repeat the header line, or quotation marks are not closed.
    """
    reader = csv.reader(io.StringIO(lines.text, newline=""), delimiter=lines.separator, strict=True)
    header: list[str] = []
    sample: list[list[str]] = []
    wrong: tuple[int, int] | None = None
    n_wrong = n_rows = 0
    try:
        header = next(row for row in reader if row)
        width = len(header)
        for row in reader:
            if not row:
                continue
            n_rows += 1
            if len(row) != width:
                wrong, n_wrong = wrong or (reader.line_num + lines.n_before, len(row)), n_wrong + 1
            elif row == header:
                raise ValueError(
                    f"line {reader.line_num + lines.n_before} of {path} repeats the header line; remove it"
                )
            if n_rows <= SAMPLED_ROWS:
                sample.append(row)
    except (csv.Error, StopIteration) as error:
        line = reader.line_num + lines.n_before
        raise ValueError(
            f"{path} cannot be read as a CSV file, line {line} ({files.first_line(error)}); "
            'close each quotation mark, and write one within a cell as ""'
        ) from None
    if wrong:
        more = "more" if wrong[1] > width else "fewer"
        others = f" and {n_wrong - 1} other row(s) differ, too" if n_wrong > 1 else ""
        raise ValueError(
            f"line {wrong[0]} of {path} has {wrong[1]} cells, {more} than its header line ({width}){others}; "
            "correct it, and put cells that hold the separator in quotation marks"
        )
    if not n_rows:
        raise ValueError(f"{path} has no rows below its header line; add them")
    return header, sample, n_rows


def _check_header(header: Sequence[str], path: Path, drop: Collection[str]) -> list[str]:
    """The names of the columns; ValueError unless they are distinct names."""
    names = [cell.strip() for cell in header]
    if all(_looks_like_number(name) for name in names):
        raise ValueError(
            f"{path} has no header line: its first line is {listing(names, 4)}; add one with the names of the columns"
        )
    for i, name in enumerate(names):
        if not name:
            names[i] = f"Unnamed: {i}"
            if names[i] not in drop:
                raise ValueError(
                    f"column {i + 1} of {path} has no name; name it in the header line, or, if it is the index of a "
                    f"pandas table, write the file with index=False or pass {option_text('drop', [names[i]])}"
                )
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        same = len({cell for cell in header if cell.strip() == twice[0]}) == 1
        how = "" if same else ", which differ only by spaces"
        raise ValueError(f"{path} has two columns {brief(twice[0])}{how}; rename or remove one")
    return names


def _names_for(header: Sequence[str], path: Path, only: Collection[str]) -> list[str]:
    """The names of the columns, of which those not in ``only`` get another name if theirs is missing or repeated."""
    counts = Counter(cell.strip() for cell in header)
    named = [cell.strip() for cell in header]
    repaired = [v if v in only or (v and counts[v] == 1) else f"Unnamed: {i}" for i, v in enumerate(named)]
    return _check_header(repaired, path, [v for v in repaired if v not in only])


def _looks_like_number(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", text, re.IGNORECASE))


def _find_decimal(sample: Sequence[Sequence[str]], separator: str, declared: Declared) -> str:
    """The decimal sign that the first rows show; a point if a comma separates cells, whatever that of the model is."""
    if separator == ",":
        if declared.usual.decimal == "." and declared.thousands != ".":
            return "."
        declared = declared._replace(usual=Writing())
    return find_decimal(signs_of(cell for row in sample for cell in row), declared)


def are_names(cells: Sequence[Any]) -> bool:
    """Whether cells may be the names of columns: several distinct texts that are no numbers, and none empty.

    >>> are_names(["age", "sex"]), are_names(["Ward 3", None]), are_names(["age", "63"])
    (True, False, False)
    """
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    distinct = len(texts) == len(cells) == len(set(texts)) > 1
    return distinct and all(text and plain_number(text.replace(",", ".")) is None for text in texts)


def header_hint(row: int, names: Sequence[Any]) -> str:
    """What is said where a later row looks like the names; ``row`` counts from 1, as spreadsheets do."""
    return f"row {row} looks like the names ({listing(names, 4)}): pass {option_text('header_row', row)} if it has them"
