"""Check that no files import each other in a circle, and that the formatter is off for tables of numbers only.

Exits with status 1 if either is found. ``lint-imports`` checks the directions of imports between packages.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")


def python_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / line for line in listed.split() if (ROOT / line).is_file()]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path, modules: set[str]) -> set[str]:
    """Modules of ours that a file imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules else node.module for name in names}
    return (found & modules) - {module_of(path)}


def circles(files: list[Path]) -> list[list[str]]:
    """One circle of files after the other, each cut once it is found."""
    modules = {module_of(f) for f in files}
    graph = {module_of(f): imports_of(f, modules) for f in files}
    found = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
            return found
        except CycleError as error:
            circle = error.args[1]
            found.append(circle)
            graph[circle[1]] = graph[circle[1]] - {circle[0]}


def holds_numbers(path: Path, line: int) -> bool:
    """Whether the statement that ends in this line is a table: mostly literals."""
    statements = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.stmt)]
    covering = [node for node in statements if node.lineno <= line <= (node.end_lineno or line)]
    if not covering:
        return False
    node = max(covering, key=lambda n: n.lineno)
    numbers = sum(isinstance(n, ast.Constant) and isinstance(n.value, int | float) for n in ast.walk(node))
    return numbers >= 8


def main() -> int:
    files = python_files()
    skipped = []
    for f in files:
        for number, line in enumerate(f.read_text().splitlines(), 1):
            if re.search(r"# fmt: (skip|off)", line) and f != Path(__file__) and not holds_numbers(f, number):
                skipped.append(f"{f.relative_to(ROOT)}:{number}")
    found = circles([f for f in files if f.relative_to(ROOT).parts[0] in PACKAGES])
    faults = {
        "circles of files": [" -> ".join(c) for c in found],
        "formatter switched off but for tables of numbers": skipped,
    }
    for title, listed in faults.items():
        print(f"{title}: {len(listed)}", *(f"  {entry}" for entry in listed), sep="\n")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
