"""Other packages: optional dependencies, as the extras of ``pip install -e ".[...]"``, and those next to fsgym."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PACKAGES_FOLDER = Path(__file__).resolve().parents[2]  # holds fsgym and the packages that come with it
EXTRAS = {
    "rl": ("torch", "stable_baselines3", "sb3_contrib"),
    "render": ("pygame",),
    "deep": ("torch",),
    "cegb": ("lightgbm",),
    "dask": ("distributed",),
    "ray": ("ray",),
    "parquet": ("pyarrow",),
    "excel": ("openpyxl",),
    "web": ("starlette", "uvicorn"),
}


def require(extra: str, user: str) -> None:
    """Raise ImportError with the command that installs an extra, if one of its packages is missing.

    Parameters
    ----------
    extra : str, a key of ``EXTRAS``
    user : str, the name of what needs the extra, for the message
    """
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        command = f"pip install 'fsgym[{extra}]'"
        if (PACKAGES_FOLDER / "constraints.txt").is_file():
            command = f'in the clone, pip install -c constraints.txt -e ".[{extra}]"'
        size = "; docs/start/install.md has the smaller CPU build of torch, to be installed first"
        raise ImportError(f"{user} needs {', '.join(missing)}: {command}{size if 'torch' in missing else ''}")


def import_conflict(package: str) -> str | None:
    """An error message if ``import package`` would not import the package that comes with fsgym; None if it would."""
    try:
        spec = find_spec(package)
    except ValueError:  # imported without a spec: a replacement in sys.modules
        return None
    if spec is None:
        return (
            f"the package {package!r} that comes with fsgym cannot be found; install fsgym again, "
            "in an environment of its own"
        )
    folders = spec.submodule_search_locations or [""]
    folder = Path(spec.origin).parent if spec.origin else Path(next(iter(folders)))
    if folder.resolve().parent == PACKAGES_FOLDER:
        return None
    return (
        f"the package {package!r} found at {folder} is not the one that comes with fsgym; run from another folder, "
        "or install fsgym in an environment of its own"
    )
