"""The words in which an episode is described: in sessions, in the text of the environments, on the cards of reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from fsgym.text.messages import listing
from fsgym.text.speech import money_text, number_text, said, spoken

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VALUES_SHOWN = 3  # of the columns of one acquisition
RANGES_NAMED = 12  # of a numeric target; by hand
# Classes, in any case; by hand
NO_NOUN = r"yes|no|true|false|y|n|ja|nein|none|some|any|all|nothing|keine?|alle|[-+.,\d].*"


def values_text(name: str, values: Sequence[tuple[str, str]], most: int = VALUES_SHOWN) -> str:
    """An acquisition with the value of its column, or with the values of its columns.

    >>> values_text("crp", [("crp", "12 mg/l")]), values_text("blood", [("wbc", "7"), ("hgb", "12")])
    ('crp = 12 mg/l', 'blood: wbc = 7, hgb = 12')
    """
    if len(values) == 1 and values[0][0] == name:
        return f"{name} = {values[0][1]}"
    shown = ", ".join(f"{column} = {value}" for column, value in values[:most])
    more = said("and_more_values", n=len(values) - most) if len(values) > most else ""
    return f"{name}: {shown}{more}"


def price_text(price: float) -> str:
    """A price in words.

    >>> price_text(2.5), price_text(0)
    ('price 2.5', 'free')
    """
    return said("price", price=money_text(price)) if price else said("free")


def unused_text(columns: Sequence[str]) -> str:
    """What is said of columns whose values are known and have no effect yet.

    >>> unused_text(["ct", "crp"])
    'Known, but not used yet: ct, crp.'
    """
    return said("unused", names=", ".join(columns))


def answers_text(labels: Sequence[Any], refer_label: str | None = None, *, are_ranges: bool = False) -> str:
    """With which answers a model answers; ``refer_label``: to whom it may refer a case.

    >>> answers_text(["harmless", "embolism"], "a person")
    'The model answers with one of harmless, embolism, or refers the case to a person.'
    """
    refers = "" if refer_label is None else said("or_refers", answer=refer_label)
    if not are_ranges:
        return said("which_class", classes=listing(labels), refers=refers)
    ranges = parted([*map(str, labels[:RANGES_NAMED]), *["..."] * (len(labels) > RANGES_NAMED)])
    return said("which_number", ranges=ranges, refers=refers)


def answer_now_text(answer: Any, refers: bool = False) -> str:
    """What is said in place of beliefs by a model that has none; ``refers``: the answer is to whom a case is referred.

    >>> answer_now_text("yes"), answer_now_text("a person", refers=True)
    ('The answer now would be yes.', 'The case would be referred to a person now.')
    """
    return said("refer_now" if refers else "answer_now", answer=answer)


def beliefs_in_words(beliefs: Sequence[Sequence[float]], labels: Sequence[Any]) -> list[str]:
    """What was believed after each acquisition, such as "acs 41 % (was 9 %)".

    Of two classes, that which was less likely before the first acquisition; of more, the likeliest one.

    Parameters
    ----------
    beliefs : n_steps + 1 sequences of n_classes probabilities, the first before any acquisition
    labels : n_classes labels
    """
    changes = []
    for before, after in pairwise(beliefs):
        k = class_shown(beliefs[0], after)
        now, was = probability_text(after[k]), probability_text(before[k])
        changes.append(said("belief_changed", label=_before_share(labels[k]), now=now, before=was))
    return changes


def belief_text(prior: Sequence[float], belief: Sequence[float], labels: Sequence[Any]) -> str:
    """The belief in the class that ``beliefs_in_words`` shows, such as "acs 9 %"."""
    k = class_shown(prior, belief)
    return share_text(labels[k], belief[k])


def share_text(label: Any, share: float) -> str:
    """A class with its probability; a range of numbers (``NumberInWords``), which ends with one, has a colon.

    >>> share_text("acs", 0.41)
    'acs 41 %'
    """
    return f"{_before_share(label)} {probability_text(share)}"


def _before_share(label: Any) -> str:
    return f"{label}:" if is_range(label) else str(label)


def is_range(label: Any) -> bool:
    """Whether a label is the range of a bin, not a class."""
    return hasattr(label, "is_range")


def parted(texts: Sequence[str]) -> str:
    """Texts in a row, separated by semicolons where one has a comma of its own.

    >>> parted(["acs", "mi"]), parted(["8,19 bis 8,91: 7 %", "mehr"])
    ('acs, mi', '8,19 bis 8,91: 7 %; mehr')
    """
    return ("; " if any("," in text for text in texts) else ", ").join(texts)


def class_shown(prior: Sequence[float], belief: Sequence[float]) -> int:
    """The class whose probability is shown: of two the rarer one, of more the likeliest one."""
    if len(prior) == 2:
        return 1 if prior[1] <= prior[0] else 0
    return max(range(len(belief)), key=lambda k: belief[k])


def probability_text(share: float) -> str:
    """A probability in whole per cent; where the speech is ``fine``, one below 10 % or above 90 % has one digit more.

    >>> from fsgym.text.speech import Speech, speaking
    >>> probability_text(0.414), probability_text(0.004), probability_text(1)
    ('41 %', 'below 1 %', '100 %')
    >>> with speaking(Speech(fine=True)):
    ...     probability_text(0.414), probability_text(0.004), probability_text(0.9999)
    ('41 %', '0.4 %', 'above 99.9 %')
    """
    is_fine = spoken().fine and not 0.1 <= share <= 0.9
    least = 0.001 if is_fine else 0.01
    if 0 < share < least:
        return said("below_share", share=f"{number_text(100 * least, 'g')} %")
    if 1 - least < share < 1:
        return said("above_share", share=f"{number_text(100 - 100 * least, '.4g')} %")
    return f"{number_text(100 * share, '.1f' if is_fine and 0 < share < 1 else '.0f')} %"


def class_name(label: Any) -> str:
    """A class in a sentence in which it counts as a thing; one that is no noun in quotes, with the target if known.

    >>> from fsgym.text.speech import Speech, speaking
    >>> class_name("acs"), class_name("none"), class_name(1)
    ('acs', "'none'", "'1'")
    >>> with speaking(Speech(target="appendicitis")):
    ...     class_name("yes")
    "'appendicitis: yes'"
    """
    text = str(label)
    if not re.fullmatch(NO_NOUN, text, re.IGNORECASE):
        return text
    return f"'{spoken().target}: {text}'" if spoken().target else f"'{text}'"


def cutoff_of(answer_costs: NDArray[np.float64]) -> tuple[int, float] | None:
    """Of two classes that whose errors cost more to miss, and the probability from which on it is the answer.

    None where errors cost the same, or there are not two answers. ``answer_costs`` is float64 (n_answers, n_classes).
    """
    if answer_costs.shape != (2, 2):
        return None
    (right, missed), (false, found) = answer_costs.tolist()  # of both answers, if the first class is true,
    first, second = false - right, missed - found  # and of wrong ones above those of right ones
    if first == second or min(first, second) <= 0:
        return None
    return int(second > first), min(first, second) / (first + second)


def cutoff_text(labels: Sequence[Any], answer_costs: NDArray[np.float64]) -> str:
    """From which probability on the model gives one of two answers, where errors differ in what they cost; else "".

    >>> import numpy as np
    >>> cutoff_text(["no", "yes"], np.array([[0, 199], [1, 0]]))
    'As errors differ in what they cost, yes is the answer from a probability of 0.5 % on.'
    """
    found = None if any(map(is_range, labels)) else cutoff_of(answer_costs)
    if found is None:
        return ""
    return said("chart_from", answer=labels[found[0]], share=f"{number_text(100 * found[1], '.2g')} %")
