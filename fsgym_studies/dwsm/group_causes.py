"""Why claims on features in groups (Dulac-Arnold et al., 2012, section 6.3.3) are not reproduced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fsgym_studies.common.difference import paired_difference
from fsgym_studies.common.plan import DWSM
from fsgym_studies.dwsm.shared import AS_PRINTED

RANDOM_GROUPS = (3, 10)  # numbers of random groups of the binary sets
POINTS_LOWER = 2.0  # by which the best accuracy in groups has to be lower on sonar; our choice
MORE_ROWS = 0.9  # share of the rows for training in further cells of sonar
PRINTED_ON_ADULT = {"0": (0.82, 8.75), ".005": (0.79, 4.83), "acquiring nothing": (0.76, 0.0)}  # accuracy, groups


def adult_cause(figures: Mapping[str, Any]) -> str:
    """Losses at lambda .01 by the printed figures and by ours, and both readings of RCPI at each price."""
    printed = ", ".join(
        f"{1.0 - accuracy + 0.01 * groups:.3f} for {'' if name[0] == 'a' else 'its policy of lambda '}{name}"
        for name, (accuracy, groups) in PRINTED_ON_ADULT.items()
    )
    parts = [
        f"{name} {', '.join(f'{r.n_acquisitions:.2f} groups {r.accuracy:.3f} at {r.lam:g}' for r in rows.itertuples())}"
        for name, rows in ((DWSM, figures["Adult"]), (AS_PRINTED, figures["Adult as printed"]))
    ]
    own, at = figures["Adult"], figures["Adult at lambda .01"]
    free = own.loc[own["n_acquisitions"] < 0.05, "lam"]
    loss = 1.0 - at["accuracy"] + 0.01 * at["n_acquisitions"]
    nothing = f"nothing from lambda {free.min():g} on" if len(free) else "groups at all of them"
    better = [
        f"{lam:g}"
        for lam, (accuracy, groups) in zip((0.0, 0.005), PRINTED_ON_ADULT.values())
        if ((own["lam"] == lam) & (own["accuracy"] > accuracy) & (own["n_acquisitions"] < groups)).any()
    ]
    pays = (
        f"at lambda {' and '.join(better)} our policies are more accurate with fewer groups than the printed ones, and "
        "why they are is not known"
    )
    return (
        f"ours: {pays if better else 'why is not known'}. By the figures of the paper the loss at .01 (errors and "
        f"lambda times groups) would be {printed}, the lowest of the three; in our runs it is {loss:.3f} for our "
        f"policy, {1.0 - at['chance']:.3f} for acquiring nothing. Of the prices that we ran, our policy acquires "
        f"{nothing}. By price, {'; '.join(parts)} (always answering the larger class: {at['chance']:.3f}). The numbers "
        "of states on Adult are not printed, and were not varied"
    )


def sonar_cause(figures: Mapping[str, Any]) -> str:
    """The models with three groups and without at both shares of training rows, and at which the criterion is met."""
    parts, met = [], []
    for share, (single, three) in figures["sonar by split"].items():
        if len(single) and len(three):
            difference = paired_difference(three, single, scale=100)
            if difference.mean <= -POINTS_LOWER:
                met.append(f"{share:.0%}")
            parts.append(
                f"at {share:.0%} the best accuracy is {single.mean():.3f} without groups and {three.mean():.3f} with "
                f"three, at that price from {three.min():.3f} to {three.max():.3f} over {len(three)} splits, each with "
                f"a draw of groups, with groups less without in points {difference.with_error(1)}"
            )
    where = f"met at {' and '.join(met)}" if met else "met at none of our shares, and why is not known"
    return (
        f"{'protocol' if met else 'ours'}: the paper prints neither its share of training rows nor its splits and "
        f"draws of groups, and has .75 with three groups, 5 points below .80 without; the criterion is {where}: "
        f"{'; '.join(parts)} (splits share rows, so that these errors are too small). Groups at other shares were not "
        "run, and the share, the splits and the draws are not separated"
    )


def number_cause(figures: Mapping[str, Any]) -> str:
    """The difference on each set, in each number of groups and by area."""
    best = figures["binary sets"].dropna()  # the sets with more features than groups
    parts = (f"in {n} groups {lower_text(best[n] - best[0])}" for n in RANDOM_GROUPS)
    listed = ", ".join(f"{name} {d.with_error(1)}" for name, d in figures["three groups by set"].items())
    by_area = figures["three groups by area"]
    lower = (by_area < 0).sum()
    area = f"by area under the curve in {RANDOM_GROUPS[0]} groups {lower_text(by_area)}"
    source = (
        "protocol: the paper does not print how results are compared in general (its example, sonar, compares best "
        f"accuracies); {area}, where three groups also allow fewer sparsities"
        if lower > len(by_area) / 2
        else "paper: it prints neither the sets nor the numbers of groups, draws, splits and results of this remark; "
        f"{area}, so that neither way of comparing gives the claim"
    )
    return (
        f"{source}. The best accuracy at any price in {RANDOM_GROUPS[0]} groups less that without groups is, in "
        f"points, {listed}; on the sets that are run in both numbers of groups the best accuracy is "
        f"{'; '.join(parts)}. Half of the rows were used for training; groups at other shares were run on sonar alone"
    )


def texts_cause(figures: Mapping[str, Any]) -> str:
    """Groups and accuracies on the texts by price."""
    groups, accuracy = figures["texts"]
    listed = ", ".join(f"{g:.1f} groups {a:.3f}" for g, a in zip(groups, accuracy))
    fewer = figures["texts, fewer iterations"]
    rcpi = "RCPI has fewer iterations and states here" if fewer else "RCPI is run as on the other sets"
    return (
        f"data: Gisette is not available, and pcmac in its place has other features; {rcpi}. "
        "Whether the data decide or our implementation does is not separated. With ascending prices "
        f"{listed}, where always answering the larger class is correct on {figures['texts, larger class']:.3f}"
    )


def lasso_cause(figures: Mapping[str, Any]) -> str:
    """Accuracies of the LASSO on the texts by number of features, and of DWSM by price."""
    lasso, (groups, accuracy) = figures["texts, LASSO"], figures["texts"]
    listed = ", ".join(f"{r.accuracy:.3f} with {r.n_features:.0f}" for r in lasso.itertuples())
    own = ", ".join(f"{a:.3f} with {g:.2f} groups" for g, a in zip(groups, accuracy))
    rises = "; with more features it may rise further" if lasso["accuracy"].idxmax() == lasso.index[-1] else ""
    return (
        "data: Gisette is not available, and pcmac in its place has other features; whether the data decide or our "
        f"implementation does is not separated. The accuracies of LASSO are {listed} features{rises}. DWSM, whose "
        f"setting is the best of {len(accuracy)} on the one test part, has {own} with ascending prices"
    )


def lower_text(difference: pd.Series) -> str:
    """On how many data sets an accuracy, or an area, is lower, and the mean difference in points."""
    known = difference.dropna()
    points = round(100 * known.mean(), 1) + 0.0  # no negative zero
    return f"lower on {(known < 0).sum()} of {len(known)}, {points:+.1f} points on average"


def at_best_price(rows: pd.DataFrame) -> pd.Series:
    """Accuracy by split at the price with the highest mean; of no rows, none."""
    accuracies = rows.pivot_table("accuracy", "split", "setting")
    return accuracies.iloc[:, accuracies.mean().argmax()] if len(rows) else pd.Series(dtype=float)
