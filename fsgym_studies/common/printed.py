"""The data files of a study: the numbers that its papers print, and the papers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def printed_numbers(module_file: str, name: str = "printed") -> pd.DataFrame:
    """The rows of ``NAME.csv`` beside a module of a study; lines that begin with # say where they are printed."""
    return pd.read_csv(Path(module_file).with_name(f"{name}.csv"), comment="#")


def bibtex(module_file: str, name: str = "references") -> str:
    """The BibTeX entries of ``NAME.bib`` beside a module of a study."""
    return Path(module_file).with_name(f"{name}.bib").read_text(encoding="utf-8")
