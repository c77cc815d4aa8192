"""The protocol of a comparison: splits of the data, methods with their settings, and values of lambda."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fsgym.checks import brief
from fsgym.comparison.imputed import ImputedMean, accepts_missing
from fsgym.dataset import Dataset
from fsgym.methods import DEFAULT_AGENT, find_method, load_class, method_names, supported_options
from fsgym.row_groups import split_by_groups
from fsgym.rules import Rules
from fsgym.rules.labels import describe_error_costs
from fsgym.rules.options import RuleOptionsButLam
from fsgym.usage import acquires_features

# Prices of one feature, in errors: those of Dulac-Arnold et al. (2012), section 6.1, and .05 of section 6.2; and .003,
# .02 and .03, as the number of features used changes most between .001 and .05.
PAPER_PRICES = (0.0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
PAPER_REPORTED = (0.01, 0.05, 0.1)  # those of them at which the loss is reported
UNIT_PRICES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # where costs and errors have one unit: around 1, on a log scale
VALIDATION_SHARE = 0.25  # of the training part; our choice


class SplitParts(NamedTuple):
    """One split: the training part, the two parts into which it is divided again, and the test part."""

    train: Dataset
    fit: Dataset
    validation: Dataset
    test: Dataset


@dataclass(frozen=True)
class ComparedMethod:
    """A method and its settings.

    Attributes
    ----------
    name : str, in the table of results
    title : str, in figures and reports
    candidates : tuple of estimators, unfitted, one per setting; the policy alone where ``fitted``
    params : tuple of dict, the parameters in which the settings differ, one per candidate
    fitted : bool, whether it was trained before and is only evaluated
    imputed : bool, whether missing values are replaced by means for at least one candidate
    """

    name: str
    title: str
    candidates: tuple[Any, ...]
    params: tuple[dict[str, Any], ...]
    fitted: bool = False
    imputed: bool = False


@dataclass(frozen=True)
class Protocol:
    """Everything that the result of a comparison depends on, apart from the methods.

    Split ``k`` is ``dataset.split(train_share, seed + k)``; a quarter of its training part is the validation part.
    Rows of one group (``dataset.row_groups``) are in the same part.
    ``sweep`` holds the values of ``lam`` at which price-aware methods are trained, ``reported`` those at which the loss
    is reported. ``targets`` are pairs of "target_cost" or "target_features" and its value, at which methods that have
    this parameter are trained instead.
    """

    dataset: Dataset
    rules: Rules
    splits: int = 5
    train_share: float = 0.5
    seed: int = 0
    sweep: tuple[float, ...] = PAPER_PRICES
    reported: tuple[float, ...] = PAPER_REPORTED
    targets: tuple[tuple[str, float], ...] = ()

    def parts(self, split: int) -> SplitParts:
        train, test = self.dataset.split(self.train_share, self.seed + split)
        fit, validation = inner_split(train, self.seed + split)
        return SplitParts(train, fit, validation, test)

    def seed_of(self, split: int, method: str) -> int:
        """The seed of a method in a split: the same for all its settings, whichever other methods are compared."""
        key = (split, zlib.crc32(method.encode()))
        return int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0])

    @cached_property
    def counted(self) -> str:
        """What "at most k" counts: acquisitions where columns come in groups, otherwise features."""
        return "n_features" if acquires_features(self.rules, self.dataset) else "n_acquisitions"

    @property
    def unit(self) -> str:
        return "features" if self.counted == "n_features" else "groups"

    @property
    def error_costs_in_words(self) -> str:
        """Such as "a missed acs costs 1000"; "" if each wrong answer costs 1."""
        return describe_error_costs(self.rules.error_costs, self.dataset.classes.tolist())


def inner_split(train: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """Divide a training part into the rows to fit on and the validation rows, stratified by class.

    The row of a class that has only one is in the first part. With ``row_groups`` no group is in both parts, and a
    class in only one group is in the first part; ValueError if all groups would be.
    """
    if train.row_groups is not None:
        fit, validation = split_by_groups(train.y, train.row_groups, 1.0 - VALIDATION_SHARE, seed)
        if not len(validation):
            raise ValueError(
                f"the training part of {train.name!r} has no group of rows that could be held out for validation "
                "(each has the only rows of a class); use more groups, or a larger train_share"
            )
        return train.rows(fit), train.rows(validation)
    counts = np.bincount(train.y, minlength=train.n_classes)
    rare = counts[train.y] < 2
    if not rare.any():
        return train.split(1.0 - VALIDATION_SHARE, seed)
    common, single = np.flatnonzero(~rare), np.flatnonzero(rare)
    from sklearn.model_selection import train_test_split

    fit, validation = train_test_split(
        common, train_size=1.0 - VALIDATION_SHARE, stratify=train.y[common], random_state=seed
    )
    return train.rows(np.concatenate([fit, single])), train.rows(validation)


def make_protocol(
    dataset: Dataset,
    *,
    splits: Any,
    train_share: float,
    seed: Any,
    lam: Any,
    options: RuleOptionsButLam,
    targets: Mapping[str, Any] = MappingProxyType({}),
) -> Protocol:
    """Check the arguments of ``compare`` and build the protocol; ValueError or TypeError if one is invalid."""
    if not isinstance(splits, int | np.integer) or isinstance(splits, bool) or splits < 1:
        raise ValueError(f"splits must be a whole number of at least 1, got {splits!r}")
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < 2**31:
        raise ValueError(f"seed must be a whole number from 0 to 2147483647, got {seed!r}")
    groups = options.get("groups")
    if groups is not None:
        dataset = dataset.with_groups(groups)
    options = {**options, "groups": None}
    unpriced = Rules.for_dataset(dataset, lam=0.0, **options)
    sweep, reported = prices_of(lam, unpriced, options.get("error_costs") is not None)
    rules = Rules.for_dataset(dataset, lam=reported[0], **options)
    pairs = tuple((name, v) for name, given in targets.items() for v in _numbers(given, name))
    protocol = Protocol(dataset, rules, int(splits), train_share, int(seed), sweep, reported, pairs)
    for split in range(1 if dataset.row_groups is None else protocol.splits):  # groups may fit one seed only
        protocol.parts(split)
    return protocol


def prices_of(lam: Any, rules: Rules, has_error_costs: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The values of ``lam`` at which price-aware methods are trained, and those at which the loss is reported.

    Values that the user gives serve for both. By default, with error costs, costs and errors have one unit, so the loss
    is reported at 1. Without error costs the values are those of the paper, divided by the mean of ``costs``: an
    acquisition of average cost is then worth as much as a feature in the paper.
    """
    if lam is not None:
        values = _numbers(lam, "lam")
        return values, values
    if has_error_costs:
        return UNIT_PRICES, (1.0,)
    mean = float(rules.costs.mean()) or 1.0
    return tuple(_three_digits(v / mean) for v in PAPER_PRICES), tuple(_three_digits(v / mean) for v in PAPER_REPORTED)


