"""Render the conclusion of a study: numbers as text, Markdown, the HTML report and the files next to it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fsgym import __version__
from fsgym.comparison import figures
from fsgym.comparison.report import Picture, drawn, provenance, template_environment, write_picture
from fsgym.data.reading.files import read_text
from fsgym.support.writing import write_or_remove, write_whole
from fsgym.text.messages import duration_text
from fsgym_studies import STUDIES
from fsgym_studies.common.claims import CAUSES, DASH, AssessedClaim
from fsgym_studies.common.statistics import Mean
from fsgym_studies.common.study import Conclusion, Study, Table

# The table at the head of a page of studies: how many claims each section reproduces, and why not the others.

VERDICT = re.compile(r"^\*\*.*?(\d+) of (\d+) claims reproduced(.*)\*\*", re.MULTILINE)
SENTENCES = re.compile(r"Sentences of the paper: (\d+) of (\d+) reproduced")


def overview(pages: Mapping[str, str]) -> pd.DataFrame:
    """The pages of studies that assess claims of papers, by the sentences that count them.

    Parameters
    ----------
    pages : mapping from the address of a page to its text, in Markdown

    Returns
    -------
    DataFrame, a row per page and one for all: ``study``, a link; ``run`` (quick or full), ``claims`` that were run,
        how many are ``reproduced``, for each of ``CAUSES`` how many are not, and the ``sentences`` of the paper with
        how many are ``reproduced in full``

    >>> page = "# A\\n\\n**In a quick run, 1 of 3 claims reproduced; causes: data 2.** More.\\n\\n`run --quick`\\n"
    >>> overview({"a.md": page}).to_dict("records")[0]  # doctest: +ELLIPSIS
    {'study': '[A](a.md)', 'run': 'quick', 'claims': 3, 'reproduced': 1, 'paper': 0, 'data': 2, ...}
    """
    rows = []
    for address, page in pages.items():
        if verdict := VERDICT.search(page):
            listed = re.findall(r"([a-z ]+) (\d+)", verdict[3].partition("causes:")[2])
            causes = {name.strip(): int(n) for name, n in listed}
            counted = SENTENCES.search(page)
            met, sentences = counted.groups() if counted else (0, 0)
            of_causes = (causes.get(name, 0) for name in CAUSES)
            counts = (int(verdict[2]), int(verdict[1]), *of_causes, int(sentences), int(met))
            title = page.partition("# ")[2].partition("\n")[0]
            rows.append((f"[{title}]({address})", "quick" if "--quick`" in page else "full", *counts))
    columns = ["study", "run", "claims", "reproduced", *CAUSES, "sentences", "reproduced in full"]
    table = pd.DataFrame(rows, columns=columns)
    table.loc[len(table)] = ["all", "", *table.sum(numeric_only=True).astype(int)]
    return table


OVERVIEW = "overview"  # names the part of a page that counts the claims of all pages of its folder
MOST_CLAIMS = 20  # in the table of a page; of more that were run, the reproduced ones are folded, and then the last
CLAIM_LENGTH, OURS_LENGTH = 110, 75  # characters of a cell of the table of claims; the whole stands below it
LINE: dict[str, Any] = {"linewidth": 1.4, "markersize": 5}  # of matplotlib's plot, in points


def format_number(value: Any, digits: int = 3) -> str:
    """A number as text, with ``digits`` decimals if it is a float; a dash for None and NaN."""
    if value is None or value != value:
        return DASH
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def with_std(mean: float, std: float | None = None, digits: int = 2) -> str:
    """A mean and its standard deviation, if there is one, as ``86.07 ± 12.60``; a dash without a mean.

    >>> with_std(86.066, 12.6), with_std(86.066), with_std(float("nan"), 1.0)
    ('86.07 ± 12.60', '86.07', '–')
    """
    known = mean == mean and std is not None and std == std
    return f"{format_number(mean, digits)} ± {format_number(std, digits)}" if known else format_number(mean, digits)


def with_interval(mean: Mean, digits: int = 3) -> str:
    """A mean and its bootstrap interval, if there is one, as ``0.950 [0.940, 0.960]``; a dash without a mean.

    >>> with_interval(Mean(16.04, 1.0, 15.0, 17.0, 9), 1)
    '16.0 [15.0, 17.0]'
    """
    ends = "" if mean.low != mean.low else f" [{mean.low:.{digits}f}, {mean.high:.{digits}f}]"
    return f"{format_number(mean.mean, digits)}{ends}"


def file_stem(*words: str) -> str:
    """Words joined into the stem of a file name, such as ``curves_breast_cancer``."""
    return "_".join("".join(c if c.isalnum() else "_" for c in word) for word in words)


def claims_frame(claims: Sequence[AssessedClaim]) -> pd.DataFrame:
    """The claims as a table, one per row; without the columns ``paper`` and ``cause`` if no claim has one."""
    columns = ["claim", "paper", "ours", "result", "cause"]
    frame = pd.DataFrame([(c.text, c.paper, c.ours, c.result, c.cause) for c in claims], columns=columns)
    return frame.drop(columns=[name for name in ("paper", "cause") if not any(frame[name])])


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown; characters that are markup are escaped."""
    head = [_markdown_cell(c) for c in frame.columns]
    lines = [head, ["---"] * len(head), *([_markdown_cell(v) for v in row] for row in frame.itertuples(index=False))]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _markdown_cell(value: Any) -> str:
    text = " ".join(format_number(value).split())
    return re.sub(r"([\\`*_\[\]|<>#])", r"\\\1", text)


