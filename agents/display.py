"""Classifiers as text, and as HTML for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fsgym.rules.labels import describe_error_costs
from fsgym.rules.options import OPTIONS
from fsgym.text.html import (
    LEVELS_SHOWN,
    HtmlTable,
    acquisition_cells,
    error_cost_parts,
    html_block,
    options_in_words,
)
from fsgym.text.messages import listing

CLASSES_LISTED = 12
REPR_LENGTH = 700  # characters of a repr, as in scikit-learn


class ShownClassifier(BaseEstimator):
    """How a classifier around a policy is shown: its repr, and in notebooks."""

    def __repr__(self, N_CHAR_MAX: int = REPR_LENGTH) -> str:
        text = super().__repr__(N_CHAR_MAX)
        shown = N_CHAR_MAX
        while len(text) > N_CHAR_MAX and 50 < shown <= REPR_LENGTH:  # scikit-learn does not count spaces
            shown = 4 * shown // 5
            text = super().__repr__(shown)
        return text

    def _repr_html_inner(self) -> str:
        """What notebooks show: scikit-learn's diagram of an unfitted classifier, a table of a fitted one."""
        return model_html(self) if hasattr(self, "policy_") else super()._repr_html_inner()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def model_html(model: Any) -> str:
    """A fitted classifier as HTML: its columns with prices, its classes, the costs of errors, the training."""
    rules, columns, classes = model.rules_, model.columns_, model.classes_.tolist()
    others = {k: v for k, v in model.get_params(deep=False).items() if k not in {o.name for o in OPTIONS}}
    parts: list[str | HtmlTable] = [
        _columns_table(model),
        f"Classes: {listing(classes, CLASSES_LISTED)}.",
        *_error_costs(rules, classes),
        *options_in_words(rules),
        *_expectation(model),
    ]
    if model._n_training_rows is not None:  # a model file has no parameters of the training
        parts.append(f"Trained on {model._n_training_rows:,} rows with {type(model)(**others)!r}.")
    title = f"{type(model).__name__}: {len(columns)} columns, {len(classes)} classes, lambda {rules.lam:g}"
    return html_block(title, *parts)


def _columns_table(model: Any) -> HtmlTable:
    """Kind, levels and unit of each column, and what the rules say of its acquisition."""
    rules, columns = model.rules_, model.columns_
    group_of = np.empty(rules.n_features, dtype=np.int64)
    for j, members in enumerate(rules.groups):
        group_of[list(members)] = j
    acquisitions = [list(dict.fromkeys(group_of[list(f)].tolist())) for f in columns.features]
    header: list[str] = ["column", "kind"]
    cells: list[Any] = [lambda k: columns[k].name, lambda k: columns[k].kind]
    if any(c.levels for c in columns):
        header.append("levels")
        cells.append(lambda k: listing(columns[k].levels, LEVELS_SHOWN))
    if any(c.unit for c in columns):
        header.append("unit")
        cells.append(lambda k: columns[k].unit)
    grouped = rules.names != columns.names
    for name, cell in acquisition_cells(rules):
        if name == "features" or (name == "acquisition" and not grouped):
            continue
        header.append("price of the acquisition" if name == "price" and grouped else name)
        cells.append(lambda k, cell=cell: _joined([cell(j) for j in acquisitions[k]]))
    return HtmlTable(header, ([cell(k) for cell in cells] for k in range(len(columns))), len(columns))


def _joined(values: list[Any]) -> Any:
    """The only value, or several as text."""
    return values[0] if len(values) == 1 else ", ".join(str(v) for v in values)


def _error_costs(rules: Any, classes: list[Any]) -> list[str | HtmlTable]:
    described = describe_error_costs(rules.error_costs, classes)
    table = error_cost_parts(rules, classes)
    if not described:
        return table
    return [f"Error costs: {described}.", *(table[1:] if len(classes) > 2 else [])]


def _expectation(model: Any) -> list[str]:
    """What the classifier expects to use on other rows, if it knows."""
    cost, n_features = (getattr(model, name, None) for name in ("expected_cost_", "expected_n_features_"))
    if cost is None or n_features is None:
        return []
    return [f"Means over the training rows, out of fold: {n_features:.4g} features, cost {cost:.4g}."]
