"""The picture of the README and the two tables of docs/guide/compare.md. No setting in them is chosen on test rows.

The first table and the picture are those of ``fsgym compare breast_cancer`` with its defaults. The second table is of
generated data on which each case needs other features.

Not speed: python benchmarks/breast_cancer.py   (some ten minutes; takes the fits that its folders already have)
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import fsgym
from fsgym.comparison.answer import losses_table
from fsgym_studies.common.render import markdown, replace_section

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("fsgym-results")
PRICES = (0.001, 0.01, 0.1)  # of a feature, in errors: an error costs as much as 1000, 100 and 10 features
CUBE_ROWS = 6000
CUBE_PRICES = (0.01, 0.03)
CUBE_METHODS = ("mixture", "cart", "stopping", "panel", "l1_svm")


def breast_cancer(folder: Path, **how: Any) -> pd.DataFrame:
    """The results of ``fsgym compare breast_cancer``."""
    return fsgym.compare("breast_cancer", out=folder, command="fsgym compare breast_cancer", **how)


def cube_nm(folder: Path, **how: Any) -> pd.DataFrame:
    """Methods that choose by the case (``mixture``, ``cart``), and fixed orders and sets of features."""
    data = fsgym.load_dataset("cube_nm").rows(range(CUBE_ROWS))
    return fsgym.compare(data, list(CUBE_METHODS), lam=CUBE_PRICES, splits=3, out=folder, **how)


def in_markdown(results: pd.DataFrame, prices: Sequence[float]) -> str:
    """The table of the report at these prices of a feature, in Markdown and without the reference points."""
    rows, columns = losses_table(results, prices)
    table = pd.DataFrame(
        {"lambda": [f"{ranking.lam:g}" for ranking, _ in rows], "method": [s.title for _, s in rows], **columns}
    )
    return markdown(table[[not standing.reference for _, standing in rows]]).rstrip()


def main() -> None:
    tables = {
        "breast-cancer": in_markdown(breast_cancer(FOLDER / "breast_cancer", n_jobs=2), PRICES),
        "cube-nm": in_markdown(cube_nm(FOLDER / "cube_nm", n_jobs=2), CUBE_PRICES),
    }
    for name, table in tables.items():
        replace_section(ROOT / "docs" / "guide" / "compare.md", name, table, "benchmarks/breast_cancer.py")
    shutil.copy(FOLDER / "breast_cancer" / "curves.png", ROOT / "docs" / "breast_cancer.png")


if __name__ == "__main__":
    main()
