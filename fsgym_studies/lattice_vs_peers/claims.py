"""Our claims for the lattice agent: a lower mean loss than every peer at every lam, and training in seconds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.statistics import standard_error, wins
from fsgym_studies.common.study import Claim
from fsgym_studies.lattice_vs_peers.tables import (
    LATTICE_TITLE,
    METHOD_TITLES,
    SAME_LOSS,
    LossDifference,
    best_peers,
    fit_times,
    loss_difference,
    peers,
)

BEST_PEER_SHARE = 0.65  # least share of data sets and prices at which its loss must be lower than the best peer's
EQUAL_LOSSES = 1e-9  # losses that differ by less are equal
MEAN_FIT_SECONDS, MAX_FIT_SECONDS = 4.0, 10.0  # processor seconds that one fit may take


def claims(losses: pd.DataFrame, table: pd.DataFrame) -> list[Claim]:
    """All claims, from ``losses_by_price`` and the table of cells."""
    names = peers(losses) or [t for t in METHOD_TITLES.values() if t != LATTICE_TITLE]
    return [*(peer_claim(losses, peer) for peer in names), best_peer_claim(losses), *fit_time_claims(table)]


def peer_claim(losses: pd.DataFrame, peer: str) -> Claim:
    """The mean loss compared with that of one peer, at every price."""
    pairs: dict[float, LossDifference] = {}
    for lam in sorted(losses["lam"].unique()):
        pair = loss_difference(losses, peer, lam)
        if pair is not None:
            pairs[lam] = pair
    complete = bool(pairs) and len(pairs) == losses["lam"].nunique()
    data_sets = f"over {max(p.sets for p in pairs.values())} data sets " if pairs else ""
    return Claim(
        f"The lattice has a lower mean loss than {peer} at every lam (mean difference {data_sets}below 0 at each lam; "
        "± one standard error over data sets)",
        "",
        ", ".join(f"{lam:g}: {p.text}" for lam, p in pairs.items()) or DASH,
        all(p.mean < 0 for p in pairs.values()) if complete else None,
    )


def best_peer_claim(losses: pd.DataFrame) -> Claim:
    """The share of data sets and prices at which the lattice has a lower loss than the best peer on the test rows."""
    pairs = best_peers(losses)
    difference = pairs["ours"] - pairs["best"]
    less, equal, more = wins(-difference, np.zeros(len(difference)), EQUAL_LOSSES)[:3]
    ours = DASH
    if len(pairs):
        error = standard_error(difference.groupby(pairs["dataset"]).mean())
        share = f"lower for {less} of {len(pairs)} ({less / len(pairs):.0%}), equal for {equal}, higher for {more}"
        ours = f"{share}; mean difference {difference.mean():+.4f} ± {error:.4f}"
    return Claim(
        f"For at least {BEST_PEER_SHARE:.0%} of the combinations of data set and lam, the lattice has a lower mean "
        "loss than the best peer (the peer with the lowest loss on the same test rows)",
        "",
        ours,
        less >= BEST_PEER_SHARE * len(pairs) if len(pairs) else None,
    )


def fit_time_claims(table: pd.DataFrame) -> list[Claim]:
    """Processor time of a fit at one price."""
    seconds = fit_times(table).stack()
    known = len(seconds) > 0
    mean, longest = (seconds.mean(), seconds.max()) if known else (0.0, 0.0)
    return [
        Claim(
            f"A fit of the lattice takes at most {MEAN_FIT_SECONDS:g} processor seconds on average",
            "",
            f"mean of {len(seconds)} fits: {mean:.1f}" if known else DASH,
            bool(mean <= MEAN_FIT_SECONDS) if known else None,
        ),
        Claim(
            f"No fit of the lattice takes more than {MAX_FIT_SECONDS:g} processor seconds",
            "",
            f"longest of {len(seconds)} fits: {longest:.1f}" if known else DASH,
            bool(longest <= MAX_FIT_SECONDS) if known else None,
        ),
    ]


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
