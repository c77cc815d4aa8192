"""Reading a sheet of an Excel workbook: values as the sheet shows them, per cent as such."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsgym.data.reading import files
from fsgym.data.reading.numbers import with_decimal_points
from fsgym.data.reading.tables import are_names, header_hint
from fsgym.data.written import WrittenNumber
from fsgym.text.messages import brief, listing, option_text

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".xlsx", ".xlsm")
FIRST_ROWS = 20  # among which the names are looked for, for a message; by hand
# In a format: what is quoted or escaped, which is shown as it is; the width of a sign, a sign that fills, and [Red].
_NO_DIGITS = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[[^\]]*\]')


class NoSuchSheetError(ValueError):
    """A workbook lacks the sheet of a name; ``filled`` are the names of those that are not empty."""

    def __init__(self, message: str, filled: list[str]) -> None:
        super().__init__(message)
        self.filled = filled


def read_excel(path: Path, sheet: str | None = None, header_row: int | None = None) -> pd.DataFrame:
    """The table of a sheet: a line of names and the rows below it, without empty rows and columns around them.

    Parameters
    ----------
    path : Path of a workbook, ``.xlsx`` or ``.xlsm``
    sheet : str, optional
        Its name, or its number from 1; by default the only one that is not empty.
    header_row : int, optional
        The row of the names, counted from 1 as in the sheet; by default the first one that is not empty.

    Returns
    -------
    DataFrame
        Of numbers, texts, bools and dates; a cell in the format of per cent is a ``WrittenNumber``, 94.1 with ``%``.

    Raises
    ------
    ValueError, OSError, ImportError
        If the file is no workbook, does not say which sheet, or lacks names; without openpyxl. ``NoSuchSheetError``
        if it lacks the sheet.
    """
    tables, meant = _read_tables(path, sheet)
    if sheet is not None and not meant:
        message = f"{path} has no sheet {brief(sheet)}; its sheets are {listing(tables)}"
        raise NoSuchSheetError(message, _filled(tables))
    return _table_of(_only_filled(tables, path) if sheet is None else tables[meant[0]], path, header_row)


def read_list(path: Path, names: Sequence[str], *, has_header: bool) -> list[list[str]]:
    """The rows of a small CSV file, or of a sheet of a workbook, as texts and without empty rows.

    The sheet is that of one of the ``names``, which are compared in lower case, or the only one that is not empty; its
    empty columns are left out. Numbers have decimal points; where commas separate cells, others stay as they are. The
    first column has names, and so has the first row if it ``has_header``. Raises as ``read_rows``, ``read_excel`` and
    ``with_decimal_points``.
    """
    if path.suffix not in SUFFIXES:
        rows, separator = files.read_rows(path)
        return rows if separator == "," else with_decimal_points(rows, path, has_header)
    tables, _ = _read_tables(path, None)
    filled = _filled(tables)
    meant = [name for name in filled if name.strip().lower() in names] or filled
    if len(meant) > 1:
        raise ValueError(f"{path} has several sheets, {listing(filled)}; call the one that is meant {names[0]!r}")
    rows = tables[meant[0]] if meant else []
    width = max(map(len, rows), default=0)
    padded = [[*row, *[None] * (width - len(row))] for row in rows if any(v is not None for v in row)]
    used = [k for k in range(width) if any(row[k] is not None for row in padded)]
    table = with_decimal_points([[row[k] for k in used] for row in padded], path, has_header)
    return [["" if v is None else _as_text(v) for v in row] for row in table]


def _as_text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else str(value).strip()


def _read_tables(path: Path, sheet: str | None) -> tuple[dict[str, list[list[Any]]], list[str]]:
    """The rows of the sheet of a name or number, or of all sheets; and the names of those that are meant."""
    from fsgym.support.extras import require

    files.check_file(path)
    require("excel", f"reading {path}")
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with zipfile.ZipFile(path) as archive:
            need, limit = sum(entry.file_size for entry in archive.infolist()), files.most_bytes(path)
    except files.PACKING_ERRORS as error:
        raise _unreadable(path, error) from None
    if need > limit:
        raise ValueError(
            f"{path} has {files.gigabytes(need)} unpacked, more than the {files.gigabytes(limit)} that a file of its "
            "size may have; if that is right, export the sheet as CSV (UTF-8)"
        )
    try:
        with warnings.catch_warnings(action="ignore"):  # of styles and extensions that are not read
            book = load_workbook(path, read_only=True, data_only=True)
            sheets = {each.title: each for each in book.worksheets}
            meant = list(sheets) if sheet is None else _named(sheet, list(sheets))
            tables = {name: _rows_of(sheets[name]) for name in meant or sheets}
            book.close()
    except (OSError, AttributeError, InvalidFileException, *files.READ_ERRORS) as error:
        raise _unreadable(path, error) from None
    return tables, meant


def _unreadable(path: Path, error: BaseException) -> ValueError:
    return ValueError(f"{path} cannot be read as an Excel workbook ({files.first_line(error)}); save it as .xlsx again")


def _rows_of(sheet: Any) -> list[list[Any]]:
    sheet.reset_dimensions()  # which some programs write wrong
    return [[_value_of(cell) for cell in row] for row in sheet.iter_rows()]


def _value_of(cell: Any) -> Any:
    value = cell.value
    if value is None or cell.data_type == "e":  # an error, such as #DIV/0!
        return None
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in (cell.number_format or ""):
        return _shown(value, cell.number_format)
    return value


def _shown(value: float, number_format: str) -> Any:
    """A number as a format with a per cent sign shows it; a sign that is quoted or escaped does not multiply by 100.

    >>> _shown(0.941, "0.0%").plain, _shown(94.1, '0.0"%"').plain, _shown(94.1, "0.0_%")
    ('94.1', '94.1', 94.1)
    """
    sections = _NO_DIGITS.sub("", number_format).split(";")  # the second one is for negative numbers
    section = sections[1] if value < 0 and len(sections) > 1 else sections[0]
    if "%" in section:
        return WrittenNumber(f"{100 * value:.15g}", "", "%")
    is_marked = any("%" in (quoted.strip(), escaped) for quoted, escaped in _NO_DIGITS.findall(number_format))
    return WrittenNumber(f"{value:.15g}", "", "%") if is_marked else value


def _named(sheet: str, names: list[str]) -> list[str]:
    """The sheet of this name or number, none if there is no such sheet."""
    if sheet not in names and sheet.isdecimal() and 0 < int(sheet) <= len(names):
        return [names[int(sheet) - 1]]
    return [name for name in names if name == sheet]


def _filled(tables: dict[str, list[list[Any]]]) -> list[str]:
    return [name for name, rows in tables.items() if any(v is not None for row in rows for v in row)]


def _only_filled(tables: dict[str, list[list[Any]]], path: Path) -> list[list[Any]]:
    """The rows of the only sheet that is not empty, none without one; ValueError where there are several."""
    filled = _filled(tables)
    if len(filled) > 1:
        largest = max(filled, key=lambda name: sum(v is not None for row in tables[name] for v in row))
        raise ValueError(f"{path} has several sheets, {listing(filled)}; name one with {option_text('sheet', largest)}")
    return tables[filled[0]] if filled else []


def _table_of(rows: list[list[Any]], path: Path, header_row: int | None) -> pd.DataFrame:
    import pandas as pd

    start = header_row or 1
    rows = rows[start - 1 :]
    if header_row is None:
        n_empty = next((i for i, row in enumerate(rows) if any(v is not None for v in row)), 0)
        start, rows = start + n_empty, rows[n_empty:]
    filled = [row for row in rows[1:] if any(v is not None for v in row)]
    if not filled:
        raise ValueError(f"{path} has no rows below row {start}, where its names should be; add them, or correct it")
    width = max(map(len, rows))
    header, *body = [row + [None] * (width - len(row)) for row in (rows[0], *filled)]
    used = [k for k in range(width) if header[k] is not None or any(row[k] is not None for row in body)]
    nameless = next((k for k in used if header[k] is None), None)
    if nameless is not None:
        hint = f"name it there, or say with {option_text('header_row')} which row has the names"
        for number, row in enumerate(rows[1:FIRST_ROWS], start + 1):
            cells = [row[k] if k < len(row) else None for k in used]
            if header_row is None and are_names(cells):
                hint = header_hint(number, cells)
                break
        raise ValueError(f"column {nameless + 1} of {path} has no name in row {start}; {hint}")
    names = [str(header[k]).strip() for k in used]
    columns = [pd.Series([row[k] for row in body], dtype=object).infer_objects() for k in used]
    return pd.concat(columns, axis=1).set_axis(names, axis=1)
