"""Claims of Taylor et al. (2016) on LUFe, assessed on the cells of the study."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd
from scipy import stats

from fsgym_studies.common.claims import NOT_KNOWN, AssessedClaim, CauseText, Claim, assess
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.lufe import tables
from fsgym_studies.lufe.cell import CODINGS, FIXED_BOUND, NO_INTERCEPT, lufe_at_share

LITTLE_DIFFERENCE = 0.5  # points of accuracy that count as the paper's "little difference"; our choice


def data_text(selector: str, figures: Mapping[str, Any]) -> str:
    """What is known of a selection beside all features on such data sets as the paper's and on ours."""
    ours = tables.percent(figures["nested"], selector, "ALL")
    return (
        f"{NOT_KNOWN}: TechTC-300 is not available (ALL has {tables.PRINTED_ALL} % there, {ours} % on our corpora). Of "
        "TechTC-100, which was gathered in the same way, Gabrilovich and Markovitch (2004) report that all features "
        "together lower the accuracy of an SVM substantially, where on most other corpora it is highest without a "
        "selection; ours are of the latter kind, which speaks for the data"
    )


def coding_moves_text(selector: str, first: str, second: str, figures: Mapping[str, Any]) -> str:
    """By how much each coding of the documents changes a difference at K = 300 from that with our own."""
    gains = {
        coding: tables.accuracy_by_dataset(own, selector, first, 300)
        - tables.accuracy_by_dataset(own, selector, second, 300)
        for coding, own in figures["codings"].items()
    }
    own = gains.pop(CODINGS[0])
    changes = {coding: paired_difference(other, own, scale=100) for coding, other in gains.items()}
    listed = ", ".join(
        f"{change.with_error(2)} with {coding}" for coding, change in changes.items() if change.better is not None
    )
    return f"It exceeds that with {CODINGS[0]} by {listed}. " if listed else ""


def coding_cause(
    selector: str, first: str, second: str, figures: Mapping[str, Any], at: str = "at K = 300", more: str = ""
) -> str:
    """Cause of a claim on two classifiers whose difference hangs on the coding of the documents, or another reading.

    The difference is that at K = 300; ``at`` says so in words, and ``more`` ends the text.
    """
    codings = figures["codings"]
    pairs = {c: tables.compare_classifiers(own, selector, first, second, 300) for c, own in codings.items()}
    known = {c: pair for c, pair in pairs.items() if pair.better is not None}
    listed = ", ".join(f"{pair.with_error(2)} with {c}" for c, pair in known.items())
    at_none = len(known) > 1 and not any(pair.better for pair in known.values())
    return (
        f"{data_text(selector, figures)}. The paper does not say how words become numbers; {at} the difference is "
        f"{listed} (raw counts are not scaled to "
        f"norm 1){', so that none of these codings gives a gain of more than two standard errors' if at_none else ''}. "
        f"{coding_moves_text(selector, first, second, figures)}{readings_text(selector, first, second, figures)}"
        "The data and the coding are not separated: the paper left out words of fewer than five characters, and three "
        f"of our corpora come without their words{more}"
    )


def readings_text(selector: str, first: str, second: str, figures: Mapping[str, Any]) -> str:
    """The difference at K = 300 with each of the other readings, beside that of the study on the same samples."""
    parts: dict[tuple, list[str]] = {}
    for (name, corpora), accuracies in figures["readings"].items():
        pair = tables.compare_classifiers(accuracies, selector, first, second, 300)
        if pair.better is not None:
            where = f"on {pair.count} samples of {', '.join(accuracies['corpus'].unique())}"
            parts.setdefault((where, corpora), []).append(f"{name} {pair.with_error(2)}")
    if not parts:
        return ""
    listed = "; ".join(f"{where} {', '.join(own)}" for (where, _), own in parts.items())
    return f"The difference on the first fold with other readings of the protocol: {listed}. "


