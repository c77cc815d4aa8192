"""On a disk that is too small, results stay whole, and each file of a report is the old one or the new one."""

import shutil
import subprocess

import pytest

import fsgym
from fsgym.runner.store import open_store

KIB = (60, 100, 150, 200, 300, 400, 500, 600, 3000)  # sizes of the disk
METHODS = ["cart", "lars"]


@pytest.fixture
def disk(tmp_path):
    """Mount a file system of a given size in KiB at a folder."""
    folder, mounted = tmp_path / "disk", []
    folder.mkdir()

    def mount(size):
        if mounted:
            subprocess.run(["umount", folder], check=True)
            mounted.clear()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder], capture_output=True, text=True
        )
        if done.returncode:
            pytest.skip(f"needs the right to mount a file system: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", folder], check=True)


def small_comparison(folder, splits):
    fsgym.compare("wine", METHODS, splits=splits, lam=0.05, out=folder, command="fsgym compare wine")


def assert_nothing_torn(folder, old):
    """Each file is as it was, or complete; there are no others."""
    for file in folder.iterdir():
        content = file.read_bytes()
        if old.get(file.name) == content:
            continue
        match file.suffix:
            case ".html":
                assert content.endswith(b"</html>\n") or content.endswith(b"</html>")
            case ".png":
                assert content.endswith(b"IEND\xaeB`\x82")
            case ".csv":
                assert content.endswith(b"\n")
            case _:
                assert file.name.startswith(("results.sqlite", "timings.sqlite")), file.name


def finished_in(folder, copy):
    """The keys of the results that a copy of the store has."""
    copy.mkdir()
    for file in folder.glob("*.sqlite*"):
        shutil.copy(file, copy)
    with open_store(copy / "results.sqlite") as store:
        return store.results().keys()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_comparisons_on_a_full_disk_lose_nothing(tmp_path, disk):
    straight = tmp_path / "straight"
    small_comparison(straight, 4)
    whole = finished_in(straight, tmp_path / "all")
    sentences, complete = [], 0
    for size in KIB:
        folder = disk(size)
        try:
            small_comparison(folder, 4)
            complete += 1
        except OSError as error:
            sentences.append(str(error))
        assert_nothing_torn(folder, {})
        if not (folder / "results.sqlite").exists():
            continue
        finished = finished_in(folder, tmp_path / f"copy{size}")
        assert finished <= whole
        rescued = tmp_path / f"rescued{size}"
        shutil.copytree(folder, rescued)
        small_comparison(rescued, 4)
        assert (rescued / "results.sqlite").read_bytes() == (straight / "results.sqlite").read_bytes()
        assert (rescued / "results.csv").read_bytes() == (straight / "results.csv").read_bytes()
    assert complete >= 1
    assert len(sentences) >= 3
    for sentence in sentences:
        assert sentence.startswith("cannot write")
        assert str(tmp_path / "disk") in sentence
        assert "\n" not in sentence


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_old_report_stays_where_a_new_one_does_not_fit(tmp_path, disk):
    first = tmp_path / "first"
    small_comparison(first, 2)
    old = {file.name: file.read_bytes() for file in first.iterdir()}
    needed = sum(-(-len(content) // 4096) * 4 for content in old.values())  # KiB, in pages
    unchanged, sentences = 0, []
    for spare in (0, 16, 60, 120, 250):
        folder = disk(needed + spare)
        for name, content in old.items():
            (folder / name).write_bytes(content)
        try:
            small_comparison(folder, 4)
        except OSError as error:
            sentences.append(str(error))
            unchanged += (folder / "report.html").read_bytes() == old["report.html"]
        assert_nothing_torn(folder, old)
    assert unchanged >= 3
    assert all(sentence.startswith("cannot write") for sentence in sentences)
