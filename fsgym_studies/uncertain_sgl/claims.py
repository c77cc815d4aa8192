"""Claims of Xie and Xu (2013) on uncertain data, assessed on the cells of the study; reasons for disagreements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from fsgym_studies.common.render import DASH
from fsgym_studies.common.study import Claim
from fsgym_studies.uncertain_sgl.printed import (
    DATASET_SIZES,
    FS,
    FS_SPARSE,
    GAUSSIAN,
    PRINTED_COLUMNS,
    PRINTED_RAW,
    PRINTED_SETTINGS,
    PRINTED_UNCERTAIN,
    UNIFORM,
    PrintedSetting,
    max_lasso_ratio,
)
from fsgym_studies.uncertain_sgl.tables import (
    ALL_SUB_FEATURES,
    KIND_FEWER_STEPS,
    KIND_RECODED,
    KIND_WEIGHTS,
    cells_of_kind,
    grid_accuracies,
    setting_results,
    unselected_accuracies,
)

# Criteria of agreement with the printed numbers; our choice.
FNUM_MARGIN = 0.2  # deviation of FNum, as a share of the printed one
RATIO_MARGIN = 0.1  # deviation of a ratio
MIN_DATASETS = 5  # of the nine data sets
COMPARABLE_POINTS = 1.0  # points of accuracy
RATIO_ROUNDING = 5e-4  # printed ratios have four digits, of which the fourth is sometimes wrong
FEWER_STEPS = 20  # accelerated steps of the check whether the paper's solver stopped early
TABLE_NAMES = {GAUSSIAN: "Table 3", UNIFORM: "Table 5"}
N_SETTINGS = len(PRINTED_COLUMNS) * len(DATASET_SIZES)


def claims(table: pd.DataFrame) -> list[Claim]:
    results = setting_results(table)
    return [
        *(fnum_claim(results, noise) for noise in TABLE_NAMES),
        minimum_claim(results),
        rank_claim(len(results) > 0),
        possible_claim(results),
        all_selected_claim(results),
        *accuracy_claims(table),
        *weight_claims(table),
    ]


def printed_setting(row: Any) -> PrintedSetting:
    return PRINTED_SETTINGS[row.distribution, row.column][row.dataset]


def fnum_agrees(fnum: float, printed: PrintedSetting) -> bool:
    return abs(fnum - printed.fnum) <= FNUM_MARGIN * printed.fnum


def fnum_claim(results: pd.DataFrame, noise: str) -> Claim:
    """Whether 100 steps select about as many features as printed in the columns with ratio < 0.9."""
    rows = results[(results["distribution"] == noise) & (results["column"] == FS_SPARSE)]
    near, far = [], []
    for row in rows.itertuples(index=False):
        p = printed_setting(row)
        (near if fnum_agrees(row.early_fnum, p) else far).append(f"{row.dataset} {row.early_fnum:.1f} ({p.fnum:g})")
    text = (
        f"{TABLE_NAMES[noise]} ({noise} noise), FS (ratio < 0.9): number of selected features (FNum) after 100 "
        f"accelerated steps from zero (within {FNUM_MARGIN:.0%} of the printed number on at least {MIN_DATASETS} of 9 "
        "data sets; ours: printed number in parentheses)"
    )
    result = f"{len(near)} of 9: {', '.join(near) or 'none'}; outside: {', '.join(far) or 'none'}"
    complete = len(rows) == len(DATASET_SIZES)
    reproduced = len(near) >= MIN_DATASETS if complete else None
    return Claim(text, TABLE_NAMES[noise], result if len(rows) else DASH, reproduced)


def n_agreeing(results: pd.DataFrame, mode: str) -> int:
    """Number of settings whose FNum and ratio agree with the printed ones."""
    rows = ((getattr(r, f"{mode}_fnum"), getattr(r, f"{mode}_ratio"), printed_setting(r)) for r in results.itertuples())
    return sum(fnum_agrees(fnum, p) and abs(ratio - p.ratio) <= RATIO_MARGIN for fnum, ratio, p in rows)


def minimum_claim(results: pd.DataFrame) -> Claim:
    text = (
        f"The weights of the paper are the solution of eq. 7 (at its minimum FNum is within {FNUM_MARGIN:.0%} and "
        f"the ratio within {RATIO_MARGIN:g} of the printed ones for at least half of the printed settings)"
    )
    n_exact, n_early = (n_agreeing(results, mode) for mode in ("exact", "early"))
    result = f"{n_exact} of {len(results)} at the minimum, {n_early} of {len(results)} after 100 steps"
    reproduced = n_exact >= N_SETTINGS / 2 if len(results) == N_SETTINGS else None
    return Claim(text, "Tables 3 and 5", result if len(results) else DASH, reproduced)


def ratios_above_rank() -> tuple[list[str], int]:
    """Printed LASSO settings whose ratio exceeds that of any LASSO solution, and the number of LASSO settings."""
    exceeding, n = [], 0
    for (noise, column), rows in PRINTED_SETTINGS.items():
        for name, p in rows.items():
            printed_twice = column == FS and PRINTED_SETTINGS[noise, FS_SPARSE][name] == p
            if p.lam2 == 0 and not printed_twice:
                n += 1
                limit = max_lasso_ratio(name, p.s)
                if p.ratio > limit:
                    exceeding.append(f"{name} {noise} {p.ratio:.3f} (at most {limit:.3f})")
    return exceeding, n


def rank_claim(known: bool) -> Claim:
    """A statement about the printed numbers alone, assessed only where the study has results."""
    exceeding, n = ratios_above_rank()
    text = (
        "Where lambda2 is 0, the printed ratios are possible for LASSO solutions (at most as many selected "
        "sub-features as training rows; assessed on the printed numbers alone)"
    )
    result = f"{len(exceeding)} of {n} are not possible: {'; '.join(exceeding)}"
    return Claim(text, f"{n} settings", result, not exceeding if known else None)


def possible_claim(results: pd.DataFrame) -> Claim:
    """Whether a minimum can select as many sub-features as printed, on our draws."""
    text = (
        "The printed ratios are possible at a minimum of eq. 7 on our draws (none exceeds our upper bound, which is "
        "the share of sub-features whose weight we cannot prove to be 0 at every minimum, in the fold where this share "
        "is largest)"
    )
    beyond = [r for r in results.itertuples() if printed_setting(r).ratio > r.possible + RATIO_ROUNDING]
    result = DASH
    if len(results):
        n_near = sum(abs(r.early_ratio - printed_setting(r).ratio) <= RATIO_MARGIN for r in beyond)
        result = (
            f"{len(beyond)} of {len(results)} are above the bound; in {n_near} of these, the ratio after 100 steps "
            f"on the same draws is within {RATIO_MARGIN:g} of the printed one; after 100 steps the duality gap is "
            f"{_range_text(results['early_gap'])} of half the squared norm of the targets; median ratio "
            f"{_median_ratio(results, 'early')} after 100 steps, {_median_ratio(results, 'exact')} at the minimum"
        )
    return Claim(text, "Tables 3 and 5", result, not beyond if len(results) == N_SETTINGS else None)


def _range_text(values: pd.Series) -> str:
    low, middle, high = np.quantile(values.astype(float), [0.0, 0.5, 1.0])
    return f"{low:.1e} to {high:.1e} (median {middle:.1e})"


def _median_ratio(results: pd.DataFrame, mode: str) -> str:
    return f"{results[f'{mode}_ratio'].median():.3f}"


def all_selected_claim(results: pd.DataFrame) -> Claim:
    """Section 4: on four data sets the best setting selects everything, so the selection has no effect."""
    names = ("German", "Heart", "Iono", "WDBC")
    columns = (results["distribution"] == GAUSSIAN) & (results["column"] == FS)
    rows = results[columns & results["dataset"].isin(names)]
    text = (
        "German, Heart, Iono and WDBC, gaussian noise: all sub-features are selected at lambda1 = lambda2 = 10 (ratio "
        "at least .999 after 100 steps)"
    )
    early, exact = (", ".join(f"{v:.3f}" for v in rows[f"{mode}_ratio"]) for mode in ("early", "exact"))
    reproduced = bool((rows["early_ratio"] >= 0.999).all()) if len(rows) == len(names) else None
    result = f"ratios {early}; at the minimum {exact}" if len(rows) else DASH
    return Claim(text, "ratio 1", result, reproduced)


def accuracy_claims(table: pd.DataFrame) -> list[Claim]:
    """The paper's three statements on mean accuracy, with settings chosen as in the paper and on inner folds."""
    accuracies = grid_accuracies(table)
    raw = {k[1]: v[0] for k, v in unselected_accuracies(table).items() if k[0] == "raw"}
    ways = (
        ("best", "best setting of the grid on the test folds, as in the paper"),
        ("nested", "settings chosen on inner folds"),
    )
    assessed = []
    for way, how in ways:
        means = {noise: _mean_accuracies(accuracies, noise, way, raw) for noise in TABLE_NAMES}
        assessed += [
            _mean_accuracy_claim(
                f"Uncertain data are classified better than raw data ({how}; means over the nine data sets, for both "
                "kinds of noise)",
                means,
                ALL_SUB_FEATURES,
                "raw",
                lambda a, b: a > b,
            ),
            _mean_accuracy_claim(
                f"An SVM on the best selection (FS) is more accurate than one on all sub-features ({how}; means as "
                "above)",
                means,
                FS,
                ALL_SUB_FEATURES,
                lambda a, b: a > b,
            ),
            _mean_accuracy_claim(
                f"An SVM on FS (ratio < 0.9) is about as accurate as one on all sub-features ({how}; at most "
                f"{COMPARABLE_POINTS:g} point below, means as above)",
                means,
                FS_SPARSE,
                ALL_SUB_FEATURES,
                lambda a, b: a >= b - COMPARABLE_POINTS,
            ),
        ]
    return assessed