def printed_equation_cause(selector: str, other: str, figures: Mapping[str, Any]) -> str:
    """Cause of a claim on eq. 3 as printed, beside LUFe with an intercept in its model of the slacks."""
    own = figures["nested"]
    with_intercept = tables.compare_classifiers(own, selector, "LUFe", other)
    gain = tables.compare_classifiers(own, selector, "LUFe", NO_INTERCEPT)
    text = (
        "eq. 3 as printed models the slacks without an intercept, and the paper says that it coincides with SVM+, "
        f"which has one; with it the difference is {with_intercept.with_error(2)} ({with_intercept.word}), and LUFe "
        f"with it less LUFe without is {gain.with_error(2)} ({gain.word})"
    )
    if with_intercept.better and gain.better:
        return f"paper: {text}"
    if other == "ALL":
        fails = "" if with_intercept.better else "; the claim fails with it, too"
        coding = coding_moves_text(selector, "LUFe", other, figures)
        return (
            f"{data_text(selector, figures)}. The paper does not say how words become numbers, either; with an "
            f"intercept the difference moves with the coding. {coding}The data and the coding are not separated. "
            f"Besides, {text}{fails}"
        )
    corpora = tables.READINGS[tables.COUNTS_AS_CODED].corpora
    as_coded, plain = (
        figures["readings"].get((name, corpora)) for name in (tables.COUNTS_AS_CODED, tables.OWN_READING)
    )
    pairs = (
        []
        if as_coded is None
        else [tables.compare_classifiers(as_coded, selector, name, other, 300) for name in ("LUFe", NO_INTERCEPT)]
    )
    if pairs and all(pair.better is not None for pair in pairs):
        of_lufe, of_printed = pairs
        coded = (
            f"in the coding of public code that appears to be the authors' ({tables.COUNTS_AS_CODED}; "
            f"{of_lufe.count} samples of news20, K = 300, the first fold) LUFe is {of_lufe.with_error(2)} "
            f"({of_lufe.word}) and eq. 3 {of_printed.with_error(2)} ({of_printed.word}), in ours on the same samples "
            f"{tables.compare_classifiers(plain, selector, NO_INTERCEPT, other, 300).with_error(2)}"
        )
        if of_printed.better:
            return f"protocol: how words become numbers is not printed, and matters; {coded}. Besides, {text}"
        text += f"; {coded}"
    what = "the intercept, the data" if with_intercept.better else "the data"
    fails = "" if with_intercept.better else "the claim fails with it, too; "
    return f"{NOT_KNOWN}: {text}; {fails}whether {what} or our implementation decides is not separated"


def control_cause(selector: str, control: str, figures: Mapping[str, Any]) -> str:
    """Cause of a claim on a control that gains about as much as LUFe."""
    own = figures["nested"]
    of_lufe, of_control = (tables.compare_classifiers(own, selector, name, "selection") for name in ("LUFe", control))
    gains = (
        f"on our corpora LUFe is {of_lufe.with_error(2)} over {selector}, and the {control} control "
        f"{of_control.with_error(2)}"
    )
    differs = tables.compare_classifiers(own, selector, "LUFe", control)
    gains += (
        ": too close to be distinguished"
        if differs.word == "similar"
        else f"; their difference is {differs.with_error(2)} ({differs.word})"
    )
    if (selector, control) == ("RFE", "random"):
        return f"{NOT_KNOWN}: {gains}; whether the data or our implementation decides is not separated"
    return f"the paper has no such control, so that there is nothing to reproduce; in this check of ours, {gains}"


def equation_2_cause(selector: str, figures: Mapping[str, Any]) -> str:
    """Cause of the check on eq. 2, where it is not below the selection."""
    pair = tables.compare_classifiers(figures["nested"], selector, FIXED_BOUND, "selection")
    return f"the paper has no result of eq. 2, so that there is nothing to reproduce; on our corpora it is {pair.word}"


def outer_cause(selector: str, figures: Mapping[str, Any]) -> str:
    """Cause of a claim where features are selected before the penalties are chosen, compared with the other order."""
    gains = {w: tables.compare_classifiers(figures[w], selector, "LUFe", "selection") for w in ("outer", "nested")}
    printed = sum(tables.PRINTED_TABLE1[selector, K, "LUFe"].mean_selection for K in tables.SELECTION_SIZES)
    cells = tables.plain_cells(figures["table"])
    tied = cells[cells["selector"] == selector].groupby("inner")["tied"].mean()
    outer, nested = gains["outer"], gains["nested"]
    text = (
        f"the gain of LUFe over {selector} is {outer.with_error(2)} on our corpora, {printed / 2:+.2f} in the paper "
        f"(means over both K). Features selected in each inner fold give {nested.with_error(2)} ({nested.word}), so "
        f"that the order changes the mean by {abs(outer.mean - nested.mean):.2f}; of the 49 pairs of penalties "
        f"{tied['outer']:.1f} are equally the best, in the other case {tied['nested']:.1f}"
    )
    if nested.better and outer.mean > outer.error:
        return f"{outer.count} samples are too few to show a gain of this size by more than two standard errors; {text}"
    return f"TechTC-300 is not available; {text}. Whether the data or our implementation decides is not separated"


