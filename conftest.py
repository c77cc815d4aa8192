"""Where the data sets are known to be there, a test that is skipped for want of them is a failure."""

import os
import re

import pytest


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
