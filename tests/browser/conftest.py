"""Chromium for the tests of pages; its absence fails them.

Screenshots are written into the folder that ``FSGYM_SCREENSHOTS`` names, else into a temporary one.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
# What Chromium remarks of a refused request, and of a page where something was clicked while it was loading.
HARMLESS = ("responded with a status of 4", "Autofocus processing was blocked")


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("Chromium is needed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """A function that opens a page; at its end the page must have reported no error, refused script or dialog."""

    @contextmanager
    def opened(address, width=1280, scripts=True, scheme="light", **options):
        context = chromium.new_context(
            viewport={"width": width, "height": 844},
            java_script_enabled=scripts,
            color_scheme=scheme,
            accept_downloads=True,
            **options,
        )
        context.set_default_timeout(10_000)
        page, wrong = context.new_page(), []
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.extend([] if any(h in said.text for h in HARMLESS) else [said.text]))
        page.goto(address)
        if "/start?" in address:  # its page leads to the first one
            page.wait_for_url(lambda url: "/start?" not in url)
        yield page
        context.close()
        assert wrong == []

    return opened


@pytest.fixture
def shoot(tmp_path):
    """A function (page, name) that writes a screenshot, and checks that nothing is wider than the page."""
    folder = Path(os.environ.get("FSGYM_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    def write(page, name):
        page.screenshot(path=folder / f"{name}.png", full_page=True)
        width = page.viewport_size["width"]
        wide = page.locator("body").evaluate("body => document.documentElement.scrollWidth")
        assert wide <= width, f"{name} is {wide} px wide on a screen of {width} px"

    return write
