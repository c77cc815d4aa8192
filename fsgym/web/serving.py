"""Runs the application until Ctrl-C."""

from __future__ import annotations

import os
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from fsgym.data.reading.files import read_text
from fsgym.web.access import ANY_ADDRESS, Access, HostNames, is_loopback
from fsgym.web.app import MOST_CASES, case_app
from fsgym.web.connections import BACKLOG, BoundedConnection

TOKEN_VARIABLE = "FSGYM_TOKEN"
SHORTEST_TOKEN = 16  # characters
SECONDS_TO_END = 3  # for requests that are served when Ctrl-C comes


def serve(
    model: Any,
    title: str,
    host: str,
    port: int,
    *,
    token_file: Path | None = None,
    names: Sequence[str] = (),
    most_cases: int = MOST_CASES,
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
        app = case_app(model, title, access, hosts, cookie=cookie, most_cases=most_cases, log=_print_line)
        model.step({})  # what is compiled or made at the first question is there then

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