def page_of(study: Study, conclusion: Conclusion, full: bool, work: str) -> str:
    """The page of a study in Markdown: its verdict first, then its claims; links to pictures of ``write_page``."""
    if conclusion.verdict:
        return folded_page(study, conclusion, full, work)
    claims, assessed = conclusion.claims, [c for c in conclusion.claims if c.reproduced is not None]
    verdict = f"**{'' if full else 'In a quick run, '}{conclusion.summary()}.**"
    others = [str(number) for number, c in enumerate(claims, 1) if c.paper and c.reproduced is False]
    second = f" The others are the claims {', '.join(others)}." if len(others) > 1 else ""
    second += f"\n\n{conclusion.second_summary()}" if any(c.paper for c in assessed) else ""
    table, met = claims_table(claims), [c.reproduced is True for c in claims]
    missing = [c.reproduced is None for c in claims]
    folded_rows = table[met] if len(claims) - sum(missing) > MOST_CLAIMS else table[:0]
    not_run = table[missing] if assessed else table[:0]
    shown = table.drop(folded_rows.index).drop(not_run.index)
    folded = {
        f"The {len(not_run)} that are not run": markdown(not_run) if len(not_run) else "",
        f"The last {len(shown) - MOST_CLAIMS} of the table": markdown(shown[MOST_CLAIMS:])
        if len(shown) > MOST_CLAIMS
        else "",
        f"The {len(folded_rows)} claims that are reproduced": markdown(folded_rows) if len(folded_rows) else "",
        "The claims in full": "\n\n".join(_claim_in_full(number, c) for number, c in enumerate(claims, 1)),
        "Remarks": "\n".join(f"* {note}" for note in conclusion.notes),
        **{p.heading: _picture_link(study, p) for p in conclusion.pictures if p.stem in conclusion.shown},
        **{t.heading: f"{t.caption}\n\n{markdown(t.frame)}" for t in conclusion.tables if t.stem in conclusion.shown},
        "What was run": f"{conclusion.protocol} {work}, with fsgym {__version__}. "
        f"Command: `{study.shown_command(full)}`.",
    }
    parts = [
        f"# {study.title}\n",
        *([f"{verdict}{second}\n", markdown(shown[:MOST_CLAIMS])] if assessed else []),
    ]
    return "\n".join([*parts, *closed_details(folded)]).rstrip() + "\n"


