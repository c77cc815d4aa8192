"""What is in the files of tables, read cell by cell in plain Python, to compare what fsgym makes of them."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import math
import re
import struct
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

import fsgym

MISSING = {"", "?", "NA", "N/A", "NaN", "nan", "null", "None"}
WORDS = {"true": True, "false": False}
CLOSE = 1e-6  # relative, of float32
CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}
CODES |= {"u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "?"}


def check_csv(paths: list[Path], data: fsgym.Dataset, target: str, separators: str = ",", categories: Any = ()) -> None:
    """AssertionError unless the data set has the cells of the files in their rows and columns."""
    faults = []
    for separator in separators:
        tables = [_rows_of(path, separator) for path in paths]
        if all(header == tables[0][0] and target in header for header, _ in tables):
            rows = [row for _, listed in tables for row in listed]
            try:
                _check_cells(data, tables[0][0], rows, target, separator != ",", categories)
                return
            except AssertionError as fault:
                faults.append(str(fault))
    raise AssertionError(f"other cells than in the file: {faults[:1] or 'no header with the target'}")


def _rows_of(path: Path, separator: str) -> tuple[list[str], list[list[str]]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    text = re.sub(r"^\s*[\"']?sep=[^\w\r\n \"'][\"']?[\r\n]+", "", text, flags=re.IGNORECASE)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    return [cell.strip() for cell in rows[0]], rows[1:]


def _check_cells(
    data: fsgym.Dataset, header: list[str], rows: list[list[Any]], target: str, comma: bool, categories: Any = ()
) -> None:
    assert data.n_samples == len(rows), f"{data.n_samples} rows, not {len(rows)}"
    assert sorted(data.columns.names) == sorted(name for name in header if name != target), "columns"
    frame = data.to_frame()
    for i, row in enumerate(rows):
        assert len(row) == len(header), f"row {i} has {len(row)} cells"
        for name, cell in zip(header, row, strict=True):
            if name == target:
                assert _same_label(data.classes[data.y[i]], cell, comma), f"row {i}: label {cell!r}"
                continue
            column = data.columns[data.columns.names.index(name)]
            found = frame[name].iloc[i]
            same = _same_number if column.kind == "number" else _same_word if column.kind == "bool" else _same_level
            assert same(found, cell, comma), f"row {i}, {name}: {found!r} for {cell!r}"
            assert name not in categories or column.kind == "category", f"{name} is no category"


def _number(cell: Any, comma: bool = False) -> float:
    if not isinstance(cell, str):
        return float(cell)
    text = (
        cell.strip().replace(",", ".")
        if comma and re.fullmatch(r"\s*[+-]?(\d+,\d*|,\d+)(e[+-]?\d+)?\s*", cell, re.I)
        else cell
    )
    return math.nan if "_" in text or not text.isascii() else float(text)


def _same_number(found: Any, cell: Any, comma: bool) -> bool:
    if cell is None or cell != cell or cell in MISSING:
        return found is None or found != found
    number = _number(cell, comma)
    return abs(found - number) <= CLOSE * abs(number) + 1e-37


def _same_word(found: Any, cell: Any, comma: bool) -> bool:
    missing = cell is None or cell != cell or (isinstance(cell, str) and cell.strip() in MISSING)
    return (found is None or found != found) if missing else found is WORDS.get(str(cell).strip().lower(), cell)


def _same_level(found: Any, cell: Any, comma: bool) -> bool:
    if cell is None or cell != cell or (cell == "" and found != ""):
        return found is None or found != found
    return found == str(cell)


def _same_label(label: Any, cell: Any, comma: bool) -> bool:
    if cell is None or cell == "":
        return False
    if isinstance(label, np.bool_ | bool):
        return bool(label) is WORDS.get(str(cell).strip().lower(), cell)
    if isinstance(label, str):
        return _same_level(label, cell, comma) or (hasattr(cell, "isoformat") and label.startswith(cell.isoformat()))
    return float(label) == _number(cell) or (isinstance(cell, str) and float(label) == _number(cell, True))


def check_npz(path: Path, data: fsgym.Dataset, divisor: float = 1.0) -> None:
    """AssertionError unless the data set has the numbers of the arrays in their places."""
    arrays = _arrays_of(path)
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        (values, _), (places, _), (ends, _), (shape, _) = (arrays[k] for k in ("data", "indices", "indptr", "shape"))
        X = [[0.0] * int(shape[1]) for _ in range(int(shape[0]))]
        sizes = [[0.0] * int(shape[1]) for _ in X]  # sums of absolute values: entries of one place are added in float32
        assert len(ends) == len(X) + 1, "indptr"
        taken = 0
        for i, row in enumerate(X):
            for k in range(int(ends[i]), int(ends[i + 1])):
                assert 0 <= k < len(values), "indptr"
                assert 0 <= places[k] < len(row), "indices"
                row[int(places[k])] += float(values[k])
                sizes[i][int(places[k])] += abs(float(values[k]))
                taken += 1
        assert taken == len(values), "values that are in no row"
        y = arrays["y"][0]
    elif "X_train" in arrays:
        X = sizes = _table(*arrays["X_train"]) + _table(*arrays["X_test"])
        y = arrays["y_train"][0] + arrays["y_test"][0]
    else:
        X = sizes = _table(*arrays["X"])
        y = arrays["y"][0]
    found = data.to_array()
    assert found.shape == (len(X), len(X[0])), "shape"
    assert len(y) == len(X), "labels"
    for i, row in enumerate(X):
        for j, value in enumerate(row):
            got = float(found[i, j])
            near = abs(got - value / divisor) <= CLOSE * abs(sizes[i][j]) + 1e-37
            assert near or (got != got and value != value), f"{i}, {j}"
        label = data.classes[data.y[i]]
        assert label == y[i] or str(label) == str(y[i]), f"label {i}: {label!r} for {y[i]!r}"


def _table(flat: list[Any], shape: tuple[int, ...]) -> list[list[float]]:
    width = math.prod(shape[1:])
    return [[float(v) for v in flat[i * width : (i + 1) * width]] for i in range(shape[0])]


def _arrays_of(path: Path) -> dict[str, tuple[list[Any], tuple[int, ...]]]:
    """The values of each array of numbers or text in row order, and its shape."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in {info.filename for info in archive.infolist()}:
            key = name.removesuffix(".npy")
            if key in ("X", "y", "data", "indices", "indptr", "shape", "X_train", "X_test", "y_train", "y_test"):
                arrays[key] = _values_of(archive.read(name))
    return arrays


