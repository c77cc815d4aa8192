"""Test setup: one thread, skipped tests that fail, the order of the tests, and the Hypothesis profile ``fuzz``.

If ``FSGYM_REQUIRE_DATA`` says that the data sets are available, a test that is skipped because one is missing fails.
"""

import gc
import os
import re
import sys
from contextlib import suppress
from importlib import import_module

import hypothesis
import pytest

collect_ignore_glob = ["*conftest.py"]  # modules of one name, in which there are no examples
os.environ.setdefault("MPLBACKEND", "agg")  # figures open no window
# With more threads each, two test processes wait for each other's most of the time. Set before NumPy is imported, and
# inherited by all processes that tests start. The fixture ``two_threads`` has more.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

FUZZ = 15  # factor on the examples of each test: pytest -m hypothesis --hypothesis-profile=fuzz
hypothesis.settings.register_profile("fuzz", deadline=None, print_blob=True)
# Two test processes start with one half each. So the first compiles the kernels of agents and environments, the second
# those of the baselines, and they seldom wait for each other. The tests in ``REST`` need the kernels of both.
ORDER = ("tests/agents/", "tests/fsgym/", "tests/baselines/", "")
REST = ("tests/fsgym/cli/", "tests/fsgym/comparison/", "tests/fsgym/methods/")


def place_of(item):
    name = item.nodeid
    return len(ORDER) if name.startswith(REST) else next(k for k, start in enumerate(ORDER) if name.startswith(start))


def pytest_collection_modifyitems(items):
    items.sort(key=place_of)
    if hypothesis.settings.get_current_profile_name() == "fuzz":
        tests = (getattr(item, "obj", None) for item in items)
        for test in {t for t in tests if getattr(t, "is_hypothesis_test", False)}:  # one, of many parameters
            own = test._hypothesis_internal_use_settings  # what ``@settings`` has set: there is no public name
            more = hypothesis.settings(own, max_examples=FUZZ * own.max_examples)
            test._hypothesis_internal_use_settings = more


def import_from_the_last(folder):
    """Let two processes, which both import all tests, compile one half of them each.

    With its asserts taken apart a module takes ten times as long to compile as to import. This process begins with the
    last, the other one with the first, and where they meet, each finds what the other has stored.
    """
    for path in sorted(folder.rglob("test_*.py"), reverse=True):
        if str(path.parent) not in sys.path:
            sys.path.insert(0, str(path.parent))
        with suppress(Exception, pytest.skip.Exception):  # the collection says what is wrong
            import_module(path.stem)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """No garbage is looked for: of modules and tests none becomes any, and it took half of the time."""
    gc.disable()
    config = session.config
    try:
        if os.environ.get("PYTEST_XDIST_WORKER") == "gw1" and config.args_source is config.ArgsSource.TESTPATHS:
            import_from_the_last(config.rootpath / "tests")
        return (yield)
    finally:
        gc.freeze()  # what is there now is not looked through again
        gc.enable()


def _refused(report):
    if not (os.environ.get("FSGYM_REQUIRE_DATA") and report.skipped):
        return report
    reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if re.search(r"FSGYM_DATA|data sets?\b", reason):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} was skipped although FSGYM_REQUIRE_DATA is set: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refused((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refused((yield))


@pytest.fixture(scope="session", autouse=True)
def each_kernel_is_compiled_once():
    from fsgym.support.kernels import compile_each_kernel_once

    compile_each_kernel_once()
