"""Dulac-Arnold et al. (2012), section 6.1, Figs. 2 to 5 and appendix: eight binary data sets, four methods."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fsgym.comparison import figures
from fsgym.comparison.report import Picture
from fsgym.comparison.summary import with_lam
from fsgym.data.dataset import Dataset
from fsgym.rules import Rules
from fsgym.runner import Task
from fsgym_studies.common import curves
from fsgym_studies.common.claims import AssessedClaim, Claim, Near, assess
from fsgym_studies.common.plan import CART, DWSM, L1_SVM, LARS, DataFolder, MethodSettings, price_settings, without
from fsgym_studies.common.render import draw_picture, picture_of
from fsgym_studies.common.study import Conclusion, Study
from fsgym_studies.dwsm import causes, l1_forms, rcpi_forms, shared, times

# Dulac-Arnold et al. (2012), Fig. 1: one episode of the sequential process, with the rewards of the environment.

N_FEATURES, CLASSES = 4, ("y1", "y2", "y3")
EPISODE = (1, 3, 2, N_FEATURES + 1)  # features 2, 4 and 3 are acquired, then the second class is the answer
LAM = 0.1


def episode() -> list[tuple[str, float, np.ndarray]]:
    """The actions of the episode by name, their rewards, and which features are known afterwards, bool (4,)."""
    from fsgym.envs.env import DatumWiseEnv

    data = Dataset(np.eye(len(CLASSES), N_FEATURES), CLASSES, name="example")
    env = DatumWiseEnv(data, Rules(N_FEATURES, len(CLASSES), lam=LAM))
    env.reset(options={"index": 1})  # its class is y2
    known, steps = np.zeros(N_FEATURES, dtype=bool), []
    for action in EPISODE:
        _, reward, *_ = env.step(action)
        known |= np.arange(N_FEATURES) == action
        name = f"f{action + 1}" if action < N_FEATURES else CLASSES[action - N_FEATURES]
        steps.append((name, float(reward), known.copy()))
    return steps


def process_picture() -> Picture:
    """The states of the episode from left to right, the actions that were possible, and the rewards."""
    steps = episode()
    states = [np.zeros(N_FEATURES, dtype=bool), *(known for _, _, known in steps[:-1])]

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        for x, known in enumerate(states):
            features, answers = [f"f{j + 1}" for j in np.flatnonzero(~known)], list(CLASSES)
            for side, names in ((-1, features), (1, answers)):
                others = [name for name in names if name != steps[x][0]]
                for k, name in enumerate(others):
                    end = (x + 0.62, side * (0.9 + 0.36 * k))
                    ax.annotate("", end, (x, 0), arrowprops={"arrowstyle": "->", "color": "#aaaaaa", "linewidth": 0.8})
                    ax.text(*end, name, fontsize=8, color="#777777", va="center")
            reward = steps[x][1]
            bold = {"arrowstyle": "->", "color": figures.COLOURS[1], "linewidth": 2.4}
            ax.annotate("", (x + 0.86, 0), (x + 0.1, 0), arrowprops=bold)
            ax.text(x + 0.48, 0.12, f"{steps[x][0]}: {reward:+.1f}", ha="center", fontsize=9)
            ax.text(x - 0.08, -0.34, f"z = ({', '.join('1' if v else '0' for v in known)})", ha="right", fontsize=8)
        ax.scatter(range(len(states)), [0] * len(states), s=220, color=figures.COLOURS[0], zorder=3)
        ax.scatter(len(states), 0, s=260, color=figures.COLOURS[2], marker="s", zorder=3)
        ax.text(len(states), 0, steps[-1][0], ha="center", va="center", fontsize=9, color="white", zorder=4)
        ax.set_xlim(-0.8, len(states) + 0.4)
        ax.set_ylim(-2.2, 2.2)
        ax.axis("off")

    total = sum(reward for _, reward, _ in steps)
    caption = (
        f"An input of class y2 with four features at lambda = {LAM:g}. Bold: the actions of the policy with their "
        f"rewards, {total:+.1f} in total; grey: the other legal actions. z says which features are known."
    )
    return draw_picture("process", "The sequential process (Fig. 1)", caption, draw, (9.0, 3.4))


ARMS = (*shared.OTHER_READINGS, *shared.INTERCEPT_ARMS)
ALL_METHODS = (*shared.BINARY_METHODS, *(arm.title for arm in ARMS))
NINE_SETS = (*shared.BINARY_SETS, shared.CANCER_WITHOUT_ID)
TIMED_PRICE = 0.01  # lambda of DWSM where its times are compared
TIMED = (
    MethodSettings(DWSM, "rcpi", price_settings((TIMED_PRICE,)), preset=shared.READING),
    *shared.BASELINES,
)
QUICK_SPLITS = {"splice": 3}  # of a data set whose fits take as long as those of all others together


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    methods = (shared.DWSM_SETTINGS, *shared.BASELINES, *(arm for arm in ARMS if full or arm.title != shared.LOGISTIC))
    loaded = [(source, source.load(data_dir)) for source in without(NINE_SETS, skip)]
    cells = []
    for source, data in loaded:
        if source in shared.BINARY_SETS:
            cells += [*l1_forms.cells(data, full), *rcpi_forms.cells(data, full), *times.cells(data, TIMED)]
    for _, data in loaded:
        cells += shared.cells_over_shares(data, methods, full, None if full else QUICK_SPLITS.get(data.name))
    return cells


def protocol(full: bool) -> str:
    prices = ", ".join(f"{p:g}" for p in shared.DWSM_PRICES)
    fewer = "" if full else "".join(f", {number} on {name}" for name, number in QUICK_SPLITS.items())
    return (
        f"We repeat section 6.1 of {shared.DWSM_PAPER}. Eight binary data sets (breast cancer with the sample's id "
        "among its ten columns, as in the paper, and, not counted among the eight, without it); "
        f"{shared.splits_text(full)}{fewer}. {DWSM} at prices lambda = {prices}; {L1_SVM}, {LARS} and {CART} at twelve "
        "settings each; their values are derived from the training part of the first split of each share and used on "
        f"all its splits. {shared.READING_TEXT}. It has {shared.N_ITERATIONS} iterations of ten states "
        "per training row; the paper has ten iterations, and says that more give similar results. "
        f"{shared.LOGISTIC}{'' if full else ' (in the full study alone)'}: the same with answers by logistic "
        "regression, the default of this library. "
        f"{shared.AS_PRINTED_TEXT}, the tenth. Our L1-SVM has an intercept with a small penalty and LARS one "
        "without a penalty; the paper does not say how its L1 methods were run, so that they are run in other ways, "
        "too: LIBLINEAR without an intercept (its default) and with one that is penalised as the weights are (-B 1), "
        f"and LARS without one. {l1_forms.TEXT}. {rcpi_forms.TEXT}. "
        f"For section 5.2 {DWSM} at lambda {TIMED_PRICE:g} and the baselines, means over their settings, are timed in "
        f"one process and thread on the first split of each data set, inference on {times.ANSWERED_ROWS:,} rows."
        f"{shared.fewer_splits_text(full)}"
    )


def reading_check(reading: str) -> Claim:
    """A check of ours: the first claim for another form of the methods."""
    return Claim(
        f"Another form of the first claim, {reading}: DWSM is above both at equal sparsity on 7 of 8 data sets (as "
        "there)",
        "",
        reading,
        lambda lead, _: causes.enough(lead) if lead.notna().all() else None,
        lambda lead, at_half: (
            f"{shared.above_text(lead)}. With half of the rows for training, on {(at_half > 0).sum()}"
        ),
    )


FIGURE_4_LEFT = "The caption of Fig. 4, left"
ALL_ROWS = 0.99  # share of the rows from which a feature counts as used for all


FEATURE_2 = Near(0.88, 0.1, lambda own, other: own if other >= ALL_ROWS else np.nan)
EXACTLY_TWO = Near(0.2, 0.1, lambda own, other: own if other >= 0.9 else np.nan)


def features_1_and_9(own: Sequence[float], other: Sequence[float]) -> bool:
    return all(abs(v - 0.2) <= 0.1 for v in own) and min(other) >= ALL_ROWS


def used_for_all(own: Sequence[int], other: Sequence[int]) -> bool:
    return len(own) > 0 and set(own) <= set(other)


def used_for_all_text(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> str:
    listed = "; ".join(f"{numbers_text(own)} and {numbers_text(other)}" for own, other in pairs)
    return f"in {sum(used_for_all(*p) for p in pairs)} of {len(pairs)} splits: DWSM and LARS use features {listed}"


def mainly(share: float) -> bool:
    return share >= 0.8


def numbers_text(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


L1_CLAIMS = (  # Fig. 2
    Claim(
        "DWSM is above L1-SVM and LARS at equal sparsity on 7 of 8 data sets (its area under the curve is larger by "
        "more than two standard errors over the splits, mean over shares of training data)",
        "7 of 8",
        "lead over L1",
        lambda lead, *_: causes.enough(lead) if lead.notna().all() else None,
        lambda lead, *counts: (
            f"{shared.above_text(lead)}. By accuracy at sparsity .5, .7 and .9, above both on {{}}, {{}} and {{}} data "
            "sets. By area, above L1-SVM on {} and above LARS on {}"
        ).format(*counts),
        causes.l1_cause,
    ),
    Claim(
        "The only exception is splice (the only data set where the area of DWSM is not larger than theirs by more than "
        "two standard errors)",
        "splice",
        "lead over L1",
        lambda lead, *_: causes.only_exception(lead) if lead.notna().all() else None,
        lambda lead, *_: f"not above both: {', '.join(lead.index[lead <= 0]) or 'none'}",
        causes.exceptions_cause,
    ),
    shared.printed_accuracy("Breast cancer with id: DWSM's accuracy at sparsity .70", shared.CANCER_ID, 0.7, 0.96),
    shared.printed_accuracy("Breast cancer without id: DWSM's accuracy at sparsity .70", shared.CANCER, 0.7, 0.96),
    Claim(
        "Breast cancer with id: L1-SVM and LARS have accuracies of .88 to .90 at sparsity .70 (to within .01, mean "
        "over shares of training data)",
        ".88 to .90",
        "L1 on cancer",
        lambda means: all(0.87 <= v <= 0.91 for v in means.values()) if len(means) == 2 else None,
        cause=causes.l1_on_cancer_cause,
    ),
    *map(reading_check, causes.READINGS),
)
OTHER_CLAIMS = (  # left out where cells are missing
    # Fig. 3:
    Claim(
        "On some data set CART has an accuracy of about .90 at sparsity .9, above DWSM and the L1 methods (within "
        ".03 of .90, on the data set where CART has the largest lead of more than two standard errors)",
        "about .90",
        "lead of CART",
        lambda dataset, lead, means: lead > 0 and abs(means[CART] - 0.9) <= 0.03,
        "{0}: CART {2[CART]:.3f}, DWSM {2[DWSM]:.3f}, L1-SVM {2[L1-SVM]:.3f}, LARS {2[LARS]:.3f}",
        causes.tree_cause,
    ),
    Claim(
        "On some data set DWSM is above CART at equal sparsity (its area is larger by more than two standard errors)",
        "shown for one",
        "lead over CART",
        lambda lead: (lead > 0).any(),
        shared.above_text,
    ),
    # Fig. 4, and how stable policies are:
    Claim(
        "Breast cancer with id at sparsity .5: DWSM decides about 60 % of the rows with at most 3 features "
        "(to within .10, at a setting whose sparsity is within .1 of .5)",
        ".60",
        "at most three",
        causes.SIXTY_PERCENT,
        "{:.2f} (at the setting nearest to sparsity .5, whose sparsity is {:.2f})",
        causes.few_features_cause,
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM makes almost all of its errors after acquiring all 10 "
        "features (at least .8 of the errors)",
        "almost all",
        "errors after all",
        lambda share, errors: share >= causes.ALMOST_ALL if errors else None,
        "{:.2f} of {:.0f} errors",
        causes.errors_cause,
    ),
    Claim(
        "Breast cancer with id at sparsity .5: LARS uses feature 2 for all rows, DWSM for 88 % of them (to within .10)",
        ".88",
        "feature 2",
        FEATURE_2,
        "DWSM {:.2f}, LARS {:.2f}",
        causes.figure_4_cause("feature 2", FEATURE_2),
        FIGURE_4_LEFT,
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM uses features 1 and 9 for about 20 % of the rows each, LARS for "
        "all "
        "(to within .10)",
        "about .20",
        "features 1 and 9",
        features_1_and_9,
        "DWSM {0[0]:.2f} and {0[1]:.2f}, LARS {1[0]:.2f} and {1[1]:.2f}",
        causes.figure_4_cause("features 1 and 9", features_1_and_9),
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM uses some features for all rows, and LARS uses these for all, too "
        "(for at least .99 of the test rows, in most of the splits, which do not use the same features)",
        "they are",
        "used for all by split",
        lambda pairs: 2 * sum(used_for_all(*pair) for pair in pairs) > len(pairs),
        used_for_all_text,
        causes.figure_4_cause("used for all", used_for_all),
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM classifies 20 % of the rows with exactly 2 features, and LARS all "
        "with 5 (to within .10, and at least .9 of the rows of LARS)",
        ".20",
        "exactly two",
        EXACTLY_TWO,
        "DWSM {:.2f} with 2, LARS {:.2f} with 5",
        causes.figure_4_cause("exactly two", EXACTLY_TWO),
        FIGURE_4_LEFT.replace("left", "right"),
    ),
    Claim(
        "Breast cancer with id at sparsity .5: DWSM mainly uses 1, 2, 3 or 10 features (for at least .8 of the rows)",
        "mainly",
        "one to three or all",
        mainly,
        "{:.2f} of the rows",
        causes.mainly_cause(mainly),
    ),
    Claim(
        "Policies are stable after 4 to 5 iterations (after the fifth, the training loss changes by at most "
        ".01 per iteration on average)",
        "stable",
        "changes of the loss",
        lambda late, early: late <= 0.01,
        "mean change {:.4f} after the fifth, {:.4f} before",
        causes.stability_cause,
    ),
    # Fig. 5:
    Claim(
        "The higher lambda, the higher the mean sparsity (it never falls by more than .01, and rises by more than two "
        "standard errors over all)",
        "Fig. 5",
        "by price",
        lambda means: (np.diff(means["sparsity"]) >= -0.01).all() and rises(means),
        lambda means: f"at lambda {', '.join(f'{lam:g}: {s:.2f}' for lam, s in means['sparsity'].items())}",
    ),
    Claim(
        "If lambda is too high, no feature is acquired and the largest class is predicted (more than half of the "
        "fits at the highest lambda)",
        "Fig. 5",
        "by price",
        lambda means: means["nothing"].iloc[-1] > 0.5,
        lambda means: (
            f"share of such fits {means['nothing'].iloc[-1]:.2f} at lambda {means.index[-1]:g}, "
            f"{means['nothing'].iloc[0]:.2f} at lambda {means.index[0]:g}"
        ),
    ),
)
ON_FEW_COLUMNS = f"on the data sets with at most {rcpi_forms.MOST_COLUMNS} columns"
ALPHA = "The sentence of section 6 on alpha"
AT_PRICE = f"RCPI as printed at lambda {rcpi_forms.CHOSEN_PRICE:g}"
READING_CLAIMS = (  # section 6, and checks of ours: other forms of claims above
    Claim(
        "Section 6: more states or iterations give similar results (RCPI as printed with 20 iterations, and with 20 "
        f"states per row, {ON_FEW_COLUMNS}: each changes the mean test loss by at most {rcpi_forms.SIMILAR:g})",
        "similar",
        "more of both",
        lambda iterations, states: max(abs(iterations.mean), abs(states.mean)) <= rcpi_forms.SIMILAR,
        lambda iterations, states: (
            f"with 20 iterations {iterations.with_error(4)}, with 20 states {states.with_error(4)}"
        ),
        causes.similar_cause,
    ),
    Claim(
        f"Section 6: a lower alpha of the mixture is less stable ({ON_FEW_COLUMNS} the training loss changes more from "
        "the fifth to the tenth iteration at alpha .4 than at .7, by more than two standard errors over the fits)",
        "is so",
        "low alpha",
        lambda pair: pair.word == "better",
        lambda pair: f"mean change {pair.first:.4f} at .4, {pair.second:.4f} at .7: {pair.with_error(4)}",
        causes.alpha_cause,
        ALPHA,
    ),
    Claim(
        f"Section 6: a higher alpha of the mixture needs more iterations ({ON_FEW_COLUMNS} the first of 20 iterations "
        f"whose training loss is within {rcpi_forms.NEAR_LOWEST:g} of the lowest is later at alpha .9 than at .7, by "
        "more than two standard errors over the fits)",
        "is so",
        "high alpha",
        lambda pair: pair.word == "better",
        lambda pair: f"iteration {pair.first:.1f} at .9, {pair.second:.1f} at .7: {pair.with_error(1)}",
        causes.alpha_cause,
        ALPHA,
    ),
    Claim(
        f"Another form of the claim on errors, {AT_PRICE}: almost all are made after acquiring all 10 features (at "
        f"least {causes.ALMOST_ALL:g}, as there)",
        "",
        "printed errors",
        lambda share, errors, sparsity: share >= causes.ALMOST_ALL if errors else None,
        "{:.2f} of {} errors, at sparsity {:.2f}",
    ),
    Claim(
        f"Another form of the claim on few features, {AT_PRICE}: about 60 % of the rows have at most 3 (to within .10, "
        "as there)",
        "",
        "printed few",
        causes.SIXTY_PERCENT,
        "{:.2f}, at sparsity {:.2f}",
    ),
    Claim(
        "Another form of the claim on stability, states of the policy alone (mean change of at most "
        f"{causes.STABLE:g} per iteration, as there, {ON_FEW_COLUMNS})",
        "",
        "changes with states of the policy",
        lambda policy, both: policy <= causes.STABLE,
        "mean change {:.4f} after the fifth iteration; with uniform states too, on the same splits, {:.4f}",
    ),
    Claim(
        "Another form of the claim on stability, the mixture as the final policy (mean change of at most "
        f"{causes.STABLE:g} per iteration, as there, {ON_FEW_COLUMNS})",
        "",
        "changes of mixtures",
        lambda own, greedy, printed, printed_greedy: own <= causes.STABLE,
        "mean change {:.4f} after the fifth iteration, of the newest policy there {:.4f}; as printed {:.4f} and {:.4f}",
    ),
)
ORDER = (3.0, 30.0)  # ratios that count as one order of magnitude: about half of one on either side of ten; ours
SAME_SPEED = (0.5, 2.0)  # ratios that count as the same speed; ours
TIME_CLAIMS = (
    Claim(
        f"Section 5.2: training takes an order of magnitude longer than that of baselines (the median over the data "
        f"sets of how many times as long as the slowest of {L1_SVM}, {LARS} and {CART} {DWSM} takes is from "
        f"{ORDER[0]:g} to {ORDER[1]:g}; processor times in one run)",
        "an order of magnitude",
        "learning",
        lambda ratios: ORDER[0] <= ratios.median() <= ORDER[1],
        lambda ratios: f"median {ratios.median():.3g} times; {times.ratios_text(ratios)}",
        causes.learning_cause,
    ),
    Claim(
        "Section 5.2: inference is as fast as that of baselines (the same median, of the processor times of inference, "
        f"is from {SAME_SPEED[0]:g} to {SAME_SPEED[1]:g})",
        "the same speed",
        "inference",
        lambda ratios: SAME_SPEED[0] <= ratios.median() <= SAME_SPEED[1],
        lambda ratios: f"median {ratios.median():.3g} times; {times.ratios_text(ratios)}",
        causes.inference_cause,
    ),
)


def all_claims() -> tuple[Claim, ...]:
    return (*L1_CLAIMS, *OTHER_CLAIMS, *READING_CLAIMS, *TIME_CLAIMS)


def claims(table: pd.DataFrame, settings: pd.DataFrame) -> list[AssessedClaim]:
    """Assess the claims on the cells, those that were timed among them, and on the means of their settings."""
    timed, table = time_figures(table), curves.evaluated_cells(table)
    prices = by_price(table)
    figures = {**tree_figures(table), **rcpi_forms.figures(table), **usage_figures(table, settings)}
    figures["by price"] = prices if len(prices) > 1 else None
    of_l1 = assess(L1_CLAIMS, {"table": table, **l1_figures(table)})
    of_others = assess(OTHER_CLAIMS, figures, list_all=False)
    return [*of_l1, *of_others, *assess(READING_CLAIMS, figures), *assess(TIME_CLAIMS, timed)]


def time_figures(table: pd.DataFrame) -> dict[str, Any]:
    """How many times as long DWSM takes as the slowest baseline, by data set; no figures where nothing was timed."""
    others = [method.title for method in shared.BASELINES]
    ratios = {what: times.ratios(table, what, DWSM, others) for what in ("learning", "inference")}
    return {what: own for what, own in ratios.items() if len(own)} | {"timed": table}


def l1_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Where DWSM is above the L1 methods, by area and by accuracy, and their accuracies on breast cancer."""
    values = curves.areas(table)
    half = values[values["share"] == 0.5]
    by_share = {share: values[values["share"] == share] for share in sorted(table["share"].unique())}
    by_height = (curves.heights(table, level) for level in (0.5, 0.7, 0.9))
    lead, *further = (shared.clear_lead(by, shared.BINARY_TITLES) for by in (values, *by_height))
    means = curves.by_dataset(curves.heights(table[table["dataset"] == shared.CANCER_ID], 0.7))
    cancer = {m: float(means[m].iloc[0]) for m in means}
    forms = {
        **causes.READINGS,
        "lead over L1-SVM": (DWSM, (L1_SVM,)),
        "lead over LARS": (DWSM, (LARS,)),
    }
    leads = {
        name: tuple(shared.clear_lead(rows, shared.BINARY_TITLES, pair, method) for rows in (values, half))
        for name, (method, pair) in forms.items()
        if {method, *pair} <= {*values["method"]}
    }
    by_form = {
        pair: (
            shared.clear_lead(values, shared.BINARY_TITLES, pair),
            {share: shared.clear_lead(rows, shared.BINARY_TITLES, pair) for share, rows in by_share.items()},
        )
        for pair in l1_forms.PAIRS
    }
    further += [
        leads[f"lead over {method}"][0] if f"lead over {method}" in leads else lead for method in (L1_SVM, LARS)
    ]
    return leads | {
        "leads by form": by_form,
        "any leads by form": {pair: shared.lead_over(values, shared.BINARY_TITLES, pair) for pair in l1_forms.PAIRS},
        "L1 on cancer by share": {
            m: own for m in l1_forms.INTERCEPTS if (own := curves.accuracy_by_share(table, shared.CANCER_ID, 0.7, m))
        },
        "lead over L1": (lead, *((other > 0).sum() for other in further)),
        "L1 on cancer": {m: cancer[m] for m in (L1_SVM, LARS) if m in cancer} or None,
    }


