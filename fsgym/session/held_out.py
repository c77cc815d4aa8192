"""What a page says of a model: its title, its chart, and how it did on other rows, which its file keeps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fsgym.data.training_summary import (
    Difference,
    count_at_most,
    cuts_and_counts,
    higher_share_p_values,
    percent_text,
    read_cuts,
)
from fsgym.metrics import LEVEL, binomial_upper_bound, mean_power
from fsgym.session.asked_model import AskedModel, as_told
from fsgym.session.step import CertaintyRule
from fsgym.support.checks import is_integer
from fsgym.text.messages import brief
from fsgym.text.sentences import class_name, cutoff_of
from fsgym.text.speech import Speech, check_speech, number_text, said, with_unit

CLASSES_NAMED = 4  # of more classes, the wrong answers are counted together; by hand
DIGEST = 64  # characters
MOST = 2**53  # rows
FEW_ROWS = 20  # of a class, below which what is believed and expected of it is said to be rough; by hand
FINE_BELOW = 0.05  # by hand: a probability from which on a class is the answer that needs more digits


class HeldOut(NamedTuple):
    """The answers to rows that a model was not trained on, counted."""

    policy: str  # SHA-256 of the policy that answered
    rows: tuple[int, ...]  # of each class
    missed: tuple[int, ...]  # of these, those that were answered as another class
    referred: int  # to a person
    absolute_error: float | None  # the mean of a numeric target
    cuts: tuple[float, ...] = ()  # of these absolute errors, see ``cuts_and_counts``; none in files of before
    counts: tuple[int, ...] = ()

    @classmethod
    def of(cls, confusion: NDArray[np.int64], errors: NDArray[np.float64] | None, policy: str) -> Self:
        """Counted from the rows by class and answer, int64 (n_classes, n_answers).

        ``errors`` are the absolute errors of a numeric target, NaN for a row that is referred.
        """
        n = len(confusion)
        rows, missed = confusion.sum(axis=1), confusion[:, :n].sum(axis=1) - confusion[:, :n].diagonal()
        counted = tuple(rows.tolist()), tuple(missed.tolist()), int(confusion[:, n:].sum())
        if errors is None or np.isnan(errors).all():
            return cls(policy, *counted, None)
        return cls(policy, *counted, mean_power(errors, 1), *cuts_and_counts(errors.astype(np.float32)))

    @classmethod
    def from_json(cls, plain: Any, n_classes: int) -> Self:
        """The record of ``_asdict``, read from JSON; ValueError, TypeError or KeyError where it is damaged."""
        rows, missed, error = tuple(plain["rows"]), tuple(plain["missed"]), plain["absolute_error"]
        at_most = plain.get("counts", [])
        counts = [*rows, *missed, plain["referred"], *at_most]
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
        cuts = read_cuts(plain.get("cuts", []), at_most, sum(rows) - plain["referred"]) if at_most else ((), ())
        return cls(plain["policy"], rows, missed, plain["referred"], error, *cuts)

    def compare(
        self,
        answers: NDArray[np.int64],
        y: NDArray[np.int64],
        labels: Sequence[Any],
        errors: NDArray[np.float64] | None = None,
    ) -> Difference | None:
        """Whether more of other rows are answered wrongly, of all or of one class, or with larger errors.

        Wrong answers are tested by Fisher's exact test, corrected for the number of classes (Bonferroni); absolute
        errors by that of Kolmogorov and Smirnov at the cuts. Both are one-sided.

        Parameters
        ----------
        answers : int64 (n,), class codes; n_classes for a row that is referred
        y : int64 (n,), class codes
        labels : those of the classes
        errors : float64 (n,), the absolute errors of a numeric target, NaN for a row that is referred

        Returns
        -------
        Difference
            What differs most, of which the p-value is not corrected for other tests; None where nothing can be tested.
        """
        if errors is not None:
            return self._larger_errors(errors[~np.isnan(errors)].astype(np.float32))
        wrong = (answers != y) & (answers < len(labels))
        n_classes = len(labels)
        k, n = (np.array([sum(counts), *counts]) for counts in (self.missed, self.rows))
        new, m = (np.bincount(y[counted], minlength=n_classes) for counted in (wrong, np.ones(len(y), bool)))
        new, m = np.append(new.sum(), new), np.append(m.sum(), m)
        tested = np.flatnonzero((n > 0) & (m > 0))
        if not len(tested):
            return None
        p_values = higher_share_p_values(k[tested], n[tested], new[tested], m[tested])
        first = int(tested[p_values.argmin()])
        of_class = f" of {brief(str(labels[first - 1]))}" if first else ""
        text = (
            f"{percent_text(new[first] / m[first])} of {m[first]:,} rows{of_class} are answered wrongly, "
            f"{percent_text(k[first] / n[first])} of {n[first]:,} held out"
        )
        p_value = min(float(p_values.min()) * len(tested), 1.0)
        return Difference("", ("errors",), p_value, int(new[first]), None, text)

    def _larger_errors(self, errors: NDArray[np.float32]) -> Difference | None:
        if not self.cuts or not len(errors):
            return None
        n, m = self.counts[-1], len(errors)
        at_most = count_at_most(np.array(self.cuts, np.float32), errors)
        more = np.array(self.counts) / n - at_most / m  # of the errors are above each cut
        at = int(more.argmax())
        above = m - int(at_most[at])
        text = (
            f"the absolute error is above {number_text(self.cuts[at])} in {percent_text(above / m)} of {m:,} rows, in "
            f"{percent_text(1 - self.counts[at] / n)} of {n:,} held out"
        )
        p_value = float(np.exp(-2 * max(more[at], 0.0) ** 2 * n * m / (n + m)))
        return Difference("", ("errors",), p_value, above, None, text)

    def sentence(self, labels: list[Any], rows: str) -> str:
        """How many answers to these ``rows``, in words, were wrong, by class if there are few classes."""
        referred = said("held_out_referred", n=self.referred) if self.referred else ""
        named = [
            said("held_out_class", missed=m, n=k, name=class_name(label), limit=_limit_text(m, k))
            for label, m, k in zip(labels, self.missed, self.rows, strict=True)
            if k
        ]
        if self.absolute_error is not None:
            error = with_unit(number_text(self.absolute_error), getattr(labels[0], "unit", ""))
            text = said("held_out_number", rows=rows, error=error)
        elif 1 < len(named) <= CLASSES_NAMED:
            text = said("held_out_missed", rows=rows, missed=said("and", first=", ".join(named[:-1]), last=named[-1]))
        else:
            text = said("held_out_wrong", rows=rows, wrong=sum(self.missed))
        return " ".join(part for part in (text, referred, self._about_few(labels)) if part)

    def _about_few(self, labels: list[Any]) -> str:
        """That beliefs and expected costs are rough, where a class has few rows; "" elsewhere."""
        n, k = min(((n, k) for k, n in enumerate(self.rows) if n), default=(FEW_ROWS, 0))
        if n >= FEW_ROWS or self.absolute_error is not None:
            return ""
        return said("held_out_few", n=n, name=class_name(labels[k]))


def _limit_text(missed: int, n: int) -> str:
    """The upper limit of the share of all such cases that are answered wrongly, by the binomial distribution."""
    return f"{number_text(100 * float(binomial_upper_bound(missed, n, 1 - LEVEL)), '.2g')} %"


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
    bins, names = getattr(model, "bins_", None), ", ".join(getattr(model, "evidence_", ()))
    labels: list[Any] = model.classes_.tolist() if bins is None else bins.ranges()
    found, measured = held_out_of(as_told(model, is_told)), held_out_of(model)
    if found is not None:
        rows = "held_out_rows" if not names else "held_out_rows_told" if is_told else "held_out_rows_asked"
        return found.sentence(labels, said(rows, n=sum(found.rows), names=names))
    if measured is None:  # or of the model before it was calibrated
        return said("held_out_none")
    rows = said("held_out_rows_told", n=sum(measured.rows), names=names)
    return f"{measured.sentence(labels, rows)} {said('held_out_untold', names=names)}"


def held_out_of(model: AskedModel) -> HeldOut | None:
    """How the model did on rows that it was not trained on; None where that is not known of this policy."""
    found: HeldOut | None = getattr(model, "held_out_", None)
    return found if found is not None and found.policy == model.policy_digest() else None


def shown_chart(model: Any, *rows: Any, **options: Any) -> Any:
    """The chart of a model, ``model.chart(*rows, **options)``, with enough boxes to pay; None where it has none.

    Fewer boxes cost more than asking nothing.
    """
    make = getattr(model, "chart", None)
    if not callable(make):
        return None
    try:
        chart = make(*rows, **options)
        enough = getattr(chart, "n_boxes_enough", None)
        return chart if enough is None else make(*rows, **options | {"max_boxes": enough})
    except ValueError:  # such as a model from a file without a chart
        return None


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