def _mean_accuracies(accuracies: pd.DataFrame, noise: str, way: str, raw: dict[str, float]) -> dict[str, float] | None:
    """Mean accuracy in percent over the nine data sets, by selection; None where a data set is missing."""
    rows = accuracies[accuracies["distribution"] == noise]
    wide = rows.pivot(index="dataset", columns="selection", values=way) if len(rows) else pd.DataFrame()
    if not set(DATASET_SIZES) <= set(raw) or len(wide) < len(DATASET_SIZES) or wide.isna().any(axis=None):
        return None
    return {"raw": 100 * float(np.mean([raw[n] for n in DATASET_SIZES])), **(100 * wide.mean()).to_dict()}


def _mean_accuracy_claim(
    text: str,
    means: dict[str, dict[str, float] | None],
    first: str,
    second: str,
    criterion: Callable[[float, float], bool],
) -> Claim:
    printed = {noise: _printed_means(noise) for noise in TABLE_NAMES}
    paper = "; ".join(f"{noise} {p[first]:.2f} against {p[second]:.2f}" for noise, p in printed.items())
    known = [m for m in means.values() if m is not None]
    if len(known) < len(TABLE_NAMES):
        return Claim(text, paper, DASH, None)
    result = "; ".join(f"{noise} {m[first]:.2f} against {m[second]:.2f}" for noise, m in zip(means, known))
    return Claim(text, paper, result, all(criterion(m[first], m[second]) for m in known))