def tree_figures(table: pd.DataFrame) -> dict[str, Any]:
    """Accuracies where CART has the largest lead at sparsity .9, and where DWSM is above CART by area."""
    heights = curves.heights(table, 0.9)
    means = curves.by_dataset(heights).reindex(columns=[*shared.BINARY_METHODS])
    lead = shared.clear_lead(heights, shared.BINARY_TITLES, (DWSM, L1_SVM, LARS), CART)
    if lead.isna().all():
        return {}
    best = str(lead.idxmax())
    return {
        "lead of CART": (best, lead[best], means.loc[best]),
        "CART by share": curves.accuracy_by_share(table, best, 0.9, CART),
        "lead over CART": shared.clear_lead(curves.areas(table), shared.BINARY_TITLES, (CART,)),
    }


def usage_figures(table: pd.DataFrame, settings: pd.DataFrame) -> dict[str, Any]:
    """Rows and errors by number of features on breast cancer, and changes of the training loss."""
    figures: dict[str, Any] = {"usage": usage_by_setting(table)}
    cells = cells_at_half(table, settings, DWSM)
    if len(cells):
        rows, wrong = curves.summed(cells, "histogram"), curves.summed(cells, "wrong")
        figures["at most three"] = (rows[:4].sum() / rows.sum(), cells["sparsity"].mean())
        figures["errors after all"] = (wrong[-1] / wrong.sum() if wrong.sum() else np.nan, wrong.sum())
        figures["one to three or all"] = one_to_three_or_all(cells)
        figures["numbers between"] = (rows[4:-1].sum() / rows.sum(), cells["sparsity"].mean())
        others = cells_at_half(table, settings, LARS)
        figures |= beside_lars(cells, others) if len(others) else {}
        printed = rcpi_forms.printed_cells(table)
        if len(others) and len(printed):
            figures["as printed"] = {
                **beside_lars(printed, others),
                "one to three or all": one_to_three_or_all(printed),
            }
            rows = curves.summed(printed, "histogram")
            figures["numbers between as printed"] = rows[4:-1].sum() / rows.sum()
            figures["by split"] = {
                "our runs": beside_lars_by_split(cells, others),
                "RCPI as printed": beside_lars_by_split(printed, others),
            }
        if len(others):
            figures["used for all by split"] = [own["used for all"] for own in beside_lars_by_split(cells, others)]
        forms = {m: cells_at_half(table, settings, m) for m in l1_forms.LARS_FORMS}
        figures["beside other LARS"] = {m: beside_lars(cells, own) for m, own in forms.items() if len(own)}
    steps = loss_changes(table, DWSM)
    if len(steps):
        figures["changes of the loss"] = (steps[:, 4:].mean(), steps[:, :4].mean())
        figures["late changes"] = late_changes(table)
        figures["late changes of the best"] = late_changes(table, best=True)
        pair = (rcpi_forms.POLICY_STATES, DWSM)
        own = curves.in_shared_splits(table[table["method"].isin(pair)], pair)
        own = own[own["dataset"].isin(own.loc[own["method"] == rcpi_forms.POLICY_STATES, "dataset"])]
        if len(own):
            figures["changes with states of the policy"] = tuple(loss_changes(own, m)[:, 4:].mean() for m in pair)
    return figures


