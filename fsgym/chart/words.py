"""A chart in sentences, and as a Mermaid diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsgym.chart.views import BoxView, Branch
from fsgym.text.sentences import parted, price_text, probability_text, share_text
from fsgym.text.speech import money_text, number_text, said

CLASSES_NAMED = 4  # of a box
FEW_CASES = 30  # by hand: of fewer, wrong answers are counted
PLAIN_IN_MERMAID = " .,%=_-+/'"  # signs that are no part of its language inside quotes


def price_range_text(price: tuple[float, float]) -> str:
    """The price of a question in words.

    >>> price_range_text((2, 2)), price_range_text((0, 3))
    ('price 2', 'price 0 to 3')
    """
    low, high = number_text(price[0]), money_text(price[1])
    return price_text(price[0]) if number_text(price[1]) == low else said("price_range", low=low, high=high)


def paid_text(paid: tuple[float, float]) -> str:
    """What was paid in all.

    >>> paid_text((2, 2)), paid_text((1, 3))
    ('paid 2', 'paid 1 to 3')
    """
    low, high = number_text(paid[0]), money_text(paid[1])
    return said("paid", paid=high) if number_text(paid[1]) == low else said("paid_range", low=low, high=high)


def wrong_text(wrong: float, n: int) -> str:
    """The share of wrong answers among n cases; of few cases their number, as a share of them says little.

    >>> wrong_text(0.5, 6), wrong_text(0.5, 600)
    ('3 of 6 wrong', '50 % wrong')
    """
    if n < FEW_CASES:
        return said("count_wrong", wrong=round(wrong * n), n=n)
    return said("share_wrong", share=probability_text(wrong))


def classes_text(classes: Sequence[float], labels: Sequence[Any]) -> str:
    """Shares of classes, the largest first where not all are named."""
    ranked = list(zip(labels, classes))
    if len(ranked) > CLASSES_NAMED:
        ranked = sorted(ranked, key=lambda pair: -pair[1])[:CLASSES_NAMED]
        return parted([*(share_text(label, p) for label, p in ranked if p), "..."])
    return parted([share_text(label, p) for label, p in ranked])


def branch_end_text(branch: Branch, as_leaf: bool = False) -> str:
    """Where a branch leads, in words; ``as_leaf``, in a node of its own, an answer is named alone."""
    if branch.goes_to is not None:
        return said("goes_to", number=branch.goes_to)
    details = [] if branch.wrong is None else [wrong_text(branch.wrong, branch.n)]
    details += [] if branch.paid is None else [paid_text(branch.paid)]
    answer = str(branch.answer) if as_leaf and not branch.cut else said("answers", answer=branch.answer)
    answer += f" ({', '.join(details)})" if details else ""
    if not branch.cut:
        return answer
    if branch.share is None:
        return said("not_in_chart", name=branch.cut)
    return said("cut_here", answer=answer, name=branch.cut)


def condition_words(branch: Branch) -> str:
    """The condition of a branch, with "unknown" for a question without an answer."""
    if branch.answered:
        return branch.condition or said("any_value")
    return said("unknown_and", condition=branch.condition) if branch.condition else said("unknown")


def in_sentences(views: Sequence[BoxView], labels: Sequence[Any], headline: str) -> str:
    """A chart as numbered paragraphs: what is asked, and where each answer leads."""
    lines = [headline]
    for view in views:
        known = f" Known: {', '.join(view.known)}." if view.known else ""
        without = f" Unknown: {', '.join(view.unavailable)}." if view.unavailable else ""
        classes = f"; {classes_text(view.classes, labels)}" if view.classes else ""
        lines.append("")
        lines.append(
            f"{view.number}. Ask for {view.question} ({price_range_text(view.price)}).{known}{without} "
            f"{probability_text(view.share)} of all cases come here{classes}."
        )
        for row in view.rows:
            line = f"   {'  ' * row.depth}- {row.condition}"
            if row.branch is not None:
                branch = view.branches[row.branch]
                share = "" if branch.share is None else f" ({probability_text(branch.share)} of them)"
                line += f"{share}: {branch_end_text(branch)}"
            lines.append(line + ("" if row.branch is not None else ":"))
        lines += [f"   ({note})" for note in (view.note, view.left_out) if note]
    return "\n".join(lines)


def in_mermaid(views: Sequence[BoxView], labels: Sequence[Any]) -> str:
    """A chart as a Mermaid flow chart, from left to right."""
    lines = ["flowchart LR"]
    for view in views:
        about = f"{price_range_text(view.price)}, {probability_text(view.share)}"
        lines.append(f'    b{view.number}["{_mermaid_text(view.question, about)}"]')
        for k in [row.branch for row in view.rows if row.branch is not None]:
            branch = view.branches[k]
            label = condition_words(branch)
            share = "" if branch.share is None else f", {probability_text(branch.share)}"
            edge = f'-->|"{_mermaid_text(label + share)}"|' if branch.answered else f'-.->|"{_mermaid_text(label)}"|'
            if branch.goes_to is not None:
                lines.append(f"    b{view.number} {edge} b{branch.goes_to}")
            else:
                text = branch_end_text(branch, as_leaf=True)
                lines.append(f'    b{view.number} {edge} a{view.number}x{k}(["{_mermaid_text(text)}"])')
    return "\n".join(lines)


def _mermaid_text(*lines: str) -> str:
    """Lines of text inside quotes: signs that Mermaid would read become their numbers."""
    return "<br/>".join("".join(c if c.isalnum() or c in PLAIN_IN_MERMAID else f"#{ord(c)};" for c in v) for v in lines)
