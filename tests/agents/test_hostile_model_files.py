"""Model files from strangers: what the compiled code would index with is refused, in time and memory of the file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_wine

from agents import LatticeClassifier, MixtureClassifier, load_classifier, model_file
from agents.parts import lengths_of_parts
from support.model_files import assert_refused

KINDS = {"lattice": LatticeClassifier(lam=0.01, effort=0.1, random_state=0), "mixture": MixtureClassifier(lam=0.01)}
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max
pytestmark = pytest.mark.filterwarnings("ignore:at lam=.* the lattice reached its limit")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    X, y = load_wine(return_X_y=True)
    folder, files = tmp_path_factory.mktemp("strangers"), {}
    for kind, model in KINDS.items():
        model.fit(X[:, :6], y).save(folder / kind)
        files[kind] = (folder / f"{kind}-changed", *model_file.read(folder / kind, kind))
    return files


def starts_of(arrays):
    return [name for name, v in arrays.items() if v.dtype == np.int64 and (name.endswith("_first") or "first_" in name)]


@pytest.mark.parametrize("kind", KINDS)
def test_starts_that_overflow_are_refused(saved, kind):
    path, arrays, header = saved[kind]
    names = [*starts_of(arrays), *(name for name in arrays if name.endswith("entry_start"))]
    assert len(names) >= 4
    for name in names:
        last = int(arrays[name][-1])
        for middle in ([HIGH, LOW, -1], [HIGH, HIGH, HIGH], [-1, -1, -1], [last + 1] * 3, [last, last - 1, last]):
            wrong = arrays[name].copy()
            if len(wrong) < 5:
                wrong = np.concatenate([wrong[:1], np.zeros(3, np.int64), wrong[-1:]])
            wrong[1:4] = middle
            if (np.diff(wrong.astype(object)) >= 0).all() and wrong.min() >= 0 and wrong.max() <= last:
                continue
            model_file.write(path, kind, arrays | {name: wrong}, header)
            assert_refused(path, "damaged", load_classifier)


def test_thresholds_that_do_not_ascend_are_refused(saved):
    path, arrays, header = saved["lattice"]
    thresholds = arrays["plan.thresholds"]
    finite = np.isfinite(thresholds)
    for wrong in (thresholds[:, ::-1], np.where(finite, -thresholds, np.inf)):
        model_file.write(path, "lattice", arrays | {"plan.thresholds": np.ascontiguousarray(wrong)}, header)
        assert_refused(path, "damaged", load_classifier)


def test_repeated_moves_are_refused(saved):
    path, arrays, header = saved["lattice"]
    first = arrays["plan.child_first"]
    parent = int(np.flatnonzero(np.diff(first))[0])
    k = int(first[parent])
    longer = {name: np.insert(arrays[name], k, arrays[name][k]) for name in ("plan.child", "plan.acquisition")}
    later = np.where(np.arange(len(first)) > parent, first + 1, first)
    model_file.write(path, "lattice", arrays | longer | {"plan.child_first": later}, header)
    assert_refused(path, "damaged", load_classifier)


@pytest.mark.parametrize("shape", [(10**7, 0), pytest.param((0, 10**7), marks=pytest.mark.slow)])
def test_groups_of_any_shape_take_the_time_of_the_file(saved, shape):
    path, arrays, header = saved["lattice"]
    model_file.write(path, "lattice", arrays | {"rules.groups": np.zeros(shape, np.int64)}, header)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (30, 30))\n"
        "from agents import load_classifier\nload_classifier(sys.argv[1])"
    )
    run = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert "is damaged" in run.stderr.splitlines()[-1]


def test_lengths_of_parts():
    assert lengths_of_parts(np.array([0, 3, 3, 4]), 3, 4, "x").tolist() == [3, 0, 1]
    for wrong in ([1, 3, 3, 4], [0, 3, 2, 4], [0, 3, 4], [0, 3, 3, 5], [0, HIGH, LOW, 4]):
        with pytest.raises(ValueError, match="the parts of the x must begin with 0"):
            lengths_of_parts(np.array(wrong), 3, 4, "x")
