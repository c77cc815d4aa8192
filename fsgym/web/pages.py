"""The pages: a new case, the page of a case, its log for print, and what their forms do."""

from __future__ import annotations

import json
import time
from functools import partial
from importlib.resources import files
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from fsgym.session import Session
from fsgym.session.asked_model import AskedModel
from fsgym.session.words import without_advice
from fsgym.text.messages import one_line, visible
from fsgym.web.access import HEADERS, POLICY, Access
from fsgym.web.cases import Cases, OpenCase
from fsgym.web.changes import CHANGES, Unanswered, begin_values
from fsgym.web.entries import FieldEntry, blank_entries
from fsgym.web.views import ChartPictures, case_view, open_view, start_view

OUT_OF_DATE = "That page was out of date, so nothing was changed; this is the case as it is now."
CASES_LISTED = 20  # on the first page, by hand
STATIC = {
    "style.css": ("fsgym.text", "style.css", "text/css"),
    "page.js": ("fsgym.web", "page.js", "text/javascript"),
    "icon.svg": ("fsgym.web", "icon.svg", "image/svg+xml"),
}


class CasePages:
    """The pages of a model.

    Parameters
    ----------
    model : fitted classifier that can be asked
    title : str, the name of the model
    access : Access
    cases : Cases
    cookie : str, name of the cookie
    """

    def __init__(self, model: AskedModel, title: str, access: Access, cases: Cases, cookie: str) -> None:
        self._model, self._title, self._access, self._cases, self._cookie = model, title, access, cases, cookie
        self._acquisitions = model.acquisitions_
        self._chart = ChartPictures(model)
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("fsgym.web"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda value: visible(value) if type(value) is str else value,  # values of fields are Markup
        )
        self._static = {
            name: Response(files(package).joinpath(file).read_bytes(), media_type=kind)
            for name, (package, file, kind) in STATIC.items()
        }

    def routes(self) -> list[Route]:
        """All paths, and what replies there."""
        return [
            Route("/", self.begin_page, methods=["GET"]),
            Route("/start", self.sign_in, methods=["GET", "POST"]),
            Route("/static/{name}", self.static, methods=["GET"]),
            Route("/case", self.begin, methods=["POST"]),
            Route("/resume", self.resume, methods=["POST"]),
            Route("/case/{id}", self.case_page, methods=["GET"]),
            Route("/case/{id}/log", self.log_page, methods=["GET"]),
            Route("/case/{id}/session.json", self.saved, methods=["GET"]),
            Route("/case/{id}/delete", self.delete, methods=["POST"]),
            *(Route(f"/case/{{id}}/{verb}", partial(self.change, verb), methods=["POST"]) for verb in CHANGES),
        ]

    def message(self, status: int, sentence: str) -> Response:
        """A page with one sentence; with status 401 it asks for the token."""
        return self._page("message.html", status, sentence=sentence, code=status, heading="")

    def static(self, request: Request) -> Response:
        found = self._static.get(request.path_params["name"])
        return self.message(404, "There is no such page.") if found is None else found

    def sign_in(self, request: Request) -> Response:
        """Exchange the token for a cookie."""
        posted = request.method == "POST"
        given = request.scope.get("fsgym.form", {}) if posted else request.query_params
        token = given.get("token", "").strip()
        if not (self._access.opens(token) or self._access.opens_once(given.get("code", ""))):
            return self.message(401, "That is not the token of this server." if token else "The token is needed.")
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
            return self._begin_page(error.entries, form, "Some of what is known cannot be used; see below.")
        try:
            session = Session(self._model, unavailable=barred, charge_unknown="charge" in form)
            accept = any(entry.accept for entry in entries)
            for name, values in zip(self._acquisitions.rules.names, known, strict=True):
                if values:
                    session.answer(name, values, paid=False, accept=accept)
        except ValueError as error:
            return self._begin_page(entries, form, f"{without_advice(error)}.")
        return self._to_case(self._cases.add(session, unavailable=barred))

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
        plain = json.loads(form["saved"])
        return self._to_case(self._cases.add(session, plain["known"], plain["unavailable"]))

    def case_page(self, request: Request) -> Response:
        case = self._case(request)
        with case.lock:
            return self._case_page(case)

    def log_page(self, request: Request) -> Response:
        case = self._case(request)
        with case.lock:
            printed = time.strftime("%Y-%m-%d %H:%M")
            return self._page("log.html", heading=f"Case {case.number}", printed=printed, **self._view(case))

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
                    case.notice = OUT_OF_DATE
                return self._to_case(case)
            before = case.session.probabilities
            try:
                notice = CHANGES[verb](case, self._acquisitions, form)
            except Unanswered as error:
                return self._case_page(case, 422, error.entries)
            except ValueError as error:
                return self._case_page(case, 422, refusal=f"{without_advice(error)}.")
            case.before, case.notice, case.last = before, notice, (verb, form)
            case.version += 1
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
            acquisitions=start_view(self._acquisitions, entries),
            barred={j for j in range(len(self._acquisitions.rules.names)) if f"barred{j}" in form},
            charge="charge" in form,
            cases=open_view(cases[:CASES_LISTED]),
            more_cases=len(cases[CASES_LISTED:]),
        )

    def _view(self, case: OpenCase, entries: list[FieldEntry] | None = None) -> dict[str, Any]:
        return case_view(case, self._acquisitions, entries)

    def _case_page(
        self, case: OpenCase, status: int = 200, entries: list[FieldEntry] | None = None, refusal: str = ""
    ) -> Response:
        if refusal and case.chosen is not None and case.chosen not in [a.name for a in case.session.step.alternatives]:
            case.chosen = None
        view = self._view(case, entries)
        chart = self._chart.picture(*view["place"])
        page = self._page("case.html", status, heading=f"Case {case.number}", refusal=refusal, chart=chart, **view)
        if chart.styles:
            page.headers["Content-Security-Policy"] = POLICY.format(styles=" ".join(["'self'", *chart.styles]))
        return page

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        values |= {"title": self._title, "proof": self._access.proof}
        text = self._templates.get_template(template).render(values)
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers=dict(HEADERS))
