"""Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), section 4: does LUFe improve on a selection?

Sets of TechTC-300, which the paper used, join where the folder of data sets has them, each as ``techtc300_NAME.npz``
with the arrays data, indices, indptr and shape of a CSR matrix of counts of words of five letters or more, and y.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.datasets import list_datasets
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, seed_of
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.lufe.cell import CALL
from fsgym_studies.lufe.claims import claims, notes
from fsgym_studies.lufe.tables import (
    CORPORA,
    NESTED,
    OUTER,
    SELECTORS,
    SHARES,
    SIZES,
    TECHTC,
    by_share,
    error_picture,
    inner_table,
    means,
    share_picture,
    share_table,
    table_one,
    verdicts,
)

SOURCES = tuple(map(Source, ("news20_atheism_religion_bow", "pcmac", "basehock", "relathe"), CORPORA))
DOCUMENTS = 150  # as many as a set of TechTC-300 has
DRAWS = {False: 6, True: 12}  # of documents from each corpus
FOLDS = 10
RUNS = {False: [(0, 0)], True: [(r, f) for r in range(10) for f in range(FOLDS)]}  # repeat, fold
TECHTC_SETS = {False: 4, True: 49}
REFERENCE = """\
@inproceedings{taylor2016learning,
  author    = {Taylor, Joseph G. and Sharmanska, Viktoriia and Kersting, Kristian and Weir, David and
               Quadrianto, Novi},
  title     = {Learning using unselected features ({LUFe})},
  booktitle = {Proceedings of the Twenty-Fifth International Joint Conference on Artificial Intelligence},
  year      = {2016}
}
"""


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    drawn = [(source, range(DRAWS[full]), DOCUMENTS) for source in SOURCES]
    whole = [(source, range(1), None) for source in techtc(data_dir)[: TECHTC_SETS[full]]]
    cells = []
    for source, draws, sample in (*drawn, *whole):
        data = source.load(data_dir)
        for draw in draws:
            for repeat, fold in RUNS[full]:
                for selector, K, inner in choices(full):
                    known = (selector, K, inner) == (SELECTORS[0], SIZES[0], NESTED)
                    arguments = {
                        "part": {
                            "sample": sample,
                            "draw": seed_of(source.title, draw),
                            "folds": FOLDS,
                            "fold": fold,
                            "seed": seed_of(source.title, draw, repeat),
                        },
                        "selector": selector.lower(),
                        "n_selected": K,
                        "inner": inner,
                        "shares": SHARES if known else (),
                        "controls": inner == NESTED,
                    }
                    row = {
                        "corpus": source.title,
                        "dataset": f"{source.title} {draw + 1}" if sample else source.title,
                        "selector": selector,
                        "K": K,
                        "inner": inner,
                        "repeat": repeat,
                        "fold": fold,
                    }
                    cells.append(StudyCell(Task(CALL, arguments, {"data": data}), row))
    return cells


def choices(full: bool) -> list[tuple[str, int, str]]:
    """Selector, K, and where features are selected for the choice of weights."""
    nested = [(s, K, NESTED) for s in SELECTORS for K in SIZES]
    return nested + [(s, K, OUTER) for s in SELECTORS for K in (SIZES if full else SIZES[:1])]


def techtc(data_dir: DataFolder = None) -> list[Source]:
    """The sets of TechTC-300 that are in the folder."""
    names = sorted(n for n in list_datasets(data_dir)["name"] if n.startswith(TECHTC))
    return [Source(n, n.removeprefix(TECHTC)) for n in names]


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    found = means(table)
    if found.empty:
        return Conclusion(protocol(table, full), claims(table))
    shares = by_share(found)
    pictures = [error_picture(found, s, k + 1) for k, s in enumerate(SELECTORS)]
    return Conclusion(
        protocol(table, full),
        claims(table),
        [verdicts(found), table_one(found), share_table(shares), inner_table(table)],
        [*pictures, share_picture(shares)],
        notes(found),
    )


def protocol(table: pd.DataFrame, full: bool) -> str:
    runs = "ten times ten stratified folds" if full else "the first of ten stratified folds left out"
    return (
        f"{DRAWS[full]} draws of {DOCUMENTS} documents, each a data set, from each of news20 (atheism, religion), "
        "pcmac, basehock and relathe (the paper: 49 sets of TechTC-300 of about as many documents, which are not at "
        f"hand); {runs}, and judged on all documents of the corpus that were not trained on; logarithms of word "
        "counts, documents scaled to norm 1. A linear SVM on all features (ALL); on the K = 300 or 500 that RFE or "
        "ANOVA select on the training part; and LUFe on the same ones, with slacks that see the others. In the "
        "controls slacks see as many normal variables (random), or an indicator of each document and no feature "
        "(identity). Weights are the best of seven from 0.001 to 1000 (LUFe: of 49 pairs) by five inner folds, in each "
        "of which features are selected anew (nested), or have been selected before, as the paper seems to have done "
        "(outer). Differences are in points of accuracy, mean ± standard error over data sets, and wins/ties/losses; "
        "one classifier is above another where the mean difference is more than two standard errors, both K together."
    )


STUDY = Study(
    "lufe",
    "LUFe: learning using unselected features (section 4)",
    REFERENCE,
    (8.2, 1800.0),
    tuple(s.name for s in SOURCES),
    plan,
    conclude,
)
