"""The protocol of a comparison or study: data, splits, rules, and values of lambda; and the seeds of its cells."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from fsgym.comparison.splits import OfficialSplit, Split, SplitParts, random_splits
from fsgym.data.dataset import Dataset
from fsgym.evaluation.result import acquires_features
from fsgym.rules import Rules
from fsgym.rules.options import RuleOptions, RuleOptionsButLam
from fsgym.support.checks import MAX_SPLITS, is_integer
from fsgym.text.messages import brief, option_text

# Prices of one feature, in errors: those of Dulac-Arnold et al. (2012), section 6.1, and .05 of section 6.2; and .003,
# .02 and .03, as the number of features used changes most between .001 and .05.
PAPER_PRICES = (0.0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3)
PAPER_REPORTED = (0.01, 0.05, 0.1)  # those of them at which the loss is reported
UNIT_PRICES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # where costs and errors have one unit: around 1, on a log scale
TARGETS = ("target_cost", "target_features")  # parameters of methods that find lambda for a target
MAX_NUMBERS = 1000  # values of lambda, or targets
LOSS_DIGITS = 12  # losses of settings that differ by less are equal


@dataclass(frozen=True)
class Protocol:
    """Everything that the results of methods on a data set depend on, apart from the methods.

    The seeds of the methods follow from ``seed``. ``sweep`` holds the values of ``lam`` at which price-aware methods
    are trained, ``reported`` those at which the loss is reported. ``targets`` are pairs of "target_cost" or
    "target_features" and its value, at which methods that have this parameter are trained instead.
    """

    dataset: Dataset
    rules: Rules
    splits: Sequence[Split | OfficialSplit]
    seed: int = 0
    sweep: tuple[float, ...] = PAPER_PRICES
    reported: tuple[float, ...] = PAPER_REPORTED
    targets: tuple[tuple[str, float], ...] = ()

    @classmethod
    def for_dataset(
        cls, dataset: Dataset, splits: Sequence[Split | OfficialSplit], **options: Unpack[RuleOptions]
    ) -> Self:
        """The protocol with these options of ``Rules``."""
        return cls(dataset, Rules.for_dataset(dataset, **options), splits)

    def parts(self, number: int) -> SplitParts:
        """The training part of a split, its two parts, and the test part."""
        return self.splits[number].parts(self.dataset)

    @cached_property
    def counted(self) -> str:
        """What "at most k" counts: acquisitions where columns come in groups, otherwise features."""
        return "n_features" if acquires_features(self.rules, self.dataset) else "n_acquisitions"

    @property
    def unit(self) -> str:
        return "features" if self.counted == "n_features" else "acquisitions"


def seed_of(*words: int | str | tuple[Any, ...]) -> int:
    """A seed that depends on plain values only: whole numbers, texts and tuples of them.

    >>> seed_of(0, 1, "cart") == seed_of(0, 1, "cart") != seed_of(0, 2, "cart")
    True
    """
    numbers = [
        word if isinstance(word, int) else zlib.crc32((word if isinstance(word, str) else repr(word)).encode())
        for word in words
    ]
    return int(np.random.SeedSequence(numbers[0], spawn_key=numbers[1:]).generate_state(1)[0])


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
    if not is_integer(splits) or splits < 1:
        raise ValueError(f"{option_text('splits')} must be a whole number of at least 1, got {brief(splits)}")
    if splits > MAX_SPLITS:
        raise ValueError(
            f"{option_text('splits')} must be at most {MAX_SPLITS}, got {brief(splits)}; their mean hardly changes "
            "by more"
        )
    if not is_integer(seed) or not 0 <= seed < 2**31:
        raise ValueError(f"{option_text('seed')} must be a whole number from 0 to 2147483647, got {brief(seed)}")
    groups = options.get("groups")
    if groups is not None:
        dataset = dataset.with_groups(groups)
    options = {**options, "groups": None}
    unpriced = Rules.for_dataset(dataset, lam=0.0, **options)
    if unpriced.refer_cost is not None:
        raise ValueError(
            f"compare must be without {option_text('refer_cost')}, as few methods can refer a case to a person; use "
            "evaluate"
        )
    has_error_costs = options.get("error_costs") is not None or dataset.error_costs is not None
    sweep, reported = prices_of(lam, unpriced, has_error_costs)
    rules = Rules.for_dataset(dataset, lam=reported[0], **options)
    dataset = dataset.with_values(rules.without_unavailable(dataset.X))
    pairs = tuple((name, v) for name, given in targets.items() for v in _numbers(given, name))
    divisions = random_splits(train_share, int(splits), int(seed))
    protocol = Protocol(dataset, rules, divisions, int(seed), sweep, reported, pairs)
    for number in range(1 if dataset.row_groups is None else len(divisions)):  # groups may fit one seed only
        protocol.parts(number)
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
    sweep, reported = (tuple(float(f"{v / mean:.3g}") for v in prices) for prices in (PAPER_PRICES, PAPER_REPORTED))
    return sweep, reported


def _numbers(given: Any, what: str) -> tuple[float, ...]:
    """The distinct numbers in their order, none for None; ValueError or TypeError names the parameter ``what``."""
    if given is None:
        return ()
    listed: list[Any] = list(given) if np.iterable(given) and not isinstance(given, str) else [given]
    if not listed:
        raise ValueError(f"{what} must hold at least one number")
    if len(listed) > MAX_NUMBERS:
        raise ValueError(f"{what} must hold at most {MAX_NUMBERS} numbers, got {len(listed)}")
    try:
        values = sorted({float(v) for v in listed})
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be one or several numbers, got {brief(given)}") from None
    if not np.isfinite(values).all() or values[0] < 0:
        raise ValueError(f"{what} must be finite and not negative, got {brief(given)}")
    return tuple(values)


def preferred_settings(criterion: NDArray, used: NDArray, used_again: NDArray | None = None) -> NDArray[np.intp]:
    """The settings of a method, the best first.

    Parameters
    ----------
    criterion : float (n_settings,), what is to be low on validation rows
    used : float (n_settings,), mean number of features or acquisitions on these rows
    used_again : float (n_settings,), optional
        The same of the models that are fitted again on all training rows.

    Returns
    -------
    int (n_settings,)
        Of equal settings those of the fewest features come first, then those that lose the fewest when they are fitted
        again, since such a model, as the most pruned of equal trees, may no longer be as good; then the first.
    """
    lost = np.zeros(len(used)) if used_again is None else np.clip(used - used_again, 0, None)
    return np.lexsort([np.round(key, LOSS_DIGITS) for key in (lost, used, criterion)])
