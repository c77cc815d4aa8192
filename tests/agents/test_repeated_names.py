"""Two features of one name are refused where a data set or a model is made, and where a model file is read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from agents import LatticeClassifier, load_classifier
from agents.model_file import MODEL_FORMAT
from fsgym import Dataset, load_dataset
from fsgym.data.columns import Column, Columns

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(60, 3))
LABELS = np.where(VALUES[:, 0] > 0, "yes", "no")


def test_data_sets_and_classifiers():
    with pytest.raises(ValueError, match="feature_names must be distinct, got 'a' twice"):
        Dataset(VALUES, LABELS, feature_names=["a", "b", "a"])
    with pytest.raises(ValueError, match="two columns 'a'"):
        LatticeClassifier().fit(pd.DataFrame(VALUES, columns=["a", "b", "a"]), LABELS)
    table = pd.DataFrame({"ward": np.resize(["er", "gp", "icu"], 60), "ward=icu": VALUES[:, 0]})
    for refused_call in (
        lambda: LatticeClassifier().fit(table, LABELS),
        lambda: load_dataset(table.assign(target=LABELS)),
        lambda: Columns([Column("ward", "category", ("er", "gp", "icu")), Column("ward=icu")]),
    ):
        with pytest.raises(ValueError, match="feature_names must be distinct, got 'ward=icu' twice"):
            refused_call()


def test_model_files(tmp_path):
    table = pd.DataFrame({"ward": np.resize(["er", "gp", "icu"], 60), "crp": VALUES[:, 0], "age": VALUES[:, 1]})
    path = tmp_path / "model.fsgym"
    LatticeClassifier(random_state=0).fit(table, LABELS).save(path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    outer = json.loads(content[8 : 8 + length])
    for name in ("crp", "ward", "ward=icu"):
        header = json.loads(outer["__metadata__"][MODEL_FORMAT])
        (column,) = (c for c in header["columns"] if c["name"] == "age")
        column["name"] = name
        text = json.dumps(outer | {"__metadata__": {MODEL_FORMAT: json.dumps(header)}}).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
        with pytest.raises(ValueError, match=f"is damaged: .* must be distinct, got '{name}' twice"):
            load_classifier(path)
