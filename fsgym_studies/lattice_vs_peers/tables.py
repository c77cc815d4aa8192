"""Tables and the picture of the lattice agent and its peers: losses by data set and price, and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import Picture, png_of
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.render import DASH, ERROR_BARS, LINE, figure_style, format_number
from fsgym_studies.common.statistics import standard_error
from fsgym_studies.common.study import Table
from fsgym_studies.lattice_vs_peers.cell import CART, CEGB, FIGURES, LATTICE, PPO, RCPI, STATIC

TITLES = {
    LATTICE: "lattice",
    RCPI: "RCPI",
    CART: "CART",
    CEGB: "CEGB",
    STATIC: "static selection",
    PPO: "MaskablePPO",
}
OURS = TITLES[LATTICE]
KEYS = ["dataset", "lam", "split"]
SAME = 5e-4  # losses that print alike


class Difference(NamedTuple):
    """The lattice's loss less a peer's over pairs (data set, price, split): mean, its standard error over the pairs and
    over the data sets, of which ``better`` have a lower mean; the means of both."""

    mean: float
    error: float
    error_sets: float
    sets: int
    pairs: int
    better: int
    ours: float
    theirs: float

    @property
    def text(self) -> str:
        return f"{self.mean:+.4f} ± {format_number(self.error_sets, 4)}"


def points(table: pd.DataFrame, prices: Sequence[float]) -> pd.DataFrame:
    """A row for each data set, split, method and price ``lam``, with the figures there; failed cells have none."""
    done = cells_with(table, "loss")
    if done.empty:
        return pd.DataFrame(columns=[*KEYS, "method", *FIGURES])
    rows = done[["dataset", "split", "method", *FIGURES]].assign(lam=[list(prices)] * len(done))
    rows = rows.explode(["lam", *FIGURES], ignore_index=True)
    return rows.astype(dict.fromkeys(["lam", *FIGURES], np.float64))


def losses(found: pd.DataFrame) -> pd.DataFrame:
    """Losses, a row for each data set, price and split, a column a method."""
    return found.pivot(index=KEYS, columns="method", values="loss")


def peers(found: pd.DataFrame) -> list[str]:
    """The methods that the lattice is compared with, in the order of ``TITLES``."""
    return [t for t in TITLES.values() if t != OURS and t in set(found["method"])]


def difference(found: pd.DataFrame, peer: str, lam: float | None = None) -> Difference | None:
    """The lattice less a peer, over the pairs of one price or of all; None where there is no pair."""
    table = losses(found if lam is None else found[found["lam"] == lam])
    if OURS not in table or peer not in table:
        return None
    both = table[[OURS, peer]].dropna()
    if both.empty:
        return None
    less = both[OURS] - both[peer]
    sets = less.groupby("dataset").mean()
    return Difference(
        float(sets.mean()),
        standard_error(less),
        standard_error(sets),
        len(sets),
        len(less),
        int((sets < 0).sum()),
        *(float(both[m].groupby("dataset").mean().mean()) for m in (OURS, peer)),
    )


def against_best(found: pd.DataFrame) -> pd.DataFrame:
    """Mean losses of the lattice and of the peer that is most ahead of it on the test rows, by data set and price.

    Both are means over the splits that the two have.

    Returns
    -------
    DataFrame, columns dataset, lam, ours, best, peer; data sets in their order, prices ascending
    """
    rows, table, names = [], losses(found), peers(found)
    if OURS in table and names:
        ahead = table[names].rsub(table[OURS], axis=0).groupby(["dataset", "lam"]).mean().dropna(how="all")
        for dataset in found["dataset"].unique():
            for lam in sorted(found["lam"].unique()):
                if (dataset, lam) in ahead.index:
                    peer = ahead.loc[(dataset, lam)].idxmax()
                    ours, best = table.loc[(dataset, lam), [OURS, peer]].dropna().mean()
                    rows.append({"dataset": dataset, "lam": lam, "ours": ours, "best": best, "peer": peer})
    return pd.DataFrame(rows, columns=["dataset", "lam", "ours", "best", "peer"])


def by_data_set(found: pd.DataFrame) -> Table:
    """The lattice and the best peer of each data set and price."""
    rows = []
    for dataset, own in against_best(found).groupby("dataset", sort=False):
        told = {"data set": str(dataset)}
        for cell in own.itertuples(index=False):
            told[f"{cell.lam:g}"] = f"{cell.ours:.3f} {_sign(cell.ours, cell.best)} {cell.best:.3f} {cell.peer}"
        rows.append(told)
    caption = (
        "Mean loss over the splits of the lattice, and of the peer that has the lowest one on the same test rows at "
        "that price: a choice that nobody could make beforehand, and which favours the peers."
    )
    return Table("losses", "The lattice and the best peer, by data set and price", caption, pd.DataFrame(rows))


def _sign(ours: float, theirs: float) -> str:
    return "=" if abs(ours - theirs) < SAME else "<" if ours < theirs else ">"


def compared(found: pd.DataFrame) -> Table:
    """The lattice less each peer, at each price and at all."""
    rows = []
    for peer in peers(found):
        for lam in [*sorted(found["lam"].unique()), None]:
            pair = difference(found, peer, lam)
            if pair is not None:
                rows.append(
                    {
                        "peer": peer,
                        "lam": "all" if lam is None else f"{lam:g}",
                        "lattice": format_number(pair.ours, 4),
                        "peer's loss": format_number(pair.theirs, 4),
                        "difference": f"{pair.mean:+.4f}",
                        "s.e. over pairs": format_number(pair.error, 4),
                        "s.e. over data sets": format_number(pair.error_sets, 4),
                        "lower on": f"{pair.better} of {pair.sets}",
                        "pairs": pair.pairs,
                    }
                )
    caption = (
        "Mean loss of the lattice less the peer's, over the data sets that both have, each with all its splits; below "
        "0 the lattice is better. Standard errors over the pairs (data set, price, split) and over the data sets' "
        "means."
    )
    return Table("differences", "Paired differences", caption, pd.DataFrame(rows))


def fits(table: pd.DataFrame) -> pd.DataFrame:
    """Seconds of single fits of the lattice, a row a data set, a column a price's place."""
    done = cells_with(table, "fit_seconds")
    if done.empty:
        return pd.DataFrame()
    return pd.DataFrame(done["fit_seconds"].tolist(), index=done["dataset"], dtype=np.float64)


