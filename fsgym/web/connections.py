"""Connections that say nothing are closed, and there is a most of them."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 500
MOST_IDLE_SECONDS = 10.0  # until the head of a request is here
BACKLOG = 100  # connections that wait to be accepted


class BoundedConnection(H11Protocol):
    """A connection that is closed where no request comes, or where there are too many.

    Uvicorn itself waits for the head of a request for ever, and answers all others with 503 meanwhile. This protocol is
    named also because its heads are bounded, at 64 KiB; those of httptools are not.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget_deadline()

    def _watch(self) -> None:
        """Set the deadline while the head of a request is awaited."""
        awaited = self.conn.their_state is h11.IDLE and not self.transport.is_closing()
        if not awaited:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(MOST_IDLE_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
