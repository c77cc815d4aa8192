"""Why a model asks its question or stops, in sentences."""

from __future__ import annotations

from fsgym.session.step import Alternative, Step
from fsgym.text.sentences import price_text, probability_text, unused_text

RUNNERS_UP = 2  # other acquisitions that are mentioned


def explain_step(step: Step, lam: float) -> str:
    """What a step rests on: beliefs, expected costs, and the next best acquisitions.

    ``lam`` is the value of one unit of ``costs``, in units of the error costs.
    """
    unused = [unused_text(step.unused)] if step.unused else []
    return " ".join([*_belief(step), *_decision(step, lam), *_others(step), *unused])


def _belief(step: Step) -> list[str]:
    if step.probabilities is None:
        return [f"The answer now would be {step.answer}."]
    ranked = sorted(step.probabilities.items(), key=lambda pair: -pair[1])
    shares = {label: probability_text(share) for label, share in ranked}
    labels = list(shares)[:2]
    is_likeliest = shares[step.answer] == shares[labels[0]]
    if not is_likeliest and step.answer not in labels:
        labels.append(step.answer)
    texts = [f"{label} {shares[label]}" for label in labels]
    shown = f"{', '.join(texts[:-1])} and {texts[-1]}"
    why = "" if is_likeliest else ", because of the costs of errors"
    return [f"The model believes in {shown}; its answer now would be {step.answer}{why}."]


def _decision(step: Step, lam: float) -> list[str]:
    stop, go_on = step.expected_cost
    if not step.alternatives:
        return ["It stops because nothing more can be acquired."]
    first = step.alternatives[0]
    if step.question is not None and first.name != step.question.name:
        first = next((a for a in step.alternatives if a.name == step.question.name), first)
    if stop is None or go_on is None:
        if step.should_stop:
            return [f"It prefers to stop; next it would acquire {first.name} ({price_text(first.price)})."]
        return [f"It prefers to acquire {first.name} ({price_text(first.price)})."]
    value = "" if lam in (0.0, 1.0) or not first.price else f", worth {lam * first.price:.3g}"
    if step.should_stop:
        return [
            f"It stops because an answer now is expected to cost {stop:.3g}, and acquiring {first.name} "
            f"({price_text(first.price)}{value}) first {go_on:.3g}."
        ]
    return [
        f"It acquires {first.name} ({price_text(first.price)}{value}) because the case is then expected to cost "
        f"{go_on:.3g}, prices included, and an answer now {stop:.3g}."
    ]


def _others(step: Step) -> list[str]:
    others = [a for a in step.alternatives if step.question is None or a.name != step.question.name]
    others = others[1 if step.should_stop else 0 :][:RUNNERS_UP]
    if not others:
        return []
    return [f"Next in its order {'is' if len(others) == 1 else 'are'} {' and '.join(map(_alternative_text, others))}."]


def _alternative_text(alternative: Alternative) -> str:
    expected = "" if alternative.expected_cost is None else f", expected cost {alternative.expected_cost:.3g}"
    return f"{alternative.name} ({price_text(alternative.price)}{expected})"
