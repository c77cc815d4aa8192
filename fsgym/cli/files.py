"""Reading the files that are given on the command line: groups, prices, error costs, relations, prerequisites."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.data.cells import plain_number
from fsgym.data.dataset import Dataset
from fsgym.data.reading.excel import read_list
from fsgym.data.reading.files import read_json
from fsgym.datasets.prices import prices_for
from fsgym.rules.checks import error_cost_matrix, relation_matrix
from fsgym.rules.options import OPTIONS, RuleOption
from fsgym.text.messages import brief, listing

# Of a workbook, in lower case
ERROR_SHEETS, RELATED_SHEETS, NEEDS_SHEETS = ("errors", "error costs"), ("related",), ("prerequisites", "needs")


def read_groups(path: Path) -> dict[str, list[str]]:
    """Groups of features from a JSON file ``{group name: [feature names]}``."""
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()) or not content:
        raise ValueError(f'{path} must map group names to lists of feature names, as {{"blood": ["age", "bmi"]}}')
    return {name: [str(v) for v in members] for name, members in content.items()}


def read_units(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Units by name of the column from JSON files ``{column: unit}`` and texts such as ``crp=mg/l,hgb=g/dl``."""
    units: dict[str, str] = {}
    for text in texts or ():
        if text.endswith(".json"):
            content = read_json(Path(text))
            if not isinstance(content, dict) or not all(isinstance(v, str) for v in content.values()):
                raise ValueError(f'{text} must map names of columns to units, as {{"crp": "mg/l"}}')
            units |= content
            continue
        for part in filter(str.strip, text.split(",")):
            name, sign, unit = (v.strip() for v in part.partition("="))
            if not sign or not name or not unit or ";" in unit or "=" in unit:
                raise ValueError(
                    f"--units must be NAME=UNIT, separated by commas, or a .json file, got {part.strip()!r}"
                )
            units[name] = unit
    return units if texts else None


def read_error_costs(path: Path, dataset: Dataset) -> dict[str, dict[str, float]]:
    """Costs of errors as ``{answer: {true class: cost}}``, from a matrix (CSV, or a sheet) or a JSON file.

    The header line of the matrix names the true classes, its first column the answers. The JSON file is
    ``{answer: {true class: cost}}``. For a numeric target the classes are its bins.
    """
    try:
        return _read_error_costs(path, dataset)
    except ValueError as error:
        if dataset.bins is None or not path.is_file():
            raise
        last, counts = dataset.bins.n_bins - 1, dataset.bins.error.replace("_", " ")
        raise ValueError(
            f"{error}; of a numeric target they are its bins, 0 to {last}; without the file its {counts} counts"
        ) from None


def _read_error_costs(path: Path, dataset: Dataset) -> dict[str, dict[str, float]]:
    names = [str(c) for c in dataset.classes]
    if path.suffix != ".json":
        rows = _read_matrix(path, names, "class", ERROR_SHEETS).tolist()
        return {answer: dict(zip(names, row, strict=True)) for answer, row in zip(names, rows, strict=True)}
    content = read_json(path)
    if not isinstance(content, dict) or not content or not all(isinstance(v, dict) for v in content.values()):
        raise ValueError(
            f"{path} must map each answer to its cost by true class, as {{'no': {{'yes': 5}}, 'yes': {{'no': 1}}}}"
        )
    _resolve(path, error_cost_matrix, content, dataset.classes.tolist())
    return content


def _resolve(path: Path, resolve: Callable[..., Any], *arguments: Any) -> Any:
    """What ``resolve`` returns; the message of its ValueError or TypeError names the file."""
    try:
        return resolve(*arguments)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def read_rule_options(
    texts: Mapping[str, Any], dataset: Dataset, data_dir: Path | None, dropped: Collection[str] = ()
) -> dict[str, Any]:
    """The options of ``Rules``, apart from ``groups``, from their texts and paths on the command line.

    Prices of columns that were ``dropped`` are ignored.
    """
    return {o.name: _read_option(o, texts[o.name], dataset, data_dir, dropped) for o in OPTIONS if o.name in texts}