def claims_table(claims: Sequence[AssessedClaim]) -> pd.DataFrame:
    """The claims in short, with one word for the cause; ``_claim_in_full`` has the whole of each."""
    rows = [
        (
            str(number),
            textwrap.shorten(_statement(c.text)[0], CLAIM_LENGTH, placeholder=" …"),
            textwrap.shorten(c.paper, OURS_LENGTH, placeholder=" …"),
            textwrap.shorten(c.ours, OURS_LENGTH, placeholder=" …"),
            c.result,
            _cause_of(c)[0],
        )
        for number, c in enumerate(claims, 1)
    ]
    frame = pd.DataFrame(rows, columns=["", "claim", "paper", "ours", "result", "cause"])
    return frame.drop(columns=[name for name in ("paper", "cause") if not any(frame[name])])


def _statement(text: str) -> tuple[str, str]:
    """What a claim says, and its criterion: what stands in parentheses at its end, "" if nothing does."""
    depth = 0
    for place in range(len(text) - 1, -1, -1) if text.endswith(")") else ():
        depth += {")": 1, "(": -1}.get(text[place], 0)
        if not depth:
            return text[:place].rstrip(), text[place + 1 : -1]
    return text, ""


def _cause_of(claim: AssessedClaim) -> tuple[str, str]:
    """The cause in one of the words of ``CAUSES``, "" for a cause of our own, and what shows it."""
    word, _, reason = claim.cause.partition(": ")
    return (word, reason) if word in CAUSES else ("", claim.cause)


def _claim_in_full(number: int, claim: AssessedClaim) -> str:
    statement, criterion = _statement(claim.text)
    word, reason = _cause_of(claim)
    labelled = {
        "Criterion": criterion,
        "Paper": claim.paper,
        "Ours": "" if claim.ours == DASH else claim.ours,
        f"Cause{f', {word}' if word else ''}": reason,
    }
    parts = [f"{name}: {_markdown_cell(text).removesuffix('.')}." for name, text in labelled.items() if text]
    return " ".join([f"**{number}.** {_markdown_cell(statement)}: {claim.result}.", *parts])


def folded_page(study: Study, conclusion: Conclusion, full: bool, work: str) -> str:
    """A page with the verdict, the first picture and the first table on top; all else is in closed details."""
    table, *tables = (t for t in conclusion.tables if t.stem in conclusion.shown)
    picture, *pictures = (p for p in conclusion.pictures if p.stem in conclusion.shown)
    notes = [note for note in conclusion.notes if note not in conclusion.verdict]
    quick = "" if full else "These are the rows of a quick run, for a first look. "
    folded = {
        "What was run": f"{conclusion.protocol} {work}. Command: `{study.shown_command(full)}`.",
        **{p.heading: _picture_link(study, p) for p in pictures},
        **{t.heading: f"{t.caption}\n\n{markdown(t.frame)}" for t in tables},
        "Remarks and versions": "\n".join(f"* {note}" for note in notes),
        "How this page is made": "The command above with `--doc PAGE` writes this page anew, with the rows of the "
        "version that runs it. Its folder of results is not kept with the page: run the command for the files of that "
        "folder.",
    }
    parts = [
        f"# {study.title}\n",
        f"{quick}{' '.join(conclusion.verdict)}\n",
        f"{_picture_link(study, picture)}\n",
        f"{markdown(table.frame)}\n{table.caption}\n",
        *closed_details(folded),
    ]
    return "\n".join(parts).rstrip() + "\n"


def closed_details(texts: Mapping[str, str]) -> list[str]:
    """Closed details with these titles; those without a text are left out."""
    return [
        f"<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>\n"
        for title, text in texts.items()
        if text
    ]


