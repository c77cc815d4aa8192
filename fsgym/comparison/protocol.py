"""What a comparison consists of: the parts of the data, the entrants and their settings, the prices reported."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fsgym.checks import brief
from fsgym.comparison.imputed import ImputedMean, accepts_missing
from fsgym.dataset import Dataset
from fsgym.methods import find_method, load_class, method_names, supported_options
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptionsButLam

# Dulac-Arnold et al. (2012), section 6.1, with .05 of section 6.2, and .003, .02 and .03, where most happens
PAPER_PRICES = (0.0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
PAPER_REPORTED = (0.01, 0.05, 0.1)
UNIT_PRICES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
VALIDATION_SHARE = 0.25


class Parts(NamedTuple):
    """One split: the whole training part, its two inner parts, and the test part."""

    train: Dataset
    fit: Dataset
    validation: Dataset
    test: Dataset


@dataclass(frozen=True)
class Entrant:
    """A method and its settings.

    ``candidates`` are unfitted estimators, one a setting, and ``params`` what tells them apart; or, where ``fitted``,
    the one policy that is only evaluated.
    """

    name: str
    title: str
    candidates: tuple[Any, ...]
    params: tuple[dict[str, Any], ...]
    fitted: bool = False
    imputed: bool = False


@dataclass(frozen=True)
class Protocol:
    """Everything that decides the result of a comparison, but for the entrants.

    Split ``k`` is ``dataset.split(train_share, seed + k)``; a quarter of its training part is the validation part.
    """

    dataset: Dataset
    rules: Rules
    splits: int = 5
    train_share: float = 0.5
    seed: int = 0
    sweep: tuple[float, ...] = PAPER_PRICES
    reported: tuple[float, ...] = PAPER_REPORTED

    def parts(self, split: int) -> Parts:
        train, test = self.dataset.split(self.train_share, self.seed + split)
        fit, validation = inner_split(train, self.seed + split)
        return Parts(train, fit, validation, test)

    def seed_of(self, split: int, method: str) -> int:
        """The seed of an entrant in a split: the same for all its settings, whatever else is compared."""
        key = (split, zlib.crc32(method.encode()))
        return int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0])

    @cached_property
    def counted(self) -> str:
        """The figure that "within k" counts: acquisitions where features come in groups, else features."""
        return "n_features" if all(len(g) == 1 for g in self.rules.groups) else "n_acquisitions"

    @property
    def unit(self) -> str:
        return "features" if self.counted == "n_features" else "groups"


def inner_split(train: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """The rows to fit on and those to choose by, stratified; classes of a single row are only fitted on."""
    counts = np.bincount(train.y, minlength=train.n_classes)
    rare = counts[train.y] < 2
    if not rare.any():
        return train.split(1.0 - VALIDATION_SHARE, seed)
    common, lonely = np.flatnonzero(~rare), np.flatnonzero(rare)
    from sklearn.model_selection import train_test_split

    fit, validation = train_test_split(
        common, train_size=1.0 - VALIDATION_SHARE, stratify=train.y[common], random_state=seed
    )
    return train.rows(np.concatenate([fit, lonely])), train.rows(validation)


def make_protocol(
    dataset: Dataset, *, splits: Any, train_share: float, seed: Any, lam: Any, options: RuleOptionsButLam
) -> Protocol:
    """A checked protocol; ValueError or TypeError in one sentence before any work is done."""
    if not isinstance(splits, int | np.integer) or isinstance(splits, bool) or splits < 1:
        raise ValueError(f"splits must be a whole number, 1 or more, got {splits!r}")
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < 2**31:
        raise ValueError(f"seed must be a whole number from 0 to 2147483647, got {seed!r}")
    groups = options.get("groups")
    if groups is not None:
        dataset = with_groups(dataset, groups)
    options = {**options, "groups": None}
    free = Rules.for_dataset(dataset, lam=0.0, **options)
    sweep, reported = prices_of(lam, free, options.get("error_costs") is not None)
    rules = Rules.for_dataset(dataset, lam=reported[0], **options)
    protocol = Protocol(dataset, rules, int(splits), train_share, int(seed), sweep, reported)
    protocol.parts(0)
    return protocol


def prices_of(lam: Any, rules: Rules, real_unit: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The prices that price-aware methods are swept over, and those at which the loss is reported.

    What the user gives is both. Otherwise: with error costs, prices and errors are in one unit and 1 is the price
    that counts; without, the paper's grid and three prices more, where one average acquisition is worth what a feature
    is in the paper.
    """
    if lam is not None:
        given: list[Any] = list(lam) if np.iterable(lam) and not isinstance(lam, str) else [lam]
        if not given:
            raise ValueError("lam must hold at least one price")
        try:
            values = sorted({float(v) for v in given})
        except (TypeError, ValueError):
            raise TypeError(f"lam must be one or several numbers, got {lam!r}") from None
        if not np.isfinite(values).all() or values[0] < 0:
            raise ValueError(f"lam must be finite and not negative, got {lam!r}")
        return tuple(values), tuple(values)
    if real_unit:
        return UNIT_PRICES, (1.0,)
    mean = float(rules.costs.mean()) or 1.0
    return tuple(_short(v / mean) for v in PAPER_PRICES), tuple(_short(v / mean) for v in PAPER_REPORTED)


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def with_groups(dataset: Dataset, groups: Any) -> Dataset:
    """The data set with other groups: lists of column indices, a group number a column, or name -> feature names."""
    names = None
    if isinstance(groups, Mapping):
        names, groups = list(groups), [_members(dataset, name, v) for name, v in groups.items()]
        covered = {j for g in groups for j in g}
        lost = [n for j, n in enumerate(dataset.feature_names) if j not in covered]
        if lost:
            raise ValueError(f"groups must cover every feature, but {lost[0]!r} is in none")
    return dataset.replace(groups=groups, group_names=names)


