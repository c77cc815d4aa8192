"""One page per public object: those of ``__all__`` in fsgym, agents and baselines, and what their methods return."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any

PACKAGES = ("fsgym", "agents", "baselines")
# Public objects of modules below the packages, which users meet as results, arguments or helpers.
FURTHER = {
    "fsgym": (
        "fsgym.session.session.Session",
        "fsgym.session.step.Step",
        "fsgym.session.step.Question",
        "fsgym.session.step.Advice",
        "fsgym.session.asked_model.AskedModel",
        "fsgym.session.mixin.AskingMixin",
        "fsgym.chart.Chart",
        "fsgym.envs.registration.make_env",
        "fsgym.envs.registration.make_vector_env",
        "fsgym.datasets.Cube",
        "fsgym.datasets.CubeNM",
        "fsgym.datasets.CubeNUC",
        "fsgym.datasets.Syn",
        "fsgym.evaluation.reference_policies.reference",
        "fsgym.exact.all_rows",
        "fsgym.exact.optimum",
    ),
    "agents": ("agents.deep.sb3.make_model", "agents.deep.sb3.EvaluationCallback", "agents.deep.sb3.training_context"),
    "baselines": (),
}


def public_objects() -> dict[str, list[str]]:
    """The full names of all public objects, by package."""
    return {p: [f"{p}.{n}" for n in importlib.import_module(p).__all__] + list(FURTHER[p]) for p in PACKAGES}


def find(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def api_pages() -> dict[str, str]:
    pages = {f"api/{path}.md": api_page(path) for names in public_objects().values() for path in names}
    for package, names in public_objects().items():
        pages[f"api/{package}.md"] = package_page(package, names)
    return pages


def package_page(package: str, names: list[str]) -> str:
    rows = [f"| [`{path.removeprefix('fsgym.')}`]({path}.md) | {summary(find(path))} |" for path in names]
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    first = " ".join((importlib.import_module(package).__doc__ or "").split("\n\n")[0].split())
    return "\n".join([f"# {package}", "", first, "", "| object | what it is |", "| --- | --- |", *rows, "", toctree])


def summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()).replace("|", "\\|")


def api_page(path: str) -> str:
    thing = find(path)
    lines = [f"# {path.rpartition('.')[2]}", "", "```{eval-rst}"]
    if isinstance(thing, ModuleType):
        lines += [f".. automodule:: {path}", "   :members:"]
    elif inspect.isclass(thing):
        lines += [f".. autoclass:: {path}", ""]
        for name in own_members(thing):
            kind = "autoproperty" if isinstance(inspect.getattr_static(thing, name), property) else "automethod"
            lines += [f"   .. {kind}:: {name}", ""]
    else:
        lines += [f".. autofunction:: {path}"]
    return "\n".join([*lines, "```"])


def own_members(cls: type) -> list[str]:
    """Public methods and properties with a docstring that a class of this project defines, those of bases included."""
    found = []
    for name in sorted({n for base in cls.__mro__ if ours(base) for n in vars(base)}):
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function) and ours(function) and function.__doc__:
            found.append(name)
    return found


def ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).partition(".")[0] in PACKAGES
