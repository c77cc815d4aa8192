"""How often acquisitions are made: shares of rows, from evaluations or from the results of a comparison."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsgym.evaluation.evaluate import Evaluation
from fsgym.text.messages import listing

if TYPE_CHECKING:
    import pandas as pd

    from fsgym.data.dataset import Dataset
    from fsgym.rules import Rules


class UsageShares(NamedTuple):
    """Shares of the rows that use each acquisition."""

    table: NDArray[np.float64]  # (n_settings, J)
    names: tuple[str, ...]  # tuple of J str
    unit: str  # "features" or "acquisitions"


def usage_as_json(shares: Sequence[float], names: Sequence[str]) -> str:
    """The share of rows that use each acquisition, by name, in four digits; those that no row uses are left out.

    >>> usage_as_json([0.5, 0.0, 2 / 3], ["age", "crp", "ward"])
    '{"age": 0.5, "ward": 0.6667}'
    """
    used = {name: float(f"{share:.4g}") for name, share in zip(names, shares, strict=True) if share > 0}
    return json.dumps(used, ensure_ascii=False)


def shares_of_evaluations(named: Mapping[str, Any]) -> UsageShares:
    """Usage in each evaluation; ValueError or TypeError if they are no evaluations of the same acquisitions."""
    if not named:
        raise ValueError("there must be at least one Evaluation, got none")
    for evaluation in named.values():
        if not isinstance(evaluation, Evaluation):
            kind = type(evaluation).__name__
            raise TypeError(f"this figure needs what fsgym.evaluate or fsgym.compare returned, got {kind}")
    first, *others = named
    rules, names = named[first].rules, _acquisition_names(named[first])
    for other in others:
        if (_acquisition_names(named[other]), named[other].rules.groups) != (names, rules.groups):
            raise ValueError(f"evaluations must have the same acquisitions, but {other!r} has others than {first!r}")
    table = np.array([e.rules.acquisitions_of(e.used).mean(axis=0) for e in named.values()])
    return UsageShares(table, names, "features" if acquires_features(rules, named[first].dataset) else "acquisitions")


def acquires_features(rules: Rules, dataset: Dataset) -> bool:
    """Whether each acquisition reveals a single feature, or each a whole column, so that features are counted."""
    groups = set(rules.groups)
    return all(len(members) == 1 for members in groups) or groups == {tuple(f) for f in dataset.columns.features}


def _acquisition_names(evaluation: Evaluation) -> tuple[str, ...]:
    """The names of the acquisitions in the rules; those in the data if the rules have none but the same groups."""
    rules, dataset = evaluation.rules, evaluation.dataset
    numbered = [tuple(f"{start}{j}" for j in range(rules.n_acquisitions)) for start in ("x", "group ")]
    groups = dataset.groups or [(j,) for j in range(dataset.n_features)]
    same = rules.groups == tuple(tuple(sorted(members)) for members in groups)
    return dataset.acquisition_names if same and rules.names in numbered else rules.names


def shares_of_results(results: pd.DataFrame, settings: Sequence[tuple[str, int]]) -> UsageShares:
    """Mean usage over the splits at some settings, given as method and number of the setting, of ``compare``'s results.

    Only acquisitions that some row uses at one of these settings are included. Raises ValueError where there are none.
    """
    usages = []
    for method, setting in settings:
        rows = results[(results["method"] == method) & (results["setting"] == setting)]
        usages.append([json.loads(text) for text in rows["usage"]])
    names = list(dict.fromkeys(name for splits in usages for used in splits for name in used))
    if not names:
        shown = listing(dict.fromkeys(method for method, _ in settings))
        raise ValueError(
            f"these settings of {shown} use no feature, so there is nothing to draw; select other settings"
        )
    table = [np.mean([[used.get(name, 0.0) for name in names] for used in splits], axis=0) for splits in usages]
    grouped = results.attrs.get("counted") == "n_acquisitions"
    return UsageShares(np.array(table), tuple(names), "acquisitions" if grouped else "features")
