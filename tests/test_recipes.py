"""The diffs of CONTRIBUTING.md add files that the tests hold to all contracts, at places that exist."""

from __future__ import annotations

import pytest

from support.contributing import ROOT, diffs, entry_of

TESTED = {"baselines/f_statistic.py": "f_statistic", "agents/majority.py": "majority"}  # in tests/support


@pytest.mark.parametrize("path", TESTED)
def test_a_new_file_is_the_tested_one(path):
    (shown,) = [diff.added for diff in diffs() if diff.path == path]
    assert shown == (ROOT / "tests" / "support" / f"{TESTED[path]}.py").read_text().splitlines()


def test_every_place_of_a_diff_exists():
    changed = [diff for diff in diffs() if not diff.is_new]
    assert len(changed) > 10
    for diff in changed:
        lines = (ROOT / diff.path).read_text().splitlines()
        assert diff.added, diff.path
        assert diff.present, diff.path
        missing = [line for line in diff.present if line.strip() not in map(str.strip, lines)]
        assert not missing, diff.path


@pytest.mark.parametrize("path", TESTED)
def test_the_entry_names_the_class_of_the_new_file(path):
    package, _, name = str(entry_of(TESTED[path]).estimator).partition(":")
    added = {diff.path: "\n".join(diff.added) for diff in diffs()}
    assert f"\nclass {name}(" in added[path]
    assert f"from {path.removesuffix('.py').replace('/', '.')} import {name}\n" in added[f"{package}/__init__.py"]