def _printed_means(noise: str) -> dict[str, float]:
    sides: dict[str, Any] = {
        "raw": PRINTED_RAW,
        ALL_SUB_FEATURES: PRINTED_UNCERTAIN[noise],
        FS: PRINTED_SETTINGS[noise, FS],
        FS_SPARSE: PRINTED_SETTINGS[noise, FS_SPARSE],
    }
    return {name: float(np.mean([v.accuracy for v in rows.values()])) for name, rows in sides.items()}


def share_within_groups(weights: Sequence[Sequence[float]]) -> float:
    """The share of non-zero weights in the groups that have any."""
    nonzero = np.array(weights, dtype=float) != 0
    return float(nonzero[nonzero.any(axis=1)].mean()) if nonzero.any() else float("nan")


def weight_claims(table: pd.DataFrame) -> list[Claim]:
    """Statements of section 4 on Figs. 4 and 5, assessed on the weights of Sonar."""
    rows = cells_of_kind(table, KIND_WEIGHTS)
    rows = rows[rows["column"] == "all penalties"] if len(rows) else rows
    by_penalties = {(r["lam1"], r["lam2"]): r for r in rows.to_dict("records")}
    sparsity_text = (
        "Sonar: a large lambda1 makes the weights sparse within groups, a large lambda2 does not (share of non-zero "
        "weights within the selected groups after 100 steps: below .8 at (1000, 0), 1 at (0, 1000))"
    )
    zeros_text = (
        "Sonar: as the larger of the two penalties decreases, fewer weights are zero (mean share of zeros after 100 "
        "steps never rises)"
    )
    pair = ((1e3, 0.0), (0.0, 1e3))
    if not set(pair) <= set(by_penalties):
        return [Claim(sparsity_text, "Fig. 4", DASH, None), Claim(zeros_text, "Figs. 4 and 5", DASH, None)]
    early, exact = ([share_within_groups(by_penalties[p][mode]) for p in pair] for mode in ("early", "exact"))
    zeros: dict[float, list[float]] = {}
    for penalties, r in by_penalties.items():
        zeros.setdefault(max(penalties), []).append(1.0 - float((np.array(r["early"]) != 0).mean()))
    means = {top: float(np.mean(zeros[top])) for top in sorted(zeros, reverse=True)}
    return [
        Claim(
            sparsity_text,
            "Fig. 4",
            f"{early[0]:.2f}, {early[1]:.2f}; at the minimum {exact[0]:.2f}, {exact[1]:.2f}",
            early[0] < 0.8 and early[1] == 1.0,
        ),
        Claim(
            zeros_text,
            "Figs. 4 and 5",
            f"larger penalty {', '.join(f'{top:g}: {mean:.3f}' for top, mean in means.items())}",
            all(a >= b for a, b in pairwise(means.values())),
        ),
    ]


