"""Files are written whole or not at all, and only where a file can be."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from fsgym.support.writing import opened_whole, writable_folder, write_whole


def content_of(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    write_whole(tmp_path / "text", "one\nüber\r\n")
    write_whole(tmp_path / "bytes", b"\0\xff")
    assert content_of(tmp_path) == {"text": "one\nüber\r\n".encode(), "bytes": b"\0\xff"}


def write_half(path):
    with opened_whole(path) as file:
        file.write("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", ["report.html", "n" * 250])
def test_nothing_is_left_of_a_file_that_fails(tmp_path, name):
    path = tmp_path / name
    for before in ({}, {name: b"old"}):
        with pytest.raises(OSError, match=r"cannot write .*: No space left on device; free some space") as caught:
            write_half(path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert content_of(tmp_path) == before
        with pytest.raises(KeyboardInterrupt), opened_whole(path):
            raise KeyboardInterrupt
        assert content_of(tmp_path) == before
        path.write_bytes(b"old")


def test_errors_of_other_files_keep_their_sentence(tmp_path):
    for error in (OSError("the source is gone"), FileNotFoundError(errno.ENOENT, "No such file", "source.csv")):
        with pytest.raises(OSError, match="source") as caught, opened_whole(tmp_path / "out"):
            raise error
        assert caught.value is error
    assert content_of(tmp_path) == {}


def test_a_full_device_is_reported_by_the_file_that_could_not_be_written(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_whole(tmp_path / "model", "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*model: No space left"):
        write_whole(tmp_path / "model", "new")
    assert content_of(tmp_path) == {"model": b"old"}


def test_permissions_are_those_of_the_process_or_of_the_file_that_is_replaced(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "")
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", "")
    finally:
        os.umask(before)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    assert modes == {"new": 0o640, "old": 0o604}


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    away = tmp_path / "away"
    away.mkdir()
    (away / "file").write_text("old")
    (tmp_path / "link").symlink_to(away / "file")
    (tmp_path / "dangling").symlink_to(away / "made")
    write_whole(tmp_path / "link", "new")
    write_whole(tmp_path / "dangling", "first")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert content_of(away) == {"file": b"new", "made": b"first"}


def test_what_is_no_file_is_refused_and_stays(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "to null").symlink_to("/dev/null")
    for path, message in (
        (tmp_path / "pipe", "is a device or a pipe, not a file"),
        ("/dev/full", "is a device or a pipe, not a file"),
        (tmp_path / "to null", "is a device or a pipe, not a file"),
        (tmp_path / "folder", "is a folder; name a file"),
        (tmp_path / "none" / "file", "cannot write .*file: No such file"),
        ("nul\0l", "null character"),
        (tmp_path / ("n" * 300), "cannot write .*: File name too long"),
    ):
        with pytest.raises(OSError, match=message) as caught:
            write_whole(path, "text")
        assert "\n" not in str(caught.value)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert {p.name for p in tmp_path.iterdir()} == {"pipe", "folder", "to null"}


def test_old_part_files_and_links_of_any_name_do_not_matter(tmp_path):
    for name in ("report.html.part", ".fsgym-probe", "results.csv.part"):
        (tmp_path / name).symlink_to("/dev/null/absent")
    writable_folder(tmp_path)
    write_whole(tmp_path / "report.html", "whole")
    assert (tmp_path / "report.html").read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 4


KILLED_WHILE_WRITING = """
import os, signal, sys
from fsgym.support.writing import opened_whole
with opened_whole(sys.argv[1]) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_write_removes_what_a_killed_one_left_but_no_part_of_a_living_one(tmp_path):
    path = tmp_path / "model [1]"
    write_whole(path, "old")
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    with opened_whole(path) as slow:
        slow.write("the last")
        write_whole(path, "meanwhile")
        assert path.read_text() == "meanwhile"
    assert content_of(tmp_path) == {path.name: b"the last"}