def beside_lars(cells: pd.DataFrame, others: pd.DataFrame) -> dict[str, Any]:
    """Which features DWSM and LARS use on breast cancer, and how many, at the settings nearest to sparsity one half."""
    used, of_lars = (curves.summed(own, "usage") / len(own) for own in (cells, others))
    counts, of_lars_counts = (curves.summed(own, "histogram") for own in (cells, others))
    pair = [0, 8]  # features 1 and 9
    return {
        "feature 2": (used[1], of_lars[1]),
        "features 1 and 9": ((*used[pair],), (*of_lars[pair],)),
        "used for all": tuple([int(j) + 1 for j in np.flatnonzero(own >= ALL_ROWS)] for own in (used, of_lars)),
        "exactly two": (counts[2] / counts.sum(), of_lars_counts[5] / of_lars_counts.sum()),
    }


def beside_lars_by_split(cells: pd.DataFrame, others: pd.DataFrame) -> list[dict[str, Any]]:
    """``beside_lars`` of each split that both have, with the share of rows that use 1, 2, 3 or all features."""
    both = sorted({*cells["split"]} & {*others["split"]})
    pairs = ((cells[cells["split"] == split], others[others["split"] == split]) for split in both)
    return [{**beside_lars(*pair), "one to three or all": one_to_three_or_all(pair[0])} for pair in pairs]


