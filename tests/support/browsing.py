"""A browser without a screen for tests of pages: it reads forms, fills them in and presses buttons."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, Self

from starlette.testclient import TestClient

from fsgym.web.guard import Access, HostNames
from fsgym.web.serving import case_app

BASE = "http://127.0.0.1:8765"


class PageForms(HTMLParser):
    """The forms of a page, and its text without what is hidden in tags.

    Attributes
    ----------
    forms : list of (action, fields, buttons), of which a button is (text, action or None, name, value)
    tags : list of (tag, attributes)
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Any] = []
        self.tags: list[Any] = []
        self._texts: list[str] = []
        self._button: list[Any] | None = None
        self._goes_on = False  # whether a text goes on after a place where its line may be broken
        self.feed(text)
        self.text = " ".join(" ".join(self._texts).split())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        self._goes_on = tag == "wbr"
        if tag == "form":
            self.forms.append((found["action"], {}, []))
        elif tag == "button" and self.forms:
            self._button = ["", found.get("formaction"), found.get("name"), found.get("value")]
        elif tag in ("input", "textarea") and "name" in found and self.forms:
            chosen = found.get("type") not in ("radio", "checkbox") or "checked" in found
            if chosen:
                self.forms[-1][1][found["name"]] = found.get("value", "")

    def handle_endtag(self, tag):
        self._goes_on = False
        if tag == "button" and self._button is not None:
            self.forms[-1][2].append((" ".join(self._button[0].split()), *self._button[1:]))
            self._button = None

    def handle_data(self, data):
        if self._goes_on:
            self._texts[-1] += data
        else:
            self._texts.append(data)
        self._goes_on = False
        if self._button is not None:
            self._button[0] += data


def headers_of(address: str) -> dict[str, str]:
    """What a browser says of a form on a page at this address."""
    return {"Origin": address, "Sec-Fetch-Site": "same-origin"}


class Browser:
    """A browser without scripts, which reads pages by an HTTP client.

    Attributes
    ----------
    client : TestClient or httpx2.Client
    reply : the last reply
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.reply: Any = None

    def go(self, path: str) -> Self:
        """Open an address."""
        self.reply = self.client.get(path)
        return self

    @property
    def page(self) -> PageForms:
        return PageForms(self.reply.text)

    @property
    def text(self) -> str:
        """What can be read on the page."""
        return self.page.text

    @property
    def heading(self) -> str:
        """The text of the largest heading."""
        start = self.reply.text.index("<h1")
        return PageForms(self.reply.text[start : self.reply.text.index("</h1>")]).text

    def press(self, button: str, **values: str | None) -> Self:
        """Fill in the form that has a button beginning with this text, and press it; None leaves a field out."""
        for action, fields, buttons in self.page.forms:
            for text, own, name, value in buttons:
                if text.startswith(button):
                    sent = fields | values | ({} if name is None else {name: value})
                    return self.post(own or action, {k: v for k, v in sent.items() if v is not None})
        raise AssertionError(f"no button {button!r} in {self.text}")

    def post(self, path: str, fields: dict[str, str]) -> Self:
        """Send a form."""
        self.reply = self.client.post(path, data=fields)
        return self

    def begin(self, **values: str | None) -> Self:
        """Begin a case."""
        return self.go("/").press("Begin", **values)


class Visitor(Browser):
    """A person with a browser at the pages of a model, without a network.

    Parameters
    ----------
    model : classifier
    options : of ``case_app``
    """

    def __init__(self, model: Any, **options: Any) -> None:
        self.access, self.lines = Access(), []
        names = HostNames("127.0.0.1", 8765)
        app = case_app(model, "model.fsgym", self.access, names, log=self.lines.append, **options)
        super().__init__(TestClient(app, base_url=BASE, headers=headers_of(BASE)))

    def sign_in(self) -> Self:
        """Open the address that the server prints; its page leads to the first one."""
        self.go(f"/start?token={self.access.token}").go("/")
        return self

    def step(self, content: Any = b"{}", token: str | None = None, **headers: str) -> Any:
        """The reply to a request of a program, which has no cookie and comes from no page."""
        given = {"Authorization": f"Bearer {token or self.access.token}", "Content-Type": "application/json"}
        plain = TestClient(self.client.app, base_url=BASE)
        return plain.post("/api/step", content=content, headers=given | headers)