def small_gain_cause(figures: Mapping[str, Any]) -> str:
    """Cause of a claim on a part of a gain that is small as a whole."""
    gain, part = tables.compare_classifiers(figures["nested"], "RFE", "LUFe", "selection", 300), figures["over 10%"]
    hardly = ", so that this run can hardly show it" if 2 * part.error >= gain.mean > 0 else ""
    by_share = tables.differences_by_share(figures["nested"])
    known = [(t, pair) for t, pair in zip(by_share["t"], by_share["RFE"]) if pair.better is not None]
    listed = ", ".join(f"{pair.mean:+.2f} at {t:.0%}" for t, pair in known)
    return (
        f"{NOT_KNOWN}: the whole gain of LUFe-RFE over RFE at K = 300 is {gain.with_error(2)} on "
        f"our corpora ({gain.word}), 1.97 in the paper; a part of it would have to exceed {2 * part.error:.2f}, two "
        f"standard errors of this comparison over {part.count} data sets{hardly}; the paper has {tables.PRINTED_SETS} "
        f"data sets and 100 repeats. By share of the unselected features the gain over RFE is {listed}. Whether the "
        "data, the size of this run or our implementation decides is not separated; our copy of the paper has no "
        "figure of the growth"
    )


def size_cause(figures: Mapping[str, Any]) -> str:
    """Cause of the claim on the random control, by size of the selection."""
    own = figures["nested"]
    pairs = {K: tables.compare_classifiers(own, "RFE", "random", "selection", K) for K in tables.SELECTION_SIZES}
    lufe = {K: tables.compare_classifiers(own, "RFE", "LUFe", "random", K) for K in tables.SELECTION_SIZES}
    listed, of_lufe = (
        ", ".join(f"{pair.with_error(2)} at K = {K} ({pair.word})" for K, pair in differences.items())
        for differences in (pairs, lufe)
    )
    by_set = tables.accuracy_by_dataset(own, "RFE", "random") - tables.accuracy_by_dataset(own, "RFE", "selection")
    most = str(by_set.abs().idxmax())
    rest = 100 * by_set.drop(most)
    return (
        f"protocol: the paper does not say at which K; the difference is {listed}. Over both K it is "
        f"{100 * by_set[most]:+.2f} on {most}, where it is largest in size, and {rest.mean():+.2f} on the others. "
        f"LUFe-RFE less the same control is {of_lufe}"
    )


def better_claim(
    text: str,
    selector: str,
    first: str,
    second: str,
    paper: str,
    cause: CauseText | None = None,
    inner: str = "nested",
    *,
    word: str = "better",
    sentence: str = "",
) -> Claim:
    """Claim that one classifier is better than another over both sizes; the result also lists each size.

    ``word`` may be "worse". Without a cause of its own, the claim has ``coding_cause``.
    """

    def by_size(figures: Mapping[str, Any]) -> tuple[Difference, str] | None:
        """The difference over both sizes of the selection, and those at each size as text."""
        accuracies = figures[inner]
        both = tables.compare_classifiers(accuracies, selector, first, second)
        sizes = [K for K in tables.SELECTION_SIZES if (accuracies["K"] == K).any()]
        texts = [f"K = {K}: {tables.compare_classifiers(accuracies, selector, first, second, K).text}" for K in sizes]
        return None if both.better is None else (both, "; ".join(texts))

    cause = cause or partial(coding_cause, selector, first, second)
    result = "{0.text}: {0.word} ({1})"
    return Claim(text, paper, by_size, lambda both, _: both.word == word, result, cause, sentence)


def selector_claims(s: str) -> list[Claim]:
    """The claims on LUFe with one method of selection; what the paper does not have is a check of ours.

    A statement on LUFe is one of two claims: LUFe with an intercept in its model of the slacks, and eq. 3 as printed.
    """

    def printed(name: str, other: str) -> str:
        rows = {K: tables.PRINTED_TABLE1[s, K, name] for K in tables.SELECTION_SIZES}
        return "; ".join(f"K = {K}: {tables.printed_over(row, other)}" for K, row in rows.items())

    outer = f"LUFe-{s} is better than {s} if features are selected before the penalties are chosen (outer)"
    second = f"LUFe-{s} by eq. 2, with slacks that are computed before training, is worse than {s} alone"
    random = "37 of 49" if s == "RFE" else ""

    def both_forms(other: str, name: str, paper: str, cause: CauseText | None = None) -> list[Claim]:
        """That LUFe is better than another classifier, and if the paper says it, that eq. 3 as printed is."""
        sentence = f"LUFe-{s} is better than {name}"
        own = better_claim(sentence, s, "LUFe", other, paper, cause, sentence=sentence if paper else "")
        if not paper:
            return [own]
        text, as_printed = (
            f"LUFe-{s} by eq. 3 as printed is better than {name}",
            partial(printed_equation_cause, s, other),
        )
        return [own, better_claim(text, s, NO_INTERCEPT, other, paper, as_printed, sentence=sentence)]

    return [
        *both_forms("selection", f"{s} alone", printed("LUFe", "selection")),
        *both_forms("random", "the random control", random, partial(control_cause, s, "random")),
        *both_forms("identity", "the identity control", "", partial(control_cause, s, "identity")),
        *both_forms("ALL", "ALL", printed("LUFe", "all")),
        better_claim(f"{s} is better than ALL", s, "selection", "ALL", printed("selection", "all")),
        better_claim(outer, s, "LUFe", "selection", "", partial(outer_cause, s), "outer"),
        better_claim(second, s, FIXED_BOUND, "selection", "", partial(equation_2_cause, s), word="worse"),
    ]


