"""Single cases in a report: as cards, and those of the best agent that the reader plays, at each of its lambdas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fsgym.comparison.answer import answer_in_words
from fsgym.comparison.examples import case_of, with_units
from fsgym.comparison.planned import Comparison, Outcome
from fsgym.comparison.ranking import Ranking, Standing, rank_methods
from fsgym.comparison.summary import settings_text
from fsgym.text.sentences import belief_text, beliefs_in_words, price_text, probability_text, values_text
from fsgym.text.shown import in_script

OF_MOST_CASES = 0.5  # acquisitions per row, below which a setting's cases are not shown
MOST_REPORT_BYTES = 3_000_000  # of a report; cases are left out, and then the chart, where it would be larger
# What ``probability_text`` writes, from the lowest to the highest, with the length of the bar in per cent.
BAR_LENGTHS = {
    "0 %": 0.0,
    "below 1 %": 0.5,
    **{f"{percent} %": float(percent) for percent in range(1, 100)},
    "above 99 %": 99.5,
    "100 %": 100.0,
}


def cards_of(comparison: Comparison, ranking: Ranking) -> list[dict[str, Any]]:
    """Cards of each method with an order, in the order of the ranking: ``title``, ``flag``, ``setting`` and ``cards``.

    They are test rows of the first split, at the setting that was chosen there on validation data. Methods whose
    setting acquires nothing for most rows, and reference points, have none.
    """
    shown = []
    for standing in ranking.standings:
        outcome = comparison.chosen(standing).get(0)
        if standing.reference or outcome is None or outcome.row["n_acquisitions"] < OF_MOST_CASES:
            continue
        if outcome.examples:
            cards = [card_of(example, comparison, ranking) for example in outcome.examples]
            setting = settings_text(outcome.row["params"])
            shown.append({"title": standing.title, "flag": standing.flag, "setting": setting, "cards": cards})
    return shown


def card_of(example: dict[str, Any], comparison: Comparison, ranking: Ranking) -> dict[str, Any]:
    """An example with its values, beliefs and costs as text."""
    labels = [str(label) for label in comparison.protocol.dataset.classes]
    beliefs = example["beliefs"]
    changes = [""] * len(example["steps"]) if beliefs is None else beliefs_in_words(beliefs, labels)
    steps = [
        {
            "text": values_text(step["name"], step["values"]),
            "price": price_text(step["price"]) if ranking.has_prices else "",
            "belief": change,
        }
        for step, change in zip(example["steps"], changes)
    ]
    prior = "" if beliefs is None else belief_text(beliefs[0], beliefs[0], labels)
    return example | {"steps": steps, "prior": prior, "costs": _costs_in_words(example, ranking)}


def _costs_in_words(example: dict[str, Any], ranking: Ranking) -> str:
    """What a case cost: prices, errors, and their sum."""
    total, error = example["cost"], example["error_cost"]
    text = f"{'cost' if ranking.has_error_costs else 'loss'} {total:.6g}"
    text += f": {total - error:.6g} for prices, {error:.6g} for the error" if error else ""
    return text if ranking.lam == 1 or not ranking.has_prices else f"{text}; {example['paid']:.6g} paid"


class PlayedSetting(NamedTuple):
    """One place of the slider: the ``outcome`` of the first split, and a ``label`` such as "lambda 0.01".

    ``answer`` has the sentences of ``answer_in_words`` at this lambda. ``note`` says which setting they are about in
    the first split, if that is another one. Both are empty for a setting that is no lambda, where ``lam`` is None.
    """

    outcome: Outcome
    lam: float | None
    label: str
    answer: list[str]
    note: str

    @property
    def played(self) -> dict[str, list]:
        assert self.outcome.played is not None
        return self.outcome.played


class Played:
    """The recorded cases of the best agent, which has this ``standing``.

    ``settings`` are in the order of their lambda, from the highest to the lowest, that is from the cheapest to the
    dearest; ``start`` is the number of the one at the lambda of the report, or at the closest one. ``test``
    are the test rows of the first split; ``cases`` the recorded ones at each setting: cards, and of each step its
    ``question``, ``asked_price`` and ``paid``.
    """

    def __init__(self, comparison: Comparison, ranking: Ranking, standing: Standing, outcomes: list[Outcome]) -> None:
        self.standing = standing
        self._comparison, self._ranking = comparison, ranking
        self.settings = _settings_in_order(comparison, ranking, outcomes)
        distances = [np.inf if s.lam is None else abs(s.lam - ranking.lam) for s in self.settings]
        self.start = int(np.argmin(distances))
        self.test = comparison.protocol.parts(0).test
        self.cases = [self._cases_of(setting) for setting in self.settings]

    @property
    def moves(self) -> bool:
        """Whether there are several lambdas, and so a slider."""
        return len(self.settings) > 1 and all(s.lam is not None for s in self.settings)

    @property
    def n_recorded(self) -> int:
        """Number of rows that were recorded at every setting."""
        return min(len(s.played["rows"]) for s in self.settings)

    @property
    def example(self) -> dict[str, Any]:
        """The first case at the setting ``start`` that acquires anything, if there is one, as a card."""
        cases = self.cases[self.start]
        return next((case for case in cases if case["steps"]), cases[0])

    def _cases_of(self, setting: PlayedSetting) -> list[dict[str, Any]]:
        protocol, rules, played = self._comparison.protocol, self._comparison.protocol.rules, setting.played
        lam = rules.lam if setting.lam is None else setting.lam
        cases = []
        columns = (played[name][: self.n_recorded] for name in ("rows", "order", "beliefs", "answers"))
        for i, order, beliefs, answer in zip(*columns, strict=True):
            example = case_of(rules, self.test, i, np.array(order, np.int32), answer) | {"beliefs": beliefs}
            example["cost"] = lam * example["paid"] + example["error_cost"]
            (example,) = with_units([example], protocol.dataset)
            card = card_of(example, self._comparison, self._ranking._replace(lam=lam))
            spent = np.cumsum([step["price"] for step in example["steps"]])
            for step, asked, paid, j in zip(card["steps"], example["steps"], spent, order, strict=True):
                step |= {"question": j, "asked_price": price_text(asked["price"]), "paid": f"paid so far {paid:.4g}"}
            cases.append(card)
        return cases

    def to_json(self, room: int) -> tuple[str, int]:
        """All settings with their cases as JSON for a ``script`` element, and how many rows it has.

        The last rows are left out where it would have more than ``room`` bytes, down to none. ``<`` is escaped.
        """
        n = self.n_recorded
        while True:
            compact = json.dumps(self._compact(n), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            text = in_script(compact)
            size = len(text.encode())
            if size <= room or n == 0:
                return text, n
            n = min(n - 1, n * max(room, 0) // size)

    def _compact(self, n: int) -> dict[str, Any]:
        """The first ``n`` rows; every text stands once, and cases refer to it by its place in ``texts``."""
        protocol, places = self._comparison.protocol, {"": 0}

        def place(text: str) -> int:
            return places.setdefault(text, len(places))

        settings = [
            {"label": s.label, "answer": s.answer, "note": s.note, "cases": [_compact_case(c, place) for c in own[:n]]}
            for s, own in zip(self.settings, self.cases, strict=True)
        ]
        return {
            "classes": [str(label) for label in protocol.dataset.classes],
            "shares": list(BAR_LENGTHS.items()),
            "questions": list(protocol.rules.names),
            "texts": list(places),
            "start": self.start,
            "settings": settings,
        }


def played_of(comparison: Comparison, ranking: Ranking) -> Played | None:
    """The recorded cases of the best method that asks case by case and was recorded; None if there is none.

    Results that were written before cases were recorded have none.
    """
    recorded = [o for o in comparison.outcomes if o.row["split"] == 0 and o.played]
    for standing in ranking.standings:
        own = [o for o in recorded if o.row["method"] == standing.method]
        if own and not standing.reference and not standing.fixed:
            return Played(comparison, ranking, standing, own)
    return None


def chart_of(comparison: Comparison, ranking: Ranking) -> tuple[Standing, str] | None:
    """The chart of the best method that has one, as SVG, at its chosen setting in the first split."""
    for standing in ranking.standings:
        outcome = comparison.chosen(standing).get(0)
        if outcome is not None and outcome.chart:
            return standing, outcome.chart
    return None


def _settings_in_order(comparison: Comparison, ranking: Ranking, outcomes: list[Outcome]) -> list[PlayedSetting]:
    settings = []
    for outcome in outcomes:
        lam = json.loads(outcome.row["params"]).get("lam")
        if not isinstance(lam, int | float):
            settings.append(PlayedSetting(outcome, None, settings_text(outcome.row["params"]), [], ""))
            continue
        at_lam = ranking if lam == ranking.lam else rank_methods(comparison.results, lam)
        note = "" if at_lam is None else _note_on_setting(comparison, at_lam, outcome)
        settings.append(PlayedSetting(outcome, lam, f"lambda {lam:.4g}", answer_in_words(at_lam), note))
    by_lam = all(s.lam is not None for s in settings)
    return sorted(settings, key=lambda s: -(s.lam or 0.0) if by_lam else s.outcome.row["spent"])


def _note_on_setting(comparison: Comparison, ranking: Ranking, outcome: Outcome) -> str:
    """Says so where validation data chose another setting of the method at this lambda than the one that is played."""
    (standing,) = (s for s in ranking.standings if s.method == outcome.row["method"])
    chosen = comparison.chosen(standing).get(0, outcome)
    if chosen.row["setting"] == outcome.row["setting"]:
        return ""
    played, other = (settings_text(o.row["params"]) for o in (outcome, chosen))
    return f"The setting played is {played}; for the answer at this lambda, validation data chose {other} here."


def _compact_case(case: dict[str, Any], place: Callable[[str], int]) -> list[Any]:
    """``[correct, verdict, costs, prior, steps, beliefs]``, texts by their places."""
    verdict = f"answer {case['answer']}, correct"
    if not case["correct"]:
        verdict = f"answer {case['answer']}, wrong: the true class is {case['true_class']}"
    steps = [
        [step["question"], *(place(step[name]) for name in ("text", "asked_price", "paid", "belief"))]
        for step in case["steps"]
    ]
    ranks = {text: rank for rank, text in enumerate(BAR_LENGTHS)}
    beliefs = [[ranks[probability_text(abs(share))] for share in belief] for belief in case["beliefs"]]
    return [int(case["correct"]), place(verdict), place(case["costs"]), place(case["prior"]), steps, beliefs]
