"""Who may use the server, what is checked of each request before anything else, and what each reply has."""

from __future__ import annotations

import hmac
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fsgym.text.speech import said

TOKEN_BYTES = 32
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = ("0.0.0.0", "::")
POLICY = (
    "default-src 'none'; style-src {styles}; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY.format(styles="'self'"),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
MAX_BODY_BYTES = 64 * 1024  # of the body of a request
MAX_CASE_BYTES = 4 * 1024 * 1024  # of one with the token that has a case: 560 answers take 93 KiB, more columns more
MAX_SECONDS = 10.0  # until the body must be here
MAX_FIELDS = 20_000  # of a form
CASE_PATHS = ("/case", "/resume")  # with cases
OPEN_PATHS = ("/start", "/static/")  # which need no token
API = "/api/"


class Access:
    """The token, and what a browser gets in exchange for it.

    Parameters
    ----------
    token : str, optional; by default a random one

    Attributes
    ----------
    cookie : str, the value of the cookie of a browser that has sent the token
    proof : str, which every form of the pages has, and no other page can read
    code : str, which opens once, for the browser that this program starts; "" afterwards
    """

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(TOKEN_BYTES)
        self.cookie, self.proof, self.code = (secrets.token_urlsafe(TOKEN_BYTES) for _ in range(3))

    def opens(self, token: str) -> bool:
        """Whether this is the token; takes the same time for all tokens of a length."""
        return same_text(token, self.token)

    def opens_once(self, code: str) -> bool:
        """Whether this is the code, which no one has used."""
        if not self.code or not same_text(code, self.code):
            return False
        self.code = ""
        return True


def same_text(given: str, expected: str) -> bool:
    """Whether two secrets are the same, compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def is_loopback(host: str) -> bool:
    """Whether an address to bind can be reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class HostNames:
    """The names under which the server answers, against pages that point a name of their own at it.

    Parameters
    ----------
    host : str, the address that is bound
    port : int
    more : names, with any port, such as that of a machine in front which speaks TLS

    Examples
    --------
    >>> names = HostNames("127.0.0.1", 8765)
    >>> names.allow("localhost:8765"), names.allow("127.0.0.1:80"), names.allow("example.org:8765")
    (True, False, False)
    """

    def __init__(self, host: str, port: int, more: Iterable[str] = ()) -> None:
        self._port, self._anywhere = port, host in ANY_ADDRESS
        self._names = {host.lower()} | (set(LOOPBACK_NAMES) if is_loopback(host) or self._anywhere else set())
        self._more = {name.lower() for name in more}

    def allow(self, host: str) -> bool:
        """Whether a Host header is one of this server."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", 80 if parts.port is None else parts.port
        except ValueError:
            return False
        if parts.netloc != host or "@" in host:
            return False
        return name in self._more or (port == self._port and (name in self._names or self._is_address(name)))

    def allow_origin(self, origin: str) -> bool:
        """Whether an Origin header is that of a page of this server."""
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and self.allow(host)

    def _is_address(self, name: str) -> bool:
        """Whether it is an address, which no other page can have as its name, and all addresses are served."""
        try:
            return self._anywhere and bool(ip_address(name))
        except ValueError:
            return False


class Refused(Exception):
    """A request that is not served: the name of a sentence and its values, which print in the language that is spoken.

    >>> str(Refused(404, "no_such_page"))
    'There is no such page.'
    """

    def __init__(self, status: int, sentence: str, **values: object) -> None:
        super().__init__(sentence)
        self.status, self.values = status, values

    def __str__(self) -> str:
        return said(self.args[0], **self.values)


class Guard:
    """The application behind its checks: host, origin, size, token; it adds the headers of every reply.

    The body of a request is then in ``scope["fsgym.body"]``, and the fields of a form in ``scope["fsgym.form"]``.

    Parameters
    ----------
    app : ASGI application
    access : Access
    hosts : HostNames
    cookie : str, name of the cookie
    refuse : function (scope, error) -> ASGI application that replies
    log : function that gets a line for each request: method, route, status and time, but no value of a case
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: HostNames,
        cookie: str,
        refuse: Callable[[Scope, Refused], ASGIApp],
        log: Callable[[str], object],
    ) -> None:
        self._app, self._access, self._hosts, self._cookie = app, access, hosts, cookie
        self._refuse, self._log = refuse, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            else:
                await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._check(scope, receive)
            await self._app(scope, receive, send_safely)
        except Refused as error:
            await self._refuse(scope, error)(scope, receive, send_safely)
        except Exception as error:  # its message may have values, and is left out of the log
            lines = "".join(traceback.format_tb(error.__traceback__))
            print(f"{lines}{type(error).__name__} in {route_of(scope)}", file=sys.stderr)
            if not status:
                await self._refuse(scope, Refused(500, "server_failed"))(scope, receive, send_safely)
        finally:
            if not scope["path"].startswith("/static/"):
                took = 1e3 * (time.perf_counter() - began)
                self._log(f"{scope['method']} {route_of(scope)} {status} {took:.0f} ms")

    async def _check(self, scope: Scope, receive: Receive) -> None:
        """Raise Refused unless the request may be served."""
        headers, path = Headers(scope=scope), scope["path"]
        named = headers.getlist("host")
        if len(named) != 1 or not self._hosts.allow(named[0]):
            raise Refused(421, "other_name")
        if has_two_lengths(scope["headers"]):
            raise Refused(400, "two_lengths")
        posted = scope["method"] not in ("GET", "HEAD")
        if posted:
            self._check_origin(headers)
        scope["fsgym.token"] = trusted = self._has_token(headers, path, posted)
        allowed = trusted or path.startswith(OPEN_PATHS)
        if posted:
            most = MAX_CASE_BYTES if trusted and path.startswith(CASE_PATHS) else MAX_BODY_BYTES
            scope["fsgym.body"] = await read_body(headers, receive, most)
        if not allowed:
            raise Refused(401, "token_of_server")
        if posted and not path.startswith(API):
            scope["fsgym.form"] = form = parse_form(headers, scope["fsgym.body"])
            if not path.startswith(OPEN_PATHS) and not same_text(form.get("proof", ""), self._access.proof):
                raise Refused(403, "form_of_others")

    def _check_origin(self, headers: Headers) -> None:
        """Refuse what pages of others send: a browser says which page it was."""
        # A form of our own pages has the origin "null", because they send no referrer; its field `proof` counts then.
        origins, site = headers.getlist("origin"), headers.get("sec-fetch-site", "same-origin")
        if site != "same-origin" or any(o != "null" and not self._hosts.allow_origin(o) for o in origins):
            raise Refused(403, "pages_of_others")

    def _has_token(self, headers: Headers, path: str, posted: bool) -> bool:
        """Whether the request has the token, or the cookie; the interface for programs takes nothing with a cookie."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._access.opens(token.strip())
        if posted and path.startswith(API):
            return False
        # Cookies of other programs on this machine come, too, and not all are as the standard says.
        return same_text(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._access.cookie)


def route_of(scope: Scope) -> str:
    """The path of a request without what it has of a case."""
    path = scope["path"] if "endpoint" in scope else "(no page)"
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(value, f"{{{name}}}")
    return path


def has_two_lengths(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a head says the length of its body in two ways, of which a server in front may follow the other."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}


async def read_body(headers: Headers, receive: Receive, most: int = MAX_BODY_BYTES) -> bytes:
    """The body of a request, whether it says its length or not; Refused where it is too slow, or has more bytes."""
    too_long = Refused(413, "request_too_long", n=most // 1024)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > most:
        raise too_long
    body = bytearray()
    with anyio.move_on_after(MAX_SECONDS):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Refused(400, "request_cut")
            body += message.get("body", b"")
            if len(body) > most:
                raise too_long
            if not message.get("more_body", False):
                return bytes(body)
    raise Refused(408, "request_slow")


def parse_form(headers: Headers, body: bytes) -> dict[str, str]:
    """The fields of a form by name, the first one of each name."""
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Refused(415, "form_type")
    try:
        text = body.decode("utf-8", "replace")
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="replace")
    except ValueError:
        raise Refused(413, "form_fields", n=MAX_FIELDS) from None
    form: dict[str, str] = {}
    for name, value in fields:
        form.setdefault(name, value)
    return form