def notes(table: pd.DataFrame) -> list[str]:
    """Reasons for disagreements with the paper, effects of the choice of settings, and misprints."""
    results = setting_results(table)
    sentences = [
        *step_notes(results, cells_of_kind(table, KIND_FEWER_STEPS)),
        *code_notes(results, cells_of_kind(table, KIND_RECODED)),
    ]
    if len(results):
        means = {mode: 100 * results[f"{mode}_accuracy"].mean() for mode in ("early", "exact")}
        sparse = results[results["column"] == FS_SPARSE]
        ratios = [printed_setting(r).ratio for r in sparse.itertuples()]
        sentences.append(
            f"Over all printed settings the mean accuracy is {means['early']:.2f} after 100 steps and "
            f"{means['exact']:.2f} at the minimum. At the settings that the paper prints for FS (ratio < "
            f"0.9), the mean share of selected sub-features is {np.mean(ratios):.3f} in the paper, "
            f"{sparse['early_ratio'].mean():.3f} after our 100 steps and {sparse['exact_ratio'].mean():.3f} at the "
            "minimum of the objective."
        )
    sentences += optimism_notes(grid_accuracies(table))
    sentences.append(
        "The paper defines FNum as d minus the number of selected features, which contradicts all its tables; our FNum "
        "is the number of selected features. The mean of the printed raw accuracies is 87.53, not 87.43, and that of "
        "the ratios below 0.9 in Table 3 is 0.700, not 0.696. Feature scales and a stopping rule are not printed: 100 "
        "accelerated steps from zero on features scaled to [0, 100] are inferred from the tables."
    )
    return sentences


