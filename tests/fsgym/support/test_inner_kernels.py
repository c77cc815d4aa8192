"""Kernels that only other kernels call: without what Python needs to call them, a call from Python ends the process."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")
FOLDERS = (*PACKAGES, "tests", "benchmarks", "docs", "examples")
INNER = re.compile(r"^@njit\(.*\*\*INNER\)\ndef (\w+)", re.MULTILINE)

EXAMPLE = re.compile(r"^ *(?:>>>|\.\.\.) .*", re.MULTILINE)


def is_kernel(node: ast.AST) -> bool:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else ()
    return any(word in ast.unparse(d) for d in decorators for word in ("njit", "overload"))


def called_by_python(tree: ast.Module, inner: set[str]) -> set[str]:
    """Those of the inner kernels that functions other than kernels name, or read from a module of ours."""
    modules = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and (n.module or "").startswith(PACKAGES)]
    aliases = [alias for module in modules for alias in module.names]
    ours = {alias.asname or alias.name for alias in aliases}
    own = {alias.asname or alias.name for alias in aliases if alias.name in inner}
    own |= {node.name for node in tree.body if is_kernel(node)}
    called, rest = set(), list(tree.body)
    while rest:
        node = rest.pop()
        if is_kernel(node):
            continue
        if isinstance(node, ast.Name) and node.id in own:
            called.add(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ours:
            called.add(node.attr)
        rest += ast.iter_child_nodes(node)
    return called & inner


def test_only_kernels_call_inner_kernels():
    texts = {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    inner = {name for path, text in texts.items() if "tests" not in path.parts for name in INNER.findall(text)}
    assert len(inner) > 80
    near = {path: text for path, text in texts.items() if inner & set(re.findall(r"\w+", text))}
    for path, text in near.items():
        in_examples = {name for line in EXAMPLE.findall(text) for name in re.findall(r"\w+", line)} & inner
        assert not called_by_python(ast.parse(text), inner) | in_examples, path
