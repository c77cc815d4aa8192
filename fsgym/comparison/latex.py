r"""Tables of results for papers: mean ± standard deviation, the best in bold, what is within noise of it marked.

They need the package ``booktabs``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from fsgym.comparison.ranking import rank_methods
from fsgym.comparison.summary import lambdas_of

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


class Shown(NamedTuple):
    """A figure of a table: its mean, its standard deviation (NaN for none), and what is known of it.

    ``verdict`` is "best", "noise" (within noise of the best), "unknown" or "".
    """

    mean: float
    std: float
    verdict: str = ""


def escaped(text: str) -> str:
    r"""A text whose characters LaTeX does not read as commands.

    >>> escaped("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return re.sub("|".join(map(re.escape, SPECIAL)), lambda found: SPECIAL[found[0]], text)


def latex_table(
    columns: Mapping[tuple[str, str], Mapping[str, Shown]], caption: str, label: str, digits: int = 4
) -> str:
    r"""A table as LaTeX: a row for each method, a column for each figure.

    Parameters
    ----------
    columns : mapping (group, heading) -> method -> Shown
        Columns of one group stand side by side below its name, such as that of a data set; "" for no group. A method
        without a figure has a dash.
    caption : str
    label : str, the end of ``\label{tab:...}``
    digits : int, decimals

    Examples
    --------
    >>> column = {"mine": Shown(0.1, 0.02, "best"), "CART": Shown(0.11, 0.03, "noise")}
    >>> print(latex_table({("", "0.01"): column}, "Losses.", "wine", 2))
    \begin{table}
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
    groups = list(dict.fromkeys(group for group, _ in columns))
    head = [f"method & {' & '.join(escaped(heading) for _, heading in columns)} \\\\"]
    if any(groups):
        sizes = [sum(group == own for own, _ in columns) for group in groups]
        names = [rf"\multicolumn{{{n}}}{{c}}{{{escaped(group)}}}" for n, group in zip(sizes, groups)]
        ends = [2 + sum(sizes[:k]) for k in range(len(sizes) + 1)]
        rules = " ".join(rf"\cmidrule(lr){{{first}-{last - 1}}}" for first, last in itertools.pairwise(ends))
        head = [f" & {' & '.join(names)} \\\\", rules, *head]
    rows = [
        f"{escaped(method)} & {' & '.join(_cell(column.get(method), digits) for column in columns.values())} \\\\"
        for method in methods
    ]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(caption)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(shown: Shown | None, digits: int) -> str:
    if shown is None or shown.mean != shown.mean:
        return "--"
    mean = f"{shown.mean:.{digits}f}"
    mean = rf"\textbf{{{mean}}}" if shown.verdict == "best" else mean
    spread = "" if shown.std != shown.std else rf" $\pm$ {shown.std:.{digits}f}"
    return f"{mean}{spread}{NOISE_MARK if shown.verdict == 'noise' else ''}"


def losses_latex(results: Mapping[str, pd.DataFrame]) -> str:
    """The losses that ``compare`` returned for each data set, at each lambda that it reports, as LaTeX.

    The best method of a column is bold, and those that do not differ from it by more than noise, by the test of
    ``compare``, have a dagger; where the test is not possible, nothing is marked.
    """
    columns, n_splits = {}, 0
    for name, table in results.items():
        for lam in table.attrs.get("reported") or lambdas_of(table):
            ranking = rank_methods(table, lam)
            if ranking is None:
                continue
            n_splits, best = max(n_splits, ranking.splits), ranking.best
            columns[name if len(results) > 1 else "", f"{lam:.4g}"] = {
                s.title: Shown(
                    s.figures["loss"],
                    s.figures["loss_std"] if ranking.splits > 1 else float("nan"),
                    "best" if best is not None and s.method == best.method else s.verdict,
                )
                for s in ranking.standings
            }
    spread = f" (mean ± standard deviation over {n_splits} splits)" if n_splits > 1 else ""
    caption = (
        f"Loss on the test rows{spread}, by lambda. Bold: the best of a column; a dagger: not distinguishable from it "
        "at 95 %."
    )
    return latex_table(columns, caption, "losses")