def times(table: pd.DataFrame) -> Table:
    """Processor seconds of the learning."""
    done = cells_with(table, "loss")
    seconds = done.groupby(["dataset", "method"], sort=False)["seconds"].mean().unstack("method")
    seconds = seconds.reindex(index=done["dataset"].unique(), columns=[t for t in TITLES.values() if t in seconds])
    single = fits(table)
    rows = []
    for dataset, own in seconds.iterrows():
        row = {"data set": str(dataset)}
        if dataset in single.index:
            row |= {
                "one fit": format_number(single.loc[dataset].mean(), 1),
                "dearest fit": format_number(single.loc[dataset].max(), 1),
            }
        rows.append(row | {f"{m}, all prices": format_number(float(s), 1) for m, s in own.items()})
    caption = (
        "Processor seconds in one thread. A fit of the lattice at one price, mean and maximum over the prices on the "
        "first split; and of each method what all prices together took, mean over splits, with the choice of its "
        "settings. They differ from run to run."
    )
    return Table("seconds", "Training time", caption, pd.DataFrame(rows).fillna(DASH))


def picture(found: pd.DataFrame) -> Picture:
    """How much more the peers lose by price; and accuracy by features on the data sets that all methods have."""
    from matplotlib.figure import Figure

    names, prices = peers(found), sorted(found["lam"].unique())
    looks = figures.looks([OURS, *names])
    shared = losses(found).groupby("dataset").count().gt(0).all(axis=1)
    own = found[found["dataset"].isin(shared[shared].index)]
    with figure_style():
        figure = Figure(figsize=(11, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name in names:
            pairs = [difference(found, name, lam) for lam in prices]
            known = [(lam, p) for lam, p in zip(prices, pairs) if p is not None]
            left.errorbar(
                [lam for lam, _ in known],
                [-p.mean for _, p in known],
                yerr=[p.error_sets for _, p in known],
                label=name,
                **ERROR_BARS,
                **looks[name],
            )
        left.axhline(0, color=looks[OURS]["color"], linewidth=1.4, label=OURS)
        left.set_xscale("log")
        left.set_xticks(prices, [f"{p:g}" for p in prices])
        left.minorticks_off()
        left.set(xlabel="price of a feature", ylabel="loss above that of the lattice")
        left.legend(loc="best")
        for name in [OURS, *names]:
            means = own[own["method"] == name].groupby(["lam", "dataset"])[["n_features", "accuracy"]].mean()
            line = means.groupby("lam").mean()
            right.plot(line["n_features"], line["accuracy"], label=name, **LINE, **looks[name])
        right.set(xlabel="features used for a case", ylabel="accuracy")
        right.legend(loc="best")
        png = png_of(figure)
    caption = (
        "Left: each peer's mean loss less that of the lattice on its data sets, bars of one standard error over them; "
        f"above the line it loses more. Right: means over {own['dataset'].nunique()} data sets that all methods have "
        f"({', '.join(own['dataset'].unique())}), a point a price; up and to the left is better."
    )
    return Picture("losses", "Loss by price, and accuracy by features", caption, png)
