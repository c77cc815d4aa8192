"""The site without Sphinx: pages are reachable, objects have pages, snippets run. ``.ci/site`` builds it."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from fsgym.cli import app
from fsgym.cli.main import main
from fsgym.methods import METHODS
from fsgym.registration import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GUIDE = sorted(p.relative_to(DOCS).as_posix() for folder in ("start", "guide") for p in (DOCS / folder).glob("*.md"))
# A code block, and the output that the page shows for it.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


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


def test_links_between_pages_lead_somewhere(generated):
    for name, text in {**written_pages(), **generated}.items():
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


@pytest.mark.parametrize("name", list(VARIANTS))
def test_a_page_of_an_environment_has_its_parts(generated, name):
    text = generated[f"envs/{name}.md"]
    for title in (
        "Observation space",
        "Action space",
        "Rewards",
        "Episode end",
        "Information",
        "Arguments",
        "Numbers to beat",
    ):
        assert re.search(rf"^## {title}\n\n\S", text, re.MULTILINE | re.IGNORECASE), title
    assert "`illegal_action`" in text
    assert "`prerequisites`" in text
    assert (DOCS / "envs" / "notes" / f"{name}.md").is_file()


def test_a_page_of_a_method_says_what_its_class_takes(generated):
    assert "**Missing values** | yes" in generated["methods/lattice.md"]
    assert "**Missing values** | no" in generated["methods/l1_svm.md"]
    assert "**Groups at one price** | yes: `groups`" in generated["methods/panel.md"]
    assert "SB3Classifier(algorithm='dqn', lam=0.02)" in generated["methods/dqn.md"]
    assert "[DatumWise-v0](../envs/DatumWise-v0.md)" in generated["methods/rcpi.md"]


def commands(text: str) -> list[str]:
    return [line for kind, code, _ in BLOCK.findall(text) if kind == "sh" for line in code.splitlines()]


@pytest.mark.parametrize("page", GUIDE)
def test_code_compiles_and_commands_are_understood(page):
    text = (DOCS / page).read_text()
    for kind, code, _ in BLOCK.findall(text):
        if kind == "python":
            compile(code, page, "exec")
    consoles = "".join(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    root = get_command(app)
    for line in [*commands(text), *re.findall(r"^\$ (fsgym .*)$", consoles, re.MULTILINE)]:
        name, *arguments = shlex.split(line)[1:]
        if not name.startswith("-"):
            command = root.get_command(root.make_context("fsgym", [name]), name)
            command.make_context(name, arguments)


def run_page(page: str, capsys: pytest.CaptureFixture[str], *, skipped: tuple[str, ...] = ()) -> None:
    """Run the blocks of a page from top to bottom, and compare what they print with what the page shows."""
    names: dict = {}
    for kind, code, shown in BLOCK.findall((DOCS / page).read_text()):
        if kind == "sh":
            for line in code.splitlines():
                if not line.startswith(skipped):
                    with pytest.raises(SystemExit) as finished:
                        main(shlex.split(line)[1:])
                    assert finished.value.code == 0, f"{page}: {line}: {capsys.readouterr().err}"
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert printed.getvalue() == shown, page


@pytest.fixture
def table_page(tmp_path, monkeypatch, capsys, no_folder):
    """A folder with what the first page writes: a table, prices, a model, predictions."""
    monkeypatch.chdir(tmp_path)
    run_page("start/csv_and_prices.md", capsys, skipped=("fsgym compare",))
    return tmp_path


def test_the_first_pages_print_what_they_show(table_page, capsys):
    assert (table_page / "patients.safetensors").is_file()
    run_page("start/one_case.md", capsys)
    run_page("start/install.md", capsys)


@pytest.mark.slow  # the test above runs the pages on which the others build
def test_all_pages_print_what_they_show(table_page, capsys):
    for page in ("index.md", *GUIDE):
        if page != "start/csv_and_prices.md":
            run_page(page, capsys)
