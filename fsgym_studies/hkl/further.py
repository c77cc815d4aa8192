"""Further cells of the study of disjunctions: approaches at each of their settings; those of Table 4 on more splits.

One thing at a time differs between the comparisons of ``SettingsCompared``: how the setting is chosen, the number of
splits, and the number of Boolean features that the zero-norm SVM keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from fsgym.comparison.protocol import seed_of
from fsgym.comparison.splits import OfficialSplit, Split
from fsgym.data.dataset import Dataset
from fsgym.runner import Task
from fsgym_studies.common.curves import cells_with
from fsgym_studies.common.difference import Difference, paired_difference
from fsgym_studies.common.plan import cell_labels, share_of, study_task
from fsgym_studies.common.study import Table
from fsgym_studies.hkl.cell import EACH_SETTING_CALL, HKL, ZERO_NORM, ZERO_NORM_SHARES

MORE_SPLITS = {False: 16, True: 30}
SMALL_SHARES = (0.0078125, 0.00390625)  # about the share of rules; the smallest of Table 4 is twice the first


class Form(NamedTuple):
    """The disjunctions as they are run at each setting where only their accuracy or number is printed."""

    title: str = ""  # what differs from the other cells, as the object of "with"; "" for nothing
    # entries of ``features["literals"]`` and ``search`` of ``nested`` that differ
    literals: Mapping[str, Any] = MappingProxyType({})
    search: Mapping[str, Any] = MappingProxyType({})

    @property
    def label(self) -> str:
        """The name that tables of cells give to it."""
        return at_each(HKL) + (f", {self.title}" if self.title else "")


FORMS: dict[str, tuple[Form, ...]] = {
    "MONK-2": (
        Form(),
        *(Form(f"at most {n} Boolean features in a disjunction", search={"max_literals": n}) for n in (2, 3)),
    ),
    "ionosphere": (Form(), Form("2 thresholds", {"n_thresholds": 2})),
    "Wisconsin": (Form(),),
}


def forms_text() -> str:
    """What is changed in ``FORMS``, in words."""
    return "; ".join(
        f"{' and '.join(form.title for form in forms if form.title)} on {dataset}"
        for dataset, forms in FORMS.items()
        if any(form.title for form in forms)
    )


def form_cells(
    data: Dataset, splits: Sequence[Split | OfficialSplit], features: Mapping[str, Any], search: Mapping[str, Any]
) -> list[Task]:
    """The disjunctions at each setting, one cell for each form and split; the arguments are those of ``nested``."""
    approaches = {
        form.label: (
            HKL,
            {**features, "literals": {**features["literals"], **form.literals}},
            {**search, **form.search},
        )
        for form in FORMS[data.name]
    }
    return approach_cells(EACH_SETTING_CALL, data, splits, approaches)


def approach_cells(
    call: str,
    data: Dataset,
    splits: Sequence[Split | OfficialSplit],
    approaches: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]],
) -> list[Task]:
    """One cell for each split and approach; ``approaches``: label -> method, features and search of ``nested``."""
    cells = []
    for number, split in enumerate(splits):
        for label, (method, features, search) in approaches.items():
            seed = seed_of((data.name, number))
            arguments = {"method": method, "features": features, "search": search, "seed": seed}
            row = cell_labels(data.name, share_of(split, data), number, label, "")
            cells.append(study_task(call, arguments, row, data, split))
    return cells


def form_figures(further: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """By data set of ``FORMS`` and title of a form, means over the splits: a row per setting.

    The columns are ``accuracy``, in percent, and ``share``, of rules in the number of Boolean features.
    """
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for dataset, forms in FORMS.items():
        for form in forms:
            own = further[(further["dataset"] == dataset) & (further["method"] == form.label)]
            if len(own):
                accuracies, sizes = (pd.DataFrame(own[name].tolist()) for name in ("accuracies", "sizes"))
                shares = sizes.div(own["n_literals"].to_numpy(), axis=0)
                figures = {"accuracy": 100.0 * accuracies.mean(), "share": shares.mean()}
                found.setdefault(dataset, {})[form.title] = pd.DataFrame(figures)
    return found


class SettingsCompared(NamedTuple):
    """The disjunctions less the zero-norm SVM, each at the setting that is best on the test parts, in points."""

    # on the splits of Table 4 alone, and on all
    few: Difference
    many: Difference
    same_size: Difference  # on all splits, with a zero-norm SVM that keeps about as many features as there are rules
    # the number of splits
    n_few: int
    n_many: int
    # mean numbers of rules, of features at ``same_size`` and of features at ``many``
    rules: float
    selected: float
    most: float


def at_each(method: str) -> str:
    """The name that tables give to an approach at each of its settings."""
    return f"{method}, each setting"


def table4_searches(search: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """How both approaches of Table 4 are searched; the zero-norm SVM also keeps two smaller shares."""
    return {HKL: search, ZERO_NORM: {**search, "shares": [*SMALL_SHARES, *ZERO_NORM_SHARES]}}


def each_setting_cells(
    data: Dataset, splits: Sequence[Split], features: Mapping[str, Any], searches: Mapping[str, Mapping[str, Any]]
) -> list[Task]:
    """One cell for each approach and split; ``searches`` is ``search`` of ``nested`` by approach."""
    approaches = {at_each(method): (method, features, search) for method, search in searches.items()}
    return approach_cells(EACH_SETTING_CALL, data, splits, approaches)


def by_setting(further: pd.DataFrame, dataset: str, method: str, column: str) -> pd.DataFrame:
    """A column of lists of an approach on a data set as numbers, a row per split and a column per setting."""
    own = further[(further["dataset"] == dataset) & (further["method"] == at_each(method))].sort_values("split")
    return pd.DataFrame(own[column].tolist(), own["split"].to_numpy())


def best_accuracies(further: pd.DataFrame, dataset: str, method: str) -> pd.Series | None:
    """Accuracies in percent at the setting that is best on the test parts, by split; None if it was not run."""
    if at_each(method) not in set(further.loc[further["dataset"] == dataset, "method"]):
        return None
    return _at_best(100.0 * by_setting(further, dataset, method, "accuracies"))


def settings_compared(further: pd.DataFrame, dataset: str, n_few: int) -> SettingsCompared | None:
    """Both approaches on the first ``n_few`` splits and on all; None where one was not run."""
    if not set(map(at_each, (HKL, ZERO_NORM))) <= set(further.loc[further["dataset"] == dataset, "method"]):
        return None
    own, other = (100.0 * by_setting(further, dataset, m, "accuracies") for m in (HKL, ZERO_NORM))
    rules, sizes = (by_setting(further, dataset, m, "sizes").mean() for m in (HKL, ZERO_NORM))
    best, best_other = own.mean().idxmax(), other.mean().idxmax()
    near = (sizes - rules[best]).abs().idxmin()
    return SettingsCompared(
        paired_difference(_at_best(own.loc[: n_few - 1]), _at_best(other.loc[: n_few - 1])),
        paired_difference(own[best], other[best_other]),
        paired_difference(own[best], other[near]),
        n_few,
        len(own),
        *(float(n) for n in (rules[best], sizes[near], sizes[best_other])),
    )


def _at_best(accuracies: pd.DataFrame) -> pd.Series:
    return accuracies[accuracies.mean().idxmax()]


def each_setting_table(table: pd.DataFrame) -> Table:
    """Accuracy and number of rules or features at each setting, without a choice of settings."""
    rows = []
    for (dataset, title), own in cells_with(table, "accuracies").groupby(["dataset", "method"]):
        method, settings = str(title).removesuffix(at_each("")), own["settings"].iloc[0]
        accuracies, sizes = (pd.DataFrame(own[column].tolist()).mean() for column in ("accuracies", "sizes"))
        rows += [(dataset, method, s, 100.0 * a, k) for s, a, k in zip(settings, accuracies, sizes)]
    columns = ["data set", "method", "setting", "accuracy", "rules or Boolean features"]
    caption = "Means over the splits, without a choice among the settings. The number of splits is in the protocol."
    return Table(
        "each_setting",
        "Approaches at each setting (Table 4, and hepatitis)",
        caption,
        pd.DataFrame(rows, columns=columns),
    )
