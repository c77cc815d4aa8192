"""The application: pages and the interface for programs, behind the checks of each request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from fsgym.web.access import Access, HostNames
from fsgym.web.cases import CaseGone, Cases
from fsgym.web.guard import API, FAILED, Guard
from fsgym.web.interface import StepInterface, json_reply
from fsgym.web.pages import CasePages

MOST_CASES = 1000
THREADS = 4  # that work at a time, each on one request; more only contend for the interpreter
SENTENCES = {
    404: "There is no such page.",
    405: "That is not done with this address.",
    500: FAILED,
}


def case_app(
    model: Any,
    title: str,
    access: Access,
    hosts: HostNames,
    *,
    cookie: str = "fsgym",
    most_cases: int = MOST_CASES,
    log: Callable[[str], object] = lambda line: None,
) -> ASGIApp:
    """The application that asks about cases with a model.

    Parameters
    ----------
    model : fitted classifier that can be asked, such as ``agents.load_classifier`` returns
    title : str, the name of the model
    access : Access, the token
    hosts : HostNames, the names under which the server answers
    cookie : str, name of the cookie of a browser that has sent the token
    most_cases : int, how many cases are held in memory
    log : function that gets a line for each request, without values of a case
    """
    pages = CasePages(model, title, access, Cases(most_cases), cookie)
    interface = StepInterface(model, title)

    def refuse(scope: Scope, status: int, sentence: str) -> Response:
        reply = json_reply({"error": sentence}, status) if scope["path"].startswith(API) else None
        return reply or pages.message(status, sentence)

    def at_exception(request: Request, error: Exception) -> Response:
        status = getattr(error, "status", None) or getattr(error, "status_code", 500)
        sentence = str(error) if isinstance(error, CaseGone) else SENTENCES.get(status, "This request is not served.")
        return refuse(request.scope, status, sentence)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield

    app = Starlette(
        routes=[*pages.routes(), *interface.routes()],
        exception_handlers={CaseGone: at_exception, HTTPException: at_exception, Exception: at_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # else an address with the token is repeated in plain HTTP
    return Guard(app, access, hosts, cookie, refuse, log)
