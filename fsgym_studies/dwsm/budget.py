"""Dulac-Arnold et al. (2012), section 6.3.1, Fig. 7: a hard budget of M features, which cost nothing.

The paper names neither the data sets of Fig. 7 nor which of the shares of training data of section 6.1 it has.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fsgym.comparison.summary import with_lam
from fsgym.runner import Task
from fsgym_studies.common.claims import NOT_KNOWN, ROUNDING, AssessedClaim, Claim, assess
from fsgym_studies.common.curves import evaluated_cells, in_shared_splits, setting_means
from fsgym_studies.common.difference import paired_difference
from fsgym_studies.common.plan import DWSM, L1_SVM, LARS, DataFolder, MethodSettings, price_settings, without
from fsgym_studies.common.render import settings_table
from fsgym_studies.common.statistics import accuracy_at
from fsgym_studies.common.study import Conclusion, Study, Table
from fsgym_studies.dwsm import shared, times

BUDGETS = (2, 5, 10, 20)  # values of M
WITHOUT_BUDGET = [DWSM, LARS, L1_SVM]
WITHOUT_INTERCEPT = [shared.LARS_WITHOUT, shared.L1_SVM_WITHOUT]
PRINTED_BUDGET = 5  # of the claim on sparsity .8
PRINTED_ACCURACIES = [0.77, 0.72, 0.65]  # of DWSM with a budget, LARS and L1-SVM there
PRINTED_TOLERANCE = 0.03  # of the accuracies at sparsity .8; ours
TIMED = (
    MethodSettings(DWSM, "rcpi", price_settings((0.0,)), preset=shared.READING),
    MethodSettings(shared.BUDGET_MODEL, "rcpi", ({"lam": 0.0, "budget": PRINTED_BUDGET},), preset=shared.READING),
)
MORE_COLUMNS = 20  # of the data sets on which both are timed: those with more
MANY_TIMES = 3.0  # ratio of times that counts as many times faster; ours
EQUAL_ACCURACY = 0.005  # accuracies that differ by less count as equal


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    cells = []
    for source in without(shared.BINARY_SETS, skip):
        data = source.load(data_dir)
        budgets = tuple({"lam": 0.0, "budget": m} for m in BUDGETS if m < data.n_features)
        methods = (
            MethodSettings(shared.BUDGET_MODEL, "rcpi", budgets, preset=shared.READING),
            shared.DWSM_SETTINGS,
            *(baseline for baseline in shared.BASELINES if baseline.title in WITHOUT_BUDGET),
            *(arm for arm in shared.INTERCEPT_ARMS if arm.title in WITHOUT_INTERCEPT),
        )
        cells += shared.cells_over_shares(data, methods, full)
        if data.n_features > MORE_COLUMNS:
            cells += times.cells(data, TIMED)
    return cells


def protocol(full: bool) -> str:
    return (
        f"We repeat section 6.3.1 of {shared.DWSM_PAPER}. The eight binary data sets of section 6.1; "
        f"{shared.splits_text(full)}. {DWSM} with a budget of at most M = {', '.join(map(str, BUDGETS))} features at "
        f"price 0 (only M below the number of features), compared with {L1_SVM}, {LARS} and {DWSM} without a budget, "
        f"all at the settings of dwsm-binary, and with L1-SVM and LARS without an intercept. {shared.READING_TEXT}. "
        f"On the data sets with more than {MORE_COLUMNS} columns {DWSM} is timed with M = {PRINTED_BUDGET} and without "
        "a budget, both at price 0, in one process and thread on the first split with half of the rows for training, "
        f"inference on {times.ANSWERED_ROWS:,} rows."
    )


def at_shares(texts: Mapping[float, str]) -> str:
    """A text for each share of training data, in a list."""
    return ", ".join(f"{text} at {share:.0%}" for share, text in texts.items())


def leads_cause(figures: Mapping[str, Any]) -> str:
    """The largest leads near sparsity .8: at each share of training data, and over L1 methods without intercepts."""
    text = (
        "not known: the paper prints neither which data set nor which share of training data Fig. 7 has, nor how its "
        "L1 methods were run"
    )
    text += f"; the largest lead is {at_shares(largest_leads(figures, 'near .8'))}"
    text += f". With M = {PRINTED_BUDGET}, which the paper prints, at whatever sparsity the largest lead is "
    text += at_shares(largest_leads(figures, "with the printed budget"))
    known = figures["near .8"].dropna(subset=WITHOUT_INTERCEPT)
    if known.empty:
        return text
    lead = known[shared.BUDGET_MODEL] - known[WITHOUT_INTERCEPT].max(axis=1)
    r = known.loc[lead.idxmax()]
    accuracies = " / ".join(f"{r[name]:.2f}" for name in (shared.BUDGET_MODEL, *WITHOUT_INTERCEPT))
    return f"{text}; without intercepts the largest lead is {lead.max():+.2f}, on {r['dataset']} ({accuracies})"


def largest_leads(figures: Mapping[str, Any], name: str) -> dict[float, str]:
    """The largest lead over both L1 methods among rows of ``budget_figures``, with its data set, at each share."""
    texts = {}
    for share, own in figures["by share"].items():
        rows = own[name]
        lead = rows[shared.BUDGET_MODEL] - rows[[LARS, L1_SVM]].max(axis=1)
        if len(lead):
            r = rows.loc[lead.idxmax()]
            where = f"{r['dataset']}, accuracy {r[shared.BUDGET_MODEL]:.3f}, sparsity {r['sparsity']:.2f}"
            texts[share] = f"{lead.max():+.3f} ({where})"
    return texts


def high_sparsity_cause(figures: Mapping[str, Any]) -> str:
    """In how many combinations DWSM with a low budget is above both: at each share, and without LARS's intercept."""
    counts = {s: f"{own['above both'].sum()} of {len(own['above both'])}" for s, own in figures["by share"].items()}
    sparse = figures["sparse"]
    alone = {name: (sparse[shared.BUDGET_MODEL] > sparse[name]).sum() for name in (DWSM, LARS)}
    above = sparse[figures["above both"]]
    listed = ", ".join(f"{r['dataset']} with M = {r['M']:g}" for r in above.to_dict("records"))
    both = (sparse[shared.BUDGET_MODEL] > sparse[[DWSM, shared.LARS_WITHOUT]].max(axis=1, skipna=False)).sum()
    met = [f"{s:.0%}" for s, own in figures["by share"].items() if own["above both"].mean() >= 0.5]
    where = f"the criterion is met at {' and '.join(met)}" if met else "the criterion is met at none of our shares"
    return (
        f"{'protocol' if met else NOT_KNOWN}: the paper prints neither which two data sets nor which share of training "
        f"data Fig. 7 has, and {where}; it is above both in {at_shares(counts)}. "
        f"On average over the shares it is above DWSM without a budget in {alone[DWSM]}, above LARS in {alone[LARS]}, "
        f"and with LARS without an intercept above both in {both}. It is above both on {listed or 'none'}"
    )


