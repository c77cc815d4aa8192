"""The table at the head of a page of studies: how many claims each section reproduces, and why not the others."""

from __future__ import annotations

import re

import pandas as pd

from fsgym_studies.common.claims import CAUSES

VERDICT = re.compile(r"^\*\*.*?(\d+) of (\d+) claims reproduced(.*)\*\*$", re.MULTILINE)


def overview(page: str) -> pd.DataFrame:
    """The sections of a Markdown page that assess claims of papers, by the sentences that count them.

    Returns
    -------
    DataFrame, a row per section and one for all: ``section``, ``run`` (quick or full), ``claims`` that are assessed,
        how many are ``reproduced``, and for each of ``CAUSES`` how many are not

    >>> page = "## A\\n\\n`run --quick`\\n\\n**In a quick run, 1 of 3 claims reproduced; causes: data 2.**\\n"
    >>> overview(page).to_dict("records")[0]  # doctest: +ELLIPSIS
    {'section': 'A', 'run': 'quick', 'claims': 3, 'reproduced': 1, 'cause: paper': 0, 'cause: data': 2, ...}
    """
    rows = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        if verdict := VERDICT.search(section):
            causes = {name: int(n) for name, n in re.findall(r"(\w+) (\d+)", verdict[3].partition("causes:")[2])}
            counts = (int(verdict[2]), int(verdict[1]), *(causes.get(name, 0) for name in CAUSES))
            rows.append((section.partition("\n")[0], "quick" if "--quick`" in section else "full", *counts))
    table = pd.DataFrame(rows, columns=["section", "run", "claims", "reproduced", *map("cause: {}".format, CAUSES)])
    table.loc[len(table)] = ["all", "", *table.sum(numeric_only=True).astype(int)]
    return table
