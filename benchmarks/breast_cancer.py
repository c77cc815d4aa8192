"""The picture and the table of the README: how few features each method needs for an accuracy on breast cancer.

Not speed: python benchmarks/breast_cancer.py   (minutes; resumes the folder that ``fsgym compare breast_cancer`` wrote)
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd

import fsgym
from fsgym.methods import METHODS
from fsgym_studies.common.render import replace_section

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("fsgym-results/breast_cancer")
ACCURACIES = (0.90, 0.95, 0.96)


def fewest_features(results: pd.DataFrame) -> pd.DataFrame:
    """By accuracy (rows) and method: the least mean number of features of a setting that reaches it; NaN if none does.

    Methods that need few features for the highest accuracy come first.
    """
    settings = fsgym.summarise(results).settings
    settings = settings[~settings["method"].isin(["constant", "everything"])]
    rows = {
        accuracy: settings[settings["accuracy"] >= accuracy].groupby("method")["n_features"].min()
        for accuracy in ACCURACIES
    }
    table = pd.DataFrame(rows).T.reindex(columns=settings["method"].unique())
    return table[table.T.sort_values(list(ACCURACIES[::-1])).index]


def in_markdown(table: pd.DataFrame) -> str:
    """The table with the titles of the methods, as the README has it."""
    titles = [METHODS[name].title for name in table]
    lines = [f"| accuracy of at least | {' | '.join(titles)} |", "| --- " * (1 + len(titles)) + "|"]
    for accuracy, row in table.iterrows():
        cells = ["not reached" if pd.isna(n) else f"{n:.1f}" for n in row]
        lines.append(f"| {100 * accuracy:.0f} % | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    results = fsgym.compare("breast_cancer", out=FOLDER, n_jobs=2)
    replace_section(
        ROOT / "README.md", "breast-cancer", in_markdown(fewest_features(results)), "benchmarks/breast_cancer.py"
    )
    shutil.copy(FOLDER / "curves.png", ROOT / "docs" / "breast_cancer.png")


if __name__ == "__main__":
    main()