def sparse_cause(figures: Mapping[str, Any]) -> str:
    """Whether the parts differ as claimed, and in how many combinations the difference would be no noise."""
    sparse, others = figures["as accurate where sparse"]
    larger = len(sparse) and len(others) and sparse.mean() > others.mean()
    if not larger:
        return f"{NOT_KNOWN}: the part is not larger there; the paper prints neither the part nor a measure of it"
    times = next(
        (k for k in range(2, 100) if more_often(*(pd.concat([own] * k) for own in (sparse, others))) < 0.05), 0
    )
    more = f"; as large a difference would be no noise in {times} times as many combinations" if times else ""
    return (
        f"{NOT_KNOWN}: the part is larger there, as the paper says, and may be noise: the paper has no more than these "
        f"{len(sparse) + len(others)} combinations{more}. It prints neither the part nor a measure of it"
    )


def times_cause(figures: Mapping[str, Any]) -> str:
    """The seconds of learning and of inference, by data set."""
    parts = [
        f"{what} {dataset} {', '.join(f'{method} {value:.2g} s' for method, value in own.items())}"
        for what in ("learning", "inference")
        for dataset, own in times.seconds(figures["timed"], what).iterrows()
    ]
    rows = f"inference on {times.ANSWERED_ROWS:,} rows"
    table = figures["timed"]
    free = with_lam(table[table["method"] == DWSM]).query("lam == 0").groupby("dataset")["n_acquisitions"].mean()
    used = free.reindex(times.seconds(figures["timed"], "learning").index).dropna() / PRINTED_BUDGET
    formula = (
        f"; by its formula the factor is the number of features without a budget over M, {times.ratios_text(used)}"
    )
    return (
        f"{NOT_KNOWN}: the paper prints no times{formula if len(used) else ''}; ours, with {rows}: {'; '.join(parts)}"
    )