def _numbers(given: Any, what: str) -> tuple[float, ...]:
    """The distinct numbers in their order, none for None; ValueError or TypeError names the parameter ``what``."""
    if given is None:
        return ()
    listed: list[Any] = list(given) if np.iterable(given) and not isinstance(given, str) else [given]
    if not listed:
        raise ValueError(f"{what} must hold at least one number")
    try:
        values = sorted({float(v) for v in listed})
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be one or several numbers, got {given!r}") from None
    if not np.isfinite(values).all() or values[0] < 0:
        raise ValueError(f"{what} must be finite and not negative, got {given!r}")
    return tuple(values)


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def compared_methods(methods: Any, protocol: Protocol) -> tuple[ComparedMethod, ...]:
    """The methods with their settings, from names or a mapping name -> name, estimator, list of estimators or policy.

    Raises ValueError or TypeError for an unknown name or an object that cannot be compared.
    """
    if isinstance(methods, str):
        methods = (methods,)
    if not isinstance(methods, Mapping):
        if not isinstance(methods, Iterable):
            raise TypeError(f"methods must be names or a mapping name -> estimator, got {type(methods).__name__}")
        names = list(methods)
        unnamed = [m for m in names if not isinstance(m, str)]
        if unnamed:
            raise TypeError(f"methods must be names; give {type(unnamed[0]).__name__} a name: {{'mine': ...}}")
        for name in names:
            find_method(name)
        methods = {name: name for name in names}
    if not methods:
        raise ValueError(f"methods must name at least one of {', '.join(method_names())}")
    compared = tuple(
        _from_table(str(name), method, protocol) if isinstance(method, str) else _from_user(str(name), method, protocol)
        for name, method in methods.items()
    )
    for target in dict.fromkeys(name for name, _ in protocol.targets):
        if not any(target in params for method in compared for params in method.params):
            raise ValueError(
                f"{target} is a parameter of none of the methods {', '.join(methods)}; add one that has it, such as "
                f"{DEFAULT_AGENT}, or leave it out"
            )
    return compared


