"""Tables and pictures of section 6.1."""

from __future__ import annotations

import json

import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.curves import nearest_setting, summed
from fsgym_studies.common.plan import DWSM, LARS
from fsgym_studies.common.render import figure_style
from fsgym_studies.dwsm.study import CANCER_ID


def cells_at_half(table: pd.DataFrame, settings: pd.DataFrame, method: str) -> pd.DataFrame:
    """The breast cancer cells of the setting of a method whose sparsity is nearest to one half."""
    nearest = nearest_setting(settings, CANCER_ID, method, 0.5)
    rows = table[(table["dataset"] == CANCER_ID) & (table["method"] == method)]
    return rows[(rows["share"] == nearest[0]) & (rows["setting"] == nearest[1])] if nearest else rows.iloc[:0]


def by_price(table: pd.DataFrame) -> pd.DataFrame:
    """DWSM's mean sparsity at each price over all cells, and the share of cells that acquire nothing."""
    rows = table[table["method"] == DWSM]
    lam = rows["params"].map(lambda p: json.loads(p)["lam"]).astype(float)
    return rows.assign(lam=lam, nothing=rows["sparsity"] >= 1).groupby("lam")[["sparsity", "nothing"]].mean()


def usage_pictures(table: pd.DataFrame, settings: pd.DataFrame) -> list[Picture]:
    """Which features are used on breast cancer, and how many (Fig. 4)."""
    cells = {m: cells_at_half(table, settings, m) for m in (DWSM, LARS)}
    cells = {m: c for m, c in cells.items() if len(c)}
    if not cells:
        return []
    names = [f"feature {j + 1}" for j in range(len(cells[next(iter(cells))]["usage"].iloc[0]))]
    titles = {m: m for m in cells}
    with figure_style():
        usages = {m: (summed(c, "usage") / len(c)).tolist() for m, c in cells.items()}
        left = figures.used_features(usages, names, titles)
        right = figures.used_counts({m: summed(c, "histogram").tolist() for m, c in cells.items()}, titles)
        sparsities = ", ".join(f"{m} {c['sparsity'].mean():.2f}" for m, c in cells.items())
        caption = f"Breast cancer with id (feature 1); the setting of each method nearest to sparsity .5: {sparsities}"
        return [
            Picture("usage", "Which features are used (Fig. 4, left)", f"{caption}.", png_of(left)),
            Picture("histogram", "How many features are used (Fig. 4, right)", f"{caption}.", png_of(right)),
        ]


def price_picture(settings: pd.DataFrame) -> list[Picture]:
    """Lambda against sparsity (Fig. 5)."""
    rows = settings[settings["method"] == DWSM]
    if rows.empty:
        return []
    lam = rows["params"].map(lambda p: json.loads(p)["lam"]).astype(float)
    means = rows.assign(lam=lam).groupby("lam")["sparsity"].agg(["mean", "std"]).reset_index()
    frame = pd.DataFrame(
        {"method": DWSM, "lam": means["lam"], "sparsity": means["mean"], "sparsity_std": means["std"].fillna(0.0)}
    )
    with figure_style():
        png = png_of(figures.price_against_sparsity(frame, {DWSM: DWSM}, unit="misclassifications"))
    caption = "Bars: one standard deviation over data sets and shares of training data."
    return [Picture("lambda", "Lambda against sparsity (Fig. 5)", caption, png)]