CLAIMS = (
    Claim(
        "At sparsity .8: accuracy .77 of DWSM with a budget, .72 of LARS, .65 of L1-SVM (on some of the eight data "
        f"sets, with the M whose sparsity is nearest to .8 and from .7 to .9, each within {PRINTED_TOLERANCE:g} of the "
        "printed one, mean over shares; the paper prints M = 5)",
        ".77 / .72 / .65",
        "at .8",
        lambda lead, texts, deviation: deviation.min() <= PRINTED_TOLERANCE + ROUNDING if len(lead) else None,
        lambda lead, texts, deviation: "; ".join(texts[lead.sort_values(ascending=False).index]) or "no such data set",
        leads_cause,
    ),
    Claim(
        "In many cases DWSM with a budget is at least as accurate as DWSM without (at equal sparsity its "
        f"accuracy is at most {EQUAL_ACCURACY:g} lower, in at least half of the combinations of data set and M, mean "
        "over shares)",
        "many cases",
        "as accurate",
        lambda equal: equal.mean() >= 0.5 if len(equal) else None,
        lambda equal: f"{equal.sum()} of {len(equal)}",
    ),
    Claim(
        "The previous claim applies particularly at high sparsity (for M = 2 and 5 and sparsity .7 or more, in a "
        "larger part of the combinations than elsewhere, by Fisher's exact test at level .05, mean over shares)",
        "particularly",
        "as accurate where sparse",
        lambda sparse, others: more_often(sparse, others) < 0.05 if len(sparse) else None,
        lambda sparse, others: (
            f"{sparse.sum()} of {len(sparse)}, elsewhere {others.sum()} of {len(others)}, p = "
            f"{more_often(sparse, others):.2f}"
        ),
        sparse_cause,
    ),
    Claim(
        "At high sparsity, DWSM with a low budget is above both LARS and DWSM without a budget (for M = 2 and 5 "
        "and sparsity .7 or more, by more than two standard errors over the splits in at least half of the "
        "combinations, mean over shares)",
        "Fig. 7",
        "above both",
        lambda above: above.mean() >= 0.5 if len(above) else None,
        lambda above: f"{above.sum()} of {len(above)}",
        high_sparsity_cause,
    ),
    *(
        Claim(
            f"DWSM with a budget is many times faster to {verb} than without (with M = {PRINTED_BUDGET} at price 0, "
            f"at least {MANY_TIMES:g} times on each data set with more than {MORE_COLUMNS} columns; processor times in "
            "one run)",
            "many times faster",
            what,
            lambda ratios: ratios.min() >= MANY_TIMES,
            times.ratios_text,
            times_cause,
        )
        for verb, what in (("learn", "learning"), ("infer with", "inference"))
    ),
)


def more_often(sparse: pd.Series, others: pd.Series) -> float:
    """The one-sided p of Fisher's exact test that the first is more often true than the second."""
    table = [[own.sum(), len(own) - own.sum()] for own in (sparse, others)]
    return float(stats.fisher_exact(table, "greater").pvalue)  # type: ignore[attr-defined]


def claims(
    accuracies: pd.DataFrame, by_share: Mapping[float, pd.DataFrame], table: pd.DataFrame
) -> list[AssessedClaim]:
    """Assess the claims on ``accuracy_at_budgets`` of all cells and of those of each share, and on the timed cells."""
    figures = budget_figures(accuracies) | {"by share": {s: budget_figures(own) for s, own in by_share.items()}}
    ratios = {what: times.ratios(table, what, DWSM, [shared.BUDGET_MODEL]) for what in ("learning", "inference")}
    timed = {what: own for what, own in ratios.items() if len(own)}
    return assess(CLAIMS, figures | timed | {"timed": table})


