"""The declaration of a study, and its conclusion: claims, tables and pictures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from fsgym.comparison.report import Picture
from fsgym.runner.task import Task
from fsgym_studies.common.claims import CAUSES, NOT_KNOWN, OWN_RESULT_WORDS, RESULT_WORDS, AssessedClaim

# The data files of a study: the numbers that its papers print, and the papers.


def printed_numbers(module_file: str, name: str = "printed") -> pd.DataFrame:
    """The rows of ``NAME.csv`` beside a module of a study; lines that begin with # say where they are printed."""
    return pd.read_csv(Path(module_file).with_name(f"{name}.csv"), comment="#")


def bibtex(module_file: str, name: str = "references") -> str:
    """The BibTeX entries of ``NAME.bib`` beside a module of a study."""
    return Path(module_file).with_name(f"{name}.bib").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Table:
    """A table of a report."""

    stem: str  # name of the CSV file without its ending
    heading: str
    caption: str  # what the columns mean
    frame: pd.DataFrame  # the rows as text or numbers


@dataclass(frozen=True)
class Conclusion:
    """Everything that a report says about the results of a study."""

    protocol: str  # a few sentences on what was run
    claims: Sequence[AssessedClaim]
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = field(default_factory=tuple)  # listed below the claims
    # stems of the tables and pictures that a section of a Markdown file has; the report has all of them
    shown: Sequence[str] = ()
    # mapping stem -> DataFrame, further tables for programs, written as CSV files and not shown
    files: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    verdict: Sequence[str] = ()  # the sentences at the top of a page whose details are closed; the first notes, too
    latex: Mapping[str, str | None] = field(default_factory=dict)  # mapping stem -> text of a .tex file, None for none

    def summary(self) -> str:
        """How many claims are reproduced, or confirmed if no claim is a paper's, and why others are not, in words.

        Beside a paper's claims, checks of ours are not counted.

        >>> Conclusion("", [AssessedClaim("", ".9", "0.91", True), AssessedClaim("", ".8", "", None)]).summary()
        '1 of 1 claims reproduced; 1 not run'
        >>> Conclusion("", [AssessedClaim("", "", "0.91", True)]).summary()
        '1 of 1 claims confirmed'
        >>> Conclusion("", [AssessedClaim("", ".9", "0.91", True), AssessedClaim("", "", "0.7", False)]).summary()
        '1 of 1 claims reproduced'
        >>> failed = [AssessedClaim("", ".9", "0.8", False, cause) for cause in ("data: few", "data: other", "")]
        >>> Conclusion("", failed).summary()
        '0 of 3 claims reproduced; causes: data 2, not known 1'
        """
        of_paper = [c for c in self.claims if c.paper]
        counted, words = (of_paper, RESULT_WORDS) if of_paper else (self.claims, OWN_RESULT_WORDS)
        text = _counted(counted, "claims", words)
        failed = [c for c in counted if c.reproduced is False]
        causes = Counter(c.cause.partition(":")[0] or NOT_KNOWN for c in failed)
        listed = ", ".join(f"{cause} {causes[cause]}" for cause in CAUSES if cause in causes)
        return f"{text}; causes: {listed}" if of_paper and listed else text

    def second_summary(self) -> str:
        """How many sentences of the paper are reproduced in all their claims, and how many checks of ours confirmed.

        >>> parts = [AssessedClaim("", ".9", "", met, sentence="Table 1") for met in (True, False)]
        >>> others = [AssessedClaim("a", "1", "", True), AssessedClaim("", "", "", True)]
        >>> Conclusion("", [*parts, *others]).second_summary()
        'Sentences of the paper: 1 of 2 reproduced in all their claims. Checks of ours: 1 of 1 confirmed.'
        """
        of_paper, own = [c for c in self.claims if c.paper], [c for c in self.claims if not c.paper]
        parts: dict[str, list[bool]] = {}
        for claim in of_paper:
            if claim.reproduced is not None:
                parts.setdefault(claim.sentence or claim.text, []).append(claim.reproduced)
        texts = []
        if parts:
            met = sum(map(all, parts.values()))
            texts.append(f"Sentences of the paper: {met} of {len(parts)} reproduced in all their claims.")
        if of_paper and own:
            texts.append(f"Checks of ours: {_counted(own, '', OWN_RESULT_WORDS)}.")
        return " ".join(texts)


def _counted(claims: Sequence[AssessedClaim], noun: str, words: Mapping[bool | None, str]) -> str:
    """How many of the claims that were run are met, and how many were not run."""
    run = [c for c in claims if c.reproduced is not None]
    text = " ".join(part for part in (f"{sum(map(_met, run))} of {len(run)}", noun, words[True]) if part)
    return f"{text}; {len(claims) - len(run)} {words[None]}" if len(run) < len(claims) else text


def _met(claim: AssessedClaim) -> bool:
    return claim.reproduced is True


@dataclass(frozen=True)
class Study:
    """The declaration of a study."""

    name: str  # its name on the command line
    title: str
    reference: str  # BibTeX entries of the papers
    # (float, float), processor minutes of the quick study (measured) and of the full one (extrapolated)
    minutes: tuple[float, float]
    datasets: tuple[str, ...]  # names that ``load_dataset`` must know
    # callable (full, data_dir, skip=()) -> list of Task, one per cell, with labels; ``skip`` names data sets that are
    # left out; a study of one data set needs no such parameter
    plan: Callable[..., list[Task]]
    # callable (plan, table, full) -> Conclusion; ``table`` comes from ``cells_table``, and figures may be missing in
    # it
    conclude: Callable[[Sequence[Task], pd.DataFrame, bool], Conclusion]
    quick_datasets: tuple[str, ...] | None = None  # those of ``datasets`` that the quick study needs; None for all
    command: str = ""  # the command that its section names; by default ``fsgym reproduce`` with its name
    subject: str = "reproduce"  # {"reproduce", "benchmark"}, the subcommand of ``fsgym`` that runs it

    def shown_command(self, full: bool) -> str:
        """The command that runs the full or the quick study."""
        return self.command or f"fsgym {self.subject} {self.name} --{'full' if full else 'quick'}"

    def needed_datasets(self, full: bool) -> tuple[str, ...]:
        """The data sets that the full or the quick study needs."""
        return self.datasets if full or self.quick_datasets is None else self.quick_datasets

    def cells(self, full: bool, data_dir: str | os.PathLike | None, skip: Collection[str] = ()) -> list[Task]:
        """The plan without the data sets of ``skip``."""
        return self.plan(full, data_dir, skip) if skip else self.plan(full, data_dir)
