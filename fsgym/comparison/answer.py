"""The answer of a comparison, in words and as a table of its methods.

The words say which method is best, what it costs, how it compares, and what it acquires first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from fsgym.comparison.noise import MIN_PAIRS, least_found
from fsgym.comparison.ranking import DatasetsResult, RankedMethod, Ranking, objects_of, rank_methods
from fsgym.comparison.summary import mean_text, reported_lambdas
from fsgym.evaluation.result import sentence_case
from fsgym.methods import CONSTANT, REFERENCES
from fsgym.metrics import ALL_LABELS
from fsgym.text.messages import listing, option_text
from fsgym.text.speech import number_text

MAX_CLASSES = 3  # with which the recall of each class is shown
SHOWN = 3  # names in a list of a sentence
ENOUGH_SPLITS, MANY_SPLITS = 5, 10  # fewer than the first: "noise" says little; more than the second: little is gained
FROM_BEST = "from best"  # the column that says whether a difference is more than noise
DIFFERENCE = "above best"  # a column: the difference, with its interval
INTERVAL = "95 % interval"  # a column, too
FAR_FROM_ONE = 10  # a lambda by this factor from 1, beside error costs; by hand


def answer_in_words(ranking: Ranking | None) -> list[str]:
    """The answer as sentences, the most important first; empty if all fits failed.

    A method that breaks rules, or was trained on test rows, is never the best. The settings were chosen by
    lambda or on validation data, see ``chosen_at``; methods are ranked by their loss on the test parts.
    """
    if ranking is None:
        return []
    best = ranking.best
    if best is None:
        flags = listing(dict.fromkeys(f"{s.title} ({s.flag})" for s in ranking.standings))
        return [f"No method can be named as the best: {flags}.", *_prices_of_promises(ranking)]
    if best.reference or not best.acquires:
        answer = [_reference_sentence(ranking, best), *_runner_up(ranking, best)]
    else:
        answer = [_best_sentence(ranking, best), *_savings(ranking, best), *_first_acquisition(best), *_noise(ranking)]
    return [*answer, *_prices_of_promises(ranking), *_flagged(ranking, best), *_failed(ranking)]


def cost_text(ranking: Ranking, value: float) -> str:
    """A cost with as many decimals as give the best loss three digits, the same in all sentences and tables.

    Without error costs, three decimals.
    """
    best = ranking.best
    scale = abs(best.figures["loss"]) if best is not None else abs(value)
    if not math.isfinite(scale) or scale == 0 or not ranking.has_error_costs:
        scale = 0.1
    return f"{value:,.{min(max(2 - math.floor(math.log10(scale)), 0), 4)}f}"


def interval_text(ranking: Ranking, standing: RankedMethod, between: str = " to ") -> str:
    """The 95 % interval of the mean loss; "" if it is unknown."""
    low, high = (standing.figures.get(f"loss_{end}", math.nan) for end in ("low", "high"))
    return "" if math.isnan(low + high) else f"{cost_text(ranking, low)}{between}{cost_text(ranking, high)}"


def share_of_cases(share: float) -> str:
    """A share of the cases: "all cases", "93 % of the cases"."""
    if share >= 0.995:
        return "all cases"
    return f"{100 * share:.0f} % of the cases" if share >= 0.01 else "less than 1 % of the cases"


def constant_answer(ranking: Ranking, short: bool = False) -> str:
    """The class that is answered without acquiring anything, in quotes; "" if it differs by split or is unknown.

    Of a numeric target the number, with the range of its bin unless ``short``.
    """
    for standing in sorted(ranking.standings, key=lambda s: s.method != CONSTANT):
        recall = {} if standing.acquires else standing.shares["recall"]
        if sorted(recall.values()) == [0.0] * (len(recall) - 1) + [1.0]:
            label = max(recall, key=lambda label: recall[label])
            if label not in standing.shares["answer"]:
                return f'"{label}"'
            number = number_text(standing.shares["answer"][label], ".6g")
            return number if short else f"{number} (the bin {label})"
    return ""


def reference_in_words(ranking: Ranking, standing: RankedMethod) -> str:
    """What a reference point, or a method that acquires nothing, does."""
    if standing.acquires:
        return "acquiring everything"
    return " ".join(f"answering {constant_answer(ranking)} without acquiring anything".split())


def _best_sentence(ranking: Ranking, best: RankedMethod) -> str:
    other = ranking.best_of(best.method, fixed=not best.fixed, reference=False, acquires=True)
    kind = "method that chooses for each case" if best.fixed else f"fixed set of {ranking.unit}"
    role = f"the best {kind}"
    if other is None:
        other, role, kind = (
            ranking.best_of(best.method, reference=False, acquires=True),
            "the second best",
            "other method",
        )
    without = ranking.without_acquiring
    beaten = other is not None and without is not None and not ranking.pays(other)
    if ranking.has_error_costs:
        constant = ranking.standing_of(CONSTANT) or without
        parts = [f"{best.title} costs least, {_cost_of(ranking, best)}{_recalls(best)}."]
        rest = []
        if beaten and without is not None:
            price = cost_text(ranking, without.figures["loss"])
            rest.append(f"no {kind} costs less than {reference_in_words(ranking, without)}, {price}")
        else:
            rest += (
                [] if other is None else [f"{role} ({other.title}) costs {cost_text(ranking, other.figures['loss'])}"]
            )
            if constant is not None:
                price = cost_text(ranking, constant.figures["loss"])
                rest.append(f"{reference_in_words(ranking, constant)} costs {price}")
        parts += [sentence_case("; ".join(rest)) + "."] if rest else []
        return sentence_case(_no_clear_winner(ranking, best) + _at_lambda(ranking) + " ".join(parts))
    loss, unclear = cost_text(ranking, best.figures["loss"]), _no_clear_winner(ranking, best)
    if unclear:
        is_best = f"has the lowest loss ({loss}, within noise of all others):"
    else:
        is_best = f"is best (loss {loss}):" if _is_ahead(ranking, best) else f"has the lowest loss ({loss}):"
    first = f"{best.title} {is_best} it {_needs(ranking, best, True)}"
    second = "" if other is None else f"; {role} ({other.title}) {_needs(ranking, other)}"
    if beaten and without is not None:
        price, share = cost_text(ranking, without.figures["loss"]), 100 * without.figures["accuracy"]
        words = reference_in_words(ranking, without)
        second = f"; no {kind} has a lower loss than {words} ({price}, {share:.1f} % correct)"
    return sentence_case(f"{unclear}{_at_lambda(ranking)}{first}{second}.")


def _no_clear_winner(ranking: Ranking, best: RankedMethod) -> str:
    """How the answer begins where no method, reference points apart, is worse than the best by more than noise."""
    others = _verdicts_of_others(ranking, best)
    return "no clear winner: " if others and all(verdict == "noise" for verdict in others) else ""


def _is_ahead(ranking: Ranking, best: RankedMethod) -> bool:
    """Whether each other method is worse than the best by more than noise."""
    return all(verdict == "higher" for verdict in _verdicts_of_others(ranking, best))


def _verdicts_of_others(ranking: Ranking, best: RankedMethod) -> list[str]:
    return [s.verdict for s in ranking.standings if s.eligible and not s.reference and s.method != best.method]


def best_elsewhere(results: pd.DataFrame) -> str:
    """Which method has the lowest loss at each other lambda that is reported; "" if there is none."""
    lam, *others = reported_lambdas(results)
    rankings = [r for other in others if (r := rank_methods(results, other)) is not None]
    found = [f"{r.best.title} at {r.lam:.4g} ({cost_text(r, r.best.figures['loss'])})" for r in rankings if r.best]
    if not found:
        return ""
    return f"This answer is for the first lambda, {lam:.4g}; the lowest loss is that of {', '.join(found)}."


def elsewhere_in_words(result: DatasetsResult) -> str:
    """For which lambda the answer over several data sets is, and which methods have the best mean rank at others."""
    found = []
    for other in (one for one in result.elsewhere if len(one.best)):
        names, test = _names_of([result.titles[method] for method in other.best.index]), other.rank_test
        p = "" if test is None else f", p = {test.p:.2g}"
        found.append(f"{names} at {lambdas_text(other)} ({other.best.iloc[0]:.2f}{p})")
    start = f"This answer is for lambda {lambdas_text(result)}"
    return f"{start}; the best mean rank is that of {', '.join(found)}." if found else f"{start}."


def lambdas_text(result: DatasetsResult) -> str:
    """The lambda of all data sets, or that of each where they differ: "0.01", "0.01 (wine), 0.002 (heart)"."""
    if len(set(result.lams.values())) == 1:
        return f"{next(iter(result.lams.values())):.4g}"
    return ", ".join(f"{lam:.4g} ({name})" for name, lam in result.lams.items())


def noise_in_words(results: pd.DataFrame) -> list[str]:
    """The test that says whether a difference from the best method is noise, and a caution where splits are few."""
    n, share = int(results["split"].nunique()), float((results["n_test"] / results["n_train"]).mean())
    if n < MIN_PAIRS:
        return [
            "Noise: by the 95 % intervals of the mean losses on the test rows; from "
            f"{MIN_PAIRS} splits on, by a t test paired over the splits."
        ]
    test = (
        f"Noise: by a t test at 95 % of the differences from the best, paired over the {n} splits, with the variance "
        "corrected for training rows in common (Nadeau and Bengio, 2003)."
    )
    least, many = least_found(n, share), least_found(MANY_SPLITS, share)
    caution = (
        f"With {n} splits only a difference above {least:.1f} of its standard deviations over the splits is more than "
        f'noise, so that "noise" says little; with {MANY_SPLITS} splits, above {many:.1f}.'
    )
    return [test] if n >= ENOUGH_SPLITS else [test, caution]


def noise_over_datasets(results: Mapping[str, pd.DataFrame]) -> list[str]:
    """``noise_in_words`` of several data sets, each with its names where they differ."""
    names: dict[str, list[str]] = {}
    for name, table in results.items():
        names.setdefault(" ".join(noise_in_words(table)), []).append(name)
    return [f"{listing(own)}: {text}" if len(names) > 1 else text for text, own in names.items()]


def difference_text(ranking: Ranking, row: Mapping[str, Any]) -> str:
    """A difference of losses with the p-value of its test, else whether it is noise: "+0.034, p 0.012"."""
    value, p = float(row["difference"]), float(row["difference_p"])
    if math.isnan(value):
        return "–"
    text = f"{'+' if value >= 0 else '-'}{cost_text(ranking, abs(value))}"
    return f"{text}, {row['verdict']}" if math.isnan(p) else f"{text}, p {p:.3f}" if p >= 0.001 else f"{text}, p <.001"


def price_caution(results: pd.DataFrame) -> str:
    """What a price counts beside error costs, where every lambda that is reported is far from 1; "" elsewhere."""
    ranking = rank_methods(results)
    if ranking is None or not (ranking.has_error_costs and ranking.has_prices):
        return ""
    if not all(lam > 0 and not 1 / FAR_FROM_ONE < lam < FAR_FROM_ONE for lam in reported_lambdas(results)):
        return ""
    return (
        f"At lambda {ranking.lam:.4g} a price of 100 counts as {100 * ranking.lam:.4g} beside the error costs: if both "
        f"are in one unit, pass {option_text('lam', 1)}."
    )


def _reference_sentence(ranking: Ranking, best: RankedMethod) -> str:
    what = reference_in_words(ranking, best)
    if ranking.has_error_costs:
        costs = f"costs least, {_cost_of(ranking, best, parts=best.acquires)}"
    else:
        share = f"{100 * best.figures['accuracy']:.1f} % correct"
        costs = f"has the lowest loss ({cost_text(ranking, best.figures['loss'])}, {share})"
    end = "no selection of features pays" if best.acquires else "acquiring does not pay"
    lowest = not any(s.figures["loss"] < best.figures["loss"] for s in ranking.standings)  # also those with a flag
    return sentence_case(f"{_at_lambda(ranking)}{what} {costs}{f': {end} at these prices' if lowest else ''}.")


def _runner_up(ranking: Ranking, best: RankedMethod) -> list[str]:
    """The best method that acquires something, where a reference point is the best."""
    other = ranking.best_of(best.method, reference=False, acquires=True)
    if other is None or (best.acquires and not ranking.pays(other)):
        return []
    costs = f"{'costs' if ranking.has_error_costs else 'has loss'} {cost_text(ranking, other.figures['loss'])}"
    noise = ", which is within noise" if other.verdict == "noise" else ""
    who = "The best method" if best.acquires else "The best method that acquires anything"
    return [f"{who}, {other.title}, {costs}{noise}."]


def _at_lambda(ranking: Ranking) -> str:
    if ranking.has_error_costs and ranking.lam == 1:
        return ""
    if ranking.lam == 0:
        return "where acquisitions cost nothing, "
    if ranking.has_error_costs or ranking.has_prices:
        return f"at lambda {ranking.lam:.4g}, "
    return f"at {ranking.lam:.4g} {'a feature' if ranking.counted == 'n_features' else 'an acquisition'}, "


def _cost_of(ranking: Ranking, standing: RankedMethod, parts: bool = True) -> str:
    """Such as "29.8 per case (95 % interval 26.1 to 33.9): 9.1 for prices, 20.7 for errors".

    All in the unit of the errors; where that of the prices is another, it is said that they are times lambda.
    """
    figures, interval = standing.figures, interval_text(ranking, standing)
    text = f"{cost_text(ranking, figures['loss'])} per case" + (f" (95 % interval {interval})" if interval else "")
    if not parts:
        return text
    spent, errors = (cost_text(ranking, figures[name]) for name in ("acquisition_cost", "error_cost"))
    return f"{text}: {spent} for {'' if ranking.lam == 1 else 'lambda times the '}prices, {errors} for errors"


def _recalls(standing: RankedMethod) -> str:
    """How many cases of each class are found, and of 1,000 cases missed."""
    recall, wrong = standing.shares["recall"], standing.shares["wrong"]
    if not 0 < len(recall) <= MAX_CLASSES:
        return ""
    found = _names_of([f"{100 * share:.0f} % of {label}" for label, share in recall.items()])
    missed = _names_of([f"{1000 * wrong[label]:.0f} {label}" for label in recall])
    return f"; it finds {found}; of 1,000 cases, {missed} get a wrong answer"


def _needs(ranking: Ranking, standing: RankedMethod, full: bool = False) -> str:
    """How much a method acquires and how often it is correct."""
    figures = standing.figures
    amount = f"{figures[ranking.counted]:.1f}{' ' + ranking.unit if full else ''}"
    if ranking.has_prices:
        amount = f"{figures['spent']:.3g} paid and {figures[ranking.counted]:.1f} {ranking.unit}"
    text = f"needs {amount}{' per case' if full else ''} for {100 * figures['accuracy']:.1f} %"
    text += " correct answers" if full else ""
    if ranking.imbalanced:
        auc = figures.get("auc", math.nan)
        more = f"balanced accuracy {100 * figures['balanced_accuracy']:.1f} %"
        text += f" ({more}{'' if math.isnan(auc) else f', AUC {auc:.2f}'})"
    return text


def _savings(ranking: Ranking, best: RankedMethod) -> list[str]:
    """What the best method saves against both reference points, where prices and errors are in one unit."""
    if not (ranking.has_error_costs and ranking.has_prices and ranking.lam == 1):
        return []
    own, saved = best.figures["loss"], []
    nothing = "acquiring nothing (not even what is free)" if ranking.has_free else "acquiring nothing"
    for what, name in zip((nothing, "acquiring everything"), REFERENCES, strict=True):
        standing = ranking.standing_of(name)
        other = math.nan if standing is None else standing.figures["loss"]
        if other > max(own, 0):
            share = f"{100 * (1 - own / other):.0f} %"
            share += "" if standing is None or standing.verdict != "noise" else ", within noise"
            saved.append(f"{cost_text(ranking, other - own)} per case ({share}) against {what}")
    return [f"{best.title} saves {' and '.join(saved)}."] if saved else []


def _first_acquisition(best: RankedMethod) -> list[str]:
    """What the best method acquires first and for how many cases; what it acquires, if that has no order."""
    first, paid = best.shares["first"], best.shares["first_paid"]
    if first:
        (name, share), *_ = first.items()
        if not paid or name in paid:
            return [f"{best.title} acquires {_most_frequent(first)}."]
        free = f"{best.title} first acquires {name}, which is free, for {share_of_cases(share)}"
        return [f"{free}; of what is not free, it acquires {_most_frequent(paid)}."]
    usage = best.shares["usage"]
    if not usage:
        return []
    if best.fixed:
        return [f"{best.title} acquires the same for every case{_fixed_set(best)}."]
    name, share = next(iter(usage.items()))
    return [f"{best.title} uses {name} most often, for {share_of_cases(share)}."]


def _fixed_set(best: RankedMethod) -> str:
    """What a method acquires that acquires the same for every case, which may be another set in each split."""
    splits = [{name for name, share in split.items() if share} for split in objects_of(best.chosen, "usage")]
    used = [name for name, share in best.shares["usage"].items() if share]
    every = [name for name in used if all(name in split for split in splits)]
    if not used or len(every) == len(used):
        return f": {_names_of(used)}" if used else ""
    if every:
        return f" of a split: {_names_of(every)} in each split, {len(used) - len(every)} more in some"
    n = sum(used[0] in split for split in splits)
    return f" of a split: most often {used[0]}, in {n} of {len(splits)} splits"


def _most_frequent(shares: Mapping[str, float]) -> str:
    """The two most frequent first acquisitions, the second one only where the first is not that of nearly all cases."""
    (name, share), *others = shares.items()
    text = f"{name} first for {share_of_cases(share)}"
    if others and share < 0.9 and others[0][1] >= 0.05:
        text += f", {others[0][0]} for {100 * others[0][1]:.0f} %"
    return text


def _noise(ranking: Ranking) -> list[str]:
    # always named first: nothing acquired, as perhaps no price pays
    standings = sorted(ranking.standings, key=lambda s: s.method != CONSTANT)
    verdicts = {s.title: s.verdict for s in standings if s.verdict}
    if "unknown" in verdicts.values():
        few = "one split" if ranking.splits == 1 else f"{ranking.splits} splits"
        return [f"With {few} it is unknown whether these differences are noise; use at least {MIN_PAIRS} splits."]
    close = [title for title, verdict in verdicts.items() if verdict == "noise"]
    source = f"{ranking.splits} splits" if ranking.splits >= MIN_PAIRS else "test rows"
    if not close:
        return []
    difference, verb = ("differences from", "are") if len(close) > 1 else ("difference from", "is")
    return [f"The {difference} {_names_of(close)} {verb} within the noise of the {source}."]


def _names_of(titles: Sequence[str]) -> str:
    """Names in a sentence: "A, B and C"; the first ones and how many others there are, where there are many."""
    shown = list(titles if len(titles) <= SHOWN else titles[: SHOWN - 1])
    others = len(titles) - len(shown)
    shown += [f"{others} others"] if others else []
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _prices_of_promises(ranking: Ranking) -> list[str]:
    """What calibrated models acquire and pay more than they would without what they promise."""
    sentences = []
    for standing in ranking.standings:
        if "promise_spent" in standing.chosen and standing.chosen["promise_spent"].notna().any():
            more, paid = (standing.chosen[f"promise_{name}"].mean() for name in ("n_acquisitions", "spent"))
            sentences.append(
                f"The promise of {standing.title} costs {more:.2f} acquisitions a case more than without it, at a "
                f"price of {paid:.3g} more."
            )
    return sentences


def _failed(ranking: Ranking) -> list[str]:
    """Which methods have no figures, since their table rows are easily overlooked; reference points apart."""
    sentences = []
    for in_all, where in ((True, ""), (False, " in some split")):
        names = [
            s.title
            for s in ranking.standings
            if s.flag == "fits failed" and s.chosen.empty == in_all and not s.reference
        ]
        if names:
            all_fits = f"all {'their' if len(names) > 1 else 'its'} fits failed{where}"
            sentences.append(f"{_names_of(names)} could not be compared: {all_fits}.")
    return sentences


def _flagged(ranking: Ranking, best: RankedMethod) -> list[str]:
    """Methods that cannot be the best, and are not judged, because of their training rows."""
    sentences, others = [], dict[str, list[str]]()
    for standing in ranking.standings:
        if "train" not in standing.flag:
            continue
        unknown = standing.flag.endswith("unknown")
        if standing.figures["loss"] < best.figures["loss"]:
            reason = "its training rows are unknown" if unknown else f"it was {standing.flag}"
            loss = cost_text(ranking, standing.figures["loss"])
            sentences.append(f"{standing.title} is not ranked: its loss is {loss}, but {reason}.")
        else:
            others.setdefault("training rows unknown" if unknown else standing.flag, []).append(standing.title)
    for reason, names in others.items():
        sentences.append(f"{_names_of(names)} {'are' if len(names) > 1 else 'is'} not ranked ({reason}).")
    return sentences


def headline_table(ranking: Ranking, short: bool = False) -> dict[str, list[str]]:
    """The columns of a table of the ranking's standings, by heading; where ``short``, with narrow cells.

    The column ``FROM_BEST`` says whether the loss differs from the lowest one by more than noise; ``DIFFERENCE`` by how
    much, with its 95 % interval, where the loss is a cost.
    """
    columns = _cost_columns(ranking) if ranking.has_error_costs else _accuracy_columns(ranking, short)
    words = {"": "–"} if short else {"": "–", "noise": "within noise"}
    if ranking.has_error_costs:
        columns[DIFFERENCE] = [_from_best_text(ranking, s) for s in ranking.standings]
    columns[FROM_BEST] = [words.get(s.verdict, s.verdict) for s in ranking.standings]
    used = f"{ranking.unit} used" if ranking.counted == "n_features" else ranking.unit
    columns[used] = [mean_text(s.figures, ranking.counted, 1, short) for s in ranking.standings]
    if ranking.has_prices and not ranking.has_error_costs:
        columns["price paid"] = [mean_text(s.figures, "spent", 2, short) for s in ranking.standings]
    return {heading: cells for heading, cells in columns.items() if set(cells) != {"–"}}


def _from_best_text(ranking: Ranking, standing: RankedMethod) -> str:
    """By how much a loss is above that of the best, with its 95 % interval: "+1.2 (-0.3 to 2.7)"; a dash if unknown."""
    if any(math.isnan(value) for value in standing.from_best):
        return "–"
    difference, low, high = (cost_text(ranking, value) for value in standing.from_best)
    return f"{'' if standing.from_best[0] < 0 else '+'}{difference} ({low} to {high})"


def losses_table(
    results: pd.DataFrame, lam: Sequence[float] | None = None
) -> tuple[list[tuple[Ranking, RankedMethod]], dict[str, list[str]]]:
    """``headline_table`` at each ``lam``, one below the other; by default at those that ``compare`` reports.

    Returns the ranking and the standing of each row, and by heading the cells of all rows.
    Every cell is that of the setting trained for the lambda, else of the lowest loss on the validation parts, as in
    ``summarise(results).losses``.
    """
    lams = reported_lambdas(results) if lam is None else lam
    rankings = [found for one in lams if (found := rank_methods(results, one)) is not None]
    tables = [headline_table(ranking) for ranking in rankings]
    headings = dict.fromkeys(heading for table in tables for heading in table)
    columns = {
        heading: [
            cell
            for ranking, table in zip(rankings, tables)
            for cell in table.get(heading, ["–"] * len(ranking.standings))
        ]
        for heading in headings
    }
    return [(ranking, s) for ranking in rankings for s in ranking.standings], columns


def _cost_columns(ranking: Ranking) -> dict[str, list[str]]:
    costs = {
        name: ["–" if math.isnan(s.figures[name]) else cost_text(ranking, s.figures[name]) for s in ranking.standings]
        for name in ("loss", "acquisition_cost", "error_cost")
    }
    recalls = [s.shares["recall"] for s in ranking.standings]
    labels = next(filter(None, recalls), {})
    return {
        "cost per case": costs["loss"],
        INTERVAL: [interval_text(ranking, s, "–") or "–" for s in ranking.standings],
        "for prices": costs["acquisition_cost"],
        "for errors": costs["error_cost"],
        **{
            f"finds {label}": [f"{100 * recall[label]:.0f} %" if label in recall else "–" for recall in recalls]
            for label in labels
            if len(labels) <= MAX_CLASSES
        },
    }


def _accuracy_columns(ranking: Ranking, short: bool) -> dict[str, list[str]]:
    names = ["loss", "accuracy", *(("balanced_accuracy", "auc") if ranking.imbalanced else ())]
    figures = [s.figures for s in ranking.standings]
    return {ALL_LABELS[name]: [mean_text(f, name, 3, short) if name in f else "–" for f in figures] for name in names}
