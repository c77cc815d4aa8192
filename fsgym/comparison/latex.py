r"""Tables of results for papers: mean ± standard deviation, the best in bold, what is within noise of it marked.

They need the package ``booktabs``, as a comment in each says.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

import pandas as pd

from fsgym.comparison.answer import noise_in_words
from fsgym.comparison.noise import MIN_PAIRS
from fsgym.comparison.ranking import folder_name, rank_methods
from fsgym.comparison.summary import counted_in, reported_lambdas
from fsgym.methods import REFERENCES

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
}
NOISE_MARK = r"$^{\dagger}$"
NO_SPREAD = "Without ±: the figure is the same in all runs, or on all rows of the one run."


class Shown(NamedTuple):
    """A figure of a table: its mean, its standard deviation (NaN for none), and what is known of it.

    ``verdict`` is "best", "noise" (within noise of the best), "unknown" or "".
    """

    mean: float
    std: float
    verdict: str = ""


def escaped(text: str) -> str:
    r"""A text whose characters LaTeX does not read as commands.

    >>> print(escaped('50 % of a_b, "noise"'))
    50 \% of a\_b, ``noise''
    """
    text = re.sub("|".join(map(re.escape, SPECIAL)), lambda found: SPECIAL[found[0]], text)
    return re.sub('"([^"]*)"', r"``\1''", text)


def latex_table(columns: Mapping[str, Mapping[str, Shown]], caption: str, label: str, digits: int = 3) -> str:
    r"""A table as LaTeX: a row for each method, a column for each figure.

    The best of a column is bold, and each figure that is shown as the same number. A standard deviation that would be
    shown as 0 is left out, which the caption says.

    Parameters
    ----------
    columns : mapping heading -> method -> Shown; a method without a figure has a dash
    caption : str
    label : str, the end of ``\label{tab:...}``
    digits : int, decimals

    Examples
    --------
    >>> column = {"mine": Shown(0.1, 0.02, "best"), "CART": Shown(0.11, 0.03, "noise")}
    >>> print(latex_table({"0.01": column}, "Losses.", "wine", 2))
    \begin{table}  % its lines need \usepackage{booktabs} in the preamble
    \centering
    \caption{Losses.}
    \label{tab:wine}
    \begin{tabular}{lr}
    \toprule
    method & 0.01 \\
    \midrule
    mine & \textbf{0.10} $\pm$ 0.02 \\
    CART & 0.11 $\pm$ 0.03$^{\dagger}$ \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    methods = dict.fromkeys(method for column in columns.values() for method in column)
    best = {
        heading: {f"{s.mean:.{digits}f}" for s in column.values() if s.verdict == "best"}
        for heading, column in columns.items()
    }
    cells = [[_cell(column.get(m), best[heading], digits) for heading, column in columns.items()] for m in methods]
    if any(0 <= round(s.std, digits) <= 0 for column in columns.values() for s in column.values()):
        caption += " " + NO_SPREAD
    lines = [
        r"\begin{table}  % its lines need \usepackage{booktabs} in the preamble",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        f"method & {' & '.join(map(escaped, columns))} \\\\",
        r"\midrule",
        *(f"{escaped(method)} & {' & '.join(row)} \\\\" for method, row in zip(methods, cells, strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(shown: Shown | None, best: Collection[str], digits: int) -> str:
    if shown is None or shown.mean != shown.mean:
        return "--"
    mean = f"{shown.mean:.{digits}f}"
    mean = rf"\textbf{{{mean}}}" if mean in best else mean
    spread = rf" $\pm$ {shown.std:.{digits}f}" if round(shown.std, digits) > 0 else ""
    return f"{mean}{spread}{NOISE_MARK if shown.verdict == 'noise' else ''}"


def losses_latex(results: Mapping[str, pd.DataFrame]) -> str:
    """The losses that ``compare`` returned, at each lambda that it reports, as LaTeX: a table for each data set.

    The best of a column is bold, unless answering without acquiring anything has a lower loss. What does not differ
    from the best by more than noise, by the test of ``compare``, has a dagger. Reference points have no mark. The
    caption names the test, and what was not tested; its standard deviations have the divisor n - 1.
    """
    tables = []
    for name, table in results.items():
        methods = table[~table["method"].isin(REFERENCES)]
        columns: dict[str, dict[str, Shown]] = {}
        lams = reported_lambdas(table)
        for lam in lams:
            ranking, compared = rank_methods(table, lam), rank_methods(methods, lam)
            if ranking is None:
                continue
            verdicts = {} if compared is None else {s.method: s.verdict for s in compared.standings}
            best = None if compared is None else compared.best
            if best is not None:
                verdicts[best.method] = "best" if ranking.pays(best) else ""
            n, shown = ranking.splits, {s.method: s for s in ranking.standings}
            columns[f"{lam:.4g}" if len({f"{v:.4g}" for v in lams}) == len(lams) else repr(float(lam))] = {
                shown[m].title: Shown(
                    shown[m].figures["loss"],
                    shown[m].figures["loss_std"] * (n / (n - 1)) ** 0.5 if n > 1 else float("nan"),
                    verdicts.get(m, ""),
                )
                for m in table["method"].unique()
                if m in shown
            }
        label = "losses" if len(results) == 1 else f"losses-{folder_name(name)}"
        tables.append(latex_table(columns, f"{_caption(name, table)}{_untested(columns)}", label))
    return "\n".join(tables)


def _untested(columns: Mapping[str, Mapping[str, Shown]]) -> str:
    """Of which methods it is not known whether they differ from the best of a column; "" where all are known."""
    untested: dict[str, list[str]] = {}
    for heading, column in columns.items():
        for title, shown in column.items():
            if shown.verdict == "unknown":
                untested.setdefault(title, []).append(heading)
    named = "; ".join(f"{title} at {', '.join(headings)}" for title, headings in untested.items())
    return f" Not tested, which takes {MIN_PAIRS} splits: {named}." if named else ""


def _caption(name: str, table: pd.DataFrame) -> str:
    n, share = table["split"].nunique(), (table["n_train"] / (table["n_train"] + table["n_test"])).mean()
    ranking = rank_methods(table)
    has_prices = ranking is not None and ranking.has_prices
    thing = "feature" if counted_in(table) == "n_features" else "acquisition"
    unit = "in the unit of the prices given" if has_prices else f"1 for each {thing}"
    spread = f", mean ± sample standard deviation over {n} splits" if n > 1 else ""
    return (
        f"Loss on the test rows of {name}{spread}: cost of errors plus lambda times the price, {unit}; a column for "
        f"each lambda; {100 * share:.0f} % of the rows for training, on which each setting is chosen. Bold: the best "
        "method of a column, unless acquiring nothing is better. Dagger: the difference from it is noise. "
        f"{' '.join(noise_in_words(table))} The tests are not corrected for the number of methods and columns."
    )
