"""The ranking of a comparison: at one lambda, each method at its chosen settings; and over several data sets."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fsgym.comparison.compared import ComparedMethod
from fsgym.comparison.noise import DIFFERENCE, DIGITS_OF_BEST, MIN_DATASETS, RankTest, mean_ranks, rank_test
from fsgym.comparison.summary import (
    choices_at,
    counted_in,
    differences_from,
    lowest_of,
    refuse_several,
    reported_lambdas,
    seen_in_words,
)
from fsgym.methods import METHODS, REFERENCES
from fsgym.text.html import HtmlTable, html_block
from fsgym.text.messages import counted, listing

REFERENCE_TITLES: dict[str, str] = dict(zip(REFERENCES, ("nothing acquired", "everything acquired"), strict=True))
INTERVAL_OF_DIFFERENCE = ("difference", "difference_low", "difference_high")
SHARES = ("usage", "first", "first_paid")  # columns of JSON objects: acquisition -> share of the test rows


class RankedMethod(NamedTuple):
    """A method at its chosen settings.

    Attributes
    ----------
    method : str
    chosen : DataFrame, its rows in the results, one per split, with ``loss`` at the ranking's lambda
    figures : dict
        Means over the splits of the test figures, ``FIGURE`` and ``FIGURE_std``; ``loss`` is that at the ranking's
        lambda, ``acquisition_cost`` its part for prices. NaN unless every split has a setting that can be chosen.
        ``splits`` is the number of splits.
    flag : str, why it is never the best; "" if nothing speaks against it
    settings_left_out : int, number of settings that break the rules on a validation part
    title : str
    shares : dict of dict, means over the splits of the columns in ``SHARES``; by class the ``recall`` and
        ``wrong``, the share of all cases that are of this class and answered wrongly, and of a numeric target the
        ``answer``, the number of each bin; empty where they are unknown
    fixed : bool, whether it acquires the same for every case
    verdict : {"noise", "higher", "unknown", ""}, on its loss compared with the best, by ``rank_table``; "" for the best
        itself and for those that are never the best
    from_best : tuple of its loss minus that of the best, and the ends of the 95 % interval of this difference; NaN
        where it is unknown, and for the best itself
    """

    method: str
    chosen: pd.DataFrame
    figures: dict[str, Any]
    flag: str
    settings_left_out: int
    title: str
    shares: dict[str, dict[str, float]]
    fixed: bool
    verdict: str
    from_best: tuple[float, float, float]

    @property
    def reference(self) -> bool:
        """Whether it is a reference point."""
        return self.method in REFERENCES

    @property
    def eligible(self) -> bool:
        return not self.flag

    @property
    def acquires(self) -> bool:
        return bool(self.figures["n_acquisitions"] > 0)

    @property
    def note(self) -> str:
        """What speaks against the method or some of its settings; "" for nothing."""
        illegal = self.figures.get("illegal", 0.0)
        if illegal > 0:
            ends = f"ends {100 * illegal:.3g} % of the cases with an illegal action"
            return f"{self.flag}; {ends}" if self.flag else ends
        if self.flag or not self.settings_left_out:
            return self.flag
        many = "1 setting breaks" if self.settings_left_out == 1 else f"{self.settings_left_out} settings break"
        return f"{many} the rules and cannot be chosen"


class Ranking(NamedTuple):
    """All methods at one lambda: those that can be the best by their loss, then the others, then reference points.

    Attributes
    ----------
    lam : float
    standings : tuple of RankedMethod
    counted : {"n_features", "n_acquisitions"}
    has_error_costs : bool, whether a wrong answer costs anything other than 1
    has_prices : bool, whether an acquisition costs anything other than 1
    imbalanced : bool, whether balanced accuracy and AUC stand beside accuracy
    splits : int
    has_free : bool, whether some acquisition costs nothing
    """

    lam: float
    standings: tuple[RankedMethod, ...]
    counted: str
    has_error_costs: bool
    has_prices: bool
    imbalanced: bool
    splits: int
    has_free: bool = False

    @property
    def unit(self) -> str:
        return "features" if self.counted == "n_features" else "acquisitions"

    @property
    def best(self) -> RankedMethod | None:
        """The standing with the lowest loss among those that can be the best; a reference point only without ties."""
        return lowest_of(self.standings)

    def best_of(self, *excluded: str, **wanted: bool) -> RankedMethod | None:
        """The best of those with these attributes, such as ``fixed=True``, apart from some names."""
        rest = [
            s
            for s in self.standings
            if s.method not in excluded and all(getattr(s, name) == value for name, value in wanted.items())
        ]
        return self._replace(standings=tuple(rest)).best

    @property
    def without_acquiring(self) -> RankedMethod | None:
        """The best of those that acquire nothing, reference point or not; None if there is none."""
        return self.best_of(acquires=False)

    def pays(self, standing: RankedMethod) -> bool:
        """Whether a method is at least as good as answering without acquiring anything, if that was compared."""
        other = self.without_acquiring
        return other is None or round(standing.figures["loss"], DIGITS_OF_BEST) <= round(
            other.figures["loss"], DIGITS_OF_BEST
        )

    def standing_of(self, method: str) -> RankedMethod | None:
        """The standing of a method that has figures, or None."""
        return next((s for s in self.standings if s.method == method and not np.isnan(s.figures["loss"])), None)


def rank_methods(results: pd.DataFrame, lam: float | None = None) -> Ranking | None:
    """Rank what ``compare`` returned, or its ``results.csv`` read again; None if all fits failed.

    ``lam`` is by default the lambda of the column ``price``, the first that is reported.
    """
    refuse_several(results)
    succeeded = results[results["error"].isna()]
    if succeeded.empty:
        return None
    lam = float(succeeded["price"].iloc[0]) if lam is None else lam
    counted = counted_in(results)
    titles = method_titles(results)
    fixed = results.attrs.get("fixed")
    if fixed is None:
        fixed = [name for name in titles if name in METHODS and not METHODS[name].adaptive]
    choices = choices_at(results, lam, counted)
    eligible, verdicts, from_best = [choice for choice in choices if not choice.flag], {}, {}
    best = lowest_of(eligible)
    if best is not None:
        differences = differences_from(best, eligible).drop(index=best.method)
        verdicts = differences["verdict"].to_dict()
        from_best = {str(name): tuple(row) for name, *row in differences[list(INTERVAL_OF_DIFFERENCE)].itertuples()}
    standings = [
        RankedMethod(
            *one,
            titles[one.method],
            _shares_of(one.chosen),
            one.method in fixed,
            verdicts.get(one.method, ""),
            from_best.get(one.method, (np.nan, np.nan, np.nan)),
        )
        for one in choices
    ]
    losses = {s.method: np.nan_to_num(round(s.figures["loss"], DIGITS_OF_BEST), nan=np.inf) for s in standings}
    return Ranking(
        lam,
        tuple(sorted(standings, key=lambda s: (s.reference, not s.eligible, losses[s.method]))),
        counted,
        results.attrs.get("has_error_costs", not np.allclose(succeeded["error_cost"], 1 - succeeded["accuracy"])),
        results.attrs.get("has_prices", not np.allclose(succeeded["spent"], succeeded["n_acquisitions"])),
        "auc" in results.attrs.get("headline", ()),
        int(results["split"].nunique()),
        bool(results.attrs.get("free")),
    )


def differences_of(results: pd.DataFrame, method: str) -> pd.DataFrame:
    """The loss of each other method minus that of one, at each lambda that is reported, by ``differences_from``.

    Returns
    -------
    DataFrame, columns lam, method, other, ``DIFFERENCE``
        Without those that can never be the best; empty where ``method`` is one of them. Above 0, ``method`` has the
        lower loss. The p-values are not corrected for their number.
    """
    tables = []
    for lam in reported_lambdas(results):
        choices = [one for one in choices_at(results, lam, counted_in(results)) if not one.flag]
        for own in (one for one in choices if one.method == method):
            table = differences_from(own, choices).drop(index=method)
            table = table[DIFFERENCE].rename_axis("other").reset_index()
            tables.append(table.assign(lam=lam, method=method))
    columns = ["lam", "method", "other", *DIFFERENCE]
    return pd.concat(tables)[columns] if tables else pd.DataFrame(columns=columns)


def method_titles(results: pd.DataFrame) -> dict[str, str]:
    """The title of each method of the results, by its name: ``titles_of`` with those of the comparison."""
    given = results.attrs.get("titles", {}) | REFERENCE_TITLES
    if results.attrs.get("free"):
        given[REFERENCES[0]] += ", not even free"
    return titles_of(results["method"].unique(), given)


def titles_of(names: Iterable[Any], given: Mapping[str, str] = REFERENCE_TITLES) -> dict[str, str]:
    """By name the title that is given, that in ``METHODS``, or the name, which also stands behind equal titles."""
    titles = {name: method.title for name, method in METHODS.items()} | dict(given)
    found = {str(name): titles.get(str(name), str(name)) for name in names}
    times = Counter(found.values())
    return {name: title if times[title] == 1 or title == name else f"{title} ({name})" for name, title in found.items()}


def titles_with_flags(ranking: Ranking) -> dict[str, str]:
    """Titles for legends, which say what is known about the training rows of policies."""
    flags = {s.method: seen_in_words(s.chosen) for s in ranking.standings}
    return {s.method: f"{s.title} ({flags[s.method]})" if flags[s.method] else s.title for s in ranking.standings}


def fixed_methods(methods: Iterable[ComparedMethod]) -> list[str]:
    """Names of the methods that acquire the same for every case.

    They are of a class that ``METHODS`` lists as not adaptive, or pipelines that select columns.
    """
    fixed = {m.estimator for m in METHODS.values() if not m.adaptive}
    names = []
    for method in methods:
        layers = [method.candidates[0]]
        while not isinstance(layers[-1], type) and hasattr(layers[-1], "estimator"):  # wrapped for this comparison
            layers.append(layers[-1].estimator)
        cls = type(layers[-1])
        in_table = cls in fixed or f"{cls.__module__.partition('.')[0]}:{cls.__name__}" in fixed
        if in_table or any(getattr(layer, "uses_same_columns", False) for layer in layers):
            names.append(method.name)
    return names


def _shares_of(chosen: pd.DataFrame) -> dict[str, dict[str, float]]:
    shares, by_class = {c: _mean_shares(objects_of(chosen, c)) for c in SHARES}, objects_of(chosen, "by_class")
    wrong = _mean_shares([_wrong_shares(split) for split in by_class])
    answers = {label: found["answer"] for split in by_class for label, found in split.items() if "answer" in found}
    return shares | {"recall": _mean_recalls(by_class), "wrong": wrong, "answer": answers}


def objects_of(chosen: pd.DataFrame, column: str) -> list[dict[str, Any]]:
    """The JSON objects of a column, one per split; none if it is absent or one of them is missing."""
    known = column in chosen and chosen[column].notna().all()
    return [json.loads(text) for text in chosen[column]] if known else []


def _mean_shares(splits: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the splits, from the largest to the smallest; absent keys count as 0."""
    names = dict.fromkeys(name for split in splits for name in split)
    means = {name: float(np.mean([split.get(name) or 0.0 for split in splits])) for name in names}
    return dict(sorted(means.items(), key=lambda item: -item[1]))


