"""Model files: safetensors arrays with a JSON header. Nothing in a file is ever executed or unpickled."""

from __future__ import annotations

import json
import math
import os
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from agents.arrangement import Arrangement
from agents.calibration import read_policy
from agents.policy import Policy
from fsgym.data.columns import Columns
from fsgym.data.groups import groups_by_column, groups_by_name
from fsgym.data.targets import Bins
from fsgym.rules import Rules
from fsgym.support.arrays import array_form, digest_of_form
from fsgym.support.writing import write_whole
from fsgym.text.messages import listing

MODEL_FORMAT = "fsgym-model-2"
NEWER_FORMAT = "fsgym-model-3"  # with what fsgym 0.2.0 does not know, see ``_needs_newer``, or temperatures
# Lists and objects of a header: an empty one of three characters takes 72 bytes. Headers of models have one in 20
# characters or fewer; more of them are for brackets in names of levels.
CHARACTERS_EACH, MAX_CONTAINERS = 16, 100_000
PROMISE = "promise"  # its entry of the header
BINS = "bins"  # of a numeric target, likewise
SUMMARY = "training_summary"  # likewise; files of fsgym 0.2.0 have none
HELD_OUT = "held_out"  # likewise, of those that the command ``train`` made
HELD_OUT_ASKED = "held_out_asked"  # likewise
PRICE_RANGES = "price_ranges"  # likewise, where prices are by case
FORMAT_OF_0_1 = "fsgym-model-1"  # written by fsgym 0.1
# Exceptions that damaged content can raise while objects are built from it.
DAMAGE_ERRORS = (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError)

SomePolicy = TypeVar("SomePolicy", bound=Policy)


def save(path: str | os.PathLike, policy: Policy, labels: Mapping[str, Any]) -> None:
    """Write a policy, its rules and ``labels``, plain JSON by name, to a model file; raises as ``write``."""
    arrays, header = policy.to_arrays()
    rule_arrays, rule_options = policy.rules.state()
    arrays |= {f"rules.{name}": array for name, array in rule_arrays.items()}
    write(path, policy.kind, arrays, {"rules": rule_options, **header, **labels}, tempered=policy.is_tempered)


def digest(policy: Policy, labels: Labels) -> str:
    """SHA-256 of everything by which a policy acts: its arrays, rules, names and levels; 64 hexadecimal digits."""
    arrays, header = policy.to_arrays()
    rule_arrays, rule_options = policy.rules.state()
    plain = labels_as_json(labels)
    acts_by = {
        name: plain[name] for name in ("classes", "classes_dtype", "columns", "named", "features", "acquisitions")
    }
    if BINS in plain:
        acts_by[BINS] = plain[BINS]
    named = {f"policy.{name}": array_form(v) for name, v in arrays.items()}
    named |= {f"rules.{name}": array_form(v) for name, v in rule_arrays.items()}
    return digest_of_form([policy.kind, named, header, rule_options, acts_by])


def load(path: str | os.PathLike, policy_class: type[SomePolicy]) -> tuple[SomePolicy, dict[str, Any]]:
    """Load a policy from a model file; return it with the header, which has the labels. Raises as ``read``."""
    arrays, header = read(path, policy_class.kind)
    try:
        rules = _pop_rules(arrays, header)
        return read_policy(policy_class, arrays, header, rules), header
    except DAMAGE_ERRORS as error:
        raise damage_error(path, error) from None


def write(
    path: str | os.PathLike,
    kind: str,
    arrays: Mapping[str, NDArray],
    header: Mapping[str, Any],
    *,
    tempered: bool = False,
) -> None:
    """Write a model file atomically: if it fails, an existing file stays as it was.

    Raises OSError if the file cannot be written, TypeError if the header is not plain JSON.
    """
    from safetensors.numpy import save

    text = json.dumps({"kind": kind, **header})  # in one entry, since safetensors does not keep the order of several
    written = NEWER_FORMAT if tempered or _needs_newer(header) else MODEL_FORMAT
    data = save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, {written: text})
    write_whole(path, data)


def read(path: str | os.PathLike, kind: str) -> tuple[dict[str, NDArray], dict[str, Any]]:
    """Read the arrays and the header of a model file of the given kind.

    Raises OSError if the file cannot be read, ValueError if it is damaged or of another kind.
    """
    arrays, header = _read_any_kind(path)
    if header.pop("kind", None) != kind:
        raise ValueError(f"{path} contains another kind of model, not {kind!r}")
    return arrays, header


def read_kind(path: str | os.PathLike) -> str:
    """Read the kind of a model file; raises OSError or ValueError as ``read``."""
    kind = _read_any_kind(path)[1].get("kind")
    if not isinstance(kind, str):
        raise ValueError(f"{path} is damaged: the kind of model is missing")
    return kind


