"""A policy as plain JSON in the format of docs/policy-format.md, for interpreters without fsgym."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agents.certain import CertainPolicy
from agents.model_file import Labels, digest, labels_to_json
from agents.policy import Policy
from fsgym.data.columns import Columns
from fsgym.data.written import Writing
from fsgym.evaluation.promise import Promise
from fsgym.rules import Rules
from fsgym.rules.options import OPTIONS
from fsgym.session.acquisitions import Acquisitions

if TYPE_CHECKING:
    from agents.arrangement import Arrangement

POLICY_FORMAT = "fsgym-policy-2"
WHOLE_NUMBERS = ("uint8", "int16", "int32")
# what the interpreters know of ``Rules``; a rule that they do not know would be ignored by an exported page
EXPORTED_OPTIONS = {
    *("lam", "groups", "costs", "unrelated_costs", "related", "relation", "empty_is_related", "error_costs"),
    *("refer_cost", "refer_label", "budget", "budget_cost", "prerequisites", "missing"),
}
EXPORTED_KINDS = ("lattice", "linear", "mixture", "any_network", "network")


def export_policy(policy: Policy, labels: Labels) -> dict[str, Any]:
    """The policy of a fitted model with its rules and names, as plain JSON values.

    Features and acquisitions are in the order of the policy, columns in that of the user.

    Raises
    ------
    ValueError
        If no interpreter knows this kind of policy or one of its rules, or an acquisition reveals a part of a column
        only.
    TypeError
        For class labels other than numbers and text.
    """
    acting = policy.acting
    rule = {}
    if isinstance(acting, CertainPolicy):
        rule, acting = {"rule": _rule_as_json(acting.promise)}, acting.policy
    arrangement, rules = labels.arrangement, acting.rules
    given = rules.options()
    if unknown := [o.name for o in OPTIONS if o.name not in EXPORTED_OPTIONS and given.get(o.name) != o.default]:
        raise ValueError(f"a policy with the rule {unknown[0]} cannot be exported: no interpreter knows this rule")
    Acquisitions(arrangement.rules_of_user(rules), labels.columns)  # refuses acquisitions of parts of columns
    return {
        "format": POLICY_FORMAT,
        "digest": digest(policy, labels),
        **_classes_as_json(labels),
        "columns": _columns_as_json(labels.columns, arrangement),
        "acquisitions": _acquisitions_as_json(rules, labels),
        "user_order": np.argsort(arrangement.acquisitions).tolist(),
        "rules": _rules_as_json(rules),
        **rule,
        **_policies_as_json(acting),
    }


def _one_policy(policy: Policy) -> dict[str, Any]:
    """Kind, parameters and arrays of a policy; ValueError if no interpreter knows it."""
    if policy.kind not in EXPORTED_KINDS:
        raise ValueError(f"a policy of kind {policy.kind!r} cannot be exported; use one of {', '.join(EXPORTED_KINDS)}")
    arrays, parameters = policy.to_arrays()
    if any(name.startswith("trees.") for name in arrays):
        raise ValueError('a policy with trees cannot be exported; train it with acquisitions="linear"')
    written = {name: array_as_json(array) for name, array in arrays.items()}
    return {"kind": policy.kind, "parameters": parameters, "arrays": written}


def _policies_as_json(acting: Policy) -> dict[str, Any]:
    """One policy, or one for each of some lists of prices and a last one for all others."""
    if len(acting.by_prices) == 1:
        return _one_policy(acting)
    listed = [_one_policy(part) | ({} if at is None else {"prices": at.tolist()}) for at, part in acting.by_prices]
    return {"kind": acting.kind, "parameters": {}, "arrays": {}, "policies": listed}


def _classes_as_json(labels: Labels) -> dict[str, Any]:
    """The labels of the classes, with their texts where they are no text and no whole numbers.

    Of a numeric target, the numbers that are answered, and what is said of each.
    """
    bins = labels.bins
    if bins is None:
        classes = labels_to_json(labels.classes)
        is_plain = all(isinstance(v, int | str) and not isinstance(v, bool) for v in classes)
        return {"classes": classes, **({} if is_plain else {"labels": [str(v) for v in classes]})}
    words = {"answers": [str(v) for v in bins.labels()], "ranges": [str(v) for v in bins.ranges()]}
    return {"classes": bins.values.tolist(), "words": words}


def _rule_as_json(promise: Promise) -> dict[str, Any]:
    """When a calibrated policy stops, and what it promises."""
    risks = [risk._asdict() for risk in promise.risks if risk.kind != "referred"]  # of which no stop depends
    return {
        "kind": "certain",
        "limit": promise.limit,
        "min_confidence": promise.min_confidence,
        "risks": [{name: value for name, value in risk.items() if name != "target"} for risk in risks],
        "promises": promise.promises,
        "end": promise.end,
        "sentences": promise.sentences(),
    }


def array_as_json(array: NDArray) -> dict[str, Any]:
    """An array as its dtype, shape and little-endian bytes in base 64; whole numbers as narrow as they fit.

    >>> array_as_json(np.array([1.0, 2.0], np.float32))
    {'dtype': 'float32', 'shape': [2], 'base64': 'AACAPwAAAEA='}
    """
    if array.dtype.kind in "biu":
        low, high = int(array.min(initial=0)), int(array.max(initial=0))
        fitting = (np.dtype(t) for t in WHOLE_NUMBERS if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
        dtype = next(fitting, None)
        if dtype is None:
            raise ValueError(f"an index of the policy must be below 2 ** 31 to be exported, got {high}")
        array = array.astype(dtype)
    data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return {
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        "base64": base64.b64encode(data.tobytes()).decode("ascii"),
    }


def _columns_as_json(columns: Columns, arrangement: Arrangement) -> list[dict[str, Any]]:
    place = np.argsort(arrangement.features)
    return [
        {
            "name": column.name,
            "kind": column.kind,
            "unit": column.unit,
            "levels": list(column.levels),
            "low": column.low,
            "high": column.high,
            "offset": column.offset,
            "features": place[list(features)].tolist(),
            **{field: v for field, v in column.writing._asdict().items() if v != Writing._field_defaults[field]},
        }
        for column, features in zip(columns, columns.features, strict=True)
    ]


def _acquisitions_as_json(rules: Rules, labels: Labels) -> list[dict[str, Any]]:
    """The acquisitions in the order of the rules; others are named by their places.

    Where prices are by case, ``price`` is the mean of the training, and there are the smallest and the largest.
    """
    ranges = labels.price_ranges if rules.costs_by_case else None
    if ranges is not None:
        ranges = ranges[labels.arrangement.acquisitions]

    def places(matrix: NDArray[np.bool_] | None, j: int) -> list[int]:
        return [] if matrix is None else np.flatnonzero(matrix[j]).tolist()

    return [
        {
            "name": rules.names[j],
            "features": list(group),
            "price": float(rules.costs[j]),
            **({} if ranges is None else dict(zip(("low_price", "high_price"), ranges[j].tolist(), strict=True))),
            "unrelated_price": float(rules.unrelated_costs[j]),
            "related": places(rules.related, j),
            "needs": places(rules.prerequisites, j),
        }
        for j, group in enumerate(rules.groups)
    ]


def _rules_as_json(rules: Rules) -> dict[str, Any]:
    return {
        "lam": rules.lam,
        **({"costs_by_case": True} if rules.costs_by_case else {}),
        "error_costs": rules.error_costs.tolist(),
        **({} if rules.refer_cost is None else {"refer_cost": rules.refer_cost, "refer_label": rules.refer_label}),
        "budget": rules.budget,
        **({"always_known": list(rules.always_known)} if rules.always_known else {}),
        "budget_cost": rules.budget_cost,
        "relational": rules.related is not None,
        "relation": rules.relation,
        "empty_is_related": rules.empty_is_related,
        "forbid_unrelated": rules.forbids_unrelated,
        "missing": rules.missing,
    }
