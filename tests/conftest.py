"""Fixtures that many tests share."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from typer.main import get_command

from agents import model_file
from fsgym import Dataset
from support.model_files import agent_of
from support.problems import DATA, MIXED, VARIANTS
from support.threads import two_threads


@pytest.hookimpl(tryfirst=True)  # before tests are deselected by their marks
def pytest_collection_modifyitems(config, items):
    """Of the combinations of a test that is marked ``one_in(n)`` all but each n-th are slow.

    Those stay whose positions have a sum that n divides: of two or more parameters, each of which has n values or more,
    each value is still tested; of a single parameter one value in n, the first among them. Where tests are chosen by
    name (``-k``), as those of one method, all stay.
    """
    if config.option.keyword:
        return
    seen: defaultdict = defaultdict(dict)  # by test and parameter, the position of each value
    for item in items:
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            params = item.callspec.params.items()  # a check of scikit-learn's contract has a partial per estimator
            places = [(seen[item.function, name], id(getattr(value, "func", value))) for name, value in params]
            if sum(values.setdefault(value, len(values)) for values, value in places) % mark.args[0]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(params=list(DATA))
def data(request) -> Dataset:
    return DATA[request.param]


@pytest.fixture(params=list(VARIANTS))
def options(request) -> dict:
    return dict(VARIANTS[request.param])


@pytest.fixture
def no_folder(monkeypatch):
    monkeypatch.delenv("FSGYM_DATA", raising=False)


@pytest.fixture
def mixed(tmp_path):
    """A CSV file of numbers, categories, and cells without a value."""
    path = tmp_path / "mixed.csv"
    path.write_text(MIXED)
    return path


@pytest.fixture(scope="session", autouse=True)
def one_tree_of_commands():
    """Typer builds the tree of all commands at each call of ``fsgym.cli.main``, for 35 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.main.get_command", cache(get_command))
        yield


@pytest.fixture(scope="module")
def quick_references():
    """Everything acquired: a forest of fewer trees, and two penalties to choose from, for half of a comparison's time.

    As many trees as leave no row without an out-of-bag answer. How it is tuned: tests/baselines/test_reference.py.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("baselines.reference.N_TREES", 30)
        patch.setattr("baselines.reference.PENALTIES", (0.03, 3.0))
        yield


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures take most of the time of a report."""
    monkeypatch.setattr("fsgym.comparison.report.draw_pictures", lambda *_: [])


@pytest.fixture(name="two_threads")
def two_threads_for_a_test():
    """Linear algebra has two threads where the code sets no limit, as on a user's machine."""
    with two_threads():
        yield


@pytest.fixture
def file(tmp_path):
    """A good model file: (path, bytes, header as a dict, arrays)."""
    path = tmp_path / "model.safetensors"
    agent_of().save(path)
    arrays, header = model_file.read(path, "linear")
    return path, path.read_bytes(), {"kind": "linear", **header}, arrays