def one_to_three_or_all(cells: pd.DataFrame) -> float:
    """The share of rows that use 1, 2, 3 or all features."""
    rows = curves.summed(cells, "histogram")
    return (rows[1:4].sum() + rows[-1]) / rows.sum()


def loss_changes(table: pd.DataFrame, method: str, *, best: bool = False) -> np.ndarray:
    """By how much the training loss of each fit changes in each of nine iterations, (n_fits, 9).

    ``best``: not the loss of each iteration's policy, but that of the best one so far.
    """
    losses = [h for h in table.loc[table["method"] == method, "history"] if isinstance(h, list) and len(h) >= 10]
    first = np.array([h[:10] for h in losses]).reshape(-1, 10)
    return np.abs(np.diff(np.minimum.accumulate(first, axis=1) if best else first, axis=1))


def late_changes(table: pd.DataFrame, *, best: bool = False) -> dict[str, np.ndarray]:
    """The mean change of each fit after the fifth iteration, by reading of RCPI."""
    return {
        m: loss_changes(table, m, best=best)[:, 4:].mean(axis=1)
        for m in (DWSM, shared.AS_PRINTED, rcpi_forms.POLICY_STATES)
    }


def usage_by_setting(table: pd.DataFrame) -> pd.DataFrame:
    """Sparsity, share of rows with at most three features, and share of errors after all, of RCPI's settings."""
    readings = (DWSM, shared.AS_PRINTED)
    rows = curves.in_shared_splits(
        table[(table["dataset"] == shared.CANCER_ID) & table["method"].isin(readings)], readings
    )
    figures = []
    for (method, *_), cells in rows.groupby(["method", "share", "setting"]):
        used, wrong = curves.summed(cells, "histogram"), curves.summed(cells, "wrong")
        if used.sum() and wrong.sum():
            shares = used[:4].sum() / used.sum(), wrong[-1] / wrong.sum()
            figures.append((method, cells["sparsity"].mean(), *shares))
    return pd.DataFrame(figures, columns=["method", "sparsity", "at most three", "errors after all"])


