"""Optional dependencies, as the extras of ``pip install -e ".[...]"``."""

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
