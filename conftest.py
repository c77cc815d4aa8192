"""Where the data sets are known to be there, a test that is skipped for want of them is a failure.

And the order of the tests, and how many examples the tests of Hypothesis run under the profile ``fuzz``.
"""

import os
import re

import hypothesis
import pytest

FUZZ = 15  # times as many examples as a test names: pytest -m hypothesis --hypothesis-profile=fuzz
hypothesis.settings.register_profile("fuzz", deadline=None, print_blob=True)
# What two processes begin with, a half each: the first compiles the kernels of the agents and the environments, the
# second those of the baselines, and neither compiles what the other does. The rest needs the kernels of both.
ORDER = ("tests/agents/", "tests/fsgym/", "tests/baselines/", "")
REST = ("tests/fsgym/cli/", "tests/fsgym/comparison/", "tests/fsgym/test_methods.py", "tests/fsgym/test_extensions.py")


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
