"""Our claims for the lattice agent: a lower mean loss than the peers at every lam, and training in seconds.

Small and large data sets have claims of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fsgym.comparison.noise import standard_error
from fsgym_studies.common.claims import AssessedClaim, Claim, assess
from fsgym_studies.common.difference import Difference
from fsgym_studies.common.render import format_number
from fsgym_studies.common.statistics import wins
from fsgym_studies.lattice_vs_peers import tables

# Least share of data sets and prices at which its loss must be lower than the best peer's:
BEST_PEER_SHARE = {"small": 0.65, "large": 0.5}
EQUAL_LOSSES = 1e-9  # losses that differ by less are equal
MEAN_FIT_SECONDS = 4.0  # processor seconds that one fit on a small data set may take on average
MAX_FIT_SECONDS = {"small": 10.0, "large": 60.0}  # processor seconds that any fit may take
LARGE_PEERS = ("cart", "static", "forest")  # the methods that are run on every large data set
RCPI_READINGS = ("rcpi", "rcpi_printed")  # they share a claim, which is on both


def time_claim(text: str, size: str, name: str, most: float) -> Claim:
    """Claim on the mean or the longest processor time of the fits of the lattice, each at one price."""
    return Claim(
        f"On the {size} data sets, {text.format(most)}",
        "",
        f"{name}, {size}",
        lambda seconds, count: seconds <= most,
        f"{name} of {{1}} fits: {{0:.1f}}",
    )


def best_peer_claim(size: str) -> Claim:
    """The share of data sets and prices at which the lattice has a lower loss than the best peer on the test rows."""
    least = BEST_PEER_SHARE[size]
    return Claim(
        f"On the {size} data sets, for at least {least:.0%} of the combinations of data set and lam, the lattice "
        "has a lower mean loss than the best peer (the peer with the lowest loss on the same test rows)",
        "",
        f"best peer, {size}",
        lambda less, equal, more, count, *_: less >= least * count,
        lambda less, equal, more, count, mean, error: (
            f"lower for {less} of {count} ({less / count:.0%}), equal for {equal}, higher for {more}; mean difference "
            f"{mean:+.4f} ± {format_number(error, 4)}"
        ),
    )


def places_text(difference: pd.Series) -> str:
    """How often the loss is lower, and where it is not; ``difference`` by data set and price."""
    higher = difference[difference >= -EQUAL_LOSSES].sort_values(ascending=False)
    listed = ", ".join(f"{dataset} at {lam:g} ({d:+.4f})" for (dataset, lam), d in higher.items())
    text = f"lower for {len(difference) - len(higher)} of {len(difference)}"
    return f"{text}; not for {listed}" if listed else text


ON_AVERAGE = "a fit of the lattice takes at most {:g} processor seconds on average"
LONGEST = "no fit of the lattice takes more than {:g} processor seconds"
CLAIMS = {
    "small": (
        best_peer_claim("small"),
        time_claim(ON_AVERAGE, "small", "mean", MEAN_FIT_SECONDS),
        time_claim(LONGEST, "small", "longest", MAX_FIT_SECONDS["small"]),
    ),
    "large": (
        Claim(
            "On each of the large data sets and at every lam, the lattice has a lower mean loss than CART",
            "",
            "over CART",
            lambda difference: (difference < -EQUAL_LOSSES).all(),
            places_text,
        ),
        best_peer_claim("large"),
        time_claim(LONGEST, "large", "longest", MAX_FIT_SECONDS["large"]),
    ),
}


def claims(losses: pd.DataFrame, table: pd.DataFrame, full: bool) -> list[AssessedClaim]:
    """All claims, from ``losses_by_price`` and the table of cells; the quick study has no large data sets."""
    assessed = []
    for size in ("small", "large") if full else ("small",):
        own = losses[losses["size"] == size]
        of_peers = [peer_claim(own, table, names, size) for names in claimed_peers(own, size)]
        assessed += assess((*of_peers, *CLAIMS[size]), size_figures(own, table, size))
    return assessed


def claimed_peers(losses: pd.DataFrame, size: str) -> list[tuple[str, ...]]:
    """The titles of the peers of each claim; ``losses`` are those of this size.

    A small data set has those peers that were run, and all of them where none was. If one reading of RCPI was run, the
    claim is on both, and is not assessed without the other one.
    """
    if size == "large":
        return [(tables.METHOD_TITLES[m],) for m in LARGE_PEERS]
    others = (m for m in tables.METHOD_TITLES if m not in ("lattice", *RCPI_READINGS))
    titles = [tuple(tables.METHOD_TITLES[m] for m in methods) for methods in (RCPI_READINGS, *((m,) for m in others))]
    present = tables.peers(losses)
    return [own for own in titles if not present or not set(own).isdisjoint(present)]


def n_planned(table: pd.DataFrame, peer: str, size: str) -> int:
    """The number of data sets of this size on which a peer was to be run."""
    cells = table.reindex(columns=["dataset", "size", "method"])
    return cells.loc[(cells["size"] == size) & (cells["method"] == peer), "dataset"].nunique()


def peer_claim(losses: pd.DataFrame, table: pd.DataFrame, peers: Sequence[str], size: str) -> Claim:
    """The mean loss compared with that of each of these peers, at every price; ``losses`` are those of this size."""
    places = [(peer, lam) for peer in peers for lam in sorted(losses["lam"].unique())]
    pairs = {place: tables.loss_difference(losses, *place) for place in places}
    known = {place: pair for place, pair in pairs.items() if pair is not None}
    data_sets = f"over {max(p.count for p in known.values())} data sets " if known else ""
    whole = all(pair is not None and pair.count == n_planned(table, peer, size) for (peer, _), pair in pairs.items())

    def is_met(known: Mapping[Any, Difference]) -> bool | None:
        lower = [pair.mean < 0 and pair.better for pair in known.values()]  # None: not known of a single data set
        return None if not whole else False if False in lower else None if None in lower else True

    return Claim(
        f"On the {size} data sets, the lattice has a lower mean loss than {' and than '.join(peers)} at every lam "
        f"(mean difference {data_sets}below 0 by more than two standard errors at each lam; ± one standard error over "
        "data sets)",
        "",
        lambda _: known or None,
        is_met,
        differences_text,
    )


def differences_text(pairs: Mapping[tuple[str, float], Difference]) -> str:
    """The differences by peer and price; the peers are named if there are several."""
    by_peer: dict[str, list[str]] = {}
    for (peer, lam), pair in pairs.items():
        by_peer.setdefault(peer, []).append(f"{lam:g}: {pair.with_error(4)}")
    named = [(f"{peer} at " if len(by_peer) > 1 else "") + ", ".join(listed) for peer, listed in by_peer.items()]
    return "; ".join(named)


def size_figures(losses: pd.DataFrame, table: pd.DataFrame, size: str) -> dict[str, Any]:
    """The comparison with the best peer and with CART, and the times of the fits, on the data sets of a size.

    That with CART is there if it is on each of its data sets.
    """
    figures: dict[str, Any] = {}
    means = tables.loss_pairs(losses, "CART").groupby(["dataset", "lam"]).mean()
    if len(means) and means.index.get_level_values("dataset").nunique() == n_planned(table, "CART", size):
        figures["over CART"] = means.iloc[:, 0] - means.iloc[:, 1]
    pairs, seconds = tables.best_peers(losses), tables.fit_times(table, size)
    if len(pairs):
        difference = pairs["ours"] - pairs["best"]
        counts = wins(-difference, EQUAL_LOSSES)
        error = standard_error(difference.groupby(pairs["dataset"]).mean())
        figures[f"best peer, {size}"] = (*counts, len(pairs), difference.mean(), error)
    if len(seconds):
        figures[f"mean, {size}"] = (seconds.mean(), len(seconds))
        figures[f"longest, {size}"] = (seconds.max(), len(seconds))
    return figures


def notes(losses: pd.DataFrame, unavailable: Mapping[str, str]) -> list[str]:
    """Where a peer is ahead, and which methods were left out; ``unavailable`` has the reasons by method."""
    present = set(losses["method"])
    left_out = [
        f"Left out: {reason}." for method, reason in unavailable.items() if tables.METHOD_TITLES[method] not in present
    ]
    return [
        peers_ahead_note(losses),
        *left_out,
        "The splits of a data set overlap, and all values of lam use the same splits. Only the standard error over "
        "data sets therefore shows how much the differences would vary on other data sets.",
    ]


def peers_ahead_note(losses: pd.DataFrame) -> str:
    """The data sets and prices where the best peer is ahead, in a sentence."""
    pairs = tables.best_peers(losses)
    behind = pairs.assign(by=pairs["ours"] - pairs["best"])
    behind = behind[behind["by"] >= tables.SAME_LOSS].sort_values("by", ascending=False)
    if behind.empty:
        return "No peer has a lower mean loss than the lattice on any data set at any lam."
    listed = ", ".join(f"{c.dataset} at {c.lam:g} ({c.peer}, by {c.by:.3f})" for c in behind.itertuples(index=False))
    return f"A peer has a lower mean loss than the lattice on these data sets at these values of lam: {listed}."