def step_notes(results: pd.DataFrame, fewer_steps: pd.DataFrame) -> list[str]:
    """Where 100 steps miss the printed FNum of the columns with ratio < 0.9, and the result of fewer steps there."""
    rows, keys = results[results["column"] == FS_SPARSE].copy(), ["distribution", "dataset"]
    if rows.empty or fewer_steps.empty:
        return []
    fewer = fewer_steps.groupby(keys)["early_fnum"].mean()
    rows["fewer"] = [fewer.get((r.distribution, r.dataset), np.nan) for r in rows.itertuples()]
    reached = np.array([fnum_agrees(r.early_fnum, printed_setting(r)) for r in rows.itertuples()])
    reached_by_fewer = np.array([fnum_agrees(r.fewer, printed_setting(r)) for r in rows.itertuples()])
    missed = [
        f"{r.dataset} {r.distribution} {r.early_fnum:.1f} and {r.fewer:.1f} ({printed_setting(r).fnum:g})"
        for r in rows[~reached].itertuples()
    ]
    if not missed:
        return []
    excess, excess_elsewhere = (rows.loc[mask, "above"].median() for mask in (~reached, reached))
    sentence = (
        f"FNum after 100 and after {FEWER_STEPS} steps where 100 steps miss the printed number (in parentheses): "
        f"{'; '.join(missed)}. After {FEWER_STEPS} steps {reached_by_fewer[~reached].sum()} of these {len(missed)} are "
        f"within {FNUM_MARGIN:.0%} of the printed number, and {reached_by_fewer[reached].sum()} of the other "
        f"{reached.sum()}. The median relative excess of the objective over its minimum after 100 steps is "
        f"{excess:.1e} where our FNum misses the printed one, and {excess_elsewhere:.1e} elsewhere."
    )
    if excess < excess_elsewhere:
        sentence += (
            " Our FNum therefore differs from the printed one mainly where the solver converges quickly, probably "
            "since the paper's solver stopped once the objective hardly decreased, which happens there before step 100."
        )
    return [sentence]


def code_notes(results: pd.DataFrame, recoded: pd.DataFrame) -> list[str]:
    """The effect on FNum of another coding of categories and of missing values."""
    orders = ("with our order", "with four random orders")
    missing = ("with the mean for missing values", "with missing values coded as a separate value")
    sentences = []
    for name, problem, how in (
        ("German", "categorical values are encoded as integers, and the paper does not print their order", orders),
        ("Hepatitis", "6 % of its values are missing, and the paper does not say what replaces them", missing),
        ("Horse", "24 % of its values are missing, and the paper does not say what replaces them", missing),
    ):
        parts = []
        for noise in TABLE_NAMES:
            own = results[
                (results["column"] == FS_SPARSE) & (results["distribution"] == noise) & (results["dataset"] == name)
            ]
            others = recoded[recoded["distribution"] == noise] if len(recoded) else recoded
            others = others[others["dataset"].str.startswith(name)] if len(others) else others
            if len(own) and len(others):
                values = others.groupby("dataset")["early_fnum"].mean()
                ends = " to ".join(f"{v:.1f}" for v in sorted({values.min(), values.max()}))
                printed = PRINTED_SETTINGS[noise, FS_SPARSE][name].fnum
                parts.append(
                    f"{noise} {own['early_fnum'].iloc[0]:.1f} {how[0]}, {ends} {how[1]} (printed: {printed:g})"
                )
        if parts:
            sentences.append(f"{name}: {problem}. FNum after 100 steps: {'; '.join(parts)}.")
    if sentences:
        sentences.append(
            f"The paper's accuracies on raw data of Horse ({PRINTED_RAW['Horse'].accuracy:g}) and Hepatitis "
            f"({PRINTED_RAW['Hepatitis'].accuracy:g}) are far above ours, so it probably used other "
            "attributes or targets."
        )
    return sentences


def optimism_notes(accuracies: pd.DataFrame) -> list[str]:
    if accuracies.empty:
        return []
    lead = 100 * (accuracies["best"] - accuracies["nested"]).groupby(accuracies["selection"]).mean()
    n_settings = accuracies.groupby("selection")["n_settings"].max()
    listed = ", ".join(
        f"{name} {lead[name]:+.2f} (best of up to {n_settings[name]} settings)"
        for name in (ALL_SUB_FEATURES, FS, FS_SPARSE)
    )
    return [
        "The accuracy of the best setting of the grid on the test folds is optimistic. It exceeds the "
        "accuracy with settings chosen on inner folds by the following number of points (means over all data sets and "
        f"both kinds of noise): {listed}. The paper reports the best of up to 480 settings on the folds on which it is "
        "evaluated."
    ]
