"""What a page says of a model: its title, and how it did on rows that it was not trained on, which its file keeps."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.step import CertaintyRule
from fsgym.support.checks import is_integer
from fsgym.text.sentences import class_name, cutoff_of
from fsgym.text.speech import Speech, check_speech, number_text, said

CLASSES_NAMED = 4  # of more classes, the wrong answers are counted together; by hand
DIGEST = 64  # characters
MOST = 2**53  # rows
CONFIDENCE = 0.95  # of the limit of a share of wrong answers
FINE_BELOW = 0.05  # by hand: a probability from which on a class is the answer that needs more digits


class HeldOut(NamedTuple):
    """The answers to rows that a model was not trained on, counted."""

    policy: str  # SHA-256 of the policy that answered
    rows: tuple[int, ...]  # of each class
    missed: tuple[int, ...]  # of these, those that were answered as another class
    referred: int  # to a person
    absolute_error: float | None  # the mean of a numeric target

    @classmethod
    def of(cls, confusion: NDArray[np.int64], absolute_error: float, policy: str) -> Self:
        """Counted from the rows by class and answer, int64 (n_classes, n_answers); NaN: no numeric target."""
        n = len(confusion)
        rows, missed = confusion.sum(axis=1), confusion[:, :n].sum(axis=1) - confusion[:, :n].diagonal()
        error = None if np.isnan(absolute_error) else float(absolute_error)
        return cls(policy, tuple(rows.tolist()), tuple(missed.tolist()), int(confusion[:, n:].sum()), error)

    @classmethod
    def from_json(cls, plain: Any, n_classes: int) -> Self:
        """The record of ``_asdict``, read from JSON; ValueError, TypeError or KeyError where it is damaged."""
        rows, missed, error = tuple(plain["rows"]), tuple(plain["missed"]), plain["absolute_error"]
        counts = [*rows, *missed, plain["referred"]]
        if (
            len(rows) != n_classes
            or len(missed) != n_classes
            or not all(is_integer(n) and 0 <= n < MOST for n in counts)
        ):
            raise ValueError("the counts of rows held out are damaged")
        if not isinstance(plain["policy"], str) or len(plain["policy"]) != DIGEST:
            raise ValueError("the rows held out were answered by no policy")
        if not (error is None or (type(error) in (int, float) and 0 <= error < np.inf)):
            raise ValueError("the mean error on rows held out is damaged")
        return cls(plain["policy"], rows, missed, plain["referred"], error)

    def sentence(self, labels: list[Any], rows: str) -> str:
        """How many answers to these ``rows``, in words, were wrong, by class if there are few classes."""
        referred = said("held_out_referred", n=self.referred) if self.referred else ""
        named = [
            said("held_out_class", missed=m, n=k, name=class_name(label), limit=_limit_text(m, k))
            for label, m, k in zip(labels, self.missed, self.rows, strict=True)
            if k
        ]
        if self.absolute_error is not None:
            text = said("held_out_number", rows=rows, error=number_text(self.absolute_error))
        elif 1 < len(named) <= CLASSES_NAMED:
            text = said("held_out_missed", rows=rows, missed=said("and", first=", ".join(named[:-1]), last=named[-1]))
        else:
            text = said("held_out_wrong", rows=rows, wrong=sum(self.missed))
        return f"{text} {referred}".rstrip()


def _limit_text(missed: int, n: int) -> str:
    """The upper limit of the share of all such cases that are answered wrongly, by the binomial distribution."""
    from scipy.special import betaincinv

    limit = 1.0 if missed == n else float(betaincinv(missed + 1, n - missed, CONFIDENCE))
    return f"{number_text(100 * limit, '.2g')} %"


def reliability_text(model: AskedModel, *, is_told: bool = True, in_case: bool = False) -> str:
    """How reliable a model is: what it promises, and its answers to other rows, counted, or how these are measured.

    ``is_told``: whether it is told of these cases which values are missing. ``in_case``: beside a case, which says by
    itself what is promised.
    """
    rule: CertaintyRule | None = getattr(model, "promise_", None)
    promised = said("no_promise")
    if rule is not None and rule.promises:
        promised = "" if in_case else as_told(model, is_told).promise_.sentences()[0]
    return f"{promised} {held_out_text(model, is_told)}".lstrip()


def held_out_text(model: AskedModel, is_told: bool) -> str:
    """How a model answered rows that it was not trained on, told which values are missing or not."""
    labels, names = model.classes_.tolist(), ", ".join(getattr(model, "evidence_", ()))
    found, measured = _held_out_of(as_told(model, is_told)), _held_out_of(model)
    if found is not None:
        rows = "held_out_rows" if not names else "held_out_rows_told" if is_told else "held_out_rows_asked"
        return found.sentence(labels, said(rows, n=sum(found.rows), names=names))
    if measured is None:  # or of the model before it was calibrated
        return said("held_out_none")
    rows = said("held_out_rows_told", n=sum(measured.rows), names=names)
    return f"{measured.sentence(labels, rows)} {said('held_out_untold', names=names)}"


def _held_out_of(model: AskedModel) -> HeldOut | None:
    """How the model did on rows that it was not trained on; None where that is not known of this policy."""
    found: HeldOut | None = getattr(model, "held_out_", None)
    return found if found is not None and found.policy == model.policy_digest() else None


def data_title(model: AskedModel) -> str:
    """The target and the name of the training data, such as ``died (patients)``; "" where they are not known."""
    name, target = _origin(model, "name"), _origin(model, "target")
    return f"{target} ({name})" if name and target else name


def titled(model: AskedModel, title: str) -> str:
    """The title of a page: that of the data, behind one of the user that does not name the target."""
    own, target = data_title(model), _origin(model, "target")
    if not title:
        return own
    is_named = not (own and target) or re.search(rf"(?<!\w){re.escape(target)}(?!\w)", title)
    return title if is_named else f"{title}: {own}"


def speech_of(model: AskedModel, language: str, currency: str) -> Speech:
    """How cases of a model are described; ValueError for a language without a file, or a currency that is no word."""
    rules, speech = model.acquisitions_.rules, check_speech(language, currency, model.acquisitions_.rules.lam)
    return speech._replace(target=_origin(model, "target"), fine=is_fine(rules.answer_costs))


def terminal_speech(model: AskedModel) -> Speech:
    """How cases of a model are described on a terminal: in English, with the decimal sign of the data."""
    return speech_of(model, "en", "")._replace(decimal=model.acquisitions_.columns.decimal)


def is_fine(answer_costs: NDArray[np.float64]) -> bool:
    """Whether the answer depends on a probability of few per cent."""
    found = cutoff_of(answer_costs)
    return found is not None and found[1] < FINE_BELOW


def _origin(model: AskedModel, key: str) -> str:
    """What is known of the training data; "" where it is not."""
    found = getattr(model, "training_data_", None)
    value = found.get(key) if isinstance(found, dict) else ""
    return value if isinstance(value, str) else ""
