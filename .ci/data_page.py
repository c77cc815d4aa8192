"""Write docs/data.md from the records of the data sets: python .ci/data_page.py. A test compares them."""

from __future__ import annotations

from pathlib import Path

from fsgym.datasets.embedded import EMBEDDED
from fsgym.datasets.public.record import PublicSet, public_sets
from fsgym_studies import STUDIES, find_study

PAGE = Path(__file__).resolve().parent.parent / "docs" / "data.md"
HEAD = """# Data

Written by `python .ci/data_page.py`; do not edit it by hand. These are the data sets that the studies of
`fsgym reproduce` need. `fsgym datasets fetch STUDY --data-dir FOLDER` downloads those of a study, converts them to the
forms that `load_dataset` reads, and checks each converted file by the SHA-256 below; the name of a data set in place of
`STUDY` fetches that set alone. Then run `fsgym reproduce STUDY --data-dir FOLDER`, or let the variable `FSGYM_DATA`
name the folder. `fsgym reproduce` lists which sets a study lacks, and `--skip-missing` runs it without them. With
`--from DOWNLOADS`, files that you downloaded yourself (under the names below) are converted instead.

The SHA-256 is that of the file that `fetch` writes: numbers in their shortest form and arrays without compression, so
equal data have equal bytes.
"""
UNTRIED = """
**Not tried:** no download from this address had been tried when this page was written; the conversion was tested with
files written in the form of the source. If an address does not work any more, or the SHA-256 differs, `fetch` says so
and writes nothing.
"""
HEADING = (
    "data set",
    "studies",
    "source",
    "licence",
    "rows",
    "columns",
    "classes",
    "file and SHA-256",
    "how to get it",
)


def data_page() -> str:
    """The page: which study needs which data sets, and a section for each set."""
    users: dict[str, list[str]] = {}
    for study in STUDIES:
        for name in dict.fromkeys(find_study(study).datasets):
            users.setdefault(name, []).append(study)
    sets = public_sets()
    lines = [HEAD, "## Studies\n", "| study | data sets |", "| --- | --- |"]
    lines += [f"| {study} | {', '.join(find_study(study).datasets)} |" for study in STUDIES]
    lines += [UNTRIED] if any(sets[name].untried for name in users if name in sets) else [""]
    lines += ["## Data sets\n", f"| {' | '.join(HEADING)} |", "| " + " | ".join(["---"] * len(HEADING)) + " |"]
    for name in sorted(users):
        cells = _public_cells(sets[name]) if name in sets else _embedded_cells(name)
        lines.append("| " + " | ".join([name, ", ".join(users[name]), *cells]) + " |")
    return "\n".join(lines) + "\n"


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
