"""A few changed model files and policies; ``.ci/mutate.py`` tries thousands, in processes of their own."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import load_wine

from agents import DatumWiseClassifier, LatticeClassifier
from support import mutation_trials
from support.changed_files import ChangedFiles
from support.model_parts import ModelParts
from support.mutated_model_files import MUTATIONS
from support.mutation_trials import TrialRefused, run_trials

pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    X, y = load_wine(return_X_y=True, as_frame=True)
    folder = tmp_path_factory.mktemp("changed")
    models = {
        "lattice": LatticeClassifier(lam=0.05, effort=0.1, random_state=0),
        "linear": DatumWiseClassifier(n_iterations=1, random_state=0),
    }
    for name, model in models.items():
        model.fit(X.iloc[:, :5], y).save(folder / name)
    return ChangedFiles({name: folder / name for name in models}, folder, seed=1)


def test_parts_make_the_same_model_again(files):
    for parts, name in zip(files.parts, files.names, strict=True):
        again = ModelParts.of(parts.to_bytes())
        assert again.header == parts.header
        assert again.tensors == parts.tensors
        path = files.scratch / "again"
        path.write_bytes(parts.to_bytes())
        assert files.load(name, path).policy_digest() == files.load(name, files.paths[name]).policy_digest()


def test_changes_follow_from_the_seed(files):
    assert [files.changed(k) for k in range(10)] == [files.changed(k) for k in range(10)]
    assert len({files.changed(k)[0] for k in range(40)}) > 30


@pytest.mark.parametrize("change", MUTATIONS, ids=lambda change: change.__name__)
def test_every_kind_of_change(files, change):
    for seed in range(30):
        parts = files.parts[seed % 2].copy()
        change(parts, files.parts[0], np.random.default_rng(seed))
        assert parts.to_bytes()


def test_changed_files_are_refused_or_used(files):
    files.warm_up()
    outcomes = dict(run_trials(files.attempt, iter(range(60))))
    assert [outcome for outcome in outcomes.values() if outcome.is_defect] == []
    assert {outcome.kind for outcome in outcomes.values()} == {"used", "refused"}


def attempt_of_every_outcome(index):
    if index == 0:
        return 100
    if index == 1:
        raise TrialRefused(100, "a sentence")
    if index == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if index == 4:
        return int(np.ones(2**27, np.uint8)[0])  # far above what the machine may reclaim meanwhile
    while index == 5:
        pass
    raise KeyError("what")


@pytest.mark.slow
def test_outcomes_of_trials(monkeypatch):
    monkeypatch.setattr(mutation_trials, "MEMORY", 2**24)
    outcomes = dict(run_trials(attempt_of_every_outcome, iter([0, 1, 3, 4, 5, 6, 0])))
    kinds = {index: outcome.kind for index, outcome in outcomes.items()}
    assert kinds == {0: "used", 1: "refused", 3: "crash", 4: "memory", 5: "hang", 6: "error"}
    assert outcomes[3].text == "SIGKILL"
