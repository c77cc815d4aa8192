"""Why a model asks its question, or stops, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsgym.data.targets import NumberInWords
from fsgym.session.step import Alternative, Step
from fsgym.text.sentences import answer_now_text, parted, price_text, probability_text, share_text, unused_text
from fsgym.text.speech import cost_text, said

RUNNERS_UP = 2  # other acquisitions that are mentioned


def explain_step(step: Step, lam: float, cutoff: str = "") -> str:
    """What a step rests on: beliefs, expected costs, and the next best acquisitions.

    ``lam`` is the value of one unit of ``costs``, in units of the error costs; ``cutoff`` the sentence of
    ``cutoff_text``.
    """
    unused = [unused_text(step.unused)] if step.unused else []
    cutoffs = [cutoff] if cutoff else []
    return " ".join([*_belief(step), *cutoffs, *_decision(step, lam), *_others(step), *unused])


def explain_stop(step: Step, cutoff: str = "") -> str:
    """What a person stopped with where the model would have asked its question: beliefs and expected costs then."""
    assert step.question is not None
    asked = {"name": step.question.name, "price": price_text(step.question.price)}
    sentences = [said("stopped_referred" if step.refers else "stopped_answer", answer=step.answer, **asked)]
    if step.probabilities is not None:
        sentences.append(said("believed", shown=_beliefs(step.probabilities, step)[0]))
        sentences += [cutoff] if cutoff else []
    stop, go_on = step.expected_cost
    if stop is not None and go_on is not None:
        sentences.append(said("stopped_costs", stop=cost_text(stop), on=cost_text(go_on)))
    return " ".join(sentences)


def _belief(step: Step) -> list[str]:
    if step.probabilities is None:
        return [answer_now_text(step.answer, step.refers)]
    shown, is_likeliest = _beliefs(step.probabilities, step)
    why = "believes_error" if isinstance(step.answer, NumberInWords) else "believes_costs"
    sentence = "believes_refers" if step.refers else "believes" if is_likeliest else why
    return [said(sentence, shown=shown, answer=step.answer)]


def _beliefs(probabilities: Mapping[Any, float], step: Step) -> tuple[str, bool]:
    """The two likeliest classes and the answer with their probabilities, and whether the answer is the likeliest."""
    ranked = sorted(probabilities.items(), key=lambda pair: -pair[1])
    shares = {label: probability_text(share) for label, share in ranked}
    labels = list(shares)[:2]
    is_likeliest = not step.refers and shares[step.answer] == shares[labels[0]]
    if not (step.refers or is_likeliest) and step.answer not in labels:
        labels.append(next(label for label in shares if label == step.answer))  # of a number: its range
    texts = [share_text(label, probabilities[label]) for label in labels]
    return said("and", first=parted(texts[:-1]), last=texts[-1]), is_likeliest


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