def _mean_recalls(splits: list[dict[str, Any]]) -> dict[str, float]:
    """Mean recall of each class over the splits in which it has test rows; of no other class."""
    recalls = {label: [split[label]["recall"] for split in splits if label in split] for label in (splits or [{}])[0]}
    known = {label: [v for v in values if v is not None] for label, values in recalls.items()}
    return {label: float(np.mean(values)) for label, values in known.items() if values}


def _wrong_shares(split: dict[str, Any]) -> dict[str, float]:
    """Share of all cases that are of each class and answered wrongly."""
    n = sum(figures["rows"] for figures in split.values())
    return {label: figures["rows"] * (1 - (figures["recall"] or 0.0)) / n for label, figures in split.items()}


# Methods compared over several data sets, with a test of their ranks.


@dataclass(frozen=True)
class DatasetsResult:
    """What ``compare_datasets`` returns.

    Attributes
    ----------
    results : dict, data set -> what ``compare`` returns
    losses : DataFrame, one row per data set and one column per method
        The mean test loss at the first lambda that is reported, at the settings of
        ``summarise``; NaN where
        every fit failed, a rule is broken, or test rows were in training. Reference points are left out.
    rank_test : RankTest, or None if there is none
    answer : list of str, the result of the test in words, or why there is none
    titles : dict, method -> title
    lams : dict, data set -> the lambda of ``losses``
    elsewhere : tuple of DatasetsResult, the same at each further lambda that every data set reports
    """

    results: dict[str, pd.DataFrame]
    losses: pd.DataFrame
    rank_test: RankTest | None
    answer: list[str]
    titles: dict[str, str]
    lams: dict[str, float]
    elsewhere: tuple[DatasetsResult, ...] = ()

    @property
    def best(self) -> pd.Series:
        """The best mean rank, by method, of all that share it; empty where no method has a loss on every data set."""
        ranks = mean_ranks(self.losses.dropna(axis="columns").round(DIGITS_OF_BEST))
        return ranks[ranks == ranks.min()]

    def losses_table(self) -> pd.DataFrame:
        """The losses at every lambda that the data sets report, a row for each data set and lambda."""
        at = [one.losses.assign(lam=pd.Series(one.lams)) for one in (self, *self.elsewhere)]
        return pd.concat(at).set_index("lam", append=True)

    def ranks_table(self) -> pd.DataFrame:
        """The mean ranks at every lambda that has a rank test; ``lam`` is the lambda, or those of the data sets."""
        at = [(listing(f"{v:.4g}" for v in dict.fromkeys(one.lams.values())), one) for one in (self, *self.elsewhere)]
        tables = [one.rank_test.to_frame().assign(lam=lam) for lam, one in at if one.rank_test is not None]
        return pd.concat(tables) if tables else pd.DataFrame()

    def to_frame(self) -> pd.DataFrame:
        """The rows of all data sets, as ``compare`` returns them for one."""
        frame = pd.concat(self.results.values(), ignore_index=True)
        frame.attrs = {}
        return frame

    def __repr__(self) -> str:
        sizes = f"{counted(len(self.losses), 'data set')}, {counted(self.losses.shape[1], 'method')}"
        return f"DatasetsResult({sizes}: {' '.join(self.answer)})"

    def _repr_html_(self) -> str:
        headings = ["data set", *(self.titles[name] for name in self.losses)]
        rows = ([name, *(f"{v:.3f}" for v in values)] for name, *values in self.losses.itertuples())
        return html_block(" ".join(self.answer), "Mean test loss:", HtmlTable(headings, rows, len(self.losses)))