def _members(dataset: Dataset, group: str, names: Any) -> list[int]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"group {group!r} must list feature names, got {names!r}")
    acquired = dict(zip(dataset.acquisition_names, dataset.groups or ()))
    columns = {n: (j,) for j, n in enumerate(dataset.feature_names)}
    members: list[int] = []
    for name in names:
        found = columns.get(name) or acquired.get(name)
        if found is None:
            raise ValueError(f"group {group!r} names {name!r}, which is no feature of {dataset.name!r}")
        members += found
    return members


def entrants_of(methods: Any, protocol: Protocol) -> tuple[Entrant, ...]:
    """The entrants by names of the table, or from a mapping name -> estimator, list of estimators or fitted policy."""
    if isinstance(methods, str):
        methods = (methods,)
    if not isinstance(methods, Mapping):
        if not isinstance(methods, Iterable):
            raise TypeError(f"methods must be names or a mapping name -> estimator, got {type(methods).__name__}")
        listed = list(methods)
        strange = [m for m in listed if not isinstance(m, str)]
        if strange:
            raise TypeError(f"methods must be names; give {type(strange[0]).__name__} a name: {{'mine': ...}}")
        for name in listed:
            find_method(name)
        methods = {name: name for name in listed}
    if not methods:
        raise ValueError(f"methods must name at least one of {', '.join(method_names())}")
    return tuple(
        _from_table(str(name), thing, protocol) if isinstance(thing, str) else _from_user(str(name), thing, protocol)
        for name, thing in methods.items()
    )


def _from_table(name: str, key: str, protocol: Protocol) -> Entrant:
    method = find_method(key)
    cls = load_class(method)
    if method.prices:
        options = supported_options(cls, protocol.rules.options())
        params: list[dict[str, Any]] = [{"lam": v} for v in protocol.sweep]
        candidates = [cls(**method.preset, **(options | p)) for p in params]
    else:
        params = _own_grid(cls(**method.preset), protocol)
        candidates = [cls(**(dict(method.preset) | p)) for p in params]
    return _entrant(name, method.title if name == key else name, candidates, params, protocol)


def _own_grid(sketch: Any, protocol: Protocol) -> list[dict[str, Any]]:
    """The settings of a method that knows no price, laid out on the first training part, the same in all splits."""
    train = protocol.parts(0).train
    X = train.X
    if np.isnan(X).any():
        X = ImputedMean(None).learn(X).fill(X)
    if "random_state" in sketch.get_params():
        sketch.set_params(random_state=protocol.seed)
    grid = sketch.sparsity_grid(X, train.classes[train.y])
    if not grid or not all(isinstance(setting, Mapping) for setting in grid):
        kind = type(sketch).__name__
        raise TypeError(f"sparsity_grid of {kind} must return a list of dicts of its parameters, got {brief(grid)}")
    return list(grid)


def _from_user(name: str, thing: Any, protocol: Protocol) -> Entrant:
    listed = isinstance(thing, list | tuple)
    candidates = list(thing) if listed else [thing]
    if not candidates:
        raise ValueError(f"method {name!r} must have at least one estimator, got an empty list")
    if not listed and not _is_estimator(thing):
        if not (callable(thing) or hasattr(thing, "predict") or hasattr(thing, "trajectories")):
            raise TypeError(f"method {name!r} must be an estimator, a policy or a callable, got {type(thing).__name__}")
        if hasattr(thing, "predict") and hasattr(thing, "fit") and not hasattr(thing, "features_used"):
            raise TypeError(_no_usage(name, thing))
        return Entrant(name, name, (thing,), ({},), fitted=True)
    for candidate in candidates:
        if not _is_estimator(candidate):
            raise TypeError(f"method {name!r} lists {type(candidate).__name__}, which is no scikit-learn estimator")
        if not hasattr(candidate, "features_used"):
            raise TypeError(_no_usage(name, candidate))
    return _entrant(name, name, [clone(c) for c in candidates], _differences(candidates), protocol)


def _no_usage(name: str, thing: Any) -> str:
    return (
        f"method {name!r} ({type(thing).__name__}) must have features_used(X) -> bool (n_samples, n_features), "
        "which says what it looks at"
    )


def _is_estimator(thing: Any) -> bool:
    needed = ("fit", "predict", "get_params", "set_params")
    return not isinstance(thing, type) and all(hasattr(thing, a) for a in needed)


def _differences(candidates: Sequence[Any]) -> list[dict[str, Any]]:
    """The parameters by which estimators differ, as plain values."""
    told = [{"class": type(c).__name__, **c.get_params(deep=False)} for c in candidates]
    keys = dict.fromkeys(k for t in told for k in t)
    varying = [k for k in keys if len({repr(t.get(k)) for t in told}) > 1]
    return [{k: _plain(t.get(k)) for k in varying} for t in told]


def _plain(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)[:80]
    return value


def _entrant(name: str, title: str, candidates: list[Any], params: list[dict], protocol: Protocol) -> Entrant:
    imputed = bool(np.isnan(protocol.dataset.X).any()) and not all(accepts_missing(c) for c in candidates)
    if imputed:
        candidates = [c if accepts_missing(c) else ImputedMean(c) for c in candidates]
    return Entrant(name, title, tuple(candidates), tuple(params), imputed=imputed)