def cells_at_half(table: pd.DataFrame, settings: pd.DataFrame, method: str) -> pd.DataFrame:
    """The breast cancer cells of a method at that setting, of those that use features, nearest to sparsity one half."""
    cells, means = (curves.rows_of(rows, shared.CANCER_ID, method) for rows in (table, settings))
    distances = (means.loc[means["sparsity"] < 1, "sparsity"] - 0.5).abs()
    if distances.empty:
        return cells.iloc[:0]
    nearest = means.loc[distances.idxmin()]
    return cells[(cells["share"] == nearest["share"]) & (cells["setting"] == nearest["setting"])]


def by_price(table: pd.DataFrame) -> pd.DataFrame:
    """DWSM's mean sparsity at each price over all cells, and the share that answers the largest class at once."""
    rows = with_lam(table[table["method"] == DWSM])
    at_once = (rows["sparsity"] >= 1) & np.isclose(*(rows[name].astype(float) for name in ("accuracy", "chance")))
    by_lam = rows.assign(nothing=at_once).groupby("lam")
    return by_lam[["sparsity", "nothing"]].mean().assign(error=by_lam["sparsity"].sem())


def rises(means: pd.DataFrame) -> bool:
    """Whether the mean sparsity at the highest price is above that at the lowest by more than two standard errors."""
    first, last = means.iloc[0], means.iloc[-1]
    return bool(last["sparsity"] - first["sparsity"] > 2 * np.hypot(first["error"], last["error"]))


