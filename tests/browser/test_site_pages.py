"""The site that ``.ci/site`` built: every page is reached by links, and none has an error or a serious defect.

With FSGYM_REQUIRE_SITE the tests fail where the site was not built.
"""

from __future__ import annotations

import functools
import http.server
import os
import threading
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

import pytest

from support.accessible import defects

SITE = Path(__file__).resolve().parent.parent.parent / "docs" / "_build" / "html"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if "_static" not in path.parts)
MAX_HEIGHT = 2700  # pixels of the page of a suite. By hand: three screens
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not PAGES and not os.environ.get("FSGYM_REQUIRE_SITE"), reason="build the site first: bash .ci/site"
    ),
]


class PageLinks(HTMLParser):
    """The addresses that a page links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "a" and dict(attrs).get("href"):
            self.addresses.append(dict(attrs)["href"])


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def address():
    """The address of the site, served on this machine."""
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_every_page_is_reached_by_links_and_no_link_is_dead():
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        for link in PageLinks((SITE / name).read_text()).addresses:
            target = urlsplit(urljoin(f"http://site/{name}", link))
            if target.netloc == "site":
                path = unquote(target.path).lstrip("/") or "index.html"
                assert (SITE / path).exists(), f"{name} links to {link}"
                waiting += [path] if path.endswith(".html") else []
    assert len(PAGES) > 150
    assert reached == set(PAGES)


@pytest.mark.parametrize(
    "words",
    ["AACO", "active feature acquisition", "cost-sensitive", "classification with costly features", "cues"],
)
def test_the_search_finds_the_words_of_other_fields(chromium, address, words):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/search.html?q={quote(words)}")
    page.wait_for_selector("#search-results li a[href*='glossary']")
    page.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("part", range(4))
def test_pages_have_no_serious_defect_and_no_error_in_the_console(chromium, address, part, width):
    """Each page in light and in dark, on a screen and on a phone."""
    viewport = {"width": width, "height": 900}
    context = chromium.new_context(viewport=viewport, reduced_motion="reduce")  # no colours on their way to dark
    page, found = context.new_page(), {}

    def note(rule: str, text: str, places: Sequence[str] = ()) -> None:
        found.setdefault(page.url.removeprefix(f"{address}/"), []).append((rule, text, places))

    def note_error(line: Any) -> None:  # axe-core looks for a style sheet of the theme in the wrong place
        if line.type == "error" and line.location["url"] != f"{address}/basic.css":
            note("console", line.text)

    page.on("pageerror", lambda error: note("page", str(error)))
    page.on("console", note_error)
    for name in PAGES[part::4]:
        page.emulate_media(color_scheme="light")
        page.goto(f"{address}/{name}")
        wide = page.locator("body").evaluate("body => document.documentElement.scrollWidth")
        if wide > width:
            note("wide", f"{wide} px on {width} px")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_selector(f"html[data-theme={scheme}]")
            for rule, text, places in defects(page):
                note(f"{scheme}: {rule}", text, places)
    context.close()
    assert found == {}


RESULTS = ("benchmarks/", "reproduction", "numbers_to_beat")


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith(RESULTS)])
def test_a_page_of_a_suite_or_of_a_study_is_short_while_its_details_are_closed(chromium, address, name):
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/{name}")
    n_details, height = page.locator("details").count(), page.evaluate("document.documentElement.scrollHeight")
    page.close()
    assert n_details >= (5 if name.startswith("benchmarks/") else 1)
    assert height <= MAX_HEIGHT