def folder_name(name: str) -> str:
    """The name of a data set as that of its folder."""
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "data"


def result_of(results: Mapping[str, pd.DataFrame]) -> DatasetsResult:
    """The losses of what ``compare`` returned for each data set, with a test of their ranks if there can be one."""
    first, *others = (dict(zip(results, lams)) for lams in zip(*map(reported_lambdas, results.values())))
    return replace(_result_at(results, first), elsewhere=tuple(_result_at(results, lams) for lams in others))


def _result_at(results: Mapping[str, pd.DataFrame], lams: dict[str, float]) -> DatasetsResult:
    rankings = {name: rank_methods(rows, lams[name]) for name, rows in results.items()}
    standings = {name: [] if r is None else list(r.standings) for name, r in rankings.items()}
    titles = {s.method: s.title for found in standings.values() for s in found}
    by_dataset = {
        name: {s.method: s.figures["loss"] if s.eligible else float("nan") for s in found if not s.reference}
        for name, found in standings.items()
    }
    losses = pd.DataFrame.from_dict(by_dataset, orient="index").astype(float).rename_axis("dataset")
    whole = losses.dropna(axis="columns")
    sentences = []
    for method in losses.columns.difference(whole.columns, sort=False):
        absent = listing(losses.index[losses[method].isna()])
        sentences.append(f"{titles[method]} is left out, as it cannot be ranked on {absent}.")
    n_datasets, n_methods = whole.shape
    test = None
    if n_datasets < MIN_DATASETS:
        sentences.append(f"No rank test: it needs at least {MIN_DATASETS} data sets, got {n_datasets}.")
    elif n_methods < 2:
        sentences.append(f"No rank test: it needs at least 2 methods with a loss on every data set, got {n_methods}.")
    else:
        test = rank_test(whole)
        sentences = rank_test_in_words(test, titles) + sentences
    return DatasetsResult(dict(results), losses, test, sentences, titles, lams)


