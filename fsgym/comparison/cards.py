"""Single cases as cards: what was acquired, what was believed after each answer, and what the case cost."""

from __future__ import annotations

from typing import Any

from fsgym.comparison.ranking import Ranking, Standing
from fsgym.comparison.result import Comparison
from fsgym.comparison.summary import settings_text
from fsgym.sentences import belief_text, beliefs_in_words, price_text, values_text

OF_MOST_CASES = 0.5  # acquisitions per row, below which a setting's cases are not shown


def cards_of(comparison: Comparison, ranking: Ranking) -> list[dict[str, Any]]:
    """Cards of each method with an order, in the order of the ranking: ``title``, ``setting`` and ``cards``.

    They are test rows of the first split, at the setting that was chosen there on validation data. Methods whose
    setting acquires nothing for most rows, and reference points, have none.
    """
    shown = []
    for standing in ranking.standings:
        first = standing.chosen[standing.chosen["split"] == 0]
        if standing.reference or first.empty or first["n_acquisitions"].iloc[0] < OF_MOST_CASES:
            continue
        wanted = (0, standing.method, first["setting"].iloc[0])
        rows = (o for o in comparison.outcomes if (o.row["split"], o.row["method"], o.row["setting"]) == wanted)
        outcome = next(rows, None)
        if outcome is not None and outcome.examples:
            cards = [card_of(example, comparison, ranking) for example in outcome.examples]
            shown.append(_method_cards(standing, outcome.row["params"], cards))
    return shown


def _method_cards(standing: Standing, params: str, cards: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": standing.title, "flag": standing.flag, "setting": settings_text(params), "cards": cards}


def card_of(example: dict[str, Any], comparison: Comparison, ranking: Ranking) -> dict[str, Any]:
    """An example with its values, beliefs and costs as text."""
    labels = [str(label) for label in comparison.protocol.dataset.classes]
    beliefs = example["beliefs"]
    changes = [""] * len(example["steps"]) if beliefs is None else beliefs_in_words(beliefs, labels)
    steps = [
        {
            "text": values_text(step["name"], step["values"]),
            "price": _price_text(step["price"], ranking),
            "belief": change,
        }
        for step, change in zip(example["steps"], changes)
    ]
    return example | {
        "steps": steps,
        "prior": "" if beliefs is None else belief_text(beliefs[0], beliefs[0], labels),
        "costs": _costs_in_words(example, ranking),
    }


def _price_text(price: float, ranking: Ranking) -> str:
    return price_text(price) if ranking.has_prices else ""


def _costs_in_words(example: dict[str, Any], ranking: Ranking) -> str:
    """What a case cost: prices, errors, and their sum."""
    prices, error, total = (
        f"{v:.6g}" for v in (example["cost"] - example["error_cost"], example["error_cost"], example["cost"])
    )
    text = f"{'cost' if ranking.has_error_costs else 'loss'} {total}"
    text += f": {prices} for prices, {error} for the error" if example["error_cost"] else ""
    return text if ranking.lam == 1 or not ranking.has_prices else f"{text}; {example['paid']:.6g} paid"
