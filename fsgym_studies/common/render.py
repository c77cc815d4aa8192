"""What a study concludes: claims with the paper's numbers beside ours, tables, pictures; and the files that tell it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

from fsgym.comparison import figures
from fsgym.comparison.report import provenance, template_environment
from fsgym_studies.common.plan import plain_columns
from fsgym_studies.common.statistics import Mean
from fsgym_studies.common.study import Claim, Conclusion, Study, Table

NOTHING = "–"  # where there is no number
STAMP = 10.0  # minutes below which a decimal is told
LINE: dict[str, Any] = {"linewidth": 1.4, "markersize": 5}


def number(value: Any, digits: int = 3) -> str:
    """A number as text, a dash where there is none."""
    if value is None or value != value:
        return NOTHING
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def with_std(mean: float, std: float | None = None, digits: int = 2) -> str:
    """``86.07 ± 12.60``: a mean and its standard deviation, if there is one; a dash without a mean.

    >>> with_std(86.066, 12.6), with_std(86.066), with_std(float("nan"), 1.0)
    ('86.07 ± 12.60', '86.07', '–')
    """
    known = mean == mean and std is not None and std == std
    return f"{number(mean, digits)} ± {number(std, digits)}" if known else number(mean, digits)


def with_interval(mean: Mean, digits: int = 3) -> str:
    """``0.950 [0.940, 0.960]``: a mean and its bootstrap interval, if there is one; a dash without a mean.

    >>> with_interval(Mean(16.04, 1.0, 15.0, 17.0, 9), 1)
    '16.0 [15.0, 17.0]'
    """
    ends = "" if mean.low != mean.low else f" [{mean.low:.{digits}f}, {mean.high:.{digits}f}]"
    return f"{number(mean.mean, digits)}{ends}"


def file_stem(*words: str) -> str:
    """Words as the stem of a file's name: ``curves_breast_cancer``."""
    return "_".join("".join(c if c.isalnum() else "_" for c in word) for word in words)


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """A row a claim; the paper's column only where there is a paper."""
    frame = pd.DataFrame([{"claim": c.text, "paper": c.paper, "here": c.here, "holds": c.word} for c in claims])
    return frame if any(c.paper for c in claims) else frame.drop(columns="paper")


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown; nothing in it is markup."""
    head = [_cell(c) for c in frame.columns]
    lines = [head, ["---"] * len(head), *([_cell(v) for v in row] for row in frame.itertuples(index=False))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: Any) -> str:
    text = " ".join(number(value).split())
    return re.sub(r"([\\`*_\[\]|<>#])", r"\\\1", text)


def section(study: Study, conclusion: Conclusion, full: bool, work: str) -> str:
    """What a Markdown file says of a study; pictures are those that ``write_section`` puts beside it."""
    how = "full" if full else "quick"
    pictures = [p for p in conclusion.pictures if p.stem in conclusion.shown]
    parts = [
        f"## {study.title}\n",
        f"{conclusion.protocol} {work}. Again: `fsgym reproduce {study.name} --{how}`.\n",
        f"**{conclusion.counts()}.**\n",
        markdown(claims_frame(conclusion.claims)),
        *(f"* {note}" for note in conclusion.notes),
        *(f"\n![{p.heading}]({study.name}_{p.stem}.png)\n\n{p.caption}" for p in pictures),
        *(
            f"\n### {t.heading}\n\n{t.caption}\n\n{markdown(t.frame)}"
            for t in conclusion.tables
            if t.stem in conclusion.shown
        ),
    ]
    return "\n".join(parts).rstrip() + "\n"


def write_section(path: Path, study: Study, conclusion: Conclusion, full: bool, work: str) -> None:
    """Put a study's section into a Markdown file, and the pictures that it shows beside that.

    Raises OSError in one sentence where a file cannot be written.
    """
    for picture in conclusion.pictures:
        if picture.stem in conclusion.shown:
            place = path.with_name(f"{study.name}_{picture.stem}.png")
            try:
                place.write_bytes(picture.png)
            except OSError as error:
                raise OSError(f"cannot write {place}: {error.strerror or error}") from None
    replace_section(path, study.name, section(study, conclusion, full, work))


def replace_section(path: Path, name: str, text: str, writer: str = "fsgym reproduce") -> None:
    """Put ``text`` between the markers of ``name`` in a Markdown file; at its end where it has none.

    Raises OSError in one sentence where the file cannot be written.
    """
    begin, end = f"<!-- {name}: begin, written by {writer} -->", f"<!-- {name}: end -->"
    block = f"{begin}\n{text.rstrip()}\n{end}"
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        found = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        after = found.sub(lambda _: block, before) if found.search(before) else f"{before.rstrip()}\n\n{block}\n"
        spare = path.with_name(path.name + ".part")
        spare.write_text(after.lstrip(), encoding="utf-8")
        os.replace(spare, path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def work_done(timings: pd.DataFrame, cells: int) -> str:
    """How much computing it was, in words."""
    minutes = float(timings["cpu_seconds"].sum()) / 60 if len(timings) else 0.0
    return f"{cells} cells, {minutes:.{1 if minutes < STAMP else 0}f} minutes of processor time"


def times_table(timings: pd.DataFrame) -> Table | None:
    """Processor time by data set and method, where the timings say whose they are."""
    if timings.empty or not {"dataset", "method", "split"} <= set(timings.columns):
        return None
    keys = [c for c in ("dataset", "method", "share", "split") if c in timings.columns]
    sums = timings.groupby(keys, sort=False)["cpu_seconds"].sum()
    means = sums.groupby(["dataset", "method"], sort=False).mean().unstack("method", sort=False)
    frame = means.rename_axis(columns=None).reset_index().rename(columns={"dataset": "data set"})
    caption = (
        "Seconds for all settings of a method on one split, learning and testing, mean over splits. They differ from "
        "run to run and are in times.csv only."
    )
    return Table("times", "Processor time", caption, frame.round(2))


def failures(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The failed cells: dataset, method, params, split and error of each; "" for what a study does not name."""
    names = ("dataset", "method", "params", "split", "error")
    failed = table[table["error"].notna()].to_dict("records")
    return [{name: row.get(name, "") for name in names} for row in failed]


