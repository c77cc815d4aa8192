"""Dulac-Arnold et al. (2012), section 6.3.2, Table 6: Pima diabetes with Turney's (1995) prices of medical tests."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fsgym.datasets import load_costs
from fsgym_studies.common.curves import evaluated_cells
from fsgym_studies.common.plan import DWSM, DataFolder, MethodSettings, Source, Sweep, folds
from fsgym_studies.common.study import Conclusion, Study, StudyCell
from fsgym_studies.dwsm.cost.claims import claims, notes
from fsgym_studies.dwsm.cost.printed import PRINTED
from fsgym_studies.dwsm.cost.tables import TITLE, cost_table, label, picture
from fsgym_studies.dwsm.study import OTHERS
from fsgym_studies.dwsm.study import REFERENCE as DWSM_REFERENCE

PIMA = Source("pima_diabetes", TITLE)
RIGHT = -50.0  # of a right answer; not printed, but what the printed costs and accuracies amount to
REPEATS = {False: 10, True: 50}
SETTING = ({"n_iterations": 20, "states_per_sample": 30, "mixture": "decision"},)
REFERENCE = (
    DWSM_REFERENCE
    + """
@article{turney1995cost,
  author  = {Turney, Peter D.},
  title   = {Cost-sensitive classification: empirical evaluation of a hybrid genetic decision tree induction algorithm},
  journal = {Journal of Artificial Intelligence Research},
  volume  = {2},
  pages   = {369--409},
  year    = {1995}
}

@article{ji2007cost,
  author  = {Ji, Shihao and Carin, Lawrence},
  title   = {Cost-sensitive feature acquisition and classification},
  journal = {Pattern Recognition},
  volume  = {40},
  number  = {5},
  pages   = {1474--1485},
  year    = {2007}
}
"""
)


def plan(full: bool, data_dir: DataFolder) -> list[StudyCell]:
    data = PIMA.load(data_dir)
    prices = load_costs(PIMA.name, data_dir=data_dir)
    costs = [prices[name] for name in data.feature_names]
    cells = []
    for error in PRINTED:
        rules = {"lam": 1.0, "costs": costs, "error_costs": [[RIGHT, error], [error, RIGHT]]}
        arms = (MethodSettings(DWSM, "rcpi", SETTING), *OTHERS)
        cells += Sweep(data, arms, folds(5, REPEATS[full]), rules, label=label(error)).cells()
    return cells


def conclude(planned: Sequence[StudyCell], table: pd.DataFrame, full: bool) -> Conclusion:
    table = evaluated_cells(table)
    pictures = [picture(table)] if len(table) else []
    return Conclusion(protocol(full), claims(table), [cost_table(table)], pictures, notes(table))


def protocol(full: bool) -> str:
    return (
        f"Pima diabetes (768 rows, 8 features), five folds, drawn {REPEATS[full]} times; prices of the tests from "
        f"Turney (1995), {RIGHT:g} for a right answer and 400 or 800 for a wrong one. The {RIGHT:g} is not printed: "
        ".76 x -50 + .24 x 400 = 58 leaves 16 for tests in the printed 74, and .75 x -50 + .25 x 800 leaves 18.5 in "
        f"181. RCPI with {SETTING[0]['n_iterations']} iterations of {SETTING[0]['states_per_sample']} states a row, "
        "the mixture drawn at each decision, as the paper has it."
    )


STUDY = Study(
    "dwsm-cost", "DWSM: costs of tests and errors (section 6.3.2)", REFERENCE, (1.3, 7.0), (PIMA.name,), plan, conclude
)
