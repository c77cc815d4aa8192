"""The pages in docs/extend: their diffs can be applied to the files, and add what the tests hold to all contracts."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter

import pytest

import fsgym
from fsgym.methods import registry
from support.recipes import PAGES, ROOT, diffs, entry_of

DIFFS = list(diffs())
# Where the tests have the new files of a page.
TESTED = {
    "baselines/f_statistic.py": "f_statistic.py",
    "agents/majority.py": "majority.py",
    "fsgym_studies/tree_on_wine/": "tree_on_wine/",
    "fsgym_studies/suites/tiny/": "tiny_suite/",
}
METHODS = {"f_statistic": "baselines/f_statistic.py", "majority": "agents/majority.py"}


def file_of(path):
    """The tested file, as it is in the place of a page; None for what has none."""
    for start, place in TESTED.items():
        if path.startswith(start):
            text = (ROOT / "tests" / "support" / path.replace(start, place, 1)).read_text()
            package = start.partition("/")[0]
            text = re.sub(r"^(    >>> from) support\.\w+ import", rf"\1 {package} import", text, flags=re.MULTILINE)
            return text.replace("support.tree_on_wine", "fsgym_studies.tree_on_wine")
    return None


def test_new_files_are_the_tested_ones():
    shown = {diff.path: diff.applied("") for diff in DIFFS if diff.is_new}
    tested = {path: text for path in shown if (text := file_of(path)) is not None}
    assert {path: shown[path] for path in tested} == tested
    for start, place in TESTED.items():
        files = [place] if not place.endswith("/") else (ROOT / "tests" / "support" / place).glob("*.*")
        wanted = {str(f).rpartition("/")[2] for f in files} - {"policies.py"}
        assert {path.rpartition("/")[2] for path in tested if path.startswith(start)} == wanted


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: f"{diff.page}-{diff.path}")
def test_a_diff_can_be_applied(diff):
    assert (ROOT / diff.path).exists() != diff.is_new or diff.page == "package.md"
    before = "" if diff.is_new else (ROOT / diff.path).read_text()
    after = diff.applied(before)
    more = Counter(after.splitlines())
    more.subtract(before.splitlines())
    assert {line for line, n in more.items() if n > 0} <= set(diff.added)
    assert sum(more.values()) == len(diff.added) - sum(line.startswith("-") for line in diff.lines)
    if diff.path.endswith(".py"):
        ast.parse(after)


def test_every_page_is_on_the_first_and_has_a_command_that_tests_it():
    index = (PAGES / "index.md").read_text()
    for page in PAGES.glob("*.md"):
        if page.name != "index.md":
            text = page.read_text()
            assert f"({page.name})" in index
            assert re.search(r"^```sh\n(.*\n)*?(pytest|fsgym compare) .*$", text, re.MULTILINE), page.name
            for path in re.findall(r"tests/[\w/]+\.\w+", "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))):
                assert (ROOT / path).is_file(), f"{page.name} names {path}"


@pytest.mark.parametrize("name", METHODS)
def test_the_entry_names_the_class_of_the_new_file(name):
    path = METHODS[name]
    package, _, cls = str(entry_of(name).estimator).partition(":")
    added = {diff.path: "\n".join(diff.added) for diff in DIFFS}
    assert f"\nclass {cls}(" in added[path]
    assert f"from {path.removesuffix('.py').replace('/', '.')} import {cls}\n" in added[f"{package}/__init__.py"]


@pytest.mark.slow
def test_a_method_of_your_own_package_is_compared_by_name(tmp_path, monkeypatch):
    files = {diff.path: diff.applied("") for diff in DIFFS if diff.page == "package.md"}
    (tmp_path / "my_package.py").write_text(files["my_package.py"])
    info = tmp_path / "my_package-1.0.dist-info"  # what pip makes of pyproject.toml
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    points = files["pyproject.toml"].partition('[project.entry-points."')[2].replace('"]', "]").replace('"', "")
    (info / "entry_points.txt").write_text(f"[{points}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    results = fsgym.compare("wine", ["first"], splits=1, references=False)
    assert results["error"].isna().all()
    assert results["n_features"].tolist() == [float(k) for k in range(1, 14)]
    sys.modules.pop("my_package")


def test_the_map_has_every_room_and_its_files():
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    rows = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", contributing, re.MULTILINE)]
    places = [[ROOT / name for name in re.findall(r"`([\w./]+)`", row[0])] for row in rows]
    assert all(place.exists() for row in places for place in row)
    for (_, text), row in zip(rows, places, strict=True):
        for name in re.findall(r"`([\w/]+(?:\.py|\.js|/))`", text):
            assert any((place / name).exists() for place in row), name
    rooms = {p for p in (ROOT / "fsgym").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert {room for room in rooms if not room.name.startswith("__")} <= {place for row in places for place in row}
