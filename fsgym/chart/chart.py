"""A decision chart of a policy."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from fsgym.chart.boxes import MAX_BOXES, Structure
from fsgym.chart.drawing import draw_svg
from fsgym.chart.views import BoxView, ChartTerms, views_of
from fsgym.chart.ways import Way, figures_of
from fsgym.chart.words import in_mermaid, in_sentences
from fsgym.text.messages import option_text
from fsgym.text.sentences import cutoff_text, probability_text
from fsgym.text.speech import cost_text, money_text, said

CHART_FORMAT = "fsgym-chart-1"
FIGURES = ("loss", "policy_loss", "difference_error", "paid", "policy_paid", "fidelity")
# by hand
MOST_LOST = 0.25  # of what the policy saves against asking nothing, that a chart may lose without a warning
HIGH_FIDELITY = 0.95  # from which on its loss differs from that of the policy by few cases, and is no reason to warn
LEAST_FIDELITY = 0.5  # below which a chart says that it mostly does something else


class Chart:
    """What a policy asks in which state, and where each answer leads; the method ``chart`` of a classifier makes it.

    A box is a state: some acquisitions are known, and the policy asks for one more. Where one value decides, the
    conditions are the policy's own. Where several do, a small tree imitates the policy, and the box says in how many
    cases it does. A chart with fewer boxes than the policy has answers where it is cut. So a chart is a policy itself:
    ``loss`` is its own, and ``fidelity`` says how often it does what the model does.

    Attributes
    ----------
    boxes : tuple of BoxView, in the order of their numbers, from 1
    n_boxes_in_all : int
        The boxes that were found; the cases of training go through no more than the 60 most visited ones.
    n_cases : int, cases by which shares and figures were measured
    loss, policy_loss : float
        Mean error cost plus ``lam`` times the mean price, of the chart and of the policy; NaN if classes are not given.
    difference_error : float
        The standard error of ``loss - policy_loss`` over the cases, which both are of.
    paid, policy_paid : float, mean prices, in the unit of ``costs``
    fidelity : float, share of cases in which the policy gives the same answer and acquires the same
    n_boxes_enough : int or None
        Where the chart costs more than asking nothing, which its headline says, how many boxes cost less; None
        elsewhere, and where no number of boxes does.
    is_usable : bool
        Whether a person may follow the chart: False where its headline says not to use it, as it loses too much.

    See Also
    --------
    agents.BaseAgentClassifier.chart

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from agents import LatticeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X = X[["hue", "flavanoids"]]
    >>> model = LatticeClassifier(lam=0.05, unknown=0, random_state=0).fit(X, y)
    >>> chart = model.chart(X, y)
    >>> len(chart.boxes), chart.fidelity > 0.9
    (2, True)
    >>> chart.to_text().splitlines()[2][:33]
    '1. Ask for flavanoids (price 1). '
    """

    def __init__(
        self, structure: Structure, ways: list[Way], terms: ChartTerms, *, title: str, cases: str, max_boxes: int
    ) -> None:
        n_boxes = min(max_boxes, len(structure.boxes))
        figures = figures_of(structure, terms.rules, ways, n_boxes)
        self._terms, self._title, self._cases = terms, title, cases
        self._places = [(frozenset(b.known), frozenset(b.unavailable), b.question) for b in structure.boxes[:n_boxes]]
        labels = terms.answers
        self._first_answer = None if structure.boxes else labels[structure.first - terms.rules.n_acquisitions]
        self.boxes: tuple[BoxView, ...] = tuple(views_of(structure, figures, terms, n_boxes))
        self.n_boxes_in_all, self.n_cases = len(structure.boxes), figures.n
        self.loss, self.policy_loss, self.difference_error = figures.loss, figures.policy_loss, figures.difference_error
        self.paid, self.policy_paid, self.fidelity = figures.paid, figures.policy_paid, figures.same
        self.n_boxes_enough: int | None = None
        self.is_usable = True
        self._caution = self._warning(structure, ways)

    def __repr__(self) -> str:
        return f"Chart({len(self.boxes)} of {self.n_boxes_in_all} boxes, fidelity {self.fidelity:.3f})"

    @property
    def headline(self) -> str:
        """What the chart shows and how far it is the policy, in sentences."""
        n, n_in_all = len(self.boxes), self.n_boxes_in_all
        shown = _boxes_in_words(n)
        if n < n_in_all:
            shown = said("chart_first_one", all=n_in_all) if n == 1 else said("chart_first", n=n, all=n_in_all)
        if self.n_boxes_in_all >= MAX_BOXES:
            shown = said("chart_most", shown=shown)
        if self._first_answer is not None:
            shown = said("chart_nothing", answer=self._first_answer)
        if not self.n_cases:
            return f"{self._title}: {shown}."
        text = said("chart_same", share=probability_text(self.fidelity))
        if self.loss == self.loss:
            loss, policy = cost_text(self.loss, ".4g"), cost_text(self.policy_loss, ".4g")
            text = said("chart_loss", text=text, loss=loss, policy=policy)
            if self.difference_error > 0:
                difference, error = (cost_text(v, ".2g") for v in (self.loss - self.policy_loss, self.difference_error))
                text = said("chart_difference", text=text, difference=difference, error=error)
        text = said("chart_pays", text=text, paid=money_text(self.paid), policy=money_text(self.policy_paid))
        whole = said("chart_of_cases", title=self._title, shown=shown, n=self._n, cases=self._cases, compared=text)
        return f"{whole}{self._dearer_answer}{self._caution}"

    @property
    def _dearer_answer(self) -> str:
        """From which probability on the model gives one of two answers, where errors differ in what they cost."""
        return f" {cutoff_text(self._terms.labels, self._terms.rules.answer_costs)}".rstrip()

    @property
    def caution(self) -> str:
        """A warning where a person who follows the chart loses much, or does mostly something else; "" elsewhere."""
        return self._caution.strip()

    @property
    def caveat(self) -> str:
        """What to know before the chart is read: of which cases its percentages are, and a warning if there is one."""
        cases = said("chart_percentages", n=self._n, cases=self._cases) if self.n_cases else ""
        return f"{cases}{self._caution}".strip()

    @property
    def _n(self) -> str:
        return f"{self.n_cases:,}".replace(",", "." if said("decimal") == "," else ",")

    def _warning(self, structure: Structure, ways: list[Way]) -> str:
        """A warning where a person who follows the chart loses much, or does mostly something else; "" elsewhere.

        Where the same answer in all cases, without a question, has a lower loss, it names the number of boxes that
        would do: the next larger one, or else the next smaller one.
        """
        rules, n_boxes = self._terms.rules, len(self.boxes)
        unlike = said("chart_unlike", share=probability_text(1 - self.fidelity))
        unlike = f" {unlike}" if n_boxes and self.n_cases and self.fidelity < LEAST_FIDELITY else ""
        if not n_boxes or self.loss != self.loss:
            return unlike
        codes, rows = np.array([way.code for way in ways]), np.array([way.n for way in ways])
        costs = rules.answer_costs[:, codes] @ rows / rows.sum()
        nothing = float(costs.min())
        boxes = _boxes_in_words(n_boxes)
        if self.loss <= nothing:
            saved = nothing - self.policy_loss
            if self.fidelity >= HIGH_FIDELITY or self.loss - self.policy_loss <= MOST_LOST * saved:
                return unlike
            self.is_usable = False
            lost = probability_text((self.loss - self.policy_loss) / saved)
            larger = range(n_boxes + 1, self.n_boxes_in_all + 1)
            most = self.policy_loss + MOST_LOST * saved
            enough = next((n for n in larger if figures_of(structure, rules, ways, n).loss <= most), None)
            return f" {said('chart_loses', boxes=boxes, lost=lost, remedy=self._remedy(enough, 'chart_smaller'))}"
        self.is_usable = False
        answer = self._terms.answers[int(costs.argmin())]
        others = [*range(n_boxes + 1, self.n_boxes_in_all + 1), *range(n_boxes - 1, 0, -1)]
        enough = next((n for n in others if figures_of(structure, rules, ways, n).loss < nothing), None)
        self.n_boxes_enough = enough
        loss, remedy = cost_text(nothing, ".4g"), self._remedy(enough, "chart_never")
        return f" {said('chart_worse', boxes=boxes, answer=answer, nothing=loss, remedy=remedy)}"

    def _remedy(self, enough: int | None, otherwise: str) -> str:
        """With how many boxes a chart costs less, in words; if there is no such number, what else to say."""
        if enough is None:
            return said(otherwise)
        return said("chart_enough", n=enough, option=option_text("max_boxes", enough))

    def place(self, known: Iterable[str], question: str | None, unavailable: Iterable[str] = ()) -> int | None:
        """The number of the box of a case; None if no box asks its question with that knowledge.

        Parameters
        ----------
        known : names of the acquisitions with a value
            Where more is known than in any box, the box that knows most of it counts.
        question : str, the acquisition asked for next; None after the answer
        unavailable : names of the acquisitions without a value
        """
        index = {name: j for j, name in enumerate(self._terms.rules.names)}
        have, lack = ({index[name] for name in names if name in index} for names in (known, unavailable))
        best: tuple[int, int, int] | None = None
        for k, (box_known, box_lacks, j) in enumerate(self._places):
            if index.get(question or "") == j and box_known <= have:
                rank = (len(box_known), -len(box_lacks ^ lack), -k)
                best = rank if best is None else max(best, rank)
        return None if best is None else 1 - best[2]

    def to_text(self) -> str:
        """The chart in sentences, box by box, to read or to print."""
        return in_sentences(self.boxes, self._terms.labels, self.headline)

    def to_mermaid(self) -> str:
        """The chart as a Mermaid flow chart, for Markdown files."""
        return in_mermaid(self.boxes, self._terms.labels)

    def to_markdown(self) -> str:
        """A Markdown text with the Mermaid flow chart, and below it the chart in sentences."""
        return f"{self.headline}\n\n```mermaid\n{self.to_mermaid()}\n```\n\n```text\n{self.to_text()}\n```\n"

    def to_svg(self, here: int | None = None, dark: bool = False) -> str:
        """The chart as a drawing: SVG without scripts, which needs no other file.

        Parameters
        ----------
        here : int, optional
            The number of a box to mark, see ``place``.
        dark : bool, default False
            Whether its colours follow the reader's choice of light or dark, for a page that does so, too. By default it
            is light, on white.
        """
        return draw_svg(self.boxes, self._terms.labels, self.headline, here, dark)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_json(self) -> str:
        """The chart as JSON: boxes with branches, figures, and the format's name."""
        figures = {name: getattr(self, name) for name in FIGURES}
        plain = {
            "format": CHART_FORMAT,
            "headline": self.headline,
            "n_cases": self.n_cases,
            "figures": {name: value if value == value else None for name, value in figures.items()},
            "labels": [str(label) for label in self._terms.labels],
            "boxes": [
                b._asdict() | {"branches": [br._asdict() | {"answer": _answer_text(br.answer)} for br in b.branches]}
                for b in self.boxes
            ],
        }
        return json.dumps(plain, ensure_ascii=False)


def _answer_text(answer: Any) -> Any:
    return None if answer is None else str(answer)


def _boxes_in_words(n: int) -> str:
    return said("chart_one_box") if n == 1 else said("chart_boxes", n=n)