def _picture_link(study: Study, picture: Picture) -> str:
    return f"![{picture.caption}]({study.name}_{picture.stem}.png)"


def write_page(path: Path, study: Study, conclusion: Conclusion, full: bool, work: str) -> None:
    """Write a study's page, and its pictures into the folder of that file.

    Where a page beside this folder, ``NAME.md`` for the folder ``NAME``, has the markers of ``OVERVIEW``, the counts of
    all pages of the folder are written between them. Raises OSError if a file cannot be written.
    """
    for picture in conclusion.pictures:
        if picture.stem in conclusion.shown:
            write_whole(path.with_name(f"{study.name}_{picture.stem}.png"), picture.png)
    replace_section(path, study.name, page_of(study, conclusion, full, work), f"fsgym {study.subject}")
    index = path.parent.with_suffix(".md")
    if index.is_file() and f"<!-- {OVERVIEW}: begin" in read_text(index):
        replace_section(index, OVERVIEW, overview_in_markdown(index))


def overview_in_markdown(index: Path) -> str:
    """``overview`` of the pages in the folder that is called as the page ``index``, in the order of the studies."""
    pages = {name: index.with_suffix("") / f"{name}.md" for name in STUDIES}
    found = {f"{index.stem}/{name}.md": read_text(page) for name, page in pages.items() if page.is_file()}
    table = overview(found)
    causes = [", ".join(f"{cause} {row[cause]}" for cause in CAUSES if row[cause]) for _, row in table.iterrows()]
    short = table[["study", "run"]].assign(
        reproduced=[f"{met} of {n}" for met, n in zip(table["reproduced"], table["claims"], strict=True)],
        why=causes,
        sentences=[f"{met} of {n}" for met, n in zip(table["reproduced in full"], table["sentences"], strict=True)],
    )
    short.columns = ["study", "run", "claims reproduced", "causes of the others", "sentences reproduced in full"]
    lines = markdown(short).splitlines()
    links = [f"| {link} |{line.split('|', 2)[2]}" for link, line in zip(table.iloc[:, 0], lines[2:], strict=True)]
    return "\n".join([*lines[:2], *links])


def replace_section(path: Path, name: str, text: str, writer: str = "fsgym reproduce") -> None:
    """Replace what is between the markers of ``name`` in a Markdown file by ``text``; append it if there are none.

    Raises OSError if the file cannot be written.
    """
    begin, end = f"<!-- {name}: begin, written by {writer} -->", f"<!-- {name}: end -->"
    block = f"{begin}\n{text.rstrip()}\n{end}"
    before = read_text(path) if path.exists() else ""
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    after = pattern.sub(lambda _: block, before) if pattern.search(before) else f"{before.rstrip()}\n\n{block}\n"
    write_whole(path, after.lstrip())


def work_done(timings: pd.DataFrame, cells: int) -> str:
    """The number of cells and the processor time of a run, in words."""
    seconds = float(timings["cpu_seconds"].sum()) if len(timings) else 0.0
    return f"{cells} cells, {duration_text(seconds)} of processor time"


def times_table(timings: pd.DataFrame) -> Table | None:
    """Processor time by data set and method; None if the timings do not name them."""
    if timings.empty or not {"dataset", "method", "split"} <= set(timings.columns):
        return None
    keys = [c for c in ("dataset", "method", "share", "split") if c in timings.columns]
    sums = timings.groupby(keys, sort=False)["cpu_seconds"].sum()
    means = sums.groupby(["dataset", "method"], sort=False).mean().unstack("method", sort=False)
    frame = means.rename_axis(columns=None).reset_index().rename(columns={"dataset": "data set"})
    caption = (
        "Seconds for training and testing all settings of a method on one split, mean over splits. They differ from "
        "run to run, so they are in times.csv and not in tables.md."
    )
    return Table("times", "Processor time", caption, frame.round(2))


