"""Tables and picture: losses of the lattice agent and its peers by data set and price, and paired differences."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from fsgym.comparison import figures
from fsgym.comparison.noise import rank_table, standard_error
from fsgym.comparison.report import Picture
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.common.render import LINE, draw_picture, format_number
from fsgym_studies.common.study import Table
from fsgym_studies.lattice_vs_peers.cell import PRICED_FIGURES

METHOD_TITLES = {  # in the order of tables and pictures
    "lattice": "lattice",
    "rcpi": "RCPI",
    "rcpi_printed": "RCPI as printed",
    "cart": "CART",
    "cegb": "CEGB",
    "static": "static selection",
    "forest": "forest",
    "maskable_ppo": "MaskablePPO",
}
PAIR_KEYS = ["dataset", "lam", "split"]
SMALL, LARGE = "small", "large"  # values of the column "size"
LINEAR_UP_TO, LOSS_TICKS = 0.1, (-0.2, -0.1, -0.05, 0, 0.05, 0.1, 0.2, 0.5, 1)  # of the axis of losses in the picture
SAME_LOSS = 5e-4  # losses that differ by less are shown as equal; half of the last digit in the table


def losses_by_price(table: pd.DataFrame) -> pd.DataFrame:
    """The figures of each cell at each price.

    Returns
    -------
    DataFrame, columns dataset, size, split, method, lam and ``PRICED_FIGURES``; failed cells are left out
    """
    columns = ["dataset", "size", "split", "method", "lam", *PRICED_FIGURES]
    cells = cells_with(table, "loss").reindex(columns=columns)
    rows = cells.explode(["lam", *PRICED_FIGURES], ignore_index=True)
    return rows.astype(dict.fromkeys(["lam", *PRICED_FIGURES], np.float64))


def loss_columns(losses: pd.DataFrame) -> pd.DataFrame:
    """The losses with a row for each data set, price and split, and a column for each method."""
    return losses.pivot(index=PAIR_KEYS, columns="method", values="loss")


def peers(losses: pd.DataFrame) -> list[str]:
    """The methods with which the lattice is compared, in the order of ``METHOD_TITLES``."""
    return [t for t in METHOD_TITLES.values() if t != "lattice" and t in set(losses["method"])]


def loss_pairs(losses: pd.DataFrame, peer: str, lam: float | None = None) -> pd.DataFrame:
    """The losses of the lattice and of a peer where both have one, at one price or at all prices."""
    table = loss_columns(losses if lam is None else losses[losses["lam"] == lam])
    return table.reindex(columns=["lattice", peer]).dropna()


def loss_difference(losses: pd.DataFrame, peer: str, lam: float | None = None) -> Difference | None:
    """The lattice compared with a peer by data set, over the pairs of ``loss_pairs``; None if there are none."""
    means = loss_pairs(losses, peer, lam).groupby("dataset").mean()
    return None if means.empty else paired_difference(means["lattice"], means[peer], lower_is_better=True)


def best_peers(losses: pd.DataFrame) -> pd.DataFrame:
    """Mean loss of the lattice and of the peer that is best compared with it on the test rows, by data set and price.

    Both are means over the splits that both methods have.

    Returns
    -------
    DataFrame, columns dataset, lam, ours, best, peer; data sets in the order of ``losses``, prices ascending
    """
    rows, table, names = [], loss_columns(losses), peers(losses)
    if "lattice" in table and names:
        for dataset in losses["dataset"].unique():
            for lam, own in table.loc[[dataset]].groupby("lam"):
                ahead = rank_table(own[["lattice", *names]], own.mean(), "lattice")["difference"].reindex(names)
                if ahead.notna().any():
                    peer = str(ahead.idxmin())
                    rows.append((dataset, lam, *own[["lattice", peer]].dropna().mean(), peer))
    return pd.DataFrame(rows, columns=["dataset", "lam", "ours", "best", "peer"])


def best_peer_table(losses: pd.DataFrame, size: str) -> Table:
    """The lattice and the best peer for each data set of this size, and each price."""
    rows = []
    for dataset, own in best_peers(losses[losses["size"] == size]).groupby("dataset", sort=False):
        row = {"data set": str(dataset)}
        for pair in own.itertuples(index=False):
            sign = "=" if abs(pair.ours - pair.best) < SAME_LOSS else "<" if pair.ours < pair.best else ">"
            row[f"{pair.lam:g}"] = f"{pair.ours:.3f} {sign} {pair.best:.3f} {pair.peer}"
        rows.append(row)
    caption = (
        "Each entry compares the mean loss of the lattice (left) with that of the best peer (right); means are over "
        "the splits. The best peer is the one with the lowest mean loss on the same test rows at that lam. This "
        "choice favours the peers, because nobody could make it without the test rows."
    )
    heading = f"The lattice and the best peer, by data set and lam: {size} data sets"
    return Table(f"losses_{size}", heading, caption, pd.DataFrame(rows))


def difference_table(losses: pd.DataFrame, size: str) -> Table:
    """The lattice minus each peer over the data sets of this size, at each price and over all prices."""
    rows, losses = [], losses[losses["size"] == size]
    for peer in peers(losses):
        for lam in [*sorted(losses["lam"].unique()), None]:
            pair, both = loss_difference(losses, peer, lam), loss_pairs(losses, peer, lam)
            if pair is not None:
                rows.append(
                    {
                        "peer": peer,
                        "lam": "all" if lam is None else f"{lam:g}",
                        "lattice": format_number(pair.first, 4),
                        "peer's loss": format_number(pair.second, 4),
                        "difference": f"{pair.mean:+.4f}",
                        "s.e. over pairs": format_number(standard_error(both["lattice"] - both[peer]), 4),
                        "s.e. over data sets": format_number(pair.error, 4),
                        "lower on": f"{pair.wins} of {pair.count}",
                        "pairs": len(both),
                    }
                )
    caption = (
        "Mean loss of the lattice minus that of the peer, over the data sets and splits on which both were run; "
        "below 0 the lattice is better. Each combination of data set, lam and split gives one pair of losses. Standard "
        "errors (s.e.) are computed over these pairs, and over the mean differences of the data sets. Lower on: data "
        "sets on which the lattice has the lower mean loss."
    )
    return Table(f"differences_{size}", f"Paired differences: {size} data sets", caption, pd.DataFrame(rows))


def fit_times(table: pd.DataFrame, size: str | None = None) -> pd.Series:
    """Seconds of the single fits of the lattice, by data set (of this size), with an entry for each price."""
    cells = cells_with(table, "fit_seconds").reindex(columns=["dataset", "size", "fit_seconds"])
    cells = cells if size is None else cells[cells["size"] == size]
    return cells.set_index("dataset")["fit_seconds"].explode().astype(np.float64)


def training_time_table(table: pd.DataFrame) -> Table:
    """Processor seconds of the training."""
    cells = cells_with(table, "loss")
    seconds = cells.groupby(["dataset", "method"], sort=False)["seconds"].mean().unstack("method")
    seconds = seconds[[t for t in METHOD_TITLES.values() if t in seconds]].add_suffix(", all prices")
    single = fit_times(table).groupby(level=0).agg(**{"one fit": "mean", "longest fit": "max"})
    frame = single.join(seconds, how="right") if len(single) else seconds
    frame = (
        frame.reindex(cells["dataset"].unique())
        .map(lambda value: format_number(float(value), 1))
        .rename_axis("data set")
        .reset_index()
    )
    caption = (
        'Times are processor seconds in one thread. "One fit" and "longest fit" are the mean and the maximum time of a '
        'fit of the lattice at a single lam, over the values of lam on the first split. "All prices" is the time to '
        "train a method for all values of lam, including the choice of its settings, averaged over the splits. The "
        "lattice shares work between the values of lam, "
        "so all of them together take less time than separate fits. Times differ from run to run."
    )
    return Table("seconds", "Training time", caption, frame)


def loss_picture(losses: pd.DataFrame) -> Picture:
    """The peers' losses minus that of the lattice by price, and accuracy by features, on small data sets."""
    losses = losses[losses["size"] == SMALL]
    names, prices = peers(losses), sorted(losses["lam"].unique())
    shown = [method for method, title in METHOD_TITLES.items() if title in ("lattice", *names)]
    line_styles = {METHOD_TITLES[method]: style for method, style in figures.method_styles(shown).items()}
    shared = loss_columns(losses).groupby("dataset").count().gt(0).all(axis=1)
    own = losses[losses["dataset"].isin(shared[shared].index)]

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for name in names:
            pairs = {lam: pair for lam in prices if (pair := loss_difference(losses, name, lam)) is not None}
            figures.plot_error_bars(
                left,
                [*pairs],
                [-pair.mean for pair in pairs.values()],
                yerr=[pair.error for pair in pairs.values()],
                label=name,
                style=LINE | line_styles[name],
            )
        left.axhline(0, color=line_styles["lattice"]["color"], linewidth=1.4, label="lattice")
        left.set_xscale("log")
        left.set_xticks(prices, [f"{p:g}" for p in prices])
        left.set_yscale("symlog", linthresh=LINEAR_UP_TO)
        left.yaxis.set_major_locator(FixedLocator(LOSS_TICKS))
        left.yaxis.set_major_formatter("{x:g}")
        left.minorticks_off()
        left.set(xlabel="price of a feature", ylabel="loss above that of the lattice")
        for name in ["lattice", *names]:
            means = own[own["method"] == name].groupby(["lam", "dataset"])[["n_features", "accuracy"]].mean()
            line = means.groupby("lam").mean()
            right.plot(line["n_features"], line["accuracy"], label=name, **LINE, **line_styles[name])
        right.set(xlabel="features used for a case", ylabel="accuracy")
        right.legend(loc="best")

    caption = (
        "Left: mean loss of each peer minus that of the lattice (the opposite sign to the tables), over the small data "
        "sets on which the peer was run; bars: one standard error over data sets; above the line the peer has the "
        f"higher loss. The axis is linear up to {LINEAR_UP_TO:g} and logarithmic above. Right: means over the "
        f"{own['dataset'].nunique()} small data sets on which all methods were run "
        f"({', '.join(own['dataset'].unique())}), one point per value of lam; up and to the left is better. "
        "The legend is of both."
    )
    return draw_picture("losses", "Loss by price, and accuracy by features", caption, draw, (11, 4.4))
