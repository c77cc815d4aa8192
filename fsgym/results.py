"""Rows of the table that ``fsgym.compare`` returns: checked, and selected to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsgym.methods import REFERENCES
from fsgym.text.messages import explain_unknown, listing
from fsgym.text.notices import warn_caller

if TYPE_CHECKING:
    import pandas as pd

NEEDED_COLUMNS = ("split", "method", "setting", "params", "price", "admissible", "error")


def check_results(results: pd.DataFrame, needed: Sequence[str]) -> None:
    """ValueError where ``results`` are not those of one data set, or lack a column."""
    missing = [c for c in dict.fromkeys((*needed, *NEEDED_COLUMNS)) if c not in results.columns]
    if missing:
        raise ValueError(
            f"results must be what fsgym.compare returned, or its results.csv; it has no column {missing[0]!r}"
        )
    if "dataset" in results and results["dataset"].nunique() > 1:
        names = results["dataset"].unique()
        raise ValueError(f"results must hold one data set, got {listing(names, 4)}; select the rows of one of them")


def rows_of_methods(results: pd.DataFrame, x: str, methods: str | Sequence[str] | None) -> pd.DataFrame:
    """The successful fits of the methods, in the order of the methods."""
    import pandas as pd

    known = [str(name) for name in results["method"].unique()]
    chosen = known if methods is None else [methods] if isinstance(methods, str) else list(methods)
    for name in chosen:
        if name not in known:
            raise ValueError(explain_unknown("method", name, known))
    succeeded = results[results["error"].isna()]
    rows = {name: succeeded[succeeded["method"] == name] for name in chosen}
    if x == "lam":
        swept = {name: r[r["params"].str.contains('"lam"', regex=False)] for name, r in rows.items()}
        unswept = [name for name in chosen if swept[name].empty and not rows[name].empty]
        if unswept and (methods is not None or all(r.empty for r in swept.values())):
            raise ValueError(f"x='lam' needs methods that are trained at several values of lam, got {listing(unswept)}")
        rows = swept
    absent = [name for name in chosen if succeeded[succeeded["method"] == name].empty]
    if len(absent) == len(chosen):
        first = results.loc[results["method"].isin(chosen) & results["error"].notna(), "error"]
        reason = f"; the first error: {first.iloc[0]}" if len(first) else ""
        raise ValueError(f"results must hold a fit that succeeded, got none of {listing(chosen)}{reason}")
    if absent:
        warn_caller(f"all fits of {listing(absent)} failed, so they are not drawn")
    return pd.concat(rows.values())


def fits_with_usage(results: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``results`` whose usage can be drawn; those of reference points only if there are no others."""
    if "usage" not in results.columns and "method" in results.columns:
        raise ValueError("results must have the column 'usage', which fsgym 0.1 did not write; run fsgym.compare again")
    check_results(results, ("usage", "n_features", "validation_loss", "validation_admissible"))
    rows = rows_of_methods(results, "", None)
    methods = rows[~rows["method"].isin(REFERENCES)]
    return rows if methods.empty else methods


def lowest_validation_loss(succeeded: pd.DataFrame) -> pd.DataFrame:
    """One setting of each method, those preferred that respect the rules and those that use any feature."""
    from fsgym.comparison.summary import means_over_splits

    settings = means_over_splits(succeeded, ("validation_loss", "validation_admissible", "n_features"))
    settings["breaks_rules"] = settings["validation_admissible"] < 1
    settings["uses_nothing"] = settings["n_features"] == 0
    order = ["uses_nothing", "breaks_rules", "validation_loss"]
    return settings.sort_values(order, kind="stable").drop_duplicates("method").sort_index()
