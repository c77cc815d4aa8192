"""A server of pages on this machine, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import uvicorn

from fsgym.web.guard import Access, HostNames
from fsgym.web.serving import bound_socket, case_app, server_config


class Running(NamedTuple):
    """A server that runs.

    Attributes
    ----------
    port : int
    token : str
    lines : list of str, its log
    """

    port: int
    token: str
    lines: list[str]

    def start(self, name: str = "127.0.0.1") -> str:
        """The address that exchanges the token for a cookie."""
        return f"http://{name}:{self.port}/start?token={self.token}"


@contextmanager
def running(model: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[Running]:
    """Serve a model; ``options`` are those of ``case_app``."""
    lines: list[str] = []
    with bound_socket(host, 0) as bound:
        port, access = bound.getsockname()[1], Access()
        app = case_app(model, "model.fsgym", access, HostNames(host, port), log=lines.append, **options)
        server = uvicorn.Server(server_config(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield Running(port, access.token, lines)
        finally:
            server.should_exit = True
            thread.join()