def _read_any_kind(path: str | os.PathLike) -> tuple[dict[str, NDArray], dict[str, Any]]:
    from safetensors import safe_open

    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a model file")
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            _check_dimensions(arrays, path.stat().st_size)
    except OSError as error:
        raise OSError(f"cannot read the model in {path}: {error.strerror or _one_line(error)}") from None
    except Exception as error:  # a hostile file can raise any exception in the library
        raise ValueError(f"{path} is not a model file, or is damaged: {_one_line(error)}") from None
    if FORMAT_OF_0_1 in metadata:
        raise ValueError(f"{path} was written by fsgym 0.1 and must be trained and saved again with this version")
    found = next((name for name in (MODEL_FORMAT, NEWER_FORMAT) if name in metadata), None)
    if found is None:
        raise ValueError(
            f"{path} is not a model file of fsgym ({MODEL_FORMAT}); save the model again with this version"
        )
    text = metadata[found]
    if text.count("[") + text.count("{") > MAX_CONTAINERS + len(text) // CHARACTERS_EACH:
        raise ValueError(f"{path} is damaged: its header has too many lists and objects for its length")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{path} is damaged: its header is not JSON") from None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is damaged: its header is not a JSON object")
    if _needs_newer(header) and found != NEWER_FORMAT:
        raise ValueError(
            f"{path} is damaged: a file with a promise, bins, refer_cost, known columns or prices by case must be "
            f"{NEWER_FORMAT}"
        )
    return arrays, header


def _needs_newer(header: Mapping[str, Any]) -> bool:
    """Whether a model acts by what 0.2.0 lacks: a promise, bins, ``refer_cost``, known columns, prices by case."""
    try:
        rules = json.loads(header.get("rules", "{}"))
    except (ValueError, TypeError, RecursionError):  # such rules are refused where they are read
        rules = {}
    newer = {"refer_cost", "costs_by_case", "always_known"}
    return PROMISE in header or BINS in header or (isinstance(rules, dict) and not newer.isdisjoint(rules))


def _check_dimensions(arrays: Mapping[str, NDArray], n_bytes: int) -> None:
    """ValueError where an empty array says that it is larger than the file, so that work by its shape is bounded."""
    for name, array in arrays.items():
        if math.prod(n for n in array.shape if n) > n_bytes:
            raise ValueError(f"{name} has the shape {array.shape} in a file of {n_bytes} bytes")


def _pop_rules(arrays: dict[str, NDArray], header: dict[str, Any]) -> Rules:
    """Remove the rules from arrays and header, and return them; one of ``DAMAGE_ERRORS`` if they are damaged."""
    names = [name for name in arrays if name.startswith("rules.")]
    rule_arrays = {name.removeprefix("rules."): arrays.pop(name) for name in names}
    if not {"groups", "costs", "error_costs"} <= rule_arrays.keys():
        raise ValueError("rules are missing")
    return Rules.from_state(rule_arrays, header.pop("rules"))


def damage_error(path: str | os.PathLike, error: Exception) -> ValueError:
    """The error to raise for a file with invalid content; ``error`` is the one found in it."""
    return ValueError(f"{path} is damaged: {_one_line(error)}")


class Labels(NamedTuple):
    """What a model file says in the user's terms."""

    classes: NDArray  # array (n_classes,)
    columns: Columns  # in the order of the user
    named: bool  # whether the columns have names
    arrangement: Arrangement  # of the policy
    training_data: dict[str, Any] | None  # where the training data came from, or None
    expected: dict[str, float]  # figures by name that training expects on other rows, such as the mean cost
    bins: Bins | None = None  # of a numeric target
    # (n_acquisitions, 2), in the order of the user: the smallest and the largest price in training, where prices are by
    # case
    price_ranges: NDArray[np.float64] | None = None


def labels_as_json(labels: Labels) -> dict[str, Any]:
    """The labels as entries of the header; TypeError for class labels other than numbers and text."""
    return {
        "classes": labels_to_json(labels.classes),
        "classes_dtype": labels.classes.dtype.str,
        "columns": labels.columns.to_json(),
        "named": labels.named,
        "features": labels.arrangement.features.tolist(),
        "acquisitions": labels.arrangement.acquisitions.tolist(),
        "training_data": labels.training_data,
        "expected": labels.expected,
        **({} if labels.bins is None else {BINS: labels.bins.to_json()}),
        **({} if labels.price_ranges is None else {PRICE_RANGES: labels.price_ranges.tolist()}),
    }


