"""What the study of uncertain data says below its claims: reasons for disagreements, effects of choices, misprints."""

from __future__ import annotations

import pandas as pd

from fsgym_studies.uncertain_sgl.claims import FEWER_STEPS, FNUM_MARGIN, agrees
from fsgym_studies.uncertain_sgl.printed import PRINTED_RAW
from fsgym_studies.uncertain_sgl.tables import COMPARED_SELECTIONS, cells_of_kind, grid_accuracies, setting_results


def notes(table: pd.DataFrame) -> list[str]:
    """Reasons for disagreements with the paper, effects of the choice of settings, and misprints."""
    results = setting_results(table)
    sparse = results[results["column"] == "FS (ratio < 0.9)"]
    sentences = [
        *step_notes(sparse, cells_of_kind(table, "fewer steps")),
        *code_notes(sparse, cells_of_kind(table, "coded otherwise")),
    ]
    if len(results):
        means = {mode: 100 * results[f"{mode}_accuracy"].mean() for mode in ("early", "exact")}
        sentences.append(
            f"Over all printed settings the mean accuracy is {means['early']:.2f} after 100 steps and "
            f"{means['exact']:.2f} at the minimum. At the settings that the paper prints for FS (ratio < "
            f"0.9), the mean share of selected sub-features is {sparse['printed_ratio'].mean():.3f} in the paper, "
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


def step_notes(sparse: pd.DataFrame, fewer_steps: pd.DataFrame) -> list[str]:
    """Where 100 steps miss the printed FNum of the columns with ratio < 0.9, and the result of fewer steps there."""
    if sparse.empty or fewer_steps.empty:
        return []
    keys = ["distribution", "dataset"]
    rows = sparse.join(fewer_steps.groupby(keys)["early_fnum"].mean().rename("fewer"), on=keys)
    reached, reached_by_fewer = (agrees(rows[name], rows["printed_fnum"]) for name in ("early_fnum", "fewer"))
    missed = [
        f"{r.dataset} {r.distribution} {r.early_fnum:.1f} and {r.fewer:.1f} ({r.printed_fnum:g})"
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


def code_notes(sparse: pd.DataFrame, recoded: pd.DataFrame) -> list[str]:
    """The effect on FNum of another coding of categories and of missing values."""
    if recoded.empty:
        return []
    orders = ("with our order", "with four random orders")
    missing = ("with the mean for missing values", "with missing values coded as a separate value")
    sentences = []
    for name, problem, how in (
        ("German", "categorical values are encoded as integers, and the paper does not print their order", orders),
        ("Hepatitis", "6 % of its values are missing, and the paper does not say what replaces them", missing),
        ("Horse", "24 % of its values are missing, and the paper does not say what replaces them", missing),
    ):
        own = recoded[recoded["dataset"].str.startswith(name)]
        values = own.groupby(["distribution", "dataset"])["early_fnum"].mean()
        ends = values.groupby("distribution").agg(["min", "max"])
        parts = [
            f"{r.distribution} {r.early_fnum:.1f} {how[0]}, "
            f"{' to '.join(f'{v:.1f}' for v in sorted({*ends.loc[r.distribution]}))} {how[1]} "
            f"(printed: {r.printed_fnum:g})"
            for r in sparse[sparse["dataset"] == name].itertuples()
            if r.distribution in ends.index
        ]
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
        f"{name} {lead[name]:+.2f} (best of up to {n_settings[name]} settings)" for name in COMPARED_SELECTIONS
    )
    return [
        "The accuracy of the best setting of the grid on the test folds is optimistic. It exceeds the "
        "accuracy with settings chosen on inner folds by the following number of points (means over all data sets and "
        f"both kinds of noise): {listed}. The paper reports the best of up to 480 settings on the folds on which it is "
        "evaluated."
    ]
