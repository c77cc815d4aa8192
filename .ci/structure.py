"""Print what the structure of the code is held to; leave with 1 where a limit is broken.

Arrows between packages are held by ``lint-imports``; here are circles and sizes. Public entry points and
constructors may have more parameters than other functions, since users call them by keyword.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")
MOST_LINES, MOST_PARAMETERS, MOST_STATEMENTS = 400, 8, 40

# Functions over 40 statements, each with its reason.
LONG: dict[str, str] = {}
# Public entry points over 8 parameters, called by keyword: constructors need no entry.
ENTRY_POINTS = {
    "fsgym.comparison.compare:compare",
    "fsgym.cli.main:compare",
    "fsgym.cli.main:reproduce",
    "fsgym.cli.models:train",
}


def python_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
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


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{prefix}{child.name}", child
                yield from walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.")
            else:
                yield from walk(child, prefix)

    yield from walk(ast.parse(path.read_text()), f"{module_of(path)}:")


def n_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([n for n in names if n not in ("self", "cls")]) + (given.vararg is not None) + (given.kwarg is not None)


def n_statements(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = ast.get_docstring(function) is not None
    return sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1 - docstring


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
    ours = [f for f in files if f.relative_to(ROOT).parts[0] in PACKAGES]
    long_files = [(len(f.read_text().splitlines()), str(f.relative_to(ROOT))) for f in files]
    long_files = sorted((n, name) for n, name in long_files if n > MOST_LINES)
    wide, long = [], []
    for f in ours:
        for name, function in functions(f):
            if n_parameters(function) > MOST_PARAMETERS and function.name != "__init__" and name not in ENTRY_POINTS:
                wide.append((n_parameters(function), name))
            if n_statements(function) > MOST_STATEMENTS:
                long.append((n_statements(function), name))
    skipped = []
    for f in files:
        for number, line in enumerate(f.read_text().splitlines(), 1):
            if re.search(r"# fmt: (skip|off)", line) and f != Path(__file__) and not holds_numbers(f, number):
                skipped.append(f"{f.relative_to(ROOT)}:{number}")
    found = circles(ours)
    faults = {
        "circles of files": [" -> ".join(c) for c in found],
        f"files over {MOST_LINES} lines": [f"{n} {name}" for n, name in long_files],
        f"functions over {MOST_PARAMETERS} parameters": [f"{n} {name}" for n, name in sorted(wide)],
        f"functions over {MOST_STATEMENTS} statements without a reason": [
            f"{n} {name}" for n, name in sorted(long) if name not in LONG
        ],
        "formatter switched off but for tables of numbers": skipped,
    }
    for title, listed in faults.items():
        print(f"{title}: {len(listed)}", *(f"  {entry}" for entry in listed), sep="\n")
    print(f"functions over {MOST_STATEMENTS} statements, with their reason: {len(LONG)}")
    for n, name in sorted(long):
        if name in LONG:
            print(f"  {n} {name}: {LONG[name]}")
    return int(any(faults.values()))


if __name__ == "__main__":
    sys.exit(main())
