"""The numbers that papers print."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd


def printed_numbers(package: str) -> pd.DataFrame:
    """The rows of ``printed.csv`` in the folder of a study, whose lines that begin with # say where they are printed.

    >>> printed_numbers("fsgym_studies.dwsm.cost")["accuracy"].tolist()
    [0.76, 0.75]
    """
    with (files(package) / "printed.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, comment="#")
