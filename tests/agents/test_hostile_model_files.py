"""Model files from strangers: what the compiled code would index with is refused, in time and memory of the file."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_wine

from agents import LatticeClassifier, MixtureClassifier, load_classifier, model_file
from agents.adaptive.report import LearnerReport
from agents.parts import features_are_revealed, lengths_of_parts, moves_extend, numbers_of_features
from fsgym import Rules
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
@pytest.mark.slow
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
@pytest.mark.slow
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


def test_empty_arrays_of_long_shapes_are_refused(saved):
    """Half a million times half a million times nothing: a list of it has half a million lists."""
    path, arrays, header = saved["mixture"]
    n = sum(array.nbytes for array in arrays.values())
    for shape in ((n, n, 0), (0, n, n), (1, n, n, 0)):
        model_file.write(path, "mixture", arrays | {"model.level": np.zeros(shape)}, header)
        assert_refused(path, "has the shape", load_classifier)


def test_kinds_that_no_method_has_are_refused_in_a_sentence(saved):
    path, arrays, header = saved["lattice"]
    for kind in ("", "a" * 5000, "L1SVMClassifier"):
        model_file.write(path, kind, arrays, header)
        assert_refused(path, "a model of kind", load_classifier)


def test_subsets_take_the_memory_of_the_file(saved):
    """A table of these subsets and all features would have 1.6 GB: the features of a file are listed instead."""
    n_features, n_acquisitions = 400_000, 12
    groups = [[j] for j in range(n_acquisitions - 1)] + [list(range(n_acquisitions - 1, n_features))]
    rules = Rules(n_features, 2, groups=groups)
    taken = ((np.arange(2**11)[:, None] >> np.arange(n_acquisitions)) & 1).astype(bool)
    feature = np.nonzero(taken)[1]
    tracemalloc.start()
    try:
        assert numbers_of_features(taken, rules).tolist() == taken.sum(axis=1).tolist()
        assert features_are_revealed(taken, feature, rules)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()
    assert not features_are_revealed(taken, np.roll(feature, 1), rules)
    assert not moves_extend(taken, np.bincount([0] * 12, minlength=len(taken)), np.arange(12), np.zeros(12, np.int64))


@pytest.mark.parametrize("order", [1, -1])
def test_long_chains_of_prerequisites_take_the_time_of_their_table(order):
    """Four thousand acquisitions, each after the one before: 16 MB, and not 4000 times as much work."""
    n = 4000
    chain = np.eye(n, k=order, dtype=np.uint8)
    begun = time.process_time()
    Rules(n, 2, prerequisites=chain)
    with pytest.raises(ValueError, match="must not form a cycle"):
        Rules(n, 2, prerequisites=chain | np.eye(n, k=-order * (n - 1), dtype=np.uint8))
    assert time.process_time() - begun < 10


def test_prices_that_are_almost_0():
    """What is gained for each unit of such a price is no number."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = MixtureClassifier(lam=1e-9, costs=[5e-324, 1e-320, 1.0]).fit(X.iloc[:, :3], y)
    first = model.step({}).alternatives[0]
    assert first.price < 1e-300
    assert first.expected_cost is not None
    assert first.gain is None


def test_reports_of_learners_name_them_and_have_finite_losses():
    good = {"learner": "lattice", "reason": "few rows", "n_held_out": 3, "trials": [["lattice", 0.1, 0.0, 0.0]]}
    assert LearnerReport.from_json(good).trials[0].loss == 0.1
    for wrong in ([["lattice", float("nan"), 0, 0]], [["lattice", 0, 0, float("inf")]], [[[[]], 0, 0, 0]]):
        with pytest.raises(ValueError, match="report"):
            LearnerReport.from_json(good | {"trials": wrong})


@pytest.mark.parametrize("many", ["[],", '{"a":0},', '{"a":[]},'])
def test_a_header_of_nested_lists_is_refused_before_it_is_read(saved, many):
    path, arrays, header = saved["lattice"]
    model_file.write(path, "lattice", arrays, header | {"more": "LISTS"})
    written = path.read_bytes()
    length = int.from_bytes(written[:8], "little")
    head = written[8 : 8 + length].replace(rb"\"LISTS\"", ("[" + many * 300_000 + "0]").replace('"', r"\"").encode())
    path.write_bytes(len(head).to_bytes(8, "little") + head + written[8 + length :])
    tracemalloc.start()
    try:
        assert_refused(path, "too many lists and objects", load_classifier)
        assert tracemalloc.get_traced_memory()[1] < 5 * len(head)
    finally:
        tracemalloc.stop()
