"""Files that the command line takes: groups, prices, error costs, relations between acquisitions."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.dataset import Dataset
from fsgym.datasets import load_costs
from fsgym.datasets.files import read_json, read_text
from fsgym.rules.options import OPTIONS, RuleOption


def read_groups(path: Path) -> dict[str, list[str]]:
    """Groups from JSON ``{group name: [feature names]}``."""
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()) or not content:
        raise ValueError(f'{path} must map group names to lists of feature names, as {{"blood": ["age", "bmi"]}}')
    return {name: [str(v) for v in members] for name, members in content.items()}


def read_error_costs(path: Path, dataset: Dataset) -> NDArray[np.float64]:
    """``error_costs[answer, truth]`` from a CSV matrix with class names, or from JSON ``{answer: {truth: cost}}``."""
    names = [str(c) for c in dataset.classes]
    if path.suffix != ".json":
        return _matrix(path, names, "class")
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise ValueError(f"{path} must map each answer to the costs by truth, as {{'no': {{'no': 0, 'yes': 5}}, ...}}")
    for answer, costs in content.items():
        if sorted(costs) != sorted(names):
            raise ValueError(f"{path} must give the answer {answer!r} a cost for each of the truths {_few(names)}")
    rows = [[answer, *(str(costs[truth]) for truth in names)] for answer, costs in content.items()]
    return _by_name([["", *names], *rows], path, names, "class")


def read_rule_options(texts: Mapping[str, Any], dataset: Dataset, data_dir: Path | None) -> dict[str, Any]:
    """The options of ``Rules`` from what was given on the command line, ``groups`` apart."""
    return {o.name: _read(o, texts[o.name], dataset, data_dir) for o in OPTIONS if o.name in texts}


def _read(option: RuleOption, given: Any, dataset: Dataset, data_dir: Path | None) -> Any:
    if given is None or given in option.words:
        return given
    match option.form:
        case "prices":
            return read_prices(given, dataset, data_dir)
        case "pairs":
            return read_pairs(given, dataset)
        case "needs":
            return read_needs(given, dataset)
        case "errors":
            return read_error_costs(given, dataset)
        case _:
            return given


def read_prices(text: str, dataset: Dataset, data_dir: Path | None = None) -> float | dict[str, float]:
    """One number for all acquisitions, or prices from a file."""
    try:
        return float(text)
    except ValueError:
        return load_costs(text, dataset, data_dir=data_dir)


def read_pairs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Which acquisitions are related, from a CSV matrix of 0 and 1 with names, or from a JSON list of pairs."""
    if path.suffix != ".json":
        return _zero_one(path, dataset)
    pairs = read_json(path)
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise ValueError(f'{path} must be a list of pairs of names, as [["age", "bmi"], ["bmi", "sex"]]')
    related = _marked(pairs, path, dataset)
    return related | related.T


def read_needs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Which acquisition needs which, from a CSV matrix of 0 and 1 with names, or from JSON ``{name: [names]}``."""
    if path.suffix != ".json":
        return _zero_one(path, dataset)
    needs = read_json(path)
    if not isinstance(needs, dict) or not all(isinstance(v, list) for v in needs.values()):
        raise ValueError(f'{path} must map names to lists of the names they need, as {{"biopsy": ["scan"]}}')
    _check_names(needs, path, dataset)
    return _marked([(name, needed) for name, listed in needs.items() for needed in listed], path, dataset)


def _marked(pairs: Sequence[Sequence[Any]], path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """A matrix (J, J), true in the line of the first and the column of the second name of each pair."""
    names = list(dataset.acquisition_names)
    marked = np.zeros((len(names), len(names)), bool)
    for pair in pairs:
        _check_names(pair, path, dataset)
        i, j = (names.index(v) for v in pair)
        marked[i, j] = True
    return marked


def _check_names(names: Iterable[Any], path: Path, dataset: Dataset) -> None:
    for name in names:
        if name not in dataset.acquisition_names:
            raise ValueError(f"{path} names {name!r}, which is no acquisition of {dataset.name!r}")


def _zero_one(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    matrix = _matrix(path, dataset.acquisition_names, "acquisition")
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise ValueError(f"{path} must hold only 0 and 1 below its header line")
    return matrix.astype(bool)


def _matrix(path: Path, names: Sequence[str], kind: str) -> NDArray[np.float64]:
    try:
        rows = [
            [c.strip() for c in row] for row in csv.reader(read_text(path).splitlines()) if any(c.strip() for c in row)
        ]
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from None
    return _by_name(rows, path, names, kind)


def _by_name(rows: list[list[str]], path: Path, names: Sequence[str], kind: str) -> NDArray[np.float64]:
    """A square table with names above and on the left, its rows and columns brought into the order of ``names``."""
    across, down = (rows[0][1:] if rows else []), [row[0] for row in rows[1:]]
    for found, where in ((across, "header line"), (down, "first column")):
        strange = [v for v in found if v not in names]
        if strange:
            raise ValueError(f"{path} has {strange[0]!r} in its {where}, which is no {kind}; they are {_few(names)}")
        if sorted(found) != sorted(names):
            lost = next((v for v in names if v not in found), None)
            fault = f"lacks {lost!r}" if lost is not None else "repeats a name"
            raise ValueError(f"the {where} of {path} {fault}; it must name each {kind} once")
    try:
        table = np.array([[float(v) for v in row[1:]] for row in rows[1:]])
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers below its header line: {error}") from None
    if table.shape != (len(names), len(names)):
        raise ValueError(f"{path} must have {len(names)} numbers in each of {len(names)} lines")
    return table[np.ix_([down.index(n) for n in names], [across.index(n) for n in names])]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
