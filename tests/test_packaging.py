"""What is installed, and what importing it loads."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.resources import files
from itertools import chain
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import fsgym

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("fsgym", "agents", "baselines", "fsgym_studies")

# Says who imports what, whatever another library may have loaded before.
SPY = """
import builtins, sys
seen, plain = [], builtins.__import__
def spy(name, globals=None, *rest):
    importer, top = (globals or {}).get("__name__", ""), name.partition(".")[0]
    if importer.partition(".")[0] in ("fsgym", "agents", "baselines", "fsgym_studies") and top in HEAVY:
        seen.append(f"{importer} imports {name}")
    return plain(name, globals, *rest)
builtins.__import__ = spy
import fsgym, agents, baselines
seen += [name for name in ("torch", "matplotlib") if name in sys.modules]
print("\\n".join(seen))
"""


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_versions_agree():
    try:
        installed = metadata.version("fsgym")
    except metadata.PackageNotFoundError:
        pytest.skip("fsgym is not installed: it runs from its source folder")
    assert installed == fsgym.__version__ == project()["version"]
    assert f"## {fsgym.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_constraints_have_every_requirement():
    given = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = given["project"]["optional-dependencies"]
    wanted = [*given["build-system"]["requires"], *given["project"]["dependencies"], *chain(*extras.values())]
    names = {re.split(r"[\[<>=]", each)[0] for each in wanted} - {"fsgym"}
    pinned = {line.partition("==")[0].replace("_", "-") for line in (ROOT / "constraints.txt").read_text().splitlines()}
    assert names - pinned == set()


def test_no_reader_of_tables_has_a_known_fault():
    (pyarrow,) = project()["optional-dependencies"]["parquet"]
    admitted = SpecifierSet(pyarrow.removeprefix("pyarrow"))
    assert "14.0.0" not in admitted  # runs code that is in a file, CVE-2023-47248
    assert "14.0.1" in admitted


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_shipped(package):
    assert (files(package) / "py.typed").is_file()


def test_every_study_ships_its_data_files():
    """Those in the source tree are in the package that is imported, which may be the installed wheel."""
    names = [path.relative_to(ROOT) for end in ("csv", "bib") for path in (ROOT / "fsgym_studies").rglob(f"*.{end}")]
    assert len(names) > 10
    for name in names:
        assert files("fsgym_studies").joinpath(*name.parts[1:]).is_file()


def test_importing_loads_nothing_heavy():
    heavy = (
        "torch",
        "stable_baselines3",
        "lightgbm",
        "matplotlib",
        "pandas",
        "jinja2",
        "typer",
        "rich",
        "starlette",
        "uvicorn",
    )
    done = subprocess.run([sys.executable, "-c", f"HEAVY = {heavy}{SPY}"], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["", ""]


def test_commands_and_packages_load_no_numba_and_compile_no_kernel_at_import():
    code = (
        "import sys, fsgym.cli, agents, baselines\n"
        "print(*{'numba', 'scipy', 'sklearn', 'pandas'} & set(sys.modules))\n"
        "from fsgym.rules.kernels import acquire\nprint(len(acquire.signatures))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n0\n"


def test_constraints_are_plain_and_cover_what_the_tests_need():
    lines = [v for v in (ROOT / "constraints.txt").read_text().splitlines() if not v.startswith("#")]
    names = {v.partition("==")[0].lower().replace("_", "-") for v in lines}
    assert all(v.count("==") == 1 and "+" not in v and "/" not in v and "@" not in v for v in lines)
    extras = project()["optional-dependencies"]
    wanted = [
        *project()["dependencies"],
        *(v for name in ("rl", "dask", "cegb", "web", "test", "browser", "dev") for v in extras[name]),
    ]
    wanted = {v.partition(">=")[0].partition("[")[0] for v in wanted} - {"fsgym"}
    assert wanted <= names
    assert "torch==2.13.0" in lines
    assert not any(v.startswith("torch") for v in wanted)
