"""Downloads from a server that answers with errors or too little, full disks, and what is in the folder then."""

import errno
import http.client
import io
import json
import os
import urllib.error
import urllib.request
from dataclasses import replace
from email.message import Message

import pytest

from fsgym import cli
from fsgym.datasets import fetch_dataset, load_dataset
from fsgym.datasets.public import download, fetch
from fsgym.datasets.public.record import Download
from support.recorded_sets import RECORDED, TEST, TRAIN, files_of, recorded_set

FEVER, FILES = recorded_set("fever"), files_of("fever")
BY_HAND = replace(FEVER, name="rash", downloads=(Download("a.data", None),), advice="ask the hospital for a.data")


class Answer(io.BytesIO):
    def __init__(self, content, length=None):
        super().__init__(content)
        self.headers = Message()
        self.headers["Content-Length"] = str(len(content) if length is None else length)


@pytest.fixture
def server(monkeypatch):
    """Recorded answers by address; an exception is raised, a pair is content and promised length."""
    answers = dict(RECORDED)

    def urlopen(request, timeout):
        assert 0 < timeout < 100
        answer = answers[request.full_url]
        if isinstance(answer, BaseException):
            raise answer
        return Answer(*answer) if isinstance(answer, tuple) else Answer(answer)

    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(fetch, "public_sets", lambda: {"fever": FEVER, "rash": BY_HAND})
    monkeypatch.setattr("fsgym.datasets.public.record.public_sets", lambda: {"fever": FEVER, "rash": BY_HAND})
    monkeypatch.delenv("FSGYM_DATA", raising=False)
    return answers


def test_a_fetched_set_can_be_loaded(server, tmp_path):
    fetched = fetch_dataset("fever", tmp_path / "new" / "data")
    assert fetched.state == "written"
    assert fetched.untried == ("https://example.org/a.data",)
    assert {p.name: p.read_bytes() for p in fetched.files} == FILES
    data = load_dataset("fever", data_dir=tmp_path / "new" / "data")
    assert (data.n_samples, data.classes.tolist()) == (4, ["ill", "well"])
    assert load_dataset("fever", "train", data_dir=tmp_path / "new" / "data").n_samples == 2


def test_what_is_there_is_compared_and_left(server, tmp_path):
    (tmp_path / "other.csv").write_text("x,target\n1,a\n2,b\n")
    fetch_dataset("fever", tmp_path)
    server.clear()
    assert fetch_dataset("fever", tmp_path).state == "already there"
    (tmp_path / "fever.test.csv").write_text("x,target\n4,well\n,ill\n")
    assert fetch_dataset("fever", tmp_path).state == "already there, with another content than recorded"
    assert "4,well" in (tmp_path / "fever.test.csv").read_text()
    assert set(json.loads((tmp_path / "MANIFEST.json").read_text())) == {"fever"}
    assert load_dataset("other", data_dir=tmp_path).n_samples == 2


def test_a_file_that_was_removed_is_fetched_again(server, tmp_path):
    fetch_dataset("fever", tmp_path)
    (tmp_path / "fever.test.csv").unlink()
    assert fetch_dataset("fever", tmp_path).state == "written"
    assert load_dataset("fever", data_dir=tmp_path).n_samples == 4


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (urllib.error.HTTPError("", 503, "busy", Message(), None), "cannot be downloaded: HTTP status 503; try again"),
        (urllib.error.URLError("no route to host"), "no route to host; check the network, .*'b.data.gz'"),
        (TimeoutError("timed out"), "cannot be downloaded: timed out"),
        (http.client.RemoteDisconnected("closed"), "cannot be downloaded: closed"),
        (http.client.IncompleteRead(b"12", 5), "ended after 2 of 7 bytes"),
        (http.client.IncompleteRead(b"12"), "ended after 2 of its bytes"),  # in chunks
        ((TEST[:20], len(TEST)), rf"ended after 20 of {len(TEST)} bytes"),
        (b"", "is empty"),
        (TEST[:20], "the download of 'fever' is not the expected file"),
        (b"<html>gone</html>", "the download of 'fever' is not the expected file"),
        (b"9,3,b\n10,4,a\n", r"fever.test.csv, converted .* must have the SHA-256 [0-9a-f]{64}, got [0-9a-f]{64}: "),
    ],
)
def test_a_download_that_fails_is_one_sentence_and_leaves_nothing(server, tmp_path, answer, sentence):
    server["https://example.org/b"] = answer
    with pytest.raises((OSError, ValueError), match=sentence) as caught:
        fetch_dataset("fever", tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_is_too_large_is_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "MAX_DOWNLOADED_BYTES", 10)
    with pytest.raises(OSError, match="is not the expected file"):
        fetch_dataset("fever", tmp_path)


@pytest.mark.parametrize("file", [*FILES, "MANIFEST.json"])
def test_a_full_disk_leaves_nothing(server, tmp_path, monkeypatch, file):
    replaced = os.replace

    def full(source, target):
        if str(target).endswith(file):
            raise OSError(errno.ENOSPC, "No space left on device")
        replaced(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=rf"cannot write .*{file}: No space left on device; free some space"):
        fetch_dataset("fever", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_own_downloads_are_used_first(server, tmp_path):
    (tmp_path / "a.data").write_bytes(TRAIN)
    del server["https://example.org/a.data"]
    fetched = fetch_dataset("fever", tmp_path / "data", tmp_path)
    assert (fetched.state, fetched.untried) == ("written", ())
    with pytest.raises(ValueError, match="'rash' has no address that fsgym can download from: ask the hospital"):
        fetch_dataset("rash", tmp_path / "data")


def test_an_unknown_name():
    with pytest.raises(ValueError, match="unknown data set 'pcmax'; did you mean 'pcmac'"):
        fetch_dataset("pcmax", ".")


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main([str(a) for a in arguments])
    output = capsys.readouterr()
    return stop.value.code, output.out, output.err


def test_the_command_says_what_was_done_with_each_set(server, tmp_path, capsys):
    code, output, error = call(capsys, "datasets", "fetch", "fever", "rash", "wine", "--data-dir", tmp_path / "data")
    assert code == 1
    first, second = output.splitlines()
    assert first.startswith("fever: written to ")
    assert first.endswith("(no download from https://example.org/a.data had been tried before this version)")
    assert second == "wine: comes with scikit-learn"
    assert "rash: 'rash' has no address" in error
    assert "1 of 3 data sets could not be fetched" in error


def test_the_command_needs_a_folder_and_known_names(server, tmp_path, capsys, monkeypatch):
    assert "name the folder to write into" in call(capsys, "datasets", "fetch", "fever")[2]
    assert "did you mean 'gbfs'" in call(capsys, "datasets", "fetch", "gbf", "--data-dir", tmp_path)[2]
    monkeypatch.setenv("FSGYM_DATA", str(tmp_path / "there"))
    assert call(capsys, "datasets", "fetch", "fever")[0] == 0
    assert (tmp_path / "there" / "fever.test.csv").exists()


@pytest.mark.parametrize("left", [1, 2])
def test_what_a_killed_download_left_is_completed(server, tmp_path, left):
    for file, content in list(FILES.items())[:left]:
        (tmp_path / file).write_bytes(content)
    assert fetch_dataset("fever", tmp_path).state == "written"
    assert fetch_dataset("fever", tmp_path).state == "already there"
    assert {f: (tmp_path / f).read_bytes() for f in FILES} == FILES
