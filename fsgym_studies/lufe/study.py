"""Taylor, Sharmanska, Kersting, Weir and Quadrianto (2016), section 4: does LUFe improve on a selection?

The paper used TechTC-300. Its sets are part of the study if the folder of data sets has them, each as
``techtc300_NAME.npz`` with the arrays data, indices, indptr and shape of a CSR matrix of counts of words of five
letters or more, and y.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.data.dataset import Dataset
from fsgym.datasets import list_datasets
from fsgym.runner import Task
from fsgym_studies.common.plan import DataFolder, Source, study_task, without
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.lufe import tables
from fsgym_studies.lufe.cell import CODINGS, COMPARE_ARMS_CALL
from fsgym_studies.lufe.claims import claims, notes, silent_note

CORPUS_SOURCES = tuple(map(Source, ("news20_atheism_religion_bow", "pcmac", "basehock", "relathe"), tables.CORPORA))
# Values for False are those of the quick study, for True those of the full one.
SAMPLE_SIZE = 150  # documents, about as many as a set of TechTC-300 has
CORPUS_SAMPLES = {False: 6, True: 12}  # samples of each corpus; each is a data set
OUTER_FOLDS = 10
REPEATS_AND_FOLDS = {False: [(0, 0)], True: [(r, f) for r in range(10) for f in range(OUTER_FOLDS)]}
MAX_TECHTC_SETS = {False: 4, True: 49}  # of those in the folder of data sets


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    samples = [(source, range(CORPUS_SAMPLES[full]), SAMPLE_SIZE) for source in without(CORPUS_SOURCES, skip)]
    whole = [(source, range(1), None) for source in techtc_sources(data_dir)[: MAX_TECHTC_SETS[full]]]
    cells = []
    for source, draws, sample in (*samples, *whole):
        data = source.load(data_dir)
        for draw, (repeat, fold), choice in product(draws, REPEATS_AND_FOLDS[full], selection_choices()):
            selector, K, inner, coding = choice
            plain = (inner, coding) == ("nested", "log counts")
            part = {
                "sample": sample,
                "draw": seed_of((source.title, draw)),
                "folds": OUTER_FOLDS,
                "fold": fold,
                "seed": seed_of((source.title, draw, repeat)),
            }
            arguments = {
                "part": part,
                "selector": selector.lower(),
                "n_selected": K,
                "inner": inner,
                "shares": tables.UNSELECTED_SHARES if plain and (selector, K) == ("RFE", 300) else (),
                "controls": plain,
                "coding": coding,
            }
            dataset = f"{source.title} {draw + 1}" if sample else source.title
            row = {"corpus": source.title, "dataset": dataset, "selector": selector, "K": K, "inner": inner}
            row |= {"coding": coding, "reading": tables.OWN_READING, "repeat": repeat, "fold": fold}
            cells.append(study_task(COMPARE_ARMS_CALL, arguments, row, data))
            if (repeat, fold) == REPEATS_AND_FOLDS[full][0] and plain and K == 300:
                cells += reading_cells(arguments, row, data)
    return cells


def reading_cells(arguments: Mapping[str, Any], row: Mapping[str, Any], data: Dataset) -> list[Task]:
    """The cell of each reading on the training part and the selector of a cell of the study."""
    cells = []
    for name, reading in tables.READINGS.items():
        if row["corpus"] in reading.corpora:
            part = {**arguments["part"], **reading.part}
            own = {**arguments, "shares": (), "controls": False, **reading.arguments, "part": part}
            labels = {**row, "reading": name, "coding": own["coding"]}
            cells.append(study_task(COMPARE_ARMS_CALL, own, labels, data))
    return cells


def selection_choices() -> list[tuple[str, int, str, str]]:
    """Selector, K, where features are selected for the choice of penalties, and the coding of the documents."""
    selectors, sizes = tables.COMPARED_SELECTORS, tables.SELECTION_SIZES
    return [
        *((*own, inner, "log counts") for inner in ("nested", "outer") for own in product(selectors, sizes)),
        *((selector, 300, "nested", coding) for coding, selector in product(CODINGS[1:], selectors)),
    ]


def techtc_sources(data_dir: DataFolder = None) -> list[Source]:
    """The sets of TechTC-300 in the folder of data sets."""
    names = sorted(n for n in list_datasets(data_dir)["name"] if n.startswith(tables.TECHTC_PREFIX))
    return [Source(n, n.removeprefix(tables.TECHTC_PREFIX)) for n in names]


def conclude(planned: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    accuracies = tables.mean_accuracies(table)
    if accuracies.empty:
        return Conclusion(protocol(full), claims(table))
    shares = tables.differences_by_share(accuracies)
    results = [
        tables.controls_table(accuracies),
        tables.summary_table(accuracies),
        tables.share_table(shares),
        tables.inner_table(table),
        tables.coding_table(table),
        tables.reading_table(table),
    ]
    pictures = [tables.error_picture(accuracies, s, k) for k, s in enumerate(tables.COMPARED_SELECTORS, 1)]
    pictures.append(tables.share_picture(shares))
    remarks = [*notes(accuracies), silent_note(table)]
    return Conclusion(protocol(full), claims(table), results, pictures, remarks, ("table1", "readings"))


def protocol(full: bool) -> str:
    folds = (
        "ten stratified folds, ten times. Nine folds are used for training, in turn; the remaining fold"
        if full
        else "ten stratified folds. Nine are used for training; the first fold"
    )
    return (
        "We repeat section 4 of Taylor et al. (2016), Learning using unselected features (LUFe). The paper uses 49 "
        f"sets of TechTC-300, which are not available. Instead we draw {CORPUS_SAMPLES[full]} samples of {SAMPLE_SIZE} "
        "documents, about as many as such a set has, from each of news20 (atheism against religion), pcmac, basehock "
        f"and relathe; each sample is a data set. Each sample is divided into {folds} and all documents of the corpus "
        "that are not in the sample are used for testing. Features are logarithms of word counts, and documents are "
        "scaled to norm 1. ALL is a linear SVM on all features. RFE and ANOVA are linear SVMs on the K = 300 or 500 "
        "features that RFE or ANOVA selects on the training part. LUFe trains on the same features and models the "
        "slack variables of the SVM as a linear function of the unselected features, which it does not need for "
        "prediction. The controls replace the unselected features by the same number of Gaussian random variables "
        "(random), or by one indicator variable for each document (identity). The penalty C is the best of seven "
        "values from 0.001 to 1000 on five inner folds; LUFe has two penalties, and 49 pairs of values. Features are "
        "selected separately in each inner fold (nested), or only once, on the whole training part, before the inner "
        "folds are made, as the paper seems to "
        "have done (outer). Differences are in points of accuracy: mean ± standard error over data sets, then "
        "wins/ties/losses; in the column of the paper, mean and wins. A classifier is better than another if the mean "
        "difference, over both K, is more than two standard errors above 0. A statement of the paper on "
        "LUFe is judged twice: with an intercept in the model of the slacks, and by eq. 3 as printed, which has none. "
        "Other readings of the protocol are run with K = 300 on the first fold of these samples; their table says what "
        "they are. A cell is one selection of features on one training part, with all classifiers that are compared on "
        "it."
    )


STUDY = Study(
    "lufe",
    "LUFe: learning using unselected features (section 4)",
    bibtex(__file__),
    (19.0, 3200.0),
    tuple(s.name for s in CORPUS_SOURCES),
    plan,
    conclude,
)