def failures(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Dataset, method, params, split and error of each failed cell; "" for columns that the study does not have."""
    names = ["dataset", "method", "params", "split", "error"]
    return table[table["error"].notna()].reindex(columns=names, fill_value="").to_dict("records")


def write_study(
    study: Study,
    conclusion: Conclusion,
    table: pd.DataFrame,
    timings: pd.DataFrame,
    folder: Path,
    *,
    full: bool,
    command: str,
) -> Path:
    """Write all files of a study and return the path of its report.

    These are ``report.html``, ``claims.csv`` where there are claims, ``cells.csv``, the tables as CSV and Markdown, the
    further files of the conclusion, the pictures, the BibTeX entries, and the timings by cell (``timings.csv``) and by
    method (``times.csv``). Raises OSError if the folder cannot be written.
    """
    work = work_done(timings, len(table))
    templates = template_environment(Path(__file__).parent / "templates")
    templates.filters["table_cell"] = format_number
    claims = [Table("claims", "Claims", "", claims_frame(conclusion.claims))] if conclusion.claims else []
    times = times_table(timings)
    shown = [*conclusion.tables, *([] if times is None else [times])]
    cells = table.loc[:, ~table.map(lambda value: isinstance(value, list)).any()]
    csv = {t.stem: t.frame for t in (*claims, *shown)} | {"cells": cells, "timings": timings}
    for name, latex in conclusion.latex.items():
        write_or_remove(folder / f"{name}.tex", latex)
    for stem, frame in (csv | dict(conclusion.files)).items():
        write_whole(folder / f"{stem}.csv", frame.to_csv(index=False))
    text = "\n".join(f"## {t.heading}\n\n{t.caption}\n\n{markdown(t.frame)}" for t in (*claims, *conclusion.tables))
    write_whole(folder / "tables.md", f"# {study.title}\n\n{conclusion.protocol}\n\n{text}")
    write_whole(folder / f"{study.name}.bib", study.reference.strip() + "\n")
    for picture in conclusion.pictures:
        write_picture(picture, folder)
    html = templates.get_template("study.html.j2").render(
        study=study,
        conclusion=conclusion,
        full=full,
        command=command,
        work=work,
        curves="sparsity" in table,
        failures=failures(table),
        tables=shown,
        **provenance(),
    )
    report = folder / "report.html"
    write_whole(report, html)
    return report


def picture_of(
    stem: str, heading: str, caption: str, plot: Callable[..., Axes | Figure], *arguments: Any, **options: Any
) -> Picture:
    """The picture that ``plot`` returns for these arguments, in the style of all reports."""
    with matplotlib.rc_context(figures.STYLE):
        return Picture(stem, heading, caption, *drawn(plot(*arguments, **options)))


def draw_picture(
    stem: str, heading: str, caption: str, draw: Callable[[Figure], Any], size: tuple[float, float] = (6.4, 4.2)
) -> Picture:
    """The picture that ``draw`` plots on an empty figure of this size in inches, in the style of all reports."""
    with matplotlib.rc_context(figures.STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        return Picture(stem, heading, caption, *drawn(figure))


def settings_table(settings: pd.DataFrame) -> Table:
    """The results of all settings of all methods."""
    frame = settings.assign(
        accuracy=[with_std(a, s, 3) for a, s in zip(settings["accuracy"], settings["accuracy_std"])],
        sparsity=[with_std(a, s) for a, s in zip(settings["sparsity"], settings["sparsity_std"])],
        n_acquisitions=[format_number(float(v), 2) for v in settings["n_acquisitions"]],
    )[["dataset", "share", "method", "params", "accuracy", "sparsity", "n_acquisitions", "splits"]]
    return Table(
        "settings",
        "All settings",
        "Means ± one standard deviation over the splits, on the test parts.",
        frame.rename(columns={"dataset": "data set", "n_acquisitions": "acquisitions"}),
    )