def _read_option(
    option: RuleOption, given: Any, dataset: Dataset, data_dir: Path | None, dropped: Collection[str]
) -> Any:
    if given is None or given in option.words:
        return given
    match option.form:
        case "prices":
            return read_prices(given, dataset, data_dir, dropped)
        case "pairs":
            return read_pairs(given, dataset)
        case "needs":
            return read_needs(given, dataset)
        case "errors":
            return read_error_costs(given, dataset)
        case _:
            return given


def read_prices(
    text: str, dataset: Dataset, data_dir: Path | None = None, dropped: Collection[str] = ()
) -> float | dict[str, float]:
    """One price for all acquisitions from a number, or prices by name from a file, but for columns ``dropped``."""
    try:
        return float(text)
    except ValueError:
        return prices_for(text, dataset, data_dir, dropped)


def read_pairs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Which acquisitions are related, bool (J, J), from a matrix of 0 and 1 (CSV, or a sheet) or a JSON list of pairs.

    Entry (i, j) says that acquisition i is related to j. Pairs count in both directions, a matrix is used as it is.
    """
    if path.suffix != ".json":
        return _read_zero_one(path, dataset, RELATED_SHEETS)
    pairs = read_json(path)
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise ValueError(f'{path} must be a list of pairs of names, as [["age", "bmi"], ["bmi", "sex"]]')
    listed: Any = [[str(i), str(j)] for i, j in pairs] or {}
    return _resolve(path, relation_matrix, listed, dataset.acquisition_names, "related", True)


def read_needs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Prerequisites, bool (J, J), from a matrix of 0 and 1 (CSV, or a sheet) or JSON ``{name: [names it needs]}``.

    Entry (i, j) says that acquisition i needs acquisition j.
    """
    if path.suffix != ".json":
        return _read_zero_one(path, dataset, NEEDS_SHEETS)
    needs = read_json(path)
    if not isinstance(needs, dict) or not all(isinstance(v, list) for v in needs.values()):
        raise ValueError(f'{path} must map names to lists of the names they need, as {{"biopsy": ["scan"]}}')
    return _resolve(path, relation_matrix, needs, dataset.acquisition_names, "prerequisites", False)


def _read_zero_one(path: Path, dataset: Dataset, sheets: Sequence[str]) -> NDArray[np.bool_]:
    matrix = _read_matrix(path, dataset.acquisition_names, "acquisition", sheets)
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise ValueError(f"{path} must hold only 0 and 1 below its header line")
    return matrix.astype(bool)


def _read_matrix(path: Path, names: Sequence[str], kind: str, sheets: Sequence[str]) -> NDArray[np.float64]:
    """A square table with names in its header line and first column, sorted into the order of ``names``."""
    rows = read_list(path, sheets, has_header=True)
    across, down = (rows[0][1:] if rows else []), [row[0] for row in rows[1:]]
    for given, place in ((across, "header line"), (down, "first column")):
        unknown = [v for v in given if v not in names]
        if unknown:
            known = listing(names, 8)
            raise ValueError(f"{path} has {unknown[0]!r} in its {place}, which is not a known {kind}; they are {known}")
        if sorted(given) != sorted(names):
            absent = next((v for v in names if v not in given), None)
            fault = f"lacks {absent!r}" if absent is not None else "repeats a name"
            raise ValueError(f"the {place} of {path} {fault}; it must name each {kind} once")
    if any(len(row) != len(names) + 1 for row in rows):
        raise ValueError(f"{path} must have {len(names)} numbers in each of {len(names)} lines")
    numbers = [[(text, plain_number(text)) for text in row[1:]] for row in rows[1:]]
    odd = next((text for row in numbers for text, number in row if number is None), None)
    if odd is not None:
        raise ValueError(f"{path} must hold numbers below its header line, got {brief(odd)}")
    table = np.array([[number for _, number in row] for row in numbers])
    return table[np.ix_([down.index(n) for n in names], [across.index(n) for n in names])]
