"""Who may use the server, under which names it answers, and the headers of every reply."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

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
