"""The pages: a new case, the page of a case, its log for print; what they show, and what their forms do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fsgym.session import LogEntry, Question, Session, Step, words
from fsgym.session.acquisitions import Acquisitions
from fsgym.session.asked_model import AskedModel
from fsgym.session.case import labels_of
from fsgym.session.held_out import reliability_text, shown_chart
from fsgym.session.session import LONGEST_NOTE
from fsgym.text.html import inline_sources, styles_of
from fsgym.text.messages import one_line, visible
from fsgym.text.sentences import (
    answer_now_text,
    answers_text,
    belief_text,
    beliefs_in_words,
    is_range,
    price_text,
    probability_text,
)
from fsgym.text.speech import ENGLISH, Speech, money_text, said, speaking, spoken
from fsgym.web.cases import (
    CHANGES,
    Cases,
    OpenCase,
    Unanswered,
    begin_values,
    columns_asked,
    missing_said,
    open_question,
)
from fsgym.web.entries import FieldEntry, blank_entries
from fsgym.web.guard import HEADERS, POLICY, Access, Refused

CASES_LISTED = 20  # on the first page, by hand
STATIC = {
    "style.css": ("fsgym.text", "style.css", "text/css"),
    "page.js": ("fsgym.web", "page.js", "text/javascript"),
    "icon.svg": ("fsgym.web", "icon.svg", "image/svg+xml"),
}
CHARTS_HELD = 64


class CasePages:
    """The pages of a model.

    Parameters
    ----------
    model : fitted classifier that can be asked
    title : str, the name of the model
    access : Access
    cases : Cases
    cookie : str, name of the cookie
    speech : Speech, the language of the pages and the unit of the prices
    """

    def __init__(
        self, model: AskedModel, title: str, access: Access, cases: Cases, cookie: str, speech: Speech = ENGLISH
    ) -> None:
        self._model, self._title, self._access, self._cases, self._cookie = model, title, access, cases, cookie
        self._acquisitions, self._speech = model.acquisitions_, speech
        with speaking(speech):
            self._chart = ChartPictures(model)
            labels, answers = labels_of(model, self._acquisitions.rules)
            refer_label = str(answers[-1]) if len(answers) > len(labels) else None
            self._answers = answers_text(labels, refer_label, are_ranges=any(map(is_range, labels)))
            self._reliability = [reliability_text(model, is_told=is_told) for is_told in (False, True)]
            self._reliability_in_case = [
                reliability_text(model, is_told=is_told, in_case=True) for is_told in (False, True)
            ]
        self._evidence: tuple[str, ...] = tuple(getattr(model, "evidence_", ()))
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("fsgym.web"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: visible(value) if type(value) is str else value,  # values of fields are Markup
        )
        self._templates.globals["said"] = said
        self._templates.filters["breakable"] = breakable
        self._static = {
            name: Response(files(package).joinpath(file).read_bytes(), media_type=kind)
            for name, (package, file, kind) in STATIC.items()
        }

    def routes(self) -> list[Route]:
        """All paths, and what replies there."""
        paths = [
            ("/", self.begin_page, ["GET"]),
            ("/start", self.sign_in, ["GET", "POST"]),
            ("/case", self.begin, ["POST"]),
            ("/resume", self.resume, ["POST"]),
            ("/case/{id}", self.case_page, ["GET"]),
            ("/case/{id}/log", self.log_page, ["GET"]),
            ("/case/{id}/session.json", self.saved, ["GET"]),
            ("/case/{id}/delete", self.delete, ["POST"]),
            ("/case/{id}/note", self.keep_note, ["POST"]),
            *((f"/case/{{id}}/{verb}", partial(self.change, verb), ["POST"]) for verb in CHANGES),
        ]
        static = Route("/static/{name}", self.static, methods=["GET"])
        return [static, *(Route(path, partial(self._reply, reply), methods=methods) for path, reply, methods in paths)]

    def _reply(self, reply: Callable[[Request], Response], request: Request) -> Response:
        """The reply in the language of the pages."""
        with speaking(self._speech):
            return reply(request)

    def message(self, error: Refused) -> Response:
        """A page with one sentence; with status 401 it asks for the token."""
        with speaking(self._speech):
            return self._page("message.html", error.status, sentence=str(error), code=error.status, heading="")

    async def static(self, request: Request) -> Response:  # which waits for no thread
        found = self._static.get(request.path_params["name"])
        return self.message(Refused(404, "no_such_page")) if found is None else found

    def sign_in(self, request: Request) -> Response:
        """Exchange the token for a cookie."""
        posted = request.method == "POST"
        given = request.scope.get("fsgym.form", {}) if posted else request.query_params
        token = given.get("token", "").strip()
        if not (self._access.opens(token) or self._access.opens_once(given.get("code", ""))):
            return self.message(Refused(401, "token_wrong" if token else "token_needed"))
        # A browser that follows a link on a page of others sends the cookie from a page of ours, but not on a redirect.
        reply = RedirectResponse("/", 303) if posted else self._page("signed_in.html", 200, heading="")
        secure = request.url.scheme == "https"
        reply.set_cookie(self._cookie, self._access.cookie, path="/", secure=secure, httponly=True, samesite="strict")
        return reply

    def begin_page(self, request: Request) -> Response:
        columns = self._acquisitions.columns
        return self._begin_page(blank_entries(columns, range(len(columns))), {})

    def begin(self, request: Request) -> Response:
        """Begin a case with what is known."""
        form = request.scope["fsgym.form"]
        try:
            entries, known, barred = begin_values(self._acquisitions, form)
        except Unanswered as error:
            return self._begin_page(error.entries, form, said("some_unusable"))
        try:
            missing = missing_said(self._acquisitions, self._evidence, form)
            session = Session(self._model, unavailable=barred, charge_unknown="charge" in form, missing=missing)
            accept = any(entry.accept for entry in entries)
            for name, values in zip(self._acquisitions.rules.names, known, strict=True):
                if values:
                    session.answer(name, values, paid=False, accept=accept)
        except ValueError as error:
            return self._begin_page(entries, form, f"{words.refusal_text(error)}.")
        return self._to_case(self._cases.add(session))

    def resume(self, request: Request) -> Response:
        """Go on with a case that was saved, here or by ``fsgym ask``."""
        form = request.scope["fsgym.form"]
        try:
            session = Session.from_json(self._model, form.get("saved", ""))
        except ValueError as error:
            columns = self._acquisitions.columns
            return self._begin_page(
                blank_entries(columns, range(len(columns))), {}, f"{one_line(error)}.", saved=form.get("saved", "")
            )
        return self._to_case(self._cases.add(session))

    def case_page(self, request: Request) -> Response:
        case = self._case(request)
        with case.lock:
            return self._case_page(case)

    def log_page(self, request: Request) -> Response:
        case = self._case(request)
        with case.lock:
            printed = time.strftime("%Y-%m-%d %H:%M")
            return self._page(
                "log.html", heading=said("case_number", number=case.number), printed=printed, **self._view(case)
            )

    def saved(self, request: Request) -> Response:
        """The session as a file, which ``fsgym ask --resume`` reads, too."""
        case = self._case(request)
        with case.lock:
            text = case.session.to_json()
        name = f'attachment; filename="case-{case.number}.session.json"'
        return Response(text + "\n", media_type="application/json", headers={"Content-Disposition": name})

    def delete(self, request: Request) -> Response:
        self._cases.delete(self._case(request).id)
        return RedirectResponse("/", 303)

    def change(self, verb: str, request: Request) -> Response:
        """Do what a button of the page of a case says, then show the page again."""
        case, form = self._case(request), request.scope["fsgym.form"]
        with case.lock:
            if form.get("version") != str(case.version):
                if case.last != (verb, form):  # the same form twice, as by a double click, needs no remark
                    case.notice = said("out_of_date")
                return self._to_case(case)
            before = case.session.probabilities
            try:
                notice = CHANGES[verb](case, self._acquisitions, form)
            except Unanswered as error:
                return self._case_page(case, 422, error.entries)
            except ValueError as error:
                return self._case_page(case, 422, refusal=f"{words.refusal_text(error)}.")
            case.before, case.notice, case.last = before, notice, (verb, form)
            case.version += 1
        return self._to_case(case)

    def keep_note(self, request: Request) -> Response:
        """Keep the note, of whatever version the page is: it changes nothing that another form would do."""
        case, note = self._case(request), request.scope["fsgym.form"].get("note", "")
        with case.lock:
            try:
                case.session.note = note
            except ValueError as error:
                return self._case_page(case, 422, refusal=f"{error}.", note=note)
            case.notice = said("note_kept") if case.session.note else ""
        return self._to_case(case)

    def _case(self, request: Request) -> OpenCase:
        return self._cases.find(request.path_params["id"])

    def _to_case(self, case: OpenCase) -> Response:
        return RedirectResponse(f"/case/{case.id}", 303)

    def _begin_page(self, entries: list[FieldEntry], form: Any, refusal: str = "", saved: str = "") -> Response:
        cases = self._cases.listed()
        return self._page(
            "start.html",
            422 if refusal else 200,
            heading="",
            refusal=refusal,
            saved=saved,
            answers=self._answers,
            acquisitions=start_view(self._acquisitions, entries),
            barred={j for j in range(len(self._acquisitions.rules.names)) if f"barred{j}" in form},
            charge="charge" in form,
            reliability=self._reliability[False],
            told_reliability=self._reliability[True].removeprefix(said("no_promise")).lstrip(),
            evidence=[
                {"k": k, "name": name, "word": form.get(f"missing{k}", "")}
                for name in self._evidence
                for k in [self._acquisitions.column_index[name]]
            ],
            cases=open_view(cases[:CASES_LISTED]),
            more_cases=len(cases[CASES_LISTED:]),
        )

    def _view(self, case: OpenCase, entries: list[FieldEntry] | None = None) -> dict[str, Any]:
        is_told = case.session.missing is not None
        return case_view(case, self._acquisitions, entries) | {
            "reliability": self._reliability_in_case[is_told],
            "said_before": missing_view(case.session, self._evidence),
        }

    def _case_page(
        self,
        case: OpenCase,
        status: int = 200,
        entries: list[FieldEntry] | None = None,
        refusal: str = "",
        note: str | None = None,
    ) -> Response:
        """The page of a case; ``note`` is one that was refused, as it was typed."""
        if refusal and case.chosen is not None and case.chosen not in [a.name for a in case.session.step.alternatives]:
            case.chosen = None
        view = self._view(case, entries)
        chart, here = self._chart.picture(case.session, view["question"])
        view |= {"heading": said("case_number", number=case.number), "refusal": refusal, "chart": chart, "here": here}
        view |= {"caveat": self._chart.caveat, "is_usable": self._chart.is_usable}
        view |= {"note": case.session.note if note is None else note, "longest_note": LONGEST_NOTE}
        page = self._page("case.html", status, **view)
        if chart:
            styles = inline_sources(styles_of(chart))
            page.headers["Content-Security-Policy"] = POLICY.format(styles=f"'self' {styles}".rstrip())
        return page

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        values |= {"title": self._title, "proof": self._access.proof, "language": spoken().language}
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers=dict(HEADERS))


def breakable(name: object) -> Markup:
    """A name as HTML in which a line may be broken after each "_"."""
    return Markup(str(escape(visible(str(name)))).replace("_", "_<wbr>"))


class ChartPictures:
    """The chart of a model as SVG, with the place of a case.

    Parameters
    ----------
    model : classifier, of which not every one has a chart
    """

    def __init__(self, model: Any) -> None:
        self._chart = shown_chart(model)
        self._svg = lru_cache(CHARTS_HELD)(lambda here: self._chart.to_svg(here=here, dark=True))  # in one language

    @property
    def caveat(self) -> str:
        """What to know before the chart is read; "" without a chart."""
        return getattr(self._chart, "caveat", "")

    @property
    def is_usable(self) -> bool:
        """Whether a person may follow the chart; otherwise it is not drawn at once."""
        return getattr(self._chart, "is_usable", True)

    def picture(self, session: Session, question: Question | None) -> tuple[str, int | None]:
        """The drawing, and the number of the box of a case that is asked this question.

        None of a case with prices of its own, or of which it is said what is missing: it is asked by another chart.
        """
        if self._chart is None:
            return "", None
        here = None
        if not session.prices and session.missing is None:
            known, unavailable = session.outcomes()
            here = self._chart.place(known, None if question is None else question.name, unavailable)
        return self._svg(here), here


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
        "free_too": "" if question is None else words.free_too_text(question, step),
        "free_left": words.free_left_text(step) if question is None else "",
        "would_stop": words.would_stop_text(step) if step.should_stop else "",
        "answer": words.answer_text(step),
        "cutoff": session.cutoff,
        "answer_cost": words.answer_cost_text(step),
        "answer_now": str(step.answer),
        "answer_now_said": answer_now_text(step.answer, step.refers),
        "bars": bars(step)[: words.BELIEFS_SHOWN],
        "more_bars": (more_bars := bars(step)[words.BELIEFS_SHOWN :]),
        "more_beliefs": words.more_beliefs_text([*(step.probabilities or {})], len(more_bars)),
        "belief": belief_said(case),
        "certainty": "" if step.certainty is None else step.certainty.text,
        "promised": session.promised,
        "stop_ends": session.stop_ends,
        "enough": step.certainty is not None and step.certainty.enough,
        "other_ends": session.other_ends,
        "not_as_trained": words.not_as_trained_text(session.remarks),
        "why": session.why(),
        "cost_unit": words.cost_unit_text(step, acquisitions.rules),
        "alternatives": alternatives[: words.ALTERNATIVES_SHOWN],
        "more_alternatives": alternatives[words.ALTERNATIVES_SHOWN :],
        "log": log_view(case, acquisitions),
        "known": known_view(session, acquisitions),
    }


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
        return answer_now_text(case.session.step.answer, case.session.step.refers)
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
    prior = list((case.prior or {}).values())
    return [_entry_view(entry, acquisitions, prior) for entry in case.session.log()]


def _entry_view(entry: LogEntry, acquisitions: Acquisitions, prior: Sequence[float]) -> dict[str, Any]:
    beliefs = entry.probabilities
    return {
        "name": entry.name,
        "kind": entry.kind,
        "text": words.entry_text(entry, acquisitions.columns),
        "price": price_text(entry.price) if entry.kind in ("asked", "chosen") or entry.price else "",
        "spent": money_text(entry.spent),
        "belief": "" if beliefs is None else belief_text(prior, list(beliefs.values()), list(beliefs)),
        "remark": entry.remark,
    }


def known_view(session: Session, acquisitions: Acquisitions) -> list[str]:
    """What was known before the first question, in words."""
    given: dict[str, Any] = {}
    for name, value in session.known.items():
        given |= acquisitions.values_of(name, value)
    columns = {column.name: column for column in acquisitions.columns}
    return [f"{name} = {words.value_text(columns[name], value)}" for name, value in given.items()]


def missing_view(session: Session, evidence: Sequence[str]) -> list[str]:
    """What was said of a case before: which values there are, of those that are ``evidence``, and which not."""
    if session.missing is None:
        return []
    named = {"no_value_before": session.missing, "value_before": [n for n in evidence if n not in session.missing]}
    return [said(sentence, names=", ".join(names)) for sentence, names in named.items() if names]


def start_view(acquisitions: Acquisitions, entries: Sequence[FieldEntry]) -> list[dict[str, Any]]:
    """The acquisitions with the fields of their columns, for a new case; ``always``: each case brings it."""
    rules = acquisitions.rules
    return [
        {
            "j": j,
            "name": name,
            "price": price_text(float(rules.costs[j])),
            "always": j in rules.always_known,
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
        state = said("state_ended") if stopped else said("state_entry" if n == 1 else "state_entries", n=n)
        name, text = said("case_number", number=case.number), said("begun_at", time=began, state=state)
        rows.append({"id": case.id, "name": name, "text": text})
    return rows
