"""From the cells of a benchmark to its conclusion: tables of scores, published figures, and where a method stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

import pandas as pd

from fsgym.comparison.noise import MIN_PAIRS, paired_t, rank_table
from fsgym.comparison.report import provenance
from fsgym.methods import find_method
from fsgym.text.messages import listing
from fsgym_studies.common.render import DASH, format_number
from fsgym_studies.common.study import Conclusion, Table, printed_numbers
from fsgym_studies.suites import scores as scoring
from fsgym_studies.suites.methods import SuiteMethods
from fsgym_studies.suites.oracle import ORACLE_IN_WORDS, ORACLE_TEST_ROWS, ORACLE_TITLE
from fsgym_studies.suites.suite import Suite, TableOf, counted


def score_table(
    suite: Suite,
    declared: TableOf,
    scores: pd.DataFrame,
    reasons: dict[tuple[str, str], str],
    unranked: Sequence[str],
    aside: Collection[str],
) -> Table | None:
    """A score of all methods, best first, then those without a rank and published figures.

    None if no method has it but those ``aside``, which are no competitors.
    """
    shown, means = scoring.SCORES[declared.score], scoring.means_by_place(scores, declared.score)
    if all(method in aside for method in means.index):
        return None
    ranks = scoring.mean_ranks(means, shown.more_is_better, unranked)
    grouped = _columns(means, declared.columns)
    methods = [*ranks.index, *(m for m in means.index if m not in ranks.index and m not in unranked)]
    without = list(dict.fromkeys(m for m, score in reasons if score == declared.score and m not in means.index))
    order = [*methods, *without, *(m for m in unranked if m in means.index)]
    frame = _as_text(grouped.reindex(order), shown.digits)
    frame.loc[without] = "n/a"
    if len(ranks):
        frame["mean rank"] = [format_number(rank, 2) for rank in ranks.reindex(order)]
    published, sources = _published(suite, declared.score, grouped.columns)
    frame = pd.concat([frame, _as_text(published, shown.digits)]).rename_axis(index="method", columns=None)
    at = "budget" if shown.within else suite.price_in_words
    better = {True: "More is better. ", False: "Less is better. ", None: ""}[shown.more_is_better]
    columns = {"at": at, "dataset": "data set", "both": f"data set and a {at}"}[declared.columns]
    caption = f"{shown.caption} {better}A column is a {columns}."
    for reason in dict.fromkeys(reasons[m, declared.score] for m in without):
        own = [m for m in without if reasons[m, declared.score] == reason]
        caption += f" n/a for {', '.join(own)}: {reason}."
    for method in (m for m in means.index if (m, declared.score) in reasons and grouped.loc[m].isna().any()):
        caption += f" {DASH} for {method}: {reasons[method, declared.score]}."
    caption += sources
    stem = f"{declared.score}_by_{declared.columns}"
    several = sum(t.score == declared.score for t in suite.tables) > 1
    heading = f"{shown.title}, by {'data set' if declared.columns == 'dataset' else at}" if several else shown.title
    return Table(stem, heading, caption.strip(), frame.fillna(DASH).reset_index())


def _as_text(figures: pd.DataFrame, digits: int) -> pd.DataFrame:
    return figures.map(lambda value: format_number(float(value), digits))


def _columns(means: pd.DataFrame, by: str) -> pd.DataFrame:
    """The places as columns of a table; means over the places of a column, where the method has all of them."""
    labels = {
        "at": [at for _, at in means.columns],
        "dataset": [dataset for dataset, _ in means.columns],
        "both": [f"{dataset} {at}".strip() for dataset, at in means.columns],
    }[by]
    flat = means.set_axis(labels, axis=1)
    return pd.DataFrame({name: flat[[name]].mean(axis=1, skipna=False) for name in dict.fromkeys(labels)})


def _published(suite: Suite, score: str, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The published figures of a score in these columns, and where they are from and what is uncertain, in words."""
    if not suite.published:
        return pd.DataFrame(), ""
    printed = printed_numbers(suite.published, "published")
    printed = printed[printed["score"] == score].astype({"column": str})
    words = [
        f" {', '.join(own['method'].unique())} as reported: {source}; uncertain: {uncertain}."
        for (source, uncertain), own in printed.groupby(["source", "uncertain"], sort=False)
    ]
    figures = printed.pivot(index="method", columns="column", values="value")
    figures = figures.reindex(index=printed["method"].unique(), columns=columns).dropna(how="all")
    return figures.rename("{} (as reported)".format), "".join(words)


