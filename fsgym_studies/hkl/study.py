"""Max-margin disjunctions by hierarchical kernel learning, compared with support vector machines and selections."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import OfficialSplit, Split, folds, random_splits
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.curves import cells_with, evaluated_cells, without_gaps
from fsgym_studies.common.plan import DataFolder, Source, cell_labels, study_task
from fsgym_studies.common.study import Conclusion, Study, bibtex
from fsgym_studies.hkl import changes
from fsgym_studies.hkl.cell import (
    APPROACHES,
    AT_DEFAULTS,
    FEW_ROWS,
    HKL,
    NESTED_CALL,
    ONCE,
    ONCE_ZERO_NORM,
    SEARCH_REPEATS,
    TABLE1_APPROACHES,
    ZERO_NORM,
)
from fsgym_studies.hkl.claims import ZERO_NORM_DATASETS, claims, notes
from fsgym_studies.hkl.further import (
    FORMS,
    MORE_SPLITS,
    approach_cells,
    each_setting_cells,
    each_setting_table,
    form_cells,
    forms_text,
    table4_searches,
)
from fsgym_studies.hkl.printed import HKL_FOLDS, NEWSGROUPS, TABLE1_DATASETS
from fsgym_studies.hkl.tables import approaches_table, rules_table, selection_size_table, wilcoxon_table

ALL_NOMINAL = {"nominal": "all"}  # option of Booleanizer: every column holds categories
MIN_WORD_TEXTS = 10  # number of training texts that a word must occur in
# Grids of the disjunctions, ours: the paper prints no settings. False: quick study, True: full study.
HKL_GRID = {
    False: {"C": (1.0, 10.0, 100.0, 1e3, 1e4), "beta": (4.0, 2.0), "p": (1.1, 2.0)},
    True: {"C": (1.0, 10.0, 100.0, 1e3, 1e4), "beta": (4.0, 2.0, 1.2), "p": (1.1, 1.5, 2.0)},
}
GENES_GRID = {"C": (1.0, 10.0, 100.0), "beta": (4.0, 2.0), "p": (2.0,)}
TEXT_GRID = {"C": (1.0, 3.0, 10.0, 30.0, 100.0), "beta": (4.0, 2.0), "p": (2.0,)}
HKL_FOLD_REPEATS = 10  # of the full study
RANDOM_SPLITS = {False: 4, True: 30}  # of the microarrays; 30 as in the paper of the zero-norm SVM


@dataclass(frozen=True)
class StudyDataset:
    """A data set of the study, how it is made Boolean, and which settings are tried."""

    source: Source
    literals: Mapping[str, Any] = field(default_factory=dict)  # options of ``Booleanizer``
    grid: Mapping[str, Sequence[float]] | None = None  # settings of the disjunctions; None: those of ``HKL_GRID``
    max_active: int = changes.MAX_ACTIVE  # the largest number of active disjunctions
    official: bool = False  # whether the data set has official training and test parts
    positive: int | None = None  # label of the class to separate from all others, optional
    max_literals: int | None = None  # of a disjunction; None: the default of the classifier
    quick_repeats: int = 1  # how often the folds of the quick study are drawn
    training_rows: int | None = None  # of random splits that take the place of the folds

    def splits(self, full: bool, n_samples: int) -> tuple[Split, ...]:
        """The splits of the full or the quick study, without an official test part."""
        if self.training_rows is not None:
            return random_splits(self.training_rows / n_samples, RANDOM_SPLITS[full])
        return folds(HKL_FOLDS, HKL_FOLD_REPEATS if full else self.quick_repeats)

    def changed_splits(self, full: bool, n_samples: int) -> tuple[Split, ...]:
        """The splits on which one thing is changed: all random ones, or the first folds."""
        return self.splits(full, n_samples)[: None if self.training_rows is not None else changes.CHANGED_SPLITS[full]]


STUDY_DATASETS = (
    StudyDataset(Source("breast_cancer_ljubljana", "breast cancer"), ALL_NOMINAL),
    StudyDataset(Source("breast_cancer_wisconsin_683", "Wisconsin", drop=("id",)), ALL_NOMINAL),
    StudyDataset(Source("hepatitis", "hepatitis"), quick_repeats=5),  # one row is 5 points of a test part
    StudyDataset(Source("transfusion", "transfusion")),
    StudyDataset(Source("vote", "vote"), ALL_NOMINAL),
    StudyDataset(Source("monk1", "MONK-1"), ALL_NOMINAL, official=True),
    StudyDataset(Source("monk2", "MONK-2"), ALL_NOMINAL, official=True),
    StudyDataset(Source("monk3", "MONK-3"), ALL_NOMINAL, official=True),
    StudyDataset(Source("tic_tac_toe", "tic-tac-toe"), ALL_NOMINAL, max_active=changes.MORE_ACTIVE),
    StudyDataset(
        Source("news20_atheism_religion_bow", NEWSGROUPS),
        {},
        TEXT_GRID,
        changes.MORE_ACTIVE,
        official=True,
        max_literals=4,
    ),
    StudyDataset(Source("ionosphere", "ionosphere")),
    StudyDataset(Source("colon", "colon"), {"n_thresholds": 2}, GENES_GRID, training_rows=50),
    StudyDataset(Source("lymphoma", "lymphoma"), ALL_NOMINAL, GENES_GRID, positive=1, training_rows=60),
)


def plan(full: bool, data_dir: DataFolder, skip: Collection[str] = ()) -> list[Task]:
    cells = []
    for entry in (e for e in STUDY_DATASETS if e.source.name not in skip):
        data, test = load_parts(entry, data_dir)
        literals, names = literal_options(entry, data, data_dir)
        share = 1.0 - 1.0 / HKL_FOLDS if entry.training_rows is None else entry.training_rows / data.n_samples
        methods = APPROACHES if entry.source.title in ZERO_NORM_DATASETS else TABLE1_APPROACHES
        if entry.training_rows is not None:  # thousands of literals, and not in Table 1
            methods = (*methods[:3], *methods[len(TABLE1_APPROACHES) :])
        if entry.source.title in TABLE1_DATASETS:
            methods = (*methods, *AT_DEFAULTS)
        official = None if test is None else [OfficialSplit(test)]
        features = {"literals": literals, "names": names}
        search = {"grid": entry.grid or HKL_GRID[full], "max_active": entry.max_active}
        search["max_literals"] = entry.max_literals
        for number, split in enumerate(official or entry.splits(full, data.n_samples)):
            seed = seed_of((entry.source.title, number))
            for method in methods:
                arguments = {"method": method, "features": features, "search": search, "seed": seed}
                row = cell_labels(entry.source.title, share, number, method, "")
                cells.append(study_task(NESTED_CALL, arguments, row, data, split))
        if entry.training_rows is not None:
            cells += once_cells(data, features, search)
            cells += each_setting_cells(
                data, random_splits(share, MORE_SPLITS[full]), features, table4_searches(search)
            )
        if entry.source.title in FORMS:
            cells += form_cells(data, official or folds(HKL_FOLDS, 1), features, search)
        if entry.source.title in changes.CHANGES_BY_DATASET:
            cells += changes.changed_cells(data, entry.changed_splits(full, data.n_samples), features, search)
    return cells


def once_cells(data: Dataset, features: Mapping[str, Any], search: Mapping[str, Any]) -> list[Task]:
    """Both approaches of Table 4 on folds of a data set with random splits: each of its rows is tested once."""
    approaches = {ONCE: (HKL, features, search), ONCE_ZERO_NORM: (ZERO_NORM, features, search)}
    return approach_cells(NESTED_CALL, data, folds(HKL_FOLDS, 1), approaches)


def load_parts(entry: StudyDataset, data_dir: DataFolder) -> tuple[Dataset, Dataset | None]:
    """All rows and None, or the official training and test part."""
    source = entry.source
    if entry.official:
        train, test = (Source(source.name, source.title, split).load(data_dir) for split in ("train", "test"))
        return word_features(train, test) if entry.grid is TEXT_GRID else (train, test)
    data = source.load(data_dir)
    data = data.rows(np.flatnonzero(~data.incomplete))
    if entry.positive is not None:
        data = data.replace(y=(data.classes[data.y] == entry.positive).astype(int), classes=None)
    return data.replace(name=source.title), None


def word_features(train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """0/1 columns for the words that occur in at least ``MIN_WORD_TEXTS`` training texts."""
    common = np.flatnonzero((train.X > 0).sum(axis=0) >= MIN_WORD_TEXTS)
    names = [train.feature_names[j] for j in common]
    reduced = [
        part.replace(X=(part.X[:, common] > 0).astype(np.float32), feature_names=names, groups=None)
        for part in (train, test)
    ]
    return reduced[0], reduced[1]


def literal_options(entry: StudyDataset, data: Dataset, data_dir: DataFolder) -> tuple[dict[str, Any], dict[str, str]]:
    """Options of ``Booleanizer`` with the columns of categories, and names of literals with levels, not codes."""
    source, literals = entry.source, dict(entry.literals)
    if entry.grid is not None:
        return literals, {}
    split = "train" if entry.official else "all"
    one_hot_names = Source(source.name, source.title, split, source.drop, one_hot=True).load(data_dir).feature_names
    names, nominal = {}, []
    for j, column in enumerate(data.feature_names):
        levels = [name for name in one_hot_names if name.startswith(f"{column}=")]
        nominal += [j] * bool(levels)
        if len(levels) == 1:  # the second of two levels
            levels = [levels[0].replace("=", "!=", 1), levels[0]]
        names |= {f"{column}={code}": level for code, level in enumerate(levels)}
    literals.setdefault("nominal", nominal)
    return literals, names


def conclude(planned: Sequence[Task], table: pd.DataFrame, full: bool) -> Conclusion:
    whole = without_gaps(table, ["dataset", "method"])
    finished, further = evaluated_cells(whole), cells_with(whole, "accuracies")
    by_change = changes.accuracies_by_change(finished, further)
    kinds = (approaches_table, wilcoxon_table, selection_size_table, rules_table)
    tables = [*(kind(finished) for kind in kinds), each_setting_table(whole), changes.changes_table(by_change)]
    shown = ("changes",) if by_change else ()
    return Conclusion(protocol(full), claims(finished, further), tables, notes=notes(finished), shown=shown)


def protocol(full: bool) -> str:
    shuffled = f"{HKL_FOLD_REPEATS} times" if full else "once (on hepatitis five times)"
    return (
        "We repeat Tables 1 to 5 of a paper that trains max-margin classifiers on disjunctions of Boolean features by "
        f"hierarchical kernel learning (HKL). {HKL_FOLDS} stratified folds, shuffled {shuffled}; MONK and 20 "
        f"newsgroups with their official training/test split, colon and lymphoma with {RANDOM_SPLITS[full]} random "
        f"splits of 50 and 60 training rows, and both approaches of Table 4 there also on {HKL_FOLDS} folds. Rows "
        "with a missing value are left out. All approaches use the same Boolean features, built on each training part: "
        "one column for each level of a categorical feature, and for a numeric feature two columns (above, not above) "
        "for each of at most four thresholds (two "
        "thresholds on colon). Each setting is chosen on three folds within the training part, drawn "
        f"{SEARCH_REPEATS} times if it has fewer than {FEW_ROWS} rows. The disjunctions are "
        "trained with the default stopping rule, which does not guarantee that the solution is optimal, and with at "
        f"most {changes.MAX_ACTIVE} disjunctions in the model ({changes.MORE_ACTIVE} on tic-tac-toe and 20 "
        "newsgroups). A disjunction, also called a rule, joins Boolean features by 'or'. On data sets with more than "
        "60 Boolean features, a disjunction joins at most three, and four on 20 newsgroups, as the longest that the "
        "paper prints. L2-SVM has a Gaussian kernel, because a linear one cannot reach the printed 100 % on MONK-1; "
        "L1-SVM is linear. They are also run at the defaults of LIBSVM (C = 1) and LIBLINEAR (C = 1, no intercept), "
        "the latter with its -B 1, an intercept that is penalised as the weights are, too. Selections by "
        "chi-squared or information keep 2 to 50 % of the Boolean features; Cfs and "
        "consistency are Weka's evaluators of subsets, with its best-first and greedy searches, on the whole training "
        "part; the zero-norm SVM keeps one of the shares of Table 4, also chosen on the inner folds. On "
        f"{MORE_SPLITS[full]} splits of colon and lymphoma the disjunctions and the zero-norm SVM, also at two smaller "
        "shares, are run at each of their settings without choosing one; so are the disjunctions on MONK-2, and on "
        f"{HKL_FOLDS} folds of ionosphere and Wisconsin, also with {forms_text()}. In further runs one thing differs "
        f"on the same test parts. On the first {changes.CHANGED_SPLITS[full]} of hepatitis the disjunctions are run "
        "with the one-standard-error rule: of the settings whose mean accuracy on the inner folds is at most one "
        "standard error "
        "below the best mean, the one with the smallest C is chosen, then with the largest beta, then with the "
        "smallest p. The standard error is the standard deviation over all inner folds, divided by the square root of "
        "three: to draw the folds again adds no rows. There the disjunctions and L2-SVM are also run with at most two "
        "thresholds for each feature, still with at most three Boolean features in a disjunction, and at each of their "
        "settings without choosing one. On as many of breast cancer, or all that there are, the disjunctions are also "
        f"run with at most {changes.MORE_ACTIVE} in the model. On all splits of colon both are also run with three and "
        f"with four thresholds. 20 newsgroups: words that occur in at least {MIN_WORD_TEXTS} training posts; in our "
        "copy these have their header lines, and the test posts have not. Lymphoma: the largest of nine classes "
        "against the rest (46 of 96), discretised. The paper does not say how features are made Boolean, and gives no "
        "settings and, for microarrays, no splits."
    )


STUDY = Study(
    "hkl",
    "HKL: disjunctions by hierarchical kernel learning (Tables 1 to 5)",
    bibtex(__file__),
    (20.0, 165.0),
    tuple(entry.source.name for entry in STUDY_DATASETS),
    plan,
    conclude,
)
