"""Reading the files that are given on the command line: groups, prices, error costs, relations, prerequisites."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.checks import listing
from fsgym.dataset import Dataset
from fsgym.datasets import load_costs
from fsgym.datasets.files import read_json, read_text
from fsgym.rules.options import OPTIONS, RuleOption


def read_groups(path: Path) -> dict[str, list[str]]:
    """Groups of features from a JSON file ``{group name: [feature names]}``."""
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()) or not content:
        raise ValueError(f'{path} must map group names to lists of feature names, as {{"blood": ["age", "bmi"]}}')
    return {name: [str(v) for v in members] for name, members in content.items()}


def read_error_costs(path: Path, dataset: Dataset) -> NDArray[np.float64]:
    """``error_costs[answer, true class]``, float64 (n_classes, n_classes), from a CSV matrix or a JSON file.

    The header line of the matrix names the true classes, its first column the answers. The JSON file is
    ``{answer: {true class: cost}}``.
    """
    names = [str(c) for c in dataset.classes]
    if path.suffix != ".json":
        return _read_matrix(path, names, "class")
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise ValueError(
            f"{path} must map each answer to its cost by true class, as {{'no': {{'no': 0, 'yes': 5}}, ...}}"
        )
    for answer, costs in content.items():
        if sorted(costs) != sorted(names):
            raise ValueError(f"{path} must give the answer {answer!r} a cost for each true class: {listing(names, 8)}")
    rows = [[answer, *(str(costs[true_class]) for true_class in names)] for answer, costs in content.items()]
    return _by_name([["", *names], *rows], path, names, "class")


def read_rule_options(texts: Mapping[str, Any], dataset: Dataset, data_dir: Path | None) -> dict[str, Any]:
    """The options of ``Rules``, apart from ``groups``, from their texts and paths on the command line."""
    return {o.name: _read_option(o, texts[o.name], dataset, data_dir) for o in OPTIONS if o.name in texts}


def _read_option(option: RuleOption, given: Any, dataset: Dataset, data_dir: Path | None) -> Any:
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
    """One price for all acquisitions from a number, or prices by name from a file."""
    try:
        return float(text)
    except ValueError:
        return load_costs(text, dataset, data_dir=data_dir)


def read_pairs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Which acquisitions are related, bool (J, J), from a CSV matrix of 0 and 1 or a JSON list of pairs.

    Entry (i, j) says that acquisition i is related to j. Pairs count in both directions, a matrix is used as it is.
    """
    if path.suffix != ".json":
        return _read_zero_one(path, dataset)
    pairs = read_json(path)
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise ValueError(f'{path} must be a list of pairs of names, as [["age", "bmi"], ["bmi", "sex"]]')
    related = _pairs_to_matrix(pairs, path, dataset)
    return related | related.T


def read_needs(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """Prerequisites, bool (J, J), from a CSV matrix of 0 and 1 or a JSON file ``{name: [names that it needs]}``.

    Entry (i, j) says that acquisition i needs acquisition j.
    """
    if path.suffix != ".json":
        return _read_zero_one(path, dataset)
    needs = read_json(path)
    if not isinstance(needs, dict) or not all(isinstance(v, list) for v in needs.values()):
        raise ValueError(f'{path} must map names to lists of the names they need, as {{"biopsy": ["scan"]}}')
    _check_names(needs, path, dataset)
    return _pairs_to_matrix([(name, needed) for name, listed in needs.items() for needed in listed], path, dataset)


def _pairs_to_matrix(pairs: Sequence[Sequence[Any]], path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    """A matrix, bool (J, J), that is true in the row of the first and the column of the second name of each pair."""
    names = list(dataset.acquisition_names)
    matrix = np.zeros((len(names), len(names)), bool)
    for pair in pairs:
        _check_names(pair, path, dataset)
        i, j = (names.index(v) for v in pair)
        matrix[i, j] = True
    return matrix


def _check_names(names: Iterable[Any], path: Path, dataset: Dataset) -> None:
    for name in names:
        if name not in dataset.acquisition_names:
            raise ValueError(f"{path} names {name!r}, which is not an acquisition of {dataset.name!r}")


def _read_zero_one(path: Path, dataset: Dataset) -> NDArray[np.bool_]:
    matrix = _read_matrix(path, dataset.acquisition_names, "acquisition")
    if not np.isin(matrix, (0.0, 1.0)).all():
        raise ValueError(f"{path} must hold only 0 and 1 below its header line")
    return matrix.astype(bool)


def _read_matrix(path: Path, names: Sequence[str], kind: str) -> NDArray[np.float64]:
    try:
        cells = [[c.strip() for c in row] for row in csv.reader(read_text(path).splitlines())]
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV: {error}") from None
    return _by_name([row for row in cells if any(row)], path, names, kind)


def _by_name(rows: list[list[str]], path: Path, names: Sequence[str], kind: str) -> NDArray[np.float64]:
    """A square table with names in its header line and first column, sorted into the order of ``names``."""
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
    try:
        table = np.array([[float(v) for v in row[1:]] for row in rows[1:]])
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers below its header line: {error}") from None
    if table.shape != (len(names), len(names)):
        raise ValueError(f"{path} must have {len(names)} numbers in each of {len(names)} lines")
    return table[np.ix_([down.index(n) for n in names], [across.index(n) for n in names])]
