"""The data files of a study: the numbers that its papers print, and the papers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd


def printed_numbers(module_file: str) -> pd.DataFrame:
    """The rows of ``printed.csv`` beside a module of a study; lines that begin with # say where they are printed."""
    return pd.read_csv(Path(module_file).with_name("printed.csv"), comment="#")


def bibtex(module_file: str) -> str:
    """The BibTeX entries of ``references.bib`` beside a module of a study."""
    return Path(module_file).with_name("references.bib").read_text(encoding="utf-8")
