"""From the cells of a benchmark to its conclusion: tables of scores, published figures, and where a method stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fsgym.comparison.figures import method_styles, plot_error_bars, plot_ranks
from fsgym.comparison.latex import Shown, latex_table
from fsgym.comparison.noise import MIN_PAIRS, RankTest
from fsgym.comparison.ranking import folder_name
from fsgym.comparison.report import Picture, provenance
from fsgym.methods import CONSTANT, REFERENCES, find_method
from fsgym.text.messages import listing
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.render import DASH, draw_picture, format_number, picture_of, with_std
from fsgym_studies.common.study import Conclusion, Table, printed_numbers
from fsgym_studies.suites import scores as scoring
from fsgym_studies.suites.methods import SuiteMethods
from fsgym_studies.suites.oracle import ORACLE_IN_WORDS, ORACLE_TEST_ROWS, ORACLE_TITLE
from fsgym_studies.suites.suite import Suite, TableOf, counted

Said = TypeVar("Said")


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
    frame = _with_spread(
        grouped.reindex(order), scoring.spreads(scores, declared.score, declared.columns)[0], shown.digits
    )
    frame.loc[without] = "n/a"
    if len(ranks):
        frame["mean rank"] = [format_number(rank, 2) for rank in ranks.reindex(order)]
    published, sources = published_figures(suite, declared.score, grouped.columns)
    frame = pd.concat([frame, _as_text(published, shown.digits)]).rename_axis(index="method", columns=None)
    at = "budget" if shown.within else suite.price_in_words
    better = {True: "More is better. ", False: "Less is better. ", None: ""}[shown.more_is_better]
    columns = {"at": at, "dataset": "data set", "both": f"data set and a {at}"}[declared.columns]
    caption = f"{shown.caption} {better}A column is a {columns}."
    if len(ranks) and declared.columns == "at" and means.columns.get_level_values(0).nunique() >= scoring.NEMENYI_FROM:
        caption += " The mean rank is over the data sets, not over these columns."
    cut = [m for m in means.index if (m, declared.score) in reasons and grouped.loc[m].isna().any()]
    for mark, of in (("n/a", without), (DASH, cut)):
        caption = " ".join([caption, *_reasons_in_words(mark, {m: reasons[m, declared.score] for m in of})])
    caption += sources
    stem = f"{declared.score}_by_{declared.columns}"
    several = sum(t.score == declared.score for t in suite.tables) > 1
    heading = f"{shown.title}, by {'data set' if declared.columns == 'dataset' else at}" if several else shown.title
    return Table(stem, heading, caption.strip(), frame.fillna(DASH).reset_index())


def _reasons_in_words(mark: str, reasons: Mapping[str, str]) -> list[str]:
    """What a mark in a table means for which methods; ``reasons`` maps methods to reasons."""
    return [f"{mark} for {', '.join(names)}: {reason}." for reason, names in _together(reasons).items()]


def _together(said: Mapping[str, Said]) -> dict[Said, list[str]]:
    """What is said with the names of which it is said.

    >>> _together({"a": "x", "b": "y", "c": "x"})
    {'x': ['a', 'c'], 'y': ['b']}
    """
    return {own: [name for name in said if said[name] == own] for own in dict.fromkeys(said.values())}


def _with_spread(figures: pd.DataFrame, spread: pd.DataFrame, digits: int) -> pd.DataFrame:
    """The figures with their ±, as far as there is one."""
    spread = spread.reindex(index=figures.index, columns=figures.columns)
    text = {c: [with_std(*pair, digits) for pair in zip(figures[c], spread[c])] for c in figures}
    return pd.DataFrame(text, figures.index)


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


AS_REPORTED = " (as reported)"


def published_figures(suite: Suite, score: str, columns: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """The published figures of a score in these columns, and where they are from and what is uncertain, in words."""
    if not suite.published:
        return pd.DataFrame(), ""
    printed = printed_numbers(suite.published, "published")
    printed = printed.astype({"column": str})
    printed = printed[(printed["score"] == score) & printed["column"].isin([*columns])]
    words = [
        f" {', '.join(own['method'].unique())} as reported: {source}; uncertain: {uncertain}."
        for (source, uncertain), own in printed.groupby(["source", "uncertain"], sort=False)
    ]
    figures = printed.pivot(index="method", columns="column", values="value")
    figures = figures.reindex(index=printed["method"].unique(), columns=columns)
    return figures.rename(lambda title: f"{title}{AS_REPORTED}"), "".join(words)


def wins_of_focus(means: pd.DataFrame, focus: str, shown: scoring.Score, ranked: Collection[str]) -> Table | None:
    """How often a method is better, equal and worse than each other one of ``ranked``, which have all scores.

    None if there is nothing to compare.
    """
    if focus not in means.index:
        return None
    rows = []
    for other in (m for m in means.index if m in ranked and m != focus):
        difference = (means.loc[focus] - means.loc[other]).dropna()
        if len(difference):
            better, worse = better_and_worse(means, focus, other, shown)
            row = {"other method": other, "better": better, "equal": len(difference) - better - worse, "worse": worse}
            rows.append(row | {"mean difference": f"{difference.mean():+.4f}"})
    if not rows:
        return None
    caption = (
        f"{focus} compared with each other ranked method by {shown.title.lower()}, over data sets and columns: where "
        f"its mean over the runs, rounded to a multiple of {scoring.SAME_SCORE:g}, is better, equal and worse; and its "
        "mean minus the other's."
    )
    return Table("wins", f"Wins and losses of {focus}", caption, pd.DataFrame(rows))


def better_and_worse(means: pd.DataFrame, focus: str, other: str, shown: scoring.Score) -> tuple[int, int]:
    """At how many places a method is better than another one, and at how many worse, by the rule of ``mean_ranks``.

    >>> means = pd.DataFrame({"a": [0.1, 0.1002], "b": [0.2, 0.3]}, index=["x", "y"])
    >>> better_and_worse(means, "x", "y", scoring.SCORES["loss"])
    (1, 0)
    """
    gain = scoring.on_grid(means.loc[focus]) - scoring.on_grid(means.loc[other])
    gain = gain if shown.more_is_better else -gain
    return int((gain > 0).sum()), int((gain < 0).sum())


def lowest_mean(means: pd.DataFrame, ranks: pd.Series, shown: scoring.Score) -> str:
    """Whose mean is best, in a sentence, where it is not that of the first by mean rank; else ""."""
    overall, first = means.loc[list(ranks.index)].mean(axis=1), str(ranks.index[0])
    best = str(overall.idxmax() if shown.more_is_better else overall.idxmin())
    if scoring.on_grid(overall[best]) == scoring.on_grid(overall[first]):
        return ""
    (better, worse), n = better_and_worse(means, best, first, shown), means.shape[1]
    own, other = (f"{overall[name]:.{shown.digits}f}" for name in (best, first))
    return (
        f"{best} has the {'highest' if shown.more_is_better else 'lowest'} mean {_in_sentence(shown)} ({own}, {first} "
        f"{other}), and is better than {first} in {better} and worse in {worse} of {n} columns, each a price on a data "
        "set."
    )


def _in_sentence(shown: scoring.Score) -> str:
    return " ".join(word if word.isupper() else word.lower() for word in shown.title.split())


REIMPLEMENTED = ("rcpi", "rcpi_printed", "gdfs", "dime")  # by hand: of methods of others


def methods_table(methods: SuiteMethods) -> Table | None:
    """The names, papers and features of the methods by name; None if there is none."""
    rows = [
        (method.title, name, method.uses, method.reference)
        for name, method in ((name, find_method(name)) for name in methods.all_names)
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows, columns=["method", "name", "uses", "paper"]).replace("", DASH)
    caption = "The name is that for --methods."
    own = [method for method, name, *_ in rows if name in REIMPLEMENTED]
    if own:
        verb = "is a re-implementation" if len(own) == 1 else "are re-implementations"
        caption += f" {listing(own)} {verb} of this package, not the code of the authors."
    return Table("methods", "Methods", caption, frame)


def rows_table(table: pd.DataFrame) -> Table | None:
    """The numbers of rows of a run by data set; None if no cell has figures by test row."""
    cells = cells_with(table, "row_scores")
    cells = cells[cells["row_scores"].map(len) > 0].groupby("dataset", sort=False).first()
    if cells.empty:
        return None
    n_test = cells["row_scores"].map(len)
    n_train = (n_test / cells["test_share"].astype(float)).round().astype(int)
    frame = pd.DataFrame({"data set": cells.index, "training and validation": n_train, "test": n_test})
    frame = frame.map(lambda value: value if isinstance(value, str) else f"{value:,}")
    return Table("rows", "Rows of a run", "", frame)


def seconds_table(table: pd.DataFrame) -> Table | None:
    """Processor seconds of the training by method and data set, mean over the splits, where none was stopped."""
    means = scoring.mean_seconds(table, ["dataset", "method"]).unstack("dataset", sort=False).dropna(how="all")
    if means.empty:
        return None
    caption = (
        "Processor seconds in one thread to train a method for all prices, with the choice of its settings, mean over "
        "the runs. They differ from run to run."
    )
    if ORACLE_TITLE in means.index:
        caption += f" Those of the {ORACLE_TITLE} are with its search on the test rows."
    frame = _as_text(means, 1).rename_axis(columns=None).reset_index()
    return Table("seconds", "Training time", caption, frame)


# Marks of a difference whose own interval contains 0, and of one that the ranks or the correction do not find.
NOT_SIGNIFICANT, NOT_BY_RANKS, NOT_CORRECTED = "not significant", "not significant by ranks", "not significant by Holm"
ONE_DIVISION = "They are about this one division and these fits."
OF_MORE_ROWS = "Figures as reported are of more rows than those of a quick run: do not compare the two."
UNKNOWN_LEAD = f"but whether this is significant is not known, which takes {MIN_PAIRS} runs or the rows of one"


def standing(
    ranks: pd.Series,
    focus: str,
    score: str,
    paired: scoring.Paired,
    n_methods: int | None = None,
    is_first: bool = True,
) -> str:
    """Where a method stands among those that have all scores, and whether the lead is significant, in a sentence.

    The best is called 1st only where it is significantly ahead of every other.

    ``n_methods`` is the number of methods that were to be ranked, by default of those that are. ``is_first``: whether
    no sentence about the best stands before it, which names the test and the methods that it does not separate.

    >>> from fsgym.comparison.noise import paired_t
    >>> losses = pd.DataFrame({"CART": [0.1, 0.2, 0.3], "mine": [0.2, 0.4, 0.3]})
    >>> paired = scoring.Paired(losses, paired_t, "paired t tests over 3 realisations, 95 %")
    >>> standing(pd.Series({"CART": 1.0, "mine": 2.0}), "mine", "loss", paired)
    'mine has the 2nd best mean rank of 2 methods by loss (2.00); it does not differ significantly from the best, CART \
(1.00; paired t tests over 3 realisations, 95 %).'
    >>> standing(pd.Series({"CART": 1.0, "mine": 2.0}), "CART", "loss", paired)
    'CART has the best mean rank of 2 methods by loss (1.00); mine does not differ significantly from it \
(paired t tests over 3 realisations, 95 %).'
    >>> standing(pd.Series({"CART": 1.5, "mine": 1.5}), "CART", "loss", paired)
    'CART and mine have the best mean rank of 2 methods by loss (1.50); mine does not differ significantly from CART \
(paired t tests over 3 realisations, 95 %).'
    """
    others = ranks.drop(index=focus)
    if others.empty:
        return f"{focus} is the only method that has a rank."
    title, test = _in_sentence(scoring.SCORES[score]), paired.words
    among = f"{len(ranks)} of {n_methods} methods" if (n_methods or 0) > len(ranks) else counted(len(ranks), "method")
    verdicts = paired.verdicts(focus).reindex(ranks.index, fill_value="unknown")
    place = int((ranks < ranks[focus] - 1e-9).sum()) + 1
    if place > 1:
        first = str(others.idxmin())
        found = paired.verdicts(first).get(focus, "unknown")  # as in the table
        by = {
            "higher": "it is significantly worse than",
            "noise": "it does not differ significantly from",
            "lower": "by its mean it is significantly better than",
        }
        own = f"{focus} has the {_ordinal(place)} best mean rank of {among} by {title} ({ranks[focus]:.2f})"
        if found not in by:
            return f"{own}; the best is {first} ({others.min():.2f}){f', {UNKNOWN_LEAD}' if is_first else ''}."
        if found == "noise" and not is_first:
            return f"{own}."
        return f"{own}; {by[found]} the best, {first} ({others.min():.2f}{f'; {test}' if is_first else ''})."
    level = [m for m in others.index if others[m] < ranks[focus] + 1e-9]
    close = [m for m in others.index if verdicts[m] != "higher" or m in level]
    if not close:
        return (
            f"{focus} is 1st of {among} by {title} (mean rank {ranks[focus]:.2f}), significantly ahead of every other "
            f"({test}); the next is {others.idxmin()} ({others.min():.2f})."
        )
    leaders = f"{in_words([focus, *level])} have" if level else f"{focus} has"
    best = f"{leaders} the best mean rank of {among} by {title} ({ranks[focus]:.2f})"
    if "unknown" in verdicts[others.index].tolist():
        further = others.drop(index=level)
        following = f"; the next is {further.idxmin()} ({further.min():.2f})" if len(further) else ""
        return f"{best}{following}{f', {UNKNOWN_LEAD}' if is_first else ''}."
    better, of = [m for m in close if verdicts[m] == "lower"], focus if level else "it"
    alike, parts = [m for m in close if m not in better], [best]
    if alike:
        parts.append(f"{in_words(alike)} {'does' if len(alike) == 1 else 'do'} not differ significantly from {of}")
    if better:
        verb = "is" if len(better) == 1 else "are"
        parts.append(f"by the mean {in_words(better)} {verb} significantly better than {of}")
    return f"{'; '.join(parts)} ({test})."


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, 'th') }"


def without_place(lacking: Mapping[str, str]) -> str:
    """Which methods were not ranked since they lack a score, and why, in sentences; "" for none.

    ``lacking`` maps titles to reasons, "" where none is known.

    >>> without_place({"GDFS": "stopped after 9 seconds", "DIME": "stopped after 9 seconds", "PPO": ""})
    'GDFS and DIME have no place: stopped after 9 seconds. PPO has no place: its scores are not complete.'
    """
    sentences = []
    for reason, names in _together(lacking).items():
        have, its = ("has", "its") if len(names) == 1 else ("have", "their")
        why = reason or f"{its} scores are not complete"
        sentences.append(f"{in_words(names)} {have} no place: {why}.")
    return " ".join(sentences)


def in_words(names: Sequence[str]) -> str:
    """Names with commas, and "and" before the last one.

    >>> in_words(["a"]), in_words(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([*([listing(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def without_gain(
    suite: Suite, scores: pd.DataFrame, means: pd.DataFrame, shown: scoring.Score, points: Collection[str]
) -> list[str]:
    """Which methods are no better than the constant answer, and which acquire nothing in a column, in sentences.

    ``points`` are titles that are left out.
    """
    mean, constant = means.mean(axis=1, skipna=False), find_method(CONSTANT).title
    order = sorted((m for m in means.index if m not in points), key=lambda m: m == ORACLE_TITLE)  # which comes last
    worse, idle = list[str](), list[str]()
    if constant in mean:
        gain = scoring.on_grid(mean) - scoring.on_grid(mean[constant])
        gain = gain if shown.more_is_better else -gain
        worse = [m for m in order if gain[m] <= 0]
    for declared in (d for d in suite.tables if d.score == "features"):
        used = _columns(scoring.means_by_place(scores, "features"), declared.columns)
        nothing = used.round(scoring.SCORES["features"].digits) == 0
        at = {m: listing(used.columns[nothing.loc[m]]) for m in order if m in used.index and nothing.loc[m].any()}
        idle = [f"{listing(names)} at {columns}" for columns, names in _together(at).items()]
    found = [f"No better mean than the constant answer: {listing(worse)}."] if worse else []
    found += [f"Nothing is acquired by {'; '.join(idle)}."] if idle else []
    return found


def by_column(suite: Suite, means: pd.DataFrame, shown: scoring.Score, methods: Sequence[str]) -> list[str]:
    """Where all features are better than half of the methods or more, and nothing than some: by columns of a table.

    Compared are the figures as the main table shows them.
    """
    constant, everything = (find_method(name).title for name in REFERENCES)
    if not {everything, constant} <= set(means.index):
        return []
    declared = next((d for d in suite.tables if d.score == suite.tables[0].score and d.columns != "dataset"), None)
    if declared is None:
        return []
    figures = _columns(means, declared.columns).round(shown.digits) * (-1 if shown.more_is_better else 1)
    own = figures.loc[list(methods)]
    beaten = (own > figures.loc[everything]).sum()
    full = {str(column): f"than {n}" for column, n in beaten.items() if n * 2 >= len(own)}
    worse = {str(c): listing(m for m in own.index if own.loc[m, c] > figures.loc[constant, c]) for c in own}
    none = {column: names for column, names in worse.items() if names}
    said = ["; ".join(f"{text} at {listing(at)}" for text, at in _together(found).items()) for found in (full, none)]
    found = [f"Of {len(own)} methods All features has a better mean {said[0]}."] if full else []
    return found + ([f"A worse mean than the constant answer: {said[1]}."] if none else [])


def gap_to_reference(suite: Suite, means: pd.DataFrame, first: str, shown: scoring.Score, alone: bool) -> str:
    """How far the first is from the reference that knows the distribution, else from the constant answer; or "".

    ``alone`` says that the sentence on the first has no other beside it: else the constant answer is left out.
    """
    for title in (suite.reference_title, *([find_method(CONSTANT).title] if alone else [])):
        if {title, first} <= set(means.index):
            own, other = (float(means.loc[name].mean(skipna=False)) for name in (first, title))
            if np.isnan(own - other):  # over other columns than those of the first
                continue
            own_text, other_text = (f"{value:.{shown.digits}f}" for value in (own, other))
            return f"The {_in_sentence(shown)} of {first} is {own_text}, that of the {_named(title)} {other_text}."
    return ""


def ahead_within_budget(suite: Suite, scores: pd.DataFrame, first: str) -> str:
    """The budget within which the reference is furthest ahead of the first, in a sentence; else "".

    Only where its accuracy is higher by more than two standard deviations over the runs (or standard errors) of the
    first.
    """
    means = scoring.means_by_place(scores, "budget_accuracy")
    if not {suite.reference_title, first} <= set(means.index):
        return ""
    spread = scoring.spreads(scores, "budget_accuracy", "both")[0].loc[first]
    lead = (means.loc[suite.reference_title] - means.loc[first]).dropna()
    clear = lead[[gap > 2 * spread[f"{dataset} {at}".strip()] for (dataset, at), gap in lead.items()]]
    if clear.empty:
        return ""
    place, reference = clear.idxmax(), suite.reference_title
    own, other = (f"{means.loc[name, place]:.3f}" for name in (first, reference))
    return f"Within a budget of {place[1]} the {_named(reference)} has an accuracy of {other}, {first} of {own}."


def better_search(means: pd.DataFrame, first: str, shown: scoring.Score, quick: bool) -> str:
    """Whether the search without a rank has a better mean than the first, in a sentence; else ""."""
    if ORACLE_TITLE not in means.index:
        return ""
    own, other = (float(means.loc[name].mean(skipna=False)) for name in (first, ORACLE_TITLE))
    gain = scoring.on_grid(other) - scoring.on_grid(own)
    if not (gain > 0 if shown.more_is_better else gain < 0):
        return ""
    better, _ = better_and_worse(means, ORACLE_TITLE, first, shown)
    return (
        f"The {ORACLE_TITLE}, which has no rank, is better than {first} in {better} of {means.shape[1]} columns (mean "
        f"{other:.{shown.digits}f}, on at most {ORACLE_TEST_ROWS[quick]} test rows of a run where {first} has all; "
        "not tested)."
    )


def best_by_other_scores(suite: Suite, scores: pd.DataFrame, first: str, unranked: Collection[str]) -> str:
    """Who has the best mean rank by each other score of the suite, where the first by its main one has not; or ""."""
    main, parts = suite.tables[0].score, list[str]()
    stored = [s for s in (*(d.score for d in suite.tables), "auacc") if s in set(scores["score"])]
    for score in dict.fromkeys(s for s in stored if s not in (main, "headroom")):
        shown, means = scoring.SCORES[score], scoring.means_by_place(scores, score)
        ranks = scoring.mean_ranks(means, shown.more_is_better, unranked)
        if first in ranks and ranks.iloc[0] < ranks[first] - 1e-9:
            place = _ordinal(int((ranks < ranks[first] - 1e-9).sum()) + 1)
            parts.append(
                f"by {_in_sentence(shown)} {ranks.index[0]} ({ranks.iloc[0]:.2f}; {first} {ranks[first]:.2f}, {place} "
                f"of {len(ranks)})"
            )
    return f"Others have the best mean rank by other scores (not tested): {'; '.join(parts)}." if parts else ""


def beside_reported(suite: Suite, scores: pd.DataFrame, quick: bool, aside: Collection[str]) -> str:
    """In how many columns reported figures are better than those of the same method here, and than all here; or "".

    Of a method that is not here, only where it is better than all. Those ``aside`` are no methods, as a reference.
    """
    found: dict[str, tuple[str, ...]] = {}
    others: dict[str, tuple[str, ...]] = {}
    scores = scores[~scores["method"].isin([*aside])]
    for declared in () if quick else suite.tables:
        shown, means = scoring.SCORES[declared.score], scoring.means_by_place(scores, declared.score)
        sign, grouped = 1 if shown.more_is_better else -1, _columns(means, declared.columns)
        reported = published_figures(suite, declared.score, grouped.columns)[0]
        for label, figures in reported.iterrows():
            title, printed = str(label).removesuffix(AS_REPORTED), figures.dropna().round(shown.digits)
            if len(printed):
                here, is_here = grouped[printed.index].round(shown.digits), title in grouped.index
                above_all, by = int((sign * printed > (sign * here).max()).sum()), _in_sentence(shown)
                if is_here:
                    above_own = int((sign * (printed - here.loc[title]) > 0).sum())
                    said = f"in {above_own} of {len(printed)} columns by {by}, and than all methods here in {above_all}"
                    found[title] = (*found.get(title, ()), said)
                elif above_all:
                    others[by] = (*others.get(by, ()), f"{title} in {above_all} of {len(printed)} columns")
    sentences = []
    for columns, titles in _together(found).items():
        names, verb = in_words(titles), "is" if len(titles) == 1 else "are"
        sentences.append(f"{names} as reported {verb} better than {names} of this package {'; '.join(columns)}.")
    for by, own in others.items():
        sentences.append(f"As reported, also better than all methods here by {by}: {', '.join(own)}.")
    return " ".join(sentences)


def _named(title: str) -> str:
    """A title within a sentence: "the constant answer"."""
    return f"{title[:1].lower()}{title[1:]}"


def standings_table(
    scores: pd.DataFrame,
    table: pd.DataFrame,
    score: str,
    ranks: pd.Series,
    unranked: Sequence[str],
    paired: scoring.Paired | None,
    versions: Mapping[str, str],
    reasons: Mapping[tuple[str, str], str] | None = None,
    remarks: Sequence[str] = (),
) -> Table:
    """The main table: for each method its main score, the difference from the first, AUACC, features, time, version.

    Parameters
    ----------
    unranked : titles below those with a rank
    paired : Paired, or None where no figures by run are known
    versions : mapping title -> version of fsgym that computed the row
    reasons : mapping (title, score) -> why a method does not have it; such methods have a row with n/a
    remarks : sentences at the end of the caption
    """
    shown, means = scoring.SCORES[score], scoring.means_by_place(scores, score)
    order = [*ranks.index, *(m for m in means.index if m not in ranks.index and m not in unranked)]
    order += [m for m in unranked if m in means.index]
    frame = pd.DataFrame(index=pd.Index(order, name="method"))
    for name, kind in ((shown.title, score), ("AUACC", "auacc"), ("features", "features")):
        if kind in set(scores["score"]):
            spread = scoring.spreads(scores, kind, "")[0]
            mean = scoring.means_by_place(scores, kind).reindex(order).mean(axis=1, skipna=False).rename("").to_frame()
            digits = scoring.SCORES[kind].digits
            frame[name] = _with_spread(mean, spread, digits)[""]
    first, marks = next(iter(ranks.index), ""), dict[str, str]()
    if paired is not None and paired.words and len(ranks) > 1:
        found, sign = paired.differences(first), -1 if shown.more_is_better else 1
        text = {m: _difference_text(found.loc[m], sign, shown.digits) for m in found.index if m != first}
        verdicts, alone = paired.verdicts(first), found["verdict"]
        besides = NOT_CORRECTED if paired.ranks is None else NOT_BY_RANKS
        marks = {m: NOT_SIGNIFICANT if alone[m] == "noise" else besides for m in text if verdicts.get(m) == "noise"}
        text |= {m: f"{text[m]} ({mark})" for m, mark in marks.items()}
        frame.insert(1, "minus the first [95 %]", pd.Series(text).reindex(order))
    if len(ranks):
        frame["mean rank"] = [format_number(rank, 2) for rank in ranks.reindex(order)]
    seconds = scoring.mean_seconds(table, ["method"]) if "seconds" in table else pd.Series(dtype=float)
    if seconds.notna().any():
        frame["CPU s"] = _as_text(seconds.reindex(order).to_frame("seconds"), 1)
    frame["version"] = [versions[m] for m in order]
    frame = frame.fillna(DASH)
    absent = {m: reason for (m, of), reason in (reasons or {}).items() if of == score and m not in means.index}
    for method in absent:
        frame.loc[method] = "n/a"
        frame.loc[method, "version"] = versions[method]
    n = int(scoring.spreads(scores, score, "")[1].max(axis=None)) if (scores["split"] != "").any() else 0
    why = _reasons_in_words("n/a", absent)
    caption = " ".join([_standings_caption(shown, n, paired, first, NOT_CORRECTED in marks.values()), *why, *remarks])
    return Table("standings", "Standings", caption, frame.fillna(DASH).reset_index())


def _difference_text(found: pd.Series, sign: int, digits: int) -> str:
    low, high = sorted(sign * found[end] for end in ("difference_low", "difference_high"))
    return f"{sign * found['difference']:+.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _standings_caption(
    shown: scoring.Score, n_runs: int, paired: scoring.Paired | None, first: str, corrected: bool
) -> str:
    better = "more is better" if shown.more_is_better else "less is better"
    parts = [f"{shown.title}: mean over all data sets and columns, {better}."]
    if n_runs > 1:
        parts.append(f"± is the standard deviation over {n_runs} runs.")
    elif n_runs == 1:
        parts.append("± is the standard error over the test rows of the one run.")
    if paired is not None and paired.words and paired.ranks is None:
        parts.append(f"Differences from {first}: {paired.words}; each interval by itself.")
        if "test rows" in paired.words:
            parts.append(ONE_DIVISION)
        if corrected:
            parts.append(f'Those "{NOT_CORRECTED}" are so after the correction only.')
    elif paired is not None and paired.ranks is not None:
        parts.append(
            f"Differences from {first}, with intervals of t tests over the data sets, each by itself. {paired.words}, "
            f'does not separate the marked ones from it; of those "{NOT_BY_RANKS}" the interval excludes 0.'
        )
        if np.isfinite(paired.ranks.difference):
            parts.append(
                f"The test separates mean ranks that are {paired.ranks.difference:.2f} apart, of "
                f"{len(paired.ranks.mean_ranks) - 1} at most."
            )
    parts.append(
        "CPU s: processor seconds of the training for all prices, a data set and run. Version: that of fsgym, with the "
        "commit of its code."
    )
    return " ".join(parts)


def conclusion_of(
    suite: Suite,
    methods: SuiteMethods,
    table: pd.DataFrame,
    quick: bool,
    n_runs: int | None = None,
    latex: bool = False,
) -> Conclusion:
    """Everything that the report of a benchmark says; ``n_runs`` and ``latex`` as in ``study_of``."""
    n = scoring.number_of_runs(table)
    first_run = [find_method(name).title for name in methods.first_run if n > 1]
    labels = {title: f"{title} (first of {n} runs)" for title in first_run}
    aside = (*methods.reference_points, ORACLE_TITLE, suite.reference_title)
    unranked, table = (*labels.values(), *aside), table.assign(method=table["method"].replace(labels))
    scores, reasons, main = scoring.scores_of(table), scoring.reasons_of(table), suite.tables[0].score
    scores = scores.assign(method=scores["method"].replace({scoring.REFERENCE_TITLE: suite.reference_title}))
    shown, means = scoring.SCORES[main], scoring.means_by_place(scores, main)
    ranks = scoring.mean_ranks(means, shown.more_is_better, unranked)
    paired = scoring.paired_scores(scores, table, main, suite.runs_are, list(ranks.index)) if len(ranks) else None
    versions = dict.fromkeys([*means.index, *(title for title, _ in reasons)], scoring.version_of_rows())
    remarks = [f"± of {label}: the standard error over the test rows of its run." for label in labels.values()]
    if ORACLE_TITLE in means.index:
        remarks += [f"The {ORACLE_TITLE} is on at most {ORACLE_TEST_ROWS[quick]} test rows of a run."]
    remarks += [text for title, text in methods.lengths.items() if title in ranks.index]
    remarks += by_column(suite, means, shown, list(ranks.index))
    remarks += without_gain(suite, scores, means, shown, [*methods.reference_points, suite.reference_title])
    tables = [standings_table(scores, table, main, ranks, unranked, paired, versions, reasons, remarks)]
    wanted = dict.fromkeys([*suite.tables, TableOf("auacc", "dataset")])
    by_score = [(d.score, score_table(suite, d, scores, reasons, unranked, aside)) for d in wanted]
    refused = {score: reason for (_, score), reason in reasons.items()}
    absent = [score for score, t in by_score if t is None and score in refused]
    wins = wins_of_focus(means, methods.focus, shown, ranks.index)
    further = [wins, rows_table(table), methods_table(methods), seconds_table(table)]
    tables += [t for t in (*(t for _, t in by_score), *further) if t is not None]
    first = "run" if n_runs == 1 else f"{n_runs} runs"
    cut = [] if n_runs is None else [f"Cut by --runs {n_runs} to the first {first} of each data set."]
    protocol = " ".join([suite.protocol(quick), *cut, prices_in_words(methods), METHODS_IN_WORDS])
    verdict = []
    if paired is not None:
        best = ranks.index[0]
        lacking = [m for m in methods.names_by_title if m not in (*ranks.index, *first_run)]
        places = dict.fromkeys([best, *(m for m in methods.own or [methods.focus] if m in ranks.index)])
        n = len(ranks) + len(lacking)
        verdict = [standing(ranks, title, main, paired, n, is_first=title == best) for title in places]
        beside = [
            without_place({title: reasons.get((title, main), "") for title in lacking}),
            lowest_mean(means, ranks, shown),
            gap_to_reference(suite, means, best, shown, alone=len(verdict) < 2),
            best_by_other_scores(suite, scores, best, unranked),
            ahead_within_budget(suite, scores, best),
            beside_reported(suite, scores, quick, aside),
            better_search(means, best, shown, quick),
            OF_MORE_ROWS if quick and suite.published else "",
        ]
        verdict += [text for text in beside if text]
    notes = [
        *verdict,
        *(
            f"{scoring.SCORES[s].title}: n/a for all methods (one of them: {refused[s]})."
            for s in dict.fromkeys(absent)
        ),
        *_notes(suite, methods, table, labels, quick),
    ]
    for title, share in scores[scores["score"] == "illegal"].groupby("method", sort=False)["value"].max().items():
        notes.insert(
            1, f"{title}: up to {share:.2%} of the test rows end with an illegal action, the costliest answer."
        )
    files = {"scores": scoring.long_table(suite.name, scores, unranked)}
    named = {labels.get(title, title): name for title, name in methods.names_by_title.items()}
    pictures = pictures_of(suite, scores, named, paired, quick)
    stems = [x.stem for x in (*tables, *pictures)]
    tex = {main: main_latex(suite, scores, table, main, ranks, unranked) if latex and len(ranks) else None}
    top = [*verdict, suite.development] if verdict else []
    return Conclusion(protocol, [], tables, pictures, notes, stems, files, top, tex)


def main_latex(
    suite: Suite, scores: pd.DataFrame, table: pd.DataFrame, main: str, ranks: pd.Series, unranked: Sequence[str]
) -> str:
    """The main score by price as LaTeX, a table for each data set: ±, the best ranked method bold, others marked.

    A column is tested as ``paired_scores`` tests splits or realisations of one data set. What is stored of test rows
    are means over the prices, so that seeds on one division, and fewer than three runs, have no test by column, which
    the caption says.
    """
    shown, means = scoring.SCORES[main], scoring.means_by_place(scores, main)
    spread, tables = scoring.spreads(scores, main, "both")[0], []
    datasets = list(dict.fromkeys(dataset for dataset, _ in means.columns))
    for dataset in datasets:
        columns, words = {}, ""
        for at in (at for own, at in means.columns if own == dataset):
            own = scores[(scores["dataset"] == dataset) & (scores["at"] == at)]
            figures = means[dataset, at]
            best = str((figures.loc[list(ranks.index)] * (-1.0 if shown.more_is_better else 1.0)).idxmin())
            verdicts = pd.Series(dtype=object)
            if suite.runs_are != "seeds" and scoring.number_of_runs(own) >= MIN_PAIRS:
                cells = table[table["dataset"] == dataset]
                paired = scoring.paired_scores(own, cells, main, suite.runs_are, list(ranks.index))
                verdicts, words = paired.verdicts(best), paired.words
            columns[str(at)] = {
                m: Shown(
                    float(figures[m]),
                    float(spread[f"{dataset} {at}".strip()].get(m, np.nan)),
                    "best" if m == best else str(verdicts.get(m, "")),
                )
                for m in [*ranks.index, *(m for m in unranked if m in means.index)]
            }
        where = f"{suite.title}, {dataset}" if len(datasets) > 1 else suite.title
        tested = f"A dagger: not significantly different from it ({words}; not corrected for the number of columns)."
        untested = (
            f"No dagger: a test of a column takes {MIN_PAIRS} splits or realisations of the data, which these figures "
            "have not."
        )
        caption = (
            f"{shown.title} on {where}, mean ± {_spread_in_words(scores)}, by {suite.price_in_words}. Bold: the best "
            f"of a column. {tested if words else untested}"
        )
        label = f"{suite.name}-{folder_name(str(dataset))}" if len(datasets) > 1 else suite.name
        tables.append(latex_table(columns, caption, label, shown.digits))
    return "\n".join(tables)


def _spread_in_words(scores: pd.DataFrame) -> str:
    n = scoring.number_of_runs(scores)
    return f"standard deviation over {n} runs" if n > 1 else "standard error over the test rows"


def pictures_of(
    suite: Suite, scores: pd.DataFrame, named: Mapping[str, str], paired: scoring.Paired | None, quick: bool
) -> list[Picture]:
    """The picture of the suite, and the diagram of ranks where they are tested.

    Reported figures are not drawn beside those of a quick run, which has less rows.
    """
    own = scores[scores["score"] == "budget_accuracy"]
    places = dict.fromkeys([*own["at"], *(own["dataset"] + " " + own["at"])])
    reported = published_figures(suite, "budget_accuracy", [*places])[0]
    published = {} if quick else {str(title): row for title, row in reported.iterrows()}
    pictures = [picture_of_suite(suite, scores, named, (suite.reference_title,), published)]
    if paired is not None and paired.ranks is not None:
        pictures.append(picture_of_ranks(paired.ranks, named))
    return pictures


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
    if (table["method"] == ORACLE_TITLE).any():
        notes += [ORACLE_IN_WORDS.format(rows=ORACLE_TEST_ROWS[quick])]
    versions = ", ".join(f"{name} {number}" for name, number in (provenance()["versions"] | methods.versions).items())
    return [*notes, *suite.notes, suite.development, f"Versions: {versions}."]


def prices_in_words(methods: SuiteMethods) -> str:
    """How the methods get from a price to a model, with the names of those that are trained at each."""
    others = [method.title for name in methods.all_names if not (method := find_method(name)).prices]
    return (
        "Methods that know prices have their default settings and are trained at each price, or choose for each when "
        f"they stop. Those that do not ({listing([*others, find_method(REFERENCES[1]).title])}) have a list of "
        "settings: all are trained, the one with the lowest loss on the validation rows is chosen at each price, and "
        "is fitted again."
    )


METHODS_IN_WORDS = (
    "All final fits are on the training and the validation rows together, of which a method may hold some out for its "
    "own choices. Methods are ranked in each "
    "column, a price or a budget on a data set, of the means over the runs, rounded to a multiple of "
    f"{scoring.SAME_SCORE:g}, and mean ranks are over all data sets and columns, from five data sets on over data "
    "sets. Constant answer and All features are reference points and have no rank. The command writes the figures of "
    "each run to scores.csv in its folder of results. A score is n/a where a method has none, for the reason that the "
    "caption gives. A cell is a "
    "method on a run of a data set, or a reference."
)


# The picture of a suite: accuracy within each budget, or the score by which methods are ranked at each price.

FORCED = "The policy of the lowest price, continued past its stop: not the score by which methods are ranked."
ASIDE_STYLE = {"color": "#777777", "linestyle": "--", "marker": "", "linewidth": 1.2}  # of a reference


def picture_of_suite(
    suite: Suite,
    scores: pd.DataFrame,
    names: Mapping[str, str],
    dashed: Sequence[str],
    published: Mapping[str, pd.Series],
) -> Picture:
    """The one picture of a suite, means over its data sets.

    Parameters
    ----------
    scores : DataFrame, as ``scores_of`` returns it
    names : mapping title -> name of each method that is drawn, for its style
    dashed : titles of references, which are grey
    published : mapping method -> accuracy by budget, as reported
    """
    within = (scores["score"] == "budget_accuracy").any()
    score = "budget_accuracy" if within else suite.tables[0].score
    shown = scoring.SCORES[score]
    own = scores[scores["score"] == score]
    places = [tuple(dict.fromkeys(at)) for _, at in own.groupby("dataset", sort=False)["at"]]
    panels = {"": own} if len(set(places)) == 1 else dict(tuple(own.groupby("dataset", sort=False)))
    heading = f"{shown.title}{'' if within else ', by ' + suite.price_in_words}"

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (dataset, rows) in zip(axes, panels.items()):
            _draw_panel(ax, rows, score, names, dashed, _of_panel(published, dataset))
            if not within:
                _price_axis(ax, rows)
            ax.set_xlabel(f"budget {dataset and 'of ' + dataset}".strip() if within else suite.price_in_words)
        axes[0].set_ylabel(shown.title.lower() if within else shown.title)
        labels = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels())}
        figure.legend(labels.values(), labels, loc="outside right upper", fontsize=8.5)

    several = f", mean over {len(places)} data sets" if len(panels) < len(places) else ""
    further = f" {FORCED}" if score != suite.tables[0].score else ""
    further += " Dotted: as reported." if published else ""
    return draw_picture("curve", heading, f"{heading}{several}.{further}", draw, (8.2, 3.6))


def _draw_panel(
    ax: Axes,
    rows: pd.DataFrame,
    score: str,
    names: Mapping[str, str],
    dashed: Sequence[str],
    published: Mapping[str, Mapping[str, float]],
) -> None:
    """The lines of all methods, means over the data sets of these rows; ± where they are of one data set."""
    means = scoring.means_by_place(rows, score).T.groupby(level="at", sort=False).mean().T
    bars, styles = scoring.spreads(rows, score, "at")[0], method_styles([*names.values()])
    places = [_number_of(at) for at in means.columns]
    for title, name in names.items():
        if title in means.index:
            bar = bars.reindex(index=[title], columns=means.columns).iloc[0].to_numpy(float)
            bar = None if np.isnan(bar).any() or rows["dataset"].nunique() > 1 else bar
            style = styles[name] | {"markersize": 4.5}
            plot_error_bars(ax, places, means.loc[title], label=title, style=style, yerr=bar)
    for title in dashed:
        if title in means.index:
            ax.plot(places, means.loc[title], label=title, **ASIDE_STYLE)
    for title, figures in published.items():
        x, y = [_number_of(at) for at in figures], [*figures.values()]
        ax.plot(x, y, label=title, linestyle=":", color="black", marker="*", linewidth=1.0)


def _of_panel(published: Mapping[str, pd.Series], dataset: str) -> dict[str, dict[str, float]]:
    """The published figures of a data set by budget; their labels begin with its name where there are several."""
    start = f"{dataset} " if dataset else ""
    found = {
        t: {at[len(start) :]: v for at, v in row.dropna().items() if at.startswith(start)}
        for t, row in published.items()
    }
    return {title: figures for title, figures in found.items() if figures}


def _price_axis(ax: Axes, rows: pd.DataFrame) -> None:
    """Prices on a logarithmic axis, a tick at each."""
    labels = [*dict.fromkeys(rows["at"])]
    ax.set_xscale("log")
    ax.set_xticks([_number_of(at) for at in labels], [at.rpartition(" ")[2] for at in labels])
    ax.minorticks_off()


def _number_of(at: str) -> float:
    """The price or budget in the name of a column, such as "error 1,000"."""
    return float(at.rpartition(" ")[2].replace(",", ""))


def picture_of_ranks(test: RankTest, names: Mapping[str, str]) -> Picture:
    """The diagram of mean ranks with Nemenyi's critical difference; ``names`` are those of ``picture_of_suite``."""
    styled = replace(test, mean_ranks=test.mean_ranks.rename(dict(names)))
    titles = {name: title for title, name in names.items()}
    friedman = f"Friedman's test: chi-squared {test.statistic:.1f}, p = {test.p:.1g}"
    caption = (
        f"Mean ranks over {len(test.losses)} data sets ({friedman}); a bar joins methods that Nemenyi's test does not "
        "separate, 95 %."
    )
    plot: Callable = plot_ranks
    return picture_of("ranks", "Mean ranks", caption, plot, styled, titles)
