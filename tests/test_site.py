"""The site without Sphinx: pages are reachable, objects have pages. ``.ci/site`` builds it."""

from __future__ import annotations

import doctest
import inspect
import re
import runpy
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fsgym.envs.ids import VARIANTS
from fsgym.methods import METHODS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def links_of_site() -> Callable[[str], str]:
    """What the site makes of the links of a page."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from site_pages import links_of_site
    finally:
        sys.path.pop(0)
    return links_of_site


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The pages that come from the code, by their path below docs."""
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        from api_pages import api_pages
        from env_pages import env_pages
        from method_pages import method_pages
    finally:
        sys.path.pop(0)
    return {**env_pages(DOCS), **method_pages(DOCS), **api_pages()}


def written_pages() -> dict[str, str]:
    """The pages that people write, by their path below docs; without notes, and without what an earlier build left."""
    paths = [*DOCS.glob("*.md"), *(p for p in DOCS.glob("*/*.md") if not p.parent.name.startswith("_"))]
    own = [p for p in paths if p.name == "index.md" or p.parent.name not in ("envs", "methods", "api", "gallery")]
    return {p.relative_to(DOCS).as_posix(): p.read_text() for p in own}


def entries_of(name: str, text: str, pages: set[str]) -> set[str]:
    """The pages that the tables of contents of a page list."""
    listed = set()
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line and not line.startswith(":"):
                path = (DOCS / name).parent.joinpath(f"{line}.md").resolve()
                pattern = path.relative_to(DOCS).as_posix()
                listed |= {p for p in pages if Path(p).match(pattern) and Path(p).parent == Path(pattern).parent}
    return listed - {name}


def test_every_page_is_reachable_from_the_first(generated):
    pages = {**written_pages(), **generated}
    reached, waiting = set(), ["index.md"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += entries_of(name, pages[name], set(pages))
    assert reached == set(pages)
    assert len(pages) > 100


def test_links_lead_somewhere_in_a_clone():
    """Pages that people write link to nothing that only the built site has."""
    others = {f"../{name}": (ROOT / name).read_text() for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")}
    for name, text in {**written_pages(), **others}.items():
        prose = re.sub(r"^```diff\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            path = (DOCS / name).parent.joinpath(target).resolve()
            built = path.parent.name in ("envs", "methods", "api", "gallery") and path.parent.parent == DOCS
            assert path.name == "index.md" if built else path.exists(), f"{name} links to {target}"


def test_links_between_pages_lead_somewhere(generated, links_of_site):
    for name, source in {**written_pages(), **generated}.items():
        text = links_of_site(source)
        for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", text):
            path = (DOCS / name).parent.joinpath(target).resolve()
            known = path.is_file() or path.relative_to(DOCS).as_posix() in generated
            assert known, f"{name} links to {target}"
        for example in re.findall(r"gallery/(plot_\w+)", text):
            assert (ROOT / "examples" / "gallery" / f"{example}.py").is_file(), f"{name} links to {example}"


def test_every_environment_method_and_public_object_has_a_page(generated):
    import agents
    import baselines
    import fsgym

    assert all(f"envs/{name}.md" in generated for name in VARIANTS)
    assert all(f"methods/{name}.md" in generated for name in METHODS)
    for package in (fsgym, agents, baselines):
        for name in package.__all__:
            assert f"api/{package.__name__}.{name}.md" in generated


def test_every_public_object_has_an_example_that_the_tests_run(generated):
    """Examples are run as doctests of the modules that define the objects, none of which is left out."""
    api = sys.modules["api_pages"]
    examples = doctest.DocTestParser()
    for path in (path for paths in api.public_objects().values() for path in paths):
        found = examples.get_examples(inspect.getdoc(api.find(path)) or "", path)
        runs = any(not example.options.get(doctest.SKIP) for example in found)
        assert runs, f"the docstring of {path} must have an example that runs: add a section Examples with >>> lines"
    assert {"tests", "fsgym", "agents", "baselines"} <= set(PYPROJECT["tool"]["pytest"]["ini_options"]["testpaths"])
    assert "--doctest-modules" in PYPROJECT["tool"]["pytest"]["ini_options"]["addopts"]


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_page_of_an_environment_begins_with_its_own_rule(generated, name):
    text = generated[f"envs/{name}.md"]
    note = (DOCS / "envs" / "notes" / f"{name}.md").read_text().strip()
    assert text.startswith(f"# {name}\n\n{note}\n\n")
    assert "(common.md)" in text
    for title in ("Numbers to beat", "An episode", "Version History"):
        assert re.search(rf"^## {title}\n\n\S", text, re.MULTILINE), title
    assert ("## Learning curves" in text) == (name in (DOCS / "results" / "learning_curves.csv").read_text())
    assert all(f"`{option}`: " in text for option in VARIANTS[name])


def test_the_page_of_what_environments_have_in_common_has_its_parts(generated):
    text = generated["envs/common.md"]
    for title in ("Observation space", "Action space", "Rewards", "Episode end", "Information", "Arguments"):
        assert re.search(rf"^## {title}\n\n\S", text, re.MULTILINE | re.IGNORECASE), title
    assert "`illegal_action`" in text
    assert "`prerequisites`" in text


def test_the_list_of_environments_shows_the_card_of_each(generated):
    page = sys.modules["env_pages"].with_cards((DOCS / "envs" / "index.md").read_text())
    shown = re.findall(
        r"^:::\{grid-item-card\} (.*)\n:link: (.*)\n(?:.*\n)*?```\{image\} (.*)\.gif$", page, re.MULTILINE
    )
    assert shown == [(name, name, f"../_generated/{name}") for name in VARIANTS]
    assert "| id |" not in page


def test_an_environment_without_stored_rows_says_how_to_store_them(generated, monkeypatch):
    monkeypatch.setattr("fsgym.comparison.leaderboard.read_stored_rows", dict)
    table = sys.modules["env_pages"].stored_table("DatumWise-v0")
    assert table.startswith("No rows are stored yet; `python benchmarks/leaderboard.py --ids DatumWise-v0`")


def test_a_page_of_a_method_says_what_its_class_takes(generated):
    measured = set(pd.read_csv(DOCS / "methods" / "sizes.csv")["method"])
    assert measured <= set(METHODS)
    for name in METHODS:
        assert ("**Rows and features**" in generated[f"methods/{name}.md"]) == (name in measured)
    assert "**Missing values** | yes" in generated["methods/lattice.md"]
    assert "**Missing values** | no" in generated["methods/l1_svm.md"]
    assert "**Groups at one price** | yes: `groups`" in generated["methods/panel.md"]
    assert "**Groups at one price** | yes: `groups`" in generated["methods/sparse_group_lasso.md"]
    assert "**Groups at one price** | not in training" in generated["methods/hkl.md"]  # its parameter is another thing
    assert "SB3Classifier(algorithm='dqn', lam=0.02)" in generated["methods/dqn.md"]
    assert "[DatumWise-v0](../envs/DatumWise-v0.md)" in generated["methods/rcpi.md"]


def test_links_to_the_repository_appear_only_where_its_address_is_known():
    repository = runpy.run_path(str(DOCS / "_ext" / "repository.py"))["repository_options"]
    assert repository("", "0.3.0") == ({}, {})
    options, context = repository("https://example.org/fsgym/", "0.3.0")
    assert [link["url"] for link in options["icon_links"]] == ["https://example.org/fsgym"]
    assert options["use_edit_page_button"]
    assert context["edit_page_url_template"].startswith("https://example.org/fsgym/edit/")
    assert "version-switcher" in options["navbar_end"]
    assert options["switcher"]["version_match"] == "0.3.0"