def wins_of_focus(means: pd.DataFrame, focus: str, shown: scoring.Score, unranked: Collection[str]) -> Table | None:
    """How often a method is better, equal and worse than each other one; None if there is nothing to compare."""
    if focus not in means.index:
        return None
    sign, rows = (1.0 if shown.more_is_better else -1.0), []
    for other in means.index:
        gain = (sign * (means.loc[focus] - means.loc[other])).dropna()
        if other not in (focus, *unranked) and len(gain):
            better, worse = int((gain >= scoring.SAME_SCORE).sum()), int((gain <= -scoring.SAME_SCORE).sum())
            row = {"other method": other, "better": better, "equal": len(gain) - better - worse, "worse": worse}
            rows.append(row | {"mean difference": f"{sign * gain.mean():+.4f}"})
    if not rows:
        return None
    caption = (
        f"{focus} compared with each other ranked method by {shown.title.lower()}, over data sets and columns: where "
        f"its mean over the runs is better, equal (to within {scoring.SAME_SCORE:g}) and worse; and its mean minus the "
        "other's."
    )
    return Table("wins", f"Wins and losses of {focus}", caption, pd.DataFrame(rows))


def seconds_table(table: pd.DataFrame) -> Table | None:
    """Processor seconds of the training by method and data set, mean over the splits."""
    cells = table[table["seconds"].notna()]
    if cells.empty:
        return None
    means = cells.groupby(["dataset", "method"], sort=False)["seconds"].mean().unstack("dataset", sort=False)
    caption = (
        "Processor seconds in one thread to train a method for all prices, with the choice of its settings, mean over "
        "the splits; those of the oracle, with its search on the test rows. They differ from run to run."
    )
    frame = _as_text(means, 1).rename_axis(columns=None).reset_index()
    return Table("seconds", "Training time", caption, frame)


def standing(ranks: pd.Series, focus: str, score: str, means: pd.DataFrame, unit: str, test_share: float = 0.0) -> str:
    """Where a method stands among those that have all scores, and whether the lead is more than noise, in a sentence.

    ``means``, ``unit`` and ``test_share`` are what ``paired_scores`` returns.

    >>> means = pd.DataFrame({"CART": [0.1, 0.2, 0.3], "mine": [0.2, 0.4, 0.3]})
    >>> standing(pd.Series({"CART": 1.0, "mine": 2.0}), "mine", "loss", means, "data set")
    'mine is 2nd of 2 methods by loss (mean rank 2.00); the first is CART (1.00), ahead of it by no more than noise \
(t tests over 3 data sets, 95 %).'
    >>> standing(pd.Series({"CART": 1.0, "mine": 2.0}), "CART", "loss", means, "data set")
    'CART has the best mean rank of 2 methods by loss (1.00); mine is not distinguishable from it \
(t tests over 3 data sets, 95 %).'
    """
    if focus not in ranks.index:
        return f"{focus} has no place: its scores are not complete."
    others = ranks.drop(index=focus)
    if others.empty:
        return f"{focus} is the only method that has a rank."
    title, among = scoring.SCORES[score].title.lower(), counted(len(ranks), "method")
    test = f"t tests over {counted(len(means), unit)}, 95 %"
    unknown = f"whether this is more than noise is not known, which takes {MIN_PAIRS} data sets or runs"
    losses = means[list(ranks.index)] * (-1.0 if scoring.SCORES[score].more_is_better else 1.0)
    test_of_leads = partial(paired_t, test_share=test_share)
    verdicts = rank_table(losses, ranks, focus, test_of_leads)["verdict"]
    place = int((ranks < ranks[focus] - 1e-9).sum()) + 1
    if place > 1:
        first = others.idxmin()
        by = {"lower": f"ahead of it by more than noise ({test})", "unknown": f"but {unknown}"}
        ending = {1: "st", 2: "nd", 3: "rd"}.get(place % 10 if place % 100 not in (11, 12, 13) else 0, "th")
        return (
            f"{focus} is {place}{ending} of {among} by {title} (mean rank {ranks[focus]:.2f}); the first is "
            f"{first} ({others.min():.2f}), {by.get(verdicts[first], f'ahead of it by no more than noise ({test})')}."
        )
    close = [m for m in others.index if verdicts[m] != "higher" or others[m] < ranks[focus] + 1e-9]
    if not close:
        return (
            f"{focus} is 1st of {among} by {title} (mean rank {ranks[focus]:.2f}), ahead of each other by more than "
            f"noise ({test}); the next is {others.idxmin()} ({others.min():.2f})."
        )
    best = f"{focus} has the best mean rank of {among} by {title} ({ranks[focus]:.2f})"
    if "unknown" in verdicts[others.index].tolist():
        return f"{best}; the next is {others.idxmin()} ({others.min():.2f}), but {unknown}."
    return f"{best}; {listing(close)} {'is' if len(close) == 1 else 'are'} not distinguishable from it ({test})."


