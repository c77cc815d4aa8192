"""Tables and pictures of section 6.3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture
from fsgym.comparison.summary import settings_text
from fsgym_studies.common.curves import means_with_stds
from fsgym_studies.common.printed import printed_numbers
from fsgym_studies.common.render import draw_picture, with_interval
from fsgym_studies.common.statistics import mean_of
from fsgym_studies.common.study import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Pima diabetes"
TABLE_6 = printed_numbers(__file__)
ERROR_COSTS = TABLE_6["error_cost"].tolist()


def error_cost_label(error: float) -> str:
    """The name that tables give to the data at a cost of an error."""
    return f"{TITLE}, {error:g}"


def cheapest(table: pd.DataFrame) -> pd.DataFrame:
    """The setting of each method that is cheapest at each error cost."""
    rows = []
    for (dataset, method), cells in table.groupby(["dataset", "method"], sort=False):
        setting = cells.groupby("setting")["loss"].mean().idxmin()
        own = cells[cells["setting"] == setting]
        cost, accuracy = mean_of(own["loss"]), mean_of(own["accuracy"])
        rows.append(
            {
                "error cost": str(dataset).rpartition(", ")[2],
                "method": method,
                "mean cost": with_interval(cost, 1),
                "accuracy": f"{accuracy.mean:.3f}",
                "price of tests": f"{own['spent'].mean():.1f}",
                "features": f"{own['n_features'].mean():.2f}",
                "setting": settings_text(own["params"].iloc[0]),
            }
        )
    return pd.DataFrame(rows)


def cost_table(table: pd.DataFrame) -> Table:
    """The mean cost of each method, for tests and for answers."""
    return Table(
        "costs",
        "Mean cost of a decision",
        "Prices of the acquired tests plus the cost of the answer, mean over the folds with a 95 % bootstrap interval. "
        "Methods other than DWSM ignore prices; for each of them the setting with the lowest mean cost on the test "
        "folds is shown, which is optimistic.",
        cheapest(table),
    )


def cost_picture(table: pd.DataFrame) -> Picture:
    """The mean price of the tests against the mean cost of the answers."""
    means = means_with_stds(table, ["dataset", "method", "setting"], ["spent", "error_cost"]).reset_index()
    titles = {m: m for m in means["method"].unique()}

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(ERROR_COSTS))
        for panel, error in zip(panels, ERROR_COSTS):
            rows = means[means["dataset"] == error_cost_label(error)]
            figures.plot_curves(rows, titles, x="spent", y="error_cost", x_label="mean price of the tests", ax=panel)
            panel.set(title=f"error cost {error:g}", ylabel="mean cost of the answers")

    caption = (
        "Means over the folds; error bars show plus and minus one standard deviation. Better methods are further down "
        "and to the left."
    )
    return draw_picture("costs", "Price of the tests and cost of the answers", caption, draw, (10.5, 4.2))
