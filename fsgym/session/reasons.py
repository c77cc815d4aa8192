"""Why a model asks its question, or stops, in sentences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsgym.data.targets import NumberInWords
from fsgym.rules import Rules
from fsgym.rules.rules import cheapest_answers, regrets
from fsgym.session.step import Alternative, Step
from fsgym.text.sentences import (
    answer_now_text,
    class_name,
    cutoff_text,
    is_range,
    parted,
    price_text,
    probability_text,
    share_text,
    unused_text,
)
from fsgym.text.speech import cost_text, said

RUNNERS_UP = 2  # other acquisitions that are mentioned
TIE = 1e-9  # by hand: of parts of a cost that differ by less than this share, that of the likelier class is named


def explain_step(step: Step, rules: Rules) -> str:
    """What a step rests on: beliefs, expected costs, and the next best acquisitions."""
    unused = [unused_text(step.unused)] if step.unused else []
    reasons = [*_belief(step, rules), *_costs_of_errors(step, rules), *_decision(step, rules.lam)]
    return " ".join([*reasons, *_others(step), *unused])


def explain_stop(step: Step, rules: Rules) -> str:
    """What a person stopped with where the model would have asked its question: beliefs and expected costs then."""
    assert step.question is not None
    asked = {"name": step.question.name, "price": price_text(step.question.price)}
    sentences = [said("stopped_referred" if step.refers else "stopped_answer", answer=step.answer, **asked)]
    if step.probabilities is not None:
        sentences.append(said("believed", shown=_beliefs(step, rules)[0]))
        sentences += _costs_of_errors(step, rules)
    stop, go_on = step.expected_cost
    if stop is not None and go_on is not None:
        sentences.append(said("stopped_costs", stop=cost_text(stop), on=cost_text(go_on)))
    return " ".join(sentences)


def _belief(step: Step, rules: Rules) -> list[str]:
    if step.probabilities is None:
        return [answer_now_text(step.answer, step.refers)]
    shown, is_likeliest = _beliefs(step, rules)
    why = "believes_error" if isinstance(step.answer, NumberInWords) else "believes_costs"
    sentence = "believes_refers" if step.refers else "believes" if is_likeliest else why
    return [said(sentence, shown=shown, answer=step.answer)]


def _beliefs(step: Step, rules: Rules) -> tuple[str, bool]:
    """The classes that a step rests on with their probabilities, and whether the answer is the likeliest.

    These are the two likeliest ones, the answer (where the case is referred, the best class), and the class that makes
    it dear.
    """
    assert step.probabilities is not None
    shares = {label: probability_text(share) for label, share in _ranked(step)}
    labels = list(shares)[:2]
    is_likeliest = not step.refers and shares[step.answer] == shares[labels[0]]
    if not (step.refers or is_likeliest) and step.answer not in labels:
        labels.append(next(label for label in shares if label == step.answer))  # of a number: its range
    risk = _largest_risk(step, rules)
    if risk is not None:
        named = [risk.answer, risk.label] if step.refers else [risk.label]
        labels += [label for label in dict.fromkeys(named) if label not in labels]
    texts = [share_text(label, step.probabilities[label]) for label in labels]
    return said("and", first=parted(texts[:-1]), last=texts[-1]), is_likeliest


def _ranked(step: Step) -> list[tuple[Any, float]]:
    """The classes with their probabilities, the likeliest first."""
    return sorted((step.probabilities or {}).items(), key=lambda pair: -pair[1])


class _Risk(NamedTuple):
    """What makes an answer dear: the answer, its expected cost, and the class with the largest part of that."""

    answer: Any
    cost: float
    label: Any


def _largest_risk(step: Step, rules: Rules) -> _Risk | None:
    """Of the answer, or where the case is referred of the best class as the answer; None where no error costs anything.

    None also for a number: which of its ranges costs most says more of the bins than of the case.
    """
    labels = list(step.probabilities or {})
    if not labels or any(map(is_range, labels)):
        return None
    shares = np.array(list((step.probabilities or {}).values()))
    best = int(cheapest_answers(shares[None], rules.error_costs)[0]) if step.refers else labels.index(step.answer)
    costs = rules.answer_costs if step.refers else rules.error_costs
    parts = dict(zip(labels, (regrets(costs)[best] * shares).tolist(), strict=True))
    most = max(parts.values())
    if most <= 0:
        return None
    label = next(label for label, _ in _ranked(step) if parts[label] >= (1 - TIE) * most)
    return _Risk(labels[best], sum((rules.error_costs[best] * shares).tolist()), label)


def _costs_of_errors(step: Step, rules: Rules) -> list[str]:
    """From which probability on an answer is given, and the class that makes an answer dear, or a case be referred."""
    if step.probabilities is None:
        return []
    cutoff, risk = cutoff_text(list(step.probabilities), rules.answer_costs), _largest_risk(step, rules)
    sentences = [cutoff] if cutoff else []
    if risk is None:
        return sentences
    if step.refers and rules.refer_cost is not None:
        costs = {"refer": cost_text(rules.refer_cost), "cost": cost_text(risk.cost)}
        return [*sentences, said("refers_for", answer=risk.answer, name=class_name(risk.label), **costs)]
    if risk.label not in [label for label, _ in _ranked(step)[:2]]:
        sentences.append(said("costs_for", answer=risk.answer, name=class_name(risk.label)))
    return sentences


def _decision(step: Step, lam: float) -> list[str]:
    stop, go_on = step.expected_cost
    if step.should_stop and step.refers and step.certainty is not None and not step.certainty.enough:
        return [said("refers_uncertain")]
    if not step.alternatives:
        return [said("stops_done")]
    first = step.alternatives[0]
    if step.question is not None and first.name != step.question.name:
        first = next((a for a in step.alternatives if a.name == step.question.name), first)
    estimates = [a.expected_cost for a in step.alternatives if a.expected_cost is not None]
    if step.question is not None and not first.price and (go_on is None or go_on > min(estimates, default=go_on)):
        return [said("costs_nothing", name=first.name)]
    if stop is None or go_on is None:
        sentence = "prefers_stop" if step.should_stop else "prefers"
        return [said(sentence, name=first.name, price=price_text(first.price))]
    price = price_text(first.price)
    if lam not in (0.0, 1.0) and first.price:
        price = said("worth", price=price, worth=cost_text(lam * first.price))
    # only a rule of ``calibrate`` goes on at a loss
    sentence = "stops_because" if step.should_stop else "goes_on_uncertain" if go_on > stop else "goes_on"
    return [said(sentence, name=first.name, price=price, stop=cost_text(stop), on=cost_text(go_on))]


def _others(step: Step) -> list[str]:
    others = [a for a in step.alternatives if step.question is None or a.name != step.question.name]
    others = others[1 if step.should_stop else 0 :][:RUNNERS_UP]
    if not others:
        return []
    texts = [_alternative_text(a) for a in others]
    if len(texts) == 1:
        return [said("next_one", names=texts[0])]
    return [said("next_several", names=said("and", first=texts[0], last=texts[1]))]


def _alternative_text(alternative: Alternative) -> str:
    text = price_text(alternative.price)
    if alternative.expected_cost is not None:
        text = said("with_expected", price=text, cost=cost_text(alternative.expected_cost))
    return f"{alternative.name} ({text})"
