"""Completion of arguments with the tab key: names of data sets, methods, agents and environments."""

from __future__ import annotations

from glob import escape, glob
from pathlib import Path

from fsgym.methods import METHODS, method_names


def agent_names() -> list[str]:
    """Names of the methods of ``METHODS`` that can be trained and saved to a model file."""
    return [name for name, method in METHODS.items() if method.kind]


def complete_data(incomplete: str) -> list[str]:
    """Names of data sets, and paths, that begin with the text; paths of folders end with a slash."""
    from fsgym.datasets.folder import EMBEDDED, find_folder, read_manifest
    from fsgym.datasets.generators import GENERATORS
    from fsgym.datasets.openml import OPENML

    names = [*EMBEDDED, *GENERATORS, *OPENML]
    try:
        folder = find_folder(None)
        names += [] if folder is None else read_manifest(folder)
    except (OSError, ValueError):  # no folder, or a damaged manifest
        pass
    paths = [f"{path}/" if Path(path).is_dir() else path for path in sorted(glob(f"{escape(incomplete)}*"))]
    return [name for name in sorted(set(names)) if name.startswith(incomplete)] + paths


def complete_methods(incomplete: str) -> list[str]:
    """The text, names of methods separated by commas, with its last name completed."""
    before, comma, last = incomplete.rpartition(",")
    chosen = before.split(",")
    return [f"{before}{comma}{n}" for n in method_names() if n.startswith(last) and n not in chosen]


def complete_agent(incomplete: str) -> list[str]:
    """Names of agents that begin with the text."""
    return [name for name in agent_names() if name.startswith(incomplete)]


def complete_variant(incomplete: str) -> list[str]:
    """Ids of this project's environments that begin with the text."""
    from fsgym.envs.registration import VARIANTS

    return [name for name in VARIANTS if name.startswith(incomplete)]
