"""Further cells of the study of boosted features: what claims of the paper hang on, and pixels with neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.splits import OfficialSplit
from fsgym.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.study import Table
from fsgym_studies.gbfs.cells import curve_cells

LEAF_ROWS, KDD_LEAF_ROWS = 20, 500  # nodes of up to so many rows are not split; our copy of the paper lacks its numbers
STUMPS = "GBFS with bags, trees of one split"  # on colon
# Other ways to put the digits of uspst into two classes, and those of the second class:
GROUPINGS = {"uspst, 5 to 9": range(5, 10), "uspst, loops": (0, 6, 8, 9)}
NEIGHBOURS = "GBFS, neighbours at "  # a share of the price of a pixel beside a selected one
NEIGHBOUR_PRICES = (1.0, 0.5, 0.1)


def larger_leaves(trees: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The options of a forest in which nodes of up to ``rows`` training rows are leaves."""
    return {**trees, "params": {**trees["params"], "min_samples_split": rows + 1}}


def neighbour_cells(train: Dataset, test: Dataset, gbfs: Mapping[str, Any]) -> list[Task]:
    """Cells of images in which a pixel costs less beside a selected one, as the paper proposes for images."""
    options = {price: {**gbfs, "neighbour_price": price, "depths": (3,)} for price in NEIGHBOUR_PRICES}
    methods = {f"{NEIGHBOURS}{price:g}": ("gbfs", own) for price, own in options.items()}
    return curve_cells(train, methods, [OfficialSplit(test)], 0)


def neighbours_table(table: pd.DataFrame) -> Table:
    """Pixels, their contiguous regions and errors at each price of a neighbour."""
    rows = []
    for cell in cells_with(table, "regions").to_dict("records"):
        price = cell["method"].removeprefix(NEIGHBOURS)
        for k, values in enumerate(zip(cell["n_features"], cell["regions"], cell["test_error"])):
            rows.append((cell["dataset"], price, k + 1, *values))
    columns = ["data set", "price of a neighbour", "setting", "pixels", "regions", "test error"]
    caption = (
        "Pixels are selected by GBFS, and one that shares an edge with a selected pixel costs this share of the price "
        "of others. Regions: groups of selected pixels that are connected by edges. One split; the settings are those "
        "of mu."
    )
    return Table("neighbours", "Pixels beside selected ones cost less", caption, pd.DataFrame(rows, columns=columns))


def region_sizes(table: pd.DataFrame) -> dict[str, float]:
    """The mean number of pixels per region over the settings that select any, by price of a neighbour."""
    cells = cells_with(table, "regions")
    return {
        row["method"].removeprefix(NEIGHBOURS): float(
            np.mean([n / r for n, r in zip(row["n_features"], row["regions"]) if r])
        )
        for row in cells.to_dict("records")
        if any(row["regions"])
    }
