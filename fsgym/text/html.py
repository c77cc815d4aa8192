"""HTML for notebooks: a title, sentences and tables, in which every text is escaped; styles and scripts in a page."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape, unescape
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from fsgym.text.messages import counted, listing, one_line, visible

ROWS_SHOWN = 20
MAX_TEXT_LENGTH = 60  # characters of a cell
LEVELS_SHOWN = 6  # of a category
CLASSES_SHOWN = 10  # in a matrix of error costs


class HtmlTable(NamedTuple):
    """A table for ``html_block``."""

    header: Sequence[object]  # sequence of str
    # iterable of sequences, one value per cell; only the first ``ROWS_SHOWN`` rows are read
    rows: Iterable[Sequence[object]]
    n_rows: int  # how many rows there are


def html_block(title: str, *parts: str | HtmlTable) -> str:
    """A title, then sentences and tables in their order, as HTML for ``_repr_html_``.

    Parameters
    ----------
    title : str
    *parts : str or HtmlTable
        Plain text becomes a paragraph. Nothing is taken as HTML: titles, sentences and cells are escaped. Cells are cut
        to ``MAX_TEXT_LENGTH`` characters, and tables to ``ROWS_SHOWN`` rows.

    Examples
    --------
    >>> from fsgym.text.html import HtmlTable, html_block
    >>> html_block("a < b", "One sentence.")
    '<div><strong>a &lt; b</strong><p>One sentence.</p></div>'
    """
    body = "".join(_table_html(p) if isinstance(p, HtmlTable) else f"<p>{escape(visible(p))}</p>" for p in parts)
    return f"<div><strong>{escape(visible(one_line(title)))}</strong>{body}</div>"


def _table_html(table: HtmlTable) -> str:
    rows = list(islice(table.rows, ROWS_SHOWN))
    sides = ["right" if isinstance(value, Real) else "left" for value in (rows[-1] if rows else table.header)]
    head = "".join(_cell_html(value, "th", side) for value, side in zip(table.header, sides))
    body = "".join(f"<tr>{''.join(_cell_html(v, 'td', side) for v, side in zip(row, sides))}</tr>" for row in rows)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    more = f"<p>... and {table.n_rows - len(rows):,} more</p>" if table.n_rows > len(rows) else ""
    return f"<table>{head}<tbody>{body}</tbody></table>{more}"


def _cell_html(value: object, tag: str, side: str) -> str:
    text = visible(one_line(_plain_text(value), MAX_TEXT_LENGTH + 1))
    text = text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'


def _plain_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return f"{float(value):.4g}"
    return str(value)


def rules_html(rules: Any, classes: Sequence[object] | None = None, columns: Any = None) -> str:
    """``Rules`` as HTML: the acquisitions with their prices, the other options in words, the costs of errors.

    Parameters
    ----------
    rules : Rules
    classes : sequence of n_classes labels, optional; by default those of the rules, or "class 0", "class 1", ...
    columns : Columns, optional; the columns of the data, to show those that each acquisition reveals
    """
    table = acquisition_cells(rules, columns)
    rows = ([cell(j) for _, cell in table] for j in range(rules.n_acquisitions))
    sizes = f"{counted(rules.n_acquisitions, 'acquisition')}, {rules.n_classes} classes"
    title = f"Rules: {sizes}, lambda {rules.lam:g}"
    parts = [HtmlTable([name for name, _ in table], rows, rules.n_acquisitions), *options_in_words(rules)]
    return html_block(title, *parts, *error_cost_parts(rules, rules.classes if classes is None else classes))


def acquisition_cells(rules: Any, columns: Any = None) -> list[tuple[str, Callable[[int], Any]]]:
    """The columns of the table of acquisitions: headings, and functions from the acquisition's index to the cell."""
    table: list[tuple[str, Callable[[int], Any]]] = [
        ("acquisition", lambda j: rules.names[j]),
        ("price", lambda j: rules.costs[j]),
    ]
    if rules.related is not None:
        table.append(
            ("price if unrelated", lambda j: "forbidden" if rules.forbids_unrelated else rules.unrelated_costs[j])
        )
    if rules.prerequisites is not None:
        needed = rules.prerequisites
        table.append(("needs", lambda j: ", ".join(rules.names[i] for i in np.flatnonzero(needed[j]))))
    if columns is None and any(len(members) > 1 for members in rules.groups):
        table.append(("features", lambda j: len(rules.groups[j])))
    elif columns is not None and rules.names != columns.names:
        revealed = [dict.fromkeys(columns.column_of[list(members)].tolist()) for members in rules.groups]
        table.append(("columns", lambda j: ", ".join(columns[k].name for k in revealed[j])))
    return table