def _values_of(data: bytes) -> tuple[list[Any], tuple[int, ...]]:
    size = 2 if data[6] == 1 else 4
    length = int.from_bytes(data[8 : 8 + size], "little")
    text = data[8 + size : 8 + size + length].decode("latin1")
    header = ast.literal_eval(re.sub(r"(\d)L", r"\1", text).strip())
    body, shape, kind = data[8 + size + length :], header["shape"], header["descr"]
    n, order, code = math.prod(shape), ">" if kind[0] == ">" else "<", kind.lstrip("<>|=")
    if code in CODES:
        flat: list[Any] = list(struct.unpack_from(f"{order}{n}{CODES[code]}", body))
    elif code[0] in "USa":
        width = int(code[1:]) * (4 if code[0] == "U" else 1)
        cells = [body[k * width : (k + 1) * width] for k in range(n)]
        flat = [
            c.decode("utf-32" + ("be" if order == ">" else "le")).rstrip("\0") if code[0] == "U" else c.rstrip(b"\0")
            for c in cells
        ]
    else:
        flat = np.frombuffer(body, np.dtype(kind), n).tolist()
    if header["fortran_order"] and len(shape) > 1:
        flat = np.array(flat, dtype=object).reshape(shape[::-1]).T.reshape(-1).tolist()
    return flat, shape


