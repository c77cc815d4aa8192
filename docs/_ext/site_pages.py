"""The Sphinx extension that writes the pages that come from the code, before Sphinx reads them.

One page per environment (``VARIANTS``), per method (``METHODS``) and per public object (``__all__``), the tables of
stored results, and the pictures of episodes. What people write about one environment or method is in its folder
``notes``.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from api_pages import api_pages
from env_pages import env_pages, with_cards
from episode_animation import draw_animations
from episode_picture import draw_episode_pictures
from method_pages import method_pages


def write_pages(app: Any) -> None:
    docs = Path(app.srcdir)
    pages = {**env_pages(docs), **method_pages(docs), **api_pages()}
    for folder in ("envs", "methods", "api"):
        for path in docs.glob(f"{folder}/*.md"):
            if path.name != "index.md" and f"{folder}/{path.name}" not in pages:
                path.unlink()  # of an object that is no longer there
    for name, text in pages.items():
        path = docs / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:  # an unchanged page is not read again
            path.write_text(text, encoding="utf-8")
    draw_episode_pictures(docs / "_generated")
    draw_animations(docs / "_generated")


def headings_of_docstrings(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Headings in Gymnasium's form, ``## Rewards``, become rubrics, which are allowed inside a docstring."""
    for i, line in enumerate(lines):
        if match := re.match(r"## (.*)$", line):
            lines[i] = f".. rubric:: {match[1]}\n"
    lines[:] = "\n".join(lines).split("\n")


def links_of_site(text: str) -> str:
    """Links that lead somewhere in a clone, too, with the page that the site has instead.

    >>> links_of_site("[a](../methods/index.md#lattice) [b](../../examples/gallery/plot_05_chart.py)")
    '[a](../methods/lattice.md) [b](../gallery/plot_05_chart)'
    >>> links_of_site("[a](notes/rcpi.md) [b](methods/notes/rcpi.md)")
    '[a](rcpi.md) [b](methods/rcpi.md)'
    """
    if "```diff" in text:  # which shows the lines of a file
        parts = re.split(r"^(```diff\n.*?^```\n)", text, flags=re.MULTILINE | re.DOTALL)
        return "".join(part if part.startswith("```diff") else links_of_site(part) for part in parts)
    text = re.sub(r"\]\(((?:\.\./)*(?:methods/|envs/)?)index\.md#([\w-]+)\)", r"](\1\2.md)", text)
    text = re.sub(r"\]\((methods/)?notes/", r"](\1", text)
    text = re.sub(r"\]\(\.\./((?:\.\./)*)examples/gallery\)", r"](\1gallery/index.rst)", text)
    return re.sub(r"\]\(\.\./((?:\.\./)*)examples/gallery/(\w+)\.py\)", r"](\1gallery/\2)", text)


def use_links_of_site(app: Any, docname: str, source: list[str]) -> None:
    source[0] = links_of_site(with_cards(source[0]) if docname == "envs/index" else source[0])


def short_signature(app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: Any):
    """The rule options of a signature are named once, in ``Rules``; elsewhere ``...`` stands for them."""
    from fsgym.rules.options import OPTIONS

    if what not in ("class", "function") or name == "fsgym.Rules" or signature is None:
        return None
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return None
    shared = [o.name for o in OPTIONS if o.name in parameters and o.name != "lam"]
    if len(shared) < 8:
        return None
    text = signature
    for option in shared:
        text = re.sub(rf", {option}=(?:'[^']*'|[^,()]*)", "", text)
    return f"{text[:-1]}, **rule_options)" if text.endswith(")") else text, returns


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)  # before the gallery
    app.connect("autodoc-process-docstring", headings_of_docstrings, priority=100)
    app.connect("autodoc-process-signature", short_signature)
    app.connect("source-read", use_links_of_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
