"""Optional dependencies, as the extras of ``pip install 'fsgym[...]'``."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "rl": ("torch", "stable_baselines3", "sb3_contrib"),
    "cegb": ("lightgbm",),
    "dask": ("distributed",),
    "ray": ("ray",),
    "parquet": ("pyarrow",),
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
        raise ImportError(f"{user} needs {', '.join(missing)}: pip install 'fsgym[{extra}]'")