MOST_WINS = (0.6, 0.8)  # shares of the unselected features between which LUFe-RFE beats RFE most often
CLAIMS = (
    *(claim for s in tables.COMPARED_SELECTORS for claim in selector_claims(s)),
    better_claim(
        "The random control is better than RFE", "RFE", "random", "selection", "small improvements", size_cause
    ),
    Claim(
        "LUFe-RFE improves as its model of the slack variables uses more of the unselected features (K = 300; "
        "with all of them better than with the best 10 %)",
        "Fig. 3",
        "over 10%",
        lambda pair: pair.better,
        "{0.text}: {0.word}",
        small_gain_cause,
    ),
    Claim(
        "The improvement levels out at 70 % of the unselected features (with all of them within "
        f"{LITTLE_DIFFERENCE:g} points of the accuracy with 70 %)",
        "little difference",
        "over 70%",
        lambda pair: None if pair.better is None else abs(pair.mean) <= LITTLE_DIFFERENCE,
    ),
    Claim(
        "The number of data sets on which LUFe-RFE is better than RFE peaks where 60 to 80 % of the unselected "
        "features "
        "are used (K = 300; the largest number is at one of these shares, and by a sign test at level .05 larger than "
        "with all of them)",
        "46 of 49, with all 44",
        "wins by share",
        lambda wins, p: MOST_WINS[0] <= share_with_most(wins) <= MOST_WINS[1] and p < 0.05,
        lambda wins, p: f"{', '.join(f'{n} at {share:.0%}' for share, n in wins.items())}; p = {p:.2f}",
        f"{NOT_KNOWN}: our corpora are not those of the paper; its own two numbers differ by two data sets, which may "
        "be noise by the same test, too (p is at least .25)",
    ),
    Claim(
        "LUFe-RFE with a given share of the unselected features is better than RFE-augmented, a plain SVM on the "
        "selected features plus that share of the unselected ones, at every share (K = 300)",
        "41 of 49 at every share",
        "over RFE-augmented",
        lambda better, count, *_: better == count,
        "better at {} of {} shares, differences of {:+.2f} to {:+.2f}",
        partial(
            coding_cause,
            "RFE",
            "LUFe",
            "ALL",
            at="at K = 300 and a share of 100 %, where RFE-augmented is ALL,",
            more=". At smaller shares other codings were not run",
        ),
    ),
)