def _from_table(name: str, key: str, protocol: Protocol) -> ComparedMethod:
    """A method of ``METHODS`` with the settings at which it is fitted."""
    method = find_method(key)
    cls = load_class(method)
    if method.prices:
        options = supported_options(cls, protocol.rules.options())
        parameters = cls().get_params()
        targets = [{target: v} for target, v in protocol.targets if target in parameters]
        params: list[dict[str, Any]] = targets or [{"lam": v} for v in protocol.sweep]
        candidates = [cls(**method.preset, **(options | p)) for p in params]
    else:
        params = _sparsity_grid(cls(**method.preset), protocol)
        candidates = [cls(**(dict(method.preset) | p)) for p in params]
    return _compared_method(name, method.title if name == key else name, candidates, params, protocol)


def _sparsity_grid(estimator: Any, protocol: Protocol) -> list[dict[str, Any]]:
    """The settings of a method that ignores prices, for all splits: ``sparsity_grid`` on the first training part."""
    train = protocol.parts(0).train
    X = train.to_array()
    if np.isnan(X).any():
        X = ImputedMean(None).fit_means(X).impute(X)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=protocol.seed)
    grid = estimator.sparsity_grid(X, train.classes[train.y])
    if not grid or not all(isinstance(setting, Mapping) for setting in grid):
        kind = type(estimator).__name__
        raise TypeError(f"sparsity_grid of {kind} must return a list of dicts of its parameters, got {brief(grid)}")
    return list(grid)


def _from_user(name: str, given: Any, protocol: Protocol) -> ComparedMethod:
    """A method given as an estimator, a list of estimators, or a policy that was trained before."""
    is_list = isinstance(given, list | tuple)
    candidates = list(given) if is_list else [given]
    if not candidates:
        raise ValueError(f"method {name!r} must have at least one estimator, got an empty list")
    if not is_list and not _is_estimator(given):
        if not (callable(given) or hasattr(given, "predict") or hasattr(given, "trajectories")):
            raise TypeError(f"method {name!r} must be an estimator, a policy or a callable, got {type(given).__name__}")
        if hasattr(given, "predict") and hasattr(given, "fit") and not hasattr(given, "features_used"):
            raise TypeError(_lacks_features_used(name, given))
        return ComparedMethod(name, name, (given,), ({},), fitted=True)
    for candidate in candidates:
        if not _is_estimator(candidate):
            raise TypeError(f"method {name!r} lists {type(candidate).__name__}, which is not a scikit-learn estimator")
        if not hasattr(candidate, "features_used"):
            raise TypeError(_lacks_features_used(name, candidate))
    return _compared_method(name, name, [clone(c) for c in candidates], _differences(candidates), protocol)


def _lacks_features_used(name: str, method: Any) -> str:
    return (
        f"method {name!r} ({type(method).__name__}) must have features_used(X) -> bool (n_samples, n_features), "
        "which says which features it uses for each row"
    )


def _is_estimator(value: Any) -> bool:
    needed = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(hasattr(value, a) for a in needed)


def _differences(candidates: Sequence[Any]) -> list[dict[str, Any]]:
    """The parameters in which the estimators differ, as JSON values, one dict per estimator."""
    parameters = [{"class": type(c).__name__, **c.get_params(deep=False)} for c in candidates]
    keys = dict.fromkeys(k for p in parameters for k in p)
    varying = [k for k in keys if len({repr(p.get(k)) for p in parameters}) > 1]
    return [{k: _json_or_repr(p.get(k)) for k in varying} for p in parameters]


def _json_or_repr(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return repr(value)[:80]
    return value


def _compared_method(
    name: str, title: str, candidates: list[Any], params: list[dict], protocol: Protocol
) -> ComparedMethod:
    imputed = bool(np.isnan(protocol.dataset.X).any()) and not all(accepts_missing(c) for c in candidates)
    if imputed:
        candidates = [c if accepts_missing(c) else ImputedMean(c) for c in candidates]
    return ComparedMethod(name, title, tuple(candidates), tuple(params), imputed=imputed)
