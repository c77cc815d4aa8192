"""What is claimed of the lattice agent: less loss than every peer at every price, in seconds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.statistics import standard_error, wins
from fsgym_studies.common.study import Claim
from fsgym_studies.lattice_vs_peers.tables import OURS, SAME, TITLES, Difference, against_best, difference, fits, peers

WON = 0.65  # share of data sets and prices
EQUAL = 1e-9
MEAN_SECONDS, MOST_SECONDS = 4.0, 10.0


def claims(found: pd.DataFrame, table: pd.DataFrame) -> list[Claim]:
    """``found`` of ``points``; ``table``, the cells."""
    named = peers(found) or [t for t in TITLES.values() if t != OURS]
    return [*(below(found, peer) for peer in named), below_best(found), *fast(table)]


def below(found: pd.DataFrame, peer: str) -> Claim:
    """The mean loss against that of one peer, at every price."""
    pairs: dict[float, Difference] = {}
    for lam in sorted(found["lam"].unique()):
        pair = difference(found, peer, lam)
        if pair is not None:
            pairs[lam] = pair
    whole = bool(pairs) and len(pairs) == found["lam"].nunique()
    sets = f" (mean over {max(p.sets for p in pairs.values())} data sets)" if pairs else ""
    return Claim(
        f"The lattice loses less than {peer} at every price{sets}",
        "",
        ", ".join(f"{lam:g}: {p.text}" for lam, p in pairs.items()) or DASH,
        all(p.mean < 0 for p in pairs.values()) if whole else None,
    )


def below_best(found: pd.DataFrame) -> Claim:
    """The share of data sets and prices at which no peer is as good, whichever is best on the test rows."""
    cells = against_best(found)
    less = cells["ours"] - cells["best"]
    won, even, behind = wins(-less, np.zeros(len(less)), EQUAL)[:3]
    here = DASH
    if len(cells):
        error = standard_error(less.groupby(cells["dataset"]).mean())
        share = f"less at {won} of {len(cells)} ({won / len(cells):.0%}), the same at {even}, more at {behind}"
        here = f"{share}; mean difference {less.mean():+.4f} ± {error:.4f}"
    return Claim(
        "The lattice loses less than the best peer, chosen for each data set and price by its loss on the same test "
        f"rows (at {WON:.0%} of them or more)",
        "",
        here,
        won >= WON * len(cells) if len(cells) else None,
    )


def fast(table: pd.DataFrame) -> list[Claim]:
    """Processor time of a fit at one price."""
    seconds = fits(table).stack()
    told = len(seconds) > 0
    return [
        Claim(
            f"A fit of it takes at most {limit:g} processor seconds {word}",
            "",
            f"{value:.1f} over {len(seconds)} fits" if told else DASH,
            bool(value <= limit) if told else None,
        )
        for word, limit, value in (
            ("on average", MEAN_SECONDS, seconds.mean() if told else 0.0),
            ("each", MOST_SECONDS, seconds.max() if told else 0.0),
        )
    ]


def notes(found: pd.DataFrame, missing: Mapping[str, str]) -> list[str]:
    """Where a peer is ahead, and what was left out: ``missing``, by method the reason."""
    seen = set(found["method"])
    absent = [f"Left out: {reason}." for method, reason in missing.items() if TITLES[method] not in seen]
    return [
        lost(found),
        *absent,
        "The splits of a data set overlap, and its prices share them: the standard error over data sets is the one "
        "that tells of other data.",
    ]


def lost(found: pd.DataFrame) -> str:
    """Where the best peer is ahead, in a sentence."""
    cells = against_best(found)
    behind = cells.assign(by=cells["ours"] - cells["best"])
    behind = behind[behind["by"] >= SAME].sort_values("by", ascending=False)
    if behind.empty:
        return "No peer is ahead of the lattice anywhere."
    named = [f"{c.dataset} at {c.lam:g} ({c.peer}, by {c.by:.3f})" for c in behind.itertuples(index=False)]
    return f"Where a peer is ahead of the lattice on the test rows, by how much: {', '.join(named)}."
