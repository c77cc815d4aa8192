"""Write docs/data.md from the records of the data sets: python .ci/data_page.py. A test compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fsgym.data.reading.files import read_json
from fsgym.datasets.folder import EMBEDDED
from fsgym.datasets.public.fetch import PRICES_FILE
from fsgym.datasets.public.record import PublicSet, public_sets
from fsgym_studies import STUDIES, find_study
from fsgym_studies.suites import SUITES, find_suite

PAGE = Path(__file__).resolve().parent.parent / "docs" / "data.md"
HEAD = """# Data

These are the data sets that the studies of
`fsgym reproduce` and the suites of `fsgym benchmark` need. `fsgym datasets fetch STUDY --data-dir FOLDER` downloads
those of a study, converts them to the forms that `load_dataset` reads, and checks each converted file by the SHA-256
below; the name of a suite in place of `STUDY` fetches those of the suite, and that of a data set this set alone. Then
run `fsgym reproduce STUDY --data-dir FOLDER` or `fsgym benchmark SUITE --data-dir FOLDER`, or let the variable
`FSGYM_DATA` name the folder. `fsgym reproduce` and `fsgym benchmark` list which sets are lacking, and `--skip-missing`
runs without them. With `--from DOWNLOADS`, files that you downloaded yourself (under the names below) are converted
instead.

The SHA-256 is that of the file that `fetch` writes: numbers in their shortest form and arrays without compression, so
equal data have equal bytes.
"""
UNTRIED = """
**Not tried:** the whole file at this address had not been converted when this page was written. Where rows of the
published file could be read, the conversion was tested with them; otherwise with files written in the form of the
source only. If an address does not work any more, or the SHA-256 differs, `fetch` says so and writes nothing.
"""
SINGULAR = {"Studies": "study", "Suites": "suite"}
PRICES = """
## Prices

The study `dwsm-cost` and the suite `turney` need the prices of features in `costs.json` in the folder. fsgym has them
for {sets}, and `fetch` writes the file where the folder has none. They are in Canadian dollars, by the fee schedule of
the Ontario Health Insurance Program, as compiled by P. D. Turney (Cost-Sensitive Classification: Empirical Evaluation
of a Hybrid Genetic Decision Tree Induction Algorithm, JAIR 2, 369-409, 1995, Appendix A). The file says from which
secondary sources each list was taken, and what in it was checked against a second one.

`python .ci/data_page.py` writes this page.
"""
HEADING = (
    "data set",
    "studies and suites",
    "source",
    "licence",
    "rows",
    "columns",
    "classes",
    "file and SHA-256",
    "how to get it",
)


def data_page() -> str:
    """The page: which study and which suite need which data sets, a row for each set, and the prices."""
    studies = {study: find_study(study).datasets for study in STUDIES}
    suites = {suite: find_suite(suite).datasets for suite in SUITES}
    users: dict[str, list[str]] = {}
    for user, names in (studies | suites).items():
        for name in dict.fromkeys(names):
            users.setdefault(name, []).append(user)
    sets = public_sets()
    lines = [HEAD, *_needed("Studies", studies), "", *_needed("Suites", suites)]
    lines += [UNTRIED] if any(sets[name].untried for name in users if name in sets) else [""]
    lines += ["## Data sets\n", f"| {' | '.join(HEADING)} |", "| " + " | ".join(["---"] * len(HEADING)) + " |"]
    for name in sorted(users):
        cells = _public_cells(sets[name]) if name in sets else _embedded_cells(name)
        lines.append("| " + " | ".join([name, ", ".join(users[name]), *cells]) + " |")
    return "\n".join(lines) + "\n" + PRICES.format(sets=", ".join(read_json(PRICES_FILE)))


def _needed(heading: str, users: Mapping[str, Sequence[str]]) -> list[str]:
    """A table of the data sets that each study or suite needs, in lines."""
    rows = [f"| {user} | {', '.join(names) or 'none: its data are generated'} |" for user, names in users.items()]
    return [f"## {heading}\n", f"| {SINGULAR[heading]} | data sets |", "| --- | --- |", *rows]


def _embedded_cells(name: str) -> list[str]:
    shape = EMBEDDED[name]
    counts = [f"{n:,}" for n in shape[:3]]
    return ["UCI, as scikit-learn has it", "CC BY 4.0", *counts, "–", "comes with scikit-learn"]


def _public_cells(public: PublicSet) -> list[str]:
    record = public.record
    counts = [f"{record[key]:,}" for key in ("n_samples", "n_features", "n_classes")]
    files = "<br>".join(f"`{file}` `{checksum}`" for file, checksum in public.checksums.items())
    return [record["original_source"], record["licence"], *counts, files, _how(public)]


def _how(public: PublicSet) -> str:
    """How to get a data set, in a cell."""
    if not public.downloads:
        return "`fetch` converts it from scikit-learn"
    ways = [
        f"[{d.file}]({d.address}){'' if d.tried else ' (not tried)'}" for d in public.downloads if d.address is not None
    ]
    return "<br>".join(["`fetch`", *ways]) if not public.by_hand else f"by hand: {public.advice}"


if __name__ == "__main__":
    PAGE.write_text(data_page(), encoding="utf-8")