def budget_figures(accuracies: pd.DataFrame) -> dict[str, Any]:
    """What the claims take, from a table of ``accuracy_at_budgets``."""
    known = accuracies.dropna(subset=[shared.BUDGET_MODEL, *WITHOUT_BUDGET])
    near = known[known["sparsity"].between(0.7, 0.9)]
    near = near.loc[(near["sparsity"] - 0.8).abs().groupby(near["dataset"], sort=False).idxmin()]
    lead = near[shared.BUDGET_MODEL] - near[[LARS, L1_SVM]].max(axis=1)
    texts = [
        f"{r['dataset']} (M = {r['M']:g}, sparsity {r['sparsity']:.2f}): {r[shared.BUDGET_MODEL]:.3f} / "
        f"{r[LARS]:.3f} / {r[L1_SVM]:.3f}"
        for r in near.to_dict("records")
    ]
    sparse = known[known["M"].isin((2, 5)) & (known["sparsity"] >= 0.7)]
    elsewhere = known.drop(index=sparse.index)
    as_accurate, sparse_and_accurate, others = (
        f[shared.BUDGET_MODEL] >= f[DWSM] - EQUAL_ACCURACY for f in (known, sparse, elsewhere)
    )
    deviation = (near[[shared.BUDGET_MODEL, LARS, L1_SVM]] - PRINTED_ACCURACIES).abs().max(axis=1)
    return {
        "near .8": near,
        "with the printed budget": known[known["M"] == PRINTED_BUDGET],
        "sparse": sparse,
        "at .8": (lead, pd.Series(texts, near.index, dtype=object), deviation),
        "as accurate": as_accurate,
        "as accurate where sparse": (sparse_and_accurate, others),
        "above both": sparse["above both"],
    }


def accuracy_at_budgets(table: pd.DataFrame) -> pd.DataFrame:
    """Sparsity and accuracy of DWSM with a budget for each data set and M, and the other methods at equal sparsity.

    Returns
    -------
    DataFrame, columns dataset, M, sparsity and a column per method, means over the splits that all of them have and
        shares of training data; and ``above both``, whether DWSM with a budget is above LARS and DWSM by more than two
        standard errors
    """
    keys, rows = ["dataset", "share", "split"], []
    table = in_shared_splits(table, (shared.BUDGET_MODEL, *WITHOUT_BUDGET, *WITHOUT_INTERCEPT))
    curves = dict(iter(table.groupby([*keys, "method"])))
    for cell in table[table["method"] == shared.BUDGET_MODEL].to_dict("records"):
        row = {"dataset": cell["dataset"], "M": json.loads(cell["params"])["budget"], "sparsity": cell["sparsity"]}
        for other in (*WITHOUT_BUDGET, *WITHOUT_INTERCEPT):
            own = curves.get((*(cell[k] for k in keys), other))
            if own is not None:
                row[other] = float(accuracy_at(cell["sparsity"], own["sparsity"], own["accuracy"], cell["chance"]))
        rows.append(row | {shared.BUDGET_MODEL: cell["accuracy"]})
    columns = ["dataset", "M", "sparsity", shared.BUDGET_MODEL, *WITHOUT_BUDGET, *WITHOUT_INTERCEPT]
    groups = pd.DataFrame(rows, columns=columns).groupby(["dataset", "M"], sort=False)
    above = {
        key: all(paired_difference(own[shared.BUDGET_MODEL], own[other]).better for other in (LARS, DWSM))
        for key, own in groups
    }
    means = groups.mean().reset_index()
    return means.assign(**{"above both": np.array([*above.values()], dtype=bool)})


def conclude(cells: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    all_cells, table = table, evaluated_cells(table)
    settings = setting_means(table)
    accuracies = accuracy_at_budgets(table)
    budgets = Table(
        "budgets",
        "DWSM with a budget and the other methods at equal sparsity",
        "Accuracy of DWSM with a budget, and the height of the other methods' curves at the sparsity that it reaches "
        "in the same split; means over splits and shares of training data.",
        accuracies.drop(columns="above both").rename(columns={"dataset": "data set"}),
    )
    tables = [budgets, settings_table(settings)]
    by_share = {float(share): accuracy_at_budgets(own) for share, own in table.groupby("share")}
    return Conclusion(
        protocol(full), claims(accuracies, by_share, all_cells), tables, shared.curve_pictures(settings, table)
    )


STUDY = Study(
    "dwsm-budget",
    "DWSM: hard budget (section 6.3.1)",
    shared.DWSM_REFERENCE,
    (4.9, 135.0),
    tuple(s.name for s in shared.BINARY_SETS),
    plan,
    conclude,
)