def conclusion_of(
    suite: Suite, methods: SuiteMethods, table: pd.DataFrame, quick: bool, n_runs: int | None = None
) -> Conclusion:
    """Everything that the report of a benchmark says; ``n_runs`` as in ``study_of``."""
    n = table.loc[table["split"] != "", "split"].nunique()
    first_run = [find_method(name).title for name in methods.first_run if n > 1]
    labels = {title: f"{title} (first of {n} runs)" for title in first_run}
    aside = (*methods.reference_points, ORACLE_TITLE, suite.reference_title)
    unranked, table = (*labels.values(), *aside), table.assign(method=table["method"].replace(labels))
    scores, reasons, main = scoring.scores_of(table), scoring.reasons_of(table), suite.tables[0].score
    scores = scores.assign(method=scores["method"].replace({scoring.REFERENCE_TITLE: suite.reference_title}))
    shown, means = scoring.SCORES[main], scoring.means_by_place(scores, main)
    ranks = scoring.mean_ranks(means, shown.more_is_better, unranked)
    tables = [score_table(suite, declared, scores, reasons, unranked, aside) for declared in suite.tables]
    refused = {score: reason for (_, score), reason in reasons.items()}
    absent = [d.score for d, t in zip(suite.tables, tables) if t is None and d.score in refused]
    tables += [wins_of_focus(means, methods.focus, shown, unranked), seconds_table(table)]
    present = [t for t in tables if t is not None]
    first = "run" if n_runs == 1 else f"{n_runs} runs"
    cut = [] if n_runs is None else [f"Cut by --runs {n_runs} to the first {first} of each data set."]
    protocol = " ".join([suite.protocol(quick), *cut, METHODS_IN_WORDS])
    paired = scoring.paired_scores(scores, table, main)
    notes = [standing(ranks, title, main, *paired) for title in methods.own or [methods.focus]]
    notes += [
        f"{scoring.SCORES[s].title}: n/a for all methods (one of them: {refused[s]})." for s in dict.fromkeys(absent)
    ]
    notes += _notes(suite, methods, table, labels, quick)
    for title, share in scores[scores["score"] == "illegal"].groupby("method", sort=False)["value"].max().items():
        notes.insert(
            1, f"{title}: up to {share:.2%} of the test rows end with an illegal action, the costliest answer."
        )
    files = {"scores": scoring.long_table(suite.name, scores, unranked)}
    return Conclusion(protocol, [], present, notes=notes, shown=[t.stem for t in present], files=files)


def _notes(
    suite: Suite, methods: SuiteMethods, table: pd.DataFrame, labels: Mapping[str, str], quick: bool
) -> list[str]:
    """What was not run or failed, what has no rank, the suite's own remarks, and the versions."""
    failed = table[table["error"].notna()]
    notes = [f"{title} was not run: {reason}." for title, reason in methods.unavailable.items()]
    notes += methods.readings
    if methods.omitted:
        notes.append(f"Not run: {', '.join(methods.omitted)}. Name them in --methods to add them.")
    notes += [
        f"{label} is not ranked: its figures are of one run of each data set, those of the others are means over all."
        for label in labels.values()
    ]
    notes += [
        f"{counted(len(own), 'cell')} of {title} failed: {own['error'].iloc[0]}"
        for title, own in failed.groupby("method")
    ]
    if (table["method"] == scoring.REFERENCE_TITLE).any():
        notes += [f"The {suite.reference_title} {suite.reference_note}; it is not ranked."]
    notes += [ORACLE_IN_WORDS.format(rows=ORACLE_TEST_ROWS[quick])]
    versions = ", ".join(f"{name} {number}" for name, number in (provenance()["versions"] | methods.versions).items())
    return [*notes, *suite.notes, suite.development, f"Versions: {versions}."]


METHODS_IN_WORDS = (
    "Methods that know prices have their default settings and are trained at each price. Of the others every setting "
    "is trained, the one with the lowest loss on the validation rows is chosen at each price, and is fitted again. All "
    "final fits are on the training and the validation rows together. Methods are ranked in each column of the means "
    f"over the runs, rounded to a multiple of {scoring.SAME_SCORE:g}, and mean ranks are over all data sets and "
    "columns. Constant answer and All features are reference points and have no rank. The tables have no intervals; "
    "scores.csv has the figures of each run. A score is n/a where it does not fit a method."
)
