"""Links of the site that lead to the repository, where its address is known."""

from __future__ import annotations

from typing import Any


def repository_options(url: str, release: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the theme, and its context, for a repository at ``url``; both empty for "".

    With an address each page has a link to the repository, one to edit it, and the switch between versions, which reads
    ``versions.json`` beside the site's first page.
    """
    if not url:
        return {}, {}
    url = url.rstrip("/")
    options = {
        "icon_links": [{"name": "Repository", "url": url, "icon": "fa-solid fa-code-branch"}],
        "use_edit_page_button": True,
        "switcher": {"json_url": "_static/versions.json", "version_match": release},
        "check_switcher": False,  # the file is published with the site
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
    context = {
        "edit_page_url_template": url + "/edit/main/docs/{{ file_name }}",
        "edit_page_provider_name": "the repository",
        "doc_path": "docs",
    }
    return options, context
