"""Model files changed at random, by what they are made of: JSON paths, arrays, entries of the container, bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from support.model_parts import DTYPES, ModelParts, Tensor

INT64 = np.iinfo(np.int64)
NESTED, DEEP = 40, 100_000  # lists in lists
HUGE_SHAPES = [
    [10**7, 0],
    [0, 10**7],
    [2**62, 4],
    [2**63 - 1],
    [0, 2**40],
    [2**64],
    [-1],
    [0],
    [],
    [1] * 70,
    [2**32, 2**32],
]


def mutated(parts: list[ModelParts], which: int, rng: np.random.Generator) -> tuple[bytes, str]:
    """A changed file of model ``which``, and in words what was changed."""
    changed, what = mutated_parts(parts, which, rng)
    return changed.to_bytes(), what


def mutated_parts(parts: list[ModelParts], which: int, rng: np.random.Generator) -> tuple[ModelParts, str]:
    """The parts of a changed file of model ``which``, and in words what was changed; one to three changes."""
    changed, done = parts[which].copy(), []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.65, 0.25, 0.1]))):
        change = MUTATIONS[int(rng.choice(len(MUTATIONS), p=WEIGHTS))]
        done.append(f"{change.__name__}: {change(changed, parts[int(rng.integers(len(parts)))], rng)}")
    return changed, "; ".join(done)


def _pick(rng: np.random.Generator, values: Any) -> Any:
    listed = list(values)
    return listed[int(rng.integers(len(listed)))]


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def hostile_value(old: Any, rng: np.random.Generator) -> Any:
    """A JSON value in place of another: of another type, out of range, or near the old one."""
    values: list[Any] = [
        None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-320, 1e308, -1e308, 1e30, 1e400, -1e400, float("nan"), 2**31,
        2**53, INT64.max, INT64.min, 2**63, 2**64, 10**30, 10**400, -(10**400), "", "x", "\x00", "\ud800", "nan",
        "a" * 1000, "\n", "1", "forbid", "<U8", [], {}, [None], [0], [[]], {"a": 1}, [1e400], _nested(NESTED),
        "__class__", [0] * 1000, "é" * 10,
    ]  # fmt: skip
    if isinstance(old, bool) or old is None:
        return _pick(rng, values)
    if isinstance(old, int | float) and abs(old) < 1e300 and rng.random() < 0.6:
        return _pick(
            rng, [old + 1, old - 1, -old, float(old), str(old), [old], old * 1000, old * 1e-9, int(old), old + 0.5]
        )
    if isinstance(old, str) and rng.random() < 0.5:
        return _pick(rng, [old + "x", old[:-1], old.upper(), old * 3, [old], old + "\n", old + " ", list(old)])
    if isinstance(old, list) and rng.random() < 0.6:
        again = [old[:-1], old[1:], old + old, old[::-1], old + old[:1], old[:1], [old], [*old, None]]
        again += [dict(enumerate(old)), [_pick(rng, old)] * len(old) if old else []]
        return _pick(rng, again)
    return _pick(rng, values)


def _random_path(header: Any, rng: np.random.Generator) -> tuple:
    """A path, so that shallow entries are drawn as often as deep ones."""
    path, place = [], header
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        path.append(_pick(rng, keys))
        place = place[path[-1]]
        if rng.random() < 0.25:
            break
    return tuple(path)


def _parent(header: Any, path: tuple) -> Any:
    for key in path[:-1]:
        header = header[key]
    return header


def replace_value(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    path = _random_path(parts.header, rng)
    if not path:
        return "nothing"
    place = _parent(parts.header, path)
    place[path[-1]] = hostile_value(place[path[-1]], rng)
    return f"{path} = {str(place[path[-1]])[:80]!r}"


def remove_value(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    path = _random_path(parts.header, rng)
    if path:
        del _parent(parts.header, path)[path[-1]]
    return f"{path}"


def add_value(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    path = _random_path(parts.header, rng)
    place = _parent(parts.header, path) if path else parts.header
    if isinstance(place, dict):
        place[_pick(rng, ["x", "self", "cls", "", "kind", "lam", "n_features", "names", "groups"])] = hostile_value(
            0, rng
        )
    else:
        place.insert(int(rng.integers(len(place) + 1)), hostile_value(_pick(rng, place), rng) if place else None)
    return f"at {path}"


def swap_values(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """The value at the same path of another model, or another value of this model."""
    path = _random_path(parts.header, rng)
    if not path:
        return "nothing"
    source: Any = other.header
    for key in path:
        found = (isinstance(source, dict) and key in source) or (isinstance(source, list) and isinstance(key, int))
        if not found or (isinstance(source, list) and key >= len(source)):
            source = _parent(parts.header, chosen)[chosen[-1]] if (chosen := _random_path(parts.header, rng)) else None
            break
        source = source[key]
    _parent(parts.header, path)[path[-1]] = json.loads(json.dumps(source))
    return f"{path} from elsewhere: {str(source)[:80]!r}"


def swap_neighbours(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """Two entries of one list or object exchanged."""
    path = _random_path(parts.header, rng)
    place = _parent(parts.header, path) if path else {}
    if len(place) < 2:
        return "nothing"
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    a, b = _pick(rng, keys), _pick(rng, keys)
    place[a], place[b] = place[b], place[a]
    return f"{(*path[:-1], a)} and {b}"


def edit_text(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """Changes that no JSON object has: a key twice, deep nesting, text that is cut."""
    how = _pick(rng, ["twice", "deep", "cut", "number", "open"])
    seed = int(rng.integers(2**32))

    def change(text: str) -> str:
        local = np.random.default_rng(seed)
        keys = [k for k in range(len(text) - 3) if text.startswith('": ', k)]
        if not keys:
            return text
        at = keys[int(local.integers(len(keys)))]
        begin = max(text.rfind('"', 0, at), 0)
        if how == "twice":
            return f'{text[:begin]}{text[begin:at]}": null, {text[begin:]}'
        if how == "deep":
            return f'{text[: at + 3]}{"[" * DEEP}{"]" * DEEP}, "x": {text[at + 3 :]}'
        if how == "cut":
            return text[:at]
        if how == "open":
            return text[:at] + '": ' + '{"a":' * DEEP
        return f'{text[: at + 3]}{"9" * 5000}, "x": {text[at + 3 :]}'

    parts.of_text.append(change)
    return f"{how} {seed}"


def _integers_for(array: np.ndarray, parts: ModelParts, old: int) -> list[int]:
    info = np.iinfo(array.dtype) if array.dtype.kind in "iu" else INT64
    sizes = [n for t in parts.tensors.values() for n in t.shape]
    some = [-1, 0, 1, 2, old + 1, old - 1, -old, 255, len(array) if array.ndim else 1, array.size, 2**31 - 1, 2**40]
    return [
        max(info.min, min(info.max, v))
        for v in [*some, info.max, info.min, info.max - 1, *sizes, *(n - 1 for n in sizes)]
    ]


FLOATS = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    -1.0,
    1e-310,
    5e-324,
    1e-45,
    1e300,
    -1e300,
    1e38,
    1e12,
    1e6,
    -1e6,
    1e-30,
    1.0,
    0.5,
]


def _hostile_elements(array: np.ndarray, parts: ModelParts, rng: np.random.Generator) -> np.ndarray:
    flat = array.reshape(-1)
    n = int(_pick(rng, [1, 1, 1, 2, 3, max(flat.size // 4, 1), flat.size]))
    places = rng.choice(flat.size, min(n, flat.size), replace=False)
    if rng.random() < 0.3 and flat.size > 3:  # neighbours
        start = int(rng.integers(flat.size - 1))
        places = np.arange(start, min(start + 3, flat.size))
    if array.dtype.kind == "f":
        value: Any = _pick(
            rng, [*FLOATS, *(float(flat[places[0]]) * np.array([-1.0, 2.0, 1e3, 1e-3, 1 + 1e-9])).tolist()]
        )
        with np.errstate(over="ignore"):
            flat[places] = value
    elif array.dtype.kind == "b":
        flat[places] = ~flat[places]
    elif rng.random() < 0.25:
        flat[places] = rng.permutation(flat[places])
    else:
        flat[places] = np.array([_pick(rng, _integers_for(array, parts, int(flat[places[0]])))]).astype(array.dtype)
    return array


def change_elements(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    name = _pick(rng, parts.tensors)
    array = parts.tensors[name].array()
    if array is None or not array.size:
        return "nothing"
    parts.tensors[name] = Tensor.of(_hostile_elements(array, parts, rng))
    return name


def change_order(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """Values permuted, reversed, sorted, scaled, shifted, or all the same."""
    name = _pick(rng, parts.tensors)
    array = parts.tensors[name].array()
    if array is None or not array.size:
        return "nothing"
    how = _pick(rng, ["permute", "reverse", "sort", "scale", "negate", "shift", "same", "roll"])
    flat = array.reshape(-1)
    with np.errstate(all="ignore"):
        flat[:] = {
            "permute": lambda: rng.permutation(flat),
            "reverse": lambda: flat[::-1].copy(),
            "sort": lambda: np.sort(flat),
            "scale": lambda: (flat * np.float64(_pick(rng, [2, 10, 1000, 1e-6, 1e30]))).astype(flat.dtype),
            "negate": lambda: flat if flat.dtype.kind == "b" else (-flat.astype(np.float64)).astype(flat.dtype),
            "shift": lambda: (flat + np.float64(1)).astype(flat.dtype),
            "same": lambda: np.full_like(flat, flat[int(rng.integers(flat.size))]),
            "roll": lambda: np.roll(flat, 1),
        }[how]()
    parts.tensors[name] = Tensor.of(array)
    return f"{name} {how}"


def change_shape(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """Rows left out or repeated, axes added, taken away or exchanged, empty arrays."""
    name = _pick(rng, parts.tensors)
    array = parts.tensors[name].array()
    if array is None:
        return "nothing"
    how = _pick(
        rng, ["cut", "cut first", "extend", "transpose", "flat", "axis", "empty", "empty rows", "double", "scalar"]
    )
    axis = int(rng.integers(max(array.ndim, 1)))
    n = array.shape[axis] if array.ndim else 0
    if how in ("cut", "cut first", "extend", "double", "empty rows") and n:
        rows = {"cut": range(n - 1), "cut first": range(1, n), "extend": [*range(n), n - 1], "empty rows": range(0)}
        array = np.take(array, list(rows.get(how, [*range(n), *range(n)])), axis=axis)
    elif how == "scalar":
        array = np.zeros((), array.dtype)
    elif how == "transpose":
        array = array.T
    elif how == "flat":
        array = array.reshape(-1)
    elif how == "axis":
        array = array[..., None]
    elif how == "empty":
        array = array.reshape(-1)[:0]
    parts.tensors[name] = Tensor.of(array)
    return f"{name} {how} {axis}"


def change_dtype(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    name = _pick(rng, parts.tensors)
    array, wanted = parts.tensors[name].array(), _pick(rng, [*DTYPES, "BF16", "F8_E4M3", "X"])
    if array is None or wanted not in DTYPES or rng.random() < 0.3:
        parts.tensors[name] = parts.tensors[name]._replace(dtype=wanted)
    else:
        with np.errstate(all="ignore"):
            parts.tensors[name] = Tensor.of(array.astype(DTYPES[wanted]))
    return f"{name} {wanted}"


def claim_shape(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    name, shape = _pick(rng, parts.tensors), list(_pick(rng, HUGE_SHAPES))
    if 0 in shape and rng.random() < 0.8:
        parts.tensors[name] = Tensor(parts.tensors[name].dtype, shape, b"")
    elif rng.random() < 0.5:
        parts.tensors[name] = parts.tensors[name]._replace(shape=shape)
    else:
        parts.tensors[name] = parts.tensors[name]._replace(
            shape=[*parts.tensors[name].shape[::-1], _pick(rng, [0, 1, 2])]
        )
    return f"{name} {shape}"


def claim_long_empty(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """An empty array that is as long as the file allows."""
    name = _pick(rng, parts.tensors)
    most = sum(len(t.data) for t in parts.tensors.values())
    shape = _pick(rng, [[most, 0], [0, most], [most, most, 0], [1, 0, most]])
    parts.tensors[name] = Tensor(parts.tensors[name].dtype, shape, b"")
    return f"{name} {shape}"


def claim_offsets(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    name = _pick(rng, parts.tensors)
    n = len(parts.tensors[name].data)
    parts.offsets[name] = _pick(
        rng, [[0, n], [n, 0], [0, 2**63], [-1, n], [0, 0], [2**64, 2**64 + n], [1, n + 1], [8, n + 8]]
    )
    return f"{name} {parts.offsets[name]}"


def swap_tensors(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """An array from another model, or from this one by another name."""
    name = _pick(rng, parts.tensors)
    source = _pick(rng, [k for k, t in parts.tensors.items() if t.dtype == parts.tensors[name].dtype] or parts.tensors)
    parts.tensors[name] = other.tensors[name] if name in other.tensors and rng.random() < 0.5 else parts.tensors[source]
    return f"{name} from {source} or elsewhere"


def rename_tensor(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    name = _pick(rng, parts.tensors)
    new = _pick(
        rng, [None, name + "x", name.split(".")[-1], "rules." + name, "", "__metadata", "rules.self", "rules.dataset"]
    )
    tensor = parts.tensors[name]
    if rng.random() < 0.6:
        del parts.tensors[name]
    if new is not None:
        parts.tensors[new] = tensor
    return f"{name} {new}"


def swap_all_tensors(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """All arrays, or all those with a prefix, from another model."""
    prefix = _pick(rng, ["", "rules.", _pick(rng, parts.tensors).split(".")[0]])
    for name in [name for name in parts.tensors if name.startswith(prefix)]:
        if name in other.tensors:
            parts.tensors[name] = other.tensors[name]
    return f"{prefix}*"


def change_bytes(parts: ModelParts, other: ModelParts, rng: np.random.Generator) -> str:
    """Bits flipped, bytes put in or left out, anywhere or in the length of the header."""
    how, seed = _pick(rng, ["flip", "flip", "insert", "remove", "zero", "cut", "length"]), int(rng.integers(2**32))

    def change(data: bytes) -> bytes:
        local, new = np.random.default_rng(seed), bytearray(data)
        head = 8 + struct.unpack("<Q", data[:8])[0]
        at = int(local.integers(min(head, len(data)) if local.random() < 0.5 else len(data)))
        n = int(local.integers(1, 17))
        if how == "flip":
            for _ in range(n if local.random() < 0.3 else 1):
                new[at] ^= 1 << int(local.integers(8))
                at = int(local.integers(len(new)))
        elif how == "length":
            new[:8] = struct.pack("<Q", int(local.integers(2**63)) >> int(local.integers(63)))
        elif how == "cut":
            del new[at:]
        else:
            new[at : at + (0 if how == "insert" else n)] = {"zero": b"\0" * n, "remove": b""}.get(how, local.bytes(n))
        return bytes(new)

    parts.of_bytes.append(change)
    return f"{how} {seed}"


SHARES: dict[Callable[[ModelParts, ModelParts, np.random.Generator], str], float] = {
    replace_value: 6, remove_value: 1, add_value: 1, swap_values: 2, swap_neighbours: 1, edit_text: 1,
    change_elements: 14, change_order: 4, change_shape: 3, change_dtype: 1, claim_shape: 1, claim_long_empty: 1,
    claim_offsets: 0.5, swap_tensors: 2, rename_tensor: 0.5, swap_all_tensors: 1, change_bytes: 2,
}  # fmt: skip
MUTATIONS = list(SHARES)
WEIGHTS = np.array(list(SHARES.values())) / sum(SHARES.values())