def wins_by_share(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Whether LUFe-RFE-300 is better than RFE-300, a row per data set and a column per share of unselected features."""
    own = tables.accuracy_by_dataset(accuracies, "RFE", "selection", 300)
    shares = (*tables.UNSELECTED_SHARES, 1.0)
    gains = {t: tables.accuracy_by_dataset(accuracies, "RFE", lufe_at_share(t), 300) - own for t in shares}
    gain = pd.DataFrame(gains).dropna()
    return gain > tables.TIE_MARGIN


def share_with_most(wins: pd.Series) -> float:
    """The share with the largest number of wins; of several, one at which the paper has it, else the first."""
    most = wins.index[wins == wins.max()]
    printed = most[(most >= MOST_WINS[0]) & (most <= MOST_WINS[1])]
    return float((*printed, *most)[0])


def more_wins_than_with_all(wins: pd.DataFrame) -> float:
    """The one-sided p of a sign test that the share with the most wins has more of them than all features."""
    best, with_all = wins[share_with_most(wins.sum())], wins[1.0]
    only, missed = int((best & ~with_all).sum()), int((with_all & ~best).sum())
    return float(stats.binomtest(only, only + missed, alternative="greater").pvalue) if only + missed else 1.0


def claims(table: pd.DataFrame) -> list[AssessedClaim]:
    nested = tables.mean_accuracies(table)
    figures: dict[str, Any] = {"table": table, "nested": nested, "outer": tables.mean_accuracies(table, "outer")}
    figures["codings"] = {c: tables.mean_accuracies(table, coding=c) for c in CODINGS}
    figures["readings"] = tables.reading_accuracies(table)
    for t in (tables.UNSELECTED_SHARES[0], 0.7):
        figures[f"over {t:.0%}"] = tables.compare_classifiers(nested, "RFE", "LUFe", lufe_at_share(t), 300)
    against = [p for p in tables.differences_by_share(nested)["RFE-augmented"] if p.better is not None]
    wins = wins_by_share(nested)
    if len(wins):
        figures["wins by share"] = (wins.sum(), more_wins_than_with_all(wins))
    if against:
        means = [p.mean for p in against]
        figures["over RFE-augmented"] = (sum(p.better for p in against), len(against), min(means), max(means))
    return assess(CLAIMS, figures)


def notes(accuracies: pd.DataFrame) -> list[str]:
    """The results in a sentence for each selector, and what limits them."""
    sentences = [
        summary_note(accuracies, s)
        for s in tables.COMPARED_SELECTORS
        if len(tables.accuracy_by_dataset(accuracies, s, "LUFe"))
    ]
    sentences.append(
        "The samples from one corpus overlap and are tested on the same documents. Standard errors therefore show how "
        "much the results would vary over further samples from these corpora, but not over other corpora. The report "
        "also lists each corpus separately."
    )
    disagree = []
    for name, classifier in (("LUFe-RFE", "LUFe"), ("RFE", "selection")):
        (mean, wins), row = tables.PRINTED_IN_TEXT[classifier], tables.PRINTED_TABLE1["RFE", 300, classifier]
        table_1 = f"{row.mean_all:+g} and {row.wins_all:.0f}"
        disagree.append(f"{name} over ALL is {mean:+g} points with {wins} wins in the text, {table_1} in the table")
    sentences.append(
        f"The text of section 4.1 and Table 1 of the paper disagree at K = 300: {'; '.join(disagree)}. The "
        "accuracies of the table have the differences of the table, so that we compare with these."
    )
    techtc = [c for c in accuracies["corpus"].unique() if c not in tables.CORPORA]
    sentences.append(
        f"Sets of TechTC-300: {', '.join(techtc)}; each is used whole and tested on the fold that is left out."
        if techtc
        else f"TechTC-300 was not run, because the data folder (FSGYM_DATA) has no file {tables.TECHTC_PREFIX}NAME.npz."
    )
    return sentences


def silent_note(table: pd.DataFrame) -> str:
    """How many classifiers of how many cells say nothing of the documents, and how many fits that chose penalties."""
    cells = table[table["error"].isna()]
    silent = cells["silent"].explode().dropna().value_counts()
    names = "".join(f", {name} in {n}" for name, n in silent.items())
    return (
        "A classifier whose weights are 0 at the optimum, or whose constraints contradict each other, says nothing of "
        "the documents; it answers the largest class, and its penalties are chosen only if all are such. At the "
        f"chosen penalties, this is so in {int((cells['silent'].str.len() > 0).sum())} of {len(cells)} cells"
        f"{names}; in the choice of penalties, in {int(cells['silent_fits'].sum()):,} of "
        f"{int(cells['inner_fits'].sum()):,} fits."
    )


def summary_note(accuracies: pd.DataFrame, s: str) -> str:
    """Whether LUFe improves on what it is compared with, and whether the unselected features are the reason."""
    selection, identity, all_features = (
        tables.compare_classifiers(accuracies, s, "LUFe", name) for name in ("selection", "identity", "ALL")
    )
    pairs = ((selection, s), (identity, "the identity control"), (all_features, "ALL"))
    words = [f"{p.phrase} {name} ({p.mean:+.2f})" for p, name in pairs]
    reason = "There is no improvement to explain"
    if identity.word == "better":
        reason = "The unselected features do help"
    elif selection.word == "better":
        without_features = tables.compare_classifiers(accuracies, s, "identity", "selection").mean
        reason = (
            "The identity control, whose model of the slack variables uses no feature, improves accuracy by "
            f"{without_features:+.2f} points; the further improvement by unselected features cannot be distinguished "
            "from 0"
        )
    return f"LUFe-{s} is {words[0]}, {words[1]} and {words[2]}. {reason}."
