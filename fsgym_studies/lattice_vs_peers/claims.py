"""Our claims for the lattice agent: a lower mean loss than the peers at every lam, and training in seconds.

Small and large data sets have claims of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH, format_number
from fsgym_studies.common.statistics import standard_error, wins
from fsgym_studies.common.study import Claim
from fsgym_studies.lattice_vs_peers.cell import CART_METHOD, FOREST_METHOD, STATIC_METHOD
from fsgym_studies.lattice_vs_peers.tables import (
    LARGE,
    LATTICE_TITLE,
    METHOD_TITLES,
    SAME_LOSS,
    SIZE_TITLES,
    SMALL,
    LossDifference,
    best_peers,
    fit_times,
    loss_columns,
    loss_difference,
    of_size,
    peers,
)

# Least share of data sets and prices at which its loss must be lower than the best peer's:
BEST_PEER_SHARE = {SMALL: 0.65, LARGE: 0.5}
EQUAL_LOSSES = 1e-9  # losses that differ by less are equal
MEAN_FIT_SECONDS = 4.0  # processor seconds that one fit on a small data set may take on average
MAX_FIT_SECONDS = {SMALL: 10.0, LARGE: 60.0}  # processor seconds that any fit may take
LARGE_PEERS = (CART_METHOD, STATIC_METHOD, FOREST_METHOD)  # the methods that are run on every large data set


def claims(losses: pd.DataFrame, table: pd.DataFrame, full: bool) -> list[Claim]:
    """All claims, from ``losses_by_price`` and the table of cells; the quick study has no large data sets."""
    small = of_size(losses, SMALL)
    names = peers(small) or [t for t in METHOD_TITLES.values() if t != LATTICE_TITLE]
    found = [*(peer_claim(small, peer, SMALL) for peer in names), best_peer_claim(small, SMALL)]
    found += [mean_fit_time_claim(table), longest_fit_claim(table, SMALL)]
    if full:
        large = of_size(losses, LARGE)
        found += [peer_claim(large, METHOD_TITLES[m], LARGE) for m in LARGE_PEERS]
        found += [every_cell_claim(large), best_peer_claim(large, LARGE), longest_fit_claim(table, LARGE)]
    return found


def peer_claim(losses: pd.DataFrame, peer: str, size: str) -> Claim:
    """The mean loss compared with that of one peer, at every price; ``losses`` are those of this size."""
    pairs: dict[float, LossDifference] = {}
    for lam in sorted(losses["lam"].unique()):
        pair = loss_difference(losses, peer, lam)
        if pair is not None:
            pairs[lam] = pair
    complete = bool(pairs) and len(pairs) == losses["lam"].nunique()
    data_sets = f"over {max(p.sets for p in pairs.values())} data sets " if pairs else ""
    return Claim(
        f"{on_sets(size)} the lattice has a lower mean loss than {peer} at every lam (mean difference {data_sets}"
        "below 0 at each lam; ± one standard error over data sets)",
        "",
        ", ".join(f"{lam:g}: {p.text}" for lam, p in pairs.items()) or DASH,
        all(p.mean < 0 for p in pairs.values()) if complete else None,
    )


def on_sets(size: str) -> str:
    """The beginning of a claim."""
    return f"On the {SIZE_TITLES[size]},"


def every_cell_claim(losses: pd.DataFrame) -> Claim:
    """The mean loss compared with that of CART on each large data set, at every price."""
    table, peer, ours, lower = loss_columns(losses), METHOD_TITLES[CART_METHOD], DASH, None
    if {LATTICE_TITLE, peer} <= set(table):
        both = table[[LATTICE_TITLE, peer]].dropna().groupby(["dataset", "lam"]).mean()
        difference = both[LATTICE_TITLE] - both[peer]
        higher = difference[difference >= -EQUAL_LOSSES].sort_values(ascending=False)
        ours = f"lower for {len(difference) - len(higher)} of {len(difference)}"
        if len(higher):
            ours += "; not for " + ", ".join(f"{dataset} at {lam:g} ({d:+.4f})" for (dataset, lam), d in higher.items())
        lower = higher.empty if len(difference) else None
    return Claim(
        f"On each of the large data sets and at every lam, the lattice has a lower mean loss than {peer}",
        "",
        ours,
        lower,
    )


def best_peer_claim(losses: pd.DataFrame, size: str) -> Claim:
    """The share of data sets and prices at which the lattice has a lower loss than the best peer on the test rows."""
    pairs, least = best_peers(losses), BEST_PEER_SHARE[size]
    difference = pairs["ours"] - pairs["best"]
    less, equal, more = wins(-difference, np.zeros(len(difference)), EQUAL_LOSSES)[:3]
    ours = DASH
    if len(pairs):
        error = standard_error(difference.groupby(pairs["dataset"]).mean())
        share = f"lower for {less} of {len(pairs)} ({less / len(pairs):.0%}), equal for {equal}, higher for {more}"
        ours = f"{share}; mean difference {difference.mean():+.4f} ± {format_number(error, 4)}"
    return Claim(
        f"{on_sets(size)} for at least {least:.0%} of the combinations of data set and lam, the lattice has a lower "
        "mean loss than the best peer (the peer with the lowest loss on the same test rows)",
        "",
        ours,
        less >= least * len(pairs) if len(pairs) else None,
    )


def mean_fit_time_claim(table: pd.DataFrame) -> Claim:
    """Mean processor time of a fit at one price on the small data sets."""
    text = f"{on_sets(SMALL)} a fit of the lattice takes at most {MEAN_FIT_SECONDS:g} processor seconds on average"
    seconds = fit_times(table, SMALL)
    return _time_claim(text, "mean", seconds, seconds.mean(), MEAN_FIT_SECONDS)


def longest_fit_claim(table: pd.DataFrame, size: str) -> Claim:
    """Largest processor time of a fit at one price."""
    seconds, most = fit_times(table, size), MAX_FIT_SECONDS[size]
    text = f"{on_sets(size)} no fit of the lattice takes more than {most:g} processor seconds"
    return _time_claim(text, "longest", seconds, seconds.max(), most)


def _time_claim(text: str, figure: str, seconds: pd.Series, value: float, most: float) -> Claim:
    if not len(seconds):
        return Claim(text, "", DASH, None)
    return Claim(text, "", f"{figure} of {len(seconds)} fits: {value:.1f}", bool(value <= most))


def notes(losses: pd.DataFrame, unavailable: Mapping[str, str]) -> list[str]:
    """Where a peer is ahead, and which methods were left out; ``unavailable`` has the reasons by method."""
    present = set(losses["method"])
    left_out = [
        f"Left out: {reason}." for method, reason in unavailable.items() if METHOD_TITLES[method] not in present
    ]
    return [
        peers_ahead_note(losses),
        *left_out,
        "The splits of a data set overlap, and all values of lam use the same splits. Only the standard error over "
        "data sets therefore shows how much the differences would vary on other data sets.",
    ]


def peers_ahead_note(losses: pd.DataFrame) -> str:
    """The data sets and prices where the best peer is ahead, in a sentence."""
    pairs = best_peers(losses)
    behind = pairs.assign(by=pairs["ours"] - pairs["best"])
    behind = behind[behind["by"] >= SAME_LOSS].sort_values("by", ascending=False)
    if behind.empty:
        return "No peer has a lower mean loss than the lattice on any data set at any lam."
    places = [f"{c.dataset} at {c.lam:g} ({c.peer}, by {c.by:.3f})" for c in behind.itertuples(index=False)]
    listed = ", ".join(places)
    return f"A peer has a lower mean loss than the lattice on these data sets at these values of lam: {listed}."
