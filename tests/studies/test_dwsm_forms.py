"""Other forms of the L1 methods, and further readings of RCPI: what their cells compute, and their tables."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fsgym import Dataset
from fsgym.comparison.protocol import Protocol
from fsgym.comparison.splits import random_splits
from fsgym.methods import find_method
from fsgym.runner.task import resolve
from fsgym_studies.common.plan import DWSM, MethodSettings
from fsgym_studies.dwsm import l1_forms, rcpi_forms
from fsgym_studies.dwsm import shared as dwsm
from support.problems import FOLDER, needs_folder
from support.synthetic_results import binary_cells


def rows_of_a_set(name="heart"):
    """Two features with means far from 0, of scales that differ by five orders of magnitude."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    return Dataset(np.column_stack([5 + y + rng.normal(size=80), 1e5 * (5 + y + rng.normal(size=80))]), y, name=name)


def n_used(settings, data):
    """The number of features that each setting of a method uses on the first split."""
    protocol = Protocol.for_dataset(data, random_splits(0.5, 1))
    train = protocol.splits[0].divide(data)[0]
    return [int(c.fit(train.X, train.y)._get_support_mask().sum()) for c in settings.at(protocol).candidates]


def test_the_settings_of_a_form_are_derived_for_that_form():
    """Those of an L1-SVM with an intercept begin where one without it already uses features."""
    form = MethodSettings("form", "l1_svm", preset={"fit_intercept": False})
    assert n_used(form, rows_of_a_set())[0] == 0


def test_settings_on_unscaled_values_reach_all_features():
    data = rows_of_a_set()
    svm = next(l1_forms.arms(None, "svm", "lars"))
    used = n_used(l1_forms.wide(svm, data, random_splits(0.5, 1)[0]), data)
    assert used[0] == 0
    assert used[-1] == 2
    assert max(n_used(svm, data)) == 1  # three decades are too few


@needs_folder
def test_values_as_distributed_are_the_numbers_of_the_file():
    """Of heart, where thal is 3, 6 or 7; sonar is distributed in [-1, 1]."""
    heart, sonar = (s.load(FOLDER) for s in dwsm.BINARY_SETS if s.title in ("heart", "sonar"))
    raw = l1_forms.distributed(heart)
    assert np.unique(raw.X[:, heart.feature_names.index("thal")]).tolist() == [3, 6, 7]
    assert raw.X[:, heart.feature_names.index("chol")].max() == 564
    split = random_splits(0.5, 1)[0]
    assert split.divide(raw)[0].y.tolist() == split.divide(heart)[0].y.tolist()
    scaled = l1_forms.distributed(sonar).X
    np.testing.assert_allclose([scaled.min(axis=0), scaled.max(axis=0)], [[-1] * 60, [1] * 60], atol=1e-6)


@pytest.mark.slow
def test_each_scaling_has_both_methods_with_and_without_an_intercept():
    table = l1_forms.table(binary_cells({})).frame
    assert table["scaling"].value_counts().to_dict() == {
        l1_forms.RANGE: 6,
        l1_forms.STANDARD: 4,
        l1_forms.DISTRIBUTED: 4,
    }
    assert set(table["by area"]) == {"8 (8)"}


def test_data_sets_are_counted_where_none_is_missing():
    lead = pd.Series([0.1, 0.01, -0.1])
    assert l1_forms.count_text(lead, lead.where(lead > 0.05, 0.0)) == "1 (2)"
    assert l1_forms.count_text(lead.where(lead > 0), lead) == "–"


def constant_policy(action):
    return SimpleNamespace(actions=lambda acquired, values, legal: np.full(len(values), action))


def test_the_mixture_draws_the_newest_policy_most_often_and_the_uniform_one_at_last():
    """Three policies at alpha .7: .3, .21 and .147 from the newest to the oldest; .343 for the uniform one."""
    act = rcpi_forms.mixture_actor([constant_policy(a) for a in (2, 1, 0)], 0.7, np.random.default_rng(0))
    masks = np.array([[False, False, False, True]] * 20_000)
    drawn = np.bincount(act(np.zeros((len(masks), 6)), masks), minlength=4) / len(masks)
    np.testing.assert_allclose(drawn, [0.3, 0.21, 0.147, 0.343], atol=0.02)


def test_a_cell_of_the_mixture_has_its_loss_after_each_iteration():
    data = rows_of_a_set()
    printed = dict(find_method("rcpi_printed").preset) | {"n_iterations": 3}
    cell = resolve(rcpi_forms.MIXTURE_CELL)
    split = random_splits(0.5, 1)[0]
    figures = cell(dataset=data, parameters=printed, lam=0.6, seed=0, split=split)
    assert len(json.loads(json.dumps(figures, allow_nan=False))["history"]) == 3  # as it is stored
    assert sum(figures["histogram"]) == figures["n_test"] == 40
    again = cell(dataset=data, parameters=printed, lam=0.6, seed=0, split=split)
    assert again["history"] == figures["history"]


def test_iterations_and_changes_of_a_loss():
    losses = np.array([0.5, 0.4, 0.3, 0.205, 0.2, 0.21, 0.2, 0.21, 0.2, 0.21, 0.1])
    assert rcpi_forms.needed_iterations(losses[:10]) == 4
    assert rcpi_forms.needed_iterations(losses) == 11
    assert rcpi_forms.late_change(losses) == pytest.approx(0.01)
    assert np.isnan(rcpi_forms.late_change(losses[:9]))


def test_the_table_of_readings_has_what_was_run():
    cells = binary_cells({})
    table = rcpi_forms.readings_table(cells).frame.set_index("reading")
    assert [*table.index] == [*rcpi_forms.TITLES]
    assert table.loc[dwsm.AS_PRINTED, "errors after all"] == "1.00 ± 0.00"
    assert table.loc[rcpi_forms.LOW_ALPHA, "change after the fifth"] == "0.4000 ± 0.0000"
    assert table.loc[rcpi_forms.HIGH_ALPHA, "iterations"] == "16.0 ± 0.0"
    alone = rcpi_forms.readings_table(cells[cells["method"] == dwsm.AS_PRINTED]).frame
    assert alone["reading"].tolist() == [dwsm.AS_PRINTED]


def test_readings_are_run_on_data_sets_with_few_columns():
    many = Dataset(np.zeros((40, rcpi_forms.MOST_COLUMNS + 1)), np.arange(40) % 2)
    assert not [*rcpi_forms.cells(many, False)]
    titles = {task.labels["method"] for task in rcpi_forms.cells(rows_of_a_set(), False)}
    assert titles == {*rcpi_forms.TITLES} - {DWSM, dwsm.AS_PRINTED}