def check_parquet(path: Path, data: fsgym.Dataset, target: str) -> None:
    """AssertionError unless the data set has the cells that pyarrow reads column by column."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    listed = (table.schema.pandas_metadata or {}).get("columns", [])
    renamed = {column.get("field_name"): column.get("name") for column in listed}  # as pandas does
    own = {str(renamed.get(name) or name): table.column(name).to_pylist() for name in table.column_names}
    names = [name for name in own if name in (*data.columns.names, target)]
    columns = [own[name] for name in names]
    rows = [[_plain(cell) for cell in row] for row in zip(*columns, strict=True)]  # in which "" is a level
    _check_cells(data, names, rows, target, True)


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return float(cell) if isinstance(cell, Decimal) else cell


def check_set(manifest: Path, name: str, data: fsgym.Dataset) -> None:
    """AssertionError unless the data set has the values of the files that its record names, or of those of its name."""
    records = json.loads(manifest.read_text(encoding="utf-8-sig"))
    files = sorted(p.name for p in manifest.parent.glob("t.*")) if name == "t" and name not in records else []
    record = records.get(name, {"files": [{"file": file} for file in files]})
    paths = [manifest.parent / entry["file"] for entry in record["files"]]
    if paths[0].suffix == ".npz":
        assert len(paths) == 1, "several arrays"
        found = re.search(r"divide (?:X )?by (\d+)", record.get("layout", ""))
        check_npz(paths[0], data, float(found[1]) if found else 1.0)
    else:
        check_csv(paths, data, "target", categories=set(record.get("categorical_columns", ())) - {"target"})


def check_prices(path: Path, prices: dict[str, float]) -> None:
    """AssertionError unless the prices are those of the file, each with its name."""
    if path.suffix == ".json":
        content: Any = json.loads(path.read_text(encoding="utf-8-sig"))
        if any(isinstance(v, dict) for v in content.values()):
            (content,) = content.values()
            content = content.get("costs", content)
        wanted = {str(name): float(price) for name, price in content.items()}
    else:
        _check_price_list(path.read_text(encoding="utf-8-sig"), prices)
        return
    assert prices == wanted, f"{prices} for {wanted}"


def _check_price_list(text: str, prices: dict[str, float]) -> None:
    """Each line but the first has a name and its price; the first one, too, or a header."""
    tables = [list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)) for separator in ",;"]
    rows = [[[cell.strip() for cell in row] for row in table if any(map(str.strip, row))] for table in tables]
    listed = [[(row[0], row[1]) for row in table] for table in rows if all(len(row) == 2 for row in table)]
    pairs = [pair for pair in listed if {name for name, _ in pair[1:]} <= prices.keys()]
    assert pairs, f"no two columns: {rows}"
    own = pairs[0] if re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", pairs[0][0][1], re.I) else pairs[0][1:]
    wanted = {name: float(price.replace(",", ".")) for name, price in own}
    assert prices == wanted, f"{prices} for {wanted}"
    assert len(own) == len(prices), f"a name twice in {own}"


def check_session(text: str, session: Any) -> None:
    """AssertionError unless the session has what the text says was answered, known and unavailable."""
    plain, again = json.loads(text), json.loads(session.to_json())
    for key in ("known", "unavailable", "charge_unknown", "accept", "stopped"):
        assert again[key] == plain[key], f"{key}: {again[key]} for {plain[key]}"
    defaults = {"paid": True, "accept": False, "chosen": False, "serial": 0, "refilled": False}
    events = [[defaults | event for event in one["answers"]] for one in (again, plain)]
    assert events[0] == events[1], f"answers: {events}"
    shown = {(e.name, column): v for e in session.log() for column, v in e.values.items()}
    said = {
        (e["name"], c): v
        for e in plain["answers"]
        for c, v in e["values"].items()
        if e["kind"] != "undone" and v is not None
    }
    assert shown.keys() == said.keys(), f"log: {shown} for {said}"
    assert all(str(shown[key]) == str(said[key]) or shown[key] == said[key] for key in said), f"log: {shown} for {said}"