def write(
    study: Study,
    conclusion: Conclusion,
    table: pd.DataFrame,
    timings: pd.DataFrame,
    folder: Path,
    *,
    full: bool,
    command: str,
) -> Path:
    """Write ``report.html``, ``claims.csv``, ``cells.csv``, the tables as CSV and Markdown, figures, BibTeX, timings
    (by cell in ``timings.csv``, by method in ``times.csv``).

    Returns the path of the report. Raises OSError in one sentence where the folder cannot be written.
    """
    work = work_done(timings, len(table))
    templates = template_environment(Path(__file__).parent / "templates")
    templates.filters["told"] = number
    claims = Table("claims", "Claims", "", claims_frame(conclusion.claims))
    times = times_table(timings)
    shown = [*conclusion.tables, *([] if times is None else [times])]
    try:
        for told in (claims, *conclusion.tables):
            told.frame.to_csv(folder / f"{told.stem}.csv", index=False)
        table[plain_columns(table)].to_csv(folder / "cells.csv", index=False)
        timings.to_csv(folder / "timings.csv", index=False)
        if times is not None:
            times.frame.to_csv(folder / f"{times.stem}.csv", index=False)
        text = "\n".join(f"## {t.heading}\n\n{t.caption}\n\n{markdown(t.frame)}" for t in (claims, *conclusion.tables))
        (folder / "tables.md").write_text(f"# {study.title}\n\n{conclusion.protocol}\n\n{text}", encoding="utf-8")
        (folder / f"{study.name}.bib").write_text(study.reference.strip() + "\n", encoding="utf-8")
        for picture in conclusion.pictures:
            (folder / f"{picture.stem}.png").write_bytes(picture.png)
        report = folder / "report.html"
        report.write_text(
            templates.get_template("study.html.j2").render(
                study=study,
                conclusion=conclusion,
                full=full,
                command=command,
                work=work,
                curves="sparsity" in table,
                failures=failures(table),
                tables=[
                    {"told": t, "columns": list(t.frame.columns), "rows": t.frame.to_numpy(object).tolist()}
                    for t in shown
                ],
                **provenance(),
            ),
            encoding="utf-8",
        )
    except OSError as error:
        raise OSError(f"cannot write to the folder {folder}: {error.strerror or error}; choose another one") from None
    return report


def style() -> Any:
    """A context in which figures are drawn in the house's style."""
    return matplotlib.rc_context(figures.STYLE)
