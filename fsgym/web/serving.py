"""The application, pages and the interface for programs behind the checks of each request, run until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import webbrowser
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio.to_thread
import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.flow_control import CLOSE_HEADER
from uvicorn.protocols.http.h11_impl import H11Protocol

from fsgym.data.reading.files import read_text
from fsgym.session.asked_model import AskedModel
from fsgym.session.case import step_of
from fsgym.text.speech import ENGLISH, Speech
from fsgym.web.cases import Cases
from fsgym.web.guard import ANY_ADDRESS, API, Access, Guard, HostNames, Refused, has_two_lengths, is_loopback
from fsgym.web.interface import json_reply, step_routes
from fsgym.web.pages import CasePages

# The application: pages and the interface for programs, behind the checks of each request.

MAX_CASES = 1000
THREADS = 4  # that work at a time, each on one request; more only contend for the interpreter
SENTENCES = {404: "no_such_page", 405: "not_done_here", 500: "server_failed"}


def case_app(
    model: AskedModel,
    title: str,
    access: Access,
    hosts: HostNames,
    *,
    cookie: str = "fsgym",
    most_cases: int = MAX_CASES,
    speech: Speech = ENGLISH,
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
    speech : Speech, the language of the pages and the unit of the prices
    log : function that gets a line for each request, without values of a case
    """
    pages = CasePages(model, title, access, Cases(most_cases), cookie, speech)

    def refuse(scope: Scope, error: Refused) -> Response:
        reply = json_reply({"error": str(error)}, error.status) if scope["path"].startswith(API) else None
        return reply or pages.message(error)

    def at_exception(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        refused = error if isinstance(error, Refused) else Refused(status, SENTENCES.get(status, "not_served"))
        return refuse(request.scope, refused)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        yield

    app = Starlette(
        routes=[*pages.routes(), *step_routes(model, title)],
        exception_handlers={Refused: at_exception, HTTPException: at_exception, Exception: at_exception},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # else an address with the token is repeated in plain HTTP
    return Guard(app, access, hosts, cookie, refuse, log)


MAX_CONNECTIONS = 500
MAX_IDLE_SECONDS = 10.0  # until the head of a request is here
MAX_UNREAD_SECONDS = 10.0  # until a reply is read
MAX_REQUESTS = 100  # of a connection
BACKLOG = 100  # connections that wait to be accepted


class BoundedConnection(H11Protocol):
    """A connection that is closed where no request comes, or no reply is read, or where there are too many.

    Uvicorn itself waits for the head of a request, and for replies to be read, for ever; and where there are too many
    connections, it answers all new ones with 503. This protocol is named also because its heads are bounded, at 64 KiB;
    those of httptools are not.
    """

    _deadline: asyncio.TimerHandle | None = None  # of the head of a request
    _unread: asyncio.TimerHandle | None = None  # of the reading of a reply
    _n_requests = 0
    since = 0.0  # when it was opened, or last began to say nothing or not to read

    @property
    def has_token(self) -> bool:
        """Whether its last request had the token."""
        scope: Any = self.scope or {}
        return scope.get("fsgym.token", False)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # whatever is unread counts
        self.since = self.loop.time()
        self._watch()
        if len(self.connections) > MAX_CONNECTIONS:
            self._give_way()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._n_requests += 1
            if self._n_requests == MAX_REQUESTS or has_two_lengths(self.headers):
                self.cycle.default_headers = [*self.cycle.default_headers, CLOSE_HEADER]

    def on_response_complete(self) -> None:
        if not self.has_token and self.conn.trailing_data[0]:  # the next request, before the reply to this one
            self.transport.close()
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.since = self.loop.time()
        self._unread = self.loop.call_later(MAX_UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = _cancelled(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._deadline, self._unread = _cancelled(self._deadline), _cancelled(self._unread)

    def shutdown(self) -> None:
        if self._unread is not None or not self.has_token:  # what is served to others need not come to its end
            self.transport.abort()
        else:
            super().shutdown()

    def _watch(self) -> None:
        """Set the deadline while the head of a request is awaited."""
        awaited = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if not awaited:
            self._deadline = _cancelled(self._deadline)
        elif self._deadline is None:
            self.since = self.loop.time()
            self._deadline = self.loop.call_later(MAX_IDLE_SECONDS, self.transport.close)

    def _give_way(self) -> None:
        """Close another connection without the token, that which waits longest; this one where all have the token."""
        others: Any = self.connections - {self}
        longest = min((each for each in others if not each.has_token), key=lambda each: each.since, default=self)
        longest.transport.abort()
        self.connections.discard(longest)  # its end comes after others that are new


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


TOKEN_VARIABLE = "FSGYM_TOKEN"
SHORTEST_TOKEN = 16  # characters
SECONDS_TO_END = 2  # for requests that are served when Ctrl-C comes


def serve(
    model: AskedModel,
    title: str,
    host: str,
    port: int,
    *,
    token_file: Path | None = None,
    names: Sequence[str] = (),
    most_cases: int = MAX_CASES,
    speech: Speech = ENGLISH,
    browser: bool = False,
) -> None:
    """Serve a model until Ctrl-C.

    Parameters
    ----------
    model : fitted classifier that can be asked
    title : str, the name of the model
    host : str, the address to bind
    port : int; 0 takes a free one
    token_file : Path, optional
        File with the token; by default the token is that of the environment variable ``FSGYM_TOKEN``, else a random
        one, which is printed.
    names : further names under which the server is reached
    most_cases : int, how many cases are held in memory
    speech : Speech, the language of the pages and the unit of the prices
    browser : bool, whether to open the page in a browser

    Raises
    ------
    ValueError, OSError
        If the token is too short or missing, or the address cannot be bound.
    """
    given = given_token(token_file)
    if given is None and not is_loopback(host):
        raise ValueError(
            f"--host {host} can be reached from other machines, and needs a token of yours: give --token-file, or set "
            f"{TOKEN_VARIABLE}"
        )
    with bound_socket(host, port) as bound:
        port = bound.getsockname()[1]
        access, cookie = Access(given), f"fsgym-{port}"
        hosts = HostNames(host, port, names if is_loopback(host) else [*names, socket.gethostname()])
        app = case_app(
            model, title, access, hosts, cookie=cookie, most_cases=most_cases, speech=speech, log=_print_line
        )
        step_of(model, {})  # what is compiled or made at the first question is there then

        def greet() -> None:
            _greet(host, port, None if given else access.token)
            if browser:  # the address is seen by who lists the processes: the code in it counts once
                webbrowser.open(f"{_address(host, port)}start?code={access.code}")

        # Uvicorn ends at Ctrl-C and at the signal TERM, and then raises them again.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            GreetingServer(server_config(app), greet).run(sockets=[bound])
    print("Stopped; cases that were not saved as files are gone.")


class GreetingServer(uvicorn.Server):
    """A server that greets when it is ready: from then on, a signal ends it in an orderly way."""

    def __init__(self, config: uvicorn.Config, greet: Callable[[], object]) -> None:
        super().__init__(config)
        self.greet = greet

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.greet()


def server_config(app: Any) -> uvicorn.Config:
    """How the application is served: bounded connections, and a log without addresses."""
    return uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        http=BoundedConnection,
        backlog=BACKLOG,
        timeout_graceful_shutdown=SECONDS_TO_END,
        ws="none",
    )


def given_token(token_file: Path | None) -> str | None:
    """The token of the file or of the environment; None where there is neither."""
    if token_file is not None:
        token, source = read_text(token_file).strip(), str(token_file)
    else:
        token, source = os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE
        if not token:
            return None
    if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise ValueError(
            f"{source} must have a token of at least {SHORTEST_TOKEN} letters, digits and signs, without blanks, got "
            f"{len(token)} characters; make one with: python -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    return token


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket at this address; OSError with a sentence where it cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio only then sends what it has at once (TCP_NODELAY), and not 40 ms later.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(socket.SOMAXCONN)
    except (OSError, OverflowError) as error:
        bound.close()
        words = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise OSError(
            f"cannot serve at {host}, port {port}: {words}; give another --port, or --port 0 for a free one"
        ) from None
    return bound


def _address(host: str, port: int) -> str:
    name = "localhost" if host in ANY_ADDRESS else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def _greet(host: str, port: int, token: str | None) -> None:
    """Print where the page is, and what that means for who can reach it."""
    print(f"Open {_address(host, port)}{'' if token is None else f'start?token={token}'}")
    if token is None:
        print("and enter the token that you gave.")
    if not is_loopback(host):
        print(
            "This is plain HTTP: everyone in the network who has the token can see and change all cases, and whoever "
            "can listen to the network can read the token; put a server that speaks TLS in front of it."
        )
    print("Ctrl-C ends.", flush=True)


def _print_line(line: str) -> None:
    print(line, file=sys.stderr)
