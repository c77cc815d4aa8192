"""What a page says of a model: its title, and how it did on rows that it was not trained on, which its file keeps."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.session.asked_model import AskedModel
from fsgym.session.step import CertaintyRule
from fsgym.support.checks import is_integer
from fsgym.text.speech import number_text, said

CLASSES_NAMED = 4  # of more classes, the wrong answers are counted together; by hand
DIGEST = 64  # characters
MOST = 2**53  # rows


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

    def sentence(self, labels: list[Any]) -> str:
        """How many answers were wrong, by class if there are few classes."""
        n, referred = sum(self.rows), said("held_out_referred", n=self.referred) if self.referred else ""
        named = [
            said("held_out_class", missed=m, n=k, name=label)
            for label, m, k in zip(labels, self.missed, self.rows, strict=True)
            if k
        ]
        if self.absolute_error is not None:
            text = said("held_out_number", n=n, error=number_text(self.absolute_error))
        elif 1 < len(named) <= CLASSES_NAMED:
            text = said("held_out_missed", n=n, missed=said("and", first=", ".join(named[:-1]), last=named[-1]))
        else:
            text = said("held_out_wrong", n=n, wrong=sum(self.missed))
        return f"{text} {referred}".rstrip()


def reliability_text(model: AskedModel, *, in_case: bool = False, is_promised: bool = True) -> str:
    """How reliable a model is: what it promises, and its answers to other rows, counted, or how these are measured.

    ``in_case``: beside a case, which says by itself what is promised. ``is_promised``: whether the promise of the model
    is about these cases.
    """
    rule: CertaintyRule | None = getattr(model, "promise_", None)
    promised = said("no_promise")
    if rule is not None and rule.promises:
        promised = "" if in_case else rule.sentences()[0] if is_promised else said("rule_without_evidence")
    found: HeldOut | None = getattr(model, "held_out_", None)
    if found is None or found.policy != model.policy_digest():  # not of a model that was calibrated since
        return f"{promised} {said('held_out_none')}".lstrip()
    return f"{promised} {found.sentence(model.classes_.tolist())}".lstrip()


def data_title(model: AskedModel) -> str:
    """The target and the name of the training data, such as ``died (patients)``; "" where they are not known."""
    found = getattr(model, "training_data_", None)
    origin = found if isinstance(found, dict) else {}
    name, target = (value if isinstance(value := origin.get(key), str) else "" for key in ("name", "target"))
    return f"{target} ({name})" if name and target else name