def rank_test_in_words(test: RankTest, titles: Mapping[str, str]) -> list[str]:
    """The result of a rank test in sentences."""
    best, *others = test.mean_ranks.index
    n_datasets, n_methods = test.losses.shape
    named = "Friedman's test" if n_methods > 2 else "Wilcoxon's signed-rank test"
    ranks = f"Over {n_datasets} data sets, {titles[best]} has the best mean rank, {test.mean_ranks[best]:.2f}"
    if n_methods == 2 and 2.0 ** (1 - n_datasets) >= test.level:
        return [f"{ranks}; {named} can find no difference on so few (p is at least {2.0 ** (1 - n_datasets):.2g})."]
    if not test.differ:
        return [f"{ranks}, but {named} finds no difference between the {n_methods} methods (p = {test.p:.2g})."]
    first = f"{ranks}; {named} finds a difference between the methods (p = {test.p:.2g})."
    if n_methods == 2:
        return [first]
    table = test.to_frame()
    close = [titles[name] for name in others if name in set(table["method"][table["like_best"]])]
    worse = [titles[name] for name in others if titles[name] not in close]
    parts = [f"it is better than {listing(worse)}"] if worse else []
    verb = "does" if len(close) == 1 else "do"
    parts += [f"{listing(close)} {verb} not differ from it by more than noise"] if close else []
    return [first, f"By Nemenyi's test (critical difference {test.difference:.2f}), {'; '.join(parts)}."]