def usage_pictures(table: pd.DataFrame, settings: pd.DataFrame) -> list[Picture]:
    """Which features are used on breast cancer, and how many (Fig. 4)."""
    cells = {m: own for m in (DWSM, LARS) if len(own := cells_at_half(table, settings, m))}
    if not cells:
        return []
    titles, usages = {m: m for m in cells}, {m: curves.summed(c, "usage") / len(c) for m, c in cells.items()}
    names = [f"feature {j + 1}" for j in range(max(map(len, usages.values())))]
    counts = {m: curves.summed(c, "histogram") for m, c in cells.items()}
    sparsities = ", ".join(f"{m} {c['sparsity'].mean():.2f}" for m, c in cells.items())
    caption = f"Breast cancer with id (feature 1); the setting of each method nearest to sparsity .5: {sparsities}."
    which, how_many = "Which features are used (Fig. 4, left)", "How many features are used (Fig. 4, right)"
    return [
        picture_of("usage", which, caption, figures.draw, figures.used_features(usages, names, titles)),
        picture_of("histogram", how_many, caption, figures.draw, figures.used_counts(counts, titles)),
    ]


def price_picture(table: pd.DataFrame) -> list[Picture]:
    """Lambda against sparsity, a point for each fit (Fig. 5)."""
    rows = with_lam(table[table["method"] == DWSM])
    if rows.empty:
        return []
    places = {lam: place for place, lam in enumerate(sorted(rows["lam"].unique()))}
    means = rows.groupby("lam")["sparsity"].mean()

    def draw(figure: Figure) -> None:
        ax = figure.add_subplot()
        ax.scatter(rows["lam"].map(places), rows["sparsity"], s=14, alpha=0.2, color=figures.COLOURS[0], linewidths=0)
        ax.plot(list(places.values()), means.to_numpy(), color=figures.COLOURS[1], marker="o", label="mean")
        ax.set_xticks(list(places.values()), [f"{lam:g}" for lam in places])
        ax.set(xlabel="lambda", ylabel="sparsity")
        ax.legend(loc="lower right")

    caption = "Each point is one fit: a data set, a share of training data and a split; the line has their means."
    return [draw_picture("lambda", "Lambda against sparsity (Fig. 5)", caption, draw)]


def conclude(cells: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    settings = curves.setting_means(table)
    assessed, table = claims(table, settings), curves.evaluated_cells(table)
    pictures = [*shared.curve_pictures(settings, table), *usage_pictures(table, settings), *price_picture(table)]
    return Conclusion(
        protocol(full),
        assessed,
        [
            *shared.curve_tables(table, settings, ALL_METHODS, shared.BINARY_TITLES),
            *(l1_forms.table(table), rcpi_forms.readings_table(table)),
        ],
        [process_picture(), *pictures],
        (rcpi_forms.SHARE_NOTE,),
        ("l1_forms", "rcpi_forms"),
    )


STUDY = Study(
    "dwsm-binary",
    "DWSM: sparse binary classification (section 6.1)",
    shared.DWSM_REFERENCE,
    (11.0, 190.0),
    tuple(dict.fromkeys(s.name for s in NINE_SETS)),
    plan,
    conclude,
)