def options_in_words(rules: Any) -> list[str]:
    """Lambda and the options other than prices and the costs of errors, as one paragraph."""
    words = [f"One unit of cost counts as {rules.lam:g} units of error cost (lambda)."]
    if rules.costs_by_case:
        words.append("Prices are by case: each row has its own, and those shown are their means.")
    if rules.budget is not None:
        known = [rules.names[j] for j in rules.always_known]
        besides = f", besides what is always known: {listing(known, len(known))}" if known else ""
        words.append(f"A row may have at most {counted(rules.budget, 'acquisition')} (budget){besides}.")
    if rules.budget_cost is not None:
        words.append(f"A row may have acquisitions for at most {rules.budget_cost:g} units of cost (budget_cost).")
    if rules.refer_cost is not None:
        words.append(f"A row may be referred to {rules.refer_label}, for {rules.refer_cost:g} (refer_cost).")
    if rules.related is not None:
        words.append(
            f"An acquisition counts as related if it is related to {rules.relation} of the earlier ones; the first "
            f"counts as {'related' if rules.empty_is_related else 'unrelated'}."
        )
    if rules.missing == "error":
        words.append("Missing values are an error.")
    return [" ".join(words)]


def error_cost_parts(rules: Any, classes: Sequence[object] | None) -> list[str | HtmlTable]:
    """The costs of errors in words if they are the default or too many, otherwise as a sentence and a table."""
    costs, n = rules.error_costs, rules.n_classes
    if (costs == 1 - np.eye(n)).all():
        return ["A wrong answer costs 1, a correct one 0."]
    if n > CLASSES_SHOWN:
        return [f"Error costs lie between {costs.min():g} and {costs.max():g}."]
    labels = [f"class {k}" for k in range(n)] if classes is None else [str(label) for label in classes]
    header = ["answer", *(f"truth: {label}" for label in labels)]
    return ["Error costs:", HtmlTable(header, ([label, *row] for label, row in zip(labels, costs)), n)]


def dataset_html(dataset: Any) -> str:
    """``Dataset`` as HTML: its columns with values, missing share, groups and prices, and its classes with counts."""
    columns, header = dataset.columns, ["column", "kind", "values", "missing"]
    cells: list[Callable[[int], str]] = []
    groups = dataset.groups or tuple((j,) for j in range(dataset.n_features))
    group_of = {j: g for g, members in enumerate(groups) for j in members}

    def groups_of(k: int) -> list[int]:
        return list(dict.fromkeys(group_of[j] for j in columns.features[k]))

    if dataset.acquisition_names != columns.names:
        header.append("acquisitions")
        cells.append(lambda k: ", ".join(dataset.acquisition_names[g] for g in groups_of(k)))
    if dataset.costs is not None:
        header.append("price")
        cells.append(lambda k: ", ".join(f"{dataset.costs[g]:.6g}" for g in groups_of(k)))
    rows = (
        [column.name, column.kind, _values_text(dataset, k), _missing_share(dataset, k), *(cell(k) for cell in cells)]
        for k, column in enumerate(columns)
    )
    counts = np.bincount(dataset.y, minlength=dataset.n_classes)
    classes = ((str(label), int(n), f"{n / dataset.n_samples:.1%}") for label, n in zip(dataset.class_labels, counts))
    kind = "classes" if dataset.bins is None else "bins of numbers"
    sizes = f"{counted(dataset.n_samples, 'row')}, {counted(len(columns), 'column')}"
    return html_block(
        f"{dataset.name}: {sizes}, {dataset.n_classes:,} {kind}",
        HtmlTable(header, rows, len(columns)),
        HtmlTable(["class" if dataset.bins is None else "number", "rows", "share"], classes, dataset.n_classes),
    )


def _missing_share(dataset: Any, column: int) -> str:
    """The share of rows in which a column has no value."""
    return f"{np.isnan(dataset.X[:, dataset.columns.features[column].start]).mean():.1%}"


def _values_text(dataset: Any, column: int) -> str:
    """The range of a column of numbers with its unit, or the levels of another."""
    what, feature = dataset.columns[column], dataset.columns.features[column].start
    if what.levels:
        return listing(what.levels, LEVELS_SHOWN)
    low, high = (what.number_text(float(bound[feature]), 5) for bound in dataset.bounds)
    return "False, True" if what.kind == "bool" else f"{low} to {high} {what.unit}".rstrip()


def styles_of(svg: str) -> list[str]:
    """The style sheets that an SVG element has within it."""
    return [unescape(text) for text in re.findall(r"<style[^>]*>(.*?)</style>", svg, re.DOTALL)]


def inline_sources(texts: Iterable[str]) -> str:
    """The sources of a content security policy that allow these inline scripts or style sheets."""
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
