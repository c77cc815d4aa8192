"""``load_costs``: prices of acquisitions from a file."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fsgym.data.cells import MISSING_WORDS, plain_number
from fsgym.data.dataset import Dataset
from fsgym.data.reading.excel import SUFFIXES, read_list
from fsgym.data.reading.files import read_json
from fsgym.datasets.folder import find_folder
from fsgym.text.messages import brief, did_you_mean, listing, option_text

SHEET_NAMES = ("prices", "costs")  # of the sheet of a workbook that has the prices


def load_costs(
    path_or_name: str | os.PathLike,
    dataset: str | Dataset | None = None,
    *,
    data_dir: str | os.PathLike | None = None,
) -> dict[str, float]:
    """Load prices by name from a file, as ``Dataset(costs=...)`` and ``Rules(costs=...)`` take them.

    Parameters
    ----------
    path_or_name : str or path
        A file: JSON ``{name: price}``; JSON ``{data set: {"costs": {name: price}}}``; or a table with two columns,
        name and price, with or without a header line: CSV, or the sheet ``prices`` or ``costs`` of an Excel workbook,
        or its only one. Or the name of a data set, to be looked up in the ``costs.json`` of
        the local folder.
    dataset : str or Dataset, optional
        The data set whose entry is used, if the file covers several data sets. If a ``Dataset`` is given, each of its
        acquisitions must have a price. Prices of unknown names are ignored in a file that covers several data sets,
        but are an error in a file with a single list.
    data_dir : path, optional
        The local folder; by default that of the environment variable ``FSGYM_DATA``.

    Returns
    -------
    dict of str to float
        In the unit of the file.

    Raises
    ------
    ValueError, TypeError, OSError
        If the file or the entry does not exist, the file is damaged, or a price is missing, negative or not finite.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fsgym.datasets import load_costs
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "prices.csv"
    >>> _ = file.write_text("name,price\\nage,1\\nglucose,17.61\\n")
    >>> load_costs(file)
    {'age': 1.0, 'glucose': 17.61}
    """
    return prices_for(path_or_name, dataset, data_dir)


def prices_for(
    path_or_name: str | os.PathLike,
    dataset: str | Dataset | None,
    data_dir: str | os.PathLike | None,
    without: Collection[str] = (),
) -> dict[str, float]:
    """``load_costs``, but for the prices of columns that the data set is ``without``."""
    if not isinstance(path_or_name, str | os.PathLike):
        raise TypeError(f"path_or_name must be a path or a name, got {type(path_or_name).__name__}")
    if dataset is not None and not isinstance(dataset, str | Dataset):
        raise TypeError(f"dataset must be a name or a Dataset, got {type(dataset).__name__}")
    known = dataset.acquisition_names if isinstance(dataset, Dataset) else None
    wanted = dataset.name if isinstance(dataset, Dataset) else dataset
    path = Path(os.fsdecode(path_or_name)).expanduser()
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file with prices")
    if re.fullmatch(r"\d+,\d+", str(path_or_name)):
        raise ValueError(f"prices must have a decimal point, got {path_or_name!s}")
    if path.suffix not in (".json", ".csv", *SUFFIXES) and not path.is_file():
        if re.search(r"=|^{", str(path_or_name)):
            raise ValueError(
                f"prices must be in a file, JSON {{name: price}} or CSV of name and price, got {brief(str(path))}"
            )
        folder = find_folder(data_dir)
        if folder is None:
            raise FileNotFoundError(
                f"prices must be in a .csv or .json file, or the name of a data set in a folder with a costs.json, got "
                f"{str(path)!r}; name that folder with {option_text('data_dir')} or the variable FSGYM_DATA"
            )
        wanted, path = str(path), folder / "costs.json"
    if path.suffix in (".csv", *SUFFIXES):
        rows = read_list(path, SHEET_NAMES, has_header=False)
        prices, is_entry = _prices_from_rows(rows, path, {str(k) for k in (*(known or ()), *without)}), False
    else:
        prices, is_entry = _prices_from_json(path, wanted)
    if known is not None:
        prices = {k: price for k, price in prices.items() if k in known or k not in without}
        unknown = [k for k in prices if k not in known]
        if unknown and not is_entry:
            hint = did_you_mean(unknown[0], map(str, known)) or (
                f"; a group is priced by its name, and groups are given with {option_text('groups')}"
            )
            raise ValueError(f"{path} prices {unknown[0]!r}, which is none of the acquisitions {listing(known)}{hint}")
        missing = [k for k in known if k not in prices]
        if missing:
            raise ValueError(
                f"{path} has no price for {missing[0]!r}; every acquisition of {wanted!r} needs one, or is left out: "
                + option_text("drop", [str(missing[0])])
            )
        prices = {k: prices[k] for k in known}
    return {str(k): _check_price(v, str(k), path) for k, v in prices.items()}


def _check_price(value: Any, name: str, path: Path) -> float:
    if value is None:
        raise ValueError(f"{path} has no price for {name!r} (null); add one, or drop that feature")
    try:
        price = None if isinstance(value, bool | str) else float(value)
    except (TypeError, OverflowError):
        price = None
    if price is None or not math.isfinite(price) or price < 0:
        hint = "; write it without quotation marks" if isinstance(value, str) and path.suffix == ".json" else ""
        raise ValueError(f"{path} must have a number of at least 0 as the price of {name!r}, got {brief(value)}{hint}")
    return price


def _prices_from_json(path: Path, wanted: str | None) -> tuple[dict[str, Any], bool]:
    """Prices by name, and whether they are an entry of a file for several data sets."""
    content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise ValueError(f"{path} must map names to prices, or data sets to their prices")
    if not any(isinstance(v, dict) for v in content.values()):
        return content, False
    if wanted is None and len(content) == 1:
        wanted = next(iter(content))
    if wanted is None:
        raise ValueError(f"{path} has prices of several data sets; select one with dataset=...: {listing(content)}")
    entry = content.get(wanted)
    if entry is None:
        raise ValueError(f"{path} has no prices of {wanted!r}; it has those of {listing(content)}")
    costs = entry.get("costs", entry) if isinstance(entry, dict) else None
    if not isinstance(costs, dict) or not costs:
        raise ValueError(f"the entry {wanted!r} of {path} must map names to prices")
    return costs, True


def _prices_from_rows(rows: list[list[str]], path: Path, known: set[str]) -> dict[str, Any]:
    """Prices by name from the rows of a table; ``known`` are names of the data, if there are data."""
    odd = next((row for row in rows if len(row) != 2), None)
    if odd is not None:
        cells = listing(map(repr, odd), 4)
        raise ValueError(f"{path} must have two columns, name and price, in every line, got one of {len(odd)}: {cells}")
    if rows and _is_heading(rows[0], known - {name for name, _ in rows[1:]}):
        rows = rows[1:]
    if not rows:
        raise ValueError(f"{path} has no prices")
    prices: dict[str, Any] = {}
    for name, price in rows:
        if name in prices:
            raise ValueError(f"{path} has two prices for {name!r}; remove one line")
        number = plain_number(price)
        prices[name] = price or None if number is None else number
    return prices


NO_HEADINGS = ("nan", "inf", "infinity", "free", "gratis", "none", "unknown")  # but a price that is damaged or absent


def _is_heading(row: list[str], known: Collection[str]) -> bool:
    """Whether the first line has words above names and prices, and not a price, nor a damaged or absent one."""
    name, price = row
    if name in known or re.search(r"\d", price) or re.fullmatch(r"[-+.,\s]*", price):
        return False
    return price.strip() not in MISSING_WORDS and price.strip().lower().lstrip("+-") not in NO_HEADINGS