def read_labels(header: Mapping[str, Any], rules: Rules) -> Labels:
    """The labels from the header of a file; one of ``DAMAGE_ERRORS`` if they are damaged or do not fit the rules."""
    classes = labels_from_json(header["classes"], header["classes_dtype"])
    if len(classes) != rules.n_classes:
        raise ValueError(f"{len(classes)} class labels for {rules.n_classes} classes")
    columns, named = Columns.from_json(header["columns"]), header["named"]
    if columns.n_features != rules.n_features or not isinstance(named, bool):
        raise ValueError(f"the columns have {columns.n_features} features, and the rules {rules.n_features}")
    arrangement = Arrangement(
        _permutation(header["features"], rules.n_features), _permutation(header["acquisitions"], rules.n_acquisitions)
    )
    training_data = header["training_data"]
    if training_data is not None and not isinstance(training_data, dict):
        raise ValueError("the description of the training data must be a JSON object")
    expected = header["expected"]
    if not isinstance(expected, dict) or not all(type(v) in (int, float) for v in expected.values()):
        raise ValueError("the expected figures must be numbers by name")
    if not np.isfinite([float(v) for v in expected.values()]).all():
        raise ValueError("the expected figures must be finite")
    bins = Bins.from_json(header[BINS]) if BINS in header else None
    if bins is not None and classes.tolist() != list(range(bins.n_bins)):
        raise ValueError(f"{bins.n_bins} bins for the classes {listing(classes.tolist(), 5)}")
    ranges = _price_ranges(header[PRICE_RANGES], rules.n_acquisitions) if PRICE_RANGES in header else None
    return Labels(classes, columns, named, arrangement, training_data, expected, bins, ranges)


def _price_ranges(values: Any, n: int) -> NDArray[np.float64]:
    """The values as float64 (n, 2); ValueError unless they are ranges of prices."""
    ranges = np.array(values, dtype=np.float64)
    if ranges.shape != (n, 2) or not ((ranges[:, 0] >= 0) & (ranges[:, 0] <= ranges[:, 1])).all():
        raise ValueError(f"the ranges of the prices must be {n} pairs of a smallest and a largest price")
    if not np.isfinite(ranges).all():
        raise ValueError("the ranges of the prices must be finite")
    return ranges


def _permutation(values: Any, n: int) -> NDArray[np.int64]:
    """The values as int64 (n,); ValueError unless they are 0 to n - 1 in some order."""
    if not isinstance(values, list) or len(values) != n or not all(type(v) is int for v in values):
        raise ValueError(f"an order must be a list of {n} whole numbers")
    if sorted(values) != list(range(n)):
        raise ValueError(f"an order must have each number from 0 to {n - 1} once")
    return np.array(values, dtype=np.int64)


def labels_to_json(classes: NDArray) -> list:
    """Class labels as JSON values of the same type; TypeError unless they are numbers, bools or text."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in classes.tolist()]
    if not all(isinstance(v, (bool, int, float, str)) for v in plain):
        raise TypeError(f"labels of type {classes.dtype} cannot be saved; use numbers or text")
    return [str(v) if isinstance(v, str) else v for v in plain]


def labels_from_json(values: Any, dtype: Any) -> NDArray:
    """Class labels from JSON values; ValueError unless sorted and distinct. ``dtype`` is a NumPy type string."""
    if not isinstance(dtype, str) or not re.fullmatch(r"[<>|][biufUO]\d*", dtype):
        raise ValueError("the type of the class labels is damaged")
    if not isinstance(values, list) or not all(isinstance(v, (bool, int, float, str)) for v in values):
        raise ValueError("the class labels are damaged")
    kind = {"U": str, "O": object}.get(dtype[1])  # strings get the width that these labels need
    labels = np.array(values, dtype=kind or np.dtype(dtype))
    if len(labels) < 2 or labels.ndim != 1 or labels.tolist() != values or not (labels[:-1] < labels[1:]).all():
        raise ValueError("the class labels are damaged")
    return labels


def _one_line(error: Exception) -> str:
    """The message of an error, shortened to one line."""
    return textwrap.shorten(str(error), 160, placeholder=" ...") or type(error).__name__


def rule_parameters(rules: Rules, labels: Labels) -> dict[str, Any]:
    """The options of ``Rules`` as parameters of an estimator: by name where the model has names."""
    options: dict[str, Any] = {**rules.options()}
    if labels.bins is not None and labels.bins.are_costs(rules.error_costs):
        options["error_costs"] = None  # the data set brings them
    columns, names, classes = labels.columns, rules.names, [str(c) for c in labels.classes]
    if rules.costs_by_case:  # they are those of the data
        options["costs"] = None
    if not labels.named:
        options["groups"] = groups_by_column(rules.groups, columns)
        return options
    options["groups"] = groups_by_name(rules.groups, names, columns) or None
    for name in ("costs", "unrelated_costs"):
        if isinstance(options[name], list):
            options[name] = dict(zip(names, options[name], strict=True))
    for name in ("related", "prerequisites"):
        matrix = getattr(rules, name)
        if matrix is not None:
            options[name] = {
                names[j]: [names[i] for i in np.flatnonzero(row)] for j, row in enumerate(matrix) if row.any()
            }
    if options["error_costs"] is not None:
        rows = rules.error_costs.tolist()
        options["error_costs"] = {a: dict(zip(classes, row, strict=True)) for a, row in zip(classes, rows, strict=True)}
    return options
