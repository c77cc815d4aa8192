"""Check circles of imports, sizes of files and functions, and names; exit with status 1 if a limit is exceeded.

``lint-imports`` checks the directions of imports between packages. Public entry points and constructors may have more
parameters than other functions, because users call them by keyword.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
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
    "fsgym.datasets.loading:load_dataset",
    "fsgym.registration:make_vector_env",
    "fsgym.cli.benchmark:benchmark",
    "fsgym.cli.main:compare",
    "fsgym.cli.main:reproduce",
    "fsgym.cli.models:evaluate",
    "fsgym.cli.models:train",
    "fsgym.cli.prediction:predict",
}

# Module-level names that more than one module defines, each with its reason; at most 20.
SHARED_NAMES = {
    "__all__": "Python's own",
    "STUDY": "interface of a study: its declaration",
    "plan": "interface of a study: its cells",
    "protocol": "interface of a study: what was run, in words",
    "conclude": "interface of a study: from the table of cells to its conclusion",
    "CLAIMS": "interface of a study: its claims, row by row",
    "claims": "interface of a study: its assessed claims",
    "notes": "interface of a study: remarks below its claims",
    "compare": "the command `fsgym compare` calls the function",
    "evaluate": "the command `fsgym evaluate` calls the function",
}
# Words that say nothing about what they name; as parts of identifiers, too.
VAGUE_WORDS = {"told", "crew", "purse", "strange", "foreign", "face", "kept", "made"}
NAMES_OF_LIBRARIES = {"connection_made"}  # of asyncio, which calls it


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


def defined_names(path: Path) -> set[str]:
    """Names of the functions, classes and variables that a module defines at its top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return names


def names_defined_twice(files: list[Path]) -> dict[str, list[str]]:
    """The modules that define a name, for each name that several define."""
    modules = defaultdict(list)
    for f in files:
        for name in defined_names(f):
            modules[name].append(module_of(f))
    return {name: found for name, found in sorted(modules.items()) if len(found) > 1}


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """Line and name of each variable, attribute, function, class, parameter and keyword in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        for field in ("id", "attr", "name", "arg", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield getattr(node, "lineno", 1), name


def words(identifier: str) -> set[str]:
    """The lower-case words of an identifier in snake_case or CamelCase."""
    return {w.lower() for w in re.split(r"_|(?<=[a-z])(?=[A-Z])", identifier)}


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
    twice = names_defined_twice(ours)
    vague = {
        f"{f.relative_to(ROOT)}:{line} {name}"
        for f in files
        for line, name in identifiers(f)
        if words(name) & VAGUE_WORDS and name not in NAMES_OF_LIBRARIES
    }
    found = circles(ours)
    faults = {
        "circles of files": [" -> ".join(c) for c in found],
        f"files over {MOST_LINES} lines": [f"{n} {name}" for n, name in long_files],
        f"functions over {MOST_PARAMETERS} parameters": [f"{n} {name}" for n, name in sorted(wide)],
        f"functions over {MOST_STATEMENTS} statements without a reason": [
            f"{n} {name}" for n, name in sorted(long) if name not in LONG
        ],
        "formatter switched off but for tables of numbers": skipped,
        "names defined in several modules without a reason": [
            f"{name}: {', '.join(modules)}" for name, modules in twice.items() if name not in SHARED_NAMES
        ],
        "reasons for names that are defined once": sorted(SHARED_NAMES.keys() - twice.keys()),
        "vague words in identifiers": sorted(vague),
    }
    for title, listed in faults.items():
        print(f"{title}: {len(listed)}", *(f"  {entry}" for entry in listed), sep="\n")
    print(f"functions over {MOST_STATEMENTS} statements, with their reason: {len(LONG)}")
    for n, name in sorted(long):
        if name in LONG:
            print(f"  {n} {name}: {LONG[name]}")
    print(f"names defined in several modules, with their reason: {len(SHARED_NAMES)} (at most 20)")
    for name, reason in SHARED_NAMES.items():
        print(f"  {name} in {len(twice.get(name, ()))} modules: {reason}")
    return int(any(faults.values()) or len(SHARED_NAMES) > 20)


if __name__ == "__main__":
    sys.exit(main())
