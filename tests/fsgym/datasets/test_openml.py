"""Data sets from OpenML, with answers stored in files; damaged answers and network failures."""

import gzip
import hashlib
import io
import json
from email.message import Message
from pathlib import Path
from urllib.error import HTTPError, URLError

import numpy as np
import pytest

from fsgym.datasets import load_dataset
from fsgym.datasets.openml import OPENML, Entry
from support.refusals import refused

RESPONSES = Path(__file__).parents[2] / "data" / "openml"


class Response(io.BytesIO):
    def info(self):
        return {"Content-Encoding": "gzip"}


@pytest.fixture
def openml(monkeypatch, tmp_path, no_folder):
    """Answers of OpenML from files; the test may change the text of any before it loads."""
    import sklearn.datasets._openml as module

    answers = {p.stem: p.read_text() for p in RESPONSES.iterdir()}
    ends = {
        "features/99901": "features",
        "qualities/99901": "qualities",
        "data/99901": "description",
        "data/list/data_name/tiny_fever": "search",
    }
    urls = []

    def urlopen(request, *_, **__):
        url = request.full_url
        urls.append(url)
        key = "data" if "/download/" in url else next((v for k, v in ends.items() if k in url), None)
        if key is None:
            raise HTTPError(url, 412, "Precondition Failed", Message(), io.BytesIO(b""))
        if isinstance(answers[key], Exception):
            raise answers[key]
        content = answers[key]
        return Response(content if isinstance(content, bytes) else gzip.compress(content.encode()))

    monkeypatch.setattr(module, "urlopen", urlopen)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    answers["urls"] = urls
    return answers


def register(monkeypatch, **change):
    entry = Entry(99901, 12, 3, (7, 5), not_features=("speaker", "absent"))._replace(**change)
    monkeypatch.setitem(OPENML, "tiny_fever", entry)


def test_openml_by_table(openml, monkeypatch):
    register(monkeypatch)
    data = load_dataset("tiny_fever")
    assert data.feature_names == ("temperature", "cough=yes", "colour=blue", "colour=green", "colour=red")
    assert data.group_names == ("temperature", "cough", "colour")
    assert data.classes.tolist() == ["ill", "well"]
    assert np.bincount(data.y).tolist() == [5, 7]
    assert np.isnan(data.X).sum(axis=0).tolist() == [1, 1, 1, 1, 1]
    np.testing.assert_allclose(data.X[1], [39.1, 1, 0, 1, 0], rtol=1e-6)
    assert all("data_name" not in url for url in openml["urls"])
    before = len(openml["urls"])
    assert load_dataset("tiny_fever", "train").n_samples == 8
    assert len(openml["urls"]) == before, "the second time comes from the cache on disk"


@pytest.mark.parametrize("name", ["openml:tiny_fever", "openml:99901"])
def test_openml_by_name_and_number(openml, name):
    data = load_dataset(name, drop=["colour"])
    assert data.name == "tiny_fever"
    assert data.group_names == ("temperature", "cough", "speaker")
    assert load_dataset(name, target="speaker").classes.tolist() == ["a", "b"]


def test_openml_target_of_the_table(openml, monkeypatch):
    register(monkeypatch, n_features=4, class_sizes=(6, 6), target="speaker", not_features=())
    assert load_dataset("tiny_fever").acquisition_names == ("temperature", "cough", "colour", "class")


def test_openml_copy_that_has_changed(openml, monkeypatch):
    register(monkeypatch, n_samples=13)
    refused(ValueError, "must have 13 rows and 3 features, got 12 and 3", "tiny_fever")
    register(monkeypatch, not_features=())
    refused(ValueError, "got 12 and 4", "tiny_fever")
    register(monkeypatch, class_sizes=(8, 4))
    refused(ValueError, "classes of 8, 4 rows, got 7, 5", "tiny_fever")


def test_openml_sparse_set(openml):
    text = "@RELATION s\n@ATTRIBUTE a REAL\n@ATTRIBUTE b REAL\n@ATTRIBUTE class {n, y}\n@DATA\n"
    openml["data"] = text + "{0 2.5, 2 y}\n{1 1, 2 n}\n{2 y}\n"
    digest = hashlib.md5(openml["data"].encode()).hexdigest()
    old = json.loads(openml["description"])["data_set_description"]
    openml["description"] = json.dumps(
        {"data_set_description": {**old, "format": "Sparse_ARFF", "md5_checksum": digest}}
    )
    columns = json.loads(openml["features"])["data_features"]["feature"]
    features = [
        {**columns[0], "name": "a"},
        {**columns[0], "name": "b", "index": "1"},
        {**columns[4], "index": "2"},
    ]
    openml["features"] = json.dumps({"data_features": {"feature": features}})
    data = load_dataset("openml:99901")
    assert data.X.tolist() == [[2.5, 0], [0, 1], [0, 0]]
    assert data.classes[data.y].tolist() == ["y", "n", "y"]


@pytest.mark.parametrize(
    "failure",
    [
        URLError("name resolution failed"),
        TimeoutError("timed out"),
        ConnectionResetError(104, "reset by peer"),
    ],
)
def test_no_network_says_what_to_do(openml, monkeypatch, failure):
    register(monkeypatch)
    openml["description"] = failure
    refused(OSError, "tiny_fever.*OpenML.*check the network.*data_dir.*FSGYM_DATA", "tiny_fever")
    refused(OSError, "99901.*OpenML.*check the network.*CSV file of your own", "openml:99901")


def test_openml_server_error(openml, monkeypatch):
    register(monkeypatch)
    openml["description"] = HTTPError("https://x", 503, "Unavailable", Message(), io.BytesIO(b""))
    refused(OSError, "HTTP status 503", "tiny_fever")


@pytest.mark.parametrize(
    ("key", "content"),
    [
        ("data", "@RELATION other\n@DATA\n1,2\n"),
        ("data", b"no gzip"),
        ("description", "{"),
        ("description", "{}"),
        ("features", "[]"),
        ("features", '{"data_features": {"feature": []}}'),
    ],
)
def test_damaged_answers(openml, monkeypatch, key, content):
    register(monkeypatch)
    openml[key] = content
    refused(ValueError, "tiny_fever", "tiny_fever")


def test_no_such_set_or_column_on_openml(openml):
    refused(ValueError, "4242.*not found", "openml:4242")
    refused(ValueError, "nobody", "openml:nobody")
    refused(ValueError, "weight", "openml:99901", target="weight")
    refused(ValueError, "drop: unknown column of .* 'weight'", "openml:99901", drop=["weight"])


def test_a_local_file_comes_before_openml(openml, tmp_path):
    (tmp_path / "sonar.csv").write_text("a,target\n1,x\n2,y\n")
    assert load_dataset("sonar", data_dir=tmp_path).n_samples == 2
    assert openml["urls"] == []
