"""What the pages show of a case: plain values for the templates."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fsgym.data.columns import Column
from fsgym.session import LogEntry, Question, Step, words
from fsgym.session.acquisitions import Acquisitions
from fsgym.text.sentences import belief_text, beliefs_in_words, price_text, probability_text
from fsgym.web.cases import OpenCase
from fsgym.web.changes import columns_asked, open_question
from fsgym.web.entries import FieldEntry, blank_entries

CHARTS_HELD = 64
WITH_VALUES = ("asked", "chosen", "known")  # kinds of log entries after which an acquisition is known


class DrawnChart(NamedTuple):
    """A chart on a page.

    Attributes
    ----------
    svg : str; "" for a model without a chart
    here : int or None, the number of the box in which the case is
    styles : list of str, the sources of its style sheets for a content security policy
    """

    svg: str
    here: int | None
    styles: list[str]


class ChartPictures:
    """The chart of a model as SVG, with the place of a case.

    Parameters
    ----------
    model : classifier, of which not every one has a chart
    """

    def __init__(self, model: Any) -> None:
        make = getattr(model, "chart", None)
        try:
            self._chart: Any = None if make is None else make()
        except ValueError:
            self._chart = None
        self._svg = lru_cache(CHARTS_HELD)(lambda here: self._chart.to_svg(here=here, dark=True))

    def picture(self, known: Sequence[str], question: str | None) -> DrawnChart:
        """The drawing with the place of a case that knows these acquisitions and is asked this question."""
        if self._chart is None:
            return DrawnChart("", None, [])
        here = self._chart.place(known, question)
        svg = self._svg(here)
        return DrawnChart(
            svg, here, [style_source(s) for s in re.findall(r"<style[^>]*>(.*?)</style>", svg, re.DOTALL)]
        )


def style_source(style: str) -> str:
    """The source of an embedded style sheet in a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


def case_view(case: OpenCase, acquisitions: Acquisitions, entries: list[FieldEntry] | None = None) -> dict[str, Any]:
    """All that the page of a case shows; ``entries`` are the fields of the question, as they were typed."""
    session, question = case.session, open_question(case)
    step = session.step
    if question is not None and entries is None:
        entries = blank_entries(acquisitions.columns, columns_asked(acquisitions, question))
    alternatives = alternatives_view(step, acquisitions, None if question is None else question.name)
    return {
        "case": case,
        "question": question,
        "entries": entries or [],
        "about": -1 if question is None else acquisitions.index[question.name],
        "price": "" if question is None else words.price_and_paid(question.price, step.spent),
        "would_stop": words.would_stop_text(step) if step.should_stop else "",
        "answer": words.answer_text(step),
        "answer_cost": words.answer_cost_text(step),
        "answer_now": str(step.answer),
        "bars": bars(step)[: words.BELIEFS_SHOWN],
        "more_bars": bars(step)[words.BELIEFS_SHOWN :],
        "belief": belief_said(case),
        "why": session.why(),
        "alternatives": alternatives[: words.ALTERNATIVES_SHOWN],
        "more_alternatives": alternatives[words.ALTERNATIVES_SHOWN :],
        "log": log_view(case, acquisitions),
        "known": known_view(case, acquisitions),
        "place": place_of_case(case, question),
    }


def place_of_case(case: OpenCase, question: Question | None) -> tuple[list[str], str | None]:
    """Where a case is on the chart: the acquisitions that are known, and what is asked."""
    known = [*case.known, *(entry.name for entry in case.session.log() if entry.kind in WITH_VALUES)]
    return sorted(set(known)), None if question is None else question.name


def bars(step: Step) -> list[dict[str, Any]]:
    """A bar for each class, ``width`` in per cent, ``now`` for the answer; none for a model without probabilities."""
    return [
        {"label": str(k), "percent": probability_text(p), "width": round(100 * p, 2), "now": k == step.answer}
        for k, p in words.ranked_beliefs(step.probabilities or {})
    ]


def belief_said(case: OpenCase) -> str:
    """The belief in words, and what it was before the last change."""
    now = case.session.probabilities
    if now is None or case.prior is None or case.before is None:
        return f"The answer now would be {case.session.step.answer}."
    labels, prior, before = list(now), list(case.prior.values()), list(case.before.values())
    after = list(now.values())
    return (
        belief_text(prior, after, labels) if before == after else beliefs_in_words([prior, before, after], labels)[-1]
    )


def alternatives_view(step: Step, acquisitions: Acquisitions, asked: str | None) -> list[dict[str, Any]]:
    """The other acquisitions that can be made now, the best first."""
    return [
        {"about": acquisitions.index[a.name], "name": a.name, "text": words.alternative_text(a)}
        for a in step.alternatives
        if a.name != asked
    ]


def log_view(case: OpenCase, acquisitions: Acquisitions) -> list[dict[str, Any]]:
    """What happened so far, in its order."""
    columns = {column.name: column for column in acquisitions.columns}
    prior = list((case.prior or {}).values())
    return [_entry_view(entry, acquisitions, columns, prior) for entry in case.session.log()]


def _entry_view(
    entry: LogEntry, acquisitions: Acquisitions, columns: Mapping[str, Column], prior: Sequence[float]
) -> dict[str, Any]:
    beliefs = entry.probabilities
    return {
        "about": acquisitions.index[entry.name],
        "name": entry.name,
        "kind": entry.kind,
        "text": words.entry_text(entry, columns),
        "price": price_text(entry.price) if entry.kind in ("asked", "chosen") or entry.price else "",
        "spent": f"{entry.spent:.4g}",
        "belief": "" if beliefs is None else belief_text(prior, list(beliefs.values()), list(beliefs)),
        "remark": entry.remark,
    }


def known_view(case: OpenCase, acquisitions: Acquisitions) -> list[str]:
    """What was known before the first question, in words."""
    given: dict[str, Any] = {}
    for name, value in case.known.items():
        given |= acquisitions.values_of(name, value)
    columns = {column.name: column for column in acquisitions.columns}
    return [f"{name} = {words.value_text(columns[name], value)}" for name, value in given.items()]


def start_view(acquisitions: Acquisitions, entries: Sequence[FieldEntry]) -> list[dict[str, Any]]:
    """The acquisitions with the fields of their columns, for the form of a new case."""
    rules = acquisitions.rules
    return [
        {
            "j": j,
            "name": name,
            "price": price_text(float(rules.costs[j])),
            "entries": [entries[k] for k in acquisitions.columns_of[j]],
        }
        for j, name in enumerate(rules.names)
    ]


def open_view(cases: Sequence[OpenCase]) -> list[dict[str, Any]]:
    """The open cases without their values."""
    rows = []
    for case in cases:
        with case.lock:
            n, stopped = len(case.session.log()), case.session.stopped
        began = time.strftime("%H:%M", time.localtime(case.began))
        state = "ended with an answer" if stopped else f"{n} {'entry' if n == 1 else 'entries'} so far"
        rows.append({"id": case.id, "name": f"Case {case.number}", "text": f"begun at {began}, {state}"})
    return rows
