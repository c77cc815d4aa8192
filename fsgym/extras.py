"""What is installed only on demand."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "rl": ("torch", "stable_baselines3", "sb3_contrib"),
    "cegb": ("lightgbm",),
    "dask": ("distributed",),
    "ray": ("ray",),
}


def require(extra: str, user: str) -> None:
    """ImportError with the line that installs an extra, where one of its packages is missing.

    Parameters
    ----------
    extra : str, a key of ``EXTRAS``
    user : str, what needs it, for the message
    """
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        raise ImportError(f"{user} needs {', '.join(missing)}: pip install 'fsgym[{extra}]'")
