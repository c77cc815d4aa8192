"""Check that no files import each other in a circle, and that the formatter is off for tables of numbers only.

Exits with status 1 if either is found. ``lint-imports`` checks the directions of imports between packages. Four figures
of the form are printed, by which nothing fails: the shares of the lines that declare records and that import, modules
that one other module imports, and calls upwards, where a function that a lower module was given runs in a higher room.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
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


def is_record(node: ast.ClassDef) -> bool:
    """Whether a class declares fields: a named tuple, a data class or a typed mapping."""
    bases = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
    decorators = {ast.unparse(d).split("(")[0].split(".")[-1] for d in node.decorator_list}
    return bool(bases & {"NamedTuple", "TypedDict"} or "dataclass" in decorators)


def lines_of(node: ast.AST) -> int:
    return node.end_lineno - node.lineno + 1  # type: ignore[attr-defined]


def record_lines(node: ast.ClassDef) -> int:
    """Lines of a record's head, docstring and fields, without its methods."""
    methods = (ast.FunctionDef, ast.AsyncFunctionDef)
    return lines_of(node) - sum(lines_of(inner) for inner in node.body if isinstance(inner, methods))


def floor_of() -> dict[str, int]:
    """The floor of each room of fsgym and of each package, by the contracts of import-linter."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    packages, rooms = (c["layers"] for c in contracts if c["type"] == "layers")
    floors = {f"fsgym.{room.strip()}": k for k, layer in enumerate(reversed(rooms)) for room in layer.split("|")}
    return floors | {package: len(rooms) + k for k, package in enumerate(reversed(packages[:-1]))}


def upward_imports(files: list[Path]) -> list[str]:
    """Imports of a higher room by its name, when it is used: what import-linter does not see."""
    floors = floor_of()

    def floor(module: str) -> int:
        parts = module.split(".")
        return floors.get(".".join(parts[:2]), floors.get(parts[0], -1))

    found = []
    for f in files:
        own = floor(module_of(f))
        for node in ast.walk(ast.parse(f.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module" and node.args:
                name = node.args[0]
                if isinstance(name, ast.Constant) and own != -1 and floor(str(name.value)) > own:
                    found.append(f"{f.relative_to(ROOT)}:{node.lineno} {name.value}")
    return found


def print_figures(files: list[Path]) -> None:
    modules = {module_of(f): f for f in files}
    trees = {name: ast.parse(f.read_text()) for name, f in modules.items()}
    total = sum(len(f.read_text().splitlines()) for f in files)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    records = [node for node in nodes if isinstance(node, ast.ClassDef) and is_record(node)]
    imports = sum(lines_of(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    importers = Counter(used for name, f in modules.items() for used in imports_of(f, set(modules)))
    upward = upward_imports(files)
    print(f"{len(files)} files, {total:,} lines")
    print(f"records: {len(records)}, {sum(map(record_lines, records)) / total:.1%} of the lines")
    print(f"imports: {imports / total:.1%} of the lines")
    print(f"modules with one importer: {sum(n == 1 for n in importers.values())}")
    print(f"calls into a higher floor, by name: {len(upward)}", *(f"  {entry}" for entry in upward), sep="\n")


def main() -> int:
    files = python_files()
    print_figures([f for f in files if f.relative_to(ROOT).parts[0] in PACKAGES])
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
