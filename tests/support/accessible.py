"""What axe-core finds on a page."""

from __future__ import annotations

from typing import Any


def defects(page: Any) -> list[tuple[str, str, list[str]]]:
    """What is seriously wrong with a page: the rule, its explanation and the places."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        (one["id"], one["help"], [node["html"] for node in one["nodes"]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
